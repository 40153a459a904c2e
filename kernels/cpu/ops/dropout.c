/* dropout.c - dropout of states and its gradient: the words of WIDE counters, four columns each,
 * are drawn at once. */
#include "kernels/cpu/table.h"
#include "kernels/cpu/isa/words.h"

enum { SPAN = 2 * LANES /* columns of WIDE counters */ };

/* One vector of columns, `left` of them in the row. */
CPU_INLINE void drop_vector(const ref_drop_job *job, float *y, const float *x, words w,
                            int64_t left)
{
    if (left <= 0) return;
    const int whole = left >= LANES;
    const lanes m = lanes_first(whole ? LANES : (int)left);
    const vec all = vec_mul(vec_take(x, m, whole), vec_all(job->drop.keep));
    const vec kept = vec_keep(words_reach(w, words_all(job->drop.limit)), all, vec_zero());
    vec_put(y, m, whole, job->accumulate ? vec_add(vec_take(y, m, whole), kept) : kept);
}

static void drop_row(const ref_drop_job *job, int64_t row)
{
    const words example = words_all((uint32_t)job->drop.example_id[job->row_example[row]]);
    const words local = words_all((uint32_t)job->row_local[row]), site = words_all(job->drop.site);
    const float *x = job->x + row * job->cols;
    float *y = job->y + row * job->cols;
    for (int64_t c = 0; c < job->cols; c += SPAN) {
        words w[4] = { example, local, words_add(WORDS_COUNT, words_all((uint32_t)(c / 4))), site };
        words_draw(w, job->own);
        const words front = words_pair(w[0], w[1]), back = words_pair(w[2], w[3]);
        drop_vector(job, y + c, x + c, WORDS_UNPACK(front, back, 0), job->cols - c);
        drop_vector(job, y + c + LANES, x + c + LANES, WORDS_UNPACK(front, back, 1),
                    job->cols - c - LANES);
    }
}

static gsa_status run(gsa_backend *b, const char *op, void *y, const void *x,
                      const gsa_dropout *dropout, int accumulate, int64_t rows, int64_t cols)
{
    const words_key key = words_key_of(dropout->seed, dropout->step);
    ref_drop_job job = { .y = y, .x = x, .accumulate = accumulate, .row = drop_row, .own = &key };
    return GSA_REF(dropout)(b, op, &job, dropout, rows, cols, cols * 2);
}

gsa_status cpu_dropout_forward(gsa_backend *b, void *y, const void *x, const gsa_dropout *dropout,
                               int64_t rows, int64_t cols)
{
    return run(b, "dropout_forward", y, x, dropout, 0, rows, cols);
}

gsa_status cpu_dropout_backward(gsa_backend *b, void *dx, const void *dy,
                                const gsa_dropout *dropout, int64_t rows, int64_t cols)
{
    return run(b, "dropout_backward", dx, dy, dropout, 1, rows, cols);
}
