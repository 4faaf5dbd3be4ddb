//! A part of a query that many queries share.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

/// Compared by address first: an unchanged plan of many control points needs no comparison of each of them.
#[derive(Debug)]
pub struct Shared<T>(Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: PartialEq> Shared<T> {
    /// `previous` itself where it is equal: later comparisons with it are quick.
    pub fn new(value: T, previous: Option<&Self>) -> Self {
        previous
            .filter(|previous| *previous.0 == value)
            .cloned()
            .unwrap_or_else(|| Self(Arc::new(value)))
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
