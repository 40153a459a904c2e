/* bench_lexicon.c - gsa bench lexicon: opening a word list, and finding its words in a text, line
 * by line, a character a token. */
#include <stdio.h>
#include <string.h>
#include "tools/lab/bench.h"
#include "topologies/lexicon.h"

enum { SHORTEST = 2, LONGEST = 16 }; /* as char_word has them */

typedef struct gsa_lexicon_case {
    gsa_bench *bench;
    const char *lexicon;
    gsa_bench_text text;
    gsa_example *lines; /* [n_lines] */
    int64_t n_lines, matches;
    gsa_lexicon_facts facts;
} gsa_lexicon_case;

static void release(void *state)
{
    gsa_lexicon_case *one = state;
    const gsa_system *system = one->bench->system;
    gsa_release(system, one->lines);
    gsa_bench_text_close(system, &one->text);
    gsa_release(system, one);
}

static gsa_status run(void *state, double *seconds, gsa_error *error)
{
    gsa_lexicon_case *one = state;
    gsa_lexicon *lexicon;
    const double start = gsa_clock_now(one->bench->counts_cpu);
    const gsa_status status =
        gsa_lexicon_open(one->bench->system, one->lexicon, SHORTEST, LONGEST, &lexicon, error);
    const double opened = gsa_clock_now(one->bench->counts_cpu);
    if (status != GSA_OK) return status;
    one->matches = 0;
    for (int64_t i = 0; i < one->n_lines; i++)
        one->matches += gsa_lexicon_match(lexicon, &one->lines[i], NULL, NULL);
    seconds[0] = opened - start, seconds[1] = gsa_clock_now(one->bench->counts_cpu) - opened;
    one->facts = gsa_lexicon_count(lexicon);
    gsa_lexicon_close(lexicon);
    return GSA_OK;
}

/* The tokens of each line that ends or is the last; counts them where there is no room. */
static void split(gsa_lexicon_case *one)
{
    const gsa_bench_text *text = &one->text;
    gsa_example line = { .struct_size = sizeof line, .heads = 1, .text = text->token };
    one->n_lines = 0;
    for (int64_t i = 0, token = 0; i < text->bytes; i++) {
        const int ends = text->data[i] == '\n';
        if (!ends && token < text->tokens && text->data + i == text->token[token].at)
            token++, line.length++;
        if (!ends && i + 1 < text->bytes) continue;
        if (one->lines) one->lines[one->n_lines] = line;
        one->n_lines++;
        line.text = text->token + token, line.length = 0;
    }
}

static gsa_status read_text(gsa_lexicon_case *one, const char *path, gsa_error *error)
{
    const gsa_system *system = one->bench->system;
    const gsa_status status = gsa_bench_text_open(system, path, &one->text, error);
    if (status != GSA_OK) return status;
    split(one);
    one->lines = gsa_alloc(system, (size_t)one->n_lines, sizeof *one->lines);
    if (!one->lines)
        return gsa_out_of_memory(error, path, one->n_lines * (int64_t)sizeof *one->lines);
    split(one);
    return GSA_OK;
}

static void put_facts(const gsa_lexicon_case *one, json_t *facts)
{
    json_object_set_new(facts, "words", json_integer(one->facts.words));
    json_object_set_new(facts, "states", json_integer(one->facts.states));
    json_object_set_new(facts, "lexicon_bytes", json_integer(one->facts.bytes));
    json_object_set_new(facts, "text_bytes", json_integer(one->text.bytes));
    json_object_set_new(facts, "matches", json_integer(one->matches));
}

gsa_status gsa_bench_lexicon(gsa_bench *bench, gsa_error *error)
{
    const char *lexicon = gsa_args_text(bench->args, "lexicon"),
               *text = gsa_args_text(bench->args, "text");
    double seconds[GSA_BENCH_SERIES];
    if (!lexicon || !text)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'gsa bench lexicon' needs --lexicon FILE and --text FILE");
    bench->series[0] = "open", bench->series[1] = "match", bench->n_series = 2;
    bench->rate = (gsa_bench_rate){ "MB/s", "mb_per_s", 1e-6 };
    gsa_bench_case *slot = gsa_bench_add(bench, error);
    if (!slot) return GSA_ERR_MEMORY;
    gsa_lexicon_case *one = gsa_alloc_zero(bench->system, 1, sizeof *one);
    if (!one) return gsa_out_of_memory(error, "a bench case", (int64_t)sizeof *one);
    one->bench = bench, one->lexicon = lexicon;
    slot->state = one, slot->run = run, slot->release = release;
    gsa_status status = read_text(one, text, error);
    if (status == GSA_OK) status = run(one, seconds, error); /* to know the counts */
    if (status != GSA_OK) return status;
    slot->flops[1] = (double)one->text.bytes;
    snprintf(slot->name, sizeof slot->name, "%lld words", (long long)one->facts.words);
    snprintf(slot->detail, sizeof slot->detail, "%lld matches", (long long)one->matches);
    put_facts(one, slot->facts);
    return GSA_OK;
}
