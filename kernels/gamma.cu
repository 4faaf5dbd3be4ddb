// Gamma index (Gu 2010): a thread a point of the reference. The geometry is that of engine/gamma/simplex.rs, the search that of
// engine/cpu/gamma/search.rs, function for function: the same answer to rounding.

// As the host declares it in engine/cuda/gamma.rs, field for field.
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
// In a list: no point here.
#define GAP 0xffffffffu
#define BINS 256
#define RANGED 12
// What is not nearer by this factor of the squared distance is not looked at: 2e-6 of gamma.
#define NEARER 0.999996f
// A point this much of a cell's side inside it is on its face.
#define ON_FACE 1e-6f
#define INFINITE __int_as_float(0x7f800000)

struct Step {
    float q, l, per_l, e;
};

struct Start {
    float rest, dose;
};

__device__ inline float gain(Step a)
{
    return a.e * a.e * a.per_l;
}

__device__ inline float least_at(Step a, float s)
{
    return -fmaf(s, a.e * a.per_l, a.q);
}

__device__ inline Start after(Start start, Step a)
{
    float way = 1.0f + a.q;
    return {fmaf(a.l, way * way, start.rest), start.dose + a.e};
}

__device__ inline Start before(Start start, Step a)
{
    return {fmaf(a.l, a.q * a.q, start.rest), start.dose};
}

// Two steps taken as one.
__device__ inline Step along(Start& start, Step a, Step b)
{
    float l = a.l + b.l, per_l = __fdividef(1.0f, l), apart = a.q - b.q;
    start.rest = fmaf(a.l * b.l * per_l, apart * apart, start.rest);
    return {(a.l * a.q + b.l * b.q) * per_l, l, per_l, a.e + b.e};
}

// Lanes of a warp differ in which faces and edges they need: each takes its next one in turn, through one copy of the code.
__device__ inline void triangle(Start start, Step a, Step b, float& best)
{
    float off = start.dose - a.e * a.q - b.e * b.q;
    float n = 1.0f + gain(a) + gain(b);
    if (off * off >= (best - start.rest) * n) {
        return;
    }
    float s = __fdividef(off, n);
    float ta = least_at(a, s), tb = least_at(b, s);
    int broken = (ta <= 1.0f ? 0 : 1) | (ta >= tb ? 0 : 2) | (tb >= 0.0f ? 0 : 4);
    if (broken == 0) {
        best = fmaf(off, s, start.rest);
        return;
    }
    while (broken) {
        int which = broken & -broken;
        broken ^= which;
        Start begin = start;
        Step edge = a;
        if (which == 1) {
            begin = after(start, a);
            edge = b;
        } else if (which == 2) {
            edge = along(begin, a, b);
        } else {
            begin = before(start, b);
        }
        float s = __fdividef(fmaf(-edge.e, edge.q, begin.dose), 1.0f + gain(edge));
        float t = __saturatef(least_at(edge, s));
        float way = t + edge.q, dose = fmaf(edge.e, t, begin.dose);
        best = fminf(best, fmaf(dose, dose, fmaf(edge.l * way, way, begin.rest)));
    }
}

__device__ inline void tetrahedron(float dose, Step a, Step b, Step c, float& best)
{
    float off = dose - a.e * a.q - b.e * b.q - c.e * c.q;
    float n = 1.0f + gain(a) + gain(b) + gain(c);
    if (off * off >= best * n) {
        return;
    }
    float s = __fdividef(off, n);
    float ta = least_at(a, s), tb = least_at(b, s), tc = least_at(c, s);
    int broken = (ta <= 1.0f ? 0 : 1) | (ta >= tb ? 0 : 2) | (tb >= tc ? 0 : 4) | (tc >= 0.0f ? 0 : 8);
    if (broken == 0) {
        best = off * s;
        return;
    }
    while (broken) {
        int which = broken & -broken;
        broken ^= which;
        Start begin = {0.0f, dose};
        Step first = a, second = b;
        if (which == 1) {
            begin = after(begin, a);
            first = b;
            second = c;
        } else if (which == 2) {
            first = along(begin, a, b);
            second = c;
        } else if (which == 4) {
            second = along(begin, b, c);
        } else {
            begin = before(begin, c);
        }
        triangle(begin, first, second, best);
    }
}

// An axis of a cell seen from the point, in DTA: where it begins in sides, its squared side and the inverse of that.
struct Axis {
    float q, l, per_l;
};

__device__ inline Step step_of(Axis axis, float from, float to)
{
    return {axis.q, axis.l, axis.per_l, to - from};
}

// The least squared distance to the hyperplane of a tetrahedron.
__device__ inline float to_hyperplane(float dose, Step a, Step b, Step c)
{
    float off = dose - a.e * a.q - b.e * b.q - c.e * c.q;
    return __fdividef(off * off, 1.0f + gain(a) + gain(b) + gain(c));
}

__device__ inline void cell(Axis x, Axis y, Axis z, const float d[8], float& best)
{
    // Of the six, those whose hyperplane is near enough, the nearest first. Where the dose is linear all lie on one: what is nearer
    // by rounding alone is not nearer.
    float limit = best * NEARER, nearest = limit;
    int left = 0, which = 0;
    auto weigh = [&](int bit, Step a, Step b, Step c) {
        float square = to_hyperplane(d[0], a, b, c);
        left |= square < limit ? bit : 0;
        which = square < nearest ? bit : which;
        nearest = fminf(nearest, square);
    };
    weigh(1, step_of(x, d[0], d[1]), step_of(y, d[1], d[3]), step_of(z, d[3], d[7]));
    weigh(2, step_of(x, d[0], d[1]), step_of(z, d[1], d[5]), step_of(y, d[5], d[7]));
    weigh(4, step_of(y, d[0], d[2]), step_of(x, d[2], d[3]), step_of(z, d[3], d[7]));
    weigh(8, step_of(y, d[0], d[2]), step_of(z, d[2], d[6]), step_of(x, d[6], d[7]));
    weigh(16, step_of(z, d[0], d[4]), step_of(x, d[4], d[5]), step_of(y, d[5], d[7]));
    weigh(32, step_of(z, d[0], d[4]), step_of(y, d[4], d[6]), step_of(x, d[6], d[7]));
    while (left) {
        left ^= which;
        Axis a = which & 3 ? x : which & 12 ? y : z;
        Axis b = which & 20 ? x : which & 33 ? y : z;
        Axis c = which & 5 ? z : which & 18 ? y : x;
        float d1 = which & 3 ? d[1] : which & 12 ? d[2] : d[4];
        float d2 = which & 5 ? d[3] : which & 18 ? d[5] : d[6];
        tetrahedron(d[0], step_of(a, d[0], d1), step_of(b, d1, d2), step_of(c, d2, d[7]), best);
        which = left & -left;
    }
}

__device__ inline void square(Axis x, Axis y, const float d[4], float& best)
{
    Start start = {0.0f, d[0]};
    triangle(start, step_of(x, d[0], d[1]), step_of(y, d[1], d[3]), best);
    triangle(start, step_of(y, d[0], d[2]), step_of(x, d[2], d[3]), best);
}

// A point's place in the evaluated dose.
struct Place {
    int cell[3];
    float offset[3]; // from the cell's lowest voxel, mm
};

template <bool FLAT>
__device__ inline bool place_of(const Pair& pair, int voxel, const double* __restrict__ reference_planes,
                                const double* __restrict__ planes, const int* __restrict__ layer_of, Place& place)
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

// How much dose can fall, at most, along an axis away from the corner nearest to the point: `signs` is that of the corner's dose
// times the direction.
__device__ inline float steepest(float signs, float a, float b, float c, float d)
{
    return fmaxf(fmaxf(fmaxf(-signs * a, -signs * b), fmaxf(-signs * c, -signs * d)), 0.0f);
}

template <bool FLAT>
struct Search {
    const float* __restrict__ values;
    const float2* __restrict__ range;
    const float2* __restrict__ heights; // of the planes, mm, each the sum of two
    int size[3];
    float spacing[2];
    float side[2], per_side[2]; // of the cells along x and y, in DTA
    Place place;
    float2 home_height;
    float dose, per_mm, per_gy;

    // Where a cell begins along an axis, seen from the point, in DTA.
    __device__ inline float begins(int axis, int index) const
    {
        float way;
        if (axis < 2) {
            way = (float)(index - place.cell[axis]) * spacing[axis & 1];
        } else {
            float2 height = __ldg(heights + index);
            way = (height.x - home_height.x) + (height.y - home_height.y);
        }
        return (way - place.offset[axis]) * per_mm;
    }

    __device__ inline float dose_at(int i, int j, int k) const
    {
        return (__ldg(values + (k * size[1] + j) * size[0] + i) - dose) * per_gy;
    }

    // Where to begin: the squared distance to the nearest corner of the cell that holds the point, and the cell to look at first. A
    // point on a face, an edge or a corner lies in several: the one in which the dose goes most steeply to the point's.
    __device__ inline float begin(int start[3]) const
    {
        int near[3] = {place.cell[0], place.cell[1], place.cell[2]};
        bool on[3] = {false, false, false};
        float square = 0.0f;
#pragma unroll
        for (int axis = 0; axis < (FLAT ? 2 : 3); ++axis) {
            float low = begins(axis, near[axis]), high = begins(axis, near[axis] + 1);
            bool up = high < -low;
            float way = up ? high : low;
            near[axis] += up ? 1 : 0;
            on[axis] = fabsf(way) <= ON_FACE * (high - low);
            square = fmaf(way, way, square);
        }
        float corner = dose_at(near[0], near[1], near[2]);
        float sign = corner < 0.0f ? -1.0f : 1.0f;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            start[axis] = place.cell[axis];
            if (axis < (FLAT ? 2 : 3) && on[axis] && near[axis] > 0 && near[axis] + 1 < size[axis]) {
                int x = axis == 0, y = axis == 1, z = axis == 2;
                float above = sign * dose_at(near[0] + x, near[1] + y, near[2] + z);
                float below = sign * dose_at(near[0] - x, near[1] - y, near[2] - z);
                start[axis] = above <= below ? near[axis] : near[axis] - 1;
            }
        }
        return fmaf(corner, corner, square);
    }

    struct Cell {
        Axis x, y, z;
        float d[8];
    };

    // Whether a cell may hold a nearer point, from its distance and its range of dose, then from how steep its dose is. `skip`:
    // neither may the rest of its row.
    __device__ inline bool may_hold(int i, int j, int k, float best, Cell& cell, bool& skip) const
    {
        float low_z = 0.0f, high_z = 0.0f, gap_z = 0.0f;
        if (!FLAT) {
            low_z = begins(2, k);
            high_z = begins(2, k + 1);
            gap_z = fmaxf(fmaxf(low_z, -high_z), 0.0f);
        }
        float low_y = begins(1, j), gap_y = fmaxf(fmaxf(low_y, -begins(1, j + 1)), 0.0f);
        float far_y = fmaf(gap_y, gap_y, gap_z * gap_z);
        skip = far_y >= best;
        if (skip) {
            return false;
        }
        float low_x = begins(0, i), gap_x = fmaxf(fmaxf(low_x, -begins(0, i + 1)), 0.0f);
        int at = (k * size[1] + j) * size[0] + i;
        float2 has = __ldg(range + at);
        float gap_dose = fmaxf(fmaxf(has.x - dose, dose - has.y) * per_gy, 0.0f);
        if (fmaf(gap_dose, gap_dose, fmaf(gap_x, gap_x, far_y)) >= best) {
            return false;
        }
        float* d = cell.d;
#pragma unroll
        for (int c = 0; c < (FLAT ? 4 : 8); ++c) {
            int corner = at + (c & 1) + (c >> 1 & 1) * size[0] + (c >> 2) * size[0] * size[1];
            d[c] = (__ldg(values + corner) - dose) * per_gy;
        }
        cell.x = {low_x * per_side[0], side[0] * side[0], per_side[0] * per_side[0]};
        cell.y = {low_y * per_side[1], side[1] * side[1], per_side[1] * per_side[1]};
        if (FLAT) {
            return true;
        }
        float side_z = high_z - low_z, per_z = __fdividef(1.0f, side_z);
        cell.z = {low_z * per_z, side_z * side_z, per_z * per_z};
        // Seen from the point the whole cell lies beyond one of its corners: its dose falls towards the point's no faster than along
        // its steepest edges.
        bool below_x = cell.x.q <= ON_FACE - 1.0f, below_y = cell.y.q <= ON_FACE - 1.0f, below_z = cell.z.q <= ON_FACE - 1.0f;
        bool beyond = (below_x || cell.x.q >= -ON_FACE) && (below_y || cell.y.q >= -ON_FACE) && (below_z || cell.z.q >= -ON_FACE);
        if (!beyond) {
            return true;
        }
        float e0 = below_x ? d[1] : d[0], e1 = below_x ? d[3] : d[2], e2 = below_x ? d[5] : d[4], e3 = below_x ? d[7] : d[6];
        float corner = below_z ? (below_y ? e3 : e2) : (below_y ? e1 : e0);
        float sign = corner < 0.0f ? -1.0f : 1.0f;
        float fall_x = per_side[0] * steepest(below_x ? -sign : sign, d[1] - d[0], d[3] - d[2], d[5] - d[4], d[7] - d[6]);
        float fall_y = per_side[1] * steepest(below_y ? -sign : sign, d[2] - d[0], d[3] - d[1], d[6] - d[4], d[7] - d[5]);
        float fall_z = per_z * steepest(below_z ? -sign : sign, d[4] - d[0], d[5] - d[1], d[6] - d[2], d[7] - d[3]);
        float off = fmaf(fall_x, gap_x, fmaf(fall_y, gap_y, fmaf(fall_z, gap_z, fabsf(corner))));
        float n = fmaf(fall_x, fall_x, fmaf(fall_y, fall_y, fmaf(fall_z, fall_z, 1.0f)));
        return off * off < best * NEARER * n;
    }

    // Cells in the order they are looked at: a box that grows towards its nearest side, slab by slab.
    struct Walk {
        int first[3], last[3]; // the box
        int from[3], until[3]; // the slab
        int at[3];
    };

    // The next cell of the slab, or of the next one; false where that is no nearer than `best`.
    __device__ inline bool next(Walk& walk, float best) const
    {
        if (++walk.at[0] <= walk.until[0]) {
            return true;
        }
        walk.at[0] = walk.from[0];
        if (++walk.at[1] <= walk.until[1]) {
            return true;
        }
        walk.at[1] = walk.from[1];
        if (++walk.at[2] <= walk.until[2]) {
            return true;
        }
        float nearest = INFINITE;
        int which = 0;
#pragma unroll
        for (int axis = 0; axis < (FLAT ? 2 : 3); ++axis) {
            float below = walk.first[axis] > 0 ? -begins(axis, walk.first[axis]) : INFINITE;
            float above = walk.last[axis] + 2 < size[axis] ? begins(axis, walk.last[axis] + 1) : INFINITE;
            if (below < nearest) {
                nearest = below;
                which = 2 * axis;
            }
            if (above < nearest) {
                nearest = above;
                which = 2 * axis + 1;
            }
        }
        float far = fmaxf(nearest, 0.0f);
        if (far * far >= best || nearest == INFINITE) {
            return false;
        }
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            walk.from[axis] = walk.first[axis];
            walk.until[axis] = walk.last[axis];
            if (which == 2 * axis) {
                walk.from[axis] = walk.until[axis] = --walk.first[axis];
            } else if (which == 2 * axis + 1) {
                walk.from[axis] = walk.until[axis] = ++walk.last[axis];
            }
            walk.at[axis] = walk.from[axis];
        }
        return true;
    }

    // The least squared distance, `best` at most. Lanes look for their next cell together, then at their cells together.
    __device__ inline float least(float best) const
    {
        int start[3];
        best = fminf(best, begin(start));
        Walk walk;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            walk.from[axis] = walk.until[axis] = walk.first[axis] = walk.last[axis] = walk.at[axis] = start[axis];
        }
        bool more = true;
        for (;;) {
            Cell found;
            bool holds = false;
            while (more && !holds) {
                bool skip;
                holds = may_hold(walk.at[0], walk.at[1], walk.at[2], best, found, skip);
                if (!holds) {
                    if (skip) {
                        walk.at[0] = walk.until[0];
                    }
                    more = next(walk, best);
                }
            }
            if (!holds) {
                return best;
            }
            if (FLAT) {
                square(found.x, found.y, found.d, best);
            } else {
                cell(found.x, found.y, found.z, found.d, best);
            }
            more = next(walk, best);
        }
    }
};

template <bool FLAT>
__device__ inline void search(const Pair& pair, const Criterion& criterion, const float* reference, const float* values,
                              const float2* range, const double* reference_planes, const double* planes,
                              const float2* heights, const int* layer_of, const unsigned* list, const int* count, float* gamma)
{
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        unsigned point = list[n];
        if (point == GAP) {
            continue;
        }
        int voxel = (int)point;
        float dose = reference[voxel];
        Search<FLAT> job = {values, range, heights, {pair.size[0], pair.size[1], pair.size[2]}};
        float answer;
        if (!place_of<FLAT>(pair, voxel, reference_planes, planes, layer_of, job.place)) {
            answer = __int_as_float(OUTSIDE);
        } else if (criterion.local && !(dose > 0.0f)) {
            answer = __int_as_float(UNDEFINED);
        } else {
            job.dose = dose;
            job.per_mm = criterion.per_mm;
            job.per_gy = criterion.local ? fminf(criterion.per_gy / dose, criterion.most_per_gy) : criterion.per_gy;
            job.home_height = FLAT ? make_float2(0.0f, 0.0f) : __ldg(heights + job.place.cell[2]);
#pragma unroll
            for (int axis = 0; axis < 2; ++axis) {
                job.spacing[axis] = (float)pair.spacing[axis];
                job.side[axis] = job.spacing[axis] * criterion.per_mm;
                job.per_side[axis] = criterion.per_side[axis];
            }
            answer = sqrtf(job.least(criterion.most));
            answer = answer > 1.0f && answer <= 1.0f + criterion.rounding ? 1.0f : answer;
        }
        gamma[voxel] = answer;
    }
}

extern "C" __global__ void __launch_bounds__(128)
gamma_volume(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
             const float2* __restrict__ range, const double* __restrict__ reference_planes, const double* __restrict__ planes,
             const float2* __restrict__ heights, const int* __restrict__ layer_of, const unsigned* __restrict__ list,
             const int* __restrict__ count, float* __restrict__ gamma)
{
    search<false>(pair, criterion, reference, values, range, reference_planes, planes, heights, layer_of, list, count, gamma);
}

extern "C" __global__ void __launch_bounds__(128)
gamma_plane(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float2* __restrict__ range, const double* __restrict__ reference_planes, const double* __restrict__ planes,
            const float2* __restrict__ heights, const int* __restrict__ layer_of, const unsigned* __restrict__ list,
            const int* __restrict__ count, float* __restrict__ gamma)
{
    search<true>(pair, criterion, reference, values, range, reference_planes, planes, heights, layer_of, list, count, gamma);
}

// Least and greatest dose at the corners of each cell: a thread a column of up to RANGED cells. `flat`: the last axis counts
// layers.
extern "C" __global__ void __launch_bounds__(256)
gamma_range(const float* __restrict__ values, int size_x, int size_y, int size_z, int flat, float2* __restrict__ range)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * RANGED;
    if (i + 1 >= size_x || j + 1 >= size_y) {
        return;
    }
    int end = min(k + RANGED, flat ? size_z : size_z - 1);
    int plane = size_x * size_y;
    int at = k * plane + j * size_x + i;
    auto square = [&](int at) {
        float a = __ldg(values + at), b = __ldg(values + at + 1);
        float c = __ldg(values + at + size_x), d = __ldg(values + at + size_x + 1);
        return make_float2(fminf(fminf(a, b), fminf(c, d)), fmaxf(fmaxf(a, b), fmaxf(c, d)));
    };
    if (k >= end) {
        return;
    }
    float2 own = square(at);
    for (; k < end; ++k, at += plane) {
        if (flat) {
            range[at] = square(at);
        } else {
            float2 above = square(at + plane);
            range[at] = make_float2(fminf(own.x, above.x), fmaxf(own.y, above.y));
            own = above;
        }
    }
}

// The voxels that reach the threshold, closed up; those of a block of 1024 stay together. Gamma of the others is set to say so.
extern "C" __global__ void __launch_bounds__(256)
gamma_list(const float* __restrict__ reference, int voxels, float threshold, unsigned* __restrict__ list, int* __restrict__ count,
           float* __restrict__ gamma)
{
    __shared__ int of_warp[8];
    __shared__ int base;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int begin = blockIdx.x * 1024 + warp * 128;
    unsigned found[4];
    int mine = 0;
    for (int part = 0; part < 4; ++part) {
        int voxel = begin + part * 32 + lane;
        bool wanted = voxel < voxels && reference[voxel] >= threshold;
        if (voxel < voxels && !wanted) {
            gamma[voxel] = __int_as_float(LEFT_OUT);
        }
        found[part] = __ballot_sync(0xffffffffu, wanted);
        mine += __popc(found[part]);
    }
    if (lane == 0) {
        of_warp[warp] = mine;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < 8; ++w) {
            int n = of_warp[w];
            of_warp[w] = sum;
            sum += n;
        }
        base = sum > 0 ? atomicAdd(count, sum) : 0;
    }
    __syncthreads();
    int to = base + of_warp[warp];
    for (int part = 0; part < 4; ++part) {
        if (found[part] >> lane & 1) {
            list[to + __popc(found[part] & ((1u << lane) - 1))] = (unsigned)(begin + part * 32 + lane);
        }
        to += __popc(found[part]);
    }
}

// As gamma_list, but as they lie: what is not wanted leaves a gap. For Table 2 of the paper.
extern "C" __global__ void __launch_bounds__(256)
gamma_unsorted(const float* __restrict__ reference, int voxels, float threshold, unsigned* __restrict__ list,
               int* __restrict__ count, float* __restrict__ gamma)
{
    int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    if (voxel >= voxels) {
        return;
    }
    bool wanted = reference[voxel] >= threshold;
    list[voxel] = wanted ? (unsigned)voxel : GAP;
    if (!wanted) {
        gamma[voxel] = __int_as_float(LEFT_OUT);
    }
    if (voxel == 0) {
        *count = voxels;
    }
}

// In sixteenths of the dose difference.
template <bool FLAT>
__device__ inline int bin_of(const Pair& pair, const Criterion& criterion, int voxel, const float* reference,
                             const float* values, const double* reference_planes, const double* planes, const int* layer_of)
{
    Place place;
    if (!place_of<FLAT>(pair, voxel, reference_planes, planes, layer_of, place)) {
        return 0;
    }
    int at = (place.cell[2] * pair.size[1] + place.cell[1]) * pair.size[0] + place.cell[0];
    float difference = fabsf(values[at] - reference[voxel]) * criterion.per_gy;
    return (int)fminf(difference * 16.0f, BINS - 1.0f);
}

// Sorting by dose difference (Gu 2010, section 2.2): how many points are in each bin ...
extern "C" __global__ void __launch_bounds__(256)
gamma_bins(const Pair pair, const Criterion criterion, int flat, const float* __restrict__ reference,
           const float* __restrict__ values, const double* __restrict__ reference_planes, const double* __restrict__ planes,
           const int* __restrict__ layer_of, const unsigned* __restrict__ list, const int* __restrict__ count,
           int* __restrict__ bins)
{
    __shared__ int here[BINS];
    here[threadIdx.x] = 0;
    __syncthreads();
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        int bin = flat ? bin_of<true>(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of)
                       : bin_of<false>(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of);
        atomicAdd(&here[bin], 1);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], here[threadIdx.x]);
}

// ... where each begins, by one block of BINS threads ...
extern "C" __global__ void __launch_bounds__(256) gamma_begin(int* __restrict__ bins)
{
    __shared__ int sums[BINS];
    int own = bins[threadIdx.x];
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int step = 1; step < BINS; step *= 2) {
        int before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    bins[threadIdx.x] = sums[threadIdx.x] - own;
}

// ... and the points by bin, in any order within one: each is answered by itself.
extern "C" __global__ void __launch_bounds__(256)
gamma_sort(const Pair pair, const Criterion criterion, int flat, const float* __restrict__ reference,
           const float* __restrict__ values, const double* __restrict__ reference_planes, const double* __restrict__ planes,
           const int* __restrict__ layer_of, const unsigned* __restrict__ list, const int* __restrict__ count,
           int* __restrict__ bins, unsigned* __restrict__ sorted)
{
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        int bin = flat ? bin_of<true>(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of)
                       : bin_of<false>(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of);
        sorted[atomicAdd(&bins[bin], 1)] = (unsigned)voxel;
    }
}
