// The kernels of all coarse levels. The correction is a cooperative launch.

#pragma once

#include "levels.cuh"

/// Copies the tables to shared memory.
DEVICE void bring(Tables& tables, const Tables* from) {
    for (u32 i = threadIdx.x; i < sizeof(Tables) / 4; i += blockDim.x)
        reinterpret_cast<u32*>(&tables)[i] = reinterpret_cast<const u32*>(from)[i];
    __syncthreads();
}

/// Computes the correction on level 1 from the residual of the finest level. All thread blocks must be resident.
extern "C" __global__ void __launch_bounds__(256, 2) coarse_correction(const Tables* from) {
    __shared__ Tables tables;
    bring(tables, from);
    Grid g(tables);
    correct(g, tables);
}

/// Adds the correction to z of the finest level, or sets z = 0 at fixed degrees of freedom (`clear`). It takes two
/// launches.
extern "C" __global__ void __launch_bounds__(256) coarse_prolong(const Tables* from, u32 clear) {
    __shared__ Tables tables;
    bring(tables, from);
    Grid g(tables);
    if (clear) clear_fixed(g, tables);
    else prolong_first(g, tables);
}

#ifndef POGO_DEVICES
/// Finds the steps of the smoother. All thread blocks must be resident.
extern "C" __global__ void __launch_bounds__(256, 2) coarse_steps(Tables* from) {
    __shared__ Tables tables;
    bring(tables, from);
    Grid g(tables);
    find_steps(g, tables, from);
}
#endif
