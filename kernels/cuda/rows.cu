/* rows.cu - rows taken from a table, gradients scattered back into it in a fixed order, rows chosen
 * by a mask.
 *
 * The gradient of a table: the rows are sorted by id (stable, so ascending inside an id) and cut
 * into chunks of CHUNK. A warp has 32 columns of one chunk: ids that lie inside the chunk are
 * added to the table at once; the first and the last may go on in neighbouring chunks, and leave
 * partial sums, which the chunk where an id starts adds up in the order of chunks. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"

enum { CHUNK = 64 };

static gsa_status gather_forward(gsa_backend *b, void *y, const void *table, const int32_t *ids,
                                 double scale, int accumulate, int64_t rows, int64_t cols,
                                 int64_t table_rows)
{
    GSA_TRY(gsa_ref_shape(b, "gather_forward", rows, cols));
    GSA_TRY(gsa_ref_shape(b, "gather_forward", table_rows, cols));
    const gsa_cuda_watch watch = gsa_cuda_suspect(b, GSA_FAULT_GATHER);
    const auto take = [=, y = gsa_floats(y), table = gsa_floats(table),
                       scale = (float)scale] __device__(int64_t i) {
        const int64_t row = i / cols, c = i % cols;
        const int32_t id = __ldg(ids + row);
        const bool there = id >= 0 && id < table_rows;
        if (id >= table_rows && c == 0) gsa_report(watch, row);
        const float taken = there ? scale * __ldg(table + id * cols + c) : 0;
        y[i] = accumulate ? y[i] + taken : taken;
    };
    return gsa_cuda_each(b, "gather_forward", rows * cols, take);
}

/* ---- its gradient -------------------------------------------------------------------------- */
typedef struct scatter_job {
    float *table, *head, *tail; /* head, tail: [chunks, cols] partial sums of ids that reach into a
                                   chunk, and out of it */
    const float *dy;
    const uint32_t *id; /* sorted; table_rows: not wanted */
    const int64_t *row;
    float scale;
    int64_t rows, cols, table_rows, chunks;
} scatter_job;

/* Column c of one chunk. Rows of dy are read a few at once: none waits for another. */
GSA_DEVICE void scatter_chunk(const scatter_job &job, int64_t chunk, int64_t c)
{
    enum { AT_ONCE = 8 };
    const int64_t first = chunk * CHUNK, last = min(first + CHUNK, job.rows);
    float sum = 0;
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
GSA_DEVICE void scatter_join(const scatter_job &job, int64_t chunk, int64_t c)
{
    const int64_t last = (chunk + 1) * CHUNK;
    if (last >= job.rows) return;
    const uint32_t id = __ldg(job.id + last - 1);
    const bool goes_on = __ldg(job.id + last) == id,
               starts_here = chunk == 0 || __ldg(job.id + last - CHUNK - 1) != id;
    if (!goes_on || !starts_here || id >= job.table_rows) return;
    float sum = job.tail[chunk * job.cols + c];
    for (int64_t next = chunk + 1; next < job.chunks && __ldg(job.id + next * CHUNK) == id; next++)
        sum += job.head[next * job.cols + c];
    job.table[id * job.cols + c] += job.scale * sum;
}

static gsa_status scatter(gsa_backend *b, scatter_job job, const int32_t *ids, int32_t first_id)
{
    const char *const op = "gather_backward";
    const int64_t rows = job.rows, limit = job.table_rows, part = job.chunks * job.cols,
                  wide = (job.cols + GSA_WARP - 1) / GSA_WARP * GSA_WARP;
    const gsa_cuda_watch watch = gsa_cuda_suspect(b, GSA_FAULT_GATHER_BACKWARD);
    uint32_t *unsorted, *sorted;
    int64_t *place, *order;
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        room.cut(unsorted, rows), room.cut(sorted, rows);
        room.cut(place, rows), room.cut(order, rows);
        room.cut(job.head, part), room.cut(job.tail, part);
    }));
    job.id = sorted, job.row = order;
    const auto keys = [=] __device__(int64_t i) {
        const int32_t id = __ldg(ids + i);
        if (id >= limit) gsa_report(watch, i);
        unsorted[i] = (uint32_t)(id >= 0 && id >= first_id && id < limit ? id : limit);
        place[i] = i;
    };
    const auto chunk = [=] __device__(int64_t i) {
        if (i % wide < job.cols) scatter_chunk(job, i / wide, i % wide);
    };
    const auto join = [=] __device__(int64_t i) {
        if (i % wide < job.cols) scatter_join(job, i / wide, i % wide);
    };
    GSA_TRY(gsa_cuda_each(b, op, rows, keys));
    GSA_TRY(gsa_cuda_sort(b, sorted, unsorted, order, place, rows, gsa_cuda_bits(limit + 1)));
    GSA_TRY(gsa_cuda_each<GSA_WARP>(b, op, job.chunks * wide, chunk));
    return gsa_cuda_each<GSA_WARP>(b, op, job.chunks * wide, join);
}

static gsa_status gather_backward(gsa_backend *b, void *dtable, const void *dy, const int32_t *ids,
                                  int32_t first_id, double scale, int64_t rows, int64_t cols,
                                  int64_t table_rows)
{
    GSA_TRY(gsa_ref_shape(b, "gather_backward", rows, cols));
    GSA_TRY(gsa_ref_shape(b, "gather_backward", table_rows, cols));
    if (table_rows >= INT32_MAX)
        return gsa_fail(&b->error, GSA_ERR_LIMIT,
                        "gather_backward: a table of %lld rows, at most 2147483646",
                        (long long)table_rows);
    if (dtable == NULL || rows == 0 || cols == 0) return GSA_OK;
    return scatter(b,
                   { gsa_floats(dtable), NULL, NULL, gsa_floats(dy), NULL, NULL, (float)scale, rows,
                     cols, table_rows, (rows + CHUNK - 1) / CHUNK },
                   ids, first_id);
}

/* ---- select -------------------------------------------------------------------------------- */
static gsa_status select_forward(gsa_backend *b, void *y, const uint8_t *mask, const void *a,
                                 const void *c, int64_t rows, int64_t cols)
{
    GSA_TRY(gsa_ref_shape(b, "select_forward", rows, cols));
    const auto choose = [=, y = gsa_floats(y), a = gsa_floats(a), c = gsa_floats(c)] __device__(
                            int64_t i) { y[i] = (__ldg(mask + i / cols) ? a : c)[i]; };
    return gsa_cuda_each(b, "select_forward", rows * cols, choose);
}

static gsa_status select_backward(gsa_backend *b, void *da, void *dc, const uint8_t *mask,
                                  const void *dy, int64_t rows, int64_t cols)
{
    GSA_TRY(gsa_ref_shape(b, "select_backward", rows, cols));
    const auto choose = [=, da = gsa_floats(da), dc = gsa_floats(dc),
                         dy = gsa_floats(dy)] __device__(int64_t i) {
        float *const to = __ldg(mask + i / cols) ? da : dc;
        if (to) to[i] += dy[i];
    };
    return gsa_cuda_each(b, "select_backward", rows * cols, choose);
}

void gsa_cuda_fill_rows(gsa_backend *b)
{
    b->gather_forward = gather_forward;
    b->gather_backward = gather_backward;
    b->select_forward = select_forward;
    b->select_backward = select_backward;
}
