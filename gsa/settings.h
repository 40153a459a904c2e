/* settings.h - the [model] settings that stacks, inputs and heads share. Plugins never see them.
 * Values alone: any thread.
 *
 * Example:
 *
 *     gsa_settings settings = gsa_settings_default();
 *     settings.hidden = 128, settings.heads = 8, settings.position = GSA_POSITION_SINUSOID;
 *     settings.dropout_hidden = 0.1;
 *     printf("%d columns, eps %g\n", settings.hidden, settings.norm_eps); // 128 columns, eps 1e-06
 *     return settings.readout != GSA_POOL_SUMMARY;
 *
 */
#ifndef GSA_SETTINGS_H
#define GSA_SETTINGS_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a sublayer's layer norm is: after the sum, or before the sublayer. */
enum gsa_norm_place { GSA_NORM_POST, GSA_NORM_PRE };
/* What scores are divided by. */
enum gsa_scale { GSA_SCALE_HEAD, GSA_SCALE_FULL }; /* 1/sqrt(head_dim), 1/sqrt(hidden) */
/* A stack's summary: its last pattern's own (bpt's root, star's relay and maximum, ...:
 * graph/topology.h), or the mean or the elementwise maximum of the sequence's states, as Shen et
 * al. 2018, equations 1 and 2, take them of words. */
enum gsa_pooling { GSA_POOL_SUMMARY, GSA_POOL_MEAN, GSA_POOL_MAX };
/* Which projections have a bias; bits. */
enum gsa_bias {
    GSA_BIAS_Q = 1,
    GSA_BIAS_V = 2,
    GSA_BIAS_O = 4
}; /* never k: its gradient is exactly 0 */
/* Positions that are added to the input rows. */
enum gsa_position { GSA_POSITION_NONE, GSA_POSITION_LEARNED, GSA_POSITION_SINUSOID };
/* What the input rows go through, in the order of the name. */
enum gsa_input_order {
    GSA_INPUT_PLAIN,
    GSA_INPUT_NORM,
    GSA_INPUT_DROPOUT,
    GSA_INPUT_NORM_DROPOUT,
    GSA_INPUT_DROPOUT_NORM
};

/* Sizes and choices of a stack. gsa_settings_default gives a whole one. */
typedef struct gsa_settings {
    /* widths in columns: of states; heads of attention, >= 1; of one head (0: hidden / heads);
     * inside FFN (0: 4 hidden) */
    int32_t hidden, heads, head_dim, ffn;
    int32_t activation; /* gsa_activation, of FFN */
    int32_t norm;       /* gsa_norm_place */
    int32_t bias;       /* gsa_bias bits */
    int32_t scale;      /* gsa_scale */
    int32_t init;       /* gsa_init of weight matrices */
    double init_scale;  /* for GSA_INIT_NORMAL and GSA_INIT_UNIFORM */
    double norm_eps;    /* added to the variance in layer norms, > 0 */
    /* shares that are dropped, 0 <= p < 1 */
    double dropout_input, dropout_attention, dropout_hidden, dropout_ffn, dropout_head;
    /* input */
    int32_t input; /* gsa_input_order */
    double input_scale;
    int32_t position;     /* gsa_position */
    int32_t position_max; /* learned positions: longest sequence */
    double position_base; /* sinusoid */
    int32_t readout;      /* gsa_pooling */
} gsa_settings;

/* hidden 300, 6 heads, ReLU, post norm, no biases on q, v, o (as the papers print it), eps 1e-6,
 * Xavier, no dropout, no positions. */
gsa_settings gsa_settings_default(void);

#ifdef __cplusplus
}
#endif
#endif
