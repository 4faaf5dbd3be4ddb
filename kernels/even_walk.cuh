// The walk of an even lattice (`geometry/walk/even.rs`).

#pragma once

constexpr float SLOWEST = 1e-9f;

// The walk of an even lattice, in voxels and cm (geometry/walk/even.rs).
struct EvenWalk {
    float from[3], inverse[3], plane[3], step[3], next[3];
    int voxel, stride[3];
    float at, end;

    __device__ EvenWalk(const int size[3], const float begin[3], const float direction[3])
    {
        int strides[3] = {1, size[0], size[0] * size[1]};
        voxel = 0;
        at = 0.0f;
        end = __int_as_float(0x7f800000);
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            from[a] = begin[a];
            float speed = fabsf(direction[a]) < SLOWEST ? SLOWEST : direction[a];
            inverse[a] = 1.0f / speed;
            float last = (float)size[a];
            float here = fminf(fmaxf(floorf(begin[a]), 0.0f), last - 1.0f);
            voxel += (int)here * strides[a];
            bool up = speed > 0.0f;
            plane[a] = up ? here + 1.0f : here;
            step[a] = up ? 1.0f : -1.0f;
            stride[a] = up ? strides[a] : -strides[a];
            next[a] = (plane[a] - begin[a]) * inverse[a];
            end = fminf(end, ((up ? last : 0.0f) - begin[a]) * inverse[a]);
        }
    }

    // Passes the voxel it is in: its index and the path in it, cm; false once outside.
    __device__ bool pass(int& passed, float& cm)
    {
        if (at >= end) {
            return false;
        }
        bool x = next[0] < next[1] && next[0] < next[2];
        bool y = !(next[0] < next[1]) && next[1] < next[2];
        float crossing = x ? next[0] : y ? next[1] : next[2];
        passed = voxel;
        cm = crossing - at;
        at = crossing;
        if (x) {
            voxel += stride[0];
            plane[0] += step[0];
            next[0] = (plane[0] - from[0]) * inverse[0];
        } else if (y) {
            voxel += stride[1];
            plane[1] += step[1];
            next[1] = (plane[1] - from[1]) * inverse[1];
        } else {
            voxel += stride[2];
            plane[2] += step[2];
            next[2] = (plane[2] - from[2]) * inverse[2];
        }
        return true;
    }
};

// Where a line is within the lattice (even.rs, `within`).
__device__ inline bool within(const int size[3], const float from[3], const float direction[3], float& begin)
{
    begin = 0.0f;
    float end = __int_as_float(0x7f800000);
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        float speed = fabsf(direction[a]) < SLOWEST ? SLOWEST : direction[a];
        float low = (0.0f - from[a]) / speed;
        float high = ((float)size[a] - from[a]) / speed;
        begin = fmaxf(begin, fminf(low, high));
        end = fminf(end, fmaxf(low, high));
    }
    return begin < end;
}
