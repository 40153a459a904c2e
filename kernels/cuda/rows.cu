/* rows.cu - rows taken from a table, gradients scattered back into it in a fixed order, rows chosen
 * by a mask.
 *
 * The gradient of a table: the rows are sorted by id (stable, so ascending inside an id) and cut
 * into chunks of CHUNK. A block has 32 columns of one chunk: ids that lie inside the chunk are
 * added to the table at once; the first and the last may go on in neighbouring chunks, and leave
 * partial sums, which the chunk where an id starts adds up in the order of chunks. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"

enum { CHUNK = 64 };

typedef struct row_job {
    float *y, *dc;
    const float *table, *c;
    const int32_t *ids;
    const uint8_t *mask;
    int32_t first_id;
    int accumulate;
    float scale;
    gsa_cuda_watch watch;
    int64_t rows, cols, table_rows;
} row_job;

/* ---- gather -------------------------------------------------------------------------------- */
static __global__ void __launch_bounds__(GSA_ELEMENTS) gather_rows(GSA_ARGUMENT(row_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.rows * job.cols) return;
    const int64_t row = i / job.cols, c = i % job.cols;
    const int32_t id = __ldg(job.ids + row);
    const bool there = id >= 0 && id < job.table_rows;
    if (id >= job.table_rows && c == 0) gsa_report(job.watch, row);
    const float taken = there ? job.scale * __ldg(job.table + id * job.cols + c) : 0;
    job.y[i] = job.accumulate ? job.y[i] + taken : taken;
}

static gsa_status gather_forward(gsa_backend *b, void *y, const void *table, const int32_t *ids,
                                 double scale, int accumulate, int64_t rows, int64_t cols,
                                 int64_t table_rows)
{
    row_job job = {};
    GSA_TRY(gsa_ref_shape(b, "gather_forward", rows, cols));
    GSA_TRY(gsa_ref_shape(b, "gather_forward", table_rows, cols));
    job.y = (float *)y, job.table = (const float *)table, job.ids = ids, job.scale = (float)scale,
    job.accumulate = accumulate;
    job.rows = rows, job.cols = cols, job.table_rows = table_rows,
    job.watch = gsa_cuda_suspect(b, GSA_FAULT_GATHER);
    return GSA_EACH(b, "gather_forward", rows * cols, gather_rows, job);
}

/* ---- its gradient -------------------------------------------------------------------------- */
typedef struct scatter_job {
    float *table, *head, *tail; /* head, tail: [chunks, cols] partial sums of ids that reach into a
                                   chunk, and out of it */
    const float *dy;
    const uint32_t *id; /* sorted; table_rows: not wanted */
    const int64_t *row;
    float scale;
    int64_t rows, cols, table_rows, chunks, slices;
} scatter_job;

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    scatter_keys(uint32_t *key, int64_t *value, GSA_ARGUMENT(row_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.rows) return;
    const int32_t id = __ldg(job.ids + i);
    const bool wanted = id >= 0 && id >= job.first_id && id < job.table_rows;
    if (id >= job.table_rows) gsa_report(job.watch, i);
    key[i] = wanted ? (uint32_t)id : (uint32_t)job.table_rows;
    value[i] = i;
}

/* A warp: 32 columns of one chunk. Rows of dy are read a few at once: none waits for another. */
static __global__ void __launch_bounds__(GSA_WARP) scatter_chunk(GSA_ARGUMENT(scatter_job) job)
{
    enum { AT_ONCE = 8 };
    const int64_t chunk = blockIdx.x / job.slices,
                  c = blockIdx.x % job.slices * GSA_WARP + threadIdx.x;
    const int64_t first = chunk * CHUNK, last = min(first + CHUNK, job.rows);
    float sum = 0;
    if (c >= job.cols) return;
    bool reaches_in = first > 0 && job.id[first - 1] == job.id[first];
    for (int64_t base = first; base < last; base += AT_ONCE) {
        float x[AT_ONCE];
        GSA_UNROLL
        for (int u = 0; u < AT_ONCE; u++)
            x[u] = base + u < last ? __ldg(job.dy + __ldg(job.row + base + u) * job.cols + c) : 0;
        GSA_UNROLL
        for (int u = 0; u < AT_ONCE; u++) {
            const int64_t i = base + u;
            if (i >= last) continue;
            const uint32_t id = __ldg(job.id + i);
            const bool ends = i + 1 == job.rows || __ldg(job.id + i + 1) != id;
            sum += x[u];
            if (!ends && i + 1 < last) continue;
            if (reaches_in) job.head[chunk * job.cols + c] = sum;
            else if (!ends) job.tail[chunk * job.cols + c] = sum;
            else if (id < job.table_rows) job.table[id * job.cols + c] += job.scale * sum;
            reaches_in = false;
            sum = 0;
        }
    }
}

/* An id that starts in this chunk and goes on: its tail here, then the heads of the chunks that it
 * reaches into. */
static __global__ void __launch_bounds__(GSA_WARP) scatter_join(GSA_ARGUMENT(scatter_job) job)
{
    const int64_t chunk = blockIdx.x / job.slices,
                  c = blockIdx.x % job.slices * GSA_WARP + threadIdx.x;
    const int64_t last = (chunk + 1) * CHUNK;
    if (c >= job.cols || last >= job.rows) return;
    const uint32_t id = __ldg(job.id + last - 1);
    const bool goes_on = __ldg(job.id + last) == id,
               starts_here = chunk == 0 || __ldg(job.id + last - CHUNK - 1) != id;
    if (!goes_on || !starts_here || id >= job.table_rows) return;
    float sum = job.tail[chunk * job.cols + c];
    for (int64_t next = chunk + 1; next < job.chunks && __ldg(job.id + next * CHUNK) == id; next++)
        sum += job.head[next * job.cols + c];
    job.table[id * job.cols + c] += job.scale * sum;
}

static gsa_status scatter_sorted(gsa_backend *b, const row_job *keys, scatter_job *job)
{
    const int64_t rows = job->rows, part = job->chunks * job->cols;
    uint32_t *unsorted, *sorted;
    int64_t *place, *order;
    GSA_TRY(gsa_cuda_lay(b, "gather_backward", [&](gsa_cuda_room &room) {
        room.cut(unsorted, rows), room.cut(sorted, rows);
        room.cut(place, rows), room.cut(order, rows);
        room.cut(job->head, part), room.cut(job->tail, part);
    }));
    job->id = sorted, job->row = order;
    GSA_TRY(GSA_EACH(b, "gather_backward", rows, scatter_keys, unsorted, place, *keys));
    GSA_TRY(gsa_cuda_sort(b, sorted, unsorted, order, place, rows,
                          gsa_cuda_bits(keys->table_rows + 1)));
    GSA_TRY(GSA_RUN_OVER(b, "gather_backward", job->chunks * job->slices, 1, GSA_WARP,
                         scatter_chunk, *job));
    return GSA_RUN_OVER(b, "gather_backward", job->chunks * job->slices, 1, GSA_WARP, scatter_join,
                        *job);
}

static gsa_status gather_backward(gsa_backend *b, void *dtable, const void *dy, const int32_t *ids,
                                  int32_t first_id, double scale, int64_t rows, int64_t cols,
                                  int64_t table_rows)
{
    row_job keys = {};
    scatter_job job = {};
    GSA_TRY(gsa_ref_shape(b, "gather_backward", rows, cols));
    GSA_TRY(gsa_ref_shape(b, "gather_backward", table_rows, cols));
    if (table_rows >= INT32_MAX)
        return gsa_fail(&b->error, GSA_ERR_LIMIT,
                        "gather_backward: a table of %lld rows, at most 2147483646",
                        (long long)table_rows);
    if (dtable == NULL || rows == 0 || cols == 0) return GSA_OK;
    keys.ids = ids, keys.first_id = first_id, keys.rows = rows, keys.table_rows = table_rows;
    keys.watch = gsa_cuda_suspect(b, GSA_FAULT_GATHER_BACKWARD);
    job.table = (float *)dtable, job.dy = (const float *)dy, job.scale = (float)scale,
    job.rows = rows, job.cols = cols;
    job.table_rows = table_rows, job.chunks = (rows + CHUNK - 1) / CHUNK,
    job.slices = (cols + GSA_WARP - 1) / GSA_WARP;
    return scatter_sorted(b, &keys, &job);
}

/* ---- select -------------------------------------------------------------------------------- */
static __global__ void __launch_bounds__(GSA_ELEMENTS) select_rows(GSA_ARGUMENT(row_job) job)
{
    const int64_t i = gsa_thread();
    if (i < job.rows * job.cols) job.y[i] = (__ldg(job.mask + i / job.cols) ? job.table : job.c)[i];
}

static __global__ void __launch_bounds__(GSA_ELEMENTS) select_back(GSA_ARGUMENT(row_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.rows * job.cols) return;
    float *to = __ldg(job.mask + i / job.cols) ? job.y : job.dc;
    if (to) to[i] += job.table[i];
}

static gsa_status select_forward(gsa_backend *b, void *y, const uint8_t *mask, const void *a,
                                 const void *c, int64_t rows, int64_t cols)
{
    row_job job = {};
    GSA_TRY(gsa_ref_shape(b, "select_forward", rows, cols));
    job.y = (float *)y, job.mask = mask, job.table = (const float *)a, job.c = (const float *)c,
    job.rows = rows, job.cols = cols;
    return GSA_EACH(b, "select_forward", rows * cols, select_rows, job);
}

static gsa_status select_backward(gsa_backend *b, void *da, void *dc, const uint8_t *mask,
                                  const void *dy, int64_t rows, int64_t cols)
{
    row_job job = {};
    GSA_TRY(gsa_ref_shape(b, "select_backward", rows, cols));
    job.y = (float *)da, job.dc = (float *)dc, job.mask = mask, job.table = (const float *)dy,
    job.rows = rows, job.cols = cols;
    return GSA_EACH(b, "select_backward", rows * cols, select_back, job);
}

void gsa_cuda_fill_rows(gsa_backend *b)
{
    b->gather_forward = gather_forward;
    b->gather_backward = gather_backward;
    b->select_forward = select_forward;
    b->select_backward = select_backward;
}
