/* Parameters as a file: there and back on float and double, with and without host memory; files of
 * other models; faults. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gsa/checkpoint.h"
#include "scratch.h"
#include "support/faults.h"
#include "support/guard.h"
#include "support/suite.h"

typedef struct matrix {
    const char *name;
    int64_t rows, cols;
} matrix;
static const matrix model[] = {
    { "a.q.weight", 3, 4 }, { "a.q.bias", 1, 3 }, { "embedding", 7, 2 }, { "one", 1, 1 }
};

static gsa_parameters *make_model(const gsa_system *system, gsa_backend *backend, uint32_t seed,
                                  const matrix *m, int count)
{
    gsa_parameters *parameters;
    ck_assert_int_eq(gsa_parameters_create(system, backend, seed, &parameters, NULL), GSA_OK);
    for (int i = 0; i < count; i++) {
        gsa_parameter *made;
        ck_assert_int_eq(gsa_parameters_add(parameters, m[i].name, m[i].rows, m[i].cols,
                                            GSA_INIT_NORMAL, 1, 0, &made, NULL),
                         GSA_OK);
    }
    return parameters;
}

static gsa_status write_model(const gsa_system *system, const gsa_parameters *parameters,
                              const char *path)
{
    static const gsa_note notes[] = { { "format", "test" } };
    gsa_output *output;
    gsa_status status = gsa_output_open(system, path, &output, NULL);
    if (status != GSA_OK) return status;
    status = gsa_parameters_write(system, parameters, output, notes, 1, NULL);
    if (status == GSA_OK) return gsa_output_commit(output, NULL);
    gsa_output_abandon(output);
    return status;
}

static int same_values(gsa_parameters *a, gsa_parameters *b)
{
    int same = 1;
    for (int i = 0; i < gsa_parameters_count(a); i++) {
        const gsa_tensor *x = &gsa_parameters_at(a, i)->value, *y = &gsa_parameters_at(b, i)->value;
        double u[64], v[64];
        ck_assert_int_eq(gsa_tensor_read(gsa_parameters_backend(a), x, 0, u, NULL), GSA_OK);
        ck_assert_int_eq(gsa_tensor_read(gsa_parameters_backend(b), y, 0, v, NULL), GSA_OK);
        same = same && memcmp(u, v, (size_t)(x->rows * x->cols) * sizeof *u) == 0;
    }
    return same;
}

typedef gsa_status make_backend(const gsa_system *system, int real, int threads,
                                gsa_backend **backend, gsa_error *error);
static make_backend *const makers[] = { gsa_backend_ref, gsa_backend_guard };

START_TEST(parameters_come_back)
{
    gsa_backend *backend;
    gsa_scratch scratch;
    gsa_error error = { 0 };
    gsa_safetensors file;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "model.safetensors");
    const int real = _i % 2;
    ck_assert_int_eq(makers[_i / 2](NULL, real, 1, &backend, NULL), GSA_OK);
    gsa_parameters *a = make_model(NULL, backend, 1, model, 4),
                   *b = make_model(NULL, backend, 2, model, 4);
    ck_assert(!same_values(a, b));
    ck_assert_int_eq(write_model(NULL, a, path), GSA_OK);
    ck_assert_msg(gsa_parameters_read(NULL, b, path, &error) == GSA_OK, "%s", error.text);
    ck_assert(same_values(a, b));
    ck_assert_int_eq(gsa_safetensors_read(NULL, path, &file, NULL), GSA_OK);
    ck_assert_int_eq(file.count, 4);
    ck_assert_str_eq(gsa_safetensors_note(&file, "format"), "test");
    const gsa_blob *blob = gsa_safetensors_find(&file, "a.q.weight");
    ck_assert_int_eq(blob->dtype, real == GSA_F32 ? GSA_DTYPE_F32 : GSA_DTYPE_F64);
    ck_assert_int_eq(blob->dims, 2);
    ck_assert_int_eq(blob->shape[0], 3);
    ck_assert_int_eq(blob->shape[1], 4);
    gsa_safetensors_release(&file);
    gsa_parameters_release(a);
    gsa_parameters_release(b);
    gsa_backend_release(backend);
    gsa_scratch_close(&scratch);
}
END_TEST

/* The file of `model` read into these: a sentence, and not one value changed. */
static const struct {
    matrix m[6];
    int count, real;
    const char *says;
} others[] = {
    { { { "a.q.weight", 3, 4 }, { "a.q.bias", 1, 3 }, { "embedding", 7, 2 } },
      3,
      GSA_F32,
      "checkpoint of another model: 'PATH' holds 'one', which this model does not have" },
    { { { "a.q.weight", 3, 4 },
        { "a.q.bias", 1, 3 },
        { "embedding", 7, 2 },
        { "one", 1, 1 },
        { "new", 1, 1 } },
      5,
      GSA_F32,
      "checkpoint of another model: 'PATH' has no 'new', which this model needs" },
    { { { "a.q.weight", 3, 4 }, { "a.q.bias", 1, 3 }, { "embedding", 8, 2 }, { "one", 1, 1 } },
      4,
      GSA_F32,
      "checkpoint of another model: 'embedding' of 'PATH' is [7, 2], and this model's is [8, 2]" },
    { { { "a.q.weight", 3, 4 }, { "a.q.bias", 1, 3 }, { "embedding", 7, 3 }, { "one", 1, 1 } },
      4,
      GSA_F32,
      "checkpoint of another model: 'embedding' of 'PATH' is [7, 2], and this model's is [7, 3]" },
    { { { "a.q.weight", 4, 3 }, { "a.q.bias", 1, 3 }, { "embedding", 7, 2 }, { "one", 1, 1 } },
      4,
      GSA_F32,
      "checkpoint of another model: 'a.q.weight' of 'PATH' is [3, 4], and this model's is [4, 3]" },
    { { { "b.q.weight", 3, 4 }, { "a.q.bias", 1, 3 }, { "embedding", 7, 2 }, { "one", 1, 1 } },
      4,
      GSA_F32,
      "checkpoint of another model: 'PATH' has no 'b.q.weight', which this model needs" },
    { { { "a.q.weight", 3, 4 }, { "a.q.bias", 1, 3 }, { "embedding", 7, 2 }, { "one", 1, 1 } },
      4,
      GSA_F64,
      "checkpoint of another precision: 'a.q.weight' of 'PATH' is not F64, in which 'ref' "
      "computes" },
};

START_TEST(checkpoint_of_another_model)
{
    gsa_backend *backend, *reading;
    gsa_scratch scratch;
    gsa_error error = { 0 };
    char expected[1024];
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "m"), *mark = strstr(others[_i].says, "PATH");
    snprintf(expected, sizeof expected, "%.*s%s%s", (int)(mark - others[_i].says), others[_i].says,
             path, mark + 4);
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &backend, NULL), GSA_OK);
    ck_assert_int_eq(gsa_backend_ref(NULL, others[_i].real, 1, &reading, NULL), GSA_OK);
    gsa_parameters *a = make_model(NULL, backend, 1, model, 4);
    ck_assert_int_eq(write_model(NULL, a, path), GSA_OK);
    gsa_parameters *b = make_model(NULL, reading, 2, others[_i].m, others[_i].count);
    gsa_parameters *untouched = make_model(NULL, reading, 2, others[_i].m, others[_i].count);
    ck_assert_int_eq(gsa_parameters_read(NULL, b, path, &error), GSA_ERR_FORMAT);
    ck_assert_str_eq(error.text, expected);
    ck_assert(same_values(b, untouched));
    gsa_parameters_release(a);
    gsa_parameters_release(b);
    gsa_parameters_release(untouched);
    gsa_backend_release(reading);
    gsa_backend_release(backend);
    gsa_scratch_close(&scratch);
}
END_TEST

/* Numbers enough, and not a matrix. */
START_TEST(file_of_vectors)
{
    static const float values[12] = { 0 };
    static const gsa_blob blobs[] = { { "w", GSA_DTYPE_F32, 1, { 3, 4 }, values },
                                      { "w", GSA_DTYPE_F32, 3, { 3, 4, 1 }, values } };
    static const matrix one[] = { { "w", 3, 4 } };
    static const char *const shapes[] = { "is [3], and", "is [3, 4, 1], and" };
    gsa_backend *backend;
    gsa_output *output;
    gsa_scratch scratch;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "m");
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &backend, NULL), GSA_OK);
    gsa_parameters *parameters = make_model(NULL, backend, 1, one, 1);
    ck_assert_int_eq(gsa_output_open(NULL, path, &output, NULL), GSA_OK);
    ck_assert_int_eq(gsa_safetensors_write(NULL, output, &blobs[_i], 1, NULL, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    ck_assert_int_eq(gsa_parameters_read(NULL, parameters, path, &error), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(error.text, shapes[_i]) != NULL, "%s", error.text);
    gsa_parameters_release(parameters);
    gsa_backend_release(backend);
    gsa_scratch_close(&scratch);
}
END_TEST

typedef struct model_on_file {
    gsa_parameters *parameters;
    const char *path;
} model_on_file;

static gsa_status try_writing_model(gsa_faults *faults, void *context)
{
    const model_on_file *m = context;
    return write_model(&faults->table, m->parameters, m->path);
}

static gsa_status try_reading_model(gsa_faults *faults, void *context)
{
    const model_on_file *m = context;
    return gsa_parameters_read(&faults->table, m->parameters, m->path, NULL);
}

START_TEST(parameters_with_faults)
{
    gsa_backend *backend;
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    ck_assert_int_eq(makers[_i](NULL, GSA_F32, 1, &backend, NULL), GSA_OK);
    model_on_file m = { make_model(NULL, backend, 1, model, 4), gsa_scratch_path(&scratch, "m") };
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_writing_model, &m), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_WRITE, 0, GSA_ERR_IO, try_writing_model, &m), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_reading_model, &m), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, try_reading_model, &m), 0);
    gsa_parameters_release(m.parameters);
    gsa_backend_release(backend);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(nan_is_not_written)
{
    gsa_backend *backend;
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "model.safetensors");
    ck_assert_int_eq(makers[_i / 2](NULL, _i % 2, 1, &backend, NULL), GSA_OK);
    gsa_parameters *a = make_model(NULL, backend, 1, model, 4);
    gsa_tensor *last = &gsa_parameters_find(a, model[2].name)->value;
    double values[64];
    ck_assert_int_eq(gsa_tensor_read(backend, last, 0, values, NULL), GSA_OK);
    values[1] = NAN;
    ck_assert_int_eq(gsa_tensor_write(backend, last, values, NULL), GSA_OK);
    ck_assert_int_eq(write_model(NULL, a, path), GSA_ERR_NUMBER);
    ck_assert_int_ne(access(path, F_OK), 0);
    gsa_parameters_release(a);
    gsa_backend_release(backend);
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test trips[] = { GSA_LOOP(parameters_come_back, 4),
                                      GSA_LOOP(nan_is_not_written, 4) };
    static const gsa_test other[] = { GSA_LOOP(checkpoint_of_another_model, GSA_COUNT(others)),
                                      GSA_LOOP(file_of_vectors, 2) };
    static const gsa_test faults[] = { GSA_LOOP(parameters_with_faults, GSA_COUNT(makers)) };
    static const gsa_case cases[] = { GSA_CASE("round_trip", trips, 30),
                                      GSA_CASE("another_model", other, 30),
                                      GSA_CASE("faults", faults, 30) };
    return gsa_run_suite("parameters_io", cases, GSA_COUNT(cases), argc, argv);
}
