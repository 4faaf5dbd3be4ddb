// Collapsed cone, before and after transport: cells laid out for each dominant axis with high and low TERMA, the masks of cells
// with TERMA, the traversals of the slabs, and in the end the sum of the deposits. Names are those of cccs.cuh.

#include "cccs.cuh"

// Tilts of rays for which there are factors, each way: TILTS of engine/cccs/angles.rs.
constexpr int TILTS = 17;

// Finds the greatest TERMA and density.
extern "C" __global__ void __launch_bounds__(256)
layout_scale(const int count, const float* __restrict__ density, const Terma* __restrict__ terma, Scale* __restrict__ scale)
{
    float most_density = 0.0f, most_terma = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        most_density = fmaxf(most_density, density[i]);
        most_terma = fmaxf(most_terma, total(terma[i]));
    }
    int most_density_bits = -least_of_warp(-__float_as_int(most_density));
    int most_terma_bits = -least_of_warp(-__float_as_int(most_terma));
    if (threadIdx.x % LANES == 0) {
        atomicMax(&scale->most_density_bits, most_density_bits);
        atomicMax(&scale->most_terma_bits, most_terma_bits);
    }
}

// The rays of a field, as the host declares them, field for field: rows of the matrix from the layout's axes to the
// kernel's, and the tangents against the beam axis that the table of tilts holds.
struct Rays {
    float kernel_from_block[3][3];
    float tilt_reach;
};

// Factors of the nearest tilt: low TERMA needs no interpolation.
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

// One part of a cell's TERMA with its marked density; the mark of low density is CellTerma's.
struct MarkedCell {
    float density;
    float primary;
    float scatter;
};

__device__ inline MarkedCell marked_cell(float density, float low_density, float primary, float scatter)
{
    bool is_low_density = density < low_density;
    return {marked_density(density, is_low_density || primary + scatter > 0.0f), primary, marked_scatter(scatter,
                                                                                                         is_low_density)};
}

// High and low TERMA of a cell. Low TERMA has factors by tilt, which give its few directions the energy of all of them; both have
// the mix of the whole.
struct TermaParts {
    MarkedCell high, low;
    Mix mix;
};

__device__ inline TermaParts parts_of(float density, float low_density, const Terma& all, float low_terma_fraction,
                                      const float4& factor)
{
    const MarkedCell nothing = marked_cell(density, low_density, 0.0f, 0.0f);
    TermaParts parts = {nothing, nothing, {NO_MIX, NO_MIX}};
    float sum = total(all);
    if (sum > 0.0f && density > 0.0f) {
        float primary = all.primary[0] + all.primary[1], scatter = all.scatter[0] + all.scatter[1];
        parts.mix = {primary > 0.0f ? all.primary[1] / primary : 0.0f, scatter > 0.0f ? all.scatter[1] / scatter : 0.0f};
        float low_share = fminf(low_terma_fraction / sum, 1.0f);
        parts.high = marked_cell(density, low_density, primary * (1.0f - low_share), scatter * (1.0f - low_share));
        parts.low = marked_cell(density, low_density, fmaf(all.primary[0], factor.x, all.primary[1] * factor.y) * low_share,
                              fmaf(all.scatter[0], factor.z, all.scatter[1] * factor.w) * low_share);
    }
    return parts;
}

// Buffers of one part of the TERMA.
struct PartBuffers {
    float* density;
    CellTerma* terma;
};

__device__ inline void write_cell(const PartBuffers& part, int to, const MarkedCell& marked, const Mix& mix)
{
    part.density[to] = marked.density;
    // The others are never read.
    if (has_entry(marked.density)) {
        part.terma[to] = {marked.primary, marked.scatter, mix};
    }
}

// Lays x-fastest density and TERMA out for the three dominant axes. Without `split` all TERMA is high, and the low buffers are not
// written. Blocks of LANES x 8 take LANES x LANES voxels of a plane across z.
extern "C" __global__ void __launch_bounds__(256)
layout_fill(const SlabLayout along_x, const SlabLayout along_y, const SlabLayout along_z, const Rays rays, const int split,
            const float low_terma_fraction, const float low_density, const float4* __restrict__ factors,
            const float* __restrict__ density, const Terma* __restrict__ terma, const Scale* __restrict__ scale,
            float* high_terma_density, CellTerma* high_terma, float* low_terma_density, CellTerma* low_terma)
{
    // Number by number and padded: neither rows nor columns have bank conflicts.
    constexpr int NUMBERS = sizeof(TermaParts) / sizeof(float);
    __shared__ float tile[NUMBERS][LANES][LANES + 1];
    const PartBuffers high = {high_terma_density, high_terma}, low = {low_terma_density, low_terma};
    const int size_x = along_z.columns, size_y = along_z.across;
    const int i0 = blockIdx.x * LANES, j0 = blockIdx.y * LANES, k = blockIdx.z;
    const float below = split ? most_terma(*scale) * low_terma_fraction : 0.0f;
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
        TermaParts parts = parts_of(density[at], low_density, terma[at], below, factor);
#pragma unroll
        for (int number = 0; number < NUMBERS; ++number) {
            tile[number][n][threadIdx.x] = reinterpret_cast<const float*>(&parts)[number];
        }
        int to_y = along_y.first_cell + j * along_y.plane + k * along_y.pitch + i;
        int to_z = along_z.first_cell + k * along_z.plane + j * along_z.pitch + i;
        write_cell(high, to_y, parts.high, parts.mix);
        write_cell(high, to_z, parts.high, parts.mix);
        if (split) {
            write_cell(low, to_y, parts.low, parts.mix);
            write_cell(low, to_z, parts.low, parts.mix);
        }
    }
    __syncthreads();
    // and along y for those along x.
    for (int n = threadIdx.y; n < LANES; n += blockDim.y) {
        int i = i0 + n, j = j0 + threadIdx.x;
        if (i >= size_x || j >= size_y) {
            break;
        }
        TermaParts parts;
#pragma unroll
        for (int number = 0; number < NUMBERS; ++number) {
            reinterpret_cast<float*>(&parts)[number] = tile[number][threadIdx.x][n];
        }
        int to = along_x.first_cell + i * along_x.plane + k * along_x.pitch + j;
        write_cell(high, to, parts.high, parts.mix);
        if (split) {
            write_cell(low, to, parts.low, parts.mix);
        }
    }
}

// Cells to a thread of layout_terma_mask.
constexpr int CELLS = 4;

// Writes the walls of a layout, which are the cells without a voxel, and the mask of cells with TERMA, a bit each.
extern "C" __global__ void __launch_bounds__(128)
layout_terma_mask(const SlabLayout layout, const float low_density, const CellTerma* __restrict__ terma,
                  float4* __restrict__ density, unsigned* __restrict__ terma_mask)
{
    constexpr int THREADS_OF_WORD = LANES / CELLS;
    int number = (blockIdx.x * blockDim.x + threadIdx.x) * CELLS;
    int cell = layout.first_cell + blockIdx.y * layout.plane + number;
    unsigned bits = 0u;
    if (number < layout.plane) {
        // Rows are multiples of four cells.
        int row = __umulhi(number, layout.rows_of_cells);
        int voxels = row < layout.across ? layout.columns - (number - row * layout.pitch) : 0;
        float4 here = density[cell / CELLS];
        float* of = &here.x;
#pragma unroll
        for (int n = 0; n < CELLS; ++n) {
            of[n] = n < voxels ? of[n] : WALL;
            bool with_terma = has_entry(of[n]);
            if (with_terma && density_of(of[n]) < low_density) {
                with_terma = terma[cell + n].primary + scatter_of(terma[cell + n]) > 0.0f;
            }
            bits |= with_terma ? 1u << n : 0u;
        }
        if (voxels < CELLS) {
            density[cell / CELLS] = here;
        }
    }
    bits <<= threadIdx.x % THREADS_OF_WORD * CELLS;
    for (int threads = 1; threads < THREADS_OF_WORD; threads *= 2) {
        bits |= __shfl_xor_sync(ALL_LANES, bits, threads);
    }
    if (number < layout.plane && threadIdx.x % THREADS_OF_WORD == 0) {
        terma_mask[cell / LANES] = bits;
    }
}

// For a warp whose lines begin at a cell: whether any of them has TERMA, a bit for each cell.
extern "C" __global__ void __launch_bounds__(128)
layout_windows(const SlabLayout layout, const unsigned* __restrict__ terma_mask, unsigned* __restrict__ windows)
{
    int words = layout.plane / LANES, word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= words) {
        return;
    }
    int slab = layout.first_cell / LANES + blockIdx.y * words;
    unsigned long long any = 0ull;
    for (int row = 0; row < WARP_ROWS; ++row) {
        int cell = round_ring(word * LANES + row * layout.pitch, layout.plane);
        any |= terma_mask_from(terma_mask + slab, cell, layout.plane);
        any |= (unsigned long long)terma_mask_from(terma_mask + slab, round_ring(cell + LANES, layout.plane),
                                                   layout.plane) << LANES;
    }
    for (int columns = 1; columns < WARP_COLUMNS; columns *= 2) {
        any |= any >> columns;
    }
    windows[slab + word] = (unsigned)any;
}

// A number of cells, wrapped to the ring.
__device__ inline int on_ring(int cells, int ring)
{
    int rest = cells % ring;
    return rest < 0 ? rest + ring : rest;
}

// Joins segments shorter than this to their neighbours.
__device__ inline void join_short(Segments& segments, float shortest_cm)
{
    int count = 0;
    float before_cm = 0.0f;
    for (int n = 0; n < segments.count; ++n) {
        float length_cm = segments.length_cm[n];
        if (length_cm >= shortest_cm) {
            segments.cell[count][0] = segments.cell[n][0];
            segments.cell[count][1] = segments.cell[n][1];
            segments.length_cm[count] = length_cm + before_cm;
            before_cm = 0.0f;
            count += 1;
        } else if (count > 0) {
            segments.length_cm[count - 1] += length_cm;
        } else {
            before_cm += length_cm;
        }
    }
    segments.count = count;
}

// Along the dominant axis, kernel coefficients hold for this long.
constexpr float HIGH_TERMA_KEPT_MM = 7.5f;
constexpr float LOW_TERMA_KEPT_MM = 40.0f;
// Segments of low-TERMA lines shorter than this part of a slab's path are joined.
constexpr float LOW_TERMA_SHORTEST = 0.2f;

// Writes the traversals of the slabs by all directions, in the order in which the lines come to them; `most_slabs` to a
// direction.
extern "C" __global__ void __launch_bounds__(128)
layout_traversals(const int directions, const int most_slabs, const int low, const SlabLayout* __restrict__ layouts,
                  const LineDirection* __restrict__ direction_list, SlabTraversal* __restrict__ slab_list)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int number = index / most_slabs, step = index % most_slabs;
    if (index >= directions * most_slabs) {
        return;
    }
    const LineDirection& direction = direction_list[number];
    const SlabLayout& layout = layouts[direction.layout];
    if (step >= layout.slabs) {
        return;
    }
    Segments segments;
    walk_slab(segments, direction.start, direction.per_slab, step, (double)direction.slab_path_cm);
    if (low) {
        join_short(segments, LOW_TERMA_SHORTEST * direction.slab_path_cm);
    }
    SlabTraversal slab = {};
    slab.segments = segments.count;
    const int first[2] = {segments.cell[0][0], segments.cell[0][1]};
    slab.first = on_ring(first[1] * layout.pitch + first[0], layout.plane);
    for (int n = 0; n < segments.count; ++n) {
        const int* cell = segments.cell[n];
        if (n > 0) {
            slab.next[n - 1] = on_ring((cell[1] - first[1]) * layout.pitch + cell[0] - first[0], layout.plane);
        }
        slab.exponent[n] = segments.length_cm[n] * EXPONENT_PER_CM;
    }
    // Coefficients are evaluated in the middle of the steps for which they hold. Those steps begin at the same slabs for all lines of
    // a direction and at others for the next direction: errors at either end have opposite signs and average out (up to 0.19 % of a
    // dose).
    const int kept = max((int)((low ? LOW_TERMA_KEPT_MM : HIGH_TERMA_KEPT_MM) / layout.spacing_mm[2]), 1);
    int begun = (step + number) % kept;
    double ahead = 0.5 * (kept - 1) - begun;
    slab.until = step - begun + kept;
    // The mean offset of the cells traversed on these steps from the first here: its ray sets the angle.
    float centre[2] = {0.0f, 0.0f};
    for (int of = step - begun; of < slab.until; ++of) {
        walk_slab(segments, direction.start, direction.per_slab, of, (double)direction.slab_path_cm);
        for (int n = 0; n < segments.count; ++n) {
            for (int axis = 0; axis < 2; ++axis) {
                centre[axis] += segments.length_cm[n] * (float)(segments.cell[n][axis] - first[axis]);
            }
        }
    }
    for (int axis = 0; axis < 2; ++axis) {
        float move = centre[axis] / (direction.slab_path_cm * (float)kept);
        slab.ray[axis] = move * layout.spacing_mm[axis] - layout.from_mm[axis];
    }
    double middle = direction.backward ? layout.slabs - 1 - step - ahead : step + ahead;
    slab.ray[2] = (float)(middle * layout.spacing_mm[2] - layout.from_mm[2]);
    slab_list[index] = slab;
}

// Adds `factor` times the deposits of all layouts onto x-fastest energy per volume. Rows lie along x in the layouts along z and
// along y, and along y in that along x.
extern "C" __global__ void __launch_bounds__(256)
layout_gather(const SlabLayout along_x, const SlabLayout along_y, const SlabLayout along_z, const float factor,
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
