/* bad_plugin.c - one plugin, built many times with one thing wrong: the definitions on the command
 * line say which. */
#include <gsa/topology.h>

#ifndef ABI
#define ABI GSA_ABI
#endif
#ifndef SYMBOL
#define SYMBOL GSA_PLUGIN
#endif
#ifndef STRUCT_SIZE
#define STRUCT_SIZE sizeof(gsa_topology)
#endif
#ifndef STRIDE
#define STRIDE sizeof(gsa_param)
#endif
#ifndef COUNT
#define COUNT (sizeof params / sizeof *params)
#endif
#ifndef PARAMS
#define PARAMS params
#endif
#ifndef ID
#define ID "odd"
#endif
#ifndef SUMMARY
#define SUMMARY "one thing is wrong with it"
#endif
#ifndef REFERENCE
#define REFERENCE ""
#endif
#ifndef DESCRIBE
#define DESCRIBE describe
#endif
#ifndef EMIT
#define EMIT emit
#endif
#ifndef DESTROY
#define DESTROY NULL
#endif
#ifndef SECOND /* the second parameter */
#define SECOND                                                                                     \
    {                                                                                              \
        "second", GSA_REAL, 0, 0, 1, NULL, "0.5", "a number"                                       \
    }
#endif

__attribute__((unused)) static const gsa_param params[] = {
    { "first", GSA_INT, 0, 0, 9, NULL, "4", "an integer" }, SECOND
};

void gsa_there_is_no_such_function(void);

__attribute__((unused)) static void destroy(const gsa_host *host, void *self)
{
    host->release(host, self);
}

__attribute__((unused)) static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->promise(d, GSA_BY_LENGTH, GSA_LINEAR_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .sources = 1,
                           .destinations = 1, .name = "read"));
    d->sequence(d, 0);
}

__attribute__((unused)) static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self;
#ifdef UNDEFINED
    gsa_there_is_no_such_function();
#endif
    for (int32_t i = 0; i < x->length; i++) gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, i), 0);
}

extern const gsa_topology SYMBOL;
const gsa_topology SYMBOL = { .abi = ABI,
                              .struct_size = STRUCT_SIZE,
                              .param_stride = STRIDE,
                              .n_params = COUNT,
                              .id = ID,
                              .summary = SUMMARY,
                              .reference = REFERENCE,
                              .params = PARAMS,
                              .destroy = DESTROY,
                              .describe = DESCRIBE,
                              .emit = EMIT };
