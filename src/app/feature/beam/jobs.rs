//! Apertures fitted to a structure.

use analysis::{FitSettings, fitted, shielded};
use case::{Plan, Structure};
use geometry::{Grid, Hull};
use glam::DVec3;
use std::sync::Arc;

/// Projected edges that are no work to speak of (about 2 ms); more are projected by the worker.
const QUICK_EDGES: usize = 50_000;

/// A plan with other apertures, and the plan that it was made of.
#[derive(Debug)]
pub struct Fitted {
    pub plan: usize,
    pub before: Arc<Plan>,
    pub after: Plan,
    /// Beams that were fitted, by index; none where leaves shield.
    pub fitted: Vec<usize>,
    pub structure: Structure,
    pub how: FitSettings,
    /// Beams that stay as they were, each with the reason.
    pub told: Vec<String>,
}

/// Apertures to be set, on any thread.
pub struct Apertures {
    pub plan: usize,
    pub before: Arc<Plan>,
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
        let points = self.structure.contours.iter().map(|c| c.points_mm.len()).sum::<usize>();
        let seen: usize = self.beams.iter().map(|(n, _)| self.before.beams[*n].control_points.len()).sum();
        3 * points * seen <= QUICK_EDGES
    }

    pub fn done(&self) -> Fitted {
        let mut after = Plan::clone(&self.before);
        let (mut fitted_beams, mut told) = (Vec::new(), Vec::new());
        match hull_of(&self.structure, self.grid.as_deref()) {
            Ok(hull) => {
                for &(n, sad_mm) in &self.beams {
                    let (beam, position) = (&self.before.beams[n], self.before.position);
                    let made = match self.shields {
                        false => fitted(beam, position, sad_mm, &hull, &self.how),
                        true => {
                            let margin = &self.how.margin;
                            let mm = margin.x_mm.into_iter().chain(margin.y_mm).fold(0.0, f64::max);
                            shielded(beam, position, sad_mm, &hull, mm)
                        }
                    };
                    match made {
                        Ok(beam) => {
                            after.beams[n] = beam;
                            fitted_beams.extend((!self.shields).then_some(n));
                        }
                        Err(why) => told.push(format!("Beam {} stays as it was: {why}.", beam.name)),
                    }
                }
            }
            Err(why) => told.push(why),
        }
        Fitted {
            plan: self.plan,
            before: Arc::clone(&self.before),
            after,
            fitted: fitted_beams,
            structure: self.structure.clone(),
            how: self.how,
            told,
        }
    }
}

/// The slabs of a structure, or why there are none.
pub fn hull_of(structure: &Structure, grid: Option<&Grid>) -> Result<Hull, String> {
    let contours: Vec<&[DVec3]> = structure.contours.iter().map(|c| c.points_mm.as_slice()).collect();
    Hull::new(&contours, grid).map_err(|why| format!("{}: {why}.", structure.name))
}
