/* The linear-chain CRF: cases for the table of ops, against crf_oracle.h. */
#include "crf_oracle.h"
#include "op_cases.h"
#include <math.h>
#include <stdlib.h>

#define S(i) (r->shape[i])

/* sequences, longest, tags, 1 mask | 2 unobserved targets | 4 large scores | 8 transitions of
 * -inf */
static const op_shape crf_shapes[] = {
    { 0, 3, 4, 0 },    { 1, 0, 3, 0 },    { 1, 1, 1, 0 },    { 4, 5, 1, 0 },  { 6, 5, 4, 0 },
    { 6, 5, 4, 1 },    { 6, 5, 4, 2 },    { 6, 5, 4, 3 },    { 9, 1, 4, 1 },  { 5, 40, 9, 0 },
    { 70, 30, 17, 3 }, { 200, 3, 5, 1 },  { 3, 200, 33, 1 }, { 4, 20, 9, 4 }, { 6, 5, 4, 7 },
    { 6, 5, 4, 10 },   { 4, 30, 17, 14 },
};
static const op_shape crf_grads[] = {
    { 3, 5, 4, 0 }, { 3, 5, 4, 1 }, { 3, 5, 4, 3 }, { 4, 1, 3, 2 }, { 2, 4, 1, 0 }
};
static const op_shape crf_big[] = { { 300, 25, 17, 3 }, { 5, 300, 9, 0 } };
enum {
    LOSS,
    NLL,
    EMISSIONS,
    TRANSITIONS,
    START,
    END,
    OFFSET,
    TARGETS,
    ALLOWED,
    PATH = 0,
    SCORE = 1
};

static int forbidden(int64_t tags, int64_t row, int64_t tag)
{
    if (row >= tags) return tags > 1 && tag == tags - 1;
    return row != tag && (row + 2 * tag) % 3 == 1;
}

static void add_offset(rig *r, double *offset)
{
    for (int64_t s = 0; s < S(0); s++)
        offset[s + 1] = offset[s] + (double)gsa_between(&r->dice, s % 3 == 1 ? 0 : S(1), S(1));
}

/* A legal path, some of it unobserved; the last tag, which the mask forbids at both ends, is never
 * a target. */
static void add_targets(rig *r, const double *offset)
{
    const int64_t tags = S(2);
    double *targets = calloc((size_t)offset[S(0)] + 1, sizeof *targets);
    for (int64_t s = 0; s < S(0); s++)
        for (int64_t t = (int64_t)offset[s], tag = 0, next; t < (int64_t)offset[s + 1]; t++) {
            do next = gsa_between(&r->dice, 0, tags > 1 ? tags - 2 : 0);
            while (t > (int64_t)offset[s] && (S(3) & 9) && forbidden(tags, tag, next));
            tag = next;
            targets[t] = (S(3) & 2) && gsa_between(&r->dice, 0, 2) == 0 ? -1 : (double)tag;
        }
    rig_other(r, "targets", RIG_INT32, RIG_CONST, (int64_t)offset[S(0)], targets);
    free(targets);
}

static void add_mask(rig *r)
{
    const int64_t tags = S(2);
    double *allowed = calloc((size_t)((tags + 2) * tags), sizeof *allowed);
    for (int64_t i = 0; i < (tags + 2) * tags; i++)
        allowed[i] = !forbidden(tags, i / tags, i % tags);
    rig_other(r, "allowed", RIG_BYTE, RIG_CONST, (tags + 2) * tags, allowed);
    free(allowed);
}

static void crf_setup_as(rig *r, int decode)
{
    const double scale = (S(3) & 4) ? 300 : 1;
    double *offset = calloc((size_t)S(0) + 1, sizeof *offset);
    add_offset(r, offset);
    const int64_t tokens = (int64_t)offset[S(0)], tags = S(2);
    if (decode)
        rig_other(r, "path", RIG_INT32, RIG_KEPT, tokens, NULL),
            rig_real(r, "score", RIG_KEPT, S(0), 1, 1);
    else rig_real(r, "loss", RIG_OUTPUT, 1, 1, 1), rig_real(r, "nll", RIG_KEPT, S(0), 1, 1);
    rig_real(r, "emissions", RIG_INPUT, tokens, tags, scale);
    rig_real(r, "transitions", RIG_INPUT, tags, tags, scale);
    rig_real(r, "start", RIG_INPUT, 1, tags, scale);
    rig_real(r, "end", RIG_INPUT, 1, tags, scale);
    rig_other(r, "offset", RIG_INT64, RIG_CONST, S(0) + 1, offset);
    add_targets(r, offset);
    add_mask(r);
    for (int64_t i = 0; (S(3) & 8) && i < tags * tags; i++)
        if (forbidden(tags, i / tags, i % tags)) rig_set(r, TRANSITIONS, i, -INFINITY);
    free(offset);
}

static void crf_setup(rig *r)
{
    crf_setup_as(r, 0);
}
static void decode_setup(rig *r)
{
    crf_setup_as(r, 1);
}

static gsa_crf_args crf_args(rig *r)
{
    return (gsa_crf_args){ .sequences = S(0),
                           .tokens = r->t[TARGETS].count,
                           .tags = (int32_t)S(2),
                           .offset = R_AT(OFFSET),
                           .emissions = R_AT(EMISSIONS),
                           .transitions = R_AT(TRANSITIONS),
                           .start = R_AT(START),
                           .end = R_AT(END),
                           .allowed = (S(3) & 1) ? R_AT(ALLOWED) : NULL,
                           .targets = R_AT(TARGETS),
                           .scale = 0.25 };
}

static gsa_status crf_forward(rig *r)
{
    gsa_crf_args args = crf_args(r);
    args.loss = R_AT(LOSS), args.nll = R_AT(NLL);
    return r->b->crf_forward(r->b, &args);
}
static gsa_status crf_backward(rig *r)
{
    gsa_crf_args args = crf_args(r);
    args.dloss = R_D(LOSS), args.demissions = R_D(EMISSIONS), args.dtransitions = R_D(TRANSITIONS);
    args.dstart = R_D(START), args.dend = R_D(END);
    return r->b->crf_backward(r->b, &args);
}
static gsa_status decode_forward(rig *r)
{
    gsa_crf_args args = crf_args(r);
    args.path = R_AT(PATH), args.score = R_AT(SCORE);
    return r->b->crf_decode(r->b, &args);
}

/* Sequence s as the oracle needs it; gradients where `grads`. */
static crf_problem problem_of(rig *r, int64_t s, int grads)
{
    const int64_t first = (int64_t)R_X(OFFSET)[s], tags = S(2);
    crf_problem p = { .length = (int64_t)R_X(OFFSET)[s + 1] - first,
                      .tags = tags,
                      .emissions = R_X(EMISSIONS) + first * tags,
                      .transitions = R_X(TRANSITIONS),
                      .start = R_X(START),
                      .end = R_X(END),
                      .targets = R_X(TARGETS) + first,
                      .allowed = (S(3) & 1) ? R_X(ALLOWED) : NULL };
    if (grads) {
        p.demissions = R_DX(EMISSIONS) + first * tags, p.dtransitions = R_DX(TRANSITIONS);
        p.dstart = R_DX(START), p.dend = R_DX(END), p.weight = 0.25 * R_DY(LOSS)[0];
    }
    return p;
}

static void crf_oracle(rig *r)
{
    R_Y(LOSS)[0] = 0;
    for (int64_t s = 0; s < S(0); s++) {
        const crf_problem p = problem_of(r, s, 0);
        R_Y(NLL)[s] = crf_oracle_nll(&p);
        R_Y(LOSS)[0] += 0.25 * R_Y(NLL)[s];
    }
}
static void crf_oracle_backward(rig *r)
{
    for (int64_t s = 0; s < S(0); s++) {
        const crf_problem p = problem_of(r, s, 1);
        crf_oracle_nll(&p);
    }
}
static void decode_oracle(rig *r)
{
    for (int64_t s = 0; s < S(0); s++) {
        const crf_problem p = problem_of(r, s, 0);
        R_Y(SCORE)[s] = crf_oracle_best(&p, R_Y(PATH) + (int64_t)R_X(OFFSET)[s]);
    }
}

static const op_case crf_cases[] = {
    { "crf", "crf_forward crf_backward", OP_SHAPES(crf_shapes), OP_SHAPES(crf_grads),
      OP_SHAPES(crf_big), crf_setup, crf_forward, crf_backward, crf_oracle, crf_oracle_backward },
    { "crf_decode", "crf_decode", OP_SHAPES(crf_shapes), crf_grads, 0, OP_SHAPES(crf_big),
      decode_setup, decode_forward, NULL, decode_oracle, NULL },
};

const op_case *op_case_any(int i)
{
    const int every = op_case_count + graph_case_count,
              optional = (int)(sizeof crf_cases / sizeof *crf_cases);
    if (i < every) return op_case_at(i);
    return i - every < optional ? &crf_cases[i - every] : NULL;
}
