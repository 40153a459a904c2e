#include "host.h"
#include <stdio.h>
#include <string.h>

static void *host_alloc(const gsa_host *host, size_t bytes)
{
    gsa_hosting *hosting = host->host;
    void *at = gsa_alloc(hosting->system, bytes, 1);
    if (!at && hosting->creating) hosting->starved = 1;
    return at;
}

static void host_release(const gsa_host *host, void *at)
{
    const gsa_hosting *hosting = host->host;
    gsa_release(hosting->system, at);
}

static int host_fail(const gsa_host *host, const char *sentence)
{
    gsa_hosting *hosting = host->host;
    if (!hosting->creating || hosting->failed) return -1;
    hosting->failed = 1;
    gsa_fail(&hosting->said, GSA_ERR_ARGUMENT, "%s",
             sentence && *sentence ? sentence : "create failed with an empty sentence");
    return -1;
}

static const void *host_service(const gsa_host *host, const char *id)
{
    const gsa_services *services = ((const gsa_hosting *)host->host)->services;
    for (int i = 0; id && i < services->count; i++)
        if (strcmp(services->at[i].id, id) == 0) return services->at[i].service;
    return NULL;
}

void gsa_host_starve(const gsa_host *host)
{
    if (host->alloc != host_alloc) return; /* another host's */
    gsa_hosting *hosting = host->host;
    if (hosting->creating) hosting->starved = 1;
}

/* The place of the column among those that the pattern requests; one that it has requested before
 * keeps its own. */
static int ask_column(const gsa_host *host, const char *name)
{
    if (host->alloc != host_alloc) return -1; /* another host's */
    gsa_hosting *hosting = host->host;
    int place = 0;
    char sentence[160], shown[GSA_SHOWN];
    if (!hosting->creating) return -1;
    while (place < hosting->columns && name && strcmp(hosting->column[place], name) != 0) place++;
    if (place < hosting->columns) return place;
    snprintf(sentence, sizeof sentence,
             "requests column %.60s, expected [a-z][a-z0-9_]*, at most %d of them",
             gsa_word_show(name, shown), GSA_COLUMNS_ASKED);
    if (!name || !gsa_word_ok(name) || place == GSA_COLUMNS_ASKED)
        return host->fail(host, sentence);
    snprintf(hosting->column[hosting->columns++], sizeof *hosting->column, "%s", name);
    return place;
}

gsa_column_service gsa_column_service_of(void)
{
    return (gsa_column_service){ .struct_size = sizeof(gsa_column_service), .ask = ask_column };
}

void gsa_hosting_open(gsa_hosting *hosting, const gsa_system *system, const gsa_services *services)
{
    *hosting = (gsa_hosting){ .system = system, .services = services, .creating = 1 };
    hosting->table = (gsa_host){ .struct_size = sizeof(gsa_host),
                                 .host = hosting,
                                 .alloc = host_alloc,
                                 .release = host_release,
                                 .fail = host_fail,
                                 .service = host_service };
}
