// All sweeps in one launch. All thread blocks share one active list for the whole mesh, or for several sets of starts
// on it. This extends the paper's first approach: any thread block may work on any sub-domain.
//
// Names and steps are those of ../sweep.rs. Records with times and marks exist twice. Sweep s reads record[s & 1] and
// lowers times only in record[(s + 1) & 1]. The times of all entries on the list are also copied there. A sweep
// therefore needs one barrier, no thread reads results of the same sweep, and the bits do not depend on the order of
// threads.

#include "team.cuh"

struct alignas(2 * sizeof(word)) Record {
    word time;
    u32 mark; // sweep in which the entry is on the list
};

constexpr int THREADS = sizeof(real) == 8 ? 512 : 1024;
constexpr u32 KEPT = 3072; // entries that a thread block collects before they go to the list

struct Block {
    word least;
    u32 kept[KEPT];
    u32 n_kept, place;
};

#ifdef POGO_OF_DEVICES
// As `lower` and `push` below, for an entry that several devices read. `push` returns whether this device has to list it.
__device__ __noinline__ bool lower_on_all(const Params &p, u32 sweep, u32 entry, word time) {
    if (atomicMin_system(&p.record[(sweep + 1) & 1][entry].time, time) <= time) return false;
    if (by_messages(p))
        keep_for_others(p, sweep, entry);
    else
        Readers(p, entry).others(p, [&](u32 device) { atomicMin_system(&p.team.record[device][(sweep + 1) & 1][entry].time, time); });
    return true;
}

__device__ __noinline__ bool push_on_all(const Params &p, u32 sweep, u32 entry) {
    const Readers readers(p, entry);
    if (atomicExch_system(&p.record[(sweep + 1) & 1][entry].mark, sweep + 1) == sweep + 1) return false;
    if (by_messages(p)) {
        keep_for_others(p, sweep, entry);
        return readers.owner == p.team.me;
    }
    // All readers see that it is on the list; the device whose node it is lists it.
    bool is_new = true;
    readers.others(p, [&](u32 device) {
        const u32 before = atomicExch_system(&p.team.record[device][(sweep + 1) & 1][entry].mark, sweep + 1);
        if (device == readers.owner) is_new = before != sweep + 1;
    });
    if (readers.owner == p.team.me) return true;
    if (is_new) append_to(p, readers.owner, sweep, entry);
    return false;
}
#endif

// The records for `sweep`, at the meeting before it.
struct Records {
    __device__ static word time(const Params &p, u32 sweep, u32 entry) { return p.record[sweep & 1][entry].time; }
    __device__ static bool is_listed(const Params &p, u32 sweep, u32 entry) { return p.record[sweep & 1][entry].mark == sweep; }
    // Lowers the time of an entry. Returns whether it is to be listed, and was not.
    __device__ static bool lower(const Params &p, u32 sweep, u32 entry, word time, bool listed) {
        Record &record = p.record[sweep & 1][entry];
        atomicMin(&record.time, time);
        return listed && atomicExch(&record.mark, sweep) != sweep;
    }
};

// Lowers the time of an entry for the next sweep. Returns whether it was later.
__device__ __forceinline__ bool lower(const Params &p, u32 sweep, u32 entry, word time) {
#ifdef POGO_OF_DEVICES
    if (!Readers(p, entry).alone()) return lower_on_all(p, sweep, entry, time);
#endif
    return atomicMin(&p.record[(sweep + 1) & 1][entry].time, time) > time;
}

// Puts an entry on the list of the next sweep, once.
__device__ __forceinline__ void push(const Params &p, Block &block, u32 sweep, u32 entry) {
#ifdef POGO_OF_DEVICES
    if (!Readers(p, entry).alone()) {
        if (!push_on_all(p, sweep, entry)) return;
    } else
#endif
    if (atomicExch(&p.record[(sweep + 1) & 1][entry].mark, sweep + 1) == sweep + 1)
        return;
    u32 place = atomicAdd(&block.n_kept, 1u);
    if (place < KEPT)
        block.kept[place] = entry;
    else
        p.list[(sweep + 1) & 1][lengthen(p, sweep, 1)] = entry;
}

// Appends the collected entries of the thread block to the list of the next sweep.
__device__ __forceinline__ void hand_over(const Params &p, Block &block, u32 sweep) {
    __syncthreads();
    u32 n = min(block.n_kept, KEPT);
    if (threadIdx.x == 0) {
        if (n > 0) block.place = lengthen(p, sweep, n);
        if (block.least < INFINITE) atomicMin(&words(p.earliest)[(sweep + 1) % 3], block.least);
    }
    __syncthreads();
    u32 *to = p.list[(sweep + 1) & 1] + block.place;
    for (u32 i = threadIdx.x; i < n; i += THREADS) to[i] = block.kept[i];
    __syncthreads();
    if (threadIdx.x == 0) block.n_kept = 0, block.least = INFINITE;
}

// GROUP lanes compute an entry, one element each.
template <int PRODUCTS, int GROUP> __device__ __forceinline__ void run(const Params &p) {
    constexpr int N = PRODUCTS == THREE ? 3 : 4;
    __shared__ Block block;
    u32 target = 0;
    u32 solves = 0, passed_on = 0;
    if (threadIdx.x == 0) block.n_kept = 0, block.least = INFINITE;
    const u32 thread = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    const u32 mask = (1u << p.shift) - 1;
    for (u32 set = 0; set < p.n_sets; set++)
        for (u32 node = thread; node < p.n_nodes; node += n_threads) {
            p.record[0][set << p.shift | node] = {INFINITE, 0};
            p.record[1][set << p.shift | node] = {INFINITE, 0};
        }
    const auto meet_before = [&](u32 sweep) { meet<Records>(p, target, sweep, words(p.earliest) + sweep % 3, nullptr, [] {}); };
    meet_before(0);
    for (u32 i = thread; i < p.n_starts; i += n_threads) {
        const Start start = p.starts[i];
        if (!lists(p, start.entry)) continue;
        lower(p, 0, start.entry, start.time);
        atomicMin(&block.least, start.time);
        push(p, block, 0, start.entry);
    }
    hand_over(p, block, 0);
    meet_before(1);

    u32 sweep = 1;
    for (; sweep < p.most_sweeps; sweep++) {
        if (length_of_all(p, sweep) == 0) break;
        const u32 n = __ldcg(&p.counters[1 + sweep % 3]);
        const real limit = as_real(__ldcg(&words(p.earliest)[sweep % 3])) + p.window;
        // These were last read in the previous sweep, and the next sweep writes them.
        if (thread == 0) p.counters[1 + (sweep + 2) % 3] = 0, words(p.earliest)[(sweep + 2) % 3] = INFINITE;
        const Record *now = p.record[sweep & 1];
        const u32 *list = p.list[sweep & 1];
        real least = as_real(INFINITE);
        for (u32 i = thread / GROUP; i < n; i += n_threads / GROUP) {
            const u32 entry = list[i];
            const u32 node = entry & mask, set = entry & ~mask;
            const u32 first = __ldg(p.incident_first + node), last = __ldg(p.incident_first + node + 1);
            const word own = now[entry].time;
            const bool waits = as_real(own) > limit;
            if (threadIdx.x % GROUP == 0) {
                lower(p, sweep, entry, own);
                if (waits) {
                    least = fmin(least, as_real(own));
                    push(p, block, sweep, entry);
                } else
                    passed_on++;
            }
            if (waits) continue;
            for (u32 j = first + threadIdx.x % GROUP; j < last; j += GROUP) {
                const u32 incident = __ldg(p.incident + j);
                const u32 e = incident / 4;
                u32 nodes[N];
                load_nodes<PRODUCTS>(p.stored, e, nodes);
                const Element<PRODUCTS> element(p.stored, e, nodes);
                real t[N];
                u32 fresh = 0;
                for (int k = 0; k < N; k++) {
                    const Record record = now[set | nodes[k]];
                    t[k] = as_real(record.time);
                    fresh |= u32(record.mark == sweep && t[k] <= limit) << k;
                }
                // Only the lowest fresh corner of an element computes it.
                if (__ffs(fresh) - 1 != int(incident % 4)) continue;
                u32 todo = 0;
                for (int k = 0; k < N; k++) {
                    bool earlier = false;
                    for (int l = 0; l < N; l++) earlier |= l != k && t[l] < t[k];
                    todo |= u32(earlier && (fresh & ~(1u << k)) != 0) << k;
                }
                while (todo) {
                    const u32 k = __ffs(todo) - 1;
                    todo &= todo - 1;
                    const real time = solve<PRODUCTS>(element, t, k);
                    real before = k < 2 ? (k == 0 ? t[0] : t[1]) : t[2];
                    u32 to = k < 2 ? (k == 0 ? nodes[0] : nodes[1]) : nodes[2];
                    if (N == 4 && k == 3) before = t[N - 1], to = nodes[N - 1];
                    solves++;
                    if (time < before * p.keep) {
                        least = fmin(least, time);
                        const word bits = as_word(time);
                        if (lower(p, sweep, set | to, bits)) push(p, block, sweep, set | to);
                    }
                }
            }
        }
        for (int d = 16; d > 0; d /= 2) least = fmin(least, __shfl_xor_sync(~0u, least, d));
        if (threadIdx.x % 32 == 0 && least < as_real(INFINITE)) atomicMin(&block.least, as_word(least));
        hand_over(p, block, sweep);
        meet_before(sweep + 1);
    }
    for (u32 set = 0; set < p.n_sets; set++)
        for (u32 node = thread; node < p.n_nodes; node += n_threads)
            p.time[size_t(set) * p.n_nodes + node] = as_real(p.record[sweep & 1][set << p.shift | node].time);
    for (int d = 16; d > 0; d /= 2) {
        solves += __shfl_xor_sync(~0u, solves, d);
        passed_on += __shfl_xor_sync(~0u, passed_on, d);
    }
    if (threadIdx.x % 32 == 0) atomicAdd(&p.work[0], u64(solves)), atomicAdd(&p.work[1], u64(passed_on));
    if (thread == 0) p.counters[7] = sweep;
}

#define KERNEL(NAME, PRODUCTS, GROUP) \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) NAME(const __grid_constant__ Params p) { run<PRODUCTS, GROUP>(p); }
KERNEL(active_six_16, SIX, 16)
KERNEL(active_eighteen_16, EIGHTEEN, 16)
KERNEL(active_fly_16, FLY, 16)
KERNEL(active_three_8, THREE, 8)
