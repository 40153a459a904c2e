/* topology.h - everything a topology plugin sees. C11 or C++17, no other header of the project.
 *
 * Example:
 *
 *     static void describe(const void *self, gsa_describer *d)
 *     {
 *         (void)self;
 *         d->promise(d, GSA_BY_LENGTH, GSA_LINEAR_EDGES);
 *         gsa_transformer_layer(d, GSA_NAMES_ONLY, 1, 0);
 *     }
 *     static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
 *     {
 *         (void)self; // token i reads itself and the one before it
 *         for (int64_t i = 0; i < x->length; i++)
 *             e->run(e, 0, gsa_at(0, i ? i - 1 : 0), i ? 2 : 1, 1, gsa_at(0, i), 0, 0);
 *     }
 *     const gsa_topology GSA_PLUGIN = {
 *         GSA_ABI, sizeof(gsa_topology), sizeof(gsa_param), 0, "pairs",
 *         "token i reads itself and the one before it", "none", NULL, NULL, NULL, describe, emit
 *     };
 *
 * A topology is a generator of attention patterns. Its schema says which kinds of nodes and which
 * phases exist; for each example it emits the edges. The framework does the rest: weights,
 * attention, gradients, batching, pictures, training.
 *
 * Law.  The host owns every pointer that it passes; it is valid until the call returns, except
 *     `params` and the strings in it, which live until destroy() has returned. What the plugin
 *     returns lives until destroy(). describe, label and emit are const on `self` and may run in
 *     many threads at once; create and destroy run alone. Same (params, example) => same calls in
 *     the same order, on any thread, in any order of examples.
 *     Sizes: int32 for nodes of a kind and for labels, int64 for edges. Every struct that crosses
 *     starts with struct_size, set by who fills it; arrays of structs cross only with their stride.
 *     A zeroed tail means default. Append only.
 *     Errors are sticky: a bad call is remembered with its place, later calls do nothing, the host
 *     reports after the call.
 *
 * This header is in graph/, the lowest floor, because its words (kinds, phases, runs) are the
 * words of that floor; it is installed as <gsa/topology.h>. The recipe for a new topology is
 * topologies/template/. */
#ifndef GSA_TOPOLOGY_H
#define GSA_TOPOLOGY_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The topology ABI that this header describes. */
#define GSA_ABI 1u

/* A parameter's value; its type says which member holds it. */
typedef union gsa_value { /* 8 bytes, for ever */
    int64_t i;            /* GSA_INT; GSA_BOOL: 0 or 1; GSA_CHOICE: place in the list */
    double x;             /* GSA_REAL */
    const char *s;        /* GSA_PATH: UTF-8, terminated, never NULL */
} gsa_value;

typedef struct gsa_slice { /* UTF-8, not terminated */
    const char *at;        /* the first byte, borrowed */
    int64_t bytes;         /* how many, >= 0 */
} gsa_slice;

/* ---- parameters: declared, so that the host parses, checks, documents and completes them ---- */
/* Which member of gsa_value a parameter is in. */
enum gsa_type { GSA_INT, GSA_REAL, GSA_BOOL, GSA_CHOICE, GSA_PATH };
/* One parameter of a topology. */
typedef struct gsa_param {
    const char
        *name; /* [a-z][a-z0-9_]*; not "topology", "layers", "share" (the stack's own keys) */
    int32_t type, zero; /* gsa_type */
    double low, high; /* GSA_INT and GSA_REAL: the smallest and the largest value; of GSA_INT whole
                         and within +-2^53 */
    const char *choices;  /* GSA_CHOICE: "clip,circular,clamp"; else NULL */
    const char *fallback; /* the value as text when none is given; NULL: must be given */
    const char *doc;      /* one line */
} gsa_param;

/* ---- schema: which states and weights exist
 * ------------------------------------------------------------------------- A function of params
 * (and of what create() loaded), never of an example. */
enum gsa_start {
    GSA_INPUT,      /* the stack's input rows, after position, norm and dropout      */
    GSA_COPY,       /* the same rows, never updated: must be no phase's destination       */
    GSA_MEAN_INPUT, /* the mean of the example's input rows, in every node of the kind */
    GSA_ZERO,       /* zeros       */
    GSA_BY_PHASE,   /* zeros, then GSA_ONCE phases write them   */
    GSA_MEMORY      /* the sequence of another stack, bound by the task; never updated      */
};
/* A kind of nodes. */
typedef struct gsa_kind {
    uint32_t struct_size;
    int32_t start;   /* gsa_start */
    int32_t learned; /* > 0: learned rows added to the start; node i takes row i (at most so many
                        nodes). Several relays, [CLS], global tokens: without it equal starts with
                        equal edges stay equal for ever        */
    int32_t zero;
    const char *name; /* [a-z][a-z0-9_]*, unique in the schema */
} gsa_kind;
enum { GSA_MAX_KINDS = 64, GSA_MAX_PHASES = 64 };

/* When a phase runs. */
enum gsa_when {
    GSA_EACH_LAYER, /* once in every layer */
    GSA_ONCE /* at entry of the first segment that declares a destination kind, before its first
                layer */
};
/* What a destination makes of its sources. */
enum gsa_aggregate {
    GSA_ATTEND, /* attention: softmax over its in-edges */
    GSA_SUM,    /* of raw states, no projection */
    GSA_MEAN,   /* likewise */
    GSA_NONE    /* pointwise, no edges: a = x */
};
enum gsa_update { /* x: the destination's old state, a: the aggregate, W: learned                */
                  GSA_SUBLAYER,  /* x + a W_o with norm; where, says [model] norm=post|pre  */
                  GSA_FFN,       /* aggregate GSA_NONE only: x + FFN(x) with norm, likewise       */
                  GSA_RELU_NORM, /* norm(relu(a W_o)) */
                  GSA_NORM,      /* norm(a W_o)      */
                  GSA_LINEAR,    /* a W_o    */
                  GSA_ASSIGN     /* a     */
};
enum gsa_empty { /* what a destination row without in-edges does                    */
                 GSA_EMPTY_DEFAULT, /* update for GSA_SUBLAYER (and without edges at all), keep for
                                       the updates without residual          */
                 GSA_UPDATE_EMPTY,  /* update with a = 0  */
                 GSA_KEEP_EMPTY /* keep state and gradient: also how a phase updates a subset of a
                                   kind                               */
};
/* What the labels of a phase's edges do. */
enum gsa_label_use {
    GSA_NAMES_ONLY,  /* labels are names for people  */
    GSA_KEY_VECTORS, /* attend only: a learned vector r_l [head_dim], shared by heads, added to the
                        key                      */
    GSA_HEAD_BIAS    /* attend only: a learned bias b_{l,h} added to the score    */
};
typedef struct gsa_phase { /* reads all states, then writes all its destinations at once */
    uint32_t struct_size;
    int32_t when, aggregate, update, empty, label_use; /* gsa_when, gsa_aggregate, ... */
    int32_t labels;   /* labels of its edges are 0 .. labels-1; 0 means 1   */
    int32_t per_head; /* nodes of the phase are (node, head), index node * heads + head; one head
                         each                   */
    int32_t together; /* reads the same old states as the phase before, writes other rows */
    int32_t zero;
    uint64_t
        sources; /* bit k: kind k; a row space is the concatenation of its kinds in kind order */
    uint64_t destinations; /* likewise: the kinds that it writes */
    const char *name;      /* [a-z][a-z0-9_]*, unique in the schema */
    const char
        *weights; /* phases with equal `weights` share parameters within a layer; NULL: own */
} gsa_phase;

/* What a topology promises of all its edges: bits. */
enum gsa_flags {
    GSA_BY_LENGTH = 1, /* edges depend on lengths, heads and params alone: cached per length     */
    GSA_CAUSAL = 2,    /* no path from a later token to an earlier one        */
    GSA_PREFIX_STABLE = 4, /* what token i reads is the same for every length > i: can generate */
    GSA_DUPLICATES = 8,    /* parallel edges are meant    */
    GSA_NEEDS_TEXT = 16,   /* emit reads the text   */
    GSA_ONE_LENGTH = 32    /* a given graph: exactly one length works    */
};
/* How the number of edges grows with the length n. */
enum gsa_growth { GSA_LINEAR_EDGES, GSA_NLOGN_EDGES, GSA_NSQRTN_EDGES, GSA_SQUARE_EDGES };
/* What a summary is made of. */
enum gsa_pool {
    GSA_MEAN_OF,     /* over the example's nodes of the kind     */
    GSA_MAX_OF,      /* elementwise, first of equals      */
    GSA_SUMMARY_NODE /* the node that emit names by summary(), whatever its kind */
};
/* A kind or a phase with its struct_size, in C: d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name =
 * "token")). What is not named is 0 or NULL. C++: gsa::kind, gsa::phase, below. */
#define GSA_KIND(...)                                                                              \
    (gsa_kind)                                                                                     \
    {                                                                                              \
        .struct_size = sizeof(gsa_kind), __VA_ARGS__                                               \
    }
/* A phase with struct_size set, from the members that are named; C only. */
#define GSA_PHASE(...)                                                                             \
    (gsa_phase)                                                                                    \
    {                                                                                              \
        .struct_size = sizeof(gsa_phase), __VA_ARGS__                                              \
    }
typedef struct gsa_describer gsa_describer;
/* What describe() calls to make the schema. */
struct gsa_describer {
    uint32_t struct_size, zero;
    void *host; /* the host's own */
    int (*kind)(gsa_describer *,
                const gsa_kind *); /* kinds and phases count from 0; < 0 after an error */
    int (*phase)(gsa_describer *,
                 const gsa_phase *); /* the order of the calls is the order of execution */
    void (*sequence)(gsa_describer *, int kind); /* what taggers, decoders and other stacks read */
    void (*summary)(gsa_describer *, int kind, int pool,
                    double weight); /* summed over the calls; needed by classifiers     */
    void (*promise)(gsa_describer *, uint32_t flags,
                    int growth); /* checked by tests, trusted by the cache           */
    void (*fail)(gsa_describer *, const char *sentence); /* the sentence is the error's text */
};

/* The schema of a standard Transformer layer over one kind, "token" (kind 0): phase 0 "attend" is a
 * sublayer whose edges have `labels` labels, used as label_use says (per_head as in gsa_phase),
 * phase 1 "ffn". Sequence: the tokens. Summary: their mean. The promise is left to the caller. */
static inline void gsa_transformer_layer(gsa_describer *d, int label_use, int32_t labels,
                                         int per_head)
{
    const gsa_kind token = { sizeof(gsa_kind), GSA_INPUT, 0, 0, "token" };
    const gsa_phase attend = { sizeof(gsa_phase),
                               GSA_EACH_LAYER,
                               GSA_ATTEND,
                               GSA_SUBLAYER,
                               GSA_EMPTY_DEFAULT,
                               label_use,
                               labels,
                               per_head,
                               0,
                               0,
                               1,
                               1,
                               "attend",
                               NULL };
    const gsa_phase ffn = { sizeof(gsa_phase),
                            GSA_EACH_LAYER,
                            GSA_NONE,
                            GSA_FFN,
                            GSA_EMPTY_DEFAULT,
                            GSA_NAMES_ONLY,
                            1,
                            0,
                            0,
                            0,
                            0,
                            1,
                            "ffn",
                            NULL };
    d->kind(d, &token);
    d->phase(d, &attend);
    d->phase(d, &ffn);
    d->sequence(d, 0);
    d->summary(d, 0, GSA_MEAN_OF, 1);
}

/* ---- instance: one example's nodes and edges ----------------------------------------------- */
/* What emit() knows of an example; all of it is borrowed. */
typedef struct gsa_example {
    uint32_t struct_size;
    int32_t length, memory_length, heads; /* tokens, >= 0; of the memory; heads, >= 1 */
    const gsa_slice *text;       /* `length` tokens, or NULL (real-valued input, or a topology that
                                    promised BY_LENGTH)      */
    const int32_t *group;        /* sentence of each token, ascending, or NULL = all 0        */
    const int32_t *memory_group; /* likewise for the memory */
    const gsa_slice *const *column; /* [columns][length]: what is next to each token, as create()
                                       requested it (column.h) */
    int32_t columns, zero;          /* of `column` */
    int64_t draw; /* 0; in training the step, from 1, for edges that are drawn anew in each. Not for
                     a topology that promised BY_LENGTH */
} gsa_example;

/* A node: its kind and its index in the kind, as gsa_at packs them. */
typedef uint64_t gsa_node;
static inline gsa_node gsa_at(int kind, int64_t index)
{
    return (uint64_t)kind << 48 | ((uint64_t)index & 0xffffffffffffu);
}

typedef struct gsa_emitter gsa_emitter;
/* What emit() calls to make nodes and edges. */
struct gsa_emitter {
    uint32_t struct_size, zero;
    void *host; /* the host's own */
    /* Adds nodes and returns the first one's index (the host multiplies by heads where needed).
     * INPUT, COPY and MEMORY kinds have their nodes already. After an error: 0. */
    int64_t (*nodes)(gsa_emitter *, int kind, int64_t count);
    /* Optional, for inspection: the node's level and the tokens it stands for (first..last,
     * inclusive). */
    void (*place)(gsa_emitter *, gsa_node, int level, int64_t first, int64_t last);
    /* count edges into `to` from first, first+step, ... of one kind, labelled label,
     * label+label_step, ...; count 0: none, whatever else is in the call. */
    void (*run)(gsa_emitter *, int phase, gsa_node first, int64_t count, int64_t step, gsa_node to,
                int32_t label, int32_t label_step);
    void (*summary)(gsa_emitter *, gsa_node); /* the node that GSA_SUMMARY_NODE reads */
    void *(*scratch)(gsa_emitter *,
                     size_t bytes); /* freed after emit(); NULL = out of memory, already noted */
    void (*fail)(gsa_emitter *, const char *sentence);
};
static inline void gsa_edge(gsa_emitter *e, int phase, gsa_node from, gsa_node to, int32_t label)
{
    e->run(e, phase, from, 1, 1, to, label, 0);
}
/* Stateless randomness for random patterns: the same (seed, a, b) gives the same 64 bits, in any
 * order of calls. */
static inline uint64_t gsa_random(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t z =
        seed + UINT64_C(0x9e3779b97f4a7c15) * (a + 1) + UINT64_C(0xd1b54a32d192ed03) * (b + 1);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- the host's services and the one exported symbol --------------------------------------- */
typedef struct gsa_host gsa_host;
/* What create() and destroy() may call. */
struct gsa_host {
    uint32_t struct_size, zero;
    void *host;                                     /* the host's own */
    void *(*alloc)(const gsa_host *, size_t bytes); /* NULL: out of memory */
    void (*release)(const gsa_host *, void *at);    /* of alloc; NULL does nothing */
    int (*fail)(const gsa_host *,
                const char *sentence); /* returns -1: return host->fail(host, "...") */
    const void *(*service)(const gsa_host *, const char *id); /* "gsa.lexicon/1", ... or NULL */
};
/* A topology: its parameters and its functions, which any thread may call. */
typedef struct gsa_topology {
    uint32_t abi, struct_size, param_stride, n_params; /* GSA_HEAD fills them */
    const char *id;                                    /* [a-z][a-z0-9_]* */
    const char *summary;                               /* one line */
    const char *reference;                             /* the paper */
    const gsa_param *params;                           /* [n_params] */
    int (*create)(const gsa_host *, const gsa_value *params,
                  void **self); /* 0, or < 0 after fail(). NULL: self = params    */
    void (*destroy)(const gsa_host *,
                    void *self); /* needs create; runs after a failed one if self set */
    void (*describe)(const void *self, gsa_describer *); /* makes the schema */
    /* Makes one example's nodes and edges. */
    void (*emit)(const void *self, const gsa_example *, gsa_emitter *);
    void (*label)(const void *self, int phase, int32_t label, char *out,
                  size_t size);               /* optional: the label's name         */
    const void *(*extension)(const char *id); /* optional                           */
} gsa_topology;
/* The first members of a gsa_topology: ABI, sizes and parameters. */
#define GSA_HEAD(p)                                                                                \
    .abi = GSA_ABI, .struct_size = sizeof(gsa_topology), .param_stride = sizeof(gsa_param),        \
    .n_params = sizeof(p) / sizeof(*(p)), .params = (p)
/* extern const gsa_topology gsa_plugin_1: the symbol carries the ABI's major number, so that a
 * plugin of another major is refused before a byte of it is read. */
#define GSA_PLUGIN gsa_plugin_1
#if defined(__GNUC__)
__attribute__((visibility("default"))) /* also where the plugin is built with -fvisibility=hidden */
#endif
/* The table that a plugin exports. */
extern const gsa_topology GSA_PLUGIN;

#ifdef __cplusplus
}
#endif
#if defined(__cplusplus) && __cplusplus >= 201703L
/* Kinds and phases in C++17: d->kind(d, gsa::kind("token", GSA_INPUT)). What the constructors do
 * not take is 0, and may be set: gsa::phase p("up", ...); p.empty = GSA_KEEP_EMPTY. */
namespace gsa
{
struct kind : gsa_kind {
    constexpr kind(const char *called, int32_t from, int32_t rows = 0)
        : gsa_kind{ sizeof(gsa_kind), from, rows, 0, called }
    {
    }
    constexpr operator const gsa_kind *() const
    {
        return this;
    }
};
struct phase : gsa_phase {
    constexpr phase(const char *called, int32_t gathers, int32_t updates, uint64_t to,
                    uint64_t from = 0)
        : gsa_phase{}
    {
        struct_size = sizeof(gsa_phase), aggregate = gathers, update = updates;
        sources = from, destinations = to, name = called;
    }
    constexpr phase &labelled(int32_t count, int32_t use = GSA_NAMES_ONLY)
    {
        labels = count, label_use = use;
        return *this;
    }
    constexpr operator const gsa_phase *() const
    {
        return this;
    }
};
} // namespace gsa
#endif
#endif
