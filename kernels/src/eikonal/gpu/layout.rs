//! What the kernels of arrival times and the host share; `layout.cuh` is written from it.
//!
//! A node of a set of starts is an *entry*: set << shift | node.

use crate::device::layout::{In, Out, layouts};

layouts! {
    header "eikonal/gpu/layout.cuh", numbers real;

    constants {
        /// Sets of starts that are solved at once, at most.
        MOST_SETS: u32 = 32;
        /// Threads of a thread block of wide.cu, and warps' loads of elements that it lists at once.
        WIDE_THREADS: u32 = 512;
        WIDE_ITEMS: u32 = 2 * WIDE_THREADS;
        /// Entries that a thread block of wide.cu keeps before they go to the list, and local solves that it lists: a lane has an
        /// element with three other corners, seldom four.
        WIDE_KEPT: u32 = 2560;
        WIDE_SOLVES: u32 = WIDE_THREADS / 32 * 96;
        /// Bytes of `Block` in wide.cu.
        WIDE_SHARED: u32 = 4 * (WIDE_KEPT + 3 * WIDE_ITEMS + 11 * WIDE_SOLVES + 2 * MOST_SETS + 6);
        /// Nodes of a part of a sub-domain, in the first approach.
        PART: u32 = 64;
    }

    opaque {
        /// Time and mark of an entry.
        Record;
        /// A start: entry and time.
        Start;
    }

    /// Elements as they are stored.
    struct Stored<T> {
        /// (n_elements, corners).
        nodes: In<u32>,
        /// Squares of edges, or 18 products, or metrics.
        numbers: In<T>,
        /// Positions, (n_nodes, 4), the last unused; only where products are made on the fly.
        point: In<T>,
    }

    /// What active.cu and wide.cu are told: an active list for the whole mesh. Times are words: their bits have their order.
    struct SweepParams<T> {
        stored: Stored<T>,
        incident_first: In<u32>,
        incident: In<u32>,
        /// By wide.cu: the other corners a < b < c of each incident element, and the squares of ab, ac, bc, ao, bo, co, where o is
        /// the node itself, (9, n_incident).
        wide: In<u32>,
        n_incident: u64,
        /// Of entries, (n_sets << shift,), doubled.
        record: [Out<Record>; 2],
        /// Entries of a sweep, doubled.
        list: [Out<u32>; 2],
        /// 0: arrivals at the barrier; 1 to 3: lengths of lists; 7: sweeps.
        counters: Out<u32>,
        /// Earliest times on the lists; by wide.cu of each set, (3, MOST_SETS), and behind them how many entries of the set are
        /// on the list, (3, MOST_SETS).
        earliest: Out<T>,
        /// Local solves, entries passed on.
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
        /// By wide.cu: in a sweep in which a set has at most so many entries, none of them waits for the time window, because
        /// there is room for all.
        window_free: u32,
    }

    /// What domains.cu is told.
    struct DomainParams<T> {
        stored: Stored<T>,
        incident_first: In<u32>,
        incident: In<u32>,
        neighbour_first: In<u32>,
        neighbours: In<u32>,
        /// Own nodes of the sub-domains, (n_domains + 1,), and their halos, (n_domains + 1,), with the halos' nodes.
        node_first: In<u32>,
        halo_first: In<u32>,
        halo: In<u32>,
        /// Pairs that an owner sends, (n_domains + 1,), and entries of a pair, (n_pairs + 1,).
        sent_first: In<u32>,
        pair_first: In<u32>,
        /// Owner and reader of a pair; local number of an entry at the owner and at the reader.
        pair: In<[u32; 2]>,
        entries: In<[u32; 2]>,
        /// Times as words, (n_nodes,).
        bits: Out<T>,
        /// One bit a local number, sub-domain after sub-domain.
        news: Out<u32>,
        /// First approach: sweep in which the time of a node last fell, (n_nodes,), then that of a sub-domain, (n_domains,).
        changed: Out<u32>,
        /// First approach: active nodes of each sub-domain, at the places of its own nodes, (2, n_nodes), and their number,
        /// (2, n_domains).
        active: Out<u32>,
        n_active: Out<u32>,
        /// Active sub-domains of a round, in the first approach their parts; and the round in which each was last put on a list.
        list: [Out<u32>; 2],
        mark: Out<u32>,
        /// 0: arrivals at the barrier; 1 to 3: lengths of lists; 7: rounds.
        counters: Out<u32>,
        /// Local solves, nodes computed.
        work: Out<u64>,
        /// By node.
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
