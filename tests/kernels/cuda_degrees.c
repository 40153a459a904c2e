/* Attention by rows with the most edges first: the bits of rows in their own order, which stay with
 * ref. */
#include "cuda_cases.h"
#include "support/thin.h"
#include <stdio.h>
#include <string.h>
#if defined(GSA_ON_EXECUTOR)
#include "simt.h"
#endif

static const int all_flags[] = { 0, WITH_VECTORS | WITH_BIAS, WITH_DROPOUT | WITH_WEIGHTS,
                                 WITH_VECTORS | WITH_BIAS | WITH_DROPOUT | WITH_WEIGHTS |
                                     MISALIGNED,
                                 ALIASED | WITH_BIAS };
static const int32_t widths[] = { 1, 4, 10, 16, 25, 32, 50, 64 };

/* Rows of no edge to hundreds, several kinds, examples and heads. */
static void random_graphs(tally *t, const both *pair, int more, const char *how)
{
    for (int i = 0; i < 24; i += GSA_THIN(3)) {
        char name[96];
        edges_maker m;
        gsa_dice dice = { 5000 + (uint64_t)i };
        const int flags = all_flags[i % 5], heads = 1 + (i % 3 + i / 9) % 3;
        snprintf(name, sizeof name, "by degree%s, random %d", how, i);
        edges_random(&m, &dice,
                     (edges_wish){ .examples = 1 + i / 3 % 3,
                                   .kinds = 1 + i % 4,
                                   .row_kinds = 1 + i % 2,
                                   .labels = 7,
                                   .nodes = 30 + 10 * (i % 4),
                                   .equal_kinds = (flags & ALIASED) != 0 });
        attend_pair(t, pair->cuda, pair->ref, &m.view, heads, widths[i % 8], flags | more, name);
        edges_free(&m);
    }
}

#if defined(GSA_ON_EXECUTOR)
/* An order is made where one is asked for: with kernels of its own. */
static int64_t launches_of(const both *pair, int by_degree)
{
    edges_maker m;
    tally unused = { 0, 0 };
    hub_graph(&m, 1, 3);
    must(pair->cuda, gsa_cuda_choose_order(pair->cuda, by_degree) == GSA_OK);
    const int64_t before = simt_launches();
    attend_pair(&unused, pair->cuda, pair->ref, &m.view, 2, 8, by_degree ? BY_DEGREE : 0,
                "launches");
    edges_free(&m);
    return simt_launches() - before;
}
#endif

/* The name says what was chosen last, in whatever order. */
static void said(tally *t)
{
    static const struct {
        int attention, by_degree; /* -1: as it is */
        const char *end;
    } chosen[] = { { -1, 1, "), rows by degree" },
                   { GSA_CUDA_BF16, -1, "), attention in bf16, rows by degree" },
                   { GSA_CUDA_FUSED, -1, "), rows by degree" },
                   { GSA_CUDA_BF16_TENSOR, -1,
                     "), attention in bf16 on tensor cores, rows by degree" },
                   { -1, 0, "), attention in bf16 on tensor cores" },
                   { -1, 1, "), attention in bf16 on tensor cores, rows by degree" },
                   { GSA_CUDA_FUSED, 0, ")" } };
    gsa_backend *b = open_cuda();
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        if (chosen[i].attention >= 0)
            must(b, gsa_cuda_choose_attention(b, chosen[i].attention) == GSA_OK);
        if (chosen[i].by_degree >= 0)
            must(b, gsa_cuda_choose_order(b, chosen[i].by_degree) == GSA_OK);
        check(t, strcmp(strchr(b->name, ')'), chosen[i].end) == 0, "choice %zu: '%s'", i, b->name);
    }
    gsa_backend_release(b);
}

void degrees_case(tally *t)
{
    both pair = open_both();
    said(t);
    fails(t, pair.ref, gsa_cuda_choose_order(pair.ref, 1), GSA_ERR_UNSUPPORTED, "'ref'");
    every_hub(t, &pair, BY_DEGREE);
    every_topology(t, &pair, BY_DEGREE);
    random_graphs(t, &pair, BY_DEGREE, "");
    must(pair.cuda, gsa_cuda_choose_attention(pair.cuda, GSA_CUDA_BF16) == GSA_OK);
    random_graphs(t, &pair, BY_DEGREE | BF16, " in bf16");
    must(pair.cuda, gsa_cuda_choose_attention(pair.cuda, GSA_CUDA_TENSOR) == GSA_OK &&
                        gsa_cuda_choose_windows(pair.cuda, 1.5, 0.3) == GSA_OK);
    random_graphs(t, &pair, BY_DEGREE, " beside windows");
#if defined(GSA_ON_EXECUTOR)
    const int64_t plain = launches_of(&pair, 0), ordered = launches_of(&pair, 1);
    check(t, ordered >= plain + 4, "%lld launches, by degree %lld", (long long)plain,
          (long long)ordered);
#endif
    close_both(&pair);
}
