//! Collapsed cone: phantoms and fields of every kind, a card against the CPU, and both against the plain reference.

use crate::cccs::{cpu, cuda, reference, wgpu};
use crate::dose::{BeamDose, DoseError, DoseRequest, DoseTo, Quality};
use crate::failure::Failure;
use crate::phantom::patient;
use crate::selftest::{Row, differences};
use crate::{Compute, DeviceError, JobControl, Random};
use case::{Beam, ControlPoint, Jaws};
use geometry::Grid;
use glam::{DMat3, DVec3, EulerRot};
use physics::{Calibration, Machine, Material, Patient};
use std::sync::Arc;

/// Greatest difference, percent of the greatest dose.
const TOLERANCE: f64 = 0.1;
/// ... of a graphics device, whose plain kernels evaluate kernel coefficients elsewhere; of a preview, uncorrected.
const TOLERANCE_WGPU: f64 = 0.3;
const TOLERANCE_WGPU_PREVIEW: f64 = 1.0;
/// ... of the plain reference, in the worst voxel of small cases: next to air and bone, where few lines tell.
const OF_REFERENCE: f64 = 1.5;

struct DoseCase {
    name: String,
    request: DoseRequest,
}

pub(crate) fn rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let failed = |why: Box<dyn std::error::Error>| DeviceError::case("cccs", why);
    let cases = cases().map_err(failed)?;
    let mut rows = Vec::with_capacity(cases.len());
    for case in &cases {
        control.check()?;
        // The CPU is compared with itself once, for equal bits.
        if device.is_card() || rows.is_empty() {
            rows.push(compare(case, device, control)?);
        }
    }
    for case in &small_cases().map_err(failed)? {
        control.check()?;
        rows.push(judge(case, device, control)?);
    }
    Ok(rows)
}

/// The cases that take little time on any device, at every grade of quality.
#[cfg(test)]
pub(crate) fn small_rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let mut rows = Vec::new();
    for mut case in small_cases().map_err(|why| DeviceError::case("cccs", why))? {
        for quality in [Quality::Preview, Quality::Standard, Quality::Full] {
            control.check()?;
            case.request.quality = quality;
            rows.push(compare(&case, device, control)?);
        }
        rows.push(judge(&case, device, control)?);
    }
    Ok(rows)
}

/// Compares a dose with the CPU's.
fn compare(case: &DoseCase, device: &Compute, control: &JobControl) -> Result<Row, DeviceError> {
    let want = cpu::beam_dose(&case.request, control);
    let want = want.map(|dose| dose.gy.data().iter().map(|gy| f64::from(*gy)).collect());
    let tolerance = match (device, case.request.quality) {
        (Compute::Cpu | Compute::Cuda(_), _) => TOLERANCE,
        (Compute::Wgpu(_), Quality::Preview) => TOLERANCE_WGPU_PREVIEW,
        (Compute::Wgpu(_), _) => TOLERANCE_WGPU,
    };
    compared(
        want,
        Judge {
            name: "CPU",
            tolerance_percent: tolerance,
        },
        case,
        device,
        control,
    )
}

/// Compares a dose with the plain reference, which has enough lines to make the lattice's discretisation negligible; moving
/// collimators are static in each of `STEPS` steps.
fn judge(case: &DoseCase, device: &Compute, control: &JobControl) -> Result<Row, DeviceError> {
    const LINES: usize = 3;
    const STEPS: usize = 300;
    let plain = DoseRequest {
        beam: in_steps(&case.request.beam, STEPS),
        ..case.request.clone()
    };
    let want = reference::beam_dose(&plain, LINES, control);
    let judge = Judge {
        name: "reference",
        tolerance_percent: OF_REFERENCE,
    };
    compared(want, judge, case, device, control)
}

/// Source of the expected dose, and how far a dose may be off.
struct Judge {
    name: &'static str,
    tolerance_percent: f64,
}

fn compared(
    want: Result<Vec<f64>, DoseError>,
    judge: Judge,
    case: &DoseCase,
    device: &Compute,
    control: &JobControl,
) -> Result<Row, DeviceError> {
    let row = |worst: f64, mean: f64, repeats: bool| Row {
        job: "cccs",
        case: case.name.clone(),
        device: device.to_string(),
        way: case.request.quality.word(),
        against: judge.name,
        worst,
        mean,
        tolerance: judge.tolerance_percent,
        unit: "%",
        repeats,
    };
    let answers = want.map_err(Failure::Job).and_then(|want| {
        let got = dose_on(device, &case.request, control)?;
        Ok((want, got, dose_on(device, &case.request, control)?))
    });
    let (want, got, again) = match answers {
        Ok(answers) => answers,
        Err(Failure::Card(error)) => return Err(error),
        Err(Failure::Job(_)) => return Ok(row(f64::INFINITY, f64::INFINITY, false)),
    };
    let greatest = want.iter().copied().fold(0.0, f64::max);
    let (worst, mean) = differences(got.gy.data(), &want);
    Ok(row(
        100.0 * worst / greatest,
        100.0 * mean / greatest,
        bits(&got) == bits(&again),
    ))
}

fn dose_on(
    device: &Compute,
    request: &DoseRequest,
    control: &JobControl,
) -> Result<BeamDose, Failure<DoseError, DeviceError>> {
    match device {
        Compute::Cpu => cpu::beam_dose(request, control).map_err(Failure::Job),
        Compute::Cuda(card) => cuda::beam_dose(request, card, control)
            .map_err(|failure| failure.map_card(DeviceError::Cuda)),
        Compute::Wgpu(card) => wgpu::beam_dose(request, card, control)
            .map_err(|failure| failure.map_card(DeviceError::Wgpu)),
    }
}

fn bits(dose: &BeamDose) -> Vec<u32> {
    dose.gy.data().iter().map(|gy| gy.to_bits()).collect()
}

/// Small ones, of a machine without calibration: the reference has none.
fn small_cases() -> Result<Vec<DoseCase>, Box<dyn std::error::Error>> {
    let machine = (*Machine::resolve("generic-6mv")?).clone();
    let machine = Arc::new(Machine {
        calibration: Calibration::PhotonFluence {},
        ..machine
    });
    let slab = |p: DVec3| {
        if p.y.abs() < 15.0 {
            (0.26, Material::Lung)
        } else {
            (1.0, Material::Water)
        }
    };
    let bone_and_air = |p: DVec3| match p {
        p if p.distance(DVec3::new(8.0, -10.0, 0.0)) < 12.0 => (1.8, Material::CorticalBone),
        p if p.distance(DVec3::new(-10.0, 8.0, 4.0)) < 9.0 => (0.0012, Material::Air),
        _ => (1.0, Material::Water),
    };
    type Of<'a> = &'a dyn Fn(DVec3) -> (f32, Material);
    let media: [(&str, Of<'_>, f64); 3] = [
        ("small water", &|_| (1.0, Material::Water), 0.0),
        ("small slab of lung", &slab, 37.0),
        ("small bone and air", &bone_and_air, 20.0),
    ];
    let mut cases: Vec<DoseCase> = media
        .into_iter()
        .map(|(name, matter_at, gantry_deg)| {
            let patient = patient(DVec3::new(4.0, 5.0, 4.5), [16, 14, 12], matter_at)?;
            let request = DoseRequest {
                grid: Arc::clone(patient.mass_density_g_cm3.grid()),
                patient,
                machine: Arc::clone(&machine),
                beam: field(Jaws::symmetric(32.0, 28.0), gantry_deg, 0.0, 0.0),
                quality: Quality::Full,
                dose_to: DoseTo::Medium,
            };
            Ok(DoseCase {
                name: name.to_owned(),
                request,
            })
        })
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    // Jaws that sweep, one axis and both; and both with leaves that sweep under them.
    let mut moving = |name: &str, mut beam: Beam, to: Jaws, leaves_by_mm: f64| {
        let mut last = ControlPoint {
            jaws: to,
            ..beam.control_points[0].clone()
        };
        last.leaves_mm
            .iter_mut()
            .for_each(|bank| *bank = bank.map(|mm| mm + leaves_by_mm));
        beam.control_points[0].meterset_weight = 0.0;
        beam.control_points.push(ControlPoint {
            meterset_weight: 1.0,
            ..last
        });
        let request = DoseRequest {
            beam,
            ..cases[0].request.clone()
        };
        cases.push(DoseCase {
            name: name.to_owned(),
            request,
        });
    };
    let jaws = |x: [f64; 2], y: [f64; 2]| Jaws { x, y };
    let narrow = field(jaws([-20.0, 18.0], [-14.0, 14.0]), 10.0, 20.0, 0.0);
    moving(
        "small water, moving jaws",
        narrow.clone(),
        jaws([-18.0, -12.0], [-14.0, 14.0]),
        0.0,
    );
    moving(
        "small water, all jaws moving",
        narrow.clone(),
        jaws([-8.0, 20.0], [-2.0, 17.0]),
        0.0,
    );
    if let Some(leaves) = &machine.leaves {
        let mut shaped = Beam {
            mlc: Some(leaves.to_case()),
            ..narrow
        };
        let pairs = leaves.boundaries_mm.len() - 1;
        shaped.control_points[0].leaves_mm = (0..pairs)
            .map(|row| [-17.0 + (row % 3) as f64, -2.0 + (row % 5) as f64])
            .collect();
        moving(
            "small water, moving jaws and leaves",
            shaped,
            jaws([-8.0, 20.0], [-2.0, 17.0]),
            14.0,
        );
    }
    Ok(cases)
}

/// A beam from one direction with moving collimators as static steps of equal weight; any other beam unchanged.
fn in_steps(beam: &Beam, steps: usize) -> Beam {
    let [from, to] = &beam.control_points[..] else {
        return beam.clone();
    };
    let share = |n: usize| n as f64 / steps as f64;
    Beam {
        control_points: (0..steps)
            .flat_map(|n| {
                let still = from.on_the_way_to(to, share(n) + 0.5 / steps as f64);
                [n, n + 1].map(|n| ControlPoint {
                    meterset_weight: share(n),
                    ..still.clone()
                })
            })
            .collect(),
        ..beam.clone()
    }
}

pub(crate) fn field(jaws: Jaws, gantry_deg: f64, collimator_deg: f64, couch_deg: f64) -> Beam {
    let mut beam = Beam::fixed("selftest", 1, gantry_deg, DVec3::ZERO, jaws, 100.0);
    for point in &mut beam.control_points {
        point.collimator_deg = collimator_deg;
        point.couch_deg = couch_deg;
    }
    beam
}

fn cases() -> Result<Vec<DoseCase>, Box<dyn std::error::Error>> {
    let machine = Machine::resolve("generic-6mv")?;
    let mut cases = Vec::new();
    let mut add = |name: &str,
                   patient: &Arc<Patient>,
                   machine: &Arc<Machine>,
                   beam: Beam,
                   quality: Quality| {
        let request = DoseRequest {
            grid: Arc::clone(patient.mass_density_g_cm3.grid()),
            patient: Arc::clone(patient),
            machine: Arc::clone(machine),
            beam,
            quality,
            dose_to: DoseTo::Medium,
        };
        cases.push(DoseCase {
            name: name.to_owned(),
            request,
        });
    };
    let square = |side: f64| Jaws::symmetric(side, side);
    let water = patient(DVec3::splat(5.0), [40, 36, 38], |_| (1.0, Material::Water))?;
    for quality in [
        Quality::Preview,
        Quality::Fast,
        Quality::Standard,
        Quality::Full,
    ] {
        add(
            "water 10x10",
            &water,
            &machine,
            field(square(100.0), 0.0, 0.0, 0.0),
            quality,
        );
    }
    let layers = patient(DVec3::splat(4.0), [41, 45, 37], |p| match p.y {
        y if (-40.0..10.0).contains(&y) => (0.25, Material::Lung),
        y if (20.0..32.0).contains(&y) => (1.8, Material::CorticalBone),
        _ => (1.0, Material::Water),
    })?;
    add(
        "slabs of lung and bone 5x5",
        &layers,
        &machine,
        field(square(50.0), 0.0, 0.0, 0.0),
        Quality::Full,
    );
    let mut random = Random::new(7);
    let seeds: Vec<f32> = (0..4096).map(|_| random.unit() as f32).collect();
    // One random density for each block of the given edges, mm.
    let speckles = |p: DVec3, block_mm: [usize; 3]| {
        let [x, y, z] = [0, 1, 2].map(|axis| (p[axis] + 100.0) as usize / block_mm[axis]);
        (
            0.2 + 1.3 * seeds[(x * 7 + y * 131 + z * 17) % seeds.len()],
            Material::Water,
        )
    };
    let ball = |p: DVec3, radius_mm: f64, block_mm: [usize; 3]| {
        if p.length() > radius_mm {
            (0.0, Material::Air)
        } else {
            speckles(p, block_mm)
        }
    };
    let speckled = patient(DVec3::new(3.0, 4.0, 5.0), [50, 40, 30], |p| {
        ball(p, 72.0, [9, 11, 13])
    })?;
    let asymmetric = Jaws {
        x: [-13.0, 42.0],
        y: [-37.0, 8.0],
    };
    add(
        "speckled ball, field edges, turned",
        &speckled,
        &machine,
        field(asymmetric, 37.0, 15.0, 20.0),
        Quality::Standard,
    );
    add(
        "speckled ball, uneven angles",
        &speckled,
        &machine,
        field(square(60.0), 123.4, 77.7, 301.3),
        Quality::Fast,
    );
    add(
        "speckled ball, from the feet",
        &speckled,
        &machine,
        field(square(60.0), 90.0, 0.0, 90.0),
        Quality::Standard,
    );
    let fine = patient(DVec3::splat(2.0), [40, 60, 40], |_| (1.0, Material::Water))?;
    add(
        "water 1x1",
        &fine,
        &machine,
        field(square(10.0), 270.0, 0.0, 0.0),
        Quality::Full,
    );
    let point = Machine::resolve("point-6mv")?;
    add(
        "water, point source",
        &fine,
        &point,
        field(square(30.0), 10.0, 0.0, 0.0),
        Quality::Standard,
    );
    let finest = patient(DVec3::splat(1.0), [70, 80, 60], |_| (1.0, Material::Water))?;
    add(
        "water of 1 mm, 3x3",
        &finest,
        &machine,
        field(square(30.0), 0.0, 0.0, 0.0),
        Quality::Full,
    );
    add(
        "water of 1 mm, point source",
        &finest,
        &point,
        field(square(30.0), 10.0, 0.0, 0.0),
        Quality::Standard,
    );
    let fine_speckled = patient(DVec3::splat(1.0), [70, 80, 60], |p| speckles(p, [1; 3]))?;
    add(
        "speckles of 1 mm",
        &fine_speckled,
        &machine,
        field(square(30.0), 20.0, 10.0, 0.0),
        Quality::Full,
    );
    let airway = |p: DVec3| DVec3::new(p.x - 8.0, p.y + 0.2 * p.z, 0.0).length() < 6.0;
    let airways = patient(DVec3::splat(1.0), [70, 80, 60], |p| match p.y {
        _ if airway(p) => (0.0012, Material::Air),
        y if y > -20.0 => (0.25, Material::Lung),
        _ => (1.0, Material::Water),
    })?;
    for quality in [Quality::Fast, Quality::Standard] {
        add(
            "airway in lung of 1 mm",
            &airways,
            &machine,
            field(square(30.0), 20.0, 0.0, 0.0),
            quality,
        );
    }
    let fine_ball = patient(DVec3::splat(2.5), [60; 3], |p| ball(p, 70.0, [3; 3]))?;
    for (quality, gantry_deg) in [(Quality::Standard, 37.0), (Quality::Full, 0.0)] {
        add(
            "speckled ball of 2.5 mm",
            &fine_ball,
            &machine,
            field(asymmetric, gantry_deg, 15.0, 0.0),
            quality,
        );
    }
    // Harder beams are more forward, and coarse voxels see the widest range of angles.
    for (name, quality) in [
        ("generic-10mv", Quality::Fast),
        ("generic-15mv", Quality::Fast),
        ("generic-15mv", Quality::Standard),
        ("generic-15mv", Quality::Full),
    ] {
        let harder = Machine::resolve(name)?;
        let beam = field(square(100.0), 0.0, 0.0, 0.0);
        add(
            &format!("water 10x10, {name}"),
            &water,
            &harder,
            beam,
            quality,
        );
    }
    let metal = patient(DVec3::splat(2.5), [60, 56, 50], |p| {
        if p.distance(DVec3::new(-20.0, -15.0, 5.0)) < 12.0 {
            (4.5, Material::Titanium)
        } else if p.distance(DVec3::new(15.0, -30.0, 0.0)) < 9.0 {
            (0.0012, Material::Air)
        } else {
            (1.0, Material::Water)
        }
    })?;
    for (quality, gantry_deg) in [(Quality::Standard, 20.0), (Quality::Full, 0.0)] {
        add(
            "titanium and air",
            &metal,
            &machine,
            field(square(50.0), gantry_deg, 0.0, 0.0),
            quality,
        );
    }
    if let Some(leaves) = &machine.leaves {
        let mut beam = field(square(100.0), 200.0, 30.0, 10.0);
        beam.mlc = Some(leaves.to_case());
        let bank = |row: usize| {
            [
                -20.0 - (row % 5) as f64 * 3.0,
                15.0 + (row % 7) as f64 * 4.0,
            ]
        };
        let pairs = leaves.boundaries_mm.len() - 1;
        beam.control_points
            .iter_mut()
            .for_each(|p| p.leaves_mm = (0..pairs).map(bank).collect());
        add(
            "speckled ball, leaves",
            &speckled,
            &machine,
            beam.clone(),
            Quality::Standard,
        );
        let mut last = beam.control_points[0].clone();
        beam.control_points[0].meterset_weight = 0.0;
        last.gantry_deg = 211.0;
        last.leaves_mm
            .iter_mut()
            .for_each(|bank| *bank = bank.map(|mm| mm + 12.0));
        beam.control_points.push(last);
        add(
            "speckled ball, arc with leaves",
            &speckled,
            &machine,
            beam,
            Quality::Fast,
        );
    }
    let turn = DMat3::from_euler(EulerRot::ZYX, 0.4, -0.3, 0.2);
    let planes: Vec<f64> = (0..28).map(|k| f64::from(k) * 4.0).collect();
    let first = turn * DVec3::new(-48.0, -40.0, -54.0);
    let oblique = Grid::new(
        first,
        turn.x_axis,
        turn.y_axis,
        [3.0, 3.5],
        [33, 24],
        &planes,
    )?;
    add(
        "oblique grid in slabs",
        &layers,
        &machine,
        field(square(70.0), 45.0, 0.0, 340.0),
        Quality::Standard,
    );
    if let Some(case) = cases.last_mut() {
        case.request.grid = Arc::new(oblique);
        case.request.dose_to = DoseTo::Water;
    }
    Ok(cases)
}
