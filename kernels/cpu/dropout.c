/* dropout.c - dropout of states and its gradient: the words of WIDE counters, four columns each, are drawn at once. */
#include "kernels/cpu/ops.h"
#include "kernels/cpu/words.h"

typedef struct drop_job {
    float *y;
    const float *x;
    ref_drop drop;
    words_key key;
    const int32_t *row_example, *row_local;
    int64_t rows, cols, chunk;
    int accumulate;
} drop_job;

enum { SPAN = 2 * LANES /* columns of WIDE counters */ };

/* One vector of columns, `left` of them in the row. */
static inline void drop_vector(const drop_job *job, float *y, const float *x, words w, int64_t left)
{
    const words limit = words_all(job->drop.limit);
    const vec keep = vec_all(job->drop.keep);
    if (left >= LANES) {
        const vec kept = words_keep(w, limit, vec_mul(vec_load(x), keep));
        vec_store(y, job->accumulate ? vec_add(vec_load(y), kept) : kept);
    } else if (left > 0) {
        const lanes m = lanes_first((int)left);
        const vec kept = words_keep(w, limit, vec_mul(vec_load_first(x, m), keep));
        vec_store_first(y, m, job->accumulate ? vec_add(vec_load_first(y, m), kept) : kept);
    }
}

static void drop_row(const drop_job *job, int64_t row)
{
    const words example = words_all((uint32_t)job->drop.example_id[job->row_example[row]]);
    const words local = words_all((uint32_t)job->row_local[row]), site = words_all(job->drop.site);
    const float *x = job->x + row * job->cols;
    float *y = job->y + row * job->cols;
    for (int64_t c = 0; c < job->cols; c += SPAN) {
        words w[4] = { example, local, words_add(words_count(), words_all((uint32_t)(c / 4))), site };
        words_draw(w, &job->key);
        const words front = words_pair(w[0], w[1]), back = words_pair(w[2], w[3]);
        drop_vector(job, y + c, x + c, words_even(front, back), job->cols - c);
        drop_vector(job, y + c + LANES, x + c + LANES, words_odd(front, back), job->cols - c - LANES);
    }
}

static void pass_row(const drop_job *job, int64_t row)
{
    const float *x = job->x + row * job->cols;
    float *y = job->y + row * job->cols;
    for (int64_t i = 0; i < job->cols; i++) y[i] = job->accumulate ? y[i] + x[i] : x[i];
}

static void drop_chunk(void *context, int64_t item)
{
    const drop_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++)
        if (job->drop.on) drop_row(job, row);
        else pass_row(job, row);
}

static gsa_status run(gsa_backend *b, const char *op, void *y, const void *x, const gsa_dropout *dropout, int accumulate,
                      int64_t rows, int64_t cols)
{
    gsa_status status = gsa_ref_shape(b, op, rows, cols);
    if (status == GSA_OK) status = gsa_ref_check_dropout(b, op, dropout);
    if (status != GSA_OK || y == NULL) return status;
    drop_job job = { .y = y, .x = x, .drop = ref_drop_of(dropout), .rows = rows, .cols = cols, .accumulate = accumulate };
    job.key = words_key_of(job.drop.seed, job.drop.step);
    job.chunk = ref_row_chunk(cols * 2);
    job.row_example = dropout->row_example;
    job.row_local = dropout->row_local;
    gsa_team_run(b->team, ref_items(rows, job.chunk), drop_chunk, &job);
    return GSA_OK;
}

gsa_status GSA_CPU(dropout_forward)(gsa_backend *b, void *y, const void *x, const gsa_dropout *dropout, int64_t rows,
                                    int64_t cols)
{
    return run(b, "dropout_forward", y, x, dropout, 0, rows, cols);
}

gsa_status GSA_CPU(dropout_backward)(gsa_backend *b, void *dx, const void *dy, const gsa_dropout *dropout, int64_t rows,
                                     int64_t cols)
{
    return run(b, "dropout_backward", dx, dy, dropout, 1, rows, cols);
}
