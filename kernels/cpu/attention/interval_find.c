/* interval_find.c - finds the axes: blocks of rows whose ranges begin often at the same sources. */
#include "kernels/cpu/attention/interval.h"
#include "kernels/cpu/attention/bcsr.h"

/* Rows that a block of bcsr holds, or would but for what the call needs: they stay there. */
static int is_dense(const gsa_edges *e, int64_t row, int64_t last)
{
    int64_t low = INT64_MAX, high = 0;
    if (!cpu_rows_follow(e, row, LANES, last)) return 0;
    for (int r = 0; r < LANES; r++) {
        const gsa_run *run = cpu_range(e, row + r);
        if (!run || run->kind != e->runs[e->run_offset[row]].kind)
            return 0; /* kinds count their sources each by itself */
        if (run->first < low) low = run->first;
        if (run->first + (int64_t)run->count > high) high = run->first + (int64_t)run->count;
    }
    return cpu_bcsr_pays(high - low, e->edge_offset[row + LANES] - e->edge_offset[row]);
}

/* CALL(row, run) for each range of a block of rows that may be of an axis. */
#define EACH_RANGE(e, block, kind_of, CALL)                                                        \
    for (int64_t row = (block).first, end_ = row + (block).count; row < end_; row++) {             \
        if (is_dense(e, row, end_)) {                                                              \
            row += LANES - 1;                                                                      \
            continue;                                                                              \
        }                                                                                          \
        const gsa_run *run = cpu_range(e, row);                                                    \
        if (run && (kind_of) == run->kind) CALL;                                                   \
    }

/* The axis of a block of rows; 0 when there is none: too few sources, rows that mostly read
 * otherwise, no range that begins before the one of the row above, or ranges so long that the
 * states of their parts would be more than a few planes of the rows. */
static int find(const gsa_edges *e, gsa_rows block, cpu_axis *axis)
{
    int64_t ranges = 0, returns = 0, parts = 0, low = INT64_MAX, high = 0, before = 0;
    int32_t kind = -1;
#define LOOK                                                                                       \
    do {                                                                                           \
        const int64_t end = (int64_t)run->first + run->count;                                      \
        kind = run->kind, ranges++, returns += run->first < before, before = run->first,           \
        parts += run->count / SEGMENT;                                                             \
        if (run->first < low) low = run->first;                                                    \
        if (end > high) high = end;                                                                \
    } while (0)
    EACH_RANGE(e, block, kind < 0 ? run->kind : kind, LOOK)
#undef LOOK
    *axis = (cpu_axis){ .rows = block, .kind = kind, .first = (int32_t)low, .end = (int32_t)high };
    return returns > 0 && 2 * ranges > block.count && high - low >= AXIS_SOURCES &&
           parts <= block.count;
}

typedef struct place { /* of a range in its axis */
    int64_t step, segment, segments;
    int is_long;
} place;

static place place_of(const cpu_axis *x, const gsa_run *run)
{
    const int64_t first = run->first - x->first, last = first + run->count - 1;
    return (place){ x->step + first / STEP, x->segment + first / SEGMENT,
                    last / SEGMENT - first / SEGMENT + 1, run->count > PIECE };
}

/* Counts short ranges by step and parts of long ones by segment, each a place after its own. */
static void count(const gsa_edges *e, cpu_intervals *s)
{
    for (const cpu_axis *x = s->axis; x < s->axis + s->count; x++) {
#define COUNT                                                                                      \
    do {                                                                                           \
        const place at = place_of(x, run);                                                         \
        s->axis_of[row] = (int32_t)(x - s->axis) + 1;                                              \
        if (!at.is_long) s->short_start[at.step + 1]++, s->shorts++;                               \
        for (int64_t i = 0; at.is_long && i < at.segments; i++)                                    \
            s->long_start[at.segment + i + 1]++, s->longs++;                                       \
        if (at.is_long && at.segments > 1) s->crossings++, s->shared += at.segments;               \
    } while (0)
        EACH_RANGE(e, x->rows, x->kind, COUNT)
#undef COUNT
    }
    for (int64_t i = 0; i < s->steps; i++) s->short_start[i + 1] += s->short_start[i];
    for (int64_t i = 0; i < s->segments; i++) s->long_start[i + 1] += s->long_start[i];
}

static void put(cpu_intervals *s, int64_t row, place at, cpu_crossing **crossing, int64_t slots[2])
{
    const int crosses = at.segments > 1;
    if (!at.is_long) {
        s->short_row[s->short_start[at.step]++] = (int32_t)row;
        return;
    }
    if (crosses)
        *(*crossing)++ = (cpu_crossing){ (int32_t)row, (int32_t)slots[1], (int32_t)at.segments };
    for (int64_t i = 0; i < at.segments; i++)
        s->long_part[s->long_start[at.segment + i]++] =
            (cpu_long){ (int32_t)row, (int32_t)slots[crosses]++ };
}

/* Moves what counted places back to where they start. */
static void back(int64_t *start, int64_t count)
{
    memmove(start + 1, start, (size_t)count * sizeof *start);
    start[0] = 0;
}

static void fill(const gsa_edges *e, cpu_intervals *s)
{
    cpu_crossing *crossing = s->crossing;
    int64_t slots[2] = { s->shared, 0 };
    for (const cpu_axis *x = s->axis; x < s->axis + s->count; x++) {
        EACH_RANGE(e, x->rows, x->kind, put(s, row, place_of(x, run), &crossing, slots))
        for (int64_t i = x->segment; i <= x->segment + (x->end - 1 - x->first) / SEGMENT; i++)
            s->segment_axis[i] = (int32_t)(x - s->axis);
    }
    s->slots = slots[0];
    back(s->short_start, s->steps);
    back(s->long_start, s->segments);
}

/* The axes of all blocks; 0 without memory. */
static int find_all(const gsa_system *system, const gsa_edges *e, cpu_intervals *s)
{
    const int64_t blocks =
        e->examples > 0 && e->blocks && e->block_offset ? e->block_offset[e->examples] : 0;
    int64_t room = 0, example = 0;
    for (int64_t i = 0; i < blocks; i++) {
        cpu_axis x;
        while (e->block_offset[example + 1] <= i) example++;
        if (!find(e, e->blocks[i], &x)) continue;
        const gsa_rows first = e->blocks[e->block_offset[example]];
        x.after_row = first.first + first.count - 1;
        if (s->count > 0 && s->axis[s->count - 1].after_row > x.after_row)
            x.after_row = s->axis[s->count - 1].after_row;
        if (s->count == room) {
            room = room ? 2 * room : 16;
            cpu_axis *more = gsa_resize(system, s->axis, (size_t)room, sizeof *more);
            if (!more) return 0;
            s->axis = more;
        }
        x.step = s->steps, x.segment = s->segments;
        s->steps += (x.end - x.first + STEP - 1) / STEP,
            s->segments += (x.end - x.first + SEGMENT - 1) / SEGMENT;
        s->axis[s->count++] = x;
    }
    return 1;
}

int cpu_intervals_make(const gsa_system *system, const gsa_edges *e, cpu_intervals *s)
{
    *s = (cpu_intervals){ 0 };
    int made = find_all(system, e, s);
    if (made && s->count == 0) return 1;
    s->axis_of = made ? gsa_alloc_zero(system, (size_t)e->rows, sizeof *s->axis_of) : NULL;
    s->short_start =
        made ? gsa_alloc_zero(system, (size_t)s->steps + 1, sizeof *s->short_start) : NULL;
    s->long_start =
        made ? gsa_alloc_zero(system, (size_t)s->segments + 1, sizeof *s->long_start) : NULL;
    s->segment_axis = made ? gsa_alloc(system, (size_t)s->segments, sizeof *s->segment_axis) : NULL;
    made = s->axis_of && s->short_start && s->long_start && s->segment_axis;
    if (made) count(e, s);
    s->short_row = made ? gsa_alloc(system, (size_t)s->shorts, sizeof *s->short_row) : NULL;
    s->long_part = made ? gsa_alloc(system, (size_t)s->longs, sizeof *s->long_part) : NULL;
    s->crossing = made ? gsa_alloc(system, (size_t)s->crossings, sizeof *s->crossing) : NULL;
    made = s->short_row && s->long_part && s->crossing;
    if (made) fill(e, s);
    if (!made) cpu_intervals_release(system, s);
    return made;
}

void cpu_intervals_release(const gsa_system *system, cpu_intervals *s)
{
    void *const owned[] = { s->axis,       s->axis_of,   s->short_start,  s->short_row,
                            s->long_start, s->long_part, s->segment_axis, s->crossing };
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) gsa_release(system, owned[i]);
    *s = (cpu_intervals){ 0 };
}
