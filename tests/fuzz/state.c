/* The state of a run: its counts, sums and moments, read by a trainer that could go on with it. */
#include "train/driver/trainer.h"
#include "fuzz.h"

#define TEXT                                                                                       \
    "[task]\nname = masked_summation\nn = 6\nk = 2\nd = 2\ntrain = 4\ndev = 2\ntest = 2\n"         \
    "[model]\nencoder = star\nhidden = 2\nheads = 1\n[train]\nbatch = 2\n"

static gsa_trainer trainer;

static void silent(void *context, const char *sentence)
{
    (void)context, (void)sentence;
}

static void open_once(void)
{
    const gsa_system *const system = gsa_system_default();
    const gsa_optimiser_options adam = gsa_optimiser_default(GSA_OPTIMISER_ADAMW);
    const gsa_session_options options = { .recipe =
                                              gsa_fuzz_on_disk((const uint8_t *)TEXT, strlen(TEXT)),
                                          .splits = 7,
                                          .device = "cpu",
                                          .threads = 1,
                                          .say = silent };
    gsa_error error;
    gsa_status status = gsa_session_create(system, &options, &trainer.session, &error);
    if (status == GSA_OK)
        status = gsa_optimiser_create(system, trainer.session.model.parameters, &adam,
                                      &trainer.optimiser, &error);
    if (status != GSA_OK) fprintf(stderr, "%s\n", error.text), abort();
}

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    const gsa_run_counts *const c = &trainer.counts;
    gsa_error error;
    (void)at, (void)bytes;
    if (!trainer.optimiser) open_once();
    static const gsa_train_options resumed = { .resume = "no log is here" };
    trainer.system = trainer.origin = system, trainer.options = &resumed;
    trainer.counts = (gsa_run_counts){ .version = GSA_STATE_VERSION, .seed = 1, .examples = 4 };
    const gsa_status status = gsa_trainer_read_state(&trainer, path, &error);
    FUZZ_SAID(status, error);
    gsa_trainer_drop_best(&trainer);
    if (status != GSA_OK) return;
    FUZZ_CHECK(c->step >= 0 && c->cursor <= c->step && c->applied <= c->step);
    FUZZ_CHECK(c->due >= 0 && c->due < 2 * GSA_DUE_CHECKPOINT);
}
