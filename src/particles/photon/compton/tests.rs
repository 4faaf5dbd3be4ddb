use super::*;
use crate::medium::Medium;
use crate::photon::CrossSections;
use crate::test_data::assert_relative;
use physics::Material;

/// Ratio of the electron's mean energy to the photon's: closed forms of Klein and Nishina's energy transfer.
const MEAN_TRANSFERS: [(f64, f64); 6] = [
    (0.1, 0.13800),
    (0.5, 0.34137),
    (1.0, 0.44004),
    (2.0, 0.53084),
    (6.0, 0.64400),
    (15.0, 0.71004),
];

#[test]
fn mean_transfers_to_free_electrons_are_those_of_klein_and_nishina() {
    for (photon_mev, transfer) in MEAN_TRANSFERS {
        let panels = geometric_panels(minimum_share(photon_mev), 1.0, 1.1);
        let density = |share: f64| share_density(Electrons::Free, photon_mev, share);
        let mean = integrate(&panels, |share| (1.0 - share) * density(share))
            / integrate(&panels, density);
        assert!((mean - transfer).abs() < 1e-5, "{photon_mev} MeV: {mean}");
    }
}

/// The table that is drawn from, at energies between its rows.
#[test]
fn quantiles_of_free_electrons_keep_the_mean_transfer() {
    let grid = QuantileGrid {
        least_mev: 1.0 / 128.0,
        octaves: 12,
        rows_per_octave: 8,
        probabilities: 257,
    };
    let table = QuantileTable::new(Electrons::Free, grid);
    for (photon_mev, transfer) in MEAN_TRANSFERS {
        let draws = 20_000;
        let mean = 1.0
            - (0..draws)
                .map(|index| table.share(photon_mev, (f64::from(index) + 0.5) / f64::from(draws)))
                .sum::<f64>()
                / f64::from(draws);
        assert_relative(mean, transfer, 2e-4, &format!("{photon_mev} MeV"));
    }
}

/// XCOM's incoherent column was made from the same scattering function, with radiative corrections; water is within
/// 0.32 %, titanium at 50 keV furthest off.
#[test]
fn bound_electrons_give_the_incoherent_column_of_xcom() {
    for material in [
        Material::Water,
        Material::CorticalBone,
        Material::Aluminium,
        Material::Titanium,
    ] {
        let functions = ScatteringFunctions::of(&Medium::of(material));
        let cross_sections = CrossSections::of(material);
        for photon_mev in [0.02, 0.05, 0.1, 0.5, 2.0, 10.0] {
            let value = cross_section_cm2(Electrons::Bound(&functions), photon_mev)
                * functions.electrons_per_g();
            let xcom = cross_sections.at(photon_mev).compton_cm2_g;
            assert_relative(
                value,
                xcom,
                7.5e-3,
                &format!("{} at {photon_mev} MeV", material.name()),
            );
        }
    }
}

#[test]
fn quantiles_of_bound_electrons_follow_their_density() {
    let functions = ScatteringFunctions::of(&Medium::of(Material::Titanium));
    for photon_mev in [0.03, 0.3, 3.0] {
        let electrons = Electrons::Bound(&functions);
        let quantiles = quantiles(electrons, photon_mev, 257);
        let panels = geometric_panels(minimum_share(photon_mev), 1.0, 1.02);
        let density = |share: f64| share_density(electrons, photon_mev, share);
        let total = integrate(&panels, density);
        for (index, y) in quantiles.iter().enumerate().step_by(32).skip(1) {
            let share = minimum_share(photon_mev).powf(*y);
            let share_above = integrate(&geometric_panels(share, 1.0, 1.02), density);
            assert!(
                (share_above / total - index as f64 / 256.0).abs() < 1e-4,
                "{photon_mev} MeV, {index}"
            );
        }
    }
}

#[test]
fn photon_and_electron_carry_the_momentum_of_the_first_photon() {
    for (photon_mev, share) in [(0.1, 0.9), (1.0, 0.5), (6.0, 0.1)] {
        let t = one_minus_cos(photon_mev, share);
        let energy_mev = photon_mev * (1.0 - share);
        let momentum = (energy_mev * (energy_mev + 2.0 * ELECTRON_MASS_MEV)).sqrt();
        let along = photon_mev * share * (1.0 - t) + momentum * electron_cos(photon_mev, t);
        assert_relative(along, photon_mev, 1e-12, &format!("{photon_mev} MeV"));
    }
}
