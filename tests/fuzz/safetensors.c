/* Names, shapes and places of a safetensors file; the header alone says the same. */
#include "gsa/safetensors.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_safetensors file, header;
    gsa_error error;
    (void)at, (void)bytes;
    const gsa_status status = gsa_safetensors_read(system, path, &file, &error);
    FUZZ_SAID(status, error);
    const gsa_status alone = gsa_safetensors_read_header(system, path, &header, &error);
    FUZZ_CHECK(status == GSA_ERR_MEMORY || (status == GSA_OK) == (alone == GSA_OK));
    if (alone == GSA_OK) gsa_safetensors_release(&header);
    if (status != GSA_OK) return;
    for (int i = 0; i < file.count; i++) {
        FUZZ_CHECK(gsa_safetensors_find(&file, file.blobs[i].name) == &file.blobs[i]);
        gsa_blob_check_finite(&file.blobs[i], path, &error);
    }
    gsa_safetensors_release(&file);
}
