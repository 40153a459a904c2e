#include "train/driver/batches.h"
#include "kernels/philox.h"

static const uint32_t STREAM =
    0x6f726465u; /* sets these draws apart from dropout's and the generated data's */

/* ---- heap sort: in place, and the same on every machine ------------------------------------ */

static int before(gsa_keyed a, gsa_keyed b)
{
    return a.key != b.key ? a.key < b.key : a.value < b.value;
}

static void sift(gsa_keyed *a, int64_t root, int64_t count)
{
    const gsa_keyed moved = a[root];
    for (int64_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && before(a[child], a[child + 1])) child++;
        if (!before(moved, a[child])) break;
        a[root] = a[child];
    }
    a[root] = moved;
}

void gsa_sort_keyed(gsa_keyed *a, int64_t count)
{
    for (int64_t root = count / 2 - 1; root >= 0; root--) sift(a, root, count);
    for (int64_t last = count - 1; last > 0; last--) {
        const gsa_keyed top = a[0];
        a[0] = a[last], a[last] = top;
        sift(a, 0, last);
    }
}

/* ---- the order ----------------------------------------------------------------------------- */

static uint64_t random_key(const gsa_batches *b, int64_t epoch, int64_t index, uint32_t use)
{
    const gsa_philox counter = { { (uint32_t)index, (uint32_t)((uint64_t)index >> 32),
                                   (uint32_t)epoch, use } };
    const gsa_philox words = gsa_philox4x32(counter, b->options.seed, STREAM);
    return (uint64_t)words.word[0] << 32 | words.word[1];
}

/* One past the last of the examples from `from` that fit `sentences` and `tokens` (0: no limit); at
 * least one. */
static int64_t fill(const gsa_batches *b, const int64_t *example, int64_t count, int64_t from,
                    int64_t sentences, int64_t tokens)
{
    int64_t used = 0, to = from;
    for (; to < count && (sentences == 0 || to - from < sentences); to++) {
        used += b->length[example[to]];
        if (tokens > 0 && used > tokens && to > from) break;
    }
    return to;
}

/* A limit of `count` times `limit`; 0 is no limit and stays so. */
static int64_t times(int64_t limit, int64_t count)
{
    int64_t product;
    return gsa_mul(limit, count, &product) ? product : INT64_MAX;
}

/* Sorts stretches of `bucket` global batches by length; equals stay in their random order. */
static void sort_stretches(gsa_batches *b)
{
    const gsa_batches_options *o = &b->options;
    const int64_t batches = o->accumulate * o->bucket, sentences = times(o->batch, batches),
                  tokens = times(o->batch_tokens, batches);
    for (int64_t from = 0; from < b->examples;) {
        const int64_t to = fill(b, b->example, b->examples, from, sentences, tokens);
        for (int64_t i = from; i < to; i++)
            b->keyed[i] =
                (gsa_keyed){ (uint64_t)b->length[b->example[i]] << 32 | (uint64_t)(i - from),
                             b->example[i] };
        gsa_sort_keyed(b->keyed + from, to - from);
        for (int64_t i = from; i < to; i++) b->example[i] = b->keyed[i].value;
        from = to;
    }
}

static void cut(gsa_batches *b)
{
    const gsa_batches_options *o = &b->options;
    b->count = 0, b->first[0] = 0;
    while (b->first[b->count] < b->examples) {
        const int64_t to = fill(b, b->example, b->examples, b->first[b->count],
                                o->batch * o->accumulate, o->batch_tokens * o->accumulate);
        b->shuffled[b->count] = b->count;
        b->first[++b->count] = to;
    }
}

void gsa_batches_shuffle(gsa_batches *b, int64_t epoch)
{
    for (int64_t i = 0; i < b->examples; i++)
        b->keyed[i] = (gsa_keyed){ random_key(b, epoch, i, 0), i };
    gsa_sort_keyed(b->keyed, b->examples);
    for (int64_t i = 0; i < b->examples; i++) b->example[i] = b->keyed[i].value;
    if (b->options.bucket > 1) sort_stretches(b);
    cut(b);
    for (int64_t i = 0; i < b->count; i++)
        b->keyed[i] = (gsa_keyed){ random_key(b, epoch, i, 1), i };
    gsa_sort_keyed(b->keyed, b->count);
    for (int64_t i = 0; i < b->count; i++) b->shuffled[i] = b->keyed[i].value;
}

void gsa_batches_plain(gsa_batches *b)
{
    for (int64_t i = 0; i < b->examples; i++)
        b->keyed[i] = (gsa_keyed){ (uint64_t)b->length[i], i };
    gsa_sort_keyed(b->keyed, b->examples);
    for (int64_t i = 0; i < b->examples; i++) b->example[i] = b->keyed[i].value;
    cut(b);
}

const int64_t *gsa_batches_at(const gsa_batches *b, int64_t index, int64_t *count)
{
    const int64_t place = b->shuffled[index];
    *count = b->first[place + 1] - b->first[place];
    return b->example + b->first[place];
}

int64_t gsa_batches_piece(const gsa_batches *b, const int64_t *example, int64_t count, int64_t from)
{
    return fill(b, example, count, from, b->options.batch, b->options.batch_tokens);
}

int64_t gsa_batches_share(const gsa_batches *b, const int64_t *example, int64_t count,
                          int64_t piece, int64_t pieces)
{
    int64_t total = 0, before = 0, e = 0;
    if (piece == 0 || piece == pieces) return piece == 0 ? 0 : count;
    for (int64_t i = 0; i < count; i++) total += b->length[example[i]];
    for (; e < count; e++) {
        const int64_t length = b->length[example[e]];
        if ((2 * before + length) * pieces >= 2 * piece * total) break;
        before += length;
    }
    return e;
}

gsa_status gsa_batches_create(const gsa_system *system, const gsa_batches_options *options,
                              const int32_t *length, int64_t examples, gsa_batches *batches,
                              gsa_error *error)
{
    gsa_batches b = {
        .system = system, .options = *options, .examples = examples, .length = length
    };
    *batches = (gsa_batches){ 0 };
    if (examples < 0 || (examples > 0 && !length))
        return gsa_fail(error, GSA_ERR_PLUGIN, "the task has %lld examples%s", (long long)examples,
                        examples < 0 ? "" : " and gave no lengths of them");
    b.example = gsa_alloc(system, (size_t)examples, sizeof *b.example);
    b.first = gsa_alloc(system, (size_t)examples + 1, sizeof *b.first);
    b.shuffled = gsa_alloc(system, (size_t)examples, sizeof *b.shuffled);
    b.keyed = gsa_alloc(system, (size_t)examples + 1, sizeof *b.keyed);
    *batches = b;
    if (b.example && b.first && b.shuffled && b.keyed) return GSA_OK;
    gsa_batches_release(batches);
    return gsa_out_of_memory(error, "the order of examples",
                             examples * (int64_t)(3 * sizeof(int64_t) + sizeof(gsa_keyed)));
}

void gsa_batches_release(gsa_batches *batches)
{
    gsa_release(batches->system, batches->example);
    gsa_release(batches->system, batches->first);
    gsa_release(batches->system, batches->shuffled);
    gsa_release(batches->system, batches->keyed);
    *batches = (gsa_batches){ 0 };
}
