// Search of gamma for one point: its place in the evaluated dose, the cells around it, and bounds of their distance. As
// engine/gamma/cpu/{search,bound,vertex}.rs, function for function.

#pragma once

#include "gamma_simplex.cuh"

// As the host declares it in engine/gamma/cuda/mod.rs, field for field.
struct Pair {
    // Reference voxel (i, j, k) lies at first + i step_i + j step_j + reference_planes[k] normal, mm in the evaluated grid's frame.
    double first[3];
    double step_i[3];
    double step_j[3];
    double normal[3];
    double spacing[2];     // of the evaluated dose along x and y, mm
    double per_spacing[2]; // 1 / spacing
    double per_plane;      // guess of planes per mm along z
    double hull;           // a point this far outside is inside, mm
    int reference_size[3];
    int size[3]; // of the evaluated dose; in two dimensions the last counts layers
};

struct Criterion {
    float per_mm;   // 1 / DTA
    float per_gy;   // 1 / dose difference; for a local criterion, times the reference dose
    float most;     // squared gamma to stop at
    float rounding; // a gamma this little above 1 is 1
    float most_per_gy; // no local dose difference is less
    float per_side[2]; // DTA in sides of a cell along x and y
    int local;
};

// NaNs that say why: as in engine/gamma/result.rs.
#define LEFT_OUT 0x7fc00000
#define OUTSIDE 0x7fc00001
#define UNDEFINED 0x7fc00002
// A point this much of a cell's side inside it is on its face.
#define ON_FACE 1e-6f
// A point within this part of the squared distance to the nearest face that a voxel is not on has no other simplices near.
#define VERTEX_FINAL 0.999f

// A point's place in the evaluated dose.
struct CellPoint {
    int cell[3];
    float offset[3]; // from the cell's lowest voxel, mm
};

template <bool FLAT>
__device__ inline bool place_of(const Pair& pair, int voxel, const double* __restrict__ reference_planes,
                                const double* __restrict__ planes, const int* __restrict__ layer_of, CellPoint& place)
{
    int nx = pair.reference_size[0], ny = pair.reference_size[1];
    int row = voxel / nx;
    int i = voxel - row * nx, k = row / ny, j = row - k * ny;
    double plane = reference_planes[k];
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        double at = pair.first[axis] + pair.normal[axis] * plane + pair.step_j[axis] * j + pair.step_i[axis] * i;
        int last = pair.size[axis] - 1;
        if (!(at >= -pair.hull && at <= last * pair.spacing[axis] + pair.hull)) {
            return false;
        }
        int cell = min(max((int)(at * pair.per_spacing[axis]), 0), last - 1);
        place.cell[axis] = cell;
        place.offset[axis] = (float)(at - cell * pair.spacing[axis]);
    }
    if (FLAT) {
        place.cell[2] = layer_of[k];
        place.offset[2] = 0.0f;
        return place.cell[2] >= 0;
    }
    double at = pair.first[2] + pair.normal[2] * plane + pair.step_j[2] * j + pair.step_i[2] * i;
    int last = pair.size[2] - 1;
    if (!(at >= -pair.hull && at <= planes[last] + pair.hull)) {
        return false;
    }
    int cell = min(max((int)(at * pair.per_plane), 0), last - 1);
    while (cell > 0 && planes[cell] > at) {
        --cell;
    }
    while (cell < last - 1 && planes[cell + 1] <= at) {
        ++cell;
    }
    place.cell[2] = cell;
    place.offset[2] = (float)(at - planes[cell]);
    return true;
}

struct Doses {
    const float* __restrict__ values;   // Gy, of the evaluated dose
    const float4* __restrict__ quads;   // each voxel with those next to it along x, y and both
    const float2* __restrict__ range;   // of each of its cells
    const float2* __restrict__ heights; // of its planes, mm, each the sum of two
};

// One point under one criterion: what both searches need.
template <bool FLAT>
struct Search {
    Doses doses;
    int size[3];
    float side[2], per_side[2]; // of the cells along x and y, in DTA
    CellPoint place;
    float2 home_height;
    float dose, per_mm, per_gy;

    // Where a cell begins along an axis, seen from the point, in DTA.
    __device__ inline float begins(int axis, int index) const
    {
        if (axis < 2) {
            return fmaf((float)(index - place.cell[axis]), side[axis & 1], -place.offset[axis] * per_mm);
        }
        float2 height = __ldg(doses.heights + index);
        float way = (height.x - home_height.x) + (height.y - home_height.y);
        return (way - place.offset[axis]) * per_mm;
    }

    __device__ inline int index(int i, int j, int k) const { return (k * size[1] + j) * size[0] + i; }

    __device__ inline float dose_at(int i, int j, int k) const
    {
        return (__ldg(doses.values + index(i, j, k)) - dose) * per_gy;
    }

    // The voxel nearest to the point, and where it is seen from there; whether the point is on it.
    __device__ inline bool nearest(int near[3], float way[3]) const
    {
        bool on = true;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            near[axis] = place.cell[axis];
            way[axis] = 0.0f;
            if (axis < (FLAT ? 2 : 3)) {
                float low = begins(axis, near[axis]), high = begins(axis, near[axis] + 1);
                bool up = high < -low;
                near[axis] += up ? 1 : 0;
                way[axis] = up ? high : low;
                on = on && fabsf(way[axis]) <= ON_FACE * (high - low);
            }
        }
        return on;
    }

    // How far a cell is, squared, by its distance and its range of dose.
    __device__ inline float apart(int at, float gap_x, float gap_y, float gap_z) const
    {
        float2 has = __ldg(doses.range + at);
        float gap_dose = fmaxf(fmaxf(has.x - dose, dose - has.y) * per_gy, 0.0f);
        return fmaf(gap_dose, gap_dose, fmaf(gap_x, gap_x, fmaf(gap_y, gap_y, gap_z * gap_z)));
    }

    __device__ inline Way way_along(int axis, float low) const
    {
        return {low * per_side[axis], side[axis] * side[axis], per_side[axis] * per_side[axis]};
    }
};

__device__ inline float gap(float low, float high)
{
    return fmaxf(fmaxf(low, -high), 0.0f);
}

// A box of cells that grows towards its nearest side.
struct Box {
    int first[3], last[3];

    // Grows by the slab `from` to `until`, `far` away; false where there are no more cells.
    template <bool FLAT>
    __device__ inline bool grow(const Search<FLAT>& search, int from[3], int until[3], float& far)
    {
        float nearest = INFINITE;
        int which = -1;
#pragma unroll
        for (int axis = 0; axis < (FLAT ? 2 : 3); ++axis) {
            float below = first[axis] > 0 ? -search.begins(axis, first[axis]) : INFINITE;
            float above = last[axis] + 2 < search.size[axis] ? search.begins(axis, last[axis] + 1) : INFINITE;
            if (below < nearest) {
                nearest = below;
                which = 2 * axis;
            }
            if (above < nearest) {
                nearest = above;
                which = 2 * axis + 1;
            }
        }
        far = fmaxf(nearest, 0.0f);
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            from[axis] = first[axis];
            until[axis] = last[axis];
            if (which == 2 * axis) {
                from[axis] = until[axis] = --first[axis];
            } else if (which == 2 * axis + 1) {
                from[axis] = until[axis] = ++last[axis];
            }
        }
        return which >= 0;
    }
};

struct Cell {
    Way x, y, z;
    float d[8];
};

// How much dose can fall, at most, along an axis away from the side where the point is.
__device__ inline float steepest(float towards, bool within, float a, float b, float c, float d)
{
    float up = fmaxf(fmaxf(a, b), fmaxf(c, d)), down = fmaxf(fmaxf(-a, -b), fmaxf(-c, -d));
    return fmaxf(within ? fmaxf(up, down) : towards > 0.0f ? up : down, 0.0f);
}

struct Space : Search<false> {
    // The corners of a cell, seen from the point.
    __device__ inline void look_at(int i, int j, int k, float low_x, float low_y, float low_z, float high_z, Cell& cell) const
    {
        int at = index(i, j, k);
#pragma unroll
        for (int c = 0; c < 8; c += 4) {
            float4 four = __ldg(doses.quads + at + (c >> 2) * size[0] * size[1]);
            cell.d[c] = (four.x - dose) * per_gy;
            cell.d[c + 1] = (four.y - dose) * per_gy;
            cell.d[c + 2] = (four.z - dose) * per_gy;
            cell.d[c + 3] = (four.w - dose) * per_gy;
        }
        float side_z = high_z - low_z, per_z = __fdividef(1.0f, side_z);
        cell.x = way_along(0, low_x);
        cell.y = way_along(1, low_y);
        cell.z = {low_z * per_z, side_z * side_z, per_z * per_z};
    }

    __device__ inline void look(int i, int j, int k, Cell& cell) const
    {
        look_at(i, j, k, begins(0, i), begins(1, j), begins(2, k), begins(2, k + 1), cell);
    }

    // No point of the cell is nearer: see engine/gamma/cpu/bound.rs.
    __device__ inline float bound(const Cell& cell, float gap_x, float gap_y, float gap_z, float per_z) const
    {
        const float* d = cell.d;
        bool below_x = cell.x.q <= ON_FACE - 1.0f, below_y = cell.y.q <= ON_FACE - 1.0f, below_z = cell.z.q <= ON_FACE - 1.0f;
        bool in_x = !below_x && cell.x.q < -ON_FACE, in_y = !below_y && cell.y.q < -ON_FACE, in_z = !below_z && cell.z.q < -ON_FACE;
        float least[4], most[4];
#pragma unroll
        for (int n = 0; n < 4; ++n) {
            float a = d[2 * n], b = d[2 * n + 1];
            least[n] = in_x ? fminf(a, b) : below_x ? b : a;
            most[n] = in_x ? fmaxf(a, b) : below_x ? b : a;
        }
#pragma unroll
        for (int n = 0; n < 2; ++n) {
            least[n] = in_y ? fminf(least[2 * n], least[2 * n + 1]) : below_y ? least[2 * n + 1] : least[2 * n];
            most[n] = in_y ? fmaxf(most[2 * n], most[2 * n + 1]) : below_y ? most[2 * n + 1] : most[2 * n];
        }
        float low = in_z ? fminf(least[0], least[1]) : below_z ? least[1] : least[0];
        float high = in_z ? fmaxf(most[0], most[1]) : below_z ? most[1] : most[0];
        float off = fmaxf(fmaxf(low, -high), 0.0f), sign = low > 0.0f ? 1.0f : -1.0f;
        float fall_x = per_side[0] * steepest(below_x ? sign : -sign, in_x, d[1] - d[0], d[3] - d[2], d[5] - d[4], d[7] - d[6]);
        float fall_y = per_side[1] * steepest(below_y ? sign : -sign, in_y, d[2] - d[0], d[3] - d[1], d[6] - d[4], d[7] - d[5]);
        float fall_z = per_z * steepest(below_z ? sign : -sign, in_z, d[4] - d[0], d[5] - d[1], d[6] - d[2], d[7] - d[3]);
        float v = off;
#pragma unroll
        for (int round = 0; round < 2; ++round) {
            float n = 1.0f, sum = off;
            bool x = v * fall_x > gap_x, y = v * fall_y > gap_y, z = v * fall_z > gap_z;
            sum = x ? fmaf(fall_x, gap_x, sum) : sum;
            n = x ? fmaf(fall_x, fall_x, n) : n;
            sum = y ? fmaf(fall_y, gap_y, sum) : sum;
            n = y ? fmaf(fall_y, fall_y, n) : n;
            sum = z ? fmaf(fall_z, gap_z, sum) : sum;
            n = z ? fmaf(fall_z, fall_z, n) : n;
            v = __fdividef(sum, n);
        }
        float x = fmaxf(fmaf(v, fall_x, -gap_x), 0.0f), y = fmaxf(fmaf(v, fall_y, -gap_y), 0.0f);
        float z = fmaxf(fmaf(v, fall_z, -gap_z), 0.0f);
        float space = fmaf(gap_x, gap_x, fmaf(gap_y, gap_y, gap_z * gap_z));
        return fmaf(v, 2.0f * off - v, space) - fmaf(x, x, fmaf(y, y, z * z));
    }

    // Whether a cell may hold a nearer point; then what it is.
    __device__ inline bool may_hold(int i, int j, int k, float best, Cell& found) const
    {
        float low_x = begins(0, i), low_y = begins(1, j), low_z = begins(2, k), high_z = begins(2, k + 1);
        float gap_x = gap(low_x, begins(0, i + 1)), gap_y = gap(low_y, begins(1, j + 1)), gap_z = gap(low_z, high_z);
        look_at(i, j, k, low_x, low_y, low_z, high_z, found);
        return bound(found, gap_x, gap_y, gap_z, __fdividef(1.0f, high_z - low_z)) < best * NEARER;
    }

    // The squared distance of the voxel nearest to the point, and the cell in which a dose that is linear about it would be
    // nearest.
    __device__ inline float guess(const int near[3], const float way[3], int cell[3]) const
    {
        float corner = dose_at(near[0], near[1], near[2]), sign = corner < 0.0f ? -1.0f : 1.0f;
        float off = fabsf(corner), n = 1.0f, square = corner * corner;
        float fall[3], step[3];
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            int x = axis == 0, y = axis == 1, z = axis == 2;
            float here = begins(axis, near[axis]);
            float up = 0.0f, down = 0.0f, side_up = 1.0f, side_down = 1.0f;
            if (near[axis] + 1 < size[axis]) {
                side_up = begins(axis, near[axis] + 1) - here;
                up = __fdividef(sign * (corner - dose_at(near[0] + x, near[1] + y, near[2] + z)), side_up);
            }
            if (near[axis] > 0) {
                side_down = here - begins(axis, near[axis] - 1);
                down = __fdividef(sign * (corner - dose_at(near[0] - x, near[1] - y, near[2] - z)), side_down);
            }
            bool goes_up = up >= down;
            fall[axis] = fmaxf(fmaxf(up, down), 0.0f);
            step[axis] = goes_up ? side_up : -side_down;
            off = fmaf(goes_up ? fall[axis] : -fall[axis], way[axis], off);
            n = fmaf(fall[axis], fall[axis], n);
            square = fmaf(way[axis], way[axis], square);
        }
        float v = __fdividef(fmaxf(off, 0.0f), n);
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            float to = (step[axis] > 0.0f ? v : -v) * fall[axis] - way[axis];
            int cells = (int)fminf(floorf(fmaxf(__fdividef(to, step[axis]), 0.0f)), 1e6f);
            int at = step[axis] > 0.0f ? near[axis] + cells : near[axis] - 1 - cells;
            cell[axis] = min(max(at, 0), size[axis] - 2);
        }
        return square;
    }

    // At a voxel: the squared distance to the tetrahedra that meet there, where nothing else can be nearer; else negative.
    __device__ inline float by_vertex(const int at[3]) const
    {
        if (at[0] < 1 || at[1] < 1 || at[2] < 1 || at[0] + 1 >= size[0] || at[1] + 1 >= size[1] || at[2] + 1 >= size[2]) {
            return -1.0f;
        }
        const float* here = doses.values + index(at[0], at[1], at[2]);
        int nx = size[0], plane = size[0] * size[1];
        float value = __ldg(here), off = (value - dose) * per_gy;
        // In units of the criterion.
        float lx = side[0] * side[0], ly = side[1] * side[1];
        float low = begins(2, at[2]), side_up = begins(2, at[2] + 1) - low, side_down = low - begins(2, at[2] - 1);
        float l_up = side_up * side_up, l_down = side_down * side_down;
        float scale = off < 0.0f ? -per_gy : per_gy;
        float up[8], down[8];
#pragma unroll
        for (int c = 1; c < 8; ++c) {
            int step = (c & 1) + (c >> 1 & 1) * nx + (c >> 2) * plane;
            up[c] = (value - __ldg(here + step)) * scale;
            down[c] = (value - __ldg(here - step)) * scale;
        }
        float most_up[8], most_down[8];
        Steps(lx, ly, l_up).longest(up, most_up);
        Steps(lx, ly, l_down).longest(down, most_down);
        float most = fmaxf(most_up[7], most_down[7]);
#pragma unroll
        for (int set = 1; set < 7; ++set) {
            most = fmaxf(most, most_up[set] + most_down[7 - set]);
        }
        float square = __fdividef(off * off, 1.0f + most);
        // The nearest face that the vertex is not on.
        float per_z = __fdividef(1.0f, fminf(l_up, l_down)), per_x = per_side[0] * per_side[0], per_y = per_side[1] * per_side[1];
        float most_per = fmaxf(per_x + per_y, per_z + fmaxf(per_x, per_y));
        return square * most_per <= VERTEX_FINAL ? square : -1.0f;
    }
};

// Sets up the search of a point; false where it has no gamma, and then `gamma` is the NaN that says why.
template <bool FLAT>
__device__ inline bool begin(const Pair& pair, const Criterion& criterion, const float* reference, const Doses& doses,
                             const double* reference_planes, const double* planes, const int* layer_of, int voxel,
                             Search<FLAT>& search, float& gamma)
{
    float dose = reference[voxel];
    if (!place_of<FLAT>(pair, voxel, reference_planes, planes, layer_of, search.place)) {
        gamma = __int_as_float(OUTSIDE);
        return false;
    }
    if (criterion.local && !(dose > 0.0f)) {
        gamma = __int_as_float(UNDEFINED);
        return false;
    }
    search.doses = doses;
    search.dose = dose;
    search.per_mm = criterion.per_mm;
    search.per_gy = criterion.local ? fminf(criterion.per_gy / dose, criterion.most_per_gy) : criterion.per_gy;
    search.home_height = FLAT ? make_float2(0.0f, 0.0f) : __ldg(doses.heights + search.place.cell[2]);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        search.size[axis] = pair.size[axis];
    }
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        search.side[axis] = (float)pair.spacing[axis] * criterion.per_mm;
        search.per_side[axis] = criterion.per_side[axis];
    }
    return true;
}

__device__ inline float settled(float square, const Criterion& criterion)
{
    float gamma = sqrtf(fminf(square, criterion.most));
    return gamma > 1.0f && gamma <= 1.0f + criterion.rounding ? 1.0f : gamma;
}
