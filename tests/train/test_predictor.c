/* A predictor: answers to strings are those of gsa predict, in several threads at once, without an
 * allocation once it is warm; streams of lines, good and bad; what --top-k and --proba write. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "rig.h"
#include "support/ends.h"
#include "support/faults.h"
#include "train/predictor.h"

#ifdef GSA_SANITIZED /* a tenth of the calls */
#define SLOWER 10
#else
#define SLOWER 1
#endif

static const char tagging[] =
    "[task]\nname = tagging\n"
    "[model]\nencoder = star\nhidden = 8\nheads = 2\nffn = 12\nposition = none\n"
    "[train]\nseed = 5\nepochs = 2\nbatch = 4\nlr = 0.01\n";
static const char columns[] = "Ann B-PER\nsaw O\nOslo B-LOC\n\nBo B-PER\nLee I-PER\nslept O\n";
enum { TEXT, PAIR, TAGS, LANGUAGE, TASKS };

static void open_run(rig *r, int task)
{
    static const char *const recipes[TASKS] = { rig_text, rig_pairs, tagging, rig_language };
    rig_open(r, recipes[task], GSA_F32, 1);
    if (task == TAGS) {
        gsa_put_file(gsa_scratch_path(&r->scratch, "tags"), columns, sizeof columns - 1);
        r->data[0] = r->data[1] = "tags";
    }
    rig_set(r, "train.epochs=1");
    rig_train_ok(r, "run");
}

static gsa_apply_options options_of(const rig *r, char model[300])
{
    snprintf(model, 300, "%s/run", r->scratch.folder);
    return (gsa_apply_options){ .model = model, .device = "cpu", .threads = 1 };
}

/* What gsa_predict writes of these bytes; to be freed. */
static char *predict(rig *r, gsa_apply_options o, const char *bytes, int64_t count)
{
    char in[300], out[300];
    int64_t size;
    snprintf(in, sizeof in, "%s/in", r->scratch.folder);
    snprintf(out, sizeof out, "%s/out", r->scratch.folder);
    gsa_put_file(in, bytes, count);
    if (o.n_texts == 0) o.input = in;
    o.output = out;
    ck_assert_msg(gsa_predict(r->system, &o, &r->error) == GSA_OK, "%s", r->error.text);
    return gsa_get_file(out, &size);
}

/* ---- answers ------------------------------------------------------------------------------- */

static const struct {
    int task, texts;
    const char *text[2], *line, *tokenize;
} asked[] = {
    { TEXT, 1, { "a red cat" }, "a red cat\n", NULL },
    { TEXT, 1, { "a\nred\tcat\r\n" }, "a red cat\n", NULL },
    { PAIR, 2, { "fine day", "day" }, "fine day\tday\n", NULL },
    { PAIR, 2, { "fine\tday", "da\ny" }, "fine day\tda y\n", NULL },
    { TAGS, 1, { "Ann saw Oslo" }, "Ann saw Oslo\n", "words" },
    { LANGUAGE, 1, { "abc" }, "abc\n", NULL },
};

/* Of any number of lines asked before, bad ones too. */
START_TEST(answers_are_those_of_predict)
{
    rig r;
    char model[300];
    gsa_predictor *p;
    gsa_prediction found;
    open_run(&r, asked[_i].task);
    gsa_apply_options o = options_of(&r, model);
    ck_assert_msg(gsa_predictor_open(NULL, &o, &p, &r.error) == GSA_OK, "%s", r.error.text);
    o.tokenize = asked[_i].tokenize;
    char *expected = predict(&r, o, asked[_i].line, (int64_t)strlen(asked[_i].line));
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(gsa_predictor_line(p, "\xff\xfe", 2, &found, &r.error), GSA_ERR_FORMAT);
        ck_assert_msg(gsa_predictor_texts(p, asked[_i].text, asked[_i].texts, &found, &r.error) ==
                          GSA_OK,
                      "%s", r.error.text);
        ck_assert_str_eq(found.text, expected);
        ck_assert_int_eq(found.bytes, (int64_t)strlen(expected));
        ck_assert_int_eq(found.labels, gsa_predictor_labels(p));
        if (asked[_i].task > PAIR) {
            ck_assert(found.labels == 0 && found.label == -1 && !found.probability &&
                      !gsa_predictor_label(p, 0));
            continue;
        }
        double sum = 0;
        for (int32_t c = 0; c < found.labels; c++) sum += found.probability[c];
        const char *best = gsa_predictor_label(p, found.label);
        ck_assert_double_eq_tol(sum, 1, 1e-12);
        ck_assert(strncmp(expected, best, strlen(best)) == 0 && expected[strlen(best)] == '\t');
        ck_assert_double_eq_tol(strtod(strchr(expected, '\t'), NULL),
                                found.probability[found.label], 1e-6);
        ck_assert(!gsa_predictor_label(p, -1) && !gsa_predictor_label(p, found.labels));
    }
    gsa_predictor_close(p);
    free(expected);
    rig_close(&r);
}
END_TEST

/* No zero follows it, and what is behind it is nobody's: each part of the line from its begin. */
START_TEST(a_line_ends_with_its_bytes)
{
    const gsa_system ends = gsa_ends_system();
    rig r;
    char model[300];
    gsa_predictor *p;
    gsa_prediction found;
    open_run(&r, asked[_i].task);
    const gsa_apply_options o = options_of(&r, model);
    ck_assert_msg(gsa_predictor_open(NULL, &o, &p, &r.error) == GSA_OK, "%s", r.error.text);
    for (int64_t bytes = (int64_t)strlen(asked[_i].line) - 1; bytes > 0; bytes--) {
        char *line = gsa_ends_copy(asked[_i].line, bytes);
        const gsa_status status = gsa_predictor_line(p, line, bytes, &found, &r.error);
        ck_assert(status == GSA_OK || status == GSA_ERR_FORMAT);
        gsa_release(&ends, line);
    }
    gsa_predictor_close(p);
    rig_close(&r);
}
END_TEST

START_TEST(what_is_no_text_is_a_sentence)
{
    static const struct {
        int task, texts;
        const char *text[2], *expected;
    } bad[] = {
        { TEXT, 1, { "" }, "the text:1: the example is empty" },
        { TEXT, 1, { " \n\t" }, "the text:1: the example is empty" },
        { TEXT, 1, { "a\xff" }, "the text:1: invalid UTF-8 at byte 2" },
        { TEXT, 1, { "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17" }, "17" },
        { TEXT, 2, { "a", "b" }, "2 texts were given, the task text_classification takes 1" },
        { TEXT, 0, { NULL }, "0 texts were given" },
        { TEXT, 1, { NULL }, "text 1 is NULL" },
        { PAIR, 2, { "a", NULL }, "text 2 is NULL" },
        { PAIR, 1, { "a" }, "1 text was given, the task sentence_pairs takes 2" },
        { PAIR, 2, { "a", "" }, "the text:1: sentence b is empty" },
    };
    rig r;
    char model[300];
    gsa_predictor *p;
    gsa_prediction found;
    for (int task = TEXT; task <= PAIR; task++) {
        open_run(&r, task);
        const gsa_apply_options o = options_of(&r, model);
        const gsa_apply_options none = { .device = "cpu" };
        ck_assert_int_eq(gsa_predictor_open(NULL, &none, &p, &r.error), GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(r.error.text, "no model was named"), "%s", r.error.text);
        ck_assert_int_eq(gsa_predictor_open(NULL, &o, &p, &r.error), GSA_OK);
        for (int i = 0; i < GSA_COUNT(bad); i++) {
            if (bad[i].task != task) continue;
            ck_assert_int_ne(gsa_predictor_texts(p, bad[i].text, bad[i].texts, &found, &r.error),
                             GSA_OK);
            ck_assert_msg(strstr(r.error.text, bad[i].expected), "'%s' lacks '%s'", r.error.text,
                          bad[i].expected);
            ck_assert(found.bytes == 0 && found.label == -1);
        }
        ck_assert_int_eq(gsa_predictor_line(p, "a\nb", 3, &found, &r.error), GSA_ERR_ARGUMENT);
        ck_assert_int_eq(gsa_predictor_line(p, "a\0b\tc", 5, &found, &r.error), GSA_ERR_FORMAT);
        ck_assert_msg(strstr(r.error.text, "NUL"), "%s", r.error.text);
        gsa_predictor_close(p);
        rig_close(&r);
    }
}
END_TEST

static void count_emits(void *user, const gsa_plugin_call *call)
{
    if (call && strcmp(call->function, "emit") == 0) ++*(int *)user;
}

/* Without that nobody could say which plugin crashed. */
static int is_trusted(const char *folder)
{
    (void)folder;
    return 0;
}

/* As gsa predict does, a predictor opens nothing that another user's recipe names. Root alone can
 * give a folder away. */
START_TEST(another_users_model_is_not_trusted)
{
    static const char words[] = "red\ncat\n";
    rig r;
    char model[300], lexicon[300], encoder[400], command[700];
    gsa_predictor *p;
    if (geteuid() != 0) return;
    rig_open(&r, rig_text, GSA_F32, 1);
    snprintf(lexicon, sizeof lexicon, "%s/words", r.scratch.folder);
    snprintf(encoder, sizeof encoder, "model.encoder=char_word:lexicon=%s", lexicon);
    gsa_put_file(lexicon, words, sizeof words - 1);
    rig_set(&r, encoder);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    gsa_apply_options o = options_of(&r, model);
    ck_assert_msg(gsa_predictor_open(NULL, &o, &p, &r.error) == GSA_OK, "%s", r.error.text);
    gsa_predictor_close(p);
    for (int i = 0; i < 2; i++) { /* the run's folder is another's, then the step's alone */
        snprintf(command, sizeof command, "chown %d %s && chown %d %s/step-*", i ? 0 : 12345, model,
                 i ? 12345 : 0, model);
        ck_assert_int_eq(system(command), 0);
        o.distrusts = NULL;
        ck_assert_int_eq(gsa_predictor_open(NULL, &o, &p, &r.error), GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(r.error.text, "the model is not trusted"), "%s", r.error.text);
        o.distrusts = is_trusted;
        ck_assert_msg(gsa_predictor_open(NULL, &o, &p, &r.error) == GSA_OK, "%s", r.error.text);
        gsa_predictor_close(p);
    }
    rig_close(&r);
}
END_TEST

START_TEST(the_caller_hears_which_code_runs)
{
    rig r;
    char model[300];
    gsa_predictor *p;
    gsa_prediction found;
    int emits = 0;
    open_run(&r, TEXT);
    const gsa_apply_options o = options_of(&r, model);
    gsa_system table = *gsa_system_default();
    table.user = &emits, table.calling = count_emits;
    ck_assert_int_eq(gsa_predictor_open(&table, &o, &p, &r.error), GSA_OK);
    ck_assert_int_eq(gsa_predictor_line(p, "a red cat", 9, &found, &r.error), GSA_OK);
    ck_assert_int_gt(emits, 0);
    gsa_predictor_close(p);
    rig_close(&r);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */

static const char *const longest[TASKS][2] = {
    { "one two three four five six seven eight nine ten eleven" },
    { "one two three four five six", "seven eight nine ten" },
    { "Ann saw Bo and Bo saw Ann and Lee and Oslo ." },
    { "abc abc abc" }
};
static const char *const shorter[TASKS][2][2] = { { { "a fine film" }, { "no" } },
                                                  { { "fine day", "day" }, { "a", "b" } },
                                                  { { "Lee slept ." }, { "Oslo" } },
                                                  { { "ab" }, { "cab cab" } } };

START_TEST(a_warm_predictor_asks_for_no_memory)
{
    rig r;
    char model[300];
    gsa_faults faults;
    gsa_predictor *p;
    gsa_prediction found;
    open_run(&r, _i);
    const gsa_apply_options o = options_of(&r, model);
    const int texts = _i == PAIR ? 2 : 1;
    gsa_faults_start(&faults);
    ck_assert_int_eq(gsa_predictor_open(&faults.table, &o, &p, &r.error), GSA_OK);
    for (int k = 0; k < 18; k++) {
        if (k == 6) gsa_faults_rewind(&faults);
        const char *const *text = k % 3 == 2 ? longest[_i] : shorter[_i][k % 3];
        ck_assert_int_eq(gsa_predictor_texts(p, text, texts, &found, &r.error), GSA_OK);
        ck_assert_int_gt(found.bytes, 0);
    }
    for (int op = 0; op < GSA_OPS; op++)
        ck_assert_msg(faults.calls[op] == 0, "%lld calls of sort %d", (long long)faults.calls[op],
                      op);
    gsa_predictor_close(p);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    rig_close(&r);
}
END_TEST

static gsa_status open_and_ask(gsa_faults *faults, void *context)
{
    rig *r = context;
    char model[300];
    gsa_predictor *p = NULL;
    gsa_prediction found;
    const gsa_apply_options o = options_of(r, model);
    gsa_status status = gsa_predictor_open(&faults->table, &o, &p, &r->error);
    ck_assert((status == GSA_OK) == (p != NULL));
    if (status == GSA_OK)
        status = gsa_predictor_texts(p, (const char *[]){ "a red cat" }, 1, &found, &r->error);
    gsa_predictor_close(p);
    return status;
}

START_TEST(without_memory_nothing_is_left)
{
    rig r;
    open_run(&r, TEXT);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 1, GSA_ERR_MEMORY, open_and_ask, &r), 20);
    rig_close(&r);
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------- */

enum { THREADS = 8, MODELS = 2, CALLS = 100000 / SLOWER / (THREADS * MODELS) };
static const char *const questions[2][2] = { { "a red cat", "day" }, { "no", "night" } };

typedef struct asker {
    const rig *r;
    double probability[MODELS][2]; /* of each question */
    int calls, failed;
} asker;

static void answer(asker *a, gsa_predictor **p)
{
    gsa_error error;
    gsa_prediction found;
    for (int k = 0; k < a->calls && !a->failed; k++)
        for (int m = 0; m < MODELS && !a->failed; m++) {
            double *known = &a->probability[m][k % 2];
            a->failed =
                gsa_predictor_texts(p[m], questions[k % 2], m + 1, &found, &error) != GSA_OK;
            if (!a->failed && k > 1) a->failed = *known != found.probability[0];
            if (!a->failed) *known = found.probability[0];
        }
}

/* Two models each, one call after the other. */
static void *ask(void *context)
{
    asker *a = context;
    char model[MODELS][300];
    gsa_error error;
    gsa_predictor *p[MODELS] = { NULL };
    for (int m = 0; m < MODELS; m++) {
        const gsa_apply_options o = options_of(&a->r[m], model[m]);
        a->failed |= gsa_predictor_open(NULL, &o, &p[m], &error) != GSA_OK;
    }
    answer(a, p);
    for (int m = 0; m < MODELS; m++) gsa_predictor_close(p[m]);
    return NULL;
}

START_TEST(threads_with_two_models_each_get_the_bits_of_one_thread)
{
    rig r[MODELS];
    pthread_t thread[THREADS];
    asker each[THREADS], alone = { .r = r, .calls = 2 };
    open_run(&r[0], TEXT);
    open_run(&r[1], PAIR);
    ask(&alone);
    ck_assert_int_eq(alone.failed, 0);
    for (int i = 0; i < THREADS; i++) {
        each[i] = (asker){ .r = r, .calls = CALLS };
        ck_assert_int_eq(pthread_create(&thread[i], NULL, ask, &each[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(each[i].failed, 0);
        ck_assert_mem_eq(each[i].probability, alone.probability, sizeof alone.probability);
    }
    ck_assert(alone.probability[0][0] != alone.probability[0][1]);
    for (int m = 0; m < MODELS; m++) rig_close(&r[m]);
}
END_TEST

/* ---- streams ------------------------------------------------------------------------------- */

START_TEST(a_bad_line_of_a_stream_is_answered_and_the_stream_goes_on)
{
    static const char lines[] = "a red cat\n\nbad\xff\nso \0 on\r\na red cat\r\nno";
    rig r;
    char model[300];
    open_run(&r, TEXT);
    gsa_apply_options o = options_of(&r, model);
    o.stream =
        1; /* a file's lines are computed together, which may change the last bits of a product */
    char *good = predict(&r, o, "a red cat\nno\n", 13), *no = strchr(good, '\n') + 1, expected[512];
    char *out = predict(&r, o, lines, sizeof lines - 1);
    snprintf(expected, sizeof expected,
             "%.*s!\tline 2: the example is empty: it holds no token\n!\tline 3: invalid UTF-8 at "
             "byte 4",
             (int)(no - good), good);
    ck_assert_msg(strncmp(out, expected, strlen(expected)) == 0, "%s", out);
    snprintf(expected, sizeof expected, "\n!\tline 4: the line holds a NUL byte\n%s", good);
    ck_assert_msg(strstr(out, expected) != NULL && strstr(out, expected)[strlen(expected)] == 0,
                  "%s", out);
    free(good);
    free(out);
    rig_close(&r);
}
END_TEST

/* No line is too long to be told, at the end of the stream, too. */
START_TEST(a_line_of_more_than_a_mebibyte)
{
    enum { MOST = 1 << 20 };
    rig r;
    char model[300], *lines = malloc(3 * MOST);
    open_run(&r, TEXT);
    gsa_apply_options o = options_of(&r, model);
    o.stream = 1;
    for (int k = 0; k < 2; k++) {
        memset(lines, 'a', 3 * MOST);
        const int64_t length =
            k ? 2 * MOST + 12345 : MOST; /* the longest that is read, and one that is not */
        lines[length] = '\n';
        memcpy(lines + length + 1, "no\n", 3);
        char *out = predict(&r, o, lines, length + 4), *next = strchr(out, '\n') + 1;
        if (k)
            ck_assert_msg(strncmp(out, "!\tline 1: the line has more than 1048576 bytes\n",
                                  (size_t)(next - out)) == 0,
                          "%.80s", out);
        else ck_assert_msg(out[0] != '!', "%.80s", out);
        ck_assert(next[0] != '!' && strchr(next, '\n') && !strchr(next, '\n')[1]);
        free(out);
    }
    memset(lines, 'a', 3 * MOST);
    char *out = predict(&r, o, lines, MOST + 1);
    ck_assert_msg(strcmp(out, "!\tline 1: the line has more than 1048576 bytes\n") == 0, "%.80s",
                  out);
    free(out);
    free(lines);
    rig_close(&r);
}
END_TEST

START_TEST(nothing_of_an_empty_stream)
{
    rig r;
    char model[300];
    open_run(&r, TEXT);
    gsa_apply_options o = options_of(&r, model);
    o.stream = 1;
    char *out = predict(&r, o, "", 0);
    ck_assert_str_eq(out, "");
    free(out);
    rig_close(&r);
}
END_TEST

typedef struct service {
    gsa_apply_options options;
    gsa_error error;
    gsa_status status;
} service;

static void *serve(void *context)
{
    service *s = context;
    s->status = gsa_predict(NULL, &s->options, &s->error);
    return NULL;
}

/* Each answer comes before the next line is written; a reader that goes away ends the stream with a
 * sentence. */
START_TEST(an_answer_comes_before_the_next_line)
{
    rig r;
    char model[300], in[300], out[300], got[256];
    pthread_t thread;
    service s = { .status = GSA_OK };
    open_run(&r, TEXT);
    signal(SIGPIPE, SIG_IGN);
    snprintf(in, sizeof in, "%s/to", r.scratch.folder);
    snprintf(out, sizeof out, "%s/from", r.scratch.folder);
    ck_assert(mkfifo(in, 0600) == 0 && mkfifo(out, 0600) == 0);
    s.options = options_of(&r, model);
    s.options.stream = 1, s.options.input = in, s.options.output = out;
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, &s), 0);
    const int from = open(out, O_RDONLY), to = open(in, O_WRONLY);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(write(to, "a red", 5), 5);
        ck_assert_int_eq(write(to, " cat\n", 5), 5);
        ssize_t count = 0;
        do count += read(from, got + count, sizeof got - (size_t)count - 1);
        while (count > 0 && got[count - 1] != '\n');
        ck_assert_int_gt(count, 2);
    }
    close(from);
    for (int k = 0; k < 2000 && write(to, "a red cat\n", 10) == 10; k++) continue;
    close(to);
    pthread_join(thread, NULL);
    ck_assert_int_eq(s.status, GSA_ERR_IO);
    ck_assert_msg(strstr(s.error.text, "Broken pipe"), "%s", s.error.text);
    unlink(in);
    unlink(out);
    rig_close(&r);
}
END_TEST

/* ---- labels -------------------------------------------------------------------------------- */

START_TEST(the_most_probable_labels_best_first)
{
    rig r;
    char model[300];
    open_run(&r, TEXT);
    gsa_apply_options o = options_of(&r, model);
    char *best = predict(&r, o, "a red cat\n", 10);
    o.all_labels = 1;
    char *all = predict(&r, o, "a red cat\n", 10);
    o.all_labels = 0, o.top_k = 2;
    char *top = predict(&r, o, "a red cat\n", 10), *at = top;
    double last = 1, sum = 0;
    ck_assert(strncmp(top, best, strlen(best) - 1) == 0 && top[strlen(best) - 1] == '\t');
    for (int k = 0; k < 2; k++, at++) {
        at = strchr(at, '\t') + 1;
        const double p = strtod(at, &at);
        ck_assert(p <= last && *at == (k ? '\n' : '\t'));
        last = p;
    }
    int labels = 0;
    for (at = all; (at = strchr(at, '\t')); labels++) { /* "name<TAB>p<TAB>name<TAB>p" */
        sum += strtod(at + 1, &at);
        if (*at == '\n') break;
        at++;
    }
    ck_assert_double_eq_tol(sum, 1, 1e-9);
    ck_assert_int_ge(labels, 1);
    free(best);
    free(all);
    free(top);
    rig_close(&r);
}
END_TEST

START_TEST(labels_that_there_are_not)
{
    static const struct {
        int task, top, all, texts, stream;
        const char *expected;
    } bad[] = {
        { TEXT, 9, 0, 0, 0, "--top-k 9: expected 1 to " },
        { TEXT, -1, 0, 0, 0, "--top-k -1: expected 1 to " },
        { TEXT, 1, 1, 0, 0, "--top-k 1 and --proba all: one of them" },
        { TAGS, 1, 0, 0, 0,
          "--top-k is for texts, pairs and nodes that have one label each: the model's task is "
          "tagging" },
        { LANGUAGE, 0, 1, 0, 1, "--proba all is for texts, pairs and nodes" },
        { TEXT, 0, 0, 1, 1, "a text and --stream" },
    };
    rig r;
    char model[300];
    open_run(&r, bad[_i].task);
    gsa_apply_options o = options_of(&r, model);
    o.input = o.output = gsa_scratch_path(&r.scratch, "none");
    o.top_k = bad[_i].top, o.all_labels = bad[_i].all, o.stream = bad[_i].stream;
    o.texts = (const char *[]){ "a" }, o.n_texts = bad[_i].texts;
    ck_assert_int_eq(gsa_predict(NULL, &o, &r.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, bad[_i].expected), "'%s' lacks '%s'", r.error.text,
                  bad[_i].expected);
    ck_assert(!gsa_exists(o.output));
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test answers[] = { GSA_LOOP(answers_are_those_of_predict, GSA_COUNT(asked)),
                                        GSA_LOOP(a_line_ends_with_its_bytes, GSA_COUNT(asked)),
                                        GSA_TEST(what_is_no_text_is_a_sentence),
                                        GSA_TEST(the_caller_hears_which_code_runs),
                                        GSA_TEST(another_users_model_is_not_trusted),
                                        GSA_TEST(the_most_probable_labels_best_first),
                                        GSA_LOOP(labels_that_there_are_not, 6) };
    static const gsa_test memory[] = {
        GSA_LOOP(a_warm_predictor_asks_for_no_memory, TASKS),
        GSA_TEST(without_memory_nothing_is_left),
        GSA_TEST(threads_with_two_models_each_get_the_bits_of_one_thread)
    };
    static const gsa_test streams[] = {
        GSA_TEST(a_bad_line_of_a_stream_is_answered_and_the_stream_goes_on),
        GSA_TEST(a_line_of_more_than_a_mebibyte), GSA_TEST(nothing_of_an_empty_stream),
        GSA_TEST(an_answer_comes_before_the_next_line)
    };
    static const gsa_case cases[] = { GSA_CASE("answers", answers, 60),
                                      GSA_CASE("memory", memory, 120),
                                      GSA_CASE("streams", streams, 60) };
    return gsa_run_suite("predictor", cases, GSA_COUNT(cases), argc, argv);
}
