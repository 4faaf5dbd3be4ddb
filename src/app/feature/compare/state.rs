//! Settings of the Compare workspace: the two doses, their overlay, the display of their difference.

use crate::render::Isolines;
use crate::state::ViewKind;
use analysis::{DifferenceDisplay, Side, TG_218_CRITERION, TG_218_THRESHOLD_PERCENT, stricter};
use case::{Case, Goal};
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

impl Source {
    fn exists_in(&self, case: &Case) -> bool {
        match self {
            Self::Plan(plan) => *plan < case.plans.len(),
            Self::Beam(beam) => case
                .plans
                .iter()
                .any(|p| p.beams.iter().any(|b| b.number == *beam)),
            Self::Dose(dose) => *dose < case.doses.len(),
        }
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
    /// The defaults of `beamsight gamma`: the criterion of AAPM TG-218, and a stricter one.
    fn default() -> Self {
        let Criterion {
            dose_percent,
            dta_mm,
            local,
        } = TG_218_CRITERION;
        let second = stricter(TG_218_CRITERION);
        Self {
            dose_percent,
            dta_mm,
            local,
            threshold_percent: TG_218_THRESHOLD_PERCENT,
            max_gamma: MOST_GAMMA,
            norm: GammaNorm::NearMaximum,
            b_is_reference: false,
            second: Some([second.dose_percent, second.dta_mm]),
            signed: false,
            measured: false,
        }
    }
}

impl GammaSettings {
    /// The criteria, the first one first.
    pub fn criteria(&self) -> Vec<Criterion> {
        let limits = [Some([self.dose_percent, self.dta_mm]), self.second]
            .into_iter()
            .flatten();
        limits
            .map(|[dose_percent, dta_mm]| Criterion {
                dose_percent,
                dta_mm,
                local: self.local,
            })
            .collect()
    }

    /// The reference side, then the evaluated side.
    pub fn roles(&self) -> [Side; 2] {
        if self.b_is_reference {
            [Side::B, Side::A]
        } else {
            [Side::A, Side::B]
        }
    }
}

impl Compare {
    /// Whether the reference of gamma can have been measured: a dose of a file, not computed here.
    pub fn may_be_measured(&self) -> bool {
        matches!(
            self.sides[self.gamma.roles()[0].index()],
            Some(Source::Dose(_))
        )
    }
}

fn is_valid_criterion(percent_and_mm: [f64; 2]) -> bool {
    percent_and_mm
        .into_iter()
        .all(|v| (0.1..=20.0).contains(&v))
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
    /// Goals of older sessions, which kept them here; now the case has them.
    #[serde(rename = "goals", skip_serializing)]
    pub(crate) former_goals: Vec<Goal>,
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
        self.sides = self
            .sides
            .map(|side| side.filter(|source| source.exists_in(case)));
        let GammaSettings {
            dose_percent,
            dta_mm,
            threshold_percent,
            max_gamma,
            norm,
            second,
            ..
        } = self.gamma;
        let is_valid = is_valid_criterion([dose_percent, dta_mm])
            && second.is_none_or(is_valid_criterion)
            && (0.0..=90.0).contains(&threshold_percent)
            && (1.5..=5.0).contains(&max_gamma)
            && !matches!(norm, GammaNorm::Typed(gy) if !(0.01..=500.0).contains(&gy));
        if !is_valid {
            self.gamma = usual.gamma;
        }
        let DifferenceDisplay {
            dead_band,
            end,
            opacity,
            ..
        } = self.difference;
        if !((0.0..=1000.0).contains(&dead_band)
            && end > dead_band
            && end <= 1000.0
            && (0.0..=1.0).contains(&opacity))
        {
            self.difference = usual.difference;
        }
        if !(0.0..=1.0).contains(&self.swipe)
            || self.weights.iter().any(|w| !(-100.0..=100.0).contains(w))
        {
            (self.swipe, self.weights) = (usual.swipe, usual.weights);
        }
        self
    }

    /// Default sides for a case: the dose of a file against the computed one, else two plans, else two doses. All-zero
    /// doses (some systems export them for beams that they did not compute) come last.
    pub fn for_case(case: &Case, computed: impl Fn(usize) -> bool) -> [Option<Source>; 2] {
        let plans = (0..case.plans.len())
            .filter(|p| computed(*p))
            .map(Source::Plan);
        let mut doses: Vec<usize> = (0..case.doses.len()).collect();
        doses.sort_by_key(|n| !case.doses[*n].gy.data().iter().any(|gy| *gy > 0.0));
        let doses = doses.into_iter().map(Source::Dose);
        let [mut plans, mut doses] =
            [plans.collect::<Vec<_>>(), doses.collect()].map(Vec::into_iter);
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
    fn what_a_session_kept_is_restored_where_it_makes_sense() {
        let case = files::demo::build("tg119").unwrap();
        let mut set = Compare {
            sides: [Some(Source::Plan(0)), Some(Source::Dose(7))],
            ..Compare::default()
        };
        set.layout = Layout::Flicker;
        set.gamma = GammaSettings {
            dose_percent: 2.0,
            signed: true,
            ..set.gamma
        };
        let kept = serde_json::to_value(&set).unwrap();
        let back: Compare = serde_json::from_value(kept).unwrap();
        let back = back.restored(&case);
        assert_eq!(
            back,
            Compare {
                sides: [Some(Source::Plan(0)), None],
                ..set.clone()
            },
            "there is no such dose"
        );
        set.gamma.dose_percent = f64::NAN;
        set.difference.end = -1.0;
        let back = set.restored(&case);
        assert_eq!(
            (back.gamma, back.difference),
            (GammaSettings::default(), DifferenceDisplay::default())
        );
        assert_eq!(back.layout, Layout::Flicker);
    }

    #[test]
    fn a_dose_of_nothing_is_suggested_last() {
        let mut case = files::demo::build("tg119").unwrap();
        let grid = Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [2; 3]).unwrap());
        case.doses = Vec::new();
        for gy in [0.0, 1.0, 2.0] {
            let gy = Arc::new(Volume::new(Arc::clone(&grid), vec![gy; 8]));
            let [label, frame_of_reference_uid] = <[String; 2]>::default();
            case.doses.push(Arc::new(Dose {
                gy,
                status: DoseStatus::Imported,
                label,
                frame_of_reference_uid,
                receipt: None,
                caveats: Vec::new(),
                remarks: Vec::new(),
                part: None,
            }));
        }
        let [one, two, none] = [1, 2, 0].map(|n| Some(Source::Dose(n)));
        assert_eq!(Compare::for_case(&case, |_| false), [one, two]);
        assert_eq!(
            Compare::for_case(&case, |plan| plan == 0),
            [one, Some(Source::Plan(0))]
        );
        case.doses.truncate(2);
        assert_eq!(Compare::for_case(&case, |_| false), [one, none]);
    }
}
