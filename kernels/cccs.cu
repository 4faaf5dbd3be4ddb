// Collapsed cone: energy carried along lattices of parallel lines by exponential recursion, every direction of a beam
// at once. See cccs.cuh for the names, engine/cpu/cccs for the reference.
//
// A thread carries a line from the first slab to the last. Which voxels lines pass is the same for all of them but for whole
// voxels, so that a warp takes every turn together; cccs_walk writes the turns down once. What a voxel sends along the
// direction is found once for all lines of a block of threads that pass it, and kept in shared memory for the time of a
// slab. Lines that leave the block sideways come in again on the other side, empty (one row and some columns of padding see
// to that): as many threads as voxels of a face, and every one always has work. cccs_near puts right what thin lines
// misplace next to where energy is released.
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

// Writes down the visits of every direction and slab, in the order in which the lines come to them.
extern "C" __global__ void __launch_bounds__(128)
cccs_walk(const March march, const int headings, const Heading* __restrict__ heading_list, Visit* __restrict__ visits,
          Slab* __restrict__ slab_list)
{
    int slabs = march.slabs;
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= headings * slabs) {
        return;
    }
    const Heading& heading = heading_list[index / slabs];
    int step = index % slabs;
    double entry[2];
    for (int axis = 0; axis < 2; ++axis) {
        // No fused multiply-add: as the CPU rounds.
        entry[axis] = __dadd_rn(heading.start[axis], __dmul_rn(heading.per_slab[axis], (double)step));
    }
    Pieces pieces;
    walk_slab(pieces, entry, heading.per_slab, (double)heading.slab_path_cm);
    int base[2] = {0x7fffffff, 0x7fffffff};
    for (int n = 0; n < pieces.count; ++n) {
        base[0] = min(base[0], pieces.cell[n][0]);
        base[1] = min(base[1], pieces.cell[n][1]);
    }
    for (int n = 0; n < pieces.count; ++n) {
        const int* cell = pieces.cell[n];
        int place = (cell[1] - base[1]) * TILE_COLUMNS + cell[0] - base[0];
        visits[index * MOST_VISITS + n] = {place, pieces.length_cm[n] * EXPONENT_PER_CM};
    }
    slab_list[index] = {{modulo(base[0], march.pitch), modulo(base[1], march.across + 1)}, pieces.count, 0};
}

// A voxel of the tile: what its release sends along the lines.
struct __align__(16) Entry {
    float full[TERMS]; // what each term would settle at
    float settled;     // the sum of these
    float released;    // energy per length, over EXPONENT_PER_CM
    float density;
};

__device__ inline void send(Entry& entry, const Release& release, const Coefficients& c)
{
    float released = release.primary[0] * c.sums[0] + release.primary[1] * c.sums[1] + release.scatter[0] * c.sums[2]
                     + release.scatter[1] * c.sums[3];
    entry.released = released * (1.0f / EXPONENT_PER_CM);
    entry.settled = 0.0f;
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
        entry.full[term] = full;
        entry.settled += full;
    }
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

// Density outside the block: nothing gets through, so that lines end there and others begin.
constexpr float WALL = 1e30f;

// A voxel of the tile of the next slab, fetched while lines pass the one before.
struct Fetched {
    int at; // its index; below zero outside the block
    int voxel;
    int across;
    float density;
    Release release;
};

__device__ inline int round_at(int value, int period)
{
    value -= value >= period ? period : 0;
    return value >= period ? value - period : value;
}

__device__ inline void fetch(Fetched& fetched, const March& march, const Slab& slab, int slab_number, int place,
                             const float* __restrict__ density, const Release* __restrict__ release)
{
    fetched.at = -1;
    fetched.density = WALL;
    fetched.release = {{0.0f, 0.0f}, {0.0f, 0.0f}};
    if (place >= TILE) {
        return;
    }
    int row = place / TILE_COLUMNS;
    fetched.voxel = round_at(blockIdx.x * LANES + place - row * TILE_COLUMNS + slab.base[0], march.pitch);
    fetched.across = blockIdx.y * ROWS + row + slab.base[1];
    // A division would take longer than the one or two rounds.
    while (fetched.across > march.across) {
        fetched.across -= march.across + 1;
    }
    if (fetched.across < march.across && fetched.voxel < march.columns) {
        int row_number = fetched.across * march.row_of_across + slab_number * march.row_of_slab;
        fetched.at = row_number * march.pitch + fetched.voxel;
        fetched.density = __ldg(density + fetched.at);
        fetched.release = release[fetched.at];
    }
}

__device__ inline bool any_lane(bool mine) { return __any_sync(0xffffffffu, mine) != 0; }

__device__ inline float power_of_2(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

// A line through a voxel: every term moves towards what it would settle at; what is not carried on
// stays.
template <bool RELEASES>
__device__ inline float carry(float exponent, const Entry& entry, float state[TERMS], float& sum)
{
    float keeps = power_of_2(exponent);
    float carried = 0.0f;
#pragma unroll
    for (int term = 0; term < TERMS; ++term) {
        if (RELEASES) {
            float beyond = state[term] - entry.full[term];
            state[term] = fmaf(keeps, beyond, entry.full[term]);
            carried = fmaf(keeps, beyond, carried);
        } else {
            state[term] *= keeps;
            carried += state[term];
        }
        // Each term decays twice as fast as the one before.
        keeps *= keeps;
    }
    float before = sum;
    sum = RELEASES ? carried + entry.settled : carried;
    return RELEASES ? fmaf(exponent, entry.released, before - sum) : before - sum;
}

// The line of a thread through the voxels of a slab, one after the other.
template <bool RELEASES>
__device__ inline void pass(const Visit* __restrict__ visits, int count, const Entry* own, int* own_left, float units,
                            float state[TERMS], float& sum)
{
    for (int n = 0; n < count; ++n) {
        Visit visit = visits[n];
        Entry entry = own[visit.place];
        // Air.
        if (!any_lane(entry.density > 0.0f)) {
            continue;
        }
        float stays = carry<RELEASES>(entry.density * visit.exponent, entry, state, sum);
        atomicAdd(own_left + visit.place, __float2int_rn(stays * units));
    }
}

// Moves every line of a direction through the block.
__device__ inline void transport(const March& march, const Heading& heading, const Visit* __restrict__ visits,
                                 const Slab* __restrict__ slabs, const Coefficients* __restrict__ table,
                                 const float* __restrict__ density, const Release* __restrict__ release, float units,
                                 int* __restrict__ deposit)
{
    __shared__ Entry tile[TILE];
    __shared__ int left[TILE];
    int thread = threadIdx.y * LANES + threadIdx.x;
    int own = threadIdx.y * TILE_COLUMNS + threadIdx.x;
    bool has_lines = blockIdx.y * ROWS + threadIdx.y <= march.across;
    float state[TERMS] = {};
    float sum = 0.0f;
    bool active = false;
    Fetched next[FILLS];
    for (int step = -1; step < march.slabs; ++step) {
        int number = heading.backward ? march.slabs - 1 - step : step;
        int at[FILLS];
        bool mine = false;
        if (step >= 0) {
#pragma unroll
            for (int fill = 0; fill < FILLS; ++fill) {
                int place = thread + fill * THREADS;
                const Release& r = next[fill].release;
                bool some = r.primary[0] != 0.0f || r.primary[1] != 0.0f || r.scatter[0] != 0.0f || r.scatter[1] != 0.0f;
                at[fill] = next[fill].at;
                mine = mine || some;
                if (place < TILE) {
                    Entry entry = {};
                    if (some) {
                        send(entry, r, coefficients_of(march, heading, table, next[fill].voxel, next[fill].across, number));
                    }
                    entry.density = next[fill].density;
                    tile[place] = entry;
                    left[place] = 0;
                }
            }
        }
        bool releases = __syncthreads_or(mine) != 0;
        if (step + 1 < march.slabs) {
#pragma unroll
            for (int fill = 0; fill < FILLS; ++fill) {
                fetch(next[fill], march, slabs[step + 1], number + (heading.backward ? -1 : 1), thread + fill * THREADS,
                      density, release);
            }
        }
        active = active || releases;
        if (!active) {
            continue;
        }
        const Visit* here = visits + step * MOST_VISITS;
        if (has_lines && releases) {
            pass<true>(here, slabs[step].visits, tile + own, left + own, units, state, sum);
        } else if (has_lines) {
            pass<false>(here, slabs[step].visits, tile + own, left + own, units, state, sum);
        }
        __syncthreads();
#pragma unroll
        for (int fill = 0; fill < FILLS; ++fill) {
            int place = thread + fill * THREADS;
            if (place < TILE && at[fill] >= 0 && left[place] != 0) {
                atomicAdd(deposit + at[fill], left[place]);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
cccs_transport(const March march, const Heading* __restrict__ headings, const Visit* __restrict__ visits,
               const Slab* __restrict__ slab_list, const Coefficients* __restrict__ table,
               const float* __restrict__ density, const Release* __restrict__ release, const Scale* __restrict__ scale,
               int* __restrict__ deposit)
{
    int slabs = march.slabs;
    const Heading& heading = headings[blockIdx.z];
    float unit = unit_of(*scale);
    if (!(unit > 0.0f)) {
        return;
    }
    transport(march, heading, visits + blockIdx.z * slabs * MOST_VISITS, slab_list + blockIdx.z * slabs, table, density,
              release, heading.weight / unit, deposit);
}

// The stencil of a layout (engine/cccs/near.rs), as the host declares it, field for field.
struct Near {
    float kernel_from_block[3][3];
    float tilt_reach;
    int tilt_count;
    int offsets;
};

// A voxel that releases, seen from the one that receives: along a row, across, along the slabs; then the voxels on the way
// from the one that releases on, as steps of the index, and their parts of it.
struct __align__(16) NearOffset {
    int from[3];
    int none;
    int way[NEAR_WAY];
    float part[NEAR_WAY];
};

// Adds what thin lines misplace close to where energy is released: engine/cpu/cccs/near.rs.
extern "C" __global__ void __launch_bounds__(128)
cccs_near(const March march, const Near near, const NearOffset* __restrict__ offsets, const float4* __restrict__ table,
          const float* __restrict__ density, const Release* __restrict__ release, const Scale* __restrict__ scale,
          int* __restrict__ deposit)
{
    int voxel = blockIdx.x * 32 + threadIdx.x;
    int across = blockIdx.y * blockDim.y + threadIdx.y;
    int slab = blockIdx.z;
    float unit = unit_of(*scale);
    if (across >= march.across || !(unit > 0.0f)) {
        return;
    }
    int at = (across * march.row_of_across + slab * march.row_of_slab) * march.pitch + voxel;
    float ray[3] = {((float)(voxel / STRIP * STRIP) + 0.5f * (STRIP - 1)) * march.spacing_mm[0] - march.from_mm[0],
                    (float)across * march.spacing_mm[1] - march.from_mm[1],
                    (float)slab * march.spacing_mm[2] - march.from_mm[2]};
    float tilted[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float* row = near.kernel_from_block[axis];
        tilted[axis] = row[0] * ray[0] + row[1] * ray[1] + row[2] * ray[2];
    }
    int first = 0;
    if (tilted[2] > 0.0f) {
        int cell[2];
        for (int axis = 0; axis < 2; ++axis) {
            float place = (tilted[axis] / tilted[2] / near.tilt_reach + 1.0f) * 0.5f * near.tilt_count;
            cell[axis] = min((int)fmaxf(place, 0.0f), near.tilt_count - 1);
        }
        first = (cell[1] * near.tilt_count + cell[0]) * march.slabs;
    }
    float sum = 0.0f;
    for (int n = 0; n < near.offsets; ++n) {
        NearOffset offset = offsets[n];
        int from_across = across + offset.from[1], from_slab = slab + offset.from[2];
        if ((unsigned)from_across >= (unsigned)march.across || (unsigned)from_slab >= (unsigned)march.slabs) {
            continue;
        }
        float primary = 0.0f;
        if (voxel < march.columns && (unsigned)(voxel + offset.from[0]) < (unsigned)march.columns) {
            float2 both = *(const float2*)release[at + offset.way[0]].primary;
            primary = both.x + both.y;
        }
        if (!any_lane(primary != 0.0f)) {
            continue;
        }
        if (primary != 0.0f) {
            float from = density[at + offset.way[0]];
            float mean = from * offset.part[0];
#pragma unroll
            for (int step = 1; step < NEAR_WAY; ++step) {
                mean = fmaf(density[at + offset.way[step]], offset.part[step], mean);
            }
            mean = fminf(mean, NEAR_DENSEST);
            float4 powers = table[(first + from_slab) * near.offsets + n];
            sum = fmaf(fmaf(fmaf(powers.z, mean, powers.y), mean, powers.x), from * primary, sum);
        }
    }
    if (sum != 0.0f) {
        deposit[at] += __float2int_rn(sum * density[at] / unit);
    }
}

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
