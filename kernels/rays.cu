// Collapsed cone by rays that each walk by themselves, as in Xiao et al., Med. Phys. 2012: a thread for each line, which
// steps from voxel to voxel by the 3D-DDA (walk.cuh: Algorithm 1, original, or Algorithm 2, nc) and adds what stays there by
// atomics. The lines are those of cccs.cu, and so is the dose; what differs is that every line finds its own way.

#include "carry.cuh"
#include "walk.cuh"

// The voxels, as the host declares them in engine/cuda/cccs/rays.rs, field for field: x fastest in the layout for lines along
// z.
struct RayVoxels {
    WalkGrid grid;
    int first_cell;
    int size[3];
    float spacing_mm[3];
    float from_mm[3];  // the radiation source, from the centre of voxel (0, 0, 0)
    int order[3][3];   // axes of the layouts: along a row, across, dominant
};

// Lines beside each other along a row or across, of which the first is `first`: all that touch `size` voxels on their way.
struct Beside {
    int first;
    int count;
};

__device__ inline Beside beside(int size, double moves)
{
    int far = (int)ceil(fabs(moves)) + 1;
    return {moves > 0.0 ? -far : -1, size + far + 1};
}

__device__ inline Exact exact(double value)
{
    float hi = (float)value;
    return {hi, (float)(value - (double)hi)};
}

template <bool BRANCH_FREE>
__device__ inline void send_ray(const RayVoxels& voxels, const Heading& heading, const Coefficients* __restrict__ table,
                                const float* __restrict__ density_list, const Source* __restrict__ source_list,
                                const Scale& scale, int* __restrict__ deposit_list)
{
    const int* order = voxels.order[heading.march];
    int slabs = voxels.size[order[2]];
    Beside along = beside(voxels.size[order[0]], heading.per_slab[0] * slabs);
    Beside across = beside(voxels.size[order[1]], heading.per_slab[1] * slabs);
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    float unit = unit_of(scale);
    if (number >= along.count * across.count || !(unit > 0.0f)) {
        return;
    }
    int lines[2] = {along.first + number % along.count, across.first + number / along.count};
    Exact from[3], to[3];
    float direction[3];
    for (int n = 0; n < 3; ++n) {
        int axis = order[n];
        double begin = n < 2 ? heading.start[n] + lines[n] : heading.backward ? slabs : 0;
        double end = n < 2 ? begin + heading.per_slab[n] * slabs : heading.backward ? 0 : slabs;
        // Along z in mm from the middle.
        double scale_z = axis == 2 ? (double)voxels.spacing_mm[2] : 1.0;
        double middle = axis == 2 ? 0.5 * voxels.size[2] : 0.0;
        from[axis] = exact((begin - middle) * scale_z);
        to[axis] = exact((end - middle) * scale_z);
        direction[axis] = heading.direction[n];
    }
    Walk walk;
    if (!begin_walk<ALL_AXES>(walk, voxels.grid, from, to)) {
        return;
    }
    float ray_cm = (float)slabs * heading.slab_path_cm;
    float exponent_per_alpha = ray_cm * EXPONENT_PER_CM;
    float units = heading.weight / unit;
    const float* density = density_list + voxels.first_cell;
    Line line = {};
    auto visit = [&](int voxel, float from_alpha, float to_alpha) {
        float here = __ldg(density + voxel);
        bool releases = is_releasing(here);
        // A ray without energy is only walked.
        if (here == 0.0f || !(releases || line.sum > 0.0f)) {
            return;
        }
        float exponent = density_of(here) * (to_alpha - from_alpha) * exponent_per_alpha;
        float stays;
        if (releases) {
            int in_plane = voxel % voxels.grid.stride_z;
            int at[3] = {in_plane % voxels.grid.stride_y, in_plane / voxels.grid.stride_y, voxel / voxels.grid.stride_z};
            float dot = 0.0f, square = 0.0f;
            for (int axis = 0; axis < 3; ++axis) {
                float ray = fmaf((float)at[axis], voxels.spacing_mm[axis], -voxels.from_mm[axis]);
                dot = fmaf(ray, direction[axis], dot);
                square = fmaf(ray, ray, square);
            }
            const Source source = source_list[voxels.first_cell + voxel];
            Sends sends = mixed(table, steps_of(dot * rsqrtf(fmaxf(square, 1e-12f))), source.mix, units);
            stays = carry(line, exponent, source, sends);
        } else {
            stays = decay<TERMS>(line, exponent);
        }
        deposit_at(deposit_list + voxels.first_cell + voxel, __float2int_rn(stays));
    };
    if (BRANCH_FREE) {
        walk_branch_free<ALL_AXES>(walk, visit);
    } else {
        walk_nested<ALL_AXES>(walk, visit);
    }
}

extern "C" __global__ void __launch_bounds__(128)
rays_original(const RayVoxels voxels, const Heading* __restrict__ headings, const Coefficients* __restrict__ table,
              const float* __restrict__ density, const Source* __restrict__ source, const Scale* __restrict__ scale,
              int* __restrict__ deposit)
{
    send_ray<false>(voxels, headings[blockIdx.y], table, density, source, *scale, deposit);
}

extern "C" __global__ void __launch_bounds__(128)
rays_nc(const RayVoxels voxels, const Heading* __restrict__ headings, const Coefficients* __restrict__ table,
        const float* __restrict__ density, const Source* __restrict__ source, const Scale* __restrict__ scale,
        int* __restrict__ deposit)
{
    send_ray<true>(voxels, headings[blockIdx.y], table, density, source, *scale, deposit);
}
