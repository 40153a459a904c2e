/* bf16.cu - rounded copies of float arrays. */
#include "kernels/cuda/bf16.h"
#include "kernels/cuda/kinds.h"

enum { QUAD = 4, BEGIN = 8 }; /* numbers of a thread; a copy begins at a multiple of so many */
enum { AT_ONCE = 2 * GSA_KINDS_TOLD + 2 };
typedef struct round_job { /* planes that are rounded at once: parameters stay small */
    gsa_bf16 *to;
    int32_t planes;
    int64_t first[AT_ONCE + 1], count[AT_ONCE]; /* first: among the first's numbers */
    const float *from[AT_ONCE];
} round_job;

/* A thread rounds four neighbours; the last of an array may be fewer, and an array may begin
 * anywhere. */
static __global__ void __launch_bounds__(GSA_ELEMENTS) round_planes(GSA_ARGUMENT(round_job) job)
{
    const int64_t at = gsa_thread() * QUAD;
    if (at >= job.first[job.planes]) return;
    int plane = 0;
    while (at >= job.first[plane + 1]) plane++;
    const int64_t i = at - job.first[plane], left = job.count[plane] - i;
    const float *from = job.from[plane] + i;
    if (left >= QUAD && (uintptr_t)from % sizeof(float4) == 0) {
        const float4 x = __ldg((const float4 *)from);
        *(uint2 *)(job.to + at) = make_uint2(gsa_bf16_bits(x.x) | gsa_bf16_bits(x.y) << 16,
                                             gsa_bf16_bits(x.z) | gsa_bf16_bits(x.w) << 16);
        return;
    }
    for (int n = 0; n < QUAD && n < left; n++)
        job.to[at + n].bits = (uint16_t)gsa_bf16_bits(__ldg(from + n));
}

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    round_floats(float *to, const float *from, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) to[i] = gsa_bf16_round(__ldg(from + i));
}

void gsa_cuda_add_plane(gsa_bf16_planes *p, const void *from, int64_t count)
{
    if (count == 0) return;
    int plane = 0;
    while (plane < p->planes && p->from[plane] != from) plane++;
    if (plane == p->planes) p->from[p->planes++] = (const float *)from, p->count[plane] = 0;
    if (count > p->count[plane]) p->count[plane] = count;
}

void gsa_cuda_place_planes(gsa_bf16_planes *p)
{
    p->first[0] = 0;
    for (int i = 0; i < p->planes; i++)
        p->first[i + 1] = p->first[i] + (p->count[i] + BEGIN - 1) / BEGIN * BEGIN;
}

gsa_status gsa_cuda_round_planes(gsa_backend *b, const char *op, const gsa_bf16_planes *p)
{
    for (int done = 0; done < p->planes; done += AT_ONCE) {
        round_job job = { p->to + p->first[done], p->planes - done, {}, {}, {} };
        if (job.planes > AT_ONCE) job.planes = AT_ONCE;
        for (int i = 0; i <= job.planes; i++) job.first[i] = p->first[done + i] - p->first[done];
        for (int i = 0; i < job.planes; i++)
            job.count[i] = p->count[done + i], job.from[i] = p->from[done + i];
        GSA_TRY(GSA_EACH(b, op, job.first[job.planes] / QUAD, round_planes, job));
    }
    return GSA_OK;
}

gsa_status gsa_cuda_round_floats(gsa_backend *b, const char *op, float *to, const float *from,
                                 int64_t count)
{
    return GSA_EACH(b, op, count, round_floats, to, from, count);
}
