use super::*;
use case::StructureKind;
use geometry::{Mask, PatientPosition, Volume, box_contours, sphere_contours};
use std::f64::consts::PI;
use std::sync::Arc;

/// Water with a ball of 15 mm of 300 HU and, apart from it, one of 8 mm.
fn ct() -> Ct {
    let grid = Grid::axis_aligned(
        DVec3::new(-40.0, -40.0, -40.0),
        DVec3::new(1.0, 1.0, 2.0),
        [81, 81, 41],
    );
    let grid = grid.expect("a grid");
    let mut hu = Vec::new();
    for k in 0..41 {
        for j in 0..81 {
            for i in 0..81 {
                let p = grid.centre_mm(i, j, k);
                // A slope of 100 HU a mm at the rims: the outline at 150 HU is where the ball's surface is.
                let off = (p.length() - 15.0).min(p.distance(DVec3::new(30.0, 0.0, 0.0)) - 8.0);
                hu.push((150.0 - 100.0 * off).clamp(0.0, 300.0) as f32);
            }
        }
    }
    Ct::unnamed(
        Arc::new(Volume::new(Arc::new(grid), hu)),
        PatientPosition::default(),
    )
}

fn set(solids: Vec<Vec<Vec<DVec3>>>) -> StructureSet {
    StructureSet {
        structures: solids
            .into_iter()
            .zip(1..)
            .map(|(contours, n)| Structure {
                contours: contours
                    .into_iter()
                    .map(|points_mm| Contour {
                        points_mm,
                        image_uid: None,
                    })
                    .collect(),
                ..Structure::new(format!("S{n}"), n, StructureKind::Other)
            })
            .collect(),
        ..Default::default()
    }
}

fn made(
    ct: &Ct,
    set: &StructureSet,
    operation: Operation,
) -> Result<MadeContours, ContouringError> {
    made_of(ct, set, 1, operation, &JobControl::new())
}

fn cm3(ct: &Ct, result: &MadeContours) -> f64 {
    let contours: Vec<&[DVec3]> = result
        .contours
        .iter()
        .map(|c| c.points_mm.as_slice())
        .collect();
    Mask::from_contours(ct.hu.grid(), &contours, &|_| true)
        .expect("a mask")
        .volume_cm3()
}

fn cuboid(ct: &Ct, centre: DVec3, size: DVec3) -> Vec<Vec<DVec3>> {
    box_contours(ct.hu.grid(), centre, size)
}

/// Boxes of 20 x 20 x 22 mm (11 planes of 2 mm), the second 10 mm to the left: half of each is shared.
#[test]
fn booleans_and_crops_of_boxes_have_their_volumes() {
    let ct = ct();
    let size = DVec3::new(20.0, 20.0, 20.0);
    let set = set(vec![
        cuboid(&ct, DVec3::ZERO, size),
        cuboid(&ct, DVec3::new(10.0, 0.0, 0.0), size),
    ]);
    let cuboid_cm3 = 8.8;
    for (how, share) in [
        (Boolean::Union, 1.5),
        (Boolean::Intersection, 0.5),
        (Boolean::Difference, 0.5),
        (Boolean::Xor, 1.0),
    ] {
        let result = made(&ct, &set, Operation::Boolean { how, other: 2 }).expect("made");
        assert!(
            (cm3(&ct, &result) - share * cuboid_cm3).abs() < 0.01,
            "{how:?}"
        );
    }
    // Outside of the second by 4 mm: 6 of 20 mm are left.
    let crop = Operation::Crop {
        inside: false,
        other: 2,
        distance_mm: 4.0,
    };
    assert!((cm3(&ct, &made(&ct, &set, crop).expect("made")) - 0.3 * cuboid_cm3).abs() < 0.03);
    // Inside of it by 4 mm: 6 of 20 mm along x, 12 across, and 2 of 11 planes off at either end.
    let crop = Operation::Crop {
        inside: true,
        other: 2,
        distance_mm: 4.0,
    };
    let want = 0.6 * 1.2 * 1.4;
    let got = cm3(&ct, &made(&ct, &set, crop).expect("made"));
    assert!((got - want).abs() < 0.05, "{got}");
    let crop = Operation::Crop {
        inside: true,
        other: 2,
        distance_mm: 11.0,
    };
    assert_eq!(
        made(&ct, &set, crop).unwrap_err(),
        ContouringError::Nothing("S1".into())
    );
    let gone = Operation::Boolean {
        how: Boolean::Union,
        other: 9,
    };
    assert_eq!(made(&ct, &set, gone).unwrap_err(), ContouringError::Gone);
}

#[test]
fn margins_are_said_where_they_cannot_be() {
    let ct = ct();
    let set = set(vec![
        cuboid(&ct, DVec3::ZERO, DVec3::splat(20.0)),
        Vec::new(),
    ]);
    let margin = |grow, mm| Operation::Margin { grow, mm: [mm; 6] };
    assert_eq!(
        made(&ct, &set, margin(false, 12.0)).unwrap_err(),
        ContouringError::TooThin("S1".into())
    );
    assert_eq!(
        made(&ct, &set, margin(true, -1.0)).unwrap_err(),
        ContouringError::Margin
    );
    assert_eq!(
        made(&ct, &set, margin(true, f64::NAN)).unwrap_err(),
        ContouringError::Margin
    );
    let huge = made(&ct, &set, margin(true, 60.0)).expect("made");
    assert!(
        huge.remarks[0].contains("beyond the CT"),
        "{:?}",
        huge.remarks
    );
    let image = 8.1 * 8.1 * 8.2;
    assert!(
        (cm3(&ct, &huge) / image - 1.0).abs() < 0.01,
        "all of the CT: {}",
        cm3(&ct, &huge)
    );
    assert!(
        made(&ct, &set, margin(true, 5.0))
            .expect("made")
            .remarks
            .is_empty()
    );
    let empty = made_of(&ct, &set, 2, margin(true, 5.0), &JobControl::new());
    assert_eq!(empty.unwrap_err(), ContouringError::NoContours("S2".into()));
    let control = JobControl::new();
    control.cancel();
    let cancelled = made_of(&ct, &set, 1, margin(true, 5.0), &control);
    assert_eq!(cancelled.unwrap_err(), ContouringError::Cancelled);
}

/// Left is +x, posterior +y, superior +z of the patient, whichever way the grid's axes run.
#[test]
fn directions_are_the_patients() {
    let mm = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let grid = |row, column| {
        Grid::new(DVec3::ZERO, row, column, [1.0, 1.0], [4, 4], &[0.0, 2.0]).expect("a grid")
    };
    let hfs = grid(DVec3::X, DVec3::Y);
    assert_eq!(
        along_grid(&hfs, mm),
        Some([[2.0, 1.0], [3.0, 4.0], [6.0, 5.0]])
    );
    let prone = grid(-DVec3::X, -DVec3::Y);
    assert_eq!(
        along_grid(&prone, mm),
        Some([[1.0, 2.0], [4.0, 3.0], [6.0, 5.0]])
    );
    let sagittal = grid(DVec3::Y, -DVec3::Z);
    assert_eq!(
        along_grid(&sagittal, mm),
        Some([[3.0, 4.0], [5.0, 6.0], [1.0, 2.0]])
    );
    let oblique = grid(DVec3::new(0.8, 0.6, 0.0), DVec3::new(-0.6, 0.8, 0.0));
    assert_eq!(along_grid(&oblique, mm), None);
    assert_eq!(along_grid(&oblique, [7.0; 6]), Some([[7.0; 2]; 3]));
}

/// A threshold finds both balls, growing from one that one alone; volumes are 4/3 pi r³.
#[test]
fn ct_numbers_find_the_balls() {
    let ct = ct();
    let set = set(vec![cuboid(&ct, DVec3::ZERO, DVec3::new(78.0, 78.0, 78.0))]);
    let ball = |r: f64| 4.0 / 3.0 * PI * r.powi(3) / 1000.0;
    let both = made(
        &ct,
        &set,
        Operation::Threshold {
            hu: [150.0, 1000.0],
        },
    )
    .expect("made");
    assert!(
        (cm3(&ct, &both) / (ball(15.0) + ball(8.0)) - 1.0).abs() < 0.02,
        "{}",
        cm3(&ct, &both)
    );
    let hu = [150.0, 1000.0];
    for (seed_mm, radius) in [(DVec3::ZERO, 15.0), (DVec3::new(30.0, 0.0, 0.0), 8.0)] {
        let one = made(
            &ct,
            &set,
            Operation::Grow {
                hu,
                from_mm: seed_mm,
            },
        )
        .expect("made");
        assert!(
            (cm3(&ct, &one) / ball(radius) - 1.0).abs() < 0.04,
            "{radius}: {}",
            cm3(&ct, &one)
        );
    }
    let water = made(
        &ct,
        &set,
        Operation::Grow {
            hu,
            from_mm: DVec3::new(0.0, 30.0, 0.0),
        },
    );
    assert_eq!(
        water.unwrap_err(),
        ContouringError::SeedHu {
            at: 0.0,
            low: 150.0,
            high: 1000.0
        }
    );
    let air = made(
        &ct,
        &set,
        Operation::Threshold {
            hu: [-1000.0, -500.0],
        },
    );
    assert!(matches!(air.unwrap_err(), ContouringError::NoHu { .. }));
    let wrong = made(&ct, &set, Operation::Threshold { hu: [5.0, 5.0] });
    assert_eq!(wrong.unwrap_err(), ContouringError::Range);
    let outside = Operation::Grow {
        hu,
        from_mm: DVec3::splat(500.0),
    };
    assert!(matches!(
        made(&ct, &set, outside).unwrap_err(),
        ContouringError::SeedOutside(_)
    ));
}

#[test]
fn slices_are_copied_and_interpolated() {
    let ct = ct();
    let mut drawn = sphere_contours(ct.hu.grid(), DVec3::ZERO, 20.0);
    let drawn_count = drawn.len();
    drawn.retain(|c| (c[0].z / 2.0).round() as i32 % 3 == 0);
    let few = drawn.len();
    let set = set(vec![drawn]);
    let full = made(&ct, &set, Operation::Interpolate).expect("made");
    assert_eq!(
        full.contours.len(),
        drawn_count - 2 * ((drawn_count - 1) / 2 % 3),
        "{few} were drawn"
    );
    let on_plane = |z: f64| DVec3::new(0.0, 0.0, z);
    let copy = |z: f64, superior| Operation::CopySlice {
        at_mm: on_plane(z),
        superior,
    };
    let copied = made(&ct, &set, copy(0.3, true)).expect("made");
    assert_eq!(copied.contours.len(), few + 1);
    let made_at = copied.contours[few].points_mm[0];
    assert!((made_at.z - 2.0).abs() < 1e-9 && (made_at.truncate().length() - 20.0).abs() < 0.02);
    assert_eq!(
        made(&ct, &set, copy(30.0, true)).unwrap_err(),
        ContouringError::NoSlice("S1".into())
    );
}

/// A ring with an island in it, on every plane: the hole has 16 cm2, the island 4 cm2.
#[test]
fn holes_and_small_parts_go() {
    let ct = ct();
    let square = |side: f64| cuboid(&ct, DVec3::ZERO, DVec3::new(side, side, 10.0));
    let solids = vec![[square(60.0), square(40.0), square(20.0)].concat()];
    let set = set(solids);
    let planes = 1.0;
    let area = |operation| cm3(&ct, &made(&ct, &set, operation).expect("made")) / planes / 1.0;
    assert!((area(Operation::RemoveParts { below_cm2: 5.0 }) - 20.0).abs() < 0.1);
    assert!((area(Operation::RemoveHoles { below_cm2: 20.0 }) - 36.0).abs() < 0.1);
    assert!((area(Operation::RemoveHoles { below_cm2: 10.0 }) - 24.0).abs() < 0.1);
}

/// Boxes of 20 x 20 mm on 11 planes 2 mm apart: of each direction one voxel, and half less half a voxel, goes.
#[test]
fn slices_and_sides_are_cleared_along_every_axis() {
    let ct = ct();
    let set = set(vec![cuboid(&ct, DVec3::ZERO, DVec3::splat(20.0))]);
    let clear = |at_mm, axis, part| made(&ct, &set, Operation::Clear { at_mm, axis, part });
    let middle = DVec3::new(0.2, -0.3, 0.4);
    for (axis, width) in [(0, 20.0), (1, 20.0), (2, 22.0)] {
        let voxel = if axis == 2 { 2.0 } else { 1.0 };
        let one = clear(middle, axis, Cleared::Slice).expect("made");
        // An axial slice between others is filled by them, and that is said.
        let want = if axis == 2 {
            8.8
        } else {
            8.8 * (width - voxel) / width
        };
        assert!(
            (cm3(&ct, &one) - want).abs() < 0.02,
            "axis {axis}: {}",
            cm3(&ct, &one)
        );
        assert_eq!(one.remarks.len(), usize::from(axis == 2));
        for greater in [true, false] {
            let half = clear(middle, axis, Cleared::Beyond { greater }).expect("made");
            let want = 8.8 * (0.5 * width + 0.5 * voxel) / width;
            assert!(
                (cm3(&ct, &half) - want).abs() < 0.02,
                "axis {axis}, {greater}: {}",
                cm3(&ct, &half)
            );
            let side = half
                .contours
                .iter()
                .flat_map(|c| &c.points_mm)
                .map(|p| p[axis]);
            let extent_mm = if greater {
                side.fold(f64::MIN, f64::max)
            } else {
                -side.fold(f64::MAX, f64::min)
            };
            assert!(extent_mm <= voxel, "what lies beyond is gone: {extent_mm}");
        }
    }
    let end = clear(DVec3::new(0.0, 0.0, 10.0), 2, Cleared::Slice).expect("made");
    assert!(
        (cm3(&ct, &end) - 8.0).abs() < 0.02 && end.remarks.is_empty(),
        "an end is not filled"
    );
    let cleared = clear(
        DVec3::new(0.0, 0.0, -30.0),
        2,
        Cleared::Beyond { greater: true },
    )
    .expect("made");
    assert!(
        cleared.contours.is_empty(),
        "a structure may be cleared altogether"
    );
    let refusal = |at_mm, axis| clear(at_mm, axis, Cleared::Slice).unwrap_err();
    let nothing = ContouringError::NothingThere("S1".into());
    assert_eq!(refusal(DVec3::new(0.0, 0.0, 25.0), 2), nothing);
    assert_eq!(refusal(DVec3::new(25.0, 0.0, 0.0), 0), nothing);
    assert_eq!(
        clear(
            DVec3::new(0.0, 30.0, 0.0),
            1,
            Cleared::Beyond { greater: true }
        )
        .unwrap_err(),
        nothing
    );
}

/// Balls of 10 mm: a ring has the difference of two balls, of two targets apart twice that, and in a box half of it.
#[test]
fn rings_lie_round_targets_and_inside_of_the_body() {
    let ct = ct();
    let grid = Arc::clone(ct.hu.grid());
    let ball = |x: f64| sphere_contours(&grid, DVec3::new(x, 0.0, 0.0), 8.0);
    let half = cuboid(
        &ct,
        DVec3::new(-31.0, 0.0, 0.0),
        DVec3::new(20.0, 60.0, 60.0),
    );
    let mut set = set(vec![ball(-21.0), ball(21.0), half]);
    set.structures[0].kind = StructureKind::Ptv;
    set.structures[1].kind = StructureKind::Ptv;
    let ring = |mm, round_all, inside| {
        made(
            &ct,
            &set,
            Operation::Ring {
                mm,
                round_all,
                inside,
            },
        )
    };
    let shell =
        |from: f64, to: f64| 4.0 / 3.0 * PI * ((8.0 + to).powi(3) - (8.0 + from).powi(3)) / 1000.0;
    let near = |result: &MadeContours, want: f64| {
        let got = cm3(&ct, result);
        assert!((got / want - 1.0).abs() < 0.05, "{got} {want}");
    };
    near(
        &ring([2.0, 8.0], None, None).expect("made"),
        shell(2.0, 8.0),
    );
    near(
        &ring([0.0, 5.0], None, None).expect("made"),
        shell(0.0, 5.0),
    );
    near(
        &ring([2.0, 8.0], Some(StructureKind::Ptv), None).expect("made"),
        2.0 * shell(2.0, 8.0),
    );
    near(
        &ring([2.0, 8.0], None, Some(3)).expect("made"),
        0.5 * shell(2.0, 8.0),
    );
    for mm in [
        [5.0, 5.0],
        [8.0, 2.0],
        [-1.0, 5.0],
        [f64::NAN, 5.0],
        [1.0, f64::NAN],
        [1.0, 101.0],
    ] {
        assert_eq!(
            ring(mm, None, None).unwrap_err(),
            ContouringError::Ring,
            "{mm:?}"
        );
    }
    let none = ring([1.0, 2.0], Some(StructureKind::Ctv), None).unwrap_err();
    assert_eq!(none, ContouringError::NoneOf("CTV"));
    let others = Operation::Ring {
        mm: [1.0, 2.0],
        round_all: Some(StructureKind::Ptv),
        inside: Some(3),
    };
    assert_eq!(others.others(&set), [1, 2, 3], "a result is of all of them");
}

#[test]
fn lungs_are_found_by_name_and_lose_every_target() {
    let ct = ct();
    let size = DVec3::new(20.0, 20.0, 20.0);
    let cuboid_at = |x: f64, size: DVec3| cuboid(&ct, DVec3::new(x, 0.0, 0.0), size);
    let mut set = set(vec![
        cuboid_at(-20.0, size),
        cuboid_at(20.0, size),
        cuboid_at(-20.0, size / 2.0),
        cuboid_at(20.0, size / 2.0),
    ]);
    for n in [2, 3] {
        set.structures[n].kind = StructureKind::Ctv;
    }
    let mut named = |names: [&str; 2]| {
        for (structure, name) in set.structures.iter_mut().zip(names) {
            structure.name = name.to_owned();
        }
        lungs(&set)
    };
    for names in [
        ["Lung_L", "Lung_R"],
        ["Left Lung", "lung right"],
        ["Lung-lt", "LUNG RT"],
    ] {
        assert_eq!(named(names), Some((1, Some(2))), "{names:?}");
    }
    assert_eq!(named(["Lung R", "Lung L"]), Some((2, Some(1))));
    assert_eq!(named(["Lungs", "Lung_L"]), Some((1, None)));
    assert_eq!(named(["Lung_L", "Lung_LN"]), None, "a node is no lung");
    let without = Operation::Without {
        with: Some(2),
        minus: StructureKind::Ctv,
    };
    let both = made(&ct, &set, without).expect("made");
    // Targets of 10 x 10 mm on 5 planes, 10 mm.
    assert!(
        (cm3(&ct, &both) - 2.0 * (8.8 - 1.0)).abs() < 0.05,
        "{}",
        cm3(&ct, &both)
    );
    let none = made(
        &ct,
        &set,
        Operation::Without {
            with: None,
            minus: StructureKind::Gtv,
        },
    );
    assert_eq!(none.unwrap_err(), ContouringError::NoneOf("GTV"));
}

/// Volume of a box of 20 x 20 x 22 mm with a margin: faces, quarter cylinders along the edges, an eighth of a ball at each corner.
fn grown_cm3(mm: f64) -> f64 {
    let [a, b, c] = [20.0, 20.0, 22.0];
    let faces = 2.0 * mm * (a * b + b * c + c * a);
    let edges = PI * mm * mm * (a + b + c);
    1e-3 * (a * b * c + faces + edges + 4.0 / 3.0 * PI * mm.powi(3))
}

/// Expressions of two boxes of 20 x 20 x 22 mm, 10 mm apart, against closed forms: planes 2 mm apart cut the round
/// edges of margins by up to 3 %.
#[test]
fn expressions_of_boxes_have_their_volumes() {
    let ct = ct();
    let size = DVec3::new(20.0, 20.0, 20.0);
    let mut set = set(vec![
        cuboid(&ct, DVec3::ZERO, size),
        cuboid(&ct, DVec3::new(10.0, 0.0, 0.0), size),
        cuboid(&ct, DVec3::ZERO, DVec3::new(60.0, 60.0, 60.0)),
    ]);
    set.structures[2].kind = StructureKind::External;
    set.structures[2].name = "Outline".to_owned();
    let cuboid_cm3 = 8.8;
    let body_cm3 = 60.0 * 60.0 * 62.0 * 1e-3;
    for (text, want_cm3) in [
        ("S1", cuboid_cm3),
        ("S1 + S2", 1.5 * cuboid_cm3),
        ("S1 & S2", 0.5 * cuboid_cm3),
        ("S1 - S2 - (S2 & S1)", 0.5 * cuboid_cm3),
        ("S1 - 4 mm", 12.0 * 12.0 * 14.0 * 1e-3),
        ("S1 + 4 mm", grown_cm3(4.0)),
        ("ring(S1, 2, 6 mm)", grown_cm3(6.0) - grown_cm3(2.0)),
        ("body", body_cm3),
        ("body - S1", body_cm3 - cuboid_cm3),
        ("skin(4 mm)", body_cm3 - 52.0 * 52.0 * 54.0 * 1e-3),
    ] {
        let expression = text.parse().expect("an expression");
        let contours = contours_of_expression(&ct, &set, &expression, &JobControl::new());
        let made_cm3 = cm3(&ct, &contours.unwrap_or_else(|why| panic!("{text}: {why}")));
        assert!(
            (made_cm3 - want_cm3).abs() < 0.04 * want_cm3,
            "{text}: {made_cm3} for {want_cm3}"
        );
    }
    for (text, want) in [
        (
            "S1 - (S1 + S2)",
            ContouringError::Nothing("(S1 - (S1 + S2))".to_owned()),
        ),
        ("S1 - S9", ContouringError::Unknown("S9".to_owned())),
        (
            "(S1 - 30 mm) + 5 mm",
            ContouringError::Nothing("((S1 - 30 mm) + 5 mm)".to_owned()),
        ),
    ] {
        let expression = text.parse().expect("an expression");
        let contours = contours_of_expression(&ct, &set, &expression, &JobControl::new());
        assert_eq!(contours.map(|_| ()), Err(want), "{text}");
    }
}
