//! Dose grids along an image, and the box of its matter.

use geometry::{Grid, GridError, Volume};
use glam::DVec3;

/// An evenly spaced dose grid along the axes of `image` over the box between two corners (patient LPS, mm): cubes of
/// `spacing_mm`, rounded outwards to whole voxels.
///
/// # Errors
/// [`GridError`] where the spacing is not a positive number.
pub fn dose_grid(image: &Grid, corners_mm: [DVec3; 2], spacing_mm: f64) -> Result<Grid, GridError> {
    if !(spacing_mm.is_finite() && spacing_mm > 0.0) {
        return Err(GridError::Spacing(spacing_mm));
    }
    let [a, b] = corners_mm.map(|c| image.local_from_patient(c));
    let (low, high) = (a.min(b), a.max(b));
    // A box of a whole number of voxels (but for rounding errors) keeps it.
    let size = ((high - low) / spacing_mm - 1e-6).ceil().max(DVec3::ONE);
    if !(size.is_finite() && size.max_element() < 1e5) {
        return Err(GridError::Spacing(spacing_mm));
    }
    let middle = 0.5 * (low + high);
    let first = middle - 0.5 * (size - DVec3::ONE) * spacing_mm;
    let [x, y, _] = image.axes();
    let planes: Vec<f64> = (0..size.z as usize)
        .map(|k| k as f64 * spacing_mm)
        .collect();
    let origin = image.patient_from_local(first);
    Grid::new(
        origin,
        x,
        y,
        [spacing_mm; 2],
        [size.x as usize, size.y as usize],
        &planes,
    )
}

/// Corners (patient LPS, mm) of the smallest box along the image's axes that holds everything denser than
/// `threshold_g_cm3`; the whole image where nothing is.
pub fn matter_box(density_g_cm3: &Volume<f32>, threshold_g_cm3: f32) -> [DVec3; 2] {
    let grid = density_g_cm3.grid();
    let part = density_g_cm3
        .box_of(|v| v > threshold_g_cm3)
        .unwrap_or_else(|| grid.size().map(|n| 0..n));
    let edges = [0, 1, 2].map(|axis| grid.edges_mm(axis));
    let low = DVec3::from([0, 1, 2].map(|axis| edges[axis][part[axis].start]));
    let high = DVec3::from([0, 1, 2].map(|axis| edges[axis][part[axis].end]));
    [grid.patient_from_local(low), grid.patient_from_local(high)]
}
