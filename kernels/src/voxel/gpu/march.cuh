// The march of a thread block up a stretch of a tile (brick.cuh).
//
// In porous samples half of the columns of a warp are void. The work of each step is therefore determined once, when
// the stretch begins, and idle warps fetch the halo. The time of a warp for a step is the limit (instructions,
// branches, waiting for shared memory), and so is the number of shared memory accesses. Numbers are stored and read in
// pairs where possible. Asynchronous copies of single numbers into pairs would cause two-way bank conflicts.

#pragma once

#include "brick.cuh"

template <class T, u32 THEN, bool MODULI> struct March {
    static constexpr u32 N = THEN == PAIR ? 4 : 3;
    static constexpr bool SUMS = THEN == STORE || THEN == DOT || THEN == FORCES;
    static constexpr bool AHEAD = THEN != STORE && THEN != FORCES;
    /// If true, step k + 1 is looked up at the end of step k and not at its own beginning. Its data then arrive early,
    /// and they occupy no registers while elements are computed.
    static constexpr bool AHEAD_OF_TIME = sizeof(T) == 8 || THEN == RESIDUAL || THEN == STEP;
    /// If true, columns are addresses in shared memory and not offsets from the start of its parts. This saves
    /// additions where registers suffice. It makes STEP slower.
    static constexpr bool ABSOLUTE = sizeof(T) == 8 || THEN == PAIR;
    /// Number of planes that are fetched ahead. PAIR still needs plane k − 1 when plane k + 2 arrives.
    static constexpr int EARLY = THEN == PAIR ? 2 : STAGES;
    /// Distance of rows in shared memory. Four rows of eight numbers have no bank conflict.
    static constexpr u32 PITCH = 24;
    static constexpr int RIGHT = 1, UP = PITCH;
    using U = Field<T, ROWS * PITCH, N, false>;
    using F = Field<T, 16 * PITCH, 3, true>;
    static constexpr u32 PLANES = BEFORE + LONGEST<T, THEN, MODULI> + AFTER, STAGE = U::SIZE, BUFFER = 3 * F::SIZE;
    static constexpr u32 SHEET = sizeof(Sheet<MODULI>);

    struct Memory {
        Sheet<MODULI> sheets[PLANES];
        u32 ring[64];
        u32 lists[8][64]; // numbers of the halo nodes, for eight planes in turn
        __align__(16) u8 u[STAGES * STAGE];
        __align__(16) u8 f[2 * BUFFER];
    };

    /// Operands of `follow` besides y, for the node of the thread.
    struct Ahead {
        float a[3], b[3], c[3], inverse;
    };

    const Params<T>& p;
    Memory& memory;
    const u32 warp;
    const u32 bit, below; // masks of the lane
    const Column column; // of the thread
    u32 stage = 0, other_stage = 2 * STAGE; // stages that are read and written
    // Offset of the warp's task of plane k.
    u32 tasks;
    // PAIR: which half of the word holds the entry of a node. There is one bit for each plane, and the last fetched
    // plane has the lowest. `halo_there` and `there` tell whether the last fetched nodes exist.
    u32 odd = 0, halo_odd[2] = {}, halo_there = 0;
    bool there = false;
    u32 elements = 0; // mask of elements of plane k
    u32 raw = 0; // modulus of the element of plane k, not converted
    // Results of `look`: flags of the step, elements of plane k + 1, the node to fetch, and the node of plane k − 1.
    u32 flags, elements_above, raw_above, fetched, own;
    bool fetched_there, own_there;
    Ahead ahead;
    T sum = 0;

    static __device__ __forceinline__ Column column_of(u32 place) {
        const u32 base = ABSOLUTE ? shared_memory() : 0;
        return {base + static_cast<u32>(place * sizeof(T)), base + static_cast<u32>(2 * place * sizeof(T))};
    }

    static __device__ __forceinline__ Column own_column() {
        u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        Column c = column_of((4 * (warp / 2) + lane / 8) * PITCH + 8 * (warp % 2) + lane % 8);
        return {opaque(c.one), opaque(c.two)};
    }

    __device__ __forceinline__ March(const Params<T>& p, u8* memory)
        : p(p), memory(*reinterpret_cast<Memory*>(memory)), warp(threadIdx.x / 32), bit(kept(1u << threadIdx.x % 32)),
          below(kept(bit - 1)), column(own_column()), tasks(BEFORE * SHEET + warp * sizeof(Task)) {}

    /// Start of a part of `memory`, to which the offset of a column is added.
    __device__ __forceinline__ u8* part(u8* from, u32 further) const {
        if constexpr (ABSOLUTE) return at_shared(static_cast<u32>(from - reinterpret_cast<u8*>(&memory)) + further);
        return from + further;
    }

    template <class V> __device__ __forceinline__ const V& in(u32 offset) const {
        return *reinterpret_cast<const V*>(reinterpret_cast<const u8*>(&memory) + offset);
    }

    /// The warp's task of plane k + `further`, and the offset of the sheet of that plane.
    __device__ __forceinline__ const Task& task(int further) const { return in<Task>(tasks + further * int(SHEET)); }
    __device__ __forceinline__ u32 sheet(int further) const {
        return tasks - warp * sizeof(Task) + further * int(SHEET);
    }

    /// Starts to copy a plane to a stage.
    __device__ __forceinline__ void fetch(int further, u32 to) {
        if constexpr (THEN == PAIR) skip_odd(), there = fetched_there;
        if (AHEAD_OF_TIME) bring(fetched_there, fetched, to, column, odd);
        else if (fetched_there) bring(true, fetched, to, column, odd);
        if (flags & (HALO | OTHER_HALO)) {
            if (flags & HALO) fetch_halo(further, to, 0);
            if (flags & OTHER_HALO) fetch_halo(further, to, 1);
        }
        commit();
    }

    __device__ __forceinline__ void skip_odd() {
        odd *= 2;
        halo_odd[0] = halo_odd[1] = halo_there = 0;
    }

    /// Starts to copy half of the halo of a plane, and the list of halo nodes of the third plane after it.
    __device__ __forceinline__ void fetch_halo(int further, u32 to, u32 half) {
        const u32 lane = threadIdx.x % 32, at = sheet(further), plane = at / SHEET;
        u32 bits = in<Tasks>(at).halo[half].x;
        if (bits & bit) {
            u32 node = memory.lists[plane % 8][32 * half + __popc(bits & below)];
            bring(true, node, to, column_of(memory.ring[32 * half + lane]), halo_odd[half]);
            halo_there |= 1u << half;
        }
        uint2 list = in<Tasks>(at + 3 * SHEET).halo[half];
        copy_if(lane < __popc(list.x), &memory.lists[(plane + 3) % 8][32 * half + lane], p.halo + list.y + lane);
    }

    __device__ __forceinline__ void bring(bool is, u32 node, u32 to, const Column& c, u32& odd) const {
        auto at = [&](u32 a) { return reinterpret_cast<T*>(part(memory.u, to) + U::at(c, a)); };
        copy_if(is, at(0), at(1), at(2), p.x + 3 * static_cast<u64>(node));
        if constexpr (THEN == PAIR) {
            copy_if(is, at(3), reinterpret_cast<const T*>(p.inverse) + node / 2);
            odd += node & is;
        }
    }

    /// PAIR: the entry of `inverse` of a node, taken from the word that contains it.
    __device__ __forceinline__ float inverse_at(u32 stage, const Column& c, bool odd) const {
        u32 pair = *reinterpret_cast<const u32*>(part(memory.u, stage) + U::at(c, 3));
        return __uint_as_float(odd ? pair & 0xffff0000u : pair << 16);
    }

    /// PAIR: scales the values of plane k + 1 that this thread has copied by 1 / diagonal. That plane was fetched last.
    __device__ __forceinline__ void scale(u32 from) const {
        if (there) scale_node(from, column, odd & 1);
#pragma unroll
        for (u32 half = 0; half < 2; half++)
            if (halo_there >> half & 1)
                scale_node(from, column_of(memory.ring[32 * half + threadIdx.x % 32]), halo_odd[half]);
    }

    __device__ __forceinline__ void scale_node(u32 stage, const Column& c, bool odd) const {
        float by = inverse_at(stage, c, odd);
#pragma unroll
        for (u32 a = 0; a < 3; a++) *reinterpret_cast<T*>(part(memory.u, stage) + U::at(c, a)) *= by;
    }

    /// Forces of the element of plane k: see `element` in brick.cuh.
    __device__ __forceinline__ void compute(const T (&low)[3][4], const T (&up)[3][4], T (&f)[3][4], T (&g)[3][4]) const {
        if constexpr (RATIOS) {
            const auto own = __ldg(reinterpret_cast<const typename Two<T>::Type*>(p.young) + raw);
            element<MODULI>(of_ratio(p.k, own.y), own.x, low, up, f, g);
        } else {
            element<MODULI>(p.k, modulus(raw), low, up, f, g);
        }
    }

    __device__ __forceinline__ T modulus(u32 raw) const {
        if constexpr (!MODULI) return 1;
        return p.kind == CLASSES ? __ldg(p.young + (raw & 255)) : p.unit * __uint_as_float(raw);
    }

    /// Modulus of an element of plane k + 1. The sheet of the plane `further` holds its number.
    __device__ __forceinline__ u32 fetch_modulus(int further, u32 elements) const {
        if constexpr (!MODULI) {
            return 0;
        } else {
            if (!(elements & bit)) return 0;
            u32 i = in<Sheet<MODULI>>(sheet(further)).element_at[warp] + __popc(elements & below);
            return RATIOS || p.kind == CLASSES ? p.classes[i] : __float_as_uint(p.moduli[i]);
        }
    }

    /// Determines the work of step k + `further`.
    __device__ __forceinline__ void look(int further) {
        const Task task = this->task(EARLY + further);
        const uint2 nodes = *reinterpret_cast<const uint2*>(&this->task(further - 1));
        take(task);
        elements_above = task.elements;
        raw_above = fetch_modulus(EARLY + further, task.elements);
        own_there = nodes.x & bit;
        own = nodes.y + __popc(nodes.x & below);
        if constexpr (AHEAD)
            if (own_there) look_ahead();
    }

    __device__ __forceinline__ void take(const Task& task) {
        flags = together(task.flags);
        fetched_there = task.nodes & bit;
        fetched = task.node_at + __popc(task.nodes & below);
    }

    __device__ __forceinline__ void look_ahead() {
        u64 dof = 3 * static_cast<u64>(own);
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            if (THEN == DOT || THEN == RESIDUAL || THEN == STEP) ahead.a[a] = p.b[dof + a];
            if (THEN == STEP) ahead.b[a] = p.x[dof + a];
            if (THEN == STEP || THEN == PAIR) ahead.c[a] = p.add ? p.z[dof + a] : 0.f;
        }
        if (THEN == STEP) ahead.inverse = inverse_of(p.inverse, own);
    }

    /// Transforms the values at the nodes of plane k + 1.
    __device__ __forceinline__ void transform(u32 stage, T (&up)[3][4]) const {
        const u8* at = part(memory.u, stage);
        T v[4][3];
        U::load(at, column, 0, v[0]);
        U::load(at, column, RIGHT, v[1]);
        U::load(at, column, UP, v[2]);
        U::load(at, column, UP + RIGHT, v[3]);
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
#pragma unroll
            for (u32 q = 0; q < 4; q++) up[a][q] = v[q][a];
            face(up[a]);
        }
    }

    /// Adds up the sums at the thread's node of plane k − 1 and applies the following operation. `face[…][0]` are the
    /// forces of its own column.
    template <u32 ODD> __device__ __forceinline__ void finish(u32 stage, const T (&face)[3][4]) {
        T y[3], right[3], up[3], both[3];
        const u8* from = part(memory.f, ODD * BUFFER);
        F::load(from, column, -RIGHT, right);
        F::load(from + F::SIZE, column, -UP, up);
        F::load(from + 2 * F::SIZE, column, -UP - RIGHT, both);
#pragma unroll
        for (u32 a = 0; a < 3; a++) y[a] = ((face[a][0] + right[a]) + up[a]) + both[a];
        if (flags & FIXED) {
            u32 plane = p.stretches[blockIdx.x].at + sheet(0) / SHEET - BEFORE - 1;
            const u32* bits = p.fixed + ((p.planes[plane].fixed - 1) * WARPS + warp) * 3;
#pragma unroll
            for (u32 a = 0; a < 3; a++)
                if (__ldg(bits + a) & bit) y[a] = 0;
        }
        u64 dof = 3 * static_cast<u64>(own);
        if constexpr (THEN == FORCES) {
            add_forces(y, dof);
        } else if constexpr (THEN == DOT) {
            sum += y[0] * ahead.a[0] + y[1] * ahead.a[1] + y[2] * ahead.a[2];
        } else {
            if constexpr (THEN == PAIR) {
                U::load(part(memory.u, stage), column, 0, ahead.b);
                ahead.inverse = inverse_at(stage, column, odd >> 3 & 1);
            }
#pragma unroll
            for (u32 a = 0; a < 3; a++) follow(y[a], dof + a, ahead.a[a], ahead.b[a], ahead.c[a], ahead.inverse);
            if (THEN == STORE && p.add) sum += y[0] * p.x[dof] + y[1] * p.x[dof + 1] + y[2] * p.x[dof + 2];
        }
    }

    __device__ __forceinline__ void follow(T y, u64 dof, float a, float b, float c, float inverse) const {
        if constexpr (THEN == STORE) p.y[dof] = y;
        if constexpr (THEN == RESIDUAL) p.r[dof] = a - y;
        if constexpr (THEN == STEP) {
            float r = a - y, d = p.p * b + p.s * inverse * r;
            if (p.r) p.r[dof] = r;
            if (p.d) p.d[dof] = d;
            p.z[dof] = p.w * d + c;
        }
        if constexpr (THEN == PAIR) p.z[dof] = p.w0 * b - p.w * inverse * y + c;
    }

    /// r = f − y at a node, and its square.
    __device__ __forceinline__ void add_forces(T (&y)[3], u64 dof) {
        if (p.n_forces) {
            u32 low = 0, high = static_cast<u32>(p.n_forces);
            while (low < high) {
                u32 middle = (low + high) / 2;
                if (p.forces[middle].dof < dof) low = middle + 1;
                else high = middle;
            }
            for (; low < p.n_forces && p.forces[low].dof < dof + 3; low++)
#pragma unroll
                for (u32 a = 0; a < 3; a++)
                    if (p.forces[low].dof == dof + a) y[a] -= p.forces[low].value;
        }
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            p.r[dof + a] = static_cast<float>(-y[a]);
            sum += static_cast<double>(y[a]) * y[a];
        }
    }

    /// Transforms plane k + 1, computes the elements of plane k from the transforms of both planes, and finishes plane
    /// k − 1.
    template <u32 ODD>
    __device__ __forceinline__ void step(u32 from, u32 to, u32 done, const T (&low)[3][4], T (&up)[3][4], T (&f)[3][4],
                                         T (&g)[3][4]) {
        // With AHEAD_OF_TIME a busy step always computes transforms and forces, so more of its instructions overlap.
        constexpr bool ALL = AHEAD_OF_TIME;
        if (!AHEAD_OF_TIME) look(0);
        wait<EARLY - 2>();
        if constexpr (THEN == PAIR) scale(from);
        __syncthreads();
        const bool busy = flags & BUSY;
        if (!flags) {
            if constexpr (THEN == PAIR) skip_odd(), there = false;
            commit();
        } else {
            fetch(EARLY, to);
        }
        if (!busy) {
            elements = elements_above;
            raw = raw_above;
            if (AHEAD_OF_TIME) look(1);
            return;
        }
        if (ALL || flags & ABOVE) transform(from, up);
        // g is f of the previous step.
        if (own_there) finish<ODD ^ 1>(done, g);
        if (ALL || flags & ELEMENTS) {
            if (elements & bit) {
                compute(low, up, f, g);
            } else {
#pragma unroll
                for (u32 i = 0; i < 12; i++) clear(g[i / 4][i % 4]);
            }
        }
        const bool faces = ALL || flags & ELEMENTS;
        elements = elements_above;
        raw = raw_above;
        if (AHEAD_OF_TIME) look(1);
        if (!faces) return;
        u8* out = part(memory.f, ODD * BUFFER);
#pragma unroll
        for (u32 a = 0; a < 3; a++) face(f[a]);
#pragma unroll
        for (u32 q = 1; q < 4; q++) F::store(out + (q - 1) * F::SIZE, column, f[0][q], f[1][q], f[2][q]);
    }

    /// Determines the work of all steps of a stretch, copies the first lists of halo nodes, and clears the sums.
    /// `planes` holds the planes from −1, before the stretch, to n, after it.
    __device__ __forceinline__ void prepare(const Stretch& stretch) const {
        const int n = stretch.n;
        Plane* const planes = reinterpret_cast<Plane*>(memory.f);
        static_assert(sizeof(Plane) * (LONGEST<T, THEN, MODULI> + 2) <= 2 * BUFFER, "room for the planes");
        if (threadIdx.x < 64) memory.ring[threadIdx.x] = ring(threadIdx.x, PITCH);
        {
            const uint4* from = reinterpret_cast<const uint4*>(p.planes + stretch.at - 1);
            uint4* to = reinterpret_cast<uint4*>(planes);
            for (u32 i = threadIdx.x; i < (n + 2) * (sizeof(Plane) / sizeof(uint4)); i += THREADS) to[i] = __ldg(from + i);
        }
        __syncthreads();
        const u32 w = threadIdx.x % WARPS;
        auto inside = [&](int i) { return i >= -1 && i <= n; };
        auto elements = [&](int i) { return i >= -1 && i < n ? planes[i + 1].word[w].elements : 0; };
        for (int at = threadIdx.x / WARPS; at < int(PLANES); at += THREADS / WARPS) {
            const int plane = at - int(BEFORE), k = plane - EARLY;
            Task task = {};
            if (inside(plane)) {
                const Word& word = planes[plane + 1].word[w];
                task.nodes = word.nodes;
                task.node_at = word.node_at;
            }
            task.elements = elements(k + 1);
            const u32 here = elements(k);
            if (task.nodes) task.flags |= FETCH;
            if (here | task.elements) task.flags |= ABOVE;
            if (here | elements(k - 1) | elements(k - 2) | elements(k - 3)) task.flags |= ELEMENTS;
            if (k >= 1 && k <= n && planes[k].word[w].nodes) {
                task.flags |= FINISH;
                if (planes[k].word[w].element_at & HAS_FIXED) task.flags |= FIXED;
            }
            memory.sheets[at].task[w] = task;
            if constexpr (MODULI)
                memory.sheets[at].element_at[w] = task.elements ? planes[k + 2].word[w].element_at & ~HAS_FIXED : 0;
            if (w < 2) {
                const Plane& from = planes[inside(plane) ? plane + 1 : 0];
                const u32 before = w ? __popc(from.halo[0]) : 0;
                memory.sheets[at].halo[w] = {inside(plane) ? from.halo[w] : 0, from.halo_at + before};
            }
        }
        for (u32 i = threadIdx.x; i < 64 * (EARLY + 2); i += THREADS) {
            const int plane = int(i / 64) - 1;
            if (!inside(plane)) continue;
            const Plane& from = planes[plane + 1];
            const u32 half = i / 32 % 2, lane = i % 32, before = half ? __popc(from.halo[0]) : 0;
            if (lane < __popc(from.halo[half]))
                memory.lists[(plane + BEFORE) % 8][i % 64] = __ldg(p.halo + from.halo_at + before + lane);
        }
        __syncthreads();
        // Idle warps fetch the halo if there are any.
        for (u32 at = threadIdx.x; at + 3 < PLANES; at += THREADS) {
            auto& sheet = memory.sheets[at];
            const auto& third = memory.sheets[at + 3];
            u32 idle = 0;
            for (u32 w = 0; w < WARPS; w++) idle |= sheet.task[w].flags & BUSY ? 0 : 1u << w;
            const u32 first = idle ? __ffs(idle) - 1 : at % 8, second = idle ? 31 - __clz(idle) : (at + 5) % 8;
            if (sheet.halo[0].x | third.halo[0].x) sheet.task[first].flags |= HALO;
            if (sheet.halo[1].x | third.halo[1].x) sheet.task[second].flags |= OTHER_HALO;
        }
        for (u32 i = threadIdx.x; i < sizeof(memory.f) / sizeof(uint4); i += THREADS)
            reinterpret_cast<uint4*>(memory.f)[i] = {};
    }

    __device__ __forceinline__ void run() {
        Stretch stretch = p.stretches[blockIdx.x];
        prepare(stretch);
        T a[3][4] = {}, b[3][4] = {}, f[3][4] = {}, g[3][4] = {};
        __syncthreads();
        // Step k = −2. Only the transforms of plane −1 are needed.
        tasks -= 2 * SHEET;
        for (int i = 1; i < EARLY; i++) {
            take(task(i));
            fetch(i, (i - 1) * STAGE);
        }
        // The nodes of plane −1 belong to another stretch and must not be finished here.
        __syncthreads();
        if (threadIdx.x < WARPS) memory.sheets[BEFORE - 1].task[threadIdx.x].nodes = 0;
        if (AHEAD_OF_TIME) look(0);
        for (u32 steps = stretch.n + 3; steps; steps -= 2) {
            step<0>(stage, EARLY == 2 ? stage + STAGE : other_stage + STAGE, other_stage, a, b, f, g);
            tasks += SHEET;
            if (steps == 1) break;
            step<1>(stage + STAGE, EARLY == 2 ? other_stage : stage, other_stage + STAGE, b, a, g, f);
            tasks += SHEET;
            u32 swap = stage;
            stage = other_stage;
            other_stage = swap;
        }
        if (SUMS && p.partial) {
            __syncthreads();
            double all = block_sum(sum, reinterpret_cast<double*>(&memory));
            if (threadIdx.x == 0) p.partial[blockIdx.x] = all;
        }
    }
};

template <class T, u32 THEN, bool MODULI> __device__ __forceinline__ void march(const Params<T>& p) {
    extern __shared__ __align__(16) u8 memory[];
    March<T, THEN, MODULI>(p, memory).run();
}
