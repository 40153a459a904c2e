#define _DEFAULT_SOURCE
#include "support/ends.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A page with the size of it all and of the block, whole pages at whose end the block is, a page
 * that is shut. A block of n things of a size that is a multiple of their alignment is aligned. */
typedef struct head {
    size_t whole, bytes;
} head;

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static head *head_of(void *at)
{
    char *const first = (char *)at - (uintptr_t)at % page();
    return (head *)(void *)(first - page());
}

static void *end_alloc(void *user, size_t bytes)
{
    (void)user;
    const size_t inside = (bytes + page() - 1) / page() * page(), whole = inside + 2 * page();
    char *base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    mprotect(base + whole - page(), page(), PROT_NONE);
    *(head *)(void *)base = (head){ whole, bytes };
    return base + whole - page() - bytes;
}

static void end_release(void *user, void *at)
{
    (void)user;
    if (at) munmap(head_of(at), head_of(at)->whole);
}

static void *end_resize(void *user, void *from, size_t bytes)
{
    void *at = end_alloc(user, bytes);
    if (!at || !from) return at;
    const size_t before = head_of(from)->bytes;
    memcpy(at, from, before < bytes ? before : bytes);
    end_release(user, from);
    return at;
}

gsa_system gsa_ends_system(void)
{
    gsa_system system = *gsa_system_default();
    system.alloc = end_alloc, system.resize = end_resize, system.release = end_release;
    return system;
}

char *gsa_ends_copy(const char *bytes, int64_t count)
{
    char *at = end_alloc(NULL, (size_t)count);
    return at ? memcpy(at, bytes, (size_t)count) : NULL;
}
