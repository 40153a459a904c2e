/* copy.h - copies from device memory into shared memory that go on while their thread does
 * something else (cp.async, sm_80 and later); plain copies on 75. The executor makes them early or
 * late, as its order says: what reads too soon, or writes where others still read, shows.
 *
 * Law. Copies that a thread began since it last closed a group are a group. After
 * gsa_copies_wait<N> all groups of this
 *      thread but the last N are there, for this thread; for others after a barrier. None is on
 *        its way when it leaves. */
#ifndef GSA_CUDA_COPY_H
#define GSA_CUDA_COPY_H
#include "kernels/cuda/device.h"

/* A word of so many bytes. */
template <int BYTES> struct gsa_word;
template <> struct gsa_word<16> {
    typedef uint4 type;
};
template <> struct gsa_word<8> {
    typedef uint2 type;
};
template <> struct gsa_word<4> {
    typedef uint32_t type;
};
template <> struct gsa_word<2> {
    typedef uint16_t type;
};

/* BYTES 16, 8, 4 or 2, both sides aligned to them; 2 are copied at once. */
template <int BYTES> GSA_DEVICE void gsa_copy(void *to, const void *from)
{
    typedef typename gsa_word<BYTES>::type word;
#if !defined(__CUDACC__)
    simt_copy(to, from, sizeof(word), __FILE__, __LINE__);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    const size_t global = __cvta_generic_to_global(from);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global)
                     : "memory");
    else if (BYTES == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared), "l"(global)
                     : "memory");
    else if (BYTES == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(global)
                     : "memory");
    else *(word *)to = __ldg((const word *)from);
#else
    *(word *)to = __ldg((const word *)from);
#endif
}

GSA_DEVICE void gsa_copies_close(void)
{
#if !defined(__CUDACC__)
    simt_copies_close();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N> GSA_DEVICE void gsa_copies_wait(void)
{
#if !defined(__CUDACC__)
    simt_copies_wait(N);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

#endif
