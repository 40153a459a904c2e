/* graph.cu - steps that are launched as graphs.
 *
 * A step is captured anew each time, so its graph holds this step's pointers, sizes, rates and
 * numbers: nothing in it can be stale. Then an executable graph of an earlier step is given the new
 * one's arguments (cudaGraphExecUpdate), and launched; where all that have as many nodes at this
 * place of the step refuse them, one is made. Steps in which that happens cost
 * credit, others earn it; without credit all further steps are queued call by call. The first step
 * is queued so as well: libraries load, and memory is allocated.
 *
 * What a captured stream forbids (waiting, allocating, downloading) ends the capture, launches it,
 * and begins the next: a step is as many graphs as it needs, in the order of its calls. An error
 * drops what was captured: plans that it was to make are forgotten with it, and the rest of the
 * step fails, its end too, even where the call in which it came to light was one that may fail.
 * The mode is relaxed: what would be stale is memory that is freed during a capture, and all of it
 * is the cache's, which leaves first. */
#include "kernels/cuda.h"
#include "kernels/cuda/plan.h"

/* A step in which a graph was made costs as much as this many that earn. */
enum { GRAPHS = 128, CREDIT = 64, COST = 4 };

typedef struct step_graph {
    cudaGraphExec_t exec; /* NULL: free */
    size_t nodes;
    int place; /* which of the step's graphs it is */
    int64_t used;
} step_graph;

struct gsa_cuda_steps {
    int in_step, capturing,
        spoiled;       /* spoiled: captured work was dropped, and plans may be missing */
    gsa_error dropped; /* why work of the present step was dropped; status GSA_OK: none was */
    int seen;          /* was a step before this one? */
    int place, made;   /* graphs launched and made of the present step */
    int calls;         /* in the present capture */
    int credit;
    int64_t clock;
    step_graph graph[GRAPHS];
};

/* ---- one graph ----------------------------------------------------------------------------- */
static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph)
{
#if defined(CUDART_VERSION) && CUDART_VERSION < 12000
    cudaGraphNode_t node;
    cudaGraphExecUpdateResult result;
    return cudaGraphExecUpdate(exec, graph, &node, &result);
#else
    cudaGraphExecUpdateResultInfo result;
    return cudaGraphExecUpdate(exec, graph, &result);
#endif
}

/* An executable graph with this graph's arguments: one that was launched for this place and takes
 * them, or a new one, in the place of a free one or of what was not used longest. A refusal does no
 * harm: what an update left is what the next one writes over. */
static gsa_status prepare(gsa_backend *b, cudaGraph_t graph, size_t nodes, cudaGraphExec_t *exec)
{
    gsa_cuda_steps *t = gsa_cuda_of(b)->steps;
    step_graph *oldest = &t->graph[0];
    for (step_graph &g : t->graph) {
        if (g.used < oldest->used) oldest = &g;
        if (!g.exec || g.place != t->place || g.nodes != nodes) continue;
        if (update(g.exec, graph) == cudaSuccess) {
            g.used = ++t->clock, *exec = g.exec;
            return GSA_OK;
        }
        cudaGetLastError();
    }
    if (oldest->exec) cudaGraphExecDestroy(oldest->exec);
    *oldest = step_graph{};
    t->made++;
    const gsa_status status = GSA_CUDA(b, cudaGraphInstantiateWithFlags(exec, graph, 0));
    if (status == GSA_OK) *oldest = step_graph{ *exec, nodes, t->place, ++t->clock };
    else t->credit = -1;
    return status;
}

static gsa_status launch(gsa_backend *b, cudaGraph_t graph)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    cudaGraphExec_t exec;
    size_t nodes = 0;
    GSA_TRY(GSA_CUDA(b, cudaGraphGetNodes(graph, NULL, &nodes)));
    if (nodes == 0) return GSA_OK;
    GSA_TRY(prepare(b, graph, nodes, &exec));
    GSA_TRY(GSA_CUDA(b, cudaGraphLaunch(exec, s->stream)));
    s->steps->place++;
    return GSA_OK;
}

/* ---- into a capture and out of it ---------------------------------------------------------- */
void gsa_cuda_enter_capture(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_steps *t = s->steps;
    if (t == NULL || !t->in_step || t->capturing || s->lost != cudaSuccess) return;
    t->capturing = cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeRelaxed) == cudaSuccess;
    t->calls = 0;
    if (t->capturing) return;
    cudaGetLastError();
    t->in_step = 0;
}

int gsa_cuda_in_step(gsa_backend *b)
{
    const gsa_cuda_steps *t = gsa_cuda_of(b)->steps;
    return t != NULL && t->in_step;
}

void gsa_cuda_keep_dropped(gsa_backend *b)
{
    gsa_cuda_steps *t = gsa_cuda_of(b)->steps;
    if (t->dropped.status == GSA_OK) t->dropped = b->error;
}

static gsa_status tell_dropped(gsa_backend *b)
{
    const gsa_error *dropped = &gsa_cuda_of(b)->steps->dropped;
    if (dropped->status != GSA_OK) b->error = *dropped;
    return dropped->status;
}

/* Products that wait go on waiting. */
static gsa_status end_capture(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_steps *t = s->steps;
    cudaGraph_t graph = NULL;
    t->capturing = 0;
    gsa_status status = GSA_CUDA(b, cudaStreamEndCapture(s->stream, &graph));
    if (status == GSA_OK) status = launch(b, graph);
    if (graph) cudaGraphDestroy(graph);
    if (status != GSA_OK) t->spoiled = 1, t->in_step = 0, gsa_cuda_keep_dropped(b);
    return status;
}

gsa_status gsa_cuda_leave_capture(gsa_backend *b)
{
    const gsa_cuda_steps *t = gsa_cuda_of(b)->steps;
    gsa_cuda_stream(b);
    if (t == NULL) return GSA_OK;
    return t->capturing ? end_capture(b) : tell_dropped(b);
}

int gsa_cuda_drop_capture(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_steps *t = s->steps;
    if (t == NULL || !t->capturing) return 0;
    cudaGraph_t graph = NULL;
    t->capturing = t->in_step = 0;
    t->spoiled = 1;
    cudaStreamEndCapture(s->stream, &graph);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();
    return 1;
}

gsa_status gsa_cuda_count_call(gsa_backend *b)
{
    gsa_cuda_steps *t = gsa_cuda_of(b)->steps;
    if (t == NULL) return GSA_OK;
    if (!t->capturing) return tell_dropped(b);
    if (++t->calls < GSA_GRAPH_CALLS) return GSA_OK;
    /* Which products are one call of the library must not depend on the cut: its bits may. */
    GSA_TRY(end_capture(b));
    gsa_cuda_enter_capture(b);
    return GSA_OK;
}

void gsa_cuda_settle_capture(gsa_backend *b)
{
    gsa_cuda_steps *t = gsa_cuda_of(b)->steps;
    if (t == NULL || !t->spoiled) return;
    t->spoiled = 0;
    gsa_cuda_forget_plans(b);
}

/* ---- the table's entries ------------------------------------------------------------------- */
static gsa_status step_begin(gsa_backend *b)
{
    gsa_cuda_steps *t = gsa_cuda_of(b)->steps;
    GSA_TRY(GSA_CUDA(b, cudaSuccess)); /* a lost device fails here */
    t->place = t->made = 0;
    t->in_step = t->seen && t->credit >= 0;
    t->seen = 1;
    gsa_cuda_enter_capture(b);
    return GSA_OK;
}

static gsa_status step_end(gsa_backend *b, int *graphs)
{
    gsa_cuda_steps *t = gsa_cuda_of(b)->steps;
    const gsa_status status = gsa_cuda_leave_capture(b);
    t->in_step = 0;
    t->dropped.status = GSA_OK;
    *graphs = t->place;
    if (t->made > 0) t->credit -= COST;
    else if (t->place > 0 && t->credit < CREDIT) t->credit++;
    gsa_cuda_settle_capture(b);
    return status == GSA_OK ? GSA_CUDA(b, cudaSuccess) : status; /* a lost device fails here too */
}

void gsa_cuda_close_steps(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    if (s->steps == NULL) return;
    gsa_cuda_drop_capture(b);
    for (step_graph &g : s->steps->graph)
        if (g.exec) cudaGraphExecDestroy(g.exec);
    gsa_release(b->system, s->steps);
    s->steps = NULL;
}

extern "C" gsa_status gsa_cuda_use_graphs(gsa_backend *b)
{
    if (!gsa_cuda_is(b))
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "backend '%s' has no graphs of calls; only cuda has", b->name);
    gsa_cuda_state *s = gsa_cuda_of(b);
    if (s->steps) return GSA_OK;
    s->steps = (gsa_cuda_steps *)gsa_alloc_zero(b->system, 1, sizeof *s->steps);
    if (s->steps == NULL)
        return gsa_out_of_memory(&b->error, "graphs of calls", (int64_t)sizeof *s->steps);
    s->steps->credit = CREDIT;
    b->step_begin = step_begin;
    b->step_end = step_end;
    return GSA_OK;
}
