//! Collisions of electrons and positrons above the production thresholds: knock-on electrons, bremsstrahlung, annihilation in flight.

use crate::charged::{Fate, Track};
use crate::energy::{quantised_mev, rest_energy_mev};
use crate::history::Histories;
use crate::particle::Kind;
use crate::rotation::{Deflection, deflected};
use crate::tables::charged::Column;
use crate::tables::{MaterialTables, bremsstrahlung};
use glam::DVec3;
use particles::charge::{primary_one_minus_cos, secondary_cos2};
use particles::constants::ELECTRON_MASS_MEV;
use particles::hard::{annihilation, bhabha, cross_section_cm2_g, moller};
use particles::{Charge, Medium};
use physics::Material;
use std::f64::consts::PI;
use std::sync::LazyLock;

/// Collisions with free electrons go as the electrons in a gram: cross sections of water, scaled, serve every medium.
struct Electrons {
    water: Medium,
    water_per_g: f64,
    by_material: Vec<f64>,
}

static ELECTRONS: LazyLock<Electrons> = LazyLock::new(|| {
    let water = Medium::of(Material::Water);
    Electrons {
        water,
        water_per_g: water.electrons_per_g(),
        by_material: Material::ALL
            .iter()
            .map(|&material| Medium::of(material).electrons_per_g())
            .collect(),
    }
});

/// Lets a candidate of a hard collision be one or none: `bound_cm2_g` is the cross section that its distance was drawn from.
pub(crate) fn collide(
    histories: &mut Histories<'_>,
    track: &mut Track,
    tables: &MaterialTables,
    bound_cm2_g: f64,
) -> Fate {
    let electrons = &*ELECTRONS;
    let density_ratio = electrons.by_material[tables.material as usize] / electrons.water_per_g;
    let electron_mev = tables.thresholds.electron_mev;
    let knock_on = density_ratio
        * cross_section_cm2_g(
            &electrons.water,
            track.charge,
            track.energy_mev,
            electron_mev,
        );
    let bremsstrahlung = tables.charged_at(track.charge, track.energy_mev, Column::Bremsstrahlung);
    let target = bound_cm2_g * track.draws.uniform();
    if target < knock_on {
        knock_on_electron(histories, track, electron_mev);
        return Fate::GoesOn;
    }
    // Between the first nodes the table is above zero, and no photon above the threshold is possible.
    if target < knock_on + bremsstrahlung && track.energy_mev > tables.thresholds.photon_mev {
        radiate(histories, track, tables);
        return Fate::GoesOn;
    }
    if track.charge == Charge::Positron {
        let annihilation =
            density_ratio * annihilation::cross_section_cm2_g(&electrons.water, track.energy_mev);
        if target < knock_on + bremsstrahlung + annihilation {
            annihilate_in_flight(histories, track);
            return Fate::Over;
        }
    }
    Fate::GoesOn
}

/// Moller's or Bhabha's collision; both particles carry the momentum of the first.
fn knock_on_electron(histories: &mut Histories<'_>, track: &mut Track, threshold_mev: f64) {
    let energy_mev = track.energy_mev;
    let greatest_mev = track.charge.maximum_transfer_mev(energy_mev);
    let transfer_mev =
        quantised_mev((energy_mev * knock_on_share(track, threshold_mev)).min(greatest_mev));
    let azimuth = track.draws.azimuth();
    let secondary_cos = secondary_cos2(energy_mev, transfer_mev).min(1.0).sqrt();
    let secondary_direction = deflected(
        track.direction,
        Deflection {
            one_minus_cos: 1.0 - secondary_cos,
            azimuth: azimuth + PI,
        },
    );
    histories.emit(
        track,
        Kind::Charged(Charge::Electron),
        transfer_mev,
        secondary_direction,
    );
    track.direction = deflected(
        track.direction,
        Deflection {
            one_minus_cos: primary_one_minus_cos(energy_mev, transfer_mev),
            azimuth,
        },
    );
    track.lose(transfer_mev);
}

fn knock_on_share(track: &mut Track, threshold_mev: f64) -> f64 {
    let energy_mev = track.energy_mev;
    loop {
        let uniform = track.draws.uniform();
        let (share, acceptance) = match track.charge {
            Charge::Electron => {
                let share = moller::candidate_share(energy_mev, threshold_mev, uniform);
                (share, moller::acceptance(energy_mev, share))
            }
            Charge::Positron => {
                let share = bhabha::candidate_share(energy_mev, threshold_mev, uniform);
                (share, bhabha::acceptance(energy_mev, share))
            }
        };
        if track.draws.uniform() < acceptance {
            return share;
        }
    }
}

/// Bremsstrahlung photon at the polar angle m/(T + m); the electron keeps its direction.
fn radiate(histories: &mut Histories<'_>, track: &mut Track, tables: &MaterialTables) {
    let energy_mev = track.energy_mev;
    let threshold_mev = tables.thresholds.photon_mev;
    let photon_mev = loop {
        let candidate_mev =
            threshold_mev * (energy_mev / threshold_mev).powf(track.draws.uniform());
        let share = candidate_mev / energy_mev;
        let acceptance = bremsstrahlung::acceptance(&tables.bremsstrahlung, energy_mev, share);
        if track.draws.uniform() < acceptance {
            break quantised_mev(candidate_mev).min(energy_mev);
        }
    };
    let angle = ELECTRON_MASS_MEV / (energy_mev + ELECTRON_MASS_MEV);
    let azimuth = track.draws.azimuth();
    let direction = deflected(
        track.direction,
        Deflection {
            one_minus_cos: 1.0 - angle.cos(),
            azimuth,
        },
    );
    histories.emit(track, Kind::Photon, photon_mev, direction);
    track.lose(photon_mev);
}

/// Two photons of a positron in flight.
fn annihilate_in_flight(histories: &mut Histories<'_>, track: &mut Track) {
    let energy_mev = track.energy_mev;
    let share = loop {
        let candidate = annihilation::candidate_share(energy_mev, track.draws.uniform());
        if track.draws.uniform() < annihilation::acceptance(energy_mev, candidate) {
            break candidate;
        }
    };
    let both_mev = energy_mev + 2.0 * rest_energy_mev();
    let first_mev = quantised_mev(both_mev * share);
    let azimuth = track.draws.azimuth();
    let first = annihilation_direction(track, share, azimuth);
    let second = annihilation_direction(track, 1.0 - share, azimuth + PI);
    histories.emit(track, Kind::Photon, first_mev, first);
    histories.emit(track, Kind::Photon, both_mev - first_mev, second);
}

fn annihilation_direction(track: &Track, share: f64, azimuth: f64) -> DVec3 {
    let cos = annihilation::photon_cos(track.energy_mev, share).clamp(-1.0, 1.0);
    deflected(
        track.direction,
        Deflection {
            one_minus_cos: 1.0 - cos,
            azimuth,
        },
    )
}

impl Track {
    /// Takes the energy of a hard collision; the hinge scales with what is left.
    fn lose(&mut self, energy_mev: f64) {
        let remaining_mev = self.energy_mev - energy_mev;
        self.hinge.scale(remaining_mev / self.energy_mev);
        self.energy_mev = remaining_mev;
    }
}

#[cfg(test)]
mod tests;
