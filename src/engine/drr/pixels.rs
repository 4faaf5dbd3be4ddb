//! Pixels of an image that a request computes.

use super::request::DrrError;
use crate::Random;
use geometry::Projection;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::sync::Arc;

/// Pixels of a region along a side at least.
const LEAST_REGION: usize = 8;

/// A rectangle of pixels, from the top left corner of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    pub column: usize,
    pub row: usize,
    pub columns: usize,
    pub rows: usize,
}

impl Region {
    /// All pixels of an image.
    pub fn whole(projection: &Projection) -> Self {
        Self {
            column: 0,
            row: 0,
            columns: projection.columns(),
            rows: projection.rows(),
        }
    }

    pub fn pixels(&self) -> usize {
        self.columns.saturating_mul(self.rows)
    }

    /// Pixels between two corners, `[column, row]`, as far as they are in an image of `columns` x `rows`. `None` for
    /// next to nothing.
    pub fn between(a: [f64; 2], b: [f64; 2], size: [usize; 2]) -> Option<Self> {
        let side = |axis: usize| {
            let edge = |v: f64| (v + 0.5).round().clamp(0.0, size[axis] as f64) as usize;
            (edge(a[axis].min(b[axis])), edge(a[axis].max(b[axis])))
        };
        let ([left, right], [top, bottom]) =
            (<[usize; 2]>::from(side(0)), <[usize; 2]>::from(side(1)));
        let (columns, rows) = (right - left, bottom - top);
        (columns.min(rows) >= LEAST_REGION).then_some(Self {
            column: left,
            row: top,
            columns,
            rows,
        })
    }

    /// Whether all of it lies in an image of `columns` x `rows`, and it is no less than one can mark.
    pub fn fits(&self, [columns, rows]: [usize; 2]) -> bool {
        let inside = |from: usize, count: usize, limit: usize| {
            count >= LEAST_REGION && from.checked_add(count).is_some_and(|end| end <= limit)
        };
        inside(self.column, self.columns, columns) && inside(self.row, self.rows, rows)
    }

    /// The least that holds all pixels that are open. `None` where none is.
    pub fn around(open: &[bool], columns: usize) -> Option<Self> {
        let rows = open.chunks(columns.max(1));
        let top = rows.clone().position(|row| row.contains(&true))?;
        let bottom = rows.clone().rposition(|row| row.contains(&true))?;
        let (left, right) = rows
            .filter_map(|row| Some((row.iter().position(|o| *o)?, row.iter().rposition(|o| *o)?)))
            .fold((usize::MAX, 0), |(a, b), (l, r)| (a.min(l), b.max(r)));
        Some(Self {
            column: left,
            row: top,
            columns: right + 1 - left,
            rows: bottom + 1 - top,
        })
    }
}

/// How a part of the pixels is spread over a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Each as likely as any other.
    #[default]
    Random,
    /// A low-discrepancy sequence: no heaps and no holes (the first two dimensions of Sobol 1967).
    LowDiscrepancy,
}

impl Spread {
    pub const ALL: [Self; 2] = [Self::Random, Self::LowDiscrepancy];

    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::LowDiscrepancy => "low-discrepancy",
        }
    }
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|s| s.word() == word)
            .ok_or_else(|| "it is random or low-discrepancy".to_owned())
    }
}

/// The pixels of an image that are computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pixels {
    #[default]
    All,
    Region(Region),
    /// `count` different pixels of a region (`None`: of the image), spread over it; the same for the same seed.
    Subset {
        region: Option<Region>,
        count: usize,
        spread: Spread,
        seed: u64,
    },
    /// A list of `row * columns + column`, in its order.
    List(Arc<Vec<u32>>),
}

impl Pixels {
    /// The pixels' numbers, `row * columns + column`; ascending, but a list in its own order.
    ///
    /// # Errors
    /// [`DrrError`]: a region outside the image or empty, more pixels than there are, none.
    pub fn indices(&self, projection: &Projection) -> Result<Arc<Vec<u32>>, DrrError> {
        let [columns, rows] = [projection.columns(), projection.rows()];
        let inside = |region: Region| {
            let fits = |start: usize, count: usize, limit: usize| {
                count > 0 && start < limit && count <= limit - start
            };
            if fits(region.column, region.columns, columns) && fits(region.row, region.rows, rows) {
                Ok(region)
            } else {
                Err(DrrError::Region {
                    region,
                    columns,
                    rows,
                })
            }
        };
        let number = |region: Region, n: usize| {
            ((region.row + n / region.columns) * columns + region.column + n % region.columns)
                as u32
        };
        let whole_image = Region::whole(projection);
        match self {
            Self::All => Ok(Arc::new((0..projection.pixels() as u32).collect())),
            Self::Region(region) => {
                let region = inside(*region)?;
                Ok(Arc::new(
                    (0..region.pixels()).map(|n| number(region, n)).collect(),
                ))
            }
            Self::Subset {
                region,
                count,
                spread,
                seed,
            } => {
                let region = inside(region.unwrap_or(whole_image))?;
                let available = region.pixels();
                if *count == 0 {
                    return Err(DrrError::NoPixels);
                }
                if *count > available {
                    return Err(DrrError::TooManyPixels {
                        asked: *count,
                        there: available,
                    });
                }
                let chosen = match spread {
                    Spread::Random => chosen(available, *count, *seed),
                    Spread::LowDiscrepancy => {
                        spread_out([region.columns, region.rows], *count, *seed)
                    }
                };
                Ok(Arc::new(
                    chosen.into_iter().map(|n| number(region, n)).collect(),
                ))
            }
            Self::List(list) => {
                let pixels = projection.pixels();
                if list.is_empty() {
                    return Err(DrrError::NoPixels);
                }
                match list.iter().find(|n| **n as usize >= pixels) {
                    Some(&n) => Err(DrrError::NoSuchPixel(n, pixels)),
                    None => Ok(Arc::clone(list)),
                }
            }
        }
    }
}

/// `count` of `0..there`, each as likely as any other, ascending (Knuth, selection sampling: one pass, no memory).
fn chosen(available: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut chosen = Vec::with_capacity(count);
    for n in 0..available {
        if random.below(available - n) < count - chosen.len() {
            chosen.push(n);
        }
    }
    chosen
}

/// The first `count` of `columns x rows` pixels that a Sobol sequence comes to, ascending. Its first `2^(a+b)` points, and
/// each such run after, lie one to a cell of any grid of `2^a x 2^b` (a (0, 2)-sequence in base 2: Sobol 1967; Niederreiter
/// 1987), so that over the smallest such grid around the pixels none is come to twice, and all are in the end. The seed turns
/// bits of the cells over, which leaves that as it is.
fn spread_out([columns, rows]: [usize; 2], count: usize, seed: u64) -> Vec<usize> {
    let [across, down] = [columns, rows].map(|n| n.next_power_of_two().trailing_zeros());
    let mut random = Random::new(seed);
    let flip = [(); 2].map(|()| random.bits() as u32);
    // The leading bits of a fraction of 32 bits.
    let cell = |fraction: u32, bits: u32| fraction.checked_shr(32 - bits).unwrap_or(0) as usize;
    let mut chosen: Vec<usize> = (0..=u32::MAX)
        .filter_map(|n| {
            let (column, row) = (
                cell(n.reverse_bits() ^ flip[0], across),
                cell(sobol(n) ^ flip[1], down),
            );
            (column < columns && row < rows).then_some(row * columns + column)
        })
        .take(count)
        .collect();
    chosen.sort_unstable();
    chosen
}

/// Number `n` of the second dimension of Sobol's sequence as a fraction of 32 bits: the direction numbers of the primitive
/// polynomial x + 1, each the last one and itself halved, without carry.
fn sobol(mut n: u32) -> u32 {
    let (mut sum, mut direction) = (0, 1_u32 << 31);
    while n != 0 {
        if n & 1 == 1 {
            sum ^= direction;
        }
        n >>= 1;
        direction ^= direction >> 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn image() -> Projection {
        Projection::new(
            DVec3::Z * 1000.0,
            DVec3::ZERO,
            DVec3::X,
            DVec3::NEG_Y,
            [20, 10],
        )
        .expect("a geometry")
    }

    #[test]
    fn a_region_is_counted_in_the_whole_image() {
        let region = Region {
            column: 18,
            row: 3,
            columns: 2,
            rows: 2,
        };
        assert_eq!(
            *Pixels::Region(region).indices(&image()).expect("inside"),
            [78, 79, 98, 99]
        );
        assert_eq!(Pixels::All.indices(&image()).expect("all").len(), 200);
    }

    #[test]
    fn what_lies_outside_or_is_empty_is_refused() {
        let region = |column, row, columns, rows| {
            Pixels::Region(Region {
                column,
                row,
                columns,
                rows,
            })
        };
        for wrong in [
            region(19, 0, 2, 1),
            region(0, 0, 0, 3),
            region(0, 10, 1, 1),
            region(1, 1, usize::MAX, 1),
        ] {
            assert!(
                matches!(wrong.indices(&image()), Err(DrrError::Region { .. })),
                "{wrong:?}"
            );
        }
        for spread in Spread::ALL {
            let subset = |count| Pixels::Subset {
                region: None,
                count,
                spread,
                seed: 1,
            };
            assert_eq!(subset(0).indices(&image()), Err(DrrError::NoPixels));
            assert_eq!(
                subset(201).indices(&image()),
                Err(DrrError::TooManyPixels {
                    asked: 201,
                    there: 200
                })
            );
        }
        let list = |list: &[u32]| Pixels::List(Arc::new(list.to_vec())).indices(&image());
        assert_eq!(list(&[]), Err(DrrError::NoPixels));
        assert_eq!(list(&[5, 200]), Err(DrrError::NoSuchPixel(200, 200)));
        assert_eq!(*list(&[199, 3]).expect("inside"), [199, 3]);
    }

    /// The requested number of different pixels, the same for a seed, each pixel as likely as any other.
    #[test]
    fn a_subset_is_spread_evenly() {
        let region = Region {
            column: 2,
            row: 1,
            columns: 10,
            rows: 8,
        };
        let random_pixels = |seed| {
            let subset = Pixels::Subset {
                region: Some(region),
                count: 20,
                spread: Spread::Random,
                seed,
            };
            subset.indices(&image()).expect("there are enough")
        };
        assert_eq!(random_pixels(7), random_pixels(7));
        assert_ne!(random_pixels(7), random_pixels(8));
        let mut hits = [0_u32; 200];
        for seed in 0..4000 {
            let chosen = random_pixels(seed);
            assert!(chosen.len() == 20 && chosen.windows(2).all(|w| w[0] < w[1]));
            chosen.iter().for_each(|&n| hits[n as usize] += 1);
        }
        for (n, &hits) in hits.iter().enumerate() {
            let inside = (2..12).contains(&(n % 20)) && (1..9).contains(&(n / 20));
            // A quarter of 4000, standard deviation 27.
            assert!(
                if inside {
                    (1000_i64 - i64::from(hits)).abs() < 140
                } else {
                    hits == 0
                },
                "{n}: {hits}"
            );
        }
    }

    /// From 1.1 % to all of them: the requested number of different pixels, and every larger part holds the smaller one.
    #[test]
    fn a_low_discrepancy_part_grows_to_the_whole() {
        let region = Region {
            column: 3,
            row: 1,
            columns: 17,
            rows: 9,
        };
        let low_discrepancy_pixels = |count, seed| {
            let subset = Pixels::Subset {
                region: Some(region),
                count,
                spread: Spread::LowDiscrepancy,
                seed,
            };
            subset.indices(&image()).expect("there are enough")
        };
        let mut last: Arc<Vec<u32>> = Arc::new(Vec::new());
        for count in 1..=17 * 9 {
            let chosen = low_discrepancy_pixels(count, 5);
            assert!(
                chosen.len() == count && chosen.windows(2).all(|w| w[0] < w[1]),
                "{count}"
            );
            assert!(
                last.iter().all(|n| chosen.binary_search(n).is_ok()),
                "{count}"
            );
            last = chosen;
        }
        assert_eq!(
            last,
            Pixels::Region(region).indices(&image()).expect("inside")
        );
        assert_ne!(low_discrepancy_pixels(20, 5), low_discrepancy_pixels(20, 6));
    }

    /// Parts of 512 x 256 pixels: the first 2^m lie one to a rectangle of 2^(17-m) pixels, however long and narrow; and
    /// in boxes from the corner there are as many of 990 as their area says, to a few, where random ones are off by
    /// dozens.
    #[test]
    fn a_low_discrepancy_part_has_no_heaps() {
        let (columns, rows) = (512_usize, 256_usize);
        for seed in [0, 1, 77] {
            for m in 1..=12_usize {
                let chosen = spread_out([columns, rows], 1 << m, seed);
                for across in m.saturating_sub(8)..=m.min(9) {
                    let (width, height) = (columns >> across, rows >> (m - across));
                    let mut seen = vec![0; 1 << m];
                    for n in &chosen {
                        seen[n / columns / height * (columns / width) + n % columns / width] += 1;
                    }
                    assert!(
                        seen.iter().all(|&count| count == 1),
                        "2^{m} points, {width} x {height}"
                    );
                }
            }
        }
        let (columns, rows) = (400, 225);
        let worst = |chosen: &[usize]| {
            let boxes =
                (1..=20).flat_map(|i| (1..=15).map(move |j| [i * columns / 20, j * rows / 15]));
            let off = boxes.map(|[width, height]| {
                let inside = chosen
                    .iter()
                    .filter(|&n| n % columns < width && n / columns < height)
                    .count();
                let share = (width * height) as f64 / (columns * rows) as f64;
                (inside as f64 - share * chosen.len() as f64).abs()
            });
            off.fold(0.0, f64::max)
        };
        // 1.1 % of the paper's region.
        let even = worst(&spread_out([columns, rows], 990, 3));
        let random = worst(&chosen(columns * rows, 990, 3));
        assert!(even < 8.0 && random > 15.0, "{even} {random}");
    }
}
