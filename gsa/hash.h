/* hash.h - SHA-256 (FIPS 180-4), for manifests that `sha256sum -c` reads.
 * One thread at a time uses a gsa_sha256.
 *
 * Example:
 *
 *     char hex[65];
 *     gsa_sha256 hash;
 *     gsa_sha256_start(&hash);
 *     gsa_sha256_add(&hash, "abc", 3);
 *     gsa_sha256_end(&hash, hex);
 *     puts(hex); // ba7816bf...
 *     return memcmp(hex, "ba7816bf", 8);
 *
 */
#ifndef GSA_HASH_H
#define GSA_HASH_H
#include "graph/system.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The state of one SHA-256 sum (FIPS 180-4) at work. */
typedef struct gsa_sha256 {
    uint32_t state[8]; /* the sum so far */
    uint64_t bytes;    /* that were added */
    uint8_t block[64]; /* what does not fill a block yet */
    int32_t fast; /* 1: by the processor's instructions for SHA; 0 after the start: by plain C */
} gsa_sha256;
/* Begins a sum. */
void gsa_sha256_start(gsa_sha256 *hash);
/* Adds `bytes` bytes to the sum; 0 does nothing. */
void gsa_sha256_add(gsa_sha256 *hash, const void *at, int64_t bytes);
/* Ends the sum and writes it to `hex`: 64 digits and a terminator. */
void gsa_sha256_end(gsa_sha256 *hash, char hex[65]);
/* Of a file's bytes, to `hex` likewise; GSA_ERR_IO where it cannot be read. */
gsa_status gsa_sha256_file(const gsa_system *system, const char *path, char hex[65],
                           gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
