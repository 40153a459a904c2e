/* level_rig.h - the frame of a call of attention at one level of the cpu backend: a rig without
 * tensors, whose graph the test makes. For tests under Check. */
#ifndef GSA_TEST_LEVEL_RIG_H
#define GSA_TEST_LEVEL_RIG_H
#include "rig.h"
#include "support/faults.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>

static inline rig level_rig(int level, int threads)
{
    rig r = { 0 };
    ck_assert_int_eq(gsa_backend_cpu(NULL, level, threads, &r.b, NULL), GSA_OK);
    return r;
}

/* Forward in two calls, some rows late: the bits of one. */
static inline void level_rig_in_two(const rig *r, const gsa_attend_args *args)
{
    enum { LATE = 9, OF = 29 };
    const size_t rows = (size_t)args->edges->rows, heads = (size_t)args->heads,
                 width = heads * (size_t)args->head_dim;
    uint8_t *late = malloc(rows + 1);
    float *out = calloc(rows * (width + heads) + 1, sizeof *out), *lse = out + rows * width;
    gsa_attend_args call = *args;
    for (size_t i = 0; i < rows; i++) late[i] = i * 5 % OF < LATE;
    call.out = out, call.lse = lse, call.late = late;
    for (call.rest = 0; call.rest < 2; call.rest++)
        ck_assert_int_eq(r->b->attend_forward(r->b, &call), GSA_OK);
    ck_assert_int_eq(memcmp(out, args->out, sizeof *out * rows * width), 0);
    ck_assert_int_eq(memcmp(lse, args->lse, sizeof *lse * rows * heads), 0);
    free(late), free(out);
}

/* Forward, and backward where there is a gradient to start from. */
static inline void level_rig_attend(const rig *r, const gsa_attend_args *args)
{
    ck_assert_int_eq(r->b->attend_forward(r->b, args), GSA_OK);
    level_rig_in_two(r, args);
    if (args->dout) ck_assert_int_eq(r->b->attend_backward(r->b, args), GSA_OK);
}

/* A call on a backend whose memory comes by `faults`; what fails says why. The graph is the test's,
 * made without faults. */
static inline gsa_status level_rig_faulty(gsa_faults *faults, int level, const rig *r,
                                          gsa_status (*call)(gsa_backend *b, const gsa_edges *edges,
                                                             void *context),
                                          void *context)
{
    gsa_error error = { 0 };
    gsa_backend *b;
    gsa_status status = gsa_backend_cpu(&faults->table, level, 1, &b, &error);
    if (status != GSA_OK) return status;
    status = call(b, &r->device, context);
    if (status != GSA_OK) ck_assert_str_ne(b->error.text, "");
    gsa_backend_release(b);
    return status;
}

/* The graph and the backend. */
static inline void level_rig_end(rig *r)
{
    edges_unload(r->b, &r->device);
    edges_free(&r->maker);
    gsa_backend_release(r->b);
}

#endif
