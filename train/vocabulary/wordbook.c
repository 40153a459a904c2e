#include "train/vocabulary/wordbook.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 4096 };

static gsa_wordbook open_book(const gsa_system *system, const gsa_recipe_values *v)
{
    return (gsa_wordbook){ .system = system,
                           .frozen = (int32_t)v->data_vectors_frozen,
                           .normalize = (int32_t)v->data_vectors_normalize,
                           .embedding_std = v->model_embedding_std };
}

static gsa_status read_vectors(gsa_wordbook *book, gsa_recipe_values *v, gsa_error *error)
{
    if (!*v->data_vectors) return GSA_OK;
    gsa_status status = gsa_vectors_read(book->system, v->data_vectors, &book->vectors, error);
    if (status == GSA_OK && v->model_embedding != 0 && v->model_embedding != book->vectors.width)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "%s: the vectors are %d wide, model.embedding is %lld", v->data_vectors,
                          book->vectors.width, (long long)v->model_embedding);
    v->model_embedding = book->vectors.width;
    return status;
}

gsa_status gsa_wordbook_begin(const gsa_system *system, gsa_recipe *recipe, gsa_wordbook *book,
                              gsa_error *error)
{
    *book = open_book(system, &recipe->values);
    const gsa_status status = read_vectors(book, &recipe->values, error);
    return status == GSA_OK ? gsa_vocabulary_create(system, &book->vocabulary, error) : status;
}

gsa_status gsa_wordbook_count(gsa_wordbook *book, const gsa_text *text, int64_t most,
                              gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int64_t i = 0; i < text->tokens && status == GSA_OK; i++) {
        status = gsa_vocabulary_add(book->vocabulary, text->token[i], 1, error);
        if (status == GSA_OK && most) status = gsa_vocabulary_bound(book->vocabulary, most, error);
    }
    return status;
}

gsa_status gsa_wordbook_end(gsa_wordbook *book, const gsa_recipe *recipe,
                            const gsa_text *const *texts, int count, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    gsa_status status = GSA_OK;
    for (int t = 0; t < count && v->data_vocabulary == GSA_WORDS_DATA && status == GSA_OK; t++)
        status = gsa_wordbook_count(book, texts[t], 0, error);
    if (v->data_vocabulary == GSA_WORDS_VECTORS) /* each counts enough to be known */
        for (int64_t i = 0; i < book->vectors.count && status == GSA_OK; i++)
            status = gsa_vocabulary_add(book->vocabulary, book->vectors.word[i], v->data_min_count,
                                        error);
    if (status == GSA_OK)
        status = gsa_vocabulary_freeze(book->vocabulary, v->data_min_count, 0, error);
    book->width = (int32_t)v->model_embedding;
    return status;
}

gsa_status gsa_wordbook_learn(const gsa_system *system, gsa_recipe *recipe,
                              const gsa_text *const *texts, int count, int trained,
                              gsa_wordbook *book, gsa_error *error)
{
    gsa_status status = gsa_wordbook_begin(system, recipe, book, error);
    for (int t = 0; t < trained && status == GSA_OK; t++)
        status = gsa_wordbook_count(book, texts[t], 0, error);
    return status == GSA_OK
               ? gsa_wordbook_end(book, recipe, texts + trained, count - trained, error)
               : status;
}

gsa_status gsa_wordbook_restore(const gsa_system *system, const gsa_recipe *recipe,
                                const char *folder, gsa_wordbook *book, gsa_error *error)
{
    char path[PATH];
    *book = open_book(system, &recipe->values);
    book->width = (int32_t)recipe->values.model_embedding;
    snprintf(path, sizeof path, "%s/vocab.txt", folder);
    return gsa_vocabulary_read(system, path, &book->vocabulary, error);
}

gsa_status gsa_wordbook_save(const gsa_wordbook *book, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    gsa_status status = gsa_checkpoint_file(checkpoint, "vocab.txt", &output, error);
    if (status != GSA_OK) return status;
    status = gsa_vocabulary_write(book->vocabulary, output);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return gsa_fail(error, status, "vocab.txt cannot be written");
}

void gsa_wordbook_release(gsa_wordbook *book)
{
    gsa_vocabulary_release(book->vocabulary);
    gsa_vectors_release(&book->vectors);
    *book = (gsa_wordbook){ 0 };
}

gsa_input_options gsa_wordbook_input(const gsa_wordbook *book)
{
    return (gsa_input_options){ .vocabulary = gsa_vocabulary_size(book->vocabulary),
                                .width = book->width,
                                .frozen = book->frozen,
                                .embedding_std = book->embedding_std };
}

static void normalize_rows(double *x, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; r++, x += cols) {
        double squares = 0;
        for (int64_t c = 0; c < cols; c++) squares += x[c] * x[c];
        for (int64_t c = 0; c < cols && squares > 0; c++) x[c] /= sqrt(squares);
    }
}

gsa_status gsa_wordbook_prepare(gsa_wordbook *book, gsa_input *input, gsa_backend *backend,
                                gsa_error *error)
{
    gsa_parameter *p = gsa_input_embedding(input);
    if (book->vectors.count == 0) return GSA_OK;
    const int64_t rows = p->value.rows, cols = p->value.cols;
    double *x = gsa_alloc(book->system, (size_t)(rows * cols), sizeof *x);
    if (!x) return gsa_out_of_memory(error, "word vectors", rows * cols * 8);
    gsa_status status = gsa_tensor_read(backend, &p->value, 0, x, error);
    for (int64_t i = 0; i < book->vectors.count && status == GSA_OK; i++) {
        const int32_t id = gsa_vocabulary_find(book->vocabulary, book->vectors.word[i]);
        for (int64_t c = 0; c < cols && id >= GSA_WORD_FIRST; c++)
            x[id * cols + c] = book->vectors.value[i * cols + c];
    }
    if (status == GSA_OK && book->normalize) normalize_rows(x, rows, cols);
    if (status == GSA_OK) status = gsa_tensor_write(backend, &p->value, x, error);
    gsa_release(book->system, x);
    gsa_vectors_release(&book->vectors);
    return status;
}

gsa_status gsa_wordbook_number(const gsa_wordbook *book, const gsa_text *text, int32_t **id,
                               int32_t **length, gsa_error *error)
{
    *id = *length = NULL;
    if (text->examples == 0) return GSA_OK;
    *length = gsa_alloc(book->system, (size_t)text->examples, sizeof **length);
    *id = gsa_alloc(book->system, (size_t)text->tokens, sizeof **id);
    if (!*length || !*id)
        return gsa_out_of_memory(error, text->path, (text->examples + text->tokens) * 4);
    for (int64_t e = 0; e < text->examples; e++)
        (*length)[e] = (int32_t)(text->offset[e + 1] - text->offset[e]);
    for (int64_t i = 0; i < text->tokens; i++)
        (*id)[i] = gsa_vocabulary_find(book->vocabulary, text->token[i]);
    return GSA_OK;
}

gsa_status gsa_wordbook_fill(gsa_minibatch *batch, int sequence, const int64_t *example,
                             int64_t first, const gsa_text *text, const int32_t *id,
                             const int32_t *length, gsa_error *error)
{
    int64_t tokens = 0;
    for (int32_t i = 0; i < batch->count; i++) tokens += length[example[i] - first];
    const gsa_status status =
        gsa_minibatch_sequence_size(batch, sequence, batch->count, tokens, 0, error);
    if (status != GSA_OK) return status;
    const gsa_minibatch_sequence *to = &batch->sequence[sequence];
    tokens = 0;
    for (int32_t i = 0; i < batch->count; i++) {
        const int64_t e = example[i] - first, from = text->offset[e];
        memcpy(to->id + tokens, id + from, (size_t)length[e] * sizeof *to->id);
        memcpy(to->text + tokens, text->token + from, (size_t)length[e] * sizeof *to->text);
        to->length[i] = length[e];
        tokens += length[e];
    }
    return GSA_OK;
}

void gsa_wordbook_signature(const void *self, const gsa_recipe_values *values, char *text,
                            size_t room)
{
    (void)self;
    snprintf(text, room, "tokens:%s|case:%s",
             values->data_tokens == GSA_TOKENS_CHARS ? "chars" : "words",
             values->data_lower ? "lower" : "mixed");
}
