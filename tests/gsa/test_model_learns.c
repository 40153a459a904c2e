/* Gradients through both stacks by central differences, and two stacks that learn to write a
 * sequence backwards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model_world.h"

/* ---- gradients ----------------------------------------------------------------------------- */
static const int32_t source[] = { 3, 1, 4 }, target[] = { 2, 3, 1 };
static const gsa_model_sequence both[] = SOURCE_AND_TARGET(source, target);

static picture pictures(int which)
{
    picture p = translator("bpt:k=4*2", "bpt:k=4:causal=1+cross*2");
    if (which == 1) {
        p = translator("window:width=3*2", "full:causal=1:clip=2+cross*2");
        p.passes[1].memory_after = 1; /* and the final sequence is read as well, by the task */
        p.stacks[0].reads = GSA_READ_SEQUENCE;
    }
    if (which >= 2) /* two stacks; one that reads itself at a depth, spans and all */
        p = (picture){
            .sequences = { "p", "h" },
            .stacks = { { .name = "self", .spec = "bpt:k=1" },
                        { .name = "pair", .spec = "bpt:k=1+cross", .reads = GSA_READ_SUMMARY } },
            .passes = { { "self.p", "self", "p", NULL, NULL, 0, 0 },
                        { "self.h", "self", "h", NULL, NULL, 0, 0 },
                        { "pair.p", "pair", "p", "self.p", "self.h", 0, 0 },
                        { "pair.h", "pair", "h", "self.h", "self.p", 0, 0 } }
        };
    if (which == 3)
        p = (picture){ .sequences = { "p", "h" },
                       .stacks = { { .name = "pair",
                                     .spec = "bpt:k=1*2,bpt:k=1+cross",
                                     .reads = GSA_READ_SUMMARY } },
                       .passes = { { "p", "pair", "p", NULL, "h", 0, 2 },
                                   { "h", "pair", "h", NULL, "p", 0, 2 } } };
    return p;
}

static double loss_of(world *w, int which, int backward)
{
    double value;
    gsa_readout out[4] = { 0 };
    world_run(w, both, 1, out);
    gsa_tensor *x[] = { which == 1 ? out[0].sequence : NULL,
                        which < 2 ? out[1].sequence : NULL,
                        out[2].summary,
                        out[3].summary,
                        out[0].summary,
                        out[1].summary };
    gsa_tensor *loss = world_loss(w, x, 6);
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
    MUST(&w->b, gsa_tensor_read(w->b.backend, loss, 0, &value, &w->b.error));
    if (backward) world_backward(w, loss);
    return value;
}

static double difference(world *w, int which, gsa_tensor *x, double *value, int64_t i)
{
    const double eps = 1e-5, was = value[i];
    double at[2];
    for (int side = 0; side < 2; side++) {
        value[i] = was + (side ? -eps : eps);
        MUST(&w->b, gsa_tensor_write(w->b.backend, x, value, &w->b.error));
        at[side] = loss_of(w, which, 0);
    }
    value[i] = was;
    MUST(&w->b, gsa_tensor_write(w->b.backend, x, value, &w->b.error));
    return (at[0] - at[1]) / (2 * eps);
}

/* Every third element of each parameter of both stacks and of all input rows; with dropout, whose
 * masks are fixed by seed and step. */
START_TEST(both_stacks_differentiate)
{
    const int which = _i % 4, norm = _i / 4;
    world w = world_open(NULL, GSA_F64);
    const picture p = pictures(which);
    w.settings.norm = norm, w.settings.bias = GSA_BIAS_Q | GSA_BIAS_V | GSA_BIAS_O;
    w.settings.dropout_attention = w.settings.dropout_hidden = w.settings.dropout_ffn = 0.2;
    world_make(&w, &p, (int64_t[]){ 8, 6 });
    loss_of(&w, which, 1);
    int64_t total, at = 0;
    double *gradient = world_gradients(&w, &total);
    for (int k = 0; k < gsa_parameters_count(w.b.parameters); k++) {
        gsa_parameter *parameter = gsa_parameters_at(w.b.parameters, k);
        gsa_tensor *x = &parameter->value;
        double *value = malloc((size_t)(x->rows * x->cols) * sizeof *value), most = 0;
        MUST(&w.b, gsa_tensor_read(w.b.backend, x, 0, value, &w.b.error));
        for (int64_t i = 0; i < x->rows * x->cols; i++) {
            most = fmax(most, fabs(gradient[at + i]));
            if ((i + k) % 3) continue;
            const double slope = difference(&w, which, x, value, i);
            ck_assert_msg(fabs(slope - gradient[at + i]) <= 1e-7 + 1e-5 * fabs(slope),
                          "%s, element %d: %.10g, differences say %.10g", parameter->name, (int)i,
                          gradient[at + i], slope);
        }
        const int unread = strstr(parameter->name, ".labels.vectors") != NULL ||
                           (parameter->flags & GSA_UNREACHED);
        ck_assert_msg(unread || most > 0, "%s has no gradient at all", parameter->name);
        at += x->rows * x->cols;
        free(value);
    }
    free(gradient);
    world_close(&w);
}
END_TEST

/* ---- learning: write the source backwards -------------------------------------------------- */
enum {
    LETTERS = 8,
    BEGIN = LETTERS + 1,
    WORDS = LETTERS + 2,
    BATCH = 32,
    LONGEST = 6,
    ROWS = BATCH * LONGEST
};

typedef struct lesson {
    int32_t length[BATCH], source[ROWS], shown[ROWS],
        wanted[ROWS]; /* shown: what the decoder reads, one step late */
} lesson;

static void make_lesson(lesson *l, gsa_dice *dice)
{
    int at = 0;
    for (int e = 0; e < BATCH; e++) {
        const int n = l->length[e] = (int32_t)gsa_between(dice, 2, LONGEST);
        for (int i = 0; i < n; i++) l->source[at + i] = (int32_t)gsa_between(dice, 1, LETTERS);
        for (int i = 0; i < n; i++) l->wanted[at + i] = l->source[at + n - 1 - i];
        for (int i = 0; i < n; i++) l->shown[at + i] = i ? l->wanted[at + i - 1] : BEGIN;
        at += n;
    }
}

typedef struct pupil {
    world w;
    gsa_input *input[2];
    gsa_parameter *out;
    double *first, *second, *value; /* Adam's moments; room for one parameter */
    int steps;
} pupil;

static pupil pupil_open(void)
{
    pupil p = { .w = world_open(NULL, GSA_F32) };
    const picture two = translator("full", "full:causal=1+cross");
    gsa_settings *s = &p.w.settings;
    s->hidden = 32, s->heads = 4, s->head_dim = 8, s->ffn = 64;
    s->position = GSA_POSITION_LEARNED, s->position_max = LONGEST;
    world_make(&p.w, &two, (int64_t[]){ 1, 1 });
    const char *const names[] = { "input", "shown" };
    for (int i = 0; i < 2; i++) {
        const gsa_input_options o = {
            .name = names[i], .vocabulary = WORDS, .embedding_std = 0.3, .site = (uint32_t)i
        };
        MUST(&p.w.b, gsa_input_create(NULL, s, &o, p.w.b.parameters, &p.input[i], &p.w.b.error));
    }
    MUST(&p.w.b, gsa_parameters_add(p.w.b.parameters, "out", WORDS, 32, GSA_INIT_XAVIER, 0, 0,
                                    &p.out, &p.w.b.error));
    const size_t total = (size_t)gsa_parameters_total(p.w.b.parameters);
    p.first = calloc(total, sizeof *p.first), p.second = calloc(total, sizeof *p.second);
    p.value = calloc(total, sizeof *p.value);
    return p;
}

static void pupil_close(pupil *p)
{
    free(p->first), free(p->second), free(p->value);
    for (int i = 0; i < 2; i++) gsa_input_release(p->input[i]);
    world_close(&p->w);
}

static gsa_tensor *answer(pupil *p, const lesson *l, int training)
{
    world *w = &p->w;
    const gsa_model_sequence s[] = { { BATCH, l->length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },
                                     { BATCH, l->length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 } };
    const int32_t *ids[] = { l->source, l->shown };
    gsa_tensor *rows[2];
    gsa_readout out[2];
    MUST(&w->b, gsa_model_batch_build(w->batch, w->cache, NULL, s, &w->b.error));
    gsa_tape_reset(w->b.tape, training, 1, (uint32_t)p->steps);
    for (int i = 0; i < 2; i++)
        rows[i] = gsa_model_input(w->model, w->b.tape, w->batch, i, p->input[i], ids[i], NULL);
    gsa_model_forward(w->model, w->b.tape, w->batch, rows, out);
    return gsa_op_linear(w->b.tape, out[1].sequence, &p->out->value, NULL);
}

/* Adam (Kingma and Ba 2015), lr 0.004, beta 0.9 and 0.98. */
static void adam(pupil *p)
{
    world *w = &p->w;
    int64_t total, at = 0;
    double *gradient = world_gradients(w, &total);
    const double a = 1 - pow(0.9, ++p->steps), b = 1 - pow(0.98, p->steps);
    for (int k = 0; k < gsa_parameters_count(w->b.parameters); k++) {
        gsa_tensor *x = &gsa_parameters_at(w->b.parameters, k)->value;
        MUST(&w->b, gsa_tensor_read(w->b.backend, x, 0, p->value, &w->b.error));
        for (int64_t i = 0; i < x->rows * x->cols; i++, at++) {
            p->first[at] = 0.9 * p->first[at] + 0.1 * gradient[at];
            p->second[at] = 0.98 * p->second[at] + 0.02 * gradient[at] * gradient[at];
            p->value[i] -= 0.004 * (p->first[at] / a) / (sqrt(p->second[at] / b) + 1e-8);
        }
        MUST(&w->b, gsa_tensor_write(w->b.backend, x, p->value, &w->b.error));
    }
    free(gradient);
}

static double share_right(pupil *p, const lesson *l)
{
    double score[ROWS * WORDS];
    const gsa_tensor *y = answer(p, l, 0);
    MUST(&p->w.b, gsa_tape_status(p->w.b.tape, &p->w.b.error));
    MUST(&p->w.b, gsa_tensor_read(p->w.b.backend, y, 0, score, &p->w.b.error));
    int right = 0;
    for (int64_t i = 0; i < y->rows; i++) {
        int best = 0;
        for (int c = 1; c < WORDS; c++)
            if (score[i * WORDS + c] > score[i * WORDS + best]) best = c;
        right += best == l->wanted[i];
    }
    return (double)right / (double)y->rows;
}

START_TEST(two_stacks_learn_to_write_backwards)
{
    pupil p = pupil_open();
    gsa_dice dice = { 2024 };
    lesson l;
    for (int step = 0; step < 400; step++) {
        make_lesson(&l, &dice);
        gsa_tensor *y = answer(&p, &l, 1);
        const int32_t *wanted = gsa_tape_upload(p.w.b.tape, l.wanted, (int64_t)sizeof l.wanted);
        world_backward(&p.w, gsa_op_cross_entropy(p.w.b.tape, y, wanted, 1.0 / (double)y->rows));
        adam(&p);
    }
    make_lesson(&l, &dice); /* never seen */
    const double right = share_right(&p, &l);
    ck_assert_msg(right > 0.95, "%.1f %% right", 100 * right);
    pupil_close(&p);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test gradients[] = { GSA_LOOP(both_stacks_differentiate, 8) };
    static const gsa_test reverse[] = { GSA_TEST(two_stacks_learn_to_write_backwards) };
    static const gsa_case cases[] = { GSA_CASE("gradients", gradients, 300),
                                      GSA_CASE("reverse", reverse, 300) };
    return gsa_run_suite("model_learns", cases, GSA_COUNT(cases), argc, argv);
}
