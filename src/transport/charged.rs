//! Electrons and positrons: continuous losses, multiple scattering at hinges, collisions above the thresholds one by one (class II
//! of Berger, Methods in Computational Physics 1, 135 (1963)).

use crate::draws::Draws;
use crate::energy::{quanta, quantised_mev, rest_energy_mev};
use crate::hard;
use crate::hinge::Hinge;
use crate::history::Histories;
use crate::particle::{Deposit, Kind, Particle};
use crate::rotation::{Deflection, deflected, isotropic};
use crate::tables::MaterialTables;
use crate::tables::charged::Column;
use crate::voxels::{Cell, Crossing};
use crate::world::Matter;
use glam::DVec3;
use particles::Charge;

/// Steps that no particle reaches: a track of 20 MeV through voxels of 1 mm takes some hundreds.
const STEP_BUDGET: u32 = 200_000;

/// Electron or positron on its way.
pub(crate) struct Track {
    pub charge: Charge,
    pub energy_mev: f64,
    pub position_cm: DVec3,
    pub direction: DVec3,
    pub cell: Cell,
    pub weight: u64,
    pub draws: Draws,
    pub hinge: Hinge,
    /// To the next candidate of a hard collision.
    mean_free_paths: f64,
    /// Index of the cell; it, the matter and the cut-off are looked up where the track comes into the cell.
    voxel: usize,
    matter: Matter,
    cut_off_mev: f64,
}

/// Reason for which a step ends.
#[derive(Clone, Copy, PartialEq)]
enum Limit {
    Face {
        axis: usize,
    },
    /// The loss to the hinge or to the cut-off.
    Loss,
    HardCollision,
}

/// Whether a track goes on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    GoesOn,
    Over,
}

impl Histories<'_> {
    /// Transports an electron or positron to its end; photons and electrons that it makes go to the stack.
    pub(crate) fn transport_charged(&mut self, charge: Charge, particle: &Particle, cell: Cell) {
        let mut track = self.track(charge, particle, cell);
        if track.energy_mev <= track.cut_off_mev {
            self.end_track(&mut track);
            return;
        }
        for _ in 0..STEP_BUDGET {
            if self.step(&mut track) == Fate::Over {
                return;
            }
        }
        self.ledger.exhausted_particles += 1;
        self.end_track(&mut track);
    }

    /// Particle as it starts on its way.
    pub(crate) fn track(&self, charge: Charge, particle: &Particle, cell: Cell) -> Track {
        let mut draws = Draws::with_key(particle.key);
        let voxel = self.world.voxels().index(cell);
        let matter = self.world.all_matter()[voxel];
        Track {
            charge,
            energy_mev: particle.energy_mev,
            position_cm: particle.position_cm,
            direction: particle.direction,
            cell,
            weight: particle.weight,
            hinge: Hinge::new(
                particle.energy_mev,
                self.world.settings().step_loss,
                draws.uniform(),
            ),
            mean_free_paths: draws.exponential(),
            voxel,
            matter,
            cut_off_mev: self.world.cut_off_mev(matter),
            draws,
        }
    }

    fn step(&mut self, track: &mut Track) -> Fate {
        let grid = self.world.voxels().grid();
        let face = grid.face_ahead(track.cell, track.position_cm, track.direction);
        let matter = track.matter;
        let Some(tables) = self.world.tables_of(matter) else {
            track.position_cm += track.direction * face.distance_cm;
            return self.cross_face(track, face.axis);
        };
        let density = matter.density_g_cm3();
        let greatest_loss_mev =
            (track.hinge.loss_to_hinge_mev).min(track.energy_mev - track.cut_off_mev);
        let loss_distance_cm = greatest_loss_mev
            / (density * soft_loss(tables, track, track.energy_mev - greatest_loss_mev / 2.0));
        let row = tables.charged_row(track.charge, track.energy_mev);
        let hard_bound_cm2_g = f64::from(tables.collision_bound_cm2_g[track.charge as usize])
            + row.bremsstrahlung_cm2_g;
        let hard_per_cm = density * hard_bound_cm2_g;
        let hard_distance_cm = track.mean_free_paths / hard_per_cm;

        let mut limit = Limit::Loss;
        let mut distance_cm = loss_distance_cm;
        if hard_distance_cm < distance_cm {
            (limit, distance_cm) = (Limit::HardCollision, hard_distance_cm);
        }
        if face.distance_cm < distance_cm {
            (limit, distance_cm) = (Limit::Face { axis: face.axis }, face.distance_cm);
        }
        let loss_mev = match limit {
            Limit::Loss => greatest_loss_mev,
            _ => {
                let path_g_cm2 = density * distance_cm;
                midpoint_loss_mev(tables, track, row.soft_mev_cm2_g, path_g_cm2)
                    .min(greatest_loss_mev)
            }
        };

        let start_cm = track.position_cm;
        track.position_cm += track.direction * distance_cm;
        track.energy_mev -= loss_mev;
        track.hinge.loss_to_hinge_mev -= loss_mev;
        track.mean_free_paths -= distance_cm * hard_per_cm;
        self.deposit(Deposit {
            voxel: track.voxel,
            start_cm,
            end_cm: track.position_cm,
            middle_mev: track.energy_mev + loss_mev / 2.0,
            charge: track.charge,
            quanta: quanta(loss_mev) * track.weight,
        });
        match limit {
            Limit::Face { axis } => self.cross_face(track, axis),
            // Tested first: at the cut-off there is no hinge any more.
            Limit::Loss if track.energy_mev <= track.cut_off_mev => {
                self.end_track(track);
                Fate::Over
            }
            Limit::Loss => {
                self.turn(track, tables);
                Fate::GoesOn
            }
            Limit::HardCollision => {
                track.mean_free_paths = track.draws.exponential();
                let fate = hard::collide(self, track, tables, hard_bound_cm2_g);
                if fate == Fate::GoesOn && track.energy_mev <= track.cut_off_mev {
                    self.end_track(track);
                    return Fate::Over;
                }
                fate
            }
        }
    }

    /// Takes a track through a face. Where the cut-off behind is above its energy the track ends before the face: none comes back
    /// with as little, so that none may go.
    fn cross_face(&mut self, track: &mut Track, axis: usize) -> Fate {
        let grid = self.world.voxels().grid();
        let mut cell = track.cell;
        let mut position_cm = track.position_cm;
        if grid.cross(axis, track.direction, &mut cell, &mut position_cm) == Crossing::Outside {
            self.escape_charged(track.charge, track.energy_mev, track.weight);
            return Fate::Over;
        }
        let voxel = self.world.voxels().index(cell);
        let matter = self.world.all_matter()[voxel];
        let cut_off_mev = self.world.cut_off_mev(matter);
        if track.energy_mev <= cut_off_mev {
            self.end_track(track);
            return Fate::Over;
        }
        track.cell = cell;
        track.position_cm = position_cm;
        track.voxel = voxel;
        track.matter = matter;
        track.cut_off_mev = cut_off_mev;
        Fate::GoesOn
    }

    /// Turns a track at its hinge, by the path K = loss kappa/L in the medium there.
    fn turn(&mut self, track: &mut Track, tables: &MaterialTables) {
        let step = track.hinge.step(track.energy_mev);
        let row = tables.charged_row(track.charge, step.middle_mev);
        let path = step.loss_mev * row.transport_cm2_g / row.soft_mev_cm2_g;
        let one_minus_cos = tables
            .angles
            .one_minus_cos(row.ln_energy, path, &mut track.draws);
        let azimuth = track.draws.azimuth();
        track.direction = deflected(
            track.direction,
            Deflection {
                one_minus_cos,
                azimuth,
            },
        );
        track.hinge = track.hinge.next(
            track.energy_mev,
            self.world.settings().step_loss,
            track.draws.uniform(),
        );
    }

    /// Leaves what a track has; a positron annihilates at rest.
    fn end_track(&mut self, track: &mut Track) {
        self.deposit(Deposit {
            voxel: track.voxel,
            start_cm: track.position_cm,
            end_cm: track.position_cm,
            middle_mev: track.energy_mev,
            charge: track.charge,
            quanta: quanta(track.energy_mev) * track.weight,
        });
        if track.charge == Charge::Positron {
            let direction = isotropic(track.draws.uniform(), track.draws.azimuth());
            for direction in [direction, -direction] {
                self.emit(track, Kind::Photon, rest_energy_mev(), direction);
            }
        }
    }

    /// Puts a secondary of a track on the stack.
    pub(crate) fn emit(
        &mut self,
        track: &mut Track,
        kind: Kind,
        energy_mev: f64,
        direction: DVec3,
    ) {
        let particle = Particle {
            kind,
            energy_mev,
            position_cm: track.position_cm,
            direction,
            weight: track.weight,
            key: track.draws.key_of_secondary(),
        };
        let cell = track.cell;
        match kind {
            Kind::Photon => self.push_photon(particle, cell, &mut track.draws),
            Kind::Charged(_) => self.push(particle, cell),
        }
    }
}

/// Restricted stopping power L, MeV cm2/g.
fn soft_loss(tables: &MaterialTables, track: &Track, energy_mev: f64) -> f64 {
    tables.charged_at(track.charge, energy_mev, Column::SoftStoppingPower)
}

/// Loss over a path in g/cm2 by the midpoint rule, to the quantum; `soft_mev_cm2_g` is L at its beginning.
fn midpoint_loss_mev(
    tables: &MaterialTables,
    track: &Track,
    soft_mev_cm2_g: f64,
    path_g_cm2: f64,
) -> f64 {
    let half_loss_mev = 0.5 * path_g_cm2 * soft_mev_cm2_g;
    quantised_mev(path_g_cm2 * soft_loss(tables, track, track.energy_mev - half_loss_mev))
}
