// After a step of one of several devices: sends displacements that other devices read, and waits for those of others.

#include "halo.cuh"

__device__ __forceinline__ u32 acquire_from_devices(const u32 *at) {
    u32 value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ void release_to_devices(u32 *at, u32 value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// A device waits for some ten seconds for another. Then that device is lost, and this one gives up too.
constexpr u32 MOST_TRIES = 1 << 24;

// `place` is the array of the state that the step has written. The thread block that is last to send says so to all
// other devices, and then waits for them. So the next step begins when the nodes of all devices are there.
template <typename T> __device__ __forceinline__ void exchange(const Halo<T> &h, u32 place) {
    const T *from = h.u[h.me][place];
    const u32 d = h.dimension;
    for (u32 device = 0; device < h.n_devices; device++) {
        T *to = h.u[device][place];
        const u32 first = h.first[device], n = (h.first[device + 1] - first) * d;
        for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            const u64 at = (u64)h.nodes[first + i / d] * d + i % d;
            to[at] = from[at];
        }
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x > 0 || atomicAdd(h.progress, 1) + 1 < gridDim.x) return;
    __threadfence_system();
    h.progress[0] = 0;
    const u32 step = ++h.progress[1];
    for (u32 device = 0; device < h.n_devices; device++)
        if (device != h.me) release_to_devices(h.arrived[device] + h.me, step);
    for (u32 device = 0; device < h.n_devices && h.waits; device++) {
        if (device == h.me) continue;
        for (u32 tries = 0; acquire_from_devices(h.arrived[h.me] + device) < step; tries++)
            if (tries > MOST_TRIES) __trap();
    }
}

extern "C" __global__ void __launch_bounds__(256) exchange_f32(const __grid_constant__ Halo<float> h, u32 place) {
    exchange(h, place);
}

extern "C" __global__ void __launch_bounds__(256) exchange_f64(const __grid_constant__ Halo<double> h, u32 place) {
    exchange(h, place);
}
