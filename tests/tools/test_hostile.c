/* test_hostile.c - model folders and data files that mean harm: each is refused with one sentence,
 * soon, in little memory, and nothing is told of files that are not the user's to read. */
#define _DEFAULT_SOURCE /* chown */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "cli.h"
#include "support/suite.h"

#ifdef __SANITIZE_ADDRESS__ /* freed blocks stay for a while */
enum { SECONDS = 20, MOST_KB = 3000000 };
#else
enum { SECONDS = 20, MOST_KB = 1500000 };
#endif

typedef struct row {
    const char *make; /* shell, in the folder of the fixtures; `model` is one checkpoint */
    const char *args;
    int code;
    const char *says[3];
} row;

static void shell(const char *command)
{
    char text[4096];
    snprintf(text, sizeof text, "set -e; PATH=/usr/bin:/bin; %s", command);
    ck_assert_msg(system(text) == 0, "%s", command);
}

/* A trained model as one checkpoint, and the words of a secret file. */
static void enter(void)
{
    gsa_ran ran;
    gsa_cli_enter();
    gsa_cli_run((const char *[]){ "train", "text.ini", "--out", "run", "--quiet", NULL }, NULL,
                &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    shell("cp -r run/$(cat run/latest) model; printf 'root:SECRET:19000:0:99999:7:::\\nSECRET\\n' "
          ">secret");
}

/* The manifest of what the folder holds now, as its maker would write it. */
#define RESEAL                                                                                     \
    "(cd model; sha256sum -- $(ls | grep -v manifest) >m; n=$(wc -l <m); mv m manifest.sha256; "   \
    "echo \"# $n files\" >>manifest.sha256)"
/* The manifest loses a file. */
#define UNLIST(name)                                                                               \
    "(cd model; sed -i '/" name "/d' manifest.sha256; n=$(grep -vc '#' manifest.sha256); "         \
    "sed -i \"s/^# [0-9]*/# $n/\" manifest.sha256); "
/* Keys of a section of model/config.ini get other values. */
#define DATA(name, value) "sed -i 's#^" name " = dev.tsv#" name " = " value "#' model/config.ini; "
#define KEY(name, value)  "sed -i 's#^" name " = .*#" name " = " value "#' model/config.ini; "

static void run(const char *args, gsa_ran *ran)
{
    char command[4096];
    snprintf(command, sizeof command,
             "timeout -s KILL %d " GSA_COMMAND " %s </dev/null >out.txt 2>err.txt", SECONDS, args);
    const int status = system(command);
    char *out = gsa_cli_read("out.txt"), *err = gsa_cli_read("err.txt");
    *ran = (gsa_ran){ .code = status == -1 ? -1 : WEXITSTATUS(status) };
    snprintf(ran->out, sizeof ran->out, "%s", out);
    snprintf(ran->err, sizeof ran->err, "%s", err);
    free(out);
    free(err);
}

static void check(const row *r)
{
    static gsa_ran ran;
    struct rusage used;
    if (r->make) shell(r->make);
    run(r->args, &ran);
    ck_assert_msg(ran.code == r->code, "gsa %s: exit %d, %s", r->args, ran.code, ran.err);
    for (int i = 0; i < 3 && r->says[i]; i++)
        ck_assert_msg(strstr(ran.err, r->says[i]), "gsa %s: no '%s' in %s", r->args, r->says[i],
                      ran.err);
    ck_assert_msg(!strstr(ran.err, "-nan") && !strstr(ran.out, "-nan"), "%s%s", ran.out, ran.err);
    ck_assert_msg(!strstr(ran.err, "SECRET") && !strstr(ran.out, "SECRET"), "%s", ran.err);
    ck_assert_msg(r->code == 0 || !strchr(ran.err, '\n') || !strchr(ran.err, '\n')[1], "%s",
                  ran.err);
    getrusage(RUSAGE_CHILDREN, &used);
    ck_assert_msg(used.ru_maxrss < MOST_KB, "gsa %s: %ld kB", r->args, used.ru_maxrss);
}

#define PREDICT "predict --device cpu --model model 'a film'"
#define EVAL    "eval --quiet --model model"
#define SWEEP   "train text.ini --device cpu --quiet --seeds 1 --out sw"
#define GRAPH   "graph --topology 'file:path=g:base=0' --length 4 --format graphml --out /dev/null"

/* ---- folders of models --------------------------------------------------------------------- */

static const row folders[] = {
    /* other sizes than the weights have: 26 kB request gigabytes */
    { KEY("hidden", "8192") KEY("encoder", "star*40") RESEAL,
      PREDICT,
      2,
      { "checkpoint of another model", "8192" } },
    { KEY("encoder", "star*400") RESEAL, PREDICT, 2, { "checkpoint of another model" } },
    /* what is read for ever, or waited for */
    { "rm model/config.ini; mkfifo model/config.ini", PREDICT, 2, { "no regular file" } },
    { "rm model/model.safetensors; mkfifo model/model.safetensors",
      PREDICT,
      2,
      { "no regular file" } },
    { "rm model/labels.txt; ln -s /dev/zero model/labels.txt", PREDICT, 2, { "no regular file" } },
    { "rm model/manifest.sha256; mkfifo model/manifest.sha256",
      PREDICT,
      2,
      { "no whole checkpoint" } },
    { UNLIST("config.ini") "ln -sf ../secret "
                           "model/config.ini",
      PREDICT,
      2,
      { "'model/config.ini' is no regular file" } },
    { UNLIST("labels.txt") "ln -sf ../secret "
                           "model/labels.txt",
      PREDICT,
      2,
      { "'model/labels.txt' is no regular file" } },
    { UNLIST("labels.txt") "cat secret >model/labels.txt",
      PREDICT,
      2,
      { "'model/labels.txt' is not in the folder's manifest" } },
    { UNLIST("config.ini") "ln -f secret model/config.ini",
      PREDICT,
      2,
      { "'model/config.ini' is not in the folder's manifest" } },
    { "truncate -s 3G model/big.safetensors; sed '/^#/i'$(printf 0%.0s $(seq "
      "64))'  big.safetensors' model/manifest.sha256 >m; mv m model/manifest.sha256",
      PREDICT,
      1,
      { "'model/big.safetensors' has 3221225472 bytes and stores 0 of them" } },
    { "truncate -s 3G model/labels.txt",
      PREDICT,
      1,
      { "'model/labels.txt' has 3221225472 bytes, and the most that is read is 1073741824" } },
    { "yes \"$(head -1 model/manifest.sha256)\" | head -300 >m; mv m model/manifest.sha256",
      PREDICT,
      1,
      { "manifest.sha256' has ", "bytes, and the most that is read is 16384" } },
    { "mkfifo model/inputs.sha256", PREDICT, 2, { "no regular file" } },
    { UNLIST("config.ini") "rm model/config.ini; "
                           "mkfifo model/config.ini",
      PREDICT,
      2,
      { "no regular file" } },
    { "rm run/latest; mkfifo run/latest", "predict --quiet --model run 'a film'", 0, { NULL } },
    { "rm -r run/step-*; rm run/latest; ln -s /dev/zero run/latest",
      "predict --device cpu --model run 'a film'",
      2,
      { "no regular file" } },
    { "truncate -s 15T model/model.safetensors", PREDICT, 1, { "the most that is read" } },
    /* files that the recipe names */
    { DATA("dev", "secret") RESEAL, EVAL, 2, { "secret:1" } },
    { DATA("test", "/dev/zero") RESEAL, EVAL, 2, { "'/dev/zero', which is no regular file" } },
    { "mkfifo pipe; " DATA("dev", "pipe") RESEAL, EVAL, 2, { "'pipe', which is no regular file" } },
    { KEY("encoder", "file:path=secret") RESEAL, PREDICT, 2, { "secret:1" } },
    { "dots=$(printf '%150s' | sed 's# #./#g'); sed -i \"s#^encoder = "
      ".*#encoder = file:path=${dots}secret#\" model/config.ini; " RESEAL,
      PREDICT,
      2,
      { "what it holds is not told" } },
    { KEY("encoder", "file:path=secret:header=1") RESEAL, PREDICT, 2, { "secret:1" } },
    { KEY("encoder", "file:path=secret:format=mtx") RESEAL, PREDICT, 2, { "secret:1" } },
    { KEY("encoder", "file:path=secret:format=graphml") RESEAL, PREDICT, 2, { "is not told" } },
    { KEY("encoder", "char_word:lexicon=secret") RESEAL, PREDICT, 2, { "is not told" } },
    { KEY("encoder", "file:path=/dev/zero") RESEAL, PREDICT, 2, { "no regular file" } },
    /* nothing that it names is opened */
    { NULL, EVAL " --untrusted", 2, { "'dev.tsv'", "not trusted", "--set data.dev=FILE" } },
    { DATA("dev", "") DATA("test", "") "sed -i '/^.data/,/^.model/s#^hold = .*#hold = 2#' "
                                       "model/config.ini; " RESEAL,
      EVAL " --untrusted",
      2,
      { "'train.tsv'", "not trusted" } },
    { NULL, EVAL " --untrusted --set data.dev=dev.tsv --set data.test=dev.tsv", 0, { NULL } },
    { KEY("encoder", "file:path=dev.tsv") RESEAL,
      PREDICT " --untrusted",
      2,
      { "'dev.tsv'", "not trusted" } },
    { NULL, PREDICT " --untrusted", 0, { NULL } },
};

START_TEST(a_hostile_folder_is_refused)
{
    enter();
    check(&folders[_i]);
    gsa_cli_leave();
}
END_TEST

/* Root alone can give a folder away. */
START_TEST(another_users_model_is_not_trusted)
{
    if (geteuid() != 0) return;
    enter();
    shell(KEY("encoder", "file:path=dev.tsv") RESEAL);
    ck_assert_int_eq(chown("model", 12345, 12345), 0);
    check(&(row){ NULL, PREDICT, 2, { "not trusted" } });
    check(&(row){ "mkdir pub; cp -p -r model pub/$(cat run/latest); cp run/latest pub",
                  "predict --device cpu --model pub 'good film'",
                  2,
                  { "not trusted" } });
    shell("sed -i 's#^encoder = .*#encoder = file:path=secret#' run/config.ini");
    ck_assert_int_eq(chown("run", 12345, 12345), 0);
    check(&(row){ NULL, "report run --out p.html", 0, { NULL } });
    shell("grep -q 'is not trusted' p.html && ! grep -q SECRET p.html");
    gsa_cli_leave();
}
END_TEST

#ifdef GSA_STAT_FAILS
/* A file is a regular one when it is looked at, and a FIFO or a link when it is read. */
START_TEST(what_is_exchanged_meanwhile_is_refused)
{
    if (geteuid() != 0) return;
    static const char *const instead[] = { "mkfifo", "ln -s ../word" };
    enter();
    shell("cp -r run mine; cp dev.tsv plain; echo Swordfish >word; chown -R 12345 run model");
    shell(DATA("dev", "at") RESEAL
          "; mkfifo at; r=0; GSA_UNSEEN=at GSA_SEEN_AS=plain LD_PRELOAD=" GSA_STAT_FAILS
          " timeout 20 " GSA_COMMAND " eval --device cpu --model model >o 2>e || r=$?; cat e; "
          "test $r = 1");
    shell("cp -r model waits; rm waits/config.ini; mkfifo waits/config.ini; chown -R 0 waits; for "
          "v in "
          "'predict --model waits --output p.out x' 'train --resume waits --out more'; do r=0; "
          "GSA_UNSEEN=config.ini GSA_SEEN_AS=plain LD_PRELOAD=" GSA_STAT_FAILS
          " timeout 20 " GSA_COMMAND " $v --device cpu >o 2>e || r=$?; cat e; test $r -gt 0 -a $r "
          "-lt 124; done");
    shell("s=run/$(cat run/latest); rm -r $s; cp -r model $s; cp model/config.ini run; chown -R "
          "12345 run; r=0; GSA_UNSEEN=at GSA_SEEN_AS=plain LD_PRELOAD=" GSA_STAT_FAILS
          " timeout 20 " GSA_COMMAND " train --device cpu --resume run --out more --set "
          "train.epochs=9 >o 2>e || r=$?; cat e; grep -q \"'at' cannot be\" e; test $r = 1");
    shell("rm -f at plain; mkfifo at; echo '0 1' >plain; r=0; GSA_UNSEEN=at GSA_SEEN_AS=plain "
          "LD_PRELOAD=" GSA_STAT_FAILS " timeout 20 " GSA_COMMAND
          " graph --topology file:path=at --length 3 >o 2>e || r=$?; cat e; test $r = 2");
    for (int i = 0; i < GSA_COUNT(instead); i++) {
        char line[1024];
        snprintf(line, sizeof line,
                 "rm -f run/outcomes.jsonl p.html; %s run/outcomes.jsonl; for v in 'compare mine "
                 "run' 'report mine run --out p.html'; do r=0; GSA_UNSEEN=outcomes.jsonl "
                 "GSA_SEEN_AS=plain LD_PRELOAD=" GSA_STAT_FAILS " timeout 20 " GSA_COMMAND
                 " $v >o 2>e || r=$?; cat e; test $r != 124; if cat e p.html | grep Swordfish; "
                 "then exit 1; fi; done",
                 instead[i]);
        shell(line);
    }
    gsa_cli_leave();
}
END_TEST
#endif

/* ---- sizes that no file pays for ------------------------------------------------------------ */

/* Another model, of sums that are drawn, or of sentences with a tab between two languages. */
#define SUMS                                                                                       \
    "rm -r model; " GSA_COMMAND " train sum.ini --out sums --quiet >o; cp -r sums/$(cat "          \
    "sums/latest) model; "
#define PAIRS                                                                                      \
    "rm -r model; for i in 1 2 3 4; do printf 'a b\\tb a\\n'; done >p.tsv; printf "                \
    "'[task]\\nname = translation\\n[model]\\nencoder = full\\nhidden = 8\\nheads = "              \
    "2\\ndecoder = full:causal=1+cross\\n[train]\\nepochs = 1\\n[data]\\ntrain = "                 \
    "p.tsv\\n' >p.ini; " GSA_COMMAND " train p.ini --out pairs --quiet >o; cp -r pairs/$(cat "     \
    "pairs/latest) model; "
static const row sizes[] = {
    { SUMS KEY("dev", "10000000") RESEAL,
      EVAL " --untrusted",
      2,
      { "[task] dev asks for 2.4e+08 numbers that are drawn, expected at most 1e+07",
        "--set task.dev=N" } },
    { SUMS KEY("dev", "10000000") RESEAL, EVAL " --untrusted --set task.dev=9", 0, { NULL } },
    { SUMS KEY("test", "1000000") RESEAL,
      "predict --model model --untrusted --input sum.in",
      2,
      { "[task] test asks for 2.4e+07 numbers" } },
    { SUMS KEY("n", "1000000") RESEAL,
      EVAL " --untrusted",
      2,
      { "[task] n asks for 3e+06 numbers an example, expected at most 1e+06" } },
    { PAIRS KEY("encoder", "full:share*1000,full:share*1000,full:share*1000")
          KEY("decoder", "full:causal=1:share+cross*551") RESEAL,
      PREDICT " --untrusted",
      1,
      { "the model repeats layers that share their weights 4097 times, expected at most 4096" } },
    { PAIRS KEY("beam", "1000") RESEAL,
      PREDICT " --untrusted",
      2,
      { "[decode] beam asks for 1000 hypotheses, expected at most 32", "--set decode.beam=N" } },
    { PAIRS KEY("beam", "1000") RESEAL, PREDICT " --untrusted --set decode.beam=40", 0, { NULL } },
    { PAIRS KEY("beam", "32") RESEAL, PREDICT " --untrusted", 0, { NULL } },
};

START_TEST(sizes_of_a_stranger_are_bounded)
{
    enter();
    check(&sizes[_i]);
    gsa_cli_leave();
}
END_TEST

/* ---- weights ------------------------------------------------------------------------------- */

/* The four last bytes of the weights become 0x7fc00000 (NaN) or 0xff800000 (-inf). */
#define TAIL(bytes)                                                                                \
    "n=$(stat -c %s model/model.safetensors); truncate -s $((n - 4)) model/model.safetensors; "    \
    "printf '" bytes "' >>model/model.safetensors; " RESEAL

/* All the weights become 3e38 (0x7f61b1e6): each is finite, and no score is. */
#define HUGE_WEIGHTS                                                                               \
    "f=model/model.safetensors; size=$(stat -c %s $f); head=$(($(od -An -tu8 -N8 $f) + 8)); "      \
    "head -c $head $f >h; yes | tr -d '\\n' | head -c $(((size - head) / 4)) | "                   \
    "sed 's/y/\\xe6\\xb1\\x61\\x7f/g' >>h; mv h $f; " RESEAL

static const row weights[] = {
    { TAIL("\\000\\000\\300\\177"), PREDICT, 1, { "'model/model.safetensors': row", "is nan" } },
    { TAIL("\\000\\000\\200\\377"), EVAL, 1, { "column", "is -inf", "expected a finite number" } },
    { TAIL("\\000\\000\\200\\377"), PREDICT " --allow-nonfinite", 0, { NULL } },
    { HUGE_WEIGHTS, PREDICT, 1, { "example 0", "expected a finite number" } },
    { HUGE_WEIGHTS, PREDICT " --allow-nonfinite --proba all", 0, { NULL } },
    { HUGE_WEIGHTS, EVAL, 1, { "expected a finite number" } },
};

START_TEST(weights_are_finite)
{
    enter();
    check(&weights[_i]);
    gsa_cli_leave();
}
END_TEST

/* ---- files --------------------------------------------------------------------------------- */

/* A tag a token: conll files that name a table of gigabytes. */
#define TAGS                                                                                       \
    "seq -f 'w B-%.0f' 9999 | sed G >t.conll; printf '[task]\\nname = tagging\\n[model]\\n"        \
    "encoder = ring\\nhidden = 8\\nheads = 1\\n[data]\\ntrain = t.conll\\n' >tags.ini"

static const row files[] = {
    { TAGS,
      "train tags.ini --quiet --device cpu --set task.head=crf",
      2,
      { "[task] head = crf: a table of 10000 x 10000 tags has 400000000 bytes", "at most 4096" } },
    { TAGS,
      "train tags.ini --quiet --device cpu --set task.legal=1",
      2,
      { "[task] legal = 1: a table" } },
    { "printf '%%%%MatrixMarket matrix coordinate integer general\\n2 2 1\\n1 2 200000000\\n' >g",
      "graph --topology 'file:path=g:repeat=1' --length 2 --format graphml",
      2,
      { "edges of a file of 69 bytes", "64 a byte" } },
    { "printf '%%%%MatrixMarket matrix coordinate pattern general\\n2147483647 2147483647 0\\n' "
      ">g",
      GRAPH,
      2,
      { "2147483647 nodes of a file of", "64 a byte" } },
    { "(echo '<graphml>'; for i in $(seq 3000); do echo \"<key id='k$i' for='node' "
      "attr.name='k$i' attr.type='double'/>\"; done; echo '<graph>'; for i in $(seq 3000); do "
      "echo \"<node id='n$i'/>\"; done; echo '</graph></graphml>') >g.graphml",
      "graph --topology 'file:path=g.graphml:format=graphml' --length 2",
      2,
      { "3000 keys of 3000 nodes and edges need 162000000 bytes", "64 a byte" } },
    { "(echo '<graphml>'; seq -f \"<key id='k%.0f'/>\" 9000; echo '<graph/></graphml>') >g.graphml",
      "graph --topology 'file:path=g.graphml:format=graphml' --length 2",
      2,
      { "it has 9000 keys, expected at most 8192" } },
    { "printf '0 2147483645\\n' >g", GRAPH, 2, { "2147483646 nodes of a file of 13 bytes" } },
    { "cp text.ini big.ini; seq -f '[encoder.%.0f]' 1 9999 >>big.ini; "
      "seq -f 'x%.0f = 1' 1 200000 >>big.ini",
      "train big.ini",
      2,
      { "[encoder.9999]" } },
    { NULL,
      "predict --device cpu --model run --input /dev/zero",
      1,
      { "'/dev/zero' is longer than 1073741824 bytes" } },
    { NULL,
      "train text.ini --device cpu --set data.train=/dev/zero",
      1,
      { "'/dev/zero' is longer than" } },
    { "truncate -s 1T sp",
      "predict --device cpu --model run --input sp",
      1,
      { "'sp' has 1099511627776 bytes, and the most that is read" } },
    { "truncate -s 1100M sp",
      "predict --device cpu --model run --input sp",
      1,
      { "'sp' has 1153433600 bytes and stores 0 of them: a file of holes is not read" } },
    { "head -c 2M /dev/urandom >sp; truncate -s 60M sp",
      "predict --device cpu --model run --input sp",
      1,
      { "'sp' has 62914560 bytes and stores 2097152 of them: a file of holes is not read" } },
    { "truncate -s 1T sp", "train sp", 1, { "'sp' has 1099511627776 bytes" } },
    { "truncate -s 1T sp",
      "train text.ini --device cpu --set data.train=sp",
      1,
      { "'sp' has 1099511627776 bytes" } },
};

/* A run's folder, its files one after the other in place of the words of another's, or of a FIFO.
 */
static const row runs[] = {
    { "cp -r run bare; cd bare/$(cat bare/latest); rm data.sha256; sed -i '/data.sha256/d' "
      "manifest.sha256; "
      "n=$(grep -c '  ' manifest.sha256); sed -i \"s/^# [0-9]*/# $n/\" manifest.sha256",
      "train --resume bare --device cpu",
      0,
      { "no data.sha256: whether the data has changed since the run began is not known" } },
    { "cp run/config.ini kept; sed -i 's#^encoder = .*#encoder = file:path=secret#' "
      "run/config.ini",
      "report run --out p.html",
      0,
      { NULL } },
    { "mv kept run/config.ini; grep -q 'what it holds is not told' p.html && "
      "! grep -q SECRET p.html",
      "table run",
      0,
      { NULL } },
    { "cp -r run \"$(printf 'b\\377')\"", "table \"$(printf 'b\\377')\"", 0, { NULL } },
    { "cp -r run deep; printf '%2000s\\n' | tr ' ' '[' >deep/log.jsonl",
      "report deep --out p.html",
      2,
      { "log.jsonl", "nested more than 64 deep" } },
    { "tr '\\n' ' ' <deep/log.jsonl >deep/result.json", "table deep", 2, { "more than 64 deep" } },
    { NULL, "chart deep/result.json --x k --y v --out c.svg", 2, { "more than 64 deep" } },
    { "ln -sf ../secret run/config.ini",
      "report run --out p.html",
      2,
      { "'run/config.ini' is no regular file" } },
    { NULL, "table run", 2, { "'run/config.ini' is no regular file" } },
    { "rm run/config.ini; mkfifo run/config.ini",
      "report run --out p.html",
      2,
      { "'run/config.ini' is no regular file" } },
    { NULL,
      "train --resume run --quiet --device cpu",
      1,
      { "'run/config.ini' cannot be written: it is no regular file" } },
    { NULL, "train text.ini --device cpu --out run", 2, { "holds a run already" } },
    { "mkdir exp; cp text.ini exp/config.ini",
      "train exp/config.ini --device cpu --out exp",
      2,
      { "'exp/config.ini' cannot be written: the command or its recipe reads it" } },
    { "mkdir new; mkfifo new/config.ini",
      "train text.ini --device cpu --out new",
      2,
      { "'new/config.ini' is not of a run" } },
    { "rm run/config.ini; cp model/config.ini run; ln -sf ../secret run/result.json",
      "report run --out p.html",
      2,
      { "'run/result.json' is no regular file" } },
    { NULL, "table run", 2, { "'run/result.json' is no regular file" } },
    { "rm run/result.json; mkfifo run/result.json", "table run", 2, { "no regular file" } },
    { "rm run/result.json; ln -sf ../secret run/report.json",
      "report run --out p.html",
      2,
      { "'run/report.json' is no regular file" } },
    { "rm run/report.json; (printf '[{}'; yes ',{}' | head -n 5000000 | tr -d '\\n'; echo ']') "
      ">run/report.json",
      "report run --out p.html",
      1,
      { "'run/report.json' has 5000002 lists and objects, and the most that are read is "
        "1048576" } },
    { "mv run/report.json run/result.json; cp model/config.ini run",
      "table run",
      2,
      { "it has more than 1048576 lists and objects" } },
    { "rm run/result.json; cp run/outcomes.jsonl kept; (printf '[{}'; yes ',{}' | head -n 5000000 "
      "| "
      "tr -d '\n'; echo ']') >>run/outcomes.jsonl",
      "compare run run",
      2,
      { "it has more than 1048576 lists and objects" } },
    { "mv kept run/outcomes.jsonl; for i in 1 2; do printf '{\"task\": \"a\", \"list\": [{}'; "
      "yes ',{}' | head -n 600000 | tr -d '\n'; echo ']}'; done >many",
      "table many",
      1,
      { "more than 1048576 lists and objects" } },
    { "rm many; : >run/report.json; rm run/log.jsonl run/report.json; mkfifo run/log.jsonl",
      "report run --out p.html",
      2,
      { "'run/log.jsonl' is no regular file" } },
    { "rm run/outcomes.jsonl; ln -s ../secret run/outcomes.jsonl",
      "compare run run",
      2,
      { "holds no finished run" } },
    { GSA_COMMAND " " SWEEP " >out.txt", SWEEP, 0, { NULL } },
    { "mv sw/results.jsonl kept; mkfifo sw/results.jsonl",
      SWEEP,
      2,
      { "'sw/results.jsonl' is no regular file" } },
    { NULL, "table sw", 2, { "'sw/results.jsonl' is no regular file" } },
    { "rm sw/results.jsonl; ln -s ../secret sw/results.jsonl",
      "table sw",
      2,
      { "'sw/results.jsonl' is no regular file" } },
    { "ln -sf /dev/zero sw/results.jsonl",
      "table sw",
      2,
      { "'sw/results.jsonl' is no regular file" } },
    { "ln -sf ../kept sw/results.jsonl", "table sw/results.jsonl", 0, { NULL } },
    { "rm sw/results.jsonl; mv kept sw/results.jsonl; mv sw/seed-1/result.json kept; "
      "mkfifo sw/seed-1/result.json",
      SWEEP,
      2,
      { "'sw/seed-1/result.json' is no regular file" } },
    { "rm sw/seed-1/result.json; mv kept sw/seed-1/result.json; "
      "rm sw/seed-1/asked.ini; mkfifo sw/seed-1/asked.ini",
      SWEEP,
      2,
      { "'sw/seed-1/asked.ini' is no regular file" } },
    { "ln -sf ../../secret sw/seed-1/asked.ini", SWEEP, 2, { "no regular file" } },
};

START_TEST(files_of_a_run_are_its_own)
{
    enter();
    for (size_t i = 0; i < GSA_COUNT(runs); i++) check(&runs[i]);
    gsa_cli_leave();
}
END_TEST

/* The log is opened in place of the closed streams, and messages are none of its lines. */
START_TEST(a_closed_stream_is_no_file_of_a_run)
{
    static const char *const closed[] = { "0<&- 2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-" };
    char command[512];
    enter();
    for (size_t i = 0; i < GSA_COUNT(closed); i++) {
        snprintf(command, sizeof command,
                 "rm -rf shut; " GSA_COMMAND " train text.ini --device cpu --out shut >out.txt %s",
                 closed[i]);
        const int status = system(command);
        ck_assert_int_eq(WEXITSTATUS(status), i > 0);
        char *log = gsa_cli_read("shut/log.jsonl");
        ck_assert_ptr_nonnull(log);
        for (char *line = log; *line; line = strchr(line, '\n') + 1)
            ck_assert_msg(*line == '{', "%s: %s", closed[i], line);
        free(log);
    }
    gsa_cli_leave();
}
END_TEST

/* Two outputs are two files, through whatever links and folders they are named; one is a sentence
 * before anything is written. A stream and a device take any number. */
START_TEST(two_outputs_are_two_files)
{
    static const struct {
        const char *make, *first, *second;
        int one;
    } rows[] = {
        { "true", "x", "x", 1 },
        { "mkdir d", "x", "d/../x", 1 },
        { "ln -s . d", "d/x", "x", 1 },
        { "ln -s x y", "x", "y", 1 }, /* what is not there yet */
        { "ln -s x y; ln -s y z", "y", "z", 1 },
        { "touch x; ln -s $PWD/x y", "x", "y", 1 },
        { "mkdir d; ln -s ../x d/y", "d/y", "./x", 1 },
        { "touch x; ln x y", "x", "y", 0 }, /* two names: each gets a file */
        { "true", "x", "y", 0 },
        { "mkdir d", "x", "d/x", 0 },
        { "true", "/dev/null", "/dev/null", 0 },
        { "true", "-", "-", 0 },
    };
    gsa_ran ran;
    char args[512];
    enter();
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        shell("rm -rf x y z d");
        shell(rows[i].make);
        snprintf(args, sizeof args, "eval --device cpu --model model --report %s --json %s",
                 rows[i].first, rows[i].second);
        run(args, &ran);
        ck_assert_msg(ran.code == (rows[i].one ? 2 : 0), "row %d: %s", i, ran.err);
        ck_assert_msg((strstr(ran.err, "both name '") != NULL) == rows[i].one, "%s", ran.err);
        snprintf(args, sizeof args, "test ! -s %s -a ! -s %s", rows[i].first, rows[i].second);
        if (rows[i].one) shell(args);
    }
    gsa_cli_leave();
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes of addresses */
START_TEST(limits_that_are_too_small_are_said)
{
    static const char *const rows[][2] = {
        { "ulimit -s 64", "the stack (ulimit -s) is limited to 64 kB, expected 256 or more" },
        { "ulimit -v 70000", "the address space (ulimit -v) is limited to 70000 kB, expected" },
    };
    enter();
    for (size_t i = 0; i < GSA_COUNT(rows); i++) {
        char command[512];
        snprintf(command, sizeof command, "%s; " GSA_COMMAND " " PREDICT " >out.txt 2>err.txt",
                 rows[i][0]);
        const int status = system(command);
        ck_assert_int_eq(WEXITSTATUS(status), 1);
        char *err = gsa_cli_read("err.txt");
        ck_assert_msg(strstr(err, rows[i][1]), "%s: %s", rows[i][0], err);
        free(err);
    }
    gsa_cli_leave();
}
END_TEST
#endif

START_TEST(a_file_asks_for_no_more_than_it_is)
{
    enter();
    check(&files[_i]);
    gsa_cli_leave();
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* whose memory has no such limit */
/* Two hundred million labels are named, and ten tokens have few of them. */
START_TEST(numbers_of_heads_are_of_what_is_drawn)
{
    gsa_cli_enter();
    shell("ulimit -v 200000; for o in g.csv g.json g.html; do " GSA_COMMAND
          " graph --topology bpt:k=1000000000 --length 10 --out $o; test -s $o; done");
    gsa_cli_leave();
}
END_TEST
#endif

static const gsa_test folder_tests[] = {
    GSA_LOOP(a_hostile_folder_is_refused, GSA_COUNT(folders)),
    GSA_TEST(another_users_model_is_not_trusted),
#ifdef GSA_STAT_FAILS
    GSA_TEST(what_is_exchanged_meanwhile_is_refused),
#endif
    GSA_TEST(files_of_a_run_are_its_own),
    GSA_TEST(a_closed_stream_is_no_file_of_a_run),
    GSA_TEST(two_outputs_are_two_files),
};
static const gsa_test weight_tests[] = { GSA_LOOP(sizes_of_a_stranger_are_bounded,
                                                  GSA_COUNT(sizes)),
                                         GSA_LOOP(weights_are_finite, GSA_COUNT(weights)) };
static const gsa_test file_tests[] = {
    GSA_LOOP(a_file_asks_for_no_more_than_it_is, GSA_COUNT(files)),
#ifndef __SANITIZE_ADDRESS__
    GSA_TEST(limits_that_are_too_small_are_said),
    GSA_TEST(numbers_of_heads_are_of_what_is_drawn),
#endif
};

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("folders", folder_tests, 60),
                                      GSA_CASE("weights", weight_tests, 60),
                                      GSA_CASE("files", file_tests, 60) };
    return gsa_run_suite("hostile", cases, GSA_COUNT(cases), argc, argv);
}
