/* decode.c - what a task writes of its own accord, and how good it is, for evaluations and at the
 * end of training. */
#include <stdio.h>
#include "train/driver/trainer.h"

int32_t gsa_session_decode_batch(const gsa_session *s)
{
    const int64_t batch = s->recipe.values.train_batch;
    return batch > 0 ? (int32_t)batch : 64;
}

static void add(json_t *object, const char *split, const gsa_decoded *decoded)
{
    char name[64];
    for (int i = 0; i < decoded->facts; i++) {
        snprintf(name, sizeof name, "%s_%s", split, decoded->fact[i].name);
        json_object_set_new(object, name, gsa_json_number(decoded->fact[i].value));
    }
    for (int i = 0; i < decoded->notes; i++)
        json_object_set_new(object, decoded->note[i].name, json_string(decoded->note[i].text));
}

gsa_status gsa_session_decode(gsa_session *s, json_t *object, gsa_error *error)
{
    static const struct {
        int split;
        const char *name;
    } of[] = { { GSA_SPLIT_DEV, "dev" }, { GSA_SPLIT_TEST, "test" } };
    gsa_status status = GSA_OK;
    for (int i = 0; i < 2 && s->task->decode_split && status == GSA_OK; i++) {
        gsa_decoded decoded;
        const gsa_decode_options options = { .split = of[i].split,
                                             .batch = gsa_session_decode_batch(s),
                                             .survey = s->survey ? &s->survey[of[i].split] : NULL,
                                             .stop = s->stop,
                                             .group = s->group };
        if (s->task->examples(s->self, of[i].split) == 0) continue;
        status = s->task->decode_split(s->self, &s->model, &options, &decoded, error);
        if (status == GSA_OK) add(object, of[i].name, &decoded);
    }
    return status;
}
