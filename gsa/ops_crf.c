/* ops_crf.c - the loss of a linear-chain conditional random field, and its best paths. */
#include "tape_parts.h"
#include "graph/index.h"

typedef struct crf_op {
    gsa_op op;
    gsa_crf_op crf;
    double scale;
} crf_op;

static gsa_crf_args args_of(const gsa_crf_op *op, double scale)
{
    return (gsa_crf_args){ .sequences = op->sequences,
                           .tokens = op->emissions->rows,
                           .tags = (int32_t)op->emissions->cols,
                           .offset = op->offset,
                           .emissions = op->emissions->data,
                           .transitions = op->transitions->data,
                           .start = op->start->data,
                           .end = op->end->data,
                           .allowed = op->allowed,
                           .targets = op->targets,
                           .scale = scale };
}

static void crf_back(gsa_tape *tape, gsa_op *op)
{
    crf_op *c = (crf_op *)op;
    gsa_crf_args args = args_of(&c->crf, c->scale);
    args.dloss = op->out->grad;
    args.demissions = gsa_tape_grad(tape, c->crf.emissions),
    args.dtransitions = gsa_tape_grad(tape, c->crf.transitions);
    args.dstart = gsa_tape_grad(tape, c->crf.start), args.dend = gsa_tape_grad(tape, c->crf.end);
    if (!tape->failed) GSA_CALL(tape, crf_backward, &args);
}

/* 1, or the first wrong shape as the tape's failure. */
static int fits(gsa_tape *tape, const gsa_crf_op *op)
{
    if (gsa_tape_lacks(tape, op->emissions, "crf") ||
        gsa_tape_lacks(tape, op->transitions, "crf") || gsa_tape_lacks(tape, op->start, "crf") ||
        gsa_tape_lacks(tape, op->end, "crf"))
        return 0;
    const int64_t tags = op->emissions->cols;
    const struct {
        const char *name;
        const gsa_tensor *x;
        int64_t rows;
    } parts[] = { { "transitions", op->transitions, tags },
                  { "start", op->start, 1 },
                  { "end", op->end, 1 } };
    if (tags > gsa_index_most)
        gsa_tape_fail(tape, GSA_ERR_LIMIT, "crf: %lld tags", (long long)tags);
    for (int i = 0; i < 3 && !tape->failed; i++)
        if (parts[i].x->rows != parts[i].rows || parts[i].x->cols != tags)
            gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                          "crf: %s are [%lld, %lld], but %lld tags need [%lld, %lld]",
                          parts[i].name, (long long)parts[i].x->rows, (long long)parts[i].x->cols,
                          (long long)tags, (long long)parts[i].rows, (long long)tags);
    return !tape->failed;
}

gsa_tensor *gsa_op_crf(gsa_tape *tape, const gsa_crf_op *op, double scale)
{
    if (!fits(tape, op)) return NULL;
    gsa_tensor *loss = gsa_tape_new(tape, 1, 1,
                                    op->emissions->wants_grad || op->transitions->wants_grad ||
                                        op->start->wants_grad || op->end->wants_grad);
    if (!loss) return NULL;
    gsa_crf_args args = args_of(op, scale);
    args.loss = loss->data, args.nll = op->nll;
    if (!GSA_CALL(tape, crf_forward, &args)) return NULL;
    crf_op *record = gsa_tape_record(tape, sizeof *record, crf_back, loss);
    if (record) record->crf = *op, record->scale = scale;
    gsa_tape_use(tape, op->transitions), gsa_tape_use(tape, op->start), gsa_tape_use(tape, op->end);
    return loss;
}

gsa_status gsa_crf_decode(gsa_tape *tape, const gsa_crf_op *op, int32_t *path, void *score,
                          gsa_error *error)
{
    if (!fits(tape, op)) return gsa_tape_status(tape, error);
    gsa_crf_args args = args_of(op, 1);
    const int64_t path_bytes = args.tokens * (int64_t)sizeof *path,
                  score_bytes = gsa_tape_bytes(tape, args.sequences, 1);
    if (path_bytes > 0) args.path = gsa_tape_memory(tape, path_bytes);
    if (score && score_bytes > 0) args.score = gsa_tape_memory(tape, score_bytes);
    if (!tape->failed && GSA_CALL(tape, crf_decode, &args)) {
        if (args.path) GSA_CALL(tape, download, path, args.path, path_bytes);
        if (args.score) GSA_CALL(tape, download, score, args.score, score_bytes);
    }
    return gsa_tape_status(tape, error);
}
