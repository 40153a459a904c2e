/* vocab.txt: every word is found again by its number. */
#include "gsa/vocabulary.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_vocabulary *words;
    gsa_error error;
    (void)at, (void)bytes;
    const gsa_status status = gsa_vocabulary_read(system, path, &words, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    for (int32_t i = GSA_WORD_FIRST; i < gsa_vocabulary_size(words); i++)
        FUZZ_CHECK(gsa_vocabulary_find(words, gsa_vocabulary_word(words, i)) == i);
    gsa_vocabulary_release(words);
}
