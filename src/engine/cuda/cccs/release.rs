//! What a field releases in every voxel, on a card (`kernels/release.cu`).

use super::superpose::Release;
use crate::engine::cccs::angles::TiltNorm;
use crate::engine::cccs::beam;
use crate::engine::cccs::medium::Medium;
use crate::engine::cuda::{Arg, Buffer, CudaError, Session, Shape, int};
use crate::physics::kernel_beam::BeamKernel;
use crate::physics::{FluenceTables, Picture as Values, normal_tables};
use bytemuck::{Pod, Zeroable};
use glam::DVec3;

const THREADS: u32 = 128;

/// `struct Picture` of `kernels/fluence.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Picture {
    first_mm: [f64; 2],
    step_mm: f64,
    size: [i32; 2],
    first: i32,
    here: i32,
}

/// `struct Field` of `kernels/fluence.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Field {
    voxel_mm: [f64; 3],
    step_mm: [[f64; 3]; 3],
    sad_mm: f64,
    footprint_mm: f64,
    focal_sigma_mm: [f64; 2],
    jaw_distance_mm: [f64; 2],
    jaw_transmission: f64,
    extra_distance_mm: f64,
    extra_sigma_mm: f64,
    extra_share: f64,
    scale: f64,
    tilt_reach: f64,
    depth_step_cm: f64,
    surface_gy: f64,
    surface_scale: f64,
    surface_range_mm: f64,
    surface_falloff_per_mm: f64,
    surface_sigma_mm: f64,
    leaf_distance_mm: f64,
    focal: Picture,
    surface: Picture,
    scattered: Picture,
    size: [i32; 3],
    openings_at: i32,
    openings: i32,
    horn_at: i32,
    horns: i32,
    softening_at: i32,
    softenings: i32,
    normal_at: i32,
    integral_at: i32,
    release_at: i32,
    releases: i32,
    tilt_at: i32,
    leaves: i32,
    along_y: i32,
}

/// The numbers of all tables, one behind the other.
#[derive(Default)]
struct Numbers(Vec<f64>);

impl Numbers {
    /// Where they begin.
    fn add(&mut self, values: impl IntoIterator<Item = f64>) -> i32 {
        let at = int(self.0.len());
        self.0.extend(values);
        at
    }

    fn picture<T: Copy + Into<f64>>(&mut self, picture: &Values<'_, T>) -> Picture {
        let values = picture.parts.iter().flat_map(|part| part.iter().map(|v| (*v).into()));
        Picture {
            first: self.add(values),
            first_mm: picture.first_mm,
            step_mm: picture.step_mm,
            size: picture.size.map(int),
            here: 1,
        }
    }
}

/// A field for the kernels, and the numbers that it points into.
fn described(
    field: &beam::Field<'_>,
    kernel: &BeamKernel,
    tilt: &TiltNorm,
    medium: &Medium,
) -> (Field, Vec<f64>) {
    let grid = &medium.grid;
    let FluenceTables {
        sad_mm,
        focal_sigma_mm,
        jaw_distance_mm,
        jaw_transmission,
        extra_focal,
        electrons,
        horn,
        openings,
        leaves,
        scale,
        electron_scale,
    } = field.fluence.tables();
    let mut numbers = Numbers::default();
    let in_device = |patient: DVec3| field.frame.device_from_patient(patient).to_array();
    let lattice = medium.lattice();
    let steps = [0, 1, 2].map(|axis| {
        let step = grid.axes()[axis] * lattice.spacing_mm[axis];
        field.frame.axes.map(|device_axis| step.dot(device_axis))
    });
    let (normal, integral) = normal_tables();
    let (releases, depth_step_cm) = kernel.releases();
    let (tilts, tilt_reach) = tilt.factors();
    let softening = field.machine.softening.points();
    let mut out = Field {
        voxel_mm: in_device(grid.centre_mm(0, 0, 0)),
        step_mm: steps,
        sad_mm,
        footprint_mm: lattice.spacing_mm[0],
        focal_sigma_mm,
        jaw_distance_mm,
        jaw_transmission,
        scale,
        tilt_reach,
        depth_step_cm,
        size: grid.size().map(int),
        openings: int(openings.len()),
        openings_at: numbers.add(openings.into_iter().flatten()),
        horns: int(horn.len()),
        horn_at: numbers.add(horn.iter().copied()),
        softenings: int(softening.len()),
        softening_at: numbers.add(softening.iter().flatten().copied()),
        normal_at: numbers.add(normal.iter().copied()),
        integral_at: numbers.add(integral.iter().copied()),
        releases: int(releases.len()),
        release_at: numbers.add(releases.iter().flatten().copied()),
        tilt_at: numbers.add(tilts.iter().flatten().map(|f| f64::from(*f))),
        ..Field::default()
    };
    if let Some(extra) = extra_focal {
        out.extra_distance_mm = extra.distance_mm;
        out.extra_sigma_mm = extra.sigma_mm;
        out.extra_share = extra.share;
    }
    if let Some(electrons) = electrons {
        out.surface_gy = field.electrons_gy;
        out.surface_scale = electron_scale;
        out.surface_range_mm = electrons.range_mm;
        out.surface_falloff_per_mm = electrons.falloff_per_mm;
        out.surface_sigma_mm = electrons.sigma_mm;
    }
    if let Some(leaves) = leaves {
        out.leaves = 1;
        out.along_y = i32::from(leaves.along_y);
        out.leaf_distance_mm = leaves.distance_mm;
        out.focal = numbers.picture(&leaves.focal);
        out.scattered = leaves.scattered.map(|p| numbers.picture(&p)).unwrap_or_default();
        out.surface = leaves.electrons.map(|p| numbers.picture(&p)).unwrap_or_default();
    }
    (out, numbers.0)
}

/// What the voxels of a medium hold and where rays have come to.
pub struct Voxels<'a> {
    pub medium: &'a Medium,
    pub density: &'a Buffer<f32>,
    pub depth_mm: &'a Buffer<f32>,
}

/// Queues what every voxel releases, in Gy by channel for one photon per cm2 on the axis, and adds `factor` times the
/// energy per volume of contaminant electrons to `energy`.
///
/// # Errors
/// [`CudaError`].
pub fn release(
    session: &mut Session<'_>,
    field: &beam::Field<'_>,
    kernel: &BeamKernel,
    tilt: &TiltNorm,
    voxels: &Voxels<'_>,
    factor: f32,
    energy: &Buffer<f32>,
) -> Result<Buffer<Release>, CudaError> {
    let (field, numbers) = described(field, kernel, tilt, voxels.medium);
    let numbers = session.upload(&numbers)?;
    let released = session.alloc(voxels.medium.grid.len())?;
    let args = [
        Arg::value(&field),
        Arg::from(&numbers),
        Arg::from(voxels.density),
        Arg::from(voxels.depth_mm),
        Arg::value(&factor),
        Arg::from(&released),
        Arg::from(energy),
    ];
    let shape = Shape::covering(voxels.medium.grid.size(), [THREADS, 1, 1]);
    session.launch("release", "release_all", shape, &args)?;
    Ok(released)
}

/// Queues energy over mass in the part of a medium that was asked for.
///
/// # Errors
/// [`CudaError`].
pub fn crop(
    session: &mut Session<'_>,
    medium: &Medium,
    size: [usize; 3],
    energy: &Buffer<f32>,
    mass: &Buffer<f32>,
) -> Result<Buffer<f32>, CudaError> {
    let gy = session.alloc(size.iter().product())?;
    let [gx, gy_size, _] = medium.grid.size();
    let [x, y, z] = medium.offset;
    let mut args: Vec<Arg> = [x, y, z, gx, gy_size, size[0], size[1]].map(Arg::int).into();
    args.push(Arg::value(&beam::VACUUM_G_CM3));
    args.extend([Arg::from(energy), Arg::from(mass), Arg::from(&gy)]);
    session.launch("release", "release_crop", Shape::covering(size, [THREADS, 1, 1]), &args)?;
    Ok(gy)
}
