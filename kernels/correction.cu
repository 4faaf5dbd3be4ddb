// Local correction of the collapsed cone's discretisation, next to the TERMA: engine/cccs/correction.rs.

#include "correction.cuh"

// As in engine/cccs/cpu: voxels of a row that share stencils.
constexpr int STRIP = 16;
constexpr int PRIMARY_TERMS = TERMS - PRIMARY_FIRST;

// Shares are summed in integers: the sum does not depend on the order.
constexpr float CORRECTION_RANGE = 268435456.0f; // for 1: eight times that fits

// The voxel with TERMA relative to the one that receives (along a row, across, along the slabs), and the voxels of the path from
// it, as index offsets.
struct __align__(16) CorrectionOffset {
    int from[3];
    int steps; // from end to end
    int path[CORRECTION_PATH];
};

// `1 - exp(-a density length)` by term and density. Decay constants double from term to term.
struct Loss {
    float of[PRIMARY_TERMS][CORRECTION_POWERS];
};

__device__ inline Loss loss_along(const Correction& correction, float length_cm)
{
    Loss loss;
    float slowest = -SLOWEST_PER_CM * (1 << PRIMARY_FIRST) * length_cm;
    for (int d = 0; d < CORRECTION_POWERS; ++d) {
        float g = -expm1f(slowest * correction.densities[d]);
        for (int k = 0; k < PRIMARY_TERMS; ++k) {
            loss.of[k][d] = g;
            g *= 2.0f - g;
        }
    }
    return loss;
}

// Equilibrium states of the primary's terms along a direction for the ray of a tilt, by the spectrum at 10 cm of water, times the
// solid angle.
__device__ inline void equilibrium_of(const Correction& correction, const LineDirection& direction,
                                      const Coefficients* __restrict__ table, int tilt, float equilibrium[PRIMARY_TERMS])
{
    float ray[3] = {0.0f, 0.0f, 1.0f};
    ray[0] = ((float)(2 * (tilt % correction.tilt_count) + 1) / (float)correction.tilt_count - 1.0f) * correction.tilt_reach;
    ray[1] = ((float)(2 * (tilt / correction.tilt_count) + 1) / (float)correction.tilt_count - 1.0f) * correction.tilt_reach;
    float along = 0.0f;
    for (int axis = 0; axis < 3; ++axis) {
        const float* row = correction.kernel_from_block[axis];
        const float* d = direction.axis;
        along += (row[0] * d[0] + row[1] * d[1] + row[2] * d[2]) * ray[axis];
    }
    float cosine = along * rsqrtf(ray[0] * ray[0] + ray[1] * ray[1] + 1.0f);
    float part;
    const Coefficients* low = table + step_row(steps_of(cosine), part);
    const Coefficients* high = low + ROWS_OF_STEP;
    float solid_angle_sr = direction.weight * direction.slab_path_cm;
    for (int k = 0; k < PRIMARY_TERMS; ++k) {
        float of[2];
        for (int c = 0; c < 2; ++c) {
            of[c] = fmaf(part, high->primary[k][c] - low->primary[k][c], low->primary[k][c]);
        }
        equilibrium[k] = solid_angle_sr * (correction.primary_mix[0] * of[0] + correction.primary_mix[1] * of[1]);
    }
}

// Shares of a line's deposit in the voxels around its TERMA, which lies in the slab of step `from_step`.
__device__ inline void add_shares(int* shares, const Correction& correction, const LineDirection& direction,
                                  const double start[2], int from_step, int steps, const float equilibrium[PRIMARY_TERMS],
                                  float weight, const short* __restrict__ numbers)
{
    Segments segments[CORRECTION_PATH];
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        walk_slab(segments[step], start, direction.per_slab, from_step + step, (double)direction.slab_path_cm);
    }
#pragma unroll 1
    for (int from = 0; from < segments[0].count; ++from) {
        Loss transmitted = loss_along(correction, segments[0].length_cm[from]);
        bool inside = true;
#pragma unroll 1
        for (int step = 0; step < steps && inside; ++step) {
#pragma unroll 1
            for (int to = step == 0 ? from : 0; to < segments[step].count; ++to) {
                int x = segments[step].cell[to][0] - segments[0].cell[from][0] + CORRECTION_REACH;
                int y = segments[step].cell[to][1] - segments[0].cell[from][1] + CORRECTION_REACH;
                int z = (direction.backward ? -step : step) + CORRECTION_REACH;
                inside = (unsigned)x < CORRECTION_WIDTH && (unsigned)y < CORRECTION_WIDTH;
                int number = inside ? numbers[(z * CORRECTION_WIDTH + y) * CORRECTION_WIDTH + x] : -1;
                inside = number >= 0;
                if (!inside) {
                    break;
                }
                bool own = step == 0 && to == from;
                Loss here = loss_along(correction, segments[step].length_cm[to]);
                for (int d = 0; d < CORRECTION_POWERS; ++d) {
                    float share = 0.0f;
                    for (int k = 0; k < PRIMARY_TERMS; ++k) {
                        // In the voxel with TERMA, what is transmitted is missing from the deposit.
                        float deposited = own ? -transmitted.of[k][d] : transmitted.of[k][d] * here.of[k][d];
                        transmitted.of[k][d] -= own ? 0.0f : deposited;
                        share = fmaf(equilibrium[k], deposited, share);
                    }
                    atomicAdd(shares + number * CORRECTION_POWERS + d, __float2int_rn(weight * share * CORRECTION_RANGE));
                }
            }
        }
    }
}

// For each tilt (blockIdx.y): shares by lines spread over a voxel's face, a block for each starting point, added to `mean`; and,
// negated, shares by the lattices' own lines from each slab, a block each, into `missed`.
extern "C" __global__ void __launch_bounds__(128)
correction_shares(const SlabLayout layout, const Correction correction, const LineDirection* __restrict__ directions,
                  const Coefficients* __restrict__ table, const short* __restrict__ numbers, int* __restrict__ mean,
                  int* __restrict__ missed)
{
    constexpr int PLACES = CORRECTION_PLACES * CORRECTION_PLACES;
    constexpr int SHARES = CORRECTION_OFFSETS * CORRECTION_POWERS;
    __shared__ int shares[SHARES];
    int tilt = blockIdx.y, place = blockIdx.x, slab = blockIdx.x - PLACES;
    for (int i = threadIdx.x; i < SHARES; i += blockDim.x) {
        shares[i] = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int n = threadIdx.x; n < correction.directions; n += blockDim.x) {
        const LineDirection& direction = directions[correction.first_direction + n];
        float equilibrium[PRIMARY_TERMS];
        equilibrium_of(correction, direction, table, tilt, equilibrium);
        float per_path = 1.0f / direction.slab_path_cm;
        if (place < PLACES) {
            double start[2] = {(place % CORRECTION_PLACES + 0.5) / CORRECTION_PLACES,
                               (place / CORRECTION_PLACES + 0.5) / CORRECTION_PLACES};
            add_shares(shares, correction, direction, start, 0, CORRECTION_PATH, equilibrium, per_path / PLACES, numbers);
        } else {
            int step = direction.backward ? layout.slabs - 1 - slab : slab;
            int steps = min(CORRECTION_PATH, layout.slabs - step);
            add_shares(shares, correction, direction, direction.start, step, steps, equilibrium, -per_path, numbers);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SHARES; i += blockDim.x) {
        if (place < PLACES) {
            atomicAdd(mean + tilt * SHARES + i, shares[i]);
        } else {
            missed[(tilt * layout.slabs + slab) * SHARES + i] = shares[i];
        }
    }
}

// Shares as powers of the density, and which offsets receive more than CORRECTION_LEAST.
extern "C" __global__ void __launch_bounds__(256)
correction_powers(const int slabs, const Correction correction, const int* __restrict__ mean, const int* __restrict__ missed,
                  float4* __restrict__ table, int* __restrict__ used)
{
    int n = threadIdx.x;
    if (n >= CORRECTION_OFFSETS) {
        return;
    }
    int row = blockIdx.y * slabs + blockIdx.x;
    float share[CORRECTION_POWERS], powers[CORRECTION_POWERS];
    for (int d = 0; d < CORRECTION_POWERS; ++d) {
        int sum = mean[(blockIdx.y * CORRECTION_OFFSETS + n) * CORRECTION_POWERS + d]
                  + missed[(row * CORRECTION_OFFSETS + n) * CORRECTION_POWERS + d];
        share[d] = (float)sum / CORRECTION_RANGE;
    }
    for (int p = 0; p < CORRECTION_POWERS; ++p) {
        const float* of = correction.powers_of_shares[p];
        powers[p] = of[0] * share[0] + of[1] * share[1] + of[2] * share[2];
    }
    table[row * CORRECTION_OFFSETS + n] = {powers[0], powers[1], powers[2], 0.0f};
    // At the density of water.
    if (fabsf(share[1]) > CORRECTION_LEAST) {
        used[n] = 1;
    }
}

// Lists the used offsets by number of steps, else in their order.
extern "C" __global__ void __launch_bounds__(256)
correction_list(const CorrectionOffset* __restrict__ offsets, const int* __restrict__ used, CorrectionList* __restrict__ list)
{
    // Filled up to every thread: the compiler reads four at a time.
    __shared__ int steps_of[256];
    int n = threadIdx.x;
    steps_of[n] = n < CORRECTION_OFFSETS && used[n] != 0 ? offsets[n].steps : CORRECTION_REACH + 1;
    __syncthreads();
    if (n <= CORRECTION_REACH) {
        int end = 0;
        for (int other = 0; other < CORRECTION_OFFSETS; ++other) {
            end += steps_of[other] <= n;
        }
        list->ends[n] = end;
    }
    if (n >= CORRECTION_OFFSETS || steps_of[n] > CORRECTION_REACH) {
        return;
    }
    int place = 0;
    for (int other = 0; other < CORRECTION_OFFSETS; ++other) {
        place += steps_of[other] < steps_of[n] || (steps_of[other] == steps_of[n] && other < n);
    }
    const CorrectionOffset& offset = offsets[n];
    CorrectionEntry entry = {{}, offset.from[2] * CORRECTION_OFFSETS + n, {offset.from[0], offset.from[1], offset.from[2]}, 0};
    for (int step = 0; step < offset.steps; ++step) {
        entry.path[step] = offset.path[step];
    }
    list->entries[place] = entry;
}

// Lists the blocks of WARP_COLUMNS by WARP_ROWS cells within reach of TERMA (with all blocks a dose takes 5 to 27 % longer), as the
// number of their first cell from the layout's on, in no order; `terma_mask` begins at the first layout.
extern "C" __global__ void __launch_bounds__(128)
correction_reach(const SlabLayout layout, const unsigned* __restrict__ terma_mask, int* __restrict__ count,
                 int* __restrict__ reached)
{
    constexpr unsigned COLUMNS = (1u << (WARP_COLUMNS + 2 * CORRECTION_REACH)) - 1u;
    WarpPlace warp = place_of_warp<1>(layout, blockIdx.x * blockDim.x + threadIdx.x);
    int first = warp.row * layout.pitch + warp.column, slab = blockIdx.y;
    unsigned reaches = 0u;
    if (first < layout.plane) {
        int low = max(slab - CORRECTION_REACH, 0), high = min(slab + CORRECTION_REACH, layout.slabs - 1);
        for (int other = low; other <= high && reaches == 0u; ++other) {
            const unsigned* cells = terma_mask + (layout.first_cell + other * layout.plane) / LANES;
            for (int rows = -CORRECTION_REACH; rows < WARP_ROWS + CORRECTION_REACH; ++rows) {
                // Rows beyond the ring wrap: those tests are superfluous, not wrong.
                int cell = first + rows * layout.pitch - CORRECTION_REACH;
                reaches |= terma_mask_from(cells, round_ring(cell < 0 ? cell + layout.plane : cell, layout.plane), layout.plane);
            }
            reaches &= COLUMNS;
        }
    }
    unsigned all = __ballot_sync(ALL_LANES, reaches != 0u);
    if (all == 0u) {
        return;
    }
    int lane = threadIdx.x % LANES, place = 0;
    if (lane == 0) {
        place = atomicAdd(count, __popc(all));
    }
    place = __shfl_sync(ALL_LANES, place, 0) + __popc(all & ((1u << lane) - 1u));
    if (reaches != 0u) {
        reached[place] = slab * layout.plane + first;
    }
}

// A receiving voxel.
struct Receiver {
    int row, column, slab;
    int at;        // its cell
    float density; // zero for a wall
    int table_row; // first row of the stencils of its tilt and slab
};

// The correction of a voxel by offsets of STEPS steps.
template <int STEPS>
__device__ inline float received_over(const SlabLayout& layout, const Receiver& to, const CorrectionList& list,
                                      const float4* __restrict__ table, const float* __restrict__ density,
                                      const CellTerma* __restrict__ terma)
{
    float sum = 0.0f;
    for (int i = list.ends[STEPS - 1]; i < list.ends[STEPS]; ++i) {
        const CorrectionEntry& entry = list.entries[i];
        int from_cell = to.at + entry.path[0];
        bool there = to.density > 0.0f && (unsigned)(to.slab + entry.from[2]) < (unsigned)layout.slabs
                     && (unsigned)(to.column + entry.from[0]) < (unsigned)layout.columns
                     && (unsigned)(to.row + entry.from[1]) < (unsigned)layout.across;
        float from = there ? __ldg(density + from_cell) : 0.0f;
        if (has_entry(from)) {
            // Mean density of the path; its ends count half.
            float mean = 0.5f * (to.density + density_of(from));
#pragma unroll
            for (int step = 1; step < STEPS; ++step) {
                mean += density_of(__ldg(density + to.at + entry.path[step]));
            }
            mean = fminf(mean * (1.0f / STEPS), CORRECTION_DENSEST);
            float4 powers = table[to.table_row + entry.table_row];
            float of_density = fmaf(fmaf(powers.z, mean, powers.y), mean, powers.x);
            sum = fmaf(of_density, density_of(from) * terma[from_cell].primary, sum);
        }
    }
    return sum;
}

__device__ inline float received(const SlabLayout& layout, const Receiver& to, const CorrectionList& list,
                                 const float4* __restrict__ table, const float* __restrict__ density,
                                 const CellTerma* __restrict__ terma)
{
    static_assert(CORRECTION_REACH == 3, "steps from 1 to the reach");
    return received_over<1>(layout, to, list, table, density, terma) + received_over<2>(layout, to, list, table, density, terma)
           + received_over<3>(layout, to, list, table, density, terma);
}

// Adds the correction to the deposit: engine/cccs/cpu/correction.rs. Warps take the listed blocks in turn.
extern "C" __global__ void __launch_bounds__(128)
correction_add(const SlabLayout layout, const Correction correction, const CorrectionList* __restrict__ listed,
               const float4* __restrict__ table, const int* __restrict__ count, const int* __restrict__ reached,
               const float* __restrict__ density, const CellTerma* __restrict__ terma, const Scale* __restrict__ scale,
               int* __restrict__ deposit)
{
    __shared__ CorrectionList list;
    const int4* from_list = reinterpret_cast<const int4*>(listed);
    for (unsigned i = threadIdx.x; i < sizeof(CorrectionList) / sizeof(int4); i += blockDim.x) {
        reinterpret_cast<int4*>(&list)[i] = from_list[i];
    }
    __syncthreads();
    float unit = unit_of(*scale);
    if (!(unit > 0.0f)) {
        return;
    }
    int warps = gridDim.x * blockDim.x / LANES;
    for (int n = (blockIdx.x * blockDim.x + threadIdx.x) / LANES; n < *count; n += warps) {
        int lane = threadIdx.x % LANES;
        int of_layout = reached[n] + lane / WARP_COLUMNS * layout.pitch + lane % WARP_COLUMNS;
        int slab = of_layout / layout.plane, cell = of_layout - slab * layout.plane;
        int row = __umulhi(cell, layout.rows_of_cells);
        int column = cell - row * layout.pitch;
        bool in_box = row < layout.across && column < layout.columns;
        int at = layout.first_cell + of_layout;
        float ray[3] = {((float)(column / STRIP * STRIP) + 0.5f * (STRIP - 1)) * layout.spacing_mm[0] - layout.from_mm[0],
                        (float)row * layout.spacing_mm[1] - layout.from_mm[1],
                        (float)slab * layout.spacing_mm[2] - layout.from_mm[2]};
        int table_row = (tilt_at(correction, ray) * layout.slabs + slab) * CORRECTION_OFFSETS;
        Receiver to = {row, column, slab, at, in_box ? density_of(density[at]) : 0.0f, table_row};
        float sum = received(layout, to, list, table, density, terma);
        if (sum != 0.0f) {
            atomicAdd(deposit + at, __float2int_rn(sum * to.density / unit));
        }
    }
}
