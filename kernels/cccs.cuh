// What the kernels of the collapsed cone share: the voxels as the lines see them, and the terms of the kernels.
//
// The algorithm is that of engine/cpu/cccs, with the same names and constants. Lines are side by side along the
// contiguous axis of the voxels (a lane each); `across` is the other axis of a row that is not the dominant one, the
// dominant axis is cut into slabs.

#pragma once

// As in physics/kernel_fit.rs.
constexpr int TERMS = 9;
constexpr float SLOWEST_PER_CM = 0.04f;
constexpr int SCATTER_END = 5;   // terms 0 to 4 are the scatter's,
constexpr int PRIMARY_FIRST = 3; // 3 to 8 the primary's
// As in engine/cccs/angles.rs.
constexpr int ANGLES = 721;
constexpr float ROWS_PER_DEG = 4.0f;
// As in engine/cpu/cccs: voxels whose release shares one angle, and where such a strip may begin.
constexpr int STRIP = 16;
constexpr int PHASE_STEP = 4;
// Voxels that a line visits in a slab, at most.
constexpr int MOST_VISITS = 3;

// Voxels laid out for the lines as a group of directions with one dominant axis passes them, as the host declares it in
// engine/cuda/cccs, field for field. Along the lines' neighbours memory is contiguous, rows padded to `pitch` (a multiple
// of 32, at least one voxel more than `columns`).
struct March {
    int columns;       // voxels of a row
    int across;        // along the other axis of a row
    int slabs;         // along the dominant axis
    int pitch;
    int row_of_across; // what one step along these axes adds to the number of the row
    int row_of_slab;
    float spacing_mm[3]; // along the contiguous axis, across, along the dominant axis
    float from_mm[3];    // the radiation source, from the centre of voxel (0, 0, 0)
};

// What a channel sends along a line at one angle, per sr (engine/cccs/angles.rs): sums of amplitudes, then amplitudes
// over decay constants, near and deep.
struct __align__(16) Coefficients {
    float sums[4];
    float scatter[SCATTER_END][2];
    float primary[TERMS - PRIMARY_FIRST][2];
    float none[2];
};

// Channels of the release: primary near and deep, scatter near and deep.
struct __align__(16) Release {
    float primary[2];
    float scatter[2];
};

// The lines of one direction, as the host declares it, field for field.
struct Heading {
    double per_slab[2];                // voxels along the contiguous axis and across while a line passes a slab
    double start[2];                   // where in a voxel they come in
    float direction[3];                // unit vector: along the contiguous axis, across, dominant
    float weight;                      // of what stays: sr over cm
    float slab_path_cm;
    int turn;                          // sets where strips begin
    int backward;                      // from the last slab to the first
    int none;
};

// Threads of a block: lines side by side, and rows of lines. In a slab they pass the voxels of a tile, which reaches
// further by what lines move in it at most.
constexpr int LANES = 32;
constexpr int ROWS = 8;
constexpr int THREADS = LANES * ROWS;
constexpr int HALO = 2;
constexpr int TILE_COLUMNS = LANES + HALO;
constexpr int TILE = TILE_COLUMNS * (ROWS + HALO);
constexpr int FILLS = (TILE + THREADS - 1) / THREADS;

// Where the tile of the first lines lies in a slab: what to add to the lines' numbers along the contiguous axis and
// across. And how many of its voxels a line passes.
struct __align__(16) Slab {
    int base[2];
    int visits;
    int none;
};

// A voxel that lines pass within a slab: its place in the tile from the line's own, and how far the line goes in it, as the
// negative exponent (of 2) of the slowest term for density 1.
struct __align__(8) Visit {
    int place;
    float exponent;
};
constexpr float EXPONENT_PER_CM = -SLOWEST_PER_CM * 1.44269504f;

// As in engine/cccs/near.rs: voxels on the way of an offset, at most; what is denser counts as this dense.
constexpr int NEAR_WAY = 4;
constexpr float NEAR_DENSEST = 2.0f;

// A strip's row of the table for the cosine of its angle to the line: Abramowitz and Stegun 4.4.45.
__device__ inline int angle_row(float cosine)
{
    float x = fminf(fabsf(cosine), 1.0f);
    float rest = fmaxf(1.0f - x, 1e-20f);
    float angle = rest * rsqrtf(rest) * (1.5707288f + x * (-0.2121144f + x * (0.074261f + x * -0.0187293f)));
    angle = cosine < 0.0f ? 3.14159265f - angle : angle;
    int row = (int)(angle * (57.29577951f * ROWS_PER_DEG) + 0.5f);
    return min(row, ANGLES - 1);
}
