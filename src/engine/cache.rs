//! The cache of jobs: least recently used values are evicted beyond a budget in bytes. While a beam is dragged only the beam
//! changes; densities, kernels and calibrations are found here. The window's worker owns one, each run of a verb another.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Budget of all values: an image in pairs of voxels (1 GiB at most) beside the densities of two dose grids (50 MB each in a
/// thorax on 2.5 mm). A larger one holds nothing but values of volumes that are gone, which no job asks for again.
const BUDGET_BYTES: usize = 5 << 28;
/// An entry counts as this at least, so that entries are few enough to scan.
const LEAST_BYTES: usize = 1 << 20;

/// A value that can be cached.
pub trait ByteSize: Any + Send + Sync {
    /// Memory it holds; the default is for values of less than a MiB.
    fn bytes(&self) -> usize {
        0
    }
}

/// Values by key, the most recently used last.
pub struct Cache {
    entries: Mutex<Vec<Entry>>,
    budget: usize,
}

struct Entry {
    key: Box<dyn Any + Send>,
    value: Arc<dyn Any + Send + Sync>,
    bytes: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(BUDGET_BYTES)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

impl Cache {
    fn new(budget: usize) -> Self {
        Self {
            entries: Mutex::new(Vec::new()),
            budget,
        }
    }

    /// The value of a key, made where it is not cached. Two requests at once may both make it.
    ///
    /// # Errors
    /// Errors of `make`; then nothing is cached.
    pub fn get<K: PartialEq + Any + Send, V: ByteSize, E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        match self.find(&key) {
            Some(value) => Ok(value),
            None => Ok(self.put(key, make()?)),
        }
    }

    /// The cached value of a key.
    pub fn find<K: PartialEq + Any + Send, V: ByteSize>(&self, key: &K) -> Option<Arc<V>> {
        let mut entries = self.entries();
        let index = entries
            .iter()
            .position(|e| e.value.is::<V>() && e.key.downcast_ref::<K>() == Some(key))?;
        let entry = entries.remove(index);
        let value = Arc::clone(&entry.value).downcast().ok();
        entries.push(entry);
        value
    }

    /// Caches a value, whatever its size; others are evicted to keep the budget.
    pub fn put<K: PartialEq + Any + Send, V: ByteSize>(&self, key: K, value: V) -> Arc<V> {
        let (bytes, value) = (value.bytes().max(LEAST_BYTES), Arc::new(value));
        let mut entries = self.entries();
        entries.push(Entry {
            key: Box::new(key),
            value: Arc::<V>::clone(&value),
            bytes,
        });
        let mut total_bytes: usize = entries.iter().map(|e| e.bytes).sum();
        let go = entries
            .iter()
            .position(|e| {
                let fits = total_bytes <= self.budget;
                total_bytes -= if fits { 0 } else { e.bytes };
                fits
            })
            .unwrap_or(entries.len())
            .min(entries.len() - 1);
        entries.drain(..go);
        value
    }

    /// Empties the cache: the case is closed.
    pub fn empty(&self) {
        // The values go without the lock: memory of hundreds of MB takes a while to give back, and jobs look values up meanwhile.
        let values = std::mem::take(&mut *self.entries());
        drop(values);
    }

    /// Evicts the values of one kind: no job will ask for them.
    pub(super) fn forget<V: ByteSize>(&self) {
        self.entries().retain(|e| !e.value.is::<V>());
    }

    /// Bytes of all values.
    pub fn bytes(&self) -> usize {
        self.entries().iter().map(|e| e.bytes).sum()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Mib(usize);

    impl ByteSize for Mib {
        fn bytes(&self) -> usize {
            self.0 << 20
        }
    }

    #[derive(Debug, PartialEq)]
    struct Small(u8);

    impl ByteSize for Small {}

    #[test]
    fn the_least_recently_used_is_evicted() {
        let kept = Cache::new(10 << 20);
        let cached_mib = |key: u8, mib: usize| kept.get(key, || Ok::<_, ()>(Mib(mib))).map(|v| v.0);
        assert_eq!((cached_mib(1, 4), cached_mib(2, 5)), (Ok(4), Ok(5)));
        assert_eq!(cached_mib(1, 9), Ok(4), "it is cached");
        assert_eq!(cached_mib(3, 6), Ok(6));
        assert!(kept.find::<u8, Mib>(&2).is_none(), "least recently used");
        assert_eq!((cached_mib(1, 9), kept.bytes()), (Ok(4), 10 << 20));
        assert_eq!(
            (cached_mib(4, 90), kept.bytes()),
            (Ok(90), 90 << 20),
            "one is cached whatever its size"
        );
        assert_eq!((cached_mib(5, 1), kept.bytes()), (Ok(1), 1 << 20));
        kept.empty();
        assert!(kept.bytes() == 0 && kept.find::<u8, Mib>(&5).is_none());
    }

    #[test]
    fn one_key_may_stand_for_values_of_several_kinds() {
        let kept = Cache::new(10 << 20);
        kept.put(1_u8, Small(7));
        kept.put(9_u8, Mib(1));
        kept.forget::<Mib>();
        assert!(kept.find::<u8, Mib>(&9).is_none(), "one kind is gone");
        assert!(kept.find::<u8, Mib>(&1).is_none() && kept.find::<u16, Small>(&1).is_none());
        assert_eq!(kept.find::<u8, Small>(&1).as_deref(), Some(&Small(7)));
        assert_eq!(kept.get(2_u8, || Err::<Small, _>("no")), Err("no"));
        for n in 0..200_u8 {
            kept.put(u32::from(n), Small(n));
        }
        assert_eq!(kept.entries().len(), 10, "small values are few, too");
    }
}
