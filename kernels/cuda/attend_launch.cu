/* attend_launch.cu - launches the instance of a pass's kernel that fits a job. */
#include "kernels/cuda/attend.h"

gsa_status gsa_attend_launch(gsa_backend *b, const char *op, const attend_choice *table, int count,
                             const attend_job *job)
{
    int64_t blocks;
    const int most = job->bf16 && job->widest == 4 ? 8 : job->widest,
              lean = !job->r && !job->bias && !job->drop.on && !job->label_sum;
    attend_job tiled = *job;
    for (int i = 0; i < count; i++) {
        const attend_choice *one = &table[i];
        const int held = one->v * one->g * one->c, groups = GSA_THREADS / one->g;
        if (one->bf16 != job->bf16 || one->v > most || job->dim % one->v != 0 || held < job->dim ||
            (one->lean && !(lean && held == job->dim)))
            continue;
        tiled.tiled = !job->pieced && job->first_item == 0 && job->items == job->rows * job->heads;
        GSA_TRY(tiled.tiled ? gsa_cuda_grid(b, op, (job->rows + groups - 1) / groups * job->heads,
                                            1, &blocks)
                            : gsa_cuda_grid(b, op, job->items, groups, &blocks));
        return GSA_RUN(b, one->kernel, blocks, GSA_THREADS, tiled);
    }
    return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                    "%s: head_dim %d exceeds 256, the most that the kernels hold", op,
                    (int)job->dim);
}
