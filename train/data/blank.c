#include "train/data/blank.h"
#include "graph/utf8.h"

int gsa_blank_at(const char *at, int64_t left, int32_t *bytes)
{
    const unsigned char *u = (const unsigned char *)at;
    const int32_t length = gsa_utf8_length(at);
    *bytes = length <= left ? length : (int32_t)left;
    if (*bytes == 1) return (u[0] >= 9 && u[0] <= 13) || (u[0] >= 28 && u[0] <= 32);
    if (*bytes == 2) return u[0] == 0xc2 && (u[1] == 0x85 || u[1] == 0xa0);
    if (*bytes != 3) return 0;
    const int32_t c = (u[0] & 15) << 12 | (u[1] & 63) << 6 | (u[2] & 63);
    return c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}
