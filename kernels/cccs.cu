// Collapsed cone: energy carried along lattices of parallel lines by exponential recursion, every direction of a beam
// at once. See cccs.cuh for the names, engine/cpu/cccs for the reference.
//
// A thread carries a line from the first slab to the last, its state in registers; nothing is shared between threads. Which
// cells lines pass is the same for all of a direction but for whole cells, so that a warp takes every turn together;
// cccs_walk writes the turns down once. A warp begins where its lines first meet a voxel that releases, and rests again
// when they carry nothing.
//
// The release comes in two parts (cccs_lay_out): what is bright, above a small part of the greatest release, goes along all
// directions; the faint rest, smooth and nearly everywhere, along few.
//
// What stays in a voxel is added up in integers, so that the sum does not depend on the order: equal runs are equal to
// the bit.

#include "carry.cuh"

// A line that cannot leave more than this, in units of the sum, carries nothing.
constexpr float LEAST_CARRIED = 16.0f;
// What is sent along a line, by angle and spectrum, is kept for so long along the dominant axis.
constexpr float BRIGHT_KEPT_MM = 3.0f;
constexpr float FAINT_KEPT_MM = 10.0f;
// Tilts of rays for which there are factors, each way: TILTS of engine/cccs/angles.rs.
constexpr int TILTS = 17;

// Finds the greatest release and density.
extern "C" __global__ void __launch_bounds__(256)
cccs_scale(const int count, const float* __restrict__ density, const Release* __restrict__ release,
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

// Lays x-fastest density and one part of the release out for a dominant axis, and finds where each slab releases. The faint
// part has factors by tilt, which make it as much along its directions as it would be along those of the bright one.
extern "C" __global__ void __launch_bounds__(128)
cccs_lay_out(const March march, const Rays rays, const int faint, const float faintest,
             const float4* __restrict__ factors, const float* __restrict__ density,
             const Release* __restrict__ release, const Scale* __restrict__ scale, float* __restrict__ laid_density,
             Source* __restrict__ laid_source, Mix* __restrict__ laid_mix, Box* __restrict__ boxes)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    int slab = blockIdx.y;
    if (cell >= march.plane) {
        return;
    }
    int row = cell / march.pitch;
    int column = cell - row * march.pitch;
    float here = WALL;
    Source source = {0.0f, 0.0f};
    Mix mix = {NO_MIX, NO_MIX};
    bool releases = false;
    if (row < march.across && column < march.columns) {
        int at = column * march.stride[0] + row * march.stride[1] + slab * march.stride[2];
        here = density[at];
        Release all = release[at];
        float4 factor = {1.0f, 1.0f, 1.0f, 1.0f};
        if (faint) {
            float ray[3] = {(float)column * march.spacing_mm[0] - march.from_mm[0],
                            (float)row * march.spacing_mm[1] - march.from_mm[1],
                            (float)slab * march.spacing_mm[2] - march.from_mm[2]};
            factor = tilt_factors(rays, factors, ray);
        }
        float sum = total(all);
        if (sum > 0.0f && here > 0.0f) {
            float dim = fminf(__int_as_float(scale->release_bits) * faintest / sum, 1.0f);
            float share = faint ? dim : 1.0f - dim;
            float deep_primary = all.primary[1] * factor.y, deep_scatter = all.scatter[1] * factor.w;
            source = {fmaf(all.primary[0], factor.x, deep_primary), fmaf(all.scatter[0], factor.z, deep_scatter)};
            mix = {source.primary > 0.0f ? deep_primary / source.primary : 0.0f,
                   source.scatter > 0.0f ? deep_scatter / source.scatter : 0.0f};
            source = {source.primary * share, source.scatter * share};
            releases = source.primary + source.scatter > 0.0f;
            here = releases ? -here : here;
        }
    }
    int to = march.first_cell + slab * march.plane + cell;
    laid_density[to] = here;
    laid_source[to] = source;
    laid_mix[to] = mix;
    if (!any_lane(releases)) {
        return;
    }
    constexpr int NONE = 0x7f7f7f7f;
    int least_column = least_of_warp(releases ? column : NONE);
    int greatest_column_negated = least_of_warp(releases ? -column : NONE);
    int least_row = least_of_warp(releases ? row : NONE);
    int greatest_row_negated = least_of_warp(releases ? -row : NONE);
    if (threadIdx.x % LANES == 0) {
        volatile Box* known = boxes + march.first_slab + slab;
        Box* box = boxes + march.first_slab + slab;
        // Most warps bring nothing new, and many at one address wait for each other.
        if (least_column < known->least_column) {
            atomicMin(&box->least_column, least_column);
        }
        if (greatest_column_negated < known->greatest_column_negated) {
            atomicMin(&box->greatest_column_negated, greatest_column_negated);
        }
        if (least_row < known->least_row) {
            atomicMin(&box->least_row, least_row);
        }
        if (greatest_row_negated < known->greatest_row_negated) {
            atomicMin(&box->greatest_row_negated, greatest_row_negated);
        }
    }
}

// A number of cells as one of 0 to the ring's length.
__device__ inline int on_ring(int cells, int ring)
{
    int rest = cells % ring;
    return rest < 0 ? rest + ring : rest;
}

// Writes down the ways of all directions through the slabs, in the order in which the lines come to them; `most_slabs` to a
// direction.
extern "C" __global__ void __launch_bounds__(128)
cccs_walk(const int headings, const int most_slabs, const March* __restrict__ marches,
          const Heading* __restrict__ heading_list, Slab* __restrict__ slab_list)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int step = index % most_slabs;
    if (index >= headings * most_slabs) {
        return;
    }
    const Heading& heading = heading_list[index / most_slabs];
    const March& march = marches[heading.march];
    if (step >= march.slabs) {
        return;
    }
    Pieces pieces;
    walk_slab(pieces, heading.start, heading.per_slab, step, (double)heading.slab_path_cm);
    Slab slab = {0, {0, 0}, pieces.count, {0.0f, 0.0f, 0.0f}, 0.0f};
    const int* first = pieces.cell[0];
    slab.first = on_ring(first[1] * march.pitch + first[0], march.plane);
    for (int n = 0; n < pieces.count; ++n) {
        const int* cell = pieces.cell[n];
        if (n > 0) {
            slab.next[n - 1] = on_ring((cell[1] - first[1]) * march.pitch + cell[0] - first[0], march.plane);
        }
        slab.exponent[n] = pieces.length_cm[n] * EXPONENT_PER_CM;
    }
    slab_list[index] = slab;
}

// What is sent along the lines at a place, in voxels from the centre of the first.
__device__ inline Sends sends_at(const March& march, const Heading& heading, const Coefficients* __restrict__ table,
                                 const float place[3], const Mix& mix, float units)
{
    float ray[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        ray[axis] = fmaf(place[axis], march.spacing_mm[axis], -march.from_mm[axis]);
    }
    float along = ray[0] * heading.direction[0] + ray[1] * heading.direction[1] + ray[2] * heading.direction[2];
    float square = ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2];
    return mixed(table[angle_row(along * rsqrtf(fmaxf(square, 1e-12f)))], mix, units);
}

// A number of cells less than twice the ring's length as one less than the ring's.
__device__ inline int round_ring(int cell, int ring) { return (int)min((unsigned)cell, (unsigned)(cell - ring)); }

// The first step from one on at which a warp's lines may meet a voxel that releases; `march.slabs` where they meet none.
// `number` is that of the warp's first line. Every lane looks at a slab of its own.
__device__ inline int next_meeting(const March& march, const Heading& heading, const Slab* __restrict__ slabs,
                                   const Box* __restrict__ boxes, int number, int from)
{
    for (; from < march.slabs; from += LANES) {
        int step = from + threadIdx.x % LANES;
        bool meets = false;
        if (step < march.slabs) {
            Box box = boxes[heading.backward ? march.slabs - 1 - step : step];
            int cell = round_ring(number + slabs[step].first, march.plane);
            int row = cell / march.pitch;
            int column = cell - row * march.pitch;
            // The lines' cells, and one more to each side.
            int last = column + LANES;
            int last_row = row + 1 + last / march.pitch;
            bool whole_rows = column < 1 || last >= march.pitch;
            bool columns = whole_rows || (column - 1 <= -box.greatest_column_negated && last >= box.least_column);
            bool rows = row - 1 <= -box.greatest_row_negated && last_row >= box.least_row;
            bool comes_round = last_row > march.across && last_row - march.across > box.least_row;
            meets = (columns && rows) || comes_round;
        }
        unsigned all = __ballot_sync(ALL_LANES, meets);
        if (all != 0) {
            return from + __ffs(all) - 1;
        }
    }
    return march.slabs;
}

// Lines on their way, and what is sent along them where they are.
struct Lines {
    Line line;
    Sends sends;
    int found_at; // the strip that it was found for; below zero where none
    int until;    // the step until which it is kept
};

// What is sent by the voxels of a strip, found anew where lines come to another. The angle is that of the strip's middle; a
// strip begins elsewhere in each row and for each direction.
__device__ inline void send_by_strip(Lines& lines, const March& march, const Heading& heading,
                                     const Coefficients* __restrict__ table, const Mix* __restrict__ mix_list,
                                     unsigned slab_cell, unsigned cell, bool releases, int step, int slab, int kept,
                                     float units)
{
    int in_slab = cell - slab_cell;
    int row = __umulhi(in_slab, march.rows_of_cells);
    int column = in_slab - row * march.pitch;
    int in_strip = (column + (row + heading.turn) * PHASE_STEP) & (STRIP - 1);
    int strip = in_slab - in_strip;
    if (any_lane(releases && (strip != lines.found_at || step >= lines.until))) {
        float half = 0.5f * (float)(kept - 1);
        float place[3] = {(float)(column - in_strip) + 0.5f * (STRIP - 1), (float)row,
                          (float)slab + (heading.backward ? -half : half)};
        Mix mix = mix_list[cell];
        lines.sends = sends_at(march, heading, table, place, mix, units);
        lines.found_at = mix.primary == NO_MIX ? -STRIP : strip;
        lines.until = step + kept;
    }
}

// Likewise for what is faint: found where the lines will be half way until it is found anew.
__device__ inline void send_by_way(Lines& lines, const March& march, const Heading& heading,
                                   const Coefficients* __restrict__ table, const Mix* __restrict__ mix_list,
                                   unsigned slab_cell, unsigned cell, bool releases, int step, int slab, int kept,
                                   float units)
{
    if (any_lane(releases && (lines.found_at < 0 || step >= lines.until))) {
        int in_slab = cell - slab_cell;
        int row = __umulhi(in_slab, march.rows_of_cells);
        float half = 0.5f * (float)kept;
        float place[3] = {(float)(in_slab - row * march.pitch) + half * (float)heading.per_slab[0],
                          (float)row + half * (float)heading.per_slab[1],
                          (float)slab + (heading.backward ? 0.5f - half : half - 0.5f)};
        lines.sends = sends_at(march, heading, table, place, mix_list[cell], units);
        lines.found_at = releases ? 0 : -STRIP;
        lines.until = step + kept;
    }
}

template <bool BRIGHT>
__device__ inline void transport(const March* __restrict__ marches, const int most_slabs,
                                 const Heading* __restrict__ headings, const Slab* __restrict__ slab_list,
                                 const Box* __restrict__ box_list, const Coefficients* __restrict__ table,
                                 const float* __restrict__ density_list, const Source* __restrict__ source_list,
                                 const Mix* __restrict__ mix_list, const Scale* __restrict__ scale,
                                 int* __restrict__ deposit_list)
{
    const Heading& heading = headings[blockIdx.y];
    const March& march = marches[heading.march];
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    const int slabs = march.slabs, plane = march.plane;
    float unit = unit_of(*scale);
    if (number >= plane || !(unit > 0.0f)) {
        return;
    }
    const float units = heading.weight / unit;
    const Slab* ways = slab_list + blockIdx.y * most_slabs;
    const Box* boxes = box_list + march.first_slab;
    const int kept = max((int)((BRIGHT ? BRIGHT_KEPT_MM : FAINT_KEPT_MM) / march.spacing_mm[2]), 1);
    // The first slab that lines come to, and from there on.
    const int first_slab = heading.backward ? slabs - 1 : 0, next_slab = heading.backward ? -1 : 1;
    const unsigned first_cell = march.first_cell + first_slab * plane, next_cell = next_slab * plane;
    Lines lines = {};
    lines.found_at = -STRIP;
    int warp = number / LANES * LANES;
    for (int step = next_meeting(march, heading, ways, boxes, warp, 0); step < slabs;
         step = next_meeting(march, heading, ways, boxes, warp, step)) {
        const Slab* way = ways + step;
        unsigned slab_cell = first_cell + step * next_cell;
        do {
            const Slab slab = *way;
            int first = round_ring(number + slab.first, plane);
            unsigned cell[MOST_VISITS];
            float here[MOST_VISITS];
#pragma unroll
            for (int n = 0; n < MOST_VISITS; ++n) {
                cell[n] = slab_cell + (n == 0 ? first : round_ring(first + slab.next[n == 0 ? 0 : n - 1], plane));
                here[n] = n == 0 || n < slab.visits ? __ldg(density_list + cell[n]) : 0.0f;
            }
            bool some = any_lane(fminf(fminf(here[0], here[1]), here[2]) < 0.0f);
#pragma unroll
            for (int n = 0; n < MOST_VISITS; ++n) {
                if (n > 0 && n >= slab.visits) {
                    break;
                }
                float exponent = fabsf(here[n]) * slab.exponent[n];
                float stays;
                if (some) {
                    int slab_number = first_slab + step * next_slab;
                    if (BRIGHT) {
                        send_by_strip(lines, march, heading, table, mix_list, slab_cell, cell[n], here[n] < 0.0f, step,
                                      slab_number, kept, units);
                    } else {
                        send_by_way(lines, march, heading, table, mix_list, slab_cell, cell[n], here[n] < 0.0f, step,
                                    slab_number, kept, units);
                    }
                    stays = carry<true>(lines.line, exponent, source_list[cell[n]], lines.sends);
                } else {
                    stays = carry<false>(lines.line, exponent, {0.0f, 0.0f}, lines.sends);
                }
                // Behind a wall a line is elsewhere.
                lines.found_at = here[n] == WALL ? -STRIP : lines.found_at;
                deposit_at(deposit_list + cell[n], __float2int_rn(stays));
            }
            step += 1;
            way += 1;
            slab_cell += next_cell;
        } while (step < slabs && any_lane(lines.line.sum > LEAST_CARRIED));
    }
}

extern "C" __global__ void __launch_bounds__(128, 10)
cccs_bright(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
            const Slab* __restrict__ slabs, const Box* __restrict__ boxes, const Coefficients* __restrict__ table,
            const float* __restrict__ density, const Source* __restrict__ source, const Mix* __restrict__ mix,
            const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport<true>(marches, most_slabs, headings, slabs, boxes, table, density, source, mix, scale, deposit);
}

extern "C" __global__ void __launch_bounds__(128, 10)
cccs_faint(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
           const Slab* __restrict__ slabs, const Box* __restrict__ boxes, const Coefficients* __restrict__ table,
           const float* __restrict__ density, const Source* __restrict__ source, const Mix* __restrict__ mix,
           const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport<false>(marches, most_slabs, headings, slabs, boxes, table, density, source, mix, scale, deposit);
}

// Adds `factor` times what the lines of all layouts left onto x-fastest energy per volume: those along z and along y, in
// which rows lie along x, and those along x, in which they lie along y.
extern "C" __global__ void __launch_bounds__(256)
cccs_gather(const March along_x, const March along_y, const March along_z, const float factor,
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
