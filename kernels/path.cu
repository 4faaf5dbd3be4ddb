// Radiological depth of every target from a point source (de Greef 2009): one thread a target, exact, in two ways that
// agree to rounding: voxel by voxel as in the paper, and column by column.
//
// Lanes of a warp lie along x, blocks reach along x and y. The host turns the grid so that rays mostly run along y or z
// (it swaps x and y of grid, targets and data), so that the lanes of a warp pass the same rows side by side.

#include "walk.cuh"

// Plane centres of the targets, mm along their normal from their first plane.
__constant__ float target_planes_mm[MOST_PLANES];

// As the host declares it in engine/cuda/path.rs, field for field. Positions are in the density's frame, mm from its
// middle: target (i, j, k) lies at first + i step_i + j step_j + target_planes_mm[k] normal.
struct Rays {
    WalkGrid grid;
    float source_mm[3];
    float first_mm[3];
    float step_i_mm[3];
    float step_j_mm[3];
    float normal[3];
    int targets[3];
    int out_stride[3];
};

// Where this thread's target lies, from the middle of the density's grid; false for a thread too many.
__device__ inline bool target_of_thread(const Rays& rays, float target_mm[3], int& out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= rays.targets[0] || j >= rays.targets[1]) {
        return false;
    }
    out = i * rays.out_stride[0] + j * rays.out_stride[1] + k * rays.out_stride[2];
    float plane = target_planes_mm[k];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        float at = fmaf(plane, rays.normal[axis], rays.first_mm[axis]);
        at = fmaf((float)j, rays.step_j_mm[axis], at);
        target_mm[axis] = fmaf((float)i, rays.step_i_mm[axis], at);
    }
    return true;
}

__device__ inline float distance_mm(const float a[3], const float b[3])
{
    float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return sqrtf(fmaf(x, x, fmaf(y, y, z * z)));
}

// Stepping Siddon, voxel by voxel from the target towards the source.
extern "C" __global__ void __launch_bounds__(256)
path_step(const Rays rays, const float* __restrict__ density, float* __restrict__ depth_mm)
{
    float target_mm[3];
    int out;
    if (!target_of_thread(rays, target_mm, out)) {
        return;
    }
    Walk walk;
    float sum = 0.0f;
    if (begin_walk<ALL_AXES>(walk, rays.grid, target_mm, rays.source_mm)) {
        walk_branch_free<ALL_AXES>(walk, [&](int voxel, float from, float until) {
            sum = fmaf(__ldg(density + voxel), until - from, sum);
        });
    }
    depth_mm[out] = sum * distance_mm(target_mm, rays.source_mm);
}

// As path_step, but column by column: between two crossings of planes across x and z a ray stays in one column along y,
// and what it gathers there is a difference of two running sums, however many voxels it passes.
//
// `sums` holds for each column its running sum at every voxel edge, in whole quanta, so that differences are exact; the
// last one twice, so that the far end has an upper neighbour. [z][edge][x]; grid.stride_z is that of the sums. Only for
// rays that are steep along y: what is lost by rounding is multiplied by length over way along y.
extern "C" __global__ void __launch_bounds__(256)
path_columns(const Rays rays, const int* __restrict__ sums, float quantum, float* __restrict__ depth_mm)
{
    float target_mm[3];
    int out;
    if (!target_of_thread(rays, target_mm, out)) {
        return;
    }
    Walk walk;
    float depth = 0.0f;
    if (begin_walk<X_AND_Z>(walk, rays.grid, target_mm, rays.source_mm)) {
        float per_mm = 1.0f / rays.grid.spacing_mm[1];
        // Where the ray is along y, voxels from the low edge of the grid: start + alpha way.
        float start = (target_mm[1] - rays.grid.low_mm[1]) * per_mm;
        float way = (rays.source_mm[1] - target_mm[1]) * per_mm;
        float low = (float)rays.grid.box_low[1], high = (float)rays.grid.box_high[1];
        float at = fminf(fmaxf(fmaf(walk.alpha, way, start), low), high);
        float whole = floorf(at), part = at - whole;
        int edge = (int)whole * rays.grid.stride_y;
        int sum = 0;
        float rest = 0.0f;
        walk_branch_free<X_AND_Z>(walk, [&](int column, float, float until) {
            int before = __ldg(sums + column + edge);
            int before_next = __ldg(sums + column + edge + rays.grid.stride_y);
            float was = part;
            at = fminf(fmaxf(fmaf(until, way, start), low), high);
            whole = floorf(at);
            part = at - whole;
            edge = (int)whole * rays.grid.stride_y;
            int after = __ldg(sums + column + edge);
            int after_next = __ldg(sums + column + edge + rays.grid.stride_y);
            sum += after - before;
            rest = fmaf(part, (float)(after_next - after), fmaf(-was, (float)(before_next - before), rest));
        });
        depth = ((float)sum + rest) * quantum * distance_mm(target_mm, rays.source_mm) / way;
    }
    depth_mm[out] = depth;
}

// The running sums of path_columns: a thread a column. What is no finite number is air.
extern "C" __global__ void __launch_bounds__(256)
path_sums(const float* __restrict__ density, int size_x, int size_y, float per_quantum, int* __restrict__ sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.y;
    if (i >= size_x) {
        return;
    }
    density += k * size_y * size_x + i;
    sums += k * (size_y + 2) * size_x + i;
    int sum = 0;
    sums[0] = 0;
#pragma unroll 8
    for (int j = 0; j < size_y; ++j) {
        float value = density[j * size_x];
        sum += fabsf(value) < INFINITE ? __float2int_rn(value * per_quantum) : 0;
        sums[(j + 1) * size_x] = sum;
    }
    sums[(size_y + 1) * size_x] = sum;
}

// What a density holds: voxels low <= voxel < high along x, y, z, and the greatest magnitude (bits of a float >= 0 order
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
