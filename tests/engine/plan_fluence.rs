//! Fluence of the real plans of `data/patients`: compared with the time for which each point is open, counted
//! step by step.

use crate::common::patient_case;
use beamsight::case::{Beam, ControlPoint, MlcAxis};
use beamsight::dicom::read_plan;
use beamsight::physics::{Exposure, Fluence, Machine, exposures};
use std::path::PathBuf;

fn plans() -> Vec<PathBuf> {
    let cases = [
        "rtplans-dev",
        "breast-imrt",
        "eclipse-rando-breast",
        "oncentra-phantom",
    ];
    let files = cases
        .into_iter()
        .filter_map(patient_case)
        .flat_map(|folder| {
            let entries = std::fs::read_dir(folder)
                .unwrap()
                .map(|e| e.unwrap().path());
            entries
                .filter(|p| p.file_name().unwrap().to_string_lossy().starts_with('R'))
                .collect::<Vec<_>>()
        });
    files.collect()
}

/// Share of an exposure's units for which a point lies inside jaws and leaves; edges are sharp.
fn time_open(beam: &Beam, exposure: &Exposure<'_>, x: f64, y: f64) -> f64 {
    let steps = 16;
    let mix = |a: f64, b: f64, t: f64| a + t * (b - a);
    let open = |p: &ControlPoint, q: &ControlPoint, t: f64| {
        let within =
            |a: [f64; 2], b: [f64; 2], v: f64| v > mix(a[0], b[0], t) && v < mix(a[1], b[1], t);
        let in_jaws = within(p.jaws.x, q.jaws.x, x) && within(p.jaws.y, q.jaws.y, y);
        let in_leaves = beam.mlc.as_ref().is_none_or(|mlc| {
            let (u, v) = if mlc.axis == MlcAxis::X {
                (x, y)
            } else {
                (y, x)
            };
            let row = mlc
                .boundaries_mm
                .windows(2)
                .position(|w| v >= w[0] && v < w[1]);
            row.is_none_or(|r| within(p.leaves_mm[r], q.leaves_mm[r], u))
        });
        in_jaws && in_leaves
    };
    let share = |n: usize, span: [f64; 2]| mix(span[0], span[1], (n as f64 + 0.5) / steps as f64);
    exposure
        .segments
        .iter()
        .map(|s| {
            let times = (0..steps)
                .filter(|&n| open(s.from, s.to, share(n, s.span)))
                .count();
            s.weight * times as f64 / steps as f64
        })
        .sum()
}

#[test]
fn real_plans_open_where_their_leaves_say() {
    let mut beams = 0;
    for path in plans() {
        let Ok(plan) = read_plan(&path, None) else {
            continue;
        };
        for beam in plan
            .beams
            .iter()
            .filter(|b| b.read_only.is_none() && b.mu > 0.0)
        {
            let mut machine = Machine::resolve(plan.machine_of(beam))
                .unwrap()
                .as_ref()
                .clone();
            machine.off_axis = beamsight::physics::Curve::constant(1.0);
            let all = exposures(beam, 4.0);
            let shares: f64 = all.iter().map(|e| e.share).sum();
            assert!(
                (shares - 1.0).abs() < 1e-9,
                "{path:?} {}: {shares}",
                beam.name
            );
            // One exposure, the middle one, represents an arc.
            let exposure = &all[all.len() / 2];
            let fluence =
                Fluence::new(&machine, beam, exposure).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            let (mut sum, mut open) = (0.0, 0.0);
            let points = (-10..10).flat_map(|i| (-10..10).map(move |j| (i, j)));
            for (x, y) in
                points.map(|(i, j)| (f64::from(i) * 10.0 + 1.1, f64::from(j) * 10.0 + 2.5))
            {
                let got = fluence.at(x, y, 1000.0, 2.0);
                assert!(
                    (0.0..1.2).contains(&got),
                    "{path:?} {} at ({x}, {y}): {got}",
                    beam.name
                );
                sum += got;
                open += time_open(beam, exposure, x, y);
            }
            // Leakage adds up to 0.012 over the field, round leaf ends 0.7 mm to each gap of some 10 mm.
            let (sum, open) = (sum / 400.0, open / 400.0);
            println!(
                "{} {}: {sum:.4}, open {open:.4}",
                path.file_name().unwrap().display(),
                beam.name
            );
            assert!(
                (sum - open).abs() < 0.12 * open + 0.012,
                "{path:?} {}: {sum} against {open}",
                beam.name
            );
            beams += 1;
        }
    }
    if patient_case("rtplans-dev").is_some() {
        assert!(beams > 15, "only {beams} beams");
    }
}
