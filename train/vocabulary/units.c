#include "train/vocabulary/units.h"
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>
#include "train/settings/keys.h"

enum { PATH = 4096, NAME = 16 };
static const char line_end_word[] = "<eos>";

/* ---- splitting ----------------------------------------------------------------------------- */

/* The code point at `at` and its bytes; 0: cut off by the end, -1: invalid. */
static int64_t character(const char *at, int64_t bytes, int whole, int32_t *c)
{
    const unsigned char lead = (unsigned char)*at;
    const int64_t wanted = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    *c = lead;
    if (lead < 0x80) return 1;
    if (wanted > bytes && !whole && lead >= 0xc2 && lead < 0xf5) return 0;
    return utf8proc_iterate((const utf8proc_uint8_t *)at, wanted < bytes ? wanted : bytes, c) ==
                   wanted
               ? wanted
               : -1;
}

static int is_blank(int32_t c)
{
    if (c < 0x80) return c <= ' ';
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP || c == 0x85;
}

static int64_t next_word(const char *at, int64_t bytes, int whole, gsa_slice *unit)
{
    int64_t first = -1, length;
    int32_t c;
    for (int64_t i = 0; i < bytes; i += length) {
        length = character(at + i, bytes - i, whole, &c);
        if (length < 0 || (length > 0 && c == 0)) return -1;
        if (length == 0) return first < 0 ? i : 0; /* blanks alone are before what is cut off */
        if (first < 0 && c == '\n') return *unit = (gsa_slice){ at + i, 1 }, i + 1;
        if (first < 0 && !is_blank(c)) first = i;
        else if (first >= 0 && is_blank(c)) return *unit = (gsa_slice){ at + first, i - first }, i;
    }
    if (first < 0) return bytes;
    if (!whole) return 0;
    *unit = (gsa_slice){ at + first, bytes - first };
    return bytes;
}

int64_t gsa_unit_next(int kind, const char *at, int64_t bytes, int whole, gsa_slice *unit)
{
    int32_t c;
    *unit = (gsa_slice){ at, 0 };
    if (bytes <= 0) return 0;
    if (kind == GSA_TOKENS_WORDS) return next_word(at, bytes, whole, unit);
    const int64_t length = kind == GSA_TOKENS_BYTES ? 1 : character(at, bytes, whole, &c);
    if (length > 0) unit->bytes = length;
    return length;
}

/* ---- names --------------------------------------------------------------------------------- */

static gsa_slice name_byte(unsigned char c, char room[NAME])
{
    const char *const named = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : NULL;
    if (named) snprintf(room, NAME, "%s", named);
    else if (c < 0x20 || c >= 0x7f) snprintf(room, NAME, "\\x%02x", c);
    else room[0] = (char)c, room[1] = 0;
    return (gsa_slice){ room, (int64_t)strlen(room) };
}

static gsa_slice name_of(int kind, gsa_slice unit, char room[NAME])
{
    if (kind == GSA_TOKENS_WORDS)
        return unit.bytes == 1 && unit.at[0] == '\n'
                   ? (gsa_slice){ line_end_word, (int64_t)sizeof line_end_word - 1 }
                   : unit;
    return unit.bytes == 1 ? name_byte((unsigned char)unit.at[0], room) : unit;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that an escape names; -1: the name is none. */
static int escaped(gsa_slice name)
{
    if (name.bytes == 2 && name.at[0] == '\\')
        return name.at[1] == 'n' ? '\n' : name.at[1] == 't' ? '\t' : name.at[1] == '\\' ? '\\' : -1;
    if (name.bytes != 4 || name.at[0] != '\\' || name.at[1] != 'x' || hex(name.at[2]) < 0 ||
        hex(name.at[3]) < 0)
        return -1;
    return hex(name.at[2]) * 16 + hex(name.at[3]);
}

/* ---- ids ----------------------------------------------------------------------------------- */

static void index_units(gsa_units *u)
{
    char room[NAME];
    for (int c = 0; c < 256 && u->kind != GSA_TOKENS_WORDS; c++) {
        const char byte = (char)c;
        u->quick[c] =
            gsa_vocabulary_find(u->vocabulary, name_of(u->kind, (gsa_slice){ &byte, 1 }, room));
    }
    const int32_t line_end =
        gsa_vocabulary_find(u->vocabulary, name_of(u->kind, (gsa_slice){ "\n", 1 }, room));
    u->line_end = line_end == GSA_WORD_UNKNOWN ? 0 : line_end;
    u->first_class = u->kind == GSA_TOKENS_BYTES ? GSA_WORD_FIRST : GSA_WORD_UNKNOWN;
}

gsa_status gsa_unit_count(gsa_unit_counts *counts, int kind, gsa_slice unit, gsa_error *error)
{
    char room[NAME];
    if (kind == GSA_TOKENS_CHARS && unit.bytes == 1)
        return counts->quick[(unsigned char)unit.at[0] & 127]++, GSA_OK;
    const gsa_status status =
        gsa_vocabulary_add(counts->words, name_of(kind, unit, room), 1, error);
    return status == GSA_OK && counts->most
               ? gsa_vocabulary_bound(counts->words, counts->most, error)
               : status;
}

gsa_status gsa_units_learn(const gsa_system *system, int kind, gsa_unit_counts *counts,
                           int64_t min_count, int64_t max_words, gsa_units *units, gsa_error *error)
{
    char room[NAME];
    gsa_status status = GSA_OK;
    *units = (gsa_units){ .system = system, .kind = kind, .vocabulary = counts->words };
    counts->words = NULL;
    const int bytes = kind == GSA_TOKENS_BYTES;
    for (int c = 0; c < (bytes ? 256 : 128) && status == GSA_OK; c++)
        if (bytes || counts->quick[c] > 0)
            status = gsa_vocabulary_add(units->vocabulary, name_byte((unsigned char)c, room),
                                        bytes ? 1 : counts->quick[c], error);
    if (status == GSA_OK)
        status = gsa_vocabulary_freeze(units->vocabulary, bytes ? 1 : min_count,
                                       bytes ? 0 : max_words, error);
    if (status == GSA_OK) index_units(units);
    return status;
}

gsa_status gsa_units_restore(const gsa_system *system, int kind, const char *folder,
                             gsa_units *units, gsa_error *error)
{
    char path[PATH];
    *units = (gsa_units){ .system = system, .kind = kind };
    snprintf(path, sizeof path, "%s/vocab.txt", folder);
    const gsa_status status = gsa_vocabulary_read(system, path, &units->vocabulary, error);
    if (status != GSA_OK) return status;
    index_units(units);
    for (int c = 0; c < 256 && kind == GSA_TOKENS_BYTES; c++)
        if (units->quick[c] == GSA_WORD_UNKNOWN)
            return gsa_fail(error, GSA_ERR_FORMAT, "%s: byte 0x%02x is missing", path, c);
    return GSA_OK;
}

gsa_status gsa_units_save(const gsa_units *units, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    gsa_status status = gsa_checkpoint_file(checkpoint, "vocab.txt", &output, error);
    if (status != GSA_OK) return status;
    status = gsa_vocabulary_write(units->vocabulary, output);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return gsa_fail(error, status, "vocab.txt cannot be written");
}

void gsa_units_release(gsa_units *units)
{
    gsa_vocabulary_release(units->vocabulary);
    *units = (gsa_units){ 0 };
}

int32_t gsa_units_size(const gsa_units *units)
{
    return gsa_vocabulary_size(units->vocabulary);
}

int32_t gsa_units_id(const gsa_units *units, gsa_slice unit)
{
    char room[NAME];
    if (units->kind != GSA_TOKENS_WORDS && unit.bytes == 1)
        return units->quick[(unsigned char)unit.at[0]];
    return gsa_vocabulary_find(units->vocabulary, name_of(units->kind, unit, room));
}

gsa_slice gsa_units_text(const gsa_units *units, int32_t id, char room[4])
{
    const gsa_slice name = gsa_vocabulary_word(units->vocabulary, id);
    const int byte = id == units->line_end && id > 0   ? '\n'
                     : units->kind == GSA_TOKENS_WORDS ? -1
                                                       : escaped(name);
    if (byte < 0) return name;
    room[0] = (char)byte;
    return (gsa_slice){ room, 1 };
}
