// Shared by the kernels of Monte Carlo convolution/superposition: tables of `engine/mccs/tables.rs`, field for field,
// and the walk of an even lattice (`geometry/walk/even.rs`).

#pragma once

#include "head.cuh"

constexpr int CONES = 48;
constexpr int NODES = 129;
constexpr float LAST_CM = 60.0f;
constexpr int CLASSES = 16;
constexpr unsigned FAR_ONE_IN = 6u;
constexpr int MOST_DIRECTIONS = 24;
constexpr int HEAD_THREADS = 128;
constexpr float PI = 3.14159265358979324f;

// Places of a history's directions in its numbers (engine/mccs/cpu/deposit.rs).
constexpr unsigned PLACE_RAYS = ENGINE_PLACES;

// Kernel and attenuation of an energy bin of the head source, of the same number.
struct BinKernel {
    unsigned cones_at, rows_at;
    float near_cm;
    float mu[CLASSES];
};

// Tables of a run (engine/mccs/cuda/work.rs).
struct Tables {
    HeadTables head;
    const unsigned* voxels;
    const BinKernel* kernels;
    const float *cones, *rows;
    int size[3];
    float per_cm[3]; // voxels
    unsigned directions, paper;
};

// A direction of deposition.
struct __align__(16) Ray {
    float from[3]; // voxels
    float energy;  // quanta; 0: there is none
    float direction[3];
    unsigned packed; // energy bin, cone of its kernel, factor on its energy beyond the near radius
};
__device__ inline unsigned packed_ray(unsigned bin, unsigned cone, unsigned far) { return bin << 16 | cone << 8 | far; }
__device__ inline unsigned bin_of(const Ray& ray) { return ray.packed >> 16; }
__device__ inline unsigned cone_of(const Ray& ray) { return ray.packed >> 8 & 0xffu; }
__device__ inline float far_factor_of(const Ray& ray) { return (float)(ray.packed & 0xffu); }

// A voxel's density with its material class in the lowest four bits (PackedVoxel of engine/mccs/tables.rs).
__device__ inline float density_of(unsigned voxel) { return __uint_as_float(voxel); }
__device__ inline unsigned class_of(unsigned voxel) { return voxel & 0xfu; }

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
