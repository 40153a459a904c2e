/* places.js - where nodes stand: x and y of each, in units of one token; y grows downwards. The
 * data has those of arcs, tree and ring (graph/write_places.c). */

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

/* How far a node is from the next of its row: the room for its name. */
function roomOf(n, x, y) {
    const room = new Float64Array(n).fill(Infinity),
          order = Array.from({length: n}, (_, i) => i).sort((a, b) => y[a] - y[b] || x[a] - x[b]);
    for (let i = 1; i < n; i++) {
        const a = order[i - 1], b = order[i];
        if (y[a] !== y[b]) continue;
        room[b] = x[b] - x[a];
        room[a] = Math.min(room[a], room[b]);
    }
    return room;
}

/* On a ring, of the first stack, how far the node of the same index is that stands outside: a name
 * points there. */
function roomOutside(g, x, y) {
    const room = new Float64Array(g.n).fill(Infinity);
    for (let i = 0; i < g.n && g.kinds[g.kind[i]].stack === 0; i++)
        for (const kind of g.kinds) {
            const other = kind.first + g.index[i];
            if (kind.stack > 0 || kind.count < 2 || g.index[i] >= kind.count ||
                Math.hypot(x[other], y[other]) <= Math.hypot(x[i], y[i]))
                continue;
            room[i] = Math.min(room[i], Math.hypot(x[other] - x[i], y[other] - y[i]));
        }
    return room;
}

/* x, y of each node; x2, y2 where it is read: of `columns` another place. */
function placesOf(g, view) {
    const x = new Float64Array(g.n), y = new Float64Array(g.n), two = view === 'columns';
    const places = {x, y, x2: two ? new Float64Array(g.n) : x, y2: two ? new Float64Array(g.n) : y};
    const own = g.places[view], whole = own && [own.x, own.y].map(c => Int32Array.from(column(c)));
    for (let i = 0; own && i < g.n; i++)
        x[i] = whole[0][i] / own.unit, y[i] = whole[1][i] / own.unit;
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
    return {
        ...places,
        room: view === 'ring' ? roomOutside(g, x, y) : roomOf(g.n, x, y),
        box: box[0] <= box[2] ? box : [0, 0, 1, 1]
    };
}
