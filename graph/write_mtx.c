/* write_mtx.c - Matrix Market: entry (destination, source) = how many edges join them over the drawn phases and heads. Rows
 * ascend; inside a row entries stand in the order of their first edge. Memory 12 bytes a node. */
#include "graph/write_parts.h"

typedef struct row_sum {
    int64_t *count;   /* [nodes] edges of the current row from each source; all 0 between rows */
    int32_t *touched; /* [nodes] the sources that have some */
    int64_t used;
} row_sum;

static void add_edge(void *context, const gsa_drawn_edge *e)
{
    row_sum *sum = context;
    if (sum->count[e->from]++ == 0) sum->touched[sum->used++] = (int32_t)e->from;
}

/* Sums one node's row; writes it when there is an output. Returns the number of entries. */
static int64_t sum_row(const gsa_drawing *d, int kind, int64_t index, row_sum *sum, gsa_output *output)
{
    sum->used = 0;
    for (int p = 0; p < gsa_schema_phases(d->picture->schema); p++)
        if (gsa_is_drawn(d, p) && (gsa_schema_phase(d->picture->schema, p)->destinations >> kind & 1))
            gsa_draw_node_edges(d, p, kind, index, add_edge, sum);
    for (int64_t i = 0; i < sum->used; i++) {
        int64_t *count = &sum->count[sum->touched[i]];
        if (output) {
            gsa_draw_int(output, d->first_node[kind] + index + 1);
            gsa_output_text(output, " ");
            gsa_draw_int(output, sum->touched[i] + 1);
            gsa_output_text(output, " ");
            gsa_draw_int(output, *count);
            gsa_output_text(output, "\n");
        }
        *count = 0;
    }
    return sum->used;
}

static int64_t sum_rows(const gsa_drawing *d, row_sum *sum, gsa_output *output)
{
    int64_t entries = 0;
    for (int k = 0; k < gsa_schema_kinds(d->picture->schema); k++)
        for (int64_t i = 0; i < gsa_instance_nodes(d->picture->instance, k); i++) entries += sum_row(d, k, i, sum, output);
    return entries;
}

gsa_status gsa_write_mtx(const gsa_drawing *d, gsa_error *error)
{
    row_sum sum = { gsa_alloc_zero(d->system, (size_t)d->nodes, sizeof *sum.count),
                    gsa_alloc(d->system, (size_t)d->nodes, sizeof *sum.touched), 0 };
    gsa_status status = GSA_OK;
    if (!sum.count || !sum.touched) status = gsa_out_of_memory(error, "Matrix Market", d->nodes * 12);
    else {
        gsa_output_text(d->output, "%%MatrixMarket matrix coordinate integer general\n");
        gsa_output_format(d->output, "%% %.64s, length %d, %lld edges; row = destination, column = source\n",
                          gsa_schema_topology(d->picture->schema), gsa_instance_length(d->picture->instance),
                          (long long)d->edges);
        gsa_output_format(d->output, "%lld %lld %lld\n", (long long)d->nodes, (long long)d->nodes,
                          (long long)sum_rows(d, &sum, NULL));
        sum_rows(d, &sum, d->output);
    }
    gsa_release(d->system, sum.count);
    gsa_release(d->system, sum.touched);
    return status;
}
