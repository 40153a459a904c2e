#include "bench.h"
#include <math.h>
#include <string.h>
#include "gsa/tape_watch.h"

/* ---- gradients: every op of tape.h between three learned matrices and a scalar loss -------- */
enum { R = 6, C = 4 };
typedef struct leaves {
    gsa_tape *tape;
    gsa_tensor *a, *b, *w, *row, *table; /* [R,C] [R,C] [C,C] [1,C] [5,C] */
} leaves;

static const void *device(gsa_tape *tape, const void *host, size_t bytes)
{
    void *copy = gsa_tape_host(tape, (int64_t)bytes);
    memcpy(copy, host, bytes);
    return gsa_tape_upload(tape, copy, (int64_t)bytes);
}

static gsa_row_identity rows_of(gsa_tape *tape)
{
    const int32_t example[R] = { 0, 0, 1, 1, 1, 1 }, local[R] = { 0, 1, 0, 1, 2, 3 },
                  id[2] = { 5, 9 };
    gsa_tape_examples(tape, memcpy(gsa_tape_host(tape, sizeof id), id, sizeof id), 2);
    return (gsa_row_identity){ device(tape, example, sizeof example),
                               device(tape, local, sizeof local) };
}

static gsa_tensor *op_linear(leaves *l)
{
    return gsa_op_linear(l->tape, l->a, l->w, l->row);
}
static gsa_tensor *op_linear_plain(leaves *l)
{
    return gsa_op_linear(l->tape, l->a, l->w, NULL);
}
static gsa_tensor *op_add(leaves *l)
{
    return gsa_op_add(l->tape, l->a, l->b);
}
static gsa_tensor *op_add_same(leaves *l)
{
    return gsa_op_add(l->tape, l->a, l->a);
}
static gsa_tensor *op_combine(leaves *l)
{
    return gsa_op_combine(l->tape, (gsa_tensor *[]){ l->a, l->b, l->a },
                          (const double[]){ 0.5, -2, 1 }, 3);
}
static gsa_tensor *op_relu(leaves *l)
{
    return gsa_op_activate(l->tape, l->a, GSA_RELU);
}
static gsa_tensor *op_leaky(leaves *l)
{
    return gsa_op_activate(l->tape, l->a, GSA_LEAKY_RELU);
}
static gsa_tensor *op_gelu(leaves *l)
{
    return gsa_op_activate(l->tape, l->a, GSA_GELU);
}
static gsa_tensor *op_tanh(leaves *l)
{
    return gsa_op_activate(l->tape, l->a, GSA_TANH);
}
static gsa_tensor *op_sigmoid(leaves *l)
{
    return gsa_op_activate(l->tape, l->a, GSA_SIGMOID);
}
static gsa_tensor *op_dropout(leaves *l)
{
    return gsa_op_dropout(l->tape, l->a, 0.4, 3, rows_of(l->tape));
}
static gsa_tensor *op_norm(leaves *l)
{
    return gsa_op_norm(l->tape, l->a, l->row, l->row, 1e-6);
}
static gsa_tensor *op_gather(leaves *l)
{
    const int32_t ids[R] = { 4, 0, -1, 4, 2, 1 };
    return gsa_op_gather(l->tape, l->a, l->table, device(l->tape, ids, sizeof ids), R, -1.5, 0);
}
static gsa_tensor *op_select(leaves *l)
{
    const uint8_t mask[R] = { 1, 0, 0, 1, 0, 1 };
    return gsa_op_select(l->tape, device(l->tape, mask, sizeof mask), l->a, l->b);
}
static const int64_t thirds[4] = { 0, 2, 2, R }; /* the second example is empty */
static gsa_tensor *op_mean(leaves *l)
{
    return gsa_op_pool(l->tape, l->a, device(l->tape, thirds, sizeof thirds), 3, 0);
}
static gsa_tensor *op_max(leaves *l)
{
    return gsa_op_pool(l->tape, l->a, device(l->tape, thirds, sizeof thirds), 3, 1);
}
static gsa_tensor *op_concat(leaves *l)
{
    gsa_tensor *part = gsa_op_view(l->tape, l->b, 1, 3);
    return gsa_op_concat(l->tape, (gsa_tensor *[]){ l->a, part, l->a }, 3);
}
static gsa_tensor *op_multiply(leaves *l)
{
    return gsa_op_multiply(l->tape, l->a, l->b);
}
static gsa_tensor *op_square(leaves *l)
{
    return gsa_op_multiply(l->tape, l->a, l->a);
}
static gsa_tensor *op_reshape(leaves *l)
{
    return gsa_op_reshape(l->tape, gsa_op_linear(l->tape, l->a, l->w, NULL), 2 * R, C / 2);
}
/* neighbouring views of a reshaped view: no stretch of the rows that it is a view of */
static gsa_tensor *op_reshape_view(leaves *l)
{
    gsa_tensor *x =
        gsa_op_reshape(l->tape, gsa_op_view(l->tape, gsa_op_add(l->tape, l->a, l->b), 1, 4), 8, 2);
    gsa_tensor *part = gsa_op_view(l->tape, x, 2, 4);
    return gsa_op_concat(l->tape, (gsa_tensor *[]){ part, gsa_op_view(l->tape, x, 6, 1) }, 2);
}
static gsa_tensor *op_beside(leaves *l)
{
    gsa_tensor *narrow = gsa_op_linear(l->tape, l->b, gsa_op_view(l->tape, l->w, 1, 3), NULL);
    return gsa_op_beside(l->tape, (gsa_tensor *[]){ l->a, narrow, l->a }, 3);
}
static gsa_tensor *op_beside_alike(leaves *l)
{
    return gsa_op_beside(l->tape, (gsa_tensor *[]){ l->a, l->b }, 2);
}
static gsa_tensor *op_view(leaves *l)
{
    return gsa_op_view(l->tape, gsa_op_add(l->tape, l->a, l->b), 2, 3);
}

/* Rows: 0 <- 5,4,3 and 1; 1 <- nothing; 2..5 <- themselves and row 0. */
static const gsa_run runs[] = {
    { 5, 3, -1, 0, 1, 0 }, { 1, 1, 1, 2, 0, 0 },  { 0, 2, 2, 1, 0, 0 },
    { 0, 2, 3, 0, 2, 0 },  { 0, 2, 4, 2, -2, 0 }, { 0, 2, 5, 1, 1, 0 }
};
static const int64_t run_at[R + 1] = { 0, 2, 2, 3, 4, 5, 6 },
                                edge_at[R + 1] = { 0, 4, 4, 6, 8, 10, 12 };
static gsa_edges edges_of(gsa_tape *tape)
{
    const int32_t example[R] = { 0 }, local[R] = { 0, 1, 2, 3, 4, 5 };
    const int64_t block_at[2] = { 0, 1 };
    const gsa_rows block = { 0, R };
    gsa_edges e = { .rows = R,
                    .run_total = 6,
                    .edge_total = 12,
                    .kinds = 1,
                    .labels = 3,
                    .part_rows = { R },
                    .examples = 1 };
    e.run_offset = device(tape, run_at, sizeof run_at);
    e.edge_offset = device(tape, edge_at, sizeof edge_at);
    e.runs = device(tape, runs, sizeof runs);
    e.row_example = device(tape, example, sizeof example);
    e.row_local = device(tape, local, sizeof local);
    e.block_offset = device(tape, block_at, sizeof block_at);
    e.blocks = device(tape, &block, sizeof block);
    gsa_tape_examples(tape, memcpy(gsa_tape_host(tape, sizeof *example), example, sizeof *example),
                      1);
    return e;
}
static gsa_tensor *op_attend(leaves *l)
{
    const gsa_edges e = edges_of(l->tape);
    gsa_tensor *bias = gsa_op_view(l->tape, l->table, 0, 3),
               *heads = gsa_op_linear(l->tape, bias, gsa_op_view(l->tape, l->w, 0, 2), NULL);
    gsa_tensor *r = gsa_op_linear(l->tape, bias, gsa_op_view(l->tape, l->w, 2, 2), NULL);
    const gsa_attend_op op = { .edges = &e,
                               .heads = 2,
                               .head_dim = 2,
                               .scale = 0.7,
                               .q = l->a,
                               .k = { l->b },
                               .v = { l->a },
                               .label_vectors = r,
                               .label_bias = heads,
                               .dropout = 0.3,
                               .site = 9 };
    return gsa_op_attend(l->tape, &op);
}
/* K and V are one tensor, and the query too. */
static gsa_tensor *op_attend_one(leaves *l)
{
    const gsa_edges e = edges_of(l->tape);
    const gsa_attend_op op = { .edges = &e,
                               .heads = 2,
                               .head_dim = 2,
                               .scale = 0.7,
                               .q = l->a,
                               .k = { l->a },
                               .v = { l->a } };
    return gsa_op_attend(l->tape, &op);
}
static gsa_tensor *op_linear_relu(leaves *l)
{
    return gsa_op_linear_activated(l->tape, l->a, l->w, l->row, GSA_RELU);
}
static gsa_tensor *op_linear_leaky(leaves *l)
{
    gsa_tensor *y = gsa_op_linear_activated(l->tape, l->a, l->w, NULL, GSA_LEAKY_RELU);
    return gsa_op_multiply(l->tape, y, y);
}
static gsa_tensor *op_linear_gelu(leaves *l)
{
    return gsa_op_linear_activated(l->tape, gsa_op_add(l->tape, l->a, l->b), l->w, l->row,
                                   GSA_GELU);
}
/* Gradients whose memory was another's: chains in which each op makes one of the same size. */
static gsa_tensor *op_chain(leaves *l)
{
    gsa_tensor *x = gsa_op_norm(l->tape, gsa_op_add(l->tape, l->a, l->b), l->row, l->row, 1e-3);
    for (int i = 0; i < 3; i++) {
        gsa_tensor *y =
            gsa_op_linear_activated(l->tape, x, l->w, l->row, i % 2 ? GSA_RELU : GSA_TANH);
        gsa_tensor *z = gsa_op_norm(l->tape, gsa_op_multiply(l->tape, x, y), l->row, l->row, 1e-3);
        x = gsa_op_add(l->tape,
                       gsa_op_concat(l->tape,
                                     (gsa_tensor *[]){ gsa_op_view(l->tape, z, 2, R - 2),
                                                       gsa_op_view(l->tape, y, 0, 2) },
                                     2),
                       z);
    }
    return x;
}
static gsa_tensor *op_heads_wide(leaves *l)
{
    return gsa_op_heads(l->tape, l->a, l->w, NULL, 2, 3, 1);
}
static gsa_tensor *op_heads_narrow(leaves *l)
{
    return gsa_op_heads(l->tape, gsa_op_heads(l->tape, l->a, l->w, NULL, 2, 3, 1), l->w, l->row, 2,
                        3, 0);
}
/* The first and the last term get gradients of their own before and after. */
static gsa_tensor *op_sums(leaves *l)
{
    gsa_tensor *x = gsa_op_add(l->tape, l->a, l->b), *y = gsa_op_activate(l->tape, x, GSA_TANH);
    gsa_tensor *z = gsa_op_add(l->tape, gsa_op_add(l->tape, x, y), gsa_op_add(l->tape, y, x));
    return gsa_op_multiply(l->tape, gsa_op_concat(l->tape, (gsa_tensor *[]){ z, y }, 2),
                           gsa_op_concat(l->tape, (gsa_tensor *[]){ x, z }, 2));
}
/* Both terms share one gradient: until the last of them has read it, or one of them writes. */
static gsa_tensor *op_residuals(leaves *l)
{
    gsa_tape *t = l->tape;
    gsa_tensor *x = gsa_op_norm(t, gsa_op_add(t, l->a, l->b), l->row, l->row, 1e-3);
    x = gsa_op_add(t, x, gsa_op_linear(t, x, l->w, l->row));
    x = gsa_op_add(t, gsa_op_linear(t, x, l->w, l->row), x);
    x = gsa_op_add(t, gsa_op_linear(t, x, l->w, NULL), gsa_op_linear(t, l->b, l->w, NULL));
    x = gsa_op_norm(t, x, l->row, l->row, 1e-3);
    x = gsa_op_add(t, x, gsa_op_linear_activated(t, x, l->w, l->row, GSA_LEAKY_RELU));
    x = gsa_op_add(t, gsa_op_linear_activated(t, x, l->w, l->row, GSA_LEAKY_RELU),
                   gsa_op_dropout(t, x, 0.3, 5, rows_of(t)));
    gsa_tensor *y = gsa_op_add(t, gsa_op_activate(t, x, GSA_TANH), gsa_op_linear(t, x, l->w, NULL));
    return gsa_op_concat(t, (gsa_tensor *[]){ gsa_op_view(t, y, 1, R - 1), gsa_op_add(t, y, x) },
                         2);
}
static gsa_tensor *op_gather_itself(leaves *l)
{
    const int32_t ids[R] = { 4, 0, -1, 4, 2, 1 };
    gsa_tensor *x = gsa_op_add(l->tape, l->a, l->b);
    return gsa_op_gather(l->tape, x, x, device(l->tape, ids, sizeof ids), R, 0.5, 0);
}
static gsa_tensor *op_sum(leaves *l)
{
    const gsa_edges e = edges_of(l->tape);
    return gsa_op_aggregate(l->tape, &e, &l->a, 0, C, R, C);
}
static gsa_tensor *op_mean_edges(leaves *l)
{
    const gsa_edges e = edges_of(l->tape);
    return gsa_op_aggregate(l->tape, &e, &l->a, 1, C, R, C);
}

static const struct {
    const char *name;
    gsa_tensor *(*make)(leaves *);
} ops[] = { { "linear", op_linear },
            { "linear without bias", op_linear_plain },
            { "add", op_add },
            { "add to itself", op_add_same },
            { "combine", op_combine },
            { "relu", op_relu },
            { "leaky relu", op_leaky },
            { "gelu", op_gelu },
            { "tanh", op_tanh },
            { "sigmoid", op_sigmoid },
            { "dropout", op_dropout },
            { "norm", op_norm },
            { "gather", op_gather },
            { "select", op_select },
            { "mean pool", op_mean },
            { "max pool", op_max },
            { "concat", op_concat },
            { "view", op_view },
            { "multiply", op_multiply },
            { "square", op_square },
            { "reshape", op_reshape },
            { "reshaped view", op_reshape_view },
            { "beside", op_beside },
            { "beside, alike", op_beside_alike },
            { "attend", op_attend },
            { "sum", op_sum },
            { "mean", op_mean_edges },
            { "attend, one tensor", op_attend_one },
            { "heads", op_heads_wide },
            { "heads and back", op_heads_narrow },
            { "sums of sums", op_sums },
            { "residuals", op_residuals },
            { "gather from the base", op_gather_itself },
            { "linear, relu", op_linear_relu },
            { "linear, leaky relu", op_linear_leaky },
            { "linear, gelu", op_linear_gelu },
            { "chain", op_chain } };
enum { OPS = sizeof ops / sizeof *ops };

static gsa_parameter *leaf(bench *b, const char *name, int64_t rows, int64_t cols)
{
    gsa_parameter *p;
    MUST(b,
         gsa_parameters_add(b->parameters, name, rows, cols, GSA_INIT_NORMAL, 1, 0, &p, &b->error));
    return p;
}

/* The loss of one op: square error against a fixed target (entropy: cross entropy of its rows, 2:
 * with label smoothing). */
static double loss_of(bench *b, int which, int entropy, int backward)
{
    gsa_tape_reset(b->tape, 1, 3, 4);
    gsa_parameters *ps = b->parameters;
    leaves l = { b->tape,
                 &gsa_parameters_at(ps, 0)->value,
                 &gsa_parameters_at(ps, 1)->value,
                 &gsa_parameters_at(ps, 2)->value,
                 &gsa_parameters_at(ps, 3)->value,
                 &gsa_parameters_at(ps, 4)->value };
    gsa_tensor *y = ops[which].make(&l);
    ck_assert_msg(y != NULL, "%s: %d", ops[which].name, gsa_tape_status(b->tape, &b->error));
    double target[80], loss;
    int32_t label[80];
    for (int i = 0; i < 80; i++) target[i] = 0.1 * i - 1, label[i] = i % (C + 1) - 1;
    gsa_tensor *t =
        entropy ? gsa_op_smooth_entropy(b->tape, y, device(b->tape, label, sizeof label),
                                        entropy == 2 ? 0.1 : 0, 0.7)
                : gsa_op_square_error(b->tape, y,
                                      gsa_tape_constant(b->tape, target, GSA_F64, y->rows, y->cols),
                                      0.3);
    MUST(b, gsa_tape_status(b->tape, &b->error));
    MUST(b, gsa_tensor_read(b->backend, t, 0, &loss, &b->error));
    if (backward) MUST(b, gsa_tape_backward(b->tape, t, &b->error));
    return loss;
}

static void check_gradients(bench *b, int which, int entropy)
{
    double gradient[64], value[64];
    MUST(b, gsa_parameters_zero_gradients(b->parameters, &b->error));
    loss_of(b, which, entropy, 1);
    int touched = 0;
    for (int p = 0; p < 5; p++) {
        gsa_tensor *x = &gsa_parameters_at(b->parameters, p)->value;
        MUST(b, gsa_tensor_read(b->backend, x, 1, gradient, &b->error));
        MUST(b, gsa_tensor_read(b->backend, x, 0, value, &b->error));
        for (int64_t i = 0; i < x->rows * x->cols; i++) {
            const double eps = 1e-6, was = value[i];
            value[i] = was + eps;
            MUST(b, gsa_tensor_write(b->backend, x, value, &b->error));
            const double up = loss_of(b, which, entropy, 0);
            value[i] = was - eps;
            MUST(b, gsa_tensor_write(b->backend, x, value, &b->error));
            const double slope = (up - loss_of(b, which, entropy, 0)) / (2 * eps);
            value[i] = was;
            MUST(b, gsa_tensor_write(b->backend, x, value, &b->error));
            ck_assert_msg(fabs(slope - gradient[i]) <= 1e-5 + 1e-3 * fabs(slope),
                          "%s, leaf %d, element %d: %.9g, differences say %.9g", ops[which].name, p,
                          (int)i, gradient[i], slope);
            touched |= gradient[i] != 0;
        }
    }
    ck_assert_msg(touched, "%s has no gradient at all", ops[which].name);
}

static bench five_leaves(int equal_rows)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_parameter *p[] = { leaf(&b, "a", R, C), leaf(&b, "b", R, C), leaf(&b, "w", C, C),
                           leaf(&b, "row", 1, C), leaf(&b, "table", 5, C) };
    double value[R * C];
    if (equal_rows) /* ties in a column break only by tiny steps: rows equal but for the op's own
                       kinks */
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < R * C; j++) value[j] = 0.3 * (j % C) + 0.2 * i + 0.1;
            MUST(&b, gsa_tensor_write(b.backend, &p[i]->value, value, &b.error));
        }
    return b;
}

START_TEST(every_op_differentiates)
{
    bench b = five_leaves(0);
    check_gradients(&b, _i, 0);
    bench_close(&b);
}
END_TEST

START_TEST(equal_rows_differentiate)
{
    bench b = five_leaves(1);
    if (strcmp(ops[_i].name, "max pool") != 0)
        check_gradients(&b, _i, 0); /* a tie has no derivative: the first one's is taken */
    bench_close(&b);
}
END_TEST

START_TEST(cross_entropy_differentiates)
{
    bench b = five_leaves(0);
    check_gradients(&b, 0, 1);
    check_gradients(&b, 0, 2);
    bench_close(&b);
}
END_TEST

START_TEST(frozen_row_gets_no_gradient)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_parameter *table;
    MUST(&b, gsa_parameters_add(b.parameters, "t", 3, 2, GSA_INIT_NORMAL, 1, GSA_ZERO_ROW, &table,
                                &b.error));
    gsa_tape_reset(b.tape, 1, 0, 0);
    const int32_t ids[4] = { 0, 2, 0, 1 };
    gsa_tensor *y =
        gsa_op_gather(b.tape, NULL, &table->value, device(b.tape, ids, sizeof ids), 4, 1, 1);
    const double ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    gsa_tensor *loss =
        gsa_op_square_error(b.tape, y, gsa_tape_constant(b.tape, ones, GSA_F64, 4, 2), 1);
    MUST(&b, gsa_tape_backward(b.tape, loss, &b.error));
    double value[6], gradient[6];
    MUST(&b, gsa_tensor_read(b.backend, &table->value, 0, value, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, &table->value, 1, gradient, &b.error));
    ck_assert(value[0] == 0 && value[1] == 0 && gradient[0] == 0 && gradient[1] == 0 &&
              gradient[2] != 0 && gradient[4] != 0);
    bench_close(&b);
}
END_TEST

/* ---- shapes -------------------------------------------------------------------------------- */
START_TEST(a_wrong_shape_is_one_sentence)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_tensor *a = gsa_tape_zeros(b.tape, 2, 3), *c = gsa_tape_zeros(b.tape, 3, 2), *made = NULL;
    const char *fragment = "";
    switch (_i) {
    case 0:
        made = gsa_op_linear(b.tape, a, c, NULL),
        fragment = "linear: x [2, 3] does not fit w [3, 2]";
        break;
    case 1:
        made = gsa_op_add(b.tape, a, c), fragment = "combine: term 1 is [3, 2]";
        break;
    case 2:
        made = gsa_op_view(b.tape, a, 1, 2), fragment = "view: rows 1..3 of a tensor of 2 rows";
        break;
    case 3:
        made = gsa_op_view(b.tape, a, -1, 1), fragment = "view: rows -1..0";
        break;
    case 4:
        made = gsa_op_concat(b.tape, (gsa_tensor *[]){ a, c }, 2),
        fragment = "concat: part 1 has 2 columns";
        break;
    case 5:
        made = gsa_op_norm(b.tape, a, c, c, 1e-6), fragment = "norm: 3 columns";
        break;
    case 6:
        made = gsa_op_select(b.tape, NULL, a, c), fragment = "select: [2, 3] and [3, 2]";
        break;
    case 7:
        made = gsa_op_square_error(b.tape, a, c, 1), fragment = "square error: [2, 3] against";
        break;
    case 8:
        made = gsa_op_gather(b.tape, a, c, NULL, 2, 1, 0), fragment = "gather: base is [2, 3]";
        break;
    case 9:
        made = gsa_op_dropout(b.tape, a, 0.5, 0, (gsa_row_identity){ 0 }),
        fragment = "gsa_tape_examples was not called";
        break;
    case 10:
        made = gsa_op_combine(b.tape, NULL, NULL, 0), fragment = "combine: 0 terms";
        break;
    case 11:
        made = gsa_tape_zeros(b.tape, INT64_MAX / 2, 8), fragment = "is too large";
        break;
    case 12:
        made = gsa_op_attend(b.tape, &(gsa_attend_op){ .edges = &(gsa_edges){ .rows = 5 },
                                                       .heads = 1,
                                                       .head_dim = 3,
                                                       .q = a }),
        fragment = "attend: q is [2, 3], but 5 rows";
        break;
    case 13:
        made = gsa_op_multiply(b.tape, a, c), fragment = "multiply: [2, 3] and [3, 2] differ";
        break;
    case 14:
        made = gsa_op_reshape(b.tape, a, 4, 2), fragment = "reshape: [2, 3] does not fit [4, 2]";
        break;
    case 15:
        made = gsa_op_beside(b.tape, (gsa_tensor *[]){ a, c }, 2),
        fragment = "beside: part 1 has 3 rows";
        break;
    case 16:
        made = gsa_op_reshape(b.tape, gsa_op_view(b.tape, a, 1, 1), 1, 3);
        made = made ? gsa_op_reshape(
                          b.tape, gsa_op_view(b.tape, gsa_op_reshape(b.tape, a, 6, 1), 1, 4), 2, 2)
                    : NULL;
        fragment = "reshape: a view that starts at number 1";
        break;
    default:
        made = gsa_op_aggregate(b.tape, &(gsa_edges){ .rows = 5 }, NULL, 0, 3, 2, 3),
        fragment = "aggregate: [2, 3] cannot hold";
        break;
    }
    ck_assert_ptr_null(made);
    ck_assert_int_ne(gsa_tape_status(b.tape, &b.error), GSA_OK);
    ck_assert_msg(strstr(b.error.text, fragment) != NULL, "'%s' lacks '%s'", b.error.text,
                  fragment);
    ck_assert_ptr_null(gsa_op_add(b.tape, a, a)); /* sticky */
    gsa_tape_reset(b.tape, 1, 0, 0);
    ck_assert_int_eq(gsa_tape_status(b.tape, NULL), GSA_OK);
    bench_close(&b);
}
END_TEST

START_TEST(zero_rows_pass_through_every_op)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_parameter *w, *g;
    MUST(&b, gsa_parameters_add(b.parameters, "w", 3, 3, GSA_INIT_XAVIER, 1, 0, &w, &b.error));
    MUST(&b, gsa_parameters_add(b.parameters, "g", 1, 3, GSA_INIT_ONE, 1, 0, &g, &b.error));
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_tensor *x = gsa_op_linear(b.tape, gsa_tape_zeros(b.tape, 0, 3), &w->value, &g->value);
    x = gsa_op_activate(b.tape, gsa_op_norm(b.tape, x, &g->value, &g->value, 1e-6), GSA_RELU);
    x = gsa_op_concat(b.tape, (gsa_tensor *[]){ x, gsa_op_view(b.tape, x, 0, 0) }, 2);
    const int64_t none[3] = { 0, 0, 0 };
    gsa_tensor *y =
        gsa_op_pool(b.tape, gsa_op_add(b.tape, x, x), device(b.tape, none, sizeof none), 2, 1);
    gsa_tensor *loss = gsa_op_square_error(b.tape, y, gsa_tape_zeros(b.tape, 2, 3), 1);
    MUST(&b, gsa_tape_backward(b.tape, loss, &b.error));
    double value, gradient[9];
    MUST(&b, gsa_tensor_read(b.backend, loss, 0, &value, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, &w->value, 1, gradient, &b.error));
    ck_assert(value == 0 && gradient[0] == 0);
    bench_close(&b);
}
END_TEST

/* ---- views --------------------------------------------------------------------------------- */
START_TEST(neighbouring_views_join_without_a_copy)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_tensor *x = gsa_tape_zeros(b.tape, 6, 2), *empty = gsa_tape_zeros(b.tape, 0, 2);
    gsa_tensor *top = gsa_op_view(b.tape, x, 0, 2), *rest = gsa_op_view(b.tape, x, 2, 4),
               *mid = gsa_op_view(b.tape, rest, 0, 3);
    ck_assert_ptr_eq(gsa_op_concat(b.tape, (gsa_tensor *[]){ top, empty, rest }, 3), x);
    gsa_tensor *five = gsa_op_concat(b.tape, (gsa_tensor *[]){ top, mid }, 2);
    ck_assert(five->whole == x && five->rows == 5 && five->data == x->data);
    gsa_tensor *swapped = gsa_op_concat(b.tape, (gsa_tensor *[]){ rest, top }, 2);
    ck_assert(swapped->whole == NULL && swapped->rows == 6 && swapped->data != x->data);
    ck_assert_ptr_eq(gsa_op_view(b.tape, x, 0, 6), x);
    bench_close(&b);
}
END_TEST

/* ---- failures ------------------------------------------------------------------------------ */
START_TEST(a_missing_entry_is_named)
{
    bench b = bench_open(NULL, GSA_F64);
    b.backend->add = NULL;
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_tensor *x = gsa_tape_zeros(b.tape, 1, 1);
    ck_assert_ptr_null(gsa_op_add(b.tape, x, x));
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), GSA_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(b.error.text, "has no operation 'add'") != NULL, "%s", b.error.text);
    bench_close(&b);
}
END_TEST

/* ---- gradients that are whole while backward runs ------------------------------------------ */

typedef struct seen {
    gsa_tensor *x[4];
    char text[64]; /* after each op: + whole, - not, of each */
} seen;

static void note(void *user)
{
    seen *s = user;
    const size_t at = strlen(s->text);
    for (size_t i = 0; i < 4; i++) s->text[at + i] = s->x[i]->uses == GSA_USES_SPENT ? '+' : '-';
    s->text[at + 4] = ' ';
}

static void add_four(bench *b, seen *s)
{
    static const char *const names[] = { "w", "v", "table", "none" };
    for (int i = 0; i < 4; i++) {
        gsa_parameter *p;
        MUST(b, gsa_parameters_add(b->parameters, names[i], i == 2 ? 3 : 2, 2, GSA_INIT_ONE, 0, 0,
                                   &p, &b->error));
        s->x[i] = &p->value;
    }
}

/* w is read twice, v once, the table through a view, and one parameter never. */
START_TEST(gradients_are_whole_after_their_last_use)
{
    bench b = bench_open(NULL, GSA_F64);
    seen s = { { 0 }, "" };
    const int32_t ids[] = { 0, 1 };
    add_four(&b, &s);
    for (int turn = 0; turn < 2; turn++) {
        memset(s.text, 0, sizeof s.text);
        gsa_tape_reset(b.tape, 1, 0, 0);
        for (int i = 0; i < 4; i++) s.x[i]->uses = 0;
        gsa_tape_watch(b.tape, note, &s);
        gsa_tensor *x = gsa_op_gather(b.tape, NULL, gsa_op_view(b.tape, s.x[2], 1, 2),
                                      gsa_tape_upload(b.tape, ids, sizeof ids), 2, 1, 0);
        x = gsa_op_linear(b.tape, x, s.x[0], NULL);
        x = gsa_op_linear(b.tape, x, s.x[1], NULL);
        x = gsa_op_linear(b.tape, x, s.x[0], NULL);
        x = gsa_op_square_error(b.tape, x, gsa_tape_zeros(b.tape, 2, 2), 1);
        MUST(&b, gsa_tape_backward(b.tape, x, &b.error));
        ck_assert_str_eq(s.text, "---- ---- -+-- ++-- ++-- ");
    }
    /* without a watch nothing is counted */
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_tensor *y = gsa_op_linear(b.tape, gsa_tape_zeros(b.tape, 2, 2), s.x[0], NULL);
    y = gsa_op_square_error(b.tape, y, gsa_tape_zeros(b.tape, 2, 2), 1);
    MUST(&b, gsa_tape_backward(b.tape, y, &b.error));
    bench_close(&b);
}
END_TEST

START_TEST(a_gradient_that_grows_later_is_a_failure)
{
    bench b = bench_open(NULL, GSA_F64);
    seen s = { { 0 }, "" };
    add_four(&b, &s);
    for (int counts = 1; counts >= 0; counts--) {
        const int64_t offset[] = { 0, 1, 2 };
        gsa_tape_reset(b.tape, 1, 0, 0);
        for (int i = 0; i < 2; i++) s.x[i]->uses = 0;
        gsa_tape_watch(b.tape, note, &s);
        gsa_tensor *x = counts ? gsa_op_multiply(b.tape, s.x[0], s.x[1])
                               : gsa_op_pool(b.tape, s.x[0], offset, 2, 0); /* does not count */
        x = gsa_op_linear(b.tape, x, s.x[0], NULL);
        x = gsa_op_square_error(b.tape, x, gsa_tape_zeros(b.tape, 2, 2), 1);
        ck_assert_int_eq(gsa_tape_backward(b.tape, x, &b.error),
                         counts ? GSA_OK : GSA_ERR_ARGUMENT);
    }
    ck_assert_str_eq(b.error.text, "a parameter of 2 x 2 gets more gradient than its ops counted");
    bench_close(&b);
}
END_TEST

START_TEST(evaluation_records_nothing_and_drops_nothing)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_parameter *w;
    MUST(&b, gsa_parameters_add(b.parameters, "w", 1, 1, GSA_INIT_ONE, 1, 0, &w, &b.error));
    gsa_tape_reset(b.tape, 0, 0, 0);
    gsa_tensor *y = gsa_op_dropout(b.tape, gsa_op_add(b.tape, &w->value, &w->value), 0.9, 1,
                                   (gsa_row_identity){ 0 });
    ck_assert(y && !y->wants_grad);
    MUST(&b, gsa_tape_backward(b.tape, y, &b.error));
    double value, gradient;
    MUST(&b, gsa_tensor_read(b.backend, y, 0, &value, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, &w->value, 1, &gradient, &b.error));
    ck_assert(value == 2 && gradient == 0);
    ck_assert_int_eq(gsa_tape_backward(b.tape, gsa_tape_zeros(b.tape, 2, 1), &b.error),
                     GSA_ERR_ARGUMENT);
    bench_close(&b);
}
END_TEST

START_TEST(parameters_refuse_and_start_by_name)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_parameter *p, *q;
    MUST(&b, gsa_parameters_add(b.parameters, "one", 20, 30, GSA_INIT_XAVIER, 0, 0, &p, &b.error));
    MUST(&b, gsa_parameters_add(b.parameters, "two", 20, 30, GSA_INIT_XAVIER, 0, GSA_FROZEN, &q,
                                &b.error));
    ck_assert_int_eq(gsa_parameters_add(b.parameters, "one", 1, 1, 0, 0, 0, &q, &b.error),
                     GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_parameters_add(b.parameters, "none", 0, 1, 0, 0, 0, &q, &b.error),
                     GSA_ERR_LIMIT);
    ck_assert_int_eq(gsa_parameters_add(b.parameters, "vast", INT64_MAX, 2, 0, 0, 0, &q, &b.error),
                     GSA_ERR_LIMIT);
    double one[600], two[600], again[600], bound = sqrt(6.0 / 50), most = 0;
    MUST(&b, gsa_tensor_read(b.backend, &p->value, 0, one, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, &gsa_parameters_find(b.parameters, "two")->value, 0, two,
                             &b.error));
    for (int i = 0; i < 600; i++) most = fmax(most, fabs(one[i]));
    ck_assert(memcmp(one, two, sizeof one) != 0 && most <= bound && most > 0.95 * bound);
    bench other = bench_open(NULL, GSA_F64); /* another order of creation: the same numbers */
    MUST(&other,
         gsa_parameters_add(other.parameters, "zero", 1, 1, GSA_INIT_ZERO, 0, 0, &q, &other.error));
    MUST(&other, gsa_parameters_add(other.parameters, "one", 20, 30, GSA_INIT_XAVIER, 0, 0, &q,
                                    &other.error));
    MUST(&other, gsa_tensor_read(other.backend, &q->value, 0, again, &other.error));
    ck_assert_int_eq(memcmp(one, again, sizeof one), 0);
    ck_assert_int_eq(gsa_parameters_total(b.parameters), 1200);
    ck_assert(!gsa_parameters_find(b.parameters, "two")->value.wants_grad);
    bench_close(&other);
    bench_close(&b);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */
static int64_t live;
static void *count_alloc(gsa_backend *backend, int64_t bytes)
{
    (void)backend, (void)bytes;
    live++;
    return NULL;
}

START_TEST(the_arena_settles_after_one_round)
{
    bench b = bench_open(NULL, GSA_F64);
    void *(*alloc)(gsa_backend *, int64_t) = b.backend->alloc;
    for (int round = 0; round < 4; round++) {
        gsa_tape_reset(b.tape, 1, 0, 0);
        if (round == 2) b.backend->alloc = count_alloc; /* from here on no memory is to be had */
        gsa_tensor *x = gsa_tape_zeros(b.tape, 1000, 100);
        for (int i = 0; i < 30; i++) x = gsa_op_add(b.tape, x, x);
        MUST(&b, gsa_tape_status(b.tape, &b.error));
    }
    ck_assert_int_eq(live, 0);
    ck_assert_ptr_null(
        gsa_tape_zeros(b.tape, 1000000, 100)); /* and what does not fit is a sentence */
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), GSA_ERR_MEMORY);
    b.backend->alloc = alloc;
    bench_close(&b);
}
END_TEST

/* The largest round counts, the present one too. */
START_TEST(the_peak_is_the_largest_round)
{
    static const int64_t rows[] = { 10, 1000, 100 }, least[] = { 10, 1000, 1000 };
    bench b = bench_open(NULL, GSA_F32);
    for (int i = 0; i < 3; i++) {
        gsa_tape_reset(b.tape, 0, 0, 0);
        gsa_tape_zeros(b.tape, rows[i], 64);
        const int64_t peak = gsa_tape_peak(b.tape), bytes = least[i] * 64 * b.backend->real_bytes;
        ck_assert(peak >= bytes && peak < bytes + 4096);
    }
    bench_close(&b);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test gradients[] = { GSA_LOOP(every_op_differentiates, OPS),
                                          GSA_LOOP(equal_rows_differentiate, OPS),
                                          GSA_TEST(cross_entropy_differentiates),
                                          GSA_TEST(frozen_row_gets_no_gradient),
                                          GSA_TEST(gradients_are_whole_after_their_last_use),
                                          GSA_TEST(a_gradient_that_grows_later_is_a_failure) };
    static const gsa_test shapes[] = { GSA_LOOP(a_wrong_shape_is_one_sentence, 18),
                                       GSA_TEST(zero_rows_pass_through_every_op) };
    static const gsa_test views[] = { GSA_TEST(neighbouring_views_join_without_a_copy) };
    static const gsa_test failures[] = { GSA_TEST(a_missing_entry_is_named),
                                         GSA_TEST(evaluation_records_nothing_and_drops_nothing),
                                         GSA_TEST(parameters_refuse_and_start_by_name) };
    static const gsa_test memory[] = { GSA_TEST(the_arena_settles_after_one_round),
                                       GSA_TEST(the_peak_is_the_largest_round) };
    static const gsa_case cases[] = { GSA_CASE("gradients", gradients, 60),
                                      GSA_CASE("shapes", shapes, 30), GSA_CASE("views", views, 30),
                                      GSA_CASE("failures", failures, 30),
                                      GSA_CASE("memory", memory, 30) };
    return gsa_run_suite("tape", cases, GSA_COUNT(cases), argc, argv);
}
