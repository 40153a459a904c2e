#include "train/data/spelling.h"
#include "train/data/shape.h"

enum { NUMBERS = 1 << 26 }; /* what gsa_model_sequence numbers */

void gsa_spelling_release(gsa_spelling *s)
{
    gsa_vocabulary_release(s->forms);
    void *const all[] = { s->offset, s->id, s->text, s->number, s->stamp, s->place };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(s->system, all[i]);
    *s = (gsa_spelling){ 0 };
}

static int32_t hash_of(gsa_slice word)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < word.bytes; i++)
        h = (h ^ (unsigned char)word.at[i]) * UINT64_C(0x100000001b3);
    return (int32_t)((h ^ h >> 29) % NUMBERS);
}

static gsa_status list_forms(gsa_spelling *s, const gsa_slice *const *form, const int64_t *count,
                             int lists, gsa_error *error)
{
    gsa_status status = gsa_vocabulary_create(s->system, &s->forms, error);
    for (int l = 0; l < lists; l++)
        for (int64_t i = 0; i < count[l] && status == GSA_OK; i++)
            status = gsa_vocabulary_add(s->forms, form[l][i], 1, error);
    return status == GSA_OK ? gsa_vocabulary_freeze(s->forms, 1, 0, error) : status;
}

static int64_t letters_of(gsa_slice word, int64_t most)
{
    const int64_t count = gsa_character_count(word);
    return count < most ? count : most;
}

static gsa_status allocate(gsa_spelling *s, int64_t most, gsa_error *error)
{
    const int32_t forms = gsa_vocabulary_size(s->forms);
    int64_t letters = 0;
    for (int32_t w = GSA_WORD_FIRST; w < forms; w++)
        letters += letters_of(gsa_vocabulary_word(s->forms, w), most);
    s->offset = gsa_alloc_zero(s->system, (size_t)forms + 1, sizeof *s->offset);
    s->id = gsa_alloc(s->system, (size_t)letters, sizeof *s->id);
    s->text = gsa_alloc(s->system, (size_t)letters, sizeof *s->text);
    s->number = gsa_alloc_zero(s->system, (size_t)forms, sizeof *s->number);
    s->stamp = gsa_alloc_zero(s->system, (size_t)forms, sizeof *s->stamp);
    s->place = gsa_alloc(s->system, (size_t)forms, sizeof *s->place);
    if (s->offset && s->id && s->text && s->number && s->stamp && s->place) return GSA_OK;
    return gsa_out_of_memory(error, "the characters of words", letters * 20 + forms * INT64_C(24));
}

/* The characters of a word as texts of their own. */
static void cut(gsa_slice word, gsa_slice *text, int64_t count)
{
    for (int64_t i = 0, at = 0; i < count; i++) {
        int64_t next = at + 1;
        while (next < word.bytes && ((unsigned char)word.at[next] & 0xc0) == 0x80) next++;
        text[i] = (gsa_slice){ word.at + at, next - at };
        at = next;
    }
}

gsa_status gsa_spelling_create(const gsa_system *system, const gsa_slice *const *form,
                               const int64_t *count, int lists, const gsa_vocabulary *characters,
                               int64_t most, gsa_spelling *s, gsa_error *error)
{
    *s = (gsa_spelling){ .system = system };
    gsa_status status = list_forms(s, form, count, lists, error);
    if (status == GSA_OK) status = allocate(s, most, error);
    const int32_t forms = status == GSA_OK ? gsa_vocabulary_size(s->forms) : 0;
    for (int32_t w = GSA_WORD_FIRST; w < forms; w++) {
        const gsa_slice word = gsa_vocabulary_word(s->forms, w);
        const int64_t letters =
            gsa_characters_find(characters, word, s->id + s->offset[w], letters_of(word, most));
        cut(word, s->text + s->offset[w], letters);
        s->number[w] = hash_of(word);
        s->offset[w + 1] = s->offset[w] + letters;
    }
    if (status != GSA_OK) gsa_spelling_release(s);
    return status;
}

void gsa_spelling_begin(gsa_spelling *s)
{
    s->now++;
}

int32_t gsa_spelling_place(gsa_spelling *s, int32_t word, int32_t *count)
{
    if (s->stamp[word] != s->now) s->stamp[word] = s->now, s->place[word] = (*count)++;
    return s->place[word];
}
