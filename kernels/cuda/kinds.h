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

/* Do both give to one plane? */
static inline bool gsa_cuda_share(const gsa_cuda_kind &a, const gsa_cuda_kind &c)
{
    return (a.dk && (a.dk == c.dk || a.dk == c.dv)) || (a.dv && (a.dv == c.dk || a.dv == c.dv));
}

/* Kinds that hold one value point to one plane: they take turns, so that each launch has one writer
 * an element. run(kinds) once a turn, of which only the turn's have dk and dv. */
template <class Run>
gsa_status gsa_cuda_in_turns(const gsa_cuda_kind *kind, int64_t kinds, const Run &run)
{
    gsa_cuda_kind own[GSA_MAX_KINDS];
    int turn[GSA_MAX_KINDS], turns = 0;
    for (int k = 0; k < kinds; k++) {
        turn[k] = 0;
        for (int o = 0; o < k; o++)
            if (turn[o] >= turn[k] && gsa_cuda_share(kind[k], kind[o])) turn[k] = turn[o] + 1;
        if ((kind[k].dk || kind[k].dv) && turn[k] >= turns) turns = turn[k] + 1;
    }
    for (int t = 0; t < turns; t++) {
        for (int k = 0; k < kinds; k++) {
            own[k] = kind[k];
            if (turn[k] != t) own[k].dk = own[k].dv = NULL;
        }
        GSA_TRY(run(own));
    }
    return GSA_OK;
}

#endif
