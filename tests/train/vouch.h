/* vouch.h - for tests that change a checkpoint's files and nothing of its list. */
#ifndef GSA_TEST_VOUCH_H
#define GSA_TEST_VOUCH_H
#include <check.h>
#include <string.h>
#include "gsa/checkpoint_parts.h"

/* The manifest of the checkpoint is made anew: what is changed is as its writer left it. */
static inline void gsa_vouch(const char *step)
{
    gsa_names names, listed = { .system = gsa_system_default() };
    ck_assert_int_eq(gsa_names_list(gsa_system_default(), step, &names, NULL), GSA_OK);
    for (int i = 0; i < names.count; i++)
        if (gsa_manifest_takes(names.at[i])) gsa_names_add(&listed, names.at[i], NULL);
    int64_t number = 0;
    gsa_step_of(strrchr(step, '/') + 1, "", &number);
    ck_assert_int_eq(gsa_manifest_write(gsa_system_default(), step, number, &listed, NULL), GSA_OK);
    gsa_names_release(&names);
    gsa_names_release(&listed);
}

#endif
