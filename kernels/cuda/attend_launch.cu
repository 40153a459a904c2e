/* attend_launch.cu - launches the instance of a pass's kernel that fits a job. */
#include "kernels/cuda/attend.h"

gsa_status gsa_attend_launch(gsa_backend *b, const char *op, const attend_choice *table, int count,
                             const attend_job *job)
{
    int64_t blocks;
    attend_job tiled = *job;
    for (int i = 0; i < count; i++) {
        const attend_choice *one = &table[i];
        const int held = one->v * one->g * one->c, groups = GSA_THREADS / one->g;
        if (one->v > job->widest || job->dim % one->v != 0 || held < job->dim ||
            (one->lean && (held != job->dim || job->drop.on)))
            continue;
        tiled.row_tiles = job->rows_done ? 0 : (job->row_count + groups - 1) / groups;
        const int64_t tiles = tiled.row_tiles + (job->piece_count + groups - 1) / groups;
        GSA_TRY(gsa_cuda_grid(b, op, tiles * job->head_count, 1, &blocks));
        return GSA_RUN(b, one->kernel, blocks, GSA_THREADS, tiled);
    }
    return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                    "%s: head_dim %d exceeds 256, the most that the kernels hold", op,
                    (int)job->dim);
}
