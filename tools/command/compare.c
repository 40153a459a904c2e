/* gsa compare - whether one run, or one set of runs, is better than another
 * (train/runs/compare.h). */
#include <stdio.h>
#include <string.h>
#include "train/task_parts.h"
#include "train/runs/compare.h"
#include "tools/command/verbs.h"

static void write_json(const gsa_args *args, const char *split, const gsa_compared *c,
                       gsa_output *out)
{
    gsa_output_format(out,
                      "{\"compare\": \"paired_bootstrap\", \"split\": \"%s\", \"metric\": \"%s\", "
                      "\"a\": %.8g, \"b\": %.8g, "
                      "\"difference\": %.8g, \"low\": %.8g, \"high\": %.8g, \"p\": %.8g, "
                      "\"pairs\": %d, \"a_better\": %d, "
                      "\"b_better\": %d, \"units\": %lld, \"samples\": %lld, \"seed\": %lld}\n",
                      split, c->metric, c->a, c->b, c->difference, c->low, c->high, c->p, c->pairs,
                      c->better, c->worse, (long long)c->units, (long long)c->samples,
                      (long long)gsa_args_number(args, "seed", 1));
}

static void write_text(const char *split, const gsa_compared *c, gsa_output *out)
{
    gsa_output_format(out, "%s %s, %s is better; %lld units, %d %s of runs, %lld resamples\n",
                      split, c->metric, c->rising ? "more" : "less", (long long)c->units, c->pairs,
                      c->pairs == 1 ? "pair" : "pairs", (long long)c->samples);
    gsa_output_format(out, "  A            %.4f\n  B            %.4f\n", c->a, c->b);
    gsa_output_format(out, "  A - B        %+.4f, 95 %% interval %+.4f to %+.4f\n", c->difference,
                      c->low, c->high);
    gsa_output_format(out, "  p            %.4f, two-sided\n", c->p);
    gsa_output_format(out, "  pairs        A is better in %d, B in %d, equal %d\n", c->better,
                      c->worse, c->pairs - c->better - c->worse);
}

static gsa_status compare(const gsa_args *args, gsa_output *out, gsa_error *error)
{
    const gsa_compare_options options = { .metric = gsa_args_text(args, "metric"),
                                          .samples = gsa_args_number(args, "samples", 10000),
                                          .seed = (uint32_t)gsa_args_number(args, "seed", 1) };
    const char *asked = gsa_args_text(args, "split");
    int some = 0;
    for (int i = GSA_SPLIT_DEV; i < GSA_SPLITS; i++) {
        gsa_compared compared;
        int there;
        if (asked && strcmp(asked, gsa_split_name(i)) != 0) continue;
        const gsa_status status = gsa_compare_folders(
            gsa_args_system(args), &options, gsa_args_operand(args, 0), gsa_args_operand(args, 1),
            gsa_split_name(i), &there, &compared, error);
        if (status != GSA_OK) return status;
        if (there && gsa_args_flag(args, "json"))
            write_json(args, gsa_split_name(i), &compared, out);
        else if (there) write_text(gsa_split_name(i), &compared, out);
        some |= there > 0;
    }
    if (some) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT, "the runs have no outcomes of %s",
                    asked ? asked : "dev or test");
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_output *out;
    gsa_status status = gsa_output_open(gsa_args_system(args), "-", &out, error);
    if (status != GSA_OK) return status;
    status = compare(args, out, error);
    if (status == GSA_OK) return gsa_output_commit(out, error);
    gsa_output_abandon(out);
    return status;
}

static const gsa_option options[] = {
    { "split", GSA_OPTION_CHOICE, "dev|test", NULL, "both", 0, 0, "which data" },
    { "metric", GSA_OPTION_TEXT, "NAME", NULL, "the task's", 0, 0,
      "another of the task's metrics: f1" },
    { "samples", GSA_OPTION_NUMBER, "N", "10000", NULL, 1, 10000000, "resamples" },
    { "seed", GSA_OPTION_NUMBER, "N", "1", NULL, 0, 4294967295, "of the resamples" },
    { "json", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "one JSON object a split" },
};
const gsa_verb gsa_verb_compare = {
    .name = "compare",
    .summary = "compare two runs, or two sets of runs, by the paired bootstrap",
    .operands = "A B",
    .least = 2,
    .most = 2,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "A and B are folders of runs (outcomes.jsonl), or folders of gsa train --seeds or "
             "--each, whose runs are paired by "
             "their paths. Test units are drawn anew, the same for A and B and for all seeds; "
             "seeds are not.\n"
             "p: twice the share of resamples in which the difference has not the sign that it has "
             "on the data itself.",
    .run = run
};
