/* Backends, tapes and what is recorded on them, parameters, optimisers, files of weights. */
#include <stdio.h>
#include "calls.h"
#include "graph/batch.h"
#include "gsa/attend.h"
#include "gsa/checkpoint.h"
#include "gsa/optimiser.h"
#include "gsa/schedule.h"
#include "gsa/settings.h"
#include "gsa/tape.h"
#include "kernels/cuda.h"
#include "kernels/profile.h"

gsa_status calls_backends(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    gsa_status status;
    gsa_backend *ref = NULL, *cpu = NULL, *timed = NULL, *device = NULL;
    gsa_profile profile = { 0 };
    (void)scratch;
    TRY(gsa_backend_ref, s, GSA_F64, 2, &ref);
    TRY(gsa_backend_cpu, s, GSA_CPU_BEST, 2, &cpu);
    calls_next("gsa_backend_profile");
    status = gsa_backend_profile(cpu, &profile, &timed, &calls_error);
    cpu = NULL; /* owned there, also where that fails */
    if (status) goto out;
    CALL(gsa_profile_name)(0), CALL(gsa_profile_enter)(&profile, GSA_PROFILE_STEP);
    CALL(gsa_profile_end)(&profile, GSA_PROFILE_FILL, CALL(gsa_profile_begin)(&profile));
    CALL(gsa_profile_beside)(&profile, GSA_PROFILE_FILL, CALL(gsa_profile_thread)(&profile));
    CALL(gsa_cpu_has)
    (GSA_CPU_PLAIN), CALL(gsa_gemm_library)(), CALL(gsa_cuda_is_built)(), CALL(gsa_cuda_devices)();
    CALL(gsa_backend_no_memory)(ref, "a test", 8, &calls_error);
    CALL(gsa_cuda_choose_attention)(ref, GSA_CUDA_FUSED);
    CALL(gsa_cuda_use_graphs)(ref);
    CALL(gsa_cuda_use_stream)(ref, NULL, &calls_error);
    calls_next("gsa_backend_cuda"); /* without a device: a sentence */
    if (gsa_backend_cuda(s, GSA_F32, 0, &device, &calls_error) == GSA_ERR_MEMORY)
        status = GSA_ERR_MEMORY;
out:
    CALL(gsa_backend_release)(device);
    gsa_backend_release(timed), gsa_backend_release(cpu), gsa_backend_release(ref);
    return status;
}

enum { ROWS = 4, COLS = 3 };
typedef struct bench {
    gsa_backend *backend;
    gsa_parameters *parameters;
    gsa_tape *tape;
    gsa_parameter *w, *bias, *gain, *table;
} bench;

static gsa_status open_bench(bench *b, const gsa_system *s)
{
    gsa_status status;
    gsa_parameters *p;
    *b = (bench){ 0 };
    TRY(gsa_backend_open, s, "ref", GSA_F64, 1, &b->backend);
    TRY(gsa_parameters_create, s, b->backend, 1, &b->parameters);
    p = b->parameters;
    TRY(gsa_parameters_add, p, "w", COLS, COLS, GSA_INIT_XAVIER, 1, 0, &b->w);
    TRY(gsa_parameters_add, p, "bias", 1, COLS, GSA_INIT_ZERO, 1, GSA_NO_DECAY, &b->bias);
    TRY(gsa_parameters_add, p, "gain", 1, COLS, GSA_INIT_ONE, 1, GSA_NO_DECAY, &b->gain);
    TRY(gsa_parameters_add, p, "table", ROWS, COLS, GSA_INIT_NORMAL, 1, GSA_BY_ROWS, &b->table);
    TRY(gsa_parameters_zero_gradients, p);
    TRY(gsa_tape_create, s, b->backend, &b->tape);
    CALL(gsa_tape_reset)(b->tape, 1, 3, 5);
out:
    return status;
}

static void close_bench(bench *b)
{
    CALL(gsa_tape_release)(b->tape);
    CALL(gsa_parameters_release)(b->parameters);
    gsa_backend_release(b->backend);
}

/* Of ROWS rows the first reads two. */
static gsa_status some_edges(const gsa_system *s, gsa_graph **graph, gsa_edges *edges)
{
    static const int32_t source[] = { 0, 1 }, row[] = { 0, 0 };
    const gsa_edge_list list = { .struct_size = sizeof list,
                                 .index_bytes = 4,
                                 .rows = ROWS,
                                 .sources = -1,
                                 .count = 2,
                                 .source = source,
                                 .destination = row };
    const gsa_status status = gsa_graph_of_edges(s, &list, graph, &calls_error);
    if (status) return status;
    const gsa_batch *batch = gsa_graph_batch(*graph);
    int64_t bytes;
    gsa_batch_edges(batch, 0, gsa_batch_block(batch, &bytes), edges);
    return GSA_OK;
}

/* An empty tape for each: a warm one has room. */
static gsa_status fresh(bench *b, const gsa_system *s)
{
    gsa_status status;
    CALL(gsa_tape_release)(b->tape);
    b->tape = NULL;
    TRY(gsa_tape_create, s, b->backend, &b->tape);
    CALL(gsa_tape_reset)(b->tape, 1, 3, 5);
out:
    return status;
}

#define ALONE(f, ...)                                                                              \
    do {                                                                                           \
        if ((status = fresh(&b, s)) != GSA_OK) goto out;                                           \
        CALL(f)(b.tape, __VA_ARGS__);                                                              \
        TRY(gsa_tape_status, b.tape);                                                              \
    } while (0)

gsa_status calls_tape(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    static const double values[ROWS * COLS] = { 1, 2, 3, -1, 0.5, 0.2, 4, 1, 0 };
    static const int32_t number[] = { 7 };
    gsa_status status;
    bench b;
    double read[ROWS * COLS];
    (void)scratch;
    if ((status = open_bench(&b, s)) != GSA_OK) goto out;
    b.backend->shares_host_memory = 0; /* as a device: what it reads is copied */
    ALONE(gsa_tape_examples, number, 1);
    ALONE(gsa_tape_memory, 100);
    ALONE(gsa_tape_upload, values, sizeof values);
    ALONE(gsa_tape_host, 100);
    ALONE(gsa_tape_zeros, 2, 2);
    ALONE(gsa_tape_constant, values, GSA_F64, ROWS, COLS);
    gsa_tape *t = b.tape;
    TRY(gsa_tape_ahead, t, values, sizeof values);
    CALL(gsa_tape_expect)(t, 1), CALL(gsa_tape_forget_ahead)(t), CALL(gsa_tape_refused)(t);
    CALL(gsa_tape_training)(t), CALL(gsa_tape_backend)(t);
    gsa_tensor *x = gsa_tape_constant(t, values, GSA_F64, ROWS, COLS);
    gsa_tensor *y = gsa_op_linear(t, x, &b.w->value, &b.bias->value);
    TRY(gsa_tape_backward, t, gsa_op_square_error(t, y, x, 1));
    TRY(gsa_tensor_read, b.backend, x, 0, read);
    TRY(gsa_tensor_write, b.backend, &b.bias->value, read);
    CALL(gsa_tape_peak)(t);
    CALL(gsa_tape_fail)(t, GSA_ERR_ARGUMENT, "%d", 1);
out:
    close_bench(&b);
    return status;
}

gsa_status calls_ops(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    static const int32_t ids[ROWS] = { 1, 0, 3, 2 }, zeros[ROWS], number[] = { 7 };
    static const uint8_t mask[ROWS] = { 1, 0, 0, 1 };
    static const int64_t offset[] = { 0, 1, ROWS };
    const gsa_row_identity rows = { zeros, ids };
    gsa_graph *graph = NULL;
    gsa_edges edges;
    gsa_status status;
    bench b;
    (void)scratch;
    if ((status = open_bench(&b, s)) != GSA_OK) goto out;
    calls_next("gsa_graph_of_edges");
    if ((status = some_edges(s, &graph, &edges)) != GSA_OK) goto out;
    gsa_tensor *w = &b.w->value, *bias = &b.bias->value, *gain = &b.gain->value;
    gsa_tensor *x = &b.table->value, *list[] = { x, x };
    const gsa_attend_op attend = { .edges = &edges,
                                   .heads = 1,
                                   .head_dim = COLS,
                                   .scale = 1,
                                   .q = x,
                                   .k = { x },
                                   .v = { x },
                                   .site = 2 };
    ALONE(gsa_op_linear, x, w, bias);
    ALONE(gsa_op_linear_activated, x, w, bias, GSA_GELU);
    ALONE(gsa_op_heads, x, w, NULL, 1, COLS, 1);
    ALONE(gsa_op_norm, x, gain, bias, 1e-5);
    if ((status = fresh(&b, s)) != GSA_OK) goto out;
    gsa_tape_examples(b.tape, number, 1);
    CALL(gsa_op_dropout)(b.tape, x, 0.5, 1, rows);
    TRY(gsa_tape_status, b.tape);
    ALONE(gsa_op_activate, x, GSA_TANH);
    ALONE(gsa_op_add, x, x);
    ALONE(gsa_op_multiply, x, x);
    ALONE(gsa_op_gather, NULL, x, ids, ROWS, 1, 0);
    ALONE(gsa_op_select, mask, x, x);
    ALONE(gsa_op_attend, &attend);
    ALONE(gsa_op_aggregate, &edges, &x, 1, COLS, ROWS, COLS);
    ALONE(gsa_op_combine, list, (double[]){ 1, 2 }, 2);
    ALONE(gsa_op_concat, list, 2);
    ALONE(gsa_op_beside, list, 2);
    ALONE(gsa_op_pool, x, offset, 2, 1);
    ALONE(gsa_op_view, x, 0, 2);
    ALONE(gsa_op_reshape, x, 1, ROWS * COLS);
out:
    close_bench(&b);
    gsa_graph_release(graph);
    return status;
}

gsa_status calls_losses(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    static const int32_t targets[2 * COLS] = { 0, 0, 0, 2 };
    static const int64_t offset[] = { 0, 1, ROWS };
    gsa_status status;
    bench b;
    int32_t path[ROWS];
    (void)scratch;
    if ((status = open_bench(&b, s)) != GSA_OK) goto out;
    gsa_tensor *x = &b.table->value;
    const gsa_crf_op crf = { .emissions = x,
                             .transitions = &b.w->value,
                             .start = &b.bias->value,
                             .end = &b.gain->value,
                             .sequences = 2,
                             .offset = offset,
                             .targets = targets };
    ALONE(gsa_op_cross_entropy, x, targets, 1);
    ALONE(gsa_op_smooth_entropy, x, targets, 0.1, 1);
    ALONE(gsa_op_surprise, x, targets);
    ALONE(gsa_op_square_error, x, x, 1);
    ALONE(gsa_op_segment_entropy, x, offset, targets, 2, 1);
    ALONE(gsa_op_crf, &crf, 1);
    if ((status = fresh(&b, s)) != GSA_OK) goto out;
    TRY(gsa_crf_decode, b.tape, &crf, path, NULL);
out:
    close_bench(&b);
    return status;
}

static gsa_status allow(void *context, const char *name, int64_t rows, int64_t cols, int flags,
                        gsa_error *error)
{
    (void)context, (void)name, (void)rows, (void)cols, (void)flags, (void)error;
    return GSA_OK;
}

/* A step of training, into a checkpoint and out of it again. */
gsa_status calls_weights(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    const gsa_schedule rate = { .kind = GSA_SCHEDULE_CONSTANT, .steps = 1, .lr = 0.01 };
    const gsa_note note = { "key", "value" };
    gsa_status status;
    gsa_optimiser *optimiser = NULL;
    gsa_checkpoint *checkpoint = NULL;
    gsa_output *output = NULL;
    gsa_safetensors file = { 0 }, header = { 0 };
    gsa_expected expected = { 0 };
    char *found = NULL, *warning = NULL, path[300];
    bench b;
    if ((status = open_bench(&b, s)) != GSA_OK) goto out;
    gsa_parameters *p = b.parameters;
    CALL(gsa_settings_default)();
    CALL(gsa_parameters_ask)(p, allow, NULL), CALL(gsa_parameters_without)(p, 0);
    CALL(gsa_parameters_lack)(p), CALL(gsa_parameters_count)(p), CALL(gsa_parameters_at)(p, 0);
    CALL(gsa_parameters_find)(p, "w"), CALL(gsa_parameters_total)(p);
    CALL(gsa_parameters_backend)(p);
    b.backend->shares_host_memory = 0; /* as a device: one room for all */
    TRY(gsa_parameters_join, p);
    CALL(gsa_parameters_planes)(p);
    const gsa_optimiser_options adam = CALL(gsa_optimiser_default)(GSA_OPTIMISER_ADAM);
    TRY(gsa_optimiser_create, s, p, &adam, &optimiser);
    const double lr = CALL(gsa_schedule_rate)(&rate, 0);
    TRY(gsa_optimiser_step, optimiser, lr, NULL);
    CALL(gsa_optimiser_moment)(optimiser, 0, 0);
    CALL(gsa_optimiser_steps)(optimiser);
    TRY(gsa_optimiser_resume, optimiser, 1);
    CALL(gsa_optimiser_blame)(optimiser, 1, 0, 0, &calls_error);
    const char *folder = gsa_scratch_path(scratch, "run");
    TRY(gsa_make_folders, s, folder);
    TRY(gsa_checkpoint_begin, s, folder, 1, &checkpoint);
    TRY(gsa_checkpoint_file, checkpoint, "model.safetensors", &output);
    TRY(gsa_parameters_write, s, p, output, &note, 1);
    TRY(gsa_output_commit, output);
    output = NULL;
    calls_next("gsa_checkpoint_commit");
    status = gsa_checkpoint_commit(checkpoint, 1, &calls_error);
    checkpoint = NULL;
    if (status) goto out;
    TRY(gsa_checkpoint_find, s, folder, NULL, &found, &warning);
    snprintf(path, sizeof path, "%s/model.safetensors", found);
    TRY(gsa_parameters_expect, s, p, path, &expected);
    TRY(gsa_parameters_read, s, p, path);
    TRY(gsa_safetensors_read, s, path, &file);
    TRY(gsa_safetensors_read_header, s, path, &header);
    CALL(gsa_safetensors_note)(&file, "key");
    const gsa_blob *blob = CALL(gsa_safetensors_find)(&file, "w");
    CALL(gsa_blob_count)(blob);
    TRY(gsa_blob_check_finite, blob, path);
    TRY(gsa_output_open, s, gsa_scratch_path(scratch, "again"), &output);
    TRY(gsa_safetensors_write, s, output, file.blobs, file.count, &note, 1);
    TRY(gsa_checkpoint_begin, s, folder, 2, &checkpoint);
out:
    CALL(gsa_output_abandon)(output);
    CALL(gsa_checkpoint_abandon)(checkpoint);
    gsa_release(s, found), gsa_release(s, warning);
    CALL(gsa_safetensors_release)(&file);
    gsa_safetensors_release(&header), gsa_safetensors_release(&expected.header);
    CALL(gsa_optimiser_release)(optimiser);
    close_bench(&b);
    return status;
}
