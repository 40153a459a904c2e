/* column.h - the host service "gsa.column/1": what a data file says next to each token (heads of
 * dependencies, types, positions). C11 or C++17, no other header of the project than topology.h.
 *
 * Example:
 *
 *     static int create(const gsa_host *host, const gsa_value *params, void **self)
 *     {
 *         (void)params, (void)self; // the place in x->column is 0, for it is the only one
 *         const gsa_column_service *use =
 *             (const gsa_column_service *)host->service(host, GSA_COLUMN_SERVICE);
 *         if (!use) return host->fail(host, "this host has no columns");
 *         return use->ask(host, "head") < 0 ? -1 : 0;
 *     }
 *     static void describe(const void *self, gsa_describer *d)
 *     {
 *         (void)self, gsa_transformer_layer(d, GSA_NAMES_ONLY, 1, 0);
 *     }
 *     static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
 *     {
 *         (void)self; // token i reads itself, and token 0 where its column is not "0"
 *         for (int64_t i = 0; i < x->length; i++) {
 *             const gsa_slice head = x->column[0][i];
 *             gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, i), 0);
 *             if (i && (head.bytes != 1 || *head.at != '0'))
 *                 gsa_edge(e, 0, gsa_at(0, 0), gsa_at(0, i), 0);
 *         }
 *     }
 *     const gsa_topology GSA_PLUGIN = {
 *         GSA_ABI, sizeof(gsa_topology), sizeof(gsa_param), 0, "heads",
 *         "tokens with a head read token 0", "none", NULL, create, NULL, describe, emit
 *     };
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
