/* state_ranges.c - every number of a state has a range, and those that tell of one thing agree. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include "graph/system_parts.h"
#include "train/driver/trainer.h"

#define MOST_SUM    1e300
#define MOST_EPOCHS 1000000 /* of train.epochs */
enum { TARGETS, EXAMPLES, HITS, FOUND, WANTED, STRICT_HITS, STRICT_FOUND, STRICT_WANTED, NUMBERS };

static int64_t within(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value < most ? value : most;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t times(int64_t a, int64_t b, int64_t most)
{
    int64_t product;
    return gsa_mul(a, b, &product) ? least(product, most) : most;
}

/* A task of ours, to whose losses each example is one target. */
static int is_one_each(const gsa_trainer *t)
{
    return t->session.task != t->session.plugged && !t->session.task->targets;
}

typedef struct whole { /* high: inclusive, as low is */
    const char *name;
    int64_t value, low, high;
} whole;
typedef struct real {
    const char *name;
    double value, low, high;
} real;

static gsa_status check_whole(const whole *row, size_t count, const char *path, gsa_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (row[i].low > row[i].high)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: the training state's %s is %" PRId64
                            ", and with its other counts no number would be right",
                            path, row[i].name, row[i].value);
        else if (row[i].value < row[i].low || row[i].value > row[i].high)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: the training state's %s is %" PRId64 ", expected %" PRId64
                            " to %" PRId64,
                            path, row[i].name, row[i].value, row[i].low, row[i].high);
    return GSA_OK;
}

static gsa_status check_real(const real *row, size_t count, const char *path, gsa_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!(row[i].value >= row[i].low && row[i].value <= row[i].high)) /* NaN: none */
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: the training state's %s is %g, expected %g to %g", path,
                            row[i].name, gsa_shown(row[i].value), row[i].low, row[i].high);
    return GSA_OK;
}

/* 2^53 steps are never made, so that no count overflows. Steps are applied or skipped; each epoch
 * has one, and at most one for each example; one that has begun is not beyond the last. What is due
 * is saved where an evaluation was stopped, which comes after a step. The first evaluation has the
 * best model, and of those that came after the best each was after a step. A step has each example
 * once at most, whose tokens and targets are counted in 32 bits; how many they are depends on
 * settings that a run may have changed, as do the steps that an evaluation may follow. */
static gsa_status check_counts(const gsa_trainer *t, const char *path, gsa_error *error)
{
    const gsa_run_counts *c = &t->counts;
    const int64_t all = GSA_DUE_EVALUATION | GSA_DUE_EPOCH | GSA_DUE_CHECKPOINT,
                  most = GSA_MOST_COUNT, step = within(c->step, most),
                  missed = step - within(c->applied, step), judged = c->evaluated >= 0,
                  stopped = (c->due & GSA_DUE_EVALUATION) != 0,
                  evaluated = within(c->evaluated, step),
                  since = evaluated - within(c->best_step, evaluated),
                  whole_epochs = step - within(c->cursor, step),
                  examples = c->examples > 0 ? c->examples : 1,
                  epochs = whole_epochs / examples + (whole_epochs % examples > 0),
                  tokens = t->session.task == t->session.plugged ? most
                                                                 : times(examples, INT32_MAX, most),
                  targets = is_one_each(t) ? examples : tokens;
    const whole rows[] = {
        { "step", c->step, 0, most },
        { "applied", c->applied, 0, step },
        { "skipped", c->skipped, missed, missed },
        { "epoch", c->epoch, epochs, within(MOST_EPOCHS - (c->cursor > 0), step) },
        { "cursor", c->cursor, 0, step - within(c->epoch, step) },
        { "due", c->due, c->due > 0 && c->cursor > 0 ? (c->due & all) | GSA_DUE_EVALUATION : 0,
          c->cursor > 0 ? all : 0 },
        { "evaluated", c->evaluated, -1, step - stopped },
        { "has_best", c->has_best, judged, judged },
        { "best_step", c->best_step, judged, judged ? c->evaluated : 0 },
        { "waited", c->waited, since > 0, since },
        { "ended", c->ended, 0, c->waited > 0 },
        { "keeps_best", c->keeps_best, 0, c->has_best },
        { "epoch_targets", c->epoch_targets, 0, times(within(c->cursor, step), targets, most) },
        { "report_targets", c->report_targets, 0, times(step, targets, most) },
        { "tokens", c->tokens, 0, times(step, tokens, most) }
    };
    return check_whole(rows, sizeof rows / sizeof *rows, path, error);
}

/* The dev score: right ones are among those found and among those to be found, and a span has an
 * example of its own, which a plugin's own metric need not keep. */
static gsa_status check_score(const gsa_trainer *t, const char *path, gsa_error *error)
{
    const gsa_task *task = t->session.task;
    const int64_t *d = t->counts.dev;
    const int64_t most = t->counts.evaluated >= 0 ? GSA_MOST_COUNT : 0;
    const int own = task != t->session.plugged, spans = d[FOUND] > 0 || d[WANTED] > 0,
              same = is_one_each(t) && task->rising; /* what is right or wrong is a target */
    const int64_t held = own ? within(d[EXAMPLES], most) : most;
    const whole rows[NUMBERS] = {
        { "dev[0]", d[TARGETS], 0, most },
        { "dev[1]", d[EXAMPLES], same ? d[TARGETS] : own && d[TARGETS] > 0,
          same ? d[TARGETS] : most },
        { "dev[3]", d[FOUND], 0, held },
        { "dev[4]", d[WANTED], 0, held },
        { "dev[6]", d[STRICT_FOUND], 0, held },
        { "dev[7]", d[STRICT_WANTED], 0, held },
        { "dev[2]", d[HITS], 0,
          task->f1 || same || (own && spans) ? least(d[FOUND], d[WANTED])
          : own                              ? d[EXAMPLES]
                                             : most },
        { "dev[5]", d[STRICT_HITS], 0, own ? least(d[STRICT_FOUND], d[STRICT_WANTED]) : most }
    };
    return check_whole(rows, NUMBERS, path, error);
}

/* A loss is a float's number a target, and not negative but by the rounding of a chain of tags; a
 * plugin's may be anything. No evaluation gave more than the best one. */
static gsa_status check_sums(const gsa_trainer *t, const char *path, gsa_error *error)
{
    const gsa_run_counts *c = &t->counts;
    const gsa_run_sums *s = &t->sums;
    const gsa_task *task = t->session.task;
    const int own = task != t->session.plugged, judged = c->evaluated >= 0,
              newest = c->best_step == c->evaluated, share = task->rising || task->f1;
    const double high = FLT_MAX, low = own ? -0.01 : -high, targets = (double)c->dev[TARGETS],
                 examples = (double)c->dev[EXAMPLES], epoch = (double)c->epoch_targets,
                 report = (double)c->report_targets,
                 free = judged ? MOST_SUM : 0; /* of a plugin's sums */
    const real rows[] = {
        { "best", c->has_best ? s->best : 0, share ? 0 : low, share ? 1 : high },
        { "last", s->last,
          !judged                   ? 0
          : newest || !task->rising ? s->best
          : share                   ? 0
                                    : low,
          !judged                  ? 0
          : newest || task->rising ? s->best
                                   : high },
        { "dev_loss", s->dev_loss, own ? low * targets : -free, own ? high * targets : free },
        { "dev_right", s->dev_right, own || share ? 0 : -free, own || share ? examples : free },
        { "epoch_loss", s->epoch_loss, low * epoch, high * epoch },
        { "report_loss", s->report_loss, low * report, high * report },
        { "seconds", s->seconds, 0, GSA_MOST_SECONDS }
    };
    return check_real(rows, sizeof rows / sizeof *rows, path, error);
}

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* The score that is kept is the best model's, where that is kept, too, or that of the last
 * evaluation. */
static gsa_status check_metric(const gsa_trainer *t, const char *path, gsa_error *error)
{
    const int64_t *d = t->counts.dev;
    const gsa_run_sums *s = &t->sums;
    const gsa_score dev = { .loss = s->dev_loss,
                            .right = s->dev_right,
                            .targets = d[TARGETS],
                            .examples = d[EXAMPLES],
                            .hits = d[HITS],
                            .found = d[FOUND],
                            .wanted = d[WANTED] };
    const double metric = gsa_score_metric(t->session.task, &dev);
    if (t->counts.evaluated < 0 || is_near(metric, s->best) ||
        (!t->counts.keeps_best && is_near(metric, s->last)))
        return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: the training state's dev score has %s %g, expected that of the best "
                    "model, %g, or, where that is not kept, the last one, %g",
                    path, t->session.task->metric, metric, s->best, s->last);
}

gsa_status gsa_trainer_check_ranges(const gsa_trainer *t, const char *path, gsa_error *error)
{
    gsa_status status = check_counts(t, path, error);
    if (status == GSA_OK) status = check_score(t, path, error);
    if (status == GSA_OK) status = check_sums(t, path, error);
    return status == GSA_OK ? check_metric(t, path, error) : status;
}

/* Does this run have other batches than the one that was saved? */
static int has_other_batches(const gsa_trainer *t)
{
    static const char *const keys[][2] = { { "train", "batch" },      { "train", "batch_tokens" },
                                           { "train", "accumulate" }, { "train", "bucket" },
                                           { "data", "stream" },      { "data", "max_length" } };
    int other = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const gsa_ini_entry *e = gsa_ini_find(&t->session.recipe.ini, keys[i][0], keys[i][1]);
        other |= e && e->line == 0; /* no line: --set */
    }
    return other;
}

/* Epochs have as many steps each, but where tokens limit a batch, or where a run went on with other
 * batches: its state says so from then on. */
gsa_status gsa_trainer_check_place(gsa_trainer *t, const char *path, gsa_error *error)
{
    const gsa_run_counts *c = &t->counts;
    const int64_t count = t->batches.count;
    const int ends = (c->due & GSA_DUE_EPOCH) != 0, other = has_other_batches(t);
    int64_t steps;
    if (!gsa_mul(c->epoch, count, &steps) || !gsa_add(steps, c->cursor, &steps)) steps = INT64_MAX;
    const whole rows[] = { { "cursor", c->cursor, ends ? count : 0, count - !ends },
                           { "step", c->step, steps, steps } };
    const int even = t->session.recipe.values.train_batch_tokens == 0 && !t->varied;
    if (other && c->step != steps) t->varied = 1;
    return other ? GSA_OK : check_whole(rows, even ? 2 : 1, path, error);
}
