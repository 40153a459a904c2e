/* Questions on passages: the reader, places of answers, windows, the best span, and the two
 * official scorers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/compare.h"
#include "support/suite.h"
#include "train/score/answers.h"
#include "train/settings/keys.h"
#include "train/data/locate.h"
#include "train/data/overlap.h"
#include "train/data/reading.h"

typedef struct fixture {
    gsa_scratch scratch;
    gsa_error error;
    gsa_reading reading;
} fixture;

static gsa_status read_json(fixture *f, const char *bytes, gsa_reading_options options)
{
    *f = (fixture){ 0 };
    gsa_scratch_open(&f->scratch);
    const char *path = gsa_scratch_path(&f->scratch, "r.json");
    gsa_put_file(path, bytes, (int64_t)strlen(bytes));
    return gsa_reading_read(gsa_system_default(), path, &options, &f->reading, &f->error);
}

static void done(fixture *f)
{
    gsa_reading_release(&f->reading);
    gsa_scratch_close(&f->scratch);
}

/* ---- files that are read ------------------------------------------------------------------- */

static size_t show_tokens(const gsa_text *text, int64_t example, char *out, size_t size)
{
    size_t used = 0;
    for (int64_t i = text->offset[example]; i < text->offset[example + 1]; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                 i > text->offset[example] ? " " : "", (int)text->token[i].bytes,
                                 text->token[i].at);
    return used;
}

/* "id passage question? first-last first-last|...; passages" */
static void show(const gsa_reading *r, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int64_t q = 0; q < r->asked.examples; q++) {
        const gsa_question *at = &r->question[q];
        used += (size_t)snprintf(out + used, size - used, "%s%.*s %d ", q ? "|" : "",
                                 (int)at->id.bytes, at->id.at, (int)at->passage);
        used += show_tokens(&r->asked, q, out + used, size - used);
        for (int64_t a = at->answer; a < at->answer + at->answers; a++)
            used += (size_t)snprintf(out + used, size - used, " %d-%d", (int)r->answer[a].first,
                                     (int)r->answer[a].last);
    }
    for (int64_t p = 0; p < r->told.examples; p++) {
        used += (size_t)snprintf(out + used, size - used, ";");
        used += show_tokens(&r->told, p, out + used, size - used);
    }
}

#define FILE_OF(paragraphs)                                                                        \
    "{\"version\": \"1.1\", \"data\": [{\"title\": \"t\", \"paragraphs\": [" paragraphs "]}]}"
#define ONE(context, question, answers)                                                            \
    FILE_OF("{\"context\": \"" context "\", \"qas\": [{\"id\": \"q\", \"question\": \"" question   \
            "\", \"answers\": [" answers "]}]}")
#define ANSWER(text, start) "{\"text\": \"" text "\", \"answer_start\": " #start "}"
#define CHARS                                                                                      \
    {                                                                                              \
        .tokens = GSA_TOKENS_CHARS                                                                 \
    }

static const struct {
    const char *bytes, *expected;
    int repaired, lost, unanswered;
    gsa_reading_options options;
} good[] = {
    { ONE("Ann saw Bob.", "Who?", ANSWER("Bob", 8)),
      "q 0 Who ? 2-2;Ann saw Bob .",
      0,
      0,
      0,
      { 0 } },
    { ONE("Ann saw Bob.", "WHO", ANSWER("Bob", 8)),
      "q 0 who 2-2;ann saw bob .",
      0,
      0,
      0,
      { .lower = 1 } },
    { ONE("Ann saw Bob.", "Who is it", ANSWER("Bob", 8)),
      "q 0 Who is 2-2;Ann saw Bob .",
      0,
      0,
      0,
      { .max_length = 2 } },
    { ONE("Ann saw Bob.", "Who?", ANSWER("Ann", 0) "," ANSWER("saw Bob.", 4)),
      "q 0 Who ? 0-0 1-3;Ann saw Bob .",
      0,
      0,
      0,
      { 0 } },
    { ONE("a", " ", ANSWER("a", 0)), "q 0  0-0;a", 0, 0, 0, { 0 } }, /* asks nothing */
    /* in the middle of words: the words that it touches */
    { ONE("the 1990s.", "When?", ANSWER("90s", 6)), "q 0 When ? 1-1;the 1990s .", 0, 0, 0, { 0 } },
    { ONE("a (b-c) d", "?", ANSWER("b-c", 3)), "q 0 ? 2-4;a ( b - c ) d", 0, 0, 0, { 0 } },
    /* code points: an emoji of 4 bytes, written out or as a pair of escapes; a letter and a
     * combining accent; ideographs */
    { ONE("\xf0\x9f\x98\x80\xf0\x9f\x98\x80 ab", "?", ANSWER("ab", 3)),
      "q 0 ? 2-3;\xf0\x9f\x98\x80 \xf0\x9f\x98\x80 a b", 0, 0, 0, CHARS },
    { ONE("\\ud83d\\ude00 ab", "?", ANSWER("b", 3)), "q 0 ? 2-2;\xf0\x9f\x98\x80 a b", 0, 0, 0,
      CHARS },
    { ONE("cafe\xcc\x81 ole\xcc\x81", "?", ANSWER("ole\xcc\x81", 6)),
      "q 0 ? 1-1;cafe\xcc\x81 ole\xcc\x81",
      0,
      0,
      0,
      { 0 } },
    { ONE("e\xcc\x81x", "?", ANSWER("x", 2)), "q 0 ? 2-2;e \xcc\x81 x", 0, 0, 0, CHARS },
    { ONE("\xe4\xb8\xad\xe5\x9b\xbd New York", "?", ANSWER("New", 3)),
      "q 0 ? 2-2;\xe4\xb8\xad \xe5\x9b\xbd New York",
      0,
      0,
      0,
      { 0 } },
    { ONE("a\\n\\tb\xe3\x80\x80"
          "c",
          "?", ANSWER("b", 3)),
      "q 0 ? 1-1;a b c", 0, 0, 0, CHARS },
    /* a letter that grows when it is lower-cased, one that shrinks */
    { ONE("\xc8\xba\xc8\xba \xe2\x84\xaa", "?", ANSWER("\xe2\x84\xaa", 3)),
      "q 0 ? 1-1;\xe2\xb1\xa5\xe2\xb1\xa5 k",
      0,
      0,
      0,
      { .lower = 1 } },
    /* repaired: the nearest place, of two as near the first; lost: nowhere */
    { ONE("b a b a b", "?", ANSWER("b", 6)), "q 0 ? 2-2;b a b a b", 1, 0, 0, CHARS },
    { ONE("b a b a b", "?", ANSWER("b", 100)), "q 0 ? 4-4;b a b a b", 1, 0, 0, CHARS },
    { ONE("b a b a b", "?", ANSWER("b", -1)), "q 0 ? 0-0;b a b a b", 1, 0, 0, CHARS },
    { ONE("b a b", "?", ANSWER("c", 0) "," ANSWER("b", 4)), "q 0 ? -1--1 2-2;b a b", 0, 1, 0,
      CHARS },
    { ONE("b  a", "?", ANSWER(" ", 1)), "q 0 ? -1--1;b a", 0, 1, 0,
      CHARS }, /* blanks alone are no token */
    { ONE("b ", "?", ANSWER(" ", 1)), "q 0 ? -1--1;b", 0, 1, 0, CHARS },
    { ONE(" b", "?", ANSWER(" ", 0)), "q 0 ? -1--1;b", 0, 1, 0, CHARS },
    { ONE("b a", "?", ANSWER("a longer answer", 2)), "q 0 ? -1--1;b a", 0, 1, 0, CHARS },
    /* ideographs at the ends of their ranges, and what is next to them: U+FB00, U+E0100 */
    { ONE("\xef\xa4\x80z\xef\xac\x80 \xf0\xa0\x80\x80z a\xf3\xa0\x84\x80", "?", ANSWER("z", 5)),
      "q 0 ? 3-3;\xef\xa4\x80 z\xef\xac\x80 \xf0\xa0\x80\x80 z a\xf3\xa0\x84\x80",
      0,
      0,
      0,
      { 0 } },
    /* blanks U+0085, U+2028, U+2029 */
    { ONE("x\xc2\x85z\xe2\x80\xa8z\xe2\x80\xa9z", "?", ANSWER("x", 0)), "q 0 ? 0-0;x z z z", 0, 0,
      0, CHARS },
    { FILE_OF("{\"context\": \"a b\", \"qas\": []}, {\"context\": \"c\", \"qas\": [{\"id\": \"1\", "
              "\"question\": \"x\", "
              "\"answers\": "
              "[], \"is_impossible\": true}, {\"answers\": [" ANSWER(
                  "c", 0) "], \"question\": \"y\", \"id\": \"2\"}]}"),
      "2 1 y 0-0;a b;c",
      0,
      0,
      1,
      { 0 } },
    { "\xef\xbb\xbf{\"data\": [], \"data2\": [1, {\"data\": 2}],\n\"v\": null}\n",
      "",
      0,
      0,
      0,
      { .unlabelled = 1 } },
    { "{\"data\": [{\"paragraphs\": []},\n {\"paragraphs\": [{\"context\": \"a\", \"qas\": "
      "[{\"id\": \"\\u0001\\\"\", "
      "\"question\": \"b\"}]}]}]}",
      "\x01\" 0 b;a",
      0,
      0,
      0,
      { .unlabelled = 1 } },
};

START_TEST(good_files)
{
    fixture f;
    char shown[512];
    const gsa_status status = read_json(&f, good[_i].bytes, good[_i].options);
    ck_assert_msg(status == GSA_OK, "%s", f.error.text);
    show(&f.reading, shown, sizeof shown);
    ck_assert_str_eq(shown, good[_i].expected);
    ck_assert_int_eq(f.reading.repaired, good[_i].repaired);
    ck_assert_int_eq(f.reading.lost, good[_i].lost);
    ck_assert_int_eq(f.reading.unanswered, good[_i].unanswered);
    done(&f);
}
END_TEST

/* Passages that need a block of memory each, and one that the next shares. */
START_TEST(long_passages)
{
    enum { TOKENS = 300000 };
    char *bytes = malloc(4 * (2 * TOKENS + 100)), *at = bytes;
    fixture f;
    at += sprintf(at, "{\"data\": [{\"paragraphs\": [");
    for (int p = 0; p < 3; p++) {
        at += sprintf(at, "%s{\"context\": \"", p ? "," : "");
        for (int i = 0; i < TOKENS; i++) *at++ = i == TOKENS - 1 - p ? 'B' : 'a', *at++ = ' ';
        at += sprintf(at, "\", \"qas\": [{\"id\": \"%d\", \"question\": \"x\", \"answers\": [", p);
        at += sprintf(at, ANSWER("B", 0) "]}]}");
    }
    sprintf(at, "]}]}");
    const gsa_status status = read_json(&f, bytes, (gsa_reading_options){ .lower = 1 });
    ck_assert_msg(status == GSA_OK, "%s", f.error.text);
    ck_assert(f.reading.told.tokens == 3 * TOKENS && f.reading.repaired == 3);
    for (int p = 0; p < 3; p++) {
        ck_assert_int_eq(f.reading.answer[p].first, TOKENS - 1 - p);
        ck_assert_int_eq(f.reading.told.token[(p + 1) * TOKENS - 1 - p].at[0], 'b');
    }
    done(&f);
    free(bytes);
}
END_TEST

/* Random text of characters of one to four bytes: an answer at code point n is the tokens n.. of
 * the text without blanks. */
START_TEST(places_are_code_points)
{
    static const char *const pieces[] = {
        "a", "Z", "\xc3\xa9", "\xcc\x81", "\xe4\xb8\xad", "\xf0\x9f\x98\x80", " ", "\xe3\x80\x80"
    };
    gsa_dice dice = { 11 };
    for (int round = 0; round < 200; round++) {
        char context[256] = "", answer[64] = "", json[1024], expected[64];
        const int count = (int)gsa_between(&dice, 4, 30),
                  from = (int)gsa_between(&dice, 0, count - 3);
        int token = 0, first = -1, last = -1;
        for (int i = 0; i < count; i++) {
            const int piece = (int)gsa_between(&dice, 0, i == from ? 5 : 7);
            strcat(context, pieces[piece]);
            if (i >= from && i < from + 3) strcat(answer, pieces[piece]);
            if (i == from) first = token;
            token += piece < 6;
            if (i >= from && i < from + 3 && piece < 6) last = token - 1;
        }
        snprintf(json, sizeof json,
                 "{\"data\":[{\"paragraphs\":[{\"context\":\"%s\",\"qas\":[{\"id\":\"q\","
                 "\"question\":\"x\",\"answers\":[{"
                 "\"text\":\"%s\",\"answer_start\":%d}]}]}]}]}",
                 context, answer, from);
        snprintf(expected, sizeof expected, "%d-%d", first, last);
        fixture f;
        ck_assert_msg(read_json(&f, json, (gsa_reading_options)CHARS) == GSA_OK, "%s",
                      f.error.text);
        char found[64];
        snprintf(found, sizeof found, "%d-%d", (int)f.reading.answer[0].first,
                 (int)f.reading.answer[0].last);
        ck_assert_str_eq(found, expected);
        ck_assert_int_eq(f.reading.repaired + f.reading.lost, 0);
        ck_assert_int_eq(f.reading.told.tokens, token);
        done(&f);
    }
}
END_TEST

/* ---- files that are not -------------------------------------------------------------------- */

#define QA(fields) FILE_OF("{\"context\": \"a b\", \"qas\": [" fields "]}")
static const struct {
    const char *bytes, *expected;
} bad[] = {
    { "", "r.json:1: the file: no JSON: the end where '{' is expected" },
    { "[]", "r.json:1: the file: no JSON: '[' where '{' is expected" },
    { "{}", "r.json:1: the file: the object has no field 'data'" },
    { "{\"data\": {}}", "r.json:1: the file: no JSON: '{' where '[' is expected" },
    { "{\"data\": []} x", "something follows the object" },
    { "{\"data\": [], \"data\": []}", "field 'data' occurs twice" },
    { "{\n\"v\": 1,\n\"data\" []}", "r.json:3: the file: no JSON: '[' where ':' is expected" },
    { "{\"data\": []", "no JSON: the end where ',' or '}' is expected" },
    { "{", "r.json:1: the file: no JSON: " },
    { "{x}", "r.json:1: the file: no JSON: " },
    { "{\"v\":\n x}", "r.json:2: the file: no JSON: " },
    { "{\"data\": [", "r.json:1: data[0]: no JSON: " },
    { "{1: 2}", "no JSON: the name of a field is no string" },
    { "{\"data\": []}", "r.json: the file holds no question" },
    { ONE("a", "b", ""), "r.json: the file holds no question with an answer" },
    { "{\"data\": [\n{\"paragraphs\": []},\n{\"paragraphs\": [}\n]}",
      "r.json:3: data[1]: no JSON: " },
    { "{\"data\": [\n{\"paragraphs\": []},\n[]]}", "r.json:3: data[1]: expected an object" },
    { "{\"data\": [{\"paragraphs\": [1]}]}", "data[0].paragraphs[0]: expected an object" },
    { "{\"data\": [{\"paragraph\": []}]}", "data[0]: the object has no field 'paragraphs'" },
    { "{\"data\": [{\"paragraphs\": {}}]}", "data[0]: field 'paragraphs' is no array" },
    { "{\"data\": [{\"paragraphs\": []} {\"paragraphs\": []}]}",
      "no JSON: '{' where ',' or ']' is expected" },
    { FILE_OF("{\"qas\": []}"), "data[0].paragraphs[0]: the object has no field 'context'" },
    { FILE_OF("{\"context\": 1, \"qas\": []}"), "field 'context' is no string" },
    { FILE_OF("{\"context\": \"\", \"qas\": []}"), "field 'context' is empty" },
    { FILE_OF("{\"context\": \" \\t\", \"qas\": []}"), "the context holds no token" },
    { FILE_OF("{\"context\": \"a\"}"), "data[0].paragraphs[0]: the object has no field 'qas'" },
    { FILE_OF("{\"context\": \"a\", \"context\": \"b\", \"qas\": []}"),
      "data[0]: no JSON: duplicate object key" },
    { QA("[]"), "data[0].paragraphs[0].qas[0]: expected an object" },
    { QA("{\"question\": \"x\", \"answers\": []}"), "qas[0]: the object has no field 'id'" },
    { QA("{\"id\": 7, \"question\": \"x\", \"answers\": []}"), "qas[0]: field 'id' is no string" },
    { QA("{\"id\": \"1\", \"answers\": []}"), "the object has no field 'question'" },
    { QA("{\"id\": \"1\", \"question\": 1, \"answers\": [" ANSWER("a", 0) "]}"),
      "field 'question' is no string" },
    { QA("{\"id\": \"1\", \"question\": \"x\"}"), "the object has no field 'answers'" },
    { QA("{\"id\": \"1\", \"question\": \"x\", \"answers\": {}}"), "field 'answers' is no array" },
    { QA("{\"id\": \"1\", \"question\": \"x\", \"answers\": [" ANSWER("a", 0) ", \"a\"]}"),
      "qas[0].answers[1]: expected an object" },
    { QA("{\"id\": \"1\", \"question\": \"x\", \"answers\": [1, " ANSWER("a", 0) "]}"),
      "qas[0].answers[0]: expected an object" },
    { QA("{\"id\": \"1\", \"question\": \"x\", \"answers\": [{\"text\": \"a\"}]}"),
      "answers[0]: the object has no field 'answer_start'" },
    { QA("{\"id\": \"1\", \"question\": \"x\", \"answers\": [{\"text\": \"a\", \"answer_start\": "
         "\"0\"}]}"),
      "field 'answer_start' is no integer" },
    { QA("{\"id\": \"1\", \"question\": \"x\", \"answers\": [{\"text\": \"a\", \"answer_start\": "
         "0.5}]}"),
      "field 'answer_start' is no integer" },
    { QA("{\"id\": \"1\", \"question\": \"x\", \"answers\": [" ANSWER("", 0) "]}"),
      "answers[0]: field 'text' is empty" },
    { QA("{\"id\": \"1\", \"question\": \"x\", \"answers\": [" ANSWER(
          "a", 0) "]}, {\"id\": \"1\", \"question\": \"y\", \"answers\": [" ANSWER("a", 0) "]}"),
      "r.json: two questions have the id '1'" },
#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    { QA("{\"id\": \"" LONG "\", \"question\": \"x\", \"answers\": [" ANSWER(
          "a", 0) "]}, {\"id\": \"" LONG
                  "\", \"question\": \"y\", \"answers\": [" ANSWER("a", 0) "]}"),
      "r.json: two questions have the id 'aaaaaaaaaaaa" },
    { QA("{\"id\": \"\xff\", \"question\": \"x\"}"), "data[0]: no JSON: " },
    { QA("{\"id\": \"\\u0000\", \"question\": \"x\"}"), "data[0]: no JSON: " },
};

START_TEST(bad_files)
{
    fixture f;
    ck_assert_int_ne(read_json(&f, bad[_i].bytes, (gsa_reading_options){ 0 }), GSA_OK);
    ck_assert_msg(strstr(f.error.text, bad[_i].expected), "'%s' lacks '%s'", f.error.text,
                  bad[_i].expected);
    ck_assert_ptr_null(f.reading.system);
    done(&f);
}
END_TEST

/* ---- windows and spans --------------------------------------------------------------------- */

START_TEST(windows_cover_every_answer)
{
    for (int64_t tokens = 1; tokens <= 24; tokens++)
        for (int64_t window = 0; window <= 12; window++)
            for (int64_t stride = 1; stride <= (window ? window : 1); stride++) {
                const int64_t count = gsa_windows(tokens, window, stride);
                for (int64_t w = 0; w < count; w++) {
                    const int64_t length = gsa_window_length(tokens, window, stride, w);
                    ck_assert(length >= 1 && (window == 0 || length <= window) &&
                              w * stride + length <= tokens);
                    ck_assert(w + 1 == count ||
                              w * stride + length < tokens); /* none is needless */
                }
                const int64_t most = window == 0 ? tokens : window - stride + 1;
                for (int64_t first = 0; first < tokens; first++)
                    for (int64_t last = first; last < tokens && last - first < most; last++) {
                        int64_t w = 0;
                        while (w < count &&
                               !(w * stride <= first &&
                                 last < w * stride + gsa_window_length(tokens, window, stride, w)))
                            w++;
                        ck_assert_msg(w < count, "%d tokens, window %d, stride %d: %d-%d",
                                      (int)tokens, (int)window, (int)stride, (int)first, (int)last);
                    }
            }
}
END_TEST

static gsa_span_found slow_best(const double *x, int32_t count, int32_t most)
{
    gsa_span_found best = { -1, -1, -INFINITY };
    for (int32_t j = 0; j < count; j++)
        for (int32_t i = 0; i <= j; i++) {
            const double score = x[2 * i] + x[2 * j + 1];
            if (j - i >= most || isnan(score)) continue;
            if (best.first < 0 || score > best.score) best = (gsa_span_found){ i, j, score };
        }
    return best;
}

START_TEST(the_best_of_all_spans)
{
    gsa_dice dice = { 5 };
    for (int round = 0; round < 20000; round++) {
        double x[40];
        int32_t queue[20];
        const int32_t count = (int32_t)gsa_between(&dice, 0, 20),
                      most = (int32_t)gsa_between(&dice, 1, 22);
        for (int i = 0; i < 40; i++) { /* whole numbers: many are equal */
            x[i] = (double)gsa_between(&dice, -3, 3);
            if (round % 3 == 1 && gsa_between(&dice, 0, 4) == 0) x[i] = -INFINITY;
            if (round % 3 == 2 && gsa_between(&dice, 0, 4) == 0) x[i] = NAN;
        }
        const gsa_span_found a = gsa_best_span(x, x + 1, 2, count, most, queue),
                             b = slow_best(x, count, most);
        ck_assert_msg(a.first == b.first && a.last == b.last && (a.first < 0 || a.score == b.score),
                      "round %d: %d-%d (%g), expected %d-%d (%g)", round, a.first, a.last, a.score,
                      b.first, b.last, b.score);
    }
}
END_TEST

START_TEST(what_question_and_passage_share)
{
    fixture f;
    int64_t first, last;
    int32_t type[16];
    const char *json = ONE("Bob slept. Ann saw the red cat there! The end", "where was the red Ann",
                           ANSWER("there", 30));
    ck_assert_msg(read_json(&f, json, (gsa_reading_options){ 0 }) == GSA_OK, "%s", f.error.text);
    const gsa_reading *r = &f.reading;
    gsa_overlap_sentence(r, 0, &first, &last);
    ck_assert(first == 3 && last == 8); /* Ann saw the red cat there */
    ck_assert_int_eq(r->told.tokens, 12);
    gsa_overlap_types(r->told.token, 12, r->asked.token, 5, type);
    static const int32_t expected[] = { 0, 0, 0, 1, 0, 2, 2, 0, 0, 0, 0, 0 };
    for (int i = 0; i < 12; i++) ck_assert_int_eq(type[i], expected[i]);
    done(&f);
}
END_TEST

/* ---- scores, worked out by the definitions of the two official scorers --------------------- */

enum { SQUAD = GSA_SCORER_SQUAD, CMRC = GSA_SCORER_CMRC };
static const struct {
    int kind;
    const char *prediction, *reference;
    int exact;
    double f1;
} golden[] = {
    { SQUAD, "Denver Broncos", "Denver Broncos", 1, 1 },
    { SQUAD, "the Denver Broncos!", "denver broncos", 1, 1 },
    { SQUAD, "Broncos", "Denver Broncos", 0, 2.0 / 3 },
    { SQUAD, "the", "a", 1, 0 },
    { SQUAD, "the", "Denver", 0, 0 },
    { SQUAD, "", "a", 1, 0 },
    { SQUAD, ".", "!?", 1, 0 },
    { SQUAD, "United States of America", "the United States", 0, 2.0 / 3 },
    { SQUAD, "a cat and a cat", "cat and dog", 0, 2.0 / 3 },
    { SQUAD, "cat cat cat", "cat", 0, 1.0 / 2 },
    { SQUAD, "U.S.", "US", 1, 1 },
    { SQUAD, "Queen's", "queens", 1, 1 },
    { SQUAD, "1,000", "1000", 1, 1 },
    { SQUAD, "well-known fact", "well known fact", 0, 2.0 / 5 },
    { SQUAD,
      "\xe2\x80\x9c"
      "Broncos\xe2\x80\x9d",
      "Broncos", 0, 0 }, /* “Broncos” | Broncos */
    { SQUAD, "the_end", "end", 0, 0 },
    { SQUAD, "an-hour", "hour", 0, 0 },
    { SQUAD, "th\xc3\xa9 thing", "thing", 0, 2.0 / 3 }, /* thé thing | thing */
    { SQUAD, "\xce\x9f\xce\x94\xce\x9f\xce\xa3", "\xce\xbf\xce\xb4\xce\xbf\xcf\x82", 1,
      1 }, /* ΟΔΟΣ | οδος */
    { SQUAD, "\xce\x9f\xce\x94\xce\x9f\xce\xa3", "\xce\xbf\xce\xb4\xce\xbf\xcf\x83", 0,
      0 },                                                  /* ΟΔΟΣ | οδοσ */
    { SQUAD, "\xc4\xb0stanbul", "i\xcc\x87stanbul", 1, 1 }, /* İstanbul | i̇stanbul */
    { SQUAD,
      "New\xc2\xa0York\xe3\x80\x80"
      "City",
      "new york city", 1, 1 }, /* blanks of Unicode */
    { SQUAD,
      "Stra\xc3\x9f"
      "e",
      "stra\xc3\x9f"
      "e",
      1, 1 }, /* Straße | straße */
    { SQUAD, "theatre", "the theatre", 1, 1 },
    { SQUAD, "Saint Bernadette Soubirous", "Bernadette Soubirous of Lourdes", 0, 4.0 / 7 },
    { CMRC, "\xe8\xb8\xa2\xe7\x88\x86", "\xe8\xb8\xa2\xe7\x88\x86", 1, 1 }, /* 踢爆 | 踢爆 */
    { CMRC, "\xe3\x80\x8a\xe8\xb8\xa2\xe7\x88\x86\xe3\x80\x8b\xe3\x80\x82",
      "\xe8\xb8\xa2\xe7\x88\x86", 1, 1 },                             /* 《踢爆》。 | 踢爆 */
    { CMRC, "\xe8\xb8\xa2", "\xe8\xb8\xa2\xe7\x88\x86", 0, 2.0 / 3 }, /* 踢 | 踢爆 */
    { CMRC, "\xe7\x94\x9f\xe5\x91\xbd\xe6\x95\xb0\xe8\x80\x97\xe5\xae\x8c",
      "\xe7\x94\x9f\xe5\x91\xbd\xe8\x80\x97\xe5\xae\x8c", 0, 4.0 / 9 }, /* 生命数耗完 | 生命耗完 */
    { CMRC,
      "\xe5\x9c\xa8"
      "2009\xe5\xb9\xb4"
      "12\xe6\x9c\x88",
      "2009\xe5\xb9\xb4", 0, 4.0 / 7 },               /* 在2009年12月 | 2009年 */
    { CMRC, "2009", "2009\xe5\xb9\xb4", 0, 2.0 / 3 }, /* 2009 | 2009年 */
    { CMRC, "\xef\xbc\x92\xef\xbc\x90\xef\xbc\x90\xef\xbc\x99\xe5\xb9\xb4", "2009\xe5\xb9\xb4", 0,
      1.0 / 2 },                                                    /* ２００９年 | 2009年 */
    { CMRC, "Nexon\xe5\xbc\x80\xe5\x8f\x91", "nexon", 0, 1.0 / 2 }, /* Nexon开发 | nexon */
    { CMRC, "New York Times\xe6\x8a\xa5", "York Times", 0,
      2.0 / 3 }, /* New York Times报 | York Times */
    { CMRC, "1-2", "12", 1, 1 },
    { CMRC, "10,000\xe4\xba\xba", "10,000 \xe4\xba\xba", 0, 1 }, /* 10,000人 | 10,000 人 */
    { CMRC, "\xe2\x80\xa6\xe2\x80\xa6", "\xe2\x80\xa6", 0, 0 },  /* …… | … */
    { CMRC, "\xe3\x80\x82\xef\xbc\x81", "\xef\xbc\x9f", 1, 0 },  /* 。！ | ？ */
    { CMRC, "(3)",
      "\xef\xbc\x88"
      "3\xef\xbc\x89",
      0, 1.0 / 2 },                                                           /* (3) | （3） */
    { CMRC, " \xe4\xb8\xad\xe5\x9b\xbd ", "\xe4\xb8\xad\xe5\x9b\xbd", 1, 1 }, /*  中国  | 中国 */
    { CMRC, "\xe4\xb8\xad \xe5\x9b\xbd", "\xe4\xb8\xad\xe5\x9b\xbd", 0, 1 },  /* 中 国 | 中国 */
    { CMRC, "\xe4\xb8\xad\xe5\x9b\xbd\xe4\xba\xba\xe6\xb0\x91",
      "\xe4\xba\xba\xe6\xb0\x91\xe4\xb8\xad\xe5\x9b\xbd", 0, 1.0 / 2 }, /* 中国人民 | 人民中国 */
    { CMRC, "A.B.", "A.B", 0, 2.0 / 3 },
    { CMRC, "don't\xe8\xb5\xb0", "do\xe8\xb5\xb0", 0, 2.0 / 5 },      /* don't走 | do走 */
    { CMRC, "\xe9\xbe\xa5\xe9\xbe\xa6", "\xe9\xbe\xa5", 0, 2.0 / 3 }, /* 龥龦 | 龥 */
    { CMRC, "\xe2\x80\x98\xe4\xb8\xad\xe2\x80\x99\xe5\x9b\xbd", "\xe4\xb8\xad\xe5\x9b\xbd", 0,
      4.0 / 5 }, /* ‘中’国 | 中国 */
    { CMRC, "\"\xe4\xb8\xad\"\xe5\x9b\xbd", "\xe4\xb8\xad\xe5\x9b\xbd", 0,
      1.0 / 3 }, /* "中"国 | 中国 */
};

static gsa_slice slice(const char *text)
{
    return (gsa_slice){ text, (int64_t)strlen(text) };
}

START_TEST(golden_scores)
{
    gsa_scorer scorer;
    ck_assert_int_eq(gsa_scorer_create(gsa_system_default(), golden[_i].kind, 64, &scorer, NULL),
                     GSA_OK);
    for (int again = 0; again < 2; again++) { /* nothing of the first is left for the second */
        const gsa_answer_score got =
            gsa_answer_against(&scorer, slice(golden[_i].prediction), slice(golden[_i].reference));
        ck_assert_int_eq(got.exact, golden[_i].exact);
        ck_assert_double_eq_tol(got.f1, golden[_i].f1, 1e-15);
        gsa_answer_against(&scorer, slice("x y z \xe4\xb8\xad \"'' can't"),
                           slice("\xe5\x9b\xbd an"));
    }
    gsa_scorer_release(&scorer);
}
END_TEST

/* Texts that fill the scorer's room to the last byte. */
START_TEST(scorers_keep_within_their_room)
{
    static const char *const pieces[] = { "a",
                                          " ",
                                          "'",
                                          "\"",
                                          ".",
                                          ",",
                                          "\xc4\xb0",
                                          "\xce\xa3",
                                          "\xe4\xb8\xad",
                                          "\xe3\x80\x82",
                                          "\xf0\x9f\x98\x80" };
    gsa_dice dice = { 3 };
    for (int round = 0; round < 4000; round++) {
        char text[2][64] = { "", "" };
        gsa_scorer scorer;
        for (int k = 0; k < 2; k++)
            for (int i = (int)gsa_between(&dice, 0, 12); i > 0; i--)
                strcat(text[k], pieces[gsa_between(&dice, 0, GSA_COUNT(pieces) - 1)]);
        const size_t a = strlen(text[0]), b = strlen(text[1]);
        ck_assert_int_eq(gsa_scorer_create(gsa_system_default(), round % 2,
                                           (int64_t)(a > b ? a : b), &scorer, NULL),
                         GSA_OK);
        const gsa_answer_score one = gsa_answer_against(&scorer, slice(text[0]), slice(text[1]));
        const gsa_answer_score other = gsa_answer_against(&scorer, slice(text[1]), slice(text[0]));
        const gsa_answer_score self = gsa_answer_against(&scorer, slice(text[0]), slice(text[0]));
        ck_assert(one.exact == other.exact && fabs(one.f1 - other.f1) < 1e-15 && one.f1 >= 0 &&
                  one.f1 <= 1);
        ck_assert(self.exact == 1 && (self.f1 == 0 || self.f1 == 1));
        gsa_scorer_release(&scorer);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test files[] = { GSA_LOOP(good_files, GSA_COUNT(good)),
                                      GSA_TEST(places_are_code_points), GSA_TEST(long_passages) };
    static const gsa_test wrong[] = { GSA_LOOP(bad_files, GSA_COUNT(bad)) };
    static const gsa_test spans[] = { GSA_TEST(windows_cover_every_answer),
                                      GSA_TEST(the_best_of_all_spans),
                                      GSA_TEST(what_question_and_passage_share) };
    static const gsa_test scores[] = { GSA_LOOP(golden_scores, GSA_COUNT(golden)),
                                       GSA_TEST(scorers_keep_within_their_room) };
    static const gsa_case cases[] = { GSA_CASE("good", files, 20), GSA_CASE("bad", wrong, 20),
                                      GSA_CASE("spans", spans, 20),
                                      GSA_CASE("scores", scores, 20) };
    return gsa_run_suite("reading", cases, GSA_COUNT(cases), argc, argv);
}
