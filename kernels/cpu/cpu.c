/* cpu.c - which level of vectors runs: asked of the machine, one table for each. */
#include "kernels/cpu/cpu.h"
#if defined GSA_HAVE_X86_LEVELS
#include <sys/platform/x86.h> /* what the C library asked at start: cpuid is slow on a guest */

/* x86_cpu_active of the C library shifts a signed 1 by up to 31. */
static int active(unsigned feature)
{
    enum { BITS = 32, WORDS = 4 }; /* of a leaf */
    const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / (BITS * WORDS));
    return leaf->active_array[feature / BITS % WORDS] >> feature % BITS & 1;
}

static int has_avx2(void)
{
    return active(x86_cpu_AVX2) && active(x86_cpu_FMA);
}

#endif

#if defined GSA_HAVE_AVX512_LEVEL || defined GSA_HAVE_EMULATED_LEVEL
static int has_avx512(void)
{
    return active(x86_cpu_AVX512F) && active(x86_cpu_AVX512DQ) && active(x86_cpu_AVX512VL) &&
           active(x86_cpu_AVX512BW) && has_avx2();
}
#endif

#if defined GSA_HAVE_EMULATED_LEVEL
static int has_emulated(void)
{
    return has_avx2() && !has_avx512();
}
#endif

static int has_plain(void)
{
    return 1;
}

static const struct {
    const char *name;
    int (*has)(void);
    void (*fill_ref)(gsa_backend *b), (*fill)(gsa_backend *b); /* over ref's table */
    const gsa_cpu_probe *probe;
} levels[] = {
    [GSA_CPU_PLAIN] = { "cpu (plain C)", has_plain, NULL, NULL, NULL },
#if defined GSA_HAVE_X86_LEVELS
    [GSA_CPU_AVX2] = { "cpu (AVX2)", has_avx2, gsa_ref32_avx2_fill, gsa_cpu_avx2_fill,
                       &gsa_cpu_avx2_probe },
#endif
#if defined GSA_HAVE_AVX512_LEVEL
    [GSA_CPU_AVX512] = { "cpu (AVX-512)", has_avx512, gsa_ref32_avx512_fill, gsa_cpu_avx512_fill,
                         &gsa_cpu_avx512_probe },
#endif
#if defined GSA_HAVE_EMULATED_LEVEL
    [GSA_CPU_EMULATED] = { "cpu (AVX-512, emulated)", has_emulated, gsa_ref32_avx2_fill,
                           gsa_cpu_emulated_fill, &gsa_cpu_emulated_probe },
#endif
#if defined GSA_HAVE_NEON_LEVEL
    [GSA_CPU_NEON] = { "cpu (NEON)", has_plain, NULL, gsa_cpu_neon_fill,
                       &gsa_cpu_neon_probe }, /* every aarch64 has it */
#endif
};
enum { LEVELS = sizeof levels / sizeof *levels };

int gsa_cpu_has(int level)
{
    if (level == GSA_CPU_BEST) return 1;
    return level > GSA_CPU_BEST && level < LEVELS && levels[level].has && levels[level].has();
}

static int best_level(void)
{
    int level = GSA_CPU_NEON;
    while (level == GSA_CPU_EMULATED || !gsa_cpu_has(level)) level--;
    return level;
}

const gsa_cpu_probe *gsa_cpu_probe_of(int level)
{
    if (level == GSA_CPU_BEST) level = best_level();
    return gsa_cpu_has(level) ? levels[level].probe : NULL;
}

gsa_status gsa_backend_cpu(const gsa_system *system, int level, int threads, gsa_backend **backend,
                           gsa_error *error)
{
    static const char *const words[] = { "best", "plain C", "AVX2", "AVX-512", "AVX-512, emulated,",
                                         "NEON" };
    if (level < GSA_CPU_BEST || level > GSA_CPU_NEON)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "backend cpu: level %d, expected 0 to %d", level,
                        GSA_CPU_NEON);
    if (!gsa_cpu_has(level))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "backend cpu: %s is not there on this machine or in this build",
                        words[level]);
    if (level == GSA_CPU_BEST) level = best_level();
    const gsa_status status = gsa_backend_ref(system, GSA_F32, threads, backend, error);
    if (status != GSA_OK) return status;
    (*backend)->name = levels[level].name;
    if (levels[level].fill_ref) levels[level].fill_ref(*backend);
    if (levels[level].fill) levels[level].fill(*backend);
    return GSA_OK;
}
