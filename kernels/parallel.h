/* parallel.h - the one parallel loop. Work is cut into items by the caller, never by the number of threads, so that the
 * result does not depend on it. body(context, item) runs once for each item 0..items-1, on up to `threads` threads; items
 * of one call must not write what another reads or writes. Without OpenMP the items run in order. */
#ifndef GSA_PARALLEL_H
#define GSA_PARALLEL_H
#include <stdint.h>

void gsa_parallel(int threads, int64_t items, void (*body)(void *context, int64_t item), void *context);

#endif
