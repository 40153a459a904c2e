/* parameters_io.c - a model's matrices as one safetensors file, [rows, cols] each, in the backend's
 * real type. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "checkpoint.h"
#include "graph/system_parts.h"

static int32_t dtype_of(const gsa_backend *backend)
{
    return backend->real == GSA_F32 ? GSA_DTYPE_F32 : GSA_DTYPE_F64;
}

/* Bytes of all values; 0 when they cannot be counted. */
static int total_bytes(const gsa_parameters *parameters, int64_t *bytes)
{
    return gsa_mul(gsa_parameters_total(parameters), gsa_parameters_backend(parameters)->real_bytes,
                   bytes);
}

static int64_t bytes_of(const gsa_backend *backend, const gsa_tensor *value)
{
    return value->rows * value->cols * backend->real_bytes;
}

/* Blobs over `host`, which receives the values where the backend's memory is not the host's. */
static gsa_status fill_blobs(const gsa_parameters *parameters, gsa_blob *blobs, char *host,
                             gsa_error *error)
{
    gsa_backend *backend = gsa_parameters_backend(parameters);
    for (int i = 0; i < gsa_parameters_count(parameters); i++) {
        const gsa_parameter *parameter = gsa_parameters_at(parameters, i);
        const gsa_tensor *value = &parameter->value;
        const int64_t bytes = bytes_of(backend, value);
        blobs[i] = (gsa_blob){ parameter->name,
                               dtype_of(backend),
                               2,
                               { value->rows, value->cols },
                               host ? host : value->data };
        if (!host || bytes == 0) continue;
        const gsa_status status = backend->download(backend, host, value->data, bytes);
        if (status != GSA_OK)
            return gsa_fail(error, status, "'%s': %s", parameter->name, backend->error.text);
        host += bytes;
    }
    return GSA_OK;
}

gsa_status gsa_parameters_write(const gsa_system *system, const gsa_parameters *parameters,
                                gsa_output *output, const gsa_note *notes, int n_notes,
                                gsa_error *error)
{
    system = gsa_system_or_default(system);
    const gsa_backend *backend = gsa_parameters_backend(parameters);
    const int count = gsa_parameters_count(parameters);
    int64_t bytes = 0;
    if (!total_bytes(parameters, &bytes))
        return gsa_fail(error, GSA_ERR_LIMIT, "the parameters are too large to be counted");
    gsa_blob *blobs = gsa_alloc(system, (size_t)count, sizeof *blobs);
    char *host = backend->shares_host_memory ? NULL : gsa_alloc(system, (size_t)bytes, 1);
    gsa_status status = GSA_OK;
    if (!blobs || (!host && !backend->shares_host_memory))
        status = gsa_out_of_memory(error, "the parameters", bytes);
    if (status == GSA_OK) status = fill_blobs(parameters, blobs, host, error);
    for (int i = 0; i < count && status == GSA_OK; i++) /* as reading asks */
        status = gsa_blob_check_finite(&blobs[i], "parameters", error);
    if (status == GSA_OK)
        status = gsa_safetensors_write(system, output, blobs, count, notes, n_notes, error);
    gsa_release(system, host);
    gsa_release(system, blobs);
    return status;
}

/* ---- reading: everything is checked before anything is changed ----------------------------- */

static const char *shape_text(const gsa_blob *blob, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < blob->dims; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%" PRId64, i ? ", " : "", blob->shape[i]);
    snprintf(out + used, size - used, "]");
    return out;
}

static gsa_status check_one(const gsa_backend *backend, const char *name, int64_t rows,
                            int64_t cols, const gsa_blob *blob, const char *path, gsa_error *error)
{
    char shape[128];
    if (!blob)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "checkpoint of another model: '%s' has no '%s', which this model needs",
                        path, name);
    if (blob->dims != 2 || blob->shape[0] != rows || blob->shape[1] != cols)
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "checkpoint of another model: '%s' of '%s' is %s, and this model's is [%" PRId64
            ", %" PRId64 "]",
            name, path, shape_text(blob, shape, sizeof shape), rows, cols);
    if (blob->dtype != dtype_of(backend))
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "checkpoint of another precision: '%s' of '%s' is not %s, in which '%s' computes", name,
            path, backend->real == GSA_F32 ? "F32" : "F64", backend->name);
    return GSA_OK;
}

static gsa_status check_both_ways(const gsa_parameters *parameters, const gsa_safetensors *file,
                                  const char *path, gsa_error *error)
{
    const gsa_backend *backend = gsa_parameters_backend(parameters);
    for (int i = 0; i < gsa_parameters_count(parameters); i++) {
        const gsa_parameter *parameter = gsa_parameters_at(parameters, i);
        const gsa_status status =
            check_one(backend, parameter->name, parameter->value.rows, parameter->value.cols,
                      gsa_safetensors_find(file, parameter->name), path, error);
        if (status != GSA_OK) return status;
    }
    for (int i = 0; i < file->count; i++)
        if (!gsa_parameters_find(parameters, file->blobs[i].name))
            return gsa_fail(
                error, GSA_ERR_FORMAT,
                "checkpoint of another model: '%s' holds '%s', which this model does not have",
                path, file->blobs[i].name);
    return GSA_OK;
}

static gsa_status upload_all(gsa_parameters *parameters, const gsa_safetensors *file,
                             gsa_error *error)
{
    gsa_backend *backend = gsa_parameters_backend(parameters);
    for (int i = 0; i < gsa_parameters_count(parameters); i++) {
        gsa_parameter *parameter = gsa_parameters_at(parameters, i);
        const int64_t bytes = bytes_of(backend, &parameter->value);
        if (bytes == 0) continue;
        const gsa_blob *blob = gsa_safetensors_find(file, parameter->name);
        const gsa_status status =
            backend->upload(backend, parameter->value.data, blob->data, bytes);
        if (status != GSA_OK)
            return gsa_fail(error, status, "'%s': %s", parameter->name, backend->error.text);
    }
    return GSA_OK;
}

gsa_status gsa_parameters_read(const gsa_system *system, gsa_parameters *parameters,
                               const char *path, gsa_error *error)
{
    gsa_safetensors file;
    gsa_status status = gsa_safetensors_read(system, path, &file, error);
    if (status != GSA_OK) return status;
    status = check_both_ways(parameters, &file, path, error);
    if (!(gsa_parameters_lack(parameters) & GSA_WITHOUT_CHECKING))
        for (int i = 0; i < file.count && status == GSA_OK; i++)
            status = gsa_blob_check_finite(&file.blobs[i], path, error);
    if (status == GSA_OK) status = upload_all(parameters, &file, error);
    gsa_safetensors_release(&file);
    return status;
}

static gsa_status allow(void *context, const char *name, int64_t rows, int64_t cols, int flags,
                        gsa_error *error)
{
    (void)flags;
    const gsa_expected *x = context;
    return check_one(x->backend, name, rows, cols, gsa_safetensors_find(&x->header, name), x->path,
                     error);
}

gsa_status gsa_parameters_expect(const gsa_system *system, gsa_parameters *parameters,
                                 const char *path, gsa_expected *expected, gsa_error *error)
{
    expected->path = path, expected->backend = gsa_parameters_backend(parameters);
    const gsa_status status = gsa_safetensors_read_header(system, path, &expected->header, error);
    if (status == GSA_OK) gsa_parameters_ask(parameters, allow, expected);
    return status;
}
