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
// numbered with `fast` running first, and notes how every row is used. A block of 32 lanes to a row.
extern "C" __global__ void __launch_bounds__(32)
cccs_lay_out(const int columns, const int fast, const int slow, const int pitch, const int stride_column,
             const int stride_fast, const int stride_slow, const float* __restrict__ density, const Release* __restrict__ release, float* __restrict__ laid_density,
             Release* __restrict__ laid_release, RowUse* __restrict__ uses, Scale* __restrict__ scale)
{
    int row = blockIdx.y * gridDim.x + blockIdx.x;
    if (row >= fast * slow) {
        return;
    }
    const int FAR = 1 << 28;
    int first = (row % fast) * stride_fast + (row / fast) * stride_slow;
    int low = FAR, high = 0, low_released = FAR, high_released = 0;
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
        if (here != 0.0f) {
            low = min(low, i);
            high = i + 1;
        }
        if (most != 0.0f) {
            low_released = min(low_released, i);
            high_released = i + 1;
        }
        most_density = fmaxf(most_density, here);
        most_release = fmaxf(most_release, most);
    }
    low = FAR - largest_of_warp(FAR - low);
    high = largest_of_warp(high);
    low_released = FAR - largest_of_warp(FAR - low_released);
    high_released = largest_of_warp(high_released);
    int density_bits = largest_of_warp(__float_as_int(most_density));
    int release_bits = largest_of_warp(__float_as_int(most_release));
    if (threadIdx.x == 0) {
        uses[row] = {{min(low, high), high}, {min(low_released, high_released), high_released}};
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

// Whether voxels from `first` to first + 31, going round at `pitch`, meet a range.
__device__ inline bool meets(int first, int pitch, const int range[2])
{
    int last = first + 31;
    return (first < range[1] && last >= range[0]) || (last - pitch >= range[0] && range[1] > range[0]);
}

// What the channels of a release send along the lines.
struct Sent {
    float full[TERMS];
    float released;
};

__device__ inline Sent sent(const Release& release, const Coefficients& c)
{
    Sent sent;
    sent.released = release.primary[0] * c.sums[0] + release.primary[1] * c.sums[1] + release.scatter[0] * c.sums[2]
                    + release.scatter[1] * c.sums[3];
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

// Moves every line of a direction through the block.
template <int LATTICES>
__device__ inline void transport(const March& march, const Heading& heading,
                                 const Visit* __restrict__ visits, const int* __restrict__ counts,
                                 const Coefficients* __restrict__ table, const float* __restrict__ density,
                                 const Release* __restrict__ release, const RowUse* __restrict__ uses, float units,
                                 int* __restrict__ deposit)
{
    int first_line = blockIdx.x * 32;
    int line = first_line + threadIdx.x;
    int line_row = blockIdx.y * blockDim.y + threadIdx.y;
    int rows_across = march.across;
    if (line_row > rows_across) {
        return;
    }
    float state[LATTICES][TERMS] = {};
    bool active = false;
    for (int step = 0; step < march.slabs; ++step) {
        int slab = heading.backward ? march.slabs - 1 - step : step;
        int count = __ldg(counts + step);
        for (int n = 0; n < count; ++n) {
            Visit visit = visits[step * MOST_VISITS + n];
            int across = line_row + visit.shift[1];
            across -= across > rows_across ? rows_across + 1 : 0;
            int first = first_line + visit.shift[0];
            first -= first >= march.pitch ? march.pitch : 0;
            int voxel = line + visit.shift[0];
            voxel -= voxel >= march.pitch ? march.pitch : 0;
            // Outside the block lines end, and others begin.
            bool row_ends = across == rows_across;
            if (row_ends || first + 31 >= march.columns) {
                if (row_ends || voxel >= march.columns) {
#pragma unroll
                    for (int q = 0; q < LATTICES; ++q) {
#pragma unroll
                        for (int term = 0; term < TERMS; ++term) {
                            state[q][term] = visit.length_cm[q] > 0.0f ? 0.0f : state[q][term];
                        }
                    }
                }
                if (row_ends) {
                    continue;
                }
            }
            int row = across * march.row_of_across + slab * march.row_of_slab;
            RowUse use = uses[row];
            bool releases = meets(first, march.pitch, use.releasing);
            active = active || releases;
            if (!active || !meets(first, march.pitch, use.matter)) {
                continue;
            }
            int at = row * march.pitch + voxel;
            float here = __ldg(density + at);
            float stays = 0.0f;
            if (releases) {
                Coefficients c = coefficients_of(march, heading, table, voxel, across, slab);
                Sent s = sent(release[at], c);
#pragma unroll
                for (int q = 0; q < LATTICES; ++q) {
                    if (visit.length_cm[q] > 0.0f) {
                        float path = here * visit.length_cm[q];
                        float loss = slowest_loss(path);
                        stays = fmaf(path, s.released, stays);
#pragma unroll
                        for (int term = 0; term < TERMS; ++term) {
                            float missing = s.full[term] - state[q][term];
                            state[q][term] = fmaf(loss, missing, state[q][term]);
                            stays = fmaf(-loss, missing, stays);
                            loss = loss * (2.0f - loss);
                        }
                    }
                }
            } else {
#pragma unroll
                for (int q = 0; q < LATTICES; ++q) {
                    if (visit.length_cm[q] > 0.0f) {
                        float loss = slowest_loss(here * visit.length_cm[q]);
#pragma unroll
                        for (int term = 0; term < TERMS; ++term) {
                            float gone = loss * state[q][term];
                            state[q][term] -= gone;
                            stays += gone;
                            loss = loss * (2.0f - loss);
                        }
                    }
                }
            }
            int rounded = __float2int_rn(stays * units);
            if (rounded != 0) {
                atomicAdd(deposit + at, rounded);
            }
        }
    }
}

#define TRANSPORT(LATTICES)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256) cccs_transport_##LATTICES(                                      \
        const March march, const Heading* __restrict__ headings,                                                       \
        const Visit* __restrict__ visits, const int* __restrict__ counts, const Coefficients* __restrict__ table,      \
        const float* __restrict__ density, const Release* __restrict__ release, const RowUse* __restrict__ uses,       \
        const Scale* __restrict__ scale, int* __restrict__ deposit)                                                    \
    {                                                                                                                  \
        int slabs = march.slabs;                                                                                       \
        const Heading& heading = headings[blockIdx.z];                                                                 \
        float unit = unit_of(*scale);                                                                                  \
        if (!(unit > 0.0f)) {                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        transport<LATTICES>(march, heading, visits + blockIdx.z * slabs * MOST_VISITS,                       \
                            counts + blockIdx.z * slabs, table, density, release, uses, heading.weight / unit,        \
                            deposit);                                                                                  \
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
