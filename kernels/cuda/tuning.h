/* tuning.h - numbers that are chosen, not derived. None that a test may vary has been timed: the
 * run on sm_90 had hub_edges 128, and no slopes. kernels/cuda/TRIED.md tells what each number
 * trades. */
#ifndef GSA_CUDA_TUNING_H
#define GSA_CUDA_TUNING_H
#include <stdint.h>

/* Known to the compiler: shapes of kernels. */
enum {
    GSA_THREADS = 128,       /* threads of a block in the attention and aggregation kernels */
    GSA_ELEMENTS = 256,      /* threads of a block in elementwise kernels */
    GSA_REDUCE_CHUNK = 4096, /* elements that a block of a reduction adds up */
    GSA_GRAPH_CALLS = 64 /* checked calls in a graph at most: the device begins while the host goes
                            on with the next */
};

/* Blocks of GSA_THREADS that a multiprocessor holds at once, by lean instances and by others: the
 * registers that a thread may use are 65536 / (128 x this). The largest with which no instance
 * spills on sm_75 to sm_90 (tests/simt/spills). On earlier cards addresses take more registers. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define GSA_FORWARD_BLOCKS(lean) ((lean) ? 7 : 5)
#define GSA_ROWS_BLOCKS(lean)    ((lean) ? 5 : 4)
#define GSA_SOURCES_BLOCKS(lean) ((lean) ? 7 : 6)
#else
#define GSA_FORWARD_BLOCKS(lean) ((lean) ? 8 : 6)
#define GSA_ROWS_BLOCKS(lean)    ((lean) ? 6 : 4)
#define GSA_SOURCES_BLOCKS(lean) ((lean) ? 7 : 6)
#endif

typedef struct gsa_cuda_tuning { /* a test has others */
    int32_t hub_edges;  /* a row with more in-edges (or out-edges) is cut into chunks of at least so
                           many */
    int32_t hub_chunks; /* at most about so many chunks in all: longer chunks where a graph would
                           need more */
    int64_t label_bytes; /* of a table by (row, head, label) that a call keeps at a time */
    int64_t slope_bytes; /* of weights and slopes by (head, edge) that backward keeps at a time; one
                            head's at least */
} gsa_cuda_tuning;
static const gsa_cuda_tuning gsa_cuda_tuned = { 64, 8192, INT64_C(256) << 20, INT64_C(1) << 30 };

#endif
