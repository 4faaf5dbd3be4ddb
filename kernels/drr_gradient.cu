// DRRs and their derivatives by pose on an even grid, and the sums of their correlation with X-rays, for the pose search. `src/engine/drr_gradient/cpu.rs` is the same on the CPU.
//
// LANES threads share a ray: each samples every LANES-th of its steps, and their sums are added in a fixed order.

constexpr int LANES = 8;
constexpr int AXES = 6;
constexpr unsigned ALL = 0xffffffffu;

// As the host declares them in engine/drr_gradient/cuda/mod.rs, field for field.

// Source and image in voxel indices, or how they move.
struct Shot {
    double source[3];
    double first[3]; // from the source to the centre of pixel (0, 0)
    double column[3];
    double row[3];
};

struct Scene {
    int size[3];
    int rays;
    int views;
    float step_mm;
    float spacing_mm[3];
};

// Which view, and column and row in it.
struct Pixel {
    unsigned short view, column, row, none;
};

struct March {
    float first[3];
    float step[3];
    float alpha;
    float alpha_step;
    int steps;
    float step_mm;
};

__device__ inline double way_of(const Shot& shot, Pixel pixel, int axis)
{
    return shot.first[axis] + shot.column[axis] * pixel.column + shot.row[axis] * pixel.row;
}

// Middles of equal steps along the part of a ray where there is anything; false where that is nothing.
__device__ bool march_of(const Scene& scene, const Shot& shot, Pixel pixel, March& march)
{
    double enter = 0.0, leave = 1.0, square = 0.0, way[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        way[axis] = way_of(shot, pixel, axis);
        double high = scene.size[axis] - 1;
        double mm = way[axis] * scene.spacing_mm[axis];
        square += mm * mm;
        if (way[axis] == 0.0) {
            if (!(shot.source[axis] >= 0.0 && shot.source[axis] < high)) {
                return false;
            }
            continue;
        }
        double a = -shot.source[axis] / way[axis];
        double b = (high - shot.source[axis]) / way[axis];
        enter = fmax(enter, fmin(a, b));
        leave = fmin(leave, fmax(a, b));
    }
    if (!(enter < leave)) {
        return false;
    }
    double length_mm = sqrt(square) * (leave - enter);
    double steps = fmax(ceil(length_mm / scene.step_mm), 1.0);
    double alpha_step = (leave - enter) / steps;
    double alpha = enter + 0.5 * alpha_step;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        march.first[axis] = (float)(shot.source[axis] + way[axis] * alpha);
        march.step[axis] = (float)(way[axis] * alpha_step);
    }
    march.alpha = (float)alpha;
    march.alpha_step = (float)alpha_step;
    march.steps = (int)steps;
    march.step_mm = (float)(length_mm / steps);
    return true;
}

// Corner values [z][y][x] round a step, and where in its voxel it is.
struct Sample {
    float corner[8];
    float t[3];
};

__device__ inline Sample sample_of(const Scene& scene, const float* __restrict__ values, const March& march, int step)
{
    Sample out;
    int low[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        float x = fmaf((float)step, march.step[axis], march.first[axis]);
        float floor = fminf(fmaxf(floorf(x), 0.0f), (float)(scene.size[axis] - 2));
        low[axis] = (int)floor;
        out.t[axis] = x - floor;
    }
    const float* row = values + ((size_t)low[2] * scene.size[1] + low[1]) * scene.size[0] + low[0];
    const float* far = row + (size_t)scene.size[0] * scene.size[1];
    out.corner[0] = row[0];
    out.corner[1] = row[1];
    out.corner[2] = row[scene.size[0]];
    out.corner[3] = row[scene.size[0] + 1];
    out.corner[4] = far[0];
    out.corner[5] = far[1];
    out.corner[6] = far[scene.size[0]];
    out.corner[7] = far[scene.size[0] + 1];
    return out;
}

__device__ inline float over_lanes(float value)
{
#pragma unroll
    for (int other = LANES / 2; other > 0; other /= 2) {
        value += __shfl_xor_sync(ALL, value, other);
    }
    return value;
}

// Line integrals of every ray (threads along x) at every pose (blocks along y): [pose][ray].
extern "C" __global__ void __launch_bounds__(128)
drr_integrals(const Scene scene, const float* __restrict__ values, const Shot* __restrict__ shots,
                 const Pixel* __restrict__ pixels, float* __restrict__ integrals)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int ray = thread / LANES, lane = thread % LANES;
    float sum = 0.0f;
    March march;
    if (ray < scene.rays) {
        Pixel pixel = pixels[ray];
        if (march_of(scene, shots[blockIdx.y * scene.views + pixel.view], pixel, march)) {
            for (int step = lane; step < march.steps; step += LANES) {
                Sample s = sample_of(scene, values, march, step);
                const float* c = s.corner;
                float near = fmaf(s.t[0], c[1] - c[0], c[0]), near_up = fmaf(s.t[0], c[3] - c[2], c[2]);
                float far = fmaf(s.t[0], c[5] - c[4], c[4]), far_up = fmaf(s.t[0], c[7] - c[6], c[6]);
                near = fmaf(s.t[1], near_up - near, near);
                far = fmaf(s.t[1], far_up - far, far);
                sum += fmaf(s.t[2], far - near, near);
            }
            sum *= march.step_mm;
        }
    }
    // Every lane of a warp is here, also of rays too many.
    sum = over_lanes(sum);
    if (ray < scene.rays && lane == 0) {
        integrals[(size_t)blockIdx.y * scene.rays + ray] = sum;
    }
}

// Line integrals at one pose and their derivatives by its numbers: [1 + AXES][ray]. `motions` is [view][axis].
extern "C" __global__ void __launch_bounds__(128)
drr_gradients(const Scene scene, const float* __restrict__ values, const Shot* __restrict__ shots,
            const Shot* __restrict__ motions, const Pixel* __restrict__ pixels, float* __restrict__ out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int ray = thread / LANES, lane = thread % LANES;
    float sum = 0.0f, near[3] = {}, far[3] = {};
    Pixel pixel = {};
    if (ray < scene.rays) {
        pixel = pixels[ray];
        March march;
        if (march_of(scene, shots[pixel.view], pixel, march)) {
            for (int step = lane; step < march.steps; step += LANES) {
                Sample s = sample_of(scene, values, march, step);
                const float* c = s.corner;
                float d0 = c[1] - c[0], d1 = c[3] - c[2], d2 = c[5] - c[4], d3 = c[7] - c[6];
                float r0 = fmaf(s.t[0], d0, c[0]), r1 = fmaf(s.t[0], d1, c[2]);
                float r2 = fmaf(s.t[0], d2, c[4]), r3 = fmaf(s.t[0], d3, c[6]);
                float y0 = r1 - r0, y1 = r3 - r2;
                float low = fmaf(s.t[1], y0, r0), high = fmaf(s.t[1], y1, r2);
                float x0 = fmaf(s.t[1], d1 - d0, d0), x1 = fmaf(s.t[1], d3 - d2, d2);
                float gradient[3] = {fmaf(s.t[2], x1 - x0, x0), fmaf(s.t[2], y1 - y0, y0), high - low};
                float alpha = fmaf((float)step, march.alpha_step, march.alpha);
                sum += fmaf(s.t[2], high - low, low);
#pragma unroll
                for (int axis = 0; axis < 3; ++axis) {
                    near[axis] += gradient[axis];
                    far[axis] = fmaf(alpha, gradient[axis], far[axis]);
                }
            }
            sum *= march.step_mm;
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
                near[axis] *= march.step_mm;
                far[axis] *= march.step_mm;
            }
        }
    }
    sum = over_lanes(sum);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        near[axis] = over_lanes(near[axis]);
        far[axis] = over_lanes(far[axis]);
    }
    if (ray >= scene.rays || lane > AXES) {
        return;
    }
    // A lane for the integral and one for each derivative.
    float value = sum;
    if (lane > 0) {
        const Shot& motion = motions[pixel.view * AXES + lane - 1];
        double along = 0.0;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            along += near[axis] * motion.source[axis] + far[axis] * way_of(motion, pixel, axis);
        }
        value = (float)along;
    }
    out[(size_t)lane * scene.rays + ray] = value;
}

// A feature of a correlation: the difference of two rays' values, or one of them where `minus` is `plus`.
struct Feature {
    unsigned plus, minus;
    float fixed;
    float none;
};

struct Group {
    unsigned begin, end;
};

__device__ inline double feature_of(const float* __restrict__ values, const Feature& feature)
{
    double plus = values[feature.plus];
    return feature.plus == feature.minus ? plus : plus - values[feature.minus];
}

constexpr int WARPS = 8;

// Adds a value over a block of WARPS warps; the whole is at thread 0.
__device__ inline double over_block(double value, double* shared)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2) {
        value += __shfl_xor_sync(ALL, value, other);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = value;
    }
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) {
            sum += shared[warp];
        }
    }
    return sum;
}

// Of a group (blocks along x are `parts` of each) and a pose (blocks along y): sums of m, m m, f m, m the DRR's feature
// and f the X-ray's: [pose][group][part][3].
extern "C" __global__ void __launch_bounds__(WARPS * 32)
drr_sums(const float* __restrict__ integrals, int rays, const Feature* __restrict__ features,
            const Group* __restrict__ groups, int parts, double* __restrict__ sums)
{
    __shared__ double shared[WARPS];
    Group group = groups[blockIdx.x / parts];
    const float* values = integrals + (size_t)blockIdx.y * rays;
    double m = 0.0, mm = 0.0, fm = 0.0;
    for (unsigned at = group.begin + blockIdx.x % parts * blockDim.x + threadIdx.x; at < group.end;
         at += parts * blockDim.x) {
        Feature feature = features[at];
        double value = feature_of(values, feature);
        m += value;
        mm += value * value;
        fm += feature.fixed * value;
    }
    m = over_block(m, shared);
    mm = over_block(mm, shared);
    fm = over_block(fm, shared);
    if (threadIdx.x == 0) {
        double* out = sums + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * 3;
        out[0] = m;
        out[1] = mm;
        out[2] = fm;
    }
}

// Sums of products with derivatives d, of those of `drr_gradients`: m, m m, f m, then of each axis d, f d, m d, then d d of
// the lower triangle, row by row.
constexpr int SUMS = 3 + 3 * AXES + AXES * (AXES + 1) / 2;

// Of a group (blocks along x are `parts` of each): [group][part][SUMS].
extern "C" __global__ void __launch_bounds__(WARPS * 32)
drr_products(const float* __restrict__ drr, int rays, const Feature* __restrict__ features,
                const Group* __restrict__ groups, int parts, double* __restrict__ sums)
{
    __shared__ double shared[WARPS];
    Group group = groups[blockIdx.x / parts];
    double own[SUMS] = {};
    for (unsigned at = group.begin + blockIdx.x % parts * blockDim.x + threadIdx.x; at < group.end;
         at += parts * blockDim.x) {
        Feature feature = features[at];
        double value = feature_of(drr, feature);
        double d[AXES];
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) {
            d[axis] = feature_of(drr + (size_t)(1 + axis) * rays, feature);
        }
        own[0] += value;
        own[1] += value * value;
        own[2] += feature.fixed * value;
        int place = 3 + 3 * AXES;
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) {
            own[3 + 3 * axis] += d[axis];
            own[4 + 3 * axis] += feature.fixed * d[axis];
            own[5 + 3 * axis] += value * d[axis];
#pragma unroll
            for (int other = 0; other <= axis; ++other) {
                own[place++] += d[axis] * d[other];
            }
        }
    }
    double* out = sums + (size_t)blockIdx.x * SUMS;
#pragma unroll
    for (int n = 0; n < SUMS; ++n) {
        double sum = over_block(own[n], shared);
        if (threadIdx.x == 0) {
            out[n] = sum;
        }
    }
}
