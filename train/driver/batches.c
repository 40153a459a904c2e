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
static void sort_stretches(gsa_batches *b, gsa_batches_order *to)
{
    const gsa_batches_options *o = &b->options;
    const int64_t batches = o->accumulate * o->bucket, sentences = times(o->batch, batches),
                  tokens = times(o->batch_tokens, batches);
    for (int64_t from = 0, end; from < to->examples; from = end) {
        end = fill(b, to->example, to->examples, from, sentences, tokens);
        for (int64_t i = from; i < end; i++)
            b->keyed[i] =
                (gsa_keyed){ (uint64_t)b->length[to->example[i]] << 32 | (uint64_t)(i - from),
                             to->example[i] };
        gsa_sort_keyed(b->keyed + from, end - from);
        for (int64_t i = from; i < end; i++) to->example[i] = b->keyed[i].value;
    }
}

static void cut(const gsa_batches *b, gsa_batches_order *to)
{
    const gsa_batches_options *o = &b->options;
    to->count = 0, to->first[0] = 0;
    while (to->first[to->count] < to->examples) {
        const int64_t end = fill(b, to->example, to->examples, to->first[to->count],
                                 o->batch * o->accumulate, o->batch_tokens * o->accumulate);
        to->shuffled[to->count] = to->count;
        to->first[++to->count] = end;
    }
}

/* Puts what `keyed` has into its order. */
static void settle(gsa_batches *b, int64_t *to, int64_t count)
{
    gsa_sort_keyed(b->keyed, count);
    for (int64_t i = 0; i < count; i++) to[i] = b->keyed[i].value;
}

/* The order of the block that comes at `place`. */
static void order_block(gsa_batches *b, int64_t place, gsa_batches_order *to)
{
    const int64_t block = b->block[place].value, plain = b->epoch < 0,
                  first = b->options.block ? b->options.block[block] : 0,
                  last = b->options.block ? b->options.block[block + 1] : b->examples;
    to->place = place, to->examples = last - first;
    for (int64_t i = 0; i < to->examples; i++) {
        const int64_t e = first + i;
        b->keyed[i] =
            (gsa_keyed){ plain ? (uint64_t)b->length[e] : random_key(b, b->epoch, e, 0), e };
    }
    settle(b, to->example, to->examples);
    if (!plain && b->options.bucket > 1) sort_stretches(b, to);
    cut(b, to);
    if (plain) return;
    for (int64_t i = 0; i < to->count; i++)
        b->keyed[i] = (gsa_keyed){ random_key(b, b->epoch, block << 32 | i, 1), i };
    settle(b, to->shuffled, to->count);
}

static void begin_epoch(gsa_batches *b, int64_t epoch)
{
    b->epoch = epoch, b->count = 0;
    for (int64_t p = 0; p < b->blocks; p++)
        b->block[p] = (gsa_keyed){ epoch < 0 ? (uint64_t)p : random_key(b, epoch, p, 2), p };
    gsa_sort_keyed(b->block, b->blocks);
    for (int64_t p = b->blocks - 1; p >= 0; p--) { /* the first ones are those that stay */
        order_block(b, p, &b->order[p & 1]);
        b->begin[p] = b->order[p & 1].count;
    }
    for (int64_t p = 0; p < b->blocks; p++) {
        const int64_t count = b->begin[p];
        b->begin[p] = b->count, b->count += count;
    }
    b->begin[b->blocks] = b->count;
}

void gsa_batches_shuffle(gsa_batches *b, int64_t epoch)
{
    begin_epoch(b, epoch);
}

void gsa_batches_plain(gsa_batches *b)
{
    begin_epoch(b, -1);
}

const int64_t *gsa_batches_at(const gsa_batches *b, int64_t index, int64_t *count)
{
    int64_t low = 0, high = b->blocks - 1;
    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (b->begin[middle] <= index) low = middle;
        else high = middle - 1;
    }
    gsa_batches_order *o = b->order;
    if (o[0].place != low) {
        const gsa_batches_order other = o[1];
        o[1] = o[0], o[0] = other;
    }
    if (o[0].place != low) {
        gsa_batches own = *b; /* the scratch and these two are shared */
        order_block(&own, low, o);
    }
    const int64_t place = o->shuffled[index - b->begin[low]];
    *count = o->first[place + 1] - o->first[place];
    return o->example + o->first[place];
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

/* Examples of the largest block. */
static int64_t largest(const gsa_batches *b)
{
    int64_t most = b->options.block ? 0 : b->examples;
    for (int64_t i = 0; i < b->blocks && b->options.block; i++) {
        const int64_t count = b->options.block[i + 1] - b->options.block[i];
        if (count > most) most = count;
    }
    return most;
}

gsa_status gsa_batches_create(const gsa_system *system, const gsa_batches_options *options,
                              const int32_t *length, int64_t examples, gsa_batches *batches,
                              gsa_error *error)
{
    gsa_batches b = { .system = system,
                      .options = *options,
                      .examples = examples,
                      .length = length,
                      .blocks = options->block ? options->blocks : 1 };
    *batches = (gsa_batches){ 0 };
    if (examples < 0 || (examples > 0 && !length))
        return gsa_fail(error, GSA_ERR_PLUGIN, "the task has %lld examples%s", (long long)examples,
                        examples < 0 ? "" : " and gave no lengths of them");
    const int64_t most = largest(&b), orders = b.blocks > 1 ? 2 : 1;
    b.block = gsa_alloc(system, (size_t)b.blocks, sizeof *b.block);
    b.begin = gsa_alloc(system, (size_t)b.blocks + 1, sizeof *b.begin);
    b.order = gsa_alloc_zero(system, 2, sizeof *b.order);
    b.keyed = gsa_alloc(system, (size_t)most + 1, sizeof *b.keyed);
    int whole = b.block && b.begin && b.order && b.keyed;
    for (int64_t i = 0; i < 2 && whole; i++) b.order[i].place = -1;
    for (int64_t i = 0; i < orders && whole; i++) {
        gsa_batches_order *o = &b.order[i];
        o->example = gsa_alloc(system, (size_t)most, sizeof *o->example);
        o->first = gsa_alloc(system, (size_t)most + 1, sizeof *o->first);
        o->shuffled = gsa_alloc(system, (size_t)most, sizeof *o->shuffled);
        whole = o->example && o->first && o->shuffled;
    }
    *batches = b;
    if (whole) return GSA_OK;
    gsa_batches_release(batches);
    return gsa_out_of_memory(error, "the order of examples", most * (orders * 24 + 16));
}

void gsa_batches_release(gsa_batches *batches)
{
    for (int i = 0; i < 2 && batches->order; i++) {
        gsa_release(batches->system, batches->order[i].example);
        gsa_release(batches->system, batches->order[i].first);
        gsa_release(batches->system, batches->order[i].shuffled);
    }
    gsa_release(batches->system, batches->order);
    gsa_release(batches->system, batches->block);
    gsa_release(batches->system, batches->begin);
    gsa_release(batches->system, batches->keyed);
    *batches = (gsa_batches){ 0 };
}
