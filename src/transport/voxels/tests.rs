use super::*;

fn grid(periodic: [bool; 3]) -> VoxelGrid {
    VoxelGrid {
        shape: [4, 3, 2],
        origin_cm: DVec3::new(-2.0, 0.0, 1.0),
        spacing_cm: DVec3::new(1.0, 0.5, 2.0),
        periodic,
    }
}

fn with_densities(densities_g_cm3: Vec<f32>) -> Result<Voxels, VoxelsError> {
    Voxels::new(grid([false; 3]), vec![Material::Water; 24], densities_g_cm3)
}

#[test]
fn voxels_refuse_what_they_cannot_hold() {
    assert!(with_densities(vec![1.0; 24]).is_ok());
    assert_eq!(
        with_densities(vec![1.0; 23]).unwrap_err(),
        VoxelsError::Count {
            voxels: 24,
            materials: 24,
            densities: 23
        }
    );
    assert_eq!(
        with_densities(vec![-1.0; 24]).unwrap_err(),
        VoxelsError::Density(-1.0)
    );
    let flat = VoxelGrid {
        spacing_cm: DVec3::new(1.0, 0.0, 1.0),
        ..grid([false; 3])
    };
    assert_eq!(
        Voxels::new(flat, vec![Material::Water; 24], vec![1.0; 24]).unwrap_err(),
        VoxelsError::Grid
    );
}

#[test]
fn points_belong_to_the_voxel_around_them() {
    let grid = grid([false; 3]);
    assert_eq!(grid.cell_of(DVec3::new(-1.9, 1.2, 3.5)), Some([0, 2, 1]));
    assert_eq!(grid.cell_of(DVec3::new(2.0, 1.2, 3.5)), None);
    assert_eq!(grid.cell_of(DVec3::new(0.0, -1e-9, 3.5)), None);
    assert_eq!(grid.cell_of_index(23), [3, 2, 1]);
}

/// A diagonal through the grid by faces: pieces sum to the chord between the points of entry and exit.
#[test]
fn faces_cut_a_chord_into_its_pieces() {
    let grid = grid([false; 3]);
    let direction = DVec3::new(0.5, 0.23, 0.1).normalize();
    let mut position = DVec3::new(-2.0, 0.1, 1.0);
    let start = position;
    let mut cell = grid.cell_of(position).unwrap();
    let mut length = 0.0;
    loop {
        let face = grid.face_ahead(cell, position, direction);
        position += direction * face.distance_cm;
        length += face.distance_cm;
        if grid.cross(face.axis, direction, &mut cell, &mut position) == Crossing::Outside {
            break;
        }
        let inside = position + direction * 1e-9;
        assert_eq!(grid.cell_of(inside), Some(cell));
    }
    assert!((length - (position - start).length()).abs() < 1e-12);
    // The upper side in y is the first that the ray meets.
    let expected = (1.5 - start.y) / direction.y;
    assert!((length - expected).abs() < 1e-12, "{length} for {expected}");
}

#[test]
fn rays_enter_by_the_near_side_or_miss() {
    let grid = grid([false; 3]);
    let entry = grid.entry_cm(DVec3::new(0.0, 0.7, -9.0), DVec3::Z);
    assert_eq!(entry, Some(10.0));
    assert_eq!(
        grid.entry_cm(DVec3::new(0.0, 0.7, 2.0), DVec3::Z),
        Some(0.0)
    );
    assert_eq!(grid.entry_cm(DVec3::new(0.0, 7.0, -9.0), DVec3::Z), None);
    assert_eq!(grid.entry_cm(DVec3::new(0.0, 0.7, 9.0), DVec3::Z), None);
}

#[test]
fn tracks_come_back_through_periodic_sides() {
    let grid = grid([false, true, true]);
    let mut cell = [1, 2, 0];
    let mut position = DVec3::new(-0.4, 1.5, 2.0);
    assert_eq!(
        grid.cross(1, DVec3::Y, &mut cell, &mut position),
        Crossing::Voxel
    );
    assert_eq!(cell, [1, 0, 0]);
    assert_eq!(position, DVec3::new(-0.4, 0.0, 2.0));
    let wrapped = grid.wrapped(DVec3::new(0.0, -0.25, 11.5));
    assert!((wrapped - DVec3::new(0.0, 1.25, 3.5)).length() < 1e-12);
}
