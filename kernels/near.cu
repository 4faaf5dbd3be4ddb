// What thin lines of the collapsed cone misplace next to where energy is released: engine/jobs/cccs/near.rs.

#include "cccs.cuh"

// As in engine/jobs/cccs/near.rs: voxels to each side; voxels on the way of an offset, at most; what is denser counts as this
// dense; powers of the density; offsets within reach; offsets that never get more than this part are left out; places to each
// side of a voxel's face over which the mean is taken.
constexpr int NEAR_REACH = 3;
constexpr int NEAR_WIDTH = 2 * NEAR_REACH + 1;
constexpr int NEAR_WAY = NEAR_REACH + 1;
constexpr float NEAR_DENSEST = 2.0f;
constexpr int NEAR_POWERS = 3;
constexpr int NEAR_OFFSETS = 251;
constexpr float NEAR_LEAST = 1e-4f;
constexpr int NEAR_PLACES = 6;
// As in engine/cpu/cccs: voxels of a row that share stencils.
constexpr int STRIP = 16;
constexpr int PRIMARY_TERMS = TERMS - PRIMARY_FIRST;

// Shares are added up in integers, so that their sum does not depend on the order.
constexpr float NEAR_RANGE = 268435456.0f; // for 1: eight times that fits

// The stencils of a layout, as the host declares them, field for field.
struct Near {
    float kernel_from_block[3][3];
    float tilt_reach;
    int tilt_count;
    float primary_mix[2];
    float densities[NEAR_POWERS];
    float powers_of_shares[NEAR_POWERS][NEAR_POWERS];
    int first_heading; // of the layout's directions
    int headings;
};

// A voxel that releases, seen from the one that receives: along a row, across, along the slabs; then the voxels on the way
// from the one that releases on, as steps of the index.
struct __align__(16) NearOffset {
    int from[3];
    int steps; // from end to end
    int way[NEAR_WAY];
};

// An offset that gets anything, as near_add goes through them.
struct __align__(16) NearEntry {
    int way[NEAR_REACH]; // as of the offset, without the voxel that receives
    int table_row;       // of the offset, from that of the receiver's slab on
    int from[3];
    int none;
};

// Those of no steps, which there are none of, then of one, and so on; where each ends.
struct __align__(16) NearList {
    int ends[NEAR_REACH + 1];
    NearEntry entries[NEAR_OFFSETS];
};

// `1 - exp(-a density length)` by term and density. Each term decays twice as fast as the one before.
struct Loss {
    float of[PRIMARY_TERMS][NEAR_POWERS];
};

__device__ inline Loss loss_along(const Near& near, float length_cm)
{
    Loss loss;
    float slowest = -SLOWEST_PER_CM * (1 << PRIMARY_FIRST) * length_cm;
    for (int d = 0; d < NEAR_POWERS; ++d) {
        float g = -expm1f(slowest * near.densities[d]);
        for (int k = 0; k < PRIMARY_TERMS; ++k) {
            loss.of[k][d] = g;
            g *= 2.0f - g;
        }
    }
    return loss;
}

// The primary's terms along a direction for the ray of a tilt, by the spectrum in the middle of what is treated: what is
// released over its decay constant, times the solid angle.
__device__ inline void full_of(const Near& near, const Heading& heading, const Coefficients* __restrict__ table, int tilt,
                               float full[PRIMARY_TERMS])
{
    float ray[3] = {0.0f, 0.0f, 1.0f};
    ray[0] = ((float)(2 * (tilt % near.tilt_count) + 1) / (float)near.tilt_count - 1.0f) * near.tilt_reach;
    ray[1] = ((float)(2 * (tilt / near.tilt_count) + 1) / (float)near.tilt_count - 1.0f) * near.tilt_reach;
    float along = 0.0f;
    for (int axis = 0; axis < 3; ++axis) {
        const float* row = near.kernel_from_block[axis];
        const float* d = heading.direction;
        along += (row[0] * d[0] + row[1] * d[1] + row[2] * d[2]) * ray[axis];
    }
    float cosine = along * rsqrtf(ray[0] * ray[0] + ray[1] * ray[1] + 1.0f);
    float part;
    const Coefficients* low = table + step_row(steps_of(cosine), part);
    const Coefficients* high = low + ROWS_OF_STEP;
    float solid_angle_sr = heading.weight * heading.slab_path_cm;
    for (int k = 0; k < PRIMARY_TERMS; ++k) {
        float of[2];
        for (int c = 0; c < 2; ++c) {
            of[c] = fmaf(part, high->primary[k][c] - low->primary[k][c], low->primary[k][c]);
        }
        full[k] = solid_angle_sr * (near.primary_mix[0] * of[0] + near.primary_mix[1] * of[1]);
    }
}

// Shares of what a line leaves in the voxels round the one where it is released, in the slab of step `from_step`.
__device__ inline void add_shares(int* shares, const Near& near, const Heading& heading, const double start[2],
                                  int from_step, int steps, const float full[PRIMARY_TERMS], float weight,
                                  const short* __restrict__ numbers)
{
    Pieces pieces[NEAR_WAY];
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        walk_slab(pieces[step], start, heading.per_slab, from_step + step, (double)heading.slab_path_cm);
    }
#pragma unroll 1
    for (int from = 0; from < pieces[0].count; ++from) {
        Loss passed = loss_along(near, pieces[0].length_cm[from]);
        bool inside = true;
#pragma unroll 1
        for (int step = 0; step < steps && inside; ++step) {
#pragma unroll 1
            for (int to = step == 0 ? from : 0; to < pieces[step].count; ++to) {
                int x = pieces[step].cell[to][0] - pieces[0].cell[from][0] + NEAR_REACH;
                int y = pieces[step].cell[to][1] - pieces[0].cell[from][1] + NEAR_REACH;
                int z = (heading.backward ? -step : step) + NEAR_REACH;
                inside = (unsigned)x < NEAR_WIDTH && (unsigned)y < NEAR_WIDTH;
                int number = inside ? numbers[(z * NEAR_WIDTH + y) * NEAR_WIDTH + x] : -1;
                inside = number >= 0;
                if (!inside) {
                    break;
                }
                bool own = step == 0 && to == from;
                Loss here = loss_along(near, pieces[step].length_cm[to]);
                for (int d = 0; d < NEAR_POWERS; ++d) {
                    float share = 0.0f;
                    for (int k = 0; k < PRIMARY_TERMS; ++k) {
                        // Where it is released, what is carried out does not stay.
                        float stays = own ? -passed.of[k][d] : passed.of[k][d] * here.of[k][d];
                        passed.of[k][d] -= own ? 0.0f : stays;
                        share = fmaf(full[k], stays, share);
                    }
                    atomicAdd(shares + number * NEAR_POWERS + d, __float2int_rn(weight * share * NEAR_RANGE));
                }
            }
        }
    }
}

// For each tilt (blockIdx.y): what lines spread over a voxel's face leave round it, a block for each place, added to `mean`;
// and less what the lattices' own walks leave that start in a slab, a block for each, into `missed`.
extern "C" __global__ void __launch_bounds__(128)
near_shares(const March march, const Near near, const Heading* __restrict__ headings,
            const Coefficients* __restrict__ table, const short* __restrict__ numbers, int* __restrict__ mean,
            int* __restrict__ missed)
{
    constexpr int PLACES = NEAR_PLACES * NEAR_PLACES;
    constexpr int SHARES = NEAR_OFFSETS * NEAR_POWERS;
    __shared__ int shares[SHARES];
    int tilt = blockIdx.y, place = blockIdx.x, slab = blockIdx.x - PLACES;
    for (int i = threadIdx.x; i < SHARES; i += blockDim.x) {
        shares[i] = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int n = threadIdx.x; n < near.headings; n += blockDim.x) {
        const Heading& heading = headings[near.first_heading + n];
        float full[PRIMARY_TERMS];
        full_of(near, heading, table, tilt, full);
        float per_path = 1.0f / heading.slab_path_cm;
        if (place < PLACES) {
            double start[2] = {(place % NEAR_PLACES + 0.5) / NEAR_PLACES, (place / NEAR_PLACES + 0.5) / NEAR_PLACES};
            add_shares(shares, near, heading, start, 0, NEAR_WAY, full, per_path / PLACES, numbers);
        } else {
            int step = heading.backward ? march.slabs - 1 - slab : slab;
            int steps = min(NEAR_WAY, march.slabs - step);
            add_shares(shares, near, heading, heading.start, step, steps, full, -per_path, numbers);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SHARES; i += blockDim.x) {
        if (place < PLACES) {
            atomicAdd(mean + tilt * SHARES + i, shares[i]);
        } else {
            missed[(tilt * march.slabs + slab) * SHARES + i] = shares[i];
        }
    }
}

// Shares as powers of the density, and which offsets get anything to speak of.
extern "C" __global__ void __launch_bounds__(256)
near_powers(const int slabs, const Near near, const int* __restrict__ mean, const int* __restrict__ missed,
            float4* __restrict__ table, int* __restrict__ used)
{
    int n = threadIdx.x;
    if (n >= NEAR_OFFSETS) {
        return;
    }
    int row = blockIdx.y * slabs + blockIdx.x;
    float share[NEAR_POWERS], powers[NEAR_POWERS];
    for (int d = 0; d < NEAR_POWERS; ++d) {
        int sum = mean[(blockIdx.y * NEAR_OFFSETS + n) * NEAR_POWERS + d] + missed[(row * NEAR_OFFSETS + n) * NEAR_POWERS + d];
        share[d] = (float)sum / NEAR_RANGE;
    }
    for (int p = 0; p < NEAR_POWERS; ++p) {
        const float* of = near.powers_of_shares[p];
        powers[p] = of[0] * share[0] + of[1] * share[1] + of[2] * share[2];
    }
    table[row * NEAR_OFFSETS + n] = {powers[0], powers[1], powers[2], 0.0f};
    // The second density tells.
    if (fabsf(share[1]) > NEAR_LEAST) {
        used[n] = 1;
    }
}

// Lists the offsets that get anything: those with fewer steps first, else in their order.
extern "C" __global__ void __launch_bounds__(256)
near_list(const NearOffset* __restrict__ offsets, const int* __restrict__ used, NearList* __restrict__ list)
{
    // One for every thread: the compiler reads them four at a time.
    __shared__ int steps_of[256];
    int n = threadIdx.x;
    steps_of[n] = n < NEAR_OFFSETS && used[n] != 0 ? offsets[n].steps : NEAR_REACH + 1;
    __syncthreads();
    if (n <= NEAR_REACH) {
        int end = 0;
        for (int other = 0; other < NEAR_OFFSETS; ++other) {
            end += steps_of[other] <= n;
        }
        list->ends[n] = end;
    }
    if (n >= NEAR_OFFSETS || steps_of[n] > NEAR_REACH) {
        return;
    }
    int place = 0;
    for (int other = 0; other < NEAR_OFFSETS; ++other) {
        place += steps_of[other] < steps_of[n] || (steps_of[other] == steps_of[n] && other < n);
    }
    const NearOffset& offset = offsets[n];
    NearEntry entry = {{}, offset.from[2] * NEAR_OFFSETS + n, {offset.from[0], offset.from[1], offset.from[2]}, 0};
    for (int step = 0; step < offset.steps; ++step) {
        entry.way[step] = offset.way[step];
    }
    list->entries[place] = entry;
}

// Lists the cells of a layout, WARP_COLUMNS by WARP_ROWS at a time, within reach of which anything is released: the number of the
// first of them from the layout's on. In whatever order; `releasing` begin at the first layout.
extern "C" __global__ void __launch_bounds__(128)
near_reach(const March march, const unsigned* __restrict__ releasing, int* __restrict__ count, int* __restrict__ reached)
{
    constexpr unsigned COLUMNS = (1u << (WARP_COLUMNS + 2 * NEAR_REACH)) - 1u;
    WarpPlace warp = place_of_warp<1>(march, blockIdx.x * blockDim.x + threadIdx.x);
    int first = warp.row * march.pitch + warp.column, slab = blockIdx.y;
    unsigned reaches = 0u;
    if (first < march.plane) {
        int low = max(slab - NEAR_REACH, 0), high = min(slab + NEAR_REACH, march.slabs - 1);
        for (int other = low; other <= high && reaches == 0u; ++other) {
            const unsigned* cells = releasing + (march.first_cell + other * march.plane) / LANES;
            for (int rows = -NEAR_REACH; rows < WARP_ROWS + NEAR_REACH; ++rows) {
                // Rows beyond the ring's ends are those at its other end: what is there is looked at for nothing.
                int cell = first + rows * march.pitch - NEAR_REACH;
                reaches |= releasing_from(cells, round_ring(cell < 0 ? cell + march.plane : cell, march.plane), march.plane);
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
        reached[place] = slab * march.plane + first;
    }
}

// The number of the stencils for the ray of a strip.
__device__ inline int tilt_at(const Near& near, const float ray[3])
{
    float tilted[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float* row = near.kernel_from_block[axis];
        tilted[axis] = row[0] * ray[0] + row[1] * ray[1] + row[2] * ray[2];
    }
    if (!(tilted[2] > 0.0f)) {
        return 0;
    }
    int cell[2];
    for (int axis = 0; axis < 2; ++axis) {
        float place = (tilted[axis] / tilted[2] / near.tilt_reach + 1.0f) * 0.5f * near.tilt_count;
        cell[axis] = min((int)fmaxf(place, 0.0f), near.tilt_count - 1);
    }
    return cell[1] * near.tilt_count + cell[0];
}

// A voxel that receives.
struct Receiver {
    int row, column, slab;
    int at;        // its cell
    float density; // zero for a wall
    int table_row; // where the stencils of its tilt and slab begin
};

// What a voxel gets over some steps from those round it that release. INSIDE: those of the whole warp have all of theirs within
// the box.
template <int STEPS, bool INSIDE>
__device__ inline float received_over(const March& march, const Receiver& to, const NearList& list,
                                      const float4* __restrict__ table, const float* __restrict__ density,
                                      const Source* __restrict__ source)
{
    float sum = 0.0f;
    for (int i = list.ends[STEPS - 1]; i < list.ends[STEPS]; ++i) {
        const NearEntry& entry = list.entries[i];
        int from_cell = to.at + entry.way[0];
        bool there = INSIDE
                     || (to.density > 0.0f && (unsigned)(to.slab + entry.from[2]) < (unsigned)march.slabs
                         && (unsigned)(to.column + entry.from[0]) < (unsigned)march.columns
                         && (unsigned)(to.row + entry.from[1]) < (unsigned)march.across);
        float from = there ? __ldg(density + from_cell) : 0.0f;
        if (!any_lane(is_releasing(from))) {
            continue;
        }
        if (is_releasing(from)) {
            // The ends count half.
            float mean = 0.5f * (to.density - from);
#pragma unroll
            for (int step = 1; step < STEPS; ++step) {
                mean += density_of(__ldg(density + to.at + entry.way[step]));
            }
            mean = fminf(mean * (1.0f / STEPS), NEAR_DENSEST);
            float4 powers = table[to.table_row + entry.table_row];
            float of_density = fmaf(fmaf(powers.z, mean, powers.y), mean, powers.x);
            sum = fmaf(of_density, -from * source[from_cell].primary, sum);
        }
    }
    return sum;
}

template <bool INSIDE>
__device__ inline float received(const March& march, const Receiver& to, const NearList& list,
                                 const float4* __restrict__ table, const float* __restrict__ density,
                                 const Source* __restrict__ source)
{
    static_assert(NEAR_REACH == 3, "steps from 1 to the reach");
    return received_over<1, INSIDE>(march, to, list, table, density, source)
           + received_over<2, INSIDE>(march, to, list, table, density, source)
           + received_over<3, INSIDE>(march, to, list, table, density, source);
}

// Adds to what the lines left: engine/cpu/cccs/near.rs. As many warps as there are take those listed in turn.
extern "C" __global__ void __launch_bounds__(128)
near_add(const March march, const Near near, const NearList* __restrict__ listed, const float4* __restrict__ table,
         const int* __restrict__ count, const int* __restrict__ reached, const float* __restrict__ density,
         const Source* __restrict__ source, const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    __shared__ NearList list;
    const int4* from_list = reinterpret_cast<const int4*>(listed);
    for (unsigned i = threadIdx.x; i < sizeof(NearList) / sizeof(int4); i += blockDim.x) {
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
        int of_layout = reached[n] + lane / WARP_COLUMNS * march.pitch + lane % WARP_COLUMNS;
        int slab = of_layout / march.plane, cell = of_layout - slab * march.plane;
        int row = __umulhi(cell, march.rows_of_cells);
        int column = cell - row * march.pitch;
        bool in_box = row < march.across && column < march.columns;
        int at = march.first_cell + of_layout;
        float ray[3] = {((float)(column / STRIP * STRIP) + 0.5f * (STRIP - 1)) * march.spacing_mm[0] - march.from_mm[0],
                        (float)row * march.spacing_mm[1] - march.from_mm[1],
                        (float)slab * march.spacing_mm[2] - march.from_mm[2]};
        int table_row = (tilt_at(near, ray) * march.slabs + slab) * NEAR_OFFSETS;
        Receiver to = {row, column, slab, at, in_box ? fabsf(density[at]) : 0.0f, table_row};
        bool inside = slab >= NEAR_REACH && slab < march.slabs - NEAR_REACH && row >= NEAR_REACH
                      && row < march.across - NEAR_REACH && column >= NEAR_REACH && column < march.columns - NEAR_REACH;
        float sum = __all_sync(ALL_LANES, inside) ? received<true>(march, to, list, table, density, source)
                                                  : received<false>(march, to, list, table, density, source);
        if (sum != 0.0f) {
            atomicAdd(deposit + at, __float2int_rn(sum * to.density / unit));
        }
    }
}
