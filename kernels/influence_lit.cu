// The voxels that the focal source lights, and the part of each beamlet in their TERMA (engine/influence/field.rs), in the padded
// lattice of engine/influence/walks.rs. Voxels keep their order: runs repeat.

#include "influence.cuh"
#include "spans.cuh"

constexpr unsigned THREADS = 256;
// A line ends beyond the lattice's sides, as END of engine/influence/walks.rs.
constexpr float END = -1.0f;

// As the host declares it, field for field.
struct LitField {
    Spans columns, rows;
    float spacing_mm[3];
    float source_mm[3]; // in the lattice's frame
    float least;        // share
    float open;         // focal fluence of the open machine on the axis
};

// What all voxels together have: TERMA (its bits) and index of the brightest, and the greatest density (its bits).
struct Brightest {
    unsigned long long key;
    unsigned densest;
    unsigned none;
    float terma[4];
};

// Spans that shine on a width round a place: first, one past the last.
__device__ inline int2 near_spans(const Spans& of, const float* __restrict__ sides, float at, float width)
{
    const float* own = sides + of.sides_at;
    float reach = of.blur_mm + 0.5f * width;
    int first = 0;
    while (first < of.spans && own[2 * first + 1] < at - reach) {
        ++first;
    }
    int end = first;
    while (end < of.spans && own[2 * end] <= at + reach) {
        ++end;
    }
    return make_int2(first, end);
}

// Calls for each beamlet asked for with its share in a voxel; how many there are.
template <typename Each>
__device__ inline unsigned each_share(const Field& field, const LitField& lit, const float* __restrict__ sides,
                                      const double* __restrict__ sums, const unsigned* __restrict__ asked, const Seen& seen,
                                      Each each)
{
    float u = field.along_y ? seen.at[1] : seen.at[0], v = field.along_y ? seen.at[0] : seen.at[1];
    int2 rows = near_spans(lit.rows, sides, v, seen.widths[1]);
    int2 columns = rows.x < rows.y ? near_spans(lit.columns, sides, u, seen.widths[0]) : make_int2(0, 0);
    unsigned count = 0;
    for (int row = rows.x; row < rows.y; ++row) {
        float of_row = share_of_span(lit.rows, sums, row, v, seen.widths[1]);
        for (int column = columns.x; of_row > lit.least && column < columns.y; ++column) {
            unsigned beamlet = asked[row * lit.columns.spans + column];
            float of_column = share_of_span(lit.columns, sums, column, u, seen.widths[0]);
            if (beamlet != 0xffffffffu && of_column > lit.least && of_row * of_column > lit.least) {
                each(beamlet, of_row * of_column);
                ++count;
            }
        }
    }
    return count;
}

__device__ inline Terma terma_of(const Field& field, const LitField& lit, const float* __restrict__ numbers, const Seen& seen,
                                 float depth_mm)
{
    return open_terma(field, numbers, seen.at, depth_mm, lit.open * horn_at(field, numbers, seen.at), seen.inverse_square);
}

// Counts lit voxels and shares, and finds the brightest voxel. Threads are voxels, x fastest.
extern "C" __global__ void __launch_bounds__(THREADS)
lit_count(const Field field, const LitField lit, const float* __restrict__ numbers, const float* __restrict__ sides,
          const double* __restrict__ sums, const unsigned* __restrict__ asked, const float* __restrict__ density,
          const float* __restrict__ depth_mm, uint2* __restrict__ of_blocks, Brightest* __restrict__ brightest)
{
    int index = blockIdx.x * THREADS + threadIdx.x;
    int nx = field.size[0], ny = field.size[1];
    unsigned shares = 0;
    unsigned long long key = 0;
    float here = index < nx * ny * field.size[2] ? density[index] : 0.0f;
    if (here > 0.0f) {
        Seen seen = seen_from_source(field, index % nx, index / nx % ny, index / (nx * ny));
        if (seen.is_seen) {
            shares = each_share(field, lit, sides, sums, asked, seen, [](unsigned, float) {});
        }
        if (shares > 0) {
            Terma terma = terma_of(field, lit, numbers, seen, depth_mm[index]);
            float sum = terma.channel[0] + terma.channel[1] + terma.channel[2] + terma.channel[3];
            key = (unsigned long long)__float_as_uint(fmaxf(sum, 0.0f)) << 32 | (unsigned)index;
        }
    }
    auto more = [](unsigned long long a, unsigned long long b) { return a > b ? a : b; };
    key = over_block(key, more);
    unsigned densest = __float_as_uint(over_block(fmaxf(here, 0.0f), [](float a, float b) { return fmaxf(a, b); }));
    unsigned long long both = (unsigned long long)(shares > 0) << 32 | shares;
    both = over_block(both, [](unsigned long long a, unsigned long long b) { return a + b; });
    if (threadIdx.x == 0) {
        of_blocks[blockIdx.x] = make_uint2((unsigned)(both >> 32), (unsigned)both);
        atomicMax(&brightest->key, key);
        atomicMax(&brightest->densest, densest);
    }
}

// TERMA of the brightest voxel, in one thread.
extern "C" __global__ void
lit_brightest(const Field field, const LitField lit, const float* __restrict__ numbers, const float* __restrict__ depth_mm,
              Brightest* __restrict__ brightest)
{
    if (brightest->key == 0) {
        return;
    }
    unsigned index = (unsigned)brightest->key;
    unsigned nx = field.size[0], ny = field.size[1];
    Seen seen = seen_from_source(field, index % nx, index / nx % ny, index / (nx * ny));
    Terma terma = terma_of(field, lit, numbers, seen, depth_mm[index]);
    for (int c = 0; c < 4; ++c) {
        brightest->terma[c] = terma.channel[c];
    }
}

// Writes lit voxels and shares; `before` has those of all blocks before each.
extern "C" __global__ void __launch_bounds__(THREADS)
lit_fill(const Field field, const LitField lit, const float* __restrict__ numbers, const float* __restrict__ sides,
         const double* __restrict__ sums, const unsigned* __restrict__ asked, const float* __restrict__ density,
         const float* __restrict__ depth_mm, const uint2* __restrict__ before, LitVoxel* __restrict__ voxels,
         Terma* __restrict__ terma, unsigned* __restrict__ first, Share* __restrict__ beamlets, unsigned* __restrict__ number_of)
{
    int index = blockIdx.x * THREADS + threadIdx.x;
    int nx = field.size[0], ny = field.size[1];
    int place[3] = {index % nx, index / nx % ny, index / (nx * ny)};
    unsigned shares = 0;
    Seen seen = {};
    if (index < nx * ny * field.size[2] && density[index] > 0.0f) {
        seen = seen_from_source(field, place[0], place[1], place[2]);
        if (seen.is_seen) {
            shares = each_share(field, lit, sides, sums, asked, seen, [](unsigned, float) {});
        }
    }
    // Lit voxels and shares of this thread and all before it in the block.
    __shared__ uint2 to[THREADS];
    to[threadIdx.x] = make_uint2(shares > 0, shares);
    for (unsigned step = 1; step < THREADS; step *= 2) {
        __syncthreads();
        uint2 other = threadIdx.x >= step ? to[threadIdx.x - step] : make_uint2(0, 0);
        __syncthreads();
        to[threadIdx.x].x += other.x;
        to[threadIdx.x].y += other.y;
    }
    __syncthreads();
    if (shares == 0) {
        return;
    }
    unsigned number = before[blockIdx.x].x + to[threadIdx.x].x - 1;
    unsigned share = before[blockIdx.x].y + to[threadIdx.x].y - shares;
    LitVoxel out = {};
    out.at = ((place[2] + 1) * (ny + 2) + place[1] + 1) * (nx + 2) + place[0] + 1;
    float ray[3];
    for (int axis = 0; axis < 3; ++axis) {
        out.place[axis] = place[axis];
        ray[axis] = place[axis] * lit.spacing_mm[axis] - lit.source_mm[axis];
    }
    float length = norm3df(ray[0], ray[1], ray[2]);
    for (int axis = 0; axis < 3; ++axis) {
        out.ray[axis] = ray[axis] / length;
    }
    Terma own = terma_of(field, lit, numbers, seen, depth_mm[index]);
    voxels[number] = out;
    terma[number] = own;
    number_of[out.at] = number;
    first[number] = share;
    first[number + 1] = share + shares;
    each_share(field, lit, sides, sums, asked, seen, [&](unsigned beamlet, float part) {
        beamlets[share] = {beamlet, part};
        ++share;
    });
}

// The density in a lattice with a voxel more on each side. Threads are its voxels.
extern "C" __global__ void __launch_bounds__(THREADS)
lit_pad(const int nx, const int ny, const int nz, const float* __restrict__ density, float* __restrict__ padded)
{
    int index = blockIdx.x * THREADS + threadIdx.x;
    int i = index % (nx + 2) - 1, j = index / (nx + 2) % (ny + 2) - 1, k = index / ((nx + 2) * (ny + 2)) - 1;
    if (k <= nz) {
        bool inside = i >= 0 && i < nx && j >= 0 && j < ny && k >= 0 && k < nz;
        padded[index] = inside ? density[(k * ny + j) * nx + i] : END;
    }
}

// The number of each sampled voxel in the padded lattice.
extern "C" __global__ void __launch_bounds__(THREADS)
lit_rows(const int count, const int nx, const int ny, const unsigned* __restrict__ voxels, int* __restrict__ row_of)
{
    int n = blockIdx.x * THREADS + threadIdx.x;
    if (n < count) {
        unsigned voxel = voxels[n];
        unsigned i = voxel % nx, j = voxel / nx % ny, k = voxel / (nx * ny);
        row_of[((k + 1) * (ny + 2) + j + 1) * (nx + 2) + i + 1] = n;
    }
}

// Values at sampled voxels.
extern "C" __global__ void __launch_bounds__(THREADS)
lit_gather(const int count, const unsigned* __restrict__ voxels, const float* __restrict__ values, float* __restrict__ gathered)
{
    int n = blockIdx.x * THREADS + threadIdx.x;
    if (n < count) {
        gathered[n] = values[voxels[n]];
    }
}
