// TERMA of every voxel of a dose grid by channel (engine/cccs/cpu/terma.rs), the energy of contaminant electrons there, and in the
// end the dose: energy over mass, cropped to the requested grid.

#include "terma.cuh"

// Writes TERMA (Gy) for one photon per cm2 on the axis, and adds `factor` times the electrons' energy per volume to `energy`.
extern "C" __global__ void __launch_bounds__(128)
terma_fill(const Field field, const float* __restrict__ numbers, const double* __restrict__ sums,
           const float* __restrict__ density, const float* __restrict__ depth_mm, const float factor,
           Terma* __restrict__ terma, float* __restrict__ energy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y, k = blockIdx.z;
    if (i >= field.size[0]) {
        return;
    }
    int index = (k * field.size[1] + j) * field.size[0] + i;
    Terma out = {{0.0f, 0.0f, 0.0f, 0.0f}};
    float here = density[index];
    if (here > 0.0f) {
        float p[3];
        for (int axis = 0; axis < 3; ++axis) {
            p[axis] = field.voxel_mm[axis] + i * field.step_mm[0][axis] + j * field.step_mm[1][axis]
                      + k * field.step_mm[2][axis];
        }
        float distance_mm = field.sad_mm - p[2];
        if (distance_mm > 1e-6f) {
            float sad = field.sad_mm;
            float at[2] = {p[0] * sad / distance_mm, p[1] * sad / distance_mm};
            float inverse_square = sad * sad / (p[0] * p[0] + p[1] * p[1] + distance_mm * distance_mm);
            float depth = depth_mm[index];
            float fluence = fluence_at(field, numbers, sums, at, distance_mm);
            if (fluence > 0.0f) {
                out = open_terma(field, numbers, at, depth, fluence, inverse_square);
            }
            if (field.surface_gy > 0.0f && depth < field.surface_range_mm) {
                float end = expf(-field.surface_falloff_per_mm * field.surface_range_mm);
                float with_depth = (expf(-field.surface_falloff_per_mm * fmaxf(depth, 0.0f)) - end) / (1.0f - end);
                float gy = field.surface_gy * with_depth * electrons_at(field, numbers, sums, at) * inverse_square;
                energy[index] += factor * (gy * here);
            }
        }
    }
    terma[index] = out;
}

// Dose on the requested grid: energy over mass, none in a vacuum.
extern "C" __global__ void __launch_bounds__(128)
dose_crop(const int offset_x, const int offset_y, const int offset_z, const int grid_x, const int grid_y, const int size_x,
          const int size_y, const float thinnest, const float* __restrict__ energy, const float* __restrict__ mass,
          float* __restrict__ gy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y, k = blockIdx.z;
    if (i >= size_x) {
        return;
    }
    int from = ((k + offset_z) * grid_y + j + offset_y) * grid_x + i + offset_x;
    float here = mass[from];
    gy[(k * size_y + j) * size_x + i] = here > thinnest ? energy[from] / here : 0.0f;
}

// Adds a dose so many times to a sum: the same roundings as the host's sum, so that both are equal to the bit.
extern "C" __global__ void __launch_bounds__(128)
dose_add(const int count, const float times, const float* __restrict__ gy, float* __restrict__ sum)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) {
        sum[n] = __fadd_rn(sum[n], __fmul_rn(times, gy[n]));
    }
}
