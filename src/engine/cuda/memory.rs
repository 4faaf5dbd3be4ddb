//! Device memory: a pool of blocks, and the card's cache from job to job.

use super::error::CudaError;
use geometry::VolumeId;
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Source of blocks: the driver, or in tests a card of a few bytes.
pub(super) trait BlockSource: Send + Sync {
    /// The address of new memory; `None` where there is not enough.
    fn take(&self, bytes: usize) -> Result<Option<u64>, CudaError>;
    /// Back to the driver, which waits for what still runs on it.
    fn give(&self, address: u64);
}

/// Free blocks, reused: a job that repeats allocates nothing.
pub(super) struct Pool {
    source: Box<dyn BlockSource>,
    free: Mutex<BTreeMap<usize, Vec<u64>>>,
}

impl Pool {
    pub fn new(source: Box<dyn BlockSource>) -> Arc<Self> {
        Arc::new(Self {
            source,
            free: Mutex::default(),
        })
    }

    /// `None` where neither a free block fits nor the source has memory, free blocks given back and all.
    pub fn block(self: &Arc<Self>, bytes: usize) -> Result<Option<Block>, CudaError> {
        let bytes = rounded(bytes);
        let mine = |(bytes, address)| Block {
            address,
            bytes,
            pool: self.clone(),
        };
        if let Some(free) = self.free_block(bytes) {
            return Ok(Some(mine(free)));
        }
        let mut taken = self.source.take(bytes)?;
        if taken.is_none() {
            self.give_back();
            taken = self.source.take(bytes)?;
        }
        Ok(taken.map(|address| mine((bytes, address))))
    }

    /// The smallest free block that fits and wastes no more than a quarter.
    fn free_block(&self, bytes: usize) -> Option<(usize, u64)> {
        let mut free = self.free();
        let (&size, addresses) = free.range_mut(bytes..=bytes + bytes / 4).next()?;
        let address = addresses.pop()?;
        if addresses.is_empty() {
            free.remove(&size);
        }
        Some((size, address))
    }

    /// Gives every free block back to the source.
    pub fn give_back(&self) {
        let free_blocks = std::mem::take(&mut *self.free());
        free_blocks
            .into_values()
            .flatten()
            .for_each(|address| self.source.give(address));
    }

    fn free(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<u64>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Small blocks to 256 bytes, large ones to 64 KiB: sizes that come again.
fn rounded(bytes: usize) -> usize {
    let unit = if bytes < 1 << 20 { 256 } else { 1 << 16 };
    bytes.max(1).next_multiple_of(unit)
}

/// Device memory; back to the pool when dropped. What still runs on it was queued before whatever uses it next.
pub(super) struct Block {
    pub address: u64,
    bytes: usize,
    pool: Arc<Pool>,
}

impl Drop for Block {
    fn drop(&mut self) {
        self.pool
            .free()
            .entry(self.bytes)
            .or_default()
            .push(self.address);
    }
}

/// Values in a card's memory, of a type that is plain bits. Clones share the memory.
#[derive(Clone)]
pub struct Buffer<T> {
    block: Arc<Block>,
    len: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T> Buffer<T> {
    /// `block` must hold `len` values.
    pub(super) fn new(block: Block, len: usize) -> Self {
        Self {
            block: Arc::new(block),
            len,
            kind: PhantomData,
        }
    }

    /// Number of values.
    pub fn count(&self) -> usize {
        self.len
    }

    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    pub(crate) fn address(&self) -> u64 {
        self.block.address
    }
}

/// An item of a card's cache: a copy of a volume, or data derived from one.
pub trait Resident: Any + Send + Sync {
    /// Device memory it holds.
    fn bytes(&self) -> usize;
}

impl<T: 'static> Resident for Buffer<T> {
    fn bytes(&self) -> usize {
        self.bytes()
    }
}

/// A volume, and the name of its derived data.
pub type Key = (VolumeId, &'static str);

/// The cache of a card, least recently used first out.
#[derive(Default)]
pub(super) struct ItemCache {
    items: HashMap<Key, Entry>,
    clock: u64,
}

struct Entry {
    item: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    used: u64,
}

impl ItemCache {
    pub fn get<R: Resident>(&mut self, key: Key) -> Option<Arc<R>> {
        self.clock += 1;
        let entry = self.items.get_mut(&key)?;
        entry.used = self.clock;
        entry.item.clone().downcast().ok()
    }

    pub fn take<R: Resident>(&mut self, key: Key) -> Option<Arc<R>> {
        self.items.remove(&key)?.item.downcast().ok()
    }

    pub fn put<R: Resident>(&mut self, key: Key, item: Arc<R>) {
        self.clock += 1;
        self.items.insert(
            key,
            Entry {
                bytes: item.bytes(),
                item,
                used: self.clock,
            },
        );
    }

    pub fn bytes(&self) -> usize {
        self.items.values().map(|e| e.bytes).sum()
    }

    /// Evicts the least recently used item without other holders; false where there is none.
    pub fn evict(&mut self) -> bool {
        let idle = self
            .items
            .iter()
            .filter(|(_, e)| Arc::strong_count(&e.item) == 1);
        let oldest = idle.min_by_key(|(_, e)| e.used).map(|(key, _)| *key);
        oldest.is_some_and(|key| self.items.remove(&key).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{Grid, Volume};
    use glam::DVec3;

    /// A card of a given size, which counts requests.
    #[derive(Clone)]
    struct Card(Arc<Mutex<Memory>>);

    #[derive(Default)]
    struct Memory {
        free: usize,
        blocks: HashMap<u64, usize>,
        taken_so_far: u64,
    }

    impl Card {
        fn new(bytes: usize) -> Self {
            Self(Arc::new(Mutex::new(Memory {
                free: bytes,
                ..Memory::default()
            })))
        }

        fn taken_so_far(&self) -> u64 {
            self.0.lock().unwrap().taken_so_far
        }
    }

    impl BlockSource for Card {
        fn take(&self, bytes: usize) -> Result<Option<u64>, CudaError> {
            let memory = &mut *self.0.lock().unwrap();
            if bytes > memory.free {
                return Ok(None);
            }
            memory.free -= bytes;
            memory.taken_so_far += 1;
            memory.blocks.insert(memory.taken_so_far, bytes);
            Ok(Some(memory.taken_so_far))
        }

        fn give(&self, address: u64) {
            let memory = &mut *self.0.lock().unwrap();
            memory.free += memory.blocks.remove(&address).expect("given back once");
        }
    }

    #[test]
    fn a_job_that_repeats_allocates_nothing() {
        let card = Card::new(1 << 20);
        let pool = Pool::new(Box::new(card.clone()));
        for _ in 0..5 {
            let _density = pool.block(100_000).unwrap().expect("there is room");
            let _depth = pool.block(90_000).unwrap().expect("there is room");
        }
        assert_eq!(card.taken_so_far(), 2);
        // A small one is not served from a large one.
        drop(pool.block(1000).unwrap());
        assert_eq!(card.taken_so_far(), 3);
    }

    #[test]
    fn free_blocks_are_given_back_for_another_size() {
        let card = Card::new(10_240);
        let pool = Pool::new(Box::new(card.clone()));
        drop(pool.block(6000).unwrap().expect("there is room"));
        assert!(
            pool.block(9000).unwrap().is_some(),
            "the free block was given back"
        );
        let _held = pool.block(6000).unwrap().expect("there is room");
        assert!(pool.block(9000).unwrap().is_none());
        drop(pool);
    }

    fn id() -> VolumeId {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [1; 3]).unwrap();
        Volume::new(Arc::new(grid), vec![0_u8]).id()
    }

    #[test]
    fn the_longest_unused_goes_first_and_what_is_held_stays() {
        let pool = Pool::new(Box::new(Card::new(1 << 20)));
        let mut cache = ItemCache::default();
        let [a, b, c] = [(id(), "density"), (id(), "density"), (id(), "density")];
        for key in [a, b, c] {
            let buffer = Buffer::<f32>::new(pool.block(400).unwrap().unwrap(), 100);
            cache.put(key, Arc::new(buffer));
        }
        assert_eq!(cache.bytes(), 1200);
        assert_eq!(cache.get::<Buffer<f32>>(a).expect("cached").count(), 100);
        assert!(cache.get::<Buffer<f32>>((a.0, "other")).is_none());
        let held = cache.get::<Buffer<f32>>(c);
        assert!(
            cache.evict() && cache.get::<Buffer<f32>>(b).is_none(),
            "b was used longest ago"
        );
        assert!(cache.evict() && cache.get::<Buffer<f32>>(a).is_none());
        assert!(!cache.evict(), "c is held");
        drop(held);
        assert!(cache.evict() && cache.bytes() == 0);
    }
}
