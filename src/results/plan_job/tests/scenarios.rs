//! Set-up errors: each scenario is the plan with a moved isocentre, to the bit.

use super::*;
use crate::compute_scenarios;
use analysis::Scenario;

#[test]
fn scenarios_are_doses_of_the_moved_isocentre() {
    let ct = ct(|mm| {
        if mm.abs().max_element() < 80.0 {
            0.0
        } else {
            -1000.0
        }
    });
    let set = drawn(&ct, DVec3::splat(-80.0), DVec3::splat(80.0));
    let job = job(&ct, &set, BodyChoice::Drawn);
    let scenarios = Scenario::along_axes(6.0);
    let control = JobControl::new();
    let robust = compute_scenarios(&job, &scenarios, &control, &|_| {}).expect("doses");
    let mut doses = Vec::new();
    for (scenario, result) in scenarios.iter().zip(&robust.scenarios) {
        let mut moved = job.clone();
        moved.plan.beams[0].isocentre_mm += scenario.shift_mm;
        let alone = computed(&moved);
        assert_eq!(result.scenario, *scenario);
        assert_eq!(result.dvhs[0].1.mean_gy(), alone.dvhs[0].1.mean_gy());
        doses.push(alone.dose.gy);
    }
    // The field is 80 mm wide: at its edge scenarios differ.
    assert!(robust.least_gy().data() != robust.greatest_gy().data());
    let (lowest, highest) = (robust.least_gy(), robust.greatest_gy());
    for n in 0..doses[0].data().len() {
        let values = doses.iter().map(|gy| gy.data()[n]);
        let least_gy = values.clone().fold(f32::INFINITY, f32::min);
        assert_eq!(lowest.data()[n], least_gy);
        assert_eq!(highest.data()[n], values.fold(0.0, f32::max));
    }
    assert_eq!(robust.bands().len(), 1);
}

#[test]
fn a_scenario_that_leaves_the_ct_is_refused() {
    let ct = ct(|_| 0.0);
    let mut job = job(&ct, &Arc::default(), BodyChoice::Everything);
    job.plan.beams[0].isocentre_mm.x = 116.0;
    let scenarios = Scenario::along_axes(5.0);
    let refused = compute_scenarios(&job, &scenarios, &JobControl::new(), &|_| {});
    assert_eq!(
        refused.err().map(|why| why.to_string()).as_deref(),
        Some("isocentre 5.0 mm left: the isocentre of beam 'Front' leaves the CT")
    );
}
