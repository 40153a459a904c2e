/* idle.h - a backend that does nothing: a step is walked through on it to find what memory it
 * needs. Not installed.
 *
 * Law.  It has the entries that the other one has, and takes the same memory, of which nothing is
 *     written; of a device's memory it gives addresses alone. Numbers that it should compute are
 * left as they are; a download gives zeros. */
#ifndef GSA_IDLE_H
#define GSA_IDLE_H
#include "kernels/backend.h"

/* `like` is borrowed. GSA_ERR_MEMORY alone. */
gsa_status gsa_backend_idle(const gsa_system *system, const gsa_backend *like,
                            gsa_backend **backend, gsa_error *error);

#endif
