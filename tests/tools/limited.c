/* The command with a smaller largest index (graph/index.h). */
#include "graph/index.h"

const int32_t gsa_index_most = LIMIT;
