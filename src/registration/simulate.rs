//! Simulated X-rays of a CT, independent of the registered DRRs: an exact traversal instead of steps, another
//! HU curve, scatter, photon noise, and jaws that close part of the picture. The hidden pose is known.

use case::{PixelMeaning, Pose, Radiograph, opened};
use engine::Random;
use engine::drr::{DrrError, DrrRequest, Integrator, Pixels, drr};
use engine::{Compute, JobControl};
use geometry::{ImagingSetup, Volume};
use glam::DVec3;
use physics::{AttenuationCurve, CurveKind, HuTable};
use std::sync::Arc;

/// Exposure of an X-ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exposure {
    /// Photons a pixel in the open beam.
    pub photons: f64,
    /// Scatter: this share of `I ln(1/I)`, blurred wide (Ohnesorge 1999, Eur. Radiol. 9:563).
    pub scatter: f64,
    /// Opening of the jaws at the axis, mm; outside a hundredth is transmitted.
    pub field_mm: [f64; 2],
    pub seed: u64,
}

impl Default for Exposure {
    fn default() -> Self {
        Self {
            photons: 20_000.0,
            scatter: 0.1,
            field_mm: [270.0, 200.0],
            seed: 1,
        }
    }
}

impl Exposure {
    /// The field without its penumbra, mm at the axis: the region for registration.
    pub fn within_mm(&self) -> [f64; 2] {
        self.field_mm.map(|f| f - 6.0)
    }
}

/// The attenuation of simulated X-rays: tissues at 60 keV. The registered DRRs use water's attenuation at 70 keV.
pub fn attenuation(hu: &Volume<f32>) -> Arc<Volume<f32>> {
    let curve = AttenuationCurve::new(CurveKind::Tissue, &HuTable::shipped_default(), 0.06);
    Arc::new(curve.attenuation(hu))
}

/// An imager of a common treatment machine: 397 x 298 mm, here of 512 x 384 pixels, 1500 mm from the source.
pub fn imager(
    gantry_deg: f64,
    position: geometry::PatientPosition,
    isocentre_mm: DVec3,
) -> ImagingSetup {
    ImagingSetup {
        position,
        gantry_deg,
        couch_deg: 0.0,
        isocentre_mm,
        sad_mm: 1000.0,
        sid_mm: 1500.0,
        shift_mm: [0.0; 2],
        pixel_mm: [0.776; 2],
        columns: 512,
        rows: 384,
    }
}

/// An X-ray of a patient at a pose about the setup's isocentre.
///
/// # Errors
/// [`DrrError`], including cancellation.
pub fn xray(
    attenuation: &Arc<Volume<f32>>,
    setup: ImagingSetup,
    pose: Pose,
    exposure: &Exposure,
    device: &Compute,
    control: &JobControl,
) -> Result<Radiograph, DrrError> {
    let projection = setup
        .projection()
        .map_err(|e| DrrError::Pose(e.to_string()))?;
    let request = DrrRequest {
        attenuation: attenuation.clone(),
        projection,
        poses: vec![pose],
        pose_centre_mm: setup.isocentre_mm,
        integrator: Integrator::Exact,
        pixels: Pixels::All,
    };
    let integrals = drr(&request, device, control)?.integrals;
    let size = [setup.columns, setup.rows];
    let primary: Vec<f32> = integrals.iter().map(|l| (-l).exp()).collect();
    let source: Vec<f32> = primary.iter().zip(&integrals).map(|(i, l)| i * l).collect();
    let radius = (0.08 * size[0] as f64) as usize;
    let scattered = blurred(source, size, radius);
    let open = opened(&setup, exposure.field_mm);
    let mut random = Random::new(exposure.seed);
    let values = (0..primary.len())
        .map(|n: usize| {
            let beam = f64::from(primary[n]) + exposure.scatter * f64::from(scattered[n]);
            let mean = exposure.photons * if open[n] { beam } else { 0.01 * beam };
            // With this many photons Poisson's distribution is Gaussian; the electronics add a standard deviation
            // of 3.
            (mean + mean.sqrt() * random.normal() + 3.0 * random.normal()).max(1.0) as f32
        })
        .collect();
    let label = format!("made-up X-ray, gantry {}", setup.gantry_deg);
    Ok(Radiograph {
        setup: Some(setup),
        open: Some(Arc::new(opened(&setup, exposure.within_mm()))),
        ..Radiograph::new(values, PixelMeaning::Transmission, projection, &label)
    })
}

/// Three consecutive box filters: nearly a Gaussian. Values beyond the edges are 0.
fn blurred(mut values: Vec<f32>, [columns, rows]: [usize; 2], radius: usize) -> Vec<f32> {
    let width = (2 * radius + 1) as f64;
    for _ in 0..3 {
        for row in values.chunks_exact_mut(columns) {
            slide(row, radius, width);
        }
        let mut line = vec![0.0; rows];
        for column in 0..columns {
            (0..rows).for_each(|r| line[r] = values[r * columns + column]);
            slide(&mut line, radius, width);
            (0..rows).for_each(|r| values[r * columns + column] = line[r]);
        }
    }
    values
}

fn slide(line: &mut [f32], radius: usize, width: f64) {
    let old = line.to_vec();
    let mut sum: f64 = old.iter().take(radius).map(|v| f64::from(*v)).sum();
    for n in 0..old.len() {
        sum += old.get(n + radius).map_or(0.0, |v| f64::from(*v));
        line[n] = (sum / width) as f32;
        if n >= radius {
            sum -= f64::from(old[n - radius]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum and variance of a Gaussian: three boxes of 2r + 1 have 3 ((2r + 1)^2 - 1) / 12.
    #[test]
    fn blurring_keeps_the_sum_and_spreads_as_it_says() {
        let size = [101, 81];
        let mut point = vec![0.0; 101 * 81];
        point[40 * 101 + 50] = 1.0;
        let out = blurred(point, size, 5);
        let sum: f32 = out.iter().sum();
        let variance: f32 = out
            .iter()
            .enumerate()
            .map(|(n, v)| v * ((n % 101) as f32 - 50.0).powi(2))
            .sum();
        assert!(
            (sum - 1.0).abs() < 1e-4 && (variance - 30.0).abs() < 0.05,
            "{sum} {variance}"
        );
    }
}
