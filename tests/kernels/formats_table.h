/* formats_table.h - the table that test_formats*.c are the columns of: patterns of edges which
 * the cpu backend works on in each of its formats (kernels/cpu/attention/attention.h), and a call
 * of attention on one of them. For tests under Check. */
#ifndef GSA_TEST_FORMATS_TABLE_H
#define GSA_TEST_FORMATS_TABLE_H
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "support/thin.h"

enum { LABELS = 5, LEVELS = 5, VECTOR_LEVELS = 4, MOST_HEADS = 20, MOST_DIM = 64 };
extern const int level[LEVELS]; /* plain C is the last: it has one format alone */

enum { ROW, ELL, DIA, BCSR, INTERVAL, GEMM };

/* Makes the runs of a row, of the pattern's kinds of sources from `base` on. */
typedef struct pattern pattern;
typedef void row_maker(edges_maker *m, const pattern *p, int32_t row, int32_t base);

struct pattern {
    const char *name;
    row_maker *row;
    int which, format;
    int32_t least, most; /* rows of an example that go by the format; 0: all that fill vectors */
    int32_t rows, sources, kinds, labels, heads, dim;
    int biased;    /* labels have biases, not vectors alone */
    int exact;     /* no sum is taken in another order where something is not finite */
    int32_t alone; /* a source that few rows read, beside those that all patterns taint; 0: none */
};

enum { PATTERNS = 39, EACH = PATTERNS * VECTOR_LEVELS };
extern const pattern patterns[PATTERNS];

/* The pattern with other edges; `turn`: how many times it has been drawn. */
pattern pattern_drawn(const pattern *p, int turn);
int pattern_is_first(const pattern *p); /* of those whose rows are made alike */

enum { Q, DOUT, K, K2, V, V2, INPUTS, OUT = INPUTS, LSE, DQ, DK, DK2, DV, DV2, DR, DB, PLANES };

typedef struct call {
    const pattern *p;
    int at, threads, kept;               /* kept: dv alone of the sources' gradients */
    int32_t examples, first, heads, dim; /* first: of the heads at work among the pattern's */
    double drop;
    int dead;       /* biases of head 1 are -inf, but for the label ALIVE */
    int memo;       /* passes share their plan */
    int backwards;  /* rows of the last example come first */
    int32_t beside; /* sources of the last kind of an example of one row before the others, or 0 */
    int ones;       /* scores are 0; source s of V and row s of do have a 1 at column s % dim */
    int taint;      /* a plane, whose row or source `tainted` holds `odd` in head 1 */
    int32_t tainted;
    float odd;
    double scale, gradient; /* of queries; do where it is not 0 */
    float *of[PLANES];      /* of the examples without the one beside them */
} call;
enum { ALIVE = 2 };

typedef struct pointed { /* what args point to */
    gsa_part parts[GSA_MAX_KINDS];
    float vectors[LABELS * MOST_DIM], bias[LABELS * MOST_HEADS];
    int32_t *id;
    gsa_attend_args args;
} pointed;

call call_of(int i);                       /* of EACH; without its planes */
int64_t size_of(const call *c, int plane); /* numbers of a plane's example; of labels all */
void make_edges(rig *r, const call *c);
void fill(call *c); /* makes the planes */
void finish(call *c);
void point(pointed *x, const call *c, const rig *r); /* free `id` */
/* As many rows go by the pattern's format as its line says. */
void check_format(const call *c, const gsa_attend_args *args);
void attend(call *c); /* fill, and both passes */

#endif
