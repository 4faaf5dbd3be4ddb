//! The water tank by the collapsed-cone engine: one dose a set-up, read at the places of measurement.

use super::held::{HELD_DEPTH_MM, HELD_MM, HELD_REFERENCE_MM};
use super::{FitError, Sampling, TankData};
use case::{Bank, Beam, Jaws};
use engine::cccs::beam_dose;
use engine::dose::{DoseRequest, DoseTo};
use engine::{Compute, JobControl, phantom};
use files::measured::{FieldEdges, MeasuredCurve, Scan, ScanAxis};
use geometry::Grid;
use glam::DVec3;
use physics::{Calibration, Fluence, Leaves, Machine, Material, Parameter, exposures};
use std::ops::Range;
use std::sync::Arc;

/// Water below the deepest place, mm: back-scatter is whole from there on.
const BELOW_MM: f64 = 60.0;
/// Depths without a profile need no fine voxels across the beam, mm.
const COARSE_ALONG_MM: f64 = 5.0;
/// Jaws stand so far behind leaves that bound a field, mm at the isocentre plane: as planning systems set them. Assumed.
const JAWS_BEHIND_MM: f64 = 10.0;
/// Closed leaves meet so far under a jaw, mm at the isocentre plane. Assumed.
const CLOSED_UNDER_JAW_MM: f64 = 20.0;

/// One dose computation: a field on a tank, voxels finest along one axis of the beam limiting device.
#[derive(Clone, Debug)]
pub struct Setup {
    pub field_mm: [f64; 2],
    pub edges: FieldEdges,
    pub ssd_mm: f64,
    pub along: ScanAxis,
    pub has_profile: bool,
    deepest_mm: f64,
    widest_mm: f64,
}

/// Place of a measured dose: along the set-up's axis, and the depth, mm.
#[derive(Clone, Copy, Debug)]
struct MeasuredPoint {
    setup: usize,
    position_mm: f64,
    depth_mm: f64,
}

/// All places of a set of data, in order: curves, output factors, their reference, the machine's calibration.
#[derive(Debug)]
pub struct Layout {
    pub setups: Vec<Setup>,
    places: Vec<MeasuredPoint>,
    pub curves: Vec<Range<usize>>,
    pub factors: Range<usize>,
    /// The reference of the output factors, where there are any.
    pub reference: usize,
    pub calibration: Option<usize>,
    /// Factors of the starting machine that are held, their reference behind them; empty where factors were measured.
    held: Range<usize>,
}

impl Layout {
    pub fn new(data: &TankData, calibration: &Calibration) -> Self {
        let mut layout = Self {
            setups: Vec::new(),
            places: Vec::new(),
            curves: Vec::new(),
            factors: 0..0,
            reference: 0,
            calibration: None,
            held: 0..0,
        };
        // Profiles first: depth doses of the same field are read in their set-ups.
        for curve in &data.curves {
            if let Scan::Profile { axis, .. } = curve.scan {
                layout.setup(curve.field_mm, curve.edges, curve.ssd_mm, Some(axis));
            }
        }
        for curve in &data.curves {
            layout.add_curve(curve);
        }
        let begin = layout.places.len();
        if let Some(factors) = &data.factors {
            for factor in &factors.factors {
                layout.on_axis(factor.field_mm, factors.ssd_mm, factors.depth_mm);
            }
            layout.factors = begin..layout.places.len();
            layout.reference = layout.places.len();
            layout.on_axis(factors.reference_mm, factors.ssd_mm, factors.depth_mm);
        }
        if let Calibration::Reference {
            field_mm,
            ssd_mm,
            depth_mm,
            ..
        } = *calibration
        {
            layout.calibration = Some(layout.places.len());
            layout.on_axis(field_mm, ssd_mm, depth_mm);
        }
        layout
    }

    /// Adds the fields whose factors are held; below the end of electrons, so that photons alone are their dose.
    pub fn hold(&mut self, sad_mm: f64) {
        let begin = self.places.len();
        for side in HELD_MM.into_iter().chain([HELD_REFERENCE_MM]) {
            self.on_axis([side; 2], sad_mm - HELD_DEPTH_MM, HELD_DEPTH_MM);
        }
        self.held = begin..self.places.len();
    }

    /// Whether a factor that is held is read in a set-up.
    pub fn is_held(&self, setup: &Setup) -> bool {
        self.places[self.held.clone()]
            .iter()
            .any(|place| std::ptr::eq(&self.setups[place.setup], setup))
    }

    /// Held factors of doses at all places.
    pub fn held_factors(&self, doses: &[f64]) -> Vec<f64> {
        match doses[self.held.clone()].split_last() {
            Some((reference, fields)) => fields
                .iter()
                .map(|d| d / reference.max(f64::MIN_POSITIVE))
                .collect(),
            None => Vec::new(),
        }
    }

    fn setup(
        &mut self,
        field_mm: [f64; 2],
        edges: FieldEdges,
        ssd_mm: f64,
        axis: Option<ScanAxis>,
    ) -> usize {
        let same_setup = self.setups.iter().position(|s| {
            (s.field_mm, s.edges, s.ssd_mm) == (field_mm, edges, ssd_mm)
                && axis.is_none_or(|axis| axis == s.along)
        });
        if let Some(setup) = same_setup {
            return setup;
        }
        let along = axis.unwrap_or(ScanAxis::Crossline);
        let has_profile = axis.is_some();
        self.setups.push(Setup {
            field_mm,
            edges,
            ssd_mm,
            along,
            has_profile,
            deepest_mm: 0.0,
            widest_mm: 0.0,
        });
        self.setups.len() - 1
    }

    fn add(&mut self, place: MeasuredPoint) {
        let setup = &mut self.setups[place.setup];
        setup.deepest_mm = setup.deepest_mm.max(place.depth_mm);
        setup.widest_mm = setup.widest_mm.max(place.position_mm.abs());
        self.places.push(place);
    }

    fn add_curve(&mut self, curve: &MeasuredCurve) {
        let begin = self.places.len();
        let axis = match curve.scan {
            Scan::Depth => None,
            Scan::Profile { axis, .. } => Some(axis),
        };
        let setup = self.setup(curve.field_mm, curve.edges, curve.ssd_mm, axis);
        for [coordinate_mm, _] in &curve.points {
            let (position_mm, depth_mm) = match curve.scan {
                Scan::Depth => (0.0, *coordinate_mm),
                Scan::Profile { depth_mm, .. } => (*coordinate_mm, depth_mm),
            };
            self.add(MeasuredPoint {
                setup,
                position_mm,
                depth_mm,
            });
        }
        self.curves.push(begin..self.places.len());
    }

    fn on_axis(&mut self, field_mm: [f64; 2], ssd_mm: f64, depth_mm: f64) {
        let setup = self.setup(field_mm, FieldEdges::Jaws, ssd_mm, None);
        self.add(MeasuredPoint {
            setup,
            position_mm: 0.0,
            depth_mm,
        });
    }

    /// Photon dose of a machine at all places for the same fluence, without electrons, in arbitrary units. Set-ups that
    /// `computed` refuses keep 0.
    ///
    /// # Errors
    /// [`FitError`] as for any dose.
    pub fn photons(
        &self,
        machine: &Machine,
        sampling: &Sampling,
        computed: &dyn Fn(&Setup) -> bool,
        device: &Compute,
        control: &JobControl,
    ) -> Result<Vec<f64>, FitError> {
        let bare = Machine {
            electrons: None,
            calibration: Calibration::PhotonFluence {},
            ..machine.clone()
        };
        self.doses(&bare, sampling, computed, device, control)
    }

    /// Dose of a machine at all places for one monitor unit.
    ///
    /// # Errors
    /// [`FitError`] as for any dose.
    pub fn doses(
        &self,
        machine: &Machine,
        sampling: &Sampling,
        computed: &dyn Fn(&Setup) -> bool,
        device: &Compute,
        control: &JobControl,
    ) -> Result<Vec<f64>, FitError> {
        let machine = Arc::new(machine.clone());
        let mut doses = vec![0.0; self.places.len()];
        for (n, setup) in self.setups.iter().enumerate() {
            control.report(n as f32 / self.setups.len() as f32);
            if !computed(setup) {
                continue;
            }
            let plane = setup.plane(&machine, sampling, device, control)?;
            for (dose, place) in doses
                .iter_mut()
                .zip(&self.places)
                .filter(|(_, place)| place.setup == n)
            {
                *dose = plane.at(place.position_mm, place.depth_mm);
            }
        }
        Ok(doses)
    }

    /// The dose of contaminant electrons at all places, in the unit of `photons`, in closed form as the engine has it: a share of
    /// the reference dose at the surface, spread over the aperture, falling with depth and distance.
    pub fn electrons(&self, machine: &Machine, photons: &[f64]) -> Vec<f64> {
        let mut doses = vec![0.0; self.places.len()];
        let (
            Some(electrons),
            Some(calibration_place),
            Calibration::Reference {
                ssd_mm, depth_mm, ..
            },
        ) = (machine.electrons, self.calibration, machine.calibration)
        else {
            return doses;
        };
        let total = photons[calibration_place]
            / (1.0 - electrons.surface_share * electrons.at_depth(depth_mm));
        let surface = electrons.surface_share * total * (ssd_mm / machine.sad_mm).powi(2);
        let fluences: Vec<Option<Fluence>> =
            self.setups.iter().map(|s| s.fluence(machine)).collect();
        for (dose, place) in doses.iter_mut().zip(&self.places) {
            let (setup, Some(fluence)) = (&self.setups[place.setup], &fluences[place.setup]) else {
                continue;
            };
            let plane_mm = setup.ssd_mm + place.depth_mm;
            let distance_mm = plane_mm.hypot(place.position_mm);
            let with_depth = electrons.at_depth(place.depth_mm * distance_mm / plane_mm);
            if with_depth > 0.0 {
                let off = place.position_mm * machine.sad_mm / plane_mm;
                let [x, y] = if setup.along == ScanAxis::Crossline {
                    [off, 0.0]
                } else {
                    [0.0, off]
                };
                *dose = surface
                    * with_depth
                    * fluence.electrons_at(x, y)
                    * (machine.sad_mm / distance_mm).powi(2);
            }
        }
        doses
    }
}

impl Setup {
    /// Whether the dose of the set-up follows a parameter.
    pub fn follows(&self, parameter: Parameter) -> bool {
        match parameter {
            Parameter::FocalX => self.has_profile && self.along == ScanAxis::Crossline,
            Parameter::FocalY => self.has_profile && self.along == ScanAxis::Inline,
            Parameter::LeafOffset => self.edges == FieldEdges::Leaves,
            _ if parameter.is_of_electrons() => false,
            // A factor reaches down to the node before its own.
            _ => parameter
                .node_mm()
                .is_none_or(|node| self.field_mm[0].max(self.field_mm[1]) * 0.6 > node - 50.0),
        }
    }

    fn beam(&self, machine: &Machine, isocentre_mm: DVec3) -> Beam {
        let [x, y] = self.field_mm;
        let mut beam = Beam::fixed(
            "water tank",
            1,
            0.0,
            isocentre_mm,
            Jaws::symmetric(x, y),
            1.0,
        );
        if let (FieldEdges::Leaves, Some(leaves)) = (self.edges, &machine.leaves) {
            shape_by_leaves(&mut beam, leaves, self.field_mm);
        }
        // The grid is finest along patient x, where a collimator of 90 degrees turns the device's Y.
        if self.along == ScanAxis::Inline {
            beam.control_points
                .iter_mut()
                .for_each(|point| point.collimator_deg = 90.0);
        }
        beam
    }

    fn fluence(&self, machine: &Machine) -> Option<Fluence> {
        let beam = self.beam(machine, DVec3::ZERO);
        let exposure = exposures(&beam, 1.0).into_iter().next()?;
        Fluence::new(machine, &beam, &exposure).ok()
    }

    /// The dose in the plane of the axis and the set-up's direction.
    fn plane(
        &self,
        machine: &Arc<Machine>,
        sampling: &Sampling,
        device: &Compute,
        control: &JobControl,
    ) -> Result<Plane, FitError> {
        let along_mm = if self.has_profile {
            sampling.along_mm
        } else {
            COARSE_ALONG_MM.max(sampling.along_mm)
        };
        let steps = DVec3::new(along_mm, sampling.depth_mm, sampling.across_mm);
        let spread = (self.ssd_mm + self.deepest_mm) / machine.sad_mm;
        let [along, across] = if self.along == ScanAxis::Crossline {
            self.field_mm
        } else {
            [self.field_mm[1], self.field_mm[0]]
        };
        let [half_along_mm, half_across_mm] =
            [along, across].map(|side_mm| 0.5 * side_mm * spread + sampling.margin_mm);
        let nx = odd_count(half_along_mm.max(self.widest_mm + 4.0 * steps.x), steps.x);
        let nz = odd_count(half_across_mm, steps.z).max(3);
        let ny = (((self.deepest_mm + BELOW_MM) / steps.y).ceil() as usize).max(4);
        let size = [nx.max(5), ny, nz];
        let patient = phantom::patient(steps, size, |_| (1.0, Material::Water))
            .map_err(engine::dose::DoseError::from)?;
        let surface_mm = -0.5 * ny as f64 * steps.y;
        let isocentre_mm = DVec3::new(0.0, surface_mm + machine.sad_mm - self.ssd_mm, 0.0);
        let first = DVec3::new(
            -0.5 * (size[0] - 1) as f64 * steps.x,
            surface_mm + 0.5 * steps.y,
            -steps.z,
        );
        let grid = Grid::axis_aligned(first, steps, [size[0], ny, 3])
            .map_err(engine::dose::DoseError::from)?;
        let request = DoseRequest {
            patient,
            machine: Arc::clone(machine),
            beam: self.beam(machine, isocentre_mm),
            grid: Arc::new(grid),
            quality: sampling.quality,
            dose_to: DoseTo::Water,
        };
        let answer = beam_dose(&request, device, &control.child())?;
        Ok(Plane {
            first_x_mm: first.x,
            steps_mm: [steps.x, steps.y],
            size: [size[0], ny],
            // With the collimator at 90 degrees the device's Y runs against patient x.
            sign: if self.along == ScanAxis::Inline {
                -1.0
            } else {
                1.0
            },
            gy: answer.gy.plane(1).to_vec(),
        })
    }
}

/// Voxels that cover half an extent on each side of the beam axis: an odd number, so that a row of centres lies on the axis.
fn odd_count(half_mm: f64, step_mm: f64) -> usize {
    2 * (half_mm / step_mm).ceil() as usize + 1
}

/// Leaves round a field: tips at its ends along their travel, sides nearest to its ends across it, and jaws behind them. Pairs beside it
/// are closed under a jaw.
fn shape_by_leaves(beam: &mut Beam, leaves: &Leaves, [x, y]: [f64; 2]) {
    let mlc = leaves.to_case();
    let closed_mm = 0.5 * x + JAWS_BEHIND_MM + CLOSED_UNDER_JAW_MM;
    let middles_mm = mlc
        .boundaries_mm
        .windows(2)
        .map(|sides| 0.5 * (sides[0] + sides[1]));
    let leaves_mm: Vec<Bank> = middles_mm
        .map(|middle_mm| {
            if middle_mm.abs() < 0.5 * y {
                [-0.5 * x, 0.5 * x]
            } else {
                [closed_mm; 2]
            }
        })
        .collect();
    for point in &mut beam.control_points {
        point.leaves_mm.clone_from(&leaves_mm);
        point.jaws = Jaws::symmetric(x + 2.0 * JAWS_BEHIND_MM, y + 2.0 * JAWS_BEHIND_MM);
    }
    beam.mlc = Some(mlc);
}

struct Plane {
    first_x_mm: f64,
    steps_mm: [f64; 2],
    size: [usize; 2],
    sign: f64,
    gy: Vec<f32>,
}

impl Plane {
    /// Cubic through the four nearest voxel centres each way: a straight line between centres is too low where dose bends.
    fn at(&self, position_mm: f64, depth_mm: f64) -> f64 {
        let (i, across) = cubic(
            (self.sign * position_mm - self.first_x_mm) / self.steps_mm[0],
            self.size[0],
        );
        let (j, down) = cubic(depth_mm / self.steps_mm[1] - 0.5, self.size[1]);
        let rows = down.iter().zip(self.gy.chunks(self.size[0]).skip(j));
        rows.map(|(weight, row)| {
            weight
                * across
                    .iter()
                    .zip(&row[i..i + 4])
                    .map(|(w, gy)| w * f64::from(*gy))
                    .sum::<f64>()
        })
        .sum()
    }
}

/// First of the four nodes, and the weights of Lagrange's polynomial through them; `count` is at least four.
fn cubic(x: f64, count: usize) -> (usize, [f64; 4]) {
    let first = (x.floor() - 1.0).clamp(0.0, (count - 4) as f64);
    let t = x - first;
    let weights = std::array::from_fn(|n| {
        (0..4)
            .filter(|m| *m != n)
            .map(|m| (t - m as f64) / (n as f64 - m as f64))
            .product::<f64>()
    });
    (first as usize, weights)
}
