/* tuning.h - numbers that are chosen, not derived; one row an architecture. No device has been
 * measured yet, so that the rows are the same. kernels/cuda/TRIED.md tells what each number trades.
 */
#ifndef GSA_CUDA_TUNING_H
#define GSA_CUDA_TUNING_H
#include <stdint.h>

/* Known to the compiler: shapes of kernels. */
enum {
    GSA_THREADS = 128,       /* threads of a block in the attention and aggregation kernels */
    GSA_ELEMENTS = 256,      /* threads of a block in elementwise kernels */
    GSA_REDUCE_CHUNK = 4096, /* elements that a block of a reduction adds up */
    /* Blocks of GSA_THREADS that a multiprocessor holds at once: the registers that a thread may
     * use are 65536 / (128 x this). The largest with which no instance spills on sm_75 to sm_90
     * (tests/simt/spills). */
    GSA_FORWARD_BLOCKS = 5,
    GSA_ROWS_BLOCKS = 4,
    GSA_SOURCES_BLOCKS = 3,
/* Lean instances; on earlier cards addresses take more registers. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    GSA_LEAN_FORWARD_BLOCKS = 7,
    GSA_LEAN_ROWS_BLOCKS = 5,
#else
    GSA_LEAN_FORWARD_BLOCKS = 8,
    GSA_LEAN_ROWS_BLOCKS = 6,
#endif
    GSA_LEAN_SOURCES_BLOCKS = 4,
    GSA_WINDOW_SHARED =
        43 << 10, /* vectors of a window's block: what else is in its 48 KiB takes less than 5 */
    GSA_GRAPH_CALLS = 64 /* checked calls in a graph at most: the device begins while the host goes
                            on with the next */
};

/* Tiles of a window that are in shared memory at once: 2 bring the next while one is multiplied, 1
 * brings it afterwards and lets more blocks be there. One that is given
 * (-DCMAKE_CUDA_FLAGS=-DGSA_WINDOW_STAGES=1) is measured against this. */
#ifndef GSA_WINDOW_STAGES
#define GSA_WINDOW_STAGES 2
#endif

/* Chosen at run time by the device's compute capability. */
typedef struct gsa_cuda_tuning {
    int capability;     /* major * 10 + minor: the row holds from here on */
    int32_t hub_edges;  /* a row with more in-edges (or out-edges) is cut into chunks of at least so
                           many */
    int32_t hub_chunks; /* at most about so many chunks in all: longer chunks where a graph would
                           need more */
    int64_t label_bytes; /* sums by (row, head, label) that the backward pass keeps at a time */
    /* windows (window.h) */
    int64_t window_columns; /* a window with more goes by edges: one warp walks them all */
    double density;         /* edges / (rows x columns) from which on tensor cores pay */
    int64_t table_bytes; /* products of queries and label vectors; where they take more, all rows go
                            by edges */
} gsa_cuda_tuning;

static const gsa_cuda_tuning gsa_cuda_tunings[] = {
    /*     hubs:  from  at most  labels  windows: columns  density  tables */
    { 75, 128, 8192, INT64_C(32) << 20, 8192, 0.15, INT64_C(128) << 20 },
    { 80, 128, 8192, INT64_C(64) << 20, 8192, 0.15, INT64_C(256) << 20 },
    { 86, 128, 8192, INT64_C(32) << 20, 8192, 0.15, INT64_C(128) << 20 },
    { 90, 128, 8192, INT64_C(64) << 20, 8192, 0.15, INT64_C(256) << 20 },
};

#endif
