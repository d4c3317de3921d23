// Written by `cargo xtask kernels` from explicit/gpu/halo.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// What a device sends after a step, and where.
template <typename T> struct Halo {
    // Displacements on each device, the two arrays of the state, (n_nodes, dimension).
    T *u[8][2];
    // On each device: the number of steps that each of the others has sent, (n_devices,).
    u32 *arrived[8];
    // First entry of each device in `nodes`, (n_devices + 1,).
    const u32 *first;
    // Nodes that other devices read, device by device.
    const u32 *nodes;
    // Thread blocks that have sent their part of this step, and the number of steps sent.
    u32 *progress;
    u32 me;
    u32 n_devices;
    u32 dimension;
    // 1 if the kernel waits for the other devices, and not the host.
    u32 waits;
};
static_assert(sizeof(Halo<float>) == 232, "Halo<float>");
OFFSET_IS(Halo<float>, u, 0); OFFSET_IS(Halo<float>, arrived, 128); OFFSET_IS(Halo<float>, first, 192);
OFFSET_IS(Halo<float>, nodes, 200); OFFSET_IS(Halo<float>, progress, 208); OFFSET_IS(Halo<float>, me, 216);
OFFSET_IS(Halo<float>, n_devices, 220); OFFSET_IS(Halo<float>, dimension, 224);
OFFSET_IS(Halo<float>, waits, 228);
static_assert(sizeof(Halo<double>) == 232, "Halo<double>");
OFFSET_IS(Halo<double>, u, 0); OFFSET_IS(Halo<double>, arrived, 128); OFFSET_IS(Halo<double>, first, 192);
OFFSET_IS(Halo<double>, nodes, 200); OFFSET_IS(Halo<double>, progress, 208); OFFSET_IS(Halo<double>, me, 216);
OFFSET_IS(Halo<double>, n_devices, 220); OFFSET_IS(Halo<double>, dimension, 224);
OFFSET_IS(Halo<double>, waits, 228);
