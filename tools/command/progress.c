/* progress.c - one bar on a terminal, one line a report elsewhere; both on stderr. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tools/command/verbs.h"

enum { BAR = 20, LINE = 512 };

gsa_reporter gsa_reporter_new(int quiet)
{
    return (gsa_reporter){ isatty(STDERR_FILENO), quiet, 0 };
}

void gsa_write_duration(char *text, size_t size, double seconds)
{
    const int64_t whole = seconds > 0 && seconds < 1e12 ? (int64_t)(seconds + 0.5) : 0;
    if (whole >= 3600)
        snprintf(text, size, "%" PRId64 ":%02d:%02d", whole / 3600, (int)(whole / 60 % 60),
                 (int)(whole % 60));
    else snprintf(text, size, "%d:%02d", (int)(whole / 60), (int)(whole % 60));
}

static void write_step(char line[LINE], const gsa_progress *p)
{
    char gone[32], left[32];
    gsa_write_duration(gone, sizeof gone, p->seconds);
    gsa_write_duration(left, sizeof left, p->remaining);
    snprintf(line, LINE,
             "step %" PRId64 "/%" PRId64
             " | loss %.4f | norm %.3f | lr %.1e | %.2f ms | %.0f tok/s | %s gone, %s left%s%s",
             p->step, p->steps, p->loss, p->norm, p->lr, p->step_ms, p->tokens_per_second, gone,
             left, p->text ? " | " : "", p->text ? p->text : "");
}

/* What people watch, and no more than the terminal's line: a longer one would wrap and stay. */
static void write_bar(char line[LINE], const gsa_progress *p, int columns)
{
    char bar[BAR + 1], gone[32], left[32];
    const int filled = p->steps > 0 ? (int)(BAR * p->step / p->steps) : 0;
    for (int i = 0; i < BAR; i++) bar[i] = i < filled ? '#' : '.';
    bar[BAR] = 0;
    gsa_write_duration(gone, sizeof gone, p->seconds);
    gsa_write_duration(left, sizeof left, p->remaining);
    snprintf(line, LINE,
             "[%s] %s gone, %s left | %" PRId64 "/%" PRId64
             " | loss %.4f%s%s | %.0f tok/s | lr %.1e",
             bar, gone, left, p->step, p->steps, p->loss, p->text ? " | " : "",
             p->text ? p->text : "", p->tokens_per_second, p->lr);
    if (columns > 1 && columns <= LINE) line[columns - 1] = 0;
}

static void bar(gsa_reporter *reporter, const gsa_progress *p)
{
    char line[LINE];
    struct winsize size = { .ws_col = 0 };
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0) size.ws_col = 0;
    write_bar(line, p, size.ws_col);
    fprintf(stderr, "\r%s\033[K", line); /* clear what a longer line left */
    fflush(stderr);
    reporter->open = 1;
}

void gsa_reporter_end(gsa_reporter *reporter)
{
    if (reporter->open) fputc('\n', stderr);
    reporter->open = 0;
}

void gsa_report(void *context, const gsa_progress *p)
{
    char line[LINE];
    gsa_reporter *reporter = context;
    if (reporter->quiet > (p->kind == 3)) return;
    if (p->kind == 0 && reporter->terminal) {
        bar(reporter, p);
        return;
    }
    gsa_reporter_end(reporter);
    write_step(line, p);
    if (p->kind == 0) fputs(line, stderr);
    else if (p->kind == 1)
        fprintf(stderr, "epoch %d/%d | step %" PRId64 " | loss %.4f%s%s", p->epoch, p->epochs,
                p->step, p->loss, p->text ? " | " : "", p->text ? p->text : "");
    else fputs(p->text ? p->text : "", stderr);
    fputc('\n', stderr);
}
