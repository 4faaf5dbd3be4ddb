// Standard normal variable behind a shutter: a point of a Gaussian source that is seen between two edges
// (engine/histories/head/shutter.rs, name for name).

#pragma once

// 0 and 1, to which sums are rounded, have no quantile.
constexpr float LEAST_PROBABILITY = 1e-23f, GREATEST_PROBABILITY = 0.99999994f;

struct Shutter {
    float below, between, above, above_low, transmission;

    __device__ float passing() const
    {
        return between + transmission * (below + above);
    }

    __device__ float draw(float uniform) const
    {
        float place = uniform * passing();
        if (place < between) {
            return above_low < 0.5f ? -lower_quantile(above_low - place) : lower_quantile(below + place);
        }
        float beyond = (place - between) / transmission;
        return beyond < below ? lower_quantile(beyond) : -lower_quantile(fminf(beyond - below, above));
    }

    // Value below which a probability lies.
    __device__ static float lower_quantile(float probability)
    {
        return normcdfinvf(fminf(fmaxf(probability, LEAST_PROBABILITY), GREATEST_PROBABILITY));
    }
};

__device__ inline Shutter shutter_of(const float edges[2], float transmission)
{
    float low = edges[0], high = fmaxf(edges[1], edges[0]);
    float above_low = normcdff(-low), above = normcdff(-high), below = normcdff(low);
    float between = low > 0.0f ? above_low - above : normcdff(high) - below;
    return {below, fmaxf(between, 0.0f), above, above_low, transmission};
}
