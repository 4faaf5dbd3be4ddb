//! Gamma on a card (`kernels/gamma.cu`), in passes of the search: points in need of the next pass are listed together (Gu 2010).

mod pair;
mod points;

use crate::JobControl;
use crate::cache::Cache;
use crate::cuda::memory::Key;
use crate::cuda::pages::HostBuffer;
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Device, Failure, Resident, Shape};
use crate::gamma::{
    CardCall, Checked, Counts, Criterion, GammaError, GammaMap, GammaRequest, GammaResult, Layers,
    Limits, look, remember, select, threshold,
};
use geometry::Volume;
use pair::{Pair, pair};
pub use points::{Points, gamma_by};
use std::sync::Arc;
use std::time::Instant;

/// Threads of a block of the search, and the most blocks of a launch: each takes several points in turn.
const THREADS: u32 = 128;
const MOST_BLOCKS: u32 = 1 << 15;
/// Blocks of the searches whose warps fetch their points: more than any card runs at a time.
const FETCHING_BLOCKS: u32 = 2048;
/// Threads of a block of the other kernels.
const WIDE: u32 = 256;
/// Voxels that a block of `gamma_list` goes through.
const LISTED: usize = 1024;
/// `RANGED` of the kernels.
const RANGED: u32 = 12;

/// Cells of an evaluated dose, computed once.
struct Cells {
    /// Least and greatest dose of each cell.
    range: Buffer<[f32; 2]>,
    /// Each voxel with those next to it along x, y and both; in two dimensions none.
    quads: Buffer<[f32; 4]>,
}

impl Cells {
    fn alloc(card: &mut CardLock<'_>, voxels: usize, flat: bool) -> Result<Self, CudaError> {
        Ok(Self {
            range: card.alloc(voxels)?,
            quads: card.alloc(if flat { 0 } else { voxels })?,
        })
    }

    /// Blocks that make it of a dose of this size.
    fn blocks(size: [i32; 3]) -> u32 {
        let [nx, ny, nz] = size.map(i32::unsigned_abs);
        nx.div_ceil(32) * ny.div_ceil(THREADS / 32) * nz.div_ceil(RANGED)
    }
}

impl Resident for Cells {
    fn bytes(&self) -> usize {
        self.range.bytes() + self.quads.bytes()
    }
}

/// Answers a request, with its receipt. Its phases: `upload` (of doses that the card does not hold), `prepare` (the list of points and
/// the cells), `search`, `download`, by the card's events; `host`, the rest of the call.
pub fn gamma(
    request: &GammaRequest,
    device: &Device,
    control: &JobControl,
) -> Result<GammaResult, Failure<GammaError>> {
    gamma_with(
        request,
        device,
        control,
        false,
        |card: &mut CardLock<'_>, work: &GammaBuffers, search: &Search<'_>| {
            work.queue_search(card, &search.limits, search.checked)
        },
    )
}

/// Limits of the search by one criterion.
struct Search<'a> {
    criterion: &'a Criterion,
    checked: Checked,
    limits: Limits,
}

/// Answers a request whose searches `search` queues; `lists`: over a list of points, also in space.
fn gamma_with(
    request: &GammaRequest,
    device: &Device,
    control: &JobControl,
    lists: bool,
    search: impl Fn(&mut CardLock<'_>, &GammaBuffers, &Search<'_>) -> Result<(), CudaError>,
) -> Result<GammaResult, Failure<GammaError>> {
    let start = Instant::now();
    let layers = Layers::new(request)?;
    let mut card = device.lock();
    control.check().map_err(GammaError::from)?;
    let mut clock = card.clock()?;
    // The answer's host pages are faulted in during the uploads.
    let voxels = request.reference.data().len();
    let waits = !(card.holds(&request.reference) && card.holds(&layers.values));
    let mut host = waits.then(|| HostBuffer::begin(voxels));
    let doses = Doses::upload(&mut card, request, &layers, control.cache())?;
    let checked = request.check(control.cache())?;
    // Where all voxels may be points the card finds those over the threshold itself.
    let chosen = (request.region.is_some() || request.subset.is_some())
        .then(|| select(request, checked))
        .transpose()?;
    let mut work = GammaBuffers::new(&mut card, request, &layers, doses, chosen.as_deref())?;
    // Allocation is not timed as the card's work.
    clock.mark(&card, "upload")?;
    work.queue_list(&mut card, checked, lists)?;
    work.queue_cells(&mut card)?;
    clock.mark(&card, "prepare")?;
    let mut maps = Vec::with_capacity(request.criteria.len());
    for (n, criterion) in request.criteria.iter().enumerate() {
        control.check().map_err(GammaError::from)?;
        let limits = Limits::new(request, checked, criterion, work.pair.spacing);
        search(
            &mut card,
            &work,
            &Search {
                criterion,
                checked,
                limits,
            },
        )?;
        clock.mark(&card, "search")?;
        let host = host.take().unwrap_or(HostBuffer::Later(voxels));
        let (gamma, counts) = card.download_seen(&work.gamma, host, Counts::of_part)?;
        clock.mark(&card, "download")?;
        let gamma = Volume::new(Arc::clone(request.reference.grid()), gamma);
        maps.push(GammaMap::counted(
            *criterion,
            gamma,
            counts.into_iter().sum(),
        ));
        control.report((n + 1) as f32 / request.criteria.len() as f32);
    }
    let phases_ms = clock.finish(&card)?;
    drop(card);
    let call = CardCall {
        device: device.card().to_string(),
        start,
        phases_ms,
    };
    Ok(GammaResult::by_card(
        request,
        checked,
        &layers,
        maps,
        call,
        control.cache(),
    )?)
}

/// Both doses on the card.
struct Doses {
    reference: Arc<Buffer<f32>>,
    values: Arc<Buffer<f32>>,
}

impl Doses {
    fn upload(
        card: &mut CardLock<'_>,
        request: &GammaRequest,
        layers: &Layers,
        cache: &Cache,
    ) -> Result<Self, CudaError> {
        card.fits_int("a reference dose", request.reference.data().len())?;
        card.fits_int("an evaluated dose", layers.values.data().len())?;
        // Both doses are scanned while they are uploaded.
        let doses = [&*request.reference, &*layers.values];
        for (n, pieces) in card.upload_seen(&doses, look)? {
            remember(doses[n], pieces, cache);
        }
        Ok(Self {
            reference: card.uploaded(&request.reference)?,
            values: card.uploaded(&layers.values)?,
        })
    }
}

/// Buffers of the launches.
struct GammaBuffers {
    pair: Pair,
    flat: bool,
    doses: Doses,
    cells: Arc<Cells>,
    /// Their key in the card's cache, and whether the kernel that computes them has been queued.
    cells_key: Key,
    made: bool,
    reference_planes: Buffer<f64>,
    planes: Buffer<f64>,
    heights: Buffer<[f32; 2]>,
    layer_of: Buffer<i32>,
    list: Buffer<u32>,
    count: Buffer<i32>,
    /// Whether the list came from the host.
    listed: bool,
    /// Points that the first and second pass leave to the next, and their numbers: `struct Left` of the kernels.
    next: [Buffer<u32>; 2],
    left: Buffer<i32>,
    gamma: Buffer<f32>,
}

impl GammaBuffers {
    fn new(
        card: &mut CardLock<'_>,
        request: &GammaRequest,
        layers: &Layers,
        doses: Doses,
        chosen: Option<&[u32]>,
    ) -> Result<Self, CudaError> {
        let (reference, values) = (&request.reference, &layers.values);
        let flat = layers.flat();
        let voxels = reference.data().len();
        let layer_of: Vec<i32> = layers
            .layer_of
            .iter()
            .flatten()
            .map(|n| n.map_or(-1, |n| n as i32))
            .collect();
        // Each as the sum of two numbers.
        let heights: Vec<[f32; 2]> = values
            .grid()
            .planes_mm()
            .iter()
            .map(|z| [*z as f32, (z - f64::from(*z as f32)) as f32])
            .collect();
        let list = match chosen {
            Some(points) => card.upload(points)?,
            None => card.alloc(voxels)?,
        };
        let count = card.upload(&[chosen.map_or(0, |points| points.len() as i32)])?;
        let gamma = card.alloc(voxels)?;
        let next = [card.alloc(list.count())?, card.alloc(list.count())?];
        let left = card.alloc(4)?;
        let reference_planes = card.upload(reference.grid().planes_mm())?;
        let planes = card.upload(values.grid().planes_mm())?;
        let heights = card.upload(&heights)?;
        let layer_of = card.upload(if layer_of.is_empty() { &[0] } else { &layer_of })?;
        let cells_key = (
            values.id(),
            if flat {
                "range of dose in squares"
            } else {
                "range of dose in cells"
            },
        );
        let (cells, are_cached) = match card.find_cached(cells_key) {
            Some(cells) => (cells, true),
            None => (
                Arc::new(Cells::alloc(card, values.data().len(), flat)?),
                false,
            ),
        };
        Ok(Self {
            pair: pair(request, layers),
            flat,
            doses,
            cells,
            cells_key,
            made: are_cached,
            reference_planes,
            planes,
            heights,
            layer_of,
            list,
            count,
            listed: chosen.is_some(),
            next,
            left,
            gamma,
        })
    }

    /// Queues the list of points, and the map's value of the others.
    fn queue_list(
        &self,
        card: &mut CardLock<'_>,
        checked: Checked,
        lists: bool,
    ) -> Result<(), CudaError> {
        if self.listed {
            // Four bytes of 0xff are a NaN.
            return card.fill(&self.gamma, 0xff);
        }
        if !(lists || self.flat) {
            // The first pass finds them itself.
            return Ok(());
        }
        let voxels = self.gamma.count();
        let args = [
            Arg::from(&*self.doses.reference),
            Arg::int(voxels),
            Arg::value(&threshold(checked.threshold_gy)),
            Arg::from(&self.list),
            Arg::from(&self.count),
            Arg::from(&self.gamma),
        ];
        let shape = Shape {
            blocks: [voxels.div_ceil(LISTED) as u32, 1, 1],
            threads: [WIDE, 1, 1],
        };
        card.launch("gamma", "gamma_list", shape, &args)
    }

    /// Queues the kernel that computes the cells, where they are not cached.
    fn queue_cells(&mut self, card: &mut CardLock<'_>) -> Result<(), CudaError> {
        if self.made {
            return Ok(());
        }
        let size = self.pair.size;
        let [nx, ny, nz] = size.map(|n| Arg::value(&n));
        let flat = Arg::value(&i32::from(self.flat));
        let Cells { quads, range } = &*self.cells;
        let args = [
            Arg::from(&*self.doses.values),
            nx,
            ny,
            nz,
            flat,
            Arg::from(quads),
            Arg::from(range),
        ];
        let shape = Shape {
            blocks: [Cells::blocks(size), 1, 1],
            threads: [THREADS, 1, 1],
        };
        card.launch("gamma", "gamma_cells", shape, &args)?;
        card.cache_item(self.cells_key, Arc::clone(&self.cells));
        self.made = true;
        Ok(())
    }

    fn queue_search(
        &self,
        card: &mut CardLock<'_>,
        limits: &Limits,
        checked: Checked,
    ) -> Result<(), CudaError> {
        if self.flat {
            return self.queue_plane(card, limits);
        }
        card.fill(&self.left, 0)?;
        let [to_boxes, to_far] = self.next.clone();
        // Without a list the card finds the points over the threshold as it goes.
        let list = if self.listed {
            Arg::from(&self.list)
        } else {
            Arg::value(&0_u64)
        };
        let mut args = self.search_args(limits, Reads::Values);
        args.extend([
            list,
            Arg::int(self.list.count()),
            Arg::value(&threshold(checked.threshold_gy)),
        ]);
        args.extend([
            Arg::from(&to_boxes),
            Arg::from(&self.left),
            Arg::from(&self.gamma),
        ]);
        card.launch("gamma", "gamma_vertices", self.points(), &args)?;
        let shape = Shape {
            blocks: [FETCHING_BLOCKS, 1, 1],
            threads: [THREADS, 1, 1],
        };
        let mut args = self.search_args(limits, Reads::All);
        args.extend([
            Arg::from(&to_boxes),
            Arg::from(&to_far),
            Arg::from(&self.left),
            Arg::from(&self.gamma),
        ]);
        card.launch("gamma", "gamma_boxes", shape, &args)?;
        let mut args = self.search_args(limits, Reads::All);
        args.extend([
            Arg::from(&to_far),
            Arg::from(&self.left),
            Arg::from(&self.gamma),
        ]);
        card.launch("gamma", "gamma_far", shape, &args)
    }

    /// First arguments of all searches in space.
    fn search_args(&self, limits: &Limits, reads: Reads) -> Vec<Arg> {
        let mut args = vec![
            Arg::value(&self.pair),
            Arg::value(limits),
            Arg::from(&*self.doses.reference),
            Arg::from(&*self.doses.values),
        ];
        let Cells { range, quads } = &*self.cells;
        args.extend(match reads {
            Reads::Values => vec![],
            Reads::All => vec![Arg::from(quads), Arg::from(range)],
        });
        args.extend([
            Arg::from(&self.heights),
            Arg::from(&self.reference_planes),
            Arg::from(&self.planes),
            Arg::from(&self.layer_of),
        ]);
        args
    }

    /// A thread a point.
    fn points(&self) -> Shape {
        let mut shape = line(self.list.count(), THREADS);
        shape.blocks[0] = shape.blocks[0].min(MOST_BLOCKS);
        shape
    }

    fn queue_plane(&self, card: &mut CardLock<'_>, limits: &Limits) -> Result<(), CudaError> {
        let args = [
            Arg::value(&self.pair),
            Arg::value(limits),
            Arg::from(&*self.doses.reference),
            Arg::from(&*self.doses.values),
            Arg::from(&self.cells.range),
            Arg::from(&self.reference_planes),
            Arg::from(&self.layer_of),
            Arg::from(&self.list),
            Arg::from(&self.count),
            Arg::from(&self.gamma),
        ];
        card.launch("gamma", "gamma_plane", self.points(), &args)
    }
}

/// Tables of the evaluated dose that a search reads.
#[derive(Clone, Copy)]
enum Reads {
    Values,
    All,
}

fn line(count: usize, threads: u32) -> Shape {
    Shape::covering([count, 1, 1], [threads, 1, 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::kernels;

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_gamma_kernels_are_called_as_declared() {
        let ptx = kernels::ptx("gamma").unwrap();
        let (pair, limits) = (size_of::<Pair>(), size_of::<Limits>());
        let pair_limits_and = |others: &[usize]| [&[pair, limits], others].concat();
        for (kernel, want) in [
            (
                "gamma_vertices",
                pair_limits_and(&[8, 8, 8, 8, 8, 8, 8, 4, 4, 8, 8, 8]),
            ),
            ("gamma_boxes", pair_limits_and(&[8; 12])),
            ("gamma_far", pair_limits_and(&[8; 11])),
            ("gamma_plane", pair_limits_and(&[8; 8])),
            ("gamma_cells", vec![8, 4, 4, 4, 4, 8, 8]),
            ("gamma_list", vec![8, 4, 4, 8, 8, 8]),
        ] {
            assert_eq!(kernels::signature(ptx, kernel), Some(want), "{kernel}");
        }
    }
}
