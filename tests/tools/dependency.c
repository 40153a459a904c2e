/* dependency - a plugin for tests: each token reads itself, its head and its dependents, as the
 * data's column `head` says. */
#include <gsa/column.h>
#include <gsa/topology.h>
#include <stdio.h>

enum { SELF, HEAD, DEPENDENT, N_LABELS };

static int create(const gsa_host *host, const gsa_value *params, void **self)
{
    const gsa_column_service *use = host->service(host, GSA_COLUMN_SERVICE);
    (void)params;
    if (!use) return host->fail(host, "this host has no columns");
    int *place = *self = host->alloc(host, sizeof *place);
    if (!place) return -1;
    *place = use->ask(host, "head");
    return *place < 0 ? -1 : 0;
}

static void destroy(const gsa_host *host, void *self)
{
    host->release(host, self);
}

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER,
                           .label_use = GSA_KEY_VECTORS, .labels = N_LABELS, .sources = 1,
                           .destinations = 1, .name = "tree"));
    d->sequence(d, 0);
    d->promise(d, 0, GSA_LINEAR_EDGES);
}

/* The number of the head, from 1; 0 is the root; -1: it is none. */
static int64_t head_of(gsa_slice value, int64_t most)
{
    int64_t number = 0;
    for (int64_t i = 0; i < value.bytes; i++) {
        if (value.at[i] < '0' || value.at[i] > '9' || number > most) return -1;
        number = 10 * number + (value.at[i] - '0');
    }
    return value.bytes > 0 && number <= most ? number : -1;
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const int *place = self;
    for (int64_t i = 0; i < x->length; i++) {
        const gsa_slice value = x->column[*place][i];
        const int64_t head = head_of(value, x->length);
        char sentence[160];
        snprintf(sentence, sizeof sentence, "the head of token %lld is '%.*s', expected 0 to %d",
                 (long long)i + 1, (int)(value.bytes < 60 ? value.bytes : 60), value.at, x->length);
        if (head < 0) e->fail(e, sentence);
        if (head < 0) return;
        gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, i), SELF);
        if (head == 0 || head == i + 1) continue;
        gsa_edge(e, 0, gsa_at(0, head - 1), gsa_at(0, i), HEAD);
        gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, head - 1), DEPENDENT);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    static const char *const names[N_LABELS] = { "self", "head", "dependent" };
    (void)self, (void)phase;
    snprintf(out, size, "%s", names[id]);
}

const gsa_topology GSA_PLUGIN = { .abi = GSA_ABI,
                                  .struct_size = sizeof(gsa_topology),
                                  .param_stride = sizeof(gsa_param),
                                  .id = "dependency",
                                  .summary = "the tree of dependencies, both ways",
                                  .reference = "a test",
                                  .create = create,
                                  .destroy = destroy,
                                  .describe = describe,
                                  .emit = emit,
                                  .label = label };
