// Gamma index (Gu 2010) in three kernels: at voxels of the evaluated dose by formula, else the cells nearby, else those beyond. Points that
// a kernel leaves are listed for the next.
//
// Points differ in how many cells may be nearer, so the threads of a workgroup share out all that theirs have.

const VERTEX_THREADS: u32 = 128;
const THREADS: u32 = 64;
// Cells shared out at a time: mostly all.
const SHARED: u32 = 256;

var<workgroup> found: atomic<u32>;
var<workgroup> first: u32;

// Appends the voxels of the threads that want it. Called by all of a workgroup.
fn leave(is_left: bool, voxel: u32, thread: u32) {
    if (thread == 0u) {
        atomicStore(&found, 0u);
    }
    workgroupBarrier();
    var at = 0u;
    if (is_left) {
        at = atomicAdd(&found, 1u);
    }
    workgroupBarrier();
    if (thread == 0u && atomicLoad(&found) > 0u) {
        first = atomicAdd(&left[0], atomicLoad(&found));
    }
    workgroupBarrier();
    if (is_left) {
        atomicStore(&left[1u + first + at], voxel);
    }
}

// All voxels: those below the threshold are no points.
@compute @workgroup_size(VERTEX_THREADS)
fn gamma_vertices(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) thread: u32,
) {
    let voxel = number(group, groups) * VERTEX_THREADS + thread;
    var is_left = false;
    if (voxel < arrayLength(&reference)) {
        if (reference[voxel] < search.threshold_gy) {
            gamma[voxel] = LEFT_OUT;
        } else {
            var point: Point;
            var answer = begin(voxel, &point);
            if (answer == 0u) {
                var square = -1.0;
                if (search.is_flat == 0u) {
                    let near = nearest_voxel(point);
                    if (near.is_on) {
                        square = by_vertex(point, near.voxel);
                    }
                }
                is_left = square < 0.0;
                answer = settled(square);
            }
            if (!is_left) {
                gamma[voxel] = answer;
            }
        }
    }
    leave(is_left, voxel, thread);
}

fn number(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return (group.z + slab.x) * groups.x + group.x;
}

// Cells that a thread searches for a point, and its squared distance before.
struct Box {
    point: Point,
    low: vec3<i32>,
    best: f32,
}

// One a thread; the cells of each whose bounds are nearer, as the bits of two words; and the least squared distance to them.
var<workgroup> boxes: array<Box, THREADS>;
var<workgroup> held: array<atomic<u32>, 2 * THREADS>;
var<workgroup> nearest: array<atomic<u32>, THREADS>;
// Cells shared out: the thread that has the box, and the bit in its mask.
var<workgroup> shared_out: array<u32, SHARED>;
var<workgroup> total: atomic<u32>;

// The cells in the masks of all threads, a cell a thread at a time: whether their bounds are nearer, or their distances.
fn share_out(mask: vec2<u32>, is_distance: bool, thread: u32) {
    if (thread == 0u) {
        atomicStore(&total, 0u);
    }
    workgroupBarrier();
    var next = atomicAdd(&total, countOneBits(mask.x) + countOneBits(mask.y));
    let count = workgroupUniformLoad(&total);
    var rest = mask;
    for (var begin = 0u; begin < count; begin += SHARED) {
        while (any(rest != vec2<u32>(0u)) && next < begin + SHARED) {
            let n = lowest(rest);
            rest &= ~bit(n);
            shared_out[next - begin] = (thread << 6u) | n;
            next += 1u;
        }
        workgroupBarrier();
        for (var at = thread; at < min(count - begin, SHARED); at += THREADS) {
            let owner = shared_out[at] >> 6u;
            let n = shared_out[at] & 63u;
            let box = boxes[owner];
            let cell = look(box.point, cell_of(box.low, n));
            if (is_distance) {
                // Numbers from 0 up order as their bits do.
                atomicMin(&nearest[owner], bitcast<u32>(squared_distance(cell, box.best)));
            } else if (bound(cell) < box.best * NEARER) {
                atomicOr(&held[2u * owner + (n >> 5u)], 1u << (n & 31u));
            }
        }
        workgroupBarrier();
    }
}

// The least squared distance to the cells in a mask of a box, or its best where that is less. Called by all of a workgroup, each with a
// box of its own: what comes of one does not depend on the others.
fn search_box(box: Box, wanted: vec2<u32>, thread: u32) -> f32 {
    boxes[thread] = box;
    atomicStore(&nearest[thread], bitcast<u32>(box.best));
    var mask = wanted;
    if (search.is_flat == 0u) {
        atomicStore(&held[2u * thread], 0u);
        atomicStore(&held[2u * thread + 1u], 0u);
        share_out(mask, false, thread);
        mask = vec2<u32>(atomicLoad(&held[2u * thread]), atomicLoad(&held[2u * thread + 1u]));
    }
    share_out(mask, true, thread);
    return bitcast<f32>(atomicLoad(&nearest[thread]));
}

// The cell in which a linear dose would be nearest, then those about the nearest voxel: a thread a point.
@compute @workgroup_size(THREADS)
fn gamma_near(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) thread: u32,
) {
    let n = number(group, groups) * THREADS + thread;
    let is_point = n < points[0];
    var voxel = 0u;
    var point: Point;
    var best = 0.0;
    var low = vec3<i32>(0);
    var mask = vec2<u32>(0u);
    if (is_point) {
        voxel = points[1u + n];
        // What has no gamma is not left.
        begin(voxel, &point);
        let near = nearest_voxel(point);
        let guessed = guess(point, near);
        best = min(guessed.square, search.limits.most);
        let cell = look(point, guessed.cell);
        if (search.is_flat != 0u || bound(cell) < best * NEARER) {
            best = squared_distance(cell, best);
        }
        low = near.voxel - REACH;
        if (search.is_flat != 0u) {
            low.z = near.voxel.z;
        }
        mask = candidates(point, low, best);
        let at = guessed.cell - low;
        if (all(at >= vec3<i32>(0)) && all(at < vec3<i32>(WIDE))) {
            mask &= ~bit(u32((at.z * WIDE + at.y) * WIDE + at.x));
        }
    }
    best = search_box(Box(point, low, best), mask, thread);
    var is_left = false;
    if (is_point) {
        is_left = is_more(point, max(low, vec3<i32>(0)), min(low + WIDE - 1, search.size - 2), best);
        gamma[voxel] = select(settled(best), bitcast<u32>(best), is_left);
    }
    leave(is_left, voxel, thread);
}

// Points of a workgroup of gamma_far at most, and blocks that it looks at together.
const FAR_POINTS: u32 = 8;
const LOOKED_AT: u32 = 256;

// Of each point, with the squared distance before; the least so far.
var<workgroup> far: array<Box, FAR_POINTS>;
var<workgroup> far_nearest: array<atomic<u32>, FAR_POINTS>;
// Blocks that may be nearer, by their number among those of all points.
var<workgroup> listed: array<u32, LOOKED_AT>;
var<workgroup> listed_count: atomic<u32>;

// Beyond: a shell of blocks round the one that holds the point; the first shell has that block, too. Few blocks may be nearer: those of
// several points are searched together, a block a thread; the points of the outer shells, themselves few, are spread over the device.
@compute @workgroup_size(THREADS)
fn gamma_far(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) thread: u32,
) {
    let n = number(group, groups) * search.far_points;
    let held_points = min(max(points[0], n) - n, search.far_points);
    let is_point = thread < held_points;
    var voxel = 0u;
    if (is_point) {
        voxel = points[1u + n + thread];
        var point: Point;
        begin(voxel, &point);
        far[thread] = Box(point, vec3<i32>(0), bitcast<f32>(gamma[voxel]));
        atomicStore(&far_nearest[thread], gamma[voxel]);
    }
    let across = u32(2 * search.shell + 1);
    let of_point = across * across * select(across, 1u, search.is_flat != 0u);
    let count = held_points * of_point;
    for (var begin = 0u; begin < count; begin += LOOKED_AT) {
        if (thread == 0u) {
            atomicStore(&listed_count, 0u);
        }
        workgroupBarrier();
        for (var at = begin + thread; at < min(begin + LOOKED_AT, count); at += THREADS) {
            let box = far[at / of_point];
            if (may_hold_nearer(box, block_of_shell(box.point, at % of_point))) {
                listed[atomicAdd(&listed_count, 1u)] = at;
            }
        }
        let blocks_left = workgroupUniformLoad(&listed_count);
        for (var from_block = 0u; from_block < blocks_left; from_block += THREADS) {
            var owner = 0u;
            var box = far[0];
            var mask = vec2<u32>(0u);
            if (from_block + thread < blocks_left) {
                let at = listed[from_block + thread];
                owner = at / of_point;
                box = far[owner];
                box.low = block_of_shell(box.point, at % of_point) * block_size();
                mask = candidates(box.point, box.low, box.best);
            }
            atomicMin(&far_nearest[owner], bitcast<u32>(search_box(box, mask, thread)));
        }
    }
    workgroupBarrier();
    var is_left = false;
    if (is_point) {
        let best = bitcast<f32>(atomicLoad(&far_nearest[thread]));
        is_left = is_more_than_shell(far[thread].point, best);
        gamma[voxel] = select(settled(best), bitcast<u32>(best), is_left);
    }
    leave(is_left, voxel, thread);
}

// Cells along the sides of a block, and blocks along the axes.
fn block_size() -> vec3<i32> {
    return vec3<i32>(WIDE, WIDE, select(WIDE, 1, search.is_flat != 0u));
}

fn blocks() -> vec3<i32> {
    let cells = search.size - vec3<i32>(1, 1, select(1, 0, search.is_flat != 0u));
    return (cells + block_size() - 1) / block_size();
}

// A block of the cube round the one that holds a point, by its number.
fn block_of_shell(point: Point, n: u32) -> vec3<i32> {
    let across = 2 * search.shell + 1;
    let at = vec3<i32>(i32(n) % across, (i32(n) / across) % across, i32(n) / (across * across));
    return point.cell / block_size() + at - vec3<i32>(search.shell, search.shell, select(search.shell, 0, search.is_flat != 0u));
}

// Whether a block of the cube is of the shell, and distance and range of dose let it be nearer.
fn may_hold_nearer(box: Box, block: vec3<i32>) -> bool {
    let apart = abs(block - box.point.cell / block_size());
    let is_within = max(max(apart.x, apart.y), apart.z) < search.shell && search.shell > 1;
    let count = blocks();
    if (is_within || any(block < vec3<i32>(0)) || any(block >= count)) {
        return false;
    }
    let begin = block * block_size();
    let end = min(begin + block_size(), search.size - 1);
    let gap = max(max(begins(box.point, begin), -begins(box.point, end)), vec3<f32>(0.0));
    let range = arrayLength(&values) + u32((block.z * count.y + block.y) * count.x + block.x);
    return may_be_nearer(box.point, range, dot(gap, gap), box.best);
}

fn is_more_than_shell(point: Point, best: f32) -> bool {
    let home = point.cell / block_size();
    let low = max((home - search.shell) * block_size(), vec3<i32>(0));
    let high = min((home + search.shell + 1) * block_size() - 1, search.size - 2);
    return is_more(point, low, high, best);
}
