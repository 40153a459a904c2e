#include "graph/system_parts.h"
#include "train/tasks/classes.h"
#include <math.h>

gsa_tensor *gsa_classes_loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                             const gsa_minibatch *batch, double scale)
{
    (void)self;
    const int32_t *labels =
        gsa_tape_upload(tape, batch->label, batch->targets * (int64_t)sizeof *batch->label);
    return labels ? gsa_op_cross_entropy(tape, out, labels, scale) : NULL;
}

static int32_t largest(const double *x, int32_t count)
{
    int32_t best = 0;
    for (int32_t c = 1; c < count; c++)
        if (x[c] > x[best]) best = c;
    return best;
}

/* Of a row: its largest x, and log sum exp (x - top): in one sum a large top would swallow it. */
typedef struct normaliser {
    double top, log_sum;
} normaliser;

static normaliser normaliser_of(const double *x, int32_t count)
{
    const double top = x[largest(x, count)];
    double sum = 0;
    for (int32_t c = 0; c < count; c++) sum += exp(x[c] - top);
    return (normaliser){ .top = top, .log_sum = log(sum) };
}

/* log sum exp x - x[at] */
static double surprise(const double *x, normaliser all, int32_t at)
{
    return all.log_sum - (x[at] - all.top);
}

void gsa_classes_score_row(const double *out, int32_t classes, int32_t positive, int32_t label,
                           gsa_score *unit)
{
    const int32_t best = largest(out, classes);
    if (label < 0) return;
    unit->loss += surprise(out, normaliser_of(out, classes), label);
    unit->right += best == label;
    unit->targets++, unit->examples++;
    unit->hits += best == label && label == positive;
    unit->found += best == positive, unit->wanted += label == positive;
}

void gsa_classes_score(const double *out, int32_t classes, int32_t positive,
                       const gsa_minibatch *batch, const int32_t *rows, gsa_score *unit)
{
    const int32_t *label = batch->label;
    for (int32_t u = 0; u < batch->count; u++)
        for (int32_t i = rows ? rows[u] : 1; i > 0; i--, out += classes)
            gsa_classes_score_row(out, classes, positive, *label++, &unit[u]);
}

void gsa_classes_observe(const double *out, int32_t classes, const gsa_minibatch *batch,
                         const int64_t *example, gsa_survey *survey)
{
    for (int32_t i = 0; i < batch->count; i++, out += classes)
        survey->found[example[i]] = gsa_found_of(out, classes, batch->label[i], -1);
}

void gsa_classes_print(const gsa_labels *labels, const double *out, int64_t rows,
                       gsa_output *output)
{
    for (int64_t i = 0; i < rows; i++, out += labels->count) {
        const int32_t best = largest(out, labels->count);
        const normaliser all = normaliser_of(out, labels->count);
        gsa_output_write(output, labels->name[best].at, labels->name[best].bytes);
        gsa_output_format(output, "\t%.6f\n", gsa_shown(exp(-surprise(out, all, best))));
    }
}

/* The most probable class below `last` (-1: of all), of equal ones the first. */
static int32_t next_best(const double *x, int32_t count, int32_t last)
{
    int32_t best = -1;
    for (int32_t c = 0; c < count; c++) {
        const int later = last < 0 || x[c] < x[last] || (x[c] == x[last] && c > last);
        if (later && (best < 0 || x[c] > x[best])) best = c;
    }
    return best;
}

void gsa_classes_print_many(const gsa_labels *labels, const double *out, int64_t rows, int32_t top,
                            gsa_output *output)
{
    const int32_t classes = labels->count, shown = top > 0 && top < classes ? top : classes;
    for (int64_t i = 0; i < rows; i++, out += classes) {
        const normaliser all = normaliser_of(out, classes);
        for (int32_t k = 0, c = -1; k < shown; k++) {
            c = top > 0 ? next_best(out, classes, c) : k;
            if (c < 0) break; /* logits that are no numbers have no order */
            gsa_output_format(output, "%s%.*s\t", k > 0 ? "\t" : "", (int)labels->name[c].bytes,
                              labels->name[c].at);
            gsa_output_format(output, top > 0 ? "%.6f" : "%.12g",
                              gsa_shown(exp(-surprise(out, all, c))));
        }
        gsa_output_text(output, "\n");
    }
}

void gsa_classes_probabilities(const double *out, int32_t classes, double *probability)
{
    const normaliser all = normaliser_of(out, classes);
    for (int32_t c = 0; c < classes; c++) probability[c] = exp(-surprise(out, all, c));
}
