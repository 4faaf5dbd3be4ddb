//! Data computed from a machine with altered numbers: the fit finds them again from the generic machine.

use beamsight::analysis::machine_fit::{
    Fit, FitContext, FitError, FitSettings, FittedParameter, Provenance, Sampling, Standing,
    TankData, compare, fit, machine_text,
};
use beamsight::case::{Beam, Jaws};
use beamsight::engine::cccs::beam_dose;
use beamsight::engine::dose::{DoseRequest, DoseTo, Quality};
use beamsight::engine::{Compute, JobControl, phantom};
use beamsight::files::measured::{
    FieldEdges, MeasuredCurve, OutputFactor, OutputFactors, Scan, ScanAxis,
};
use beamsight::geometry::{Grid, Volume};
use beamsight::physics::{Calibration, Electrons, Machine, Material, Parameter};
use glam::DVec3;
use std::sync::{Arc, LazyLock};

/// Voxels of the tank of the tests, mm; fine enough to tell the parameters from each other.
const STEPS_MM: DVec3 = DVec3::new(5.0, 5.0, 10.0);
const SSD_MM: f64 = 900.0;
const DEPTH_MM: f64 = 102.5;

const COARSE: Sampling = Sampling {
    along_mm: STEPS_MM.x,
    depth_mm: STEPS_MM.y,
    across_mm: STEPS_MM.z,
    margin_mm: 60.0,
    quality: Quality::Fast,
};
const SETTINGS: FitSettings = FitSettings {
    rough: Sampling {
        quality: Quality::Preview,
        ..COARSE
    },
    fine: COARSE,
    last: COARSE,
    rounds: 6,
};

static CONTROL: LazyLock<JobControl> = LazyLock::new(JobControl::new);

fn context() -> FitContext<'static> {
    FitContext {
        device: &Compute::Cpu,
        control: &CONTROL,
        tell: &|_| {},
    }
}

/// The plane of the axis and X of a tank, by the engine itself: the dose at voxel centres.
struct Tank {
    gy: Arc<Volume<f32>>,
    surface_mm: f64,
}

impl Tank {
    fn new(machine: &Machine, side_mm: f64) -> Self {
        Self::with_steps(machine, side_mm, STEPS_MM)
    }

    fn with_steps(machine: &Machine, side_mm: f64, steps_mm: DVec3) -> Self {
        Self::shaped(machine, side_mm, steps_mm, &|_| {})
    }

    /// A tank whose jaws are those of a square field unless `shape` sets others.
    fn shaped(machine: &Machine, side_mm: f64, steps_mm: DVec3, shape: &dyn Fn(&mut Beam)) -> Self {
        let across = |step: f64| 2 * ((0.55 * side_mm + 70.0) / step) as usize + 1;
        let size = [across(steps_mm.x), 52, across(steps_mm.z)];
        let patient = phantom::patient(steps_mm, size, |_| (1.0, Material::Water)).unwrap();
        let surface_mm = -0.5 * 52.0 * steps_mm.y;
        let isocentre = DVec3::new(0.0, surface_mm + 1000.0 - SSD_MM, 0.0);
        let first = 0.5 * (steps_mm - steps_mm * DVec3::from(size.map(|n| n as f64)));
        let mut beam = Beam::fixed(
            "tank",
            1,
            0.0,
            isocentre,
            Jaws::symmetric(side_mm, side_mm),
            1.0,
        );
        shape(&mut beam);
        let request = DoseRequest {
            grid: Arc::new(Grid::axis_aligned(first, steps_mm, size).unwrap()),
            patient,
            machine: Arc::new(machine.clone()),
            beam,
            quality: Quality::Fast,
            dose_to: DoseTo::Water,
        };
        Self {
            gy: beam_dose(&request, &Compute::Cpu, &CONTROL).unwrap().gy,
            surface_mm,
        }
    }

    fn at(&self, x_mm: f64, depth_mm: f64) -> f64 {
        self.value(x_mm, depth_mm, 0.0)
    }

    /// Gantry and collimator at 0, head first supine: the device's X is patient x, its Y patient z.
    fn value(&self, x_mm: f64, depth_mm: f64, y_mm: f64) -> f64 {
        f64::from(
            self.gy
                .trilinear(DVec3::new(x_mm, self.surface_mm + depth_mm, y_mm))
                .expect("inside"),
        )
    }
}

/// Depth doses, profiles and output factors of a machine, without noise.
fn measured(machine: &Machine, sides_mm: &[f64]) -> TankData {
    let mut data = TankData::default();
    let reference = Tank::new(machine, 100.0).at(0.0, DEPTH_MM);
    let mut factors = Vec::new();
    for side in sides_mm {
        let tank = Tank::new(machine, *side);
        let curve = |scan, points| MeasuredCurve {
            scan,
            field_mm: [*side; 2],
            edges: FieldEdges::Jaws,
            ssd_mm: SSD_MM,
            points,
        };
        let depths = (0..40).map(|n| 2.5 + 5.0 * f64::from(n));
        data.curves.push(curve(
            Scan::Depth,
            depths.map(|d| [d, tank.at(0.0, d)]).collect(),
        ));
        for depth_mm in [52.5, 152.5] {
            let reach = (0.55 * side + 40.0) / 5.0;
            let places = (-(reach as i32)..=reach as i32).map(|n| 5.0 * f64::from(n));
            let scan = Scan::Profile {
                axis: ScanAxis::Crossline,
                depth_mm,
            };
            // In a unit of its own, as scanners have it.
            data.curves.push(curve(
                scan,
                places.map(|x| [x, 37.0 * tank.at(x, depth_mm)]).collect(),
            ));
        }
        factors.push(OutputFactor {
            field_mm: [*side; 2],
            factor: tank.at(0.0, DEPTH_MM) / reference,
        });
    }
    let gy_per_mu = None;
    let digest = String::new();
    data.factors = Some(OutputFactors {
        ssd_mm: SSD_MM,
        depth_mm: DEPTH_MM,
        reference_mm: [100.0; 2],
        gy_per_mu,
        factors,
        digest,
    });
    data
}

fn fitted_value(fit: &Fit, parameter: Parameter) -> FittedParameter {
    *fit.parameters
        .iter()
        .find(|p| p.parameter == parameter)
        .expect("listed")
}

/// Leaves planned at 30.6 mm are those of a field of 60 mm with an offset of 0.6 mm. Of a field of jaws nothing is said of leaves.
#[test]
fn the_offset_of_leaves_is_found_from_a_field_that_they_bound() {
    const OFFSET_MM: f64 = 0.6;
    let start = Machine::resolve("generic-6mv").unwrap();
    let mlc = start.leaves.as_ref().unwrap().to_case();
    let shape = |beam: &mut Beam| {
        let tips = |sides: &[f64]| match (0.5 * (sides[0] + sides[1])).abs() < 30.0 {
            true => [-30.0 - OFFSET_MM, 30.0 + OFFSET_MM],
            false => [60.0, 60.0],
        };
        beam.control_points[0].leaves_mm = mlc.boundaries_mm.windows(2).map(tips).collect();
        beam.control_points[0].jaws = Jaws::symmetric(80.0, 80.0);
        beam.mlc = Some(mlc.clone());
    };
    let tank = Tank::shaped(&start, 60.0, STEPS_MM, &shape);
    let data = |edges| {
        let points = (-12..=12)
            .map(|n| 5.0 * f64::from(n))
            .map(|x| [x, tank.at(x, 52.5)])
            .collect();
        let scan = Scan::Profile {
            axis: ScanAxis::Crossline,
            depth_mm: 52.5,
        };
        let curve = MeasuredCurve {
            scan,
            field_mm: [60.0; 2],
            edges,
            ssd_mm: SSD_MM,
            points,
        };
        TankData {
            curves: vec![curve],
            factors: None,
        }
    };
    let others = |p: &Parameter| *p != Parameter::LeafOffset;
    let fixed: Vec<Parameter> = Parameter::ALL.into_iter().filter(others).collect();
    let found = fit(
        &start,
        &data(FieldEdges::Leaves),
        &fixed,
        &SETTINGS,
        &context(),
    )
    .unwrap();
    let offset = fitted_value(&found, Parameter::LeafOffset);
    println!("{offset:?}");
    assert!(
        offset.standing == Standing::Fitted && (offset.value - OFFSET_MM).abs() < 0.1,
        "{offset:?}"
    );
    let text = machine_text(&found, &Provenance::default(), None);
    let read = Machine::parse(&text, "my.toml").unwrap().leaves.unwrap();
    assert!(
        (read.offset_mm - offset.value).abs() < 1e-4 && text.contains("mlc = \"millennium120\""),
        "{text}"
    );
    let of_jaws = fit(
        &start,
        &data(FieldEdges::Jaws),
        &fixed,
        &SETTINGS,
        &context(),
    );
    assert!(matches!(of_jaws, Err(FitError::NoParameter(_))));
    let without = Machine {
        leaves: None,
        ..(*start).clone()
    };
    let refused = fit(
        &without,
        &data(FieldEdges::Leaves),
        &fixed,
        &SETTINGS,
        &context(),
    )
    .map(|_| ());
    assert!(
        refused
            .expect_err("no leaves")
            .to_string()
            .contains("bounded by leaves")
    );
}

#[test]
fn altered_numbers_are_found_again() {
    let start = Machine::resolve("generic-6mv").unwrap();
    let truth = start.adjusted(&[
        (Parameter::SpectrumSlope, 0.3),
        (Parameter::OffAxis50, 0.985),
        (Parameter::OffAxis100, 1.025),
        (Parameter::FocalX, 1.4),
        (Parameter::ExtraFocalShare, 0.12),
        (Parameter::ElectronShare, 0.12),
    ]);
    let data = measured(&truth, &[60.0, 160.0]);
    let before = compare(&start, &data, &COARSE, &context()).unwrap();
    let found = fit(
        &start,
        &data,
        &[Parameter::ExtraFocalSigma],
        &SETTINGS,
        &context(),
    )
    .unwrap();
    found.parameters.iter().for_each(|p| println!("{p:?}"));
    println!(
        "{} rounds, {} doses, cost {:?}",
        found.rounds, found.doses, found.cost
    );
    let report = compare(&found.machine, &data, &COARSE, &context()).unwrap();
    let worst = |r: &beamsight::analysis::machine_fit::Report| {
        let curves = r
            .curves
            .iter()
            .map(|c| c.greatest_percent.abs())
            .fold(0.0, f64::max);
        (
            curves,
            r.output_factors
                .iter()
                .map(|f| f.difference_percent.abs())
                .fold(0.0, f64::max),
        )
    };
    println!("before {:?}, after {:?}", worst(&before), worst(&report));
    report.curves.iter().for_each(|c| {
        println!(
            "{}: {:+.2} %, {:?} mm",
            c.label, c.greatest_percent, c.dta_mm
        )
    });
    assert!(
        worst(&before).0 > 4.0 && !before.is_within(),
        "the start is off: {:?}",
        worst(&before)
    );
    assert!(
        report.is_within() && worst(&report).1 < 0.3,
        "{:?}",
        report.outside()
    );
    for curve in &report.curves {
        // Where dose builds up, 5 mm of water a voxel leave the electrons half a millimetre.
        assert!(
            curve.high_dose_percent.unwrap().abs() < 0.8,
            "{}: {:?}",
            curve.label,
            curve.high_dose_percent
        );
        assert!(
            curve.dta_mm.unwrap() < 0.5,
            "{}: {:?} mm",
            curve.label,
            curve.dta_mm
        );
    }
    for (parameter, want, within) in [
        (Parameter::OffAxis50, 0.985, 0.005),
        (Parameter::OffAxis100, 1.025, 0.008),
        (Parameter::FocalX, 1.4, 0.1),
        (Parameter::ExtraFocalShare, 0.12, 0.015),
        (Parameter::ElectronShare, 0.12, 0.04),
    ] {
        let got = fitted_value(&found, parameter);
        assert!(
            (got.value - want).abs() < within && got.standing == Standing::Fitted,
            "{got:?}, not {want}"
        );
    }
    // Slope and filter both harden a spectrum; together they are its mean energy.
    let [got, want] = [&found.machine, &truth].map(|m| m.spectrum.mean_energy_mev());
    assert!((got / want - 1.0).abs() < 0.03, "{got} MeV, not {want}");

    // What nothing was measured of, or what is fixed, stays.
    let (focal_y, sigma) = (
        fitted_value(&found, Parameter::FocalY),
        fitted_value(&found, Parameter::ExtraFocalSigma),
    );
    assert_eq!(
        (focal_y.standing, focal_y.value),
        (Standing::NotMeasured, start.focal_sigma_mm[1])
    );
    assert_eq!(
        (sigma.standing, Some(sigma.value)),
        (Standing::Fixed, start.extra_focal.map(|e| e.sigma_mm))
    );

    // The file reads back as the machine, and says where its numbers come from.
    let files = vec![("tank.csv".to_owned(), "CRC-32 01234567, 8 bytes".to_owned())];
    let provenance = Provenance {
        start: start.name.clone(),
        date: "2026-11-24".to_owned(),
        files,
    };
    let text = machine_text(&found, &provenance, Some(&report));
    let read = Machine::parse(&text, "my.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!((read.spectrum.mean_energy_mev() / got - 1.0).abs() < 1e-4);
    assert_eq!(read.calibration, found.machine.calibration);
    for words in [
        "tank.csv (CRC-32 01234567",
        "Verdict: within tolerance where tested",
        "NOT TESTED: absolute calibration",
        "nothing was measured",
        "fixed by the user",
    ] {
        assert!(text.contains(words), "no '{words}' in\n{text}");
    }
    // Without a measured dose for a monitor unit the calibration is the starting machine's, and has no remark.
    for (before, key) in text.lines().zip(text.lines().skip(1)) {
        if ["[spectrum]", "[focal_source]", "[electrons]"].contains(&key) {
            assert!(before.starts_with('#'), "{key} has no remark");
        }
    }
}

/// The dose for a monitor unit at another depth than the start is calibrated at, and the electrons there: the machine that is
/// found delivers both.
#[test]
fn a_measured_dose_for_a_monitor_unit_is_found_again() {
    const GY_PER_MU: f64 = 0.0069;
    let start = Machine::resolve("generic-6mv").unwrap();
    let electrons = start.electrons.map(|e| Electrons {
        surface_share: 0.12,
        ..e
    });
    let calibration = Calibration::Reference {
        field_mm: [100.0; 2],
        ssd_mm: SSD_MM,
        depth_mm: DEPTH_MM,
        gy_per_mu: GY_PER_MU,
    };
    assert_ne!(
        start.calibration, calibration,
        "the start is calibrated elsewhere"
    );
    let truth = Machine {
        electrons,
        calibration,
        ..(*start).clone()
    };
    let side = 60.0;
    let tank = Tank::new(&truth, side);
    let depths = (0..30).map(|n| 2.5 + 5.0 * f64::from(n));
    let points = depths.map(|d| [d, tank.at(0.0, d)]).collect();
    let curve = MeasuredCurve {
        scan: Scan::Depth,
        field_mm: [side; 2],
        edges: FieldEdges::Jaws,
        ssd_mm: SSD_MM,
        points,
    };
    let reference = Tank::new(&truth, 100.0);
    let factor = tank.at(0.0, DEPTH_MM) / reference.at(0.0, DEPTH_MM);
    let factors = OutputFactors {
        ssd_mm: SSD_MM,
        depth_mm: DEPTH_MM,
        reference_mm: [100.0; 2],
        gy_per_mu: Some(GY_PER_MU),
        factors: vec![OutputFactor {
            field_mm: [side; 2],
            factor,
        }],
        digest: String::new(),
    };
    let data = TankData {
        curves: vec![curve],
        factors: Some(factors),
    };
    let of_electrons = |p: &Parameter| *p == Parameter::ElectronShare;
    let fixed: Vec<Parameter> = Parameter::ALL
        .into_iter()
        .filter(|p| !of_electrons(p))
        .collect();
    let found = fit(&start, &data, &fixed, &SETTINGS, &context()).unwrap();
    let share = fitted_value(&found, Parameter::ElectronShare);
    println!(
        "{share:?}, calibrated {}, {:?}",
        found.calibrated, found.machine.calibration
    );
    assert!(found.calibrated && found.machine.calibration == calibration);
    assert!(
        share.standing == Standing::Fitted && (share.value - 0.12).abs() < 0.04,
        "{share:?}"
    );
    // Four voxels of build-up tell little: between what was believed and the truth, by how much of the belief the data leave.
    let left = share.uncertainty.expect("fitted") / Parameter::ElectronShare.allowed().believed;
    let mean = share.start + (1.0 - left * left) * (0.12 - share.start);
    assert!(
        (share.value - mean).abs() < 0.002 && mean > share.start + 0.005,
        "{share:?}, not {mean}"
    );
    // The dose itself, of the machine as its file has it.
    let provenance = Provenance {
        start: start.name.clone(),
        ..Provenance::default()
    };
    let text = machine_text(&found, &provenance, None);
    assert!(text.contains("Measured with the output factors"), "{text}");
    let tank = Tank::new(&Machine::parse(&text, "my.toml").unwrap(), 100.0);
    // Of the electrons voxels of 5 mm say little: where they are, the dose is as uncertain as their share.
    for (depth_mm, within) in [(2.5, 0.03), (22.5, 0.01), (DEPTH_MM, 0.003), (152.5, 0.01)] {
        let [got, want] = [&tank, &reference].map(|tank| tank.at(0.0, depth_mm));
        assert!(
            (got / want - 1.0).abs() < within,
            "{depth_mm} mm: {got} Gy, not {want}"
        );
    }
    assert!(
        (tank.at(0.0, DEPTH_MM) / GY_PER_MU - 1.0).abs() < 0.003,
        "{}",
        tank.at(0.0, DEPTH_MM)
    );
}

/// An output factor of a field at the depth of the tests, over 10 x 10.
fn factor(machine: &Machine, side_mm: f64) -> f64 {
    Tank::new(machine, side_mm).at(0.0, DEPTH_MM) / Tank::new(machine, 100.0).at(0.0, DEPTH_MM)
}

/// A harder spectrum lowers phantom scatter, and with it the factors of large fields. Nothing was measured of them: they stay those
/// of the start, and depth doses and profiles are fitted all the same.
#[test]
fn without_output_factors_those_of_the_start_hold_beside_another_spectrum() {
    let start = Machine::resolve("generic-6mv").unwrap();
    let truth = start.adjusted(&[(Parameter::SpectrumSlope, 0.3)]);
    let of_truth = factor(&truth, 300.0) / factor(&start, 300.0) - 1.0;
    assert!(of_truth < -0.006, "{of_truth}");
    let data = TankData {
        factors: None,
        ..measured(&truth, &[60.0, 160.0])
    };
    let fitted = [
        Parameter::SpectrumSlope,
        Parameter::OffAxis50,
        Parameter::OffAxis100,
        Parameter::ExtraFocalShare,
        Parameter::ExtraFocalSigma,
    ];
    let fixed: Vec<Parameter> = Parameter::ALL
        .into_iter()
        .filter(|p| !fitted.contains(p))
        .collect();
    let found = fit(&start, &data, &fixed, &SETTINGS, &context()).unwrap();
    found.parameters.iter().for_each(|p| println!("{p:?}"));
    println!("{:?}", found.held);
    let slope = fitted_value(&found, Parameter::SpectrumSlope);
    assert!(
        slope.standing == Standing::Fitted && (slope.value - 0.3).abs() < 0.12,
        "{slope:?}"
    );
    for parameter in [Parameter::ExtraFocalShare, Parameter::ExtraFocalSigma] {
        assert_eq!(fitted_value(&found, parameter).standing, Standing::Held);
    }
    for side_mm in [60.0, 200.0, 300.0] {
        let drift = factor(&found.machine, side_mm) / factor(&start, side_mm) - 1.0;
        assert!(drift.abs() < 0.005, "{side_mm} mm: {drift}");
    }
    assert!(
        found.held.len() == 3 && found.held.iter().all(|f| f.drift_percent().abs() < 0.5),
        "{:?}",
        found.held
    );
    let report = compare(&found.machine, &data, &COARSE, &context()).unwrap();
    assert!(report.is_within(), "{:?}", report.outside());
}

/// Without output factors those of the start hold, though profiles have tails of another head scatter. A number whose truth lies
/// beyond its range is told as a failure.
#[test]
fn what_was_not_measured_stays_and_the_end_of_a_range_is_a_failure() {
    let start = Machine::resolve("generic-6mv").unwrap();
    let truth = Machine {
        focal_sigma_mm: [6.0, 0.5],
        ..start.adjusted(&[(Parameter::ExtraFocalShare, 0.2)])
    };
    let data = TankData {
        factors: None,
        ..measured(&truth, &[60.0])
    };
    let fitted = [
        Parameter::FocalX,
        Parameter::ExtraFocalShare,
        Parameter::ExtraFocalSigma,
    ];
    let fixed: Vec<Parameter> = Parameter::ALL
        .into_iter()
        .filter(|p| !fitted.contains(p))
        .collect();
    let found = fit(&start, &data, &fixed, &SETTINGS, &context()).unwrap();
    for parameter in [Parameter::ExtraFocalShare, Parameter::ExtraFocalSigma] {
        assert_eq!(
            fitted_value(&found, parameter).standing,
            Standing::Held,
            "{:?}",
            fitted_value(&found, parameter)
        );
    }
    let [got, want] = [&found.machine, &*start].map(|machine| factor(machine, 60.0));
    assert!((got / want - 1.0).abs() < 0.005, "{got}, {want}");
    assert_eq!(
        fitted_value(&found, Parameter::FocalX).standing,
        Standing::AtBound,
        "{:?}",
        fitted_value(&found, Parameter::FocalX)
    );
}

#[test]
fn a_fit_is_cancelled_and_refuses_what_it_cannot_do() {
    let start = Machine::resolve("generic-6mv").unwrap();
    let depths = (0..20).map(|n| [2.5 + 5.0 * f64::from(n), 1.0]).collect();
    let curve = MeasuredCurve {
        scan: Scan::Depth,
        field_mm: [60.0; 2],
        edges: FieldEdges::Jaws,
        ssd_mm: SSD_MM,
        points: depths,
    };
    let data = TankData {
        curves: vec![curve],
        factors: None,
    };
    let control = JobControl::new();
    control.cancel();
    let cancelled = FitContext {
        control: &control,
        ..context()
    };
    assert_eq!(
        fit(&start, &data, &[], &SETTINGS, &cancelled)
            .unwrap_err()
            .to_string(),
        "cancelled"
    );
    let fixed = fit(&start, &data, &Parameter::ALL, &SETTINGS, &context());
    assert!(matches!(fixed, Err(FitError::NoParameter(_))), "{fixed:?}");
    let nothing = fit(&start, &TankData::default(), &[], &SETTINGS, &context());
    assert!(matches!(nothing, Err(FitError::NoData)), "{nothing:?}");
    let point = Machine::resolve("point-6mv").unwrap();
    assert!(matches!(
        fit(&point, &data, &[], &SETTINGS, &context()),
        Err(FitError::Uncalibrated(_))
    ));
}

/// A focal spot that is wide along Y alone blurs inline profiles and no others. The tank here has its collimator at 0.
#[test]
fn inline_profiles_are_those_along_y() {
    let mut machine = (*Machine::resolve("generic-6mv").unwrap()).clone();
    machine.focal_sigma_mm = [0.3, 2.5];
    let tank = Tank::with_steps(&machine, 60.0, DVec3::splat(5.0));
    let curve = |axis, along: &dyn Fn(f64) -> f64| {
        let points = (-14..=14)
            .map(|n| 5.0 * f64::from(n))
            .map(|at| [at, along(at)])
            .collect();
        MeasuredCurve {
            scan: Scan::Profile {
                axis,
                depth_mm: 52.5,
            },
            field_mm: [60.0; 2],
            edges: FieldEdges::Jaws,
            ssd_mm: SSD_MM,
            points,
        }
    };
    let inline = |at: f64| tank.value(0.0, 52.5, at);
    let curves = vec![
        curve(ScanAxis::Crossline, &|at| tank.value(at, 52.5, 0.0)),
        curve(ScanAxis::Inline, &inline),
        curve(ScanAxis::Crossline, &inline),
    ];
    let data = TankData {
        curves,
        factors: None,
    };
    let report = compare(
        &machine,
        &data,
        &Sampling {
            across_mm: 5.0,
            ..COARSE
        },
        &context(),
    )
    .unwrap();
    let worst: Vec<f64> = report
        .curves
        .iter()
        .map(|c| c.greatest_percent.abs())
        .collect();
    println!("{worst:?}");
    assert!(
        worst[0] < 0.5 && worst[1] < 0.5 && worst[2] > 3.0,
        "{worst:?}"
    );
}
