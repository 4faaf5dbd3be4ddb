//! The planned dose of a plan held against the sum of the planned doses of its beams. Both are of one calculation: where they differ by
//! more than the rounding of their files, one of them is of another version of the plan, or was changed. Nothing is recomputed for it.

use geometry::Volume;
use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;

/// Doses of one calculation differ by no more than this part of the plan's greatest dose: the rounding of some sixty files of 16 bits, or
/// of a DoseGridScaling of four digits. Chosen.
const ROUNDING_PART: f64 = 0.001;

/// Fraction of the plan's greatest dose by which the sum may exceed the range of the voxels around, if the grids' voxels do not coincide.
/// Chosen.
const INTERPOLATED_PART: f64 = 0.01;

/// A voxel nearer than this to one of another grid lies on it, in voxels: positions in files are rounded.
const SAME_VOXEL: f64 = 0.01;

/// Planned doses of the treatment beams of a plan.
#[derive(Clone, Debug)]
pub struct BeamDoses<'a> {
    pub planned: &'a Volume<f32>,
    pub beams: Vec<&'a Volume<f32>>,
    /// Names of the treatment beams without a planned dose of their own.
    pub missing: Vec<String>,
    pub fractions: u32,
}

/// The planned dose of a plan beside the sum of its beams'.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BeamSum {
    /// Beams that are summed.
    pub beams: usize,
    /// Names of the treatment beams without a planned dose of their own: the sum is a part of the plan's dose then.
    pub missing: Vec<String>,
    /// The factor on the beams' doses: the number of fractions if each file holds one fraction.
    pub factor: u32,
    /// Voxels of the plan's grid that all beams' grids hold.
    pub compared: usize,
    pub voxels: usize,
    /// Compared voxels that coincide with a voxel of every beam's grid.
    pub on_voxels: usize,
    /// Compared voxels whose doses differ by more than they may.
    pub beyond: usize,
    /// The greatest difference, where there is one.
    pub worst: Option<SumDifference>,
    /// Greatest difference of doses on equal voxels that is rounding, Gy.
    pub allowed_gy: f64,
}

/// A voxel whose planned dose is not the sum of the beams'.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SumDifference {
    /// Patient LPS.
    pub point_mm: [f64; 3],
    pub planned_gy: f64,
    /// The sum of the beams; of what lies between voxels the nearest that it may be.
    pub sum_gy: f64,
}

impl SumDifference {
    fn gy(&self) -> f64 {
        (self.planned_gy - self.sum_gy).abs()
    }
}

impl BeamDoses<'_> {
    /// `None` without a beam's dose, or without a voxel that could be compared.
    pub fn compare(&self) -> Option<BeamSum> {
        let once = self.times(1)?;
        if once.beyond == 0 || self.fractions <= 1 || !self.missing.is_empty() {
            return Some(once);
        }
        // Some systems write the dose of one fraction for each beam, and the dose of the course for the plan.
        let course = self
            .times(self.fractions)
            .filter(|course| course.beyond == 0);
        Some(course.unwrap_or(once))
    }

    /// The comparison with the beams' doses times a factor.
    fn times(&self, factor: u32) -> Option<BeamSum> {
        let [.., planes] = self.planned.grid().size();
        let greatest_gy = f64::from(self.planned.greatest()).max(0.0);
        let has_same_grid: Vec<bool> = self
            .beams
            .iter()
            .map(|beam| beam.grid() == self.planned.grid())
            .collect();
        let counts = (0..planes)
            .into_par_iter()
            .map(|k| self.plane(k, &has_same_grid, f64::from(factor), greatest_gy))
            .reduce(Counts::default, Counts::with);
        (!self.beams.is_empty() && counts.compared > 0).then(|| BeamSum {
            beams: self.beams.len(),
            missing: self.missing.clone(),
            factor,
            voxels: self.planned.data().len(),
            compared: counts.compared,
            on_voxels: counts.on_voxels,
            beyond: counts.beyond,
            worst: counts.worst,
            allowed_gy: ROUNDING_PART * greatest_gy,
        })
    }

    fn plane(&self, k: usize, has_same_grid: &[bool], factor: f64, greatest_gy: f64) -> Counts {
        let grid = self.planned.grid();
        let columns = grid.size()[0];
        let mut counts = Counts::default();
        for (n, planned) in self.planned.plane(k).iter().enumerate() {
            let voxel = [n % columns, n / columns, k];
            let Some(span) = self.span(voxel, has_same_grid) else {
                continue;
            };
            let part = if span.is_on_voxel {
                ROUNDING_PART
            } else {
                INTERPOLATED_PART
            };
            let (low_gy, high_gy) = (factor * span.low_gy, factor * span.high_gy);
            let planned_gy = f64::from(*planned);
            counts.compared += 1;
            counts.on_voxels += usize::from(span.is_on_voxel);
            // Of beams that are missing the sum has nothing: it is the least that the plan's dose may be.
            let most_gy = if self.missing.is_empty() {
                high_gy
            } else {
                f64::INFINITY
            };
            let sum_gy = planned_gy.max(low_gy).min(most_gy);
            if (planned_gy - sum_gy).abs() > part * greatest_gy {
                let point_mm = grid.centre_mm(voxel[0], voxel[1], k).to_array();
                counts.beyond += 1;
                counts.worst = worse(
                    counts.worst,
                    Some(SumDifference {
                        point_mm,
                        planned_gy,
                        sum_gy,
                    }),
                );
            }
        }
        counts
    }

    /// The sum of the beams at a voxel of the plan's grid; `None` where a beam's grid does not hold it.
    fn span(&self, [i, j, k]: [usize; 3], has_same_grid: &[bool]) -> Option<Span> {
        let mut sum = Span {
            low_gy: 0.0,
            high_gy: 0.0,
            is_on_voxel: true,
        };
        for (beam, is_same) in self.beams.iter().zip(has_same_grid) {
            let of_beam = match is_same {
                true => Span::exactly(beam.at(i, j, k)),
                false => Span::around(beam, self.planned.grid().centre_mm(i, j, k))?,
            };
            sum.low_gy += of_beam.low_gy;
            sum.high_gy += of_beam.high_gy;
            sum.is_on_voxel &= of_beam.is_on_voxel;
        }
        Some(sum)
    }
}

/// The least and the greatest dose that may be meant at a position.
#[derive(Clone, Copy, Debug)]
struct Span {
    low_gy: f64,
    high_gy: f64,
    /// Whether the position is the centre of a voxel.
    is_on_voxel: bool,
}

impl Span {
    fn exactly(gy: f32) -> Self {
        Self {
            low_gy: f64::from(gy),
            high_gy: f64::from(gy),
            is_on_voxel: true,
        }
    }

    /// The doses of the voxels around a position; `None` outside the grid.
    fn around(volume: &Volume<f32>, patient_mm: DVec3) -> Option<Self> {
        let (grid, position) = (volume.grid(), volume.grid().voxel_from_patient(patient_mm));
        let [low, high] = [
            (position + SAME_VOXEL).floor(),
            (position - SAME_VOXEL).ceil(),
        ];
        let size = DVec3::from_array(grid.size().map(|n| n as f64));
        if low.cmplt(DVec3::ZERO).any() || high.cmpge(size).any() {
            return None;
        }
        let [low, high] =
            [low.min(high), high.max(low)].map(|voxel| voxel.to_array().map(|n| n as usize));
        let mut span = Self {
            low_gy: f64::INFINITY,
            high_gy: f64::NEG_INFINITY,
            is_on_voxel: low == high,
        };
        for k in low[2]..=high[2] {
            for j in low[1]..=high[1] {
                for i in low[0]..=high[0] {
                    let gy = f64::from(volume.at(i, j, k));
                    (span.low_gy, span.high_gy) = (span.low_gy.min(gy), span.high_gy.max(gy));
                }
            }
        }
        Some(span)
    }
}

/// Voxels of a part of the plan's grid.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    compared: usize,
    on_voxels: usize,
    beyond: usize,
    worst: Option<SumDifference>,
}

impl Counts {
    fn with(self, other: Self) -> Self {
        Self {
            compared: self.compared + other.compared,
            on_voxels: self.on_voxels + other.on_voxels,
            beyond: self.beyond + other.beyond,
            worst: worse(self.worst, other.worst),
        }
    }
}

/// The greater difference; of equal ones the first.
fn worse(a: Option<SumDifference>, b: Option<SumDifference>) -> Option<SumDifference> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.gy() > a.gy() { b } else { a }),
        (a, b) => a.or(b),
    }
}

impl BeamSum {
    /// Why the doses are not of one calculation, a sentence.
    pub fn contradiction(&self) -> Option<String> {
        let worst = self.worst?;
        let [x, y, z] = worst.point_mm;
        let (what, than) = match self.missing.len() {
            0 => (
                format!("is not the sum of its {}", counted(self.beams, "beam dose")),
                "the beams",
            ),
            missing => (
                format!(
                    "is less than the sum of {} of its {} beam doses",
                    self.beams,
                    self.beams + missing
                ),
                "these beams alone",
            ),
        };
        Some(format!(
            "The plan's dose {what}: {} of {} differ by more than their rounding, most at ({x:.1}, {y:.1}, {z:.1}) mm with {:.3} Gy of the \
             plan and {:.3} Gy of {than}. One of them is of another version of the plan or was changed: export plan and beams of one \
             calculation.",
            self.beyond,
            counted(self.compared, "voxel"),
            worst.planned_gy,
            worst.sum_gy,
        ))
    }

    /// The finding where nothing contradicts, a sentence.
    pub fn words(&self) -> String {
        let mut text = match self.missing.len() {
            0 => format!(
                "the plan's dose is the sum of its {}",
                counted(self.beams, "beam dose")
            ),
            _ => format!(
                "the plan's dose is held against {} alone, of which it is no less than the sum: there is none of {}",
                counted(self.beams, "beam dose"),
                self.missing.join(", ")
            ),
        };
        if self.factor > 1 {
            text += &format!(" times {} fractions", self.factor);
        }
        if self.on_voxels < self.compared {
            text += &format!(
                "; their grids differ, so that {} are compared with the voxels around only",
                counted(self.compared - self.on_voxels, "voxel")
            );
        }
        if self.compared < self.voxels {
            text += &format!(
                "; {} of its {} voxels lie on the beams' grids",
                self.compared, self.voxels
            );
        }
        text
    }
}

/// `1 beam dose`, `4 beam doses`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use std::sync::Arc;

    /// Two beams, one falling and one rising along x, and their sum; `origin_mm` of the grid along x.
    fn doses(spacing_mm: f64, origin_mm: f64) -> [Volume<f32>; 3] {
        let size = [12, 5, 4];
        let grid = Grid::axis_aligned(
            DVec3::new(origin_mm, 0.0, 0.0),
            DVec3::splat(spacing_mm),
            size,
        );
        let grid = Arc::new(grid.expect("a grid"));
        let volume = |dose: &dyn Fn(f64) -> f64| {
            let values = (0..grid.len())
                .map(|n| dose(grid.centre_of_mm(n).x) as f32)
                .collect();
            Volume::new(Arc::clone(&grid), values)
        };
        let (first, second) = (|x: f64| 30.0 - 0.4 * x, |x: f64| 5.0 + 0.3 * x);
        [
            volume(&|x| first(x) + second(x)),
            volume(&first),
            volume(&second),
        ]
    }

    fn changed(volume: &Volume<f32>, how: impl Fn(usize, f32) -> f32) -> Volume<f32> {
        let values = volume
            .data()
            .iter()
            .enumerate()
            .map(|(n, gy)| how(n, *gy))
            .collect();
        Volume::new(Arc::clone(volume.grid()), values)
    }

    fn sum(planned: &Volume<f32>, beams: &[&Volume<f32>], fractions: u32) -> BeamSum {
        let beams = BeamDoses {
            planned,
            beams: beams.to_vec(),
            missing: Vec::new(),
            fractions,
        };
        beams.compare().expect("compared")
    }

    #[test]
    fn what_is_not_the_sum_is_found_whatever_was_changed() {
        let [planned, a, b] = doses(2.5, 0.0);
        let same = sum(&planned, &[&a, &b], 1);
        assert_eq!(
            (same.contradiction(), same.compared, same.on_voxels),
            (None, 240, 240)
        );
        assert_eq!(
            same.words(),
            "the plan's dose is the sum of its 2 beam doses"
        );
        // Times 1.029; 4 % in one half; a voxel; the rounding of files of 16 bits is none of them.
        let scaled = sum(&changed(&planned, |_, gy| 1.029 * gy), &[&a, &b], 1);
        assert!(
            scaled.beyond == 240
                && scaled
                    .contradiction()
                    .is_some_and(|why| why.contains("not the sum of its 2"))
        );
        assert_eq!(
            sum(
                &changed(&planned, |n, gy| if n < 120 { 1.04 * gy } else { gy }),
                &[&a, &b],
                1
            )
            .beyond,
            120
        );
        let hot = sum(
            &changed(&planned, |n, gy| if n == 77 { gy + 1.0 } else { gy }),
            &[&a, &b],
            1,
        );
        assert_eq!(hot.beyond, 1);
        let hottest = hot.worst.expect("the voxel");
        assert_eq!(hottest.point_mm, planned.grid().centre_of_mm(77).to_array());
        assert!(
            (hottest.planned_gy - hottest.sum_gy - 1.0).abs() < 1e-5,
            "{hottest:?}"
        );
        let step = 35.0 / 65_535.0;
        let rounded = changed(&planned, |_, gy| {
            ((f64::from(gy) / step).round() * step) as f32
        });
        assert_eq!(sum(&rounded, &[&a, &b], 1).beyond, 0);
    }

    /// The plan's grid shifted by a voxel, with its values as they were: voxels coincide with the beams' voxels, and the doses differ.
    #[test]
    fn a_dose_one_voxel_off_is_found_and_the_same_dose_on_another_grid_is_not() {
        let [planned, ..] = doses(2.5, 0.0);
        let [_, a, b] = doses(2.5, 2.5);
        // Along x the sum falls by 0.1 Gy a mm: 0.25 Gy a voxel, of 35 Gy.
        let [cropped_right, ..] = doses(2.5, 2.5);
        assert_eq!(sum(&cropped_right, &[&a, &b], 1).beyond, 0);
        let off = Volume::new(Arc::clone(cropped_right.grid()), planned.data().to_vec());
        assert_eq!(sum(&off, &[&a, &b], 1).beyond, 240);
        // Half a voxel beside, and of another spacing: within the voxels around, as far as there are some.
        let [half, ..] = doses(2.5, 3.75);
        let shifted = sum(&half, &[&a, &b], 1);
        assert_eq!(
            (shifted.beyond, shifted.on_voxels, shifted.compared),
            (0, 0, 220)
        );
        assert!(
            shifted.words().contains("grids differ")
                && shifted.words().contains("220 of its 240 voxels"),
            "{}",
            shifted.words()
        );
        let wrong = sum(&changed(&half, |_, gy| 1.05 * gy), &[&a, &b], 1);
        assert_eq!(wrong.beyond, 220);
        let [far, ..] = doses(2.5, 500.0);
        let none = BeamDoses {
            planned: &far,
            beams: vec![&a],
            missing: Vec::new(),
            fractions: 1,
        };
        assert_eq!(none.compare(), None);
    }

    #[test]
    fn beams_of_one_fraction_and_missing_beams_are_told() {
        let [planned, a, b] = doses(2.5, 0.0);
        let [a5, b5] = [&a, &b].map(|beam| changed(beam, |_, gy| gy / 5.0));
        let course = sum(&planned, &[&a5, &b5], 5);
        assert_eq!((course.factor, course.beyond), (5, 0));
        assert!(
            course.words().ends_with("times 5 fractions"),
            "{}",
            course.words()
        );
        assert_eq!(sum(&planned, &[&a5, &b5], 4).beyond, 240);
        let part = BeamDoses {
            planned: &planned,
            beams: vec![&a],
            missing: vec!["'B'".to_owned()],
            fractions: 1,
        };
        let part_sum = part.compare().expect("compared");
        assert!(
            part_sum.beyond == 0 && part_sum.words().contains("none of 'B'"),
            "{}",
            part_sum.words()
        );
        let less = changed(&planned, |_, gy| 0.3 * gy);
        let less = BeamDoses {
            planned: &less,
            ..part
        }
        .compare()
        .expect("compared");
        assert!(
            less.contradiction()
                .is_some_and(|why| why.contains("less than the sum of 1 of its 2")),
            "{less:?}"
        );
    }
}
