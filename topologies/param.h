/* param.h - declared parameters: text to value and back. The locale is never asked: "0.5" is a half
 * everywhere. */
#ifndef GSA_PARAM_H
#define GSA_PARAM_H
#include "graph/status.h"
#include "graph/topology.h"

/* The sentence names the parameter, the text and what was expected. A path borrows the text. */
gsa_status gsa_param_parse(const gsa_param *param, const char *text, gsa_value *value,
                           gsa_error *error);

/* Canonical text that parses to the same value ("-3", "0.5", "clip"); snprintf-like. */
int gsa_param_format(const gsa_param *param, gsa_value value, char *out, size_t size);
int gsa_param_equal(const gsa_param *param, gsa_value a, gsa_value b);

/* "an integer from 1 to 9", "0 or 1", "one of clip, circular" */
void gsa_param_expected(const gsa_param *param, char *out, size_t size);

#endif
