// What the collapsed cone needs before its lines are sent, and what it does behind them: voxels laid out once more for each
// dominant axis, with both parts of what they release; where anything is released; the ways of the lines through the slabs; and in
// the end the sum of what the lines left. See cccs.cuh for the names, engine/cpu/cccs for the reference.
//
// The release comes in two parts: what is bright, above a small part of the greatest release, and the faint rest.

#include "cccs.cuh"

// Tilts of rays for which there are factors, each way: TILTS of engine/jobs/cccs/angles.rs.
constexpr int TILTS = 17;

// Finds the greatest release and density.
extern "C" __global__ void __launch_bounds__(256)
layout_scale(const int count, const float* __restrict__ density, const Release* __restrict__ release,
             Scale* __restrict__ scale)
{
    float most_density = 0.0f, most_release = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        most_density = fmaxf(most_density, density[i]);
        most_release = fmaxf(most_release, total(release[i]));
    }
    int density_bits = -least_of_warp(-__float_as_int(most_density));
    int release_bits = -least_of_warp(-__float_as_int(most_release));
    if (threadIdx.x % LANES == 0) {
        atomicMax(&scale->density_bits, density_bits);
        atomicMax(&scale->release_bits, release_bits);
    }
}

// The rays of a field, as the host declares them, field for field: rows of the matrix from the layout's axes to the
// kernel's, and the tangents against the beam axis that the table of tilts holds.
struct Rays {
    float kernel_from_block[3][3];
    float tilt_reach;
};

// Those of the tilt that is next: what is faint need not be more exact.
__device__ inline float4 tilt_factors(const Rays& rays, const float4* __restrict__ factors, const float ray[3])
{
    float tilted[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float* row = rays.kernel_from_block[axis];
        tilted[axis] = row[0] * ray[0] + row[1] * ray[1] + row[2] * ray[2];
    }
    float per_tilt = 0.5f * (TILTS - 1) / (rays.tilt_reach * tilted[2]);
    int cell[2];
    for (int axis = 0; axis < 2; ++axis) {
        float place = tilted[2] > 0.0f ? fmaf(tilted[axis], per_tilt, 0.5f * (TILTS - 1)) : 0.0f;
        cell[axis] = (int)(fminf(fmaxf(place, 0.0f), TILTS - 1) + 0.5f);
    }
    return factors[cell[1] * TILTS + cell[0]];
}

// What a voxel releases into a part, and its density, negated where that is anything; thin ones are marked as in Source.
struct Laid {
    float density;
    float primary;
    float scatter;
};

__device__ inline Laid laid_of(float density, float thin, float primary, float scatter)
{
    bool is_thin = density < thin;
    return {laid_density(density, is_thin || primary + scatter > 0.0f), primary, laid_scatter(scatter, is_thin)};
}

// The two parts of what a voxel releases. The faint one has factors by tilt, which make it as much along its directions as
// it would be along those of the bright one; they hardly change how much of it is deep.
struct Split {
    Laid bright, faint;
    Mix mix;
};

__device__ inline Split split_of(float density, float thin, const Release& all, float faintest, const float4& factor)
{
    const Laid nothing = laid_of(density, thin, 0.0f, 0.0f);
    Split parts = {nothing, nothing, {NO_MIX, NO_MIX}};
    float sum = total(all);
    if (sum > 0.0f && density > 0.0f) {
        float primary = all.primary[0] + all.primary[1], scatter = all.scatter[0] + all.scatter[1];
        parts.mix = {primary > 0.0f ? all.primary[1] / primary : 0.0f, scatter > 0.0f ? all.scatter[1] / scatter : 0.0f};
        float dim = fminf(faintest / sum, 1.0f);
        parts.bright = laid_of(density, thin, primary * (1.0f - dim), scatter * (1.0f - dim));
        parts.faint = laid_of(density, thin, fmaf(all.primary[0], factor.x, all.primary[1] * factor.y) * dim,
                              fmaf(all.scatter[0], factor.z, all.scatter[1] * factor.w) * dim);
    }
    return parts;
}

// Where a part of the release goes as it is laid out.
struct Part {
    float* density;
    Source* source;
};

__device__ inline void lay(const Part& part, int to, const Laid& laid, const Mix& mix)
{
    part.density[to] = laid.density;
    // Nobody reads others.
    if (is_releasing(laid.density)) {
        part.source[to] = {laid.primary, laid.scatter, mix};
    }
}

// Lays x-fastest density and both parts of the release out for the three dominant axes. Unless it is split all is bright, and
// nothing faint is written. Blocks of LANES x 8 take LANES x LANES voxels of a plane across z.
extern "C" __global__ void __launch_bounds__(256)
layout_fill(const March along_x, const March along_y, const March along_z, const Rays rays, const int split,
            const float faintest, const float thin, const float4* __restrict__ factors, const float* __restrict__ density,
            const Release* __restrict__ release, const Scale* __restrict__ scale, float* bright_density,
            Source* bright_source, float* faint_density, Source* faint_source)
{
    // Number by number, so that neither rows nor columns meet in a bank.
    constexpr int NUMBERS = sizeof(Split) / sizeof(float);
    __shared__ float tile[NUMBERS][LANES][LANES + 1];
    const Part bright = {bright_density, bright_source}, faint = {faint_density, faint_source};
    const int size_x = along_z.columns, size_y = along_z.across;
    const int i0 = blockIdx.x * LANES, j0 = blockIdx.y * LANES, k = blockIdx.z;
    const float below = split ? __int_as_float(scale->release_bits) * faintest : 0.0f;
    // Rows lie along x for lines along z and along y,
    for (int n = threadIdx.y; n < LANES; n += blockDim.y) {
        int i = i0 + threadIdx.x, j = j0 + n;
        if (j >= size_y) {
            break;
        }
        if (i >= size_x) {
            continue;
        }
        int at = (k * size_y + j) * size_x + i;
        float4 factor = {1.0f, 1.0f, 1.0f, 1.0f};
        if (split) {
            float ray[3] = {(float)i * along_z.spacing_mm[0] - along_z.from_mm[0],
                            (float)j * along_z.spacing_mm[1] - along_z.from_mm[1],
                            (float)k * along_z.spacing_mm[2] - along_z.from_mm[2]};
            factor = tilt_factors(rays, factors, ray);
        }
        Split parts = split_of(density[at], thin, release[at], below, factor);
#pragma unroll
        for (int number = 0; number < NUMBERS; ++number) {
            tile[number][n][threadIdx.x] = reinterpret_cast<const float*>(&parts)[number];
        }
        int to_y = along_y.first_cell + j * along_y.plane + k * along_y.pitch + i;
        int to_z = along_z.first_cell + k * along_z.plane + j * along_z.pitch + i;
        lay(bright, to_y, parts.bright, parts.mix);
        lay(bright, to_z, parts.bright, parts.mix);
        if (split) {
            lay(faint, to_y, parts.faint, parts.mix);
            lay(faint, to_z, parts.faint, parts.mix);
        }
    }
    __syncthreads();
    // and along y for those along x.
    for (int n = threadIdx.y; n < LANES; n += blockDim.y) {
        int i = i0 + n, j = j0 + threadIdx.x;
        if (i >= size_x || j >= size_y) {
            break;
        }
        Split parts;
#pragma unroll
        for (int number = 0; number < NUMBERS; ++number) {
            reinterpret_cast<float*>(&parts)[number] = tile[number][threadIdx.x][n];
        }
        int to = along_x.first_cell + i * along_x.plane + k * along_x.pitch + j;
        lay(bright, to, parts.bright, parts.mix);
        if (split) {
            lay(faint, to, parts.faint, parts.mix);
        }
    }
}

// Cells that a thread takes when it looks for those that release.
constexpr int CELLS = 4;

// Builds the walls of a layout, all cells that are no voxels, and notes which cells release, a bit for each.
extern "C" __global__ void __launch_bounds__(128)
layout_releasing(const March march, const float thin, const Source* __restrict__ source, float4* __restrict__ density,
                 unsigned* __restrict__ releasing)
{
    constexpr int THREADS_OF_WORD = LANES / CELLS;
    int number = (blockIdx.x * blockDim.x + threadIdx.x) * CELLS;
    int cell = march.first_cell + blockIdx.y * march.plane + number;
    unsigned bits = 0u;
    if (number < march.plane) {
        // Rows hold whole fours.
        int row = __umulhi(number, march.rows_of_cells);
        int voxels = row < march.across ? march.columns - (number - row * march.pitch) : 0;
        float4 here = density[cell / CELLS];
        float* of = &here.x;
#pragma unroll
        for (int n = 0; n < CELLS; ++n) {
            of[n] = n < voxels ? of[n] : WALL;
            bool releases = is_releasing(of[n]);
            if (releases && of[n] > -thin) {
                releases = source[cell + n].primary - source[cell + n].scatter > 0.0f;
            }
            bits |= releases ? 1u << n : 0u;
        }
        if (voxels < CELLS) {
            density[cell / CELLS] = here;
        }
    }
    bits <<= threadIdx.x % THREADS_OF_WORD * CELLS;
    for (int threads = 1; threads < THREADS_OF_WORD; threads *= 2) {
        bits |= __shfl_xor_sync(ALL_LANES, bits, threads);
    }
    if (number < march.plane && threadIdx.x % THREADS_OF_WORD == 0) {
        releasing[cell / LANES] = bits;
    }
}

// For lines of a warp that begin at a cell: whether any of theirs releases, a bit for each cell.
extern "C" __global__ void __launch_bounds__(128)
layout_windows(const March march, const unsigned* __restrict__ releasing, unsigned* __restrict__ windows)
{
    int words = march.plane / LANES, word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= words) {
        return;
    }
    int slab = march.first_cell / LANES + blockIdx.y * words;
    unsigned long long any = 0ull;
    for (int row = 0; row < WARP_ROWS; ++row) {
        int cell = round_ring(word * LANES + row * march.pitch, march.plane);
        any |= releasing_from(releasing + slab, cell, march.plane);
        any |= (unsigned long long)releasing_from(releasing + slab, round_ring(cell + LANES, march.plane), march.plane) << LANES;
    }
    for (int columns = 1; columns < WARP_COLUMNS; columns *= 2) {
        any |= any >> columns;
    }
    windows[slab + word] = (unsigned)any;
}

// A number of cells as one of 0 to the ring's length.
__device__ inline int on_ring(int cells, int ring)
{
    int rest = cells % ring;
    return rest < 0 ? rest + ring : rest;
}

// Adds pieces shorter than this to those beside them.
__device__ inline void join_short(Pieces& pieces, float shortest_cm)
{
    int count = 0;
    float before_cm = 0.0f;
    for (int n = 0; n < pieces.count; ++n) {
        float length_cm = pieces.length_cm[n];
        if (length_cm >= shortest_cm) {
            pieces.cell[count][0] = pieces.cell[n][0];
            pieces.cell[count][1] = pieces.cell[n][1];
            pieces.length_cm[count] = length_cm + before_cm;
            before_cm = 0.0f;
            count += 1;
        } else if (count > 0) {
            pieces.length_cm[count - 1] += length_cm;
        } else {
            before_cm += length_cm;
        }
    }
    pieces.count = count;
}

// How far along the dominant axis what is sent along the lines is kept.
constexpr float BRIGHT_KEPT_MM = 7.5f;
constexpr float FAINT_KEPT_MM = 40.0f;
// Of a slab's way: less in a cell than this is added to the next one's for lines that carry what is faint.
constexpr float FAINT_SHORTEST = 0.2f;

// Writes down the ways of all directions through the slabs, in the order in which the lines come to them; `most_slabs` to a
// direction.
extern "C" __global__ void __launch_bounds__(128)
layout_ways(const int headings, const int most_slabs, const int faint, const March* __restrict__ marches,
            const Heading* __restrict__ heading_list, Slab* __restrict__ slab_list)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int number = index / most_slabs, step = index % most_slabs;
    if (index >= headings * most_slabs) {
        return;
    }
    const Heading& heading = heading_list[number];
    const March& march = marches[heading.march];
    if (step >= march.slabs) {
        return;
    }
    Pieces pieces;
    walk_slab(pieces, heading.start, heading.per_slab, step, (double)heading.slab_path_cm);
    if (faint) {
        join_short(pieces, FAINT_SHORTEST * heading.slab_path_cm);
    }
    Slab slab = {};
    slab.visits = pieces.count;
    const int first[2] = {pieces.cell[0][0], pieces.cell[0][1]};
    slab.first = on_ring(first[1] * march.pitch + first[0], march.plane);
    for (int n = 0; n < pieces.count; ++n) {
        const int* cell = pieces.cell[n];
        if (n > 0) {
            slab.next[n - 1] = on_ring((cell[1] - first[1]) * march.pitch + cell[0] - first[0], march.plane);
        }
        slab.exponent[n] = pieces.length_cm[n] * EXPONENT_PER_CM;
    }
    // What is sent is found in the middle of as many steps as it is kept. These begin at the same steps for all lines of a
    // direction, so that it does not depend on when it was found, and at others for the next: what is missed at the first of
    // them, another direction misses at the last, with the other sign.
    const int kept = max((int)((faint ? FAINT_KEPT_MM : BRIGHT_KEPT_MM) / march.spacing_mm[2]), 1);
    int begun = (step + number) % kept;
    double ahead = 0.5 * (kept - 1) - begun;
    slab.until = step - begun + kept;
    // Where the voxels that are passed on these steps are, on the average, from the first here: they send by their own rays.
    float centre[2] = {0.0f, 0.0f};
    for (int of = step - begun; of < slab.until; ++of) {
        walk_slab(pieces, heading.start, heading.per_slab, of, (double)heading.slab_path_cm);
        for (int n = 0; n < pieces.count; ++n) {
            for (int axis = 0; axis < 2; ++axis) {
                centre[axis] += pieces.length_cm[n] * (float)(pieces.cell[n][axis] - first[axis]);
            }
        }
    }
    int moves[2];
    for (int axis = 0; axis < 2; ++axis) {
        float move = centre[axis] / (heading.slab_path_cm * (float)kept);
        slab.ray[axis] = move * march.spacing_mm[axis] - march.from_mm[axis];
        moves[axis] = (int)rintf(move);
    }
    double middle = heading.backward ? march.slabs - 1 - step - ahead : step + ahead;
    slab.ray[2] = (float)(middle * march.spacing_mm[2] - march.from_mm[2]);
    slab.far_slab = march.first_cell + min(max((int)rint(middle), 0), march.slabs - 1) * march.plane;
    slab.far = on_ring(moves[1] * march.pitch + moves[0], march.plane);
    slab_list[index] = slab;
}

// Adds `factor` times what the lines of all layouts left onto x-fastest energy per volume: those along z and along y, in
// which rows lie along x, and those along x, in which they lie along y.
extern "C" __global__ void __launch_bounds__(256)
layout_gather(const March along_x, const March along_y, const March along_z, const float factor,
              const int* __restrict__ deposit, const Scale* __restrict__ scale, float* __restrict__ energy)
{
    __shared__ int tile[LANES][LANES + 1];
    int size_x = along_z.columns, size_y = along_z.across;
    int k = blockIdx.z;
    int i0 = blockIdx.x * LANES, j0 = blockIdx.y * LANES;
    for (int row = threadIdx.y; row < LANES; row += blockDim.y) {
        int i = i0 + row, j = j0 + threadIdx.x;
        int at = along_x.first_cell + i * along_x.plane + k * along_x.pitch + j;
        tile[row][threadIdx.x] = i < size_x && j < size_y ? deposit[at] : 0;
    }
    __syncthreads();
    float unit = factor * unit_of(*scale);
    for (int row = threadIdx.y; row < LANES; row += blockDim.y) {
        int i = i0 + threadIdx.x, j = j0 + row;
        if (i < size_x && j < size_y) {
            int sum = tile[threadIdx.x][row] + deposit[along_y.first_cell + j * along_y.plane + k * along_y.pitch + i]
                      + deposit[along_z.first_cell + k * along_z.plane + j * along_z.pitch + i];
            int at = (k * size_y + j) * size_x + i;
            energy[at] = fmaf((float)sum, unit, energy[at]);
        }
    }
}
