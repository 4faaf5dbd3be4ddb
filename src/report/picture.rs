//! The pictures of a report, drawn on the CPU: independent of a graphics device and the same on every machine.

use super::pdf::Image;
use analysis::{DifferenceDisplay, FAILING, Side, difference_colour, gamma_colour};
use case::{Dose, Rgb};
use geometry::{AnatomicalPlane, Mask, Volume};
use glam::DVec3;
use std::sync::Arc;

/// Contents of the pictures: volumes, and how they are drawn.
#[derive(Clone)]
pub struct Pictures {
    pub ct: Option<Arc<Volume<f32>>>,
    /// Grey-scale window, HU: from black to white, and its middle.
    pub window_width_hu: f32,
    pub window_level_hu: f32,
    /// A and B; A alone where one dose is shown.
    pub doses: [Option<Arc<Dose>>; 2],
    pub gamma: Option<Arc<Volume<f32>>>,
    /// End of gamma's colour scale.
    pub gamma_end: f64,
    pub plane: AnatomicalPlane,
    /// Patient LPS, mm.
    pub crosshair_mm: DVec3,
    pub outlines: Vec<(Arc<Mask>, Rgb)>,
    /// Isodose levels, percent, highest first.
    pub isodoses: Vec<(f32, Rgb)>,
    /// Opacity of the colourwash, 0 to 1; `None` without one.
    pub wash_opacity: Option<f32>,
    pub difference: DifferenceDisplay,
    /// 100 %, Gy.
    pub reference_gy: Option<f64>,
    /// Lowest and highest corner of the displayed box, mm.
    pub shown_mm: Option<[DVec3; 2]>,
}

/// Subject of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Dose(Side),
    Difference,
    Gamma,
}

impl Pictures {
    /// On another plane through the crosshair.
    pub fn on(&self, plane: AnatomicalPlane) -> Self {
        Self {
            plane,
            ..self.clone()
        }
    }

    /// The isodose levels shown, percent, highest first.
    pub fn levels(&self) -> Vec<(f32, Rgb)> {
        if self.reference_gy.is_some() {
            self.isodoses.clone()
        } else {
            Vec::new()
        }
    }

    /// A picture of the given pixels, fitted to the displayed box.
    pub fn draw(&self, subject: Subject, [width, height]: [u32; 2]) -> Image {
        let [right, down] = self.plane.axes();
        let axis = self.plane.normal_axis();
        let [low, high] = self
            .shown_mm
            .unwrap_or([DVec3::splat(-100.0), DVec3::splat(100.0)]);
        let scale = (extent_along(right, low, high) / f64::from(width))
            .max(extent_along(down, low, high) / f64::from(height))
            * 1.02;
        let mut middle = 0.5 * (low + high);
        middle[axis] = self.crosshair_mm[axis];
        let patient_mm = |x: f64, y: f64| {
            middle
                + right * ((x + 0.5 - 0.5 * f64::from(width)) * scale)
                + down * ((y + 0.5 - 0.5 * f64::from(height)) * scale)
        };
        let mut rgb = Vec::with_capacity((width * height * 3) as usize);
        for y in 0..height {
            for x in 0..width {
                let here_mm = patient_mm(f64::from(x), f64::from(y));
                // The neighbours show where a line passes between two pixels.
                let neighbours_mm = [
                    patient_mm(f64::from(x) + 1.0, f64::from(y)),
                    patient_mm(f64::from(x), f64::from(y) + 1.0),
                ];
                let dash = (x / 3 + y / 3) % 2 == 0;
                rgb.extend(self.pixel(subject, here_mm, neighbours_mm, dash));
            }
        }
        Image { width, height, rgb }
    }

    fn pixel(
        &self,
        subject: Subject,
        here_mm: DVec3,
        neighbours_mm: [DVec3; 2],
        dash: bool,
    ) -> [u8; 3] {
        let low = self.window_level_hu - 0.5 * self.window_width_hu;
        let hu = self.ct.as_ref().and_then(|ct| ct.trilinear(here_mm));
        let grey = hu.map_or(0.0, |hu| {
            ((hu - low) / self.window_width_hu.max(1e-3)).clamp(0.0, 1.0)
        });
        let mut colour = [(grey * 255.0) as u8; 3];
        match subject {
            Subject::Dose(side) => {
                if let Some(dose) = &self.doses[side.index()] {
                    self.dose(
                        &mut colour,
                        &dose.gy,
                        here_mm,
                        neighbours_mm,
                        side == Side::A || dash,
                    );
                }
            }
            Subject::Difference => {
                let [a, b] = self.doses.each_ref().map(|d| {
                    let gy = d.as_ref()?.gy.trilinear(here_mm)?;
                    gy.is_finite().then_some(f64::from(gy))
                });
                let d = &self.difference;
                let value = a.zip(b).and_then(|(a, b)| d.value(a, b, self.reference_gy));
                if let Some(value) = value.filter(|v| v.abs() > d.dead_band) {
                    mix(&mut colour, difference_colour(value / d.end), d.opacity);
                }
            }
            Subject::Gamma => {
                let gamma = |place_mm| {
                    self.gamma
                        .as_ref()
                        .and_then(|g| g.nearest(place_mm))
                        .filter(|g| !g.is_nan())
                };
                if let Some(value) = gamma(here_mm) {
                    mix(
                        &mut colour,
                        gamma_colour(f64::from(value), self.gamma_end),
                        0.7,
                    );
                    if neighbours_mm
                        .into_iter()
                        .any(|b| gamma(b).is_some_and(|g| g > 1.0) != (value > 1.0))
                    {
                        mix(&mut colour, FAILING, 1.0);
                    }
                }
            }
        }
        for (mask, outline_colour) in &self.outlines {
            let inside = |place_mm| mask.holds(place_mm);
            let is_inside = inside(here_mm);
            if neighbours_mm.into_iter().any(|b| inside(b) != is_inside) {
                mix(&mut colour, *outline_colour, 0.9);
            }
        }
        colour
    }

    /// Banded colourwash, and the lines between the bands.
    fn dose(
        &self,
        colour: &mut [u8; 3],
        gy: &Volume<f32>,
        here_mm: DVec3,
        neighbours_mm: [DVec3; 2],
        line: bool,
    ) {
        let Some(reference_gy) = self.reference_gy else {
            return;
        };
        let percent = |place_mm| {
            gy.trilinear(place_mm)
                .filter(|v| v.is_finite())
                .map(|v| 100.0 * f64::from(v) / reference_gy)
        };
        let Some(percent_here) = percent(here_mm) else {
            return;
        };
        let levels = &self.isodoses;
        let reached = |p: f64| {
            levels
                .iter()
                .filter(|(percent, _)| p >= f64::from(*percent))
                .count()
        };
        let top = levels
            .iter()
            .filter(|(percent, _)| percent_here >= f64::from(*percent))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        if let (Some((_, wash)), Some(opacity)) = (top, self.wash_opacity) {
            mix(colour, *wash, f64::from(opacity));
        }
        for other in neighbours_mm.into_iter().filter_map(percent) {
            if line && reached(other) != reached(percent_here) {
                // The line of the highest level between the two.
                let crossed = levels.iter().filter(|(percent, _)| {
                    let p = f64::from(*percent);
                    (percent_here >= p) != (other >= p)
                });
                if let Some((_, line)) = crossed.max_by(|a, b| a.0.total_cmp(&b.0)) {
                    mix(colour, *line, 1.0);
                }
            }
        }
    }
}

fn extent_along(axis: DVec3, low: DVec3, high: DVec3) -> f64 {
    (high - low).dot(axis.abs())
}

fn mix(colour: &mut [u8; 3], Rgb(with): Rgb, share: f64) {
    for (c, w) in colour.iter_mut().zip(with) {
        *c = (f64::from(*c) + (f64::from(w) - f64::from(*c)) * share).round() as u8;
    }
}
