#include "group.h"
#include <stdio.h>
#include <string.h>

enum { WORDS = 1 + GSA_GROUP_NUMBERS, WHY = 256 };

static int alone(const gsa_group *g)
{
    return !g || g->ranks == 1;
}

void gsa_group_release(gsa_group *g)
{
    if (!g) return;
    gsa_release(g->system, g->scratch);
    g->scratch = NULL, g->room = 0;
}

static gsa_status cannot_reach(gsa_group *g, int32_t partner, const char *why, gsa_error *error)
{
    g->failed = g->blamed = 1;
    return gsa_fail(error, GSA_ERR_IO, "rank %d cannot reach rank %d: %s", g->rank, partner, why);
}

static int64_t chunk(int64_t bytes)
{
    return bytes > GSA_GROUP_CHUNK ? GSA_GROUP_CHUNK : bytes;
}

gsa_status gsa_group_swap(gsa_group *g, int32_t partner, const void *send, int64_t send_bytes,
                          void *receive, int64_t receive_bytes, gsa_error *error)
{
    char why[WHY] = "", *to = receive;
    const char *from = send;
    while (send_bytes > 0 || receive_bytes > 0) {
        const int64_t out = chunk(send_bytes), in = chunk(receive_bytes);
        gsa_transfer now = { .channel = GSA_CHANNEL_NOW, .partner = partner };
        if (g->start(g->user, &now, from, out, to, in, why, sizeof why) != 0 ||
            g->poll(g->user, &now, 1, why, sizeof why) != 1)
            return cannot_reach(g, partner, why, error);
        from += out, to += in, send_bytes -= out, receive_bytes -= in, g->sent += out;
    }
    return GSA_OK;
}

/* Rank r's bytes are at[begin(r)] to at[begin(r + 1)], this rank's are there already. first NULL:
 * of `bytes` each. */
static gsa_status double_up(gsa_group *g, char *at, int64_t bytes, const int64_t *first,
                            gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int d = 1; d < g->ranks && status == GSA_OK; d *= 2) {
        const int own = g->rank & ~(d - 1), theirs = own ^ d;
        const int64_t from = first ? first[own] : own * bytes,
                      to = first ? first[own + d] : (own + d) * bytes,
                      there = first ? first[theirs] : theirs * bytes,
                      end = first ? first[theirs + d] : (theirs + d) * bytes;
        status =
            gsa_group_swap(g, g->rank ^ d, at + from, to - from, at + there, end - there, error);
    }
    return status;
}

/* The sentence of rank `root` to all, along the tree that has it as its root. */
static gsa_status share_sentence(gsa_group *g, int root, gsa_status theirs, gsa_error *error)
{
    char text[GSA_ERROR_SIZE] = "";
    const int own = g->rank ^ root;
    gsa_status status = GSA_OK;
    if (own == 0 && error) memcpy(text, error->text, sizeof text);
    for (int d = 1; d < g->ranks && status == GSA_OK; d *= 2) {
        if (own >= 2 * d) continue;
        status = gsa_group_swap(g, (own ^ d) ^ root, text, own < d ? GSA_ERROR_SIZE : 0, text,
                                own < d ? 0 : GSA_ERROR_SIZE, error);
    }
    if (status != GSA_OK) return status;
    text[sizeof text - 1] = 0;
    g->blamed = 1;
    return gsa_fail(error, theirs, "rank %d of %d: %s", root, g->ranks, text);
}

gsa_status gsa_group_tell(gsa_group *g, gsa_status status, const int64_t *numbers, int64_t *all,
                          gsa_error *error)
{
    int64_t word[GSA_GROUP_RANKS * WORDS], first = -1, failures = 0;
    const size_t bytes = GSA_GROUP_NUMBERS * sizeof *numbers;
    if (alone(g) && all) memcpy(all, numbers, bytes);
    if (alone(g) || g->failed) return status;
    int64_t *own = word + (int64_t)g->rank * WORDS;
    memset(own, 0, WORDS * sizeof *own);
    own[0] = (int64_t)status;
    if (numbers) memcpy(own + 1, numbers, bytes);
    const gsa_status told = double_up(g, (char *)word, WORDS * sizeof *word, NULL, error);
    if (told != GSA_OK) return status == GSA_OK ? told : status;
    for (int r = g->ranks - 1; r >= 0; r--)
        if (word[r * WORDS] != GSA_OK) first = r, failures++;
    for (int r = 0; r < g->ranks && all; r++)
        memcpy(all + r * GSA_GROUP_NUMBERS, word + r * WORDS + 1, bytes);
    if (failures == 0) return GSA_OK;
    g->failed = 1;
    if (failures == g->ranks) return status;
    return share_sentence(g, (int)first, (gsa_status)word[first * WORDS], error);
}

gsa_status gsa_group_gather(gsa_group *g, gsa_status status, const void *mine, int64_t bytes,
                            void *all, gsa_error *error)
{
    if (status == GSA_OK) memcpy((char *)all + gsa_group_rank(g) * bytes, mine, (size_t)bytes);
    status = gsa_group_tell(g, status, NULL, NULL, error);
    return alone(g) || status != GSA_OK ? status : double_up(g, all, bytes, NULL, error);
}

static gsa_status make_room(gsa_group *g, gsa_status status, int64_t bytes, gsa_error *error)
{
    if (status == GSA_OK && (bytes > g->room || !g->scratch)) {
        gsa_release(g->system, g->scratch);
        g->scratch = gsa_alloc(g->system, (size_t)bytes, 1);
        g->room = g->scratch ? bytes : 0;
        if (!g->scratch) status = gsa_out_of_memory(error, "what another rank sends", bytes);
    }
    return gsa_group_tell(g, status, NULL, NULL, error);
}

gsa_status gsa_group_join(gsa_group *g, gsa_status status, const void *mine, int64_t bytes,
                          const void **all, int64_t *total, gsa_error *error)
{
    int64_t told[GSA_GROUP_RANKS * GSA_GROUP_NUMBERS], first[GSA_GROUP_RANKS + 1] = { 0 };
    *all = mine, *total = bytes;
    if (alone(g)) return status;
    status = gsa_group_tell(g, status, (int64_t[GSA_GROUP_NUMBERS]){ bytes }, told, error);
    if (status != GSA_OK) return status;
    for (int r = 0; r < g->ranks; r++) first[r + 1] = first[r] + told[r * GSA_GROUP_NUMBERS];
    status = make_room(g, status, first[g->ranks] + 1, error);
    if (status != GSA_OK) return status;
    if (bytes > 0) memcpy((char *)g->scratch + first[g->rank], mine, (size_t)bytes);
    *all = g->scratch, *total = first[g->ranks];
    return double_up(g, g->scratch, 0, first, error);
}

gsa_status gsa_group_merge(gsa_group *g, gsa_status status, void *at, int64_t bytes,
                           gsa_error *error)
{
    if (alone(g)) return status;
    status = make_room(g, status, bytes, error);
    for (int d = 1; d < g->ranks && status == GSA_OK; d *= 2) {
        uint8_t *own = at, *theirs = g->scratch;
        status = gsa_group_swap(g, g->rank ^ d, own, bytes, theirs, bytes, error);
        for (int64_t i = 0; i < bytes && status == GSA_OK; i++) own[i] |= theirs[i];
    }
    return status;
}

static void add(void *at, const void *more, int64_t count, int64_t real_bytes)
{
    if (real_bytes == (int64_t)sizeof(float)) {
        float *x = at;
        const float *y = more;
        for (int64_t i = 0; i < count; i++) x[i] += y[i];
    } else {
        double *x = at;
        const double *y = more;
        for (int64_t i = 0; i < count; i++) x[i] += y[i];
    }
}

/* ---- sums during other work ---------------------------------------------------------------- */

static int levels(const gsa_group *g)
{
    int count = 0;
    while (1 << count < g->ranks) count++;
    return count;
}

/* The transfer of this turn. Going up the tree it keeps one half and sends the other; going down
 * it sends what it has the sums of, and receives the other half. */
static gsa_status start_turn(gsa_group *g, gsa_group_adding *a, gsa_error *error)
{
    char why[WHY] = "";
    const int up = a->turn < levels(g);
    const int level = up ? a->turn : 2 * levels(g) - 1 - a->turn, upper = g->rank >> level & 1;
    const int64_t low = a->low[level], high = a->high[level], middle = low + (high - low) / 2;
    const int64_t kept = upper ? middle : low, end = upper ? high : middle,
                  other = upper ? low : middle, other_end = upper ? middle : high;
    const int64_t send = up ? other : kept, send_end = up ? other_end : end;
    char *receive = up ? a->room : a->at + other * a->real_bytes;
    a->low[level + 1] = kept, a->high[level + 1] = end;
    a->transfer = (gsa_transfer){ .channel = GSA_CHANNEL_SUM, .partner = g->rank ^ 1 << level };
    const int64_t bytes = (send_end - send) * a->real_bytes;
    if (g->start(g->user, &a->transfer, a->at + send * a->real_bytes, bytes, receive,
                 (up ? end - kept : other_end - other) * a->real_bytes, why, sizeof why) != 0)
        return cannot_reach(g, a->transfer.partner, why, error);
    g->sent += bytes;
    return GSA_OK;
}

static void end_turn(const gsa_group *g, gsa_group_adding *a)
{
    const int level = a->turn + 1;
    if (a->turn < levels(g))
        add(a->at + a->low[level] * a->real_bytes, a->room, a->high[level] - a->low[level],
            a->real_bytes);
    a->turn++;
}

gsa_status gsa_group_add(gsa_group *g, gsa_group_adding *a, gsa_error *error)
{
    a->low[0] = 0, a->high[0] = a->count, a->turn = 0;
    return start_turn(g, a, error);
}

gsa_status gsa_group_advance(gsa_group *g, gsa_group_adding *a, int waits, int *done,
                             gsa_error *error)
{
    char why[WHY] = "";
    gsa_status status = GSA_OK;
    *done = 0;
    while (a->turn < 2 * levels(g) && status == GSA_OK) {
        const int ended = g->poll(g->user, &a->transfer, waits, why, sizeof why);
        if (ended < 0) return cannot_reach(g, a->transfer.partner, why, error);
        if (!ended) return GSA_OK;
        end_turn(g, a);
        if (a->turn < 2 * levels(g)) status = start_turn(g, a, error);
    }
    *done = status == GSA_OK;
    return status;
}
