/* completion.c - bash completion, from the verb tables, the recipe keys and the built-in
 * topologies. */
#include <string.h>
#include "tools/command/verbs.h"

static void write_names(gsa_output *out, const gsa_verb *verb)
{
    for (int i = 0; i < verb->n_options; i++)
        gsa_output_format(out, "--%s ", verb->options[i].name);
    gsa_output_text(out, "--help");
}

/* The choice that `at` begins with, once for each way of taking what is in brackets or not: bit i
 * of `way` for the i-th. */
static void write_choice(gsa_output *out, const char *at, unsigned way)
{
    for (int taken = 1; *at && *at != '|'; at++) {
        if (*at == '[') taken = (int)(way & 1), way >>= 1;
        else if (*at == ']') taken = 1;
        else if (taken) gsa_output_write(out, at, 1);
    }
}

static void write_choices(gsa_output *out, const char *choices)
{
    for (const char *at = choices; *at; at += strcspn(at, "|"), at += *at == '|') {
        unsigned ways = 1;
        for (const char *c = at; *c && *c != '|'; c++) ways <<= *c == '[';
        for (unsigned way = 0; way < ways; way++) {
            if (at != choices || way > 0) gsa_output_text(out, " ");
            write_choice(out, at, way);
        }
    }
}

/* The words that a verb's operands begin with: "new check" of "new NAME | check SPEC". */
static void write_operands(gsa_output *out, const gsa_verb *verb)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz";
    const char *last = "";
    size_t bytes = 0;
    for (const char *at = verb->operands; at; at = strchr(at, '|')) {
        at += strspn(at, "| ");
        const size_t word = strspn(at, small);
        if (!word) continue;
        if (!bytes) gsa_output_format(out, "        %s:%s) words='", verb->name, verb->name);
        if (word != bytes || memcmp(last, at, word) != 0)
            gsa_output_format(out, "%s%.*s", bytes ? " " : "", (int)word, at);
        last = at, bytes = word;
    }
    if (bytes) gsa_output_text(out, "' ;;\n");
}

/* What may follow one option; files where nothing is known. */
static void write_values(gsa_output *out, const gsa_verb *verb)
{
    for (int i = 0; i < verb->n_options; i++) {
        const gsa_option *option = &verb->options[i];
        if (option->type == GSA_OPTION_FLAG) continue;
        gsa_output_format(out, "        %s:--%s) ", verb->name, option->name);
        if (option->type == GSA_OPTION_CHOICE) {
            gsa_output_text(out, "words='");
            write_choices(out, option->value);
            gsa_output_text(out, "' ;;\n");
        } else if (strcmp(option->value, "T") == 0 ||
                   option->value[0] == '[') /* what nobody else knows */
            gsa_output_text(out, "words='' ;;\n");
        else if (strcmp(option->value, "SPEC") == 0) gsa_output_text(out, "words=$topologies ;;\n");
        else if (strcmp(option->name, "set") == 0) gsa_output_text(out, "words=$keys ;;\n");
        else if (option->type == GSA_OPTION_NUMBER || option->type == GSA_OPTION_NUMBERS)
            gsa_output_text(out, "words='' ;;\n");
        else gsa_output_text(out, "files=1 ;;\n");
    }
}

static void write_topologies(gsa_output *out)
{
    gsa_registry *registry;
    if (gsa_registry_create(NULL, &registry, NULL) != GSA_OK) return;
    for (int i = 0; i < gsa_registry_count(registry); i++)
        gsa_output_format(out, "%s ", gsa_registry_at(registry, i)->id);
    gsa_registry_release(registry);
}

static void write_keys(gsa_output *out)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++)
        gsa_output_format(out, "%s.%s= ", keys[i].section, keys[i].name);
}

static void write_tables(gsa_output *out, const gsa_verb *const *verbs, int count)
{
    gsa_output_text(out, "    local verbs='");
    for (int i = 0; i < count; i++) gsa_output_format(out, "%s%s", i ? " " : "", verbs[i]->name);
    gsa_output_text(out, "'\n    local topologies='");
    write_topologies(out);
    gsa_output_text(out, "'\n    local keys='");
    write_keys(out);
    gsa_output_text(out, "'\n");
}

void gsa_write_completion(gsa_output *out)
{
    int count;
    const gsa_verb *const *verbs = gsa_verbs(&count);
    gsa_output_text(out,
                    "# bash completion for gsa, written by 'gsa help --completion'\n_gsa()\n{\n"
                    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
                    "verb=${COMP_WORDS[1]}\n"
                    "    local words='' files=0\n");
    write_tables(out, verbs, count);
    gsa_output_text(out, "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        mapfile -t COMPREPLY < "
                         "<(compgen -W \"$verbs "
                         "--help --version\" -- \"$word\")\n"
                         "        return\n    fi\n    case $verb:$before in\n");
    for (int i = 0; i < count; i++) write_values(out, verbs[i]), write_operands(out, verbs[i]);
    gsa_output_text(out, "        help:help) words=$verbs ;;\n        *) case $verb:$word in\n");
    for (int i = 0; i < count; i++) {
        gsa_output_format(out, "            %s:-*) words='", verbs[i]->name);
        write_names(out, verbs[i]);
        gsa_output_text(out, "' ;;\n");
    }
    gsa_output_text(
        out, "            *) files=1 ;;\n            esac ;;\n    esac\n"
             "    if [ \"$files\" -eq 1 ]; then\n        compopt -o default\n        COMPREPLY=()\n"
             "    else\n        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
             "        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n    fi\n    return "
             "0\n}\ncomplete -F _gsa gsa\n");
}
