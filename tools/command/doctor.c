/* gsa doctor - what this program and this machine can do; what a bug report should hold. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kernels/backend.h"
#include "tools/command/verbs.h"
#ifdef GSA_HAVE_CUDA_PROBE
#include "kernels/cuda/probe.h"
#endif

enum { SIDE = 512, ROUNDS = 20 };

/* Best of a few products of two SIDE x SIDE matrices, in GFLOP/s. */
static gsa_status gemm_speed(gsa_backend *b, double *gflops, gsa_error *error)
{
    const int64_t bytes = (int64_t)SIDE * SIDE * b->real_bytes;
    void *at[3] = { b->alloc(b, bytes), b->alloc(b, bytes), b->alloc(b, bytes) };
    gsa_status status =
        at[0] && at[1] && at[2] ? GSA_OK : gsa_out_of_memory(error, "matrices", bytes);
    double best = 0;
    for (int i = 0; i < 3 && status == GSA_OK; i++) status = b->zero_fill(b, at[i], bytes);
    for (int i = 0; i < ROUNDS && status == GSA_OK; i++) {
        const double start = gsa_now();
        status = b->gemm(b, at[0], at[1], at[2], SIDE, SIDE, SIDE, 0, 0, SIDE, SIDE, SIDE, 0);
        const double rate = 2e-9 * SIDE * SIDE * SIDE / (gsa_now() - start);
        if (rate > best) best = rate;
    }
    for (int i = 0; i < 3; i++) b->free(b, at[i]);
    *gflops = best;
    return status;
}

static gsa_status write_gemm(const gsa_system *system, gsa_output *out, int threads,
                             gsa_error *error)
{
    gsa_backend *backend;
    double gflops = 0;
    gsa_status status = gsa_backend_open(system, "cpu", GSA_F32, threads, &backend, error);
    if (status != GSA_OK) return status;
    status = gemm_speed(backend, &gflops, error);
    if (status == GSA_OK && threads == 1)
        gsa_output_format(out, "backend       %s\n", backend->name);
    if (status == GSA_OK)
        gsa_output_format(
            out, "gemm          %s, %.1f GFLOP/s in float at %d x %d x %d on %d thread%s\n",
            gsa_gemm_library(), gflops, SIDE, SIDE, SIDE, threads, threads > 1 ? "s" : "");
    gsa_backend_release(backend);
    return status;
}

static void write_cuda(gsa_output *out)
{
#ifdef GSA_HAVE_CUDA_PROBE
    char text[4096];
    gsa_error why = { 0 };
    gsa_backend *backend = NULL;
    gsa_cuda_probe(text, sizeof text);
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        gsa_output_format(out, "%-13s %.*s\n", line == text ? "cuda" : "", (int)(end - line), line);
        end += *end == '\n';
    }
    const gsa_status status = gsa_backend_open(NULL, "cuda", GSA_F32, 1, &backend, &why);
    gsa_output_format(out, "%-13s --device auto, cuda, and cuda with words after it: %s%s\n", "",
                      status == GSA_OK ? "computes on " : "refused, ",
                      status == GSA_OK ? backend->name : why.text);
    gsa_output_format(out,
                      "%-13s cuda in float; cuda-tf32 (sm_80 and later) and cuda-bf16, with tensor "
                      "cores;\n",
                      "");
    gsa_output_format(out, "%-13s cuda-graphs, training steps as graphs\n", "");
    gsa_backend_release(backend);
#else
    gsa_output_text(out, "cuda          not built in\n");
#endif
}

/* Files are made in TMPDIR by tests and next to their targets by everything else: try the first. */
static void write_temporary(const gsa_system *system, gsa_output *out)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    if (!folder || !*folder) folder = "/tmp";
    snprintf(path, sizeof path, "%s/gsa-doctor-%ld", folder, (long)getpid());
    /* anybody may have put a link there under that name */
    const int file = system->open(system->user, path, GSA_OPEN_CREATE);
    const int good = file >= 0 && system->write(system->user, file, "writable\n", 9) == 9;
    const char *why = good ? "" : strerror(errno);
    if (file >= 0) system->close(system->user, file), system->remove(system->user, path);
    gsa_output_format(out, "temporary     %s%s%s\n", folder,
                      good ? " is writable" : " cannot be written: ", why);
}

/* 1 when the topology still needs a parameter that has no default, or a file: then it cannot be
 * tried here. */
static int needs_value(const gsa_topology *topology)
{
    for (uint32_t i = 0; i < topology->n_params; i++) {
        const gsa_param *param = gsa_topology_param(topology, i);
        if (!param->fallback || (param->type == GSA_PATH && !*param->fallback)) return 1;
    }
    return 0;
}

static gsa_status try_topology(const gsa_registry *registry, const gsa_topology *topology,
                               gsa_error *error)
{
    static const gsa_slice text[3] = { { "a", 1 }, { "b", 1 }, { "c", 1 } };
    const gsa_example example = {
        .struct_size = sizeof example, .length = 3, .memory_length = 2, .heads = 2, .text = text
    };
    gsa_pattern *pattern;
    gsa_instance *instance;
    gsa_status status = gsa_pattern_create(registry, topology->id, NULL, 0, &pattern, error);
    if (status != GSA_OK) return status;
    status = gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, error);
    if (status == GSA_OK) gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    return status;
}

/* Every topology is created, described and emitted once for three tokens. */
static gsa_status write_topologies(gsa_output *out, const gsa_registry *registry, gsa_error *error)
{
    gsa_status worst = GSA_OK;
    for (int i = 0; i < gsa_registry_count(registry); i++) {
        const gsa_topology *topology = gsa_registry_at(registry, i);
        gsa_error one = { 0 };
        const gsa_status status =
            needs_value(topology) ? GSA_OK : try_topology(registry, topology, &one);
        gsa_output_format(out, "%-13s %s (%s): %s\n", i ? "" : "topologies", topology->id,
                          gsa_registry_origin(registry, i),
                          status != GSA_OK        ? one.text
                          : needs_value(topology) ? "not tried, a parameter has no default"
                                                  : "ok");
        if (status != GSA_OK && worst == GSA_OK) worst = gsa_fail(error, status, "%s", one.text);
    }
    return worst;
}

static gsa_status write_all(const gsa_args *args, const gsa_registry *registry, gsa_output *out,
                            gsa_error *error)
{
    const gsa_system *system = gsa_args_system(args);
    gsa_output_format(out, "version       %s, commit %s, topology ABI %u\n", GSA_VERSION,
                      gsa_build(), GSA_ABI);
    gsa_output_format(out, "compiler      %s, C %ld\n", GSA_COMPILER, __STDC_VERSION__);
    gsa_output_format(out, "build         %s%s\n", GSA_BUILD,
                      *GSA_SANITIZED ? ", sanitizers: " GSA_SANITIZED : "");
    gsa_output_format(out, "cores         %d\n", gsa_core_count());
    gsa_status status = write_gemm(system, out, 1, error);
    if (status == GSA_OK && gsa_thread_count(args) > 1)
        status = write_gemm(system, out, gsa_thread_count(args), error);
    write_cuda(out);
    write_temporary(system, out);
    const gsa_status topologies = write_topologies(out, registry, status == GSA_OK ? error : NULL);
    return status == GSA_OK ? topologies : status;
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_registry *registry;
    gsa_output *out;
    gsa_status status = gsa_open_registry(args, &registry, error);
    if (status != GSA_OK) return status;
    status = gsa_output_open(gsa_args_system(args), "-", &out, error);
    if (status == GSA_OK) {
        status =
            write_all(args, registry, out, error); /* what was found is printed whatever it is */
        const gsa_status printed = gsa_output_commit(out, status == GSA_OK ? error : NULL);
        if (status == GSA_OK) status = printed;
    }
    gsa_registry_release(registry);
    return status;
}

static const gsa_option options[] = { GSA_OPTION_ROW_PLUGIN, GSA_OPTION_ROW_THREADS };
const gsa_verb gsa_verb_doctor = { .name = "doctor",
                                   .summary = "say what this program and this machine can do",
                                   .operands = "",
                                   .options = options,
                                   .n_options = sizeof options / sizeof *options,
                                   .notes =
                                       "Exits 1 or 2 when a topology does not pass its own check.",
                                   .run = run };
