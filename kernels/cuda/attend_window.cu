/* attend_window.cu - which calls go through windows, what their kernels are told, and the table of
 * queries times label vectors. */
#include "kernels/cuda/attend_window.h"
#include "kernels/cuda.h"
#include "kernels/cuda/library.h"

int64_t gsa_window_table_room(const gsa_attend_args *args)
{
    if (args->label_vectors == NULL) return 0;
    return args->edges->rows * args->heads * (int64_t)args->edges->labels;
}

/* Before sm_80 nothing multiplies tf32 or bf16. Windows hold heads of at most GSA_WINDOW_DIM
 * columns; with label vectors, what the table of products may take. */
int gsa_windows_wanted(gsa_backend *b, const gsa_attend_args *args)
{
    const gsa_cuda_state *s = gsa_cuda_of(b);
    int64_t cells = 0;
    if (s->attention != GSA_CUDA_TF32 && s->attention != GSA_CUDA_BF16) return 0;
    if (s->tuning->capability < 80 || isinf(s->density)) return 0;
    if (args->head_dim < 1 || args->head_dim > GSA_WINDOW_DIM || args->edges->edge_total == 0)
        return 0;
    if (args->label_vectors == NULL) return 1;
    if (!gsa_mul(args->edges->rows, args->heads, &cells) ||
        !gsa_mul(cells, args->edges->labels, &cells))
        return 0;
    return cells > 0 && cells <= s->tuning->table_bytes / (int64_t)sizeof(float);
}

/* table [rows, heads, labels] = q r^T */
gsa_status gsa_window_fill_table(gsa_backend *b, const attend_windows *windows)
{
    const gsa_attend_args *args = windows->args;
    gsa_cuda_product product = {};
    if (gsa_window_table_room(args) == 0) return GSA_OK;
    product.c = windows->table, product.a = windows->q;
    product.b = (const float *)args->label_vectors, product.transpose_b = 1, product.alpha = 1;
    product.m = args->edges->rows * args->heads, product.n = product.ldc = args->edges->labels;
    product.k = product.lda = product.ldb = args->head_dim;
    return gsa_cuda_product_add(b, &product);
}

static void set_job(window_job *job, const attend_windows *windows, const attend_job *edges,
                    int by_source)
{
    const gsa_attend_args *args = windows->args;
    const gsa_cuda_plan *plan = windows->plan;
    *job = window_job{};
    job->items = by_source ? plan->sources : plan->rows;
    job->w = by_source ? plan->out_windows : plan->windows;
    job->heads = args->heads, job->dim = args->head_dim,
    job->width = (int64_t)args->heads * args->head_dim;
    job->labels = args->edges->labels, job->kinds = edges->kinds;
    job->wide_out = edges->widest,
    job->wide = edges->bf16 ? 8 : edges->widest; /* copies in bf16 begin at 16 bytes */
    while (job->dim % job->wide_out != 0) job->wide_out /= 2;
    while (job->dim % job->wide != 0) job->wide /= 2;
    job->scale = (float)args->scale;
    job->q = edges->edge_q, job->dout = edges->edge_dout;
    job->r = (const float *)args->label_vectors, job->bias = (const float *)args->label_bias;
    job->table = args->label_vectors ? windows->table : NULL;
    job->drop = gsa_cuda_drop_of(&args->dropout, args->edges);
    job->out = (float *)args->out, job->lse = (float *)args->lse, job->dq = (float *)args->dq;
    job->kept_out = job->out, job->kept_lse = job->lse;
}

/* Windows first .. first+count-1; a block leaves at once where the way is by edges. */
static gsa_status launch(gsa_backend *b, const char *op, const window_choice *choice,
                         window_job *job, int64_t first, int64_t count)
{
    int64_t blocks;
    while (choice->dim < job->dim) choice++;
    job->first_window = first;
    GSA_TRY(gsa_cuda_grid(b, op, count * job->heads, 1, &blocks));
    const int bf16 = gsa_cuda_of(b)->attention == GSA_CUDA_BF16;
    const window_kernel attend_window = bf16 ? choice->bf16 : choice->tf32;
    return GSA_RUN(b, attend_window, blocks, GSA_WARP, *job);
}

gsa_status gsa_windows_forward(gsa_backend *b, const attend_windows *windows,
                               const attend_job *edges)
{
    window_job job;
    set_job(&job, windows, edges, 0);
    return launch(b, "attend_forward", gsa_window_forward_choices, &job, 0, job.w.count);
}

gsa_status gsa_windows_rows(gsa_backend *b, const attend_windows *windows, const attend_job *edges,
                            int64_t first, int64_t count)
{
    window_job job;
    set_job(&job, windows, edges, 0);
    job.delta = edges->delta, job.label_sum = edges->label_sum, job.first_item = edges->first_item;
    job.set_dq = edges->set_dq;
    return launch(b, "attend_backward", gsa_window_rows_choices, &job, first / GSA_WINDOW_ROWS,
                  (count + GSA_WINDOW_ROWS - 1) / GSA_WINDOW_ROWS);
}

gsa_status gsa_windows_sources(gsa_backend *b, const attend_windows *windows,
                               const attend_job *edges)
{
    window_job job;
    set_job(&job, windows, edges, 1);
    job.delta = edges->delta;
    job.set_dk = edges->set_dk, job.set_dv = edges->set_dv;
    return launch(b, "attend_backward", gsa_window_sources_choices, &job, 0, job.w.count);
}
