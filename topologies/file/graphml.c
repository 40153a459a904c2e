/* graphml.c - GraphML through the reader that links igraph, which is next to this plugin and is
 * opened here alone: Matrix Market and edge lists, and every command that only lists topologies,
 * load no igraph. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "loader.h"

static const char here; /* an address in this shared object */

/* The folder of this shared object with the reader's name after it; 0 when it does not fit. */
static int reader_path(char *path, size_t size)
{
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname) return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    const int folder = slash ? (int)(slash - info.dli_fname) : 0;
    const int used = snprintf(path, size, "%.*s/%s", slash ? folder : 1,
                              slash ? info.dli_fname : ".", FILE_GRAPHML_OBJECT);
    return used > 0 && (size_t)used < size;
}

int read_graphml(loader *load)
{
    char path[4096], why[FILE_WHY] = "";
    if (!reader_path(path, sizeof path))
        return loader_fail(load, 0, "it is GraphML, and the plugin cannot tell where it is");
    /* Kept for the life of the process: igraph and libxml2 are not made to be unloaded. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return loader_fail(load, 0,
                           "it is GraphML, which is read through igraph, and this build has no "
                           "reader for it (%.200s): Matrix "
                           "Market and edge lists need none",
                           dlerror());
    file_graphml_reader *read;
    void *symbol = dlsym(library, FILE_GRAPHML_SYMBOL);
    memcpy(&read, &symbol, sizeof read);
    const file_sink sink = { load, loader_begin, loader_edge };
    const int done = symbol ? read(load->path, &sink, &load->undirected, why, sizeof why) : -1;
    if (!symbol)
        loader_fail(load, 0, "it is GraphML, and %.256s is no reader of this version", path);
    else if (done < 0) loader_fail(load, 0, "%s", why);
    dlclose(library);
    return done;
}
