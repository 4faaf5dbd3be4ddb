// Photon fluence through jaws and leaves: physics/fluence.rs, focal.rs, scatter.rs and normal.rs in the same steps, from the
// same tables, in single precision, equal to the CPU's to a hundred-thousandth.

#pragma once

#include "field.cuh"

// Of normal.rs: both tables reach over six standard deviations in steps of 1/128; scatter.rs: planes and their distance.
constexpr float REACH_SIGMAS = 6.0f;
constexpr int STEPS_PER_SIGMA = 128;
constexpr int NORMAL_STEPS = 2 * 6 * STEPS_PER_SIGMA;
constexpr float FIRST_PLANE_MM = -200.0f, PLANE_STEP_MM = 200.0f;
constexpr int PLANES = 3;
// Of fluence.rs and of engine/cccs/angles.rs.
constexpr float COARSE_MM = 4.0f;
constexpr int TILTS = 17;

__device__ inline float clamp(float value, float low, float high) { return fminf(fmaxf(value, low), high); }

__device__ inline float between(const float* __restrict__ table, int index, float part)
{
    float low = table[index];
    return low + (table[index + 1] - low) * part;
}

__device__ inline bool within_normal(float x, float& place)
{
    place = (x + REACH_SIGMAS) * STEPS_PER_SIGMA;
    return place >= 0.0f && place < NORMAL_STEPS;
}

__device__ inline float cumulative(const Field& field, const float* __restrict__ numbers, float x)
{
    float place;
    if (!within_normal(x, place)) {
        return x < 0.0f ? 0.0f : 1.0f;
    }
    return between(numbers + field.normal_at, (int)place, place - (int)place);
}

__device__ inline float cumulative_integral(const Field& field, const float* __restrict__ numbers, float x)
{
    float place;
    if (!within_normal(x, place)) {
        return x < 0.0f ? 0.0f : x;
    }
    return between(numbers + field.integral_at, (int)place, place - (int)place);
}

__device__ inline float above_edge(const Field& field, const float* __restrict__ numbers, float x, float edge,
                                   float sigma, float width)
{
    float s = x - edge;
    float reach = REACH_SIGMAS * sigma + 0.5f * width;
    if (s > reach) {
        return 1.0f;
    }
    if (s < -reach) {
        return 0.0f;
    }
    if (sigma <= 0.0f) {
        return width > 0.0f ? clamp(s / width + 0.5f, 0.0f, 1.0f) : 0.5f;
    }
    if (width < 0.125f * sigma) {
        return cumulative(field, numbers, s / sigma);
    }
    float high = (s + 0.5f * width) / sigma, low = (s - 0.5f * width) / sigma;
    return (cumulative_integral(field, numbers, high) - cumulative_integral(field, numbers, low)) * sigma / width;
}

// Second integral of a blurred edge.
__device__ inline float edge_integral(const Field& field, const float* __restrict__ numbers, float s, float sigma)
{
    if (sigma <= 0.0f) {
        float above = fmaxf(s, 0.0f);
        return 0.5f * above * above;
    }
    float x = s / sigma;
    return 0.5f * sigma * sigma * (cumulative(field, numbers, x) + x * cumulative_integral(field, numbers, x));
}

// As above_edge, averaged over an even travel of the edge, whose middle is `edge`.
__device__ inline float above_moving_edge(const Field& field, const float* __restrict__ numbers, float x, float edge,
                                          float travel, float sigma, float width)
{
    float narrow = fminf(width, travel), wide = fmaxf(width, travel);
    if (travel <= 0.0f || narrow <= 0.5f * sigma) {
        float blur = travel > 0.0f ? sqrtf(sigma * sigma + narrow * narrow / 12.0f) : sigma;
        return above_edge(field, numbers, x, edge, blur, wide);
    }
    float s = x - edge;
    float far = 0.5f * (wide + narrow), near = 0.5f * (wide - narrow);
    if (fabsf(s) > REACH_SIGMAS * sigma + far) {
        return s < 0.0f ? 0.0f : 1.0f;
    }
    float high = edge_integral(field, numbers, s + far, sigma) - edge_integral(field, numbers, s + near, sigma);
    float low = edge_integral(field, numbers, s - near, sigma) - edge_integral(field, numbers, s - far, sigma);
    return (high - low) / (wide * narrow);
}

__device__ inline float mean_cumulative(const Field& field, const float* __restrict__ numbers, float x, float width)
{
    if (width > 0.125f) {
        float high = cumulative_integral(field, numbers, x + 0.5f * width);
        return (high - cumulative_integral(field, numbers, x - 0.5f * width)) / width;
    }
    return cumulative(field, numbers, x);
}

__device__ inline float edge_sigma(const Field& field, int axis, float edge_mm, float distance_mm)
{
    return field.focal_sigma_mm[axis] * fmaxf(field.sad_mm * (1.0f / edge_mm - 1.0f / distance_mm), 0.0f);
}

// An opening has nine numbers: the middle places of its edges, low and high along x and along y, its weight, and how far each
// edge travels. `edges` are the first two of an axis.
constexpr int OPENING = 9, TRAVEL = 5;

// Part of the focal spot seen through a pair of jaws.
__device__ inline float focal_through(const Field& field, const float* __restrict__ numbers,
                                      const float* __restrict__ edges, int axis, float at, float distance_mm)
{
    float width = field.footprint_mm * field.sad_mm / distance_mm;
    float sigma = edge_sigma(field, axis, field.jaw_distance_mm[axis], distance_mm);
    float open = above_moving_edge(field, numbers, at, edges[0], edges[TRAVEL], sigma, width)
                  - above_moving_edge(field, numbers, at, edges[1], edges[TRAVEL + 1], sigma, width);
    return field.jaw_transmission + (1.0f - field.jaw_transmission) * fmaxf(open, 0.0f);
}

// Part of the extra-focal source seen through a pair of jaws.
__device__ inline float extra_through(const Field& field, const float* __restrict__ numbers,
                                      const float* __restrict__ edges, int axis, float at, float distance_mm)
{
    float jaw = field.jaw_distance_mm[axis];
    float point = at * distance_mm / field.sad_mm;
    float below[2];
    for (int side = 0; side < 2; ++side) {
        float through = edges[side] * jaw / field.sad_mm;
        float limit = point + (through - point) * (distance_mm - field.extra_distance_mm) / (distance_mm - jaw);
        float travel = edges[TRAVEL + side] * jaw / field.sad_mm
                       * fabsf((distance_mm - field.extra_distance_mm) / (distance_mm - jaw));
        below[side] = mean_cumulative(field, numbers, limit / field.extra_sigma_mm, travel / field.extra_sigma_mm);
    }
    return field.jaw_transmission + (1.0f - field.jaw_transmission) * fmaxf(below[1] - below[0], 0.0f);
}

__device__ inline float place_in(const Picture& picture, int axis, float mm)
{
    return (mm - picture.first_mm[axis]) / picture.step_mm;
}

// Integral of a picture below and left of a corner, from its table of sums.
__device__ inline double sum_to(const Picture& picture, const double* __restrict__ sums, float u, float v)
{
    int i = min((int)u, picture.size[0] - 1), j = min((int)v, picture.size[1] - 1);
    int row = picture.size[0] + 1;
    const double* at = sums + picture.first + j * row + i;
    double right = u - (float)i, up = v - (float)j;
    double low = at[0] + (at[1] - at[0]) * right;
    double high = at[row] + (at[row + 1] - at[row]) * right;
    return low + up * (high - low);
}

// Mean of a picture over a rectangle.
__device__ inline float mean_of(const Picture& picture, const double* __restrict__ sums, const float at[2],
                                const float width[2])
{
    float low[2], high[2];
    for (int axis = 0; axis < 2; ++axis) {
        float n = picture.size[axis];
        float half = clamp(0.5f * width[axis] / picture.step_mm, 0.5f, 0.5f * n);
        float centre = clamp(place_in(picture, axis, at[axis]) + 0.5f, half, n - half);
        low[axis] = centre - half;
        high[axis] = centre + half;
    }
    double total = sum_to(picture, sums, high[0], high[1]) - sum_to(picture, sums, low[0], high[1])
                   - sum_to(picture, sums, high[0], low[1]) + sum_to(picture, sums, low[0], low[1]);
    return (float)total / ((high[0] - low[0]) * (high[1] - low[1]));
}

// Part of the extra-focal source seen behind the leaves: between planes, each between its points.
__device__ inline float scattered_at(const Picture& picture, const float* __restrict__ numbers, const float at[2],
                                     float offset_mm)
{
    float k = clamp((offset_mm - FIRST_PLANE_MM) / PLANE_STEP_MM, 0.0f, PLANES - 1);
    int below = min((int)k, PLANES - 2);
    int low[2];
    float part[2];
    for (int axis = 0; axis < 2; ++axis) {
        int last = picture.size[axis] - 1;
        float x = clamp(place_in(picture, axis, at[axis]), 0.0f, last);
        low[axis] = min((int)x, max(last - 1, 0));
        part[axis] = x - low[axis];
    }
    int right = part[0] > 0.0f ? 1 : 0, above = part[1] > 0.0f ? picture.size[0] : 0;
    float value[2];
    for (int plane = 0; plane < 2; ++plane) {
        const float* p = numbers + picture.first + (below + plane) * picture.size[0] * picture.size[1]
                          + low[1] * picture.size[0] + low[0];
        float one = p[0] + part[0] * (p[right] - p[0]);
        float other = p[above] + part[0] * (p[above + right] - p[above]);
        value[plane] = one + part[1] * (other - one);
    }
    return value[0] + (k - below) * (value[1] - value[0]);
}

__device__ inline float horn_at(const Field& field, const float* __restrict__ numbers, const float at[2])
{
    float r = hypotf(at[0], at[1]);
    int i = min((int)r, field.horns - 2);
    return between(numbers + field.horn_at, i, fminf(r - i, 1.0f));
}

// Both sources together.
__device__ inline float mixed(const Field& field, float horn, float distance_mm, float focal, float scattered)
{
    float primary = horn * focal;
    if (field.extra_share <= 0.0f) {
        return primary;
    }
    float nearer = (field.sad_mm - field.extra_distance_mm) / (distance_mm - field.extra_distance_mm) * distance_mm
                    / field.sad_mm;
    return (1.0f - field.extra_share) * primary + field.extra_share * scattered * (nearer * nearer);
}

// Widths along u and v over which a picture that is blurred as at the isocentre is averaged elsewhere.
__device__ inline void widths_behind_leaves(const Field& field, float distance_mm, float widths[2])
{
    for (int a = 0; a < 2; ++a) {
        int axis = field.along_y ? 1 - a : a;
        float here = edge_sigma(field, axis, field.leaf_distance_mm, distance_mm);
        float drawn = edge_sigma(field, axis, field.leaf_distance_mm, field.sad_mm);
        float width = field.footprint_mm * field.sad_mm / distance_mm;
        widths[a] = sqrtf(fmaxf(width * width + 12.0f * (here * here - drawn * drawn), 0.0f));
    }
}

__device__ inline float fluence_at(const Field& field, const float* __restrict__ numbers,
                                   const double* __restrict__ sums, const float at[2], float distance_mm)
{
    float horn = horn_at(field, numbers, at);
    if (field.leaves) {
        float uv[2] = {field.along_y ? at[1] : at[0], field.along_y ? at[0] : at[1]};
        float widths[2];
        widths_behind_leaves(field, distance_mm, widths);
        float focal = mean_of(field.focal, sums, uv, widths);
        float scattered =
            field.scattered.here ? scattered_at(field.scattered, numbers, uv, distance_mm - field.sad_mm) : 0.0f;
        return field.scale * mixed(field, horn, distance_mm, focal, scattered);
    }
    float sum = 0.0f;
    for (int n = 0; n < field.openings; ++n) {
        const float* opening = numbers + field.openings_at + OPENING * n;
        float focal = focal_through(field, numbers, opening, 0, at[0], distance_mm)
                       * focal_through(field, numbers, opening + 2, 1, at[1], distance_mm);
        float scattered = 0.0f;
        if (field.extra_share > 0.0f) {
            scattered = extra_through(field, numbers, opening, 0, at[0], distance_mm)
                        * extra_through(field, numbers, opening + 2, 1, at[1], distance_mm);
        }
        sum += opening[4] * mixed(field, horn, distance_mm, focal, scattered);
    }
    return field.scale * sum;
}

// Electrons that come with the photons, 1 on the axis of the reference field.
__device__ inline float electrons_at(const Field& field, const float* __restrict__ numbers,
                                     const double* __restrict__ sums, const float at[2])
{
    float sum = 0.0f;
    if (field.leaves) {
        float uv[2] = {field.along_y ? at[1] : at[0], field.along_y ? at[0] : at[1]};
        float widths[2] = {COARSE_MM, COARSE_MM};
        sum = field.surface.here ? mean_of(field.surface, sums, uv, widths) : 0.0f;
    } else {
        for (int n = 0; n < field.openings; ++n) {
            const float* opening = numbers + field.openings_at + OPENING * n;
            float spread[2];
            for (int axis = 0; axis < 2; ++axis) {
                float below[2];
                for (int side = 0; side < 2; ++side) {
                    const float* edge = opening + 2 * axis + side;
                    below[side] = mean_cumulative(field, numbers, (edge[0] - at[axis]) / field.surface_sigma_mm,
                                                  edge[TRAVEL] / field.surface_sigma_mm);
                }
                spread[axis] = fmaxf(below[1] - below[0], 0.0f);
            }
            sum += opening[4] * spread[0] * spread[1];
        }
    }
    return field.surface_scale * sum;
}
