//! Both walks of Xiao 2012 on a card, each line by itself (`kernels/paper_xiao.cu`): the dose is that of the program.

use beamsight::engine::JobControl;
use beamsight::engine::cccs::cuda::{HighTerma, beam_dose_by};
use beamsight::engine::cuda::{Arg, CardLock, CudaError, Device, Failure, Shape, int};
use beamsight::engine::dose::{BeamDose, DoseError, DoseRequest};
use bytemuck::{Pod, Zeroable};

pub const PTX: &str = include_str!("../../kernels/ptx/paper_xiao.ptx");
const SOURCE: &str = "paper_xiao";
/// Threads of a block.
const THREADS: u32 = 128;

/// Traversal of the voxels by a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The nested branches of Algorithm 1.
    Original,
    /// The comparisons of Algorithm 2 (3D-DDA-nc).
    BranchFree,
}

impl Walk {
    pub const ALL: [Self; 2] = [Self::Original, Self::BranchFree];

    pub fn word(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::BranchFree => "nc",
        }
    }

    pub fn kernel(self) -> &'static str {
        match self {
            Self::Original => "xiao_original",
            Self::BranchFree => "xiao_branch_free",
        }
    }
}

/// `struct RayVoxels` of `kernels/paper_xiao.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct RayVoxels {
    grid: WalkGrid,
    first_cell: i32,
    size: [i32; 3],
    spacing_mm: [f32; 3],
    from_mm: [f32; 3],
    order: [[i32; 3]; 3],
}

/// `struct WalkGrid` of `kernels/walk.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
struct WalkGrid {
    box_low: [i32; 3],
    box_high: [i32; 3],
    stride_y: i32,
    stride_z: i32,
}

/// `struct Exact` of `kernels/walk.cuh`: a number as the sum of two.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
struct Exact {
    hi: f32,
    lo: f32,
}

impl From<f64> for Exact {
    fn from(value: f64) -> Self {
        let hi = value as f32;
        Self {
            hi,
            lo: (value - f64::from(hi)) as f32,
        }
    }
}

/// The dose of one beam, its high TERMA transported by lines that each walk by themselves.
pub fn beam_dose(
    walk: Walk,
    request: &DoseRequest,
    card: &Device,
    control: &JobControl,
) -> Result<BeamDose, Failure<DoseError>> {
    beam_dose_by(
        &|card, terma| transport(card, walk, terma),
        request,
        card,
        control,
    )
}

/// Queues all lines; they walk through the layout along z.
fn transport(card: &mut CardLock<'_>, walk: Walk, terma: &HighTerma<'_>) -> Result<(), CudaError> {
    card.load(SOURCE, PTX)?;
    let HighTerma {
        size,
        spacing_mm,
        directions,
        orders,
        ..
    } = *terma;
    let voxels = RayVoxels {
        grid: WalkGrid {
            box_low: [0; 3],
            box_high: size.map(int),
            stride_y: terma.pitch,
            stride_z: terma.plane,
        },
        first_cell: terma.first_cell,
        size: size.map(int),
        spacing_mm: spacing_mm.map(|s| s as f32),
        from_mm: terma.source_mm.to_array().map(|f| f as f32),
        order: orders.map(|order| order.map(int)),
    };
    let planes =
        (0..=size[2]).map(|k| Exact::from((k as f64 - 0.5 * size[2] as f64) * spacing_mm[2]));
    card.set_constant(SOURCE, "plane_edges_mm", &planes.collect::<Vec<_>>())?;
    // Lines that touch the voxels, as `line_range` of the kernels counts them.
    let lines = directions.iter().map(|direction| {
        let [columns, across, slabs] = orders[direction.layout as usize].map(|axis| size[axis]);
        let range =
            |size: usize, per_slab: f64| size + (per_slab * slabs as f64).abs().ceil() as usize + 2;
        range(columns, direction.per_slab[0]) * range(across, direction.per_slab[1])
    });
    let most = lines.max().unwrap_or(0);
    card.fits_int("the lines of a direction", most)?;
    let on_card = card.upload(directions)?;
    let args = [
        Arg::value(&voxels),
        Arg::from(&on_card),
        Arg::from(terma.table),
        Arg::from(terma.density),
        Arg::from(terma.terma),
        Arg::from(terma.scale),
        Arg::from(terma.deposit),
    ];
    let shape = Shape::covering([most, directions.len(), 1], [THREADS, 1, 1]);
    card.launch(SOURCE, walk.kernel(), shape, &args)
}
