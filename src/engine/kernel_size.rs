//! Sizes as kernels count.

/// A size or index as kernels count. One that does not fit stands for more memory than a card has, which refuses it before.
pub fn int(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
