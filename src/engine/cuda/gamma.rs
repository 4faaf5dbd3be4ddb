//! Gamma on a card (`kernels/gamma.cu`): the points of each step of the search together, as Gu 2010 has its like points together.

use super::device::{Arg, CardLock, Device, Shape, int};
use super::error::{CudaError, Failure};
use super::memory::{Buffer, Key, Resident};
use super::pages::HostBuffer;
use crate::case::Receipt;
use crate::engine::JobControl;
use crate::engine::jobs::gamma::{
    Checked, Counts, Criterion, GammaError, GammaMap, GammaRequest, GammaResult, HULL_MM, Layers, Locate,
    Method, ROUNDING, look, paper, remember, select,
};
use crate::geometry::Volume;
use bytemuck::{Pod, Zeroable};
use std::sync::Arc;
use std::time::Instant;

/// Threads of a block of the search, and the most blocks of a launch: each takes several points in turn.
const THREADS: u32 = 128;
const MOST_BLOCKS: u32 = 1 << 15;
/// Blocks of the searches whose warps fetch their points: more than any card runs at a time.
const FETCHING_BLOCKS: u32 = 2048;
/// Of the other kernels.
const WIDE: u32 = 256;
/// Voxels that a block of `gamma_list` goes through.
const LISTED: usize = 1024;
/// `RANGED` of the kernels.
const RANGED: u32 = 12;
/// `BINS` of the kernels.
const BINS: usize = 256;

/// `struct Pair` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Pair {
    first: [f64; 3],
    step_i: [f64; 3],
    step_j: [f64; 3],
    normal: [f64; 3],
    spacing: [f64; 2],
    per_spacing: [f64; 2],
    per_plane: f64,
    hull: f64,
    reference_size: [i32; 3],
    size: [i32; 3],
}

/// `struct Criterion` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Limits {
    per_mm: f32,
    per_gy: f32,
    most: f32,
    rounding: f32,
    most_per_gy: f32,
    per_side: [f32; 2],
    local: i32,
}

/// What is made of the cells of an evaluated dose once.
struct Cells {
    /// Least and greatest dose of each cell.
    range: Buffer<[f32; 2]>,
    /// Each voxel with those next to it along x, y and both; in two dimensions none.
    quads: Buffer<[f32; 4]>,
}

impl Cells {
    fn room(session: &mut CardLock<'_>, voxels: usize, flat: bool) -> Result<Self, CudaError> {
        Ok(Self { range: session.alloc(voxels)?, quads: session.alloc(if flat { 0 } else { voxels })? })
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

/// Answers a request, with its receipt. Its phases: `upload` (of what the card does not yet hold), `prepare` (the list of points; in a
/// plane and for the paper's search the cells), `search` (with the cells, else), `download`, by the card's events; `host`, the rest of
/// the call.
///
/// # Errors
/// [`Failure`].
pub fn gamma(
    request: &GammaRequest,
    device: &Device,
    control: &JobControl,
) -> Result<GammaResult, Failure<GammaError>> {
    let start = Instant::now();
    let layers = Layers::new(request)?;
    let mut session = device.session();
    control.check().map_err(GammaError::from)?;
    let mut clock = session.clock()?;
    // With an upload to wait for, the system has the time to find pages for the answer meanwhile.
    let voxels = request.reference.data().len();
    let waits = !(session.holds(&request.reference) && session.holds(&layers.values));
    let mut room = waits.then(|| HostBuffer::begin(voxels));
    let doses = Doses::upload(&mut session, request, &layers)?;
    let checked = request.check()?;
    // Where all voxels may be points the card finds those over the threshold itself.
    let chosen = (request.region.is_some() || request.subset.is_some())
        .then(|| select(request, checked))
        .transpose()?;
    let mut work = Work::new(&mut session, request, &layers, doses, chosen.as_deref())?;
    // Taking memory is no work of the card's.
    clock.mark(&session, "upload")?;
    work.queue_list(&mut session, request, checked)?;
    if layers.flat() || request.method != Method::Bounded {
        work.queue_cells(&mut session)?;
    }
    clock.mark(&session, "prepare")?;
    let mut found = Vec::with_capacity(request.criteria.len());
    for (n, criterion) in request.criteria.iter().enumerate() {
        control.check().map_err(GammaError::from)?;
        work.queue_search(&mut session, request, checked, &layers, criterion)?;
        clock.mark(&session, "search")?;
        let room = room.take().unwrap_or(HostBuffer::Later(voxels));
        let (gamma, counts) = session.download_seen(&work.gamma, room, Counts::of_part)?;
        clock.mark(&session, "download")?;
        let gamma = Volume::new(Arc::clone(request.reference.grid()), gamma);
        found.push(GammaMap::counted(*criterion, gamma, counts.into_iter().sum()));
        control.report((n + 1) as f32 / request.criteria.len() as f32);
    }
    let mut phases_ms = clock.finish(&session)?;
    drop(session);
    let counts = found.first().map(|map| map.counts).unwrap_or_default();
    if counts.points() == 0 {
        let threshold_gy = checked.threshold_gy;
        return Err(GammaError::NothingToAnalyse { threshold_gy, in_region: false }.into());
    }
    let digest = request.digest();
    let on_card: f64 = phases_ms.iter().map(|(_, ms)| ms).sum();
    phases_ms.push(("host".to_owned(), (start.elapsed().as_secs_f64() * 1e3 - on_card).max(0.0)));
    let receipt = Receipt {
        job: "gamma".to_owned(),
        digest,
        device: device.card().to_string(),
        phases_ms,
        warnings: Vec::new(),
        work: counts.points() as u64,
    };
    Ok(GammaResult::new(checked, &layers, found, receipt)?)
}

/// Both doses on the card.
struct Doses {
    reference: Arc<Buffer<f32>>,
    values: Arc<Buffer<f32>>,
}

impl Doses {
    fn upload(
        session: &mut CardLock<'_>,
        request: &GammaRequest,
        layers: &Layers,
    ) -> Result<Self, CudaError> {
        session.fits_int("a reference dose", request.reference.data().len())?;
        session.fits_int("an evaluated dose", layers.values.data().len())?;
        // Both doses are looked at while they pass.
        let doses = [&*request.reference, &*layers.values];
        for (n, pieces) in session.upload_seen(&doses, look)? {
            remember(doses[n], pieces);
        }
        Ok(Self {
            reference: session.uploaded(&request.reference)?,
            values: session.uploaded(&layers.values)?,
        })
    }
}

/// All that the launches read and write.
struct Work {
    pair: Pair,
    flat: bool,
    doses: Doses,
    cells: Arc<Cells>,
    /// Under what the card keeps them, and whether what makes them has been queued.
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
    /// What the first and the second search leave to the next, and how much: `struct Left` of the kernels.
    next: [Buffer<u32>; 2],
    left: Buffer<i32>,
    gamma: Buffer<f32>,
}

impl Work {
    fn new(
        session: &mut CardLock<'_>,
        request: &GammaRequest,
        layers: &Layers,
        doses: Doses,
        chosen: Option<&[u32]>,
    ) -> Result<Self, CudaError> {
        let (reference, values) = (&request.reference, &layers.values);
        let flat = layers.flat();
        let voxels = reference.data().len();
        let layer_of: Vec<i32> =
            layers.layer_of.iter().flatten().map(|n| n.map_or(-1, |n| n as i32)).collect();
        // Each as the sum of two numbers.
        let pair_of = |z: &f64| [*z as f32, (z - f64::from(*z as f32)) as f32];
        let heights: Vec<[f32; 2]> = values.grid().planes_mm().iter().map(pair_of).collect();
        let list = match chosen {
            Some(points) => session.upload(points)?,
            None => session.alloc(voxels)?,
        };
        let count = session.upload(&[chosen.map_or(0, |points| points.len() as i32)])?;
        let gamma = session.alloc(voxels)?;
        let next = [session.alloc(list.count())?, session.alloc(list.count())?];
        let left = session.alloc(4)?;
        let reference_planes = session.upload(reference.grid().planes_mm())?;
        let planes = session.upload(values.grid().planes_mm())?;
        let heights = session.upload(&heights)?;
        let layer_of = session.upload(if layer_of.is_empty() { &[0] } else { &layer_of })?;
        let cells_key =
            (values.id(), if flat { "range of dose in squares" } else { "range of dose in cells" });
        let (cells, made) = match session.already(cells_key) {
            Some(cells) => (cells, true),
            None => (Arc::new(Cells::room(session, values.data().len(), flat)?), false),
        };
        Ok(Self {
            pair: pair(request, layers),
            flat,
            doses,
            cells,
            cells_key,
            made,
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

    /// Queues the list of points, and what stands where there is none.
    fn queue_list(
        &self,
        session: &mut CardLock<'_>,
        request: &GammaRequest,
        checked: Checked,
    ) -> Result<(), CudaError> {
        if self.listed {
            // Four bytes of 0xff are a NaN.
            return session.fill(&self.gamma, 0xff);
        }
        if !self.flat && request.method == Method::Bounded {
            // That search finds them itself.
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
        let shape = Shape { blocks: [voxels.div_ceil(LISTED) as u32, 1, 1], threads: [WIDE, 1, 1] };
        session.launch("gamma", "gamma_list", shape, &args)
    }

    /// Queues what makes the cells, where they are not kept.
    fn queue_cells(&mut self, session: &mut CardLock<'_>) -> Result<(), CudaError> {
        if self.made {
            return Ok(());
        }
        let size = self.pair.size;
        let [nx, ny, nz] = size.map(|n| Arg::value(&n));
        let flat = Arg::value(&i32::from(self.flat));
        let Cells { quads, range } = &*self.cells;
        let args = [Arg::from(&*self.doses.values), nx, ny, nz, flat, Arg::from(quads), Arg::from(range)];
        let shape = Shape { blocks: [Cells::blocks(size), 1, 1], threads: [THREADS, 1, 1] };
        session.launch("gamma", "gamma_cells", shape, &args)?;
        self.keep_cells(session);
        Ok(())
    }

    /// What makes the cells has been queued.
    fn keep_cells(&mut self, session: &mut CardLock<'_>) {
        session.keep(self.cells_key, Arc::clone(&self.cells));
        self.made = true;
    }

    fn queue_search(
        &mut self,
        session: &mut CardLock<'_>,
        request: &GammaRequest,
        checked: Checked,
        layers: &Layers,
        criterion: &Criterion,
    ) -> Result<(), CudaError> {
        let limits = limits(request, checked, criterion, self.pair.spacing);
        if self.flat {
            return self.queue_plane(session, &limits);
        }
        if request.method != Method::Bounded {
            let offsets = session.upload(&paper::offsets(request, checked, layers, criterion))?;
            return self.queue_paper(session, &limits, request.method == Method::Sorted, &offsets);
        }
        session.fill(&self.left, 0)?;
        let [to_boxes, to_far] = self.next.clone();
        // Without a list the card finds the points over the threshold as it goes.
        let list = if self.listed { Arg::from(&self.list) } else { Arg::value(&0_u64) };
        let mut args = self.search_args(&limits, Reads::Values);
        args.extend([list, Arg::int(self.list.count()), Arg::value(&threshold(checked.threshold_gy))]);
        args.extend([Arg::from(&to_boxes), Arg::from(&self.left), Arg::from(&self.gamma)]);
        // The first look goes without the cells, and has them made beside it.
        let making = if self.made { 0 } else { Cells::blocks(self.pair.size) };
        let Cells { quads, range } = &*self.cells;
        args.extend([Arg::value(&int(making as usize)), Arg::from(quads), Arg::from(range)]);
        let mut shape = self.points();
        shape.blocks[0] += making;
        session.launch("gamma", "gamma_stars", shape, &args)?;
        if !self.made {
            self.keep_cells(session);
        }
        let shape = Shape { blocks: [FETCHING_BLOCKS, 1, 1], threads: [THREADS, 1, 1] };
        let mut args = self.search_args(&limits, Reads::All);
        args.extend([
            Arg::from(&to_boxes),
            Arg::from(&to_far),
            Arg::from(&self.left),
            Arg::from(&self.gamma),
        ]);
        session.launch("gamma", "gamma_boxes", shape, &args)?;
        let mut args = self.search_args(&limits, Reads::All);
        args.extend([Arg::from(&to_far), Arg::from(&self.left), Arg::from(&self.gamma)]);
        session.launch("gamma", "gamma_far", shape, &args)
    }

    /// What all searches in space begin with.
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
            Reads::Quads => vec![Arg::from(quads)],
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

    fn queue_plane(&self, session: &mut CardLock<'_>, limits: &Limits) -> Result<(), CudaError> {
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
        session.launch("gamma", "gamma_plane", self.points(), &args)
    }

    /// The search of the paper.
    fn queue_paper(
        &self,
        session: &mut CardLock<'_>,
        limits: &Limits,
        by_difference: bool,
        offsets: &Buffer<paper::Offset>,
    ) -> Result<(), CudaError> {
        let sorted = by_difference.then(|| self.sorted(session, limits)).transpose()?;
        let mut args = self.search_args(limits, Reads::Quads);
        args.extend([
            Arg::from(sorted.as_ref().unwrap_or(&self.list)),
            Arg::from(&self.count),
            Arg::from(offsets),
            Arg::int(offsets.count()),
            Arg::from(&self.gamma),
        ]);
        session.launch("gamma", "gamma_paper", self.points(), &args)
    }

    /// The list by dose difference.
    fn sorted(&self, session: &mut CardLock<'_>, limits: &Limits) -> Result<Buffer<u32>, CudaError> {
        let bins: Buffer<i32> = session.alloc(BINS)?;
        session.fill(&bins, 0)?;
        let sorted = session.alloc(self.list.count())?;
        let args = || {
            vec![
                Arg::value(&self.pair),
                Arg::value(limits),
                Arg::value(&i32::from(self.flat)),
                Arg::from(&*self.doses.reference),
                Arg::from(&*self.doses.values),
                Arg::from(&self.reference_planes),
                Arg::from(&self.planes),
                Arg::from(&self.layer_of),
                Arg::from(&self.list),
                Arg::from(&self.count),
                Arg::from(&bins),
            ]
        };
        let mut shape = line(self.list.count(), WIDE);
        shape.blocks[0] = shape.blocks[0].min(4096);
        session.launch("gamma", "gamma_bins", shape, &args())?;
        session.launch("gamma", "gamma_begin", line(BINS, WIDE), &[Arg::from(&bins)])?;
        let mut all = args();
        all.push(Arg::from(&sorted));
        session.launch("gamma", "gamma_sort", shape, &all)?;
        Ok(sorted)
    }
}

/// What a search reads of the evaluated dose beside its voxels.
#[derive(Clone, Copy)]
enum Reads {
    Values,
    Quads,
    All,
}

fn line(count: usize, threads: u32) -> Shape {
    Shape::covering([count, 1, 1], [threads, 1, 1])
}

fn pair(request: &GammaRequest, layers: &Layers) -> Pair {
    let (reference, values) = (request.reference.grid(), layers.values.grid());
    let locate = Locate::new(reference, layers);
    let planes = values.planes_mm();
    let last = planes[planes.len() - 1];
    let spacing = values.spacing_xy_mm();
    Pair {
        first: locate.first_mm.to_array(),
        step_i: locate.steps_mm[0].to_array(),
        step_j: locate.steps_mm[1].to_array(),
        normal: locate.normal.to_array(),
        spacing,
        per_spacing: spacing.map(f64::recip),
        per_plane: if last > 0.0 { (planes.len() - 1) as f64 / last } else { 1.0 },
        hull: HULL_MM,
        reference_size: reference.size().map(int),
        size: values.size().map(int),
    }
}

fn limits(request: &GammaRequest, checked: Checked, criterion: &Criterion, spacing_mm: [f64; 2]) -> Limits {
    Limits {
        per_mm: (1.0 / criterion.dta_mm) as f32,
        per_gy: match criterion.local {
            // Of a reference dose of 1 Gy.
            true => (100.0 / criterion.dose_percent) as f32,
            false => (1.0 / criterion.dose_gy(checked.normalisation_gy, 0.0)) as f32,
        },
        most: request.max_gamma.map_or(f32::INFINITY, |most| most * most),
        rounding: ROUNDING,
        most_per_gy: (1.0 / criterion.least_gy(checked.normalisation_gy)) as f32,
        per_side: spacing_mm.map(|step| (criterion.dta_mm / step) as f32),
        local: i32::from(criterion.local),
    }
}

/// The least 32-bit number that is not below the threshold: what reaches one reaches the other.
fn threshold(gy: f64) -> f32 {
    let near = gy as f32;
    if f64::from(near) < gy { near.next_up() } else { near }
}

#[cfg(test)]
mod tests {
    use super::super::kernels;
    use super::*;

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_gamma_kernels_are_called_as_declared() {
        let ptx = kernels::ptx("gamma").unwrap();
        let (pair, limits) = (size_of::<Pair>(), size_of::<Limits>());
        let of = |rest: &[usize]| [&[pair, limits], rest].concat();
        for (kernel, want) in [
            ("gamma_stars", of(&[8, 8, 8, 8, 8, 8, 8, 4, 4, 8, 8, 8, 4, 8, 8])),
            ("gamma_boxes", of(&[8; 12])),
            ("gamma_far", of(&[8; 11])),
            ("gamma_paper", of(&[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 8])),
            ("gamma_plane", of(&[8; 8])),
            ("gamma_cells", vec![8, 4, 4, 4, 4, 8, 8]),
            ("gamma_list", vec![8, 4, 4, 8, 8, 8]),
            ("gamma_bins", vec![pair, limits, 4, 8, 8, 8, 8, 8, 8, 8, 8]),
            ("gamma_begin", vec![8]),
            ("gamma_sort", vec![pair, limits, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8]),
        ] {
            assert_eq!(kernels::signature(ptx, kernel), Some(want), "{kernel}");
        }
    }

    #[test]
    fn the_same_doses_reach_a_threshold_in_32_bits() {
        for gy in [0.0, 0.1, 0.7, 6.0, 7.1] {
            let t = threshold(gy);
            assert!(f64::from(t) >= gy && (gy == 0.0 || f64::from(t.next_down()) < gy), "{gy}");
        }
    }
}
