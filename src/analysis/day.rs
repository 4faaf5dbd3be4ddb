//! The plan as a day delivers it: the patient lies at a pose that was found in X-rays, as rigid as the planning CT has him.

use super::is_computed;
use case::{Beam, ControlPoint, Plan, Pose};
use geometry::BeamFrame;
use glam::{DMat3, DVec3};
use thiserror::Error;

/// Greatest shift of a pose along an axis, mm, and greatest turn about one, degrees: beyond them a patient is set up anew. Assumed.
pub const MOST_POSE_MM: f64 = 50.0;
pub const MOST_POSE_DEG: f64 = 10.0;

/// Caveat of every dose at a pose.
pub const RIGID: &str = "rigid: the patient of the planning CT, moved as a whole";

/// Why a plan has no dose at a pose.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PoseError {
    #[error("the pose {0} has a number that is none")]
    NotFinite(Pose),
    #[error(
        "the pose {0} lies beyond {MOST_POSE_MM} mm or {MOST_POSE_DEG} degrees: the patient is set up anew rather than treated"
    )]
    TooFar(Pose),
    #[error("the plan has no beam to compute")]
    NoBeam,
}

/// A plan at a pose.
#[derive(Clone, Debug, PartialEq)]
pub struct DayPlan {
    /// Plan of the same monitor units.
    pub plan: Plan,
    /// Parts of the pose that the plan leaves out.
    pub caveats: Vec<String>,
}

impl DayPlan {
    /// The beams of a plan as the patient at a pose meets them, in the frame of the planning CT. The pose turns about `centre_mm`
    /// (patient LPS), by default the isocentre of the first beam that is computed. A static beam turns with all its angles; an arc, whose angles between control points are those
    /// of the machine, is shifted alone, and a caveat says so.
    ///
    /// # Errors
    /// [`PoseError`].
    pub fn new(plan: &Plan, pose: &Pose, centre_mm: Option<DVec3>) -> Result<Self, PoseError> {
        check(pose)?;
        let mut computed = plan.beams.iter().filter(|beam| is_computed(beam));
        let first = computed.next().ok_or(PoseError::NoBeam)?;
        let centre_mm = centre_mm.unwrap_or(first.isocentre_mm);
        // A normalisation would deliver other monitor units.
        let mut moved = Plan {
            normalisation: None,
            ..plan.clone()
        };
        let turn = pose.rotation().transpose();
        let turn_deg = turn_deg(turn);
        let mut shifted_arcs: Vec<&str> = Vec::new();
        for (beam, planned) in moved.beams.iter_mut().zip(&plan.beams) {
            beam.isocentre_mm = pose.undo(planned.isocentre_mm, centre_mm);
            if turn_deg == 0.0 {
                continue;
            }
            if is_static(planned) {
                beam.control_points
                    .iter_mut()
                    .for_each(|point| turn_point(point, planned, plan, turn));
            } else if is_computed(planned) {
                shifted_arcs.push(&planned.name);
            }
        }
        let mut caveats = vec![RIGID.to_owned()];
        if !shifted_arcs.is_empty() {
            caveats.push(format!(
                "the turn of {turn_deg:.1} degrees is not counted for beams that turn: {}",
                shifted_arcs.join(", ")
            ));
        }
        Ok(Self {
            plan: moved,
            caveats,
        })
    }
}

fn check(pose: &Pose) -> Result<(), PoseError> {
    let (shift, turn) = (pose.translation_mm, pose.rotation_deg);
    if !(shift.is_finite() && turn.is_finite()) {
        return Err(PoseError::NotFinite(*pose));
    }
    if shift.abs().max_element() > MOST_POSE_MM || turn.abs().max_element() > MOST_POSE_DEG {
        return Err(PoseError::TooFar(*pose));
    }
    Ok(())
}

/// Angle of a rotation about its own axis, degrees.
fn turn_deg(turn: DMat3) -> f64 {
    let trace = turn.x_axis.x + turn.y_axis.y + turn.z_axis.z;
    (0.5 * (trace - 1.0)).clamp(-1.0, 1.0).acos().to_degrees()
}

/// Whether gantry, collimator and couch stay while the beam delivers.
fn is_static(beam: &Beam) -> bool {
    let mut angles = beam
        .control_points
        .iter()
        .map(|point| [point.gantry_deg, point.collimator_deg, point.couch_deg]);
    let first = angles.next();
    angles.all(|next| Some(next) == first)
}

/// Turns a control point of a beam of the plan.
fn turn_point(point: &mut ControlPoint, beam: &Beam, plan: &Plan, turn: DMat3) {
    // The distance of the source does not enter the axes.
    let frame = beam.frame_at(point, plan.position, 1000.0);
    let axes = frame.axes.map(|axis| turn * axis);
    [point.gantry_deg, point.collimator_deg, point.couch_deg] =
        BeamFrame::angles_deg(plan.position, axes, point.couch_deg);
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;
    use geometry::PatientPosition;

    fn plan(gantries_deg: &[f64]) -> Plan {
        let mut plan = Plan::new("P", "generic-6mv");
        for (number, gantry_deg) in (1..).zip(gantries_deg) {
            let isocentre_mm = DVec3::new(10.0, -20.0, 5.0);
            let mut beam = Beam::fixed(
                "A",
                number,
                *gantry_deg,
                isocentre_mm,
                Jaws::symmetric(50.0, 50.0),
                100.0,
            );
            beam.control_points[0].collimator_deg = 15.0;
            beam.control_points[0].couch_deg = 20.0 * f64::from(number - 1);
            plan.beams.push(beam);
        }
        plan
    }

    /// A beam meets the same whether the patient is moved, or the beam the other way.
    #[test]
    fn a_turned_beam_meets_what_the_moved_patient_meets() {
        for position in PatientPosition::ALL {
            let mut planned = plan(&[0.0, 37.0, 90.0, 180.0, 291.0]);
            planned.position = position;
            let pose = Pose::new([3.0, -1.5, 4.0], [1.2, -0.7, 2.5]);
            let day = DayPlan::new(&planned, &pose, None).expect("a pose");
            assert_eq!(day.caveats, [RIGID]);
            let centre_mm = planned.beams[0].isocentre_mm;
            for (moved, beam) in day.plan.beams.iter().zip(&planned.beams) {
                let in_room = beam.frame_at(&beam.control_points[0], position, 1000.0);
                let in_patient = moved.frame_at(&moved.control_points[0], position, 1000.0);
                for point_mm in [DVec3::ZERO, DVec3::new(30.0, -60.0, 25.0)] {
                    let in_room_mm = in_room.device_from_patient(pose.apply(point_mm, centre_mm));
                    let in_patient_mm = in_patient.device_from_patient(point_mm);
                    assert!(
                        (in_room_mm - in_patient_mm).length() < 1e-9,
                        "{position}, {}: {in_room_mm} for {in_patient_mm}",
                        beam.control_points[0].gantry_deg
                    );
                }
            }
        }
    }

    #[test]
    fn a_shift_alone_leaves_all_angles() {
        let planned = plan(&[0.0, 120.0]);
        let pose = Pose::new([3.0, 0.0, -2.0], [0.0; 3]);
        let day = DayPlan::new(&planned, &pose, None).expect("a pose");
        let mut expected = planned.clone();
        for beam in &mut expected.beams {
            beam.isocentre_mm -= pose.translation_mm;
        }
        assert_eq!(day.plan, expected);
    }

    #[test]
    fn an_arc_says_that_its_turn_is_not_counted() {
        let mut planned = plan(&[0.0]);
        let mut end = planned.beams[0].control_points[0].clone();
        end.gantry_deg = 90.0;
        planned.beams[0].control_points[0].meterset_weight = 0.0;
        planned.beams[0].control_points.push(end);
        let pose = Pose::new([1.0, 0.0, 0.0], [0.0, 0.0, 1.5]);
        let day = DayPlan::new(&planned, &pose, None).expect("a pose");
        assert!(day.caveats[1].contains("the turn of 1.5 degrees is not counted"));
        assert_eq!(
            day.plan.beams[0].control_points,
            planned.beams[0].control_points
        );
        let shift = Pose::new([1.0, 0.0, 0.0], [0.0; 3]);
        assert_eq!(
            DayPlan::new(&planned, &shift, None).map(|day| day.caveats),
            Ok(vec![RIGID.to_owned()])
        );
    }

    #[test]
    fn a_pose_of_no_treatment_is_refused() {
        let planned = plan(&[0.0]);
        for (pose, words) in [
            (Pose::new([f64::NAN, 0.0, 0.0], [0.0; 3]), "none"),
            (Pose::new([100.0, 0.0, 0.0], [0.0; 3]), "set up anew"),
            (Pose::new([0.0; 3], [0.0, 0.0, -11.0]), "set up anew"),
        ] {
            let refused = DayPlan::new(&planned, &pose, None).expect_err("no treatment");
            assert!(refused.to_string().contains(words), "{refused}");
        }
        let empty = DayPlan::new(&plan(&[]), &Pose::default(), None);
        assert_eq!(empty, Err(PoseError::NoBeam));
    }
}
