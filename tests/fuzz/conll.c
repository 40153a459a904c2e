/* Columns: CoNLL, CoNLL-U, a character a line; and their tags, written anew in another scheme. */
#include "train/data/tagged.h"
#include "fuzz.h"

/* The tags that are learned are whole words: one a token, and O where there are spans. */
static void convert(gsa_tagged *tagged)
{
    const gsa_conll *c = &tagged->conll;
    const int32_t told = gsa_scheme_detect(c->tag, c->offset, c->sentences, NULL, NULL),
                  from = c->tokens % 8 ? told + !told : GSA_SCHEME_NONE,
                  to = 1 + (int32_t)(c->tokens % GSA_SCHEME_BMES);
    gsa_error error;
    FUZZ_CHECK(gsa_tagged_convert(tagged, from, to, &error) == GSA_OK);
    for (int64_t i = 0; i < tagged->tags.examples; i++) {
        const gsa_slice tag = tagged->tags.label[i];
        FUZZ_CHECK(!memchr(tag.at, 0, (size_t)tag.bytes));
        FUZZ_CHECK(from == GSA_SCHEME_NONE || tag.bytes > 0);
    }
}

static void score(const gsa_tagged *tagged, int strict)
{
    const gsa_conll *c = &tagged->conll;
    gsa_span_score score = { .system = tagged->system,
                             .strict = strict,
                             .gold_scheme = GSA_SCHEME_IOB2,
                             .found_scheme = GSA_SCHEME_BIOES };
    gsa_error error;
    for (int64_t s = 0; s < c->sentences; s++)
        FUZZ_CHECK(gsa_span_score_add(&score, c->tag + c->offset[s],
                                      tagged->tags.label + c->offset[s],
                                      c->offset[s + 1] - c->offset[s], &error) == GSA_OK);
    gsa_span_score_finish(&score);
    FUZZ_CHECK(score.all.right <= score.all.gold && score.all.right <= score.all.found);
    gsa_span_score_release(&score);
}

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    const gsa_tagged_options options = { .conll = { .format = at[0] & 3,
                                                    .encoding = at[0] >> 2 & 3,
                                                    .untagged = at[0] >> 4 & 1,
                                                    .sides = at[0] >> 5 & 1,
                                                    .side = { 1 } },
                                         .lower = at[0] >> 6 & 1,
                                         .zero_digits = at[0] >> 7 };
    gsa_tagged tagged;
    gsa_error error;
    (void)bytes;
    const gsa_status status = gsa_tagged_read(system, path, &options, &tagged, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    const gsa_conll *c = &tagged.conll;
    FUZZ_CHECK(c->sentences == 0 || c->offset[c->sentences] == c->tokens);
    convert(&tagged);
    score(&tagged, 0);
    score(&tagged, 1);
    gsa_tagged_release(&tagged);
}
