//! Fluences of the last apertures: a turned gantry or a moved isocentre changes none of them.

use crate::JobControl;
use crate::cache::ByteSize;
use crate::dose::DoseRequest;
use case::{ControlPoint, FluenceMap, Mlc};
use physics::{Exposure, Fluence, FluenceError, Machine, exposures};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of cached fluences, enough for the fields of a plan.
const KEPT: usize = 16;
/// A fluence of 20 x 20 cm through leaves, about.
const FLUENCE_BYTES: usize = 2 << 20;

/// All that a fluence depends on.
#[derive(PartialEq)]
struct Aperture {
    machine: Arc<Machine>,
    mlc: Option<Mlc>,
    fluence: Option<FluenceMap>,
    /// Both ends of each segment, without their angles and meterset weights; its span and its weight.
    segments: Vec<([ControlPoint; 2], [f64; 2], f64)>,
}

impl Aperture {
    fn new(request: &DoseRequest, exposure: &Exposure<'_>) -> Self {
        let segments = exposure.segments.iter().map(|s| {
            (
                [s.from, s.to].map(|point| ControlPoint {
                    meterset_weight: 0.0,
                    gantry_deg: 0.0,
                    collimator_deg: 0.0,
                    couch_deg: 0.0,
                    ..point.clone()
                }),
                s.span,
                s.weight,
            )
        });
        Self {
            machine: Arc::clone(&request.machine),
            mlc: request.beam.mlc.clone(),
            fluence: request.beam.fluence.clone(),
            segments: segments.collect(),
        }
    }
}

/// The last fluences, the most recent last.
#[derive(Default)]
struct LastFluences(Mutex<Vec<(Aperture, Arc<Fluence>)>>);

impl ByteSize for LastFluences {
    fn bytes(&self) -> usize {
        KEPT * FLUENCE_BYTES
    }
}

/// Their key in the cache.
#[derive(PartialEq)]
struct Key;

/// The fluence of an exposure of the beam of a request.
///
/// # Errors
/// [`FluenceError`].
pub fn fluence(
    request: &DoseRequest,
    exposure: &Exposure<'_>,
    control: &JobControl,
) -> Result<Arc<Fluence>, FluenceError> {
    let last = control
        .cache()
        .get(Key, || Ok::<_, FluenceError>(LastFluences::default()))?;
    let entries = || last.0.lock().unwrap_or_else(PoisonError::into_inner);
    let aperture = Aperture::new(request, exposure);
    if let Some((_, fluence)) = entries()
        .iter()
        .find(|(cached_aperture, _)| *cached_aperture == aperture)
    {
        return Ok(Arc::clone(fluence));
    }
    let fluence = Arc::new(Fluence::new(&request.machine, &request.beam, exposure)?);
    let mut entries = entries();
    if entries.len() >= KEPT {
        entries.remove(0);
    }
    entries.push((aperture, Arc::clone(&fluence)));
    Ok(fluence)
}

/// Makes the fluences of the beams that deliver from one direction, side by side: their doses, one after another, find them.
pub fn prepare_fluences(requests: &[DoseRequest], control: &JobControl) {
    requests.par_iter().take(KEPT).for_each(|request| {
        if let [exposure] = &exposures(&request.beam, request.quality.arc_step_deg())[..] {
            // The dose says why there is none.
            let _ = fluence(request, exposure, control);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dose::{DoseTo, Quality};
    use crate::phantom;
    use case::{Beam, Jaws, MlcAxis};
    use glam::DVec3;
    use physics::Material;

    fn request() -> DoseRequest {
        let patient = phantom::patient(DVec3::splat(10.0), [4; 3], |_| (1.0, Material::Water))
            .expect("water");
        let jaws = Jaws::symmetric(100.0, 100.0);
        let mut beam = Beam::fixed("b", 1, 0.0, DVec3::ZERO, jaws, 100.0);
        let boundaries_mm: Vec<f64> = (-10..=10).map(|n| 5.0 * f64::from(n)).collect();
        beam.control_points
            .iter_mut()
            .for_each(|p| p.leaves_mm = vec![[-40.0, 40.0]; 20]);
        beam.mlc = Some(Mlc {
            axis: MlcAxis::X,
            boundaries_mm,
        });
        DoseRequest {
            grid: Arc::clone(patient.mass_density_g_cm3.grid()),
            patient,
            machine: Machine::resolve("generic-6mv").expect("a machine"),
            beam,
            quality: Quality::Fast,
            dose_to: DoseTo::Medium,
        }
    }

    /// Angles, isocentre and monitor units change no fluence; leaves, jaws, sides of leaves and the machine do.
    #[test]
    fn a_fluence_is_kept_for_its_aperture_alone() {
        let control = JobControl::new();
        let first = cached_fluence(&request(), &control);
        let mut turned = request();
        turned.beam.mu = 7.0;
        turned.beam.isocentre_mm.x = 30.0;
        turned
            .beam
            .control_points
            .iter_mut()
            .for_each(|p| (p.gantry_deg, p.collimator_deg) = (77.0, 10.0));
        assert!(Arc::ptr_eq(&first, &cached_fluence(&turned, &control)));
        let changes: [fn(&mut DoseRequest); 4] = [
            |r| {
                r.beam
                    .control_points
                    .iter_mut()
                    .for_each(|p| p.leaves_mm[10][1] = -10.0)
            },
            |r| {
                r.beam
                    .control_points
                    .iter_mut()
                    .for_each(|p| p.jaws.x[1] = 5.0)
            },
            |r| {
                r.beam
                    .mlc
                    .iter_mut()
                    .for_each(|mlc| mlc.boundaries_mm[11] = 2.0)
            },
            |r| r.machine = Machine::resolve("generic-15mv").expect("a machine"),
        ];
        for change in changes {
            let mut other = request();
            change(&mut other);
            let exposure = &exposures(&other.beam, 4.0)[0];
            let cached = cached_fluence(&other, &control);
            let computed = Fluence::new(&other.machine, &other.beam, exposure).expect("a fluence");
            assert_eq!(profile(&cached), profile(&computed));
            assert_ne!(profile(&cached), profile(&first));
        }
        assert!(Arc::ptr_eq(&first, &cached_fluence(&turned, &control)));
    }

    fn cached_fluence(request: &DoseRequest, control: &JobControl) -> Arc<Fluence> {
        fluence(request, &exposures(&request.beam, 4.0)[0], control).expect("a fluence")
    }

    fn profile(fluence: &Fluence) -> [f64; 3] {
        [0.0, 12.0, 33.0].map(|x| fluence.at(x, 3.0, 1000.0, 2.0))
    }

    #[test]
    fn no_more_are_kept_than_the_last() {
        let (control, mut request) = (JobControl::new(), request());
        for n in 0..3 * KEPT {
            request
                .beam
                .control_points
                .iter_mut()
                .for_each(|p| p.leaves_mm[0][0] = -40.0 - n as f64);
            fluence(&request, &exposures(&request.beam, 4.0)[0], &control).expect("a fluence");
        }
        let last = control
            .cache()
            .find::<_, LastFluences>(&Key)
            .expect("some are kept");
        assert_eq!(last.0.lock().expect("no other thread").len(), KEPT);
    }

    /// Beams from one direction find what was prepared; an arc has more fluences than are kept.
    #[test]
    fn prepared_fluences_are_found() {
        let control = JobControl::new();
        let with_tip = |tip_mm: f64| {
            let mut request = request();
            request
                .beam
                .control_points
                .iter_mut()
                .for_each(|p| p.leaves_mm[0][0] = tip_mm);
            request
        };
        let mut arc = with_tip(-10.0);
        let end = ControlPoint {
            gantry_deg: 90.0,
            ..arc.beam.control_points[0].clone()
        };
        arc.beam.control_points[0].meterset_weight = 0.0;
        arc.beam.control_points.push(end);
        assert!(exposures(&arc.beam, arc.quality.arc_step_deg()).len() > KEPT);
        prepare_fluences(&[with_tip(-40.0), arc, with_tip(-30.0)], &control);
        let last = control
            .cache()
            .find::<_, LastFluences>(&Key)
            .expect("some are kept");
        let kept = || last.0.lock().expect("no other thread").len();
        assert_eq!(kept(), 2);
        fluence(
            &with_tip(-30.0),
            &exposures(&with_tip(-30.0).beam, 4.0)[0],
            &control,
        )
        .expect("a fluence");
        assert_eq!(kept(), 2);
    }
}
