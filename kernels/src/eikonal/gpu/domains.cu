// The paper's two approaches to sub-domains (Section 6.3), each in one launch.
//
// The local numbers of a sub-domain are its own nodes, then its halo. For each pair of an owner and a reader, the block
// file lists which local number of the owner is which local number of the reader. Times are stored once, in global
// memory. Only the owner of a node writes its time.
//
// A lowered time is signalled by *news*: one bit for each local number of a reader. For an own node the bit means
// "compute this node again". For a halo node it means "the time has fallen", and the reader then computes its own
// neighbours of that node again.
//
// First approach: any thread block may take a part of the active nodes of any sub-domain. Afterwards all pairs (owner,
// reader) are processed, by any warp. A sweep has two barriers. Second approach: one thread block has a sub-domain. It
// holds the times in shared memory for one or more inner sweeps and then processes its own pairs. A round has one
// barrier.
//
// Times are read while their owners may lower them. Results agree with `active.cu` to rounding, but their last bits may
// differ between runs.

#include "local.cuh"

typedef DomainParams Params;

constexpr int THREADS = 256;

// Sub-domain that owns a node.
__device__ __forceinline__ u32 owner_of(const Params &p, u32 node) {
    u32 low = 0, high = p.n_domains;
    while (high - low > 1) {
        const u32 middle = (low + high) / 2;
        if (p.node_first[middle] <= node) low = middle;
        else high = middle;
    }
    // An empty sub-domain ends where the next one begins, so the last candidate is right.
    return low;
}

// Position in `news` of local number 0 of a sub-domain.
__device__ __forceinline__ u32 local_first(const Params &p, u32 domain) { return p.node_first[domain] + p.halo_first[domain]; }

// Sets a bit. Returns true if it was not set before.
__device__ __forceinline__ bool set_bit(u32 *bits, u32 place) {
    const u32 bit = 1u << (place % 32);
    return !(atomicOr(&bits[place / 32], bit) & bit);
}

// Second approach: puts a sub-domain on the list of the next round.
__device__ __forceinline__ void wake(const Params &p, u32 round, u32 domain) {
    if (atomicExch(&p.mark[domain], round + 1) != round + 1)
        p.list[(round + 1) & 1][atomicAdd(&p.counters[1 + (round + 1) % 3], 1u)] = domain;
}

// First approach: makes an own node active in the next sweep. The first node of a part puts the part on the list.
__device__ __forceinline__ void activate(const Params &p, u32 sweep, u32 domain, u32 node) {
    if (!set_bit(p.news, local_first(p, domain) + node - p.node_first[domain])) return;
    const u32 place = atomicAdd(&p.n_active[((sweep + 1) & 1) * p.n_domains + domain], 1u);
    p.active[((sweep + 1) & 1) * p.n_nodes + p.node_first[domain] + place] = node;
    if (place % PART == 0) {
        // A part is a sub-domain and the index of its first active node.
        const u32 at = atomicAdd(&p.counters[1 + (sweep + 1) % 3], 1u);
        p.list[(sweep + 1) & 1][2 * at] = domain;
        p.list[(sweep + 1) & 1][2 * at + 1] = place;
    }
}

// Minimum time at an own node from all its elements, computed by GROUP lanes. It is +∞ if no other corner is earlier.
// `at` reads times.
template <int PRODUCTS, int GROUP, typename Read>
__device__ __forceinline__ real compute(const Params &p, u32 node, real before, bool valid, u32 &solves, Read at) {
    constexpr int N = PRODUCTS == THREE ? 3 : 4;
    real time = as_real(INFINITE);
    const u32 first = __ldg(p.incident_first + node), last = __ldg(p.incident_first + node + 1);
    for (u32 j = first + threadIdx.x % GROUP; valid && j < last; j += GROUP) {
        const u32 incident = __ldg(p.incident + j);
        u32 nodes[N];
        load_nodes<PRODUCTS>(p.stored, incident / 4, nodes);
        const Element<PRODUCTS> element(p.stored, incident / 4, nodes);
        real t[N];
        bool earlier = false;
        for (int k = 0; k < N; k++) {
            t[k] = at(nodes[k]);
            earlier |= k != int(incident % 4) && t[k] < before;
        }
        if (!earlier) continue;
        time = fmin(time, solve<PRODUCTS>(element, t, incident % 4));
        solves++;
    }
    for (int d = GROUP / 2; d > 0; d /= 2) time = fmin(time, __shfl_xor_sync(~0u, time, d));
    return time;
}

// Initialises all arrays before the first round, except for the starts and their neighbours.
__device__ __forceinline__ void begin(const Params &p, u32 &target) {
    const u32 thread = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    const u32 n_local = local_first(p, p.n_domains);
    for (u32 node = thread; node < p.n_nodes; node += n_threads) words(p.bits)[node] = INFINITE;
    for (u32 at = thread; at < (n_local + 31) / 32; at += n_threads) p.news[at] = 0;
    for (u32 at = thread; at < p.n_nodes + p.n_domains; at += n_threads) p.changed[at] = 0;
    for (u32 at = thread; at < p.n_domains; at += n_threads) p.mark[at] = p.n_active[at] = p.n_active[p.n_domains + at] = 0;
    grid_barrier(p.counters, target);
}

__device__ __forceinline__ void end(const Params &p, u32 solves, u32 computed, u32 round) {
    const u32 thread = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    for (u32 node = thread; node < p.n_nodes; node += n_threads) p.time[node] = as_real(__ldcg(&words(p.bits)[node]));
    atomicAdd(&p.work[0], u64(solves));
    atomicAdd(&p.work[1], u64(computed));
    if (thread == 0) p.counters[7] = round;
}

template <int PRODUCTS> __device__ __forceinline__ void first_approach(const Params &p) {
    constexpr int GROUP = PRODUCTS == THREE ? 8 : 16;
    u32 target = 0, solves = 0, computed = 0;
    const u32 thread = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    begin(p, target);
    for (u32 i = thread; i < p.n_starts; i += n_threads) {
        const Start start = p.starts[i];
        atomicMin(&words(p.bits)[start.entry], start.time);
        for (u32 j = p.neighbour_first[start.entry]; j < p.neighbour_first[start.entry + 1]; j++)
            activate(p, 0, owner_of(p, p.neighbours[j]), p.neighbours[j]);
    }
    grid_barrier(p.counters, target);

    u32 sweep = 1;
    for (; sweep < p.most_rounds; sweep++) {
        const u32 n = __ldcg(&p.counters[1 + sweep % 3]);
        if (n == 0) break;
        if (thread == 0) p.counters[1 + (sweep + 2) % 3] = 0;
        const u32 *active = p.active + (sweep & 1) * p.n_nodes;
        u32 *n_active = p.n_active + (sweep & 1) * p.n_domains;
        // One thread block per part. The news bits of its nodes are cleared first. If the time of a neighbour falls
        // meanwhile, the bit is set again.
        for (u32 at = blockIdx.x; at < n; at += gridDim.x) {
            const u32 domain = __ldcg(&p.list[sweep & 1][2 * at]), place = __ldcg(&p.list[sweep & 1][2 * at + 1]);
            const u32 first = p.node_first[domain], n_own = p.node_first[domain + 1] - first;
            const u32 n_part = min(PART, __ldcg(&n_active[domain]) - place);
            if (threadIdx.x < n_part) {
                const u32 local = local_first(p, domain) + __ldcg(&active[first + place + threadIdx.x]) - first;
                atomicAnd(&p.news[local / 32], ~(1u << (local % 32)));
                __threadfence();
            }
            __syncthreads();
            for (u32 base = threadIdx.x / 32 * (32 / GROUP); base < n_part; base += THREADS / GROUP) {
                const u32 i = base + threadIdx.x % 32 / GROUP;
                const bool valid = i < n_part;
                const u32 node = __ldcg(&active[first + place + (valid ? i : base)]);
                const real before = as_real(__ldcg(&words(p.bits)[node]));
                const auto read = [&p](u32 other) { return as_real(__ldcg(&words(p.bits)[other])); };
                const real time = compute<PRODUCTS, GROUP>(p, node, before, valid, solves, read);
                if (valid && threadIdx.x % GROUP == 0) computed++;
                if (valid && time < before * p.keep) {
                    if (threadIdx.x % GROUP == 0) {
                        __stcg(&words(p.bits)[node], as_word(time));
                        p.changed[node] = p.changed[p.n_nodes + domain] = sweep;
                    }
                    // The new time must be visible before the news of it.
                    __syncwarp(((1u << GROUP) - 1) << (threadIdx.x % 32 / GROUP * GROUP));
                    __threadfence();
                    for (u32 j = p.neighbour_first[node] + threadIdx.x % GROUP; j < p.neighbour_first[node + 1]; j += GROUP) {
                        const u32 other = __ldg(p.neighbours + j);
                        if (other - first < n_own) activate(p, sweep, domain, other);
                    }
                }
            }
            __syncthreads();
        }
        grid_barrier(p.counters, target);
        // One warp per pair. The lists of this sweep are no longer needed.
        for (u32 domain = thread; domain < p.n_domains; domain += n_threads) n_active[domain] = 0;
        for (u32 pair = thread / 32; pair < p.n_pairs; pair += n_threads / 32) {
            const u32 owner = __ldg(&p.pair[pair].x), reader = __ldg(&p.pair[pair].y);
            if (__ldcg(&p.changed[p.n_nodes + owner]) != sweep) continue;
            const u32 n_own = p.node_first[reader + 1] - p.node_first[reader];
            for (u32 i = p.pair_first[pair] + threadIdx.x % 32; i < p.pair_first[pair + 1]; i += 32) {
                const uint2 entry = __ldg(p.entries + i);
                if (__ldcg(&p.changed[p.node_first[owner] + entry.x]) != sweep) continue;
                const u32 node = p.halo[p.halo_first[reader] + entry.y - n_own];
                for (u32 j = p.neighbour_first[node]; j < p.neighbour_first[node + 1]; j++)
                    if (p.neighbours[j] - p.node_first[reader] < n_own) activate(p, sweep, reader, p.neighbours[j]);
            }
        }
        grid_barrier(p.counters, target);
    }
    end(p, solves, computed, sweep);
}

template <int PRODUCTS> __device__ __forceinline__ void second_approach(const Params &p) {
    constexpr int GROUP = PRODUCTS == THREE ? 8 : 16;
    extern __shared__ u64 shared[];
    const u32 n_words = (p.most_own + 31) / 32;
    word *own = reinterpret_cast<word *>(shared);
    u32 *list = reinterpret_cast<u32 *>(own + p.most_own);
    u32 *todo = list + p.most_own, *changed = todo + n_words;
    __shared__ u32 n_list, any;
    u32 target = 0, solves = 0, computed = 0;
    const u32 thread = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    begin(p, target);
    for (u32 i = thread; i < p.n_starts; i += n_threads) {
        const Start start = p.starts[i];
        atomicMin(&words(p.bits)[start.entry], start.time);
        for (u32 j = p.neighbour_first[start.entry]; j < p.neighbour_first[start.entry + 1]; j++) {
            const u32 other = p.neighbours[j], domain = owner_of(p, other);
            set_bit(p.news, local_first(p, domain) + other - p.node_first[domain]);
            wake(p, 0, domain);
        }
    }
    grid_barrier(p.counters, target);

    u32 round = 1;
    for (; round < p.most_rounds; round++) {
        const u32 n = __ldcg(&p.counters[1 + round % 3]);
        if (n == 0) break;
        if (thread == 0) p.counters[1 + (round + 2) % 3] = 0;
        for (u32 at = blockIdx.x; at < n; at += gridDim.x) {
            const u32 domain = __ldcg(&p.list[round & 1][at]);
            const u32 own_first = p.node_first[domain], n_own = p.node_first[domain + 1] - own_first;
            const u32 first = local_first(p, domain), n_local = n_own + p.halo_first[domain + 1] - p.halo_first[domain];
            const auto look_at = [&](u32 local) { atomicOr(&todo[local / 32], 1u << (local % 32)); };
            // Marks the own neighbours of a node.
            const auto look_round = [&](u32 node, u32 lane, u32 lanes) {
                for (u32 j = p.neighbour_first[node] + lane; j < p.neighbour_first[node + 1]; j += lanes) {
                    const u32 local = __ldg(p.neighbours + j) - own_first;
                    if (local < n_own) look_at(local);
                }
            };
            for (u32 w = threadIdx.x; w < n_words; w += THREADS) todo[w] = changed[w] = 0;
            __syncthreads();
            for (u32 w = first / 32 + threadIdx.x; w * 32 < first + n_local; w += THREADS) {
                u32 mask = ~0u;
                if (w * 32 < first) mask &= ~0u << (first % 32);
                if (w * 32 + 32 > first + n_local) mask &= ~0u >> (32 - (first + n_local) % 32);
                u32 found = __ldcg(&p.news[w]) & mask;
                if (found) found = atomicAnd(&p.news[w], ~mask) & mask;
                while (found) {
                    const u32 local = w * 32 + __ffs(found) - 1 - first;
                    found &= found - 1;
                    if (local < n_own) look_at(local);
                    else look_round(p.halo[p.halo_first[domain] + local - n_own], 0, 1);
                }
            }
            // The fence ensures that the times read here are not older than the news.
            __threadfence();
            for (u32 i = threadIdx.x; i < n_own; i += THREADS) own[i] = __ldcg(&words(p.bits)[own_first + i]);
            const auto read = [&](u32 node) {
                const u32 local = node - own_first;
                return as_real(local < n_own ? own[local] : __ldcg(&words(p.bits)[node]));
            };
            for (u32 inner = 0; inner < p.inner; inner++) {
                if (threadIdx.x == 0) n_list = 0;
                __syncthreads();
                for (u32 w = threadIdx.x; w < n_words; w += THREADS) {
                    u32 bits = todo[w];
                    if (!bits) continue;
                    todo[w] = 0;
                    u32 place = atomicAdd(&n_list, __popc(bits));
                    while (bits) {
                        list[place++] = w * 32 + __ffs(bits) - 1;
                        bits &= bits - 1;
                    }
                }
                __syncthreads();
                const u32 n_todo = n_list;
                if (n_todo == 0) break;
                for (u32 base = threadIdx.x / 32 * (32 / GROUP); base < n_todo; base += THREADS / GROUP) {
                    const u32 place = base + threadIdx.x % 32 / GROUP;
                    const bool valid = place < n_todo;
                    const u32 i = list[valid ? place : base];
                    const real before = as_real(own[i]);
                    const real time = compute<PRODUCTS, GROUP>(p, own_first + i, before, valid, solves, read);
                    if (valid && threadIdx.x % GROUP == 0) computed++;
                    if (valid && time < before * p.keep) {
                        if (threadIdx.x % GROUP == 0) {
                            own[i] = as_word(time);
                            atomicOr(&changed[i / 32], 1u << (i % 32));
                        }
                        look_round(own_first + i, threadIdx.x % GROUP, GROUP);
                    }
                }
                __syncthreads();
            }
            // Changed times are stored first. Then their readers are notified.
            if (threadIdx.x == 0) any = 0;
            __syncthreads();
            for (u32 i = threadIdx.x; i < n_own; i += THREADS) {
                if (changed[i / 32] >> (i % 32) & 1) __stcg(&words(p.bits)[own_first + i], own[i]);
                if (todo[i / 32] >> (i % 32) & 1) {
                    set_bit(p.news, first + i);
                    any = 1;
                }
            }
            __threadfence();
            __syncthreads();
            if (threadIdx.x == 0 && any) wake(p, round, domain);
            // One warp per pair.
            for (u32 pair = p.sent_first[domain] + threadIdx.x / 32; pair < p.sent_first[domain + 1]; pair += THREADS / 32) {
                const u32 reader = __ldg(&p.pair[pair].y), there = local_first(p, reader);
                bool told = false;
                for (u32 i = p.pair_first[pair] + threadIdx.x % 32; i < p.pair_first[pair + 1]; i += 32) {
                    const uint2 entry = __ldg(p.entries + i);
                    if (!(changed[entry.x / 32] >> (entry.x % 32) & 1)) continue;
                    set_bit(p.news, there + entry.y);
                    told = true;
                }
                if (__any_sync(~0u, told) && threadIdx.x % 32 == 0) wake(p, round, reader);
            }
            __syncthreads();
        }
        grid_barrier(p.counters, target);
    }
    end(p, solves, computed, round);
}

constexpr int RESIDENT = sizeof(real) == 8 ? 2 : 3;
#define KERNEL(NAME, APPROACH, PRODUCTS) \
    extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) NAME(const __grid_constant__ Params p) { APPROACH<PRODUCTS>(p); }
KERNEL(first_six, first_approach, SIX)
KERNEL(first_three, first_approach, THREE)
KERNEL(second_six, second_approach, SIX)
KERNEL(second_three, second_approach, THREE)
