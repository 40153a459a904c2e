/* thin.h - tables of values that are run in part under AddressSanitizer and ThreadSanitizer, which
 * take 5 to 20 times as long and look at memory: many rows of such a table touch the same; so do
 * they where lines are counted (GSA_TEST_THIN, tests/tools/coverage.sh); and on ARM, by qemu, which
 * takes 20 times as long. Elsewhere every row is run. */
#ifndef GSA_TEST_THIN_H
#define GSA_TEST_THIN_H

#if defined(__SANITIZE_ADDRESS__) || defined(GSA_TEST_THIN)
#define GSA_THIN(n) (n)
#elif defined(__aarch64__)
#define GSA_THIN(n) (4 * (n))
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GSA_THIN(n) (n)
#endif
#endif
/* How far apart the rows are that are run. */
#ifndef GSA_THIN
#define GSA_THIN(n) 1
#endif

#endif
