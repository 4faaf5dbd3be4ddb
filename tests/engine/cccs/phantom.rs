//! Phantoms of the tests.

use crate::common::physics_data;
use beamsight::case::{Beam, Jaws};
use beamsight::engine::JobControl;
use beamsight::engine::cccs::cpu::beam_dose;
use beamsight::engine::dose::{BeamDose, DoseRequest, DoseTo, Quality};
use beamsight::geometry::{Grid, PatientPosition, Volume};
use beamsight::physics::kernel::KernelTable;
use beamsight::physics::{Machine, Material, Patient};
use glam::DVec3;
use std::sync::{Arc, LazyLock};

/// Solid angle of a cone of the kernels, sr.
pub fn cone_solid_angle_sr(cone: usize) -> f64 {
    let [inner, outer] = KernelTable::cone_edges_deg(cone).map(|d| d.to_radians().cos());
    std::f64::consts::TAU * (inner - outer)
}

/// Rows of numbers of a data table.
pub fn csv(path: &str) -> Option<Vec<Vec<f64>>> {
    let text = std::fs::read_to_string(physics_data(path)?).expect("readable");
    let numbers = |line: &str| -> Option<Vec<f64>> {
        line.split(',').map(|x| x.trim().parse().ok()).collect()
    };
    Some(text.lines().filter_map(numbers).collect())
}

/// Ratio of an engine's dose on the axis to that of a Monte Carlo depth dose table (from cm, to cm, dose):
/// (depth cm, ratio), means over 2 cm of depth from 1.5 to 28 cm, so that the statistics of the reference
/// (0.4 to 0.7 % a bin) matter little. `at_mm`: the dose at a depth.
pub fn axis_ratios(table: &[Vec<f64>], at_mm: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut ratios = Vec::new();
    let mut low = 1.5;
    while low < 28.0 {
        let high = (low + 2.0_f64).min(28.0);
        let within = table
            .iter()
            .filter(|r| r[0] >= low - 1e-9 && r[1] <= high + 1e-9);
        let bins: Vec<f64> = within.map(|r| at_mm(5.0 * (r[0] + r[1])) / r[2]).collect();
        ratios.push((
            0.5 * (low + high),
            bins.iter().sum::<f64>() / bins.len() as f64,
        ));
        low = high;
    }
    ratios
}

/// A box along the patient axes, its first corner at `corner_mm`, of water with a density by position.
pub fn block(
    corner_mm: DVec3,
    spacing_mm: DVec3,
    size: [usize; 3],
    density: impl Fn(DVec3) -> f32,
) -> Arc<Patient> {
    let grid = Grid::axis_aligned(corner_mm + 0.5 * spacing_mm, spacing_mm, size).expect("a grid");
    let grid = Arc::new(grid);
    let mut values = Vec::with_capacity(grid.len());
    for k in 0..size[2] {
        for j in 0..size[1] {
            values.extend((0..size[0]).map(|i| density(grid.centre_mm(i, j, k))));
        }
    }
    let density = Arc::new(Volume::new(Arc::clone(&grid), values));
    Arc::new(Patient {
        relative_electron_density: Arc::clone(&density),
        mass_density_g_cm3: density,
        material: Arc::new(Volume::new(
            Arc::clone(&grid),
            vec![Material::Water as u8; grid.len()],
        )),
        position: PatientPosition::Hfs,
        has_couch: true,
    })
}

/// A cube of water of 30 cm whose surface towards gantry 0 lies at `surface_mm`; 5 mm voxels (10 mm along z).
pub fn cube(surface_mm: f64) -> Arc<Patient> {
    block(
        DVec3::new(-150.0, surface_mm, -150.0),
        DVec3::new(5.0, 5.0, 10.0),
        [60, 60, 30],
        |_| 1.0,
    )
}

/// A static beam on the patient's own grid; dose for one monitor unit.
pub fn request(
    patient: &Arc<Patient>,
    machine: &Arc<Machine>,
    side_mm: f64,
    quality: Quality,
) -> DoseRequest {
    DoseRequest {
        grid: Arc::clone(patient.mass_density_g_cm3.grid()),
        patient: Arc::clone(patient),
        machine: Arc::clone(machine),
        beam: Beam::fixed(
            "beam",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(side_mm, side_mm),
            1.0,
        ),
        quality,
        dose_to: DoseTo::Water,
    }
}

pub fn dose(request: &DoseRequest) -> BeamDose {
    // What one test has cached is there for the others.
    static CONTROL: LazyLock<JobControl> = LazyLock::new(JobControl::new);
    beam_dose(request, &CONTROL).expect("a dose")
}

/// Trilinear dose on the axis of a gantry 0 beam at a depth below the surface at `y = surface_mm`.
pub fn on_axis(dose: &BeamDose, surface_mm: f64, depth_mm: f64) -> f64 {
    f64::from(
        dose.gy
            .trilinear(DVec3::new(0.0, surface_mm + depth_mm, 0.0))
            .expect("inside"),
    )
}

/// A shipped machine.
pub fn machine(name: &str) -> Arc<Machine> {
    Machine::resolve(name).expect("a shipped machine")
}

/// The point source with another spectrum.
pub fn point_source(energies_mev: &[f64], photons: &[f64]) -> Arc<Machine> {
    let mut machine = (*machine("point-6mv")).clone();
    let sum: f64 = photons.iter().sum();
    machine.spectrum.energies_mev = energies_mev.to_vec();
    machine.spectrum.photon_weights = photons.iter().map(|w| w / sum).collect();
    Arc::new(machine)
}
