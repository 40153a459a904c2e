#include "train/use/turns.h"

static gsa_status open_part(gsa_turns *t, gsa_error *error)
{
    gsa_recycler_feed(&t->memory, "", 0);
    return gsa_output_open(&t->memory.above.table, GSA_RECYCLE_TEXT, &t->part, error);
}

gsa_status gsa_turns_begin(const gsa_system *system, gsa_group *group, const char *path,
                           gsa_turns *turns, gsa_error *error)
{
    gsa_turns *t = turns;
    *t = (gsa_turns){ .group = group };
    gsa_status status =
        gsa_output_open(system, gsa_group_rank(group) ? "/dev/null" : path, &t->whole, error);
    t->part = t->whole;
    if (!group) return status;
    gsa_recycler_start(&t->memory, system);
    t->part = NULL;
    if (status == GSA_OK) status = open_part(t, error);
    return status == GSA_OK ? status : gsa_turns_end(t, status, error);
}

gsa_status gsa_turns_next(gsa_turns *turns, gsa_status status, gsa_error *error)
{
    gsa_turns *t = turns;
    const void *all;
    int64_t total;
    if (!t->group) return status;
    if (status == GSA_OK) status = gsa_output_commit(t->part, error), t->part = NULL;
    if (t->memory.missing) status = gsa_out_of_memory(error, "a text", t->memory.missing);
    status =
        gsa_group_join(t->group, status, t->memory.made, t->memory.written, &all, &total, error);
    if (status == GSA_OK) gsa_output_write(t->whole, all, total);
    return status == GSA_OK ? open_part(t, error) : status;
}

gsa_status gsa_turns_end(gsa_turns *turns, gsa_status status, gsa_error *error)
{
    gsa_turns *t = turns;
    if (t->group && t->part) gsa_output_abandon(t->part);
    if (t->group) gsa_recycler_end(&t->memory);
    if (status == GSA_OK) return gsa_output_commit(t->whole, error);
    if (t->whole) gsa_output_abandon(t->whole);
    return status;
}
