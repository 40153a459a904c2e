/* nccl.h - device memory from rank to rank by NCCL: a module of its own, which the command loads
 * where ranks have CUDA devices (tools/command/ranks.c). So nothing else needs NCCL.
 *
 * NCCL carries bytes alone, by sends and receives in pairs: the order in which its own sums add is
 * not that of the tree, and ranks would no longer give the same bits (gsa/group.h). Weights start
 * alike on all ranks, so nothing is ever broadcast. */
#ifndef GSA_GROUP_NCCL_H
#define GSA_GROUP_NCCL_H
#include "gsa/group.h"

#define GSA_GROUP_NCCL_TABLE "gsa_group_nccl_table" /* the one name that the module exports */
extern const gsa_wire gsa_group_nccl_table;

#endif
