/* tile_pack.h - tiles that follow one another, worked on head by head, with the head's rows of K and V packed.
 *
 * A tile goes through its heads one after another and reads a slice of each of its columns' rows. Where all heads of its columns are more than
 * the second cache holds, the next tile, which reads nearly the same rows, finds none of them there: bpt:k=64 with 4 heads of 64 reads 1 MiB
 * a tile. So some tiles go together: one head through all of them, then the next one. A head's slices stand a whole row apart, where the caches
 * have room for few: they are packed, once for all tiles. dK and dV are added to where they stand: packed as well, they and the scores would be
 * more than the second cache (0.95 of the speed). Each number is computed as without: what is added to labels' gradients is added in another
 * order, no bit else tells of it. */
#ifndef GSA_CPU_TILE_PACK_H
#define GSA_CPU_TILE_PACK_H
#include <stdatomic.h>
#include "kernels/cpu/edge_plan.h"

enum {
    PACK_TILES = 16,      /* at most */
    PACK_RANGES = 128,    /* of sources at most */
    PACK_BYTES = 3 << 18, /* of the packed planes at most: they stand in the second cache, and leave room beside */
    PACK_LEAST = 1 << 19, /* of the rows of K and V that a tile reads, all heads: fewer stay in the second cache by themselves, */
    PACK_LEAST_AMD = 3 << 19, /* or are read fast enough out of the third (cpu_pack_forward) */
    PACK_PLANES = 2       /* K, V */
};

/* Memory for one pack a thread. An item of work takes a room that is free, and gives it back. */
typedef struct cpu_rooms {
    int32_t count; /* 0: no tiles go together */
    int64_t least; /* bytes above which they do */
    char *memory;
    atomic_flag *taken; /* [count] */
} cpu_rooms;

typedef struct cpu_packed_range { /* sources first .. last of a kind are packed rows from `at` on */
    int32_t kind, first, last, at;
} cpu_packed_range;

typedef struct cpu_pack {
    int tiles, ranges;
    int32_t room, rows; /* which one, -1: none; packed */
    int64_t stride;     /* numbers from one row to the next */
    float *plane[PACK_PLANES];
    cpu_tile tile[PACK_TILES];
    cpu_packed_range range[PACK_RANGES];
} cpu_pack;

/* More bytes than so go together forward. No bit depends on it, and it is the machine's: a Zen 4 core reads 8 MiB at 97 GB/s, one of Cascade Lake at
 * 22. Backward, where the order of sums of label gradients depends on it, PACK_LEAST serves all. */
static inline int64_t cpu_pack_forward(void)
{
    return LANES == 16 && __builtin_cpu_is("amd") ? PACK_LEAST_AMD : PACK_LEAST;
}

/* Whether tiles of so many columns go together for so many heads, where that is so above `least` bytes. What is dropped is drawn for four heads
 * of a tile at once, and is not drawn again for each head. */
static inline int cpu_is_wide(const ref_attend *t, int64_t columns, int32_t heads, int64_t least)
{
    return heads > 1 && !t->drop.on && columns * heads * t->dim * PACK_PLANES * (int64_t)sizeof(float) > least;
}
static inline int cpu_packs(const ref_attend *t, const cpu_tile *tile, int32_t heads, int64_t least)
{
    return cpu_by_strips(t, tile) && cpu_is_wide(t, tile->columns, heads, least);
}

/* Prepares rooms for a call where its plan has tiles that go together. GSA_ERR_MEMORY, and a sentence in b->error, without memory. */
gsa_status GSA_CPU(rooms_make)(gsa_backend *b, const char *op, const ref_attend *t, const cpu_plan *plan, int64_t least,
                               cpu_rooms *rooms);

/* Before an item's first pack; after its last. */
static inline void cpu_pack_start(cpu_pack *x)
{
    x->room = -1;
}
void GSA_CPU(pack_end)(cpu_pack *x, const cpu_rooms *rooms);

/* The tiles from `row` on, where no bands are, that go together for `heads` heads, none from `end` on: how many, 0: none do. A function of the edges, of `row`, `end`
 * and of the call's sizes. */
int GSA_CPU(pack_find)(cpu_pack *x, const cpu_rooms *rooms, const ref_attend *t, const cpu_plan *plan, int64_t row, int64_t end,
                       int32_t heads);

/* Packs the rows of the head whose columns start at `at`. */
void GSA_CPU(pack_head)(const cpu_pack *x, const ref_attend *t, int64_t at);

/* Where the packed row of a cluster's first source stands, in numbers. */
int64_t GSA_CPU(pack_place)(const cpu_pack *x, const cpu_cluster *cluster);

#endif
