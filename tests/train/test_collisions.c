/* Hash tables whose keys another chose: keys that a hash without a seed (FNV-1a) puts into a 64th
 * of the table are spread over all of it by theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/inspect/inspect.h"
#include "graph/slots.h"
#include "gsa/vocabulary.h"
#include "support/suite.h"
#include "gsa/scratch.h"
#include "train/settings/ini.h"
#include "train/vocabulary/symbols.h"

enum { KEYS = 30000, LETTERS = 5, SLOTS = 1 << 16, PART = SLOTS - SLOTS / 64 };

typedef struct keys {
    char at[KEYS][LETTERS + 1];
} keys;

static uint64_t fnv(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t folded(const char *text)
{
    return fnv(text) ^ fnv(text) >> 32;
}

static uint64_t less_folded(const char *text)
{
    return fnv(text) ^ fnv(text) >> 31;
}

/* 32 bits, over the section "x" and the key. */
static uint64_t narrow(const char *text)
{
    uint32_t hash = ((2166136261u ^ 'x') * 16777619u) * 16777619u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* ---- the tables ---------------------------------------------------------------------------- */

/* Bounded, it keeps those that came twice. */
static void fill_vocabulary(const keys *k)
{
    const int twice = KEYS / 2 - 1;
    gsa_vocabulary *v;
    ck_assert_int_eq(gsa_vocabulary_create(NULL, &v, NULL), GSA_OK);
    for (int i = 0; i < KEYS; i++)
        ck_assert_int_eq(
            gsa_vocabulary_add(v, (gsa_slice){ k->at[i], LETTERS }, i < twice ? 2 : 1, NULL),
            GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_bound(v, KEYS - 1, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 0, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_size(v), GSA_WORD_FIRST + twice);
    for (int32_t id = GSA_WORD_FIRST; id < gsa_vocabulary_size(v); id++)
        ck_assert_int_eq(gsa_vocabulary_find(v, (gsa_slice){ k->at[id - GSA_WORD_FIRST], LETTERS }),
                         id);
    gsa_vocabulary_release(v);
}

static void fill_symbols(const keys *k)
{
    gsa_symbols s = { .system = gsa_system_default() };
    for (int i = 0; i < KEYS; i++)
        ck_assert_int_eq(gsa_symbols_add(&s, (gsa_slice){ k->at[i], LETTERS }, (gsa_slice){ 0 }),
                         i);
    for (int i = 0; i < KEYS; i++)
        ck_assert_int_eq(gsa_symbols_find(&s, (gsa_slice){ k->at[i], LETTERS }), i);
    gsa_symbols_release(&s);
}

static void fill_texts(const keys *k)
{
    gsa_texts t = { 0 };
    for (int i = 0; i < KEYS; i++)
        ck_assert_int_eq(gsa_texts_add(gsa_system_default(), &t, k->at[i]), i);
    gsa_texts_release(gsa_system_default(), &t);
}

static void fill_ini(const keys *k)
{
    gsa_scratch scratch;
    gsa_ini ini;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "keys.ini");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("[x]\n", file);
    for (int i = 0; i < KEYS; i++) fprintf(file, "%s=%d\n", k->at[i], i);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(gsa_ini_read(gsa_system_default(), path, &ini, NULL), GSA_OK);
    for (int i = 0; i < KEYS; i++) {
        const gsa_ini_entry *entry = gsa_ini_find(&ini, "x", k->at[i]);
        ck_assert(entry && entry->line == i + 2);
    }
    gsa_ini_release(&ini);
    gsa_scratch_close(&scratch);
}

static const struct {
    const char *name;
    void (*fill)(const keys *keys);
    uint64_t (*hash)(const char *text); /* that it had */
} tables[] = { { "vocabulary", fill_vocabulary, folded },
               { "symbols", fill_symbols, folded },
               { "texts", fill_texts, less_folded },
               { "ini", fill_ini, narrow } };

/* ---- where they go ------------------------------------------------------------------------- */

/* Words of letters that the hash puts into the chosen part. */
static void make(keys *k, uint64_t (*hash)(const char *text))
{
    char word[LETTERS + 1] = { 0 };
    int count = 0;
    for (int number = 0; count < KEYS; number++) {
        for (int i = LETTERS - 1, rest = number; i >= 0; i--, rest /= 26)
            word[i] = (char)('a' + rest % 26);
        if ((hash(word) & PART) == 0) memcpy(k->at[count++], word, sizeof word);
    }
}

/* A 64th of the table has about KEYS / 64 of them, whatever the seed is. */
static void must_be_spread(const int part[64], const char *what)
{
    for (int i = 0; i < 64; i++)
        ck_assert_msg(part[i] > KEYS / 128 && part[i] < KEYS / 32, "%s: part %d has %d of %d", what,
                      i, part[i], KEYS);
}

START_TEST(chosen_keys_are_spread)
{
    static keys chosen;
    make(&chosen, tables[_i].hash);
    for (uintptr_t at = 4096; at < 4096 * 9; at += 4096) {
        int part[64] = { 0 };
        for (int i = 0; i < KEYS; i++)
            part[gsa_slot_hash(gsa_slot_seed((const void *)at), chosen.at[i], LETTERS) % SLOTS /
                 (SLOTS / 64)]++;
        must_be_spread(part, tables[_i].name);
    }
    tables[_i].fill(&chosen);
}
END_TEST

/* Pairs that a product with 2^64 over the golden ratio puts there. */
START_TEST(chosen_pairs_are_found)
{
    gsa_couples c = { .system = gsa_system_default() };
    for (int32_t count = 0, right = 0; count < KEYS; right++) {
        const uint64_t hash = (uint64_t)right * UINT64_C(0x9e3779b97f4a7c15) >> 32;
        if ((hash & PART) != 0) continue;
        int32_t *value = gsa_couples_at(&c, 0, right);
        ck_assert(value && *value == -1);
        *value = count++;
    }
    gsa_couples_release(&c);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test chosen[] = { GSA_LOOP(chosen_keys_are_spread, GSA_COUNT(tables)),
                                       GSA_TEST(chosen_pairs_are_found) };
    static const gsa_case cases[] = { GSA_CASE("chosen", chosen, 60) };
    return gsa_run_suite("collisions", cases, GSA_COUNT(cases), argc, argv);
}
