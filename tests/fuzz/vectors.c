/* Word vectors as text. */
#include "train/vocabulary/vectors.h"
#include <math.h>
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_vectors vectors;
    gsa_error error;
    (void)at, (void)bytes;
    const gsa_status status = gsa_vectors_read(system, path, &vectors, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    for (int64_t i = 0; i < vectors.count * vectors.width; i++)
        FUZZ_CHECK(isfinite(vectors.value[i]));
    gsa_vectors_release(&vectors);
}
