/* How products and attention are chosen, and matrix products whose factors are rounded. */
#include "cuda_cases.h"
#include <string.h>

/* Matrix products with factors rounded to tf32 or bf16: near those of floats, and, where the
 * executor rounds them, equal to those of rounded factors. */
static void rounded_products(tally *t, both *pair, int attention, double most)
{
    enum { M = 37, N = 29, K = 41 };
    float a[M * K], bb[K * N], got[M * N], wanted[M * N];
    double gap = 0, all = 0;
    for (int i = 0; i < M * K; i++) a[i] = 0.01f * (float)((i * 37 + 11) % 201 - 100);
    for (int i = 0; i < K * N; i++) bb[i] = 0.013f * (float)((i * 53 + 7) % 199 - 99);
    must(pair->cuda, gsa_cuda_choose_attention(pair->cuda, attention) == GSA_OK);
    gsa_backend *const sides[] = { pair->cuda, pair->ref };
    for (int side = 0; side < 2; side++) {
        gsa_backend *const b = sides[side];
        float *const x = put(b, a, sizeof a), *const y = put(b, bb, sizeof bb),
                     *const c = put(b, got, sizeof got);
        must(b, b->gemm(b, c, x, y, M, N, K, 0, 0, N, K, N, 0) == GSA_OK);
        get(b, side ? wanted : got, c, sizeof got);
        b->free(b, x), b->free(b, y), b->free(b, c);
    }
    for (int i = 0; i < M * N; i++) {
        const double d = (double)got[i] - (double)wanted[i];
        gap += d * d, all += (double)wanted[i] * (double)wanted[i];
    }
    check(t, gap <= most * all, "products, attention %d: NMSE %g, at most %g", attention, gap / all,
          most);
#if defined(GSA_ON_EXECUTOR)
    check(t, attention == GSA_CUDA_FUSED || gap > 1e-3 * most * all,
          "products, attention %d: factors are not rounded, NMSE %g", attention, gap / all);
#endif
}

/* Float, bf16 and float again on one backend, whose name says which: attention is in float in all.
 */
static void choices(tally *t, const both *pair)
{
    edges_maker maker;
    gsa_dice dice = { 16 };
    edges_random(
        &maker, &dice,
        (edges_wish){ .examples = 2, .kinds = 2, .row_kinds = 1, .labels = 3, .nodes = 20 });
    for (int turn = 0; turn < 5; turn++) {
        static const int ways[] = { GSA_CUDA_FUSED, GSA_CUDA_BF16, GSA_CUDA_FUSED, GSA_CUDA_TF32,
                                    GSA_CUDA_FUSED };
        check(t, gsa_cuda_choose_attention(pair->cuda, ways[turn]) == GSA_OK, "%s",
              pair->cuda->error.text);
        check(t, (strstr(pair->cuda->name, "), in bf16") != NULL) == (turn == 1), "'%s'",
              pair->cuda->name);
        check(t, (strstr(pair->cuda->name, "), in tf32") != NULL) == (turn == 3), "'%s'",
              pair->cuda->name);
        attend_pair(t, pair->cuda, pair->ref, &maker.view, 2, 16,
                    WITH_VECTORS | WITH_BIAS | WITH_WEIGHTS, "ways in turn");
    }
    edges_free(&maker);
}

void products_case(tally *t)
{
    both pair = open_both();
    choices(t, &pair);
    rounded_products(t, &pair, GSA_CUDA_TF32, 1e-6);
    rounded_products(t, &pair, GSA_CUDA_BF16, 1e-4);
    rounded_products(t, &pair, GSA_CUDA_FUSED, 1e-12);
    close_both(&pair);
}
