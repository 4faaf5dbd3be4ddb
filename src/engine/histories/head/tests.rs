//! Particles of a point source against solid angles.

use super::tables::PHOTON;
use super::{HeadRequest, HeadSource, MachineOutput, SampledLine};
use crate::JobControl;
use crate::phantom::patient;
use case::{Beam, Jaws};
use glam::DVec3;
use physics::{Machine, Material};
use transport::philox::Stream;

const MONITOR_UNITS: f64 = 100.0;
const PHOTONS_PER_CM2: f64 = 3.0;
const FIELD_MM: [f64; 2] = [80.0, 60.0];

/// A field of the point source on a box of 200 mm about the isocentre, a quarter of the histories at 1 MeV and the rest at 4 MeV; the
/// first stands for half of the photons.
fn point_source() -> HeadSource {
    let water = patient(DVec3::splat(20.0), [10; 3], |_| (1.0, Material::Water)).unwrap();
    let machine = Machine::resolve("point-6mv").unwrap();
    let jaws = Jaws::symmetric(FIELD_MM[0], FIELD_MM[1]);
    let beam = Beam::fixed("AP", 1, 0.0, DVec3::ZERO, jaws, MONITOR_UNITS);
    let request = HeadRequest {
        patient: &water,
        beams: &[(beam, machine)],
        lattice: water.mass_density_g_cm3.grid(),
    };
    let output = MachineOutput {
        photons_per_cm2: PHOTONS_PER_CM2,
        has_electrons: false,
    };
    let mut source = HeadSource::new(request, &|_| Ok(output), &JobControl::new()).unwrap();
    source.set_lines(
        &[(1.0, 0.25), (4.0, 0.75)].map(|(energy_mev, chance)| SampledLine {
            machine: 0,
            kind: PHOTON,
            energy_mev,
            chance,
            weight: 0.5,
        }),
    );
    source
}

/// Photons through a rectangle: fluence on the axis times the square of the distance times its solid angle,
/// `4 asin(sin a sin b)` with the tangents of the half angles `a` and `b` (Khadjavi, J. Opt. Soc. Am. 58, 1417 (1968)).
#[test]
fn weights_are_the_photons_through_the_field() {
    let source = point_source();
    let batch = 400_000;
    let mut photons = 0.0;
    let mut low_energy = 0_u64;
    for history in 0..batch {
        let particle = source.sample(Stream::new(7, history), history, batch);
        photons += f64::from(particle.weight) / batch as f64;
        low_energy += u64::from(particle.energy_mev == 1.0);
    }
    // Energies are stratified.
    assert!(low_energy.abs_diff(batch / 4) <= 1, "{low_energy}");
    let [a, b] = FIELD_MM.map(|mm| (0.5 * mm / 1000.0).atan().sin());
    let solid_angle = 4.0 * (a * b).asin();
    let want = MONITOR_UNITS * PHOTONS_PER_CM2 * 100.0 * 100.0 * solid_angle;
    assert!((photons / want - 1.0).abs() < 2e-3, "{photons} for {want}");
}

/// Gantry 0: the source lies 1000 mm before the isocentre along y, and rays with weight pass between the jaws.
#[test]
fn rays_come_from_the_source_through_the_field() {
    let source = point_source();
    // The lattice's frame begins at its low corner, 10 cm from the isocentre on each axis.
    let source_cm = [10.0, -90.0, 10.0];
    let mut passed = 0;
    for history in 0..20_000 {
        let particle = source.sample(Stream::new(1, history), history, 20_000);
        let [x, y, z] = particle.direction;
        assert!((x * x + y * y + z * z - 1.0).abs() < 1e-5);
        let across_mm = [x, z].map(|slope| 1000.0 * f64::from(slope / y));
        for axis in 0..3 {
            let miss_cm = (particle.position_cm[axis] - source_cm[axis]).abs();
            assert!(miss_cm < 1e-3, "{:?}", particle.position_cm);
        }
        let is_within =
            across_mm[0].abs() < 0.5 * FIELD_MM[0] && across_mm[1].abs() < 0.5 * FIELD_MM[1];
        let is_near_edge =
            (0..2).any(|axis| (across_mm[axis].abs() - 0.5 * FIELD_MM[axis]).abs() < 0.01);
        assert!(
            is_near_edge || (particle.weight > 0.0) == is_within,
            "{across_mm:?}"
        );
        passed += u32::from(is_within);
    }
    assert!((1_000..20_000).contains(&passed), "{passed}");
}
