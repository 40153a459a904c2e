/* window.h - row windows: blocks of 16 rows that follow one another, and the sorted union of what
 * they read. Sources have windows too, for the backward pass: 16 sources, and the rows that read
 * them.
 *
 * A window is a small dense problem with a mask: what its rows read is loaded once for all of them.
 * Where that does not pay, and where a row reads a source twice, `way` leaves its rows to the
 * kernels that walk edges. Made on the device by two stable sorts, a scan and a few
 * kernels, time and memory linear in the edges (22 bytes an edge and side; 64 while they are made),
 * kept with the plan. Nothing is read back. */
#ifndef GSA_CUDA_WINDOW_H
#define GSA_CUDA_WINDOW_H
#include <stdint.h>

enum { GSA_WINDOW_ROWS = 16 };
/* Which way a window goes. By edges: a row reads a column twice, there are more columns than
 * gsa_cuda_tuning says, or fewer edges than density x rows (16, or what is left) x columns. */
enum gsa_cuda_way { GSA_WAY_EDGES, GSA_WAY_TENSOR };

typedef struct gsa_cuda_windows {
    int64_t count; /* windows: of rows 16 w .. 16 w + 15, or of sources among those of all kinds; 0:
                      none were made */
    int64_t *first;  /* [count+1] each window's first column */
    int8_t *way;     /* [count] enum gsa_cuda_way */
    int32_t *column; /* ascending in a window: sources among those of all kinds; in windows of
                        sources: rows */
    uint16_t *mask;  /* of each column; bit r: the window's row r reads it */
    int64_t *edge;   /* where its edges begin in the next two, in the order of their rows */
    int32_t *label,
        *place; /* [edges] label, and k of the key of dropout; not set where the way is by edges */
} gsa_cuda_windows;

#endif
