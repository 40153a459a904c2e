#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#if __has_include(<elf.h>) && __has_include(<link.h>)
#include <elf.h>
#include <link.h>
#define HAS_ELF 1
#endif
#include "registry_parts.h"
#include "registry.h"
#include "words.h"

enum { MAJOR_LIMIT = 32 };
#define SYMBOL_OF(macro)    SYMBOL_TEXT(macro)
#define SYMBOL_TEXT(symbol) #symbol

/* The end of the last part that the loader maps: past the file's end it would read, and the process
 * would end with SIGBUS. 0: nothing is known of it, and the loader says what it is. */
static int64_t end_of_parts(const gsa_system *system, int file)
{
    int64_t end = 0;
#ifdef HAS_ELF
    enum { PARTS = 256 };
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    const int64_t bytes = sizeof head, each = sizeof part;
    if (system->read_at(system->user, file, &head, bytes, 0) != bytes ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != each ||
        head.e_phoff > INT64_MAX / 2)
        return 0;
    for (int64_t i = 0; i < head.e_phnum && i < PARTS; i++) {
        const int64_t at = (int64_t)head.e_phoff + i * each;
        if (system->read_at(system->user, file, &part, each, at) != each) return at + each;
        if (part.p_type != PT_LOAD || part.p_offset > INT64_MAX / 2 ||
            part.p_filesz > INT64_MAX / 2)
            continue;
        const int64_t last = (int64_t)part.p_offset + (int64_t)part.p_filesz;
        end = last > end ? last : end;
    }
#else
    (void)system, (void)file;
#endif
    return end;
}

/* What a copy left that was stopped, or a disk that was full. */
static gsa_status check_whole(const gsa_system *system, const char *path, int64_t bytes,
                              gsa_error *error)
{
    const int file = system->open(system->user, path, GSA_OPEN_READ);
    if (file < 0) return GSA_OK; /* as the loader will say */
    const int64_t end = end_of_parts(system, file);
    system->close(system->user, file);
    return end <= bytes ? GSA_OK
                        : gsa_fail(error, GSA_ERR_PLUGIN,
                                   "plugin '%s': it is cut short: it has %lld bytes, and its parts "
                                   "end at %lld",
                                   path, (long long)bytes, (long long)end);
}

static gsa_status path_sound(const gsa_registry *registry, const char *path, gsa_error *error)
{
    char shown[GSA_SHOWN];
    int64_t bytes;
    const gsa_system *system = registry->system ? registry->system : gsa_system_default();
    if (!path || !strchr(path, '/'))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "plugin %s: the path has no slash and plugins are not searched for, "
                        "expected one such as ./mine.so",
                        gsa_word_show(path, shown));
    switch (system->kind(system->user, path, &bytes)) {
    case GSA_FILE_REGULAR:
        return check_whole(system, path, bytes, error);
    case GSA_FILE_ABSENT:
        return gsa_fail(error, GSA_ERR_IO, "plugin '%s': there is no such file", path);
    case GSA_FILE_FOLDER:
        return gsa_fail(error, GSA_ERR_IO, "plugin '%s': it is a folder, expected a shared object",
                        path);
    case GSA_FILE_OTHER:
        return gsa_fail(error, GSA_ERR_IO, "plugin '%s': it is no regular file", path);
    default:
        return gsa_fail(error, GSA_ERR_IO, "plugin '%s': it cannot be examined", path);
    }
}

/* What is there instead of the symbols that this program knows? */
static gsa_status no_symbol(void *library, const char *path, gsa_error *error)
{
    static const struct {
        const char *prefix, *what;
        unsigned abi;
    } known[] = { { "gsa_plugin_", "", GSA_ABI }, { "gsa_task_", "task ", GSA_TASK_ABI } };
    for (int k = 0; k < 2; k++)
        for (unsigned major = 0; major < MAJOR_LIMIT; major++) {
            char name[32];
            snprintf(name, sizeof name, "%s%u", known[k].prefix, major);
            if (dlsym(library, name))
                return gsa_fail(error, GSA_ERR_PLUGIN,
                                "plugin '%s': it has %s and no %s%u: it was built for %sABI %u, "
                                "expected %sABI %u",
                                path, name, known[k].prefix, known[k].abi, known[k].what, major,
                                known[k].what, known[k].abi);
        }
    return gsa_fail(
        error, GSA_ERR_PLUGIN,
        "plugin '%s': it exports no symbol %s (`const gsa_topology GSA_PLUGIN = {...}`, visible)",
        path, SYMBOL_OF(GSA_PLUGIN));
}

/* A plugin of a task alone: who knows tasks finds it by its symbol. */
static gsa_status keep_other(gsa_registry *registry, const gsa_entry *entry, gsa_error *error)
{
    if (!dlsym(entry->library, SYMBOL_OF(GSA_TASK_PLUGIN)))
        return no_symbol(entry->library, entry->origin, error);
    if (registry->n_others == GSA_PLUGINS_MOST)
        return gsa_fail(error, GSA_ERR_LIMIT, "plugin '%s': %d plugins of tasks are loaded already",
                        entry->origin, GSA_PLUGINS_MOST);
    registry->others[registry->n_others++] = *entry;
    return GSA_OK;
}

const void *gsa_registry_symbol(const gsa_registry *registry, const char *symbol, int index,
                                const char **origin)
{
    for (int i = 0; i < registry->count + registry->n_others; i++) {
        const gsa_entry *entry =
            i < registry->count ? &registry->entries[i] : &registry->others[i - registry->count];
        const void *found = entry->library ? dlsym(entry->library, symbol) : NULL;
        if (!found || index-- > 0) continue;
        *origin = entry->origin;
        return found;
    }
    return NULL;
}

/* The loader's words without the path that they start with. */
static const char *loader_words(const char *path)
{
    const char *words = dlerror();
    const size_t length = strlen(path);
    if (!words) return "no reason given";
    return strncmp(words, path, length) == 0 && words[length] == ':'
               ? words + length + 1 + (words[length + 1] == ' ')
               : words;
}

gsa_status gsa_registry_load(gsa_registry *registry, const char *path, gsa_error *error)
{
    gsa_status status = path_sound(registry, path, error);
    if (status != GSA_OK) return status;
    char *origin = gsa_copy_text(registry->system, path);
    if (!origin) return gsa_out_of_memory(error, "the path of a plugin", (int64_t)strlen(path) + 1);
    gsa_calling(registry->system, &(gsa_plugin_call){ .who = path, .function = "load" });
    gsa_entry entry = { NULL, origin, dlopen(path, RTLD_NOW | RTLD_LOCAL) };
    if (!entry.library) {
        status =
            gsa_fail(error, GSA_ERR_PLUGIN, "plugin '%s': it is no shared object that loads: %s",
                     path, loader_words(path));
        gsa_release(registry->system, origin);
    }
    gsa_calling(registry->system, NULL); /* after the loader's words, which it may change */
    if (!entry.library) return status;
    entry.topology = dlsym(entry.library, SYMBOL_OF(GSA_PLUGIN));
    if (!entry.topology) {
        status = keep_other(registry, &entry, error);
    } else {
        status = gsa_registry_insert(registry, &entry, error);
        if (status != GSA_OK) gsa_fail_at(error, status, "plugin '%s'", path);
    }
    if (status != GSA_OK) gsa_unload(registry, &entry);
    return status;
}

void gsa_unload(gsa_registry *registry, gsa_entry *entry)
{
    if (!entry->library) return;
    dlclose(entry->library);
    gsa_release(registry->system, (void *)(uintptr_t)entry->origin);
}
