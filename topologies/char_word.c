/* char_word - BiG-Transformer (Shu et al. 2020, eq. 3-8, algorithm 1).
 *
 * Tokens h (the characters), a node o_j for every place [first, last] where a word of a dictionary
 * is, and one sentence node s. One layer:
 *   sum:  o_j <- sum of h_first .. h_last  eq. 3  sum |o_j| edges
 *   read: h_i <- norm(att(h_i; every o_j that holds i, s))  eq. 6-8, line 16-18
 *         sum |o_j| + n edges
 *   mean: s  <- mean(h) W_s  with the NEW h; once, before layer 1, too  eq. 5, line 2  n edges
 * Equation 7 and algorithm 1 disagree: as in the algorithm, keys and values are the same rows,
 * those of this layer. residual=1: h <- sublayer(att), then sublayer(FFN), as in the standard
 * Transformer. Words are all matches of min_word to max_word characters, overlapping ones too
 * (graph/lexicon.h); a row reads them by their last, then their first token, then s. global=0 drops
 * the sentence, local=0 the words (table 6). local=adjacent reads h_{i-1}, h_i, h_{i+1} instead of
 * words, at the ends what is there; the paper does not say more of it. A token that reads nothing
 * keeps its state. Summary: mean of the tokens. Time and memory O(n + sum |o_j|). Path between
 * tokens: 2 through the sentence. */
#include <stdio.h>
#include "builtin.h"
#include "graph/lexicon.h"
enum { LEXICON, MIN_WORD, MAX_WORD, GLOBAL, LOCAL, RESIDUAL, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "lexicon", GSA_PATH, 0, 0, 0, NULL, "",
      "the dictionary: a file with one word a line (needed by local=1)" },
    { "min_word", GSA_INT, 0, 1, GSA_LEXICON_LONGEST, NULL, "2",
      "characters: shorter words are no nodes" },
    { "max_word", GSA_INT, 0, 1, GSA_LEXICON_LONGEST, NULL, "16",
      "characters: longer words are no nodes" },
    { "global", GSA_BOOL, 0, 0, 1, NULL, "1", "the sentence node" },
    { "local", GSA_CHOICE, 0, 0, 0, "1,0,adjacent", "1",
      "1: words of the dictionary; adjacent: neighbours instead" },
    { "residual", GSA_BOOL, 0, 0, 1, NULL, "0", "residual sublayers, the second an FFN" },
};
enum { WORDS, NO_LOCAL, ADJACENT }; /* values of local */
enum { TOKEN, WORD };
enum { SUM };
static const int32_t local_labels[] = { 1, 0, 3 };

typedef struct state {
    const gsa_value *p;
    const gsa_lexicon_service *use;
    gsa_lexicon *words;
    int sentence, read, mean, start; /* a kind, and phases, in what of them there is */
} state;

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    const int words = p[LOCAL].i == WORDS, mean = words + 1 + (p[RESIDUAL].i != 0);
    char why[80];
    state *s = host->alloc(host, sizeof *s);
    if (!s) return host->fail(host, "out of memory");
    *s = (state){
        p, host->service(host, GSA_LEXICON_SERVICE), NULL, TOKEN + 1 + words, words, mean, mean + 1
    };
    *self = s;
    snprintf(why, sizeof why, "min_word is %d, expected at most max_word, %d", (int)p[MIN_WORD].i,
             (int)p[MAX_WORD].i);
    if (p[MIN_WORD].i > p[MAX_WORD].i) return host->fail(host, why);
    if (p[LOCAL].i == NO_LOCAL && !p[GLOBAL].i)
        return host->fail(host, "global=0 and local=0 leave nothing to read");
    if (!words) return 0;
    if (!s->use) return host->fail(host, "this host has no service " GSA_LEXICON_SERVICE);
    if (!*p[LEXICON].s)
        return host->fail(
            host,
            "local=1 needs a dictionary: set lexicon to a file with one word a line (in a recipe: "
            "[encoder.1] topology = char_word, lexicon = FILE), or local to 0 or adjacent");
    return s->use->open(s->use, host, p[LEXICON].s, (int32_t)p[MIN_WORD].i, (int32_t)p[MAX_WORD].i,
                        &s->words);
}

static void destroy(const gsa_host *host, void *self)
{
    state *s = self;
    if (s->words) s->use->close(s->use, s->words);
    host->release(host, s);
}

static void describe(const void *self, gsa_describer *d)
{
    const state *s = self;
    const gsa_value *p = s->p;
    const int words = p[LOCAL].i == WORDS, global = p[GLOBAL].i != 0;
    const uint64_t tokens = 1 << TOKEN, word = words ? 1 << WORD : 0,
                   sentence = global ? UINT64_C(1) << s->sentence : 0;
    const gsa_phase mean =
        GSA_PHASE(.aggregate = GSA_MEAN, .update = GSA_LINEAR, .empty = GSA_UPDATE_EMPTY,
                  .sources = tokens, .destinations = sentence);
    gsa_phase each = mean, once = mean;
    each.name = "mean", once.name = "start", once.when = GSA_ONCE;
    d->promise(d, words ? GSA_NEEDS_TEXT : GSA_BY_LENGTH, GSA_LINEAR_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    if (words) d->kind(d, &GSA_KIND(.start = GSA_ZERO, .name = "word"));
    if (global) d->kind(d, &GSA_KIND(.start = GSA_BY_PHASE, .name = "sentence"));
    if (words)
        d->phase(d,
                 &GSA_PHASE(.aggregate = GSA_SUM, .update = GSA_ASSIGN, .empty = GSA_UPDATE_EMPTY,
                            .sources = tokens, .destinations = word, .name = "sum"));
    d->phase(d,
             &GSA_PHASE(.aggregate = GSA_ATTEND, .update = p[RESIDUAL].i ? GSA_SUBLAYER : GSA_NORM,
                        .empty = GSA_KEEP_EMPTY, .labels = local_labels[p[LOCAL].i] + global,
                        .sources = (p[LOCAL].i == ADJACENT ? tokens : word) | sentence,
                        .destinations = tokens, .name = "read"));
    if (p[RESIDUAL].i)
        d->phase(d, &GSA_PHASE(.aggregate = GSA_NONE, .update = GSA_FFN, .empty = GSA_UPDATE_EMPTY,
                               .destinations = tokens, .name = "ffn"));
    if (global) d->phase(d, &each), d->phase(d, &once);
    d->sequence(d, TOKEN);
    d->summary(d, TOKEN, GSA_MEAN_OF, 1);
}

typedef struct emission {
    gsa_emitter *e;
    int read;
} emission;

static void found(void *context, int32_t first, int32_t last)
{
    const emission *m = context;
    gsa_emitter *e = m->e;
    const gsa_node word = gsa_at(WORD, e->nodes(e, WORD, 1));
    e->place(e, word, 1, first, last);
    e->run(e, SUM, gsa_at(TOKEN, first), last - first + 1, 1, word, 0, 0);
    for (int64_t i = first; i <= last; i++) gsa_edge(e, m->read, word, gsa_at(TOKEN, i), 0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const state *s = self;
    const int64_t n = x->length, local = s->p[LOCAL].i;
    const int global = s->p[GLOBAL].i && n > 0;
    const gsa_node sentence = gsa_at(s->sentence, global ? e->nodes(e, s->sentence, 1) : 0);
    if (s->words) s->use->match(s->use, s->words, x, found, &(emission){ e, s->read });
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = i > 0 ? i - 1 : 0, last = i + 1 < n ? i + 1 : i;
        if (local == ADJACENT)
            e->run(e, s->read, gsa_at(TOKEN, first), last - first + 1, 1, gsa_at(TOKEN, i),
                   (int32_t)(first - i + 1), 1);
        if (global) gsa_edge(e, s->read, sentence, gsa_at(TOKEN, i), local_labels[local]);
    }
    if (!global) return;
    e->place(e, sentence, 2, 0, n - 1);
    e->run(e, s->mean, gsa_at(TOKEN, 0), n, 1, sentence, 0, 0);
    e->run(e, s->start, gsa_at(TOKEN, 0), n, 1, sentence, 0, 0);
}

static void label(const void *self, int phase_index, int32_t id, char *out, size_t size)
{
    static const char *const names[][4] = { { "word", "sentence" },
                                            { "sentence" },
                                            { "left", "self", "right", "sentence" } };
    const state *s = self;
    const int64_t local = s->p[LOCAL].i;
    const int known =
        phase_index == s->read && id >= 0 && id < local_labels[local] + (s->p[GLOBAL].i != 0);
    snprintf(out, size, "%s", known ? names[local][id] : "");
}

const gsa_topology gsa_topology_char_word = {
    GSA_HEAD(params),
    .id = "char_word",
    .summary = "characters, the dictionary words that hold them, a sentence node",
    .reference = "Shu et al. 2020",
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .emit = emit,
    .label = label
};
