use super::*;
use std::sync::LazyLock;

/// The thorax, built once for all its tests.
static THORAX: LazyLock<Case> = LazyLock::new(|| build("thorax").unwrap());

fn volume_cm3(case: &Case, name: &str) -> f64 {
    let ct = case.ct.as_ref().unwrap();
    let structure = case
        .structures
        .by_name(name)
        .unwrap_or_else(|| panic!("{name}"));
    let thickness = ct.hu.grid().even_plane_spacing_mm().unwrap();
    let area: f64 = structure
        .contours
        .iter()
        .map(|c| {
            let p = &c.points_mm;
            (0..p.len())
                .map(|n| p[n].x * p[(n + 1) % p.len()].y - p[(n + 1) % p.len()].x * p[n].y)
                .sum::<f64>()
                / 2.0
        })
        .sum();
    area.abs() * thickness / 1000.0
}

fn hu_at(case: &Case, p: [f64; 3]) -> f32 {
    case.ct
        .as_ref()
        .unwrap()
        .hu
        .nearest(DVec3::from(p))
        .unwrap()
}

#[test]
fn every_demo_is_whole() {
    for (name, _) in DEMOS {
        let case = if name == "thorax" {
            THORAX.clone()
        } else {
            build(name).unwrap()
        };
        let ct = case.ct.as_ref().unwrap();
        assert_eq!(ct.plane_uids.len(), ct.hu.grid().size()[2]);
        assert!(
            ct.hu
                .data()
                .iter()
                .all(|v| v.fract() == 0.0 && (-1024.0..=3071.0).contains(v))
        );
        for structure in &case.structures.structures {
            assert!(
                !structure.contours.is_empty(),
                "{name}: {} is empty",
                structure.name
            );
            let largest = structure.contours.iter().map(|c| c.points_mm.len()).max();
            assert!(
                largest >= Some(24),
                "{name}: {} is too coarse",
                structure.name
            );
        }
        let plan = &case.plans[0];
        let target = plan
            .normalisation
            .as_ref()
            .and_then(|n| n.structure())
            .map_or("PTV", |(name, _)| name);
        assert!(case.structures.by_name(target).is_some());
        assert!(
            plan.beams
                .iter()
                .all(|b| b.mu > 0.0 && b.control_points.last().unwrap().meterset_weight == 1.0)
        );
    }
    assert_eq!(build("nose").unwrap_err(), UnknownDemo("nose".to_owned()));
}

#[test]
fn the_water_cube_is_30_cm() {
    let case = build("water").unwrap();
    let water = case
        .ct
        .as_ref()
        .unwrap()
        .hu
        .data()
        .iter()
        .filter(|v| **v == 0.0)
        .count();
    assert_eq!(water as f64 * 2.5f64.powi(3), 300f64.powi(3));
    assert!((volume_cm3(&case, "BODY") / 27_000.0 - 1.0).abs() < 1e-3);
    assert!((volume_cm3(&case, "PTV") / 33.51 - 1.0).abs() < 0.01);
}

#[test]
fn the_slab_phantom_has_its_layers() {
    let case = build("slab").unwrap();
    let layers: Vec<f32> = [25.0, 60.0, 85.0, 150.0, 250.0]
        .iter()
        .map(|d| hu_at(&case, [0.0, d - 150.0, 0.0]))
        .collect();
    assert_eq!(layers, [0.0, 1000.0, 0.0, -750.0, 0.0]);
}

/// Volumes from the radii and lengths: core pi r² l, target (1 - opening) pi (R² - r²) l.
#[test]
fn tg119_has_the_volumes_of_its_dimensions() {
    let case = build("tg119").unwrap();
    let core = std::f64::consts::PI * 100.0 * 100.0 / 1000.0;
    let target =
        240.0 / 360.0 * std::f64::consts::PI * (37.0f64.powi(2) - 15.0f64.powi(2)) * 80.0 / 1000.0;
    assert!((volume_cm3(&case, "Core") / core - 1.0).abs() < 0.01);
    assert!(
        (volume_cm3(&case, "PTV") / target - 1.0).abs() < 0.01,
        "{} {target}",
        volume_cm3(&case, "PTV")
    );
}

/// Organ sizes within the range of adults, and the expected organ at each probe position.
#[test]
fn the_thorax_is_a_plausible_chest() {
    let case = &*THORAX;
    for (name, low, high) in [
        ("Lung_R", 1500.0, 3200.0),
        ("Lung_L", 1300.0, 2900.0),
        ("Heart", 400.0, 800.0),
        ("GTV", 8.0, 16.0),
        ("PTV", 40.0, 60.0),
        ("SpinalCord", 15.0, 35.0),
    ] {
        let v = volume_cm3(case, name);
        assert!((low..high).contains(&v), "{name}: {v} cm3");
    }
    for (place, low, high) in [
        ([-72.0, 14.0, 25.0], 10.0, 70.0),     // tumour
        ([90.0, 10.0, 0.0], -880.0, -600.0),   // left lung
        ([30.0, -26.0, -44.0], 20.0, 70.0),    // heart
        ([0.0, 10.0, 60.0], -1010.0, -950.0),  // trachea
        ([0.0, 60.0, 0.0], 100.0, 400.0),      // vertebra
        ([-60.0, 0.0, -120.0], 40.0, 80.0),    // liver
        ([0.0, -200.0, 0.0], -1010.0, -990.0), // air
    ] {
        let hu = {
            let ct = case.ct.as_ref().unwrap();
            let [i, j, k] = ct
                .hu
                .grid()
                .voxel_from_patient(DVec3::from(place))
                .round()
                .to_array()
                .map(|v| v as usize);
            let near = (0..27).map(|n| ct.hu.at(i + n % 3 - 1, j + n / 3 % 3 - 1, k + n / 9 - 1));
            near.sum::<f32>() / 27.0
        };
        assert!((low..high).contains(&hu), "{place:?}: {hu} HU");
    }
    let again = build("thorax").unwrap();
    assert_eq!(
        again.ct.as_ref().unwrap().hu.data(),
        case.ct.as_ref().unwrap().hu.data()
    );
    assert_eq!(again.structures, case.structures);
}
