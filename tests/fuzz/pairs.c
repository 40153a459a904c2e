/* Pairs of sentences: TSV, CSV, JSON lines, SNLI. */
#include "train/data/pairs.h"
#include "train/settings/keys.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    static const int formats[] = { GSA_TEXT_TSV, GSA_TEXT_CSV, GSA_TEXT_JSON, GSA_TEXT_SNLI };
    static const char *const columns[] = { "", "a,b,label" };
    const gsa_text_options options = { .format = formats[at[0] & 3],
                                       .lower = at[0] >> 2 & 1,
                                       .unlabelled = at[0] >> 3 & 1,
                                       .header = at[0] >> 4 & 1,
                                       .tokens = at[0] >> 5 & 1 };
    gsa_pairs pairs;
    gsa_error error;
    (void)bytes;
    const gsa_status status = gsa_pairs_read(
        system, path, &options, columns[at[0] >> 6 & 1 && !(at[0] & 2)], &pairs, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    FUZZ_CHECK(pairs.side[0].examples == pairs.side[1].examples);
    gsa_pairs_release(&pairs);
}
