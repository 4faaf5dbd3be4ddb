//! What was made lately and may be asked for again: while a beam is dragged only the beam changes.

use std::sync::{Arc, Mutex, PoisonError};

/// The last few values made, by what they were made from.
pub struct Kept<K, V> {
    entries: Mutex<Vec<(K, Arc<V>)>>,
    most: usize,
}

impl<K: PartialEq, V> Kept<K, V> {
    pub const fn new(most: usize) -> Self {
        Self { entries: Mutex::new(Vec::new()), most }
    }

    /// The value of a key, made where it is not kept. Two that ask at once may both make it.
    ///
    /// # Errors
    /// What `make` returns; then nothing is kept.
    pub fn get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        if let Some(value) = self.find(&key) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= self.most {
            entries.remove(0);
        }
        entries.push((key, Arc::clone(&value)));
        Ok(value)
    }

    fn find(&self, key: &K) -> Option<Arc<V>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let at = entries.iter().position(|(k, _)| k == key)?;
        // The one used last goes to the end, the one unused longest is dropped first.
        let entry = entries.remove(at);
        let value = Arc::clone(&entry.1);
        entries.push(entry);
        Some(value)
    }
}
