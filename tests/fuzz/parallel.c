/* Parallel text in one file. */
#include "train/data/parallel.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    const gsa_parallel_options options = { .suffix = { "", "" },
                                           .columns = at[0] & 1 ? "target,-,source" : "",
                                           .lower = at[0] >> 1 & 1,
                                           .tokens = at[0] >> 2 & 1,
                                           .documents = at[0] >> 3 & 1 };
    gsa_text side[GSA_SIDES];
    gsa_error error;
    (void)bytes;
    const gsa_status status = gsa_parallel_read(system, path, &options, side, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    FUZZ_CHECK(side[0].examples == side[1].examples);
    for (int i = 0; i < GSA_SIDES; i++) gsa_text_release(&side[i]);
}
