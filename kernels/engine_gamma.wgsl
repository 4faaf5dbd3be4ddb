// Gamma index (Gu 2010) in three kernels, a thread a point: at voxels of the evaluated dose by formula, else the cells nearby, else those
// beyond. Points that a kernel leaves are listed for the next.

const THREADS: u32 = 128;

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
    if (thread == 0u) {
        first = atomicAdd(&left[0], atomicLoad(&found));
    }
    workgroupBarrier();
    if (is_left) {
        atomicStore(&left[1u + first + at], voxel);
    }
}

fn number(group: vec3<u32>, groups: vec3<u32>, thread: u32) -> u32 {
    return ((group.z + slab.x) * groups.x + group.x) * THREADS + thread;
}

// All voxels: those below the threshold are no points.
@compute @workgroup_size(128, 1, 1)
fn gamma_vertices(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) thread: u32,
) {
    let voxel = number(group, groups, thread);
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

// The cell in which a linear dose would be nearest, then those about the nearest voxel.
@compute @workgroup_size(128, 1, 1)
fn gamma_near(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) thread: u32,
) {
    let n = number(group, groups, thread);
    var is_left = false;
    var voxel = 0u;
    if (n < points[0]) {
        voxel = points[1u + n];
        var point: Point;
        // What has no gamma is not left.
        begin(voxel, &point);
        let near = nearest_voxel(point);
        let guessed = guess(point, near);
        var best = min(guessed.square, search.limits.most);
        let cell = look(point, guessed.cell);
        if (search.is_flat != 0u || bound(cell) < best * NEARER) {
            best = squared_distance(cell, best);
        }
        var low = near.voxel - REACH;
        if (search.is_flat != 0u) {
            low.z = near.voxel.z;
        }
        best = search_box(point, low, candidates(point, low, best), best);
        is_left = is_more(point, max(low, vec3<i32>(0)), min(low + WIDE - 1, size() - 2), best);
        gamma[voxel] = select(settled(best), bitcast<u32>(best), is_left);
    }
    leave(is_left, voxel, thread);
}

// Blocks along the axes.
fn blocks() -> vec3<i32> {
    let cells = size() - vec3<i32>(1, 1, select(1, 0, search.is_flat != 0u));
    let wide = vec3<i32>(WIDE, WIDE, select(WIDE, 1, search.is_flat != 0u));
    return (cells + wide - 1) / wide;
}

// Beyond: shells of blocks round the one that holds the point, so many at a time.
@compute @workgroup_size(128, 1, 1)
fn gamma_far(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) thread: u32,
) {
    let n = number(group, groups, thread);
    var is_left = false;
    var voxel = 0u;
    if (n < points[0]) {
        voxel = points[1u + n];
        var point: Point;
        begin(voxel, &point);
        var best = bitcast<f32>(gamma[voxel]);
        is_left = true;
        for (var shell = search.first_shell; is_left && shell < search.first_shell + search.shells; shell += 1) {
            best = search_shell(point, shell, best);
            is_left = is_more_than_shells(point, shell, best);
        }
        gamma[voxel] = select(settled(best), bitcast<u32>(best), is_left);
    }
    leave(is_left, voxel, thread);
}

// Cells along the sides of a block.
fn block_size() -> vec3<i32> {
    return vec3<i32>(WIDE, WIDE, select(WIDE, 1, search.is_flat != 0u));
}

fn is_more_than_shells(point: Point, shell: i32, best: f32) -> bool {
    let home = point.cell / block_size();
    let first = max((home - shell) * block_size(), vec3<i32>(0));
    let last = min((home + shell + 1) * block_size() - 1, size() - 2);
    return is_more(point, first, last, best);
}

// How far a block is along each axis.
fn block_gap(point: Point, block: vec3<i32>) -> vec3<f32> {
    let begin = block * block_size();
    return max(max(begins(point, begin), -begins(point, min(begin + block_size(), size() - 1))), vec3<f32>(0.0));
}

fn search_shell(point: Point, shell: i32, before: f32) -> f32 {
    let home = point.cell / block_size();
    let count = blocks();
    let from_block = max(home - shell, vec3<i32>(0));
    let to_block = min(home + shell, count - 1);
    let is_flat = search.is_flat != 0u;
    var best = before;
    for (var k = select(from_block.z, home.z, is_flat); k <= select(to_block.z, home.z, is_flat); k += 1) {
        let is_end_z = !is_flat && abs(k - home.z) == shell;
        let gap_z = block_gap(point, vec3<i32>(home.xy, k)).z;
        for (var j = from_block.y; j <= to_block.y; j += 1) {
            let gap_y = block_gap(point, vec3<i32>(home.x, j, home.z)).y;
            let square = gap_y * gap_y + gap_z * gap_z;
            if (square >= best) {
                continue;
            }
            // Rows within the shell have two blocks in it.
            let is_row = is_end_z || abs(j - home.y) == shell;
            let step = select(max(2 * shell, 1), 1, is_row);
            for (var i = home.x - shell; i <= home.x + shell; i += step) {
                if (i < 0 || i >= count.x) {
                    continue;
                }
                let block = vec3<i32>(i, j, k);
                let gap_x = block_gap(point, vec3<i32>(i, home.yz)).x;
                let range = arrayLength(&values) + u32((k * count.y + j) * count.x + i);
                if (may_be_nearer(point, range, gap_x * gap_x + square, best)) {
                    let low = block * block_size();
                    best = search_box(point, low, candidates(point, low, best), best);
                }
            }
        }
    }
    return best;
}
