//! The gamma report of a physicist (TG-218: Miften 2018, Med Phys 45 e53): the criterion and all its
//! settings, the pass rate, the distribution of gamma, figures by structure, and a stricter criterion beside
//! it.

use super::gamma_verdict::{Judged, loosened, rate_text};
use super::unjudged::unjudged_text;
use case::Receipt;
use engine::gamma::{
    Criterion, GammaMap, GammaRequest, GammaResult, OUTSIDE, Surface, UNDEFINED, near_maximum,
};
use geometry::{Mask, Volume};
use rayon::prelude::*;
use serde::Serialize;
use std::fmt;

/// Bins of the histogram and their width: up to the greatest gamma of the window's sliders.
const BINS: usize = 100;
const BIN: f64 = 0.05;

/// The report of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct GammaReport {
    /// Labels of the two doses.
    pub reference: String,
    pub evaluated: String,
    /// The direction of the comparison.
    pub direction: &'static str,
    pub interpolation: &'static str,
    pub dims: &'static str,
    /// The 100 % dose, in words and in Gy.
    pub normalisation: &'static str,
    pub normalisation_gy: f64,
    pub near_maximum_gy: f64,
    pub threshold_percent: f64,
    pub threshold_gy: f64,
    pub max_gamma: Option<f32>,
    /// The reference was measured.
    pub measured: bool,
    /// The structure outside which no point was analysed.
    pub region: Option<String>,
    /// Number and seed of randomly chosen points.
    pub subset: Option<engine::gamma::Subset>,
    /// One for each criterion, in order.
    pub criteria: Vec<CriterionReport>,
    pub receipt: Receipt,
}

/// The result of one criterion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriterionReport {
    /// `3 %/3 mm global`.
    pub criterion: String,
    pub dose_percent: f64,
    pub dta_mm: f64,
    pub local: bool,
    #[serde(flatten)]
    pub figures: GammaFigures,
    /// Points over the threshold outside the evaluated dose: neither passing nor failing.
    pub outside: usize,
    /// The pass rate if those points had failed.
    pub pass_rate_percent_if_outside_failed: f64,
    /// Points of 0 Gy, where a local criterion is undefined.
    pub undefined: usize,
    /// The verdict by the limits of TG-218, or why there is none; empty before it is known.
    pub tg218: String,
    pub histogram: GammaHistogram,
    pub structures: Vec<StructureGamma>,
}

/// Figures of some points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GammaFigures {
    /// Share of the points with gamma of at most 1, percent; `None` where there are no points.
    pub pass_rate_percent: Option<f64>,
    pub points: usize,
    pub passing: usize,
    pub failing: usize,
    /// Points over the threshold without gamma: neither passing nor failing.
    pub not_judged: usize,
    pub mean: Option<f64>,
    pub median: Option<f64>,
    /// 99 % of the points have at most this.
    pub percentile_99: Option<f64>,
    pub max: Option<f64>,
    /// Points whose search ended at the maximum gamma: they have more, and so have mean and maximum.
    pub beyond_max_gamma: usize,
}

/// Points by gamma: `counts[n]` from `n * bin` to below `(n + 1) * bin`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GammaHistogram {
    pub bin: f64,
    pub counts: Vec<usize>,
    /// Points beyond the last bin.
    pub above: usize,
}

/// A structure's part of the points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StructureGamma {
    pub name: String,
    #[serde(flatten)]
    pub figures: GammaFigures,
}

impl GammaReport {
    /// `structures`: names, with masks on any grid. `measured`: the reference was; `not_final`: why a dose is not the last word.
    pub fn new(
        [reference, evaluated]: [&str; 2],
        request: &GammaRequest,
        result: &GammaResult,
        measured: bool,
        not_final: Option<String>,
        region: Option<&str>,
        structures: &[(&str, &Mask)],
    ) -> Self {
        let near_maximum_gy = f64::from(near_maximum(request.reference.data()));
        let criteria = result.maps.iter().map(|map| {
            let judged = Judged {
                criterion: map.criterion,
                threshold_percent: request.threshold_percent,
                normalisation_gy: result.normalisation_gy,
                near_maximum_gy,
                counts: map.counts,
                measured,
                in_part: region.is_some() || request.subset.is_some(),
                not_final: not_final.clone(),
            };
            CriterionReport {
                tg218: judged.verdict().words,
                ..CriterionReport::new(map, request.max_gamma, structures)
            }
        });
        let criteria = criteria.collect();
        Self {
            reference: reference.to_owned(),
            evaluated: evaluated.to_owned(),
            direction: "each voxel of the reference is looked for in the evaluated dose",
            interpolation: match (request.surface, result.flat) {
                (Surface::Trilinear, false) => "trilinear",
                (Surface::Trilinear, true) => "bilinear in each plane",
                (Surface::Simplices, false) => "linear in six tetrahedra a cell",
                (Surface::Simplices, true) => "linear in two triangles a cell of each plane",
            },
            dims: match (result.flat, request.reference.grid().size()[2]) {
                (false, _) => "3",
                (true, 1) => "2",
                (true, _) => "2.5",
            },
            normalisation: request.normalisation.word(),
            normalisation_gy: result.normalisation_gy,
            near_maximum_gy,
            threshold_percent: request.threshold_percent,
            threshold_gy: result.threshold_gy,
            max_gamma: request.max_gamma,
            measured,
            region: region.map(str::to_owned),
            subset: request.subset,
            criteria,
            receipt: (*result.receipt).clone(),
        }
    }
}

impl CriterionReport {
    /// `max_gamma`: where the search ended.
    pub fn new(map: &GammaMap, max_gamma: Option<f32>, structures: &[(&str, &Mask)]) -> Self {
        let Criterion {
            dose_percent,
            dta_mm,
            local,
        } = map.criterion;
        let counts = map.counts;
        let values: Vec<f32> = map
            .gamma
            .data()
            .iter()
            .copied()
            .filter(|g| !g.is_nan())
            .collect();
        let histogram = GammaHistogram::new(&values);
        let figures = GammaFigures {
            not_judged: counts.unjudged(),
            ..GammaFigures::new(values, max_gamma)
        };
        let total = (counts.analysed + counts.outside).max(1) as f64;
        Self {
            criterion: map.criterion.to_string(),
            dose_percent,
            dta_mm,
            local,
            figures,
            outside: counts.outside,
            pass_rate_percent_if_outside_failed: 100.0 * counts.passing as f64 / total,
            undefined: counts.undefined,
            tg218: String::new(),
            histogram,
            structures: structures
                .iter()
                .map(|(name, mask)| StructureGamma {
                    name: (*name).to_owned(),
                    figures: GammaFigures::inside(&map.gamma, mask, max_gamma),
                })
                .collect(),
        }
    }
}

impl GammaFigures {
    /// Figures of the points whose centres lie in voxels that a mask covers by half or more.
    pub fn inside(gamma: &Volume<f32>, mask: &Mask, max_gamma: Option<f32>) -> Self {
        if mask.grid() == gamma.grid() {
            let points = mask.iter().filter(|(_, share)| *share >= 0.5);
            let values = points.filter_map(|(n, _)| gamma.data().get(n).copied());
            return Self::from_values(values.collect(), max_gamma);
        }
        let grid = gamma.grid();
        let [nx, _, nz] = grid.size();
        let values = (0..nz).into_par_iter().flat_map_iter(|k| {
            let points = gamma
                .plane(k)
                .iter()
                .enumerate()
                .filter(|(_, g)| !g.is_nan() || is_unjudged(**g));
            points
                .filter(move |(n, _)| mask.holds(grid.centre_mm(n % nx, n / nx, k)))
                .map(|(_, g)| *g)
        });
        Self::from_values(values.collect(), max_gamma)
    }

    /// Figures of a map's values.
    fn from_values(mut values: Vec<f32>, max_gamma: Option<f32>) -> Self {
        let not_judged = values.iter().filter(|g| is_unjudged(**g)).count();
        values.retain(|g| !g.is_nan());
        Self {
            not_judged,
            ..Self::new(values, max_gamma)
        }
    }

    /// `values` are without NaN.
    pub fn new(mut values: Vec<f32>, max_gamma: Option<f32>) -> Self {
        let points = values.len();
        // Square roots of graphics cards are not exact to the last digit.
        let end = max_gamma.map_or(f32::INFINITY, |max| max * (1.0 - 1e-6));
        let beyond_max_gamma = values.iter().filter(|g| **g >= end).count();
        let passing = values.iter().filter(|g| **g <= 1.0).count();
        let sum: f64 = values.iter().map(|g| f64::from(*g)).sum();
        // The value that a share of the `points` values does not exceed.
        let mut at_share = |share: f64| {
            let n = ((share * points as f64).ceil() as usize).clamp(1, points.max(1)) - 1;
            (points > 0).then(|| f64::from(*values.select_nth_unstable_by(n, f32::total_cmp).1))
        };
        Self {
            points,
            passing,
            failing: points - passing,
            not_judged: 0,
            median: at_share(0.5),
            percentile_99: at_share(0.99),
            max: at_share(1.0),
            pass_rate_percent: (points > 0).then(|| 100.0 * passing as f64 / points as f64),
            mean: (points > 0).then(|| sum / points as f64),
            beyond_max_gamma,
        }
    }

    /// Before a mean or a maximum in words: `more than ` where points have more than was searched for.
    pub fn more_than(&self) -> &'static str {
        if self.beyond_max_gamma > 0 {
            "more than "
        } else {
            ""
        }
    }

    /// As [`Self::more_than`], a sign for tables.
    pub fn more_than_sign(&self) -> &'static str {
        if self.beyond_max_gamma > 0 { "> " } else { "" }
    }
}

/// Whether a map's value marks a point over the threshold without gamma.
fn is_unjudged(gamma: f32) -> bool {
    [OUTSIDE, UNDEFINED]
        .iter()
        .any(|value| value.to_bits() == gamma.to_bits())
}

impl GammaHistogram {
    /// `values` are without NaN.
    pub fn new(values: &[f32]) -> Self {
        let mut counts = vec![0; BINS];
        let mut above = 0;
        for value in values {
            // A gamma of exactly 1 is in the bin of those that pass.
            let bin = (f64::from(*value) / BIN).ceil().max(1.0) as usize - 1;
            match counts.get_mut(bin) {
                Some(count) => *count += 1,
                None => above += 1,
            }
        }
        Self {
            bin: BIN,
            counts,
            above,
        }
    }
}

/// The stricter criterion reported beside one: 3 %/2 mm where that is stricter, then 2 %/1 mm (AAPM TG-218, section 8, names it
/// beside 3 %/2 mm), then 1 %/1 mm, then half of both.
pub fn stricter(than: Criterion) -> Criterion {
    let named = [(3.0, 2.0), (2.0, 1.0), (1.0, 1.0)].map(|(dose_percent, dta_mm)| Criterion {
        dose_percent,
        dta_mm,
        local: than.local,
    });
    let stricter = named.into_iter().find(|c| {
        c.dose_percent <= than.dose_percent
            && c.dta_mm <= than.dta_mm
            && (c.dose_percent, c.dta_mm) != (than.dose_percent, than.dta_mm)
    });
    stricter.unwrap_or(Criterion {
        dose_percent: 0.5 * than.dose_percent,
        dta_mm: 0.5 * than.dta_mm,
        local: than.local,
    })
}

impl fmt::Display for GammaReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "reference {}, evaluated {}",
            self.reference, self.evaluated
        )?;
        writeln!(
            f,
            "100 % is {:.3} Gy ({}); from {} % ({:.3} Gy) on; {}D, {}; gamma {}",
            self.normalisation_gy,
            self.normalisation,
            self.threshold_percent,
            self.threshold_gy,
            self.dims,
            self.interpolation,
            self.max_gamma
                .map_or("unlimited".to_owned(), |most| format!("up to {most}")),
        )?;
        if let Some(why) = loosened(self.normalisation_gy, self.near_maximum_gy) {
            writeln!(f, "warning: {why}")?;
        }
        if let Some(region) = &self.region {
            writeln!(f, "inside {region}")?;
        }
        if let Some(subset) = self.subset {
            writeln!(
                f,
                "of {} points chosen at random, seed {}",
                subset.count, subset.seed
            )?;
        }
        for criterion in &self.criteria {
            write!(f, "{criterion}")?;
        }
        for warning in &self.receipt.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        write!(
            f,
            "{} points in {:.1} ms on {}",
            self.receipt.work,
            self.receipt.total_ms(),
            self.receipt.device
        )
    }
}

impl fmt::Display for CriterionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.criterion, self.figures)?;
        writeln!(f, "  {}", self.tg218)?;
        if self.outside > 0 {
            writeln!(
                f,
                "  {} points lie outside the evaluated dose and neither pass nor fail; counted as failing: {}",
                self.outside,
                rate_text(self.pass_rate_percent_if_outside_failed)
            )?;
        }
        if self.undefined > 0 {
            writeln!(f, "  {} points of 0 Gy have no local gamma", self.undefined)?;
        }
        for structure in &self.structures {
            writeln!(f, "  {}: {}", structure.name, structure.figures)?;
        }
        Ok(())
    }
}

impl fmt::Display for GammaFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(rate), Some(mean), Some(max)) = (self.pass_rate_percent, self.mean, self.max)
        else {
            return match self.not_judged {
                0 => f.write_str("no points"),
                n => write!(f, "no point judged, {n} NOT judged"),
            };
        };
        write!(
            f,
            "{} of {} points pass, {} fail; {}mean {more}{mean:.3}, greatest {more}{max:.3}",
            rate_text(rate),
            self.points,
            self.failing,
            unjudged_text(self.points, self.not_judged).map_or(String::new(), |text| text + "; "),
            more = self.more_than(),
        )?;
        match self.beyond_max_gamma {
            0 => Ok(()),
            n => write!(f, " ({n} points are farther than was searched for)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use glam::DVec3;
    use std::sync::Arc;

    #[test]
    fn figures_of_a_few_values() {
        let figures = GammaFigures::new(vec![0.2, 1.0, 3.0, 0.4, 1.1], None);
        assert_eq!(
            (figures.points, figures.passing, figures.failing),
            (5, 3, 2)
        );
        assert_eq!((figures.median, figures.max), (Some(1.0), Some(3.0)));
        assert!(
            (figures.mean.unwrap() - 1.14).abs() < 1e-6 && figures.pass_rate_percent == Some(60.0)
        );
        assert_eq!(GammaFigures::new(Vec::new(), None).pass_rate_percent, None);
        assert!(!figures.to_string().contains("more than"), "{figures}");
        let ended = GammaFigures::new(vec![0.2, 1.0, 3.0, 0.4, 1.1], Some(3.0));
        assert_eq!(
            (ended.beyond_max_gamma, ended.pass_rate_percent),
            (1, Some(60.0))
        );
        assert!(
            ended
                .to_string()
                .contains("mean more than 1.140, greatest more than 3.000"),
            "{ended}"
        );
    }

    /// A mask on another grid than the dose's, of half the voxels: x up to 5 mm.
    #[test]
    fn figures_inside_a_structure() {
        let mask_grid = Grid::axis_aligned(DVec3::ZERO, DVec3::new(2.0, 2.5, 4.0), [8, 8, 4]);
        let mask_grid = Arc::new(mask_grid.unwrap());
        let fine_grid = Grid::axis_aligned(
            DVec3::new(-1.0, -1.0, -2.0),
            DVec3::new(1.0, 1.0, 2.0),
            [20, 22, 12],
        );
        let mut data = vec![0.5; mask_grid.len()];
        data[0] = f32::NAN;
        for i in [1, 2, 3] {
            data[mask_grid.index(i, 1, 1)] = 1.5;
        }
        let gamma = Volume::new(mask_grid.clone(), data);
        for on in [mask_grid, Arc::new(fine_grid.unwrap())] {
            let contours: Vec<_> = on
                .planes_mm()
                .iter()
                .map(|z| {
                    [[-2.0, -2.0], [5.0, -2.0], [5.0, 30.0], [-2.0, 30.0]]
                        .map(|[x, y]| DVec3::new(x, y, on.origin_mm().z + z))
                })
                .collect();
            let contours: Vec<&[DVec3]> = contours.iter().map(<[DVec3; 4]>::as_slice).collect();
            let mask = Mask::from_contours(&on, &contours, &|_| true).unwrap();
            let figures = GammaFigures::inside(&gamma, &mask, None);
            // 3 x 8 x 4 voxels, one of them without a gamma and two that fail.
            assert_eq!(
                (figures.points, figures.passing, figures.max),
                (95, 93, Some(1.5))
            );
        }
    }

    #[test]
    fn the_bins_below_1_hold_what_passes() {
        let histogram = GammaHistogram::new(&[0.0, 0.04, 0.049, 0.051, 1.0, 1.01, 1.99, 7.0]);
        assert_eq!(
            (
                histogram.counts[0],
                histogram.counts[1],
                histogram.counts[19]
            ),
            (3, 1, 1)
        );
        assert_eq!(
            (histogram.counts[20], histogram.counts[39], histogram.above),
            (1, 1, 1)
        );
        assert_eq!(histogram.counts[..20].iter().sum::<usize>(), 5);
    }

    #[test]
    fn what_stands_beside_is_stricter() {
        fn next(dose_percent: f64, dta_mm: f64) -> (f64, f64) {
            let finer = stricter(Criterion::global(dose_percent, dta_mm));
            (finer.dose_percent, finer.dta_mm)
        }
        assert_eq!(next(3.0, 3.0), (3.0, 2.0));
        assert_eq!(next(3.0, 2.0), (2.0, 1.0), "AAPM TG-218, section 8");
        assert_eq!(next(2.0, 2.0), (2.0, 1.0));
        assert_eq!(next(2.0, 1.0), (1.0, 1.0));
        assert_eq!(next(1.0, 1.0), (0.5, 0.5));
        for dose_percent in [1.0, 1.5, 2.0, 3.0, 5.0, 10.0] {
            for dta_mm in [1.0, 2.0, 2.5, 3.0, 10.0] {
                let requested = Criterion::global(dose_percent, dta_mm);
                let finer = stricter(requested);
                assert!(
                    finer.dose_percent <= dose_percent && finer.dta_mm <= dta_mm,
                    "{requested:?} {finer:?}"
                );
                assert!(
                    finer.dose_percent < dose_percent || finer.dta_mm < dta_mm,
                    "{requested:?} {finer:?}"
                );
                assert!(
                    finer.dose_percent > 0.0 && finer.dta_mm > 0.0,
                    "{requested:?} {finer:?}"
                );
            }
        }
    }
}
