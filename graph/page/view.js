/* view.js - what is chosen, the panel, the text, keys, the address. */

const $ = id => document.getElementById(id);
const g = new Graph(JSON.parse($('data').textContent));
const painter = new Painter($('canvas'));
const OTHERS = '#8b919b', LISTED = 100, TOKENS = 2000;

/* Labels of one word share it: "left 2:1" is a left. */
const words = new Names();
const wordOf = g.labels.at.map(
    name => words.add(visible(name).split(/[0-9<>=:+-]/)[0].trim() || visible(name) || 'no label'));

/* The finest meaning of colours that has a hue for each: of a label, its word, or the phase. */
function fineness() {
    const few = names => names.length > 1 && names.length <= g.hues.length;
    return few(g.labels.at) ? 'label' : few(words.at) ? 'word' : 'phase';
}

/* What the page shows; all of it stands in the address. -1: all, of `head` the mean. */
const start = {
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
    colour: fineness(),
    node: -1,
};
const now = {...start};
let hover = null, complaint = '', scene = null, scheduled = false;

/* ---- colours: what a line's hue means ---- */

const meanings = {
    label: {of: e => g.label[e], names: g.labels.at.map(name => visible(name) || 'no label')},
    word: {of: e => wordOf[g.label[e]], names: words.at},
    phase: {of: e => g.sheets[g.sheet[e]].phase, names: g.phases.at.map(visible)},
    layer: {
        of: e => g.sheets[g.sheet[e]].layer,
        names: Array.from({length: Math.max(...g.layers, 0) + 1}, (_, i) => 'layer ' + i)
    },
    read: {of: e => g.kind[g.from[e]], names: g.kinds.map(k => 'reads ' + k.title)},
    reader: {of: e => g.kind[g.to[e]], names: g.kinds.map(k => k.title + ' reads')},
};

/* The most frequent have a hue each, the rest is grey. */
function colours() {
    const meaning = meanings[now.colour], counts = new Float64Array(meaning.names.length),
          hue = new Uint8Array(counts.length).fill(g.hues.length);
    for (let e = 0; e < g.m; e++) counts[meaning.of(e)]++;
    const order = Array.from(counts.keys())
                      .filter(c => counts[c] > 0)
                      .sort((a, b) => counts[b] - counts[a] || a - b)
                      .slice(0, g.hues.length)
                      .sort((a, b) => a - b);
    order.forEach((c, i) => {
        hue[c] = i;
    });
    const names = order.map(c => meaning.names[c]),
          others = counts.filter((n, c) => n > 0 && hue[c] === g.hues.length).length;
    if (others) names[g.hues.length] = others + ' others';
    return {of: e => hue[meaning.of(e)], names, hues: [...g.hues, OTHERS]};
}

/* ---- from what is chosen to what is drawn ---- */

function rescene(refit) {
    const {of, names, hues} = colours(),
                      places =
                          scene && scene.view === now.view ? scene.places : placesOf(g, now.view);
    g.filter(now);
    scene = {g, view: now.view, places, colour: of, hues, names, tint, passes};
    painter.show(scene);
    $('legend').replaceChildren(...names.map((name, i) => {
        const item = document.createElement('span'), dot = document.createElement('i');
        dot.style.background = hues[i];
        item.append(dot, shorten(name, 40));
        return item;
    }));
    if (refit) {
        painter.resize(); /* the legend may have grown */
        painter.fit();
    }
    write();
}

/* As the filters, but for layer, head and least weight: small multiples show all of them. */
function passes(e) {
    const s = g.sheets[g.sheet[e]];
    return (now.phase < 0 || s.phase === now.phase) &&
        (now.label < 0 || g.label[e] === now.label) &&
        (now.reader < 0 || g.kind[g.to[e]] === now.reader) &&
        (now.read < 0 || g.kind[g.from[e]] === now.read);
}

const focus = () => hover ? hover.row : now.node;

/* ---- text: what each token receives, or what the focus reads of it ---- */

/* Kinds that start as a stack's own sequence, or as the memory that it reads. */
const isOwn = kind => kind.start === 'input' || kind.start === 'copy';
const twins = kind =>
    isOwn(kind) ? g.kinds.filter(k => k.stack === kind.stack && isOwn(k)) : [kind];

/* A word for each token; its nodes are those of all kinds that begin as this sequence. */
const strip = [];
function makeText() {
    let left = 0;
    for (const kind of g.kinds) {
        const all = twins(kind);
        if ((!isOwn(kind) && kind.start !== 'memory') || all[all.length - 1] !== kind) continue;
        for (let i = 0; i < kind.count && g.token[kind.first + i] !== null; i++) {
            if (strip.length >= TOKENS) {
                left++;
                continue;
            }
            const span = element('span', shorten(g.name(kind.first + i), 400));
            span.dataset.node = kind.first + i;
            strip.push({span, nodes: all.map(k => k.first + i)});
            $('text').append(span, ' ');
        }
    }
    if (left) $('text').append(`… and ${left} more`);
}

let amounts = new Float64Array(g.n), greatest = 0;
function weigh() {
    const at = focus();
    amounts = g.received;
    if (at >= 0) {
        amounts = new Float64Array(g.n);
        for (const e of g.edgesAt(at, false)) amounts[g.from[e]] += g.value[e];
    }
    greatest = amounts.reduce((a, b) => Math.max(a, b), 0);
}

function tint(node) {
    if (!(greatest > 0) || !(amounts[node] > 0)) return null;
    const [r, b, c] = mixed(rgb(painter.css.node), rgb(painter.css.mark), amounts[node] / greatest);
    return `rgb(${r},${b},${c})`;
}

function colourText() {
    const sums = strip.map(({nodes}) => nodes.reduce((sum, node) => sum + amounts[node], 0)),
          most = Math.max(...sums, 0);
    strip.forEach(({span, nodes}, i) => {
        const share = most > 0 ? sums[i] / most : 0,
              [r, b, c] = mixed(rgb(painter.css.paper), rgb(painter.css.mark), 0.85 * share);
        span.style.backgroundColor = `rgb(${r},${b},${c})`;
        span.style.color = share > 0.6 ? painter.css.paper : painter.css.ink;
        span.className = nodes.includes(now.node) ? 'kept' : '';
        span.title = sums[i].toPrecision(4);
    });
}

/* ---- the panel ---- */

const cut = value => String(Number(value.toPrecision(4)));
function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
}

function edgeRow(e, end) {
    const row = element('tr'), s = g.sheets[g.sheet[e]],
          word = element('td', shorten(g.name(end), 120), 'word');
    const facts = [visible(g.phases.at[s.phase]), visible(g.labels.at[g.label[e]])];
    if (g.layers.length > 1) facts.push('layer ' + s.layer);
    if (s.heads) facts.push(`head ${g.headFrom[e]} → ${g.headTo[e]}`);
    word.dataset.node = end;
    word.append(' ', element('span', facts.filter(f => f).join(', '), 'faint'));
    row.append(element('td', cut(g.value[e])), word);
    return row;
}

function list(panel, title, edges, end) {
    const sum = edges.reduce((total, e) => total + g.value[e], 0), table = element('table');
    panel.append(element(
        'h3', `${title} ${edges.length}${g.columns ? ', weights sum to ' + cut(sum) : ''}`));
    for (const e of edges.slice(0, LISTED)) table.append(edgeRow(e, end[e]));
    panel.append(table);
    if (edges.length > LISTED)
        panel.append(element('p', `and ${edges.length - LISTED} more`, 'faint'));
}

/* For each layer and head, how much of the weight goes to each kind; the most to it is marked. */
function fillShares(panel) {
    const shares = scene.shares ??= g.shares(passes), table = element('table', undefined, 'shares');
    const read = g.kinds.map((kind, k) => k).filter(k => shares.some(s => s.of[k] > 0));
    const head = element('tr');
    head.append(
        element('td', 'layer, head'),
        ...read.map(k => element('td', shorten(g.kinds[k].title, 16))));
    table.append(head);
    for (const share of shares) {
        const row = element('tr');
        row.dataset.layer = share.layer;
        row.dataset.head = share.head;
        row.append(element('td', `${share.layer}, ${share.head}`), ...read.map(k => {
            const most = shares.every(s => s.of[k] <= share.of[k]);
            return element('td', share.of[k].toFixed(3), most ? 'most' : '');
        }));
        table.append(row);
    }
    panel.append(element('h3', 'share of the weight by what is read'), table);
}

function fillPanel() {
    const panel = $('panel'), node = focus();
    panel.replaceChildren();
    if (node < 0) {
        panel.append(element(
            'p',
            'Move over a node to see what it reads and who reads it; click to keep it. ' +
                '"?" lists the keys.',
            'faint'));
        for (const kind of g.kinds) panel.append(element('p', `${kind.title} ${kind.count}`));
        if (g.columns) fillShares(panel);
        return;
    }
    const place = g.level[node] >= 0 ?
        `, level ${g.level[node]}, tokens ${g.first[node]} to ${g.last[node]}` :
        '';
    panel.append(
        element('h2', shorten(g.name(node), 2000)),
        element('p', `${g.kinds[g.kind[node]].title} ${g.index[node]}${place}`, 'faint'));
    if (hover && hover.column >= 0) {
        const cell = g.edgesAt(node, false).filter(e => g.from[e] === hover.column);
        panel.append(element(
            'p',
            cell.length ? `reads ${shorten(g.name(hover.column), 60)}: ${
                              cell.map(e => cut(g.value[e])).join(' + ')}` :
                          `does not read ${shorten(g.name(hover.column), 60)}`));
    }
    list(panel, 'reads', g.edgesAt(node, false), g.from);
    list(panel, 'is read by', g.edgesAt(node, true), g.to);
}

/* ---- frames ---- */

function draw() {
    if (!scheduled) scheduled = true, requestAnimationFrame(frame);
}

function frame() {
    scheduled = false;
    const done = painter.paint(focus());
    const said = document.documentElement.dataset;
    said.painted = done ? 'all' : 'part';
    said.first ??= Math.round(performance.now()); /* milliseconds to the first picture */
    if (!done) draw();
}

function refresh() {
    weigh();
    colourText();
    fillPanel();
    $('count').textContent = complaint || `${g.count} of ${g.m} edges, ${g.n} nodes`;
    draw();
}

/* ---- the address ---- */

/* Texts for numbers: what a reader of the address understands, and what another file has too. */
const names = {
    phase: g.phases.at,
    label: g.labels.at,
    reader: g.kinds.map(k => k.title),
    read: g.kinds.map(k => k.title),
};

let writing = 0;
function write() {
    clearTimeout(writing);
    writing = setTimeout(() => {
        const said = new URLSearchParams();
        for (const key of Object.keys(now))
            if (now[key] !== start[key])
                said.set(key, names[key] ? now[key] < 0 ? '' : names[key][now[key]] : now[key]);
        if (document.documentElement.dataset.theme !== preferred())
            said.set('theme', document.documentElement.dataset.theme);
        const {k, x, y} = painter.cam;
        if (painter.moved)
            said.set(
                'box',
                [(painter.wide / 2 - x) / k, (painter.high / 2 - y) / k, k / painter.fitted().k]
                    .map(v => Number(v.toPrecision(6)))
                    .join(' '));
        history.replaceState(null, '', '#' + said);
    }, 150);
}

function readAddress() {
    const said = new URLSearchParams(location.hash.slice(1)), bad = [];
    const numbers = {layer: g.layers, head: Array.from({length: heads()}, (_, h) => h)};
    Object.assign(now, start);
    for (const [key, text] of said) {
        if (key === 'theme') {
            if (text === 'dark' || text === 'light')
                document.documentElement.dataset.theme = text;
            else
                bad.push(key);
        } else if (key === 'box')
            continue;
        else if (key === 'view' && views.includes(text))
            now.view = text;
        else if (key === 'colour' && meanings[text])
            now.colour = text;
        else if (key === 'least' && isFinite(text) && text >= 0)
            now.least = Number(text);
        else if (key === 'node' && /^\d+$/.test(text) && Number(text) < g.n)
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
    rescene(true);
    const box = (said.get('box') || '').split(' ').map(Number);
    if (box.length === 3 && box.every(isFinite) && box[2] > 0) {
        const k = painter.cam.k * box[2];
        painter.cam = {k, x: painter.wide / 2 - box[0] * k, y: painter.high / 2 - box[1] * k};
        painter.moved = 1;
    }
    showChoices();
    refresh();
}

/* ---- choices ---- */

const heads = () => g.columns || (g.headTo ? g.heads : 0);
const preferred = () => matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';

function options(id, all, texts, values) {
    const select = $(id);
    for (const [i, text] of [all, ...texts].entries()) {
        if (text === null) continue;
        const option = element('option', shorten(visible(text), 60));
        option.value = i === 0 ? -1 : values ? values[i - 1] : i - 1;
        select.append(option);
    }
    select.disabled =
        select.options.length < 2 + (all === null ? -1 : 0) || (all !== null && texts.length < 2);
    select.addEventListener(
        'change', () => choose({[id]: isNaN(select.value) ? select.value : Number(select.value)}));
}

function makeChoices() {
    views.forEach((view, i) => {
        const button = element('button', view);
        button.type = 'button';
        button.title = String(i + 1);
        button.dataset.view = view;
        button.setAttribute('role', 'radio');
        button.addEventListener('click', () => choose({view}));
        $('views').append(button);
    });
    options('layer', 'all', g.layers.map(String), g.layers);
    options('head', g.columns ? 'mean' : 'all', Array.from({length: heads()}, (_, h) => String(h)));
    options('phase', 'all', g.phases.at);
    options('label', 'all', g.labels.at.map(name => name || 'no label'));
    options('reader', 'all', g.kinds.map(k => k.title));
    options('read', 'all', g.kinds.map(k => k.title));
    options('colour', null, Object.keys(meanings), Object.keys(meanings));
    $('least').disabled = !g.columns;
    $('least').addEventListener(
        'input', () => choose({least: Math.max(0, Number($('least').value) || 0)}));
    $('node').addEventListener('change', () => find($('node').value));
    $('filters').addEventListener('submit', event => event.preventDefault());
}

function showChoices() {
    for (const id of ['layer', 'head', 'phase', 'label', 'reader', 'read', 'colour'])
        $(id).value = now[id];
    if (Number($('least').value) !== now.least) $('least').value = now.least;
    for (const button of $('views').children)
        button.setAttribute('aria-checked', button.dataset.view === now.view);
}

function choose(some) {
    const refit = some.view && some.view !== now.view;
    complaint = '';
    Object.assign(now, some);
    rescene(refit);
    showChoices();
    refresh();
}

function keep(node) {
    now.node = node === now.node ? -1 : node;
    hover = null;
    write();
    refresh();
}

function find(text) {
    if (text === '') return;
    const node = /^\d+$/.test(text) && Number(text) < g.n ?
        Number(text) :
        Array.from({length: g.n}, (_, i) => i).find(i => g.name(i) === text);
    complaint = node === undefined ? `no node is called ${shorten(visible(text), 60)}` : '';
    if (node !== undefined) now.node = node;
    write();
    refresh();
}

function dye(theme) {
    document.documentElement.dataset.theme = theme;
    painter.themed();
    write();
    refresh();
}

/* ---- export ---- */

function save(name, type, text) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function csv() {
    const quote = text => '"' + String(text).replace(/"/g, '""') + '"',
          lines = ['from,to,from_name,to_name,phase,layer,label,head_from,head_to,weight'];
    for (let e = 0; e < g.m; e++) {
        if (!g.shown[e]) continue;
        const s = g.sheets[g.sheet[e]];
        lines.push([
            g.from[e], g.to[e], quote(g.name(g.from[e])), quote(g.name(g.to[e])),
            quote(g.phases.at[s.phase]), s.layer, quote(g.labels.at[g.label[e]]),
            s.heads ? g.headFrom[e] : -1, s.heads ? g.headTo[e] : -1, g.value[e]
        ].join(','));
    }
    return lines.join('\n') + '\n';
}

function exportSvg() {
    try {
        save('gsa.svg', 'image/svg+xml', painter.svg(focus()));
    } catch (error) {
        complaint = error.message;
        refresh();
    }
}

/* ---- pointer and keys ---- */

function onPointer() {
    const canvas = $('canvas');
    let held = null, far = 0;
    const at = event => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener('pointerdown', event => {
        held = at(event);
        far = 0;
        canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
        const [x, y] = at(event);
        if (held) {
            far += Math.abs(x - held[0]) + Math.abs(y - held[1]);
            if (far > 4 && now.view !== 'grid')
                painter.pan(x - held[0], y - held[1]), held = [x, y], draw();
            return;
        }
        const found = painter.under(x, y), next = found && found.row !== undefined ? found : null;
        canvas.style.cursor = found ? 'pointer' : 'crosshair';
        if ((next && next.row) === (hover && hover.row) &&
            (next && next.column) === (hover && hover.column))
            return;
        hover = next;
        refresh();
    });
    canvas.addEventListener('pointerup', event => {
        const found = held && far <= 4 ? painter.under(...at(event)) : null, dragged = far > 4;
        held = null;
        if (dragged) {
            write();
            draw();
            return;
        }
        if (found && found.row !== undefined)
            keep(found.row);
        else if (found)
            choose({layer: found.layer, head: found.head, view: 'matrix'});
        else if (now.node >= 0)
            keep(now.node);
    });
    canvas.addEventListener('pointerleave', () => {
        if (hover) hover = null, refresh();
    });
    canvas.addEventListener('wheel', event => {
        event.preventDefault();
        if (now.view === 'grid') return;
        painter.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event));
        write();
        draw();
    }, {passive: false});
    for (const id of ['text', 'panel']) {
        $(id).addEventListener('click', event => {
            const node = event.target.closest('[data-node]');
            const row = event.target.closest('[data-head]');
            if (row) choose({layer: Number(row.dataset.layer), head: Number(row.dataset.head)});
            if (node) keep(Number(node.dataset.node));
        });
    }
    $('text').addEventListener('pointerover', event => {
        const node = event.target.dataset.node;
        hover = node === undefined ? null : {row: Number(node), column: -1};
        refresh();
    });
    $('text').addEventListener('pointerleave', () => {
        hover = null;
        refresh();
    });
}

function next(values, value, by) {
    const i = values.indexOf(value) + by;
    return values[Math.max(0, Math.min(values.length - 1, i))];
}

const keys = {
    '[': () => choose({layer: next([-1, ...g.layers], now.layer, -1)}),
    ']': () => choose({layer: next([-1, ...g.layers], now.layer, 1)}),
    ',': () => choose({head: Math.max(-1, now.head - 1)}),
    '.': () => choose({head: Math.min(heads() - 1, now.head + 1)}),
    p: () => choose({phase: now.phase + 1 < g.phases.at.length ? now.phase + 1 : -1}),
    '+': () => zoomBy(1.3),
    '=': () => zoomBy(1.3),
    '-': () => zoomBy(1 / 1.3),
    0: () => {
        painter.fit();
        write();
        draw();
    },
    ArrowLeft: () => move(60, 0),
    ArrowRight: () => move(-60, 0),
    ArrowUp: () => move(0, 60),
    ArrowDown: () => move(0, -60),
    n: () => {
        if (g.n) now.node = (now.node + 1) % g.n, hover = null, write(), refresh();
    },
    b: () => {
        if (g.n)
            now.node = (Math.max(now.node, 0) + g.n - 1) % g.n, hover = null, write(), refresh();
    },
    Escape: () => {
        now.node = -1;
        hover = null;
        write();
        refresh();
    },
    t: () => dye(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'),
    s: exportSvg,
    c: () => save('gsa.csv', 'text/csv', csv()),
    '?': () => {
        $('helped').hidden = !$('helped').hidden;
        $('help').setAttribute('aria-expanded', !$('helped').hidden);
    },
};
views.forEach((view, i) => {
    keys[i + 1] = () => choose({view});
});
function zoomBy(factor) {
    painter.zoom(factor, painter.wide / 2, painter.high / 2);
    write();
    draw();
}
function move(dx, dy) {
    painter.pan(dx, dy);
    write();
    draw();
}

function onKeys() {
    document.addEventListener('keydown', event => {
        if (event.ctrlKey || event.metaKey || event.altKey ||
            /^(INPUT|SELECT)$/.test(event.target.tagName))
            return;
        if (!Object.hasOwn(keys, event.key)) return;
        event.preventDefault();
        keys[event.key]();
    });
    for (const [id, key] of [['fit', 0], ['svg', 's'], ['csv', 'c'], ['theme', 't'], ['help', '?']])
        $(id).addEventListener('click', keys[key]);
}

/* ---- begin ---- */

document.documentElement.dataset.theme = preferred();
document.title = 'gsa: ' + shorten(visible(g.spec), 80);
$('spec').textContent = visible(g.spec);
makeChoices();
makeText();
painter.themed();
painter.resize();
readAddress();
onPointer();
onKeys();
painter.themed();
addEventListener('hashchange', () => {
    readAddress();
    painter.themed();
    refresh();
});
/* A picture that was moved keeps its middle. */
new ResizeObserver(() => {
    const {wide, high} = painter;
    painter.resize();
    if (painter.moved)
        painter.pan((painter.wide - wide) / 2, (painter.high - high) / 2);
    else
        painter.fit();
    draw();
}).observe($('stage'));
