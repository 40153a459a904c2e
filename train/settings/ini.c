#include "train/settings/ini.h"
#include <stdio.h>
#include <string.h>
#include "graph/slots.h"
#include "graph/utf8.h"
#include "topologies/words.h"

enum { LARGEST = 1 << 24 };

static int is_name(const char *text)
{
    return *text >= 'a' && *text <= 'z' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == 0;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts blanks at both ends, in place. */
static char *trim(char *text)
{
    while (is_blank(*text)) text++;
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1])) length--;
    text[length] = 0;
    return text;
}

/* ---- entries, found by a table of slots: the number of the last entry of a name + 1 ---------- */

/* No key is "": a section's line has that. */
static const char *key_or_none(const char *key)
{
    return key ? key : "";
}

static int is_named(const gsa_ini_entry *e, const char *section, const char *key)
{
    return strcmp(e->section, section) == 0 && strcmp(key_or_none(e->key), key) == 0;
}

/* The slot of that name, or the free one where it would be; slots are 2 * room, a power of 2. */
static int32_t *slot_of(const gsa_ini *ini, const char *section, const char *key)
{
    const uint32_t mask = 2 * (uint32_t)ini->room - 1;
    key = key_or_none(key);
    uint64_t hash = gsa_slot_seed(ini->slot);
    hash = gsa_slot_hash(hash, section, (int64_t)strlen(section));
    hash = gsa_slot_hash(hash, key, (int64_t)strlen(key));
    uint32_t at = (uint32_t)hash & mask;
    while (ini->slot[at] && !is_named(&ini->entries[ini->slot[at] - 1], section, key))
        at = (at + 1) & mask;
    return &ini->slot[at];
}

static gsa_status grow(gsa_ini *ini, gsa_error *error)
{
    const int room = ini->room ? 2 * ini->room : 64;
    gsa_ini_entry *larger = gsa_resize(ini->system, ini->entries, (size_t)room, sizeof *larger);
    if (larger) ini->entries = larger;
    int32_t *slot = larger ? gsa_alloc_zero(ini->system, 2 * (size_t)room, sizeof *slot) : NULL;
    if (!slot) return gsa_out_of_memory(error, "recipe", room * (int64_t)sizeof *larger);
    gsa_release(ini->system, ini->slot);
    ini->slot = slot, ini->room = room;
    for (int i = 0; i < ini->count; i++)
        *slot_of(ini, ini->entries[i].section, ini->entries[i].key) = i + 1;
    return GSA_OK;
}

static gsa_status append(gsa_ini *ini, gsa_ini_entry entry, gsa_error *error)
{
    const gsa_status status = ini->count == ini->room ? grow(ini, error) : GSA_OK;
    if (status != GSA_OK) return status;
    ini->entries[ini->count++] = entry;
    *slot_of(ini, entry.section, entry.key) = ini->count;
    return GSA_OK;
}

static const gsa_ini_entry *find(const gsa_ini *ini, const char *section, const char *key)
{
    const int32_t place = ini->slot ? *slot_of(ini, section, key) : 0;
    return place ? &ini->entries[place - 1] : NULL;
}

static gsa_status add_section(gsa_ini *ini, char *text, int line, const char **section,
                              gsa_error *error)
{
    char shown[GSA_SHOWN];
    char *close = strchr(text, ']');
    if (!close || close[1])
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%d: %s is no section line, expected [name]",
                        ini->path, line, gsa_word_show(text, shown));
    *close = 0;
    char *name = trim(text + 1);
    if (!is_name(name))
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "%s:%d: the section's name is %s, expected small letters, digits, '_' and '.'",
            ini->path, line, gsa_word_show(name, shown));
    const gsa_ini_entry *before = find(ini, name, NULL);
    if (before)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%d: section [%s] is already in line %d",
                        ini->path, line, name, before->line);
    *section = name;
    return append(ini, (gsa_ini_entry){ .section = name, .line = line }, error);
}

static gsa_status add_value(gsa_ini *ini, char *text, int line, const char *section,
                            gsa_error *error)
{
    char shown[GSA_SHOWN];
    char *equals = strchr(text, '=');
    if (!equals)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%d: %s has no '=', expected key = value, [section] or # comment",
                        ini->path, line, gsa_word_show(text, shown));
    *equals = 0;
    const char *key = trim(text), *value = trim(equals + 1);
    if (!is_name(key))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%d: the key is %s, expected small letters, digits, '_' and '.'",
                        ini->path, line, gsa_word_show(key, shown));
    if (!section)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%d: key '%s' is before the first [section]",
                        ini->path, line, key);
    const gsa_ini_entry *before = find(ini, section, key);
    if (before)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%d: key '%s' of [%s] is already in line %d",
                        ini->path, line, key, section, before->line);
    return append(ini,
                  (gsa_ini_entry){ .section = section, .key = key, .value = value, .line = line },
                  error);
}

static gsa_status check_line(const gsa_ini *ini, const char *text, int64_t bytes, int line,
                             gsa_error *error)
{
    const int64_t bad = gsa_utf8_invalid(text, bytes);
    if (bad >= 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%d: invalid UTF-8 at byte %lld of the line",
                        ini->path, line, (long long)bad + 1);
    if (memchr(text, 0, (size_t)bytes))
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%d: the line holds a NUL byte", ini->path, line);
    return GSA_OK;
}

static gsa_status parse(gsa_ini *ini, int64_t bytes, gsa_error *error)
{
    const char *section = NULL;
    char *at = ini->bytes, *const end = at + bytes;
    if (bytes >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    gsa_status status = GSA_OK;
    for (int line = 1; at < end && status == GSA_OK; line++) {
        char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        if (stop > at && stop[-1] == '\r') stop--;
        status = check_line(ini, at, stop - at, line, error);
        *stop = 0;
        char *text = trim(at);
        at = next;
        if (status != GSA_OK || !*text || *text == '#' || *text == ';') continue;
        status = *text == '[' ? add_section(ini, text, line, &section, error)
                              : add_value(ini, text, line, section, error);
    }
    return status;
}

gsa_status gsa_ini_read(const gsa_system *system, const char *path, gsa_ini *ini, gsa_error *error)
{
    int64_t bytes;
    *ini = (gsa_ini){ .system = system };
    gsa_status status = gsa_read_file(system, path, LARGEST, &ini->bytes, &bytes, error);
    if (status != GSA_OK) return status;
    ini->path = gsa_copy_text(system, path);
    status = ini->path ? parse(ini, bytes, error)
                       : gsa_out_of_memory(error, "recipe", (int64_t)strlen(path));
    if (status != GSA_OK) gsa_ini_release(ini);
    return status;
}

static gsa_status keep_copy(gsa_ini *ini, const char *text, char **copy, gsa_error *error)
{
    char **larger = gsa_resize(ini->system, ini->copies, (size_t)ini->n_copies + 1, sizeof *larger);
    if (larger) ini->copies = larger;
    *copy = larger ? gsa_copy_text(ini->system, text) : NULL;
    if (!*copy) return gsa_out_of_memory(error, "--set", (int64_t)strlen(text));
    ini->copies[ini->n_copies++] = *copy;
    return GSA_OK;
}

gsa_status gsa_ini_set(gsa_ini *ini, const char *text, gsa_error *error)
{
    char shown[GSA_SHOWN], *copy;
    if (gsa_utf8_invalid(text, (int64_t)strlen(text)) >= 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--set %s is no valid UTF-8",
                        gsa_word_show(text, shown));
    const gsa_status status = keep_copy(ini, text, &copy, error);
    if (status != GSA_OK) return status;
    char *equals = strchr(copy, '='), *dot = NULL;
    for (char *c = copy; equals && c < equals; c++) dot = *c == '.' ? c : dot;
    if (!dot)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--set %s: expected section.key=value",
                        gsa_word_show(text, shown));
    *equals = *dot = 0;
    const char *section = trim(copy), *key = trim(dot + 1), *value = trim(equals + 1);
    if (!is_name(section) || !is_name(key) || strpbrk(value, "\n\r"))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--set %s: expected section.key=value",
                        gsa_word_show(text, shown));
    return append(ini, (gsa_ini_entry){ .section = section, .key = key, .value = value }, error);
}

void gsa_ini_release(gsa_ini *ini)
{
    for (int i = 0; i < ini->n_copies; i++) gsa_release(ini->system, ini->copies[i]);
    gsa_release(ini->system, ini->copies);
    gsa_release(ini->system, ini->entries);
    gsa_release(ini->system, ini->slot);
    gsa_release(ini->system, ini->bytes);
    gsa_release(ini->system, ini->path);
    *ini = (gsa_ini){ 0 };
}

const gsa_ini_entry *gsa_ini_find(const gsa_ini *ini, const char *section, const char *key)
{
    return find(ini, section, key);
}

int gsa_ini_place(const gsa_ini *ini, const gsa_ini_entry *entry, char *out, size_t size)
{
    if (entry->line > 0) return snprintf(out, size, "%s:%d", ini->path, entry->line);
    return snprintf(out, size, "--set %s.%s", entry->section, entry->key);
}
