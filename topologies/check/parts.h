/* parts.h - what the properties share: the pattern under test and the examples that it is tried on;
 * not installed. */
#ifndef GSA_CHECK_PARTS_H
#define GSA_CHECK_PARTS_H
#include "topologies/check.h"

/* A token of a text depends on its place alone: prefixes agree. Texts of the caller's come after
 * these. */
enum {
    GSA_TEXT_NONE,
    GSA_TEXT_WORDS,
    GSA_TEXT_CJK,
    GSA_TEXT_NESTED, /* three kinds of brackets, all closed, six deep */
    GSA_TEXT_OPEN,   /* most are never closed */
    GSA_TEXT_CLOSED, /* most were never opened */
    GSA_TEXT_SAME,   /* one word again and again */
    GSA_TEXT_MIXED,  /* Latin, Chinese, Arabic, emoji, combining marks, digits, punctuation, tokens
                        of no bytes */
    GSA_TEXT_OWN
};

typedef struct gsa_checking {
    const gsa_system *system;
    const gsa_pattern *pattern;
    const gsa_schema *schema;
    gsa_check_options options;
    int property;    /* that runs now */
    uint64_t digest; /* of the schema, and of the examples of gsa_check_deterministic */
    int32_t only;    /* the length of a given graph; -1: any length */
    int reads_memory, reads_text;
    /* what examples point to, [room] each: a text of each kind; in room 0 irregular groups */
    int32_t room[GSA_TEXT_OWN];
    gsa_slice *text[GSA_TEXT_OWN];
    int32_t *group;
    /* [beside_room] what is next to each token, in every column that is requested: of token i a
     * number of 0 to i */
    int32_t beside_room;
    gsa_slice *beside;
    char (*digits)[12];
    const gsa_slice *column[GSA_COLUMNS_ASKED];
} gsa_checking;

enum { GSA_NODE_NAME = 96 };
typedef struct gsa_trial { /* one example to be made */
    int32_t length, memory_length, heads;
    int text, grouped, draw; /* text: GSA_TEXT_OWN + i is the caller's text i */
} gsa_trial;

/* One property: writes its finding (a zeroed one with -1 in the numbers). Fails only for lack of
 * memory or threads. */
typedef gsa_status gsa_property_run(gsa_checking *c, gsa_finding *finding, gsa_error *error);
gsa_property_run gsa_check_valid, gsa_check_labels, gsa_check_deterministic, gsa_check_by_length,
    gsa_check_duplicates, gsa_check_causal, gsa_check_prefix_stable, gsa_check_one_length,
    gsa_check_growth, gsa_check_path, gsa_check_isolated;

/* ---- schema.c */
/* A number of all that the schema says: kinds, phases, sequence, summary and promises. */
uint64_t gsa_check_schema(const gsa_schema *schema);

/* ---- examples.c */
void gsa_checking_end(gsa_checking *c);
/* The i-th of the lengths that a property tries (0..130, 1000, longer ones of the caller's texts;
 * of a given graph its own); -1 after the last. */
int32_t gsa_checking_length(const gsa_checking *c, int i);
/* The same of a short list: 0, 1, 2, 3, 5, 8, 13, 33, 64, 130, 1000, and those of the caller's
 * texts. */
int32_t gsa_checking_few(const gsa_checking *c, int i);
/* The usual example of a length: one head, some memory, Chinese characters where text is read, no
 * groups. */
gsa_trial gsa_checking_trial(const gsa_checking *c, int32_t length);
/* Texts that a pattern is tried on, GSA_TEXT_NONE where it reads none. 0 after the last. */
int gsa_checking_text(const gsa_checking *c, int i, int *text);
/* 1: the text has a beginning of that length to be tried on: a made-up one any, the caller's its
 * whole, that without the last token, and its first half. */
int gsa_checking_has(const gsa_checking *c, int text, int32_t length);
/* "Chinese text", "text 2 of those given" */
const char *gsa_checking_text_name(int text, char out[GSA_NODE_NAME]);
/* The i-th example of a length for what must hold whatever an example holds: the usual one; three
 * heads and groups; each other text where text is read. 0 after the last; -1: the i-th is not tried
 * at this length. */
int gsa_checking_variant(const gsa_checking *c, int32_t length, int i, gsa_trial *trial);
/* Fills the example; its arrays live until the next call with a greater length. */
gsa_status gsa_checking_example(gsa_checking *c, const gsa_trial *trial, gsa_example *example,
                                gsa_error *error);
/* Makes the example and builds it, with places. Reports progress first. */
gsa_status gsa_checking_build(gsa_checking *c, const gsa_trial *trial, gsa_instance **instance,
                              gsa_error *error);
void gsa_checking_beat(const gsa_checking *c, int32_t length);

/* ---- findings */
/* A failure that was met while building is the finding, unless it is a lack of memory. Returns the
 * status to go on with. */
gsa_status gsa_found_error(gsa_finding *finding, const gsa_trial *trial, gsa_status status,
                           const gsa_error *why, gsa_error *error);
void gsa_found(gsa_finding *finding, int verdict, const char *format, ...) GSA_PRINTF(3, 4);
int gsa_checking_promised(const gsa_checking *c, uint32_t flag);

/* "" of the usual example, else what is other in it: " with 3 heads, in groups". Returns out. */
const char *gsa_checking_where(const gsa_trial *trial, char out[GSA_NODE_NAME]);
/* "token 5", "token 5 head 2": the destination that a row of a phase stands for, or a source of a
 * run's kind. Returns out. */
const char *gsa_checking_row(const gsa_checking *c, const gsa_instance *x, int phase, int64_t row,
                             char out[GSA_NODE_NAME]);
const char *gsa_checking_source(const gsa_checking *c, const gsa_instance *x, int phase, int kind,
                                int64_t index, char out[GSA_NODE_NAME]);
/* Where the kinds' nodes start when all nodes are in one list: base[kinds] is their number. */
void gsa_checking_bases(const gsa_checking *c, const gsa_instance *x,
                        int64_t base[GSA_MAX_KINDS + 1]);

#endif
