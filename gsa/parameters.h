/* parameters.h - the learned matrices of a model, by name, in order of creation. They own values
 * and gradients on one backend. Names are "stack.segment.layer.phase.q.weight"; matrices are [out,
 * in]. One thread at a time.
 * Errors: GSA_ERR_ARGUMENT (a name twice, shapes that differ), GSA_ERR_LIMIT (a size),
 * GSA_ERR_MEMORY.
 *
 * Example:
 *
 *     gsa_error error;
 *     gsa_backend *backend = NULL;
 *     gsa_parameters *all = NULL;
 *     gsa_parameter *w = NULL;
 *     double values[6];
 *     int failed = gsa_backend_open(NULL, "cpu", GSA_F32, 1, &backend, &error) ||
 *                  gsa_parameters_create(NULL, backend, 1, &all, &error) || // 1: seed
 *                  gsa_parameters_add(all, "head.w", 2, 3, GSA_INIT_XAVIER, 0, 0, &w, &error) ||
 *                  gsa_tensor_read(backend, &w->value, 0, values, &error);
 *     if (failed) puts(error.text);
 *     else printf("%s[0, 0] = %g\n", gsa_parameters_at(all, 0)->name, values[0]);
 *     gsa_parameters_release(all);
 *     gsa_backend_release(backend);
 *     return failed;
 *
 */
#ifndef GSA_PARAMETERS_H
#define GSA_PARAMETERS_H
#include "tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a new parameter's values are drawn. */
enum gsa_init {
    GSA_INIT_ZERO,
    GSA_INIT_ONE,
    GSA_INIT_XAVIER,  /* uniform +-sqrt(6 / (rows + cols)) (Glorot and Bengio 2010) */
    GSA_INIT_NORMAL,  /* standard deviation `scale` */
    GSA_INIT_UNIFORM, /* +-scale */
    GSA_INIT_FAN_IN   /* uniform +-1/sqrt(cols) */
};
/* What is special about a parameter; bits. */
enum gsa_parameter_flags {
    GSA_NO_DECAY = 1,  /* biases, norms: no weight decay */
    GSA_FROZEN = 2,    /* never updated, needs no gradient */
    GSA_ZERO_ROW = 4,  /* row 0 is zero and stays so (padding, id 0) */
    GSA_UNREACHED = 8, /* no readout depends on it: no update, no decay; set by the stack */
    GSA_BY_ROWS = 16   /* a step reads few of its rows: value.marks tells which, on backends that
                          share the host's memory */
};

/* One named matrix of learned numbers, with its gradient. */
typedef struct gsa_parameter {
    char *name;          /* unique: "encoder.0.0.attend.q.weight" */
    gsa_tensor value;    /* [out, in], with its gradient */
    int32_t init, flags; /* gsa_init; gsa_parameter_flags */
    double scale;        /* of GSA_INIT_NORMAL and GSA_INIT_UNIFORM */
} gsa_parameter;

static inline int gsa_is_learned(const gsa_parameter *parameter)
{
    return (parameter->flags & (GSA_FROZEN | GSA_UNREACHED)) == 0;
}

/* All parameters of a model, in the order in which they were added. Opaque. */
typedef struct gsa_parameters gsa_parameters;

/* What parameters that are added from now on do without. */
enum gsa_without {
    GSA_WITHOUT_DRAWING = 1,   /* values are zero, not drawn: gsa_parameters_read brings them */
    GSA_WITHOUT_GRADIENTS = 2, /* no step is made: none has a gradient */
    GSA_WITHOUT_CHECKING = 4   /* gsa_parameters_read takes NaN and infinities too */
};

/* Initial values depend on (seed, name, element) alone: not on order, threads or backend. `what`
 * are bits of gsa_without. */
gsa_status gsa_parameters_create(const gsa_system *system, gsa_backend *backend, uint32_t seed,
                                 gsa_parameters **parameters, gsa_error *error);
void gsa_parameters_release(gsa_parameters *parameters);
void gsa_parameters_without(gsa_parameters *parameters, uint32_t what); /* of gsa_without */
uint32_t gsa_parameters_lack(const gsa_parameters *parameters);         /* of gsa_without */
/* From now on a parameter is added only where allow(context, ...) is GSA_OK: it is asked before any
 * memory is. NULL: all are. */
typedef gsa_status gsa_parameters_allow(void *context, const char *name, int64_t rows, int64_t cols,
                                        int flags, gsa_error *error);
void gsa_parameters_ask(gsa_parameters *parameters, gsa_parameters_allow *allow, void *context);
/* A new parameter; its address stays valid as long as the parameters. init: a gsa_init, of which
 * `scale` is the deviation or bound; flags: bits of gsa_parameter_flags. A name that exists already
 * is an error (GSA_ERR_ARGUMENT). */
gsa_status gsa_parameters_add(gsa_parameters *parameters, const char *name, int64_t rows,
                              int64_t cols, int init, double scale, int flags,
                              gsa_parameter **parameter, gsa_error *error);
int gsa_parameters_count(const gsa_parameters *parameters);
gsa_parameter *gsa_parameters_at(const gsa_parameters *parameters, int index);
gsa_parameter *gsa_parameters_find(const gsa_parameters *parameters,
                                   const char *name);           /* NULL: none */
int64_t gsa_parameters_total(const gsa_parameters *parameters); /* numbers, frozen ones too */
gsa_status gsa_parameters_zero_gradients(gsa_parameters *parameters, gsa_error *error);
gsa_backend *gsa_parameters_backend(const gsa_parameters *parameters);

/* Numbers: where a part of a plane begins or ends is a multiple of it. */
enum { GSA_PLANE_LINE = 64 };
/* On a backend of its own memory, where a call costs more than a few numbers: the values of all
 * parameters with a gradient are in one plane, and the gradients in another. First those that
 * steps change and decay, then those that they change, then the others. Ends and places are counted
 * in numbers, and are multiples of GSA_PLANE_LINE: what lies between parameters is zeros. */
typedef struct gsa_planes {
    char *values, *gradients;        /* NULL: each parameter has its own memory */
    int64_t decayed, learned, total; /* where each part of them ends */
    int64_t *place;                  /* [parameters] where each begins; -1: not in the planes */
} gsa_planes;
/* Moves the parameters there, once all are added and marked; nothing where the backend shares the
 * host's memory, nor the second time. Memory: both copies exist while one is made. */
gsa_status gsa_parameters_join(gsa_parameters *parameters, gsa_error *error);
const gsa_planes *gsa_parameters_planes(const gsa_parameters *parameters);

#ifdef __cplusplus
}
#endif
#endif
