/* test_outputs.c - what a command writes and removes is its own: no file that it reads, no
 * checkpoint, nothing through a link or a second name; and what it waits for, a signal ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli.h"
#include "support/suite.h"

typedef struct row {
    const char *make; /* shell, in the folder of the fixtures; `model` is a checkpoint of `run` */
    const char *args;
    int code;
    const char *says;
    const char *holds; /* shell that succeeds after the command */
} row;

#define SHELL "set -e; PATH=/usr/bin:/bin; "
#define SAME  "cmp model/model.safetensors run/$(cat run/latest)/model.safetensors"
#define TRAIN "train text.ini --quiet --device cpu "
#define SWEEP TRAIN "--seeds 1,5 --out sw"
#define OTHER GSA_COMMAND " train text.ini --device cpu --quiet --out other --set train.lr=0.5 >o; "
#define EVAL  "eval --quiet --device cpu --model "

static int shell(const char *command)
{
    char text[4096];
    snprintf(text, sizeof text, SHELL "%s", command);
    const int status = system(text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void enter(void)
{
    gsa_ran ran;
    gsa_cli_enter();
    gsa_cli_run(
        (const char *[]){ "train", "text.ini", "--device", "cpu", "--out", "run", "--quiet", NULL },
        NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    ck_assert_int_eq(shell("cp -r run/$(cat run/latest) model; cp run/latest latest.kept; cp "
                           "run/outcomes.jsonl outcomes.kept; "
                           "printf '0 1\\n1 2\\n' >g; mkdir elsewhere; "
                           "cat train.tsv train.tsv >t.tsv"),
                     0);
}

static void check(const row *r)
{
    char command[2048];
    if (r->make) ck_assert_msg(shell(r->make) == 0, "%s", r->make);
    snprintf(command, sizeof command,
             "timeout -k 5 20 </dev/null " GSA_COMMAND " %s >out.txt 2>err.txt", r->args);
    const int code = shell(command);
    char *said = gsa_cli_read("err.txt");
    ck_assert_msg(code == r->code, "gsa %s: exit %d, %s", r->args, code, said);
    ck_assert_msg(!r->says || strstr(said, r->says), "gsa %s: no '%s' in %s", r->args, r->says,
                  said);
    ck_assert_msg(!r->holds || shell(r->holds) == 0, "gsa %s: not so: %s\n%s", r->args, r->holds,
                  said);
    free(said);
}

/* ---- what is kept -------------------------------------------------------------------------- */

static const row kept[] = {
    /* an output that the command reads */
    { NULL, TRAIN "--report train.tsv --out new", 2,
      "'train.tsv' cannot be written: the command or",
      "grep -q 'good film' train.tsv && test ! -e new" }, /* before anything is trained */
    { NULL, TRAIN "--report text.ini --out new", 2, "'text.ini' cannot be written: the command or",
      "grep -q hidden text.ini && test ! -e new" },
    { "cp dev.tsv d.tsv", TRAIN "--report d.tsv --set data.dev=d.tsv --out new", 2,
      "'d.tsv' cannot be written: the command or", "cmp dev.tsv d.tsv && test ! -e new" },
    { NULL, "train --resume run --quiet --device cpu --set train.epochs=3 --report train.tsv", 2,
      "'train.tsv' cannot be written: the command or", "test ! -e run/step-6" },
    { NULL, "predict --device cpu --model run --output run/outcomes.jsonl 'good film'", 2,
      "it is of a run", "cmp run/outcomes.jsonl outcomes.kept" },
    { GSA_COMMAND " average run --last 2 --out mean >o",
      "predict --device cpu --model run --output mean/latest 'good film'", 2, "it is of a run",
      "grep -q step- mean/latest" },
    { "echo {} >run/report.json",
      "predict --device cpu --model run --output run/report.json 'good film'", 2, "it is of a run",
      "test $(cat run/report.json) = {}" },
    { NULL, EVAL "run --json run/outcomes.jsonl", 2, "it is of a run",
      "cmp run/outcomes.jsonl outcomes.kept" },
    { "mkdir -p tb/like; cp train.tsv tb/like/events.out.tfevents.0.gsa; " GSA_COMMAND " " TRAIN
      "--out like --set data.train=tb/like/events.out.tfevents.0.gsa >o",
      "report like --tensorboard tb --out p.html", 2, "recipe reads it",
      "cmp train.tsv tb/like/events.out.tfevents.0.gsa && test ! -e p.html" },
    { "mkdir -p tb/run; echo mine >tb/run/events.out.tfevents.0.gsa",
      "report run --tensorboard tb --out ./tb/run/events.out.tfevents.0.gsa", 2, "both name",
      "test $(cat tb/run/events.out.tfevents.0.gsa) = mine" },
    { "mkdir tb", "report run --tensorboard tb --out tb/page.html", 0, NULL,
      "test -s tb/page.html && test -s tb/run/events.out.tfevents.0.gsa" },
    { "cp $(dirname " GSA_COMMAND ")/topologies/file.so .; cp file.so x.so",
      "predict --device cpu --model model --plugin ./file.so --output file.so 'good film'", 2,
      "the command or its recipe reads it", "cmp x.so file.so" },
    { "cp -r model m; : >m/all", SWEEP " --results m/all", 2, "'m' is a checkpoint",
      "test ! -s m/all && test ! -e sw/seed-1" },
    { "cp -r model m; : >m/all; ln -s m/all all.l", SWEEP " --results all.l", 2,
      "'m' is a checkpoint", "test ! -s m/all" },
    { "ln -s dev.tsv d", "predict --device cpu --model model --input dev.tsv --output d", 2,
      "the command or its recipe reads it", "grep -q 'good one' dev.tsv" },
    { "mv g g.mtx", "graph --topology file:path=g.mtx:base=0:format=edges --length 3 --out g.mtx",
      2, "the command or its recipe reads it", "grep -q '1 2' g.mtx" },
    /* a file that the recipe of its model names */
    { NULL, "predict --device cpu --model run --output train.tsv 'good film'", 2,
      "'train.tsv' cannot be written: the command or", "grep -q 'good film' train.tsv" },
    { "cp dev.tsv d.tsv", EVAL "model --set data.dev=d.tsv --json train.tsv", 2,
      "'train.tsv' cannot be written: the command or", "grep -q 'good film' train.tsv" },
    { NULL, "report run --out train.tsv", 2, "'train.tsv' cannot be written: the command or",
      "grep -q 'good film' train.tsv" },
    { NULL, EVAL "run --json dev.tsv", 2, "the command or its recipe reads it",
      "grep -q 'good one' dev.tsv" },
    { NULL, "report run --out run/config.ini", 2, "'run/config.ini' cannot be written",
      "grep -q hidden run/config.ini" },
    { NULL, "report run --out run/latest", 2, "'run/latest' cannot be written: it is of a run",
      "cmp run/latest latest.kept" },
    { NULL, "report run --out run/report.html", 0, NULL, "test -s run/report.html" },
    { "cp g g.mtx",
      "bench kernel --topology file:path=g.mtx:base=0:format=edges --length 3 "
      "--device cpu --runs 1 --json g.mtx",
      2, "the command or its recipe reads it", "cmp g g.mtx" },
    { NULL, "bench train text.ini --runs 1 --device cpu --json train.tsv", 2,
      "the command or its recipe reads it", "grep -q 'good film' train.tsv" },
    { NULL, "bench train text.ini --steps 3 --memory 1 --device cpu --json train.tsv", 2,
      "the command or its recipe reads it", "grep -q 'good film' train.tsv" },
    { NULL, "predict --device cpu --model model --output dev.tsv <dev.tsv", 2,
      "the command or its recipe reads it", "grep -q 'good one' dev.tsv" },
    { NULL, "bench kernel --topology ring --length 4 --device cpu --runs 1 --json a --arrays a", 2,
      "both name", "test ! -e a" },
    { "echo '{\"run\": \"seed-1\"}' >results.jsonl", EVAL "run --json results.jsonl", 2,
      "it holds the results of runs", "grep -q seed-1 results.jsonl" },
    { "echo >run/asked.ini", "report run --out run/asked.ini", 2, "it is of a run", NULL },
    { NULL, EVAL "run --outcomes run/outcomes.jsonl --json run/report.json", 0, NULL,
      "test -s run/report.json" },
    /* or inside a checkpoint */
    { NULL, EVAL "model --outcomes model/model.safetensors", 2, "'model' is a checkpoint", SAME },
    { NULL, EVAL "run --json run/step-4/new.json", 2, "'run/step-4' is a checkpoint",
      "test ! -e run/step-4/new.json" },
    { "ln -s run/step-4/new.json j", EVAL "run --json j", 2, "'run/step-4' is a checkpoint",
      "test ! -e run/step-4/new.json" },
    { NULL, "average run --last 1 --out run/step-4", 2, "'run/step-4' is a checkpoint",
      SAME "&& test ! -e run/step-4/latest" },
    { NULL, "average run --last 1 --out model/a/b", 2, "'model' is a checkpoint",
      "test ! -e model/a" },
    { NULL, TRAIN "--out model", 2, "'model' is a checkpoint", SAME },
    { NULL, TRAIN "--seeds 1 --out model/sweep", 2, "'model' is a checkpoint",
      "test ! -e model/sweep" },
    { NULL, "train t.tsv --quiet --device cpu --out model/own", 2, "'model' is a checkpoint",
      "test ! -e model/own" },
    { NULL, "report run --out p.html --tensorboard model", 2, "'model' is a checkpoint",
      "test ! -e model/run && test ! -e p.html" },
    /* two outputs where no folder is yet */
    { NULL, TRAIN "--out not/r --report ./not/r", 2, "both name", "test ! -e not" },
    { NULL, EVAL "run --json not//r --report ././not/./r", 2, "both name", "test ! -e not" },
    { NULL, EVAL "run --json not/x/../r --report not/r", 2, "both name", "test ! -e not" },
    { "mkdir into; ln -s into in", EVAL "run --json in/not/r --report into/not/r", 2, "both name",
      "test ! -e into/not" },
    /* an output that is the file of standard output, or of standard error */
    { NULL, EVAL "run --json out.txt", 2,
      "'gsa eval --json' names 'out.txt', where standard output goes: one of the two would be lost",
      "test ! -s out.txt" },
    { "echo earlier >f; r=0; " GSA_COMMAND " " EVAL "run --json ./f >>f 2>e || r=$?; test $r = 2",
      "--version", 0, NULL, "test $(cat f) = earlier && grep -q 'standard output goes' e" },
    { NULL, EVAL "run --report - --json out.txt", 2, "where standard output goes", NULL },
    { "ln -s out.txt l", EVAL "run --json l", 2, "'l', where standard output goes", "test -L l" },
    { NULL, TRAIN "--report out.txt --out new", 2, "where standard output goes", "test ! -e new" },
    { NULL, TRAIN "--report err.txt --out new", 2, "'err.txt', where standard error goes",
      "test ! -e new" },
    { NULL, EVAL "run --json /dev/stdout", 0, NULL, "test $(wc -l <out.txt) -gt 1" },
    { ": >out.txt; ln out.txt two", EVAL "run --json two", 0, NULL,
      "test -s out.txt && test -s two && ! cmp -s out.txt two" },
    /* a link, or a second name, leads nowhere */
    { "printf '42\\n' >foreign; ln foreign run/lock", "train --resume run --quiet --device cpu", 1,
      "'run/lock' cannot be locked", "test $(cat foreign) = 42" },
    { "mkdir tb; ln -s ../elsewhere tb/run", "report run --out p.html --tensorboard tb", 2,
      "'tb/run' is a link", "test -z \"$(ls elsewhere)\"" },
    { "mkdir sw; ln -s ../elsewhere sw/seed-5", SWEEP, 2, "'sw/seed-5' is a link",
      "test -z \"$(ls elsewhere)\"" },
    { "mkdir sw; ln -s ../elsewhere sw/hidden-8", SWEEP " --each model.hidden=8", 2,
      "'sw/hidden-8' is a link", "test -z \"$(ls elsewhere)\"" },
    { "mkdir sw; : >foreign; ln foreign sw/results.jsonl", SWEEP, 1,
      "'sw/results.jsonl' cannot be written", "test ! -s foreign && test ! -e sw/seed-1" },
    { "mkdir sw; : >foreign; ln -s ../foreign sw/results.jsonl", SWEEP, 2, "no regular file",
      "test ! -s foreign" },
    { ": >foreign; ln foreign all", SWEEP " --results all", 0, NULL,
      "test $(wc -l <foreign) = 2" }, /* named by the user */
    { "mkdir own; ln -s ../elsewhere/r own/recipe.ini",
      "train t.tsv --quiet --device cpu --out own", 2, "is there already",
      "test -z \"$(ls elsewhere)\"" },
    { "mkdir sw; : >foreign; ln -s ../foreign sw/all", SWEEP " --results sw/all", 0, NULL,
      "test $(wc -l <foreign) = 2" }, /* named by the user, too */
    { "mkdir sw; ln -s ../text.ini sw/r.ini",
      "train sw/r.ini --quiet --device cpu --seeds 1,5 --out sw", 0, NULL,
      "test -e sw/seed-5/result.json" },
    { "mkfifo p; " GSA_COMMAND " train t.tsv --quiet --device cpu --set data.dev=p 2>e & k=$!; "
      "until [ -e runs/t/recipe.ini ]; do sleep 0.05; done; mv runs/t aside; echo mine >runs/t; "
      "echo bad >p; ! wait $k",
      "--version", 0, NULL, "test $(cat runs/t) = mine" },
    /* a file of the command that is open is no output, and no input of a stream */
    { "exec 3>&- 4>&- 5>&- 6>&-; for n in 4 5 6; do rm -rf new; "
      "! " GSA_COMMAND
      " train text.ini --quiet --device cpu --out new --report /proc/self/fd/$n >o 2>e; "
      "if grep -q html new/log.jsonl; then exit 1; fi; done",
      "--version", 0, NULL, NULL },
    { "cp dev.tsv d; r=0; timeout 20 " GSA_COMMAND " predict --device cpu --model model --stream "
      "--input d >>d 2>e || r=$?; test $r = 2; grep -q 'recipe reads it' e",
      "--version", 0, NULL, "cmp dev.tsv d" },
    { "mkdir own; ln -s own to", "train t.tsv --quiet --device cpu --out to --set data.dev=none", 1,
      NULL, "test -L to && test -z \"$(ls own)\"" },
    { "mkdir own", "train t.tsv --quiet --device cpu --out own --set data.dev=none", 1, NULL,
      "test -d own" },
    { "exec 3>log; echo mine >&3; r=0; " GSA_COMMAND " graph --topology star --length 3 --format "
      "dot --out /proc/$$/fd/3 2>e || r=$?; echo mine >&3; test $r = 1; grep -q 'another process' "
      "e",
      "--version", 0, NULL, "test $(grep -c mine log) = 2" },
    { "mkdir r; for f in log.jsonl lock latest; do r=0; " GSA_COMMAND " train text.ini --quiet "
      "--device cpu --out r >r/$f 2>e || r=$?; test $r = 2; grep -q \"r/$f' cannot be written: "
      "standard output goes there\" e; rm r/$f; done; r=0; " GSA_COMMAND " average run --out r "
      ">r/lock 2>e || r=$?; test $r = 2; grep -q 'standard output goes there' e",
      "--version", 0, NULL, "test -z \"$(cat r/lock)\"" },
    { "mkdir -p runs/old; : >runs/old/config.ini; echo old >runs/last; r=0; " GSA_COMMAND " train "
      "t.tsv --quiet --device cpu >>runs/last 2>e || r=$?; test $r = 2; grep -q "
      "'standard output goes there' e",
      "--version", 0, NULL, "test $(cat runs/last) = old && test $(ls runs | wc -l) = 2" },
    { "mkdir -p tb/run; f=tb/run/events.out.tfevents.0.gsa; r=0; " GSA_COMMAND " report run --out "
      "page.html --tensorboard tb >$f 2>e || r=$?; test $r = 2; grep -q 'standard output goes "
      "there' e",
      "--version", 0, NULL, "test ! -e page.html" },
    { GSA_COMMAND " average run --last 1 --out mean >o; cp train.tsv c",
      "predict --device cpu --model mean --input dev.tsv --output train.tsv", 2,
      "'train.tsv' cannot be written: the command or its recipe reads it", "cmp train.tsv c" },
    { "cp train.tsv c",
      "attend --device cpu --model run --beside mean --text x --format csv --out train.tsv", 2,
      "recipe reads it", "cmp train.tsv c" },
    { "cp dev.tsv d; ! " GSA_COMMAND " predict --device cpu --model model --input d --output "
      "/dev/fd/05 5<>d 2>e",
      "--version", 0, NULL, "cmp dev.tsv d" },
    { "! " GSA_COMMAND " graph --topology star --length 3 --format dot --out /dev/stdin <&- 2>e",
      "--version", 0, NULL, "grep -q 'cannot be opened\\|cannot be written' e" },
    { "cp train.tsv c; for v in 'eval --device cpu --model run' 'average run --last 1 --out late'; "
      "do "
      "r=0; " GSA_COMMAND
      " $v 1<>train.tsv 2>e || r=$?; test $r = 2; grep -q 'recipe reads it' e; done",
      "--version", 0, NULL, "cmp train.tsv c" },
    { "mkdir -p killed; : >killed/mine", TRAIN "--out new/../killed", 1,
      "'new/..' leads nowhere: there is no folder 'new'", "test ! -e new && test -e killed/mine" },
    { "mkdir -p mine/empty", "topology new foo --out new/../mine/empty/x", 1, "leads nowhere",
      "test ! -e new && test -d mine/empty" },
    { "mkdir gone; cp train.tsv gone/outcomes.jsonl.tmp-gsa-0123456789ab",
      TRAIN "--out gone --set data.train=gone/outcomes.jsonl.tmp-gsa-0123456789ab", 2,
      "has the name of a temporary of run 'gone', which would remove it",
      "cmp train.tsv gone/outcomes.jsonl.tmp-gsa-0123456789ab && test ! -e gone/log.jsonl" },
    { "mkdir lr=1; cp train.tsv lr=1/outcomes.jsonl.tmp-gsa-0123456789ab",
      TRAIN "--out lr=1 --set data.train=- "
            "<lr=1/outcomes.jsonl.tmp-gsa-0123456789ab",
      1, "cannot be removed: Device or resource busy",
      "cmp train.tsv lr=1/outcomes.jsonl.tmp-gsa-0123456789ab" },
    { "mkdir step-1.tmp-gsa; cp dev.tsv step-1.tmp-gsa/in",
      "predict --device cpu --model model --input step-1.tmp-gsa/in --output step-1.tmp-gsa/in", 2,
      "recipe reads it", "cmp dev.tsv step-1.tmp-gsa/in" },
    { "mkdir -p held/step-3.tmp-gsa; cp train.tsv held/step-3.tmp-gsa/manifest.sha256",
      TRAIN "--out held --set data.train=held/step-3.tmp-gsa/manifest.sha256", 2,
      "which would remove it", "cmp train.tsv held/step-3.tmp-gsa/manifest.sha256; rm -r held" },
    { GSA_COMMAND " " TRAIN "--seeds 1 --out first >o; mkdir -p again/seed-1; cp "
                  "first/seed-1/asked.ini again/seed-1; cp first/seed-1/asked.ini c",
      "train again/seed-1/asked.ini --device cpu --quiet --set train.epochs=2 --seeds 1 --out "
      "again",
      2, "'again/seed-1/asked.ini' cannot be written: the command or its recipe reads it",
      "cmp again/seed-1/asked.ini c" },
    { "cp " GSA_COMMAND " program; r=0; ./program graph --topology star --length 3 --format dot "
      "--out /proc/self/exe 2>e || r=$?; test $r = 2; grep -q 'it is this program' e",
      "--version", 0, NULL, "cmp program " GSA_COMMAND },
    { "mkdir -p s/seed-1", TRAIN "--seeds 2 --out s --results s/seed-1/result.json", 2,
      "'s/seed-1' is a run, which has a file of that name", "test ! -e s/seed-1/result.json" },
    { GSA_COMMAND " " TRAIN "--seeds 1 --out held >o; ln held/seed-1/result.json r; cp r c",
      TRAIN "--seeds 1 --out held --results r", 2, "'r' cannot be written: it is a file of run",
      "cmp r c" },
    { GSA_COMMAND " " TRAIN "--seeds 1 --out held >o; for f in "
                  "held/seed-1/step-*/manifest.sha256; do "
                  "ln -f $f m; done; cp m c",
      TRAIN "--seeds 1 --out held --results m", 2, "it is a file of run 'held/seed-1'", "cmp m c" },
    { NULL, TRAIN "--seeds 2 --out s --results s/seed-2", 2, "it is a run's folder",
      "test ! -e s/seed-2" },
    { "mkdir -p s; : >s/results.jsonl; r=0; " GSA_COMMAND " train text.ini --device cpu --seeds 2 "
      "--out s 2>>s/results.jsonl || r=$?; test $r = 2",
      "--version", 0, NULL, "test ! -e s/seed-1/config.ini" },
    { NULL, TRAIN "--report new/step-4 --out new", 2, "a run writes a file of that name",
      "test ! -e new" },
    { "mkdir -p s/seed-1; ln -s s/seed-1/result.json to.jsonl",
      TRAIN "--seeds 2 --out s --results to.jsonl", 2,
      "'s/seed-1' is a run, which has a file of that name", "test ! -e s/seed-1/result.json" },
    { "mkdir -p s/seed-1; r=0; " GSA_COMMAND
      " train text.ini --quiet --device cpu --seeds 2 --out s --results "
      "/dev/fd/3 3>s/seed-1/asked.ini 2>e || r=$?; test $r = 2; grep -q 'is a run, which' e; "
      "r=0; " GSA_COMMAND
      " train text.ini --quiet --device cpu --seeds 2 --out s >s/seed-1/asked.ini "
      "2>e || r=$?; test $r = 2; grep -q 'standard output goes there' e",
      "--version", 0, NULL, "test ! -e s/seed-1/config.ini" },
    { "ln model/vocab.txt zz; r=0; " GSA_COMMAND " predict --device cpu --model model x "
      ">>zz 2>e || r=$?; test $r = 2; grep -q 'it is a file of a checkpoint' e",
      "predict --device cpu --model model --output /dev/fd/5 x 5<>zz", 2,
      "'/dev/fd/5' cannot be written: it is a file of a checkpoint",
      SAME "; cmp model/vocab.txt zz" },
    { "mkdir u; r=0; " GSA_COMMAND " train text.ini --device cpu --out u "
      ">u/log.jsonl.tmp-gsa-0123456789ab 2>e || r=$?; test $r = 2; test -e "
      "u/log.jsonl.tmp-gsa-0123456789ab; grep -q 'that of a temporary' e",
      TRAIN "--out u --results u/log.jsonl.tmp-gsa-0123456789ab", 2,
      "its name is that of a temporary", "test ! -e u/log.jsonl" },
    { "r=$(printf 'caf\\351.ini'); cp text.ini $r; " GSA_COMMAND " train $r --device cpu --quiet "
      "--seeds 1 --out s >o; grep -q '\"recipe\": \"caf\xef\xbf\xbd\"' "
      "s/results.jsonl; " GSA_COMMAND
      " bench train $r --device cpu --steps 1 --json b.json >o; grep -q '\"name\": "
      "\"caf\xef\xbf\xbd.ini\"' b.json; cp s/seed-1/result.json $r.json",
      "table $(printf 'caf\\351.ini.json')", 0, NULL, "grep 'caf.*json:1' out.txt" },
    /* where a folder, or the processes, are mounted a second time; not where nobody may mount */
    { "unshare -m true 2>e || exit 0; mkdir m; r=0; unshare -m sh -c 'mount --bind . m && "
      "exec " GSA_COMMAND " eval --device cpu --model run --report out --json m/out' 2>e || r=$?; "
      "test $r = 2; grep -q 'both name' e",
      "--version", 0, NULL, "test ! -e out" },
    { "unshare -m true 2>e || exit 0; mkdir p; echo mine >log; exec 3>>log; unshare -m sh -c "
      "'mount --bind /proc p && exec " GSA_COMMAND " graph --topology star --length 3 --format dot "
      "--out p/self/fd/3'; r=0; unshare -m sh -c 'mount --bind /proc p; " GSA_COMMAND
      " graph --topology star --length 3 --format dot --out p/'$$'/fd/3' 2>e || r=$?; test $r = 1; "
      "unshare -m sh -c 'mount --bind /proc/$$/fd p; " GSA_COMMAND
      " graph --topology star --length 3 --format dot --out p/3' 2>e || r=2; test $r = 2; "
      "grep -q 'another process' e",
      "--version", 0, NULL, "test $(grep -c mine log) = 1 && test $(grep -c digraph log) = 1" },
    { "cat text.ini | " GSA_COMMAND
      " train /dev/stdin --quiet --device cpu >o && mkfifo p; for v in "
      "'train p --out new' 'train p --seeds 2' 'bench train p'; do r=0; "
      "timeout 20 " GSA_COMMAND " $v <text.ini >o 2>e || r=$?; test $r = 2; "
      "grep -q 'is a pipe, and is read' e; done",
      "--version", 0, NULL, "test ! -e new" },
    { GSA_COMMAND " train /dev/fd/7 --quiet --device cpu --out new 7<text.ini >o", "--version", 0,
      NULL, "test -e new/latest" },
    { NULL, "train t.tsv --quiet --device cpu --out runs/last/", 2, "which run was the last",
      "test ! -e runs/last" },
    { "mkdir runs; echo mine >runs/last; for o in runs/ \"runs/a\nb\"; do " GSA_COMMAND
      " train t.tsv --quiet --device cpu --out \"$o\" >o; done; rm runs/last; " GSA_COMMAND
      " train t.tsv --quiet --device cpu --out runs/c >o",
      "--version", 0, NULL, "test $(cat runs/last) = c" },
    { "bash -ec 'd=$(printf %0200d 0) m=$PWD/run t=$PWD; for i in {1..24}; do mkdir $d; cd $d; "
      "done; "
      "for v in \"--report o --json o\" \"--json so\"; do r=0; " GSA_COMMAND " eval --device cpu "
      "--model $m $v >so 2>e || r=$?; test $r = 2; grep -q would.be.lost e; done; test ! -s so; "
      "cd $t; rm -r $d'",
      "--version", 0, NULL, NULL },
    { "for out in / // /..; do r=0; " GSA_COMMAND " graph --topology star --length 3 --format dot "
      "--out $out >o 2>e || r=$?; test $r = 1; grep -q 'is a folder' e; done",
      "--version", 0, NULL, NULL },
    { "echo '{}' >-", TRAIN "--seeds 2 --results -", 2, "expected a file", "test $(cat ./-) = {}" },
    { "exec 3>log; r=0; " GSA_COMMAND " train text.ini --quiet --device cpu --results "
      "/proc/$$/fd/3 2>e || r=$?; echo mine >&3; test $r = 1; grep -q 'cannot be written' e",
      "--version", 0, NULL, "test $(grep -c mine log) = 1" },
    /* a gsa average that was killed does not hold up the next one */
    { "mkdir -p mean/step-4.tmp-gsa; : >mean/step-4.tmp-gsa/config.ini",
      "average run --last 1 --out mean", 0, NULL,
      "test -s mean/latest && test ! -e mean/step-4.tmp-gsa" },
    { "mkdir -p mean/step-4.tmp-gsa; echo mine >mean/step-4.tmp-gsa/thesis",
      "average run --last 1 --out mean", 0, NULL,
      "test -s mean/latest && test $(cat mean/step-4.tmp-gsa/thesis) = mine" },
    { "mkdir -p mean/step-4.tmp-gsa; echo mine >mean/step-4.tmp-gsa/vocab.txt; "
      ": >mean/step-4.tmp-gsa/thesis",
      "average run --last 1 --out mean", 0, NULL,
      "test -s mean/latest && test $(cat mean/step-4.tmp-gsa/vocab.txt) = mine" },
    { "mkdir run/step-6.tmp; echo mine >run/step-6.tmp/vocab.txt",
      "train --resume run --quiet --device cpu --set train.epochs=3", 0, NULL,
      "test -e run/step-6 && test $(cat run/step-6.tmp/vocab.txt) = mine" },
    { "mkdir new; ln -s ../run new/from",
      "train --resume new/from --quiet --device cpu --out new --set train.epochs=3", 0, NULL,
      "test -e new/step-6 && test ! -e run/step-6" },
    { "mkdir -p mean/step-9.tmp-gsa; echo mine >mean/step-9.tmp-gsa/vocab.txt",
      "average run --last 1 --out mean", 2, "'mean/step-9.tmp-gsa' is there already",
      "test -s mean/step-9.tmp-gsa/vocab.txt" },
    /* the recipe that train FILE wrote, and somebody changed while data were read */
    { "cp t.tsv big.tsv; for i in $(seq 15); do cat big.tsv big.tsv >b; mv b big.tsv; "
      "done; " GSA_COMMAND
      " train big.tsv --quiet --device cpu --out own --set data.dev=none 2>e & "
      "while test ! -e own/recipe.ini && kill -0 $!; do :; done; echo mine >own/recipe.ini; "
      "wait; :",
      "help", 0, NULL, "test $(cat own/recipe.ini) = mine" },
    { "mkdir -p sw/seed-1; echo mine >sw/seed-1/asked.ini", SWEEP, 2, "is not of a run",
      "test $(cat sw/seed-1/asked.ini) = mine" },
    { "ln -s elsewhere/o link", EVAL "model --outcomes link", 0, NULL,
      "test -L link && test -s elsewhere/o" },
    { NULL, EVAL "model --outcomes -", 0, NULL, "grep -q '\"outcomes\": 1' out.txt" },
    /* what is not of a run stays */
    { "echo mine >run/latest.tmp-myfile; echo mine >run/log.jsonl.tmp-abcd; mkdir "
      "run/step-99.tmp-gsa; "
      "echo mine >run/step-99.tmp-gsa/thesis",
      "train --resume run --quiet --device cpu --set train.epochs=3", 0, NULL,
      "cat run/latest.tmp-myfile run/log.jsonl.tmp-abcd run/step-99.tmp-gsa/thesis" },
    /* a checkpoint has its step */
    { "rm -r run/step-2; cp -r run/step-4 run/step-2", "average run --last 2 --out mean", 2,
      "'run/step-2' is a checkpoint of step 4", "test ! -e mean" },
    { "mv run/step-2 x; mv run/step-4 run/step-2; mv x run/step-4",
      "train --resume run --quiet --device cpu --set train.epochs=3", 2, "no whole checkpoint",
      NULL },
    { "mkdir old; cp -r model old/step-7; sed -i 's/ of step-.*//' old/step-7/manifest.sha256",
      EVAL "old/step-7", 0, NULL, NULL }, /* as earlier versions wrote it */
    /* and its run */
    { OTHER "rm -r run/step-2; cp -r other/step-2 run", "average run --last 2 --out mean", 2,
      "step-2/state.safetensors: the checkpoint is of another run than 'run/log.jsonl' tells of",
      "test ! -e mean" },
    { OTHER "rm -r run/step-2; cp -r other/step-2 run; rm run/log.jsonl",
      "average run --last 2 --out mean", 2, "is of another run than those after it, up to step 4",
      "test ! -e mean" },
    { OTHER "rm -r run/step-4; cp -r other/step-4 run",
      "train --resume run --quiet --device cpu --set train.epochs=3", 2,
      "step-4/state.safetensors: the checkpoint is of another run than 'run/log.jsonl' tells of",
      "test ! -e run/step-6" },
    { OTHER "rm run/log.jsonl; rm -r run/step-4; cp -r other/step-4 run",
      "train --resume run --quiet --device cpu --set train.epochs=3", 0, NULL,
      "test -e run/step-6" }, /* nothing says whose it is */
    { NULL, "train --resume run --quiet --device cpu --out go --set train.epochs=3", 0, NULL,
      "test -e go/step-6 && cp -r run/step-4 go && " GSA_COMMAND
      " average go --last 2 --out mean" },
    { "cp -r model 'step-x'", EVAL "step-x", 0, NULL, NULL },
    /* a folder that another has: its files stay */
    { "mkdir busy; echo $$ >busy/lock; flock -x busy/lock sleep 3 & sleep 0.2",
      "train t.tsv --quiet --device cpu --out busy", 2, "'busy' is in use",
      "test $(ls busy) = lock" },
    { NULL, "train t.tsv --quiet --device cpu --out own", 0, NULL,
      "test -e own/recipe.ini && test ! -e own/lock" },
    { NULL, "train t.tsv --quiet --device cpu --seeds 1 --out own", 0, NULL,
      "test -e own/seed-1/result.json && test ! -e own/lock" },
};

/* the lines of --results, too */
#define JSON                                                                                       \
    "sed 's/\\(.*\\)\t\\(.*\\)/{\"task\": \"a\", \"label\": \"\\1\", \"text\": \"\\2\"}/' "        \
    "train.tsv >d.jsonl; cp d.jsonl c; "
#define OF_JSON                                                                                    \
    TRAIN "--set data.format=json --set data.columns=text,label --set data.dev=d.jsonl --set "     \
          "data.test=d.jsonl "                                                                     \
          "--set data.train="
#define SAME_LINES "test ! -e sw && cmp c d.jsonl"
#define DRAWN      GSA_COMMAND " graph --topology ring --length 4 --out d.graphml >o; "
#define INSPECT    "! " GSA_COMMAND "-inspect d.graphml "
#define READS      "cannot be written: the command or its recipe reads it"
static const row of_runs[] = {
    { JSON, OF_JSON "d.jsonl --out sw --results d.jsonl", 2, "'d.jsonl' " READS, SAME_LINES },
    { JSON "ln d.jsonl hard; ln -s hard all", OF_JSON "d.jsonl --out sw --results all", 2, READS,
      SAME_LINES },
    { JSON, OF_JSON "d.jsonl --results /dev/fd/3 3>>d.jsonl", 2, READS, SAME_LINES },
    { JSON "! " GSA_COMMAND " " OF_JSON "d.jsonl --results /dev/stdout >>d.jsonl 2>e", "--version",
      0, NULL, "grep -q 'reads it' e && " SAME_LINES },
    { JSON, OF_JSON "{of}.jsonl --each of=d --out sw --results d.jsonl", 2, READS, SAME_LINES },
    { JSON "mkdir own; mv d.jsonl own/results.jsonl", /* made by each of several runs */
      OF_JSON "own/results.jsonl --seeds 1 --out own", 2, "'own/results.jsonl' " READS,
      "cmp own/results.jsonl c && test ! -e own/seed-1" },
    { "cp text.ini c", TRAIN "--results /dev/fd/3 3>>text.ini", 2, READS, "cmp text.ini c" },
    { "cp model/labels.txt l", TRAIN "--results /dev/fd/3 3>>model/labels.txt", 2,
      "is a checkpoint", "cmp model/labels.txt l" },
    { "cp run/log.jsonl l", TRAIN "--results /dev/fd/3 3>>run/log.jsonl", 2, "it is of a run",
      "cmp run/log.jsonl l" },
    { ": >all", TRAIN "--results /dev/fd/3 3>>all", 0, NULL, "test $(wc -l <all) = 1" },
    { "cp run/result.json r.json", TRAIN "--results run/result.json", 2,
      "'run/result.json' cannot be written: it is of a run", "cmp run/result.json r.json" },
    { "ln -s run/log.jsonl all; cp run/log.jsonl l", TRAIN "--results all", 2, "it is of a run",
      "cmp run/log.jsonl l" },
    { GSA_COMMAND " train t.tsv --quiet --device cpu >o", EVAL "run --json runs/last", 2,
      "it says which run was the last", "test $(cat runs/last) = t" },
    { "mkdir runs; echo t >runs/last", EVAL "run --json runs/last", 0, NULL,
      "grep -q dev runs/last" }, /* there is no such run */
    { "mv run x; cp -r x step-4; mkdir run; mv x/step-4 run",
      "report step-4 --out p.html --tensorboard run", 2, "'run/step-4' is a checkpoint",
      "test ! -e run/step-4/events.out.tfevents.0.gsa && test ! -e p.html" },
    { "cp t.tsv model/t.tsv; cd model; ! " GSA_COMMAND " train t.tsv --quiet 2>../e; cd ..",
      "--version", 0, NULL, "grep -q 'is a checkpoint' e && test ! -e model/runs" },
    { NULL, "topology new zz --out model/a/b/zz", 2, "'model' is a checkpoint",
      "test ! -e model/a" },
    /* by a descriptor, too */
    { "cp model/labels.txt l; ! " GSA_COMMAND
      " predict --device cpu --model model good >>model/labels.txt 2>e",
      "--version", 0, NULL, "grep -q 'is a checkpoint' e && cmp model/labels.txt l" },
    { "cp run/config.ini c; ! " GSA_COMMAND " compare run run 1<>run/config.ini 2>e", "--version",
      0, NULL, "grep -q 'it is of a run' e && cmp run/config.ini c" },
    { "cp run/latest l", "report run --out /dev/fd/3 3<>run/latest", 2, "it is of a run",
      "cmp run/latest l" },
    { DRAWN "cp run/config.ini c; ln -s run/config.ini c.svg; " INSPECT "--svg c.svg 2>e",
      "--version", 0, NULL, "grep -q 'it is of a run' e && cmp run/config.ini c" },
    { DRAWN GSA_COMMAND " average run --last 1 --out mean >o; cp mean/latest l; "
                        "ln -s mean/latest c.svg; " INSPECT "--svg c.svg 2>e",
      "--version", 0, NULL, "grep -q 'it is of a run' e && cmp mean/latest l" },
    { DRAWN "cp run/latest l; " INSPECT "--json >>run/latest 2>e", "--version", 0, NULL,
      "grep -q 'it is of a run' e && cmp run/latest l" },
    { DRAWN "cp model/vocab.txt v; " INSPECT "1<>model/vocab.txt 2>e", "--version", 0, NULL,
      "grep -q 'is a checkpoint' e && cmp model/vocab.txt v" },
    { DRAWN "cp model/labels.txt l; " INSPECT "--svg /dev/fd/3 3<>model/labels.txt 2>e",
      "--version", 0, NULL, "grep -q 'is a checkpoint' e && cmp model/labels.txt l" },
    { DRAWN INSPECT "--stats --svg c.svg >c.svg 2>e", "--version", 0, NULL,
      "grep -q 'where standard output goes' e && test ! -s c.svg" },
    { "cp model/labels.txt l; for o in --version --help '-inspect --version' '-inspect --help' "
      "'-inspect --man'; do ! case $o in -inspect*) " GSA_COMMAND "$o ;; *) " GSA_COMMAND
      " $o ;; esac >>model/labels.txt 2>e; grep -q 'is a checkpoint' e; done",
      "--version", 0, NULL, "cmp model/labels.txt l" },
    /* a new file is none that came meanwhile */
    { "cp t.tsv big.tsv; for i in $(seq 14); do cat big.tsv big.tsv >b; mv b big.tsv; "
      "done; " GSA_COMMAND " init big.tsv --out n.ini 2>e & k=$!; sleep 0.1; set -C; "
      "if echo mine 2>/dev/null >n.ini; then ! wait $k; test $(cat n.ini) = mine; fi",
      "--version", 0, NULL, NULL },
};

/* a folder without a checkpoint: what a kill left of a run begins anew, what is the user's stays */
#define OWN    "mkdir -p sw/seed-1; printf '[task]\\nname = text_classification\\n# mine\\n' >c; "
#define COPIED "sed 's/^report_every = .*/report_every = 7/' run/config.ini >c; "
#define KILLED "cp -r run e; rm -r e/latest e/step-* e/result.json; "
#define NO_RUN "is not of a run"
static const row of_folders[] = {
    { OWN "cp -r sw/seed-1 e; cp c e/config.ini", TRAIN "--out e", 2, "'e/config.ini' " NO_RUN,
      "cmp c e/config.ini && test $(ls e) = config.ini" },
    { OWN "cp c sw/seed-1/config.ini", SWEEP, 2, "sw/seed-1/config.ini' " NO_RUN,
      "cmp c sw/seed-1/config.ini" },
    { "mkdir -p sw/seed-1; cp text.ini c; cp c sw/seed-1/asked.ini", SWEEP, 2,
      "sw/seed-1/asked.ini' " NO_RUN, "cmp c sw/seed-1/asked.ini" },
    { COPIED "mkdir e; cp c e/config.ini", TRAIN "--out e", 2, "'e/config.ini' " NO_RUN,
      "cmp c e/config.ini" },
    { KILLED "cp text.ini c; cp c e/config.ini", TRAIN "--out e", 2, "'e/config.ini' " NO_RUN,
      "cmp c e/config.ini" },
    { KILLED "cp t.tsv e/log.jsonl", TRAIN "--out e", 2, "'e/log.jsonl' " NO_RUN,
      "cmp t.tsv e/log.jsonl" },
    { "mkdir e; cp run/config.ini run/result.json e", TRAIN "--out e", 2, NO_RUN,
      "cmp run/result.json e/result.json" },
    { "mkdir e; : >e/log.jsonl; cp t.tsv e/result.json", TRAIN "--out e", 2,
      "'e/result.json' " NO_RUN, "cmp t.tsv e/result.json" },
    { "mkdir e; ln -s ../dev.tsv e/log.jsonl; cp t.tsv e/curve.svg", TRAIN "--out e", 2,
      "'e/log.jsonl' " NO_RUN, "cmp t.tsv e/curve.svg" },
    { "rm run/latest; cp run/result.json c", TRAIN "--out run", 2, "'run' holds a run already",
      "cmp c run/result.json" },
    { "cp -r run e; rm -r e/latest e/step-*", TRAIN "--out e", 2,
      "'e/result.json' is of a run that has ended", "cmp run/result.json e/result.json" },
    /* what it reads is not what it replaces */
    { KILLED JSON "cp c e/outcomes.jsonl", OF_JSON "e/outcomes.jsonl --out e", 2,
      "'e/outcomes.jsonl' " READS, "cmp c e/outcomes.jsonl" },
    { KILLED JSON "cp c e/result.json; ln -s e/result.json l", OF_JSON "l --out e", 2,
      "'e/result.json' " READS, "cmp c e/result.json" },
    { KILLED, "train e/config.ini --quiet --device cpu --out e --set train.report_every=7", 2,
      "'e/config.ini' cannot be written: the command or its recipe reads it",
      "cmp run/config.ini e/config.ini" },
    { KILLED JSON "mkdir sw; mv e sw/seed-5; cp c sw/seed-5/outcomes.jsonl",
      OF_JSON "sw/seed-5/outcomes.jsonl --seeds 1,5 --out sw", 2,
      "'sw/seed-5/outcomes.jsonl' " READS,
      "cmp c sw/seed-5/outcomes.jsonl && test ! -e sw/seed-1" },
    { "cp dev.tsv run/outcomes.jsonl",
      "train --resume run --quiet --device cpu --set train.epochs=3 --set "
      "data.dev=run/outcomes.jsonl",
      2, "'run/outcomes.jsonl' " READS, "cmp dev.tsv run/outcomes.jsonl" },
    /* at each moment */
    { "mkdir e; echo 1 >e/lock", TRAIN "--out e", 0, NULL, "test -e e/latest" },
    { "mkdir e; echo 1 >e/lock; : >e/log.jsonl", TRAIN "--out e", 0, NULL, "test -e e/latest" },
    { "mkdir e; head -c 9 run/log.jsonl >e/log.jsonl", TRAIN "--out e", 0, NULL,
      "test -e e/latest" },
    { "mkdir e; head -n 1 run/log.jsonl >e/log.jsonl; : >e/config.ini.tmp-gsa-00000f000000",
      TRAIN "--out e", 0, NULL, "test -e e/latest && test ! -e e/config.ini.tmp-gsa-00000f000000" },
    { "mkdir -p e/step-2.tmp-gsa; : >e/log.jsonl; cp run/config.ini e", TRAIN "--out e", 0, NULL,
      "test -e e/latest && test ! -e e/step-2.tmp-gsa" },
    { KILLED, TRAIN "--out e", 0, NULL, "test -e e/latest" },
    { KILLED COPIED "cp c e/config.ini", "train --resume run --quiet --device cpu --out e", 0, NULL,
      "test -e e/latest" },
};

/* Each row in a copy of one folder. */
static void check_all(const row *rows, int count)
{
    enter();
    ck_assert_int_eq(shell("d=$PWD; cp -r . $d.all; mv $d.all all"), 0);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(shell("rm -rf row; cp -r all row"), 0);
        ck_assert_int_eq(chdir("row"), 0);
        check(&rows[i]);
        ck_assert_int_eq(chdir(".."), 0);
    }
    gsa_cli_leave();
}

START_TEST(what_is_read_or_foreign_stays)
{
    check_all(kept, GSA_COUNT(kept));
}
END_TEST

START_TEST(what_a_run_needs_stays)
{
    check_all(of_runs, GSA_COUNT(of_runs));
}
END_TEST

START_TEST(only_what_a_kill_left_begins_anew)
{
    check_all(of_folders, GSA_COUNT(of_folders));
}
END_TEST

/* Standard output is the file d, which is read, however a shell opened it. */
static const char *const onto_itself[] = {
    "predict --device cpu --model model --input d 1<>d",
    "predict --device cpu --model model --input d >>d",
    "predict --device cpu --model model <d 1<>d",
    "predict --device cpu --model model --stream --input d >>d",
    "predict --device cpu --model model --stream <d 1<>d",
    "predict --device cpu --model model --input d --output /dev/stdout 1<>d",
    "predict --device cpu --model model --input d --output /dev/fd/3 3>>d",
    "eval --quiet --device cpu --model model --set data.dev=d 1<>d",
    "init d 1<>d",
    "topology check char_word:lexicon=t.tsv --text d >>d",
    "topology check char_word:lexicon=d --text dev.tsv >>d",
    "-inspect d 1<>d",
};

START_TEST(what_is_read_is_no_standard_output)
{
    char command[512];
    enter();
    ck_assert_int_eq(shell(GSA_COMMAND " graph --topology ring --length 4 --out d.graphml"), 0);
    for (int i = 0; i < GSA_COUNT(onto_itself); i++) {
        const char *c = onto_itself[i], *from = *c == '-' ? "d.graphml" : "t.tsv";
        snprintf(command, sizeof command,
                 "cp %s d; r=0; timeout 20 " GSA_COMMAND "%s%s 2>e || r=$?; cmp %s d; test $r = 2; "
                 "grep -q ' cannot be written: the .*command .*reads it' e",
                 from, *c == '-' ? "" : " ", c, from);
        ck_assert_msg(shell(command) == 0, "%s", c);
    }
    ck_assert_int_eq(
        shell(GSA_COMMAND " predict --device cpu --model model good <d 1<>d; ! cmp d.graphml d"),
        0); /* which is not read */
    gsa_cli_leave();
}
END_TEST

START_TEST(no_lock_is_left_by_a_full_disk)
{
    enter();
    ck_assert_int_eq(shell("ulimit -f 0; " GSA_COMMAND " " TRAIN "--out new 2>/dev/null"), 1);
    ck_assert_int_eq(shell("test ! -e new/lock"), 0);
    gsa_cli_leave();
}
END_TEST

/* Where others may write, too. */
START_TEST(the_doctor_follows_no_link)
{
    enter();
    ck_assert_int_eq(shell("mkdir tmp; echo mine >foreign; sh -c 'ln -s ../foreign "
                           "tmp/gsa-doctor-$$; TMPDIR=tmp exec " GSA_COMMAND " doctor' >out.txt; "
                           "grep -q 'tmp cannot be written: File exists' out.txt; "
                           "test $(cat foreign) = mine"),
                     0);
    gsa_cli_leave();
}
END_TEST

/* Two commands of one name and one folder: what was trained is what the recipe there names. */
START_TEST(one_of_two_has_the_folder)
{
    enter();
    ck_assert_int_eq(shell("mkdir a b; cp t.tsv a/own.tsv; sed 's/^/x/' a/own.tsv >b/own.tsv"), 0);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(
            shell("rm -rf o; for d in a b; do " GSA_COMMAND " train $d/own.tsv --quiet --device "
                  "cpu --out o >$d.out 2>$d.err || : & done; wait; test -e o/result.json; "
                  "test $(cat a.out b.out | wc -l) = 1; test $(cat a.err b.err | wc -l) = 1; "
                  "f=$(sed -n 's/^train = //p' o/recipe.ini); d=${f%/own.tsv}; test -s $d.out; "
                  "grep -q \"^train = $f\" o/config.ini"),
            0);
    gsa_cli_leave();
}
END_TEST

/* ---- what cannot be seen ------------------------------------------------------------------- */

#ifdef GSA_STAT_FAILS
static const struct unseen {
    const char *end; /* of the path whose kind cannot be told */
    const char *make, *args, *holds;
} unseen[] = {
    { "n.ini", "echo mine >n.ini", "init t.tsv --quiet --out n.ini", "test $(cat n.ini) = mine" },
    { "step-4/manifest.sha256", NULL, TRAIN "--out run/step-4/sub", "test ! -e run/step-4/sub" },
    { "model.safetensors", NULL, TRAIN "--out model/sub", "test ! -e model/sub" },
    { "config.ini", NULL, TRAIN "--out model/sub", "test ! -e model/sub" },
    { "recipe.ini", "mkdir own; echo mine >own/recipe.ini",
      "train t.tsv --quiet --device cpu --out own", "test $(cat own/recipe.ini) = mine" },
    { "data.sha256", "sed s/film/plot/ train.tsv >x.tsv",
      "train --resume run --quiet --device cpu --set train.epochs=3 --set data.train=x.tsv",
      "test ! -e run/step-6" },
    { "x.tsv", "sed s/film/plot/ train.tsv >x.tsv",
      "train --resume run --quiet --device cpu --set train.epochs=3 --set data.train=x.tsv",
      "test ! -e run/step-6" },
    { "log.jsonl", GSA_COMMAND " report run --out full", "report run --out p.html",
      "test ! -e p.html || cmp p.html full" },
    { "result.json", GSA_COMMAND " report run --out full", "report run --out p.html",
      "test ! -e p.html || cmp p.html full" },
    { "plugins.sha256",
      "cp " GSA_PAIRS " a.so; { cat a.so; echo; } >b.so; " GSA_COMMAND " " TRAIN
      "--set model.encoder=pairs --plugin ./a.so --out o >out",
      "predict --device cpu --model o --plugin ./b.so --output answer 'good film'",
      "test ! -s answer" },
    { "result.json", GSA_COMMAND " " SWEEP " >out; cp -r sw kept", SWEEP,
      "cmp kept/seed-1/log.jsonl sw/seed-1/log.jsonl; cmp kept/results.jsonl sw/results.jsonl" },
    { "results.jsonl", GSA_COMMAND " " SWEEP " >out; cp -r sw kept", SWEEP,
      "cmp kept/results.jsonl sw/results.jsonl" },
    { "results.jsonl", "echo '{\"run\": \"seed-1\"}' >results.jsonl",
      EVAL "run --json results.jsonl", "grep -q seed-1 results.jsonl" },
    { "dev.tsv", NULL, EVAL "run --json dev.tsv", "grep -q 'good one' dev.tsv" },
};

/* At each look alone, and at all of them: it is never taken for nothing. */
START_TEST(what_cannot_be_seen_is_not_absent)
{
    enum { LOOKS = 6 };
    const struct unseen *u = &unseen[_i];
    char command[2048];
    enter();
    if (u->make) ck_assert_msg(shell(u->make) == 0, "%s", u->make);
    ck_assert_int_eq(shell("d=$PWD; cp -r . $d.all; mv $d.all all"), 0);
    for (int at = 0; at <= LOOKS; at++) {
        snprintf(command, sizeof command,
                 "rm -rf row; cp -r all row; cd row; r=0; GSA_UNSEEN=%s GSA_UNSEEN_AT=%d "
                 "LD_PRELOAD=" GSA_STAT_FAILS " " GSA_COMMAND " %s >out 2>err || r=$?; %s",
                 u->end, at, u->args, u->holds);
        ck_assert_msg(shell(command) == 0, "%s at %d: gsa %s", u->end, at, u->args);
        if (at == 0)
            ck_assert_msg(shell("grep -q 'Input/output error' row/err") == 0, "%s: gsa %s", u->end,
                          u->args);
    }
    gsa_cli_leave();
}
END_TEST
#endif

/* ---- what is waited for -------------------------------------------------------------------- */

static const char *const waits[] = {
    TRAIN "--set data.train=fifo", TRAIN "--set data.train=/dev/stdin <open",
    SWEEP " --results fifo",       SWEEP " --results held",
    TRAIN "--out new >full",
};

/* The first signal ends a command that waits for another one: there is no step to wait for. */
START_TEST(a_signal_ends_what_waits)
{
    char command[2048];
    enter();
    ck_assert_int_eq(shell("mkfifo fifo open full; : >held"), 0);
    snprintf(command, sizeof command,
             "{ sleep 30 3<>open 4<>full & }; p=$!; exec 4<>full; yes >full & y=$!; "
             "flock -x held sleep 30 & q=$!; while flock -n held true; do sleep 0.1; done; "
             "sleep 0.3; r=0; "
             "timeout -k 10 2 " GSA_COMMAND " %s 2>err.txt || r=$?; kill $p $q $y; exit $r",
             waits[_i]);
    ck_assert_msg(shell(command) == 124, "%s", waits[_i]);
    gsa_cli_leave();
}
END_TEST

/* A file of data makes its folder before it trains: a signal asks all the same. */
START_TEST(a_run_of_data_stops_on_request)
{
    enter();
    ck_assert_int_eq(shell("for i in 1 2 3 4 5 6 7 8; do cat train.tsv; done >t.tsv; "
                           "timeout -k 10 2 " GSA_COMMAND " train t.tsv --quiet --device cpu --set "
                           "train.epochs=1000000 --set train.early_stop=0 >out.txt 2>err.txt"),
                     124);
    ck_assert_int_eq(shell("test -e runs/t/latest"), 0);
    gsa_cli_leave();
}
END_TEST

static const gsa_test kept_tests[] = {
    GSA_TEST(what_is_read_or_foreign_stays),     GSA_TEST(what_a_run_needs_stays),
    GSA_TEST(only_what_a_kill_left_begins_anew), GSA_TEST(what_is_read_is_no_standard_output),
    GSA_TEST(no_lock_is_left_by_a_full_disk),    GSA_TEST(one_of_two_has_the_folder),
    GSA_TEST(the_doctor_follows_no_link),
};
static const gsa_test unseen_tests[] = {
#ifdef GSA_STAT_FAILS
    GSA_LOOP(what_cannot_be_seen_is_not_absent, GSA_COUNT(unseen)),
#else
    GSA_TEST(no_lock_is_left_by_a_full_disk),
#endif
};
static const gsa_test wait_tests[] = { GSA_LOOP(a_signal_ends_what_waits, GSA_COUNT(waits)),
                                       GSA_TEST(a_run_of_data_stops_on_request) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("kept", kept_tests, 60),
                                      GSA_CASE("unseen", unseen_tests, 60),
                                      GSA_CASE("waits", wait_tests, 60) };
    return gsa_run_suite("outputs", cases, GSA_COUNT(cases), argc, argv);
}
