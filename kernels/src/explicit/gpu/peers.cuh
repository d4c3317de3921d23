// Written by `cargo xtask kernels` from explicit/gpu/peers.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// Most devices of a model.
constexpr u32 MOST_DEVICES = 8u;
// Bits of an entry that hold the local number of a node. The device stands above them.
constexpr u32 NODE_BITS = 16u;

// The memory of the other devices, by device.
template <typename T> struct Peers {
    // Displacements at even and at odd passes, (n_nodes, 2).
    T *u[8][2];
    // Their last increments.
    T *du[8][2];
    // Number of passes of each block that are complete, since the model was placed.
    u32 *done[8];
    // First entry of each block in `entries`, (n_blocks + 1,); null where one device has the whole model.
    const u32 *first;
    // Nodes that other devices read.
    const u32 *entries;
    // Bit d of a block: device d waits for it.
    const u32 *waiting;
    // Passes before this launch.
    u32 base;
    // 1 if the launch reads the arrays of odd passes first.
    u32 odd;
    // 1 if blocks wait for those of other devices, and not the host between passes.
    u32 waits;
    u32 reserved;
};
static_assert(sizeof(Peers<float>) == 360, "Peers<float>");
OFFSET_IS(Peers<float>, u, 0); OFFSET_IS(Peers<float>, du, 128); OFFSET_IS(Peers<float>, done, 256);
OFFSET_IS(Peers<float>, first, 320); OFFSET_IS(Peers<float>, entries, 328);
OFFSET_IS(Peers<float>, waiting, 336); OFFSET_IS(Peers<float>, base, 344); OFFSET_IS(Peers<float>, odd, 348);
OFFSET_IS(Peers<float>, waits, 352); OFFSET_IS(Peers<float>, reserved, 356);
static_assert(sizeof(Peers<double>) == 360, "Peers<double>");
OFFSET_IS(Peers<double>, u, 0); OFFSET_IS(Peers<double>, du, 128); OFFSET_IS(Peers<double>, done, 256);
OFFSET_IS(Peers<double>, first, 320); OFFSET_IS(Peers<double>, entries, 328);
OFFSET_IS(Peers<double>, waiting, 336); OFFSET_IS(Peers<double>, base, 344);
OFFSET_IS(Peers<double>, odd, 348); OFFSET_IS(Peers<double>, waits, 352);
OFFSET_IS(Peers<double>, reserved, 356);
