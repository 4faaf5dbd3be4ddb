// Doses that the extra-focal source and contaminant electrons add to the columns (engine/influence/smooth.rs), as products of a profile
// for each column of the map and one for each row.

#include "influence.cuh"
#include "spans.cuh"

constexpr unsigned THREADS = 256;

// The columns of a map, or its rows, as the wide sources see them.
struct SmoothSpans {
    Spans electrons; // profiles behind the jaws, without blur
    float jaws_mm[2];
    float jaw_distance_mm;
};

// As the host declares it, field for field.
struct SmoothField {
    SmoothSpans columns, rows;
    float electrons_gy;
    unsigned sampled;
    unsigned beamlets;
    int has_extra_focal;
};

// Part of the extra-focal source below a side of a span, and of that what the jaws leave open.
__device__ inline float2 source_below(const Field& field, const SmoothSpans& of, const float* __restrict__ numbers, float side_mm,
                                      float point, float distance_mm)
{
    auto on_source = [&](float mm, float plane_mm) {
        float through = mm * plane_mm / field.sad_mm;
        float along = (distance_mm - field.extra_distance_mm) / (distance_mm - plane_mm);
        return (point + (through - point) * along) / field.extra_sigma_mm;
    };
    float at = on_source(side_mm, field.leaf_distance_mm);
    float low = on_source(of.jaws_mm[0], of.jaw_distance_mm), high = on_source(of.jaws_mm[1], of.jaw_distance_mm);
    float within = clamp(at, low, fmaxf(low, high));
    return make_float2(cumulative(field, numbers, at), cumulative(field, numbers, within));
}

// Threads are sampled voxels. `energy` is what the extra-focal source gives through all beamlets, on the medium's grid.
extern "C" __global__ void __launch_bounds__(THREADS)
smooth_profiles(const Field field, const SmoothField smooth, const float* __restrict__ numbers, const float* __restrict__ sides,
                const double* __restrict__ sums, const uint2* __restrict__ places, const unsigned* __restrict__ voxels,
                const float* __restrict__ density, const float* __restrict__ depth_mm, const float* __restrict__ energy,
                const float* __restrict__ gy_per_energy, const Profiles extra_focal, const Profiles electrons)
{
    unsigned n = blockIdx.x * THREADS + threadIdx.x;
    if (n >= smooth.sampled) {
        return;
    }
    int voxel = voxels[n];
    int nx = field.size[0], ny = field.size[1];
    Seen seen = seen_from_source(field, voxel % nx, voxel / nx % ny, voxel / (nx * ny));
    float uv[2] = {field.along_y ? seen.at[1] : seen.at[0], field.along_y ? seen.at[0] : seen.at[1]};
    const SmoothSpans* lines[2] = {&smooth.columns, &smooth.rows};
    if (smooth.has_extra_focal) {
        float* of[2] = {extra_focal.columns, extra_focal.rows};
        for (int axis = 0; axis < 2; ++axis) {
            const SmoothSpans& line = *lines[axis];
            float point = uv[axis] * seen.distance_mm / field.sad_mm;
            for (int span = 0; span < line.electrons.spans; ++span) {
                const float* side = sides + line.electrons.sides_at + 2 * span;
                float2 low = source_below(field, line, numbers, side[0], point, seen.distance_mm);
                float2 high = source_below(field, line, numbers, side[1], point, seen.distance_mm);
                float whole = fmaxf(high.x - low.x, 0.0f), within = fmaxf(high.y - low.y, 0.0f);
                float share = field.jaw_transmission * whole + (1.0f - field.jaw_transmission) * within;
                of[axis][(size_t)span * smooth.sampled + n] = seen.is_seen ? share : 0.0f;
            }
        }
        float of_all = 0.0f;
        for (unsigned beamlet = 0; beamlet < smooth.beamlets; ++beamlet) {
            uint2 place = places[beamlet];
            of_all += extra_focal.rows[(size_t)place.x * smooth.sampled + n]
                      * extra_focal.columns[(size_t)place.y * smooth.sampled + n];
        }
        float factor = of_all > 0.0f ? energy[voxel] * gy_per_energy[n] / of_all : 0.0f;
        for (int span = 0; span < smooth.columns.electrons.spans; ++span) {
            extra_focal.columns[(size_t)span * smooth.sampled + n] *= factor;
        }
    }
    if (smooth.electrons_gy > 0.0f) {
        float end = expf(-field.surface_falloff_per_mm * field.surface_range_mm);
        float beyond = expf(-field.surface_falloff_per_mm * fmaxf(depth_mm[voxel], 0.0f)) - end;
        float with_depth = seen.is_seen ? fmaxf(beyond / (1.0f - end), 0.0f) : 0.0f;
        float gy = smooth.electrons_gy * with_depth * field.surface_scale * seen.inverse_square * density[voxel] * gy_per_energy[n];
        float* of[2] = {electrons.columns, electrons.rows};
        for (int axis = 0; axis < 2; ++axis) {
            const Spans& line = lines[axis]->electrons;
            float factor = axis == 0 ? gy : 1.0f;
            for (int span = 0; span < line.spans; ++span) {
                float share = gy > 0.0f ? share_of_span(line, sums, span, uv[axis], COARSE_MM) : 0.0f;
                of[axis][(size_t)span * smooth.sampled + n] = factor * share;
            }
        }
    }
}
