/* tile_strip.c - the columns of each four rows of a tile. Linear in columns x LANES. */
#include "kernels/cpu/tile.h"

typedef struct listing { /* of one strip */
    const cpu_tile *tile;
    int first_row;
    int32_t plain, mixed, labels;
    uint16_t plain_column[TILE_PLACED], mixed_column[TILE_PLACED + 2 * QUADS], wanted[TILE_LABELS + QUADS];
    int16_t place[TILE_LABELS]; /* of a label among those wanted, -1: it is not */
} listing;

static unsigned bits_of(const listing *x, int32_t column)
{
    return (unsigned)x->tile->mask[column] >> x->first_row & 15u;
}

static int32_t label_of(const listing *x, int32_t column, int r)
{
    return x->tile->place[column * LANES + x->first_row + r];
}

/* Whether the rows that read a column do so by one label. */
static int is_plain(const listing *x, int32_t column, unsigned bits)
{
    if (x->tile->labels == 0) return 1;
    const int32_t first = label_of(x, column, __builtin_ctz(bits));
    for (bits &= bits - 1; bits; bits &= bits - 1)
        if (label_of(x, column, __builtin_ctz(bits)) != first) return 0;
    return 1;
}

/* Sorts the columns that are read. Plain ones that fill no vector go with the others, where labels matter. */
static void sort_columns(listing *x)
{
    x->plain = x->mixed = 0;
    for (int32_t c = 0; c < x->tile->columns; c++) {
        const unsigned bits = bits_of(x, c);
        if (!bits) continue;
        if (is_plain(x, c, bits)) x->plain_column[x->plain++] = (uint16_t)c;
        else x->mixed_column[x->mixed++] = (uint16_t)c;
    }
    if (x->tile->labels == 0) return;
    while (x->plain % QUADS != 0) x->mixed_column[x->mixed++] = x->plain_column[--x->plain];
}

static void want_labels(listing *x)
{
    memset(x->place, -1, sizeof *x->place * (size_t)x->tile->labels);
    x->labels = 0;
    for (int32_t i = 0; i < x->mixed; i++)
        for (unsigned bits = bits_of(x, x->mixed_column[i]); bits; bits &= bits - 1) {
            const int32_t label = label_of(x, x->mixed_column[i], __builtin_ctz(bits));
            if (x->place[label] >= 0) continue;
            x->place[label] = (int16_t)x->labels, x->wanted[x->labels++] = (uint16_t)label;
        }
}

static void write_columns(const listing *x, const cpu_strip *strip, uint16_t *column, uint16_t *mask)
{
    const int32_t places = cpu_whole_quads(strip->count);
    memset(mask, 0, sizeof *mask * (size_t)(places / QUADS));
    for (int32_t i = 0; i < places; i++) {
        const int32_t at = i < strip->count ? i : 0;
        column[i] = at < x->plain ? x->plain_column[at] : x->mixed_column[at - x->plain];
        if (i < strip->count) mask[i / QUADS] = (uint16_t)(mask[i / QUADS] | bits_of(x, column[i]) << 4 * (i % QUADS));
    }
}

static void write_labels(const listing *x, const cpu_strip *strip, uint16_t *label, uint16_t *wanted, uint16_t *from)
{
    for (int32_t i = 0; i < strip->plain; i++)
        label[i] = (uint16_t)label_of(x, x->plain_column[i], __builtin_ctz(bits_of(x, x->plain_column[i])));
    for (int32_t i = 0; i < cpu_whole_quads(x->labels); i++) wanted[i] = x->wanted[i < x->labels ? i : 0];
    memset(from, 0, sizeof *from * 4 * (size_t)(cpu_whole_quads(strip->count) - strip->plain));
    for (int32_t i = 0; i < x->mixed; i++)
        for (unsigned bits = bits_of(x, x->mixed_column[i]); bits; bits &= bits - 1) {
            const int r = __builtin_ctz(bits);
            from[4 * i + r] = (uint16_t)(4 * x->place[label_of(x, x->mixed_column[i], r)] + r);
        }
}

/* Where most of a tile's edges are there, all of its rows at once are as fast: then its lists are not kept. In cycles of a core with one
 * vector's multiplication a cycle, heads of 64. AVX2 has no fours beside them, and strips are the faster way but for what two of them read
 * twice where it does not stay in the first caches (WIDE columns, without labels). */
static int pays(const cpu_tile *tile)
{
    enum { STRIP_DOT = 19, TILE_DOT = 68, LOOK_UP = 26, WIDE = 384 };
    int64_t dots = 0;
    if (LANES != 16) return tile->labels > 0 || tile->columns <= WIDE;
    for (int g = 0; g < QUADS; g++) dots += tile->strip[g].count + tile->strip[g].labels;
    return STRIP_DOT * dots <
           TILE_DOT * (int64_t)(tile->columns + tile->labels) + (tile->labels > 0 ? LOOK_UP * tile->columns : 0);
}

void GSA_CPU(tile_strips)(cpu_tile *tile, cpu_tile_room *room)
{
    listing x;
    uint16_t *at = room->strip;
    x.tile = tile;
    tile->strips = 0;
    if (tile->columns > TILE_PLACED) return;
    for (int g = 0; g < QUADS; g++) {
        cpu_strip *strip = &tile->strip[g];
        x.first_row = 4 * g;
        sort_columns(&x);
        want_labels(&x);
        *strip = (cpu_strip){ .count = x.plain + x.mixed, .labels = x.labels };
        strip->plain = x.tile->labels > 0 ? x.plain : cpu_whole_quads(x.plain);
        uint16_t *const end = at + (cpu_lay_strip(strip, at, tile->labels > 0) - at);
        write_columns(&x, strip, at, at + (strip->mask - at));
        if (tile->labels > 0)
            write_labels(&x, strip, at + (strip->label - at), at + (strip->wanted - at), at + (strip->from - at));
        at = end;
    }
    if (pays(tile)) tile->strips = QUADS;
}
