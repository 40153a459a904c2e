/* Ranks that share a run, as threads of this process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "support/fabric.h"
#include "support/guard.h"
#include "train/decode/generate.h"

/* ---- the calls ----------------------------------------------------------------------------- */

#define JOINED_OF_8 "aababcabcdabcdeabcdefabcdefg"
enum { NUMBERS = 37, PIECES = 8 };
static const int sizes[] = { 2, 4, 8 };

/* Of such sizes that another order of additions has other bits. */
static float leaf(int piece, int i)
{
    return ldexpf(1 + (float)((piece * 31 + i * 7) % 13) / 8, (piece * 5 + i) % 24);
}

static float tree_of(int first, int count, int i)
{
    return count == 1 ? leaf(first, i)
                      : tree_of(first, count / 2, i) + tree_of(first + count / 2, count / 2, i);
}

typedef struct calls {
    fabric_rank *place;
    int real_bytes;
    float sum[NUMBERS];
    double wide[NUMBERS];
    uint8_t merged[NUMBERS];
    char all[FABRIC_RANKS * 8], joined[64];
    int64_t told[FABRIC_RANKS * GSA_GROUP_NUMBERS];
    gsa_status status[6];
    gsa_error error;
} calls;

/* In parts of `part` numbers, each looked at until it is there. */
static gsa_status sum(gsa_group *g, void *at, int64_t part, int64_t real_bytes, gsa_error *error)
{
    double room[NUMBERS];
    gsa_status status = GSA_OK;
    for (int64_t from = 0; from < NUMBERS && status == GSA_OK; from += part) {
        int done = 0;
        gsa_group_adding a = { .at = (char *)at + from * real_bytes,
                               .room = (char *)room,
                               .count = NUMBERS - from < part ? NUMBERS - from : part,
                               .real_bytes = real_bytes };
        status = gsa_group_add(g, &a, error);
        while (status == GSA_OK && !done)
            status = gsa_group_advance(g, &a, part == NUMBERS, &done, error);
    }
    return status;
}

static void *call_all(void *argument)
{
    calls *c = argument;
    gsa_group *g = &c->place->group;
    char own[8] = "";
    const int share = PIECES / g->ranks;
    const int64_t numbers[GSA_GROUP_NUMBERS] = { g->rank, -g->rank, 1 };
    for (int i = 0; i < NUMBERS; i++) {
        c->sum[i] = tree_of(g->rank * share, share, i), c->wide[i] = (double)c->sum[i];
        c->merged[i] = i % g->ranks == g->rank ? (uint8_t)(i + 1) : 0;
    }
    memcpy(own, "abcdefg", (size_t)g->rank);
    c->status[0] = sum(g, c->sum, 5, 4, &c->error);
    c->status[1] = sum(g, c->wide, NUMBERS, 8, &c->error);
    c->status[2] = gsa_group_merge(g, GSA_OK, c->merged, NUMBERS, &c->error);
    c->status[3] = gsa_group_gather(g, GSA_OK, own, 8, c->all, &c->error);
    c->status[4] = gsa_group_tell(g, GSA_OK, numbers, c->told, &c->error);
    const void *all;
    int64_t bytes;
    c->status[5] = gsa_group_join(g, GSA_OK, own, g->rank, &all, &bytes, &c->error);
    memcpy(c->joined, all, (size_t)bytes);
    return NULL;
}

START_TEST(every_rank_has_the_same)
{
    const int ranks = sizes[_i];
    fabric_rank at[FABRIC_RANKS];
    calls c[FABRIC_RANKS] = { 0 };
    void *argument[FABRIC_RANKS] = { 0 };
    for (int r = 0; r < ranks; r++) c[r].place = &at[r], argument[r] = &c[r];
    fabric_run(ranks, at, call_all, argument);
    for (int r = 0; r < ranks; r++) {
        for (int k = 0; k < 6; k++) ck_assert_int_eq(c[r].status[k], GSA_OK);
        ck_assert_str_eq(c[r].joined, ranks == 2 ? "a" : ranks == 4 ? "aababc" : JOINED_OF_8);
        for (int i = 0; i < NUMBERS; i++) {
            ck_assert(c[r].sum[i] == tree_of(0, PIECES, i));
            ck_assert(c[r].wide[i] == c[0].wide[i]);
            ck_assert_int_eq(c[r].merged[i], i + 1);
        }
        for (int k = 0; k < ranks; k++) {
            ck_assert_int_eq(strncmp(c[r].all + 8 * k, "abcdefgh", (size_t)k), 0);
            ck_assert_int_eq(strlen(c[r].all + 8 * k), k);
            ck_assert_int_eq(c[r].told[k * GSA_GROUP_NUMBERS + 1], -k);
        }
    }
}
END_TEST

/* ---- a trade during other calls ------------------------------------------------------------ */

/* Rank a gives rank b so many bytes, each of them its own number; none to itself. */
static int64_t given(int a, int b)
{
    return a == b || (a + b) % 3 == 0 ? 0 : 1000 * a + 7 * b + 1;
}

static char byte_of(int a, int b, int64_t i)
{
    return (char)(a * 31 + b * 7 + (int)(i % 101));
}

typedef struct trading {
    fabric_rank *place;
    int round, fails; /* fails: at its begin, 1 + the rank */
    gsa_status status[4];
    gsa_error error;
} trading;

static void *trade_once(void *argument)
{
    trading *t = argument;
    gsa_group *g = &t->place->group;
    int64_t out[FABRIC_RANKS], in[FABRIC_RANKS];
    char own = (char)g->rank, all[FABRIC_RANKS];
    for (int r = 0; r < g->ranks; r++) out[r] = given(g->rank, r), in[r] = given(r, g->rank);
    t->status[0] = gsa_group_room(g, out, in, &t->error);
    for (int r = 0; r < g->ranks; r++)
        for (int64_t i = 0; i < out[r]; i++) gsa_group_outbox(g, r)[i] = byte_of(g->rank, r, i);
    if (t->fails == g->rank + 1) t->status[0] = gsa_fail(&t->error, GSA_ERR_FORMAT, "a bad row");
    t->status[1] = gsa_group_begin(g, t->status[0], &t->error);
    for (int i = 0; i < t->round && t->status[1] == GSA_OK; i++)
        t->status[1] = gsa_group_go_on(g, 0, &t->error);
    t->status[2] = t->status[1];
    if (t->round % 2) t->status[2] = gsa_group_gather(g, t->status[1], &own, 1, all, &t->error);
    else if (t->status[1] == GSA_OK) t->status[2] = gsa_group_go_on(g, 1, &t->error);
    for (int r = 0; r < g->ranks && !t->fails; r++)
        for (int64_t i = 0; i < in[r]; i++)
            ck_assert_int_eq(gsa_group_inbox(g, r)[i], byte_of(r, g->rank, i));
    t->status[3] = gsa_group_tell(g, t->status[2], NULL, NULL, &t->error);
    return NULL;
}

static void trade(int ranks, int round, int fails, trading *t)
{
    fabric_rank at[FABRIC_RANKS];
    void *argument[FABRIC_RANKS] = { 0 };
    for (int r = 0; r < ranks; r++)
        t[r] = (trading){ .place = &at[r], .round = round, .fails = fails }, argument[r] = &t[r];
    fabric_run(ranks, at, trade_once, argument);
}

/* Looked at a few times, then waited for; or ended by the next call. */
START_TEST(bytes_are_traded_during_other_calls)
{
    trading t[FABRIC_RANKS];
    for (int round = 0; round < 6; round++) {
        trade(sizes[_i], round, 0, t);
        for (int r = 0; r < sizes[_i]; r++)
            for (int k = 0; k < 4; k++) ck_assert_int_eq(t[r].status[k], GSA_OK);
    }
}
END_TEST

START_TEST(a_failure_at_a_trade_is_every_ranks)
{
    trading t[FABRIC_RANKS];
    char sentence[64];
    snprintf(sentence, sizeof sentence, "rank 1 of %d: a bad row", sizes[_i]);
    for (int round = 0; round < 3; round++) {
        trade(sizes[_i], round, 2, t);
        for (int r = 0; r < sizes[_i]; r++) {
            ck_assert_int_eq(t[r].status[3], GSA_ERR_FORMAT);
            ck_assert_str_eq(t[r].error.text, sentence);
        }
    }
}
END_TEST

typedef struct failing {
    fabric_rank *place;
    int fails;
    gsa_status status;
    gsa_error error;
} failing;

static void *fail_some(void *argument)
{
    failing *f = argument;
    uint8_t bytes[16] = { 0 };
    gsa_status status =
        f->fails ? gsa_fail(&f->error, GSA_ERR_IO, "disk %d is full", f->place->group.rank)
                 : GSA_OK;
    status = gsa_group_merge(&f->place->group, status, bytes, sizeof bytes, &f->error);
    f->status = gsa_group_tell(&f->place->group, status, NULL, NULL, &f->error); /* sends nothing */
    return NULL;
}

START_TEST(a_failure_is_every_ranks)
{
    const int ranks = 4;
    for (int mask = 1; mask < 16; mask++) {
        fabric_rank at[FABRIC_RANKS];
        failing f[FABRIC_RANKS] = { 0 };
        void *argument[FABRIC_RANKS] = { 0 };
        int first = 0;
        char wanted[64];
        while (!(mask >> first & 1)) first++;
        for (int r = 0; r < ranks; r++)
            f[r] = (failing){ .place = &at[r], .fails = mask >> r & 1 }, argument[r] = &f[r];
        fabric_run(ranks, at, fail_some, argument);
        for (int r = 0; r < ranks; r++) {
            ck_assert_int_eq(f[r].status, GSA_ERR_IO);
            ck_assert_int_eq(at[r].group.blamed, mask != 15);
            if (mask == 15) snprintf(wanted, sizeof wanted, "disk %d is full", r);
            else snprintf(wanted, sizeof wanted, "rank %d of 4: disk %d is full", first, first);
            ck_assert_str_eq(f[r].error.text, wanted);
        }
    }
}
END_TEST

/* ---- runs ---------------------------------------------------------------------------------- */

static const char *const recipes[] = { rig_summation, rig_text, rig_pairs, rig_language };

typedef struct rank {
    fabric_rank *place;
    rig rig;
    const char *name;
    int resumes;
    int64_t early;        /* sums that began while backward ran */
    double told, tensors; /* bytes of a step, as they were told and as they were */
    gsa_status status;
} rank;

static void *train(void *argument)
{
    rank *k = argument;
    k->rig.group = &k->place->group;
    k->status = k->resumes ? rig_resume(&k->rig, k->name) : rig_train(&k->rig, k->name);
    k->early = k->place->group.early;
    k->tensors = rig_number(&k->rig, "tape_bytes");
    const char *told = strstr(k->rig.messages, "a rank's step needs ");
    if (told) k->told = 1e6 * strtod(told + strlen("a rank's step needs "), NULL);
    k->status = gsa_group_tell(k->rig.group, k->status, NULL, NULL, &k->rig.error); /* the command's
                                                                                      last call */
    return NULL;
}

/* The run of `r` on so many ranks, each with a backend of its own. */
static void on(rig *r, int ranks, const char *name, int resumes, rank *each)
{
    fabric_rank at[FABRIC_RANKS];
    void *argument[FABRIC_RANKS] = { 0 };
    for (int k = 0; k < ranks; k++) {
        each[k] = (rank){ .place = &at[k], .rig = *r, .name = name, .resumes = resumes };
        each[k].rig.result = NULL, argument[k] = &each[k];
        ck_assert_int_eq(gsa_test_backend(gsa_system_default(), r->backend->real, 1,
                                          &each[k].rig.backend, &r->error),
                         GSA_OK);
    }
    fabric_run(ranks, at, train, argument);
    for (int k = 0; k < ranks; k++) {
        gsa_backend_release(each[k].rig.backend);
        gsa_release(gsa_system_default(), each[k].rig.result);
    }
}

START_TEST(ranks_do_not_change_bits)
{
    rig r;
    rank each[FABRIC_RANKS];
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_set(&r, "train.pieces=8");
    rig_train_ok(&r, "alone");
    for (int s = 0; s < 3; s++) {
        char name[16];
        snprintf(name, sizeof name, "on-%d", sizes[s]);
        on(&r, sizes[s], name, 0, each);
        for (int k = 0; k < sizes[s]; k++)
            ck_assert_msg(each[k].status == GSA_OK, "%s", each[k].rig.error.text);
        ck_assert_int_eq(rig_differ(&r, "alone", name), 0);
        for (int k = 0; k < sizes[s]; k++) ck_assert_int_gt(each[k].early, 0);
    }
    /* stopped on two ranks, goes on with eight, then alone */
    r.stop_at = 4;
    on(&r, 2, "cut", 0, each);
    for (int k = 0; k < 2; k++) ck_assert_int_eq(each[k].status, GSA_ERR_INTERRUPTED);
    r.stop_at = 7;
    on(&r, 8, "cut", 1, each);
    ck_assert_int_eq(each[7].status, GSA_ERR_INTERRUPTED);
    r.stop_at = 0;
    ck_assert_msg(rig_resume(&r, "cut") == GSA_OK, "%s", r.error.text);
    ck_assert_int_eq(rig_differ(&r, "alone", "cut"), 0);
    rig_close(&r);
}
END_TEST

/* Rank 1 has no memory at one moment after the other, in its backward pass too, when buckets are on
 * their way: both ranks end with its sentence, and none waits for ever. */
START_TEST(a_rank_without_memory_ends_both)
{
    rig r;
    rank each[FABRIC_RANKS];
    fabric_rank at[FABRIC_RANKS];
    void *argument[FABRIC_RANKS] = { 0 };
    int early = 0, failed = 1;
    rig_open(&r, recipes[0], GSA_F32, 1);
    rig_set(&r, "train.max_steps=2");
    if (_i == 1) rig_set(&r, "train.split=rows");
    for (int64_t n = 1; failed; n += 1 + n / 8) {
        gsa_faults faults;
        gsa_faults_start(&faults);
        faults.fail[GSA_OP_ALLOC] = n;
        for (int k = 0; k < 2; k++) {
            each[k] = (rank){ .place = &at[k], .rig = r };
            argument[k] = &each[k];
            ck_assert_int_eq(
                gsa_test_backend(gsa_system_default(), GSA_F32, 1, &each[k].rig.backend, &r.error),
                GSA_OK);
        }
        each[1].rig.system = &faults.table;
        fabric_run(2, at, train, argument);
        failed = each[1].status != GSA_OK;
        ck_assert_int_eq(each[0].status, each[1].status);
        if (failed) ck_assert_int_eq(strncmp(each[0].rig.error.text, "rank 1 of 2: ", 13), 0);
        early += failed && each[0].early > 0;
        for (int k = 0; k < 2; k++) {
            gsa_release(each[k].rig.system ? &faults.table : gsa_system_default(),
                        each[k].rig.result);
            gsa_backend_release(each[k].rig.backend);
        }
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    ck_assert_int_gt(early, 0);
    rig_close(&r);
}
END_TEST

/* data.stream: a batch is of one block, which each rank reads. */
START_TEST(ranks_share_a_stream)
{
    rig r;
    rank each[FABRIC_RANKS];
    rig_open(&r, recipes[1 + _i], GSA_F32, 1);
    rig_set(&r, "train.pieces=8");
    rig_set(&r, "data.stream=100");
    rig_train_ok(&r, "alone");
    for (int s = 0; s < 2; s++) {
        char name[16];
        snprintf(name, sizeof name, "on-%d", sizes[s]);
        on(&r, sizes[s], name, 0, each);
        ck_assert_msg(each[0].status == GSA_OK, "%s", each[0].rig.error.text);
        ck_assert_int_eq(rig_differ(&r, "alone", name), 0);
    }
    rig_close(&r);
}
END_TEST

/* The largest difference of two runs' weights, which are doubles. */
static double apart(const rig *r, const char *a, const char *b)
{
    int64_t bytes, others;
    char *one = rig_checkpoint_file(r, a, "model.safetensors", &bytes),
         *two = rig_checkpoint_file(r, b, "model.safetensors", &others);
    uint64_t header;
    double most = 0, x, y;
    ck_assert_int_eq(bytes, others);
    memcpy(&header, one, sizeof header);
    for (int64_t i = 8 + (int64_t)header; i + 8 <= bytes; i += 8) {
        memcpy(&x, one + i, sizeof x), memcpy(&y, two + i, sizeof y);
        if (!(fabs(x - y) <= most)) most = fabs(x - y);
    }
    free(one), free(two);
    return most;
}

/* Each step on all ranks, each with its rows; the recipe's dropout everywhere. */
START_TEST(ranks_share_rows)
{
    rig r;
    rank each[FABRIC_RANKS];
    rig_open(&r, recipes[_i], GSA_F64, 1);
    rig_set(&r, "train.split=rows");
    rig_set(&r, "train.memory=1000000000000");
    rig_train_ok(&r, "alone");
    ck_assert_ptr_nonnull(strstr(r.messages, "train.split = rows changes nothing on one process"));
    for (int s = 0; s < 2; s++) {
        char name[16];
        snprintf(name, sizeof name, "on-%d", sizes[s]);
        on(&r, sizes[s], name, 0, each);
        for (int k = 0; k < sizes[s]; k++) {
            const char *why = each[k].rig.error.text;
            if (recipes[_i] == rig_pairs)
                ck_assert_msg(strstr(why, "train.split = rows: task sentence_pairs does not"), "%s",
                              why);
            else ck_assert_msg(each[k].status == GSA_OK, "%s", why);
        }
        if (recipes[_i] == rig_pairs) continue;
        ck_assert_double_le(apart(&r, "alone", name), 1e-9);
        double most = 0; /* the largest need of a rank, which every rank reports */
        for (int k = 0; k < sizes[s]; k++) most = fmax(most, each[k].tensors);
        for (int k = 0; k < sizes[s]; k++) ck_assert_double_eq_tol(each[k].told, most, 0.2 * most);
    }
    if (recipes[_i] == rig_pairs) ck_assert_int_eq(each[0].status, GSA_ERR_UNSUPPORTED);
    rig_close(&r);
}
END_TEST

/* ---- what is written ----------------------------------------------------------------------- */

typedef struct writer {
    fabric_rank *place; /* NULL: alone */
    gsa_apply_options apply;
    int generates;
    gsa_status status;
    gsa_error error;
} writer;

static void *write_text(void *argument)
{
    writer *w = argument;
    const gsa_generate_options how = {
        .tokens = 5, .count = 2, .seed = 3, .echo = 1, .sampling = { .temperature = 1, .top_p = 1 }
    };
    w->apply.group = w->place ? &w->place->group : NULL;
    w->status = w->generates ? gsa_generate(NULL, &w->apply, &how, &w->error)
                             : gsa_predict(NULL, &w->apply, &w->error);
    return NULL;
}

/* The text of so many ranks; the error is rank 0's. */
static gsa_status written_by(rig *r, const writer *what, int ranks, const char *output,
                             gsa_error *error)
{
    writer each[FABRIC_RANKS];
    fabric_rank at[FABRIC_RANKS];
    void *argument[FABRIC_RANKS] = { 0 };
    for (int k = 0; k < ranks; k++) {
        each[k] = *what, each[k].place = ranks > 1 ? &at[k] : NULL, argument[k] = &each[k];
        each[k].apply.output = output;
        ck_assert_int_eq(gsa_test_backend(gsa_system_default(), r->backend->real, 1,
                                          &each[k].apply.backend, &r->error),
                         GSA_OK);
    }
    if (ranks > 1) fabric_run(ranks, at, write_text, argument);
    else write_text(argument[0]);
    for (int k = 0; k < ranks; k++) gsa_backend_release(each[k].apply.backend);
    *error = each[0].error;
    return each[0].status;
}

START_TEST(ranks_write_one_text)
{
    rig r;
    char input[256], model[256], path[256];
    char *text, *alone = NULL;
    int64_t bytes, alone_bytes = 0;
    gsa_error error = { 0 };
    rig_open(&r, _i ? rig_language : rig_text, GSA_F32, 1);
    rig_set(&r, "train.batch=2");
    rig_train_ok(&r, "run");
    snprintf(input, sizeof input, "%s", gsa_scratch_path(&r.scratch, "input"));
    snprintf(model, sizeof model, "%s", gsa_scratch_path(&r.scratch, "run"));
    static const char lines[] = "a b\nb\nc a b\nb c\na\nb b b\nc\na c\nc c\nb a\na a\n";
    gsa_put_file(input, lines, sizeof lines - 1);
    const writer what = { .apply = { .model = model, .input = input, .all_labels = !_i },
                          .generates = _i };
    for (int ranks = 1; ranks <= FABRIC_RANKS; ranks *= 2) {
        snprintf(path, sizeof path, "%s", gsa_scratch_path(&r.scratch, "text-%d", ranks));
        ck_assert_msg(written_by(&r, &what, ranks, path, &error) == GSA_OK, "%s", error.text);
        text = gsa_get_file(path, &bytes);
        if (ranks == 1) alone = text, alone_bytes = bytes;
        ck_assert_int_gt(bytes, 11);
        ck_assert_int_eq(bytes, alone_bytes);
        ck_assert_int_eq(memcmp(text, alone, (size_t)bytes), 0);
        if (ranks > 1) free(text);
    }
    free(alone);
    ck_assert_int_eq(gsa_count_entries(r.scratch.folder, ".tmp-gsa"), 0);
    ck_assert_int_eq(written_by(&r, &what, 2, "/dev/full", &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "'/dev/full' cannot be written"));
    rig_close(&r);
}
END_TEST

START_TEST(ranks_that_differ_are_refused)
{
    rig r;
    rank each[FABRIC_RANKS];
    fabric_rank at[FABRIC_RANKS];
    void *argument[FABRIC_RANKS] = { 0 };
    rig_open(&r, rig_text, GSA_F32, 1);
    for (int k = 0; k < 2; k++) {
        each[k] = (rank){ .place = &at[k], .rig = r, .name = "differ" };
        argument[k] = &each[k];
        ck_assert_int_eq(
            gsa_test_backend(gsa_system_default(), GSA_F32, 1, &each[k].rig.backend, &r.error),
            GSA_OK);
    }
    if (_i == 0) rig_set(&each[1].rig, "train.lr=0.02");
    if (_i == 1) each[1].rig.data[0] = "other.tsv";
    if (_i == 2) rig_set(&each[0].rig, "train.lr=0.01"), rig_set(&each[1].rig, "train.lr=a");
    fabric_run(2, at, train, argument);
    static const char *const wanted[] = { "rank 1 of 2 has another recipe than rank 0",
                                          "rank 1 of 2: ", "rank 1 of 2: " };
    for (int k = 0; k < 2; k++) {
        ck_assert_int_ne(each[k].status, GSA_OK);
        ck_assert_msg(strstr(each[k].rig.error.text, wanted[_i]) == each[k].rig.error.text, "%s",
                      each[k].rig.error.text);
        ck_assert_int_eq(at[k].group.blamed, 1);
        gsa_backend_release(each[k].rig.backend);
    }
    ck_assert_int_eq(gsa_system_default()->kind(NULL, gsa_scratch_path(&r.scratch, "differ"), NULL),
                     GSA_FILE_ABSENT);
    rig_close(&r);
}
END_TEST

START_TEST(pieces_that_ranks_cannot_share_are_refused)
{
    rig r;
    rank each[FABRIC_RANKS];
    rig_open(&r, rig_summation, GSA_F32, 1);
    rig_set(&r, "train.pieces=2");
    on(&r, 4, NULL, 0, each);
    for (int k = 0; k < 4; k++) {
        ck_assert_int_eq(each[k].status, GSA_ERR_FORMAT);
        ck_assert_ptr_nonnull(strstr(each[k].rig.error.text, "= 2 cannot be shared by 4 ranks"));
    }
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test group_calls[] = { GSA_LOOP(every_rank_has_the_same, 3),
                                            GSA_TEST(a_failure_is_every_ranks),
                                            GSA_LOOP(bytes_are_traded_during_other_calls, 3),
                                            GSA_LOOP(a_failure_at_a_trade_is_every_ranks, 3) };
    static const gsa_test runs[] = { GSA_LOOP(ranks_do_not_change_bits, GSA_COUNT(recipes)),
                                     GSA_LOOP(a_rank_without_memory_ends_both, 2),
                                     GSA_LOOP(ranks_share_a_stream, 3),
                                     GSA_LOOP(ranks_share_rows, GSA_COUNT(recipes)),
                                     GSA_LOOP(ranks_write_one_text, 2),
                                     GSA_LOOP(ranks_that_differ_are_refused, 3),
                                     GSA_TEST(pieces_that_ranks_cannot_share_are_refused) };
    static const gsa_case cases[] = { GSA_CASE("calls", group_calls, 60),
                                      GSA_CASE("runs", runs, 60) };
    return gsa_run_suite("group", cases, GSA_COUNT(cases), argc, argv);
}
