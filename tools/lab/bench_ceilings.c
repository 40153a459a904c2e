/* bench_ceilings.c - the ceilings under which gsa bench kernel states its figures. */
#include "tools/lab/bench_ceilings.h"
#include <inttypes.h>
#include <string.h>
#include "kernels/cpu/cpu.h"
#include "kernels/team.h"

enum {
    TRIES = 5,
    PRIVATE = 1 << 19,
    LARGEST = 1 << 27,
    TABLE = 1 << 24,
    VOLUME = 1 << 24,
    ROUNDS = 400000
};

typedef struct gsa_trial { /* one loop that all threads run, each on its own piece */
    const gsa_cpu_probe *probe;
    const float *x;
    const int32_t *rows;
    int64_t bytes, repeats; /* of a thread's piece */
    int32_t columns;        /* > 0: rows are read; bytes 0: nothing is */
    int counts_cpu;
} gsa_trial;

static void run(void *context, int64_t item)
{
    const gsa_trial *t = context;
    float out[64];
    for (int i = 0; i < 64; i++) out[i] = 0.5f;
    const float *mine = t->x + item * (t->bytes / (int64_t)sizeof(float));
    if (t->bytes == 0) t->probe->multiply(out, t->repeats);
    for (int64_t i = 0; t->bytes > 0 && i < t->repeats; i++) {
        if (t->columns > 0)
            t->probe->read_rows(out, t->x, t->rows,
                                t->bytes / ((int64_t)sizeof(float) * t->columns), t->columns);
        else t->probe->read(out, mine, t->bytes / (int64_t)sizeof(float));
    }
}

static double best_of(gsa_team *team, int threads, gsa_trial *trial)
{
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        const double start = gsa_clock_now(trial->counts_cpu);
        gsa_team_run(team, threads, run, trial);
        const double seconds =
            (gsa_clock_now(trial->counts_cpu) - start) / (trial->counts_cpu ? threads : 1);
        if (i == 0 || seconds < best) best = seconds;
    }
    return best > 0 ? best : 1e-9;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void measure_reading(gsa_team *team, gsa_trial *trial, gsa_ceilings *c)
{
    /* of the first two each thread has its own */
    static const int64_t sizes[GSA_CEILING_SIZES] = { 1 << 14, PRIVATE, 1 << 23,
                                                      1 << 25, 1 << 26, LARGEST };
    for (int i = 0; i < GSA_CEILING_SIZES; i++) {
        trial->bytes = i < 2 ? sizes[i] : larger(sizes[i] / c->threads, PRIVATE);
        trial->repeats = larger(1, VOLUME / trial->bytes);
        c->bytes[i] = trial->bytes * c->threads;
        c->read[i] = (double)(c->bytes[i] * trial->repeats) / best_of(team, c->threads, trial);
    }
}

static void measure_rows(gsa_team *team, gsa_trial *trial, int32_t *rows, gsa_ceilings *c)
{
    const int64_t count = TABLE / c->row_bytes;
    for (int64_t i = 0; i < count; i++)
        rows[i] = (int32_t)(gsa_random(1, (uint64_t)i, 2) % (uint64_t)count);
    trial->rows = rows, trial->bytes = count * c->row_bytes, trial->repeats = 1;
    trial->columns = (int32_t)(c->row_bytes / (int64_t)sizeof(float));
    c->table_bytes = TABLE;
    c->rows = (double)(trial->bytes * c->threads) / best_of(team, c->threads, trial);
}

gsa_status gsa_ceilings_measure(const gsa_system *system, int threads, int64_t row_bytes,
                                int counts_cpu, gsa_ceilings *ceilings, gsa_error *error)
{
    gsa_trial trial = { .probe = gsa_cpu_probe_of(GSA_CPU_BEST), .counts_cpu = counts_cpu };
    *ceilings = (gsa_ceilings){ 0 };
    if (!trial.probe) return GSA_OK;
    const int64_t whole = 4 * trial.probe->lanes * (int64_t)sizeof(float),
                  bytes = larger(LARGEST, (int64_t)threads * PRIVATE);
    gsa_team *team;
    gsa_status status = gsa_team_create(system, threads, &team, error);
    if (status != GSA_OK) return status;
    float *x = gsa_alloc_zero(system, (size_t)bytes, 1);
    int32_t *rows = gsa_alloc(system, TABLE / (size_t)whole, sizeof *rows);
    if (x && rows) {
        memset(x, 1, (size_t)bytes); /* pages of their own; small finite numbers */
        ceilings->threads = threads, trial.x = x, trial.repeats = ROUNDS;
        float none[64] = { 0 };
        ceilings->flops = (double)(trial.probe->multiply(none, 1) * ROUNDS * threads) /
                          best_of(team, threads, &trial);
        measure_reading(team, &trial, ceilings);
        ceilings->row_bytes = row_bytes < whole        ? whole
                              : row_bytes < TABLE / 64 ? row_bytes / whole * whole
                                                       : TABLE / 64;
        measure_rows(team, &trial, rows, ceilings);
    } else status = gsa_out_of_memory(error, "a buffer to measure reading with", bytes);
    gsa_release(system, rows);
    gsa_release(system, x);
    gsa_team_release(team);
    return status;
}

double gsa_ceilings_rate(const gsa_ceilings *ceilings, double bytes)
{
    int i = GSA_CEILING_SIZES - 1;
    while (i > 0 && bytes < (double)ceilings->bytes[i]) i--;
    return ceilings->read[i];
}

void gsa_ceilings_write(const gsa_ceilings *c, gsa_output *out)
{
    if (c->threads == 0) return;
    gsa_output_format(out, "ceilings of %d thread%s: %.1f GFLOP/s; reading", c->threads,
                      c->threads > 1 ? "s" : "", 1e-9 * c->flops);
    for (int i = 0; i < GSA_CEILING_SIZES; i++)
        gsa_output_format(out, "%s %" PRId64 " KiB %.1f", i ? "," : "", c->bytes[i] >> 10,
                          1e-9 * c->read[i]);
    gsa_output_format(out, " GB/s; rows of %" PRId64 " bytes out of %" PRId64 " MiB %.1f GB/s\n",
                      c->row_bytes, c->table_bytes >> 20, 1e-9 * c->rows);
}

json_t *gsa_ceilings_json(const gsa_ceilings *c)
{
    json_t *reading = json_array();
    for (int i = 0; i < GSA_CEILING_SIZES; i++)
        json_array_append_new(reading, json_pack("{s:I, s:f}", "bytes", (json_int_t)c->bytes[i],
                                                 "gb_per_s", 1e-9 * c->read[i]));
    return json_pack("{s:i, s:f, s:o, s:I, s:I, s:f}", "threads", c->threads, "gflops",
                     1e-9 * c->flops, "reading", reading, "row_bytes", (json_int_t)c->row_bytes,
                     "table_bytes", (json_int_t)c->table_bytes, "rows_gb_per_s", 1e-9 * c->rows);
}
