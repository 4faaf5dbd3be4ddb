//! How much of each pixel a set of closed polygons covers.

/// Sub-scanlines to a pixel row, at least.
const LINES: f64 = 16.0;

/// A rectangle of pixels: pixel `(i, j)` covers `[i, i + 1) x [j, j + 1)` in the polygons' coordinates, for `i` from
/// `low[0]` and `j` from `low[1]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub low: [usize; 2],
    pub size: [usize; 2],
}

/// Adds `weight` times the covered fraction of each pixel to `pixels` (the window's, rows of x). The polygons (pixel
/// coordinates, the last point joins the first) combine by exclusive-or: what an odd number of them holds is covered,
/// so inner polygons are holes and the two sides of a keyhole's slit cancel.
///
/// Within a row, lines are drawn through the middle of bands that end at every corner of a polygon, at least 16 to
/// the row, and each line's spans are exact in x: the area of a polygon that does not cross itself is exact.
pub(super) fn add_coverage(
    polygons: &[Vec<[f64; 2]>],
    window: Window,
    weight: f32,
    pixels: &mut [f32],
) {
    let rows = edges_by_row(polygons, window);
    let mut bounds = Vec::new();
    let mut crossings = Vec::new();
    for (j, edges) in rows.iter().enumerate() {
        if edges.is_empty() {
            continue;
        }
        let top = (window.low[1] + j) as f64;
        let row = &mut pixels[j * window.size[0]..(j + 1) * window.size[0]];
        bounds.clear();
        bounds.extend([top, top + 1.0]);
        bounds.extend(
            edges
                .iter()
                .flat_map(|e| [e.y[0], e.y[1]])
                .filter(|&y| y > top && y < top + 1.0),
        );
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        // No corner lies within a band: widths change linearly there, and lines at equal steps have their mean.
        for band in bounds.windows(2) {
            let height = band[1] - band[0];
            let lines = (height * LINES).ceil().max(1.0);
            for line in 0..lines as usize {
                let y = band[0] + height * (line as f64 + 0.5) / lines;
                crossings.clear();
                crossings.extend(edges.iter().filter_map(|e| e.crossing(y)));
                crossings.sort_by(f64::total_cmp);
                for span in crossings.chunks_exact(2) {
                    add_span(
                        row,
                        window.low[0],
                        [span[0], span[1]],
                        weight * (height / lines) as f32,
                    );
                }
            }
        }
    }
}

/// The area of what an odd number of polygons holds, and how much of it lies outside a rectangle, in squared units of the
/// polygons' coordinates. No pixels are held, however far the polygons reach. Exact where no sides cross.
pub(super) fn area_and_outside(polygons: &[Vec<[f64; 2]>], [low, high]: [[f64; 2]; 2]) -> [f64; 2] {
    let closed = polygons
        .iter()
        .flat_map(|p| (0..p.len()).map(|n| (p[n], p[(n + 1) % p.len()])));
    let mut sides: Vec<Side> = closed.filter_map(|(a, b)| Side::between(a, b)).collect();
    sides.sort_by(|a, b| a.y[0].total_cmp(&b.y[0]));
    let mut bounds: Vec<f64> = sides.iter().flat_map(|s| s.y).collect();
    if let Some([first, last]) = bounds
        .iter()
        .copied()
        .map(|y| [y, y])
        .reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
    {
        bounds.extend(
            [low[1], high[1]]
                .into_iter()
                .filter(|y| first < *y && *y < last),
        );
    }
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    let (mut area, mut outside) = (0.0, 0.0);
    let (mut open, mut next, mut spans) = (Vec::new(), 0, Vec::new());
    for band in bounds.windows(2) {
        let (y, height) = (0.5 * (band[0] + band[1]), band[1] - band[0]);
        // Sides ascend by their lower ends: each opens once and goes where it ends, however many bands there are.
        let begun = sides[next..].partition_point(|s| s.y[0] <= band[0]);
        open.extend_from_slice(&sides[next..next + begun]);
        next += begun;
        open.retain(|s: &Side| s.y[1] > band[0]);
        spans.clear();
        spans.extend(open.iter().filter_map(|s| s.crossing(y)));
        spans.sort_by(f64::total_cmp);
        for span in spans.chunks_exact(2) {
            let full = height * (span[1] - span[0]);
            let inside = height * (span[1].min(high[0]) - span[0].max(low[0])).max(0.0);
            area += full;
            outside += if low[1] <= y && y <= high[1] {
                full - inside
            } else {
                full
            };
        }
    }
    [area, outside]
}

/// A side of a polygon that is not level, from lower to higher y.
#[derive(Clone, Copy, Debug)]
struct Side {
    y: [f64; 2],
    x: [f64; 2],
}

impl Side {
    /// `None` of a level side, which bounds no line.
    fn between(a: [f64; 2], b: [f64; 2]) -> Option<Self> {
        let (low, high) = if a[1] < b[1] { (a, b) } else { (b, a) };
        (low[1] < high[1]).then_some(Self {
            y: [low[1], high[1]],
            x: [low[0], high[0]],
        })
    }

    /// Crossing with a level line. A side holds its lower end and not its upper one, so that a corner counts once.
    fn crossing(&self, y: f64) -> Option<f64> {
        (self.y[0] <= y && y < self.y[1]).then(|| {
            self.x[0] + (self.x[1] - self.x[0]) * (y - self.y[0]) / (self.y[1] - self.y[0])
        })
    }
}

/// The sides that touch each row of the window.
fn edges_by_row(polygons: &[Vec<[f64; 2]>], window: Window) -> Vec<Vec<Side>> {
    let mut rows = vec![Vec::new(); window.size[1]];
    let first = window.low[1] as f64;
    for polygon in polygons {
        for (n, &a) in polygon.iter().enumerate() {
            let b = polygon[(n + 1) % polygon.len()];
            let Some(side) = Side::between(a, b) else {
                continue;
            };
            let from = (side.y[0] - first).floor().max(0.0) as usize;
            let to = ((side.y[1] - first).ceil().max(0.0) as usize).min(rows.len());
            if from < to {
                rows[from..to].iter_mut().for_each(|row| row.push(side));
            }
        }
    }
    rows
}

/// Adds `weight` along `span` (x in pixels) to a row of pixels that starts at column `low`.
fn add_span(row: &mut [f32], low: usize, span: [f64; 2], weight: f32) {
    let a = (span[0] - low as f64).clamp(0.0, row.len() as f64);
    let b = (span[1] - low as f64).clamp(0.0, row.len() as f64);
    if a >= b {
        return;
    }
    let (first, last) = (a.floor() as usize, (b.ceil() as usize).max(1) - 1);
    if first == last {
        row[first] += weight * (b - a) as f32;
        return;
    }
    row[first] += weight * ((first + 1) as f64 - a) as f32;
    row[first + 1..last].iter_mut().for_each(|p| *p += weight);
    row[last] += weight * (b - last as f64) as f32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    const WINDOW: Window = Window {
        low: [2, 3],
        size: [30, 26],
    };

    fn coverage(polygons: &[Vec<[f64; 2]>]) -> Vec<f32> {
        let mut pixels = vec![0.0; WINDOW.size[0] * WINDOW.size[1]];
        add_coverage(polygons, WINDOW, 1.0, &mut pixels);
        assert!(pixels.iter().all(|p| (-1e-5..=1.0 + 1e-5).contains(p)));
        pixels
    }

    fn area(polygons: &[Vec<[f64; 2]>]) -> f64 {
        coverage(polygons).iter().map(|&p| f64::from(p)).sum()
    }

    fn rectangle(low: [f64; 2], high: [f64; 2]) -> Vec<[f64; 2]> {
        vec![low, [high[0], low[1]], high, [low[0], high[1]]]
    }

    fn disc(centre: [f64; 2], radius: f64, corners: usize) -> Vec<[f64; 2]> {
        (0..corners)
            .map(|n| (TAU * n as f64 / corners as f64).sin_cos())
            .map(|(s, c)| [centre[0] + radius * c, centre[1] + radius * s])
            .collect()
    }

    /// Area of a regular polygon.
    fn disc_area(radius: f64, corners: usize) -> f64 {
        0.5 * corners as f64 * radius * radius * (TAU / corners as f64).sin()
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 2e-4, "{a} for {b}");
    }

    #[test]
    fn a_rectangle_covers_each_pixel_by_its_overlap() {
        let (low, high) = ([4.3, 5.171], [9.9, 7.64]);
        let pixels = coverage(&[rectangle(low, high)]);
        for j in 0..WINDOW.size[1] {
            for i in 0..WINDOW.size[0] {
                let want = overlap_of_pixel(0, i, low, high) * overlap_of_pixel(1, j, low, high);
                near(f64::from(pixels[j * WINDOW.size[0] + i]), want);
            }
        }
    }

    fn overlap_of_pixel(a: usize, p: usize, low: [f64; 2], high: [f64; 2]) -> f64 {
        let p = (p + WINDOW.low[a]) as f64;
        (high[a].min(p + 1.0) - low[a].max(p)).max(0.0)
    }

    #[test]
    fn disc_annulus_and_nested_islands() {
        let c = [15.2, 16.7];
        near(area(&[disc(c, 9.3, 80)]), disc_area(9.3, 80));
        near(
            area(&[disc(c, 9.3, 80), disc(c, 5.0, 60)]),
            disc_area(9.3, 80) - disc_area(5.0, 60),
        );
        let mut turned = disc(c, 5.0, 60);
        turned.reverse();
        let island = disc(c, 2.0, 40);
        let want = disc_area(9.3, 80) - disc_area(5.0, 60) + disc_area(2.0, 40);
        near(area(&[disc(c, 9.3, 80), turned, island]), want);
    }

    /// One polygon: round the outside, in along a slit, round the hole the other way, out along the slit.
    #[test]
    fn a_keyhole_is_its_outside_less_its_hole() {
        let mut keyhole = disc([14.0, 15.0], 8.0, 64);
        keyhole.push(keyhole[0]);
        let mut hole = disc([14.0, 15.0], 3.0, 48);
        hole.push(hole[0]);
        hole.reverse();
        keyhole.extend(hole);
        near(area(&[keyhole]), disc_area(8.0, 64) - disc_area(3.0, 48));
    }

    #[test]
    fn what_lies_outside_the_window_is_cut_off() {
        near(
            area(&[rectangle([-50.0, -50.0], [80.0, 80.0])]),
            30.0 * 26.0,
        );
        near(
            area(&[rectangle([-50.0, 10.25], [2.5, 80.0])]),
            0.5 * (29.0 - 10.25),
        );
        near(area(&[rectangle([40.0, 10.0], [50.0, 20.0])]), 0.0);
    }

    /// A triangle whose slanted side crosses many pixels: each against a fine sampling.
    #[test]
    fn single_pixels_of_a_slanted_side() {
        let triangle = vec![[3.2, 4.1], [28.7, 11.3], [9.4, 25.6]];
        let pixels = coverage(std::slice::from_ref(&triangle));
        for (n, &got) in pixels.iter().enumerate() {
            let (i, j) = (
                n % WINDOW.size[0] + WINDOW.low[0],
                n / WINDOW.size[0] + WINDOW.low[1],
            );
            let fine = 40;
            let hits = (0..fine * fine)
                .filter(|s| {
                    is_in_triangle(
                        [
                            i as f64 + sample_offset((s % fine) as usize, fine),
                            j as f64 + sample_offset((s / fine) as usize, fine),
                        ],
                        &triangle,
                    )
                })
                .count();
            let want = hits as f64 / f64::from(fine * fine);
            assert!(
                (f64::from(got) - want).abs() < 0.01,
                "pixel {i}, {j}: {got} for {want}"
            );
        }
    }

    fn is_in_triangle(p: [f64; 2], triangle: &[[f64; 2]]) -> bool {
        (0..3).all(|n| {
            let (a, b) = (triangle[n], triangle[(n + 1) % 3]);
            (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0.0
        })
    }

    fn sample_offset(a: usize, fine: u32) -> f64 {
        (a as f64 + 0.5) / f64::from(fine)
    }

    /// A square of 4 with a hole of 2, of which the right half lies outside; then a triangle that reaches over the top.
    #[test]
    fn areas_outside_a_rectangle_are_those_of_the_closed_form() {
        let ring = [square(0.0, 4.0), square(1.0, 3.0)];
        assert_eq!(
            area_and_outside(&ring, [[-9.0, -9.0], [2.0, 9.0]]),
            [12.0, 6.0]
        );
        assert_eq!(
            area_and_outside(&ring, [[0.0, 0.0], [4.0, 4.0]]),
            [12.0, 0.0]
        );
        assert_eq!(
            area_and_outside(&ring, [[8.0, 0.0], [9.0, 4.0]]),
            [12.0, 12.0]
        );
        // Base 4, height 4: the part above 3 is a triangle of base 1 and height 1.
        let roof = [vec![[0.0, 0.0], [4.0, 0.0], [2.0, 4.0]]];
        let [area, outside] = area_and_outside(&roof, [[-9.0, -9.0], [9.0, 3.0]]);
        assert!(
            (area - 8.0).abs() < 1e-12 && (outside - 0.5).abs() < 1e-12,
            "{area}, {outside}"
        );
        assert_eq!(area_and_outside(&[], [[0.0; 2], [1.0; 2]]), [0.0, 0.0]);
    }

    fn square(low: f64, high: f64) -> Vec<[f64; 2]> {
        vec![[low, low], [high, low], [high, high], [low, high]]
    }
}
