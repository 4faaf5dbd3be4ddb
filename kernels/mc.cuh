// Shared by the kernels of Monte Carlo with electrons: tables of src/transport/tables, particles in queues, random numbers and
// geometry. src/transport is the same on the CPU, name for name, in double precision.

#pragma once

#include "even_walk.cuh"
#include "head.cuh"

constexpr int MC_CLASSES = 16;
constexpr float PI = 3.14159265358979324f;
constexpr float QUANTA_PER_MEV = 1048576.0f; // transport/energy.rs
constexpr float QUANTUM_MEV = 1.0f / QUANTA_PER_MEV;
constexpr unsigned REST_QUANTA = 535821u; // the rest energy of the electron
constexpr float MASS_MEV = 0.51099895f;
constexpr int CHARGED_NODES = 353;
constexpr int PHOTON_NODES = 385;
constexpr int COMPTON_ROWS = 97;
constexpr int COMPTON_COLUMNS = 257;
constexpr int RAYLEIGH_ENTRIES = 186;
constexpr int BREMSSTRAHLUNG_ROWS = 45;
constexpr int BREMSSTRAHLUNG_COLUMNS = 33;
constexpr int ANGLE_ENERGIES = 25;
constexpr int ANGLE_PATHS = 28;
constexpr int ANGLE_NODES = 65;
constexpr float WEIGHT_UNITS = 16.0f; // engine/mc/simulation.rs
constexpr float LEAST_WEIGHT = 4.0f;
constexpr int ROW_NODES = 129;                            // engine/histories/contaminant.rs
constexpr float ROW_LAST_CM = 60.0f;
constexpr unsigned ELECTRON_CHARGE = 0u, POSITRON_CHARGE = 1u;
constexpr unsigned WATER = 3u; // class of src/physics/material.rs

// A voxel's density with its material class in the lowest four bits and whether it is near gas in the fifth (transport/world.rs, Matter).
__device__ inline float density_of(unsigned voxel) { return __uint_as_float(voxel & ~0x1fu); }
__device__ inline unsigned class_of(unsigned voxel) { return voxel & 0xfu; }
__device__ inline bool is_near_gas(unsigned voxel) { return (voxel & 0x10u) != 0u; }

// Tables of all materials, a block for each class of src/physics/material.rs.
struct McTables {
    const float4* charged; // [class][charge][node]: soft stopping power, first transport cross section, bremsstrahlung, ln T
    const float4* photon;  // [class][node]: attenuation, shares of Compton, with pairs, with photoelectric
    const float *compton, *rayleigh, *bremsstrahlung, *angles, *bends;
    const float* majorant_per_cm; // [light, all matter][node of photon]
    float collision_bound_cm2_g[MC_CLASSES][2];
    float collision_cm2_mev_g[MC_CLASSES]; // 2 pi re^2 m NA Z/A
};

// What went wrong, and how far a launch and its queues are.
struct McCounters {
    unsigned lost, stuck;
};

// Blocks of voxels, each with the box in which its majorant holds (transport/majorants.rs); no boxes where one majorant holds throughout.
struct McBlocks {
    const uint2* boxes; // bytes: low x, y, z, whether heavy; high x, y, z
    int shape[3], edge[3];
    float per_cm[3];
};

// A run (engine/mc/cuda.rs).
struct McRun {
    HeadTables head;
    McTables tables;
    McBlocks blocks;
    const unsigned* voxels;
    const float* electron_rows;
    const unsigned* electron_row_at;
    unsigned long long* quanta;
    McCounters* counters;
    int size[3];
    float spacing_cm[3], per_cm[3];
    unsigned cut_off, gas_cut_off, photon_cut_off; // quanta
    float electron_threshold_mev, photon_threshold_mev, step_loss;
    unsigned splitting, to_water;
};

// Particles in wait, 48 bytes each.
struct McQueue {
    uint4* entries;
    unsigned* count;
    unsigned capacity;
};

struct McParticle {
    float position_cm[3], direction[3];
    unsigned quanta, weight, charge;
    unsigned key[2];
};

// Random numbers of a particle, four at a time (transport/draws.rs).
struct Draws {
    unsigned key0, key1, block;

    __device__ uint4 words()
    {
        uint4 drawn = philox<7>(make_uint4(block, 0u, 0u, 0u), key0, key1);
        block += 1u;
        return drawn;
    }
};

// Uniform in (0, 1), both ends excluded.
__device__ inline float uniform(unsigned word) { return ((float)(word >> 8) + 0.5f) * (1.0f / 16777216.0f); }

__device__ inline unsigned quanta_of(float mev) { return (unsigned)__float2uint_rn(fmaxf(mev, 0.0f) * QUANTA_PER_MEV); }
__device__ inline float mev_of(unsigned quanta) { return (float)quanta * QUANTUM_MEV; }

__device__ inline void put(const McRun& run, const McQueue& queue, unsigned slot, const McParticle& p)
{
    if (slot >= queue.capacity) {
        atomicAdd(&run.counters->lost, 1u);
        return;
    }
    uint4* entry = queue.entries + 3ull * slot;
    entry[0] = make_uint4(__float_as_uint(p.position_cm[0]), __float_as_uint(p.position_cm[1]), __float_as_uint(p.position_cm[2]),
                          p.quanta);
    entry[1] = make_uint4(__float_as_uint(p.direction[0]), __float_as_uint(p.direction[1]), __float_as_uint(p.direction[2]),
                          p.weight);
    entry[2] = make_uint4(p.key[0], p.key[1], p.charge, 0u);
}

// Puts particles of the active lanes into a queue.
__device__ inline void push(const McRun& run, const McQueue& queue, const McParticle& p)
{
    unsigned mask = __activemask();
    unsigned lane = threadIdx.x & 31u;
    int leader = __ffs((int)mask) - 1;
    unsigned first = 0u;
    if ((int)lane == leader) {
        first = atomicAdd(queue.count, (unsigned)__popc(mask));
    }
    put(run, queue, __shfl_sync(mask, first, leader) + (unsigned)__popc(mask & ((1u << lane) - 1u)), p);
}

// Places of a queue, or particles that wait in one, that a warp has to itself: one atomic addition for each run of them, since all
// warps add to the same counter.
struct WarpRun {
    unsigned next, end;
};
constexpr unsigned WARP_RUN = 64u;

// Each lane of `lanes` gets the next number of a run; all lanes of the warp call it. What is left of a run comes first.
__device__ inline unsigned next_of(WarpRun& run, unsigned* counter, unsigned lanes)
{
    unsigned lane = threadIdx.x & 31u;
    unsigned count = (unsigned)__popc(lanes), left = run.end - run.next, rank = (unsigned)__popc(lanes & ((1u << lane) - 1u));
    if (left >= count) {
        unsigned number = run.next + rank;
        run.next += count;
        return number;
    }
    unsigned first = 0u;
    if (lane == 0u) {
        first = atomicAdd(counter, WARP_RUN);
    }
    first = __shfl_sync(0xffffffffu, first, 0);
    unsigned number = rank < left ? run.next + rank : first + (rank - left);
    run.next = first + (count - left);
    run.end = first + WARP_RUN;
    return number;
}

// Marks the places that a warp has not used as empty: their particles weigh nothing.
__device__ inline void leave_empty(const McQueue& queue, const WarpRun& places)
{
    for (unsigned slot = places.next + (threadIdx.x & 31u); slot < min(places.end, queue.capacity); slot += 32u) {
        queue.entries[3ull * slot + 1ull].w = 0u;
    }
}

__device__ inline McParticle taken(const McQueue& queue, unsigned slot)
{
    const uint4* entry = queue.entries + 3ull * slot;
    uint4 a = entry[0], b = entry[1], c = entry[2];
    McParticle p = {{__uint_as_float(a.x), __uint_as_float(a.y), __uint_as_float(a.z)},
                    {__uint_as_float(b.x), __uint_as_float(b.y), __uint_as_float(b.z)},
                    a.w,
                    b.w,
                    c.z,
                    {c.x, c.y}};
    return p;
}

// Places in use of a queue, of which some may be empty: threads may have counted beyond its end.
__device__ inline unsigned waiting(const McQueue& queue) { return min(*queue.count, queue.capacity); }

__device__ inline void deposit(const McRun& run, int voxel, unsigned long long quanta)
{
    if (quanta != 0ull) {
        atomicAdd(run.quanta + voxel, quanta);
    }
}

// Voxel of a point, its cell in `cell`; -1 outside.
__device__ inline int voxel_of(const McRun& run, const float position_cm[3], int cell[3])
{
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        float place = floorf(position_cm[a] * run.per_cm[a]);
        if (!(place >= 0.0f && place < (float)run.size[a])) {
            return -1;
        }
        cell[a] = (int)place;
    }
    return (cell[2] * run.size[1] + cell[1]) * run.size[0] + cell[0];
}

// A direction turned by a polar angle and an azimuth from 0 to 2 pi (transport/rotation.rs; basis: Duff et al., JCGT 6(1), 2017).
__device__ inline void deflect(float direction[3], float one_minus_cos, float azimuth)
{
    float x = direction[0], y = direction[1], z = direction[2];
    float sign = copysignf(1.0f, z);
    float a = __fdividef(-1.0f, sign + z);
    float b = x * y * a;
    float u[3] = {1.0f + sign * x * x * a, sign * b, -sign * x};
    float v[3] = {b, sign + y * y * a, -y};
    float sine = sqrtf(fmaxf(one_minus_cos * (2.0f - one_minus_cos), 0.0f));
    float s, c;
    __sincosf(azimuth - PI, &s, &c);
    float length2 = 0.0f;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        // By the angle less pi, near which the fast sine and cosine are exact to 2^-21.
        direction[i] = direction[i] * (1.0f - one_minus_cos) - sine * (c * u[i] + s * v[i]);
        length2 += direction[i] * direction[i];
    }
    float scale = rsqrtf(length2);
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        direction[i] *= scale;
    }
}

// The azimuth half a turn on.
__device__ inline float opposite(float azimuth) { return azimuth < PI ? azimuth + PI : azimuth - PI; }

// Two uniforms of 16 bits each, of one word (transport/draws.rs).
__device__ inline float2 lots(unsigned word)
{
    return make_float2(((float)(word >> 16) + 0.5f) * (1.0f / 65536.0f), ((float)(word & 0xffffu) + 0.5f) * (1.0f / 65536.0f));
}

// Node below a value on a grid by the bits of a float, and the fraction of the way to the next (transport/tables/bit_grid.rs).
template <int LEAST_EXPONENT, int LOG2_PER_OCTAVE, int NODES>
__device__ inline int place(float value, float& fraction)
{
    constexpr int SHIFT = 23 - LOG2_PER_OCTAVE;
    int steps = max(__float_as_int(value) - ((127 + LEAST_EXPONENT) << 23), 0);
    int node = steps >> SHIFT;
    if (node > NODES - 2) {
        fraction = 1.0f;
        return NODES - 2;
    }
    fraction = (float)(steps & ((1 << SHIFT) - 1)) * (1.0f / (float)(1 << SHIFT));
    return node;
}

__device__ inline float between(float low, float high, float fraction) { return low + fraction * (high - low); }

__device__ inline float4 between(float4 low, float4 high, float fraction)
{
    return make_float4(between(low.x, high.x, fraction), between(low.y, high.y, fraction), between(low.z, high.z, fraction),
                       between(low.w, high.w, fraction));
}

// Row of charged particles at an energy.
__device__ inline float4 charged_at(const McRun& run, unsigned material, unsigned charge, float mev)
{
    float fraction;
    int node = place<-6, 5, CHARGED_NODES>(mev, fraction);
    const float4* rows = run.tables.charged + (material * 2u + charge) * CHARGED_NODES + node;
    return between(__ldg(rows), __ldg(rows + 1), fraction);
}

// Restricted stopping power, MeV cm2/g.
__device__ inline float soft_loss(const McRun& run, unsigned material, unsigned charge, float mev)
{
    float fraction;
    int node = place<-6, 5, CHARGED_NODES>(mev, fraction);
    const float* rows = (const float*)(run.tables.charged + (material * 2u + charge) * CHARGED_NODES + node);
    return between(__ldg(rows), __ldg(rows + 4), fraction);
}

// Quanta of a deposit as they are scored: to water by the ratio of stopping powers (engine/mc/cpu.rs).
__device__ inline unsigned scored(const McRun& run, unsigned material, unsigned charge, float middle_mev, unsigned quanta)
{
    if (run.to_water == 0u || material == WATER) {
        return quanta;
    }
    float ratio = soft_loss(run, WATER, charge, middle_mev) / soft_loss(run, material, charge, middle_mev);
    return __float2uint_rn((float)quanta * ratio);
}
