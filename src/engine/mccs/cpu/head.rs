//! Histories from the source to the lattice: energy, weight, position and direction.

use transport::philox::{Stream, unit};
use crate::mccs::simulation::Simulation;
use crate::mccs::tables::{
    BeamPosition, Cell, ELECTRON, Group, Head, RADII, RADIUS_STEP_MM, Segment,
};
use physics::Leaves;

/// Places in a history's random numbers (`kernels/mccs.cuh` has the same).
pub const PLACE_HEAD: u32 = 0;
pub const PLACE_SOURCE: u32 = 1;
pub const PLACE_PATIENT: u32 = 2;
pub const PLACE_RAYS: u32 = 3;

/// A particle on its way to the patient.
#[derive(Clone, Copy, Debug)]
pub struct Particle {
    pub group: u32,
    /// Quanta.
    pub energy: f32,
    /// cm, in the lattice's frame.
    pub from_cm: [f32; 3],
    pub direction: [f32; 3],
}

/// Draws history `n` of a batch of `batch`: the `history`-th of the run.
pub fn draw(run: &Simulation, stream: Stream, n: u64, batch: u64) -> Particle {
    let words = stream.words(PLACE_HEAD);
    // Energies are stratified over the batch: neighbours share a kernel, and a batch has its right share of each.
    let place = (n as f32 + unit(words[0])) / batch as f32;
    let number = run
        .groups
        .partition_point(|g| g.until <= place)
        .min(run.groups.len() - 1);
    let group = &run.groups[number];
    let (cell, at_mm) = draw_cell(run, group, words, unit(stream.words(PLACE_SOURCE)[0]));
    let position = &run.heads.beam_positions[cell.beam_position as usize];
    let head = &run.heads.heads[group.head as usize];
    let radius_mm = at_mm[0].hypot(at_mm[1]);
    // The ray through the place from the middle of the target.
    let cos = head.sad_mm / head.sad_mm.hypot(radius_mm);
    let weight = cell.weight * group.energy;
    if group.kind == ELECTRON {
        return along(
            position,
            head,
            number,
            weight * cos * cos * cos,
            [0.0; 3],
            at_mm,
        );
    }
    let source = stream.words(PLACE_SOURCE);
    let spot = normal_pair(unit(source[1]), unit(source[2]));
    let softening = over_radius(
        &run.softening[group.softening_at as usize / RADII],
        radius_mm,
    );
    let extra = unit(source[3]) < cell.extra;
    let from_mm = if extra {
        [
            spot[0] * head.extra_sigma_mm,
            spot[1] * head.extra_sigma_mm,
            head.extra_distance_mm,
        ]
    } else {
        [
            spot[0] * head.focal_sigma_mm[0],
            spot[1] * head.focal_sigma_mm[1],
            0.0,
        ]
    };
    let more = stream.words(PLACE_PATIENT);
    let through = collimators(
        run,
        position,
        head,
        [unit(more[1]), unit(more[2])],
        from_mm,
        at_mm,
        group.head,
    );
    let seen = if extra {
        // As the fluence has it: inverse square from the source's plane, slant from the target (`physics::Fluence`).
        let slant = slant_cos(head.sad_mm, from_mm, at_mm);
        head.extra_share / cell.extra * slant * cos * cos
    } else {
        let horn = &run.heads.horns[head.horn_at as usize..][..RADII];
        (1.0 - head.extra_share) / (1.0 - cell.extra)
            * over_radius(horn, radius_mm)
            * cos
            * cos
            * cos
    };
    along(
        position,
        head,
        number,
        weight * softening * seen * through,
        from_mm,
        at_mm,
    )
}

/// A cell by the alias method and a place in it, mm at the isocentre plane.
fn draw_cell<'a>(
    run: &'a Simulation,
    group: &Group,
    words: [u32; 4],
    y: f32,
) -> (&'a Cell, [f32; 2]) {
    let cells = &run.heads.cells[group.cells_at as usize..][..group.cells as usize];
    let drawn = ((u64::from(words[1]) * u64::from(group.cells)) >> 32) as usize;
    let number = if unit(words[2]) < cells[drawn].keep {
        drawn
    } else {
        cells[drawn].other as usize
    };
    let cell = &cells[number];
    let position = &run.heads.beam_positions[cell.beam_position as usize];
    let first = if group.kind == ELECTRON {
        position.first_electron_cell
    } else {
        position.first_cell
    };
    let within = group.cells_at + number as u32 - first;
    let (column, row) = (within % position.columns, within / position.columns);
    let at = |axis: usize, index: u32, part: f32| {
        position.corner_mm[axis] + (index as f32 + part) * position.cell_mm[axis]
    };
    (cell, [at(0, column, unit(words[3])), at(1, row, y)])
}

/// The particle that goes from a point of the head (mm across, mm below the target) through a place of the isocentre plane.
fn along(
    position: &BeamPosition,
    head: &Head,
    group: usize,
    energy: f32,
    from_mm: [f32; 3],
    at_mm: [f32; 2],
) -> Particle {
    let [x, y, z] = position.axes;
    let offset = |v: [f32; 3]| -> [f32; 3] {
        std::array::from_fn(|a| 0.1 * (v[0] * x[a] + v[1] * y[a] - v[2] * z[a]))
    };
    let start = offset(from_mm);
    let way = offset([
        at_mm[0] - from_mm[0],
        at_mm[1] - from_mm[1],
        head.sad_mm - from_mm[2],
    ]);
    let length = (way[0] * way[0] + way[1] * way[1] + way[2] * way[2]).sqrt();
    Particle {
        group: group as u32,
        energy,
        from_cm: std::array::from_fn(|a| position.source_cm[a] + start[a]),
        direction: way.map(|w| w / length),
    }
}

fn slant_cos(sad_mm: f32, from: [f32; 3], at: [f32; 2]) -> f32 {
    let down = sad_mm - from[2];
    down / down.hypot((at[0] - from[0]).hypot(at[1] - from[1]))
}

/// A table over the distance from the axis.
fn over_radius(table: &[f32], radius_mm: f32) -> f32 {
    let x = (radius_mm / RADIUS_STEP_MM as f32).min((RADII - 1) as f32);
    let i = (x as usize).min(RADII - 2);
    table[i] + (table[i + 1] - table[i]) * (x - i as f32)
}

/// Two independent normal variables (Box and Muller 1958).
fn normal_pair(a: f32, b: f32) -> [f32; 2] {
    let radius = (-2.0 * a.ln()).sqrt();
    let (sin, cos) = (std::f32::consts::TAU * b).sin_cos();
    [radius * cos, radius * sin]
}

/// Transmission of jaws and leaves for a photon from a point of the head through a place of the isocentre plane.
fn collimators(
    run: &Simulation,
    position: &BeamPosition,
    head: &Head,
    [which, when]: [f32; 2],
    from_mm: [f32; 3],
    at_mm: [f32; 2],
    machine: u32,
) -> f32 {
    let segments =
        &run.heads.segments[position.segments_at as usize..][..position.segments as usize];
    let number = segments
        .partition_point(|s| s.until <= which)
        .min(segments.len() - 1);
    let segment = &segments[number];
    // Where the ray crosses a plane of the head, scaled to the isocentre plane as positions of collimators are.
    let crossing = |axis: usize, plane_mm: f32| {
        let part = (plane_mm - from_mm[2]) / (head.sad_mm - from_mm[2]);
        (from_mm[axis] + (at_mm[axis] - from_mm[axis]) * part) * head.sad_mm / plane_mm
    };
    let mut through = 1.0;
    for axis in 0..2 {
        let edge = |side: usize| {
            let (from, to) = (
                segment.jaws_from_mm[2 * axis + side],
                segment.jaws_to_mm[2 * axis + side],
            );
            from + when * (to - from)
        };
        let x = crossing(axis, head.jaw_distance_mm[axis]);
        if x < edge(0) || x > edge(1) {
            through *= head.jaw_transmission;
        }
    }
    if through == 0.0 || position.pairs == 0 {
        return through;
    }
    let xy = [0, 1].map(|axis| crossing(axis, head.leaf_distance_mm));
    let uv = if position.along_y == 1 {
        [xy[1], xy[0]]
    } else {
        xy
    };
    if position.map_columns > 0 {
        return through * map_value(run, position, uv);
    }
    let Some(leaves) = run.heads.machines[machine as usize].machine.leaves.as_ref() else {
        return through;
    };
    through * leaf_transmission(run, leaves, position, head, segment, when, uv)
}

/// Value of a fluence map where a ray crosses the plane of the leaves, in whose place it stands; 0 beside its beamlets.
fn map_value(run: &Simulation, position: &BeamPosition, [u, v]: [f32; 2]) -> f32 {
    let rows = position.pairs as usize;
    let sides = &run.heads.leaf_boundaries_mm[position.boundaries_at as usize..][..=rows];
    let above = sides.partition_point(|side| *side <= f64::from(v));
    let column = ((u - position.map_first_mm) / position.map_step_mm).floor();
    if above == 0 || above > rows || !(0.0..position.map_columns as f32).contains(&column) {
        return 0.0;
    }
    let beamlet = (above - 1) * position.map_columns as usize + column as usize;
    run.heads.map_values[position.map_at as usize + beamlet]
}

fn leaf_transmission(
    run: &Simulation,
    leaves: &Leaves,
    position: &BeamPosition,
    head: &Head,
    segment: &Segment,
    when: f32,
    uv: [f32; 2],
) -> f32 {
    let pairs = position.pairs as usize;
    let sides = &run.heads.leaf_boundaries_mm[position.boundaries_at as usize..][..=pairs];
    let tips = &run.heads.tips_mm[segment.tips_at as usize..][..4 * pairs];
    let at = |row: usize| {
        [0, 1].map(|bank| {
            let (from, to) = (tips[2 * row + bank], tips[2 * (pairs + row) + bank]);
            f64::from(from + when * (to - from))
        })
    };
    let magnification = f64::from(head.sad_mm / head.leaf_distance_mm);
    leaves.ray_transmission(sides, magnification, at, uv.map(f64::from)) as f32
}
