//! Radiological depth on a graphics device (`kernels/engine_path.wgsl`).

use crate::JobControl;
use crate::job_control::Phases;
use crate::path::request::{DepthMap, PathRequest};
use crate::wgpu::{Buffer, Device, Kernel, Session, WgpuError};
use bytemuck::{Pod, Zeroable};
use geometry::{Grid, Volume};
use glam::DVec3;
use std::sync::Arc;

const TRACE: Kernel = Kernel {
    name: "path_trace",
    sources: &[include_str!("../../../kernels/engine_path.wgsl")],
};
#[cfg(test)]
pub(crate) const KERNELS: &[&Kernel] = &[&TRACE];
/// Threads of a workgroup.
const THREADS: [u32; 2] = [16, 8];

/// `struct Rays` of the kernel, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Rays {
    size: [u32; 3],
    targets: [u32; 3],
    spacing_mm: [f32; 2],
    source_mm: [f32; 3],
    first_mm: [f32; 3],
    step_i: [f32; 3],
    step_j: [f32; 3],
    normal: [f32; 3],
}

impl Rays {
    fn new(grid: &Grid, source_mm: DVec3, targets: &Grid) -> Self {
        let [dx, dy] = grid.spacing_xy_mm();
        let [row, column, normal] = targets.axes();
        let [step_i, step_j] = targets.spacing_xy_mm();
        let single = |v: DVec3| v.as_vec3().to_array();
        let position = |patient_mm: DVec3| {
            single(grid.local_from_patient(patient_mm) + DVec3::new(0.5 * dx, 0.5 * dy, 0.0))
        };
        let counts = |grid: &Grid| grid.size().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Self {
            size: counts(grid),
            targets: counts(targets),
            spacing_mm: [dx as f32, dy as f32],
            source_mm: position(source_mm),
            first_mm: position(targets.origin_mm()),
            step_i: single(grid.local_direction(row * step_i)),
            step_j: single(grid.local_direction(column * step_j)),
            normal: single(grid.local_direction(normal)),
        }
    }
}

/// Answers a request, with its receipt.
///
/// # Errors
/// A device at fault, or a cancelled job.
pub fn trace(
    request: &PathRequest,
    device: &Device,
    control: &JobControl,
) -> Result<DepthMap, WgpuError> {
    let PathRequest {
        density,
        source_mm,
        targets,
    } = request;
    let (depth, phases_ms) = radiological_depth_at(device, density, *source_mm, targets, control)?;
    Ok(request.answer(
        depth,
        device.adapter().to_string(),
        phases_ms,
        control.cache(),
    ))
}

/// As [`engine::path::cpu::radiological_depth_at`](crate::path::cpu::radiological_depth_at), in f32 and with the times of
/// the phases. The same bits at every run.
///
/// # Errors
/// A device at fault, or a cancelled job.
pub fn radiological_depth_at(
    device: &Device,
    density: &Volume<f32>,
    source_mm: DVec3,
    targets: &Arc<Grid>,
    control: &JobControl,
) -> Result<(Volume<f32>, Phases), WgpuError> {
    let mut session = device.session(control);
    let depth_mm = queue(&mut session, density, source_mm, targets)?;
    session.phase("trace")?;
    let depth = session.download("depths", &depth_mm)?;
    let phases = session.finish()?;
    control.report(1.0);
    Ok((Volume::new(Arc::clone(targets), depth), phases))
}

/// Queues the depths of all targets, mm of water, `[z][y][x]`.
///
/// # Errors
/// A device at fault, or a cancelled job.
pub(crate) fn queue(
    session: &mut Session<'_>,
    density: &Volume<f32>,
    source_mm: DVec3,
    targets: &Grid,
) -> Result<Buffer<f32>, WgpuError> {
    let grid = density.grid();
    let depth_mm = session.alloc("depths", targets.len())?;
    let on_device = session.uploaded("density", density)?;
    let single = |mm: &[f64]| mm.iter().map(|mm| *mm as f32).collect::<Vec<f32>>();
    let rays = session.upload("rays", &[Rays::new(grid, source_mm, targets)])?;
    let edges_z = session.upload("planes", &single(&grid.edges_mm(2)))?;
    let planes = session.upload("planes", &single(targets.planes_mm()))?;
    session.run_weighted(
        &TRACE,
        &[&rays, &edges_z, &planes, &*on_device, &depth_mm],
        Session::groups(targets.size(), [THREADS[0], THREADS[1], 1]),
        grid.size().iter().sum::<usize>() as f64,
    )?;
    Ok(depth_mm)
}
