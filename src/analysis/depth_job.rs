//! Radiological depths of a CT from a source, as the verb `path` and Python ask for them.

use super::remarks::hu_remarks;
use case::Ct;
use engine::path::{DepthMap, PathRequest, trace};
use engine::{Cancelled, Compute, JobControl};
use geometry::{BeamFrame, Grid, GridError};
use glam::DVec3;
use physics::{BeyondTable, BodyMismatch, HuTable, Patient};
use std::sync::Arc;
use thiserror::Error;

/// Why there are no depths.
#[derive(Debug, Error)]
pub enum DepthError {
    #[error(
        "the isocentre {} lies outside the CT of {of}, which reaches from {} to {} mm (patient LPS); plan and CT do not belong \
         together, or the axes are mixed up",
        numbers(*at_mm), numbers(*low_mm), numbers(*high_mm)
    )]
    Outside {
        at_mm: DVec3,
        of: String,
        low_mm: DVec3,
        high_mm: DVec3,
    },
    #[error(transparent)]
    Patient(#[from] BodyMismatch),
    #[error(transparent)]
    Grid(#[from] GridError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

fn numbers(p: DVec3) -> String {
    format!("{:.1},{:.1},{:.1}", p.x, p.y, p.z)
}

/// Depths, mm of water, at the centres of the CT's voxels from the source of `frame`, whose isocentre `isocentre_mm` (patient LPS)
/// must lie in the CT. Everything in the image counts. HU beyond the table are warned of in the receipt. Uneven planes are walked
/// as they are; depths then stand on even planes as close as the closest of the CT. `label` names the CT in errors.
///
/// # Errors
/// [`DepthError`].
pub fn depths(
    ct: &Ct,
    label: &str,
    table: &HuTable,
    frame: &BeamFrame,
    isocentre_mm: DVec3,
    device: &Compute,
    control: &JobControl,
) -> Result<DepthMap, DepthError> {
    if !ct.hu.grid().contains(isocentre_mm) {
        let corners = ct.hu.grid().corners_mm();
        return Err(DepthError::Outside {
            at_mm: isocentre_mm,
            of: label.to_owned(),
            low_mm: corners.into_iter().fold(DVec3::INFINITY, DVec3::min),
            high_mm: corners.into_iter().fold(DVec3::NEG_INFINITY, DVec3::max),
        });
    }
    let patient = Patient::new(ct, table, None)?;
    let request = PathRequest {
        density: patient.relative_electron_density,
        source_mm: frame.source_mm,
        targets: targets(ct)?,
    };
    let mut map = trace(&request, device, control)?;
    let beyond = hu_remarks(
        &BeyondTable::count(ct, table, None, &[]),
        table,
        "of the CT",
    );
    Arc::make_mut(&mut map.receipt).warnings.extend(beyond);
    Ok(map)
}

/// The grid of depths: the CT's own voxels; where its planes are uneven, even planes at the smallest
/// distance.
fn targets(ct: &Ct) -> Result<Arc<Grid>, GridError> {
    let grid = ct.hu.grid();
    if grid.even_plane_spacing_mm().is_some() {
        return Ok(Arc::clone(grid));
    }
    let planes = grid.planes_mm();
    let step = planes
        .windows(2)
        .map(|w| w[1] - w[0])
        .fold(f64::INFINITY, f64::min);
    let last = planes[planes.len() - 1];
    let count = (last / step).floor() as usize + 1;
    let [nx, ny, _] = grid.size();
    let even: Vec<f64> = (0..count).map(|k| k as f64 * step).collect();
    let [row, column, _] = grid.axes();
    Ok(Arc::new(Grid::new(
        grid.origin_mm(),
        row,
        column,
        grid.spacing_xy_mm(),
        [nx, ny],
        &even,
    )?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{PatientPosition, Volume};

    #[test]
    fn uneven_planes_become_even_ones_as_close_as_the_closest() {
        let grid = Grid::new(
            DVec3::ZERO,
            DVec3::X,
            DVec3::Y,
            [1.0, 1.0],
            [2, 2],
            &[0.0, 3.0, 4.0, 8.5],
        )
        .unwrap();
        let hu = Arc::new(Volume::new(Arc::new(grid), vec![0.0; 16]));
        let ct = Ct::unnamed(hu, PatientPosition::Hfs);
        let even = targets(&ct).unwrap();
        assert_eq!(
            even.planes_mm(),
            [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
        );
    }
}
