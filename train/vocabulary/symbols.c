/* symbols.c - two open-addressed tables. Adding and finding: O(bytes of the string). */
#include "train/vocabulary/symbols.h"
#include "graph/index.h"
#include <string.h>
#include "graph/slots.h"

enum { FIRST = 256, MOST = 1 << 29 };

/* ---- strings ------------------------------------------------------------------------------- */

static uint32_t hash_of(const gsa_symbols *s, const char *at, int64_t bytes)
{
    return (uint32_t)gsa_slot_hash(gsa_slot_seed(s->slot), at, bytes);
}

static int32_t *slot_of(const gsa_symbols *s, const char *at, int64_t bytes, uint32_t hash)
{
    const uint32_t mask = (uint32_t)s->slots - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        int32_t *slot = &s->slot[i];
        if (*slot < 0) return slot;
        const gsa_symbol *own = &s->symbol[*slot];
        if (own->hash == hash && own->bytes == bytes &&
            memcmp(s->bytes + own->at, at, (size_t)bytes) == 0)
            return slot;
    }
}

static int grow_table(gsa_symbols *s)
{
    if (s->count < s->symbol_room) return 1;
    const int32_t room = s->symbol_room ? 2 * s->symbol_room : FIRST;
    gsa_symbol *symbol =
        room <= MOST ? gsa_resize(s->system, s->symbol, (size_t)room, sizeof *symbol) : NULL;
    if (!symbol) return 0;
    s->symbol = symbol;
    int32_t *slot = gsa_alloc(s->system, (size_t)room * 2, sizeof *slot);
    if (!slot) return 0;
    gsa_release(s->system, s->slot);
    s->slot = slot, s->slots = 2 * room, s->symbol_room = room;
    memset(slot, 0xff, (size_t)s->slots * sizeof *slot);
    for (int32_t i = 0; i < s->count; i++) {
        const char *at = s->bytes + symbol[i].at;
        symbol[i].hash = hash_of(s, at, symbol[i].bytes);
        *slot_of(s, at, symbol[i].bytes, symbol[i].hash) = i;
    }
    return 1;
}

/* Room for `bytes` more; `at`, where it points into the table, moves with it. */
static int grow_bytes(gsa_symbols *s, int64_t bytes, gsa_slice *head, gsa_slice *tail)
{
    if (s->used + bytes <= s->room && s->bytes) return 1;
    const int64_t room = 2 * (s->used + bytes) + FIRST;
    const uintptr_t old = (uintptr_t)s->bytes, end = old + (uintptr_t)s->used;
    char *larger = gsa_resize(s->system, s->bytes, (size_t)room, 1);
    if (!larger) return 0;
    gsa_slice *const part[] = { head, tail };
    for (int i = 0; i < 2; i++) {
        const uintptr_t at = (uintptr_t)part[i]->at;
        if (old && at >= old && at < end) part[i]->at = larger + (at - old);
    }
    s->bytes = larger, s->room = room;
    return 1;
}

int32_t gsa_symbols_add(gsa_symbols *s, gsa_slice head, gsa_slice tail)
{
    const int64_t bytes = head.bytes + tail.bytes;
    if (bytes > gsa_index_most || !grow_table(s) || !grow_bytes(s, bytes, &head, &tail)) return -1;
    char *at = s->bytes + s->used;
    if (head.bytes > 0) memcpy(at, head.at, (size_t)head.bytes);
    if (tail.bytes > 0) memcpy(at + head.bytes, tail.at, (size_t)tail.bytes);
    const uint32_t hash = hash_of(s, at, bytes);
    int32_t *slot = slot_of(s, at, bytes, hash);
    if (*slot >= 0) return *slot;
    s->symbol[s->count] = (gsa_symbol){ s->used, (int32_t)bytes, hash };
    s->used += bytes;
    return *slot = s->count++;
}

int32_t gsa_symbols_find(const gsa_symbols *s, gsa_slice text)
{
    return s->count ? *slot_of(s, text.at, text.bytes, hash_of(s, text.at, text.bytes)) : -1;
}

gsa_slice gsa_symbols_text(const gsa_symbols *s, int32_t symbol)
{
    return (gsa_slice){ s->bytes + s->symbol[symbol].at, s->symbol[symbol].bytes };
}

void gsa_symbols_clear(gsa_symbols *s)
{
    s->count = 0, s->used = 0;
    if (s->slot) memset(s->slot, 0xff, (size_t)s->slots * sizeof *s->slot);
}

void gsa_symbols_release(gsa_symbols *s)
{
    gsa_release(s->system, s->bytes);
    gsa_release(s->system, s->symbol);
    gsa_release(s->system, s->slot);
    *s = (gsa_symbols){ 0 };
}

/* ---- pairs --------------------------------------------------------------------------------- */

static gsa_couple *place_of(const gsa_couples *c, int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    const uint64_t hash = gsa_random(gsa_slot_seed(c->slot), key, 0);
    const uint32_t mask = (uint32_t)c->slots - 1;
    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        gsa_couple *at = &c->slot[i];
        if (at->left < 0 || (at->left == left && at->right == right)) return at;
    }
}

static int grow_couples(gsa_couples *c)
{
    if (2 * c->count < c->slots) return 1;
    const gsa_couples old = *c;
    if (old.slots > MOST) return 0;
    c->slots = old.slots ? 2 * old.slots : FIRST;
    c->slot = gsa_alloc(c->system, (size_t)c->slots, sizeof *c->slot);
    if (!c->slot) {
        *c = old;
        return 0;
    }
    for (int32_t i = 0; i < c->slots; i++) c->slot[i] = (gsa_couple){ -1, -1, -1 };
    for (int32_t i = 0; i < old.slots; i++)
        if (old.slot[i].left >= 0) *place_of(c, old.slot[i].left, old.slot[i].right) = old.slot[i];
    gsa_release(c->system, old.slot);
    return 1;
}

int32_t *gsa_couples_at(gsa_couples *c, int32_t left, int32_t right)
{
    if (!grow_couples(c)) return NULL;
    gsa_couple *at = place_of(c, left, right);
    if (at->left < 0) *at = (gsa_couple){ left, right, -1 }, c->count++;
    return &at->value;
}

int32_t gsa_couples_find(const gsa_couples *c, int32_t left, int32_t right)
{
    if (c->slots == 0) return -1;
    const gsa_couple *at = place_of(c, left, right);
    return at->left < 0 ? -1 : at->value;
}

void gsa_couples_release(gsa_couples *c)
{
    gsa_release(c->system, c->slot);
    *c = (gsa_couples){ 0 };
}
