/* Schemes and span scores: conlleval's numbers to the digit, strict spans, detection, conversion,
 * legal transitions. */
#include "golden_spans.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/suite.h"
#include "train/score/spans.h"

enum { MOST = 64 };
static const char *const types[] = { "PER", "LOC", "P", "", "\xe4\xba\xba" };

/* Words of `text`, split at blanks; '|' ends a sentence: offset [sentences+1]. */
typedef struct sentences {
    gsa_slice word[2][MOST]; /* before and after ':' */
    int64_t offset[MOST], count;
} sentences;

static sentences split(const char *text)
{
    sentences s = { .count = 0 };
    int64_t tokens = 0;
    for (const char *at = text; *at;) {
        const size_t blank = strspn(at, " "), length = strcspn(at + blank, " ");
        at += blank;
        if (length == 1 && *at == '|') s.offset[++s.count] = tokens;
        else if (length > 0) {
            const char *colon = memchr(at, ':', length);
            const int64_t left = colon ? colon - at : (int64_t)length;
            s.word[0][tokens] = (gsa_slice){ at, left };
            s.word[1][tokens] =
                colon ? (gsa_slice){ colon + 1, (int64_t)length - left - 1 } : s.word[0][tokens];
            tokens++;
        }
        at += length;
    }
    s.offset[++s.count] = tokens;
    return s;
}

static char *report_of(gsa_span_score *score)
{
    gsa_scratch scratch;
    gsa_output *output;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "report");
    ck_assert_int_eq(gsa_output_open(NULL, path, &output, NULL), GSA_OK);
    gsa_span_report(score, output);
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    int64_t bytes;
    char *text = gsa_get_file(path, &bytes);
    gsa_scratch_close(&scratch);
    return text;
}

START_TEST(as_conlleval_says)
{
    const sentences s = split(golden[_i].tokens);
    gsa_span_score score = { .system = NULL };
    for (int64_t i = 0; i < s.count; i++) {
        const int64_t first = s.offset[i], count = s.offset[i + 1] - first;
        ck_assert_int_eq(
            gsa_span_score_add(&score, s.word[0] + first, s.word[1] + first, count, NULL), GSA_OK);
    }
    gsa_span_score_finish(&score);
    char *text = report_of(&score);
    ck_assert_msg(strcmp(text, golden[_i].report) == 0, "%s:\n%sexpected\n%s", golden[_i].name,
                  text, golden[_i].report);
    free(text);
    gsa_span_score_release(&score);
}
END_TEST

/* ---- a second reading of the rules, as sets of pairs: "BB" a span ends, starts, between B and B;
 * '*' any ---- */

static int listed(const char *pairs, char was, char is)
{
    for (; *pairs; pairs += 3)
        if ((pairs[0] == '*' || pairs[0] == was) && (pairs[1] == '*' || pairs[1] == is)) return 1;
    return 0;
}

typedef struct seen {
    char letter[2][MOST + 2];
    int type[2][MOST + 2]; /* one place of O before and after */
} seen;

static int ends(const seen *s, int side, int t)
{
    const char was = s->letter[side][t - 1], is = s->letter[side][t];
    return listed("E* S* [* ]* BB BS BO IB IS IO ", was, is) ||
           (was != 'O' && was != '.' && s->type[side][t - 1] != s->type[side][t]);
}
static int begins(const seen *s, int side, int t)
{
    const char was = s->letter[side][t - 1], is = s->letter[side][t];
    return listed("*B *S *[ *] EE EI SE SI OE OI ", was, is) ||
           (is != 'O' && is != '.' && s->type[side][t - 1] != s->type[side][t]);
}

START_TEST(random_tags_score_as_the_rules_say)
{
    static const char letters[] = "OOOBIIESM.[]X";
    gsa_dice dice = { 31 + (uint64_t)_i };
    for (int round = 0; round < 2000; round++) {
        gsa_span_score score = { .system = NULL };
        char text[2][2][MOST][16]; /* lives as long as the score */
        gsa_slice tag[2][MOST];
        int64_t gold = 0, found = 0, right = 0;
        int open = 0;
        for (int sentence = 0; sentence < 2; sentence++) {
            const int n = (int)gsa_between(&dice, 0, 12),
                      few = (int)gsa_between(&dice, 3, GSA_COUNT(letters) - 2);
            seen s = { .letter = { "" } };
            for (int t = 0; t < n + 2; t++)
                for (int side = 0; side < 2; side++) {
                    const int edge = t == 0 || t == n + 1,
                              copy = side == 1 && gsa_between(&dice, 0, 2) > 0;
                    const char letter = edge   ? 'O'
                                        : copy ? s.letter[0][t]
                                               : letters[gsa_between(&dice, 0, few)];
                    const int type = edge || letter == 'O' ? 3
                                     : copy                ? s.type[0][t]
                                                           : (int)gsa_between(&dice, 0, 4);
                    s.letter[side][t] = letter, s.type[side][t] = type;
                    if (edge) continue;
                    const int64_t bytes =
                        gsa_tag_write(text[sentence][side][t], 16, letter,
                                      (gsa_slice){ types[type], (int64_t)strlen(types[type]) });
                    tag[side][t - 1] = (gsa_slice){ text[sentence][side][t], bytes };
                }
            for (int t = 1; t < n + 2; t++)
                for (int side = 0; side < 2; side++) { /* M is I */
                    if (s.letter[side][t - 1] == 'M') s.letter[side][t - 1] = 'I';
                    if (s.letter[side][t] == 'M') s.letter[side][t] = 'I';
                }
            for (int t = 1; t < n + 2; t++) {
                const int a = ends(&s, 0, t), b = ends(&s, 1, t), c = begins(&s, 0, t),
                          d = begins(&s, 1, t);
                const int alike = s.type[0][t] == s.type[1][t];
                const int closes = open && a && b && s.type[0][t - 1] == s.type[1][t - 1];
                right += closes;
                if (closes || a != b || !alike) open = 0;
                if (c && d && alike) open = 1;
                gold += c, found += d;
            }
            ck_assert_int_eq(gsa_span_score_add(&score, tag[0], tag[1], n, NULL), GSA_OK);
        }
        gsa_span_score_finish(&score);
        ck_assert_msg(
            score.all.gold == gold && score.all.found == found && score.all.right == right + open,
            "seed %d, round %d: %d %d %d, not %d %d %d", _i, round, (int)score.all.gold,
            (int)score.all.found, (int)score.all.right, (int)gold, (int)found, (int)right + open);
        gsa_span_score_release(&score);
    }
}
END_TEST

/* ---- spans --------------------------------------------------------------------------------- */

static void show(const gsa_span *span, int64_t spans, char *out)
{
    out[0] = 0;
    for (int64_t i = 0; i < spans; i++)
        out += sprintf(out, "%s%d-%d:%.*s", i ? " " : "", (int)span[i].first, (int)span[i].last,
                       (int)span[i].type.bytes, span[i].type.at);
}

static const struct {
    const char *tags;
    int32_t scheme;
    const char *strict, *lenient;
} readings[] = {
    { "", GSA_SCHEME_IOB2, "", "" },
    { "O O", GSA_SCHEME_BIOES, "", "" },
    { "B-X I-X O B-Y", GSA_SCHEME_IOB2, "0-1:X 3-3:Y", "0-1:X 3-3:Y" },
    { "I-X I-X O I-Y", GSA_SCHEME_IOB2, "", "0-1:X 3-3:Y" },
    { "B-X I-Y I-Y B-Y I-Y", GSA_SCHEME_IOB2, "0-0:X 3-4:Y", "0-0:X 1-2:Y 3-4:Y" },
    { "B-X B-X I-X", GSA_SCHEME_IOB2, "0-0:X 1-2:X", "0-0:X 1-2:X" },
    { "B-X E-X S-X I-X", GSA_SCHEME_IOB2, "0-0:X", "0-1:X 2-2:X 3-3:X" },
    { "I-X I-X B-X I-Y", GSA_SCHEME_IOB1, "0-1:X 2-2:X 3-3:Y", "0-1:X 2-2:X 3-3:Y" },
    { "B-X I-X O I-X B-Y", GSA_SCHEME_IOB1, "3-3:X", "0-1:X 3-3:X 4-4:Y" },
    { "I-X B-X I-X B-X", GSA_SCHEME_IOB1, "0-0:X 1-2:X 3-3:X", "0-0:X 1-2:X 3-3:X" },
    { "B-X I-X E-X S-Y", GSA_SCHEME_BIOES, "0-2:X 3-3:Y", "0-2:X 3-3:Y" },
    { "B-X I-X O S-Y", GSA_SCHEME_BIOES, "3-3:Y", "0-1:X 3-3:Y" },
    { "B-X E-Y E-X I-X S-X", GSA_SCHEME_BIOES, "4-4:X", "0-0:X 1-1:Y 2-2:X 3-3:X 4-4:X" },
    { "B-X B-X E-X E-X", GSA_SCHEME_BIOES, "1-2:X", "0-0:X 1-2:X 3-3:X" },
    { "B-X I-X I-X", GSA_SCHEME_BIOES, "", "0-2:X" },
    { "B-X M-X E-X S-Y B-Y E-Y", GSA_SCHEME_BMES, "0-2:X 3-3:Y 4-5:Y", "0-2:X 3-3:Y 4-5:Y" },
    { "B-X I-X E-X", GSA_SCHEME_BMES, "", "0-2:X" },
    { "O M-X M-X E-X", GSA_SCHEME_BMES, "", "1-3:X" },
    { "B I O S", GSA_SCHEME_IOB2, "0-1:", "0-1: 3-3:" },
    { "NN VB DT", GSA_SCHEME_NONE, "", "" },
    { "B-\xe4\xba\xba I-\xe4\xba\xba", GSA_SCHEME_IOB2, "0-1:\xe4\xba\xba", "0-1:\xe4\xba\xba" },
};

START_TEST(strict_and_lenient_readings)
{
    const sentences s = split(readings[_i].tags);
    gsa_span span[MOST];
    char shown[512];
    show(span, gsa_spans_strict(readings[_i].scheme, s.word[0], s.offset[1], span), shown);
    ck_assert_str_eq(shown, readings[_i].strict);
    show(span, gsa_spans_lenient(s.word[0], s.offset[1], span), shown);
    ck_assert_str_eq(shown, readings[_i].lenient);
}
END_TEST

static const struct {
    const char *tokens;
    int32_t gold, found;
    int64_t counts[3];
} strict[] = {
    { "B-X:B-X I-X:I-X O:O I-X:I-X", GSA_SCHEME_IOB2, GSA_SCHEME_IOB2, { 1, 1, 1 } },
    { "B-X:B-X I-X:E-X O:O B-Y:S-Y", GSA_SCHEME_IOB2, GSA_SCHEME_BIOES, { 2, 2, 2 } },
    { "B-X:B-X I-X:I-X O:O B-Y:S-Y", GSA_SCHEME_IOB2, GSA_SCHEME_BIOES, { 2, 1, 1 } },
    { "I-X:B-X B-X:B-X O:O I-Y:I-Y", GSA_SCHEME_IOB1, GSA_SCHEME_IOB2, { 3, 2, 2 } },
    { "B-X:B-Y I-X:I-Y | B-X:O O:B-X", GSA_SCHEME_IOB2, GSA_SCHEME_IOB2, { 2, 2, 0 } },
    { "B-X:B-X I-X:I-X I-X:O B-X:B-X", GSA_SCHEME_IOB2, GSA_SCHEME_IOB2, { 2, 2, 1 } },
    { "B-X:B-X | E-X:E-X", GSA_SCHEME_BIOES, GSA_SCHEME_BIOES, { 0, 0, 0 } },
};

START_TEST(strict_scores)
{
    const sentences s = split(strict[_i].tokens);
    gsa_span_score score = { .strict = 1,
                             .gold_scheme = strict[_i].gold,
                             .found_scheme = strict[_i].found };
    for (int64_t i = 0; i < s.count; i++)
        gsa_span_score_add(&score, s.word[0] + s.offset[i], s.word[1] + s.offset[i],
                           s.offset[i + 1] - s.offset[i], NULL);
    gsa_span_score_finish(&score);
    ck_assert_msg(score.all.gold == strict[_i].counts[0] &&
                      score.all.found == strict[_i].counts[1] &&
                      score.all.right == strict[_i].counts[2],
                  "%s: %d %d %d", strict[_i].tokens, (int)score.all.gold, (int)score.all.found,
                  (int)score.all.right);
    gsa_span_score_release(&score);
}
END_TEST

/* ---- schemes ------------------------------------------------------------------------------- */

static const struct {
    const char *tags;
    int32_t scheme, broken, first;
} detected[] = {
    { "O O | O", GSA_SCHEME_IOB2, 0, -1 },
    { "", GSA_SCHEME_IOB2, 0, -1 },
    { "B-X I-X O B-Y", GSA_SCHEME_IOB2, 0, -1 },
    { "I-X I-X O I-Y", GSA_SCHEME_IOB1, 0, -1 },
    { "I-X B-X I-X | I-Y", GSA_SCHEME_IOB1, 0, -1 },
    { "B-X I-X O I-Y B-X I-X O B-Z", GSA_SCHEME_IOB2, 1, 3 },
    { "I-X O I-Y O B-X", GSA_SCHEME_IOB1, 1, 4 },
    { "B-X I-X E-X | S-Y", GSA_SCHEME_BIOES, 0, -1 },
    { "O S-X", GSA_SCHEME_BIOES, 0, -1 },
    { "B-X I-X | E-X", GSA_SCHEME_BIOES, 2, 1 },
    { "B-X M-X E-X O", GSA_SCHEME_BMES, 0, -1 },
    { "B-X M-X E-X I-X", GSA_SCHEME_BMES, 1, 3 },
    { "NN VB O", GSA_SCHEME_NONE, 0, -1 },
    { "B-X I-X PER", GSA_SCHEME_NONE, 0, -1 },
    { "O-X B-X", GSA_SCHEME_NONE, 0, -1 },
    { "B I O", GSA_SCHEME_IOB2, 0, -1 },
};

START_TEST(schemes_are_detected)
{
    const sentences s = split(detected[_i].tags);
    int64_t broken, first;
    ck_assert_str_eq(
        gsa_scheme_name(gsa_scheme_detect(s.word[0], s.offset, s.count, &broken, &first)),
        gsa_scheme_name(detected[_i].scheme));
    ck_assert_msg(broken == detected[_i].broken && first == detected[_i].first,
                  "%s: %d broken, first %d", detected[_i].tags, (int)broken, (int)first);
    ck_assert_int_eq(gsa_scheme_detect(s.word[0], s.offset, s.count, NULL, NULL),
                     detected[_i].scheme);
}
END_TEST

/* Any spans, written in any scheme, are read again in both ways, detected, and made of legal steps
 * alone. */
START_TEST(spans_go_through_every_scheme)
{
    gsa_dice dice = { 77 };
    for (int round = 0; round < 4000; round++) {
        const int32_t scheme = GSA_SCHEME_IOB1 + round % 4;
        gsa_span span[MOST], again[MOST];
        char letter[MOST], text[MOST][16];
        gsa_slice tag[MOST], before = { "O", 1 };
        const int64_t n = gsa_between(&dice, 0, 20);
        int64_t spans = 0, broken;
        for (int64_t t = gsa_between(&dice, 0, 2); t < n; t += gsa_between(&dice, 0, 2)) {
            const char *type = types[gsa_between(&dice, 0, 4)];
            const int64_t last = t + gsa_between(&dice, 0, 3);
            span[spans++] =
                (gsa_span){ t, last < n ? last : n - 1, { type, (int64_t)strlen(type) } };
            t = span[spans - 1].last + 1;
        }
        gsa_spans_letters(scheme, span, spans, n, letter);
        for (int64_t t = 0, s = 0; t < n; t++) {
            while (s < spans && span[s].last < t) s++;
            tag[t] = (gsa_slice){ text[t],
                                  gsa_tag_write(text[t], 16, letter[t],
                                                s < spans ? span[s].type : (gsa_slice){ "", 0 }) };
            ck_assert(gsa_scheme_follows(scheme, gsa_tag_of(before), gsa_tag_of(tag[t])));
            before = tag[t];
        }
        ck_assert(
            gsa_scheme_follows(scheme, gsa_tag_of(before), gsa_tag_of((gsa_slice){ "O", 1 })));
        char want[1024], got[1024];
        show(span, spans, want);
        show(again, gsa_spans_strict(scheme, tag, n, again), got);
        ck_assert_str_eq(got, want);
        show(again, gsa_spans_lenient(tag, n, again), got);
        ck_assert_str_eq(got, want);
        gsa_scheme_detect(tag, (const int64_t[2]){ 0, n }, 1, &broken, NULL);
        ck_assert_int_eq(broken, 0);
    }
}
END_TEST

/* Rows: tags, start, end. */
static const struct {
    int32_t scheme;
    const char *names, *allowed;
} legal[] = {
    { GSA_SCHEME_IOB2, "O B-X I-X B-Y I-Y", "11010 11110 11110 11011 11011 11010 11111" },
    { GSA_SCHEME_IOB1, "O B-X I-X B-Y I-Y", "10101 11101 11101 10111 10111 10101 11111" },
    { GSA_SCHEME_BIOES, "O B-X I-X E-X S-X", "11001 00110 00110 11001 11001 11001 10011" },
    { GSA_SCHEME_BMES, "O B-X M-X E-Y S-Y", "11001 00100 00100 11001 11001 11001 10011" },
    { GSA_SCHEME_NONE, "NN VB", "11 11 11 11" },
    { GSA_SCHEME_IOB2, "", "" },
};

START_TEST(legal_steps_as_a_mask)
{
    const sentences s = split(legal[_i].names);
    const int32_t n = (int32_t)s.offset[1];
    uint8_t allowed[MOST * 4] = { 0 };
    ck_assert_int_eq(gsa_scheme_allowed(legal[_i].scheme, s.word[0], n, allowed, NULL), GSA_OK);
    const char *at = legal[_i].allowed;
    for (int32_t i = 0; i < (n + 2) * n; i++, at++) {
        at += *at == ' ';
        ck_assert_msg(allowed[i] == *at - '0', "%s, row %d, column %d: %d", legal[_i].names,
                      (int)(i / n), (int)(i % n), allowed[i]);
    }
}
END_TEST

START_TEST(names_and_refusals)
{
    gsa_error error;
    uint8_t allowed[MOST];
    const gsa_slice names[2] = { { "O", 1 }, { "M-PER", 5 } };
    ck_assert_int_eq(gsa_scheme_allowed(GSA_SCHEME_BIOES, names, 2, allowed, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_str_eq(
        error.text,
        "the tag 'M-PER' is not of the scheme BIOES, whose tags are O and BIES with a type");
    ck_assert_int_eq(gsa_scheme_find("iobes"), GSA_SCHEME_BIOES);
    ck_assert_int_eq(gsa_scheme_find("BMESO"), GSA_SCHEME_BMES);
    ck_assert_int_eq(gsa_scheme_find("iob2"), GSA_SCHEME_IOB2);
    ck_assert_int_eq(gsa_scheme_find("none"), GSA_SCHEME_NONE);
    ck_assert_int_eq(gsa_scheme_find("IOB3"), -1);
    char out[8];
    ck_assert_int_eq(gsa_tag_write(out, sizeof out, 'B', (gsa_slice){ "LOCATION", 8 }), 10);
    ck_assert_str_eq(out, "B-LOCAT");
    ck_assert_int_eq(gsa_tag_write(out, sizeof out, 'O', (gsa_slice){ "X", 1 }), 1);
    ck_assert_str_eq(out, "O");
    ck_assert_int_eq(gsa_tag_write(NULL, 0, 'I', (gsa_slice){ "X", 1 }), 3);
}
END_TEST

static gsa_status score_something(gsa_faults *faults, void *context)
{
    (void)context;
    const sentences s = split("B-A:B-A B-B:B-C I-B:I-C O:B-D");
    gsa_span_score score = { .system = &faults->table,
                             .strict = 1,
                             .gold_scheme = GSA_SCHEME_IOB2,
                             .found_scheme = GSA_SCHEME_IOB2 };
    gsa_error error;
    gsa_status status = gsa_span_score_add(&score, s.word[0], s.word[1], s.offset[1], &error);
    score.strict = 0;
    if (status == GSA_OK)
        status = gsa_span_score_add(&score, s.word[0], s.word[1], s.offset[1], &error);
    gsa_span_score_release(&score);
    return status;
}

START_TEST(no_memory_is_a_status)
{
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, score_something, NULL), 2);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test conlleval[] = { GSA_LOOP(as_conlleval_says, GSA_COUNT(golden)),
                                          GSA_LOOP(random_tags_score_as_the_rules_say, 4) };
    static const gsa_test spans[] = { GSA_LOOP(strict_and_lenient_readings, GSA_COUNT(readings)),
                                      GSA_LOOP(strict_scores, GSA_COUNT(strict)) };
    static const gsa_test schemes[] = { GSA_LOOP(schemes_are_detected, GSA_COUNT(detected)),
                                        GSA_TEST(spans_go_through_every_scheme),
                                        GSA_LOOP(legal_steps_as_a_mask, GSA_COUNT(legal)),
                                        GSA_TEST(names_and_refusals),
                                        GSA_TEST(no_memory_is_a_status) };
    static const gsa_case cases[] = { GSA_CASE("conlleval", conlleval, 30),
                                      GSA_CASE("spans", spans, 30),
                                      GSA_CASE("schemes", schemes, 30) };
    return gsa_run_suite("spans", cases, GSA_COUNT(cases), argc, argv);
}
