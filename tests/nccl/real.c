/* real.c - gsa-nccl.so with NVIDIA's NCCL: it loads, knows its version and makes a key; without a
 * device it opens no line, and says why. For real.sh. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "train/group/nccl.h"

int main(int count, char **words)
{
    char why[512] = "", key[GSA_WIRE_KEY];
    void *line = NULL, *module = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
    const gsa_wire *wire = module ? dlsym(module, GSA_GROUP_NCCL_TABLE) : NULL;
    if (!wire) return puts(module || count == 2 ? dlerror() : "expected a module"), 1;
    const int version = wire->version(why, sizeof why);
    printf("version %d %s\n", version, why);
    if (version == 0 || wire->make_key(key, why, sizeof why) != 0) return puts(why), 1;
    if (wire->open(key, 0, 1, &line, why, sizeof why) == 0) {
        wire->close(line, 1);
        return puts("one rank has a line"), 0;
    }
    puts(why);
    return strncmp(why, "NCCL: ", 6) != 0;
}
