// Line integrals of attenuation along rays from a point source to the pixels of a flat image (Tornai 2012), many poses of
// the patient in one launch: y of a block's number is the pose.
//
// Trilinear: equal steps, sampled in the middle of each. Samples are summed in eight parts, sample n in part n mod 8,
// and the parts in one fixed order, whether one thread follows the ray or two, four or eight share it, and empty
// cells add 0: a pixel has the same bits however it is computed. `src/engine/drr/cpu/trilinear.rs` is the same on the CPU.
//
// Positions are in voxels from the low edge of voxel 0, along z in mm from there where planes are uneven. Where rays
// enter and leave is found in f64: at the source's distance f32 loses a tenth of a micrometre in each of them.

#include "walk.cuh"

// As the host declares them in engine/drr/cuda/, field for field.
struct Image {
    double source[3];
    double origin[3]; // centre of pixel (0, 0)
    double column[3]; // from a pixel to the next of its row
    double row[3];    // from a pixel to the one below it
};

struct PixelRegion {
    int columns;    // of the whole image
    int first[2];   // of the region: column, row
    int size[2];    // of the region; of a list: its length, 1
    int tile_width; // pixels of a row that a block takes
};

struct Space {
    double high[3]; // the box of all voxels ends here; it begins at 0
    double mm[3];   // of a unit along each axis
    double step_mm;
    int size[3];    // voxels
    int cells[3];   // of occupancy
    int bins;       // of uneven planes; 0 where they are even
    float bins_per_mm;
    float least_gap_mm; // of uneven planes
    float value;    // what a whole texel stands for
};

constexpr int PARTS = 8;
constexpr float CELLS_PER_VOXEL = 0.125f;

// The pixel that the `ray`-th of a block's `rays` is for; false for one too many. `out` is its place among those wanted.
__device__ inline bool pixel_of(const PixelRegion& wanted, const unsigned* list, int ray, int rays, int& column, int& row,
                                int& out)
{
    if (list) {
        out = blockIdx.x * rays + ray;
        if (out >= wanted.size[0]) {
            return false;
        }
        unsigned pixel = __ldg(list + out);
        column = pixel % wanted.columns;
        row = pixel / wanted.columns;
        return true;
    }
    int tiles = (wanted.size[0] + wanted.tile_width - 1) / wanted.tile_width;
    int x = blockIdx.x % tiles * wanted.tile_width + ray % wanted.tile_width;
    int y = blockIdx.x / tiles * (rays / wanted.tile_width) + ray / wanted.tile_width;
    out = y * wanted.size[0] + x;
    column = wanted.first[0] + x;
    row = wanted.first[1] + y;
    return x < wanted.size[0] && y < wanted.size[1];
}

// Uneven planes: centres in mm from the low edge of the first, one over the gap after each, and for each bin of mm the
// plane at or below its beginning.
struct Planes {
    const float* centres_mm;
    const float* per_gap;
    const int* bins;
};

// mm -> voxels from the low edge of plane 0.
__device__ inline float plane_at(const Space& space, const Planes& planes, float z_mm)
{
    int plane = __ldg(planes.bins + clamped((int)(z_mm * space.bins_per_mm), 0, space.bins - 1));
    while (plane + 2 < space.size[2] && __ldg(planes.centres_mm + plane + 1) <= z_mm) {
        ++plane;
    }
    return fmaf(z_mm - __ldg(planes.centres_mm + plane), __ldg(planes.per_gap + plane), (float)plane + 0.5f);
}

// The card's own filter: weights of 8 bits.
struct Texture {
    cudaTextureObject_t texels;
    __device__ float operator()(float x, float y, float z) const { return tex3D<float>(texels, x, y, z); }
};

// The same in f32.
struct Voxels {
    const float* values;
    int size[3];
    __device__ float operator()(float x, float y, float z) const
    {
        float at[3] = {x - 0.5f, y - 0.5f, z - 0.5f};
        int low[3], step[3] = {1, size[0], size[0] * size[1]};
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            at[axis] = fminf(fmaxf(at[axis], 0.0f), (float)(size[axis] - 1));
            low[axis] = max(min((int)at[axis], size[axis] - 2), 0);
            at[axis] -= (float)low[axis];
            step[axis] = size[axis] > 1 ? step[axis] : 0;
        }
        const float* v = values + ((low[2] * size[1] + low[1]) * size[0] + low[0]);
        auto mix = [](float a, float b, float t) { return fmaf(t, b - a, a); };
        auto row = [&](const float* v) { return mix(__ldg(v), __ldg(v + step[0]), at[0]); };
        auto plane = [&](const float* v) { return mix(row(v), row(v + step[1]), at[1]); };
        return mix(plane(v), plane(v + step[2]), at[2]);
    }
};

// A ray's way through the box.
struct Way {
    float entry[3];
    float step[3];
    float mm; // of a step
    int steps;
};

__device__ inline double pixel_along(const Image& image, int axis, int column, int row)
{
    return fma(image.row[axis], (double)row, fma(image.column[axis], (double)column, image.origin[axis]));
}

__device__ inline Way way_through(const Space& space, const Image& image, int column, int row)
{
    Way way;
    way.steps = 0;
    way.mm = 0.0f;
    double along[3], enter = 0.0, leave = 1.0, mm2 = 0.0;
    bool misses = false;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        double source = image.source[axis];
        along[axis] = pixel_along(image, axis, column, row) - source;
        double inverse = 1.0 / along[axis];
        if (fabs(inverse) < 1e300) {
            double a = -source * inverse, b = (space.high[axis] - source) * inverse;
            enter = fmax(enter, fmin(a, b));
            leave = fmin(leave, fmax(a, b));
        } else {
            misses = misses || !(0.0 <= source && source < space.high[axis]);
        }
        double mm = along[axis] * space.mm[axis];
        mm2 = fma(mm, mm, mm2);
        way.entry[axis] = way.step[axis] = 0.0f;
    }
    if (misses || !(enter < leave)) {
        return way;
    }
    double length_mm = (leave - enter) * sqrt(mm2);
    double steps = fmax(ceil(length_mm / space.step_mm - 1e-6), 1.0);
    double part = (leave - enter) / steps;
    way.steps = (int)steps;
    way.mm = (float)(length_mm / steps);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        way.entry[axis] = (float)fma(along[axis], enter, image.source[axis]);
        way.step[axis] = (float)(along[axis] * part);
    }
    return way;
}

template <int LANES, bool UNEVEN, class Values>
__device__ inline void integrate(const Space& space, const PixelRegion& wanted, const Image* images, const unsigned* list,
                                 const Planes& planes, const unsigned char* occupied, const Values& values, float whole,
                                 float* integrals)
{
    constexpr int OWN = PARTS / LANES;
    int lane = threadIdx.x % LANES;
    int column = 0, row = 0, out = 0;
    bool mine = pixel_of(wanted, list, threadIdx.x / LANES, blockDim.x / LANES, column, row, out);
    Way way = way_through(space, images[blockIdx.y], column, row);
    if (!mine) {
        way.steps = 0;
    }
    // A cell covers the voxels that eight samples around its own touch, for steps of a voxel at most along each axis.
    float z_voxels = UNEVEN ? way.step[2] / space.least_gap_mm : way.step[2];
    bool skips = fmaxf(fmaxf(fabsf(way.step[0]), fabsf(way.step[1])), fabsf(z_voxels)) <= 1.0f;
    float sums[OWN];
#pragma unroll
    for (int own = 0; own < OWN; ++own) {
        sums[own] = 0.0f;
    }
    auto along = [&](int axis, float n) { return fmaf(n, way.step[axis], way.entry[axis]); };
    auto along_z = [&](float n) { return UNEVEN ? plane_at(space, planes, along(2, n)) : along(2, n); };
    auto holds = [&](int first) {
        if (!skips) {
            return true;
        }
        float middle = (float)(first + PARTS / 2);
        int x = clamped((int)(along(0, middle) * CELLS_PER_VOXEL), 0, space.cells[0] - 1);
        int y = clamped((int)(along(1, middle) * CELLS_PER_VOXEL), 0, space.cells[1] - 1);
        int z = clamped((int)(along_z(middle) * CELLS_PER_VOXEL), 0, space.cells[2] - 1);
        return __ldg(occupied + (z * space.cells[1] + y) * space.cells[0] + x) != 0;
    };
    auto value_at = [&](int n) {
        float middle = (float)n + 0.5f;
        return values(along(0, middle), along(1, middle), along_z(middle));
    };
    // Two groups of eight at a time: a single image has too few rays to hide the way to memory behind others.
    for (int first = 0; first < way.steps; first += 2 * PARTS) {
        bool here = holds(first), beyond = first + PARTS < way.steps && holds(first + PARTS);
        if (!here && !beyond) {
            continue;
        }
        float nearer[OWN], further[OWN];
#pragma unroll
        for (int own = 0; own < OWN; ++own) {
            int n = first + own * LANES + lane;
            nearer[own] = here && n < way.steps ? value_at(n) : 0.0f;
            further[own] = beyond && n + PARTS < way.steps ? value_at(n + PARTS) : 0.0f;
        }
#pragma unroll
        for (int own = 0; own < OWN; ++own) {
            sums[own] = sums[own] + nearer[own] + further[own];
        }
    }
    // Part p with p + 4, then with p + 2, then with p + 1.
#pragma unroll
    for (int apart = PARTS / 2; apart > 0; apart /= 2) {
        if (apart >= LANES) {
#pragma unroll
            for (int own = 0; own < apart / LANES; ++own) {
                sums[own] += sums[own + apart / LANES];
            }
        } else {
            sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], apart);
        }
    }
    if (mine && lane == 0) {
        integrals[(size_t)blockIdx.y * ((size_t)wanted.size[0] * wanted.size[1]) + out] = sums[0] * (way.mm * whole);
    }
}

#define TEXTURE(NAME, LANES, UNEVEN)                                                                                   \
    extern "C" __global__ void __launch_bounds__(512)                                                                  \
    drr_texture_##NAME(const Space space, const PixelRegion wanted, const Image* __restrict__ images,                  \
                       const unsigned* __restrict__ list, const Planes planes,                                         \
                       const unsigned char* __restrict__ occupied, cudaTextureObject_t texels,                         \
                       float* __restrict__ integrals)                                                                  \
    {                                                                                                                  \
        integrate<LANES, UNEVEN>(space, wanted, images, list, planes, occupied, Texture{texels}, space.value,          \
                                 integrals);                                                                           \
    }

#define VOXELS(NAME, LANES, UNEVEN)                                                                                    \
    extern "C" __global__ void __launch_bounds__(512)                                                                  \
    drr_voxels_##NAME(const Space space, const PixelRegion wanted, const Image* __restrict__ images,                   \
                      const unsigned* __restrict__ list, const Planes planes,                                          \
                      const unsigned char* __restrict__ occupied, const float* __restrict__ attenuation,               \
                      float* __restrict__ integrals)                                                                   \
    {                                                                                                                  \
        Voxels values{attenuation, {space.size[0], space.size[1], space.size[2]}};                                     \
        integrate<LANES, UNEVEN>(space, wanted, images, list, planes, occupied, values, 1.0f, integrals);              \
    }

TEXTURE(one, 1, false)
TEXTURE(two, 2, false)
TEXTURE(four, 4, false)
TEXTURE(eight, 8, false)
TEXTURE(one_uneven, 1, true)
TEXTURE(two_uneven, 2, true)
TEXTURE(four_uneven, 4, true)
TEXTURE(eight_uneven, 8, true)
VOXELS(one, 1, false)
VOXELS(eight, 8, false)
VOXELS(one_uneven, 1, true)
VOXELS(eight_uneven, 8, true)

__device__ inline Exact exact(double value)
{
    float hi = (float)value;
    return {hi, (float)(value - (double)hi)};
}

// Exact: length times attenuation over the voxels passed. Positions are those of walk.cuh: along z mm from the middle of the
// grid. The walk begins at the image, which is nearer than the source as a rule.
extern "C" __global__ void __launch_bounds__(512)
drr_exact(const WalkGrid grid, const Space space, const PixelRegion wanted, const Image* __restrict__ images,
          const unsigned* __restrict__ list, const float* __restrict__ attenuation, float* __restrict__ integrals)
{
    int column, row, out;
    if (!pixel_of(wanted, list, threadIdx.x, blockDim.x, column, row, out)) {
        return;
    }
    const Image& image = images[blockIdx.y];
    Exact source[3], target[3];
    double mm2 = 0.0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        double to = pixel_along(image, axis, column, row);
        source[axis] = exact(image.source[axis]);
        target[axis] = exact(to);
        double mm = (to - image.source[axis]) * space.mm[axis];
        mm2 = fma(mm, mm, mm2);
    }
    Walk walk;
    float sum = 0.0f;
    if (begin_walk<ALL_AXES>(walk, grid, target, source)) {
        walk_nested<ALL_AXES>(walk, [&](int voxel, float from, float until) {
            sum = fmaf(__ldg(attenuation + voxel), until - from, sum);
        });
    }
    integrals[(size_t)blockIdx.y * ((size_t)wanted.size[0] * wanted.size[1]) + out] = sum * (float)sqrt(mm2);
}
