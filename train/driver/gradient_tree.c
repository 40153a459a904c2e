#include "train/driver/gradient_tree.h"
#include <string.h>
#include "gsa/tape_watch.h"

static int64_t bytes_of(const gsa_tree *s, const gsa_parameter *p)
{
    return p->value.rows * p->value.cols * gsa_parameters_backend(s->parameters)->real_bytes;
}

static gsa_status create_level(gsa_tree *s, int level, gsa_error *error)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    const int count = gsa_parameters_count(s->parameters);
    s->level[level] = gsa_alloc_zero(s->system, (size_t)count, sizeof *s->level[level]);
    if (!s->level[level]) return gsa_out_of_memory(error, "sums of gradients", count * 8);
    for (int i = 0; i < count; i++) {
        const gsa_parameter *p = gsa_parameters_at(s->parameters, i);
        if (!p->value.grad) continue;
        s->level[level][i] = b->alloc(b, bytes_of(s, p));
        if (!s->level[level][i])
            return gsa_backend_no_memory(b, "sums of gradients", bytes_of(s, p), error);
    }
    return GSA_OK;
}

static void begin(gsa_tree *s)
{
    s->next = gsa_parameters_count(s->parameters) - 1;
    s->packed = s->sent = s->left = s->numbers, s->bad = 0;
}

/* A bucket's halves are as aligned as what it is cut from: a multiple of `line` numbers. */
static void cut_buckets(gsa_tree *s, int64_t numbers, int64_t line, int64_t real_bytes)
{
    s->bucket = (numbers / GSA_TREE_BUCKETS + line) / line * line;
    if (s->bucket > GSA_GROUP_CHUNK / real_bytes) s->bucket = GSA_GROUP_CHUNK / real_bytes;
}

static gsa_status create_plane(gsa_tree *s, gsa_error *error)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    s->planes = gsa_parameters_planes(s->parameters);
    s->numbers = s->planes->decayed, s->flat = s->planes->gradients;
    cut_buckets(s, s->planes->total, GSA_PLANE_LINE, b->real_bytes);
    const int64_t bytes = (s->bucket + 1) / 2 * b->real_bytes;
    s->room = b->alloc(b, bytes);
    return s->room ? GSA_OK : gsa_backend_no_memory(b, "sums of gradients", bytes, error);
}

static gsa_status create_flat(gsa_tree *s, gsa_error *error)
{
    const int64_t real_bytes = gsa_parameters_backend(s->parameters)->real_bytes;
    if (s->group->wire && gsa_parameters_planes(s->parameters)->gradients)
        return create_plane(s, error);
    for (int i = 0; i < gsa_parameters_count(s->parameters); i++) {
        const gsa_parameter *p = gsa_parameters_at(s->parameters, i);
        if (p->value.grad) s->numbers += p->value.rows * p->value.cols;
    }
    cut_buckets(s, s->numbers, 1, real_bytes);
    const int64_t room = s->numbers + (s->bucket + 1) / 2;
    s->flat = gsa_alloc_zero(s->system, (size_t)room, (size_t)real_bytes);
    if (!s->flat) return gsa_out_of_memory(error, "sums of gradients", room * real_bytes);
    s->room = s->flat + s->numbers * real_bytes;
    return GSA_OK;
}

gsa_status gsa_tree_create(const gsa_system *system, gsa_parameters *parameters, int64_t pieces,
                           gsa_group *group, gsa_tree *made, gsa_error *error)
{
    gsa_status status = GSA_OK;
    *made =
        (gsa_tree){ .system = system, .parameters = parameters, .pieces = pieces, .group = group };
    if (group) status = create_flat(made, error);
    for (int level = 0; INT64_C(1) << level < pieces && status == GSA_OK; level++)
        status = create_level(made, level, error);
    if (status != GSA_OK) gsa_tree_release(made);
    else begin(made);
    return status;
}

void gsa_tree_release(gsa_tree *s)
{
    gsa_backend *b = s->parameters ? gsa_parameters_backend(s->parameters) : NULL;
    for (int level = 0; level < GSA_TREE_LEVELS && s->level[level]; level++) {
        for (int i = 0; i < gsa_parameters_count(s->parameters); i++)
            if (s->level[level][i]) b->free(b, s->level[level][i]);
        gsa_release(s->system, s->level[level]);
    }
    if (s->planes) b->free(b, s->room);
    else if (s->flat) gsa_release(s->system, s->flat);
    *s = (gsa_tree){ 0 };
}

/* The subtrees that end with this piece, the smaller first; what is not whole is kept. */
static gsa_status add_one(gsa_tree *s, int i, int64_t piece)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    gsa_parameter *p = gsa_parameters_at(s->parameters, i);
    gsa_status status = GSA_OK;
    int level = 0;
    if (!p->value.grad) return GSA_OK;
    for (; piece >> level & 1 && status == GSA_OK; level++) {
        status =
            b->accumulate(b, p->value.grad, s->level[level][i], 1, p->value.rows * p->value.cols);
        if (p->value.marks) p->value.marks->all = 1;
    }
    if (status != GSA_OK || piece + 1 == s->pieces) return status;
    return b->copy(b, s->level[level][i], p->value.grad, bytes_of(s, p));
}

static gsa_status failed(const gsa_tree *s, gsa_status status, gsa_error *error)
{
    const gsa_backend *b = gsa_parameters_backend(s->parameters);
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s: %s", b->name, b->error.text);
}

static int64_t has_bad(const void *at, int64_t count, int64_t real_bytes)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < count && real_bytes == 4; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)at + i * 4, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    for (int64_t i = 0; i < count && real_bytes == 8; i++) {
        uint64_t bits;
        memcpy(&bits, (const char *)at + i * 8, sizeof bits);
        bad |= (bits & 0x7ff0000000000000u) == 0x7ff0000000000000u;
    }
    return bad;
}

/* The next parameter has all of the last piece: its sum, which goes into `flat`. */
static gsa_status pack_next(gsa_tree *s, gsa_error *error)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    const gsa_parameter *p = gsa_parameters_at(s->parameters, s->next);
    gsa_status status = s->pieces > 1 ? add_one(s, s->next, s->pieces - 1) : GSA_OK;
    const int64_t place = s->planes ? s->planes->place[s->next] : -1;
    s->next--;
    if (place >= 0 && place < s->packed) s->packed = place;
    if (status == GSA_OK && s->flat && !s->planes && p->value.grad) {
        const int64_t count = p->value.rows * p->value.cols;
        char *at = s->flat + (s->packed -= count) * b->real_bytes;
        status = b->download(b, at, p->value.grad, bytes_of(s, p));
        s->bad |= has_bad(at, count, b->real_bytes);
    }
    return failed(s, status, error);
}

gsa_status gsa_tree_add(gsa_tree *s, int64_t piece, gsa_error *error)
{
    gsa_status status = GSA_OK;
    if (piece + 1 == s->pieces) {
        while (s->next >= 0 && status == GSA_OK) status = pack_next(s, error);
        if (!s->flat) begin(s);
        return status;
    }
    for (int i = 0; i < gsa_parameters_count(s->parameters) && status == GSA_OK; i++)
        status = failed(s, add_one(s, i, piece), error);
    return status == GSA_OK ? gsa_parameters_zero_gradients(s->parameters, error) : status;
}

/* ---- several ranks ------------------------------------------------------------------------- */

static void begin_sum(gsa_tree *s, int64_t at, int64_t count)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    s->adding = (gsa_group_adding){ .backend = s->planes ? b : NULL,
                                    .at = s->flat + at * b->real_bytes,
                                    .room = s->room,
                                    .count = count,
                                    .real_bytes = b->real_bytes };
}

/* Buckets down to number `from`. */
static gsa_status send(gsa_tree *s, int64_t from, int waits, gsa_error *error)
{
    gsa_status status = GSA_OK;
    while (status == GSA_OK) {
        int done = 0;
        if (s->left > s->sent) {
            status = gsa_group_advance(s->group, &s->adding, waits, &done, error);
            if (status == GSA_OK && !done) return GSA_OK;
            if (status != GSA_OK) break;
            s->left = s->sent;
        }
        const int64_t low = s->sent > s->bucket ? s->sent - s->bucket : 0;
        if (s->sent == 0 || low < from) break;
        begin_sum(s, low, s->sent - low);
        s->sent = low, s->group->early += !waits;
        status = gsa_group_add(s->group, &s->adding, error);
    }
    if (status != GSA_OK) s->sent = s->left = 0; /* nothing is sent any more */
    return status;
}

/* The first parameter, downwards, whose gradient may still grow. On a device, where whatever is
 * given to it ends what its calls have gathered for one launch, not before a bucket is whole. */
static int first_open(const gsa_tree *s)
{
    int i = s->next;
    int64_t from = s->packed;
    for (; i >= 0; i--) {
        const gsa_tensor *x = &gsa_parameters_at(s->parameters, i)->value;
        if (x->grad && x->uses != GSA_USES_SPENT) break;
        if (s->planes && s->planes->place[i] >= 0 && s->planes->place[i] < from)
            from = s->planes->place[i];
    }
    return s->planes && s->sent - from < s->bucket ? s->next : i;
}

static void go_on(void *user)
{
    gsa_tree *s = user;
    gsa_status status = s->error.status;
    if (status != GSA_OK) return;
    for (const int to = first_open(s); s->next > to && status == GSA_OK;)
        status = pack_next(s, &s->error);
    if (status == GSA_OK) send(s, s->packed, 0, &s->error);
}

void gsa_tree_watch(gsa_tree *s, gsa_tape *tape)
{
    if (!s->flat || s->looks) return;
    if (!s->planes && !gsa_parameters_backend(s->parameters)->shares_host_memory) return;
    for (int i = 0; i < gsa_parameters_count(s->parameters); i++)
        gsa_parameters_at(s->parameters, i)->value.uses = 0;
    gsa_tape_watch(tape, go_on, s);
}

/* Before they are sums of all ranks. */
static gsa_status look(gsa_tree *s, gsa_error *error)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    const int64_t total = s->planes->total;
    gsa_status status = GSA_OK;
    char *host = gsa_alloc(s->system, (size_t)s->bucket, (size_t)b->real_bytes);
    if (!host) return gsa_out_of_memory(error, "gradients", s->bucket * b->real_bytes);
    for (int64_t at = 0, count; at < total && status == GSA_OK; at += count) {
        count = total - at < s->bucket ? total - at : s->bucket;
        status = b->download(b, host, s->flat + at * b->real_bytes, count * b->real_bytes);
        if (status == GSA_OK) s->bad |= has_bad(host, count, b->real_bytes);
    }
    gsa_release(s->system, host);
    return failed(s, status, error);
}

/* With a wire: what is after the plane's first part. */
static void send_rest(gsa_tree *s)
{
    const int64_t total = s->planes->total;
    for (int64_t at = s->numbers, count; at < total && s->error.status == GSA_OK; at += count) {
        count = total - at < s->bucket ? total - at : s->bucket;
        begin_sum(s, at, count);
        gsa_group_add(s->group, &s->adding, &s->error);
    }
}

gsa_status gsa_tree_end(gsa_tree *s, int64_t *bad, gsa_error *error)
{
    if (s->planes && s->looks && s->error.status == GSA_OK) look(s, &s->error);
    send(s, 0, 1, &s->error);
    if (s->planes) send_rest(s);
    *bad = s->bad;
    begin(s);
    return s->error.status == GSA_OK ? GSA_OK
                                     : gsa_fail(error, s->error.status, "%s", s->error.text);
}

gsa_status gsa_tree_take(gsa_tree *s, gsa_error *error)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    gsa_status status = s->planes ? b->meet(b) : GSA_OK;
    const char *at = s->flat;
    for (int i = 0; !s->planes && i < gsa_parameters_count(s->parameters) && status == GSA_OK;
         i++) {
        const gsa_parameter *p = gsa_parameters_at(s->parameters, i);
        if (!p->value.grad) continue;
        status = b->upload(b, p->value.grad, at, bytes_of(s, p));
        if (p->value.marks) p->value.marks->all = 1;
        at += bytes_of(s, p);
    }
    return failed(s, status, error);
}
