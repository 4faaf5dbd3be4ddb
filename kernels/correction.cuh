// Stencils of the local correction of the collapsed cone's discretisation (engine/cccs/correction.rs).

#include "cccs.cuh"

// As in engine/cccs/correction.rs: voxels to each side; voxels of an offset's path, at most; greater densities count as
// this; powers of the density; offsets within reach; offsets that never receive more than this share are left out; starting points
// to each side of a voxel's face over which the mean is taken.
constexpr int CORRECTION_REACH = 3;
constexpr int CORRECTION_WIDTH = 2 * CORRECTION_REACH + 1;
constexpr int CORRECTION_PATH = CORRECTION_REACH + 1;
constexpr float CORRECTION_DENSEST = 2.0f;
constexpr int CORRECTION_POWERS = 3;
constexpr int CORRECTION_OFFSETS = 251;
constexpr float CORRECTION_LEAST = 1e-4f;
constexpr int CORRECTION_PLACES = 6;
// Stencils of a layout, as the host declares them, field for field.
struct Correction {
    float kernel_from_block[3][3];
    float tilt_reach;
    int tilt_count;
    float primary_mix[2];
    float densities[CORRECTION_POWERS];
    float powers_of_shares[CORRECTION_POWERS][CORRECTION_POWERS];
    int first_direction; // of the layout's directions
    int directions;
};

// An offset that receives a share: the voxel with TERMA relative to the one that receives (along a row, across, along the slabs), and
// the voxels of the path from it, as index offsets.
struct __align__(16) CorrectionEntry {
    int path[CORRECTION_REACH]; // without the receiving voxel
    int table_row;       // of the offset, relative to the row of the receiver's slab
    int from[3];
    int none;
};

// Offsets by number of steps; `ends` is where those of each number end (there are none of zero).
struct __align__(16) CorrectionList {
    int ends[CORRECTION_REACH + 1];
    CorrectionEntry entries[CORRECTION_OFFSETS];
};

// Number of the stencils for the ray of a strip.
__device__ inline int tilt_at(const Correction& correction, const float ray[3])
{
    float tilted[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float* row = correction.kernel_from_block[axis];
        tilted[axis] = row[0] * ray[0] + row[1] * ray[1] + row[2] * ray[2];
    }
    if (!(tilted[2] > 0.0f)) {
        return 0;
    }
    int cell[2];
    for (int axis = 0; axis < 2; ++axis) {
        float place = (tilted[axis] / tilted[2] / correction.tilt_reach + 1.0f) * 0.5f * correction.tilt_count;
        cell[axis] = min((int)fmaxf(place, 0.0f), correction.tilt_count - 1);
    }
    return cell[1] * correction.tilt_count + cell[0];
}
