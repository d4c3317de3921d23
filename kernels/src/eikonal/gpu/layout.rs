//! The layouts that the kernels of arrival times share with the host. The header `layout.cuh` is generated from them.
//!
//! An *entry* is a node of a set of starts: set << shift | node.

use crate::device::layout::{In, Out, layouts};

layouts! {
    header "eikonal/gpu/layout.cuh", numbers real;

    constants {
        /// Maximum number of sets of starts that are solved at once.
        MOST_SETS: u32 = 32;
        /// Threads of a thread block of wide.cu, and capacity of its list of items. An item is up to 32 elements of one
        /// entry, one for each lane of a warp.
        WIDE_THREADS: u32 = 512;
        WIDE_ITEMS: u32 = 2 * WIDE_THREADS;
        /// Number of entries that a thread block of wide.cu collects before they go to the list, and capacity of its
        /// list of local solves.
        WIDE_KEPT: u32 = 2560;
        WIDE_SOLVES: u32 = WIDE_THREADS / 32 * 96;
        /// Bytes of `Block` in wide.cu.
        WIDE_SHARED: u32 = 4 * (WIDE_KEPT + 3 * WIDE_ITEMS + 11 * WIDE_SOLVES + 2 * MOST_SETS + 6);
        /// Bit of an entry in a message: it is on the list of the next sweep.
        LISTED: u32 = 1 << 31;
        /// Number of nodes in a part of a sub-domain, in the first approach.
        PART: u32 = 64;
    }

    opaque {
        /// Time and mark of an entry.
        Record;
        /// A start: entry and time.
        Start;
    }

    /// Stored data of the elements.
    struct Stored<T> {
        /// Corners, (n_elements, corners).
        nodes: In<u32>,
        /// Squares of the edges, or 18 products, or metrics.
        numbers: In<T>,
        /// Positions, (n_nodes, 4), the last component unused. They are needed only if products are computed on the
        /// fly.
        point: In<T>,
    }

    /// Parameters of active.cu and wide.cu, which have an active list for the whole mesh. Times are stored as words:
    /// their bits have the order of the times.
    struct SweepParams<T> {
        stored: Stored<T>,
        incident_first: In<u32>,
        incident: In<u32>,
        /// For wide.cu, (9, n_incident): the other corners a < b < c of each incident element, and the squares of ab,
        /// ac, bc, ao, bo, co, where o is the node itself.
        wide: In<u32>,
        n_incident: u64,
        /// Records of the entries, (n_sets << shift,), stored twice.
        record: [Out<Record>; 2],
        /// Lists of entries, for the current and the next sweep.
        list: [Out<u32>; 2],
        /// 0: arrivals at the barrier; 1 to 3: lengths of the lists; 7: number of sweeps, at the end. Of several devices 4: entries
        /// that this one has put on lists; 5: number of the meeting that is over; 6: length of the lists of all; 7: entries that
        /// came by messages.
        counters: Out<u32>,
        /// Earliest time on each list. For wide.cu: earliest times of each set, (3, MOST_SETS), followed by the number
        /// of entries of each set on the list, (3, MOST_SETS).
        earliest: Out<T>,
        /// Numbers of local solves and of computed entries.
        work: Out<u64>,
        starts: In<Start>,
        /// Results, (n_sets, n_nodes).
        time: Out<T>,
        n_starts: u32,
        shift: u32,
        n_nodes: u32,
        n_sets: u32,
        window: T,
        keep: T,
        most_sweeps: u32,
        /// For wide.cu: in a sweep in which a set has at most this many entries, all of them are computed and none
        /// waits for the time window.
        window_free: u32,
    }

    /// What the devices have that solve together, by device.
    struct Meeting {
        /// Their records, each stored twice.
        record: [[Out<Record>; 2]; 8],
        /// Their lists, for the current and the next sweep.
        list: [[Out<u32>; 2]; 8],
        /// Their counters, of which others lengthen the lists.
        counters: [Out<u32>; 8],
        /// On each of them, what all devices have found: (2, n_devices, 4), for even and odd meetings.
        gathered: [Out<u64>; 8],
        /// On each of them, the meetings that each device has come to, (n_devices,).
        arrived: [Out<u32>; 8],
        /// Of each node: a bit for each device that reads it, and the device that has it above these 8 bits. Where devices
        /// exchange messages, this device is number 0, and number 1 stands for all others.
        place: In<u32>,
        n_devices: u32,
        me: u32,
    }

    /// What the kernel and its host tell each other after a sweep, where devices exchange messages.
    struct Post<T> {
        /// Number of calls of the kernel, and of answers of the host. No calls where devices reach each other's memory.
        calls: Out<u32>,
        answered: In<u32>,
        /// The entries that other devices read too and that were lowered or listed in the sweep, once each, and their number.
        changed: Out<u32>,
        n_changed: Out<u32>,
        /// The sweep after that in which an entry was last put among these, (1 << shift,).
        changed_for: Out<u32>,
        /// In the host's memory: these entries, each with `LISTED` if it is on a list, and their times.
        outgoing: Out<u32>,
        outgoing_time: Out<T>,
        /// Those of other devices.
        incoming: In<u32>,
        incoming_time: In<T>,
        /// Number of the outgoing entries, of the entries on the list of this device, and the earliest time.
        told: Out<u64>,
        /// Number of the incoming entries, of the entries on the lists of all devices, and the earliest time of all.
        heard: In<u64>,
    }

    /// Parameters of active.cu and wide.cu for several devices.
    struct TeamParams<T> {
        sweep: SweepParams<T>,
        meeting: Meeting,
        post: Post<T>,
    }

    /// Parameters of domains.cu.
    struct DomainParams<T> {
        stored: Stored<T>,
        incident_first: In<u32>,
        incident: In<u32>,
        neighbour_first: In<u32>,
        neighbours: In<u32>,
        /// First own node of each sub-domain, (n_domains + 1,), first halo node, (n_domains + 1,), and the halo nodes.
        node_first: In<u32>,
        halo_first: In<u32>,
        halo: In<u32>,
        /// First pair that each owner sends, (n_domains + 1,), and first entry of each pair, (n_pairs + 1,).
        sent_first: In<u32>,
        pair_first: In<u32>,
        /// Owner and reader of a pair, and for each entry its local numbers at the owner and at the reader.
        pair: In<[u32; 2]>,
        entries: In<[u32; 2]>,
        /// Times as words, (n_nodes,).
        bits: Out<T>,
        /// One bit for each local number, sub-domain by sub-domain.
        news: Out<u32>,
        /// First approach: sweep in which the time of a node was last lowered, (n_nodes,), then the same for
        /// sub-domains, (n_domains,).
        changed: Out<u32>,
        /// First approach: active nodes of each sub-domain, starting at the position of its first own node, (2,
        /// n_nodes), and their number, (2, n_domains).
        active: Out<u32>,
        n_active: Out<u32>,
        /// Active sub-domains of a round, or their parts in the first approach. `mark` is the round in which each was
        /// last put on a list.
        list: [Out<u32>; 2],
        mark: Out<u32>,
        /// 0: arrivals at the barrier; 1 to 3: lengths of the lists; 7: number of rounds.
        counters: Out<u32>,
        /// Numbers of local solves and of computed nodes.
        work: Out<u64>,
        /// Starts. An entry is a node here.
        starts: In<Start>,
        /// Results, (n_nodes,).
        time: Out<T>,
        n_starts: u32,
        n_nodes: u32,
        n_domains: u32,
        most_own: u32,
        keep: T,
        inner: u32,
        most_rounds: u32,
        n_pairs: u32,
        reserved: u32,
    }
}
