#include "train/minibatch.h"

/* Room for count x size bytes in *at; what it held is lost. */
static int hold(const gsa_system *system, void **at, int64_t *room, int64_t count, size_t size)
{
    if (count <= *room && *at) return 1;
    const int64_t wanted = count + count / 4 + 16;
    gsa_release(system, *at);
    *at = gsa_alloc(system, (size_t)wanted, size);
    *room = *at ? wanted : 0;
    return *at != NULL;
}

#define HOLD(member, slot, wanted)                                                                                          \
    (at = batch->member, ok = hold(batch->system, &at, &batch->room[slot], wanted, sizeof *batch->member),                  \
     batch->member = at, ok)

gsa_status gsa_minibatch_size(gsa_minibatch *batch, int32_t count, int64_t tokens, int64_t width, int64_t outputs,
                              gsa_error *error)
{
    void *at;
    int ok;
    int64_t features = 0, targets = 0;
    if (!gsa_mul(tokens, width, &features) || !gsa_mul(count, width ? outputs : 0, &targets))
        return gsa_fail(error, GSA_ERR_LIMIT, "a batch of %lld rows x %lld columns is too large", (long long)tokens,
                        (long long)width);
    int whole = HOLD(number, 0, count) && HOLD(row, 1, count) && HOLD(nought, 2, count) && HOLD(length, 3, count) &&
                HOLD(label, 4, count);
    if (width == 0) {
        int64_t texts = batch->room[5]; /* id and text grow together */
        whole = whole && HOLD(id, 5, tokens);
        at = batch->text;
        whole = whole && hold(batch->system, &at, &texts, batch->room[5], sizeof *batch->text);
        batch->text = at;
    } else {
        whole = whole && HOLD(feature, 6, features) && HOLD(target, 7, targets);
    }
    if (!whole) return gsa_out_of_memory(error, "a batch", (tokens + features + targets) * 4);
    for (int32_t i = 0; i < count; i++) batch->row[i] = i, batch->nought[i] = 0;
    batch->count = count, batch->tokens = tokens;
    return GSA_OK;
}

void gsa_minibatch_release(gsa_minibatch *batch)
{
    gsa_release(batch->system, batch->number);
    gsa_release(batch->system, batch->row);
    gsa_release(batch->system, batch->nought);
    gsa_release(batch->system, batch->length);
    gsa_release(batch->system, batch->label);
    gsa_release(batch->system, batch->id);
    gsa_release(batch->system, batch->text);
    gsa_release(batch->system, batch->feature);
    gsa_release(batch->system, batch->target);
    *batch = (gsa_minibatch){ 0 };
}
