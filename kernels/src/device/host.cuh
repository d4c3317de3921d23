// CUDA on a host, for tests without a device: the threads of a thread block take turns at their barriers. Thread blocks run
// one after the other, so a kernel whose thread blocks wait for each other needs a launch of one.

#pragma once
// It takes a jump to another stack for a mistake.
#undef _FORTIFY_SOURCE
#include <cmath>
#include <csetjmp>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static
#define DYNAMIC_SHARED unsigned char *const shared = host::dynamic_shared()

struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};

struct Dimensions {
    unsigned x, y, z;
};
static Dimensions threadIdx, blockIdx, blockDim, gridDim;

using std::fma;
template <typename N> N min(N a, N b) { return b < a ? b : a; }
template <typename N> N __ldg(const N *at) { return *at; }
template <typename N> N __ldcg(const N *at) { return *at; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __longlong_as_double(long long bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline void __nanosleep(unsigned) {}
template <typename N> N reciprocal(N x) { return N(1) / x; }
inline u32 acquire(const u32 *at) { return *at; }
inline void release(u32 *at, u32 value) { *at = value; }
template <int BYTES> void copy_later(void *to, const void *from) { std::memcpy(to, from, BYTES); }
inline void wait_for_copies() {}
template <bool WARP = false> void prefetch(const void *, u64) {}

namespace host {
constexpr size_t STACK = 1 << 18;

// Where a thread of the device, or the loop over them, goes on. Contexts of the system make the stacks; jumps change between them,
// since each change of a context is two calls of the system.
struct Place {
    jmp_buf registers;
};
static Place scheduler;
static std::vector<Place> threads;
static std::vector<ucontext_t> starts;
static std::vector<char> stacks;
static std::vector<bool> begun, ended;
static std::vector<double> said;
static std::vector<uint4> memory;
static std::function<void()> kernel;

inline unsigned char *dynamic_shared() { return reinterpret_cast<unsigned char *>(memory.data()); }

// From a thread to the loop over threads.
inline void leave() {
    if (_setjmp(threads[threadIdx.x].registers) == 0) _longjmp(scheduler.registers, 1);
}

// A thread runs the kernel once for each thread block.
inline void run_thread() {
    for (;;) {
        kernel();
        ended[threadIdx.x] = true;
        leave();
    }
}

// From the loop over threads to thread t.
inline void enter(unsigned t) {
    threadIdx = {t, 0, 0};
    if (_setjmp(scheduler.registers) != 0) return;
    if (begun[t]) _longjmp(threads[t].registers, 1);
    begun[t] = true;
    setcontext(&starts[t]);
}

inline void make_threads(unsigned n_threads) {
    threads.resize(n_threads);
    starts.resize(n_threads);
    stacks.resize(n_threads * STACK);
    begun.assign(n_threads, false);
    for (unsigned t = 0; t < n_threads; t++) {
        ucontext_t &start = starts[t];
        getcontext(&start);
        start.uc_stack.ss_sp = stacks.data() + t * STACK;
        start.uc_stack.ss_size = STACK;
        start.uc_link = nullptr;
        makecontext(&start, run_thread, 0);
    }
}

// Runs a kernel with memory that is filled with not-a-numbers.
inline void launch(unsigned n_blocks, unsigned n_threads, size_t bytes, std::function<void()> act) {
    kernel = std::move(act);
    if (n_threads > threads.size()) make_threads(n_threads);
    said.resize(n_threads);
    gridDim = {n_blocks, 1, 1};
    blockDim = {n_threads, 1, 1};
    for (unsigned block = 0; block < n_blocks; block++) {
        blockIdx = {block, 0, 0};
        memory.assign(bytes / 16 + 1, uint4{~0u, ~0u, ~0u, ~0u});
        ended.assign(n_threads, false);
        for (bool more = true; more;) {
            more = false;
            for (unsigned t = 0; t < n_threads; t++) {
                if (ended[t]) continue;
                enter(t);
                more |= !ended[t];
            }
        }
    }
}
} // namespace host

inline void __syncthreads() { host::leave(); }

inline bool __syncthreads_or(bool mine) {
    host::said[threadIdx.x] = mine;
    __syncthreads();
    bool any = false;
    for (double one : host::said) any |= one != 0;
    __syncthreads();
    return any;
}

// Only whole thread blocks call it.
inline double __shfl_down_sync(unsigned, double mine, int by) {
    const unsigned t = threadIdx.x;
    host::said[t] = mine;
    __syncthreads();
    const double other = t % 32 + by < 32 && t + by < host::said.size() ? host::said[t + by] : mine;
    __syncthreads();
    return other;
}
