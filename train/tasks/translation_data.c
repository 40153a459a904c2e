/* translation_data.c - the splits of task translation: read, numbered, and what is kept of them. */
#include <stdio.h>
#include <string.h>
#include "train/data/sample.h"
#include "graph/index.h"
#include "train/tasks/translation_parts.h"

enum { SENTENCE = 512 };

void gsa_translation_release(const gsa_system *system, gsa_pair_split *split)
{
    for (int s = 0; s < GSA_SIDES; s++) {
        if (split->text[s].system) gsa_text_release(&split->text[s]);
        gsa_release(system, split->row[s].first);
        gsa_release(system, split->row[s].id);
    }
    gsa_release(system, split->both);
    gsa_release(system, split->place);
    gsa_release(system, split->before);
    *split = (gsa_pair_split){ 0 };
}

static gsa_status read_split(gsa_translation *t, const gsa_task_options *o, int split,
                             gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    gsa_text *text = t->split[split].text;
    const char *path;
    gsa_sample part;
    if (!(o->splits >> split & 1)) return GSA_OK;
    gsa_sample_of(v, split, &path, &part);
    if (!*path) return split == GSA_SPLIT_TRAIN ? gsa_recipe_no_train(o->recipe, error) : GSA_OK;
    const gsa_status status = gsa_parallel_read(t->system, path, &t->parallel, text, error);
    if (status != GSA_OK) return status;
    return gsa_sample_take(&part, (gsa_text *[]){ &text[GSA_SOURCE], &text[GSA_TARGET] }, GSA_SIDES,
                           error);
}

/* ---- what is kept -------------------------------------------------------------------------- */

typedef struct left_out {
    int64_t empty, long_ones;
} left_out;

typedef struct keeping { /* of the lines of a split, one after the other */
    const gsa_translation *t;
    gsa_pair_split *split;
    int sides;
    int64_t limit;           /* pieces of a side; 0: none */
    int64_t used[GSA_SIDES]; /* pieces kept */
    int64_t kept, standing;  /* standing: kept ones that are directly before the next line, in its
                                document */
    int inside;              /* was a sentence of this document kept? */
    left_out out;
} keeping;

/* Sentences are added from the nearest on, until there are enough of them. */
static int32_t reach(const keeping *k)
{
    const gsa_translation *t = k->t;
    int64_t tokens = 0;
    int32_t before = 0;
    while (before < k->standing && before < t->previous &&
           (t->previous_tokens == 0 || tokens < t->previous_tokens)) {
        before++;
        tokens += gsa_pair_pieces(k->split, GSA_SOURCE, k->kept - before) + 1;
    }
    return before;
}

/* A line moves to the end of those that are kept. */
static void keep(keeping *k, int64_t line, const int64_t *pieces)
{
    gsa_pair_split *split = k->split;
    for (int s = 0; s < k->sides; s++) {
        gsa_piece_row *row = &split->row[s];
        memmove(row->id + k->used[s], row->id + row->first[line],
                (size_t)pieces[s] * sizeof *row->id);
        row->first[k->kept] = k->used[s];
        k->used[s] += pieces[s];
    }
    if (split->before) {
        split->before[k->kept] = reach(k), split->place[k->kept] = line;
        split->documents += !k->inside;
        k->inside = 1, k->standing++;
    }
    k->kept++;
}

static void keep_lines(keeping *k)
{
    gsa_pair_split *split = k->split;
    const int64_t lines = split->examples;
    for (int64_t e = 0; e < lines; e++) {
        int64_t n[GSA_SIDES] = { 0 };
        int empty = 0, large = 0;
        for (int s = 0; s < k->sides; s++) {
            n[s] = gsa_pair_pieces(split, s, e);
            empty |= n[s] == 0, large |= k->limit > 0 && n[s] > k->limit;
        }
        if (empty || large) k->standing = 0;
        if (empty) k->inside = 0;
        k->out.empty += empty && !split->before, k->out.long_ones += !empty && large;
        if (!empty && !large) keep(k, e, n);
    }
    for (int s = 0; s < k->sides; s++) split->row[s].first[k->kept] = k->used[s];
    split->examples = k->kept;
}

/* Training keeps pairs that have both sides, none of them too long; other splits keep all. With
 * documents examples are the sentences, of all splits. */
static gsa_status choose_lines(gsa_translation *t, int which, int sides, left_out *out,
                               gsa_error *error)
{
    gsa_pair_split *split = &t->split[which];
    const int train = which == GSA_SPLIT_TRAIN;
    keeping k = { .t = t, .split = split, .sides = sides, .limit = train ? t->longest : 0 };
    *out = k.out;
    if (!train && !t->parallel.documents) return GSA_OK;
    if (t->parallel.documents) {
        split->before = gsa_alloc(t->system, (size_t)split->examples, sizeof *split->before);
        split->place = gsa_alloc(t->system, (size_t)split->examples, sizeof *split->place);
        if (!split->before || !split->place)
            return gsa_out_of_memory(error, "documents", split->examples * INT64_C(12));
    }
    keep_lines(&k);
    *out = k.out;
    return GSA_OK;
}

/* ---- what is told, and refused ------------------------------------------------------------- */

static void tell(const gsa_task_options *o, int split, const gsa_pair_split *of,
                 const left_out *out)
{
    char sentence[SENTENCE], more[160] = "", documents[64] = "";
    int32_t longest = 0;
    for (int64_t e = 0; e < of->examples; e++)
        for (int s = 0; s < GSA_SIDES; s++)
            if (gsa_pair_pieces(of, s, e) > longest) longest = (int32_t)gsa_pair_pieces(of, s, e);
    if (out->empty + out->long_ones > 0)
        snprintf(more, sizeof more,
                 "; left out: %lld pairs with an empty side, %lld longer than data.max_length",
                 (long long)out->empty, (long long)out->long_ones);
    if (of->before)
        snprintf(documents, sizeof documents, " in %lld documents", (long long)of->documents);
    snprintf(sentence, sizeof sentence,
             "%s: %s: %lld pairs%s, %lld and %lld tokens, the longest sentence %d%s",
             gsa_split_name(split), of->text[GSA_SOURCE].path, (long long)of->examples, documents,
             (long long)of->row[GSA_SOURCE].first[of->examples],
             (long long)of->row[GSA_TARGET].first[of->examples], longest, more);
    o->say(o->context, sentence);
}

static gsa_status too_long(const gsa_translation *t, const gsa_pair_split *split, int side,
                           int64_t e, gsa_error *error)
{
    const int32_t before = gsa_pair_before(split, e);
    const gsa_text *text = &split->text[side];
    const long long tokens = gsa_pair_tokens(split, side, e, before);
    if (before == 0)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "%s: a sentence has %lld tokens with its end, model.position_max is %d: "
                        "set data.max_length (training) or "
                        "a larger model.position_max",
                        text->path, tokens, t->position_most);
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "%s:%lld: the sentence and the %d before it have %lld tokens with their ends, "
                    "model.position_max is %d: set "
                    "a larger one, or less of data.previous, data.previous_tokens or "
                    "data.max_length (training)",
                    text->path, (long long)text->line[split->place[e]], before, tokens,
                    t->position_most);
}

/* With <s> and </s> a sentence has a token more. */
static gsa_status check_lengths(const gsa_translation *t, const gsa_pair_split *split,
                                gsa_error *error)
{
    for (int64_t e = 0; e < split->examples; e++)
        for (int s = 0; s < GSA_SIDES; s++) {
            const int64_t tokens = gsa_pair_tokens(split, s, e, gsa_pair_before(split, e));
            if (tokens <= gsa_index_most / 2 &&
                (t->position_most == 0 || tokens <= t->position_most))
                continue;
            return too_long(t, split, s, e, error);
        }
    return GSA_OK;
}

/* ---- splits -------------------------------------------------------------------------------- */

static gsa_status number_split(gsa_translation *t, int which, left_out *out, gsa_error *error)
{
    gsa_pair_split *split = &t->split[which];
    gsa_status status = GSA_OK;
    split->examples = split->text[GSA_SOURCE].examples;
    for (int s = 0; s < GSA_SIDES && status == GSA_OK; s++)
        status = gsa_pieces_number(&t->pieces, &split->text[s], &split->row[s], error);
    if (status == GSA_OK) status = choose_lines(t, which, GSA_SIDES, out, error);
    if (status != GSA_OK) return status;
    if (which == GSA_SPLIT_TRAIN && split->examples == 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: no pair is left to train on",
                        split->text[GSA_SOURCE].path);
    status = check_lengths(t, split, error);
    if (status != GSA_OK) return status;
    split->both = gsa_alloc(t->system, (size_t)split->examples, sizeof *split->both);
    if (!split->both) return gsa_out_of_memory(error, "lengths of sentences", split->examples * 4);
    for (int64_t e = 0; e < split->examples; e++) {
        const int32_t before = gsa_pair_before(split, e);
        split->both[e] = (int32_t)(gsa_pair_tokens(split, GSA_SOURCE, e, before) +
                                   gsa_pair_tokens(split, GSA_TARGET, e, before));
    }
    return status;
}

gsa_status gsa_translation_read(gsa_translation *t, const gsa_task_options *o, gsa_error *error)
{
    gsa_status status = GSA_OK;
    left_out out;
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) status = read_split(t, o, s, error);
    if (status != GSA_OK) return status;
    if (o->checkpoint)
        status = gsa_pieces_restore(t->system, o->recipe, o->checkpoint, &t->pieces, error);
    else
        status = gsa_pieces_learn(t->system, o->recipe, t->split[GSA_SPLIT_TRAIN].text, GSA_SIDES,
                                  &t->pieces, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) {
        if (t->split[s].text[GSA_SOURCE].examples == 0) continue;
        status = number_split(t, s, &out, error);
        if (status == GSA_OK) tell(o, s, &t->split[s], &out);
    }
    return status;
}

/* A translation is as long as twice its sentence, and each token reads all before it. */
static gsa_status check_written(const gsa_pair_split *split, gsa_error *error)
{
    enum { MOST = 4096 };
    for (int64_t e = 0; e < split->examples; e++)
        if (gsa_pair_pieces(split, GSA_SOURCE, e) > MOST)
            return gsa_fail(error, GSA_ERR_LIMIT,
                            "%s: sentence %lld has %lld tokens, and the most that is translated is "
                            "%d: cut it into sentences",
                            split->text[GSA_SOURCE].path, (long long)e + 1,
                            (long long)gsa_pair_pieces(split, GSA_SOURCE, e), MOST);
    return GSA_OK;
}

gsa_status gsa_translation_read_lines(void *self, const char *path, gsa_error *error)
{
    gsa_translation *t = self;
    gsa_pair_split *split = &t->split[GSA_SPLIT_TEST];
    left_out out;
    gsa_translation_release(t->system, split);
    gsa_status status =
        gsa_parallel_read_lines(t->system, path, &t->parallel, &split->text[GSA_SOURCE], error);
    if (status != GSA_OK) return status;
    split->examples = split->text[GSA_SOURCE].examples;
    status =
        gsa_pieces_number(&t->pieces, &split->text[GSA_SOURCE], &split->row[GSA_SOURCE], error);
    if (status == GSA_OK) status = check_written(split, error);
    return status == GSA_OK ? choose_lines(t, GSA_SPLIT_TEST, 1, &out, error) : status;
}
