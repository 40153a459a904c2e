#include "train/score/ngram.h"
#include <math.h>
#include "graph/slots.h"

enum { MOST = 1 << 23, PIECE = 1 << 13 };

typedef struct counter { /* open addressing; key 0 is free: no pair ends in id 0 */
    const gsa_system *system;
    uint64_t *key;
    int32_t *count;
    int64_t slots, used;
    int64_t *single, *behind, *different; /* [ids] c(w), c(v) as a first, T(v) */
    int64_t tokens, ids;
} counter;

static int64_t slot_of(const counter *t, uint64_t key)
{
    const uint64_t hash = gsa_random(gsa_slot_seed(t->key), key, 0);
    int64_t slot = (int64_t)(hash & (uint64_t)(t->slots - 1));
    while (t->key[slot] && t->key[slot] != key) slot = (slot + 1) & (t->slots - 1);
    return slot;
}

static gsa_status grow(counter *t, gsa_error *error)
{
    counter larger = *t;
    larger.slots = t->slots ? 2 * t->slots : 1 << 12;
    larger.key = gsa_alloc_zero(t->system, (size_t)larger.slots, sizeof *t->key);
    larger.count = gsa_alloc_zero(t->system, (size_t)larger.slots, sizeof *t->count);
    if (!larger.key || !larger.count) {
        gsa_release(t->system, larger.key);
        gsa_release(t->system, larger.count);
        return gsa_out_of_memory(error, "counts of bigrams", larger.slots * 12);
    }
    for (int64_t s = 0; s < t->slots; s++) {
        if (!t->key[s]) continue;
        const int64_t slot = slot_of(&larger, t->key[s]);
        larger.key[slot] = t->key[s], larger.count[slot] = t->count[s];
    }
    gsa_release(t->system, t->key);
    gsa_release(t->system, t->count);
    *t = larger;
    return GSA_OK;
}

static gsa_status add(counter *t, int32_t before, int32_t id, gsa_error *error)
{
    const gsa_status status = 2 * (t->used + 1) > t->slots ? grow(t, error) : GSA_OK;
    if (status != GSA_OK) return status;
    const uint64_t key = (uint64_t)before << 32 | (uint32_t)id;
    const int64_t slot = slot_of(t, key);
    const int fresh = t->key[slot] == 0;
    t->used += fresh, t->key[slot] = key, t->count[slot]++;
    t->single[id]++, t->tokens++;
    t->behind[before]++, t->different[before] += fresh;
    return GSA_OK;
}

static void weigh(const counter *t, int32_t before, int32_t id, int64_t classes, double *unigrams,
                  double *bigrams)
{
    const double one = ((double)t->single[id] + 1) / ((double)t->tokens + (double)classes);
    const double others = (double)t->different[before];
    const int64_t both = t->count[slot_of(t, (uint64_t)before << 32 | (uint32_t)id)];
    *unigrams -= log(one);
    *bigrams -= log(
        others > 0 ? ((double)both + others * one) / ((double)t->behind[before] + others) : one);
}

/* Over the first `most` tokens of a text; sums NULL: counts them. */
static gsa_status walk(counter *t, gsa_stream *text, int64_t most, const gsa_units *units,
                       double *sums, gsa_error *error)
{
    int32_t before = units->line_end, *id = gsa_alloc(t->system, PIECE, sizeof *id);
    gsa_status status = id ? GSA_OK : gsa_out_of_memory(error, "counts of bigrams", PIECE * 4);
    for (int64_t first = 0; first < most && status == GSA_OK; first += PIECE) {
        const int64_t count = most - first < PIECE ? most - first : PIECE;
        status = gsa_stream_read(text, units, first, count, id, error);
        for (int64_t i = 0; i < count && status == GSA_OK; before = id[i++])
            if (sums) weigh(t, before, id[i], t->ids - units->first_class, &sums[0], &sums[1]);
            else status = add(t, before, id[i], error);
    }
    gsa_release(t->system, id);
    return status;
}

gsa_status gsa_ngram_losses(gsa_stream *train, gsa_stream *held, const gsa_units *units,
                            double *unigrams, double *bigrams, gsa_error *error)
{
    double sums[2] = { 0 };
    counter t = { .system = train->system, .ids = gsa_units_size(units) };
    t.single = gsa_alloc_zero(t.system, 3 * (size_t)t.ids, sizeof *t.single);
    gsa_status status =
        t.single ? grow(&t, error) : gsa_out_of_memory(error, "counts of bigrams", t.ids * 24);
    if (status == GSA_OK) t.behind = t.single + t.ids, t.different = t.behind + t.ids;
    if (status == GSA_OK)
        status = walk(&t, train, train->tokens < MOST ? train->tokens : MOST, units, NULL, error);
    if (status == GSA_OK) status = walk(&t, held, held->tokens, units, sums, error);
    const double of = held->tokens > 0 ? (double)held->tokens : 1;
    *unigrams = sums[0] / of, *bigrams = sums[1] / of;
    gsa_release(t.system, t.single);
    gsa_release(t.system, t.key);
    gsa_release(t.system, t.count);
    return status;
}
