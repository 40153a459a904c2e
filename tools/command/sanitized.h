/* sanitized.h - GSA_SANITIZED: 1 where this build has a sanitizer that brings a runtime of its own
 * (AddressSanitizer, ThreadSanitizer, MemorySanitizer): gcc says so by macros, clang by features.
 */
#ifndef GSA_TOOLS_SANITIZED_H
#define GSA_TOOLS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GSA_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define GSA_SANITIZED 1
#endif
#endif
#ifndef GSA_SANITIZED
#define GSA_SANITIZED 0
#endif

#endif
