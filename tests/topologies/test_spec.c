/* The text form of a stack: what it means, and for each way to be wrong the column and what was
 * expected. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/faults.h"
#include "support/suite.h"
#include "topologies/spec.h"

/* One line per spec: "star(ring=0)+full*2!,..." where ! is share. */
static void render(const gsa_stack_spec *spec, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int s = 0; s < spec->n_segments; s++) {
        const gsa_segment_spec *segment = &spec->segments[s];
        for (int p = 0; p < segment->n_parts; p++) {
            const gsa_part_spec *part = &segment->parts[p];
            used += (size_t)snprintf(out + used, size - used, "%s%s(",
                                     p   ? "+"
                                     : s ? ","
                                         : "",
                                     part->id);
            for (int i = 0; i < part->n_settings; i++)
                used += (size_t)snprintf(out + used, size - used, "%s%s=%s", i ? ";" : "",
                                         part->settings[i].key, part->settings[i].value);
            used += (size_t)snprintf(out + used, size - used, ")");
        }
        used += (size_t)snprintf(out + used, size - used, "*%d%s", segment->layers,
                                 segment->share ? "!" : "");
    }
}

static const struct {
    const char *text, *meaning;
} good[] = {
    { "star", "star()*1" },
    { "star*2", "star()*2" },
    { "star*1000", "star()*1000" },
    { "star*01", "star()*1" },
    { "window:width=11*3,full*3", "window(width=11)*3,full()*3" },
    { "bpt:k=4:causal=1+cross*6", "bpt(k=4;causal=1)+cross()*6" },
    { "full:causal", "full(causal=1)*1" },
    { "full:causal:clip=8*2", "full(causal=1;clip=8)*2" },
    { "star:share*4", "star()*4!" },
    { "star:share=1*4", "star()*4!" },
    { "star:share=0*4", "star()*4" },
    { "a+b:share+c:x*3", "a()+b()+c(x=1)*3!" },
    { "a:share,b,c:share=1", "a()*1!,b()*1,c()*1!" },
    { "a:k=-0.5e3:p=./x.txt", "a(k=-0.5e3;p=./x.txt)*1" },
    { "a:k=a=b", "a(k=a=b)*1" },
    { "a:k=\xc3\xa9 b", "a(k=\xc3\xa9 b)*1" },
    { "a:k=1:k=2", "a(k=1;k=2)*1" }, /* twice: the pattern refuses it */
    { "a_1:b_2=c", "a_1(b_2=c)*1" },
    { "a,a,a,a,a", "a()*1,a()*1,a()*1,a()*1,a()*1" },
    { "a+a+a+a+a*5", "a()+a()+a()+a()+a()*5" },
};

START_TEST(good_specs_mean_what_the_table_says)
{
    gsa_stack_spec spec;
    gsa_error error = { 0 };
    char meaning[512];
    ck_assert_msg(gsa_spec_parse(NULL, good[_i].text, &spec, &error) == GSA_OK, "%s: %s",
                  good[_i].text, error.text);
    render(&spec, meaning, sizeof meaning);
    ck_assert_str_eq(meaning, good[_i].meaning);
    ck_assert_str_eq(error.text, "");
    gsa_spec_release(&spec);
    ck_assert_ptr_null(spec.segments);
    gsa_spec_release(&spec);
}
END_TEST

static const char name[] = "a topology's name ([a-z][a-z0-9_]*)",
                  key[] = "a parameter's name ([a-z][a-z0-9_]*)";
static const char layers[] = "a number of layers from 1 to 1000",
                  next[] = "':', '+', '*', ',' or the end";
static const char ended[] = "',' or the end after the layers";
static const struct {
    const char *text;
    int column;
    const char *expected, *found;
} bad[] = {
    { "", 1, name, "the end" },
    { " ", 1, name, "' '" },
    { "Star", 1, name, "'S'" },
    { "1star", 1, name, "'1'" },
    { "_star", 1, name, "'_'" },
    { "2*star", 1, name, "'2'" },
    { ",star", 1, name, "','" },
    { "star,", 6, name, "the end" },
    { "star,,star", 6, name, "','" },
    { "star, full", 6, name, "' '" },
    { "star+", 6, name, "the end" },
    { "star+*2", 6, name, "'*'" },
    { "+star", 1, name, "'+'" },
    { "star full", 5, next, "' '" },
    { "star\t", 5, next, "'\\x09'" },
    { "star=2", 5, next, "'='" },
    { "star-x", 5, next, "'-'" },
    { "st\xc3\xa4r*0", 3, next, "'\xc3\xa4'" },
    { "st\xe4r", 3, next, "'\\xe4'" },
    { "star:", 6, key, "the end" },
    { "star:=1", 6, key, "'='" },
    { "star::ring", 6, key, "':'" },
    { "star:Ring=1", 6, key, "'R'" },
    { "star:ring=", 11, "a value after '='", "the end" },
    { "star:ring=*2", 11, "a value after '='", "'*'" },
    { "star:ring=,full", 11, "a value after '='", "','" },
    { "star:ring 1", 10, next, "' '" },
    { "star*", 6, layers, "the end" },
    { "star*0", 6, layers, "'0'" },
    { "star*1001", 6, layers, "'1001'" },
    { "star*99999999999999999999", 6, layers, "'99999999999999999999'" },
    { "star*10000", 6, layers, "'10000'" },
    { "star*-1", 6, layers, "'-'" },
    { "star*x", 6, layers, "'x'" },
    { "star* 2", 6, layers, "' '" },
    { "star*2.5", 7, ended, "'.'" },
    { "star*2*3", 7, ended, "'*'" },
    { "star*2+full", 7, ended, "'+'" },
    { "star*2:ring=0", 7, ended, "':'" },
    { "star*2;full", 7, ended, "';'" },
    { "star:share=2", 12, "0 or 1 for share", "'2'" },
    { "star:share=yes", 12, "0 or 1 for share", "'y'" },
    { "star:share:share", 12, "share only once in a segment", "'s'" },
    { "a:share=1+b:share=0", 13, "share only once in a segment", "'s'" },
    { "a:share=0+b:share", 13, "share only once in a segment", "'s'" },
    { "star:layers=2", 6, "layers written as *2 at the end of the segment", "'l'" },
    { "star:topology=full", 6, "the topology's name in front, without a key", "'t'" },
    { "\xc3\xa9", 1, name, "'\xc3\xa9'" },
    { "a+\xf0\x9f\x98\x80z", 3, name, "'\xf0\x9f\x98\x80'" },
    { "a:k=\xc3\xa9\xc3\xa9*0", 8, layers, "'0'" }, /* columns are characters */
    { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 64,
      "the end of a name of at most 63 letters", "'b'" },
};

START_TEST(bad_specs_say_where_and_what_was_expected)
{
    gsa_stack_spec spec;
    gsa_error error = { 0 };
    char place[64], expected[128];
    ck_assert_int_eq(gsa_spec_parse(NULL, bad[_i].text, &spec, &error), GSA_ERR_FORMAT);
    ck_assert_int_eq(error.status, GSA_ERR_FORMAT);
    snprintf(place, sizeof place, ", column %d: expected ", bad[_i].column);
    snprintf(expected, sizeof expected, "%s, found %s", bad[_i].expected, bad[_i].found);
    ck_assert_msg(strstr(error.text, place) && strstr(error.text, expected), "%s: %s", bad[_i].text,
                  error.text);
    ck_assert_ptr_null(spec.segments);
    ck_assert_int_eq(gsa_spec_parse(NULL, bad[_i].text, &spec, NULL), GSA_ERR_FORMAT);
}
END_TEST

START_TEST(long_names_and_texts_have_limits)
{
    char text[70000];
    gsa_stack_spec spec;
    gsa_error error;
    memset(text, 'a', sizeof text);
    text[63] = 0;
    ck_assert_int_eq(gsa_spec_parse(NULL, text, &spec, &error), GSA_OK);
    gsa_spec_release(&spec);
    text[63] = 'a', text[64] = 0;
    ck_assert_int_eq(gsa_spec_parse(NULL, text, &spec, &error), GSA_ERR_FORMAT);
    for (int i = 2; i < 65536; i++) text[i] = i % 2 ? 'a' : ',';
    text[65536] = 0;
    ck_assert_int_eq(gsa_spec_parse(NULL, text, &spec, &error), GSA_OK);
    ck_assert_int_eq(spec.n_segments, 32768);
    gsa_spec_release(&spec);
    memset(text, 'a', sizeof text - 1);
    text[65537] = 0;
    ck_assert_int_eq(gsa_spec_parse(NULL, text, &spec, &error), GSA_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "65537 bytes, expected at most 65536"));
    ck_assert_int_eq(gsa_spec_parse(NULL, NULL, &spec, &error), GSA_ERR_ARGUMENT);
}
END_TEST

START_TEST(settings_are_added_and_share_belongs_to_the_segment)
{
    gsa_stack_spec spec;
    gsa_error error = { 0 };
    char meaning[256], value[] = "./words, all: 3*4+5";
    ck_assert_int_eq(gsa_spec_parse(NULL, "a+b:x,c", &spec, &error), GSA_OK);
    ck_assert_int_eq(gsa_spec_set(&spec, 0, 1, "lexicon", value, &error), GSA_OK);
    ck_assert_int_eq(gsa_spec_set(&spec, 0, 1, "lexicon", "again", &error), GSA_OK);
    ck_assert_int_eq(gsa_spec_set(&spec, 1, 0, "share", "1", &error), GSA_OK);
    value[0] = 'X'; /* it was copied */
    render(&spec, meaning, sizeof meaning);
    ck_assert_str_eq(meaning, "a()+b(x=1;lexicon=./words, all: 3*4+5;lexicon=again)*1,c()*1!");
    ck_assert_int_eq(gsa_spec_set(&spec, 1, 0, "share", "0", &error), GSA_OK);
    ck_assert_int_eq(spec.segments[1].share, 0);
    ck_assert_int_eq(gsa_spec_set(&spec, 1, 0, "share", "maybe", &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "'maybe', expected 0 or 1"));
    const int wrong[][2] = { { -1, 0 }, { 2, 0 }, { 0, -1 }, { 0, 2 }, { 1, 1 } };
    for (int i = 0; i < GSA_COUNT(wrong); i++)
        ck_assert_int_eq(gsa_spec_set(&spec, wrong[i][0], wrong[i][1], "k", "v", &error),
                         GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_spec_set(&spec, 0, 0, NULL, "v", &error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_spec_set(&spec, 0, 0, "k", NULL, &error), GSA_ERR_ARGUMENT);
    gsa_spec_release(&spec);
    gsa_stack_spec nothing = { 0 };
    gsa_spec_release(&nothing);
}
END_TEST

/* The grammar as a regular expression, which it is. */
#define NAME    "[a-z][a-z0-9_]*"
#define PART    NAME "(:" NAME "(=[^,+*:]+)?)*"
#define SEGMENT PART "(\\+" PART ")*(\\*0*([1-9][0-9]?[0-9]?|1000))?"

/* Every text of up to six of the grammar's characters is accepted or refused, as the expression
 * says. */
START_TEST(every_short_text_ends_well)
{
    static const char letters[] = "a1:=+*,";
    int accepted = 0, refused = 0;
    regex_t grammar;
    ck_assert_int_eq(regcomp(&grammar, "^" SEGMENT "(," SEGMENT ")*$", REG_EXTENDED | REG_NOSUB),
                     0);
    for (int length = 0; length <= 6; length++) {
        int count = 1;
        for (int i = 0; i < length; i++) count *= (int)sizeof letters - 1;
        for (int n = 0; n < count; n++) {
            char text[8] = "";
            for (int i = 0, rest = n; i < length; i++, rest /= (int)sizeof letters - 1)
                text[i] = letters[rest % ((int)sizeof letters - 1)];
            gsa_stack_spec spec;
            gsa_error error = { 0 };
            const int good_text = gsa_spec_parse(NULL, text, &spec, &error) == GSA_OK;
            if (good_text != (regexec(&grammar, text, 0, NULL, 0) == 0))
                ck_abort_msg("'%s': %s", text, error.text);
            if (!good_text && !strstr(error.text, ": expected "))
                ck_abort_msg("'%s': %s", text, error.text);
            accepted += good_text, refused += !good_text;
            gsa_spec_release(&spec);
        }
    }
    ck_assert_int_gt(accepted, 300);
    ck_assert_int_gt(refused, 100000);
    regfree(&grammar);
}
END_TEST

/* Each allocation in turn fails, once and for ever: the right code, nothing left over, and it
 * works again afterwards. */
static gsa_status parse_and_set(gsa_faults *faults, void *context)
{
    gsa_stack_spec spec;
    gsa_status status = gsa_spec_parse(&faults->table, context, &spec, NULL);
    for (int i = 0; i < 3 && status == GSA_OK; i++)
        status = gsa_spec_set(&spec, 0, 1, "key", "value", NULL);
    gsa_spec_release(&spec);
    return status;
}

START_TEST(memory_may_run_out_anywhere)
{
    char text[] = "a:k=1:l=2:m+b:x=y+c,d:share*2,e";
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, parse_and_set, text), 30);
}
END_TEST

static const gsa_test memory_tests[] = { GSA_TEST(memory_may_run_out_anywhere) };
static const gsa_test good_tests[] = { GSA_LOOP(good_specs_mean_what_the_table_says,
                                                GSA_COUNT(good)) };
static const gsa_test bad_tests[] = { GSA_LOOP(bad_specs_say_where_and_what_was_expected,
                                               GSA_COUNT(bad)),
                                      GSA_TEST(long_names_and_texts_have_limits) };
static const gsa_test set_tests[] = { GSA_TEST(
    settings_are_added_and_share_belongs_to_the_segment) };
static const gsa_test property_tests[] = { GSA_TEST(every_short_text_ends_well) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("good", good_tests, 30),
                                      GSA_CASE("bad", bad_tests, 30),
                                      GSA_CASE("set", set_tests, 30),
                                      GSA_CASE("property", property_tests, 60),
                                      GSA_CASE("memory", memory_tests, 30) };
    return gsa_run_suite("spec", cases, GSA_COUNT(cases), argc, argv);
}
