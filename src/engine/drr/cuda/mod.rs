//! Line integrals on a card (Tornai 2012; `kernels/drr.cu`).

mod remembered;
mod texture;
mod tune;

pub use tune::{Class, Launch};

use crate::JobControl;
use crate::cuda::grid::{Frame, WalkGrid};
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Device, Resident, Shape, int};
use crate::drr::rays::{Image, Rays};
use crate::drr::space::Space;
use bytemuck::{Pod, Zeroable};
use case::Receipt;
use geometry::Volume;
use std::sync::Arc;
use texture::Texture;

/// Poses of one launch at most: blocks along y.
const MOST_IMAGES: usize = 65_535;

/// `struct Image` of `kernels/drr.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct CardImage {
    source: [f64; 3],
    origin: [f64; 3],
    column: [f64; 3],
    row: [f64; 3],
}

impl From<Image> for CardImage {
    fn from(image: Image) -> Self {
        Self {
            source: image.source.to_array(),
            origin: image.origin.to_array(),
            column: image.column_step.to_array(),
            row: image.row_step.to_array(),
        }
    }
}

/// `struct PixelRegion` there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct PixelRegion {
    columns: i32,
    first: [i32; 2],
    size: [i32; 2],
    tile_width: i32,
}

/// `struct Space` there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct CardSpace {
    high: [f64; 3],
    mm: [f64; 3],
    step_mm: f64,
    size: [i32; 3],
    cells: [i32; 3],
    bins: i32,
    bins_per_mm: f32,
    least_gap_mm: f32,
    value: f32,
}

/// `struct Planes` there: addresses.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct CardPlanes([u64; 3]);

/// The line integrals of all rays, image after image, with a receipt. The same bits at every run.
pub fn integrals(
    rays: &Rays,
    device: &Device,
    control: &JobControl,
) -> Result<(Vec<f32>, Receipt), CudaError> {
    let mut card = device.lock();
    control.check()?;
    let mut clock = card.clock()?;
    let work = DrrBuffers::prepare(&mut card, rays)?;
    clock.mark(&card, "upload")?;
    let launch = work.launch(&mut card)?;
    control.check()?;
    clock.mark(&card, "layout")?;
    work.queue(&mut card, launch)?;
    clock.mark(&card, "integrate")?;
    let integrals = card.download(&work.integrals)?;
    clock.mark(&card, "download")?;
    let receipt = Receipt {
        job: "drr".to_owned(),
        digest: rays.digest(control.cache()),
        device: device.card().to_string(),
        phases_ms: clock.finish(&card)?,
        warnings: Vec::new(),
        work: rays.count() as u64,
    };
    control.report(1.0);
    Ok((integrals, receipt))
}

/// Everything on the card but the launch.
pub struct DrrBuffers {
    /// `None` where there is nothing but air.
    values: Option<Values>,
    space: CardSpace,
    wanted: PixelRegion,
    /// Samples to a ray, about.
    samples: u32,
    images: Buffer<CardImage>,
    list: Option<Arc<Buffer<u32>>>,
    planes: Option<Arc<Planes>>,
    plane_edges_mm: Vec<crate::cuda::grid::Exact>,
    /// Output of the launch: image after image, the requested pixels in their order.
    pub integrals: Buffer<f32>,
}

/// Input of the kernels.
enum Values {
    Exact(Arc<Buffer<f32>>, WalkGrid),
    Voxels(Arc<Buffer<f32>>, Arc<Occupied>),
    Texture(Arc<Texture>, Arc<Occupied>),
}

/// Cells that hold anything.
struct Occupied(Buffer<u8>);

/// Positions of uneven planes.
struct Planes {
    centres_mm: Buffer<f32>,
    per_gap: Buffer<f32>,
    bins: Buffer<i32>,
}

impl Resident for Occupied {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl Resident for Planes {
    fn bytes(&self) -> usize {
        self.centres_mm.bytes() + self.per_gap.bytes() + self.bins.bytes()
    }
}

/// Rays' images in the frame of the walk, or of the steps, as the kernels read them.
fn card_images(rays: &Rays, space: &Space, walk_frame: &Frame<'_>) -> Vec<CardImage> {
    rays.images
        .iter()
        .map(|image| match rays.step_mm {
            None => walk_frame.image(image).into(),
            Some(_) => space.image(image).into(),
        })
        .collect()
}

impl DrrBuffers {
    /// The kernel of the voxel walk.
    const EXACT: &'static str = "drr_exact";

    /// Uploads data that the card does not hold and prepares a launch.
    pub fn prepare(card: &mut CardLock<'_>, rays: &Rays) -> Result<Self, CudaError> {
        card.fits_int("images of line integrals", rays.count())?;
        let volume = &rays.attenuation;
        card.fits_int("a volume", volume.data().len())?;
        let space = Space::new(volume.grid());
        let walk_frame = Frame::new(volume.grid(), false);
        let walked = rays.step_mm.is_none();
        let images = card_images(rays, &space, &walk_frame);
        let planes = match &space.uneven {
            Some(_) if !walked => {
                Some(card.cached((volume.id(), "planes"), |card| planes(card, &space))?)
            }
            _ => None,
        };
        let list = match rays.region {
            Some(_) => None,
            None => Some(Arc::new(card.upload(&rays.indices)?)),
        };
        let wanted = match rays.region {
            Some(region) => PixelRegion {
                columns: int(rays.columns),
                first: [int(region.column), int(region.row)],
                size: [int(region.columns), int(region.rows)],
                tile_width: 0,
            },
            None => PixelRegion {
                columns: int(rays.columns),
                first: [0; 2],
                size: [int(rays.indices.len()), 1],
                tile_width: 1,
            },
        };
        let values = values(card, rays, &walk_frame)?;
        let uneven = space.uneven.as_ref();
        let texel_value = match &values {
            Some(Values::Texture(texture, _)) => texture.value,
            _ => 1.0,
        };
        let mm = if walked {
            walk_frame.mm()
        } else {
            space.mm().to_array()
        };
        let card_space = CardSpace {
            high: space.high.to_array(),
            mm,
            step_mm: rays.step_mm.unwrap_or(1.0),
            size: space.size.map(int),
            cells: rays.content.cells.map(int),
            bins: uneven.map_or(0, |p| int(p.bins.len())),
            bins_per_mm: uneven.map_or(0.0, |p| p.bins_per_mm),
            least_gap_mm: uneven.map_or(1.0, |p| p.least_gap_mm),
            value: texel_value,
        };
        Ok(Self {
            samples: samples(rays, &space),
            values,
            space: card_space,
            wanted,
            images: card.upload(&images)?,
            list,
            planes,
            plane_edges_mm: walk_frame.plane_edges_mm(),
            integrals: card.alloc(rays.count())?,
        })
    }

    /// Other poses and pixels of as many as before, all else as it was: the loop of a search.
    pub fn change(&mut self, card: &mut CardLock<'_>, rays: &Rays) -> Result<(), CudaError> {
        let grid = rays.attenuation.grid();
        let (space, walk_frame) = (Space::new(grid), Frame::new(grid, false));
        let images = card_images(rays, &space, &walk_frame);
        card.write(&self.images, &images)?;
        match &self.list {
            Some(list) => card.write(list, &rays.indices),
            None => Ok(()),
        }
    }

    /// The best layout of a launch: remembered for the device, or found by a small search.
    pub fn launch(&self, card: &mut CardLock<'_>) -> Result<Launch, CudaError> {
        if self.values.is_none() {
            Ok(Launch::PLAIN)
        } else {
            tune::best(card, self)
        }
    }

    /// Queues the integration.
    pub fn queue(&self, card: &mut CardLock<'_>, launch: Launch) -> Result<(), CudaError> {
        let Some(values) = &self.values else {
            return card.fill(&self.integrals, 0);
        };
        let pixels = self.wanted.size.map(i32::unsigned_abs);
        let rays = (launch.threads / launch.lanes).max(1);
        let (blocks, tile_width) = if self.list.is_some() {
            (pixels[0].div_ceil(rays), 1)
        } else {
            let tile = launch.tile_width.clamp(1, rays);
            (
                pixels[0].div_ceil(tile) * pixels[1].div_ceil(rays / tile),
                tile,
            )
        };
        let wanted = PixelRegion {
            tile_width: tile_width.cast_signed(),
            ..self.wanted
        };
        if let Values::Exact(..) = values {
            card.set_constant("drr", "plane_edges_mm", &self.plane_edges_mm)?;
        }
        let list_address: u64 = self.list.as_ref().map_or(0, |list| list.address());
        let list = Arg::value(&list_address);
        let planes = CardPlanes(self.planes.as_ref().map_or([0; 3], |p| {
            [
                p.centres_mm.address(),
                p.per_gap.address(),
                p.bins.address(),
            ]
        }));
        let per_image = pixels[0] as usize * pixels[1] as usize;
        for first in (0..self.images.count()).step_by(MOST_IMAGES) {
            let count = (self.images.count() - first).min(MOST_IMAGES);
            let shape = Shape {
                blocks: [blocks, count as u32, 1],
                threads: [launch.threads, 1, 1],
            };
            let images = self.images.address() + (first * size_of::<CardImage>()) as u64;
            let out = self.integrals.address() + (first * per_image * size_of::<f32>()) as u64;
            let (images, out) = (Arg::value(&images), Arg::value(&out));
            let (space, wanted) = (Arg::value(&self.space), Arg::value(&wanted));
            let list = list.clone();
            let kernel = self.kernel(launch.lanes);
            match values {
                Values::Exact(voxels, grid) => {
                    let args = [
                        Arg::value(grid),
                        space,
                        wanted,
                        images,
                        list,
                        Arg::from(&**voxels),
                        out,
                    ];
                    card.launch("drr", kernel, shape, &args)?;
                }
                Values::Voxels(voxels, occupied) => {
                    let (planes, cells) = (Arg::value(&planes), Arg::from(&occupied.0));
                    let args = [
                        space,
                        wanted,
                        images,
                        list,
                        planes,
                        cells,
                        Arg::from(&**voxels),
                        out,
                    ];
                    card.launch("drr", kernel, shape, &args)?;
                }
                Values::Texture(texture, occupied) => {
                    let (planes, cells) = (Arg::value(&planes), Arg::from(&occupied.0));
                    let args = [
                        space,
                        wanted,
                        images,
                        list,
                        planes,
                        cells,
                        Arg::value(&texture.object),
                        out,
                    ];
                    card.launch("drr", kernel, shape, &args)?;
                }
            }
        }
        Ok(())
    }

    fn kernel(&self, lanes: u32) -> &'static str {
        let even = self.planes.is_none();
        match (&self.values, lanes, even) {
            (Some(Values::Texture(..)), 8, true) => "drr_texture_eight",
            (Some(Values::Texture(..)), 8, false) => "drr_texture_eight_uneven",
            (Some(Values::Texture(..)), 4, true) => "drr_texture_four",
            (Some(Values::Texture(..)), 4, false) => "drr_texture_four_uneven",
            (Some(Values::Texture(..)), 2, true) => "drr_texture_two",
            (Some(Values::Texture(..)), 2, false) => "drr_texture_two_uneven",
            (Some(Values::Texture(..)), _, true) => "drr_texture_one",
            (Some(Values::Texture(..)), _, false) => "drr_texture_one_uneven",
            (Some(Values::Voxels(..)), 8, true) => "drr_voxels_eight",
            (Some(Values::Voxels(..)), 8, false) => "drr_voxels_eight_uneven",
            (Some(Values::Voxels(..)), _, true) => "drr_voxels_one",
            (Some(Values::Voxels(..)), _, false) => "drr_voxels_one_uneven",
            (Some(Values::Exact(..)) | None, ..) => Self::EXACT,
        }
    }

    fn class(&self) -> Class {
        Class {
            kernel: self.kernel(1),
            listed: self.list.is_some(),
            rays: self.integrals.count().max(1).ilog2(),
            samples: self.samples.max(1).ilog2(),
        }
    }
}

/// Samples of the ray through the middle of the first image, or voxels across it.
fn samples(rays: &Rays, space: &Space) -> u32 {
    let image = &rays.images[0];
    let middle = rays.indices[rays.indices.len() / 2];
    let ray = image.ray(middle, rays.columns);
    let [low, high] = Rays::extent(rays.attenuation.grid());
    let part = ray
        .clipped(low, high)
        .map_or(0.0, |[enter, leave]| leave - enter);
    let length_mm = part * (ray.to - ray.from).length();
    (length_mm / rays.step_mm.unwrap_or(space.mm().min_element())) as u32
}

fn values(
    card: &mut CardLock<'_>,
    rays: &Rays,
    frame: &Frame<'_>,
) -> Result<Option<Values>, CudaError> {
    let volume: &Volume<f32> = &rays.attenuation;
    let Some(part) = &rays.content.part else {
        return Ok(None);
    };
    if rays.step_mm.is_none() {
        let rows = frame.size()[1];
        return Ok(Some(Values::Exact(
            card.uploaded(volume)?,
            frame.walk_grid(part, rows),
        )));
    }
    let occupied = card.cached((volume.id(), "occupied"), |card| {
        card.upload(&rays.content.occupied).map(Occupied)
    })?;
    if rays.texture {
        let texture = card.cached((volume.id(), "texture"), |card| {
            Texture::new(card, volume, &rays.content)
        })?;
        return Ok(Some(Values::Texture(texture, occupied)));
    }
    Ok(Some(Values::Voxels(card.uploaded(volume)?, occupied)))
}

fn planes(card: &mut CardLock<'_>, space: &Space) -> Result<Planes, CudaError> {
    let uneven = space.uneven.as_ref().ok_or_else(|| CudaError::Call {
        kernel: "drr".to_owned(),
        what: "even planes as uneven".to_owned(),
    })?;
    Ok(Planes {
        centres_mm: card.upload(&uneven.centres_mm)?,
        per_gap: card.upload(&uneven.per_gap)?,
        bins: card.upload(&uneven.bins)?,
    })
}
