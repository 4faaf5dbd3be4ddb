//! Worlds, sources and data of the tests.

use glam::DVec3;
use particles::Charge;
use physics::Material;
use std::io::Write as _;
use std::path::Path;
use transport::draws::Draws;
use transport::run::{Emission, Source};
use transport::tables::{MaterialTables, Thresholds, shipped};
use transport::{Deposit, Kind, Particle, Scorer, Settings, VoxelGrid, Voxels};

pub fn tables() -> &'static [MaterialTables] {
    &shipped().expect("tables of the repository")[0].materials
}

/// Tables of `Thresholds::FINE`.
pub fn fine_tables() -> &'static [MaterialTables] {
    &shipped().expect("tables of the repository")[1].materials
}

/// A file of `data/physics`: in the folder `BEAMSIGHT_DATA`, else `../shared/data` beside the repository. `None`, reported, where
/// it is absent.
pub fn shared_text(path: &str) -> Option<String> {
    let default_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("BEAMSIGHT_DATA").map_or(default_folder, Into::into);
    let text = std::fs::read_to_string(folder.join("physics").join(path)).ok();
    if text.is_none() {
        skip(path);
    }
    text
}

/// Reports a test without its data as `tests/common/skip.rs` does: on standard error, past libtest, and in the file of
/// `BEAMSIGHT_SKIPPED`.
fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("data\t{}\t{reason}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(format!("SKIPPED\t{line}").as_bytes());
    if let Some(path) = std::env::var_os("BEAMSIGHT_SKIPPED") {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("BEAMSIGHT_SKIPPED names a file");
    }
}

/// Settings with one cut-off everywhere.
pub fn with_cut_off(cut_off_mev: f64) -> Settings {
    Settings {
        cut_off_mev,
        gas_cut_off_mev: cut_off_mev,
        ..Settings::for_thresholds(Thresholds::STANDARD)
    }
}

/// One voxel of a material at its own density, so large that nothing leaves it.
pub fn boundless(material: Material) -> Voxels {
    let side_cm = 1e6;
    let grid = VoxelGrid {
        shape: [1; 3],
        origin_cm: DVec3::splat(-side_cm / 2.0),
        spacing_cm: DVec3::splat(side_cm),
        periodic: [false; 3],
    };
    let density = particles::Medium::of(material).density_g_cm3 as f32;
    Voxels::new(grid, vec![material], vec![density]).expect("one voxel")
}

pub fn electron(energy_mev: f64, position_cm: DVec3, direction: DVec3, key: u64) -> Particle {
    Particle {
        kind: Kind::Charged(Charge::Electron),
        energy_mev,
        position_cm,
        direction,
        weight: 1,
        key,
    }
}

/// Key of the numbered particle of a test.
pub fn key(seed: u64, number: u64) -> u64 {
    Draws::of_history(seed, number).key_of_secondary()
}

/// Particles of one energy along z, even over 4 cm x 4 cm about the axis.
pub struct Beam {
    pub kind: Kind,
    pub energy_mev: f64,
}

impl Source for Beam {
    fn emit(&self, draws: &mut Draws) -> Emission {
        Emission {
            kind: self.kind,
            energy_mev: self.energy_mev,
            position_cm: DVec3::new(
                4.0 * (draws.uniform() - 0.5),
                4.0 * (draws.uniform() - 0.5),
                -1.0,
            ),
            direction: DVec3::Z,
        }
    }
}

/// Track length and energy of all deposits.
#[derive(Default)]
pub struct Steps {
    pub length_cm: f64,
    pub quanta: u64,
}

impl Scorer for Steps {
    fn deposit(&mut self, deposit: &Deposit) {
        self.length_cm += (deposit.end_cm - deposit.start_cm).length();
        self.quanta += deposit.quanta;
    }
}
