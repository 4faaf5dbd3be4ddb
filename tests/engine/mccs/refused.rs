//! Refusals before any history is run, and their messages.

use super::request;
use crate::cccs::phantom::{block, machine};
use beamsight::case::{Beam, FluenceMap, Jaws, MlcAxis};
use beamsight::engine::histories::Next;
use beamsight::engine::mccs::{MccsRequest, refine};
use beamsight::engine::{Compute, JobControl};
use beamsight::physics::Machine;
use glam::DVec3;
use std::sync::Arc;

fn asked(change: impl FnOnce(&mut Beam, &mut Machine)) -> MccsRequest {
    let water = block(DVec3::splat(-50.0), DVec3::splat(10.0), [10; 3], |_| 1.0);
    let mut beam = Beam::fixed(
        "AP",
        1,
        0.0,
        DVec3::ZERO,
        Jaws::symmetric(40.0, 40.0),
        100.0,
    );
    let mut machine = (*machine("generic-6mv")).clone();
    let leaves = machine.leaves.clone().expect("leaves");
    beam.mlc = Some(leaves.to_case());
    beam.control_points[0].leaves_mm = vec![[-20.0, 20.0]; leaves.boundaries_mm.len() - 1];
    change(&mut beam, &mut machine);
    request(&water, vec![(beam, Arc::new(machine))], 1000)
}

fn map(value: f32) -> FluenceMap {
    let rows_mm = vec![-10.0, 0.0, 10.0];
    FluenceMap {
        axis: MlcAxis::X,
        rows_mm,
        first_mm: -10.0,
        step_mm: 5.0,
        columns: 4,
        values: vec![value; 8],
    }
}

fn refusal(request: &MccsRequest) -> String {
    let mut histories = 0;
    let control = JobControl::new();
    let refused = refine(request, &Compute::Cpu, &control, &mut |dose| {
        histories = dose.histories;
        Next::GoOn
    });
    assert!(
        histories == 0 && control.done() == 0.0,
        "histories were run"
    );
    refused.expect_err("refused").to_string()
}

#[test]
fn what_cannot_be_is_said_before_any_history() {
    assert!(
        refine(
            &asked(|_, _| {}),
            &Compute::Cpu,
            &JobControl::new(),
            &mut |_| Next::GoOn
        )
        .is_ok()
    );
    let told = |words: &[&str], change: fn(&mut Beam, &mut Machine)| {
        let said = refusal(&asked(change));
        assert!(words.iter().all(|w| said.contains(w)), "{said}");
    };
    told(&["AP", "closed", "jaws"], |b, _| {
        b.control_points[0].jaws = Jaws::symmetric(0.0, 40.0)
    });
    told(&["AP", "closed"], |b, _| {
        b.control_points[0]
            .leaves_mm
            .iter_mut()
            .for_each(|t| *t = [5.0, 5.0])
    });
    told(
        &["AP", "control point 1", "pair 31", "overlap by 3.0 mm"],
        |b, _| {
            b.control_points[0].leaves_mm[30] = [5.0, 2.0];
        },
    );
    told(&["AP", "isocentre", "outside the CT"], |b, _| {
        b.isocentre_mm = DVec3::new(0.0, 80.0, 0.0)
    });
    told(&["generic-6mv", "sum to 2.0000", "[spectrum]"], |_, m| {
        m.spectrum.photon_weights.iter_mut().for_each(|w| *w *= 2.0);
    });
    told(&["generic-6mv", "25 MeV", "0.05 to 20 MeV"], |_, m| {
        if let Some(last) = m.spectrum.energies_mev.last_mut() {
            *last = 25.0;
        }
    });
    told(&["generic-6mv", "0.02 MeV", "0.05 to 20 MeV"], |_, m| {
        m.spectrum.energies_mev[0] = 0.02
    });
    told(&["generic-6mv", "[spectrum]"], |_, m| {
        m.spectrum.photon_weights[0] = f64::NAN
    });
    told(&["generic-6mv", "[spectrum]"], |_, m| {
        // The weights still sum to 1.
        let two = m.spectrum.photon_weights[0] + m.spectrum.photon_weights[1];
        m.spectrum.photon_weights[0] = -0.1;
        m.spectrum.photon_weights[1] = two + 0.1;
    });
    told(&["AP", "isocentre", "position"], |b, _| {
        b.isocentre_mm.x = f64::NAN
    });
    told(&["AP", "monitor units"], |b, _| b.mu = 0.0);
    told(&["AP", "monitor units"], |b, _| b.mu = -1.0);
    told(&["AP", "leaf"], |b, _| {
        b.control_points[0].leaves_mm.truncate(3)
    });
    told(&["AP", "0 everywhere"], |b, _| b.fluence = Some(map(0.0)));
    told(&["AP", "closed"], |b, _| {
        b.fluence = Some(FluenceMap {
            first_mm: 60.0,
            ..map(1.0)
        });
    });
    told(&["AP", "rows"], |b, _| {
        b.fluence = Some(FluenceMap {
            rows_mm: Vec::new(),
            ..map(1.0)
        })
    });
    told(&["AP", "beamlet 0", "NaN"], |b, _| {
        b.fluence = Some(map(f32::NAN))
    });
    told(&["AP", "generic-6mv", "MLC"], |b, m| {
        (b.fluence, m.leaves) = (Some(map(1.0)), None)
    });
    // One beam of two is faulty: the message names it, and the other is not run either.
    let mut both = asked(|_, _| {});
    let mut second = both.beams[0].clone();
    second.0.name = "PA".to_owned();
    second.0.control_points[0].leaves_mm[30] = [5.0, 2.0];
    both.beams.push(second);
    let said = refusal(&both);
    assert!(said.contains("PA") && said.contains("overlap"), "{said}");
    let many = MccsRequest {
        directions: 25,
        ..asked(|_, _| {})
    };
    assert!(refusal(&many).contains("1 to 24 directions"));
    let none = MccsRequest {
        beams: Vec::new(),
        ..asked(|_, _| {})
    };
    assert!(refusal(&none).contains("no beam"));
}
