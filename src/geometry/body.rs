//! The outline of the body, from a CT.

use super::Volume;
use super::mask::Progress;
use super::outline::{self, Bits};
use super::runs;
use glam::DVec3;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Half the side of the square that must fit into the body and not into the couch's shell, mm.
const OPENING_MM: f64 = 3.0;

/// An island smaller than this on its plane is left out, mm2.
const SMALLEST_MM2: f64 = 50.0;

/// Closed contours (patient LPS, mm, on the volume's planes) round the body in a CT: what is denser than `threshold`
/// (-350 HU finds skin) and hangs together.
///
/// Thin sheets such as a couch's shell are cut off first (what no square of 7 mm fits into), the largest connected
/// part is kept, and what it encloses on each plane (lungs, bowel gas) is filled.
/// Between voxel centres the outline runs where the linear interpolation of `hu` crosses the threshold. `None` when
/// `progress` stopped it; no contours where nothing is dense enough.
pub fn body_contours(hu: &Volume<f32>, threshold: f32, progress: Progress<'_>) -> Option<Vec<Vec<DVec3>>> {
    let [nx, ny, nz] = hu.grid().size();
    let done = AtomicUsize::new(0);
    // Two passes over the planes are counted; the rest is quick.
    let tell = || progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / (2 * nz) as f32);
    let reach = hu.grid().spacing_xy_mm().map(|d| (OPENING_MM / d).round() as usize);
    let dense = |k: usize| -> Vec<bool> { hu.plane(k).iter().map(|&v| v > threshold).collect() };

    let opened: Option<Vec<Vec<bool>>> = (0..nz)
        .into_par_iter()
        .map(|k| {
            let thin_off = grown(&dense(k), [nx, ny], reach, false);
            tell().then(|| grown(&thin_off, [nx, ny], reach, true))
        })
        .collect();
    let core = runs::largest_part(&opened?, [nx, ny]);

    let planes: Option<Vec<Vec<Vec<DVec3>>>> = (0..nz)
        .into_par_iter()
        .map(|k| {
            // The opening has taken the outermost pixels of rounded parts: they belong to the body again.
            let near = grown(&core[k], [nx, ny], [1, 1], true);
            let mut body: Vec<bool> = dense(k).iter().zip(near).map(|(&d, n)| d && n).collect();
            runs::keep_parts_with(&mut body, &core[k], [nx, ny]);
            runs::fill_holes(&mut body, [nx, ny]);
            let contours = plane_contours(hu, k, &body, threshold);
            tell().then_some(contours)
        })
        .collect();
    Some(planes?.into_iter().flatten().collect())
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

/// Grows what is `on` by a rectangle of `2 reach + 1` pixels a side, or shrinks it (grows what is not); beyond the
/// plane counts as the pixels at its border. One axis after the other.
fn grown(bits: &[bool], size: [usize; 2], reach: [usize; 2], on: bool) -> Vec<bool> {
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
mod tests {
    use super::super::{Grid, Mask};
    use super::*;
    use std::f64::consts::PI;
    use std::sync::Arc;

    const SEMI_X: f64 = 90.0;
    const SEMI_Y: f64 = 60.0;

    /// An elliptic body (0 HU) with two lungs, blurred at the skin, lying on the 4 mm shell of a hollow couch that it
    /// touches, and a small rod beside it.
    fn phantom() -> Volume<f32> {
        let planes: Vec<f64> = (0..8).map(|k| 3.0 * f64::from(k)).collect();
        let grid =
            Grid::new(DVec3::new(-150.0, -120.0, 40.0), DVec3::X, DVec3::Y, [1.5, 1.5], [201, 161], &planes)
                .expect("a valid grid");
        let mut data = Vec::new();
        for k in 0..8 {
            for j in 0..161 {
                for i in 0..201 {
                    let p = grid.centre_mm(i, j, k);
                    let ellipse = ((p.x / SEMI_X).powi(2) + (p.y / SEMI_Y).powi(2)).sqrt();
                    // Distance from the skin, near enough: mm inwards.
                    let inwards = (1.0 - ellipse) * (p.x * p.x + p.y * p.y).sqrt() / ellipse.max(1e-9);
                    let lung = (((p.x.abs() - 40.0) / 25.0).powi(2) + (p.y / 35.0).powi(2)) < 1.0;
                    let couch_box = |m: f64| p.x.abs() < 130.0 - m && (p.y - 78.0).abs() < 20.0 - m;
                    let couch = couch_box(0.0) && !couch_box(4.0);
                    let rod = (p.x + 120.0).powi(2) + (p.y + 80.0).powi(2) < 64.0;
                    let body = if lung { -800.0 } else { (-500.0 + 250.0 * inwards).clamp(-1000.0, 0.0) };
                    data.push(if couch || rod { body.max(-100.0) } else { body } as f32);
                }
            }
        }
        Volume::new(Arc::new(grid), data)
    }

    #[test]
    fn the_body_is_outlined_without_couch_and_with_its_lungs() {
        let hu = phantom();
        let contours = body_contours(&hu, -500.0, &|_| true).expect("not stopped");
        assert_eq!(contours.len(), 8, "one a plane");
        let slices: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        let mask = Mask::from_contours(hu.grid(), &slices, &|_| true).expect("a mask");
        let want = PI * SEMI_X * SEMI_Y * 24.0 / 1000.0;
        // A little more: of the couch stays what the body rests on.
        let off = mask.volume_cm3() / want - 1.0;
        assert!((0.0..0.012).contains(&off), "{} for {want}", mask.volume_cm3());
        // Away from the couch the skin is where the interpolated threshold says, to a tenth of a voxel.
        for p in contours[3].iter().filter(|p| p.y < 40.0) {
            let ellipse = ((p.x / SEMI_X).powi(2) + (p.y / SEMI_Y).powi(2)).sqrt();
            assert!((ellipse - 1.0).abs() * SEMI_Y < 0.2, "{p}");
        }
    }

    #[test]
    fn nothing_dense_has_no_outline_and_a_stop_is_heeded() {
        let hu = phantom();
        assert_eq!(body_contours(&hu, 3000.0, &|_| true), Some(Vec::new()));
        assert_eq!(body_contours(&hu, -500.0, &|_| false), None);
    }
}
