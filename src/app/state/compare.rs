//! Settings of the Compare workspace: the two doses, their overlay, the display of their difference.

use super::ViewKind;
use crate::render::Isolines;
use case::{Case, Goal, Rgb};
use engine::gamma::Criterion;
use results::MOST_GAMMA;
use serde::{Deserialize, Serialize};

/// A dose that can be A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The computed dose of a plan, by index.
    Plan(usize),
    /// One beam of the displayed plan, by beam number.
    Beam(u32),
    /// A dose of the case (from a file, or made here), by index.
    Dose(usize),
}

/// A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    A,
    B,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    pub fn index(self) -> usize {
        self as usize
    }
}

/// Arrangement of the two doses in the middle of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layout {
    /// A, B, B - A and gamma, four views of one plane.
    #[default]
    SideBySide,
    Swipe,
    Checkerboard,
    Spyglass,
    /// Shows A, and B while the key is held.
    Flicker,
    Difference,
    Gamma,
}

impl Layout {
    pub const ALL: [Self; 7] = [
        Self::SideBySide,
        Self::Swipe,
        Self::Checkerboard,
        Self::Spyglass,
        Self::Flicker,
        Self::Difference,
        Self::Gamma,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::SideBySide => "Side by side",
            Self::Swipe => "Swipe",
            Self::Checkerboard => "Checkerboard",
            Self::Spyglass => "Spyglass",
            Self::Flicker => "Flicker",
            Self::Difference => "Difference",
            Self::Gamma => "Gamma map",
        }
    }

    /// Content of the layout and its controls.
    pub fn hint(self) -> &'static str {
        match self {
            Self::SideBySide => "A, B, B - A and gamma on the same plane",
            Self::Swipe => "A on the left, B on the right of a line that is dragged",
            Self::Checkerboard => "A and B in turn, square by square",
            Self::Spyglass => "B in a disc round the pointer, A around it",
            Self::Flicker => "A; B while the space bar is held",
            Self::Difference => "B - A, blue where B is lower and red where it is higher",
            Self::Gamma => "Gamma: blue passes, white is 1, orange fails",
        }
    }
}

/// Unit of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[default]
    Gy,
    /// Percent of the reference dose that is 100 %.
    Percent,
    /// Percent of the dose of A at the same position.
    LocalPercent,
}

impl Unit {
    pub const ALL: [Self; 3] = [Self::Gy, Self::Percent, Self::LocalPercent];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gy => "Gy",
            Self::Percent => "% of 100 %",
            Self::LocalPercent => "% of A (local)",
        }
    }

    /// Suffix of a number.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Gy => "Gy",
            Self::Percent | Self::LocalPercent => "%",
        }
    }
}

/// Display of B - A; the scale is symmetric about 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifferenceDisplay {
    pub unit: Unit,
    /// Smaller differences are not drawn, in the unit, on either side.
    pub dead_band: f64,
    /// End of the scale, in the unit, on either side.
    pub end: f64,
    /// 0 to 1.
    pub opacity: f64,
}

impl DifferenceDisplay {
    /// Defaults for a unit, with 100 % in Gy.
    pub fn of(unit: Unit, reference_gy: f64) -> Self {
        let [dead_band, end] = match unit {
            Unit::Gy => [rounded(0.01 * reference_gy), rounded(0.1 * reference_gy)],
            Unit::Percent | Unit::LocalPercent => [1.0, 10.0],
        };
        Self { unit, dead_band, end, opacity: 0.75 }
    }

    /// B - A at a position in the unit; `None` if undefined: without a 100 %, or local where A is too low.
    pub fn value(&self, a_gy: f64, b_gy: f64, reference_gy: Option<f64>) -> Option<f64> {
        let gy = b_gy - a_gy;
        match self.unit {
            Unit::Gy => Some(gy),
            Unit::Percent => Some(100.0 * gy / reference_gy?),
            Unit::LocalPercent => {
                (a_gy > 0.0 && a_gy >= LOCAL_FROM * reference_gy?).then(|| 100.0 * gy / a_gy)
            }
        }
    }

    /// Marks of the legend, from the top; symmetric about 0.
    pub fn marks(&self) -> [f64; 5] {
        [self.end, 0.5 * self.end, 0.0, -0.5 * self.end, -self.end]
    }
}

impl Default for DifferenceDisplay {
    fn default() -> Self {
        Self::of(Unit::Percent, 1.0)
    }
}

/// Local percent are defined where A is at least this share of 100 %.
pub const LOCAL_FROM: f64 = 0.1;

/// Rounds down to 1, 2 or 5 times a power of ten.
fn rounded(gy: f64) -> f64 {
    let power = 10.0_f64.powf(gy.max(1e-6).log10().floor());
    power * [5.0, 2.0, 1.0].into_iter().find(|m| m * power <= gy * 1.000_001).unwrap_or(1.0)
}

/// Colours of a difference from the most negative to the most positive (ColorBrewer's RdBu without its middle):
/// distinguishable with all kinds of colour vision, palest near zero.
pub const DIVERGING: [Rgb; 6] = [
    Rgb([33, 102, 172]),
    Rgb([67, 147, 195]),
    Rgb([166, 206, 227]),
    Rgb([251, 206, 180]),
    Rgb([224, 106, 85]),
    Rgb([188, 24, 43]),
];

/// Colours of gamma at 0, 1 and the end of the scale.
pub const GAMMA_COLOURS: [Rgb; 3] = [Rgb([24, 78, 168]), Rgb([250, 250, 250]), Rgb([240, 120, 10])];

/// Rim of the failing voxels.
pub const FAILING: Rgb = Rgb([255, 60, 0]);

/// Colour of a difference at a share -1 to 1 of the scale, as in `kernels/compare.wgsl`.
pub fn difference_colour(share: f64) -> Rgb {
    let t = share.abs().min(1.0) * 2.0;
    let n = (t.floor() as usize).min(1);
    let [from, to] = if share > 0.0 { [3 + n, 4 + n] } else { [2 - n, 1 - n] };
    mixed(DIVERGING[from], DIVERGING[to], t - n as f64)
}

/// Colour of a gamma on a scale that ends at `end`, as in `kernels/compare.wgsl`.
pub fn gamma_colour(gamma: f64, end: f64) -> Rgb {
    let [zero, one, most] = GAMMA_COLOURS;
    if gamma <= 1.0 {
        return mixed(zero, one, gamma.max(0.0));
    }
    // A gamma just above 1 is already orange enough to differ from white.
    let t = ((gamma - 1.0) / (end - 1.0).max(1e-6)).clamp(0.0, 1.0);
    mixed(one, most, 0.35 + 0.65 * t)
}

/// Colour of a signed gamma on a scale that ends at `end` on either side, as in `kernels/compare.wgsl`: pale up to 1,
/// darker from there on.
pub fn signed_gamma_colour(gamma: f64, end: f64) -> Rgb {
    let size = gamma.abs();
    let share = match size {
        s if s <= 1.0 => 0.3 * s,
        s => 0.5 + 0.5 * ((s - 1.0) / (end - 1.0).max(1e-6)).min(1.0),
    };
    difference_colour(share.copysign(gamma))
}

fn mixed(Rgb(a): Rgb, Rgb(b): Rgb, t: f64) -> Rgb {
    Rgb([0, 1, 2].map(|n| (f64::from(a[n]) + (f64::from(b[n]) - f64::from(a[n])) * t).round() as u8))
}

/// Normalisation of gamma's percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum GammaNorm {
    /// The near-maximum of the reference dose, which no single voxel moves.
    NearMaximum,
    /// The maximum of the reference dose.
    Maximum,
    /// The 100 % of the comparison.
    Hundred,
    /// A typed dose, Gy.
    Typed(f64),
}

/// The criteria of gamma.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GammaSettings {
    pub dose_percent: f64,
    pub dta_mm: f64,
    pub local: bool,
    /// Reference doses below this are excluded, percent of the normalisation.
    pub threshold_percent: f64,
    /// Upper limit of the search and of the colour scale.
    pub max_gamma: f64,
    pub norm: GammaNorm,
    /// A is the reference and B evaluated, unless this is set.
    pub b_is_reference: bool,
    /// A second, stricter criterion: dose in percent, distance in mm.
    pub second: Option<[f64; 2]>,
    /// Whether the map is signed: positive where the evaluated dose is higher.
    pub signed: bool,
    /// The reference, a dose of a file, was measured: limits are published for it.
    pub measured: bool,
}

impl Default for GammaSettings {
    /// AAPM TG-218, section 8: 3 %/2 mm, global, threshold 10 %; as second criterion 2 %/1 mm.
    fn default() -> Self {
        Self {
            dose_percent: 3.0,
            dta_mm: 2.0,
            local: false,
            threshold_percent: 10.0,
            max_gamma: MOST_GAMMA,
            norm: GammaNorm::NearMaximum,
            b_is_reference: false,
            second: Some([2.0, 1.0]),
            signed: false,
            measured: false,
        }
    }
}

impl GammaSettings {
    /// The criteria, the first one first.
    pub fn criteria(&self) -> Vec<Criterion> {
        let of = |[dose_percent, dta_mm]: [f64; 2]| Criterion { dose_percent, dta_mm, local: self.local };
        [Some([self.dose_percent, self.dta_mm]), self.second].into_iter().flatten().map(of).collect()
    }

    /// The reference side, then the evaluated side.
    pub fn roles(&self) -> [Side; 2] {
        if self.b_is_reference { [Side::B, Side::A] } else { [Side::A, Side::B] }
    }
}

impl Compare {
    /// Whether the reference of gamma can have been measured: a dose of a file, not computed here.
    pub fn may_be_measured(&self) -> bool {
        matches!(self.sides[self.gamma.roles()[0].index()], Some(Source::Dose(_)))
    }
}

/// All settings of the Compare workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compare {
    /// A and B.
    pub sides: [Option<Source>; 2],
    pub layout: Layout,
    pub plane: ViewKind,
    pub isolines: Isolines,
    pub difference: DifferenceDisplay,
    pub gamma: GammaSettings,
    /// Position of the swipe's line, share of the width.
    pub swipe: f32,
    /// Weights of A and B for a new dose.
    pub weights: [f64; 2],
    /// Goals of sessions that kept them here; those of the case take their place.
    #[serde(rename = "goals", skip_serializing)]
    pub(super) former_goals: Vec<Goal>,
    /// Path of the report, as typed.
    #[serde(skip)]
    pub report_path: String,
}

impl Default for Compare {
    fn default() -> Self {
        Self {
            sides: [None, None],
            layout: Layout::default(),
            plane: ViewKind::Axial,
            isolines: Isolines::default(),
            difference: DifferenceDisplay::default(),
            gamma: GammaSettings::default(),
            swipe: 0.5,
            weights: [-1.0, 1.0],
            former_goals: Vec::new(),
            report_path: String::new(),
        }
    }
}

impl Compare {
    /// The settings of a session for its case; settings that are invalid or do not fit the case take their defaults.
    pub fn restored(mut self, case: &Case) -> Self {
        let usual = Self::default();
        let there = |source: &Source| match source {
            Source::Plan(plan) => *plan < case.plans.len(),
            Source::Beam(beam) => case.plans.iter().any(|p| p.beams.iter().any(|b| b.number == *beam)),
            Source::Dose(dose) => *dose < case.doses.len(),
        };
        self.sides = self.sides.map(|side| side.filter(there));
        let GammaSettings { dose_percent, dta_mm, threshold_percent, max_gamma, norm, second, .. } =
            self.gamma;
        let criterion = |c: [f64; 2]| c.into_iter().all(|v| (0.1..=20.0).contains(&v));
        let sound = criterion([dose_percent, dta_mm])
            && second.is_none_or(criterion)
            && (0.0..=90.0).contains(&threshold_percent)
            && (1.5..=5.0).contains(&max_gamma)
            && !matches!(norm, GammaNorm::Typed(gy) if !(0.01..=500.0).contains(&gy));
        if !sound {
            self.gamma = usual.gamma;
        }
        let DifferenceDisplay { dead_band, end, opacity, .. } = self.difference;
        if !((0.0..=1000.0).contains(&dead_band)
            && end > dead_band
            && end <= 1000.0
            && (0.0..=1.0).contains(&opacity))
        {
            self.difference = usual.difference;
        }
        if !(0.0..=1.0).contains(&self.swipe) || self.weights.iter().any(|w| !(-100.0..=100.0).contains(w)) {
            (self.swipe, self.weights) = (usual.swipe, usual.weights);
        }
        self
    }

    /// Default sides for a case: the dose of a file against the computed one, else two plans, else two doses. All-zero
    /// doses (some systems export them for beams that they did not compute) come last.
    pub fn for_case(case: &Case, computed: impl Fn(usize) -> bool) -> [Option<Source>; 2] {
        let plans = (0..case.plans.len()).filter(|p| computed(*p)).map(Source::Plan);
        let mut doses: Vec<usize> = (0..case.doses.len()).collect();
        doses.sort_by_key(|n| !case.doses[*n].gy.data().iter().any(|gy| *gy > 0.0));
        let doses = doses.into_iter().map(Source::Dose);
        let [mut plans, mut doses] = [plans.collect::<Vec<_>>(), doses.collect()].map(Vec::into_iter);
        let mut order = Vec::new();
        match (doses.len(), plans.len()) {
            (0, _) => order.extend(&mut plans),
            (_, 0) => order.extend(&mut doses),
            _ => order.extend(doses.next().into_iter().chain(plans.next())),
        }
        let mut order = order.into_iter();
        [order.next(), order.next()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Dose, DoseStatus};
    use geometry::{Grid, Volume};
    use glam::DVec3;
    use std::sync::Arc;

    #[test]
    fn differences_are_b_less_a_in_each_unit() {
        let of = |unit| DifferenceDisplay::of(unit, 50.0);
        assert_eq!(of(Unit::Gy).value(20.0, 19.0, Some(50.0)), Some(-1.0));
        assert_eq!(of(Unit::Percent).value(20.0, 19.0, Some(50.0)), Some(-2.0));
        assert_eq!(of(Unit::LocalPercent).value(20.0, 19.0, Some(50.0)), Some(-5.0));
        assert_eq!(
            of(Unit::LocalPercent).value(4.9, 19.0, Some(50.0)),
            None,
            "A is too low for local percent"
        );
        assert_eq!(of(Unit::Percent).value(20.0, 19.0, None), None, "no 100 %, no percent");
    }

    #[test]
    fn the_legend_reaches_as_far_down_as_up() {
        for unit in Unit::ALL {
            let marks = DifferenceDisplay::of(unit, 37.0).marks();
            for (up, down) in marks.iter().zip(marks.iter().rev()) {
                assert_eq!(*up, -*down);
            }
            assert!(marks[0] > 0.0);
        }
    }

    #[test]
    fn colours_are_as_far_from_white_down_as_up_and_gamma_is_white_at_one() {
        let blue = |Rgb([r, _, b]): Rgb| i32::from(b) - i32::from(r);
        for share in [0.05, 0.3, 0.5, 0.8, 1.0, 3.0] {
            assert!(blue(difference_colour(-share)) > 40, "lower is blue");
            assert!(blue(difference_colour(share)) < -40, "higher is red");
        }
        assert_eq!(gamma_colour(1.0, 2.0), GAMMA_COLOURS[1]);
        assert_eq!([gamma_colour(0.0, 2.0), gamma_colour(5.0, 2.0)], [GAMMA_COLOURS[0], GAMMA_COLOURS[2]]);
        assert!(blue(gamma_colour(1.001, 2.0)) < -20, "what just fails is not white");
    }

    #[test]
    fn a_signed_gamma_is_pale_where_it_passes() {
        let paleness = |Rgb(c): Rgb| c.into_iter().map(i32::from).sum::<i32>();
        for sign in [-1.0, 1.0] {
            let [passes, fails, worst] =
                [1.0, 1.01, 2.0].map(|g| paleness(signed_gamma_colour(sign * g, 2.0)));
            assert!(passes > fails + 60 && fails > worst, "{passes} {fails} {worst}");
        }
    }

    #[test]
    fn what_a_session_kept_is_restored_where_it_makes_sense() {
        let case = files::demo::build("tg119").unwrap();
        let mut set = Compare { sides: [Some(Source::Plan(0)), Some(Source::Dose(7))], ..Compare::default() };
        set.layout = Layout::Flicker;
        set.gamma = GammaSettings { dose_percent: 2.0, signed: true, ..set.gamma };
        let kept = serde_json::to_value(&set).unwrap();
        let back: Compare = serde_json::from_value(kept).unwrap();
        let back = back.restored(&case);
        assert_eq!(
            back,
            Compare { sides: [Some(Source::Plan(0)), None], ..set.clone() },
            "there is no such dose"
        );
        set.gamma.dose_percent = f64::NAN;
        set.difference.end = -1.0;
        let back = set.restored(&case);
        assert_eq!((back.gamma, back.difference), (GammaSettings::default(), DifferenceDisplay::default()));
        assert_eq!(back.layout, Layout::Flicker);
    }

    #[test]
    fn a_dose_of_nothing_is_suggested_last() {
        let mut case = files::demo::build("tg119").unwrap();
        let grid = Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [2; 3]).unwrap());
        let dose = |gy: f32| {
            let gy = Arc::new(Volume::new(Arc::clone(&grid), vec![gy; 8]));
            let [label, frame_of_reference_uid] = <[String; 2]>::default();
            Arc::new(Dose {
                gy,
                status: DoseStatus::Imported,
                label,
                frame_of_reference_uid,
                receipt: None,
                caveats: Vec::new(),
            })
        };
        case.doses = vec![dose(0.0), dose(1.0), dose(2.0)];
        let [one, two, none] = [1, 2, 0].map(|n| Some(Source::Dose(n)));
        assert_eq!(Compare::for_case(&case, |_| false), [one, two]);
        assert_eq!(Compare::for_case(&case, |plan| plan == 0), [one, Some(Source::Plan(0))]);
        case.doses.truncate(2);
        assert_eq!(Compare::for_case(&case, |_| false), [one, none]);
    }

    #[test]
    fn a_scale_in_gy_is_round() {
        for (gy, want) in [(6.0, 5.0), (0.19, 0.1), (0.2, 0.2), (1.0, 1.0), (74.0, 50.0)] {
            assert!((rounded(gy) - want).abs() < 1e-9 * want, "{gy}");
        }
    }
}
