//! One history after another: a source particle and all that it sets moving.

use crate::draws::Draws;
use crate::energy::{GREATEST_ENERGY_MEV, quanta, rest_energy_mev};
use crate::ledger::Ledger;
use crate::particle::{Deposit, Kind, Particle, Scorer};
use crate::voxels::Cell;
use crate::world::World;
use particles::Charge;

/// Transport of histories into a scorer.
///
/// With splitting n, a photon's weight is n times its electrons': sums are n times the sums of histories without.
pub struct Histories<'a> {
    pub(crate) world: &'a World<'a>,
    scorer: &'a mut dyn Scorer,
    pub(crate) ledger: Ledger,
    pub(crate) stack: Vec<Waiting>,
    photons_escape: bool,
    escaped_charged: u64,
}

/// Particle that waits in a voxel.
pub(crate) struct Waiting {
    pub particle: Particle,
    cell: Cell,
}

impl<'a> Histories<'a> {
    pub fn new(world: &'a World<'a>, scorer: &'a mut dyn Scorer) -> Self {
        Self {
            world,
            scorer,
            ledger: Ledger::default(),
            stack: Vec::new(),
            photons_escape: false,
            escaped_charged: 0,
        }
    }

    /// Photons that particles make count as escaped where they start: what is left are the electrons of a first collision, of which
    /// primary kernels and Fano's theorem speak.
    pub fn without_secondary_photons(self) -> Self {
        Self {
            photons_escape: true,
            ..self
        }
    }

    pub fn ledger(&self) -> Ledger {
        self.ledger
    }

    /// Electrons and positrons that left the voxels.
    pub fn escaped_charged(&self) -> u64 {
        self.escaped_charged
    }

    /// Transports a source particle, whose weight is taken times the splitting, and all secondaries.
    pub fn run(&mut self, mut source: Particle) {
        // An energy that is not a number is in no range.
        if !(0.0..=GREATEST_ENERGY_MEV).contains(&source.energy_mev) {
            self.ledger.refused_particles += 1;
            return;
        }
        source.weight *= self.world.settings().splitting;
        self.ledger.incident += quanta(source.energy_mev) * source.weight;
        if source.kind == Kind::Charged(Charge::Positron) {
            self.ledger.incident += 2 * quanta(rest_energy_mev()) * source.weight;
        }
        let grid = self.world.voxels().grid();
        let Some(entry_cm) = grid.entry_cm(source.position_cm, source.direction) else {
            self.escape(&source);
            return;
        };
        source.position_cm += source.direction * entry_cm;
        // A point on the side itself may lie outside by the last bit.
        let just_inside = source.position_cm + source.direction * 1e-9;
        let cell = grid
            .cell_of(source.position_cm)
            .or_else(|| grid.cell_of(just_inside));
        let Some(cell) = cell else {
            self.escape(&source);
            return;
        };
        self.stack.push(Waiting {
            particle: source,
            cell,
        });
        self.empty_stack();
    }

    /// Lets a photon collide where it is, other than by Rayleigh scattering, and transports what the collision sets moving: the
    /// first interaction of energy deposition kernels. Outside the voxels nothing happens.
    pub fn run_collision(&mut self, photon: Particle) {
        if let Some(cell) = self.world.voxels().grid().cell_of(photon.position_cm) {
            self.ledger.incident += quanta(photon.energy_mev) * photon.weight;
            self.collide_photon(photon, cell);
            self.empty_stack();
        }
    }

    fn empty_stack(&mut self) {
        while let Some(Waiting { particle, cell }) = self.stack.pop() {
            match particle.kind {
                Kind::Photon => self.transport_photon(&particle),
                Kind::Charged(charge) => self.transport_charged(charge, &particle, cell),
            }
        }
    }

    /// Counts a particle that leaves.
    pub(crate) fn escape(&mut self, particle: &Particle) {
        if let Kind::Charged(charge) = particle.kind {
            self.escape_charged(charge, particle.energy_mev, particle.weight);
        } else {
            self.ledger.escaped += quanta(particle.energy_mev) * particle.weight;
        }
    }

    /// Counts an electron or positron that leaves, a positron with the rest energy of both partners.
    pub(crate) fn escape_charged(&mut self, charge: Charge, energy_mev: f64, weight: u64) {
        self.escaped_charged += weight;
        let rest_mev = match charge {
            Charge::Electron => 0.0,
            Charge::Positron => 2.0 * rest_energy_mev(),
        };
        self.ledger.escaped += quanta(energy_mev + rest_mev) * weight;
    }

    pub(crate) fn deposit(&mut self, deposit: Deposit) {
        if deposit.quanta > 0 {
            self.ledger.deposited += deposit.quanta;
            self.scorer.deposit(&deposit);
        }
    }

    /// Leaves the energy of a particle where it is.
    pub(crate) fn absorb(&mut self, particle: &Particle, cell: Cell) {
        self.deposit(Deposit {
            voxel: self.world.voxels().index(cell),
            start_cm: particle.position_cm,
            end_cm: particle.position_cm,
            middle_mev: particle.energy_mev,
            charge: match particle.kind {
                Kind::Photon => Charge::Electron,
                Kind::Charged(charge) => charge,
            },
            quanta: quanta(particle.energy_mev) * particle.weight,
        });
    }

    /// Puts a particle on the stack, but absorbs an electron that would end at once.
    pub(crate) fn push(&mut self, particle: Particle, cell: Cell) {
        let cut_off_mev = self.world.cut_off_mev(self.world.matter(cell));
        let ends_at_once =
            particle.kind == Kind::Charged(Charge::Electron) && particle.energy_mev <= cut_off_mev;
        if ends_at_once {
            self.absorb(&particle, cell);
        } else {
            self.stack.push(Waiting { particle, cell });
        }
    }

    /// Puts a photon of a charged particle on the stack. With splitting, one of as many is kept, with their weight.
    pub(crate) fn push_photon(&mut self, mut photon: Particle, cell: Cell, draws: &mut Draws) {
        if self.photons_escape {
            self.escape(&photon);
            return;
        }
        let splitting = self.world.settings().splitting;
        if photon.energy_mev < self.world.settings().photon_cut_off_mev {
            self.absorb(&photon, cell);
            return;
        }
        if splitting > 1 {
            if draws.uniform() * splitting as f64 >= 1.0 {
                return;
            }
            photon.weight *= splitting;
        }
        self.stack.push(Waiting {
            particle: photon,
            cell,
        });
    }
}
