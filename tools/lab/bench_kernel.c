/* bench_kernel.c - gsa bench kernel: attend forward and backward over all attend phases of one
 * layer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lab/bench.h"
#include "graph/plan.h"
#include "gsa/safetensors.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cuda.h"
#include "topologies/param.h"
#include "topologies/words.h"

typedef struct gsa_phase_case { /* one phase's call: everything in backend memory */
    gsa_edges edges;
    gsa_part parts[GSA_MAX_KINDS];
    gsa_attend_args call;
    const char *name;
    int phase;
} gsa_phase_case;

typedef struct gsa_kernel_case {
    gsa_bench *bench;
    const gsa_bench_side *side;
    gsa_pattern *pattern;
    gsa_batch *batch;
    gsa_backend *backend;
    gsa_phase_case *phases;
    int n_phases;
    void **memory; /* everything to free */
    int n_memory;
    const void *base; /* the batch's arrays, NULL: where they are */
} gsa_kernel_case;

static void release(void *state)
{
    gsa_kernel_case *one = state;
    for (int i = 0; i < one->n_memory; i++) one->backend->free(one->backend, one->memory[i]);
    gsa_release(one->bench->system, one->memory);
    gsa_release(one->bench->system, one->phases);
    gsa_batch_release(one->batch);
    gsa_backend_release(one->backend);
    gsa_pattern_release(one->pattern);
    gsa_release(one->bench->system, one);
}

static void *memory(gsa_kernel_case *one, int64_t bytes)
{
    void **more =
        gsa_resize(one->bench->system, one->memory, (size_t)one->n_memory + 1, sizeof *more);
    if (!more) return NULL;
    one->memory = more;
    void *at = one->backend->alloc(one->backend, bytes > 0 ? bytes : 1);
    if (at) one->memory[one->n_memory++] = at;
    return at;
}

static gsa_status give_up(const gsa_kernel_case *one, gsa_status status, gsa_error *error)
{
    return gsa_fail(error, status, "%s", one->backend->error.text);
}

/* Where the backend gave `at` it is the host that has none. */
static gsa_status no_memory(const gsa_kernel_case *one, const void *at, const char *what,
                            int64_t bytes, gsa_error *error)
{
    return at ? gsa_out_of_memory(error, what, bytes)
              : gsa_backend_no_memory(one->backend, what, bytes, error);
}

/* A matrix of `count` numbers in [-0.5, 0.5), the same in every run. */
static gsa_status numbers(gsa_kernel_case *one, int64_t count, void **at, gsa_error *error)
{
    const gsa_system *system = one->bench->system;
    const int real = one->backend->real;
    int64_t bytes;
    if (!gsa_mul(count, one->backend->real_bytes, &bytes))
        return gsa_fail(error, GSA_ERR_LIMIT, "the matrices are too large");
    void *host = gsa_alloc(system, (size_t)bytes, 1);
    *at = memory(one, bytes);
    if (!host || !*at) {
        gsa_release(system, host);
        return no_memory(one, *at, "a matrix to measure with", bytes, error);
    }
    for (int64_t i = 0; i < count; i++) {
        const double x =
            (double)(gsa_random(1, (uint64_t)i, (uint64_t)one->n_memory) >> 11) * 0x1p-53 - 0.5;
        if (real == GSA_F32) ((float *)host)[i] = (float)x;
        else ((double *)host)[i] = x;
    }
    const gsa_status status = one->backend->upload(one->backend, *at, host, bytes);
    gsa_release(system, host);
    return status == GSA_OK ? GSA_OK : give_up(one, status, error);
}

/* k, v, dk, dv of every kind that the phase reads: [part_rows, width]. */
static gsa_status fill_parts(gsa_kernel_case *one, gsa_phase_case *phase, int64_t width,
                             gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int k = 0; k < phase->edges.kinds && status == GSA_OK; k++) {
        const int64_t count = phase->edges.part_rows[k] * width;
        void *planes[4] = { 0 };
        for (int i = 0; i < 4 && count > 0 && status == GSA_OK; i++)
            status = numbers(one, count, &planes[i], error);
        phase->parts[k] = (gsa_part){ planes[0], planes[1], planes[2], planes[3] };
    }
    return status;
}

/* Dropout of attention, whose key needs the examples' numbers. */
static gsa_status fill_dropout(gsa_kernel_case *one, gsa_phase_case *phase, gsa_error *error)
{
    const int64_t bytes = phase->edges.examples * (int64_t)sizeof(int32_t);
    if (one->bench->dropout == 0) return GSA_OK;
    int32_t *host = gsa_alloc(one->bench->system, (size_t)phase->edges.examples, sizeof *host);
    void *at = memory(one, bytes);
    for (int32_t i = 0; host && i < phase->edges.examples; i++) host[i] = i;
    gsa_status status = GSA_OK;
    if (!host || !at) status = no_memory(one, at, "dropout to measure with", bytes, error);
    else if (one->backend->upload(one->backend, at, host, bytes) != GSA_OK)
        status = give_up(one, one->backend->error.status, error);
    gsa_release(one->bench->system, host);
    phase->call.dropout =
        (gsa_dropout){ .p = one->bench->dropout, .seed = 1, .step = 1, .example_id = at };
    return status;
}

static gsa_status fill_call(gsa_kernel_case *one, gsa_phase_case *phase, const gsa_phase *schema,
                            gsa_error *error)
{
    const int32_t heads = (int32_t)gsa_args_number(one->bench->args, "heads", 1);
    const int32_t dim = (int32_t)gsa_args_number(one->bench->args, "head-dim", 1);
    gsa_attend_args *call = &phase->call;
    *call = (gsa_attend_args){ .edges = &phase->edges,
                               .heads = schema->per_head ? 1 : heads,
                               .head_dim = dim,
                               .scale = 0.125,
                               .parts = phase->parts };
    const int64_t width = (int64_t)call->heads * dim, count = phase->edges.rows * width;
    void *q, *dout, *vectors = NULL, *bias = NULL;
    gsa_status status = fill_parts(one, phase, width, error);
    if (status == GSA_OK) status = fill_dropout(one, phase, error);
    if (status == GSA_OK) status = numbers(one, count, &q, error);
    if (status == GSA_OK) status = numbers(one, count, &dout, error);
    if (status == GSA_OK) status = numbers(one, count, &call->out, error);
    if (status == GSA_OK) status = numbers(one, count, &call->dq, error);
    if (status == GSA_OK) status = numbers(one, phase->edges.rows * call->heads, &call->lse, error);
    if (status == GSA_OK && schema->label_use == GSA_KEY_VECTORS) {
        status = numbers(one, (int64_t)schema->labels * dim, &vectors, error);
        if (status == GSA_OK)
            status = numbers(one, (int64_t)schema->labels * dim, &call->dlabel_vectors, error);
    }
    if (status == GSA_OK && schema->label_use == GSA_HEAD_BIAS) {
        status = numbers(one, (int64_t)schema->labels * call->heads, &bias, error);
        if (status == GSA_OK)
            status = numbers(one, (int64_t)schema->labels * call->heads, &call->dlabel_bias, error);
    }
    if (status != GSA_OK) return status;
    call->q = q, call->dout = dout, call->label_vectors = vectors, call->label_bias = bias;
    return GSA_OK;
}

static gsa_status fill_phases(gsa_kernel_case *one, gsa_error *error)
{
    const gsa_schema *schema = gsa_pattern_schema(one->pattern);
    int64_t bytes;
    const void *block = gsa_batch_block(one->batch, &bytes);
    void *copy = one->backend->shares_host_memory ? NULL : memory(one, bytes);
    one->phases =
        gsa_alloc_zero(one->bench->system, (size_t)gsa_schema_phases(schema), sizeof *one->phases);
    if (!one->phases || (!copy && !one->backend->shares_host_memory))
        return no_memory(one, copy, "a batch to measure", bytes, error);
    gsa_status status = copy ? one->backend->upload(one->backend, copy, block, bytes) : GSA_OK;
    one->base = copy;
    if (status != GSA_OK) return give_up(one, status, error);
    for (int p = 0; p < gsa_schema_phases(schema) && status == GSA_OK; p++) {
        if (gsa_schema_phase(schema, p)->aggregate != GSA_ATTEND) continue;
        gsa_phase_case *phase = &one->phases[one->n_phases++];
        phase->name = gsa_schema_phase(schema, p)->name, phase->phase = p;
        gsa_batch_edges(one->batch, p, one->base, &phase->edges);
        status = fill_call(one, phase, gsa_schema_phase(schema, p), error);
    }
    return status;
}

/* Seconds of one call. A device only queues it: there it is made DEVICE_CALLS times, and what waits
 * for the last is the download of one number. */
static gsa_status clock_call(gsa_kernel_case *one,
                             gsa_status (*op)(gsa_backend *b, const gsa_attend_args *args),
                             const gsa_attend_args *call, double *seconds)
{
    enum { DEVICE_CALLS = 20 };
    gsa_backend *b = one->backend;
    const int calls = b->shares_host_memory ? 1 : DEVICE_CALLS;
    const int64_t one_number = call->edges->rows > 0 ? b->real_bytes : 0;
    gsa_status status = GSA_OK;
    double number;
    const double start = gsa_clock_now(one->bench->counts_cpu);
    for (int i = 0; i < calls && status == GSA_OK; i++) status = op(b, call);
    if (status == GSA_OK && !b->shares_host_memory)
        status = b->download(b, &number, call->out, one_number);
    *seconds += (gsa_clock_now(one->bench->counts_cpu) - start) / calls;
    return status;
}

static gsa_status run(void *state, double *seconds, gsa_error *error)
{
    gsa_kernel_case *one = state;
    gsa_status status = GSA_OK;
    for (int p = 0; p < one->n_phases && status == GSA_OK; p++) {
        const gsa_attend_args *call = &one->phases[p].call;
        status = clock_call(one, one->backend->attend_forward, call, &seconds[0]);
        if (status == GSA_OK)
            status = clock_call(one, one->backend->attend_backward, call, &seconds[1]);
    }
    return status == GSA_OK ? GSA_OK : give_up(one, status, error);
}

/* The level of vectors that a side runs at, -1: none. */
static int level_of(const char *device)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = { { "auto", GSA_CPU_BEST },         { "cpu", GSA_CPU_BEST },
                   { "cpu-plain", GSA_CPU_PLAIN },   { "cpu-avx2", GSA_CPU_AVX2 },
                   { "cpu-avx512", GSA_CPU_AVX512 }, { "cpu-neon", GSA_CPU_NEON } };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(device, levels[i].name) == 0) return levels[i].level;
    return -1;
}

static void explain_formats(const gsa_kernel_case *one, const gsa_attend_args *call,
                            gsa_output *out)
{
    const int level = level_of(one->side->device),
              here = one->backend->shares_host_memory && one->backend->real == GSA_F32;
    const gsa_cpu_probe *probe = level >= 0 && here ? gsa_cpu_probe_of(level) : NULL;
    gsa_cpu_formats f;
    if (!probe || !probe->formats(call, &f)) return;
    gsa_output_format(out,
                      "%s: of %" PRId64 " rows %" PRId64
                      " as bcsr (blocks of %d rows that share their sources), %" PRId64
                      " as dia (4 that follow one another), %" PRId64
                      " as ell (4 of as many edges), %" PRId64
                      " as interval (ranges of sources), %" PRId64
                      " as gemm (whole examples), %" PRId64 " as row\n",
                      one->backend->name, call->edges->rows, f.bcsr, probe->lanes, f.dia, f.ell,
                      f.interval, f.gemm, f.row);
}

static gsa_status explain(void *state, gsa_output *out, gsa_error *error)
{
    const gsa_kernel_case *one = state;
    for (int p = 0; p < one->n_phases; p++) {
        gsa_edges edges;
        gsa_plan *plan;
        char text[2048];
        gsa_batch_edges(one->batch, one->phases[p].phase, NULL, &edges);
        const gsa_status status = gsa_plan_create(one->bench->system, &edges, NULL, &plan, error);
        if (status != GSA_OK) return status;
        gsa_plan_explain(plan, text, sizeof text);
        gsa_output_format(out, "phase %s\n%s", one->phases[p].name, text);
        gsa_plan_release(one->bench->system, plan);
        explain_formats(one, &one->phases[p].call, out);
    }
    return GSA_OK;
}

/* ---- --arrays: what went in and came out, for who checks it by other means ----------------- */

enum { PHASE_ARRAYS = 11 + 4 * GSA_MAX_KINDS };
typedef struct arrays {
    gsa_blob blob[PHASE_ARRAYS * GSA_MAX_PHASES];
    char name[PHASE_ARRAYS * GSA_MAX_PHASES][64];
    int32_t *expanded[GSA_MAX_PHASES]; /* sources, then labels of the edges */
    int count;
} arrays;

static void add_array(arrays *a, const char *phase, const char *name, int dtype, int64_t rows,
                      int64_t cols, const void *at)
{
    if (!at || rows == 0) return;
    snprintf(a->name[a->count], sizeof a->name[0], "%s.%s", phase, name);
    a->blob[a->count] = (gsa_blob){ a->name[a->count], dtype, 2, { rows, cols }, at };
    a->count++;
}

/* k.0, v.0, dk.0, dv.0, k.1, ...: a kind's rows; sources count through the kinds. */
static void add_parts(arrays *a, const gsa_phase_case *phase, int real, int64_t width)
{
    for (int k = 0; k < phase->edges.kinds; k++) {
        const gsa_part *part = &phase->parts[k];
        const struct {
            const char *name;
            const void *at;
        } each[] = { { "k", part->k }, { "v", part->v }, { "dk", part->dk }, { "dv", part->dv } };
        for (int i = 0; i < 4; i++) {
            char name[16];
            snprintf(name, sizeof name, "%s.%d", each[i].name, k);
            add_array(a, phase->name, name, real, phase->edges.part_rows[k], width, each[i].at);
        }
    }
}

static gsa_status add_phase(const gsa_kernel_case *one, arrays *a, int p, gsa_error *error)
{
    const gsa_phase_case *phase = &one->phases[p];
    const gsa_attend_args *call = &phase->call;
    const gsa_edges *e = &phase->edges;
    const int real = one->backend->real == GSA_F32 ? GSA_DTYPE_F32 : GSA_DTYPE_F64;
    const int64_t width = (int64_t)call->heads * call->head_dim;
    a->expanded[p] = gsa_alloc(one->bench->system, (size_t)e->edge_total, 2 * sizeof(int32_t));
    if (!a->expanded[p]) return gsa_out_of_memory(error, "the edges", e->edge_total * 8);
    gsa_edges_expand(e, a->expanded[p], a->expanded[p] + e->edge_total, NULL);
    add_array(a, phase->name, "edge_offset", GSA_DTYPE_I64, e->rows + 1, 1, e->edge_offset);
    add_array(a, phase->name, "source", GSA_DTYPE_I32, e->edge_total, 1, a->expanded[p]);
    add_array(a, phase->name, "label", GSA_DTYPE_I32, e->edge_total, 1,
              a->expanded[p] + e->edge_total);
    add_array(a, phase->name, "q", real, e->rows, width, call->q);
    add_array(a, phase->name, "dq", real, e->rows, width, call->dq);
    add_array(a, phase->name, "out", real, e->rows, width, call->out);
    add_array(a, phase->name, "dout", real, e->rows, width, call->dout);
    add_array(a, phase->name, "label_vectors", real, e->labels, call->head_dim,
              call->label_vectors);
    add_array(a, phase->name, "label_bias", real, e->labels, call->heads, call->label_bias);
    add_parts(a, phase, real, width);
    return GSA_OK;
}

static gsa_status write_arrays(const gsa_kernel_case *one, const arrays *a, const char *path,
                               gsa_error *error)
{
    gsa_output *output;
    gsa_status status = gsa_output_open(one->bench->system, path, &output, error);
    if (status != GSA_OK) return status;
    status = gsa_safetensors_write(one->bench->system, output, a->blob, a->count, NULL, 0, error);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}

/* Backward adds to the gradients that it is given. */
static gsa_status clear_gradients(const gsa_kernel_case *one, const gsa_phase_case *phase)
{
    gsa_backend *b = one->backend;
    const int64_t bytes = (int64_t)phase->call.heads * phase->call.head_dim * b->real_bytes;
    gsa_status status = b->zero_fill(b, phase->call.dq, phase->edges.rows * bytes);
    for (int k = 0; k < phase->edges.kinds && status == GSA_OK; k++) {
        const gsa_part *part = &phase->parts[k];
        if (part->dk) status = b->zero_fill(b, part->dk, phase->edges.part_rows[k] * bytes);
        if (part->dv && status == GSA_OK)
            status = b->zero_fill(b, part->dv, phase->edges.part_rows[k] * bytes);
    }
    return status;
}

/* Of one round. */
static gsa_status save_arrays(gsa_kernel_case *one, const char *path, gsa_error *error)
{
    double seconds[GSA_BENCH_SERIES] = { 0 };
    gsa_status status = GSA_OK;
    if (!one->backend->shares_host_memory)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED, "--arrays: the memory of %s is not the host's",
                        one->backend->name);
    arrays *a = gsa_alloc_zero(one->bench->system, 1, sizeof *a);
    if (!a) return gsa_out_of_memory(error, "the arrays", (int64_t)sizeof *a);
    for (int p = 0; p < one->n_phases && status == GSA_OK; p++)
        if (clear_gradients(one, &one->phases[p]) != GSA_OK)
            status = give_up(one, one->backend->error.status, error);
    if (status == GSA_OK) status = run(one, seconds, error);
    for (int p = 0; p < one->n_phases && status == GSA_OK; p++)
        status = add_phase(one, a, p, error);
    if (status == GSA_OK) status = write_arrays(one, a, path, error);
    for (int p = 0; p < one->n_phases; p++) gsa_release(one->bench->system, a->expanded[p]);
    gsa_release(one->bench->system, a);
    return status;
}

/* Where a side runs: a level of the cpu backend, or a device by name. */
static gsa_status open_side(gsa_kernel_case *one, gsa_error *error)
{
    const gsa_bench_side *side = one->side;
    const gsa_system *system = one->bench->system;
    const int real =
        strcmp(gsa_args_text(one->bench->args, "real"), "double") == 0 ? GSA_F64 : GSA_F32;
    const int level = level_of(side->device);
    if (level > GSA_CPU_BEST && real == GSA_F64)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--against %s computes in float, and --real is double", side->device);
    if (level > GSA_CPU_BEST)
        return gsa_backend_cpu(system, level, side->threads, &one->backend, error);
    const gsa_status status =
        gsa_backend_open(system, side->device, real, side->threads, &one->backend, error);
    if (status != GSA_ERR_ARGUMENT || !error) return status;
    const gsa_error why = *error;
    return gsa_fail(error, status,
                    "%s; --against also takes cpu-plain, cpu-avx2, cpu-avx512 and cpu-neon",
                    why.text);
}

static gsa_status prepare(gsa_kernel_case *one, int32_t length, gsa_error *error)
{
    const gsa_bench *bench = one->bench;
    gsa_bench_examples examples = { 0 };
    gsa_status status = open_side(one, error);
    if (status == GSA_OK)
        status = gsa_bench_emit(bench->system, one->pattern, bench->text, length,
                                (int32_t)gsa_args_number(bench->args, "heads", 1), bench->batch,
                                &examples, error);
    if (status == GSA_OK)
        status = gsa_bench_join(bench->system, one->pattern, &examples, &one->batch, error);
    gsa_bench_examples_release(bench->system, &examples);
    return status == GSA_OK ? fill_phases(one, error) : status;
}

/* What no kernel can do without, in numbers and bytes: docs/kernels.md has the equations. */
typedef struct gsa_kernel_work {
    double flops, bytes;
} gsa_kernel_work;

static void add_work(const gsa_attend_args *call, gsa_kernel_work work[2])
{
    const gsa_edges *e = call->edges;
    const double width = (double)call->heads * call->head_dim, rows = (double)e->rows,
                 edges = (double)e->edge_total;
    const double lists = (double)e->run_total * sizeof(gsa_run) + 16 * rows,
                 table = rows * width * e->labels;
    const double labelled = call->label_vectors == NULL ? 0
                            : edges * width < 2 * table ? edges * width
                                                        : 2 * table;
    double sources = 0;
    for (int k = 0; k < e->kinds; k++) sources += (double)e->part_rows[k];
    work[0].flops += 4 * edges * width + 5 * edges * call->heads + labelled;
    work[0].bytes += 4 * width * (2 * rows + 2 * sources) + 4 * rows * call->heads + lists;
    work[1].flops += 10 * edges * width + 8 * edges * call->heads + 2 * rows * width + 2 * labelled;
    work[1].bytes += 4 * width * (4 * rows + 4 * sources) + 8 * rows * call->heads + 2 * lists;
}

static void note_floor(gsa_bench_case *slot, const gsa_kernel_case *one,
                       const gsa_kernel_work work[2])
{
    const gsa_ceilings *c = &one->side->ceilings;
    if (c->threads == 0 || !one->backend->shares_host_memory || one->backend->real != GSA_F32)
        return;
    for (int s = 0; s < 2; s++) {
        const double compute = work[s].flops / c->flops,
                     reading = work[s].bytes / gsa_ceilings_rate(c, work[s].bytes);
        slot->floor[s] = compute > reading ? compute : reading;
        slot->bound[s] = compute > reading ? "compute" : "memory";
    }
}

/* Forward multiplies q.k and p v; backward recomputes q.k and adds do.v, dq, dk, dv: 2 flops for
 * each of 2 and 5 products. */
static void note_work(gsa_bench_case *slot, const gsa_kernel_case *one, int32_t length)
{
    int64_t edges = 0;
    gsa_kernel_work work[2] = { { 0 } };
    for (int p = 0; p < one->n_phases; p++) {
        const gsa_attend_args *call = &one->phases[p].call;
        const double products = (double)call->edges->edge_total * call->heads * call->head_dim;
        slot->flops[0] += 4 * products, slot->flops[1] += 10 * products;
        edges += call->edges->edge_total;
        add_work(call, work);
    }
    slot->items = (double)edges;
    note_floor(slot, one, work);
    json_object_set_new(slot->facts, "length", json_integer(length));
    json_object_set_new(slot->facts, "edges", json_integer(edges));
    json_object_set_new(slot->facts, "heads",
                        json_integer(gsa_args_number(one->bench->args, "heads", 1)));
    json_object_set_new(slot->facts, "head_dim",
                        json_integer(gsa_args_number(one->bench->args, "head-dim", 1)));
    json_object_set_new(slot->facts, "batch", json_integer(one->bench->batch));
    json_object_set_new(slot->facts, "dropout", json_real(one->bench->dropout));
    json_object_set_new(slot->facts, "backend", json_string(one->backend->name));
    json_object_set_new(slot->facts, "threads", json_integer(one->side->threads));
    json_object_set_new(slot->facts, "bytes", json_pack("[f, f]", work[0].bytes, work[1].bytes));
}

/* What runs where, before anything has failed on it. */
static void note_device(const gsa_backend *backend, gsa_bench_side *side)
{
    const char *refused = backend->error.text;
    snprintf(side->computes_on, sizeof side->computes_on, "%s%s%s", backend->name,
             *refused ? ", since " : "", refused);
}

static gsa_status add_side(gsa_bench *bench, gsa_bench_side *side, gsa_pattern *pattern,
                           int32_t length, gsa_error *error)
{
    gsa_bench_case *slot = gsa_bench_add(bench, error);
    if (!slot) return GSA_ERR_MEMORY;
    gsa_kernel_case *one = gsa_alloc_zero(bench->system, 1, sizeof *one);
    if (!one) return gsa_out_of_memory(error, "a bench case", (int64_t)sizeof *one);
    one->bench = bench, one->side = side, one->pattern = gsa_pattern_retain(pattern);
    slot->state = one, slot->run = run, slot->explain = explain, slot->release = release;
    snprintf(slot->name, sizeof slot->name, "%s", gsa_pattern_text(pattern));
    gsa_bench_detail(bench, "n", length, slot->detail);
    const size_t used = strlen(slot->detail);
    if (bench->n_sides > 1)
        snprintf(slot->detail + used, sizeof slot->detail - used, " %s/%d", side->device,
                 side->threads);
    const gsa_status status = prepare(one, length, error);
    if (status == GSA_OK) note_device(one->backend, side);
    if (status == GSA_OK) note_work(slot, one, length);
    const char *path = gsa_args_text(bench->args, "arrays");
    if (status != GSA_OK || !path) return status;
    if (bench->n_cases == 1) return save_arrays(one, path, error);
    return gsa_fail(error, GSA_ERR_ARGUMENT, "--arrays holds one case, and %s would be the second",
                    slot->detail);
}

static gsa_status add(gsa_bench *bench, gsa_pattern *pattern, int32_t length, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0; i < bench->n_sides && status == GSA_OK; i++)
        status = add_side(bench, &bench->sides[i], pattern, length, error);
    return status;
}

/* "cpu-avx2/2": the device, and the threads where they are not --threads. */
static gsa_status read_side(const gsa_bench *bench, const char *text, gsa_bench_side *side,
                            gsa_error *error)
{
    char shown[GSA_SHOWN], *end;
    const char *slash = strchr(text, '/');
    const size_t length = slash ? (size_t)(slash - text) : strlen(text);
    const long threads = slash ? strtol(slash + 1, &end, 10) : bench->threads;
    if (length >= sizeof side->device || threads < 1 || threads > 4096 ||
        (slash && (*end || slash[1] == 0)))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--against %s: expected a device and, after a slash, 1 to 4096 threads",
                        gsa_word_show(text, shown));
    memcpy(side->device, text, length);
    side->device[length] = 0;
    side->threads = (int)threads;
    return GSA_OK;
}

/* Sides with the same number of threads have the same ceilings. */
static gsa_status measure_ceilings(gsa_bench *bench, int side, gsa_error *error)
{
    const int64_t row = 4 * gsa_args_number(bench->args, "head-dim", 1);
    for (int i = 0; i < side; i++)
        if (bench->sides[i].threads == bench->sides[side].threads) {
            bench->sides[side].ceilings = bench->sides[i].ceilings;
            return GSA_OK;
        }
    return gsa_ceilings_measure(bench->system, bench->sides[side].threads, row, bench->counts_cpu,
                                &bench->sides[side].ceilings, error);
}

static gsa_status add_sides(gsa_bench *bench, gsa_error *error)
{
    int more;
    const char *const *against = gsa_args_texts(bench->args, "against", &more);
    if (more >= GSA_BENCH_SIDES)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--against is given %d times, expected at most %d",
                        more, GSA_BENCH_SIDES - 1);
    gsa_status status = GSA_OK;
    for (int i = 0; i <= more && status == GSA_OK; i++, bench->n_sides++) {
        status = read_side(bench, i ? against[i - 1] : gsa_args_text(bench->args, "device"),
                           &bench->sides[i], error);
        if (status == GSA_OK) status = measure_ceilings(bench, i, error);
    }
    return status;
}

gsa_status gsa_bench_kernel(gsa_bench *bench, gsa_error *error)
{
    static const gsa_param dropout = { "--dropout", GSA_REAL, 0, 0, 0.999, NULL, "0", "" };
    gsa_value share;
    bench->series[0] = "forward", bench->series[1] = "backward", bench->n_series = 2;
    gsa_status status =
        gsa_param_parse(&dropout, gsa_args_text(bench->args, "dropout"), &share, error);
    if (status == GSA_OK) bench->dropout = share.x, status = add_sides(bench, error);
    return status == GSA_OK ? gsa_bench_each_pattern(bench, add, error) : status;
}
