//! Measured against computed: normalisation, regions, differences, distance to agreement, verdicts.

use super::TankData;
use super::coverage::{Coverage, MachinePart, untested_by_guideline};
use super::held::HeldFactor;
use super::tank::Layout;
use files::measured::{MeasuredCurve, Scan, ScanAxis};
use physics::{Calibration, Machine};
use serde::Serialize;

/// Tolerances. High dose, penumbra and tail: AAPM MPPG 5.b (Geurts et al., J. Appl. Clin. Med. Phys. 23, e13641 (2022)), tests
/// 5.4 to 5.8, one parameter changed. Build-up: Venselaar et al., Radiother. Oncol. 60, 191 (2001), as IAEA TRS-430.
pub const HIGH_DOSE_PERCENT: f64 = 2.0;
pub const PENUMBRA_MM: f64 = 2.0;
pub const TAIL_PERCENT: f64 = 3.0;
pub const BUILD_UP_MM: f64 = 2.0;
pub const BUILD_UP_PERCENT: f64 = 10.0;
/// Dose per MU where the machine is calibrated: AAPM TG-53 (Fraass et al., Med. Phys. 25, 1773 (1998)), table 4-4, absolute dose at
/// the normalisation point; AAPM MPPG 5.b, test 5.2. In another field or at another depth the high dose's tolerance holds.
pub const CALIBRATION_PERCENT: f64 = 0.5;
/// Half width of the penumbra about the edge of the field, and the end of the tail beyond it, mm.
const EDGE_MM: f64 = 10.0;
const TAIL_MM: f64 = 50.0;
/// Depth doses agree at this depth, profiles on the axis: means over so much either side, mm.
const NORM_DEPTH_MM: f64 = 100.0;
const NORM_HALF_MM: [f64; 2] = [10.0, 5.0];
/// Agreement is looked for so far away, mm.
const REACH_MM: f64 = 20.0;

/// The tolerances in words.
pub fn tolerances() -> String {
    format!(
        "{HIGH_DOSE_PERCENT} % of the local dose, {PENUMBRA_MM} mm or {HIGH_DOSE_PERCENT} % in the penumbra, {TAIL_PERCENT} % of the axis in the tail up to \
         {TAIL_MM} mm from the edge (AAPM MPPG 5.b, 2022); {BUILD_UP_MM} mm or {BUILD_UP_PERCENT} % in the build-up (Venselaar 2001, IAEA \
         TRS-430); {CALIBRATION_PERCENT} % of the dose per MU where the machine is calibrated (AAPM TG-53), {HIGH_DOSE_PERCENT} % elsewhere"
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    BuildUp,
    HighDose,
    Penumbra,
    Tail,
    /// Farther out than any tolerance is stated for.
    Beyond,
}

impl Region {
    pub fn word(self) -> &'static str {
        match self {
            Self::BuildUp => "build-up",
            Self::HighDose => "high-dose",
            Self::Penumbra => "penumbra",
            Self::Tail => "tail",
            Self::Beyond => "beyond",
        }
    }
}

impl Region {
    /// The region of a point of a curve whose greatest dose is measured at `maximum_mm`.
    fn at(curve: &MeasuredCurve, position_mm: f64, maximum_mm: f64, sad_mm: f64) -> Self {
        match curve.scan {
            Scan::Depth if position_mm < maximum_mm => Self::BuildUp,
            Scan::Depth => Self::HighDose,
            Scan::Profile { axis, depth_mm } => {
                let side = curve.field_mm[usize::from(axis == ScanAxis::Inline)];
                let beyond_edge_mm =
                    position_mm.abs() - 0.5 * side * (curve.ssd_mm + depth_mm) / sad_mm;
                match beyond_edge_mm {
                    b if b < -EDGE_MM => Self::HighDose,
                    b if b <= EDGE_MM => Self::Penumbra,
                    b if b <= TAIL_MM => Self::Tail,
                    _ => Self::Beyond,
                }
            }
        }
    }
}

/// A measured curve in percent, ready to be compared.
#[derive(Debug)]
pub struct Prepared {
    pub label: String,
    pub position_mm: Vec<f64>,
    pub measured: Vec<f64>,
    pub regions: Vec<Region>,
    /// Percent per mm.
    pub slope: Vec<f64>,
    /// Points at which measured and computed agree on average.
    window: Vec<usize>,
    coverage: Coverage,
}

impl Prepared {
    pub fn new(curve: &MeasuredCurve, sad_mm: f64) -> Self {
        let position_mm: Vec<f64> = curve.points.iter().map(|p| p[0]).collect();
        let greatest = curve.points.iter().map(|p| p[1]).fold(0.0, f64::max);
        let deepest = curve.points.last().map_or(0.0, |p| p[0]);
        let maximum_mm = curve
            .points
            .iter()
            .find(|p| p[1] >= greatest)
            .map_or(0.0, |p| p[0]);
        let (norm_mm, half_mm) = match curve.scan {
            Scan::Depth if deepest >= NORM_DEPTH_MM => (NORM_DEPTH_MM, NORM_HALF_MM[0]),
            Scan::Depth => (maximum_mm, 1.0),
            Scan::Profile { .. } => (0.0, NORM_HALF_MM[1]),
        };
        let window = window(&position_mm, norm_mm, half_mm);
        let at_norm = mean(&window, |i| curve.points[i][1]);
        // Depth doses in percent of their maximum, profiles of their axis.
        let hundred = match curve.scan {
            Scan::Depth => greatest,
            Scan::Profile { .. } => {
                if at_norm > 0.0 {
                    at_norm
                } else {
                    greatest
                }
            }
        };
        let measured: Vec<f64> = curve
            .points
            .iter()
            .map(|p| 100.0 * p[1] / hundred)
            .collect();
        let regions = position_mm
            .iter()
            .map(|x_mm| Region::at(curve, *x_mm, maximum_mm, sad_mm))
            .collect();
        let slope = slopes(&position_mm, &measured);
        let coverage = Coverage::new(curve, &window, maximum_mm, sad_mm);
        Self {
            label: curve.label(),
            position_mm,
            measured,
            regions,
            slope,
            window,
            coverage,
        }
    }

    /// Computed doses in the percent of the measured ones.
    pub fn percent(&self, computed: &[f64]) -> Vec<f64> {
        let computed_mean = mean(&self.window, |i| computed[i]);
        let factor = if computed_mean > 0.0 {
            mean(&self.window, |i| self.measured[i]) / computed_mean
        } else {
            0.0
        };
        computed.iter().map(|dose| factor * dose).collect()
    }
}

fn mean(window: &[usize], value: impl Fn(usize) -> f64) -> f64 {
    window.iter().map(|i| value(*i)).sum::<f64>() / window.len().max(1) as f64
}

/// The points about a place; the nearest where none is near.
fn window(position_mm: &[f64], at_mm: f64, half_mm: f64) -> Vec<usize> {
    let near: Vec<usize> = (0..position_mm.len())
        .filter(|i| (position_mm[*i] - at_mm).abs() <= half_mm)
        .collect();
    // Points on one side alone would shift a sloping curve.
    let balanced = near.iter().any(|i| position_mm[*i] <= at_mm)
        && near.iter().any(|i| position_mm[*i] >= at_mm);
    if balanced {
        return near;
    }
    let offsets_mm = position_mm.iter().map(|mm| (mm - at_mm).abs()).enumerate();
    offsets_mm
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(i, _)| i)
        .into_iter()
        .collect()
}

fn slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let last = x.len().saturating_sub(1);
    (0..x.len())
        .map(|i| {
            let (a, b) = (i.saturating_sub(1), (i + 1).min(last));
            ((y[b] - y[a]) / (x[b] - x[a])).abs()
        })
        .collect()
}

/// A point of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PointReport {
    pub position_mm: f64,
    /// Percent of the maximum (depth dose) or of the axis (profile).
    pub measured_percent: f64,
    pub computed_percent: f64,
    pub region: Region,
    /// Distance to agreement in steep regions, mm; `None` elsewhere, and beyond 20 mm.
    pub dta_mm: Option<f64>,
    /// `None` where no tolerance is stated.
    pub within: Option<bool>,
}

/// A curve compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveReport {
    pub label: String,
    pub part: MachinePart,
    /// Why agreement with the curve says nothing of the machine.
    pub tests_nothing: Option<String>,
    /// Mean, root of the mean square and greatest (with its sign) of computed less measured, percent of the normalisation, all
    /// regions.
    pub mean_percent: f64,
    pub rms_percent: f64,
    pub greatest_percent: f64,
    /// Greatest difference in the high-dose region, percent of the local dose.
    pub high_dose_percent: Option<f64>,
    /// Greatest distance to agreement in penumbra or build-up, mm.
    pub dta_mm: Option<f64>,
    /// Points with a tolerance, and those outside it.
    pub judged: usize,
    pub outside: usize,
    /// Regions with points outside.
    pub outside_in: Vec<Region>,
    #[serde(skip)]
    pub points: Vec<PointReport>,
}

/// An output factor compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FactorReport {
    pub field_mm: [f64; 2],
    pub measured: f64,
    pub computed: f64,
    pub difference_percent: f64,
    /// `None` for the reference field, whose factor is 1 in any machine.
    pub within: Option<bool>,
}

/// The dose per MU compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CalibrationReport {
    pub field_mm: [f64; 2],
    pub ssd_mm: f64,
    pub depth_mm: f64,
    /// Gy per MU.
    pub measured: f64,
    pub computed: f64,
    pub difference_percent: f64,
    pub tolerance_percent: f64,
    pub within: bool,
}

/// All data compared with a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub curves: Vec<CurveReport>,
    pub output_factors: Vec<FactorReport>,
    pub calibration: Option<CalibrationReport>,
    /// Numbers of a fit that ended at the end of their range, in words.
    pub at_bound: Vec<String>,
    /// Output factors that a fit held at the values of its starting machine.
    pub held: Vec<HeldFactor>,
    /// Tests of the guideline that the data do not hold, in words.
    pub guideline: Vec<String>,
}

impl Report {
    pub fn new(
        data: &TankData,
        machine: &Machine,
        layout: &Layout,
        prepared: &[Prepared],
        doses: &[f64],
    ) -> Self {
        let curves = prepared
            .iter()
            .zip(&layout.curves)
            .map(|(p, range)| compared(p, &p.percent(&doses[range.clone()])));
        let reference = doses.get(layout.reference).copied().unwrap_or(0.0);
        let reference_mm = data.factors.as_ref().map(|f| f.reference_mm);
        let factors = data
            .factors
            .iter()
            .flat_map(|f| &f.factors)
            .zip(&doses[layout.factors.clone()]);
        let factors = factors.map(|(factor, dose)| {
            let computed = if reference > 0.0 {
                dose / reference
            } else {
                0.0
            };
            let difference_percent = 100.0 * (computed / factor.factor - 1.0);
            let tests = Some(factor.field_mm) != reference_mm;
            FactorReport {
                field_mm: factor.field_mm,
                measured: factor.factor,
                computed,
                difference_percent,
                within: tests.then_some(difference_percent.abs() <= HIGH_DOSE_PERCENT),
            }
        });
        let calibration = data.factors.as_ref().and_then(|factors| {
            let measured = factors.gy_per_mu?;
            let difference_percent = 100.0 * (reference / measured - 1.0);
            let is_calibrated_there = matches!(machine.calibration, Calibration::Reference { field_mm, ssd_mm, depth_mm, .. }
                if (field_mm, ssd_mm, depth_mm) == (factors.reference_mm, factors.ssd_mm, factors.depth_mm));
            let tolerance_percent = if is_calibrated_there { CALIBRATION_PERCENT } else { HIGH_DOSE_PERCENT };
            Some(CalibrationReport {
                field_mm: factors.reference_mm,
                ssd_mm: factors.ssd_mm,
                depth_mm: factors.depth_mm,
                measured,
                computed: reference,
                difference_percent,
                tolerance_percent,
                within: difference_percent.abs() <= tolerance_percent,
            })
        });
        Self {
            curves: curves.collect(),
            output_factors: factors.collect(),
            calibration,
            at_bound: Vec::new(),
            held: Vec::new(),
            guideline: untested_by_guideline(data, machine),
        }
    }
}

/// Headings of [`CurveReport::cells`]. [`LOCAL`] explains the high dose.
pub const COLUMNS: [&str; 7] = [
    "curve",
    "mean",
    "rms",
    "greatest",
    "high dose *",
    "DTA mm",
    "outside",
];
pub const LOCAL: &str = "* greatest, % of the local dose";

impl CurveReport {
    /// Figures of the curve in words, as [`COLUMNS`] names them.
    pub fn cells(&self) -> [String; 7] {
        [
            self.label.clone(),
            format!("{:+.2}", self.mean_percent),
            format!("{:.2}", self.rms_percent),
            format!("{:+.2}", self.greatest_percent),
            self.high_dose_percent
                .map_or_else(|| "-".to_owned(), |v| format!("{v:+.2}")),
            self.dta_mm
                .map_or_else(|| "-".to_owned(), |v| format!("{v:.1}")),
            format!("{} of {}", self.outside, self.judged),
        ]
    }

    /// Why the curve is not within tolerance.
    pub fn fault(&self) -> Option<String> {
        let regions: Vec<&str> = self.outside_in.iter().map(|r| r.word()).collect();
        let Self {
            label,
            outside,
            judged,
            ..
        } = self;
        (*outside > 0).then(|| {
            format!(
                "{label}: {outside} of {judged} points outside, in {}",
                regions.join(", ")
            )
        })
    }
}

impl PointReport {
    /// Computed less measured, percent of the normalisation.
    pub fn difference_percent(&self) -> f64 {
        self.computed_percent - self.measured_percent
    }

    fn local_difference_percent(&self) -> f64 {
        100.0 * self.difference_percent() / self.measured_percent.max(1e-9)
    }
}

impl FactorReport {
    /// `output factor 50 x 50 mm`.
    pub fn label(&self) -> String {
        let [x, y] = self.field_mm;
        format!("output factor {x} x {y} mm")
    }

    /// The factor with its values in words.
    pub fn words(&self) -> String {
        let Self {
            measured,
            computed,
            difference_percent,
            ..
        } = self;
        let tests = if self.within.is_none() {
            " (the reference itself: tests nothing)"
        } else {
            ""
        };
        format!(
            "{}: measured {measured:.4}, computed {computed:.4}, {difference_percent:+.2} %{tests}",
            self.label()
        )
    }
}

impl CalibrationReport {
    /// The dose per MU with where it is, in words.
    pub fn words(&self) -> String {
        let Self {
            field_mm: [x, y],
            ssd_mm,
            depth_mm,
            measured,
            computed,
            difference_percent,
            ..
        } = self;
        format!(
            "dose per MU {x} x {y} mm, SSD {ssd_mm}, depth {depth_mm}: measured {measured:.5} Gy, computed {computed:.5} Gy, \
             {difference_percent:+.2} % (tolerance {} %)",
            self.tolerance_percent
        )
    }
}

fn larger_magnitude(a: f64, b: f64) -> f64 {
    if b.abs() > a.abs() { b } else { a }
}

fn compared(curve: &Prepared, computed: &[f64]) -> CurveReport {
    let points: Vec<PointReport> = (0..computed.len())
        .map(|i| point(curve, computed, i))
        .collect();
    let count = points.len().max(1) as f64;
    let difference = PointReport::difference_percent;
    let points_in = |region: Region| points.iter().filter(move |p| p.region == region);
    let regions = [
        Region::BuildUp,
        Region::HighDose,
        Region::Penumbra,
        Region::Tail,
    ];
    let judged = points.iter().filter(|p| p.within.is_some()).count();
    CurveReport {
        label: curve.label.clone(),
        part: curve.coverage.part,
        tests_nothing: curve.coverage.tests_nothing(judged),
        mean_percent: points.iter().map(difference).sum::<f64>() / count,
        rms_percent: (points.iter().map(|p| difference(p).powi(2)).sum::<f64>() / count).sqrt(),
        greatest_percent: points.iter().map(difference).fold(0.0, larger_magnitude),
        high_dose_percent: points_in(Region::HighDose)
            .map(PointReport::local_difference_percent)
            .reduce(larger_magnitude),
        dta_mm: points_in(Region::Penumbra)
            .chain(points_in(Region::BuildUp))
            .filter_map(|p| p.dta_mm)
            .reduce(f64::max),
        judged,
        outside: points.iter().filter(|p| p.within == Some(false)).count(),
        outside_in: regions
            .into_iter()
            .filter(|r| points_in(*r).any(|p| p.within == Some(false)))
            .collect(),
        points,
    }
}

fn point(curve: &Prepared, computed: &[f64], i: usize) -> PointReport {
    let (measured, region) = (curve.measured[i], curve.regions[i]);
    let off = (computed[i] - measured).abs();
    let steep = matches!(region, Region::Penumbra | Region::BuildUp);
    let dta_mm = if steep {
        distance(&curve.position_mm, computed, i, measured)
    } else {
        None
    };
    let within = match region {
        Region::HighDose => Some(off <= 0.01 * HIGH_DOSE_PERCENT * measured),
        Region::Penumbra => {
            Some(off <= HIGH_DOSE_PERCENT || dta_mm.is_some_and(|mm| mm <= PENUMBRA_MM))
        }
        Region::BuildUp => Some(
            off <= 0.01 * BUILD_UP_PERCENT * measured || dta_mm.is_some_and(|mm| mm <= BUILD_UP_MM),
        ),
        Region::Tail => Some(off <= TAIL_PERCENT),
        Region::Beyond => None,
    };
    let position_mm = curve.position_mm[i];
    PointReport {
        position_mm,
        measured_percent: measured,
        computed_percent: computed[i],
        region,
        dta_mm,
        within,
    }
}

/// Distance along the curve to the nearest place where the computed one, straight between its points, has a value.
fn distance(x: &[f64], computed: &[f64], i: usize, value: f64) -> Option<f64> {
    let from = x
        .partition_point(|p| *p < x[i] - REACH_MM)
        .saturating_sub(1);
    let to = x
        .partition_point(|p| *p <= x[i] + REACH_MM)
        .min(x.len().saturating_sub(1));
    let distances_mm = (from..to).filter_map(|k| {
        let (a, b) = (computed[k], computed[k + 1]);
        if (a - value) * (b - value) > 0.0 {
            return None;
        }
        let t = if a == b { 0.0 } else { (value - a) / (b - a) };
        Some((x[k] + t * (x[k + 1] - x[k]) - x[i]).abs())
    });
    distances_mm.filter(|mm| *mm <= REACH_MM).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use files::measured::FieldEdges;

    /// A profile of a field of 100 mm at the isocentre plane: edges are ramps of 10 % a mm over 10 mm.
    fn ramp(shift_mm: f64) -> Vec<[f64; 2]> {
        (-80..=80)
            .map(f64::from)
            .map(|x| [x, (10.0 * (55.0 - (x - shift_mm).abs())).clamp(0.0, 100.0)])
            .collect()
    }

    fn profile(points: Vec<[f64; 2]>) -> MeasuredCurve {
        let scan = Scan::Profile {
            axis: ScanAxis::Crossline,
            depth_mm: 100.0,
        };
        MeasuredCurve {
            scan,
            field_mm: [100.0; 2],
            edges: FieldEdges::Jaws,
            ssd_mm: 900.0,
            points,
        }
    }

    #[test]
    fn a_shifted_edge_is_off_by_its_shift() {
        let curve = Prepared::new(&profile(ramp(0.0)), 1000.0);
        for (shift_mm, within) in [(0.0, true), (1.5, true), (3.0, false)] {
            let computed: Vec<f64> = ramp(shift_mm).iter().map(|p| 0.02 * p[1]).collect();
            let report = compared(&curve, &curve.percent(&computed));
            // On the ramp the distance is the shift; where it begins and ends the plateau is as near.
            let steepest = report
                .points
                .iter()
                .find(|p| p.position_mm == 50.0)
                .unwrap();
            assert!(
                (steepest.dta_mm.unwrap() - shift_mm).abs() < 1e-9,
                "{shift_mm}: {steepest:?}"
            );
            assert!(
                (steepest.computed_percent - steepest.measured_percent - 10.0 * shift_mm).abs()
                    < 1e-9
            );
            assert_eq!(report.outside == 0, within, "{shift_mm}: {report:?}");
            assert_eq!(report.high_dose_percent, Some(0.0));
        }
    }

    /// A depth dose that falls too fast: 3 % of the local dose too low at 200 mm, equal at 100 mm.
    #[test]
    fn a_depth_dose_is_judged_by_the_local_dose() {
        let dose = |depth: f64, mu: f64| {
            if depth < 15.0 {
                0.5 + depth / 30.0
            } else {
                (-mu * (depth - 15.0)).exp()
            }
        };
        let mu = 0.005;
        let steeper = mu - 0.97_f64.ln() / 100.0;
        let points: Vec<[f64; 2]> = (0..=200)
            .map(|d| [f64::from(d), dose(f64::from(d), mu)])
            .collect();
        let curve = MeasuredCurve {
            scan: Scan::Depth,
            field_mm: [100.0; 2],
            edges: FieldEdges::Jaws,
            ssd_mm: 900.0,
            points,
        };
        let prepared = Prepared::new(&curve, 1000.0);
        let computed: Vec<f64> = prepared
            .position_mm
            .iter()
            .map(|d| dose(*d, steeper))
            .collect();
        let report = compared(&prepared, &prepared.percent(&computed));
        assert!(
            (report.high_dose_percent.unwrap() + 3.0).abs() < 0.02,
            "{:?}",
            report.high_dose_percent
        );
        let last = report.points.last().unwrap();
        assert!(
            (last.computed_percent / last.measured_percent - 0.97).abs() < 2e-4,
            "{last:?}"
        );
        assert_eq!(
            (last.within, report.outside_in.contains(&Region::HighDose)),
            (Some(false), true)
        );
    }
}
