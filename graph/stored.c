#define _GNU_SOURCE /* SEEK_DATA */
#include "graph/stored.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t gsa_stored_bytes(int file)
{
    /* where holes are not told, blocks are counted: a byte of one on the disk may be 4 of what was
     * compressed, and more of what is all alike */
    enum { COMPRESSED = 4, ENOUGH = 8 };
    struct stat seen;
    int64_t data = 0;
    if (fstat(file, &seen) < 0) return 0;
    const int64_t held = (int64_t)seen.st_blocks * 512 * COMPRESSED;
    for (off_t at = 0, end; at < seen.st_size && data < seen.st_size / ENOUGH; at = end) {
        const off_t from = lseek(file, at, SEEK_DATA);
        if (from < 0 && errno == ENXIO) break; /* a hole to the end */
        end = from < 0 ? from : lseek(file, from, SEEK_HOLE);
        if (end <= at) return held < seen.st_size ? held : seen.st_size;
        data += end - from;
    }
    return data < held ? data : held;
}
