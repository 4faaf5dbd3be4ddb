//! HU beyond the ends of a table, in the dose of a plan.

use super::*;
use case::{DensityOverride, Medium};

/// A cube of water of 12 cm with a cube of `metal_hu` in it, `side` mm wide.
fn with_metal(metal_hu: f32, side: f64) -> Arc<Ct> {
    ct(move |p| match p.abs().max_element() {
        far if far < 0.5 * side => metal_hu,
        far if far < 60.0 => 0.0,
        _ => -1000.0,
    })
}

#[test]
fn hu_above_the_table_are_said_and_more_than_a_few_make_a_caveat() {
    let metal = with_metal(8000.0, 16.0);
    let set = cube(&metal, 60.0);
    for engine in [Engine::COLLAPSED_CONE, Engine::MonteCarlo(monte_carlo())] {
        let got = computed(&PlanJob {
            engine,
            ..job(&metal, &set, BodyChoice::Drawn)
        });
        // 4 x 4 x 4 voxels of 4 mm: 4.096 cm3. The table's last row: 3000 HU, 2.8859 g/cm3.
        let words = [
            "64 voxels of the body (4.10 cm3)",
            "matrad-default",
            "3000 HU",
            "8000 HU",
            "2.89 g/cm3",
        ];
        let is_stated = got
            .remarks
            .iter()
            .any(|remark| words.iter().all(|word| remark.contains(word)));
        assert!(is_stated, "{:?}", got.remarks);
        assert_eq!(
            got.dose.caveats,
            ["4.1 cm3 above 3000 HU as 2.89 g/cm3"],
            "{engine:?}"
        );
        assert_eq!(got.dose.status, DoseStatus::Partial);
    }
    // Nothing of it is said where a density is given, where the table reaches as far, or of what is outside the body.
    let mut titanium = StructureSet::clone(&set);
    let mut implant = drawn(&metal, DVec3::splat(-8.0), DVec3::splat(8.0)).structures[0].clone();
    (implant.kind, implant.number) = (StructureKind::Other, 8);
    implant.density = Some(DensityOverride::preset(Medium::Titanium));
    titanium.structures.push(implant);
    let body_beside = drawn(&metal, DVec3::splat(-60.0), DVec3::new(60.0, -8.0, 60.0));
    let dense = with_metal(2900.0, 16.0);
    for (ct, set) in [
        (&metal, &Arc::new(titanium)),
        (&metal, &body_beside),
        (&dense, &cube(&dense, 60.0)),
    ] {
        let got = computed(&job(ct, set, BodyChoice::Drawn));
        assert!(
            !got.remarks.iter().any(|r| r.contains("HU table")),
            "{:?}",
            got.remarks
        );
        assert!(
            !got.dose.caveats.iter().any(|c| c.contains(" HU as ")),
            "{:?}",
            got.dose.caveats
        );
    }
    // One voxel of 0.064 cm3 is said and no caveat.
    let speck = ct(|p| {
        if p.distance(DVec3::splat(2.0)) < 1.0 {
            4000.0
        } else if p.abs().max_element() < 60.0 {
            0.0
        } else {
            -1000.0
        }
    });
    let got = computed(&job(&speck, &cube(&speck, 60.0), BodyChoice::Drawn));
    assert!(
        got.remarks
            .iter()
            .any(|r| r.contains("1 voxel of the body (0.06 cm3)")),
        "{:?}",
        got.remarks
    );
    assert_eq!(
        (got.dose.status, got.dose.caveats.len()),
        (DoseStatus::Coarse, 0)
    );
}
