#include <string.h>
#include "parts.h"

static void *host_alloc(const gsa_host *host, size_t bytes)
{
    gsa_hosting *hosting = host->host;
    void *at = gsa_alloc(hosting->registry->system, bytes, 1);
    if (!at && hosting->creating) hosting->starved = 1;
    return at;
}

static void host_release(const gsa_host *host, void *at)
{
    const gsa_hosting *hosting = host->host;
    gsa_release(hosting->registry->system, at);
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
    const gsa_registry *registry = ((const gsa_hosting *)host->host)->registry;
    for (int i = 0; id && i < registry->n_services; i++)
        if (strcmp(registry->services[i].id, id) == 0) return registry->services[i].service;
    return NULL;
}

void gsa_host_starve(const gsa_host *host)
{
    if (host->alloc != host_alloc) return; /* another host's */
    gsa_hosting *hosting = host->host;
    if (hosting->creating) hosting->starved = 1;
}

void gsa_hosting_open(gsa_hosting *hosting, const gsa_registry *registry)
{
    *hosting = (gsa_hosting){ .registry = registry, .creating = 1 };
    hosting->table = (gsa_host){ .struct_size = sizeof(gsa_host),
                                 .host = hosting,
                                 .alloc = host_alloc,
                                 .release = host_release,
                                 .fail = host_fail,
                                 .service = host_service };
}
