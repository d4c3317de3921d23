// The paper's second approach (Section 6.3.2) in one launch: one thread block a sub-domain, whose times lie in shared memory for a few
// inner sweeps; then what changed goes out, and the sub-domains that read it are woken. One barrier for all blocks a round.
//
// Times of the halo are read from global memory while their owners may lower them: results are those of `active.cu` to rounding, but
// their last bits may differ from run to run.

#include "local.cuh"

struct Params {
    Stored stored;
    const u32 *incident_first, *incident;
    const u32 *neighbour_first, *neighbours;
    const u32 *node_first; // of sub-domains, (n_domains + 1,)
    const u32 *owner;      // sub-domain of a node, (n_nodes,)
    u32 *bits;             // times, (n_nodes,)
    u32 *dirty;            // one bit a node: a neighbour's time fell
    u32 *list[2], *mark;   // active sub-domains of a round; the round in which a sub-domain was last put on a list
    u32 *counters;         // 0: arrivals at the barrier; 1 to 3: lengths of lists; 7: rounds
    u64 *work;             // local solves, nodes computed
    const uint2 *starts;   // node, time
    float *time;           // results, (n_nodes,)
    u32 n_starts, n_nodes, n_domains, most_own;
    float keep;
    u32 inner, most_rounds, reserved;
};

constexpr int THREADS = 256;

__device__ __forceinline__ void wake(const Params &p, u32 round, u32 domain) {
    if (atomicExch(&p.mark[domain], round + 1) != round + 1)
        p.list[(round + 1) & 1][atomicAdd(&p.counters[1 + (round + 1) % 3], 1u)] = domain;
}

// A neighbour's time fell: the node's owner has to look at it in the next round.
__device__ __forceinline__ void tell(const Params &p, u32 round, u32 node) {
    u32 bit = 1u << (node % 32);
    if (!(atomicOr(&p.dirty[node / 32], bit) & bit)) __threadfence();
    wake(p, round, p.owner[node]);
}

template <int FORM> __device__ __forceinline__ void run(const Params &p) {
    constexpr int N = FORM == THREE ? 3 : 4;
    constexpr int GROUP = FORM == THREE ? 8 : 16;
    extern __shared__ u32 shared[];
    const u32 n_words = (p.most_own + 31) / 32;
    float *own = reinterpret_cast<float *>(shared);
    u32 *todo = shared + p.most_own, *changed = todo + n_words;
    u32 *list = changed + n_words;
    __shared__ u32 n_list, any;
    u32 target = 0, solves = 0, computed = 0;
    const u32 thread = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    for (u32 node = thread; node < p.n_nodes; node += n_threads) p.bits[node] = INFINITE;
    for (u32 word = thread; word < (p.n_nodes + 31) / 32; word += n_threads) p.dirty[word] = 0;
    for (u32 domain = thread; domain < p.n_domains; domain += n_threads) p.mark[domain] = 0;
    grid_barrier(p.counters, target);
    for (u32 i = thread; i < p.n_starts; i += n_threads) {
        uint2 start = p.starts[i];
        atomicMin(&p.bits[start.x], start.y);
        for (u32 j = p.neighbour_first[start.x]; j < p.neighbour_first[start.x + 1]; j++) tell(p, 0, p.neighbours[j]);
    }
    grid_barrier(p.counters, target);

    u32 round = 1;
    for (; round < p.most_rounds; round++) {
        const u32 n = __ldcg(&p.counters[1 + round % 3]);
        if (n == 0) break;
        if (thread == 0) p.counters[1 + (round + 2) % 3] = 0;
        for (u32 at = blockIdx.x; at < n; at += gridDim.x) {
            const u32 domain = __ldcg(&p.list[round & 1][at]);
            const u32 begin = p.node_first[domain], n_own = p.node_first[domain + 1] - begin;
            for (u32 word = threadIdx.x; word < n_words; word += THREADS) todo[word] = changed[word] = 0;
            __syncthreads();
            for (u32 word = begin / 32 + threadIdx.x; word * 32 < begin + n_own; word += THREADS) {
                u32 mask = ~0u;
                if (word * 32 < begin) mask &= ~0u << (begin % 32);
                if (word * 32 + 32 > begin + n_own) mask &= ~0u >> (32 - (begin + n_own) % 32);
                u32 found = atomicAnd(&p.dirty[word], ~mask) & mask;
                while (found) {
                    u32 i = word * 32 + __ffs(found) - 1 - begin;
                    found &= found - 1;
                    atomicOr(&todo[i / 32], 1u << (i % 32));
                }
            }
            __threadfence();
            for (u32 i = threadIdx.x; i < n_own; i += THREADS) own[i] = __uint_as_float(__ldcg(&p.bits[begin + i]));
            for (u32 inner = 0; inner < p.inner; inner++) {
                if (threadIdx.x == 0) n_list = 0;
                __syncthreads();
                for (u32 word = threadIdx.x; word < n_words; word += THREADS) {
                    u32 bits = todo[word];
                    if (!bits) continue;
                    todo[word] = 0;
                    u32 place = atomicAdd(&n_list, __popc(bits));
                    while (bits) {
                        list[place++] = word * 32 + __ffs(bits) - 1;
                        bits &= bits - 1;
                    }
                }
                __syncthreads();
                const u32 n_todo = n_list;
                if (n_todo == 0) break;
                constexpr u32 A_WARP = 32 / GROUP;
                for (u32 base = threadIdx.x / 32 * A_WARP; base < n_todo; base += THREADS / GROUP) {
                    const u32 place = base + threadIdx.x % 32 / GROUP;
                    const bool valid = place < n_todo;
                    const u32 i = list[valid ? place : base], node = begin + i;
                    const u32 first = __ldg(p.incident_first + node), last = __ldg(p.incident_first + node + 1);
                    float time = __uint_as_float(INFINITE);
                    const float before = own[i];
                    for (u32 j = first + threadIdx.x % GROUP; valid && j < last; j += GROUP) {
                        const u32 incident = __ldg(p.incident + j);
                        u32 nodes[N];
                        load_nodes<FORM>(p.stored, incident / 4, nodes);
                        const Element<FORM> element(p.stored, incident / 4, nodes);
                        float t[N];
                        bool earlier = false;
                        for (int k = 0; k < N; k++) {
                            const u32 local = nodes[k] - begin;
                            t[k] = local < n_own ? own[local] : __uint_as_float(__ldcg(&p.bits[nodes[k]]));
                            earlier |= k != int(incident % 4) && t[k] < before;
                        }
                        if (!earlier) continue;
                        time = fminf(time, solve<FORM>(element, t, incident % 4));
                        solves++;
                    }
                    for (int d = GROUP / 2; d > 0; d /= 2) time = fminf(time, __shfl_xor_sync(~0u, time, d));
                    if (valid && threadIdx.x % GROUP == 0) computed++;
                    if (valid && time < before * p.keep) {
                        if (threadIdx.x % GROUP == 0) {
                            own[i] = time;
                            atomicOr(&changed[i / 32], 1u << (i % 32));
                        }
                        const u32 neighbour_first = p.neighbour_first[node], neighbour_last = p.neighbour_first[node + 1];
                        for (u32 j = neighbour_first + threadIdx.x % GROUP; j < neighbour_last; j += GROUP) {
                            const u32 local = __ldg(p.neighbours + j) - begin;
                            if (local < n_own) atomicOr(&todo[local / 32], 1u << (local % 32));
                        }
                    }
                }
                __syncthreads();
            }
            // What changed goes out; then whoever reads it is told.
            if (threadIdx.x == 0) any = 0;
            __syncthreads();
            for (u32 i = threadIdx.x; i < n_own; i += THREADS)
                if (changed[i / 32] >> (i % 32) & 1) __stcg(&p.bits[begin + i], __float_as_uint(own[i]));
            __threadfence();
            __syncthreads();
            for (u32 i = threadIdx.x; i < n_own; i += THREADS) {
                if (changed[i / 32] >> (i % 32) & 1)
                    for (u32 j = p.neighbour_first[begin + i]; j < p.neighbour_first[begin + i + 1]; j++) {
                        const u32 other = p.neighbours[j];
                        if (other - begin >= n_own) tell(p, round, other);
                    }
                if (todo[i / 32] >> (i % 32) & 1) {
                    atomicOr(&p.dirty[(begin + i) / 32], 1u << ((begin + i) % 32));
                    any = 1;
                }
            }
            __syncthreads();
            if (threadIdx.x == 0 && any) wake(p, round, domain);
        }
        grid_barrier(p.counters, target);
    }
    for (u32 node = thread; node < p.n_nodes; node += n_threads) p.time[node] = __uint_as_float(__ldcg(&p.bits[node]));
    atomicAdd(&p.work[0], u64(solves));
    atomicAdd(&p.work[1], u64(computed));
    if (thread == 0) p.counters[7] = round;
}

#define KERNEL(NAME, FORM) \
    extern "C" __global__ void __launch_bounds__(THREADS, 3) NAME(const __grid_constant__ Params p) { run<FORM>(p); }
KERNEL(domains_six, SIX)
KERNEL(domains_three, THREE)
