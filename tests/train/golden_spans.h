/* golden_spans.h - tokens "gold:found", '|' an empty line, and what conlleval says of them: its
 * Python edition (conlleval 0.2 of PyPI) counted, with M read as I, and the numbers are printed as
 * the Perl script prints them. */
#ifndef GSA_TEST_GOLDEN_SPANS_H
#define GSA_TEST_GOLDEN_SPANS_H

/* clang-format off */
static const struct {
    const char *name, *tokens, *report;
} golden[] = {
    { "all right",
      "B-PER:B-PER I-PER:I-PER O:O B-LOC:B-LOC",
      "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 2.\n"
      "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "all outside",
      "O:O O:O | O:O",
      "processed 3 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
      "accuracy: 100.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n" },
    { "no token",
      "",
      "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n" },
    { "empty lines around",
      "| | B-PER:B-PER | | O:O | |",
      "processed 2 tokens with 1 phrases; found: 1 phrases; correct: 1.\n"
      "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "nothing found",
      "B-PER:O I-PER:O O:O",
      "processed 3 tokens with 1 phrases; found: 0 phrases; correct: 0.\n"
      "accuracy:  33.33%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n" },
    { "nothing there",
      "O:B-PER O:I-PER O:O",
      "processed 3 tokens with 0 phrases; found: 1 phrases; correct: 0.\n"
      "accuracy:  33.33%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "starts with I",
      "I-PER:B-PER I-PER:I-PER O:O",
      "processed 3 tokens with 1 phrases; found: 1 phrases; correct: 1.\n"
      "accuracy:  66.67%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "I after O in both",
      "O:O I-LOC:I-LOC O:O I-LOC:B-LOC",
      "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 2.\n"
      "accuracy:  75.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  2\n" },
    { "type changes without B",
      "I-PER:I-PER I-LOC:I-LOC I-LOC:I-PER O:O",
      "processed 4 tokens with 2 phrases; found: 3 phrases; correct: 1.\n"
      "accuracy:  75.00%; precision:  33.33%; recall:  50.00%; FB1:  40.00\n"
      "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
      "              PER: precision:  50.00%; recall: 100.00%; FB1:  66.67  2\n" },
    { "type changes inside",
      "B-PER:B-PER I-LOC:I-PER I-LOC:I-PER O:O",
      "processed 4 tokens with 2 phrases; found: 1 phrases; correct: 0.\n"
      "accuracy:  50.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
      "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "IOB1 neighbours",
      "I-PER:I-PER B-PER:I-PER I-PER:I-PER O:O",
      "processed 4 tokens with 2 phrases; found: 1 phrases; correct: 0.\n"
      "accuracy:  75.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "IOB1 gold, IOB2 found",
      "I-PER:B-PER B-PER:B-PER I-LOC:B-LOC I-LOC:I-LOC O:O",
      "processed 5 tokens with 3 phrases; found: 3 phrases; correct: 3.\n"
      "accuracy:  60.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  2\n" },
    { "IOB2 gold, BIOES found",
      "B-PER:B-PER I-PER:E-PER O:O B-LOC:S-LOC B-LOC:S-LOC I-LOC:O",
      "processed 6 tokens with 3 phrases; found: 3 phrases; correct: 2.\n"
      "accuracy:  33.33%; precision:  66.67%; recall:  66.67%; FB1:  66.67\n"
      "              LOC: precision:  50.00%; recall:  50.00%; FB1:  50.00  2\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "nested starts",
      "B-ORG:B-ORG B-ORG:I-ORG I-ORG:I-ORG B-LOC:I-LOC O:O",
      "processed 5 tokens with 3 phrases; found: 2 phrases; correct: 1.\n"
      "accuracy:  60.00%; precision:  50.00%; recall:  33.33%; FB1:  40.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              ORG: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "B after B of another type",
      "B-PER:B-PER B-LOC:B-LOC I-LOC:I-LOC B-LOC:B-PER",
      "processed 4 tokens with 3 phrases; found: 3 phrases; correct: 2.\n"
      "accuracy:  75.00%; precision:  66.67%; recall:  66.67%; FB1:  66.67\n"
      "              LOC: precision: 100.00%; recall:  50.00%; FB1:  66.67  1\n"
      "              PER: precision:  50.00%; recall: 100.00%; FB1:  66.67  2\n" },
    { "ends at the sentence",
      "O:O B-PER:B-PER I-PER:I-PER | I-PER:I-PER O:O",
      "processed 5 tokens with 2 phrases; found: 2 phrases; correct: 2.\n"
      "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  2\n" },
    { "goes on over the empty line",
      "B-PER:B-PER | I-PER:O I-PER:I-PER",
      "processed 3 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
      "accuracy:  66.67%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
      "              PER: precision:  50.00%; recall:  50.00%; FB1:  50.00  2\n" },
    { "last token without an empty line",
      "O:O B-PER:B-PER",
      "processed 2 tokens with 1 phrases; found: 1 phrases; correct: 1.\n"
      "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "too long by one",
      "B-PER:B-PER I-PER:I-PER O:I-PER O:O B-LOC:B-LOC",
      "processed 5 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
      "accuracy:  80.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "too short by one",
      "B-PER:B-PER I-PER:I-PER I-PER:O O:O B-LOC:B-LOC",
      "processed 5 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
      "accuracy:  80.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "right ends, wrong type",
      "B-PER:B-LOC I-PER:I-LOC O:O B-MISC:B-MISC",
      "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
      "accuracy:  50.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
      "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
      "             MISC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n" },
    { "type right at the start alone",
      "B-PER:B-PER I-PER:I-LOC O:O",
      "processed 3 tokens with 1 phrases; found: 2 phrases; correct: 0.\n"
      "accuracy:  66.67%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
      "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "BIOES",
      "B-PER:B-PER I-PER:I-PER E-PER:E-PER S-LOC:S-LOC O:O",
      "processed 5 tokens with 2 phrases; found: 2 phrases; correct: 2.\n"
      "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "BIOES, end missing",
      "B-PER:B-PER I-PER:I-PER E-PER:O S-LOC:B-LOC O:O",
      "processed 5 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
      "accuracy:  60.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "BIOES, E alone",
      "O:O E-PER:S-PER O:O E-PER:E-PER E-PER:E-PER",
      "processed 5 tokens with 3 phrases; found: 3 phrases; correct: 3.\n"
      "accuracy:  80.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  3\n" },
    { "BIOES, S and S, E and B",
      "S-LOC:S-LOC S-LOC:S-LOC B-LOC:B-LOC E-LOC:E-LOC B-LOC:I-LOC E-LOC:E-LOC",
      "processed 6 tokens with 4 phrases; found: 4 phrases; correct: 4.\n"
      "accuracy:  83.33%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  4\n" },
    { "BIOES, I after S and E",
      "S-LOC:S-LOC I-LOC:O E-LOC:E-LOC I-LOC:I-LOC",
      "processed 4 tokens with 3 phrases; found: 3 phrases; correct: 2.\n"
      "accuracy:  75.00%; precision:  66.67%; recall:  66.67%; FB1:  66.67\n"
      "              LOC: precision:  66.67%; recall:  66.67%; FB1:  66.67  3\n" },
    { "BMES",
      "B-NAME:B-NAME M-NAME:M-NAME E-NAME:E-NAME O:O S-LOC:S-LOC B-ORG:B-ORG E-ORG:M-ORG O:E-ORG",
      "processed 8 tokens with 3 phrases; found: 3 phrases; correct: 2.\n"
      "accuracy:  75.00%; precision:  66.67%; recall:  66.67%; FB1:  66.67\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "             NAME: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              ORG: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "unicode types",
      "B-\xe4\xba\xba\xe5\x90\x8d:B-\xe4\xba\xba\xe5\x90\x8d I-\xe4\xba\xba\xe5\x90\x8d:I-\xe4\xba\xba\xe5\x90\x8d O:O B-\xc3\xa4:B-\xc3\xa4 B-\xe5\x9c\xb0\xe6\x96\xb9:B-\xe4\xba\xba\xe5\x90\x8d",
      "processed 5 tokens with 3 phrases; found: 3 phrases; correct: 2.\n"
      "accuracy:  80.00%; precision:  66.67%; recall:  66.67%; FB1:  66.67\n"
      "               \xc3\xa4: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "           \xe4\xba\xba\xe5\x90\x8d: precision:  50.00%; recall: 100.00%; FB1:  66.67  2\n"
      "           \xe5\x9c\xb0\xe6\x96\xb9: precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n" },
    { "types with a dash",
      "B-A-B:B-A-B I-A-B:I-A-C O:O",
      "processed 3 tokens with 1 phrases; found: 2 phrases; correct: 0.\n"
      "accuracy:  66.67%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
      "              A-B: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
      "              A-C: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "tags without a type",
      "B:B I:I O:O B:I I:O I:B",
      "processed 6 tokens with 2 phrases; found: 3 phrases; correct: 1.\n"
      "accuracy:  50.00%; precision:  33.33%; recall:  50.00%; FB1:  40.00\n"
      "                 : precision:  33.33%; recall:  50.00%; FB1:  40.00  3\n" },
    { "type and no type",
      "B:B-PER I:I-PER O:O B-PER:B-PER I:I-PER",
      "processed 5 tokens with 3 phrases; found: 2 phrases; correct: 0.\n"
      "accuracy:  40.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
      "                 : precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  2\n" },
    { "brackets",
      "[-NP:[-NP ]-NP:]-NP O:O [-NP:I-NP I-NP:I-NP",
      "processed 5 tokens with 3 phrases; found: 3 phrases; correct: 2.\n"
      "accuracy:  80.00%; precision:  66.67%; recall:  66.67%; FB1:  66.67\n"
      "               NP: precision:  66.67%; recall:  66.67%; FB1:  66.67  3\n" },
    { "full stops",
      "B-PER:B-PER .-PER:.-PER I-PER:I-PER .-X:O O:O",
      "processed 5 tokens with 1 phrases; found: 1 phrases; correct: 1.\n"
      "accuracy:  80.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "plain tags",
      "NN:NN VB:NN DT:DT | NN:NN",
      "processed 4 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
      "accuracy:  75.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n" },
    { "plain tag beside a span",
      "B-PER:B-PER NN:NN O:O NN:NN B-LOC:B-LOC",
      "processed 5 tokens with 3 phrases; found: 3 phrases; correct: 3.\n"
      "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "                 : precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "a type longer than its column",
      "B-a-type-with-many-letters:B-a-type-with-many-letters O:O",
      "processed 2 tokens with 1 phrases; found: 1 phrases; correct: 1.\n"
      "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "a-type-with-many-letters: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n" },
    { "an O with a type",
      "B-PER:B-PER O-PER:O-PER I-PER:I-PER O:O",
      "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 2.\n"
      "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00\n"
      "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  2\n" },
    { "lower case",
      "b-per:b-per i-per:i-per O:O B-PER:B-per",
      "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
      "accuracy:  75.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
      "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n"
      "              per: precision:  50.00%; recall: 100.00%; FB1:  66.67  2\n" },
    { "thirds",
      "B-A:B-A B-A:B-A B-A:O B-B:B-A O:B-B",
      "processed 5 tokens with 4 phrases; found: 4 phrases; correct: 2.\n"
      "accuracy:  40.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
      "                A: precision:  66.67%; recall:  66.67%; FB1:  66.67  3\n"
      "                B: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n" },
    { "half and half over sentences",
      "B-A:B-A O:O | B-A:O O:B-A | O:O B-C:B-C I-C:I-C | B-C:I-C",
      "processed 8 tokens with 4 phrases; found: 4 phrases; correct: 3.\n"
      "accuracy:  62.50%; precision:  75.00%; recall:  75.00%; FB1:  75.00\n"
      "                A: precision:  50.00%; recall:  50.00%; FB1:  50.00  2\n"
      "                C: precision: 100.00%; recall: 100.00%; FB1: 100.00  2\n" },
};
/* clang-format on */

#endif
