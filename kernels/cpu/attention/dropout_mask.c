/* dropout_mask.c - draws which edges are kept. A vector of counters has one in each lane of 64
 * bits; two of them, of edges in even and in odd lanes, give words that are as scores do. */
#include "kernels/cpu/attention/dropout_mask.h"
#include "kernels/cpu/isa/words.h"

typedef struct drawing { /* for some rows; example: of those in even lanes, then in odd ones */
    words_key key;
    words example[2], limit;
    uint32_t site;
} drawing;

static uint32_t example_of(const ref_attend *t, int64_t row)
{
    return (uint32_t)t->drop.example_id[t->edges->row_example[row]];
}

/* Of rows of one example. */
static drawing drawing_of(const ref_attend *t, int64_t row)
{
    const words example = words_all(example_of(t, row));
    return (drawing){ words_key_of(t->drop.seed, t->drop.step),
                      { example, example },
                      words_all(t->drop.limit),
                      t->drop.site };
}

/* bits[stride j]: which of LANES edges the head 4 quad + j keeps; row and place of those in even
 * lanes, then in odd ones. */
static inline void draw(const drawing *x, const words row[2], const words place[2], uint32_t quad,
                        cpu_bits *bits, int64_t stride)
{
    const words site = words_all(x->site | quad);
    words even[4] = { x->example[0], row[0], place[0], site },
          odd[4] = { x->example[1], row[1], place[1], site };
    words_draw(even, &x->key);
    words_draw(odd, &x->key);
    for (int j = 0; j < MASK_HEADS; j++)
        bits[j * stride] = (cpu_bits)lanes_bits(words_reach(words_pair(even[j], odd[j]), x->limit));
}

/* Edges from .. from+count-1 of a row. */
static void draw_edges(const drawing *x, int32_t local, int64_t from, int64_t count, uint32_t quad,
                       cpu_bits *bits, int64_t stride)
{
    static const uint64_t even[] = { 0, 2, 4, 6, 8, 10, 12, 14 },
                          odd[] = { 1, 3, 5, 7, 9, 11, 13, 15 };
    const words row[2] = { words_all((uint32_t)local), words_all((uint32_t)local) };
    for (int64_t e = 0; e < count; e += LANES) {
        const words first = words_all((uint32_t)(from + e));
        const words place[2] = { words_add(words_load(even), first),
                                 words_add(words_load(odd), first) };
        draw(x, row, place, quad, bits++, stride);
    }
}

void cpu_mask_edges(const ref_attend *t, int64_t row, int64_t from, int64_t count, int32_t head,
                    cpu_bits *bits, int64_t stride)
{
    const drawing x = drawing_of(t, row);
    draw_edges(&x, t->edges->row_local[row], from, count, (uint32_t)head / 4, bits, stride);
}

/* Even lanes: rows 0 and 2, odd ones: 1 and 3, again and again. */
static void put_rows(const uint32_t of[4], words to[2])
{
    uint64_t each[2][WIDE];
    for (int i = 0; i < WIDE; i++) each[0][i] = of[i % 2 * 2], each[1][i] = of[i % 2 * 2 + 1];
    to[0] = words_load(each[0]), to[1] = words_load(each[1]);
}

void cpu_mask_rows4(const ref_attend *t, const int64_t row[4], const uint32_t *first,
                    int32_t places, int32_t head, cpu_bits *bits, int64_t stride)
{
    static const uint64_t place[] = { 0, 0, 1, 1, 2, 2, 3, 3 };
    drawing x = drawing_of(t, row[0]);
    uint32_t example[4], local[4], start[4];
    words rows[2], from[2];
    for (int r = 0; r < 4; r++)
        example[r] = example_of(t, row[r]), local[r] = (uint32_t)t->edges->row_local[row[r]],
        start[r] = first ? first[r] : 0;
    put_rows(example, x.example);
    put_rows(local, rows);
    put_rows(start, from);
    for (int32_t i = 0; i < places; i += QUADS) {
        const words next = words_add(words_load(place), words_all((uint32_t)i));
        const words both[2] = { words_add(from[0], next), words_add(from[1], next) };
        draw(&x, rows, both, (uint32_t)head / 4, bits++, stride);
    }
}

/* ---- bcsr: bits along a row's edges go to the columns of its runs -------------------------- */

enum {
    LINE =
        BCSR_UNION / LANES + 8 /* of a row's edges, with room to read 8 bytes from any of them on */
};

/* `count` bits, at most MASK_WORD, from place `at` on. */
static uint32_t bits_at(const cpu_bits *bits, int32_t at, int32_t count)
{
    uint64_t all;
    memcpy(&all, (const char *)bits + at / 8, sizeof all);
    return (uint32_t)(all >> at % 8) & (uint32_t)((1ull << count) - 1);
}

/* A run's edges, the first of which is the row's edge `place` and leads to `column`: one by one
 * where columns do not follow one another. */
static void put_run(const cpu_bits *line, int32_t place, int32_t column, const gsa_run *run, int r,
                    cpu_bcsr_mask *to)
{
    const int32_t step = run->count > 1 ? run->step : 1;
    for (int32_t left = run->count, some; left > 0; left -= some) {
        const int32_t low = column % MASK_WORD, room = step == 1 ? MASK_WORD - low : 1;
        some = left < room ? left : room;
        for (int j = 0; j < MASK_HEADS; j++)
            to->word[j][column / MASK_WORD * LANES + r] |= bits_at(line + j * LINE, place, some)
                                                           << low;
        place += some, column += some * step;
    }
}

void cpu_mask_bcsr(const ref_attend *t, const bcsr_block *block, int32_t head,
                   cpu_bcsr_mask *keep_mask)
{
    const gsa_edges *e = t->edges;
    const drawing x = drawing_of(t, block->row);
    const size_t count = (size_t)(block->columns + MASK_WORD - 1) / MASK_WORD * LANES;
    cpu_bits line[MASK_HEADS * LINE];
    for (int j = 0; j < MASK_HEADS; j++)
        memset(keep_mask->word[j], 0, count * sizeof *keep_mask->word[j]);
    for (int r = 0; r < LANES; r++) {
        const int64_t row = bcsr_row(block, r);
        int32_t place = 0;
        draw_edges(&x, e->row_local[row], 0, e->edge_offset[row + 1] - e->edge_offset[row],
                   (uint32_t)head / 4, line, LINE);
        for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++) {
            gsa_run run = e->runs[i];
            int32_t skipped, column;
            if (bcsr_clip(block, &run, &skipped, &column))
                put_run(line, place + skipped, column, &run, r, keep_mask);
            place += e->runs[i].count;
        }
    }
}
