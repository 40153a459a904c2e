/* embed.c - a program outside the project: counts a star's edges and asks what multiplies, through
 * the installed headers. */
#include <stdio.h>
#include <gsa/driver.h>
#include <gsa/pattern.h>
#include <gsa/tape.h>
#include <gsa/topology.h>

int main(void)
{
    gsa_error error = { 0 };
    gsa_registry *registry = NULL;
    gsa_pattern *pattern = NULL;
    gsa_instance *instance = NULL;
    gsa_backend *backend = NULL;
    gsa_tape *tape = NULL;
    int keys = 0;
    const gsa_example example = { .struct_size = sizeof example, .length = 10, .heads = 1 };
    if (gsa_registry_create(NULL, &registry, &error) ||
        gsa_pattern_create(registry, "star", NULL, 0, &pattern, &error) ||
        gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error) ||
        gsa_backend_ref(NULL, GSA_F32, 1, &backend, &error) ||
        gsa_tape_create(NULL, backend, &tape, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    long long edges = 0;
    for (int p = 0; p < gsa_schema_phases(gsa_pattern_schema(pattern)); p++) {
        gsa_edges view;
        gsa_instance_edges(instance, p, &view);
        edges += view.edge_total;
    }
    printf("%s, %lld edges, %s, %s recipe keys\n", gsa_pattern_text(pattern), edges,
           gsa_gemm_library(), gsa_recipe_keys(&keys) && keys > 0 ? "with" : "without");
    gsa_tape_release(tape);
    gsa_backend_release(backend);
    gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    return edges != 61 || keys == 0; /* 6n + 1 */
}
