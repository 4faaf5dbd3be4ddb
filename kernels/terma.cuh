// TERMA of a voxel by channel (engine/cccs/terma.rs).

#pragma once

#include "fluence.cuh"

// TERMA by channel: primary shallow and deep, scatter shallow and deep.
struct __align__(16) Terma {
    float channel[4];
};

// The spectrum at a distance from the axis, as Layer of physics/softening.rs: straight lines between points, level beyond them.
struct Layer {
    float less_cm, kept;
};

__device__ inline Layer softening_at(const Field& field, const float* __restrict__ numbers, float radius_mm)
{
    float place = fminf(radius_mm / field.softening_step_mm, field.softenings - 1);
    int i = min((int)place, field.softenings - 2);
    const float* p = numbers + field.softening_at + 2 * i;
    float part = place - i;
    return {p[0] + (p[2] - p[0]) * part, p[1] + (p[3] - p[1]) * part};
}

// TiltNorm::at of engine/cccs/angles.rs: bilinear.
__device__ inline void tilt_at(const Field& field, const float* __restrict__ numbers, const float tangents[2], float norm[4])
{
    int cell[2];
    float part[2];
    for (int axis = 0; axis < 2; ++axis) {
        float place = clamp((tangents[axis] / field.tilt_reach + 1.0f) * 0.5f * (TILTS - 1), 0.0f, TILTS - 1);
        cell[axis] = min((int)place, TILTS - 2);
        part[axis] = place - cell[axis];
    }
    const float* low = numbers + field.tilt_at + 4 * (cell[1] * TILTS + cell[0]);
    const float* high = low + 4 * TILTS;
    for (int c = 0; c < 4; ++c) {
        float one = low[c] * (1.0f - part[0]) + low[4 + c] * part[0];
        float other = high[c] * (1.0f - part[0]) + high[4 + c] * part[0];
        norm[c] = one * (1.0f - part[1]) + other * part[1];
    }
}

// TERMA of a voxel under a relative fluence, Gy for one photon per cm2 on the axis at the isocentre, as open_terma of
// engine/cccs/terma.rs. `at` is where the voxel's ray passes the isocentre plane.
__device__ inline Terma open_terma(const Field& field, const float* __restrict__ numbers, const float at[2], float depth_mm,
                                   float fluence, float inverse_square)
{
    Terma out;
    Layer layer = softening_at(field, numbers, hypotf(at[0], at[1]));
    float depth_cm = depth_mm / 10.0f - layer.less_cm;
    float place = clamp((depth_cm - field.first_depth_cm) / field.depth_step_cm, 0.0f, field.terma_rows - 2);
    int step = (int)place;
    float part = place - step;
    float norm[4];
    float tangents[2] = {at[0] / field.sad_mm, at[1] / field.sad_mm};
    tilt_at(field, numbers, tangents, norm);
    const float* table = numbers + field.terma_at + 4 * step;
    for (int c = 0; c < 4; ++c) {
        float per_fluence = table[c] * (1.0f - part) + table[4 + c] * part;
        out.channel[c] = per_fluence * layer.kept * fluence * inverse_square * norm[c];
    }
    return out;
}
