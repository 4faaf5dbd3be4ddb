// Shared by the kernels of Monte Carlo convolution/superposition: tables of `engine/mccs/tables.rs`, field for field,
// random numbers, and the walk of an even lattice (`geometry/walk/even.rs`).

#pragma once

constexpr int CONES = 48;
constexpr int NODES = 129;
constexpr float LAST_CM = 60.0f;
constexpr int RADII = 81;
constexpr float RADIUS_STEP_MM = 5.0f;
constexpr int CLASSES = 16;
constexpr unsigned ELECTRON = 1u;
constexpr unsigned FAR_ONE_IN = 6u;
constexpr int MOST_DIRECTIONS = 24;
constexpr int HEAD_THREADS = 128;
constexpr float TAU = 6.28318530717958648f;
constexpr float PI = 3.14159265358979324f;

// Places in a history's numbers (engine/mccs/cpu/head.rs).
constexpr unsigned PLACE_HEAD = 0u, PLACE_SOURCE = 1u, PLACE_PATIENT = 2u, PLACE_RAYS = 3u;

struct Group {
    float until, energy;
    unsigned kind, head, cells_at, cells, cones_at, rows_at, softening_at;
    float near_cm;
    float mu[CLASSES];
};

struct Head {
    float sad_mm, focal_sigma_mm[2], jaw_distance_mm[2], jaw_transmission;
    float extra_share, extra_distance_mm, extra_sigma_mm;
    unsigned horn_at;
    float leaf_distance_mm, leaf_thickness_mm, leaf_radius_mm, leaf_transmission, interleaf_transmission, tongue_mm;
};

struct BeamPosition {
    float source_cm[3], axes[3][3], corner_mm[2], cell_mm[2];
    unsigned columns, first_cell, first_electron_cell, segments_at, segments, boundaries_at, pairs, along_y, map_at, map_columns;
    float map_first_mm, map_step_mm;
};

struct Cell {
    float keep;
    unsigned other, beam_position;
    float weight, extra;
};

struct Segment {
    float until, jaws_from_mm[4], jaws_to_mm[4];
    unsigned tips_at;
};

// Tables of a run (engine/mccs/cuda/work.rs).
struct Tables {
    const unsigned* voxels;
    const Group* groups;
    const Head* heads;
    const BeamPosition* beam_positions;
    const Segment* segments;
    const Cell* cells;
    const float *horns, *tips_mm, *leaf_boundaries_mm, *map_values, *cones, *rows, *softening;
    int size[3];
    float per_cm[3]; // voxels
    unsigned group_count, directions, paper;
    unsigned seed[2];
};

// A direction of deposition.
struct __align__(16) Ray {
    float from[3]; // voxels
    float energy;  // quanta; 0: there is none
    float direction[3];
    unsigned packed; // group, cone of its kernel, factor on its energy beyond the near radius
};
__device__ inline unsigned packed_ray(unsigned group, unsigned cone, unsigned far) { return group << 16 | cone << 8 | far; }
__device__ inline unsigned group_of(const Ray& ray) { return ray.packed >> 16; }
__device__ inline unsigned cone_of(const Ray& ray) { return ray.packed >> 8 & 0xffu; }
__device__ inline float far_factor_of(const Ray& ray) { return (float)(ray.packed & 0xffu); }

// A voxel's density with its material class in the lowest four bits (PackedVoxel of engine/mccs/tables.rs).
__device__ inline float density_of(unsigned voxel) { return __uint_as_float(voxel); }
__device__ inline unsigned class_of(unsigned voxel) { return voxel & 0xfu; }

// Philox4x32-10 (engine/histories/philox.rs).
__device__ inline uint4 philox(uint4 counter, unsigned key0, unsigned key1)
{
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        unsigned high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(high1 ^ counter.y ^ key0, low1, high0 ^ counter.w ^ key1, low0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

struct Stream {
    unsigned key0, key1, low, high;

    __device__ uint4 words(unsigned place) const { return philox(make_uint4(low, high, place, 0u), key0, key1); }
};

__device__ inline float unit(unsigned word) { return ((float)(word >> 9) + 0.5f) * (1.0f / 8388608.0f); }

__device__ inline unsigned word_of(uint4 words, unsigned k)
{
    return k == 0u ? words.x : k == 1u ? words.y : k == 2u ? words.z : words.w;
}

constexpr float SLOWEST = 1e-9f;

// The walk of an even lattice, in voxels and cm (geometry/walk/even.rs).
struct EvenWalk {
    float from[3], inverse[3], plane[3], step[3], next[3];
    int voxel, stride[3];
    float at, end;

    __device__ EvenWalk(const int size[3], const float begin[3], const float direction[3])
    {
        int strides[3] = {1, size[0], size[0] * size[1]};
        voxel = 0;
        at = 0.0f;
        end = __int_as_float(0x7f800000);
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            from[a] = begin[a];
            float speed = fabsf(direction[a]) < SLOWEST ? SLOWEST : direction[a];
            inverse[a] = 1.0f / speed;
            float last = (float)size[a];
            float here = fminf(fmaxf(floorf(begin[a]), 0.0f), last - 1.0f);
            voxel += (int)here * strides[a];
            bool up = speed > 0.0f;
            plane[a] = up ? here + 1.0f : here;
            step[a] = up ? 1.0f : -1.0f;
            stride[a] = up ? strides[a] : -strides[a];
            next[a] = (plane[a] - begin[a]) * inverse[a];
            end = fminf(end, ((up ? last : 0.0f) - begin[a]) * inverse[a]);
        }
    }

    // Passes the voxel it is in: its index and the path in it, cm; false once outside.
    __device__ bool pass(int& passed, float& cm)
    {
        if (at >= end) {
            return false;
        }
        bool x = next[0] < next[1] && next[0] < next[2];
        bool y = !(next[0] < next[1]) && next[1] < next[2];
        float crossing = x ? next[0] : y ? next[1] : next[2];
        passed = voxel;
        cm = crossing - at;
        at = crossing;
        if (x) {
            voxel += stride[0];
            plane[0] += step[0];
            next[0] = (plane[0] - from[0]) * inverse[0];
        } else if (y) {
            voxel += stride[1];
            plane[1] += step[1];
            next[1] = (plane[1] - from[1]) * inverse[1];
        } else {
            voxel += stride[2];
            plane[2] += step[2];
            next[2] = (plane[2] - from[2]) * inverse[2];
        }
        return true;
    }
};

// Where a line is within the lattice (even.rs, `within`).
__device__ inline bool within(const int size[3], const float from[3], const float direction[3], float& begin)
{
    begin = 0.0f;
    float end = __int_as_float(0x7f800000);
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        float speed = fabsf(direction[a]) < SLOWEST ? SLOWEST : direction[a];
        float low = (0.0f - from[a]) / speed;
        float high = ((float)size[a] - from[a]) / speed;
        begin = fmaxf(begin, fminf(low, high));
        end = fminf(end, fmaxf(low, high));
    }
    return begin < end;
}

// Sums over batches, by voxel: of quanta, and of their squares in two words. Whole numbers: the sums do not depend on
// the order of batches or on the card that ran them.
struct Sums {
    unsigned long long *quanta, *squares, *squares_high;
};

// Adds to the sums of a voxel.
__device__ inline void add(const Sums& sums, int i, unsigned long long quanta, unsigned long long square, unsigned long long square_high)
{
    sums.quanta[i] += quanta;
    unsigned long long low = sums.squares[i] + square;
    sums.squares[i] = low;
    square_high += low < square ? 1ull : 0ull;
    // Rare: a batch mostly deposits under 2^32 quanta in a voxel.
    if (square_high != 0ull) {
        sums.squares_high[i] += square_high;
    }
}
