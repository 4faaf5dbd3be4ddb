//! Apertures fitted to a structure.

use analysis::{FitSettings, fitted, shielded};
use case::{Plan, Structure};
use geometry::{Grid, Hull};
use glam::DVec3;
use std::sync::Arc;

/// Projected edges that take about 2 ms; more are projected by the worker.
const QUICK_EDGES: usize = 50_000;

/// A plan with new apertures, and the plan from which it was derived.
#[derive(Debug)]
pub struct Fitted {
    pub plan: usize,
    pub original: Arc<Plan>,
    pub changed: Plan,
    /// Beams that were fitted, by index; none where leaves shield.
    pub beams: Vec<usize>,
    pub structure: Structure,
    pub how: FitSettings,
    /// Reasons why beams stay as they were.
    pub refusals: Vec<String>,
}

/// Apertures to be set, on any thread.
pub struct Apertures {
    pub plan: usize,
    pub original: Arc<Plan>,
    /// By index, each with the source-axis distance of its machine, mm.
    pub beams: Vec<(usize, f64)>,
    pub structure: Structure,
    pub grid: Option<Arc<Grid>>,
    pub how: FitSettings,
    pub shields: bool,
}

impl Apertures {
    /// Whether the window can do it within a frame.
    pub fn is_quick(&self) -> bool {
        let points = self
            .structure
            .contours
            .iter()
            .map(|c| c.points_mm.len())
            .sum::<usize>();
        let projections: usize = self
            .beams
            .iter()
            .map(|(n, _)| self.original.beams[*n].control_points.len())
            .sum();
        3 * points * projections <= QUICK_EDGES
    }

    pub fn done(&self) -> Fitted {
        let mut changed = Plan::clone(&self.original);
        let (mut fitted_beams, mut refusals) = (Vec::new(), Vec::new());
        match hull_of(&self.structure, self.grid.as_deref()) {
            Ok(hull) => {
                for &(n, sad_mm) in &self.beams {
                    let (beam, position) = (&self.original.beams[n], self.original.position);
                    let aperture = match self.shields {
                        false => fitted(beam, position, sad_mm, &hull, &self.how),
                        true => {
                            let margin = &self.how.margin;
                            let mm = margin
                                .x_mm
                                .into_iter()
                                .chain(margin.y_mm)
                                .fold(0.0, f64::max);
                            shielded(beam, position, sad_mm, &hull, mm)
                        }
                    };
                    match aperture {
                        Ok(beam) => {
                            changed.beams[n] = beam;
                            fitted_beams.extend((!self.shields).then_some(n));
                        }
                        Err(why) => {
                            refusals.push(format!("Beam {} stays as it was: {why}.", beam.name))
                        }
                    }
                }
            }
            Err(why) => refusals.push(why),
        }
        Fitted {
            plan: self.plan,
            original: Arc::clone(&self.original),
            changed,
            beams: fitted_beams,
            structure: self.structure.clone(),
            how: self.how,
            refusals,
        }
    }
}

/// The slabs of a structure, or why there are none.
pub fn hull_of(structure: &Structure, grid: Option<&Grid>) -> Result<Hull, String> {
    let contours: Vec<&[DVec3]> = structure
        .contours
        .iter()
        .map(|c| c.points_mm.as_slice())
        .collect();
    Hull::new(&contours, grid).map_err(|why| format!("{}: {why}.", structure.name))
}
