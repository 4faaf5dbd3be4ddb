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
#define BINS 256
#define RANGED 12
// What is not nearer by this factor of the squared distance is not looked at: 2e-6 of gamma.
#define NEARER 0.999996f
// A point this much of a cell's side inside it is on its face.
#define ON_FACE 1e-6f
// A point within this part of the squared distance to the nearest face that a voxel is not on has no other simplices near.
#define STAR 0.999f
#define INFINITE __int_as_float(0x7f800000)

// A way along one axis of a cell or along several at once, seen from the point: where it begins in its lengths, its squared length
// in DTA and the inverse of that.
struct Way {
    float q, l, per_l;
};

// Two ways taken as one; `rest` is the squared distance to it in space.
__device__ inline Way along(Way a, Way b, float& rest)
{
    float l = a.l + b.l, per_l = __fdividef(1.0f, l), apart = a.q - b.q;
    rest = a.l * b.l * per_l * (apart * apart);
    return {(a.l * a.q + b.l * b.q) * per_l, l, per_l};
}

// Squared distance to an edge, `d0` and `d1` at its ends.
__device__ inline float edge(float rest, Way a, float d0, float d1)
{
    float e = d1 - d0, gain = e * a.per_l;
    float s = __fdividef(fmaf(-e, a.q, d0), fmaf(e, gain, 1.0f));
    float t = __saturatef(-fmaf(s, gain, a.q));
    float way = t + a.q, dose = fmaf(e, t, d0);
    return fmaf(dose, dose, fmaf(a.l * way, way, rest));
}

// ... to the plane of a triangle where its foot lies inside, else infinite.
__device__ inline float triangle(float rest, Way a, Way b, float d0, float d1, float d2)
{
    float ea = d1 - d0, eb = d2 - d1, ga = ea * a.per_l, gb = eb * b.per_l;
    float off = fmaf(-ea, a.q, fmaf(-eb, b.q, d0));
    float s = __fdividef(off, fmaf(ea, ga, fmaf(eb, gb, 1.0f)));
    float ta = -fmaf(s, ga, a.q), tb = -fmaf(s, gb, b.q);
    return ta <= 1.0f && ta >= tb && tb >= 0.0f ? fmaf(off, s, rest) : INFINITE;
}

// ... to the hyperplane of a tetrahedron; `inside` infinite where its foot is not.
__device__ inline float tetrahedron(Way a, Way b, Way c, float d0, float d1, float d2, float d3, float& inside)
{
    float ea = d1 - d0, eb = d2 - d1, ec = d3 - d2;
    float ga = ea * a.per_l, gb = eb * b.per_l, gc = ec * c.per_l;
    float off = fmaf(-ea, a.q, fmaf(-eb, b.q, fmaf(-ec, c.q, d0)));
    float s = __fdividef(off, fmaf(ea, ga, fmaf(eb, gb, fmaf(ec, gc, 1.0f))));
    float ta = -fmaf(s, ga, a.q), tb = -fmaf(s, gb, b.q), tc = -fmaf(s, gc, c.q), square = off * s;
    inside = ta <= 1.0f && ta >= tb && tb >= tc && tc >= 0.0f ? fminf(inside, square) : inside;
    return square;
}

// Lowers `best` to the squared distance to a cell, where that is less: to all its simplices, without a branch.
__device__ inline void cell(Way x, Way y, Way z, const float d[8], float& best)
{
    float inside = INFINITE;
    float nearest = tetrahedron(x, y, z, d[0], d[1], d[3], d[7], inside);
    nearest = fminf(nearest, tetrahedron(x, z, y, d[0], d[1], d[5], d[7], inside));
    nearest = fminf(nearest, tetrahedron(y, x, z, d[0], d[2], d[3], d[7], inside));
    nearest = fminf(nearest, tetrahedron(y, z, x, d[0], d[2], d[6], d[7], inside));
    nearest = fminf(nearest, tetrahedron(z, x, y, d[0], d[4], d[5], d[7], inside));
    nearest = fminf(nearest, tetrahedron(z, y, x, d[0], d[4], d[6], d[7], inside));
    best = fminf(best, inside);
    if (nearest >= best * NEARER) {
        return;
    }
    float x0 = x.l * (x.q * x.q), x1 = x.l * ((1.0f + x.q) * (1.0f + x.q));
    float y0 = y.l * (y.q * y.q), y1 = y.l * ((1.0f + y.q) * (1.0f + y.q));
    float z0 = z.l * (z.q * z.q), z1 = z.l * ((1.0f + z.q) * (1.0f + z.q));
    float off_xy, off_xz, off_yz, off_xyz;
    Way xy = along(x, y, off_xy), xz = along(x, z, off_xz), yz = along(y, z, off_yz), xyz = along(xy, z, off_xyz);
    auto face = [&](float rest, Way a, Way b, int v0, int v1, int v2) {
        best = fminf(best, triangle(rest, a, b, d[v0], d[v1], d[v2]));
    };
    face(z0, x, y, 0, 1, 3), face(z0, y, x, 0, 2, 3), face(z1, x, y, 4, 5, 7), face(z1, y, x, 4, 6, 7);
    face(y0, x, z, 0, 1, 5), face(y0, z, x, 0, 4, 5), face(y1, x, z, 2, 3, 7), face(y1, z, x, 2, 6, 7);
    face(x0, y, z, 0, 2, 6), face(x0, z, y, 0, 4, 6), face(x1, y, z, 1, 3, 7), face(x1, z, y, 1, 5, 7);
    face(off_xy, xy, z, 0, 3, 7), face(off_xz, xz, y, 0, 5, 7), face(off_yz, yz, x, 0, 6, 7);
    face(off_yz, x, yz, 0, 1, 7), face(off_xz, y, xz, 0, 2, 7), face(off_xy, z, xy, 0, 4, 7);
    auto side = [&](float rest, Way a, int v0, int v1) { best = fminf(best, edge(rest, a, d[v0], d[v1])); };
    side(y0 + z0, x, 0, 1), side(y1 + z0, x, 2, 3), side(y0 + z1, x, 4, 5), side(y1 + z1, x, 6, 7);
    side(x0 + z0, y, 0, 2), side(x1 + z0, y, 1, 3), side(x0 + z1, y, 4, 6), side(x1 + z1, y, 5, 7);
    side(x0 + y0, z, 0, 4), side(x1 + y0, z, 1, 5), side(x0 + y1, z, 2, 6), side(x1 + y1, z, 3, 7);
    side(off_xy + z0, xy, 0, 3), side(off_xy + z1, xy, 4, 7), side(off_xz + y0, xz, 0, 5), side(off_xz + y1, xz, 2, 7);
    side(off_yz + x0, yz, 0, 6), side(off_yz + x1, yz, 1, 7), side(off_xy + off_xyz, xyz, 0, 7);
}

// As cell, in a plane.
__device__ inline void square(Way x, Way y, const float d[4], float& best)
{
    float x0 = x.l * (x.q * x.q), x1 = x.l * ((1.0f + x.q) * (1.0f + x.q));
    float y0 = y.l * (y.q * y.q), y1 = y.l * ((1.0f + y.q) * (1.0f + y.q));
    float off_xy;
    Way xy = along(x, y, off_xy);
    best = fminf(best, triangle(0.0f, x, y, d[0], d[1], d[3]));
    best = fminf(best, triangle(0.0f, y, x, d[0], d[2], d[3]));
    best = fminf(best, fminf(edge(y0, x, d[0], d[1]), edge(y1, x, d[2], d[3])));
    best = fminf(best, fminf(edge(x0, y, d[0], d[2]), edge(x1, y, d[1], d[3])));
    best = fminf(best, edge(off_xy, xy, d[0], d[3]));
}

// Squared steps along the axes away from a voxel, up or down, and their inverses, those of their sums too: engine/cpu/gamma/star.rs.
struct Steps {
    float l[3], per[3], per_two[3], per_all;

    __device__ inline Steps(float x, float y, float z)
    {
        l[0] = x, l[1] = y, l[2] = z;
        per[0] = __fdividef(1.0f, x), per[1] = __fdividef(1.0f, y), per[2] = __fdividef(1.0f, z);
        per_two[0] = __fdividef(1.0f, y + z), per_two[1] = __fdividef(1.0f, x + z), per_two[2] = __fdividef(1.0f, x + y);
        per_all = __fdividef(1.0f, x + y + z);
    }

    // Squared projection of the falls of a chain of one step ...
    __device__ inline float one(int a, float fall) const
    {
        fall = fmaxf(fall, 0.0f);
        return fall * fall * per[a];
    }

    // ... of two ...
    __device__ inline float two(int a, int b, float fall_a, float fall_b) const
    {
        float mean = (fall_a + fall_b) * per_two[3 - a - b];
        float first = fmaxf(fmaxf(fall_a * per[a], mean), 0.0f);
        float second = fmaxf(fminf(fall_b * per[b], mean), 0.0f);
        return fmaf(first * first, l[a], second * second * l[b]);
    }

    // ... of three.
    __device__ inline float three(int a, int b, int c, float fall_a, float fall_b, float fall_c) const
    {
        float early = (fall_a + fall_b) * per_two[c], late = (fall_b + fall_c) * per_two[a];
        float all = (fall_a + fall_b + fall_c) * per_all, start = fmaxf(early, all);
        float first = fmaxf(fmaxf(fall_a * per[a], start), 0.0f);
        float second = fmaxf(fminf(start, fmaxf(fall_b * per[b], late)), 0.0f);
        float third = fmaxf(fminf(fall_c * per[c], fminf(late, all)), 0.0f);
        return fmaf(first * first, l[a], fmaf(second * second, l[b], third * third * l[c]));
    }

    // The longest, for each set of axes. `fall`: from the voxel to its neighbours (bit 0: x, 1: y, 2: z).
    __device__ inline void longest(const float fall[8], float most[8]) const
    {
        most[3] = most[5] = most[6] = most[7] = 0.0f;
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            most[1 << a] = one(a, fall[1 << a]);
#pragma unroll
            for (int b = 0; b < 3; ++b) {
                if (b != a) {
                    int both = 1 << a | 1 << b;
                    float next = fall[both] - fall[1 << a];
                    most[both] = fmaxf(most[both], two(a, b, fall[1 << a], next));
                    most[7] = fmaxf(most[7], three(a, b, 3 - a - b, fall[1 << a], next, fall[7] - fall[both]));
                }
            }
        }
    }
};

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

struct Doses {
    const float* __restrict__ values;   // Gy, of the evaluated dose
    const float2* __restrict__ pairs;   // each voxel with the next along x
    const float2* __restrict__ range;   // of each of its cells
    const float2* __restrict__ heights; // of its planes, mm, each the sum of two
};

// One point under one criterion: what both searches need.
template <bool FLAT>
struct Search {
    Doses doses;
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
            float2 height = __ldg(doses.heights + index);
            way = (height.x - home_height.x) + (height.y - home_height.y);
        }
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
        for (int c = 0; c < 8; c += 2) {
            float2 two = __ldg(doses.pairs + at + (c >> 1 & 1) * size[0] + (c >> 2) * size[0] * size[1]);
            cell.d[c] = (two.x - dose) * per_gy;
            cell.d[c + 1] = (two.y - dose) * per_gy;
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

    // No point of the cell is nearer: see engine/cpu/gamma/bound.rs.
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
    __device__ inline float star(const int at[3]) const
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
        return square * most_per <= STAR ? square : -1.0f;
    }
};

// Sets up the search of a point; false where it has no answer, and then `gamma` is what says so.
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
        search.spacing[axis] = (float)pair.spacing[axis];
        search.side[axis] = search.spacing[axis] * criterion.per_mm;
        search.per_side[axis] = criterion.per_side[axis];
    }
    return true;
}

__device__ inline float settled(float square, const Criterion& criterion)
{
    float gamma = sqrtf(fminf(square, criterion.most));
    return gamma > 1.0f && gamma <= 1.0f + criterion.rounding ? 1.0f : gamma;
}

// Appends to a list what the lanes of a warp want in it.
__device__ inline void append(bool wanted, unsigned what, unsigned* list, int* count)
{
    unsigned all = __ballot_sync(0xffffffffu, wanted);
    int lane = threadIdx.x & 31, first = 0;
    if (all == 0) {
        return;
    }
    if (lane == __ffs(all) - 1) {
        first = atomicAdd(count, __popc(all));
    }
    first = __shfl_sync(0xffffffffu, first, __ffs(all) - 1);
    if (wanted) {
        list[first + __popc(all & ((1u << lane) - 1))] = what;
    }
}

// How many points are left to gamma_boxes and to gamma_far, and how many of either have been taken.
struct Left {
    int to_boxes, to_far, by_boxes, by_far;
};

// First look: points at a voxel of the evaluated dose whose nearest point lies in the tetrahedra around it. The others go to `next`.
// Without a list, every voxel that reaches the threshold is a point; gamma of the others is set to say so.
extern "C" __global__ void __launch_bounds__(128)
gamma_stars(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float2* __restrict__ heights, const double* __restrict__ reference_planes, const double* __restrict__ planes,
            const int* __restrict__ layer_of, const unsigned* __restrict__ list, int count, float threshold,
            unsigned* __restrict__ next, Left* __restrict__ left, float* __restrict__ gamma)
{
    for (int first = blockIdx.x * blockDim.x; first < count; first += gridDim.x * blockDim.x) {
        int n = first + threadIdx.x;
        bool more = n < count;
        unsigned voxel = more && list ? list[n] : n;
        if (more && !list && reference[voxel] < threshold) {
            gamma[voxel] = __int_as_float(LEFT_OUT);
            more = false;
        }
        if (more) {
            Space search;
            float answer;
            more = begin<false>(pair, criterion, reference, {values, nullptr, nullptr, heights}, reference_planes, planes, layer_of,
                                (int)voxel, search, answer);
            if (more) {
                int near[3];
                float way[3];
                float square = search.nearest(near, way) ? search.star(near) : -1.0f;
                more = square < 0.0f;
                answer = settled(square, criterion);
            }
            if (!more) {
                gamma[voxel] = answer;
            }
        }
        append(more, voxel, next, &left->to_boxes);
    }
}

// Cells on either side of the voxel nearest to a point.
#define REACH 2
#define WIDE (2 * REACH)

// The points of a warp, for its lanes to work on each other's.
struct Hand {
    unsigned long long mask[32];
    int upto[32];
    int near[3][32], home[3][32];
    float offset[3][32], dose[32], per_gy[32], best[32];
    unsigned long long holds[32];
    int least[32]; // bits of a squared distance: those of numbers from 0 up order as the numbers do
};

// Deals out what is set in the masks of all lanes, one to a lane at a time: `work(lane whose it is, bit)`.
template <typename Work>
__device__ inline void deal(Hand& hand, unsigned long long mask, Work work)
{
    int lane = threadIdx.x & 31, upto = __popcll(mask);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        int before = __shfl_up_sync(0xffffffffu, upto, step);
        upto += lane >= step ? before : 0;
    }
    hand.mask[lane] = mask;
    hand.upto[lane] = upto;
    __syncwarp();
    int total = __shfl_sync(0xffffffffu, upto, 31);
    for (int first = 0; first < total; first += 32) {
        int task = first + lane;
        if (task < total) {
            int owner = 0;
#pragma unroll
            for (int step = 16; step; step /= 2) {
                owner += hand.upto[owner + step - 1] <= task ? step : 0;
            }
            unsigned long long bits = hand.mask[owner];
            for (int skip = task - (owner ? hand.upto[owner - 1] : 0); skip; --skip) {
                bits &= bits - 1;
            }
            work(owner, __ffsll(bits) - 1);
        }
    }
    __syncwarp();
}

// Second look, a thread a point: the cells next to it. Points that need more go to `next`, with what they have in `gamma`.
extern "C" __global__ void __launch_bounds__(128, 6)
gamma_boxes(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float2* __restrict__ pairs, const float2* __restrict__ range, const float2* __restrict__ heights,
            const double* __restrict__ reference_planes, const double* __restrict__ planes, const int* __restrict__ layer_of, const unsigned* __restrict__ list,
            unsigned* __restrict__ next, Left* __restrict__ left, float* __restrict__ gamma)
{
    __shared__ Hand hands[4];
    Hand& hand = hands[threadIdx.x >> 5];
    int most = left->to_boxes, lane = threadIdx.x & 31;
    for (;;) {
        int first = 0;
        if (lane == 0) {
            first = atomicAdd(&left->by_boxes, 32);
        }
        first = __shfl_sync(0xffffffffu, first, 0);
        if (first >= most) {
            return;
        }
        bool mine = first + lane < most;
        unsigned voxel = list[min(first + lane, most - 1)];
        Space search;
        float best;
        begin<false>(pair, criterion, reference, {values, pairs, range, heights}, reference_planes, planes, layer_of, (int)voxel, search,
                     best);
        int near[3], guessed[3];
        float way[3];
        search.nearest(near, way);
        best = fminf(search.guess(near, way, guessed), criterion.most);
        Cell found;
        if (search.may_hold(guessed[0], guessed[1], guessed[2], best, found)) {
            cell(found.x, found.y, found.z, found.d, best);
        }
        // Which cells their distance and their range of dose allow, lanes in step.
        unsigned long long wanted = 0;
#pragma unroll 1
        for (int z = 0; z < WIDE; ++z) {
            int k = near[2] - REACH + z;
            bool in_z = k >= 0 && k + 1 < search.size[2];
            float gap_z = in_z ? gap(search.begins(2, k), search.begins(2, k + 1)) : 0.0f;
#pragma unroll 1
            for (int y = 0; y < WIDE; ++y) {
                int j = near[1] - REACH + y;
                bool in_y = in_z && j >= 0 && j + 1 < search.size[1];
                float gap_y = gap(search.begins(1, j), search.begins(1, j + 1));
                int row = search.index(near[0] - REACH, j, k);
#pragma unroll
                for (int x = 0; x < WIDE; ++x) {
                    int i = near[0] - REACH + x;
                    if (in_y && i >= 0 && i + 1 < search.size[0]) {
                        float gap_x = gap(search.begins(0, i), search.begins(0, i + 1));
                        bool may = search.apart(row + x, gap_x, gap_y, gap_z) < best;
                        wanted |= (unsigned long long)may << ((z * WIDE + y) * WIDE + x);
                    }
                }
            }
        }
        int x = guessed[0] - near[0] + REACH, y = guessed[1] - near[1] + REACH, z = guessed[2] - near[2] + REACH;
        if (((x | y | z) & ~(WIDE - 1)) == 0) {
            wanted &= ~(1ull << ((z * WIDE + y) * WIDE + x));
        }
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            hand.near[axis][lane] = near[axis];
            hand.home[axis][lane] = search.place.cell[axis];
            hand.offset[axis][lane] = search.place.offset[axis];
        }
        hand.dose[lane] = search.dose;
        hand.per_gy[lane] = search.per_gy;
        hand.best[lane] = best;
        hand.holds[lane] = 0;
        hand.least[lane] = __float_as_int(best);
        // A cell of a point of another lane; what is asked of it depends on that point alone, whoever does it.
        auto other = [&](int owner, int bit, int at[3]) {
            Space theirs = search;
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
                theirs.place.cell[axis] = hand.home[axis][owner];
                theirs.place.offset[axis] = hand.offset[axis][owner];
            }
            theirs.home_height = __ldg(heights + theirs.place.cell[2]);
            theirs.dose = hand.dose[owner];
            theirs.per_gy = hand.per_gy[owner];
            at[0] = hand.near[0][owner] - REACH + bit % WIDE;
            at[1] = hand.near[1][owner] - REACH + bit / WIDE % WIDE;
            at[2] = hand.near[2][owner] - REACH + bit / (WIDE * WIDE);
            return theirs;
        };
        deal(hand, mine ? wanted : 0, [&](int owner, int bit) {
            int at[3];
            Space theirs = other(owner, bit, at);
            if (theirs.may_hold(at[0], at[1], at[2], hand.best[owner], found)) {
                atomicOr(&hand.holds[owner], 1ull << bit);
            }
        });
        deal(hand, hand.holds[lane], [&](int owner, int bit) {
            int at[3];
            Space theirs = other(owner, bit, at);
            theirs.look(at[0], at[1], at[2], found);
            float least = hand.best[owner];
            cell(found.x, found.y, found.z, found.d, least);
            atomicMin(&hand.least[owner], __float_as_int(least));
        });
        best = __int_as_float(hand.least[lane]);
        Box box;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            box.first[axis] = max(near[axis] - REACH, 0);
            box.last[axis] = min(near[axis] + REACH - 1, search.size[axis] - 2);
        }
        int from[3], until[3];
        float far;
        bool more = mine && box.grow<false>(search, from, until, far) && far * far < best;
        if (mine) {
            gamma[voxel] = more ? best : settled(best, criterion);
        }
        append(more, voxel, next, &left->to_far);
    }
}

// Cells that a warp is to look at.
struct Queue {
    int i[64], j[64], k[64];
};

// Third look, a warp a point: beyond those cells, layer by layer round the box of them, a cell a lane.
extern "C" __global__ void __launch_bounds__(128, 6)
gamma_far(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
          const float2* __restrict__ pairs, const float2* __restrict__ range, const float2* __restrict__ heights, const double* __restrict__ reference_planes,
          const double* __restrict__ planes, const int* __restrict__ layer_of, const unsigned* __restrict__ list,
          Left* __restrict__ left, float* __restrict__ gamma)
{
    __shared__ Queue queues[4];
    Queue& queue = queues[threadIdx.x >> 5];
    int most = left->to_far, lane = threadIdx.x & 31;
    for (;;) {
        int n = 0;
        if (lane == 0) {
            n = atomicAdd(&left->by_far, 1);
        }
        n = __shfl_sync(0xffffffffu, n, 0);
        if (n >= most) {
            return;
        }
        int voxel = (int)list[n];
        Space search;
        float best = gamma[voxel], unused;
        begin<false>(pair, criterion, reference, {values, pairs, range, heights}, reference_planes, planes, layer_of, voxel, search, unused);
        int near[3];
        float way[3];
        search.nearest(near, way);
        Box box;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            box.first[axis] = max(near[axis] - REACH, 0);
            box.last[axis] = min(near[axis] + REACH - 1, search.size[axis] - 2);
        }
        int queued = 0;
        // The first of the queue, a cell a lane.
        auto work = [&]() {
            int count = min(queued, 32);
            float least = best;
            if (lane < count) {
                Cell found;
                if (search.may_hold(queue.i[lane], queue.j[lane], queue.k[lane], best, found)) {
                    cell(found.x, found.y, found.z, found.d, least);
                }
            }
#pragma unroll
            for (int step = 16; step; step /= 2) {
                least = fminf(least, __shfl_xor_sync(0xffffffffu, least, step));
            }
            best = least;
            __syncwarp();
            queued -= count;
            if (lane < queued) {
                queue.i[lane] = queue.i[lane + 32];
                queue.j[lane] = queue.j[lane + 32];
                queue.k[lane] = queue.k[lane + 32];
            }
            __syncwarp();
        };
        for (;;) {
            // A layer on every side that is near enough, and so many cells in each.
            Box old = box;
            int cells[6], total = 0;
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
                float below = fmaxf(-search.begins(axis, box.first[axis]), 0.0f);
                float above = fmaxf(search.begins(axis, box.last[axis] + 1), 0.0f);
                box.first[axis] -= box.first[axis] > 0 && below * below < best ? 1 : 0;
                box.last[axis] += box.last[axis] + 2 < search.size[axis] && above * above < best ? 1 : 0;
            }
            int nx = box.last[0] - box.first[0] + 1, ny = box.last[1] - box.first[1] + 1;
            int old_ny = old.last[1] - old.first[1] + 1, old_nz = old.last[2] - old.first[2] + 1;
            cells[0] = box.first[2] < old.first[2] ? nx * ny : 0;
            cells[1] = box.last[2] > old.last[2] ? nx * ny : 0;
            cells[2] = box.first[1] < old.first[1] ? nx * old_nz : 0;
            cells[3] = box.last[1] > old.last[1] ? nx * old_nz : 0;
            cells[4] = box.first[0] < old.first[0] ? old_ny * old_nz : 0;
            cells[5] = box.last[0] > old.last[0] ? old_ny * old_nz : 0;
#pragma unroll
            for (int side = 0; side < 6; ++side) {
                total += cells[side];
            }
            if (total == 0) {
                break;
            }
            for (int first = 0; first < total; first += 32) {
                int m = first + lane, side = 0;
                bool holds = m < total;
#pragma unroll
                for (int n = 0; n < 5; ++n) {
                    bool beyond = side == n && m >= cells[n];
                    m -= beyond ? cells[n] : 0;
                    side += beyond ? 1 : 0;
                }
                int wide = side < 4 ? nx : old_ny, row = m / wide;
                int column = m - row * wide;
                int i = side == 4 ? box.first[0] : side == 5 ? box.last[0] : box.first[0] + column;
                int j = side == 2 ? box.first[1] : side == 3 ? box.last[1] : side < 2 ? box.first[1] + row : old.first[1] + column;
                int k = side == 0 ? box.first[2] : side == 1 ? box.last[2] : old.first[2] + row;
                if (holds) {
                    float gap_x = gap(search.begins(0, i), search.begins(0, i + 1));
                    float gap_y = gap(search.begins(1, j), search.begins(1, j + 1));
                    float gap_z = gap(search.begins(2, k), search.begins(2, k + 1));
                    holds = search.apart(search.index(i, j, k), gap_x, gap_y, gap_z) < best;
                }
                unsigned all = __ballot_sync(0xffffffffu, holds);
                if (holds) {
                    int at = queued + __popc(all & ((1u << lane) - 1));
                    queue.i[at] = i;
                    queue.j[at] = j;
                    queue.k[at] = k;
                }
                queued += __popc(all);
                __syncwarp();
                if (queued >= 32) {
                    work();
                }
            }
        }
        // What best has been is near enough to what it will be: looking at once would leave most lanes idle.
        while (queued > 0) {
            work();
        }
        if (lane == 0) {
            gamma[voxel] = settled(best, criterion);
        }
    }
}

// A cell by how far it is from that of a point, and no nearer to it than this, squared.
struct Offset {
    int i, j, k;
    float far;
};

// The search of the paper (Gu 2010, algorithm A2, step 6), for its tables: a thread a point, cells by distance, all their simplices.
extern "C" __global__ void __launch_bounds__(128)
gamma_paper(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float2* __restrict__ pairs,
            const float2* __restrict__ heights, const double* __restrict__ reference_planes, const double* __restrict__ planes,
            const int* __restrict__ layer_of, const unsigned* __restrict__ list, const int* __restrict__ count,
            const Offset* __restrict__ offsets, int offset_count, float* __restrict__ gamma)
{
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        Space search;
        float answer;
        if (begin<false>(pair, criterion, reference, {values, pairs, nullptr, heights}, reference_planes, planes, layer_of, voxel, search,
                         answer)) {
            int near[3];
            float way[3];
            search.nearest(near, way);
            float corner = search.dose_at(near[0], near[1], near[2]);
            float best = fmaf(way[0], way[0], fmaf(way[1], way[1], fmaf(way[2], way[2], corner * corner)));
            best = fminf(best, criterion.most);
            for (int m = 0; m < offset_count; ++m) {
                int4 offset = __ldg((const int4*)offsets + m);
                if (__int_as_float(offset.w) >= best) {
                    break;
                }
                int i = search.place.cell[0] + offset.x, j = search.place.cell[1] + offset.y, k = search.place.cell[2] + offset.z;
                if (i >= 0 && j >= 0 && k >= 0 && i + 1 < search.size[0] && j + 1 < search.size[1] && k + 1 < search.size[2]) {
                    Cell found;
                    search.look(i, j, k, found);
                    cell(found.x, found.y, found.z, found.d, best);
                }
            }
            answer = settled(best, criterion);
        }
        gamma[voxel] = answer;
    }
}

// In a plane, a thread a point.
extern "C" __global__ void __launch_bounds__(128)
gamma_plane(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float2* __restrict__ range, const double* __restrict__ reference_planes, const int* __restrict__ layer_of,
            const unsigned* __restrict__ list, const int* __restrict__ count, float* __restrict__ gamma)
{
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        Search<true> search;
        float answer;
        if (begin<true>(pair, criterion, reference, {values, nullptr, range, nullptr}, reference_planes, nullptr, layer_of, voxel, search,
                        answer)) {
            int near[3];
            float way[3];
            search.nearest(near, way);
            float corner = search.dose_at(near[0], near[1], near[2]);
            float best = fminf(fmaf(way[0], way[0], fmaf(way[1], way[1], corner * corner)), criterion.most);
            Box box;
            int from[3], until[3];
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
                from[axis] = until[axis] = box.first[axis] = box.last[axis] = search.place.cell[axis];
            }
            float far = 0.0f;
            do {
                for (int j = from[1]; j <= until[1]; ++j) {
                    float low_y = search.begins(1, j), gap_y = gap(low_y, search.begins(1, j + 1));
                    for (int i = from[0]; i <= until[0]; ++i) {
                        float low_x = search.begins(0, i), gap_x = gap(low_x, search.begins(0, i + 1));
                        int at = search.index(i, j, search.place.cell[2]);
                        if (search.apart(at, gap_x, gap_y, 0.0f) < best) {
                            float d[4];
#pragma unroll
                            for (int c = 0; c < 4; ++c) {
                                d[c] = (__ldg(values + at + (c & 1) + (c >> 1) * search.size[0]) - search.dose) * search.per_gy;
                            }
                            square(search.way_along(0, low_x), search.way_along(1, low_y), d, best);
                        }
                    }
                }
            } while (box.grow<true>(search, from, until, far) && far * far < best);
            answer = settled(best, criterion);
        }
        gamma[voxel] = answer;
    }
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

// Each voxel with the next along x: the corners of a cell in four reads.
extern "C" __global__ void __launch_bounds__(256)
gamma_pairs(const float* __restrict__ values, int voxels, float2* __restrict__ pairs)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < voxels) {
        pairs[n] = make_float2(values[n], values[min(n + 1, voxels - 1)]);
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
