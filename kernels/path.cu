// Radiological depth of every target from a point source (de Greef 2009): one thread a target, exact, in two ways that
// agree to rounding: voxel by voxel as in the paper, and column by column.
//
// Lanes of a warp lie along x, blocks reach along x and y. The host turns the grid so that rays mostly run along y or z
// (it swaps x and y of grid, targets and data), so that the lanes of a warp pass the same rows side by side.

#include "walk.cuh"

// Plane centres of the targets, mm along their normal from their first plane.
__constant__ Exact target_planes_mm[MOST_PLANES];

// As the host declares it in engine/path/cuda.rs, field for field. Positions are as in walk.cuh: target (i, j, k) lies at
// first + i step_i + j step_j + target_planes_mm[k] normal.
struct Rays {
    WalkGrid grid;
    float spacing_mm[2]; // of the density along x and y
    Exact source[3];
    Exact first[3];
    Exact step_i[3];
    Exact step_j[3];
    Exact normal[3];
    int targets[3];
    int out_stride[3];
};

// Where this thread's target lies; false for a thread too many.
__device__ inline bool target_of_thread(const Rays& rays, Exact target[3], int& out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= rays.targets[0] || j >= rays.targets[1]) {
        return false;
    }
    out = i * rays.out_stride[0] + j * rays.out_stride[1] + k * rays.out_stride[2];
    Exact plane = target_planes_mm[k];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        Exact of_plane = sum(rays.first[axis], product(plane, rays.normal[axis]));
        target[axis] = sum(sum(of_plane, product(j, rays.step_j[axis])), product(i, rays.step_i[axis]));
    }
    return true;
}

__device__ inline float length_mm(const Rays& rays, const Exact target[3])
{
    float x = difference(rays.source[0], target[0]) * rays.spacing_mm[0];
    float y = difference(rays.source[1], target[1]) * rays.spacing_mm[1];
    float z = difference(rays.source[2], target[2]);
    return sqrtf(fmaf(x, x, fmaf(y, y, z * z)));
}

// Stepping Siddon, voxel by voxel from the target towards the source.
extern "C" __global__ void __launch_bounds__(256)
path_step(const Rays rays, const float* __restrict__ density, float* __restrict__ depth_mm)
{
    Exact target[3];
    int out;
    if (!target_of_thread(rays, target, out)) {
        return;
    }
    Walk walk;
    float sum = 0.0f;
    if (begin_walk<ALL_AXES>(walk, rays.grid, target, rays.source)) {
        walk_nested<ALL_AXES>(walk, [&](int voxel, float from, float until) {
            sum = fmaf(__ldg(density + voxel), until - from, sum);
        });
    }
    depth_mm[out] = sum * length_mm(rays, target);
}

// A voxel's low edge along a column: the running sum of the densities before it, in whole quanta so that differences are exact, and
// the voxel's own density in quanta.
typedef int2 Edge;
__device__ inline Edge edge_at(int sum, float quanta) { return make_int2(sum, __float_as_int(quanta)); }
__device__ inline int sum_before(Edge edge) { return edge.x; }
__device__ inline float quanta_of(Edge edge) { return __int_as_float(edge.y); }

// As path_step, but column by column: between two crossings of planes across x and z a ray stays in one column along y,
// and its integral there is a difference of two running sums, however many voxels it passes.
//
// `edges` are [z][edge][x], one more to a column than voxels; grid.stride_z is theirs. Only for rays that are steep along
// y: rounding errors are multiplied by the ray's length over its extent along y.
extern "C" __global__ void __launch_bounds__(256)
path_columns(const Rays rays, const Edge* __restrict__ edges, float quantum, float* __restrict__ depth_mm)
{
    Exact target[3];
    int out;
    if (!target_of_thread(rays, target, out)) {
        return;
    }
    Walk walk;
    float depth = 0.0f;
    if (begin_walk<X_AND_Z>(walk, rays.grid, target, rays.source)) {
        // Where the ray is along y: start + alpha way.
        float start = target[1].hi;
        float way = difference(rays.source[1], target[1]);
        float low = (float)rays.grid.box_low[1], high = (float)rays.grid.box_high[1];
        // The edge at or below a place y, or at a whole y perhaps the one before: sums are continuous. Adding 1.5 * 2^23
        // leaves the nearest whole number in the low bits.
        float y, shifted;
        auto go_to = [&](float alpha) {
            y = fminf(fmaxf(fmaf(alpha, way, start), low), high);
            shifted = (y - 0.5f) + 12582912.0f;
        };
        auto edge_of = [&]() { return (__float_as_int(shifted) - 0x4b400000) * rays.grid.stride_y; };
        auto part_of = [&]() { return y - (shifted - 12582912.0f); };
        go_to(walk.alpha);
        int whole = 0;
        float rest = 0.0f;
        walk_nested<X_AND_Z>(walk, [&](int column, float, float until) {
            Edge before = __ldg(edges + column + edge_of());
            float before_part = part_of();
            go_to(until);
            Edge after = __ldg(edges + column + edge_of());
            whole += sum_before(after) - sum_before(before);
            rest = fmaf(part_of(), quanta_of(after), fmaf(-before_part, quanta_of(before), rest));
        });
        depth = ((float)whole + rest) * quantum * length_mm(rays, target) / way;
    }
    depth_mm[out] = depth;
}

// The edges of path_columns: a thread a column. What is no finite number is air.
extern "C" __global__ void __launch_bounds__(64)
path_edges(const float* __restrict__ density, int size_x, int size_y, float per_quantum, Edge* __restrict__ edges)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.y;
    if (i >= size_x) {
        return;
    }
    density += k * size_y * size_x + i;
    edges += k * (size_y + 1) * size_x + i;
    int sum = 0;
#pragma unroll 8
    for (int j = 0; j < size_y; ++j) {
        float value = density[j * size_x];
        int quanta = fabsf(value) < INFINITE ? __float2int_rn(value * per_quantum) : 0;
        edges[j * size_x] = edge_at(sum, (float)quanta);
        sum += quanta;
    }
    edges[size_y * size_x] = edge_at(sum, 0.0f);
}

// The extent of matter: voxels low <= voxel < high along x, y, z, and the greatest magnitude (bits of a float >= 0 order
// as integers do).
struct Matter {
    int low[3];
    int high[3];
    int highest_bits;
};

// The box of voxels that hold anything. The host has set `matter` to {large, 0, 0}. Integers only: the same whatever
// the order.
extern "C" __global__ void __launch_bounds__(256)
path_matter(const float* __restrict__ density, int size_x, int size_y, int size_z, Matter* __restrict__ matter)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.z;
    int low_j = 0x7fffffff, high_j = 0;
    float highest = 0.0f;
    if (i < size_x) {
        for (int j = blockIdx.y * blockDim.y + threadIdx.y; j < size_y; j += gridDim.y * blockDim.y) {
            float value = fabsf(density[(k * size_y + j) * size_x + i]);
            if (value > 0.0f && value < INFINITE) {
                low_j = min(low_j, j);
                high_j = max(high_j, j + 1);
                highest = fmaxf(highest, value);
            }
        }
    }
    if (high_j > 0) {
        atomicMin(&matter->low[0], i);
        atomicMax(&matter->high[0], i + 1);
        atomicMin(&matter->low[1], low_j);
        atomicMax(&matter->high[1], high_j);
        atomicMin(&matter->low[2], k);
        atomicMax(&matter->high[2], k + 1);
        atomicMax(&matter->highest_bits, __float_as_int(highest));
    }
}

// A copy of the density in which what is no finite number is air; with x and y swapped where the strides say so.
extern "C" __global__ void __launch_bounds__(256)
path_orient(const float* __restrict__ density, int size_x, int size_y, int out_stride_x, int out_stride_y,
            float* __restrict__ oriented)
{
    __shared__ float tile[32][33];
    int k = blockIdx.z;
    int plane = k * size_x * size_y;
    int i0 = blockIdx.x * 32, j0 = blockIdx.y * 32;
    for (int row = threadIdx.y; row < 32; row += blockDim.y) {
        int i = i0 + threadIdx.x, j = j0 + row;
        float value = i < size_x && j < size_y ? density[plane + j * size_x + i] : 0.0f;
        tile[row][threadIdx.x] = fabsf(value) < INFINITE ? value : 0.0f;
    }
    __syncthreads();
    bool swapped = out_stride_y == 1;
    for (int row = threadIdx.y; row < 32; row += blockDim.y) {
        int i = i0 + (swapped ? row : threadIdx.x), j = j0 + (swapped ? threadIdx.x : row);
        if (i < size_x && j < size_y) {
            oriented[plane + i * out_stride_x + j * out_stride_y] = tile[j - j0][i - i0];
        }
    }
}
