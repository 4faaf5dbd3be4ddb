// Collapsed cone: energy carried along lattices of parallel lines by exponential recursion, every direction of a beam
// at once. See cccs.cuh for the names, engine/cpu/cccs for the reference.
//
// A thread carries the lines of one number, one for each lattice of the direction, from the first slab to the last. Which
// voxels lines pass is the same for all of them but for whole voxels, so that a warp takes every turn together; cccs_walk
// writes the turns down once. Lines that leave the block sideways come in again on the other side, empty (one row and
// some columns of padding see to that): as many threads as voxels of a face, and every one always has work.
//
// What stays in a voxel is added up in integers, so that the sum does not depend on the order: equal runs are equal to
// the bit.

#include "cccs.cuh"

// What is added up is in units of greatest release x greatest density x this, a 32-bit integer's range over.
constexpr float MOST_DOSE = 8.0f;
constexpr float RANGE = 2147483648.0f;

// Greatest release and greatest density, as bits of floats of zero or more, which order as integers do.
struct Scale {
    int release_bits;
    int density_bits;
};

__device__ inline float unit_of(const Scale& scale)
{
    return __int_as_float(scale.release_bits) * fmaxf(__int_as_float(scale.density_bits), 1.0f) * (MOST_DOSE / RANGE);
}

__device__ inline int largest_of_warp(int value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        value = max(value, __shfl_xor_sync(0xffffffffu, value, lanes));
    }
    return value;
}

// Lays x-fastest density and release out in rows of `columns` (the strides are those of the x-fastest data), rows
// numbered with `fast` running first, and finds the greatest of each. A block of 32 lanes to a row.
extern "C" __global__ void __launch_bounds__(32)
cccs_lay_out(const int columns, const int fast, const int slow, const int pitch, const int stride_column,
             const int stride_fast, const int stride_slow, const float* __restrict__ density, const Release* __restrict__ release, float* __restrict__ laid_density,
             Release* __restrict__ laid_release, Scale* __restrict__ scale)
{
    int row = blockIdx.y * gridDim.x + blockIdx.x;
    if (row >= fast * slow) {
        return;
    }
    int first = (row % fast) * stride_fast + (row / fast) * stride_slow;
    float most_density = 0.0f, most_release = 0.0f;
    for (int i = threadIdx.x; i < pitch; i += 32) {
        Release released = {{0.0f, 0.0f}, {0.0f, 0.0f}};
        float here = 0.0f;
        if (i < columns) {
            here = density[first + i * stride_column];
            released = release[first + i * stride_column];
        }
        laid_density[row * pitch + i] = here;
        laid_release[row * pitch + i] = released;
        float most = fmaxf(fmaxf(fabsf(released.primary[0]), fabsf(released.primary[1])),
                           fmaxf(fabsf(released.scatter[0]), fabsf(released.scatter[1])));
        most_density = fmaxf(most_density, here);
        most_release = fmaxf(most_release, most);
    }
    int density_bits = largest_of_warp(__float_as_int(most_density));
    int release_bits = largest_of_warp(__float_as_int(most_release));
    if (threadIdx.x == 0) {
        atomicMax(&scale->density_bits, density_bits);
        atomicMax(&scale->release_bits, release_bits);
    }
}

// A lattice's way through one slab: up to three cells, cut where its lines leave their voxel sideways.
struct Pieces {
    int cell[3][2];
    float length_cm[3];
    int count;
};

__device__ inline void add_piece(Pieces& pieces, const int cell[2], double from, double to, double path_cm)
{
    if (to > from) {
        pieces.cell[pieces.count][0] = cell[0];
        pieces.cell[pieces.count][1] = cell[1];
        pieces.length_cm[pieces.count] = (float)((to - from) * path_cm);
        pieces.count += 1;
    }
}

// As LatticeWalk of engine/cpu/cccs/walk.rs.
__device__ inline void walk_slab(Pieces& pieces, const double entry[2], const double per_slab[2], double path_cm)
{
    int cell[2];
    double reach[2];
    for (int axis = 0; axis < 2; ++axis) {
        double edge = floor(entry[axis]);
        double inside = entry[axis] - edge;
        cell[axis] = (int)edge;
        reach[axis] = per_slab[axis] > 0.0   ? (1.0 - inside) / per_slab[axis]
                      : per_slab[axis] < 0.0 ? inside / -per_slab[axis]
                                             : 2.0;
    }
    pieces.count = 0;
    double at = 0.0;
    int axis = reach[0] <= reach[1] ? 0 : 1;
    for (int turn = 0; turn < 2; ++turn, axis = 1 - axis) {
        if (reach[axis] < 1.0) {
            add_piece(pieces, cell, at, reach[axis], path_cm);
            at = reach[axis];
            cell[axis] += per_slab[axis] > 0.0 ? 1 : -1;
        }
    }
    add_piece(pieces, cell, at, 1.0, path_cm);
}

__device__ inline int modulo(int value, int period)
{
    int rest = value % period;
    return rest < 0 ? rest + period : rest;
}

// Writes down the visits of every direction and slab: those of all lattices together, each voxel once, in the order in
// which the lines come to them. Along a line every next cell is one step further, and all lines go the same way: cells
// in order of steps are in order for each.
extern "C" __global__ void __launch_bounds__(128)
cccs_walk(const March march, const int lattices, const int headings, const Heading* __restrict__ heading_list,
          Visit* __restrict__ visits, int* __restrict__ counts)
{
    int slabs = march.slabs;
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= headings * slabs) {
        return;
    }
    const Heading& heading = heading_list[index / slabs];
    int step = index % slabs;
    int periods[2] = {march.pitch, march.across + 1};
    int way[2] = {heading.per_slab[0] > 0.0 ? 1 : -1, heading.per_slab[1] > 0.0 ? 1 : -1};
    Pieces pieces[MOST_LATTICES];
    int nearest = 0x7fffffff;
    for (int q = 0; q < lattices; ++q) {
        double entry[2];
        for (int axis = 0; axis < 2; ++axis) {
            // No fused multiply-add: as the CPU rounds.
            entry[axis] = __dadd_rn(heading.start[q][axis], __dmul_rn(heading.per_slab[axis], (double)step));
        }
        walk_slab(pieces[q], entry, heading.per_slab, (double)heading.slab_path_cm);
        for (int n = 0; n < pieces[q].count; ++n) {
            nearest = min(nearest, way[0] * pieces[q].cell[n][0] + way[1] * pieces[q].cell[n][1]);
        }
    }
    Visit* mine = visits + index * MOST_VISITS;
    int count = 0;
    for (int steps = nearest; steps < nearest + 6; ++steps) {
        int begin = count;
        for (int q = 0; q < lattices; ++q) {
            for (int n = 0; n < pieces[q].count; ++n) {
                const int* cell = pieces[q].cell[n];
                if (way[0] * cell[0] + way[1] * cell[1] != steps) {
                    continue;
                }
                unsigned short shift[2] = {(unsigned short)modulo(cell[0], periods[0]),
                                           (unsigned short)modulo(cell[1], periods[1])};
                int at = begin;
                while (at < count && !(mine[at].shift[0] == shift[0] && mine[at].shift[1] == shift[1])) {
                    at += 1;
                }
                if (at == count) {
                    mine[at] = {{shift[0], shift[1]}, {0.0f, 0.0f, 0.0f}};
                    count += 1;
                }
                mine[at].length_cm[q] = pieces[q].length_cm[n];
            }
        }
    }
    counts[index] = count;
}

// What the channels of a release send along the lines.
struct Sent {
    float full[TERMS]; // what each term would settle at
    float settled;     // the sum of these
    float released;    // energy per length
};

__device__ inline Sent sent(const Release& release, const Coefficients& c)
{
    Sent sent;
    sent.released = release.primary[0] * c.sums[0] + release.primary[1] * c.sums[1] + release.scatter[0] * c.sums[2]
                    + release.scatter[1] * c.sums[3];
    sent.settled = 0.0f;
#pragma unroll
    for (int term = 0; term < TERMS; ++term) {
        float full = 0.0f;
        if (term < SCATTER_END) {
            full = fmaf(release.scatter[0], c.scatter[term][0], full);
            full = fmaf(release.scatter[1], c.scatter[term][1], full);
        }
        if (term >= PRIMARY_FIRST) {
            full = fmaf(release.primary[0], c.primary[term - PRIMARY_FIRST][0], full);
            full = fmaf(release.primary[1], c.primary[term - PRIMARY_FIRST][1], full);
        }
        sent.full[term] = full;
        sent.settled += full;
    }
    return sent;
}

// The coefficients of a voxel: those of the angle between line and ray in the middle of its strip.
__device__ inline Coefficients coefficients_of(const March& march, const Heading& heading,
                                               const Coefficients* __restrict__ table, int voxel, int across, int slab)
{
    int phase = ((across + heading.turn) & (STRIP / PHASE_STEP - 1)) * PHASE_STEP;
    int begin = (voxel + phase) / STRIP * STRIP - phase;
    float ray[3] = {((float)begin + 0.5f * (STRIP - 1)) * march.spacing_mm[0] - march.from_mm[0],
                    (float)across * march.spacing_mm[1] - march.from_mm[1],
                    (float)slab * march.spacing_mm[2] - march.from_mm[2]};
    float along = ray[0] * heading.direction[0] + ray[1] * heading.direction[1] + ray[2] * heading.direction[2];
    float square = ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2];
    return table[angle_row(along * rsqrtf(fmaxf(square, 1e-12f)))];
}

// Where the lines of a thread are next, and what is there: fetched while the voxel before it is worked on.
struct Stop {
    Visit visit;
    int across;
    int slab;
    int voxel; // the lane's own, along the contiguous axis
    int at;    // its index
    float density;
    Release release;
};

// Walks through the visits of a direction.
struct Course {
    const Visit* visits;
    const int* counts;
    int step, n, count;
};

__device__ inline void next_visit(Course& course, int slabs)
{
    course.n += 1;
    while (course.n >= course.count && course.step + 1 < slabs) {
        course.step += 1;
        course.n = 0;
        course.count = __ldg(course.counts + course.step);
    }
}

__device__ inline Stop fetch(const March& march, const Heading& heading, const Course& course, int line, int line_row,
                             const float* __restrict__ density, const Release* __restrict__ release)
{
    Stop stop;
    stop.visit = course.visits[course.step * MOST_VISITS + course.n];
    stop.slab = heading.backward ? march.slabs - 1 - course.step : course.step;
    stop.across = line_row + stop.visit.shift[1];
    stop.across -= stop.across > march.across ? march.across + 1 : 0;
    stop.voxel = line + stop.visit.shift[0];
    stop.voxel -= stop.voxel >= march.pitch ? march.pitch : 0;
    int row = min(stop.across, march.across - 1) * march.row_of_across + stop.slab * march.row_of_slab;
    stop.at = row * march.pitch + stop.voxel;
    stop.density = __ldg(density + stop.at);
    stop.release = release[stop.at];
    return stop;
}

__device__ inline bool any_lane(bool mine) { return __any_sync(0xffffffffu, mine) != 0; }

// Lines of one lattice through a voxel: every term moves towards what it would settle at; what is not carried on stays.
template <bool RELEASES> __device__ inline float carry(float path, const Sent& sent, float state[TERMS], float& sum)
{
    float keeps = __expf(-SLOWEST_PER_CM * path);
    float carried = 0.0f;
#pragma unroll
    for (int term = 0; term < TERMS; ++term) {
        if (RELEASES) {
            float beyond = state[term] - sent.full[term];
            state[term] = fmaf(keeps, beyond, sent.full[term]);
            carried = fmaf(keeps, beyond, carried);
        } else {
            state[term] *= keeps;
            carried += state[term];
        }
        // Each term decays twice as fast as the one before.
        keeps *= keeps;
    }
    float before = sum;
    sum = RELEASES ? carried + sent.settled : carried;
    float stays = before - sum;
    return RELEASES ? fmaf(path, sent.released, stays) : stays;
}

// Moves every line of a direction through the block.
template <int LATTICES>
__device__ inline void transport(const March& march, const Heading& heading,
                                 const Visit* __restrict__ visits, const int* __restrict__ counts,
                                 const Coefficients* __restrict__ table, const float* __restrict__ density,
                                 const Release* __restrict__ release, float units, int* __restrict__ deposit)
{
    int line = blockIdx.x * 32 + threadIdx.x;
    int line_row = blockIdx.y * blockDim.y + threadIdx.y;
    if (line_row > march.across) {
        return;
    }
    float state[LATTICES][TERMS] = {};
    float sum[LATTICES] = {};
    bool active = false;
    Course course = {visits, counts, 0, 0, __ldg(counts)};
    Stop next = fetch(march, heading, course, line, line_row, density, release);
    while (course.n < course.count) {
        Stop stop = next;
        next_visit(course, march.slabs);
        if (course.n < course.count) {
            next = fetch(march, heading, course, line, line_row, density, release);
        }
        // Outside the block lines end, and others begin.
        bool outside = stop.across == march.across || stop.voxel >= march.columns;
        if (any_lane(outside)) {
            if (outside) {
#pragma unroll
                for (int q = 0; q < LATTICES; ++q) {
                    if (stop.visit.length_cm[q] > 0.0f) {
                        sum[q] = 0.0f;
#pragma unroll
                        for (int term = 0; term < TERMS; ++term) {
                            state[q][term] = 0.0f;
                        }
                    }
                }
            }
            if (stop.across == march.across) {
                continue;
            }
        }
        const Release& here = stop.release;
        bool releases = any_lane(here.primary[0] != 0.0f || here.primary[1] != 0.0f || here.scatter[0] != 0.0f
                                 || here.scatter[1] != 0.0f);
        active = active || releases;
        if (!active || !any_lane(stop.density > 0.0f)) {
            continue;
        }
        float stays = 0.0f;
        Sent s = {};
        if (releases) {
            s = sent(here, coefficients_of(march, heading, table, stop.voxel, stop.across, stop.slab));
#pragma unroll
            for (int q = 0; q < LATTICES; ++q) {
                if (stop.visit.length_cm[q] > 0.0f) {
                    stays += carry<true>(stop.density * stop.visit.length_cm[q], s, state[q], sum[q]);
                }
            }
        } else {
#pragma unroll
            for (int q = 0; q < LATTICES; ++q) {
                if (stop.visit.length_cm[q] > 0.0f) {
                    stays += carry<false>(stop.density * stop.visit.length_cm[q], s, state[q], sum[q]);
                }
            }
        }
        int rounded = __float2int_rn(stays * units);
        if (rounded != 0) {
            atomicAdd(deposit + stop.at, rounded);
        }
    }
}

#define TRANSPORT(LATTICES)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256) cccs_transport_##LATTICES(                                      \
        const March march, const Heading* __restrict__ headings,                                                       \
        const Visit* __restrict__ visits, const int* __restrict__ counts, const Coefficients* __restrict__ table,      \
        const float* __restrict__ density, const Release* __restrict__ release,                                        \
        const Scale* __restrict__ scale, int* __restrict__ deposit)                                                    \
    {                                                                                                                  \
        int slabs = march.slabs;                                                                                       \
        const Heading& heading = headings[blockIdx.z];                                                                 \
        float unit = unit_of(*scale);                                                                                  \
        if (!(unit > 0.0f)) {                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        transport<LATTICES>(march, heading, visits + blockIdx.z * slabs * MOST_VISITS,                       \
                            counts + blockIdx.z * slabs, table, density, release, heading.weight / unit, deposit);     \
    }

TRANSPORT(1)
TRANSPORT(2)
TRANSPORT(3)

// Adds `factor` times what the lines of both layouts left onto x-fastest energy per volume: along x from the one, the
// x-fastest, and from the other, in which x and y are exchanged.
extern "C" __global__ void __launch_bounds__(256)
cccs_gather(const int size_x, const int size_y, const int size_z, const int pitch, const int pitch_exchanged,
            const float factor, const int* __restrict__ deposit, const int* __restrict__ exchanged,
            const Scale* __restrict__ scale, float* __restrict__ energy)
{
    __shared__ int tile[32][33];
    int k = blockIdx.z;
    int i0 = blockIdx.x * 32, j0 = blockIdx.y * 32;
    for (int row = threadIdx.y; row < 32; row += blockDim.y) {
        int i = i0 + row, j = j0 + threadIdx.x;
        tile[row][threadIdx.x] = i < size_x && j < size_y ? exchanged[(k * size_x + i) * pitch_exchanged + j] : 0;
    }
    __syncthreads();
    float unit = factor * unit_of(*scale);
    for (int row = threadIdx.y; row < 32; row += blockDim.y) {
        int i = i0 + threadIdx.x, j = j0 + row;
        if (i < size_x && j < size_y) {
            int sum = deposit[(k * size_y + j) * pitch + i] + tile[threadIdx.x][row];
            int at = (k * size_y + j) * size_x + i;
            energy[at] = fmaf((float)sum, unit, energy[at]);
        }
    }
}
