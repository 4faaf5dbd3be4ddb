// For the tables of Gu 2010, and for `benches/gu` alone: his search (algorithm A2), points as they lie or sorted by dose difference.
// The answers are those of gamma.cu.

#include "gamma_search.cuh"

#define BINS 256

// Offset of a cell from that of a point, and the least squared distance between them.
struct Offset {
    int i, j, k;
    float far;
};

// Algorithm A2, step 6: a thread a point, cells by distance, all their simplices.
extern "C" __global__ void __launch_bounds__(128)
gu_search(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float4* __restrict__ quads,
            const float2* __restrict__ heights, const double* __restrict__ reference_planes, const double* __restrict__ planes,
            const int* __restrict__ layer_of, const unsigned* __restrict__ list, const int* __restrict__ count,
            const Offset* __restrict__ offsets, int offset_count, float* __restrict__ gamma)
{
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        Space search;
        float answer;
        if (begin<false>(pair, criterion, reference, {values, quads, nullptr, heights}, reference_planes, planes, layer_of, voxel, search,
                         answer)) {
            int near[3];
            float way[3];
            search.nearest(near, way);
            float corner = search.dose_at(near[0], near[1], near[2]);
            float best = fmaf(way[0], way[0], fmaf(way[1], way[1], fmaf(way[2], way[2], corner * corner)));
            best = fminf(best, criterion.most);
            for (int m = 0; m < offset_count; ++m) {
                int4 offset = __ldg((const int4*)offsets + m);
                if (__int_as_float(offset.w) >= best) {
                    break;
                }
                int i = search.place.cell[0] + offset.x, j = search.place.cell[1] + offset.y, k = search.place.cell[2] + offset.z;
                if (i >= 0 && j >= 0 && k >= 0 && i + 1 < search.size[0] && j + 1 < search.size[1] && k + 1 < search.size[2]) {
                    Cell found;
                    search.look(i, j, k, found);
                    cell(found.x, found.y, found.z, found.d, best);
                }
            }
            answer = settled(best, criterion);
        }
        gamma[voxel] = answer;
    }
}

// In sixteenths of the dose difference.
__device__ inline int bin_of(const Pair& pair, const Criterion& criterion, int voxel, const float* reference,
                             const float* values, const double* reference_planes, const double* planes, const int* layer_of)
{
    CellPoint place;
    if (!place_of<false>(pair, voxel, reference_planes, planes, layer_of, place)) {
        return 0;
    }
    int at = (place.cell[2] * pair.size[1] + place.cell[1]) * pair.size[0] + place.cell[0];
    float difference = fabsf(values[at] - reference[voxel]) * criterion.per_gy;
    return (int)fminf(difference * 16.0f, BINS - 1.0f);
}

// Sorting by dose difference (Gu 2010, section 2.2): how many points are in each bin ...
extern "C" __global__ void __launch_bounds__(256)
gu_bins(const Pair pair, const Criterion criterion, const float* __restrict__ reference,
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
        int bin = bin_of(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of);
        atomicAdd(&here[bin], 1);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], here[threadIdx.x]);
}

// ... where each begins, by one block of BINS threads ...
extern "C" __global__ void __launch_bounds__(256) gu_begin(int* __restrict__ bins)
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
gu_sort(const Pair pair, const Criterion criterion, const float* __restrict__ reference,
           const float* __restrict__ values, const double* __restrict__ reference_planes, const double* __restrict__ planes,
           const int* __restrict__ layer_of, const unsigned* __restrict__ list, const int* __restrict__ count,
           int* __restrict__ bins, unsigned* __restrict__ sorted)
{
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        int bin = bin_of(pair, criterion, voxel, reference, values, reference_planes, planes, layer_of);
        sorted[atomicAdd(&bins[bin], 1)] = (unsigned)voxel;
    }
}
