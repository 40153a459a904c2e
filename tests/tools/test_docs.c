/* What docs/ commits next to its text: results that the command reads, pictures and files that some
 * page shows, links that lead somewhere. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "graph/system.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })
enum { FILES = 256, PATH = 512 };

static gsa_ran ran;

typedef struct files {
    char name[FILES][128];
    int count;
} files;

static int keep(void *context, const char *name)
{
    files *f = context;
    if (name[0] == '.') return 0;
    ck_assert_int_lt(f->count, FILES);
    snprintf(f->name[f->count++], sizeof *f->name, "%s", name);
    return 0;
}

static files files_of(const char *folder)
{
    files f = { .count = 0 };
    const gsa_system *system = gsa_system_default();
    ck_assert_msg(system->list(system->user, folder, keep, &f) == 0 && f.count > 0, "%s", folder);
    return f;
}

static int ends(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* README.md and every page of docs/ in one text, which the caller frees. */
static char *pages(void)
{
    const files docs = files_of(GSA_SOURCE "/docs");
    char *all = gsa_cli_read(GSA_SOURCE "/README.md");
    for (int i = 0; i < docs.count; i++) {
        char path[PATH];
        if (!ends(docs.name[i], ".md")) continue;
        snprintf(path, sizeof path, GSA_SOURCE "/docs/%s", docs.name[i]);
        char *page = gsa_cli_read(path);
        all = realloc(all, strlen(all) + strlen(page) + 1);
        strcat(all, page);
        free(page);
    }
    return all;
}

/* ---- results ------------------------------------------------------------------------------- */

/* Two whole numbers that the first case that was measured has. */
static void two_keys(const json_t *all, char key[2][64], const char *path)
{
    size_t i;
    json_t *one, *value;
    const char *name;
    int found = 0;
    json_array_foreach (json_object_get(all, "cases"), i, one) {
        if (json_object_get(one, "skipped")) continue;
        json_object_foreach (one, name, value)
            if (json_is_integer(value) && found < 2) snprintf(key[found++], 64, "%s", name);
        break;
    }
    ck_assert_msg(found == 2, "%s: no case with figures", path);
}

static void check_chart(const char *path, const char *x, const char *y)
{
    gsa_cli_run(ARGS("chart", path, "--x", x, "--y", y, "--out", "c.svg"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}

START_TEST(the_command_reads_every_result)
{
    const files results = files_of(GSA_SOURCE "/docs/results");
    gsa_cli_enter();
    for (int i = 0; i < results.count; i++) {
        char path[PATH], key[2][64];
        snprintf(path, sizeof path, GSA_SOURCE "/docs/results/%s", results.name[i]);
        ck_assert_msg(ends(path, ".jsonl") || ends(path, ".json"), "%s: results are JSON", path);
        if (ends(path, ".jsonl")) {
            gsa_cli_run(ARGS("table", path), NULL, &ran);
            ck_assert_msg(ran.code == 0 && strncmp(ran.out, "| ", 2) == 0, "%s %s", ran.out,
                          ran.err);
            check_chart(path, "seed", "seconds");
            continue;
        }
        json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
        two_keys(all, key, path);
        json_decref(all);
        check_chart(path, key[0], key[1]);
    }
    gsa_cli_leave();
}
END_TEST

/* ---- pages --------------------------------------------------------------------------------- */

START_TEST(every_file_is_shown)
{
    static const char *const folders[] = { "pictures", "results" };
    char *text = pages();
    for (int f = 0; f < GSA_COUNT(folders); f++) {
        char folder[PATH];
        snprintf(folder, sizeof folder, GSA_SOURCE "/docs/%s", folders[f]);
        const files there = files_of(folder);
        for (int i = 0; i < there.count; i++)
            ck_assert_msg(strstr(text, there.name[i]) != NULL, "no page names %s/%s", folder,
                          there.name[i]);
    }
    free(text);
}
END_TEST

/* Links of one page to files: "](path)", "](path#section)". */
static int check_links(const char *folder, const char *page)
{
    char path[PATH], target[PATH], file[2 * PATH];
    int links = 0;
    snprintf(path, sizeof path, "%s/%s", folder, page);
    char *text = gsa_cli_read(path);
    for (const char *at = strstr(text, "]("); at; at = strstr(at + 2, "](")) {
        const int bytes = (int)strcspn(at + 2, ")#\n ");
        if (bytes == 0 || at[2 + bytes] == '\n' || strncmp(at + 2, "http", 4) == 0) continue;
        snprintf(target, sizeof target, "%.*s", bytes, at + 2);
        snprintf(file, sizeof file, "%s/%s", folder, target);
        ck_assert_msg(gsa_cli_exists(file), "%s links to %s, which is not there", page, target);
        links++;
    }
    free(text);
    return links;
}

/* Fences with a language that tools/readme-commands does not run, and who runs them or why nobody
 * does. */
static const struct {
    const char *page, *opens, *first, *why;
} elsewhere[] = {
    { "design.md", "```text", "tools/", "a drawing" },
    { "design.md", "```text", "line of text", "a drawing" },
    { "models.md", "```c", "enum { SOURCE", "install.sh compiles it (models_page.c)" },
    { "models.md", "```c", "const gsa_model_pass", "install.sh compiles it (models_page.c)" },
    { "file-formats.md", "```python", "from safetensors", "needs a run of the reader's" },
    { "plugin-trouble.md", "```sh", "cc -std=c11 -g", "needs the reader's plugin" },
    { "plugin-trouble.md", "```sh", "LD_PRELOAD=", "needs the reader's plugin" },
    { "plugin-trouble.md", "```sh", "gdb ", "needs gdb and a plugin that crashes" },
    { "python.md", "```sh", "pip install", "python.sh builds and installs the wheel" },
    { "scaling.md", "```sh", "", "mpi.sh runs such jobs with mpirun" },
};

START_TEST(every_fence_is_run)
{
    const files docs = files_of(GSA_SOURCE "/docs");
    int seen[GSA_COUNT(elsewhere)] = { 0 }, fences = 0;
    for (int i = -1; i < docs.count; i++) {
        char path[PATH];
        if (i >= 0 && !ends(docs.name[i], ".md")) continue;
        snprintf(path, sizeof path, "%s/%s", i < 0 ? GSA_SOURCE : GSA_SOURCE "/docs",
                 i < 0 ? "README.md" : docs.name[i]);
        char *text = gsa_cli_read(path);
        for (const char *at = strstr(text, "\n```"); at; at = strstr(at + 1, "\n```")) {
            const char *line = at + 1, *body = strchr(line, '\n') + 1;
            const int bytes = (int)(body - 1 - line);
            if (bytes == 3) continue; /* a closing one */
            fences++;
            if (strncmp(line, "```sh ci\n", 9) == 0 || strncmp(line, "```python ci\n", 13) == 0 ||
                strncmp(line, "```c file=", 10) == 0)
                continue;
            int known = 0;
            for (int k = 0; k < GSA_COUNT(elsewhere); k++)
                if (strstr(path, elsewhere[k].page) && (int)strlen(elsewhere[k].opens) == bytes &&
                    strncmp(line, elsewhere[k].opens, (size_t)bytes) == 0 &&
                    strncmp(body + strspn(body, " "), elsewhere[k].first,
                            strlen(elsewhere[k].first)) == 0)
                    known = seen[k] = 1;
            ck_assert_msg(known, "%s: nobody runs the block %.*s", path, bytes + 60, line);
        }
        free(text);
    }
    for (int k = 0; k < GSA_COUNT(elsewhere); k++)
        ck_assert_msg(seen[k], "%s has no block '%s...': %s", elsewhere[k].page, elsewhere[k].first,
                      elsewhere[k].why);
    ck_assert_int_gt(fences, 30);
}
END_TEST

START_TEST(links_lead_to_files)
{
    const files docs = files_of(GSA_SOURCE "/docs");
    int links = check_links(GSA_SOURCE, "README.md") + check_links(GSA_SOURCE, "CONTRIBUTING.md");
    for (int i = 0; i < docs.count; i++)
        if (ends(docs.name[i], ".md")) links += check_links(GSA_SOURCE "/docs", docs.name[i]);
    ck_assert_int_gt(links, 20);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test results[] = { GSA_TEST(the_command_reads_every_result) };
    static const gsa_test shown[] = { GSA_TEST(every_file_is_shown), GSA_TEST(links_lead_to_files),
                                      GSA_TEST(every_fence_is_run) };
    static const gsa_case cases[] = { GSA_CASE("results", results, 60),
                                      GSA_CASE("pages", shown, 20) };
    return gsa_run_suite("docs", cases, GSA_COUNT(cases), argc, argv);
}
