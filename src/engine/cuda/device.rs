//! Cards of this machine, opening them, and a job's lock on one.

use super::error::{CudaError, is_out_of_memory};
use super::kernels;
use super::memory::{BlockSource, Buffer, ItemCache, Key, Pool, Resident};
use super::staging::Landings;
use crate::drr::cuda::{Class, Launch};
pub use crate::kernel_size::int;
use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, result, sys};
use cudarc::nvrtc::Ptx;
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The oldest driver that loads the embedded PTX, as the driver counts versions.
const OLDEST_DRIVER: i32 = 12_000;

/// A card of this machine, as the driver names it; not opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    pub ordinal: usize,
    pub name: String,
    pub memory_bytes: usize,
    /// Version of its driver, as that counts: 13000 for 13.0.
    pub driver: i32,
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{} {}", self.ordinal, self.name)
    }
}

/// The cards of this machine, looked for once.
pub fn cards() -> Result<&'static [Card], CudaError> {
    static CARDS: OnceLock<Result<Vec<Card>, CudaError>> = OnceLock::new();
    let cards = CARDS.get_or_init(|| {
        // The binding panics where a library that calls itself libcuda lacks what every driver has.
        std::panic::catch_unwind(find_cards).unwrap_or(Err(CudaError::NoDriver))
    });
    cards.as_deref().map_err(Clone::clone)
}

#[expect(
    unsafe_code,
    reason = "asks the driver for numbers; called in the order it demands"
)]
fn find_cards() -> Result<Vec<Card>, CudaError> {
    let failed = |error| CudaError::failed("the driver", "looking for cards", error);
    // SAFETY: only opens the library and closes it.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoDriver);
    }
    let mut version = 0;
    // SAFETY: the library is there, and the number outlives the call.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }
        .result()
        .map_err(failed)?;
    if version < OLDEST_DRIVER {
        return Err(CudaError::OldDriver(version / 1000, version % 1000 / 10));
    }
    match result::init() {
        Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => return Err(CudaError::NoCard),
        other => other.map_err(failed)?,
    }
    let count = result::device::get_count().map_err(failed)?;
    let cards: Vec<Card> = (0..count)
        .map(|ordinal| {
            let device = result::device::get(ordinal)?;
            let name = result::device::get_name(device)?;
            // SAFETY: the device was just given by the driver.
            let memory_bytes = unsafe { result::device::total_mem(device) }?;
            Ok(Card {
                ordinal: ordinal.unsigned_abs() as usize,
                name,
                memory_bytes,
                driver: version,
            })
        })
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    if cards.is_empty() {
        Err(CudaError::NoCard)
    } else {
        Ok(cards)
    }
}

/// An open card: a context, one stream on which all work is queued in order, its memory, its kernels.
pub struct Device {
    card: Card,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// Copies to the host that go beside the work queued later.
    copies: Arc<CudaStream>,
    pool: Arc<Pool>,
    state: Mutex<State>,
    landings: Mutex<Landings>,
}

#[derive(Default)]
struct State {
    modules: HashMap<&'static str, Module>,
    cache: ItemCache,
    staging: super::staging::Staging,
    layouts: HashMap<Class, Launch>,
}

struct Module {
    module: Arc<CudaModule>,
    ptx: &'static str,
    kernels: HashMap<&'static str, Kernel>,
}

#[derive(Clone)]
struct Kernel {
    function: CudaFunction,
    /// Sizes of its arguments, bytes.
    signature: Arc<[usize]>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("card", &self.card)
            .finish_non_exhaustive()
    }
}

/// The cards opened so far, of the process: a driver has one context a card, and opening it takes tenths of a second. What they hold
/// of a case goes with it ([`Device::empty`]).
static OPEN: Mutex<Vec<Arc<Device>>> = Mutex::new(Vec::new());

/// The cards opened so far.
pub fn opened() -> Vec<Arc<Device>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Device {
    /// The card of that number, opened at its first use and then left open.
    pub fn open(ordinal: usize) -> Result<Arc<Self>, CudaError> {
        let cards = cards()?;
        let card = cards.get(ordinal).ok_or(CudaError::NoSuchCard {
            asked: ordinal,
            count: cards.len(),
        })?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = open.iter().find(|d| d.card.ordinal == ordinal) {
            return Ok(device.clone());
        }
        let device = Arc::new(Self::new(card.clone())?);
        open.push(device.clone());
        Ok(device)
    }

    fn new(card: Card) -> Result<Self, CudaError> {
        let failed = |error| CudaError::failed(&card.to_string(), "opening it", error);
        let context = CudaContext::new(card.ordinal).map_err(failed)?;
        let [stream, copies] = [
            context.new_stream().map_err(failed)?,
            context.new_stream().map_err(failed)?,
        ];
        let pool = Pool::new(Box::new(DriverMemory {
            context: context.clone(),
            device: card.to_string(),
        }));
        let (state, landings) = (Mutex::default(), Mutex::default());
        Ok(Self {
            card,
            context,
            stream,
            copies,
            pool,
            state,
            landings,
        })
    }

    /// Pinned memory of copies that end without the lock.
    pub(super) fn landings(&self) -> MutexGuard<'_, Landings> {
        self.landings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Size of the card's cache, bytes.
    pub fn cached_bytes(&self) -> usize {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .cache
            .bytes()
    }

    /// Empties the card's cache and gives free memory back to the driver. Waits for the job that has the card.
    pub fn empty(&self) {
        while self.lock().make_room() {}
    }

    /// Takes the card for one job, waiting for another to be through: constants and cached volumes are the job's until
    /// the lock is dropped.
    pub fn lock(&self) -> CardLock<'_> {
        CardLock {
            device: self,
            state: self.state.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// The driver as a source of memory.
struct DriverMemory {
    context: Arc<CudaContext>,
    device: String,
}

impl BlockSource for DriverMemory {
    #[expect(unsafe_code, reason = "cuMemAlloc; the pool owns what it gives")]
    fn take(&self, bytes: usize) -> Result<Option<u64>, CudaError> {
        let bound = self.context.bind_to_thread();
        // SAFETY: the context is current; nobody reads the memory before it is written, which is the pool's contract.
        match bound.and_then(|()| unsafe { result::malloc_sync(bytes) }) {
            Ok(address) => Ok(Some(address)),
            Err(error) if is_out_of_memory(error) => Ok(None),
            Err(error) => Err(CudaError::failed(&self.device, "taking memory", error)),
        }
    }

    #[expect(unsafe_code, reason = "cuMemFree, which waits for the card")]
    fn give(&self, address: u64) {
        let bound = self.context.bind_to_thread();
        // SAFETY: the pool gives back each address that it took, once, when nobody holds it.
        if let Err(error) = bound.and_then(|()| unsafe { result::free_sync(address) }) {
            tracing::warn!("{}: memory was not given back: {error:?}", self.device);
        }
    }
}

/// The shape of a launch: blocks, threads of a block, along x, y, z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub blocks: [u32; 3],
    pub threads: [u32; 3],
}

impl Shape {
    /// As many blocks of `threads` as cover `size`.
    pub fn covering(size: [usize; 3], threads: [u32; 3]) -> Self {
        let blocks = [0, 1, 2].map(|a| (size[a] as u32).div_ceil(threads[a]));
        Self { blocks, threads }
    }
}

/// One argument of a kernel.
#[derive(Clone)]
pub struct Arg {
    /// Its bytes, where any type of C is aligned.
    words: Vec<u64>,
    bytes: usize,
}

impl Arg {
    /// A number or a struct of numbers, as the kernel declares it.
    pub fn value<T: Pod>(value: &T) -> Self {
        let bytes = bytemuck::bytes_of(value);
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self {
            words,
            bytes: bytes.len(),
        }
    }

    /// A size or index, as [`int`].
    pub fn int(value: usize) -> Self {
        Self::value(&int(value))
    }
}

impl<T> From<&Buffer<T>> for Arg {
    fn from(buffer: &Buffer<T>) -> Self {
        Self::value(&buffer.address())
    }
}

/// A job's hold on a card: allocates, copies, launches. Everything is queued on one stream, in order, but for copies that end without
/// the lock; only what hands numbers to the host waits.
pub struct CardLock<'a> {
    pub(super) device: &'a Device,
    state: MutexGuard<'a, State>,
}

impl Deref for CardLock<'_> {
    type Target = Card;

    fn deref(&self) -> &Card {
        &self.device.card
    }
}

impl CardLock<'_> {
    pub(crate) fn failed(&self, doing: &str) -> impl FnOnce(DriverError) -> CudaError + use<> {
        let (device, doing) = (self.device.card.to_string(), doing.to_owned());
        move |error| CudaError::failed(&device, &doing, error)
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.device.stream
    }

    /// The stream of copies that end without the lock.
    pub(super) fn copies(&self) -> &Arc<CudaStream> {
        &self.device.copies
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.device.context
    }

    /// The staging buffer; put it back when done.
    pub(super) fn staging(&mut self) -> &mut super::staging::Staging {
        &mut self.state.staging
    }

    /// Layouts of launches found for this card.
    pub(crate) fn layouts(&mut self) -> &mut HashMap<Class, Launch> {
        &mut self.state.layouts
    }

    /// Uninitialised memory for `len` values. Where the card is full, the least recently used is
    /// evicted.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`] when that does not help.
    pub fn alloc<T: Pod>(&mut self, len: usize) -> Result<Buffer<T>, CudaError> {
        let bytes = len.saturating_mul(size_of::<T>());
        loop {
            if let Some(block) = self.device.pool.block(bytes)? {
                return Ok(Buffer::new(block, len));
            }
            if !self.state.cache.evict() {
                return Err(self.out_of_memory(bytes));
            }
        }
    }

    /// Gives free blocks back and evicts the least recently used item; false where there is none.
    pub(crate) fn make_room(&mut self) -> bool {
        let evicted = self.state.cache.evict();
        self.device.pool.give_back();
        evicted
    }

    fn out_of_memory(&self, bytes: usize) -> CudaError {
        let mib = |bytes: usize| (bytes as u64).div_ceil(1 << 20);
        let (free, total) = self.context().mem_get_info().unwrap_or_default();
        let device = self.device.card.to_string();
        CudaError::OutOfMemory {
            device,
            asked_mib: mib(bytes),
            free_mib: mib(free),
            total_mib: mib(total),
        }
    }

    /// Cached data of a volume under a name of the job's own, made at its first use. The cache is held under half the
    /// card's memory.
    pub fn cached<R: Resident>(
        &mut self,
        key: Key,
        make: impl FnOnce(&mut Self) -> Result<R, CudaError>,
    ) -> Result<Arc<R>, CudaError> {
        if let Some(item) = self.find_cached(key) {
            return Ok(item);
        }
        let item = Arc::new(make(self)?);
        self.cache_item(key, item.clone());
        Ok(item)
    }

    /// A cached item.
    pub(crate) fn find_cached<R: Resident>(&mut self, key: Key) -> Option<Arc<R>> {
        self.state.cache.get(key)
    }

    /// A cached item, which leaves the cache.
    pub(super) fn take_cached<R: Resident>(&mut self, key: Key) -> Option<Arc<R>> {
        self.state.cache.take(key)
    }

    /// Caches an item whose kernels have been queued.
    pub(crate) fn cache_item<R: Resident>(&mut self, key: Key, item: Arc<R>) {
        self.state.cache.put(key, item);
        while self.state.cache.bytes() > self.device.card.memory_bytes / 2
            && self.state.cache.evict()
        {}
    }

    /// Sizes and indices are C `int`s on the card.
    pub fn fits_int(&self, what: &str, count: usize) -> Result<(), CudaError> {
        if i32::try_from(count).is_ok() {
            return Ok(());
        }
        Err(CudaError::TooLarge {
            what: format!("{what} of {count}"),
            most: i32::MAX.to_string(),
        })
    }

    /// Queues a kernel of `kernels/SOURCE.cu`.
    ///
    /// # Errors
    /// Arguments that are not as many and as large as the kernel declares; what the driver says.
    #[expect(
        unsafe_code,
        reason = "cuLaunchKernel of this program's own kernels, arguments checked against their PTX"
    )]
    pub fn launch(
        &mut self,
        source: &'static str,
        kernel: &'static str,
        shape: Shape,
        args: &[Arg],
    ) -> Result<(), CudaError> {
        let Kernel {
            function,
            signature,
        } = self.kernel(source, kernel)?;
        let sizes: Vec<usize> = args.iter().map(|arg| arg.bytes).collect();
        if sizes != *signature {
            let what = format!("arguments of {sizes:?} bytes for {signature:?}");
            return Err(CudaError::Call {
                kernel: kernel.to_owned(),
                what,
            });
        }
        let mut pointers: Vec<_> = args
            .iter()
            .map(|arg| arg.words.as_ptr().cast_mut().cast())
            .collect();
        let (blocks, threads) = (shape.blocks.into(), shape.threads.into());
        let bound = self.context().bind_to_thread();
        let handle = function.cu_function();
        let stream = self.stream().cu_stream();
        // SAFETY: function and stream are alive and of the context that is current; the driver copies the arguments,
        // whose number and sizes equal the PTX's, before it returns. Buffers outlive what is queued: a dropped
        // one goes to the pool, whose next user queues behind.
        bound
            .and_then(|()| unsafe {
                result::launch_kernel(handle, blocks, threads, 0, stream, &mut pointers)
            })
            .map_err(self.failed(kernel))
    }

    /// Writes a `__constant__` array of `kernels/SOURCE.cu` from its beginning.
    ///
    /// # Errors
    /// [`CudaError::TooLarge`] where it is shorter; what the driver says.
    #[expect(
        unsafe_code,
        reason = "cuMemcpyHtoDAsync into a symbol whose size is checked"
    )]
    pub fn set_constant<T: Pod>(
        &mut self,
        source: &'static str,
        symbol: &str,
        values: &[T],
    ) -> Result<(), CudaError> {
        let module = self.module(source)?.module.clone();
        let stream = self.stream().clone();
        let doing = format!("writing {symbol}");
        let view = module
            .get_global(symbol, &stream)
            .map_err(self.failed(&doing))?;
        let capacity = view.len() / size_of::<T>().max(1);
        if values.len() > capacity {
            let what = format!("{symbol} of {} values", values.len());
            return Err(CudaError::TooLarge {
                what,
                most: capacity.to_string(),
            });
        }
        let (address, _sync) = view.view_ptr(&stream);
        // SAFETY: the symbol holds that many values; the driver copies pageable memory before it returns.
        unsafe { result::memcpy_htod_async(address, values, stream.cu_stream()) }
            .map_err(self.failed(&doing))
    }

    /// Loads the PTX of a source that the program does not embed, under a name for [`Self::launch`]; once.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn load(&mut self, source: &'static str, ptx: &'static str) -> Result<(), CudaError> {
        if !self.state.modules.contains_key(source) {
            let loaded = self.context().load_module(Ptx::from_src(ptx));
            let module =
                loaded.map_err(self.failed(&format!("loading the kernels of {source}.cu")))?;
            self.state.modules.insert(
                source,
                Module {
                    module,
                    ptx,
                    kernels: HashMap::new(),
                },
            );
        }
        Ok(())
    }

    fn module(&mut self, source: &'static str) -> Result<&mut Module, CudaError> {
        if !self.state.modules.contains_key(source) {
            self.load(source, kernels::ptx(source)?)?;
        }
        self.state
            .modules
            .get_mut(source)
            .ok_or_else(|| CudaError::Call {
                kernel: source.to_owned(),
                what: "its module was not loaded".to_owned(),
            })
    }

    fn kernel(&mut self, source: &'static str, name: &'static str) -> Result<Kernel, CudaError> {
        let failed = self.failed(&format!("finding kernel {name}"));
        let module = self.module(source)?;
        if let Some(kernel) = module.kernels.get(name) {
            return Ok(kernel.clone());
        }
        let signature = kernels::signature(module.ptx, name).ok_or_else(|| CudaError::Call {
            kernel: name.to_owned(),
            what: format!("{source}.cu has no such kernel"),
        })?;
        let function = module.module.load_function(name).map_err(failed)?;
        let kernel = Kernel {
            function,
            signature: signature.into(),
        };
        module.kernels.insert(name, kernel.clone());
        Ok(kernel)
    }
}
