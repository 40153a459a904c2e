/* gsa-inspect - numbers and pictures of a pattern's GraphML. A program of its own because it links
 * igraph. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/inspect/inspect.h"
#include "tools/command/inspect_report.h"
#include "tools/command/verbs.h"

static gsa_status draw(const gsa_args *args, const gsa_view *view, gsa_error *error)
{
    const char *style = gsa_args_text(args, "style");
    gsa_drawing_options options = { .focus = (int32_t)gsa_args_number(args, "node", -1),
                                    .title = gsa_args_text(args, "title") };
    while (strcmp(gsa_style_names[options.style], style) != 0) options.style++;
    gsa_output *out;
    gsa_status status =
        gsa_output_open(gsa_args_system(args), gsa_args_text(args, "svg"), &out, error);
    if (status != GSA_OK) return status;
    status = gsa_view_draw(view, &options, out, error);
    if (status == GSA_OK) return gsa_output_commit(out, error);
    gsa_output_abandon(out);
    return status;
}

static gsa_status report(const gsa_args *args, const gsa_view *view, gsa_error *error)
{
    gsa_measures *measures;
    gsa_output *out;
    gsa_status status = gsa_view_measure(view, &measures, error);
    if (status != GSA_OK) return status;
    status = gsa_output_open(gsa_args_system(args), "-", &out, error);
    if (status == GSA_OK) {
        if (gsa_args_flag(args, "json")) status = gsa_report_json(view, measures, out, error);
        else gsa_report_table(view, measures, (int)gsa_args_number(args, "labels", 0), out);
        const gsa_status printed = gsa_output_commit(out, status == GSA_OK ? error : NULL);
        if (status == GSA_OK) status = printed;
    }
    gsa_measures_release(measures);
    return status;
}

/* Numbers where they are requested, or where nothing else is. */
static int wants_numbers(const gsa_args *args)
{
    return gsa_args_flag(args, "stats") || gsa_args_flag(args, "json") ||
           !gsa_args_given(args, "svg");
}

/* What is said of a picture, where none is drawn, would do nothing. */
static gsa_status check_of_picture(const gsa_args *args, gsa_error *error)
{
    static const char *const of_picture[] = { "style", "node", "title" };
    for (size_t i = 0; i < sizeof of_picture / sizeof *of_picture && !gsa_args_given(args, "svg");
         i++)
        if (gsa_args_given(args, of_picture[i]))
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "'gsa-inspect --%s' is of a picture: give --svg FILE too",
                            of_picture[i]);
    return GSA_OK;
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_view *view;
    if (wants_numbers(args) && gsa_args_given(args, "svg") &&
        strcmp(gsa_args_text(args, "svg"), "-") == 0)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "'gsa-inspect --svg -' and numbers would share standard output: give a file");
    gsa_status status = check_of_picture(args, error);
    if (status == GSA_OK) status = gsa_args_svg(args, "svg", error);
    if (status == GSA_OK)
        status = gsa_view_read(gsa_args_system(args), gsa_args_operand(args, 0), &view, error);
    if (status != GSA_OK) return status;
    gsa_error note; /* with the file's names, which command no terminal */
    gsa_fail(&note, GSA_OK, "igraph warns: %s", view->note);
    if (view->note[0]) fprintf(stderr, "gsa-inspect: %s\n", note.text);
    status = gsa_view_select(view, (int32_t)gsa_args_number(args, "layer", -1),
                             gsa_args_text(args, "phase"),
                             (int32_t)gsa_args_number(args, "head", -1), error);
    if (status == GSA_OK && gsa_args_given(args, "svg")) status = draw(args, view, error);
    if (status == GSA_OK && wants_numbers(args)) status = report(args, view, error);
    gsa_view_release(view);
    return status;
}

static const gsa_option options[] = {
    { "stats", GSA_OPTION_FLAG, "", NULL, "unless --svg is given alone", 0, 0,
      "nodes, edges, degrees, components, distances and labels as a table" },
    { "json", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "the same as JSON" },
    { "labels", GSA_OPTION_NUMBER, "N", "20", NULL, 0, INT32_MAX,
      "labels that the table shows, the most frequent ones; 0: all" },
    { "svg", GSA_OPTION_OUTPUT, "FILE", NULL, NULL, 0, 0, "draw the graph; - is standard output" },
    { "style", GSA_OPTION_CHOICE, "auto|arc|tree|bipartite|matrix|circle|heads|force", "auto", NULL,
      0, 0, "auto: by the levels, spans and kinds in the file; matrix above 500 nodes" },
    { "layer", GSA_OPTION_NUMBER, "N", NULL, "all layers together", 0, INT32_MAX,
      "edges of one layer only" },
    { "phase", GSA_OPTION_TEXT, "NAME", NULL, "all phases", 0, 0, "edges of one phase only" },
    { "head", GSA_OPTION_NUMBER, "N", NULL, "the mean over heads", 0, 4096,
      "the weights of one head" },
    { "node", GSA_OPTION_NUMBER, "N", NULL, "all nodes", 0, INT32_MAX,
      "draw only the edges into one node, counted from 0" },
    { "title", GSA_OPTION_TEXT, "T", NULL, "what the file says of itself", 0, 0,
      "the picture's title" },
};
static const gsa_verb inspect = {
    .name = "inspect",
    .program = "gsa-inspect",
    .summary = "look at a pattern's GraphML: numbers and pictures",
    .operands = "FILE.graphml",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "FILE is what gsa graph writes, or any other GraphML; - is standard input.\n"
             "gsa-inspect --man writes the manual page, in roff; --version the version.",
    .run = run
};

const gsa_verb *const *gsa_verbs(int *count)
{
    static const gsa_verb *const verbs[] = { &inspect };
    *count = 1;
    return verbs;
}

enum text { VERSION, HELP, MAN };

static gsa_status print(const gsa_system *system, enum text text, gsa_error *error)
{
    gsa_output *out;
    const gsa_status status = gsa_output_open(system, "-", &out, error);
    if (status != GSA_OK) return status;
    if (text == HELP) gsa_write_help(out, &inspect);
    else if (text == MAN) gsa_write_man_program(out, &inspect);
    else gsa_output_format(out, "gsa-inspect %s\n", GSA_VERSION);
    return gsa_output_commit(out, error);
}

static gsa_status start(int argc, char **argv, gsa_error *error)
{
    gsa_args *args;
    gsa_system system = *gsa_tidy_system();
    gsa_keep_inputs(&system);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) return print(&system, VERSION, error);
    if (argc == 2 && strcmp(argv[1], "--man") == 0) return print(&system, MAN, error);
    gsa_status status = gsa_args_parse(&system, &inspect, NULL, argv + 1, argc - 1, &args, error);
    if (status != GSA_OK) return status;
    status = gsa_args_help(args) ? print(&system, HELP, error) : run(args, error);
    gsa_args_release(args);
    return status;
}

int main(int argc, char **argv)
{
    gsa_error error = { 0 };
    const gsa_status status = start(argc, argv, &error);
    if (status != GSA_OK) fprintf(stderr, "gsa-inspect: %s\n", error.text);
    return status == GSA_OK                                         ? GSA_EXIT_OK
           : status == GSA_ERR_ARGUMENT || status == GSA_ERR_FORMAT ? GSA_EXIT_USAGE
                                                                    : GSA_EXIT_FAILED;
}
