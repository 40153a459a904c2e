/* column.h - the host service "gsa.column/1": what a data file says next to each token (heads of
 * dependencies, types, positions). C11 or C++17, no other header of the project than topology.h.
 *
 *   const gsa_column_service *use = host->service(host, GSA_COLUMN_SERVICE);
 *         in create(); NULL: this host has none
 *   if (!use) return host->fail(host, "this host has no columns");
 *   const int head = use->ask(host, "head");  its place in x->column
 *   if (head < 0) return -1;  the sentence is said already
 *   const gsa_slice value = x->column[head][i];  in emit(): of token i, UTF-8, not terminated
 *
 * Law.  A name is [a-z][a-z0-9_]*, at most GSA_COLUMNS_ASKED of them; who uses the pattern says
 *     which column of the data it is
 *       (data.side = head:7). A pattern that asks gets them with every example, or is refused by
 *       one sentence; values are as the file has them, and what is no number, or no token, is the
 *       plugin's to refuse with e->fail. It must not promise GSA_BY_LENGTH. Append only: a later
 *       service of this major has a larger struct_size.
 *     `ask` is for create(), in its thread; values may be read in any thread that runs emit(). */
#ifndef GSA_COLUMN_H
#define GSA_COLUMN_H
#include "topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name by which a topology finds the service. */
#define GSA_COLUMN_SERVICE "gsa.column/1"
enum { GSA_COLUMNS_ASKED = 8 };
/* Reads columns of the data for a topology; `ask` requests one by its name. */
typedef struct gsa_column_service {
    uint32_t struct_size, zero;
    int (*ask)(
        const gsa_host *host,
        const char *name); /* in create(); < 0 after a failure, which is the host's to tell */
} gsa_column_service;

#ifdef __cplusplus
}
#endif
#endif
