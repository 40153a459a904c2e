/* bench_lexicon.c - gsa bench lexicon: opening a word list, and finding its words in a text, line by line, a character a token. */
#include <stdio.h>
#include <string.h>
#include "bench.h"
#include "graph/utf8.h"
#include "topologies/lexicon.h"

enum { SHORTEST = 2, LONGEST = 16 }; /* as char_word has them */

typedef struct gsa_lexicon_case {
    gsa_bench *bench;
    const char *lexicon;
    char *data;
    gsa_slice *token;   /* [tokens] */
    gsa_example *lines; /* [n_lines] */
    int64_t bytes, tokens, n_lines, matches;
    gsa_lexicon_facts facts;
} gsa_lexicon_case;

static void release(void *state)
{
    gsa_lexicon_case *one = state;
    const gsa_system *system = one->bench->system;
    gsa_release(system, one->lines);
    gsa_release(system, one->token);
    gsa_release(system, one->data);
    gsa_release(system, one);
}

static gsa_status run(void *state, double *seconds, gsa_error *error)
{
    gsa_lexicon_case *one = state;
    gsa_lexicon *lexicon;
    const double start = gsa_now();
    const gsa_status status = gsa_lexicon_open(one->bench->system, one->lexicon, SHORTEST, LONGEST, &lexicon, error);
    const double opened = gsa_now();
    if (status != GSA_OK) return status;
    one->matches = 0;
    for (int64_t i = 0; i < one->n_lines; i++) one->matches += gsa_lexicon_match(lexicon, &one->lines[i], NULL, NULL);
    seconds[0] = opened - start, seconds[1] = gsa_now() - opened;
    one->facts = gsa_lexicon_count(lexicon);
    gsa_lexicon_close(lexicon);
    return GSA_OK;
}

/* Characters and lines of the text; counts them where `fill` is 0. */
static void split(gsa_lexicon_case *one, int fill)
{
    gsa_example line = { .struct_size = sizeof line, .heads = 1, .text = one->token };
    one->tokens = one->n_lines = 0;
    for (int64_t i = 0; i < one->bytes; i += gsa_utf8_length(one->data + i)) {
        if (one->data[i] != '\n') {
            if (fill) one->token[one->tokens] = (gsa_slice){ one->data + i, gsa_utf8_length(one->data + i) };
            one->tokens++, line.length++;
        }
        if (one->data[i] != '\n' && i + gsa_utf8_length(one->data + i) < one->bytes) continue;
        if (fill) one->lines[one->n_lines] = line;
        one->n_lines++;
        if (fill) line.text = one->token + one->tokens;
        line.length = 0;
    }
}

static gsa_status read_text(gsa_lexicon_case *one, const char *path, gsa_error *error)
{
    const gsa_system *system = one->bench->system;
    const gsa_status status = gsa_read_file(system, path, INT64_C(1) << 30, &one->data, &one->bytes, error);
    if (status != GSA_OK) return status;
    const int64_t bad = gsa_utf8_invalid(one->data, one->bytes);
    if (bad >= 0) return gsa_fail(error, GSA_ERR_FORMAT, "%s: byte %lld of the file is not UTF-8", path, (long long)bad + 1);
    split(one, 0);
    one->token = gsa_alloc(system, (size_t)one->tokens, sizeof *one->token);
    one->lines = gsa_alloc(system, (size_t)one->n_lines, sizeof *one->lines);
    if (!one->token || !one->lines) return gsa_out_of_memory(error, path, one->tokens * (int64_t)sizeof *one->token);
    split(one, 1);
    return GSA_OK;
}

static void put_facts(const gsa_lexicon_case *one, json_t *facts)
{
    json_object_set_new(facts, "words", json_integer(one->facts.words));
    json_object_set_new(facts, "states", json_integer(one->facts.states));
    json_object_set_new(facts, "lexicon_bytes", json_integer(one->facts.bytes));
    json_object_set_new(facts, "text_bytes", json_integer(one->bytes));
    json_object_set_new(facts, "matches", json_integer(one->matches));
}

gsa_status gsa_bench_lexicon(gsa_bench *bench, gsa_error *error)
{
    const char *lexicon = gsa_args_text(bench->args, "lexicon"), *text = gsa_args_text(bench->args, "text");
    double seconds[GSA_BENCH_SERIES];
    if (!lexicon || !text)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa bench lexicon' wants --lexicon FILE and --text FILE");
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
    slot->flops[1] = (double)one->bytes;
    snprintf(slot->name, sizeof slot->name, "%lld words", (long long)one->facts.words);
    snprintf(slot->detail, sizeof slot->detail, "%lld matches", (long long)one->matches);
    put_facts(one, slot->facts);
    return GSA_OK;
}
