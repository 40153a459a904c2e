/* slots.h - where a key begins in a hash table; not installed.
 *
 * Who writes a file chooses its keys. Were the hash known, all of them could fall into one part of
 * the table, and each search would pass by all the others. So a table's seed is the address of its
 * memory, which no file knows. Nothing that is seen may depend on it: no order, no result. */
#ifndef GSA_SLOTS_H
#define GSA_SLOTS_H
#include <string.h>
#include "graph/topology.h"

static inline uint64_t gsa_slot_seed(const void *memory)
{
    return gsa_random((uintptr_t)memory, 0, 0);
}

/* All 64 bits depend on all bytes and the seed; a hash is a seed for more bytes. 8 at a time, each
 * time mixed in full: no two texts then meet whatever the seed is, as they would by FNV. */
static inline uint64_t gsa_slot_hash(uint64_t seed, const char *at, int64_t bytes)
{
    uint64_t hash = gsa_random(seed, (uint64_t)bytes, 0);
    for (; bytes > 0; at += 8, bytes -= 8) {
        uint64_t word = 0;
        memcpy(&word, at, bytes < 8 ? (size_t)bytes : 8);
        hash = gsa_random(hash, word, 0);
    }
    return hash;
}

#endif
