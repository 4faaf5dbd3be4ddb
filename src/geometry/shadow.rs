//! The silhouette of a structure as pixels, for pictures that are drawn without a graphics card.

use super::{BeamFrame, Hull};

/// A square of the isocentre plane round the axis: x of the device to the right, y up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowFrame {
    /// From the axis to each side, mm.
    pub half_mm: f64,
    /// Pixels along a side.
    pub pixels: usize,
}

impl ShadowFrame {
    /// Column and row of a place, whole at the centres of pixels; the first row is the upper one.
    fn pixel_of(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [x, -y].map(|mm| (mm / self.half_mm + 1.0) * 0.5 * self.pixels as f64 - 0.5)
    }
}

impl Hull {
    /// Whether the ray from the beam's source through the centre of each pixel meets the structure, row by row. Parts at the source
    /// or behind it have no shadow.
    ///
    /// A ray meets a prism where it meets one of its faces: the shadows of both ends and all sides together are the prism's.
    pub fn shadow(&self, frame: &BeamFrame, square: ShadowFrame) -> Vec<bool> {
        let mut shadow = vec![false; square.pixels * square.pixels];
        let seen = |p| {
            frame
                .project(p)
                .map(|(on_plane, _)| square.pixel_of(on_plane))
        };
        for slab in self.prisms() {
            let mut ends = [Vec::new(), Vec::new()];
            for ring in slab {
                for [low, high] in &ring {
                    let corners: Option<Vec<[f64; 2]>> = [low[0], low[1], high[1], high[0]]
                        .map(seen)
                        .into_iter()
                        .collect();
                    corners
                        .into_iter()
                        .for_each(|side| fill(&mut shadow, square.pixels, &[side]));
                }
                for (end, end_index) in ends.iter_mut().zip([0, 1]) {
                    end.extend(
                        ring.iter()
                            .map(|side| seen(side[end_index][1]))
                            .collect::<Option<Vec<_>>>(),
                    );
                }
            }
            ends.iter()
                .for_each(|rings| fill(&mut shadow, square.pixels, rings));
        }
        shadow
    }
}

/// Fills the pixels whose centres lie within an odd number of rings.
fn fill(pixels: &mut [bool], side: usize, rings: &[Vec<[f64; 2]>]) {
    let rows = rings
        .iter()
        .flatten()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], p| {
            [low.min(p[1]), high.max(p[1])]
        });
    let (first, last) = (rows[0].ceil().max(0.0), rows[1].min(side as f64 - 1.0));
    let mut row = first;
    let mut crossings = Vec::new();
    while row <= last {
        crossings.clear();
        for ring in rings {
            let previous_points = ring.iter().cycle().skip(ring.len().saturating_sub(1));
            for ([x0, y0], [x1, y1]) in previous_points.zip(ring) {
                if (*y0 <= row) != (*y1 <= row) {
                    crossings.push(x0 + (row - y0) / (y1 - y0) * (x1 - x0));
                }
            }
        }
        crossings.sort_by(f64::total_cmp);
        let line = &mut pixels[row as usize * side..][..side];
        for pair in crossings.chunks_exact(2) {
            let [from, to] = [pair[0], pair[1]].map(|x| x.ceil().clamp(0.0, side as f64) as usize);
            line[from..to].fill(true);
        }
        row += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, PatientPosition, sphere_contours};
    use glam::DVec3;
    use std::f64::consts::{PI, TAU};

    const SQUARE: ShadowFrame = ShadowFrame {
        half_mm: 80.0,
        pixels: 320,
    };

    fn area_mm2(shadow: &[bool]) -> f64 {
        let pixel = 2.0 * SQUARE.half_mm / SQUARE.pixels as f64;
        shadow.iter().filter(|hit| **hit).count() as f64 * pixel * pixel
    }

    fn frame(gantry: f64, collimator: f64, couch: f64, sad_mm: f64) -> BeamFrame {
        BeamFrame::new(
            PatientPosition::Hfs,
            gantry,
            collimator,
            couch,
            DVec3::ZERO,
            sad_mm,
        )
    }

    /// A sphere round the isocentre throws a disc of radius r d / sqrt(d^2 - r^2) from any side.
    #[test]
    fn the_shadow_of_a_sphere_is_a_disc() {
        let grid = Grid::axis_aligned(DVec3::splat(-60.0), DVec3::splat(1.0), [121; 3]).unwrap();
        let contours = sphere_contours(&grid, DVec3::ZERO, 40.0);
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        let hull = Hull::new(&contours, Some(&grid)).unwrap();
        for (gantry, collimator, couch, sad_mm) in [
            (0.0, 0.0, 0.0, 1000.0),
            (37.0, 20.0, 0.0, 1000.0),
            (90.0, 0.0, 90.0, 300.0),
            (60.0, 45.0, 70.0, 500.0),
        ] {
            let radius = 40.0 * sad_mm / (sad_mm * sad_mm - 1600.0f64).sqrt();
            let got = area_mm2(&hull.shadow(&frame(gantry, collimator, couch, sad_mm), SQUARE));
            let want = PI * radius * radius;
            assert!(
                (got / want - 1.0).abs() < 0.03,
                "{gantry} {couch}: {got} for {want}"
            );
        }
    }

    /// A tube seen along its axis has its bore open, and from the side it is a rectangle. Off the axis its shadow is where the
    /// tube is: to the right of the device at positive x, up at positive y.
    #[test]
    fn the_shadow_of_a_tube_has_its_bore_and_its_place() {
        let grid = Grid::axis_aligned(DVec3::splat(-60.0), DVec3::splat(1.0), [121; 3]).unwrap();
        let rings: Vec<Vec<DVec3>> = (-10..=10)
            .flat_map(|z| [circle(30.0, f64::from(z)), circle(15.0, f64::from(z))])
            .collect();
        let rings: Vec<&[DVec3]> = rings.iter().map(Vec::as_slice).collect();
        let hull = Hull::new(&rings, Some(&grid)).unwrap();
        let far = 1e6;
        let along = area_mm2(&hull.shadow(&frame(90.0, 0.0, 90.0, far), SQUARE));
        let want = PI * (30.0f64.powi(2) - 15.0f64.powi(2));
        assert!((along / want - 1.0).abs() < 0.02, "{along} for {want}");
        let across = area_mm2(&hull.shadow(&frame(0.0, 0.0, 0.0, far), SQUARE));
        assert!((across / (60.0 * 21.0) - 1.0).abs() < 0.02, "{across}");
        // From the front the patient's left and head are at positive x and y of the device.
        let mut aside = frame(0.0, 0.0, 0.0, far);
        aside.isocentre_mm = DVec3::new(-20.0, 0.0, -30.0);
        aside.source_mm += aside.isocentre_mm;
        let shadow = hull.shadow(&aside, SQUARE);
        let [column, row] = SQUARE.pixel_of([20.0, 30.0]);
        assert!(
            (middle_along(|n| n % 320, &shadow) - column).abs() < 1.0
                && (middle_along(|n| n / 320, &shadow) - row).abs() < 1.0
        );
    }

    fn circle(radius: f64, z: f64) -> Vec<DVec3> {
        (0..180)
            .map(|n| {
                DVec3::new(
                    radius * sin_cos_of_step(n).0,
                    radius * sin_cos_of_step(n).1,
                    z,
                )
            })
            .collect()
    }

    fn sin_cos_of_step(n: usize) -> (f64, f64) {
        (TAU * n as f64 / 180.0).sin_cos()
    }

    fn middle_along(along: fn(usize) -> usize, shadow: &[bool]) -> f64 {
        shaded_pixels(shadow).map(|n| along(n) as f64).sum::<f64>()
            / shaded_pixels(shadow).count() as f64
    }

    fn shaded_pixels(shadow: &[bool]) -> impl Iterator<Item = usize> {
        (0..shadow.len()).filter(|n| shadow[*n])
    }
}
