/* verbs.h - the verbs of the command, and what several of them share. */
#ifndef GSA_VERBS_H
#define GSA_VERBS_H
#include "tools/command/options.h"
#include "topologies/pattern.h"
#include "train/driver.h"

extern const gsa_verb gsa_verb_attend, gsa_verb_bench, gsa_verb_compare, gsa_verb_doctor,
    gsa_verb_eval, gsa_verb_generate, gsa_verb_graph, gsa_verb_help, gsa_verb_init,
    gsa_verb_predict, gsa_verb_table, gsa_verb_report, gsa_verb_topologies, gsa_verb_topology,
    gsa_verb_train;
extern const gsa_verb gsa_verb_average;
extern const gsa_verb gsa_verb_chart;

/* All verbs, in the order that people meet them. */
const gsa_verb *const *gsa_verbs(int *count);
/* The verb, or NULL and a sentence with the known ones and the nearest. */
const gsa_verb *gsa_verb_find(const char *name, gsa_error *error);

/* ---- what the command documents: exit codes */
enum gsa_exit {
    GSA_EXIT_OK = 0,     /* done; also: stopped by the first SIGINT or SIGTERM, work saved */
    GSA_EXIT_FAILED = 1, /* the work failed: file system, memory, limits, numbers, a plugin, an
                            unsupported device */
    GSA_EXIT_USAGE =
        2, /* what was asked is wrong: options, recipe, parameters, the content of a file */
    GSA_EXIT_RANK = 3, /* of the ranks of mpirun one failed, was lost, or differs from the others;
                          checkpoints are */
    GSA_EXIT_DEVICE = 75, /* the device was lost while it computed; nothing was saved from its
                             memory, earlier checkpoints are */
    GSA_EXIT_SIGNAL = 128 /* plus its number: the second SIGINT (130) or SIGTERM (143) */
};
int gsa_exit_code(gsa_status status);

/* ---- texts made from the verb tables (manual.c, man.c, completion.c, keys.c) */
void gsa_write_usage(gsa_output *out);                      /* gsa help */
void gsa_write_help(gsa_output *out, const gsa_verb *verb); /* gsa help VERB */
void gsa_write_man(gsa_output *out);                        /* roff, gsa(1) */
/* roff.c: plain text in roff; a page's title and name; a verb's section of gsa(1); the whole page
 * of
 * a program with one verb, as gsa-inspect(1). */
void gsa_write_roff(gsa_output *out, const char *text);
void gsa_write_man_title(gsa_output *out, const char *program, const char *summary);
void gsa_write_man_verb(gsa_output *out, const gsa_verb *verb);
void gsa_write_man_program(gsa_output *out, const gsa_verb *verb);
void gsa_write_completion(gsa_output *out);       /* bash */
gsa_option_hint gsa_key_hint;                     /* a key of recipes, for verbs that have --set */
void gsa_write_recipe_keys(gsa_output *out);      /* plain, for --help */
void gsa_write_recipe_keys_page(gsa_output *out); /* Markdown; the site and installations have it */
/* "integer 1..9", "one of a,b", "path" of a topology parameter; of a recipe key, where not every
 * text is a path, "text". */
void gsa_write_expected(char *text, size_t size, int type, double low, double high,
                        const char *choices);
void gsa_write_expected_of_key(char *text, size_t size, const gsa_key *key);

/* ---- options that several verbs take */
#define GSA_OPTION_ROW_PLUGIN                                                                      \
    {                                                                                              \
        "plugin", GSA_OPTION_TEXTS, "FILE.so", NULL, "built-in topologies only", 0, 0,             \
            "load a topology plugin; the path holds a slash; repeatable"                           \
    }
#define GSA_OPTION_ROW_OTHER_PLUGIN                                                                \
    {                                                                                              \
        "other-plugin", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0,                                     \
            "take the plugin of --plugin though the model was trained with other bytes of it"      \
    }
#define GSA_OPTION_ROW_SET                                                                         \
    {                                                                                              \
        "set", GSA_OPTION_TEXTS, "SECTION.KEY=VALUE", NULL, "the recipe's values", 0, 0,           \
            "set one recipe key; later ones win; repeatable"                                       \
    }
#define GSA_OPTION_ROW_DEVICE                                                                      \
    {                                                                                              \
        "device", GSA_OPTION_CHOICE,                                                               \
            "cpu|cuda[-graphs][-tf32]|cuda[-graphs]-bf16|cuda[-graphs]-cusparse|ref|auto", "auto", \
            NULL, 0, 0,                                                                            \
            "where to compute; ref: plain C; words after cuda: steps as CUDA graphs (graphs), "    \
            "products and attention of 11 bits (tf32) or of 16-bit numbers (bf16), attention "     \
            "by cuSPARSE (cusparse)"                                                               \
    }
#define GSA_OPTION_ROW_THREADS                                                                     \
    {                                                                                              \
        "threads", GSA_OPTION_NUMBER, "N", NULL, "all cores", 1, 4096,                             \
            "threads of the parallel loops; the bits do not depend on it"                          \
    }

enum { GSA_PATH_ROOM = 4096 };
/* The program's folder, '/', `place`, `name`; 0 where the folder cannot be told or the path is too
 * long. */
int gsa_beside_program(const char *place, const char *name, char path[GSA_PATH_ROOM]);
/* A file as it is, else a name without '/' among the recipes that come with the command; *found
 * is `asked` or `path`. No such file and no such name: a sentence with the names. A path with '/'
 * is left to who opens it. */
gsa_status gsa_find_recipe(const char *asked, char path[GSA_PATH_ROOM], const char **found,
                           gsa_error *error);

/* The plugins that come with the command: FILE.so of this program's installation or build tree is
 * added to --plugin, unless one of those, or an operand, has that file name. `path` holds
 * GSA_PATH_ROOM bytes and must outlive args. */
gsa_status gsa_add_own_plugins(gsa_args *args, char *path, gsa_error *error);
/* 1: the path is of a plugin that comes with the command. */
int gsa_is_own_plugin(const char *path);
/* What the verb's options say of plugins that nobody names: those of models are loaded where model
 * and plugin belong to the user or to root, and nobody else may write them. */
gsa_plugin_policy gsa_read_plugin_policy(const gsa_args *args);
/* Where a sentence says that there is no topology 'file': adds where its plugin was looked for. */
void gsa_explain_own_plugins(gsa_error *error);

/* A registry with the built-ins and every --plugin. The caller releases it. */
gsa_status gsa_open_registry(const gsa_args *args, gsa_registry **registry, gsa_error *error);
/* The pattern of a SPEC that is one topology with its settings. */
gsa_status gsa_open_pattern(const gsa_registry *registry, const gsa_system *system,
                            const char *spec, gsa_pattern **pattern, gsa_error *error);
/* --threads, or the number of cores. */
int gsa_thread_count(const gsa_args *args);
int gsa_core_count(void);

/* How many names a folder holds; -1: it cannot be read. */
int gsa_count_names(const gsa_system *system, const char *folder);
/* A folder that was made just now holds so many names: else another has its name by now. */
gsa_status gsa_check_made(const gsa_system *inside, const char *folder, int names,
                          gsa_error *error);
/* Takes it back where it is empty. */
void gsa_remove_made(const gsa_system *system, const char *folder);

/* `text` and a line end to standard output. */
gsa_status gsa_print_line(const gsa_system *system, const char *text, gsa_error *error);

/* The commit that was built, "4f5e0a1b2c" or "4f5e0a1b2c-dirty"; "unknown". */
const char *gsa_build(void);

/* Seconds on the monotonic clock. */
double gsa_now(void);
/* The same; with counts_cpu those in which this process's threads computed, all together. */
double gsa_clock_now(int counts_cpu);

/* The default table for all that a program does; its temporaries are taken away when a signal
 * ends it (SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU), which they do
 * from now on as ever. A limit on the size of files is an error of a write from now on, and no
 * signal. */
const gsa_system *gsa_tidy_system(void);
void gsa_take_away(void); /* the temporaries, of who ends at once */
/* From now on no output through the table takes the place of a file that was read through it, of
 * one in a checkpoint, or of one that a run needs. */
void gsa_keep_inputs(gsa_system *system);
/* From now on a file that is opened by its name to be read is a regular one, or EINVAL: a stranger
 * may exchange what was looked at for a FIFO, whose opening would wait. */
void gsa_read_regular(void);
/* That another code reads this file; 0: there is no memory. */
int gsa_note_read(const char *path);
/* Each that was read so far, until `each` gives 0, which is the result then. */
int gsa_each_read(int (*each)(void *context, const char *path), void *context);
/* The same of each file that a parameter of the pattern names, which its plugin opens by itself. */
int gsa_note_pattern(const gsa_pattern *pattern);
/* Fails where something must not be put to the end of the file: it was read, or is of a checkpoint
 * or a run. Before its own lines are read. */
gsa_status gsa_check_appended(const gsa_system *system, const char *path, gsa_error *error);
/* 1: the file is one of a run's folder or of its checkpoints, also under another name elsewhere. */
int gsa_is_in_run(const char *run, const char *path);
/* Fails where the command's own file would replace what standard output or standard error goes
 * to. */
gsa_status gsa_check_stream(const gsa_system *system, const char *path, gsa_error *error);
/* Fails where a run would replace or remove a file of its folder that was read, or that standard
 * output or standard error goes to. anew 0: a run that goes on reads its own config.ini. */
gsa_status gsa_check_replaced(const char *folder, int anew, gsa_error *error);
/* 1: it has the name of a file that a run needs in its folder or, with `remade`, writes there. */
int gsa_is_of_a_run(const char *path, int remade);
/* eval makes this file of a run anew, where it has that name. NULL: nothing. */
void gsa_remake(const char *path, const char *name);
/* A recipe from a pipe is read once: the second time it would be empty. */
gsa_status gsa_check_reread(const char *recipe, gsa_error *error);
/* Before it is trained, each file that a word of the recipe or of `set` names is as if it was read;
 * 0: there is no memory. A recipe that cannot be read names none. */
int gsa_note_recipe(const gsa_system *system, const char *recipe, const char *const *set,
                    int count);
/* The same of a run's, or a checkpoint's, config.ini; of another user's if it may be `anyones`. */
int gsa_note_config(const gsa_system *system, const char *folder, const char *const *set, int count,
                    int anyones);
/* The same where the verb writes a file and the folder is no other user's. */
int gsa_note_run(const gsa_args *args, const char *folder);
/* From the first folder that is made through that table on, these signals wait for this call: a
 * verb makes it once its folder is whole, or it has failed. Not where gsa_catch_signals was
 * called. */
void gsa_let_signals_come(void);
/* A crash in a topology's code is a sentence on stderr, and then what it is without: the signal's
 * end of the process. 0: no longer. */
void gsa_watch_crashes(int watched);
/* From 1 to 0, exit() in code that the command calls is a sentence and GSA_EXIT_FAILED: no plugin
 * ends the command as if its work were done. */
void gsa_watch_exit(int watched);
/* gsa_system.calling of the table above. */
void gsa_note_call(void *user, const gsa_plugin_call *call);
/* SIGINT and SIGTERM: the first raises the flag that is returned, the second ends the process at
 * once with 128 + its number. */
const volatile sig_atomic_t *gsa_catch_signals(void);

/* gsa_train's progress, for a terminal (one bar) or a log (one line a report). */
typedef struct gsa_reporter {
    int terminal, quiet, open; /* open: a bar is on the current line */
} gsa_reporter;
/* quiet 1: of warnings alone; 2: of nothing, as ranks but the first are. */
gsa_reporter gsa_reporter_new(int quiet);
void gsa_report(void *reporter, const gsa_progress *progress);
void gsa_reporter_end(gsa_reporter *reporter);
void gsa_write_duration(char *text, size_t size, double seconds); /* "0:07", "12:34", "1:02:03" */
/* The end of a run for people, on stderr: its metrics next to the baselines, its time, where things
 * are. `result` is what gsa_train gave, folder NULL: nothing is kept. */
gsa_status gsa_print_summary(const char *result, const char *folder, gsa_error *error);

#endif
