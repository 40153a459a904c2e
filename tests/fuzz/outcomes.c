/* What evaluations found: the dev and the test units of one file, compared as those of two runs. */
#include "train/runs/compare.h"
#include "train/score/outcomes.h"
#include "fuzz.h"

static void compare(const gsa_system *system, const gsa_outcomes *dev, const gsa_outcomes *test,
                    const uint8_t *at)
{
    const gsa_compare_options options = { .samples = 1 + (at[0] >> 4), .seed = 1 };
    const gsa_pair pair[2] = {
        { .a = dev, .b = at[0] & 1 ? dev : test },
        { .a = test, .b = at[0] & 1 ? test : dev, .combination = at[0] >> 1 & 1 }
    };
    gsa_compared compared;
    gsa_error error;
    const gsa_status status =
        gsa_compare_pairs(system, &options, pair, 1 + (at[0] >> 2 & 1), &compared, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    FUZZ_CHECK(compared.p >= 0 && compared.p <= 1 && compared.low <= compared.high);
}

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_outcomes outcomes[2];
    gsa_error error;
    int read = 0;
    (void)bytes;
    for (int i = 0; i < 2; i++) {
        const gsa_status status =
            gsa_outcomes_read(system, path, GSA_SPLIT_DEV + i, &outcomes[i], &error);
        FUZZ_SAID(status, error);
        read += status == GSA_OK && outcomes[i].units > 0;
    }
    if (read == 2) compare(system, &outcomes[0], &outcomes[1], at);
    for (int i = 0; i < 2; i++)
        if (outcomes[i].system) gsa_outcomes_release(&outcomes[i]);
}
