/* open.c - devices by name. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kernels/cuda.h"

static gsa_status open_cpu(const gsa_system *system, int real, int threads, gsa_backend **backend,
                           gsa_error *error)
{
    return real == GSA_F32 ? gsa_backend_cpu(system, GSA_CPU_BEST, threads, backend, error)
                           : gsa_backend_ref(system, real, threads, backend, error);
}

/* ---- "cuda", and words after it ----------------------------------------------------------- */
typedef struct cuda_wish {
    int graphs;    /* steps as graphs */
    int attention; /* enum gsa_cuda_attention */
    int number;    /* of the device */
} cuda_wish;

/* Those after "-graphs" exclude each other. */
static const struct {
    const char *word;
    int attention;
} cuda_words[] = { { "-graphs", GSA_CUDA_FUSED },
                   { "-tf32", GSA_CUDA_TF32 },
                   { "-bf16", GSA_CUDA_BF16 },
                   { "-cusparse", GSA_CUDA_CUSPARSE } };
enum { GRAPHS, WORDS = sizeof cuda_words / sizeof *cuda_words };

/* Bytes of `word` where the name goes on with it and then ends or has another; else 0. */
static size_t begins_with(const char *name, const char *word)
{
    const size_t bytes = strlen(word);
    return strncmp(name, word, bytes) == 0 && (name[bytes] == 0 || name[bytes] == '-') ? bytes : 0;
}

/* The same of `word` and perhaps a device's number after it: ":3". */
static size_t begins_with_device(const char *name, const char *word, int *number)
{
    const size_t bytes = strlen(word);
    *number = 0;
    if (strncmp(name, word, bytes) != 0 || name[bytes] != ':') return begins_with(name, word);
    const size_t digits = strspn(name + bytes + 1, "0123456789"), all = bytes + 1 + digits;
    if (digits < 1 || digits > 4 || (name[all] != 0 && name[all] != '-')) return 0;
    *number = atoi(name + bytes + 1);
    return all;
}

/* 1 when the name is "cuda", perhaps with a device's number, and words after it in any order: each
 * once, and one way at most. */
static int read_wish(const char *name, cuda_wish *wish)
{
    unsigned words = 0;
    *wish = (cuda_wish){ 0, GSA_CUDA_FUSED, 0 };
    size_t bytes = begins_with_device(name, "cuda", &wish->number);
    if (bytes == 0) return 0;
    for (name += bytes; *name; name += bytes) {
        int word = 0;
        while (word < WORDS && (bytes = begins_with(name, cuda_words[word].word)) == 0) word++;
        if (word == WORDS || words >> word & 1) return 0;
        if (word == GRAPHS) wish->graphs = 1;
        else if (wish->attention != GSA_CUDA_FUSED) return 0;
        else wish->attention = cuda_words[word].attention;
        words |= 1u << word;
    }
    return 1;
}

static gsa_status open_wish(const gsa_system *system, const char *device, const cuda_wish *wish,
                            int real, gsa_backend **backend, gsa_error *error)
{
    gsa_backend *b = NULL;
    gsa_status status = gsa_backend_cuda(system, real, wish->number, &b, error);
    if (status != GSA_OK && !gsa_cuda_is_built())
        return gsa_fail_at(error, status, "device '%s'", device);
    if (status != GSA_OK) return status;
    if (wish->attention != GSA_CUDA_FUSED) status = gsa_cuda_choose_attention(b, wish->attention);
    if (status == GSA_OK && wish->graphs) status = gsa_cuda_use_graphs(b);
    if (status == GSA_OK) {
        *backend = b;
        return GSA_OK;
    }
    if (error) *error = b->error;
    gsa_backend_release(b);
    return status;
}

/* cuda where it can be had, else cpu; then the backend's error holds the sentence with which cuda
 * was refused. */
static gsa_status open_auto(const gsa_system *system, int real, int number, int threads,
                            gsa_backend **backend, gsa_error *error)
{
    gsa_error why = { 0 };
    if (gsa_backend_cuda(system, real, number, backend, &why) == GSA_OK) return GSA_OK;
    const gsa_status status = open_cpu(system, real, threads, backend, error);
    if (status == GSA_OK && gsa_cuda_is_built()) (*backend)->error = why;
    return status;
}

enum { MOST_THREADS = 4096 };

/* 0 threads: one for each core. */
static gsa_status count_threads(int *threads, gsa_error *error)
{
    if (*threads < 0 || *threads > MOST_THREADS)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "threads = %d, expected 0 (all cores) to %d",
                        *threads, MOST_THREADS);
    const long cores = *threads > 0 ? *threads : sysconf(_SC_NPROCESSORS_ONLN);
    *threads = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (int)cores;
    return GSA_OK;
}

gsa_status gsa_backend_open(const gsa_system *system, const char *device, int real, int threads,
                            gsa_backend **backend, gsa_error *error)
{
    static const struct {
        const char *name;
        gsa_status (*open)(const gsa_system *system, int real, int threads, gsa_backend **backend,
                           gsa_error *error);
    } devices[] = { { "cpu", open_cpu }, { "ref", gsa_backend_ref } };
    const gsa_status status = count_threads(&threads, error);
    if (status != GSA_OK) return status;
    int number;
    if (!device) device = "auto";
    const size_t automatic = begins_with_device(device, "auto", &number);
    if (automatic > 0 && device[automatic] == 0)
        return open_auto(system, real, number, threads, backend, error);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strcmp(device, devices[i].name) == 0)
            return devices[i].open(system, real, threads, backend, error);
    cuda_wish wish;
    if (read_wish(device, &wish)) return open_wish(system, device, &wish, real, backend, error);
    return gsa_fail(
        error, GSA_ERR_ARGUMENT,
        "device '%s': expected cpu, ref, auto or cuda; after cuda may come a device's number as "
        ":1, -graphs, and one of -tf32, -bf16 and -cusparse",
        device);
}
