//! The body of a CT, as seen in the dose of a plan.

mod beside;
mod hu;
mod normalised;
mod scenarios;

use super::*;
use analysis::{
    Body, BodyError, BodyWord, Contradiction, MonteCarlo, OUTSIDE_CAVEAT, isocentre_remark,
};
use case::{Contour, DoseStatus, Jaws, StructureKind};
use engine::histories::Until;
use geometry::{Grid, PatientPosition, Volume, box_contours};
use glam::DVec3;
use physics::HuTable;

const VOXEL_MM: f64 = 4.0;

/// 60 voxels of 4 mm a side, -120 to 120 mm, by HU.
fn ct(hu: impl Fn(DVec3) -> f32) -> Arc<Ct> {
    let grid = Grid::axis_aligned(DVec3::splat(-118.0), DVec3::splat(VOXEL_MM), [60; 3]).unwrap();
    let voxels = (0..grid.len()).map(|n| grid.centre_mm(n % 60, n / 60 % 60, n / 3600));
    let data = voxels.map(hu).collect();
    Arc::new(Ct::unnamed(
        Arc::new(Volume::new(Arc::new(grid), data)),
        PatientPosition::Hfs,
    ))
}

/// A structure that is a box.
fn drawn(ct: &Ct, low: DVec3, high: DVec3) -> Arc<StructureSet> {
    let boxes = box_contours(ct.hu.grid(), 0.5 * (low + high), high - low);
    let contours = boxes
        .into_iter()
        .map(|points_mm| Contour {
            points_mm,
            image_uid: None,
        })
        .collect();
    let structures = vec![Structure {
        contours,
        ..Structure::new("Outline", 7, StructureKind::External)
    }];
    Arc::new(StructureSet {
        structures,
        ..StructureSet::default()
    })
}

fn plan(isocentre_mm: DVec3) -> Plan {
    let mut plan = Plan::new("AP", "point-6mv");
    plan.beams = vec![Beam::fixed(
        "Front",
        1,
        0.0,
        isocentre_mm,
        Jaws::symmetric(80.0, 80.0),
        100.0,
    )];
    plan
}

fn job(ct: &Arc<Ct>, structures: &Arc<StructureSet>, body: BodyChoice) -> PlanJob {
    PlanJob {
        ct: Arc::clone(ct),
        structures: Arc::clone(structures),
        remarks: Vec::new(),
        plan: plan(DVec3::ZERO),
        body,
        hu_table: HuTable::DEFAULT.to_owned(),
        grid_mm: 8.0,
        quality: Quality::Fast,
        dose_to: DoseTo::Medium,
        device: DeviceChoice::Cpu,
        engine: Engine::COLLAPSED_CONE,
        parts: None,
    }
}

fn computed(job: &PlanJob) -> PlanResult {
    compute_plan(job, &JobControl::new(), &|_| {}).expect("a dose")
}

/// Dose at a point, patient LPS, Gy.
fn dose_gy(result: &PlanResult, point_mm: DVec3) -> f64 {
    f64::from(result.dose.gy.trilinear(point_mm).unwrap())
}

/// A Monte Carlo run of 20,000 histories.
fn monte_carlo() -> MonteCarlo {
    MonteCarlo {
        until: Until::Histories(20_000),
        ..MonteCarlo::default()
    }
}

/// Water 4 cm, aluminium 2 cm, lung 8 cm, water 6 cm, each as wide as the image; air in front and behind.
fn stack() -> Arc<Ct> {
    ct(|p| match p.y + 100.0 {
        y if y < 0.0 => -1000.0,
        y if y < 40.0 => 0.0,
        y if y < 60.0 => 2200.0,
        y if y < 140.0 => -780.0,
        y if y < 200.0 => 0.0,
        _ => -1000.0,
    })
}

#[test]
fn the_dose_in_a_stack_with_lung_is_the_same_in_the_body_that_is_found_and_in_one_that_is_drawn() {
    let ct = stack();
    let set = drawn(
        &ct,
        DVec3::new(-120.0, -100.0, -120.0),
        DVec3::new(120.0, 100.0, 120.0),
    );
    let want = computed(&job(&ct, &set, BodyChoice::Drawn));
    assert!(
        want.remarks.is_empty() && want.dose.caveats.is_empty(),
        "{:?}",
        want.remarks
    );
    for (set, choice) in [
        (&set, BodyChoice::Auto),
        (&Arc::default(), BodyChoice::Drawn),
        (&set, BodyChoice::Structure(7)),
    ] {
        let got = computed(&job(&ct, set, choice));
        assert_eq!(got.dose.gy.grid(), want.dose.gy.grid());
        let limit = 0.005 * want.dose.max_gy();
        let pairs = got.dose.gy.data().iter().zip(want.dose.gy.data());
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(
            worst <= limit,
            "{choice:?}: {worst} Gy of {}",
            want.dose.max_gy()
        );
        assert_eq!(
            got.remarks.iter().any(|r| r.contains("made from the CT")),
            choice != BodyChoice::Structure(7)
        );
    }
}

/// A wedge that is not modelled, an energy and a filter that the machine does not have: with either engine no dose of it is final.
#[test]
fn a_beam_that_is_not_computed_as_it_is_has_a_partial_dose() {
    let ct = cube_and_slab(0.0);
    let set = drawn(&ct, DVec3::splat(-60.0), DVec3::splat(60.0));
    for engine in [Engine::COLLAPSED_CONE, Engine::MonteCarlo(monte_carlo())] {
        // The grid is coarse.
        for (change, status, words) in [
            ((|_| ()) as fn(&mut Beam), DoseStatus::Coarse, ""),
            (
                |b| b.not_modelled = vec!["wedge".to_owned()],
                DoseStatus::Partial,
                "wedge",
            ),
            (
                |b| b.energy_mv = Some(15.0),
                DoseStatus::Partial,
                "15 MV as 6 MV",
            ),
            (
                |b| b.unflattened = true,
                DoseStatus::Partial,
                "a filter it does not have",
            ),
        ] {
            let mut job = PlanJob {
                engine,
                ..job(&ct, &set, BodyChoice::Drawn)
            };
            job.plan.machine = "generic-6mv".to_owned();
            job.plan.beams[0].energy_mv = Some(6.0);
            change(&mut job.plan.beams[0]);
            let dose = computed(&job).dose;
            assert_eq!(
                (dose.status, dose.caveats.join(", ")),
                (status, words.to_owned()),
                "{engine:?}"
            );
        }
    }
}

/// A cube of 12 cm with a slab `above` mm thick before it, 20 mm off.
fn cube_and_slab(above: f64) -> Arc<Ct> {
    ct(move |p| {
        let cube = p.abs().max_element() < 60.0;
        let slab = p.x.abs() < 60.0 && p.z.abs() < 60.0 && (-80.0 - above..-80.0).contains(&p.y);
        if cube || slab { 0.0 } else { -1000.0 }
    })
}

fn cube(ct: &Ct, half_mm: f64) -> Arc<StructureSet> {
    drawn(ct, DVec3::splat(-half_mm), DVec3::splat(half_mm))
}

/// A dose without caveats, on a coarse grid.
fn assert_whole(ct: &Arc<Ct>, set: &Arc<StructureSet>, choice: BodyChoice) {
    let dose = computed(&job(ct, set, choice)).dose;
    assert_eq!(
        (dose.status, dose.caveats.len()),
        (DoseStatus::Coarse, 0),
        "{choice:?}: {:?}",
        dose.caveats
    );
}

#[test]
fn what_a_beam_meets_outside_the_body_is_said_and_its_dose_is_partial() {
    // Thicker, it would reach the rim of a round field of view.
    let thick = cube_and_slab(24.0);
    let set = cube(&thick, 60.0);
    for engine in [Engine::COLLAPSED_CONE, Engine::MonteCarlo(monte_carlo())] {
        let got = computed(&PlanJob {
            engine,
            ..job(&thick, &set, BodyChoice::Drawn)
        });
        assert_eq!(got.dose.status, DoseStatus::Partial, "{engine:?}");
        let [caveat] = &got.dose.caveats[..] else {
            panic!("{:?}", got.dose.caveats)
        };
        assert_eq!(caveat, "matter outside the body not counted");
        // With the ways out.
        let remark =
            "beam 'Front': 24 mm of matter outside the body not counted: count it (--body none";
        assert!(
            got.remarks.iter().any(|r| r.starts_with(remark)),
            "{:?}",
            got.remarks
        );
    }

    // The slab is a part of the body found in the CT, and of everything.
    assert_whole(&thick, &set, BodyChoice::Auto);
    assert_whole(&thick, &set, BodyChoice::Everything);
    // A sheet of 4 mm; and a contour that cuts the outermost voxels off all round.
    let thin = cube_and_slab(4.0);
    assert_whole(&thin, &cube(&thin, 60.0), BodyChoice::Drawn);
    let bare = cube_and_slab(0.0);
    assert_whole(&bare, &cube(&bare, 56.0), BodyChoice::Drawn);
    // A slab beside the field is not in the beam.
    let block_beside = ct(|p| {
        let cube = p.abs().max_element() < 60.0;
        let block = (72.0..120.0).contains(&p.x) && p.y < 0.0;
        if cube || block { 0.0 } else { -1000.0 }
    });
    assert_whole(&block_beside, &cube(&block_beside, 60.0), BodyChoice::Drawn);
}

/// Rays outside the leaves' opening are not sampled.
#[test]
fn rays_go_through_the_open_part_of_the_field() {
    let block = ct(|p| {
        let cube = p.abs().max_element() < 60.0;
        let block = (16.0..60.0).contains(&p.x) && (-100.0..-72.0).contains(&p.y);
        if cube || block { 0.0 } else { -1000.0 }
    });
    let set = drawn(&block, DVec3::splat(-60.0), DVec3::splat(60.0));
    for (tips_mm, status) in [
        ([-40.0, 40.0], DoseStatus::Partial),
        ([-40.0, 12.0], DoseStatus::Coarse),
    ] {
        let mut job = job(&block, &set, BodyChoice::Drawn);
        job.plan.machine = "generic-6mv".to_owned();
        let beam = &mut job.plan.beams[0];
        let boundaries_mm = (0..=20).map(|n| f64::from(n) * 10.0 - 100.0).collect();
        beam.mlc = Some(case::Mlc {
            axis: case::MlcAxis::X,
            boundaries_mm,
        });
        beam.control_points[0].leaves_mm = vec![tips_mm; 20];
        assert_eq!(computed(&job).dose.status, status, "{tips_mm:?}");
    }
}

/// Refusal of an isocentre, and the remark on it.
fn isocentre_faults(ct: &Ct, isocentre_mm: DVec3) -> (Option<Contradiction>, Option<String>) {
    let plan = plan(isocentre_mm);
    let refused = contradiction(&plan, &plan.beams[0], ct);
    (refused, isocentre_remark(ct.hu.grid(), &plan.beams[0]))
}

#[test]
fn an_isocentre_on_the_rim_is_inside_and_one_beyond_is_said_where_the_beam_meets_the_patient() {
    let ct = cube_and_slab(0.0);

    for corner in ct.hu.grid().corners_mm() {
        assert_eq!(isocentre_faults(&ct, corner), (None, None), "{corner}");
    }
    // Below the image, on the axis of the cube: the beam still passes through it.
    let (refused, said) = isocentre_faults(&ct, DVec3::new(0.0, 130.0, 0.0));
    assert_eq!(refused, None);
    assert!(
        said.is_some_and(|s| s.contains("0.0,130.0,0.0") && s.contains("-120.0,-120.0,-120.0"))
    );
    // A field of 8 cm misses the cube.
    let (refused, _) = isocentre_faults(&ct, DVec3::new(0.0, 0.0, 130.0));
    assert!(
        matches!(refused, Some(Contradiction::Isocentre { .. })),
        "{refused:?}"
    );
    let outside = PlanJob {
        plan: plan(DVec3::new(0.0, 130.0, 0.0)),
        ..job(&ct, &Arc::default(), BodyChoice::Drawn)
    };
    let got = computed(&outside);
    assert!(got.dose.max_gy() > 0.0);
    assert!(
        got.remarks.iter().any(|r| r.contains("outside the CT")),
        "{:?}",
        got.remarks
    );
}

fn body_choice(set: &StructureSet, word: &str) -> Result<BodyChoice, BodyError> {
    word.parse::<BodyWord>().unwrap().choice(set)
}

#[test]
fn words_of_a_body_are_found_or_refused() {
    let set = drawn(&stack(), DVec3::splat(-50.0), DVec3::splat(50.0));

    assert_eq!(body_choice(&set, "auto").unwrap(), BodyChoice::Auto);
    assert_eq!(body_choice(&set, "none").unwrap(), BodyChoice::Everything);
    assert_eq!(
        body_choice(&set, "outline").unwrap(),
        BodyChoice::Structure(7)
    );
    assert!(
        body_choice(&set, "Skin")
            .unwrap_err()
            .to_string()
            .contains("Outline")
    );
    let gone = Body::new(&stack(), &set, BodyChoice::Structure(8), &JobControl::new());
    assert!(matches!(gone, Err(BodyError::Gone(8))));
}

/// Water 12 cm, air of 4 mm, a layer of 4 cm in front of it (`side` -1) or behind it (1).
fn layered(layer_hu: f32, side: f64) -> Arc<Ct> {
    ct(move |p| match p.y * side {
        y if y.abs() < 60.0 => 0.0,
        y if (64.0..104.0).contains(&y) => layer_hu,
        _ => -1000.0,
    })
}

/// The result in the body that is found in the CT.
fn computed_in_found_body(ct: &Arc<Ct>) -> PlanResult {
    computed(&job(ct, &Arc::default(), BodyChoice::Auto))
}

/// A last layer with no dense matter beyond it is not part of the body found: a caveat of the dose. Cushions
/// are not.
#[test]
fn light_layers_that_hang_on_the_body_outside_it_are_said() {
    for side in [-1.0, 1.0] {
        for (name, hu) in [("cork", -760.0), ("lung", -700.0)] {
            let got = computed_in_found_body(&layered(hu, side));
            assert_eq!(got.dose.caveats, [OUTSIDE_CAVEAT], "{name}");
            let stated_mm = got.remarks.iter().find_map(|remark| {
                remark
                    .strip_prefix("beam 'Front': ")?
                    .split_once(" mm of")?
                    .0
                    .parse()
                    .ok()
            });
            let mm: f64 = stated_mm.unwrap();
            assert!((40.0..44.0).contains(&mm), "{name}: {mm}");
        }
        for (name, hu) in [("blanket", -950.0), ("cushion", -850.0)] {
            assert_eq!(
                computed_in_found_body(&layered(hu, side)).dose.caveats,
                Vec::<String>::new(),
                "{name}"
            );
        }
    }
    // 2 cm away, the layer is not in contact with the body.
    let off = ct(|p| {
        if p.y.abs() < 60.0 {
            0.0
        } else if (80.0..110.0).contains(&p.y) {
            -760.0
        } else {
            -1000.0
        }
    });
    assert_eq!(
        computed_in_found_body(&off).dose.caveats,
        Vec::<String>::new()
    );
}
