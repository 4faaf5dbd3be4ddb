//! Planes of inside and outside -> closed contours: marching squares between voxel centres.

use std::collections::HashMap;

/// Pixels of one plane, each inside or outside; all beyond the plane is outside.
pub(super) struct Bits<'a> {
    /// Rows of x.
    pub inside: &'a [bool],
    pub size: [usize; 2],
}

/// A point where a contour passes between two neighbouring pixels: the inside one and the outside one (which may be
/// one beyond the plane).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Crossing {
    pub inside: [isize; 2],
    pub outside: [isize; 2],
}

impl Bits<'_> {
    fn at(&self, p: [isize; 2]) -> bool {
        let within = |a: usize| p[a] >= 0 && (p[a] as usize) < self.size[a];
        within(0) && within(1) && self.inside[p[1] as usize * self.size[0] + p[0] as usize]
    }
}

/// The closed lines between inside and outside, each a round of crossings with the inside on its left (seen with x to
/// the right and y up). Pixels that touch by a corner only are apart.
pub(super) fn trace(bits: &Bits<'_>) -> Vec<Vec<Crossing>> {
    let next = steps(bits);
    let mut starts: Vec<Crossing> = next.keys().copied().collect();
    starts.sort_unstable_by_key(|c| (c.inside[1], c.inside[0], c.outside[1], c.outside[0]));
    let mut left = next;
    let mut lines = Vec::new();
    for start in starts {
        let mut line = Vec::new();
        let mut at = start;
        while let Some(to) = left.remove(&at) {
            line.push(at);
            at = to;
        }
        if line.len() >= 3 {
            lines.push(line);
        }
    }
    lines
}

/// For each crossing the one that follows it. Each square of four pixel centres holds at most two pieces of line.
fn steps(bits: &Bits<'_>) -> HashMap<Crossing, Crossing> {
    let mut next = HashMap::new();
    for y in -1..bits.size[1] as isize {
        for x in -1..bits.size[0] as isize {
            // Round the square against the clock, y up.
            let corners = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1]];
            let inside = corners.map(|c| bits.at(c));
            if inside.iter().all(|&b| b == inside[0]) {
                continue;
            }
            // Each run of inside corners is cut off by one piece of line. It goes against the round, from the run's last
            // corner to its first, and so has them on its left.
            for n in 0..4 {
                if inside[n] && !inside[(n + 3) % 4] {
                    let last = (n..n + 4).take_while(|&m| inside[m % 4]).last().unwrap_or(n);
                    let first = Crossing { inside: corners[n], outside: corners[(n + 3) % 4] };
                    let behind = Crossing { inside: corners[last % 4], outside: corners[(last + 1) % 4] };
                    next.insert(behind, first);
                }
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits_of(rows: &[&str]) -> (Vec<bool>, [usize; 2]) {
        (rows.iter().flat_map(|r| r.chars().map(|c| c == '#')).collect(), [rows[0].len(), rows.len()])
    }

    /// Twice the signed area of the line through the middles of its crossings.
    fn twice_area(line: &[Crossing]) -> f64 {
        let at = |c: &Crossing| [0, 1].map(|a| 0.5 * (c.inside[a] + c.outside[a]) as f64);
        let pairs = line.iter().zip(line.iter().cycle().skip(1));
        pairs.map(|(a, b)| at(a)[0] * at(b)[1] - at(a)[1] * at(b)[0]).sum()
    }

    /// A line round n pixels through the middles between centres cuts half a pixel off: it holds n - 1/2. So does the
    /// line round a hole.
    #[test]
    fn lines_close_round_pixels_and_holes() {
        let (inside, size) = bits_of(&["####.", "#..#.", "#..#.", "####.", "....#"]);
        let lines = trace(&Bits { inside: &inside, size });
        let mut areas: Vec<f64> = lines.iter().map(|l| twice_area(l)).collect();
        areas.sort_by(f64::total_cmp);
        assert_eq!(areas, [-7.0, 1.0, 31.0]);
    }

    #[test]
    fn a_full_plane_has_one_line_round_it() {
        let lines = trace(&Bits { inside: &[true; 12], size: [4, 3] });
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].len(), 14);
        assert_eq!(twice_area(&lines[0]), 23.0);
    }
}
