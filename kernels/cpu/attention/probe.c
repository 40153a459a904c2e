/* probe.c - what the machine can do at a level of vectors: multiplications, reading, reading of
 * scattered rows; and which formats attention has for some edges. */
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/table.h"

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

static void read_rows(float *out, const float *x, const int32_t *rows, int64_t count,
                      int32_t columns)
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

/* Counts the rows of a block, and of each format. */
static void count_block(cpu_inspection *x, gsa_rows block, gsa_cpu_formats *formats)
{
    int64_t *const count[] = { [CPU_ROW] = &formats->row,           [CPU_ELL] = &formats->ell,
                               [CPU_DIA] = &formats->dia,           [CPU_BCSR] = &formats->bcsr,
                               [CPU_INTERVAL] = &formats->interval, [CPU_GEMM] = &formats->gemm };
    cpu_part part;
    cpu_inspect_block(x, block.first);
    for (int64_t row = block.first, end = block.first + block.count; row < end;) {
        row = cpu_inspect(x, row, end, 1, &part);
        *count[part.format] += part.rows;
    }
}

/* The formats of a call's rows, forward. */
static int formats_of(const gsa_attend_args *args, gsa_cpu_formats *formats)
{
    gsa_edges edges = *args->edges;
    gsa_attend_args call = *args;
    edges.memo = NULL, call.edges = &edges;
    const ref_attend t = ref_attend_of(&call);
    gsa_backend *b;
    cpu_ell waiting;
    cpu_inspection x;
    *formats = (gsa_cpu_formats){ 0 };
    if (gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL) != GSA_OK) return 0;
    cpu_plan *plan = cpu_plan_of(b, "formats", &t);
    const int told = edges.blocks && edges.block_offset && edges.examples > 0;
    if (plan) {
        cpu_ell_begin(&waiting, &t, 0, t.heads, NULL);
        cpu_inspect_start(&x, &t, plan, &waiting);
        for (int64_t i = 0; told && i < edges.block_offset[edges.examples]; i++)
            count_block(&x, edges.blocks[i], formats);
        if (!told && edges.rows > 0) count_block(&x, (gsa_rows){ 0, edges.rows }, formats);
        cpu_plan_done(b, &edges, plan);
    }
    b->release(b);
    return plan != NULL;
}

const gsa_cpu_probe cpu_probe = { LANES, multiply, read_all, read_rows, formats_of };
