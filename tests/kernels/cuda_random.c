/* Attention over random graphs, in float, in bf16 and next to windows, against ref. */
#include "cuda_cases.h"
#include "support/thin.h"
#include <stdio.h>

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
        snprintf(name, sizeof name, "random%s %d", how, i);
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

/* As many kinds as a launch's parameters hold, one more, and all that there can be. */
static void many_kinds(tally *t, const both *pair, int more, const char *how)
{
    static const int32_t kinds[] = { 12, 13, GSA_MAX_KINDS };
    for (int i = 0; i < 3; i++)
        for (int f = 0; f < 5; f += GSA_THIN(2)) {
            char name[96];
            edges_maker m;
            gsa_dice dice = { 6000 + (uint64_t)i };
            snprintf(name, sizeof name, "%d kinds%s, flags %d", (int)kinds[i], how, all_flags[f]);
            edges_random(&m, &dice,
                         (edges_wish){ .examples = 2,
                                       .kinds = kinds[i],
                                       .row_kinds = 1,
                                       .labels = 5,
                                       .nodes = 5,
                                       .equal_kinds = (all_flags[f] & ALIASED) != 0 });
            attend_pair(t, pair->cuda, pair->ref, &m.view, 2, f % 2 ? 10 : 16, all_flags[f] | more,
                        name);
            edges_free(&m);
        }
}

void random_case(tally *t)
{
    both pair = open_both();
    random_graphs(t, &pair, 0, "");
    many_kinds(t, &pair, 0, "");
    must(pair.cuda, gsa_cuda_choose_attention(pair.cuda, GSA_CUDA_BF16) == GSA_OK);
    random_graphs(t, &pair, BF16, " in bf16");
    many_kinds(t, &pair, BF16, " in bf16");
    must(pair.cuda, gsa_cuda_choose_attention(pair.cuda, GSA_CUDA_TF32) == GSA_OK &&
                        gsa_cuda_choose_windows(pair.cuda, 0.3) == GSA_OK);
    random_graphs(t, &pair, TF32, " beside windows");
    must(pair.cuda, gsa_cuda_choose_windows(pair.cuda, 0) == GSA_OK);
    many_kinds(t, &pair, TF32, " in windows");
    close_both(&pair);
}
