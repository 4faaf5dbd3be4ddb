//! Exhaustive search in f64: every tetrahedron, face, edge and vertex of every cell by the normal equations of the paper
//! (Gu 2010, section 2.1), none skipped.

use super::phantom::{even, everywhere, on_cpu, rough};
use beamsight::engine::gamma::{Criterion, GammaRequest, Surface};
use beamsight::geometry::{Grid, Volume};
use glam::{DMat3, DVec3, EulerRot};
use std::sync::Arc;

type Point = [f64; 4];

/// Orders of the axes on the path from the lowest corner of a cell to the highest.
const PATHS: [[usize; 4]; 6] = [
    [0, 1, 3, 7],
    [0, 1, 5, 7],
    [0, 2, 3, 7],
    [0, 2, 6, 7],
    [0, 4, 5, 7],
    [0, 4, 6, 7],
];

/// Gamma of every reference voxel.
pub fn gamma(
    reference: &Volume<f32>,
    evaluated: &Volume<f32>,
    dose_gy: f64,
    dta_mm: f64,
) -> Vec<f64> {
    let (from, grid) = (reference.grid(), evaluated.grid());
    let [nx, ny, nz] = grid.size();
    let corner = |i: usize, j: usize, k: usize| -> Point {
        let p = grid.centre_mm(i, j, k) / dta_mm;
        [p.x, p.y, p.z, f64::from(evaluated.at(i, j, k)) / dose_gy]
    };
    let mut simplices: Vec<Vec<Point>> = Vec::new();
    for (k, j, i) in
        (0..nz - 1).flat_map(|k| (0..ny - 1).flat_map(move |j| (0..nx - 1).map(move |i| (k, j, i))))
    {
        for path in PATHS {
            let vertices = path.map(|c| corner(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)));
            for chosen in 1..16_usize {
                let part = (0..4).filter(|v| chosen >> v & 1 == 1).map(|v| vertices[v]);
                simplices.push(part.collect());
            }
        }
    }
    let [rx, ry, _] = from.size();
    let least = |n: usize| {
        let p = from.centre_mm(n % rx, n / rx % ry, n / (rx * ry)) / dta_mm;
        let point = [p.x, p.y, p.z, f64::from(reference.data()[n]) / dose_gy];
        simplices
            .iter()
            .filter_map(|s| distance(&point, s))
            .fold(f64::INFINITY, f64::min)
    };
    (0..from.len()).map(least).collect()
}

fn dot(a: &Point, b: &Point) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn less(a: &Point, b: &Point) -> Point {
    std::array::from_fn(|n| a[n] - b[n])
}

/// Distance of a point from the plane of a simplex, if its foot lies in the simplex.
fn distance(point: &Point, simplex: &[Point]) -> Option<f64> {
    let (last, others) = simplex.split_last()?;
    let columns: Vec<Point> = others.iter().map(|v| less(v, last)).collect();
    let p = less(point, last);
    let n = columns.len();
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|r| {
            let mut row: Vec<f64> = (0..n).map(|c| dot(&columns[r], &columns[c])).collect();
            row.push(dot(&columns[r], &p));
            row
        })
        .collect();
    for c in 0..n {
        let pivot = (c..n).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()))?;
        rows.swap(c, pivot);
        for r in (0..n).filter(|&r| r != c) {
            let factor = rows[r][c] / rows[c][c];
            for m in c..=n {
                rows[r][m] -= factor * rows[c][m];
            }
        }
    }
    let weights: Vec<f64> = (0..n).map(|r| rows[r][n] / rows[r][r]).collect();
    let inside = weights.iter().all(|w| *w >= -1e-12) && weights.iter().sum::<f64>() <= 1.0 + 1e-12;
    inside.then(|| {
        let mut off = p;
        for (weight, column) in weights.iter().zip(&columns) {
            off.iter_mut()
                .zip(column)
                .for_each(|(off, c)| *off -= weight * c);
        }
        dot(&off, &off).sqrt()
    })
}

fn worst(reference: &Arc<Volume<f32>>, evaluated: &Arc<Volume<f32>>, criterion: Criterion) -> f64 {
    let result = on_cpu(&everywhere(reference, evaluated, &[criterion]));
    let got = result.maps[0].gamma.data();
    let dose_gy = criterion.dose_gy(result.normalisation_gy, 0.0);
    let want = gamma(reference, evaluated, dose_gy, criterion.dta_mm);
    let off = got.iter().zip(&want).filter(|(got, _)| !got.is_nan());
    off.map(|(got, want)| (f64::from(*got) - want).abs())
        .fold(0.0, f64::max)
}

#[test]
fn rough_doses_on_one_grid() {
    let grid = even(
        DVec3::new(-9.0, -7.0, -8.0),
        DVec3::new(2.0, 1.5, 2.5),
        [8, 7, 6],
    );
    for (noise, criterion) in [
        (0.0, Criterion::global(3.0, 3.0)),
        (0.3, Criterion::global(3.0, 3.0)),
        (1.5, Criterion::global(1.0, 2.0)),
    ] {
        let off = worst(&rough(&grid, 1, noise), &rough(&grid, 2, noise), criterion);
        assert!(off < 2e-5, "noise {noise}, {criterion}: {off}");
    }
}

/// Points at voxels of the evaluated dose with a gamma small enough to skip the search.
#[test]
fn rough_doses_of_small_gamma() {
    let even = even(
        DVec3::new(-9.0, -7.0, -8.0),
        DVec3::new(2.0, 1.5, 2.5),
        [8, 7, 6],
    );
    let turn = DMat3::from_euler(EulerRot::XYZ, 0.3, -0.5, 0.8);
    let (at, planes) = (DVec3::new(-8.0, -6.0, -7.0), [0.0, 1.0, 2.5, 6.0, 7.0]);
    let uneven =
        Arc::new(Grid::new(at, turn.x_axis, turn.y_axis, [1.7, 2.3], [7, 6], &planes).unwrap());
    for grid in [even, uneven] {
        for criterion in [
            Criterion::global(60.0, 20.0),
            Criterion::global(20.0, 6.0),
            Criterion::global(90.0, 4.0),
        ] {
            let (a, b) = (rough(&grid, 1, 0.3), rough(&grid, 2, 0.3));
            let off = worst(&a, &b, criterion);
            assert!(off < 2e-5, "{criterion}: {off}");
            let values = on_cpu(&everywhere(&a, &b, &[criterion])).maps[0]
                .gamma
                .clone();
            let small = values
                .data()
                .iter()
                .filter(|g| **g > 0.0 && **g < 0.1)
                .count();
            assert!(small > 20, "{criterion}: {small} points of small gamma");
        }
    }
}

#[test]
fn grids_of_every_kind() {
    let even = even(
        DVec3::new(-9.0, -7.0, -8.0),
        DVec3::new(2.0, 2.5, 3.0),
        [7, 6, 5],
    );
    let planes = [0.0, 1.0, 2.5, 6.0, 7.0];
    let at = DVec3::new(-8.0, -6.0, -7.0);
    let uneven = Arc::new(Grid::new(at, DVec3::X, DVec3::Y, [1.7, 2.3], [7, 6], &planes).unwrap());
    let turn = DMat3::from_euler(EulerRot::XYZ, 0.3, -0.5, 0.8);
    let oblique =
        Arc::new(Grid::new(at, turn.x_axis, turn.y_axis, [1.9, 2.1], [7, 6], &planes).unwrap());
    // Rows run to the right and planes towards the feet.
    let from = DVec3::new(7.0, -6.5, 6.0);
    let turned =
        Arc::new(Grid::new(from, DVec3::NEG_X, DVec3::Y, [2.0, 2.0], [7, 6], &planes).unwrap());
    let criterion = Criterion::global(3.0, 3.0);
    for (name, from, to) in [
        ("uneven", &uneven, &even),
        ("to uneven", &even, &uneven),
        ("oblique", &oblique, &even),
        ("to oblique", &even, &oblique),
        ("turned", &turned, &even),
    ] {
        let off = worst(&rough(from, 3, 0.5), &rough(to, 4, 0.5), criterion);
        assert!(off < 2e-5, "{name}: {off}");
    }
}

/// Samples of the trilinear surface at a pitch of 1/16 of a cell: above the minimum by no more than the pitch
/// explains, and below by no more than a hundredth, as in a cell of such noise the search may end in another
/// minimum.
#[test]
fn the_trilinear_surface_is_found_by_sampling() {
    let grid = even(
        DVec3::new(-5.0, -5.0, -5.0),
        DVec3::new(2.0, 2.0, 2.5),
        [6, 6, 5],
    );
    let (a, b) = (rough(&grid, 5, 0.6), rough(&grid, 6, 0.6));
    let request = everywhere(&a, &b, &[Criterion::global(5.0, 3.0)]);
    let result = on_cpu(&GammaRequest {
        surface: Surface::Trilinear,
        ..request.clone()
    });
    let simplices = on_cpu(&request);
    let unit_gy = 0.05 * result.normalisation_gy;
    let fine = even(
        DVec3::splat(-5.0),
        DVec3::new(2.0, 2.0, 2.5) / 16.0,
        [81, 81, 65],
    );
    let samples: Vec<(DVec3, f64)> = (0..fine.len())
        .map(|n| fine.centre_mm(n % 81, n / 81 % 81, n / (81 * 81)))
        .filter_map(|p| Some((p, f64::from(b.trilinear(p)?))))
        .collect();
    let (mut above, mut differs) = (0.0_f64, 0.0_f64);
    for n in (0..a.data().len()).step_by(7) {
        let p = grid.centre_mm(n % 6, n / 6 % 6, n / 36);
        let gy = f64::from(a.data()[n]);
        let square = |(q, dose): &(DVec3, f64)| {
            (*q - p).length_squared() / 9.0 + ((dose - gy) / unit_gy).powi(2)
        };
        let sampled = samples
            .iter()
            .map(square)
            .fold(f64::INFINITY, f64::min)
            .sqrt();
        let got = f64::from(result.maps[0].gamma.data()[n]);
        assert!(
            got <= sampled + 0.01,
            "voxel {n}: {got} found, {sampled} sampled"
        );
        above = above.max(sampled - got);
        differs = differs.max((got - f64::from(simplices.maps[0].gamma.data()[n])).abs());
    }
    // The samples are off by up to half a pitch, in steep dose.
    assert!(above < 0.2, "{above}");
    assert!(
        differs > 1e-3,
        "the tetrahedra are another surface where the dose is rough: {differs}"
    );
}
