//! Voxels of a plane -> rings along their edges.

use super::bits::BitPlane;
use super::outline::{Crossing, trace};

/// Closed rings along the edges of the voxels of a plane, `[y][x]`, that are inside; in voxels, centres at whole numbers. By the
/// even-odd rule they hold these voxels and nothing else, so that a mask of them is the one that they were made of.
pub fn voxel_rings(inside: &[bool], size: [usize; 2]) -> Vec<Vec<[f64; 2]>> {
    let lines = trace(&BitPlane::from_values(inside, size, |inside| *inside));
    lines
        .iter()
        .map(|line: &Vec<Crossing>| {
            let outwards = |n: usize| {
                let crossing = line[n % line.len()];
                [0, 1].map(|axis| crossing.outside[axis] - crossing.inside[axis])
            };
            // Of edges in one line the last one's end is a corner.
            // The line goes round with the inside on its left: along an edge a quarter turn from the way outwards.
            (0..line.len())
                .filter(|n| outwards(*n) != outwards(n + 1))
                .map(|n| {
                    let [x, y] = outwards(n);
                    let middle = [0, 1]
                        .map(|axis| line[n].inside[axis] as f64 + 0.5 * outwards(n)[axis] as f64);
                    [middle[0] - 0.5 * y as f64, middle[1] + 0.5 * x as f64]
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the signed area of a ring.
    fn twice_area(ring: &[[f64; 2]]) -> f64 {
        let pairs = ring.iter().zip(ring.iter().cycle().skip(1));
        pairs.map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum()
    }

    #[test]
    fn rings_run_along_the_edges_of_voxels() {
        let rows = ["####.", "#..#.", "####.", "....#"];
        let inside: Vec<bool> = rows
            .iter()
            .flat_map(|row| row.bytes().map(|b| b == b'#'))
            .collect();
        let mut rings = voxel_rings(&inside, [5, 4]);
        rings.sort_by(|a, b| twice_area(a).total_cmp(&twice_area(b)));
        // The hole, the single voxel, the outside.
        assert_eq!(
            rings
                .iter()
                .map(|ring| twice_area(ring))
                .collect::<Vec<_>>(),
            [-4.0, 2.0, 24.0]
        );
        assert_eq!(rings.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 4]);
        assert!(
            rings[1].contains(&[3.5, 2.5]) && rings[1].contains(&[4.5, 3.5]),
            "{:?}",
            rings[1]
        );
        assert!(voxel_rings(&[false; 6], [3, 2]).is_empty());
    }
}
