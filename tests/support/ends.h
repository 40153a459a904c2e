/* ends.h - memory for tests that ends where its last byte does: the page after it is nobody's, so
 * that code which reads or writes past the end dies by SIGSEGV at the place. */
#ifndef GSA_TEST_ENDS_H
#define GSA_TEST_ENDS_H
#include "graph/system.h"

/* malloc and POSIX, but for the memory. */
gsa_system gsa_ends_system(void);
/* A copy of one byte or more, which no zero follows; released by that system. */
char *gsa_ends_copy(const char *bytes, int64_t count);

#endif
