/* gsa table - results of many runs (results.jsonl) as one table (train/runs/results.h). */
#include <stdio.h>
#include <string.h>
#include "graph/anchor.h"
#include "graph/system_parts.h"
#include "tools/command/sweep.h"

enum { FILES = 64 };

/* Characters, of which a UTF-8 one counts once. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++) width += (*text & 0xC0) != 0x80;
    return width;
}

static const char *cell_of(const gsa_table *table, int row, int column)
{
    return table->cell[row * table->columns + column];
}

void gsa_print_table(const gsa_table *table)
{
    for (int r = 0; r < table->rows; r++) {
        for (int c = 0; c < table->columns; c++) {
            int widest = 0;
            for (int i = 0; i < table->rows; i++) {
                const int width = width_of(cell_of(table, i, c));
                widest = width > widest ? width : widest;
            }
            const char *text = cell_of(table, r, c);
            const int pad = widest - width_of(text), left = c < table->texts,
                      last = c == table->columns - 1;
            fprintf(stderr, "%*s%s%*s", left ? 0 : pad, "", text, (left ? pad : 0) + (last ? 0 : 2),
                    "");
        }
        fputc('\n', stderr);
    }
}

static void write_markdown(const gsa_table *table, gsa_output *out)
{
    for (int r = 0; r < table->rows; r++) {
        for (int c = 0; c < table->columns; c++) {
            gsa_output_text(out, c ? " " : "| ");
            for (const char *at = cell_of(table, r, c); *at; at++) {
                if (*at == '|') gsa_output_text(out, "\\");
                gsa_output_write(out, at, 1);
            }
            gsa_output_text(out, " |");
        }
        gsa_output_text(out, "\n");
        for (int c = 0; r == 0 && c < table->columns; c++)
            gsa_output_format(out, "%s%s", c < table->texts ? "|---" : "|---:",
                              c < table->columns - 1 ? "" : "|\n");
    }
}

enum { PATH = 4096 };

static gsa_status read_folder(const gsa_system *system, const char *folder, gsa_results *results,
                              gsa_error *error)
{
    char file[PATH];
    int lines, one = GSA_FILE_ABSENT;
    gsa_status status = gsa_see_in(system, folder, "results.jsonl", &lines, error);
    if (status == GSA_OK) status = gsa_see_in(system, folder, "result.json", &one, error);
    if (status != GSA_OK) return status;
    if (lines != GSA_FILE_ABSENT) {
        snprintf(file, sizeof file, "%s/results.jsonl", folder);
        status = gsa_check_regular(system, file, error);
        return status == GSA_OK ? gsa_results_read(results, system, file, error) : status;
    }
    if (one != GSA_FILE_ABSENT) return gsa_results_read_run(results, system, folder, error);
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "folder '%s' holds neither results.jsonl nor the result.json of a run: gsa "
                    "train --seeds or --each "
                    "writes the one into the folder of its runs, gsa train --out the other",
                    folder);
}

/* Which stays the one that was opened. */
static gsa_status hold_folder(const gsa_system *system, const char *path, gsa_results *results,
                              gsa_error *error)
{
    gsa_anchor *folder;
    gsa_status status = gsa_anchor_open(system, system, path, &folder, error);
    if (status == GSA_OK)
        status = read_folder(gsa_anchor_system(folder, system), path, results, error);
    gsa_anchor_close(folder);
    return status;
}

/* A file of results, a folder of runs that holds one, or a run: its folder or its result.json. */
static gsa_status read_operand(const gsa_system *system, const char *path, gsa_results *results,
                               gsa_error *error)
{
    char folder[PATH] = ".";
    const char *slash = strrchr(path, '/');
    int kind, config = GSA_FILE_ABSENT;
    gsa_status status = gsa_see(system, path, &kind, error);
    if (status != GSA_OK) return status;
    if (kind == GSA_FILE_FOLDER) return hold_folder(system, path, results, error);
    if (slash && slash - path < PATH)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (strcmp(slash ? slash + 1 : path, "result.json") == 0)
        status = gsa_see_in(system, folder, "config.ini", &config, error);
    if (status != GSA_OK) return status;
    return config != GSA_FILE_ABSENT ? gsa_results_read_run(results, system, folder, error)
                                     : gsa_results_read(results, system, path, error);
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_results *results = NULL;
    gsa_table table = { 0 };
    gsa_output *out;
    gsa_status status = gsa_results_create(gsa_args_system(args), &results, error);
    for (int i = 0; i < gsa_args_operands(args) && status == GSA_OK; i++)
        status = read_operand(gsa_args_system(args), gsa_args_operand(args, i), results, error);
    if (status == GSA_OK) status = gsa_results_table(results, &table, error);
    if (status == GSA_OK && table.rows < 2)
        status = gsa_fail(
            error, GSA_ERR_FORMAT, "no result is in '%s'%s: expected lines of gsa train --results",
            gsa_args_operand(args, 0), gsa_args_operands(args) > 1 ? " and the others" : "");
    if (status == GSA_OK) status = gsa_output_open(gsa_args_system(args), "-", &out, error);
    if (status == GSA_OK) {
        write_markdown(&table, out);
        status = gsa_output_commit(out, error);
    }
    gsa_table_release(&table);
    gsa_results_release(results);
    return status;
}

const gsa_verb gsa_verb_table = {
    .name = "table",
    .summary = "make a Markdown table of the results of many runs",
    .operands = "RESULTS...",
    .least = 1,
    .most = FILES,
    .notes = "Reads the lines that gsa train --seeds, --each and --results write, and runs of gsa "
             "train --out: a folder of "
             "runs stands for its results.jsonl, a run's folder for its result.json. A row holds "
             "the runs that agree in every "
             "key but the seed, and is named by what others do not share with it: mean and "
             "standard deviation (n - 1) over "
             "its seeds. Of a line without a setting nothing is known: it is a row, named by file "
             "and line. Rows of averages "
             "follow over names that are no keys; seconds of a run, on its machine.",
    .run = run
};
