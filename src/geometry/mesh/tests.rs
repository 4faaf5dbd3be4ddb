use super::*;
use crate::{Grid, box_contours, sphere_contours};
use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::Arc;

fn grid(spacing: DVec3, size: [usize; 3]) -> Arc<Grid> {
    let middle = spacing * DVec3::from(size.map(|n| 0.5 * (n as f64 - 1.0)));
    Arc::new(Grid::axis_aligned(-middle, spacing, size).expect("a grid"))
}

fn mask(grid: &Arc<Grid>, contours: &[Vec<DVec3>]) -> Mask {
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Mask::from_contours(grid, &contours, &|_| true).expect("a mask")
}

/// Each edge is shared by two triangles that run along it in opposite directions.
fn is_closed(mesh: &Mesh) -> bool {
    let mut edges: HashMap<(u32, u32), i32> = HashMap::new();
    for [a, b, c] in &mesh.triangles {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            *edges.entry((*from.min(to), *from.max(to))).or_default() +=
                if from < to { 1 } else { -1 };
        }
    }
    edges.values().all(|n| *n == 0)
}

/// 4/3 pi r^3, from a finely and a coarsely sampled mask.
#[test]
fn a_sphere_of_a_mask_has_the_volume_of_a_sphere() {
    let grid = grid(DVec3::new(1.0, 1.0, 2.0), [90, 90, 45]);
    let sphere = mask(
        &grid,
        &sphere_contours(&grid, DVec3::new(3.0, -2.0, 1.0), 30.0),
    );
    let want = 4.0 / 3.0 * PI * 30.0_f64.powi(3);
    // Triangles cut the sphere's curve off: by (step / radius)^2, about.
    for (step_mm, tolerance) in [(2.0, 0.01), (4.0, 0.03)] {
        let mesh = Mesh::of_mask(&sphere, step_mm);
        assert!(is_closed(&mesh));
        let got = mesh.volume_mm3();
        assert!(
            (got / want - 1.0).abs() < tolerance,
            "{got} mm3, not {want}, at {step_mm} mm"
        );
        for v in &mesh.vertices {
            let out = DVec3::from(v.at_mm.map(f64::from)) - DVec3::new(3.0, -2.0, 1.0);
            assert!((out.length() - 30.0).abs() < 1.5, "{out}");
            assert!(
                out.normalize().dot(DVec3::from(v.normal.map(f64::from))) > 0.9,
                "outwards"
            );
        }
    }
}

/// Faces between voxels and at the rim of the images lie where they are drawn.
#[test]
fn a_box_of_a_mask_has_its_faces_and_its_volume() {
    let grid = grid(DVec3::splat(2.0), [30, 30, 30]);
    let drawn = mask(
        &grid,
        &box_contours(
            &grid,
            DVec3::new(0.0, 0.0, 0.0),
            DVec3::new(40.0, 24.0, 80.0),
        ),
    );
    let mesh = Mesh::of_mask(&drawn, 2.0);
    let [low, high] = mesh.bounds_mm().expect("corners");
    // The box leaves the images along z, 60 mm long.
    for (axis, half) in [(0, 20.0), (1, 12.0), (2, 30.0)] {
        assert!(
            (high[axis] - half).abs() < 0.02 && (low[axis] + half).abs() < 0.02,
            "{axis}: {low} {high}"
        );
    }
    let want = 40.0 * 24.0 * 60.0;
    assert!(
        (mesh.volume_mm3() / want - 1.0).abs() < 0.02,
        "{}",
        mesh.volume_mm3()
    );
    assert!(is_closed(&mesh));
}

/// A dose that falls linearly from a point has spheres as isodose surfaces, on uneven planes and oblique axes too.
#[test]
fn a_level_of_a_volume_is_where_the_value_is() {
    let planes: Vec<f64> = (0..40)
        .map(|k| f64::from(k) * 2.0 + if k > 20 { 1.0 } else { 0.0 })
        .collect();
    let (s, c) = 0.4_f64.sin_cos();
    let (row, column) = (DVec3::new(c, s, 0.0), DVec3::new(-s, c, 0.0));
    let grid = Arc::new(
        Grid::new(
            DVec3::new(-40.0, -40.0, 5.0),
            row,
            column,
            [2.0, 2.0],
            [40, 40],
            &planes,
        )
        .expect("a grid"),
    );
    let middle = grid.middle_mm();
    let [nx, ny, nz] = grid.size();
    let mut data = Vec::new();
    for k in 0..nz {
        for j in 0..ny {
            data.extend(
                (0..nx).map(|i| 100.0 - (grid.centre_mm(i, j, k) - middle).length() as f32),
            );
        }
    }
    let volume = Volume::new(grid, data);
    let mesh = Mesh::of_level(&volume, 75.0, 2.0);
    assert!(is_closed(&mesh));
    let want = 4.0 / 3.0 * PI * 25.0_f64.powi(3);
    assert!(
        (mesh.volume_mm3() / want - 1.0).abs() < 0.015,
        "{} of {want}",
        mesh.volume_mm3()
    );
    assert!(
        mesh.corners_mm()
            .all(|p| (p.distance(middle) - 25.0).abs() < 0.3)
    );
    assert!(Mesh::of_level(&volume, 101.0, 2.0).triangles.is_empty());
    assert!(
        Mesh::of_level(&volume, 0.0, 2.0).triangles.is_empty(),
        "no surface at nothing"
    );
    // A level met everywhere ends with the images: closed, and about as large as they are.
    let mesh = Mesh::of_level(&volume, 1.0, 2.0);
    assert!(is_closed(&mesh));
    let cm3: f64 = (0..nz)
        .map(|k| volume.grid().voxel_cm3(k) * (nx * ny) as f64)
        .sum();
    assert!((mesh.volume_mm3() / (1000.0 * cm3) - 1.0).abs() < 0.15);
}

#[test]
fn a_dose_that_is_no_number_is_outside() {
    let grid = grid(DVec3::splat(2.0), [8, 8, 8]);
    let mut data = vec![1.0_f32; 512];
    data[100] = f32::NAN;
    let mesh = Mesh::of_level(&Volume::new(grid, data), 0.5, 2.0);
    assert!(is_closed(&mesh) && mesh.corners_mm().all(DVec3::is_finite));
}
