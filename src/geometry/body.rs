//! The outline of the body, from a CT.

use super::bits::BitPlane;
use super::mask::Progress;
use super::outline;
use super::runs::{self, PartRun};
use super::stacked::Classes;
use super::{Grid, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Half the side of the square that must fit into the body and not into the couch's shell, mm.
const OPENING_MM: f64 = 3.0;

/// An island smaller than this on its plane is left out, mm2.
const SMALLEST_MM2: f64 = 50.0;

/// A part that fills less, or less of a plane in the mean, is no part of a patient (a hand has 300 cm3 and 20 cm2): rails
/// of a couch, rods, tubes.
const SMALLEST_PART_CM3: f64 = 30.0;
const SMALLEST_PART_CM2: f64 = 4.0;

/// Thinner is air, HU. Cork and lung lie above; the foam in most couches lies below.
const LIGHT_HU: f32 = -900.0;

/// A sheet belongs to the body where this share of it lies against it: a bolus does, a thin slab on a stack, an ear. Of the
/// shell of a couch less does, as it goes round and is wider than the patient on it.
const ATTACHED: f64 = 0.9;

/// Smaller parts are not reported, cm3.
const WORTH_A_WORD_CM3: f64 = 1.0;

/// The body in a CT.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyOutline {
    /// Closed, patient LPS, mm, on the volume's planes.
    pub contours: Vec<Vec<DVec3>>,
    /// Dense parts that do not belong to the body, largest first: couch and small objects.
    pub left_out: Vec<LeftOut>,
}

/// A dense part of a CT outside the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    pub volume_cm3: f64,
    /// On which side of the body it lies: `posterior`.
    pub side: &'static str,
    /// From and to, patient LPS, mm.
    pub z_mm: [f64; 2],
}

/// The body in a CT: voxels denser than `threshold` (-350 HU finds skin) that belong neither to the couch nor to small objects.
///
/// Thin sheets such as a couch's shell are cut off first (what no square of 7 mm fits into). All connected parts of some
/// size are kept: trunk and arms, both legs, the slabs of a phantom. What they enclose on each plane (lungs, bowel gas) is
/// filled. Sheets come back where nearly all of them lies against the body. Light matter between kept parts belongs, be
/// it open to the sides: left out, the cork of a stack would count as vacuum, which is wrong by far more than a couch that
/// counts.
///
/// Between voxel centres the outline runs where the linear interpolation of `hu` crosses the threshold. `None` when
/// `progress` stopped it; no contours where nothing is dense enough.
pub fn body_contours(
    hu: &Volume<f32>,
    threshold: f32,
    progress: Progress<'_>,
) -> Option<BodyOutline> {
    let [nx, ny, nz] = hu.grid().size();
    let done = AtomicUsize::new(0);
    // Three passes over the planes are counted; the rest is quick.
    let tell = || progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / (3 * nz) as f32);
    let reach = hu
        .grid()
        .spacing_xy_mm()
        .map(|d| (OPENING_MM / d).round() as usize);
    let read = (0..nz).into_par_iter().map(|k| {
        let dense = matter_above(threshold, hu, k, [nx, ny]);
        let opened = dense.clone().opened(reach);
        tell().then(|| ((dense, matter_above(LIGHT_HU, hu, k, [nx, ny])), opened))
    });
    let (matter, opened): (Vec<_>, Vec<_>) = read.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let (dense, light): (Vec<_>, Vec<_>) = matter.into_iter().unzip();
    let core = large_parts(opened, hu.grid());

    let sorted = light.into_par_iter().enumerate().map(|(k, light)| {
        // The opening has taken the outermost pixels of rounded parts: they belong to the body again.
        let mut body = core[k].grown([1, 1]) & &dense[k];
        runs::keep_parts_with(&mut body, &core[k]);
        runs::fill_holes(&mut body);
        let sheet = dense[k].clone().without(&body);
        let light = light.without(&dense[k]).without(&body);
        tell().then_some((body, (sheet, light)))
    });
    let (kept, aside): (Vec<_>, Vec<_>) = sorted.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let (sheet, light) = aside.into_iter().unzip();
    drop(core);
    let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| hu.grid().edges_mm(axis));
    let steps_mm = edges.map(|e| e.windows(2).map(|w| (w[1] - w[0]) as f32).collect());
    let mut classes = Classes {
        kept,
        sheet,
        light,
        steps_mm,
    };
    keep_attached(&mut classes, hu.grid());
    let bridges = classes.bridges();

    let outlined =
        classes
            .kept
            .into_par_iter()
            .zip(bridges)
            .enumerate()
            .map(|(k, (mut body, bridge))| {
                if bridge.any() {
                    // Thin strips between parts, such as a couch's shell between two legs, are no layers.
                    let thick = (bridge | &body).opened(reach);
                    body = body | &thick;
                }
                runs::fill_holes(&mut body);
                let contours = plane_contours(hu, k, &body, threshold);
                tell().then_some((body, contours))
            });
    let (bodies, contours): (Vec<_>, Vec<_>) =
        outlined.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    Some(BodyOutline {
        left_out: left_out(dense, &bodies, hu.grid()),
        contours: contours.into_iter().flatten().collect(),
    })
}

fn matter_above(above: f32, hu: &Volume<f32>, k: usize, [nx, ny]: [usize; 2]) -> BitPlane {
    BitPlane::from_values(hu.plane(k), [nx, ny], |&hu| hu > above)
}

/// Voxels of each part: their number, their volume in cm3, and the planes they lie on.
#[derive(Clone, Default)]
pub(super) struct Tally {
    pub(super) volume_cm3: f64,
    planes: Option<[usize; 2]>,
    /// Sum of the voxel centres, each times its volume, the grid's frame, mm cm3.
    moment: DVec3,
}

pub(super) fn tallies(runs: &[PartRun], grid: &Grid) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); runs.iter().map(|r| r.part + 1).max().unwrap_or(0)];
    let thick = grid.edges_mm(2);
    let [dx, dy] = grid.spacing_xy_mm();
    for run in runs {
        let tally = &mut tallies[run.part];
        let volume =
            run.x.len() as f64 * dx * dy * (thick[run.plane + 1] - thick[run.plane]) / 1000.0;
        let middle = 0.5 * (run.x.start + run.x.end - 1) as f64 * dx;
        tally.volume_cm3 += volume;
        tally.moment +=
            volume * DVec3::new(middle, run.row as f64 * dy, grid.planes_mm()[run.plane]);
        let [low, high] = tally.planes.unwrap_or([run.plane; 2]);
        tally.planes = Some([low.min(run.plane), high.max(run.plane)]);
    }
    tallies
}

/// Keeps the parts of some size, and the largest whatever its size.
fn large_parts(mut planes: Vec<BitPlane>, grid: &Grid) -> Vec<BitPlane> {
    let runs = runs::parts_of(&planes);
    let parts = tallies(&runs, grid);
    let largest = parts.iter().map(|p| p.volume_cm3).fold(0.0, f64::max);
    let edges = grid.edges_mm(2);
    let large: Vec<bool> = parts
        .iter()
        .map(|part: &Tally| {
            let length_mm = part
                .planes
                .map_or(0.0, |[low, high]| edges[high + 1] - edges[low]);
            let area_cm2 = part.volume_cm3 / (0.1 * length_mm);
            let large = part.volume_cm3 >= SMALLEST_PART_CM3 && area_cm2 >= SMALLEST_PART_CM2;
            large || part.volume_cm3 == largest
        })
        .collect();
    for run in runs.into_iter().filter(|r| !large[r.part]) {
        planes[run.plane].fill(run.x, run.row, false);
    }
    planes
}

/// Sheets that lie against the body become part of it.
fn keep_attached(classes: &mut Classes, grid: &Grid) {
    let against = classes.attached();
    let runs = runs::parts_of(&classes.sheet);
    let mut counts = vec![[0_usize; 2]; runs.iter().map(|r| r.part + 1).max().unwrap_or(0)];
    for run in &runs {
        counts[run.part][0] += against[run.plane].count_in(run.x.clone(), run.row);
        counts[run.part][1] += run.x.len();
    }
    let large: Vec<bool> = tallies(&runs, grid)
        .iter()
        .map(|t| t.volume_cm3 >= WORTH_A_WORD_CM3)
        .collect();
    for run in runs {
        let [near, total] = counts[run.part];
        if large[run.part] && near as f64 >= ATTACHED * total as f64 {
            classes.kept[run.plane].fill(run.x, run.row, true);
        }
    }
}

/// The dense parts outside the body that are worth a word, largest first.
fn left_out(dense: Vec<BitPlane>, bodies: &[BitPlane], grid: &Grid) -> Vec<LeftOut> {
    // The outermost pixel of the body is partly outside: that does not make it a separate part.
    let outside: Vec<BitPlane> = dense
        .into_par_iter()
        .zip(bodies)
        .map(|(dense, body)| dense.without(&body.grown([1, 1])))
        .collect();
    let Some((low, high)) = extent(grid, bodies) else {
        return Vec::new();
    };
    let runs = runs::parts_of(&outside);
    let edges = grid.edges_mm(2);
    let mut parts: Vec<LeftOut> = tallies(&runs, grid)
        .into_iter()
        .filter_map(|part: Tally| {
            let [first, last] = part
                .planes
                .filter(|_| part.volume_cm3 >= WORTH_A_WORD_CM3)?;
            let (a, b) = (
                z_mm_of_edge(edges[first], grid),
                z_mm_of_edge(edges[last + 1], grid),
            );
            Some(LeftOut {
                volume_cm3: part.volume_cm3,
                side: side_of_body(&part, grid, low, high),
                z_mm: [a.min(b), a.max(b)],
            })
        })
        .collect();
    parts.sort_by(|a, b| b.volume_cm3.total_cmp(&a.volume_cm3));
    parts
}

/// The side of the body on which a part lies, by the axis along which it is farthest off the middle.
fn side_of_body(part: &Tally, grid: &Grid, low: DVec3, high: DVec3) -> &'static str {
    let centre = grid.patient_from_local(part.moment / part.volume_cm3);
    let off = (centre - 0.5 * (low + high)) / (0.5 * (high - low)).max(DVec3::splat(1.0));
    let names = [
        ["right", "left"],
        ["anterior", "posterior"],
        ["inferior", "superior"],
    ];
    let axis = off
        .abs()
        .to_array()
        .iter()
        .enumerate()
        .fold(
            (0, 0.0),
            |best, (axis, &d)| if d > best.1 { (axis, d) } else { best },
        );
    names[axis.0][usize::from(off[axis.0] > 0.0)]
}

fn z_mm_of_edge(edge: f64, grid: &Grid) -> f64 {
    grid.patient_from_local(DVec3::new(0.0, 0.0, edge)).z
}

/// The box round the body, lowest and highest corner, patient LPS, mm.
fn extent(grid: &Grid, bodies: &[BitPlane]) -> Option<(DVec3, DVec3)> {
    let [_, ny, _] = grid.size();
    let mut bounds: Option<(DVec3, DVec3)> = None;
    for (k, body) in bodies.iter().enumerate() {
        for j in 0..ny {
            let ends = [
                body.runs(j).next().map(|run| run.start),
                body.runs(j).last().map(|run| run.end - 1),
            ];
            for p in ends.into_iter().flatten().map(|i| grid.centre_mm(i, j, k)) {
                let (low, high) = bounds.unwrap_or((p, p));
                bounds = Some((low.min(p), high.max(p)));
            }
        }
    }
    bounds
}

/// The outlines of one plane.
fn plane_contours(hu: &Volume<f32>, k: usize, body: &BitPlane, threshold: f32) -> Vec<Vec<DVec3>> {
    let grid = hu.grid();
    let [nx, ny, _] = grid.size();
    let [dx, dy] = grid.spacing_xy_mm();
    let lines = outline::trace(body);
    let placed = lines.iter().map(|line| {
        line.iter()
            .map(|c: &outline::Crossing| {
                let share = match (
                    hu_within(c.inside, hu, k, [nx, ny]),
                    hu_within(c.outside, hu, k, [nx, ny]),
                ) {
                    (Some(a), Some(b)) if a > threshold && b <= threshold => {
                        (a - threshold) / (a - b)
                    }
                    // At the edge of the image, or where something dense was cut off: half-way.
                    _ => 0.5,
                };
                [crossing_mm(0, dx, c, share), crossing_mm(1, dy, c, share)]
            })
            .collect::<Vec<_>>()
    });
    placed
        .filter(|line| area_mm2(line) >= SMALLEST_MM2)
        .map(|line| {
            let z = grid.planes_mm()[k];
            line.iter()
                .map(|p| grid.patient_from_local(DVec3::new(p[0], p[1], z)))
                .collect()
        })
        .collect()
}

fn hu_within(p: [isize; 2], hu: &Volume<f32>, k: usize, [nx, ny]: [usize; 2]) -> Option<f32> {
    let within = p[0] >= 0 && p[1] >= 0 && (p[0] as usize) < nx && (p[1] as usize) < ny;
    within.then(|| hu.at(p[0] as usize, p[1] as usize, k))
}

fn crossing_mm(a: usize, d: f64, c: &outline::Crossing, share: f32) -> f64 {
    (c.inside[a] as f64 + f64::from(share) * (c.outside[a] - c.inside[a]) as f64) * d
}

fn area_mm2(line: &[[f64; 2]]) -> f64 {
    let pairs = line.iter().zip(line.iter().cycle().skip(1));
    0.5 * pairs.map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>()
}

#[cfg(test)]
mod tests;
