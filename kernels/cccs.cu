// Collapsed cone: transport along lattices of parallel lines by exponential recursion, every direction of a beam at once. Names
// are those of cccs.cuh, the reference is engine/cccs/cpu.
//
// A thread transports a line from the first slab to the last, its state in registers; threads share nothing. Lines of a direction
// traverse the same cells but for an offset, so that a warp does not diverge; layout.cu writes the traversals. A warp begins where
// one of its lines first meets TERMA (else a dose of 10 x 10 takes 40 to 70 % longer), and pauses when its state is negligible (3 %).
//
// High TERMA, above a small fraction of the greatest (layout.cu), is transported along all directions. Low TERMA, smooth and nearly
// everywhere, is transported along fewer (along all a dose takes 1.4 to 2.8 times as long), with coefficients of the nearest angle,
// evaluated less often, and the shortest segments joined (1 to 5 % of a dose each).
//
// Low-density voxels (layout.cu) need the exact loss, which slows all lines: kernels of their own take grids that have them.
//
// Deposits are summed in integers: the sum does not depend on the order, so that equal runs have equal bits.

#include "transport.cuh"

// A state below this, in units of the deposit, is negligible: 384 such lines, each with a tenth deposited in one voxel, are 4e-5 of
// the greatest TERMA.
constexpr float LEAST_TRANSPORTED = 256.0f;
// Warps of a block stand one above the other: they read the same cells at about the same time (3 to 5 % of a dose).
constexpr int STACKED = 4;

// Cell of entry of a thread's line, before its offset.
__device__ inline int first_line(const SlabLayout& layout, int thread)
{
    int lane = thread % LANES;
    WarpPlace first = place_of_warp<STACKED>(layout, thread / LANES);
    return (first.row + lane / WARP_COLUMNS) * layout.pitch + first.column + lane % WARP_COLUMNS;
}

// The first step at or after `from` at which a line of a warp meets TERMA; `layout.slabs` where none does. `number` is the warp's
// first line, `windows` begin at the layout. Each lane tests one slab.
__device__ inline int next_slab_with_terma(const SlabLayout& layout, const LineDirection& direction,
                                           const SlabTraversal* __restrict__ slabs, const unsigned* __restrict__ windows,
                                           int number, int from)
{
    const int plane = layout.plane;
    for (; from < layout.slabs; from += LANES) {
        int step = from + threadIdx.x % LANES;
        unsigned meets = 0u;
        if (step < layout.slabs) {
            const unsigned* of_slab = windows + (direction.backward ? layout.slabs - 1 - step : step) * (plane / LANES);
            const SlabTraversal& slab = slabs[step];
            int first = round_ring(number + slab.first, plane);
            meets = of_slab[first / LANES] >> first % LANES;
#pragma unroll
            for (int n = 1; n < MOST_SEGMENTS; ++n) {
                if (n < slab.segments) {
                    int cell = round_ring(first + slab.next[n - 1], plane);
                    meets |= of_slab[cell / LANES] >> cell % LANES;
                }
            }
        }
        unsigned all = __ballot_sync(ALL_LANES, (meets & 1u) != 0u);
        if (all != 0u) {
            return from + __ffs(all) - 1;
        }
    }
    return layout.slabs;
}

// A line's transport state and its present kernel coefficients.
struct Line {
    TransportState state;
    LineCoefficients coefficients;
    int until; // the step until which they hold
    float mix; // the primary's mix at which they were evaluated
};

// Coefficients are evaluated again where the share of the deep channel differs by more than this.
constexpr float MIX_KEPT = 0.02f;

// Evaluates the coefficients of lines that enter a slab by a cell, at the middle of the steps for which they hold.
template <bool LOW_TERMA>
__device__ inline void find_coefficients(Line& line, const SlabLayout& layout, const LineDirection& direction,
                                         const SlabTraversal& slab, const Coefficients* __restrict__ table,
                                         const Mix& own, int entry, const Scale& scale)
{
    int row = __umulhi(entry, layout.rows_of_cells);
    const float ray[3] = {fmaf((float)(entry - row * layout.pitch), layout.spacing_mm[0], slab.ray[0]),
                          fmaf((float)row, layout.spacing_mm[1], slab.ray[1]), slab.ray[2]};
    float along = 0.0f, square = 0.0f;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        along = fmaf(ray[axis], direction.axis[axis], along);
        square = fmaf(ray[axis], ray[axis], square);
    }
    float steps = steps_of(along * rsqrtf(fmaxf(square, 1e-12f)));
    bool known = has_mix(own);
    Mix mix = {known ? own.primary : 0.0f, known ? own.scatter : 0.0f};
    line.coefficients = mixed_coefficients<LOW_TERMA>(table, steps, mix, __fdividef(direction.weight, unit_of(scale)));
    line.until = known ? slab.until : 0;
    line.mix = mix.primary;
}

// Transport through a slab without TERMA.
__device__ inline void decay_slab(TransportState& state, const SlabTraversal& slab, const unsigned cell[MOST_SEGMENTS],
                                  const float here[MOST_SEGMENTS], int* __restrict__ deposit_list)
{
#pragma unroll
    for (int n = 0; n < MOST_SEGMENTS; ++n) {
        if (n > 0 && n >= slab.segments) {
            break;
        }
        float deposited = decay(state, here[n] * slab.exponent[n]);
        atomicAdd(deposit_list + cell[n], __float2int_rn(deposited));
    }
}

// Transport of a warp's lines of a direction (blockIdx.y). LOW_DENSITY: the grid has low-density voxels.
template <bool LOW_TERMA, bool LOW_DENSITY>
__device__ inline void transport(const SlabLayout* __restrict__ layouts, const int most_slabs,
                                 const LineDirection* __restrict__ directions, const SlabTraversal* __restrict__ slab_list,
                                 const unsigned* __restrict__ window_list, const Coefficients* __restrict__ table,
                                 const float* __restrict__ density_list, const CellTerma* __restrict__ terma_list,
                                 const Scale* __restrict__ scale, int* __restrict__ deposit_list)
{
    const LineDirection& direction = directions[blockIdx.y];
    const SlabLayout& layout = layouts[direction.layout];
    const int slabs = layout.slabs, plane = layout.plane;
    const float unit = unit_of(*scale);
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= plane || !(unit > 0.0f)) {
        return;
    }
    const int number = first_line(layout, thread);
    const SlabTraversal* traversals = slab_list + blockIdx.y * most_slabs;
    const unsigned* windows = window_list + layout.first_cell / LANES;
    // The slab at which lines enter, and the step to the next.
    const int first_slab = direction.backward ? slabs - 1 : 0, next_slab = direction.backward ? -1 : 1;
    const unsigned first_cell = layout.first_cell + first_slab * plane, next_cell = next_slab * plane;
    Line line = {};
    for (int step = next_slab_with_terma(layout, direction, traversals, windows, __shfl_sync(ALL_LANES, number, 0), 0);
         step < slabs; step = next_slab_with_terma(layout, direction, traversals, windows, __shfl_sync(ALL_LANES, number, 0),
                                                   step)) {
        const SlabTraversal* traversal = traversals + step;
        unsigned slab_cell = first_cell + step * next_cell;
        do {
            const SlabTraversal slab = *traversal;
            int first = round_ring(number + slab.first, plane);
            unsigned cell[MOST_SEGMENTS];
            float here[MOST_SEGMENTS];
#pragma unroll
            for (int n = 0; n < MOST_SEGMENTS; ++n) {
                cell[n] = slab_cell + (n == 0 ? first : round_ring(first + slab.next[n == 0 ? 0 : n - 1], plane));
                here[n] = n == 0 || n < slab.segments ? __ldg(density_list + cell[n]) : 0.0f;
            }
            // TERMA of the first cell is prefetched beside its density where the last slab had some (2 to 3 % of a dose).
            const CellTerma nothing = {0.0f, 0.0f, {NO_MIX, NO_MIX}};
            const bool expected = line.until > 0;
            CellTerma early = nothing;
            if (expected) {
                early = terma_list[cell[0]];
            }
            if (any_lane(has_entry(fminf(fminf(here[0], here[1]), here[2])))) {
#pragma unroll
                for (int n = 0; n < MOST_SEGMENTS; ++n) {
                    if (n > 0 && n >= slab.segments) {
                        break;
                    }
                    // The others have no entry.
                    CellTerma terma = nothing;
                    if (has_entry(here[n])) {
                        terma = n == 0 && expected ? early : terma_list[cell[n]];
                    }
                    bool kept_for = step < line.until && (LOW_TERMA || fabsf(terma.mix.primary - line.mix) <= MIX_KEPT);
                    bool low_density = false;
                    if (any_lane(has_entry(here[n]) && (!kept_for || (LOW_DENSITY && is_low_density(terma))))) {
                        if (LOW_DENSITY) {
                            low_density = any_lane(is_low_density(terma));
                            terma.scatter = scatter_of(terma);
                        }
                        if (!LOW_DENSITY || any_lane(has_mix(terma.mix) && !kept_for)) {
                            // Behind a wall the line re-enters without energy.
                            int entry = (is_wall(here[0]) ? cell[n] : cell[0]) - slab_cell;
                            // `*traversal` is read again: its rarely used fields stay out of registers.
                            find_coefficients<LOW_TERMA>(line, layout, direction, *traversal, table, terma.mix, entry, *scale);
                        }
                    }
                    line.until = is_wall(here[n]) ? 0 : line.until;
                    float exponent = density_of(here[n]) * slab.exponent[n];
                    float deposited = low_density ? transport_low_density(line.state, exponent, terma, line.coefficients)
                                                  : transport_voxel(line.state, exponent, terma, line.coefficients);
                    atomicAdd(deposit_list + cell[n], __float2int_rn(deposited));
                }
            } else {
                line.until = 0;
                decay_slab(line.state, slab, cell, here, deposit_list);
            }
            step += 1;
            traversal += 1;
            slab_cell += next_cell;
        } while (step < slabs && any_lane(line.state.sum > LEAST_TRANSPORTED));
    }
}

#define CCCS_KERNEL(name, low_terma, low_density)                                                                                  \
    extern "C" __global__ void __launch_bounds__(128, 9)                                                                           \
    name(const SlabLayout* __restrict__ layouts, const int most_slabs, const LineDirection* __restrict__ directions,               \
         const SlabTraversal* __restrict__ slabs, const unsigned* __restrict__ windows, const Coefficients* __restrict__ table,    \
         const float* __restrict__ density, const CellTerma* __restrict__ terma, const Scale* __restrict__ scale,                  \
         int* __restrict__ deposit)                                                                                                \
    {                                                                                                                              \
        transport<low_terma, low_density>(layouts, most_slabs, directions, slabs, windows, table, density, terma, scale, deposit); \
    }

CCCS_KERNEL(cccs_high_terma, false, false)
CCCS_KERNEL(cccs_low_terma, true, false)
CCCS_KERNEL(cccs_high_terma_low_density, false, true)
CCCS_KERNEL(cccs_low_terma_low_density, true, true)
