use super::*;
use crate::tables::Thresholds;
use crate::test_worlds::{cubes, tables};
use crate::world::{Settings, World};

fn with_a_plate() -> Voxels {
    cubes([10, 10, 10], |[x, y, _]| match (x, y) {
        (2..6, 4) => Material::Titanium,
        _ => Material::Water,
    })
}

fn world(voxels: &Voxels) -> World<'_> {
    let settings = Settings::for_thresholds(Thresholds::STANDARD);
    World::new(voxels, tables(), settings).expect("a world")
}

/// No voxel of a box is heavier than its block; water before and behind a plate makes one box each.
#[test]
fn boxes_are_as_heavy_as_their_blocks() {
    let voxels = with_a_plate();
    let world = world(&voxels);
    let blocks = world.majorants().blocks().expect("blocks");
    assert_eq!((blocks.shape, blocks.edge), ([5; 3], [2; 3]));
    for (voxel, &density) in voxels.densities_g_cm3().iter().enumerate() {
        let cell = voxels.grid().cell_of_index(voxel);
        for bounds in &blocks.boxes {
            let is_inside = (0..3).all(|axis| {
                let block = (cell[axis] / 2) as u8;
                (bounds.low[axis]..bounds.high[axis]).contains(&block)
            });
            assert!(!is_inside || bounds.is_heavy == 1 || density <= HEAVY_ABOVE_G_CM3);
        }
    }
    let [first, heavy] = [[0, 0, 0], [1, 2, 0]].map(|block| blocks.boxes[index([5; 3], block)]);
    assert_eq!((first.low, first.high), ([0; 3], [5, 2, 5]));
    assert_eq!((heavy.low, heavy.high), ([1, 2, 0], [3, 3, 5]));
}

#[test]
fn water_alone_has_one_majorant() {
    let voxels = cubes([4; 3], |_| Material::Water);
    let world = world(&voxels);
    let majorants = world.majorants();
    assert!(majorants.blocks().is_none());
    assert_eq!(majorants.all_per_cm(), majorants.light_per_cm());
}

/// A photon on a side is in the box ahead of it, whichever way it goes.
#[test]
fn a_photon_on_a_side_flies_in_the_box_ahead() {
    let voxels = with_a_plate();
    let world = world(&voxels);
    let on_side = DVec3::new(3.0, 4.0, 3.0);
    for (direction, is_heavy) in [(DVec3::Y, true), (DVec3::NEG_Y, false)] {
        let span = world
            .majorants()
            .span(voxels.grid(), on_side, direction, 1.0);
        let attenuation = span.majorant_per_cm;
        assert_eq!(attenuation > 0.2, is_heavy, "{direction}: {attenuation}");
        let side = span.side.expect("a side");
        assert_eq!(side.distance_cm, if is_heavy { 2.0 } else { 4.0 });
        assert_eq!(side.is_of_grid, !is_heavy);
    }
}
