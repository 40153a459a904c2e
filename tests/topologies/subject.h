/* subject.h - a built-in pattern by its spec, for tests. */
#ifndef GSA_TESTS_SUBJECT_H
#define GSA_TESTS_SUBJECT_H
#include "support/suite.h"
#include "topologies/spec.h"

typedef struct subject {
    gsa_registry *registry;
    gsa_pattern *pattern;
    const gsa_schema *schema;
} subject;

static inline gsa_status open_subject(subject *s, const gsa_system *system, const char *text,
                                      gsa_error *error)
{
    gsa_stack_spec spec = { 0 };
    *s = (subject){ 0 };
    gsa_status status = gsa_spec_parse(system, text, &spec, error);
    if (status == GSA_OK) status = gsa_registry_create(system, &s->registry, error);
    if (status == GSA_OK) {
        const gsa_part_spec *part = &spec.segments[0].parts[0];
        status = gsa_pattern_create(s->registry, part->id, part->settings, part->n_settings,
                                    &s->pattern, error);
    }
    if (status == GSA_OK) s->schema = gsa_pattern_schema(s->pattern);
    gsa_spec_release(&spec);
    return status;
}

static inline subject subject_of(const char *text)
{
    subject s;
    gsa_error error = { 0 };
    ck_assert_msg(open_subject(&s, NULL, text, &error) == GSA_OK, "%s", error.text);
    return s;
}

static inline void end(subject *s)
{
    gsa_pattern_release(s->pattern);
    gsa_registry_release(s->registry);
}

/* A label's name, whole, and cut where the room is small. */
static inline void check_label_name(const char *spec, int phase, int32_t label, const char *wanted)
{
    subject s = subject_of(spec);
    const gsa_topology *topology = gsa_pattern_topology(s.pattern);
    char name[32] = "?", small[3] = "??";
    topology->label(gsa_pattern_self(s.pattern), phase, label, name, sizeof name);
    ck_assert_str_eq(name, wanted);
    topology->label(gsa_pattern_self(s.pattern), phase, label, small, sizeof small);
    ck_assert_int_eq(small[2], 0);
    end(&s);
}

#endif
