/* test_views.c - every kind of page of every topology in a headless Chromium: each view in both
 * themes and three sizes of the window, attention, a run's report. Skipped where there is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "browser.h"
#include "cli.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

static void run(const char *const *args)
{
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
}

static const struct {
    const char *topology, *more[4];
    int length;
} patterns[] = {
    { "bigbird", { NULL }, 24 },
    { "bpt:k=2", { NULL }, 24 },
    { "char_word:local=adjacent",
      { "--text", "\u5317\u4eac\u5927\u5b66\u751f", "--tokens", "chars" },
      -1 },
    { "bpt:k=1:causal=1+cross", { "--memory", "star", "--memory-length", "5" }, 6 },
    { "dilated", { NULL }, 24 },
    { "file:path=edges.txt", { NULL }, 4 },
    { "full:clip=4", { NULL }, 12 },
    { "head_area:width=5:heads=3", { "--heads", "4" }, 9 },
    { "longformer", { NULL }, 24 },
    { "ring", { NULL }, 12 },
    { "star*3", { NULL }, 12 },
    { "strided", { NULL }, 24 },
    { "window:width=5,full", { NULL }, 12 },
    { "star", { NULL }, 1 },
    { "window", { NULL }, 0 },
    { "full", { NULL }, 64 }, /* 4,096 edges: completed between frames */
};

/* Goes through the views of one by their keys. */
static void look_at(int pattern, int dark)
{
    char name[64], page[24];
    snprintf(page, sizeof page, "%d.html", pattern);
    browser_dark(dark);
    browser_open(page, "");
    browser_says(dark ? "dark" : "light", "document.documentElement.dataset.theme");
    ck_assert_msg(
        browser_number("(() => { const ids = [...document.querySelectorAll('[id]')].map(e "
                       "=> e.id); return ids.length - new Set(ids).size; })()") == 0,
        "two elements have one id");
    for (int v = 0; v < BROWSER_VIEWS; v++) {
        char key[2] = { (char)('1' + v), 0 };
        browser_key(key);
        browser_says(browser_views[v],
                     "document.querySelector('#views [aria-checked=true]').textContent");
        browser_key("n");
        browser_key("Escape");
        browser_run(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
        snprintf(name, sizeof name, "%02d-%s-%s", pattern, browser_views[v],
                 dark ? "dark" : "light");
        browser_shot(name);
    }
    for (const char *key = "scz?t"; *key; key++) browser_key((const char[]){ *key, 0 });
    browser_says(dark ? "light" : "dark", "document.documentElement.dataset.theme");
}

/* One Chromium for each size of the window. */
START_TEST(every_view_of_every_pattern)
{
    static const int sizes[][2] = { { 1200, 800 }, { 1920, 1080 }, { 600, 700 } };
    gsa_cli_enter();
    gsa_cli_write("edges.txt", "0 0\n1 1\n2 2\n3 3\n0 1\n1 2\n2 3\n");
    browser_start(sizes[_i][0], sizes[_i][1]);
    for (int p = _i; p < GSA_COUNT(patterns); p += GSA_COUNT(sizes)) {
        char length[16], page[24];
        const char *args[GSA_CLI_ARGS + 1] = { "graph", "--topology", patterns[p].topology, "--out",
                                               page };
        int n = 5;
        snprintf(page, sizeof page, "%d.html", p);
        snprintf(length, sizeof length, "%d", patterns[p].length);
        if (patterns[p].length >= 0) args[n++] = "--length", args[n++] = length;
        for (int i = 0; i < 4 && patterns[p].more[i]; i++) args[n++] = patterns[p].more[i];
        run(args);
        look_at(p, 0), look_at(p, 1);
    }
    browser_end();
    gsa_cli_leave();
}
END_TEST

/* A model of each topology: its attention, and the report of its run with the worst errors. Nothing
 * on the console, no request: browser_end. A file has its own nodes. */
static const char *const encoders[] = { "bigbird", "bpt:k=2",    "char_word:lexicon=words.txt",
                                        "dilated", "full",       "head_area:width=5:heads=1",
                                        "ring",    "longformer", "star",
                                        "strided", "window",     "file:path=edges.txt" };

START_TEST(attention_and_report_of_every_topology)
{
    char encoder[64], out[8];
    gsa_cli_enter();
    gsa_cli_write("words.txt", "good film\nfilm\n");
    gsa_cli_write("edges.txt", "0 0\n1 1\n2 2\n3 3\n0 1\n1 2\n2 3\n");
    gsa_cli_write("nodes", "0\ttrain\tx\t0:1\n1\tdev\ty\t1:1\n2\ttest\tx\t0:1\n3\tdev\tx\t0:1\n");
    gsa_cli_write("nodes.ini", "[task]\nname = node_classification\n[model]\nhidden = 8\n"
                               "heads = 2\n[data]\ntrain = nodes\n");
    browser_start(1200, 800);
    for (int i = 0; i < GSA_COUNT(encoders); i++) {
        const int nodes = i == GSA_COUNT(encoders) - 1;
        snprintf(encoder, sizeof encoder, "model.encoder=%s", encoders[i]);
        snprintf(out, sizeof out, "r%d", i);
        run(ARGS("train", nodes ? "nodes.ini" : "text.ini", "--quiet", "--threads", "1", "--set",
                 encoder, "--set", "train.max_steps=1", "--out", out));
        run(ARGS("attend", "--model", out, nodes ? "--example" : "--text",
                 nodes ? "0" : "a good film a", "--quiet", "--out", "a.html"));
        browser_open("a.html", "");
        ck_assert_msg(browser_number("parseInt(document.getElementById('count').textContent)") > 0,
                      "%s has no edges", encoders[i]);
        char report[24];
        snprintf(report, sizeof report, "%s/report.json", out);
        run(ARGS("eval", "--model", out, "--json", report, "--quiet"));
        run(ARGS("report", out, "--out", "r.html"));
        browser_open("r.html", "");
        snprintf(encoder, sizeof encoder, "%s*1", encoders[i]);
        browser_says(encoder, "[...document.querySelectorAll('#results tr')].find(r => "
                              "r.cells[0].textContent === 'encoder').cells[1].textContent");
    }
    browser_end();
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test pages[] = { GSA_LOOP(every_view_of_every_pattern, 3) };
    static const gsa_test models[] = { GSA_TEST(attention_and_report_of_every_topology) };
    static const gsa_case cases[] = { GSA_CASE("patterns", pages, 120),
                                      GSA_CASE("models", models, 120) };
    if ((argc < 2 || strcmp(argv[1], "--cases") != 0) && !browser_is_here()) {
        printf("views: skipped, there is no chromium\n");
        return 77;
    }
    return gsa_run_suite("views", cases, GSA_COUNT(cases), argc, argv);
}
