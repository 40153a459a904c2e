#include "rig.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/checkpoint.h"
#include "support/guard.h"

#define TRAINING                                                                                   \
    "[train]\nseed = 5\nepochs = 3\nbatch = 4\naccumulate = 2\nbucket = 2\nlr = 0.01\nclip = "     \
    "1\nreport_every = 1\n"                                                                        \
    "schedule = cosine\nwarmup = 2\nkeep = 1\n"

const char rig_summation[] =
    "[task]\nname = masked_summation\nn = 6\nk = 2\nd = 3\ntrain = 22\ndev = 5\ntest = 7\n"
    "[model]\nencoder = star\nhidden = 8\nheads = 2\ninput = dropout\ndropout_input = 0.1\n"
    "dropout_attention = 0.2\ndropout_hidden = 0.1\ndropout_head = 0.2\nhead_hidden = 6\n" TRAINING;
const char rig_text[] = "[task]\nname = text_classification\n"
                        "[model]\nencoder = full,star\nhidden = 8\nheads = 2\nffn = 12\ninput = "
                        "norm_dropout\ndropout_input = 0.1\n"
                        "dropout_attention = 0.2\ndropout_hidden = 0.1\ndropout_ffn = "
                        "0.1\ndropout_head = 0.2\nposition = learned\n"
                        "position_max = 16\nbias = q,v,o\n" TRAINING
                        "optimizer = adamw\nweight_decay = 0.01\naverage = 0.9\n";

const char rig_pairs[] = "[task]\nname = sentence_pairs\n"
                         "[model]\nencoder = bpt:k=1,bpt:k=1+cross\nhidden = 8\nheads = 2\nffn = "
                         "12\nhead_hidden = 6\ninput = norm_dropout\n"
                         "dropout_input = 0.1\ndropout_attention = 0.2\ndropout_hidden = "
                         "0.1\ndropout_ffn = 0.1\ndropout_head = 0.2\n"
                         "position = learned\nposition_max = 16\nbias = q,v,o\n" TRAINING
                         "optimizer = adamw\nweight_decay = 0.01\naverage = 0.9\n";

const char rig_language[] =
    "[task]\nname = language_modelling\naux = 0.5\n"
    "[model]\nencoder = bpt:k=1:causal=1*2,window:width=3:causal=1\nhidden = 8\nheads = 2\nffn = "
    "12\ntied = 1\n"
    "input = norm_dropout\ndropout_input = 0.1\ndropout_attention = 0.2\ndropout_hidden = "
    "0.1\ndropout_ffn = 0.1\n"
    "dropout_head = 0.2\nposition = learned\nposition_max = 16\nbias = q,v,o\n" TRAINING
    "optimizer = adamw\nweight_decay = 0.01\naverage = 0.9\nlabel_smoothing = 0.1\n"
    "[data]\ntokens = chars\nwindow = 6\nstride = 3\n";

/* Is b a part of a? */
static const char train_pairs[] =
    "yes\ta red cat sat\ta cat sat\nno\ta red cat sat\ta dog sat\nyes\tfine day\tday\nno\tfine "
    "day\tnight\n"
    "yes\tone two three four five\ttwo four\nno\tone two three four "
    "five\tsix\nyes\ta\ta\nno\ta\tb\nyes\ta b\tb\n"
    "no\ta b\tc\nyes\tthe dog ran home\tthe dog ran\nno\tthe dog ran home\ta cat ran "
    "home\nyes\tsix seven\tseven\n"
    "no\tsix seven\tone\nyes\tred night\tnight\nno\tred night\tday\nyes\ta b c d e f g\tg\nno\ta b "
    "c\tg f e d c b a\n"
    "yes\tcold , slow\tslow\nno\tcold , slow\tfast\nyes\thome\thome\nno\thome\tday night\n";
static const char dev_pairs[] =
    "yes\tone two six\ttwo\nno\tone two six\tseven\nno\tcat\tno dog here\nyes\tc d\td\n";

static const char train_text[] =
    "good\ta fine film\nbad\tdull\ngood\tso very good indeed , yes\nbad\tan awful and tedious "
    "mess\ngood\tfun\nbad\tno fun\n"
    "good\twarm and funny\nbad\tcold , slow and long\ngood\tfine acting\nbad\tbad acting\ngood\ta "
    "good story\nbad\ta bad "
    "one\n"
    "good\tgood good good\nbad\tbad bad\ngood\tI liked it very much\nbad\tI "
    "slept\ngood\tyes\nbad\tno\ngood\tfunny film "
    "indeed\n"
    "bad\ttedious film\ngood\tmoving\nbad\tlong dull mess , no story\n";
static const char dev_text[] =
    "good\ta good film\nbad\tan awful story\ngood\tfunny\nbad\tno , no , no unseen words\n";

/* 69 characters, 22 windows of 6. */
static const char train_language[] =
    "the cat sat on the mat\nthe dog sat on the log\nthe cat ate the hen\n\nno";
static const char dev_language[] = "the dog ate on the mat\n";

void rig_open(rig *r, const char *recipe, int real, int threads)
{
    *r = (rig){ 0 };
    gsa_scratch_open(&r->scratch);
    snprintf(r->path, sizeof r->path, "%s/recipe.ini", r->scratch.folder);
    gsa_put_file(r->path, recipe, (int64_t)strlen(recipe));
    gsa_put_file(gsa_scratch_path(&r->scratch, "train.tsv"), train_text, sizeof train_text - 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "dev.tsv"), dev_text, sizeof dev_text - 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "pairs.tsv"), train_pairs, sizeof train_pairs - 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "dev-pairs.tsv"), dev_pairs, sizeof dev_pairs - 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "train.txt"), train_language,
                 sizeof train_language - 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "dev.txt"), dev_language, sizeof dev_language - 1);
    r->data[0] = recipe == rig_pairs ? "pairs.tsv" : "train.tsv";
    r->data[1] = recipe == rig_pairs ? "dev-pairs.tsv" : "dev.tsv";
    if (recipe == rig_language) r->data[0] = "train.txt", r->data[1] = "dev.txt";
    if (strstr(recipe, "name = masked_summation")) r->data[0] = r->data[1] = NULL;
    ck_assert_int_eq(gsa_test_backend(gsa_system_default(), real, threads, &r->backend, &r->error),
                     GSA_OK);
}

void rig_close(rig *r)
{
    gsa_release(r->system ? r->system : gsa_system_default(), r->result);
    gsa_backend_release(r->backend);
    gsa_scratch_close(&r->scratch);
}

void rig_set(rig *r, const char *override)
{
    ck_assert_int_lt(r->sets, RIG_SETS);
    r->set[r->sets++] = override;
}

static void on_progress(void *context, const gsa_progress *p)
{
    rig *r = context;
    const size_t used = strlen(r->messages);
    if (p->kind == 0) r->reports++, r->loss = p->loss, r->last_step = p->step;
    if (p->kind == 1) r->evaluations++, r->epoch_loss = p->loss;
    if (p->kind == 2) snprintf(r->messages + used, sizeof r->messages - used, "%s\n", p->text);
    if (p->kind == 0 && r->stop_at > 0 && p->step == r->stop_at) r->stop = 1;
    if (r->each) r->each(r, p);
}

static gsa_status run(rig *r, const char *recipe, const char *out, const char *resume)
{
    static const char *const keys[] = { "data.train", "data.dev" };
    char path[2][300];
    const char *set[RIG_SETS + 2];
    int sets = 0;
    for (int i = 0; i < 2; i++) {
        if (!r->data[i]) continue;
        snprintf(path[i], sizeof path[i], "%s=%s/%s", keys[i], r->scratch.folder, r->data[i]);
        set[sets++] = path[i];
    }
    for (int i = 0; i < r->sets; i++) set[sets++] = r->set[i];
    const gsa_train_options options = { .recipe = recipe,
                                        .overrides = set,
                                        .n_overrides = sets,
                                        .plugins = &r->plugin,
                                        .n_plugins = r->plugin != NULL,
                                        .out = out,
                                        .lock = r->lock,
                                        .resume = resume,
                                        .device = "cpu",
                                        .threads = 1,
                                        .progress = on_progress,
                                        .context = r,
                                        .stop = &r->stop,
                                        .backend = r->backend,
                                        .group = r->group };
    gsa_release(r->system ? r->system : gsa_system_default(), r->result);
    r->result = NULL;
    r->stop = 0, r->reports = r->evaluations = 0, r->messages[0] = 0, r->error.text[0] = 0;
    return gsa_train(r->system, &options, &r->result, &r->error);
}

gsa_status rig_train(rig *r, const char *name)
{
    return run(r, r->path, name ? gsa_scratch_path(&r->scratch, "%s", name) : NULL, NULL);
}

gsa_status rig_resume(rig *r, const char *name)
{
    return run(r, NULL, NULL, gsa_scratch_path(&r->scratch, "%s", name));
}

gsa_status rig_train_ok(rig *r, const char *name)
{
    const gsa_status status = rig_train(r, name);
    ck_assert_msg(status == GSA_OK, "%s", r->error.text);
    return status;
}

gsa_status rig_train_faulty(gsa_faults *faults, void *context)
{
    rig *r = context;
    char name[32];
    snprintf(name, sizeof name, "fault%d", r->attempts++);
    r->system = &faults->table;
    const gsa_status status = rig_train(r, name);
    ck_assert_msg(status != GSA_OK ||
                      access(gsa_scratch_path(&r->scratch, "%s/result.json", name), R_OK) == 0,
                  "%s: no result, and no error", name);
    gsa_release(&faults->table, r->result);
    r->result = NULL, r->system = NULL;
    return status;
}

double rig_number(const rig *r, const char *key)
{
    json_t *object = json_loads(r->result ? r->result : "", 0, NULL);
    const json_t *value = json_object_get(object, key);
    const double x = json_is_number(value) ? json_number_value(value) : NAN;
    json_decref(object);
    return x;
}

char *rig_checkpoint_file(const rig *r, const char *name, const char *file, int64_t *bytes)
{
    char *path, *warning, whole[512];
    gsa_error error;
    const gsa_status status =
        gsa_checkpoint_find(gsa_system_default(), gsa_scratch_path(&r->scratch, "%s", name), NULL,
                            &path, &warning, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
    snprintf(whole, sizeof whole, "%s/%s", path, file);
    gsa_release(gsa_system_default(), path);
    gsa_release(gsa_system_default(), warning);
    return gsa_get_file(whole, bytes);
}

static int states_differ(const gsa_safetensors *a, const gsa_safetensors *b)
{
    int differ = a->count != b->count;
    for (int i = 0; i < a->count && !differ; i++) {
        const gsa_blob *x = &a->blobs[i], *y = gsa_safetensors_find(b, x->name);
        if (strcmp(x->name, "sums") == 0) continue; /* holds seconds */
        const size_t size = x->dtype == GSA_DTYPE_F32 || x->dtype == GSA_DTYPE_I32 ? 4 : 8;
        differ = !y || gsa_blob_count(x) != gsa_blob_count(y) ||
                 memcmp(x->data, y->data, (size_t)gsa_blob_count(x) * size) != 0;
        if (differ) fprintf(stderr, "'%s' differs\n", x->name);
    }
    return differ;
}

static gsa_safetensors read_state(const rig *r, const char *name)
{
    int64_t bytes;
    gsa_safetensors file;
    char *data = rig_checkpoint_file(r, name, "state.safetensors", &bytes);
    const char *copy = gsa_scratch_path(&r->scratch, "state-copy");
    gsa_put_file(copy, data, bytes);
    free(data);
    ck_assert_int_eq(gsa_safetensors_read(gsa_system_default(), copy, &file, NULL), GSA_OK);
    return file;
}

int rig_differ(const rig *r, const char *a, const char *b)
{
    int64_t na, nb;
    char *x = rig_checkpoint_file(r, a, "model.safetensors", &na),
         *y = rig_checkpoint_file(r, b, "model.safetensors", &nb);
    int differ = na != nb || memcmp(x, y, (size_t)na) != 0;
    if (differ) fprintf(stderr, "model.safetensors of %s and %s differ\n", a, b);
    gsa_safetensors sa = read_state(r, a), sb = read_state(r, b);
    differ |= states_differ(&sa, &sb);
    gsa_safetensors_release(&sa);
    gsa_safetensors_release(&sb);
    free(x);
    free(y);
    return differ;
}

/* ---- a stop in the middle of anything ------------------------------------------------------ */

static struct {
    rig *rig;
    int64_t calls, stop_at;
    gsa_status (*gemm)(gsa_backend *, void *, const void *, const void *, int64_t, int64_t, int64_t,
                       int, int, int64_t, int64_t, int64_t, int);
} hook;

static gsa_status hooked_gemm(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m,
                              int64_t n, int64_t k, int transpose_a, int transpose_b, int64_t ldc,
                              int64_t lda, int64_t ldb, int accumulate)
{
    if (++hook.calls == hook.stop_at) hook.rig->stop = 1;
    return hook.gemm(b, c, a, bb, m, n, k, transpose_a, transpose_b, ldc, lda, ldb, accumulate);
}

void rig_stop_in_gemm(rig *r, int64_t n)
{
    if (r->backend->gemm != hooked_gemm)
        hook.gemm = r->backend->gemm, r->backend->gemm = hooked_gemm;
    hook.rig = r, hook.calls = 0, hook.stop_at = n;
}

int64_t rig_gemm_calls(void)
{
    return hook.calls;
}
