/* Attention by the sparse library against ref. On the executor plain loops are in for cuSPARSE:
 * what is checked there is everything around it - lists of edges, softmax, dropout, the transpose,
 * kinds put together. */
#include "cuda_cases.h"
#include <stdio.h>
#include <string.h>

/* The fused kernels and the library, one after the other on one backend, say the same. */
static void choices(tally *t, both *pair)
{
    gsa_backend *const b = pair->cuda;
    edges_maker maker;
    gsa_dice dice = { 6 };
    edges_random(
        &maker, &dice,
        (edges_wish){ .examples = 2, .kinds = 2, .row_kinds = 1, .labels = 3, .nodes = 20 });
    for (int turn = 0; turn < 3; turn++) {
        check(t,
              gsa_cuda_choose_attention(b, turn % 2 ? GSA_CUDA_FUSED : GSA_CUDA_CUSPARSE) == GSA_OK,
              "%s", b->error.text);
        attend_pair(t, b, pair->ref, &maker.view, 2, 12, LOOSE, "versions in turn");
    }
    fails(t, b, gsa_cuda_choose_attention(b, 77), GSA_ERR_ARGUMENT, "attention 77");
    fails(t, pair->ref, gsa_cuda_choose_attention(pair->ref, GSA_CUDA_CUSPARSE),
          GSA_ERR_UNSUPPORTED, "'ref'");
    edges_free(&maker);
}

static void refusals(tally *t, gsa_backend *b)
{
    const gsa_edges edges = { .rows = 1, .kinds = 1 },
                    many = { .rows = 1, .kinds = 1, .edge_total = INT64_C(1) << 32 };
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    gsa_attend_args args = {
        .edges = &edges, .heads = 1, .head_dim = 2, .parts = parts, .label_vectors = parts
    };
    fails(t, b, b->attend_forward(b, &args), GSA_ERR_UNSUPPORTED, "no vectors that labels learn");
    args.label_vectors = NULL, args.dlabel_bias = parts;
    fails(t, b, b->attend_backward(b, &args), GSA_ERR_UNSUPPORTED, "no biases that labels learn");
    args.dlabel_bias = NULL, args.head_dim = 0;
    fails(t, b, b->attend_forward(b, &args), GSA_ERR_UNSUPPORTED, "heads of 0 columns");
    args.head_dim = 2, args.heads = -1;
    fails(t, b, b->attend_forward(b, &args), GSA_ERR_ARGUMENT, "-1 heads");
    args.heads = 1, args.edges = &many;
    fails(t, b, b->attend_forward(b, &args), GSA_ERR_LIMIT, "in 32 bits");
}

/* Edges that stand so often that there are more than pairs of rows and sources: refused before
 * anything is written. */
static void repeated(tally *t, gsa_backend *b)
{
    for (int form = 0; form < 3; form++) {
        edges_maker maker;
        gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
        hub_graph(&maker, form, 1);
        const float seven = 7;
        float *const at = put(b, &seven, sizeof seven), back = 0;
        gsa_attend_args args = { .edges = &maker.view,
                                 .heads = 1,
                                 .head_dim = 1,
                                 .parts = parts,
                                 .out = at,
                                 .dq = at,
                                 .set_dq = 1 };
        fails(t, b, b->attend_forward(b, &args), GSA_ERR_UNSUPPORTED, "6 rows x 64 sources");
        fails(t, b, b->attend_backward(b, &args), GSA_ERR_UNSUPPORTED, "6 rows x 64 sources");
        get(b, &back, at, sizeof back);
        check(t, back == seven, "hubs %d: written", form);
        b->free(b, at);
        edges_free(&maker);
    }
}

/* A row of 400 edges, a source of 301. */
static void hubs(tally *t, const both *pair)
{
    const int64_t part_rows[1] = { 512 };
    edges_maker maker;
    edges_begin(&maker, 1, part_rows, 1);
    for (int32_t row = 0; row < 301; row++) {
        edges_row(&maker, 0, row);
        edges_run(&maker, (gsa_run){ .first = 7, .count = row == 129 ? 400 : 1, .step = 1 });
    }
    edges_done(&maker, 0, 0, NULL);
    attend_pair(t, pair->cuda, pair->ref, &maker.view, 2, 10, WITH_DROPOUT | LOOSE,
                "cuSPARSE, hubs");
    edges_free(&maker);
}

void sparse_case(tally *t)
{
    static const int32_t dims[] = { 1, 3, 8, 10, 33, 64, 100, 256 };
    static const int flags[] = { 0, WITH_DROPOUT | WITH_WEIGHTS, WITH_DROPOUT | MISALIGNED };
    both pair = open_both();
    choices(t, &pair);
    must(pair.cuda, gsa_cuda_choose_attention(pair.cuda, GSA_CUDA_CUSPARSE) == GSA_OK);
    refusals(t, pair.cuda);
    repeated(t, pair.cuda);
    for (int d = 0; d < 8; d++)
        for (int f = 0; f < 3; f++)
            for (int kinds = 1; kinds < 4; kinds++) {
                char name[64];
                edges_maker maker;
                gsa_dice dice = { 50 + (uint64_t)(9 * d + 3 * f + kinds) };
                snprintf(name, sizeof name, "cuSPARSE, head_dim %d, flags %d, %d kinds",
                         (int)dims[d], flags[f], kinds);
                edges_random(
                    &maker, &dice,
                    (edges_wish){
                        .examples = 2, .kinds = kinds, .row_kinds = 1, .labels = 2, .nodes = 20 });
                attend_pair(t, pair.cuda, pair.ref, &maker.view, 1 + (d + f) % 3, dims[d],
                            flags[f] | LOOSE, name);
                edges_free(&maker);
            }
    hubs(t, &pair);
    close_both(&pair);
    printf("multiplied by %s\n",
#if defined(GSA_ON_EXECUTOR)
           "plain loops: cuSPARSE is skipped here");
#else
           "cuSPARSE");
#endif
}
