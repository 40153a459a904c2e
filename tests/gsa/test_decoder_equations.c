/* An encoder and a decoder through the executor against the paper's equations; and causal patterns:
 * what comes later changes no bit of what comes before. */
#include "papers.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- encoder and decoder in one tape, Vaswani et al. 2017, section 3.1 --------------------- */
static const int32_t target_length[] = { 4, 1, 0, 9, 3, 6, 2 };
enum { TARGETS = 25 };

static paper_model decoder_model(int align)
{
    paper_model m = paper_open(GSA_F64);
    paper_add(&m, "encoder", "full*2", GSA_READ_SEQUENCE);
    paper_add(&m, "decoder", align ? "full:causal=1+cross:align=1*2" : "full:causal=1+cross*2",
              GSA_READ_SEQUENCE);
    paper_randomise(&m, 6);
    return m;
}

static gsa_readout decode(paper_model *m, const double *source, const double *target,
                          const int32_t *source_group, const int32_t *target_group, int training)
{
    gsa_tape_reset(m->b.tape, training, 1, 1);
    gsa_readout memory = paper_forward(
        m, 0, &(gsa_sequences){ .count = COUNT, .length = paper_lengths }, source, NULL);
    return paper_forward(m, 1,
                         &(gsa_sequences){ .count = COUNT,
                                           .length = target_length,
                                           .memory_length = paper_lengths,
                                           .group = target_group,
                                           .memory_group = source_group },
                         target, memory.sequence);
}

static const char *everything(const void *context, int n, int i, paper_reads *r)
{
    (void)context, (void)i;
    for (int j = 0; j < n; j++) paper_read_all(r, j);
    return "attend";
}

/* Masked self-attention, attention over the encoder's output, FFN; groups NULL: all of it. */
static void decoder_layer(paper_model *m, int number, int n, double *y, int memory, const double *z,
                          const int32_t *group, const int32_t *memory_group)
{
    double a[MOST][D];
    const double *source[MOST];
    char prefix[64];
    snprintf(prefix, sizeof prefix, "decoder.0.%d.full.attend", number);
    for (int i = 0; i < n; i++) source[i] = y + i * D;
    for (int i = 0; i < n; i++) {
        paper_reads r = { 0 };
        for (int j = 0; j <= i; j++) paper_read_all(&r, j);
        paper_multi_head(m, prefix, source[i], source, n, &r, a[i]);
    }
    for (int i = 0; i < n; i++) paper_add_norm(m, prefix, y + i * D, a[i]);
    snprintf(prefix, sizeof prefix, "decoder.0.%d.cross.attend", number);
    for (int j = 0; j < memory; j++) source[j] = z + j * D;
    for (int i = 0; i < n; i++) {
        paper_reads r = { 0 };
        for (int j = 0; j < memory; j++)
            if (!group || group[i] == memory_group[j]) paper_read_all(&r, j);
        paper_multi_head(m, prefix, y + i * D, source, memory, &r, a[0]);
        paper_add_norm(m, prefix, y + i * D, a[0]);
    }
    snprintf(prefix, sizeof prefix, "decoder.0.%d.full.ffn", number);
    for (int i = 0; i < n; i++) paper_ffn(m, prefix, y + i * D);
}

START_TEST(decoder_is_its_equations)
{
    double source[TOKENS * D], target[TARGETS * D], out[TARGETS * D];
    int32_t group[2][TOKENS];
    for (int i = 0; i < TOKENS; i++)
        group[0][i] = i / 4, group[1][i] = i / 3; /* some targets find no source of their group */
    paper_model m = decoder_model(_i);
    paper_rows(source, TOKENS * D, 27);
    paper_rows(target, TARGETS * D, 28);
    const gsa_readout read =
        decode(&m, source, target, _i ? group[0] : NULL, _i ? group[1] : NULL, 0);
    MUST(&m.b, gsa_tensor_read(m.b.backend, read.sequence, 0, out, &m.b.error));
    for (int e = 0, s = 0, t = 0; e < COUNT; s += paper_lengths[e], t += target_length[e], e++) {
        for (int l = 0; l < 2; l++)
            paper_layer(&m, "encoder.0", l, everything, NULL, paper_lengths[e], source + s * D);
        for (int l = 0; l < 2; l++)
            decoder_layer(&m, l, target_length[e], target + t * D, paper_lengths[e], source + s * D,
                          _i ? group[1] + t : NULL, group[0] + s);
        ck_assert_int_eq(
            gsa_differ("decoder", out + t * D, target + t * D, target_length[e] * D, 1e-12, 1e-12),
            0);
    }
    paper_close(&m);
}
END_TEST

/* The gradient goes through the decoder's memory into the encoder: against differences of the
 * loss. */
static double decoder_loss(paper_model *m, const double *source, const double *target,
                           gsa_tensor **loss)
{
    double value;
    const gsa_readout read = decode(m, source, target, NULL, NULL, 1);
    *loss =
        gsa_op_square_error(m->b.tape, read.sequence, gsa_tape_zeros(m->b.tape, TARGETS, D), 0.5);
    gsa_tensor *odd = gsa_op_view(m->b.tape, read.sequence, 0,
                                  7); /* the norm makes the square of all nearly constant */
    *loss = gsa_op_add(m->b.tape, *loss,
                       gsa_op_square_error(m->b.tape, odd,
                                           gsa_tape_constant(m->b.tape, target, GSA_F64, 7, D), 1));
    MUST(&m->b, gsa_tape_status(m->b.tape, &m->b.error));
    MUST(&m->b, gsa_tensor_read(m->b.backend, *loss, 0, &value, &m->b.error));
    return value;
}

START_TEST(gradients_reach_the_encoder)
{
    static const char *const names[] = { "encoder.0.0.attend.v.weight", "encoder.0.1.ffn.up.weight",
                                         "decoder.0.0.cross.attend.k.weight",
                                         "decoder.0.1.cross.attend.q.weight" };
    double source[TOKENS * D], target[TARGETS * D], w[D * WIDTH], gradient[D * WIDTH], at[2];
    paper_model m = decoder_model(0);
    paper_rows(source, TOKENS * D, 27);
    paper_rows(target, TARGETS * D, 28);
    gsa_tensor *x = &gsa_parameters_find(m.b.parameters, names[_i])->value, *loss;
    MUST(&m.b, gsa_tensor_read(m.b.backend, x, 0, w, &m.b.error));
    decoder_loss(&m, source, target, &loss);
    MUST(&m.b, gsa_parameters_zero_gradients(m.b.parameters, &m.b.error));
    MUST(&m.b, gsa_tape_backward(m.b.tape, loss, &m.b.error));
    MUST(&m.b, gsa_tensor_read(m.b.backend, x, 1, gradient, &m.b.error));
    for (int i = 0; i < (int)(x->rows * x->cols); i += 7) {
        const double old = w[i];
        for (int side = 0; side < 2; side++) {
            w[i] = old + (side ? -1e-5 : 1e-5);
            MUST(&m.b, gsa_tensor_write(m.b.backend, x, w, &m.b.error));
            at[side] = decoder_loss(&m, source, target, &loss);
        }
        w[i] = old;
        ck_assert_double_eq_tol(gradient[i], (at[0] - at[1]) / 2e-5,
                                1e-6 + 1e-5 * fabs(gradient[i]));
    }
    paper_close(&m);
}
END_TEST

/* ---- nothing leaks back -------------------------------------------------------------------- */
static const struct {
    const char *spec;
    int stable; /* prefix-stable: what a token becomes is the same in every longer sequence */
} causal[] = {
    { "full:causal*2", 1 },
    { "full:causal:clip=2*2", 1 },
    { "window:width=5:causal*2", 1 },
    { "dilated:width=5:step=3:causal*2", 1 },
    { "longformer:width=3:global=2:causal*2", 1 },
    { "longformer:width=3:global=2:own=0:causal*2", 1 },
    { "longformer:width=3:global=100:causal*2", 1 },
    { "bigbird:width=1:global=1:random=2:causal*2", 1 },
    { "bigbird:width=3:global=1:random=2:block=3:causal*2", 1 },
    { "strided*2", 0 },
    { "strided:stride=3*2", 1 },
    { "strided:stride=3:heads=near,strided:stride=3:heads=far", 1 },
    { "strided:stride=3:heads=split*2", 1 },
    { "strided:pattern=fixed*2", 0 },
    { "strided:pattern=fixed:stride=4:c=2*2", 1 },
    { "strided:pattern=fixed:stride=4:c=2:heads=split*2", 1 },
    { "strided:pattern=fixed:stride=4:heads=far,strided:pattern=fixed:stride=4:heads=near", 1 },
    { "window:width=3:causal+dilated:width=5:step=4:causal*2", 1 },
};

/* Rows [n, D] with token `changed` put to something else (-1: none), in the middle of two other
 * examples. */
static void run_changed(paper_model *m, int32_t n, int changed, double *out)
{
    const int32_t length[3] = { 4, n, 2 };
    double rows[(MOST + 6) * D], all[(MOST + 6) * D];
    paper_rows(rows, (n + 6) * D, 29);
    for (int c = 0; c < D && changed >= 0; c++) rows[(4 + changed) * D + c] = 3 - c;
    paper_run(m, length, 3, rows, all, NULL);
    memcpy(out, all + 4 * D, (size_t)n * D * sizeof *out);
}

static int rows_that_differ(const double *a, const double *b, int from, int to)
{
    int rows = 0;
    for (int i = from; i < to; i++) rows += memcmp(a + i * D, b + i * D, D * sizeof *a) != 0;
    return rows;
}

START_TEST(a_later_token_changes_no_bit_of_an_earlier_one)
{
    for (int pre = 0; pre < 2; pre++) {
        double before[MOST * D], after[MOST * D];
        paper_model m = paper_open(pre ? GSA_F32 : GSA_F64);
        m.settings.norm = pre ? GSA_NORM_PRE : GSA_NORM_POST;
        paper_add(&m, "encoder", causal[_i].spec, GSA_READ_SEQUENCE);
        paper_randomise(&m, 7);
        run_changed(&m, MOST, -1, before);
        for (int t = 0; t < MOST; t++) {
            run_changed(&m, MOST, t, after);
            ck_assert_msg(rows_that_differ(before, after, 0, t) == 0, "%s: token %d",
                          causal[_i].spec, t);
            ck_assert_int_gt(rows_that_differ(before, after, t, MOST), 0);
        }
        paper_close(&m);
    }
}
END_TEST

START_TEST(a_token_does_not_see_the_length)
{
    if (!causal[_i].stable) return;
    double longest[MOST * D], shorter[MOST * D];
    paper_model m = paper_with(GSA_F64, causal[_i].spec, GSA_READ_SEQUENCE);
    const int32_t length = MOST;
    double rows[MOST * D];
    paper_rows(rows, MOST * D, 30);
    paper_run(&m, &length, 1, rows, longest, NULL);
    for (int32_t n = 1; n < MOST; n++) {
        paper_run(&m, &n, 1, rows, shorter, NULL);
        ck_assert_int_eq(gsa_differ(causal[_i].spec, shorter, longest, n * D, 1e-12, 1e-12), 0);
    }
    paper_close(&m);
}
END_TEST

START_TEST(a_decoder_does_not_leak_either)
{
    double source[TOKENS * D], target[TARGETS * D], changed[TARGETS * D], out[2][TARGETS * D];
    paper_model m = decoder_model(0);
    paper_rows(source, TOKENS * D, 31);
    paper_rows(target, TARGETS * D, 32);
    MUST(&m.b, gsa_tensor_read(m.b.backend, decode(&m, source, target, NULL, NULL, 0).sequence, 0,
                               out[0], &m.b.error));
    for (int e = 0, first = 0; e < COUNT; first += target_length[e++])
        for (int t = 0; t < target_length[e]; t++) {
            memcpy(changed, target, sizeof target);
            for (int c = 0; c < D; c++) changed[(first + t) * D + c] = c - 2;
            MUST(&m.b,
                 gsa_tensor_read(m.b.backend, decode(&m, source, changed, NULL, NULL, 0).sequence,
                                 0, out[1], &m.b.error));
            ck_assert_int_eq(rows_that_differ(out[0], out[1], 0, first + t), 0);
            ck_assert_int_gt(rows_that_differ(out[0], out[1], first + t, first + target_length[e]),
                             0);
            ck_assert_int_eq(rows_that_differ(out[0], out[1], first + target_length[e], TARGETS),
                             0);
        }
    paper_close(&m);
}
END_TEST

/* The check can fail: these do read what is later. */
START_TEST(what_is_not_causal_is_seen_to_leak)
{
    static const char *const specs[] = { "full*2",
                                         "window:width=5*2",
                                         "star*2",
                                         "dilated:width=5:step=3*2",
                                         "longformer:width=3*2",
                                         "bigbird:width=3:global=1*2",
                                         "strided:causal=0*2",
                                         "head_area*2" };
    double before[MOST * D], after[MOST * D];
    paper_model m = paper_with(GSA_F64, specs[_i], GSA_READ_SEQUENCE);
    run_changed(&m, MOST, -1, before);
    run_changed(&m, MOST, MOST - 1, after);
    ck_assert_int_gt(rows_that_differ(before, after, 0, MOST - 1), 0);
    paper_close(&m);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test equations[] = { GSA_LOOP(decoder_is_its_equations, 2),
                                          GSA_LOOP(gradients_reach_the_encoder, 4) };
    static const gsa_test leak[] = {
        GSA_LOOP(a_later_token_changes_no_bit_of_an_earlier_one, GSA_COUNT(causal)),
        GSA_LOOP(a_token_does_not_see_the_length, GSA_COUNT(causal)),
        GSA_TEST(a_decoder_does_not_leak_either), GSA_LOOP(what_is_not_causal_is_seen_to_leak, 8)
    };
    static const gsa_case cases[] = { GSA_CASE("equations", equations, 60),
                                      GSA_CASE("leak", leak, 120) };
    return gsa_run_suite("decoder_equations", cases, GSA_COUNT(cases), argc, argv);
}
