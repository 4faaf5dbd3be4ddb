// Collapsed cone: energy carried along lattices of parallel lines by exponential recursion, every direction of a beam
// at once. See cccs.cuh for the names, engine/cpu/cccs for the reference.
//
// A thread carries a line from the first slab to the last, its state in registers; nothing is shared between threads. Which
// cells lines pass is the same for all of a direction but for whole cells, so that a warp takes every turn together;
// cccs_walk writes the turns down once. A warp begins where its lines first meet a voxel that releases, and rests again
// when they carry nothing.
//
// The release comes in two parts (cccs_lay_out): what is bright, above a small part of the greatest release, goes along all
// directions; the faint rest, smooth and nearly everywhere, along few, by the next row of the table of angles, and past the
// shortest pieces of their way.
//
// What stays in a voxel is added up in integers, so that the sum does not depend on the order: equal runs are equal to
// the bit.

#include "carry.cuh"

// A line that cannot leave more than this, in units of the sum, carries nothing.
constexpr float LEAST_CARRIED = 16.0f;
// Fast terms that carry less, in units of the sum and for water, leave it where they are.
constexpr float LEAST_FAST = 512.0f;
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

// What a voxel releases into a part, and its density, negated where that is anything.
struct Laid {
    float density;
    float primary;
    float scatter;
};

__device__ inline Laid laid_of(float density, float primary, float scatter)
{
    return {primary + scatter > 0.0f ? -density : density, primary, scatter};
}

// The two parts of what a voxel releases. The faint one has factors by tilt, which make it as much along its directions as
// it would be along those of the bright one; they hardly change how much of it is deep.
struct Split {
    Laid bright, faint;
    Mix mix;
};

__device__ inline Split split_of(float density, const Release& all, float faintest, const float4& factor)
{
    Split parts = {{density, 0.0f, 0.0f}, {density, 0.0f, 0.0f}, {NO_MIX, NO_MIX}};
    float sum = total(all);
    if (sum > 0.0f && density > 0.0f) {
        float primary = all.primary[0] + all.primary[1], scatter = all.scatter[0] + all.scatter[1];
        parts.mix = {primary > 0.0f ? all.primary[1] / primary : 0.0f, scatter > 0.0f ? all.scatter[1] / scatter : 0.0f};
        float dim = fminf(faintest / sum, 1.0f);
        parts.bright = laid_of(density, primary * (1.0f - dim), scatter * (1.0f - dim));
        parts.faint = laid_of(density, fmaf(all.primary[0], factor.x, all.primary[1] * factor.y) * dim,
                              fmaf(all.scatter[0], factor.z, all.scatter[1] * factor.w) * dim);
    }
    return parts;
}

// Takes down where in a row of a slab a warp's voxels release, lane by lane from a column on.
__device__ inline void widen(Box* box, bool releases, int first_column, int row)
{
    unsigned releasing = __ballot_sync(ALL_LANES, releases);
    if (releasing == 0 || threadIdx.x % LANES != 0) {
        return;
    }
    int least_column = first_column + __ffs(releasing) - 1;
    int greatest_column_negated = -(first_column + LANES - 1 - __clz(releasing));
    volatile Box* known = box;
    // Most warps bring nothing new, and many at one address wait for each other.
    if (least_column < known->least_column) {
        atomicMin(&box->least_column, least_column);
    }
    if (greatest_column_negated < known->greatest_column_negated) {
        atomicMin(&box->greatest_column_negated, greatest_column_negated);
    }
    if (row < known->least_row) {
        atomicMin(&box->least_row, row);
    }
    if (-row < known->greatest_row_negated) {
        atomicMin(&box->greatest_row_negated, -row);
    }
}

// Where a part of the release goes as it is laid out.
struct Part {
    float* density;
    Source* source;
    Box* boxes;
};

__device__ inline void lay(const Part& part, const March& march, int to, bool inside, const Laid& laid, const Mix& mix,
                           int slab, int first_column, int row)
{
    if (inside) {
        part.density[to] = laid.density;
        // Nobody reads others.
        if (laid.density < 0.0f) {
            part.source[to] = {laid.primary, laid.scatter, mix};
        }
    }
    widen(part.boxes + march.first_slab + slab, inside && laid.density < 0.0f, first_column, row);
}

// Lays x-fastest density and both parts of the release out for the three dominant axes, and finds where each slab
// releases. Unless it is split all is bright, and nothing faint is written. Blocks of LANES x 8 take LANES x LANES voxels of a
// plane across z.
extern "C" __global__ void __launch_bounds__(256)
cccs_lay_out(const March along_x, const March along_y, const March along_z, const Rays rays, const int split,
             const float faintest, const float4* __restrict__ factors, const float* __restrict__ density,
             const Release* __restrict__ release, const Scale* __restrict__ scale, float* bright_density,
             Source* bright_source, Box* bright_boxes, float* faint_density, Source* faint_source,
             Box* faint_boxes)
{
    // Number by number, so that neither rows nor columns meet in a bank.
    constexpr int NUMBERS = sizeof(Split) / sizeof(float);
    __shared__ float tile[NUMBERS][LANES][LANES + 1];
    const Part bright = {bright_density, bright_source, bright_boxes}, faint = {faint_density, faint_source, faint_boxes};
    const int size_x = along_z.columns, size_y = along_z.across;
    const int i0 = blockIdx.x * LANES, j0 = blockIdx.y * LANES, k = blockIdx.z;
    const float below = split ? __int_as_float(scale->release_bits) * faintest : 0.0f;
    // Rows lie along x for lines along z and along y,
    for (int n = threadIdx.y; n < LANES; n += blockDim.y) {
        int i = i0 + threadIdx.x, j = j0 + n;
        if (j >= size_y) {
            break;
        }
        bool inside = i < size_x;
        Split parts = {};
        int to_y = along_y.first_cell + j * along_y.plane + k * along_y.pitch + i;
        int to_z = along_z.first_cell + k * along_z.plane + j * along_z.pitch + i;
        if (inside) {
            int at = (k * size_y + j) * size_x + i;
            float4 factor = {1.0f, 1.0f, 1.0f, 1.0f};
            if (split) {
                float ray[3] = {(float)i * along_z.spacing_mm[0] - along_z.from_mm[0],
                                (float)j * along_z.spacing_mm[1] - along_z.from_mm[1],
                                (float)k * along_z.spacing_mm[2] - along_z.from_mm[2]};
                factor = tilt_factors(rays, factors, ray);
            }
            parts = split_of(density[at], release[at], below, factor);
#pragma unroll
            for (int number = 0; number < NUMBERS; ++number) {
                tile[number][n][threadIdx.x] = reinterpret_cast<const float*>(&parts)[number];
            }
        }
        lay(bright, along_y, to_y, inside, parts.bright, parts.mix, j, i0, k);
        lay(bright, along_z, to_z, inside, parts.bright, parts.mix, k, i0, j);
        if (split) {
            lay(faint, along_y, to_y, inside, parts.faint, parts.mix, j, i0, k);
            lay(faint, along_z, to_z, inside, parts.faint, parts.mix, k, i0, j);
        }
    }
    __syncthreads();
    // and along y for those along x.
    for (int n = threadIdx.y; n < LANES; n += blockDim.y) {
        int i = i0 + n, j = j0 + threadIdx.x;
        if (i >= size_x) {
            break;
        }
        bool inside = j < size_y;
        int to = along_x.first_cell + i * along_x.plane + k * along_x.pitch + j;
        Split parts = {};
        if (inside) {
#pragma unroll
            for (int number = 0; number < NUMBERS; ++number) {
                reinterpret_cast<float*>(&parts)[number] = tile[number][threadIdx.x][n];
            }
        }
        lay(bright, along_x, to, inside, parts.bright, parts.mix, i, j0, k);
        if (split) {
            lay(faint, along_x, to, inside, parts.faint, parts.mix, i, j0, k);
        }
    }
}

// The cells of a layout that are walls: those at the ends of rows, and what comes after the last row.
extern "C" __global__ void __launch_bounds__(128)
cccs_walls(const March march, const int split, float* bright_density, float* faint_density)
{
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    int after = march.across * march.pitch;
    int cell = number < march.across ? number * march.pitch + march.columns : after + number - march.across;
    if (cell >= march.plane) {
        return;
    }
    int to = march.first_cell + blockIdx.y * march.plane + cell;
    bright_density[to] = WALL;
    if (split) {
        faint_density[to] = WALL;
    }
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
cccs_walk(const int headings, const int most_slabs, const int faint, const March* __restrict__ marches,
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
    const int* first = pieces.cell[0];
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
    int moves[2];
    for (int axis = 0; axis < 2; ++axis) {
        // From the centre of their first cell there.
        double entry = heading.start[axis] + heading.per_slab[axis] * step;
        double move = entry - first[axis] - 0.5 + (ahead + 0.5) * heading.per_slab[axis];
        slab.ray[axis] = (float)(move * march.spacing_mm[axis] - march.from_mm[axis]);
        moves[axis] = (int)rint(move);
    }
    double middle = heading.backward ? march.slabs - 1 - step - ahead : step + ahead;
    slab.ray[2] = (float)(middle * march.spacing_mm[2] - march.from_mm[2]);
    slab.far_slab = march.first_cell + min(max((int)rint(middle), 0), march.slabs - 1) * march.plane;
    slab.far = on_ring(moves[1] * march.pitch + moves[0], march.plane);
    slab_list[index] = slab;
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
    int until; // the step until which it is kept
    float mix; // of the primary, that it was found with
};

// For which voxels what is sent is kept: those with as much more or less of the deep channel are another matter.
constexpr float MIX_KEPT = 0.015f;

// Finds what is sent along lines that come into a slab by a cell, in the middle of the steps for which it is kept.
template <bool FAINT>
__device__ inline void find_sends(Lines& lines, const March& march, const Heading& heading, const Slab& slab,
                                  const Coefficients* __restrict__ table, const float* __restrict__ density_list,
                                  const Source* __restrict__ source_list, const Mix& own, int entry, float units)
{
    int row = __umulhi(entry, march.rows_of_cells);
    const float ray[3] = {fmaf((float)(entry - row * march.pitch), march.spacing_mm[0], slab.ray[0]),
                          fmaf((float)row, march.spacing_mm[1], slab.ray[1]), slab.ray[2]};
    float along = 0.0f, square = 0.0f;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        along = fmaf(ray[axis], heading.direction[axis], along);
        square = fmaf(ray[axis], ray[axis], square);
    }
    float part;
    const Coefficients* rows = table + angle_row(along * rsqrtf(fmaxf(square, 1e-12f)), part);
    bool known = own.primary != NO_MIX;
    Mix mix = {known ? own.primary : 0.0f, known ? own.scatter : 0.0f};
    if (!FAINT) {
        // That of the middle, where it is much the same.
        int far_cell = slab.far_slab + round_ring(entry + slab.far, march.plane);
        if (density_list[far_cell] < 0.0f) {
            Mix far = source_list[far_cell].mix;
            mix = fabsf(far.primary - mix.primary) <= MIX_KEPT ? far : mix;
        }
    }
    lines.sends = mixed<FAINT>(rows, part, mix, units);
    lines.until = known ? slab.until : 0;
    lines.mix = mix.primary;
}

// Lines through the voxels of a slab, which release nothing, with the first of their terms: the others carry nothing.
template <int END>
__device__ inline void pass(Line& line, const Slab& slab, const unsigned cell[MOST_VISITS], const float here[MOST_VISITS],
                            int* __restrict__ deposit_list)
{
#pragma unroll
    for (int term = END; term < TERMS; ++term) {
        line.state[term] = 0.0f;
    }
#pragma unroll
    for (int n = 0; n < MOST_VISITS; ++n) {
        if (n > 0 && n >= slab.visits) {
            break;
        }
        float stays = decay<END>(line, here[n] * slab.exponent[n]);
        deposit_at(deposit_list + cell[n], __float2int_rn(stays));
    }
}

template <bool FAINT>
__device__ inline void transport(const March* __restrict__ marches, const int most_slabs,
                                 const Heading* __restrict__ headings, const Slab* __restrict__ slab_list,
                                 const Box* __restrict__ box_list, const Coefficients* __restrict__ table,
                                 const float* __restrict__ density_list, const Source* __restrict__ source_list,
                                 const Scale* __restrict__ scale, int* __restrict__ deposit_list)
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
    // The first slab that lines come to, and from there on.
    const int first_slab = heading.backward ? slabs - 1 : 0, next_slab = heading.backward ? -1 : 1;
    const unsigned first_cell = march.first_cell + first_slab * plane, next_cell = next_slab * plane;
    Lines lines = {};
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
            if (any_lane(fminf(fminf(here[0], here[1]), here[2]) < 0.0f)) {
#pragma unroll
                for (int n = 0; n < MOST_VISITS; ++n) {
                    if (n > 0 && n >= slab.visits) {
                        break;
                    }
                    // Nothing was written down for others.
                    const Source source = here[n] < 0.0f ? source_list[cell[n]] : Source{0.0f, 0.0f, {NO_MIX, NO_MIX}};
                    bool kept_for = step < lines.until && (FAINT || fabsf(source.mix.primary - lines.mix) <= MIX_KEPT);
                    if (any_lane(here[n] < 0.0f && !kept_for)) {
                        // Behind a wall a line is elsewhere.
                        int entry = (here[0] == WALL ? cell[n] : cell[0]) - slab_cell;
                        // Not the slab at hand: what else stands there is read only now.
                        find_sends<FAINT>(lines, march, heading, *way, table, density_list, source_list, source.mix, entry,
                                          units);
                    }
                    lines.until = here[n] == WALL ? 0 : lines.until;
                    float exponent = fabsf(here[n]) * slab.exponent[n];
                    float stays = carry(lines.line, exponent, source, lines.sends);
                    deposit_at(deposit_list + cell[n], __float2int_rn(stays));
                }
            } else {
                lines.until = 0;
                // Terms may be negative.
                float fast = 0.0f;
#pragma unroll
                for (int term = FAST_FIRST; term < TERMS; ++term) {
                    fast += fabsf(lines.line.state[term]);
                }
                // In thin matter as much would be a greater dose.
                if (any_lane(fast > LEAST_FAST * here[0])) {
                    pass<TERMS>(lines.line, slab, cell, here, deposit_list);
                } else {
                    pass<FAST_FIRST>(lines.line, slab, cell, here, deposit_list);
                }
            }
            step += 1;
            way += 1;
            slab_cell += next_cell;
        } while (step < slabs && any_lane(lines.line.sum > LEAST_CARRIED));
    }
}

extern "C" __global__ void __launch_bounds__(128, 9)
cccs_bright(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
            const Slab* __restrict__ slabs, const Box* __restrict__ boxes, const Coefficients* __restrict__ table,
            const float* __restrict__ density, const Source* __restrict__ source,
            const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport<false>(marches, most_slabs, headings, slabs, boxes, table, density, source, scale, deposit);
}

extern "C" __global__ void __launch_bounds__(128, 9)
cccs_faint(const March* __restrict__ marches, const int most_slabs, const Heading* __restrict__ headings,
           const Slab* __restrict__ slabs, const Box* __restrict__ boxes, const Coefficients* __restrict__ table,
           const float* __restrict__ density, const Source* __restrict__ source,
           const Scale* __restrict__ scale, int* __restrict__ deposit)
{
    transport<true>(marches, most_slabs, headings, slabs, boxes, table, density, source, scale, deposit);
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
