/* test_attend.c - gsa attend, and what gsa graph draws of whole stacks: what comes out, and what is
 * said when asked wrongly. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "graph/xml.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

static void run(const char *const *args)
{
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
}

/* Exit code 2, one line on stderr that holds the fragment, nothing on stdout, no file made. */
static void refuse(const char *const *args, const char *fragment)
{
    char *before = gsa_cli_listing();
    gsa_cli_run(args, NULL, &ran);
    char *after = gsa_cli_listing();
    ck_assert_msg(ran.signal == 0 && ran.code == 2, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
    ck_assert_msg(strstr(ran.err, fragment) != NULL, "'%s', expected '%s'", ran.err, fragment);
    ck_assert_str_eq(ran.out, "");
    ck_assert_str_eq(before, after);
    free(before), free(after);
}

static void train(void)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set",
             "model.encoder=star,full:clip=2+ring", "--out", "text"));
    run(ARGS("train", "sum.ini", "--quiet", "--threads", "1", "--set", "model.encoder=star*2",
             "--out", "sum"));
}

/* ---- attend -------------------------------------------------------------------------------- */

/* Sums of a key over the in-edges of each (node, layer, phase) that has some: all 1. Returns how
 * many there are. */
static int check_sums(const char *document, const char *key)
{
    enum { NODES = 64, LAYERS = 4, PHASES = 8 };
    static double sum[NODES][LAYERS][PHASES];
    int64_t count, same;
    xml_edge *edge = xml_edges(document, &count);
    double *weight = xml_numbers(document, key, &same),
           *layer = xml_numbers(document, "e_layer", &same);
    int groups = 0;
    memset(sum, 0, sizeof sum);
    ck_assert_int_eq(count, same);
    for (int64_t i = 0; i < count; i++) sum[edge[i].to][(int)layer[i]][edge[i].phase] += weight[i];
    for (int n = 0; n < NODES * LAYERS * PHASES; n++) {
        const double s = (&sum[0][0][0])[n];
        if (s == 0) continue;
        ck_assert_msg(fabs(s - 1) < 1e-6, "%s: a sum is %.9g", key, s);
        groups++;
    }
    free(edge), free(weight), free(layer);
    return groups;
}

START_TEST(a_text_is_looked_at)
{
    train();
    run(ARGS("attend", "--model", "text", "--text", "a <good>\tfilm\n", "--out", "a.graphml"));
    ck_assert_str_eq(ran.out, "");
    ck_assert_ptr_nonnull(strstr(ran.err, "words that the model does not know: '<good>'\n"));
    ck_assert_ptr_nonnull(strstr(ran.err, "layer 1, full.attend: 'a' reads "));
    ck_assert_ptr_nonnull(strstr(ran.err, "layer 1, ring.attend: "));
    char *text = gsa_cli_read("a.graphml"), *label = xml_data(text, "v_label", 1),
         *spec = xml_data(text, "g_spec", 0);
    ck_assert_str_eq(label, "<good>");
    ck_assert_str_eq(spec, "star*1,full:clip=2+ring*1");
    /* star without its relay's update, which is read by nobody: 3 nodes; full and ring: 3 each */
    for (int w = 0; w < 3; w++)
        ck_assert_int_eq(check_sums(text, (const char *[]){ "e_w0", "e_w1", "e_weight" }[w]), 9);
    free(text), free(label), free(spec);
    gsa_cli_leave();
}
END_TEST

START_TEST(one_layer_and_every_format)
{
    int64_t count;
    train();
    run(ARGS("attend", "--model", "sum", "--example", "15", "--layer", "1", "--out", "one.graphml",
             "--quiet"));
    ck_assert_str_eq(ran.err, "");
    char *one = gsa_cli_read("one.graphml");
    double *layers = xml_numbers(one, "e_layer", &count);
    ck_assert_int_eq(count, 6 * 8 + 1); /* star: 6n+1 */
    for (int64_t i = 0; i < count; i++) ck_assert(layers[i] == 1);
    ck_assert_int_eq(check_sums(one, "e_w1"), 9);
    run(ARGS("attend", "--model", "sum", "--example", "15"));
    ck_assert_int_eq(xml_count(ran.out, "edge"), 2 * count);
    run(ARGS("attend", "--model", "sum", "--example", "15", "--format", "dot"));
    ck_assert_ptr_nonnull(strstr(ran.out, ", layer=1, weight=0."));
    run(ARGS("attend", "--model", "sum", "--example", "15", "--out", "a.mtx"));
    char *mtx = gsa_cli_read("a.mtx");
    ck_assert_int_eq(strncmp(mtx, "%%MatrixMarket matrix coordinate real general\n", 46), 0);
    free(mtx), free(layers), free(one);
    gsa_cli_leave();
}
END_TEST

/* The same bits for every number of threads, and again. */
START_TEST(the_weights_do_not_depend_on_threads)
{
    train();
    run(ARGS("attend", "--model", "text", "--text", "a good one", "--threads", "1", "--out",
             "1.graphml"));
    run(ARGS("attend", "--model", "text", "--text", "a good one", "--threads", "3", "--out",
             "3.graphml"));
    char *one = gsa_cli_read("1.graphml"), *three = gsa_cli_read("3.graphml");
    ck_assert_str_eq(one, three);
    free(one), free(three);
    gsa_cli_leave();
}
END_TEST

START_TEST(attend_asked_wrongly)
{
    train();
    refuse(ARGS("attend"), "'gsa attend' needs --model DIR");
    refuse(ARGS("attend", "--model", "text"), "needs either --text T or --example N");
    refuse(ARGS("attend", "--model", "text", "--text", "a", "--example", "0"),
           "needs either --text T or --example N");
    refuse(ARGS("attend", "--model", "sum", "--text", "a"), "the model reads numbers, not text");
    refuse(ARGS("attend", "--model", "text", "--text", ""), "the text is empty");
    refuse(ARGS("attend", "--model", "text", "--text", " \n\t"), "the text is empty");
    refuse(ARGS("attend", "--model", "text", "--text", "\xef\xbb\xbf"), "the text is empty");
    refuse(ARGS("attend", "--model", "text", "--text", "a \xff"),
           "the text:1: invalid UTF-8 at byte 3");
    refuse(ARGS("attend", "--model", "text", "--text", "a", "--layer", "2"),
           "there is no layer 2: the encoder star");
    refuse(ARGS("attend", "--model", "text", "--text", "a", "--layer", "-1"), "--layer");
    refuse(ARGS("attend", "--model", "text", "--text", "a \xef\xbf\xbe", "--out", "a.graphml"),
           "XML can carry");
    refuse(ARGS("attend", "--model", "text", "--text", "a", "--out", "a.png"),
           ".graphml, .dot, .mtx, .html, .json or .csv");
    refuse(ARGS("attend", "--model", "text", "--example", "2"),
           "there is no example 2: the test data has 2");
    refuse(ARGS("attend", "--model", "text", "--example", "0", "--set", "data.test="),
           "has no test data");
    refuse(ARGS("attend", "--model", "sum", "--example", "16"),
           "there is no example 16: the test data has 16");
    gsa_cli_run(ARGS("attend", "--model", "sum", "--example", "0", "--max-edges", "97"), NULL,
                &ran);
    ck_assert_msg(ran.code == 1 && strstr(ran.err, "the picture has 98 edges, at most 97"), "%d %s",
                  ran.code, ran.err);
    refuse(ARGS("attend", "--model", "text", "--text", "a", "--text", "b", "--out", "a.graphml"),
           "a .graphml file holds one picture, expected .html, .json or .csv for several");
    refuse(ARGS("attend", "--model", "text", "--text", "a", "--beside", "text", "--format", "json"),
           "several pictures go to a file, not to standard output");
    refuse(ARGS("attend", "--model", "text", "--example", "0,2", "--out", "a.json"),
           "there is no example 2: the test data has 2");
    gsa_cli_run(ARGS("attend", "--model", "nowhere", "--text", "a"), NULL, &ran);
    ck_assert(ran.code != 0 && strstr(ran.err, "nowhere") != NULL);
    gsa_cli_leave();
}
END_TEST

/* ---- every task ---------------------------------------------------------------------------- */

static void train_task(const char *name, const char *recipe, const char *steps)
{
    char file[64], text[1024];
    snprintf(file, sizeof file, "%s.ini", name);
    snprintf(text, sizeof text, "[task]\nname = %s", recipe);
    gsa_cli_write(file, text);
    run(ARGS("train", file, "--quiet", "--threads", "1", "--out", name, "--set", steps));
}

static void has_label(const char *document, int64_t node, const char *kind, const char *label)
{
    char *own = xml_data(document, "v_label", (int)node),
         *of = xml_data(document, "v_kind", (int)node);
    ck_assert_msg(strcmp(own, label) == 0 && strcmp(of, kind) == 0, "node %lld is %s %s",
                  (long long)node, of, own);
    free(own), free(of);
}

START_TEST(both_texts_of_a_pair)
{
    gsa_cli_enter();
    gsa_cli_write("p.tsv", "0\ta b\tb\n1\tb\ta a\n");
    train_task("pairs",
               "sentence_pairs\n[model]\nencoder = star\nhidden = 8\nheads = 2\n[data]\n"
               "train = p.tsv\ndev = p.tsv\n",
               "train.max_steps=1");
    run(ARGS("attend", "--model", "pairs", "--text", "a b", "--text", "b\ta b", "--out",
             "a.graphml", "--quiet"));
    char *text = gsa_cli_read("a.graphml"), *spec = xml_data(text, "g_spec", 0);
    ck_assert_str_eq(spec, "a=star*1 b=star*1");
    has_label(text, 2, "a.token", "a"), has_label(text, 10, "b.token", "b");
    ck_assert_int_eq(check_sums(text, "e_w1"), 2 + 1 + 3 + 1); /* tokens and relay of each */
    gsa_cli_run(ARGS("attend", "--model", "pairs", "--text", "a"), NULL, &ran);
    ck_assert(ran.code == 2 && strstr(ran.err, "1 text was given, the task sentence_pairs takes"));
    free(text), free(spec);
    gsa_cli_leave();
}
END_TEST

/* The decoder reads its own translation, which is what gsa predict writes. */
START_TEST(a_translation_as_it_is_decoded)
{
    gsa_cli_enter();
    gsa_cli_write("t.tsv", "a b c\tx y z\nb c\ty z\na\tx\nc b a\tz y x\n");
    train_task("translate",
               "translation\n[model]\nencoder = full\ndecoder = full:causal=1+cross\n"
               "hidden = 16\nheads = 2\n[data]\ntrain = t.tsv\ndev = t.tsv\ntest = t.tsv\n"
               "[train]\nepochs = 60\nlr = 0.01\n",
               "train.batch=4");
    gsa_cli_write("in.txt", "b c\n");
    run(ARGS("predict", "--model", "translate", "--input", "in.txt", "--quiet"));
    char translation[64];
    snprintf(translation, sizeof translation, "%.*s", (int)strcspn(ran.out, "\n"), ran.out);
    ck_assert_msg(*translation != 0, "nothing was translated");
    run(ARGS("attend", "--model", "translate", "--text", "b c", "--out", "a.graphml", "--quiet"));
    char *text = gsa_cli_read("a.graphml");
    const char *const source[] = { "b", "c", "</s>" };
    for (int i = 0; i < 3; i++) has_label(text, i, "encoder.token", source[i]);
    int64_t node = 3;
    has_label(text, node++, "decoder.token", "<s>");
    for (char *word = strtok(translation, " "); word; word = strtok(NULL, " "))
        has_label(text, node++, "decoder.token", word);
    ck_assert_int_eq(xml_count(text, "node"), node); /* memory nodes are the encoder's */
    ck_assert_int_eq(check_sums(text, "e_w0"), 3 + 2 * (node - 3));
    free(text);
    run(ARGS("attend", "--model", "translate", "--text", "b c", "--text", "a", "--beside",
             "translate", "--out", "a.json", "--quiet"));
    text = gsa_cli_read("a.json");
    ck_assert_ptr_nonnull(strstr(text, "{\"title\":\"translate: b c\",\"spec\":\"encoder=full*1 "));
    ck_assert_ptr_nonnull(strstr(text, "\"stack\":\"decoder\",\"layer\":0,\"phase\":\"cross.att"));
    free(text);
    gsa_cli_leave();
}
END_TEST

/* The line of the CSV that begins so; its last number. */
static double number_of(const char *csv, const char *start)
{
    const char *at = strstr(csv, start);
    ck_assert_msg(at != NULL, "no line begins with '%s'", start);
    return strtod(at + strlen(start), NULL);
}

/* A word's characters do not know the words around it: what they read is the same alone. */
START_TEST(characters_of_each_word)
{
    gsa_cli_enter();
    gsa_cli_write("t.conll", "the D\ncat N\nruns V\n\na D\ndog N\nsleeps V\n");
    train_task("tags",
               "tagging\n[model]\nencoder = star\ncharacters = ring\ncharacter_hidden = 8\n"
               "character_heads = 1\nhidden = 8\nheads = 2\n[data]\ntrain = t.conll\n"
               "dev = t.conll\n",
               "train.max_steps=2");
    run(ARGS("attend", "--model", "tags", "--text", "the dog sleeps", "--out", "a.csv", "--quiet"));
    char *all = gsa_cli_read("a.csv");
    static const char *const words[] = { "the", "dog", "sleeps" };
    for (int i = 0; i < 3; i++) {
        char start[96];
        run(ARGS("attend", "--model", "tags", "--text", words[i], "--out", "one.csv", "--quiet"));
        char *one = gsa_cli_read("one.csv");
        snprintf(start, sizeof start, "\"characters %s\",\"\",0,\"attend\",0,entropy,\"\",",
                 words[i]);
        const double entropy = number_of(one, start);
        ck_assert(entropy > 0 && fabs(entropy - number_of(all, start)) < 1e-6);
        free(one);
    }
    free(all);
    run(ARGS("attend", "--model", "tags", "--text", "the dog", "--out", "a.dot"));
    ck_assert_ptr_nonnull(
        strstr(ran.err, "the pass 'characters' is in a page or in numbers alone"));
    gsa_cli_leave();
}
END_TEST

START_TEST(models_of_languages_and_nodes)
{
    gsa_cli_enter();
    gsa_cli_write("l.txt", "the quick brown fox jumps over the lazy dog\n");
    train_task("language",
               "language_modelling\n[model]\nencoder = window:width=5:causal=1\nhidden = 8\n"
               "heads = 2\n[data]\ntrain = l.txt\ndev = l.txt\n",
               "train.max_steps=2");
    run(ARGS("attend", "--model", "language", "--text", "the quick", "--quiet"));
    has_label(ran.out, 2, "token", "quick");
    gsa_cli_write("nodes.tsv", "0\ttrain\tx\t0:1\n1\tdev\ty\t1:1\n2\ttest\tx\t0:1\n");
    run(ARGS("train", "nodes.ini", "--quiet", "--out", "nodes"));
    run(ARGS("attend", "--model", "nodes", "--example", "0", "--quiet"));
    ck_assert_int_eq(check_sums(ran.out, "e_w0"), 3);
    gsa_cli_run(ARGS("attend", "--model", "nodes", "--text", "x"), NULL, &ran);
    ck_assert(ran.code == 2 && strstr(ran.err, "reads numbers, not text"));
    gsa_cli_leave();
}
END_TEST

/* ---- graph: stacks ------------------------------------------------------------------------- */

START_TEST(a_stack_is_drawn_layer_by_layer)
{
    int64_t count;
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "window:width=3*2,full+ring", "--length", "4"));
    double *layers = xml_numbers(ran.out, "e_layer", &count), sum = 0;
    for (int64_t i = 0; i < count; i++) sum += layers[i];
    ck_assert_int_eq(count, 10 + 10 + 16 + 12);
    ck_assert_double_eq(sum, 10 + 2 * (16 + 12));
    ck_assert_ptr_nonnull(strstr(
        ran.err, "window:width=3*2,full+ring, length 4 | nodes: token 4 | edges: attend 2 x 10, "
                 "full.attend 16, ring.attend 12 | 4 nodes, 48 edges\n"));
    free(layers);
    gsa_cli_leave();
}
END_TEST

START_TEST(an_encoder_and_its_decoder_are_one_graph)
{
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "full:causal=1+cross*2", "--length", "2", "--memory", "ring",
             "--memory-text", "你 <b> c"));
    char *spec = xml_data(ran.out, "g_spec", 0), *kind = xml_data(ran.out, "v_kind", 0);
    char *last = xml_data(ran.out, "v_kind", 4), *label = xml_data(ran.out, "v_label", 0);
    ck_assert_str_eq(spec, "encoder=ring decoder=full:causal=1+cross*2");
    ck_assert_str_eq(kind, "encoder.token");
    ck_assert_str_eq(last, "decoder.token");
    ck_assert_str_eq(label, "你");
    ck_assert_int_eq(xml_count(ran.out, "node"), 5);
    ck_assert_int_eq(xml_count(ran.out, "edge"), 9 + 2 * (3 + 6));
    ck_assert_ptr_nonnull(strstr(
        ran.err, "encoder ring, length 3 | nodes: token 3 | edges: attend 9 | 3 nodes, 9 edges\n"));
    ck_assert_ptr_nonnull(
        strstr(ran.err, "decoder full:causal=1+cross*2, length 2 | nodes: token 2 |"));
    ck_assert_ptr_nonnull(strstr(ran.err, "| 2 nodes, 18 edges\n"));
    free(spec), free(kind), free(last), free(label);
    run(ARGS("graph", "--topology", "cross", "--length", "2", "--memory-length", "3", "--format",
             "mtx"));
    ck_assert_ptr_nonnull(strstr(ran.out, "\n5 5 6\n")); /* the memory's nodes are its own */
    gsa_cli_leave();
}
END_TEST

START_TEST(a_setting_may_hold_anything)
{
    gsa_cli_enter();
    gsa_cli_write("a,b+c*d:e=f.txt", "你好\n");
    run(ARGS("graph", "--topology", "char_word", "--set", "lexicon=a,b+c*d:e=f.txt", "--text",
             "你好吗", "--tokens", "chars", "--format", "dot"));
    ck_assert_ptr_nonnull(strstr(ran.err, "word 1"));
    run(ARGS("graph", "--topology", "full+window,ring", "--set", "2.width=3", "--set", "3.cyclic=0",
             "--length", "5"));
    ck_assert_ptr_nonnull(strstr(ran.err, "full+window:width=3,ring:cyclic=0, length 5"));
    run(ARGS("graph", "--topology", "cross", "--memory", "window*2", "--set", "memory.width=3",
             "--length", "5", "--memory-length", "5"));
    ck_assert_ptr_nonnull(strstr(ran.err, "encoder window:width=3*2, length 5"));
    gsa_cli_leave();
}
END_TEST

START_TEST(graph_asked_wrongly)
{
    gsa_cli_enter();
    refuse(ARGS("graph", "--topology", "ring*", "--length", "2"), "column 6");
    refuse(ARGS("graph", "--topology", "ring", "--length", "2", "--memory", "ring",
                "--memory-length", "2"),
           "--memory ring would be read by nothing: no pattern of ring reads another stack's "
           "sequence");
    refuse(ARGS("graph", "--topology", "ring", "--length", "2", "--memory-text", "a b"),
           "--memory-text would be read by nothing");
    refuse(ARGS("graph", "--topology", "cross", "--length", "2", "--memory", "ring"),
           "--memory 'ring' needs --memory-length M or --memory-text T");
    refuse(ARGS("graph", "--topology", "cross", "--length", "2", "--memory", "cross",
                "--memory-length", "2"),
           "--memory cross reads a memory itself");
    refuse(ARGS("graph", "--topology", "cross", "--length", "2", "--memory", "ring",
                "--memory-length", "2", "--memory-text", "a"),
           "--memory-length is 2, but --memory-text has 1 words");
    refuse(ARGS("graph", "--topology", "cross", "--length", "2", "--memory", "ring",
                "--memory-text", "\xc3"),
           "--memory-text is not UTF-8: byte 0 is 0xC3");
    refuse(ARGS("graph", "--topology", "ring", "--length", "2", "--set", "cyclic"),
           "expected [memory.][N.]KEY=VALUE");
    refuse(ARGS("graph", "--topology", "ring", "--length", "2", "--set", "2.cyclic=0"),
           "--topology has 1 patterns, counted from 1");
    refuse(ARGS("graph", "--topology", "ring", "--length", "2", "--set", "0.cyclic=0"),
           "counted from 1");
    refuse(ARGS("graph", "--topology", "ring", "--length", "2", "--set", "memory.cyclic=0"),
           "there is no --memory SPEC");
    refuse(ARGS("graph", "--topology", "ring", "--length", "2", "--set", "cylic=0"), "cyclic");
    refuse(ARGS("graph", "--topology", "ring:cyclic=0", "--length", "2", "--set", "cyclic=1"),
           "cyclic");
    refuse(ARGS("graph", "--topology", "star,star:relays=2", "--length", "2", "--out", "g.dot"),
           "kind 'relay' has 1 nodes in layer 0 (star), but 2 in layer 1 (star)");
    gsa_cli_run(
        ARGS("graph", "--topology",
             "ring*1000,ring*1000,ring*1000,ring*1000,ring*1000,ring*1000,ring*1000,ring*1000,"
             "ring*1000,ring*1000,ring*1000,ring*1000,ring*1000,ring*1000,ring*1000,ring*1000,ring*"
             "1000",
             "--length", "1"),
        NULL, &ran);
    ck_assert_msg(ran.code == 1 && strstr(ran.err, "17000 patterns over its layers"), "%d %s",
                  ran.code, ran.err);
    gsa_cli_run(ARGS("graph", "--topology", "full", "--length", "10", "--max-edges", "99"), NULL,
                &ran);
    ck_assert_msg(ran.code == 1 &&
                      strstr(ran.err, "more than 99 edges, the limit (--max-edges is 99)"),
                  "%d %s", ran.code, ran.err);
    gsa_cli_run(ARGS("graph", "--topology", "ring*10", "--length", "10", "--max-edges", "299"),
                NULL, &ran);
    ck_assert_msg(ran.code == 1 && strstr(ran.err, "300 edges over its layers, --max-edges is 299"),
                  "%d %s", ran.code, ran.err);
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test attend[] = { GSA_TEST(a_text_is_looked_at),
                                       GSA_TEST(one_layer_and_every_format),
                                       GSA_TEST(the_weights_do_not_depend_on_threads),
                                       GSA_TEST(attend_asked_wrongly) };
    static const gsa_test tasks[] = { GSA_TEST(both_texts_of_a_pair),
                                      GSA_TEST(a_translation_as_it_is_decoded),
                                      GSA_TEST(characters_of_each_word),
                                      GSA_TEST(models_of_languages_and_nodes) };
    static const gsa_test graph[] = { GSA_TEST(a_stack_is_drawn_layer_by_layer),
                                      GSA_TEST(an_encoder_and_its_decoder_are_one_graph),
                                      GSA_TEST(a_setting_may_hold_anything),
                                      GSA_TEST(graph_asked_wrongly) };
    static const gsa_case cases[] = { GSA_CASE("attend", attend, 120),
                                      GSA_CASE("tasks", tasks, 120),
                                      GSA_CASE("graph", graph, 120) };
    return gsa_run_suite("attention", cases, GSA_COUNT(cases), argc, argv);
}
