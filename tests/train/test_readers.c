/* Readers of data files under faults: whichever call of the system fails, memory, opening or
 * reading, it is a status and nothing is left over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/ends.h"
#include "support/faults.h"
#include "support/suite.h"
#include "train/data/blocks.h"
#include "train/data/conll.h"
#include "train/data/nodes.h"
#include "train/data/pairs.h"
#include "train/data/parallel.h"
#include "train/data/reading.h"
#include "train/settings/keys.h"
#include "train/settings/recipe.h"
#include "train/vocabulary/vectors.h"

typedef gsa_status reader(const gsa_system *system, const char *path, gsa_error *error);

#define READER(name, type, ...)                                                                    \
    static gsa_status read_##name(const gsa_system *system, const char *path, gsa_error *error)    \
    {                                                                                              \
        gsa_##type what;                                                                           \
        const gsa_status status = __VA_ARGS__;                                                     \
        if (status == GSA_OK) gsa_##type##_release(&what);                                         \
        return status;                                                                             \
    }

#define TEXT(...) gsa_text_read(system, path, &(gsa_text_options){ __VA_ARGS__ }, &what, error)
#define PAIRS(columns, ...)                                                                        \
    gsa_pairs_read(system, path, &(gsa_text_options){ __VA_ARGS__ }, columns, &what, error)
READER(text, text, TEXT(.lower = 1))
READER(characters, text, TEXT(.tokens = GSA_TOKENS_CHARS, .lower = 1))
READER(csv, text, TEXT(.format = GSA_TEXT_CSV))
READER(lines, text, TEXT(.unlabelled = 1, .tokens = GSA_TOKENS_PUNCTUATED))
READER(latin, text, TEXT(.encoding = GSA_ENCODING_LATIN1))
READER(taken, text,
       gsa_text_take(system, path, "a\nb\rc", &(gsa_text_options){ .lower = 1 }, &what, error))
READER(pairs, pairs, PAIRS("", .lower = 1))
READER(pair_table, pairs, PAIRS("label,a,b", .format = GSA_TEXT_CSV))
READER(objects, pairs, PAIRS("", .format = GSA_TEXT_SNLI))
READER(conll, conll,
       gsa_conll_read(system, path, &(gsa_conll_options){ .sides = 2, .side = { 1, 2 } }, &what,
                      error))
READER(nodes, nodes, gsa_nodes_read(system, path, "", GSA_ENCODING_UTF8, &what, error))
READER(reading, reading,
       gsa_reading_read(system, path, &(gsa_reading_options){ .lower = 1 }, &what, error))
READER(vectors, vectors, gsa_vectors_read(system, path, &what, error))

static gsa_status read_parallel(const gsa_system *system, const char *path, gsa_error *error)
{
    static const gsa_parallel_options options = { .suffix = { "", "" },
                                                  .columns = "",
                                                  .documents = 1 };
    gsa_text side[GSA_SIDES];
    const gsa_status status = gsa_parallel_read(system, path, &options, side, error);
    for (int s = 0; s < GSA_SIDES && status == GSA_OK; s++) gsa_text_release(&side[s]);
    return status;
}

/* A block owns its bytes, which a reader takes over. */
static gsa_status take_block(const gsa_system *system, const char *path, gsa_block *block,
                             gsa_error *error)
{
    *block = (gsa_block){ .path = path };
    return gsa_read_file(system, path, 1 << 20, &block->bytes, &block->count, error);
}

static gsa_status read_text_block(const gsa_system *system, const char *path, gsa_error *error)
{
    gsa_block block;
    gsa_text text;
    gsa_status status = take_block(system, path, &block, error);
    if (status == GSA_OK)
        status = gsa_text_block(system, &block, &(gsa_text_options){ .lower = 1 }, &text, error);
    if (status == GSA_OK) gsa_text_release(&text);
    return status;
}

static gsa_status read_pairs_block(const gsa_system *system, const char *path, gsa_error *error)
{
    gsa_block block;
    gsa_pairs pairs;
    gsa_status status = take_block(system, path, &block, error);
    if (status == GSA_OK)
        status =
            gsa_pairs_block(system, &block, &(gsa_text_options){ .lower = 1 }, "", &pairs, error);
    if (status == GSA_OK) gsa_pairs_release(&pairs);
    return status;
}

static gsa_status read_recipe(const gsa_system *system, const char *path, gsa_error *error)
{
    static const char *const set[] = { "train.epochs=3", "encoder.1.layers=2" };
    gsa_recipe recipe;
    const gsa_status status = gsa_recipe_read(system, path, set, 2, &recipe, error);
    if (status == GSA_OK) gsa_recipe_release(&recipe);
    return status;
}

#define GROWS "\xc8\xba" /* a letter that is longer when it is lowered */
#define GROWN GROWS GROWS GROWS GROWS GROWS GROWS GROWS GROWS GROWS GROWS
static const struct {
    const char *name, *head, *body, *tail;
    int times; /* of the body */
    reader *read;
} readers[] = {
    { "text", "x\t" GROWS " b\ny\t" GROWN GROWN GROWN GROWN "\n", "z\ta a a a a\n", "", 3000,
      read_text },
    { "characters", "x\t" GROWS "b c\n", "", "", 0, read_characters },
    { "csv", "x,\"a\nb\"\ny,c\n", "", "", 0, read_csv },
    { "lines", "a, b.\nc\n", "", "", 0, read_lines },
    { "latin", "x\tcaf\xe9\n", "", "", 0, read_latin },
    { "taken", "", "", "", 0, read_taken },
    { "text block", "x\ta " GROWS "\n", "", "", 0, read_text_block },
    { "pairs", "x\ta " GROWS "\tb\n", "", "", 0, read_pairs },
    { "pair table", "x,a,b\ny,c,d\n", "", "", 0, read_pair_table },
    { "objects", "{\"gold_label\": \"x\", \"sentence1\": \"a\", \"sentence2\": \"b\"}\n", "", "", 0,
      read_objects },
    { "pairs block", "x\ta\t" GROWS "\n", "", "", 0, read_pairs_block },
    { "conll", "", "a O\nb B\n\n", "c O\n", 3000, read_conll },
    { "nodes", "0\ttrain\tx\t0:1\n1\ttest\ty\t3:1 5:2\n", "", "", 0, read_nodes },
    { "parallel", "a\tb\n\nc d\te\n", "", "", 0, read_parallel },
    { "reading", /* a question of more tokens than its passage, and more than a block of text */
      "{\"data\": [{\"paragraphs\": [{\"context\": \"Ann saw Bob\", \"qas\": [{\"id\": \"1\", "
      "\"answers\": [{\"text\": \"Bob\", \"answer_start\": 8}], \"question\": \"",
      GROWN GROWN GROWN GROWN GROWN " ", "Who\"}]}]}]}", 6000, read_reading },
    { "vectors", "", "a 1 2\n", "", 60, read_vectors },
    { "recipe", "[encoder.1]\ntopology = star\n[train]\nseed = 1\n", "", "", 0, read_recipe },
};

/* The file of that row. */
static void put_data(const char *path, int row)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fputs(readers[row].head, file);
    for (int i = 0; i < readers[row].times; i++) fputs(readers[row].body, file);
    fputs(readers[row].tail, file);
    ck_assert_int_eq(fclose(file), 0);
}

typedef struct attempt {
    reader *read;
    const char *path;
} attempt;

static gsa_status read_with_faults(gsa_faults *faults, void *context)
{
    const attempt *a = context;
    gsa_error error;
    return a->read(&faults->table, a->path, &error);
}

START_TEST(every_fault_is_a_status)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    attempt a = { readers[_i].read, gsa_scratch_path(&scratch, "data") };
    put_data(a.path, _i);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, read_with_faults, &a), 6);
    const int opened = gsa_faults_sweep(GSA_OP_OPEN, 0, GSA_ERR_IO, read_with_faults, &a),
              read = gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, read_with_faults, &a);
    ck_assert_msg(a.read == read_taken || (opened > 0 && read > 0), "%s reads no file",
                  readers[_i].name);
    gsa_scratch_close(&scratch);
}
END_TEST

/* The file, and what is left of it when it is cut near its end, in memory that ends with it and
 * the zero that the readers were promised. */
START_TEST(nothing_behind_the_file_is_touched)
{
    const gsa_system system = gsa_ends_system();
    gsa_scratch scratch;
    gsa_error error;
    int64_t bytes;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "data");
    put_data(path, _i);
    char *whole = gsa_get_file(path, &bytes);
    for (int64_t count = bytes; count > 0 && count > bytes - 150; count--) {
        gsa_put_file(path, whole, count);
        readers[_i].read(&system, path, &error);
    }
    free(whole);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A block may hold no example, where a file may not. */
START_TEST(a_block_may_be_empty)
{
    gsa_text text;
    gsa_pairs pairs;
    gsa_error error;
    static const gsa_text_options skip = { .empty = GSA_EMPTY_SKIP };
    gsa_block block = { "f", gsa_copy_text(NULL, "x\t \n"), .count = 4, .line = 7 };
    ck_assert_int_eq(gsa_text_block(gsa_system_default(), &block, &skip, &text, &error), GSA_OK);
    ck_assert(text.examples == 0 && text.skipped == 1);
    gsa_text_release(&text);
    block = (gsa_block){ .path = "f", .bytes = gsa_copy_text(NULL, "x\t \tb\n"), .count = 6 };
    ck_assert_int_eq(gsa_pairs_block(gsa_system_default(), &block, &skip, "", &pairs, &error),
                     GSA_OK);
    ck_assert(pairs.side[0].examples == 0 && pairs.side[0].skipped == 1);
    gsa_pairs_release(&pairs);
    /* lines are those of the file */
    block = (gsa_block){ "f", gsa_copy_text(NULL, "x\ty\nz\n"), .count = 6, .line = 7 };
    ck_assert_int_eq(gsa_text_block(gsa_system_default(), &block, &skip, &text, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "f:9: the line has 1 column"));
    block = (gsa_block){ "f", gsa_copy_text(NULL, "x\ty\tz\nz\n"), .count = 8, .line = 7 };
    ck_assert_int_eq(gsa_pairs_block(gsa_system_default(), &block, &skip, "", &pairs, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "f:9: the line has 1 column"));
    ck_assert_int_eq(gsa_text_take(gsa_system_default(), "--text", " \t", &skip, &text, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "--text is empty: it holds no token");
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test faults[] = { GSA_LOOP(every_fault_is_a_status, GSA_COUNT(readers)) };
    static const gsa_test ends[] = { GSA_LOOP(nothing_behind_the_file_is_touched,
                                              GSA_COUNT(readers)) };
    static const gsa_test blocks[] = { GSA_TEST(a_block_may_be_empty) };
    static const gsa_case cases[] = { GSA_CASE("faults", faults, 60), GSA_CASE("ends", ends, 60),
                                      GSA_CASE("blocks", blocks, 30) };
    return gsa_run_suite("readers", cases, GSA_COUNT(cases), argc, argv);
}
