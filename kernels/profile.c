#include "kernels/profile.h"
#include <time.h>

typedef struct profile_state {
    gsa_backend *inner;
    gsa_profile *profile;
} profile_state;

/* ---- clocks -------------------------------------------------------------------------------- */

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static gsa_profile_mark now(void)
{
    return (gsa_profile_mark){ seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID) };
}

static void add_since(gsa_profile_time *time, gsa_profile_mark began, gsa_profile_mark ended)
{
    time->calls++;
    time->seconds += ended.seconds - began.seconds;
    time->processor += ended.processor - began.processor;
}

gsa_profile_mark gsa_profile_begin(const gsa_profile *profile)
{
    return profile ? now() : (gsa_profile_mark){ 0 };
}

void gsa_profile_end(gsa_profile *profile, int part, gsa_profile_mark began)
{
    if (profile) add_since(&profile->part[profile->now][part], began, now());
}

gsa_profile_mark gsa_profile_thread(const gsa_profile *profile)
{
    if (!profile) return (gsa_profile_mark){ 0 };
    return (gsa_profile_mark){ seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_THREAD_CPUTIME_ID) };
}

void gsa_profile_beside(gsa_profile *profile, int part, gsa_profile_mark took)
{
    if (profile) add_since(&profile->beside[profile->now][part], (gsa_profile_mark){ 0 }, took);
}

void gsa_profile_enter(gsa_profile *profile, int section)
{
    if (!profile) return;
    const gsa_profile_mark at = now();
    if (profile->entered.seconds > 0)
        add_since(&profile->section[profile->now], profile->entered, at);
    profile->entered = at;
    profile->now = section;
}

const char *gsa_profile_name(int part)
{
    static const char *const names[] = {
#define NAME(entry, parameters, arguments) #entry,
        GSA_BACKEND_CALLS(NAME)
#undef NAME
            "order",
        "batch", "graph", "wait"
    };
    return names[part];
}

/* ---- the table ----------------------------------------------------------------------------- */

static gsa_status done(gsa_backend *b, int part, gsa_profile_mark began, gsa_status status)
{
    profile_state *s = b->state;
    gsa_profile_end(s->profile, part, began);
    if (status != GSA_OK) b->error = s->inner->error;
    return status;
}

#define TIMED(entry, parameters, arguments)                                                        \
    static gsa_status timed_##entry parameters                                                     \
    {                                                                                              \
        gsa_backend *const in = ((profile_state *)b->state)->inner;                                \
        const gsa_profile_mark began = now();                                                      \
        const gsa_status status = in->entry arguments;                                             \
        return done(b, GSA_PROFILE_##entry, began, status);                                        \
    }
GSA_BACKEND_CALLS(TIMED)
#undef TIMED

/* ---- operations of those calls that have most ---------------------------------------------- */

static void count(gsa_backend *b, int part, double flops)
{
    gsa_profile *p = ((profile_state *)b->state)->profile;
    p->part[p->now][part].flops += flops;
}

static gsa_status counted_gemm_part(gsa_backend *b, void *c, const void *a, const void *bb,
                                    int64_t m, int64_t n, int64_t k, const uint8_t *late, int rest)
{
    if (rest) count(b, GSA_PROFILE_gemm_part, 2.0 * (double)m * (double)n * (double)k);
    return timed_gemm_part(b, c, a, bb, m, n, k, late, rest);
}

static double edge_numbers(const gsa_attend_args *args)
{
    return (double)args->edges->edge_total * args->heads * args->head_dim;
}

static gsa_status counted_gemm(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m,
                               int64_t n, int64_t k, int ta, int tb, int64_t ldc, int64_t lda,
                               int64_t ldb, int accumulate)
{
    count(b, GSA_PROFILE_gemm, 2.0 * (double)m * (double)n * (double)k);
    return timed_gemm(b, c, a, bb, m, n, k, ta, tb, ldc, lda, ldb, accumulate);
}

static gsa_status counted_attend_forward(gsa_backend *b, const gsa_attend_args *args)
{
    if (!args->late || args->rest) count(b, GSA_PROFILE_attend_forward, 4 * edge_numbers(args));
    return timed_attend_forward(b, args);
}

static gsa_status counted_attend_backward(gsa_backend *b, const gsa_attend_args *args)
{
    count(b, GSA_PROFILE_attend_backward, 10 * edge_numbers(args));
    return timed_attend_backward(b, args);
}

/* ---- memory, steps and life: the inner backend's ------------------------------------------- */

static void *profile_alloc(gsa_backend *b, int64_t bytes)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    void *at = in->alloc(in, bytes);
    if (!at) b->error = in->error;
    return at;
}

static void profile_free(gsa_backend *b, void *at)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    in->free(in, at);
}

static gsa_status profile_step_begin(gsa_backend *b)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    const gsa_status status = in->step_begin(in);
    if (status != GSA_OK) b->error = in->error;
    return status;
}

static gsa_status profile_step_end(gsa_backend *b, int *graphs)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    const gsa_status status = in->step_end(in, graphs);
    if (status != GSA_OK) b->error = in->error;
    return status;
}

static gsa_status profile_upload_ahead(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    const gsa_profile_mark began = now();
    return done(b, GSA_PROFILE_upload, began, in->upload_ahead(in, to, from, bytes));
}

static gsa_status profile_upload_arrive(gsa_backend *b)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    const gsa_profile_mark began = now();
    return done(b, GSA_PROFILE_upload, began, in->upload_arrive(in));
}

/* What waits on a second queue is no time of the host's. */
static gsa_status profile_aside(gsa_backend *b, void **queue)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    const gsa_status status = in->aside(in, queue);
    if (status != GSA_OK) b->error = in->error;
    return status;
}

static gsa_status profile_back(gsa_backend *b)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    const gsa_status status = in->back(in);
    if (status != GSA_OK) b->error = in->error;
    return status;
}

static gsa_status profile_meet(gsa_backend *b)
{
    gsa_backend *in = ((profile_state *)b->state)->inner;
    const gsa_status status = in->meet(in);
    if (status != GSA_OK) b->error = in->error;
    return status;
}

static void profile_release(gsa_backend *b)
{
    const gsa_system *system = b->system;
    profile_state *s = b->state;
    gsa_backend_release(s->inner);
    gsa_release(system, s);
    gsa_release(system, b);
}

/* What the inner table lacks stays lacking. */
static void fill(gsa_backend *b)
{
    const gsa_backend *in = ((profile_state *)b->state)->inner;
#define FILL(entry, parameters, arguments) b->entry = in->entry ? timed_##entry : NULL;
    GSA_BACKEND_CALLS(FILL)
#undef FILL
    if (in->gemm) b->gemm = counted_gemm;
    if (in->gemm_part) b->gemm_part = counted_gemm_part;
    if (in->attend_forward) b->attend_forward = counted_attend_forward;
    if (in->attend_backward) b->attend_backward = counted_attend_backward;
    b->release = profile_release, b->alloc = profile_alloc, b->free = profile_free;
    if (in->step_begin) b->step_begin = profile_step_begin, b->step_end = profile_step_end;
    if (in->upload_ahead)
        b->upload_ahead = profile_upload_ahead, b->upload_arrive = profile_upload_arrive;
    if (in->aside) b->aside = profile_aside, b->back = profile_back, b->meet = profile_meet;
}

gsa_status gsa_backend_profile(gsa_backend *inner, gsa_profile *profile, gsa_backend **backend,
                               gsa_error *error)
{
    const gsa_system *system = inner->system;
    gsa_backend *b = gsa_alloc_zero(system, 1, sizeof *b);
    profile_state *s = gsa_alloc_zero(system, 1, sizeof *s);
    if (!b || !s) {
        gsa_release(system, b);
        gsa_release(system, s);
        gsa_backend_release(inner);
        return gsa_out_of_memory(error, "a profiled backend", (int64_t)(sizeof *b + sizeof *s));
    }
    *b = *inner;
    *s = (profile_state){ .inner = inner, .profile = profile };
    b->state = s;
    fill(b);
    *backend = b;
    return GSA_OK;
}
