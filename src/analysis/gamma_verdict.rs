//! The verdict on a pass rate of gamma, derived here alone: window, verb and reports show it. The limits are from AAPM
//! TG-218 (Miften et al., Med. Phys. 45, e53, 2018, section 8): of a measured dose against a computed one, all points from
//! 10 % on, at 3 %/2 mm, global. Of other comparisons there is no verdict.

use super::second_check::Level;
use case::{Dose, DoseStatus};
use engine::gamma::{Counts, Criterion};

/// Universal tolerance and action limits of TG-218 for the pass rate, percent.
const TOLERANCE_PERCENT: f64 = 95.0;
const ACTION_PERCENT: f64 = 90.0;
/// The criterion of those limits; window, verb and second check start from it.
pub const CRITERION: Criterion = Criterion {
    dose_percent: 3.0,
    dta_mm: 2.0,
    local: false,
};
/// Least reference dose analysed under those limits, percent of the normalisation.
pub const THRESHOLD_PERCENT: f64 = 10.0;
/// Greatest share of points without gamma at which the others stand for the dose. Chosen.
pub const MOST_UNJUDGED_PERCENT: f64 = 5.0;
/// A normalisation beyond this part of the near-maximum loosens the criterion; TG-218 asks for a dose of at least 90 % of the
/// maximum where the gradient is low. Chosen: the maximum of a steep dose may be a fifth above its D2%.
const MOST_OF_NEAR_MAXIMUM: f64 = 1.25;

/// A comparison as its verdict needs it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub criterion: Criterion,
    pub threshold_percent: f64,
    pub normalisation_gy: f64,
    pub near_maximum_gy: f64,
    pub counts: Counts,
    /// The reference dose was measured.
    pub measured: bool,
    /// Only points of a structure or of a random subset.
    pub in_part: bool,
    /// Why a dose is not the last word, in words.
    pub not_final: Option<String>,
}

/// Why doses are not the last word, in words: `B is preview`.
pub fn not_final<'a>(doses: impl IntoIterator<Item = (&'a str, &'a Dose)>) -> Option<String> {
    let reasons: Vec<String> = { doses.into_iter() }
        .filter(|(_, dose)| {
            !matches!(dose.status, DoseStatus::Final | DoseStatus::Imported)
                || !dose.caveats.is_empty()
        })
        .map(|(name, dose)| format!("{name} is {}", dose.status_text()))
        .collect();
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

/// A verdict, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GammaVerdict {
    pub level: Option<Level>,
    pub words: String,
}

impl GammaVerdict {
    fn none(why: &str) -> Self {
        Self {
            level: None,
            words: format!("no verdict: {why}"),
        }
    }
}

impl Judged {
    pub fn verdict(&self) -> GammaVerdict {
        if let Some(why) = &self.not_final {
            return GammaVerdict::none(why);
        }
        if !self.measured {
            return GammaVerdict::none(
                "the limits of AAPM TG-218 are for a measured dose against a computed one",
            );
        }
        if self.criterion != CRITERION
            || self.threshold_percent != THRESHOLD_PERCENT
            || self.in_part
        {
            return GammaVerdict::none(&format!(
                "the limits of AAPM TG-218 are for all points at {CRITERION} from {THRESHOLD_PERCENT} %"
            ));
        }
        if let Some(why) = loosened(self.normalisation_gy, self.near_maximum_gy) {
            return GammaVerdict::none(&why);
        }
        let counts = &self.counts;
        let unjudged = counts.unjudged_percent();
        if counts.analysed == 0 {
            return GammaVerdict::none("no point has a gamma");
        }
        if unjudged > MOST_UNJUDGED_PERCENT {
            return GammaVerdict::none(&format!("{unjudged:.1} % of the points are NOT judged"));
        }
        // What has no gamma has not passed.
        let rate = 100.0 * counts.passing as f64 / counts.points() as f64;
        let level = Level::of_rate(rate, [TOLERANCE_PERCENT, ACTION_PERCENT]);
        let words = match level {
            Level::Within => "within tolerance (95 %)",
            Level::Between => "below tolerance (95 %)",
            Level::Beyond => "below the action limit (90 %)",
        };
        let with = if unjudged > 0.0 {
            ", points without gamma as failing"
        } else {
            ""
        };
        GammaVerdict {
            level: Some(level),
            words: format!("TG-218: {words}{with}"),
        }
    }
}

/// A normalisation so high that the criterion is looser than it says, in words.
pub fn loosened(normalisation_gy: f64, near_maximum_gy: f64) -> Option<String> {
    (normalisation_gy > MOST_OF_NEAR_MAXIMUM * near_maximum_gy).then(|| {
        format!(
            "100 % is {normalisation_gy:.2} Gy and the near-maximum of the reference {near_maximum_gy:.2} Gy, so that the \
             criterion is looser than it says"
        )
    })
}

/// A pass rate in words, with enough digits that only a full pass reads 100 % and that it stays on its side of the limits.
pub fn rate_text(percent: f64) -> String {
    let digits = digits_apart(percent, &[ACTION_PERCENT, TOLERANCE_PERCENT, 100.0], 2);
    format!("{percent:.digits$} %")
}

/// The number of decimals, `min_digits` or more, with which a value is shown on its own side of the limits.
pub fn digits_apart(value: f64, limits: &[f64], min_digits: usize) -> usize {
    let mut digits = min_digits..=min_digits + 6;
    let digits = digits.find(|digits| {
        let shown = format!("{value:.digits$}").parse::<f64>();
        shown.is_ok_and(|shown| {
            limits
                .iter()
                .all(|l| shown.partial_cmp(l) == value.partial_cmp(l))
        })
    });
    digits.unwrap_or(min_digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{Grid, Volume};
    use glam::DVec3;
    use std::sync::Arc;

    fn measured(analysed: usize, passing: usize, outside: usize) -> Judged {
        Judged {
            criterion: CRITERION,
            threshold_percent: 10.0,
            normalisation_gy: 2.1,
            near_maximum_gy: 2.0,
            counts: Counts {
                analysed,
                passing,
                outside,
                undefined: 0,
            },
            measured: true,
            in_part: false,
            not_final: None,
        }
    }

    #[test]
    fn limits_are_those_of_tg_218() {
        for (passing, level, says) in [
            (1000, Level::Within, "within tolerance"),
            (950, Level::Within, "within tolerance"),
            (949, Level::Between, "below tolerance"),
            (900, Level::Between, "below tolerance"),
            (899, Level::Beyond, "below the action limit"),
        ] {
            let verdict = measured(1000, passing, 0).verdict();
            assert_eq!(verdict.level, Some(level), "{passing}");
            assert!(verdict.words.contains(says), "{verdict:?}");
        }
    }

    #[test]
    fn what_tg_218_is_not_for_has_no_verdict() {
        let all_pass = || measured(1000, 1000, 0);
        let wide = Criterion {
            dose_percent: 10.0,
            dta_mm: 10.0,
            local: false,
        };
        let local = Criterion {
            local: true,
            ..CRITERION
        };
        for (judged, says) in [
            (
                Judged {
                    criterion: wide,
                    ..all_pass()
                },
                "3 %/2 mm global from 10 %",
            ),
            (
                Judged {
                    criterion: local,
                    ..all_pass()
                },
                "3 %/2 mm global from 10 %",
            ),
            (
                Judged {
                    threshold_percent: 50.0,
                    ..all_pass()
                },
                "from 10 %",
            ),
            (
                Judged {
                    in_part: true,
                    ..all_pass()
                },
                "all points",
            ),
            (
                Judged {
                    measured: false,
                    ..all_pass()
                },
                "a measured dose against a computed one",
            ),
            (
                Judged {
                    not_final: Some("B is a preview".to_owned()),
                    ..all_pass()
                },
                "B is a preview",
            ),
            (
                Judged {
                    normalisation_gy: 6.4,
                    ..all_pass()
                },
                "looser than it says",
            ),
            (measured(0, 0, 0), "no point"),
        ] {
            let verdict = judged.verdict();
            assert!(
                verdict.level.is_none() && verdict.words.contains(says),
                "{verdict:?}"
            );
        }
    }

    /// A dose on its way, or one that leaves something out, is named with its status; the verdict then waits.
    #[test]
    fn a_verdict_waits_for_doses_that_are_final() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [2, 2, 2]).unwrap();
        let gy = Arc::new(Volume::new(Arc::new(grid), vec![1.0; 8]));
        let dose = |status, caveats: &[&str]| Dose {
            gy: Arc::clone(&gy),
            status,
            label: String::new(),
            frame_of_reference_uid: String::new(),
            receipt: None,
            caveats: caveats.iter().map(|c| (*c).to_owned()).collect(),
            remarks: Vec::new(),
            part: None,
        };
        let (done, read) = (
            dose(DoseStatus::Final, &[]),
            dose(DoseStatus::Imported, &[]),
        );
        assert_eq!(not_final([("A", &done), ("B", &read)]), None);
        for (status, caveats) in [
            (DoseStatus::Preview, &[][..]),
            (DoseStatus::Coarse, &[]),
            (DoseStatus::Partial, &["2 of 3 beams"]),
            (DoseStatus::Stale, &[]),
            (DoseStatus::Final, &["wedge not modelled"]),
        ] {
            let other = dose(status, caveats);
            let why = not_final([("A", &done), ("B", &other)]);
            assert_eq!(why, Some(format!("B is {}", other.status_text())));
            let verdict = Judged {
                not_final: why,
                ..measured(1000, 1000, 0)
            }
            .verdict();
            assert!(
                verdict.level.is_none() && verdict.words.contains(&other.status_text()),
                "{verdict:?}"
            );
        }
    }

    #[test]
    fn points_without_gamma_count_as_failing_until_they_are_too_many() {
        // 950 of 1000, 950 of 1001, and 1681 of 68921 that all pass.
        assert_eq!(measured(950, 950, 50).verdict().level, Some(Level::Within));
        assert_eq!(measured(960, 950, 41).verdict().level, Some(Level::Between));
        let verdict = measured(1681, 1681, 67_240).verdict();
        assert!(
            verdict.level.is_none()
                && verdict
                    .words
                    .contains("97.6 % of the points are NOT judged")
        );
    }

    #[test]
    fn figures_are_shown_on_their_side_of_the_limits() {
        for (rate, shown) in [
            (100.0, "100.00 %"),
            (99.999, "99.999 %"),
            (95.0, "95.00 %"),
            (94.9996, "94.9996 %"),
            (89.5, "89.50 %"),
        ] {
            assert_eq!(rate_text(rate), shown);
        }
        assert_eq!(
            [3.02, 3.04, 3.06].map(|value| digits_apart(value, &[3.0], 1)),
            [2, 2, 1]
        );
        assert_eq!(digits_apart(3.0, &[3.0], 1), 1);
    }
}
