/* char_word: its edges equal algorithm 1 read naively, its promises hold, and what it cannot do is
 * a sentence. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/suite.h"
#include "topologies/pattern.h"

static const char *const dictionary[] = { "南京", "南京市", "市长", "长江", "长江大桥",
                                          "大桥", "桥",     "江大", "京" };
static const char *const characters[] = { "南", "京", "市", "长", "江", "大", "桥", "x" };
enum { LONGEST_TEXT = 130 };

typedef struct subject {
    gsa_scratch scratch;
    gsa_registry *registry;
    gsa_pattern *pattern;
} subject;

static void write_dictionary(const gsa_scratch *scratch)
{
    char text[512] = "";
    for (int i = 0; i < GSA_COUNT(dictionary); i++)
        strcat(text, dictionary[i]), strcat(text, " 7 n\n");
    gsa_put_file(gsa_scratch_path(scratch, "words.txt"), text, (int64_t)strlen(text));
}

/* "min_word=1 local=0" */
static gsa_status try_pattern(const gsa_registry *registry, const char *words, const char *settings,
                              gsa_pattern **pattern, gsa_error *error)
{
    gsa_setting setting[8];
    char copy[128];
    int count = 0;
    if (words) setting[count++] = (gsa_setting){ "lexicon", words };
    snprintf(copy, sizeof copy, "%s", settings);
    for (char *at = strtok(copy, " "); at; at = strtok(NULL, " ")) {
        char *equals = strchr(at, '=');
        *equals = 0;
        setting[count++] = (gsa_setting){ at, equals + 1 };
    }
    return gsa_pattern_create(registry, "char_word", setting, count, pattern, error);
}

static subject subject_of(const char *settings)
{
    subject s;
    gsa_error error = { 0 };
    gsa_scratch_open(&s.scratch);
    write_dictionary(&s.scratch);
    ck_assert_int_eq(gsa_registry_create(NULL, &s.registry, &error), GSA_OK);
    ck_assert_msg(try_pattern(s.registry, gsa_scratch_path(&s.scratch, "words.txt"), settings,
                              &s.pattern, &error) == GSA_OK,
                  "%s", error.text);
    return s;
}

static void end(subject *s)
{
    gsa_pattern_release(s->pattern);
    gsa_registry_release(s->registry);
    gsa_scratch_close(&s->scratch);
}

static gsa_instance *instance_of(const subject *s, int32_t n, const gsa_slice *text,
                                 const int32_t *group)
{
    const gsa_example x = {
        .struct_size = sizeof x, .length = n, .heads = 1, .text = text, .group = group
    };
    gsa_instance *instance;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_pattern_instance(s->pattern, NULL, &x, NULL, 1, &instance, &error) == GSA_OK,
                  "%s", error.text);
    return instance;
}

/* ---- algorithm 1, naively ------------------------------------------------------------------ */

typedef struct plain { /* every edge as text, a line a phase: "name to<kind.from:label ..." */
    char *text;
    size_t used, room;
} plain;

static void say(plain *p, const char *format, const char *name, int64_t to, int64_t from, int label)
{
    if (p->used + 128 > p->room) p->text = realloc(p->text, p->room = 2 * p->room + 4096);
    p->used += (size_t)snprintf(p->text + p->used, 128, format, name, to, from, label);
}

typedef struct options {
    int min, max, global, words, adjacent, residual;
} options;

static int is_word(const gsa_slice *text, const int32_t *group, int first, int last,
                   const options *o)
{
    char joined[LONGEST_TEXT * 4] = "";
    for (int i = first; i <= last; i++) {
        if (group && group[i] != group[first]) return 0;
        strncat(joined, text[i].at, (size_t)text[i].bytes);
    }
    for (int w = 0; w < GSA_COUNT(dictionary); w++)
        if (strcmp(joined, dictionary[w]) == 0)
            return last - first + 1 >= o->min && last - first + 1 <= o->max;
    return 0;
}

static void mean_of(plain *p, const char *name, int n)
{
    for (int c = 0; c < n; c++) say(p, "%s %" PRId64 "<token.%" PRId64 ":%d\n", name, 0, c, 0);
}

static plain algorithm_1(const options *o, int n, const gsa_slice *text, const int32_t *group)
{
    plain p = { 0 };
    int first[4 * LONGEST_TEXT], last[4 * LONGEST_TEXT], words = 0;
    say(&p, "%s", "", 0, 0, 0);
    for (int b = 0; b < n && o->words; b++)
        for (int a = 0; a <= b; a++)
            if (is_word(text, group, a, b, o)) first[words] = a, last[words++] = b;
    for (int j = 0; j < words; j++) /* line 5: o_j = sum(H_{s_j:e_j}) */
        for (int c = first[j]; c <= last[j]; c++)
            say(&p, "%s %" PRId64 "<token.%" PRId64 ":%d\n", "sum", j, c, 0);
    for (int i = 0; i < n; i++) { /* lines 9 to 16: U_i, then s */
        for (int j = 0; j < words; j++)
            if (first[j] <= i && i <= last[j])
                say(&p, "%s %" PRId64 "<word.%" PRId64 ":%d\n", "read", i, j, 0);
        for (int c = i - 1; c <= i + 1 && o->adjacent; c++)
            if (c >= 0 && c < n)
                say(&p, "%s %" PRId64 "<token.%" PRId64 ":%d\n", "read", i, c, c - i + 1);
        if (o->global)
            say(&p, "%s %" PRId64 "<sentence.%" PRId64 ":%d\n", "read", i, 0,
                o->words      ? 1
                : o->adjacent ? 3
                              : 0);
    }
    if (o->global) mean_of(&p, "mean", n), mean_of(&p, "start", n); /* lines 20 and 2 */
    return p;
}

/* The instance in the same words. */
static plain as_emitted(const subject *s, const gsa_instance *instance)
{
    plain p = { 0 };
    const gsa_schema *schema = gsa_pattern_schema(s->pattern);
    say(&p, "%s", "", 0, 0, 0);
    for (int phase = 0; phase < gsa_schema_phases(schema); phase++) {
        gsa_edges edges;
        gsa_error error = { 0 };
        const gsa_phase *is = gsa_schema_phase(schema, phase);
        if (is->aggregate == GSA_NONE) continue;
        gsa_instance_edges(instance, phase, &edges);
        ck_assert_msg(gsa_edges_check(&edges, "char_word", &error) == GSA_OK, "%s", error.text);
        for (int64_t row = 0; row < edges.rows; row++)
            for (int64_t q = edges.run_offset[row]; q < edges.run_offset[row + 1]; q++)
                for (int k = 0; k < edges.runs[q].count; k++) {
                    char format[96];
                    const gsa_run *run = &edges.runs[q];
                    snprintf(format, sizeof format, "%%s %%" PRId64 "<%s.%%" PRId64 ":%%d\n",
                             gsa_schema_kind(schema, run->kind)->name);
                    say(&p, format, is->name, row, run->first + k * (int64_t)run->step,
                        run->label + k * run->label_step);
                }
    }
    return p;
}

static const struct {
    const char *settings;
    options o;
} table[] = {
    { "", { 2, 16, 1, 1, 0, 0 } },
    { "min_word=1", { 1, 16, 1, 1, 0, 0 } },
    { "min_word=3 max_word=3", { 3, 3, 1, 1, 0, 0 } },
    { "global=0", { 2, 16, 0, 1, 0, 0 } },
    { "local=0", { 2, 16, 1, 0, 0, 0 } },
    { "local=adjacent", { 2, 16, 1, 0, 1, 0 } },
    { "local=adjacent global=0", { 2, 16, 0, 0, 1, 0 } },
    { "residual=1", { 2, 16, 1, 1, 0, 1 } },
    { "residual=1 global=0", { 2, 16, 0, 1, 0, 1 } },
    { "residual=1 local=adjacent", { 2, 16, 1, 0, 1, 1 } },
};

static void draw(gsa_dice *dice, int32_t n, gsa_slice *text, int32_t *group)
{
    int32_t sentence = 0;
    for (int32_t i = 0; i < n; i++) { /* neighbours in the list often: many words */
        const int64_t c =
            i > 0 && gsa_between(dice, 0, 3) ? text[i - 1].bytes : gsa_between(dice, 0, 7);
        text[i] = (gsa_slice){ NULL, (c + (i > 0)) % GSA_COUNT(characters) };
        group[i] = sentence += gsa_between(dice, 0, 9) == 0;
    }
    for (int32_t i = 0; i < n; i++) {
        const char *at = characters[text[i].bytes];
        text[i] = (gsa_slice){ at, (int64_t)strlen(at) };
    }
}

START_TEST(edges_equal_algorithm_1)
{
    gsa_slice text[LONGEST_TEXT];
    int32_t group[LONGEST_TEXT];
    subject s = subject_of(table[_i].settings);
    gsa_dice dice = { 300 + (uint64_t)_i };
    int64_t found = 0;
    for (int32_t n = 0; n <= LONGEST_TEXT; n++) {
        draw(&dice, n, text, group);
        for (int grouped = 0; grouped < 2; grouped++) {
            gsa_instance *instance = instance_of(&s, n, text, grouped ? group : NULL);
            plain wanted = algorithm_1(&table[_i].o, n, text, grouped ? group : NULL),
                  is = as_emitted(&s, instance);
            ck_assert_msg(strcmp(wanted.text, is.text) == 0, "%s, length %d:\n%s\nexpected\n%s",
                          gsa_pattern_text(s.pattern), n, is.text, wanted.text);
            found += table[_i].o.words ? gsa_instance_nodes(instance, 1) : 1;
            free(wanted.text), free(is.text);
            gsa_instance_release(instance);
        }
    }
    ck_assert_int_gt(found, 100);
    end(&s);
}
END_TEST

/* ---- promises, places, names --------------------------------------------------------------- */

static int64_t edges_of(const gsa_instance *instance, const gsa_schema *schema)
{
    int64_t total = 0;
    for (int phase = 0; phase < gsa_schema_phases(schema); phase++) {
        gsa_edges edges;
        gsa_instance_edges(instance, phase, &edges);
        total += edges.edge_total;
    }
    return total;
}

START_TEST(text_is_needed_by_words_alone)
{
    subject s = subject_of(table[_i].settings);
    const gsa_schema *schema = gsa_pattern_schema(s.pattern);
    ck_assert_uint_eq(gsa_schema_flags(schema), table[_i].o.words ? GSA_NEEDS_TEXT : GSA_BY_LENGTH);
    ck_assert_int_eq(gsa_schema_growth(schema), GSA_LINEAR_EDGES);
    const gsa_example x = { .struct_size = sizeof x, .length = 4, .heads = 1 };
    gsa_instance *instance;
    gsa_error error = { 0 };
    const gsa_status status = gsa_pattern_instance(s.pattern, NULL, &x, NULL, 0, &instance, &error);
    ck_assert_int_eq(status == GSA_OK, !table[_i].o.words);
    if (status == GSA_OK) gsa_instance_release(instance);
    else ck_assert_msg(strstr(error.text, "text") != NULL, "%s", error.text);
    end(&s);
}
END_TEST

/* Twice the text, twice the edges, exactly where the text repeats. */
START_TEST(edges_grow_with_the_text)
{
    enum { PERIOD = 7, REPEATS = 3000 };
    subject s = subject_of(table[_i].settings);
    const gsa_schema *schema = gsa_pattern_schema(s.pattern);
    gsa_slice *text = malloc(2 * PERIOD * REPEATS * sizeof *text);
    for (int i = 0; i < 2 * PERIOD * REPEATS; i++)
        text[i] = (gsa_slice){ characters[i % PERIOD], 3 };
    gsa_instance *once = instance_of(&s, PERIOD * REPEATS, text, NULL),
                 *twice = instance_of(&s, 2 * PERIOD * REPEATS, text, NULL);
    const int64_t a = edges_of(once, schema), b = edges_of(twice, schema);
    ck_assert_int_gt(a, 0);
    ck_assert_int_le(llabs(b - 2 * a), 4);
    gsa_instance_release(once);
    gsa_instance_release(twice);
    free(text);
    end(&s);
}
END_TEST

START_TEST(words_and_the_sentence_have_places)
{
    gsa_slice text[7];
    subject s = subject_of("");
    for (int i = 0; i < 7; i++) text[i] = (gsa_slice){ characters[i], 3 };
    gsa_instance *instance = instance_of(&s, 7, text, NULL);
    static const int places[][3] = { { 1, 0, 1 }, { 1, 0, 2 }, { 1, 2, 3 }, { 1, 3, 4 },
                                     { 1, 4, 5 }, { 1, 3, 6 }, { 1, 5, 6 } };
    ck_assert_int_eq(gsa_instance_nodes(instance, 1), GSA_COUNT(places));
    for (int j = 0; j < GSA_COUNT(places); j++) {
        const gsa_place place = gsa_instance_place(instance, 1, j);
        ck_assert_int_eq(place.level, places[j][0]);
        ck_assert_int_eq(place.first, places[j][1]);
        ck_assert_int_eq(place.last, places[j][2]);
    }
    const gsa_place place = gsa_instance_place(instance, 2, 0);
    ck_assert(place.level == 2 && place.first == 0 && place.last == 6);
    gsa_instance_release(instance);
    instance = instance_of(&s, 0, text, NULL);
    ck_assert_int_eq(gsa_instance_nodes(instance, 1) + gsa_instance_nodes(instance, 2), 0);
    gsa_instance_release(instance);
    end(&s);
}
END_TEST

static const struct {
    const char *settings, *kinds, *phases; /* phase: name when.aggregate.update.empty.labels */
    const char *labels;                    /* of "read" */
} schemas[] = {
    { "", "token:0 word:3 sentence:4 ",
      "sum 0.1.5.1.1 read 0.0.3.2.2 mean 0.2.4.1.1 start 1.2.4.1.1 ", "word,sentence,,,," },
    { "residual=1", "token:0 word:3 sentence:4 ",
      "sum 0.1.5.1.1 read 0.0.0.2.2 ffn 0.3.1.1.1 mean 0.2.4.1.1 start 1.2.4.1.1 ",
      "word,sentence,,,," },
    { "global=0", "token:0 word:3 ", "sum 0.1.5.1.1 read 0.0.3.2.1 ", "word,,,,," },
    { "local=0", "token:0 sentence:4 ", "read 0.0.3.2.1 mean 0.2.4.1.1 start 1.2.4.1.1 ",
      "sentence,,,,," },
    { "local=adjacent", "token:0 sentence:4 ", "read 0.0.3.2.4 mean 0.2.4.1.1 start 1.2.4.1.1 ",
      "left,self,right,sentence,," },
    { "local=adjacent global=0", "token:0 ", "read 0.0.3.2.3 ", "left,self,right,,," },
};

START_TEST(layers_are_what_the_paper_says)
{
    subject s = subject_of(schemas[_i].settings);
    const gsa_schema *schema = gsa_pattern_schema(s.pattern);
    const gsa_topology *topology = gsa_pattern_topology(s.pattern);
    char kinds[128] = "", phases[256] = "", labels[128] = "", name[32];
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        sprintf(kinds + strlen(kinds), "%s:%d ", gsa_schema_kind(schema, k)->name,
                gsa_schema_kind(schema, k)->start);
    for (int p = 0; p < gsa_schema_phases(schema); p++) {
        const gsa_phase *phase = gsa_schema_phase(schema, p);
        sprintf(phases + strlen(phases), "%s %d.%d.%d.%d.%d ", phase->name, phase->when,
                phase->aggregate, phase->update, phase->empty, phase->labels);
        for (int id = -1; id < 5; id++) {
            topology->label(gsa_pattern_self(s.pattern), p, id, name, sizeof name);
            if (strcmp(phase->name, "read") != 0 || id < 0) ck_assert_str_eq(name, "");
            else sprintf(labels + strlen(labels), "%s,", name);
        }
    }
    ck_assert_str_eq(kinds, schemas[_i].kinds);
    ck_assert_str_eq(phases, schemas[_i].phases);
    ck_assert_str_eq(labels, schemas[_i].labels);
    ck_assert_str_eq(gsa_schema_kind(schema, gsa_schema_sequence(schema))->name, "token");
    ck_assert_int_eq(gsa_schema_summaries(schema), 1);
    end(&s);
}
END_TEST

/* ---- what cannot be ------------------------------------------------------------------------ */

static const struct {
    const char *words, *settings; /* words: NULL none, else a name in the folder */
    gsa_status status;
    const char *part[2];
} refused[] = {
    { NULL,
      "",
      GSA_ERR_ARGUMENT,
      { "local=1 needs a dictionary: set lexicon to a file", "[encoder.1]" } },
    { NULL,
      "min_word=1 residual=1",
      GSA_ERR_ARGUMENT,
      { "local=1 needs a dictionary", "or local to 0 or adjacent" } },
    { "gone.txt",
      "",
      GSA_ERR_ARGUMENT,
      { "topology 'char_word': lexicon: '", "gone.txt' cannot be opened" } },
    { "bad.txt", "", GSA_ERR_ARGUMENT, { "bad.txt:2: byte 0xFF", "UTF-8" } },
    { "words.txt",
      "min_word=9",
      GSA_ERR_ARGUMENT,
      { "none of its 9 words has 9 to 16 characters", "words.txt" } },
    { "words.txt",
      "min_word=4 max_word=3",
      GSA_ERR_ARGUMENT,
      { "min_word is 4, expected at most max_word, 3", "" } },
    { "words.txt",
      "global=0 local=0",
      GSA_ERR_ARGUMENT,
      { "global=0 and local=0 leave nothing to read", "" } },
    { "words.txt", "local=ring", GSA_ERR_ARGUMENT, { "'ring'", "1,0,adjacent" } },
    { "words.txt", "min_word=0", GSA_ERR_ARGUMENT, { "min_word", "1 to 255" } },
};

START_TEST(what_cannot_be_is_a_sentence)
{
    gsa_scratch scratch;
    gsa_registry *registry;
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    char path[256];
    gsa_scratch_open(&scratch);
    write_dictionary(&scratch);
    gsa_put_file(gsa_scratch_path(&scratch, "bad.txt"), "ab\n\xff\n", 5);
    if (refused[_i].words) snprintf(path, sizeof path, "%s/%s", scratch.folder, refused[_i].words);
    ck_assert_int_eq(gsa_registry_create(NULL, &registry, &error), GSA_OK);
    ck_assert_int_eq(try_pattern(registry, refused[_i].words ? path : NULL, refused[_i].settings,
                                 &pattern, &error),
                     refused[_i].status);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(strstr(error.text, refused[_i].part[i]) != NULL, "%s", error.text);
    gsa_registry_release(registry);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(without_words_no_dictionary_is_read)
{
    gsa_registry *registry;
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    ck_assert_int_eq(gsa_registry_create(NULL, &registry, &error), GSA_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(try_pattern(registry, "/no/such/file", i ? "local=0" : "local=adjacent",
                                  &pattern, &error) == GSA_OK,
                      "%s", error.text);
        gsa_pattern_release(pattern);
    }
    gsa_registry_release(registry);
}
END_TEST

START_TEST(a_host_without_the_service_is_told)
{
    gsa_registry *registry;
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    ck_assert_int_eq(gsa_registry_create(NULL, &registry, &error), GSA_OK);
    ck_assert_int_eq(gsa_registry_offer(registry, "gsa.lexicon/1", NULL, &error), GSA_OK);
    ck_assert_int_eq(try_pattern(registry, "words.txt", "", &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "topology 'char_word': this host has no service gsa.lexicon/1");
    gsa_registry_release(registry);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */

static gsa_status make_all(gsa_faults *faults, void *context)
{
    gsa_slice text[7];
    gsa_registry *registry;
    gsa_pattern *pattern = NULL;
    gsa_instance *instance = NULL;
    for (int i = 0; i < 7; i++) text[i] = (gsa_slice){ characters[i], 3 };
    const gsa_example x = { .struct_size = sizeof x, .length = 7, .heads = 2, .text = text };
    gsa_status status = gsa_registry_create(&faults->table, &registry, NULL);
    if (status != GSA_OK) return status;
    status = try_pattern(registry, context, "residual=1", &pattern, NULL);
    if (status == GSA_OK)
        status = gsa_pattern_instance(pattern, NULL, &x, NULL, 1, &instance, NULL);
    gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    return status;
}

START_TEST(memory_may_run_out_anywhere)
{
    gsa_scratch scratch;
    char path[256];
    gsa_scratch_open(&scratch);
    write_dictionary(&scratch);
    snprintf(path, sizeof path, "%s/words.txt", scratch.folder);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, make_all, path), 60);
    gsa_scratch_close(&scratch);
}
END_TEST

static const gsa_test edge_tests[] = { GSA_LOOP(edges_equal_algorithm_1, GSA_COUNT(table)) };
static const gsa_test promise_tests[] = { GSA_LOOP(text_is_needed_by_words_alone, GSA_COUNT(table)),
                                          GSA_LOOP(edges_grow_with_the_text, GSA_COUNT(table)),
                                          GSA_TEST(words_and_the_sentence_have_places),
                                          GSA_LOOP(layers_are_what_the_paper_says,
                                                   GSA_COUNT(schemas)) };
static const gsa_test refused_tests[] = {
    GSA_LOOP(what_cannot_be_is_a_sentence, GSA_COUNT(refused)),
    GSA_TEST(without_words_no_dictionary_is_read), GSA_TEST(a_host_without_the_service_is_told)
};
static const gsa_test memory_tests[] = { GSA_TEST(memory_may_run_out_anywhere) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("edges", edge_tests, 60),
                                      GSA_CASE("promises", promise_tests, 30),
                                      GSA_CASE("refused", refused_tests, 30),
                                      GSA_CASE("memory", memory_tests, 60) };
    return gsa_run_suite("char_word", cases, GSA_COUNT(cases), argc, argv);
}
