/* tensor_file.h - a whole file of tensors, or none. */
#ifndef GSA_TEST_TENSOR_FILE_H
#define GSA_TEST_TENSOR_FILE_H
#include "gsa/safetensors.h"

static inline gsa_status gsa_write_tensors(const gsa_system *system, const char *path,
                                           const gsa_blob *blobs, int count, const gsa_note *notes,
                                           int n_notes, gsa_error *error)
{
    gsa_output *output;
    gsa_status status = gsa_output_open(system, path, &output, error);
    if (status != GSA_OK) return status;
    status = gsa_safetensors_write(system, output, blobs, count, notes, n_notes, error);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}

#endif
