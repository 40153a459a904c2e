/* system.h - the one allocation table and the one file-system shim.
 *
 * Example:
 *
 *     gsa_error error;
 *     gsa_output *output;
 *     char *text;
 *     int64_t bytes;
 *     if (gsa_output_open(NULL, "words.txt", &output, &error)) return puts(error.text), 1;
 *     gsa_output_format(output, "%d words\n", 3);
 *     if (gsa_output_commit(output, &error) || // without it there is no file
 *         gsa_read_file(NULL, "words.txt", 1 << 20, &text, &bytes, &error))
 *         return puts(error.text), 1;
 *     fputs(text, stdout); // 3 words
 *     gsa_release(NULL, text);
 *     return bytes != 8;
 *
 * Law.  Every allocation and every file operation of the project goes through the `gsa_system` that
 *     its constructor was given, so that tests can make the n-th one fail and an embedder can bring
 *     an arena. A handle keeps the pointer: the table must outlive it. Functions are called from
 *     many threads at once.
 *     Wherever a `const gsa_system *` is requested, NULL means gsa_system_default().
 *     Files fail with GSA_ERR_IO, or GSA_ERR_ARGUMENT where a path cannot be one; memory with
 *     GSA_ERR_MEMORY. */
#ifndef GSA_SYSTEM_H
#define GSA_SYSTEM_H
#include <stddef.h>
#include <stdint.h>
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a path leads to. */
enum gsa_file_kind {
    GSA_FILE_ABSENT,
    GSA_FILE_REGULAR,
    GSA_FILE_FOLDER,
    GSA_FILE_OTHER /* device, FIFO, socket, descriptor */,
    GSA_FILE_LINK /* of `entry` alone */
};
/* How a file is opened. */
enum gsa_open_mode {
    GSA_OPEN_READ,
    GSA_OPEN_CREATE /* must not exist */,
    GSA_OPEN_REPLACE /* truncate or create */,
    GSA_OPEN_APPEND /* at the end, created if absent */,
    GSA_OPEN_EXISTING /* write, never create */,
    GSA_OPEN_OWN /* as append; a link, a second name or no regular file is an error */,
    GSA_OPEN_READ_OWN /* as read; a link or no regular file is an error */,
    GSA_OPEN_CREATE_PRIVATE /* as create; the writer alone may open it, until keep_mode */
};

/* A topology's own code, about to run in the calling thread. */
typedef struct gsa_plugin_call {
    const char *who;      /* the topology's id; of "load" the file's path; of "example" "" */
    const char *function; /* "load", "create", "describe", "emit", "label", "destroy"; "example": no
                             code runs yet, the next calls are for the data's example `number` */
    const struct gsa_example *example; /* of emit; else NULL */
    int64_t number;                    /* from 1; 0: none is known */
} gsa_plugin_call;

/* Which file it is, and which content it has. */
typedef struct gsa_stamp {
    int64_t device, inode; /* which file */
    int64_t bytes;         /* its size */
    int64_t written[2];    /* seconds and nanoseconds when its content changed last */
    int64_t changed[2];    /* and when anything of it did, which no program sets */
} gsa_stamp;

/* Memory, files and threads that the library uses; a program may give its own. */
typedef struct gsa_system {
    void *user; /* passed back, never read            */
    /* memory: as malloc, realloc, free. resize(NULL) allocates; release(NULL) does nothing. Never
     *         called with 0 bytes.  */
    void *(*alloc)(void *user, size_t bytes);
    void *(*resize)(void *user, void *at, size_t bytes);
    void (*release)(void *user, void *at);
    /* files: < 0 is a failure with errno set. A descriptor is >= 0. read and write may be short;
     * read returns 0 at the end. */
    int (*open)(void *user, const char *path,
                int mode); /* gsa_open_mode; "-": a duplicate of standard input or
                              output, so that it can be closed and checked        */
    /* the bytes that were read or written, at most `bytes`; < 0: a failure */
    int64_t (*read)(void *user, int file, void *buffer, int64_t bytes);
    int64_t (*write)(void *user, int file, const void *buffer, int64_t bytes);
    int (*sync)(void *user, int file);  /* to the medium                      */
    int (*close)(void *user, int file); /* the file is closed in any case     */
    int (*truncate)(void *user, const char *path, int64_t bytes); /* to its first bytes */
    int (*rename)(void *user, const char *from, const char *to);  /* replaces `to` atomically */
    int (*remove)(void *user, const char *path);      /* a file, a link or an empty folder  */
    int (*make_folder)(void *user, const char *path); /* one level                          */
    int (*sync_folder)(void *user, const char *path); /* its entries, to the medium */
    int (*kind)(void *user, const char *path,
                int64_t *bytes); /* gsa_file_kind; bytes may be NULL   */
    /* each name in the folder, without order; `each` returns other than 0 to end it */
    int (*list)(void *user, const char *path, int (*each)(void *context, const char *name),
                void *context);
    int64_t (*read_at)(void *user, int file, void *buffer, int64_t bytes,
                       int64_t offset); /* as read, from this place of a
                    regular file; any thread      */
    int (*lock)(void *user, int file,
                int wait); /* for this opening of the file alone, until it is closed or
                              its process ends; wait 0: EWOULDBLOCK where another has it.
                              Success where files cannot be locked; NULL: none can  */
    /* Before code of a topology runs, and with NULL once it has returned: for who must say what ran
     * when a signal came. NULL: nobody. */
    void (*calling)(void *user, const gsa_plugin_call *call);
    /* links: all four are NULL in a table whose paths hold none. */
    int (*entry)(void *user,
                 const char *path); /* as kind, of the name itself: GSA_FILE_LINK for a link */
    int64_t (*resolve)(void *user, const char *path, char *out,
                       int64_t room); /* the path that a link's chain leads to, with
                              its end; its length                                  */
    /* The open file gets the path's permissions and group, and as root its owner, or fewer
     * permissions where that cannot be. */
    int (*keep_mode)(void *user, int file, const char *path);
    int (*clear_folder)(void *user,
                        const char *path); /* removes a folder of plain files, through its
                                              descriptor. A link, or a folder that holds anything
                                              else, is an error, and nothing is removed */
    /* 1 where `path` names the open file. A NULL member stands for 1. */
    int (*same)(void *user, int file, const char *path);
    /* Why an output may not be put there, as the end of a sentence, in `why`: 1. 0: it may. NULL:
     * it always may. The path was followed through its links. */
    int (*refuses)(void *user, const char *path, char *why, size_t room);
    /* bytes that the medium holds of a file, few where it has holes. NULL: not known */
    int64_t (*stored)(void *user, const char *path);
    /* Opens a folder: a descriptor for close, and in `at` the path that leads to it, whatever
     * becomes of its name. Beneath that path no link is followed. Who replaces open or kind
     * gives a hold of its own, or NULL: none can be held */
    int (*hold)(void *user, const char *path, char *at, size_t room);
    /* What differs once an open file was written, or is another one. NULL: not known */
    int (*stamp)(void *user, int file, gsa_stamp *stamp);
} gsa_system;

/* malloc and POSIX; immutable, any thread. */
const gsa_system *gsa_system_default(void);

/* Memory through the table. All return NULL when count * size overflows or the table has no memory;
 * a zero product allocates one byte, so that NULL always means failure. The caller owns the result
 * and releases it with the same table. */
void *gsa_alloc(const gsa_system *system, size_t count, size_t size);
void *gsa_alloc_zero(const gsa_system *system, size_t count, size_t size);
void *gsa_resize(const gsa_system *system, void *at, size_t count,
                 size_t size); /* on failure `at` stays valid */
void gsa_release(const gsa_system *system, void *at);
char *gsa_copy_text(const gsa_system *system, const char *text);

/* To be called around each call of a topology's function; `call`: NULL once it has returned. */
void gsa_calling(const gsa_system *system, const gsa_plugin_call *call);

/* Fails with a sentence that names `what` there is no memory for and the bytes requested; for
 * callers that saw NULL. */
gsa_status gsa_out_of_memory(gsa_error *error, const char *what, int64_t bytes);

/* Checked arithmetic on sizes that are never negative: 1 and *out, or 0 on overflow. */
static inline int gsa_add(int64_t a, int64_t b, int64_t *out)
{
    if (a < 0 || b < 0 || a > INT64_MAX - b) return 0;
    *out = a + b;
    return 1;
}
static inline int gsa_mul(int64_t a, int64_t b, int64_t *out)
{
    if (a < 0 || b < 0 || (b != 0 && a > INT64_MAX / b)) return 0;
    *out = a * b;
    return 1;
}

/* Reads a whole file, at most `limit` bytes of it; of what is no regular file at most 2^30, of a
 * regular one at most half of the machine's memory; more, and a file of holes, is GSA_ERR_LIMIT.
 * *data gets one more byte, a zero, that *bytes does not count; the caller releases it. "-" is
 * standard input. */
gsa_status gsa_read_file(const gsa_system *system, const char *path, int64_t limit, char **data,
                         int64_t *bytes, gsa_error *error);

/* Makes the folder and its missing parents; an existing folder is success. */
gsa_status gsa_make_folders(const gsa_system *system, const char *path, gsa_error *error);

/* ---- output: all or nothing
 * ----------------------------------------------------------------------------------------- Bytes
 * go to `path`.tmp-gsa-XXXXXXXXXXXX next to the target; gsa_output_commit syncs, closes and renames
 * it over the target, which is a regular file or nothing. A target that exists and is no regular
 * file (device, FIFO) and "-" (standard output) is written directly, never renamed over, and its
 * close is checked; so is a descriptor that the path leads to (/dev/stdout, /dev/fd/N, a link to
 * one). Where `path` is a link, what it names is written and the link stays. A file that exists
 * keeps its permissions. Errors are sticky: after one, writes do nothing and commit reports it.
 * Last, commit syncs the folder; should that alone fail, the new file is in place and commit says
 * so. */
/* A file that is written whole or not at all. Opaque. */
typedef struct gsa_output gsa_output;
gsa_status gsa_output_open(const gsa_system *system, const char *path, gsa_output **output,
                           gsa_error *error);
/* The same for a file of a folder that the caller owns: a link of that name is replaced, not
 * followed. */
gsa_status gsa_output_open_own(const gsa_system *system, const char *path, gsa_output **output,
                               gsa_error *error);
/* Fails as gsa_output_open would, before the work whose result is to go there, and leaves nothing.
 * Devices, FIFOs and "-" are not tried. */
gsa_status gsa_output_check(const gsa_system *system, const char *path, gsa_error *error);
void gsa_output_write(gsa_output *output, const void *bytes, int64_t count);
void gsa_output_text(gsa_output *output, const char *text);
void gsa_output_format(gsa_output *output, const char *format, ...) GSA_PRINTF(2, 3);
/* What was written so far goes to the file now: for who waits for it at a terminal or a pipe. */
void gsa_output_flush(gsa_output *output);
/* Whether an error waits for commit to tell it: what takes long to put together may then be left
 * out. NULL: 0. */
int gsa_output_failed(const gsa_output *output);
/* Ends the output in either case; `output` is released. Without commit nothing of the target has
 * changed. */
gsa_status gsa_output_commit(gsa_output *output, gsa_error *error);
void gsa_output_abandon(gsa_output *output); /* NULL does nothing */

#ifdef __cplusplus
}
#endif
#endif
