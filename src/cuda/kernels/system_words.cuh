/* Words that GPUs write into each other's memory: a reader of the word also sees the thread's earlier stores, and those of other
 * threads before a barrier with it. */
#ifndef MD_CUDA_SYSTEM_WORDS_CUH
#define MD_CUDA_SYSTEM_WORDS_CUH

#include "cuda/kernels/common.cuh"

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
__device__ inline void ptx_st_release_sys(unsigned long long *place, unsigned long long value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
}
__device__ inline void ptx_st_release_sys(unsigned *place, unsigned value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
}
__device__ inline unsigned long long ptx_ld_acquire_sys(const unsigned long long *place) {
    unsigned long long value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(place) : "memory");
    return value;
}
__device__ inline unsigned ptx_ld_acquire_sys(const unsigned *place) {
    unsigned value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
    return value;
}
__device__ inline void ptx_st_relaxed_sys_b128(void *place, unsigned long long low, unsigned long long high) {
    asm volatile("{\n.reg .b128 q;\nmov.b128 q, {%1, %2};\nst.relaxed.sys.global.b128 [%0], q;\n}" ::"l"(place),
                 "l"(low), "l"(high)
                 : "memory");
}
__device__ inline void ptx_ld_relaxed_sys_b128(const void *place, unsigned long long *low, unsigned long long *high) {
    asm volatile("{\n.reg .b128 q;\nld.relaxed.sys.global.b128 q, [%2];\nmov.b128 {%0, %1}, q;\n}"
                 : "=l"(*low), "=l"(*high)
                 : "l"(place)
                 : "memory");
}
__device__ inline long long ptx_globaltimer() {
    long long nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
constexpr int looks_a_clock = 256; /* looks at a word between two at the clock, which take much longer */
#endif

/* The time limit of a thread that polls a word. After it the host is told which rank did not answer, and later barriers do not
 * wait: a graph has many. */
struct Patience {
    int looks = 0;
    long long begin = 0;

    /* with(): 1 + the rank that does not answer; -1, later: other threads find out which. */
    template <class With> __device__ inline bool is_over_with(const CudaArguments &a, With with) {
        volatile int *silent = &a.host_status->silent;
        if (++looks % looks_a_clock != 0) return false;
        const long long now = ptx_globaltimer();
        if (begin == 0) begin = now;
        if (*silent != 0) return true;
        const int who = with();
        if (now - begin <= (who < 0 ? 2 : 1) * a.domain.patience_ns) return false;
        *silent = who;
        return true;
    }
    __device__ inline bool is_over(const CudaArguments &a, int with) {
        return is_over_with(a, [=] { return with; });
    }
};

#endif
