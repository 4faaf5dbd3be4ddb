// Head source of a plan's beams, for every engine that samples histories: tables of `engine/histories/head/tables.rs`, field for
// field, and the sampling of engine/histories/head on the CPU, name for name.

#pragma once

#include "philox.cuh"
#include "shutter.cuh"

constexpr int RADII = 81;
constexpr float RADIUS_STEP_MM = 5.0f;
constexpr unsigned ELECTRON = 1u;
constexpr float TAU = 6.28318530717958648f;

// Places in a history's numbers (engine/histories/head/sample.rs).
constexpr unsigned PLACE_HEAD = 0u;
constexpr unsigned PLACE_SOURCE = 1u;
constexpr unsigned PLACE_DELIVERY = 2u;
constexpr unsigned ENGINE_PLACES = 3u;

struct EnergyBin {
    float until, weight, energy_mev;
    unsigned kind, head, cells_at, cells, softening_at;
};

struct Head {
    float sad_mm, focal_sigma_mm[2], jaw_distance_mm[2], jaw_transmission;
    float extra_share, extra_distance_mm, extra_sigma_mm;
    unsigned horn_at;
    float leaf_distance_mm, leaf_thickness_mm, leaf_radius_mm, leaf_transmission, interleaf_transmission, tongue_mm;
};

struct BeamPosition {
    float source_cm[3], axes[3][3], corner_mm[2], cell_mm[2];
    unsigned columns, first_cell, first_electron_cell, segments_at, segments, boundaries_at, pairs, along_y, map_at, map_columns;
    float map_first_mm, map_step_mm;
};

struct Cell {
    float keep;
    unsigned other, beam_position;
    float weight, extra;
};

struct Segment {
    float until, jaws_from_mm[4], jaws_to_mm[4];
    unsigned tips_at;
};

// Tables of a head source (engine/cuda/head.rs).
struct HeadTables {
    const EnergyBin* bins;
    const Head* heads;
    const BeamPosition* beam_positions;
    const Segment* segments;
    const Cell* cells;
    const float *horns, *softening, *tips_mm, *leaf_boundaries_mm, *map_values;
    unsigned bin_count;
    unsigned seed[2];
};

// The numbers of a history.
__device__ inline Stream stream_of(const HeadTables& source, unsigned long long history)
{
    return {source.seed[0], source.seed[1], (unsigned)history, (unsigned)(history >> 32)};
}

// A particle on its way from the head to the patient.
struct Particle {
    unsigned bin, kind;
    float energy_mev, weight; // MeV; the engine's unit
    float position_cm[3], direction[3];
};

__device__ inline float over_radius(const float* __restrict__ table, float radius_mm)
{
    float x = fminf(radius_mm / RADIUS_STEP_MM, (float)(RADII - 1));
    int i = min((int)x, RADII - 2);
    return table[i] + (table[i + 1] - table[i]) * (x - (float)i);
}

// Position and direction of a particle from a point of the head through a place of the isocentre plane.
__device__ inline void aim(const BeamPosition& position, const Head& head, const float from_mm[3], const float at_mm[2], Particle& p)
{
    float way_mm[3] = {at_mm[0] - from_mm[0], at_mm[1] - from_mm[1], head.sad_mm - from_mm[2]};
    float way[3];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        float x = position.axes[0][a], y = position.axes[1][a], z = position.axes[2][a];
        p.position_cm[a] = position.source_cm[a] + 0.1f * (from_mm[0] * x + from_mm[1] * y - from_mm[2] * z);
        way[a] = 0.1f * (way_mm[0] * x + way_mm[1] * y - way_mm[2] * z);
    }
    float length = sqrtf(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        p.direction[a] = way[a] / length;
    }
}

// Absorption behind a rounded leaf end (physics/leaf.rs).
__device__ inline float absorption(const Head& head, float behind_mm, float height)
{
    if (behind_mm <= 0.0f) {
        return 0.0f;
    }
    float r = head.leaf_radius_mm, chord = head.leaf_thickness_mm;
    if (behind_mm < r) {
        chord = fminf(2.0f * sqrtf(2.0f * r * behind_mm - behind_mm * behind_mm), chord);
    }
    return 1.0f - powf(head.leaf_transmission, height * chord / head.leaf_thickness_mm);
}

__device__ inline float open_part(const Head& head, const float tips[2], float u, float magnification, float height)
{
    float absorbed = absorption(head, (tips[0] - u) / magnification, height)
                     + absorption(head, (u - fmaxf(tips[1], tips[0])) / magnification, height);
    return fmaxf(1.0f - absorbed / (1.0f - powf(head.leaf_transmission, height)), 0.0f);
}

// How many of ascending sides lie at or below a place.
__device__ inline int sides_below(const float* sides, int count, float v)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sides[middle] <= v) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Value of a fluence map in the plane of the leaves (engine/histories/head/collimators.rs).
__device__ inline float map_value(const HeadTables& source, const BeamPosition& position, float u, float v)
{
    int rows = (int)position.pairs;
    int above = sides_below(source.leaf_boundaries_mm + position.boundaries_at, rows + 1, v);
    float column = floorf((u - position.map_first_mm) / position.map_step_mm);
    if (above == 0 || above > rows || !(column >= 0.0f && column < (float)position.map_columns)) {
        return 0.0f;
    }
    return source.map_values[position.map_at + (unsigned)(above - 1) * position.map_columns + (unsigned)column];
}

// Leaves::ray_transmission of physics/leaf.rs.
__device__ inline float leaf_transmission(const HeadTables& source, const BeamPosition& position, const Head& head,
                                          const Segment& segment, float when, float u, float v)
{
    const float* sides = source.leaf_boundaries_mm + position.boundaries_at;
    int pairs = (int)position.pairs;
    int above = sides_below(sides, pairs + 1, v);
    if (above == 0 || above == pairs + 1) {
        return 1.0f;
    }
    int row = above - 1;
    float magnification = head.sad_mm / head.leaf_distance_mm;
    float half_tongue = 0.5f * head.tongue_mm * magnification;
    float t = head.leaf_transmission;
    const float* tips = source.tips_mm + segment.tips_at;
    auto at = [&](int r, float out[2]) {
        for (int bank = 0; bank < 2; ++bank) {
            float from = tips[2 * r + bank], to = tips[2 * (pairs + r) + bank];
            out[bank] = from + when * (to - from);
        }
    };
    float a[2];
    at(row, a);
    int other = -1;
    if (row > 0 && v - sides[row] < half_tongue) {
        other = row - 1;
    } else if (row < pairs - 1 && sides[row + 1] - v < half_tongue) {
        other = row + 1;
    }
    if (other < 0) {
        return t + (1.0f - t) * open_part(head, a, u, magnification, 1.0f);
    }
    float b[2];
    at(other, b);
    float common[2] = {fmaxf(a[0], b[0]), fminf(a[1], b[1])};
    float both = common[0] > common[1] ? 0.0f : open_part(head, common, u, magnification, 0.5f);
    float one = open_part(head, a, u, magnification, 0.5f), two = open_part(head, b, u, magnification, 0.5f);
    return both + sqrtf(t) * (one + two - 2.0f * both) + head.interleaf_transmission * (1.0f - one - two + both);
}

// Collimators at an instant of a beam position.
struct Instant {
    const Segment* segment;
    float time; // part of the segment's units given
};

__device__ inline Instant instant_of(const HeadTables& source, const BeamPosition& position, float which, float time)
{
    const Segment* segments = source.segments + position.segments_at;
    unsigned number = 0u;
    while (number + 1u < position.segments && segments[number].until <= which) {
        number += 1u;
    }
    return {segments + number, time};
}

__device__ inline void jaws_of(const Instant& instant, int axis, float jaws_mm[2])
{
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        float from = instant.segment->jaws_from_mm[2 * axis + side], to = instant.segment->jaws_to_mm[2 * axis + side];
        jaws_mm[side] = from + instant.time * (to - from);
    }
}

// Crossing with a plane of the head, scaled to the isocentre plane as positions of collimators are.
__device__ inline float crossing(const Head& head, const float from_mm[3], const float at_mm[2], int axis, float plane_mm)
{
    float part = (plane_mm - from_mm[2]) / (head.sad_mm - from_mm[2]);
    return (from_mm[axis] + (at_mm[axis] - from_mm[axis]) * part) * head.sad_mm / plane_mm;
}

__device__ inline float jaw_transmission(const Head& head, const Instant& instant, const float from_mm[3], const float at_mm[2])
{
    float through = 1.0f;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        float jaws_mm[2];
        jaws_of(instant, axis, jaws_mm);
        float x = crossing(head, from_mm, at_mm, axis, head.jaw_distance_mm[axis]);
        if (x < jaws_mm[0] || x > jaws_mm[1]) {
            through *= head.jaw_transmission;
        }
    }
    return through;
}

// Jaws of an axis as they open the extra-focal source to where the ray goes.
__device__ inline Shutter extra_focal_shutter(const Head& head, const Instant& instant, const float at_mm[2], int axis)
{
    float jaw_mm = head.jaw_distance_mm[axis];
    float part = (jaw_mm - head.extra_distance_mm) / (head.sad_mm - head.extra_distance_mm);
    float edges[2];
    jaws_of(instant, axis, edges);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        edges[side] = (edges[side] * jaw_mm / head.sad_mm - at_mm[axis] * part) / (1.0f - part) / head.extra_sigma_mm;
    }
    return shutter_of(edges, head.jaw_transmission);
}

// Transmission of what shapes a field within the jaws: leaves, or a map in their place.
__device__ inline float transmission_within_jaws(const HeadTables& source, const BeamPosition& position, const Head& head,
                                                 const Instant& instant, const float from_mm[3], const float at_mm[2])
{
    if (position.pairs == 0u || head.leaf_distance_mm <= 0.0f) {
        return 1.0f;
    }
    float x = crossing(head, from_mm, at_mm, 0, head.leaf_distance_mm), y = crossing(head, from_mm, at_mm, 1, head.leaf_distance_mm);
    bool swapped = position.along_y != 0u;
    float u = swapped ? y : x, v = swapped ? x : y;
    return position.map_columns > 0u ? map_value(source, position, u, v)
                                     : leaf_transmission(source, position, head, *instant.segment, instant.time, u, v);
}

// History n of a batch (engine/histories/head/sample.rs).
__device__ inline Particle sample(const HeadTables& source, const Stream& stream, unsigned n, float batch)
{
    uint4 words = stream.words(PLACE_HEAD), source_words = stream.words(PLACE_SOURCE);
    float stratified = ((float)n + unit(words.x)) / batch;
    unsigned number = 0u;
    while (number + 1u < source.bin_count && source.bins[number].until <= stratified) {
        number += 1u;
    }
    const EnergyBin& bin = source.bins[number];
    const Cell* cells = source.cells + bin.cells_at;
    unsigned drawn = __umulhi(words.y, bin.cells);
    drawn = unit(words.z) < cells[drawn].keep ? drawn : cells[drawn].other;
    Cell cell = cells[drawn];
    const BeamPosition& position = source.beam_positions[cell.beam_position];
    const Head& head = source.heads[bin.head];
    bool electron = bin.kind == ELECTRON;
    unsigned inside = bin.cells_at + drawn - (electron ? position.first_electron_cell : position.first_cell);
    unsigned column = inside % position.columns, row = inside / position.columns;
    float at_mm[2] = {position.corner_mm[0] + ((float)column + unit(words.w)) * position.cell_mm[0],
                      position.corner_mm[1] + ((float)row + unit(source_words.x)) * position.cell_mm[1]};
    float radius_mm = sqrtf(at_mm[0] * at_mm[0] + at_mm[1] * at_mm[1]);
    float cos = head.sad_mm / sqrtf(head.sad_mm * head.sad_mm + radius_mm * radius_mm);
    Particle p;
    p.bin = number;
    p.kind = bin.kind;
    p.energy_mev = bin.energy_mev;
    float weight = cell.weight * bin.weight;
    float from_mm[3] = {0.0f, 0.0f, 0.0f};
    if (electron) {
        p.weight = weight * cos * cos * cos;
        aim(position, head, from_mm, at_mm, p);
        return p;
    }
    uint4 delivery = stream.words(PLACE_DELIVERY);
    Instant instant = instant_of(source, position, unit(delivery.y), unit(delivery.z));
    float softening = over_radius(source.softening + bin.softening_at, radius_mm);
    bool extra = unit(source_words.w) < cell.extra;
    float by_jaws;
    if (extra) {
        Shutter x = extra_focal_shutter(head, instant, at_mm, 0), y = extra_focal_shutter(head, instant, at_mm, 1);
        from_mm[0] = head.extra_sigma_mm * x.draw(unit(source_words.y));
        from_mm[1] = head.extra_sigma_mm * y.draw(unit(source_words.z));
        from_mm[2] = head.extra_distance_mm;
        by_jaws = x.passing() * y.passing();
    } else {
        float radius = sqrtf(-2.0f * logf(unit(source_words.y)));
        float spot[2];
        sincosf(TAU * unit(source_words.z), &spot[1], &spot[0]);
        from_mm[0] = spot[0] * radius * head.focal_sigma_mm[0];
        from_mm[1] = spot[1] * radius * head.focal_sigma_mm[1];
        by_jaws = jaw_transmission(head, instant, from_mm, at_mm);
    }
    float through = by_jaws == 0.0f ? 0.0f : by_jaws * transmission_within_jaws(source, position, head, instant, from_mm, at_mm);
    float seen;
    if (extra) {
        float dx = at_mm[0] - from_mm[0], dy = at_mm[1] - from_mm[1], down = head.sad_mm - from_mm[2];
        float slant = down / sqrtf(down * down + dx * dx + dy * dy);
        seen = head.extra_share / cell.extra * slant * cos * cos;
    } else {
        seen = (1.0f - head.extra_share) / (1.0f - cell.extra) * over_radius(source.horns + head.horn_at, radius_mm) * cos * cos * cos;
    }
    p.weight = weight * softening * seen * through;
    aim(position, head, from_mm, at_mm, p);
    return p;
}
