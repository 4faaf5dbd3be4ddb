// Monte Carlo convolution/superposition (Zhou et al., Med. Phys. 37, 5593 (2010)) in stages: `mccs_head` draws particles, follows them
// through the head and to their first interactions and writes rays; `mccs_rays` deposits along them; `mccs_tally` adds a batch
// to the sums. engine/mccs/cpu is the same on the CPU, name for name.
//
// Deposits are whole numbers of quanta: their sum is the same in any order, so that equal runs are equal to the bit.

#include "mccs.cuh"

__device__ inline float cone_cosine(int edge) { return cosf(PI / (float)CONES * (float)edge); }

// A direction at a polar angle and an azimuth about another (engine/mccs/cpu/deposit.rs).
__device__ inline void turned(const float axis[3], float cos, float azimuth, float out[3])
{
    float x = axis[0], y = axis[1], z = axis[2];
    float sign = copysignf(1.0f, z);
    float a = -1.0f / (sign + z);
    float b = x * y * a;
    float u[3] = {1.0f + sign * x * x * a, sign * b, -sign * x};
    float v[3] = {b, sign + y * y * a, -y};
    float sin = sqrtf(fmaxf(1.0f - cos * cos, 0.0f));
    float s, c;
    sincosf(TAU * azimuth, &s, &c);
    s *= sin;
    c *= sin;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        out[i] = c * u[i] + s * v[i] + cos * axis[i];
    }
}

// Direction k from a place (engine/mccs/cpu/deposit.rs, `ray`), and the slot of the history that it goes to: those followed to the
// end come first, so that the threads of a warp have paths of like length.
__device__ inline Ray ray_from(const Tables& run, const Particle& photon, const Stream& stream, unsigned k,
                               const float at[3], unsigned& slot)
{
    const float* limits = run.cones + run.kernels[photon.bin].cones_at;
    float count = (float)run.directions;
    uint4 first = stream.words(PLACE_RAYS);
    float xi = unit(word_of(stream.words(PLACE_RAYS + 1u + k / 4u), k % 4u));
    float share = photon.weight / count;
    float cos, azimuth;
    int cone;
    unsigned far;
    if (run.paper) {
        cos = 2.0f * xi - 1.0f;
        cone = min((int)(acosf(cos) / PI * (float)CONES), CONES - 1);
        float low = cone == 0 ? 0.0f : limits[cone - 1];
        share *= 2.0f * (limits[cone] - low) / (cone_cosine(cone) - cone_cosine(cone + 1));
        azimuth = unit(word_of(stream.words(PLACE_RAYS + 1u + k / 4u + 8u), k % 4u));
        far = 1u;
        slot = k;
    } else {
        unsigned stratum = (k + (unsigned)(unit(first.z) * count)) % run.directions;
        float place = ((float)stratum + xi) / count;
        int begin = 0, end = CONES;
        while (begin < end) {
            int middle = (begin + end) / 2;
            if (limits[middle] <= place) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        cone = min(begin, CONES - 1);
        float low = cone == 0 ? 0.0f : limits[cone - 1];
        float part = fminf(fmaxf((place - low) / (limits[cone] - low), 0.0f), 1.0f);
        float inner = cone_cosine(cone);
        cos = inner + (cone_cosine(cone + 1) - inner) * part;
        azimuth = unit(first.x) + (float)k * 0.618034f;
        azimuth -= floorf(azimuth);
        unsigned offset = (unsigned)(unit(first.y) * (float)FAR_ONE_IN);
        unsigned turn = (k + offset) % FAR_ONE_IN;
        far = turn == 0u ? FAR_ONE_IN : 0u;
        unsigned rounds = (run.directions + FAR_ONE_IN - 1u) / FAR_ONE_IN;
        slot = turn == 0u ? k / FAR_ONE_IN : rounds + (FAR_ONE_IN - 1u) * (k / FAR_ONE_IN) + (turn - 1u);
    }
    Ray ray;
    float direction[3];
    turned(photon.direction, cos, azimuth, direction);
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        ray.from[a] = at[a];
        ray.direction[a] = direction[a] * run.per_cm[a];
    }
    ray.energy = share;
    ray.packed = packed_ray(photon.bin, (unsigned)cone, far);
    return ray;
}

// Draws `histories` from the one numbered `n` within its batch on, and writes their rays: slot after slot, each over all histories.
// Slots must hold no ray before.
extern "C" __global__ void __launch_bounds__(HEAD_THREADS)
mccs_head(const Tables run, const unsigned long long first, const unsigned begin, const unsigned histories, const float batch,
          Ray* __restrict__ rays)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= histories) {
        return;
    }
    unsigned long long history = first + begin + i;
    Stream stream = stream_of(run.head, history);
    Particle particle = sample(run.head, stream, begin + i, batch);
    if (!(particle.weight > 0.0f)) {
        return;
    }
    float from[3], direction[3], entry;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        from[a] = particle.position_cm[a] * run.per_cm[a];
        direction[a] = particle.direction[a] * run.per_cm[a];
    }
    if (!within(run.size, from, direction, entry)) {
        return;
    }
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        from[a] = fminf(fmaxf(from[a] + entry * direction[a], 0.0f), (float)run.size[a]);
    }
    if (particle.kind == ELECTRON) {
        Ray ray = {{from[0], from[1], from[2]}, particle.weight, {direction[0], direction[1], direction[2]},
                   packed_ray(particle.bin, 0u, 0u)};
        rays[i] = ray;
        return;
    }
    const BinKernel& kernel = run.kernels[particle.bin];
    // The walk only notes the distances: making rays inside it would serialise the warp.
    __shared__ float ways[MOST_DIRECTIONS][HEAD_THREADS];
    unsigned places = run.paper ? 1u : run.directions;
    float count = (float)places;
    float xi = unit(stream.words(PLACE_DELIVERY).x);
    unsigned k = 0u;
    float wanted = -logf(1.0f - xi / count);
    float paths_so_far = 0.0f;
    EvenWalk walk(run.size, from, direction);
    while (k < places) {
        float start = walk.at, cm;
        int voxel;
        if (!walk.pass(voxel, cm)) {
            break;
        }
        unsigned packed = __ldg(run.voxels + voxel);
        float per_cm = density_of(packed) * kernel.mu[class_of(packed)];
        float paths = per_cm * cm;
        while (k < places && paths_so_far + paths >= wanted && per_cm > 0.0f) {
            ways[k][threadIdx.x] = start + (wanted - paths_so_far) / per_cm;
            k += 1u;
            wanted = -logf(1.0f - ((float)k + xi) / count);
        }
        paths_so_far += paths;
    }
    for (unsigned n = 0u; n < (run.paper ? k * run.directions : k); ++n) {
        float way = ways[run.paper ? 0u : n][threadIdx.x];
        float at[3];
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            at[a] = fminf(fmaxf(from[a] + way * direction[a], 0.0f), (float)run.size[a]);
        }
        unsigned slot;
        Ray ray = ray_from(run, particle, stream, n, at, slot);
        rays[(unsigned long long)slot * histories + i] = ray;
    }
}

// Deposits along rays (engine/mccs/cpu/deposit.rs, `along`), and empties their slots.
extern "C" __global__ void __launch_bounds__(128)
mccs_rays(const Tables run, Ray* __restrict__ rays, const unsigned count, unsigned long long* __restrict__ quanta)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    Ray ray = rays[i];
    if (!(ray.energy > 0.0f)) {
        return;
    }
    rays[i].energy = 0.0f;
    const BinKernel& kernel = run.kernels[bin_of(ray)];
    const float* row = run.rows + kernel.rows_at + cone_of(ray) * NODES;
    float near_cm = kernel.near_cm;
    float far_factor = far_factor_of(ray);
    EvenWalk walk(run.size, ray.from, ray.direction);
    float energy = ray.energy, radius = 0.0f, before = 0.0f;
    bool far = false;
    int voxel;
    float cm;
    while (walk.pass(voxel, cm)) {
        radius += density_of(__ldg(run.voxels + voxel)) * cm;
        float x = sqrtf(radius * (1.0f / LAST_CM)) * (float)(NODES - 1);
        int node = min((int)x, NODES - 2);
        float low = __ldg(row + node), high = __ldg(row + node + 1);
        float inside = fminf(low + (high - low) * (x - (float)node), 1.0f);
        float deposit = (inside - before) * energy + 0.5f;
        // A float converts to 32 bits in one instruction, to 64 in several: only the few deposits that need them.
        unsigned long long left = __float2uint_rd(deposit);
        if (deposit >= 4294967296.0f) {
            left = __float2ull_rd(deposit);
        }
        if (left != 0ull) {
            atomicAdd(quanta + voxel, left);
        }
        before = inside;
        if (before >= 1.0f) {
            return;
        }
        if (radius > near_cm && !far) {
            far = true;
            energy *= far_factor;
            if (energy == 0.0f) {
                return;
            }
        }
    }
}
