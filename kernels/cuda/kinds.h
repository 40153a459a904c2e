/* kinds.h - kinds of nodes as arguments of a kernel: a few are passed by value, so that parameters
 * are small and nothing is uploaded; where there are more, all are in device memory. */
#ifndef GSA_CUDA_KINDS_H
#define GSA_CUDA_KINDS_H
#include "kernels/cuda/state.h"

typedef struct gsa_cuda_kind { /* of its nodes; first: among the sources of all kinds */
    const void *k, *v;
    float *dk, *dv;
    int64_t first;
} gsa_cuda_kind;
enum { GSA_KINDS_TOLD = 12 };
typedef struct gsa_cuda_kinds {
    gsa_cuda_kind *many; /* or NULL */
    int64_t count;
    gsa_cuda_kind told[GSA_KINDS_TOLD];
} gsa_cuda_kinds;

/* Two kinds of loads, kept apart: one of an address that may be either costs more. */
#define GSA_OF_KIND(kinds, kind, field)                                                            \
    ((kinds).many ? (decltype(gsa_cuda_kind::field))__ldg(                                         \
                        (const unsigned long long *)&(kinds).many[kind].field)                     \
                  : (kinds).told[kind].field)

/* The kind that a row of the concatenated sources belongs to; kinds without rows are passed over.
 */
GSA_DEVICE int gsa_kind_of(const gsa_cuda_kinds &kinds, int64_t source)
{
    int kind = 0;
    while (kind + 1 < kinds.count && source >= GSA_OF_KIND(kinds, kind + 1, first)) kind++;
    return kind;
}

/* Cuts `many` for `count` of them where they are not told. */
static inline void gsa_cuda_lay_kinds(gsa_cuda_room &room, gsa_cuda_kinds *kinds)
{
    if (kinds->count > GSA_KINDS_TOLD) room.cut(kinds->many, kinds->count);
}

/* Before the launches that use them, and again where one has changed. */
gsa_status gsa_cuda_tell_kinds(gsa_backend *b, gsa_cuda_kinds *kinds, const gsa_cuda_kind *kind);

#endif
