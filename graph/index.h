/* index.h - the largest int32 index: of nodes x heads, of a run's edges, of an example's tokens.
 * Not installed. The constant has a file of its own, so that a program that defines a smaller one
 * is linked with that (tests/tools/test_limits.c): sizes beyond it are refused by the same lines.
 */
#ifndef GSA_INDEX_H
#define GSA_INDEX_H
#include <stdint.h>

extern const int32_t gsa_index_most; /* INT32_MAX */

#endif
