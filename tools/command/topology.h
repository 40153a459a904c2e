/* topology.h - the parts of `gsa topology`: new, check, and the process in which a plugin is
 * checked. */
#ifndef GSA_TOPOLOGY_VERB_H
#define GSA_TOPOLOGY_VERB_H
#include "tools/command/verbs.h"

/* The template as it was when the program was built (tools/cmake/embed.cmake); `bytes` of text,
 * not terminated. */
typedef struct gsa_template_file {
    const char *name;
    const unsigned char *text;
    size_t bytes;
} gsa_template_file;
extern const gsa_template_file gsa_template[];
extern const int gsa_template_files;

gsa_status gsa_topology_new(const gsa_args *args, const char *name, gsa_error *error);
gsa_status gsa_topology_check(const gsa_args *args, const char *what, gsa_error *error);

/* ---- the checked process writes lines to descriptor GSA_PROBE_PIPE, the checking one reads them:
 *   at PROPERTY LENGTH  a sign of life: the plugin is called next. PROPERTY: gsa_property, or a
 *      gsa_probe_stage
 *   pattern TEXT           created: its canonical text
 *   finding PROPERTY VERDICT TEXT
 *   digest NUMBER          of what was emitted; a second process says it again
 *   error STATUS TEXT      it could not be checked
 *   threads NUMBER         that the plugin left running when its pattern was released
 *   done  everything was said and released  */
enum { GSA_PROBE_PIPE = 3 };
enum gsa_probe_stage { GSA_STAGE_START = -3, GSA_STAGE_LOAD = -2, GSA_STAGE_CREATE = -1 };

/* In the checked process, under limits that it sets itself. */
gsa_status gsa_topology_probe(const gsa_args *args, const char *what, gsa_error *error);
/* The same of a second process: no findings, the digest alone. */
gsa_status gsa_topology_again(const gsa_args *args, const char *what, gsa_error *error);

/* ---- sanitizers (topology_sanitizer.c) */
enum { GSA_RUNTIME_NAME = 64 };
/* Of a plugin in --plugin or `what` that was built with AddressSanitizer, the runtime's name; ""
 * where there is none, or this program has one itself. */
gsa_status gsa_sanitizer_runtime(const gsa_args *args, const char *what,
                                 char name[GSA_RUNTIME_NAME], gsa_error *error);
typedef struct gsa_environment {
    const gsa_system *system;
    char **list, *text; /* list: ends with NULL */
} gsa_environment;
/* This process's, with the runtime loaded first. To be released also after a failure. */
gsa_status gsa_sanitizer_environment(const gsa_system *system, const char *runtime,
                                     gsa_environment *environment, gsa_error *error);
void gsa_sanitizer_release(gsa_environment *environment); /* a zeroed one is fine */
/* 1: the line begins a sanitizer's report; what it says is found, in short. */
int gsa_sanitizer_says(const char *line, char *said, size_t size);

#endif
