/* status.h - the one error type of the project.
 *
 * Example:
 *
 *     gsa_error error;
 *     gsa_fail(&error, GSA_ERR_LIMIT, "%d rows; at most %d were expected", 9, 8);
 *     gsa_fail_at(&error, error.status, "%s:%d", "x.tsv", 3);
 *     puts(error.text); // x.tsv:3: 9 rows; at most 8 were expected
 *     return strcmp(gsa_status_name(error.status), "limit");
 *
 * Law.  Zero is success. A function that can fail returns a gsa_status and takes a `gsa_error *` as
 *     its last argument
 *       (NULL: the caller takes no sentence). On failure the error holds one sentence that
 *       names the bad value, what was expected, and where; on success it is left alone. Libraries
 *       never print, exit or abort.
 *     Names mean the same in all headers: `index`, `kind`, `phase`, `layer`, `head` and
 *     `example` count from 0; `count` and `n_x` are the elements of an array; `real` is a
 *     gsa_real; `seed` and `step` key random numbers; texts are UTF-8 and end with 0. What a
 *     `const T *` points to is read during the call and not kept, where nothing else is said. A
 *     `T **` receives a new object, which T's release function frees; on failure it is left
 *     alone. Every call that allocates may return GSA_ERR_MEMORY, and every call that runs on a
 *     device GSA_ERR_DEVICE. Any thread may call.
 *     The example at the head of a header is the body of a main, after <stdio.h>, <string.h> and
 *     that header; one that defines GSA_PLUGIN is a whole plugin. A test compiles and runs each. */
#ifndef GSA_STATUS_H
#define GSA_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a call returns: GSA_OK, or the kind of its failure. */
typedef enum gsa_status {
    GSA_OK = 0,
    GSA_ERR_ARGUMENT, /* a value the caller passed is out of its range, or a name is unknown */
    GSA_ERR_MEMORY, /* the allocation table returned NULL                                         */
    GSA_ERR_IO,     /* the file system said no                                                    */
    GSA_ERR_FORMAT, /* a file or a text is not what it should be                                  */
    GSA_ERR_LIMIT,  /* a size exceeds a stated limit, or an integer would overflow                */
    GSA_ERR_PLUGIN, /* a topology broke its contract                                              */
    GSA_ERR_UNSUPPORTED, /* the backend, build or machine lacks what is asked */
    GSA_ERR_NUMBER, /* a NaN or an infinity where a finite number must be                      */
    GSA_ERR_INTERRUPTED, /* stopped on request (signal); the work so far is saved */
    GSA_ERR_DEVICE /* the device is lost: nothing in its memory can be trusted or read           */
} gsa_status;

enum { GSA_ERROR_SIZE = 1024 };

/* A failure: its kind, and one sentence. */
typedef struct gsa_error {
    gsa_status status;         /* the kind */
    char text[GSA_ERROR_SIZE]; /* UTF-8, terminated; "..." between whole characters stands for the
                                  middle of one that is too long */
} gsa_error;

#if defined(__GNUC__)
/* Lets the compiler check a format against its values. */
#define GSA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
/* Nothing: this compiler checks no formats. */
#define GSA_PRINTF(text, first)
#endif

/* Writes the sentence and returns `status`, so that a failure is one line: return gsa_fail(error,
 * GSA_ERR_..., ...). */
gsa_status gsa_fail(gsa_error *error, gsa_status status, const char *format, ...) GSA_PRINTF(3, 4);

/* Puts "where: " in front of the sentence that is in `error`; returns its status. `error` may
 * be NULL (then the status is lost, so callers keep it themselves). */
gsa_status gsa_fail_at(gsa_error *error, gsa_status status, const char *where, ...)
    GSA_PRINTF(3, 4);

/* "argument", "memory", ... for logs; never NULL. */
const char *gsa_status_name(gsa_status status);

#ifdef __cplusplus
}
#endif
#endif
