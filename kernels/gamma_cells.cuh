// What the search reads of cells: the range of dose of each and, in space, neighbours side by side. A part of gamma.cu.

#pragma once

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
