//! The camera of the room: it orbits a target, in perspective.

use super::Preset;
use crate::view::BeamLayer;
use egui::{Pos2, Rect, Vec2};
use geometry::{BeamFrame, PatientPosition};
use glam::{DMat3, DMat4, DQuat, DVec2, DVec3, DVec4};

/// Height shown at the target, mm, at least and at most.
const HEIGHT_MM: [f64; 2] = [20.0, 8000.0];
/// Distance of the eye in heights: a narrow angle, in which distances compare well.
const EYE_HEIGHTS: f64 = 3.0;
/// Turn of a drag, radians per point.
const TURN_PER_POINT: f64 = 0.008;
/// Greatest distance from the target, before or behind it, of anything drawn, mm.
const REACH_MM: f64 = 3000.0;

/// Viewpoint of the room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Patient LPS, mm.
    pub target_mm: DVec3,
    /// Unit vectors of the screen in patient LPS: right, up, towards the eye.
    pub axes: [DVec3; 3],
    /// Height of the view at the target, mm.
    pub height_mm: f64,
    /// Distance of the eye from the target, mm; `None`: in proportion to the height.
    pub eye_mm: Option<f64>,
}

impl Camera {
    /// A preset direction towards a target.
    pub fn preset(
        preset: Preset,
        position: PatientPosition,
        beam: Option<&BeamLayer>,
        target_mm: DVec3,
        height_mm: f64,
    ) -> Self {
        let [_, along, above] = table_axes(position);
        let (towards_eye, up) = match preset {
            // From the foot end of the couch, aside and above: as one enters the room.
            Preset::Room => {
                let aside = along.cross(above);
                (
                    (above * 0.42 - along * 0.72 + aside * 0.55).normalize(),
                    above,
                )
            }
            Preset::Anterior => (DVec3::NEG_Y, DVec3::Z),
            Preset::Left => (DVec3::X, DVec3::Z),
            Preset::Superior => (DVec3::Z, DVec3::NEG_Y),
            Preset::CouchEnd => (-along, above),
            Preset::BeamsEye => {
                if let Some(beam) = beam {
                    let BeamFrame {
                        isocentre_mm,
                        axes,
                        sad_mm,
                        ..
                    } = beam.frame();
                    return Self {
                        target_mm: isocentre_mm,
                        axes,
                        height_mm,
                        eye_mm: Some(sad_mm),
                    };
                }
                (DVec3::NEG_Y, DVec3::Z)
            }
        };
        let right = up.cross(towards_eye).normalize();
        let axes = [right, towards_eye.cross(right), towards_eye];
        Self {
            target_mm,
            axes,
            height_mm,
            eye_mm: None,
        }
    }

    /// Turned by a drag of the pointer: the room follows it.
    pub fn orbited(&self, drag: Vec2) -> Self {
        let [right, up, _] = self.axes;
        let turn = DQuat::from_axis_angle(up, -f64::from(drag.x) * TURN_PER_POINT)
            * DQuat::from_axis_angle(right, -f64::from(drag.y) * TURN_PER_POINT);
        let [x, y, _] = self.axes.map(|axis| turn * axis);
        // Rounding must not skew the axes over many drags.
        let x = x.normalize();
        let z = x.cross(y).normalize();
        Self {
            axes: [x, z.cross(x), z],
            ..*self
        }
    }

    /// Shifted by a drag in a view.
    pub fn panned(&self, drag: Vec2, rect: Rect) -> Self {
        let mm = self.height_mm / f64::from(rect.height().max(1.0));
        let [right, up, _] = self.axes;
        let shift = right * (-f64::from(drag.x) * mm) + up * (f64::from(drag.y) * mm);
        Self {
            target_mm: self.target_mm + shift,
            ..*self
        }
    }

    pub fn zoomed(&self, zoom: f64) -> Self {
        let height_mm = (self.height_mm / zoom).clamp(HEIGHT_MM[0], HEIGHT_MM[1]);
        Self { height_mm, ..*self }
    }

    pub fn distance_mm(&self) -> f64 {
        self.eye_mm.unwrap_or(EYE_HEIGHTS * self.height_mm)
    }

    /// Patient LPS, mm.
    pub fn eye(&self) -> DVec3 {
        self.target_mm + self.axes[2] * self.distance_mm()
    }

    /// From patient LPS, mm, to clip space (depth 0 to 1) of a view with this ratio of width to height.
    pub fn clip_from_patient(&self, aspect: f64) -> DMat4 {
        let distance = self.distance_mm();
        let focal = 2.0 * distance / self.height_mm;
        let (near, far) = (
            (distance - REACH_MM).max(0.02 * distance),
            distance + REACH_MM,
        );
        let axes = DMat3::from_cols_array(&std::array::from_fn(|n| self.axes[n % 3][n / 3]));
        let shift = -(axes * self.eye());
        let camera = DMat4::from_cols(
            axes.x_axis.extend(0.0),
            axes.y_axis.extend(0.0),
            axes.z_axis.extend(0.0),
            shift.extend(1.0),
        );
        let depth = far / (near - far);
        let lens = DMat4::from_cols(
            DVec4::new(focal / aspect, 0.0, 0.0, 0.0),
            DVec4::new(0.0, focal, 0.0, 0.0),
            DVec4::new(0.0, 0.0, depth, -1.0),
            DVec4::new(0.0, 0.0, near * depth, 0.0),
        );
        lens * camera
    }

    /// Screen position of a position (patient LPS, mm) in a view; `None` beside or behind the eye.
    pub fn screen(&self, patient_mm: DVec3, rect: Rect) -> Option<Pos2> {
        let d = patient_mm - self.eye();
        let depth = -d.dot(self.axes[2]);
        if depth < 1.0 {
            return None;
        }
        let per_mm = f64::from(rect.height()) / self.height_mm * self.distance_mm() / depth;
        let (x, y) = (d.dot(self.axes[0]) * per_mm, d.dot(self.axes[1]) * per_mm);
        Some(rect.center() + DVec2::new(x, -y).as_vec2().to_array().into())
    }

    /// The line of sight through a point of a view: a unit vector from the eye, patient LPS.
    pub fn sight(&self, pointer: Pos2, rect: Rect) -> DVec3 {
        let mm = self.height_mm / f64::from(rect.height().max(1.0));
        let d = pointer - rect.center();
        let [right, up, back] = self.axes;
        let across = right * (f64::from(d.x) * mm) - up * (f64::from(d.y) * mm);
        (across - back * self.distance_mm()).normalize()
    }
}

/// Axes of the table top in patient LPS: across, towards the gantry, up.
fn table_axes(position: PatientPosition) -> [DVec3; 3] {
    let m = position.patient_from_table();
    [m.x_axis, m.y_axis, m.z_axis]
}

/// A point of a view from clip space.
#[cfg(test)]
fn screen_of_clip(clip: DVec4, rect: Rect) -> Pos2 {
    let (x, y) = (clip.x / clip.w, clip.y / clip.w);
    Pos2::new(
        rect.center().x + (0.5 * x) as f32 * rect.width(),
        rect.center().y - (0.5 * y) as f32 * rect.height(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Beam, Jaws};
    use egui::{pos2, vec2};

    const RECT: Rect = Rect {
        min: pos2(100.0, 50.0),
        max: pos2(700.0, 450.0),
    };

    fn seen(preset: Preset, position: PatientPosition) -> Camera {
        let beam = Beam::fixed(
            "B",
            1,
            90.0,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 100.0),
            1.0,
        );
        let beam = BeamLayer::new(0, &beam, position, 1000.0, true);
        Camera::preset(preset, position, beam.as_ref(), DVec3::ZERO, 800.0)
    }

    /// Presets have the axes on the screen right, up and nearest that their names promise.
    #[test]
    fn presets_look_along_their_axes() {
        use PatientPosition::{Ffs, Hfp, Hfs};
        let [left, posterior, head] = [DVec3::X, DVec3::Y, DVec3::Z];
        for (preset, position, want) in [
            (Preset::Anterior, Hfs, [left, head, -posterior]),
            (Preset::Anterior, Ffs, [left, head, -posterior]),
            (Preset::Left, Hfs, [posterior, head, left]),
            (Preset::Superior, Hfs, [-left, -posterior, head]),
            // Supine, head to the gantry: from the feet, the patient's left is on the right.
            (Preset::CouchEnd, Hfs, [left, -posterior, -head]),
            (Preset::CouchEnd, Ffs, [-left, -posterior, head]),
            (Preset::CouchEnd, Hfp, [-left, posterior, -head]),
            // Gantry 90 of a supine patient shines on the left side; Yb is towards the head.
            (Preset::BeamsEye, Hfs, [posterior, head, left]),
        ] {
            let axes = seen(preset, position).axes;
            for (axis, want) in axes.into_iter().zip(want) {
                assert!(
                    axis.distance(want) < 1e-9,
                    "{preset:?} {position}: {axes:?}"
                );
            }
        }
        for position in PatientPosition::ALL {
            let [x, y, z] = seen(Preset::Room, position).axes;
            assert!((x.cross(y) - z).length() < 1e-9, "{position}: right-handed");
            assert!(
                y.dot(position.patient_from_table().z_axis) > 0.8,
                "{position}: the ceiling is up"
            );
        }
    }

    /// The picture's matrix and the pointer agree, and the line of sight of a point leads to it.
    #[test]
    fn the_device_and_the_pointer_see_the_same() {
        let camera = seen(Preset::Room, PatientPosition::Hfs)
            .orbited(vec2(40.0, -25.0))
            .panned(vec2(9.0, 4.0), RECT);
        let aspect = f64::from(RECT.aspect_ratio());
        for patient_mm in [
            DVec3::ZERO,
            DVec3::new(120.0, -80.0, 200.0),
            DVec3::new(-300.0, 150.0, 40.0),
        ] {
            let screen = camera.screen(patient_mm, RECT).expect("before the eye");
            let clip = camera.clip_from_patient(aspect) * patient_mm.extend(1.0);
            assert!(
                screen.distance(screen_of_clip(clip, RECT)) < 1e-2,
                "{screen:?}"
            );
            assert!((0.0..1.0).contains(&(clip.z / clip.w)));
            let sight = camera.sight(screen, RECT);
            assert!(
                sight
                    .cross((patient_mm - camera.eye()).normalize())
                    .length()
                    < 1e-5
            );
        }
    }

    /// From the source an opening at the isocentre plane covers itself at any depth.
    #[test]
    fn the_beams_eye_sees_the_field_edges_end_on() {
        let camera = seen(Preset::BeamsEye, PatientPosition::Hfs);
        let frame = BeamFrame::new(PatientPosition::Hfs, 90.0, 0.0, 0.0, DVec3::ZERO, 1000.0);
        let [near, far] = [300.0, -300.0].map(|z_mm| {
            let magnification = (1000.0 - z_mm) / 1000.0;
            let corner = DVec3::new(50.0 * magnification, -30.0 * magnification, z_mm);
            camera
                .screen(frame.patient_from_device(corner), RECT)
                .expect("seen")
        });
        assert!(near.distance(far) < 0.01);
        // 50 mm to the right and 30 mm down at 800 mm in 400 points.
        assert!(
            near.distance(RECT.center() + vec2(25.0, 15.0)) < 0.01,
            "{near:?}"
        );
    }

    #[test]
    fn a_drag_turns_the_near_side_with_the_pointer() {
        let camera = seen(Preset::Anterior, PatientPosition::Hfs);
        let near = DVec3::new(0.0, -200.0, 0.0);
        let unmoved = camera.screen(near, RECT).expect("seen");
        let right = camera
            .orbited(vec2(30.0, 0.0))
            .screen(near, RECT)
            .expect("seen");
        let down = camera
            .orbited(vec2(0.0, 30.0))
            .screen(near, RECT)
            .expect("seen");
        assert!(right.x > unmoved.x + 5.0 && (right.y - unmoved.y).abs() < 0.1);
        assert!(down.y > unmoved.y + 5.0 && (down.x - unmoved.x).abs() < 0.1);
        let panned = camera
            .panned(vec2(12.0, -7.0), RECT)
            .screen(DVec3::ZERO, RECT)
            .expect("seen");
        assert!(panned.distance(RECT.center() + vec2(12.0, -7.0)) < 0.01);
    }
}
