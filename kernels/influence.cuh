// What the kernels of the influence of beamlets share.

#pragma once

// A lit voxel: its padded index, its place in the lattice, and the unit vector from the source to it.
struct LitVoxel {
    unsigned at;
    unsigned place[3];
    float ray[3];
    float none;
};

// A beamlet's share of the fluence in a lit voxel.
struct Share {
    unsigned number;
    float share;
};

// Profiles of one source: of columns, then of rows, each [span][voxel].
struct Profiles {
    float* columns;
    float* rows;
};

// Joins what the threads of a block have, in their order, for all of them.
template <typename Value, typename Join>
__device__ inline Value over_block(Value own, Join join)
{
    __shared__ Value joined[256];
    joined[threadIdx.x] = own;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            joined[threadIdx.x] = join(joined[threadIdx.x], joined[threadIdx.x + half]);
        }
    }
    __syncthreads();
    return joined[0];
}
