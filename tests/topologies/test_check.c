/* `gsa topology`: whatever a plugin does, the command says in one sentence what it was and where,
 * and lives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "cli.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })
#define PATIENT                                                                                    \
    "--patience", "60000" /* a check that must pass is never hurried, however busy the machine */

static gsa_ran ran;

static const char *path_of(const char *folder, const char *name)
{
    static char path[4096];
    const char *at = getenv(folder);
    ck_assert_msg(at != NULL, "%s is not set: run through ctest", folder);
    ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s.so", at, name), (int)sizeof path);
    return path;
}

/* `hangs`: with the patience that is usual; others are found out however long the machine lets them
 * wait. */
static void check(const char *what, int hangs)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0:handle_abort=0",
           1); /* plugins die as they would without */
    gsa_cli_run(hangs ? ARGS("topology", "check", what) : ARGS("topology", "check", what, PATIENT),
                NULL, &ran);
}

/* ---- contained ----------------------------------------------------------------------------- */

static const struct {
    const char *folder, *name;
    const char *sentence; /* a part of it */
} contained[] = {
    /* the ten kinds */
    { "GSA_TEST_BROKEN", "crash",
      "'broken' crashed in emit, length 0, while 'valid' was checked (signal 11" },
    { "GSA_TEST_BROKEN", "hang",
      "'broken' hangs: nothing came back for 700 ms in emit, length 0, while 'valid' was checked" },
    { "GSA_TEST_BROKEN", "leaves",
      "'broken' ended the process with exit code 0 in emit, length 0" },
    { "GSA_TEST_BROKEN", "hog", "'broken' took more than 256 MiB of memory in emit, length 0" },
    { "GSA_TEST_BROKEN", "abort_load",
      "abort_load.so' aborted while it was loaded (a constructor) (signal 6" },
    { "GSA_TEST_PLUGINS", "wrong_abi", "its abi is 7, expected 1" },
    { "GSA_TEST_PLUGINS", "small_struct", "its struct_size is 16 bytes, expected at least" },
    { "GSA_TEST_BROKEN", "beyond", "'broken' fails the check: valid" },
    { "GSA_TEST_PLUGINS", "no_symbol", "it exports no symbol gsa_plugin_1" },
    { "GSA_TEST_BROKEN", "changes", "'broken' fails the check: deterministic" },
    /* others */
    { "GSA_TEST_BROKEN", "process", "'broken' fails the check: deterministic" },
    { "GSA_TEST_BROKEN", "slow_hog",
      "'broken' hangs: nothing came back for 700 ms in emit, length 0" },
    { "GSA_TEST_BROKEN", "says_done",
      "'broken' ended the process with exit code 0 in emit, length 0" },
    { "GSA_TEST_BROKEN", "forks", "it starts processes" },
    { "GSA_TEST_BROKEN", "crash_second", "crashed in create or describe" },
    { "GSA_TEST_BROKEN", "other_schema",
      "describes other kinds, phases or promises than the first" },
    { "GSA_TEST_BROKEN", "other_labels",
      "describes other kinds, phases or promises than the first" },
    { "GSA_TEST_BROKEN", "process_labels", "'broken' fails the check: deterministic" },
    { "GSA_TEST_BROKEN", "few_heads",
      "'broken' crashed in emit, length 4, while 'valid' was checked" },
    { "GSA_TEST_BROKEN", "prints", "'broken' writes to standard output, where results go" },
    /* the same in other places */
    { "GSA_TEST_BROKEN", "crash_late",
      "'broken' crashed in emit, length 100, while 'valid' was checked" },
    { "GSA_TEST_BROKEN", "crash_label", "'broken' crashed in label" },
    { "GSA_TEST_BROKEN", "crash_destroy", "'broken' crashed in destroy, or when it was unloaded" },
    { "GSA_TEST_BROKEN", "abort_unload", "'broken' aborted in destroy, or when it was unloaded" },
    { "GSA_TEST_BROKEN", "hang_load",
      "hang_load.so' hangs: nothing came back for 700 ms while it was loaded" },
    { "GSA_TEST_BROKEN", "hang_create",
      "hang_create.so' hangs: nothing came back for 700 ms in create or describe" },
    { "GSA_TEST_BROKEN", "hang_long",
      "'broken' hangs: nothing came back for 700 ms in emit, length 65536, while 'growth'" },
    { "GSA_TEST_BROKEN", "leaves_create",
      "leaves_create.so' ended the process with exit code 3 in create or describe" },
    { "GSA_TEST_BROKEN", "hog_create",
      "hog_create.so' took more than 256 MiB of memory in create or describe" },
    { "GSA_TEST_PLUGINS", "next_abi", "it was built for ABI 2, expected ABI 1" },
    { "GSA_TEST_BROKEN", "task_alone", "it brings a task and no topology, expected" },
    { "GSA_TEST_PLUGINS", "undefined", "it is no shared object that loads" },
    { "GSA_TEST_PLUGINS", "absent", "there is no such file" },
};

START_TEST(each_kind_is_one_sentence)
{
    gsa_cli_enter();
    char *before = gsa_cli_listing();
    check(path_of(contained[_i].folder, contained[_i].name),
          strstr(contained[_i].sentence, "hangs") != NULL);
    char *after = gsa_cli_listing();
    ck_assert_msg(ran.signal == 0 && ran.code == 1, "%s: exit code %d, signal %d: %s",
                  contained[_i].name, ran.code, ran.signal, ran.err);
    ck_assert_msg(strncmp(ran.err, "gsa: ", 5) == 0 && strstr(ran.err, contained[_i].sentence),
                  "%s: %s", contained[_i].name, ran.err);
    ck_assert_ptr_eq(strchr(ran.err, '\n'), ran.err + strlen(ran.err) - 1);
    ck_assert_str_eq(after, before); /* no core file, nothing written */
    free(before), free(after);
}
END_TEST

static const gsa_test contained_tests[] = { GSA_LOOP(each_kind_is_one_sentence,
                                                     GSA_COUNT(contained)) };

/* ---- verdicts ------------------------------------------------------------------------------ */

START_TEST(a_sound_plugin_passes_with_a_line_a_property)
{
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "check", path_of("GSA_TEST_BROKEN", "nothing_wrong"), PATIENT),
                NULL, &ran);
    ck_assert_msg(ran.code == 0 && ran.signal == 0, "%s", ran.err);
    ck_assert_str_eq(ran.err, "");
    ck_assert_ptr_eq(strstr(ran.out, "broken\n"), ran.out);
    static const char *const lines[] = {
        "\n  valid           ok            528 examples of 0 to 130 and 1000 tokens",
        "\n  labels          ok            1 of 1 are used",
        "\n  deterministic   ok            ",
        "\n  by length       ok            ",
        "\n  duplicates      ok            no parallel edges",
        "\n  causal          ok            ",
        "\n  prefix-stable   ok            ",
        "\n  one length      not promised  every length works",
        "\n  growth          ok            linear: 65536, 131072, 262144 edges",
        "\n  longest path    ok            0 edges between tokens",
        "\n  isolated nodes  ok            none"
    };
    for (int i = 0; i < GSA_COUNT(lines); i++)
        ck_assert_msg(strstr(ran.out, lines[i]), "no line '%s' in %s", lines[i], ran.out);
}
END_TEST

START_TEST(a_broken_promise_comes_with_its_counterexample)
{
    gsa_cli_enter();
    check(path_of("GSA_TEST_BROKEN", "future"), 0);
    ck_assert_int_eq(ran.code, 1);
    ck_assert_ptr_nonnull(strstr(ran.err, "'broken' fails the check: causal, prefix-stable\n"));
    ck_assert_ptr_nonnull(strstr(
        ran.out, "FAILED        token 0 knows token 1 at length 2, after phase 'read' of layer 1"));
    ck_assert_ptr_nonnull(strstr(
        ran.out, "FAILED        token 0 is made of other things at length 2 than at length 1"));
    check(path_of("GSA_TEST_BROKEN", "beyond"), 0);
    ck_assert_ptr_nonnull(strstr(
        ran.out,
        "topology 'broken', length 1: phase 'read', 1 edges from token 1 step 1 to token 0"));
    ck_assert_ptr_nonnull(strstr(ran.out, "causal          not checked   needs a valid pattern"));
}
END_TEST

/* What a plugin prints is not taken for the check's own words. */
START_TEST(a_plugin_that_prints_is_told)
{
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "check", path_of("GSA_TEST_BROKEN", "prints"), PATIENT), NULL,
                &ran);
    ck_assert_int_eq(ran.code, 1);
    ck_assert_ptr_null(strstr(ran.out, "done"));
    ck_assert_ptr_nonnull(strstr(ran.out, "isolated nodes"));
}
END_TEST

/* Standard error is a file here, which the checked process must not write: it comes through this
 * one. */
START_TEST(what_a_plugin_prints_is_shown_when_it_is_asked_for)
{
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "check", path_of("GSA_TEST_BROKEN", "speaks"), PATIENT), NULL,
                &ran);
    ck_assert_int_eq(ran.code, 0);
    ck_assert_str_eq(ran.err, "");
    gsa_cli_run(
        ARGS("topology", "check", path_of("GSA_TEST_BROKEN", "speaks"), PATIENT, "--verbose"), NULL,
        &ran);
    ck_assert_int_eq(ran.code, 0);
    ck_assert_ptr_eq(strstr(ran.err, "a word of the plugin\n"), ran.err);
    check(path_of("GSA_TEST_BROKEN", "speaks_and_crashes"), 0);
    ck_assert_msg(strstr(ran.err, "--verbose shows them") != NULL, "%s", ran.err);
}
END_TEST

START_TEST(a_thread_that_is_left_behind_is_found)
{
    gsa_cli_enter();
    check(path_of("GSA_TEST_BROKEN", "leaves_thread"), 0);
    ck_assert_int_eq(ran.code, 1);
    ck_assert_ptr_nonnull(strstr(ran.out, "isolated nodes"));
    ck_assert_msg(strstr(ran.err, "'broken' leaves 1 thread running") != NULL, "%s", ran.err);
}
END_TEST

static const struct {
    const char *spec, *file, *tokens; /* what --text is given: NULL: nothing; how it is cut */
    int code;
    const char *sentence; /* on stdout where code is 0 */
} texts[] = {
    { "char_word:local=0", "some (nested [text])\n\nand more\n", "words", 2, "it reads no text" },
    { "char_word:lexicon=words.txt", "\xe4\xb8\xad\xe6\x96\x87 ab\n\nsome more\n", "chars", 0,
      "2 texts given among them" },
    { "char_word:lexicon=words.txt", "one\ntw\xff", "words", 2, "--text, line 2, is not UTF-8" },
    { "char_word:lexicon=words.txt", " \n\n", "words", 2, "has no line with a token" },
    { "char_word:lexicon=words.txt", NULL, "words", 1, "absent.txt" },
    { "mine.so", "a b\n", "words", 2, "plugin 'mine.so': the path has no slash" },
    { "mine.so:k=3", "a b\n", "words", 2, "plugin 'mine.so': the path has no slash" },
};

START_TEST(the_texts_of_a_file_are_tried)
{
    gsa_cli_enter();
    gsa_cli_write("words.txt", "ab\nsome\n");
    if (texts[_i].file) gsa_cli_write("texts.txt", texts[_i].file);
    gsa_cli_run(ARGS("topology", "check", texts[_i].spec, PATIENT, "--text",
                     texts[_i].file ? "texts.txt" : "absent.txt", "--tokens", texts[_i].tokens),
                NULL, &ran);
    ck_assert_msg(ran.code == texts[_i].code, "code %d: %s%s", ran.code, ran.out, ran.err);
    ck_assert_msg(strstr(ran.code ? ran.err : ran.out, texts[_i].sentence) != NULL, "%s%s", ran.out,
                  ran.err);
}
END_TEST

static const struct {
    const char *what, *plugin; /* plugin: NULL, or the name given to --plugin */
    int code;
    const char *out;
} asked[] = {
    { "star", NULL, 0, "longest path    ok            2 edges between tokens" },
    { "full:causal=1:clip=3", NULL, 0, "prefix-stable   ok" },
    { "logsparse:near=3:causal=0", "logsparse", 0, "growth          ok            n log n" },
    { "broken:unused=3", "nothing_wrong", 0, "broken:unused=3\n" },
};

START_TEST(specs_and_settings)
{
    gsa_cli_enter();
    const char *folder = asked[_i].plugin && strcmp(asked[_i].plugin, "logsparse") == 0
                             ? "GSA_TEST_PLUGINS"
                             : "GSA_TEST_BROKEN";
    gsa_cli_run(asked[_i].plugin ? ARGS("topology", "check", asked[_i].what, PATIENT, "--plugin",
                                        path_of(folder, asked[_i].plugin))
                                 : ARGS("topology", "check", asked[_i].what, PATIENT),
                NULL, &ran);
    ck_assert_msg(ran.code == asked[_i].code && ran.signal == 0, "%s: %s", asked[_i].what, ran.err);
    ck_assert_msg(strstr(ran.out, asked[_i].out) != NULL, "%s: %s", asked[_i].what, ran.out);
}
END_TEST

START_TEST(settings_may_follow_the_file)
{
    char what[5000];
    gsa_cli_enter();
    snprintf(what, sizeof what, "%s:causal=0:near=2", path_of("GSA_TEST_PLUGINS", "logsparse"));
    gsa_cli_run(ARGS("topology", "check", what, PATIENT), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    ck_assert_ptr_eq(strstr(ran.out, "logsparse:causal=0:near=2\n"), ran.out);
}
END_TEST

static const gsa_test verdict_tests[] = { GSA_TEST(a_sound_plugin_passes_with_a_line_a_property),
                                          GSA_TEST(a_broken_promise_comes_with_its_counterexample),
                                          GSA_TEST(a_plugin_that_prints_is_told),
                                          GSA_LOOP(specs_and_settings, GSA_COUNT(asked)),
                                          GSA_TEST(
                                              what_a_plugin_prints_is_shown_when_it_is_asked_for),
                                          GSA_TEST(a_thread_that_is_left_behind_is_found),
                                          GSA_LOOP(the_texts_of_a_file_are_tried, GSA_COUNT(texts)),
                                          GSA_TEST(settings_may_follow_the_file) };

/* ---- crashes: where nothing contains a plugin, one sentence says which function of which topology
 * it was ---- */

static const struct {
    const char *name, *verb, *sentence;
    int signal;
} crashes[] = {
    { "crash", "graph",
      "gsa: topology 'broken' crashed in emit, on an example of 2 tokens that begins with 'two "
      "words' (signal 11",
      11 },
    { "crash", "train", "gsa: topology 'broken' crashed in emit, on example ", 11 },
    { "recurses", "graph", "gsa: topology 'broken' crashed in emit, on an example of 2 tokens",
      11 },
    { "recurses", "train", "gsa: topology 'broken' crashed in emit, on example ", 11 },
    { "aborts", "graph", "gsa: topology 'broken' aborted in emit, on an example of 2 tokens", 6 },
    { "crash_label", "graph", "gsa: topology 'broken' crashed in label (signal 11", 11 },
    { "crash_create", "graph", "gsa: topology 'broken' crashed in create (signal 11", 11 },
    { "crash_describe", "graph", "gsa: topology 'broken' crashed in describe (signal 11", 11 },
    { "crash_destroy", "graph", "gsa: topology 'broken' crashed in destroy (signal 11", 11 },
    { "crash_load", "graph", "/crash_load.so' crashed while it was loaded (signal 11", 11 },
    { "crash_thread", "graph",
      "/crash_thread.so' crashed outside of gsa's calls: in a thread that it started, or at the "
      "end "
      "(signal 11",
      11 },
    { "crash_thread", "train", "/crash_thread.so' crashed outside of gsa's calls", 11 },
    { "abort_thread", "graph", "/abort_thread.so' aborted outside of gsa's calls", 6 },
};

/* The command's own handler is tested, not the sanitizer's. */
#define ASAN_OFF "detect_leaks=0:handle_segv=0:handle_abort=0:use_sigaltstack=0"

static void run_broken(const char *verb, const char *name)
{
    const char *plugin = path_of("GSA_TEST_BROKEN", name);
    setenv("ASAN_OPTIONS", ASAN_OFF, 1);
    if (strcmp(verb, "graph") == 0)
        gsa_cli_run(ARGS("graph", "--topology", "broken", "--plugin", plugin, "--text", "two words",
                         "--out", "x.graphml"),
                    NULL, &ran);
    else
        gsa_cli_run(ARGS("train", "sum.ini", "--set", "model.encoder=broken", "--plugin", plugin,
                         "--quiet"),
                    NULL, &ran);
}

START_TEST(a_crash_is_one_sentence_and_ends_as_ever)
{
    gsa_cli_enter();
    run_broken(crashes[_i].verb, crashes[_i].name);
    ck_assert_msg(ran.signal == crashes[_i].signal, "code %d, signal %d: %s", ran.code, ran.signal,
                  ran.err);
    const char *sentence = strstr(ran.err, crashes[_i].sentence);
    ck_assert_msg(sentence != NULL, "%s", ran.err);
    ck_assert_ptr_nonnull(strstr(sentence, "docs/plugin-trouble.md"));
    ck_assert_ptr_eq(strchr(sentence, '\n'), ran.err + strlen(ran.err) - 1);
}
END_TEST

/* The third line has five tokens; a pattern that reads lengths alone is shown no text. */
START_TEST(a_crash_names_the_number_of_the_example)
{
    static const char lines[] = "a film\nfine\nnot a good film no\nbad\n";
    const char *plugin = path_of("GSA_TEST_BROKEN", "crash_five");
    gsa_cli_enter();
    gsa_cli_write("lines.txt", lines);
    gsa_cli_run(ARGS("train", "text.ini", "--set", "model.encoder=broken", "--plugin", plugin,
                     "--out", "run"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0 && ran.signal == 0, "code %d, signal %d: %s", ran.code, ran.signal,
                  ran.err);
    setenv("ASAN_OPTIONS", ASAN_OFF, 1);
    gsa_cli_run(ARGS("predict", "--model", "run", "--plugin", plugin, "--input", "lines.txt"), NULL,
                &ran);
    ck_assert_msg(ran.signal == 11, "code %d, signal %d: %s", ran.code, ran.signal, ran.err);
    ck_assert_msg(strstr(ran.err, "crashed in emit, on example 3, of 5 tokens (signal 11") != NULL,
                  "%s", ran.err);
}
END_TEST

/* exit(0) in a plugin is no success of the command. */
START_TEST(a_plugin_does_not_end_the_command)
{
    static const struct {
        const char *verb, *name, *says;
    } rows[] = {
        { "train", "leaves", "gsa: topology 'broken' ended the program in emit, on example " },
        { "graph", "leaves", "gsa: topology 'broken' ended the program in emit, on an example" },
    };
    gsa_cli_enter();
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        run_broken(rows[i].verb, rows[i].name);
        ck_assert_msg(ran.code == 1 && ran.signal == 0, "code %d, signal %d: %s", ran.code,
                      ran.signal, ran.err);
        ck_assert_msg(strstr(ran.err, rows[i].says) != NULL, "%s", ran.err);
        ck_assert_ptr_nonnull(strstr(ran.err, "(exit), before the work was done\n"));
        ck_assert_str_eq(ran.out, "");
    }
}
END_TEST

/* The thread runs the plugin's code until the process ends: the code is there as long. */
START_TEST(a_thread_that_is_left_behind_costs_no_result)
{
    gsa_cli_enter();
    run_broken("train", "leaves_thread");
    ck_assert_msg(ran.code == 0 && ran.signal == 0, "code %d, signal %d: %s", ran.code, ran.signal,
                  ran.err);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"test_mse\""));
}
END_TEST

static const gsa_test crash_tests[] = {
    GSA_LOOP(a_crash_is_one_sentence_and_ends_as_ever, GSA_COUNT(crashes)),
    GSA_TEST(a_crash_names_the_number_of_the_example), GSA_TEST(a_plugin_does_not_end_the_command),
    GSA_TEST(a_thread_that_is_left_behind_costs_no_result)
};

/* ---- sanitizers: a plugin that was built with one is checked with it ----------------------- */

#ifdef GSA_PLUGINS_SANITIZED
START_TEST(a_sound_plugin_with_address_sanitizer_passes)
{
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "check", path_of("GSA_TEST_BROKEN", "sound_asan"), PATIENT), NULL,
                &ran);
    ck_assert_msg(ran.code == 0 && ran.signal == 0, "%s%s", ran.out, ran.err);
    ck_assert_ptr_nonnull(strstr(ran.out, "isolated nodes  ok"));
}
END_TEST

START_TEST(what_a_sanitizer_finds_is_the_sentence)
{
    static const struct {
        const char *name, *sentence;
    } found[] = { { "asan", "'broken', in emit, length 3, while 'valid' was checked: "
                            "AddressSanitizer: heap-buffer-overflow" },
                  { "ubsan", "runtime error: signed integer overflow" } };
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "check", path_of("GSA_TEST_BROKEN", found[_i].name), PATIENT),
                NULL, &ran);
    ck_assert_int_eq(ran.code, 1);
    ck_assert_msg(strstr(ran.err, found[_i].sentence) != NULL, "%s", ran.err);
    ck_assert_ptr_null(strstr(ran.err, "    #0 "));
    gsa_cli_run(
        ARGS("topology", "check", path_of("GSA_TEST_BROKEN", found[_i].name), PATIENT, "--verbose"),
        NULL, &ran);
    ck_assert_ptr_nonnull(strstr(ran.err, _i == 0 ? "    #0 " : "runtime error: "));
}
END_TEST

static const gsa_test sanitizer_tests[] = { GSA_TEST(a_sound_plugin_with_address_sanitizer_passes),
                                            GSA_LOOP(what_a_sanitizer_finds_is_the_sentence, 2) };
#endif

/* ---- new ----------------------------------------------------------------------------------- */

static void run_shell(const char *command)
{
    const int status = system(command);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d", command, status);
}

START_TEST(the_copy_is_the_template_with_another_name)
{
    static const char *const files[][2] = { { "mine/mine.c", "logsparse.c" },
                                            { "mine/CMakeLists.txt", "CMakeLists.txt" },
                                            { "mine/README.md", "README.md" } };
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "new", "mine"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    for (int i = 0; i < GSA_COUNT(files); i++) {
        char command[4096];
        snprintf(command, sizeof command,
                 "sed 's/logsparse/mine/g' '%s/topologies/template/%s' | cmp - %s", GSA_SOURCE,
                 files[i][1], files[i][0]);
        run_shell(command);
    }
}
END_TEST

START_TEST(the_copy_compiles_and_passes_its_check)
{
    char command[4096];
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "new", "far_back", "--out", "some/where/new"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    snprintf(command, sizeof command,
             "'%s' -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -I '%s/include' "
             "some/where/new/far_back.c -o "
             "far_back.so",
             GSA_CC, GSA_BUILD);
    run_shell(command);
    gsa_cli_run(ARGS("topology", "check", "./far_back.so", PATIENT), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s%s", ran.out, ran.err);
    ck_assert_ptr_eq(strstr(ran.out, "far_back\n"), ran.out);
}
END_TEST

/* The same pattern in C++17: the same edges, names and places. */
START_TEST(the_copy_in_cpp_compiles_and_is_the_same_pattern)
{
    char command[4096];
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "new", "mine", "--language", "c"), NULL, &ran);
    gsa_cli_run(ARGS("topology", "new", "mine", "--language", "c++", "--out", "other"), NULL, &ran);
    ck_assert_msg(ran.code == 0 && strstr(ran.out, "other/mine.cpp, CMakeLists.txt"), "%s%s",
                  ran.out, ran.err);
    ck_assert(!gsa_cli_exists("other/mine.c") && !gsa_cli_exists("mine/mine.cpp"));
    snprintf(command, sizeof command,
             "'%s' -std=c11 -O2 -shared -fPIC -I '%s/include' mine/mine.c -o c.so && '%s' "
             "-std=c++17 -O2 -Wall -Wextra "
             "-Wpedantic -Werror -shared -fPIC -I '%s/include' other/mine.cpp -o cpp.so",
             GSA_CC, GSA_BUILD, GSA_CXX, GSA_BUILD);
    run_shell(command);
    gsa_cli_run(ARGS("topology", "check", "./cpp.so", PATIENT), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s%s", ran.out, ran.err);
    for (int i = 0; i < 2; i++)
        gsa_cli_run(ARGS("graph", "--plugin", i ? "./cpp.so" : "./c.so", "--topology",
                         "mine:near=2:causal=0:labels=1", "--length", "21", "--out",
                         i ? "cpp.graphml" : "c.graphml"),
                    NULL, &ran);
    run_shell("cmp c.graphml cpp.graphml");
}
END_TEST

static const struct {
    const char *name, *folder;
    int code;
    const char *sentence;
} refused[] = {
    { "Mine", NULL, 2, "the name is 'Mine', expected [a-z][a-z0-9_]*" },
    { "", NULL, 2, "the name is '', expected" },
    { "../mine", NULL, 2, "expected [a-z][a-z0-9_]*" },
    { "mine.c", NULL, 2, "expected [a-z][a-z0-9_]*" },
    { "a123456789b123456789c123456789d123456789e123456789f123456789g123", NULL, 2,
      "of at most 63 bytes" },
    { "star", NULL, 2, "there is a topology of that id" },
    { "bpt", NULL, 2, "there is a topology of that id" },
    { "test", NULL, 2, "'test', which CMake keeps for itself" },
    { "rebuild_cache", NULL, 2, "'rebuild_cache', which CMake keeps for itself" },
    { "mine", "folder.dot", 2, "'folder.dot' is there already" },
    { "mine", "sum.ini", 2, "'sum.ini' is there already" },
    { "mine", "sum.ini/below", 1, "sum.ini" },
    { "mine", "/dev/null", 2, "'/dev/null' is there already" },
};

START_TEST(new_refuses_and_leaves_everything_as_it_was)
{
    gsa_cli_enter();
    char *before = gsa_cli_listing();
    const char *folder = refused[_i].folder;
    gsa_cli_run(folder ? ARGS("topology", "new", refused[_i].name, "--out", folder)
                       : ARGS("topology", "new", refused[_i].name),
                NULL, &ran);
    char *after = gsa_cli_listing();
    ck_assert_msg(ran.code == refused[_i].code, "%s: code %d: %s", refused[_i].name, ran.code,
                  ran.err);
    ck_assert_msg(strstr(ran.err, refused[_i].sentence) != NULL, "%s: %s", refused[_i].name,
                  ran.err);
    ck_assert_str_eq(after, before);
    free(before), free(after);
}
END_TEST

START_TEST(a_second_copy_never_overwrites_the_first)
{
    gsa_cli_enter();
    gsa_cli_run(ARGS("topology", "new", "mine"), NULL, &ran);
    gsa_cli_write("mine/mine.c", "my work\n");
    gsa_cli_run(ARGS("topology", "new", "mine"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    char *kept = gsa_cli_read("mine/mine.c");
    ck_assert_str_eq(kept, "my work\n");
    free(kept);
}
END_TEST

static const gsa_test new_tests[] = { GSA_TEST(the_copy_is_the_template_with_another_name),
                                      GSA_TEST(the_copy_compiles_and_passes_its_check),
                                      GSA_TEST(the_copy_in_cpp_compiles_and_is_the_same_pattern),
                                      GSA_LOOP(new_refuses_and_leaves_everything_as_it_was,
                                               GSA_COUNT(refused)),
                                      GSA_TEST(a_second_copy_never_overwrites_the_first) };

/* ---- usage --------------------------------------------------------------------------------- */

static const struct {
    const char *args[6];
    int code;
    const char *sentence;
} wrong[] = {
    { { "topology" }, 2, "'gsa topology' needs new NAME | check" },
    { { "topology", "chek", "star" }, 2, "'gsa topology' is given 'chek', expected new or check" },
    { { "topology", "check" }, 2, "'gsa topology check' needs SPEC or FILE.so" },
    { { "topology", "new" }, 2, "'gsa topology new' needs NAME" },
    { { "topology", "check", "sart" }, 2, "'star'" },
    { { "topology", "check", "star*2" }, 2, "is a stack, expected one topology" },
    { { "topology", "check", "window:width=4" }, 2, "width is 4, expected an odd number" },
    { { "topology", "check", "window:wdth=5" }, 2, "no parameter 'wdth'" },
    { { "topology", "check", "./absent.so" }, 1, "there is no such file" },
    { { "topology", "check", "./sum.ini" }, 1, "it is no shared object that loads" },
    { { "topology", "probe", "star" }, 2, "is run by 'gsa topology check' alone" },
    { { "topology", "again", "star" }, 2, "is run by 'gsa topology check' alone" },
    { { "topology", "check", "star", "--patience", "0" }, 2, "expected an integer from 1 to" },
};

START_TEST(what_is_asked_wrongly_is_said)
{
    gsa_cli_enter();
    gsa_cli_run(ARGS(wrong[_i].args[0], wrong[_i].args[1], wrong[_i].args[2], wrong[_i].args[3],
                     wrong[_i].args[4]),
                NULL, &ran);
    ck_assert_msg(ran.code == wrong[_i].code, "code %d: %s", ran.code, ran.err);
    ck_assert_msg(strstr(ran.err, wrong[_i].sentence) != NULL, "%s", ran.err);
    ck_assert_str_eq(ran.out, "");
}
END_TEST

static const gsa_test usage_tests[] = { GSA_LOOP(what_is_asked_wrongly_is_said, GSA_COUNT(wrong)) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("contained", contained_tests, 60),
                                      GSA_CASE("verdicts", verdict_tests, 120),
                                      GSA_CASE("crashes", crash_tests, 60),
#ifdef GSA_PLUGINS_SANITIZED
                                      GSA_CASE("sanitizers", sanitizer_tests, 120),
#endif
                                      GSA_CASE("new", new_tests, 120),
                                      GSA_CASE("usage", usage_tests, 60) };
    return gsa_run_suite("check", cases, GSA_COUNT(cases), argc, argv);
}
