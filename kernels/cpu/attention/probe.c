/* probe.c - what the machine can do at a level of vectors: multiplications, reading, reading of scattered rows. */
#include "kernels/cpu/attention/bundle.h"
#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/table.h"
#include "kernels/cpu/attention/edge_plan.h"

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

/* The way of `row` among rows that are not swept, as attend_forward.c chooses; returns how many rows go it. */
static int64_t way_of(const ref_attend *t, const cpu_shelves *shelves, const int32_t *swept, int64_t row, gsa_cpu_ways *ways)
{
    const int64_t last = t->edges->rows;
    int64_t *way = &ways->alone;
    cpu_band band, bands[QUADS];
    bcsr_work work;
    int32_t rows = 1, covered = 0;
    for (int r = 0; swept && r < LANES && row + r < last; r++) covered |= swept[row + r];
    if (cpu_bands_at(t, row, last, swept, bands)) way = &ways->banded, rows = LANES;
    else if (!covered && bcsr_serves(t) && cpu_bcsr_find(t->edges, row, last, cpu_labelled(t), &work))
        way = &ways->tiled, rows = LANES;
    else if (cpu_bundled(shelves, row, 1)) way = &ways->bundled;
    else if (cpu_band_at(t, row, last, swept, &band)) way = &ways->banded, rows = BAND_ROWS;
    else if (cpu_bundled(shelves, row, 0)) way = &ways->bundled;
    *way += rows;
    return rows;
}

static int ways_of(const gsa_attend_args *args, gsa_cpu_ways *ways)
{
    const ref_attend t = ref_attend_of(args);
    cpu_shelves shelves;
    cpu_sweeps sweeps;
    *ways = (gsa_cpu_ways){ 0 };
    if (!cpu_sweeps_make(NULL, args->edges, &sweeps)) return 0;
    const int32_t *swept = args->weights || t.dim == 0 ? NULL : sweeps.swept;
    cpu_bundle_begin(&shelves, &t, 0, t.heads, NULL);
    for (int64_t i = 0; args->edges->blocks && i < args->edges->block_offset[args->edges->examples]; i++)
        if (cpu_dense_fits(&t, args->edges->blocks[i])) ways->multiplied += args->edges->blocks[i].count;
    for (int64_t row = 0; row < args->edges->rows;)
        if (swept && swept[row]) ways->swept++, row++;
        else row += way_of(&t, &shelves, swept, row, ways);
    cpu_sweeps_release(NULL, &sweeps);
    return 1;
}

const gsa_cpu_probe cpu_probe = { LANES, multiply, read_all, read_rows, ways_of };
