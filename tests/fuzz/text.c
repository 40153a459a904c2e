/* Labelled texts in all formats but CoNLL: TSV, CSV, JSON lines, fastText, SST, STSA, SNLI. */
#include "train/data/text.h"
#include "train/settings/keys.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    static const int formats[] = { GSA_TEXT_AUTO, GSA_TEXT_TSV, GSA_TEXT_FASTTEXT, GSA_TEXT_SST,
                                   GSA_TEXT_STSA, GSA_TEXT_CSV, GSA_TEXT_JSON };
    const gsa_text_options options = { .format = formats[at[0] % 7],
                                       .lower = at[0] >> 3 & 1,
                                       .tokens = at[0] >> 4 & 1,
                                       .unlabelled = at[0] >> 5 & 1,
                                       .encoding = at[0] >> 6,
                                       .phrase_min = 1,
                                       .subtrees = at[0] & 1,
                                       .columns = "" };
    gsa_text text;
    gsa_error error;
    (void)bytes;
    const gsa_status status = gsa_text_read(system, path, &options, &text, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    FUZZ_CHECK(text.examples == 0 ||
               (text.offset[0] == 0 && text.offset[text.examples] == text.tokens));
    gsa_text_release(&text);
}
