/* plan_windows.cu - finds the windows: edges sorted by (window, column), columns where that pair
 * changes, and which of the windows pay. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/plan.h"

typedef struct windows_job {
    int by_source;
    int64_t edges, items;         /* items: rows or sources */
    const uint32_t *source;       /* of each edge by row, among those of all kinds */
    const gsa_transposed *record; /* likewise */
    const uint32_t *window;       /* of the i-th edge in the order of (window, column) */
    const int64_t *order;         /* which edge that is */
    int64_t *rank;                /* [edges+1] columns before the i-th */
    gsa_cuda_windows to;
    double density;
    int64_t most; /* columns */
} windows_job;

GSA_DEVICE int64_t item_of(const windows_job &job, int64_t edge)
{
    return job.by_source ? (int64_t)job.source[edge] : job.record[edge].row;
}

GSA_DEVICE int32_t column_of(const windows_job &job, int64_t edge)
{
    return job.by_source ? job.record[edge].row : (int32_t)job.source[edge];
}

static __global__ void key_windows(GSA_ARGUMENT(windows_job) job, uint32_t *key,
                                   const int64_t *order)
{
    const int64_t i = gsa_thread();
    if (i < job.edges) key[i] = (uint32_t)(item_of(job, __ldg(order + i)) / GSA_WINDOW_ROWS);
}

GSA_DEVICE bool starts_column(const windows_job &job, int64_t i)
{
    return i == 0 || __ldg(job.window + i) != __ldg(job.window + i - 1) ||
           column_of(job, __ldg(job.order + i)) != column_of(job, __ldg(job.order + i - 1));
}

static __global__ void mark_columns(GSA_ARGUMENT(windows_job) job)
{
    const int64_t i = gsa_thread();
    if (i <= job.edges) job.rank[i] = i < job.edges && starts_column(job, i);
}

/* A thread that is at a column's first edge walks its others, 16 at most: a second edge of one
 * row ends the walk, and the window goes by edges. */
static __global__ void fill_columns(GSA_ARGUMENT(windows_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.edges || !starts_column(job, i)) return;
    const int64_t c = job.rank[i];
    unsigned mask = 0;
    int64_t n = i;
    do {
        const unsigned bit = 1u << (item_of(job, __ldg(job.order + n)) % GSA_WINDOW_ROWS);
        if (mask & bit) {
            job.to.way[__ldg(job.window + i)] = -1;
            break;
        }
        mask |= bit;
        n++;
    } while (n < job.edges && !starts_column(job, n));
    job.to.column[c] = column_of(job, __ldg(job.order + i));
    job.to.mask[c] = (uint16_t)mask;
    job.to.edge[c] = i;
}

static __global__ void choose_ways(GSA_ARGUMENT(windows_job) job)
{
    const int64_t w = gsa_thread();
    if (w > job.to.count) return;
    const int64_t first = gsa_first_at_least(job.window, job.edges, (uint32_t)w);
    job.to.first[w] = job.rank[first];
    if (w == job.to.count) return;
    const int64_t last = gsa_first_at_least(job.window, job.edges, (uint32_t)w + 1);
    const int64_t left = job.items - w * GSA_WINDOW_ROWS,
                  rows = min(left, (int64_t)GSA_WINDOW_ROWS);
    const double edges = (double)(last - first),
                 columns = (double)(job.rank[last] - job.rank[first]);
    int8_t *const way = job.to.way + w;
    const int by_edges = *way != 0 || edges == 0 || columns > (double)job.most ||
                         edges < job.density * (double)rows * columns;
    *way = by_edges ? GSA_WAY_EDGES : GSA_WAY_TENSOR;
}

/* Labels and places are where the mask says: after those of the column's earlier rows. */
static __global__ void fill_cells(GSA_ARGUMENT(windows_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.edges || job.to.way[__ldg(job.window + i)] == GSA_WAY_EDGES) return;
    const int64_t edge = __ldg(job.order + i), c = job.rank[i + 1] - 1;
    const unsigned earlier = job.to.mask[c] & ((1u << (item_of(job, edge) % GSA_WINDOW_ROWS)) - 1);
    const int64_t at = job.to.edge[c] + __popc(earlier);
    job.to.label[at] = job.record[edge].label;
    job.to.place[at] = job.record[edge].k;
}

/* ---- building ------------------------------------------------------------------------------ */
/* By column, then by window: the second sort is stable. Edges by row are in the order of their rows
 * already, which are the columns of sources. */
static gsa_status sort_edges(gsa_backend *b, const char *op, const windows_job *job, uint32_t *key,
                             uint32_t *sorted, int64_t *number, int64_t *by_column, int64_t *order,
                             int64_t sources)
{
    if (!job->by_source)
        GSA_TRY(gsa_cuda_sort(b, sorted, job->source, by_column, number, job->edges,
                              gsa_cuda_bits(sources)));
    const int64_t *const before = job->by_source ? number : by_column;
    GSA_TRY(GSA_EACH(b, op, job->edges, key_windows, *job, key, before));
    return gsa_cuda_sort(b, sorted, key, order, before, job->edges, gsa_cuda_bits(job->to.count));
}

gsa_status gsa_cuda_make_windows(gsa_backend *b, const char *op, const gsa_edges *edges,
                                 gsa_cuda_plan *plan, int by_source, void **kept)
{
    const int64_t total = edges->edge_total;
    windows_job job = {};
    uint32_t *source, *key, *sorted;
    int64_t *number, *by_column, *order;
    gsa_transposed *record;
    gsa_cuda_windows *const w = by_source ? &plan->out_windows : &plan->windows;
    job.by_source = by_source, job.edges = total,
    job.items = by_source ? plan->sources : plan->rows;
    job.density = gsa_cuda_of(b)->density, job.most = gsa_cuda_of(b)->tuning->window_columns;
    if (total == 0 || plan->sources >= INT32_MAX || plan->rows >= INT32_MAX) return GSA_OK;
    w->count = (job.items + GSA_WINDOW_ROWS - 1) / GSA_WINDOW_ROWS;
    GSA_TRY(gsa_cuda_lay(
        b, op,
        [&](gsa_cuda_room &room) {
            room.cut(w->first, w->count + 1);
            room.cut(w->way, w->count);
            room.cut(w->column, total);
            room.cut(w->mask, total);
            room.cut(w->edge, total);
            room.cut(w->label, total);
            room.cut(w->place, total);
        },
        kept));
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        room.cut(source, total);
        room.cut(key, total);
        room.cut(sorted, total);
        room.cut(number, total);
        room.cut(by_column, by_source ? 0 : total);
        room.cut(order, total);
        room.cut(job.rank, total + 1);
        room.cut(record, total);
    }));
    job.source = source, job.record = record, job.window = sorted, job.order = order, job.to = *w;
    GSA_TRY(gsa_cuda_expand(b, op, edges, plan, NULL, source, number, record));
    GSA_TRY(sort_edges(b, op, &job, key, sorted, number, by_column, order, plan->sources));
    GSA_TRY(GSA_CUDA(b, cudaMemsetAsync(w->way, 0, (size_t)w->count, gsa_cuda_stream(b))));
    GSA_TRY(GSA_EACH(b, op, total + 1, mark_columns, job));
    GSA_TRY(gsa_cuda_scan(b, job.rank, total + 1));
    GSA_TRY(GSA_EACH(b, op, total + 1, fill_columns, job));
    GSA_TRY(GSA_EACH(b, op, w->count + 1, choose_ways, job));
    return GSA_EACH(b, op, total + 1, fill_cells, job);
}
