// Random numbers by counting, as transport/philox.rs has them.

#pragma once

// Philox4x32, of ten rounds where no other number is named (transport/philox.rs).
template <int ROUNDS = 10>
__device__ inline uint4 philox(uint4 counter, unsigned key0, unsigned key1)
{
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        unsigned high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(high1 ^ counter.y ^ key0, low1, high0 ^ counter.w ^ key1, low0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

struct Stream {
    unsigned key0, key1, low, high;

    __device__ uint4 words(unsigned place) const { return philox(make_uint4(low, high, place, 0u), key0, key1); }
};

__device__ inline float unit(unsigned word) { return ((float)(word >> 9) + 0.5f) * (1.0f / 8388608.0f); }

__device__ inline unsigned word_of(uint4 words, unsigned k)
{
    return k == 0u ? words.x : k == 1u ? words.y : k == 2u ? words.z : words.w;
}
