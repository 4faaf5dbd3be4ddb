//! Photons: flights against the greatest attenuation of any voxel (Woodcock 1965), then one of four processes.
//!
//! With splitting n, flights are n times shorter and each collision emits its electrons, while one in n is real for the photon;
//! the photon stands for n, its electrons for 1 each.

use crate::draws::Draws;
use crate::energy::{quantised_mev, rest_energy_mev};
use crate::history::Histories;
use crate::majorants::Span;
use crate::particle::{Kind, Particle};
use crate::rotation::{Deflection, deflected};
use crate::tables::{MaterialTables, compton, photon, rayleigh};
use crate::voxels::Cell;
use glam::DVec3;
use particles::Charge;
use particles::photon::{
    compton::{electron_cos, one_minus_cos},
    pair::{EnergyShares, particle_cos},
    photoelectric,
};
use std::f64::consts::PI;

/// Candidates of a pair's energy shares before equal shares are taken: as many are refused within eV of the threshold alone.
const PAIR_CANDIDATES: usize = 1000;

/// Photon on its way.
struct Flight {
    photon: Particle,
    cell: Cell,
    draws: Draws,
    /// Weight of electrons that this collision emits.
    electron_weight: u64,
    /// Whether the collision happens to the photon, and not to its electrons alone.
    is_real: bool,
}

/// Whether a photon goes on.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    GoesOn,
    Over,
}

impl<'a> Histories<'a> {
    pub(crate) fn transport_photon(&mut self, particle: &Particle) {
        let splitting = self.world.settings().splitting;
        let mut flight = Flight {
            photon: *particle,
            cell: [0; 3],
            draws: Draws::with_key(particle.key),
            electron_weight: particle.weight / splitting,
            is_real: true,
        };
        loop {
            let Some(tables) = self.fly(&mut flight) else {
                self.escape(&flight.photon);
                return;
            };
            flight.is_real = splitting == 1 || flight.draws.uniform() * (splitting as f64) < 1.0;
            let uniform = flight.draws.uniform();
            if self.interact(&mut flight, tables, uniform) == Fate::Over {
                return;
            }
        }
    }

    /// Moves a photon to its next collision, real or virtual by splitting, and returns the tables there; none where it leaves.
    fn fly(&self, flight: &mut Flight) -> Option<&'a MaterialTables> {
        let photon_mev = flight.photon.energy_mev;
        let splitting = self.world.settings().splitting as f64;
        let grid = self.world.voxels().grid();
        let majorants = self.world.majorants();
        loop {
            let Particle {
                position_cm,
                direction,
                ..
            } = flight.photon;
            let Span {
                majorant_per_cm,
                side,
            } = majorants.span(grid, position_cm, direction, photon_mev);
            let distance_cm = flight.draws.exponential() / (majorant_per_cm * splitting);
            if let Some(side) = side.filter(|side| side.distance_cm < distance_cm) {
                let at_side = &mut flight.photon.position_cm;
                *at_side += direction * side.distance_cm;
                at_side[side.axis] = side.place_cm;
                if side.is_of_grid {
                    return None;
                }
                continue;
            }
            flight.photon.position_cm = grid.wrapped(position_cm + direction * distance_cm);
            flight.cell = grid.cell_of(flight.photon.position_cm)?;
            let matter = self.world.matter(flight.cell);
            if let Some(tables) = self.world.tables_of(matter) {
                let attenuation_per_cm =
                    matter.density_g_cm3() * tables.attenuation_cm2_g(photon_mev);
                if flight.draws.uniform() * majorant_per_cm < attenuation_per_cm {
                    return Some(tables);
                }
            }
        }
    }

    /// One collision of a photon in a voxel; it goes on from there, or escapes where secondary photons do.
    pub(crate) fn collide_photon(&mut self, photon: Particle, cell: Cell) {
        let Some(tables) = self.world.tables_of(self.world.matter(cell)) else {
            self.escape(&photon);
            return;
        };
        let mut flight = Flight {
            photon,
            cell,
            draws: Draws::with_key(photon.key),
            electron_weight: photon.weight,
            is_real: true,
        };
        let rayleigh_from =
            process_share(tables, photon.energy_mev, photon::Column::WithPhotoelectric);
        let uniform = flight.draws.uniform() * rayleigh_from;
        if self.interact(&mut flight, tables, uniform) == Fate::GoesOn {
            let mut photon = flight.photon;
            photon.key = flight.draws.key_of_secondary();
            self.push_photon(photon, cell, &mut flight.draws);
        }
    }

    /// The process that a uniform draw chooses.
    fn interact(&mut self, flight: &mut Flight, tables: &MaterialTables, uniform: f64) -> Fate {
        let [_, compton, with_pairs, with_photoelectric] =
            tables.photon_row(flight.photon.energy_mev);
        if uniform < compton {
            self.scatter_compton(flight, tables)
        } else if uniform < with_pairs {
            self.produce_pair(flight)
        } else if uniform < with_photoelectric {
            self.photoelectric(flight)
        } else {
            scatter_rayleigh(flight, tables);
            Fate::GoesOn
        }
    }

    /// Klein & Nishina's scattering with bound electrons; the electron leaves in the plane of both photons.
    fn scatter_compton(&mut self, flight: &mut Flight, tables: &MaterialTables) -> Fate {
        let photon_mev = flight.photon.energy_mev;
        let share = compton::share(&tables.compton, photon_mev, flight.draws.uniform());
        let scattered_mev = quantised_mev(photon_mev * share);
        let deflection = one_minus_cos(photon_mev, share).clamp(0.0, 2.0);
        let azimuth = flight.draws.azimuth();
        let electron_direction = deflected(
            flight.photon.direction,
            Deflection {
                one_minus_cos: 1.0 - electron_cos(photon_mev, deflection).min(1.0),
                azimuth: azimuth + PI,
            },
        );
        self.emit_charged(
            flight,
            Charge::Electron,
            photon_mev - scattered_mev,
            electron_direction,
        );
        if !flight.is_real {
            return Fate::GoesOn;
        }
        flight.photon.energy_mev = scattered_mev;
        flight.photon.direction = deflected(
            flight.photon.direction,
            Deflection {
                one_minus_cos: deflection,
                azimuth,
            },
        );
        if scattered_mev < self.world.settings().photon_cut_off_mev {
            self.absorb(&flight.photon, flight.cell);
            return Fate::Over;
        }
        Fate::GoesOn
    }

    fn produce_pair(&mut self, flight: &mut Flight) -> Fate {
        let photon_mev = flight.photon.energy_mev;
        // The table reaches below the threshold by one step of its grid.
        let Some(shares) = EnergyShares::new(photon_mev) else {
            return Fate::GoesOn;
        };
        let kinetic_mev = (photon_mev - 2.0 * rest_energy_mev()).max(0.0);
        let electron_share = pair_share(&shares, &mut flight.draws);
        let electron_mev =
            quantised_mev(photon_mev * electron_share - rest_energy_mev()).clamp(0.0, kinetic_mev);
        for (charge, energy_mev) in [
            (Charge::Electron, electron_mev),
            (Charge::Positron, kinetic_mev - electron_mev),
        ] {
            let one_minus_cos = 1.0 - particle_cos(energy_mev, flight.draws.uniform());
            let direction = flight.turned(one_minus_cos);
            self.emit_charged(flight, charge, energy_mev, direction);
        }
        flight.fate_of_absorbed()
    }

    /// The electron takes the photon's energy, its binding included.
    fn photoelectric(&mut self, flight: &mut Flight) -> Fate {
        let energy_mev = flight.photon.energy_mev;
        let one_minus_cos = loop {
            let candidate = photoelectric::candidate(energy_mev, flight.draws.uniform());
            if flight.draws.uniform() < photoelectric::acceptance(energy_mev, candidate) {
                break candidate;
            }
        };
        let direction = flight.turned(one_minus_cos);
        self.emit_charged(flight, Charge::Electron, energy_mev, direction);
        flight.fate_of_absorbed()
    }

    fn emit_charged(
        &mut self,
        flight: &mut Flight,
        charge: Charge,
        energy_mev: f64,
        direction: DVec3,
    ) {
        let particle = Particle {
            kind: Kind::Charged(charge),
            energy_mev,
            position_cm: flight.photon.position_cm,
            direction,
            weight: flight.electron_weight,
            key: flight.draws.key_of_secondary(),
        };
        self.push(particle, flight.cell);
    }
}

impl Flight {
    /// The photon's direction turned at a uniform azimuth.
    fn turned(&mut self, one_minus_cos: f64) -> DVec3 {
        let azimuth = self.draws.azimuth();
        deflected(
            self.photon.direction,
            Deflection {
                one_minus_cos,
                azimuth,
            },
        )
    }

    fn fate_of_absorbed(&self) -> Fate {
        if self.is_real {
            Fate::Over
        } else {
            Fate::GoesOn
        }
    }
}

/// Cumulative share of processes in the attenuation.
fn process_share(tables: &MaterialTables, photon_mev: f64, column: photon::Column) -> f64 {
    photon::ENERGY_GRID.place(photon_mev as f32).in_table(
        &tables.photon,
        photon::WIDTH,
        column as usize,
    )
}

fn scatter_rayleigh(flight: &mut Flight, tables: &MaterialTables) {
    if !flight.is_real {
        return;
    }
    let photon_mev = flight.photon.energy_mev;
    let one_minus_cos = loop {
        let candidate =
            rayleigh::one_minus_cos(&tables.rayleigh, photon_mev, flight.draws.uniform());
        let accepted = particles::photon::rayleigh::acceptance(candidate);
        if flight.draws.uniform() < accepted {
            break candidate;
        }
    };
    flight.photon.direction = flight.turned(one_minus_cos);
}

fn pair_share(shares: &EnergyShares, draws: &mut Draws) -> f64 {
    for _ in 0..PAIR_CANDIDATES {
        let share = shares.candidate_share(draws.uniform());
        if draws.uniform() < shares.acceptance(share) {
            return share;
        }
    }
    0.5
}

#[cfg(test)]
mod tests;
