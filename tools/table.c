/* gsa table - results of many runs (results.jsonl) as one table (train/runs/results.h). */
#include <stdio.h>
#include <string.h>
#include "sweep.h"

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
            const int pad = widest - width_of(text), left = c < table->texts, last = c == table->columns - 1;
            fprintf(stderr, "%*s%s%*s", left ? 0 : pad, "", text, (left ? pad : 0) + (last ? 0 : 2), "");
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
            gsa_output_format(out, "%s%s", c < table->texts ? "|---" : "|---:", c < table->columns - 1 ? "" : "|\n");
    }
}

/* A file of results, or a folder of runs that holds one. */
static gsa_status read_operand(const gsa_system *system, const char *path, gsa_results *results, gsa_error *error)
{
    char file[4096];
    if (system->kind(system->user, path, NULL) != GSA_FILE_FOLDER) return gsa_results_read(results, path, error);
    snprintf(file, sizeof file, "%s/results.jsonl", path);
    if (system->kind(system->user, file, NULL) != GSA_FILE_ABSENT) return gsa_results_read(results, file, error);
    return gsa_fail(
        error, GSA_ERR_ARGUMENT,
        "folder '%s' holds no results.jsonl: gsa train --seeds or --each writes one into the folder of its runs, "
        "--results FILE anywhere",
        path);
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
        status = gsa_fail(error, GSA_ERR_FORMAT, "no result stands in '%s'%s: expected lines of gsa train --results",
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
    .operands = "RESULTS.jsonl...",
    .least = 1,
    .most = FILES,
    .notes = "Reads the lines that gsa train --seeds, --each and --results write; a folder of runs stands for "
             "its results.jsonl. A row for "
             "each recipe, encoder and value of what was "
             "varied: mean and standard deviation (n - 1) over its seeds; rows of averages "
             "over names that are no keys; seconds of a "
             "run, on its machine.",
    .run = run
};
