//! A pair of X-rays made up from the displayed CT, with the patient in a hidden pose: to try the workspace at once.

use crate::feature::register::state::Image;
use case::{Ct, PatientInfo, Pose, Radiograph};
use engine::{Compute, JobControl};
use glam::DVec3;
use registration::{Random, simulate};

/// Limits of the shifts and turns of the hidden pose.
const SHIFT_MM: f64 = 12.0;
const TURN_DEG: f64 = 6.0;

/// X-rays from gantry 0 and 90, with the pose they hide. The same `number` gives the same pose.
///
/// # Errors
/// The engine's errors, cancellation included.
pub fn made_up(
    ct: &Ct,
    isocentre_mm: DVec3,
    patient: &PatientInfo,
    number: u64,
    control: &JobControl,
) -> Result<(Vec<Image>, Pose), String> {
    let attenuation = simulate::attenuation(&ct.hu);
    let mut random = Random::new(0x6d61_6465 + number);
    let [shift_mm, turn_deg] =
        [SHIFT_MM, TURN_DEG].map(|reach| [(); 3].map(|()| random.between(-reach, reach)));
    let pose = Pose::new(shift_mm, turn_deg);
    let images = [(0, 0.0), (1, 90.0)].into_iter().map(|(side, gantry_deg)| {
        let setup = simulate::imager(gantry_deg, ct.position, isocentre_mm);
        let exposure = simulate::Exposure {
            seed: 2 * number + side,
            ..simulate::Exposure::default()
        };
        let shot = simulate::xray(&attenuation, setup, pose, &exposure, &Compute::Cpu, control)
            .map_err(|e| e.to_string())?;
        let radiograph = Radiograph {
            label: format!("made up, gantry {gantry_deg:.0}°"),
            frame_of_reference_uid: ct.frame_of_reference_uid.clone(),
            patient: patient.clone(),
            ..shot
        };
        Image::new(radiograph).map_err(|e| e.to_string())
    });
    Ok((images.collect::<Result<_, String>>()?, pose))
}
