//! Smooth outlines of a solid on a plane: marching squares on its signed distance.

use super::shape::Solid;
use glam::DVec3;
use std::collections::HashMap;

/// Closed outlines (patient LPS, mm) of `solid` on the axial plane `z_mm`, from distances sampled every
/// `step_mm` and linear crossings between samples: accurate to about `step² / 8r` for a radius of curvature
/// `r`.
pub fn outlines(solid: &Solid, z_mm: f64, step_mm: f64) -> Vec<Vec<DVec3>> {
    if z_mm < solid.low_mm.z || z_mm > solid.high_mm.z {
        return Vec::new();
    }
    let low = solid.low_mm - 2.0 * step_mm;
    let high = solid.high_mm + 2.0 * step_mm;
    let nx = ((high.x - low.x) / step_mm).ceil() as usize + 1;
    let ny = ((high.y - low.y) / step_mm).ceil() as usize + 1;
    let mut distance = Vec::with_capacity(nx * ny);
    for j in 0..ny {
        // A value of exactly 0 would put one crossing on two edges at once.
        distance.extend((0..nx).map(
            |i| match solid.distance_mm(corner_at(i, j, low, z_mm, step_mm)) {
                0.0 => 1e-9,
                d => d,
            },
        ));
    }
    let mut next = HashMap::new();
    for j in 0..ny - 1 {
        for i in 0..nx - 1 {
            let inside = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
                .map(|(i, j)| distance[j * nx + i] < 0.0);
            for (from, to) in segments(i, j, inside) {
                next.insert(from, to);
            }
        }
    }
    let mut starts: Vec<Edge> = next.keys().copied().collect();
    starts.sort_unstable();
    let mut loops = Vec::new();
    for start in starts {
        let mut points = Vec::new();
        let mut edge = start;
        while let Some(to) = next.remove(&edge) {
            let (a, b) = match edge {
                Edge::Across(i, j) => ((i, j), (i + 1, j)),
                Edge::Down(i, j) => ((i, j), (i, j + 1)),
            };
            let (da, db) = (distance[a.1 * nx + a.0], distance[b.1 * nx + b.0]);
            points.push(
                corner_at(a.0, a.1, low, z_mm, step_mm)
                    .lerp(corner_at(b.0, b.1, low, z_mm, step_mm), da / (da - db)),
            );
            edge = to;
        }
        if points.len() > 2 {
            loops.push(points);
        }
    }
    loops
}

fn corner_at(i: usize, j: usize, low: DVec3, z_mm: f64, step_mm: f64) -> DVec3 {
    DVec3::new(low.x + i as f64 * step_mm, low.y + j as f64 * step_mm, z_mm)
}

/// An edge between two neighbouring samples, named by its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Edge {
    Across(usize, usize),
    Down(usize, usize),
}

/// Outline pieces through one cell, traversed with the inside always on the same hand; corners go round the
/// cell from the one at `(i, j)`. Opposite inside corners are kept apart.
fn segments(i: usize, j: usize, inside: [bool; 4]) -> Vec<(Edge, Edge)> {
    // Edge n lies between corners n and n + 1.
    let edges = [
        Edge::Across(i, j),
        Edge::Down(i + 1, j),
        Edge::Across(i, j + 1),
        Edge::Down(i, j),
    ];
    // Round the cell, the outline leaves where the inside ends and enters where it begins; each run of inside
    // corners is cut off by one piece.
    (0..4)
        .filter(|&n| inside[n] && !inside[(n + 1) % 4])
        .map(|end| {
            let mut begin = end;
            while inside[(begin + 3) % 4] {
                begin = (begin + 3) % 4;
            }
            (edges[end], edges[(begin + 3) % 4])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_two_outlines_of_the_right_area() {
        let ring = Solid::new(
            DVec3::new(-40.0, -40.0, -5.0),
            DVec3::new(40.0, 40.0, 5.0),
            |p| {
                let r = p.x.hypot(p.y);
                (r - 37.0).max(15.0 - r)
            },
        );
        let mut areas: Vec<f64> = outlines(&ring, 1.0, 2.0).iter().map(|c| area(c)).collect();
        areas.sort_by(f64::total_cmp);
        assert_eq!(areas.len(), 2);
        assert!(
            (areas[0] / circle_area(15.0) - 1.0).abs() < 0.005,
            "{areas:?}"
        );
        assert!(
            (areas[1] / circle_area(37.0) - 1.0).abs() < 0.002,
            "{areas:?}"
        );
        assert!(outlines(&ring, 6.0, 2.0).is_empty());
    }

    fn circle_area(r: f64) -> f64 {
        std::f64::consts::PI * r * r
    }

    /// Two discs that nearly touch at a corner of the samples give ambiguous cells; all outlines still close.
    #[test]
    fn discs_that_nearly_touch_keep_their_area() {
        for gap in [-0.05, 0.0, 0.05, 0.3] {
            let d = (4.0 + gap) / 2f64.sqrt();
            let two = Solid::new(
                DVec3::new(-9.0, -9.0, 0.0),
                DVec3::new(9.0, 9.0, 1.0),
                move |p| disc_distance(d, p).min(disc_distance(-d, p)),
            );
            let area: f64 = outlines(&two, 0.5, 1.0).iter().map(|c| area(c)).sum();
            let want = 2.0 * std::f64::consts::PI * 16.0;
            assert!(
                (area / want - 1.0).abs() < 0.03,
                "gap {gap}: {area} for {want}"
            );
        }
    }

    fn disc_distance(c: f64, p: DVec3) -> f64 {
        (p.x - c).hypot(p.y - c) - 4.0
    }

    fn area(c: &[DVec3]) -> f64 {
        let twice: f64 = (0..c.len())
            .map(|n| (c[n], c[(n + 1) % c.len()]))
            .map(|(a, b)| a.x * b.y - b.x * a.y)
            .sum();
        (twice / 2.0).abs()
    }
}
