/* write_mtx.c - Matrix Market: entry (destination, source) = how many edges join them over the
 * drawn phases, layers and heads, or the sum of their weights. Rows ascend; inside a row entries
 * are in the order of their first edge. 20 bytes a node. */
#include "graph/write_parts.h"
#include "graph/index.h"

typedef struct row_sum {
    const gsa_drawing *drawing;
    int64_t *count;   /* [nodes] edges of the current row from each source; all 0 between rows */
    double *weight;   /* [nodes] their weights; NULL: the picture has none */
    int32_t *touched; /* [nodes] the sources that have some */
    int64_t used;
} row_sum;

static void add_edge(void *context, const gsa_drawn_edge *e)
{
    row_sum *sum = context;
    if (sum->count[e->from]++ == 0) {
        sum->touched[sum->used++] = (int32_t)e->from;
        if (sum->weight) sum->weight[e->from] = 0;
    }
    if (sum->weight) sum->weight[e->from] += gsa_draw_weight(sum->drawing, e);
}

/* Sums one node's row; writes it when there is an output. Returns the number of entries. */
static int64_t sum_row(int kind, int64_t index, row_sum *sum, gsa_output *output)
{
    const gsa_drawing *d = sum->drawing;
    sum->used = 0;
    gsa_draw_node_edges(d, kind, index, add_edge, sum);
    for (int64_t i = 0; i < sum->used; i++) {
        const int32_t source = sum->touched[i];
        if (output) {
            gsa_draw_int(output, d->kinds[kind].first + index + 1);
            gsa_output_text(output, " ");
            gsa_draw_int(output, source + 1);
            gsa_output_text(output, " ");
            if (sum->weight) gsa_draw_real(output, sum->weight[source]);
            else gsa_draw_int(output, sum->count[source]);
            gsa_output_text(output, "\n");
        }
        sum->count[source] = 0;
    }
    return sum->used;
}

static int64_t sum_rows(row_sum *sum, gsa_output *output)
{
    const gsa_drawing *d = sum->drawing;
    int64_t entries = 0;
    for (int k = 0; k < d->n_kinds; k++)
        for (int64_t i = 0; i < d->kinds[k].count && !gsa_output_failed(output); i++)
            entries += sum_row(k, i, sum, output);
    return entries;
}

gsa_status gsa_write_mtx(const gsa_drawing *d, gsa_error *error)
{
    const int real = d->columns > 0;
    row_sum sum = { .drawing = d };
    if (d->nodes > gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT, "Matrix Market: %lld nodes, at most %d can be",
                        (long long)d->nodes, gsa_index_most);
    sum.count = gsa_alloc_zero(d->system, (size_t)d->nodes, sizeof *sum.count);
    sum.weight = real ? gsa_alloc(d->system, (size_t)d->nodes, sizeof *sum.weight) : NULL;
    sum.touched = gsa_alloc(d->system, (size_t)d->nodes, sizeof *sum.touched);
    gsa_status status = GSA_OK;
    if (!sum.count || !sum.touched || (real && !sum.weight))
        status = gsa_out_of_memory(error, "Matrix Market", d->nodes * 20);
    else {
        gsa_output_format(d->output, "%%%%MatrixMarket matrix coordinate %s general\n",
                          real ? "real" : "integer");
        gsa_output_format(
            d->output, "%% %.200s, length %lld, %lld edges; row = destination, column = source\n",
            d->topologies, (long long)d->length, (long long)d->edges);
        gsa_output_format(d->output, "%lld %lld %lld\n", (long long)d->nodes, (long long)d->nodes,
                          (long long)sum_rows(&sum, NULL));
        sum_rows(&sum, d->output);
    }
    gsa_release(d->system, sum.count);
    gsa_release(d->system, sum.weight);
    gsa_release(d->system, sum.touched);
    return status;
}
