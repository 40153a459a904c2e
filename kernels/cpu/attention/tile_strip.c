/* tile_strip.c - the columns of each four rows of a tile. Linear in columns x LANES. */
#include "kernels/cpu/attention/tile.h"

typedef struct listing { /* of one strip */
    const cpu_tile *tile;
    int first_row;
    int32_t plain, mixed, labels, end[LABEL_WAYS];
    uint16_t plain_column[TILE_PLACED], mixed_column[TILE_PLACED + 2 * QUADS], wanted[TILE_LABELS + QUADS];
    uint16_t by_way[LABEL_WAYS][TILE_PLACED];
    int16_t place[TILE_LABELS]; /* of a label among those wanted, -1: it is not */
} listing;

static const uint8_t label_way[LABEL_WAYS] = CPU_LABEL_WAYS;

static unsigned bits_of(const listing *x, int32_t column)
{
    return (unsigned)x->tile->mask[column] >> x->first_row & 15u;
}

static int32_t label_of(const listing *x, int32_t column, int r)
{
    return x->tile->place[column * LANES + x->first_row + r];
}

/* Whether the rows that read a column do so by labels that are shared as `way` says. */
static int fits(const listing *x, int32_t column, unsigned bits, unsigned way)
{
    int32_t shared = -1;
    for (int r = 0; r < 4; r++) {
        if (way >> r & 1) shared = -1;
        if (!(bits >> r & 1)) continue;
        const int32_t label = label_of(x, column, r);
        if (shared >= 0 && label != shared) return 0;
        shared = label;
    }
    return 1;
}

/* What fills no vector goes to the next way by which no rows share a label that do not share it by this one. */
static void pass_rest(listing *x, int32_t count[LABEL_WAYS])
{
    while (x->plain % QUADS != 0) x->by_way[0][count[0]++] = x->plain_column[--x->plain];
    for (int w = 0; w + 1 < LABEL_WAYS; w++) {
        int next = w + 1;
        while ((label_way[next] & label_way[w]) != label_way[w]) next++;
        while (count[w] % QUADS != 0) x->by_way[next][count[next]++] = x->by_way[w][--count[w]];
    }
}

/* Sorts the columns that are read: plain ones first, then by ways. */
static void sort_columns(listing *x)
{
    int32_t count[LABEL_WAYS] = { 0 };
    x->plain = x->mixed = 0;
    memset(x->end, 0, sizeof x->end);
    for (int32_t c = 0; c < x->tile->columns; c++) {
        const unsigned bits = bits_of(x, c);
        int w = 0;
        if (!bits) continue;
        if (x->tile->labels == 0 || fits(x, c, bits, 1)) {
            x->plain_column[x->plain++] = (uint16_t)c;
            continue;
        }
        while (!fits(x, c, bits, label_way[w])) w++;
        x->by_way[w][count[w]++] = (uint16_t)c;
    }
    if (x->tile->labels == 0) return;
    pass_rest(x, count);
    for (int w = 0; w < LABEL_WAYS; w++) {
        memcpy(x->mixed_column + x->mixed, x->by_way[w], sizeof *x->by_way[w] * (size_t)count[w]);
        x->mixed += count[w], x->end[w] = cpu_whole_quads(x->mixed);
    }
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

/* Rows that share a label have it all, be they edges or not. */
static void write_from(const listing *x, uint16_t *from, int32_t column, unsigned way)
{
    const unsigned bits = bits_of(x, column);
    for (int first = 0, end; first < 4; first = end) {
        unsigned some = 1u << first;
        for (end = first + 1; end < 4 && !(way >> end & 1); end++) some |= 1u << end;
        if (!(bits & some)) continue;
        const uint16_t label = (uint16_t)x->place[label_of(x, column, __builtin_ctz(bits & some))];
        for (int r = first; r < end; r++) from[r] = label;
    }
}

static void write_labels(const listing *x, const cpu_strip *strip, uint16_t *label, uint16_t *wanted, uint16_t *from)
{
    for (int32_t i = 0; i < strip->plain; i++)
        label[i] = (uint16_t)label_of(x, x->plain_column[i], __builtin_ctz(bits_of(x, x->plain_column[i])));
    for (int32_t i = 0; i < cpu_whole_quads(x->labels); i++) wanted[i] = x->wanted[i < x->labels ? i : 0];
    memset(from, 0, sizeof *from * 4 * (size_t)(cpu_whole_quads(strip->count) - strip->plain));
    for (int32_t w = 0, i = 0; w < LABEL_WAYS; w++)
        for (; i < x->end[w] && i < x->mixed; i++) write_from(x, from + 4 * i, x->mixed_column[i], label_way[w]);
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

void cpu_tile_strips(cpu_tile *tile, cpu_tile_room *room)
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
        memcpy(strip->end, x.end, sizeof x.end);
        uint16_t *const end = at + (cpu_lay_strip(strip, at, tile->labels > 0) - at);
        write_columns(&x, strip, at, at + (strip->mask - at));
        if (tile->labels > 0)
            write_labels(&x, strip, at + (strip->label - at), at + (strip->wanted - at), at + (strip->from - at));
        at = end;
    }
    if (pays(tile)) tile->strips = QUADS;
}
