// Measures by counting: the joint histogram of X-ray and DRR with its mutual information, and the ranks of the DRR's values with the
// products of a rank correlation. For the pose search, of DRRs that never leave the card.
// `src/engine/drr_gradient/{information,rank}.rs` is the same on the CPU.
//
// All counts are whole numbers, so that equal runs are equal to the bit whatever the order of the threads.

constexpr unsigned ALL = 0xffffffffu;
constexpr int BINS = 32;
// Threads of a block: one for each cell of the histogram.
constexpr int CELLS = BINS * BINS;
constexpr int WARPS = CELLS / 32;
// A pixel's weight in the histogram; host: at most 2^15 of them.
constexpr float WHOLE = 65536.0f;
// Threads that share a pixel's rank.
constexpr int LANES = 8;
constexpr int RANK_THREADS = 256;

// The rays of a view, of a list of all.
struct View {
    unsigned begin, end;
};

// Over a block of WARPS warps; every thread has the whole. The order is always the same.
template <typename T, typename Join>
__device__ inline T over_block(T value, T* shared, Join join)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2) {
        value = join(value, __shfl_xor_sync(ALL, value, other));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = shared[threadIdx.x % WARPS];
#pragma unroll
    for (int other = 16; other > 0; other /= 2) {
        value = join(value, __shfl_xor_sync(ALL, value, other));
    }
    return value;
}

// Fused or not it is the same: WHOLE is a power of two.
__device__ inline unsigned weight(float fixed, float moving)
{
    return (unsigned)(fixed * moving * WHOLE + 0.5f);
}

__device__ inline double entropy_of(unsigned weight, double total)
{
    double part = weight / total;
    return weight > 0 ? -part * log(part) : 0.0;
}

// Mutual information, nats, of a view (blocks along x) and a pose (blocks along y): [pose][view]; no number where the DRR has
// one value only. `fixed`: where the X-ray's values lie among the bins, 0 to BINS - 1.
extern "C" __global__ void __launch_bounds__(CELLS)
similarity_information(const float* __restrict__ integrals, int rays, const View* __restrict__ views,
                     const float* __restrict__ fixed, double* __restrict__ out)
{
    __shared__ unsigned joint[CELLS];
    __shared__ unsigned sides[2][BINS];
    __shared__ float floats[WARPS];
    __shared__ double doubles[WARPS];
    View view = views[blockIdx.x];
    const float* moving = integrals + (size_t)blockIdx.y * rays;
    float high = __int_as_float((int)0xff800000u), low = -high;
    for (unsigned ray = view.begin + threadIdx.x; ray < view.end; ray += CELLS) {
        low = fminf(low, moving[ray]);
        high = fmaxf(high, moving[ray]);
    }
    joint[threadIdx.x] = 0;
    low = over_block(low, floats, [](float a, float b) { return fminf(a, b); });
    high = over_block(high, floats, [](float a, float b) { return fmaxf(a, b); });
    float scale = (BINS - 1) / (high - low);
    // All threads agree: no barrier is passed by some alone.
    if (!(isfinite(scale) && scale > 0.0f)) {
        if (threadIdx.x == 0) {
            out[blockIdx.y * gridDim.x + blockIdx.x] = __longlong_as_double(0x7ff8000000000000ll);
        }
        return;
    }
    for (unsigned ray = view.begin + threadIdx.x; ray < view.end; ray += CELLS) {
        float x = fminf(fmaxf((moving[ray] - low) * scale, 0.0f), BINS - 1.0f);
        float f = fixed[ray];
        float lower_x = fminf(floorf(x), BINS - 2.0f), lower_f = fminf(floorf(f), BINS - 2.0f);
        float high_x = x - lower_x, high_f = f - lower_f;
        unsigned* cell = joint + (int)lower_f * BINS + (int)lower_x;
        atomicAdd(cell, weight(1.0f - high_f, 1.0f - high_x));
        atomicAdd(cell + 1, weight(1.0f - high_f, high_x));
        atomicAdd(cell + BINS, weight(high_f, 1.0f - high_x));
        atomicAdd(cell + BINS + 1, weight(high_f, high_x));
    }
    __syncthreads();
    if (threadIdx.x < 2 * BINS) {
        int side = threadIdx.x / BINS, bin = threadIdx.x % BINS;
        unsigned sum = 0;
        for (int other = 0; other < BINS; ++other) {
            sum += side == 0 ? joint[bin * BINS + other] : joint[other * BINS + bin];
        }
        sides[side][bin] = sum;
    }
    __syncthreads();
    auto plus = [](double a, double b) { return a + b; };
    double total = over_block((double)joint[threadIdx.x], doubles, plus);
    double own = -entropy_of(joint[threadIdx.x], total);
    if (threadIdx.x < 2 * BINS) {
        own += entropy_of(sides[threadIdx.x / BINS][threadIdx.x % BINS], total);
    }
    own = over_block(own, doubles, plus);
    if (threadIdx.x == 0) {
        out[blockIdx.y * gridDim.x + blockIdx.x] = own;
    }
}

// Twice the rank of every value of a view (blocks along y), counted from the middle one, equal values sharing the mean of
// their ranks, at a pose (blocks along z); of these added to what is there: their squares, and their products with the
// X-ray's own: [pose][view][2].
extern "C" __global__ void __launch_bounds__(RANK_THREADS)
similarity_ranks(const float* __restrict__ integrals, int rays, const View* __restrict__ views,
               const int* __restrict__ fixed, unsigned long long* __restrict__ out)
{
    __shared__ float tile[RANK_THREADS * LANES];
    View view = views[blockIdx.y];
    unsigned count = view.end - view.begin;
    unsigned ray = (blockIdx.x * RANK_THREADS + threadIdx.x) / LANES;
    // Views differ in size: all threads of a block agree.
    if (blockIdx.x * RANK_THREADS / LANES >= count) {
        return;
    }
    unsigned lane = threadIdx.x % LANES;
    const float* moving = integrals + (size_t)blockIdx.z * rays + view.begin;
    float own = ray < count ? moving[ray] : 0.0f;
    int below = 0;
    for (unsigned first = 0; first < count; first += RANK_THREADS * LANES) {
        unsigned here = min(count - first, RANK_THREADS * LANES);
        __syncthreads();
        for (unsigned n = threadIdx.x; n < here; n += RANK_THREADS) {
            tile[n] = moving[first + n];
        }
        __syncthreads();
        for (unsigned n = lane; n < here; n += LANES) {
            float other = tile[n];
            below += (other < own) + (other <= own);
        }
    }
#pragma unroll
    for (int other = LANES / 2; other > 0; other /= 2) {
        below += __shfl_xor_sync(ALL, below, other);
    }
    long long square = 0, product = 0;
    if (ray < count && lane == 0) {
        long long rank = below - (int)count;
        square = rank * rank;
        product = rank * fixed[view.begin + ray];
    }
#pragma unroll
    for (int other = 16; other > 0; other /= 2) {
        square += __shfl_xor_sync(ALL, square, other);
        product += __shfl_xor_sync(ALL, product, other);
    }
    if (threadIdx.x % 32 == 0) {
        unsigned long long* sums = out + ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * 2;
        atomicAdd(sums, (unsigned long long)square);
        atomicAdd(sums + 1, (unsigned long long)product);
    }
}
