//! The worker with a real dose: it stops within 20 ms for a newer one.

use beamsight::case::{Beam, Jaws};
use beamsight::engine::Watch;
use beamsight::engine::cccs::{DoseError, DoseRequest, DoseTo, Quality};
use beamsight::engine::cpu::cccs::beam_dose;
use beamsight::geometry::{Grid, PatientPosition, Volume};
use beamsight::physics::{Machine, Material, Patient};
use beamsight::worker::{Lane, News, Slot, Task, Worker};
use glam::DVec3;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// A 10 x 10 field on a 30 cm water cube of 5 mm voxels, in full.
fn request() -> DoseRequest {
    let grid = Grid::axis_aligned(DVec3::new(-147.5, 2.5, -147.5), DVec3::splat(5.0), [60; 3]).unwrap();
    let grid = Arc::new(grid);
    let ones = Arc::new(Volume::new(grid.clone(), vec![1.0; grid.len()]));
    let patient = Patient {
        mass_density_g_cm3: ones.clone(),
        relative_electron_density: ones,
        material: Arc::new(Volume::new(grid.clone(), vec![Material::Water as u8; grid.len()])),
        position: PatientPosition::Hfs,
        hu_table: String::new(),
    };
    DoseRequest {
        patient: Arc::new(patient),
        machine: Machine::resolve("point-6mv").unwrap(),
        beam: Beam::fixed("AP", 1, 0.0, DVec3::ZERO, Jaws::symmetric(100.0, 100.0), 100.0),
        grid,
        quality: Quality::Full,
        dose_to: DoseTo::Medium,
    }
}

#[test]
fn a_dose_stops_within_20_ms_for_a_newer_job_of_its_slot() {
    let worker: Worker<()> = Worker::start(Arc::new(|| ())).unwrap();
    let slot = Slot::BeamDose { plan: 0, beam: 0 };
    let request = Arc::new(request());
    // After so long the dose is at different things. Each the best of three: a busy machine may keep a thread waiting.
    for after_ms in [60, 250, 700] {
        let waits = (0..3).map(|_| {
            let (started, runs) = mpsc::channel();
            let asked = request.clone();
            // Dose after dose, so that no machine is through before it is asked to stop.
            let dose = move |watch: &Watch| -> Result<(), DoseError> {
                let _ = started.send(());
                loop {
                    beam_dose(&asked, watch)?;
                }
            };
            let old = worker.submit(slot, Task::new("dose", dose).on(Lane::Device));
            runs.recv().unwrap();
            std::thread::sleep(Duration::from_millis(after_ms));
            let (at, answered) = mpsc::channel();
            let begin = Instant::now();
            let newer = move |_: &Watch| at.send(begin.elapsed());
            worker.submit(slot, Task::new("newer", newer).on(Lane::Device));
            let wait = answered.recv_timeout(Duration::from_secs(20)).unwrap();
            let reports = worker.drain();
            let ended = reports.iter().find(|r| r.job == old && r.news.is_last()).map(|r| &r.news);
            assert!(matches!(ended, Some(News::Cancelled)), "{ended:?}");
            wait
        });
        let best = waits.min().unwrap();
        println!("cancelled after {after_ms} ms of dose: the newer job began {best:?} later");
        assert!(best < Duration::from_millis(20), "after {after_ms} ms: {best:?}");
    }
}
