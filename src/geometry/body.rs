//! The outline of the body, from a CT.

use super::mask::Progress;
use super::outline::{self, Bits};
use super::runs::{self, PartRun};
use super::stacked::{AIR, BRIDGE, Classes, KEPT, LIGHT, SHEET};
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
pub fn body_contours(hu: &Volume<f32>, threshold: f32, progress: Progress<'_>) -> Option<BodyOutline> {
    let [nx, ny, nz] = hu.grid().size();
    let done = AtomicUsize::new(0);
    // Three passes over the planes are counted; the rest is quick.
    let tell = || progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / (3 * nz) as f32);
    let reach = hu.grid().spacing_xy_mm().map(|d| (OPENING_MM / d).round() as usize);
    let dense = |k: usize| -> Vec<bool> { hu.plane(k).iter().map(|&v| v > threshold).collect() };

    let opened: Option<Vec<Vec<bool>>> =
        (0..nz).into_par_iter().map(|k| tell().then(|| opening(&dense(k), [nx, ny], reach))).collect();
    let core = large_parts(opened?, hu.grid());

    let mut of = vec![AIR; nx * ny * nz];
    let sorted = of.par_chunks_mut(nx * ny).enumerate().map(|(k, of)| {
        // The opening has taken the outermost pixels of rounded parts: they belong to the body again.
        let near = grown(&core[k], [nx, ny], [1, 1], true);
        let mut body: Vec<bool> = dense(k).iter().zip(near).map(|(&d, n)| d && n).collect();
        runs::keep_parts_with(&mut body, &core[k], [nx, ny]);
        runs::fill_holes(&mut body, [nx, ny]);
        for ((of, body), &hu) in of.iter_mut().zip(body).zip(hu.plane(k)) {
            *of = match hu {
                _ if body => KEPT,
                hu if hu > threshold => SHEET,
                hu if hu > LIGHT_HU => LIGHT,
                _ => AIR,
            };
        }
        tell()
    });
    if !sorted.reduce(|| true, |a, b| a && b) {
        return None;
    }
    drop(core);
    let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| hu.grid().edges_mm(axis));
    let steps_mm = edges.map(|e| e.windows(2).map(|w| (w[1] - w[0]) as f32).collect());
    let mut classes = Classes { of, size: [nx, ny, nz], steps_mm };
    keep_attached(&mut classes, hu.grid());
    classes.bridge(&classes.bridges());

    /// The body's pixels and their outlines.
    type Plane = (Vec<bool>, Vec<Vec<DVec3>>);
    let planes: Option<Vec<Plane>> = (0..nz)
        .into_par_iter()
        .map(|k| {
            let of = &classes.of[k * nx * ny..][..nx * ny];
            let mut body: Vec<bool> = of.iter().map(|&c| c >= KEPT).collect();
            if of.contains(&BRIDGE) {
                // Thin strips between parts, such as a couch's shell between two legs, are no layers.
                let thick = opening(&body, [nx, ny], reach);
                body.iter_mut().zip(of).zip(thick).for_each(|((b, &c), thick)| *b = c == KEPT || *b && thick);
            }
            runs::fill_holes(&mut body, [nx, ny]);
            let contours = plane_contours(hu, k, &body, threshold);
            tell().then_some((body, contours))
        })
        .collect();
    let (bodies, contours): (Vec<_>, Vec<_>) = planes?.into_iter().unzip();
    Some(BodyOutline {
        left_out: left_out(hu, threshold, &bodies),
        contours: contours.into_iter().flatten().collect(),
    })
}

/// Voxels of each part: their number, their volume in cm3, and the planes they lie on.
#[derive(Clone, Default)]
pub(super) struct Tally {
    pub(super) volume_cm3: f64,
    planes: Option<[usize; 2]>,
    /// Of the voxel centres, each times its volume, the grid's frame, mm cm3.
    moment: DVec3,
}

pub(super) fn tallies(runs: &[PartRun], grid: &Grid) -> Vec<Tally> {
    let mut all = vec![Tally::default(); runs.iter().map(|r| r.part + 1).max().unwrap_or(0)];
    let thick = grid.edges_mm(2);
    let [dx, dy] = grid.spacing_xy_mm();
    for run in runs {
        let tally = &mut all[run.part];
        let volume = run.x.len() as f64 * dx * dy * (thick[run.plane + 1] - thick[run.plane]) / 1000.0;
        let middle = 0.5 * (run.x.start + run.x.end - 1) as f64 * dx;
        tally.volume_cm3 += volume;
        tally.moment += volume * DVec3::new(middle, run.row as f64 * dy, grid.planes_mm()[run.plane]);
        let [low, high] = tally.planes.unwrap_or([run.plane; 2]);
        tally.planes = Some([low.min(run.plane), high.max(run.plane)]);
    }
    all
}

/// Keeps the parts of some size, and the largest whatever its size.
fn large_parts(mut planes: Vec<Vec<bool>>, grid: &Grid) -> Vec<Vec<bool>> {
    let [nx, ny, _] = grid.size();
    let runs = runs::parts_of(&planes, [nx, ny]);
    let parts = tallies(&runs, grid);
    let largest = parts.iter().map(|p| p.volume_cm3).fold(0.0, f64::max);
    let edges = grid.edges_mm(2);
    let large = |part: &Tally| {
        let length_mm = part.planes.map_or(0.0, |[low, high]| edges[high + 1] - edges[low]);
        let area_cm2 = part.volume_cm3 / (0.1 * length_mm);
        let large = part.volume_cm3 >= SMALLEST_PART_CM3 && area_cm2 >= SMALLEST_PART_CM2;
        large || part.volume_cm3 == largest
    };
    let large: Vec<bool> = parts.iter().map(large).collect();
    for run in runs.iter().filter(|r| !large[r.part]) {
        planes[run.plane][run.row * nx..][run.x.clone()].fill(false);
    }
    planes
}

/// Sheets that lie against the body become part of it.
fn keep_attached(classes: &mut Classes, grid: &Grid) {
    let [nx, ny, _] = classes.size;
    let mut against = vec![false; classes.of.len()];
    classes.attached().into_iter().for_each(|voxel| against[voxel] = true);
    let sheets: Vec<Vec<bool>> =
        classes.of.par_chunks(nx * ny).map(|of| of.iter().map(|&c| c == SHEET).collect()).collect();
    let runs = runs::parts_of(&sheets, [nx, ny]);
    let first = |run: &PartRun| (run.plane * ny + run.row) * nx + run.x.start;
    let mut counts = vec![[0_usize; 2]; runs.iter().map(|r| r.part + 1).max().unwrap_or(0)];
    for run in &runs {
        let voxels = &against[first(run)..][..run.x.len()];
        counts[run.part][0] += voxels.iter().filter(|a| **a).count();
        counts[run.part][1] += voxels.len();
    }
    let large: Vec<bool> = tallies(&runs, grid).iter().map(|t| t.volume_cm3 >= WORTH_A_WORD_CM3).collect();
    for run in &runs {
        let [near, all] = counts[run.part];
        if large[run.part] && near as f64 >= ATTACHED * all as f64 {
            classes.of[first(run)..][..run.x.len()].fill(KEPT);
        }
    }
}

/// The dense parts outside the body that are worth a word, largest first.
fn left_out(hu: &Volume<f32>, threshold: f32, bodies: &[Vec<bool>]) -> Vec<LeftOut> {
    let grid = hu.grid();
    let [nx, ny, nz] = grid.size();
    let outside: Vec<Vec<bool>> = (0..nz)
        .into_par_iter()
        .map(|k| {
            // The outermost pixel of the body is partly outside: no part of its own.
            let near = grown(&bodies[k], [nx, ny], [1, 1], true);
            hu.plane(k).iter().zip(near).map(|(&v, near)| v > threshold && !near).collect()
        })
        .collect();
    let Some((low, high)) = extent(grid, bodies) else { return Vec::new() };
    let side = |part: &Tally| {
        let centre = grid.patient_from_local(part.moment / part.volume_cm3);
        let off = (centre - 0.5 * (low + high)) / (0.5 * (high - low)).max(DVec3::splat(1.0));
        let names = [["right", "left"], ["anterior", "posterior"], ["inferior", "superior"]];
        let axis = off
            .abs()
            .to_array()
            .iter()
            .enumerate()
            .fold((0, 0.0), |best, (axis, &d)| if d > best.1 { (axis, d) } else { best });
        names[axis.0][usize::from(off[axis.0] > 0.0)]
    };
    let runs = runs::parts_of(&outside, [nx, ny]);
    let edges = grid.edges_mm(2);
    let of_note = |part: Tally| {
        let [first, last] = part.planes.filter(|_| part.volume_cm3 >= WORTH_A_WORD_CM3)?;
        let normal = |edge: f64| grid.patient_from_local(DVec3::new(0.0, 0.0, edge)).z;
        let (a, b) = (normal(edges[first]), normal(edges[last + 1]));
        Some(LeftOut { volume_cm3: part.volume_cm3, side: side(&part), z_mm: [a.min(b), a.max(b)] })
    };
    let mut all: Vec<LeftOut> = tallies(&runs, grid).into_iter().filter_map(of_note).collect();
    all.sort_by(|a, b| b.volume_cm3.total_cmp(&a.volume_cm3));
    all
}

/// The box round the body, lowest and highest corner, patient LPS, mm.
fn extent(grid: &Grid, bodies: &[Vec<bool>]) -> Option<(DVec3, DVec3)> {
    let [nx, _, _] = grid.size();
    let mut all: Option<(DVec3, DVec3)> = None;
    for (k, body) in bodies.iter().enumerate() {
        for (j, row) in body.chunks_exact(nx).enumerate() {
            let ends = [row.iter().position(|&b| b), row.iter().rposition(|&b| b)];
            for p in ends.into_iter().flatten().map(|i| grid.centre_mm(i, j, k)) {
                let (low, high) = all.unwrap_or((p, p));
                all = Some((low.min(p), high.max(p)));
            }
        }
    }
    all
}

/// The outlines of one plane.
fn plane_contours(hu: &Volume<f32>, k: usize, body: &[bool], threshold: f32) -> Vec<Vec<DVec3>> {
    let grid = hu.grid();
    let [nx, ny, _] = grid.size();
    let [dx, dy] = grid.spacing_xy_mm();
    let value = |p: [isize; 2]| {
        let within = p[0] >= 0 && p[1] >= 0 && (p[0] as usize) < nx && (p[1] as usize) < ny;
        within.then(|| hu.at(p[0] as usize, p[1] as usize, k))
    };
    let position = |c: &outline::Crossing| {
        let share = match (value(c.inside), value(c.outside)) {
            (Some(a), Some(b)) if a > threshold && b <= threshold => (a - threshold) / (a - b),
            // At the edge of the image, or where something dense was cut off: half-way.
            _ => 0.5,
        };
        let at = |a: usize, d: f64| {
            (c.inside[a] as f64 + f64::from(share) * (c.outside[a] - c.inside[a]) as f64) * d
        };
        [at(0, dx), at(1, dy)]
    };
    let lines = outline::trace(&Bits { inside: body, size: [nx, ny] });
    let placed = lines.iter().map(|line| line.iter().map(position).collect::<Vec<_>>());
    placed
        .filter(|line| area_mm2(line) >= SMALLEST_MM2)
        .map(|line| {
            let z = grid.planes_mm()[k];
            line.iter().map(|p| grid.patient_from_local(DVec3::new(p[0], p[1], z))).collect()
        })
        .collect()
}

fn area_mm2(line: &[[f64; 2]]) -> f64 {
    let pairs = line.iter().zip(line.iter().cycle().skip(1));
    0.5 * pairs.map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>()
}

/// Morphological opening by a rectangle of `2 reach + 1` pixels a side.
fn opening(bits: &[bool], size: [usize; 2], reach: [usize; 2]) -> Vec<bool> {
    grown(&grown(bits, size, reach, false), size, reach, true)
}

/// Grows what is `on` by a rectangle of `2 reach + 1` pixels a side, or shrinks it (grows what is not); beyond the
/// plane counts as the pixels at its border. One axis after the other.
pub(super) fn grown(bits: &[bool], size: [usize; 2], reach: [usize; 2], on: bool) -> Vec<bool> {
    let mut along_x = vec![!on; bits.len()];
    for (row, out) in bits.chunks_exact(size[0]).zip(along_x.chunks_exact_mut(size[0])) {
        // Each run of pixels that are `on` is written longer by the reach at either end.
        let mut written = 0;
        for (x, _) in row.iter().enumerate().filter(|(_, b)| **b == on) {
            let from = x.saturating_sub(reach[0]).max(written);
            let to = (x + reach[0] + 1).min(size[0]);
            out[from.min(to)..to].fill(on);
            written = to;
        }
    }
    let mut both = vec![!on; bits.len()];
    for (y, row) in along_x.chunks_exact(size[0]).enumerate() {
        let rows = y.saturating_sub(reach[1])..(y + reach[1] + 1).min(size[1]);
        let runs: Vec<_> = runs::of_row(row, on).collect();
        for to in rows {
            let out = &mut both[to * size[0]..(to + 1) * size[0]];
            runs.iter().for_each(|r| out[r.clone()].fill(on));
        }
    }
    both
}

#[cfg(test)]
mod tests;
