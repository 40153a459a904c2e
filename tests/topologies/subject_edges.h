/* subject_edges.h - a pattern's instances and their edges, as lists that naive generators make. */
#ifndef GSA_TESTS_SUBJECT_EDGES_H
#define GSA_TESTS_SUBJECT_EDGES_H
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "naive.h"
#include "subject.h"

static inline gsa_instance *instance_of(const subject *s, const naive_example *x)
{
    const gsa_example example = { .struct_size = sizeof example,
                                  .length = (int32_t)x->n,
                                  .memory_length = (int32_t)x->memory,
                                  .heads = x->heads,
                                  .group = x->group,
                                  .memory_group = x->memory_group };
    gsa_instance *instance;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_pattern_instance(s->pattern, NULL, &example, NULL, 1, &instance, &error) ==
                      GSA_OK,
                  "%s", error.text);
    return instance;
}

static inline gsa_instance *of_length(const subject *s, int64_t n, int heads)
{
    return instance_of(s, &(naive_example){ .n = n, .heads = heads });
}

static inline int is_per_head(const subject *s)
{
    return gsa_schema_phase(s->schema, 0)->per_head;
}

/* What the instance holds, as a list; each phase has one source kind and one destination kind. */
static inline naive_list edges_of(const subject *s, const gsa_instance *instance)
{
    naive_list list = { 0 };
    for (int phase = 0; phase < gsa_schema_phases(s->schema); phase++) {
        gsa_edges edges;
        gsa_error error = { 0 };
        gsa_instance_edges(instance, phase, &edges);
        ck_assert_msg(gsa_edges_check(&edges, gsa_pattern_text(s->pattern), &error) == GSA_OK, "%s",
                      error.text);
        for (int64_t row = 0; row < edges.rows && edges.run_total > 0; row++)
            for (int64_t q = edges.run_offset[row]; q < edges.run_offset[row + 1]; q++)
                for (int64_t k = 0; k < edges.runs[q].count; k++)
                    naive_add(&list, phase, edges.runs[q].kind,
                              edges.runs[q].first + k * edges.runs[q].step, row,
                              edges.runs[q].label + k * edges.runs[q].label_step);
    }
    return list;
}

#endif
