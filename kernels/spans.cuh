// Columns and rows of a fluence map (physics/fluence/beamlets.rs), and how a field sees a voxel.

#pragma once

#include "terma.cuh"

// The columns of a map, or its rows: the profile of each, blurred, as SpanTables of physics/fluence/tables.rs has them.
struct Spans {
    float first_mm;  // the first pixel of a profile
    float step_mm;
    float blur_mm;   // how far beyond its sides a span shines
    int pixels;      // of a profile
    int spans;
    int sides_at;    // of the list of sides, low and high of each span
    int sums_at;     // of the list of sums, a number more than pixels for each span
};

// Mean of the profile of a span.
__device__ inline float share_of_span(const Spans& of, const double* __restrict__ sums, int span, float at, float width)
{
    float pixels = of.pixels;
    float half = clamp(0.5f * width / of.step_mm, 0.5f, 0.5f * pixels);
    float centre = clamp((at - of.first_mm) / of.step_mm + 0.5f, half, pixels - half);
    const double* own = sums + of.sums_at + span * (of.pixels + 1);
    auto sum_to = [&](float place) {
        int pixel = min((int)place, of.pixels - 1);
        return own[pixel] + (own[pixel + 1] - own[pixel]) * (double)(place - pixel);
    };
    float low = centre - half, high = centre + half;
    return (float)(sum_to(high) - sum_to(low)) / (high - low);
}

// A voxel of the medium as the field sees it.
struct Seen {
    float at[2];
    float widths[2];
    float distance_mm;
    float inverse_square;
    bool is_seen;
};

__device__ inline Seen seen_from_source(const Field& field, int i, int j, int k)
{
    Seen out = {};
    float p[3];
    for (int axis = 0; axis < 3; ++axis) {
        p[axis] = field.voxel_mm[axis] + i * field.step_mm[0][axis] + j * field.step_mm[1][axis] + k * field.step_mm[2][axis];
    }
    out.distance_mm = field.sad_mm - p[2];
    out.is_seen = out.distance_mm > 1e-6f;
    if (out.is_seen) {
        float sad = field.sad_mm;
        out.at[0] = p[0] * sad / out.distance_mm;
        out.at[1] = p[1] * sad / out.distance_mm;
        out.inverse_square = sad * sad / (p[0] * p[0] + p[1] * p[1] + out.distance_mm * out.distance_mm);
        widths_behind_leaves(field, out.distance_mm, out.widths);
    }
    return out;
}
