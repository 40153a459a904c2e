/* tags.h - a tagger of small files: the rig's run, whose data are two files of tags. */
#ifndef GSA_TEST_TAGS_H
#define GSA_TEST_TAGS_H
#include "rig.h"

extern const char tags_recipe[];            /* dropout everywhere, a CRF, characters and capitals */
extern const char tags_train[], tags_dev[]; /* columns: word, number, tag in IOB1 */
extern const char tags_conllu[];            /* another two sentences, as CoNLL-U */
/* The rig with a recipe's text and two files' texts; real: GSA_F32 or GSA_F64. */
void tags_open(rig *r, const char *text, const char *train, const char *dev, int real);
/* The run's messages hold what is expected. */
void tags_say(const rig *r, const char *expected);

#endif
