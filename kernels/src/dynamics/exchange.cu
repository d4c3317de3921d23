// After a step of one of several devices: sends what other devices read, and waits for what they send.

#include "carry.cuh"
#include "halo.cuh"
#include "../device/flags.cuh"

// Sends the part of one array that `device` reads.
template <typename T> __device__ __forceinline__ void send(const Halo<T> &h, const T *from, T *to, u32 device) {
    const u32 first = h.first[device], n = (h.first[device + 1] - first) * h.n_numbers;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const u64 at = (u64)h.nodes[first + i / h.n_numbers] * h.pitch + (u64)(i % h.n_numbers) * h.stride;
        to[at] = from[at];
    }
}

// `place` is the array of the state that the step has written. The thread block that is last to send says so to all
// other devices, and then waits for them. So the next step begins when the nodes of all devices are there.
template <typename T> __device__ __forceinline__ void exchange(const Halo<T> &h, u32 place) {
    for (u32 device = 0; device < h.n_devices; device++) {
        send(h, h.u[h.me][place], h.u[device][place], device);
        if (h.n_arrays > 1) send(h, h.du[h.me][place], h.du[device][place], device);
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
