//! Connected parts of binary planes, by runs of pixels.

use super::bits::BitPlane;
use std::ops::Range;

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
        Self {
            parent: (0..count).collect(),
        }
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
        if p.end < q.end {
            a.start += 1
        } else {
            b.start += 1
        }
    }
}

/// The runs of a plane, and where each row's begin (with one entry more than rows).
fn rows_of(plane: &BitPlane, runs: &mut Vec<Run>) -> Vec<usize> {
    let rows = 0..plane.size()[1];
    let mut first = Vec::with_capacity(rows.len() + 1);
    for row in rows {
        first.push(runs.len());
        runs.extend(plane.runs(row).map(|x| Run { x, row }));
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
pub(super) fn parts_of(planes: &[BitPlane]) -> Vec<PartRun> {
    let rows = planes.first().map_or(0, |plane| plane.size()[1]);
    let mut runs = Vec::new();
    let first: Vec<Vec<usize>> = planes.iter().map(|p| rows_of(p, &mut runs)).collect();
    let mut parts = Parts::new(runs.len());
    for k in 0..planes.len() {
        for row in 0..rows {
            let runs_of_row = first[k][row]..first[k][row + 1];
            if row > 0 {
                join_rows(
                    &mut parts,
                    &runs,
                    first[k][row - 1]..first[k][row],
                    runs_of_row.clone(),
                );
            }
            if k > 0 {
                join_rows(
                    &mut parts,
                    &runs,
                    first[k - 1][row]..first[k - 1][row + 1],
                    runs_of_row,
                );
            }
        }
    }
    // The root of a part is its first run: it is met before the others.
    let mut numbers = vec![0; runs.len()];
    let mut count = 0;
    let mut plane = 0;
    runs.into_iter()
        .enumerate()
        .map(|(n, run)| {
            let root = parts.find(n);
            if root == n {
                numbers[n] = count;
                count += 1;
            }
            while n >= first[plane][rows] {
                plane += 1;
            }
            PartRun {
                part: numbers[root],
                plane,
                row: run.row,
                x: run.x,
            }
        })
        .collect()
}

/// Unsets the parts of a plane (hanging together by their sides) that hold no pixel of `seeds`.
pub(super) fn keep_parts_with(plane: &mut BitPlane, seeds: &BitPlane) {
    let mut runs = Vec::new();
    let first = rows_of(plane, &mut runs);
    // One part more than runs: the seeded part.
    let seeded = runs.len();
    let mut parts = Parts::new(runs.len() + 1);
    for row in 0..plane.size()[1] {
        let runs_of_row = first[row]..first[row + 1];
        for n in runs_of_row.clone() {
            if seeds.count_in(runs[n].x.clone(), row) > 0 {
                parts.join(n, seeded);
            }
        }
        if row > 0 {
            join_rows(&mut parts, &runs, first[row - 1]..first[row], runs_of_row);
        }
    }
    let seeded = parts.find(seeded);
    for (n, run) in runs.into_iter().enumerate() {
        if parts.find(n) != seeded {
            plane.fill(run.x, run.row, false);
        }
    }
}

/// Fills the holes of a plane: unset pixels without a path, side by side, to the plane's border.
pub(super) fn fill_holes(plane: &mut BitPlane) {
    let size = plane.size();
    let mut runs = Vec::new();
    let first = rows_of(&plane.clone().inverted(), &mut runs);
    // One part more than runs: the part open to the border.
    let open = runs.len();
    let mut parts = Parts::new(runs.len() + 1);
    for row in 0..size[1] {
        let runs_of_row = first[row]..first[row + 1];
        for n in runs_of_row.clone() {
            if row == 0 || row + 1 == size[1] || runs[n].x.start == 0 || runs[n].x.end == size[0] {
                parts.join(n, open);
            }
        }
        if row > 0 {
            join_rows(&mut parts, &runs, first[row - 1]..first[row], runs_of_row);
        }
    }
    let open = parts.find(open);
    for (n, run) in runs.into_iter().enumerate() {
        if parts.find(n) != open {
            plane.fill(run.x, run.row, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_and_bays_are_not() {
        let mut p = BitPlane::drawn(&["#####.", "#...#.", "#.#.#.", "#...#.", "###.#.", "....#."]);
        fill_holes(&mut p);
        assert_eq!(
            p,
            BitPlane::drawn(&["#####.", "#...#.", "#.#.#.", "#...#.", "###.#.", "....#."]),
            "the bay opens below"
        );
        let mut p = BitPlane::drawn(&["#####.", "#...#.", "#.#.#.", "#...#.", "#####.", "....#."]);
        fill_holes(&mut p);
        assert_eq!(
            p,
            BitPlane::drawn(&["#####.", "#####.", "#####.", "#####.", "#####.", "....#."])
        );
    }

    #[test]
    fn parts_without_a_seed_go() {
        let mut p = BitPlane::drawn(&["##..#", "#..##", "..#..", "###.#"]);
        keep_parts_with(
            &mut p,
            &BitPlane::drawn(&["....#", ".....", ".....", "#..#."]),
        );
        assert_eq!(p, BitPlane::drawn(&["....#", "...##", "..#..", "###.."]));
    }

    /// Two parts of one plane that meet through another, and one that only touches by a corner.
    #[test]
    fn parts_go_through_planes() {
        let a = BitPlane::drawn(&["##..#", "....#", "#....", ".####"]);
        let b = BitPlane::drawn(&["#...#", "#####", ".....", "....."]);
        let runs = parts_of(&[a, b]);
        let listed: Vec<_> = runs
            .iter()
            .map(|r| (r.part, r.plane, r.row, r.x.clone()))
            .collect();
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
        assert!(parts_of(&[BitPlane::unset([2, 2]), BitPlane::unset([2, 2])]).is_empty());
    }
}
