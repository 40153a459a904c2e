#include "train/driver/minibatch.h"

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

/* The same for a member of `owner`; `ok` and `at` are the caller's. */
#define HOLD(owner, member, slot, wanted)                                                          \
    (at = (owner)->member,                                                                         \
     ok = hold(batch->system, &at, &(owner)->room[slot], wanted, sizeof *(owner)->member),         \
     (owner)->member = at, ok)

gsa_status gsa_minibatch_begin(gsa_minibatch *batch, int32_t count, gsa_error *error)
{
    void *at;
    int ok;
    if (!HOLD(batch, row, 0, 2 * (int64_t)count))
        return gsa_out_of_memory(error, "a batch", count * INT64_C(8));
    for (int32_t i = 0; i < count; i++) batch->row[i] = i, batch->row[count + i] = 0;
    batch->count = count, batch->tokens = batch->targets = 0;
    batch->picks = batch->named = 0;
    return GSA_OK;
}

gsa_status gsa_minibatch_sequence_size(gsa_minibatch *batch, int sequence, int32_t count,
                                       int64_t tokens, int64_t width, gsa_error *error)
{
    gsa_minibatch_sequence *s = &batch->sequence[sequence];
    void *at;
    int ok, whole = HOLD(s, length, 0, count) && HOLD(s, number, 4, count);
    int64_t features;
    if (!gsa_mul(tokens, width, &features))
        return gsa_fail(error, GSA_ERR_LIMIT, "a batch of %lld rows x %lld columns is too large",
                        (long long)tokens, (long long)width);
    if (width == 0) whole = whole && HOLD(s, id, 1, tokens) && HOLD(s, text, 2, tokens);
    else whole = whole && HOLD(s, feature, 3, features);
    if (!whole) return gsa_out_of_memory(error, "a batch", width ? features * 4 : tokens * 20);
    for (int32_t i = 0; i < count; i++) s->number[i] = batch->first + i;
    s->count = count, s->tokens = tokens, s->grouped = 0, s->sides = 0, batch->tokens += tokens;
    return GSA_OK;
}

gsa_status gsa_minibatch_targets(gsa_minibatch *batch, int64_t targets, int64_t terms,
                                 gsa_error *error)
{
    void *at;
    int ok;
    int64_t numbers;
    if (!gsa_mul(targets, terms, &numbers))
        return gsa_fail(error, GSA_ERR_LIMIT, "a batch of %lld targets x %lld numbers is too large",
                        (long long)targets, (long long)terms);
    if (!(terms ? HOLD(batch, target, 3, numbers) : HOLD(batch, label, 2, targets)))
        return gsa_out_of_memory(error, "a batch", (terms ? numbers : targets) * 4);
    batch->targets = targets;
    return GSA_OK;
}

gsa_status gsa_minibatch_note(gsa_minibatch *batch, int which, int64_t count, gsa_error *error)
{
    void *at = batch->note[which];
    const int ok =
        hold(batch->system, &at, &batch->note_room[which], count, sizeof *batch->note[which]);
    batch->note[which] = at;
    return ok ? GSA_OK : gsa_out_of_memory(error, "a batch", count * 4);
}

gsa_status gsa_minibatch_types(gsa_minibatch *batch, int sequence, gsa_error *error)
{
    gsa_minibatch_sequence *s = &batch->sequence[sequence];
    void *at;
    int ok;
    return HOLD(s, type, 5, s->tokens) ? GSA_OK
                                       : gsa_out_of_memory(error, "a batch", s->tokens * 4);
}

gsa_status gsa_minibatch_groups(gsa_minibatch *batch, int sequence, gsa_error *error)
{
    gsa_minibatch_sequence *s = &batch->sequence[sequence];
    void *at;
    int ok;
    s->grouped = HOLD(s, group, 6, s->tokens);
    return s->grouped ? GSA_OK : gsa_out_of_memory(error, "a batch", s->tokens * 4);
}

gsa_status gsa_minibatch_side(gsa_minibatch *batch, int sequence, const char *name,
                              gsa_error *error)
{
    gsa_minibatch_sequence *s = &batch->sequence[sequence];
    if (s->sides == GSA_BATCH_SIDES)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "a sequence has more than %d columns next to its tokens", GSA_BATCH_SIDES);
    void *at = s->side[s->sides];
    const int ok = hold(batch->system, &at, &s->side_room[s->sides], s->tokens, sizeof(gsa_slice));
    s->side[s->sides] = at;
    if (!ok) return gsa_out_of_memory(error, "a batch", s->tokens * (int64_t)sizeof(gsa_slice));
    s->column[s->sides++] = (gsa_named_column){ name, at };
    return GSA_OK;
}

gsa_status gsa_minibatch_pick(gsa_minibatch *batch, gsa_error *error)
{
    void *at;
    int ok;
    batch->picks = HOLD(batch, pick, 5, batch->targets);
    return batch->picks ? GSA_OK : gsa_out_of_memory(error, "a batch", batch->targets * 4);
}

gsa_status gsa_minibatch_name(gsa_minibatch *batch, int split, const int64_t *example,
                              gsa_error *error)
{
    void *at;
    int ok;
    if (!HOLD(batch, example, 4, batch->count))
        return gsa_out_of_memory(error, "a batch", batch->count * INT64_C(8));
    for (int32_t i = 0; i < batch->count; i++) batch->example[i] = example[i];
    batch->split = split, batch->named = 1;
    return GSA_OK;
}

void gsa_minibatch_release(gsa_minibatch *batch)
{
    for (int s = 0; s < GSA_BATCH_SEQUENCES; s++) {
        gsa_release(batch->system, batch->sequence[s].number);
        gsa_release(batch->system, batch->sequence[s].length);
        gsa_release(batch->system, batch->sequence[s].id);
        gsa_release(batch->system, batch->sequence[s].type);
        gsa_release(batch->system, batch->sequence[s].group);
        gsa_release(batch->system, batch->sequence[s].text);
        for (int c = 0; c < GSA_BATCH_SIDES; c++)
            gsa_release(batch->system, batch->sequence[s].side[c]);
        gsa_release(batch->system, batch->sequence[s].feature);
    }
    gsa_release(batch->system, batch->row);
    gsa_release(batch->system, batch->label);
    gsa_release(batch->system, batch->target);
    for (int n = 0; n < GSA_BATCH_NOTES; n++) gsa_release(batch->system, batch->note[n]);
    gsa_release(batch->system, batch->example);
    gsa_release(batch->system, batch->pick);
    *batch = (gsa_minibatch){ 0 };
}
