/* A text as a row of tokens: what is counted is what is read. */
#include "train/data/stream.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_stream stream;
    gsa_units units;
    gsa_unit_counts counts = { 0 };
    gsa_error error;
    const int kind = at[0] % 3;
    (void)bytes;
    if (gsa_vocabulary_create(system, &counts.words, &error) != GSA_OK) return;
    const gsa_status status = gsa_stream_open(system, path, kind, 0, -1, &counts, &stream, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) {
        gsa_vocabulary_release(counts.words);
        return;
    }
    const gsa_status learned = gsa_units_learn(system, kind, &counts, 1, 0, &units, &error);
    if (learned == GSA_OK && stream.tokens > 0) {
        int32_t *id = malloc((size_t)stream.tokens * sizeof *id);
        FUZZ_CHECK(gsa_stream_read(&stream, &units, 0, stream.tokens, id, &error) == GSA_OK);
        for (int64_t i = 0; i < stream.tokens; i++)
            FUZZ_CHECK(id[i] >= 0 && id[i] < gsa_units_size(&units));
        free(id);
    }
    if (learned == GSA_OK) gsa_units_release(&units);
    gsa_stream_release(&stream);
}
