#include "train/settings/recipe.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "gsa/hash.h"
#include "gsa/parameters.h"
#include "topologies/param.h"
#include "topologies/words.h"
#include "gsa/schedule.h"

enum { PLACE = 512, LIST = 900 };
static const char *const sections[] = { "task", "model", "train", "data", "decode", "encoder.N" };

/* ---- names --------------------------------------------------------------------------------- */

static const char *section_name(const void *context, int index)
{
    (void)context;
    return sections[index];
}

typedef struct section_keys {
    const gsa_key *keys[128];
    int count;
} section_keys;

static section_keys keys_of(const char *section)
{
    section_keys found = { .count = 0 };
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(keys[i].section, section) == 0) found.keys[found.count++] = &keys[i];
    return found;
}

static const char *key_name(const void *context, int index)
{
    return ((const section_keys *)context)->keys[index]->name;
}

/* N of "encoder.N", 0 for any other section. */
static int segment_of(const char *section)
{
    if (strncmp(section, "encoder.", 8) != 0) return 0;
    const char *digits = section + 8;
    const size_t length = strlen(digits);
    if (length < 1 || length > 4 || digits[strspn(digits, "0123456789")] || *digits == '0')
        return 0;
    int n = 0;
    for (; *digits; digits++) n = 10 * n + (*digits - '0');
    return n;
}

static gsa_status check_name(const gsa_ini *ini, const gsa_ini_entry *entry, gsa_error *error)
{
    char place[PLACE], list[LIST];
    if (segment_of(entry->section) > 0) return GSA_OK;
    const section_keys known = keys_of(entry->section);
    gsa_ini_place(ini, entry, place, sizeof place);
    if (known.count == 0) {
        gsa_word_list(list, sizeof list, section_name, NULL,
                      (int)(sizeof sections / sizeof *sections), entry->section);
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: unknown section [%s]; %s", place,
                        entry->section, list);
    }
    for (int i = 0; entry->key && i < known.count; i++)
        if (strcmp(known.keys[i]->name, entry->key) == 0) return GSA_OK;
    if (!entry->key) return GSA_OK;
    gsa_word_list(list, sizeof list, key_name, &known, known.count, entry->key);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s: unknown key '%s' of [%s]; %s", place, entry->key,
                    entry->section, list);
}

int gsa_recipe_place(const gsa_recipe *recipe, const char *section, const char *key, char *out,
                     size_t size)
{
    const gsa_ini_entry *entry = gsa_ini_find(&recipe->ini, section, key);
    if (entry) return gsa_ini_place(&recipe->ini, entry, out, size);
    return snprintf(out, size, "%s (default of %s.%s)", recipe->ini.path, section, key);
}

/* ---- values -------------------------------------------------------------------------------- */

static gsa_param param_of(const gsa_key *key)
{
    return (gsa_param){ key->name,    key->type,     0,       key->low, key->high,
                        key->choices, key->fallback, key->doc };
}

static void *member(const gsa_recipe *recipe, int index)
{
    return (char *)(uintptr_t)&recipe->values + gsa_key_offset(index);
}

/* What a value that is refused may need to be told: other readers of INI files take a comment
 * after a value. */
static const char *after_value(const char *value)
{
    return strstr(value, " #") || strstr(value, " ;") ? "; a comment has a line of its own" : "";
}

const char *gsa_recipe_task(const gsa_recipe *recipe)
{
    char number[64];
    return gsa_recipe_text(recipe, 0, number, sizeof number) == number
               ? NULL
               : gsa_ini_find(&recipe->ini, "task", "name")->value;
}

gsa_status gsa_recipe_no_task(const gsa_recipe *recipe, gsa_error *error)
{
    char place[PLACE];
    gsa_value value;
    const gsa_param param = param_of(gsa_recipe_keys(NULL));
    const gsa_status status = gsa_param_parse(&param, gsa_recipe_task(recipe), &value, error);
    gsa_recipe_place(recipe, "task", "name", place, sizeof place);
    gsa_fail_at(error, status, "%s: [task]", place);
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s; that of a plugin when it is loaded (--plugin ./FILE.so)",
                    error ? error->text : "");
}

static gsa_status resolve_one(gsa_recipe *recipe, const gsa_key *key, int index, gsa_error *error)
{
    char place[PLACE];
    const gsa_param param = param_of(key);
    const gsa_ini_entry *entry = gsa_ini_find(&recipe->ini, key->section, key->name);
    gsa_value value;
    const gsa_status status =
        gsa_param_parse(&param, entry ? entry->value : key->fallback, &value, error);
    assert(status == GSA_OK || entry); /* a fallback is a value */
    if (status != GSA_OK && index == 0 && gsa_word_ok(entry->value)) {
        value.i = GSA_TASK_PLUGGED; /* a plugin's may be so named: gsa_task_of knows, once loaded */
    } else if (status != GSA_OK) {
        gsa_recipe_place(recipe, key->section, key->name, place, sizeof place);
        gsa_fail_at(error, status, "%s: [%s]", place, key->section);
        return gsa_fail(error, GSA_ERR_FORMAT, "%s%s", error->text, after_value(entry->value));
    }
    memcpy(member(recipe, index), &value, sizeof value);
    return GSA_OK;
}

gsa_status gsa_recipe_fail(const gsa_recipe *recipe, const char *section, const char *key,
                           gsa_error *error, const char *sentence, ...)
{
    char place[PLACE], text[GSA_ERROR_SIZE];
    va_list arguments;
    va_start(arguments, sentence);
    vsnprintf(text, sizeof text, sentence, arguments);
    va_end(arguments);
    gsa_recipe_place(recipe, section, key, place, sizeof place);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s: [%s] %s %s", place, section, key, text);
}

gsa_status gsa_recipe_no_train(const gsa_recipe *recipe, gsa_error *error)
{
    return gsa_recipe_fail(recipe, "data", "train", error, "is not set: --set data.train=FILE");
}

/* -1: not a list of q, v, o. */
static int32_t bias_bits(const char *text)
{
    int32_t bits = 0;
    if (strcmp(text, "none") == 0) return 0;
    for (const char *at = text;; at++) {
        at += strspn(at, " ");
        const int32_t bit = *at == 'q'   ? GSA_BIAS_Q
                            : *at == 'v' ? GSA_BIAS_V
                            : *at == 'o' ? GSA_BIAS_O
                                         : 0;
        if (!bit || bits & bit) return -1;
        bits |= bit;
        at++;
        at += strspn(at, " ");
        if (!*at) return bits;
        if (*at != ',') return -1;
    }
}

int gsa_recipe_characters(const gsa_recipe_values *values)
{
    return *values->model_characters && strcmp(values->model_characters, "none") != 0;
}

static gsa_status check_task(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    if (v->task_name == GSA_TASK_TAGGING && gsa_recipe_characters(v) &&
        v->model_character_hidden % v->model_character_heads)
        return gsa_recipe_fail(recipe, "model", "character_heads", error,
                               "= %lld does not divide character_hidden = %lld",
                               (long long)v->model_character_heads,
                               (long long)v->model_character_hidden);
    if (v->task_name == GSA_TASK_MASKED_SUMMATION && v->task_k > v->task_n)
        return gsa_recipe_fail(recipe, "task", "k", error, "= %lld is more than n = %lld",
                               (long long)v->task_k, (long long)v->task_n);
    return GSA_OK;
}

static gsa_status check_model(const gsa_recipe *recipe, gsa_error *error)
{
    char shown[GSA_SHOWN];
    const gsa_recipe_values *v = &recipe->values;
    if (bias_bits(v->model_bias) < 0)
        return gsa_recipe_fail(recipe, "model", "bias", error,
                               "is %s, expected none or a list of q, v, o",
                               gsa_word_show(v->model_bias, shown));
    if (v->model_head_dim == 0 && v->model_hidden % v->model_heads != 0)
        return gsa_recipe_fail(recipe, "model", "heads", error,
                               "= %lld does not divide hidden = %lld: set head_dim",
                               (long long)v->model_heads, (long long)v->model_hidden);
    return GSA_OK;
}

/* A head that is the embedding reads as many columns as it has. */
static gsa_status check_tied(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    const int64_t reads = v->model_head_hidden ? v->model_head_hidden : v->model_hidden;
    const int64_t width = v->model_embedding ? v->model_embedding : v->model_hidden;
    if (!v->model_tied || reads == width) return GSA_OK;
    return gsa_recipe_fail(recipe, "model", "tied", error,
                           "= 1: the head reads %lld columns, the embedding has %lld: one width is "
                           "needed for hidden (or "
                           "head_hidden) and embedding",
                           (long long)reads, (long long)width);
}

static gsa_status check_train(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    if (v->train_batch == 0 && v->train_batch_tokens == 0)
        return gsa_recipe_fail(recipe, "train", "batch", error,
                               "and batch_tokens are both 0: one of them must limit a batch");
    if (v->train_batch * v->train_accumulate > 1 << 26) /* what gsa_model_sequence numbers */
        return gsa_recipe_fail(recipe, "train", "accumulate", error,
                               "times batch exceeds 67108864 examples");
    if (v->train_pieces & (v->train_pieces - 1))
        return gsa_recipe_fail(recipe, "train", "pieces", error,
                               "= %lld is no power of two: a binary tree adds their gradients",
                               (long long)v->train_pieces);
    if (v->train_schedule == GSA_SCHEDULE_NOAM && v->train_warmup == 0)
        return gsa_recipe_fail(recipe, "train", "schedule", error,
                               "= noam needs warmup of at least 1 step");
    if (v->data_vectors_frozen && !*v->data_vectors)
        return gsa_recipe_fail(recipe, "data", "vectors_frozen", error,
                               "= 1, but data.vectors is not set");
    return GSA_OK;
}

int gsa_recipe_sections(const gsa_recipe *recipe)
{
    int highest = 0;
    for (int i = 0; i < recipe->ini.count; i++) {
        const int n = segment_of(recipe->ini.entries[i].section);
        if (n > highest) highest = n;
    }
    return highest;
}

/* With an encoder as text, a section adds to its segment what the text cannot hold, and says
 * nothing that the text says. */
static gsa_status check_additions(const gsa_recipe *recipe, gsa_error *error)
{
    static const char *const said[] = { "topology", "layers", "share" };
    for (int i = 0; i < recipe->ini.count; i++) {
        const gsa_ini_entry *entry = &recipe->ini.entries[i];
        char place[512];
        gsa_ini_place(&recipe->ini, entry, place, sizeof place);
        for (int k = 0; k < 3 && segment_of(entry->section) > 0; k++)
            if (entry->key && strcmp(entry->key, said[k]) == 0)
                return gsa_fail(
                    error, GSA_ERR_FORMAT,
                    "%s: %s of [%s] is said by [model] encoder = %s already: one of them must go",
                    place, said[k], entry->section, recipe->values.model_encoder);
    }
    return GSA_OK;
}

static gsa_status check_encoder(const gsa_recipe *recipe, gsa_error *error)
{
    const int highest = gsa_recipe_sections(recipe);
    char section[32];
    if (*recipe->values.model_encoder) return check_additions(recipe, error);
    if (highest == 0)
        return gsa_recipe_fail(recipe, "model", "encoder", error,
                               "is not set: --set model.encoder=SPEC, or a section [encoder.1]");
    for (int n = 1; n <= highest; n++) {
        snprintf(section, sizeof section, "encoder.%d", n);
        if (!gsa_ini_find(&recipe->ini, section, "topology"))
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: section [%s] with its key 'topology' is missing", recipe->ini.path,
                            section);
    }
    return GSA_OK;
}

static gsa_status resolve(gsa_recipe *recipe, gsa_error *error)
{
    gsa_status status = GSA_OK;
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < recipe->ini.count && status == GSA_OK; i++)
        status = check_name(&recipe->ini, &recipe->ini.entries[i], error);
    for (int i = 0; i < count && status == GSA_OK; i++)
        status = resolve_one(recipe, &keys[i], i, error);
    if (status == GSA_OK) status = gsa_recipe_read_by_task(recipe, error);
    if (status == GSA_OK) status = check_task(recipe, error);
    if (status == GSA_OK) status = check_model(recipe, error);
    if (status == GSA_OK) status = check_tied(recipe, error);
    if (status == GSA_OK) status = check_train(recipe, error);
    return status == GSA_OK ? check_encoder(recipe, error) : status;
}

/* An override, or what keys a name without its section may have meant. */
static gsa_status set_one(gsa_recipe *recipe, const char *text, gsa_error *error)
{
    char meant[LIST] = "";
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    const gsa_status status = gsa_ini_set(&recipe->ini, text, error);
    const size_t bytes = strcspn(text, ".= ");
    if (status == GSA_OK || status == GSA_ERR_MEMORY || text[bytes] == '.') return status;
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(meant);
        if (strlen(keys[i].name) == bytes && strncmp(keys[i].name, text, bytes) == 0)
            snprintf(meant + used, sizeof meant - used, "%s%s.%s", used ? " or " : ": ",
                     keys[i].section, keys[i].name);
    }
    const size_t room = sizeof error->text, used = strlen(error->text);
    snprintf(error->text + used, room - used, "%s", meant);
    return status;
}

gsa_status gsa_recipe_read(const gsa_system *system, const char *path, const char *const *overrides,
                           int n_overrides, gsa_recipe *recipe, gsa_error *error)
{
    gsa_error own;
    if (!error) error = &own;
    *recipe = (gsa_recipe){ 0 };
    gsa_status status = gsa_ini_read(system, path, &recipe->ini, error);
    for (int i = 0; i < n_overrides && status == GSA_OK; i++)
        status = set_one(recipe, overrides[i], error);
    if (status == GSA_OK) status = resolve(recipe, error);
    if (status != GSA_OK) gsa_recipe_release(recipe);
    return status;
}

void gsa_recipe_release(gsa_recipe *recipe)
{
    gsa_ini_release(&recipe->ini);
    *recipe = (gsa_recipe){ 0 };
}

/* ---- writing ------------------------------------------------------------------------------- */

const char *gsa_recipe_text(const gsa_recipe *recipe, int index, char *number, size_t size)
{
    gsa_value value;
    const gsa_key *key = &gsa_recipe_keys(NULL)[index];
    const gsa_param param = param_of(key);
    memcpy(&value, member(recipe, index), sizeof value);
    if (key->type == GSA_PATH) return value.s;
    if (index == 0 && value.i == GSA_TASK_PLUGGED)
        return gsa_ini_find(&recipe->ini, "task", "name")->value;
    gsa_param_format(&param, value, number, size);
    return number;
}

int gsa_recipe_is_default(const gsa_recipe *recipe, int index)
{
    gsa_value value, usual = { 0 };
    const gsa_key *key = &gsa_recipe_keys(NULL)[index];
    const gsa_param param = param_of(key);
    memcpy(&value, member(recipe, index), sizeof value);
    if (key->type == GSA_PATH) return strcmp(value.s, key->fallback) == 0;
    gsa_param_parse(&param, key->fallback, &usual, NULL); /* a fallback is a value */
    return memcmp(&value, &usual, sizeof value) == 0;
}

/* Where the lines go: to an output, or, where that is NULL, they are compared with `rest`, which is
 * NULL once another text came. */
typedef struct lines_to {
    gsa_output *output;
    const char *rest;
} lines_to;

static void put(lines_to *to, const char *text)
{
    const size_t bytes = strlen(text);
    if (to->output) gsa_output_text(to->output, text);
    else if (to->rest) to->rest = strncmp(to->rest, text, bytes) == 0 ? to->rest + bytes : NULL;
}

static void put_section(lines_to *to, const char *name, int first)
{
    put(to, first ? "[" : "\n[");
    put(to, name);
    put(to, "]\n");
}

static void put_key(lines_to *to, const char *key, const char *value)
{
    put(to, key);
    put(to, *value ? " = " : " =");
    put(to, value);
    put(to, "\n");
}

static void put_segments(lines_to *to, const gsa_recipe *recipe)
{
    char section[32];
    for (int n = 1; n <= gsa_recipe_sections(recipe); n++) {
        int keys = 0;
        snprintf(section, sizeof section, "encoder.%d", n);
        for (int i = 0; i < recipe->ini.count; i++) {
            const gsa_ini_entry *e = &recipe->ini.entries[i];
            if (strcmp(e->section, section) != 0 || !e->key ||
                gsa_ini_find(&recipe->ini, section, e->key) != e)
                continue;
            if (keys++ == 0) put_section(to, section, 0);
            put_key(to, e->key, e->value);
        }
    }
}

static void put_recipe(lines_to *to, const gsa_recipe *recipe)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    const char *section = "";
    for (int i = 0; i < count; i++) {
        char number[64];
        if (strcmp(section, keys[i].section) != 0) put_section(to, keys[i].section, i == 0);
        section = keys[i].section;
        put_key(to, keys[i].name, gsa_recipe_text(recipe, i, number, sizeof number));
    }
    put_segments(to, recipe);
}

void gsa_recipe_write(const gsa_recipe *recipe, gsa_output *output)
{
    put_recipe(&(lines_to){ .output = output }, recipe);
}

gsa_status gsa_recipe_is_written(const gsa_system *system, const char *path, int *is,
                                 gsa_error *error)
{
    enum { LONGEST = 1 << 20 };
    char *text = NULL;
    int64_t bytes;
    gsa_recipe recipe = { 0 };
    *is = 0;
    gsa_status status = gsa_read_file(system, path, LONGEST, &text, &bytes, error);
    if (status == GSA_OK) status = gsa_recipe_read(system, path, NULL, 0, &recipe, error);
    if (status == GSA_OK) {
        lines_to compared = { .rest = text };
        put_recipe(&compared, &recipe);
        *is = compared.rest == text + bytes;
    }
    gsa_recipe_release(&recipe);
    gsa_release(system, text);
    return status == GSA_ERR_MEMORY || status == GSA_ERR_IO ? status : GSA_OK;
}

/* ---- one recipe and another ---------------------------------------------------------------- */

/* Keys of the sections [encoder.N]: those of `a` that `b` has not, or has with another value. */
static int segments_differ(const gsa_recipe *a, const gsa_recipe *b, char *what, size_t size)
{
    for (int i = 0; i < a->ini.count; i++) {
        const gsa_ini_entry *e = &a->ini.entries[i];
        if (!e->key || segment_of(e->section) == 0 ||
            gsa_ini_find(&a->ini, e->section, e->key) != e)
            continue;
        const gsa_ini_entry *other = gsa_ini_find(&b->ini, e->section, e->key);
        if (other && strcmp(other->value, e->value) == 0) continue;
        snprintf(what, size, "%s.%s is %s and %s", e->section, e->key, e->value,
                 other ? other->value : "not set");
        return 1;
    }
    return 0;
}

int gsa_recipe_differs(const gsa_recipe *a, const gsa_recipe *b, char *what, size_t size)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        char number[2][64];
        const char *const text[] = { gsa_recipe_text(a, i, number[0], sizeof number[0]),
                                     gsa_recipe_text(b, i, number[1], sizeof number[1]) };
        if (strcmp(text[0], text[1]) == 0) continue;
        snprintf(what, size, "%s.%s is %s and %s", keys[i].section, keys[i].name, text[0], text[1]);
        return 1;
    }
    return segments_differ(a, b, what, size) || segments_differ(b, a, what, size);
}

static int named(const char *const *texts, int count, const char *section, const char *key)
{
    const size_t bytes = strlen(section), more = strlen(key);
    for (int i = 0; i < count; i++)
        if (strncmp(texts[i], section, bytes) == 0 && texts[i][bytes] == '.' &&
            strncmp(texts[i] + bytes + 1, key, more) == 0 && texts[i][bytes + 1 + more] == '=')
            return 1;
    return 0;
}

static void hash_line(gsa_sha256 *hash, const char *section, const char *key, const char *value)
{
    const char *const parts[] = { section, ".", key, "=", value, "\n" };
    for (int i = 0; i < 6; i++) gsa_sha256_add(hash, parts[i], (int64_t)strlen(parts[i]));
}

void gsa_recipe_hash(const gsa_recipe *recipe, const char *const *except, int n_except,
                     char hex[65])
{
    int count;
    gsa_sha256 hash;
    const gsa_key *keys = gsa_recipe_keys(&count);
    gsa_sha256_start(&hash);
    for (int i = 0; i < count; i++) {
        char number[64];
        const char *text = gsa_recipe_text(recipe, i, number, sizeof number);
        if (!named(except, n_except, keys[i].section, keys[i].name))
            hash_line(&hash, keys[i].section, keys[i].name, text);
    }
    for (int i = 0; i < recipe->ini.count; i++) {
        const gsa_ini_entry *e = &recipe->ini.entries[i];
        if (e->key && segment_of(e->section) > 0 &&
            gsa_ini_find(&recipe->ini, e->section, e->key) == e &&
            !named(except, n_except, e->section, e->key))
            hash_line(&hash, e->section, e->key, e->value);
    }
    gsa_sha256_end(&hash, hex);
}

/* ---- what the model is made of ------------------------------------------------------------- */

gsa_settings gsa_recipe_settings(const gsa_recipe *recipe)
{
    static const int32_t inits[] = { GSA_INIT_XAVIER, GSA_INIT_NORMAL, GSA_INIT_UNIFORM,
                                     GSA_INIT_FAN_IN };
    const gsa_recipe_values *v = &recipe->values;
    gsa_settings s = gsa_settings_default();
    s.hidden = (int32_t)v->model_hidden, s.heads = (int32_t)v->model_heads,
    s.head_dim = (int32_t)v->model_head_dim;
    s.ffn = (int32_t)v->model_ffn, s.activation = (int32_t)v->model_activation,
    s.norm = (int32_t)v->model_norm;
    s.bias = bias_bits(v->model_bias), s.scale = (int32_t)v->model_scale,
    s.init = inits[v->model_init];
    s.init_scale = v->model_init_scale, s.norm_eps = v->model_norm_eps;
    s.dropout_input = v->model_dropout_input, s.dropout_attention = v->model_dropout_attention;
    s.dropout_hidden = v->model_dropout_hidden, s.dropout_ffn = v->model_dropout_ffn;
    s.dropout_head = v->model_dropout_head;
    s.input = (int32_t)v->model_input, s.input_scale = v->model_input_scale,
    s.position = (int32_t)v->model_position;
    s.position_max = (int32_t)v->model_position_max, s.position_base = v->model_position_base;
    s.readout = (int32_t)v->model_readout;
    return s;
}
