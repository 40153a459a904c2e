/* Whole training steps on the executor: every op of a model, from embedding to optimiser, runs as kernels; device memory is
 * shut to the host (under AddressSanitizer a touch dies at the place), and the loss stays with ref's. A program of its own,
 * without Check. */
#include "kernels/cuda.h"
#include "train/driver.h"
#include "simt.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct losses {
    double at[64];
    int count;
} losses;

static void note(void *context, const gsa_progress *p)
{
    losses *l = context;
    if (p->kind == 0 && l->count < 64) l->at[l->count++] = p->loss;
}

static gsa_status train(gsa_backend *b, const char *encoder, losses *l, gsa_error *error)
{
    const char *sets[] = { encoder,
                           "task.n=12",
                           "task.train=96",
                           "task.dev=16",
                           "task.test=16",
                           "train.epochs=2",
                           "train.batch=16",
                           "train.report_every=1",
                           "model.dropout_attention=0.1",
                           "model.dropout_hidden=0.1" };
    char *result = NULL;
    const gsa_train_options options = { .recipe = GSA_RECIPE,
                                        .overrides = sets,
                                        .n_overrides = (int)(sizeof sets / sizeof *sets),
                                        .threads = 1,
                                        .progress = note,
                                        .context = l,
                                        .backend = b };
    const gsa_status status = gsa_train(NULL, &options, &result, error);
    gsa_release(gsa_system_default(), result);
    return status;
}

/* The largest gap of the losses, relative to ref's; and how many there are. */
static int compare(const char *encoder)
{
    losses cuda = { { 0 }, 0 }, ref = { { 0 }, 0 };
    gsa_backend *device = NULL, *host = NULL;
    gsa_error error = { 0 };
    double worst = 0;
    if (gsa_backend_cuda(NULL, GSA_F32, 0, &device, &error) != GSA_OK ||
        gsa_backend_ref(NULL, GSA_F32, 1, &host, &error) != GSA_OK || train(device, encoder, &cuda, &error) != GSA_OK ||
        train(host, encoder, &ref, &error) != GSA_OK) {
        fprintf(stderr, "FAILED: %s: %s\n", encoder, error.text);
        gsa_backend_release(device);
        gsa_backend_release(host);
        return 1;
    }
    gsa_backend_release(device);
    gsa_backend_release(host);
    for (int i = 0; i < ref.count && i < cuda.count; i++) {
        const double gap = fabs(cuda.at[i] - ref.at[i]) / fabs(ref.at[i]);
        if (!(gap <= worst)) worst = gap;
    }
    printf("%s: %d losses, last %.6f, largest gap to ref %.2g, %lld launches\n", encoder, ref.count,
           ref.count ? ref.at[ref.count - 1] : 0.0, worst, (long long)simt_launches());
    if (cuda.count == ref.count && ref.count > 0 && worst <= 1e-4) return 0;
    fprintf(stderr, "FAILED: %s: the losses part\n", encoder);
    return 1;
}

int main(void)
{
    static const char *const encoders[] = { "model.encoder=star*1", "model.encoder=window:width=5*1,full:clip=3*1" };
    int failures = 0;
    const int count = (int)(sizeof encoders / sizeof *encoders);
    for (int i = 0; i < count; i++) failures += compare(encoders[i]);
    if (simt_live() != 0)
        failures++, fprintf(stderr, "FAILED: %lld allocations are left on the device\n", (long long)simt_live());
    printf("Checks: %d, Failures: %d\n", count + 1, failures);
    return failures > 0;
}
