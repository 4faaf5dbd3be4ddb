// What a line of the collapsed cone does in a voxel: engine/cpu/cccs/transport.rs.

#pragma once

#include "cccs.cuh"

// What primary and scatter send along a line, near and deep mixed, in units of the sum.
struct Sends {
    float sums[2];
    float scatter[SCATTER_END];
    float primary[TERMS - PRIMARY_FIRST];
};

// The mix changes along a line so slowly that it is that of a voxel nearby.
__device__ inline Sends mixed(const Coefficients& c, const Mix& mix, float units)
{
    bool some = mix.primary != NO_MIX;
    float deep_primary = some ? mix.primary * units : 0.0f, near_primary = units - deep_primary;
    float deep_scatter = some ? mix.scatter * units : 0.0f, near_scatter = units - deep_scatter;
    Sends sends;
    sends.sums[0] = fmaf(c.sums[1], deep_primary, c.sums[0] * near_primary);
    sends.sums[1] = fmaf(c.sums[3], deep_scatter, c.sums[2] * near_scatter);
#pragma unroll
    for (int term = 0; term < SCATTER_END; ++term) {
        sends.scatter[term] = fmaf(c.scatter[term][1], deep_scatter, c.scatter[term][0] * near_scatter);
    }
#pragma unroll
    for (int term = 0; term < TERMS - PRIMARY_FIRST; ++term) {
        sends.primary[term] = fmaf(c.primary[term][1], deep_primary, c.primary[term][0] * near_primary);
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

// Adds what stays, if anything, without asking for what was there.
__device__ inline void deposit_at(int* deposit, int stays)
{
#ifdef __CUDA_ARCH__
    asm volatile("{ .reg .pred some; setp.ne.s32 some, %1, 0; @some red.global.add.s32 [%0], %1; }" ::"l"(deposit), "r"(stays));
#else
    atomicAdd(deposit, stays);
#endif
}

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

template <bool RELEASES, int TERM>
__device__ inline void carry_terms(Line& line, float keeps, Sums carried, const Source& source, const Sends& sends)
{
    if constexpr (TERM < TERMS) {
        if (RELEASES) {
            float full = settles_at<TERM>(source, sends);
            line.state[TERM] = fmaf(keeps, line.state[TERM] - full, full);
        } else {
            line.state[TERM] *= keeps;
        }
        // Two sums in turn: one would be waited for.
        carried.of[TERM % 2] = TERM < 2 ? line.state[TERM] : carried.of[TERM % 2] + line.state[TERM];
        // Each term decays twice as fast as the one before.
        carry_terms<RELEASES, TERM + 1>(line, keeps * keeps, carried, source, sends);
    } else {
        line.sum = carried.of[0] + carried.of[1];
    }
}

// A line through a voxel: `R <- R e + (S/a)(1 - e)` for every term, with `R` over `a`; what is not carried on stays. The
// exponent is the negative one of the slowest term.
template <bool RELEASES>
__device__ inline float carry(Line& line, float exponent, const Source& source, const Sends& sends)
{
    float before = line.sum;
    carry_terms<RELEASES, 0>(line, power_of_2(exponent), {}, source, sends);
    float stays = before - line.sum;
    if (RELEASES) {
        stays = fmaf(exponent, fmaf(source.scatter, sends.sums[1], source.primary * sends.sums[0]), stays);
    }
    return stays;
}
