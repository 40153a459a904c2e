#include "probe.h"
#include <string.h>

static const gsa_param params[PROBE_PARAMS] = {
    { "int", GSA_INT, 0, -3, 9, NULL, "2", "a small integer" },
    { "wide", GSA_INT, 0, -0x1p53, 0x1p53, NULL, "0", "a large integer" },
    { "real", GSA_REAL, 0, -1, 1e300, NULL, "0.5", "a number" },
    { "bool", GSA_BOOL, 0, 0, 1, NULL, "1", "yes or no" },
    { "choice", GSA_CHOICE, 0, 0, 0, "clip,circular,clamp", "circular", "a border" },
    { "path", GSA_PATH, 0, 0, 0, NULL, "", "a file" },
    { "mode", GSA_CHOICE, 0, 0, 0, "good,fail,fail_twice,silent,fail_return_0,fail_early,hog,mute",
      "good", "what create does" },
};

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    if (p[PROBE_MODE].i == PROBE_FAIL_EARLY) return host->fail(host, "before anything was made");
    probe_state *state = host->alloc(host, sizeof *state);
    if (!state) return host->fail(host, "no memory for the state");
    *state = (probe_state){ .values = p, .service = host->service(host, "test.words/1") };
    const void *const *count = host->service(host, "test.count/1");
    *self = state;
    if (count) memcpy(&state->alive, count, sizeof state->alive);
    if (state->alive) ++*state->alive;
    state->memory = host->alloc(host, p[PROBE_MODE].i == PROBE_HOG ? SIZE_MAX : 100);
    if (!state->memory) return -1;
    switch (p[PROBE_MODE].i) {
    case PROBE_FAIL:
        return host->fail(host, "int and wide do not fit");
    case PROBE_FAIL_TWICE:
        host->fail(host, "the first sentence");
        return host->fail(host, "the second sentence");
    case PROBE_SILENT:
        return -5;
    case PROBE_FAIL_RETURN_0:
        host->fail(host, "failed, but returned 0");
        return 0;
    case PROBE_MUTE:
        return host->fail(host, NULL);
    default:
        return 0;
    }
}

static void destroy(const gsa_host *host, void *self)
{
    probe_state *state = self;
    if (state->alive) --*state->alive;
    host->release(host, state->memory);
    host->release(host, state);
}

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->promise(d, GSA_BY_LENGTH, GSA_LINEAR_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .sources = 1,
                           .destinations = 1, .name = "read"));
    d->sequence(d, 0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self;
    for (int32_t i = 0; i < x->length; i++) gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, i), 0);
    for (int32_t i = 0; i < x->length; i++) e->place(e, gsa_at(0, i), 3, i, i);
}

const gsa_topology probe = { GSA_HEAD(params),     .id = "probe",    .summary = "for tests",
                             .reference = "",      .create = create, .destroy = destroy,
                             .describe = describe, .emit = emit };
