//! Particles of a point source against solid angles.

use super::tables::PHOTON;
use super::{HeadRequest, HeadSource, MachineOutput, SampledLine};
use crate::JobControl;
use crate::phantom::patient;
use case::{Beam, Jaws};
use glam::DVec3;
use physics::kernel::KernelTable;
use physics::{Fluence, Machine, Material, Softening, exposures};
use std::sync::Arc;
use transport::philox::Stream;

const MONITOR_UNITS: f64 = 100.0;
const PHOTONS_PER_CM2: f64 = 3.0;
const FIELD_MM: [f64; 2] = [80.0, 60.0];

/// A field of the point source on a box of 200 mm about the isocentre, a quarter of the histories at 1 MeV and the rest at 4 MeV; the
/// first stands for half of the photons.
fn point_source() -> HeadSource {
    let lines = [(1.0, 0.25), (4.0, 0.75)].map(|(energy_mev, chance)| SampledLine {
        machine: 0,
        kind: PHOTON,
        energy_mev,
        chance,
        weight: 0.5,
    });
    source_of(&Machine::resolve("point-6mv").unwrap(), &lines)
}

fn field() -> Beam {
    let jaws = Jaws::symmetric(FIELD_MM[0], FIELD_MM[1]);
    Beam::fixed("AP", 1, 0.0, DVec3::ZERO, jaws, MONITOR_UNITS)
}

/// The field by a machine on a box of 200 mm about the isocentre.
fn source_of(machine: &Arc<Machine>, lines: &[SampledLine]) -> HeadSource {
    let water = patient(DVec3::splat(20.0), [10; 3], |_| (1.0, Material::Water)).unwrap();
    let request = HeadRequest {
        patient: &water,
        beams: &[(field(), Arc::clone(machine))],
        lattice: water.mass_density_g_cm3.grid(),
    };
    let output = MachineOutput {
        photons_per_cm2: PHOTONS_PER_CM2,
        has_electrons: false,
    };
    let mut source = HeadSource::new(request, &|_| Ok(output), &JobControl::new()).unwrap();
    source.set_lines(lines);
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

/// Photons through bands of the isocentre plane, in the field, over its edge and beside it, against the fluence of the analytic head;
/// and the squares of their weights, which tell how many of the histories count.
#[test]
fn photons_of_both_sources_are_the_fluence() {
    const ENERGY_MEV: f64 = 2.0;
    const BANDS_MM: [[f64; 2]; 5] = [
        [0.0, 30.0],
        [30.0, 38.0],
        [38.0, 42.0],
        [42.0, 60.0],
        [60.0, 90.0],
    ];
    let machine = Machine::resolve("generic-6mv").unwrap();
    let line = SampledLine {
        machine: 0,
        kind: PHOTON,
        energy_mev: ENERGY_MEV,
        chance: 1.0,
        weight: 1.0,
    };
    let source = source_of(&machine, &[line]);
    let batch = 1_000_000;
    let mut photons = [0.0; BANDS_MM.len()];
    let [mut sum, mut sum_of_squares] = [0.0; 2];
    for history in 0..batch {
        let particle = source.sample(Stream::new(3, history), history, batch);
        let weight = f64::from(particle.weight);
        let [x, y, z] = [0, 1, 2].map(|axis| {
            f64::from(particle.position_cm[axis] + particle.direction[axis] * reach_cm(&particle))
        });
        assert!((y - 10.0).abs() < 1e-3);
        sum += weight;
        sum_of_squares += weight * weight;
        let [x_mm, y_mm] = [10.0 * x - 100.0, 10.0 * z - 100.0];
        let band = BANDS_MM
            .iter()
            .position(|band| (band[0]..band[1]).contains(&x_mm.abs()));
        if let Some(band) = band.filter(|_| y_mm.abs() < 20.0) {
            photons[band] += weight / batch as f64;
        }
    }
    for (band, photons) in BANDS_MM.into_iter().zip(photons) {
        let expected = photons_in(&machine, band, ENERGY_MEV);
        assert!(
            (photons / expected - 1.0).abs() < 0.02,
            "{band:?}: {photons} for {expected}"
        );
    }
    let efficiency = sum * sum / (batch as f64 * sum_of_squares);
    assert!(efficiency > 0.85, "{efficiency}");
}

/// Distance to the plane of the isocentre, cm.
fn reach_cm(particle: &super::Particle) -> f32 {
    (10.0 - particle.position_cm[1]) / particle.direction[1]
}

/// Photons between two distances from the axis in x, on either side, and 20 mm from it in y, by the analytic fluence.
fn photons_in(machine: &Arc<Machine>, band_mm: [f64; 2], energy_mev: f64) -> f64 {
    const STEP_MM: f64 = 0.5;
    let beam = field();
    let exposure = exposures(&beam, 1.0).remove(0);
    let fluence = Fluence::new(machine, &beam, &exposure).unwrap();
    let softening = Softening::new(machine);
    let attenuation = KernelTable::water().mu_over_rho_cm2_g(energy_mev);
    let columns = ((band_mm[1] - band_mm[0]) / STEP_MM) as usize;
    let mut sum = 0.0;
    for column in 0..columns {
        let x_mm = band_mm[0] + (column as f64 + 0.5) * STEP_MM;
        for row in 0..40 {
            let y_mm = (f64::from(row) + 0.5) * STEP_MM;
            let radius_mm = x_mm.hypot(y_mm);
            let cos = machine.sad_mm / machine.sad_mm.hypot(radius_mm);
            sum += fluence.at(x_mm, y_mm, machine.sad_mm, STEP_MM)
                * cos.powi(3)
                * softening.at(radius_mm).photons(attenuation);
        }
    }
    let quadrants = 4.0;
    quadrants * sum * 0.01 * STEP_MM * STEP_MM * MONITOR_UNITS * PHOTONS_PER_CM2
}
