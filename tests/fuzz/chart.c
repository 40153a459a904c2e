/* JSON records as the lines of a chart, and its picture. */
#include "tools/command/chart.h"
#include "fuzz.h"

static void draw(const gsa_chart *chart, const gsa_chart_source *source, int zero)
{
    const gsa_chart_look look = { .title = "",
                                  .x_label = "x",
                                  .y_label = "y",
                                  .log_x = source->log_x,
                                  .log_y = source->log_y,
                                  .zero = zero };
    gsa_output *output;
    gsa_error error;
    FUZZ_CHECK(gsa_output_open(NULL, "/dev/null", &output, &error) == GSA_OK);
    gsa_chart_write(chart, &look, output);
    FUZZ_CHECK(gsa_output_commit(output, &error) == GSA_OK);
}

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    static const char *const y[] = { "y", "z.y=other" }, *const where[] = { "w=1" };
    const gsa_chart_source source = { .x = at[0] & 1 ? "x" : "z.x",
                                      .series = at[0] & 2 ? "topology" : NULL,
                                      .y = y,
                                      .n_y = 1 + (at[0] >> 2 & 1),
                                      .where = where,
                                      .n_where = at[0] >> 3 & 1,
                                      .log_x = at[0] & 16   ? 10
                                               : at[0] & 32 ? 2
                                                            : 0,
                                      .log_y = at[0] & 64 ? 10 : GSA_CHART_AUTO,
                                      .n_files = 1 };
    gsa_chart chart;
    gsa_error error;
    (void)bytes;
    const gsa_status status = gsa_chart_read(system, &source, &path, &chart, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    draw(&chart, &source, at[0] >> 7);
    gsa_chart_release(&chart);
}
