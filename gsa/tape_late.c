/* tape_late.c - rows that other ranks send while ops run: what waits for them, forward; what runs
 * while they travel, backward. */
#include <string.h>
#include "tape_parts.h"

gsa_late *gsa_tape_lack(gsa_tape *tape, gsa_tensor *y, const uint8_t *row)
{
    const int64_t blocks = y ? (y->rows + GSA_GEMM_ROWS - 1) / GSA_GEMM_ROWS : 0;
    uint8_t *block = gsa_tape_host(tape, blocks + 1);
    gsa_late *late = gsa_tape_host(tape, (int64_t)sizeof *late);
    if (!late || !y) return NULL;
    memset(block, 0, (size_t)blocks + 1);
    for (int64_t i = 0; i < y->rows; i++) block[i / GSA_GEMM_ROWS] |= row[i];
    *late = (gsa_late){ .y = y, .row = row, .block = block };
    if (tape->journey.last) tape->journey.last->next = late;
    else tape->journey.first = late;
    return tape->journey.last = late;
}

const gsa_late *gsa_tape_late(const gsa_tape *tape, const gsa_tensor *x)
{
    const gsa_late *late = tape->journey.first;
    while (late && late->y != x) late = late->next;
    return late;
}

/* What fails is the tape's: a journey ends where the tape has failed, too, for other ranks wait. */
void gsa_tape_arrive(gsa_tape *tape)
{
    const gsa_journey journey = tape->journey;
    if (!journey.go_on) return;
    tape->journey.go_on = NULL, tape->journey.first = tape->journey.last = NULL;
    journey.go_on(tape, journey.user, 1);
    for (const gsa_late *late = journey.first; late && !tape->failed; late = late->next)
        if (late->again) late->again(tape, late);
}

int gsa_tape_put_off(gsa_tape *tape, gsa_op *op)
{
    gsa_journey *j = &tape->journey;
    if (!op->puts_off || op->out->whole || gsa_tape_shares_grad(tape, op->out)) return 0;
    op->dy = op->out->grad, op->after = NULL;
    if (j->put_off_last) j->put_off_last->after = op;
    else j->put_off = op;
    j->put_off_last = op;
    return tape->handed = 1; /* its memory is not free yet */
}

void gsa_tape_catch_up(gsa_tape *tape, void (*beside)(gsa_tape *tape, void *user), void *user)
{
    gsa_op *op = tape->journey.put_off;
    tape->journey.put_off = tape->journey.put_off_last = NULL;
    for (; op && !tape->failed; op = op->after) {
        op->rest(tape, op);
        gsa_tape_spare(tape, op->dy, gsa_tape_bytes(tape, op->out->rows, op->out->cols));
        if (beside) beside(tape, user);
    }
}
