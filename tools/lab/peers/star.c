/* star.c - a peer of `gsa train masked-summation.ini`: the same Star-Transformer (Guo et al. 2019;
 * one layer) on the same data in plain C loops over nodes and edges, an example a thread (OpenMP),
 * forward, backward, clipping and Adam. No BLAS, none of gsa's kernels; of gsa only the data, the
 * order of the batches and the reader of the starting weights, so that both train the same numbers
 * and their losses agree.
 *
 *     star [--start model.safetensors] [--threads N] [--epochs N] [--examples N]
 *
 * One JSON line an epoch: seconds (all of it: drawing the examples, steps) and the mean loss.
 * Without --start the weights are Xavier's.
 *
 * Loops are written so that compilers make vectors of them: the innermost one adds a multiple of
 * one row to another, of sizes that are known, and the projections of a state are made once however
 * many phases read them. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "gsa/safetensors.h"
#include "train/driver/batches.h"
#include "train/data/summation.h"

enum {
    N = 200,
    K = 10,
    D = 10,
    H = 100,
    HEADS = 10,
    DH = H / HEADS,
    OUT = D - 1,
    BATCH = 32,
    SOURCES = 5
};

/* ---- parameters: one struct of floats alone, so that gradients and moments are arrays of as many
 * ---- */

typedef struct phase_weights { /* [out][in] */
    float q[H][H], k[H][H], v[H][H], o[H][H], gain[H], shift[H];
} phase_weights;

typedef struct weights {
    float in[H][D], in_bias[H];
    phase_weights down, up;
    float head[OUT][H], head_bias[OUT];
} weights;

enum { COUNT = sizeof(weights) / sizeof(float) };

typedef struct turned { /* [in][out], made once a step */
    float q[H][H], k[H][H], v[H][H], o[H][H];
} turned;

typedef struct phase_turned {
    turned down, up;
    float in[D][H];
} phase_turned;

/* ---- what a thread keeps of one example ---------------------------------------------------- */

typedef struct rows {
    float at[N][H];
} rows;

typedef struct example {
    float x[N * D], target[OUT];
    rows h0, q, k, v, a, u, h1; /* down: a aggregate, u = relu(o a), h1 = norm(u) */
    float relay[H], relay_k[H], relay_v[H];
    float p[N][HEADS][SOURCES], mean[N], rstd[N];
    rows up_k, up_v; /* of h1 */
    float up_q[H], self_k[H], self_v[H], up_p[HEADS][N + 1], up_a[H], up_u[H], up_mean, up_rstd,
        relay1[H];
    int best[H]; /* of max_i h1 */
    float summary[H], y[OUT];
    /* gradients */
    rows dh0, dq, dk, dv, da, du, dh1, dup_k, dup_v;
    float drelay[H], drelay_k[H], drelay_v[H];
    double loss;
    weights grad; /* of all the thread's examples of the batch */
} example;

/* y [out] = x [in] W^T, with W turned */
static inline void project(float *restrict y, const float *restrict x,
                           const float (*restrict wt)[H], int in)
{
    float sum[H] = { 0 };
    for (int i = 0; i < in; i++)
        for (int o = 0; o < H; o++) sum[o] += x[i] * wt[i][o];
    memcpy(y, sum, sizeof sum);
}

/* dx += dy W */
static inline void project_back(float *restrict dx, const float *restrict dy,
                                const float (*restrict w)[H])
{
    float sum[H];
    memcpy(sum, dx, sizeof sum);
    for (int o = 0; o < H; o++)
        for (int i = 0; i < H; i++) sum[i] += dy[o] * w[o][i];
    memcpy(dx, sum, sizeof sum);
}

/* dW += dy^T x, over rows */
static inline void weights_back(float (*restrict dw)[H], const float (*restrict dy)[H],
                                const float (*restrict x)[H], int count)
{
    for (int o = 0; o < H; o++) {
        float sum[H];
        memcpy(sum, dw[o], sizeof sum);
        for (int r = 0; r < count; r++)
            for (int i = 0; i < H; i++) sum[i] += dy[r][o] * x[r][i];
        memcpy(dw[o], sum, sizeof sum);
    }
}

static void relu_norm(float *u, float *y, float *mean, float *rstd, const phase_weights *w)
{
    float sum = 0, squares = 0;
    for (int c = 0; c < H; c++) u[c] = u[c] > 0 ? u[c] : 0;
    for (int c = 0; c < H; c++) sum += u[c];
    *mean = sum / H;
    for (int c = 0; c < H; c++) squares += (u[c] - *mean) * (u[c] - *mean);
    *rstd = 1 / sqrtf(squares / H + 1e-6f);
    for (int c = 0; c < H; c++) y[c] = (u[c] - *mean) * *rstd * w->gain[c] + w->shift[c];
}

/* du: gradient of what relu reads */
static void relu_norm_back(float *du, const float *dy, const float *u, float mean, float rstd,
                           const phase_weights *w, phase_weights *dw)
{
    float sum = 0, along = 0;
    for (int c = 0; c < H; c++) {
        const float hat = (u[c] - mean) * rstd, g = dy[c] * w->gain[c];
        dw->gain[c] += dy[c] * hat, dw->shift[c] += dy[c];
        sum += g, along += g * hat;
    }
    for (int c = 0; c < H; c++) {
        const float hat = (u[c] - mean) * rstd;
        du[c] = u[c] > 0 ? rstd * (dy[c] * w->gain[c] - sum / H - hat * along / H) : 0;
    }
}

static void softmax(float *s, int count)
{
    float most = s[0], sum = 0;
    for (int i = 1; i < count; i++) most = s[i] > most ? s[i] : most;
    for (int i = 0; i < count; i++) s[i] = expf(s[i] - most), sum += s[i];
    for (int i = 0; i < count; i++) s[i] /= sum;
}

static float dot(const float *a, const float *b)
{
    float sum = 0;
    for (int c = 0; c < DH; c++) sum += a[c] * b[c];
    return sum;
}

static void add(float *y, float scale, const float *x)
{
    for (int c = 0; c < DH; c++) y[c] += scale * x[c];
}

/* ---- forward ------------------------------------------------------------------------------- */

/* The five sources of a satellite: left, itself, right, its embedding (whose state is its own in
 * layer one) and the relay. */
static void sources(const example *e, int i, int values, const float *at[SOURCES])
{
    const rows *r = values ? &e->v : &e->k;
    at[0] = r->at[(i + N - 1) % N], at[1] = r->at[i], at[2] = r->at[(i + 1) % N], at[3] = r->at[i];
    at[4] = values ? e->relay_v : e->relay_k;
}

static void sources_back(example *e, int i, int values, float *at[SOURCES])
{
    rows *r = values ? &e->dv : &e->dk;
    at[0] = r->at[(i + N - 1) % N], at[1] = r->at[i], at[2] = r->at[(i + 1) % N], at[3] = r->at[i];
    at[4] = values ? e->drelay_v : e->drelay_k;
}

static void down(example *e, const weights *w, const phase_turned *t)
{
    const float scale = 1 / sqrtf(DH);
    memset(e->relay, 0, sizeof e->relay);
    for (int i = 0; i < N; i++) {
        project(e->h0.at[i], e->x + i * D, t->in, D);
        for (int c = 0; c < H; c++)
            e->h0.at[i][c] += w->in_bias[c], e->relay[c] += e->h0.at[i][c] / N;
    }
    project(e->relay_k, e->relay, t->down.k, H), project(e->relay_v, e->relay, t->down.v, H);
    for (int i = 0; i < N; i++) project(e->q.at[i], e->h0.at[i], t->down.q, H);
    for (int i = 0; i < N; i++) project(e->k.at[i], e->h0.at[i], t->down.k, H);
    for (int i = 0; i < N; i++) project(e->v.at[i], e->h0.at[i], t->down.v, H);
    for (int i = 0; i < N; i++) {
        const float *k[SOURCES], *v[SOURCES];
        sources(e, i, 0, k), sources(e, i, 1, v);
        memset(e->a.at[i], 0, sizeof e->a.at[i]);
        for (int h = 0; h < HEADS; h++) {
            float *p = e->p[i][h];
            for (int s = 0; s < SOURCES; s++)
                p[s] = scale * dot(e->q.at[i] + h * DH, k[s] + h * DH);
            softmax(p, SOURCES);
            for (int s = 0; s < SOURCES; s++) add(e->a.at[i] + h * DH, p[s], v[s] + h * DH);
        }
    }
    for (int i = 0; i < N; i++) {
        project(e->u.at[i], e->a.at[i], t->down.o, H);
        relu_norm(e->u.at[i], e->h1.at[i], &e->mean[i], &e->rstd[i], &w->down);
    }
}

static void up(example *e, const weights *w, const phase_turned *t)
{
    const float scale = 1 / sqrtf(DH);
    project(e->up_q, e->relay, t->up.q, H);
    project(e->self_k, e->relay, t->up.k, H), project(e->self_v, e->relay, t->up.v, H);
    for (int i = 0; i < N; i++) project(e->up_k.at[i], e->h1.at[i], t->up.k, H);
    for (int i = 0; i < N; i++) project(e->up_v.at[i], e->h1.at[i], t->up.v, H);
    memset(e->up_a, 0, sizeof e->up_a);
    for (int h = 0; h < HEADS; h++) {
        float *p = e->up_p[h];
        p[0] = scale * dot(e->up_q + h * DH, e->self_k + h * DH);
        for (int i = 0; i < N; i++)
            p[i + 1] = scale * dot(e->up_q + h * DH, e->up_k.at[i] + h * DH);
        softmax(p, N + 1);
        add(e->up_a + h * DH, p[0], e->self_v + h * DH);
        for (int i = 0; i < N; i++) add(e->up_a + h * DH, p[i + 1], e->up_v.at[i] + h * DH);
    }
    project(e->up_u, e->up_a, t->up.o, H);
    relu_norm(e->up_u, e->relay1, &e->up_mean, &e->up_rstd, &w->up);
}

static void head(example *e, const weights *w, float scale)
{
    for (int c = 0; c < H; c++) {
        e->best[c] = 0;
        for (int i = 1; i < N; i++)
            if (e->h1.at[i][c] > e->h1.at[e->best[c]][c]) e->best[c] = i;
        e->summary[c] = e->relay1[c] + e->h1.at[e->best[c]][c];
    }
    for (int o = 0; o < OUT; o++) {
        e->y[o] = w->head_bias[o];
        for (int c = 0; c < H; c++) e->y[o] += w->head[o][c] * e->summary[c];
        e->loss += (double)(scale * (e->y[o] - e->target[o]) * (e->y[o] - e->target[o]));
    }
}

/* ---- backward ------------------------------------------------------------------------------ */

static void head_back(example *e, const weights *w, float scale, float *drelay1)
{
    memset(drelay1, 0, H * sizeof *drelay1);
    for (int o = 0; o < OUT; o++) {
        const float dy = 2 * scale * (e->y[o] - e->target[o]);
        e->grad.head_bias[o] += dy;
        for (int c = 0; c < H; c++)
            e->grad.head[o][c] += dy * e->summary[c], drelay1[c] += dy * w->head[o][c];
    }
    memset(&e->dh1, 0, sizeof e->dh1);
    for (int c = 0; c < H; c++) e->dh1.at[e->best[c]][c] += drelay1[c];
}

static void up_back(example *e, const weights *w, const float *drelay1)
{
    const float scale = 1 / sqrtf(DH);
    float du[1][H], da[H] = { 0 }, dq[1][H] = { { 0 } }, dk[1][H] = { { 0 } }, dv[1][H] = { { 0 } };
    memset(e->drelay, 0, sizeof e->drelay);
    relu_norm_back(du[0], drelay1, e->up_u, e->up_mean, e->up_rstd, &w->up, &e->grad.up);
    project_back(da, du[0], w->up.o);
    weights_back(e->grad.up.o, (const float(*)[H])du, (const float(*)[H]) & e->up_a, 1);
    memset(&e->dup_k, 0, sizeof e->dup_k), memset(&e->dup_v, 0, sizeof e->dup_v);
    for (int h = 0; h < HEADS; h++) {
        const int at = h * DH;
        const float inner = dot(da + at, e->up_a + at), *p = e->up_p[h];
        const float own = scale * p[0] * (dot(da + at, e->self_v + at) - inner);
        add(dv[0] + at, p[0], da + at), add(dq[0] + at, own, e->self_k + at),
            add(dk[0] + at, own, e->up_q + at);
        for (int i = 0; i < N; i++) {
            const float ds = scale * p[i + 1] * (dot(da + at, e->up_v.at[i] + at) - inner);
            add(e->dup_v.at[i] + at, p[i + 1], da + at);
            add(dq[0] + at, ds, e->up_k.at[i] + at), add(e->dup_k.at[i] + at, ds, e->up_q + at);
        }
    }
    const float(*relay)[H] = (const float(*)[H]) & e->relay;
    project_back(e->drelay, dq[0], w->up.q), project_back(e->drelay, dk[0], w->up.k),
        project_back(e->drelay, dv[0], w->up.v);
    weights_back(e->grad.up.q, (const float(*)[H])dq, relay, 1);
    weights_back(e->grad.up.k, (const float(*)[H])dk, relay, 1);
    weights_back(e->grad.up.v, (const float(*)[H])dv, relay, 1);
    for (int i = 0; i < N; i++) project_back(e->dh1.at[i], e->dup_k.at[i], w->up.k);
    for (int i = 0; i < N; i++) project_back(e->dh1.at[i], e->dup_v.at[i], w->up.v);
    weights_back(e->grad.up.k, (const float(*)[H])e->dup_k.at, (const float(*)[H])e->h1.at, N);
    weights_back(e->grad.up.v, (const float(*)[H])e->dup_v.at, (const float(*)[H])e->h1.at, N);
}

static void edges_back(example *e)
{
    const float scale = 1 / sqrtf(DH);
    memset(&e->dq, 0, sizeof e->dq), memset(&e->dk, 0, sizeof e->dk),
        memset(&e->dv, 0, sizeof e->dv);
    memset(e->drelay_k, 0, sizeof e->drelay_k), memset(e->drelay_v, 0, sizeof e->drelay_v);
    for (int i = 0; i < N; i++) {
        const float *k[SOURCES], *v[SOURCES];
        float *dk[SOURCES], *dv[SOURCES];
        sources(e, i, 0, k), sources(e, i, 1, v), sources_back(e, i, 0, dk),
            sources_back(e, i, 1, dv);
        for (int h = 0; h < HEADS; h++) {
            const int at = h * DH;
            const float *da = e->da.at[i] + at, inner = dot(da, e->a.at[i] + at), *p = e->p[i][h];
            for (int s = 0; s < SOURCES; s++) {
                const float ds = scale * p[s] * (dot(da, v[s] + at) - inner);
                add(dv[s] + at, p[s], da), add(e->dq.at[i] + at, ds, k[s] + at),
                    add(dk[s] + at, ds, e->q.at[i] + at);
            }
        }
    }
}

static void down_back(example *e, const weights *w)
{
    memset(&e->da, 0, sizeof e->da), memset(&e->dh0, 0, sizeof e->dh0);
    for (int i = 0; i < N; i++) {
        relu_norm_back(e->du.at[i], e->dh1.at[i], e->u.at[i], e->mean[i], e->rstd[i], &w->down,
                       &e->grad.down);
        project_back(e->da.at[i], e->du.at[i], w->down.o);
    }
    weights_back(e->grad.down.o, (const float(*)[H])e->du.at, (const float(*)[H])e->a.at, N);
    edges_back(e);
    for (int i = 0; i < N; i++) project_back(e->dh0.at[i], e->dq.at[i], w->down.q);
    for (int i = 0; i < N; i++) project_back(e->dh0.at[i], e->dk.at[i], w->down.k);
    for (int i = 0; i < N; i++) project_back(e->dh0.at[i], e->dv.at[i], w->down.v);
    project_back(e->drelay, e->drelay_k, w->down.k),
        project_back(e->drelay, e->drelay_v, w->down.v);
    const float(*h0)[H] = (const float(*)[H])e->h0.at, (*relay)[H] = (const float(*)[H]) & e->relay;
    weights_back(e->grad.down.q, (const float(*)[H])e->dq.at, h0, N);
    weights_back(e->grad.down.k, (const float(*)[H])e->dk.at, h0, N);
    weights_back(e->grad.down.v, (const float(*)[H])e->dv.at, h0, N);
    weights_back(e->grad.down.k, (const float(*)[H]) & e->drelay_k, relay, 1);
    weights_back(e->grad.down.v, (const float(*)[H]) & e->drelay_v, relay, 1);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < H; c++) {
            const float dh = e->dh0.at[i][c] + e->drelay[c] / N;
            e->grad.in_bias[c] += dh;
            for (int d = 0; d < D; d++) e->grad.in[c][d] += dh * e->x[i * D + d];
        }
}

/* ---- a step -------------------------------------------------------------------------------- */

static void turn(turned *to, const phase_weights *from)
{
    for (int o = 0; o < H; o++)
        for (int i = 0; i < H; i++)
            to->q[i][o] = from->q[o][i], to->k[i][o] = from->k[o][i], to->v[i][o] = from->v[o][i],
            to->o[i][o] = from->o[o][i];
}

typedef struct trainer {
    weights w, m, v, grad;
    phase_turned t;
    example *thread;
    int threads;
    int64_t steps;
} trainer;

static double gradients(trainer *x, const gsa_summation *data, const int64_t *number, int count)
{
    const float scale = 1 / (float)(count * OUT);
    turn(&x->t.down, &x->w.down), turn(&x->t.up, &x->w.up);
    for (int o = 0; o < H; o++)
        for (int d = 0; d < D; d++) x->t.in[d][o] = x->w.in[o][d];
    for (int t = 0; t < x->threads; t++)
        memset(&x->thread[t].grad, 0, sizeof(weights)), x->thread[t].loss = 0;
#pragma omp parallel for schedule(static) num_threads(x->threads)
    for (int b = 0; b < count; b++) {
        example *e = &x->thread[omp_get_thread_num()];
        float drelay1[H];
        gsa_summation_example(data, 0, (uint64_t)number[b], e->x, e->target);
        down(e, &x->w, &x->t);
        up(e, &x->w, &x->t);
        head(e, &x->w, scale);
        head_back(e, &x->w, scale, drelay1);
        up_back(e, &x->w, drelay1);
        down_back(e, &x->w);
    }
    double loss = 0;
    float *sum = (float *)&x->grad;
    memset(sum, 0, sizeof(weights));
    for (int t = 0; t < x->threads; t++) {
        loss += x->thread[t].loss;
        for (int i = 0; i < COUNT; i++) sum[i] += ((const float *)&x->thread[t].grad)[i];
    }
    return loss;
}

/* Gradients are clipped to a norm of 5, as in the recipe. */
static void adam(trainer *x, double rate)
{
    float *w = (float *)&x->w, *m = (float *)&x->m, *v = (float *)&x->v;
    const float *g = (const float *)&x->grad;
    double squares = 0;
    x->steps++;
    for (int i = 0; i < COUNT; i++) squares += (double)g[i] * (double)g[i];
    const float factor = squares > 25 ? (float)(5 / sqrt(squares)) : 1;
    const float one = (float)(1 - pow(0.9, (double)x->steps)),
                two = (float)(1 - pow(0.999, (double)x->steps));
    for (int i = 0; i < COUNT; i++) {
        const float gradient = factor * g[i];
        m[i] = 0.9f * m[i] + 0.1f * gradient;
        v[i] = 0.999f * v[i] + 0.001f * gradient * gradient;
        w[i] -= (float)rate * (m[i] / one) / (sqrtf(v[i] / two) + 1e-8f);
    }
}

/* ---- start --------------------------------------------------------------------------------- */

static void xavier(float *w, int out, int in, uint64_t *state)
{
    for (int i = 0; i < out * in; i++) {
        *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        w[i] = (float)(((double)(*state >> 11) * 0x1p-53 * 2 - 1) * sqrt(6.0 / (in + out)));
    }
}

static void start_phase(phase_weights *p, uint64_t *state)
{
    xavier(p->q[0], H, H, state), xavier(p->k[0], H, H, state), xavier(p->v[0], H, H, state),
        xavier(p->o[0], H, H, state);
    for (int c = 0; c < H; c++) p->gain[c] = 1;
}

static int read_one(const gsa_safetensors *file, const char *stack, const char *name, float *to,
                    int64_t count)
{
    char whole[80];
    snprintf(whole, sizeof whole, "%s%s", stack, name);
    const gsa_blob *blob = gsa_safetensors_find(file, whole);
    if (!blob || blob->dtype != GSA_DTYPE_F32 || gsa_blob_count(blob) != count) {
        fprintf(stderr, "star: the start has no %s of %lld floats\n", whole, (long long)count);
        return 0;
    }
    memcpy(to, blob->data, (size_t)count * sizeof *to);
    return 1;
}

static int read_phase(const gsa_safetensors *file, const char *stack, phase_weights *p)
{
    return read_one(file, stack, "q.weight", p->q[0], H * H) &&
           read_one(file, stack, "k.weight", p->k[0], H * H) &&
           read_one(file, stack, "v.weight", p->v[0], H * H) &&
           read_one(file, stack, "o.weight", p->o[0], H * H) &&
           read_one(file, stack, "norm.gain", p->gain, H) &&
           read_one(file, stack, "norm.bias", p->shift, H);
}

static int start(trainer *x, const char *path)
{
    uint64_t state = 1;
    gsa_error error;
    gsa_safetensors file;
    if (!path) {
        xavier(x->w.in[0], H, D, &state), start_phase(&x->w.down, &state),
            start_phase(&x->w.up, &state);
        xavier(x->w.head[0], OUT, H, &state);
        return 1;
    }
    if (gsa_safetensors_read(gsa_system_default(), path, &file, &error) != GSA_OK) {
        fprintf(stderr, "star: %s\n", error.text);
        return 0;
    }
    const int good = read_one(&file, "input.linear.", "weight", x->w.in[0], H * D) &&
                     read_one(&file, "input.linear.", "bias", x->w.in_bias, H) &&
                     read_phase(&file, "encoder.0.0.down.", &x->w.down) &&
                     read_phase(&file, "encoder.0.0.up.", &x->w.up) &&
                     read_one(&file, "head.out.", "weight", x->w.head[0], OUT * H) &&
                     read_one(&file, "head.out.", "bias", x->w.head_bias, OUT);
    gsa_safetensors_release(&file);
    return good;
}

/* ---- the run ------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void train(trainer *x, gsa_batches *batches, int epochs)
{
    const gsa_summation data = { N, K, D, 1 };
    for (int epoch = 0; epoch < epochs; epoch++) {
        double loss = 0;
        int64_t examples = 0, count;
        const double began = seconds();
        gsa_batches_shuffle(batches, epoch);
        for (int64_t b = 0; b < batches->count; b++, examples += count) {
            const int64_t *number = gsa_batches_at(batches, b, &count);
            loss += gradients(x, &data, number, (int)count) * (double)count;
            adam(x, 0.001);
        }
        printf("{\"epoch\": %d, \"seconds\": %.4f, \"loss\": %.8f, \"threads\": %d}\n", epoch + 1,
               seconds() - began, loss / (double)examples, x->threads);
        fflush(stdout);
    }
}

/* The number after --name, or `otherwise`. */
static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv)
{
    const int threads = atoi(option(argc, argv, "--threads", "1")),
              epochs = atoi(option(argc, argv, "--epochs", "1"));
    const int64_t examples = atoll(option(argc, argv, "--examples", "10000"));
    const gsa_batches_options options = { .batch = BATCH, .accumulate = 1, .bucket = 1, .seed = 1 };
    gsa_batches batches;
    gsa_error error;
    if (threads < 1 || epochs < 1 || examples < 1) {
        fprintf(stderr, "star: --threads, --epochs and --examples are at least 1\n");
        return 2;
    }
    trainer *x = calloc(1, sizeof *x);
    int32_t *length = malloc((size_t)examples * sizeof *length);
    if (x)
        x->thread = aligned_alloc(64, ((size_t)threads * sizeof(example) + 63) / 64 * 64),
        x->threads = threads;
    if (!x || !x->thread || !length) return 1;
    for (int64_t i = 0; i < examples; i++) length[i] = N;
    int good = start(x, option(argc, argv, "--start", NULL));
    if (good && gsa_batches_create(gsa_system_default(), &options, length, examples, &batches,
                                   &error) != GSA_OK)
        good = 0, fprintf(stderr, "star: %s\n", error.text);
    if (good) {
        train(x, &batches, epochs);
        gsa_batches_release(&batches);
    }
    free(x->thread);
    free(x);
    free(length);
    return good ? 0 : 1;
}
