#include <string.h>
#include "graph/inspect/inspect.h"
#include "graph/slots.h"

/* Where the text is or belongs. */
static int32_t slot_of(const gsa_texts *names, const char *text)
{
    const uint64_t hash = gsa_slot_hash(gsa_slot_seed(names->slots), text, (int64_t)strlen(text));
    int32_t slot = (int32_t)(hash % (uint64_t)names->n_slots);
    while (names->slots[slot] && strcmp(names->at[names->slots[slot] - 1], text) != 0)
        slot = (slot + 1) % names->n_slots;
    return slot;
}

static int grow(const gsa_system *system, gsa_texts *names)
{
    if (names->room > INT32_MAX / 4) return 0;
    const int32_t room = names->room ? 2 * names->room : 16;
    const char **at = gsa_resize(system, names->at, (size_t)room, sizeof *at);
    if (!at) return 0;
    names->at = at;
    int32_t *slots = gsa_alloc_zero(system, 2 * (size_t)room, sizeof *slots);
    if (!slots) return 0;
    gsa_release(system, names->slots);
    names->slots = slots, names->room = room, names->n_slots = 2 * room;
    for (int32_t i = 0; i < names->count; i++) slots[slot_of(names, names->at[i])] = i + 1;
    return 1;
}

int32_t gsa_texts_add(const gsa_system *system, gsa_texts *names, const char *text)
{
    if (names->count == names->room && !grow(system, names)) return -1;
    const int32_t slot = slot_of(names, text);
    if (names->slots[slot]) return names->slots[slot] - 1;
    char *copy = gsa_copy_text(system, text);
    if (!copy) return -1;
    names->at[names->count] = copy;
    names->slots[slot] = ++names->count;
    return names->count - 1;
}

void gsa_texts_release(const gsa_system *system, gsa_texts *names)
{
    for (int32_t i = 0; i < names->count; i++) gsa_release(system, (void *)(uintptr_t)names->at[i]);
    gsa_release(system, names->at);
    gsa_release(system, names->slots);
    *names = (gsa_texts){ 0 };
}
