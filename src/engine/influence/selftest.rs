//! Influence of beamlets: columns against the dose of one beamlet after another, and their sum against the dose of a map.

use crate::dose::{DoseError, DoseRequest, DoseTo, Quality};
use crate::failure::Failure;
use crate::influence::reference::at_voxels;
use crate::influence::{InfluenceRequest, Matrix, cpu, cuda, wgpu};
use crate::phantom::patient;
use crate::selftest::{Row, differences};
use crate::{Compute, DeviceError, JobControl};
use case::{Beam, FluenceMap, Jaws, MlcAxis};
use geometry::Grid;
use glam::DVec3;
use physics::{Machine, Material};
use std::sync::Arc;

/// Difference allowed, percent of the greatest dose of a column, and of the map.
const TOLERANCE: f64 = 0.1;

pub(crate) fn rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let mut rows = Vec::new();
    for (quality, dose_to) in [
        (Quality::Preview, DoseTo::Water),
        (Quality::Fast, DoseTo::Medium),
    ] {
        let request =
            request(quality, dose_to).map_err(|why| DeviceError::case("influence", why))?;
        match compared(&request, device, control) {
            Ok(of_request) => rows.extend(of_request),
            Err(Failure::Card(why)) => return Err(why),
            Err(Failure::Job(DoseError::Cancelled(cancelled))) => return Err(cancelled.into()),
            Err(Failure::Job(why)) => return Err(DeviceError::case("influence", why)),
        }
    }
    Ok(rows)
}

fn compared(
    request: &InfluenceRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<Vec<Row>, Failure<DoseError, DeviceError>> {
    // By the device alone: the CPU's columns in its stead would pass.
    let columns = || match device {
        Compute::Cpu => cpu::beamlet_doses(request, control).map_err(Failure::Job),
        Compute::Cuda(card) => cuda::beamlet_doses(request, card, control)
            .map_err(|why| why.map_card(DeviceError::Cuda)),
        Compute::Wgpu(card) => wgpu::beamlet_doses(request, card, control)
            .map_err(|why| why.map_card(DeviceError::Wgpu)),
    };
    let [got, again] = [(); 2].map(|()| columns());
    let (columns, again) = (got?.columns, again?.columns);
    let repeats = columns == again;
    let count = request.voxels.len();
    let got: Vec<f32> = columns.gy().collect();
    let row = |case: String, got: &[f32], want: &[f64]| {
        let greatest = want.iter().copied().fold(0.0, f64::max);
        let (worst, mean) = differences(got, want);
        Row {
            job: "influence",
            case,
            device: device.to_string(),
            way: request.dose.quality.word(),
            against: "reference",
            worst: 100.0 * worst / greatest,
            mean: 100.0 * mean / greatest,
            tolerance: TOLERANCE,
            unit: "%",
            repeats,
        }
    };
    let dose = |map: &DoseRequest| crate::cccs::cpu::beam_dose(map, control);
    let mut rows = Vec::new();
    for n in [0, 7, 18, request.beamlets.len() - 1] {
        let beamlet = request.beamlets[n];
        let want = at_voxels(request, |other| f32::from(u8::from(other == beamlet)), dose)?;
        rows.push(row(
            format!("beamlet {beamlet}"),
            &got[n * count..(n + 1) * count],
            &want,
        ));
    }
    let value = |beamlet: usize| 0.1 + (beamlet * 7 % 11) as f32 / 10.0;
    let want = at_voxels(request, value, dose)?;
    let matrix = Matrix::new(count, vec![columns], device, None);
    let fluences: Vec<f64> = request
        .beamlets
        .iter()
        .map(|beamlet| f64::from(value(*beamlet)))
        .collect();
    rows.push(row(
        "modulated map".to_owned(),
        &matrix.doses(&fluences, &vec![0.0; count]),
        &want,
    ));
    // The transposed product, by its definition in double precision.
    let by_dose: Vec<f32> = (0..count).map(|n| (n * 31 % 17) as f32 - 8.0).collect();
    let want: Vec<f64> = matrix
        .columns()
        .map(|(steps, gy)| -> f64 {
            let sum: f64 = steps
                .iter()
                .zip(&by_dose)
                .map(|(step, by)| f64::from(*step) * f64::from(*by))
                .sum();
            f64::from(gy) * sum
        })
        .collect();
    let transposed: Vec<f32> = matrix
        .transposed(&by_dose)
        .iter()
        .map(|sum| *sum as f32)
        .collect();
    rows.push(row("transposed product".to_owned(), &transposed, &want));
    let weights: Vec<f32> = (0..count).map(|n| (n * 31 % 17) as f32).collect();
    let want: Vec<f64> = matrix
        .columns()
        .map(|(steps, gy)| -> f64 {
            let sum: f64 = steps
                .iter()
                .zip(&weights)
                .map(|(step, w)| f64::from(*step).powi(2) * f64::from(*w))
                .sum();
            f64::from(gy).powi(2) * sum
        })
        .collect();
    let squares: Vec<f32> = matrix
        .squares(&weights)
        .iter()
        .map(|sum| *sum as f32)
        .collect();
    rows.push(row("squares of columns".to_owned(), &squares, &want));
    Ok(rows)
}

/// A turned, tilted beam with a map into a cylinder with lung, bone and a hole of air.
fn request(
    quality: Quality,
    dose_to: DoseTo,
) -> Result<InfluenceRequest, Box<dyn std::error::Error>> {
    let matter = |place_mm: DVec3| {
        let inside = |centre: DVec3, mm: f64| (place_mm - centre).length() < mm;
        if place_mm.truncate().length() > 75.0 {
            (0.0, Material::Air)
        } else if inside(DVec3::new(20.0, 10.0, 0.0), 25.0) {
            (0.3, Material::Lung)
        } else if inside(DVec3::new(-20.0, -10.0, 10.0), 15.0) {
            (1.7, Material::CorticalBone)
        } else if inside(DVec3::new(10.0, -40.0, -20.0), 12.0) {
            (0.001, Material::Air)
        } else {
            (1.0, Material::Water)
        }
    };
    let phantom = patient(DVec3::splat(5.0), [32, 32, 24], matter)?;
    let (rows, columns) = (6, 7);
    let map = FluenceMap {
        axis: MlcAxis::X,
        rows_mm: (0..=rows).map(|n| 10.0 * n as f64 - 30.0).collect(),
        first_mm: -20.0,
        step_mm: 5.0,
        columns,
        values: vec![0.0; rows * columns],
    };
    let jaws = Jaws {
        x: map.reach_mm()[0],
        y: map.reach_mm()[1],
    };
    let mut beam = Beam::fixed("turned", 1, 40.0, DVec3::new(5.0, 0.0, 4.0), jaws, 100.0);
    beam.control_points[0].collimator_deg = 20.0;
    beam.fluence = Some(map);
    let first_mm = DVec3::new(-70.0, -70.0, -50.0);
    let grid = Arc::new(Grid::axis_aligned(
        first_mm,
        DVec3::splat(5.0),
        [29, 29, 21],
    )?);
    let beamlets = (0..rows * columns).filter(|n| n % 5 != 1).collect();
    let voxels = (0..grid.len()).filter(|n| n % 3 != 0).collect();
    let machine = Machine::resolve("generic-6mv")?;
    let dose = DoseRequest {
        patient: phantom,
        machine,
        beam,
        grid,
        quality,
        dose_to,
    };
    Ok(InfluenceRequest {
        dose,
        beamlets,
        voxels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::influence::wgpu::Limits;
    use crate::skip::{Missing, skip};
    use crate::wgpu::{Device, adapters};

    /// A graphics device that takes little at a time has the same columns.
    #[test]
    fn columns_do_not_depend_on_the_chunks_that_they_are_made_in() {
        let Ok(devices) = adapters() else {
            return skip(
                Missing::Graphics,
                "no columns are made: there is no Vulkan, Metal or DirectX 12",
            );
        };
        let device = Device::open(Some(devices[0].ordinal)).expect("a device that opens");
        let request = request(Quality::Preview, DoseTo::Water).expect("a case");
        let rows = request.voxels.len();
        let [at_once, some, one_by_one] = [
            Limits::new(&device),
            Limits {
                doses: 9 * rows,
                lines: 40_000,
            },
            Limits { doses: 0, lines: 0 },
        ]
        .map(|limits| {
            let doses = wgpu::beamlet_doses_within(limits, &request, &device, &JobControl::new());
            doses.expect("columns").columns
        });
        assert_eq!(
            (at_once.rows, at_once.beamlets()),
            (rows, request.beamlets.len())
        );
        assert!(at_once == some && at_once == one_by_one);
    }
}
