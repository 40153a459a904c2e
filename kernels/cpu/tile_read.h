/* tile_read.h - the order in which memory is asked for what tiles read.
 *
 * A tile works head by head: a few lines of a row here, a few of the next row, and the whole again for the next head. Memory answers that
 * at a third of its rate; from end to end it gives a row before it is needed. So what is new of a tile is read once, whole rows one
 * after another, and while the tile is worked on, what its successor will want is asked for, where sources move on with the rows. */
#ifndef GSA_CPU_TILE_READ_H
#define GSA_CPU_TILE_READ_H
#include "kernels/cpu/tile.h"

enum {
    READ_PLANES = 4,
    READ_AHEAD = 32,      /* pieces of LANES rows that are asked for at most */
    READ_LEAST = 1 << 15, /* numbers of a plane: smaller ones stand in the second cache */
    LINE = 16             /* numbers of a cache line */
};

struct cpu_reading {
    int32_t first, last; /* heads */
    int backward;
    int32_t clusters; /* of the tile before */
    cpu_cluster cluster[TILE_CLUSTERS];
    int32_t pieces;
    const float *piece[READ_AHEAD];
};

static inline void cpu_start_reading(cpu_reading *x, int32_t first, int32_t last, int backward)
{
    x->first = first, x->last = last, x->backward = backward;
    x->clusters = x->pieces = 0;
}

/* Reads the heads' columns of rows row .. last of the planes that are there. */
static inline void cpu_read_rows(const ref_attend *t, const cpu_reading *x, const void *const *plane, int64_t row,
                                 int64_t last)
{
    const int64_t from = (int64_t)x->first * t->dim, to = (int64_t)x->last * t->dim;
    for (int p = 0; p < (x->backward ? READ_PLANES : READ_PLANES / 2); p++)
        for (int64_t r = row; plane[p] && r <= last; r++)
            for (int64_t i = from; i < to; i += LINE)
                (void)*(const volatile float *)((const float *)plane[p] + r * t->width + i);
}

/* Notes LANES rows of each plane for cpu_ask_ahead. */
static inline void cpu_expect(const ref_attend *t, cpu_reading *x, const void *const *plane, int64_t row)
{
    for (int p = 0; p < (x->backward ? READ_PLANES : READ_PLANES / 2); p++)
        if (plane[p] && x->pieces < READ_AHEAD) x->piece[x->pieces++] = (const float *)plane[p] + row * t->width;
}

/* `before`: the range that the tile before read there, or NULL. */
static inline void cpu_read_cluster(const ref_attend *t, cpu_reading *x, const cpu_cluster *now, const cpu_cluster *before)
{
    const gsa_part *part = &t->args->parts[now->kind];
    const void *const plane[READ_PLANES] = { part->k, part->v, part->dk, part->dv };
    if (!before) {
        cpu_read_rows(t, x, plane, now->first, now->last);
        return;
    }
    cpu_read_rows(t, x, plane, now->first, (int64_t)before->first - 1);
    cpu_read_rows(t, x, plane, (int64_t)before->last + 1, now->last);
    if (now->last == before->last + LANES && now->last + LANES < t->edges->part_rows[now->kind])
        cpu_expect(t, x, plane, (int64_t)now->last + 1);
}

static inline void cpu_read_tile(const ref_attend *t, const cpu_tile *tile, cpu_reading *x)
{
    const void *const plane[READ_PLANES] = { t->args->q, t->args->out, t->args->dout, t->args->dq };
    x->pieces = 0;
    if (t->edges->rows * t->width < READ_LEAST) return;
    cpu_read_rows(t, x, plane, tile->row, tile->row + LANES - 1);
    if (tile->row + 2 * LANES <= t->edges->rows) cpu_expect(t, x, plane, tile->row + LANES);
    for (int32_t i = 0, j = 0; i < tile->clusters; i++) {
        const cpu_cluster *now = &tile->cluster[i], *old = x->cluster;
        while (j < x->clusters && (old[j].kind < now->kind || (old[j].kind == now->kind && old[j].last < now->first))) j++;
        const int met = j < x->clusters && old[j].kind == now->kind && old[j].first <= now->last;
        cpu_read_cluster(t, x, now, met ? &old[j] : NULL);
    }
    x->clusters = tile->clusters;
    memcpy(x->cluster, tile->cluster, sizeof *x->cluster * (size_t)tile->clusters);
}

/* A head's share of what the next tile will want. */
static inline void cpu_ask_ahead(const ref_attend *t, const cpu_reading *x, int32_t head)
{
    const int32_t heads = x->last - x->first, done = head - x->first;
    const int64_t from = (int64_t)x->first * t->dim, to = (int64_t)x->last * t->dim;
    for (int32_t p = 0; p < x->pieces; p++)
        for (int32_t r = LANES * done / heads; r < LANES * (done + 1) / heads; r++)
            for (int64_t i = from; i < to; i += LINE) vec_ask(x->piece[p] + r * t->width + i);
}

#endif
