//! The aperture of jaws and leaves as a picture: transmission as seen from a point source, averaged over the motion.
//!
//! Coordinates are at the isocentre plane: `u` along the direction of leaf travel, `v` across.

use super::Leaves;
use super::leaf::LeafEnd;
use super::normal::above_moving_edge;
use case::Bank;
use rayon::prelude::*;

/// A regular raster of square pixels, `[v][u]`, u fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raster {
    /// Centre of the first pixel, mm.
    pub first_mm: [f64; 2],
    pub step_mm: f64,
    /// Pixels along u and v.
    pub size: [usize; 2],
}

impl Raster {
    /// Pixels over a rectangle, `[low, high]` along u and v, pixel edges on whole multiples of the step.
    pub fn over(u: [f64; 2], v: [f64; 2], step_mm: f64) -> Self {
        let low = [u, v].map(|[low, _]| (low / step_mm).floor());
        let high = [u, v].map(|[_, high]| (high / step_mm).ceil());
        Self {
            first_mm: low.map(|pixel| (pixel + 0.5) * step_mm),
            step_mm,
            size: [0, 1].map(|axis| (high[axis] - low[axis]).max(1.0) as usize),
        }
    }

    pub fn centre(&self, axis: usize, n: usize) -> f64 {
        self.first_mm[axis] + n as f64 * self.step_mm
    }

    /// Continuous pixel index of a position; whole numbers are centres.
    pub fn index(&self, axis: usize, mm: f64) -> f64 {
        (mm - self.first_mm[axis]) / self.step_mm
    }

    pub fn len(&self) -> usize {
        self.size[0] * self.size[1]
    }
}

/// An edge of a jaw that moves evenly while its units are given, mm at the isocentre plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Half way.
    pub middle_mm: f64,
    /// From the first place to the last.
    pub travel_mm: f64,
}

impl Edge {
    pub fn still(at_mm: f64) -> Self {
        Self {
            middle_mm: at_mm,
            travel_mm: 0.0,
        }
    }

    pub fn moving(from_mm: f64, to_mm: f64) -> Self {
        Self {
            middle_mm: 0.5 * (from_mm + to_mm),
            travel_mm: to_mm - from_mm,
        }
    }

    /// Position of the edge after a part of its travel, 0 to 1.
    pub fn at(self, part: f64) -> f64 {
        self.middle_mm + (part - 0.5) * self.travel_mm
    }

    pub fn ends(self) -> [f64; 2] {
        [self.at(0.0), self.at(1.0)]
    }

    /// Mean open fraction above it (see [`above_moving_edge`]).
    pub fn open_above(self, at_mm: f64, sigma_mm: f64, width_mm: f64) -> f64 {
        above_moving_edge(
            at_mm,
            self.middle_mm,
            self.travel_mm.abs(),
            sigma_mm,
            width_mm,
        )
    }
}

/// Leaves, and lines of a picture, that a thread takes at least: for fewer another would take longer to wake.
const LEAVES_TOGETHER: usize = 16;
const LINES_TOGETHER: usize = 64;

/// Lines of a picture, each of this many pixels along u, side by side.
pub fn lines_mut(
    image: &mut [f32],
    pixels: usize,
) -> impl IndexedParallelIterator<Item = &mut [f32]> {
    image.par_chunks_mut(pixels).with_min_len(LINES_TOGETHER)
}

/// Leaves moving evenly from one set of tips to another while `weight` of the monitor units is given.
#[derive(Clone, Debug)]
pub struct Motion {
    pub from: Vec<Bank>,
    pub to: Vec<Bank>,
    pub weight: f64,
}

/// Transmission of the leaves, averaged over their motion: 1 where open throughout. Weights of the motions sum to 1.
pub fn leaf_transmission(
    leaves: &Leaves,
    sides_mm: &[f64],
    sad_mm: f64,
    motions: &[Motion],
    r: &Raster,
) -> Vec<f32> {
    let magnification = sad_mm / leaves.distance_mm;
    let pieces = pieces(leaves, sides_mm, magnification, r);
    let [full_row, half] =
        [1.0, 0.5].map(|height| LeafEnd::new(leaves, magnification, r.step_mm, height));
    // Tips of each row, and its open share as the joints beside it see it.
    let rows: Vec<(Tips, Vec<f64>)> = (0..sides_mm.len() - 1)
        .into_par_iter()
        .with_min_len(LEAVES_TOGETHER)
        .map(|row| {
            let has_joint = pieces
                .iter()
                .any(|p| p.joint && (p.row == row || p.row + 1 == row));
            if !has_joint && !pieces.iter().any(|p| p.row == row) {
                return Default::default();
            }
            let tips = Tips::of_row(motions, row, full_row.reach(), r);
            let beside_joints = if has_joint {
                tips.open_share(&half)
            } else {
                Vec::new()
            };
            (tips, beside_joints)
        })
        .collect();
    let profiles: Vec<Vec<f32>> = pieces
        .par_iter()
        .with_min_len(LEAVES_TOGETHER)
        .map(|p| {
            let t = leaves.transmission;
            let (tips, neighbours) = &rows[p.row];
            if !p.joint {
                return tips
                    .open_share(&full_row)
                    .iter()
                    .map(|o| (t + (1.0 - t) * o) as f32)
                    .collect();
            }
            // Half the height of either leaf attenuates in a joint: the tongue of one, the step of the other.
            let both = Tips::of_joint(motions, p.row, half.reach(), r).open_share(&half);
            let (one, none) = (t.sqrt(), leaves.interleaf_transmission);
            both.iter()
                .zip(neighbours)
                .zip(&rows[p.row + 1].1)
                .map(|((both, a), b): ((&f64, &f64), &f64)| {
                    (both + one * (a + b - 2.0 * both) + none * (1.0 - a - b + both)) as f32
                })
                .collect()
        })
        .collect();
    compose(&pieces, &profiles, r)
}

/// A strip along u of uniform construction: the body of a row of leaves, or the joint between two.
struct Piece {
    /// The row, or the lower of the two rows.
    row: usize,
    joint: bool,
    v: [f64; 2],
}

fn pieces(leaves: &Leaves, sides_mm: &[f64], magnification: f64, r: &Raster) -> Vec<Piece> {
    let half = 0.5 * leaves.tongue_mm * magnification;
    let last = sides_mm.len() - 1;
    let mut out = Vec::new();
    for row in 0..last {
        let low = if row == 0 {
            sides_mm[0]
        } else {
            sides_mm[row] + half
        };
        let high = if row + 1 == last {
            sides_mm[last]
        } else {
            sides_mm[row + 1] - half
        };
        out.push(Piece {
            row,
            joint: false,
            v: [low, high],
        });
        if row + 1 < last && half > 0.0 {
            out.push(Piece {
                row,
                joint: true,
                v: [high, sides_mm[row + 1] + half],
            });
        }
    }
    let range = [
        r.centre(1, 0) - r.step_mm,
        r.centre(1, r.size[1] - 1) + r.step_mm,
    ];
    out.retain(|p| p.v[1] > range[0] && p.v[0] < range[1] && p.v[1] > p.v[0]);
    out
}

/// Distributes the pieces over the rows of pixels; pixels beyond the leaves are open.
fn compose(pieces: &[Piece], profiles: &[Vec<f32>], r: &Raster) -> Vec<f32> {
    let mut image = vec![0.0_f32; r.len()];
    lines_mut(&mut image, r.size[0])
        .enumerate()
        .for_each(|(n, line)| {
            let (low, high) = (
                r.centre(1, n) - 0.5 * r.step_mm,
                r.centre(1, n) + 0.5 * r.step_mm,
            );
            let mut covered = 0.0;
            let first = pieces.partition_point(|p| p.v[1] <= low);
            for (piece, profile) in pieces
                .iter()
                .zip(profiles)
                .skip(first)
                .take_while(|(p, _)| p.v[0] < high)
            {
                let share = (piece.v[1].min(high) - piece.v[0].max(low)) / r.step_mm;
                covered += share;
                for (value, t) in line.iter_mut().zip(profile) {
                    *value += share as f32 * t;
                }
            }
            if covered < 1.0 - 1e-9 {
                line.iter_mut()
                    .for_each(|value| *value += (1.0 - covered) as f32);
            }
        });
    image
}

/// Monitor units during which the tips of either bank are in each pixel along u, with as many pixels more at each end as a leaf's end
/// reaches; the positive bank's from the far end on.
#[derive(Default)]
struct Tips {
    banks: [Vec<f64>; 2],
}

impl Tips {
    /// Tips of a row.
    fn of_row(motions: &[Motion], row: usize, reach: usize, r: &Raster) -> Self {
        let mut ways = Ways::none(reach, r);
        for m in motions {
            ways.add(m.from[row], m.to[row], m.weight);
        }
        ways.tips()
    }

    /// Tips that bound the opening which a row has in common with the next.
    fn of_joint(motions: &[Motion], row: usize, reach: usize, r: &Raster) -> Self {
        let mut ways = Ways::none(reach, r);
        for m in motions {
            common_opening(
                [m.from[row], m.from[row + 1]],
                [m.to[row], m.to[row + 1]],
                |share, from, to| {
                    let weight = m.weight * share;
                    if from[0] + to[0] > from[1] + to[1] {
                        ways.add_covered(weight);
                    } else {
                        ways.add(from, to, weight);
                    }
                },
            );
        }
        ways.tips()
    }

    /// Open share between the tips, 0 to 1, with leaf ends of the reach that they were made for.
    fn open_share(&self, end: &LeafEnd) -> Vec<f64> {
        let n = self.banks[0].len() - 2 * end.reach();
        let [negative, positive] = [0, 1].map(|bank| {
            let mut absorbed = vec![0.0; n];
            end.absorb(&self.banks[bank], &mut absorbed);
            absorbed
        });
        negative
            .iter()
            .zip(positive.iter().rev())
            .map(|(a, b): (&f64, &f64)| (1.0 - (a + b) / end.full()).max(0.0))
            .collect()
    }
}

/// Ways of tips over a picture, to be counted as [`Tips`].
struct Ways<'a> {
    r: &'a Raster,
    reach: usize,
    banks: [WaysOfBank; 2],
}

impl<'a> Ways<'a> {
    fn none(reach: usize, r: &'a Raster) -> Self {
        let count = r.size[0] + 2 * reach;
        Self {
            r,
            reach,
            banks: [(); 2].map(|()| WaysOfBank {
                stands: vec![0.0; count],
                changes: vec![0.0; count + 2],
            }),
        }
    }

    /// Tips that move evenly while `weight` of the monitor units is given.
    fn add(&mut self, from: Bank, to: Bank, weight: f64) {
        let index = |mm: f64| self.r.index(0, mm) + self.reach as f64;
        let last = (self.r.size[0] - 1 + 2 * self.reach) as f64;
        let way = [index(from[0]), index(to[0])];
        // Tips that overlap (a mistake in the plan) count as closed at the negative one.
        let positive = [from[1].max(from[0]), to[1].max(to[0])].map(|mm| last - index(mm));
        self.banks[0].add(way, weight);
        self.banks[1].add(positive, weight);
    }

    /// Openings that do not overlap: one leaf covers all.
    fn add_covered(&mut self, weight: f64) {
        self.banks[0]
            .stands
            .last_mut()
            .into_iter()
            .for_each(|beyond| *beyond += weight);
    }

    fn tips(self) -> Tips {
        Tips {
            banks: self.banks.map(WaysOfBank::tips),
        }
    }
}

/// Ways of the tips of one bank, in pixels.
struct WaysOfBank {
    /// Monitor units of tips that stand, shared by the two pixels beside them; those beyond the list stand at its end.
    stands: Vec<f64>,
    /// From pixel to pixel, the change of the monitor units of tips that move: a way begins and ends in three of them, however long it is.
    changes: Vec<f64>,
}

/// A way that is shorter, in pixels, counts as none: its monitor units a pixel would be lost in rounding.
const SHORTEST_WAY: f64 = 1e-3;

impl WaysOfBank {
    fn add(&mut self, [from, to]: [f64; 2], weight: f64) {
        let last = (self.stands.len() - 1) as f64;
        let [low, high] = [from.min(to), from.max(to)];
        if high - low < SHORTEST_WAY {
            let place = (0.5 * (low + high)).clamp(0.0, last);
            let i = (place as usize).min(self.stands.len() - 2);
            let t = place - i as f64;
            self.stands[i] += weight * (1.0 - t);
            self.stands[i + 1] += weight * t;
            return;
        }
        let per_pixel = weight / (high - low);
        let within = [low, high].map(|position| position.clamp(0.0, last));
        // Monitor units that are given while the tip is beyond the list do not belong to its way within.
        self.stands[0] += per_pixel * (high.min(0.0) - low.min(0.0));
        self.stands[last as usize] += per_pixel * (high.max(last) - low.max(last));
        self.change(within[0], per_pixel);
        self.change(within[1], -per_pixel);
    }

    /// Tips come in from a place on: each shared by the two pixels beside it, integrated over the places.
    fn change(&mut self, from: f64, per_pixel: f64) {
        let i = from as usize;
        let t = from - i as f64;
        let (first, last) = (0.5 * (1.0 - t) * (1.0 - t), 0.5 * t * t);
        self.changes[i] += per_pixel * first;
        self.changes[i + 1] += per_pixel * (1.0 - first - last);
        self.changes[i + 2] += per_pixel * last;
    }

    fn tips(mut self) -> Vec<f64> {
        let mut moving = 0.0;
        for (stands, change) in self.stands.iter_mut().zip(&self.changes) {
            moving += change;
            *stands += moving;
        }
        self.stands
    }
}

/// The opening that two rows have in common, cut where another leaf begins to bound it: the share of the motion's monitor units of each
/// part, in which its tips move evenly, and the tips at its beginning and end.
fn common_opening(from: [Bank; 2], to: [Bank; 2], mut part: impl FnMut(f64, Bank, Bank)) {
    // Two banks against each other at most, either with two tips, between the beginning and the end.
    let mut cuts = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let mut count = 2;
    let mut crossing = |a: [f64; 2], b: [f64; 2]| {
        let (start_gap, after) = (a[0] - b[0], a[1] - b[1]);
        if start_gap * after < 0.0 {
            cuts[count] = start_gap / (start_gap - after);
            count += 1;
        }
    };
    let motion = |row: usize, bank: usize| [from[row][bank], to[row][bank]];
    crossing(motion(0, 0), motion(1, 0));
    crossing(motion(0, 1), motion(1, 1));
    crossing(motion(0, 0), motion(1, 1));
    crossing(motion(1, 0), motion(0, 1));
    let cuts = &mut cuts[..count];
    cuts.sort_by(f64::total_cmp);
    let bank_at = |t: f64| -> Bank {
        let tip = |row: usize, bank: usize| from[row][bank] + t * (to[row][bank] - from[row][bank]);
        [tip(0, 0).max(tip(1, 0)), tip(0, 1).min(tip(1, 1))]
    };
    for w in cuts.windows(2).filter(|w| w[1] > w[0]) {
        part(w[1] - w[0], bank_at(w[0]), bank_at(w[1]));
    }
}

/// Mean transmission of a pair of jaws at each pixel along an axis, its edges blurred by `sigma_mm`.
pub fn jaw_transmission(
    edges: [Edge; 2],
    sigma_mm: f64,
    transmission: f64,
    axis: usize,
    r: &Raster,
) -> Vec<f32> {
    (0..r.size[axis])
        .map(|n| {
            let x = r.centre(axis, n);
            let [low, high] = edges.map(|edge| edge.open_above(x, sigma_mm, r.step_mm));
            let open = (low - high).max(0.0);
            (transmission + (1.0 - transmission) * open) as f32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    fn leaves() -> Leaves {
        Machine::resolve("generic-6mv")
            .expect("shipped")
            .leaves
            .clone()
            .expect("leaves")
    }

    fn picture(motions: &[Motion], r: &Raster) -> Vec<f32> {
        let l = leaves();
        leaf_transmission(&l, &l.boundaries_mm, 1000.0, motions, r)
    }

    fn still(banks: impl Fn(usize) -> Bank) -> Motion {
        let tips: Vec<Bank> = (0..60).map(banks).collect();
        Motion {
            from: tips.clone(),
            to: tips,
            weight: 1.0,
        }
    }

    const STEP: f64 = 0.25;

    fn raster() -> Raster {
        Raster::over([-60.0, 60.0], [-30.0, 30.0], STEP)
    }

    fn at(image: &[f32], r: &Raster, u: f64, v: f64) -> f64 {
        let i = r.index(0, u).round() as usize;
        let j = r.index(1, v).round() as usize;
        f64::from(image[j * r.size[0] + i])
    }

    #[test]
    fn open_closed_and_in_the_joint() {
        let r = raster();
        let l = leaves();
        // Rows 30 and 31 (v 0 to 10) open from -20 to 20, all others shut far outside the picture.
        let image = picture(
            &[still(|row| {
                if (30..32).contains(&row) {
                    [-20.0, 20.0]
                } else {
                    [100.0, 100.0]
                }
            })],
            &r,
        );
        assert!((at(&image, &r, 0.0, 2.5) - 1.0).abs() < 1e-6, "open");
        assert!(
            (at(&image, &r, 0.0, 5.0) - 1.0).abs() < 1e-6,
            "joint of two open rows"
        );
        assert!(
            (at(&image, &r, 0.0, -2.5) - l.transmission).abs() < 1e-6,
            "shut"
        );
        assert!(
            (at(&image, &r, 0.0, -5.0) - l.interleaf_transmission).abs() < 1e-6,
            "joint of two shut rows"
        );
        assert!(
            (at(&image, &r, 50.0, 2.5) - l.transmission).abs() < 1e-6,
            "behind the tips"
        );
        // The joint of an open and a shut row passes half the height of one leaf.
        assert!(
            (at(&image, &r, 0.0, 0.125) - l.transmission.sqrt()).abs() < 1e-6,
            "tongue"
        );
    }

    #[test]
    fn leaf_ends_follow_the_chord() {
        let r = raster();
        let l = leaves();
        let image = picture(&[still(|_| [-20.0, 20.0])], &r);
        // Independent: attenuation by the chord, averaged over a pixel whose centre is 2 mm behind the tip.
        for behind in [-1.0, 0.125, 0.375, 2.125, 8.125] {
            // Tips lie on pixel edges, so a pixel takes half from each neighbouring position.
            let got = at(&image, &r, 20.0 + behind, 2.5);
            let want =
                0.5 * (mean_through_end(behind - 0.125, &l) + mean_through_end(behind + 0.125, &l));
            assert!((got - want).abs() < 1e-3, "{behind}: {got} against {want}");
            assert!(
                (at(&image, &r, -20.0 - behind, 2.5) - got).abs() < 1e-6,
                "both banks alike"
            );
        }
    }

    fn mean_through_end(behind: f64, l: &Leaves) -> f64 {
        let n = 1000;
        (0..n)
            .map(|s| {
                transmission_behind(
                    behind + STEP * ((f64::from(s) + 0.5) / f64::from(n) - 0.5),
                    l,
                )
            })
            .sum::<f64>()
            / f64::from(n)
    }

    fn transmission_behind(x: f64, l: &Leaves) -> f64 {
        let p = x.max(0.0) * l.distance_mm / 1000.0;
        let chord = (2.0 * (2.0 * l.end_radius_mm * p - p * p).sqrt()).min(l.thickness_mm);
        (l.transmission.ln() * chord / l.thickness_mm).exp()
    }

    /// A window swept over the field at even speed gives every point the same; against many still pictures.
    #[test]
    fn a_moving_window_is_the_mean_of_still_ones() {
        let r = raster();
        let moving = Motion {
            from: (0..60).map(|n| [-50.0 + n as f64 * 0.1, -30.0]).collect(),
            to: (0..60).map(|n| [30.0, 50.0 - (n % 7) as f64]).collect(),
            weight: 1.0,
        };
        let got = picture(std::slice::from_ref(&moving), &r);
        let count = 1600;
        let stills: Vec<Motion> = (0..count)
            .map(|s| {
                let t = (f64::from(s) + 0.5) / f64::from(count);
                let tips: Vec<Bank> = moving
                    .from
                    .iter()
                    .zip(&moving.to)
                    .map(|(a, b)| [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])])
                    .collect();
                Motion {
                    from: tips.clone(),
                    to: tips,
                    weight: 1.0 / f64::from(count),
                }
            })
            .collect();
        let want = picture(&stills, &r);
        let worst = got
            .iter()
            .zip(&want)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(worst < 2e-3, "{worst}");
        // Open for the time the 20 mm window takes to pass: 20 of 80 mm (row 0), without the leaf ends.
        assert!(at(&got, &r, 0.0, 2.5) > 0.2);
    }

    /// Tips that come from beyond the picture and go beyond it give each point what they do on their way past it.
    #[test]
    fn a_window_from_beyond_the_picture_is_as_on_a_wide_one() {
        let wide = Raster::over([-200.0, 200.0], [-5.0, 5.0], STEP);
        let narrow = Raster::over([-20.0, 20.0], [-5.0, 5.0], STEP);
        for (from, to) in [
            ([-150.0, -30.0], [-10.0, 160.0]),
            ([-150.0, 10.0], [15.0, 20.0]),
            ([90.0, 95.0], [120.0, 180.0]),
        ] {
            let motion = Motion {
                from: rows_of(from),
                to: rows_of(to),
                weight: 1.0,
            };
            let [wide_image, image] =
                [&wide, &narrow].map(|r| picture(std::slice::from_ref(&motion), r));
            for v in [-4.0, -0.1, 0.1, 2.0] {
                for u in [-19.0, -12.0, -3.0, 4.0, 12.0, 19.0] {
                    let [want, got] = [at(&wide_image, &wide, u, v), at(&image, &narrow, u, v)];
                    assert!(
                        (got - want).abs() < 1e-3,
                        "{from:?} to {to:?} at {u}, {v}: {got} for {want}"
                    );
                }
            }
        }
    }

    fn rows_of(banks: Bank) -> Vec<Bank> {
        (0..60)
            .map(|n| banks.map(|mm| mm + 0.7 * (n % 2) as f64))
            .collect()
    }

    /// Rays one by one (as Monte Carlo follows them), averaged over pixels, against the picture.
    #[test]
    fn rays_make_up_the_picture() {
        let (r, l) = (raster(), leaves());
        let image = picture(&[still(banks_of_row)], &r);
        let magnification = 1000.0 / l.distance_mm;
        let (mut worst, mut shaded) = (0.0_f64, 0);
        for j in (80..160).step_by(3) {
            for i in (100..380).step_by(7) {
                let mean = (0..RAYS * RAYS)
                    .map(|n: usize| {
                        let point_mm = [
                            r.centre(0, i) + ray_offset(n % RAYS),
                            r.centre(1, j) + ray_offset(n / RAYS),
                        ];
                        l.ray_transmission(&l.boundaries_mm, magnification, banks_of_row, point_mm)
                    })
                    .sum::<f64>()
                    / (RAYS * RAYS) as f64;
                let drawn = f64::from(image[j * r.size[0] + i]);
                worst = worst.max((mean - drawn).abs());
                shaded += usize::from(drawn < 0.99);
            }
        }
        // The picture interpolates tips linearly between pixels: a tip's own pixel differs by part of the rise behind a round end.
        println!("{worst} at worst, {shaded} in shadow");
        assert!(worst < 0.06 && shaded > 100, "{worst}, {shaded}");
        assert_eq!(
            l.ray_transmission(&l.boundaries_mm, magnification, banks_of_row, [0.0, 500.0]),
            1.0,
            "beyond the leaves"
        );
    }

    fn banks_of_row(row: usize) -> Bank {
        [-12.3 + (row % 3) as f64, 4.7 + 1.3 * (row % 4) as f64]
    }

    /// Rays across a pixel, along u and along v.
    const RAYS: usize = 16;

    fn ray_offset(n: usize) -> f64 {
        ((n as f64 + 0.5) / RAYS as f64 - 0.5) * STEP
    }

    #[test]
    fn jaws_are_area_exact() {
        let r = Raster::over([-10.0, 10.0], [-10.0, 10.0], 0.5);
        let t = jaw_transmission([-4.1, 3.3].map(Edge::still), 0.0, 0.01, 0, &r);
        let sum: f64 = t.iter().map(|&v| f64::from(v) * 0.5).sum();
        assert!((sum - (7.4 + 0.01 * 12.6)).abs() < 1e-5, "{sum}");
    }

    /// Two fields that abut along the tips add up to the whole but for what the rounded ends let through.
    #[test]
    fn two_halves_make_the_whole_across_the_leaves() {
        let r = raster();
        let l = leaves();
        let shut = [100.0, 100.0];
        let low = picture(
            &[still(|row| if row < 30 { [-40.0, 40.0] } else { shut })],
            &r,
        );
        let high = picture(
            &[still(|row| if row >= 30 { [-40.0, 40.0] } else { shut })],
            &r,
        );
        let sum = |v: f64| at(&low, &r, 0.0, v) + at(&high, &r, 0.0, v);
        assert!((sum(12.5) - 1.0 - l.transmission).abs() < 1e-6);
        // Tongue and groove: the joint is shadowed in both halves.
        let joint = sum(0.125);
        assert!(
            (joint - 2.0 * l.transmission.sqrt()).abs() < 1e-6 && joint < 0.3,
            "{joint}"
        );
    }
}
