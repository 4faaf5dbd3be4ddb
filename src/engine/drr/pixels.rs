//! Which pixels of an image are wanted.

use super::DrrError;
use crate::geometry::Projection;
use std::sync::Arc;

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub column: usize,
    pub row: usize,
    pub columns: usize,
    pub rows: usize,
}

impl Region {
    /// All pixels of an image.
    pub fn whole(projection: &Projection) -> Self {
        Self { column: 0, row: 0, columns: projection.columns(), rows: projection.rows() }
    }

    pub fn pixels(&self) -> usize {
        self.columns.saturating_mul(self.rows)
    }
}

/// The pixels of an image that are computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pixels {
    #[default]
    All,
    Region(Region),
    /// `count` different pixels of a region (`None`: of the image), spread evenly at random; the same for the same seed.
    Subset {
        region: Option<Region>,
        count: usize,
        seed: u64,
    },
    /// Those of a list of `row * columns + column`, in its order.
    List(Arc<Vec<u32>>),
}

impl Pixels {
    /// The pixels' numbers, `row * columns + column`; ascending but for a list, which stays as it is.
    ///
    /// # Errors
    /// [`DrrError`]: a region outside the image or empty, more pixels than there are, none.
    pub fn indices(&self, projection: &Projection) -> Result<Arc<Vec<u32>>, DrrError> {
        let [columns, rows] = [projection.columns(), projection.rows()];
        let inside = |region: Region| {
            let fits =
                |start: usize, count: usize, all: usize| count > 0 && start < all && count <= all - start;
            if fits(region.column, region.columns, columns) && fits(region.row, region.rows, rows) {
                Ok(region)
            } else {
                Err(DrrError::Region { region, columns, rows })
            }
        };
        let number = |region: Region, n: usize| {
            ((region.row + n / region.columns) * columns + region.column + n % region.columns) as u32
        };
        let whole = Region::whole(projection);
        match self {
            Self::All => Ok(Arc::new((0..projection.pixels() as u32).collect())),
            Self::Region(region) => {
                let region = inside(*region)?;
                Ok(Arc::new((0..region.pixels()).map(|n| number(region, n)).collect()))
            }
            Self::Subset { region, count, seed } => {
                let region = inside(region.unwrap_or(whole))?;
                let there = region.pixels();
                if *count == 0 {
                    return Err(DrrError::NoPixels);
                }
                if *count > there {
                    return Err(DrrError::TooManyPixels { asked: *count, there });
                }
                let chosen = chosen(there, *count, *seed);
                Ok(Arc::new(chosen.into_iter().map(|n| number(region, n)).collect()))
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
fn chosen(there: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut chosen = Vec::with_capacity(count);
    for n in 0..there {
        let left = (there - n) as u64;
        // The high half of a product is a number below `left`, off by less than 2^-32 of its chance.
        let below = ((u128::from(split_mix(&mut state)) * u128::from(left)) >> 64) as u64;
        if below < (count - chosen.len()) as u64 {
            chosen.push(n);
        }
    }
    chosen
}

/// SplitMix64 (Steele, Lea and Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn image() -> Projection {
        Projection::new(DVec3::Z * 1000.0, DVec3::ZERO, DVec3::X, DVec3::NEG_Y, [20, 10]).expect("a geometry")
    }

    #[test]
    fn a_region_is_counted_in_the_whole_image() {
        let region = Region { column: 18, row: 3, columns: 2, rows: 2 };
        assert_eq!(*Pixels::Region(region).indices(&image()).expect("inside"), [78, 79, 98, 99]);
        assert_eq!(Pixels::All.indices(&image()).expect("all").len(), 200);
    }

    #[test]
    fn what_lies_outside_or_is_empty_is_refused() {
        let region = |column, row, columns, rows| Pixels::Region(Region { column, row, columns, rows });
        for wrong in
            [region(19, 0, 2, 1), region(0, 0, 0, 3), region(0, 10, 1, 1), region(1, 1, usize::MAX, 1)]
        {
            assert!(matches!(wrong.indices(&image()), Err(DrrError::Region { .. })), "{wrong:?}");
        }
        let subset = |count| Pixels::Subset { region: None, count, seed: 1 };
        assert_eq!(subset(0).indices(&image()), Err(DrrError::NoPixels));
        assert_eq!(subset(201).indices(&image()), Err(DrrError::TooManyPixels { asked: 201, there: 200 }));
        let list = |list: &[u32]| Pixels::List(Arc::new(list.to_vec())).indices(&image());
        assert_eq!(list(&[]), Err(DrrError::NoPixels));
        assert_eq!(list(&[5, 200]), Err(DrrError::NoSuchPixel(200, 200)));
        assert_eq!(*list(&[199, 3]).expect("inside"), [199, 3]);
    }

    /// As many as asked for, all different, the same for a seed, and each pixel as likely as any other.
    #[test]
    fn a_subset_is_spread_evenly() {
        let region = Region { column: 2, row: 1, columns: 10, rows: 8 };
        let of = |seed| {
            let subset = Pixels::Subset { region: Some(region), count: 20, seed };
            subset.indices(&image()).expect("there are enough")
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        let mut hits = [0_u32; 200];
        for seed in 0..4000 {
            let chosen = of(seed);
            assert!(chosen.len() == 20 && chosen.windows(2).all(|w| w[0] < w[1]));
            chosen.iter().for_each(|&n| hits[n as usize] += 1);
        }
        for (n, &hits) in hits.iter().enumerate() {
            let inside = (2..12).contains(&(n % 20)) && (1..9).contains(&(n / 20));
            // A quarter of 4000, standard deviation 27.
            assert!(if inside { (1000_i64 - i64::from(hits)).abs() < 140 } else { hits == 0 }, "{n}: {hits}");
        }
    }
}
