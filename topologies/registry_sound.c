#include "registry_parts.h"
#include <math.h>
#include <string.h>
#include "graph/utf8.h"
#include "param.h"
#include "words.h"

enum { PARAM_LIMIT = 256 };
static const double exact = 9007199254740992.0; /* 2^53: up to here a double holds every integer */

static int one_line(const char *text)
{
    return text && !strpbrk(text, "\r\n") && gsa_utf8_invalid(text, (int64_t)strlen(text)) < 0;
}

static int reserved(const char *name)
{
    return strcmp(name, "topology") == 0 || strcmp(name, "layers") == 0 ||
           strcmp(name, "share") == 0;
}

/* "a,b,c": no empty word, none twice. */
static int choices_sound(const char *choices)
{
    if (!choices || !one_line(choices)) return 0;
    for (const char *at = choices;; at++) {
        const size_t word = strcspn(at, ",");
        if (word == 0) return 0;
        for (const char *other = choices; other < at; other += strcspn(other, ",") + 1)
            if (strcspn(other, ",") == word && memcmp(other, at, word) == 0) return 0;
        at += word;
        if (!*at) return 1;
    }
}

static gsa_status range_sound(const gsa_param *p, gsa_error *error)
{
    if (p->type < GSA_INT || p->type > GSA_PATH)
        return gsa_fail(error, GSA_ERR_PLUGIN, "parameter '%s' has the unknown type %d", p->name,
                        (int)p->type);
    if (p->zero != 0)
        return gsa_fail(error, GSA_ERR_PLUGIN, "parameter '%s' has %d in the field `zero`", p->name,
                        (int)p->zero);
    if (p->type == GSA_INT || p->type == GSA_REAL) {
        if (p->low > p->high || !isfinite(p->low) || !isfinite(p->high))
            return gsa_fail(error, GSA_ERR_PLUGIN, "parameter '%s' has no value from %g to %g",
                            p->name, p->low, p->high);
        if (p->type == GSA_INT && (floor(p->low) != p->low || floor(p->high) != p->high ||
                                   p->low < -exact || p->high > exact))
            return gsa_fail(
                error, GSA_ERR_PLUGIN,
                "integer parameter '%s' has bounds %g and %g, expected integers up to 2^53",
                p->name, p->low, p->high);
    }
    if ((p->type == GSA_CHOICE) != (p->choices != NULL) ||
        (p->choices && !choices_sound(p->choices)))
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "parameter '%s' has a wrong list of choices, expected distinct words "
                        "joined by commas for a choice and "
                        "NULL for every other type",
                        p->name);
    return GSA_OK;
}

static gsa_status fallback_sound(const gsa_param *p, gsa_error *error)
{
    gsa_value value;
    gsa_error why;
    if (!one_line(p->doc))
        return gsa_fail(error, GSA_ERR_PLUGIN, "parameter '%s' has no doc of one line", p->name);
    if (!p->fallback || gsa_param_parse(p, p->fallback, &value, &why) == GSA_OK) return GSA_OK;
    return gsa_fail(error, GSA_ERR_PLUGIN, "its own fallback is refused: %s", why.text);
}

static gsa_status param_sound(const gsa_topology *topology, uint32_t index, gsa_error *error)
{
    char shown[GSA_SHOWN];
    const gsa_param *p = gsa_topology_param(topology, index);
    if (!gsa_word_ok(p->name))
        return gsa_fail(error, GSA_ERR_PLUGIN, "parameter %u is named %s, expected [a-z][a-z0-9_]*",
                        (unsigned)index, gsa_word_show(p->name, shown));
    if (reserved(p->name))
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "parameter '%s' has a name that belongs to the stack", p->name);
    for (uint32_t other = 0; other < index; other++)
        if (strcmp(gsa_topology_param(topology, other)->name, p->name) == 0)
            return gsa_fail(error, GSA_ERR_PLUGIN, "parameter '%s' is declared twice", p->name);
    const gsa_status status = range_sound(p, error);
    return status != GSA_OK ? status : fallback_sound(p, error);
}

static gsa_status sizes_sound(const gsa_topology *t, gsa_error *error)
{
    if (t->abi != GSA_ABI)
        return gsa_fail(error, GSA_ERR_PLUGIN, "its abi is %u, expected %u", t->abi, GSA_ABI);
    if (t->struct_size < sizeof *t)
        return gsa_fail(error, GSA_ERR_PLUGIN, "its struct_size is %u bytes, expected at least %zu",
                        t->struct_size, sizeof *t);
    if (t->n_params > PARAM_LIMIT || (t->n_params > 0 && !t->params))
        return gsa_fail(error, GSA_ERR_PLUGIN, "it declares %u parameters%s, expected at most %d",
                        t->n_params, t->params ? "" : " and no list of them", PARAM_LIMIT);
    if (t->n_params > 0 &&
        (t->param_stride < sizeof(gsa_param) || t->param_stride % sizeof(double) != 0))
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "its param_stride is %u bytes, expected a multiple of 8 from %zu on",
                        t->param_stride, sizeof(gsa_param));
    return GSA_OK;
}

static gsa_status facts_sound(const gsa_topology *t, gsa_error *error)
{
    char shown[GSA_SHOWN];
    if (!gsa_word_ok(t->id))
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "its id is %s, expected [a-z][a-z0-9_]* of at most %d bytes",
                        gsa_word_show(t->id, shown), GSA_WORD_LIMIT);
    if (!t->describe || !t->emit)
        return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s' has no %s function", t->id,
                        t->describe ? "emit" : "describe");
    if (t->destroy && !t->create)
        return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s' has destroy without create", t->id);
    if (!one_line(t->summary) || !*t->summary || !one_line(t->reference))
        return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s' has no %s of one line (%s)", t->id,
                        one_line(t->reference) ? "summary" : "reference",
                        one_line(t->reference) ? "what it does" : "the paper, or whose idea it is");
    return GSA_OK;
}

gsa_status gsa_topology_sound(const gsa_topology *topology, gsa_error *error)
{
    gsa_status status = sizes_sound(topology, error);
    if (status == GSA_OK) status = facts_sound(topology, error);
    for (uint32_t i = 0; status == GSA_OK && i < topology->n_params; i++) {
        status = param_sound(topology, i, error);
        if (status != GSA_OK) gsa_fail_at(error, status, "topology '%s'", topology->id);
    }
    return status;
}
