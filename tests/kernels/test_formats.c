/* Every format of attention on the cpu backend by every property (formats_table.h). Threads, the
 * batch, its order and outputs larger than the caches change no bit, also with dropout and labels.
 * Each head gives what it gives alone. A failed allocation is an error; plans are small. */
#include "formats_table.h"

/* ---- bits ------------------------------------------------------------------------------------ */

/* Every example's results are `want`'s. */
static void check_bits(const call *c, const call *want)
{
    static const char *const name[PLANES] = {
        [OUT] = "out", [DQ] = "dq",    [LSE] = "lse", [DK] = "dk", [DK2] = "dk 2",
        [DV] = "dv",   [DV2] = "dv 2", [DR] = "dr",   [DB] = "db"
    };
    for (int p = INPUTS; p < (c->examples == 1 && !c->beside ? PLANES : DR); p++)
        for (int64_t e = 0, size = size_of(c, p); e < c->examples; e++)
            ck_assert_msg(memcmp(c->of[p] + e * size, want->of[p], sizeof(float) * (size_t)size) ==
                              0,
                          "%s: %s, %d threads, example %d of %d, dropout %g", c->p->name, name[p],
                          c->threads, (int)e, (int)c->examples, c->drop);
}

/* Rows of head 1 that read no edge with a bias that is finite have weight nowhere. */
static void check_dead(const call *c)
{
    rig r = level_rig(level[c->at], 1);
    make_edges(&r, c);
    edges_list list = edges_expand(&r.maker.view);
    char *alive = calloc((size_t)c->p->rows, 1);
    ck_assert_ptr_nonnull(alive);
    for (int64_t i = 0; i < list.total; i++) alive[list.row[i]] |= list.label[i] == ALIVE;
    for (int64_t row = 0; row < c->p->rows; row++)
        for (int32_t i = 0; i < c->dim && !alive[row]; i++)
            ck_assert_msg(c->of[OUT][(row * c->heads + 1) * c->dim + i] == 0, "%s: row %d",
                          c->p->name, (int)row);
    free(alive);
    edges_list_free(&list);
    level_rig_end(&r);
}

static void same_bits(const call *want, call c)
{
    c.at = want->at, c.drop = want->drop, c.dead = want->dead;
    if (want->p->rows * c.examples > 1000 && c.examples > 3) c.examples = 3;
    if (c.heads == MOST_HEADS && c.examples > 3) c.examples = 3;
    attend(&c), check_bits(&c, want), finish(&c);
}

START_TEST(threads_and_the_batch_change_no_bit)
{
    /* so many rows, too, that items are larger the fewer threads there are */
    enum { BACKWARDS = 1, BESIDE };
    static const struct {
        int threads, examples, how;
    } ways[] = { { 1, 1, 0 },  { 2, 1, 0 },  { 3, 1, 0 },         { 8, 1, 0 },
                 { 16, 1, 0 }, { 1, 5, 0 },  { 2, 7, 0 },         { 3, 3, 0 },
                 { 8, 3, 0 },  { 16, 7, 0 }, { 1, 24, 0 },        { 2, 24, 0 },
                 { 3, 24, 0 }, { 8, 24, 0 }, { 1, 3, BACKWARDS }, { 3, 1, BESIDE } };
    if (!gsa_cpu_has(level[_i / PATTERNS]) || (_i % PATTERNS / 2 + _i / PATTERNS) % GSA_THIN(2))
        return;
    const int step = (call_of(_i).p->rows > 200 ? 3 : 1) * GSA_THIN(9);
    for (int way = (_i % PATTERNS + _i / PATTERNS) % GSA_THIN(2); way < 2; way += GSA_THIN(2)) {
        call want = call_of(_i);
        want.drop = way * 0.3, want.dead = way == 0 && want.p->biased;
        attend(&want);
        if (want.dead) check_dead(&want);
        for (int i = 0; i < GSA_COUNT(ways); i++) {
            call c = call_of(_i);
            if (!ways[i].how && (i + _i + way) % step) continue;
            c.threads = ways[i].threads, c.examples = ways[i].examples, c.memo = i / 2 % 2;
            c.backwards = ways[i].how == BACKWARDS, c.beside = ways[i].how == BESIDE ? 5000 : 0;
            same_bits(&want, c);
        }
        finish(&want);
    }
}
END_TEST

START_TEST(outputs_past_the_caches_are_the_same)
{
    enum { NUMBERS = 1 << 22, HEADS = 4, DIM = 64 };
    call want = call_of(_i / 2);
    if (!gsa_cpu_has(level[want.at]) || !pattern_is_first(want.p) || want.p->format == GEMM) return;
    if (want.p->alone || (_i / 2 + _i) % GSA_THIN(4)) return; /* takes long */
    want.heads = HEADS, want.dim = DIM, want.drop = _i % 2 * 0.3;
    want.dead = _i % 2 == 0 && want.p->biased;
    call c = want;
    c.examples = NUMBERS / (c.p->rows * HEADS * DIM) + 1, c.threads = 2;
    attend(&want), attend(&c), check_bits(&c, &want), finish(&c), finish(&want);
}
END_TEST

/* Whether head h of rows of `wide` is what `one` has, a plane of one head of `dim` numbers. */
static int same_head(const call *wide, const call *one, int plane, int32_t h)
{
    const int64_t dim = plane == LSE ? 1 : wide->dim, width = wide->heads * dim;
    for (int64_t i = 0, rows = size_of(one, plane) / dim; i < rows; i++)
        if (memcmp(wide->of[plane] + i * width + h * dim, one->of[plane] + i * dim,
                   sizeof(float) * (size_t)dim))
            return 0;
    return 1;
}

START_TEST(heads_are_as_alone)
{
    call wide = call_of(_i / 2);
    double dr[LABELS * MOST_DIM] = { 0 };
    if (!gsa_cpu_has(level[wide.at]) || (_i / 2 + _i) % GSA_THIN(4)) return;
    wide.kept = _i % 2;
    attend(&wide);
    for (int32_t h = 0; h < wide.heads; h++) {
        call one = call_of(_i / 2);
        one.kept = wide.kept, one.heads = 1, one.first = h;
        attend(&one);
        for (int p = INPUTS; p < DR; p++)
            ck_assert_msg(same_head(&wide, &one, p, h), "%s: plane %d of head %d", wide.p->name, p,
                          (int)h);
        for (int l = 0; l < LABELS; l++)
            ck_assert_float_eq_tol(wide.of[DB][l * wide.heads + h], one.of[DB][l], 1e-4f);
        for (int i = 0; i < LABELS * wide.dim; i++) dr[i] += (double)one.of[DR][i];
        finish(&one);
    }
    for (int i = 0; i < LABELS * wide.dim; i++)
        ck_assert_double_eq_tol((double)wide.of[DR][i], dr[i], 2e-3);
    finish(&wide);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

static gsa_status both_passes(gsa_backend *b, const gsa_edges *edges, void *context)
{
    const gsa_attend_args *args = context;
    (void)edges; /* args have them */
    const gsa_status status = b->attend_forward(b, args);
    return status == GSA_OK ? b->attend_backward(b, args) : status;
}

static gsa_status with_faults(gsa_faults *faults, void *context)
{
    static pointed x;
    const call *c = context;
    rig r = level_rig(level[c->at], 1);
    make_edges(&r, c);
    point(&x, c, &r);
    const gsa_status status = level_rig_faulty(faults, level[c->at], &r, both_passes, &x.args);
    free(x.id);
    level_rig_end(&r);
    return status;
}

START_TEST(memory_that_is_not_there_is_told_of)
{
    call c = call_of(_i);
    if (!gsa_cpu_has(level[c.at]) || _i % GSA_THIN(1)) return; /* by qemu a part */
    fill(&c);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, with_faults, &c), 10);
    finish(&c);
}
END_TEST

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct books {     /* of a system */
    int64_t held, strange; /* blocks; those of another system's that came here */
    size_t bytes, most;    /* held now; at any time */
} books;

typedef union owner { /* before a block */
    struct {
        books *books;
        size_t bytes;
    } of;
    max_align_t align;
} owner;

static void *book_resize(void *user, void *at, size_t bytes)
{
    books *x = user;
    owner *block = at ? (owner *)at - 1 : NULL;
    if (block) x->strange += block->of.books != x, x->bytes -= block->of.bytes;
    else x->held++;
    block = realloc(block, sizeof *block + bytes);
    ck_assert(block != NULL);
    block->of.books = x, block->of.bytes = bytes, x->bytes += bytes;
    if (x->bytes > x->most) x->most = x->bytes;
    return block + 1;
}

static void *book_alloc(void *user, size_t bytes)
{
    return book_resize(user, NULL, bytes);
}

static void book_release(void *user, void *at)
{
    books *x = user;
    if (!at) return;
    owner *block = (owner *)at - 1;
    x->held--, x->strange += block->of.books != x, x->bytes -= block->of.bytes;
    free(block);
}

static gsa_system booked(books *x)
{
    gsa_system system = *gsa_system_default();
    system.user = x, system.alloc = book_alloc, system.resize = book_resize,
    system.release = book_release;
    return system;
}

/* Each row reads 1 / `which` of the sources, from here and there on. */
static void text(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    const int32_t count = p->sources / p->which, rest = p->sources - count;
    edges_run(m, (gsa_run){ base + row % 5 * (rest / 4), count, 1, 0, 0, 0 });
}

/* Edges cost nothing: rows that read a whole long text, or a long part of it, are a run each. */
START_TEST(plans_do_not_grow_with_edges)
{
    static const size_t most[] = { 1 << 21, 1 << 19 };
    static pointed x;
    const pattern p = {
        .name = "text", .row = text, .which = _i ? 5 : 1, .rows = 64, .sources = 100000, .kinds = 1
    };
    for (int at = 0; at < VECTOR_LEVELS; at++) {
        books book = { 0 };
        const gsa_system system = booked(&book);
        call c = call_of(0);
        rig r = { 0 };
        if (!gsa_cpu_has(level[at])) continue;
        c.p = &p, c.at = at, c.heads = c.dim = 1;
        ck_assert_int_eq(gsa_backend_cpu(&system, level[at], 1, &r.b, NULL), GSA_OK);
        make_edges(&r, &c), fill(&c), point(&x, &c, &r);
        const size_t before = book.most;
        ck_assert_int_eq(r.b->attend_forward(r.b, &x.args), GSA_OK);
        ck_assert_msg(book.most <= most[_i], "level %d: %lld bytes at once, %lld before", at,
                      (long long)book.most, (long long)before);
        level_rig_end(&r);
        free(x.id), finish(&c);
        ck_assert_int_eq(book.held, 0);
    }
}
END_TEST

/* Backends that do not share memory take turns with one memo. */
START_TEST(plans_go_back_to_where_they_came_from)
{
    static pointed x;
    books book[2] = { { 0 } };
    const gsa_system system[2] = { booked(&book[0]), booked(&book[1]) };
    gsa_memo memo = { 0 };
    gsa_backend *b[2];
    call c = call_of(_i);
    rig r = { 0 };
    if (!gsa_cpu_has(level[c.at])) return;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(gsa_backend_cpu(&system[i], level[c.at], 1, &b[i], NULL), GSA_OK);
    r.b = b[0];
    make_edges(&r, &c), fill(&c), point(&x, &c, &r);
    memo.of = r.device.run_offset, r.device.memo = &memo;
    const float *bias = x.args.label_bias;
    for (int turn = 0; turn < 6; turn++) {
        x.args.label_bias = turn % 3 ? bias : NULL;
        ck_assert_int_eq(b[turn % 2]->attend_forward(b[turn % 2], &x.args), GSA_OK);
    }
    gsa_memo_clear(&memo);
    edges_unload(r.b, &r.device);
    edges_free(&r.maker);
    free(x.id), finish(&c);
    for (int i = 0; i < 2; i++) gsa_backend_release(b[i]);
    for (int i = 0; i < 2; i++) ck_assert(book[i].held == 0 && book[i].strange == 0);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test bits[] = { GSA_LOOP(threads_and_the_batch_change_no_bit, EACH),
                                     GSA_LOOP(outputs_past_the_caches_are_the_same, 2 * EACH),
                                     GSA_LOOP(heads_are_as_alone, 2 * EACH) };
    static const gsa_test memory[] = { GSA_LOOP(memory_that_is_not_there_is_told_of, EACH),
                                       GSA_LOOP(plans_do_not_grow_with_edges, 2),
                                       GSA_LOOP(plans_go_back_to_where_they_came_from, EACH) };
    static const gsa_case cases[] = { GSA_CASE("bits", bits, 120),
                                      GSA_CASE("memory", memory, 120) };
    return gsa_run_suite("cpu_formats", cases, GSA_COUNT(cases), argc, argv);
}
