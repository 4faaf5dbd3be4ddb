// Collapsed cone: energy carried along lattices of parallel lines by exponential recursion, every direction of a beam
// at once. See cccs.cuh for the names, engine/cpu/cccs for the reference.
//
// A thread carries a line from the first slab to the last, its state in registers; nothing is shared between threads. Which
// cells lines pass is the same for all of a direction but for whole cells, so that a warp takes every turn together;
// layout.cu writes the turns down once. A warp begins where one of its lines first meets a voxel that releases, and rests again
// when they carry nothing.
//
// The release comes in two parts (layout.cu): what is bright, above a small part of the greatest release, goes along all
// directions; the faint rest, smooth and nearly everywhere, along few, by angles that are found seldom, and past the
// shortest pieces of their way.
//
// Where voxels are thin (layout.cu), other kernels go through them with more care than the rest needs, which takes longer for all.
//
// What stays in a voxel is added up in integers, so that the sum does not depend on the order: equal runs are equal to
// the bit.

#include "carry.cuh"

// A line that cannot leave more than this, in units of the sum, carries nothing: 384 of them at once, a tenth of it in a voxel, would
// be 4e-5 of the greatest release.
constexpr float LEAST_CARRIED = 256.0f;
// Fast terms that carry less, in units of the sum and for water, leave it where they are.
constexpr float LEAST_FAST = 512.0f;
// Warps one above the other in a block: they meet the same cells at about the same time.
constexpr int STACKED = 4;

// The cell of the ring by which a thread's line comes in, before it is moved on.
__device__ inline int first_line(const March& march, int thread)
{
    int lane = thread % LANES;
    WarpPlace first = place_of_warp<STACKED>(march, thread / LANES);
    return (first.row + lane / WARP_COLUMNS) * march.pitch + first.column + lane % WARP_COLUMNS;
}

// The first step from one on at which a line of a warp meets a voxel that releases; `march.slabs` where none does. `number` is that
// of the warp's first line, `windows` begin at the layout. Every lane looks at a slab of its own.
__device__ inline int next_meeting(const March& march, const Heading& heading, const Slab* __restrict__ slabs,
                                   const unsigned* __restrict__ windows, int number, int from)
{
    const int plane = march.plane;
    for (; from < march.slabs; from += LANES) {
        int step = from + threadIdx.x % LANES;
        unsigned meets = 0u;
        if (step < march.slabs) {
            const unsigned* of_slab = windows + (heading.backward ? march.slabs - 1 - step : step) * (plane / LANES);
            const Slab& slab = slabs[step];
            int first = round_ring(number + slab.first, plane);
            meets = of_slab[first / LANES] >> first % LANES;
#pragma unroll
            for (int n = 1; n < MOST_VISITS; ++n) {
                if (n < slab.visits) {
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
    return march.slabs;
}

// Lines on their way, and what is sent along them where they are.
struct Lines {
    Line line;
    Sends sends;
    int until; // the step until which it is kept
    float mix; // of the primary, that it was found with
};

// For which voxels what is sent is kept: those with as much more or less of the deep channel are another matter.
constexpr float MIX_KEPT = 0.02f;

// Finds what is sent along lines that come into a slab by a cell, in the middle of the steps for which it is kept.
template <bool FAINT>
__device__ inline void find_sends(Lines& lines, const March& march, const Heading& heading, const Slab& slab,
                                  const Coefficients* __restrict__ table, const float* __restrict__ density_list,
                                  const Source* __restrict__ source_list, const Mix& own, int entry, const Scale& scale)
{
    int row = __umulhi(entry, march.rows_of_cells);
    const float ray[3] = {fmaf((float)(entry - row * march.pitch), march.spacing_mm[0], slab.ray[0]),
                          fmaf((float)row, march.spacing_mm[1], slab.ray[1]), slab.ray[2]};
    float along = 0.0f, square = 0.0f;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        along = fmaf(ray[axis], heading.direction[axis], along);
        square = fmaf(ray[axis], ray[axis], square);
    }
    float steps = steps_of(along * rsqrtf(fmaxf(square, 1e-12f)));
    bool known = has_mix(own);
    Mix mix = {known ? own.primary : 0.0f, known ? own.scatter : 0.0f};
    if (!FAINT) {
        // That of the middle, where it is much the same.
        int far_cell = slab.far_slab + round_ring(entry + slab.far, march.plane);
        if (is_releasing(density_list[far_cell])) {
            Mix far = source_list[far_cell].mix;
            mix = fabsf(far.primary - mix.primary) <= MIX_KEPT ? far : mix;
        }
    }
    lines.sends = mixed<FAINT>(table, steps, mix, __fdividef(heading.weight, unit_of(scale)));
    lines.until = known ? slab.until : 0;
    lines.mix = mix.primary;
}

// Lines through the voxels of a slab, which release nothing, with the first of their terms: the others carry nothing.
template <int END>
__device__ inline void pass(Line& line, const Slab& slab, const unsigned cell[MOST_VISITS], const float here[MOST_VISITS],
                            int* __restrict__ deposit_list)
{
#pragma unroll
    for (int term = END; term < TERMS; ++term) {
        line.state[term] = 0.0f;
    }
#pragma unroll
    for (int n = 0; n < MOST_VISITS; ++n) {
        if (n > 0 && n >= slab.visits) {
            break;
        }
        float stays = decay<END>(line, here[n] * slab.exponent[n]);
        deposit_at(deposit_list + cell[n], __float2int_rn(stays));
    }
}

// A warp's lines of a direction (blockIdx.y). THIN: some voxels are.
template <bool FAINT, bool THIN>
__device__ inline void transport(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
                                 const Slab* __restrict__ slab_list, const unsigned* __restrict__ window_list,
                                 const Coefficients* __restrict__ table, const float* __restrict__ density_list,
                                 const Source* __restrict__ source_list, const Scale* __restrict__ scale,
                                 int* __restrict__ deposit_list)
{
    const Heading& heading = headings[blockIdx.y];
    const March& march = marches[heading.march];
    const int slabs = march.slabs, plane = march.plane;
    const float unit = unit_of(*scale);
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= plane || !(unit > 0.0f)) {
        return;
    }
    const int number = first_line(march, thread);
    const Slab* ways = slab_list + blockIdx.y * most_slabs;
    const unsigned* windows = window_list + march.first_cell / LANES;
    // The first slab that lines come to, and from there on.
    const int first_slab = heading.backward ? slabs - 1 : 0, next_slab = heading.backward ? -1 : 1;
    const unsigned first_cell = march.first_cell + first_slab * plane, next_cell = next_slab * plane;
    Lines lines = {};
    for (int step = next_meeting(march, heading, ways, windows, __shfl_sync(ALL_LANES, number, 0), 0); step < slabs;
         step = next_meeting(march, heading, ways, windows, __shfl_sync(ALL_LANES, number, 0), step)) {
        const Slab* way = ways + step;
        unsigned slab_cell = first_cell + step * next_cell;
        do {
            const Slab slab = *way;
            int first = round_ring(number + slab.first, plane);
            unsigned cell[MOST_VISITS];
            float here[MOST_VISITS];
#pragma unroll
            for (int n = 0; n < MOST_VISITS; ++n) {
                cell[n] = slab_cell + (n == 0 ? first : round_ring(first + slab.next[n == 0 ? 0 : n - 1], plane));
                here[n] = n == 0 || n < slab.visits ? __ldg(density_list + cell[n]) : 0.0f;
            }
            // Where they last released they most likely do: what the first does comes together with its density.
            const Source nothing = {0.0f, 0.0f, {NO_MIX, NO_MIX}};
            const bool expected = lines.until > 0;
            Source early = nothing;
            if (expected) {
                early = source_list[cell[0]];
            }
            if (any_lane(is_releasing(fminf(fminf(here[0], here[1]), here[2])))) {
#pragma unroll
                for (int n = 0; n < MOST_VISITS; ++n) {
                    if (n > 0 && n >= slab.visits) {
                        break;
                    }
                    // Nothing was written down for others.
                    Source source = nothing;
                    if (is_releasing(here[n])) {
                        source = n == 0 && expected ? early : source_list[cell[n]];
                    }
                    bool kept_for = step < lines.until && (FAINT || fabsf(source.mix.primary - lines.mix) <= MIX_KEPT);
                    bool thin = false;
                    if (any_lane(is_releasing(here[n]) && (!kept_for || (THIN && is_thin(source))))) {
                        if (THIN) {
                            thin = any_lane(is_thin(source));
                            source.scatter = scatter_of(source);
                        }
                        if (!THIN || any_lane(has_mix(source.mix) && !kept_for)) {
                            // Behind a wall a line is elsewhere.
                            int entry = (is_wall(here[0]) ? cell[n] : cell[0]) - slab_cell;
                            // Not the slab at hand: what else stands there is read only now.
                            find_sends<FAINT>(lines, march, heading, *way, table, density_list, source_list, source.mix, entry,
                                              *scale);
                        }
                    }
                    lines.until = is_wall(here[n]) ? 0 : lines.until;
                    float exponent = density_of(here[n]) * slab.exponent[n];
                    float stays = thin ? carry_through_thin(lines.line, exponent, source, lines.sends)
                                       : carry(lines.line, exponent, source, lines.sends);
                    deposit_at(deposit_list + cell[n], __float2int_rn(stays));
                }
            } else {
                lines.until = 0;
                // Terms may be negative.
                float fast = 0.0f;
#pragma unroll
                for (int term = FAST_FIRST; term < TERMS; ++term) {
                    fast += fabsf(lines.line.state[term]);
                }
                // In thin matter as much would be a greater dose.
                if (any_lane(fast > LEAST_FAST * here[0])) {
                    pass<TERMS>(lines.line, slab, cell, here, deposit_list);
                } else {
                    pass<FAST_FIRST>(lines.line, slab, cell, here, deposit_list);
                }
            }
            step += 1;
            way += 1;
            slab_cell += next_cell;
        } while (step < slabs && any_lane(lines.line.sum > LEAST_CARRIED));
    }
}

extern "C" __global__ void __launch_bounds__(128, 9)
cccs_bright(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
            const Slab* __restrict__ slabs, const unsigned* __restrict__ windows, const Coefficients* __restrict__ table,
            const float* __restrict__ density, const Source* __restrict__ source,
            const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport<false, false>(marches, most_slabs, headings, slabs, windows, table, density, source, scale, deposit);
}

extern "C" __global__ void __launch_bounds__(128, 9)
cccs_faint(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
           const Slab* __restrict__ slabs, const unsigned* __restrict__ windows, const Coefficients* __restrict__ table,
           const float* __restrict__ density, const Source* __restrict__ source,
           const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport<true, false>(marches, most_slabs, headings, slabs, windows, table, density, source, scale, deposit);
}

extern "C" __global__ void __launch_bounds__(128, 9)
cccs_bright_thin(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
                 const Slab* __restrict__ slabs, const unsigned* __restrict__ windows, const Coefficients* __restrict__ table,
                 const float* __restrict__ density, const Source* __restrict__ source,
                 const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport<false, true>(marches, most_slabs, headings, slabs, windows, table, density, source, scale, deposit);
}

extern "C" __global__ void __launch_bounds__(128, 9)
cccs_faint_thin(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
                const Slab* __restrict__ slabs, const unsigned* __restrict__ windows, const Coefficients* __restrict__ table,
                const float* __restrict__ density, const Source* __restrict__ source,
                const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport<true, true>(marches, most_slabs, headings, slabs, windows, table, density, source, scale, deposit);
}
