/* view.js - what is chosen, the panes that show it, frames, the address. */

const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent);
const HUES = data.hues.light.length;
const theme = () => document.documentElement.dataset.theme;

/* The pictures of the page, each made when it is first shown. */
const graphs = data.pictures.map(() => null);
const graphOf = number => graphs[number] ??= new Graph(data.pictures[number]);
const titles =
    data.pictures.map((p, i) => shorten(visible(p.title || p.spec), 60) || 'picture ' + i);

/* One picture, or two side by side, which share what is chosen. */
class Pane {
    constructor(canvas) {
        this.canvas = canvas;
        this.painter = new Painter(canvas);
        this.g = this.scene = null;
        this.strip = [];
    }

    /* The filters in numbers of this graph; NaN, which nothing equals, where it lacks the name. */
    filters() {
        const other = panes[0].g, own = {...now};
        if (this.g === other) return own;
        const same = (key, from, to) => {
            if (now[key] < 0) return;
            const at = to.indexOf(from[now[key]]);
            own[key] = at < 0 ? NaN : at;
        };
        same('phase', other.phases.at, this.g.phases.at);
        same('label', other.labels.at, this.g.labels.at);
        for (const key of ['reader', 'read'])
            same(key, other.kinds.map(k => k.title), this.g.kinds.map(k => k.title));
        if (now.head >= this.g.choices) own.layer = NaN;
        return own;
    }

    /* As the filters, but for layer, head and least weight: small multiples show all of them. */
    passes(f) {
        const g = this.g, any = (asked, value) => asked < 0 || asked === value;
        return e => any(f.phase, g.sheets[g.sheet[e]].phase) && any(f.label, g.label[e]) &&
            any(f.reader, g.kind[g.to[e]]) && any(f.read, g.kind[g.from[e]]);
    }

    /* The node that is pointed at, else the one that is kept; -1: none. */
    focus() {
        if (hover) return this.g.twin(hover.pane.g, hover.row);
        return this.g.twin(panes[0].g, now.node);
    }

    rescene(hueOf, hues) {
        const f = this.filters(),
              places = this.scene && this.scene.view === now.view && this.scene.g === this.g ?
            this.scene.places :
            placesOf(this.g, now.view);
        const meaning = this.g.meanings[now.colour],
              hue = meaning.names.map(name => hueOf.get(name) ?? HUES);
        this.g.filter(f);
        this.scene = {
            g: this.g,
            view: now.view,
            places,
            colour: e => hue[meaning.of(e)],
            hues,
            tint: node => this.tint(node),
            passes: this.passes(f)
        };
        this.painter.show(this.scene);
    }

    /* What each node receives or, with a node in focus, what that node reads of it. */
    weigh() {
        const g = this.g, at = this.focus();
        this.amounts = g.received;
        if (at >= 0) {
            this.amounts = new Float64Array(g.n);
            for (const e of g.edgesAt(at, false)) this.amounts[g.from[e]] += g.value[e];
        }
        this.greatest = this.amounts.reduce((a, b) => Math.max(a, b), 0);
    }

    tint(node) {
        const css = this.painter.css;
        if (!(this.greatest > 0) || !(this.amounts[node] > 0)) return null;
        return coloured(mixed(rgb(css.node), rgb(css.mark), this.amounts[node] / this.greatest));
    }
}

const coloured = ([r, g, b]) => `rgb(${r},${g},${b})`;
const both = [new Pane($('canvas')), new Pane($('canvas2'))];
let panes = [both[0]];

/* What the page shows at first; all of it stands in the address. -1: all, of `head` the mean. */
function startOf(g, beside) {
    return {
        view: g.n > 500 || g.m > 4000                                           ? 'matrix' :
            Array.from(g.level).some((l, i) => l > 1 && g.last[i] > g.first[i]) ? 'tree' :
            g.columns                                                           ? 'columns' :
            g.kinds.some(k => k.count === 1)                                    ? 'ring' :
                                                                                  'arcs',
        layer: g.columns && g.layers.length > 1 ? g.layers[0] : -1,
        head: -1,
        phase: -1,
        label: -1,
        reader: -1,
        read: -1,
        least: 0,
        colour: fineness([g, beside], HUES),
        node: -1,
        picture: 0,
        beside: data.beside,
    };
}
let start = null, now = null, hover = null, complaint = '', scheduled = false;

/* ---- colours: the most frequent names have a hue each, the rest is grey ---- */

function colours() {
    const counts = new Map();
    for (const {g} of panes) {
        const {of, names} = g.meanings[now.colour], own = new Float64Array(names.length);
        for (let e = 0; e < g.m; e++) own[of(e)]++;
        names.forEach((name, i) => {
            if (own[i] > 0) counts.set(name, (counts.get(name) ?? 0) + own[i]);
        });
    }
    const all = [...counts.keys()], place = new Map(all.map((name, i) => [name, i]));
    const shown = [...all]
                      .sort((a, b) => counts.get(b) - counts.get(a) || place.get(a) - place.get(b))
                      .slice(0, HUES)
                      .sort((a, b) => place.get(a) - place.get(b));
    const names = [...shown];
    if (all.length > shown.length) names[HUES] = all.length - shown.length + ' others';
    return {hueOf: new Map(shown.map((name, i) => [name, i])), names};
}

/* ---- from what is chosen to what is drawn ---- */

function rescene(refit) {
    const {hueOf, names} = colours(), hues = [...data.hues[theme()], data.hues.others];
    for (const pane of panes) pane.rescene(hueOf, hues);
    $('legend').replaceChildren(...names.map((name, i) => {
        const item = document.createElement('span'), dot = document.createElement('i');
        dot.style.background = hues[i];
        item.append(dot, shorten(name, 40));
        return item;
    }));
    if (refit)
        for (const {painter} of panes) {
            painter.resize(); /* the legend may have grown */
            painter.fit();
        }
    write();
}

/* Which pictures are shown: one, or a second one beside it. */
function openPanes() {
    const numbers = now.beside < 0 ? [now.picture] : [now.picture, now.beside];
    panes = numbers.map((number, i) => {
        both[i].g = graphOf(number);
        return both[i];
    });
    both[1].canvas.parentNode.hidden = panes.length < 2;
    for (const {painter} of panes) {
        painter.themed();
        painter.resize();
    }
}

/* ---- frames ---- */

function draw() {
    if (!scheduled) scheduled = true, requestAnimationFrame(frame);
}

function frame() {
    scheduled = false;
    let done = true;
    for (const pane of panes) done = pane.painter.paint(pane.focus()) && done;
    const said = document.documentElement.dataset;
    said.painted = done ? 'all' : 'part';
    said.work = panes.reduce((sum, {painter}) => sum + painter.work, 0);
    said.first ??= Math.round(performance.now()); /* milliseconds to the first picture */
    if (!done) draw();
}

function refresh() {
    for (const pane of panes) pane.weigh();
    colourText();
    fillPanel();
    $('count').textContent =
        complaint || panes.map(({g}) => `${g.count} of ${g.m} edges, ${g.n} nodes`).join(' | ');
    draw();
}

function dye(paper) {
    document.documentElement.dataset.theme = paper;
    for (const {painter} of panes) painter.themed();
    rescene(false);
    refresh();
}
const preferred = () => matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';

/* ---- the address ---- */

/* Texts for numbers: what a reader of the address understands, and what another file has too. */
const namesOf = g => ({
    phase: g.phases.at,
    label: g.labels.at,
    reader: g.kinds.map(k => k.title),
    read: g.kinds.map(k => k.title),
});

function address() {
    const said = new URLSearchParams(), names = namesOf(panes[0].g);
    for (const key of Object.keys(now))
        if (now[key] !== start[key])
            said.set(key, names[key] ? now[key] < 0 ? '' : names[key][now[key]] : now[key]);
    if (theme() !== preferred()) said.set('theme', theme());
    const {painter} = panes[0], {k, x, y} = painter.cam;
    if (painter.moved)
        said.set(
            'box',
            [(painter.wide / 2 - x) / k, (painter.high / 2 - y) / k, k / painter.fitted().k]
                .map(v => Number(v.toPrecision(6)))
                .join(' '));
    return said;
}

let writing = 0;
function write() {
    clearTimeout(writing);
    writing = setTimeout(() => history.replaceState(null, '', '#' + address()), 150);
}

/* Takes what an address says; what is not here is complained of. */
function take(said) {
    const bad = [], whole = (text, most) => /^\d+$/.test(text) && Number(text) < most;
    const picture = whole(said.get('picture'), graphs.length) ? Number(said.get('picture')) : 0,
          g = graphOf(picture), names = namesOf(g),
          numbers = {layer: g.layers, head: Array.from({length: g.choices}, (_, h) => h)};
    const beside = Number(said.get('beside') ?? data.beside);
    start = startOf(g, graphs[beside] === undefined ? g : graphOf(beside));
    now = {...start, picture};
    for (const [key, text] of said) {
        if (key === 'theme' && (text === 'dark' || text === 'light'))
            document.documentElement.dataset.theme = text;
        else if (key === 'box' || (key === 'picture' && whole(text, graphs.length)))
            continue;
        else if (key === 'beside' && (text === '-1' || whole(text, graphs.length)))
            now.beside = Number(text);
        else if (key === 'view' && views.includes(text))
            now.view = text;
        else if (key === 'colour' && g.meanings[text])
            now.colour = text;
        else if (key === 'least' && isFinite(text) && text >= 0)
            now.least = Number(text);
        else if (key === 'node' && whole(text, g.n))
            now.node = Number(text);
        else if (numbers[key] && (text === '-1' || numbers[key].includes(Number(text))))
            now[key] = Number(text);
        else if (names[key] && (text === '' || names[key].includes(text)))
            now[key] = text === '' ? -1 : names[key].indexOf(text);
        else
            bad.push(key);
    }
    complaint = bad.length ?
        `the address asks for what is not here: ${
            bad.map(key => shorten(`${key}=${said.get(key)}`, 60)).join(', ')}` :
        '';
    hover = null;
    openPanes();
    makeText();
    offer(g);
    rescene(true);
    placeBox((said.get('box') || '').split(' ').map(Number));
    showChoices();
    refresh();
}

function placeBox(box) {
    if (box.length !== 3 || !box.every(isFinite) || !(box[2] > 0)) return;
    for (const {painter} of panes) {
        const k = painter.cam.k * box[2];
        painter.cam = {k, x: painter.wide / 2 - box[0] * k, y: painter.high / 2 - box[1] * k};
        painter.moved = 1;
    }
}

/* Another picture, or another beside it, seen as the last one: filters go by their names. */
function turn(some) {
    const said = address();
    for (const [key, value] of Object.entries(some)) said.set(key, value);
    take(said);
}
