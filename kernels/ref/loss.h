/* loss.h - what cross entropy asks of its arguments. */
#ifndef GSA_REF_LOSS_H
#define GSA_REF_LOSS_H
#include "kernels/ref/ref.h"

static inline gsa_status ref_check_entropy(gsa_backend *b, const char *op, const int32_t *targets,
                                           double smoothing, int64_t rows, int64_t classes)
{
    if (!(smoothing >= 0 && smoothing < 1))
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: a smoothing of %g, expected 0 <= smoothing < 1", op, smoothing);
    const gsa_status status = gsa_ref_shape(b, op, rows, classes);
    return status == GSA_OK ? gsa_ref_check_indices(b, op, "target", targets, rows, -1, classes)
                            : status;
}

#endif
