/* slopes.h - gradients of a session's parameters against central differences, in double. */
#ifndef GSA_TEST_SLOPES_H
#define GSA_TEST_SLOPES_H
#include "train/driver/session.h"

/* Which parameters may have no gradient at all; 0: none may. */
enum { SILENT_UNREACHED = 1, SILENT_LABELS = 2 }; /* those that nothing reads, tables of labels */

/* `loss` is the value of one fixed loss; with `backward` its gradients are added too. Every
 * stride-th number of every parameter is moved. Dies through Check. */
void check_slopes(gsa_session *session, double (*loss)(gsa_session *session, int backward),
                  int stride, int silent);

/* The loss of these examples of the training data, times 0.1, with one mask of dropout: a `loss`
 * for check_slopes. */
double slopes_loss(gsa_session *session, const int64_t *example, int32_t count, int backward);

#endif
