//! Coverage: which parts of a machine a set of measured data tests, and the verdict with what it leaves untested.
//!
//! A curve is brought to agree with the computed one about one place, so points near that place agree with any machine.

use super::TankData;
use super::compare::{CalibrationReport, CurveReport, Report};
use super::held::HeldFactor;
use files::measured::{FieldEdges, MeasuredCurve, Scan, ScanAxis};
use physics::Machine;
use serde::Serialize;

/// Depth, mm, that a depth dose covers below its maximum to test the machine; AAPM TG-106 (Das et al., Med. Phys. 35, 4186 (2008)) has
/// them measured to 300 mm and more.
const DEPTH_SPAN_MM: f64 = 50.0;
/// A profile tests it where it reaches so far from the axis, or the edge of a smaller field, mm.
const PROFILE_REACH_MM: f64 = 50.0;
/// Side of the largest small field, mm: 2 cm x 2 cm of MPPG 5.b, test 7.1.
const SMALL_FIELD_MM: f64 = 20.0;
/// Fewest points of a curve beside those that it is normalised at.
const LEAST_POINTS: usize = 3;

/// A part of a machine that measured data test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachinePart {
    DepthDoses,
    ProfilesX,
    ProfilesY,
    OutputFactors,
    Calibration,
}

impl MachinePart {
    pub const ALL: [Self; 5] = [
        Self::DepthDoses,
        Self::ProfilesX,
        Self::ProfilesY,
        Self::OutputFactors,
        Self::Calibration,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::DepthDoses => "depth doses",
            Self::ProfilesX => "profiles along x",
            Self::ProfilesY => "profiles along y",
            Self::OutputFactors => "output factors",
            Self::Calibration => "absolute calibration",
        }
    }

    /// Data that would test it.
    fn wanted(self) -> &'static str {
        match self {
            Self::DepthDoses => "no depth dose that tests it",
            Self::ProfilesX | Self::ProfilesY => "no profile that tests it",
            Self::OutputFactors => "no field but the reference was measured",
            Self::Calibration => {
                "no dose per MU was measured (gy_per_mu beside the output factors)"
            }
        }
    }
}

/// The extent of a curve, as far as it tests a machine.
#[derive(Clone, Copy, Debug)]
pub struct Coverage {
    pub part: MachinePart,
    /// Extent of the points, and the least that tests the machine, mm.
    reach_mm: f64,
    least_mm: f64,
    /// Points outside the normalisation window.
    free: usize,
}

impl Coverage {
    /// `window`: the points that the curve is normalised at.
    pub fn new(curve: &MeasuredCurve, window: &[usize], maximum_mm: f64, sad_mm: f64) -> Self {
        let mut positions_mm = curve.points.iter().map(|p| p[0]);
        let free = curve.points.len() - window.len();
        match curve.scan {
            Scan::Depth => {
                let deepest_mm = curve.points.last().map_or(0.0, |p| p[0]);
                let first_mm = positions_mm
                    .find(|depth_mm| *depth_mm >= maximum_mm)
                    .unwrap_or(0.0);
                let reach_mm = deepest_mm - first_mm;
                Self {
                    part: MachinePart::DepthDoses,
                    reach_mm,
                    least_mm: DEPTH_SPAN_MM,
                    free,
                }
            }
            Scan::Profile { axis, depth_mm } => {
                let part = if axis == ScanAxis::Crossline {
                    MachinePart::ProfilesX
                } else {
                    MachinePart::ProfilesY
                };
                let side_mm = curve.field_mm[usize::from(axis == ScanAxis::Inline)];
                let edge_mm = 0.5 * side_mm * (curve.ssd_mm + depth_mm) / sad_mm;
                let reach_mm = positions_mm.map(f64::abs).fold(0.0, f64::max);
                Self {
                    part,
                    reach_mm,
                    least_mm: edge_mm.min(PROFILE_REACH_MM),
                    free,
                }
            }
        }
    }

    /// Why the curve tests nothing, in words; `judged` are its points with a tolerance.
    pub fn tests_nothing(&self, judged: usize) -> Option<String> {
        let Self {
            part,
            reach_mm,
            least_mm,
            free,
        } = *self;
        if reach_mm < least_mm {
            let whence = if part == MachinePart::DepthDoses {
                "below its maximum"
            } else {
                "from the axis"
            };
            return Some(format!(
                "it reaches {reach_mm:.1} mm {whence}, and tests the machine from {least_mm:.0} mm on"
            ));
        }
        if judged == 0 {
            return Some("no point has a tolerance".to_owned());
        }
        (free < LEAST_POINTS).then(|| {
            format!(
                "it has {free} points beside those that it is normalised at; {LEAST_POINTS} are the least"
            )
        })
    }
}

/// Tests of AAPM MPPG 5.b (Geurts et al., J. Appl. Clin. Med. Phys. 23, e13641 (2022)) that measured data do not hold. Curves are of open,
/// symmetric fields at gantry 0 in water, so that some are never among them.
pub fn untested_by_guideline(data: &TankData, machine: &Machine) -> Vec<String> {
    let has_leaf_edges = data
        .curves
        .iter()
        .any(|curve| curve.edges == FieldEdges::Leaves);
    let factors = data
        .factors
        .iter()
        .flat_map(|factors| &factors.factors)
        .map(|factor| factor.field_mm);
    let mut fields = data
        .curves
        .iter()
        .map(|curve| curve.field_mm)
        .chain(factors);
    let has_small_field = fields.any(|[x, y]| x.min(y) <= SMALL_FIELD_MM);
    let small = format!("small fields: none of {SMALL_FIELD_MM} mm or less was measured");
    let attenuators = untested_attenuators(machine);
    let tests = [
        (
            !has_leaf_edges,
            "tests 5.4 to 5.6",
            "fields shaped by leaves: no curve is of one (edges: leaves)",
        ),
        (
            true,
            "tests 5.7 and 5.8",
            "asymmetric fields and oblique incidence: no curve is of either",
        ),
        (
            true,
            "tests 6.1 and 6.2",
            "tissue other than water: curves are in water",
        ),
        (!has_small_field, "tests 7.1 and 7.2", small.as_str()),
        (
            true,
            "tests 7.3 to 7.5",
            "modulated plans from end to end: measure plans",
        ),
        (
            true,
            "section 7",
            "transmission of the leaves and between them: no reading behind closed leaves",
        ),
        (true, "accessories", attenuators.as_str()),
    ];
    let lacking = tests.into_iter().filter(|(is_lacking, ..)| *is_lacking);
    lacking
        .map(|(_, test, what)| format!("AAPM MPPG 5.b, {test}, {what}"))
        .collect()
}

/// Why couch and trays are not tested; factors of the machine file count in doses all the same.
fn untested_attenuators(machine: &Machine) -> String {
    let tables = [
        ("[couch]", machine.couch.is_some()),
        ("[trays]", !machine.trays.is_empty()),
    ];
    let tables: Vec<&str> = tables
        .into_iter()
        .filter_map(|(name, has)| has.then_some(name))
        .collect();
    let counted = match tables.is_empty() {
        true => String::new(),
        false => {
            format!(
                "; the factors in {} are taken from the machine file as they stand",
                tables.join(" and ")
            )
        }
    };
    format!("attenuation by couch and trays: no reading behind them{counted}")
}

/// Outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every part is tested and within tolerance.
    Within,
    /// Tested parts are within tolerance, and others are not tested.
    WithinWhereTested,
    /// The data test nothing.
    NotTested,
    Outside,
}

impl Report {
    pub fn verdict(&self) -> Verdict {
        let tested = MachinePart::ALL
            .into_iter()
            .filter(|part| self.tests(*part))
            .count();
        match (self.outside().is_empty(), tested) {
            (false, _) => Verdict::Outside,
            (true, 0) => Verdict::NotTested,
            (true, n) if n == MachinePart::ALL.len() && self.untested().is_empty() => {
                Verdict::Within
            }
            (true, _) => Verdict::WithinWhereTested,
        }
    }

    /// Whether what was tested is within tolerance, and something was.
    pub fn is_within(&self) -> bool {
        matches!(self.verdict(), Verdict::Within | Verdict::WithinWhereTested)
    }

    /// Data outside their tolerance, by name, and numbers that could not be fitted.
    pub fn outside(&self) -> Vec<String> {
        let mut outside = self.beyond_tolerance();
        outside.extend(self.at_bound.iter().cloned());
        outside
    }

    /// Data outside their tolerance, by name.
    pub fn beyond_tolerance(&self) -> Vec<String> {
        let curves = self.curves.iter().filter_map(CurveReport::fault);
        let factors = self
            .output_factors
            .iter()
            .filter(|f| f.within == Some(false));
        let factors = factors.map(|f| format!("{}: {:+.2} %", f.label(), f.difference_percent));
        let calibration = self
            .calibration
            .iter()
            .filter(|c| !c.within)
            .map(CalibrationReport::words);
        curves.chain(factors).chain(calibration).collect()
    }

    /// Parts of the machine, curves and tests of the guideline beside them that no data cover, each with the reason.
    pub fn not_tested(&self) -> Vec<String> {
        self.untested()
            .into_iter()
            .chain(self.guideline.iter().cloned())
            .collect()
    }

    /// Parts of the machine that no data test, and curves that test nothing, each with the reason.
    fn untested(&self) -> Vec<String> {
        let untested = MachinePart::ALL
            .into_iter()
            .filter(|part| !self.tests(*part));
        let parts = untested.map(|part| {
            let held = HeldFactor::words(&self.held).filter(|_| part == MachinePart::OutputFactors);
            let held = held.map_or_else(String::new, |words| format!("; {words}"));
            format!("{}: {}{held}", part.word(), part.wanted())
        });
        let curves = self
            .curves
            .iter()
            .filter_map(|c| Some(format!("{}: {}", c.label, c.tests_nothing.as_ref()?)));
        parts.chain(curves).collect()
    }

    fn tests(&self, part: MachinePart) -> bool {
        match part {
            MachinePart::OutputFactors => self.output_factors.iter().any(|f| f.within.is_some()),
            MachinePart::Calibration => self.calibration.is_some(),
            _ => self
                .curves
                .iter()
                .any(|c| c.part == part && c.tests_nothing.is_none()),
        }
    }

    /// The verdict in words.
    pub fn verdict_words(&self) -> String {
        let untested = MachinePart::ALL
            .into_iter()
            .filter(|part| !self.tests(*part));
        let untested = untested
            .map(MachinePart::word)
            .collect::<Vec<_>>()
            .join(", ");
        let untested_remark = if untested.is_empty() {
            String::new()
        } else {
            format!("; NOT TESTED: {untested}")
        };
        match self.verdict() {
            Verdict::Within => "all within tolerance".to_owned(),
            Verdict::WithinWhereTested if untested.is_empty() => {
                "within tolerance; some curves test nothing".to_owned()
            }
            Verdict::WithinWhereTested => format!("within tolerance where tested{untested_remark}"),
            Verdict::NotTested => "NOT TESTED: these data say nothing of the machine".to_owned(),
            Verdict::Outside => {
                let factors = self
                    .output_factors
                    .iter()
                    .filter(|f| f.within.is_some())
                    .count();
                let compared =
                    self.curves.len() + factors + usize::from(self.calibration.is_some());
                let ended = self.at_bound.len();
                let outside = self.outside().len() - ended;
                let mut words = Vec::new();
                if outside > 0 {
                    words.push(format!("{outside} of {compared} NOT within tolerance"));
                }
                if ended > 0 {
                    words.push(format!(
                        "NOT fitted: {ended} numbers stopped at the end of their range"
                    ));
                }
                words.join("; ") + &untested_remark
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(scan: Scan, places: impl Iterator<Item = f64>) -> Option<String> {
        let points: Vec<[f64; 2]> = places.map(|x_mm| [x_mm, 1.0]).collect();
        let judged = points.len();
        let window = (0..points.len())
            .filter(|n| points[*n][0].abs() <= 5.0)
            .collect::<Vec<_>>();
        let curve = MeasuredCurve {
            scan,
            field_mm: [100.0; 2],
            edges: FieldEdges::Jaws,
            ssd_mm: 900.0,
            points,
        };
        Coverage::new(&curve, &window, 15.0, 1000.0).tests_nothing(judged)
    }

    #[test]
    fn factors_of_the_machine_file_are_not_tested() {
        let mut machine = (*Machine::resolve("generic-6mv").unwrap()).clone();
        let none = "attenuation by couch and trays: no reading behind them";
        assert_eq!(untested_attenuators(&machine), none);
        machine.trays.insert("T1".to_owned(), 0.97);
        assert_eq!(
            untested_attenuators(&machine),
            format!("{none}; the factors in [trays] are taken from the machine file as they stand")
        );
    }

    #[test]
    fn curves_of_a_few_mm_test_nothing() {
        let profile = Scan::Profile {
            axis: ScanAxis::Crossline,
            depth_mm: 100.0,
        };
        let over = |half: i32| (-half..=half).map(f64::from);
        assert!(coverage(profile, over(4)).is_some_and(|why| why.contains("4.0 mm from the axis")));
        assert_eq!(coverage(profile, over(60)), None);
        // Half a profile tests its half.
        assert_eq!(coverage(profile, (0..60).map(f64::from)), None);
        assert!(
            coverage(profile, [-60.0, 0.0, 1.0, 2.0, 60.0].into_iter())
                .is_some_and(|w| w.contains("2 points"))
        );
        let two_mm = (0..5).map(|n| 100.0 + 0.5 * f64::from(n));
        assert!(coverage(Scan::Depth, two_mm).is_some_and(|why| why.contains("2.0 mm below")));
        assert_eq!(
            coverage(Scan::Depth, (0..30).map(|n| 5.0 * f64::from(n))),
            None
        );
    }
}
