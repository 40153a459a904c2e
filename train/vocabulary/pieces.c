#include "train/vocabulary/pieces.h"
#include <stdio.h>
#include <string.h>

enum { PATH = 4096 };
static const char VOCABULARY[] = "vocab.txt", CODES[] = "bpe.codes";

void gsa_pieces_release(gsa_pieces *p)
{
    gsa_vocabulary_release(p->vocabulary);
    gsa_bpe_release(p->bpe);
    *p = (gsa_pieces){ 0 };
}

static int has_merges(const gsa_recipe *recipe)
{
    return recipe->values.data_bpe > 0 || *recipe->values.data_bpe_codes;
}

static gsa_status settle(gsa_pieces *p, gsa_error *error)
{
    const int32_t words = gsa_vocabulary_size(p->vocabulary);
    if (words > INT32_MAX - 2)
        return gsa_fail(error, GSA_ERR_LIMIT, "a vocabulary of %d pieces is too large", words);
    p->begin = words, p->end = words + 1, p->size = words + 2;
    return GSA_OK;
}

/* ---- learning ------------------------------------------------------------------------------ */

static gsa_status learn_merges(gsa_pieces *p, const gsa_recipe_values *v, const gsa_text *texts,
                               int count, gsa_error *error)
{
    gsa_vocabulary *words;
    if (*v->data_bpe_codes) return gsa_bpe_read(p->system, v->data_bpe_codes, &p->bpe, error);
    gsa_status status = gsa_vocabulary_create(p->system, &words, error);
    if (status != GSA_OK) return status;
    for (int t = 0; t < count; t++)
        for (int64_t i = 0; i < texts[t].tokens && status == GSA_OK; i++)
            status = gsa_vocabulary_add(words, texts[t].token[i], 1, error);
    if (status == GSA_OK) status = gsa_vocabulary_freeze(words, 1, 0, error);
    if (status == GSA_OK) status = gsa_bpe_learn(p->system, words, v->data_bpe, &p->bpe, error);
    gsa_vocabulary_release(words);
    return status;
}

/* The pieces of a word: itself where there are no merges. */
static gsa_status cut(gsa_pieces *p, const gsa_slice *word, const gsa_slice **piece, int32_t *count,
                      gsa_error *error)
{
    if (p->bpe) return gsa_bpe_cut(p->bpe, *word, piece, count, error);
    *piece = word, *count = 1;
    return GSA_OK;
}

static gsa_status count_pieces(gsa_pieces *p, const gsa_text *text, gsa_error *error)
{
    gsa_status status = GSA_OK;
    const gsa_slice *piece;
    int32_t count;
    for (int64_t i = 0; i < text->tokens && status == GSA_OK; i++) {
        status = cut(p, &text->token[i], &piece, &count, error);
        for (int32_t k = 0; status == GSA_OK && k < count; k++)
            status = gsa_vocabulary_add(p->vocabulary, piece[k], 1, error);
    }
    return status;
}

gsa_status gsa_pieces_learn(const gsa_system *system, const gsa_recipe *recipe,
                            const gsa_text *texts, int count, gsa_pieces *p, gsa_error *error)
{
    *p = (gsa_pieces){ .system = system };
    gsa_status status =
        has_merges(recipe) ? learn_merges(p, &recipe->values, texts, count, error) : GSA_OK;
    if (status == GSA_OK) status = gsa_vocabulary_create(system, &p->vocabulary, error);
    for (int t = 0; t < count && status == GSA_OK; t++) status = count_pieces(p, &texts[t], error);
    if (status == GSA_OK)
        status = gsa_vocabulary_freeze(p->vocabulary, recipe->values.data_min_count, 0, error);
    return status == GSA_OK ? settle(p, error) : status;
}

/* ---- files --------------------------------------------------------------------------------- */

gsa_status gsa_pieces_restore(const gsa_system *system, const gsa_recipe *recipe,
                              const char *folder, gsa_pieces *p, gsa_error *error)
{
    char path[PATH];
    *p = (gsa_pieces){ .system = system };
    snprintf(path, sizeof path, "%s/%s", folder, CODES);
    gsa_status status = has_merges(recipe) ? gsa_bpe_read(system, path, &p->bpe, error) : GSA_OK;
    snprintf(path, sizeof path, "%s/%s", folder, VOCABULARY);
    if (status == GSA_OK) status = gsa_vocabulary_read(system, path, &p->vocabulary, error);
    return status == GSA_OK ? settle(p, error) : status;
}

gsa_status gsa_pieces_save(const gsa_pieces *p, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    gsa_status status = gsa_checkpoint_file(checkpoint, VOCABULARY, &output, error);
    if (status != GSA_OK) return status;
    status = gsa_vocabulary_write(p->vocabulary, output);
    if (status != GSA_OK) {
        gsa_output_abandon(output);
        return gsa_fail(error, status, "%s cannot be written", VOCABULARY);
    }
    status = gsa_output_commit(output, error);
    if (status == GSA_OK && p->bpe) status = gsa_checkpoint_file(checkpoint, CODES, &output, error);
    if (status != GSA_OK || !p->bpe) return status;
    gsa_bpe_write(p->bpe, output);
    return gsa_output_commit(output, error);
}

/* ---- ids ----------------------------------------------------------------------------------- */

static gsa_status room_for(const gsa_pieces *p, gsa_piece_row *row, int64_t *room, int64_t count,
                           gsa_error *error)
{
    if (count <= *room) return GSA_OK;
    const int64_t wanted = 2 * count + 64;
    int32_t *larger = gsa_resize(p->system, row->id, (size_t)wanted, sizeof *larger);
    if (!larger) return gsa_out_of_memory(error, "the pieces of a text", wanted * 4);
    row->id = larger, *room = wanted;
    return GSA_OK;
}

gsa_status gsa_pieces_number(gsa_pieces *p, const gsa_text *text, gsa_piece_row *row,
                             gsa_error *error)
{
    int64_t used = 0, room = 0;
    const gsa_slice *piece;
    int32_t count = 0;
    *row =
        (gsa_piece_row){ gsa_alloc_zero(p->system, (size_t)text->examples + 1, sizeof *row->first),
                         NULL };
    if (!row->first) return gsa_out_of_memory(error, text->path, text->examples * 8);
    gsa_status status = room_for(p, row, &room, text->tokens + 1, error);
    for (int64_t e = 0; e < text->examples && status == GSA_OK; e++) {
        for (int64_t i = text->offset[e]; i < text->offset[e + 1] && status == GSA_OK; i++) {
            status = cut(p, &text->token[i], &piece, &count, error);
            if (status == GSA_OK) status = room_for(p, row, &room, used + count, error);
            for (int32_t k = 0; status == GSA_OK && k < count; k++)
                row->id[used++] = gsa_vocabulary_find(p->vocabulary, piece[k]);
        }
        row->first[e + 1] = used;
    }
    return status;
}

gsa_status gsa_pieces_text(const gsa_pieces *p, const int32_t *id, int64_t count, char **text,
                           int64_t *room, int64_t *bytes, gsa_error *error)
{
    int on = 1; /* no blank before the first */
    *bytes = 0;
    for (int64_t i = 0; i <= count; i++) {
        gsa_slice piece =
            i < count ? gsa_vocabulary_word(p->vocabulary, id[i]) : (gsa_slice){ "", 0 };
        const int64_t needed = *bytes + piece.bytes + 2;
        if (needed > *room) {
            char *larger = gsa_resize(p->system, *text, (size_t)(2 * needed), 1);
            if (!larger) return gsa_out_of_memory(error, "a sentence", 2 * needed);
            *text = larger, *room = 2 * needed;
        }
        if (i == count) break;
        if (!on) (*text)[(*bytes)++] = ' ';
        on = p->bpe && gsa_bpe_goes_on(piece, &piece);
        memcpy(*text + *bytes, piece.at, (size_t)piece.bytes);
        *bytes += piece.bytes;
    }
    (*text)[*bytes] = 0;
    return GSA_OK;
}
