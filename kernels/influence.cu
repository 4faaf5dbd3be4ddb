// Influence of beamlets (engine/influence): the energy per volume that each beamlet's focal fluence leaves at sampled voxels.
// Collapsed cone along the lines of engine/influence/cpu, one thread a line; deposits add up in fixed point, so that runs repeat.

#include "correction.cuh"
#include "influence.cuh"

// A segment of all lines of a direction: index of the voxel less that of the line.
struct Step {
    int offset;
    float length_cm;
};

// The walk that all lines of a direction share, as the host declares it, field for field.
struct Walk {
    int first_step;  // of the list of steps
    int steps;
    int first_layer; // of the list of layers
    int axis;        // across which the layers lie
    float direction[3];
    float weight;    // of the deposit
    float least;     // energy of a line that is dropped
    int none;
};

// Kernel coefficients at an angle (engine/cccs/angles.rs).
struct AngleRow {
    float sums[4];
    float primary[TERMS - PRIMARY_FIRST][2];
    float scatter[SCATTER_END][2];
};

// Source term of a lit voxel along a direction, for all of its unobstructed TERMA.
struct __align__(16) SourceTerm {
    float equilibrium[TERMS];
    float sum;
    float none[6];
};

// A line that enters the tube of a beamlet.
struct Entry {
    int base;
    int step;
    int walk;
    int beamlet;
};

// What a launch is about, as the host declares it, field for field.
struct Lattice {
    unsigned lit;
    unsigned sampled;  // voxels
    unsigned most_entries;
    float units;       // of the deposit, to an energy per volume of 1
};

// Source terms of the lit voxels (x) along the directions of a chunk (y).
extern "C" __global__ void __launch_bounds__(128)
influence_terms(const Lattice lattice, const Walk* __restrict__ walks, const LitVoxel* __restrict__ lit,
                const float* __restrict__ terma, const AngleRow* __restrict__ table, SourceTerm* __restrict__ terms)
{
    unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= lattice.lit) {
        return;
    }
    const float* axis = walks[blockIdx.y].direction;
    const float* ray = lit[n].ray;
    float steps = steps_of(axis[0] * ray[0] + axis[1] * ray[1] + axis[2] * ray[2]);
    int row = min((int)steps, ANGLES - 2);
    float part = steps - row;
    const AngleRow &low = table[row], &high = table[row + 1];
    const float* channel = terma + 4 * n;
    SourceTerm out = {};
    for (int c = 0; c < 4; ++c) {
        out.sum += channel[c] * (low.sums[c] + part * (high.sums[c] - low.sums[c]));
    }
    for (int c = 0; c < 2; ++c) {
#pragma unroll
        for (int term = 0; term < TERMS - PRIMARY_FIRST; ++term) {
            float a = low.primary[term][c], b = high.primary[term][c];
            out.equilibrium[PRIMARY_FIRST + term] += channel[c] * (a + part * (b - a));
        }
#pragma unroll
        for (int term = 0; term < SCATTER_END; ++term) {
            float a = low.scatter[term][c], b = high.scatter[term][c];
            out.equilibrium[term] += channel[2 + c] * (a + part * (b - a));
        }
    }
    terms[(size_t)blockIdx.y * lattice.lit + n] = out;
}

constexpr unsigned NONE = 0xffffffffu;

// A beamlet's share in a voxel, whose shares ascend by beamlet, and the voxel's number among the lit ones; 0 outside the tube.
__device__ inline float share_of(unsigned beamlet, int voxel, const unsigned* __restrict__ number_of,
                                 const unsigned* __restrict__ first, const Share* __restrict__ beamlets, unsigned& number)
{
    number = number_of[voxel];
    if (number == NONE) {
        return 0.0f;
    }
    for (unsigned n = first[number]; n < first[number + 1]; ++n) {
        if (beamlets[n].number >= beamlet) {
            return beamlets[n].number == beamlet ? beamlets[n].share : 0.0f;
        }
    }
    return 0.0f;
}

// Calls for each beamlet whose tube a line enters in a voxel: it has no share in the voxel before. Shares ascend by beamlet.
template <typename Each>
__device__ inline void each_entered(uint2 own, unsigned before, const unsigned* __restrict__ first,
                                    const Share* __restrict__ beamlets, Each each)
{
    uint2 past = before == NONE ? make_uint2(0, 0) : make_uint2(first[before], first[before + 1]);
    for (unsigned n = own.x; n < own.y; ++n) {
        unsigned beamlet = beamlets[n].number;
        while (past.x < past.y && beamlets[past.x].number < beamlet) {
            ++past.x;
        }
        if (past.x == past.y || beamlets[past.x].number != beamlet) {
            each(beamlet);
        }
    }
}

// Lists the lines of the chunk's directions (y) that enter tubes in a lit voxel (x). Lines of a voxel follow each other: they pass the
// same voxels.
extern "C" __global__ void __launch_bounds__(128)
influence_entries(const Lattice lattice, const Walk* __restrict__ walks, const Step* __restrict__ steps,
                  const uint2* __restrict__ layers, const LitVoxel* __restrict__ lit, const unsigned* __restrict__ number_of,
                  const unsigned* __restrict__ first, const Share* __restrict__ beamlets, unsigned* __restrict__ count,
                  Entry* __restrict__ entries)
{
    unsigned n = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % LANES;
    const Walk& walk = walks[blockIdx.y];
    const Step* own = steps + walk.first_step;
    int at = 0;
    uint2 layer = {}, shares = {};
    if (n < lattice.lit) {
        at = lit[n].at;
        layer = layers[walk.first_layer + lit[n].place[walk.axis]];
        shares = make_uint2(first[n], first[n + 1]);
    }
    auto before = [&](unsigned step) { return step > 0 ? number_of[at - own[step].offset + own[step - 1].offset] : NONE; };
    unsigned entered = 0;
    for (unsigned step = layer.x; step < layer.y; ++step) {
        each_entered(shares, before(step), first, beamlets, [&](unsigned) { ++entered; });
    }
    // Places of this lane's lines: behind those of the lanes before it, and of all that have listed theirs.
    unsigned to = entered;
    for (unsigned near = 1; near < LANES; near *= 2) {
        unsigned other = __shfl_up_sync(ALL_LANES, to, near);
        to += lane >= near ? other : 0;
    }
    unsigned listed = lane == LANES - 1 ? atomicAdd(count, to) : 0;
    to += __shfl_sync(ALL_LANES, listed, LANES - 1) - entered;
    for (unsigned step = layer.x; step < layer.y; ++step) {
        each_entered(shares, before(step), first, beamlets, [&](unsigned beamlet) {
            if (to < lattice.most_entries) {
                entries[to] = {at - own[step].offset, (int)step, (int)blockIdx.y, (int)beamlet};
            }
            ++to;
        });
    }
}

// Transports the listed lines through their tubes and on to the end of matter.
extern "C" __global__ void __launch_bounds__(128)
influence_lines(const Lattice lattice, const Walk* __restrict__ walks, const Step* __restrict__ steps,
                const SourceTerm* __restrict__ terms, const float* __restrict__ density, const int* __restrict__ row_of,
                const unsigned* __restrict__ number_of, const unsigned* __restrict__ first,
                const Share* __restrict__ beamlets, const unsigned* __restrict__ count, const Entry* __restrict__ entries,
                int* __restrict__ deposit)
{
    unsigned entered = min(*count, lattice.most_entries);
    for (unsigned n = blockIdx.x * blockDim.x + threadIdx.x; n < entered; n += gridDim.x * blockDim.x) {
        const Entry entry = entries[n];
        const Walk& walk = walks[entry.walk];
        const Step* own = steps + walk.first_step;
        const SourceTerm* of_walk = terms + (size_t)entry.walk * lattice.lit;
        int* column = deposit + (size_t)entry.beamlet * lattice.sampled;
        const float units = walk.weight * lattice.units, least = walk.least;
        const int last = walk.steps;
        float state[TERMS] = {};
        bool inside = true;
        for (int step = entry.step; step < last; ++step) {
            int voxel = entry.base + own[step].offset;
            float here = density[voxel];
            if (here < 0.0f) {
                break;
            }
            float x = here * own[step].length_cm * SLOWEST_PER_CM;
            float loss = x * (1.0f - x * 0.5f * (1.0f - x * (1.0f / 3.0f) * (1.0f - x * 0.25f)));
            float deposited = 0.0f, sum = 0.0f;
            unsigned number;
            float share = inside ? share_of(entry.beamlet, voxel, number_of, first, beamlets, number) : 0.0f;
            inside = share > 0.0f;
            if (inside) {
                const SourceTerm source = of_walk[number];
                deposited = share * here * own[step].length_cm * source.sum;
#pragma unroll
                for (int term = 0; term < TERMS; ++term) {
                    float gained = loss * (share * source.equilibrium[term] - state[term]);
                    state[term] += gained;
                    deposited -= gained;
                    // Decay constants double from term to term.
                    loss *= 2.0f - loss;
                }
            } else {
#pragma unroll
                for (int term = 0; term < TERMS; ++term) {
                    float lost = loss * state[term];
                    state[term] -= lost;
                    deposited += lost;
                    sum += state[term];
                    loss *= 2.0f - loss;
                }
                if (sum < least) {
                    break;
                }
            }
            int row = row_of[voxel];
            if (row >= 0) {
                atomicAdd(column + row, __float2int_rn(deposited * units));
            }
        }
    }
}

// Adds the local correction by the stencils of a layout, whose axes are `order` of the lattice: a warp to a lit voxel, its lanes take
// the offsets that receive a share.
extern "C" __global__ void __launch_bounds__(128)
influence_local(const Lattice lattice, const SlabLayout layout, const Correction correction, const int3 order,
                const CorrectionList* __restrict__ list, const float4* __restrict__ table, const LitVoxel* __restrict__ lit,
                const float* __restrict__ terma, const float* __restrict__ density, const int* __restrict__ row_of,
                const unsigned* __restrict__ first, const Share* __restrict__ beamlets, int* __restrict__ deposit)
{
    unsigned n = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    if (n >= lattice.lit) {
        return;
    }
    const LitVoxel& voxel = lit[n];
    const int axes[3] = {order.x, order.y, order.z}, size[3] = {layout.columns, layout.across, layout.slabs};
    float ray[3];
    int place[3];
    for (int axis = 0; axis < 3; ++axis) {
        ray[axis] = voxel.ray[axes[axis]];
        place[axis] = voxel.place[axes[axis]];
    }
    const float4* own = table + (tilt_at(correction, ray) * layout.slabs + place[2]) * CORRECTION_OFFSETS;
    float from = density[voxel.at];
    float primary = from * (terma[4 * n] + terma[4 * n + 1]) * lattice.units;
    int steps = 1;
    for (int i = lane; i < list->ends[CORRECTION_REACH]; i += LANES) {
        while (i >= list->ends[steps]) {
            ++steps;
        }
        const CorrectionEntry& entry = list->entries[i];
        bool inside = true;
        for (int axis = 0; axis < 3; ++axis) {
            inside &= (unsigned)(place[axis] - entry.from[axis]) < (unsigned)size[axis];
        }
        int to = (int)voxel.at - entry.path[0];
        int row = inside ? row_of[to] : -1;
        if (row < 0) {
            continue;
        }
        // Mean density of the path; its ends count half.
        float mean = 0.5f * (density[to] + from);
        for (int step = 1; step < steps; ++step) {
            mean += density[to + entry.path[step]];
        }
        mean = fminf(mean / steps, CORRECTION_DENSEST);
        float4 powers = own[entry.table_row - entry.from[2] * CORRECTION_OFFSETS];
        float energy = density[to] * primary * fmaf(fmaf(powers.z, mean, powers.y), mean, powers.x);
        for (unsigned at = first[n]; at < first[n + 1]; ++at) {
            int share = __float2int_rn(beamlets[at].share * energy);
            if (share != 0) {
                atomicAdd(deposit + (size_t)beamlets[at].number * lattice.sampled + row, share);
            }
        }
    }
}

// What the extra-focal source (0) and electrons (1) add: profiles of columns and of rows of the map at the sampled voxels.
struct Smooth {
    Profiles of[2];
};

// Steps of a column's greatest dose, as in engine/influence/columns.rs.
constexpr float MOST_STEPS = 32767.0f;

// Energies to Gy, the smooth part added, in steps; a beamlet to each block. `places` has the row and the column of each beamlet in
// the map.
extern "C" __global__ void __launch_bounds__(256)
influence_finish(const Lattice lattice, const int* __restrict__ deposit, const float* __restrict__ gy_per_energy,
                 const uint2* __restrict__ places, const Smooth smooth, short* __restrict__ steps,
                 float* __restrict__ gy_per_step)
{
    uint2 place = places[blockIdx.x];
    size_t first = (size_t)blockIdx.x * lattice.sampled;
    auto gy = [&](unsigned n) {
        float sum = deposit[first + n] / lattice.units * gy_per_energy[n];
        for (int part = 0; part < 2; ++part) {
            const Profiles& own = smooth.of[part];
            if (own.columns) {
                sum += own.columns[(size_t)place.y * lattice.sampled + n] * own.rows[(size_t)place.x * lattice.sampled + n];
            }
        }
        return sum;
    };
    float most = 1.17549435e-38f;
    for (unsigned n = threadIdx.x; n < lattice.sampled; n += blockDim.x) {
        most = fmaxf(most, fabsf(gy(n)));
    }
    float step = over_block(most, [](float a, float b) { return fmaxf(a, b); }) / MOST_STEPS;
    for (unsigned n = threadIdx.x; n < lattice.sampled; n += blockDim.x) {
        steps[first + n] = (short)__float2int_rn(gy(n) / step);
    }
    if (threadIdx.x == 0) {
        gy_per_step[blockIdx.x] = step;
    }
}

// Beamlets that a thread of influence_doses adds up: the card is full with a few thousand rows.
constexpr unsigned TOGETHER = 32;

// Parts of the doses of sampled voxels (x): TOGETHER beamlets to each y. `columns` has the steps of each beamlet, `gy` the dose of
// one at its fluence.
extern "C" __global__ void __launch_bounds__(256)
influence_doses(const unsigned rows, const unsigned beamlets, const short* const* __restrict__ columns,
                const float* __restrict__ gy, float* __restrict__ parts)
{
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    unsigned first = blockIdx.y * TOGETHER, end = min(first + TOGETHER, beamlets);
    float sum = 0.0f;
#pragma unroll 8
    for (unsigned n = first; n < end; ++n) {
        sum = fmaf(gy[n], (float)columns[n][row], sum);
    }
    parts[(size_t)blockIdx.y * rows + row] = sum;
}

// Adds all parts up, in their order.
extern "C" __global__ void __launch_bounds__(256)
influence_sum(const unsigned rows, const unsigned parts, const float* __restrict__ of_parts, float* __restrict__ doses)
{
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 8
    for (unsigned n = 0; n < parts; ++n) {
        sum += of_parts[(size_t)n * rows + row];
    }
    doses[row] = sum;
}

// Columns that a block sums up: values by row are read once for all of them.
constexpr unsigned BESIDE = 4;

struct Sums {
    float of[BESIDE];
};

// Sums over the rows of a few columns, a block to each few: `add` puts a row's steps and value to the sum.
template <typename Add>
__device__ inline void sum_columns(const unsigned rows, const unsigned beamlets, const short* const* __restrict__ columns,
                                   const float* __restrict__ by_row, float* __restrict__ sums, Add add)
{
    unsigned first = blockIdx.x * BESIDE;
    const short* own[BESIDE];
    for (unsigned n = 0; n < BESIDE; ++n) {
        own[n] = columns[min(first + n, beamlets - 1)];
    }
    Sums sum = {};
#pragma unroll 4
    for (unsigned row = threadIdx.x; row < rows; row += blockDim.x) {
        float by = by_row[row];
#pragma unroll
        for (unsigned n = 0; n < BESIDE; ++n) {
            sum.of[n] = add((float)own[n][row], by, sum.of[n]);
        }
    }
    sum = over_block(sum, [](Sums a, const Sums& b) {
        for (unsigned n = 0; n < BESIDE; ++n) {
            a.of[n] += b.of[n];
        }
        return a;
    });
    for (unsigned n = 0; threadIdx.x == 0 && n < BESIDE && first + n < beamlets; ++n) {
        sums[first + n] = sum.of[n];
    }
}

// Products of the columns with a gradient by dose.
extern "C" __global__ void __launch_bounds__(256)
influence_transposed(const unsigned rows, const unsigned beamlets, const short* const* __restrict__ columns,
                     const float* __restrict__ by_dose, float* __restrict__ products)
{
    sum_columns(rows, beamlets, columns, by_dose, products, [](float steps, float by, float sum) { return fmaf(steps, by, sum); });
}

// Weighed squares of the columns.
extern "C" __global__ void __launch_bounds__(256)
influence_squares(const unsigned rows, const unsigned beamlets, const short* const* __restrict__ columns,
                  const float* __restrict__ weights, float* __restrict__ squares)
{
    sum_columns(rows, beamlets, columns, weights, squares,
                [](float steps, float weight, float sum) { return fmaf(steps * steps, weight, sum); });
}
