use super::*;
use crate::particle::Particle;
use crate::tables::Thresholds;
use crate::test_worlds::{Nothing, cubes, particle, tables};
use crate::world::{Settings, World};
use particles::bremsstrahlung::Bremsstrahlung;

/// Particles after a collision: the primary and the secondaries.
struct Products {
    track: Track,
    secondaries: Vec<Particle>,
}

fn products(
    charge: Charge,
    energy_mev: f64,
    key: u64,
    collide: impl Fn(&mut Histories<'_>, &mut Track),
) -> Products {
    let voxels = cubes([1; 3], |_| Material::Water);
    let settings = Settings::for_thresholds(Thresholds::STANDARD);
    let world = World::new(&voxels, tables(), settings).expect("a world");
    let mut nothing = Nothing;
    let mut histories = Histories::new(&world, &mut nothing);
    let start = particle(Kind::Charged(charge), energy_mev, key);
    let mut track = histories.track(charge, &start, [0; 3]);
    collide(&mut histories, &mut track);
    Products {
        track,
        secondaries: histories
            .stack
            .iter()
            .map(|waiting| waiting.particle)
            .collect(),
    }
}

fn momentum_mev(kind: Kind, energy_mev: f64, direction: DVec3) -> DVec3 {
    match kind {
        Kind::Photon => direction * energy_mev,
        Kind::Charged(_) => {
            direction * (energy_mev * (energy_mev + 2.0 * ELECTRON_MASS_MEV)).sqrt()
        }
    }
}

/// Energy and momentum of both electrons are the primary's, whichever way it flies.
#[test]
fn knock_on_electrons_conserve_energy_and_momentum() {
    for charge in Charge::BOTH {
        for key in 0..200 {
            let Products { track, secondaries } = products(charge, 4.0, key, |histories, track| {
                knock_on_electron(histories, track, 0.2);
            });
            let [secondary] = secondaries[..] else {
                panic!("{} secondaries", secondaries.len());
            };
            assert_eq!(track.energy_mev + secondary.energy_mev, 4.0);
            let incoming = momentum_mev(secondary.kind, 4.0, DVec3::Z);
            let outgoing = momentum_mev(secondary.kind, track.energy_mev, track.direction)
                + momentum_mev(secondary.kind, secondary.energy_mev, secondary.direction);
            assert!(
                (outgoing - incoming).length() < 1e-6,
                "{charge:?}: {outgoing}"
            );
        }
    }
}

/// Both photons carry the energy and momentum of the positron and its partner.
#[test]
fn annihilation_conserves_energy_and_momentum() {
    for energy_mev in [0.25, 5.0] {
        for key in 0..200 {
            let Products { secondaries, .. } =
                products(Charge::Positron, energy_mev, key, annihilate_in_flight);
            let [first, second] = secondaries[..] else {
                panic!("{} photons", secondaries.len());
            };
            let both_mev = energy_mev + 2.0 * rest_energy_mev();
            assert_eq!(first.energy_mev + second.energy_mev, both_mev);
            let incoming = momentum_mev(Kind::Charged(Charge::Positron), energy_mev, DVec3::Z);
            let outgoing =
                first.direction * first.energy_mev + second.direction * second.energy_mev;
            // Energies are rounded to a quantum, directions are not.
            assert!(
                (outgoing - incoming).length() < 4e-6,
                "{outgoing} for {incoming}"
            );
        }
    }
}

/// Counts of a sampled variable in bins of equal probability against even counts: chi2 per bin within four standard deviations.
fn assert_even(counts: &[u32], place: &str) {
    let total: u32 = counts.iter().sum();
    let expected = f64::from(total) / counts.len() as f64;
    let chi2: f64 = counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2) / expected)
        .sum();
    let freedom = counts.len() as f64 - 1.0;
    assert!(
        (chi2 - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(),
        "{place}: chi2 {chi2} of {freedom}"
    );
}

/// Transfers of 60,000 collisions in ten bins that the integrated cross sections make equally probable.
#[test]
fn transfers_follow_moller_and_bhabha() {
    let water = Medium::of(Material::Water);
    for charge in Charge::BOTH {
        let above_cut = cross_section_cm2_g(&water, charge, 3.0, 0.2);
        let mut counts = [0_u32; 10];
        for key in 0..60_000 {
            let mut draws_track = sampled_track(charge, 3.0, key);
            let transfer_mev = 3.0 * knock_on_share(&mut draws_track, 0.2);
            let above = cross_section_cm2_g(&water, charge, 3.0, transfer_mev) / above_cut;
            counts[((above * 10.0) as usize).min(9)] += 1;
        }
        assert_even(&counts, &format!("{charge:?}"));
    }
}

fn sampled_track(charge: Charge, energy_mev: f64, key: u64) -> Track {
    products(charge, energy_mev, key, |_, _| ()).track
}

/// Energies of photons in bins that the cross section above each makes equally probable; the shape in the table is within 1 % of
/// Seltzer's, so 20,000 photons are as many as ten bins can tell apart.
#[test]
fn photons_follow_seltzers_spectrum() {
    for (material, energy_mev) in [(Material::Water, 1.0), (Material::Titanium, 8.0)] {
        let photons = Bremsstrahlung::of(Medium::of(material));
        let spectrum = photons.spectrum(Charge::Electron, energy_mev);
        let above_cut = spectrum.cross_section_cm2_g(0.05);
        let table = &tables()[material as usize];
        let mut counts = [0_u32; 10];
        for key in 0..20_000 {
            let Products { track, secondaries } =
                products(Charge::Electron, energy_mev, key, |histories, track| {
                    radiate(histories, track, table);
                });
            let photon_mev = secondaries[0].energy_mev;
            assert_eq!(track.energy_mev + photon_mev, energy_mev);
            assert_eq!(track.direction, DVec3::Z);
            let above = spectrum.cross_section_cm2_g(photon_mev) / above_cut;
            counts[((above * 10.0) as usize).min(9)] += 1;
        }
        assert_even(&counts, &format!("{} {energy_mev} MeV", material.name()));
    }
}
