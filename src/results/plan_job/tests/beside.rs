//! Densities of structures, bolus and couch in the dose of a plan, against phantoms that have them in their CT.

use super::*;
use analysis::contouring::{BolusOver, EntranceField, Operation, made_of};
use analysis::{Couch, CtCouchError, DensityOverrides, Ready, couch_densities, couch_from_ct};
use case::{Contours, Density, DensityOverride, Medium};
use std::sync::Arc;

const SIDE: usize = 48;

/// 48 voxels of 5 mm a side, -120 to 120 mm, by HU.
fn ct_of_5_mm(hu: impl Fn(DVec3) -> f32) -> Arc<Ct> {
    let grid = Grid::axis_aligned(DVec3::splat(-117.5), DVec3::splat(5.0), [SIDE; 3]).unwrap();
    let voxels =
        (0..grid.len()).map(|n| grid.centre_mm(n % SIDE, n / SIDE % SIDE, n / SIDE / SIDE));
    let data = voxels.map(hu).collect();
    Arc::new(Ct::unnamed(
        Arc::new(Volume::new(Arc::new(grid), data)),
        PatientPosition::Hfs,
    ))
}

/// A block of water of 140 mm across, its front face at `front` mm, its back at 60 mm.
fn block(front: f64) -> Arc<Ct> {
    ct_of_5_mm(move |p| {
        let inside = p.x.abs() < 70.0 && p.z.abs() < 70.0 && (front..60.0).contains(&p.y);
        if inside { 0.0 } else { -1000.0 }
    })
}

fn block_body(ct: &Ct, front: f64) -> Arc<StructureSet> {
    drawn(
        ct,
        DVec3::new(-70.0, front, -70.0),
        DVec3::new(70.0, 60.0, 70.0),
    )
}

fn with(
    set: &Arc<StructureSet>,
    name: &str,
    kind: StructureKind,
    contours: Contours,
    density: Option<DensityOverride>,
) -> Arc<StructureSet> {
    let mut set = StructureSet::clone(set);
    let number = set.free_number();
    set.structures.push(Structure {
        contours,
        density,
        ..Structure::new(name, number, kind)
    });
    Arc::new(set)
}

fn boxed(ct: &Ct, low: DVec3, high: DVec3) -> Contours {
    drawn(ct, low, high).structures[0].contours.clone()
}

fn water() -> Option<DensityOverride> {
    Some(DensityOverride::preset(Medium::Water))
}

fn job_of(ct: &Arc<Ct>, set: &Arc<StructureSet>, gantry_deg: f64) -> PlanJob {
    let mut job = job(ct, set, BodyChoice::Drawn);
    job.grid_mm = 5.0;
    job.plan.beams[0].control_points[0].gantry_deg = gantry_deg;
    job
}

/// The greatest difference of two doses on one grid, as a share of the maximum.
fn worst(a: &PlanResult, b: &PlanResult) -> f32 {
    assert_eq!(a.dose.gy.grid(), b.dose.gy.grid());
    let pairs = a.dose.gy.data().iter().zip(b.dose.gy.data());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / b.dose.max_gy()
}

/// Dose on the beam's axis, Gy.
fn axis_gy(result: &PlanResult, y_mm: f64) -> f64 {
    dose_gy(result, DVec3::new(0.0, y_mm, 0.0))
}

/// Lowest and highest corner of contours, patient LPS, mm.
fn bounds_mm(contours: &Contours) -> (DVec3, DVec3) {
    let [low, high] = contours.box_mm().unwrap();
    (low, high)
}

/// Bolus of 10 mm on structure 7.
fn bolus_of_10_mm(ct: &Arc<Ct>, set: &StructureSet, over: BolusOver) -> Contours {
    let operation = Operation::Bolus {
        thickness_mm: 10.0,
        over,
    };
    made_of(ct, set, 7, operation, &JobControl::new())
        .unwrap()
        .contours
}

/// Water with another mass density, g/cm3.
fn water_of(g_cm3: f64) -> Option<DensityOverride> {
    Some(DensityOverride {
        density: Density::MassGCm3(g_cm3),
        ..DensityOverride::preset(Medium::Water)
    })
}

fn moved_by(contours: &Contours, by_mm: f64) -> Contours {
    let moved = contours.iter().map(|contour| Contour {
        points_mm: contour
            .points_mm
            .iter()
            .map(|p| *p + DVec3::Y * by_mm)
            .collect(),
        image_uid: None,
    });
    moved.collect()
}

#[test]
fn a_bolus_of_10_mm_of_water_is_a_phantom_10_mm_thicker() {
    let (thin, thick) = (block(-60.0), block(-70.0));
    let body = block_body(&thin, -60.0);
    let bolus = boxed(
        &thin,
        DVec3::new(-70.0, -70.0, -70.0),
        DVec3::new(70.0, -60.0, 70.0),
    );
    let want = computed(&job_of(&thick, &block_body(&thick, -70.0), 0.0));
    let set = with(&body, "Bolus", StructureKind::Bolus, bolus.clone(), water());
    let got = computed(&job_of(&thin, &set, 0.0));
    assert!(worst(&got, &want) < 1e-6, "{}", worst(&got, &want));
    assert_eq!(
        (got.dose.status, &got.dose.caveats),
        (want.dose.status, &want.dose.caveats)
    );
    assert!(
        got.remarks
            .iter()
            .any(|r| r.contains("bolus 'Bolus' is included: 1.00 g/cm³ (water)")),
        "{:?}",
        got.remarks
    );
    // The depth dose moves by 10 mm towards the source: what lies 10 mm deeper in the thick phantom is as deep as before.
    let bare = computed(&job_of(&thin, &body, 0.0));

    for y in [-20.0, 0.0, 20.0] {
        // The same depth, 10 mm nearer the source of 1000 mm: the inverse square, and some scatter.
        let nearer = ((1000.0 + y) / (1000.0 + y - 10.0_f64)).powi(2);
        let ratio = axis_gy(&got, y - 10.0) / axis_gy(&bare, y) / nearer;
        assert!((ratio - 1.0).abs() < 0.01, "{y}: {ratio}");
    }
    // Without a density, and with one that is switched off, it takes no part.
    for (density, words) in [
        (None, "is not included: it has no density"),
        (
            water().map(|d| DensityOverride { off: true, ..d }),
            "switched off",
        ),
    ] {
        let set = with(&body, "Bolus", StructureKind::Bolus, bolus.clone(), density);
        let none = computed(&job_of(&thin, &set, 0.0));
        assert_eq!(none.dose.gy.data(), bare.dose.gy.data());
        assert!(
            none.remarks.iter().any(|r| r.contains(words)),
            "{:?}",
            none.remarks
        );
    }
}

#[test]
fn a_bolus_made_of_the_body_lies_on_it_where_it_is_wanted() {
    let ct = block(-60.0);
    let set = block_body(&ct, -60.0);

    // A layer all round: its outer sides lie 10 mm outside the block, which is drawn on planes 5 mm apart.
    let (low, high) = bounds_mm(&bolus_of_10_mm(&ct, &set, BolusOver::Body));
    assert!(
        (low.x + 80.0).abs() < 0.3 && (low.y + 70.0).abs() < 0.3 && (high.y - 70.0).abs() < 0.3,
        "{low} {high}"
    );
    // Under a field of 80 mm at the isocentre in the block's middle: at y = -65 mm it is 80 * 0.935 wide, and 10 mm * 0.935
    // on either side more.
    let plan = plan(DVec3::ZERO);
    let field =
        EntranceField::new(&plan.beams[0], PatientPosition::Hfs, 1000.0, DVec3::ZERO).unwrap();
    let (low, high) = bounds_mm(&bolus_of_10_mm(&ct, &set, BolusOver::Field(field)));
    let half_width_mm = 50.0 * (1000.0 - 60.0) / 1000.0;
    assert!(
        (high.x - half_width_mm).abs() < 0.3 && (low.x + half_width_mm).abs() < 0.3,
        "{low} {high}"
    );
    assert!(
        (low.y + 70.0).abs() < 0.3 && (high.y + 60.0).abs() < 0.3,
        "on the front alone: {low} {high}"
    );
    assert!(
        (high.z - half_width_mm).abs() < 5.0 && (low.z + half_width_mm).abs() < 5.0,
        "{low} {high}"
    );
    // Near a ball of 10 mm below the front: within 30 mm of it.
    let ball = with(
        &set,
        "GTV",
        StructureKind::Gtv,
        boxed(
            &ct,
            DVec3::new(-10.0, -60.0, -10.0),
            DVec3::new(10.0, -40.0, 10.0),
        ),
        None,
    );
    let near = Operation::Bolus {
        thickness_mm: 10.0,
        over: BolusOver::Structure {
            number: 8,
            within_mm: 30.0,
        },
    };
    let near = made_of(&ct, &ball, 7, near, &JobControl::new()).unwrap();
    let (low, high) = bounds_mm(&near.contours);
    assert!(
        (high.x - 40.0).abs() < 0.5 && (low.y + 70.0).abs() < 0.3 && (high.y + 60.0).abs() < 0.3,
        "{low} {high}"
    );
    // What lies deeper than that has no bolus.
    let deep = with(
        &set,
        "GTV",
        StructureKind::Gtv,
        boxed(&ct, DVec3::splat(-10.0), DVec3::splat(10.0)),
        None,
    );
    let near = Operation::Bolus {
        thickness_mm: 10.0,
        over: BolusOver::Structure {
            number: 8,
            within_mm: 30.0,
        },
    };
    let why = made_of(&ct, &deep, 7, near, &JobControl::new())
        .unwrap_err()
        .to_string();
    assert!(why.contains("no bolus lies on 'Outline' there"), "{why}");
    // The one all round gives the dose of a block that is larger all round.
    let large = ct_of_5_mm(|p| {
        let inside = p.x.abs() < 80.0 && p.z.abs() < 80.0 && (-70.0..70.0).contains(&p.y);
        if inside { 0.0 } else { -1000.0 }
    });
    let larger = drawn(
        &large,
        DVec3::new(-80.0, -70.0, -80.0),
        DVec3::new(80.0, 70.0, 80.0),
    );
    let bolus = with(
        &set,
        "Bolus",
        StructureKind::Bolus,
        bolus_of_10_mm(&ct, &set, BolusOver::Body),
        water(),
    );
    let (got, want) = (
        computed(&job_of(&ct, &bolus, 0.0)),
        computed(&job_of(&large, &larger, 0.0)),
    );

    for y in [-55.0, -20.0, 0.0, 40.0] {
        let ratio = axis_gy(&got, y) / axis_gy(&want, y);
        assert!((ratio - 1.0).abs() < 0.005, "{y}: {ratio}");
    }
}

#[test]
fn a_density_given_inside_the_body_replaces_the_cts_and_one_outside_does_not_count() {
    let (low, high) = (DVec3::new(-30.0, -30.0, -30.0), DVec3::new(30.0, 0.0, 30.0));
    let hole = ct_of_5_mm(|p| {
        let inside = p.x.abs() < 70.0 && p.z.abs() < 70.0 && (-60.0..60.0).contains(&p.y);
        let lung = p.x.abs() < 30.0 && p.z.abs() < 30.0 && (-30.0..0.0).contains(&p.y);
        if lung {
            -780.0
        } else if inside {
            0.0
        } else {
            -1000.0
        }
    });
    let plain = block(-60.0);
    let set = block_body(&hole, -60.0);
    let filled = with(
        &set,
        "Gas",
        StructureKind::Organ,
        boxed(&hole, low, high),
        water(),
    );
    let want = computed(&job_of(&plain, &set, 0.0));
    let got = computed(&job_of(&hole, &filled, 0.0));
    assert!(worst(&got, &want) < 1e-6);
    assert!(
        got.remarks
            .iter()
            .any(|r| r.contains("'Gas' has a density of 1.00 g/cm³ (water) in place of the CT's"))
    );
    // An organ is no bolus: outside the body nothing of it counts.
    let above = boxed(
        &plain,
        DVec3::new(-70.0, -70.0, -70.0),
        DVec3::new(70.0, -60.0, 70.0),
    );
    let organ = with(&set, "Organ", StructureKind::Organ, above, water());
    assert_eq!(
        computed(&job_of(&plain, &organ, 0.0)).dose.gy.data(),
        want.dose.gy.data()
    );
    // A density that cannot be, and a structure without contours.
    let wrong = Some(DensityOverride {
        density: Density::MassGCm3(-1.0),
        medium: None,
        off: false,
    });
    let wrong = with(
        &set,
        "Wrong",
        StructureKind::Organ,
        boxed(&plain, low, high),
        wrong,
    );
    let why = compute_plan(&job_of(&plain, &wrong, 0.0), &JobControl::new(), &|_| {})
        .expect_err("density")
        .to_string();
    assert!(
        why.contains("'Wrong'") && why.contains("-1 is no number from 0 to 25"),
        "{why}"
    );
    let empty = with(
        &set,
        "Empty",
        StructureKind::Bolus,
        Contours::default(),
        water(),
    );
    let got = computed(&job_of(&plain, &empty, 0.0));
    assert_eq!(got.dose.gy.data(), want.dose.gy.data());
    assert!(
        got.remarks
            .iter()
            .any(|r| r.contains("'Empty' has a density and no contours")),
        "{:?}",
        got.remarks
    );
}

#[test]
fn of_two_structures_in_one_voxel_each_counts_by_its_share() {
    let ct = block(-60.0);
    let set = block_body(&ct, -60.0);
    // 2 mm of 2 g/cm3 and 3 mm of 0.5 g/cm3 side by side in the voxels from -65 to -60 mm.

    let [near, far] = [(-62.0, -60.0), (-65.0, -62.0)].map(|(from, to)| {
        boxed(
            &ct,
            DVec3::new(-70.0, from, -70.0),
            DVec3::new(70.0, to, 70.0),
        )
    });
    let set = with(&set, "A", StructureKind::Support, near, water_of(2.0));
    let set = with(&set, "B", StructureKind::Support, far, water_of(0.5));
    let table = HuTable::shipped_default();
    let overrides = DensityOverrides::new(&ct, &set, &table, &JobControl::new()).unwrap();
    let body = Body::new(&ct, &set, BodyChoice::Drawn, &JobControl::new()).unwrap();
    let ready = Ready::new(&ct, &table, body, overrides).unwrap();
    let [mixed, water, air] = [-62.5, -57.5, -72.5].map(|y| {
        ready
            .patient()
            .mass_density_g_cm3
            .trilinear(DVec3::new(2.5, y, 2.5))
            .unwrap()
    });
    assert!((mixed - (0.4 * 2.0 + 0.6 * 0.5)).abs() < 0.01, "{mixed}");
    assert_eq!((water, air), (1.0, 0.0));
}

/// Electrons along a straight line, mm of water, in steps of 0.02 mm.
fn water_mm(ready: &Ready, from: DVec3, to: DVec3) -> f64 {
    let steps = (from.distance(to) / 0.02).ceil();
    let volume = &ready.patient().relative_electron_density;
    let points = (0..steps as usize).map(|n| from.lerp(to, (n as f64 + 0.5) / steps));
    let densities = points.map(|mm| volume.nearest(mm).map_or(0.0, f64::from));
    densities.sum::<f64>() * from.distance(to) / steps
}

#[test]
fn a_couch_lets_through_what_a_straight_ray_says() {
    let ct = ct_of_5_mm(|p| {
        let inside = p.x.abs() < 70.0 && p.z.abs() < 70.0 && (-80.0..40.0).contains(&p.y);
        if inside { 0.0 } else { -1000.0 }
    });
    let set = drawn(
        &ct,
        DVec3::new(-70.0, -80.0, -70.0),
        DVec3::new(70.0, 40.0, 70.0),
    );
    let couch = Couch::below(&ct, &set.structures[0], 10.0).unwrap();
    assert_eq!(couch.remarks, ["it is 240 mm wide, as the CT, not 530 mm"]);
    let [shell, core] = couch_densities();
    let on = with(
        &set,
        "Couch shell",
        StructureKind::Support,
        couch.shell.clone(),
        Some(shell),
    );
    let on = with(
        &on,
        "Couch core",
        StructureKind::Support,
        couch.core.clone(),
        Some(core),
    );
    let table = HuTable::shipped_default();
    let overrides = DensityOverrides::new(&ct, &on, &table, &JobControl::new()).unwrap();
    let body = Body::new(&ct, &on, BodyChoice::Drawn, &JobControl::new()).unwrap();
    let ready = Ready::new(&ct, &table, body, overrides).unwrap();
    // From the top at 50 mm to the bottom at 100 mm: 2 mm of shell, 46 mm of foam, 2 mm of shell. Carbon 1.6 g/cm3 has
    // 1.6 * (6 / 12.011) * (18.015 / 10) = 1.4399 times the electrons of water.
    let straight_mm = 4.0 * 1.6 * (6.0 / 12.011) * (18.015 / 10.0) + 46.0 * 0.075;
    for deg in [0.0_f64, 20.0, 40.0] {
        let (sine, cosine) = deg.to_radians().sin_cos();
        let from = DVec3::new(-20.0, 45.0, 2.5);
        let to = from + DVec3::new(sine, cosine, 0.0) * (65.0 / cosine);
        let got = water_mm(&ready, from, to);
        assert!(
            (got - straight_mm / cosine).abs() < 0.01 * straight_mm,
            "{deg}: {got} {straight_mm}"
        );
    }
    // From behind: the dose falls as it does over as much water, which the depth dose without a couch says.
    let (with_couch, bare) = (
        computed(&job_of(&ct, &on, 180.0)),
        computed(&job_of(&ct, &set, 180.0)),
    );
    assert_eq!(
        (with_couch.dose.status, with_couch.dose.caveats.len()),
        (bare.dose.status, 0)
    );
    let [shallow, deep] = [-10.0, -50.0].map(|y| axis_gy(&bare, y) * (1000.0 - y).powi(2));
    let per_mm = (shallow / deep).ln() / 40.0;
    let transmission = axis_gy(&with_couch, -30.0) / axis_gy(&bare, -30.0);
    let want = (-per_mm * straight_mm).exp();
    assert!((transmission - want).abs() < 0.005, "{transmission} {want}");
    // Switched off it is not there; its CT's voxels are air, and count no more than before.
    let off = Arc::new(StructureSet {
        structures: on
            .structures
            .iter()
            .map(|s| Structure {
                density: s.density.map(|d| DensityOverride { off: true, ..d }),
                ..s.clone()
            })
            .collect(),
        ..StructureSet::clone(&on)
    });
    assert_eq!(
        computed(&job_of(&ct, &off, 180.0)).dose.gy.data(),
        bare.dose.gy.data()
    );
}

#[test]
fn what_lies_beyond_the_ct_makes_the_dose_partial_and_what_is_counted_is_not_missed() {
    let ct = block(-60.0);
    let set = block_body(&ct, -60.0);
    let beyond = boxed(
        &ct,
        DVec3::new(-70.0, -70.0, -70.0),
        DVec3::new(70.0, -60.0, 70.0),
    );

    for (by, words) in [
        (-55.0, "5 mm of a bolus beyond the CT not counted"),
        (-200.0, "a bolus outside the CT not counted"),
    ] {
        let set = with(
            &set,
            "Bolus",
            StructureKind::Bolus,
            moved_by(&beyond, by),
            water(),
        );
        for engine in [Engine::COLLAPSED_CONE, Engine::MonteCarlo(monte_carlo())] {
            let got = computed(&PlanJob {
                engine,
                ..job_of(&ct, &set, 0.0)
            });
            assert_eq!(got.dose.status, DoseStatus::Partial);
            assert_eq!(got.dose.caveats, [words]);
        }
    }
    // A slab in the CT outside the body is missed, until a support with its density counts it.
    let slab = cube_and_slab(32.0);
    let cube = drawn(&slab, DVec3::splat(-60.0), DVec3::splat(60.0));
    let contours = boxed(
        &slab,
        DVec3::new(-60.0, -112.0, -60.0),
        DVec3::new(60.0, -80.0, 60.0),
    );
    let counted = with(&cube, "Slab", StructureKind::Support, contours, water());
    for (set, status) in [(&cube, DoseStatus::Partial), (&counted, DoseStatus::Coarse)] {
        assert_eq!(
            computed(&job(&slab, set, BodyChoice::Drawn)).dose.status,
            status
        );
    }
}

/// A cylinder of water along z of 50 mm, and a slab behind it: 2 cm of 300 HU over 4 cm of foam in a shell, as a couch.
fn cylinder_on_a_slab(gap_mm: f64) -> Arc<Ct> {
    ct_of_5_mm(move |p| {
        let depth = p.y - 50.0 - gap_mm;
        let slab = p.x.abs() < 90.0 && (0.0..60.0).contains(&depth);
        let foam = p.x.abs() < 85.0 && (20.0..55.0).contains(&depth);
        match p.x.hypot(p.y) < 50.0 {
            true => 0.0,
            false if foam => -950.0,
            false if slab => 300.0,
            false => -1000.0,
        }
    })
}

/// The dose with the slab as a support as scanned equals the dose in a body that includes the slab, to the bit; overridden with air, the
/// slab changes nothing.
#[test]
fn a_couch_of_the_ct_as_scanned_is_a_part_of_the_body() {
    for gap_mm in [0.0, 5.0] {
        let ct = cylinder_on_a_slab(gap_mm);
        let planes_mm = ct.hu.grid().planes_mm();
        let rings = planes_mm.iter().map(|z| Contour {
            points_mm: (0..120)
                .map(|n| (f64::from(n) * std::f64::consts::PI / 60.0).sin_cos())
                .map(|(s, c)| DVec3::new(50.0 * c, 50.0 * s, z - 117.5))
                .collect(),
            image_uid: None,
        });
        let mut body = StructureSet::clone(&block_body(&ct, -60.0));
        body.structures[0].contours = rings.collect();
        let body = Arc::new(body);
        let missing = computed(&job_of(&ct, &body, 180.0));
        assert_eq!(missing.dose.status, DoseStatus::Partial, "{gap_mm}");
        assert_eq!(missing.dose.caveats, [OUTSIDE_CAVEAT]);
        let (couch, cm3) =
            couch_from_ct(&ct, &body, BodyChoice::Drawn, &JobControl::new()).unwrap();
        // 180 mm x 60 mm x 240 mm.
        assert!((cm3 - 2592.0).abs() < 1.0, "{cm3}");
        let as_scanned = Some(DensityOverride::AS_SCANNED);
        let set = with(
            &body,
            "CT couch",
            StructureKind::Support,
            couch.clone(),
            as_scanned,
        );
        // The body with the couch in it: contours on a plane combine by exclusive-or, and these lie apart or touch.
        let mut body_with_couch = StructureSet::clone(&body);
        body_with_couch.structures[0].contours = body.structures[0]
            .contours
            .iter()
            .chain(&couch)
            .cloned()
            .collect();
        let body_with_couch = Arc::new(body_with_couch);
        for gantry_deg in [180.0, 90.0, 0.0] {
            let got = computed(&job_of(&ct, &set, gantry_deg));
            let want = computed(&job_of(&ct, &body_with_couch, gantry_deg));
            assert_eq!(got.dose.gy.grid(), want.dose.gy.grid());
            assert_eq!(
                got.dose.gy.data(),
                want.dose.gy.data(),
                "{gap_mm} {gantry_deg}"
            );
            assert_eq!(
                (got.dose.status, got.dose.caveats.len()),
                (DoseStatus::Coarse, 0),
                "{:?}",
                got.dose.caveats
            );
            let said = "support 'CT couch' is included: as scanned";
            assert!(
                got.remarks.iter().any(|r| r.contains(said)),
                "{:?}",
                got.remarks
            );
        }
        let air = Some(DensityOverride::preset(Medium::Air));
        let left_out = computed(&job_of(
            &ct,
            &with(&body, "CT couch", StructureKind::Support, couch, air),
            180.0,
        ));
        assert_eq!(
            (left_out.dose.status, left_out.dose.caveats.len()),
            (DoseStatus::Coarse, 0)
        );
        assert!(
            worst(&left_out, &missing) < 2e-3,
            "{}",
            worst(&left_out, &missing)
        );
        let again = couch_from_ct(&ct, &body_with_couch, BodyChoice::Drawn, &JobControl::new());
        assert!(matches!(again, Err(CtCouchError::Nothing)), "{again:?}");
        let none = couch_from_ct(&ct, &body, BodyChoice::Everything, &JobControl::new());
        assert!(matches!(none, Err(CtCouchError::Everything)), "{none:?}");
    }
}

/// A plan whose bolus is taken off for one of two beams has the summed dose of two plans, one with the bolus.
#[test]
fn a_bolus_counts_for_the_beams_that_it_lies_on_for() {
    let ct = block(-60.0);
    let bare = block_body(&ct, -60.0);
    let on = boxed(
        &ct,
        DVec3::new(-70.0, -70.0, -70.0),
        DVec3::new(70.0, -60.0, 70.0),
    );
    let set = with(&bare, "Bolus", StructureKind::Bolus, on, water());
    let mut both = job_of(&ct, &set, 0.0);
    let mut second = both.plan.beams[0].clone();
    (second.name, second.number) = ("Side".to_owned(), 2);
    second.control_points[0].gantry_deg = 20.0;
    second.set_bolus("bolus", false);
    both.plan.beams.push(second.clone());
    let got = computed(&both);
    assert!(
        got.remarks.iter().any(
            |r| r.contains("bolus 'Bolus' is included: 1.00 g/cm³ (water), but not for 'Side'")
        ),
        "{:?}",
        got.remarks
    );
    let mut through = job_of(&ct, &set, 0.0);
    let mut without = job_of(&ct, &bare, 20.0);
    without.plan.beams[0].number = 2;
    let [first, other] = [computed(&through), computed(&without)];
    let max_gy = f64::from(got.dose.max_gy());
    for p in [
        DVec3::ZERO,
        DVec3::new(0.0, -52.5, 0.0),
        DVec3::new(12.5, -47.5, 2.5),
        DVec3::new(-30.0, 20.0, 5.0),
    ] {
        let want = dose_gy(&first, p) + dose_gy(&other, p);
        assert!(
            (dose_gy(&got, p) - want).abs() < 1e-3 * max_gy,
            "{p}: {} {want}",
            dose_gy(&got, p)
        );
    }
    // Laid back on, it counts for both.
    second.set_bolus("Bolus", true);
    through.plan.beams.push(second);
    let both_through = computed(&through);
    let skin = DVec3::new(0.0, -57.5, 0.0);
    assert!(
        dose_gy(&both_through, skin) > 1.1 * dose_gy(&got, skin),
        "{} {}",
        dose_gy(&both_through, skin),
        dose_gy(&got, skin)
    );
    both.engine = Engine::MonteCarlo(monte_carlo());
    let why = compute_plan(&both, &JobControl::new(), &|_| {})
        .expect_err("one patient")
        .to_string();
    assert!(why.contains("its beams have different boluses"), "{why}");
    both.plan.beams[0].set_bolus("Bolus", false);
    assert!(
        computed(&both)
            .remarks
            .iter()
            .any(|r| r.contains("but not for 'Front', 'Side'"))
    );
}
