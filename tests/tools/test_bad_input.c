/* test_bad_input.c - every way to request the wrong thing: one sentence on stderr that names it,
 * the documented exit code, nothing written, no crash. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cli.h"
#include "support/suite.h"

typedef struct row {
    const char *args[GSA_CLI_ARGS];
    int code;
    const char *says[5]; /* fragments of the sentence */
    const char *input;   /* on stdin */
} row;

#define TRAIN "train", "--quiet"
#define SET   "--set"

static const row usage_rows[] = {
    { { NULL }, 2, { "which verb", "gsa help" }, NULL },
    { { "trian" }, 2, { "unknown verb 'trian'", "nearest is 'train'" }, NULL },
    { { "gr\x01ph" }, 2, { "unknown verb", "\\x01" }, NULL },
    { { "graph", "--lenght", "3" }, 2, { "gsa graph", "'lenght'", "nearest is 'length'" }, NULL },
    { { "graph", "-l", "3" }, 2, { "gsa graph", "'-l'", "spelled out" }, NULL },
    { { "graph", "--length" }, 2, { "--length", "needs a value", "N" }, NULL },
    { { "graph", "--length", "3", "--length", "4" }, 2, { "--length", "given twice" }, NULL },
    { { "topologies", "--json=yes" }, 2, { "--json", "takes no value" }, NULL },
    { { "topologies", "star" }, 2, { "gsa topologies", "'star'", "usage" }, NULL },
    { { "train", "text.ini", "b.ini" }, 2, { "gsa train", "'b.ini' is left over" }, NULL },
    { { "graph", "--topology", "star", "--length", "-1" },
      2,
      { "--length", "'-1'", "0 to 2147483647" },
      NULL },
    { { "graph", "--topology", "star", "--length", "99999999999999999999" },
      2,
      { "--length", "'99999999999999999999'" },
      NULL },
    { { "graph", "--topology", "star", "--length", "3.5" },
      2,
      { "--length", "'3.5'", "an integer" },
      NULL },
    { { "graph", "--topology", "star", "--length", "" }, 2, { "--length", "''" }, NULL },
    { { "graph", "--topology", "star", "--length", "4", "--heads", "0" },
      2,
      { "--heads", "'0'", "1 to" },
      NULL },
    { { "graph", "--topology", "star", "--text", "a", "--tokens", "letters" },
      2,
      { "--tokens", "'letters'", "words|chars|bytes" },
      NULL },
    { { "eval", "--model", "run", "--report", "x", "--outcomes", "y", "--json", "./x" },
      2,
      { "'gsa eval --report' and '--json' both name './x': one of the two would be lost" },
      NULL },
    { { "train", "sum.ini", "--out", "r", "--report", "r" },
      2,
      { "'gsa train --out' and '--report' both name 'r'" },
      NULL },
    { { "train", "sum.ini", "--out", "r", "--report", "r/config.ini" },
      2,
      { "--report r/config.ini", "a run writes a file of that name", "report.html" },
      NULL },
    { { "train", "sum.ini", "--out", "new/r", "--report", "new/r" },
      2,
      { "'gsa train --out' and '--report' both name 'new/r'" },
      NULL },
    { { "train", "sum.ini", "--threads", "0" }, 2, { "--threads", "'0'" }, NULL },
    { { "train", "sum.ini", "--epochs", "3" },
      2,
      { "no option 'epochs'", "--set train.epochs=VALUE" },
      NULL },
    { { TRAIN, "sum.ini", SET, "train.lr", "0.1" },
      2,
      { "expected section.key=value", "--set train.lr=0.1" },
      NULL },
    { { TRAIN, "text.ini", SET, "data.train=" },
      2,
      { "train is not set", "--set data.train=FILE" },
      NULL },
    { { TRAIN, "text.ini", SET, "data.vectors=packed.gz" },
      2,
      { "packed.gz:1: the file is compressed", "unpack it first" },
      NULL },
    { { "train", "sum.ini", "--device", "tpu" },
      2,
      { "--device", "'tpu'", "cpu|cuda[-graphs][-tf32]|", "-cusparse|ref|auto" },
      NULL },
    { { "train", "sum.ini", "--device", "cuda-bf16-bf16" },
      2,
      { "--device", "'cuda-bf16-bf16'" },
      NULL },
    { { "train", "sum.ini", "--device", "cuda-windows" },
      2,
      { "--device", "'cuda-windows'" },
      NULL },
    { { "train", "sum.ini", "--device", "cuda-bf16-tf32" },
      2,
      { "--device", "'cuda-bf16-tf32'" },
      NULL },
    { { "train", "sum.ini", "--device", "-bf16" }, 2, { "--device", "'-bf16'" }, NULL },
    { { "train", "sum.ini", "--device", "" }, 2, { "--device", "''" }, NULL },
    { { "train", "sum.ini", "--device", "cuda[-bf16]" }, 2, { "--device", "'cuda[-bf16]'" }, NULL },
    { { "help", "grpah" }, 2, { "unknown verb 'grpah'", "'graph'" }, NULL },
    { { "bench" }, 2, { "gsa bench", "kernel|graph|train" }, NULL },
    { { "bench", "disk" }, 2, { "gsa bench", "'disk'", "kernel" }, NULL },
    { { "bench", "lexicon", "--text", "dev.tsv" },
      2,
      { "gsa bench lexicon", "--lexicon FILE" },
      NULL },
    { { "bench", "lexicon", "--lexicon", "none.txt", "--text", "dev.tsv" },
      1,
      { "lexicon", "'none.txt'" },
      NULL },
    { { "bench", "lexicon", "--lexicon", "dev.tsv", "--text", "utf8.tsv" },
      2,
      { "utf8.tsv", "UTF-8" },
      NULL },
    { { "bench", "train" }, 2, { "gsa bench train", "RECIPE" }, NULL },
    { { "bench", "train", "text.ini", "--profile", "--steps", "2" },
      2,
      { "--steps is not for --profile", "train.max_steps" },
      NULL },
    { { "bench", "train", "text.ini", "--profile", "--device", "cuda" },
      2,
      { "--profile", "cpu or ref" },
      NULL },
    { { "bench", "train", "text.ini", "--profile", "--device", "cuda-bf16" },
      2,
      { "--device cuda-bf16", "cpu or ref" },
      NULL },
    { { "bench", "graph", "--topology", "star", "--length", "8", "--runs", "1", "--json",
        "nowhere/b.json" },
      1,
      { "'nowhere/b.json' cannot be written", "No such file" },
      NULL }, /* before the table: what was measured would be lost */
    { { "bench", "kernel", "text.ini" }, 2, { "gsa bench kernel", "'text.ini'" }, NULL },
    { { "bench", "kernel", "--against", "cpu/0" },
      2,
      { "--against", "'cpu/0'", "1 to 4096" },
      NULL },
    { { "bench", "kernel", "--against", "cpu-avx", "--length", "8" },
      2,
      { "'cpu-avx'", "expected cpu, ref", "takes cpu-plain, cpu-avx2" },
      NULL },
    { { "bench", "kernel", "--against", "cpu-plain", "--real", "double" },
      2,
      { "--against cpu-plain", "in float", "--real is double" },
      NULL },
    { { "bench", "kernel", "--dropout", "1" }, 2, { "--dropout", "0.999" }, NULL },
    { { "bench", "kernel", "--length", "64,,8" }, 2, { "--length", "'64,,8'" }, NULL },
    { { "train" }, 2, { "gsa train", "RECIPE", "--resume" }, NULL },
    { { "eval" }, 2, { "gsa eval", "--model" }, NULL },
    { { "predict" }, 2, { "gsa predict", "--model" }, NULL },
};

static const row graph_rows[] = {
    { { "graph", "--length", "4" }, 2, { "--topology SPEC" }, NULL },
    { { "graph", "--topology", "star" }, 2, { "--length N or --text T" }, NULL },
    { { "graph", "--topology", "sart", "--length", "4" }, 2, { "'sart'", "'star'" }, NULL },
    { { "graph", "--topology", "star:cyclc=0", "--length", "4" },
      2,
      { "'cyclc'", "'cyclic'" },
      NULL },
    { { "graph", "--topology", "window:width=0", "--length", "4" },
      2,
      { "width", "'0'", "1" },
      NULL },
    { { "graph", "--topology", "window:width=many", "--length", "4" },
      2,
      { "width", "'many'", "integer" },
      NULL },
    { { "graph", "--topology", "window:width=-3", "--length", "4" }, 2, { "width", "'-3'" }, NULL },
    { { "graph", "--topology", "star:cyclic=0:cyclic=1", "--length", "4" },
      2,
      { "cyclic", "twice" },
      NULL },
    { { "graph", "--topology", "star*0", "--length", "4" }, 2, { "'star*0'", "column 6" }, NULL },
    { { "graph", "--topology", "star,,full", "--length", "4" },
      2,
      { "'star,,full'", "column 6" },
      NULL },
    { { "graph", "--topology", "star+", "--length", "4" },
      2,
      { "'star+'", "column 6", "the end" },
      NULL },
    { { "graph", "--topology", "", "--length", "4" }, 2, { "column 1" }, NULL },
    { { "graph", "--topology", "star:=1", "--length", "4" }, 2, { "'star:=1'" }, NULL },
    { { "graph", "--topology", "star", "--length", "4", "--text", "a b" },
      2,
      { "--length is 4", "2 words" },
      NULL },
    { { "graph", "--topology", "star", "--text", "a\xff" },
      2,
      { "--text", "UTF-8", "byte 1", "0xFF" },
      NULL },
    { { "graph", "--topology", "star", "--text", "a\x01", "--out", "g.graphml" },
      2,
      { "token 1", "0x01" },
      NULL },
    { { "graph", "--topology", "star", "--length", "4", "--out", "g.txt" },
      2,
      { "'g.txt'", ".graphml" },
      NULL },
    { { "graph", "--topology", "star", "--length", "4", "--out", "" }, 2, { "''" }, NULL },
    { { "graph", "--topology", "star", "--length", "4", "--out", "nowhere/g.dot" },
      1,
      { "nowhere/g.dot", "No such file" },
      NULL },
    { { "graph", "--topology", "star", "--length", "4", "--out", "folder.dot" },
      1,
      { "folder.dot", "folder" },
      NULL },
    { { "graph", "--topology", "star", "--length", "4", "--out", "/dev/full", "--format", "dot" },
      1,
      { "/dev/full", "No space" },
      NULL },
    { { "graph", "--topology", "full", "--length", "2147483647" },
      1,
      { "full", "2147483647", "limit" },
      NULL },
    { { "graph", "--topology", "full", "--length", "100000" },
      1,
      { "full", "edges", "limit" },
      NULL },
    { { "graph", "--topology", "star", "--length", "4", "--plugin", "mine.so" },
      2,
      { "'mine.so'", "slash" },
      NULL },
    { { "graph", "--topology", "star", "--length", "4", "--plugin", "./mine.so" },
      1,
      { "./mine.so" },
      NULL },
    { { "graph", "--topology", "star", "--length", "4", "--plugin", "./train.tsv" },
      1,
      { "./train.tsv" },
      NULL },
    { { "graph", "--topology", "star", "--length", "4", "--plugin", "./folder.dot" },
      1,
      { "./folder.dot" },
      NULL },
    { { "topologies", "--plugin", "/dev/null" }, 1, { "/dev/null" }, NULL },
    { { "bench", "graph", "--topology", "sart" }, 2, { "'sart'", "'star'" }, NULL },
    { { "bench", "kernel", "--topology", "star", "--length", "4", "--device", "cuda" },
      1,
      { "cuda" },
      NULL },
};

static const row recipe_rows[] = {
    { { TRAIN, "missing.ini" },
      1,
      { "no file 'missing.ini'", "no recipe of that name", "sst5-star" },
      NULL },
    { { TRAIN, "folder.dot" }, 1, { "folder.dot" }, NULL },
    { { TRAIN, "key.ini" }, 2, { "key.ini:4", "'hiden'", "'hidden'" }, NULL },
    { { TRAIN, "section.ini" }, 2, { "section.ini:3", "[modle]", "'model'" }, NULL },
    { { TRAIN, "noequals.ini" }, 2, { "noequals.ini:2", "'='" }, NULL },
    { { TRAIN, "twice.ini" }, 2, { "twice.ini:4", "'n'", "line 2" }, NULL },
    { { TRAIN, "homeless.ini" }, 2, { "homeless.ini:1", "[section]" }, NULL },
    { { TRAIN, "open.ini" }, 2, { "open.ini:1", "'[task'" }, NULL },
    { { TRAIN, "utf8.ini" }, 2, { "utf8.ini:2", "UTF-8" }, NULL },
    { { TRAIN, "topology.ini" }, 2, { "topology.ini:4", "'sart'", "'star'" }, NULL },
    { { TRAIN, "sections.ini" }, 2, { "sections.ini:5", "width", "'0'" }, NULL },
    { { TRAIN, "noencoder.ini" }, 2, { "noencoder.ini", "encoder" }, NULL },
    { { TRAIN, "sum.ini", SET, "train.epochs=-1" }, 2, { "--set", "epochs", "'-1'" }, NULL },
    { { TRAIN, "sum.ini", SET, "train.lr=fast" }, 2, { "--set", "lr", "'fast'" }, NULL },
    { { TRAIN, "sum.ini", SET, "train.lr=nan" }, 2, { "lr", "'nan'" }, NULL },
    { { TRAIN, "sum.ini", SET, "train.lr=1e999" }, 2, { "lr", "'1e999'" }, NULL },
    { { TRAIN, "sum.ini", SET, "train.speed=1" }, 2, { "'speed'", "[train]" }, NULL },
    { { TRAIN, "sum.ini", SET, "epochs=1" }, 2, { "'epochs=1'" }, NULL },
    { { TRAIN, "sum.ini", SET, "train.epochs" }, 2, { "'train.epochs'" }, NULL },
    { { TRAIN, "sum.ini", SET, "task.n=0" }, 2, { "n", "'0'", "1" }, NULL },
    { { TRAIN, "sum.ini", SET, "task.dev=1000000000" }, 2, { "dev", "'1000000000'" }, NULL },
    { { TRAIN, "sum.ini", SET, "task.k=9" }, 2, { "k", "9", "8" }, NULL },
    { { TRAIN, "sum.ini", SET, "task.name=sorting" },
      2,
      { "name", "'sorting'", "masked_summation" },
      NULL },
    { { TRAIN, "sum.ini", SET, "model.hidden=7" }, 2, { "hidden", "7", "heads" }, NULL },
    { { TRAIN, "sum.ini", SET, "model.encoder=window:width=2000000" },
      2,
      { "width", "'2000000'" },
      NULL },
    { { TRAIN, "sum.ini", "--device", "cuda" }, 1, { "cuda" }, NULL },
    { { TRAIN, "sum.ini", "--device", "cuda-bf16" }, 1, { "cuda" }, NULL },
    { { TRAIN, "sum.ini", "--device", "cuda-graphs" }, 1, { "cuda" }, NULL },
    { { TRAIN, "sum.ini", "--device", "cuda-tf32" }, 1, { "cuda" }, NULL },
    { { TRAIN, "sum.ini", "--device", "cuda-graphs-bf16" }, 1, { "cuda" }, NULL },
    { { TRAIN, "sum.ini", "--plugin", "./train.tsv" }, 1, { "./train.tsv" }, NULL },
    { { TRAIN, "sum.ini", "--out", "train.tsv" }, 2, { "--out 'train.tsv'", "no folder" }, NULL },
    { { TRAIN, "sum.ini", "--out", "train.tsv/run" },
      1,
      { "'train.tsv' cannot be made as a folder" },
      NULL },
    { { TRAIN, "sum.ini", "--out", "/dev/null" }, 2, { "--out '/dev/null'", "no folder" }, NULL },
    { { TRAIN, "--resume", "nowhere" }, 1, { "nowhere" }, NULL },
    { { TRAIN, "--resume", "folder.dot" }, 2, { "folder.dot", "checkpoint" }, NULL },
};

static const row data_rows[] = {
    { { TRAIN, "text.ini", SET, "data.train=missing.tsv" },
      1,
      { "missing.tsv", "No such file" },
      NULL },
    { { TRAIN, "text.ini", SET, "data.train=" }, 2, { "data", "train" }, NULL },
    { { TRAIN, "text.ini", SET, "data.train=ragged.tsv" },
      2,
      { "ragged.tsv:3", "1 column" },
      NULL },
    { { TRAIN, "text.ini", SET, "data.dev=unseen.tsv" }, 2, { "unseen.tsv:2", "'meh'" }, NULL },
    { { TRAIN, "text.ini", SET, "data.train=utf8.tsv" }, 2, { "utf8.tsv:2", "UTF-8" }, NULL },
    { { TRAIN, "text.ini", SET, "data.train=blank.tsv" }, 2, { "blank.tsv:2" }, NULL },
    { { TRAIN, "text.ini", SET, "data.train=empty.tsv" }, 2, { "empty.tsv" }, NULL },
    { { TRAIN, "text.ini", SET, "data.train=oneclass.tsv" }, 2, { "oneclass.tsv", "label" }, NULL },
    { { TRAIN, "text.ini", SET, "data.classes=3" }, 2, { "train.tsv", "3" }, NULL },
    { { TRAIN, "text.ini", SET, "data.vectors=missing.vec" },
      1,
      { "missing.vec", "No such file" },
      NULL },
    { { TRAIN, "text.ini", SET, "data.vectors=dev.tsv" }, 2, { "dev.tsv:1" }, NULL },
    { { TRAIN, "text.ini", SET, "data.format=snli" },
      2,
      { "format", "snli", "sentence_pairs" },
      NULL },
    { { TRAIN, "pairs.ini", SET, "data.train=dev.tsv" },
      2,
      { "dev.tsv:1", "2 columns", "expected 3" },
      NULL },
    { { TRAIN, "pairs.ini", SET, "data.train=pairs.jsonl" },
      2,
      { "pairs.jsonl:2", "'gold_label'", "no string" },
      NULL },
    { { TRAIN, "pairs.ini", SET, "data.columns=a,label" },
      2,
      { "data.columns", "'b'", "nowhere" },
      NULL },
    { { TRAIN, "pairs.ini", SET, "model.encoder=full+cross" },
      2,
      { "full+cross", "first layer" },
      NULL },
    { { TRAIN, "nodes.ini" }, 2, { "nodes.tsv:2", "feature 1", "number" }, NULL },
    { { TRAIN, "nodes.ini", SET, "data.train=pairs.tsv" },
      2,
      { "pairs.tsv:1", "id", "'yes'" },
      NULL },
    { { TRAIN, "text.ini", SET, "model.position=learned", SET, "model.position_max=2" },
      1,
      { "position_max", "2", "4" },
      NULL },
    { { TRAIN, "sum.ini", "--quiet", "--results", "/dev/full" },
      1,
      { "'/dev/full' cannot be written: No space" },
      NULL },
};

/* In a folder with the finished run of text.ini in run/. */
static const row model_rows[] = {
    { { "eval", "--quiet", "--model", "nowhere" }, 1, { "nowhere" }, NULL },
    { { "eval", "--quiet", "--model", "folder.dot" }, 2, { "folder.dot", "checkpoint" }, NULL },
    { { "eval", "--quiet", "--model", "run", SET, "data.test=unseen.tsv" },
      2,
      { "unseen.tsv:2", "'meh'" },
      NULL },
    { { "eval", "--quiet", "--model", "run", SET, "data.test=missing.tsv" },
      1,
      { "missing.tsv" },
      NULL },
    { { "eval", "--quiet", "--model", "run", SET, "model.hidden=16" },
      2,
      { "another model", "[8, 8]", "[8, 16]" },
      NULL },
    { { "eval", "--quiet", "--model", "run", "--device", "cuda" }, 1, { "cuda" }, NULL },
    { { "eval", "--model", "missing", "--outcomes", "nowhere/o.jsonl" },
      1,
      { "'nowhere/o.jsonl'", "No such file" },
      NULL },
    { { "eval", "--model", "missing", "--report", "nowhere/r.txt" },
      1,
      { "'nowhere/r.txt'", "No such file" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "--input", "missing.txt" },
      1,
      { "missing.txt" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "--output", "p.txt" },
      2,
      { ":2", "UTF-8" },
      "good film\nb\xff\n" },
    { { "predict", "--quiet", "--model", "run", "--output", "p.txt" },
      2,
      { ":2" },
      "good film\n\nbad\n" },
    { { "predict", "--quiet", "--model", "run", "--output", "/dev/full" },
      1,
      { "/dev/full", "No space" },
      "good film\n" },
    { { "predict", "--quiet", "--model", "run", "--top-k", "0" },
      2,
      { "--top-k", "'0'", "from 1" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "--top-k", "9", "film" },
      2,
      { "--top-k 9: expected 1 to 2" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "--proba", "some" },
      2,
      { "--proba", "'some'", "best" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "good", "film" },
      2,
      { "2 texts were given", "takes 1" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "film", "--input", "-" },
      2,
      { "a text and --input" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "film", "--stream" },
      2,
      { "a text and --stream" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "" },
      2,
      { "the text:1: the example is empty" },
      NULL },
    { { "predict", "--quiet", "--model", "run", "--stream", "--output", "/dev/full" },
      1,
      { "/dev/full" },
      "good film\n" },
    { { "predict", "--quiet", "--model", "run", "--stream", "--input", "missing.txt" },
      1,
      { "missing.txt" },
      NULL },
    { { "eval", "--model", "run", "--json", "nowhere/r.json" }, 1, { "nowhere/r.json" }, NULL },
    { { "predict", "--quiet", "--model", "run", "--output", "nowhere/p.txt" },
      1,
      { "nowhere/p.txt" },
      "good film\n" },
    { { TRAIN, "--resume", "run", SET, "model.hidden=16" },
      2,
      { "another model", "[8, 8]", "[8, 16]" },
      NULL },
    { { TRAIN, "--resume", "run", SET, "train.seed=5" }, 2, { "seed" }, NULL },
};

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

/* In the folder that gsa_cli_enter made. */
static void check(const row *bad)
{
    static gsa_ran ran;
    char *before = gsa_cli_listing();
    gsa_cli_run(bad->args, bad->input, &ran);
    char *after = gsa_cli_listing();
    ck_assert_msg(ran.signal == 0, "killed by signal %d: %s", ran.signal, ran.err);
    ck_assert_msg(ran.code == bad->code, "exit code %d, expected %d: %s", ran.code, bad->code,
                  ran.err);
    ck_assert_msg(strncmp(ran.err, "gsa: ", 5) == 0 && lines_of(ran.err) == 1,
                  "not one sentence: %s", ran.err);
    for (int i = 0; i < 5 && bad->says[i]; i++)
        ck_assert_msg(strstr(ran.err, bad->says[i]) != NULL, "no '%s' in: %s", bad->says[i],
                      ran.err);
    ck_assert_msg(ran.out[0] == 0, "something on stdout: %s", ran.out);
    ck_assert_msg(strcmp(before, after) == 0, "files changed from\n%s\nto\n%s", before, after);
    free(before);
    free(after);
}

START_TEST(usage)
{
    gsa_cli_enter();
    check(&usage_rows[_i]);
    gsa_cli_leave();
}
END_TEST

START_TEST(graph)
{
    gsa_cli_enter();
    check(&graph_rows[_i]);
    gsa_cli_leave();
}
END_TEST

START_TEST(recipe)
{
    gsa_cli_enter();
    check(&recipe_rows[_i]);
    gsa_cli_leave();
}
END_TEST

START_TEST(data)
{
    gsa_cli_enter();
    check(&data_rows[_i]);
    gsa_cli_leave();
}
END_TEST

START_TEST(model)
{
    static const char *const train[GSA_CLI_ARGS] = { TRAIN, "text.ini", "--out", "run" };
    static gsa_ran ran;
    gsa_cli_enter();
    gsa_cli_run(train, NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    check(&model_rows[_i]);
    gsa_cli_leave();
}
END_TEST

/* The weights of a model of another width, with a manifest that is right for them. */
START_TEST(another_model)
{
    static const char *const train[GSA_CLI_ARGS] = { TRAIN, "text.ini", "--out", "run" };
    static const char *const wide[GSA_CLI_ARGS] = { TRAIN,  "text.ini", "--out",
                                                    "wide", SET,        "model.hidden=16" };
    static const row mixed = {
        { "eval", "--quiet", "--model", "run" }, 2, { "another model" }, NULL
    };
    static gsa_ran ran;
    gsa_cli_enter();
    gsa_cli_run(train, NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    gsa_cli_run(wide, NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    ck_assert_int_eq(
        system(
            "cd run/$(cat run/latest) && cp ../../wide/$(cat ../../wide/latest)/model.safetensors "
            ". && "
            "{ sed '/^#/d' manifest.sha256 | cut -c67- | xargs sha256sum && sed -n '/^#/p' "
            "manifest.sha256; } > m && mv m manifest.sha256 && cd .. && "
            "find . -maxdepth 1 -name 'step-*' ! -name \"$(cat latest)\" -exec rm -r {} +"),
        0);
    check(&mixed);
    gsa_cli_leave();
}
END_TEST

/* A limit on the size of files is an error as any other, no signal's end. */
START_TEST(file_size_limit)
{
    static gsa_ran ran;
    static const char *const again[GSA_CLI_ARGS] = { "graph", "--topology", "star", "--length",
                                                     "4",     "--format",   "mtx" };
    gsa_cli_enter();
    ck_assert_int_eq(WEXITSTATUS(system("ulimit -f 1; " GSA_COMMAND
                                        " graph --topology full --length 200 --out g.mtx 2>err")),
                     1);
    char *text = gsa_cli_read("err");
    ck_assert_msg(text && strstr(text, "g.mtx' cannot be written: File too large") &&
                      lines_of(text) == 1,
                  "%s", text ? text : "");
    free(text);
    ck_assert(!gsa_cli_exists("g.mtx"));
    gsa_cli_run(again, NULL, &ran);
    ck_assert_int_eq(ran.code, 0);
    gsa_cli_leave();
}
END_TEST

/* A device is written to, never replaced; and a full one is noticed on stdout too. */
START_TEST(devices)
{
    static const char *const null[GSA_CLI_ARGS] = { "graph",     "--topology", "star",
                                                    "--length",  "4",          "--out",
                                                    "/dev/null", "--format",   "mtx" };
    static gsa_ran ran;
    struct stat device;
    gsa_cli_enter();
    gsa_cli_run(null, NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    ck_assert_int_eq(stat("/dev/null", &device), 0);
    ck_assert(S_ISCHR(device.st_mode));
    ck_assert_int_eq(WEXITSTATUS(system(GSA_COMMAND " topologies >/dev/full 2>err")), 1);
    char *text = gsa_cli_read("err");
    ck_assert_msg(text && strstr(text, "No space") && lines_of(text) == 1, "%s", text ? text : "");
    free(text);
    gsa_cli_leave();
}
END_TEST

#define ROWS(f, rows)                                                                              \
    {                                                                                              \
        &f##_ttest, GSA_COUNT(rows)                                                                \
    }
static const gsa_test usage_tests[] = { ROWS(usage, usage_rows) };
static const gsa_test graph_tests[] = { ROWS(graph, graph_rows), GSA_TEST(devices),
                                        GSA_TEST(file_size_limit) };
static const gsa_test recipe_tests[] = { ROWS(recipe, recipe_rows) };
static const gsa_test data_tests[] = { ROWS(data, data_rows) };
static const gsa_test model_tests[] = { ROWS(model, model_rows), GSA_TEST(another_model) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("usage", usage_tests, 60),
                                      GSA_CASE("graph", graph_tests, 60),
                                      GSA_CASE("recipe", recipe_tests, 60),
                                      GSA_CASE("data", data_tests, 60),
                                      GSA_CASE("model", model_tests, 120) };
    return gsa_run_suite("bad_input", cases, GSA_COUNT(cases), argc, argv);
}
