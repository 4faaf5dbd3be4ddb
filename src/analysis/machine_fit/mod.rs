//! A machine fitted to measured water-tank data.
//!
//! 1. [`tank`]: one dose a set-up by the engine itself, read at the places of measurement.
//! 2. Derivatives by coarse doses, one for each parameter that moves photons ([`steps`]); with them the best step of all
//!    parameters together without another dose ([`model`], [`solve`]).
//! 3. A finer dose judges the step, which is halved where it is none. The steps end where they gain less than 1 %.
//! 4. The text of the machine file is read back, and that machine is computed as plans are and compared ([`FitJob`]).
//!
//! Parameters that the data leave open stay where the starting machine has them ([`Parameter::allowed`]); output factors that
//! were not measured are held there ([`held`]).

mod compare;
mod coverage;
mod file;
mod held;
mod job;
mod model;
mod solve;
mod steps;
mod tank;

pub use compare::{
    COLUMNS, CalibrationReport, CurveReport, FactorReport, LOCAL, PointReport, Region, Report,
    tolerances,
};
pub use coverage::{MachinePart, Verdict};
pub use file::{Provenance, line as parameter_line, machine_text};
pub use held::HeldFactor;
pub use job::{FitJob, FittedMachine, TankFiles, TankRead, compare_files};

use compare::Prepared;
use engine::dose::{DoseError, Quality};
use engine::{Compute, JobControl};
use files::measured::{FieldEdges, MeasuredCurve, MeasuredError, OutputFactors, Scan, ScanAxis};
use held::HELD_MM;
use model::{Model, Targets};
use physics::{Calibration, Machine, MachineError, Parameter};
use serde::Serialize;
use steps::Run;
use tank::Layout;
use thiserror::Error;

/// A round that gains less is the last.
const LEAST_GAIN: f64 = 0.01;
/// Parameters of which the data say less than this part of what is believed stay where they are.
const LEAST_KNOWLEDGE: f64 = 0.2;

/// Largest ratio, either way, of the measured dose per MU to the starting machine's; a larger one is of another unit. Conventions of
/// the monitor, 1 cGy at the depth of the maximum or at 10 cm, differ by 1.6 at 6 MV.
const MOST_CALIBRATION_RATIO: f64 = 2.0;

/// Why there is no fit.
#[derive(Debug, Error)]
pub enum FitError {
    #[error(transparent)]
    Dose(#[from] DoseError),
    #[error(transparent)]
    Data(#[from] MeasuredError),
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("{file} is given for its {kind}s: it has no {kind}")]
    Lacks { file: String, kind: &'static str },
    #[error("there is nothing to fit to: give depth doses, profiles or output factors")]
    NoData,
    #[error("nothing is left to fit: {0}")]
    NoParameter(String),
    #[error(
        "the machine '{0}' has no calibration in MU, and so neither output factors nor electrons; start from another"
    )]
    Uncalibrated(String),
    #[error(
        "the {curve} is of a field bounded by leaves, and the machine '{machine}' has none: name its leaves (mlc)"
    )]
    NoLeaves { curve: String, machine: String },
    #[error(
        "the measured dose per MU ({measured} Gy, gy_per_mu of the output factors) is {ratio:.3} times the {computed:.5} Gy of the machine \
         '{start}' there: look at its unit (Gy for one MU) and place; where it is right, start from a machine that is calibrated near it"
    )]
    Calibration {
        measured: f64,
        computed: f64,
        ratio: f64,
        start: String,
    },
    #[error(
        "the fit did not come to an end: {0}; fix a parameter with --fix, or start from a machine nearer to the data"
    )]
    Solver(String),
}

/// Measured data of one beam.
#[derive(Clone, Debug, Default)]
pub struct TankData {
    pub curves: Vec<MeasuredCurve>,
    pub factors: Option<OutputFactors>,
}

/// Voxels and directions of the doses of the tank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Along a profile, down the beam, and across both, mm.
    pub along_mm: f64,
    pub depth_mm: f64,
    pub across_mm: f64,
    /// Water beside the field, mm.
    pub margin_mm: f64,
    pub quality: Quality,
}

impl Sampling {
    /// Work of a dose, up to a common factor.
    fn work(&self) -> f64 {
        self.quality.directions() as f64 / (self.along_mm * self.depth_mm * self.across_mm)
    }

    /// As plans are computed in the end.
    pub const FULL: Self = Self {
        quality: Quality::Full,
        ..Self::FINE
    };
    /// Sampling of the steps of a fit.
    pub const FINE: Self = Self {
        along_mm: 2.5,
        depth_mm: 2.5,
        across_mm: 5.0,
        margin_mm: 100.0,
        quality: Quality::Fast,
    };
    /// Sampling of derivatives.
    pub const ROUGH: Self = Self {
        along_mm: 2.5,
        depth_mm: 5.0,
        across_mm: 10.0,
        margin_mm: 60.0,
        quality: Quality::Preview,
    };
}

/// How much work a fit takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitSettings {
    pub rough: Sampling,
    pub fine: Sampling,
    pub last: Sampling,
    pub rounds: usize,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            rough: Sampling::ROUGH,
            fine: Sampling::FINE,
            last: Sampling::FULL,
            rounds: 5,
        }
    }
}

/// Device, cancellation and progress of a fit; progress is a fraction of the largest possible work.
#[derive(Clone, Copy)]
pub struct FitContext<'a> {
    pub device: &'a Compute,
    pub control: &'a JobControl,
    /// Called with a line for each stage.
    pub tell: &'a dyn Fn(&str),
}

/// Outcome of a fit for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    Fitted,
    /// At an end of its range: the data ask for more.
    AtBound,
    /// By the user.
    Fixed,
    /// The data say too little of it.
    Undetermined,
    /// Moved so that the output factors, which were not measured, stay as the starting machine has them.
    Held,
    /// Nothing was measured that it acts on, or the machine lacks the part.
    NotMeasured,
}

/// A parameter after the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedParameter {
    pub parameter: Parameter,
    pub start: f64,
    pub value: f64,
    /// Standard deviation that data and belief leave.
    pub uncertainty: Option<f64>,
    pub standing: Standing,
}

/// A fitted machine.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Before it is rounded to the text of a file.
    pub machine: Machine,
    pub parameters: Vec<FittedParameter>,
    pub rounds: usize,
    /// Doses computed, of one set-up each.
    pub doses: usize,
    /// The calibration is one that was measured with the output factors.
    pub calibrated: bool,
    /// Sums of the weighed squares before and after.
    pub cost: [f64; 2],
    /// Output factors held at the values of the starting machine; none where factors were measured.
    pub held: Vec<HeldFactor>,
}

impl TankData {
    /// Whether a factor was measured of a field other than the reference.
    fn has_factors(&self) -> bool {
        self.factors.as_ref().is_some_and(|measured| {
            measured
                .factors
                .iter()
                .any(|f| f.field_mm != measured.reference_mm)
        })
    }

    /// Whether leaves bound the field of a profile along their travel, X.
    fn has_leaf_edges(&self) -> bool {
        self.curves.iter().any(|curve| {
            curve.edges == FieldEdges::Leaves
                && matches!(
                    curve.scan,
                    Scan::Profile {
                        axis: ScanAxis::Crossline,
                        ..
                    }
                )
        })
    }

    fn profiles(&self, along: ScanAxis) -> impl Iterator<Item = &MeasuredCurve> {
        self.curves
            .iter()
            .filter(move |c| matches!(c.scan, Scan::Profile { axis, .. } if axis == along))
    }

    /// Half the side of the widest field with a profile along an axis, mm at the isocentre plane.
    fn half_width_mm(&self, axis: ScanAxis) -> f64 {
        self.profiles(axis)
            .map(|c| 0.5 * c.field_mm[usize::from(axis == ScanAxis::Inline)])
            .fold(0.0, f64::max)
    }

    /// Whether a measured dose depends on a parameter.
    fn determines(&self, parameter: Parameter) -> bool {
        let widest_mm = self
            .half_width_mm(ScanAxis::Crossline)
            .max(self.half_width_mm(ScanAxis::Inline));
        let has_depth_dose = self.curves.iter().any(|c| c.scan == Scan::Depth);
        match parameter {
            Parameter::SpectrumSlope | Parameter::SpectrumFilter => has_depth_dose,
            Parameter::Softening => widest_mm >= 50.0,
            Parameter::FocalX => {
                widest_mm > 0.0 && self.profiles(ScanAxis::Crossline).next().is_some()
            }
            Parameter::FocalY => self.profiles(ScanAxis::Inline).next().is_some(),
            Parameter::ExtraFocalShare | Parameter::ExtraFocalSigma => true,
            Parameter::ElectronShare | Parameter::ElectronFalloff | Parameter::ElectronSigma => {
                has_depth_dose
            }
            Parameter::LeafOffset => self.has_leaf_edges(),
            _ => parameter
                .node_mm()
                .is_some_and(|node| widest_mm >= node - 25.0),
        }
    }

    fn check(&self, machine: &Machine) -> Result<(), FitError> {
        if self.curves.is_empty() && self.factors.is_none() {
            return Err(FitError::NoData);
        }
        if matches!(machine.calibration, Calibration::PhotonFluence {}) {
            return Err(FitError::Uncalibrated(machine.name.clone()));
        }
        let by_leaves = self
            .curves
            .iter()
            .find(|curve| curve.edges == FieldEdges::Leaves);
        if let Some(curve) = by_leaves.filter(|_| machine.leaves.is_none()) {
            return Err(FitError::NoLeaves {
                curve: curve.label(),
                machine: machine.name.clone(),
            });
        }
        Ok(())
    }

    /// The machine with the calibration that was measured with the output factors, where it was.
    pub fn calibrated(&self, machine: &Machine) -> Machine {
        let measured = self
            .factors
            .as_ref()
            .and_then(|f| f.gy_per_mu.map(|gy_per_mu| (f, gy_per_mu)));
        let Some((factors, gy_per_mu)) = measured else {
            return machine.clone();
        };
        let (field_mm, ssd_mm, depth_mm) = (factors.reference_mm, factors.ssd_mm, factors.depth_mm);
        let calibration = Calibration::Reference {
            field_mm,
            ssd_mm,
            depth_mm,
            gy_per_mu,
        };
        Machine {
            calibration,
            ..machine.clone()
        }
    }

    fn prepared(&self, sad_mm: f64) -> Vec<Prepared> {
        self.curves
            .iter()
            .map(|curve| Prepared::new(curve, sad_mm))
            .collect()
    }
}

/// Compares a machine, computed as a plan is, with measured data.
///
/// # Errors
/// [`FitError`].
pub fn compare(
    machine: &Machine,
    data: &TankData,
    sampling: &Sampling,
    context: &FitContext<'_>,
) -> Result<Report, FitError> {
    data.check(machine)?;
    let layout = Layout::new(data, &machine.calibration);
    (context.tell)(&format!(
        "comparing at {} quality: {} doses",
        sampling.quality.word(),
        layout.setups.len()
    ));
    let doses = layout.doses(
        machine,
        sampling,
        &|_| true,
        context.device,
        context.control,
    )?;
    Ok(Report::new(
        data,
        machine,
        &layout,
        &data.prepared(machine.sad_mm),
        &doses,
    ))
}

/// Fits a machine to measured data, all but the parameters that are fixed.
///
/// # Errors
/// [`FitError`].
pub fn fit(
    start: &Machine,
    data: &TankData,
    fixed: &[Parameter],
    settings: &FitSettings,
    context: &FitContext<'_>,
) -> Result<Fit, FitError> {
    data.check(start)?;
    let calibrated = data.calibrated(start).calibration != start.calibration;
    let start = &if calibrated {
        carried_over(start, data, settings, context)?
    } else {
        start.clone()
    };
    let standings = standings(start, data, fixed);
    let fitted_parameters: Vec<Parameter> = standings
        .iter()
        .filter(|(_, s)| *s == Standing::Fitted)
        .map(|(p, _)| *p)
        .collect();
    let mut layout = Layout::new(data, &start.calibration);
    if standings.iter().any(|(_, s)| *s == Standing::Held) {
        layout.hold(start.sad_mm);
    }
    let prepared = data.prepared(start.sad_mm);
    let targets = |sampling: &Sampling| {
        let held = held::factors_of(start, &layout, sampling, context)?;
        Ok::<_, FitError>(Targets {
            data,
            layout: &layout,
            prepared: &prepared,
            start,
            held,
        })
    };
    let (last_targets, targets) = (targets(&settings.last)?, targets(&settings.fine)?);
    let mut run = Run {
        targets: &targets,
        settings,
        context,
        doses: 0,
        done: 0.0,
        most: f64::INFINITY,
    };
    let mut parameters: Vec<Parameter> = standings
        .iter()
        .filter(|(_, s)| matches!(s, Standing::Fitted | Standing::Held))
        .map(|(p, _)| *p)
        .collect();
    if fitted_parameters.is_empty() {
        return Err(FitError::NoParameter(
            "every parameter is fixed, or nothing was measured that it acts on".to_owned(),
        ));
    }
    run.most = run.most_work(&parameters);
    let mut values = vec![0.0; parameters.len()];
    let mut photons = run.photons(&start.adjusted(&[]), &settings.fine)?;
    let mut cost = [f64::NAN; 2];
    let (mut rounds, mut uncertainties, mut columns) = (0, Vec::new(), Vec::new());
    while rounds < settings.rounds {
        rounds += 1;
        (context.tell)(&format!("round {rounds}: {} parameters", parameters.len()));
        columns = run.columns(&parameters, &values)?;
        if rounds == 1 {
            let initial = Model {
                targets: &targets,
                parameters: &parameters,
                values,
                photons,
                columns,
            };
            let (knowledge, _) = initial.knowledge();
            let keep: Vec<bool> = knowledge.iter().map(|k| *k >= LEAST_KNOWLEDGE).collect();
            (parameters, values, photons, columns) = initial.keep(&keep);
        }
        if !fitted_parameters.iter().any(|p| parameters.contains(p)) {
            return Err(FitError::NoParameter(
                "the data determine no parameter".to_owned(),
            ));
        }
        let model = Model {
            targets: &targets,
            parameters: &parameters,
            values,
            photons,
            columns,
        };
        let previous_cost = model.cost();
        uncertainties = model.knowledge().1;
        if rounds == 1 {
            cost = [previous_cost; 2];
        }
        let step = run.step(&model, previous_cost, &settings.fine, &[1.0, 0.5, 0.25])?;
        (values, photons, columns) = (model.values, model.photons, model.columns);
        let Some(step) = step else { break };
        (values, photons) = (step.values, step.photons);
        cost[1] = step.cost;
        (context.tell)(&format!(
            "  weighed sum of squares {:.1}, was {previous_cost:.1}",
            step.cost
        ));
        if previous_cost - step.cost < LEAST_GAIN * previous_cost {
            break;
        }
    }
    if settings.last != settings.fine {
        // Few directions misjudge small fields: a last step is to the doses of the comparison.
        (context.tell)(&format!(
            "last step, at {} quality",
            settings.last.quality.word()
        ));
        let last_photons = run.photons(&targets.machine(&parameters, &values), &settings.last)?;
        let model = Model {
            targets: &last_targets,
            parameters: &parameters,
            values,
            photons: last_photons,
            columns,
        };
        let previous_cost = model.cost();
        let step = run.step(&model, previous_cost, &settings.last, &[1.0])?;
        cost[1] = step.as_ref().map_or(previous_cost, |step| step.cost);
        (values, photons) = step.map_or((model.values, model.photons), |step| {
            (step.values, step.photons)
        });
    }
    let held = HELD_MM
        .into_iter()
        .zip(&last_targets.held)
        .zip(layout.held_factors(&photons));
    let held = held
        .map(|((field_mm, start), fitted)| HeldFactor {
            field_mm,
            start: *start,
            fitted,
        })
        .collect();
    let fitted = targets.natural(&parameters, &values);
    let parameters = self::fitted_parameters(start, &standings, &fitted, &uncertainties);
    Ok(Fit {
        machine: start.adjusted(&fitted),
        parameters,
        rounds,
        doses: run.doses,
        calibrated,
        cost,
        held,
    })
}

/// The machine with the measured calibration and the same dose of electrons: their share is of the dose at the calibration depth.
///
/// # Errors
/// [`FitError::Calibration`]: the measured dose per MU is of another unit than the starting machine's.
fn carried_over(
    start: &Machine,
    data: &TankData,
    settings: &FitSettings,
    context: &FitContext<'_>,
) -> Result<Machine, FitError> {
    let mut machine = data.calibrated(start);
    let factors_only = TankData {
        curves: Vec::new(),
        factors: data.factors.clone(),
    };
    let layout = Layout::new(&factors_only, &start.calibration);
    let doses = layout.doses(
        start,
        &settings.fine,
        &|_| true,
        context.device,
        &context.control.child(),
    )?;
    let start_gy = layout.calibration.map_or(0.0, |place| doses[place]);
    let reference_gy = doses[layout.reference];
    if let Some(measured) = data.factors.as_ref().and_then(|f| f.gy_per_mu) {
        let ratio = measured / reference_gy;
        if !(MOST_CALIBRATION_RATIO.recip()..=MOST_CALIBRATION_RATIO).contains(&ratio) {
            return Err(FitError::Calibration {
                measured,
                computed: reference_gy,
                ratio,
                start: start.name.clone(),
            });
        }
    }
    let factor = start_gy * calibration_ssd_mm(start).powi(2)
        / (reference_gy * calibration_ssd_mm(&machine).powi(2));
    if let Some(electrons) = machine.electrons.as_mut().filter(|_| factor.is_finite()) {
        electrons.surface_share *= factor;
    }
    Ok(machine)
}

fn calibration_ssd_mm(machine: &Machine) -> f64 {
    match machine.calibration {
        Calibration::Reference { ssd_mm, .. } => ssd_mm,
        Calibration::PhotonFluence {} => machine.sad_mm,
    }
}

/// Whether a parameter moves output factors by head scatter.
fn is_head_scatter(parameter: Parameter) -> bool {
    matches!(
        parameter,
        Parameter::ExtraFocalShare | Parameter::ExtraFocalSigma
    )
}

/// Which parameters the data act on, and which are fixed.
fn standings(start: &Machine, data: &TankData, fixed: &[Parameter]) -> Vec<(Parameter, Standing)> {
    Parameter::ALL
        .into_iter()
        .map(|parameter| {
            let standing = match parameter.start(start) {
                _ if fixed.contains(&parameter) => Standing::Fixed,
                Some(_) if is_head_scatter(parameter) && !data.has_factors() => Standing::Held,
                Some(_) if data.determines(parameter) => Standing::Fitted,
                _ => Standing::NotMeasured,
            };
            (parameter, standing)
        })
        .collect()
}

fn fitted_parameters(
    start: &Machine,
    standings: &[(Parameter, Standing)],
    values: &[(Parameter, f64)],
    uncertainties: &[f64],
) -> Vec<FittedParameter> {
    let fitted_parameters = standings.iter().filter_map(|(parameter, standing)| {
        let begin = parameter.start(start)?;
        let fitted = values.iter().position(|(p, _)| p == parameter);
        let allowed = parameter.allowed();
        Some(match fitted {
            Some(k) => {
                let value = values[k].1;
                let at_bound = [allowed.low, allowed.high]
                    .iter()
                    .any(|bound| (value - bound).abs() < 1e-3 * allowed.believed);
                FittedParameter {
                    parameter: *parameter,
                    start: begin,
                    value,
                    uncertainty: uncertainties.get(k).map(|u| u * allowed.believed),
                    standing: if at_bound {
                        Standing::AtBound
                    } else {
                        *standing
                    },
                }
            }
            None => FittedParameter {
                parameter: *parameter,
                start: begin,
                value: begin,
                uncertainty: None,
                standing: if *standing == Standing::Fitted {
                    Standing::Undetermined
                } else {
                    *standing
                },
            },
        })
    });
    fitted_parameters.collect()
}

impl Model<'_> {
    /// Parameters, values, photons and derivatives of those that are kept.
    fn keep(self, keep: &[bool]) -> (Vec<Parameter>, Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
        let parameters = kept(self.parameters.iter().copied(), keep);
        (
            parameters,
            kept(self.values, keep),
            self.photons,
            kept(self.columns, keep),
        )
    }
}

fn kept<T>(items: impl IntoIterator<Item = T>, keep: &[bool]) -> Vec<T> {
    items
        .into_iter()
        .zip(keep)
        .filter(|(_, keep)| **keep)
        .map(|(item, _)| item)
        .collect()
}
