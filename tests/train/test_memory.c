/* Sentence pairs whose label is in neither sentence: a holds keys with a value each (7x: key 7,
 * value x), b is a key, and the label is that key's value in a. Read as memory, a is looked up; two
 * summaries that were made apart would have to hold every binding. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"

enum { KEYS = 40, SHOWN = 8, TRAIN = 4000, DEV = 500 };
static const char recipe[] = "[task]\nname = sentence_pairs\nfeatures = both\n"
                             "[model]\nencoder = bpt:k=1,bpt:k=1+cross*2\nhidden = 32\nheads = "
                             "2\nffn = 64\nhead_hidden = 32\ninput = "
                             "plain\nembedding_std = 1\n"
                             "[train]\nseed = 1\nepochs = 6\nbatch = 32\nlr = 0.003\nreport_every "
                             "= 0\nclip = 1\nschedule = linear\nwarmup = 50\n";

static int draw(uint64_t seed, int64_t a, int64_t b, int below)
{
    return (int)(gsa_random(seed, (uint64_t)a, (uint64_t)b) >> 33) % below;
}

static void write_pairs(const char *path, uint64_t seed, int count)
{
    char *bytes = malloc((size_t)count * 64);
    size_t used = 0;
    for (int e = 0; e < count; e++) {
        int key[KEYS];
        const int asked = draw(seed, e, 1, SHOWN), label = e % 2;
        for (int i = 0; i < KEYS; i++) key[i] = i;
        used += (size_t)snprintf(bytes + used, 8, "%s\t", label ? "yes" : "no");
        for (int i = 0; i < SHOWN; i++) {
            const int other = i + draw(seed, e, 100 + i, KEYS - i), k = key[other];
            key[other] = key[i], key[i] = k;
            const int value = i == asked ? label : draw(seed, e, 200 + i, 2);
            used += (size_t)snprintf(bytes + used, 8, "%s%d%c", i ? " " : "", k, value ? 'y' : 'x');
        }
        used += (size_t)snprintf(bytes + used, 8, "\t%d\n", key[asked]);
    }
    gsa_put_file(path, bytes, (int64_t)used);
    free(bytes);
}

static double accuracy_of(const char *encoder)
{
    rig r;
    rig_open(&r, recipe, GSA_F32, 1);
    write_pairs(gsa_scratch_path(&r.scratch, "lookup.train"), 5, TRAIN);
    write_pairs(gsa_scratch_path(&r.scratch, "lookup.dev"), 6, DEV);
    r.data[0] = "lookup.train", r.data[1] = "lookup.dev";
    rig_set(&r, encoder);
    rig_train_ok(&r, NULL);
    const double accuracy = rig_number(&r, "dev_accuracy");
    rig_close(&r);
    return accuracy;
}

START_TEST(a_pair_is_compared_token_by_token)
{
    const double with = accuracy_of("model.encoder=bpt:k=1,bpt:k=1+cross*2"),
                 without = accuracy_of("model.encoder=bpt:k=1*3");
    ck_assert_msg(with > 0.95, "with memory: %g", with);
    ck_assert_msg(without < 0.8, "without: %g", without);
}
END_TEST

/* A mean of tokens notices the last layer's cross phase; the root of bpt, which reads the tokens of
 * the layer before, would not. */
START_TEST(one_cross_layer_reaches_a_mean_of_tokens)
{
    const double with = accuracy_of("model.encoder=full,full+cross");
    ck_assert_msg(with > 0.95, "with memory: %g", with);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test lookup[] = { GSA_TEST(a_pair_is_compared_token_by_token),
                                       GSA_TEST(one_cross_layer_reaches_a_mean_of_tokens) };
    static const gsa_case cases[] = { GSA_CASE("lookup", lookup, 300) };
    return gsa_run_suite("memory", cases, GSA_COUNT(cases), argc, argv);
}
