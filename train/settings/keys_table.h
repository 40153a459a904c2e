/* keys_table.h - the one table of recipe keys: parsing, help, completion, config.ini, what is
 * refused and the struct of resolved values come from it. Included where KEY is defined (keys.h,
 * keys.c): a row makes the member `section_name` of gsa_recipe_values.
 *   KEY(section, name, type, tasks that read it, default, doc,
 *       .choices or RANGE(low, high), .parts: choices that fewer tasks read,
 *       WITH(other key, values): it does something only where the other has one of these) */
KEY(task, name, CHOICE, ALL, "text_classification", "what is learned",
    .choices = "masked_summation,text_classification,sentence_pairs,node_classification,tagging,"
               "span_extraction,language_modelling,translation")
KEY(task, options, PATH, 0, "", "a plugin's task: its own options, as power=2:signed=1")
KEY(task, n, INT, SUMMATION, "200", "masked summation: rows of an example", RANGE(1, 1e7))
KEY(task, k, INT, SUMMATION, "10", "masked summation: rows that the mask selects, at most n",
    RANGE(0, 1e7))
KEY(task, d, INT, SUMMATION, "10", "masked summation: columns; column 0 is the mask",
    RANGE(2, 65536))
KEY(task, train, INT, SUMMATION, "10000", "masked summation: training examples", RANGE(1, 1e7))
KEY(task, dev, INT, SUMMATION, "500", "masked summation: development examples", RANGE(0, 1e7))
KEY(task, test, INT, SUMMATION, "2000", "masked summation: test examples", RANGE(0, 1e7))
KEY(task, features, CHOICE, PAIRS, "difference",
    "sentence pairs: the head reads a, b, |a - b| and a - b, or a times b; or a and b alone",
    .choices = "difference,product,both")
KEY(task, head, CHOICE, TAGGING, "linear",
    "tagging: a token's scores alone, or a linear-chain CRF over them", .choices = "linear,crf")
KEY(task, legal, BOOL, TAGGING, "0", "tagging: only sequences of tags that the scheme allows")
KEY(task, scheme, CHOICE, TAGGING, "as_read", "tagging: the scheme that is learned",
    .choices = "as_read,none,IOB1,IOB2,BIOES,BMES")
KEY(task, scorer, CHOICE, SPANS, "squad",
    "span extraction: the official exact match and F1 that answers are scored by; cmrc: of Chinese",
    .choices = "squad,cmrc")
KEY(task, match, BOOL, SPANS, "0",
    "span extraction: tokens of the passage that are in the question, alone or side by side, "
    "have types of their own")
KEY(task, aux, REAL, LANGUAGE, "0",
    "language modelling: weight of the mean loss of the layers below the last, in training; that "
    "of layer l of n ends when l/n of the steps are done; 0: none",
    RANGE(0, 100))

KEY(model, encoder, PATH, ALL, "",
    "the stack, as star*2 or window:width=11*3,full*3; or sections [encoder.N]")
KEY(model, hidden, INT, ALL, "300", "width of the states", RANGE(1, 65536))
KEY(model, heads, INT, ALL, "6", "attention heads", RANGE(1, 1024))
KEY(model, head_dim, INT, ALL, "0", "width of one head; 0: hidden / heads", RANGE(0, 65536))
KEY(model, ffn, INT, ALL, "0", "width inside the feed-forward sublayer; 0: 4 hidden",
    RANGE(0, 1048576))
KEY(model, activation, CHOICE, ALL, "relu", "of feed-forward sublayers and the head",
    .choices = "relu,leaky_relu,gelu,tanh,sigmoid")
KEY(model, norm, CHOICE, ALL, "post", "place of the layer norm in sublayers", .choices = "post,pre")
KEY(model, norm_eps, REAL, ALL, "1e-06", "added to the variance in layer norms", RANGE(1e-12, 1))
KEY(model, bias, PATH, ALL, "none", "projections with a bias: none, or a list of q, v, o")
KEY(model, scale, CHOICE, ALL, "head", "scores are divided by the root of head_dim or of hidden",
    .choices = "head,full")
KEY(model, init, CHOICE, ALL, "xavier", "initial values of weight matrices",
    .choices = "xavier,normal,uniform,fan_in")
KEY(model, init_scale, REAL, ALL, "0.05",
    "normal: standard deviation; uniform: largest absolute value", RANGE(0, 100),
    WITH("model.init", "normal,uniform"))
KEY(model, dropout_input, REAL, ALL, "0", "on the stack's input rows", RANGE(0, 0.99))
KEY(model, dropout_attention, REAL, ALL, "0", "on attention weights", RANGE(0, 0.99))
KEY(model, dropout_hidden, REAL, ALL, "0", "on what sublayers add", RANGE(0, 0.99))
KEY(model, dropout_ffn, REAL, ALL, "0", "inside feed-forward sublayers", RANGE(0, 0.99))
KEY(model, dropout_head, REAL, ALL, "0", "before the head's last Linear", RANGE(0, 0.99))
KEY(model, input, CHOICE, ALL, "dropout", "what the input rows go through",
    .choices = "plain,norm,dropout,norm_dropout,dropout_norm")
KEY(model, input_scale, REAL, ALL, "1", "factor of embeddings and features", RANGE(0, 1e6))
KEY(model, position, CHOICE, ALL, "none", "positions added to the input",
    .choices = "none,learned,sinusoid")
KEY(model, position_max, INT, ALL, "512", "learned positions: longest sequence", RANGE(1, 1e7),
    WITH("model.position", "learned"))
KEY(model, position_base, REAL, ALL, "10000", "sinusoid: base of the wavelengths", RANGE(1, 1e9),
    WITH("model.position", "sinusoid"))
KEY(model, embedding, INT, WORDS | LANGUAGE | TRANSLATION, "0",
    "width of word embeddings; 0: that of the vectors, else hidden", RANGE(0, 65536))
KEY(model, embedding_std, REAL, WORDS | LANGUAGE | TRANSLATION, "0.1",
    "standard deviation of initial embeddings", RANGE(0, 100))
KEY(model, head_hidden, INT, ALL, "0", "hidden width of the classifier; 0: one Linear",
    RANGE(0, 65536))
KEY(model, readout, CHOICE, SUMMATION | TEXTS | PAIRS | TAGGING, "summary",
    "what is read of a text: the pattern's summary, or the mean or maximum of its tokens' states",
    .choices = "summary,mean,max", WITH("model.characters", SET, .tasks = TAGGING))
KEY(model, characters, PATH, TAGGING, "",
    "tagging: a stack over the characters of each word, as ring*2; its summary is next to the "
    "word; none, or empty: no stack")
KEY(model, character_hidden, INT, TAGGING, "32", "tagging: width of the states of characters",
    RANGE(1, 65536), WITH("model.characters", SET))
KEY(model, character_heads, INT, TAGGING, "4", "tagging: heads of the stack over characters",
    RANGE(1, 1024), WITH("model.characters", SET))
KEY(model, character_max, INT, TAGGING, "24", "tagging: characters that are read of a word",
    RANGE(1, 65536), WITH("model.characters", SET))
KEY(model, character_dropout, REAL, TAGGING, "0", "tagging: on the rows of characters",
    RANGE(0, 0.99), WITH("model.characters", SET))
KEY(model, tied, BOOL, LANGUAGE | TRANSLATION, "0",
    "language modelling, translation: the head's weight is the word embedding")
KEY(model, decoder, PATH, TRANSLATION, "", "the second stack of tasks that have one")

KEY(train, seed, INT, ALL, "1", "of weights, order, dropout and generated data",
    RANGE(0, 4294967295.0))
KEY(train, epochs, INT, ALL, "10", "passes over the training data", RANGE(0, 1e6))
KEY(train, start, PATH, ALL, "",
    "a trained model (run or checkpoint, relative to the current folder) whose weights, words and "
    "labels training begins with; optimiser, schedule and data are new")
KEY(train, max_steps, INT, ALL, "0", "stop after so many optimiser steps; 0: no limit",
    RANGE(0, 1e12))
KEY(train, batch, INT, ALL, "32", "examples of a batch at most; 0: only batch_tokens limits",
    RANGE(0, 1e6))
KEY(train, batch_tokens, INT, ALL, "0",
    "tokens of a batch at most (a longer example is a batch of its own); 0: no limit",
    RANGE(0, 1e9))
KEY(train, bucket, INT, ALL, "16", "batches that are sorted by length together; 1: no sorting",
    RANGE(1, 1e6))
KEY(train, accumulate, INT, ALL, "1", "batches whose gradients are added before a step",
    RANGE(1, 65536))
KEY(train, pieces, INT, ALL, "0",
    "a step's examples are cut into so many pieces by tokens, whose gradients are added along a "
    "binary tree; a power of two, shared by the ranks of mpirun; 0: one a rank",
    RANGE(0, 1024))
KEY(train, split, CHOICE, ALL, "examples",
    "what the ranks of mpirun share: a step's examples, or the rows of each example (long ones)",
    .choices = "examples,rows")
KEY(train, memory, INT, ALL, "0",
    "largest need of a process in bytes, printed before training; 0: what is available",
    RANGE(0, 1e15))
KEY(train, optimizer, CHOICE, ALL, "adam", "adam and sgd: weight_decay is L2; adamw: decoupled",
    .choices = "adam,adamw,sgd")
KEY(train, lr, REAL, ALL, "0.001", "learning rate", RANGE(0, 1000))
KEY(train, beta1, REAL, ALL, "0.9", "Adam: decay of the first moment", RANGE(0, 0.999999),
    WITH("train.optimizer", "adam,adamw"))
KEY(train, beta2, REAL, ALL, "0.999", "Adam: decay of the second moment", RANGE(0, 0.999999999),
    WITH("train.optimizer", "adam,adamw"))
KEY(train, eps, REAL, ALL, "1e-08", "Adam: added to the root of the second moment", RANGE(1e-30, 1),
    WITH("train.optimizer", "adam,adamw"))
KEY(train, momentum, REAL, ALL, "0", "SGD", RANGE(0, 0.999999), WITH("train.optimizer", "sgd"))
KEY(train, weight_decay, REAL, ALL, "0", "of weight matrices; never of biases, norms, embeddings",
    RANGE(0, 10))
KEY(train, schedule, CHOICE, ALL, "constant", "of the learning rate",
    .choices = "constant,linear,cosine,noam,hold_linear")
KEY(train, warmup, INT, ALL, "0", "steps of linear warm-up", RANGE(0, 1e12))
KEY(train, hold, REAL, ALL, "0.5", "hold_linear: share of the steps at full lr", RANGE(0, 1),
    WITH("train.schedule", "hold_linear"))
KEY(train, final, REAL, ALL, "0", "linear, cosine, hold_linear: last lr as a share of lr",
    RANGE(0, 1), WITH("train.schedule", "linear,cosine,hold_linear"))
KEY(train, clip, REAL, ALL, "0", "largest global norm of the gradient; 0: no clipping",
    RANGE(0, 1e9))
KEY(train, average, REAL, ALL, "0",
    "decay of the running mean of the weights that is evaluated and kept; 0: the weights "
    "themselves",
    RANGE(0, 0.999999))
KEY(train, early_stop, INT, ALL, "0",
    "stop after so many evaluations without a better one; 0: never", RANGE(0, 1e6))
KEY(train, eval_every, INT, ALL, "0", "steps between evaluations; 0: each epoch", RANGE(0, 1e12))
KEY(train, checkpoint_every, INT, ALL, "0", "steps between checkpoints; 0: each epoch",
    RANGE(0, 1e12))
KEY(train, keep, INT, ALL, "2", "checkpoints that stay", RANGE(1, 1000000))
KEY(train, report_every, INT, ALL, "50", "steps between progress reports; 0: none", RANGE(0, 1e12))
KEY(train, check_nan, BOOL, ALL, "1",
    "1: a gradient that is not finite stops the run; 0: its step is skipped")
KEY(train, select, CHOICE, ALL, "best",
    "the model that is kept and tested: best on dev, or the last", .choices = "best,last")
KEY(train, label_smoothing, REAL, LANGUAGE | TRANSLATION, "0",
    "language modelling, translation: share of each target that is spread over all classes, in "
    "training",
    RANGE(0, 0.99))
KEY(train, prefetch, BOOL, ALL, "1",
    "1: a thread of its own builds the next batch while this one is computed; no result depends on "
    "it")

KEY(data, train, PATH, WORDS | LANGUAGE | TRANSLATION | NODES, "",
    "training text, relative to the current folder")
KEY(data, stream, INT, TEXTS | PAIRS | LANGUAGE, "0",
    "bytes of a block of the training text, for text larger than memory: the seed sets the order "
    "of blocks, and of examples in a block. data.train may then name several files (a*.gz,b.zst). "
    "0: the whole text is in memory",
    RANGE(0, 1e12))
KEY(data, dev, PATH, WORDS | LANGUAGE | TRANSLATION, "", "development text")
KEY(data, test, PATH, WORDS | LANGUAGE | TRANSLATION, "", "test text")
KEY(data, format, CHOICE, TEXTS | PAIRS | TAGGING, "auto",
    "of the text files; auto: told by the first line, never csv; csv: in quotes (RFC 4180); json: "
    "an object a line; sentence pairs: tsv, csv, json, or snli's objects; tagging: conll, conllu, "
    "or chars (token, blank, tag)",
    .choices = "auto,tsv,fasttext,sst,stsa,snli,conll,conllu,chars,csv,json",
    .parts = { { "tsv,csv,json", TEXTS | PAIRS },
               { "fasttext,sst,stsa", TEXTS },
               { "snli", PAIRS },
               { "conll,conllu,chars", TAGGING } })
KEY(data, escapes, CHOICE, TEXTS, "auto",
    "text classification: -LRB- and its kin are brackets; treebank: \\/ and \\* are / and *, too; "
    "auto: what the format of the training data has (sst: treebank, stsa: brackets), wherever "
    "texts are read",
    .choices = "auto,none,brackets,treebank")
KEY(data, columns, PATH, TEXTS | PAIRS | NODES | TRANSLATION, "",
    "tsv and csv: which column is which, - for what is passed over; json: fields, as "
    "label=category,text=headline. Text classification: label and text; none: label,text. Sentence "
    "pairs: label, a and b; none: as the header says, or label,a,b. Nodes: another order of "
    "id,split,label,features",
    .with = { { "data.format", "auto,tsv,csv,json" }, { "data.source", UNSET } })
KEY(data, side, PATH, TAGGING, "",
    "tagging: columns next to the token that patterns may request, with their names, as "
    "head:7,type:8; -1 is the last")
KEY(data, features, INT, NODES, "0", "nodes: columns of their features; 0: as the data says",
    RANGE(0, 1 << 24))
KEY(data, normalize, BOOL, NODES, "0", "nodes: divide the features of each by their sum")
KEY(data, header, BOOL, TEXTS | PAIRS, "0", "tsv: the first line names the columns",
    WITH("data.format", "auto,tsv,fasttext,sst,stsa,csv"))
KEY(data, subtrees, BOOL, TEXTS, "0", "sst: train on every labelled phrase",
    WITH("data.format", "auto,sst"))
KEY(data, phrase_min, INT, TEXTS, "1",
    "sst subtrees: tokens that a phrase below the root must have", RANGE(1, 1e6),
    WITH("data.subtrees", "1"))
KEY(data, unique, BOOL, TEXTS, "0",
    "text classification: train on the first of equal (text, label) pairs only")
KEY(data, classes, INT, TEXTS | PAIRS | NODES | TAGGING, "0",
    "number of labels that the training data must have; 0: any from 2", RANGE(0, 1e6))
KEY(data, lower, BOOL, WORDS | TRANSLATION, "0", "lower-case the text")
KEY(data, tokens, CHOICE, WORDS | LANGUAGE | TRANSLATION, "words",
    "words between blanks, their characters, or words with every mark and symbol cut off as a "
    "token; language modelling: words, characters of the whole text, or its bytes",
    .choices = "words,chars,punctuated,bytes",
    .parts = { { "bytes", LANGUAGE }, { "punctuated", TEXTS | PAIRS | TAGGING | TRANSLATION } })
KEY(data, max_length, INT, TEXTS | PAIRS | SPANS | TRANSLATION, "0",
    "tokens that are read of an example; 0: all", RANGE(0, 1e7))
KEY(data, min_count, INT, WORDS | LANGUAGE | TRANSLATION, "1",
    "times that a word must be in the training data to be known", RANGE(1, 1e9),
    WITH("data.tokens", "words,chars,punctuated"))
KEY(data, vocabulary, CHOICE, WORDS, "train",
    "words of train; also of dev and test; also of vectors", .choices = "train,data,vectors",
    WITH("data.vectors", SET, .choice = "vectors"))
KEY(data, vectors, PATH, WORDS, "", "word vectors as text (GloVe, word2vec)")
KEY(data, vectors_frozen, BOOL, WORDS, "0", "embeddings are not learned")
KEY(data, vectors_normalize, BOOL, WORDS, "0", "divide every embedding by its Euclidean length")
KEY(data, encoding, CHOICE, TEXTS | PAIRS | NODES | TAGGING, "utf8",
    "of the text files; mixed: lines that are not UTF-8 are cp1252",
    .choices = "utf8,latin1,cp1252,mixed")
KEY(data, markup, BOOL, TEXTS | PAIRS, "0", "1: tags as <br /> are blanks")
KEY(data, empty, CHOICE, TEXTS | PAIRS, "refuse",
    "labelled texts and pairs without a token: an error, or left out and counted",
    .choices = "refuse,skip")
KEY(data, hold, INT, TEXTS | PAIRS | TAGGING | TRANSLATION, "0",
    "examples of data.train that are held out as development data where data.dev is empty: the "
    "same for every seed",
    RANGE(0, 1e9), WITH("data.dev", UNSET))
KEY(data, stratify, BOOL, TEXTS | PAIRS, "0",
    "data.hold takes of each label its share, rounded up or down", WITH("data.hold", POSITIVE))
KEY(data, train_part, INT, TEXTS | PAIRS, "0",
    "examples of data.train that are trained on at most; 0: all", RANGE(0, 1e9))
KEY(data, test_part, INT, TEXTS | PAIRS, "0",
    "examples of data.test that are measured on at most; 0: all", RANGE(0, 1e9))
KEY(data, word, INT, TAGGING, "0",
    "tagging: column of the word, from 1, or from the end (-1); 0: 1, in conllu 2",
    RANGE(-1000, 1000))
KEY(data, tag, INT, TAGGING, "0",
    "tagging: column of the tag, likewise; 0: the last, in conllu 4 (UPOS)", RANGE(-1000, 1000))
KEY(data, scheme, CHOICE, TAGGING, "auto",
    "tagging: what tags are written in; none: plain ones; auto: told by the training data, and a "
    "tag of no scheme is an error",
    .choices = "auto,none,IOB1,IOB2,BIOES,BMES")
KEY(data, zero_digits, BOOL, TAGGING, "0", "tagging: every digit becomes 0")
KEY(data, capitals, BOOL, TAGGING, "0", "tagging: an extra input says how a word is capitalised")
KEY(data, window, INT, SPANS | LANGUAGE, "0",
    "span extraction: tokens of the passage in one window, 0: all of it; language modelling: "
    "tokens of an example, 0: 256",
    RANGE(0, 1e7))
KEY(data, stride, INT, SPANS | LANGUAGE, "0",
    "tokens between the starts of two windows (language modelling: in training), at most window; "
    "0: half of window; language modelling: window",
    RANGE(0, 1e7), WITH("data.window", POSITIVE, .tasks = SPANS))
KEY(data, answer_max, INT, SPANS, "30", "span extraction: tokens of a predicted answer at most",
    RANGE(1, 1e7))
KEY(data, split, PATH, LANGUAGE, "",
    "language modelling: data.train holds all splits, one after the other: shares (0.9,0.05,0.05) "
    "or bytes of each")
KEY(data, context, INT, LANGUAGE, "-1",
    "language modelling: tokens before a scored token that evaluation shows at least, fewer than "
    "window; -1: half of window",
    RANGE(-1, 1e7))
KEY(data, max_words, INT, LANGUAGE, "0",
    "language modelling: most frequent words that are known; 0: all", RANGE(0, 1e9),
    WITH("data.tokens", "words,chars"))
KEY(data, source, PATH, TRANSLATION, "",
    "translation: the files are PATH.source and PATH.target; none: one file with tabs")
KEY(data, target, PATH, TRANSLATION, "", "translation: as source, of the other language")
KEY(data, bpe, INT, TRANSLATION, "0",
    "translation: merges of a byte-pair vocabulary of both languages; 0: words", RANGE(0, 1e7),
    WITH("data.bpe_codes", UNSET))
KEY(data, bpe_codes, PATH, TRANSLATION, "",
    "translation: a file of merges (subword-nmt 0.2) in place of learned ones")
KEY(data, documents, BOOL, TRANSLATION, "0",
    "translation: empty lines part documents, whose sentences see those before them")
KEY(data, previous, INT, TRANSLATION, "1",
    "translation of documents: a sentence is read and written after so many sentences before it, "
    "at most",
    RANGE(0, 1e6))
KEY(data, previous_tokens, INT, TRANSLATION, "0",
    "translation of documents: no sentence is added to these once they have so many source tokens; "
    "0: no limit",
    RANGE(0, 1e9))

KEY(decode, beam, INT, TRANSLATION, "4",
    "translation: hypotheses that are followed; 1: the likeliest token each time", RANGE(1, 1000))
KEY(decode, alpha, REAL, TRANSLATION, "0.6", "translation: how much length is made up for; 0: not",
    RANGE(0, 10))
KEY(decode, penalty, CHOICE, TRANSLATION, "wu",
    "translation: log p is divided by ((5 + n) / 6)^alpha, or n^alpha, for n tokens with the end",
    .choices = "wu,length")
KEY(decode, coverage, REAL, TRANSLATION, "0",
    "translation: weight of how far attention covers the source, where the beam's finished "
    "hypotheses are compared; 0: none",
    RANGE(0, 10), WITH("decode.beam", SEVERAL, .tasks = TRANSLATION))
