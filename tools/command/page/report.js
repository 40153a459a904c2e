/* report.js - the tables and charts of gsa report. */

const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent), runs = data.runs;
const hue = run => data.hues[run % data.hues.length];
/* Whole numbers whole, others with a few digits. */
const digits = (value, most) => Number.isInteger(value) || Math.abs(value) >= 1e5 ?
    String(Math.round(value)) :
    Math.abs(value) < 1e-3 ? value.toExponential(2) :
                             String(Number(value.toPrecision(most)));
const short = value => typeof value === 'number' ? digits(value, 5) : value ?? '';

function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
}

function row(cells, name = 'td', className) {
    const made = element('tr', undefined, className);
    for (const cell of cells)
        made.append(element(name, short(cell), typeof cell === 'number' ? 'number' : ''));
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
    for (const c of data.compared) {
        const who = `${runs[c.run].name} against ${runs[0].name}, ${c.split}`;
        $('results').append(element(
            'p',
            c.said ? `${who}: not compared: ${c.said}` :
                     `${who} ${c.metric}: ${short(c.value)} − ${short(c.first)} = ` +
                    `${short(c.difference)}, 95 % interval ${short(c.low)} to ${short(c.high)}, ` +
                    `p ${short(c.p)}, ${c.units} units, paired bootstrap`));
    }
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
            return `${runs[run].name} step ${p[0]} ${key} ${short(p[1])}`;
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
            made.cells[j + 1].title = `${short(100 * share)} % of ${labels[i]}`;
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

/* ---- commands ---- */

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
showConfusion();
showSettings();
showCommands();
for (const id of ['smooth', 'log']) $(id).addEventListener('input', showCurves);
document.documentElement.dataset.painted = 'all';
