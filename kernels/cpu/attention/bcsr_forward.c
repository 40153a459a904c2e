/* bcsr_forward.c - attention of LANES rows, block by block and panel by panel: all scores of a
 * panel, one softmax, the mix of values. Rows of several blocks keep a running maximum and sum
 * (online softmax: Milakov, Gimelshein 2018). */
#include "kernels/cpu/attention/bcsr_panel.h"
#include "kernels/cpu/attention/bcsr_read.h"
#include "kernels/cpu/attention/softmax.h"
#include "kernels/cpu/attention/dropout_mask.h"

/* Panel g of a block for the head at work; 0 when something is not finite. `first`, `last`: of the
 * rows' blocks. */
static int forward_panel(bcsr_panels *x, const cpu_bcsr_mask *keep_mask, int g, cpu_softmax *state,
                         int first, int last)
{
    const ref_attend *t = x->t;
    const bcsr_panel *panel = &x->block->panel[g];
    float each[LANES], share[LANES], keep[LANES]; /* by what is shrunk what is there so far */
    float s[4 * (BCSR_COLUMNS + QUADS)];
    const float *q[PANEL_ROWS];
    float *out[PANEL_ROWS], *lse[PANEL_ROWS];
    for (int r = 0; r < PANEL_ROWS; r++) {
        const int64_t row = bcsr_row(x->block, PANEL_ROWS * g + r), at = row * t->width + x->at;
        q[r] = (const float *)t->args->q + at, out[r] = (float *)t->args->out + at;
        lse[r] = (float *)t->args->lse + row * t->heads + x->head;
    }
    vec over = vec_all(1), top = vec_quads_max(cpu_panel_products(x, g, 0, q, t->scale, s,
                                                                  vec_all(-FLT_MAX), CPU_MASKED));
    if (!first) top = vec_max(top, state->top);
    const vec added = cpu_exponents(s, cpu_whole_quads(panel->count) / QUADS, top),
              shrink = cpu_softmax_add(state, top, added, first);
    if (last) {
        vec_store(each, cpu_softmax_end(state, &over));
        for (int r = 0; r < PANEL_ROWS; r++) *lse[r] = each[r];
    }
    vec_store(share, over), vec_store(keep, vec_mul(shrink, over));
    if (t->drop.on) cpu_mask_panel(t, s, keep_mask, x->head, panel, g);
    const cpu_mixing of = { panel->count, panel->column, s, x->v, x->at };
    cpu_panel_mix m = { .of = &of,
                        .share = share,
                        .keep = keep,
                        .fresh = first ? PANEL_ALL : 0,
                        .rows = PANEL_ROWS,
                        .stream = LANES == 16 && first && last && cpu_streams(t),
                        .prefetch = x->prefetch };
    memcpy(m.to, out, sizeof out);
    return !vec_has_nan(cpu_mix_panel(&m, t->dim));
}

/* Some heads that share their drawing, of one block. */
static int forward_heads(bcsr_panels *x, int32_t first, int32_t last, cpu_softmax (*state)[QUADS],
                         int is_first, int is_last)
{
    cpu_bcsr_mask keep_mask;
    if (x->t->drop.on) cpu_mask_bcsr(x->t, x->block, first, &keep_mask);
    for (x->head = first; x->head < last; x->head++) {
        x->at = (int64_t)x->head * x->t->dim;
        for (int g = 0; g < QUADS; g++)
            if (!forward_panel(x, &keep_mask, g, &state[x->head - first][g], is_first, is_last))
                return 0;
    }
    return 1;
}

int cpu_bcsr_forward(const ref_attend *t, const bcsr_block *block, cpu_reading *reading, void *room)
{
    cpu_softmax state[MASK_HEADS][QUADS];
    bcsr_panels *x = room;
    cpu_panels_begin(x, t, block, &reading->prefetch);
    for (int32_t head = 0; head < t->heads; head += MASK_HEADS) {
        const int32_t last = t->heads - head < MASK_HEADS ? t->heads : head + MASK_HEADS;
        for (int i = 0, blocks = block->blocks; i < blocks; i++) {
            if (blocks > 1) cpu_panels_begin(x, t, block + i, &reading->prefetch);
            if (!forward_heads(x, head, last, state, i == 0, i + 1 == blocks)) return 0;
        }
    }
    return 1;
}
