//! Connected parts of binary planes, by runs of pixels.

use std::ops::Range;

/// The runs of pixels of a row that equal `value`.
pub(super) fn of_row(row: &[bool], value: bool) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + row[at..].iter().position(|&b| b == value)?;
        let end = row[start..].iter().position(|&b| b != value).map_or(row.len(), |n| start + n);
        at = end;
        Some(start..end)
    })
}

/// A run of pixels of one row.
struct Run {
    x: Range<usize>,
    row: usize,
}

/// Sets that can be joined (union-find).
struct Parts {
    parent: Vec<usize>,
}

impl Parts {
    fn new(count: usize) -> Self {
        Self { parent: (0..count).collect() }
    }

    fn find(&mut self, mut n: usize) -> usize {
        while self.parent[n] != n {
            self.parent[n] = self.parent[self.parent[n]];
            n = self.parent[n];
        }
        n
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b);
    }
}

/// Joins the runs of two rows that overlap; both lists ascend.
fn join_rows(parts: &mut Parts, runs: &[Run], mut a: Range<usize>, mut b: Range<usize>) {
    while !a.is_empty() && !b.is_empty() {
        let (p, q) = (&runs[a.start].x, &runs[b.start].x);
        if p.start < q.end && q.start < p.end {
            parts.join(a.start, b.start);
        }
        if p.end < q.end { a.start += 1 } else { b.start += 1 }
    }
}

/// The runs of `value` of a plane, and where each row's begin (with one entry more than rows).
fn rows_of(plane: &[bool], width: usize, value: bool, runs: &mut Vec<Run>) -> Vec<usize> {
    let mut first = Vec::with_capacity(plane.len() / width + 1);
    for (row, pixels) in plane.chunks_exact(width).enumerate() {
        first.push(runs.len());
        runs.extend(of_row(pixels, value).map(|x| Run { x, row }));
    }
    first.push(runs.len());
    first
}

/// A run of pixels with its plane and the part it belongs to.
pub(super) struct PartRun {
    /// From 0, in the order of the parts' first runs.
    pub part: usize,
    pub plane: usize,
    pub row: usize,
    pub x: Range<usize>,
}

/// The runs of a stack of planes with the connected parts they make up; pixels hang together by their sides, planes by
/// pixels over each other.
pub(super) fn parts_of(planes: &[Vec<bool>], size: [usize; 2]) -> Vec<PartRun> {
    let mut runs = Vec::new();
    let first: Vec<Vec<usize>> = planes.iter().map(|p| rows_of(p, size[0], true, &mut runs)).collect();
    let mut parts = Parts::new(runs.len());
    for k in 0..planes.len() {
        for row in 0..size[1] {
            let here = first[k][row]..first[k][row + 1];
            if row > 0 {
                join_rows(&mut parts, &runs, first[k][row - 1]..first[k][row], here.clone());
            }
            if k > 0 {
                join_rows(&mut parts, &runs, first[k - 1][row]..first[k - 1][row + 1], here);
            }
        }
    }
    // The root of a part is its first run: it is met before the others.
    let mut numbers = vec![0; runs.len()];
    let mut count = 0;
    let mut plane = 0;
    let mut of_part = |n: usize, run: Run| {
        let root = parts.find(n);
        if root == n {
            numbers[n] = count;
            count += 1;
        }
        while n >= first[plane][size[1]] {
            plane += 1;
        }
        PartRun { part: numbers[root], plane, row: run.row, x: run.x }
    };
    runs.into_iter().enumerate().map(|(n, run)| of_part(n, run)).collect()
}

/// Unsets the parts of a plane (hanging together by their sides) that hold no pixel of `seeds`.
pub(super) fn keep_parts_with(plane: &mut [bool], seeds: &[bool], size: [usize; 2]) {
    let mut runs = Vec::new();
    let first = rows_of(plane, size[0], true, &mut runs);
    // One part more than runs: the seeded part.
    let seeded = runs.len();
    let mut parts = Parts::new(runs.len() + 1);
    for row in 0..size[1] {
        let here = first[row]..first[row + 1];
        for n in here.clone() {
            if seeds[row * size[0]..][runs[n].x.clone()].contains(&true) {
                parts.join(n, seeded);
            }
        }
        if row > 0 {
            join_rows(&mut parts, &runs, first[row - 1]..first[row], here);
        }
    }
    let seeded = parts.find(seeded);
    for n in 0..runs.len() {
        if parts.find(n) != seeded {
            plane[runs[n].row * size[0]..][runs[n].x.clone()].fill(false);
        }
    }
}

/// Fills the holes of a plane: unset pixels without a path, side by side, to the plane's border.
pub(super) fn fill_holes(plane: &mut [bool], size: [usize; 2]) {
    let mut runs = Vec::new();
    let first = rows_of(plane, size[0], false, &mut runs);
    // One part more than runs: the part open to the border.
    let open = runs.len();
    let mut parts = Parts::new(runs.len() + 1);
    for row in 0..size[1] {
        let here = first[row]..first[row + 1];
        for n in here.clone() {
            if row == 0 || row + 1 == size[1] || runs[n].x.start == 0 || runs[n].x.end == size[0] {
                parts.join(n, open);
            }
        }
        if row > 0 {
            join_rows(&mut parts, &runs, first[row - 1]..first[row], here);
        }
    }
    let open = parts.find(open);
    for n in 0..runs.len() {
        if parts.find(n) != open {
            plane[runs[n].row * size[0]..][runs[n].x.clone()].fill(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(rows: &[&str]) -> Vec<bool> {
        rows.iter().flat_map(|r| r.chars().map(|c| c == '#')).collect()
    }

    #[test]
    fn holes_are_filled_and_bays_are_not() {
        let mut p = plane(&["#####.", "#...#.", "#.#.#.", "#...#.", "###.#.", "....#."]);
        fill_holes(&mut p, [6, 6]);
        assert_eq!(
            p,
            plane(&["#####.", "#...#.", "#.#.#.", "#...#.", "###.#.", "....#."]),
            "the bay opens below"
        );
        let mut p = plane(&["#####.", "#...#.", "#.#.#.", "#...#.", "#####.", "....#."]);
        fill_holes(&mut p, [6, 6]);
        assert_eq!(p, plane(&["#####.", "#####.", "#####.", "#####.", "#####.", "....#."]));
    }

    #[test]
    fn parts_without_a_seed_go() {
        let mut p = plane(&["##..#", "#..##", "..#..", "###.#"]);
        keep_parts_with(&mut p, &plane(&["....#", ".....", ".....", "#..#."]), [5, 4]);
        assert_eq!(p, plane(&["....#", "...##", "..#..", "###.."]));
    }

    /// Two parts of one plane that meet through another, and one that only touches by a corner.
    #[test]
    fn parts_go_through_planes() {
        let a = plane(&["##..#", "....#", "#....", ".####"]);
        let b = plane(&["#...#", "#####", ".....", "....."]);
        let runs = parts_of(&[a, b], [5, 4]);
        let listed: Vec<_> = runs.iter().map(|r| (r.part, r.plane, r.row, r.x.clone())).collect();
        let want = [
            (0, 0, 0, 0..2),
            (0, 0, 0, 4..5),
            (0, 0, 1, 4..5),
            (1, 0, 2, 0..1),
            (2, 0, 3, 1..5),
            (0, 1, 0, 0..1),
            (0, 1, 0, 4..5),
            (0, 1, 1, 0..5),
        ];
        assert_eq!(listed, want);
        assert!(parts_of(&[vec![false; 4], vec![false; 4]], [2, 2]).is_empty());
    }
}
