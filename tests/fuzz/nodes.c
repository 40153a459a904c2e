/* The nodes of a graph with features, labels and splits. */
#include "train/data/nodes.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_nodes nodes;
    gsa_error error;
    (void)bytes;
    const gsa_status status = gsa_nodes_read(system, path, "", at[0] & 3, &nodes, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    for (int64_t i = 0; i < nodes.entries; i++)
        FUZZ_CHECK(nodes.index[i] >= 0 && nodes.index[i] < nodes.width);
    gsa_nodes_release(&nodes);
}
