/* slopes.h - gradients of a session's parameters against central differences, in double. */
#ifndef GSA_TEST_SLOPES_H
#define GSA_TEST_SLOPES_H
#include "train/session.h"

/* `loss` is the value of one fixed loss; with `backward` its gradients are added too. Every stride-th number of every parameter is moved;
 * each parameter must have a gradient somewhere, but for those that nothing reads and tables of labels. Dies through Check. */
void check_slopes(gsa_session *session, double (*loss)(gsa_session *session, int backward), int stride);

#endif
