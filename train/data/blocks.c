#include "train/data/blocks.h"
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "train/settings/recipe.h"

enum { CHUNK = 1 << 16, LINE = 1 << 20 /* bytes of a line, where a block has no more */ };

/* Block `count` begins here. */
static gsa_status begin(gsa_blocks *b, int64_t byte, int64_t line, gsa_error *error)
{
    if (b->count + 1 >= b->room) {
        const int64_t room = 2 * b->room + 16;
        int64_t **const all[] = { &b->byte, &b->line, &b->first };
        for (int i = 0; i < 3; i++) {
            int64_t *larger = gsa_resize(b->system, *all[i], (size_t)room, sizeof *larger);
            if (!larger) return gsa_out_of_memory(error, "blocks of a text", room * 24);
            *all[i] = larger;
        }
        b->room = room;
    }
    b->byte[b->count] = byte, b->line[b->count] = line, b->first[b->count] = 0;
    return GSA_OK;
}

/* The line after `line` others goes on to `end`, at least. */
static gsa_status check_line(const gsa_source_file *f, int64_t line, int64_t begin, int64_t end,
                             int64_t bytes, gsa_error *error)
{
    const int64_t most = bytes > LINE ? bytes : LINE;
    if (end - begin <= most) return GSA_OK;
    return gsa_fail(
        error, GSA_ERR_LIMIT,
        "%s:%lld: the line has more than %lld bytes, and data.stream reads whole lines: "
        "a line may be as long as data.stream says",
        f->path, (long long)line + 1, (long long)most);
}

/* A file ends its last block; within it a block ends at the first line end after `bytes`. */
static gsa_status cut_file(gsa_blocks *b, const gsa_source_file *f, int64_t bytes, char *chunk,
                           gsa_error *error)
{
    int64_t line = 0, begun = f->first;
    const int64_t end = f->first + f->bytes;
    gsa_status status = begin(b, f->first, 0, error);
    for (int64_t at = f->first, held; at < end && status == GSA_OK; at += held) {
        held = end - at < CHUNK ? end - at : CHUNK;
        status = gsa_source_read(b->source, chunk, held, at, error);
        if (status != GSA_OK) return status;
        for (const char *c = chunk, *const stop = chunk + held;
             status == GSA_OK && (c = memchr(c, '\n', (size_t)(stop - c))); c++) {
            const int64_t next = at + (c - chunk) + 1;
            status = check_line(f, line++, begun, next - 1, bytes, error);
            begun = next;
            if (status != GSA_OK || next - b->byte[b->count] < bytes || next == end) continue;
            b->count++;
            status = begin(b, next, line, error);
        }
        if (status == GSA_OK) status = check_line(f, line, begun, at + held, bytes, error);
    }
    b->count++;
    return status == GSA_OK ? begin(b, end, 0, error) : status;
}

gsa_status gsa_blocks_open(const gsa_system *system, const char *names, int64_t bytes,
                           gsa_blocks *blocks, gsa_error *error)
{
    gsa_blocks *b = blocks;
    int64_t files;
    *b = (gsa_blocks){ .system = gsa_system_or_default(system), .held = { -1, -1 } };
    char *chunk = gsa_alloc(b->system, CHUNK, 1);
    if (!chunk) return gsa_out_of_memory(error, names, CHUNK);
    gsa_status status = gsa_source_open(b->system, names, bytes, &b->source, error);
    const gsa_source_file *f = status == GSA_OK ? gsa_source_files(b->source, &files) : NULL;
    for (int64_t i = 0; status == GSA_OK && i < files; i++)
        status = cut_file(b, &f[i], bytes, chunk, error);
    gsa_release(b->system, chunk);
    if (status != GSA_OK) gsa_blocks_release(b);
    return status;
}

void gsa_blocks_release(gsa_blocks *b)
{
    gsa_source_release(b->source);
    gsa_release(b->system, b->byte);
    gsa_release(b->system, b->line);
    gsa_release(b->system, b->first);
    gsa_release(b->system, b->length);
    *b = (gsa_blocks){ 0 };
}

/* ---- reading ------------------------------------------------------------------------------- */

static gsa_status take_block(gsa_blocks *b, gsa_block_taker *take, void *task, int64_t which,
                             int slot, int64_t *examples, const int32_t **length, gsa_error *error)
{
    gsa_block block = { .path = gsa_source_at(b->source, b->byte[which])->path,
                        .count = b->byte[which + 1] - b->byte[which],
                        .line = b->line[which] };
    block.bytes = gsa_alloc(b->system, (size_t)block.count + 1, 1);
    if (!block.bytes) return gsa_out_of_memory(error, block.path, block.count);
    const gsa_status status =
        gsa_source_read(b->source, block.bytes, block.count, b->byte[which], error);
    block.bytes[block.count] = 0;
    if (status == GSA_OK) return take(task, slot, &block, examples, length, error);
    gsa_release(b->system, block.bytes);
    return status;
}

gsa_status gsa_blocks_pass(gsa_blocks *b, gsa_block_taker *take, void *task, gsa_error *error)
{
    int64_t examples;
    const int32_t *length;
    gsa_status status = GSA_OK;
    for (int64_t i = 0; i < b->count && status == GSA_OK; i++)
        status = take_block(b, take, task, i, 0, &examples, &length, error);
    return status;
}

static gsa_status add_lengths(gsa_blocks *b, int64_t used, const int32_t *length, int64_t examples,
                              gsa_error *error)
{
    if (used + examples > b->length_room) {
        const int64_t room = used + examples + b->length_room;
        int32_t *larger = gsa_resize(b->system, b->length, (size_t)room, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, "lengths of examples", room * 4);
        b->length = larger, b->length_room = room;
    }
    if (examples) memcpy(b->length + used, length, (size_t)examples * sizeof *length);
    return GSA_OK;
}

static void tell(const gsa_blocks *b, const gsa_task_options *o)
{
    char sentence[2300];
    int64_t files;
    gsa_source_files(b->source, &files);
    snprintf(sentence, sizeof sentence,
             "train: %.2000s: %lld file%s of %lld bytes, %lld examples in %lld blocks",
             o->recipe->values.data_train, (long long)files, files == 1 ? "" : "s",
             (long long)gsa_source_bytes(b->source), (long long)gsa_blocks_examples(b),
             (long long)b->count);
    o->say(o->context, sentence);
}

gsa_status gsa_blocks_number(gsa_blocks *b, const gsa_task_options *o, gsa_block_taker *take,
                             void *task, gsa_error *error)
{
    int64_t examples = 0;
    const int32_t *length = NULL;
    gsa_status status = o->resumes ? gsa_source_check(b->source, o->checkpoint, error) : GSA_OK;
    b->take = take, b->task = task, b->first[0] = 0;
    for (int64_t i = 0; i < b->count && status == GSA_OK; i++) {
        status = take_block(b, take, task, i, 0, &examples, &length, error);
        if (status == GSA_OK) status = add_lengths(b, b->first[i], length, examples, error);
        if (status == GSA_OK) b->first[i + 1] = b->first[i] + examples;
    }
    if (status == GSA_OK) tell(b, o), b->held[0] = b->count - 1;
    return status;
}

static gsa_status hold(gsa_blocks *b, int64_t example, int *slot, int64_t *first, gsa_error *error)
{
    int64_t low = 0, high = b->count - 1, examples;
    const int32_t *length;
    while (low < high) { /* blocks without an example are passed over */
        const int64_t middle = high - (high - low) / 2;
        if (b->first[middle] <= example) low = middle;
        else high = middle - 1;
    }
    *first = b->first[low];
    if (b->held[b->last] != low) b->last = !b->last;
    *slot = b->last;
    if (b->held[*slot] == low) return GSA_OK;
    b->held[*slot] = -1;
    gsa_status status = take_block(b, b->take, b->task, low, *slot, &examples, &length, error);
    if (status == GSA_OK && examples != b->first[low + 1] - *first)
        status = gsa_fail(error, GSA_ERR_IO, "%s has changed while it was in use",
                          gsa_source_at(b->source, b->byte[low])->path);
    if (status == GSA_OK) b->held[*slot] = low;
    return status;
}

gsa_status gsa_blocks_find(const gsa_blocks *b, int64_t example, int *split, int64_t *first,
                           gsa_error *error)
{
    int slot = 0;
    *first = 0;
    if (*split != GSA_SPLIT_TRAIN || b->count == 0) return GSA_OK;
    /* a cache: who takes an example changes nothing that can be seen */
    const gsa_status status = hold((gsa_blocks *)(uintptr_t)b, example, &slot, first, error);
    *split = GSA_SPLITS + slot;
    return status;
}
