// Monte Carlo convolution/superposition (Zhou et al., Med. Phys. 37, 5593 (2010)) in stages: `mccs_head` draws particles, follows them
// through the head and to their first interactions and writes rays; `mccs_rays` deposits along them; `mccs_tally` adds a batch
// to the sums. engine/mccs/cpu is the same on the CPU, name for name.
//
// Deposits are whole numbers of quanta: their sum is the same in any order, so that equal runs are equal to the bit.

#include "mccs.cuh"

// A particle on its way to the patient.
struct Particle {
    float energy, from_cm[3], direction[3];
};

__device__ inline float over_radius(const float* __restrict__ table, float radius_mm)
{
    float x = fminf(radius_mm / RADIUS_STEP_MM, (float)(RADII - 1));
    int i = min((int)x, RADII - 2);
    return table[i] + (table[i + 1] - table[i]) * (x - (float)i);
}

__device__ inline Particle along(const BeamPosition& position, const Head& head, float energy, const float from_mm[3], const float at_mm[2])
{
    float way_mm[3] = {at_mm[0] - from_mm[0], at_mm[1] - from_mm[1], head.sad_mm - from_mm[2]};
    Particle p;
    p.energy = energy;
    float way[3];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        float x = position.axes[0][a], y = position.axes[1][a], z = position.axes[2][a];
        p.from_cm[a] = position.source_cm[a] + 0.1f * (from_mm[0] * x + from_mm[1] * y - from_mm[2] * z);
        way[a] = 0.1f * (way_mm[0] * x + way_mm[1] * y - way_mm[2] * z);
    }
    float length = sqrtf(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        p.direction[a] = way[a] / length;
    }
    return p;
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

// Value of a fluence map in the plane of the leaves (engine/mccs/cpu/head.rs).
__device__ inline float map_value(const Tables& run, const BeamPosition& position, float u, float v)
{
    int rows = (int)position.pairs;
    int above = sides_below(run.leaf_boundaries_mm + position.boundaries_at, rows + 1, v);
    float column = floorf((u - position.map_first_mm) / position.map_step_mm);
    if (above == 0 || above > rows || !(column >= 0.0f && column < (float)position.map_columns)) {
        return 0.0f;
    }
    return run.map_values[position.map_at + (unsigned)(above - 1) * position.map_columns + (unsigned)column];
}

// Leaves::ray_transmission of physics/leaf.rs.
__device__ inline float leaf_transmission(const Tables& run, const BeamPosition& position, const Head& head, const Segment& segment, float when,
                                          float u, float v)
{
    const float* sides = run.leaf_boundaries_mm + position.boundaries_at;
    int pairs = (int)position.pairs;
    int above = sides_below(sides, pairs + 1, v);
    if (above == 0 || above == pairs + 1) {
        return 1.0f;
    }
    int row = above - 1;
    float magnification = head.sad_mm / head.leaf_distance_mm;
    float half_tongue = 0.5f * head.tongue_mm * magnification;
    float t = head.leaf_transmission;
    const float* tips = run.tips_mm + segment.tips_at;
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

__device__ inline float collimators(const Tables& run, const BeamPosition& position, const Head& head, float which, float when,
                                    const float from_mm[3], const float at_mm[2])
{
    const Segment* segments = run.segments + position.segments_at;
    unsigned number = 0u;
    while (number + 1u < position.segments && segments[number].until <= which) {
        number += 1u;
    }
    const Segment& segment = segments[number];
    auto crossing = [&](int axis, float plane_mm) {
        float part = (plane_mm - from_mm[2]) / (head.sad_mm - from_mm[2]);
        return (from_mm[axis] + (at_mm[axis] - from_mm[axis]) * part) * head.sad_mm / plane_mm;
    };
    float through = 1.0f;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        float x = crossing(axis, head.jaw_distance_mm[axis]);
        float edge[2];
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            float from = segment.jaws_from_mm[2 * axis + side], to = segment.jaws_to_mm[2 * axis + side];
            edge[side] = from + when * (to - from);
        }
        if (x < edge[0] || x > edge[1]) {
            through *= head.jaw_transmission;
        }
    }
    if (through == 0.0f || position.pairs == 0u || head.leaf_distance_mm <= 0.0f) {
        return through;
    }
    float x = crossing(0, head.leaf_distance_mm), y = crossing(1, head.leaf_distance_mm);
    bool swapped = position.along_y != 0u;
    float u = swapped ? y : x, v = swapped ? x : y;
    return through * (position.map_columns > 0u ? map_value(run, position, u, v) : leaf_transmission(run, position, head, segment, when, u, v));
}

// History n of a batch (engine/mccs/cpu/head.rs).
__device__ inline Particle draw(const Tables& run, const Stream& stream, unsigned n, float batch, unsigned& number)
{
    uint4 words = stream.words(PLACE_HEAD), source = stream.words(PLACE_SOURCE);
    float place = ((float)n + unit(words.x)) / batch;
    number = 0u;
    while (number + 1u < run.group_count && run.groups[number].until <= place) {
        number += 1u;
    }
    const Group& group = run.groups[number];
    const Cell* cells = run.cells + group.cells_at;
    unsigned drawn = __umulhi(words.y, group.cells);
    drawn = unit(words.z) < cells[drawn].keep ? drawn : cells[drawn].other;
    Cell cell = cells[drawn];
    const BeamPosition& position = run.beam_positions[cell.beam_position];
    const Head& head = run.heads[group.head];
    bool electron = group.kind == ELECTRON;
    unsigned inside = group.cells_at + drawn - (electron ? position.first_electron_cell : position.first_cell);
    unsigned column = inside % position.columns, row = inside / position.columns;
    float at_mm[2] = {position.corner_mm[0] + ((float)column + unit(words.w)) * position.cell_mm[0],
                      position.corner_mm[1] + ((float)row + unit(source.x)) * position.cell_mm[1]};
    float radius_mm = sqrtf(at_mm[0] * at_mm[0] + at_mm[1] * at_mm[1]);
    float cos = head.sad_mm / sqrtf(head.sad_mm * head.sad_mm + radius_mm * radius_mm);
    float weight = cell.weight * group.energy;
    float from_mm[3] = {0.0f, 0.0f, 0.0f};
    if (electron) {
        return along(position, head, weight * cos * cos * cos, from_mm, at_mm);
    }
    float radius = sqrtf(-2.0f * logf(unit(source.y)));
    float spot[2];
    sincosf(TAU * unit(source.z), &spot[1], &spot[0]);
    spot[0] *= radius;
    spot[1] *= radius;
    float softening = over_radius(run.softening + group.softening_at, radius_mm);
    bool extra = unit(source.w) < cell.extra;
    from_mm[0] = spot[0] * (extra ? head.extra_sigma_mm : head.focal_sigma_mm[0]);
    from_mm[1] = spot[1] * (extra ? head.extra_sigma_mm : head.focal_sigma_mm[1]);
    from_mm[2] = extra ? head.extra_distance_mm : 0.0f;
    uint4 more = stream.words(PLACE_PATIENT);
    float through = collimators(run, position, head, unit(more.y), unit(more.z), from_mm, at_mm);
    float seen;
    if (extra) {
        float dx = at_mm[0] - from_mm[0], dy = at_mm[1] - from_mm[1], down = head.sad_mm - from_mm[2];
        float slant = down / sqrtf(down * down + dx * dx + dy * dy);
        seen = head.extra_share / cell.extra * slant * cos * cos;
    } else {
        seen = (1.0f - head.extra_share) / (1.0f - cell.extra) * over_radius(run.horns + head.horn_at, radius_mm) * cos * cos * cos;
    }
    return along(position, head, weight * softening * seen * through, from_mm, at_mm);
}

__device__ inline float cone_cosine(int edge) { return cosf(PI / (float)CONES * (float)edge); }

// A direction at a polar angle and an azimuth about another (engine/mccs/cpu/deposit.rs).
__device__ inline void turned(const float axis[3], float cos, float azimuth, float out[3])
{
    float x = axis[0], y = axis[1], z = axis[2];
    float sign = copysignf(1.0f, z);
    float a = -1.0f / (sign + z);
    float b = x * y * a;
    float u[3] = {1.0f + sign * x * x * a, sign * b, -sign * x};
    float v[3] = {b, sign + y * y * a, -y};
    float sin = sqrtf(fmaxf(1.0f - cos * cos, 0.0f));
    float s, c;
    sincosf(TAU * azimuth, &s, &c);
    s *= sin;
    c *= sin;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        out[i] = c * u[i] + s * v[i] + cos * axis[i];
    }
}

// Direction k from a place (engine/mccs/cpu/deposit.rs, `ray`), and the slot of the history that it goes to: those followed to the
// end come first, so that the threads of a warp have paths of like length.
__device__ inline Ray ray_from(const Tables& run, unsigned number, const Particle& photon, const Stream& stream, unsigned k,
                               const float at[3], unsigned& slot)
{
    const float* limits = run.cones + run.groups[number].cones_at;
    float count = (float)run.directions;
    uint4 first = stream.words(PLACE_RAYS);
    float xi = unit(word_of(stream.words(PLACE_RAYS + 1u + k / 4u), k % 4u));
    float share = photon.energy / count;
    float cos, azimuth;
    int cone;
    unsigned far;
    if (run.paper) {
        cos = 2.0f * xi - 1.0f;
        cone = min((int)(acosf(cos) / PI * (float)CONES), CONES - 1);
        float low = cone == 0 ? 0.0f : limits[cone - 1];
        share *= 2.0f * (limits[cone] - low) / (cone_cosine(cone) - cone_cosine(cone + 1));
        azimuth = unit(word_of(stream.words(PLACE_RAYS + 1u + k / 4u + 8u), k % 4u));
        far = 1u;
        slot = k;
    } else {
        unsigned stratum = (k + (unsigned)(unit(first.z) * count)) % run.directions;
        float place = ((float)stratum + xi) / count;
        int begin = 0, end = CONES;
        while (begin < end) {
            int middle = (begin + end) / 2;
            if (limits[middle] <= place) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        cone = min(begin, CONES - 1);
        float low = cone == 0 ? 0.0f : limits[cone - 1];
        float part = fminf(fmaxf((place - low) / (limits[cone] - low), 0.0f), 1.0f);
        float inner = cone_cosine(cone);
        cos = inner + (cone_cosine(cone + 1) - inner) * part;
        azimuth = unit(first.x) + (float)k * 0.618034f;
        azimuth -= floorf(azimuth);
        unsigned offset = (unsigned)(unit(first.y) * (float)FAR_ONE_IN);
        unsigned turn = (k + offset) % FAR_ONE_IN;
        far = turn == 0u ? FAR_ONE_IN : 0u;
        unsigned rounds = (run.directions + FAR_ONE_IN - 1u) / FAR_ONE_IN;
        slot = turn == 0u ? k / FAR_ONE_IN : rounds + (FAR_ONE_IN - 1u) * (k / FAR_ONE_IN) + (turn - 1u);
    }
    Ray ray;
    float direction[3];
    turned(photon.direction, cos, azimuth, direction);
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        ray.from[a] = at[a];
        ray.direction[a] = direction[a] * run.per_cm[a];
    }
    ray.energy = share;
    ray.packed = packed_ray(number, (unsigned)cone, far);
    return ray;
}

// Draws `histories` from the one numbered `n` within its batch on, and writes their rays: slot after slot, each over all histories.
// Slots must hold no ray before.
extern "C" __global__ void __launch_bounds__(HEAD_THREADS)
mccs_head(const Tables run, const unsigned long long first, const unsigned begin, const unsigned histories, const float batch,
          Ray* __restrict__ rays)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= histories) {
        return;
    }
    unsigned long long history = first + begin + i;
    Stream stream = {run.seed[0], run.seed[1], (unsigned)history, (unsigned)(history >> 32)};
    unsigned number;
    Particle particle = draw(run, stream, begin + i, batch, number);
    if (!(particle.energy > 0.0f)) {
        return;
    }
    float from[3], direction[3], entry;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        from[a] = particle.from_cm[a] * run.per_cm[a];
        direction[a] = particle.direction[a] * run.per_cm[a];
    }
    if (!within(run.size, from, direction, entry)) {
        return;
    }
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        from[a] = fminf(fmaxf(from[a] + entry * direction[a], 0.0f), (float)run.size[a]);
    }
    const Group& group = run.groups[number];
    if (group.kind == ELECTRON) {
        Ray ray = {{from[0], from[1], from[2]}, particle.energy, {direction[0], direction[1], direction[2]}, packed_ray(number, 0u, 0u)};
        rays[i] = ray;
        return;
    }
    // The walk only notes the distances: making rays inside it would serialise the warp.
    __shared__ float ways[MOST_DIRECTIONS][HEAD_THREADS];
    unsigned places = run.paper ? 1u : run.directions;
    float count = (float)places;
    float xi = unit(stream.words(PLACE_PATIENT).x);
    unsigned k = 0u;
    float wanted = -logf(1.0f - xi / count);
    float paths_so_far = 0.0f;
    EvenWalk walk(run.size, from, direction);
    while (k < places) {
        float start = walk.at, cm;
        int voxel;
        if (!walk.pass(voxel, cm)) {
            break;
        }
        unsigned packed = __ldg(run.voxels + voxel);
        float per_cm = density_of(packed) * group.mu[class_of(packed)];
        float paths = per_cm * cm;
        while (k < places && paths_so_far + paths >= wanted && per_cm > 0.0f) {
            ways[k][threadIdx.x] = start + (wanted - paths_so_far) / per_cm;
            k += 1u;
            wanted = -logf(1.0f - ((float)k + xi) / count);
        }
        paths_so_far += paths;
    }
    for (unsigned n = 0u; n < (run.paper ? k * run.directions : k); ++n) {
        float way = ways[run.paper ? 0u : n][threadIdx.x];
        float at[3];
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            at[a] = fminf(fmaxf(from[a] + way * direction[a], 0.0f), (float)run.size[a]);
        }
        unsigned slot;
        Ray ray = ray_from(run, number, particle, stream, n, at, slot);
        rays[(unsigned long long)slot * histories + i] = ray;
    }
}

// Deposits along rays (engine/mccs/cpu/deposit.rs, `along`), and empties their slots.
extern "C" __global__ void __launch_bounds__(128)
mccs_rays(const Tables run, Ray* __restrict__ rays, const unsigned count, unsigned long long* __restrict__ quanta)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    Ray ray = rays[i];
    if (!(ray.energy > 0.0f)) {
        return;
    }
    rays[i].energy = 0.0f;
    const Group& group = run.groups[group_of(ray)];
    const float* row = run.rows + group.rows_at + cone_of(ray) * NODES;
    float near_cm = group.near_cm;
    float far_factor = far_factor_of(ray);
    EvenWalk walk(run.size, ray.from, ray.direction);
    float energy = ray.energy, radius = 0.0f, before = 0.0f;
    bool far = false;
    int voxel;
    float cm;
    while (walk.pass(voxel, cm)) {
        radius += density_of(__ldg(run.voxels + voxel)) * cm;
        float x = sqrtf(radius * (1.0f / LAST_CM)) * (float)(NODES - 1);
        int node = min((int)x, NODES - 2);
        float low = __ldg(row + node), high = __ldg(row + node + 1);
        float inside = fminf(low + (high - low) * (x - (float)node), 1.0f);
        float deposit = (inside - before) * energy + 0.5f;
        // A float converts to 32 bits in one instruction, to 64 in several: only the few deposits that need them.
        unsigned long long left = __float2uint_rd(deposit);
        if (deposit >= 4294967296.0f) {
            left = __float2ull_rd(deposit);
        }
        if (left != 0ull) {
            atomicAdd(quanta + voxel, left);
        }
        before = inside;
        if (before >= 1.0f) {
            return;
        }
        if (radius > near_cm && !far) {
            far = true;
            energy *= far_factor;
            if (energy == 0.0f) {
                return;
            }
        }
    }
}

// Adds a batch to the sums over batches, and clears its lattice.
extern "C" __global__ void __launch_bounds__(256)
mccs_tally(const int voxels, unsigned long long* __restrict__ quanta, const Sums sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels) {
        return;
    }
    unsigned long long batch = quanta[i];
    if (batch != 0ull) {
        quanta[i] = 0ull;
        add(sums, i, batch, batch * batch, __umul64hi(batch, batch));
    }
}

// Adds the sums of another card.
extern "C" __global__ void __launch_bounds__(256)
mccs_add(const int voxels, const Sums from, const Sums to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < voxels) {
        add(to, i, from.quanta[i], from.squares[i], from.squares_high[i]);
    }
}

// Mean of a history and its standard deviation, by voxel (engine/histories/tally.rs, `means`).
extern "C" __global__ void __launch_bounds__(256)
mccs_means(const int voxels, const double batches, const double per_history, const Sums sums, float* __restrict__ mean,
           float* __restrict__ sigma)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels) {
        return;
    }
    double m = (double)sums.quanta[i] / batches;
    double squares = fma((double)sums.squares_high[i], 18446744073709551616.0, (double)sums.squares[i]);
    double variance = fmax(squares / batches - m * m, 0.0) / (batches - 1.0);
    mean[i] = (float)(m * per_history);
    sigma[i] = batches > 1.0 ? (float)(sqrt(variance) * per_history) : __int_as_float(0x7f800000);
}
