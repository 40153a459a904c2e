#include "tags.h"
#include <string.h>
#include "support/suite.h"

#define TRAINING                                                                                   \
    "[train]\nseed = 5\nepochs = 3\nbatch = 4\naccumulate = 2\nbucket = 2\nlr = 0.01\nclip = "     \
    "1\nreport_every = 1\n"                                                                        \
    "schedule = cosine\nwarmup = 2\nkeep = 1\noptimizer = adamw\nweight_decay = 0.01\naverage = "  \
    "0.9\n"

/* Dropout everywhere, a CRF, characters and capitals. */
const char tags_recipe[] =
    "[task]\nname = tagging\nhead = crf\n"
    "[model]\nencoder = full,star\nhidden = 8\nheads = 2\nffn = 12\ninput = "
    "norm_dropout\ndropout_input = 0.1\n"
    "dropout_attention = 0.2\ndropout_hidden = 0.1\ndropout_ffn = 0.1\ndropout_head = "
    "0.2\nposition = learned\n"
    "position_max = 16\nbias = q,v,o\nhead_hidden = 6\nembedding = 5\ncharacters = "
    "ring,full\ncharacter_hidden = 6\n"
    "character_heads = 2\ncharacter_dropout = 0.1\n" TRAINING "[data]\ncapitals = 1\n";

/* Columns: word, number, tag in IOB1; "B-LOC" where two meet, one tag that no scheme allows (B-PER
 * after O). */
const char tags_train[] = "Ann 1 I-PER\nsaw 1 O\nBonn 1 I-LOC\n\nin 2 O\nBonn 2 "
                          "I-LOC\nRome 2 B-LOC\n. 2 O\n\nBob 3 I-PER\nLee 3 I-PER\nran 3 "
                          "O\n\n"
                          "the 4 O\ncat 4 O\nsat 4 O\n\nAnn 5 I-PER\nLee 5 I-PER\nin 5 "
                          "O\nRome 5 I-LOC\n\nAnn 6 B-PER\nran 6 O\n\nyes 7 O\n\n"
                          "Bob 8 I-PER\nsaw 8 O\nAnn 8 I-PER\nin 8 O\nBonn 8 I-LOC\n\nin "
                          "9 O\nRome 9 I-LOC\n\nno 10 O\n\n42 11 O\ncats 11 O\n\n"
                          "Lee 12 I-PER\n\nRome 13 I-LOC\nsat 13 O\n";
const char tags_dev[] =
    "Ann 1 I-PER\nin 1 O\nBonn 1 I-LOC\n\nBob 2 I-PER\nsaw 2 O\nZoe 2 I-PER\n\nthe 3 O\nend 3 O\n";

void tags_open(rig *r, const char *text, const char *train, const char *dev, int real)
{
    rig_open(r, text, real, 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "tags.train"), train, (int64_t)strlen(train));
    gsa_put_file(gsa_scratch_path(&r->scratch, "tags.dev"), dev, (int64_t)strlen(dev));
    r->data[0] = "tags.train", r->data[1] = "tags.dev";
}

void tags_say(const rig *r, const char *expected)
{
    ck_assert_msg(strstr(r->messages, expected), "'%s' lacks '%s'", r->messages, expected);
}

const char tags_conllu[] =
    "# text = Go "
    "there\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n2\tthere\tthere\tADV\tRB\t_\t1\tadvmod\t_\t_\n\n"
    "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\tIN\t_\t0\tx\t_\t_\n2\tle\tle\tDET\tDT\t_"
    "\t0\tx\t_\t_\n"
    "2.1\tx\tx\tX\tX\t_\t_\t_\t_\t_\n";
