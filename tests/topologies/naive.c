#include "naive.h"
#include <stdlib.h>
#include "graph/topology.h"

void naive_add(naive_list *list, int phase, int from_kind, int64_t from, int64_t to, int64_t label)
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
            if (!parameters[0] || j <= i) naive_add(list, 0, 0, j, i, shaw(i, j, parameters[1]));
}

/* offset -1, 0, 1 from i, in this order; what falls off the end comes back on the other side when
 * cyclic. */
static void neighbours(naive_list *list, int kind, int64_t n, int64_t i, int cyclic,
                       int with_others)
{
    for (int64_t offset = -1; offset <= 1; offset++) {
        const int64_t j = i + offset;
        if (offset != 0 && !with_others) continue;
        if (0 <= j && j < n) naive_add(list, 0, kind, j, i, offset + 1);
        else if (cyclic) naive_add(list, 0, kind, (j + n) % n, i, offset + 1);
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
            if (2 * llabs(i - j) < parameters[0] && (!parameters[1] || j <= i))
                naive_add(list, 0, 0, j, i, parameters[2] ? j - i + parameters[0] / 2 : 0);
}

/* Algorithm 1: the context of satellite i is [h_{i-1}; h_i; h_{i+1}; e_i; s], of a relay [s; h_0 ..
 * h_{n-1}]. */
void naive_star(naive_list *list, int64_t n, const int *parameters)
{
    enum { EMBED, TOKEN, RELAY };
    const int64_t relays = !parameters[0] || n == 0 ? 0 : parameters[3] > 1 ? parameters[3] : 1;
    for (int64_t i = 0; i < n; i++) {
        neighbours(list, TOKEN, n, i, parameters[2], parameters[1]);
        naive_add(list, 0, EMBED, i, i, 3);
        for (int64_t a = 0; a < relays; a++) naive_add(list, 0, RELAY, a, i, 4);
    }
    for (int64_t a = 0; a < relays; a++) {
        naive_add(list, 1, RELAY, a, a, 0);
        for (int64_t i = 0; i < n; i++) naive_add(list, 1, TOKEN, i, a, 1);
    }
}

static int compare(const void *left, const void *right)
{
    const naive_edge *a = left, *b = right;
    const int64_t x[5] = { a->phase, a->to, a->from_kind, a->from, a->label };
    const int64_t y[5] = { b->phase, b->to, b->from_kind, b->from, b->label };
    for (int i = 0; i < 5; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

void naive_sort(naive_list *list)
{
    if (list->count > 1) qsort(list->edges, (size_t)list->count, sizeof *list->edges, compare);
}

/* Yang et al. 2019, eq. 7 and 8: both neighbourhoods, all pairs of offsets. */
void naive_head_area(naive_list *list, const naive_example *x, const int *parameters)
{
    const int64_t m = parameters[0] / 2, k = parameters[1] / 2, H = x->heads;
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t j = i - m; j <= i + m; j++)
                for (int64_t g = h - k; g <= h + k; g++) {
                    int64_t head = g;
                    while (parameters[2] == 1 && head < 0) head += H;
                    while (parameters[2] == 1 && head >= H) head -= H;
                    if (parameters[2] == 2 && head < 0) head = 0;
                    if (parameters[2] == 2 && head >= H) head = H - 1;
                    if (j >= 0 && j < x->n && head >= 0 && head < H)
                        naive_add(list, 0, 0, j * H + head, i * H + h, g - h + k);
                }
}

void naive_dilated(naive_list *list, const naive_example *x, const int *parameters)
{
    const int64_t half = parameters[0] / 2, step = parameters[1];
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < x->n; j++)
            if ((j - i) % step == 0 && llabs(j - i) / step <= half && (!parameters[2] || j <= i))
                naive_add(list, 0, 0, j, i, (j - i) / step + half);
}

void naive_longformer(naive_list *list, const naive_example *x, const int *parameters)
{
    enum { WINDOW, GLOBAL, ALL };
    const int64_t global = parameters[1];
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < x->n; j++) {
            if (parameters[3] && j > i) continue;
            if (i < global) naive_add(list, parameters[2] ? 1 : 0, 0, j, i, ALL);
            else if (j < global) naive_add(list, 0, 0, j, i, GLOBAL);
            else if (2 * llabs(i - j) < parameters[0]) naive_add(list, 0, 0, j, i, WINDOW);
        }
}

/* Child et al. 2019, section 4.3. `back` counts from the end of the block, and blocks from where
 * the first or the last ends. */
static void strided_pair(naive_list *list, const naive_example *x, const int *parameters, int64_t l,
                         int64_t i, int64_t j)
{
    enum { MERGED, NEAR, FAR, SPLIT };
    const int fixed = parameters[0], heads = parameters[3], causal = parameters[4],
              H = heads == SPLIT ? x->heads : 1;
    const int64_t back = causal ? l - 1 - j % l : (x->n - 1 - j) % l;
    const int same = causal ? i / l == j / l : (x->n - 1 - i) / l == (x->n - 1 - j) / l;
    const int near = fixed ? same : llabs(i - j) <= l,
              far = fixed ? back < parameters[2] : (i - j) % l == 0;
    if (causal && j > i) return;
    for (int h = 0; h < H; h++) {
        const int reads_near =
            near && (heads == MERGED || heads == NEAR || (heads == SPLIT && 2 * h < H));
        const int reads_far =
            far && (heads == MERGED || heads == FAR || (heads == SPLIT && 2 * h >= H));
        const int64_t label = parameters[5] == 0 ? !reads_near
                              : reads_near       ? j - i + l
                              : causal           ? l + 1
                                                 : 2 * l + 1;
        if (reads_near || reads_far) naive_add(list, 0, 0, j * H + h, i * H + h, label);
    }
}

void naive_strided(naive_list *list, const naive_example *x, const int *parameters)
{
    int64_t l = parameters[1];
    if (l == 0)
        for (l = 1; l * l < x->n;) l++;
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < x->n; j++) strided_pair(list, x, parameters, l, i, j);
}

/* Zaheer et al. 2020, section 2, over blocks. `kind` says of each block what it is to block q: 0
 * nothing, else label + 1. */
static void bigbird_blocks(int *kind, int64_t blocks, int64_t q, const int *parameters)
{
    enum { WINDOW = 1, GLOBAL, ALL, RANDOM };
    int64_t others[64], count = 0;
    for (int64_t b = 0; b < blocks; b++) {
        kind[b] = q < parameters[1]                  ? ALL
                  : b < parameters[1]                ? GLOBAL
                  : 2 * llabs(q - b) < parameters[0] ? WINDOW
                                                     : 0;
        if (parameters[5] && b > q) kind[b] = -1;
        if (kind[b] == 0) others[count++] = b;
    }
    if (count <= parameters[2]) {
        for (int64_t b = 0; b < count; b++) kind[others[b]] = RANDOM;
        return;
    }
    for (int64_t k = 0; k < parameters[2];
         k++) { /* Floyd: of the first top+1 others, or the last of them */
        const int64_t top = count - parameters[2] + k;
        const int64_t at = (int64_t)(gsa_random((uint64_t)parameters[4], (uint64_t)q, (uint64_t)k) %
                                     (uint64_t)(top + 1));
        kind[others[kind[others[at]] == 0 ? at : top]] = RANDOM;
    }
}

void naive_bigbird(naive_list *list, const naive_example *x, const int *parameters)
{
    const int64_t b = parameters[3], blocks = (x->n + b - 1) / b;
    int kind[64];
    if (blocks > 64) abort();
    for (int64_t i = 0; i < x->n; i++) {
        bigbird_blocks(kind, blocks, i / b, parameters);
        for (int64_t j = 0; j < x->n; j++)
            if (kind[j / b] > 0 && (!parameters[5] || j <= i))
                naive_add(list, 0, 0, j, i, kind[j / b] - 1);
    }
}

void naive_cross(naive_list *list, const naive_example *x, const int *parameters)
{
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t m = 0; m < x->memory; m++)
            if (!parameters[0] ||
                (x->group ? x->group[i] : 0) == (x->memory_group ? x->memory_group[m] : 0))
                naive_add(list, 0, 0, m, i, 0);
}
