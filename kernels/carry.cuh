// What a line of the collapsed cone does in a voxel: engine/cpu/cccs/transport.rs.

#pragma once

#include "cccs.cuh"

// What primary and scatter send along a line, near and deep mixed, in units of the sum.
struct Sends {
    float sums[2];
    float scatter[SCATTER_END];
    float primary[TERMS - PRIMARY_FIRST];
};

// Those at an angle, in steps of the table: between steps, or `NEAREST`, by the row next to it, which is one read instead of two.
template <bool NEAREST = false>
__device__ inline Sends mixed(const Coefficients* __restrict__ table, float steps, const Mix& mix, float units)
{
    // Two numbers of either channel at once, as they are read.
    constexpr int PRIMARY_PAIRS = 1 + TERMS - PRIMARY_FIRST;
    constexpr int QUADS = sizeof(Coefficients) / sizeof(float4);
    float part = 0.0f;
    int row = NEAREST ? nearest_row(steps) : step_row(steps, part);
    const float4* low = reinterpret_cast<const float4*>(table + row);
    const float4* high = low + ROWS_OF_STEP * QUADS;
    float of_high = NEAREST ? 0.0f : part * units, of_low = units - of_high;
    float high_primary = mix.primary * of_high, low_primary = mix.primary * of_low;
    float high_scatter = mix.scatter * of_high, low_scatter = mix.scatter * of_low;
    // Near and deep of either row.
    const float primary[4] = {of_low - low_primary, low_primary, of_high - high_primary, high_primary};
    const float scatter[4] = {of_low - low_scatter, low_scatter, of_high - high_scatter, high_scatter};
    float sent[2 * QUADS];
#pragma unroll
    for (int quad = 0; quad < QUADS; ++quad) {
        float4 of = __ldg(low + quad);
        const float* first = 2 * quad < PRIMARY_PAIRS ? primary : scatter;
        const float* second = 2 * quad + 1 < PRIMARY_PAIRS ? primary : scatter;
        sent[2 * quad] = fmaf(of.y, first[1], of.x * first[0]);
        sent[2 * quad + 1] = fmaf(of.w, second[1], of.z * second[0]);
        if (!NEAREST) {
            float4 next = __ldg(high + quad);
            sent[2 * quad] = fmaf(next.y, first[3], fmaf(next.x, first[2], sent[2 * quad]));
            sent[2 * quad + 1] = fmaf(next.w, second[3], fmaf(next.z, second[2], sent[2 * quad + 1]));
        }
    }
    static_assert(PRIMARY_PAIRS + 1 + SCATTER_END <= 2 * QUADS, "all of a row");
    Sends sends;
    sends.sums[0] = sent[0];
    sends.sums[1] = sent[PRIMARY_PAIRS];
#pragma unroll
    for (int term = 0; term < TERMS - PRIMARY_FIRST; ++term) {
        sends.primary[term] = sent[1 + term];
    }
#pragma unroll
    for (int term = 0; term < SCATTER_END; ++term) {
        sends.scatter[term] = sent[PRIMARY_PAIRS + 1 + term];
    }
    return sends;
}

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

// Adds what stays without asking for what was there.
__device__ inline void deposit_at(int* deposit, int stays)
{
#ifdef __CUDA_ARCH__
    asm volatile("red.global.add.s32 [%0], %1;" ::"l"(deposit), "r"(stays));
#else
    atomicAdd(deposit, stays);
#endif
}

// Terms that have decayed soon behind what releases, and the first of them.
constexpr int FAST_FIRST = 5;

// Energy on its way along a line, over the decay constants.
struct Line {
    float state[TERMS];
    float sum;
};

// What a voxel makes a term settle at.
template <int TERM> __device__ inline float settles_at(const Source& source, const Sends& sends)
{
    constexpr int OF_SCATTER = TERM < SCATTER_END ? TERM : 0;
    constexpr int OF_PRIMARY = TERM >= PRIMARY_FIRST ? TERM - PRIMARY_FIRST : 0;
    if (TERM < PRIMARY_FIRST) {
        return source.scatter * sends.scatter[OF_SCATTER];
    }
    float full = source.primary * sends.primary[OF_PRIMARY];
    return TERM < SCATTER_END ? fmaf(source.scatter, sends.scatter[OF_SCATTER], full) : full;
}

struct Sums {
    float of[2];
};

// `keeps` is what the term keeps of what it carries.
template <bool RELEASES, int TERM, int END>
__device__ inline void carry_terms(Line& line, float keeps, Sums carried, const Source& source, const Sends& sends)
{
    if constexpr (TERM < END) {
        if (RELEASES) {
            float full = settles_at<TERM>(source, sends);
            line.state[TERM] = fmaf(keeps, line.state[TERM] - full, full);
        } else {
            line.state[TERM] *= keeps;
        }
        // Two sums in turn: one would be waited for.
        carried.of[TERM % 2] = TERM < 2 ? line.state[TERM] : carried.of[TERM % 2] + line.state[TERM];
        // Each term decays twice as fast as the one before.
        carry_terms<RELEASES, TERM + 1, END>(line, keeps * keeps, carried, source, sends);
    } else {
        line.sum = carried.of[0] + carried.of[1];
    }
}

// A line through a voxel that releases: `R <- R e + (S/a)(1 - e)` for every term, with `R` over `a`; what is not carried on
// stays. The exponent is the negative one of the slowest term.
__device__ inline float carry(Line& line, float exponent, const Source& source, const Sends& sends)
{
    float before = line.sum;
    carry_terms<true, 0, TERMS>(line, power_of_2(exponent), {}, source, sends);
    return fmaf(exponent, fmaf(source.scatter, sends.sums[1], source.primary * sends.sums[0]), before - line.sum);
}

// `stays` is what the terms so far leave, `loss` what the term loses of what it carries, `path` that to first order.
template <int TERM>
__device__ inline void lose_terms(Line& line, float& stays, float loss, float path, const Source& source, const Sends& sends)
{
    if constexpr (TERM < TERMS) {
        float full = settles_at<TERM>(source, sends), state = line.state[TERM];
        stays = fmaf(loss, state, fmaf(path - loss, full, stays));
        line.state[TERM] = fmaf(loss, full - state, state);
        line.sum = TERM == 0 ? line.state[TERM] : line.sum + line.state[TERM];
        lose_terms<TERM + 1>(line, stays, loss * (2.0f - loss), 2.0f * path, source, sends);
    }
}

// As `carry`, where so little stays that what is carried before and after, in single precision, does not tell how much.
__device__ inline float carry_through_thin(Line& line, float exponent, const Source& source, const Sends& sends)
{
    float path = -0.693147181f * exponent, stays = 0.0f;
    lose_terms<0>(line, stays, -expm1f(-path), path, source, sends);
    return stays;
}

// Likewise the terms before `END` of a line through a voxel that does not; what the others carried stays.
template <int END> __device__ inline float decay(Line& line, float exponent)
{
    float before = line.sum;
    carry_terms<false, 0, END>(line, power_of_2(exponent), {}, {}, {});
    return before - line.sum;
}
