/* data.js - the picture of the data block, as columns over all of its edges. */

const BLOCK = 128, ESCAPE = 16, WORDS = 12;

/* Floats, or integers by Rice's code in blocks: docs/file-formats.md. */
function column(coded) {
    const text = atob(coded.base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    if (coded.type === 'f32') return new Float32Array(bytes.buffer);
    const steps = coded.type === 'steps' ? coded.steps : 0,
          out = steps ? new Float32Array(coded.count) : new Uint32Array(coded.count);
    let at = 0, last = 0, step = 0;
    const bit = () => bytes[at >> 3] >> (7 - (at++ & 7)) & 1;
    const take = bits => {
        let value = 0;
        while (bits-- > 0) value = (value << 1 | bit()) >>> 0;
        return value;
    };
    for (let i = 0; i < coded.count;) {
        const k = take(5), end = Math.min(coded.count, i + BLOCK);
        for (; i < end; i++) {
            let high = 0;
            while (high < ESCAPE && bit()) high++;
            const value = high < ESCAPE ? (high << k | take(k)) >>> 0 : take(32);
            if (steps)
                out[i] = value / steps;
            else {
                step = step + (value >>> 1 ^ -(value & 1)) | 0;
                out[i] = last = last + step >>> 0;
            }
        }
    }
    return out;
}

/* Numbers of texts, as they come. */
class Names {
    constructor() {
        this.at = [];
        this.number = new Map();
    }
    add(text) {
        let n = this.number.get(text);
        if (n === undefined) this.number.set(text, n = this.at.push(text) - 1);
        return n;
    }
}

/* Kinds that start as a stack's own sequence. */
const isOwn = kind => kind.start === 'input' || kind.start === 'copy';

class Graph {
    constructor(data) {
        this.spec = data.spec;
        this.title = data.title;
        this.numbers = data.numbers;
        this.heads = data.heads;
        this.columns = data.columns;
        this.places = data.places;
        this.stacks = data.stacks;
        this.n = data.nodes;
        this.m = data.edges;
        this.length = data.length;
        this.nodesOf(data);
        this.edgesOf(data);
        [this.intoStart, this.into] = this.grouped(this.to);
        [this.outStart, this.outOf] = this.grouped(this.from);
        this.value = new Float64Array(this.m);
        this.shown = new Uint8Array(this.m);
        this.received = new Float64Array(this.n);
        this.choices = this.columns || (this.headTo ? this.heads : 0); /* of heads */
        this.meanings = this.meaningsOf();
    }

    /* What a line's hue may mean: a number for each edge, and the names of these numbers. */
    meaningsOf() {
        const names = this.labels.at.map(name => visible(name) || 'no label'), words = new Names();
        /* Labels of one word share it: "left 2:1" is a left. */
        const wordOf = names.map(name => words.add(name.split(/[0-9<>=:+-]/)[0].trim() || name));
        return {
            label: {of: e => this.label[e], names},
            word: {of: e => wordOf[this.label[e]], names: words.at},
            phase: {of: e => this.sheets[this.sheet[e]].phase, names: this.phases.at.map(visible)},
            layer: {
                of: e => this.sheets[this.sheet[e]].layer,
                names: Array.from({length: Math.max(...this.layers, 0) + 1}, (_, i) => 'layer ' + i)
            },
            read:
                {of: e => this.kind[this.from[e]], names: this.kinds.map(k => 'reads ' + k.title)},
            reader:
                {of: e => this.kind[this.to[e]], names: this.kinds.map(k => k.title + ' reads')},
        };
    }

    /* The node of another graph that has this kind and index; -1: none has. */
    twin(other, node) {
        if (node < 0 || other === this) return node;
        const title = other.kinds[other.kind[node]].title, index = other.index[node],
              kind = this.kinds.find(k => k.title === title);
        return kind && index < kind.count ? kind.first + index : -1;
    }

    nodesOf(data) {
        const n = this.n;
        this.kind = new Uint16Array(n);
        this.index = new Uint32Array(n);
        const level = column(data.level), first = column(data.first), last = column(data.last);
        this.level = Int32Array.from(level, x => x - 1);
        this.first = Int32Array.from(first, x => x - 1);
        this.last = Int32Array.from(last, x => x - 1);
        let at = 0;
        this.kinds = data.kinds.map((k, number) => {
            const kind = {
                ...k,
                first: at,
                title: data.stacks[k.stack] ? data.stacks[k.stack] + '.' + k.name : k.name
            };
            for (let i = 0; i < k.count; i++, at++) this.kind[at] = number, this.index[at] = i;
            return kind;
        });
        this.token = data.tokens.map(token => token === null ? null : visible(token));
    }

    edgesOf(data) {
        const m = this.m, places = new Map();
        this.from = new Uint32Array(m);
        this.to = new Uint32Array(m);
        this.sheet = new Uint32Array(m);
        this.label = new Uint32Array(m);
        this.headFrom = this.headTo = null;
        if (data.sheets.some(s => s.heads))
            this.headFrom = new Int16Array(m).fill(-1), this.headTo = new Int16Array(m).fill(-1);
        this.labels = new Names();
        this.phases = new Names();
        let base = 0;
        this.sheets = data.sheets.map((s, number) => {
            const sheet = {
                layer: s.layer,
                phase: this.phases.add(s.phase),
                heads: s.heads || 0,
                base,
                count: s.edges
            };
            const same = s.same === undefined ? null : places.get(s.same);
            if (same)
                for (const key of ['from', 'to', 'label', 'headFrom', 'headTo'])
                    this[key]?.copyWithin(base, same.base, same.base + same.count);
            else
                this.structure(s, base);
            this.sheet.fill(number, base, base + s.edges);
            sheet.weights = s.weights ? column(s.weights) : null;
            places.set(s.place, sheet);
            base += s.edges;
            return sheet;
        });
        this.layers = [...new Set(this.sheets.map(s => s.layer))].sort((a, b) => a - b);
    }

    structure(s, base) {
        const degree = column(s.degree), heads = s.heads || 1;
        this.from.set(column(s.from), base);
        if (s.head_from) this.headFrom.set(column(s.head_from), base);
        let at = base, row = 0;
        for (const k of s.readers)
            for (let i = 0; i < this.kinds[k].count; i++)
                for (let h = 0; h < heads; h++) {
                    const end = at + degree[row++];
                    this.to.fill(this.kinds[k].first + i, at, end);
                    if (s.heads) this.headTo.fill(h, at, end);
                    at = end;
                }
        const own = s.label ? column(s.label) : null, number = new Map();
        for (let e = 0; e < s.edges; e++) {
            const rel = own ? own[e] : 0;
            let name = number.get(rel);
            if (name === undefined)
                number.set(
                    rel, name = this.labels.add(s.names[rel] || (own ? 'label ' + rel : '')));
            this.label[base + e] = name;
        }
    }

    /* Edges by one of their ends: [offsets of the nodes, edges]. */
    grouped(end) {
        const start = new Uint32Array(this.n + 1), edges = new Uint32Array(this.m);
        for (let e = 0; e < this.m; e++) start[end[e] + 1]++;
        for (let i = 0; i < this.n; i++) start[i + 1] += start[i];
        const at = start.slice(0, this.n);
        for (let e = 0; e < this.m; e++) edges[at[end[e]]++] = e;
        return [start, edges];
    }

    /* The weight in one head, or with -1 the mean over heads; an edge of a per-head phase is in
     * one. */
    weight(e, head) {
        const s = this.sheets[this.sheet[e]], i = e - s.base;
        if (s.heads) return head >= 0 && head !== this.headTo[e] ? 0 : s.weights ? s.weights[i] : 1;
        if (!s.weights) return 1;
        if (head >= 0) return s.weights[i * this.columns + head];
        let sum = 0;
        for (let h = 0; h < this.columns; h++) sum += s.weights[i * this.columns + h];
        return sum / this.columns;
    }

    /* Which edges are shown, their weights, and what each node receives; -1 takes all. */
    filter({layer, head, phase, label, reader, read, least}) {
        const sheet = this.sheets.map(
            s => (layer < 0 || s.layer === layer) && (phase < 0 || s.phase === phase));
        this.received.fill(0);
        this.count = this.heaviest = 0;
        const any = (asked, value) => asked < 0 || asked === value; /* NaN equals nothing */
        for (let e = 0; e < this.m; e++) {
            this.shown[e] = 0;
            if (!sheet[this.sheet[e]] || !any(label, this.label[e])) continue;
            if (!any(reader, this.kind[this.to[e]]) || !any(read, this.kind[this.from[e]]))
                continue;
            if (head >= 0 && this.headTo && this.headTo[e] >= 0 && this.headTo[e] !== head)
                continue;
            const w = this.weight(e, head);
            this.value[e] = w;
            if (w < least) continue;
            this.shown[e] = 1;
            this.count++;
            this.received[this.from[e]] += w;
            if (w > this.heaviest) this.heaviest = w;
        }
    }

    /* { layer, head, of: [parts] }: which part of the weight of the edges that pass is of each of
     * `parts`; `part` tells an edge's. */
    shares(passes, parts, part) {
        const rows = this.layers.flatMap(
            layer => Array.from(
                {length: this.columns},
                (_, head) => ({layer, head, all: 0, of: new Float64Array(parts)})));
        const first = new Map(this.layers.map((layer, l) => [layer, l * this.columns]));
        for (let e = 0; e < this.m; e++) {
            if (!passes(e)) continue;
            const at = first.get(this.sheets[this.sheet[e]].layer);
            for (let h = 0; h < this.columns; h++) {
                const w = this.weight(e, h);
                rows[at + h].all += w;
                rows[at + h].of[part(e)] += w;
            }
        }
        for (const row of rows)
            for (let k = 0; k < row.of.length; k++) row.of[k] /= row.all || 1;
        return rows;
    }

    /* The shown edges into a node, or out of it, the heaviest first. */
    edgesAt(node, outwards) {
        const start = outwards ? this.outStart : this.intoStart,
              all = outwards ? this.outOf : this.into, edges = [];
        for (let i = start[node]; i < start[node + 1]; i++)
            if (this.shown[all[i]]) edges.push(all[i]);
        return edges.sort((a, b) => this.value[b] - this.value[a] || a - b);
    }

    id(node) {
        return this.token[node] ?? this.kinds[this.kind[node]].name + ' ' + this.index[node];
    }

    /* What a person calls it: of a span, the words that it stands for. */
    name(node) { return this.covered(node) ?? this.id(node); }

    covered(node) {
        const first = this.first[node], last = this.last[node], kind = this.kinds[this.kind[node]];
        if (this.token[node] !== null || this.level[node] < 0 || kind.count === 1) return null;
        const base = this.kinds.findLast(k => k.stack === kind.stack && isOwn(k));
        if (!base || first < 0 || last >= base.count) return null;
        const some =
            this.token.slice(base.first + first, base.first + Math.min(last, first + WORDS) + 1);
        if (some.includes(null)) return null;
        return some.join(some.some(t => [...t].length > 1) ? ' ' : '') +
            (last > first + WORDS ? '…' : '');
    }
}

/* The finest meaning of colours that has a hue for each name of the graphs that are shown: of a
 * label, its word, or the phase. */
function fineness(shown, hues) {
    return ['label', 'word'].find(m => {
        const count = new Set(shown.flatMap(g => g.meanings[m].names)).size;
        return count > 1 && count <= hues;
    }) ??
        'phase';
}

/* A text that can be seen: control characters have pictures of their own in Unicode. */
function visible(text) {
    return text
        .replace(
            /[\u0000-\u001f\u007f]/g,
            c => c === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + c.charCodeAt(0)))
        .replace(/[\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

function shorten(text, most) {
    if (text.length <= most) return text;
    return [...text.slice(0, 2 * most)].slice(0, most - 1).join('') + '…';
}
