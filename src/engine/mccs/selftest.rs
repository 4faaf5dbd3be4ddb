//! Monte Carlo: energy against an integral, one set of random numbers against another, a card against the CPU.

use crate::cccs::selftest::field;
use crate::dose::DoseError;
use crate::histories::{HistoriesDose, Next, bits};
use crate::mccs::{MccsRequest, Variant, refine_over};
use crate::phantom::patient;
use crate::selftest::{Row, chi_square};
use crate::{Compute, DeviceError, JobControl};
use case::{Beam, FluenceMap, Jaws, MlcAxis};
use glam::DVec3;
use physics::kernel::{CONES, KernelClass, KernelTable};
use physics::{Machine, Material, Patient, Spectrum};
use std::sync::Arc;

/// Greatest difference, percent of the energy; the paper's design has more noise.
const ENERGY_PERCENT: f64 = 0.5;
const PAPER_ENERGY_PERCENT: f64 = 3.0;
/// Greatest difference, percent of the greatest dose: with equal random numbers only rounding differs, which rarely
/// changes a history's course.
const SAME_PERCENT: f64 = 1.0;
/// Greatest difference of chi-square per voxel from 1: four times its spread over seeds, which is 0.06 where maps shape the field.
const CHI_SQUARE: f64 = 0.25;

pub(crate) fn rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    fallible(all_rows(device, control))
}

fn fallible(rows: Fallible<Vec<Row>>) -> Result<Vec<Row>, DeviceError> {
    rows.map_err(|why| match why.downcast::<DoseError>().map(|e| *e) {
        Ok(DoseError::Cancelled(cancelled)) => cancelled.into(),
        Ok(error) => DeviceError::case("mccs", error),
        Err(other) => DeviceError::case("mccs", other),
    })
}

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn all_rows(device: &Compute, control: &JobControl) -> Fallible<Vec<Row>> {
    let mut rows = vec![
        energy(device, Variant::Own, control)?,
        energy(device, Variant::Paper, control)?,
    ];
    for (name, request) in cases()? {
        let got = run(&request, device, control)?;
        let again = run(&request, device, control)?;
        let repeats = bits(&got) == bits(&again);
        let row = |against, worst, mean, tolerance, unit| Row {
            job: "mccs",
            case: name.to_owned(),
            device: device.to_string(),
            way: way(request.variant),
            against,
            worst,
            mean,
            tolerance,
            unit,
            repeats,
        };
        // In the paper's variant few histories give most of a voxel's dose: fifty batches do not estimate its spread.
        if request.variant == Variant::Own {
            let other = run(
                &MccsRequest {
                    seed: 99,
                    ..request.clone()
                },
                &Compute::Cpu,
                control,
            )?;
            let chi = chi_square(&got, &other);
            rows.push(row(
                "CPU, other numbers",
                (chi - 1.0).abs(),
                chi,
                CHI_SQUARE,
                "chi2",
            ));
        }
        if matches!(device, Compute::Cuda(_)) {
            // Two runners on one card share histories as two cards do.
            let halves = together(&request, &[device.clone(), device.clone()], control)?;
            rows.push(Row {
                repeats: bits(&halves) == bits(&got),
                ..row("itself, in two", 0.0, 0.0, 0.0, "%")
            });
            let want = run(&request, &Compute::Cpu, control)?;
            let reference: Vec<f64> = want.gy.data().iter().map(|gy| f64::from(*gy)).collect();
            let greatest = reference.iter().copied().fold(0.0, f64::max);
            let (worst, mean) = crate::selftest::differences(got.gy.data(), &reference);
            rows.push(row(
                "CPU",
                100.0 * worst / greatest,
                100.0 * mean / greatest,
                SAME_PERCENT,
                "%",
            ));
        }
    }
    Ok(rows)
}

/// All cards on one run, against the first alone: the same bits.
pub(crate) fn shared_rows(
    devices: &[Compute],
    control: &JobControl,
) -> Result<Vec<Row>, DeviceError> {
    fallible(shared(devices, control))
}

fn shared(devices: &[Compute], control: &JobControl) -> Fallible<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, request) in cases()? {
        let one = run(&request, &devices[0], control)?;
        let on_all = together(&request, devices, control)?;
        rows.push(Row {
            job: "mccs",
            case: name.to_owned(),
            device: format!("{} cards", devices.len()),
            way: way(request.variant),
            against: "the first alone",
            worst: 0.0,
            mean: 0.0,
            tolerance: 0.0,
            unit: "%",
            repeats: bits(&one) == bits(&on_all),
        });
    }
    Ok(rows)
}

fn way(variant: Variant) -> &'static str {
    if variant == Variant::Own {
        "own"
    } else {
        "paper"
    }
}

fn run(
    request: &MccsRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<HistoriesDose, DoseError> {
    together(request, std::slice::from_ref(device), control)
}

fn together(
    request: &MccsRequest,
    devices: &[Compute],
    control: &JobControl,
) -> Result<HistoriesDose, DoseError> {
    let dose = refine_over(request, devices, control, &mut |_| Next::GoOn)?;
    // After a fallback to the CPU the comparison would be of the CPU with itself.
    match dose.receipt.warnings.first() {
        Some(why) => Err(DoseError::Beam {
            beam: "selftest".to_owned(),
            why: why.clone(),
        }),
        None => Ok(dose),
    }
}

fn request(
    patient: &Arc<Patient>,
    beams: Vec<(Beam, Arc<Machine>)>,
    histories: u64,
) -> MccsRequest {
    // Fifty batches: chi-square wants deviations that are known to a few percent themselves.
    MccsRequest::of_histories(patient, beams, histories, histories.div_ceil(50))
}

fn cases() -> Fallible<Vec<(&'static str, MccsRequest)>> {
    let machine = Machine::resolve("generic-6mv")?;
    let ten = Machine::resolve("generic-10mv-hd120")?;
    let square = |side: f64| Jaws::symmetric(side, side);
    let water = patient(DVec3::splat(6.0), [32, 30, 34], |_| (1.0, Material::Water))?;
    let three =
        [0.0, 120.0, 240.0].map(|g| (field(square(80.0), g, 0.0, 0.0), Arc::clone(&machine)));
    let chest = patient(DVec3::new(5.0, 6.0, 7.0), [36, 32, 26], |p| {
        match p.length() {
            r if r > 85.0 => (0.0, Material::Air),
            _ if (-40.0..10.0).contains(&p.y) => (0.25, Material::Lung),
            _ if (20.0..32.0).contains(&p.y) => (1.8, Material::CorticalBone),
            _ => (1.0, Material::Water),
        }
    })?;
    let mut arc = field(square(90.0), 200.0, 30.0, 10.0);
    if let Some(leaves) = &ten.leaves {
        arc.mlc = Some(leaves.to_case());
        arc.control_points[0].leaves_mm = (0..leaves.boundaries_mm.len() - 1)
            .map(|row| {
                [
                    -20.0 - (row % 5) as f64 * 3.0,
                    15.0 + (row % 7) as f64 * 4.0,
                ]
            })
            .collect();
    }
    let mut last = arc.control_points[0].clone();
    arc.control_points[0].meterset_weight = 0.0;
    last.gantry_deg = 215.0;
    last.leaves_mm
        .iter_mut()
        .for_each(|bank| *bank = bank.map(|mm| mm + 12.0));
    arc.control_points.push(last);
    // Rows and columns that no cell of the histories' raster has, along either axis; a beamlet in five is closed.
    let mapped = [(MlcAxis::X, 20.0), (MlcAxis::Y, 200.0)].map(|(axis, gantry)| {
        let map = FluenceMap {
            axis,
            rows_mm: vec![-37.0, -30.0, -22.5, -10.0, -4.0, 3.0, 11.0, 24.0],
            first_mm: -31.0,
            step_mm: 6.5,
            columns: 9,
            values: (0..63)
                .map(|n: usize| {
                    if n.is_multiple_of(5) {
                        0.0
                    } else {
                        (n % 7) as f32 * 0.4
                    }
                })
                .collect(),
        };
        let beam = Beam {
            fluence: Some(map),
            ..field(square(70.0), gantry, 15.0, 0.0)
        };
        (beam, Arc::clone(&machine))
    });
    let mapped = request(&water, mapped.into(), 150_000);
    let mixed = vec![(arc, ten), (field(square(50.0), 80.0, 0.0, 0.0), machine)];
    let three = request(&water, three.into(), 150_000);
    let paper = MccsRequest {
        variant: Variant::Paper,
        ..three.clone()
    };
    Ok(vec![
        ("water, three beams", three),
        ("water, three beams", paper),
        ("water, two fluence maps", mapped),
        (
            "lung, bone, an arc with leaves, two energies",
            request(&chest, mixed, 150_000),
        ),
    ])
}

/// Energy of a narrow beam in a block from which only backscatter escapes.
fn energy(device: &Compute, variant: Variant, control: &JobControl) -> Fallible<Row> {
    let block = patient(DVec3::splat(20.0), [30; 3], |_| (8.0, Material::Water))?;
    let mut machine = (*Machine::resolve("point-6mv")?).clone();
    machine.spectrum = Spectrum {
        energies_mev: vec![0.5, 2.0, 6.0],
        photon_weights: vec![0.5, 0.3, 0.2],
    };
    // 100 MU are 100 photons per cm2 at the isocentre, through 1 cm2.
    let want: f64 = 100.0
        * machine
            .spectrum
            .bins()
            .map(|(e, w)| w * e * kept_in_half_space(e))
            .sum::<f64>();
    let beam = field(Jaws::symmetric(10.0, 10.0), 0.0, 0.0, 0.0);
    let request = MccsRequest {
        variant,
        ..request(&block, vec![(beam, Arc::new(machine))], 200_000)
    };
    let got = run(&request, device, control)?;
    // Gy times g of a 2 cm voxel of 8 g/cm3; a Gy g is 1e-3 J.
    let joules: f64 = got
        .gy
        .data()
        .iter()
        .map(|gy| f64::from(*gy) * 64.0 * 1e-3)
        .sum();
    let off = 100.0 * (joules / 1.602_176_634e-13 / want - 1.0).abs();
    Ok(Row {
        job: "mccs",
        case: "energy of a narrow beam".to_owned(),
        device: device.to_string(),
        way: way(variant),
        against: "integral",
        worst: off,
        mean: off,
        tolerance: if variant == Variant::Own {
            ENERGY_PERCENT
        } else {
            PAPER_ENERGY_PERCENT
        },
        unit: "%",
        repeats: true,
    })
}

/// Fraction of a photon's energy deposited in a half space of water at normal incidence: the integral over the depth of the first
/// interaction. Forward cones of the kernel deposit all their energy (to the last radius), backward cones the part within the
/// distance to the surface.
fn kept_in_half_space(energy_mev: f64) -> f64 {
    const STEPS: usize = 4000;
    let table = KernelTable::water();
    let mu = table.mu_over_rho_cm2_g(energy_mev);
    let classes = KernelClass::ALL.map(|class| table.cumulative(class, energy_mev));
    let radii = table.outer_radii_cm();
    let within = |cone: usize, radius: f64| {
        let within_shell = |shell: usize| classes.iter().map(|c| c[shell][cone]).sum::<f64>();
        let above = radii.partition_point(|r| *r < radius);
        let (low, from) = if above == 0 {
            (0.0, 0.0)
        } else {
            (radii[above - 1], within_shell(above - 1))
        };
        if above == radii.len() {
            from
        } else {
            from + (within_shell(above) - from) * (radius - low) / (radii[above] - low)
        }
    };
    let kept = |cone: usize, depth: f64| {
        let [inner, outer] = KernelTable::cone_edges_deg(cone);
        let middle = (0.5 * (inner + outer)).to_radians().cos();
        within(
            cone,
            if middle > 0.0 {
                f64::INFINITY
            } else {
                depth / -middle
            },
        )
    };
    let step = 20.0 / mu / STEPS as f64;
    (0..STEPS)
        .map(|n| {
            let depth = (n as f64 + 0.5) * step;
            mu * (-mu * depth).exp() * step * (0..CONES).map(|cone| kept(cone, depth)).sum::<f64>()
        })
        .sum()
}
