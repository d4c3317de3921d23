// Messages between devices that do not reach each other's memory.

#pragma once

#include "halo.cuh"

// The numbers of the listed nodes lie in `message` one behind the other, those of u before those of Δu.
// `first` and `nodes` are the lists of one direction, and the addresses those of this device alone.
template <typename T, bool LEAVES> __device__ __forceinline__ void carry(const Halo<T> &h, u32 place, T *message) {
    const u32 width = h.n_arrays * h.n_numbers, n = h.first[h.n_devices] * width;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const u32 k = i % width, c = k % h.n_numbers;
        T *array = k < h.n_numbers ? h.u[0][place] : h.du[0][place];
        T *value = array + (u64)h.nodes[i / width] * h.pitch + (u64)c * h.stride;
        if (LEAVES) message[i] = *value;
        else *value = message[i];
    }
}

#define POGO_CARRY(T, NAME)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) pack_##NAME(const __grid_constant__ Halo<T> h, u32 place, T *to) {     \
        carry<T, true>(h, place, to);                                                                                        \
    }                                                                                                                        \
    extern "C" __global__ void __launch_bounds__(256) unpack_##NAME(const __grid_constant__ Halo<T> h, u32 place, T *from) { \
        carry<T, false>(h, place, from);                                                                                     \
    }

POGO_CARRY(float, f32)
POGO_CARRY(double, f64)
