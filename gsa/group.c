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

gsa_status gsa_group_swap(gsa_group *g, int32_t partner, const void *send, int64_t send_bytes,
                          void *receive, int64_t receive_bytes, gsa_error *error)
{
    char why[WHY] = "";
    if (send_bytes == 0 && receive_bytes == 0) return GSA_OK;
    if (g->exchange(g->user, partner, send, send_bytes, receive, receive_bytes, why, sizeof why) ==
        0) {
        g->sent += send_bytes;
        return GSA_OK;
    }
    g->failed = g->blamed = 1;
    return gsa_fail(error, GSA_ERR_IO, "rank %d cannot reach rank %d: %s", g->rank, partner, why);
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

gsa_status gsa_group_sum(gsa_group *g, gsa_status status, void *at, int64_t count,
                         int64_t real_bytes, gsa_error *error)
{
    int64_t low[16], high[16]; /* the numbers that are this rank's at each level of the tree */
    int level = 0;
    if (alone(g)) return status;
    status = make_room(g, status, (count + 1) / 2 * real_bytes, error);
    low[0] = 0, high[0] = count;
    for (int d = 1; d < g->ranks && status == GSA_OK; d *= 2, level++) {
        const int64_t middle = low[level] + (high[level] - low[level]) / 2;
        const int upper = (g->rank & d) != 0;
        const int64_t from = upper ? low[level] : middle, to = upper ? middle : high[level];
        low[level + 1] = upper ? middle : low[level];
        high[level + 1] = upper ? high[level] : middle;
        const int64_t kept = high[level + 1] - low[level + 1];
        status = gsa_group_swap(g, g->rank ^ d, (char *)at + from * real_bytes,
                                (to - from) * real_bytes, g->scratch, kept * real_bytes, error);
        if (status == GSA_OK)
            add((char *)at + low[level + 1] * real_bytes, g->scratch, kept, real_bytes);
    }
    for (int d = g->ranks / 2; d >= 1 && status == GSA_OK; d /= 2, level--) {
        const int upper = (g->rank & d) != 0;
        const int64_t from = upper ? low[level - 1] : high[level],
                      to = upper ? low[level] : high[level - 1];
        status = gsa_group_swap(g, g->rank ^ d, (char *)at + low[level] * real_bytes,
                                (high[level] - low[level]) * real_bytes,
                                (char *)at + from * real_bytes, (to - from) * real_bytes, error);
    }
    return status;
}
