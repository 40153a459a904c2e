/* crf.cu - the linear-chain conditional random field: forward-backward and Viterbi over ragged
 * sequences, in double.
 *
 * A block a walk: all paths of a sequence, or those of them that agree with its targets. Its
 * threads have a tag each, or several; a block is as wide as the tags need, up to WIDEST. The
 * recursions are those of kernels/ref/crf.c: sums of exp(x - top) with a table of exp(w - shift),
 * done again term by term in log space where too much of them vanished. Expected transitions are
 * one product over all tokens, in tiles of pairs and chunks of tokens. Every sum has a fixed
 * order. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/reduce.h"

enum { WIDEST = 256, HELD = 256 /* tags whose exponentials are in shared memory */ };
enum { ALL, AGREEING, WALKS };
/* Pairs of a block's side, tokens at a time in shared memory, tokens of a chunk at least. */
enum { TILE = 16, STAGE = 8, CHUNK = 128 };
enum { NOTHING, FIRST, STEP };
#define CRF_SMALL 1e-200 /* what underflows (1e-308) is nothing next to it, nor times CRF_LARGE */
#define CRF_LARGE 1e100

/* A token in one walk. STEP: exp(alpha[t-1,i] + w[i,j] + next[t,j] - total) is the product of
 * exp(alpha - top_before), exp(w - shift), exp(next - top_next) and factor. NOTHING: no path of its
 * sequence counts. */
typedef struct crf_mark {
    double top_before, top_next, total, factor;
    int32_t what, zero;
} crf_mark;

typedef struct crf_job {
    gsa_crf_args args;
    int64_t sequences, tokens, tags, chunk, chunks;
    gsa_cuda_watch bad_offset, bad_target;
    double *out, *into;      /* [tags, tags] w by row, and transposed: -inf where forbidden */
    double *e_out, *e_into;  /* exp(w - shift) */
    double *begin, *stop;    /* [tags] */
    double *row_top, *shift; /* [tags] the largest w of each row, and [1] of all */
    double *alpha, *next,
        *use; /* [WALKS, tokens, tags]; next: emission + beta; use: the probability of each tag */
    double *work;        /* [WALKS, sequences, tags] where there are more than HELD tags */
    double *total;       /* [WALKS, sequences] log sum exp s(y) */
    double *partial;     /* [sequences] nll, or [chunks, tags, tags] expected transitions */
    gsa_cuda_total loss; /* the sum of nll */
    crf_mark *mark;      /* [WALKS, tokens] */
    int32_t *predecessor;
} crf_job;

GSA_DEVICE double emission(const crf_job &job, int64_t token, int64_t tag)
{
    return (double)__ldg(gsa_floats(job.args.emissions) + token * job.tags + tag);
}

/* The largest of a block, in every thread; a NaN stays one. */
GSA_DEVICE double block_top(double x)
{
    return gsa_fold_block(x, gsa_top<double>);
}

/* What is taken off before exponentials: the largest, or 0 where all are -inf. */
GSA_DEVICE double base_of(double top)
{
    return top == -INFINITY ? 0 : top;
}

/* ---- tables: a block a row ----------------------------------------------------------------- */
GSA_DEVICE double ruled(const crf_job &job, int64_t row, int64_t tag, const void *scores,
                        int64_t at)
{
    const bool forbidden = job.args.allowed && !__ldg(job.args.allowed + row * job.tags + tag);
    return forbidden ? -INFINITY : (double)__ldg(gsa_floats(scores) + at);
}

static __global__ void __launch_bounds__(WIDEST) crf_rules(GSA_ARGUMENT(crf_job) job)
{
    const int64_t i = blockIdx.x, tags = job.tags;
    double top = -INFINITY;
    for (int64_t j = threadIdx.x; j < tags; j += blockDim.x) {
        const double w = ruled(job, i, j, job.args.transitions, i * tags + j);
        job.out[i * tags + j] = w;
        if (job.into) job.into[j * tags + i] = w;
        top = gsa_top(top, w);
        if (i > 0) continue;
        job.begin[j] = ruled(job, tags, j, job.args.start, j);
        job.stop[j] = ruled(job, tags + 1, j, job.args.end, j);
    }
    top = block_top(top);
    if (threadIdx.x == 0) job.row_top[i] = top;
}

static __global__ void __launch_bounds__(WIDEST) crf_exponentials(GSA_ARGUMENT(crf_job) job)
{
    const int64_t i = blockIdx.x, tags = job.tags;
    double top = -INFINITY;
    for (int64_t j = threadIdx.x; j < tags; j += blockDim.x)
        top = gsa_top(top, __ldg(job.row_top + j));
    const double shift = base_of(block_top(top));
    GSA_NO_UNROLL /* on sm_120 two of exp spill */
        for (int64_t j = threadIdx.x; j < tags; j += blockDim.x)
    {
        const double e = exp(__ldg(job.out + i * tags + j) - shift);
        job.e_out[i * tags + j] = e;
        job.e_into[j * tags + i] = e;
    }
    if (i == 0 && threadIdx.x == 0) *job.shift = shift;
}

/* ---- who a block is ------------------------------------------------------------------------ */
typedef struct crf_walk {
    int64_t sequence, first, last;
    int which;
} crf_walk;

/* Offsets that do not ascend from 0 to `tokens` make the sequence an empty one, and are
 * reported. */
GSA_DEVICE crf_walk find_walk(const crf_job &job, int64_t sequence, int which)
{
    const int64_t *const offset = job.args.offset + sequence;
    const crf_walk at = { sequence, __ldg(offset), __ldg(offset + 1), which };
    const bool good = at.first >= 0 && at.first <= at.last && at.last <= job.tokens &&
                      (sequence > 0 || at.first == 0) &&
                      (sequence + 1 < job.sequences || at.last == job.tokens);
    if (good) return at;
    if (threadIdx.x == 0) gsa_report(job.bad_offset, sequence);
    return crf_walk{ sequence, 0, 0, which };
}

/* The tag that the walk must have at a token, or -1: any. Targets that are no tag count as unknown,
 * and are reported. */
GSA_DEVICE int32_t wanted_tag(const crf_job &job, const crf_walk &at, int64_t token)
{
    if (at.which == ALL) return -1;
    const int32_t target = __ldg(job.args.targets + token);
    if (target >= -1 && target < job.tags) return target;
    if (threadIdx.x == 0) gsa_report(job.bad_target, token);
    return -1;
}

/* Where the block keeps exponentials that all of it reads. */
GSA_DEVICE double *block_room(const crf_job &job)
{
    GSA_SHARED(double, held, [HELD]);
    return job.tags <= HELD ? held : job.work + blockIdx.x * job.tags;
}

/* ---- sums over tags: x_i + w[i,j] for one j, in either direction --------------------------- */
GSA_DEVICE double sum_products(const double *e, const double *ew, int64_t tags, int64_t j)
{
    double sum[4] = { 0, 0, 0, 0 };
    int64_t i = 0;
    for (; i + 4 <= tags; i += 4) {
        GSA_UNROLL
        for (int l = 0; l < 4; l++) sum[l] += e[i + l] * __ldg(ew + (i + l) * tags + j);
    }
    for (; i < tags; i++) sum[0] += e[i] * __ldg(ew + i * tags + j);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

GSA_DEVICE double log_sum_exactly(const double *x, const double *w, int64_t tags, int64_t j)
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < tags; i++) top = gsa_top(top, x[i] + __ldg(w + i * tags + j));
    if (top == -INFINITY) return top;
    for (int64_t i = 0; i < tags; i++) sum += exp(x[i] + __ldg(w + i * tags + j) - top);
    return top + log(sum);
}

/* log sum_i exp(x_i + w[i,j]), given e_i = exp(x_i - base). */
GSA_DEVICE double log_sum(const double *x, const double *e, double base, double shift,
                          const double *w, const double *ew, int64_t tags, int64_t j)
{
    const double sum = sum_products(e, ew, tags, j);
    return sum >= CRF_SMALL ? base + shift + log(sum) : log_sum_exactly(x, w, tags, j);
}

/* e_j = exp(x_j - base) of the thread's own tags, then seen by all; mine: the largest of them.
 * Returns base. */
GSA_DEVICE double spread(double *e, const double *x, int64_t tags, double mine)
{
    const double base = base_of(block_top(mine));
    for (int64_t j = threadIdx.x; j < tags; j += blockDim.x) e[j] = exp(x[j] - base);
    __syncthreads();
    return base;
}

/* ---- the recursions ------------------------------------------------------------------------ */
GSA_DEVICE double finish_walk(const crf_job &job, const double *alpha)
{
    double top = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < job.tags; j += blockDim.x)
        top = gsa_top(top, alpha[j] + __ldg(job.stop + j));
    top = block_top(top);
    if (top == -INFINITY) return top;
    for (int64_t j = threadIdx.x; j < job.tags; j += blockDim.x)
        sum += exp(alpha[j] + __ldg(job.stop + j) - top);
    return top + log(gsa_sum_block(sum));
}

/* What backward notes of a token whose later one, if any, has the exponentials of base. */
GSA_DEVICE void note_step(crf_mark *mark, bool more, double base, double shift, double total)
{
    mark->total = total, mark->what = FIRST;
    if (!more) return;
    mark[1].top_next = base, mark[1].factor = exp(mark[1].top_before + base + shift - total);
    mark[1].what = STEP;
}

/* Forward: alpha_t[j] = emission_t[j] + log sum_i exp(alpha_{t-1}[i] + w[i,j]).
 * Backward: beta_t[i] = log sum_j exp(w[i,j] + next_{t+1}[j]),  next_t[j] = emission_t[j] +
 * beta_t[j]; where no path agrees with the targets marks are NOTHING. Four blocks at once: left to
 * itself, ptxas spills. */
template <bool BACK>
static __global__ void __launch_bounds__(WIDEST, 4) crf_recur(GSA_ARGUMENT(crf_job) job)
{
    const crf_walk at = find_walk(job, blockIdx.x / WALKS, (int)(blockIdx.x % WALKS));
    const int64_t tags = job.tags;
    const double shift = __ldg(job.shift);
    double *const sum = job.total + at.which * job.sequences + at.sequence;
    const double total = BACK ? *sum : 0;
    double *const e = block_room(job), *to = NULL, mine = -INFINITY, base = 0;
    if (BACK && __ldg(job.total + AGREEING * job.sequences + at.sequence) == -INFINITY) return;
    for (int64_t t = BACK ? at.last - 1 : at.first; BACK ? t >= at.first : t < at.last;
         t += BACK ? -1 : 1) {
        const int64_t place = at.which * job.tokens + t;
        const double *const before = to;
        const int32_t wanted = wanted_tag(job, at, t);
        to = (BACK ? job.next : job.alpha) + place * tags;
        if (before) base = spread(e, before, tags, mine);
        if (BACK && threadIdx.x == 0) note_step(job.mark + place, before, base, shift, total);
        if (!BACK && job.mark && threadIdx.x == 0) job.mark[place].top_before = base;
        mine = -INFINITY;
        for (int64_t j = threadIdx.x; j < tags; j += blockDim.x) {
            double x = -INFINITY;
            if (wanted < 0 || wanted == j) {
                x = before ? log_sum(before, e, base, shift, BACK ? job.into : job.out,
                                     BACK ? job.e_into : job.e_out, tags, j)
                           : __ldg((BACK ? job.stop : job.begin) + j);
                if (BACK)
                    job.use[place * tags + j] =
                        exp(__ldg(job.alpha + place * tags + j) + x - total);
                x += emission(job, t, j);
            } else if (BACK) job.use[place * tags + j] = 0;
            to[j] = x;
            mine = gsa_top(mine, x);
        }
    }
    if (BACK) return;
    const double all = to ? finish_walk(job, to) : 0;
    if (threadIdx.x == 0) *sum = all;
}

/* Of an empty sequence both totals are 0. */
static __global__ void __launch_bounds__(GSA_ELEMENTS) crf_losses(GSA_ARGUMENT(crf_job) job)
{
    const int64_t s = gsa_thread();
    if (s < job.sequences) {
        const double all = __ldg(job.total + s), agreeing = __ldg(job.total + job.sequences + s);
        const double nll = isnan(all) ? all : agreeing == -INFINITY ? INFINITY : all - agreeing;
        job.partial[s] = nll;
        if (job.args.nll) gsa_floats(job.args.nll)[s] = (float)nll;
    }
    gsa_finish(job.loss);
}

/* ---- expected transitions: a block has TILE x TILE pairs over a chunk of tokens, both walks ----
 */
typedef struct crf_stage {
    double x[2][STAGE][TILE],
        e[2][STAGE][TILE]; /* alpha of the tokens before, next of these; exponentials */
    crf_mark mark[STAGE];
} crf_stage;

/* The thread's share: one token of the stage, one tag, of alpha or of next. */
GSA_DEVICE void fill_stage(const crf_job &job, crf_stage &stage, int which, int64_t token,
                           int64_t last, int64_t row_tag, int64_t column_tag)
{
    const int side = threadIdx.x / (STAGE * TILE), k = threadIdx.x / TILE % STAGE,
              lane = threadIdx.x % TILE;
    const int64_t t = token + k, tag = (side == 0 ? row_tag : column_tag) + lane,
                  row = which * job.tokens + t;
    crf_mark mark = {};
    if (t < last) mark = job.mark[row];
    const bool there = mark.what == STEP && tag < job.tags;
    const double x =
        there ? (side == 0 ? job.alpha[(row - 1) * job.tags + tag] : job.next[row * job.tags + tag])
              : -INFINITY;
    stage.x[side][k][lane] = x;
    stage.e[side][k][lane] = exp(x - (side == 0 ? mark.top_before : mark.top_next));
    if (side == 0 && lane == 0) stage.mark[k] = mark;
}

static __global__ void __launch_bounds__(TILE *TILE) crf_pairs(GSA_ARGUMENT(crf_job) job)
{
    GSA_SHARED(crf_stage, stage, [1]);
    const int64_t tiles = (job.tags + TILE - 1) / TILE, chunk = blockIdx.x / (tiles * tiles),
                  tile = blockIdx.x % (tiles * tiles);
    const int64_t row_tag = tile / tiles * TILE, column_tag = tile % tiles * TILE;
    const int64_t first = chunk * job.chunk, last = min(first + job.chunk, job.tokens);
    const int row = threadIdx.x / TILE, column = threadIdx.x % TILE;
    const int64_t i = row_tag + row, j = column_tag + column, pair = i * job.tags + j;
    const bool there = i < job.tags && j < job.tags;
    const double w = there ? __ldg(job.out + pair) : 0, ew = there ? __ldg(job.e_out + pair) : 0;
    double result = 0;
    for (int which = ALL; which < WALKS; which++) {
        double products = 0, exact = 0;
        for (int64_t token = first; token < last; token += STAGE) {
            fill_stage(job, stage[0], which, token, last, row_tag, column_tag);
            __syncthreads();
            for (int k = 0; k < STAGE; k++) {
                const crf_mark &mark = stage[0].mark[k];
                if (mark.what != STEP) continue;
                if (mark.factor < CRF_LARGE)
                    products += mark.factor * stage[0].e[0][k][row] * stage[0].e[1][k][column];
                else
                    exact += exp(stage[0].x[0][k][row] + w + stage[0].x[1][k][column] - mark.total);
            }
            __syncthreads();
        }
        result += which == ALL ? products * ew + exact : -(products * ew + exact);
    }
    if (there) job.partial[chunk * job.tags * job.tags + pair] = result;
}

/* ---- what backward leaves: slope (over all paths - over those that agree) ------------------ */
GSA_DEVICE double slope_of(const crf_job &job)
{
    return job.args.scale * (double)__ldg(gsa_floats(job.args.dloss));
}

/* Uses of a tag at a token, in all paths less in those that agree. */
GSA_DEVICE double use_of(const crf_job &job, int64_t token, int64_t tag)
{
    if (job.mark[token].what == NOTHING) return 0;
    return job.use[token * job.tags + tag] - job.use[(job.tokens + token) * job.tags + tag];
}

/* A tag of dstart, then of dend: the lanes of a warp share the sequences. */
GSA_DEVICE void add_end(const crf_job &job, int64_t item, int lane)
{
    const int64_t tag = item % job.tags;
    float *const out = gsa_floats(item < job.tags ? job.args.dstart : job.args.dend);
    double sum = 0;
    if (out == NULL) return; /* a whole warp */
    for (int64_t s = lane; s < job.sequences; s += GSA_WARP) {
        const crf_walk at = find_walk(job, s, ALL);
        if (at.first < at.last) sum += use_of(job, item < job.tags ? at.first : at.last - 1, tag);
    }
    sum = gsa_sum_lanes(sum, GSA_WARP);
    if (lane == 0) out[tag] += (float)(slope_of(job) * sum);
}

/* ---- Viterbi ------------------------------------------------------------------------------- */
typedef struct crf_best {
    double score;
    int32_t tag;
} crf_best;

/* The first of the largest x_i + w[i * step]; the first NaN before all. */
GSA_DEVICE crf_best find_best(const double *x, const double *w, int64_t step, int64_t tags)
{
    crf_best best = { x[0] + __ldg(w), 0 };
    for (int64_t i = 1; i < tags; i++) {
        const double score = x[i] + __ldg(w + i * step);
        if (score > best.score || (isnan(score) && !isnan(best.score)))
            best.score = score, best.tag = (int32_t)i;
    }
    return best;
}

/* From the last token's scores back along the predecessors: one thread. */
GSA_DEVICE void follow(const crf_job &job, const crf_walk &at, crf_best best)
{
    const bool none = best.score == -INFINITY;
    int32_t tag = best.tag;
    for (int64_t t = at.last - 1; t >= at.first; t--) {
        job.args.path[t] = none ? -1 : tag;
        if (t > at.first) tag = job.predecessor[t * job.tags + tag];
    }
    if (job.args.score) gsa_floats(job.args.score)[at.sequence] = (float)best.score;
}

static __global__ void __launch_bounds__(WIDEST) crf_viterbi(GSA_ARGUMENT(crf_job) job)
{
    GSA_SHARED(double, held, [2][HELD]);
    const int64_t tags = job.tags;
    double *const rows = tags <= HELD ? held[0] : job.work + blockIdx.x * 2 * tags;
    const crf_walk at = find_walk(job, blockIdx.x, ALL);
    for (int64_t t = at.first; t < at.last; t++) {
        double *const row = rows + (t & 1) * tags, *const before = rows + (~t & 1) * tags;
        for (int64_t j = threadIdx.x; j < tags; j += blockDim.x) {
            crf_best best = { 0, 0 };
            if (t == at.first) best.score = __ldg(job.begin + j);
            else
                best = find_best(before, job.out + j, tags, tags),
                job.predecessor[t * tags + j] = best.tag;
            row[j] = best.score + emission(job, t, j);
        }
        __syncthreads();
    }
    if (threadIdx.x > 0) return;
    crf_best best = { 0, 0 };
    if (at.first < at.last) best = find_best(rows + ((at.last - 1) & 1) * tags, job.stop, 1, tags);
    follow(job, at, best);
}

/* ---- the entries --------------------------------------------------------------------------- */
static int64_t width_of(int64_t tags)
{
    return tags <= 32 ? 32 : tags <= 64 ? 64 : tags <= 128 ? 128 : (int64_t)WIDEST;
}

enum { DECODE, FORWARD, BACKWARD };

static void lay_out(crf_job *job, int what, gsa_cuda_room &room)
{
    const int64_t tags = job->tags, square = tags * tags, planes = WALKS * job->tokens * tags,
                  walks = WALKS * job->sequences;
    room.cut(job->out, square), room.cut(job->begin, tags), room.cut(job->stop, tags);
    room.cut(job->row_top, tags), room.cut(job->shift, 1);
    room.cut(job->work, tags > HELD ? walks * tags : 0);
    if (what == DECODE) {
        room.cut(job->predecessor, job->tokens * tags);
        return;
    }
    room.cut(job->into, square), room.cut(job->e_out, square), room.cut(job->e_into, square);
    room.cut(job->alpha, planes), room.cut(job->total, walks);
    room.cut(job->partial, what == FORWARD          ? job->sequences
                           : job->args.dtransitions ? job->chunks * square
                                                    : 0);
    if (what == FORWARD) return;
    room.cut(job->next, planes), room.cut(job->use, planes);
    room.cut(job->mark, WALKS * job->tokens);
}

/* Tokens of a chunk: so many that the partial sums of all chunks stay within 32 MiB. */
static void choose_chunks(crf_job *job)
{
    const int64_t most = max((INT64_C(4) << 20) / (job->tags * job->tags), INT64_C(1)),
                  wanted = max((job->tokens + most - 1) / most, (int64_t)CHUNK);
    job->chunk = (wanted + STAGE - 1) / STAGE * STAGE;
    job->chunks = (job->tokens + job->chunk - 1) / job->chunk;
}

/* Checks, scratch and tables. */
static gsa_status begin(gsa_backend *b, const char *op, const gsa_crf_args *args, int what,
                        crf_job *job)
{
    GSA_TRY(gsa_ref_check_crf(b, op, args));
    GSA_TRY(gsa_ref_shape(b, op, args->tokens,
                          (int64_t)64 * args->tags)); /* all scratch is less than that */
    GSA_TRY(gsa_ref_shape(b, op, args->sequences, (int64_t)64 * args->tags));
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    *job = crf_job{};
    job->args = *args;
    job->sequences = args->sequences, job->tokens = args->tokens, job->tags = args->tags;
    choose_chunks(job);
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) { lay_out(job, what, room); }));
    job->bad_offset = gsa_cuda_suspect(b, GSA_FAULT_CRF_OFFSET);
    job->bad_target = gsa_cuda_suspect(b, GSA_FAULT_CRF_TARGET);
    const int64_t width = width_of(job->tags);
    GSA_TRY(GSA_RUN(b, crf_rules, job->tags, width, *job));
    return what == DECODE ? GSA_OK : GSA_RUN(b, crf_exponentials, job->tags, width, *job);
}

static gsa_status crf_forward(gsa_backend *b, const gsa_crf_args *args)
{
    crf_job job;
    GSA_TRY(begin(b, "crf_forward", args, FORWARD, &job));
    GSA_TRY(GSA_RUN_OVER(b, "crf_forward", job.sequences * WALKS, 1, width_of(job.tags),
                         crf_recur<false>, job));
    job.loss = { NULL,        0,           NULL,          gsa_floats(args->loss),
                 args->scale, job.partial, job.sequences, gsa_cuda_of(b)->counters };
    return GSA_RUN_OVER(b, "crf_forward", job.sequences > 0 ? job.sequences : 1, GSA_ELEMENTS,
                        GSA_ELEMENTS, crf_losses, job);
}

static gsa_status add_transitions(gsa_backend *b, const char *op, const crf_job &job)
{
    const int64_t tiles = (job.tags + TILE - 1) / TILE, square = job.tags * job.tags;
    const auto add = [=, to = gsa_floats(job.args.dtransitions)] __device__(int64_t pair) {
        double sum = 0;
        for (int64_t n = 0; n < job.chunks; n++) sum += job.partial[n * square + pair];
        to[pair] += (float)(slope_of(job) * sum);
    };
    if (job.args.dtransitions == NULL) return GSA_OK;
    GSA_TRY(GSA_RUN_OVER(b, op, job.chunks * tiles * tiles, 1, TILE * TILE, crf_pairs, job));
    return gsa_cuda_each(b, op, square, add);
}

static gsa_status crf_backward(gsa_backend *b, const gsa_crf_args *args)
{
    const char *const op = "crf_backward";
    crf_job job;
    GSA_TRY(begin(b, op, args, BACKWARD, &job));
    if (job.tokens == 0) return GSA_OK;
    const size_t marks = sizeof(crf_mark) * (size_t)(WALKS * job.tokens);
    const int64_t walks = job.sequences * WALKS, width = width_of(job.tags);
    GSA_TRY(GSA_CUDA(b, cudaMemsetAsync(job.mark, 0, marks, gsa_cuda_stream(b))));
    GSA_TRY(GSA_RUN_OVER(b, op, walks, 1, width, crf_recur<false>, job));
    GSA_TRY(GSA_RUN_OVER(b, op, walks, 1, width, crf_recur<true>, job));
    GSA_TRY(add_transitions(b, op, job));
    const auto emissions = [=] __device__(int64_t i) {
        gsa_floats(job.args.demissions)[i] +=
            (float)(slope_of(job) * use_of(job, i / job.tags, i % job.tags));
    };
    if (args->demissions) GSA_TRY(gsa_cuda_each(b, op, job.tokens * job.tags, emissions));
    const auto ends = [=] __device__(int64_t item, int lane) { add_end(job, item, lane); };
    if (args->dstart == NULL && args->dend == NULL) return GSA_OK;
    return gsa_cuda_each_warp(b, op, 2 * job.tags, ends);
}

static gsa_status crf_decode(gsa_backend *b, const gsa_crf_args *args)
{
    crf_job job;
    GSA_TRY(begin(b, "crf_decode", args, DECODE, &job));
    return GSA_RUN_OVER(b, "crf_decode", job.sequences, 1, width_of(job.tags), crf_viterbi, job);
}

void gsa_cuda_fill_crf(gsa_backend *b)
{
    b->crf_forward = crf_forward;
    b->crf_backward = crf_backward;
    b->crf_decode = crf_decode;
}
