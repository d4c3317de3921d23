// The coarse levels. One launch makes one correction on all levels (multigrid.rs has the same on the CPU).
//
// The launch is cooperative: all thread blocks are resident and meet at barriers. A step on a small level costs a
// barrier instead of a launch, and the inner conjugate gradients decide on the device when they stop. Sums have a fixed
// order over threads and thread blocks, so every run gives the same bits. Several devices compute a correction together
// by one launch each (devices.cuh).
//
// The operator of level 1 is never assembled. Further levels have blocks with 16 bits for each entry, which act on
// differences of displacements (`for_rows`). Their rows are divided by the diagonal: each vector of forces (residual,
// product, t) is stored as D⁻¹ times the force. The smoother then reads no diagonal of neighbouring nodes.

#pragma once

#include "grid.cuh"

/// Factors of step k = 1, 2, … of Chebyshev smoothing of the fourth kind. See `factors` and `weight` in multigrid.rs.
INLINE float keep_factor(u32 k) { return (2.0f * k - 3.0f) / (2.0f * k + 1.0f); }
INLINE float step_factor(u32 k) { return (8.0f * k - 4.0f) / (2.0f * k + 1.0f); }
INLINE float weight(u32 degree, u32 k) {
    if (degree == 1) return 1.125f;
    if (degree == 2) return k == 1 ? 1.0238729f : 1.2640891f;
    if (degree == 3) return k == 1 ? 1.0084254f : k == 2 ? 1.0886784f : 1.3375313f;
    if (degree == 4) return k == 1 ? 1.003913f : k == 2 ? 1.040358f : k == 3 ? 1.148635f : 1.3826887f;
    return 1.0f;
}

/// The Walsh-Hadamard transform of eight numbers.
INLINE void walsh(float (&v)[8]) {
#pragma unroll
    for (int half = 1; half < 8; half *= 2)
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (!(i & half)) {
                const float a = v[i], b = v[i + half];
                v[i] = a + b;
                v[i + half] = a - b;
            }
}

/// E h of a voxel, or λ h and μ h.
INLINE float stiffness(const Tables& tables, u32 voxel, int part) {
    if (RATIOS) return tables.young[PARTS * tables.material[voxel] + part];
    if (tables.modulus) return tables.modulus[voxel] * tables.modulus_unit;
    return tables.young[tables.material ? tables.material[voxel] : 0];
}

/// Whether entry (3 v + a, 3 w + b) of CELL need not be 0 in a part: ∂_a of v meets ∂_b of w in that of λ. In that of μ
/// ∂_b of v meets ∂_a of w, and all derivatives of both meet where a = b.
INLINE constexpr bool meets(int part, int v, int a, int w, int b) {
    if (!RATIOS) return true;
    if (part == 0) return (v >> a & 1) && (w >> b & 1);
    return a == b ? (v & w) != 0 : (v >> b & 1) && (w >> a & 1);
}

#ifdef __CUDACC__
INLINE u32 of_lane(u32 value, u32 lane) { return __shfl_sync(~0u, value, lane); }
INLINE void meet_warp() { __syncwarp(); }
INLINE u32 count_bits(u32 v) { return __popc(v); }
INLINE u32 lowest_bit(u32 v) { return __ffs(v) - 1; }
#else
inline u32 of_lane(u32 value, u32) { return value; }
inline void meet_warp() {}
inline u32 count_bits(u32 v) { return __builtin_popcount(v); }
inline u32 lowest_bit(u32 v) { return __builtin_ctz(v); }
#endif

constexpr u32 NOWHERE = ~0u;

/// y += factor × A x on level 1. A barrier must precede the call. The function ends with a barrier; `list` are the nodes of y that
/// other ranks read afterwards.
///
/// Each thread has one element. The lanes of a warp load and store nodal values together: neighbouring lanes access
/// neighbouring components. They exchange the values through shared memory. This accesses a third of the memory sectors
/// that separate accesses by each lane would need.
APART void add_first(Grid& g, const Tables& tables, float factor, const float* x, float* y, u32 list) {
    __shared__ float scratch[256 / 32][8][3 * WARP];
    count(g, tables.levels[0]);
    const u32* nodes = tables.levels[0].nodes;
    const u32 lane = g.thread % WARP;
    float(&mine)[8][3 * WARP] = scratch[WARP == 1 ? 0 : g.thread / WARP % 8];
    for (u32 colour = 0; colour < 8; colour++) {
        const u32 end = tables.colour_first[colour + 1];
        for (u32 base = tables.colour_first[colour] + g.thread - lane; base < end; base += g.n_threads) {
            const u32 e = base + lane;
            const bool there = e < end;
            u32 node[8];
            float v[8][3];
#pragma unroll
            for (int c = 0; c < 8; c++) node[c] = there ? nodes[8 * u64(e) + c] : NOWHERE;
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    const u32 j = lane + WARP * k, from = of_lane(node[c], j / 3);
                    v[c][k] = from == NOWHERE ? 0.0f : x[3 * u64(from) + j % 3];
                }
            meet_warp();
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int k = 0; k < 3; k++) mine[c][lane + WARP * k] = v[c][k];
            meet_warp();
            float u[3][8];
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int a = 0; a < 3; a++) u[a][c] = mine[c][3 * lane + a];
            const u32 child = there ? tables.child[e] : 0, octants = there ? tables.cells[e].octants : 255;
            if (octants == 0) {
                const float* matrix = tables.own + 300 * u64(child);
                for (int i = 0; i < 24; i++) {
                    float sum = 0;
#pragma unroll
                    for (int j = 0; j < 24; j++)
                        sum += matrix[j <= i ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i] * u[j % 3][j / 3];
                    mine[i / 3][3 * lane + i % 3] = factor * sum;
                }
            } else {
                float amplitude[PARTS][8];
#pragma unroll
                for (int p = 0; p < PARTS; p++) {
                    u32 next = child;
#pragma unroll
                    for (int o = 0; o < 8; o++)
                        amplitude[p][o] = there && octants >> o & 1 ? factor * stiffness(tables, next++, p) : 0.0f;
                    walsh(amplitude[p]);
                }
#pragma unroll
                for (int a = 0; a < 3; a++) walsh(u[a]);
#pragma unroll
                for (int a = 0; a < 3; a++) {
                    float f[8];
                    f[0] = 0;
#pragma unroll
                    for (int v = 1; v < 8; v++) {
                        float sum = 0;
#pragma unroll
                        for (int p = 0; p < PARTS; p++)
#pragma unroll
                            for (int w = 0; w < 8; w++) {
                                float part = 0;
                                bool any = false;
#pragma unroll
                                for (int b = 0; b < 3; b++) {
                                    const int other = v ^ 1 << a ^ w ^ 1 << b;
                                    if (other == 0 || !meets(p, v, a, other, b)) continue;
                                    part += CELL[576 * p + 24 * (3 * v + a) + 3 * other + b] * u[b][other];
                                    any = true;
                                }
                                if (any) sum += amplitude[p][w] * part;
                            }
                        f[v] = sum;
                    }
                    walsh(f);
#pragma unroll
                    for (int c = 0; c < 8; c++) mine[c][3 * lane + a] = f[c];
                }
            }
            meet_warp();
            // No two lanes share a node, because their elements have the same colour.
            u32 own[8];
#pragma unroll
            for (int c = 0; c < 8; c++) own[c] = g.computes(tables.levels[0], node[c]) ? node[c] : NOWHERE;
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    const u32 j = lane + WARP * k, to = of_lane(own[c], j / 3);
                    v[c][k] = to == NOWHERE ? 0.0f : y[3 * u64(to) + j % 3] + mine[c][j];
                }
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    const u32 j = lane + WARP * k, to = of_lane(own[c], j / 3);
                    if (to != NOWHERE) y[3 * u64(to) + j % 3] = v[c][k];
                }
        }
        if (colour < 7) g.meet_own();
    }
    g.meet(list, y);
}

/// Calls `act(i, sum)` for each of a level's rows that this device computes. Before that, it calls `add(node, at, sums of its three rows)` for each
/// entry of the node's rows.
template <class Add, class Act> INLINE void for_sums(const Grid& g, const Level& level, const u32* first, Add add, Act act) {
    constexpr u32 ROWS = WARP / LANES;
    const u32 lane = g.thread % LANES, part = g.thread / LANES % ROWS, n_warps = g.n_threads / WARP;
    for (u32 base = level.first + g.thread / WARP * ROWS; base < level.end; base += n_warps * ROWS) {
        const u32 row = base + part;
        float sum[3] = {0, 0, 0};
        if (row < level.end) {
            const u32 end = first[row + 1];
            for (u32 at = first[row] + lane; at < end; at += LANES) add(row, at, sum);
        }
#ifdef __CUDACC__
#pragma unroll
        for (int a = 0; a < 3; a++)
#pragma unroll
            for (int k = LANES / 2; k > 0; k >>= 1) sum[a] += __shfl_xor_sync(~0u, sum[a], k);
        const float mine = lane == 0 ? sum[0] : lane == 1 ? sum[1] : sum[2];
        if (row < level.end && lane < 3) act(3 * row + lane, mine);
#else
        for (int a = 0; a < 3; a++) act(3 * row + a, sum[a]);
#endif
    }
}

#ifdef __CUDACC__
INLINE float over_power(float unit, u32 e) { return __int_as_float(__float_as_int(unit) - int(e << 23)); }
#else
inline float over_power(float unit, u32 e) { return unit / float(1u << e); }
#endif

/// Calls `act(i, (A x)_i)` for each row of a level with blocks that this device computes.
///
/// The block of another node acts on the difference between that node's displacement and the displacement of the row's
/// own node. The diagonal block is the sum of the row, which is zero where no degree of freedom is fixed. Rounding of
/// the blocks therefore causes no force for a translation. The slowest modes are translations nearly everywhere.
template <class Act> INLINE void for_rows(const Grid& g, const Level& level, const float* x, Act act) {
    count(g, level);
    for_sums(
        g, level, level.row_first,
        [&](u32 node, u32 at, float(&sum)[3]) {
            const u32 entry = level.column[at], column = entry & ((1u << 27) - 1);
            const Eight most = level.value[at];
            const short ninth = level.ninth[at];
            const float *from = x + 3 * u64(column), *own = x + 3 * u64(node);
            const float scale = over_power(level.unit, entry >> 27);
            float u[3];
#pragma unroll
            for (int b = 0; b < 3; b++) u[b] = scale * (column == node ? own[b] : from[b] - own[b]);
#pragma unroll
            for (int i = 0; i < 9; i++) sum[i / 3] += float(i < 8 ? most.v[i] : ninth) * u[i % 3];
        },
        act);
}

/// What other ranks read of a level in restriction to the next one, if there is a next one.
INLINE u32 in_restriction(const Tables& tables, u32 l) {
    return l + 1 < tables.n_levels ? N_LISTS * l + IN_RESTRICTION : NOBODY;
}
/// What other ranks read of a level in prolongation to the finer one. From level 1 a kernel of its own prolongates.
INLINE u32 in_prolongation(u32 l) { return l > 0 ? N_LISTS * l + IN_PROLONGATION : NOBODY; }
/// What other ranks read of the residual of a level: the smoother of two steps takes its product.
INLINE u32 in_smoothing(const Tables& tables, u32 l) {
    return l > 0 && tables.degree == 2 ? N_LISTS * l + IN_PRODUCTS : NOBODY;
}

/// out = from + factor × A x, out ≠ x. A barrier must precede the call. The function ends with a barrier; `list` are the nodes of `out`
/// that other ranks read afterwards.
INLINE void add_product(Grid& g, const Tables& tables, u32 l, const float* from, float factor, const float* x, float* out,
                        u32 list) {
    const Level& level = tables.levels[l];
    if (l == 0) {
        if (from != out) {
            for_fours(g, level, [&](u32 i) { store(out, i, load(from, i)); });
            g.meet_own();
        }
        add_first(g, tables, factor, x, out, list);
    } else {
        for_rows(g, level, x, [&](u32 i, float sum) { out[i] = from[i] + factor * (level.inverse[i] * sum); });
        g.meet(list, out);
    }
}

/// 1 / D of four unknowns. It is 1 on levels where forces are stored divided by D.
INLINE Four inverse_of(const Level& level, u32 i) {
    if (!level.row_first) return load(level.inverse, i);
    return {1, 1, 1, 1};
}

/// Multiplies by D a number that was stored as D⁻¹ times a force.
INLINE float times_diagonal(float v, float inverse) { return inverse > 0 ? v / inverse : 0.0f; }

/// Four components of a force, not divided by D.
INLINE Four force(const Level& level, const float* from, u32 i) {
    Four v = load(from, i);
    if (level.row_first) {
        const Four inverse = load(level.inverse, i);
        EACH v.v[m] = times_diagonal(v.v[m], inverse.v[m]);
    }
    return v;
}

/// Step k of the smoother: d = keep d + step D⁻¹ t, z += weight d, starting with z = 0 if `fresh`. With `dots`,
/// z·residual and z·product are passed to `give`. The function ends with a barrier; `list` are the nodes of z, or of d in a step
/// that is not the last, that other ranks read afterwards.
APART void smooth_step(Grid& g, const Level& level, u32 degree, u32 k, const float* t, bool fresh, bool dots, u32 list) {
    const float keep = keep_factor(k), s = step_factor(k) * level.step, w = weight(degree, k);
    double sum[2] = {0, 0};
    for_fours(g, level, [&](u32 i) {
        const Four from = load(t, i), inverse = inverse_of(level, i);
        Four d = {0, 0, 0, 0}, z = {0, 0, 0, 0};
        if (k > 1) d = load(level.d, i);
        if (!fresh) z = load(level.z, i);
        EACH {
            d.v[m] = keep * d.v[m] + s * inverse.v[m] * from.v[m];
            z.v[m] += w * d.v[m];
        }
        store(level.d, i, d);
        store(level.z, i, z);
        if (dots) {
            add_dot(sum[0], z, force(level, level.residual, i));
            add_dot(sum[1], z, force(level, level.product, i));
        }
    });
    if (dots) g.give(sum);
    g.meet(list, k < degree ? level.d : level.z);
}

/// Smooths z, starting with z = 0, and computes t = residual − A z. t is not divided by D.
INLINE void smooth_before(Grid& g, const Tables& tables, u32 l) {
    const Level& level = tables.levels[l];
    const u32 degree = tables.degree, in_products = N_LISTS * l + IN_PRODUCTS;
    if (l > 0 && degree == 2) {
        const float s = step_factor(1) * level.step, s2 = step_factor(2) * level.step, keep = keep_factor(2);
        const float w1 = weight(2, 1), w2 = weight(2, 2);
        for_rows(g, level, level.residual, [&](u32 i, float sum) {
            const float r = level.residual[i], d = s * r;
            level.z[i] = w1 * d + w2 * (keep * d + s2 * (r - s * (level.inverse[i] * sum)));
        });
        g.meet(in_products, level.z);
    } else {
        smooth_step(g, level, degree, 1, level.residual, true, false, in_products);
        for (u32 k = 2; k <= degree; k++) {
            add_product(g, tables, l, k == 2 ? level.residual : level.t, -1.0f, level.d, level.t, NOBODY);
            smooth_step(g, level, degree, k, level.t, false, false, in_products);
        }
    }
    if (l == 0) {
        add_product(g, tables, l, level.residual, -1.0f, level.z, level.t, in_restriction(tables, l));
    } else {
        for_rows(g, level, level.z, [&](u32 i, float sum) {
            const float inverse = level.inverse[i];
            level.t[i] = inverse > 0 ? level.residual[i] / inverse - sum : 0.0f;
        });
        g.meet(in_restriction(tables, l), level.t);
    }
}

/// Smooths z further, and passes z·residual and z·product to `give`.
INLINE void smooth_after(Grid& g, const Tables& tables, u32 l, u32 degree) {
    const Level& level = tables.levels[l];
    const u32 in_products = N_LISTS * l + IN_PRODUCTS;
    // Without conjugate gradients z is what the finer level is corrected with.
    const u32 afterwards = level.steps > 1 ? NOBODY : in_prolongation(l);
    add_product(g, tables, l, level.residual, -1.0f, level.z, level.t, l > 0 && degree == 2 ? in_products : NOBODY);
    if (l > 0 && degree == 2) {
        const float s = step_factor(1) * level.step, s2 = step_factor(2) * level.step, keep = keep_factor(2);
        const float w1 = weight(2, 1), w2 = weight(2, 2);
        double sum[2] = {0, 0};
        for_rows(g, level, level.t, [&](u32 i, float product) {
            const float t = level.t[i], d = s * t, inverse = level.inverse[i];
            const float z = level.z[i] + w1 * d + w2 * (keep * d + s2 * (t - s * (inverse * product)));
            level.z[i] = z;
            sum[0] += double(z) * double(times_diagonal(level.residual[i], inverse));
            sum[1] += double(z) * double(times_diagonal(level.product[i], inverse));
        });
        g.give(sum);
        g.meet(afterwards, level.z);
        return;
    }
    for (u32 k = 1; k <= degree; k++) {
        if (k > 1) add_product(g, tables, l, level.t, -1.0f, level.d, level.t, NOBODY);
        smooth_step(g, level, degree, k, level.t, false, k == degree, k < degree ? in_products : afterwards);
    }
}

/// Weight of a corner at a place of an element. The place is x + 3 y + 9 z in half edges. The bits of `corner` are its
/// coordinates.
INLINE float place_weight(u32 place, u32 corner) {
    const u32 x = place % 3, y = place / 3 % 3, z = place / 9;
    const u32 twice = (corner & 1 ? x : 2 - x) * (corner & 2 ? y : 2 - y) * (corner & 4 ? z : 2 - z);
    return 0.125f * twice;
}

/// residual of level l = Pᵀ t of level l − 1. Its square is passed to `give`.
INLINE void restrict_to(Grid& g, const Tables& tables, u32 l) {
    const Level &coarse = tables.levels[l], &fine = tables.levels[l - 1];
    double square[1] = {0};
    for_sums(
        g, coarse, coarse.gather_first,
        [&](u32, u32 at, float(&sum)[3]) {
            const u32 entry = coarse.gather[at];
            const float* from = fine.t + 3 * u64(entry >> 2);
            const float w = 1.0f / float(1 << (entry & 3));
#pragma unroll
            for (int a = 0; a < 3; a++) sum[a] += w * from[a];
        },
        [&](u32 i, float value) {
            square[0] += double(value) * double(value);
            coarse.residual[i] = value * coarse.inverse[i];
        });
    g.give(square);
    g.meet(in_smoothing(tables, l), coarse.residual);
}

/// z of level l − 1 += P × values of level l.
INLINE void prolong_from(Grid& g, const Tables& tables, u32 l, const float* values) {
    const Level &coarse = tables.levels[l], &fine = tables.levels[l - 1];
    for (u32 i = 3 * fine.first + g.thread; i < 3 * fine.end; i += g.n_threads) {
        const u32 a = i % 3, owner = coarse.owner[i / 3], place = owner & 31;
        const u32* nodes = coarse.nodes + 8 * u64(owner >> 5);
        float value = 0;
#pragma unroll
        for (u32 c = 0; c < 8; c++) {
            const float w = place_weight(place, c);
            if (w > 0) value += w * values[3 * u64(nodes[c]) + a];
        }
        fine.z[i] += value;
    }
    g.meet(N_LISTS * (l - 1) + IN_PRODUCTS, fine.z);
}

/// Calls `act(place, node)` for each node of the finest level that belongs to the element.
template <class Act> INLINE void for_places(const Tables& tables, const Cell& cell, Act act) {
    for (u32 rest = cell.places & ~OF_ANOTHER; rest; rest &= rest - 1) {
        const u32 place = lowest_bit(rest);
        const u32 x = 2 * cell.x + place % 3, y = 2 * cell.y + place / 3 % 3, z = 2 * cell.z + place / 9;
        const Tile tile = tables.tiles[y / 15 * tables.n_tiles + x / 15];
        const u32 column = x % 15 + 1, row = y % 15 + 1;
        const Word word = tables.planes[u64(tile.plane) + z - tile.z].word[row / 4 * 2 + column / 8];
        act(place, word.node_at + count_bits(word.nodes & ((1u << (row % 4 * 8 + column % 8)) - 1)));
    }
}

/// residual of level 1 = Pᵀ × residual of the finest level. Its square is passed to `give`.
APART void restrict_first(Grid& g, const Tables& tables) {
    const Level& level = tables.levels[0];
    for_fours(g, level, [&](u32 i) { store(level.residual, i, {0, 0, 0, 0}); });
    g.meet_own();
    for (u32 colour = 0; colour < 8; colour++) {
        const u32 end = tables.colour_first[colour + 1];
        for (u32 e = tables.colour_first[colour] + g.thread; e < end; e += g.n_threads) {
            float sum[8][3] = {};
            for_places(tables, tables.cells[e], [&](u32 place, u32 node) {
                const float* from = tables.fine_residual + 3 * u64(node);
                const float v[3] = {from[0], from[1], from[2]};
#pragma unroll
                for (u32 c = 0; c < 8; c++) {
                    const float w = place_weight(place, c);
#pragma unroll
                    for (int a = 0; a < 3; a++) sum[c][a] += w * v[a];
                }
            });
#pragma unroll
            for (int c = 0; c < 8; c++) {
                const u32 node = level.nodes[8 * u64(e) + c];
                if (!g.computes(level, node)) continue;
                float* to = level.residual + 3 * u64(node);
#pragma unroll
                for (int a = 0; a < 3; a++) to[a] += sum[c][a];
            }
        }
        g.meet_own();
    }
    double sum[1] = {0};
    for_fours(g, level, [&](u32 i) {
        const Four r = load(level.residual, i);
        add_dot(sum[0], r, r);
    });
    g.give(sum);
    g.meet();
}

/// Clears the padding at the end of each vector. Many vectors reuse the memory of others.
INLINE void clear_ends(const Grid& g, const Tables& tables) {
    for (u32 i = g.thread; i < 7 * tables.n_levels; i += g.n_threads) {
        const Level& level = tables.levels[i / 7];
        float* const vectors[7] = {level.residual, level.direction, level.product, level.solution,
                                   level.z, level.t, level.d};
        float* v = vectors[i % 7];
        if (v)
            for (u64 at = 3 * u64(level.n); at % 4; at++) v[at] = 0;
    }
}

/// z of the finest level += P × correction on level 1.
DEVICE inline void prolong_first(const Grid& g, const Tables& tables) {
    const Level& level = tables.levels[0];
    const float* values = level.steps > 1 ? level.solution : level.z;
    for (u32 e = g.first_element(tables) + g.thread; e < g.end_element(tables); e += g.n_threads) {
        if (!g.has_some(tables, tables.cells[e])) continue;
        float u[8][3];
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const float* from = values + 3 * u64(level.nodes[8 * u64(e) + c]);
#pragma unroll
            for (int a = 0; a < 3; a++) u[c][a] = from[a];
        }
        for_places(tables, tables.cells[e], [&](u32 place, u32 node) {
            if (!g.has(node)) return;
            float* to = tables.fine_z + 3 * u64(node);
            float v[3] = {0, 0, 0};
#pragma unroll
            for (u32 c = 0; c < 8; c++) {
                const float w = place_weight(place, c);
#pragma unroll
                for (int a = 0; a < 3; a++) v[a] += w * u[c][a];
            }
#pragma unroll
            for (int a = 0; a < 3; a++) to[a] += v[a];
        });
    }
}

/// Sets z of the finest level to 0 at fixed degrees of freedom.
DEVICE inline void clear_fixed(const Grid& g, const Tables& tables) {
    for (u32 i = g.thread; i < tables.n_fixed; i += g.n_threads) tables.fine_z[tables.fixed[i]] = 0;
}

/// solution = bottom × residual. The function ends with a barrier.
INLINE void solve_bottom(Grid& g, const Tables& tables, u32 l) {
    const Level& level = tables.levels[l];
    const u32 n = 3 * level.n;
#ifdef __CUDACC__
    const u32 lane = g.thread % 32, n_lanes = 32;
#else
    const u32 lane = 0, n_lanes = 1;
#endif
    for (u32 row = g.thread / n_lanes; row < n; row += g.n_threads / n_lanes) {
        float sum = 0;
        for (u32 j = lane; j < n; j += n_lanes) sum += tables.bottom[u64(row) * n + j] * level.residual[j];
#ifdef __CUDACC__
#pragma unroll
        for (int k = 16; k > 0; k >>= 1) sum += __shfl_xor_sync(~0u, sum, k);
#endif
        if (lane == 0) level.solution[row] = sum;
    }
    g.meet();
}

/// One step of flexible conjugate gradients on a level, after z has been computed. Returns whether another step
/// follows.
INLINE bool conjugate_step(Grid& g, const Tables& tables, u32 l, u32& step, double start, double& before, double& alpha) {
    const Level& level = tables.levels[l];
    double dots[2];
    g.take(dots);
    const double rho = dots[0];
    const bool first = step == 0;
    double curvature[1] = {0};
    if (rho > 0) {
        const float beta = first ? 0.0f : float(-alpha * dots[1] / before);
        for_fours(g, level, [&](u32 i) {
            Four p = load(level.z, i);
            if (!first) {
                const Four old = load(level.direction, i);
                EACH p.v[m] += beta * old.v[m];
            }
            store(level.direction, i, p);
            if (l == 0) store(level.product, i, {0, 0, 0, 0});
        });
        g.meet(N_LISTS * l + IN_PRODUCTS, level.direction);
        if (l == 0) {
            add_first(g, tables, 1.0f, level.direction, level.product, NOBODY);
            for_fours(g, level, [&](u32 i) { add_dot(curvature[0], load(level.direction, i), load(level.product, i)); });
        } else {
            for_rows(g, level, level.direction, [&](u32 i, float sum) {
                level.product[i] = level.inverse[i] * sum;
                curvature[0] += double(level.direction[i]) * double(sum);
            });
        }
        g.give(curvature);
        g.meet();
        g.take(curvature);
    }
    if (!(rho > 0 && curvature[0] > 0)) {
        // The direction is of no use, and the current solution is kept. In the first step the solution becomes z if
        // rho ≤ 0, and 0 otherwise.
        if (first) {
            const float factor = rho > 0 ? 0.0f : 1.0f;
            for_fours(g, level, [&](u32 i) {
                Four z = load(level.z, i);
                EACH z.v[m] *= factor;
                store(level.solution, i, z);
            });
            g.meet();
        }
        g.share(in_prolongation(l), level.solution);
        return false;
    }
    alpha = rho / curvature[0];
    before = rho;
    step++;
    const bool last = step == level.steps;
    const float factor = float(alpha);
    double sum[1] = {0};
    for_fours(g, level, [&](u32 i) {
        const Four p = load(level.direction, i);
        Four x = {0, 0, 0, 0};
        if (!first) x = load(level.solution, i);
        EACH x.v[m] += factor * p.v[m];
        store(level.solution, i, x);
        if (!last) {
            const Four q = load(level.product, i);
            Four r = load(level.residual, i);
            EACH r.v[m] -= factor * q.v[m];
            store(level.residual, i, r);
            r = force(level, level.residual, i);
            add_dot(sum[0], r, r);
        }
    });
    if (last) {
        g.meet(in_prolongation(l), level.solution);
        return false;
    }
    g.give(sum);
    g.meet(in_smoothing(tables, l), level.residual);
    g.take(sum);
    const bool goes_on = !(sum[0] <= tables.tolerance * start);
    if (!goes_on) g.share(in_prolongation(l), level.solution);
    return goes_on;
}

/// Computes the correction on level 1 from the residual of the finest level; see `prolong_first`. Vectors may share
/// memory with z and t of the finest level. The residual of level 1 must not be in that t, and the input of
/// `prolong_first` must not be in that z.
INLINE void correct(Grid& g, const Tables& tables) {
    u32 step[MAX_LEVELS];
    double start[MAX_LEVELS], before[MAX_LEVELS], alpha[MAX_LEVELS];
    const u32 bottom = tables.bottom ? tables.n_levels - 1 : tables.n_levels;
    g.enter(0);
    if (g.waits()) return;
    restrict_first(g, tables);
    clear_ends(g, tables);
    u32 l = 0;
    bool entered = true; // a new right-hand side has come, and its square was passed to `give`
    for (;;) {
        if (entered) {
            double sum[1];
            g.take(sum);
            start[l] = sum[0];
            step[l] = 0;
        }
        if (l == bottom) {
            solve_bottom(g, tables, l);
        } else {
            smooth_before(g, tables, l);
            if (l + 1 < tables.n_levels) {
                l++;
                g.enter(l);
                if (!g.waits()) {
                    restrict_to(g, tables, l);
                    entered = true;
                    continue;
                }
            } else {
                smooth_after(g, tables, l, 20);
            }
        }
        // A cycle on level l is complete. The loop goes up as long as the cycles above are complete too.
        for (;;) {
            const Level& level = tables.levels[l];
            const bool inner = l != bottom && level.steps > 1;
            if (inner && !g.waits() && conjugate_step(g, tables, l, step[l], start[l], before[l], alpha[l])) break;
            float* values = inner || l == bottom ? level.solution : level.z;
            if (l == 0) return;
            g.leave(l, values);
            prolong_from(g, tables, l, values);
            l--;
            smooth_after(g, tables, l, tables.degree);
        }
        entered = false;
    }
}

/// 1.1 times the largest eigenvalue of D⁻¹ A on a level, from twelve steps of the power method; see `largest_eigenvalue` in
/// multigrid/level.rs. The iterates take the place of the direction and of the product.
INLINE double largest_eigenvalue(Grid& g, const Tables& tables, u32 l) {
    const Level& level = tables.levels[l];
    float *v = level.direction, *next = level.product;
    double square[1] = {0};
    for_fours(g, level, [&](u32 i) {
        const Four inverse = load(level.inverse, i);
        Four start;
        EACH start.v[m] = inverse.v[m] > 0 ? float((4 * i + m) * 2654435761u >> 8) / float(1 << 24) - 0.5f : 0.0f;
        store(v, i, start);
        add_dot(square[0], start, start);
    });
    g.give(square);
    g.meet();
    g.take(square);
    for (int step = 0; step < 12; step++) {
        if (!(square[0] > 0)) return 1.0;
        const float scale = float(1.0 / sqrt(square[0]));
        square[0] = 0;
        if (l == 0) {
            for_fours(g, level, [&](u32 i) { store(next, i, {0, 0, 0, 0}); });
            g.meet();
            add_first(g, tables, scale, v, next, NOBODY);
            for_fours(g, level, [&](u32 i) {
                const Four inverse = load(level.inverse, i);
                Four y = load(next, i);
                EACH y.v[m] *= inverse.v[m];
                store(next, i, y);
                add_dot(square[0], y, y);
            });
        } else {
            for_rows(g, level, v, [&](u32 i, float sum) {
                const float y = scale * level.inverse[i] * sum;
                next[i] = y;
                square[0] += double(y) * double(y);
            });
        }
        g.give(square);
        g.meet();
        g.take(square);
        float* const before = v;
        v = next;
        next = before;
    }
    return 1.1 * sqrt(square[0]);
}

/// Sets the step of the smoother on all levels that are smoothed.
INLINE void find_steps(Grid& g, const Tables& tables, Tables* out) {
    const u32 end = tables.bottom ? tables.n_levels - 1 : tables.n_levels;
    for (u32 l = 0; l < end; l++) {
        const double largest = largest_eigenvalue(g, tables, l);
        if (g.thread == 0) out->levels[l].step = float(1.0 / largest);
    }
}
