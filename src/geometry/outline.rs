//! Planes of inside and outside -> closed contours: marching squares between voxel centres.

use super::bits::BitPlane;
use std::collections::HashMap;

/// A point where a contour passes between two neighbouring pixels: the inside one and the outside one (which may be
/// one beyond the plane).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Crossing {
    pub inside: [isize; 2],
    pub outside: [isize; 2],
}

/// Whether a pixel is inside; all beyond the plane is outside.
fn is_inside(inside: &BitPlane, [x, y]: [isize; 2]) -> bool {
    let [width, height] = inside.size();
    let place = usize::try_from(x).ok().zip(usize::try_from(y).ok());
    place.is_some_and(|(x, y)| x < width && y < height && inside.at(x, y))
}

/// The closed lines between the pixels inside and all others, each a round of crossings with the inside on its left (seen with x to
/// the right and y up). Pixels that touch by a corner only are apart.
pub(super) fn trace(inside: &BitPlane) -> Vec<Vec<Crossing>> {
    let next = steps(inside);
    let mut starts: Vec<Crossing> = next.keys().copied().collect();
    starts.sort_unstable_by_key(|c| (c.inside[1], c.inside[0], c.outside[1], c.outside[0]));
    let mut left = next;
    let mut lines = Vec::new();
    for start in starts {
        let mut line = Vec::new();
        let mut corner = start;
        while let Some(to) = left.remove(&corner) {
            line.push(corner);
            corner = to;
        }
        if line.len() >= 3 {
            lines.push(line);
        }
    }
    lines
}

/// For each crossing the one that follows it. Each square of four pixel centres holds at most two pieces of line.
fn steps(plane: &BitPlane) -> HashMap<Crossing, Crossing> {
    let mut next = HashMap::new();
    for y in -1..plane.size()[1] as isize {
        for x in cut_squares(plane, y) {
            // Round the square against the clock, y up.
            let corners = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1]];
            let inside = corners.map(|c| is_inside(plane, c));
            // Each run of inside corners is cut off by one piece of line. It goes against the round, from the run's last
            // corner to its first, and so has them on its left.
            for n in 0..4 {
                if inside[n] && !inside[(n + 3) % 4] {
                    let last = (n..n + 4)
                        .take_while(|&m| inside[m % 4])
                        .last()
                        .unwrap_or(n);
                    let first = Crossing {
                        inside: corners[n],
                        outside: corners[(n + 3) % 4],
                    };
                    let behind = Crossing {
                        inside: corners[last % 4],
                        outside: corners[(last + 1) % 4],
                    };
                    next.insert(behind, first);
                }
            }
        }
    }
    next
}

/// The squares between the rows `y` and `y + 1` whose corners are not alike, by the columns on their left.
fn cut_squares(plane: &BitPlane, y: isize) -> impl Iterator<Item = isize> + '_ {
    let [width, height] = plane.size();
    let rows = [
        row_within(y, plane, height),
        row_within(y + 1, plane, height),
    ];
    // Bit n of a word: the square between the pixels n - 1 and n.
    (0..=width / 64).flat_map(move |n| {
        let corners = rows.map(|row| {
            let carry = n.checked_sub(1).map_or(0, |n| word_at(row, n) >> 63);
            (word_at(row, n) << 1 | carry, word_at(row, n))
        });
        let [(left, right), (left_below, right_below)] = corners;
        let mut cut = (left ^ right) | (left_below ^ right_below) | (right ^ right_below);
        std::iter::from_fn(move || {
            let bit = (cut != 0).then(|| cut.trailing_zeros())?;
            cut &= cut - 1;
            Some((64 * n + bit as usize) as isize - 1)
        })
    })
}

fn row_within(y: isize, plane: &BitPlane, height: usize) -> &[u64] {
    usize::try_from(y)
        .ok()
        .filter(|y| *y < height)
        .map_or(&[][..], |y| plane.row(y))
}

fn word_at(row: &[u64], n: usize) -> u64 {
    row.get(n).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the signed area of the line through the middles of its crossings.
    fn twice_area(line: &[Crossing]) -> f64 {
        let pairs = line.iter().zip(line.iter().cycle().skip(1));
        pairs
            .map(|(a, b)| middle_of(a)[0] * middle_of(b)[1] - middle_of(a)[1] * middle_of(b)[0])
            .sum()
    }

    fn middle_of(c: &Crossing) -> [f64; 2] {
        [0, 1].map(|a| 0.5 * (c.inside[a] + c.outside[a]) as f64)
    }

    /// A line round n pixels through the middles between centres cuts half a pixel off: it holds n - 1/2. So does the
    /// line round a hole.
    #[test]
    fn lines_close_round_pixels_and_holes() {
        let lines = trace(&BitPlane::drawn(&[
            "####.", "#..#.", "#..#.", "####.", "....#",
        ]));
        let mut areas: Vec<f64> = lines.iter().map(|l| twice_area(l)).collect();
        areas.sort_by(f64::total_cmp);
        assert_eq!(areas, [-7.0, 1.0, 31.0]);
    }

    /// Wider than a word, to the border on either side: each pixel's line is a square of corners half a pixel off.
    #[test]
    fn single_pixels_are_found_across_words() {
        for width in [63, 64, 65, 128, 130] {
            for x in [0, 62, 63, 64, width - 1]
                .into_iter()
                .filter(|x| *x < width)
            {
                let mut plane = BitPlane::unset([width, 3]);
                plane.fill(x..x + 1, 1, true);
                let lines = trace(&plane);
                assert_eq!(lines.len(), 1, "{x} of {width}");
                assert!(
                    lines[0].len() == 4 && lines[0].iter().all(|c| c.inside == [x as isize, 1])
                );
            }
        }
    }

    #[test]
    fn a_full_plane_has_one_line_round_it() {
        let lines = trace(&BitPlane::drawn(&["####"; 3]));
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].len(), 14);
        assert_eq!(twice_area(&lines[0]), 23.0);
    }
}
