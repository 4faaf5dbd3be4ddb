// What gamma's search is given where it does not find it as it goes: cells, the list of points, the points sorted by dose difference. A
// part of gamma.cu.

#pragma once

#include "gamma_search.cuh"

#define BINS 256

// What the search reads of cells, by itself.
extern "C" __global__ void __launch_bounds__(128)
gamma_cells(const float* __restrict__ values, int size_x, int size_y, int size_z, int flat, float4* __restrict__ quads,
            float2* __restrict__ range)
{
    int size[3] = {size_x, size_y, size_z};
    if (flat) {
        make_cells<true>(size, values, blockIdx.x, quads, range);
    } else {
        make_cells<false>(size, values, blockIdx.x, quads, range);
    }
}

// The voxels that reach the threshold, closed up; those of a block of 1024 stay together. Gamma of the others is set to say so.
extern "C" __global__ void __launch_bounds__(256)
gamma_list(const float* __restrict__ reference, int voxels, float threshold, unsigned* __restrict__ list, int* __restrict__ count,
           float* __restrict__ gamma)
{
    __shared__ int of_warp[8];
    __shared__ int base;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int begin = blockIdx.x * 1024 + warp * 128;
    unsigned found[4];
    int mine = 0;
    for (int part = 0; part < 4; ++part) {
        int voxel = begin + part * 32 + lane;
        bool wanted = voxel < voxels && reference[voxel] >= threshold;
        if (voxel < voxels && !wanted) {
            gamma[voxel] = __int_as_float(LEFT_OUT);
        }
        found[part] = __ballot_sync(0xffffffffu, wanted);
        mine += __popc(found[part]);
    }
    if (lane == 0) {
        of_warp[warp] = mine;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < 8; ++w) {
            int n = of_warp[w];
            of_warp[w] = sum;
            sum += n;
        }
        base = sum > 0 ? atomicAdd(count, sum) : 0;
    }
    __syncthreads();
    int to = base + of_warp[warp];
    for (int part = 0; part < 4; ++part) {
        if (found[part] >> lane & 1) {
            list[to + __popc(found[part] & ((1u << lane) - 1))] = (unsigned)(begin + part * 32 + lane);
        }
        to += __popc(found[part]);
    }
}

// In sixteenths of the dose difference.
template <bool FLAT>
__device__ inline int bin_of(const Pair& pair, const Criterion& criterion, int voxel, const float* reference,
                             const float* values, const double* reference_planes, const double* planes, const int* layer_of)
{
    Place place;
    if (!place_of<FLAT>(pair, voxel, reference_planes, planes, layer_of, place)) {
        return 0;
    }
    int at = (place.cell[2] * pair.size[1] + place.cell[1]) * pair.size[0] + place.cell[0];
    float difference = fabsf(values[at] - reference[voxel]) * criterion.per_gy;
    return (int)fminf(difference * 16.0f, BINS - 1.0f);
}

// Sorting by dose difference (Gu 2010, section 2.2): how many points are in each bin ...
extern "C" __global__ void __launch_bounds__(256)
gamma_bins(const Pair pair, const Criterion criterion, int flat, const float* __restrict__ reference,
           const float* __restrict__ values, const double* __restrict__ reference_planes, const double* __restrict__ planes,
           const int* __restrict__ layer_of, const unsigned* __restrict__ list, const int* __restrict__ count,
           int* __restrict__ bins)
{
    __shared__ int here[BINS];
    here[threadIdx.x] = 0;
    __syncthreads();
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        int bin = flat ? bin_of<true>(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of)
                       : bin_of<false>(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of);
        atomicAdd(&here[bin], 1);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], here[threadIdx.x]);
}

// ... where each begins, by one block of BINS threads ...
extern "C" __global__ void __launch_bounds__(256) gamma_begin(int* __restrict__ bins)
{
    __shared__ int sums[BINS];
    int own = bins[threadIdx.x];
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int step = 1; step < BINS; step *= 2) {
        int before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    bins[threadIdx.x] = sums[threadIdx.x] - own;
}

// ... and the points by bin, in any order within one: each is answered by itself.
extern "C" __global__ void __launch_bounds__(256)
gamma_sort(const Pair pair, const Criterion criterion, int flat, const float* __restrict__ reference,
           const float* __restrict__ values, const double* __restrict__ reference_planes, const double* __restrict__ planes,
           const int* __restrict__ layer_of, const unsigned* __restrict__ list, const int* __restrict__ count,
           int* __restrict__ bins, unsigned* __restrict__ sorted)
{
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        int bin = flat ? bin_of<true>(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of)
                       : bin_of<false>(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of);
        sorted[atomicAdd(&bins[bin], 1)] = (unsigned)voxel;
    }
}
