/* progress.c - one bar on a terminal, one line a report elsewhere; both on stderr. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include "verbs.h"

enum { BAR = 30 };

gsa_reporter gsa_reporter_new(int quiet)
{
    return (gsa_reporter){ isatty(STDERR_FILENO), quiet, 0 };
}

static void step_line(const gsa_progress *p)
{
    fprintf(stderr, "step %" PRId64 "/%" PRId64 " | loss %.4f | norm %.3f | lr %.1e | %.2f ms | %.0f tok/s", p->step,
            p->steps, p->loss, p->norm, p->lr, p->step_ms, p->tokens_per_second);
}

static void bar(gsa_reporter *reporter, const gsa_progress *p)
{
    const int filled = p->steps > 0 ? (int)(BAR * p->step / p->steps) : 0;
    fputs("\r[", stderr);
    for (int i = 0; i < BAR; i++) fputc(i < filled ? '#' : '.', stderr);
    fputs("] ", stderr);
    step_line(p);
    fputs("\033[K", stderr); /* clear what a longer line left */
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
    gsa_reporter *reporter = context;
    if (reporter->quiet) return;
    if (p->kind == 0 && reporter->terminal) {
        bar(reporter, p);
        return;
    }
    gsa_reporter_end(reporter);
    if (p->kind == 0) step_line(p);
    else if (p->kind == 1)
        fprintf(stderr, "epoch %d/%d | step %" PRId64 " | loss %.4f%s%s", p->epoch, p->epochs, p->step, p->loss,
                p->text ? " | " : "", p->text ? p->text : "");
    else fputs(p->text ? p->text : "", stderr);
    fputc('\n', stderr);
}
