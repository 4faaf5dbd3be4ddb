// Preparation of gamma's search where pass 1 does not do it: cells, and the list of points. A part of gamma.cu.

#pragma once

#include "gamma_search.cuh"

// Voxels of a column that a thread goes through.
#define RANGED 12

// Least and greatest dose at the corners of each cell and, in space, each voxel with those next to it along x, y and both, so that the
// corners of a cell come in two reads. By blocks of 128 threads, a thread a column of up to RANGED voxels; voxels on the far rims begin
// no cell, and nothing is written for them. `FLAT`: the last axis counts layers.
template <bool FLAT>
__device__ inline void make_cells(const int size[3], const float* __restrict__ values, int block, float4* __restrict__ quads,
                                  float2* __restrict__ range)
{
    int across = (size[0] + 31) / 32, down = (size[1] + 3) / 4;
    int i = block % across * 32 + (threadIdx.x & 31), j = block / across % down * 4 + (threadIdx.x >> 5);
    int k = block / (across * down) * RANGED, end = min(k + RANGED, size[2]);
    if (i + 1 >= size[0] || j + 1 >= size[1]) {
        return;
    }
    int plane = size[0] * size[1], at = k * plane + j * size[0] + i;
    auto corners = [&](int at) {
        const float* here = values + at;
        return make_float4(__ldg(here), __ldg(here + 1), __ldg(here + size[0]), __ldg(here + size[0] + 1));
    };
    auto span = [](float4 d) {
        return make_float2(fminf(fminf(d.x, d.y), fminf(d.z, d.w)), fmaxf(fmaxf(d.x, d.y), fmaxf(d.z, d.w)));
    };
    float4 own = corners(at);
    for (; k < end; ++k, at += plane) {
        float4 above = k + 1 < size[2] ? corners(at + plane) : own;
        float2 has = span(own);
        if (!FLAT) {
            float2 next = span(above);
            has = make_float2(fminf(has.x, next.x), fmaxf(has.y, next.y));
            quads[at] = own;
        }
        range[at] = has;
        own = above;
    }
}

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

// The voxels that reach the threshold, closed up; those of a block of 1024 stay together. Gamma of the others is LEFT_OUT.
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
