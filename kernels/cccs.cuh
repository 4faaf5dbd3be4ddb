// What the kernels of the collapsed cone share: the voxels as the lines see them, and the terms of the kernels.
//
// The algorithm is that of engine/cpu/cccs, with the same names and constants. For each dominant axis the voxels are laid
// out once more: in a slab across it, rows of voxels along the contiguous axis one after the other (`across` numbers them),
// each ended by at least one cell of wall, and after the last at least one row of wall. So the cells of a slab are a ring: whatever
// voxels a line moves on is one number added, and a line that leaves sideways meets a wall, loses what it carried, and comes in
// again.

#pragma once

// As in physics/kernel_fit.rs.
constexpr int TERMS = 9;
constexpr float SLOWEST_PER_CM = 0.04f;
constexpr int SCATTER_END = 5;   // terms 0 to 4 are the scatter's,
constexpr int PRIMARY_FIRST = 3; // 3 to 8 the primary's
// As in engine/jobs/cccs/angles.rs.
constexpr int ANGLES = 97;
constexpr float STEP_DEG = 1.875f;
// Rows of the table for each step of that.
constexpr int ROWS_OF_STEP = 8;

constexpr int LANES = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

// Voxels laid out for the lines of one dominant axis, as the host declares it in engine/cuda/cccs, field for field.
struct March {
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

// What a laid-out density says besides its size: nothing gets through a wall, and a voxel that releases has its density negated.
constexpr float WALL = 1e30f;
__device__ inline bool is_wall(float laid) { return laid == WALL; }
__device__ inline bool is_releasing(float laid) { return laid < 0.0f; }
__device__ inline float density_of(float laid) { return fabsf(laid); }
__device__ inline float laid_density(float density, bool releasing) { return releasing ? -density : density; }

// What a channel sends along a line at one angle, per sr (engine/jobs/cccs/angles.rs), near and deep: the sum of amplitudes over
// EXPONENT_PER_CM, then amplitudes over decay constants. From step to step by straight lines.
struct __align__(16) Coefficients {
    float primary_sum[2];
    float primary[TERMS - PRIMARY_FIRST][2];
    float scatter_sum[2];
    float scatter[SCATTER_END][2];
    float none[2];
};

// Channels of the release: primary near and deep, scatter near and deep.
struct __align__(16) Release {
    float primary[2];
    float scatter[2];
};

// How much of primary and scatter is deep: less than nothing where the spectrum is softer than that of the near channel, more than
// all where it is harder than the deep one's.
struct Mix {
    float primary;
    float scatter;
};
// Where nothing is released.
constexpr float NO_MIX = 1e30f;
__device__ inline bool has_mix(const Mix& mix) { return mix.primary != NO_MIX; }

// What a voxel releases as lines meet it: all of the primary and all of the scatter, which has a minus sign, zero or not, where the
// voxel is thin.
struct __align__(16) Source {
    float primary;
    float scatter;
    Mix mix;
};

// The lines of one direction, as the host declares it, field for field.
struct Heading {
    double per_slab[2];  // voxels along the contiguous axis and across while a line passes a slab
    double start[2];     // where in a voxel they come in
    float direction[3];  // unit vector: along the contiguous axis, across, dominant
    float weight;        // of what stays: sr over cm
    float slab_path_cm;
    int backward;        // from the last slab to the first
    int march;           // which layout
    int none;
};

// Cells that a line passes in a slab, at most.
constexpr int MOST_VISITS = 3;

// The way of the lines of a direction through a slab: what to add to a line's number for its first cell, to that for the
// others; and how far it goes in each, as the negative exponent (of 2) of the slowest term for density 1.
struct __align__(16) Slab {
    int first;
    int next[MOST_VISITS - 1];
    int visits;
    float exponent[MOST_VISITS];
    int until;    // the step until which what is sent from here on is kept
    float ray[3]; // from the radiation source to where what is sent is found, mm, for a line that comes in by cell 0
    int far_slab; // the cells before its slab,
    int far;      // and what to add to the cell by which lines come in for theirs there
    int none[3];
};
constexpr float EXPONENT_PER_CM = -SLOWEST_PER_CM * 1.44269504f;

// Greatest release (all channels) and greatest density, as bits of floats of zero or more, which order as integers do.
struct Scale {
    int release_bits;
    int density_bits;
};

__device__ inline bool is_thin(const Source& source) { return __float_as_int(source.scatter) < 0; }
__device__ inline float scatter_of(const Source& source) { return fabsf(source.scatter); }
__device__ inline float laid_scatter(float scatter, bool thin) { return thin ? -scatter : scatter; }

// What stays is added up in units of the greatest release x a density over a 32-bit integer's range: the greatest density, with as much
// again to spare, but no less than this, so that what is little in water is as little beside bone and metal.
constexpr float MOST_DOSE = 2.0f;
constexpr float LEAST_RANGE = 8.0f;
constexpr float RANGE = 2147483648.0f;

__device__ inline float unit_of(const Scale& scale)
{
    return __int_as_float(scale.release_bits) * fmaxf(__int_as_float(scale.density_bits) * MOST_DOSE, LEAST_RANGE) / RANGE;
}

__device__ inline bool any_lane(bool mine) { return __any_sync(ALL_LANES, mine) != 0; }

__device__ inline int least_of_warp(int value)
{
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        value = min(value, __shfl_xor_sync(ALL_LANES, value, lanes));
    }
    return value;
}

// A number of cells less than twice the ring's length as one less than the ring's.
__device__ inline int round_ring(int cell, int ring) { return (int)min((unsigned)cell, (unsigned)(cell - ring)); }

// The lines of a warp begin side by side in so many columns and rows: as many lanes as can be are then where anything is released.
constexpr int WARP_COLUMNS = 16;
constexpr int WARP_ROWS = 2;
static_assert(WARP_COLUMNS * WARP_ROWS == LANES, "a warp");

// Where the first line of a warp is, of which so many stand one above the other.
struct WarpPlace {
    int row, column;
};

template <int STACK> __device__ inline WarpPlace place_of_warp(const March& march, int warp)
{
    int warps_of_stack = march.pitch / WARP_COLUMNS * STACK;
    int stack = warp / warps_of_stack;
    warp -= stack * warps_of_stack;
    return {(stack * STACK + warp % STACK) * WARP_ROWS, warp / STACK * WARP_COLUMNS};
}

// Which of the cells of a ring from one on release, bit by bit; `releasing` are those of its slab.
__device__ inline unsigned releasing_from(const unsigned* __restrict__ releasing, int cell, int ring)
{
    int word = cell / LANES, next = word + 1;
    return __funnelshift_r(releasing[word], releasing[next * LANES < ring ? next : 0], cell % LANES);
}

__device__ inline float total(const Release& r) { return r.primary[0] + r.primary[1] + r.scatter[0] + r.scatter[1]; }

// An angle in steps of the table. By the cosine: Abramowitz and Stegun 4.4.45.
__device__ inline float steps_of(float cosine)
{
    float x = fminf(fabsf(cosine), 1.0f);
    float rest = fmaxf(1.0f - x, 1e-20f);
    float angle = rest * rsqrtf(rest) * (1.5707288f + x * (-0.2121144f + x * (0.074261f + x * -0.0187293f)));
    angle = cosine < 0.0f ? 3.14159265f - angle : angle;
    return angle * (57.29577951f / STEP_DEG);
}

// The row at the step below an angle, not the last, and which part of the way to the next it lies.
__device__ inline int step_row(float steps, float& part)
{
    int step = min((int)steps, ANGLES - 2);
    part = steps - (float)step;
    return step * ROWS_OF_STEP;
}

// The row next to an angle.
__device__ inline int nearest_row(float steps)
{
    return min((int)fmaf(steps, ROWS_OF_STEP, 0.5f), (ANGLES - 1) * ROWS_OF_STEP);
}

// A lattice's way through one slab: up to three cells, cut where its lines leave their voxel sideways.
struct Pieces {
    int cell[MOST_VISITS][2];
    float length_cm[MOST_VISITS];
    int count;
};

__device__ inline void add_piece(Pieces& pieces, const int cell[2], double from, double to, double path_cm)
{
    if (to > from) {
        pieces.cell[pieces.count][0] = cell[0];
        pieces.cell[pieces.count][1] = cell[1];
        pieces.length_cm[pieces.count] = (float)((to - from) * path_cm);
        pieces.count += 1;
    }
}

// As LatticeWalk of engine/jobs/cccs/walk.rs.
__device__ inline void walk_slab(Pieces& pieces, const double start[2], const double per_slab[2], int step, double path_cm)
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
    pieces.count = 0;
    double at = 0.0;
    int axis = reach[0] <= reach[1] ? 0 : 1;
    for (int turn = 0; turn < 2; ++turn, axis = 1 - axis) {
        if (reach[axis] < 1.0) {
            add_piece(pieces, cell, at, reach[axis], path_cm);
            at = reach[axis];
            cell[axis] += per_slab[axis] > 0.0 ? 1 : -1;
        }
    }
    add_piece(pieces, cell, at, 1.0, path_cm);
}
