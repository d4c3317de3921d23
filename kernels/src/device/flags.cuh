// Flags between devices, in the memory of one of them.

#pragma once

#include "types.cuh"

#ifndef POGO_ON_HOST
__device__ __forceinline__ u32 acquire_from_devices(const u32 *at) {
    u32 value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ void release_to_devices(u32 *at, u32 value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// The same between the thread blocks of one device.
__device__ __forceinline__ u32 acquire_from_blocks(const u32 *at) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ void release_to_blocks(u32 *at, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
#endif

// The host's last answer: no more calls are answered.
constexpr u32 GIVEN_UP = ~0u;

#ifndef POGO_ON_HOST
// Waits until the host has answered so many calls.
__device__ __forceinline__ void wait_for_host(const u32 *at, u32 calls) {
    for (;;) {
        const u32 now = acquire_from_devices(at);
        if (now == GIVEN_UP) __trap();
        if (now >= calls) return;
    }
}
#endif

// Reads what the host has written; no cache may have what was there before.
template <typename T> __device__ __forceinline__ T from_host(const T *at) { return *static_cast<const volatile T *>(at); }

// Who waits for another device does so for some ten seconds. Then that device is lost, and this one gives up too.
constexpr u32 MOST_TRIES = 1 << 24;
