/* tape_ahead.c - host arrays of the next round that are uploaded while the ops of this one run. Two
 * rooms in backend memory take turns: what this round's ops read is in one, what the next one's
 * will read arrives in the other, whose last readers were before this round. A room grows at a
 * reset alone, by what was offered so far, so that arrays which do not fit go up in their turn.
 * Once there was no memory for it, or a round wanted that memory, nothing goes ahead any more. */
#include "tape_parts.h"

enum { ALIGN = 64 };

static gsa_staged *next_room(gsa_tape *tape)
{
    return &tape->ahead.room[!tape->ahead.now];
}

gsa_status gsa_tape_ahead(gsa_tape *tape, const void *host, int64_t bytes, gsa_error *error)
{
    gsa_backend *b = tape->backend;
    gsa_staged *s = next_room(tape);
    if (!b->upload_ahead || tape->ahead.full || !host || bytes <= 0 || bytes > INT64_MAX / 4 ||
        s->count == GSA_STAGED)
        return GSA_OK;
    const int64_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    s->offered += need;
    if (s->used + need > s->bytes) return GSA_OK;
    char *at = s->at + s->used;
    const gsa_status status = b->upload_ahead(b, at, host, bytes);
    if (status != GSA_OK) return gsa_fail(error, status, "%s: %s", b->name, b->error.text);
    s->array[s->count++] = (gsa_staged_array){ host, bytes, at };
    s->used += need;
    return GSA_OK;
}

void gsa_tape_expect(gsa_tape *tape, int as_offered)
{
    tape->ahead.expected = as_offered;
}

void gsa_tape_forget_ahead(gsa_tape *tape)
{
    next_room(tape)->count = 0;
}

void *gsa_tape_staged(const gsa_tape *tape, const void *host, int64_t bytes)
{
    const gsa_staged *s = &tape->ahead.room[tape->ahead.now];
    for (int i = 0; i < s->count; i++)
        if (s->array[i].host == host && s->array[i].bytes >= bytes) return s->array[i].at;
    return NULL;
}

/* No memory is no failure: then nothing goes ahead any more, and it is said why. What this round's
 * ops read stays until the next. */
static void give_up(gsa_tape *tape)
{
    gsa_ahead *a = &tape->ahead;
    if (a->full) return;
    a->full = 1;
    a->refused = tape->backend->error;
}

static void give_rooms(gsa_tape *tape)
{
    for (int i = 0; i < 2; i++) {
        if (tape->ahead.room[i].at) tape->backend->free(tape->backend, tape->ahead.room[i].at);
        tape->ahead.room[i] = (gsa_staged){ 0 };
    }
}

static void grow(gsa_tape *tape, gsa_staged *s)
{
    gsa_backend *b = tape->backend;
    if (s->bytes >= tape->ahead.most) return;
    if (s->at) b->free(b, s->at);
    s->bytes = tape->ahead.most + tape->ahead.most / 4;
    s->at = b->alloc(b, s->bytes);
    if (s->at) return;
    s->bytes = 0;
    give_up(tape);
}

/* What was given to the rooms is there; where the backend has no memory for its side of it, nothing
 * was. */
static void arrive(gsa_tape *tape)
{
    gsa_backend *b = tape->backend;
    if (tape->ahead.full && !tape->ahead.room[tape->ahead.now].at) return;
    const gsa_status status = b->upload_arrive(b);
    if (status != GSA_ERR_MEMORY) {
        gsa_tape_check(tape, status);
        return;
    }
    give_up(tape);
}

void gsa_tape_turn_ahead(gsa_tape *tape)
{
    gsa_ahead *a = &tape->ahead;
    if (!tape->backend->upload_ahead) return;
    if (a->full) { /* the round that read what was there is over, and nothing is on its way */
        give_rooms(tape);
        return;
    }
    const int64_t offered = next_room(tape)->offered;
    if (offered > a->most) a->most = offered;
    if (a->most == 0) return; /* nobody offers any */
    a->now = !a->now;
    if (!a->expected) a->room[a->now].count = 0;
    a->expected = 0;
    gsa_staged *s = next_room(tape);
    s->count = 0;
    s->used = s->offered = 0;
    grow(tape, s);
    arrive(tape);
}

const char *gsa_tape_refused(gsa_tape *tape)
{
    gsa_ahead *a = &tape->ahead;
    if (a->refused.status == GSA_OK) return NULL;
    a->refused.status = GSA_OK;
    return a->refused.text;
}

int gsa_tape_yield_ahead(gsa_tape *tape)
{
    gsa_staged *s = next_room(tape);
    if (!s->at || s->used > 0) return 0;
    tape->backend->free(tape->backend, s->at);
    s->at = NULL, s->bytes = 0;
    give_up(tape);
    return 1;
}

/* Nothing is on its way any more when the memory is another's. */
void gsa_tape_close_ahead(gsa_tape *tape)
{
    gsa_backend *b = tape->backend;
    if (tape->ahead.room[0].at || tape->ahead.room[1].at) b->upload_arrive(b);
    give_rooms(tape);
}
