#include "naive.h"
#include <stdlib.h>

static void add(naive_list *list, int phase, int from_kind, int64_t from, int64_t to, int64_t label)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 1024;
        list->edges = realloc(list->edges, (size_t)list->capacity * sizeof *list->edges);
        if (!list->edges) abort();
    }
    list->edges[list->count++] = (naive_edge){ phase, to, from_kind, from, (int32_t)label };
}

void naive_release(naive_list *list)
{
    free(list->edges);
    *list = (naive_list){ 0 };
}

/* Shaw et al. 2018, eq. 3-4: clip(j - i, c), shifted to start at 0. */
static int64_t shaw(int64_t i, int64_t j, int64_t c)
{
    int64_t distance = j - i;
    if (distance > c) distance = c;
    if (distance < -c) distance = -c;
    return distance + c;
}

void naive_full(naive_list *list, int64_t n, const int *parameters)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (!parameters[0] || j <= i) add(list, 0, 0, j, i, shaw(i, j, parameters[1]));
}

/* offset -1, 0, 1 from i, in this order; what falls off the end comes back on the other side when cyclic. */
static void neighbours(naive_list *list, int kind, int64_t n, int64_t i, int cyclic, int with_others)
{
    for (int64_t offset = -1; offset <= 1; offset++) {
        const int64_t j = i + offset;
        if (offset != 0 && !with_others) continue;
        if (0 <= j && j < n) add(list, 0, kind, j, i, offset + 1);
        else if (cyclic) add(list, 0, kind, (j + n) % n, i, offset + 1);
    }
}

void naive_ring(naive_list *list, int64_t n, const int *parameters)
{
    for (int64_t i = 0; i < n; i++) neighbours(list, 0, n, i, parameters[0], 1);
}

void naive_window(naive_list *list, int64_t n, const int *parameters)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (2 * llabs(i - j) < parameters[0] && (!parameters[1] || j <= i)) add(list, 0, 0, j, i, 0);
}

/* Algorithm 1: the context of satellite i is [h_{i-1}; h_i; h_{i+1}; e_i; s], of the relay [s; h_0 .. h_{n-1}]. */
void naive_star(naive_list *list, int64_t n, const int *parameters)
{
    enum { EMBED, TOKEN, RELAY };
    for (int64_t i = 0; i < n; i++) {
        neighbours(list, TOKEN, n, i, parameters[2], parameters[1]);
        add(list, 0, EMBED, i, i, 3);
        if (parameters[0]) add(list, 0, RELAY, 0, i, 4);
    }
    if (!parameters[0] || n == 0) return;
    add(list, 1, RELAY, 0, 0, 0);
    for (int64_t i = 0; i < n; i++) add(list, 1, TOKEN, i, 0, 1);
}
