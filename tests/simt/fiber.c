/* fiber.c - x86-64 by hand (six registers and the stack pointer), ucontext elsewhere. */
#define _GNU_SOURCE
#include "fiber.h"
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* SIMT_PLAIN: kernels are instrumented, what switches between them is not: frames that are here
 * for good poison nothing. */
#if defined(SIMT_PLAIN) || defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(WITH_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { END_FRAMES = 8 << 10 };
#endif
enum {
    STACK = 512 << 10,
    GUARD = 4096
}; /* as much as kernels take that no compiler optimised; pages that nobody touches cost nothing */

/* What ASan is told to be the stack while fibers run: from the lowest that was made to the end of
 * the highest. Said at the host's doors alone: a word at each switch would take as long as the
 * switch. Other memory may lie between them. That does no harm: ASan uses these bounds to describe
 * an address in a report, and before a call that does not return (longjmp, a throw), where it takes
 * the poison off everything up to the stack's end. Kernels make no such call; misuse() of launch.c,
 * where it is instrumented, is one, and gives the launch up. */
static struct {
    unsigned char *low, *high;
} stacks;

void fiber_create(fiber *f)
{
    unsigned char *at =
        mmap(NULL, STACK + GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || mprotect(at + GUARD, STACK, PROT_READ | PROT_WRITE) != 0) abort();
    *f = (fiber){ .base = at + GUARD, .size = STACK, .abandoned = 1, .made = 1 };
    if (stacks.low == NULL || f->base < stacks.low) stacks.low = f->base;
    if (f->base + STACK > stacks.high) stacks.high = f->base + STACK;
}

void fiber_release(fiber *f)
{
    if (f->base) munmap(f->base - GUARD, STACK + GUARD);
    f->base = NULL;
}

#if defined(__x86_64__)
void gsa_simt_swap(void **save, void *load);
__asm__(".text\n.globl gsa_simt_swap\n.type gsa_simt_swap,@function\ngsa_simt_swap:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
        ".size gsa_simt_swap,.-gsa_simt_swap\n.section .note.GNU-stack,\"\",@progbits\n.text\n");

static void prepare(fiber *f, void (*body)(void), size_t offset)
{
    uintptr_t *top = (uintptr_t *)(void *)(f->base + f->size - 64 - offset / 64 * 64);
    top[0] = (uintptr_t)body; /* what ret finds; the six registers below hold anything */
    f->sp = top - 6;
}

static void swap(fiber *from, fiber *to)
{
    gsa_simt_swap(&from->sp, to->sp);
}
#else
#include <ucontext.h>

static void prepare(fiber *f, void (*body)(void), size_t offset)
{
    ucontext_t *context =
        (ucontext_t *)(void *)f->base; /* the context lives at the far end of its own stack */
    const size_t room = (sizeof *context + 63) / 64 * 64;
    getcontext(context);
    context->uc_stack.ss_sp = f->base + room;
    context->uc_stack.ss_size = f->size - room - offset;
    context->uc_link = NULL;
    makecontext(context, body, 0);
    f->sp = context;
}

static void swap(fiber *from, fiber *to)
{
    ucontext_t own;
    from->sp = &own;
    swapcontext(&own, to->sp);
}
#endif

void fiber_prepare(fiber *f, void (*body)(void), size_t offset)
{
#if defined(WITH_ASAN)
    /* Frames that never returned: of an abandoned body anywhere, else those below `body`, which end
     * in fiber_switch. */
    if (f->abandoned) __asan_unpoison_memory_region(f->base, f->size);
#if !defined(SIMT_PLAIN)
    else
        __asan_unpoison_memory_region(f->base + f->size - offset - END_FRAMES, END_FRAMES + offset);
#endif
    f->abandoned = 0;
#endif
    prepare(f, body, offset);
}

void fiber_switch(fiber *from, fiber *to, int last)
{
#if defined(WITH_ASAN)
    if (!to->made) __sanitizer_start_switch_fiber(last ? NULL : &from->fake, to->base, to->size);
    else if (!from->made)
        __sanitizer_start_switch_fiber(&from->fake, stacks.low, (size_t)(stacks.high - stacks.low));
#else
    (void)last;
#endif
    swap(from, to);
#if defined(WITH_ASAN)
    if (!from->made) __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

void fiber_entered(fiber *host)
{
#if defined(WITH_ASAN)
    const void *base = NULL;
    size_t size = 0;
    if (!host) return;
    __sanitizer_finish_switch_fiber(NULL, &base, &size);
    host->base = (unsigned char *)(uintptr_t)base, host->size = size;
#else
    (void)host;
#endif
}
