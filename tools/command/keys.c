/* keys.c - the keys of recipes, for gsa train --help and for the page recipe-keys.md. */
#include <stdio.h>
#include <string.h>
#include "train/settings/recipe.h"
#include "tools/command/verbs.h"

static const char *shown_default(const gsa_key *key)
{
    return !key->fallback ? "needed" : *key->fallback ? key->fallback : "empty";
}

void gsa_write_expected_of_key(char *text, size_t size, const gsa_key *key)
{
    if (key->type == GSA_PATH) snprintf(text, size, "text");
    else gsa_write_expected(text, size, key->type, key->low, key->high, key->choices);
}

int gsa_key_hint(const gsa_verb *verb, const char *name, char *hint, size_t size)
{
    int count, sets = 0;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < verb->n_options; i++) sets |= strcmp(verb->options[i].name, "set") == 0;
    for (int i = 0; sets && i < count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return snprintf(hint, size, "--set %s.%s=VALUE sets that of the recipe",
                            keys[i].section, keys[i].name) > 0;
    return 0;
}

void gsa_write_recipe_keys(gsa_output *out)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    gsa_output_text(out, "\nrecipe keys, defaults in brackets:\n");
    for (int i = 0; i < count; i++) {
        char name[80], expected[256];
        gsa_write_expected_of_key(expected, sizeof expected, &keys[i]);
        snprintf(name, sizeof name, "%s.%s", keys[i].section, keys[i].name);
        gsa_output_format(out, "  %-26s %s; %s [%s]\n", name, keys[i].doc, expected,
                          shown_default(&keys[i]));
    }
}

/* Text outside of code, in which an asterisk would open emphasis. */
static void write_plain(gsa_output *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '*' || *text == '<') gsa_output_text(out, "\\");
        gsa_output_write(out, text, 1);
    }
}

void gsa_write_recipe_keys_page(gsa_output *out)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    gsa_output_text(out,
                    "# Recipe keys\n\nWritten by `gsa help --recipe-keys`: each key with its "
                    "default, its values, and in brackets the tasks\nthat read it (none: all). "
                    "Another value of a key that the task does not read is refused.\n");
    for (int i = 0; i < count; i++) {
        char expected[256], tasks[256];
        if (i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0)
            gsa_output_format(out, "\n## [%s]\n\n", keys[i].section);
        gsa_write_expected_of_key(expected, sizeof expected, &keys[i]);
        const char *value = keys[i].fallback && !*keys[i].fallback ? "" : shown_default(&keys[i]);
        gsa_output_format(out, "* `%s =%s%s` (%s): ", keys[i].name, *value ? " " : "", value,
                          expected);
        write_plain(out, keys[i].doc);
        gsa_tasks_text(keys[i].readers, tasks, sizeof tasks);
        if (strcmp(tasks, "all") != 0) gsa_output_format(out, " [%s]", tasks);
        gsa_output_text(out, "\n");
    }
}
