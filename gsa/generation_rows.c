/* generation_rows.c - what grows: rows that stay, moments, the lists of sequences. */
#include <string.h>
#include "generation_parts.h"

/* Room for `need` of what has `room`: doubled, so that appending costs O(1) a row. */
static int64_t more(int64_t room, int64_t need)
{
    return room > need / 2 ? 2 * room : need;
}

static int pool_reserve(gsa_generation *g, gsa_tape *tape, gsa_kept *pool, int64_t rows)
{
    if (rows <= pool->room) return 1;
    const int64_t room = more(pool->room, rows > 64 ? rows : 64),
                  bytes = gsa_tape_bytes(tape, room, pool->x.cols);
    void *at = bytes >= 0 ? g->backend->alloc(g->backend, bytes) : NULL;
    if (!at) {
        gsa_error why = { 0 };
        gsa_tape_fail(tape,
                      gsa_backend_no_memory(g->backend, "rows that generation keeps", bytes, &why),
                      "%s", why.text);
        return 0;
    }
    const int64_t old = gsa_tape_bytes(tape, pool->x.rows, pool->x.cols);
    if (old > 0 && !GSA_CALL(tape, copy, at, pool->x.data, old)) {
        g->backend->free(g->backend, at);
        return 0;
    }
    if (pool->x.data) g->backend->free(g->backend, pool->x.data);
    pool->x.data = at, pool->room = room;
    return 1;
}

int gsa_kept_append(gsa_generation *g, gsa_tape *tape, gsa_kept *pool, const gsa_tensor *from)
{
    if (!from || tape->failed) return 0;
    if (from->rows == 0) return 1;
    if (!pool_reserve(g, tape, pool, pool->x.rows + from->rows)) return 0;
    const int64_t before = gsa_tape_bytes(tape, pool->x.rows, pool->x.cols),
                  bytes = gsa_tape_bytes(tape, from->rows, from->cols);
    if (!GSA_CALL(tape, copy, (char *)pool->x.data + before, from->data, bytes)) return 0;
    pool->x.rows += from->rows;
    g->counts.kept += from->rows;
    g->counts.bytes += bytes;
    return 1;
}

gsa_status gsa_sequence_grow(gsa_generation *g, gsa_grown *sequence, int32_t moments,
                             gsa_error *error)
{
    if (moments <= sequence->room) return GSA_OK;
    int32_t room = (int32_t)more(sequence->room, moments > 16 ? moments : 16);
    if (room > g->longest + 1) room = g->longest + 1;
    int32_t *moment = gsa_resize(g->system, sequence->moment, (size_t)room, sizeof *moment);
    if (!moment)
        return gsa_out_of_memory(error, "a sequence's tokens", room * (int64_t)sizeof *moment);
    sequence->moment = moment, sequence->room = room;
    return GSA_OK;
}

int64_t gsa_moment_new(gsa_generation *g)
{
    if (g->n_moments == INT32_MAX) return -1;
    if (g->n_moments == g->room_moments) {
        const int64_t room = more(g->room_moments, g->n_moments + 64);
        int64_t *moment =
            gsa_resize(g->system, g->moment, (size_t)(room * g->n_values), sizeof *moment);
        if (!moment) return -1;
        g->moment = moment, g->room_moments = room;
    }
    return g->n_moments++;
}
