/* check.h - does a pattern keep its promises? Every property is tried on generated examples, and a
 * broken one comes with the smallest counterexample that was met. The test suites and `gsa topology
 * check` run this code.
 *
 * Example:
 *
 *     gsa_error error;
 *     gsa_registry *registry = NULL;
 *     gsa_pattern *pattern = NULL;
 *     gsa_check_report report;
 *     int failed = gsa_registry_create(NULL, &registry, &error) ||
 *                  gsa_pattern_create(registry, "ring", NULL, 0, &pattern, &error) ||
 *                  gsa_check_pattern(NULL, pattern, NULL, &report, &error);
 *     if (failed) puts(error.text);
 *     for (int p = 0; p < GSA_CHECKS && !failed; p++)
 *         printf("%s: %s, %s\n", gsa_check_name(p), gsa_verdict_name(report.finding[p].verdict),
 *                report.finding[p].text);
 *     gsa_pattern_release(pattern);
 *     gsa_registry_release(registry);
 *     return failed || report.failed;
 *
 * Law.  Runs the plugin's code in this process and in a few threads of it: nothing here contains a
 *     crash or a hang (the command does, in a process of its own). Needs no text or memory from the
 *     caller: what patterns read is made up.
 *     A pattern that reads structure (brackets of some kind, tags) is tried on it where the caller
 *     gives texts that have it.
 *     Errors: GSA_ERR_ARGUMENT (options out of range), GSA_ERR_UNSUPPORTED (no threads),
 *     GSA_ERR_MEMORY. A promise that is broken is no error but a finding. */
#ifndef GSA_CHECK_H
#define GSA_CHECK_H
#include "pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `gsa topology check` looks at, in the order of its lines. */
enum gsa_property {
    GSA_CHECK_VALID,  /* 0..130 and 1000 tokens, 1 and 4 to 64 heads, memory of 0 and some: every
                         edge in  range          */
    GSA_CHECK_LABELS, /* names are terminated UTF-8 that stays in its buffer; how many of the labels
                         are used      */
    GSA_CHECK_DETERMINISTIC, /* one self, four threads, examples in other orders: the same nodes,
                                runs and places         */
    GSA_CHECK_BY_LENGTH,     /* other texts and groups of the same length: the same edges     */
    GSA_CHECK_DUPLICATES,    /* no parallel edges, unless they are promised    */
    GSA_CHECK_CAUSAL, /* no path from a later token into an earlier one, through however many layers
                       */
    GSA_CHECK_PREFIX_STABLE, /* eight layers: what token i is made of is the same for every length >
                                i                    */
    GSA_CHECK_ONE_LENGTH,    /* a given graph refuses other lengths    */
    GSA_CHECK_GROWTH,   /* edges E at n = 2^16, 2^17, 2^18 (square: 2^10 ..): E(2n)/E(n) <= 1.05
                           f(2n)/f(n)           */
    GSA_CHECK_PATH,     /* the longest of the shortest paths between tokens, in edges     */
    GSA_CHECK_ISOLATED, /* nodes without any edge */
    GSA_CHECKS
};

/* What was found of one property. */
enum gsa_verdict {
    GSA_VERDICT_OK,
    GSA_VERDICT_FAILED,
    GSA_VERDICT_NOT_PROMISED, /* the sentence says whether it holds all the same */
    GSA_VERDICT_NOTE,         /* breaks no promise, and its author may not have meant it */
    GSA_VERDICT_NOT_CHECKED   /* needs a valid pattern */
};

/* One property's verdict, in words and in numbers. */
typedef struct gsa_finding {
    int verdict;               /* gsa_verdict */
    char text[GSA_ERROR_SIZE]; /* what was seen; of a failure the counterexample, with its place */
    int64_t length, phase, row, edge, value; /* the same in numbers; -1: has none */
} gsa_finding;

enum { GSA_CHECK_TEXT_MOST = 4096 };
typedef struct gsa_check_text { /* one text of the caller's: at most GSA_CHECK_TEXT_MOST tokens,
                                   which outlive the check */
    const gsa_slice *token;     /* [count] in UTF-8 */
    int32_t count, zero;        /* count: tokens */
} gsa_check_text;

/* Limits and texts of a check. Zeros are defaults. */
typedef struct gsa_check_options {
    int32_t length; /* of a pattern that promises exactly one length; 0: the first of 0..4096 that
                       works */
    int32_t zero;
    /* Called often, by the calling thread: before each call into the plugin, and within long ones.
     * NULL: never. */
    void (*progress)(void *context, int property, int32_t length);
    void *context;
    int32_t last;    /* the last property that is checked; 0: all of them */
    int32_t n_texts; /* for patterns that read text: tried next to the texts that are made up, whole
                        and cut short */
    const gsa_check_text *texts;
} gsa_check_options;

/* What a check found. */
typedef struct gsa_check_report {
    gsa_finding finding[GSA_CHECKS]; /* by property */
    int failed;                      /* how many */
    /* Of what was described and emitted when the pattern was found deterministic: another process
     * that says another number has met what one process cannot see: a pattern that depends on
     * addresses, on a clock, on the process. 0: not deterministic. */
    uint64_t digest;
} gsa_check_report;

/* All properties in order. Fails only when the check itself could not run: memory, threads; a
 * broken promise is a finding. Options may be NULL. Some 0.1 s (bpt: 0.6 s) and 20 MB for the
 * built-in patterns. */
gsa_status gsa_check_pattern(const gsa_system *system, const gsa_pattern *pattern,
                             const gsa_check_options *options, gsa_check_report *report,
                             gsa_error *error);

const char *gsa_check_name(int property);  /* "prefix-stable" */
const char *gsa_verdict_name(int verdict); /* "not promised"; verdict: a gsa_verdict */

#ifdef __cplusplus
}
#endif
#endif
