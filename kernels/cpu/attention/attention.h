/* attention.h - attention over edges on the CPU: the page to read first.
 *
 * A row (a query) reads the sources (keys and values) of its edges. The inspector (inspect.c,
 * edge_plan.c, bcsr_find.c, interval_find.c) looks at the edges once and keeps what it finds with
 * the batch. A row goes to the first of six formats that can take it, in this order: gemm,
 * interval, dia (LANES rows), bcsr, ell (one edge), dia (4 rows), ell, row. The executors
 * (attention.c) and `gsa bench kernel --explain` (cpu_formats) ask it.
 * docs/kernels.md has a drawing and the limits of each.
 *
 *   row       CSR row-split: a row alone, its edges 64 at a time (row.c, own.h)
 *             when: hubs, relays; weights are wanted; not finite; whatever no other takes
 *   ell       sliced ELLPACK: 4 rows of about as many edges, each with its own columns
 *             (ell*, own.h); when: short scattered rows
 *   dia       diagonals: 4 rows whose columns move on by one, or not at all (dia*)
 *             when: rings, short windows, a star's tokens
 *   bcsr      block compressed sparse rows: LANES rows x m columns, micro-panels of 4 rows
 *             (bcsr*, panel.h); when: windows, with holes too, clustered rows
 *   interval  source-stationary: ranges of one source axis, pieces of it outermost
 *             (interval*); when: spans of trees, hierarchies
 *   gemm      dense blocks by the library's products (dense*)
 *             when: whole sentences, long causal ones
 *
 * Three panels compute: own columns (own.h: row, ell), diagonals (dia.h), shared columns (panel.h:
 * bcsr, interval). One page has the softmax (softmax.h), one the paced prefetches (prefetch.h; dia
 * and ell have one line each of their own), one the mask of dropout (dropout_mask.h).
 *
 * A panel is four rows (row: four edges of one row; gemm has none): s = q k^T, online softmax,
 * o = p v; backward dP = do v^T, dS = p (dP - D), dQ, dK, dV. A vector (isa/vector.h) has LANES
 * lanes (8: AVX2, 16: AVX-512), QUADS = LANES / 4 groups of four; heads go one after another, a
 * head's columns by slices of a few vectors (cpu_cut, attend.h). No bit depends on the number of
 * threads or on the batch: formats, blocks and orders of sums are functions of an example's edges.
 */
#ifndef GSA_CPU_ATTENTION_H
#define GSA_CPU_ATTENTION_H
#include "kernels/cpu/attention/dia.h"
#include "kernels/cpu/attention/ell.h"
#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/attention/edge_plan.h"

typedef enum cpu_format { CPU_ROW, CPU_ELL, CPU_DIA, CPU_BCSR, CPU_INTERVAL, CPU_GEMM } cpu_format;

typedef struct cpu_inspection { /* of the rows of a call, whose plan t->plan is; the rest is 0 */
    const ref_attend *t;
    gsa_rows block; /* of one example and kind, */
    int dense;      /* and whether it goes by products */
} cpu_inspection;

typedef struct cpu_part { /* rows that go one way together */
    cpu_format format;
    int64_t row, rows;
    int32_t interval; /* 1 + the axis that has the rows */
    int dias, blocks; /* how many of each */
    cpu_dia dia[QUADS];
    bcsr_block block[PLAN_BLOCKS];
} cpu_part;

/* Finds the block that holds `row`. */
void cpu_inspect_block(cpu_inspection *x, int64_t row);
/* The rows from `row` on, before `end`, that go together: `part`. `blocks` 0: not by blocks of
 * bcsr. Returns the row after them. Finds a row's block where the one before has ended. */
int64_t cpu_inspect(cpu_inspection *x, int64_t row, int64_t end, int blocks, cpu_part *part);
/* Where a range of rows that starts at `row` may be cut: after what is worked on together. */
int64_t cpu_inspect_cut(const ref_attend *t, int64_t row);
/* The formats of a call's rows, forward; 0 without memory. */
int cpu_formats(const gsa_attend_args *args, gsa_cpu_formats *formats);

#endif
