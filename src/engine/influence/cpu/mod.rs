//! Influence of beamlets on the CPU: beamlets side by side, directions in turn.

mod lines;
pub mod products;

use crate::cccs::DoseError;
use crate::cccs::beam::Superposition;
use crate::cccs::cpu::{energy_of, monitor_unit_at};
use crate::cccs::job::{Clock, digest, receipt};
use crate::cccs::medium::Medium;
use crate::influence::columns::DoseColumns;
use crate::influence::field::{Lit, Sampled};
use crate::influence::request::{BeamletDoses, InfluenceRequest, OpenField};
use crate::influence::smooth::Smooth;
use crate::influence::walks::{LitVoxel, SourceTerm, Transport};
use crate::path::cpu::radiological_depth;
use crate::{Cancelled, JobControl};
use lines::{Lines, Room};
use rayon::prelude::*;
use std::sync::Arc;

/// Directions whose source terms are kept at a time: 64 bytes for each and every lit voxel.
const TOGETHER: usize = 4;

/// The doses of the beamlets of a beam.
pub fn beamlet_doses(request: &InfluenceRequest, control: &JobControl) -> Result<BeamletDoses, DoseError> {
    let mut clock = Clock::start();
    let dose = &request.dose;
    let medium = Medium::of(&dose.patient, &dose.machine.spectrum, &dose.grid, control)?;
    clock.phase("density");
    let per_mu = monitor_unit_at(&dose.machine, dose.quality, control)?;
    let beam = Superposition::of(&dose.machine, dose.quality, control.cache());
    clock.phase("calibration");
    let field = OpenField::of(request)?;
    let depth_mm = radiological_depth(&medium.equivalent_g_cm3, field.frame.source_mm, control)?;
    let tilt = beam.tilt_norm(&field.frame, &medium.grid);
    let lit = Lit::new(request, &field, (&beam, &tilt), &medium, &depth_mm, control)?;
    clock.phase("terma");
    let sampled = Sampled::new(request, &medium, field.share * dose.beam.mu * per_mu.fluence);
    let extra = field.by_extra_focal(&dose.machine, |alone| energy_of(&beam, alone, &medium, control))?;
    let extra = extra.map(|energy| sampled.gather(&energy)).unwrap_or_default();
    let smooth = Smooth::new(request, &field, &medium, &depth_mm, &sampled, (&extra, per_mu.electrons_gy));
    clock.phase("extra-focal");
    let gy = transported(request, (&beam, &field), &medium, (&lit, &sampled, &smooth), control)?;
    clock.phase("transport");
    let device = format!("cpu ({} threads)", rayon::current_num_threads());
    let work = (lit.beamlets.shares.len() * beam.directions.len()) as u64;
    let columns = Arc::new(DoseColumns::of_gy(sampled.voxels.len(), &gy));
    Ok(BeamletDoses { columns, receipt: receipt("influence", digest(dose), device, clock, work) })
}

fn transported(
    request: &InfluenceRequest,
    (beam, field): (&Superposition, &OpenField),
    medium: &Medium,
    (lit, sampled, smooth): (&Lit, &Sampled, &Smooth),
    control: &JobControl,
) -> Result<Vec<f32>, Cancelled> {
    let transport = Transport::new((beam, field), medium, lit, sampled);
    let Transport { density, row_of, number_of, walks, .. } = &transport;
    let (local, tubes) = (transport.local(beam, lit, sampled), lit.tubes(request.beamlets.len()));
    let count = sampled.voxels.len();
    let mut gy = vec![0.0_f32; request.beamlets.len() * count];
    for (done, walks) in walks.chunks(TOGETHER).enumerate() {
        control.check()?;
        control.report((done * TOGETHER) as f32 / beam.directions.len() as f32);
        let terms: Vec<Vec<SourceTerm>> = walks
            .iter()
            .map(|walk| {
                let axis = walk.direction.as_vec3();
                let term = |(terma, lit): (&_, &LitVoxel)| {
                    SourceTerm::new(&beam.table, terma, axis.dot(lit.ray.into()))
                };
                lit.terma.par_iter().zip(&transport.lit).map(term).collect()
            })
            .collect();
        gy.par_chunks_mut(count.max(1)).enumerate().try_for_each_init(
            || Room::new(density.len()),
            |room, (beamlet, column)| {
                control.check()?;
                let tube = tubes.group(beamlet);
                room.enter(tube, &transport.lit);
                for (walk, terms) in walks.iter().zip(&terms) {
                    let lines = Lines { walk, terms, density, row_of, number_of };
                    lines.add(tube, &transport.lit, room, column);
                }
                room.leave(tube, &transport.lit);
                Ok::<_, Cancelled>(())
            },
        )?;
    }
    gy.par_chunks_mut(count.max(1)).enumerate().for_each(|(beamlet, column)| {
        for lit in tubes.group(beamlet) {
            for energy in local.group(lit.number as usize) {
                column[energy.number as usize] += lit.share * energy.share;
            }
        }
        column.iter_mut().zip(&sampled.gy_per_energy).for_each(|(value, gy)| *value *= gy);
        smooth.add(request.beamlets[beamlet], column);
    });
    Ok(gy)
}
