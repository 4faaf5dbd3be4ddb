//! The pictures of a report, drawn on the CPU: independent of a graphics device and the same on every machine.

use crate::state::display::{DoseDisplay, WindowLevel};
use crate::state::{State, ViewKind};
use crate::view::framed_mm;
use ::report::pdf::Image;
use analysis::{DifferenceDisplay, FAILING, Side, difference_colour, gamma_colour};
use case::{Dose, Rgb};
use geometry::{Grid, Mask, Volume};
use glam::DVec3;
use std::sync::Arc;

/// Input of the pictures.
#[derive(Clone)]
pub struct Scenery {
    ct: Option<Arc<Volume<f32>>>,
    window: WindowLevel,
    doses: [Option<Arc<Dose>>; 2],
    gamma: Option<Arc<Volume<f32>>>,
    pub gamma_end: f64,
    pub plane: ViewKind,
    pub crosshair_mm: DVec3,
    outlines: Vec<(Arc<Mask>, Rgb)>,
    display: DoseDisplay,
    pub difference: DifferenceDisplay,
    reference_gy: Option<f64>,
    /// Lowest and highest corner of the displayed box, mm.
    shown_mm: Option<[DVec3; 2]>,
}

/// Subject of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Dose(Side),
    Difference,
    Gamma,
}

impl Scenery {
    pub fn of(state: &State) -> Self {
        let case = state.case();
        let doses = Side::BOTH.map(|side| state.results.side(side).cloned());
        let grid: Option<&Arc<Grid>> = case
            .ct
            .as_ref()
            .map(|ct| ct.hu.grid())
            .or_else(|| doses.iter().flatten().next().map(|d| d.gy.grid()));
        let shown = case.structures.structures.iter().filter(|s| !state.hidden.contains(&s.number));
        let gamma = state.results.gamma().filter(|_| state.results.gamma_failure().is_none());
        Self {
            ct: case.ct.as_ref().map(|ct| ct.hu.clone()),
            window: state.window,
            gamma: gamma.and_then(|(result, ..)| result.maps.first().map(|m| m.gamma.clone())),
            gamma_end: state.compare.gamma.max_gamma,
            plane: state.compare.plane,
            crosshair_mm: state.crosshair_mm,
            outlines: shown.filter_map(|s| Some((state.results.mask(s.number)?.clone(), s.colour))).collect(),
            display: state.dose_display.clone(),
            difference: state.compare.difference,
            reference_gy: state.compare_reference().map(|(gy, _)| gy),
            shown_mm: grid.map(|grid| framed_mm(grid, &case.structures)),
            doses,
        }
    }

    /// Input of pictures of the displayed dose, which takes the place of A.
    pub fn of_displayed(state: &State) -> Self {
        let compared = Self::of(state);
        let case = state.case();
        let dose = state.results.shown_dose().cloned();
        let grid = case.ct.as_ref().map(|ct| ct.hu.grid()).or_else(|| dose.as_ref().map(|d| d.gy.grid()));
        Self {
            shown_mm: grid.map(|grid| framed_mm(grid, &case.structures)),
            doses: [dose, None],
            gamma: None,
            reference_gy: state.reference().map(|(gy, _)| gy),
            ..compared
        }
    }

    /// On another plane through the crosshair.
    pub fn on(&self, plane: ViewKind) -> Self {
        Self { plane, ..self.clone() }
    }

    /// The isodose levels shown, percent, highest first.
    pub fn levels(&self) -> Vec<(f32, Rgb)> {
        let shown = self.display.levels.iter().filter(|l| l.shown);
        if self.reference_gy.is_some() { shown.map(|l| (l.percent, l.colour)).collect() } else { Vec::new() }
    }

    /// A picture of the given pixels, fitted to the displayed box.
    pub fn draw(&self, subject: Subject, [width, height]: [u32; 2]) -> Image {
        let [right, down] = self.plane.axes();
        let axis = self.plane.normal_axis();
        let [low, high] = self.shown_mm.unwrap_or([DVec3::splat(-100.0), DVec3::splat(100.0)]);
        let extent = |axis: DVec3| (high - low).dot(axis.abs());
        let scale = (extent(right) / f64::from(width)).max(extent(down) / f64::from(height)) * 1.02;
        let mut middle = 0.5 * (low + high);
        middle[axis] = self.crosshair_mm[axis];
        let at = |x: f64, y: f64| {
            middle
                + right * ((x + 0.5 - 0.5 * f64::from(width)) * scale)
                + down * ((y + 0.5 - 0.5 * f64::from(height)) * scale)
        };
        let mut rgb = Vec::with_capacity((width * height * 3) as usize);
        for y in 0..height {
            for x in 0..width {
                let here = at(f64::from(x), f64::from(y));
                // The neighbours show where a line passes between two pixels.
                let beside = [at(f64::from(x) + 1.0, f64::from(y)), at(f64::from(x), f64::from(y) + 1.0)];
                let dash = (x / 3 + y / 3) % 2 == 0;
                rgb.extend(self.pixel(subject, here, beside, dash));
            }
        }
        Image { width, height, rgb }
    }

    fn pixel(&self, subject: Subject, here: DVec3, beside: [DVec3; 2], dash: bool) -> [u8; 3] {
        let low = self.window.level_hu - 0.5 * self.window.width_hu;
        let hu = self.ct.as_ref().and_then(|ct| ct.trilinear(here));
        let grey = hu.map_or(0.0, |hu| ((hu - low) / self.window.width_hu.max(1e-3)).clamp(0.0, 1.0));
        let mut colour = [(grey * 255.0) as u8; 3];
        match subject {
            Subject::Dose(side) => {
                if let Some(dose) = &self.doses[side.index()] {
                    self.dose(&mut colour, &dose.gy, here, beside, side == Side::A || dash);
                }
            }
            Subject::Difference => {
                let [a, b] = self.doses.each_ref().map(|d| {
                    let gy = d.as_ref()?.gy.trilinear(here)?;
                    gy.is_finite().then_some(f64::from(gy))
                });
                let d = &self.difference;
                let value = a.zip(b).and_then(|(a, b)| d.value(a, b, self.reference_gy));
                if let Some(value) = value.filter(|v| v.abs() > d.dead_band) {
                    mix(&mut colour, difference_colour(value / d.end), d.opacity);
                }
            }
            Subject::Gamma => {
                let gamma = |at| self.gamma.as_ref().and_then(|g| g.nearest(at)).filter(|g| !g.is_nan());
                if let Some(value) = gamma(here) {
                    mix(&mut colour, gamma_colour(f64::from(value), self.gamma_end), 0.7);
                    let fails = |at| gamma(at).is_some_and(|g| g > 1.0);
                    if beside.into_iter().any(|b| fails(b) != (value > 1.0)) {
                        mix(&mut colour, FAILING, 1.0);
                    }
                }
            }
        }
        for (mask, own) in &self.outlines {
            let inside = |at| mask.holds(at);
            let here = inside(here);
            if beside.into_iter().any(|b| inside(b) != here) {
                mix(&mut colour, *own, 0.9);
            }
        }
        colour
    }

    /// Banded colourwash, and the lines between the bands.
    fn dose(&self, colour: &mut [u8; 3], gy: &Volume<f32>, here: DVec3, beside: [DVec3; 2], line: bool) {
        let Some(reference_gy) = self.reference_gy else { return };
        let percent =
            |at| gy.trilinear(at).filter(|v| v.is_finite()).map(|v| 100.0 * f64::from(v) / reference_gy);
        let Some(own) = percent(here) else { return };
        let levels: Vec<_> = self.display.levels.iter().filter(|l| l.shown).collect();
        let reached = |p: f64| levels.iter().filter(|l| p >= f64::from(l.percent)).count();
        let top = levels
            .iter()
            .filter(|l| own >= f64::from(l.percent))
            .max_by(|a, b| a.percent.total_cmp(&b.percent));
        if let (Some(level), true) = (top, self.display.wash) {
            mix(colour, level.colour, f64::from(self.display.wash_opacity));
        }
        for other in beside.into_iter().filter_map(percent) {
            if line && reached(other) != reached(own) {
                // The line of the highest level between the two.
                let crossed = levels.iter().filter(|l| {
                    let p = f64::from(l.percent);
                    (own >= p) != (other >= p)
                });
                if let Some(level) = crossed.max_by(|a, b| a.percent.total_cmp(&b.percent)) {
                    mix(colour, level.colour, 1.0);
                }
            }
        }
    }
}

fn mix(colour: &mut [u8; 3], Rgb(with): Rgb, share: f64) {
    for (c, w) in colour.iter_mut().zip(with) {
        *c = (f64::from(*c) + (f64::from(w) - f64::from(*c)) * share).round() as u8;
    }
}
