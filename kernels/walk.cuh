// Voxel walks on a card; `src/geometry/walk.rs` lists the CPU's.
//
//   walk                               job                                  why
//   walk_nested, all axes (here)       path voxel by voxel, exact DRRs      exact, any grid with uneven planes
//   walk_nested, two axes (here)       path column by column                rays of a column cross its planes at the same alphas
//   walk_slab (cccs.cuh)               collapsed cone, local correction     parallel lines are alike: one walk serves a direction
//   EvenWalk (mccs.cuh)                Monte Carlo                          rays from anywhere, even lattice: no table of planes
//   walk_branch_free (paper_xiao.cu)   `benches/xiao` alone                 Xiao's Algorithm 2, for his table
//
// walk_nested is the 3D-DDA of Xiao et al., Med. Phys. 2012 (Algorithm 1) on grids whose z planes may be uneven, stepping as in
// de Greef et al., Med. Phys. 36:4095, 2009 (appendix), planes in constant memory. A ray is p = from + alpha (to - from), alpha
// 0 to 1.
//
// Positions are in voxels from the low edge of voxel 0 along x and y, so that planes are whole numbers, and in mm from the
// middle of the grid along z. Four things differ from the papers, for accuracy in f32:
//
// * alphas along x and y are one multiply-add of the number of planes crossed, not a running sum (de Greef, section IV: up to
//   0.06 mm of rounding);
// * positions are pairs of floats: where a ray grazes a plane, the crossing moves along it by many times what the
//   position is off;
// * a walk should begin where alphas matter most (at the target, not at the source a metre away): a crossing is as exact
//   as it is near;
// * the ray's end is the least of the very products that the steps compare, so that no rounding leads out of the box.

#pragma once

// A number as the sum of two, the second within the rounding of the first.
struct Exact {
    float hi, lo;
};

__device__ inline Exact sum(Exact a, Exact b)
{
    float hi = a.hi + b.hi;
    float of_b = hi - a.hi;
    float lost = (a.hi - (hi - of_b)) + (b.hi - of_b);
    return {hi, lost + (a.lo + b.lo)};
}

__device__ inline Exact product(Exact a, Exact b)
{
    float hi = a.hi * b.hi;
    return {hi, fmaf(a.hi, b.hi, -hi) + fmaf(a.hi, b.lo, a.lo * b.hi)};
}

__device__ inline Exact product(int n, Exact a) { return product(Exact{(float)n, 0.0f}, a); }

__device__ inline float difference(Exact a, Exact b) { return (a.hi - b.hi) + (a.lo - b.lo); }

__device__ inline float difference(int n, Exact b) { return ((float)n - b.hi) - b.lo; }

// Planes of the grid walked: entry k is the low edge of plane k.
#define MOST_PLANES 3072
__constant__ Exact plane_edges_mm[MOST_PLANES + 1];

// As the host declares it in engine/cuda/grid.rs, field for field.
struct WalkGrid {
    int box_low[3]; // the voxels that hold anything: box_low <= voxel < box_high
    int box_high[3];
    int stride_y; // in voxel data; along x it is 1
    int stride_z;
};

struct Walk {
    float alpha;                        // where the ray is
    float end;                          // where it leaves the box or ends
    float next[3];                      // alpha at the next plane along x, y, z
    float first[2], per[2], crossed[2]; // along x and y: alpha at the first plane, between planes, planes crossed
    Exact from_z;
    float inverse_z;
    int plane, plane_step; // along z: the next plane, and the one after it
    int voxel;             // index in voxel data
    int voxel_step[3];
};

#define INFINITE __int_as_float(0x7f800000)

constexpr int ALL_AXES = 7;
constexpr int X_AND_Z = 5; // columns along y: a step goes to the next column, the box clips along y too

constexpr __device__ bool takes_part(int axes, int axis) { return (axes >> axis) & 1; }

__device__ inline int clamped(int value, int low, int high) { return min(max(value, low), high); }

// The plane that holds z, of those from low to high - 1.
__device__ inline int plane_of(float z_mm, int low, int high)
{
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (plane_edges_mm[middle].hi <= z_mm) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

__device__ inline float alpha_at_plane(const Walk& walk, int plane)
{
    return difference(plane_edges_mm[plane], walk.from_z) * walk.inverse_z;
}

// Readies a walk through the box of `grid`; false where the ray has no part in it. Of AXES, those whose planes are
// stepped over.
template <int AXES>
__device__ inline bool begin_walk(Walk& walk, const WalkGrid& grid, const Exact from[3], const Exact to[3])
{
    float extent[3], inverse[3];
    bool moves[3];
    float end = 1.0f, end_aside = 1.0f; // along all axes; along those not stepped over
    walk.alpha = 0.0f;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        extent[axis] = difference(to[axis], from[axis]);
        inverse[axis] = 1.0f / extent[axis];
        moves[axis] = fabsf(inverse[axis]) < INFINITE;
        int box_low = grid.box_low[axis], box_high = grid.box_high[axis];
        float low = axis < 2 ? difference(box_low, from[axis]) : difference(plane_edges_mm[box_low], from[2]);
        float high = axis < 2 ? difference(box_high, from[axis]) : difference(plane_edges_mm[box_high], from[2]);
        if (moves[axis]) {
            float a = low * inverse[axis], b = high * inverse[axis];
            walk.alpha = fmaxf(walk.alpha, fminf(a, b));
            end = fminf(end, fmaxf(a, b));
            if (!takes_part(AXES, axis)) {
                end_aside = fminf(end_aside, fmaxf(a, b));
            }
        } else if (!(low <= 0.0f && 0.0f < high)) {
            return false;
        }
    }
    if (!(walk.alpha < end)) {
        return false;
    }
    // Along the axes stepped over the end is found below, as the products that the steps compare.
    walk.end = end_aside;
    walk.voxel = 0;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        walk.next[axis] = INFINITE;
        walk.voxel_step[axis] = 0;
        if (!takes_part(AXES, axis)) {
            continue;
        }
        int stride = axis == 0 ? 1 : grid.stride_y;
        int low = grid.box_low[axis], high = grid.box_high[axis];
        int voxel = clamped((int)floorf(fmaf(walk.alpha, extent[axis], from[axis].hi)), low, high - 1);
        walk.voxel += voxel * stride;
        if (!moves[axis]) {
            continue;
        }
        bool up = inverse[axis] > 0.0f;
        int left = up ? high - voxel : voxel - low + 1; // planes to the box's face
        walk.first[axis] = difference(up ? voxel + 1 : voxel, from[axis]) * inverse[axis];
        walk.per[axis] = fabsf(inverse[axis]);
        walk.crossed[axis] = 0.0f;
        walk.next[axis] = walk.first[axis];
        walk.voxel_step[axis] = up ? stride : -stride;
        walk.end = fminf(walk.end, fmaf((float)(left - 1), walk.per[axis], walk.first[axis]));
    }
    int k = plane_of(fmaf(walk.alpha, extent[2], from[2].hi), grid.box_low[2], grid.box_high[2]);
    walk.voxel += k * grid.stride_z;
    walk.next[2] = INFINITE;
    if (moves[2]) {
        bool up = inverse[2] > 0.0f;
        walk.from_z = from[2];
        walk.inverse_z = inverse[2];
        walk.plane = up ? k + 1 : k;
        walk.plane_step = up ? 1 : -1;
        walk.voxel_step[2] = up ? grid.stride_z : -grid.stride_z;
        walk.next[2] = alpha_at_plane(walk, walk.plane);
        walk.end = fminf(walk.end, alpha_at_plane(walk, up ? grid.box_high[2] : grid.box_low[2]));
    }
    return walk.alpha < walk.end;
}

// Into the next voxel along an axis.
template <int AXIS> __device__ inline void cross_plane(Walk& walk)
{
    walk.voxel += walk.voxel_step[AXIS];
    if (AXIS == 2) {
        walk.plane += walk.plane_step;
        walk.next[2] = alpha_at_plane(walk, walk.plane);
    } else {
        walk.crossed[AXIS] += 1.0f;
        walk.next[AXIS] = fmaf(walk.crossed[AXIS], walk.per[AXIS], walk.first[AXIS]);
    }
}

template <int AXES> __device__ inline float next_plane(const Walk& walk)
{
    float alpha = fminf(walk.next[0], walk.next[2]);
    return takes_part(AXES, 1) ? fminf(alpha, walk.next[1]) : alpha;
}

// Calls visit(voxel, from_alpha, until_alpha) for the voxels passed, in order. Algorithm 1, nested branches: one axis a
// step, so that an edge or a corner is passed in steps of length 0.
template <int AXES, class Visit> __device__ inline void walk_nested(Walk& walk, Visit visit)
{
    for (float crossing = next_plane<AXES>(walk); crossing < walk.end; crossing = next_plane<AXES>(walk)) {
        visit(walk.voxel, walk.alpha, crossing);
        walk.alpha = crossing;
        // First the axis that is most often right: rays are turned to run along y.
        if (takes_part(AXES, 1) && walk.next[1] <= crossing) {
            cross_plane<1>(walk);
        } else if (walk.next[0] <= crossing) {
            cross_plane<0>(walk);
        } else {
            cross_plane<2>(walk);
        }
    }
    visit(walk.voxel, walk.alpha, walk.end);
}
