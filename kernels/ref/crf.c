/* crf.c - the linear-chain conditional random field: forward-backward and Viterbi over ragged
 * sequences, an item a stretch of sequences.
 *
 * alpha_t[j] = emission_t[j] + log sum_i exp(alpha_{t-1}[i] + w[i,j])
 *     w: transitions, -inf where forbidden
 * beta_t[i]  = log sum_j exp(w[i,j] + emission_{t+1}[j] + beta_{t+1}[j])
 * Both sums are products of exp(alpha - top) with a table of exp(w - shift): tags exponentials a
 * token instead of tags^2. Where such a sum is too small for what vanished in it not to matter, it
 * is done again term by term in log space. */
#include "kernels/ref/ref.h"

static const double
    SMALL = 1e-200,
    LARGE = 1e100; /* what underflows (1e-308) is nothing next to SMALL, nor times LARGE */
enum { WORK = 4 /* rows of tags that an item works with */ };

typedef struct crf_job {
    const gsa_crf_args *args;
    int64_t tags, chunk, items;
    double *out, *into;     /* [tags, tags] w by row, and transposed */
    double *e_out, *e_into; /* exp(w - shift) */
    double *start, *end;    /* [tags], -inf where forbidden */
    double *alpha;          /* [tokens, tags]; decode keeps its predecessors there */
    double *work, *partial; /* [items, WORK tags], [items, tags^2 + 2 tags]: d transitions, d start,
                               d end; forward: the loss */
    double shift, slope;    /* backward: slope = dloss scale */
} crf_job;

/* The maximum, NaN if there is one; -inf of none. */
static double top_of(const double *x, int64_t count)
{
    double top = -INFINITY;
    for (int64_t i = 0; i < count; i++) top = x[i] > top || isnan(x[i]) ? x[i] : top;
    return top;
}

static double dot(const double *restrict a, const double *restrict b, int64_t count)
{
    double lane[8] = { 0 }, rest = 0;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int l = 0; l < 8; l++) lane[l] += a[i + l] * b[i + l];
    for (; i < count; i++) rest += a[i] * b[i];
    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +
            ((lane[1] + lane[5]) + (lane[3] + lane[7]))) +
           rest;
}

/* e_i = exp(x_i - top); returns top. All -inf: zeros. */
static double exponentials(double *e, const double *x, int64_t count)
{
    const double top = top_of(x, count), base = isinf(top) && top < 0 ? 0 : top;
    for (int64_t i = 0; i < count; i++) e[i] = exp(x[i] - base);
    return base;
}

/* log sum_i exp(x_i + w_i); without w: of x alone. */
static double log_sum_exactly(const double *x, const double *w, int64_t count)
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const double term = w ? x[i] + w[i] : x[i];
        top = term > top || isnan(term) ? term : top;
    }
    if (isinf(top) && top < 0) return top;
    for (int64_t i = 0; i < count; i++) sum += exp((w ? x[i] + w[i] : x[i]) - top);
    return top + log(sum);
}

/* The same, given e_i = exp(x_i - top) and row `at` of the tables w and ew. */
static double log_sum(const crf_job *job, const double *x, const double *e, double top,
                      const double *w, const double *ew, int64_t at)
{
    const int64_t first = at * job->tags;
    const double sum = dot(e, ew + first, job->tags);
    return sum >= SMALL ? top + job->shift + log(sum) : log_sum_exactly(x, w + first, job->tags);
}

static int agrees(const int32_t *targets, int64_t token, int64_t tag)
{
    return !targets || targets[token] < 0 || targets[token] == tag;
}

/* alpha of the tokens first..last-1; returns log sum exp s(y) over the paths that agree with the
 * targets (NULL: all). work: 1 row. */
static double walk(const crf_job *job, int64_t first, int64_t last, const int32_t *targets,
                   double *work)
{
    const int64_t tags = job->tags;
    for (int64_t t = first; t < last; t++) {
        const real *emission = (const real *)job->args->emissions + t * tags;
        double *alpha = job->alpha + t * tags;
        const double *before = t > first ? alpha - tags : NULL;
        const double top = before ? exponentials(work, before, tags) : 0;
        for (int64_t j = 0; j < tags; j++) {
            alpha[j] = -INFINITY;
            if (!agrees(targets, t, j)) continue;
            alpha[j] =
                before ? log_sum(job, before, work, top, job->into, job->e_into, j) : job->start[j];
            alpha[j] += (double)emission[j];
        }
    }
    return log_sum_exactly(job->alpha + (last - 1) * tags, job->end, tags);
}

/* ---- forward ------------------------------------------------------------------------------- */

static double nll_of(const crf_job *job, int64_t first, int64_t last, double *work)
{
    if (first == last) return 0;
    const double all = walk(job, first, last, NULL, work),
                 agreeing = walk(job, first, last, job->args->targets, work);
    if (isnan(all)) return all;
    return isinf(agreeing) && agreeing < 0 ? INFINITY : all - agreeing;
}

static void forward_item(void *context, int64_t item)
{
    const crf_job *job = context;
    const gsa_crf_args *args = job->args;
    const int64_t last = ref_smaller((item + 1) * job->chunk, args->sequences);
    double sum = 0;
    for (int64_t s = item * job->chunk; s < last; s++) {
        const double nll =
            nll_of(job, args->offset[s], args->offset[s + 1], job->work + item * WORK * job->tags);
        if (args->nll) ((real *)args->nll)[s] = (real)nll;
        sum += nll;
    }
    job->partial[item] = sum;
}

/* ---- backward ------------------------------------------------------------------------------ */

/* d transitions[i,j] += weight exp(alpha[i] + w[i,j] + next[j] - total), from ea, en = exp(alpha -
 * top_a), exp(next - top_n). */
static void add_pairs(const crf_job *job, double *pairs, const double *alpha, const double *ea,
                      double top_a, const double *next, const double *en, double top_n,
                      double total, double weight)
{
    const int64_t tags = job->tags;
    const double factor = exp(top_a + top_n + job->shift - total);
    for (int64_t i = 0; i < tags; i++) {
        const double *ew = job->e_out + i * tags, *w = job->out + i * tags,
                     share = weight * factor * ea[i];
        double *row = pairs + i * tags;
        if (!(factor < LARGE))
            for (int64_t j = 0; j < tags; j++)
                row[j] += weight * exp(alpha[i] + w[j] + next[j] - total);
        else if (ea[i] != 0)
            for (int64_t j = 0; j < tags; j++) row[j] += share * ew[j] * en[j];
    }
}

/* p(y_t = j) = exp(alpha_t[j] + beta_t[j] - total) */
static void add_tags(const crf_job *job, double *ends, int64_t first, int64_t last, int64_t t,
                     const double *beta, double total, double weight)
{
    const int64_t tags = job->tags;
    const double *alpha = job->alpha + t * tags;
    real *de = job->args->demissions;
    for (int64_t j = 0; j < tags; j++) {
        const double p = weight * exp(alpha[j] + beta[j] - total);
        if (de) de[t * tags + j] += (real)p;
        if (t == first) ends[j] += p;
        if (t == last - 1) ends[tags + j] += p;
    }
}

/* Adds weight times the expected use of every score, over the paths that agree with the targets:
 * walk() went before. */
static void collect(const crf_job *job, int64_t first, int64_t last, const int32_t *targets,
                    double total, double weight, double *work, double *partial)
{
    const int64_t tags = job->tags;
    double *beta = work, *next = work + tags, *en = next + tags, *ea = en + tags;
    memcpy(beta, job->end, (size_t)tags * sizeof *beta);
    for (int64_t t = last - 1;; t--) {
        const real *emission = (const real *)job->args->emissions + t * tags;
        const double *before = job->alpha + (t - 1) * tags;
        add_tags(job, partial + tags * tags, first, last, t, beta, total, weight);
        if (t == first) return;
        for (int64_t j = 0; j < tags; j++)
            next[j] = agrees(targets, t, j) ? (double)emission[j] + beta[j] : -INFINITY;
        const double top_n = exponentials(en, next, tags), top_a = exponentials(ea, before, tags);
        if (job->args->dtransitions)
            add_pairs(job, partial, before, ea, top_a, next, en, top_n, total, weight);
        for (int64_t i = 0; i < tags; i++)
            beta[i] = log_sum(job, next, en, top_n, job->out, job->e_out, i);
    }
}

static void backward_item(void *context, int64_t item)
{
    const crf_job *job = context;
    const gsa_crf_args *args = job->args;
    const int64_t last_sequence = ref_smaller((item + 1) * job->chunk, args->sequences),
                  own = job->tags * (job->tags + 2);
    double *work = job->work + item * WORK * job->tags, *partial = job->partial + item * own;
    for (int64_t i = 0; i < own; i++) partial[i] = 0;
    for (int64_t s = item * job->chunk; s < last_sequence; s++) {
        const int64_t first = args->offset[s], last = args->offset[s + 1];
        if (first == last) continue;
        double total = walk(job, first, last, args->targets, work);
        if (isinf(total) && total < 0) continue;
        collect(job, first, last, args->targets, total, -job->slope, work, partial);
        total = walk(job, first, last, NULL, work);
        collect(job, first, last, NULL, total, job->slope, work, partial);
    }
}

/* out[c] += the items' partials, which start at `first` */
static void add_items(const crf_job *job, real *out, int64_t first, int64_t count)
{
    const int64_t own = job->tags * (job->tags + 2);
    for (int64_t c = 0; out && c < count; c++) {
        double sum = 0;
        for (int64_t item = 0; item < job->items; item++)
            sum += job->partial[item * own + first + c];
        out[c] += (real)sum;
    }
}

/* ---- Viterbi ------------------------------------------------------------------------------- */

static int better(double a, double b)
{
    return a > b || (isnan(a) && !isnan(b));
}

/* The first of the largest x_i + w_i; the first NaN before all. */
static int64_t first_best(const double *x, const double *w, int64_t count, double *value)
{
    int64_t best = 0;
    *value = x[0] + w[0];
    for (int64_t i = 1; i < count; i++)
        if (better(x[i] + w[i], *value)) best = i, *value = x[i] + w[i];
    return best;
}

/* Best scores of paths that end in each tag, in two rows of `work` by turns; returns the row of the
 * last token. */
static const double *best_paths(const crf_job *job, int32_t *predecessor, int64_t first,
                                int64_t last, double *work)
{
    const int64_t tags = job->tags;
    const double *before = NULL;
    for (int64_t t = first; t < last; t++) {
        const real *emission = (const real *)job->args->emissions + t * tags;
        double *row = work + (t & 1) * tags;
        for (int64_t j = 0; j < tags; j++) {
            double score = job->start[j];
            if (before)
                predecessor[t * tags + j] =
                    (int32_t)first_best(before, job->into + j * tags, tags, &score);
            row[j] = score + (double)emission[j];
        }
        before = row;
    }
    return before;
}

static void decode_item(void *context, int64_t item)
{
    const crf_job *job = context;
    const gsa_crf_args *args = job->args;
    const int64_t last_sequence = ref_smaller((item + 1) * job->chunk, args->sequences);
    int32_t *predecessor = (int32_t *)(void *)job->alpha;
    for (int64_t s = item * job->chunk; s < last_sequence; s++) {
        const int64_t first = args->offset[s], last = args->offset[s + 1];
        double score = 0;
        if (first < last) {
            const double *row =
                best_paths(job, predecessor, first, last, job->work + item * WORK * job->tags);
            int64_t tag = first_best(row, job->end, job->tags, &score);
            const int none = isinf(score) && score < 0;
            for (int64_t t = last - 1; t >= first; t--) {
                args->path[t] = none ? -1 : (int32_t)tag;
                if (t > first) tag = predecessor[t * job->tags + tag];
            }
        }
        if (args->score) ((real *)args->score)[s] = (real)score;
    }
}

/* ---- the entries --------------------------------------------------------------------------- */

static gsa_status check(gsa_backend *b, const char *op, const gsa_crf_args *args)
{
    const gsa_status status = gsa_ref_check_crf(b, op, args);
    if (status != GSA_OK) return status;
    int64_t at = 0;
    for (int64_t s = 0; s <= args->sequences && args->sequences > 0; s++) {
        if (args->offset[s] < at || args->offset[s] > args->tokens ||
            (s == 0 && args->offset[s] != 0))
            return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                            "%s: offset %lld of sequence %lld is outside %lld..%lld", op,
                            (long long)args->offset[s], (long long)s, (long long)at,
                            (long long)(s ? args->tokens : 0));
        at = args->offset[s];
    }
    if (at == args->tokens) return GSA_OK;
    return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: the sequences hold %lld tokens of %lld", op,
                    (long long)at, (long long)args->tokens);
}

static double ruled(const gsa_crf_args *args, int64_t row, int64_t tag, const void *scores,
                    int64_t at)
{
    return args->allowed && !args->allowed[row * args->tags + tag]
               ? -INFINITY
               : (double)((const real *)scores)[at];
}

static void fill_tables(crf_job *job)
{
    const gsa_crf_args *args = job->args;
    const int64_t tags = job->tags;
    for (int64_t j = 0; j < tags; j++) {
        job->start[j] = ruled(args, tags, j, args->start, j),
        job->end[j] = ruled(args, tags + 1, j, args->end, j);
        for (int64_t i = 0; i < tags; i++)
            job->out[i * tags + j] = job->into[j * tags + i] =
                ruled(args, i, j, args->transitions, i * tags + j);
    }
    job->shift = exponentials(job->e_out, job->out, tags * tags);
    for (int64_t i = 0; i < tags; i++)
        for (int64_t j = 0; j < tags; j++) job->e_into[j * tags + i] = job->e_out[i * tags + j];
}

/* Checks, scratch (`own` doubles an item next to its work) and tables. */
static gsa_status begin(gsa_backend *b, const char *op, crf_job *job, int64_t own)
{
    const gsa_crf_args *args = job->args;
    const gsa_status status = check(b, op, args);
    if (status != GSA_OK) return status;
    const int64_t tags = job->tags = args->tags, square = tags * tags;
    job->chunk = ref_partial_chunk(args->sequences, 1);
    job->items = ref_items(args->sequences, job->chunk);
    double *at = gsa_ref_scratch(
        b, op, 4 * square + 2 * tags + args->tokens * tags + job->items * (WORK * tags + own),
        sizeof *at);
    if (at == NULL) return b->error.status;
    job->out = at, job->into = at + square, job->e_out = at + 2 * square,
    job->e_into = at + 3 * square;
    job->start = at + 4 * square, job->end = job->start + tags;
    job->alpha = job->end + tags, job->work = job->alpha + args->tokens * tags;
    job->partial = job->work + job->items * WORK * tags;
    fill_tables(job);
    return GSA_OK;
}

static gsa_status check_targets(gsa_backend *b, const char *op, const gsa_crf_args *args)
{
    return gsa_ref_check_indices(b, op, "target", args->targets, args->tokens, -1, args->tags);
}

static gsa_status crf_forward(gsa_backend *b, const gsa_crf_args *args)
{
    crf_job job = { .args = args };
    gsa_status status = begin(b, "crf_forward", &job, 1);
    if (status == GSA_OK) status = check_targets(b, "crf_forward", args);
    if (status != GSA_OK) return status;
    gsa_team_run(b->team, job.items, forward_item, &job);
    double sum = 0;
    for (int64_t i = 0; i < job.items; i++) sum += job.partial[i];
    *(real *)args->loss = (real)(args->scale * sum);
    return GSA_OK;
}

static gsa_status crf_backward(gsa_backend *b, const gsa_crf_args *args)
{
    crf_job job = { .args = args };
    gsa_status status = begin(b, "crf_backward", &job, (int64_t)args->tags * (args->tags + 2));
    if (status == GSA_OK) status = check_targets(b, "crf_backward", args);
    if (status != GSA_OK) return status;
    job.slope = args->scale * (double)*(const real *)args->dloss;
    gsa_team_run(b->team, job.items, backward_item, &job);
    const int64_t square = job.tags * job.tags;
    add_items(&job, args->dtransitions, 0, square);
    add_items(&job, args->dstart, square, job.tags);
    add_items(&job, args->dend, square + job.tags, job.tags);
    return GSA_OK;
}

static gsa_status crf_decode(gsa_backend *b, const gsa_crf_args *args)
{
    crf_job job = { .args = args };
    const gsa_status status = begin(b, "crf_decode", &job, 0);
    if (status == GSA_OK) gsa_team_run(b->team, job.items, decode_item, &job);
    return status;
}

void GSA_REF(fill_crf)(gsa_backend *b)
{
    b->crf_forward = crf_forward;
    b->crf_backward = crf_backward;
    b->crf_decode = crf_decode;
}
