/* paint.js - the picture on a canvas, and as SVG. Up to LIVE lines are drawn anew in each frame;
 * more go to a second canvas, BUDGET milliseconds a frame, and until they are there the last one
 * stands in, moved and scaled. A matrix is written by pixels. */

const LIVE = 3000, CHUNK = 1500, BUDGET = 8, SHADES = 64, NAMED = 11, ROOMY = 30, MARGIN = 116,
      MOST_SVG = 50000;

function rgb(hex) { return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)); }
function mixed(a, b, share) { return a.map((v, i) => Math.round(v + (b[i] - v) * share)); }
function packed([r, g, b]) { return (255 << 24 | b << 16 | g << 8 | r) >>> 0; }

/* An SVG path that takes the calls of a canvas path. */
class SvgPath {
    constructor() { this.d = ''; }
    put(letter, ...at) { this.d += letter + at.map(v => v.toFixed(1)).join(' '); }
    moveTo(x, y) { this.put('M', x, y); }
    lineTo(x, y) { this.put('L', x, y); }
    quadraticCurveTo(a, b, x, y) { this.put('Q', a, b, x, y); }
    bezierCurveTo(a, b, c, d, x, y) { this.put('C', a, b, c, d, x, y); }
}

class Painter {
    constructor(canvas) {
        this.canvas = canvas;
        this.ink = canvas.getContext('2d', {alpha: false});
        this.front = this.back = null; /* pictures of lines: { canvas, cam, next } */
        this.moved = 0;
        this.work = 0; /* edges that the last frame went through */
    }

    /* The graph, its view and colours: g, view, places, colour(e) -> place in `hues`, hues, names.
     */
    show(scene) {
        this.scene = scene;
        this.stale();
    }
    stale() { this.front = this.back = this.thumbs = null; }

    resize() {
        const ratio = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
        this.ratio = ratio;
        this.wide = Math.max(1, Math.round(box.width));
        this.high = Math.max(1, Math.round(box.height));
        this.canvas.width = Math.round(this.wide * ratio);
        this.canvas.height = Math.round(this.high * ratio);
        this.stale();
    }

    themed() {
        const style = getComputedStyle(document.documentElement);
        this.css = Object.fromEntries(['paper', 'ink', 'faint', 'line', 'hold', 'mark', 'node'].map(
            k => [k, style.getPropertyValue('--' + k).trim()]));
        this.stale();
    }

    /* ---- the camera: screen = world * k + o ---- */

    /* The camera that shows the whole picture. */
    fitted() {
        const {view, places: {box}, g} = this.scene, matrix = view === 'matrix';
        const pad = matrix ? 0 : 1.2, top = matrix ? MARGIN : 16, foot = matrix ? 8 : 40;
        const left = matrix || view === 'columns' ? MARGIN : 16;
        const right = view === 'columns' ? MARGIN : 16;
        const wide = box[2] - box[0] + (matrix ? 1 : 2 * pad);
        const high = box[3] - box[1] + (matrix ? 1 : 2 * pad);
        let k = Math.min((this.wide - left - right) / wide, (this.high - top - foot) / high);
        if (view === 'columns') k = Math.max(k, Math.min(15, (this.wide - left - right) / wide));
        k = Math.max(1e-4, Math.min(k, matrix ? 40 : 70));
        if (g.n === 0) return {k: 1, x: 0, y: 0};
        const free = matrix ? [0, 0] : [
            this.wide - left - right - wide * k, this.high - top - foot - high * k
        ].map(v => Math.max(0, v / 2));
        return {k, x: left + free[0] + (pad - box[0]) * k, y: top + free[1] + (pad - box[1]) * k};
    }
    fit() {
        this.cam = this.fitted();
        this.moved = 0;
    }

    zoom(factor, x, y) {
        const k = Math.min(400, Math.max(this.fitted().k / 4, this.cam.k * factor)),
              by = k / this.cam.k;
        this.cam = {k, x: x - (x - this.cam.x) * by, y: y - (y - this.cam.y) * by};
        this.moved = performance.now();
    }
    pan(dx, dy) {
        this.cam = {...this.cam, x: this.cam.x + dx, y: this.cam.y + dy};
        this.moved = performance.now();
    }
    px(x) { return x * this.cam.k + this.cam.x; }
    py(y) { return y * this.cam.k + this.cam.y; }

    /* ---- lines ---- */

    /* How strong a line is, 0 to 1. */
    strength(e) {
        const g = this.scene.g;
        return g.columns && g.heaviest > 0 ? Math.max(0, g.value[e] / g.heaviest) : 1;
    }

    /* The line of an edge; false: it is not on the page. */
    trace(pen, e) {
        const {g, view, places: {x, y, x2, y2}} = this.scene, from = g.from[e], to = g.to[e],
                                           k = this.cam.k;
        const ax = this.px(x2[from]), ay = this.py(y2[from]), bx = this.px(x[to]),
              by = this.py(y[to]);
        const dx = bx - ax, dy = by - ay, reach = Math.abs(dx) * 0.5 + 4 * k;
        if (Math.max(ax, bx) < -20 || Math.min(ax, bx) > this.wide + 20) return false;
        if (Math.max(ay, by) + reach < 0 || Math.min(ay, by) - reach > this.high) return false;
        if (view === 'columns') {
            pen.moveTo(ax, ay);
            pen.lineTo(bx, by);
            return true;
        }
        const r = this.radius();
        if (from === to) { /* a loop, above the node or on a ring outwards */
            const away = Math.hypot(x[to], y[to]), out = view === 'ring' && away > 0;
            const ox = out ? x[to] / away : 0, oy = out ? y[to] / away : -1;
            const at = (u, v) => [ax + r * (u * ox - v * oy), ay + r * (u * oy + v * ox)];
            pen.moveTo(...at(1, 0));
            pen.bezierCurveTo(...at(3.6, -2.4), ...at(3.6, 2.4), ...at(1, 0));
            return true;
        }
        let cx = (ax + bx) / 2 - dy * 0.07, cy = (ay + by) / 2 + dx * 0.07;
        if (view !== 'ring' && dy === 0) {
            const lift =
                Math.min(Math.abs(dx) * 0.36, Math.max(1.4, stackOfView(this.scene) / 20) * k);
            cy = ay - Math.sign(dx) * 2 * lift;
            cx = (ax + bx) / 2;
        }
        const length = Math.hypot(bx - cx, by - cy) || 1, ux = (bx - cx) / length,
              uy = (by - cy) / length;
        const ex = bx - ux * r, ey = by - uy * r;
        pen.moveTo(ax, ay);
        pen.quadraticCurveTo(cx, cy, ex, ey);
        if (k > 16) {
            const a = Math.min(7, k / 5);
            pen.moveTo(ex - ux * a - uy * a * 0.5, ey - uy * a + ux * a * 0.5);
            pen.lineTo(ex, ey);
            pen.lineTo(ex - ux * a + uy * a * 0.5, ey - uy * a - ux * a * 0.5);
        }
        return true;
    }

    /* One path a colour and strength. */
    strokes(ink, edges, faint) {
        const paths = new Map(), {colour, hues} = this.scene;
        this.work += edges.length;
        for (const e of edges) {
            const step = Math.ceil(this.strength(e) * 8), key = colour(e) * 16 + step;
            let path = paths.get(key);
            if (!path) paths.set(key, path = new Path2D());
            this.trace(path, e);
        }
        for (const [key, path] of paths) {
            const strong = (key & 15) / 8;
            ink.strokeStyle = hues[key >> 4];
            ink.lineWidth = 0.8 + 1.6 * strong;
            ink.globalAlpha = Math.max(0.02, faint * (0.12 + 0.88 * strong));
            ink.stroke(path);
        }
        ink.globalAlpha = 1;
    }

    /* Many lines are thin, so that what is dense shows. */
    faintness() {
        return Math.min(0.85, Math.max(0.05, 900 / Math.max(1, this.scene.g.count)) ** 0.5);
    }

    newSheet() {
        const canvas = document.createElement('canvas');
        canvas.width = this.canvas.width;
        canvas.height = this.canvas.height;
        canvas.getContext('2d').scale(this.ratio, this.ratio);
        return {canvas, cam: this.cam, next: 0};
    }

    /* Goes on with the picture in the background; true when all lines are in it. The order spreads
     * over all edges. */
    proceed(sheet) {
        const {g} = this.scene, ink = sheet.canvas.getContext('2d'),
              until = performance.now() + BUDGET, faint = this.faintness();
        let step = Math.max(1, Math.round(g.m * 0.6180339887)) | 1;
        while (gcd(step, g.m) !== 1) step += 2;
        while (sheet.next < g.m && performance.now() < until) {
            const edges = [], end = Math.min(g.m, sheet.next + CHUNK);
            for (; sheet.next < end; sheet.next++) {
                const e = sheet.next * step % g.m;
                if (g.shown[e]) edges.push(e);
            }
            this.strokes(ink, edges, faint);
        }
        return sheet.next >= g.m;
    }

    paintLines(faded) {
        const {g} = this.scene, ink = this.ink,
              same = s =>
                  s && s.cam.k === this.cam.k && s.cam.x === this.cam.x && s.cam.y === this.cam.y;
        ink.globalAlpha = faded ? 0.16 : 1;
        if (g.count <= LIVE) {
            const edges = [];
            for (let e = 0; e < g.m; e++)
                if (g.shown[e]) edges.push(e);
            this.strokes(ink, edges, faded ? 0.14 : this.faintness());
            return true;
        }
        const still = performance.now() - this.moved > 120;
        if (!same(this.front) && !same(this.back) && (still || !this.front))
            this.back = this.newSheet();
        if (this.back && (still || !this.front) && this.proceed(this.back))
            this.front = this.back, this.back = null;
        const sheet = this.front || this.back;
        if (sheet) {
            const by = this.cam.k / sheet.cam.k;
            ink.drawImage(
                sheet.canvas, this.cam.x - sheet.cam.x * by, this.cam.y - sheet.cam.y * by,
                this.wide * by, this.high * by);
        }
        ink.globalAlpha = 1;
        return same(this.front);
    }

    /* ---- nodes ---- */

    radius() { return Math.max(1.2, Math.min(9, this.cam.k * 0.24)); }

    dot(x, y, r, fill, focused) {
        const ink = this.ink;
        ink.fillStyle = fill;
        if (r < 2.5 && !focused) { /* thousands of them */
            ink.fillRect(x - r, y - r, 2 * r, 2 * r);
            return;
        }
        ink.beginPath();
        ink.arc(x, y, focused ? r + 2 : r, 0, 2 * Math.PI);
        ink.fill();
        ink.strokeStyle = focused ? this.css.mark : this.css.faint;
        ink.lineWidth = 1;
        ink.stroke();
    }

    /* Left out: a name that would run into the next circle of a ring, and that of a span which
     * would be slanted where many stand side by side. */
    isNamed(node) {
        const {g, nameless, view, places: {room}} = this.scene, k = this.cam.k;
        if (nameless || k < NAMED) return false;
        const fits = this.ink.measureText(shorten(g.name(node), 16)).width < room[node] * k - 6;
        if (view === 'columns' || g.covered(node) === null) return view !== 'ring' || fits;
        if (k >= ROOMY) return view !== 'ring' || k >= 2 * ROOMY;
        if (view === 'ring') return false;
        return fits;
    }

    /* Where a node's name stands: [x, y, angle, align]. */
    namePlace(node, second) {
        const {view, places: {x, y, x2, y2, room}, g} = this.scene, k = this.cam.k,
                                                   r = this.radius() + 4;
        const ax = this.px(second ? x2[node] : x[node]), ay = this.py(second ? y2[node] : y[node]);
        if (view === 'columns') return second ? [ax + r, ay, 0, 'left'] : [ax - r, ay, 0, 'right'];
        if (view === 'ring') {
            const angle = Math.atan2(y[node], x[node]), turned = Math.abs(angle) > Math.PI / 2;
            if (g.stacks.length > 1 || (x[node] === 0 && y[node] === 0))
                return [ax + r, ay, 0, 'left'];
            return [
                ax + r * Math.cos(angle), ay + r * Math.sin(angle),
                turned ? angle - Math.PI : angle, turned ? 'right' : 'left'
            ];
        }
        const wide = this.ink.measureText(shorten(g.name(node), 16)).width;
        return wide < room[node] * k - 6 ? [ax, ay + r + 8, 0, 'center'] :
                                           [ax + 2, ay + r, Math.PI / 3.4, 'left'];
    }

    paintNodes(focus) {
        const {g, view, places: {x, y, x2, y2}, tint} = this.scene, ink = this.ink,
                                                r = this.radius();
        ink.font =
            '12px system-ui, "Noto Sans", "Noto Sans CJK SC", "Noto Color Emoji", sans-serif';
        ink.textBaseline = 'middle';
        for (let side = 0; side < (view === 'columns' ? 2 : 1); side++)
            for (let i = 0; i < g.n; i++) {
                const ax = this.px(side ? x2[i] : x[i]), ay = this.py(side ? y2[i] : y[i]);
                if (isNaN(ax)) continue;
                if (ax < -200 || ax > this.wide + 200 || ay < -200 || ay > this.high + 200)
                    continue;
                this.dot(ax, ay, r, tint(i) || this.css.node, i === focus);
                if (i !== focus && !this.isNamed(i)) continue;
                const [tx, ty, angle, align] = this.namePlace(i, side === 1);
                ink.save();
                ink.translate(tx, ty);
                ink.rotate(angle);
                ink.textAlign = align;
                ink.fillStyle = i === focus ? this.css.mark : this.css.ink;
                ink.strokeStyle = this.css.paper;
                ink.lineWidth = 3; /* the lines under a name end before it */
                ink.strokeText(shorten(g.name(i), 16), 0, 0);
                ink.fillText(shorten(g.name(i), 16), 0, 0);
                ink.restore();
            }
        for (const [text, tx, ty, align] of this.columnTitles()) {
            ink.textAlign = align;
            ink.fillStyle = this.css.faint;
            ink.fillText(text, tx, ty);
        }
    }

    /* Above the columns, which of them reads: [text, x, y, align]. */
    columnTitles() {
        const {view, places: {x2, box}, nameless} = this.scene, y = this.py(box[1]) - 24;
        if (view !== 'columns' || nameless || x2.length === 0) return [];
        return [['reads', this.px(0) + 8, y, 'right'], ['is read', this.px(box[2]) - 8, y, 'left']];
    }

    /* ---- the matrix ---- */

    /* Colours of each hue from the paper's to its own. */
    shades() {
        const paper = rgb(this.css.paper), table = new Uint32Array(this.scene.hues.length * SHADES);
        this.scene.hues.forEach((hue, h) => {
            for (let s = 0; s < SHADES; s++)
                table[h * SHADES + s] =
                    packed(mixed(paper, rgb(hue), 0.1 + 0.9 * s / (SHADES - 1)));
        });
        return table;
    }

    paintMatrix(focus) {
        const {g, colour} = this.scene, W = this.canvas.width, H = this.canvas.height,
                  ratio = this.ratio;
        if (!this.image || this.image.width !== W || this.image.height !== H) {
            this.image = new ImageData(W, H);
            this.pixels = new Uint32Array(this.image.data.buffer);
            this.level = new Uint8Array(W * H);
        }
        const {pixels, level} = this, table = this.shades(), k = this.cam.k * ratio,
                       ox = this.cam.x * ratio, oy = this.cam.y * ratio;
        this.work += g.m;
        const scale = g.columns && g.heaviest > 0 ? 1 / g.heaviest : 0, gap = k >= 6 ? 1 : 0;
        pixels.fill(packed(rgb(this.css.hold)));
        level.fill(0);
        const right = Math.min(W, Math.round(g.n * k + ox)),
              bottom = Math.min(H, Math.round(g.n * k + oy)), paper = packed(rgb(this.css.paper));
        for (let y = Math.max(0, Math.round(oy)); y < bottom; y++)
            pixels.fill(paper, y * W + Math.max(0, Math.round(ox)), Math.max(y * W, y * W + right));
        for (let e = 0; e < g.m; e++) {
            if (!g.shown[e]) continue;
            const x0 = Math.floor(g.from[e] * k + ox), y0 = Math.floor(g.to[e] * k + oy);
            if (x0 >= W || y0 >= H) continue;
            const x1 = Math.max(x0 + 1, Math.floor((g.from[e] + 1) * k + ox) - gap),
                  y1 = Math.max(y0 + 1, Math.floor((g.to[e] + 1) * k + oy) - gap);
            if (x1 <= 0 || y1 <= 0) continue;
            const shade = scale ?
                1 + Math.floor((SHADES - 2) * Math.sqrt(Math.max(0, g.value[e]) * scale)) :
                SHADES - 1;
            const dye = table[colour(e) * SHADES + shade], xa = Math.max(0, x0),
                  xb = Math.min(W, x1), yb = Math.min(H, y1);
            for (let y = Math.max(0, y0); y < yb; y++)
                for (let at = y * W + xa; at < y * W + xb; at++)
                    if (level[at] < shade) level[at] = shade, pixels[at] = dye;
        }
        this.ink.putImageData(this.image, 0, 0);
        this.matrixMarks(focus);
        return true;
    }

    matrixMarks(focus) {
        const {g} = this.scene, ink = this.ink, k = this.cam.k, end = g.n;
        ink.strokeStyle = this.css.line;
        ink.lineWidth = 1;
        ink.beginPath();
        for (const kind of [...g.kinds.slice(1), {first: 0}, {first: end}]) {
            ink.moveTo(this.px(kind.first), this.py(0));
            ink.lineTo(this.px(kind.first), this.py(end));
            ink.moveTo(this.px(0), this.py(kind.first));
            ink.lineTo(this.px(end), this.py(kind.first));
        }
        ink.stroke();
        if (focus >= 0) {
            ink.fillStyle = this.css.mark;
            ink.globalAlpha = 0.14;
            ink.fillRect(this.px(0), this.py(focus), end * k, Math.max(1, k));
            ink.fillRect(this.px(focus), this.py(0), Math.max(1, k), end * k);
            ink.globalAlpha = 1;
        }
        this.matrixNames(focus);
    }

    /* Names of rows on the left and of columns above, where cells are wide enough; else the kinds'.
     */
    matrixNames(focus) {
        const {g} = this.scene, ink = this.ink, k = this.cam.k, each = k >= NAMED - 1;
        ink.fillStyle = this.css.paper;
        ink.fillRect(0, 0, MARGIN - 4, this.high);
        ink.fillRect(0, 0, this.wide, MARGIN - 4);
        ink.font = Math.min(12, Math.max(9, k - 1)) +
            'px system-ui, "Noto Sans", "Noto Sans CJK SC", "Noto Color Emoji", sans-serif';
        if (!each) ink.font = '12px system-ui, sans-serif';
        ink.textBaseline = 'middle';
        const items = each ? Array.from({length: g.n}, (_, i) => [i + 0.5, i]) :
                             g.kinds.filter(kind => kind.count * k > 12)
                                 .map(kind => [kind.first + kind.count / 2, kind]);
        for (const [at, what] of items) {
            const x = this.px(at), y = this.py(at),
                  text = each ? shorten(g.name(what), 15) : shorten(what.title, 15);
            ink.fillStyle = what === focus ? this.css.mark : this.css.ink;
            ink.textAlign = 'right';
            if (y > MARGIN && y < this.high) ink.fillText(text, MARGIN - 10, y);
            if (x < MARGIN || x > this.wide) continue;
            ink.save();
            ink.translate(x, MARGIN - 10);
            ink.rotate(-Math.PI / 2);
            ink.textAlign = 'left';
            ink.fillText(text, 0, 0);
            ink.restore();
        }
        ink.fillStyle = this.css.faint;
        ink.textAlign = 'right';
        ink.font = '11px system-ui, sans-serif';
        ink.fillText('reads ↓   is read →', MARGIN - 8, MARGIN - 12);
    }

    /* ---- small multiples: a matrix a layer and head ---- */

    gridShape() {
        const {g} = this.scene, heads = g.columns || (g.headTo ? g.heads : 1),
              layers = g.layers.length;
        const side =
            Math.max(12, Math.min((this.wide - 70) / heads, (this.high - 40) / layers, 420)) - 8;
        return {
            heads,
            layers,
            side: Math.floor(side),
            step: Math.floor(side) + 8,
            left: 60,
            top: 30
        };
    }

    paintGrid() {
        const {g, passes} = this.scene, ink = this.ink, shape = this.gridShape(),
                  {side, step, left, top} = shape;
        ink.fillStyle = this.css.paper;
        ink.fillRect(0, 0, this.wide, this.high);
        if (!this.thumbs) this.thumbs = this.makeThumbs(shape, passes);
        ink.font = '12px system-ui, sans-serif';
        ink.textBaseline = 'middle';
        for (let h = 0; h < shape.heads; h++) {
            ink.fillStyle = this.css.faint;
            ink.textAlign = 'center';
            ink.fillText(
                shape.heads > 1 ? 'head ' + h : 'all heads', left + h * step + side / 2, top - 12);
        }
        g.layers.forEach((layer, l) => {
            ink.fillStyle = this.css.faint;
            ink.textAlign = 'right';
            ink.fillText('layer ' + layer, left - 8, top + l * step + side / 2);
            for (let h = 0; h < shape.heads; h++) {
                ink.drawImage(
                    this.thumbs[l * shape.heads + h], left + h * step, top + l * step, side, side);
                ink.strokeStyle = this.css.line;
                ink.lineWidth = 1;
                ink.strokeRect(left + h * step - 0.5, top + l * step - 0.5, side + 1, side + 1);
                ink.beginPath();
                for (const {first} of g.kinds.slice(1)) { /* where another kind begins */
                    const at = first * side / g.n, x = left + h * step, y = top + l * step;
                    ink.moveTo(x + at, y);
                    ink.lineTo(x + at, y + side);
                    ink.moveTo(x, y + at);
                    ink.lineTo(x + side, y + at);
                }
                ink.stroke();
            }
        });
        return true;
    }

    makeThumbs({heads, layers, side}, passes) {
        const {g, colour} = this.scene, size = Math.max(1, Math.round(side * this.ratio)),
                  cells = heads * layers, table = this.shades();
        const images = Array.from({length: cells}, () => new ImageData(size, size)),
              levels = images.map(() => new Uint8Array(size * size));
        const pixels =
                  images.map(i => new Uint32Array(i.data.buffer).fill(packed(rgb(this.css.paper)))),
              k = size / Math.max(1, g.n);
        const place = new Map(g.layers.map((layer, l) => [layer, l])),
              most = new Float64Array(cells);
        for (const painting of [false, true])
            for (let e = 0; e < g.m; e++) {
                if (!passes(e)) continue;
                const l = place.get(g.sheets[g.sheet[e]].layer), x0 = Math.floor(g.from[e] * k),
                      y0 = Math.floor(g.to[e] * k);
                for (let h = 0; h < heads; h++) {
                    const w = g.weight(e, heads > 1 ? h : -1), cell = l * heads + h;
                    if (!painting) {
                        if (w > most[cell]) most[cell] = w;
                        continue;
                    }
                    if (w <= 0) continue;
                    const shade = 1 + Math.floor((SHADES - 2) * Math.sqrt(w / most[cell])),
                          dye = table[colour(e) * SHADES + shade];
                    for (let y = y0;
                         y < Math.min(size, Math.max(y0 + 1, Math.floor((g.to[e] + 1) * k))); y++)
                        for (let x = x0;
                             x < Math.min(size, Math.max(x0 + 1, Math.floor((g.from[e] + 1) * k)));
                             x++)
                            if (levels[cell][y * size + x] < shade)
                                levels[cell][y * size + x] = shade,
                                                        pixels[cell][y * size + x] = dye;
                }
            }
        return images.map(image => {
            const canvas = document.createElement('canvas');
            canvas.width = canvas.height = size;
            canvas.getContext('2d').putImageData(image, 0, 0);
            return canvas;
        });
    }

    /* ---- a frame; true when nothing is left to draw ---- */

    paint(focus) {
        this.work = 0;
        const {g, view} = this.scene, ink = this.ink;
        ink.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        if (view === 'matrix') return this.paintMatrix(focus);
        if (view === 'grid') return this.paintGrid();
        ink.fillStyle = this.css.paper;
        ink.fillRect(0, 0, this.wide, this.high);
        const done = this.paintLines(focus >= 0);
        if (focus >= 0) {
            this.strokes(ink, g.edgesAt(focus, false).slice(0, LIVE), 0.95);
            if (view !== 'columns') this.strokes(ink, g.edgesAt(focus, true).slice(0, LIVE), 0.45);
        }
        this.paintNodes(focus);
        return done;
    }

    /* ---- what is under the pointer ---- */

    /* A node, of a matrix { row, column }, of the grid { layer, head }; null: nothing. */
    under(px, py) {
        const {g, view, places: {x, y, x2, y2}} = this.scene;
        if (view === 'grid') {
            const {heads, layers, step, left, top} = this.gridShape(),
                                              h = Math.floor((px - left) / step),
                                              l = Math.floor((py - top) / step);
            return h >= 0 && h < heads && l >= 0 && l < layers ?
                {layer: g.layers[l], head: heads > 1 ? h : -1} :
                null;
        }
        if (view === 'matrix') {
            const column = Math.floor((px - this.cam.x) / this.cam.k),
                  row = Math.floor((py - this.cam.y) / this.cam.k), on = i => i >= 0 && i < g.n;
            if (!on(row) && !on(column)) return null;
            if (px < MARGIN && on(row)) return {row, column: -1};
            if (py < MARGIN && on(column)) return {row: column, column: -1};
            return on(row) && on(column) ? {row, column} : null;
        }
        let best = null, least = Math.max(14, this.radius() * 2);
        for (const [xs, ys] of [[x, y], [x2, y2]])
            for (let i = 0; i < g.n; i++) {
                const away = Math.hypot(this.px(xs[i]) - px, this.py(ys[i]) - py);
                if (away < least) least = away, best = {row: i, column: -1};
            }
        return best;
    }

    /* ---- SVG of what is on the page ---- */

    /* The picture's elements, or an error that says why there are none. */
    svg(focus) {
        const {g, view} = this.scene;
        if (view === 'grid')
            throw new Error(
                'the small multiples are pixels: choose one layer and head, and another view');
        if (g.count > MOST_SVG)
            throw new Error(
                `an SVG of ${g.count} edges is too large, at most ${MOST_SVG}: filter them`);
        return (view === 'matrix' ? this.svgMatrix() : this.svgLines(focus)).join('\n');
    }

    svgMatrix() {
        const {g, colour, hues} = this.scene, k = this.cam.k, parts = [];
        for (let e = 0; e < g.m; e++) {
            if (!g.shown[e]) continue;
            const shade = 0.1 + 0.9 * Math.sqrt(this.strength(e));
            parts.push(
                `<rect x="${short(this.px(g.from[e]))}" y="${short(this.py(g.to[e]))}"` +
                ` width="${short(k)}" height="${short(k)}" fill="${hues[colour(e)]}"` +
                ` fill-opacity="${short(shade)}"/>`);
        }
        for (let i = 0; i < g.n && k >= NAMED - 1; i++) {
            const text = escaped(shorten(g.name(i), 16));
            const x = short(this.px(i + 0.5) + 4), y = short(this.py(i + 0.5) + 4);
            parts.push(
                `<text x="${this.px(0) - 8}" y="${y}" text-anchor="end">${text}</text>`,
                `<text transform="translate(${x} ${this.py(0) - 8}) rotate(-90)">${text}</text>`);
        }
        return parts;
    }

    svgLines(focus) {
        const {g, places: {x, y, x2, y2}, colour, hues} = this.scene, parts = [];
        const anchors = {left: 'start', right: 'end', center: 'middle'};
        for (let e = 0; e < g.m; e++) {
            const path = new SvgPath(), strong = this.strength(e);
            if (!g.shown[e] || !this.trace(path, e)) continue;
            parts.push(
                `<path d="${path.d}" fill="none" stroke="${hues[colour(e)]}"` +
                ` stroke-width="${short(0.8 + 1.6 * strong)}"` +
                ` stroke-opacity="${short(this.faintness() * (0.12 + 0.88 * strong))}"/>`);
        }
        for (const [side, xs, ys] of [[0, x, y], [1, x2, y2]])
            for (let i = 0; i < g.n && (side === 0 || x2 !== x); i++) {
                if (isNaN(xs[i])) continue;
                const [tx, ty, angle, align] = this.namePlace(i, side === 1);
                const turn = short(angle * 180 / Math.PI), text = escaped(shorten(g.name(i), 16));
                parts.push(
                    `<circle cx="${short(this.px(xs[i]))}" cy="${short(this.py(ys[i]))}"` +
                    ` r="${short(this.radius())}" fill="${this.css.node}"` +
                    ` stroke="${i === focus ? this.css.mark : this.css.faint}"/>`);
                if (this.isNamed(i))
                    parts.push(
                        `<text transform="translate(${short(tx)} ${short(ty)}) rotate(${turn})"` +
                        ` dy="4" text-anchor="${anchors[align]}">${text}</text>`);
            }
        for (const [text, tx, ty, align] of this.columnTitles())
            parts.push(
                `<text x="${short(tx)}" y="${short(ty)}" text-anchor="${anchors[align]}">` +
                `${text}</text>`);
        return parts;
    }
}

const short = number => number.toFixed(2);

function escaped(text) {
    return text.replace(
        /[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[c]);
}

function gcd(a, b) {
    while (b) [a, b] = [b, a % b];
    return a;
}

/* Tokens of the longest stack: how high arcs may be. */
function stackOfView({g: {kinds}}) {
    const own = kinds.filter(isOwn);
    return Math.max(1, ...(own.length ? own : kinds).map(k => k.count));
}
