// For the table of Xiao et al., Med. Phys. 2012, and for `benches/xiao` alone: a thread for each line, which walks from voxel
// to voxel by 3D-DDA (Algorithm 1, walk.cuh, or Algorithm 2, below) and deposits by atomics. Lines and dose are those of cccs.cu.

#include "transport.cuh"
#include "walk.cuh"

// As walk_nested, with comparisons in place of branches: Algorithm 2 (3D-DDA-nc). An edge or a corner takes one step.
template <int AXES, class Visit> __device__ inline void walk_branch_free(Walk& walk, Visit visit)
{
    for (float crossing = next_plane<AXES>(walk); crossing < walk.end; crossing = next_plane<AXES>(walk)) {
        visit(walk.voxel, walk.alpha, crossing);
        walk.alpha = crossing;
        if (walk.next[0] <= crossing) {
            cross_plane<0>(walk);
        }
        if (takes_part(AXES, 1) && walk.next[1] <= crossing) {
            cross_plane<1>(walk);
        }
        if (walk.next[2] <= crossing) {
            cross_plane<2>(walk);
        }
    }
    visit(walk.voxel, walk.alpha, walk.end);
}

// The voxels, as the host declares them in benches/xiao/rays.rs, field for field: x fastest in the layout along z.
struct RayVoxels {
    WalkGrid grid;
    int first_cell;
    int size[3];
    float spacing_mm[3];
    float from_mm[3];  // the radiation source, from the centre of voxel (0, 0, 0)
    int order[3][3];   // axes of the layouts: along a row, across, dominant
};

// Numbers of the lines along a row or across that touch `size` voxels: the first, and how many.
struct LineRange {
    int first;
    int count;
};

__device__ inline LineRange line_range(int size, double moves)
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
__device__ inline void transport_ray(const RayVoxels& voxels, const LineDirection& direction,
                                     const Coefficients* __restrict__ table, const float* __restrict__ density_list,
                                     const CellTerma* __restrict__ terma_list, const Scale& scale,
                                     int* __restrict__ deposit_list)
{
    const int* order = voxels.order[direction.layout];
    int slabs = voxels.size[order[2]];
    LineRange along = line_range(voxels.size[order[0]], direction.per_slab[0] * slabs);
    LineRange across = line_range(voxels.size[order[1]], direction.per_slab[1] * slabs);
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    float unit = unit_of(scale);
    if (number >= along.count * across.count || !(unit > 0.0f)) {
        return;
    }
    int line[2] = {along.first + number % along.count, across.first + number / along.count};
    Exact from[3], to[3];
    float unit_vector[3];
    for (int n = 0; n < 3; ++n) {
        int axis = order[n];
        double begin = n < 2 ? direction.start[n] + line[n] : direction.backward ? slabs : 0;
        double end = n < 2 ? begin + direction.per_slab[n] * slabs : direction.backward ? 0 : slabs;
        // Along z in mm from the middle.
        double scale_z = axis == 2 ? (double)voxels.spacing_mm[2] : 1.0;
        double middle = axis == 2 ? 0.5 * voxels.size[2] : 0.0;
        from[axis] = exact((begin - middle) * scale_z);
        to[axis] = exact((end - middle) * scale_z);
        unit_vector[axis] = direction.axis[n];
    }
    Walk walk;
    if (!begin_walk<ALL_AXES>(walk, voxels.grid, from, to)) {
        return;
    }
    float ray_cm = (float)slabs * direction.slab_path_cm;
    float exponent_per_alpha = ray_cm * EXPONENT_PER_CM;
    float units = direction.weight / unit;
    const float* density = density_list + voxels.first_cell;
    TransportState state = {};
    auto visit = [&](int voxel, float from_alpha, float to_alpha) {
        float here = __ldg(density + voxel);
        bool with_terma = has_entry(here);
        // A line without energy only walks.
        if (here == 0.0f || !(with_terma || state.sum > 0.0f)) {
            return;
        }
        float exponent = density_of(here) * (to_alpha - from_alpha) * exponent_per_alpha;
        float deposited;
        if (with_terma) {
            int in_plane = voxel % voxels.grid.stride_z;
            int at[3] = {in_plane % voxels.grid.stride_y, in_plane / voxels.grid.stride_y, voxel / voxels.grid.stride_z};
            float dot = 0.0f, square = 0.0f;
            for (int axis = 0; axis < 3; ++axis) {
                float ray = fmaf((float)at[axis], voxels.spacing_mm[axis], -voxels.from_mm[axis]);
                dot = fmaf(ray, unit_vector[axis], dot);
                square = fmaf(ray, ray, square);
            }
            const CellTerma terma = terma_list[voxels.first_cell + voxel];
            LineCoefficients coefficients = mixed_coefficients(table, steps_of(dot * rsqrtf(fmaxf(square, 1e-12f))), terma.mix,
                                                               units);
            deposited = transport_voxel(state, exponent, terma, coefficients);
        } else {
            deposited = decay(state, exponent);
        }
        atomicAdd(deposit_list + voxels.first_cell + voxel, __float2int_rn(deposited));
    };
    if (BRANCH_FREE) {
        walk_branch_free<ALL_AXES>(walk, visit);
    } else {
        walk_nested<ALL_AXES>(walk, visit);
    }
}

extern "C" __global__ void __launch_bounds__(128)
xiao_original(const RayVoxels voxels, const LineDirection* __restrict__ directions, const Coefficients* __restrict__ table,
              const float* __restrict__ density, const CellTerma* __restrict__ terma, const Scale* __restrict__ scale,
              int* __restrict__ deposit)
{
    transport_ray<false>(voxels, directions[blockIdx.y], table, density, terma, *scale, deposit);
}

extern "C" __global__ void __launch_bounds__(128)
xiao_branch_free(const RayVoxels voxels, const LineDirection* __restrict__ directions,
                 const Coefficients* __restrict__ table, const float* __restrict__ density,
                 const CellTerma* __restrict__ terma, const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport_ray<true>(voxels, directions[blockIdx.y], table, density, terma, *scale, deposit);
}
