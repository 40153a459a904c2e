/* The CRF of the CUDA backend against ref: losses, gradients, and paths to the last tie, in three
 * orders of threads. */
#include "cuda_cases.h"
#include "support/compare.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASKED = 1,
    UNKNOWN = 2,
    LARGE = 4,
    TIES = 8,
    MINUS_INFINITY = 16,
    NANS = 32,
    FAR = 64,
    NO_SEQUENCE_IS_EMPTY = 128,
    NOTHING_IS_LEGAL = 256
};

static const struct shape {
    int32_t sequences, longest, tags;
    int flags;
} shapes[] = {
    { 0, 0, 3, 0 },
    { 3, 0, 2, 0 },
    { 1, 1, 1, 0 },
    { 5, 6, 1, UNKNOWN },
    { 9, 7, 2, TIES },
    { 9, 7, 4, TIES | MASKED | UNKNOWN },
    { 40, 3, 5, TIES | MASKED },
    { 4, 3, 2, MASKED | NOTHING_IS_LEGAL },
    { 6, 12, 9, 0 },
    { 6, 12, 9, MASKED },
    { 6, 12, 9, MASKED | UNKNOWN },
    { 6, 12, 9, LARGE },
    { 6, 12, 9, LARGE | MASKED | UNKNOWN | MINUS_INFINITY },
    { 5, 9, 3, FAR | NO_SEQUENCE_IS_EMPTY },
    { 5, 9, 3, FAR | UNKNOWN },
    { 7, 6, 5, NANS },
    { 7, 6, 33, NANS | MASKED | UNKNOWN },
    { 3, 300, 17, UNKNOWN },
    { 30, 40, 17, MASKED | NO_SEQUENCE_IS_EMPTY },
    { 4, 9, 31, TIES },
    { 4, 9, 32, MASKED },
    { 4, 9, 33, TIES | MASKED | UNKNOWN },
    { 3, 7, 64, LARGE | MINUS_INFINITY },
    { 3, 7, 65, TIES },
    { 2, 5, 129, MASKED },
    { 2, 4, 256, TIES },
    { 2, 4, 257, UNKNOWN | MASKED },
    { 2, 3, 300, TIES | LARGE },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };
enum { EMISSIONS, TRANSITIONS, START, END, INPUTS };

typedef struct problem {
    int64_t sequences, tokens, tags;
    int64_t *offset;
    int32_t *targets;
    uint8_t *allowed; /* or NULL */
    int64_t count[INPUTS];
    float *x[INPUTS];
} problem;

typedef struct answer {
    float loss, *nll, *score, *d[INPUTS];
    int32_t *path;
} answer;

static void *room(int64_t count, size_t size)
{
    void *at = calloc((size_t)count + 1, size);
    if (at == NULL) abort();
    return at;
}

static float draw(gsa_dice *dice, const struct shape *s, int64_t i)
{
    const float x = s->flags & TIES ? (float)gsa_between(dice, 0, 2) : (float)gsa_normal(dice);
    if ((s->flags & MINUS_INFINITY) && gsa_between(dice, 0, 9) == 0) return -INFINITY;
    if ((s->flags & NANS) && gsa_between(dice, 0, 60) == 0) return NAN;
    if (s->flags & FAR) return i % s->tags == 0 ? 700 : i % s->tags == 1 ? -450 * x : x;
    return s->flags & LARGE ? 300 * x : x;
}

static problem make(const struct shape *s, gsa_dice *dice)
{
    problem p = { .sequences = s->sequences,
                  .tags = s->tags,
                  .offset = room(s->sequences + 1, sizeof(int64_t)) };
    for (int32_t i = 0; i < s->sequences; i++) {
        const int least = s->flags & NO_SEQUENCE_IS_EMPTY || i % 3 != 1 ? s->longest > 0 : 0;
        p.offset[i + 1] = p.offset[i] + gsa_between(dice, least, s->longest);
    }
    p.tokens = p.offset[s->sequences];
    p.targets = room(p.tokens, sizeof *p.targets);
    const int64_t tags = p.tags, count[INPUTS] = { p.tokens * tags, tags * tags, tags, tags };
    for (int64_t t = 0; t < p.tokens; t++)
        p.targets[t] = (int32_t)gsa_between(dice, s->flags & UNKNOWN ? -1 : 0, tags - 1);
    for (int k = 0; k < INPUTS; k++) {
        p.count[k] = count[k], p.x[k] = room(count[k], sizeof(float));
        for (int64_t i = 0; i < count[k]; i++) p.x[k][i] = draw(dice, s, i);
    }
    if (!(s->flags & MASKED)) return p;
    p.allowed = room((tags + 2) * tags, 1);
    for (int64_t i = 0; i < (tags + 2) * tags; i++)
        p.allowed[i] = !(s->flags & NOTHING_IS_LEGAL) && gsa_between(dice, 0, 5) != 0;
    return p;
}

static void release(problem *p)
{
    free(p->offset), free(p->targets), free(p->allowed);
    for (int k = 0; k < INPUTS; k++) free(p->x[k]);
}

static gsa_crf_args args_of(gsa_backend *b, const problem *p, void **all)
{
    gsa_crf_args args = {
        .sequences = p->sequences, .tokens = p->tokens, .tags = (int32_t)p->tags, .scale = 0.25
    };
    void *at[] = { put(b, p->offset, 8 * (p->sequences + 1)),
                   put(b, p->targets, 4 * p->tokens),
                   p->allowed ? put(b, p->allowed, (p->tags + 2) * p->tags) : NULL,
                   put(b, p->x[EMISSIONS], 4 * p->count[EMISSIONS]),
                   put(b, p->x[TRANSITIONS], 4 * p->count[TRANSITIONS]),
                   put(b, p->x[START], 4 * p->tags),
                   put(b, p->x[END], 4 * p->tags) };
    args.offset = at[0], args.targets = at[1], args.allowed = at[2], args.emissions = at[3];
    args.transitions = at[4], args.start = at[5], args.end = at[6];
    memcpy(all, at, sizeof at);
    return args;
}

/* Everything that a backend says; gradients are added to ones. */
static answer solve(tally *t, gsa_backend *b, const problem *p, const char *name)
{
    void *in[7], *out[8];
    gsa_crf_args args = args_of(b, p, in);
    answer a = { .nll = room(p->sequences, 4),
                 .score = room(p->sequences, 4),
                 .path = room(p->tokens, 4) };
    for (int k = 0; k < INPUTS; k++) {
        a.d[k] = room(p->count[k], sizeof(float));
        for (int64_t i = 0; i < p->count[k]; i++) a.d[k][i] = 1;
        out[k] = put(b, a.d[k], 4 * p->count[k]);
    }
    out[4] = put(b, &(float){ 2 }, 4), out[5] = put(b, a.nll, 4 * p->sequences),
    out[6] = put(b, a.score, 4 * p->sequences);
    out[7] = put(b, a.path, 4 * p->tokens);
    args.demissions = out[0], args.dtransitions = out[1], args.dstart = out[2], args.dend = out[3];
    args.dloss = out[4], args.nll = out[5], args.score = out[6], args.path = out[7];
    check(t, b->crf_backward(b, &args) == GSA_OK, "%s: backward: %s", name, b->error.text);
    args.loss = out[4];
    check(t, b->crf_forward(b, &args) == GSA_OK, "%s: forward: %s", name, b->error.text);
    check(t, b->crf_decode(b, &args) == GSA_OK, "%s: decode: %s", name, b->error.text);
    for (int k = 0; k < INPUTS; k++) get(b, a.d[k], out[k], 4 * p->count[k]);
    get(b, &a.loss, out[4], 4), get(b, a.nll, out[5], 4 * p->sequences),
        get(b, a.score, out[6], 4 * p->sequences);
    get(b, a.path, out[7], 4 * p->tokens);
    for (int i = 0; i < 7; i++) b->free(b, in[i]);
    for (int i = 0; i < 8; i++) b->free(b, out[i]);
    return a;
}

static void forget(answer *a)
{
    free(a->nll), free(a->score), free(a->path);
    for (int k = 0; k < INPUTS; k++) free(a->d[k]);
}

static void compare(tally *t, const problem *p, const answer *got, const answer *want,
                    const answer *second, const char *name)
{
    static const char *const inputs[] = { "emissions", "transitions", "start", "end" };
    check(t, close_to(&got->loss, &want->loss, 1, 1), "%s: the loss differs from ref", name);
    check(t, close_to(got->nll, want->nll, p->sequences, 1), "%s: nll differs from ref", name);
    check(t, memcmp(got->path, want->path, 4 * (size_t)p->tokens) == 0,
          "%s: a path differs from ref", name);
    check(t, close_to(got->score, want->score, p->sequences, 1), "%s: a score differs from ref",
          name);
    check(t,
          memcmp(got->nll, second->nll, 4 * (size_t)p->sequences) == 0 &&
              memcmp(&got->loss, &second->loss, 4) == 0 &&
              memcmp(got->path, second->path, 4 * (size_t)p->tokens) == 0,
          "%s: two runs differ", name);
    for (int k = 0; k < INPUTS; k++) {
        const int64_t row = k < START ? p->tags : 1;
        check(t, close_to(got->d[k], want->d[k], p->count[k], row), "%s: d%s differs from ref",
              name, inputs[k]);
        check(t, memcmp(got->d[k], second->d[k], 4 * (size_t)p->count[k]) == 0,
              "%s: d%s: two runs differ in their bits", name, inputs[k]);
    }
}

/* Calls that are refused, and what the device finds in the data. */
static void refuse(tally *t, gsa_backend *b)
{
    const struct shape shape = { 3, 4, 3, NO_SEQUENCE_IS_EMPTY };
    gsa_dice dice = { 11 };
    problem p = make(&shape, &dice);
    answer room_for = { .path = room(p.tokens, 4) };
    void *in[7], *loss = put(b, &(float){ 1 }, 4), *path = put(b, room_for.path, 4 * p.tokens);
    gsa_crf_args args = args_of(b, &p, in), wrong = args;
    float x;
    args.loss = loss, args.path = path, wrong.loss = loss;
    wrong.tags = 0;
    fails(t, b, b->crf_forward(b, &wrong), GSA_ERR_ARGUMENT,
          "crf_forward: 0 tags, expected 1 to 32768");
    wrong.tags = 40000;
    fails(t, b, b->crf_decode(b, &wrong), GSA_ERR_LIMIT, "crf_decode: 40000 tags");
    wrong.tags = 3, wrong.sequences = -1;
    fails(t, b, b->crf_backward(b, &wrong), GSA_ERR_ARGUMENT, "crf_backward: -1 sequences");
    wrong.sequences = 0;
    fails(t, b, b->crf_forward(b, &wrong), GSA_ERR_ARGUMENT, "hold 0 tokens of");
    p.targets[p.tokens - 1] = 3;
    b->upload(b, in[1], p.targets, 4 * p.tokens);
    check(t, b->crf_forward(b, &args) == GSA_OK, "%s", b->error.text);
    fails(t, b, b->download(b, &x, loss, 4), GSA_ERR_ARGUMENT, "crf: target");
    check(t, b->download(b, &x, loss, 4) == GSA_OK && isfinite(x),
          "a wrong target counts as unknown");
    p.targets[p.tokens - 1] = 0;
    const int64_t end = p.offset[3];
    for (int wrongs = 0; wrongs < 4;
         wrongs++) { /* not 0 first, falling, not `tokens` last, after the tokens */
        int64_t offset[4] = { 0, p.offset[1], p.offset[2], end };
        offset[wrongs == 0   ? 0
               : wrongs == 1 ? 2
                             : 3] = wrongs == 0   ? 1
                                    : wrongs == 1 ? 0
                                    : wrongs == 2 ? end - 1
                                                  : end + 7;
        b->upload(b, in[0], offset, sizeof offset);
        check(t, b->crf_decode(b, &args) == GSA_OK, "%s", b->error.text);
        fails(t, b, b->download(b, &x, loss, 4), GSA_ERR_ARGUMENT, "crf: offset of sequence");
    }
    for (int i = 0; i < 7; i++) b->free(b, in[i]);
    b->free(b, loss), b->free(b, path);
    free(room_for.path);
    release(&p);
}

void crf_case(tally *t)
{
    both pair = open_both();
    for (int s = 0; s < SHAPES; s++)
        for (int order = 1; order < 3; order++) {
            char name[96];
            gsa_dice dice = { 900 + (uint64_t)(2 * s + order) };
            problem p = make(&shapes[s], &dice);
            snprintf(name, sizeof name, "crf [%d %d %d], flags %d, order %d",
                     (int)shapes[s].sequences, (int)shapes[s].longest, (int)shapes[s].tags,
                     shapes[s].flags, order);
            use_order(0);
            answer got = solve(t, pair.cuda, &p, name);
            use_order(order);
            answer second = solve(t, pair.cuda, &p, name), want = solve(t, pair.ref, &p, name);
            compare(t, &p, &got, &want, &second, name);
            forget(&got), forget(&second), forget(&want);
            release(&p);
        }
    refuse(t, pair.cuda);
    close_both(&pair);
}
