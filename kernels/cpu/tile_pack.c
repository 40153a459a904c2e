/* tile_pack.c - which tiles go together, and the packed rows of what they read. */
#include "kernels/cpu/tile_pack.h"
#include "kernels/cpu/band.h"

static int64_t packed_stride(const ref_attend *t)
{
    return (t->dim + LANES - 1) / LANES * LANES;
}

static int64_t most_rows(const ref_attend *t)
{
    return PACK_BYTES / (PACK_PLANES * packed_stride(t) * (int64_t)sizeof(float));
}

gsa_status GSA_CPU(rooms_make)(gsa_backend *b, const char *op, const ref_attend *t, const cpu_plan *plan, int64_t least,
                               cpu_rooms *rooms)
{
    *rooms = (cpu_rooms){ 0 };
    if (!cpu_tiles_serve(t) || !cpu_strips_serve(t) || !cpu_is_wide(t, plan->widest, t->heads, least)) return GSA_OK;
    char *memory = gsa_ref_rooms(b, op, b->threads, PACK_BYTES + (int64_t)sizeof(atomic_flag));
    if (!memory) return b->error.status;
    *rooms = (cpu_rooms){ b->threads, least, memory, (void *)(memory + (int64_t)b->threads * PACK_BYTES) };
    for (int32_t i = 0; i < rooms->count; i++) atomic_flag_clear(&rooms->taken[i]);
    return GSA_OK;
}

void GSA_CPU(pack_end)(cpu_pack *x, const cpu_rooms *rooms)
{
    if (x->room >= 0) atomic_flag_clear(&rooms->taken[x->room]);
    x->room = -1;
}

/* No more items than threads are worked on at a time: one room is free. */
static void take_room(cpu_pack *x, const cpu_rooms *rooms)
{
    for (int32_t i = 0; x->room < 0; i = (i + 1) % rooms->count)
        if (!atomic_flag_test_and_set(&rooms->taken[i])) x->room = i;
}

/* Adds sources to the ranges, which ascend by kind and source and leave something between them; 0: there are too many ranges. */
static int add_range(cpu_pack *x, const cpu_cluster *c)
{
    cpu_packed_range now = { c->kind, c->first, c->last, 0 }, *const range = x->range;
    int i = 0, j;
    while (i < x->ranges && (range[i].kind < now.kind || (range[i].kind == now.kind && range[i].last + 1 < now.first))) i++;
    for (j = i; j < x->ranges && range[j].kind == now.kind && range[j].first <= now.last + 1; j++) {
        if (range[j].first < now.first) now.first = range[j].first;
        if (range[j].last > now.last) now.last = range[j].last;
    }
    if (i == j && x->ranges == PACK_RANGES) return 0;
    memmove(range + i + 1, range + j, sizeof *range * (size_t)(x->ranges - j));
    range[i] = now, x->ranges += i + 1 - j;
    return 1;
}

/* Adds a tile's clusters; 0 where the pack would be too large: then it is as it was. */
static int add_tile(cpu_pack *x, const cpu_tile *tile, int64_t most)
{
    cpu_packed_range before[PACK_RANGES];
    const int ranges = x->ranges;
    int64_t rows = 0;
    int fits = 1;
    memcpy(before, x->range, sizeof *before * (size_t)ranges);
    for (int i = 0; i < tile->clusters && fits; i++) fits = add_range(x, &tile->cluster[i]);
    for (int i = 0; i < x->ranges; i++) rows += (int64_t)x->range[i].last - x->range[i].first + 1;
    if (fits && rows <= most) return 1;
    memcpy(x->range, before, sizeof *before * (size_t)ranges);
    x->ranges = ranges;
    return 0;
}

static void lay(cpu_pack *x, const cpu_rooms *rooms, const ref_attend *t)
{
    float *at = (float *)(void *)(rooms->memory + (int64_t)x->room * PACK_BYTES);
    x->stride = packed_stride(t), x->rows = 0;
    for (int i = 0; i < x->ranges; i++) x->range[i].at = x->rows, x->rows += x->range[i].last - x->range[i].first + 1;
    for (int i = 0; i < PACK_PLANES; i++) x->plane[i] = at + i * x->rows * x->stride;
}

int GSA_CPU(pack_find)(cpu_pack *x, const cpu_rooms *rooms, const ref_attend *t, const cpu_plan *plan, int64_t row,
                       int64_t end, int32_t heads)
{
    const int64_t most = most_rows(t);
    cpu_band band[QUADS];
    x->tiles = x->ranges = 0;
    for (; rooms->count > 0 && x->tiles < PACK_TILES && row + LANES <= end; row += LANES) {
        cpu_tile *tile = &x->tile[x->tiles];
        if (!GSA_CPU(plan_tile)(plan, row, tile) || !cpu_packs(t, tile, heads, rooms->least) ||
            GSA_CPU(bands_at)(t, row, end, NULL, band) || !add_tile(x, tile, most))
            break;
        x->tiles++;
    }
    if (x->tiles < 2) return 0;
    take_room(x, rooms);
    lay(x, rooms, t);
    return x->tiles;
}

static void pack_rows(float *to, int64_t stride, const float *from, int64_t width, int64_t rows, int32_t dim)
{
    for (; rows > 0; rows--, to += stride, from += width)
        for (int32_t i = 0; i < dim; i += LANES)
            vec_store(to + i, vec_load_first(from + i, lanes_first(dim - i < LANES ? dim - i : LANES)));
}

void GSA_CPU(pack_head)(const cpu_pack *x, const ref_attend *t, int64_t at)
{
    for (const cpu_packed_range *r = x->range; r < x->range + x->ranges; r++) {
        const gsa_part *part = &t->args->parts[r->kind];
        const float *plane[PACK_PLANES] = { part->k, part->v };
        for (int i = 0; i < PACK_PLANES; i++)
            pack_rows(x->plane[i] + r->at * x->stride, x->stride, plane[i] + r->first * t->width + at, t->width,
                      (int64_t)r->last - r->first + 1, t->dim);
    }
}

int64_t GSA_CPU(pack_place)(const cpu_pack *x, const cpu_cluster *cluster)
{
    const cpu_packed_range *r = x->range;
    while (r->kind != cluster->kind || r->last < cluster->first) r++;
    return ((int64_t)r->at + cluster->first - r->first) * x->stride;
}
