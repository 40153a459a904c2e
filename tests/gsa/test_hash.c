/* SHA-256 against the published vectors and, for every length around the block's, against itself in
 * pieces. */
#include <stdlib.h>
#include <string.h>
#include "gsa/hash.h"
#include "support/compare.h"
#include "support/suite.h"

typedef struct vector {
    const char *text;
    int repeat;
    const char *hex;
} vector;

/* FIPS 180-2, appendix B, and the NIST examples for FIPS 180-4. */
static const vector vectors[] = {
    { "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
      "pqrsmnopqrstnopqrstu",
      1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
    { "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
};

/* As started, which is by instructions where the processor has them, or by plain C. */
static void start(gsa_sha256 *hash, int plain)
{
    gsa_sha256_start(hash);
    if (plain) hash->fast = 0;
}

START_TEST(published_vectors)
{
    const vector *v = &vectors[_i / 2];
    gsa_sha256 hash;
    char hex[65];
    start(&hash, _i % 2);
    for (int i = 0; i < v->repeat; i++) gsa_sha256_add(&hash, v->text, (int64_t)strlen(v->text));
    gsa_sha256_end(&hash, hex);
    ck_assert_str_eq(hex, v->hex);
}
END_TEST

static void message(uint8_t *out, int length)
{
    for (int i = 0; i < length; i++) out[i] = (uint8_t)(i * 7 + length);
}

static void hash_of(const void *at, int64_t bytes, int plain, char hex[65])
{
    gsa_sha256 hash;
    start(&hash, plain);
    gsa_sha256_add(&hash, at, bytes);
    gsa_sha256_end(&hash, hex);
}

/* The hash of the 301 hex digests of the messages of length 0 to 300, as another implementation
 * computed it. */
START_TEST(every_length)
{
    uint8_t text[301];
    char hex[65];
    gsa_sha256 all;
    gsa_sha256_start(&all);
    for (int length = 0; length <= 300; length++) {
        message(text, length);
        hash_of(text, length, _i, hex);
        gsa_sha256_add(&all, hex, 64);
    }
    gsa_sha256_end(&all, hex);
    ck_assert_str_eq(hex, "94bc81110d562891b0adac6bac4837f28ae9118c192446b6ac4414fdf4c6e629");
}
END_TEST

START_TEST(pieces_change_nothing)
{
    gsa_dice dice = { 1 };
    static uint8_t text[5000];
    char whole[65], parts[65];
    message(text, (int)sizeof text);
    for (int round = 0; round < 200; round++) {
        const int64_t length = gsa_between(&dice, 0, sizeof text);
        gsa_sha256 hash;
        gsa_sha256_start(&hash);
        for (int64_t at = 0, piece; at < length; at += piece) {
            piece = gsa_between(&dice, 0, 150);
            if (piece > length - at) piece = length - at;
            gsa_sha256_add(&hash, text + at, piece);
        }
        gsa_sha256_end(&hash, parts);
        hash_of(text, length, 0, whole);
        ck_assert_str_eq(parts, whole);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test known[] = { GSA_LOOP(published_vectors, 2 * GSA_COUNT(vectors)),
                                      GSA_LOOP(every_length, 2) };
    static const gsa_test pieces[] = { GSA_TEST(pieces_change_nothing) };
    static const gsa_case cases[] = { GSA_CASE("vectors", known, 30),
                                      GSA_CASE("pieces", pieces, 30) };
    return gsa_run_suite("hash", cases, GSA_COUNT(cases), argc, argv);
}
