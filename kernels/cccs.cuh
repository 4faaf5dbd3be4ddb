// Collapsed cone: the names, layouts and marked values that its kernels share. The algorithm is that of engine/cccs/cpu, with
// the same constants.
//
// Voxels are laid out once for each dominant axis. A slab lies across that axis: rows of cells along the contiguous axis, one
// after the other (`across` numbers them), each ended by one wall cell or more, the last followed by one wall row or more. The
// cells of a slab form a ring, so that a step sideways is one addition; a line that leaves sideways meets a wall, loses its
// energy, and enters again at the other side.

#pragma once

// As in physics/kernel_fit.rs.
constexpr int TERMS = 9;
constexpr float SLOWEST_PER_CM = 0.04f;
constexpr int SCATTER_END = 5;   // terms 0 to 4 are the scatter's,
constexpr int PRIMARY_FIRST = 3; // 3 to 8 the primary's
// As in engine/cccs/angles.rs.
constexpr int ANGLES = 97;
constexpr float STEP_DEG = 1.875f;
// Rows of the table to a step of STEP_DEG.
constexpr int ROWS_OF_STEP = 8;

constexpr int LANES = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

// Cells laid out for the lines of one dominant axis, as the host declares it in engine/cccs/cuda, field for field.
struct SlabLayout {
    int columns;         // voxels of a row
    int across;          // rows of a slab
    int slabs;           // along the dominant axis
    int pitch;           // cells of a row: its voxels and the wall; a multiple of WARP_COLUMNS
    int plane;           // cells of a slab: a multiple of a stack of warps
    int first_cell;      // where the layout begins in the buffers that hold them all
    unsigned rows_of_cells; // rows to a cell, times 2^32, rounded up
    float spacing_mm[3]; // along a row, across, along the dominant axis
    float from_mm[3];    // the radiation source, from the centre of voxel (0, 0, 0)
};

// A marked density: WALL where nothing passes, negative where the cell has an entry (CellTerma: TERMA, or low density); its
// magnitude is the density.
constexpr float WALL = 1e30f;
__device__ inline bool is_wall(float marked) { return marked == WALL; }
__device__ inline bool has_entry(float marked) { return marked < 0.0f; }
__device__ inline float density_of(float marked) { return fabsf(marked); }
__device__ inline float marked_density(float density, bool has_entry) { return has_entry ? -density : density; }

// Kernel coefficients of a direction at one angle, per sr (engine/cccs/angles.rs), shallow and deep channel: the sum of
// amplitudes over EXPONENT_PER_CM, then amplitudes over decay constants. Linear between the rows.
struct __align__(16) Coefficients {
    float primary_sum[2];
    float primary[TERMS - PRIMARY_FIRST][2];
    float scatter_sum[2];
    float scatter[SCATTER_END][2];
    float none[2];
};

// TERMA by channel: primary shallow and deep, scatter shallow and deep.
struct __align__(16) Terma {
    float primary[2];
    float scatter[2];
};

// Share of the deep channel in primary and scatter: below 0 where the spectrum is softer than the shallow channel's, above 1
// where it is harder than the deep one's.
struct Mix {
    float primary;
    float scatter;
};
// The mix of a cell without TERMA.
constexpr float NO_MIX = 1e30f;
__device__ inline bool has_mix(const Mix& mix) { return mix.primary != NO_MIX; }

// TERMA of a cell as lines meet it. The sign bit of `scatter`, of a zero too, marks a low-density cell.
struct __align__(16) CellTerma {
    float primary;
    float scatter;
    Mix mix;
};

// The lines of one direction, as the host declares it, field for field.
struct LineDirection {
    double per_slab[2];  // voxels along the contiguous axis and across while a line passes a slab
    double start[2];     // where in a voxel they come in
    float axis[3];       // unit vector: along the contiguous axis, across, dominant
    float weight;        // of the deposit: sr over cm
    float slab_path_cm;
    int backward;        // from the last slab to the first
    int layout;          // which layout
    int none;
};

// Segments of a line in a slab, at most: one a cell.
constexpr int MOST_SEGMENTS = 3;

// The traversal of a slab by the lines of a direction: the offset of a line's number to its first cell, of that to the others;
// the path in each as the exponent (of 2, negative) of the slowest term for density 1.
struct __align__(16) SlabTraversal {
    int first;
    int next[MOST_SEGMENTS - 1];
    int segments;
    float exponent[MOST_SEGMENTS];
    int until;    // the step until which kernel coefficients evaluated here hold
    float ray[3]; // from the radiation source to the point of evaluation, mm, for a line that enters by cell 0
    int none;
};
constexpr float EXPONENT_PER_CM = -SLOWEST_PER_CM * 1.44269504f;

// Greatest TERMA (all channels) and greatest density, as bits of floats of zero or more, which order as integers do.
struct Scale {
    int most_terma_bits;
    int most_density_bits;
};
__device__ inline float most_terma(const Scale& scale) { return __int_as_float(scale.most_terma_bits); }
__device__ inline float most_density(const Scale& scale) { return __int_as_float(scale.most_density_bits); }

__device__ inline bool is_low_density(const CellTerma& terma) { return __float_as_int(terma.scatter) < 0; }
__device__ inline float scatter_of(const CellTerma& terma) { return fabsf(terma.scatter); }
__device__ inline float marked_scatter(float scatter, bool low_density) { return low_density ? -scatter : scatter; }

// Deposits are summed in units of the greatest TERMA times a density over a 32-bit integer's range. That density is MOST_DOSE
// times the greatest, no less than LEAST_RANGE: low doses in water keep their resolution beside bone and metal.
constexpr float MOST_DOSE = 2.0f;
constexpr float LEAST_RANGE = 8.0f;
constexpr float RANGE = 2147483648.0f;

__device__ inline float unit_of(const Scale& scale)
{
    return most_terma(scale) * fmaxf(most_density(scale) * MOST_DOSE, LEAST_RANGE) / RANGE;
}

__device__ inline bool any_lane(bool mine) { return __any_sync(ALL_LANES, mine) != 0; }

__device__ inline int least_of_warp(int value)
{
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        value = min(value, __shfl_xor_sync(ALL_LANES, value, lanes));
    }
    return value;
}

// A cell number below twice the ring's length, wrapped.
__device__ inline int round_ring(int cell, int ring) { return (int)min((unsigned)cell, (unsigned)(cell - ring)); }

// Lines of a warp begin in a block of so many columns and rows: a compact block leaves fewest lanes without TERMA.
constexpr int WARP_COLUMNS = 16;
constexpr int WARP_ROWS = 2;
static_assert(WARP_COLUMNS * WARP_ROWS == LANES, "a warp");

// Cell of a warp's first line; STACK warps stand one above the other.
struct WarpPlace {
    int row, column;
};

template <int STACK> __device__ inline WarpPlace place_of_warp(const SlabLayout& layout, int warp)
{
    int warps_of_stack = layout.pitch / WARP_COLUMNS * STACK;
    int stack = warp / warps_of_stack;
    warp -= stack * warps_of_stack;
    return {(stack * STACK + warp % STACK) * WARP_ROWS, warp / STACK * WARP_COLUMNS};
}

// Cells of a ring with TERMA, a bit each, from one cell on; `terma_mask` begins at the slab.
__device__ inline unsigned terma_mask_from(const unsigned* __restrict__ terma_mask, int cell, int ring)
{
    int word = cell / LANES, next = word + 1;
    return __funnelshift_r(terma_mask[word], terma_mask[next * LANES < ring ? next : 0], cell % LANES);
}

__device__ inline float total(const Terma& r) { return r.primary[0] + r.primary[1] + r.scatter[0] + r.scatter[1]; }

// An angle in steps of the table. By the cosine: Abramowitz and Stegun 4.4.45.
__device__ inline float steps_of(float cosine)
{
    float x = fminf(fabsf(cosine), 1.0f);
    float rest = fmaxf(1.0f - x, 1e-20f);
    float angle = rest * rsqrtf(rest) * (1.5707288f + x * (-0.2121144f + x * (0.074261f + x * -0.0187293f)));
    angle = cosine < 0.0f ? 3.14159265f - angle : angle;
    return angle * (57.29577951f / STEP_DEG);
}

// The row below an angle, never the last, and the fraction of the step beyond it.
__device__ inline int step_row(float steps, float& part)
{
    int step = min((int)steps, ANGLES - 2);
    part = steps - (float)step;
    return step * ROWS_OF_STEP;
}

// The row nearest to an angle.
__device__ inline int nearest_row(float steps)
{
    return min((int)fmaf(steps, ROWS_OF_STEP, 0.5f), (ANGLES - 1) * ROWS_OF_STEP);
}

// Segments of a line in one slab: up to three, cut where the line leaves its voxel sideways.
struct Segments {
    int cell[MOST_SEGMENTS][2];
    float length_cm[MOST_SEGMENTS];
    int count;
};

__device__ inline void add_segment(Segments& segments, const int cell[2], double from, double to, double path_cm)
{
    if (to > from) {
        segments.cell[segments.count][0] = cell[0];
        segments.cell[segments.count][1] = cell[1];
        segments.length_cm[segments.count] = (float)((to - from) * path_cm);
        segments.count += 1;
    }
}

// As LatticeWalk of geometry/walk/lattice.rs.
__device__ inline void walk_slab(Segments& segments, const double start[2], const double per_slab[2], int step, double path_cm)
{
    int cell[2];
    double reach[2];
    for (int axis = 0; axis < 2; ++axis) {
        // No fused multiply-add: as the CPU rounds.
        double entry = __dadd_rn(start[axis], __dmul_rn(per_slab[axis], (double)step));
        double edge = floor(entry);
        double inside = entry - edge;
        cell[axis] = (int)edge;
        reach[axis] = per_slab[axis] > 0.0   ? (1.0 - inside) / per_slab[axis]
                      : per_slab[axis] < 0.0 ? inside / -per_slab[axis]
                                             : 2.0;
    }
    segments.count = 0;
    double at = 0.0;
    int axis = reach[0] <= reach[1] ? 0 : 1;
    for (int turn = 0; turn < 2; ++turn, axis = 1 - axis) {
        if (reach[axis] < 1.0) {
            add_segment(segments, cell, at, reach[axis], path_cm);
            at = reach[axis];
            cell[axis] += per_slab[axis] > 0.0 ? 1 : -1;
        }
    }
    add_segment(segments, cell, at, 1.0, path_cm);
}
