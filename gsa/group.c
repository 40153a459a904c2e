#include "group.h"
#include <stdio.h>
#include <string.h>

enum { WORDS = 1 + GSA_GROUP_NUMBERS, WHY = 256 };

static int alone(const gsa_group *g)
{
    return !g || g->ranks == 1;
}

struct gsa_group_trade {
    char *at;
    int64_t *first, room; /* [2 ranks + 1] what goes to rank r is at[first[2 r]], what comes from it
                             at[first[2 r + 1]] */
    int64_t *moved;       /* [ranks] bytes that went each way, or less where that was all */
    int64_t *word;        /* [ranks x WORDS] */
    gsa_transfer *transfer, telling; /* transfer: [ranks] */
    int32_t turn; /* ranks that know each other's status; all of them: the bytes are on their way */
    int32_t left; /* transfers that have not ended; 0: no trade goes on */
};

static void release_trade(gsa_group *g)
{
    gsa_group_trade *t = g->trade;
    gsa_release(g->system, t->at), gsa_release(g->system, t->first);
    gsa_release(g->system, t->moved), gsa_release(g->system, t->word);
    gsa_release(g->system, t->transfer), gsa_release(g->system, t);
    g->trade = NULL;
}

void gsa_group_release(gsa_group *g)
{
    if (!g) return;
    gsa_release(g->system, g->scratch);
    if (g->trade) release_trade(g);
    g->scratch = NULL, g->room = 0;
}

static void close_wire(gsa_group *g, int whole)
{
    if (!g->wire) return;
    if (g->heed) g->heed(g->user, NULL, NULL);
    g->wire->close(g->line, whole);
    g->wire = NULL, g->line = NULL;
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

/* What all ranks told, and what it means here. */
static gsa_status judge(gsa_group *g, gsa_status status, const int64_t *word, gsa_error *error)
{
    int64_t first = -1, failures = 0;
    for (int r = g->ranks - 1; r >= 0; r--)
        if (word[r * WORDS] != GSA_OK) first = r, failures++;
    if (failures == 0) return GSA_OK;
    g->failed = 1;
    close_wire(g, 0);
    if (failures == g->ranks) return status;
    return share_sentence(g, (int)first, (gsa_status)word[first * WORDS], error);
}

gsa_status gsa_group_tell(gsa_group *g, gsa_status status, const int64_t *numbers, int64_t *all,
                          gsa_error *error)
{
    int64_t word[GSA_GROUP_RANKS * WORDS];
    gsa_error why;
    const size_t bytes = GSA_GROUP_NUMBERS * sizeof *numbers;
    if (alone(g) && all) memcpy(all, numbers, bytes);
    if (alone(g) || g->failed) return status;
    const gsa_status traded = gsa_group_go_on(g, 1, &why);
    if (traded != GSA_OK)
        return status == GSA_OK ? gsa_fail(error, traded, "%s", why.text) : status;
    int64_t *own = word + (int64_t)g->rank * WORDS;
    memset(own, 0, WORDS * sizeof *own);
    own[0] = (int64_t)status;
    if (numbers) memcpy(own + 1, numbers, bytes);
    const int alarms = g->wire && g->waits && status != GSA_OK;
    if (alarms) g->waits(g->user, status, error ? error->text : "");
    const gsa_status told = double_up(g, (char *)word, WORDS * sizeof *word, NULL, error);
    if (alarms) g->waits(g->user, GSA_OK, NULL);
    if (told != GSA_OK) return status == GSA_OK ? told : status;
    for (int r = 0; r < g->ranks && all; r++)
        memcpy(all + r * GSA_GROUP_NUMBERS, word + r * WORDS + 1, bytes);
    return judge(g, status, word, error);
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

/* ---- a trade during other work ------------------------------------------------------------- */

static gsa_status lacks(gsa_error *error, int64_t bytes)
{
    return gsa_out_of_memory(error, "what ranks trade", bytes);
}

static gsa_status make_trade(gsa_group *g, gsa_error *error)
{
    const size_t ranks = (size_t)g->ranks;
    gsa_group_trade *t = g->trade = gsa_alloc_zero(g->system, 1, sizeof *t);
    if (!t) return lacks(error, (int64_t)sizeof *t);
    t->first = gsa_alloc_zero(g->system, 2 * ranks + 1, sizeof *t->first);
    t->moved = gsa_alloc_zero(g->system, ranks, sizeof *t->moved);
    t->word = gsa_alloc_zero(g->system, ranks * WORDS, sizeof *t->word);
    t->transfer = gsa_alloc_zero(g->system, ranks, sizeof *t->transfer);
    if (t->first && t->moved && t->word && t->transfer) return GSA_OK;
    release_trade(g);
    return lacks(error, (int64_t)ranks * 64);
}

gsa_status gsa_group_room(gsa_group *g, const int64_t *out, const int64_t *in, gsa_error *error)
{
    gsa_status status = gsa_group_go_on(g, 1, error);
    if (status == GSA_OK && !g->trade) status = make_trade(g, error);
    if (status != GSA_OK) return status;
    gsa_group_trade *t = g->trade;
    for (int32_t r = 0; r < g->ranks; r++) {
        t->first[2 * r + 1] = t->first[2 * r] + out[r];
        t->first[2 * r + 2] = t->first[2 * r + 1] + in[r];
    }
    const int64_t bytes = t->first[2 * g->ranks] + 1;
    if (bytes <= t->room) return GSA_OK;
    gsa_release(g->system, t->at);
    t->at = gsa_alloc(g->system, (size_t)bytes, 1), t->room = t->at ? bytes : 0;
    return t->at ? GSA_OK : lacks(error, bytes);
}

char *gsa_group_outbox(gsa_group *g, int32_t rank)
{
    return g->trade->at + g->trade->first[2 * rank];
}

char *gsa_group_inbox(gsa_group *g, int32_t rank)
{
    return g->trade->at + g->trade->first[2 * rank + 1];
}

/* Of two ranks, as double_up does it: those of own's half go, those of the other's come. */
static gsa_status start_telling(gsa_group *g, gsa_group_trade *t, gsa_error *error)
{
    char why[WHY] = "";
    const int32_t own = g->rank & ~(t->turn - 1), theirs = own ^ t->turn;
    const int64_t bytes = t->turn * (int64_t)(WORDS * sizeof *t->word);
    t->telling = (gsa_transfer){ .channel = GSA_CHANNEL_NOW, .partner = g->rank ^ t->turn };
    if (g->start(g->user, &t->telling, t->word + own * WORDS, bytes, t->word + theirs * WORDS,
                 bytes, why, sizeof why) != 0)
        return cannot_reach(g, t->telling.partner, why, error);
    g->sent += bytes;
    return GSA_OK;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The next bytes between this rank and r; none are left: its transfer has ended. */
static gsa_status start_bytes(gsa_group *g, gsa_group_trade *t, int32_t r, gsa_error *error)
{
    char why[WHY] = "";
    const int64_t *first = t->first + 2 * r, out = first[1] - first[0], in = first[2] - first[1],
                  sent = least(t->moved[r], out), received = least(t->moved[r], in);
    t->transfer[r] = (gsa_transfer){ .channel = GSA_CHANNEL_NOW, .partner = r };
    if (r == g->rank || (sent == out && received == in)) {
        t->transfer[r].partner = -1, t->left--;
        return GSA_OK;
    }
    t->moved[r] += GSA_GROUP_CHUNK;
    if (g->start(g->user, &t->transfer[r], t->at + first[0] + sent, chunk(out - sent),
                 t->at + first[1] + received, chunk(in - received), why, sizeof why) != 0)
        return cannot_reach(g, r, why, error);
    g->sent += chunk(out - sent);
    return GSA_OK;
}

gsa_status gsa_group_begin(gsa_group *g, gsa_status status, gsa_error *error)
{
    if (status != GSA_OK || g->failed) return gsa_group_tell(g, status, NULL, NULL, error);
    gsa_group_trade *t = g->trade;
    memset(t->word + (int64_t)g->rank * WORDS, 0, WORDS * sizeof *t->word);
    memset(t->moved, 0, (size_t)g->ranks * sizeof *t->moved);
    t->turn = 1, t->left = g->ranks;
    return start_telling(g, t, error);
}

/* 1: it has ended. */
static int ended(gsa_group *g, gsa_transfer *t, int waits, gsa_status *status, gsa_error *error)
{
    char why[WHY] = "";
    const int done = g->poll(g->user, t, waits, why, sizeof why);
    if (done < 0) *status = cannot_reach(g, t->partner, why, error);
    return done == 1;
}

gsa_status gsa_group_go_on(gsa_group *g, int waits, gsa_error *error)
{
    gsa_group_trade *t = alone(g) || g->failed ? NULL : g->trade;
    gsa_status status = GSA_OK;
    if (!t || t->left == 0) return GSA_OK;
    while (t->turn < g->ranks && status == GSA_OK) {
        if (!ended(g, &t->telling, waits, &status, error)) return status;
        t->turn *= 2;
        if (t->turn < g->ranks) status = start_telling(g, t, error);
        else status = judge(g, GSA_OK, t->word, error);
        for (int32_t d = 0; t->turn == g->ranks && d < g->ranks && status == GSA_OK; d++)
            status = start_bytes(g, t, g->rank ^ d, error);
    }
    for (int32_t d = 1; d < g->ranks && status == GSA_OK; d++)
        while (status == GSA_OK && t->transfer[g->rank ^ d].partner >= 0 &&
               ended(g, &t->transfer[g->rank ^ d], waits, &status, error))
            status = start_bytes(g, t, g->rank ^ d, error);
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

typedef struct turn { /* numbers that go to the partner, and where its own come to */
    int64_t from, to, partner;
    char *receive;
    int64_t received;
} turn;

/* The transfer of this turn. Going up the tree it keeps one half and sends the other; going down
 * it sends what it has the sums of, and receives the other half. */
static turn next_turn(const gsa_group *g, gsa_group_adding *a)
{
    const int up = a->turn < levels(g);
    const int level = up ? a->turn : 2 * levels(g) - 1 - a->turn, upper = g->rank >> level & 1;
    const int64_t low = a->low[level], high = a->high[level], middle = low + (high - low) / 2;
    const int64_t kept = upper ? middle : low, end = upper ? high : middle,
                  other = upper ? low : middle, other_end = upper ? middle : high;
    a->low[level + 1] = kept, a->high[level + 1] = end;
    return (turn){ .from = up ? other : kept,
                   .to = up ? other_end : end,
                   .partner = g->rank ^ 1 << level,
                   .receive = up ? a->room : a->at + other * a->real_bytes,
                   .received = up ? end - kept : other_end - other };
}

static gsa_status start_turn(gsa_group *g, gsa_group_adding *a, gsa_error *error)
{
    char why[WHY] = "";
    const turn t = next_turn(g, a);
    const int64_t bytes = (t.to - t.from) * a->real_bytes;
    a->transfer = (gsa_transfer){ .channel = GSA_CHANNEL_SUM, .partner = (int32_t)t.partner };
    if (g->start(g->user, &a->transfer, a->at + t.from * a->real_bytes, bytes, t.receive,
                 t.received * a->real_bytes, why, sizeof why) != 0)
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

static gsa_status device_failed(const gsa_backend *b, gsa_status status, gsa_error *error)
{
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s: %s", b->name, b->error.text);
}

/* Other ranks learn of a failure by the next gsa_group_tell, which does not use the wire. */
static gsa_status queue_turn(gsa_group *g, gsa_group_adding *a, gsa_error *error)
{
    gsa_backend *b = a->backend;
    char why[WHY] = "";
    void *queue;
    const turn t = next_turn(g, a);
    const int level = a->turn + 1;
    const int64_t bytes = (t.to - t.from) * a->real_bytes;
    gsa_status status = device_failed(b, b->aside(b, &queue), error);
    if (status != GSA_OK) return status;
    if (g->wire->swap(g->line, (int32_t)t.partner, a->at + t.from * a->real_bytes, bytes, t.receive,
                      t.received * a->real_bytes, queue, why, sizeof why) != 0)
        return gsa_fail(error, GSA_ERR_IO, "rank %d cannot reach rank %d: %s", g->rank,
                        (int)t.partner, why);
    g->sent += bytes;
    if (a->turn >= levels(g)) return GSA_OK;
    return device_failed(b,
                         b->accumulate(b, a->at + a->low[level] * a->real_bytes, a->room, 1,
                                       a->high[level] - a->low[level]),
                         error);
}

static gsa_status queue_all(gsa_group *g, gsa_group_adding *a, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (; a->turn < 2 * levels(g) && status == GSA_OK; a->turn++) status = queue_turn(g, a, error);
    const gsa_status ended = a->backend->back(a->backend);
    return status == GSA_OK ? device_failed(a->backend, ended, error) : status;
}

gsa_status gsa_group_add(gsa_group *g, gsa_group_adding *a, gsa_error *error)
{
    a->low[0] = 0, a->high[0] = a->count, a->turn = 0;
    return a->backend ? queue_all(g, a, error) : start_turn(g, a, error);
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

/* ---- the wire ------------------------------------------------------------------------------- */

/* A number of each rank: the first rank that has another one than `wanted`, or -1. */
static gsa_status first_other(gsa_group *g, int64_t own, int64_t wanted, int *first,
                              int64_t *theirs, gsa_error *error)
{
    int64_t told[GSA_GROUP_RANKS * GSA_GROUP_NUMBERS];
    const gsa_status status =
        gsa_group_tell(g, GSA_OK, (int64_t[GSA_GROUP_NUMBERS]){ own }, told, error);
    *first = -1;
    for (int r = g->ranks - 1; r >= 0 && status == GSA_OK; r--)
        if (told[r * GSA_GROUP_NUMBERS] != wanted)
            *first = r, *theirs = told[r * GSA_GROUP_NUMBERS];
    return status;
}

/* Where one rank has none, all do without: *without is that rank, or -1. */
static gsa_status same_wire(gsa_group *g, const gsa_wire *wire, int32_t version, int *without,
                            gsa_error *error)
{
    int other;
    int64_t theirs = 0;
    gsa_status status = first_other(g, version != 0, 1, without, &theirs, error);
    if (status != GSA_OK || *without >= 0) return status;
    status = first_other(g, version, version, &other, &theirs, error);
    if (status == GSA_OK && other >= 0)
        status = gsa_fail(error, GSA_ERR_UNSUPPORTED,
                          "rank %d of %d has %s %d, this one has %d: every rank runs the same",
                          other, g->ranks, wire->name, (int)theirs, (int)version);
    status = gsa_group_tell(g, status, NULL, NULL, error);
    if (status != GSA_OK) g->blamed = 1;
    return status;
}

static gsa_status open_line(gsa_group *g, const gsa_wire *wire, int *without, char why[WHY],
                            gsa_error *error)
{
    char key[GSA_WIRE_KEY] = "";
    int64_t theirs;
    gsa_status status = GSA_OK;
    if (g->rank == 0 && wire->make_key(key, why, WHY) != 0)
        status = gsa_fail(error, GSA_ERR_IO, "%s", why);
    status = gsa_group_merge(g, status, key, sizeof key, error);
    if (status != GSA_OK) return status;
    const int opened = wire->open(key, g->rank, g->ranks, &g->line, why, WHY) == 0;
    status = first_other(g, opened, 1, without, &theirs, error);
    if (opened) g->wire = wire;
    if (status != GSA_OK || *without >= 0) close_wire(g, 0);
    else if (g->heed) g->heed(g->user, wire, g->line);
    return status;
}

gsa_status gsa_group_open_wire(gsa_group *g, const gsa_backend *b, char *said, size_t said_room,
                               gsa_error *error)
{
    char why[WHY] = "this program looks for no wire";
    int without = -1;
    said[0] = 0;
    if (alone(g) || !b->aside) return GSA_OK;
    const gsa_wire *wire = g->find_wire ? g->find_wire(why, sizeof why) : NULL;
    const int32_t version = wire ? wire->version(why, sizeof why) : 0;
    gsa_status status = same_wire(g, wire, version, &without, error);
    if (status == GSA_OK && without < 0) status = open_line(g, wire, &without, why, error);
    if (without != g->rank) memset(why, 0, sizeof why);
    if (status == GSA_OK && without >= 0)
        status = gsa_group_merge(g, status, why, sizeof why, error);
    if (status != GSA_OK) return status;
    if (without < 0)
        snprintf(said, said_room, "gradients go from device to device by %s", wire->name);
    else
        snprintf(said, said_room, "gradients go through the host's memory: rank %d of %d: %s",
                 without, g->ranks, why);
    return GSA_OK;
}

void gsa_group_close_wire(gsa_group *g)
{
    if (g) close_wire(g, !g->failed);
}
