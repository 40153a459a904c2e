/* gemm.cu - matrix products, by the library. Many of a step are small and alike: q, k and v of one
 * layer, gradients of their weights. So a product waits until something else is given to the stream
 * (gsa_cuda_stream), and joins an earlier one that has its shape: both are one call of the library,
 * whose matrices are a constant step apart. A product never passes one whose result it reads, or
 * whose matrices it writes. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda.h"

enum { WAITING = 8, MOST = 1 << 12 };
/* Products that sum so many terms stay alone: the library cuts k only where there is no batch (an
 * H100: three of 256 x 256 x 4096 take 66 us one by one, 103 as one call; of k = 2000 less as one).
 */
enum { ALONE = 1 << 12 };
struct gsa_cuda_products {
    int count;
    gsa_cuda_product at[WAITING];
};

/* ---- what waits ---------------------------------------------------------------------------- */
typedef gsa_cuda_span span;

/* A matrix of `rows` rows, and `more` others `step` apart. */
static span span_of(const float *at, int64_t rows, int64_t cols, int64_t ld, int more, int64_t step)
{
    const int64_t last = more * step, reach = (rows - 1) * ld + cols;
    const uintptr_t base = (uintptr_t)at;
    return span{ base + sizeof(float) * min(last, INT64_C(0)),
                 base + sizeof(float) * (max(last, INT64_C(0)) + reach) };
}

static span result_of(const gsa_cuda_product *p)
{
    return span_of(p->c, p->m, p->n, p->ldc, p->more, p->step_c);
}

/* Is x within a factor of p? */
static int reads(const gsa_cuda_product *p, span x)
{
    const int ta = p->transpose_a, tb = p->transpose_b;
    return gsa_cuda_meet(
               x, span_of(p->a, ta ? p->k : p->m, ta ? p->m : p->k, p->lda, p->more, p->step_a)) ||
           gsa_cuda_meet(
               x, span_of(p->b, tb ? p->n : p->k, tb ? p->k : p->n, p->ldb, p->more, p->step_b));
}

static int in_order(const gsa_cuda_product *earlier, const gsa_cuda_product *later)
{
    const span before = result_of(earlier), after = result_of(later);
    return gsa_cuda_meet(before, after) || reads(earlier, after) || reads(later, before);
}

static int alike(const gsa_cuda_product *p, const gsa_cuda_product *q)
{
    return p->m == q->m && p->n == q->n && p->k == q->k && p->ldc == q->ldc && p->lda == q->lda &&
           p->ldb == q->ldb && p->transpose_a == q->transpose_a &&
           p->transpose_b == q->transpose_b && p->accumulate == q->accumulate &&
           p->alpha == q->alpha && p->rounds == q->rounds;
}

/* Floats from one to the other; 0 in *whole where that is no number of them. */
static int64_t step_to(const float *from, const float *to, int *whole)
{
    const intptr_t bytes = (intptr_t)((uintptr_t)to - (uintptr_t)from);
    if (bytes % (intptr_t)sizeof(float) != 0) *whole = 0;
    return bytes / (intptr_t)sizeof(float);
}

/* Makes p one more of q, if it lies where that one would. */
static int join(gsa_cuda_product *q, const gsa_cuda_product *p)
{
    int whole = 1;
    const int next = q->more + 1;
    const int64_t c = step_to(q->c, p->c, &whole), a = step_to(q->a, p->a, &whole),
                  b = step_to(q->b, p->b, &whole);
    if (!alike(q, p) || !whole || next >= MOST || p->k >= ALONE) return 0;
    if (next > 1 && (c != next * q->step_c || a != next * q->step_a || b != next * q->step_b))
        return 0;
    if (next == 1) q->step_c = c, q->step_a = a, q->step_b = b;
    q->more = next;
    return 1;
}

gsa_status gsa_cuda_open_products(gsa_backend *b)
{
    gsa_cuda_products **at = &gsa_cuda_of(b)->products;
    *at = (gsa_cuda_products *)gsa_alloc_zero(b->system, 1, sizeof **at);
    return *at ? GSA_OK : gsa_out_of_memory(&b->error, "backend cuda", (int64_t)sizeof **at);
}

static gsa_status send(gsa_backend *b)
{
    gsa_cuda_products *waiting = gsa_cuda_of(b)->products;
    const int count = waiting->count;
    waiting->count = 0;
    for (int i = 0; i < count; i++) GSA_TRY(gsa_cuda_multiply(b, &waiting->at[i]));
    return GSA_OK;
}

/* An error takes all that waits with it. */
cudaStream_t gsa_cuda_stream(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    const int waits = s->products && (s->products->count > 0 || s->rowwise.what);
    if (!waits || s->sending) return s->stream;
    s->sending = 1;
    gsa_status status = send(b);
    if (status == GSA_OK && s->rowwise.what) status = gsa_cuda_send_rowwise(b);
    if (status != GSA_OK) s->late = b->error, s->rowwise.what = GSA_ROWWISE_NONE;
    s->sending = 0;
    return s->stream;
}

gsa_status gsa_cuda_product_add(gsa_backend *b, const gsa_cuda_product *product)
{
    gsa_cuda_products *waiting = gsa_cuda_of(b)->products;
    if (gsa_cuda_of(b)->rowwise.what) gsa_cuda_stream(b);
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    for (int i = waiting->count; i-- > 0 && !in_order(&waiting->at[i], product);)
        if (join(&waiting->at[i], product)) return GSA_OK;
    if (waiting->count == WAITING) GSA_TRY(send(b));
    waiting->at[waiting->count++] = *product;
    return GSA_OK;
}

static gsa_status gemm(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m, int64_t n,
                       int64_t k, int transpose_a, int transpose_b, int64_t ldc, int64_t lda,
                       int64_t ldb, int accumulate)
{
    const int way = gsa_cuda_of(b)->attention,
              tensor = (way == GSA_CUDA_TF32 || way == GSA_CUDA_BF16) &&
                       gsa_cuda_of(b)->capability >= 80;
    const gsa_gemm whole = {
        c, a, bb, m, n, k, ldc, lda, ldb, transpose_a, transpose_b, accumulate
    };
    const gsa_cuda_product product = {
        gsa_floats(c), gsa_floats(a), gsa_floats(bb), m,           n,          k, ldc,
        lda,           ldb,           transpose_a,    transpose_b, accumulate, 1, tensor ? way : 0
    };
    GSA_TRY(gsa_ref_check_gemm(b, &whole));
    if (m == 0 || n == 0 || (k == 0 && accumulate)) return GSA_OK;
    if (k > 0) return gsa_cuda_product_add(b, &product);
    const auto clear = [=, c = gsa_floats(c)] __device__(int64_t i) { c[i / n * ldc + i % n] = 0; };
    return gsa_cuda_each(b, "gemm", m * n, clear);
}

void gsa_cuda_fill_gemm(gsa_backend *b)
{
    b->gemm = gemm;
}
