/* Questions on passages: the JSON of SQuAD. */
#include "train/data/reading.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    const gsa_reading_options options = { .lower = at[0] & 1,
                                          .tokens = at[0] >> 1 & 1,
                                          .max_length = at[0] >> 2 & 7,
                                          .unlabelled = at[0] >> 5 & 1 };
    gsa_reading reading;
    gsa_error error;
    (void)bytes;
    const gsa_status status = gsa_reading_read(system, path, &options, &reading, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    for (int64_t i = 0; i < reading.answers; i++)
        FUZZ_CHECK(reading.answer[i].last < reading.told.tokens);
    gsa_reading_release(&reading);
}
