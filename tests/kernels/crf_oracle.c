#include "crf_oracle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 5000, LONGEST = 16 };

static double score_if(const crf_problem *p, int64_t row, int64_t tag, double score)
{
    return p->allowed && p->allowed[row * p->tags + tag] == 0 ? -INFINITY : score;
}
static double begin_at(const crf_problem *p, int64_t tag)
{
    return score_if(p, p->tags, tag, p->start[tag]);
}
static double stop_at(const crf_problem *p, int64_t tag)
{
    return score_if(p, p->tags + 1, tag, p->end[tag]);
}
static double step(const crf_problem *p, int64_t from, int64_t to)
{
    return score_if(p, from, to, p->transitions[from * p->tags + to]);
}

static int few_paths(const crf_problem *p)
{
    double paths = 1;
    for (int64_t t = 0; t < p->length; t++) paths *= (double)p->tags;
    return p->length <= LONGEST && paths <= FEW;
}

/* ---- all paths: path number n in base `tags`, the last token the most significant digit ---- */

static int next_path(const crf_problem *p, int64_t *path)
{
    for (int64_t t = 0; t < p->length; t++) {
        if (++path[t] < p->tags) return 1;
        path[t] = 0;
    }
    return 0;
}

static double score_of(const crf_problem *p, const int64_t *path)
{
    double score = begin_at(p, path[0]);
    for (int64_t t = 0; t < p->length; t++) {
        if (t > 0) score += step(p, path[t - 1], path[t]);
        score += p->emissions[t * p->tags + path[t]];
    }
    return score + stop_at(p, path[p->length - 1]);
}

static int fits(const crf_problem *p, const int64_t *path)
{
    for (int64_t t = 0; t < p->length; t++)
        if (p->targets[t] >= 0 && (double)path[t] != p->targets[t]) return 0;
    return 1;
}

static void use_path(const crf_problem *p, const int64_t *path, double share)
{
    p->dstart[path[0]] += share;
    p->dend[path[p->length - 1]] += share;
    for (int64_t t = 0; t < p->length; t++) {
        p->demissions[t * p->tags + path[t]] += share;
        if (t > 0) p->dtransitions[path[t - 1] * p->tags + path[t]] += share;
    }
}

/* log of the sum over paths; with weight != 0 also its gradient. */
static double total_of_all(const crf_problem *p, int only_fitting, double weight)
{
    int64_t path[LONGEST] = { 0 };
    double top = -INFINITY, sum = 0;
    do top = fits(p, path) || !only_fitting ? fmax(top, score_of(p, path)) : top;
    while (next_path(p, path));
    if (isinf(top)) return top;
    do sum += fits(p, path) || !only_fitting ? exp(score_of(p, path) - top) : 0;
    while (next_path(p, path));
    do
        if (weight != 0 && (fits(p, path) || !only_fitting))
            use_path(p, path, weight * exp(score_of(p, path) - top) / sum);
    while (next_path(p, path));
    return top + log(sum);
}

static double best_of_all(const crf_problem *p, double *best)
{
    int64_t path[LONGEST] = { 0 };
    double top = -INFINITY;
    for (int64_t t = 0; t < p->length; t++) best[t] = -1;
    do {
        const double score = score_of(p, path);
        if (score > top) {
            top = score;
            for (int64_t t = 0; t < p->length; t++) best[t] = (double)path[t];
        }
    } while (next_path(p, path));
    return top;
}

/* ---- recursions ---------------------------------------------------------------------------- */

static double add_logs(double a, double b)
{
    const double top = fmax(a, b);
    return isinf(top) ? top : top + log1p(exp(fmin(a, b) - top));
}

static double emission(const crf_problem *p, int64_t t, int64_t tag, int only_fitting)
{
    if (only_fitting && p->targets[t] >= 0 && (double)tag != p->targets[t]) return -INFINITY;
    return p->emissions[t * p->tags + tag];
}

static double total_by_recursion(const crf_problem *p, int only_fitting, double weight)
{
    const int64_t n = p->length, k = p->tags;
    double *alpha = calloc((size_t)(n * k), sizeof *alpha),
           *beta = calloc((size_t)(n * k), sizeof *beta), total = -INFINITY;
    for (int64_t t = 0; t < n; t++)
        for (int64_t j = 0; j < k; j++) {
            double sum = t ? -INFINITY : begin_at(p, j);
            for (int64_t i = 0; t && i < k; i++)
                sum = add_logs(sum, alpha[(t - 1) * k + i] + step(p, i, j));
            alpha[t * k + j] = sum + emission(p, t, j, only_fitting);
        }
    for (int64_t t = n - 1; t >= 0; t--)
        for (int64_t i = 0; i < k; i++) {
            double sum = t < n - 1 ? -INFINITY : stop_at(p, i);
            for (int64_t j = 0; t < n - 1 && j < k; j++)
                sum = add_logs(sum, step(p, i, j) + emission(p, t + 1, j, only_fitting) +
                                        beta[(t + 1) * k + j]);
            beta[t * k + i] = sum;
        }
    for (int64_t j = 0; j < k; j++) total = add_logs(total, alpha[(n - 1) * k + j] + stop_at(p, j));
    for (int64_t t = 0; weight != 0 && t < n; t++)
        for (int64_t j = 0; j < k; j++) {
            const double share = weight * exp(alpha[t * k + j] + beta[t * k + j] - total);
            p->demissions[t * k + j] += share;
            if (t == 0) p->dstart[j] += share;
            if (t == n - 1) p->dend[j] += share;
            for (int64_t i = 0; t && i < k; i++)
                p->dtransitions[i * k + j] +=
                    weight * exp(alpha[(t - 1) * k + i] + step(p, i, j) +
                                 emission(p, t, j, only_fitting) + beta[t * k + j] - total);
        }
    free(alpha);
    free(beta);
    return total;
}

/* beta-like: the best score from token t on, given its tag; so the path comes out from the front,
 * ties by hand. */
static double best_by_recursion(const crf_problem *p, double *best)
{
    const int64_t n = p->length, k = p->tags;
    double *up_to = calloc((size_t)(n * k), sizeof *up_to), top = -INFINITY;
    int64_t tag = -1;
    for (int64_t t = 0; t < n; t++)
        for (int64_t j = 0; j < k; j++) {
            double most = t ? -INFINITY : begin_at(p, j);
            for (int64_t i = 0; t && i < k; i++)
                most = fmax(most, up_to[(t - 1) * k + i] + step(p, i, j));
            up_to[t * k + j] = most + p->emissions[t * k + j];
        }
    for (int64_t j = k - 1; j >= 0; j--) top = fmax(top, up_to[(n - 1) * k + j] + stop_at(p, j));
    for (int64_t j = 0; j < k && tag < 0 && !isinf(top); j++)
        if (up_to[(n - 1) * k + j] + stop_at(p, j) == top) tag = j;
    for (int64_t t = n - 1; t >= 0; t--) {
        best[t] = (double)tag;
        int64_t before = -1;
        for (int64_t i = 0; t && tag >= 0 && i < k && before < 0; i++)
            if (up_to[(t - 1) * k + i] + step(p, i, tag) + p->emissions[t * k + tag] ==
                up_to[t * k + tag])
                before = i;
        tag = before;
    }
    free(up_to);
    return top;
}

double crf_oracle_nll(const crf_problem *p)
{
    double (*const total)(const crf_problem *, int, double) =
        few_paths(p) ? total_of_all : total_by_recursion;
    if (p->length == 0) return 0;
    const double fitting = total(p, 1, 0);
    if (isinf(fitting)) return INFINITY;
    if (p->weight != 0) total(p, 1, -p->weight);
    return total(p, 0, p->weight) - fitting;
}

double crf_oracle_best(const crf_problem *p, double *path)
{
    if (p->length == 0) return 0;
    return few_paths(p) ? best_of_all(p, path) : best_by_recursion(p, path);
}
