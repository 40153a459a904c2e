/* A plugin that emits what the input says: whatever it is, it is taken whole or refused. */
#include "graph/instance.h"
#include "topologies/pattern.h"
#include "fuzz.h"

static const uint8_t *input;
static size_t input_bytes;

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->promise(d, GSA_BY_LENGTH | GSA_DUPLICATES, GSA_SQUARE_EDGES);
    d->kind(d, &(gsa_kind){ .struct_size = sizeof(gsa_kind), .start = GSA_INPUT, .name = "token" });
    d->kind(d, &(gsa_kind){ .struct_size = sizeof(gsa_kind), .start = GSA_ZERO, .name = "hub" });
    d->phase(d, &(gsa_phase){ .struct_size = sizeof(gsa_phase),
                              .aggregate = GSA_ATTEND,
                              .update = GSA_SUBLAYER,
                              .labels = 3,
                              .sources = 3,
                              .destinations = 3,
                              .name = "read" });
    d->sequence(d, 0);
}

/* Eight bytes a run: numbers near 0, and some far off. */
static int64_t number(uint8_t byte)
{
    static const int64_t far[] = { INT64_MAX, INT64_MIN, INT32_MAX, (int64_t)INT32_MAX + 1 };
    return byte >= 252 ? far[byte - 252] : (int64_t)byte - 8;
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self, (void)x;
    for (size_t i = 1; i + 8 <= input_bytes && i < 800; i += 8) {
        const uint8_t *b = input + i;
        e->run(e, (int)number(b[0] % 12), gsa_at((int)(b[1] % 4) - 1, number(b[2])), number(b[3]),
               number(b[4]) % 3, gsa_at((int)(b[5] % 4) - 1, number(b[6])),
               (int32_t)number(b[7] % 14), b[5] >> 7);
    }
}

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    static const gsa_topology topology = { .abi = GSA_ABI,
                                           .struct_size = sizeof(gsa_topology),
                                           .param_stride = sizeof(gsa_param),
                                           .id = "fuzz",
                                           .summary = "what a fuzzer says",
                                           .reference = "none",
                                           .describe = describe,
                                           .emit = emit };
    gsa_registry *registry;
    gsa_pattern *pattern;
    gsa_instance *instance = NULL;
    gsa_error error;
    (void)path;
    input = at, input_bytes = bytes;
    FUZZ_CHECK(gsa_registry_create(system, &registry, &error) == GSA_OK);
    FUZZ_CHECK(gsa_registry_add(registry, &topology, &error) == GSA_OK);
    FUZZ_CHECK(gsa_pattern_create(registry, "fuzz", NULL, 0, &pattern, &error) == GSA_OK);
    const gsa_example example = { .length = at[0] % 40, .heads = 2 };
    const gsa_status status = gsa_instance_create(system, gsa_pattern_schema(pattern), &topology,
                                                  NULL, &example, NULL, 0, &instance, &error);
    FUZZ_SAID(status, error);
    if (status == GSA_OK) gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}
