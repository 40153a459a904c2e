/* crash.c - a crash in a plugin is one sentence that says which function of which topology ran, and
 * on what; then the signal ends the process as ever: the same exit status, the same core file. A
 * handler has no other way to know than what its thread noted: these are the mutable globals of the
 * command, and those of signals.c. */
#define _GNU_SOURCE /* RTLD_NOLOAD, dlinfo */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "graph/topology.h"
#include "tools/command/verbs.h"

enum { STACK = 32768, LINE = 1024, BEGINNING = 60, STRANGERS = 16, FRAMES = 64 };

static _Thread_local struct {
    gsa_plugin_call call; /* who NULL: no topology's code runs */
    int64_t number;       /* of the example that it runs for; 0: not known */
    int has_stack;
    _Alignas(16) char stack[STACK]; /* for the handler: the thread's own may be used up */
} own;
static atomic_flag told = ATOMIC_FLAG_INIT;
static struct { /* code that was loaded and does not come with the command: it stays */
    const struct link_map *map;
    uintptr_t from, to;
} stranger[STRANGERS];
static volatile sig_atomic_t strangers; /* those above STRANGERS are counted alone */

static const struct {
    int number;
    const char *name;
} deadly[] = { { SIGSEGV, "SIGSEGV" },
               { SIGBUS, "SIGBUS" },
               { SIGFPE, "SIGFPE" },
               { SIGILL, "SIGILL" },
               { SIGABRT, "SIGABRT" } };
enum { DEADLY = sizeof deadly / sizeof *deadly };

/* ---- the handler: nothing but what POSIX allows in one ------------------------------------- */

typedef struct line {
    char text[LINE];
    size_t used;
} line;

static void add_bytes(line *l, const char *at, int64_t bytes)
{
    for (int64_t i = 0; i < bytes && l->used < LINE - 1; i++)
        l->text[l->used++] = (unsigned char)at[i] < ' ' ? ' ' : at[i];
}

static void add(line *l, const char *text)
{
    add_bytes(l, text, (int64_t)strlen(text));
}

static void add_number(line *l, int64_t number)
{
    char digits[24];
    int at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    add_bytes(l, digits + at, (int64_t)sizeof digits - at);
}

/* "example 3, of 12 tokens, that begins with 'the cat'" */
static void add_example(line *l, const gsa_example *x, int64_t number)
{
    int64_t bytes = 0;
    if (number > 0) add(l, ", on example "), add_number(l, number), add(l, ", of ");
    else add(l, ", on an example of ");
    add_number(l, x->length), add(l, x->length == 1 ? " token" : " tokens");
    if (!x->text || x->length <= 0) return;
    add(l, number > 0 ? ", that begins with '" : " that begins with '");
    for (int32_t i = 0; i < x->length && bytes + x->text[i].bytes <= BEGINNING; i++) {
        if (i > 0) add(l, " ");
        add_bytes(l, x->text[i].at, x->text[i].bytes);
        bytes += x->text[i].bytes + 1;
    }
    add(l, "'");
}

static void add_signal(line *l, int number)
{
    add(l, " (signal "), add_number(l, number);
    for (int i = 0; i < DEADLY; i++)
        if (deadly[i].number == number) add(l, ", "), add(l, deadly[i].name);
    add(l, ")");
}

/* The path of the stranger in whose code this thread is, was before it called other code, or
 * started; NULL: of none. The signal's own frames are the command's. */
static const char *stranger_here(void)
{
    void *frame[FRAMES];
    const int frames = backtrace(frame, FRAMES);
    for (int f = 0; f < frames; f++)
        for (int s = 0; s < strangers && s < STRANGERS; s++)
            if ((uintptr_t)frame[f] >= stranger[s].from && (uintptr_t)frame[f] < stranger[s].to)
                return stranger[s].map->l_name;
    return NULL;
}

/* Whose function of which topology runs, on what: "in emit, on example 3, of 5 tokens". */
static void add_call(line *l, const char *did)
{
    const gsa_plugin_call *call = &own.call;
    const int loads = strcmp(call->function, "load") == 0;
    add(l, loads ? "plugin '" : "topology '"), add(l, call->who), add(l, did);
    add(l, loads ? "while it was loaded" : "in "), add(l, loads ? "" : call->function);
    if (call->example) add_example(l, call->example, own.number);
}

static void tell(int number)
{
    line l = { .used = 0 };
    const gsa_plugin_call *call = &own.call;
    const char *path = call->who || !strangers ? NULL : stranger_here();
    if (!call->who && !strangers) return;
    add(&l, "gsa: ");
    if (path) {
        add(&l, "plugin '"), add(&l, path);
        add(&l, number == SIGABRT ? "' aborted " : "' crashed ");
        add(&l, "outside of gsa's calls: in a thread that it started, or at the end");
    } else if (!call->who)
        add(&l, "the command crashed outside of plugins' code, whose memory a plugin may have "
                "damaged before");
    else add_call(&l, number == SIGABRT ? "' aborted " : "' crashed ");
    add_signal(&l, number);
    add(&l, ": 'gsa topology check' narrows it down, docs/plugin-trouble.md says how to debug it");
    l.text[l.used++] = '\n';
    if (write(STDERR_FILENO, l.text, l.used) < 0) return;
}

/* The instruction runs again and meets the signal's own action; what was sent, and is not met
 * again, is sent again. */
static void crashed(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (atomic_flag_test_and_set(&told)) /* the thread that tells ends the process */
        for (;;) pause();
    tell(number);
    signal(number, SIG_DFL);
    if (info->si_code <= 0) raise(number);
}

/* ---- exit() in the midst of the work -------------------------------------------------------- */

static volatile pid_t unfinished; /* the process whose work is not done; 0: none */

static void left(void)
{
    line l = { .used = 0 };
    if (unfinished != getpid()) return; /* done, or a child's end */
    add(&l, "gsa: ");
    if (own.call.who) add_call(&l, "' ended the program ");
    else add(&l, "a plugin or a library ended the program");
    add(&l, " (exit), before the work was done");
    l.text[l.used++] = '\n';
    if (write(STDERR_FILENO, l.text, l.used) >= 0 || errno) _exit(GSA_EXIT_FAILED);
}

void gsa_watch_exit(int watched)
{
    if (watched) atexit(left);
    unfinished = watched ? getpid() : 0;
}

/* ---- what is noted before ------------------------------------------------------------------ */

/* A thread that takes no signals (the one that prepares batches) takes these: of a blocked one no
 * handler would hear. */
static void lend_stack(void)
{
    stack_t before;
    sigset_t all;
    sigemptyset(&all);
    for (int i = 0; i < DEADLY; i++) sigaddset(&all, deadly[i].number);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    own.has_stack = 1;
    if (sigaltstack(NULL, &before) != 0 || !(before.ss_flags & SS_DISABLE)) return;
    sigaltstack(&(stack_t){ .ss_sp = own.stack, .ss_size = sizeof own.stack }, NULL);
}

/* Where the object of strangers' last place lies. */
static int measure(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    const uintptr_t base = info->dlpi_addr;
    if (base != stranger[strangers].map->l_addr) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t from = base + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
            stranger[strangers].from = from,
            stranger[strangers].to = from + info->dlpi_phdr[i].p_memsz;
    }
    return 1;
}

static void meet(void *library)
{
    const struct link_map *map;
    void *frame;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return;
    for (int s = 0; s < strangers && s < STRANGERS; s++)
        if (stranger[s].map == map) return;
    if (strangers == 0) backtrace(&frame, 1); /* loads what a handler must not load */
    if (strangers < STRANGERS) {
        stranger[strangers].map = map;
        dl_iterate_phdr(measure, NULL);
    }
    strangers++;
}

/* Code that is loaded stays until the process ends: a thread that a plugin left runs on
 * while results are written. */
static void keep_loaded(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
    if (library && !gsa_is_own_plugin(path)) meet(library);
    if (library) dlclose(library);
}

void gsa_note_call(void *user, const gsa_plugin_call *call)
{
    (void)user;
    if (!own.has_stack) lend_stack();
    if (!call && own.call.who && strcmp(own.call.function, "load") == 0) keep_loaded(own.call.who);
    if (call && !call->who[0]) own.number = call->number;
    else own.call = call ? *call : (gsa_plugin_call){ 0 };
}

/* Where somebody handles a signal already (AddressSanitizer) he goes on to. */
void gsa_watch_crashes(int watched)
{
    for (int i = 0; i < DEADLY; i++) {
        struct sigaction action;
        if (sigaction(deadly[i].number, NULL, &action) != 0) continue;
        const int ours = (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == crashed;
        if (watched ? action.sa_handler != SIG_DFL : !ours) continue;
        action = (struct sigaction){ .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigemptyset(&action.sa_mask);
        for (int j = 0; j < DEADLY; j++)
            sigaddset(&action.sa_mask, deadly[j].number); /* one in the handler ends it */
        if (watched) action.sa_sigaction = crashed;
        else action.sa_handler = SIG_DFL, action.sa_flags = 0;
        sigaction(deadly[i].number, &action, NULL);
    }
}
