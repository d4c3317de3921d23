// One solve by several devices, each of which lists the nodes that are its own and has records of all. The sweeps are those
// of one device: what lowers or lists a node is done on all devices that read it, and all devices meet after a sweep. Devices that do
// not reach each other's memory lower and list it on their own, and tell the others of it at the meeting.
//
// Without POGO_OF_DEVICES there is one device, and all of this is as if it was not there.

#pragma once
#include "local.cuh"

#ifdef POGO_OF_DEVICES
#include "../../device/flags.cuh"

struct Params : SweepParams {
    Meeting team;
    Post post;
};
static_assert(sizeof(Params) == sizeof(TeamParams), "the host has the same structure");

// Bits of the devices that read a node, and the one that has it.
struct Readers {
    u32 bits, owner;

    __device__ __forceinline__ Readers(const Params &p, u32 node) {
        const u32 word = __ldg(p.team.place + node);
        bits = word & 0xff, owner = word >> 8;
    }
    __device__ __forceinline__ bool alone() const { return (bits & (bits - 1)) == 0; }
    // Calls `act` with each device but this one.
    template <typename Act> __device__ __forceinline__ void others(const Params &p, Act &&act) const {
#pragma unroll 1
        for (u32 device = 0; device < p.team.n_devices; device++)
            if (device != p.team.me && bits >> device & 1) act(device);
    }
};

// Whether this device lists a node.
__device__ __forceinline__ bool lists(const Params &p, u32 node) { return Readers(p, node).owner == p.team.me; }

// Whether devices exchange messages.
__device__ __forceinline__ bool by_messages(const Params &p) { return p.post.calls != nullptr; }

// Keeps an entry that was lowered or listed, which other devices are told of after the sweep.
__device__ __noinline__ void keep_for_others(const Params &p, u32 sweep, u32 entry) {
    if (atomicExch(&p.post.changed_for[entry], sweep + 1) != sweep + 1) p.post.changed[atomicAdd(p.post.n_changed, 1u)] = entry;
}

// Puts an entry on the list of another device for the sweep after this one. Each device counts what it has put on any list: others
// may still lengthen its own when it has come to a meeting.
__device__ __noinline__ void append_to(const Params &p, u32 device, u32 sweep, u32 entry) {
    atomicAdd(&p.counters[4], 1u);
    const u32 at = atomicAdd_system(p.team.counters[device] + 1 + (sweep + 1) % 3, 1u);
    p.team.list[device][(sweep + 1) & 1][at] = entry;
}

// Makes room on the list of this device, which others lengthen too.
__device__ __forceinline__ u32 lengthen(const Params &p, u32 sweep, u32 by) {
    atomicAdd(&p.counters[4], by);
    return atomicAdd_system(&p.counters[1 + (sweep + 1) % 3], by);
}

// Length of the lists of all devices.
__device__ __forceinline__ u32 length_of_all(const Params &p, u32) { return __ldcg(&p.counters[6]); }

// By messages: tells the host of entries that others read, and applies what it answers. `Records` has the records of the kernel. Then
// the list of this device for `sweep` is whole, and the earliest time and the number of entries are those of all.
template <typename Records> __device__ __noinline__ void exchange(const Params &p, u32 &target, u32 sweep, word *earliest, u32 *found) {
    const Post &post = p.post;
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, n_threads = gridDim.x * blockDim.x;
    grid_barrier(p.counters, target);
    const u32 n_told = __ldcg(post.n_changed);
    for (u32 i = thread; i < n_told; i += n_threads) {
        const u32 entry = __ldcg(post.changed + i);
        post.outgoing[i] = Records::is_listed(p, sweep, entry) ? entry | LISTED : entry;
        words(post.outgoing_time)[i] = Records::time(p, sweep, entry);
    }
    // What the thread block has written comes before what the first thread of all says.
    __syncthreads();
    if (threadIdx.x == 0) __threadfence_system();
    grid_barrier(p.counters, target);
    if (thread == 0) {
        volatile u64 *told = post.told;
        told[0] = n_told, told[1] = __ldcg(&p.counters[1 + sweep % 3]), told[2] = __ldcg(earliest);
        *post.n_changed = 0;
        __threadfence_system();
        // The first exchange is that before sweep 1.
        release_to_devices(post.calls, sweep);
        wait_for_host(post.answered, sweep);
        p.counters[6] = u32(from_host(post.heard + 1));
        *earliest = word(from_host(post.heard + 2));
        if (found) *found = p.counters[6];
        // For all threads: if each read the host's memory, that would take milliseconds on a full device.
        p.counters[7] = u32(from_host(post.heard));
    }
    grid_barrier(p.counters, target);
    const u32 n_heard = __ldcg(&p.counters[7]);
    for (u32 i = thread; i < n_heard; i += n_threads) {
        const u32 word_of_entry = from_host(post.incoming + i), entry = word_of_entry & ~LISTED;
        const word time = from_host(reinterpret_cast<const word *>(post.incoming_time) + i);
        const bool is_new = Records::lower(p, sweep, entry, time, word_of_entry & LISTED);
        if (is_new && lists(p, entry)) p.list[sweep & 1][lengthen(p, sweep - 1, 1)] = entry;
    }
}

// What a device has found for a sweep, in a row of `gathered`: the entries that it has put on lists, those of its set, the earliest.
constexpr u32 ROW = 4;

// Barrier of all thread blocks of all devices after which `sweep` begins. The last thread block of a device to arrive tells the
// other devices of what was found, waits for them, and lets the others of its device go on.
template <typename Records, typename Work>
__device__ __forceinline__ void meet(const Params &p, u32 &target, u32 sweep, word *earliest, u32 *found, Work meanwhile) {
    if (by_messages(p)) {
        if (sweep > 0) exchange<Records>(p, target, sweep, earliest, found);
        grid_barrier(p.counters, target, meanwhile);
        return;
    }
    target += gridDim.x;
    const u32 number = target / gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        // What all threads of the block have sent to other devices comes before its arrival.
        __threadfence_system();
        if (atomicAdd(p.counters, 1u) + 1 == target) {
            __threadfence_system();
            const Meeting &team = p.team;
            const u32 half = number % 2 * team.n_devices;
            const u32 n = atomicExch(&p.counters[4], 0u);
#pragma unroll 1
            for (u32 device = 0; device < team.n_devices; device++) {
                volatile u64 *row = team.gathered[device] + ROW * (half + team.me);
                row[0] = n, row[1] = found ? __ldcg(found) : 0, row[2] = __ldcg(earliest);
            }
            __threadfence_system();
#pragma unroll 1
            for (u32 device = 0; device < team.n_devices; device++)
                if (device != team.me) release_to_devices(team.arrived[device] + team.me, number);
#pragma unroll 1
            for (u32 device = 0; device < team.n_devices; device++) {
                if (device == team.me) continue;
                for (u32 tries = 0; acquire_from_devices(team.arrived[team.me] + device) < number; tries++)
                    if (tries > MOST_TRIES) __trap();
            }
            u32 all = 0, entries = 0;
            word least = INFINITE;
#pragma unroll 1
            for (u32 device = 0; device < team.n_devices; device++) {
                const volatile u64 *row = team.gathered[team.me] + ROW * (half + device);
                all += u32(row[0]), entries += u32(row[1]);
                const word time = word(row[2]);
                least = time < least ? time : least;
            }
            *earliest = least;
            if (found) *found = entries;
            p.counters[6] = all;
            release_to_blocks(p.counters + 5, number);
        } else {
            while (int(acquire_from_blocks(p.counters + 5) - number) < 0) {}
        }
        __threadfence_system();
    } else
        meanwhile();
    __syncthreads();
}

#else

typedef SweepParams Params;

__device__ __forceinline__ bool lists(const Params &, u32) { return true; }

__device__ __forceinline__ u32 lengthen(const Params &p, u32 sweep, u32 by) {
    return atomicAdd(&p.counters[1 + (sweep + 1) % 3], by);
}

__device__ __forceinline__ u32 length_of_all(const Params &p, u32 sweep) { return __ldcg(&p.counters[1 + sweep % 3]); }

template <typename Records, typename Work>
__device__ __forceinline__ void meet(const Params &p, u32 &target, u32, word *, u32 *, Work meanwhile) {
    grid_barrier(p.counters, target, meanwhile);
}

#endif
