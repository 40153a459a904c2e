/* apply.h - what eval and predict share: a trained model and where to run it. */
#ifndef GSA_APPLY_H
#define GSA_APPLY_H
#include "train/use/apply.h"
#include "tools/command/verbs.h"

#define GSA_OPTION_ROW_MODEL                                                                       \
    {                                                                                              \
        "model", GSA_OPTION_TEXT, "DIR", NULL, "the last that gsa train FILE made here", 0, 0,     \
            "folder of a run, or of one checkpoint"                                                \
    }

#define GSA_OPTION_ROW_UNTRUSTED(absent)                                                           \
    { "untrusted", GSA_OPTION_FLAG,                                                                \
      "",          NULL,                                                                           \
      absent,      0,                                                                              \
      0,           "open no file and load no plugin that the model's recipe names" },              \
    {                                                                                              \
        "allow-nonfinite", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0,                                  \
            "take weights that are NaN or infinite, which are refused else"                        \
    }

#define GSA_OPTION_ROW_QUIET                                                                       \
    {                                                                                              \
        "quiet", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "of messages on stderr, warnings alone"    \
    }

/* Fills `options` from the verb's options; messages go to the reporter. Fails without --model. */
gsa_status gsa_apply_options_read(const gsa_args *args, const char *verb, gsa_reporter *reporter,
                                  gsa_apply_options *options, gsa_error *error);

#endif
