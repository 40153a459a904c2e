/* panel.js - the text above the picture and the lists beside it. */

const LISTED = 100, TOKENS = 2000;

/* What a view shows; the names in brackets are BertViz's. */
const LINES = 'A line ends at the node that reads.';
const READING = {
    matrix: 'A row reads a column.',
    arcs: LINES,
    tree: LINES,
    ring: LINES,
    columns: 'The left reads the right (head view).',
    grid: 'A matrix for each layer and head (model view); a click opens it.'
};

function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
}
const cut = value => String(Number(value.toPrecision(4)));

/* ---- text: what each token receives, or what the focus reads of it ---- */

/* A word for each token; its nodes are those of all kinds that begin as this sequence. */
function makeStrip(pane, box) {
    const g = pane.g,
          twins = kind =>
              isOwn(kind) ? g.kinds.filter(k => k.stack === kind.stack && isOwn(k)) : [kind];
    let left = 0;
    pane.strip = [];
    for (const kind of g.kinds) {
        const all = twins(kind);
        if ((!isOwn(kind) && kind.start !== 'memory') || all[all.length - 1] !== kind) continue;
        if (g.stacks.length > 1 && kind.count > 0 && g.token[kind.first] !== null)
            box.append(element('em', g.stacks[kind.stack], 'faint'), ' ');
        for (let i = 0; i < kind.count && g.token[kind.first + i] !== null; i++) {
            if (pane.strip.length >= TOKENS) {
                left++;
                continue;
            }
            const span = element('span', shorten(g.name(kind.first + i), 400));
            span.dataset.node = kind.first + i;
            pane.strip.push({span, nodes: all.map(k => k.first + i)});
            box.append(span, ' ');
        }
    }
    if (left) box.append(`… and ${left} more`);
}

function makeText() {
    $('text').replaceChildren();
    for (const [i, pane] of panes.entries()) {
        const box = element('div');
        box.dataset.pane = i;
        makeStrip(pane, box);
        if (box.firstChild) $('text').append(box);
    }
}

function colourText() {
    for (const {strip, amounts, painter: {css}, g} of panes) {
        const kept = g.twin(panes[0].g, now.node);
        const sums = strip.map(({nodes}) => nodes.reduce((sum, node) => sum + amounts[node], 0)),
              most = Math.max(...sums, 0);
        strip.forEach(({span, nodes}, i) => {
            const share = most > 0 ? sums[i] / most : 0;
            span.style.backgroundColor =
                coloured(mixed(rgb(css.paper), rgb(css.mark), 0.85 * share));
            span.style.color = share > 0.6 ? css.paper : css.ink;
            span.className = nodes.includes(kept) ? 'kept' : '';
            span.title = sums[i].toPrecision(4);
        });
    }
}

/* ---- what a node reads, and who reads it ---- */

function edgeRow(g, e, end) {
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

function list(g, box, title, edges, end) {
    const sum = edges.reduce((total, e) => total + g.value[e], 0), table = element('table');
    box.append(element(
        'h3', `${title} ${edges.length}${g.columns ? ', weights sum to ' + cut(sum) : ''}`));
    for (const e of edges.slice(0, LISTED)) table.append(edgeRow(g, e, end[e]));
    box.append(table);
    if (edges.length > LISTED)
        box.append(element('p', `and ${edges.length - LISTED} more`, 'faint'));
}

function describe({g}, node, box) {
    const place = g.level[node] >= 0 ?
        `, level ${g.level[node]}, tokens ${g.first[node]} to ${g.last[node]}` :
        '';
    box.append(
        element('h2', shorten(g.name(node), 2000)),
        element('p', `${g.kinds[g.kind[node]].title} ${g.index[node]}${place}`, 'faint'));
    const column = hover && hover.column >= 0 ? g.twin(hover.pane.g, hover.column) : -1;
    if (column >= 0) {
        const cell = g.edgesAt(node, false).filter(e => g.from[e] === column),
              name = shorten(g.name(column), 60);
        box.append(element(
            'p',
            cell.length ? `reads ${name}: ${cell.map(e => cut(g.value[e])).join(' + ')}` :
                          `does not read ${name}`));
    }
    list(g, box, 'reads', g.edgesAt(node, false), g.from);
    list(g, box, 'is read by', g.edgesAt(node, true), g.to);
}

/* ---- what each head does ---- */

function headRow(layer, head, cells) {
    const row = element('tr');
    row.dataset.layer = layer;
    row.dataset.head = head;
    row.append(...cells);
    return row;
}

/* For each layer and head, which part of the weight each of the names has; the most is marked. */
function fillShares({g, scene}, box, title, names, part) {
    const shares = (scene.shares ??= {})[title] ??= g.shares(scene.passes, names.length, part),
          table = element('table', undefined, 'shares');
    const used = names.map((_, k) => k).filter(k => shares.some(s => s.of[k] > 0));
    if (used.length < 2) return;
    const head = element('tr');
    head.append(
        element('td', 'layer, head'), ...used.map(k => element('td', shorten(names[k], 16))));
    table.append(head);
    for (const share of shares)
        table.append(headRow(share.layer, share.head, [
            element('td', `${share.layer}, ${share.head}`), ...used.map(k => {
                const most = shares.every(s => s.of[k] <= share.of[k]);
                return element('td', share.of[k].toFixed(3), most ? 'most' : '');
            })
        ]));
    box.append(
        element('h3', title), table,
        element(
            'p', 'The greatest of each column is marked; a click on a row shows that head.',
            'faint'));
}

function brokenAtDots(text) {
    const cell = element('td');
    for (const part of text.split(/(?<=\.)/)) cell.append(part, element('wbr'));
    return cell;
}

/* Entropy, distance and the part that a node gives itself, of each phase and head. */
function fillNumbers({g}, box) {
    const table = element('table', undefined, 'numbers'), title = element('tr');
    title.append(
        ...['layer, head', 'phase', 'bits', 'distance', 'self'].map(t => element('td', t)));
    table.append(title);
    for (const n of g.numbers) {
        const asked = now.phase < 0 || g.phases.at[now.phase] === n.phase;
        if (!asked || (now.layer >= 0 && n.layer !== now.layer)) continue;
        const row = headRow(n.layer, n.head, [
            element('td', `${n.layer}, ${n.head}`),
            brokenAtDots(shorten(visible(n.stack ? n.stack + '.' + n.phase : n.phase), 40)),
            element('td', n.entropy.toFixed(2)),
            element('td', n.distance === undefined ? '' : n.distance.toFixed(1)),
            element('td', n.self.toFixed(3), n.only_self ? 'most' : '')
        ]);
        table.append(row);
    }
    box.append(
        element(
            'h3', 'each phase and head: bits of entropy, tokens to what is read, share of itself'),
        table);
    if (g.numbers.some(n => n.only_self))
        box.append(element('p', 'Marked heads read nothing but themselves.', 'faint'));
}

function fillPane(pane, box) {
    const {g} = pane, node = pane.focus();
    if (node >= 0) {
        describe(pane, node, box);
        return;
    }
    if (hover || now.node >= 0) {
        box.append(element('p', 'has no such node', 'faint'));
        return;
    }
    box.append(element('p', g.kinds.map(kind => `${kind.count} ${kind.title}`).join(', ')));
    if (!g.columns) return;
    fillShares(
        pane, box, 'what each head reads: shares of its weight by kind', g.kinds.map(k => k.title),
        e => g.kind[g.from[e]]);
    fillNumbers(pane, box);
    const meaning = fineness([g], HUES), {names, of} = g.meanings[meaning];
    if (meaning !== 'phase') fillShares(pane, box, `shares of its weight by ${meaning}`, names, of);
}

function fillPanel() {
    const panel = $('panel');
    panel.replaceChildren();
    if (!hover && now.node < 0)
        panel.append(element(
            'p',
            READING[now.view] + (panes[0].g.columns ? ' Strong colours are large weights.' : '') +
                ' Move over a node to see what it reads and who reads it; click to keep it. ' +
                '"?" lists the keys.',
            'faint'));
    for (const [i, pane] of panes.entries()) {
        const box = element('section');
        box.dataset.pane = i;
        if (panes.length > 1)
            box.append(element('h2', titles[i ? now.beside : now.picture], 'side'));
        fillPane(pane, box);
        panel.append(box);
    }
}
