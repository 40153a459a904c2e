#include "page_data.h"
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "support/suite.h"

/* ---- columns ------------------------------------------------------------------------------- */

static int six_bits(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static unsigned char *decode(const char *text, int64_t *bytes)
{
    const size_t length = strlen(text);
    unsigned char *out = malloc(length + 1);
    unsigned bits = 0;
    int held = 0;
    *bytes = 0;
    ck_assert_msg(length % 4 == 0, "%zu letters are no base64", length);
    for (const char *c = text; *c && *c != '='; c++) {
        if (six_bits(*c) < 0) ck_abort_msg("'%c' is no letter of base64", *c);
        bits = bits << 6 | (unsigned)six_bits(*c), held += 6;
        if (held >= 8) out[(*bytes)++] = (unsigned char)(bits >> (held -= 8));
    }
    return out;
}

typedef struct bits {
    const unsigned char *bytes;
    int64_t at, end;
} bits;

static uint32_t take(bits *b, int count)
{
    uint32_t value = 0;
    if (count > b->end - b->at) ck_abort_msg("a column ends at bit %lld", (long long)b->at);
    for (; count > 0; count--, b->at++)
        value = value << 1 | (b->bytes[b->at / 8] >> (7 - b->at % 8) & 1u);
    return value;
}

/* Rice's code: in blocks of 128 k, and of each value its quotient in ones, and its rest. */
static void decode_blocks(bits *b, int64_t count, int64_t steps, double *values)
{
    uint32_t last = 0, step = 0;
    int k = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t ones = 0;
        if (i % 128 == 0) k = (int)take(b, 5);
        while (ones < 16 && take(b, 1)) ones++;
        const uint32_t coded = ones < 16 ? ones << k | take(b, k) : take(b, 32);
        step += coded % 2 ? 0u - (coded / 2 + 1) : coded / 2;
        last += step;
        values[i] = steps ? coded / (double)steps : last;
    }
    ck_assert_int_lt(b->end - b->at, 8);
}

/* Every value as a double; NULL: the object has no such column. */
static double *column(const json_t *object, const char *key, int64_t *count)
{
    const json_t *coded = json_object_get(object, key);
    if (!coded) return NULL;
    const char *type = json_string_value(json_object_get(coded, "type"));
    const int64_t steps = json_integer_value(json_object_get(coded, "steps"));
    int64_t bytes;
    unsigned char *raw = decode(json_string_value(json_object_get(coded, "base64")), &bytes);
    *count = json_integer_value(json_object_get(coded, "count"));
    double *values = malloc((size_t)(*count + 1) * sizeof *values);
    if (strcmp(type, "f32") == 0) {
        ck_assert_int_eq(bytes, 4 * *count);
        for (int64_t i = 0; i < *count; i++) {
            float real;
            memcpy(&real, raw + 4 * i, sizeof real);
            values[i] = (double)real;
        }
    } else {
        ck_assert_int_eq(steps > 0, strcmp(type, "steps") == 0);
        ck_assert(steps > 0 || strcmp(type, "curve") == 0);
        decode_blocks(&(bits){ raw, 0, 8 * bytes }, *count, steps, values);
    }
    free(raw);
    return values;
}

/* ---- sheets -------------------------------------------------------------------------------- */

static int64_t integer(const json_t *object, const char *key, int64_t missing)
{
    const json_t *value = json_object_get(object, key);
    return value ? json_integer_value(value) : missing;
}

static json_t *sheet_at(const page_data *page, int64_t number)
{
    return json_array_get(json_object_get(page->json, "sheets"), (size_t)number);
}

static void structure(page_data *page, const json_t *sheet, page_edge *edge)
{
    const json_t *kinds = json_object_get(page->json, "kinds"),
                 *readers = json_object_get(sheet, "readers");
    const int64_t total = integer(sheet, "edges", -1), heads = integer(sheet, "heads", 0);
    int64_t rows = 0, froms = 0, labels = 0, from_heads = 0, at = 0, row = 0;
    double *degree = column(sheet, "degree", &rows), *from = column(sheet, "from", &froms),
           *label = column(sheet, "label", &labels),
           *head = column(sheet, "head_from", &from_heads);
    ck_assert_int_eq(froms, total);
    ck_assert(!label || labels == total);
    ck_assert((head != NULL) == (heads > 0) && (!head || from_heads == total));
    for (size_t r = 0; r < json_array_size(readers); r++) {
        const size_t kind = (size_t)json_integer_value(json_array_get(readers, r));
        int64_t first = 0;
        for (size_t k = 0; k < kind; k++) first += integer(json_array_get(kinds, k), "count", 0);
        const int64_t count = integer(json_array_get(kinds, kind), "count", -1);
        for (int64_t i = 0; i < count * (heads ? heads : 1); i++, row++)
            for (int64_t d = 0; d < (int64_t)degree[row]; d++, at++)
                edge[at] = (page_edge){ .from = (int64_t)from[at],
                                        .to = first + (heads ? i / heads : i),
                                        .label = label ? (int64_t)label[at] : 0,
                                        .head_from = head ? (int)head[at] : -1,
                                        .head_to = heads ? (int)(i % heads) : -1 };
    }
    ck_assert_int_eq(row, rows);
    ck_assert_int_eq(at, total);
    free(degree), free(from), free(label), free(head);
}

static void weights(page_data *page, const json_t *sheet, int64_t base)
{
    const int64_t total = integer(sheet, "edges", -1), own = integer(sheet, "heads", 0);
    int64_t count;
    double *all = column(sheet, "weights", &count);
    ck_assert((all != NULL) == (page->columns > 0));
    if (!all) return;
    ck_assert_int_eq(count, total * (own ? 1 : page->columns));
    for (int64_t i = 0; i < total; i++)
        for (int64_t h = 0; h < page->columns; h++)
            page->weight[(base + i) * page->columns + h] = !own ? all[i * page->columns + h]
                                                           : h == page->edge[base + i].head_to
                                                               ? all[i]
                                                               : 0;
    free(all);
}

/* Where the earlier sheet with this place begins. */
static int64_t base_of(const page_data *page, int64_t place)
{
    int64_t base = 0;
    for (int64_t s = 0; sheet_at(page, s); s++) {
        if (integer(sheet_at(page, s), "place", -1) == place) return base;
        base += integer(sheet_at(page, s), "edges", 0);
    }
    ck_abort_msg("no sheet has the place %lld", (long long)place);
    return -1;
}

json_t *page_json(const char *path, int64_t *bytes)
{
    static const char opening[] = "<script type=\"application/json\" id=\"data\">";
    json_error_t error;
    char *text = gsa_cli_read(path);
    ck_assert_msg(text != NULL, "%s is not there", path);
    if (bytes) *bytes = (int64_t)strlen(text);
    char *from = strstr(text, opening);
    ck_assert_ptr_nonnull(from);
    ck_assert_ptr_null(strstr(from + 1, opening));
    from += strlen(opening);
    char *to = strstr(from, "</script>");
    ck_assert_ptr_nonnull(to);
    json_t *json = json_loadb(from, (size_t)(to - from), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(json != NULL, "%s: %d: %s", path, error.column, error.text);
    ck_assert_msg(memchr(from, '<', (size_t)(to - from)) == NULL, "a '<' is in the data");
    free(text);
    return json;
}

page_data page_data_read(const char *path)
{
    page_data page = { 0 };
    json_t *all = page_json(path, &page.bytes);
    page.json = json_incref(json_array_get(json_object_get(all, "pictures"), 0));
    json_decref(all);
    ck_assert(json_is_object(page.json));
    page.edges = integer(page.json, "edges", -1), page.columns = integer(page.json, "columns", -1);
    page.edge = calloc((size_t)page.edges + 1, sizeof *page.edge);
    page.weight = calloc((size_t)(page.edges * page.columns) + 1, sizeof *page.weight);
    int64_t base = 0;
    for (int64_t s = 0; sheet_at(&page, s); s++) {
        const json_t *sheet = sheet_at(&page, s);
        const int64_t total = integer(sheet, "edges", -1), same = integer(sheet, "same", -1);
        ck_assert_int_le(base + total, page.edges);
        if (same < 0) structure(&page, sheet, page.edge + base);
        else
            memcpy(page.edge + base, page.edge + base_of(&page, same),
                   (size_t)total * sizeof *page.edge);
        for (int64_t i = 0; i < total; i++) page.edge[base + i].sheet = (int)s;
        weights(&page, sheet, base);
        base += total;
    }
    ck_assert_int_eq(base, page.edges);
    return page;
}

void page_data_release(page_data *page)
{
    json_decref(page->json);
    free(page->edge), free(page->weight);
}

const char *page_label(const page_data *page, const page_edge *edge)
{
    const json_t *sheet = sheet_at(page, edge->sheet);
    const int64_t same = integer(sheet, "same", -1);
    char key[24];
    for (int64_t s = 0; same >= 0 && sheet_at(page, s); s++)
        if (integer(sheet_at(page, s), "place", -1) == same) sheet = sheet_at(page, s);
    snprintf(key, sizeof key, "%lld", (long long)edge->label);
    const char *name = json_string_value(json_object_get(json_object_get(sheet, "names"), key));
    return name ? name : "";
}

const char *page_phase(const page_data *page, const page_edge *edge)
{
    return json_string_value(json_object_get(sheet_at(page, edge->sheet), "phase"));
}

int64_t page_layer(const page_data *page, const page_edge *edge)
{
    return integer(sheet_at(page, edge->sheet), "layer", -1);
}
