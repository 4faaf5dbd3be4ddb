// Transport of a line's energy through one voxel: engine/cccs/cpu/transport.rs.

#pragma once

#include "cccs.cuh"

// Kernel coefficients of primary and scatter along a line, channels mixed, in units of the deposit.
struct LineCoefficients {
    float sums[2];
    float scatter[SCATTER_END];
    float primary[TERMS - PRIMARY_FIRST];
};

// Coefficients at an angle (in steps of the table): interpolated, or with NEAREST the nearest row, one read instead of two.
template <bool NEAREST = false>
__device__ inline LineCoefficients mixed_coefficients(const Coefficients* __restrict__ table, float steps, const Mix& mix,
                                                      float units)
{
    // Rows are read as float4: two coefficients of both channels at a time.
    constexpr int PRIMARY_PAIRS = 1 + TERMS - PRIMARY_FIRST;
    constexpr int QUADS = sizeof(Coefficients) / sizeof(float4);
    float part = 0.0f;
    int row = NEAREST ? nearest_row(steps) : step_row(steps, part);
    const float4* low = reinterpret_cast<const float4*>(table + row);
    const float4* high = low + ROWS_OF_STEP * QUADS;
    float of_high = NEAREST ? 0.0f : part * units, of_low = units - of_high;
    float high_primary = mix.primary * of_high, low_primary = mix.primary * of_low;
    float high_scatter = mix.scatter * of_high, low_scatter = mix.scatter * of_low;
    // Weights of the shallow and deep channel in either row.
    const float primary[4] = {of_low - low_primary, low_primary, of_high - high_primary, high_primary};
    const float scatter[4] = {of_low - low_scatter, low_scatter, of_high - high_scatter, high_scatter};
    float mixed[2 * QUADS];
#pragma unroll
    for (int quad = 0; quad < QUADS; ++quad) {
        float4 of = __ldg(low + quad);
        const float* first = 2 * quad < PRIMARY_PAIRS ? primary : scatter;
        const float* second = 2 * quad + 1 < PRIMARY_PAIRS ? primary : scatter;
        mixed[2 * quad] = fmaf(of.y, first[1], of.x * first[0]);
        mixed[2 * quad + 1] = fmaf(of.w, second[1], of.z * second[0]);
        if (!NEAREST) {
            float4 next = __ldg(high + quad);
            mixed[2 * quad] = fmaf(next.y, first[3], fmaf(next.x, first[2], mixed[2 * quad]));
            mixed[2 * quad + 1] = fmaf(next.w, second[3], fmaf(next.z, second[2], mixed[2 * quad + 1]));
        }
    }
    static_assert(PRIMARY_PAIRS + 1 + SCATTER_END <= 2 * QUADS, "all of a row");
    LineCoefficients coefficients;
    coefficients.sums[0] = mixed[0];
    coefficients.sums[1] = mixed[PRIMARY_PAIRS];
#pragma unroll
    for (int term = 0; term < TERMS - PRIMARY_FIRST; ++term) {
        coefficients.primary[term] = mixed[1 + term];
    }
#pragma unroll
    for (int term = 0; term < SCATTER_END; ++term) {
        coefficients.scatter[term] = mixed[PRIMARY_PAIRS + 1 + term];
    }
    return coefficients;
}

// Without the care for denormal results that exp2f takes (2 to 3 % of a dose).
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

// Radiant energy of a line by term, over the term's decay constant, and its sum.
struct TransportState {
    float term[TERMS];
    float sum;
};

// State of a term at equilibrium with the voxel's TERMA: S / a.
template <int TERM> __device__ inline float equilibrium_of(const CellTerma& terma, const LineCoefficients& coefficients)
{
    constexpr int OF_SCATTER = TERM < SCATTER_END ? TERM : 0;
    constexpr int OF_PRIMARY = TERM >= PRIMARY_FIRST ? TERM - PRIMARY_FIRST : 0;
    if (TERM < PRIMARY_FIRST) {
        return terma.scatter * coefficients.scatter[OF_SCATTER];
    }
    float equilibrium = terma.primary * coefficients.primary[OF_PRIMARY];
    return TERM < SCATTER_END ? fmaf(terma.scatter, coefficients.scatter[OF_SCATTER], equilibrium) : equilibrium;
}

struct Sums {
    float of[2];
};

// `transmitted` is the fraction of the term's energy that leaves the voxel.
template <bool HAS_TERMA, int TERM>
__device__ inline void transport_terms(TransportState& state, float transmitted, Sums sums, const CellTerma& terma,
                                       const LineCoefficients& coefficients)
{
    if constexpr (TERM < TERMS) {
        if (HAS_TERMA) {
            float equilibrium = equilibrium_of<TERM>(terma, coefficients);
            state.term[TERM] = fmaf(transmitted, state.term[TERM] - equilibrium, equilibrium);
        } else {
            state.term[TERM] *= transmitted;
        }
        // Two partial sums: one would be a chain of dependent additions.
        sums.of[TERM % 2] = TERM < 2 ? state.term[TERM] : sums.of[TERM % 2] + state.term[TERM];
        // Decay constants double from term to term.
        transport_terms<HAS_TERMA, TERM + 1>(state, transmitted * transmitted, sums, terma, coefficients);
    } else {
        state.sum = sums.of[0] + sums.of[1];
    }
}

// Transport through a voxel with TERMA: `R <- R e + (S/a)(1 - e)` for every term, `R` over `a`; returns the deposit. The exponent
// is the slowest term's, negative.
__device__ inline float transport_voxel(TransportState& state, float exponent, const CellTerma& terma,
                                        const LineCoefficients& coefficients)
{
    float before = state.sum;
    transport_terms<true, 0>(state, power_of_2(exponent), {}, terma, coefficients);
    return fmaf(exponent, fmaf(terma.scatter, coefficients.sums[1], terma.primary * coefficients.sums[0]), before - state.sum);
}

// `deposited` is the deposit of the terms so far, `loss` the fraction of the term's energy lost, `path` its first order.
template <int TERM>
__device__ inline void transport_low_density_terms(TransportState& state, float& deposited, float loss, float path,
                                                   const CellTerma& terma, const LineCoefficients& coefficients)
{
    if constexpr (TERM < TERMS) {
        float equilibrium = equilibrium_of<TERM>(terma, coefficients), before = state.term[TERM];
        deposited = fmaf(loss, before, fmaf(path - loss, equilibrium, deposited));
        state.term[TERM] = fmaf(loss, equilibrium - before, before);
        state.sum = TERM == 0 ? state.term[TERM] : state.sum + state.term[TERM];
        transport_low_density_terms<TERM + 1>(state, deposited, loss * (2.0f - loss), 2.0f * path, terma, coefficients);
    }
}

// As transport_voxel, by `loss` itself: in low density the difference of two sums has no digits left in single precision.
__device__ inline float transport_low_density(TransportState& state, float exponent, const CellTerma& terma,
                                              const LineCoefficients& coefficients)
{
    float path = -0.693147181f * exponent, deposited = 0.0f;
    transport_low_density_terms<0>(state, deposited, -expm1f(-path), path, terma, coefficients);
    return deposited;
}

// Transport through a voxel without TERMA.
__device__ inline float decay(TransportState& state, float exponent)
{
    float before = state.sum;
    transport_terms<false, 0>(state, power_of_2(exponent), {}, {}, {});
    return before - state.sum;
}
