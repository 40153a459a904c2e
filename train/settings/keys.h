/* keys.h - the one table of recipe keys: parsing, help, completion, config.ini and the struct of
 * resolved values come from it.
 *   KEY(section, name, type, low, high, choices, fallback, doc)
 *       makes the member `section_name` of gsa_recipe_values */
#ifndef GSA_KEYS_H
#define GSA_KEYS_H
#include "graph/topology.h"

#define GSA_RECIPE_KEYS(KEY)                                                                       \
    KEY(task, name, CHOICE, 0, 0,                                                                  \
        "masked_summation,text_classification,sentence_pairs,node_classification,tagging,span_"    \
        "extraction,language_modelling,translation",                                               \
        "text_classification", "what is learned")                                                  \
    KEY(task, n, INT, 1, 1e7, NULL, "200", "masked summation: rows of an example")                 \
    KEY(task, k, INT, 0, 1e7, NULL, "10",                                                          \
        "masked summation: rows that the mask selects, at most n")                                 \
    KEY(task, d, INT, 2, 65536, NULL, "10", "masked summation: columns; column 0 is the mask")     \
    KEY(task, train, INT, 1, 1e9, NULL, "10000", "masked summation: training examples")            \
    KEY(task, dev, INT, 0, 1e9, NULL, "500", "masked summation: development examples")             \
    KEY(task, test, INT, 0, 1e9, NULL, "2000", "masked summation: test examples")                  \
    KEY(task, features, CHOICE, 0, 0, "difference,product,both", "difference",                     \
        "sentence pairs: the head reads a, b, |a - b| and a - b, or a times b; or a and b alone")  \
    KEY(task, head, CHOICE, 0, 0, "linear,crf", "linear",                                          \
        "tagging: a token's scores alone, or a linear-chain CRF over them")                        \
    KEY(task, legal, BOOL, 0, 0, NULL, "0",                                                        \
        "tagging: only sequences of tags that the scheme allows")                                  \
    KEY(task, scheme, CHOICE, 0, 0, "as_read,none,IOB1,IOB2,BIOES,BMES", "as_read",                \
        "tagging: the scheme that is learned")                                                     \
    KEY(task, scorer, CHOICE, 0, 0, "squad,cmrc", "squad",                                         \
        "span extraction: the official exact match and F1 that answers are scored by; cmrc: of "   \
        "Chinese")                                                                                 \
    KEY(task, match, BOOL, 0, 0, NULL, "0",                                                        \
        "span extraction: tokens of the passage that stand in the question, alone or side by "     \
        "side, have types of their own")                                                           \
    KEY(task, aux, REAL, 0, 100, NULL, "0",                                                        \
        "language modelling: weight of the mean loss of the layers below the last, in training; "  \
        "that of layer l of n ends "                                                               \
        "when l/n of the steps are done; 0: none")                                                 \
    KEY(model, encoder, PATH, 0, 0, NULL, "",                                                      \
        "the stack, as star*2 or window:width=11*3,full*3; or sections [encoder.N]")               \
    KEY(model, hidden, INT, 1, 65536, NULL, "300", "width of the states")                          \
    KEY(model, heads, INT, 1, 1024, NULL, "6", "attention heads")                                  \
    KEY(model, head_dim, INT, 0, 65536, NULL, "0", "width of one head; 0: hidden / heads")         \
    KEY(model, ffn, INT, 0, 1048576, NULL, "0",                                                    \
        "width inside the feed-forward sublayer; 0: 4 hidden")                                     \
    KEY(model, activation, CHOICE, 0, 0, "relu,leaky_relu,gelu,tanh,sigmoid", "relu",              \
        "of feed-forward sublayers and the head")                                                  \
    KEY(model, norm, CHOICE, 0, 0, "post,pre", "post", "place of the layer norm in sublayers")     \
    KEY(model, norm_eps, REAL, 1e-12, 1, NULL, "1e-06", "added to the variance in layer norms")    \
    KEY(model, bias, PATH, 0, 0, NULL, "none",                                                     \
        "projections with a bias: none, or a list of q, v, o")                                     \
    KEY(model, scale, CHOICE, 0, 0, "head,full", "head",                                           \
        "scores are divided by the root of head_dim or of hidden")                                 \
    KEY(model, init, CHOICE, 0, 0, "xavier,normal,uniform,fan_in", "xavier",                       \
        "initial values of weight matrices")                                                       \
    KEY(model, init_scale, REAL, 0, 100, NULL, "0.05",                                             \
        "normal: standard deviation; uniform: largest absolute value")                             \
    KEY(model, dropout_input, REAL, 0, 0.99, NULL, "0", "on the stack's input rows")               \
    KEY(model, dropout_attention, REAL, 0, 0.99, NULL, "0", "on attention weights")                \
    KEY(model, dropout_hidden, REAL, 0, 0.99, NULL, "0", "on what sublayers add")                  \
    KEY(model, dropout_ffn, REAL, 0, 0.99, NULL, "0", "inside feed-forward sublayers")             \
    KEY(model, dropout_head, REAL, 0, 0.99, NULL, "0", "before the head's last Linear")            \
    KEY(model, input, CHOICE, 0, 0, "plain,norm,dropout,norm_dropout,dropout_norm", "dropout",     \
        "what the input rows go through")                                                          \
    KEY(model, input_scale, REAL, 0, 1e6, NULL, "1", "factor of embeddings and features")          \
    KEY(model, position, CHOICE, 0, 0, "none,learned,sinusoid", "none",                            \
        "positions added to the input")                                                            \
    KEY(model, position_max, INT, 1, 1e7, NULL, "512", "learned positions: longest sequence")      \
    KEY(model, position_base, REAL, 1, 1e9, NULL, "10000", "sinusoid: base of the wavelengths")    \
    KEY(model, embedding, INT, 0, 65536, NULL, "0",                                                \
        "width of word embeddings; 0: that of the vectors, else hidden")                           \
    KEY(model, embedding_std, REAL, 0, 100, NULL, "0.1",                                           \
        "standard deviation of initial embeddings")                                                \
    KEY(model, head_hidden, INT, 0, 65536, NULL, "0",                                              \
        "hidden width of the classifier; 0: one Linear")                                           \
    KEY(model, readout, CHOICE, 0, 0, "summary", "summary", "what the head reads")                 \
    KEY(model, characters, PATH, 0, 0, NULL, "",                                                   \
        "tagging: a stack over the characters of each word, as ring*2; its summary stands beside " \
        "the word; none, or empty: "                                                               \
        "no stack")                                                                                \
    KEY(model, character_hidden, INT, 1, 65536, NULL, "32",                                        \
        "tagging: width of the states of characters")                                              \
    KEY(model, character_heads, INT, 1, 1024, NULL, "4",                                           \
        "tagging: heads of the stack over characters")                                             \
    KEY(model, character_max, INT, 1, 65536, NULL, "24",                                           \
        "tagging: characters that are read of a word")                                             \
    KEY(model, character_dropout, REAL, 0, 0.99, NULL, "0", "tagging: on the rows of characters")  \
    KEY(model, tied, BOOL, 0, 0, NULL, "0",                                                        \
        "language modelling, translation: the head's weight is the word embedding")                \
    KEY(model, decoder, PATH, 0, 0, NULL, "", "the second stack of tasks that have one")           \
    KEY(train, seed, INT, 0, 4294967295.0, NULL, "1",                                              \
        "of weights, order, dropout and generated data")                                           \
    KEY(train, epochs, INT, 0, 1e6, NULL, "10", "passes over the training data")                   \
    KEY(train, start, PATH, 0, 0, NULL, "",                                                        \
        "a trained model (run or checkpoint, relative to the current folder) whose weights, "      \
        "words and labels training begins with; "                                                  \
        "optimiser, schedule and data are new")                                                    \
    KEY(train, max_steps, INT, 0, 1e12, NULL, "0",                                                 \
        "stop after so many optimiser steps; 0: no limit")                                         \
    KEY(train, batch, INT, 0, 1e6, NULL, "32",                                                     \
        "examples of a batch at most; 0: only batch_tokens limits")                                \
    KEY(train, batch_tokens, INT, 0, 1e9, NULL, "0",                                               \
        "tokens of a batch at most (a longer example stands alone); 0: no limit")                  \
    KEY(train, bucket, INT, 1, 1e6, NULL, "16",                                                    \
        "batches that are sorted by length together; 1: no sorting")                               \
    KEY(train, accumulate, INT, 1, 65536, NULL, "1",                                               \
        "batches whose gradients are added before a step")                                         \
    KEY(train, pieces, INT, 0, 1024, NULL, "0",                                                    \
        "a step's examples are cut into so many pieces by tokens, whose gradients are added "      \
        "along a binary tree; a power of two, shared by the ranks of mpirun; 0: one a rank")       \
    KEY(train, optimizer, CHOICE, 0, 0, "adam,adamw,sgd", "adam",                                  \
        "adam and sgd: weight_decay is L2; adamw: decoupled")                                      \
    KEY(train, lr, REAL, 0, 1000, NULL, "0.001", "learning rate")                                  \
    KEY(train, beta1, REAL, 0, 0.999999, NULL, "0.9", "Adam: decay of the first moment")           \
    KEY(train, beta2, REAL, 0, 0.999999999, NULL, "0.999", "Adam: decay of the second moment")     \
    KEY(train, eps, REAL, 0, 1, NULL, "1e-08", "Adam: added to the root of the second moment")     \
    KEY(train, momentum, REAL, 0, 0.999999, NULL, "0", "SGD")                                      \
    KEY(train, weight_decay, REAL, 0, 10, NULL, "0",                                               \
        "of weight matrices; never of biases, norms, embeddings")                                  \
    KEY(train, schedule, CHOICE, 0, 0, "constant,linear,cosine,noam,hold_linear", "constant",      \
        "of the learning rate")                                                                    \
    KEY(train, warmup, INT, 0, 1e12, NULL, "0", "steps of linear warm-up")                         \
    KEY(train, hold, REAL, 0, 1, NULL, "0.5", "hold_linear: share of the steps at full lr")        \
    KEY(train, final, REAL, 0, 1, NULL, "0",                                                       \
        "linear, cosine, hold_linear: last lr as a share of lr")                                   \
    KEY(train, clip, REAL, 0, 1e9, NULL, "0",                                                      \
        "largest global norm of the gradient; 0: no clipping")                                     \
    KEY(train, average, REAL, 0, 0.999999, NULL, "0",                                              \
        "decay of the running mean of the weights that is evaluated and kept; 0: the weights "     \
        "themselves")                                                                              \
    KEY(train, early_stop, INT, 0, 1e6, NULL, "0",                                                 \
        "stop after so many evaluations without a better one; 0: never")                           \
    KEY(train, eval_every, INT, 0, 1e12, NULL, "0", "steps between evaluations; 0: each epoch")    \
    KEY(train, checkpoint_every, INT, 0, 1e12, NULL, "0",                                          \
        "steps between checkpoints; 0: each epoch")                                                \
    KEY(train, keep, INT, 1, 1000000, NULL, "2", "checkpoints that stay")                          \
    KEY(train, report_every, INT, 0, 1e12, NULL, "50", "steps between progress reports; 0: none")  \
    KEY(train, check_nan, BOOL, 0, 0, NULL, "1",                                                   \
        "1: a gradient that is not finite stops the run; 0: its step is skipped")                  \
    KEY(train, select, CHOICE, 0, 0, "best,last", "best",                                          \
        "the model that is kept and tested: best on dev, or the last")                             \
    KEY(train, label_smoothing, REAL, 0, 0.99, NULL, "0",                                          \
        "language modelling, translation: share of each target that is spread over all classes, "  \
        "in training")                                                                             \
    KEY(train, prefetch, BOOL, 0, 0, NULL, "1",                                                    \
        "1: a thread of its own builds the next batch while this one is computed; no result "      \
        "depends on it")                                                                           \
    KEY(data, train, PATH, 0, 0, NULL, "", "training text, relative to the current folder")        \
    KEY(data, dev, PATH, 0, 0, NULL, "", "development text")                                       \
    KEY(data, test, PATH, 0, 0, NULL, "", "test text")                                             \
    KEY(data, format, CHOICE, 0, 0, "auto,tsv,fasttext,sst,stsa,snli,conll,conllu,chars,csv,json", \
        "auto",                                                                                    \
        "of the text files; auto: told by the first line, never csv; csv: in quotes (RFC 4180); "  \
        "json: an object a line; sentence pairs: "                                                 \
        "tsv, csv, json, or snli's objects; tagging: conll, conllu, or chars (token, blank, tag)") \
    KEY(data, escapes, CHOICE, 0, 0, "auto,none,brackets,treebank", "auto",                        \
        "text classification: -LRB- and its kin are brackets; treebank: \\/ and \\* are / and *, " \
        "too; auto: what the format "                                                              \
        "of the training data has (sst: treebank, stsa: brackets), wherever texts are read")       \
    KEY(data, columns, PATH, 0, 0, NULL, "",                                                       \
        "tsv and csv: what stands where, - for what is passed over; json: fields, as "             \
        "label=category,text=headline. Text classification: label and text; none: label,text. "    \
        "Sentence pairs: label, a and b; none: as the header says, or label,a,b. Nodes: another "  \
        "order of "                                                                                \
        "id,split,label,features")                                                                 \
    KEY(data, side, PATH, 0, 0, NULL, "",                                                          \
        "tagging: columns beside the token that patterns may ask for, with their names, as "       \
        "head:7,type:8; -1 is the last")                                                           \
    KEY(data, features, INT, 0, 1 << 24, NULL, "0",                                                \
        "nodes: columns of their features; 0: as the data says")                                   \
    KEY(data, normalize, BOOL, 0, 0, NULL, "0", "nodes: divide the features of each by their sum") \
    KEY(data, header, BOOL, 0, 0, NULL, "0", "tsv: the first line names the columns")              \
    KEY(data, subtrees, BOOL, 0, 0, NULL, "0", "sst: train on every labelled phrase")              \
    KEY(data, phrase_min, INT, 1, 1e6, NULL, "1",                                                  \
        "sst subtrees: tokens that a phrase below the root must have")                             \
    KEY(data, unique, BOOL, 0, 0, NULL, "0",                                                       \
        "text classification: train on the first of equal (text, label) pairs only")               \
    KEY(data, classes, INT, 0, 1e6, NULL, "0",                                                     \
        "number of labels that the training data must have; 0: any from 2")                        \
    KEY(data, lower, BOOL, 0, 0, NULL, "0", "lower-case the text")                                 \
    KEY(data, tokens, CHOICE, 0, 0, "words,chars,punctuated,bytes", "words",                       \
        "words between blanks, their characters, or words with every mark and symbol cut off as "  \
        "a token; language "                                                                       \
        "modelling: words, characters of the whole text, or its bytes")                            \
    KEY(data, max_length, INT, 0, 1e7, NULL, "0", "tokens that are read of an example; 0: all")    \
    KEY(data, min_count, INT, 1, 1e9, NULL, "1",                                                   \
        "times that a word must stand in the training data to be known")                           \
    KEY(data, vocabulary, CHOICE, 0, 0, "train,data,vectors", "train",                             \
        "words of train; also of dev and test; also of vectors")                                   \
    KEY(data, vectors, PATH, 0, 0, NULL, "", "word vectors as text (GloVe, word2vec)")             \
    KEY(data, vectors_frozen, BOOL, 0, 0, NULL, "0", "embeddings are not learned")                 \
    KEY(data, vectors_normalize, BOOL, 0, 0, NULL, "0",                                            \
        "divide every embedding by its Euclidean length")                                          \
    KEY(data, encoding, CHOICE, 0, 0, "utf8,latin1,cp1252,mixed", "utf8",                          \
        "of the text files; mixed: lines that are not UTF-8 are cp1252")                           \
    KEY(data, markup, BOOL, 0, 0, NULL, "0", "1: tags as <br /> are blanks")                       \
    KEY(data, empty, CHOICE, 0, 0, "refuse,skip", "refuse",                                        \
        "labelled texts and pairs without a token: an error, or left out and counted")             \
    KEY(data, hold, INT, 0, 1e9, NULL, "0",                                                        \
        "examples of data.train that are held out as development data where data.dev is empty: "   \
        "the same for every seed")                                                                 \
    KEY(data, stratify, BOOL, 0, 0, NULL, "0",                                                     \
        "data.hold takes of each label its share, rounded up or down")                             \
    KEY(data, train_part, INT, 0, 1e9, NULL, "0",                                                  \
        "examples of data.train that are trained on at most; 0: all")                              \
    KEY(data, test_part, INT, 0, 1e9, NULL, "0",                                                   \
        "examples of data.test that are measured on at most; 0: all")                              \
    KEY(data, word, INT, -1000, 1000, NULL, "0",                                                   \
        "tagging: column of the word, from 1, or from the end (-1); 0: 1, in conllu 2")            \
    KEY(data, tag, INT, -1000, 1000, NULL, "0",                                                    \
        "tagging: column of the tag, likewise; 0: the last, in conllu 4 (UPOS)")                   \
    KEY(data, scheme, CHOICE, 0, 0, "auto,none,IOB1,IOB2,BIOES,BMES", "auto",                      \
        "tagging: what tags are written in; none: plain ones; auto: told by the training data, "   \
        "and a tag of no scheme is an error")                                                      \
    KEY(data, zero_digits, BOOL, 0, 0, NULL, "0", "tagging: every digit becomes 0")                \
    KEY(data, capitals, BOOL, 0, 0, NULL, "0",                                                     \
        "tagging: how a word is capitalised stands beside it")                                     \
    KEY(data, window, INT, 0, 1e7, NULL, "0",                                                      \
        "span extraction: tokens of the passage in one window, 0: all of it; language modelling: " \
        "tokens of an example, 0: 256")                                                            \
    KEY(data, stride, INT, 0, 1e7, NULL, "0",                                                      \
        "tokens between the starts of two windows (language modelling: in training), at most "     \
        "window; 0: half of window; "                                                              \
        "language modelling: window")                                                              \
    KEY(data, answer_max, INT, 1, 1e7, NULL, "30",                                                 \
        "span extraction: tokens of a predicted answer at most")                                   \
    KEY(data, split, PATH, 0, 0, NULL, "",                                                         \
        "language modelling: data.train holds all splits, one after the other: shares "            \
        "(0.9,0.05,0.05) or bytes of each")                                                        \
    KEY(data, context, INT, -1, 1e7, NULL, "-1",                                                   \
        "language modelling: tokens before a scored token that evaluation shows at least, fewer "  \
        "than window; -1: half of "                                                                \
        "window")                                                                                  \
    KEY(data, max_words, INT, 0, 1e9, NULL, "0",                                                   \
        "language modelling: most frequent words that are known; 0: all")                          \
    KEY(data, source, PATH, 0, 0, NULL, "",                                                        \
        "translation: the files are PATH.source and PATH.target; none: one file with tabs")        \
    KEY(data, target, PATH, 0, 0, NULL, "", "translation: as source, of the other language")       \
    KEY(data, bpe, INT, 0, 1e7, NULL, "0",                                                         \
        "translation: merges of a byte-pair vocabulary of both languages; 0: words")               \
    KEY(data, bpe_codes, PATH, 0, 0, NULL, "",                                                     \
        "translation: a file of merges (subword-nmt 0.2) in place of learned ones")                \
    KEY(data, documents, BOOL, 0, 0, NULL, "0",                                                    \
        "translation: empty lines part documents, whose sentences see those before them")          \
    KEY(data, previous, INT, 0, 1e6, NULL, "1",                                                    \
        "translation of documents: a sentence is read and written behind so many sentences "       \
        "before it, at most")                                                                      \
    KEY(data, previous_tokens, INT, 0, 1e9, NULL, "0",                                             \
        "translation of documents: no sentence is added to these once they have so many source "   \
        "tokens; 0: no limit")                                                                     \
    KEY(decode, beam, INT, 1, 1000, NULL, "4",                                                     \
        "translation: hypotheses that are followed; 1: the likeliest token each time")             \
    KEY(decode, alpha, REAL, 0, 10, NULL, "0.6",                                                   \
        "translation: how much length is made up for; 0: not")                                     \
    KEY(decode, penalty, CHOICE, 0, 0, "wu,length", "wu",                                          \
        "translation: log p is divided by ((5 + n) / 6)^alpha, or n^alpha, for n tokens with the " \
        "end")                                                                                     \
    KEY(decode, coverage, REAL, 0, 10, NULL, "0",                                                  \
        "translation: weight of how far attention covers the source, where the beam's finished "   \
        "hypotheses are compared; 0: "                                                             \
        "none")

/* The resolved values: one 8-byte member a key. */
typedef int64_t gsa_member_INT, gsa_member_BOOL, gsa_member_CHOICE;
typedef double gsa_member_REAL;
typedef const char *gsa_member_PATH;
typedef struct gsa_recipe_values {
#define GSA_KEY_MEMBER(section, name, type, low, high, choices, fallback, doc)                     \
    gsa_member_##type section##_##name;
    GSA_RECIPE_KEYS(GSA_KEY_MEMBER)
#undef GSA_KEY_MEMBER
} gsa_recipe_values;

/* The members' places: values + gsa_key_offset(index), index as in gsa_recipe_keys(). */
size_t gsa_key_offset(int index);

/* Choices, in the order of the table. */
enum gsa_task_name {
    GSA_TASK_MASKED_SUMMATION,
    GSA_TASK_TEXT_CLASSIFICATION,
    GSA_TASK_SENTENCE_PAIRS,
    GSA_TASK_NODE_CLASSIFICATION,
    GSA_TASK_TAGGING,
    GSA_TASK_SPAN_EXTRACTION,
    GSA_TASK_LANGUAGE_MODELLING,
    GSA_TASK_TRANSLATION,
    GSA_TASKS,
    GSA_TASK_PLUGGED = GSA_TASKS /* no choice of the table: a plugin brings it */
};
enum gsa_tag_head { GSA_TAG_HEAD_LINEAR, GSA_TAG_HEAD_CRF };
enum gsa_features { GSA_FEATURES_DIFFERENCE, GSA_FEATURES_PRODUCT, GSA_FEATURES_BOTH };
enum gsa_select { GSA_SELECT_BEST, GSA_SELECT_LAST };
enum gsa_data_format {
    GSA_TEXT_AUTO,
    GSA_TEXT_TSV,
    GSA_TEXT_FASTTEXT,
    GSA_TEXT_SST,
    GSA_TEXT_STSA,
    GSA_TEXT_SNLI,
    GSA_TEXT_CONLL,
    GSA_TEXT_CONLLU,
    GSA_TEXT_CHARS,
    GSA_TEXT_CSV,
    GSA_TEXT_JSON
};
enum gsa_data_escapes {
    GSA_ESCAPES_AUTO,
    GSA_ESCAPES_NONE,
    GSA_ESCAPES_BRACKETS,
    GSA_ESCAPES_TREEBANK
};
enum gsa_data_tokens {
    GSA_TOKENS_WORDS,
    GSA_TOKENS_CHARS,
    GSA_TOKENS_PUNCTUATED,
    GSA_TOKENS_BYTES
};
enum gsa_data_empty {
    GSA_EMPTY_REFUSE,
    GSA_EMPTY_SKIP,
    GSA_EMPTY_KEEP
}; /* KEEP is of parallel text, whose lines count: no choice */
enum gsa_scorer_kind { GSA_SCORER_SQUAD, GSA_SCORER_CMRC };
enum gsa_data_vocabulary { GSA_WORDS_TRAIN, GSA_WORDS_DATA, GSA_WORDS_VECTORS };

#endif
