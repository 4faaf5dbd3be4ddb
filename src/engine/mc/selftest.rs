//! Monte Carlo with electrons: one set of random numbers against another, dose to water against dose to medium, a card against the
//! CPU.

use crate::cccs::selftest::field;
use crate::dose::{DoseError, DoseTo};
use crate::histories::{HistoriesDose, Next, bits};
use crate::mc::{ElectronCut, McRequest, refine};
use crate::phantom::patient;
use crate::selftest::{Row, chi_square};
use crate::{Compute, DeviceError, JobControl};
use case::Jaws;
use glam::DVec3;
use physics::{Machine, Material};
use std::sync::Arc;

/// Greatest difference of chi-square per voxel from 1, whose own spread over some hundred voxels is a tenth.
const CHI_SQUARE: f64 = 0.3;
/// Greatest difference of the energy in all voxels, percent: four standard errors.
const ENERGY_PERCENT: f64 = 1.4;
const HISTORIES: u64 = 100_000;

pub(crate) fn rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    all_rows(device, control).map_err(|error| match error {
        DoseError::Cancelled(cancelled) => cancelled.into(),
        error => DeviceError::case("mc", error),
    })
}

fn all_rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DoseError> {
    let mut rows = Vec::new();
    for (case, request) in cases()? {
        let dose = run(&request, device, control)?;
        let again = run(&request, device, control)?;
        let other_seed = McRequest {
            seed: 99,
            ..request.clone()
        };
        let other = run(&other_seed, &Compute::Cpu, control)?;
        let chi2 = chi_square(&dose, &other);
        let by_voxel = Row {
            job: "mc",
            case: case.to_owned(),
            device: device.to_string(),
            way: "electrons",
            against: "CPU, other numbers",
            worst: (chi2 - 1.0).abs(),
            mean: chi2,
            tolerance: CHI_SQUARE,
            unit: "chi2",
            repeats: bits(&dose) == bits(&again),
        };
        let energy = 100.0 * (total_gy(&dose) / total_gy(&other) - 1.0).abs();
        rows.push(Row {
            against: "energy on the CPU",
            worst: energy,
            mean: energy,
            tolerance: ENERGY_PERCENT,
            unit: "%",
            ..by_voxel.clone()
        });
        rows.push(by_voxel);
    }
    Ok(rows)
}

fn run(
    request: &McRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<HistoriesDose, DoseError> {
    let dose = refine(request, device, control, &mut |_| Next::GoOn)?;
    // After a fallback to the CPU the comparison would be of the CPU with itself.
    let fell_back = !matches!(device, Compute::Cpu) && dose.receipt.device.starts_with("cpu");
    match dose.receipt.warnings.first() {
        Some(why) if fell_back => Err(DoseError::Beam {
            beam: "selftest".to_owned(),
            why: why.clone(),
        }),
        _ => Ok(dose),
    }
}

/// Sum over voxels of one size and of densities that both doses share, so that doses that agree have equal ones.
fn total_gy(dose: &HistoriesDose) -> f64 {
    dose.gy.data().iter().map(|gy| f64::from(*gy)).sum()
}

fn machine(name: &str) -> Result<Arc<Machine>, DoseError> {
    Machine::resolve(name).map_err(|error| DoseError::Beam {
        beam: name.to_owned(),
        why: error.to_string(),
    })
}

fn cases() -> Result<Vec<(&'static str, McRequest)>, DoseError> {
    let slabs = patient(DVec3::splat(10.0), [14; 3], |p| match p.y {
        y if y < -40.0 => (1.0, Material::Water),
        y if y < -20.0 => (2.7, Material::Aluminium),
        y if y < 20.0 => (0.26, Material::Lung),
        _ => (1.0, Material::Water),
    })?;
    let square = Jaws::symmetric(60.0, 60.0);
    let six = vec![(field(square, 0.0, 0.0, 0.0), machine("generic-6mv")?)];
    let ten = vec![(
        field(square, 90.0, 0.0, 0.0),
        machine("generic-10mv-hd120")?,
    )];
    let of_medium = McRequest::of_histories(&slabs, six, HISTORIES);
    let of_water = McRequest {
        dose_to: DoseTo::Water,
        electron_cut: ElectronCut::Kev100,
        ..McRequest::of_histories(&slabs, ten, HISTORIES)
    };
    Ok(vec![
        ("aluminium and lung, 6 MV", of_medium),
        ("aluminium and lung, 10 MV, to water", of_water),
    ])
}
