//! Directions turned by polar angles.

use glam::DVec3;

/// Deflection from a direction.
#[derive(Clone, Copy, Debug)]
pub struct Deflection {
    /// Without the cancellation of small angles.
    pub one_minus_cos: f64,
    /// Radians.
    pub azimuth: f64,
}

/// A unit vector turned by a deflection.
pub fn deflected(direction: DVec3, deflection: Deflection) -> DVec3 {
    let Deflection {
        one_minus_cos,
        azimuth,
    } = deflection;
    let sine = (one_minus_cos * (2.0 - one_minus_cos)).max(0.0).sqrt();
    let (u, v) = direction.any_orthonormal_pair();
    let across = u * azimuth.cos() + v * azimuth.sin();
    (direction * (1.0 - one_minus_cos) + across * sine).normalize()
}

/// Unit vector in a direction uniform over the sphere, from two uniform draws.
pub fn isotropic(cos_draw: f64, azimuth: f64) -> DVec3 {
    deflected(
        DVec3::Z,
        Deflection {
            one_minus_cos: 2.0 * cos_draw,
            azimuth,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::Draws;

    /// Tracks along axes and between them: the mean of turned directions is the cosine along the track and zero across, where a
    /// rotation that favours one azimuth has a mean across.
    #[test]
    fn azimuths_are_even_about_every_direction() {
        let one_minus_cos = 0.3_f64;
        let sine = (one_minus_cos * (2.0 - one_minus_cos)).sqrt();
        let count = 200_000;
        let error = 4.0 * sine / f64::from(count).sqrt();
        for track in [
            DVec3::X,
            DVec3::Y,
            DVec3::Z,
            DVec3::NEG_Z,
            DVec3::ONE.normalize(),
        ] {
            let mut draws = Draws::with_key(11);
            let mut mean = DVec3::ZERO;
            for _ in 0..count {
                let azimuth = draws.azimuth();
                let turned = deflected(
                    track,
                    Deflection {
                        one_minus_cos,
                        azimuth,
                    },
                );
                assert!((turned.dot(track) - 0.7).abs() < 1e-12);
                mean += turned / f64::from(count);
            }
            assert!((mean - track * 0.7).length() < error, "{track}: {mean}");
        }
    }
}
