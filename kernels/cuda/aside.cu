/* aside.cu - a second stream, whose work runs beside that of the first: sums over ranks during a
 * backward pass. Each waits for the other by an event; the host waits for neither. What is captured
 * is launched before, for another stream must not wait for a captured event. */
#include "kernels/cuda/state.h"

void gsa_cuda_close_aside(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_aside *a = &s->aside;
    if (a->stream && s->lost == cudaSuccess) cudaStreamSynchronize(a->stream);
    gsa_cuda_undo(a->before), gsa_cuda_undo(a->done), gsa_cuda_undo(a->stream);
}

static gsa_status cuda_aside(gsa_backend *b, void **queue)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_aside *a = &s->aside;
    if (!a->on) {
        GSA_TRY(gsa_cuda_leave_capture(b));
        GSA_TRY(gsa_cuda_need(b, &a->stream));
        GSA_TRY(gsa_cuda_need(b, &a->before));
        GSA_TRY(gsa_cuda_need(b, &a->done));
        GSA_TRY(GSA_CUDA(b, cudaEventRecord(a->before, gsa_cuda_stream(b))));
        GSA_TRY(GSA_CUDA(b, cudaStreamWaitEvent(a->stream, a->before, 0)));
        a->work = s->stream, s->stream = a->stream, a->on = 1;
    }
    *queue = gsa_cuda_stream(b);
    return GSA_CUDA(b, cudaSuccess); /* a lost device fails here, and what could not be queued */
}

static gsa_status cuda_back(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_aside *a = &s->aside;
    if (!a->on) return GSA_OK;
    const gsa_status status = GSA_CUDA(b, cudaEventRecord(a->done, gsa_cuda_stream(b)));
    s->stream = a->work, a->on = 0, a->pending = 1;
    gsa_cuda_enter_capture(b);
    return status;
}

static gsa_status cuda_meet(gsa_backend *b)
{
    gsa_cuda_aside *a = &gsa_cuda_of(b)->aside;
    if (!a->pending) return GSA_CUDA(b, cudaSuccess);
    GSA_TRY(gsa_cuda_leave_capture(b));
    a->pending = 0;
    GSA_TRY(GSA_CUDA(b, cudaStreamWaitEvent(gsa_cuda_stream(b), a->done, 0)));
    gsa_cuda_enter_capture(b);
    return GSA_OK;
}

void gsa_cuda_fill_aside(gsa_backend *b)
{
    b->aside = cuda_aside, b->back = cuda_back, b->meet = cuda_meet;
}
