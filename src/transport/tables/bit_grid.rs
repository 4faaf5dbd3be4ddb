//! Grids by the bits of a float: even steps within each octave, found without a logarithm.

/// Grid from a power of two over whole octaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitGrid {
    /// The first node is 2 to this.
    pub least_exponent: i32,
    pub octaves: u32,
    /// Steps an octave are 2 to this.
    pub log2_per_octave: u32,
}

/// Node below a value, and the fraction of the way to the next.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub node: usize,
    pub fraction: f32,
}

impl BitGrid {
    pub const fn nodes(self) -> usize {
        ((self.octaves << self.log2_per_octave) + 1) as usize
    }

    /// Value of a node.
    pub fn value(self, node: usize) -> f32 {
        f32::from_bits(self.first_bits() + ((node as u32) << self.shift()))
    }

    pub fn values(self) -> impl Iterator<Item = f32> {
        (0..self.nodes()).map(move |node| self.value(node))
    }

    /// Place of a positive value; those outside the grid are taken as its ends.
    pub fn place(self, value: f32) -> Place {
        let steps = value.to_bits().saturating_sub(self.first_bits());
        let node = (steps >> self.shift()) as usize;
        let last = self.nodes() - 2;
        if node > last {
            return Place {
                node: last,
                fraction: 1.0,
            };
        }
        let below_step = steps & ((1 << self.shift()) - 1);
        Place {
            node,
            fraction: below_step as f32 / (1_u32 << self.shift()) as f32,
        }
    }

    const fn first_bits(self) -> u32 {
        ((127 + self.least_exponent) as u32) << 23
    }

    const fn shift(self) -> u32 {
        23 - self.log2_per_octave
    }
}

impl Place {
    /// Value at the place, of a table with `width` numbers a node, of which `column` is read.
    pub fn in_table(self, table: &[f32], width: usize, column: usize) -> f64 {
        let rows = &table[self.node * width..][..2 * width];
        let [low, high] = [rows[column], rows[width + column]];
        f64::from(low + self.fraction * (high - low))
    }

    /// Values of all columns at the place.
    pub fn row_of<const WIDTH: usize>(self, table: &[f32]) -> [f64; WIDTH] {
        let rows = &table[self.node * WIDTH..][..2 * WIDTH];
        std::array::from_fn(|column| {
            let [low, high] = [rows[column], rows[WIDTH + column]];
            f64::from(low + self.fraction * (high - low))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: BitGrid = BitGrid {
        least_exponent: -6,
        octaves: 11,
        log2_per_octave: 5,
    };

    #[test]
    fn nodes_are_even_within_an_octave() {
        assert_eq!(GRID.nodes(), 353);
        assert_eq!(GRID.value(0), 1.0 / 64.0);
        assert_eq!(GRID.value(352), 32.0);
        assert_eq!(GRID.value(6 * 32 + 8), 1.25);
    }

    /// Straight lines are interpolated as they are, at any place and beyond both ends constantly.
    #[test]
    fn places_interpolate_a_straight_line() {
        let table: Vec<f32> = GRID.values().collect();
        for value in [0.015_625_f32, 0.0161, 0.2, 0.999_999, 1.0, 17.3, 31.999] {
            let read = GRID.place(value).in_table(&table, 1, 0);
            assert!(
                (read / f64::from(value) - 1.0).abs() < 1e-6,
                "{value}: {read}"
            );
        }
        assert_eq!(GRID.place(0.001).in_table(&table, 1, 0), 1.0 / 64.0);
        assert_eq!(GRID.place(50.0).in_table(&table, 1, 0), 32.0);
    }
}
