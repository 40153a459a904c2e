/* window.cu - finds the windows: edges sorted by (window, column), columns where that pair changes,
 * and which of the windows pay. */
#include "kernels/cuda/window.h"
#include "kernels/cuda.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"

typedef struct windows_job {
    gsa_window_edges e;
    const uint32_t *window; /* of the i-th edge in the order of (window, column) */
    const int64_t *order;   /* which edge that is */
    int64_t *rank;          /* [edges+1] columns before the i-th */
    gsa_cuda_windows to;
    gsa_window_rule rule;
} windows_job;

GSA_DEVICE int64_t item_of(const gsa_window_edges &e, int64_t edge)
{
    return e.by_source ? (int64_t)e.source[edge] : e.record[edge].row;
}

GSA_DEVICE int32_t column_of(const gsa_window_edges &e, int64_t edge)
{
    return e.by_source ? e.record[edge].row : (int32_t)e.source[edge];
}

static __global__ void key_windows(GSA_ARGUMENT(gsa_window_edges) e, uint32_t *key,
                                   const int64_t *order)
{
    const int64_t i = gsa_thread();
    if (i < e.edges) key[i] = (uint32_t)(item_of(e, __ldg(order + i)) / GSA_WINDOW_ROWS);
}

GSA_DEVICE bool starts_column(const windows_job &job, int64_t i)
{
    return i == 0 || __ldg(job.window + i) != __ldg(job.window + i - 1) ||
           column_of(job.e, __ldg(job.order + i)) != column_of(job.e, __ldg(job.order + i - 1));
}

static __global__ void mark_columns(GSA_ARGUMENT(windows_job) job)
{
    const int64_t i = gsa_thread();
    if (i <= job.e.edges) job.rank[i] = i < job.e.edges && starts_column(job, i);
}

/* A thread that is at a column's first edge walks its others, 16 at most: a second edge of one
 * row ends the walk, and the window goes by edges. */
static __global__ void fill_columns(GSA_ARGUMENT(windows_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.e.edges || !starts_column(job, i)) return;
    const int64_t c = job.rank[i];
    unsigned mask = 0;
    int64_t n = i;
    do {
        const unsigned bit = 1u << (item_of(job.e, __ldg(job.order + n)) % GSA_WINDOW_ROWS);
        if (mask & bit) {
            job.to.way[__ldg(job.window + i)] = -1;
            break;
        }
        mask |= bit;
        n++;
    } while (n < job.e.edges && !starts_column(job, n));
    job.to.column[c] = column_of(job.e, __ldg(job.order + i));
    job.to.mask[c] = (uint16_t)mask;
    job.to.edge[c] = i;
}

static __global__ void choose_ways(GSA_ARGUMENT(windows_job) job)
{
    const int64_t w = gsa_thread();
    if (w > job.to.count) return;
    const int64_t first = gsa_first_at_least(job.window, job.e.edges, (uint32_t)w);
    job.to.first[w] = job.rank[first];
    if (w == job.to.count) return;
    const int64_t last = gsa_first_at_least(job.window, job.e.edges, (uint32_t)w + 1);
    const int64_t left = job.e.items - w * GSA_WINDOW_ROWS,
                  rows = min(left, (int64_t)GSA_WINDOW_ROWS);
    const double edges = (double)(last - first),
                 columns = (double)(job.rank[last] - job.rank[first]);
    const gsa_window_rule &rule = job.rule;
    int8_t *const way = job.to.way + w;
    const int by_edges = *way != 0 || edges == 0 || columns > (double)rule.most ||
                         edges < rule.density * (double)rows * columns;
    *way = by_edges ? GSA_WAY_EDGES : GSA_WAY_TENSOR;
}

/* Labels and places are where the mask says: after those of the column's earlier rows. */
static __global__ void fill_cells(GSA_ARGUMENT(windows_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.e.edges || job.to.way[__ldg(job.window + i)] == GSA_WAY_EDGES) return;
    const int64_t edge = __ldg(job.order + i), c = job.rank[i + 1] - 1;
    const unsigned earlier =
        job.to.mask[c] & ((1u << (item_of(job.e, edge) % GSA_WINDOW_ROWS)) - 1);
    const int64_t at = job.to.edge[c] + __popc(earlier);
    job.to.label[at] = job.e.record[edge].label;
    job.to.place[at] = job.e.record[edge].k;
}

/* ---- building ------------------------------------------------------------------------------ */
static gsa_status take_windows(gsa_backend *b, const char *op, const gsa_window_edges *e,
                               gsa_cuda_windows *w)
{
    w->count = (e->items + GSA_WINDOW_ROWS - 1) / GSA_WINDOW_ROWS;
    GSA_TRY(gsa_cuda_take_array(b, op, w->count + 1, sizeof *w->first, (void **)&w->first));
    GSA_TRY(gsa_cuda_take_array(b, op, w->count, sizeof *w->way, (void **)&w->way));
    GSA_TRY(gsa_cuda_take_array(b, op, e->edges, sizeof *w->column, (void **)&w->column));
    GSA_TRY(gsa_cuda_take_array(b, op, e->edges, sizeof *w->mask, (void **)&w->mask));
    GSA_TRY(gsa_cuda_take_array(b, op, e->edges, sizeof *w->edge, (void **)&w->edge));
    GSA_TRY(gsa_cuda_take_array(b, op, e->edges, sizeof *w->label, (void **)&w->label));
    return gsa_cuda_take_array(b, op, e->edges, sizeof *w->place, (void **)&w->place);
}

typedef struct windows_room { /* lives while windows are made */
    uint32_t *key, *sorted;
    int64_t *by_column, *order, *rank;
} windows_room;

/* By column, then by window: the second sort is stable. Edges by row are in the order of their rows
 * already. */
static gsa_status sort_edges(gsa_backend *b, const char *op, const gsa_window_edges *e,
                             windows_room *room)
{
    const int64_t *order = e->number, windows = (e->items + GSA_WINDOW_ROWS - 1) / GSA_WINDOW_ROWS;
    GSA_TRY(gsa_cuda_take_array(b, op, e->edges, sizeof *room->key, (void **)&room->key));
    GSA_TRY(gsa_cuda_take_array(b, op, e->edges, sizeof *room->sorted, (void **)&room->sorted));
    GSA_TRY(gsa_cuda_take_array(b, op, e->edges, sizeof *room->order, (void **)&room->order));
    if (!e->by_source) {
        GSA_TRY(gsa_cuda_take_array(b, op, e->edges, sizeof *room->by_column,
                                    (void **)&room->by_column));
        GSA_TRY(gsa_cuda_sort(b, room->sorted, e->source, room->by_column, e->number, e->edges,
                              gsa_cuda_bits(e->columns)));
        order = room->by_column;
    }
    GSA_TRY(GSA_EACH(b, op, e->edges, key_windows, *e, room->key, order));
    return gsa_cuda_sort(b, room->sorted, room->key, room->order, order, e->edges,
                         gsa_cuda_bits(windows));
}

static gsa_status build(gsa_backend *b, const char *op, const gsa_window_edges *e,
                        windows_room *room, gsa_cuda_windows *w)
{
    GSA_TRY(take_windows(b, op, e, w));
    GSA_TRY(sort_edges(b, op, e, room));
    GSA_TRY(gsa_cuda_take_array(b, op, e->edges + 1, sizeof *room->rank, (void **)&room->rank));
    const gsa_window_rule rule = { gsa_cuda_of(b)->density,
                                   gsa_cuda_of(b)->tuning->window_columns };
    const windows_job job = { *e, room->sorted, room->order, room->rank, *w, rule };
    GSA_TRY(GSA_CUDA(b, cudaMemsetAsync(w->way, 0, (size_t)w->count, gsa_cuda_stream(b))));
    GSA_TRY(GSA_EACH(b, op, e->edges + 1, mark_columns, job));
    GSA_TRY(gsa_cuda_scan(b, room->rank, e->edges + 1));
    GSA_TRY(GSA_EACH(b, op, e->edges + 1, fill_columns, job));
    GSA_TRY(GSA_EACH(b, op, w->count + 1, choose_ways, job));
    return GSA_EACH(b, op, e->edges + 1, fill_cells, job);
}

gsa_status gsa_cuda_make_windows(gsa_backend *b, const char *op, const gsa_window_edges *edges,
                                 gsa_cuda_windows *windows)
{
    windows_room room = {};
    if (edges->edges == 0 || edges->items == 0) return GSA_OK;
    const gsa_status status = build(b, op, edges, &room, windows);
    gsa_cuda_give(b, room.key);
    gsa_cuda_give(b, room.sorted);
    gsa_cuda_give(b, room.by_column);
    gsa_cuda_give(b, room.order);
    gsa_cuda_give(b, room.rank);
    if (status != GSA_OK) gsa_cuda_release_windows(b, windows);
    return status;
}

void gsa_cuda_release_windows(gsa_backend *b, gsa_cuda_windows *windows)
{
    gsa_cuda_give(b, windows->first);
    gsa_cuda_give(b, windows->way);
    gsa_cuda_give(b, windows->column);
    gsa_cuda_give(b, windows->mask);
    gsa_cuda_give(b, windows->edge);
    gsa_cuda_give(b, windows->label);
    gsa_cuda_give(b, windows->place);
    *windows = gsa_cuda_windows{};
}
