#include "train/decode/sampler.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/philox.h"

typedef struct candidate {
    double logit;
    int32_t index, zero;
} candidate;

struct gsa_sampler {
    const gsa_system *system;
    gsa_sampling how;
    int32_t classes;
    candidate *order; /* [classes], where some are left out */
    double *weight;   /* [classes] exp((z - largest) / T); 0: left out */
};

gsa_status gsa_sampler_create(const gsa_system *system, const gsa_sampling *how, int32_t classes,
                              gsa_sampler **sampler, gsa_error *error)
{
    *sampler = NULL;
    if (classes < 1 || !(how->temperature >= 0 && isfinite(how->temperature)) || how->top_k < 0 ||
        !(how->top_p > 0 && how->top_p <= 1))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "sampling from %d classes with temperature %g, top-k %d, top-p %g: "
                        "expected at least 1 class, a "
                        "temperature from 0, top-k from 0, top-p above 0 and at most 1",
                        classes, how->temperature, how->top_k, how->top_p);
    gsa_sampler *s = gsa_alloc_zero(system, 1, sizeof *s);
    if (!s) return gsa_out_of_memory(error, "a sampler", (int64_t)sizeof *s);
    s->system = system, s->how = *how, s->classes = classes;
    s->order = gsa_alloc(system, (size_t)classes, sizeof *s->order);
    s->weight = gsa_alloc(system, (size_t)classes, sizeof *s->weight);
    *sampler = s;
    if (s->order && s->weight) return GSA_OK;
    gsa_sampler_release(s);
    *sampler = NULL;
    return gsa_out_of_memory(error, "a sampler", classes * (int64_t)sizeof *s->order);
}

void gsa_sampler_release(gsa_sampler *s)
{
    if (!s) return;
    gsa_release(s->system, s->order);
    gsa_release(s->system, s->weight);
    gsa_release(s->system, s);
}

/* The first of the largest; -1 where nothing can be drawn. */
static int32_t largest(const double *logits, int32_t classes)
{
    int32_t best = -1;
    for (int32_t c = 0; c < classes; c++) {
        if (isnan(logits[c]) || logits[c] == INFINITY) return -1;
        if (logits[c] > (best < 0 ? -INFINITY : logits[best])) best = c;
    }
    return best;
}

static int first_the_larger(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Leaves only the candidates that top_k and top_p let through: the others get weight 0. */
static void choose_candidates(gsa_sampler *s, const double *logits)
{
    const int32_t most = s->how.top_k > 0 && s->how.top_k < s->classes ? s->how.top_k : s->classes;
    double sum = 0, before = 0;
    int32_t kept = 0;
    for (int32_t c = 0; c < s->classes; c++)
        s->order[c] = (candidate){ .logit = logits[c], .index = c };
    qsort(s->order, (size_t)s->classes, sizeof *s->order, first_the_larger);
    for (int32_t i = 0; i < most; i++) sum += s->weight[s->order[i].index];
    for (; kept < most && (kept == 0 || before < s->how.top_p * sum); kept++)
        before += s->weight[s->order[kept].index];
    if (s->how.top_p == 1) kept = most; /* rounding takes none away */
    for (int32_t i = kept; i < s->classes; i++) s->weight[s->order[i].index] = 0;
}

static int32_t draw(const gsa_sampler *s, double u)
{
    double sum = 0, reached = 0;
    int32_t last = 0;
    for (int32_t c = 0; c < s->classes; c++) sum += s->weight[c];
    for (int32_t c = 0; c < s->classes; c++) {
        if (s->weight[c] == 0) continue;
        last = c;
        reached += s->weight[c];
        if (reached > u * sum) return c;
    }
    return last;
}

gsa_status gsa_sampler_draw(gsa_sampler *s, const double *logits, double u, int32_t *drawn,
                            double *log_p, gsa_error *error)
{
    const int32_t best = largest(logits, s->classes);
    const double warm = s->how.temperature > 0 ? s->how.temperature : 1;
    double sum = 0;
    if (best < 0)
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "no token can be drawn: the model's scores are not numbers, or all are -inf");
    for (int32_t c = 0; c < s->classes; c++)
        sum += s->weight[c] = exp((logits[c] - logits[best]) / warm);
    if (s->how.temperature == 0) *drawn = best;
    else {
        if (s->how.top_p < 1 || (s->how.top_k > 0 && s->how.top_k < s->classes))
            choose_candidates(s, logits);
        *drawn = draw(s, u);
    }
    if (log_p) *log_p = (logits[*drawn] - logits[best]) / warm - log(sum);
    return GSA_OK;
}

double gsa_sample_uniform(uint32_t seed, uint32_t stream, int64_t position)
{
    const gsa_philox counter = { { (uint32_t)position, (uint32_t)((uint64_t)position >> 32), stream,
                                   0x73616d70u } };
    const gsa_philox r = gsa_philox4x32(counter, seed, 0);
    return ((double)(r.word[0] >> 5) * 67108864.0 + (double)(r.word[1] >> 6)) / 9007199254740992.0;
}
