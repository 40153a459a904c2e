/* blocks.h - training examples of lines, too many to be in memory at once (data.stream): the files
 * are cut into blocks of about so many bytes, at line ends and at ends of files. Two blocks are in
 * memory, as the task has read them.
 *
 * Memory.  Two blocks and what they are made of; 4 bytes an example (its length), 40 a block, and
 *     what source.h says. */
#ifndef GSA_BLOCKS_H
#define GSA_BLOCKS_H
#include "train/data/source.h"
#include "train/task.h"

typedef struct gsa_block { /* text of one file; bytes are the system's, and the taker's to release
                            */
    const char *path;
    char *bytes;
    int64_t count, line; /* line: of the file, before the first */
} gsa_block;

/* The task's reader: the block's examples into its slot 0 or 1, in place of what was there. Their
 * number, and in *length that of each, which stays the task's. */
typedef gsa_status gsa_block_taker(void *task, int slot, const gsa_block *block, int64_t *examples,
                                   const int32_t **length, gsa_error *error);

typedef struct gsa_blocks {
    const gsa_system *system;
    gsa_source *source;
    gsa_block_taker *take;
    void *task;
    int64_t *byte, *line, *first; /* [count+1] where a block begins: byte of the source, lines of
                                     its file before it, first example */
    int64_t count, room;
    int32_t *length; /* [examples] */
    int64_t length_room;
    int64_t held[2]; /* which block a slot holds; -1: none */
    int last;        /* the slot that was read last */
} gsa_blocks;

/* Cuts the files (source.h has the names). */
gsa_status gsa_blocks_open(const gsa_system *system, const char *names, int64_t bytes,
                           gsa_blocks *blocks, gsa_error *error);
void gsa_blocks_release(gsa_blocks *blocks); /* a zeroed one is fine */
/* Each block once, in order, to slot 0: for counting. */
gsa_status gsa_blocks_pass(gsa_blocks *blocks, gsa_block_taker *take, void *task, gsa_error *error);
/* Likewise, and what `take` gives are the examples from now on. Says how many; a run that goes on
 * must have had the same files. */
gsa_status gsa_blocks_number(gsa_blocks *blocks, const gsa_task_options *options,
                             gsa_block_taker *take, void *task, gsa_error *error);
/* *split is where the example's texts are: itself, but GSA_SPLITS + slot of a training example that
 * comes in a block, which is read where it must; *first: its number of the first of them. */
gsa_status gsa_blocks_find(const gsa_blocks *blocks, int64_t example, int *split, int64_t *first,
                           gsa_error *error);
static inline int64_t gsa_blocks_examples(const gsa_blocks *blocks)
{
    return blocks->first ? blocks->first[blocks->count] : 0;
}

#endif
