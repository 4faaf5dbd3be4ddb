use super::*;
use proptest::prelude::*;

impl BitPlane {
    /// Rows of letters, `#` set.
    pub fn drawn(rows: &[&str]) -> Self {
        let pixels: Vec<char> = rows.iter().flat_map(|row| row.chars()).collect();
        Self::from_values(&pixels, [rows[0].len(), rows.len()], |&letter| {
            letter == '#'
        })
    }
}

/// Pixels `[y][x]` of a plane of `width`, in runs: words that are full, empty and neither.
fn pixels() -> impl Strategy<Value = (usize, Vec<bool>)> {
    (1_usize..200, 1_usize..9).prop_flat_map(|(width, height)| {
        let runs = prop::collection::vec((any::<bool>(), 1_usize..90), 1..40);
        (Just(width), runs).prop_map(move |(width, runs)| {
            let pixels = runs
                .iter()
                .cycle()
                .flat_map(|&(set, count)| std::iter::repeat_n(set, count));
            (width, pixels.take(width * height).collect())
        })
    })
}

/// Whether all (any) pixels of the rectangle round a pixel are set, of those within the plane.
fn round(
    pixels: &[bool],
    width: usize,
    reach: [usize; 2],
    n: usize,
    holds_everywhere: bool,
) -> bool {
    let [x, y] = [n % width, n / width];
    let mut near = pixels
        .iter()
        .enumerate()
        .filter(|(m, _): &(usize, &bool)| {
            (m % width).abs_diff(x) <= reach[0] && (m / width).abs_diff(y) <= reach[1]
        })
        .map(|(_, set)| *set);
    if holds_everywhere {
        near.all(|set| set)
    } else {
        near.any(|set| set)
    }
}

proptest! {
    /// Against the definitions, pixel by pixel; reaches beyond the border among them.
    #[test]
    fn growing_shrinking_and_opening_are_those_of_their_definitions(
        (width, pixels) in pixels(), rx in 0_usize..260, near in 0_usize..5, ry in 0_usize..12, small in any::<bool>(),
    ) {
        let reach = [if small { near } else { rx }, ry];
        let size = [width, pixels.len() / width];
        let plane = |pixels: &[bool]| BitPlane::from_values(pixels, size, |set| *set);
        let by = |pixels: &[bool], all| -> Vec<bool> {
            (0..pixels.len()).map(|n| round(pixels, width, reach, n, all)).collect()
        };
        prop_assert_eq!(plane(&pixels).grown(reach), plane(&by(&pixels, false)));
        prop_assert_eq!(plane(&pixels).shrunk(reach), plane(&by(&pixels, true)));
        prop_assert_eq!(plane(&pixels).opened(reach), plane(&by(&by(&pixels, true), false)));
    }

    #[test]
    fn pixels_runs_and_counts_are_those_of_single_pixels(
        (width, pixels) in pixels(), (from, to) in (0_usize..200, 0_usize..200), set in any::<bool>(),
    ) {
        let size = [width, pixels.len() / width];
        let plane = BitPlane::from_values(&pixels, size, |set| *set);
        prop_assert_eq!(plane.count(), pixels.iter().filter(|set| **set).count());
        prop_assert_eq!(plane.any(), pixels.contains(&true));
        let part = from.min(to).min(width)..from.max(to).min(width);
        for (y, row) in pixels.chunks_exact(width).enumerate() {
            prop_assert!((0..width).all(|x| plane.at(x, y) == row[x]));
            prop_assert_eq!(plane.count_in(part.clone(), y), row[part.clone()].iter().filter(|set| **set).count());
            let runs: Vec<_> = plane.runs(y).collect();
            let starts = (0..width).filter(|&x| row[x] && (x == 0 || !row[x - 1]));
            let ends = (1..=width).filter(|&x| row[x - 1] && (x == width || !row[x]));
            prop_assert_eq!(runs, starts.zip(ends).map(|(start, end)| start..end).collect::<Vec<_>>());
        }
        let mut filled = plane.clone();
        filled.fill(part.clone(), size[1] - 1, set);
        let mut want = pixels.clone();
        want[(size[1] - 1) * width..][part].fill(set);
        prop_assert_eq!(filled, BitPlane::from_values(&want, size, |set| *set));
        prop_assert_eq!(plane.clone().inverted(), BitPlane::from_values(&pixels, size, |set| !*set));
    }

    #[test]
    fn planes_are_merged_and_moved_pixel_by_pixel((width, pixels) in pixels()) {
        let size = [width, pixels.len() / width];
        let plane = BitPlane::from_values(&pixels, size, |set| *set);
        let other: Vec<bool> = pixels.iter().rev().copied().collect();
        let second = BitPlane::from_values(&other, size, |set| *set);
        let each = |merge: fn(bool, bool) -> bool| {
            let merged: Vec<bool> = pixels.iter().zip(&other).map(|(a, b)| merge(*a, *b)).collect();
            BitPlane::from_values(&merged, size, |set| *set)
        };
        prop_assert_eq!(plane.clone() & &second, each(|a, b| a && b));
        prop_assert_eq!(plane.clone() | &second, each(|a, b| a || b));
        prop_assert_eq!(plane.clone().without(&second), each(|a, b| a && !b));
        for (axis, up, [dx, dy]) in [(0, true, [-1, 0]), (0, false, [1, 0]), (1, true, [0, -1]), (1, false, [0, 1])] {
            let from = |n: usize| {
                let (x, y) = ((n % width).checked_add_signed(dx)?, (n / width).checked_add_signed(dy)?);
                (x < width && y < size[1]).then(|| pixels[y * width + x])
            };
            let want: Vec<bool> = (0..pixels.len()).map(|n| from(n).unwrap_or(false)).collect();
            prop_assert_eq!(plane.moved(axis, up), BitPlane::from_values(&want, size, |set| *set), "{} {}", axis, up);
        }
    }
}
