// Step of triangles on one of several devices that share a model: as in fans.cuh, but blocks also wait for those of other
// devices, and send them what they read. The kernels for one device do without all this, which takes 2 % of their time.
// Instances as in fans.cu.

#include "fans.cuh"
#include "peers.cuh"
#include "precision.cuh"
#include "../../device/flags.cuh"

// Copies u and Δu of the block's nodes that other devices read into their arrays, and tells those devices and this one
// that `passes` passes of the block are complete.
template <typename T, int S>
__device__ __noinline__ void send(const Params<T> &p, const Peers<T> &peers, u32 number, u32 node_first, u32 parity,
                                  u32 passes) {
    typedef typename Numbers<T, S>::type V;
    const V *u = reinterpret_cast<const V *>(p.u[parity]), *du = reinterpret_cast<const V *>(p.du[parity]);
    const u32 place = parity ^ peers.odd, end = peers.first[number + 1], waiting = peers.waiting[number];
    __syncthreads();
    for (u32 i = peers.first[number] + threadIdx.x; i < end; i += Fans<T>::THREADS) {
        const u32 entry = peers.entries[i], device = entry >> NODE_BITS;
        const u32 node = node_first + (entry & ((1u << NODE_BITS) - 1));
        reinterpret_cast<V *>(peers.u[device][place])[node] = u[node];
        reinterpret_cast<V *>(peers.du[device][place])[node] = du[node];
    }
    if (waiting) __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) release(p.done + number, passes);
    if (threadIdx.x < MOST_DEVICES && waiting >> threadIdx.x & 1)
        release_to_devices(peers.done[threadIdx.x] + number, passes);
}

// As `step_fans`. Passes are counted from the first that the devices made. A block waits for its neighbours on all devices
// unless the host waits for all devices between passes. Thread blocks of other devices that it waits for do not wait for
// this pass.
template <typename T, int STEPS, Law LAW>
__device__ __forceinline__ void step_fans_of_devices(const Params<T> &p, u32 k, const Peers<T> &peers) {
    const u32 pass = blockIdx.y, number = p.list[blockIdx.x];
    const u32 before = peers.waits ? peers.base + pass : 0;
    const u32 *sources = p.sources + (u64)number * p.n_neighbours;
    const u32 source = before > 0 && threadIdx.x < p.n_neighbours ? __ldg(sources + threadIdx.x) : NONE;
    const Block block = load_row(p.blocks + number);
    auto wait = [&]() {
        if (before == 0) return;
        auto wait_for = [&](u32 other) {
            if (other == NONE) return;
            for (u32 tries = 0; acquire_from_devices(p.done + other) < before; tries++) {
                __nanosleep(32);
                if (tries > MOST_TRIES) __trap();
            }
        };
        wait_for(source);
        for (u32 s = threadIdx.x + Fans<T>::THREADS; s < p.n_neighbours; s += Fans<T>::THREADS) wait_for(__ldg(sources + s));
        __syncthreads();
    };
    if (block.special_first == NONE && block.material != MIXED && !block.damped && !p.force_out)
        step_block<T, STEPS, LAW, true>(p, block, k + pass * STEPS, pass & 1, wait);
    else
        step_block<T, STEPS, LAW == Law::isotropic ? Law::aligned : LAW, false>(p, block, k + pass * STEPS, pass & 1, wait);
    if (!p.force_out) send<T, UNKNOWNS<LAW>>(p, peers, number, block.node_first, pass & 1 ^ 1, peers.base + pass + 1);
}

#define NAME_(LAW, PRECISION, STEPS) fans_of_devices_##LAW##_##PRECISION##_##STEPS
#define NAME(LAW, PRECISION, STEPS) NAME_(LAW, PRECISION, STEPS)

#define FANS(STEPS)                                                                                                      \
    extern "C" __global__ void __launch_bounds__(Fans<Real>::THREADS, Fans<Real>::RESIDENT)                              \
        NAME(POGO_LAW, PRECISION, STEPS)(const __grid_constant__ Params<Real> p, u32 k,                                  \
                                         const __grid_constant__ Peers<Real> peers) {                                    \
        step_fans_of_devices<Real, STEPS, Law::POGO_LAW>(p, k, peers);                                                   \
    }

FANS(1)
FANS(2)
