// Written by `cargo xtask kernels` from eikonal/gpu/layout.rs: change it there.

#pragma once
#include "../../device/types.cuh"

// Maximum number of sets of starts that are solved at once.
constexpr u32 MOST_SETS = 32u;
// Threads of a thread block of wide.cu, and capacity of its list of items. An item is up to 32 elements of one
// entry, one for each lane of a warp.
constexpr u32 WIDE_THREADS = 512u;
constexpr u32 WIDE_ITEMS = 1024u;
// Number of entries that a thread block of wide.cu collects before they go to the list, and capacity of its
// list of local solves.
constexpr u32 WIDE_KEPT = 2560u;
constexpr u32 WIDE_SOLVES = 1536u;
// Bytes of `Block` in wide.cu.
constexpr u32 WIDE_SHARED = 90392u;
// Number of nodes in a part of a sub-domain, in the first approach.
constexpr u32 PART = 64u;

struct Record;
struct Start;

// Stored data of the elements.
struct Stored {
    // Corners, (n_elements, corners).
    const u32 *nodes;
    // Squares of the edges, or 18 products, or metrics.
    const real *numbers;
    // Positions, (n_nodes, 4), the last component unused. They are needed only if products are computed on the
    // fly.
    const real *point;
};
#ifdef POGO_F64
static_assert(sizeof(Stored) == 24, "Stored");
OFFSET_IS(Stored, nodes, 0); OFFSET_IS(Stored, numbers, 8); OFFSET_IS(Stored, point, 16);
#else
static_assert(sizeof(Stored) == 24, "Stored");
OFFSET_IS(Stored, nodes, 0); OFFSET_IS(Stored, numbers, 8); OFFSET_IS(Stored, point, 16);
#endif

// Parameters of active.cu and wide.cu, which have an active list for the whole mesh. Times are stored as words:
// their bits have the order of the times.
struct SweepParams {
    Stored stored;
    const u32 *incident_first;
    const u32 *incident;
    // For wide.cu, (9, n_incident): the other corners a < b < c of each incident element, and the squares of ab,
    // ac, bc, ao, bo, co, where o is the node itself.
    const u32 *wide;
    u64 n_incident;
    // Records of the entries, (n_sets << shift,), stored twice.
    Record *record[2];
    // Lists of entries, for the current and the next sweep.
    u32 *list[2];
    // 0: arrivals at the barrier; 1 to 3: lengths of the lists; 7: number of sweeps.
    u32 *counters;
    // Earliest time on each list. For wide.cu: earliest times of each set, (3, MOST_SETS), followed by the number
    // of entries of each set on the list, (3, MOST_SETS).
    real *earliest;
    // Numbers of local solves and of computed entries.
    u64 *work;
    const Start *starts;
    // Results, (n_sets, n_nodes).
    real *time;
    u32 n_starts;
    u32 shift;
    u32 n_nodes;
    u32 n_sets;
    real window;
    real keep;
    u32 most_sweeps;
    // For wide.cu: in a sweep in which a set has at most this many entries, all of them are computed and none
    // waits for the time window.
    u32 window_free;
};
#ifdef POGO_F64
static_assert(sizeof(SweepParams) == 168, "SweepParams");
OFFSET_IS(SweepParams, stored, 0); OFFSET_IS(SweepParams, incident_first, 24);
OFFSET_IS(SweepParams, incident, 32); OFFSET_IS(SweepParams, wide, 40);
OFFSET_IS(SweepParams, n_incident, 48); OFFSET_IS(SweepParams, record, 56); OFFSET_IS(SweepParams, list, 72);
OFFSET_IS(SweepParams, counters, 88); OFFSET_IS(SweepParams, earliest, 96); OFFSET_IS(SweepParams, work, 104);
OFFSET_IS(SweepParams, starts, 112); OFFSET_IS(SweepParams, time, 120); OFFSET_IS(SweepParams, n_starts, 128);
OFFSET_IS(SweepParams, shift, 132); OFFSET_IS(SweepParams, n_nodes, 136); OFFSET_IS(SweepParams, n_sets, 140);
OFFSET_IS(SweepParams, window, 144); OFFSET_IS(SweepParams, keep, 152);
OFFSET_IS(SweepParams, most_sweeps, 160); OFFSET_IS(SweepParams, window_free, 164);
#else
static_assert(sizeof(SweepParams) == 160, "SweepParams");
OFFSET_IS(SweepParams, stored, 0); OFFSET_IS(SweepParams, incident_first, 24);
OFFSET_IS(SweepParams, incident, 32); OFFSET_IS(SweepParams, wide, 40);
OFFSET_IS(SweepParams, n_incident, 48); OFFSET_IS(SweepParams, record, 56); OFFSET_IS(SweepParams, list, 72);
OFFSET_IS(SweepParams, counters, 88); OFFSET_IS(SweepParams, earliest, 96); OFFSET_IS(SweepParams, work, 104);
OFFSET_IS(SweepParams, starts, 112); OFFSET_IS(SweepParams, time, 120); OFFSET_IS(SweepParams, n_starts, 128);
OFFSET_IS(SweepParams, shift, 132); OFFSET_IS(SweepParams, n_nodes, 136); OFFSET_IS(SweepParams, n_sets, 140);
OFFSET_IS(SweepParams, window, 144); OFFSET_IS(SweepParams, keep, 148);
OFFSET_IS(SweepParams, most_sweeps, 152); OFFSET_IS(SweepParams, window_free, 156);
#endif

// Parameters of domains.cu.
struct DomainParams {
    Stored stored;
    const u32 *incident_first;
    const u32 *incident;
    const u32 *neighbour_first;
    const u32 *neighbours;
    // First own node of each sub-domain, (n_domains + 1,), first halo node, (n_domains + 1,), and the halo nodes.
    const u32 *node_first;
    const u32 *halo_first;
    const u32 *halo;
    // First pair that each owner sends, (n_domains + 1,), and first entry of each pair, (n_pairs + 1,).
    const u32 *sent_first;
    const u32 *pair_first;
    // Owner and reader of a pair, and for each entry its local numbers at the owner and at the reader.
    const uint2 *pair;
    const uint2 *entries;
    // Times as words, (n_nodes,).
    real *bits;
    // One bit for each local number, sub-domain by sub-domain.
    u32 *news;
    // First approach: sweep in which the time of a node was last lowered, (n_nodes,), then the same for
    // sub-domains, (n_domains,).
    u32 *changed;
    // First approach: active nodes of each sub-domain, starting at the position of its first own node, (2,
    // n_nodes), and their number, (2, n_domains).
    u32 *active;
    u32 *n_active;
    // Active sub-domains of a round, or their parts in the first approach. `mark` is the round in which each was
    // last put on a list.
    u32 *list[2];
    u32 *mark;
    // 0: arrivals at the barrier; 1 to 3: lengths of the lists; 7: number of rounds.
    u32 *counters;
    // Numbers of local solves and of computed nodes.
    u64 *work;
    // Starts. An entry is a node here.
    const Start *starts;
    // Results, (n_nodes,).
    real *time;
    u32 n_starts;
    u32 n_nodes;
    u32 n_domains;
    u32 most_own;
    real keep;
    u32 inner;
    u32 most_rounds;
    u32 n_pairs;
    u32 reserved;
};
#ifdef POGO_F64
static_assert(sizeof(DomainParams) == 248, "DomainParams");
OFFSET_IS(DomainParams, stored, 0); OFFSET_IS(DomainParams, incident_first, 24);
OFFSET_IS(DomainParams, incident, 32); OFFSET_IS(DomainParams, neighbour_first, 40);
OFFSET_IS(DomainParams, neighbours, 48); OFFSET_IS(DomainParams, node_first, 56);
OFFSET_IS(DomainParams, halo_first, 64); OFFSET_IS(DomainParams, halo, 72);
OFFSET_IS(DomainParams, sent_first, 80); OFFSET_IS(DomainParams, pair_first, 88);
OFFSET_IS(DomainParams, pair, 96); OFFSET_IS(DomainParams, entries, 104); OFFSET_IS(DomainParams, bits, 112);
OFFSET_IS(DomainParams, news, 120); OFFSET_IS(DomainParams, changed, 128);
OFFSET_IS(DomainParams, active, 136); OFFSET_IS(DomainParams, n_active, 144);
OFFSET_IS(DomainParams, list, 152); OFFSET_IS(DomainParams, mark, 168);
OFFSET_IS(DomainParams, counters, 176); OFFSET_IS(DomainParams, work, 184);
OFFSET_IS(DomainParams, starts, 192); OFFSET_IS(DomainParams, time, 200);
OFFSET_IS(DomainParams, n_starts, 208); OFFSET_IS(DomainParams, n_nodes, 212);
OFFSET_IS(DomainParams, n_domains, 216); OFFSET_IS(DomainParams, most_own, 220);
OFFSET_IS(DomainParams, keep, 224); OFFSET_IS(DomainParams, inner, 232);
OFFSET_IS(DomainParams, most_rounds, 236); OFFSET_IS(DomainParams, n_pairs, 240);
OFFSET_IS(DomainParams, reserved, 244);
#else
static_assert(sizeof(DomainParams) == 248, "DomainParams");
OFFSET_IS(DomainParams, stored, 0); OFFSET_IS(DomainParams, incident_first, 24);
OFFSET_IS(DomainParams, incident, 32); OFFSET_IS(DomainParams, neighbour_first, 40);
OFFSET_IS(DomainParams, neighbours, 48); OFFSET_IS(DomainParams, node_first, 56);
OFFSET_IS(DomainParams, halo_first, 64); OFFSET_IS(DomainParams, halo, 72);
OFFSET_IS(DomainParams, sent_first, 80); OFFSET_IS(DomainParams, pair_first, 88);
OFFSET_IS(DomainParams, pair, 96); OFFSET_IS(DomainParams, entries, 104); OFFSET_IS(DomainParams, bits, 112);
OFFSET_IS(DomainParams, news, 120); OFFSET_IS(DomainParams, changed, 128);
OFFSET_IS(DomainParams, active, 136); OFFSET_IS(DomainParams, n_active, 144);
OFFSET_IS(DomainParams, list, 152); OFFSET_IS(DomainParams, mark, 168);
OFFSET_IS(DomainParams, counters, 176); OFFSET_IS(DomainParams, work, 184);
OFFSET_IS(DomainParams, starts, 192); OFFSET_IS(DomainParams, time, 200);
OFFSET_IS(DomainParams, n_starts, 208); OFFSET_IS(DomainParams, n_nodes, 212);
OFFSET_IS(DomainParams, n_domains, 216); OFFSET_IS(DomainParams, most_own, 220);
OFFSET_IS(DomainParams, keep, 224); OFFSET_IS(DomainParams, inner, 228);
OFFSET_IS(DomainParams, most_rounds, 232); OFFSET_IS(DomainParams, n_pairs, 236);
OFFSET_IS(DomainParams, reserved, 240);
#endif
