#include "bench.h"
#include "gsa/input.h"
#include <math.h>
#include <string.h>

static gsa_settings plain(void)
{
    gsa_settings s = gsa_settings_default();
    s.hidden = 4, s.heads = 1, s.input = GSA_INPUT_PLAIN;
    return s;
}

static const int32_t lengths[3] = { 2, 0, 3 }, ids[5] = { 3, 0, 1, 3, 2 };

START_TEST(ids_become_scaled_rows_with_positions)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_settings s = plain();
    s.input_scale = 2, s.position = _i == 0 ? GSA_POSITION_SINUSOID : GSA_POSITION_LEARNED,
    s.position_max = 3, s.position_base = 100;
    gsa_input *input;
    MUST(&b,
         gsa_input_create(
             NULL, &s, &(gsa_input_options){ .name = "input", .vocabulary = 5, .embedding_std = 1 },
             b.parameters, &input, &b.error));
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_tensor *x = gsa_input_forward(input, b.tape, ids, NULL, lengths, 3);
    MUST(&b, gsa_tape_status(b.tape, &b.error));
    double table[20], rows[20], position[12];
    MUST(&b, gsa_tensor_read(b.backend, &gsa_input_embedding(input)->value, 0, table, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, x, 0, rows, &b.error));
    if (_i)
        MUST(&b, gsa_tensor_read(b.backend,
                                 &gsa_parameters_find(b.parameters, "input.position.weight")->value,
                                 0, position, &b.error));
    for (int p = 0; p < 3 && !_i; p++)
        for (int c = 0; c < 4; c++)
            position[4 * p + c] =
                c % 2 ? cos(p / pow(100, c / 2 / 2.0)) : sin(p / pow(100, c / 2 / 2.0));
    const int place[5] = { 0, 1, 0, 1, 2 };
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(
            rows[i], 2 * table[ids[i / 4] * 4 + i % 4] + position[place[i / 4] * 4 + i % 4], 1e-12);
    ck_assert(table[0] == 0 && table[3] == 0 && table[4] != 0);
    gsa_input_release(input);
    bench_close(&b);
}
END_TEST

START_TEST(tokens_that_come_later_stand_at_their_places)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_settings s = plain();
    s.position = _i == 0 ? GSA_POSITION_SINUSOID : GSA_POSITION_LEARNED, s.position_max = 4,
    s.position_base = 100;
    gsa_input *input;
    MUST(&b,
         gsa_input_create(
             NULL, &s, &(gsa_input_options){ .name = "input", .vocabulary = 5, .embedding_std = 1 },
             b.parameters, &input, &b.error));
    const int32_t whole[2] = { 4, 3 }, all[7] = { 1, 2, 3, 4, 4, 3, 1 };
    const int32_t before[2] = { 2, 0 }, length[2] = { 2, 3 }, later[5] = { 3, 4, 4, 3, 1 };
    double rows[28], last[20];
    gsa_tape_reset(b.tape, 0, 0, 0);
    gsa_tensor *x = gsa_input_forward(input, b.tape, all, NULL, whole, 2);
    gsa_tensor *y = gsa_input_append(input, b.tape, later, NULL, before, length, 2);
    MUST(&b, gsa_tape_status(b.tape, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, x, 0, rows, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, y, 0, last, &b.error));
    ck_assert_int_eq(memcmp(last, rows + 8, sizeof last), 0);
    const int32_t far = 3;
    gsa_input_append(input, b.tape, later, NULL, &far, length, 1);
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), _i == 0 ? GSA_OK : GSA_ERR_LIMIT);
    gsa_input_release(input);
    bench_close(&b);
}
END_TEST

START_TEST(features_and_narrow_embeddings_go_through_a_linear_map)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_settings s = plain();
    s.input = GSA_INPUT_NORM;
    gsa_input *features, *narrow;
    MUST(&b, gsa_input_create(NULL, &s, &(gsa_input_options){ .name = "f", .width = 2 },
                              b.parameters, &features, &b.error));
    MUST(&b, gsa_input_create(
                 NULL, &s,
                 &(gsa_input_options){
                     .name = "n", .vocabulary = 4, .width = 2, .embedding_std = 1, .frozen = 1 },
                 b.parameters, &narrow, &b.error));
    ck_assert(!gsa_input_embedding(narrow)->value.wants_grad &&
              gsa_input_embedding(features) == NULL);
    gsa_tape_reset(b.tape, 1, 0, 0);
    const double given[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 1 };
    gsa_tensor *x = gsa_input_forward(features, b.tape, NULL,
                                      gsa_tape_constant(b.tape, given, GSA_F64, 5, 2), lengths, 3);
    gsa_tensor *y = gsa_input_forward(narrow, b.tape, ids, NULL, lengths, 3);
    MUST(&b, gsa_tape_status(b.tape, &b.error));
    ck_assert(x->rows == 5 && x->cols == 4 && y->rows == 5 && y->cols == 4);
    double rows[20];
    MUST(&b, gsa_tensor_read(b.backend, x, 0, rows, &b.error));
    for (int r = 0; r < 5; r++) { /* normed rows: mean 0, variance 1 */
        double mean = 0, square = 0;
        for (int c = 0; c < 4; c++)
            mean += rows[4 * r + c] / 4, square += rows[4 * r + c] * rows[4 * r + c] / 4;
        ck_assert_double_eq_tol(mean, 0, 1e-9);
        ck_assert_double_eq_tol(square, 1, 1e-3);
    }
    gsa_input_release(features);
    gsa_input_release(narrow);
    bench_close(&b);
}
END_TEST

START_TEST(too_long_for_learned_positions)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_settings s = plain();
    s.position = GSA_POSITION_LEARNED, s.position_max = 2;
    gsa_input *input = NULL;
    MUST(&b, gsa_input_create(NULL, &s, &(gsa_input_options){ .name = "i", .vocabulary = 5 },
                              b.parameters, &input, &b.error));
    gsa_tape_reset(b.tape, 1, 0, 0);
    ck_assert_ptr_null(gsa_input_forward(input, b.tape, ids, NULL, lengths, 3));
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(b.error.text, "3 tokens exceeds position_max = 2") != NULL, "%s",
                  b.error.text);
    gsa_input_release(input);
    ck_assert_int_eq(gsa_input_create(NULL, &s, &(gsa_input_options){ .name = "j" }, b.parameters,
                                      &input, &b.error),
                     GSA_ERR_ARGUMENT);
    bench_close(&b);
}
END_TEST

START_TEST(options_out_of_range)
{
    bench b = bench_open(NULL, GSA_F64);
    const gsa_settings s = plain();
    const gsa_input_options bad[] = { { .name = "i", .vocabulary = 5, .types = -1 },
                                      { .name = "i", .vocabulary = 5, .embedding_std = -1 },
                                      { .name = "i", .vocabulary = 5, .embedding_std = NAN },
                                      { .name = "i", .vocabulary = 5, .embedding_std = INFINITY },
                                      { .vocabulary = 5 } };
    gsa_input *input = NULL;
    ck_assert_int_eq(gsa_input_create(NULL, &s, &bad[_i], b.parameters, &input, &b.error),
                     GSA_ERR_ARGUMENT);
    const char *part = bad[_i].name ? "expected finite numbers >= 0" : "name of an input is NULL";
    ck_assert_msg(strstr(b.error.text, part) != NULL, "%s", b.error.text);
    bench_close(&b);
}
END_TEST

START_TEST(no_ids)
{
    bench b = bench_open(NULL, GSA_F64);
    const gsa_settings s = plain();
    gsa_input *input = NULL;
    MUST(&b, gsa_input_create(NULL, &s, &(gsa_input_options){ .name = "i", .vocabulary = 5 },
                              b.parameters, &input, &b.error));
    gsa_tape_reset(b.tape, 1, 0, 0);
    ck_assert_ptr_null(gsa_input_forward(input, b.tape, NULL, NULL, lengths, 3));
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(b.error.text, "tokens without ids, which its vocabulary needs") != NULL,
                  "%s", b.error.text);
    gsa_input_release(input);
    bench_close(&b);
}
END_TEST

START_TEST(an_id_outside_the_vocabulary)
{
    bench b = bench_open(NULL, GSA_F64);
    const gsa_settings s = plain();
    gsa_input *input;
    MUST(&b, gsa_input_create(NULL, &s, &(gsa_input_options){ .name = "i", .vocabulary = 3 },
                              b.parameters, &input, &b.error));
    gsa_tape_reset(b.tape, 1, 0, 0);
    ck_assert_ptr_null(gsa_input_forward(input, b.tape, ids, NULL, lengths, 3));
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), GSA_ERR_ARGUMENT);
    gsa_input_release(input);
    bench_close(&b);
}
END_TEST

static gsa_input *embed(bench *b, const char *name, uint32_t site)
{
    gsa_settings s = plain();
    s.input = GSA_INPUT_DROPOUT, s.dropout_input = 0.5;
    gsa_input *input;
    MUST(b, gsa_input_create(NULL, &s,
                             &(gsa_input_options){
                                 .name = name, .vocabulary = 5, .embedding_std = 1, .site = site },
                             b->parameters, &input, &b->error));
    return input;
}

/* Numbers 0, 1, 2, ... reach as far as the largest batch of the tape needs, whatever came
 * before. */
START_TEST(a_later_batch_may_have_more_examples)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_input *small = embed(&b, "small", 0), *large = embed(&b, "large", 1);
    enum { MANY = 40 };
    int32_t one[MANY], word[MANY];
    double alone[MANY * 4], after[MANY * 4];
    for (int i = 0; i < MANY; i++) one[i] = 1, word[i] = 1 + i % 4;
    gsa_tape_reset(b.tape, 1, 3, 4);
    gsa_tensor *x = gsa_input_forward(large, b.tape, word, NULL, one, MANY);
    MUST(&b, gsa_tape_status(b.tape, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, x, 0, alone, &b.error));
    gsa_tape_reset(b.tape, 1, 3, 4);
    gsa_input_forward(small, b.tape, word, NULL, one, 1);
    x = gsa_input_forward(large, b.tape, word, NULL, one, MANY);
    MUST(&b, gsa_tape_status(b.tape, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, x, 0, after, &b.error));
    ck_assert_mem_eq(alone, after, sizeof alone);
    gsa_input_release(small);
    gsa_input_release(large);
    bench_close(&b);
}
END_TEST

START_TEST(fewer_numbers_than_examples)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_input *input = embed(&b, "i", 0);
    static const int32_t number[2] = { 8, 9 };
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_tape_examples(b.tape, number, 2);
    ck_assert_ptr_null(gsa_input_forward(input, b.tape, ids, NULL, lengths, 3));
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(b.error.text,
                         "a batch of 3 examples, but gsa_tape_examples gave numbers for 2") != NULL,
                  "%s", b.error.text);
    gsa_input_release(input);
    bench_close(&b);
}
END_TEST

START_TEST(a_negative_length)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_input *input = embed(&b, "i", 0);
    static const int32_t wrong[2] = { -1000000, 1000005 };
    gsa_tape_reset(b.tape, 1, 0, 0);
    ck_assert_ptr_null(gsa_input_forward(input, b.tape, ids, NULL, wrong, 2));
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(b.error.text, "example 0 has a length of -1000000") != NULL, "%s",
                  b.error.text);
    gsa_input_release(input);
    bench_close(&b);
}
END_TEST

START_TEST(types_are_added_before_the_norm)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_settings s = plain();
    const int32_t type[5] = { 0, 1, 1, 0, 1 };
    double rows[20], typed[20], table[8];
    gsa_input *input;
    MUST(&b, gsa_input_create(NULL, &s,
                              &(gsa_input_options){
                                  .name = "i", .vocabulary = 5, .embedding_std = 1, .types = 2 },
                              b.parameters, &input, &b.error));
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_tensor *x = gsa_input_forward_typed(input, b.tape, ids, type, NULL, lengths, 3);
    MUST(&b, gsa_tape_status(b.tape, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, x, 0, typed, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, &gsa_input_embedding(input)->value, 0, rows, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, &gsa_parameters_find(b.parameters, "i.type.weight")->value,
                             0, table, &b.error));
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(
            typed[i], rows[ids[i / 4] * 4 + i % 4] + table[type[i / 4] * 4 + i % 4], 1e-15);
    ck_assert(table[0] != 0 && table[4] != 0); /* type 0 is a type like the others */
    gsa_input_release(input);
    bench_close(&b);
}
END_TEST

START_TEST(types_where_there_are_none)
{
    bench b = bench_open(NULL, GSA_F64);
    gsa_settings s = plain();
    const int32_t type[5] = { 0 };
    gsa_input *input;
    MUST(&b, gsa_input_create(
                 NULL, &s,
                 &(gsa_input_options){
                     .name = "i", .vocabulary = 5, .embedding_std = 1, .types = _i ? 2 : 0 },
                 b.parameters, &input, &b.error));
    gsa_tape_reset(b.tape, 1, 0, 0);
    ck_assert_ptr_null(
        gsa_input_forward_typed(input, b.tape, ids, _i ? NULL : type, NULL, lengths, 3));
    ck_assert_int_eq(gsa_tape_status(b.tape, &b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(b.error.text, _i ? "rows have no types, the input has a table of them"
                                          : "rows have types, the input has none") != NULL,
                  "%s", b.error.text);
    gsa_input_release(input);
    bench_close(&b);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test rows[] = {
        GSA_LOOP(ids_become_scaled_rows_with_positions, 2),
        GSA_LOOP(tokens_that_come_later_stand_at_their_places, 2),
        GSA_TEST(features_and_narrow_embeddings_go_through_a_linear_map),
        GSA_TEST(a_later_batch_may_have_more_examples), GSA_TEST(types_are_added_before_the_norm)
    };
    static const gsa_test refusals[] = { GSA_TEST(too_long_for_learned_positions),
                                         GSA_LOOP(options_out_of_range, 5),
                                         GSA_TEST(no_ids),
                                         GSA_TEST(an_id_outside_the_vocabulary),
                                         GSA_TEST(fewer_numbers_than_examples),
                                         GSA_TEST(a_negative_length),
                                         GSA_LOOP(types_where_there_are_none, 2) };
    static const gsa_case cases[] = { GSA_CASE("rows", rows, 30),
                                      GSA_CASE("refusals", refusals, 30) };
    return gsa_run_suite("input", cases, GSA_COUNT(cases), argc, argv);
}
