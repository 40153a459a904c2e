/* cli.h - runs the built command in a child, in a folder of its own. */
#ifndef GSA_TEST_CLI_H
#define GSA_TEST_CLI_H
#include <sys/types.h>

enum { GSA_CLI_ARGS = 16, GSA_CLI_TEXT = 1 << 18 };

typedef struct gsa_ran {
    int code, signal; /* exit code, or the signal that killed it (then code is -1) */
    char out[GSA_CLI_TEXT], err[GSA_CLI_TEXT];
} gsa_ran;

/* Makes a temporary folder, goes there, writes the fixtures; removed by gsa_cli_leave. */
void gsa_cli_enter(void);
void gsa_cli_leave(void);
void gsa_cli_write(const char *path, const char *text);
/* The whole file, terminated; the caller frees it. NULL: it cannot be read. */
char *gsa_cli_read(const char *path);
int gsa_cli_exists(const char *path);

/* gsa args...; input (NULL: empty) on stdin. */
void gsa_cli_run(const char *const *args, const char *input, gsa_ran *ran);
/* The same without waiting; stdout and stderr go to out.txt and err.txt of the current folder. */
pid_t gsa_cli_start(const char *const *args);
void gsa_cli_wait(pid_t child, gsa_ran *ran);

/* With a terminal of so many columns as stderr; what it shows is in ran->err, line ends as CR
 * LF. */
void gsa_cli_run_on_terminal(const char *const *args, int columns, gsa_ran *ran);

/* Every path under the folder with its size, sorted, in one text that the caller frees: equal
 * before and after means nothing was written, left or removed. */
char *gsa_cli_listing(void);

#endif
