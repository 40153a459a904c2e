/* places.js - where nodes stand: x and y of each, in units of one token; y grows downwards. Levels,
 * spans and kinds decide. */

/* How a stack's nodes stand to its sequence: its length, and the tokens that each node stands for.
 */
function stackOf(g, stack) {
    const kinds = g.kinds.map((k, number) => number).filter(k => g.kinds[k].stack === stack);
    const base = kinds.filter(k => g.kinds[k].start === 'input' || g.kinds[k].start === 'copy');
    let length = 1;
    for (const k of base.length ? base : kinds) length = Math.max(length, g.kinds[k].count);
    return {kinds, base, length};
}

/* The middle of what a node stands for, in tokens. */
function middle(g, node, length) {
    const kind = g.kinds[g.kind[node]];
    if (g.level[node] >= 0) return (g.first[node] + g.last[node]) / 2;
    return kind.count === 1 ? (length - 1) / 2 : g.index[node];
}

/* Rows of kinds; spans stand above their tokens, a row a level, or all in the row of their kind. */
function rows(g, x, y, levels) {
    let bottom = 0;
    for (let s = g.stacks.length - 1; s >= 0; s--) {
        const stack = stackOf(g, s), gap = Math.max(3, stack.length / 9);
        for (const k of stack.kinds) {
            const kind = g.kinds[k];
            let top = bottom;
            for (let i = kind.first; i < kind.first + kind.count; i++) {
                const lift = levels && g.level[i] > 0 ? g.level[i] - 1 : 0;
                x[i] = levels || kind.count === 1 || kind.count === stack.length ?
                    middle(g, i, stack.length) :
                    (g.index[i] + 0.5) * stack.length / kind.count - 0.5;
                y[i] = bottom - lift * gap;
                if (y[i] < top) top = y[i];
            }
            bottom = top - gap;
        }
        bottom -= gap;
    }
}

/* Each stack on a circle; what stands for all tokens is in its middle, spans on circles between.
 * Of several kinds with a node a token, the last is on the innermost of their circles. */
function ring(g, x, y) {
    let left = 0;
    for (let s = 0; s < g.stacks.length; s++) {
        const {kinds, length} = stackOf(g, s), radius = Math.max(2.5, 1.1 * length / (2 * Math.PI));
        const rim = kinds.map(k => g.kinds[k]).filter(k => k.count > 1 && g.level[k.first] <= 0);
        const gap = Math.max(1.6, 0.3 * radius);
        let levels = 1;
        for (let i = 0; i < g.n; i++)
            if (kinds.includes(g.kind[i])) levels = Math.max(levels, g.level[i] + 1);
        for (let i = 0; i < g.n; i++) {
            if (!kinds.includes(g.kind[i])) continue;
            const angle = 2 * Math.PI * middle(g, i, length) / length - Math.PI / 2;
            const circle = rim.indexOf(g.kinds[g.kind[i]]), whole = g.last[i] - g.first[i] + 1;
            const hub = length > 1 && (g.kinds[g.kind[i]].count === 1 || whole >= length);
            let r = radius * (1 - (Math.max(g.level[i], 1) + 0.4) / (levels + 0.6));
            if (circle >= 0) r = radius + gap * (rim.length - 1 - circle);
            if (hub) r = 0;
            x[i] = left + r * Math.cos(angle);
            y[i] = r * Math.sin(angle);
        }
        left += 2.6 * (radius + gap * Math.max(0, rim.length - 1));
    }
}

/* Who reads on the left, what is read on the right; a node may be on both sides, or (NaN) not. */
function columns(g, {x, y, x2, y2}) {
    const sides = [[x, y, g.intoStart], [x2, y2, g.outStart]].map(([xs, ys, start]) => {
        let at = 0;
        for (let i = 0; i < g.n; i++) {
            const here = start[i + 1] > start[i];
            if (here && i > 0 && g.kind[i] !== g.kind[i - 1]) at += at > 0 ? 1.5 : 0;
            xs[i] = here ? 0 : NaN;
            ys[i] = here ? at++ : NaN;
        }
        return at;
    });
    const wide = Math.max(9, Math.max(...sides) * 0.5);
    for (let i = 0; i < g.n; i++) x2[i] += wide;
}

const views = ['matrix', 'arcs', 'tree', 'ring', 'columns', 'grid'];

/* x, y of each node; x2, y2 where it is read: of `columns` another place. */
function placesOf(g, view) {
    const x = new Float64Array(g.n), y = new Float64Array(g.n), two = view === 'columns';
    const places = {x, y, x2: two ? new Float64Array(g.n) : x, y2: two ? new Float64Array(g.n) : y};
    if (view === 'arcs') rows(g, x, y, false);
    if (view === 'tree') rows(g, x, y, true);
    if (view === 'ring') ring(g, x, y);
    if (view === 'columns') columns(g, places);
    if (view === 'matrix')
        for (let i = 0; i < g.n; i++) x[i] = y[i] = i;
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [xs, ys] of [[x, y], [places.x2, places.y2]])
        for (let i = 0; i < g.n; i++) {
            if (isNaN(xs[i])) continue;
            box[0] = Math.min(box[0], xs[i]);
            box[1] = Math.min(box[1], ys[i]);
            box[2] = Math.max(box[2], xs[i]);
            box[3] = Math.max(box[3], ys[i]);
        }
    return {...places, box: box[0] <= box[2] ? box : [0, 0, 1, 1]};
}
