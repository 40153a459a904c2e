#include "train/score/baseline.h"
#include <inttypes.h>
#include <math.h>
#include "graph/slots.h"

/* Bytes of the table, at least and for each token; and logarithms on dev. */
static const int64_t TABLE = 1 << 28, TABLE_EACH = 1 << 8, LOGARITHMS = INT64_C(1) << 32;

typedef struct table { /* open addressing over 64-bit hashes of features; 0 is free */
    const gsa_system *system;
    uint64_t *key;
    int32_t *count; /* [slots, classes] examples that hold the feature */
    int64_t *stamp; /* [slots] the example that counted it last */
    int64_t slots, used;
    int64_t most; /* slots */
    int32_t classes, zero;
} table;

static uint64_t mix(uint64_t h, const gsa_slice word)
{
    for (int64_t i = 0; i < word.bytes; i++)
        h = (h ^ (unsigned char)word.at[i]) * UINT64_C(0x100000001b3);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return (h ^ h >> 31) | 1;
}

/* Feature f of a token: 0 the word, 1 the pair with the word before it. */
static uint64_t feature_of(const gsa_labelled *data, int64_t token, int f)
{
    const uint64_t one = mix(UINT64_C(0xcbf29ce484222325), data->token[token - f]);
    return f ? mix(one ^ UINT64_C(0x9e3779b97f4a7c15), data->token[token]) : one;
}

static int64_t slot_of(const table *t, uint64_t key)
{
    const uint64_t hash = gsa_random(gsa_slot_seed(t->key), key, 0);
    int64_t slot = (int64_t)(hash & (uint64_t)(t->slots - 1));
    while (t->key[slot] && t->key[slot] != key) slot = (slot + 1) & (t->slots - 1);
    return slot;
}

static void table_release(table *t)
{
    gsa_release(t->system, t->key);
    gsa_release(t->system, t->count);
    gsa_release(t->system, t->stamp);
}

static gsa_status table_grow(table *t, gsa_error *error)
{
    table larger = { .system = t->system,
                     .slots = t->slots ? 2 * t->slots : 1 << 12,
                     .used = t->used,
                     .most = t->most,
                     .classes = t->classes };
    if (larger.slots > larger.most)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "the naive Bayes baseline is left out: %" PRId64 " features of %d labels",
                        larger.slots, larger.classes);
    larger.key = gsa_alloc_zero(t->system, (size_t)larger.slots, sizeof *t->key);
    larger.count =
        gsa_alloc_zero(t->system, (size_t)larger.slots, (size_t)t->classes * sizeof *t->count);
    larger.stamp = gsa_alloc_zero(t->system, (size_t)larger.slots, sizeof *t->stamp);
    if (!larger.key || !larger.count || !larger.stamp) {
        table_release(&larger);
        return gsa_out_of_memory(error, "the naive Bayes baseline",
                                 larger.slots * (16 + 4 * (int64_t)t->classes));
    }
    for (int64_t s = 0; s < t->slots; s++) {
        if (!t->key[s]) continue;
        const int64_t slot = slot_of(&larger, t->key[s]);
        larger.key[slot] = t->key[s], larger.stamp[slot] = t->stamp[s];
        for (int32_t c = 0; c < t->classes; c++)
            larger.count[slot * t->classes + c] = t->count[s * t->classes + c];
    }
    table_release(t);
    *t = larger;
    return GSA_OK;
}

static gsa_status count_features(table *t, const gsa_labelled *train, int bigrams, double *total,
                                 gsa_error *error)
{
    for (int64_t e = 0; e < train->examples; e++) {
        for (int64_t i = train->offset[e]; i < train->offset[e + 1]; i++) {
            for (int f = 0; f <= (bigrams && i > train->offset[e]); f++) {
                gsa_status status = GSA_OK;
                if (4 * (t->used + 1) > 3 * t->slots) status = table_grow(t, error);
                if (status != GSA_OK) return status;
                const uint64_t key = feature_of(train, i, f);
                const int64_t slot = slot_of(t, key);
                t->used += t->key[slot] == 0;
                t->key[slot] = key;
                if (t->stamp[slot] == e + 1) continue;
                t->stamp[slot] = e + 1;
                t->count[slot * t->classes + train->label[e]]++;
                total[train->label[e]]++;
            }
        }
    }
    return GSA_OK;
}

/* Stamps of dev examples are negative. */
static int32_t guess(table *t, const gsa_labelled *dev, int64_t e, int bigrams, const double *prior,
                     const double *total, double *sum)
{
    int32_t best = 0;
    for (int32_t c = 0; c < t->classes; c++) sum[c] = prior[c];
    for (int64_t i = dev->offset[e]; i < dev->offset[e + 1]; i++) {
        for (int f = 0; f <= (bigrams && i > dev->offset[e]); f++) {
            const int64_t slot = slot_of(t, feature_of(dev, i, f));
            if (!t->key[slot] || t->stamp[slot] == -e - 1) continue;
            t->stamp[slot] = -e - 1;
            for (int32_t c = 0; c < t->classes; c++)
                sum[c] +=
                    log((t->count[slot * t->classes + c] + 1.0) / (total[c] + (double)t->used));
        }
    }
    for (int32_t c = 1; c < t->classes; c++)
        if (sum[c] > sum[best]) best = c;
    return best;
}

gsa_status gsa_bayes_accuracy(const gsa_system *system, const gsa_labelled *train,
                              const gsa_labelled *dev, int32_t classes, int bigrams,
                              double *accuracy, gsa_error *error)
{
    const int64_t tokens = train->offset[train->examples], read = dev->offset[dev->examples];
    table t = { .system = system,
                .most = (TABLE + TABLE_EACH * tokens) / (4 * (int64_t)classes),
                .classes = classes };
    if (read > LOGARITHMS / classes)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "the naive Bayes baseline is left out: %" PRId64 " tokens and %d labels",
                        read, classes);
    double *prior = gsa_alloc_zero(system, 3 * (size_t)classes, sizeof *prior);
    if (!prior) return gsa_out_of_memory(error, "the naive Bayes baseline", 24 * (int64_t)classes);
    double *total = prior + classes, *sum = total + classes;
    for (int64_t e = 0; e < train->examples; e++) prior[train->label[e]]++;
    for (int32_t c = 0; c < classes; c++) prior[c] = log(prior[c] / (double)train->examples);
    gsa_status status = table_grow(&t, error);
    if (status == GSA_OK) status = count_features(&t, train, bigrams, total, error);
    int64_t right = 0;
    for (int64_t e = 0; e < dev->examples && status == GSA_OK; e++)
        right += guess(&t, dev, e, bigrams, prior, total, sum) == dev->label[e];
    *accuracy = dev->examples > 0 ? (double)right / (double)dev->examples : 0;
    table_release(&t);
    gsa_release(system, prior);
    return status;
}

gsa_status gsa_majority_accuracy(const gsa_system *system, const gsa_labelled *train,
                                 const gsa_labelled *dev, int32_t classes, double *accuracy,
                                 gsa_error *error)
{
    int64_t *count = gsa_alloc_zero(system, (size_t)classes, sizeof *count), right = 0;
    int32_t best = 0;
    if (!count) return gsa_out_of_memory(error, "the majority class", 8 * (int64_t)classes);
    for (int64_t e = 0; e < train->examples; e++) count[train->label[e]]++;
    for (int32_t c = 1; c < classes; c++)
        if (count[c] > count[best]) best = c;
    for (int64_t e = 0; e < dev->examples; e++) right += dev->label[e] == best;
    *accuracy = dev->examples > 0 ? (double)right / (double)dev->examples : 0;
    gsa_release(system, count);
    return GSA_OK;
}
