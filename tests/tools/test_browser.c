/* test_browser.c - pages in a headless Chromium: hover, filters and threshold give the GraphML's
 * numbers; nothing of a text runs; nothing leaves. Skipped where there is no Chromium. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "browser.h"
#include "cli.h"
#include "graph/xml.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })
enum { WIDE = 1200, HIGH = 800 };

static gsa_ran ran;

static void run(const char *const *args)
{
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
}

/* A key that would save a file: its text is then the promise window.saved_. */
static void save(const char *key)
{
    browser_run("URL.createObjectURL = blob => { window.saved_ = blob.text(); window.bytes_ = "
                "blob.arrayBuffer(); return '#'; }");
    browser_key(key);
}

/* ---- numbers ------------------------------------------------------------------------------- */

typedef struct picture { /* what the GraphML has */
    char *document;
    xml_edge *edge;
    double *weight[3], *layer; /* the mean over heads, w0, w1 */
    int64_t edges, nodes;
} picture;

static picture read_picture_of(const char *path)
{
    static const char *const keys[] = { "e_weight", "e_w0", "e_w1" };
    int64_t same;
    picture p = { .document = gsa_cli_read(path) };
    p.edge = xml_edges(p.document, &p.edges);
    p.nodes = xml_count(p.document, "node");
    p.layer = xml_numbers(p.document, "e_layer", &same);
    for (int w = 0; w < 3; w++) p.weight[w] = xml_numbers(p.document, keys[w], &same);
    ck_assert(p.edges > 0 && same == p.edges);
    return p;
}

static picture read_picture(void)
{
    return read_picture_of("a.graphml");
}

static void release_picture(picture *p)
{
    free(p->document), free(p->edge), free(p->layer);
    for (int w = 0; w < 3; w++) free(p->weight[w]);
}

static void attend(void)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set", "model.encoder=star*2",
             "--out", "text"));
    run(ARGS("attend", "--model", "text", "--text", "a very good film", "--quiet", "--out",
             "a.graphml"));
    run(ARGS("attend", "--model", "text", "--text", "a very good film", "--quiet", "--out",
             "a.html"));
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The panel's list: 0: what the node reads, 1: who reads it; 2 and 3: of the second picture. */
static void check_list(const picture *p, int64_t node, int layer, int head, int list)
{
    double expected[64];
    int count = 0;
    for (int64_t e = 0; e < p->edges; e++)
        if ((list % 2 ? p->edge[e].from : p->edge[e].to) == node && p->layer[e] == layer)
            expected[count++] = p->weight[head + 1][e];
    qsort(expected, (size_t)count, sizeof *expected, falling);
    json_t *shown = browser_value("[...document.querySelectorAll('#panel table')[%d].rows].map(r "
                                  "=> Number(r.cells[0].textContent))",
                                  list);
    ck_assert_int_eq(json_array_size(shown), count);
    for (int i = 0; i < count; i++) {
        const double own = json_number_value(json_array_get(shown, (size_t)i));
        ck_assert_msg(fabs(own - expected[i]) <= 6e-4 * expected[i],
                      "node %lld, layer %d, head %d: weight %d is %g, the GraphML has %g",
                      (long long)node, layer, head, i, own, expected[i]);
    }
    json_decref(shown);
}

/* Chooses in a list as a hand does. */
static void choose(const char *list, const char *text)
{
    browser_run("(() => { const s = document.getElementById('%s'); s.value = "
                "[...s.options].find(o => o.text === '%s').value; "
                "s.dispatchEvent(new Event('change')); })()",
                list, text);
}

START_TEST(what_a_node_reads_is_the_graphmls)
{
    attend();
    picture p = read_picture();
    browser_start(WIDE, HIGH);
    browser_open("a.html", "view=matrix");
    for (int layer = 0; layer < 2; layer++)
        for (int head = -1; head < 2; head++) {
            char text[2] = { (char)('0' + layer), 0 };
            choose("layer", text);
            text[0] = (char)('0' + head);
            choose("head", head < 0 ? "mean" : text);
            for (int64_t node = 0; node < p.nodes; node++) {
                char *label = xml_data(p.document, "v_label", (int)node);
                browser_key("n");
                browser_says(label, "document.querySelector('#panel h2').textContent");
                check_list(&p, node, layer, head, 0);
                check_list(&p, node, layer, head, 1);
                free(label);
            }
            browser_key("Escape");
        }
    browser_end();
    release_picture(&p);
    gsa_cli_leave();
}
END_TEST

/* The pointer over a matrix: the names on its left, then a cell; a click keeps the node. */
START_TEST(the_pointer_finds_rows_and_cells)
{
    attend();
    picture p = read_picture();
    browser_start(WIDE, HIGH);
    browser_open("a.html", "view=matrix&layer=1");
    const double top =
        browser_number("document.getElementById('canvas').getBoundingClientRect().y");
    const int64_t relay = p.nodes - 1;
    double row = 0;
    for (double y = top + 120; y < HIGH && row == 0; y += 5) {
        browser_move(60, y);
        json_t *name = browser_value("document.querySelector('#panel h2')?.textContent ?? ''");
        if (strcmp(json_string_value(name), "relay 0") == 0) row = y + 5;
        json_decref(name);
    }
    ck_assert_msg(row > 0, "no row is the relay's");
    check_list(&p, relay, 1, -1, 0);
    browser_move(60, row);
    browser_button(1);
    browser_button(0);
    browser_move(WIDE - 350, top + 200); /* away from the matrix */
    browser_says("relay 0", "document.querySelector('#panel h2').textContent");
    browser_run("new Promise(done => setTimeout(done, 300))"); /* the address is written late */
    ck_assert_int_eq(
        (int64_t)browser_number("Number(new "
                                "URLSearchParams(location.hash.slice(1)).get('node'))"),
        relay);
    /* the last column of the relay's row: the relay itself */
    const double corner = 116 + (row - top - 116);
    browser_move(corner, row);
    double self = 0;
    for (int64_t e = 0; e < p.edges; e++)
        if (p.edge[e].from == relay && p.edge[e].to == relay && p.layer[e] == 1)
            self = p.weight[0][e];
    char text[64];
    snprintf(text, sizeof text, "reads relay 0: %.4g", self);
    browser_says(text, "document.querySelectorAll('#panel p')[1].textContent");
    browser_end();
    release_picture(&p);
    gsa_cli_leave();
}
END_TEST

static void says_count(const picture *p, int64_t count)
{
    char text[96];
    snprintf(text, sizeof text, "%lld of %lld edges, %lld nodes", (long long)count,
             (long long)p->edges, (long long)p->nodes);
    browser_says(text, "document.getElementById('count').textContent");
}

/* How many edges the GraphML has of a value of a key; "": any. */
static int64_t count_of(const picture *p, int layer, const char *key, const char *value,
                        double least)
{
    int64_t count = 0;
    for (int64_t e = 0; e < p->edges; e++) {
        char *text = *key ? xml_data(p->document, key, (int)e) : NULL;
        count += (layer < 0 || p->layer[e] == layer) && (!text || strcmp(text, value) == 0) &&
                 p->weight[0][e] >= least;
        free(text);
    }
    return count;
}

START_TEST(filters_count_as_the_graphml)
{
    attend();
    picture p = read_picture();
    browser_start(WIDE, HIGH);
    browser_open("a.html", "view=arcs");
    says_count(&p, count_of(&p, 0, "", "", 0));
    choose("layer", "all");
    says_count(&p, p.edges);
    choose("phase", "up");
    says_count(&p, count_of(&p, -1, "e_interaction", "up", 0));
    choose("phase", "all");
    choose("label", "left");
    says_count(&p, count_of(&p, -1, "e_name", "left", 0));
    choose("label", "all");
    browser_run("(() => { const f = document.getElementById('least'); f.value = '0.2'; "
                "f.dispatchEvent(new Event('input')); })()");
    choose("reader", "relay"); /* its edges are of the phase `up`, those to it have its label */
    ck_assert_int_eq((int64_t)browser_number("Number(document.getElementById('count')"
                                             ".textContent.split(' ')[0])"),
                     count_of(&p, -1, "e_interaction", "up", 0.2));
    choose("reader", "all");
    choose("read", "embedding");
    says_count(&p, count_of(&p, -1, "e_name", "embed", 0.2));
    choose("read", "all");
    const int64_t strong = count_of(&p, -1, "", "", 0.2);
    ck_assert(strong > 0 && strong < p.edges);
    says_count(&p, strong);
    /* the same by the address; and what is not there is said */
    browser_open("a.html", "view=ring&layer=1&phase=down&label=left");
    says_count(&p, 4);
    browser_open("a.html", "phase=sideways&layer=7&vew=ring");
    browser_says("the address asks for what is not here: phase=sideways, layer=7, vew=ring",
                 "document.getElementById('count').textContent");
    browser_end();
    release_picture(&p);
    gsa_cli_leave();
}
END_TEST

/* A span is called by its words, and found by them; the numbers keep its kind and index. A colour
 * of lines has as many names as its meaning. */
START_TEST(spans_have_names)
{
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "bpt:k=1", "--text", "the quick brown fox", "--out", "a.html"));
    browser_start(WIDE, HIGH);
    browser_open("a.html", "");
    browser_run("(() => { const f = document.getElementById('node'); f.value = 'brown fox'; "
                "f.dispatchEvent(new Event('change')); })()");
    browser_says("brown fox span 1, level 1, tokens 2 to 3",
                 "document.querySelector('#panel h2').textContent + ' ' + "
                 "document.querySelector('#panel p').textContent");
    save("c");
    ck_assert(browser_number("window.saved_.then(text => Number(text.includes('\"span 1\"') && "
                             "!text.includes('brown fox')))") == 1);
    browser_key("Escape");
    choose("colour", "read");
    browser_says("reads token, reads span",
                 "[...document.querySelectorAll('#legend span')].map(s => s.textContent).join(', "
                 "')");
    browser_open("a.html", "view=columns");
    save("s");
    ck_assert(browser_number("window.saved_.then(text => Number(text.includes('>reads<') && "
                             "text.includes('>is read<')))") == 1);
    browser_end();
    gsa_cli_leave();
}
END_TEST

/* Each edge of a phase over (node, head) belongs to one head. */
START_TEST(a_head_has_its_own_edges)
{
    gsa_cli_enter();
    for (int html = 0; html < 2; html++)
        run(ARGS("graph", "--topology", "head_area:width=3:heads=3", "--length", "6", "--heads",
                 "4", "--out", html ? "a.html" : "a.graphml"));
    int64_t edges, count[4] = { 0 };
    char *document = gsa_cli_read("a.graphml");
    xml_edge *edge = xml_edges(document, &edges);
    for (int64_t e = 0; e < edges; e++) count[edge[e].head_to]++;
    browser_start(WIDE, HIGH);
    browser_open("a.html", "");
    for (int head = 0; head < 4; head++) {
        char text[96], name[2] = { (char)('0' + head), 0 };
        choose("head", name);
        snprintf(text, sizeof text, "%lld of %lld edges, 6 nodes", (long long)count[head],
                 (long long)edges);
        browser_says(text, "document.getElementById('count').textContent");
    }
    browser_end();
    free(document), free(edge);
    gsa_cli_leave();
}
END_TEST

/* A word's colour is what its nodes receive: the token's and the embedding's. */
START_TEST(a_word_receives_what_its_nodes_receive)
{
    attend();
    picture p = read_picture();
    browser_start(WIDE, HIGH);
    browser_open("a.html", "layer=1");
    for (int64_t word = 0; word < 4; word++) {
        double sum = 0;
        for (int64_t e = 0; e < p.edges; e++)
            if (p.layer[e] == 1 && (p.edge[e].from == word || p.edge[e].from == 4 + word))
                sum += p.weight[0][e];
        const double shown =
            browser_number("Number(document.querySelectorAll('#text span')[%d].title)", (int)word);
        ck_assert_msg(fabs(shown - sum) <= 6e-4 * sum, "word %lld receives %g, expected %g",
                      (long long)word, shown, sum);
    }
    browser_end();
    release_picture(&p);
    gsa_cli_leave();
}
END_TEST

/* In-edges of a node in a GraphML file of its own. */
static int64_t reads(const char *path, int64_t node)
{
    int64_t edges, count = 0;
    char *document = gsa_cli_read(path);
    xml_edge *edge = xml_edges(document, &edges);
    for (int64_t e = 0; e < edges; e++) count += edge[e].to == node;
    free(edge), free(document);
    return count;
}

static int64_t listed(int pane)
{
    return (int64_t)browser_number("document.querySelector('#panel section[data-pane=\"%d\"] "
                                   "table').rows.length",
                                   pane);
}

/* A node that is kept, or pointed at in either picture, is marked in both; each lists its own
 * edges. */
START_TEST(two_patterns_share_the_selection)
{
    static const char text[] = "the quick brown fox jumps";
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "star", "--beside", "ring", "--beside", "window:width=5",
             "--text", text, "--out", "a.html"));
    run(ARGS("graph", "--topology", "star", "--text", text, "--out", "star.graphml"));
    run(ARGS("graph", "--topology", "window:width=5", "--text", text, "--out", "window.graphml"));
    browser_start(WIDE, HIGH);
    browser_open("a.html", "view=matrix"); /* the first one of --beside is there at once */
    browser_says("31 of 31 edges, 11 nodes | 15 of 15 edges, 5 nodes",
                 "document.getElementById('count').textContent");
    browser_open("a.html", "beside=2&view=matrix");
    browser_says("31 of 31 edges, 11 nodes | 19 of 19 edges, 5 nodes",
                 "document.getElementById('count').textContent");
    for (int64_t token = 0; token < 5; token++) { /* star: embeddings are first */
        browser_run("document.querySelectorAll('#text div')[1].children[%d].click()", (int)token);
        ck_assert_int_eq(listed(0), reads("star.graphml", 5 + token));
        ck_assert_int_eq(listed(1), reads("window.graphml", token));
        ck_assert(browser_number("document.querySelectorAll('#text .kept').length") == 2);
    }
    browser_key("Escape");
    const double y = browser_number("document.getElementById('canvas2').getBoundingClientRect().y");
    const double x = browser_number("document.getElementById('canvas2').getBoundingClientRect().x");
    browser_move(x + 60, y + 130); /* the name of the first row on the right */
    browser_says("the the", "[...document.querySelectorAll('#panel h2:not(.side)')].map(h => "
                            "h.textContent).join(' ')");
    ck_assert_int_eq(listed(0), reads("star.graphml", 5));
    browser_shot("side");
    /* a label that the second one lacks leaves nothing there; the address says all */
    choose("label", "relay");
    browser_says("5 of 31 edges, 11 nodes | 0 of 19 edges, 5 nodes",
                 "document.getElementById('count').textContent");
    browser_run("new Promise(done => setTimeout(done, 300))");
    browser_says("matrix relay 2", "(() => { const said = new URLSearchParams(location.hash.slice(1"
                                   ")); return ['view', 'label', 'beside'].map(k => said.get(k))"
                                   ".join(' '); })()");
    browser_key("v");
    browser_says("5 of 31 edges, 11 nodes", "document.getElementById('count').textContent");
    browser_key("o");
    browser_says("ring", "document.getElementById('spec').textContent");
    browser_says("the address asks for what is not here: label=relay",
                 "document.getElementById('count').textContent");
    /* labels of both are too many for a hue each: their words have one */
    run(ARGS("graph", "--topology", "star", "--beside", "bpt:k=2", "--length", "8", "--out",
             "b.html"));
    browser_open("b.html", "beside=-1");
    browser_says("label", "document.getElementById('colour').value");
    browser_open("b.html", "");
    browser_says("word", "document.getElementById('colour').value");
    browser_end();
    gsa_cli_leave();
}
END_TEST

/* Two models on one text: a click on a word keeps its node in both, and each lists its own
 * weights, those of the GraphML of that model alone; a filter is of both. */
START_TEST(two_models_share_the_selection)
{
    static const char *const models[] = { "one", "two" };
    static const char text[] = "a very good film";
    picture p[2];
    gsa_cli_enter();
    for (int m = 0; m < 2; m++) {
        char graph[16];
        snprintf(graph, sizeof graph, "%s.graphml", models[m]);
        run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set", "model.encoder=star*2",
                 "--set", m ? "train.seed=2" : "train.seed=1", "--out", models[m]));
        run(ARGS("attend", "--model", models[m], "--text", text, "--quiet", "--out", graph));
        p[m] = read_picture_of(graph);
    }
    run(ARGS("attend", "--model", "one", "--beside", "two", "--text", text, "--quiet", "--out",
             "a.html"));
    browser_start(WIDE, HIGH);
    browser_open("a.html", "view=columns&layer=1&head=1");
    for (int64_t word = 0; word < 4; word++) {
        browser_run("document.querySelectorAll('#text div')[1].children[%d].click()", (int)word);
        for (int list = 0; list < 4; list++) check_list(&p[list / 2], 4 + word, 1, 1, list);
        ck_assert(browser_number("document.querySelectorAll('#text .kept').length") == 2);
    }
    choose("layer", "0");
    for (int list = 0; list < 4; list++) check_list(&p[list / 2], 4 + 3, 0, 1, list);
    browser_shot("models");
    browser_end();
    release_picture(&p[0]), release_picture(&p[1]);
    gsa_cli_leave();
}
END_TEST

/* The place in the address: the middle of the picture, and how far it is enlarged. */
static void place(double box[3])
{
    browser_run("new Promise(done => setTimeout(done, 400))"); /* the address is written late */
    for (int i = 0; i < 3; i++)
        box[i] = browser_number("Number((new URLSearchParams(location.hash.slice(1)).get('box') ?? "
                                "'').split(' ')[%d] ?? -1)",
                                i);
}

/* The page's shares by kind and by label, with the phase `down`, are those of --json. */
static void shares_are_the_numbers(void)
{
    static const char *const parts[] = { "kinds", "labels" };
    int compared = 0;
    json_t *all = json_load_file("a.json", 0, NULL);
    json_t *numbers =
        json_object_get(json_array_get(json_object_get(all, "pictures"), 0), "numbers");
    for (size_t i = 0; i < json_array_size(numbers); i++) {
        json_t *own = json_array_get(numbers, i), *share;
        const char *name;
        if (strcmp(json_string_value(json_object_get(own, "phase")), "down") != 0) continue;
        for (int part = 0; part < 2; part++)
            json_object_foreach (json_object_get(own, parts[part]), name, share) {
                const double shown = browser_number(
                    "(() => { const rows = [...document.querySelectorAll('table.shares')[%d].rows],"
                    " at = [...rows[0].cells].findIndex(c => c.textContent === '%s'); return "
                    "Number(rows.find(r => r.cells[0].textContent === '%d, %d').cells[at]"
                    ".textContent); })()",
                    part, name, (int)json_integer_value(json_object_get(own, "layer")),
                    (int)json_integer_value(json_object_get(own, "head")));
                ck_assert_msg(fabs(shown - json_number_value(share)) < 6e-4, "%s is %g, not %g",
                              name, shown, json_number_value(share));
                compared++;
            }
    }
    ck_assert_int_eq(compared, 4 * (3 + 5)); /* layers x heads; kinds, labels of a star */
    json_decref(all);
}

/* The relay's part of each head's weight, with the phase `down`; a click on it chooses the head. */
START_TEST(the_head_that_reads_the_relay_is_found)
{
    attend();
    run(ARGS("attend", "--model", "text", "--text", "a very good film", "--quiet", "--out",
             "a.json"));
    picture p = read_picture();
    browser_start(WIDE, HIGH);
    browser_open("a.html", "phase=down");
    for (int row = 0; row < 4; row++) {
        double relay = 0, all = 0;
        for (int64_t e = 0; e < p.edges; e++) {
            char *phase = xml_data(p.document, "e_interaction", (int)e);
            const double w = p.weight[1 + row % 2][e];
            if (p.layer[e] == row / 2 && strcmp(phase, "down") == 0)
                all += w, relay += p.edge[e].from == p.nodes - 1 ? w : 0;
            free(phase);
        }
        const double shown = browser_number(
            "Number([...document.querySelector('table.shares').rows[%d].cells].at(-1)"
            ".textContent)",
            row + 1);
        ck_assert_msg(fabs(shown - relay / all) < 6e-4, "row %d is %g, expected %g", row, shown,
                      relay / all);
    }
    shares_are_the_numbers();
    browser_run("document.querySelector('table.shares').rows[4].cells[0].click()");
    browser_says("1 1", "document.getElementById('layer').value + ' ' + "
                        "document.getElementById('head').value");
    browser_end();
    release_picture(&p);
    gsa_cli_leave();
}
END_TEST

/* Zoom and pan reach the address, and the address gives the same place in a larger window. */
START_TEST(the_address_keeps_the_place)
{
    double moved[3], again[3], whole[3];
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "bpt:k=1", "--length", "16", "--out", "a.html"));
    browser_start(WIDE, HIGH);
    browser_open("a.html", "");
    browser_move(400, 400);
    browser_wheel(-300);
    browser_button(1);
    browser_move(450, 430);
    browser_button(0);
    place(moved);
    ck_assert_msg(moved[2] > 1.5 && moved[2] < 1.7, "enlarged by %g", moved[2]);
    json_t *hash = browser_value("location.hash.slice(1)");
    browser_end();
    browser_start(2 * WIDE, HIGH);
    browser_open("a.html", json_string_value(hash));
    browser_key("n");
    place(again);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(fabs(moved[i] - again[i]) < 1e-4 * (1 + fabs(moved[i])), "%g became %g",
                      moved[i], again[i]);
    browser_key("0");
    place(whole);
    ck_assert_msg(whole[1] == -1, "the whole picture has a place");
    json_decref(hash);
    browser_end();
    gsa_cli_leave();
}
END_TEST

/* A number of the bytes that were saved, at an offset after the first place of a text. */
static double saved(const char *text, const char *type, int64_t behind)
{
    return browser_number(
        "window.bytes_.then(all => { const text = new TextDecoder('latin1').decode(all); return "
        "Number(new DataView(all).get%s(text.indexOf('%s') + %lld, true)); })",
        type, text, (long long)behind);
}

/* The weights of the .npz, entry by entry, and the checksum of their file in both headers. */
static void check_npz(const picture *p)
{
    enum { NAME = 10, NPY = 128 }; /* "weight.npy"; the header of an array ends at 128 bytes */
    int64_t at = 0;
    save("z");
    ck_assert(saved("PK", "Uint32", 0) == 0x04034b50);
    for (int64_t e = 0; e < p->edges; e++) {
        if (p->layer[e] != 0) continue;
        const double own = saved("weight.npy", "Float64", NAME + NPY + 8 * at++);
        ck_assert_msg(fabs(own - p->weight[0][e]) < 1e-6, "%g, expected %g", own, p->weight[0][e]);
    }
    ck_assert(saved("weight.npy", "Uint32", -8) == (double)(NPY + 8 * at)); /* its size */
    const double crc = browser_number(
        "window.bytes_.then(all => { const text = new TextDecoder('latin1').decode(all), at = "
        "text.indexOf('weight.npy'), bytes = new Uint8Array(all, at + 10, new DataView(all)"
        ".getUint32(at - 8, true)); let crc = -1; for (const b of bytes) { crc ^= b; for (let i = "
        "0; i < 8; i++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0); } return ~crc >>> 0; })");
    ck_assert(saved("weight.npy", "Uint32", -16) == crc);
    ck_assert(browser_number("window.bytes_.then(all => new DataView(all).getUint16(all.byteLength "
                             "- 12, true))") == 12); /* files of the directory */
}

START_TEST(exports_are_whole)
{
    attend();
    picture p = read_picture();
    browser_start(WIDE, HIGH);
    for (int v = 0; v < BROWSER_VIEWS - 1; v++) {
        char fragment[64];
        snprintf(fragment, sizeof fragment, "view=%s&layer=0", browser_views[v]);
        browser_open("a.html", fragment);
        save("s");
        const char *mark = strcmp(browser_views[v], "matrix") == 0 ? "rect" : "path";
        const int64_t paper = strcmp(mark, "rect") == 0; /* one rectangle is the paper */
        const double marks = browser_number(
            "window.saved_.then(text => { const svg = new DOMParser().parseFromString(text, "
            "'image/svg+xml'); return svg.querySelector('parsererror') ? -1 : "
            "svg.querySelectorAll('%s').length; })",
            mark);
        ck_assert_int_eq((int64_t)marks, count_of(&p, 0, "", "", 0) + paper);
    }
    save("c");
    json_t *text = browser_value("window.saved_");
    char *csv = strdup(json_string_value(text)), *line = csv;
    json_decref(text);
    int64_t lines = 0;
    double sum = 0, expected = 0;
    for (int64_t e = 0; e < p.edges; e++) expected += p.layer[e] == 0 ? p.weight[0][e] : 0;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1, lines++) {
        *end = 0;
        if (lines > 0) sum += strtod(strrchr(line, ',') + 1, NULL);
    }
    ck_assert_int_eq(lines, 1 + count_of(&p, 0, "", "", 0));
    ck_assert_msg(fabs(sum - expected) < 1e-5, "weights of the CSV sum to %g, expected %g", sum,
                  expected);
    free(csv);
    check_npz(&p);
    browser_open("a.html", "view=grid");
    browser_key("s");
    browser_says("the small multiples are pixels: choose one layer and head, and another view",
                 "document.getElementById('count').textContent");
    browser_end();
    release_picture(&p);
    gsa_cli_leave();
}
END_TEST

/* ---- safety -------------------------------------------------------------------------------- */

START_TEST(a_hostile_text_is_shown)
{
    static const char *const hostile[][2] = {
        { "</script><script>document.title='broken'</script>",
          "</script><script>document.title='broken'</script>" },
        { "<img/src=x/onerror=alert(1)>", "<img/src=x/onerror=alert(1)>" },
        { "\u202eright", "\ufffdright" },
        { "\U0001F600\"'&amp;", "\U0001F600\"'&amp;" },
        { "\x7f", "\u2421" },
    };
    gsa_cli_enter();
    browser_start(WIDE, HIGH);
    for (int i = 0; i < GSA_COUNT(hostile); i++) {
        run(ARGS("graph", "--topology", "ring", "--text", hostile[i][0], "--out", "a.html"));
        browser_open("a.html", "node=0");
        browser_says(hostile[i][1], "document.querySelector('#text span').textContent");
        browser_says(hostile[i][1], "document.querySelector('#panel h2').textContent");
        browser_says("gsa: ring", "document.title");
        ck_assert(browser_number("document.scripts.length") == 2 &&
                  browser_number("document.images.length") == 0);
    }
    browser_end();
    gsa_cli_leave();
}
END_TEST

/* A token of a megabyte is cut where it is shown, and each view is painted. */
START_TEST(a_megabyte_is_shown)
{
    enum { SIZE = 1 << 20 };
    char *data = malloc(SIZE + 64);
    int length = sprintf(data, "pos\t");
    for (int i = 0; i < SIZE; i++) data[length++] = "ab<&\"'>/"[i % 8];
    sprintf(data + length, "\nneg\tbad\n");
    gsa_cli_enter();
    gsa_cli_write("big.tsv", data);
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--out", "text"));
    run(ARGS("attend", "--model", "text", "--example", "0", "--set", "data.test=big.tsv", "--quiet",
             "--out", "a.html"));
    browser_start(WIDE, HIGH);
    for (int v = 0; v < BROWSER_VIEWS; v++) {
        char fragment[64];
        snprintf(fragment, sizeof fragment, "node=0&view=%s", browser_views[v]);
        browser_open("a.html", fragment);
        const double shown =
            browser_number("document.querySelector('#panel h2').textContent.length");
        ck_assert_msg(shown == 2000, "%g characters are shown", shown);
    }
    browser_end();
    free(data);
    gsa_cli_leave();
}
END_TEST

/* What somebody writes into the file does not run, and loads nothing. */
START_TEST(the_policy_forbids_all_else)
{
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "ring", "--length", "3", "--out", "a.html"));
    char *page = gsa_cli_read("a.html"), *end = strstr(page, "</body>");
    char *more = malloc(strlen(page) + 512);
    sprintf(more,
            "%.*s<script>document.title = 'broken'</script>"
            "<img src=\"http://127.0.0.1:9/x.png\" onerror=\"document.title='broken'\">"
            "<link rel=stylesheet href=\"http://127.0.0.1:9/x.css\">%s",
            (int)(end - page), page, end);
    gsa_cli_write("b.html", more);
    browser_start(WIDE, HIGH);
    browser_open("b.html", "");
    browser_run("new Promise(done => setTimeout(done, 300))");
    browser_says("gsa: ring", "document.title");
    char *said = browser_complaints();
    ck_assert_msg(strstr(said, "Content Security Policy") != NULL, "'%s'", said);
    free(said), free(page), free(more);
    browser_forgive();
    browser_end();
    gsa_cli_leave();
}
END_TEST

/* ---- speed --------------------------------------------------------------------------------- */

/* Pans for two seconds by the hand; returns frames a second. */
static double frames(void)
{
    browser_run("(() => { window.frames_ = 0; const count = () => { window.frames_++; "
                "requestAnimationFrame(count); }; requestAnimationFrame(count); })()");
    struct timespec now, begin;
    double seconds = 0;
    browser_move(500, 450);
    browser_button(1);
    const double first = browser_number("window.frames_");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; seconds < 2; i++) {
        browser_move(500 + 100 * sin(i * 0.1), 450 + 60 * cos(i * 0.1));
        clock_gettime(CLOCK_MONOTONIC, &now);
        seconds =
            (double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec);
    }
    const double last = browser_number("window.frames_");
    browser_button(0);
    return (last - first) / seconds;
}

/* Edges that the frames of a drag go through, each at most. */
static double work(void)
{
    double most = 0;
    browser_move(500, 450);
    browser_button(1);
    for (int i = 0; i < 20; i++) {
        browser_move(500 + 5 * i, 450 + 3 * i);
        browser_run("new Promise(done => requestAnimationFrame(done))");
        most = fmax(most, browser_number("Number(document.documentElement.dataset.work)"));
    }
    browser_button(0);
    return most;
}

/* 5,000 nodes, 502,450 edges: a frame of a drag goes once through the edges of a matrix, and draws
 * a part of the lines at most: the rest follows in later frames. With GSA_TEST_FRAMES, for a quiet
 * machine, its speed is measured too: the first picture under a second, 30 frames a second. */
START_TEST(half_a_million_edges_are_fluid)
{
    enum { EDGES = 502450 };
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "window:width=101", "--length", "5000", "--out", "a.html"));
    browser_start(WIDE, HIGH);
    browser_open("a.html", "");
    const double first = browser_number("Number(document.documentElement.dataset.first)");
    ck_assert(work() == EDGES);
    const double matrix = getenv("GSA_TEST_FRAMES") ? frames() : 0;
    browser_open("a.html", "view=arcs"); /* until all lines are there */
    const double lines = work();
    ck_assert_msg(lines <= EDGES / 4, "a frame draws %.0f lines", lines);
    if (matrix > 0) {
        const double arcs = frames();
        printf("first picture after %.0f ms; matrix %.0f, arcs %.0f frames a second\n", first,
               matrix, arcs);
        ck_assert(first < 1000 && matrix >= 30 && arcs >= 30);
    }
    browser_shot("speed-arcs");
    browser_end();
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test numbers[] = { GSA_TEST(what_a_node_reads_is_the_graphmls),
                                        GSA_TEST(the_pointer_finds_rows_and_cells),
                                        GSA_TEST(filters_count_as_the_graphml),
                                        GSA_TEST(a_head_has_its_own_edges),
                                        GSA_TEST(spans_have_names),
                                        GSA_TEST(a_word_receives_what_its_nodes_receive),
                                        GSA_TEST(the_head_that_reads_the_relay_is_found),
                                        GSA_TEST(two_patterns_share_the_selection),
                                        GSA_TEST(two_models_share_the_selection),
                                        GSA_TEST(exports_are_whole),
                                        GSA_TEST(the_address_keeps_the_place) };
    static const gsa_test safety[] = { GSA_TEST(a_hostile_text_is_shown),
                                       GSA_TEST(a_megabyte_is_shown),
                                       GSA_TEST(the_policy_forbids_all_else) };
    static const gsa_test speed[] = { GSA_TEST(half_a_million_edges_are_fluid) };
    static const gsa_case cases[] = { GSA_CASE("numbers", numbers, 120),
                                      GSA_CASE("safety", safety, 60),
                                      GSA_CASE("speed", speed, 120) };
    if ((argc < 2 || strcmp(argv[1], "--cases") != 0) && !browser_is_here()) {
        printf("browser: skipped, there is no chromium\n");
        return 77;
    }
    return gsa_run_suite("browser", cases, GSA_COUNT(cases), argc, argv);
}
