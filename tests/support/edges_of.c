#include "support/edges_of.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *at, int64_t *room, int64_t need, size_t size)
{
    if (need <= *room && at != NULL) return at;
    *room = need + need / 2 + 16;
    at = realloc(at, (size_t)*room * size);
    if (at == NULL) abort();
    return at;
}

void edges_begin(edges_maker *m, int32_t kinds, const int64_t *part_rows, int32_t labels)
{
    memset(m, 0, sizeof *m);
    m->view.kinds = kinds;
    m->view.labels = labels > 0 ? labels : 1; /* every edge has a label, if only 0 */
    for (int32_t k = 0; k < kinds; k++) m->view.part_rows[k] = part_rows[k];
    int64_t room = 0;
    m->run_offset = grown(NULL, &room, 1, sizeof(int64_t));
    room = 0;
    m->edge_offset = grown(NULL, &room, 1, sizeof(int64_t));
    m->run_offset[0] = m->edge_offset[0] = 0;
    m->row_room = 0;
}

void edges_row(edges_maker *m, int32_t example, int32_t local)
{
    const int64_t row = m->view.rows++;
    int64_t room[4] = { m->row_room, m->row_room, m->row_room, m->row_room };
    m->run_offset = grown(m->run_offset, &room[0], row + 2, sizeof(int64_t));
    m->edge_offset = grown(m->edge_offset, &room[1], row + 2, sizeof(int64_t));
    m->row_example = grown(m->row_example, &room[2], row + 2, sizeof(int32_t));
    m->row_local = grown(m->row_local, &room[3], row + 2, sizeof(int32_t));
    m->row_room = room[0];
    m->run_offset[row + 1] = m->view.run_total;
    m->edge_offset[row + 1] = m->view.edge_total;
    m->row_example[row] = example;
    m->row_local[row] = local;
}

void edges_run(edges_maker *m, gsa_run run)
{
    m->runs = grown(m->runs, &m->run_room, m->view.run_total + 1, sizeof(gsa_run));
    m->runs[m->view.run_total++] = run;
    m->view.edge_total += run.count;
    m->run_offset[m->view.rows] = m->view.run_total;
    m->edge_offset[m->view.rows] = m->view.edge_total;
}

const gsa_edges *edges_done(edges_maker *m, int32_t examples, int32_t row_kinds,
                            const int64_t *first)
{
    const int64_t whole[2] = { 0, m->view.rows };
    int64_t room = 0;
    if (first == NULL) examples = 1, row_kinds = 1, first = whole;
    m->block_offset = grown(NULL, &room, examples + 1, sizeof(int64_t));
    m->blocks = grown(NULL, &m->block_room, (int64_t)examples * row_kinds + 1, sizeof(gsa_rows));
    m->runs = grown(m->runs, &m->run_room, 1, sizeof(gsa_run));
    room = 0;
    if (m->row_example == NULL) m->row_example = grown(NULL, &room, 1, sizeof(int32_t));
    room = 0;
    if (m->row_local == NULL) m->row_local = grown(NULL, &room, 1, sizeof(int32_t));
    for (int32_t e = 0; e <= examples; e++) m->block_offset[e] = (int64_t)e * row_kinds;
    for (int32_t e = 0; e < examples; e++)
        for (int32_t d = 0; d < row_kinds; d++) {
            const int64_t *at = first + (int64_t)d * (examples + 1) + e;
            m->blocks[e * row_kinds + d] = (gsa_rows){ at[0], at[1] - at[0] };
        }
    m->view.examples = examples;
    m->view.run_offset = m->run_offset;
    m->view.edge_offset = m->edge_offset;
    m->view.runs = m->runs;
    m->view.row_example = m->row_example;
    m->view.row_local = m->row_local;
    m->view.block_offset = m->block_offset;
    m->view.blocks = m->blocks;
    return &m->view;
}

void edges_free(edges_maker *m)
{
    free(m->runs);
    free(m->run_offset);
    free(m->edge_offset);
    free(m->row_example);
    free(m->row_local);
    free(m->block_offset);
    free(m->blocks);
    free(m->source_offset);
    memset(m, 0, sizeof *m);
}

static int32_t pick(gsa_dice *dice, int64_t low, int64_t high)
{
    return (int32_t)gsa_between(dice, low, high);
}

/* A run that stays inside low..high-1, with both label ends inside 0..labels-1. */
static void random_run(edges_maker *m, gsa_dice *dice, int32_t kind, int64_t low, int64_t high,
                       int32_t longest)
{
    gsa_run run = { .first = pick(dice, low, high - 1), .step = pick(dice, -3, 3), .kind = kind };
    run.label = m->view.labels > 0 ? pick(dice, 0, m->view.labels - 1) : 0;
    run.label_step = m->view.labels > 1 ? pick(dice, -1, 1) : 0;
    const int32_t wanted = pick(dice, 1, longest);
    for (run.count = 1; run.count < wanted; run.count++) {
        const int64_t next = run.first + (int64_t)run.count * run.step,
                      label = run.label + (int64_t)run.count * run.label_step;
        if (next < low || next >= high || label < 0 || (label > 0 && label >= m->view.labels))
            break;
    }
    edges_run(m, run);
}

static void random_row(edges_maker *m, gsa_dice *dice, const int64_t *base, int32_t examples,
                       int32_t example)
{
    const int64_t style = gsa_between(dice, 0, 9);
    if (style == 0) return;
    for (int32_t kind = 0; kind < m->view.kinds; kind++) {
        const int64_t *at = base + (int64_t)kind * (examples + 1) + example;
        const int64_t nodes = at[1] - at[0];
        if (nodes == 0) continue;
        if (style == 1)
            edges_run(
                m, (gsa_run){
                       .first = (int32_t)at[0], .count = (int32_t)nodes, .step = 1, .kind = kind });
        else
            for (int64_t runs = gsa_between(dice, 0, 3); runs > 0; runs--)
                random_run(m, dice, kind, at[0], at[1], 9);
    }
}

/* base[kind * (examples + 1) + example]: the first node; the last entry of a kind: its nodes in
 * all. */
static int64_t *random_bases(gsa_dice *dice, int32_t kinds, int32_t examples, int64_t nodes)
{
    int64_t *base = calloc((size_t)kinds * (size_t)(examples + 1) + 1, sizeof *base);
    if (base == NULL) abort();
    for (int32_t k = 0; k < kinds; k++) {
        int64_t *at = base + (int64_t)k * (examples + 1);
        for (int32_t e = 0; e < examples; e++)
            at[e + 1] = at[e] + gsa_between(dice, 0, nodes / examples);
    }
    return base;
}

const gsa_edges *edges_random(edges_maker *m, gsa_dice *dice, edges_wish wish)
{
    int64_t *source = random_bases(dice, wish.kinds, wish.examples, wish.nodes);
    int64_t *rows = random_bases(dice, wish.row_kinds, wish.examples, wish.nodes);
    int64_t part_rows[GSA_MAX_KINDS] = { 0 }, shift = 0;
    for (int32_t k = 1; k < wish.kinds && wish.equal_kinds; k++)
        memcpy(source + (int64_t)k * (wish.examples + 1), source,
               (size_t)(wish.examples + 1) * sizeof *source);
    for (int32_t k = 0; k < wish.kinds; k++)
        part_rows[k] = source[(int64_t)k * (wish.examples + 1) + wish.examples];
    edges_begin(m, wish.kinds, part_rows, wish.labels);
    for (int32_t d = 0; d < wish.row_kinds; d++) {
        int64_t *at = rows + (int64_t)d * (wish.examples + 1);
        for (int32_t e = 0; e <= wish.examples; e++) at[e] += shift;
        shift = at[wish.examples];
        for (int32_t e = 0; e < wish.examples; e++)
            for (int64_t i = at[e]; i < at[e + 1]; i++) {
                edges_row(m, e, (int32_t)(d * 1000 + i - at[e]));
                random_row(m, dice, source, wish.examples, e);
            }
    }
    const gsa_edges *edges = edges_done(m, wish.examples, wish.row_kinds, rows);
    m->source_offset = source, m->view.source_scale = 1;
    for (int32_t k = 0; k < wish.kinds; k++)
        m->view.source_offset[k] = source + (int64_t)k * (wish.examples + 1);
    free(rows);
    return edges;
}

edges_list edges_expand(const gsa_edges *edges)
{
    const size_t room = (size_t)edges->edge_total + 1;
    edges_list list = { 0,
                        malloc(room * sizeof(int64_t)),
                        malloc(room * 4),
                        malloc(room * 4),
                        malloc(room * 4),
                        malloc(room * 4) };
    if (!list.row || !list.kind || !list.source || !list.label || !list.k) abort();
    for (int64_t row = 0; row < edges->rows; row++) {
        int32_t k = 0;
        for (int64_t r = edges->run_offset[row]; r < edges->run_offset[row + 1]; r++)
            for (int32_t i = 0; i < edges->runs[r].count; i++, k++, list.total++) {
                list.row[list.total] = row;
                list.kind[list.total] = edges->runs[r].kind;
                list.source[list.total] = edges->runs[r].first + i * edges->runs[r].step;
                list.label[list.total] = edges->runs[r].label + i * edges->runs[r].label_step;
                list.k[list.total] = k;
            }
    }
    return list;
}

void edges_list_free(edges_list *list)
{
    free(list->row);
    free(list->kind);
    free(list->source);
    free(list->label);
    free(list->k);
}

static void *copied(gsa_backend *b, const void *from, int64_t count, int64_t size)
{
    void *at = b->alloc(b, count * size);
    if (at == NULL || b->upload(b, at, from, count * size) != GSA_OK) {
        fprintf(stderr, "edges_upload: %s\n", b->error.text);
        abort();
    }
    return at;
}

gsa_edges edges_upload(gsa_backend *b, const gsa_edges *host)
{
    gsa_edges d = *host;
    d.run_offset = copied(b, host->run_offset, host->rows + 1, 8);
    d.edge_offset = copied(b, host->edge_offset, host->rows + 1, 8);
    d.runs = copied(b, host->runs, host->run_total, (int64_t)sizeof(gsa_run));
    d.row_example = copied(b, host->row_example, host->rows, 4);
    d.row_local = copied(b, host->row_local, host->rows, 4);
    d.block_offset = copied(b, host->block_offset, host->examples + 1, 8);
    for (int32_t k = 0; k < host->kinds; k++)
        if (host->source_offset[k])
            d.source_offset[k] = copied(b, host->source_offset[k], host->examples + 1, 8);
    d.blocks =
        copied(b, host->blocks, host->block_offset[host->examples], (int64_t)sizeof(gsa_rows));
    return d;
}

/* The view's pointers are read-only for its readers; the memory is the uploader's. */
static void unload(gsa_backend *b, const void *at)
{
    void *mine;
    memcpy(&mine, &at, sizeof mine);
    b->free(b, mine);
}

void edges_unload(gsa_backend *b, gsa_edges *d)
{
    unload(b, d->run_offset);
    unload(b, d->edge_offset);
    unload(b, d->runs);
    unload(b, d->row_example);
    unload(b, d->row_local);
    unload(b, d->block_offset);
    unload(b, d->blocks);
    for (int32_t k = 0; k < d->kinds; k++)
        if (d->source_offset[k]) unload(b, d->source_offset[k]);
    memset(d, 0, sizeof *d);
}
