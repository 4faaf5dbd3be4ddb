// Photon fluence through jaws and leaves: physics/fluence.rs, focal.rs, scatter.rs and normal.rs in the same steps and in
// f64, from the same tables, so that what comes in is the CPU's to rounding.

#pragma once

// A picture over the isocentre plane, as the host lays it out: entries of the list of numbers begin at `first`.
struct Picture {
    double first_mm[2];
    double step_mm;
    int size[2];
    int first;
    int here; // 0: there is none
};

// A field, as the host declares it in engine/cuda/cccs/release.rs, field for field. Positions are those of the beam limiting
// device. Numbers named `..._at` are where tables begin in the list of numbers.
struct Field {
    double voxel_mm[3]; // voxel (0, 0, 0)
    double step_mm[3][3];
    double sad_mm;
    double footprint_mm;
    double focal_sigma_mm[2];
    double jaw_distance_mm[2];
    double jaw_transmission;
    double extra_distance_mm, extra_sigma_mm, extra_share;
    double scale;
    double tilt_reach;
    double depth_step_cm;
    double surface_gy, surface_scale, surface_range_mm, surface_falloff_per_mm, surface_sigma_mm;
    double leaf_distance_mm;
    Picture focal, surface;
    Picture scattered; // three planes
    int size[3];
    int openings_at, openings;
    int horn_at, horns;
    int softening_at, softenings;
    int normal_at, integral_at;
    int release_at, releases;
    int tilt_at;
    int leaves, along_y;
};

// Of normal.rs: both tables reach over six standard deviations in steps of 1/128; scatter.rs: planes and their distance.
constexpr double REACH_SIGMAS = 6.0;
constexpr int STEPS_PER_SIGMA = 128;
constexpr int NORMAL_STEPS = 2 * 6 * STEPS_PER_SIGMA;
constexpr double FIRST_PLANE_MM = -200.0, PLANE_STEP_MM = 200.0;
constexpr int PLANES = 3;
// Of fluence.rs and of engine/cccs/angles.rs.
constexpr double COARSE_MM = 4.0;
constexpr int TILTS = 17;

__device__ inline double clamp(double value, double low, double high) { return fmin(fmax(value, low), high); }

__device__ inline double between(const double* __restrict__ table, int index, double part)
{
    double low = table[index];
    return low + (table[index + 1] - low) * part;
}

__device__ inline bool within_normal(double x, double& place)
{
    place = (x + REACH_SIGMAS) * STEPS_PER_SIGMA;
    return place >= 0.0 && place < NORMAL_STEPS;
}

__device__ inline double cumulative(const Field& field, const double* __restrict__ numbers, double x)
{
    double place;
    if (!within_normal(x, place)) {
        return x < 0.0 ? 0.0 : 1.0;
    }
    return between(numbers + field.normal_at, (int)place, place - (int)place);
}

__device__ inline double cumulative_integral(const Field& field, const double* __restrict__ numbers, double x)
{
    double place;
    if (!within_normal(x, place)) {
        return x < 0.0 ? 0.0 : x;
    }
    return between(numbers + field.integral_at, (int)place, place - (int)place);
}

__device__ inline double above_edge(const Field& field, const double* __restrict__ numbers, double x, double edge,
                                    double sigma, double width)
{
    double s = x - edge;
    double reach = REACH_SIGMAS * sigma + 0.5 * width;
    if (s > reach) {
        return 1.0;
    }
    if (s < -reach) {
        return 0.0;
    }
    if (sigma <= 0.0) {
        return width > 0.0 ? clamp(s / width + 0.5, 0.0, 1.0) : 0.5;
    }
    if (width < 0.125 * sigma) {
        return cumulative(field, numbers, s / sigma);
    }
    double high = (s + 0.5 * width) / sigma, low = (s - 0.5 * width) / sigma;
    return (cumulative_integral(field, numbers, high) - cumulative_integral(field, numbers, low)) * sigma / width;
}

__device__ inline double edge_sigma(const Field& field, int axis, double edge_mm, double distance_mm)
{
    return field.focal_sigma_mm[axis] * fmax(field.sad_mm * (1.0 / edge_mm - 1.0 / distance_mm), 0.0);
}

// Part of the focal spot seen through a pair of jaws.
__device__ inline double focal_through(const Field& field, const double* __restrict__ numbers,
                                       const double* __restrict__ edges, int axis, double at, double distance_mm)
{
    double width = field.footprint_mm * field.sad_mm / distance_mm;
    double sigma = edge_sigma(field, axis, field.jaw_distance_mm[axis], distance_mm);
    double open = above_edge(field, numbers, at, edges[0], sigma, width)
                  - above_edge(field, numbers, at, edges[1], sigma, width);
    return field.jaw_transmission + (1.0 - field.jaw_transmission) * fmax(open, 0.0);
}

// Part of the extra-focal source seen through a pair of jaws.
__device__ inline double extra_through(const Field& field, const double* __restrict__ numbers,
                                       const double* __restrict__ edges, int axis, double at, double distance_mm)
{
    double jaw = field.jaw_distance_mm[axis];
    double point = at * distance_mm / field.sad_mm;
    double below[2];
    for (int side = 0; side < 2; ++side) {
        double through = edges[side] * jaw / field.sad_mm;
        double limit = point + (through - point) * (distance_mm - field.extra_distance_mm) / (distance_mm - jaw);
        below[side] = cumulative(field, numbers, limit / field.extra_sigma_mm);
    }
    return field.jaw_transmission + (1.0 - field.jaw_transmission) * fmax(below[1] - below[0], 0.0);
}

__device__ inline double place_in(const Picture& picture, int axis, double mm)
{
    return (mm - picture.first_mm[axis]) / picture.step_mm;
}

// Integral of a picture below and left of a corner, from its table of sums.
__device__ inline double sum_to(const Picture& picture, const double* __restrict__ numbers, double u, double v)
{
    int i = min((int)u, picture.size[0] - 1), j = min((int)v, picture.size[1] - 1);
    int row = picture.size[0] + 1;
    const double* at = numbers + picture.first + j * row + i;
    double low = between(at, 0, u - i);
    double high = between(at + row, 0, u - i);
    return low + (v - j) * (high - low);
}

// Mean of a picture over a rectangle.
__device__ inline double mean_of(const Picture& picture, const double* __restrict__ numbers, const double at[2],
                                 const double width[2])
{
    double low[2], high[2];
    for (int axis = 0; axis < 2; ++axis) {
        double n = picture.size[axis];
        double half = clamp(0.5 * width[axis] / picture.step_mm, 0.5, 0.5 * n);
        double centre = clamp(place_in(picture, axis, at[axis]) + 0.5, half, n - half);
        low[axis] = centre - half;
        high[axis] = centre + half;
    }
    double total = sum_to(picture, numbers, high[0], high[1]) - sum_to(picture, numbers, low[0], high[1])
                   - sum_to(picture, numbers, high[0], low[1]) + sum_to(picture, numbers, low[0], low[1]);
    return total / ((high[0] - low[0]) * (high[1] - low[1]));
}

// Part of the extra-focal source seen behind the leaves: between planes, each between its points.
__device__ inline double scattered_at(const Picture& picture, const double* __restrict__ numbers, const double at[2],
                                      double offset_mm)
{
    double k = clamp((offset_mm - FIRST_PLANE_MM) / PLANE_STEP_MM, 0.0, PLANES - 1);
    int below = min((int)k, PLANES - 2);
    int low[2];
    double part[2];
    for (int axis = 0; axis < 2; ++axis) {
        int last = picture.size[axis] - 1;
        double x = clamp(place_in(picture, axis, at[axis]), 0.0, last);
        low[axis] = min((int)x, max(last - 1, 0));
        part[axis] = x - low[axis];
    }
    int right = part[0] > 0.0 ? 1 : 0, above = part[1] > 0.0 ? picture.size[0] : 0;
    double value[2];
    for (int plane = 0; plane < 2; ++plane) {
        const double* p = numbers + picture.first + (below + plane) * picture.size[0] * picture.size[1]
                          + low[1] * picture.size[0] + low[0];
        double one = p[0] + part[0] * (p[right] - p[0]);
        double other = p[above] + part[0] * (p[above + right] - p[above]);
        value[plane] = one + part[1] * (other - one);
    }
    return value[0] + (k - below) * (value[1] - value[0]);
}

__device__ inline double horn_at(const Field& field, const double* __restrict__ numbers, const double at[2])
{
    double r = hypot(at[0], at[1]);
    int i = min((int)r, field.horns - 2);
    return between(numbers + field.horn_at, i, fmin(r - i, 1.0));
}

// Both sources together.
__device__ inline double mixed(const Field& field, double horn, double distance_mm, double focal, double scattered)
{
    double primary = horn * focal;
    if (field.extra_share <= 0.0) {
        return primary;
    }
    double nearer = (field.sad_mm - field.extra_distance_mm) / (distance_mm - field.extra_distance_mm) * distance_mm
                    / field.sad_mm;
    return (1.0 - field.extra_share) * primary + field.extra_share * scattered * (nearer * nearer);
}

__device__ inline double fluence_at(const Field& field, const double* __restrict__ numbers, const double at[2],
                                    double distance_mm)
{
    double horn = horn_at(field, numbers, at);
    if (field.leaves) {
        double uv[2] = {field.along_y ? at[1] : at[0], field.along_y ? at[0] : at[1]};
        double widths[2];
        for (int a = 0; a < 2; ++a) {
            int axis = field.along_y ? 1 - a : a;
            double here = edge_sigma(field, axis, field.leaf_distance_mm, distance_mm);
            double drawn = edge_sigma(field, axis, field.leaf_distance_mm, field.sad_mm);
            double width = field.footprint_mm * field.sad_mm / distance_mm;
            widths[a] = sqrt(fmax(width * width + 12.0 * (here * here - drawn * drawn), 0.0));
        }
        double focal = mean_of(field.focal, numbers, uv, widths);
        double scattered =
            field.scattered.here ? scattered_at(field.scattered, numbers, uv, distance_mm - field.sad_mm) : 0.0;
        return field.scale * mixed(field, horn, distance_mm, focal, scattered);
    }
    double sum = 0.0;
    for (int n = 0; n < field.openings; ++n) {
        const double* opening = numbers + field.openings_at + 5 * n;
        double focal = focal_through(field, numbers, opening, 0, at[0], distance_mm)
                       * focal_through(field, numbers, opening + 2, 1, at[1], distance_mm);
        double scattered = 0.0;
        if (field.extra_share > 0.0) {
            scattered = extra_through(field, numbers, opening, 0, at[0], distance_mm)
                        * extra_through(field, numbers, opening + 2, 1, at[1], distance_mm);
        }
        sum += opening[4] * mixed(field, horn, distance_mm, focal, scattered);
    }
    return field.scale * sum;
}

// Electrons that come with the photons, 1 on the axis of the reference field.
__device__ inline double electrons_at(const Field& field, const double* __restrict__ numbers, const double at[2])
{
    double sum = 0.0;
    if (field.leaves) {
        double uv[2] = {field.along_y ? at[1] : at[0], field.along_y ? at[0] : at[1]};
        double widths[2] = {COARSE_MM, COARSE_MM};
        sum = field.surface.here ? mean_of(field.surface, numbers, uv, widths) : 0.0;
    } else {
        for (int n = 0; n < field.openings; ++n) {
            const double* opening = numbers + field.openings_at + 5 * n;
            double spread[2];
            for (int axis = 0; axis < 2; ++axis) {
                double low = (opening[2 * axis] - at[axis]) / field.surface_sigma_mm;
                double high = (opening[2 * axis + 1] - at[axis]) / field.surface_sigma_mm;
                spread[axis] = fmax(cumulative(field, numbers, high) - cumulative(field, numbers, low), 0.0);
            }
            sum += opening[4] * spread[0] * spread[1];
        }
    }
    return field.surface_scale * sum;
}
