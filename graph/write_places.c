/* write_places.c - places of nodes, in a page and in GraphML: levels, spans and kinds decide. The
 * unit is one token; y grows downwards. */
#include <math.h>
#include "graph/write_parts.h"

/* How a stack relates to its sequence: its length, and whether a kind is one of its. */
static int32_t length_of(const gsa_drawing *d, int stack)
{
    int64_t own = 0, any = 1;
    for (int k = 0; k < d->n_kinds; k++) {
        const gsa_drawn_kind *kind = &d->kinds[k];
        if (kind->stack != stack) continue;
        if (kind->count > any) any = kind->count;
        if ((kind->start == GSA_INPUT || kind->start == GSA_COPY) && kind->count > own)
            own = kind->count;
    }
    return (int32_t)(own > 0 ? own : any);
}

/* The middle of what a node stands for. */
static double middle(const gsa_drawn_kind *kind, gsa_place place, int64_t index, int32_t length)
{
    if (place.level >= 0) return 0.5 * ((double)place.first + place.last);
    return kind->count == 1 ? 0.5 * (length - 1) : (double)index;
}

/* A row a kind, the first one lowest. Of a tree, spans are above their tokens, a row a level. */
static double stack_rows(const gsa_drawing *d, int stack, int tree, double bottom, gsa_point *at)
{
    const int32_t length = length_of(d, stack);
    const double gap = fmax(3, length / 9.0);
    for (int k = 0; k < d->n_kinds; k++) {
        const gsa_drawn_kind *kind = &d->kinds[k];
        if (kind->stack != stack) continue;
        double top = bottom;
        for (int64_t i = 0; i < kind->count; i++) {
            const gsa_place place = gsa_draw_place(d, k, i);
            gsa_point *p = &at[kind->first + i];
            p->x = tree || kind->count == 1 || kind->count == length
                       ? middle(kind, place, i, length)
                       : ((double)i + 0.5) * length / (double)kind->count - 0.5;
            p->y = bottom - (tree && place.level > 0 ? place.level - 1 : 0) * gap;
            top = fmin(top, p->y);
        }
        bottom = top - gap;
    }
    return bottom - gap;
}

static int is_rim(const gsa_drawing *d, int kind, int stack)
{
    const gsa_drawn_kind *k = &d->kinds[kind];
    return k->stack == stack && k->count > 1 && gsa_draw_place(d, kind, 0).level <= 0;
}

/* On a circle; what stands for all tokens is in its middle, spans on circles between. Of several
 * kinds with a node a token, the last is on the innermost of their circles. */
static double stack_ring(const gsa_drawing *d, int stack, double left, gsa_point *at)
{
    const int32_t length = length_of(d, stack);
    const double pi = 3.14159265358979323846, radius = fmax(2.5, 1.1 * length / (2 * pi)),
                 gap = fmax(1.6, 0.3 * radius);
    int rims = 0, rim = 0, levels = 1;
    for (int k = 0; k < d->n_kinds; k++) {
        rims += is_rim(d, k, stack);
        for (int64_t i = 0; d->kinds[k].stack == stack && i < d->kinds[k].count; i++) {
            const int level = gsa_draw_place(d, k, i).level;
            if (level >= levels) levels = level + 1;
        }
    }
    for (int k = 0; k < d->n_kinds; k++) {
        const gsa_drawn_kind *kind = &d->kinds[k];
        const int own = is_rim(d, k, stack);
        for (int64_t i = 0; kind->stack == stack && i < kind->count; i++) {
            const gsa_place place = gsa_draw_place(d, k, i);
            const double angle = 2 * pi * middle(kind, place, i, length) / length - pi / 2;
            const int hub =
                length > 1 &&
                (kind->count == 1 || (place.level >= 0 && place.last - place.first + 1 >= length));
            const double between =
                radius * (1 - ((place.level > 1 ? place.level : 1) + 0.4) / (levels + 0.6));
            const double r = hub ? 0 : own ? radius + gap * (rims - 1 - rim) : between;
            at[kind->first + i] = (gsa_point){ left + r * cos(angle), r * sin(angle) };
        }
        rim += own;
    }
    return left + 2.6 * (radius + gap * (rims > 1 ? rims - 1 : 0));
}

void gsa_draw_places(const gsa_drawing *d, int view, gsa_point *at)
{
    double next = 0;
    if (view == GSA_PLACES_RING)
        for (int s = 0; s < d->picture->n_stacks; s++) next = stack_ring(d, s, next, at);
    else
        for (int s = d->picture->n_stacks - 1; s >= 0; s--)
            next = stack_rows(d, s, view == GSA_PLACES_TREE, next, at);
}

int gsa_draw_view(const gsa_drawing *d)
{
    int hub = 0;
    for (int k = 0; k < d->n_kinds; k++) {
        hub |= d->kinds[k].count == 1;
        for (int64_t i = 0; i < d->kinds[k].count; i++) {
            const gsa_place place = gsa_draw_place(d, k, i);
            if (place.level > 1 && place.last > place.first) return GSA_PLACES_TREE;
        }
    }
    return hub ? GSA_PLACES_RING : GSA_PLACES_ARCS;
}
