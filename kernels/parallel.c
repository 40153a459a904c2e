#include "kernels/parallel.h"

/* One thread never enters OpenMP: a process that forks after such calls has no thread pool to lose. */
static void in_order(int64_t items, void (*body)(void *context, int64_t item), void *context)
{
    for (int64_t i = 0; i < items; i++) body(context, i);
}

#if defined(GSA_HAVE_OPENMP)
void gsa_parallel(int threads, int64_t items, void (*body)(void *context, int64_t item), void *context)
{
    const int team = threads < items ? threads : (int)items;
    if (team <= 1) {
        in_order(items, body, context);
        return;
    }
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (int64_t i = 0; i < items; i++) body(context, i);
}
#else
void gsa_parallel(int threads, int64_t items, void (*body)(void *context, int64_t item), void *context)
{
    (void)threads;
    in_order(items, body, context);
}
#endif
