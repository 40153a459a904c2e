/* bench_report.c - the figures of gsa bench as a table for people and as JSON. */
#include <stdlib.h>
#include <string.h>
#include "tools/lab/bench.h"
#include "kernels/backend.h"
#include "train/score/report.h"

typedef struct gsa_spread {
    double median, low, high;
} gsa_spread;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the samples in place: their order is of no further use. */
static gsa_spread spread_of(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, ascending);
    const double median =
        count % 2 ? seconds[count / 2] : 0.5 * (seconds[count / 2 - 1] + seconds[count / 2]);
    return (gsa_spread){ median, seconds[0], seconds[count - 1] };
}

static int has_floor(const gsa_bench *bench)
{
    for (int c = 0; c < bench->n_cases; c++)
        if (bench->cases[c].floor[0] > 0) return 1;
    return 0;
}

static int has_rate(const gsa_bench *bench, int series)
{
    for (int c = 0; c < bench->n_cases; c++)
        if (bench->cases[c].flops[series] > 0) return 1;
    return 0;
}

static void write_floor(const gsa_bench_case *one, int series, double seconds, gsa_output *out)
{
    if (one->floor[series] > 0 && seconds > 0)
        gsa_output_format(out, " %4.0f%% %-7s", 100 * one->floor[series] / seconds,
                          one->bound[series]);
    else gsa_output_format(out, " %5s %-7s", "-", "-");
}

/* Of the first column: the longest name's. */
static int name_width(const gsa_bench *bench)
{
    size_t width = 24;
    for (int c = 0; c < bench->n_cases; c++)
        if (strlen(bench->cases[c].name) > width) width = strlen(bench->cases[c].name);
    return (int)width;
}

static void write_header(const gsa_bench *bench, gsa_output *out)
{
    gsa_output_format(out, "%-*s %-14s", name_width(bench), bench->what, "");
    for (int s = 0; s < bench->n_series; s++) {
        gsa_output_format(out, " %12s ms %7s", bench->series[s], "spread");
        if (has_rate(bench, s)) gsa_output_format(out, " %8s", bench->rate.name);
        if (has_floor(bench)) gsa_output_format(out, " %5s %-7s", "floor", "binds");
        if (bench->cases[0].items > 0) gsa_output_format(out, " %9s", "ns/item");
    }
    gsa_output_text(out, "\n");
}

void gsa_bench_write_table(const gsa_bench *bench, gsa_output *out)
{
    if (bench->n_cases == 0) return;
    write_header(bench, out);
    for (int c = 0; c < bench->n_cases; c++) {
        const gsa_bench_case *one = &bench->cases[c];
        gsa_output_format(out, "%-*s %-14s", name_width(bench), one->name, one->detail);
        if (*one->skipped) {
            gsa_output_format(out, " skipped: %s\n", one->skipped);
            continue;
        }
        for (int s = 0; s < bench->n_series; s++) {
            const gsa_spread t = spread_of(one->seconds + s * bench->runs, bench->runs);
            gsa_output_format(out, " %15.4f", 1e3 * t.median);
            if (bench->runs < 2) gsa_output_format(out, " %7s", "-");
            else
                gsa_output_format(out, " %6.1f%%",
                                  t.median > 0 ? 100 * (t.high - t.low) / t.median : 0);
            if (has_rate(bench, s))
                gsa_output_format(out, " %8.2f",
                                  t.median > 0 ? bench->rate.unit * one->flops[s] / t.median : 0);
            if (has_floor(bench)) write_floor(one, s, t.median, out);
            if (bench->cases[0].items > 0)
                gsa_output_format(out, " %9.2f", one->items > 0 ? 1e9 * t.median / one->items : 0);
        }
        gsa_output_text(out, "\n");
    }
    gsa_output_format(out, "%d round%s%s, %d thread%s, GEMM: %s; load before: %.2f\n", bench->runs,
                      bench->runs > 1 ? "s" : "", bench->no_warm_up ? "" : " after a warm-up",
                      bench->threads, bench->threads > 1 ? "s" : "", gsa_gemm_library(),
                      bench->load);
    for (int i = 0; i < bench->n_sides; i++)
        gsa_output_format(out, "--device %s computes on %s\n", bench->sides[i].device,
                          bench->sides[i].computes_on);
    for (int i = 0; i < bench->n_sides; i++)
        if (i == 0 || bench->sides[i].threads != bench->sides[i - 1].threads)
            gsa_ceilings_write(&bench->sides[i].ceilings, out);
}

static json_t *case_json(const gsa_bench *bench, const gsa_bench_case *one)
{
    json_t *object = json_pack("{s:o, s:o}", "name", gsa_json_name(one->name), "detail",
                               gsa_json_name(one->detail));
    json_object_update(object, one->facts);
    if (*one->skipped) json_object_set_new(object, "skipped", json_string(one->skipped));
    if (*one->skipped) return object;
    for (int s = 0; s < bench->n_series; s++) {
        const gsa_spread t = spread_of(one->seconds + s * bench->runs, bench->runs);
        json_object_set_new(
            object, bench->series[s],
            json_pack("{s:f, s:f, s:f, s:f}", "median_ms", 1e3 * t.median, "low_ms", 1e3 * t.low,
                      "high_ms", 1e3 * t.high, bench->rate.key,
                      t.median > 0 ? bench->rate.unit * one->flops[s] / t.median : 0));
        if (one->floor[s] > 0)
            json_object_update_new(
                json_object_get(object, bench->series[s]),
                json_pack("{s:f, s:f, s:s}", "floor_ms", 1e3 * one->floor[s], "share_of_floor",
                          t.median > 0 ? one->floor[s] / t.median : 0, "binds", one->bound[s]));
    }
    return object;
}

static int put_json(const char *bytes, size_t count, void *out)
{
    gsa_output_write(out, bytes, (int64_t)count);
    return 0;
}

gsa_status gsa_bench_write_json(const gsa_bench *bench, const char *path, gsa_error *error)
{
    gsa_output *out;
    const gsa_status status = gsa_output_open(bench->system, path, &out, error);
    if (status != GSA_OK) return status;
    json_t *cases = json_array();
    for (int c = 0; c < bench->n_cases; c++)
        json_array_append_new(cases, case_json(bench, &bench->cases[c]));
    json_t *all =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:i, s:i, s:o}", "bench", bench->what, "version",
                  GSA_VERSION, "build", gsa_build(), "gemm", gsa_gemm_library(), "clock",
                  bench->counts_cpu ? "cpu" : "wall", "load", bench->load, "runs", bench->runs,
                  "threads", bench->threads, "cases", cases);
    json_t *ceilings = json_array();
    for (int i = 0; i < bench->n_sides; i++)
        if (bench->sides[i].ceilings.threads > 0)
            json_array_append_new(ceilings, gsa_ceilings_json(&bench->sides[i].ceilings));
    if (json_array_size(ceilings) > 0) json_object_set(all, "ceilings", ceilings);
    json_decref(ceilings);
    json_t *devices = json_array();
    for (int i = 0; i < bench->n_sides; i++)
        json_array_append_new(devices, json_pack("{s:s, s:s}", "device", bench->sides[i].device,
                                                 "computes_on", bench->sides[i].computes_on));
    if (json_array_size(devices) > 0) json_object_set(all, "devices", devices);
    json_decref(devices);
    json_dump_callback(all, put_json, out, JSON_INDENT(2));
    json_decref(all);
    gsa_output_text(out, "\n");
    return gsa_output_commit(out, error);
}
