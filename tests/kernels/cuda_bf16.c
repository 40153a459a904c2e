/* Attention on arrays that are stored in bf16: all that the float kernels are held to, against ref
 * on rounded arrays, and how far that is from no rounding. */
#include "cuda_cases.h"
#include <float.h>
#include <math.h>
#include <string.h>

float to_bf16(float x)
{
    int exponent;
    if (!isfinite(x) || x == 0) return x;
    frexp((double)x, &exponent);
    const double step = ldexp(1, (exponent < -125 ? -125 : exponent) - 8);
    return (float)(rint((double)x / step) * step);
}

/* Rows of one edge give the v that they read: the rounding itself, in arrays that begin and end
 * anywhere. */
static void roundings(tally *t, gsa_backend *b)
{
    enum { ROWS = 21, MOST = ROWS + 3 };
    static const uint32_t odd[] = { 0x3f808000, 0x3f818000, 0x3f80c000, 0x3f807fff, 0x3f808001,
                                    0x7f7fffff, 0x7f7f7fff, 0x7f800000, 0xff800000, 0x7f800001,
                                    0x7fc00000, 0xffffffff, 0x00000001, 0x00008000, 0x00018000,
                                    0x007fffff, 0x80808000, 0xbf828000, 0x42280000, 0x00800000,
                                    0xc1234567 };
    float v[MOST], k[MOST] = { 0 }, out[ROWS];
    for (int32_t offset = 0; offset < 4; offset++) {
        edges_maker m;
        const int64_t part_rows[1] = { ROWS };
        edges_begin(&m, 1, part_rows, 1);
        for (int32_t i = 0; i < ROWS; i++) {
            edges_row(&m, 0, i);
            edges_run(&m, (gsa_run){ .first = i, .count = 1 });
            memcpy(&v[i + offset], &odd[i], 4);
        }
        gsa_edges edges = edges_upload(b, edges_done(&m, 0, 0, NULL));
        float *dv = put(b, v, sizeof v), *dk = put(b, k, sizeof k), *dout = put(b, k, sizeof k),
              *dlse = put(b, k, sizeof k);
        gsa_part parts[GSA_MAX_KINDS] = { { .k = dk, .v = dv + offset } };
        const gsa_attend_args args = { .edges = &edges,
                                       .heads = 1,
                                       .head_dim = 1,
                                       .scale = 1,
                                       .q = dk,
                                       .parts = parts,
                                       .out = dout,
                                       .lse = dlse };
        must(b, b->attend_forward(b, &args) == GSA_OK);
        get(b, out, dout, sizeof out);
        for (int i = 0; i < ROWS; i++) {
            float x;
            memcpy(&x, &odd[i], 4);
            const float want = to_bf16(x);
            check(t, isnan(x) ? isnan(out[i]) : out[i] == want, "%08x is stored as %a, expected %a",
                  (unsigned)odd[i], (double)out[i], (double)want);
        }
        edges_unload(b, &edges);
        edges_free(&m);
        b->free(b, dv), b->free(b, dk), b->free(b, dout), b->free(b, dlse);
    }
}

/* Two kinds over one plane of keys and one of values: each copied once, gradients one kind after
 * the other. */
static void shared_planes(tally *t, const both *pair)
{
    static const int32_t widths[] = { 8, 10, 33, 64 };
    for (int form = 0; form < 3; form++)
        for (int d = 0; d < 4; d++) {
            edges_maker maker;
            hub_graph(&maker, form, 3);
            attend_pair(t, pair->cuda, pair->ref, &maker.view, 2, widths[d],
                        WITH_VECTORS | ALIASED | BF16, "bf16, one plane");
            edges_free(&maker);
        }
}

/* The device of that name. */
static void named(tally *t)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    const gsa_status status = gsa_backend_open(NULL, "cuda-bf16", GSA_F32, 1, &b, &error);
    check(t, status == GSA_OK, "cuda-bf16: %s", error.text);
    if (status != GSA_OK) return;
    check(t, strstr(b->name, "), in bf16") != NULL, "'%s'", b->name);
    roundings(t, b);
    gsa_backend_release(b);
}

/* Float, bf16 and float again on one backend, whose name says which. */
static void choices(tally *t, const both *pair)
{
    edges_maker maker;
    gsa_dice dice = { 16 };
    edges_random(
        &maker, &dice,
        (edges_wish){ .examples = 2, .kinds = 2, .row_kinds = 1, .labels = 3, .nodes = 20 });
    for (int turn = 0; turn < 3; turn++) {
        const int bf16 = turn % 2;
        check(t,
              gsa_cuda_choose_attention(pair->cuda, bf16 ? GSA_CUDA_BF16 : GSA_CUDA_FUSED) ==
                  GSA_OK,
              "%s", pair->cuda->error.text);
        check(t, (strstr(pair->cuda->name, "), in bf16") != NULL) == bf16, "'%s'",
              pair->cuda->name);
        attend_pair(t, pair->cuda, pair->ref, &maker.view, 2, 16, WITH_WEIGHTS | (bf16 ? BF16 : 0),
                    "storages in turn");
    }
    edges_free(&maker);
}

void bf16_case(tally *t)
{
    both pair = open_both();
    choices(t, &pair);
    must(pair.cuda, gsa_cuda_choose_attention(pair.cuda, GSA_CUDA_BF16) == GSA_OK);
    named(t);
    shared_planes(t, &pair);
    every_width(t, &pair, BF16);
    every_hub(t, &pair, BF16);
    every_topology(t, &pair, BF16);
    close_both(&pair);
}
