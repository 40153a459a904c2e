/* fuzz.c - libFuzzer's entry: the input as a file in memory, blocks counted, each target run once.
 * Every block and file that a target opens it gives back. */
#include "fuzz.h"
#include <errno.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t bytes);

enum { FILE_NUMBER = 1 << 20, MOST = 1 << 20 };
#define NAME "/input"

typedef struct fuzz_state {
    const uint8_t *at;
    int64_t bytes, place[16], blocks;
    int opened, files;
} fuzz_state;

static fuzz_state state; /* of the input that runs */

static void *count_alloc(void *user, size_t bytes)
{
    void *at = gsa_system_default()->alloc(user, bytes);
    state.blocks += at != NULL;
    return at;
}

static void *count_resize(void *user, void *from, size_t bytes)
{
    void *at = gsa_system_default()->resize(user, from, bytes);
    state.blocks += at && !from;
    return at;
}

static void count_release(void *user, void *at)
{
    state.blocks -= at != NULL;
    gsa_system_default()->release(user, at);
}

static int ours(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && strcmp(slash, NAME) == 0;
}

static int open_input(void *user, const char *path, int mode)
{
    (void)user;
    if (mode != GSA_OPEN_READ || !ours(path) || state.opened == 16) return errno = ENOENT, -1;
    state.files++;
    state.place[state.opened] = 0;
    return FILE_NUMBER + state.opened++;
}

static int64_t read_input_at(void *user, int file, void *to, int64_t bytes, int64_t from)
{
    (void)user, (void)file;
    int64_t left = from < state.bytes ? state.bytes - from : 0;
    if (left > bytes) left = bytes;
    if (left > 0) memcpy(to, state.at + from, (size_t)left);
    return left;
}

static int64_t read_input(void *user, int file, void *to, int64_t bytes)
{
    const int64_t got = read_input_at(user, file, to, bytes, state.place[file - FILE_NUMBER]);
    state.place[file - FILE_NUMBER] += got;
    return got;
}

static int close_input(void *user, int file)
{
    (void)user, (void)file;
    state.files--;
    return 0;
}

static int kind_of(void *user, const char *path, int64_t *bytes)
{
    if (!ours(path))
        return strstr(path, ".so") ? gsa_system_default()->kind(user, path, bytes)
                                   : GSA_FILE_ABSENT;
    if (bytes) *bytes = state.bytes;
    return GSA_FILE_REGULAR;
}

static int list_none(void *user, const char *path, int (*each)(void *, const char *), void *context)
{
    (void)user, (void)path, (void)each, (void)context;
    return 0;
}

const char *gsa_fuzz_on_disk(const uint8_t *at, size_t bytes)
{
    static char path[64];
    snprintf(path, sizeof path, "/dev/shm/gsa-fuzz-%ld", (long)getpid());
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(at, 1, bytes, file) == bytes && fclose(file) == 0);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t bytes)
{
    gsa_system table = *gsa_system_default();
    if (bytes < 1 || bytes > MOST) return 0;
    state = (fuzz_state){ .at = at + 1, .bytes = (int64_t)bytes - 1 };
    table.alloc = count_alloc, table.resize = count_resize, table.release = count_release;
    table.open = open_input, table.read = read_input, table.read_at = read_input_at;
    table.close = close_input, table.kind = kind_of, table.list = list_none;
    table.entry = NULL, table.resolve = NULL, table.keep_mode = NULL, table.clear_folder = NULL;
    table.same = NULL, table.hold = NULL;
    table.stored = NULL;
    gsa_fuzz_one(&table, "/fuzz" NAME, at, bytes);
    FUZZ_CHECK(state.blocks == 0);
    FUZZ_CHECK(state.files == 0);
    return 0;
}
