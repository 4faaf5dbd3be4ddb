// Gamma index (Gu 2010) in three passes, a thread or a warp to a point of the reference: here the order of points and the
// distribution of cells, in gamma_search.cuh the search of one point, as in engine/gamma/cpu/search.rs.

#include "gamma_search.cuh"

// Appends the values of the lanes of a warp that want it to a list.
__device__ inline void append(bool wanted, unsigned what, unsigned* list, int* count)
{
    unsigned all = __ballot_sync(0xffffffffu, wanted);
    int lane = threadIdx.x & 31, first = 0;
    if (all == 0) {
        return;
    }
    if (lane == __ffs(all) - 1) {
        first = atomicAdd(count, __popc(all));
    }
    first = __shfl_sync(0xffffffffu, first, __ffs(all) - 1);
    if (wanted) {
        list[first + __popc(all & ((1u << lane) - 1))] = what;
    }
}

// Points left to gamma_boxes and to gamma_far, and how many of either have been taken.
struct Left {
    int to_boxes, to_far, by_boxes, by_far;
};

// Pass 1: points at a voxel of the evaluated dose whose nearest point lies in the tetrahedra around it. The others go to `next`.
// Without a list, every voxel that reaches the threshold is a point; gamma of the others is LEFT_OUT.
extern "C" __global__ void __launch_bounds__(128, 7)
gamma_vertices(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float2* __restrict__ heights, const double* __restrict__ reference_planes, const double* __restrict__ planes,
            const int* __restrict__ layer_of, const unsigned* __restrict__ list, int count, float threshold,
            unsigned* __restrict__ next, Left* __restrict__ left, float* __restrict__ gamma)
{
    for (int first = blockIdx.x * blockDim.x; first < count; first += gridDim.x * blockDim.x) {
        int n = first + threadIdx.x;
        bool more = n < count;
        unsigned voxel = more && list ? list[n] : n;
        if (more && !list && reference[voxel] < threshold) {
            gamma[voxel] = __int_as_float(LEFT_OUT);
            more = false;
        }
        if (more) {
            Space search;
            float answer;
            more = begin<false>(pair, criterion, reference, {values, nullptr, nullptr, heights}, reference_planes, planes, layer_of,
                                (int)voxel, search, answer);
            if (more) {
                int near[3];
                float way[3];
                float square = search.nearest(near, way) ? search.by_vertex(near) : -1.0f;
                more = square < 0.0f;
                answer = settled(square, criterion);
            }
            if (!more) {
                gamma[voxel] = answer;
            }
        }
        append(more, voxel, next, &left->to_boxes);
    }
}

// Cells on either side of the voxel nearest to a point.
#define REACH 2
#define WIDE (2 * REACH)

// Cells that a warp distributes at a time: mostly all.
#define DEALT 512

// Points of a warp; each lane also searches cells for the points of the others.
struct Hand {
    unsigned short dealt[DEALT];
    int near[3][32], home[3][32];
    float offset[3][32], dose[32], per_gy[32], best[32];
    unsigned long long holds[32];
    int least[32]; // bits of a squared distance: those of numbers from 0 up order as the numbers do
};

// Distributes the bits set in the masks of all lanes, one to a lane at a time: `work(owner of the bit, bit)`.
template <typename Work>
__device__ inline void deal(Hand& hand, unsigned long long mask, Work work)
{
    int lane = threadIdx.x & 31, own = __popcll(mask), upto = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        int before = __shfl_up_sync(0xffffffffu, upto, step);
        upto += lane >= step ? before : 0;
    }
    int total = __shfl_sync(0xffffffffu, upto, 31), next = upto - own;
    for (int begin = 0; begin < total; begin += DEALT) {
        for (; mask && next < begin + DEALT; ++next) {
            hand.dealt[next - begin] = (unsigned short)(lane << 6 | (__ffsll(mask) - 1));
            mask &= mask - 1;
        }
        __syncwarp();
        int here = min(total - begin, DEALT);
        for (int task = lane; task < here; task += 32) {
            int what = hand.dealt[task];
            work(what >> 6, what & 63);
        }
        __syncwarp();
    }
}

// Pass 2, a thread a point: the cells next to it. Points that need more go to `next`, with their best so far in `gamma`.
extern "C" __global__ void __launch_bounds__(128, 7)
gamma_boxes(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float4* __restrict__ quads, const float2* __restrict__ range, const float2* __restrict__ heights,
            const double* __restrict__ reference_planes, const double* __restrict__ planes, const int* __restrict__ layer_of, const unsigned* __restrict__ list,
            unsigned* __restrict__ next, Left* __restrict__ left, float* __restrict__ gamma)
{
    __shared__ Hand hands[4];
    Hand& hand = hands[threadIdx.x >> 5];
    int most = left->to_boxes, lane = threadIdx.x & 31;
    for (;;) {
        int first = 0;
        if (lane == 0) {
            first = atomicAdd(&left->by_boxes, 32);
        }
        first = __shfl_sync(0xffffffffu, first, 0);
        if (first >= most) {
            return;
        }
        bool mine = first + lane < most;
        unsigned voxel = list[min(first + lane, most - 1)];
        Space search;
        float best;
        begin<false>(pair, criterion, reference, {values, quads, range, heights}, reference_planes, planes, layer_of, (int)voxel, search,
                     best);
        int near[3], guessed[3];
        float way[3];
        search.nearest(near, way);
        best = fminf(search.guess(near, way, guessed), criterion.most);
        Cell found;
        if (search.may_hold(guessed[0], guessed[1], guessed[2], best, found)) {
            cell(found.x, found.y, found.z, found.d, best);
        }
        // Cells allowed by their distance and range of dose, lanes in step.
        unsigned long long wanted = 0;
#pragma unroll 1
        for (int z = 0; z < WIDE; ++z) {
            int k = near[2] - REACH + z;
            bool in_z = k >= 0 && k + 1 < search.size[2];
            float gap_z = in_z ? gap(search.begins(2, k), search.begins(2, k + 1)) : 0.0f;
#pragma unroll 1
            for (int y = 0; y < WIDE; ++y) {
                int j = near[1] - REACH + y;
                bool in_y = in_z && j >= 0 && j + 1 < search.size[1];
                float gap_y = gap(search.begins(1, j), search.begins(1, j + 1));
                int row = search.index(near[0] - REACH, j, k);
#pragma unroll
                for (int x = 0; x < WIDE; ++x) {
                    int i = near[0] - REACH + x;
                    if (in_y && i >= 0 && i + 1 < search.size[0]) {
                        float gap_x = gap(search.begins(0, i), search.begins(0, i + 1));
                        bool may = search.apart(row + x, gap_x, gap_y, gap_z) < best;
                        wanted |= (unsigned long long)may << ((z * WIDE + y) * WIDE + x);
                    }
                }
            }
        }
        int x = guessed[0] - near[0] + REACH, y = guessed[1] - near[1] + REACH, z = guessed[2] - near[2] + REACH;
        if (((x | y | z) & ~(WIDE - 1)) == 0) {
            wanted &= ~(1ull << ((z * WIDE + y) * WIDE + x));
        }
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            hand.near[axis][lane] = near[axis];
            hand.home[axis][lane] = search.place.cell[axis];
            hand.offset[axis][lane] = search.place.offset[axis];
        }
        hand.dose[lane] = search.dose;
        hand.per_gy[lane] = search.per_gy;
        hand.best[lane] = best;
        hand.holds[lane] = 0;
        hand.least[lane] = __float_as_int(best);
        // A cell of another lane's point; the result depends on that point alone.
        auto other = [&](int owner, int bit, int at[3]) {
            Space theirs = search;
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
                theirs.place.cell[axis] = hand.home[axis][owner];
                theirs.place.offset[axis] = hand.offset[axis][owner];
            }
            theirs.home_height = __ldg(heights + theirs.place.cell[2]);
            theirs.dose = hand.dose[owner];
            theirs.per_gy = hand.per_gy[owner];
            at[0] = hand.near[0][owner] - REACH + bit % WIDE;
            at[1] = hand.near[1][owner] - REACH + bit / WIDE % WIDE;
            at[2] = hand.near[2][owner] - REACH + bit / (WIDE * WIDE);
            return theirs;
        };
        deal(hand, mine ? wanted : 0, [&](int owner, int bit) {
            int at[3];
            Space theirs = other(owner, bit, at);
            if (theirs.may_hold(at[0], at[1], at[2], hand.best[owner], found)) {
                atomicOr(&hand.holds[owner], 1ull << bit);
            }
        });
        deal(hand, hand.holds[lane], [&](int owner, int bit) {
            int at[3];
            Space theirs = other(owner, bit, at);
            theirs.look(at[0], at[1], at[2], found);
            float least = hand.best[owner];
            cell(found.x, found.y, found.z, found.d, least);
            atomicMin(&hand.least[owner], __float_as_int(least));
        });
        best = __int_as_float(hand.least[lane]);
        Box box;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            box.first[axis] = max(near[axis] - REACH, 0);
            box.last[axis] = min(near[axis] + REACH - 1, search.size[axis] - 2);
        }
        int from[3], until[3];
        float far;
        bool more = mine && box.grow<false>(search, from, until, far) && far * far < best;
        if (mine) {
            gamma[voxel] = more ? best : settled(best, criterion);
        }
        append(more, voxel, next, &left->to_far);
    }
}

// n / by, of numbers that are not negative.
__device__ inline int quotient(int n, int by)
{
    int guess = (int)__fdividef((float)n, (float)by);
    guess -= guess * by > n ? 1 : 0;
    return guess + ((guess + 1) * by <= n ? 1 : 0);
}

// Cells queued for a warp.
struct Queue {
    int i[64], j[64], k[64];
};

// Pass 3, a warp a point: beyond those cells, layer by layer round the box of them, a cell a lane.
extern "C" __global__ void __launch_bounds__(128, 7)
gamma_far(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
          const float4* __restrict__ quads, const float2* __restrict__ range, const float2* __restrict__ heights, const double* __restrict__ reference_planes,
          const double* __restrict__ planes, const int* __restrict__ layer_of, const unsigned* __restrict__ list,
          Left* __restrict__ left, float* __restrict__ gamma)
{
    __shared__ Queue queues[4];
    Queue& queue = queues[threadIdx.x >> 5];
    int most = left->to_far, lane = threadIdx.x & 31;
    for (;;) {
        int n = 0;
        if (lane == 0) {
            n = atomicAdd(&left->by_far, 1);
        }
        n = __shfl_sync(0xffffffffu, n, 0);
        if (n >= most) {
            return;
        }
        int voxel = (int)list[n];
        Space search;
        float best = gamma[voxel], unused;
        begin<false>(pair, criterion, reference, {values, quads, range, heights}, reference_planes, planes, layer_of, voxel, search, unused);
        int near[3];
        float way[3];
        search.nearest(near, way);
        Box box;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            box.first[axis] = max(near[axis] - REACH, 0);
            box.last[axis] = min(near[axis] + REACH - 1, search.size[axis] - 2);
        }
        int queued = 0;
        // The first of the queue, a cell a lane.
        auto work = [&]() {
            int count = min(queued, 32);
            float least = best;
            if (lane < count) {
                Cell found;
                if (search.may_hold(queue.i[lane], queue.j[lane], queue.k[lane], best, found)) {
                    cell(found.x, found.y, found.z, found.d, least);
                }
            }
#pragma unroll
            for (int step = 16; step; step /= 2) {
                least = fminf(least, __shfl_xor_sync(0xffffffffu, least, step));
            }
            best = least;
            __syncwarp();
            queued -= count;
            if (lane < queued) {
                queue.i[lane] = queue.i[lane + 32];
                queue.j[lane] = queue.j[lane + 32];
                queue.k[lane] = queue.k[lane + 32];
            }
            __syncwarp();
        };
        for (;;) {
            // A layer on every side that is near enough, and so many cells in each.
            Box old = box;
            int cells[6], total = 0;
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
                float below = fmaxf(-search.begins(axis, box.first[axis]), 0.0f);
                float above = fmaxf(search.begins(axis, box.last[axis] + 1), 0.0f);
                box.first[axis] -= box.first[axis] > 0 && below * below < best ? 1 : 0;
                box.last[axis] += box.last[axis] + 2 < search.size[axis] && above * above < best ? 1 : 0;
            }
            int nx = box.last[0] - box.first[0] + 1, ny = box.last[1] - box.first[1] + 1;
            int old_ny = old.last[1] - old.first[1] + 1, old_nz = old.last[2] - old.first[2] + 1;
            cells[0] = box.first[2] < old.first[2] ? nx * ny : 0;
            cells[1] = box.last[2] > old.last[2] ? nx * ny : 0;
            cells[2] = box.first[1] < old.first[1] ? nx * old_nz : 0;
            cells[3] = box.last[1] > old.last[1] ? nx * old_nz : 0;
            cells[4] = box.first[0] < old.first[0] ? old_ny * old_nz : 0;
            cells[5] = box.last[0] > old.last[0] ? old_ny * old_nz : 0;
#pragma unroll
            for (int side = 0; side < 6; ++side) {
                total += cells[side];
            }
            if (total == 0) {
                break;
            }
            for (int first = 0; first < total; first += 32) {
                int m = first + lane, side = 0;
                bool holds = m < total;
#pragma unroll
                for (int n = 0; n < 5; ++n) {
                    bool beyond = side == n && m >= cells[n];
                    m -= beyond ? cells[n] : 0;
                    side += beyond ? 1 : 0;
                }
                int wide = side < 4 ? nx : old_ny, row = quotient(m, wide);
                int column = m - row * wide;
                int i = side == 4 ? box.first[0] : side == 5 ? box.last[0] : box.first[0] + column;
                int j = side == 2 ? box.first[1] : side == 3 ? box.last[1] : side < 2 ? box.first[1] + row : old.first[1] + column;
                int k = side == 0 ? box.first[2] : side == 1 ? box.last[2] : old.first[2] + row;
                if (holds) {
                    float gap_x = gap(search.begins(0, i), search.begins(0, i + 1));
                    float gap_y = gap(search.begins(1, j), search.begins(1, j + 1));
                    float gap_z = gap(search.begins(2, k), search.begins(2, k + 1));
                    holds = search.apart(search.index(i, j, k), gap_x, gap_y, gap_z) < best;
                }
                unsigned all = __ballot_sync(0xffffffffu, holds);
                if (holds) {
                    int at = queued + __popc(all & ((1u << lane) - 1));
                    queue.i[at] = i;
                    queue.j[at] = j;
                    queue.k[at] = k;
                }
                queued += __popc(all);
                __syncwarp();
                if (queued >= 32) {
                    work();
                }
            }
        }
        // A stale `best` is close enough: searching at once would leave most lanes idle.
        while (queued > 0) {
            work();
        }
        if (lane == 0) {
            gamma[voxel] = settled(best, criterion);
        }
    }
}

// In a plane, a thread a point.
extern "C" __global__ void __launch_bounds__(128)
gamma_plane(const Pair pair, const Criterion criterion, const float* __restrict__ reference, const float* __restrict__ values,
            const float2* __restrict__ range, const double* __restrict__ reference_planes, const int* __restrict__ layer_of,
            const unsigned* __restrict__ list, const int* __restrict__ count, float* __restrict__ gamma)
{
    int most = *count;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < most; n += gridDim.x * blockDim.x) {
        int voxel = (int)list[n];
        Search<true> search;
        float answer;
        if (begin<true>(pair, criterion, reference, {values, nullptr, range, nullptr}, reference_planes, nullptr, layer_of, voxel, search,
                        answer)) {
            int near[3];
            float way[3];
            search.nearest(near, way);
            float corner = search.dose_at(near[0], near[1], near[2]);
            float best = fminf(fmaf(way[0], way[0], fmaf(way[1], way[1], corner * corner)), criterion.most);
            Box box;
            int from[3], until[3];
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
                from[axis] = until[axis] = box.first[axis] = box.last[axis] = search.place.cell[axis];
            }
            float far = 0.0f;
            do {
                for (int j = from[1]; j <= until[1]; ++j) {
                    float low_y = search.begins(1, j), gap_y = gap(low_y, search.begins(1, j + 1));
                    for (int i = from[0]; i <= until[0]; ++i) {
                        float low_x = search.begins(0, i), gap_x = gap(low_x, search.begins(0, i + 1));
                        int at = search.index(i, j, search.place.cell[2]);
                        if (search.apart(at, gap_x, gap_y, 0.0f) < best) {
                            float d[4];
#pragma unroll
                            for (int c = 0; c < 4; ++c) {
                                d[c] = (__ldg(values + at + (c & 1) + (c >> 1) * search.size[0]) - search.dose) * search.per_gy;
                            }
                            square(search.way_along(0, low_x), search.way_along(1, low_y), d, best);
                        }
                    }
                }
            } while (box.grow<true>(search, from, until, far) && far * far < best);
            answer = settled(best, criterion);
        }
        gamma[voxel] = answer;
    }
}

// Last: the order of kernels in the module is that of the files.
#include "gamma_prepare.cuh"
