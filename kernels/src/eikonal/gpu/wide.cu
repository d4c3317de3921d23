// As active.cu, for tetrahedra with six products. It is faster, but it needs more memory:
//
// 1. The data that a node needs of its elements are contiguous, with one copy for each corner (nine words; all first
//    words, then all second words, and so on). A warp reads whole lines (the redundancy of the paper's Fig. 4).
// 2. Local solves are listed in shared memory and then distributed, so that all lanes of a warp have one.
// 3. One thread examines each waiting entry, so such entries never occupy a warp.
// 4. Time and mark of an entry are one number of 64 bits. The mark is the complement of the sweep. One atomic minimum
//    lowers the time and tells whether the entry is on the list already.
//
// Each set of starts has its own window. Its times therefore have the same bits for any number of sets that are solved
// at once.

#include "team.cuh"

// A record is time << 32 | ~sweep, where the entry is on the list of that sweep.
__device__ __forceinline__ u64 *records(const Params &p, u32 sweep) { return reinterpret_cast<u64 *>(p.record[sweep & 1]); }

constexpr int THREADS = WIDE_THREADS;
constexpr int WARPS = THREADS / 32;
constexpr u32 KEPT = WIDE_KEPT, ITEMS = WIDE_ITEMS, SOLVES = WIDE_SOLVES;

// Number of items that a warp examines before the listed local solves are computed.
constexpr int PER_WARP = 3;

struct Block {
    uint2 item[ITEMS]; // entry, first of its elements in this item
    u32 n_of[ITEMS]; // number of elements in the item, at most 32
    u32 kept[KEPT];
    float phi[3][SOLVES], square[6][SOLVES], before[SOLVES];
    u32 to[SOLVES];
    u32 least[MOST_SETS], found[MOST_SETS];
    u32 n_kept, place, n_items, n_solves[2];
};
static_assert(sizeof(Block) == WIDE_SHARED, "the host counts with another size");

__device__ __forceinline__ u64 make_record(u32 time, u32 sweep) { return u64(time) << 32 | u32(~sweep); }

#ifdef POGO_OF_DEVICES
// As `lower` below, for an entry that several devices read.
__device__ __noinline__ u64 lower_on_all(const Params &p, u32 sweep, u32 entry, u64 record) {
    const Readers readers(p, entry);
    u64 before = atomicMin_system(&records(p, sweep + 1)[entry], record);
    // Whoever has lowered it here has told the others.
    if (before <= record) return before;
    if (by_messages(p)) {
        keep_for_others(p, sweep, entry);
        return before;
    }
    readers.others(p, [&](u32 device) {
        u64 *there = reinterpret_cast<u64 *>(p.team.record[device][(sweep + 1) & 1]);
        const u64 seen = atomicMin_system(&there[entry], record);
        if (device == readers.owner) before = seen;
    });
    return before;
}
#endif

// Lowers a record for the next sweep. Returns what it was, on the device that lists the entry.
__device__ __forceinline__ u64 lower(const Params &p, u32 sweep, u32 entry, u64 record) {
#ifdef POGO_OF_DEVICES
    if (!Readers(p, entry).alone()) return lower_on_all(p, sweep, entry, record);
#endif
    return atomicMin(&records(p, sweep + 1)[entry], record);
}

// Whether a record that was lowered to `time` puts the entry on the list of `sweep`: it was neither earlier nor on that list already.
__device__ __forceinline__ bool is_new(u64 before, u32 time, u32 sweep) { return u32(before >> 32) >= time && u32(before) != ~sweep; }

// The records for `sweep`, at the meeting before it.
struct Records {
    __device__ static word time(const Params &p, u32 sweep, u32 entry) { return u32(records(p, sweep)[entry] >> 32); }
    __device__ static bool is_listed(const Params &p, u32 sweep, u32 entry) { return u32(records(p, sweep)[entry]) == ~sweep; }
    // Lowers the time of an entry. Returns whether it is to be listed, and was not.
    __device__ static bool lower(const Params &p, u32 sweep, u32 entry, word time, bool listed) {
        const u64 before = atomicMin(&records(p, sweep)[entry], make_record(time, listed ? sweep : 0));
        return listed && is_new(before, time, sweep);
    }
};

// Lowers the time of an entry for the next sweep to `time`, and puts the entry on the list of that sweep.
__device__ __forceinline__ void push(const Params &p, Block &block, u32 sweep, u32 entry, u32 time) {
    u32 &least = block.least[entry >> p.shift];
    if (time < *(volatile u32 *)&least) atomicMin(&least, time);
    const u64 before = lower(p, sweep, entry, make_record(time, sweep + 1));
    if (!is_new(before, time, sweep + 1)) return;
    atomicAdd(&block.found[entry >> p.shift], 1u);
#ifdef POGO_OF_DEVICES
    const u32 owner = Readers(p, entry).owner;
    if (owner != p.team.me) {
        if (!by_messages(p)) append_to(p, owner, sweep, entry);
        return;
    }
#endif
    u32 place = atomicAdd(&block.n_kept, 1u);
    if (place < KEPT)
        block.kept[place] = entry;
    else
        p.list[(sweep + 1) & 1][lengthen(p, sweep, 1)] = entry;
}

// Appends the collected entries of the thread block to the list of the next sweep.
__device__ __forceinline__ void hand_over(const Params &p, Block &block, u32 sweep) {
    __syncthreads();
    const u32 n = min(block.n_kept, KEPT);
    if (threadIdx.x == 0 && n > 0) block.place = lengthen(p, sweep, n);
    if (threadIdx.x >= 32 && threadIdx.x < 32 + p.n_sets) {
        const u32 set = threadIdx.x - 32;
        u32 *at = words(p.earliest) + (sweep + 1) % 3 * MOST_SETS + set;
        if (block.least[set] < INFINITE) atomicMin(at, block.least[set]);
        if (block.found[set] > 0) atomicAdd(at + 3 * MOST_SETS, block.found[set]);
    }
    __syncthreads();
    u32 *to = p.list[(sweep + 1) & 1] + block.place;
    for (u32 i = threadIdx.x; i < n; i += THREADS) to[i] = block.kept[i];
}

// Computes one listed local solve and stores its result.
__device__ __forceinline__ void settle(const Params &p, Block &block, u32 sweep, u32 q) {
    const float time = tetrahedron(block.phi[0][q], block.phi[1][q], block.phi[2][q],
                                   from_squares(block.square[0][q], block.square[1][q], block.square[2][q], block.square[3][q],
                                                block.square[4][q], block.square[5][q]));
    if (time < block.before[q] * p.keep) push(p, block, sweep, block.to[q], __float_as_uint(time));
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) wide_six(const __grid_constant__ Params p) {
    extern __shared__ unsigned char memory[];
    Block &block = *reinterpret_cast<Block *>(memory);
    u32 target = 0, solves = 0, passed_on = 0;
    if (threadIdx.x == 0) block.n_kept = block.n_items = block.n_solves[0] = block.n_solves[1] = 0;
    if (threadIdx.x < MOST_SETS) block.least[threadIdx.x] = INFINITE, block.found[threadIdx.x] = 0;
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, below = (1u << lane) - 1;
    const u32 thread = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    const u32 mask = (1u << p.shift) - 1;
    for (u32 set = 0; set < p.n_sets; set++)
        for (u32 node = thread; node < p.n_nodes; node += n_threads) {
            records(p, 0)[set << p.shift | node] = make_record(INFINITE, 0);
            records(p, 1)[set << p.shift | node] = make_record(INFINITE, 0);
        }
    // Several devices have one set.
    const auto meet_before = [&](u32 sweep, auto meanwhile) {
        word *earliest = words(p.earliest) + sweep % 3 * MOST_SETS;
        meet<Records>(p, target, sweep, earliest, earliest + 3 * MOST_SETS, meanwhile);
    };
    meet_before(0, [] {});
    for (u32 i = thread; i < p.n_starts; i += n_threads) {
        const Start start = p.starts[i];
        if (lists(p, start.entry)) push(p, block, 0, start.entry, start.time);
    }
    // Clears the sums of this thread block for the next sweep.
    auto clear = [&block] {
        if (threadIdx.x >= 32 && threadIdx.x < 32 + MOST_SETS)
            block.least[threadIdx.x - 32] = INFINITE, block.found[threadIdx.x - 32] = 0;
        if (threadIdx.x == 1) block.n_kept = 0;
    };
    hand_over(p, block, 0);
    meet_before(1, clear);

    u32 sweep = 1, turn = 0;
    for (; sweep < p.most_sweeps; sweep++) {
        if (length_of_all(p, sweep) == 0) break;
        const u32 n = __ldcg(&p.counters[1 + sweep % 3]);
        const u32 *earliest = words(p.earliest) + sweep % 3 * MOST_SETS;
        // These were last read in the previous sweep, and the next sweep writes them.
        if (thread == 0) p.counters[1 + (sweep + 2) % 3] = 0;
        if (thread < MOST_SETS) {
            words(p.earliest)[(sweep + 2) % 3 * MOST_SETS + thread] = INFINITE;
            words(p.earliest)[(3 + (sweep + 2) % 3) * MOST_SETS + thread] = 0;
        }
        const auto limit_of = [&](u32 entry) {
            const u32 set = entry >> p.shift;
            return earliest[3 * MOST_SETS + set] <= p.window_free ? __uint_as_float(INFINITE) : __uint_as_float(earliest[set]) + p.window;
        };
        const u64 *now = records(p, sweep);
        const u32 *list = p.list[sweep & 1];
        // One thread examines each entry. Consecutive entries go to different thread blocks.
        for (u32 first_entry = 0; first_entry < n; first_entry += n_threads) {
            const u32 i = first_entry + threadIdx.x * gridDim.x + blockIdx.x;
            if (i < n) {
                const u32 entry = list[i];
                const u32 own = u32(now[entry] >> 32), node = entry & mask;
                const float limit = limit_of(entry);
                const u32 first = __ldg(p.incident_first + node), last = __ldg(p.incident_first + node + 1);
                if (__uint_as_float(own) <= limit) {
                    // The host ensures that the list has room.
                    const u32 n_items = (last - first + 31) / 32, place = atomicAdd(&block.n_items, n_items);
                    for (u32 k = 0; k < n_items; k++) {
                        block.item[place + k] = make_uint2(entry, first + 32 * k);
                        block.n_of[place + k] = min(last - first - 32 * k, 32u);
                    }
                    passed_on++;
                    lower(p, sweep, entry, make_record(own, 0));
                } else
                    push(p, block, sweep, entry, own);
            }
            __syncthreads();
            const u32 n_items = block.n_items;
            for (u32 first_item = 0; first_item < n_items; first_item += PER_WARP * WARPS, turn ^= 1) {
                // One warp per item, one lane per element. Each lane determines which corners of its element to solve.
                for (u32 it = first_item + warp; it < min(first_item + PER_WARP * WARPS, n_items); it += WARPS) {
                    u32 todo = 0, ids[4];
                    float t[4], l[6];
                    if (lane < block.n_of[it]) {
                        const uint2 item = block.item[it];
                        const u32 node = item.x & mask, set = item.x & ~mask;
                        const u32 *at = p.wide + item.y + lane;
                        for (int k = 0; k < 3; k++) ids[k] = __ldg(at + k * p.n_incident);
                        for (int k = 0; k < 6; k++) l[k] = __uint_as_float(__ldg(at + (3 + k) * p.n_incident));
                        ids[3] = node;
                        const float limit = limit_of(item.x);
                        u32 fresh = 8;
                        bool mine = true;
                        for (int k = 0; k < 3; k++) {
                            const u64 record = now[set | ids[k]];
                            t[k] = __uint_as_float(u32(record >> 32));
                            const bool is = u32(record) == ~sweep && t[k] <= limit;
                            fresh |= u32(is) << k;
                            // Only the fresh node with the lowest number computes an element.
                            mine &= !(is && ids[k] < node);
                            ids[k] |= set;
                        }
                        ids[3] |= set;
                        t[3] = __uint_as_float(u32(now[item.x] >> 32));
                        for (int k = 0; k < 4; k++) {
                            bool earlier = false;
                            for (int m = 0; m < 4; m++) earlier |= m != k && t[m] < t[k];
                            todo |= u32(mine && earlier && (fresh & ~(1u << k)) != 0) << k;
                        }
                    }
                    u32 vote[4], total = 0;
                    for (int k = 0; k < 4; k++) vote[k] = __ballot_sync(~0u, todo >> k & 1), total += __popc(vote[k]);
                    u32 place = 0;
                    if (lane == 0 && total > 0) place = atomicAdd(&block.n_solves[turn], total);
                    place = __shfl_sync(~0u, place, 0);
                    // For each corner k of (a, b, c, o): the other corners in order, and the squares 13, 23, 12, 14,
                    // 24, 34 of these three and k.
                    constexpr int FROM[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
                    constexpr int SQUARE[4][6] = {{4, 5, 2, 0, 1, 3}, {3, 5, 1, 0, 2, 4}, {3, 4, 0, 1, 2, 5}, {1, 2, 0, 3, 4, 5}};
                    for (int k = 0; k < 4; k++) {
                        const u32 q = place + __popc(vote[k] & below);
                        place += __popc(vote[k]);
                        // The list is full only if many nodes are fresh at once. A local solve without a place in the
                        // list is computed here.
                        if (todo >> k & 1) {
                            if (q < SOLVES) {
                                for (int m = 0; m < 3; m++) block.phi[m][q] = t[FROM[k][m]];
                                for (int m = 0; m < 6; m++) block.square[m][q] = l[SQUARE[k][m]];
                                block.before[q] = t[k];
                                block.to[q] = ids[k];
                            } else {
                                const int *s = SQUARE[k];
                                const float time = tetrahedron(t[FROM[k][0]], t[FROM[k][1]], t[FROM[k][2]],
                                                               from_squares(l[s[0]], l[s[1]], l[s[2]], l[s[3]], l[s[4]], l[s[5]]));
                                if (time < t[k] * p.keep) push(p, block, sweep, ids[k], __float_as_uint(time));
                            }
                        }
                    }
                }
                __syncthreads();
                const u32 n_solves = min(block.n_solves[turn], SOLVES);
                if (threadIdx.x == 0) solves += block.n_solves[turn], block.n_solves[turn ^ 1] = 0;
                for (u32 q = threadIdx.x; q < n_solves; q += THREADS) settle(p, block, sweep, q);
                __syncthreads();
            }
            // Without items no barrier stands between this and the reading above.
            if (threadIdx.x == 0 && n_items > 0) block.n_items = 0;
            __syncthreads();
        }
        hand_over(p, block, sweep);
        meet_before(sweep + 1, clear);
    }
    for (u32 set = 0; set < p.n_sets; set++)
        for (u32 node = thread; node < p.n_nodes; node += n_threads)
            p.time[size_t(set) * p.n_nodes + node] = __uint_as_float(u32(records(p, sweep)[set << p.shift | node] >> 32));
    for (int d = 16; d > 0; d /= 2) passed_on += __shfl_xor_sync(~0u, passed_on, d);
    if (threadIdx.x == 0) atomicAdd(&p.work[0], u64(solves));
    if (lane == 0) atomicAdd(&p.work[1], u64(passed_on));
    if (thread == 0) p.counters[7] = sweep;
}

// Collects the data that each node needs of its elements, with one thread per entry of `incident`.
extern "C" __global__ void __launch_bounds__(256) widen(const u32 *incident, const uint4 *nodes, const float *squares, u32 *wide,
                                                         u64 n_incident) {
    const u64 j = u64(blockIdx.x) * 256 + threadIdx.x;
    if (j >= n_incident) return;
    const u32 e = incident[j] / 4, k = incident[j] % 4;
    const uint4 four = nodes[e];
    const u32 id[4] = {four.x, four.y, four.z, four.w};
    // Positions of the edges between two corners.
    const u32 edge[4][4] = {{0, 0, 1, 3}, {0, 0, 2, 4}, {1, 2, 0, 5}, {3, 4, 5, 0}};
    const u32 a = k == 0 ? 1 : 0, b = k <= 1 ? 2 : 1, c = k <= 2 ? 3 : 2;
    const float *l = squares + 6 * size_t(e);
    const u32 place[6] = {edge[a][b], edge[a][c], edge[b][c], edge[a][k], edge[b][k], edge[c][k]};
    wide[j] = id[a], wide[n_incident + j] = id[b], wide[2 * n_incident + j] = id[c];
    for (int i = 0; i < 6; i++) wide[(3 + i) * n_incident + j] = __float_as_uint(l[place[i]]);
}
