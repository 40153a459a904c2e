#include "train/driver/gradient_tree.h"
#include <string.h>

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

static gsa_status create_flat(gsa_tree *s, gsa_error *error)
{
    const int64_t real_bytes = gsa_parameters_backend(s->parameters)->real_bytes;
    for (int i = 0; i < gsa_parameters_count(s->parameters); i++) {
        const gsa_parameter *p = gsa_parameters_at(s->parameters, i);
        if (p->value.grad) s->numbers += p->value.rows * p->value.cols;
    }
    s->flat = gsa_alloc(s->system, (size_t)s->numbers, (size_t)real_bytes);
    return s->flat ? GSA_OK
                   : gsa_out_of_memory(error, "sums of gradients", s->numbers * real_bytes);
}

gsa_status gsa_tree_create(const gsa_system *system, gsa_parameters *parameters, int64_t pieces,
                           int32_t ranks, gsa_tree *made, gsa_error *error)
{
    gsa_status status = GSA_OK;
    *made = (gsa_tree){ .system = system, .parameters = parameters, .pieces = pieces };
    if (ranks > 1) status = create_flat(made, error);
    for (int level = 0; INT64_C(1) << level < pieces && status == GSA_OK; level++)
        status = create_level(made, level, error);
    if (status != GSA_OK) gsa_tree_release(made);
    return status;
}

void gsa_tree_release(gsa_tree *s)
{
    for (int level = 0; level < GSA_TREE_LEVELS && s->level[level]; level++) {
        gsa_backend *b = gsa_parameters_backend(s->parameters);
        for (int i = 0; i < gsa_parameters_count(s->parameters); i++)
            if (s->level[level][i]) b->free(b, s->level[level][i]);
        gsa_release(s->system, s->level[level]);
    }
    if (s->flat) gsa_release(s->system, s->flat);
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

gsa_status gsa_tree_add(gsa_tree *s, int64_t piece, gsa_error *error)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    for (int i = 0; s->pieces > 1 && i < gsa_parameters_count(s->parameters); i++) {
        const gsa_status status = add_one(s, i, piece);
        if (status != GSA_OK) return gsa_fail(error, status, "%s: %s", b->name, b->error.text);
    }
    if (piece + 1 == s->pieces) return GSA_OK;
    return gsa_parameters_zero_gradients(s->parameters, error);
}

/* ---- several ranks ------------------------------------------------------------------------- */

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

/* Between the parameters' gradients and `flat`. */
static gsa_status move(gsa_tree *s, int into_flat, gsa_error *error)
{
    gsa_backend *b = gsa_parameters_backend(s->parameters);
    gsa_status status = GSA_OK;
    char *at = s->flat;
    for (int i = 0; i < gsa_parameters_count(s->parameters) && status == GSA_OK; i++) {
        const gsa_parameter *p = gsa_parameters_at(s->parameters, i);
        if (!p->value.grad) continue;
        status = into_flat ? b->download(b, at, p->value.grad, bytes_of(s, p))
                           : b->upload(b, p->value.grad, at, bytes_of(s, p));
        if (p->value.marks) p->value.marks->all = 1;
        at += bytes_of(s, p);
    }
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s: %s", b->name, b->error.text);
}

gsa_status gsa_tree_pack(gsa_tree *s, int64_t *bad, gsa_error *error)
{
    const gsa_status status = move(s, 1, error);
    *bad = has_bad(s->flat, s->numbers, gsa_parameters_backend(s->parameters)->real_bytes);
    return status;
}

gsa_status gsa_tree_sum(gsa_tree *s, gsa_group *group, gsa_error *error)
{
    const gsa_status status =
        gsa_group_sum(group, GSA_OK, s->flat, s->numbers,
                      gsa_parameters_backend(s->parameters)->real_bytes, error);
    return status == GSA_OK ? move(s, 0, error) : status;
}
