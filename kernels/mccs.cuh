// Shared by the kernels of Monte Carlo convolution/superposition: tables of `engine/mccs/tables.rs`, field for field.

#pragma once

#include "even_walk.cuh"
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
