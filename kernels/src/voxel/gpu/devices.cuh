// The threads of one launch on each of several devices, for levels.cuh.
//
// All devices compute large levels, each its own nodes. They read the vectors of the others where these begin. On level 1
// several devices compute an element that has nodes of each, and each adds what belongs to its own nodes. So a barrier
// between colours is one of the device alone. The first device computes the small levels alone, because a barrier of all devices takes longer than what
// they save there. The other devices wait until it comes back to a large level.

#pragma once

#ifdef __CUDACC__
/// A device waits for some ten seconds for another one. Then that one is lost, and this one gives up too.
constexpr u32 MOST_TRIES = 1 << 24;

/// A fence must precede the call.
INLINE void release(u32* at, u32 value) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

INLINE void wait_for(const u32* at, u32 value) {
    u32 now;
    for (u32 tries = 0;; tries++) {
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(now) : "l"(at) : "memory");
        if (now >= value) return;
        if (tries > MOST_TRIES) __trap();
    }
}

/// Waits until the host has answered so many calls.
INLINE void wait_for_host(const u32* at, u32 calls) {
    u32 now;
    do {
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(now) : "l"(at) : "memory");
        if (now == GIVEN_UP) __trap();
    } while (now < calls);
}

/// Reads what the host has written; no cache may have what was there before.
template <class T> INLINE T from_host(const T* at) { return *static_cast<const volatile T*>(at); }
#else
#include <thread>

template <class T> T from_host(const T* at) { return *at; }
inline void wait_for_host(const u32* at, u32 calls) {
    while (__atomic_load_n(at, __ATOMIC_ACQUIRE) < calls) std::this_thread::yield();
}
inline void release(u32* at, u32 value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
inline void wait_for(const u32* at, u32 value) {
    while (__atomic_load_n(at, __ATOMIC_ACQUIRE) < value) std::this_thread::yield();
}
#endif

/// The threads of the launches of all devices. Every device forms each sum of all devices in the same order.
struct LaunchOfDevices : Launch {
    const Peers& peers;
    /// The first device computes a small level.
    bool alone = false;
    /// Meetings of all devices up to now, or calls of the host.
    u32 met = 0;
    u32 shared_slot = 0;
    /// Whether sums were given since the last meeting.
    bool has_given = false;

    DEVICE LaunchOfDevices(const Tables& tables) : Launch(tables), peers(tables.peers) {}

    INLINE bool waits() const { return alone && peers.me != 0; }
    INLINE void enter(u32 level) {
        if (level == peers.n_shared) alone = true;
    }
    /// Ends the work on a level, after which the level above continues with these values.
    INLINE void leave(u32 level, float* values) {
        if (level != peers.n_shared) return;
        alone = false;
        meet(N_LISTS * level + IN_PROLONGATION, values);
    }

    INLINE bool computes(const Level& level, u32 node) const { return node >= level.first && node < level.end; }
    INLINE u32 first_element(const Tables&) const { return 0; }
    INLINE u32 end_element(const Tables&) const { return peers.n_elements; }
    INLINE bool has(u32 node) const { return node >= peers.node_first && node < peers.node_end; }
    INLINE bool has_some(const Tables& tables, const Cell& cell) const {
        if (cell.places & OF_ANOTHER) return false;
        const u32 x = 2 * cell.x, y = 2 * cell.y;
        const u32 lowest = y / 15 * tables.n_tiles + x / 15, highest = (y + 2) / 15 * tables.n_tiles + (x + 2) / 15;
        return lowest <= peers.tile_last && highest >= peers.tile_first;
    }

    /// Barrier of all thread blocks of all devices, or of the first device while it computes alone. Afterwards each sees
    /// what the others have written before: by messages, the nodes of a list in one vector, and sums.
    INLINE void meet(u32 list = NOBODY, float* vector = nullptr) {
        if (alone) {
            Launch::meet();
            return;
        }
        if (peers.post.letters) {
            exchange(list, vector);
            return;
        }
        met++;
#ifdef __CUDACC__
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence_system();
            // The last thread block of a device tells all devices.
            if (atomicAdd(arrived + 1, 1) + 1 == met * gridDim.x) tell();
            wait();
        }
        __syncthreads();
#else
        tell();
        wait();
#endif
    }

    /// Sends the nodes of a list in a vector, where ranks exchange messages.
    INLINE void share(u32 list, float* vector) {
        if (!alone && peers.post.letters) exchange(list, vector);
    }

    /// A round of messages. Without a list and without sums it is a barrier of this device. (It stands apart: at each of its many places it
    /// would take registers of devices that reach each other's memory.)
    APART void exchange(u32 list, float* vector) {
        Launch::meet();
        const bool summed = has_given;
        has_given = false;
        if (list == NOBODY && !summed) return;
        const Post& post = peers.post;
        Letter letter = {};
        if (list != NOBODY) letter = post.letters[list];
        for (u32 i = thread; i < 3 * letter.n_sent; i += n_threads)
            post.outgoing[i] = vector[3 * u64(letter.sent[i / 3]) + i % 3];
#ifdef __CUDACC__
        __threadfence_system();
#endif
        Launch::meet();
        met++;
        if (thread == 0) {
            post.calls[1] = summed ? list | SUMMED : list;
#ifdef __CUDACC__
            __threadfence_system();
#endif
            release(post.calls, met);
            wait_for_host(post.answered, met);
        }
        Launch::meet();
        for (u32 i = thread; i < 3 * letter.n_received; i += n_threads)
            vector[3 * u64(letter.received[i / 3]) + i % 3] = from_host(post.incoming + i);
        if (summed) {
            double* partial = peers.partial[0] + shared_slot * SUMS * peers.n_blocks;
            for (u32 i = thread; i < SUMS * peers.n_blocks; i += n_threads) partial[i] = from_host(post.all_sums + i);
        }
        Launch::meet();
    }

    INLINE void tell() {
#ifdef __CUDACC__
        __threadfence_system();
#endif
        for (u32 device = 0; device < peers.n_devices; device++) release(peers.met[device] + peers.me, met);
    }
    INLINE void wait() {
        for (u32 device = 0; device < peers.n_devices; device++) wait_for(peers.met[peers.me] + device, met);
    }

    /// Stores the partial sums of a thread block on all devices. `meet` and `take` must follow.
    template <int Q> INLINE void give(const double (&sum)[Q]) {
        if (alone) {
            Launch::give(sum);
            return;
        }
        shared_slot ^= 1;
        has_given = true;
        auto store = [&](u32 q, double s, u32 block) {
            const u32 at = (shared_slot * SUMS + q) * peers.n_blocks + peers.first_block + block;
            if (peers.post.letters) {
                peers.post.own_sums[q * (n_threads / threads_of_block()) + block] = s;
                return;
            }
            for (u32 device = 0; device < peers.n_devices; device++) peers.partial[device][at] = s;
        };
#ifdef __CUDACC__
        add_block(sum, [&](u32 q, double s) { store(q, s, blockIdx.x); });
#else
        for (int q = 0; q < Q; q++) store(q, sum[q], 0);
#endif
    }

    /// Returns the sums over all thread blocks, with the same bits in every thread of every device.
    template <int Q> INLINE void take(double (&sum)[Q]) {
        if (alone) {
            Launch::take(sum);
            return;
        }
        const double* from = peers.partial[peers.post.letters ? 0 : peers.me] + shared_slot * SUMS * peers.n_blocks;
#ifdef __CUDACC__
        add_blocks(from, peers.n_blocks, sum);
#else
        for (int q = 0; q < Q; q++) {
            sum[q] = 0;
            for (u32 block = 0; block < peers.n_blocks; block++) sum[q] += from[q * peers.n_blocks + block];
        }
#endif
    }
};
