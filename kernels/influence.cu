// Influence of beamlets (engine/jobs/influence): the energy per volume that each beamlet's focal fluence leaves at sampled voxels.
// Collapsed cone along the lines of engine/cpu/influence, one thread a line; deposits add up in fixed point, so that runs repeat.

#include "cccs.cuh"

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

// A lit voxel: its padded index, its place in the lattice, and the unit vector from the source to it.
struct LitVoxel {
    unsigned at;
    unsigned place[3];
    float ray[3];
    float none;
};

// A beamlet's share of the fluence in a lit voxel, or a lit voxel and the share of a beamlet there.
struct Share {
    unsigned number;
    float share;
};

// Kernel coefficients at an angle (engine/jobs/cccs/angles.rs).
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
    unsigned shares;   // of all beamlets
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

// A beamlet's share in a voxel, and the voxel's number among the lit ones; 0 outside the tube.
__device__ inline float share_of(unsigned beamlet, int voxel, const unsigned* __restrict__ number_of,
                                 const unsigned* __restrict__ first, const Share* __restrict__ beamlets, unsigned& number)
{
    number = number_of[voxel];
    if (number == NONE) {
        return 0.0f;
    }
    for (unsigned n = first[number]; n < first[number + 1]; ++n) {
        if (beamlets[n].number == beamlet) {
            return beamlets[n].share;
        }
    }
    return 0.0f;
}

// Lists the lines of the chunk's directions (y) that enter a tube in one of its voxels (x).
extern "C" __global__ void __launch_bounds__(128)
influence_entries(const Lattice lattice, const Walk* __restrict__ walks, const Step* __restrict__ steps,
                  const uint2* __restrict__ layers, const LitVoxel* __restrict__ lit, const Share* __restrict__ tubes,
                  const unsigned* __restrict__ beamlet_of, const unsigned* __restrict__ number_of,
                  const unsigned* __restrict__ first, const Share* __restrict__ beamlets, unsigned* __restrict__ count,
                  Entry* __restrict__ entries)
{
    unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= lattice.shares) {
        return;
    }
    const Walk& walk = walks[blockIdx.y];
    const LitVoxel& voxel = lit[tubes[n].number];
    uint2 layer = layers[walk.first_layer + voxel.place[walk.axis]];
    const Step* own = steps + walk.first_step;
    unsigned beamlet = beamlet_of[n];
    for (unsigned step = layer.x; step < layer.y; ++step) {
        int base = (int)voxel.at - own[step].offset;
        unsigned number;
        if (step > 0 && share_of(beamlet, base + own[step - 1].offset, number_of, first, beamlets, number) > 0.0f) {
            continue;
        }
        unsigned at = atomicAdd(count, 1u);
        if (at < lattice.most_entries) {
            entries[at] = {base, (int)step, (int)blockIdx.y, (int)beamlet};
        }
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

// Adds the local correction of each beamlet's lit voxels.
extern "C" __global__ void __launch_bounds__(128)
influence_local(const Lattice lattice, const Share* __restrict__ tubes, const unsigned* __restrict__ beamlet_of,
                const unsigned* __restrict__ first, const Share* __restrict__ local, int* __restrict__ deposit)
{
    // A warp to a share: its lanes take the sampled voxels round the lit one.
    unsigned n = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    if (n >= lattice.shares) {
        return;
    }
    int* column = deposit + (size_t)beamlet_of[n] * lattice.sampled;
    float units = tubes[n].share * lattice.units;
    for (unsigned at = first[tubes[n].number] + lane; at < first[tubes[n].number + 1]; at += LANES) {
        atomicAdd(column + local[at].number, __float2int_rn(local[at].share * units));
    }
}

// What the extra-focal source (0) and electrons (1) add: profiles of columns and of rows of the map at the sampled voxels.
struct Smooth {
    const float* columns[2];
    const float* rows[2];
};

// Energies to Gy, the smooth part added; a beamlet to each y. `places` has the row and the column of each beamlet in the map.
extern "C" __global__ void __launch_bounds__(256)
influence_finish(const Lattice lattice, const int* __restrict__ deposit, const float* __restrict__ gy_per_energy,
                 const uint2* __restrict__ places, const Smooth smooth, float* __restrict__ gy)
{
    unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= lattice.sampled) {
        return;
    }
    size_t at = (size_t)blockIdx.y * lattice.sampled + n;
    float sum = deposit[at] / lattice.units * gy_per_energy[n];
    uint2 place = places[blockIdx.y];
    for (int part = 0; part < 2; ++part) {
        if (smooth.columns[part]) {
            sum += smooth.columns[part][place.y * lattice.sampled + n] * smooth.rows[part][place.x * lattice.sampled + n];
        }
    }
    gy[at] = sum;
}

// Beamlets that a thread of influence_doses adds up: the card is full with a few thousand rows.
constexpr unsigned TOGETHER = 32;

// Parts of the doses of sampled voxels (x) that beamlets of one beam give, TOGETHER beamlets to each y.
extern "C" __global__ void __launch_bounds__(256)
influence_doses(const unsigned rows, const unsigned beamlets, const unsigned first_beamlet, const unsigned first_part,
                const float* __restrict__ gy, const float* __restrict__ fluences, float* __restrict__ parts)
{
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    unsigned first = blockIdx.y * TOGETHER, end = min(first + TOGETHER, beamlets);
    float sum = 0.0f;
#pragma unroll 8
    for (unsigned n = first; n < end; ++n) {
        sum = fmaf(fluences[first_beamlet + n], gy[(size_t)n * rows + row], sum);
    }
    parts[(size_t)(first_part + blockIdx.y) * rows + row] = sum;
}

// Adds all parts up, in their order.
extern "C" __global__ void __launch_bounds__(256)
influence_sum(const unsigned rows, const unsigned parts, const float* __restrict__ of_parts, float* __restrict__ doses)
{
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = doses[row];
    for (unsigned n = 0; n < parts; ++n) {
        sum += of_parts[(size_t)n * rows + row];
    }
    doses[row] = sum;
}

// Products of the columns of a beam (a block each) with a gradient by dose.
extern "C" __global__ void __launch_bounds__(256)
influence_transposed(const unsigned rows, const unsigned first_beamlet, const float* __restrict__ gy,
                     const float* __restrict__ by_dose, float* __restrict__ products)
{
    __shared__ float sums[256];
    const float* column = gy + (size_t)blockIdx.x * rows;
    float sum = 0.0f;
    for (unsigned row = threadIdx.x; row < rows; row += blockDim.x) {
        sum = fmaf(column[row], by_dose[row], sum);
    }
    sums[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        products[first_beamlet + blockIdx.x] = sums[0];
    }
}
