#include "train/vocabulary/bpe.h"
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"
#include "train/vocabulary/bpe_parts.h"
#include "train/data/lines.h"

static const int64_t LARGEST = INT64_C(1) << 30, REMEMBERED = INT64_C(1)
                                                              << 22; /* bytes of a file; pieces */
static const char HEADER[] = "#version: 0.2", LAST[] = "</w>";
static const gsa_slice NOTHING = { "", 0 }, MARK = { "@@", 2 };

/* ---- making one ---------------------------------------------------------------------------- */

gsa_status gsa_bpe_create(const gsa_system *system, gsa_bpe **bpe, gsa_error *error)
{
    gsa_bpe *b = *bpe = gsa_alloc_zero(system, 1, sizeof *b);
    if (!b) return gsa_out_of_memory(error, "byte pairs", sizeof *b);
    b->system = b->symbols.system = b->rank.system = b->words.system = system;
    return GSA_OK;
}

void gsa_bpe_release(gsa_bpe *b)
{
    if (!b) return;
    gsa_symbols_release(&b->symbols);
    gsa_symbols_release(&b->words);
    gsa_couples_release(&b->rank);
    gsa_release(b->system, b->merge);
    gsa_release(b->system, b->cut);
    gsa_release(b->system, b->piece);
    gsa_release(b->system, b->joining);
    gsa_release(b->system, b->shown);
    gsa_release(b->system, b);
}

int32_t gsa_bpe_merges(const gsa_bpe *b)
{
    return b->merges;
}

int gsa_bpe_room(const gsa_system *system, void **at, int64_t *room, int64_t count, size_t size)
{
    if (count <= *room && *at) return 1;
    const int64_t wanted = 2 * count + 16;
    void *larger = gsa_resize(system, *at, (size_t)wanted, size);
    if (larger) *at = larger, *room = wanted;
    return larger != NULL;
}

static int ends_in(gsa_slice text, const char *tail)
{
    const int64_t bytes = (int64_t)strlen(tail);
    return text.bytes >= bytes && memcmp(text.at + text.bytes - bytes, tail, (size_t)bytes) == 0;
}

int gsa_bpe_goes_on(gsa_slice piece, gsa_slice *text)
{
    const int on = ends_in(piece, MARK.at);
    *text = (gsa_slice){ piece.at, piece.bytes - (on ? MARK.bytes : 0) };
    return on;
}

/* What the two make ends in the last bytes of `tail`: its end may lie in the left one. */
static int joined_ends_in(gsa_slice left, gsa_slice right, const char *tail)
{
    int64_t i = right.bytes, k = left.bytes, t = (int64_t)strlen(tail);
    while (t > 0 && (i > 0 || k > 0))
        if (tail[--t] != (i > 0 ? right.at[--i] : left.at[--k])) return 0;
    return t == 0;
}

int gsa_bpe_joins(const gsa_bpe *b, int32_t left, int32_t right)
{
    gsa_slice l, r;
    if (!gsa_bpe_goes_on(gsa_symbols_text(&b->symbols, left), &l)) return 0;
    const int on = gsa_bpe_goes_on(gsa_symbols_text(&b->symbols, right), &r);
    return !joined_ends_in(l, r, on ? LAST : MARK.at);
}

gsa_status gsa_bpe_append(gsa_bpe *b, int32_t left, int32_t right, int32_t *into, gsa_error *error)
{
    gsa_slice head;
    void *at = b->merge;
    int64_t room = b->merge_room;
    gsa_bpe_goes_on(gsa_symbols_text(&b->symbols, left), &head);
    *into = gsa_symbols_add(&b->symbols, head, gsa_symbols_text(&b->symbols, right));
    const int held =
        *into >= 0 && gsa_bpe_room(b->system, &at, &room, (int64_t)b->merges + 1, sizeof *b->merge);
    b->merge = at, b->merge_room = (int32_t)room;
    int32_t *rank = held ? gsa_couples_at(&b->rank, left, right) : NULL;
    if (!rank) return gsa_out_of_memory(error, "byte pairs", room * (int64_t)sizeof *b->merge);
    *rank = b->merges;
    b->merge[b->merges++] = (gsa_merge){ left, right, *into };
    return GSA_OK;
}

/* ---- cutting ------------------------------------------------------------------------------- */

int32_t gsa_bpe_characters(gsa_bpe *b, gsa_slice word, int32_t *symbol)
{
    int32_t count = 0;
    for (int64_t i = 0, length; i < word.bytes; i += length) {
        length = gsa_utf8_length(word.at + i);
        symbol[count] = gsa_symbols_add(&b->symbols, (gsa_slice){ word.at + i, length },
                                        i + length < word.bytes ? MARK : NOTHING);
        if (symbol[count++] < 0) return -1;
    }
    return count;
}

int32_t gsa_bpe_join(int32_t *symbol, int32_t count, const gsa_merge *merge)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        const int here = i + 1 < count && symbol[i] == merge->left && symbol[i + 1] == merge->right;
        symbol[kept++] = here ? merge->into : symbol[i];
        i += here;
    }
    return kept;
}

/* Joins what was learned first, wherever it is, until nothing can be joined. */
static int32_t join_all(const gsa_bpe *b, int32_t *symbol, int32_t count)
{
    for (;;) {
        int32_t best = INT32_MAX;
        for (int32_t i = 0; i + 1 < count; i++) {
            const int32_t rank = gsa_couples_find(&b->rank, symbol[i], symbol[i + 1]);
            if (rank >= 0 && rank < best) best = rank;
        }
        if (best == INT32_MAX) return count;
        count = gsa_bpe_join(symbol, count, &b->merge[best]);
    }
}

static gsa_status cut_new(gsa_bpe *b, gsa_slice word, gsa_bpe_word *cut, gsa_error *error)
{
    void *joining = b->joining, *piece = b->piece;
    int held = gsa_bpe_room(b->system, &joining, &b->joining_room, word.bytes, sizeof *b->joining);
    b->joining = joining;
    int32_t count = held ? gsa_bpe_characters(b, word, b->joining) : -1;
    if (count >= 0) {
        count = join_all(b, b->joining, count);
        held = gsa_bpe_room(b->system, &piece, &b->piece_room, b->pieces + count, sizeof *b->piece);
        b->piece = piece;
    }
    if (!held || count < 0)
        return gsa_out_of_memory(error, "pieces of words",
                                 word.bytes * (int64_t)sizeof *b->joining);
    memcpy(b->piece + b->pieces, b->joining, (size_t)count * sizeof *b->piece);
    *cut = (gsa_bpe_word){ b->pieces, count, 0 };
    b->pieces += count;
    return GSA_OK;
}

/* The word's place among those that were cut, now or before. */
static gsa_status find_cut(gsa_bpe *b, gsa_slice word, gsa_bpe_word *cut, gsa_error *error)
{
    int32_t at = gsa_symbols_find(&b->words, word);
    if (at >= 0) {
        *cut = b->cut[at];
        return GSA_OK;
    }
    if (b->pieces > REMEMBERED) gsa_symbols_clear(&b->words), b->pieces = 0;
    void *cuts = b->cut;
    int64_t room = b->cut_room;
    const gsa_status status = cut_new(b, word, cut, error);
    if (status != GSA_OK) return status;
    const int held =
        gsa_bpe_room(b->system, &cuts, &room, (int64_t)b->words.count + 1, sizeof *b->cut);
    b->cut = cuts, b->cut_room = (int32_t)room;
    at = held ? gsa_symbols_add(&b->words, word, NOTHING) : -1;
    if (at < 0) return gsa_out_of_memory(error, "pieces of words", word.bytes);
    b->cut[at] = *cut;
    return GSA_OK;
}

gsa_status gsa_bpe_cut(gsa_bpe *b, gsa_slice word, const gsa_slice **piece, int32_t *count,
                       gsa_error *error)
{
    gsa_bpe_word cut = { 0 };
    if (word.bytes <= 0) return gsa_fail(error, GSA_ERR_ARGUMENT, "a word to be cut is empty");
    gsa_status status = find_cut(b, word, &cut, error);
    if (status != GSA_OK) return status;
    void *shown = b->shown;
    const int held = gsa_bpe_room(b->system, &shown, &b->shown_room, cut.count, sizeof *b->shown);
    b->shown = shown;
    if (!held)
        return gsa_out_of_memory(error, "pieces of words", cut.count * (int64_t)sizeof *b->shown);
    for (int32_t i = 0; i < cut.count; i++)
        b->shown[i] = gsa_symbols_text(&b->symbols, b->piece[cut.first + i]);
    *piece = b->shown, *count = cut.count;
    return GSA_OK;
}

/* ---- files --------------------------------------------------------------------------------- */

void gsa_bpe_write(const gsa_bpe *b, gsa_output *output)
{
    gsa_output_format(output, "%s\n", HEADER);
    for (int32_t m = 0; m < b->merges; m++) {
        gsa_slice left, right;
        gsa_bpe_goes_on(gsa_symbols_text(&b->symbols, b->merge[m].left), &left);
        const int on = gsa_bpe_goes_on(gsa_symbols_text(&b->symbols, b->merge[m].right), &right);
        gsa_output_write(output, left.at, left.bytes);
        gsa_output_text(output, " ");
        gsa_output_write(output, right.at, right.bytes);
        gsa_output_text(output, on ? "\n" : "</w>\n");
    }
}

static gsa_status read_merge(gsa_bpe *b, const gsa_lines *lines, const char *line, int64_t bytes,
                             gsa_error *error)
{
    const char *blank = bytes > 0 ? memchr(line, ' ', (size_t)bytes) : NULL;
    const gsa_slice left = { line, blank ? blank - line : 0 };
    gsa_slice right = { blank ? blank + 1 : line, blank ? line + bytes - blank - 1 : 0 };
    const int last = ends_in(right, LAST);
    int32_t into;
    if (last) right.bytes -= (int64_t)sizeof LAST - 1;
    if (left.bytes == 0 || right.bytes == 0 || memchr(right.at, ' ', (size_t)right.bytes))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%lld: expected two pieces with one blank between them: 'lo w</w>'",
                        lines->path, (long long)lines->number);
    const int32_t l = gsa_symbols_add(&b->symbols, left, MARK);
    const int32_t r = gsa_symbols_add(&b->symbols, right, last ? NOTHING : MARK);
    if (l < 0 || r < 0) return gsa_out_of_memory(error, "byte pairs", bytes);
    if (gsa_couples_find(&b->rank, l, r) >= 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: the pair is in line %d already",
                        lines->path, (long long)lines->number,
                        gsa_couples_find(&b->rank, l, r) + 2);
    if ((last && ends_in(right, MARK.at)) || !gsa_bpe_joins(b, l, r))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%lld: the pair makes a piece that ends in %s, which is a mark",
                        lines->path, (long long)lines->number, last ? MARK.at : LAST);
    return gsa_bpe_append(b, l, r, &into, error);
}

static gsa_status read_merges(gsa_bpe *b, const char *path, char *text, int64_t bytes,
                              gsa_error *error)
{
    gsa_lines lines = gsa_lines_start(path, text, bytes);
    gsa_status status = GSA_OK;
    char *line;
    if (!gsa_lines_next(&lines, &line, &bytes) || bytes != (int64_t)sizeof HEADER - 1 ||
        memcmp(line, HEADER, sizeof HEADER - 1) != 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:1: expected the line '%s' of a file of merges",
                        path, HEADER);
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &bytes)) {
        status = gsa_lines_check(&lines, line, bytes, error);
        if (status == GSA_OK) status = read_merge(b, &lines, line, bytes, error);
    }
    return status;
}

gsa_status gsa_bpe_read(const gsa_system *system, const char *path, gsa_bpe **bpe, gsa_error *error)
{
    char *text;
    int64_t bytes;
    *bpe = NULL;
    gsa_status status = gsa_read_file(system, path, LARGEST, &text, &bytes, error);
    if (status != GSA_OK) return status;
    status = gsa_bpe_create(system, bpe, error);
    if (status == GSA_OK) status = read_merges(*bpe, path, text, bytes, error);
    gsa_release(system, text);
    if (status != GSA_OK) gsa_bpe_release(*bpe), *bpe = NULL;
    return status;
}
