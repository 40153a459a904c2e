/* report.js - the tables and charts of gsa report. */

const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent), runs = data.runs;
const dark = matchMedia('(prefers-color-scheme: dark)');
const hues = () => data.hues[dark.matches ? 'dark' : 'light'];
const hue = run => hues()[run % hues().length];
/* Whole numbers whole, others with a few digits. */
const digits = (value, most) => Number.isInteger(value) || Math.abs(value) >= 1e5 ?
    String(Math.round(value)) :
    Math.abs(value) < 1e-3 ? value.toExponential(2) :
                             String(Number(value.toPrecision(most)));
const brief = value => typeof value === 'number' ? digits(value, 5) : value ?? '';

function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
}

function row(cells, name = 'td', className) {
    const made = element('tr', undefined, className);
    for (const cell of cells)
        made.append(element(name, brief(cell), typeof cell === 'number' ? 'number' : ''));
    return made;
}

/* ---- results, comparisons, settings ---- */

function showResults() {
    for (const [r, run] of runs.entries()) {
        const dot = element('i', undefined, 'dot');
        dot.style.background = hue(r);
        $('runs').append(dot, run.name + (run.result ? '' : ' (not finished)'));
    }
    const table = element('table'), keys = new Set(runs.flatMap(r => Object.keys(r.result ?? {})));
    table.append(row(['', ...runs.map(r => r.name)], 'th'));
    for (const key of keys) table.append(row([key, ...runs.map(r => r.result?.[key])]));
    $('results').append(table);
    if (data.compared.length === 0) return;
    const differ = element('table');
    differ.id = 'compared';
    differ.append(row(
        [
            'against ' + runs[0].name, 'split', 'metric', 'value', 'first', 'difference',
            '95 % interval', 'p', 'units'
        ],
        'th'));
    for (const c of data.compared)
        differ.append(row([
            runs[c.run].name, c.split,
            ...(c.said ? ['not compared: ' + c.said] :
                         [
                             c.metric, c.value, c.first, c.difference,
                             `${brief(c.low)} to ${brief(c.high)}`, c.p, c.units
                         ])
        ]));
    $('results').append(
        element('h3', 'Differences, by the paired bootstrap over the same examples'), differ);
}

function showSettings() {
    const keys = new Set(runs.flatMap(r => Object.keys(r.settings))), table = element('table');
    table.append(row(['', ...runs.map(r => r.name)], 'th'));
    const differs = key => runs.some(r => r.settings[key] !== runs[0].settings[key]);
    const ordered = [...keys].filter(differs).concat([...keys].filter(key => !differs(key)));
    for (const key of ordered)
        table.append(row(
            [key, ...runs.map(r => r.settings[key])], 'td', differs(key) ? 'differs' : 'equal'));
    const whole = () => table.classList.toggle('whole', $('all').checked);
    $('all').checked = runs.length === 1;
    $('all').addEventListener('change', whole);
    whole();
    $('settings').append(table);
}

/* ---- curves ---- */

const WIDE = 560, HIGH = 220, LEFT = 62, FOOT = 22, TOP = 20;
let range = null; /* of steps; null: all */

function svg(name, attributes, text) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
}

/* [step, value] of a key in each run's log. */
function series(key) {
    return runs.map(
        run => run.log.filter(l => l.step !== undefined && Number.isFinite(l[key]))
                   .map(l => [l.step, l[key]]));
}

/* Exponential mean, without the bias of its first value. */
function smoothed(points, share) {
    let mean = 0, weight = 0;
    return points.map(([x, y]) => {
        mean = share * mean + (1 - share) * y;
        weight = share * weight + (1 - share);
        return [x, mean / weight];
    });
}

function chart(key) {
    const all = series(key), share = Number($('smooth').value), steps = all.flat().map(p => p[0]);
    const [from, to] = range ?? [Math.min(...steps), Math.max(...steps)];
    const lines =
        all.map(points => smoothed(points, share).filter(p => p[0] >= from && p[0] <= to));
    const values = lines.flat().map(p => p[1]), positive = values.every(v => v > 0);
    const log = $('log').checked && positive, scale = v => log ? Math.log(v) : v;
    const low = scale(Math.min(...values)), high = scale(Math.max(...values));
    const x = s => LEFT + (WIDE - LEFT - 10) * (to > from ? (s - from) / (to - from) : 0.5);
    const y = v =>
        HIGH - FOOT - (HIGH - FOOT - TOP) * (high > low ? (scale(v) - low) / (high - low) : 0.5);
    const made = svg('svg', {width: WIDE, height: HIGH, 'data-key': key});
    made.append(svg('text', {x: LEFT, y: 13}, key + (log ? ', logarithmic' : '')));
    if (values.length === 0) return made;
    for (const v of [Math.min(...values), Math.max(...values)])
        made.append(svg('text', {x: LEFT - 6, y: y(v) + 4, 'text-anchor': 'end'}, digits(v, 4)));
    made.append(
        svg('text', {x: LEFT, y: HIGH - 6}, `step ${from}`),
        svg('text', {x: WIDE - 10, y: HIGH - 6, 'text-anchor': 'end'}, to));
    lines.forEach((points, run) => {
        if (points.length === 0) return;
        const at = points.map(p => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(' ');
        made.append(svg(
            'polyline',
            {points: at, fill: 'none', stroke: hue(run), 'stroke-width': 1.6, 'data-run': run}));
        if (points.length < 40)
            for (const p of points)
                made.append(svg('circle', {cx: x(p[0]), cy: y(p[1]), r: 2.2, fill: hue(run)}));
    });
    pointer(made, key, lines, px => from + (px - LEFT) / (WIDE - LEFT - 10) * (to - from));
    return made;
}

/* The nearest values under the pointer; a drag zooms every chart to its steps. */
function pointer(made, key, lines, stepAt) {
    let begin = null;
    const step = event => stepAt(event.clientX - made.getBoundingClientRect().left);
    made.addEventListener('pointermove', event => {
        const at = step(event);
        const near = lines.map((points, run) => {
            if (points.length === 0) return null;
            const p = points.reduce((a, b) => Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a);
            return `${runs[run].name} step ${p[0]} ${key} ${brief(p[1])}`;
        });
        $('at').textContent = near.filter(n => n).join('; ');
    });
    made.addEventListener('pointerdown', event => {
        begin = step(event);
    });
    made.addEventListener('pointerup', event => {
        const ends = [begin, step(event)].sort((a, b) => a - b).map(Math.round);
        if (begin !== null && ends[1] - ends[0] >= 2) range = ends, showCurves();
        begin = null;
    });
    made.addEventListener('dblclick', () => {
        range = null;
        showCurves();
    });
}

function showCurves() {
    const skipped = new Set(['step', 'epoch', 'seconds', 'kind', 'seed']);
    const keys = new Set(
        runs.flatMap(run => run.log.filter(l => l.kind !== 'result').flatMap(l => Object.keys(l))));
    const shown = [...keys].filter(key => !skipped.has(key) && series(key).flat().length > 0);
    $('charts').replaceChildren(...shown.map(chart));
    if (shown.length === 0) $('charts').textContent = 'The logs hold no values.';
}

/* ---- confusion ---- */

function matrix(labels, rows, title) {
    const box = element('div'), table = element('table');
    box.append(element('h3', title), table);
    table.append(row(['right \\ found', ...labels], 'th'));
    rows.forEach((counts, i) => {
        const made = row([labels[i], ...counts]), sum = counts.reduce((a, b) => a + b, 0);
        counts.forEach((count, j) => {
            const share = sum > 0 ? count / sum : 0;
            made.cells[j + 1].style.backgroundColor = `rgba(0, 114, 178, ${0.6 * share})`;
            made.cells[j + 1].title = `${brief(100 * share)} % of ${labels[i]}`;
        });
        table.append(made);
    });
    return box;
}

function showConfusion() {
    const all = element('div');
    all.id = 'matrices';
    for (const run of runs) {
        const splits = Object.entries(run.report?.splits ?? {}).filter(([, s]) => s.confusion);
        for (const [name, split] of splits)
            all.append(matrix(split.labels, split.confusion, `${run.name}, ${name}`));
        if (!run.report)
            all.append(element(
                'p',
                `${run.name} holds no report.json: gsa eval --model ` +
                    `${quoted(run.name)} --json ${quoted(run.name + '/report.json')}`));
        else if (splits.length === 0)
            all.append(element('p', `${run.name}: its task has no confusion matrix`));
    }
    $('confusion').append(all);
}

/* Of each run and split that has a report. */
function eachSplit(call) {
    for (const run of runs)
        for (const [name, split] of Object.entries(run.report?.splits ?? {}))
            call(split, `${run.name}, ${name}`, run);
}

function showRates() {
    eachSplit((split, title) => {
        const rates = split.classification_report;
        if (!rates) return;
        const table = element('table');
        table.append(row(['', 'precision', 'recall', 'F1', 'support'], 'th'));
        for (const [label, r] of Object.entries(rates))
            if (typeof r === 'object')
                table.append(row([label, r.precision, r.recall, r['f1-score'], r.support]));
        $('rates').append(element('h3', title), table);
    });
}

/* Accuracy against confidence: on the diagonal a model is right as often as it believes. */
function reliability(bins) {
    const side = 180, at = v => 24 + v * (side - 30),
          made = svg('svg', {width: side, height: side});
    const flip = v => side - at(v);
    made.append(svg('path', {
        d: `M${at(0)} ${flip(0)}L${at(1)} ${flip(1)}`,
        stroke: 'currentColor',
        'stroke-dasharray': '3 3'
    }));
    const most = Math.max(1, ...bins.map(b => b.count));
    for (const b of bins)
        if (b.count > 0)
            made.append(svg('circle', {
                cx: at(b.confidence),
                cy: flip(b.accuracy),
                r: 2 + 5 * Math.sqrt(b.count / most),
                fill: hue(0)
            }));
    made.append(
        svg('text', {x: at(0), y: side - 6}, 'confidence'), svg('text', {x: 4, y: 12}, 'right'));
    return made;
}

function showCalibration() {
    eachSplit((split, title) => {
        const c = split.calibration;
        if (!c) return;
        const box = element('div'), table = element('table');
        table.append(row(['confidence', 'examples', 'mean', 'right'], 'th'));
        for (const b of c.bins)
            if (b.count > 0)
                table.append(
                    row([`${brief(b.from)} to ${brief(b.to)}`, b.count, b.confidence, b.accuracy]));
        box.append(
            element('h3', title),
            element('p', `ECE ${brief(c.ece)}, Brier ${brief(c.brier)}, NLL ${brief(c.nll)}`),
            reliability(c.bins), table);
        $('calibration').lastElementChild.append(box);
    });
}

/* ---- drawings ---- */

const drawings = []; /* {painter, g, own}: own: shown as its picture is, not as the lists say */

function drawing(place, own) {
    const canvas = element('canvas'), painter = new Painter(canvas),
          g = new Graph(data.pictures[place]);
    const made = {painter, g, own, focus: -1};
    drawings.push(made);
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', g.spec);
    canvas.addEventListener('pointermove', event => {
        const box = canvas.getBoundingClientRect(),
              found = painter.under(event.clientX - box.left, event.clientY - box.top);
        made.focus = found?.row ?? -1;
        frame(made);
    });
    canvas.addEventListener('pointerleave', () => {
        made.focus = -1;
        frame(made);
    });
    return canvas;
}

/* What a node of a whole graph reads, the most first: its picture would be too large to see it. */
const readings = []; /* {table, g, node} */

function reading(place, node) {
    const table = element('table'), known = readings.find(r => r.place === place);
    readings.push({table, place, node, g: known?.g ?? new Graph(data.pictures[place])});
    return table;
}

function showReading({table, g, node}) {
    g.filter(chosen(g));
    const rows = g.edgesAt(node, false).slice(0, 8).map(e => row([
                                                            g.value[e], visible(g.name(g.from[e])),
                                                            'layer ' + g.sheets[g.sheet[e]].layer
                                                        ]));
    table.replaceChildren(row(['weight', `read by ${visible(g.name(node))}`, ''], 'th'), ...rows);
}

/* The filter that the lists of layer and head ask for. */
function chosen(g) {
    const layer = Number($('layer').value);
    return {
        layer: g.layers.includes(layer) ? layer : -1,
        head: Math.min(Number($('head').value), g.choices - 1),
        phase: -1,
        label: -1,
        reader: -1,
        read: -1,
        least: 0
    };
}

function frame(made) {
    if (!made.painter.paint(made.focus)) requestAnimationFrame(() => frame(made));
}

function showDrawing(made) {
    const {painter, g, own} = made, tree = Array.from(g.level).some(l => l > 1);
    const meaning = g.meanings[fineness([g], hues().length)];
    const view = own ? (tree                                 ? 'tree' :
                            g.kinds.some(k => k.count === 1) ? 'ring' :
                                                               'arcs') :
                       $('view').value;
    g.filter(own ? {...chosen(g), layer: -1, head: -1} : chosen(g));
    painter.themed();
    painter.scene = {
        g,
        view,
        places: placesOf(g, view),
        colour: e => meaning.of(e) % hues().length,
        hues: hues(),
        tint: () => null,
        passes: () => true,
        nameless: own
    };
    painter.resize();
    painter.fit();
    frame(made);
}

function showDrawings() {
    drawings.forEach(showDrawing);
    readings.forEach(showReading);
}

function figure(parts, drawn, own) {
    const made = element('figure'), caption = element('figcaption');
    for (const part of parts) caption.append(element('p', part));
    if (drawn.said) caption.append(element('p', 'not drawn: ' + drawn.said));
    made.append(caption);
    if (drawn.picture !== undefined)
        made.append(
            drawn.node === undefined ? drawing(drawn.picture, own) :
                                       reading(drawn.picture, drawn.node));
    return made;
}

function showPatterns() {
    const box = $('patterns').lastElementChild, names = new Map();
    for (const run of runs)
        for (const p of run.patterns ?? []) {
            const key = `${p.stack} ${p.spec}`;
            if (names.has(key))
                names.get(key).append(', ' + run.name);
            else {
                const made = figure([`${key}, 12 tokens: ${run.name}`], p, true);
                names.set(key, made.querySelector('p'));
                box.append(made);
            }
        }
    $('patterns').hidden = !box.firstChild;
}

/* What a report says of an error, in its order: numbers cut, lists joined. */
function factsOf(error) {
    const value = v => Array.isArray(v) ? v.map(value).join(' ') : brief(v);
    return Object.entries(error)
        .filter(([key]) => key !== 'picture' && key !== 'said')
        .map(([key, v]) => `${key === 'gold' ? 'right' : key} ${value(v)}`);
}

function showErrors() {
    const box = $('errors').lastElementChild;
    eachSplit((split, title) => {
        for (const e of split.worst ?? split.worst_lines ?? [])
            box.append(
                figure([`${title}, ${shorten(visible(factsOf(e).join(', ')), 1000)}`], e, false));
    });
    const shown = [...drawings.filter(d => !d.own), ...readings].map(d => d.g),
          list = (id, entries) => {
              for (const [value, text] of entries) {
                  const option = element('option', text);
                  option.value = value;
                  $(id).append(option);
              }
              $(id).addEventListener('change', showDrawings);
          };
    const count = of => Array.from({length: Math.max(0, ...shown.map(of))}, (_, i) => [i, i]);
    list('view', ['columns', ...views.filter(v => v !== 'columns')].map(v => [v, v]));
    list('layer', [...count(g => 1 + Math.max(...g.layers, 0)), [-1, 'all']]);
    list('head', [[-1, 'mean'], ...count(g => g.choices)]);
    $('asked').hidden = !box.firstChild;
    if (!box.firstChild) box.append(element('p', 'No run has a report.json with errors.'));
}

/* ---- environment, commands ---- */

function showEnvironment() {
    const table = element('table'), facts = runs.map(run => {
        const own = run.log.filter(l => l.kind === 'environment').at(-1) ?? {};
        const signed = (run.result?.signature ?? '').split('|').map(f => f.split(/:(.*)/s));
        return {
            seed: run.settings['train.seed'],
            ...Object.fromEntries(signed.filter(([key]) => key)),
            ...own,
            parameters: run.result?.parameters,
            seconds: run.result?.seconds
        };
    });
    table.append(row(['', ...runs.map(r => r.name)], 'th'));
    for (const key of new Set(facts.flatMap(f => Object.keys(f))))
        if (key !== 'kind') table.append(row([key, ...facts.map(f => f[key])]));
    $('environment').append(table);
}

/* For a POSIX shell. */
function quoted(text) {
    return /^[\w./:=+-]+$/.test(text) ? text : `'${text.replace(/'/g, '\'\\\'\'')}'`;
}

function showCommands() {
    $('commands').textContent =
        runs.map(run => {
                const folder = quoted(run.name), again = quoted(run.name + '-again');
                return `# ${run.result?.signature ?? 'not finished'}\n` +
                    `gsa train ${quoted(run.name + '/config.ini')} --out ${again}\n` +
                    `gsa eval --model ${folder} --json ${quoted(run.name + '/report.json')}\n`;
            })
            .join('\n');
}

showResults();
showCurves();
showPatterns();
showRates();
showConfusion();
showCalibration();
showErrors();
showSettings();
showEnvironment();
showCommands();
showDrawings();
for (const id of ['smooth', 'log']) $(id).addEventListener('input', showCurves);
dark.addEventListener('change', () => {
    showCurves();
    showDrawings();
});
document.documentElement.dataset.painted = 'all';
