/* Well-formed UTF-8, as table 3-7 of Unicode 15 says, against a decoder of code points. */
#include "graph/utf8.h"
#include "fuzz.h"

static int64_t naive(const uint8_t *at, int64_t bytes)
{
    for (int64_t i = 0, more; i < bytes; i += 1 + more) {
        const uint8_t b = at[i];
        uint32_t code = b;
        more = b < 0x80 ? 0 : b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : 1;
        if ((b >= 0x80 && b < 0xc0) || b > 0xf7 || i + more >= bytes) return i;
        if (more) code = b & (0x3fu >> more);
        for (int64_t k = 1; k <= more; k++) {
            if ((at[i + k] & 0xc0) != 0x80) return i;
            code = code << 6 | (at[i + k] & 0x3fu);
        }
        static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return i;
    }
    return -1;
}

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    (void)system, (void)path;
    FUZZ_CHECK(gsa_utf8_invalid((const char *)at, (int64_t)bytes) == naive(at, (int64_t)bytes));
}
