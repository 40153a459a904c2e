/* probe.c - what the machine can do at a level of vectors: multiplications, reading, reading of scattered rows. */
#include "kernels/cpu/band.h"
#include "kernels/cpu/ops.h"

enum { CHAINS = 12 }; /* of additions that do not wait for one another */

static void put(float *out, const vec *sum)
{
    vec all = sum[0];
    for (int i = 1; i < CHAINS; i++) all = vec_add(all, sum[i]);
    vec_store(out, all);
}

static int64_t multiply(float *out, int64_t rounds)
{
    vec sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) sum[i] = vec_load(out);
    const vec a = vec_load(out), b = vec_load(out + LANES);
    for (int64_t r = 0; r < rounds; r++)
        for (int i = 0; i < CHAINS; i++) sum[i] = vec_fma(sum[i], a, b);
    put(out, sum);
    return rounds * CHAINS * LANES * 2;
}

static void read_all(float *out, const float *x, int64_t count)
{
    vec sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) sum[i] = vec_zero();
    for (int64_t at = 0; at + CHAINS * LANES <= count; at += CHAINS * LANES)
        for (int i = 0; i < CHAINS; i++) sum[i] = vec_add(sum[i], vec_load(x + at + i * LANES));
    put(out, sum);
}

static void read_rows(float *out, const float *x, const int32_t *rows, int64_t count, int32_t columns)
{
    vec sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) sum[i] = vec_zero();
    for (int64_t r = 0; r < count; r++) {
        const float *row = x + (int64_t)rows[r] * columns;
        for (int32_t i = 0; i + 4 * LANES <= columns; i += 4 * LANES)
            for (int j = 0; j < 4; j++) sum[j] = vec_add(sum[j], vec_load(row + i + j * LANES));
    }
    put(out, sum);
}

typedef struct ways { /* rows that go each way, as attend_forward.c chooses */
    int64_t tiled, banded;
} ways;

static ways ways_of(const gsa_attend_args *args)
{
    const ref_attend t = ref_attend_of(args);
    const int64_t last = args->edges->rows;
    ways all = { 0 };
    cpu_band band, bands[QUADS];
    cpu_tile_room room;
    cpu_tile tile;
    const int tiles = cpu_tiles_serve(&t), labelled = cpu_labelled(&t);
    for (int64_t row = 0; row < last;)
        if (!GSA_CPU(bands_at)(&t, row, last, NULL, bands) && tiles &&
            GSA_CPU(tile_find)(args->edges, row, last, labelled, &room, &tile))
            all.tiled += LANES, row += LANES;
        else if (GSA_CPU(band_at)(&t, row, last, NULL, &band)) all.banded += BAND_ROWS, row += BAND_ROWS;
        else row++;
    return all;
}

static int64_t tiled_rows(const gsa_attend_args *args)
{
    return ways_of(args).tiled;
}

static int64_t banded_rows(const gsa_attend_args *args)
{
    return ways_of(args).banded;
}

const gsa_cpu_probe GSA_CPU(probe) = { LANES, multiply, read_all, read_rows, tiled_rows, banded_rows };
