/* stored.h - what an open file stores; not installed. */
#ifndef GSA_STORED_H
#define GSA_STORED_H
#include <stdint.h>

/* Bytes that are no holes: all where the file system does not tell, at least an eighth of the file
 * where it has so many. */
int64_t gsa_stored_bytes(int file);

#endif
