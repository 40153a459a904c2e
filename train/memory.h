/* memory.h - what memory there is, and whether the weights of a run fit before any is taken. */
#ifndef GSA_TRAIN_MEMORY_H
#define GSA_TRAIN_MEMORY_H
#include "kernels/backend.h"
#include "train/settings/recipe.h"

/* Bytes of this process; 0: not known. */
int64_t gsa_memory_resident(const gsa_system *system);
/* Bytes that the machine, the control groups of this process and its own limits still leave; 0:
 * not known. */
int64_t gsa_memory_available(const gsa_system *system);

/* Weights of a run that begins, counted one by one as a model is made (gsa_parameters_ask): with
 * their gradients and the optimiser's moments, which are all there before the first step. The limit
 * is train.memory, or else what is available. Less than GSA_BUDGET_BYTES is always allowed. */
enum { GSA_BUDGET_BYTES = 16 << 20 };
typedef struct gsa_budget {
    const gsa_system *system;
    const gsa_recipe *recipe;
    int64_t fixed, learned; /* bytes of a number */
    int64_t bytes;          /* so far */
    int64_t available;      /* 0: not asked yet, or not known */
} gsa_budget;
gsa_budget gsa_budget_new(const gsa_system *system, const gsa_recipe *recipe,
                          const gsa_backend *backend);
gsa_status gsa_budget_allow(void *context, const char *name, int64_t rows, int64_t cols, int flags,
                            gsa_error *error);

#endif
