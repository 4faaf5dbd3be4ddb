//! Binary planes: a row of pixels is a row of bits, 64 to a word.

use std::ops::{BitAnd, BitOr, Range};

const WORD: usize = u64::BITS as usize;

/// The pixels of a plane, each set or unset. A volume of them takes an eighth of one of `bool`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitPlane {
    size: [usize; 2],
    /// Row after row, the lowest bit of a row's first word is its first pixel; bits beyond its last pixel are unset.
    words: Vec<u64>,
}

impl BitPlane {
    pub fn unset(size: [usize; 2]) -> Self {
        Self {
            size,
            words: vec![0; size[0].div_ceil(WORD) * size[1]],
        }
    }

    /// The pixels whose value, `[y][x]`, `holds`.
    pub fn from_values<T>(values: &[T], size: [usize; 2], holds: impl Fn(&T) -> bool) -> Self {
        let mut plane = Self::unset(size);
        let stride = plane.stride().max(1);
        let rows = plane.words.chunks_exact_mut(stride);
        for (words, row) in rows.zip(values.chunks_exact(size[0].max(1))) {
            for (word, pixels) in words.iter_mut().zip(row.chunks(WORD)) {
                *word = pixels
                    .iter()
                    .rev()
                    .fold(0, |word, value| word << 1 | u64::from(holds(value)));
            }
        }
        plane
    }

    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// Words of a row.
    fn stride(&self) -> usize {
        self.size[0].div_ceil(WORD)
    }

    /// The words of a row.
    pub fn row(&self, y: usize) -> &[u64] {
        let stride = self.stride();
        &self.words[y * stride..][..stride]
    }

    pub fn at(&self, x: usize, y: usize) -> bool {
        self.row(y)[x / WORD] >> (x % WORD) & 1 == 1
    }

    pub fn any(&self) -> bool {
        self.words.iter().any(|word| *word != 0)
    }

    /// Number of set pixels.
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Number of set pixels of a part of a row.
    pub fn count_in(&self, x: Range<usize>, y: usize) -> usize {
        let row = self.row(y);
        masks(x)
            .map(|(n, mask)| (row[n] & mask).count_ones() as usize)
            .sum()
    }

    /// The runs of set pixels of a row.
    pub fn runs(&self, y: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let (row, width) = (self.row(y), self.size[0]);
        let mut column = 0;
        std::iter::from_fn(move || {
            let start = first_set(row, column, 0)?;
            column = first_set(row, start, u64::MAX).unwrap_or(width);
            Some(start..column)
        })
    }

    /// Sets or unsets a part of a row.
    pub fn fill(&mut self, x: Range<usize>, y: usize, set: bool) {
        let stride = self.stride();
        let row = &mut self.words[y * stride..][..stride];
        for (n, mask) in masks(x) {
            row[n] = if set { row[n] | mask } else { row[n] & !mask };
        }
    }

    /// The unset pixels.
    pub fn inverted(mut self) -> Self {
        let [width, height] = self.size;
        self.words.iter_mut().for_each(|word| *word = !*word);
        (0..height).for_each(|y| self.fill(width..width.next_multiple_of(WORD), y, false));
        self
    }

    /// The pixels that are not set in another plane.
    pub fn without(self, other: &Self) -> Self {
        self.merged(other, |a, b| a & !b)
    }

    fn merged(mut self, other: &Self, merge: impl Fn(u64, u64) -> u64) -> Self {
        self.words
            .iter_mut()
            .zip(&other.words)
            .for_each(|(a, b)| *a = merge(*a, *b));
        self
    }

    /// All pixels one further up or down an axis; those that come in are unset.
    pub fn moved(&self, axis: usize, up: bool) -> Self {
        let [width, height] = self.size;
        let mut moved = Self::unset(self.size);
        for y in 0..height {
            for run in self.runs(y) {
                match (axis, up) {
                    (0, true) => moved.fill(run.start + 1..(run.end + 1).min(width), y, true),
                    (0, false) => moved.fill(run.start.saturating_sub(1)..run.end - 1, y, true),
                    (_, true) if y + 1 < height => moved.fill(run, y + 1, true),
                    (_, false) if y > 0 => moved.fill(run, y - 1, true),
                    _ => {}
                }
            }
        }
        moved
    }

    /// The set pixels grown by a rectangle of `2 reach + 1` pixels a side, one axis after the other.
    pub fn grown(&self, reach: [usize; 2]) -> Self {
        let [width, height] = self.size;
        let mut grown = Self::unset(self.size);
        for y in 0..height {
            for run in self.runs(y) {
                grown.fill(
                    run.start.saturating_sub(reach[0])..run.end.saturating_add(reach[0]).min(width),
                    y,
                    true,
                );
            }
        }
        let stride = self.stride();
        let reach = reach[1].min(height.saturating_sub(1));
        // Rows gather the next ones up, then down; each pass takes twice as many at a time as the one before.
        let mut gathered = 0;
        while gathered < reach {
            let step = (gathered + 1).min(reach - gathered);
            let words = grown.words.len() - step * stride;
            (0..words).for_each(|n| grown.words[n] |= grown.words[n + step * stride]);
            gathered += step;
        }
        gathered = 0;
        while gathered < reach {
            let step = (gathered + 1).min(reach - gathered);
            (step * stride..grown.words.len())
                .rev()
                .for_each(|n| grown.words[n] |= grown.words[n - step * stride]);
            gathered += step;
        }
        grown
    }

    /// The set pixels shrunk by a rectangle of `2 reach + 1` pixels a side; beyond the plane counts as the pixels at
    /// its border.
    pub fn shrunk(self, reach: [usize; 2]) -> Self {
        self.inverted().grown(reach).inverted()
    }

    /// The set pixels that a rectangle of `2 reach + 1` pixels a side covers which holds set pixels alone.
    pub fn opened(self, reach: [usize; 2]) -> Self {
        self.shrunk(reach).grown(reach)
    }
}

impl BitAnd<&Self> for BitPlane {
    type Output = Self;

    fn bitand(self, other: &Self) -> Self {
        self.merged(other, |a, b| a & b)
    }
}

impl BitOr<&Self> for BitPlane {
    type Output = Self;

    fn bitor(self, other: &Self) -> Self {
        self.merged(other, |a, b| a | b)
    }
}

/// The words that a part of a row touches, and the part's bits in each.
fn masks(x: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let words = if x.is_empty() {
        0..0
    } else {
        x.start / WORD..x.end.div_ceil(WORD)
    };
    words.map(move |n| {
        let (from, to) = (
            x.start.saturating_sub(n * WORD),
            (x.end - n * WORD).min(WORD),
        );
        (n, u64::MAX << from & u64::MAX >> (WORD - to))
    })
}

/// The first set bit of `words ^ flip` from bit `from` on.
fn first_set(words: &[u64], from: usize, flip: u64) -> Option<usize> {
    let first = from / WORD;
    let mut word = (words.get(first)? ^ flip) & u64::MAX << (from % WORD);
    let mut n = first;
    while word == 0 {
        n += 1;
        word = words.get(n)? ^ flip;
    }
    Some(n * WORD + word.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests;
