#include "graph/index.h"

const int32_t gsa_index_most = INT32_MAX;
