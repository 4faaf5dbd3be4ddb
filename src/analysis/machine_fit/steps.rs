//! The steps of a fit: derivatives by coarse doses, the model's best step, and the finer dose that judges it.

use super::model::Model;
use super::tank::Setup;
use super::{FitContext, FitError, FitSettings, Sampling, Targets, solve};
use physics::{Machine, Parameter};

/// The farthest that a parameter moves in a round, in units of what is believed of it.
const FARTHEST_STEP: f64 = 2.0;
/// Step of the derivatives, in the same units.
const DERIVATIVE_STEP: f64 = 0.25;

/// A fit under way.
pub struct Run<'a> {
    pub targets: &'a Targets<'a>,
    pub settings: &'a FitSettings,
    pub context: &'a FitContext<'a>,
    pub doses: usize,
    /// Work done, and the most that may be needed with the comparison at the end, in units of [`Sampling::work`].
    pub done: f64,
    pub most: f64,
}

/// A step that gained.
pub struct Step {
    pub values: Vec<f64>,
    pub photons: Vec<f64>,
    pub cost: f64,
}

impl Run<'_> {
    pub fn photons(
        &mut self,
        machine: &Machine,
        sampling: &Sampling,
    ) -> Result<Vec<f64>, FitError> {
        self.photons_of(machine, sampling, &|_| true)
    }

    fn photons_of(
        &mut self,
        machine: &Machine,
        sampling: &Sampling,
        computed: &dyn Fn(&Setup) -> bool,
    ) -> Result<Vec<f64>, FitError> {
        let layout = self.targets.layout;
        let count = layout.setups.iter().filter(|s| computed(s)).count();
        let control = &self.context.control.child();
        let photons = layout.photons(machine, sampling, computed, self.context.device, control)?;
        self.doses += count;
        self.done += count as f64 * sampling.work();
        self.context
            .control
            .report((self.done / self.most).min(1.0) as f32);
        Ok(photons)
    }

    /// Every round with its first step, the last step and the comparison.
    pub fn most_work(&self, parameters: &[Parameter]) -> f64 {
        let FitSettings {
            rough,
            fine,
            last,
            rounds,
        } = *self.settings;
        let setups = &self.targets.layout.setups;
        let following: usize = parameters
            .iter()
            .map(|p| setups.iter().filter(|s| s.follows(*p)).count())
            .sum();
        let derivatives = (setups.len() + following) as f64;
        let (count, rounds) = (setups.len() as f64, rounds as f64);
        rounds * (derivatives * rough.work() + count * fine.work())
            + count * (fine.work() + 3.0 * last.work())
    }

    /// Derivatives of the photon doses by each parameter, by coarse doses.
    pub fn columns(
        &mut self,
        parameters: &[Parameter],
        values: &[f64],
    ) -> Result<Vec<Vec<f64>>, FitError> {
        let rough = self.settings.rough;
        let reference = self.photons(&self.targets.machine(parameters, values), &rough)?;
        let mut columns = Vec::new();
        for (k, parameter) in parameters.iter().enumerate() {
            if parameter.is_of_electrons() {
                columns.push(vec![0.0; reference.len()]);
                continue;
            }
            let [low, high] = bounds(*parameter, self.targets.start);
            let step = if values[k] + DERIVATIVE_STEP <= high || values[k] - DERIVATIVE_STEP < low {
                DERIVATIVE_STEP
            } else {
                -DERIVATIVE_STEP
            };
            let mut shifted = values.to_vec();
            shifted[k] = (shifted[k] + step).clamp(low, high);
            let step = shifted[k] - values[k];
            if step == 0.0 {
                columns.push(vec![0.0; reference.len()]);
                continue;
            }
            let machine = self.targets.machine(parameters, &shifted);
            let photons = self.photons_of(&machine, &rough, &|setup| setup.follows(*parameter))?;
            // Set-ups that were not computed are 0.
            let derivatives = photons.iter().zip(&reference).map(|(photons, reference)| {
                if *photons == 0.0 {
                    0.0
                } else {
                    (photons - reference) / step
                }
            });
            columns.push(derivatives.collect());
            (self.context.tell)(&format!("  {} done", parameter.word()));
        }
        Ok(columns)
    }

    /// The model's best step, or a part of it, that a fine dose confirms; `None` where none gains.
    pub fn step(
        &mut self,
        model: &Model<'_>,
        previous_cost: f64,
        sampling: &Sampling,
        shares: &[f64],
    ) -> Result<Option<Step>, FitError> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for (parameter, value) in model.parameters.iter().zip(&model.values) {
            let [low, high] = bounds(*parameter, self.targets.start);
            lower.push(low.max(value - FARTHEST_STEP));
            upper.push(high.min(value + FARTHEST_STEP));
        }
        let best = solve::solve(model, lower, upper).map_err(FitError::Solver)?;
        for share in shares {
            let values: Vec<f64> = model
                .values
                .iter()
                .zip(&best)
                .map(|(value, best)| value + share * (best - value))
                .collect();
            let photons =
                self.photons(&self.targets.machine(model.parameters, &values), sampling)?;
            let columns = Vec::new();
            let trial = Model {
                targets: model.targets,
                parameters: model.parameters,
                values,
                photons,
                columns,
            };
            let cost = trial.cost();
            if cost < previous_cost {
                return Ok(Some(Step {
                    values: trial.values,
                    photons: trial.photons,
                    cost,
                }));
            }
        }
        Ok(None)
    }
}

/// Bounds of a parameter in units of belief from its start.
fn bounds(parameter: Parameter, start: &Machine) -> [f64; 2] {
    let (allowed, begin) = (parameter.allowed(), parameter.start(start).unwrap_or(0.0));
    [
        (allowed.low - begin) / allowed.believed,
        (allowed.high - begin) / allowed.believed,
    ]
}
