//! Standing of a pose: set by hand, a match with its evidence, or no match, with the reasons.

use super::evidence::{BESIDE, Evidence};
use super::metric::Metric;
use super::request::{AXIS_WORDS, Found, Request};
use case::Pose;
use engine::drr_gradient::numbers;
use serde::{Deserialize, Serialize};

/// Images alone, and searches begun beside a pose, agree with it to this many mm as the images see it.
pub const AGREE_MM: f64 = 1.5;
/// A match that tells the depth no better than this is none along the beam, mm.
pub const MOST_DEPTH_MM: f64 = 15.0;
/// Depths known better than this need no words, mm.
const SAID_DEPTH_MM: f64 = 2.0;
/// Patients lie turned by less than this beside the plan; an X-ray with a wrong angle asks for more, degrees.
pub const MOST_TURN_DEG: f64 = 10.0;
/// Six-axis couches tilt by so much, degrees.
pub const COUCH_TILT_DEG: f64 = 3.0;

/// Standing of a pose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoseStanding {
    #[default]
    ByHand,
    /// Along the direction that the images see least the depth is known so well, mm; `None` where it was locked.
    Found {
        depth_mm: Option<f64>,
    },
    NoMatch {
        why: String,
    },
}

impl PoseStanding {
    pub fn is_match(&self) -> bool {
        matches!(self, Self::Found { .. })
    }

    /// In words, for lists and views.
    pub fn words(&self) -> String {
        match self {
            Self::ByHand => "set by hand, not matched".to_owned(),
            Self::Found { depth_mm: None } => "found; the depth is as it was locked".to_owned(),
            Self::Found { depth_mm: Some(mm) } if *mm > SAID_DEPTH_MM => {
                format!(
                    "found across the beam; along it the X-rays tell the position to ±{mm:.0} mm only"
                )
            }
            Self::Found { .. } => "found".to_owned(),
            Self::NoMatch { why } => format!("NOT found: {why}"),
        }
    }

    /// In few words, for the description of a registration object, which holds 64 characters.
    pub fn short(&self) -> String {
        match self {
            Self::ByHand => "by hand".to_owned(),
            Self::Found { depth_mm: Some(mm) } if *mm > SAID_DEPTH_MM => {
                format!("depth +-{mm:.0} mm")
            }
            Self::Found { .. } => "match found".to_owned(),
            Self::NoMatch { .. } => "NO MATCH".to_owned(),
        }
    }
}

/// Turns of a pose that a couch cannot correct, in words.
pub fn beyond_couch(pose: &Pose) -> Option<String> {
    let turns = AXIS_WORDS
        .into_iter()
        .zip(numbers(pose))
        .skip(3)
        .filter(|(_, deg)| deg.abs() > COUCH_TILT_DEG);
    let turns: Vec<String> = turns
        .map(|(axis, deg)| format!("{axis} {deg:.1}"))
        .collect();
    (!turns.is_empty()).then(|| {
        format!(
            "turns beyond the {COUCH_TILT_DEG} degrees that six-axis couches correct: {}",
            turns.join(", ")
        )
    })
}

/// Why a pose found is no match; empty without such signs.
pub(super) fn doubts(request: &Request, outcome: &Found) -> Vec<String> {
    let Evidence {
        images,
        again_mm,
        depth_mm,
        negative,
        flipped,
    } = &outcome.evidence;
    let metric = request.metric;
    let mut doubts: Vec<String> = flipped
        .iter()
        .map(|flipped| flipped.doubt(metric))
        .collect();
    let stopped: Vec<&str> = AXIS_WORDS
        .into_iter()
        .zip(outcome.at_bound)
        .filter(|b| b.1)
        .map(|b| b.0)
        .collect();
    if !stopped.is_empty() {
        doubts.push(format!(
            "{} stopped at the end of the reach; widen it or start nearer",
            stopped.join(", ")
        ));
    }
    for image in images {
        doubts.extend(unlike(metric, &image.image, image.metric));
        let elsewhere = image
            .alone
            .filter(|alone| alone.off_mm > AGREE_MM && alone.metric > image.metric);
        doubts.extend(elsewhere.map(|alone| {
            format!(
                "{} alone finds the patient {:.1} mm elsewhere ({} {:.3} there, {:.3} at the pose of both); look at the gantry \
                 angles, distances and isocentres of the X-rays, and whether the patient lay as still as both take it",
                image.image,
                alone.off_mm,
                metric.name(),
                alone.metric,
                image.metric
            )
        }));
    }
    if *again_mm > AGREE_MM {
        let [mm, deg] = BESIDE;
        doubts.push(format!(
            "a search begun {mm} mm and {deg} degrees beside the pose ends {again_mm:.1} mm elsewhere, as much alike; give a start \
             nearer to the patient, a second X-ray or a region with bones"
        ));
    }
    if let Some(mm) = depth_mm.filter(|mm| *mm > MOST_DEPTH_MM) {
        doubts.push(format!(
            "along the beam the X-rays tell the position to ±{mm:.0} mm only; give one from another side, or lock the depth"
        ));
    }
    doubts.extend(turned(request, &outcome.pose));
    if let Some(value) = negative {
        doubts.push(format!(
            "turned round, bone dark for bright, the X-rays match ({} {value:.3}); say which bone is (--bone-dark, or `Bone` of the \
             geometry)",
            metric.name()
        ));
    }
    doubts
}

/// Pictures of two things.
fn unlike(metric: Metric, image: &str, value: f64) -> Option<String> {
    let threshold = metric.least_of_a_match();
    (value.is_nan() || value < threshold).then(|| {
        format!(
            "{image}: {} comes to {value:.3}, as of pictures of two things (a match has {threshold} or more); look at the X-ray, its \
             angles, the isocentre and the region",
            metric.name()
        )
    })
}

/// Turns that no patient lies at, unless the start is as far.
fn turned(request: &Request, pose: &Pose) -> Option<String> {
    let start = numbers(&request.start);
    let turns = AXIS_WORDS
        .into_iter()
        .zip(numbers(pose))
        .enumerate()
        .skip(3)
        .filter(|(n, (_, deg))| is_far_turn(*n, *deg, &start));
    let turns: Vec<String> = turns
        .map(|(_, (axis, deg))| format!("{axis} {deg:.1}"))
        .collect();
    (!turns.is_empty()).then(|| {
        format!(
            "the patient would lie turned by more than {MOST_TURN_DEG} degrees ({}); look at gantry and couch angles of the \
             X-rays, or start from such a pose where it is so",
            turns.join(", ")
        )
    })
}

fn is_far_turn(n: usize, deg: f64, start: &[f64]) -> bool {
    deg.abs() > MOST_TURN_DEG && (deg - start[n]).abs() > MOST_TURN_DEG
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_of_a_wrong_angle_are_told_and_those_of_the_start_taken() {
        let grid = geometry::Grid::axis_aligned(glam::DVec3::ZERO, glam::DVec3::ONE, [2; 3])
            .expect("a grid");
        let volume = geometry::Volume::new(std::sync::Arc::new(grid), vec![0.0_f32; 8]);
        let request = Request::new(std::sync::Arc::new(volume), Vec::new(), glam::DVec3::ZERO);
        assert_eq!(turned(&request, &turned_pose(9.0)), None);
        assert!(turned(&request, &turned_pose(11.8)).is_some_and(|why| why.contains("rz 11.8")));
        assert_eq!(
            turned(
                &Request {
                    start: turned_pose(15.0),
                    ..request
                },
                &turned_pose(11.8)
            ),
            None
        );
        assert!(
            beyond_couch(&turned_pose(-4.0))
                .is_some_and(|why| why.contains("rz -4.0") && !why.contains("ry"))
        );
    }

    fn turned_pose(rz: f64) -> Pose {
        Pose::new([0.0; 3], [0.0, -2.0, rz])
    }
}
