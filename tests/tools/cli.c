/* cli.c - nftw needs X/Open. */
#define _XOPEN_SOURCE 700
#include "cli.h"
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/suite.h"

static char folder[256];

void gsa_cli_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "cannot write %s", path);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_fixtures(void)
{
    static const char text_recipe[] =
        "[task]\nname = text_classification\n[model]\nencoder = ring\nhidden = 8\nheads = 2\n"
        "[train]\nepochs = 2\nbatch = 4\nreport_every = 1\n[data]\ntrain = train.tsv\ndev = "
        "dev.tsv\n"
        "test = dev.tsv\n";
    static const char sum_recipe[] =
        "[task]\nname = masked_summation\nn = 8\nk = 2\nd = 3\ntrain = 64\ndev = 16\ntest = 16\n"
        "[model]\nencoder = star\nhidden = 8\nheads = 2\n[train]\nepochs = 2\nbatch = 16\n";
    gsa_cli_write("text.ini", text_recipe);
    gsa_cli_write("sum.ini", sum_recipe);
    gsa_cli_write("train.tsv", "pos\tgood film\nneg\tbad film\npos\ta very good film\nneg\ta bad "
                               "one\npos\tgood\nneg\tbad\n");
    gsa_cli_write("dev.tsv", "pos\tgood one\nneg\tbad bad film\n");
    gsa_cli_write(
        "pairs.ini",
        "[task]\nname = sentence_pairs\n[model]\nencoder = ring\nhidden = 8\nheads = 2\n[train]\n"
        "epochs = 1\n[data]\ntrain = pairs.tsv\n");
    gsa_cli_write("pairs.tsv", "yes\ta b\tb\nno\ta b\tc\n");
    gsa_cli_write("pairs.jsonl", "{\"gold_label\": \"yes\", \"sentence1\": \"a\", \"sentence2\": "
                                 "\"a\"}\n{\"gold_label\": 1.5}\n");
    gsa_cli_write("nodes.ini", "[task]\nname = node_classification\n[model]\nencoder = "
                               "ring\nhidden = 8\nheads = 2\n[train]\n"
                               "epochs = 1\nbatch = 1\n[data]\ntrain = nodes.tsv\n");
    gsa_cli_write("nodes.tsv", "0\ttrain\tx\t0:1\n1\ttrain\ty\t1:one\n");
    gsa_cli_write("ragged.tsv", "pos\tgood film\nneg\tbad film\nno tab here\n");
    gsa_cli_write("unseen.tsv", "pos\tgood\nmeh\tso so\n");
    gsa_cli_write("utf8.tsv", "pos\tgood\nneg\tb\xff\x61\n");
    gsa_cli_write("blank.tsv", "pos\tgood\nneg\t \n");
    gsa_cli_write("oneclass.tsv", "pos\tgood\npos\tbetter\n");
    gsa_cli_write("empty.tsv", "");
    gsa_cli_write("packed.gz", "\x1f\x8b\x08");
    gsa_cli_write("key.ini", "[task]\nname = masked_summation\n[model]\nhiden = 8\n");
    gsa_cli_write("section.ini", "[task]\nname = masked_summation\n[modle]\nhidden = 8\n");
    gsa_cli_write("noequals.ini", "[task]\nname masked_summation\n");
    gsa_cli_write("twice.ini", "[task]\nn = 5\nk = 1\nn = 6\n");
    gsa_cli_write("homeless.ini", "n = 5\n");
    gsa_cli_write("open.ini", "[task\nn = 5\n");
    gsa_cli_write("utf8.ini", "[task]\nname = \xc3\n");
    gsa_cli_write("topology.ini", "[task]\nname = masked_summation\n[model]\nencoder = sart*2\n");
    gsa_cli_write("sections.ini",
                  "[task]\nname = masked_summation\n[encoder.1]\ntopology = window\nwidth = 0\n");
    gsa_cli_write("noencoder.ini", "[task]\nname = masked_summation\n");
    ck_assert_int_eq(mkdir("folder.dot", 0777), 0);
}

void gsa_cli_enter(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/gsa-test-XXXXXX", base && *base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    atexit(gsa_cli_leave); /* also after a failed assertion */
    write_fixtures();
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat, (void)kind, (void)place;
    return remove(path);
}

void gsa_cli_leave(void)
{
    if (folder[0] && chdir("/") == 0) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    folder[0] = 0;
}

char *gsa_cli_read(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    size_t used = 0, room = 1 << 16;
    char *text = malloc(room);
    for (size_t got = 1; got > 0; used += got) {
        if (used + 1 >= room) text = realloc(text, room *= 2);
        got = fread(text + used, 1, room - used - 1, file);
    }
    text[used] = 0;
    fclose(file);
    return text;
}

int gsa_cli_exists(const char *path)
{
    struct stat stat;
    return lstat(path, &stat) == 0;
}

static void redirect(int descriptor, const char *path, int flags)
{
    const int file = open(path, flags, 0666);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
    close(file);
}

static pid_t start(const char *const *args, const char *input, const char *out, const char *err)
{
    fflush(NULL);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child > 0) return child;
    const char *argv[GSA_CLI_ARGS + 2] = { "gsa" };
    for (int i = 0; i < GSA_CLI_ARGS && args[i]; i++) argv[i + 1] = args[i];
    redirect(STDIN_FILENO, input, O_RDONLY);
    redirect(STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC);
    redirect(STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC);
    execv(GSA_COMMAND, (char *const *)(uintptr_t)argv);
    _exit(127);
}

static void copy_out(const char *path, char *text)
{
    char *whole = gsa_cli_read(path);
    snprintf(text, GSA_CLI_TEXT, "%s", whole ? whole : "");
    free(whole);
    unlink(path);
}

void gsa_cli_wait(pid_t child, gsa_ran *ran)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ran->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    copy_out("out.txt", ran->out);
    copy_out("err.txt", ran->err);
}

pid_t gsa_cli_start(const char *const *args)
{
    return start(args, "/dev/null", "out.txt", "err.txt");
}

void gsa_cli_run(const char *const *args, const char *input, gsa_ran *ran)
{
    if (input) gsa_cli_write("in.txt", input);
    gsa_cli_wait(start(args, input ? "in.txt" : "/dev/null", "out.txt", "err.txt"), ran);
    if (input) unlink("in.txt");
}

void gsa_cli_run_on_terminal(const char *const *args, int columns, gsa_ran *ran)
{
    char shown[GSA_CLI_TEXT];
    size_t used = 0;
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_msg(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0,
                  "no terminal can be made");
    const int held = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(held, 0);
    const struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)columns };
    ck_assert_int_eq(ioctl(held, TIOCSWINSZ, &size), 0);
    const pid_t child = start(args, "/dev/null", "out.txt", ptsname(terminal));
    close(held);
    for (ssize_t got = 1; got > 0 && used<sizeof shown - 1; used += got> 0 ? (size_t)got : 0)
        got = read(terminal, shown + used,
                   sizeof shown - 1 - used); /* fails once nobody has it open */
    shown[used] = 0;
    close(terminal);
    gsa_cli_wait(child, ran);
    snprintf(ran->err, sizeof ran->err, "%s", shown);
}

typedef struct listing {
    char **lines;
    size_t count;
} listing;
static listing found; /* nftw passes no context */

static int note_one(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)place;
    found.lines = realloc(found.lines, (found.count + 1) * sizeof *found.lines);
    char *line = malloc(strlen(path) + 32);
    sprintf(line, "%s %lld\n", path, kind == FTW_F ? (long long)stat->st_size : -1LL);
    found.lines[found.count++] = line;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *gsa_cli_listing(void)
{
    found = (listing){ 0 };
    nftw(".", note_one, 16, FTW_PHYS);
    qsort(found.lines, found.count, sizeof *found.lines, by_text);
    size_t bytes = 1;
    for (size_t i = 0; i < found.count; i++) bytes += strlen(found.lines[i]);
    char *text = calloc(bytes, 1), *at = text;
    for (size_t i = 0; i < found.count; i++) {
        at = stpcpy(at, found.lines[i]);
        free(found.lines[i]);
    }
    free(found.lines);
    return text;
}
