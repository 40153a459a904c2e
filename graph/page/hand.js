/* hand.js - lists, exports, pointer and keys; the page begins here. */

/* ---- choices ---- */

/* The entries of a list; a list of one entry is off. `all`: what -1 is called, or null. */
function options(id, all, texts, values) {
    const select = $(id);
    select.replaceChildren();
    for (const [i, text] of [all, ...texts].entries()) {
        if (text === null) continue;
        const option = element('option', shorten(visible(text), 60));
        option.value = i === 0 ? -1 : values ? values[i - 1] : i - 1;
        select.append(option);
    }
    select.disabled =
        select.options.length < 2 + (all === null ? -1 : 0) || (all !== null && texts.length < 2);
}

/* What this graph has. */
function offer(g) {
    options('layer', 'all', g.layers.map(String), g.layers);
    options(
        'head', g.columns ? 'mean' : 'all', Array.from({length: g.choices}, (_, h) => String(h)));
    options('phase', 'all', g.phases.at);
    options('label', 'all', g.labels.at.map(name => name || 'no label'));
    options('reader', 'all', g.kinds.map(k => k.title));
    options('read', 'all', g.kinds.map(k => k.title));
    options('colour', null, Object.keys(g.meanings), Object.keys(g.meanings));
    $('least').disabled = !g.columns;
    document.title = 'gsa: ' + shorten(visible(g.spec), 80);
    $('spec').textContent = visible(g.title ? g.title + ', ' + g.spec : g.spec);
}

function makeChoices() {
    views.forEach((view, i) => {
        const button = element('button', view);
        button.type = 'button';
        button.title = `${READING[view]} (${i + 1})`;
        button.dataset.view = view;
        button.setAttribute('role', 'radio');
        button.addEventListener('click', () => choose({view}));
        $('views').append(button);
    });
    options('picture', null, titles);
    options('beside', 'nothing', titles);
    for (const id of ['pictures', 'sides']) $(id).hidden = titles.length < 2;
    for (const id of ['layer', 'head', 'phase', 'label', 'reader', 'read', 'colour'])
        $(id).addEventListener('change', () => {
            const value = $(id).value;
            choose({[id]: isNaN(value) ? value : Number(value)});
        });
    for (const id of ['picture', 'beside'])
        $(id).addEventListener('change', () => turn({[id]: Number($(id).value)}));
    $('least').addEventListener(
        'input', () => choose({least: Math.max(0, Number($('least').value) || 0)}));
    $('node').addEventListener('change', () => find($('node').value));
    $('filters').addEventListener('submit', event => event.preventDefault());
}

function showChoices() {
    for (const id
             of ['picture', 'beside', 'layer', 'head', 'phase', 'label', 'reader', 'read',
                 'colour'])
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

/* Keeps a node of a pane; one that the first picture lacks is only pointed at. */
function keep(pane, row) {
    const node = panes[0].g.twin(pane.g, row);
    complaint = node < 0 ? 'the first picture has no such node' : '';
    now.node = node === now.node ? -1 : node;
    hover = null;
    write();
    refresh();
}

function find(text) {
    const {g} = panes[0];
    if (text === '') return;
    const node = /^\d+$/.test(text) && Number(text) < g.n ?
        Number(text) :
        Array.from({length: g.n}, (_, i) => i).find(i => g.name(i) === text || g.id(i) === text);
    complaint = node === undefined ? `no node is called ${shorten(visible(text), 60)}` : '';
    if (node !== undefined) now.node = node;
    write();
    refresh();
}

/* ---- export ---- */

function save(name, type, parts) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(parts, {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/* For each edge that is shown: call(pane, number of the pane's picture, edge). */
function eachShown(call) {
    for (const [i, {g}] of panes.entries())
        for (let e = 0; e < g.m; e++)
            if (g.shown[e]) call(g, i ? now.beside : now.picture, e);
}

function csv() {
    const quote = text => '"' + String(text).replace(/"/g, '""') + '"',
          lines = ['picture,from,to,from_name,to_name,phase,layer,label,head_from,head_to,weight'];
    eachShown((g, picture, e) => {
        const s = g.sheets[g.sheet[e]];
        lines.push([
            picture, g.from[e], g.to[e], quote(g.id(g.from[e])), quote(g.id(g.to[e])),
            quote(g.phases.at[s.phase]), s.layer, quote(g.labels.at[g.label[e]]),
            s.heads ? g.headFrom[e] : -1, s.heads ? g.headTo[e] : -1, g.value[e]
        ].join(','));
    });
    return lines.join('\n') + '\n';
}

/* As the CSV, with names by number; names of two pictures' phases and labels are one list. */
function arrays() {
    const count = panes.reduce((sum, {g}) => sum + g.count, 0), phases = new Names(),
          labels = new Names(), weight = new Float64Array(count), ints = {};
    for (const key of ['picture', 'from', 'to', 'phase', 'layer', 'label', 'head_from', 'head_to'])
        ints[key] = new Int32Array(count);
    let at = 0;
    eachShown((g, picture, e) => {
        const s = g.sheets[g.sheet[e]];
        const row = [
            picture, g.from[e], g.to[e], phases.add(g.phases.at[s.phase]), s.layer,
            labels.add(g.labels.at[g.label[e]]), s.heads ? g.headFrom[e] : -1,
            s.heads ? g.headTo[e] : -1
        ];
        Object.values(ints).forEach((values, i) => values[at] = row[i]);
        weight[at++] = g.value[e];
    });
    const out = {};
    for (const [key, values] of Object.entries(ints)) out[key] = {type: '<i4', values, count};
    out.weight = {type: '<f8', values: weight, count};
    out.phase_names = wideTexts(phases.at);
    out.label_names = wideTexts(labels.at);
    for (const [i, {g}] of panes.entries())
        out[i ? 'beside_names' : 'node_names'] =
            wideTexts(Array.from({length: g.n}, (_, node) => shorten(g.id(node), 400)));
    return out;
}

/* The panes one beside the other, as they are on the page. */
function exportSvg() {
    const left = panes[0].canvas.getBoundingClientRect(), at = pane => {
        const box = pane.canvas.getBoundingClientRect();
        return [box.left - left.left, box.top - left.top];
    };
    try {
        const drawn = panes.map(
            pane => `<svg x="${at(pane)[0]}" y="${at(pane)[1]}" width="${pane.painter.wide}"` +
                ` height="${pane.painter.high}">\n${pane.painter.svg(pane.focus())}\n</svg>`);
        const last = panes[panes.length - 1], wide = at(last)[0] + last.painter.wide,
              high = at(last)[1] + last.painter.high, {css} = panes[0].painter;
        save('gsa.svg', 'image/svg+xml', [
            `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${high}"` +
            ` width="${wide}" height="${high}" font-family="sans-serif" font-size="12"` +
            ` fill="${css.ink}">\n<title>${escaped(visible(panes[0].g.spec))}</title>\n` +
            `<rect width="100%" height="100%" fill="${css.paper}"/>\n${drawn.join('\n')}\n</svg>\n`
        ]);
    } catch (error) {
        complaint = error.message;
        refresh();
    }
}

/* ---- pointer ---- */

function onPointer(pane) {
    const canvas = pane.canvas;
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
            if (far > 4 && now.view !== 'grid') {
                for (const {painter} of panes) painter.pan(x - held[0], y - held[1]);
                held = [x, y];
                draw();
            }
            return;
        }
        const found = pane.painter.under(x, y),
              next = found && found.row !== undefined ? {...found, pane} : null;
        canvas.style.cursor = found ? 'pointer' : 'crosshair';
        if (next?.row === hover?.row && next?.column === hover?.column &&
            next?.pane === hover?.pane)
            return;
        hover = next;
        refresh();
    });
    canvas.addEventListener('pointerup', event => {
        const found = held && far <= 4 ? pane.painter.under(...at(event)) : null, dragged = far > 4;
        held = null;
        if (dragged) {
            write();
            draw();
        } else if (found && found.row !== undefined)
            keep(pane, found.row);
        else if (found)
            choose({layer: found.layer, head: found.head, view: 'matrix'});
        else if (now.node >= 0)
            keep(panes[0], now.node);
    });
    canvas.addEventListener('pointerleave', () => {
        if (hover) hover = null, refresh();
    });
    canvas.addEventListener('wheel', event => {
        event.preventDefault();
        if (now.view === 'grid') return;
        const factor = Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016));
        for (const {painter} of panes) painter.zoom(factor, ...at(event));
        write();
        draw();
    }, {passive: false});
}

/* Words above the picture and rows beside it stand for nodes and heads. */
function onLists() {
    const paneOf = target => panes[target.closest('[data-pane]')?.dataset.pane ?? 0] ?? panes[0];
    for (const id of ['text', 'panel'])
        $(id).addEventListener('click', event => {
            const node = event.target.closest('[data-node]'),
                  row = event.target.closest('[data-head]');
            if (row) choose({layer: Number(row.dataset.layer), head: Number(row.dataset.head)});
            if (node) keep(paneOf(node), Number(node.dataset.node));
        });
    $('text').addEventListener('pointerover', event => {
        const node = event.target.dataset.node;
        hover =
            node === undefined ? null : {row: Number(node), column: -1, pane: paneOf(event.target)};
        refresh();
    });
    $('text').addEventListener('pointerleave', () => {
        hover = null;
        refresh();
    });
}

/* ---- keys ---- */

function next(values, value, by) {
    const i = values.indexOf(value) + by;
    return values[Math.max(0, Math.min(values.length - 1, i))];
}
const pointAt = node => {
    now.node = node;
    hover = null;
    write();
    refresh();
};

const keys = {
    '[': () => choose({layer: next([-1, ...panes[0].g.layers], now.layer, -1)}),
    ']': () => choose({layer: next([-1, ...panes[0].g.layers], now.layer, 1)}),
    ',': () => choose({head: Math.max(-1, now.head - 1)}),
    '.': () => choose({head: Math.min(panes[0].g.choices - 1, now.head + 1)}),
    p: () => choose({phase: now.phase + 1 < panes[0].g.phases.at.length ? now.phase + 1 : -1}),
    o: () => turn({picture: (now.picture + 1) % graphs.length}),
    v: () => turn({beside: now.beside + 1 < graphs.length ? now.beside + 1 : -1}),
    '+': () => zoomBy(1.3),
    '=': () => zoomBy(1.3),
    '-': () => zoomBy(1 / 1.3),
    0: () => {
        for (const {painter} of panes) painter.fit();
        write();
        draw();
    },
    ArrowLeft: () => move(60, 0),
    ArrowRight: () => move(-60, 0),
    ArrowUp: () => move(0, 60),
    ArrowDown: () => move(0, -60),
    n: () => {
        const {n} = panes[0].g;
        if (n) pointAt((now.node + 1) % n);
    },
    b: () => {
        const {n} = panes[0].g;
        if (n) pointAt((Math.max(now.node, 0) + n - 1) % n);
    },
    Escape: () => pointAt(-1),
    t: () => dye(theme() === 'dark' ? 'light' : 'dark'),
    s: exportSvg,
    c: () => save('gsa.csv', 'text/csv', [csv()]),
    z: () => save('gsa.npz', 'application/zip', npz(arrays())),
    '?': () => {
        $('helped').hidden = !$('helped').hidden;
        $('help').setAttribute('aria-expanded', !$('helped').hidden);
    },
};
views.forEach((view, i) => {
    keys[i + 1] = () => choose({view});
});
function zoomBy(factor) {
    for (const {painter} of panes) painter.zoom(factor, painter.wide / 2, painter.high / 2);
    write();
    draw();
}
function move(dx, dy) {
    for (const {painter} of panes) painter.pan(dx, dy);
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
    const buttons = {fit: 0, svg: 's', csv: 'c', npz: 'z', theme: 't', help: '?'};
    for (const [id, key] of Object.entries(buttons)) $(id).addEventListener('click', keys[key]);
}

/* ---- begin ---- */

const fragment = () => new URLSearchParams(location.hash.slice(1));
document.documentElement.dataset.theme = preferred();
makeChoices();
take(fragment());
both.forEach(onPointer);
onLists();
onKeys();
addEventListener('hashchange', () => take(fragment()));
/* A picture that was moved keeps its middle. */
new ResizeObserver(() => {
    for (const {painter} of panes) {
        const {wide, high} = painter;
        painter.resize();
        if (painter.moved)
            painter.pan((painter.wide - wide) / 2, (painter.high - high) / 2);
        else
            painter.fit();
    }
    draw();
}).observe($('stages'));
