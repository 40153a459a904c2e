/* Columns: CoNLL, CoNLL-U, a character a line. */
#include "train/data/conll.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    const gsa_conll_options options = { .format = at[0] & 3,
                                        .encoding = at[0] >> 2 & 3,
                                        .untagged = at[0] >> 4 & 1,
                                        .sides = at[0] >> 5 & 1,
                                        .side = { 1 } };
    gsa_conll conll;
    gsa_error error;
    (void)bytes;
    const gsa_status status = gsa_conll_read(system, path, &options, &conll, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    FUZZ_CHECK(conll.sentences == 0 || conll.offset[conll.sentences] == conll.tokens);
    gsa_conll_release(&conll);
}
