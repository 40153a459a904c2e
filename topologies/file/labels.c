/* labels.c - the distinct labels of a file: a hash table of (number, name) pairs. */
#include <stdlib.h>
#include <string.h>
#include "graph/slots.h"
#include "loader.h"

/* Where the label is or belongs. */
static int64_t slot_of(const file_labels *labels, file_label label)
{
    const uint64_t seed = gsa_random(gsa_slot_seed(labels->slots), (uint64_t)label.number, 0);
    const uint64_t hash = gsa_slot_hash(seed, label.name, (int64_t)strlen(label.name));
    int64_t slot = (int64_t)(hash % (uint64_t)labels->n_slots);
    for (;; slot = (slot + 1) % labels->n_slots) {
        const int32_t place = labels->slots[slot] - 1;
        if (place < 0) return slot;
        if (labels->at[place].number == label.number &&
            strcmp(labels->at[place].name, label.name) == 0)
            return slot;
    }
}

static int grow(loader *load)
{
    file_labels *labels = &load->labels;
    const int64_t room = labels->room ? 2 * labels->room : 64;
    file_label *at = loader_grow(load, labels->at, labels->count, room, sizeof *at);
    if (!at) return -1;
    labels->at = at, labels->room = room;
    int32_t *slots = loader_grow(load, NULL, 0, 2 * room, sizeof *slots);
    if (!slots) return -1;
    load->host->release(load->host, labels->slots);
    memset(slots, 0, (size_t)(2 * room) * sizeof *slots);
    labels->slots = slots, labels->n_slots = 2 * room;
    for (int32_t i = 0; i < labels->count; i++) slots[slot_of(labels, at[i])] = i + 1;
    return 0;
}

int32_t labels_find(loader *load, int64_t line, file_label label)
{
    file_labels *labels = &load->labels;
    if (labels->count == labels->room && grow(load) < 0)
        return loader_fail(load, line, "out of memory for labels");
    const int64_t slot = slot_of(labels, label);
    if (labels->slots[slot]) return labels->slots[slot] - 1;
    if (labels->count == FILE_LABEL_LIMIT)
        return loader_fail(load, line,
                           "more than %d different labels, the limit: labels=none leaves them out",
                           FILE_LABEL_LIMIT);
    const size_t bytes = strlen(label.name) + 1;
    char *name = load->host->alloc(load->host, bytes);
    if (!name) return loader_fail(load, line, "out of memory for labels");
    memcpy(name, label.name, bytes);
    labels->at[labels->count] = (file_label){ label.number, name, (int32_t)labels->count };
    labels->slots[slot] = (int32_t)++labels->count;
    return (int32_t)labels->count - 1;
}

static int by_number_and_name(const void *a, const void *b)
{
    const file_label *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* After this the hash table is stale: labels are looked up no more. */
void labels_sort(file_labels *labels, int32_t *rank)
{
    if (labels->count > 0)
        qsort(labels->at, (size_t)labels->count, sizeof *labels->at, by_number_and_name);
    for (int32_t i = 0; i < labels->count; i++) rank[labels->at[i].place] = i;
}

void labels_release(const gsa_host *host, file_labels *labels)
{
    for (int64_t i = 0; labels->at && i < labels->count; i++)
        host->release(host, (void *)(uintptr_t)labels->at[i].name);
    host->release(host, labels->at);
    host->release(host, labels->slots);
    *labels = (file_labels){ 0 };
}
