// Sums of batches of histories, by voxel, for every engine that samples them (engine/histories/tally.rs).

// Sums over batches, by voxel: of quanta, and of their squares in two words. Whole numbers: the sums do not depend on
// the order of batches or on the card that ran them.
struct Sums {
    unsigned long long *quanta, *squares, *squares_high;
};

// Adds to the sums of a voxel.
__device__ inline void add(const Sums& sums, int i, unsigned long long quanta, unsigned long long square, unsigned long long square_high)
{
    sums.quanta[i] += quanta;
    unsigned long long low = sums.squares[i] + square;
    sums.squares[i] = low;
    square_high += low < square ? 1ull : 0ull;
    // Rare: a batch mostly deposits under 2^32 quanta in a voxel.
    if (square_high != 0ull) {
        sums.squares_high[i] += square_high;
    }
}

// Adds a batch to the sums over batches, and clears its lattice.
extern "C" __global__ void __launch_bounds__(256)
tally_add_batch(const int voxels, unsigned long long* __restrict__ quanta, const Sums sums)
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
tally_add(const int voxels, const Sums from, const Sums to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < voxels) {
        add(to, i, from.quanta[i], from.squares[i], from.squares_high[i]);
    }
}

// Mean of a history and its standard deviation, by voxel (engine/histories/tally.rs, `means`).
extern "C" __global__ void __launch_bounds__(256)
tally_means(const int voxels, const double batches, const double per_history, const Sums sums, float* __restrict__ mean,
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
