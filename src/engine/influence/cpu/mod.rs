//! Influence of beamlets on the CPU: tiles of beamlets side by side, directions in turn.

mod hits;
mod lines;
pub mod products;
mod tiles;

use crate::cccs::beam::Superposition;
use crate::cccs::cpu::{energy_of, monitor_unit_at};
use crate::dose::DoseError;
use crate::dose::medium::Medium;
use crate::dose::{Clock, digest, receipt};
use crate::influence::columns::DoseColumns;
use crate::influence::field::{Lit, Sampled};
use crate::influence::request::{BeamletDoses, InfluenceRequest, OpenField};
use crate::influence::smooth::Smooth;
use crate::influence::walks::{SourceTerm, Transport};
use crate::path::cpu::radiological_depth;
use crate::{Cancelled, JobControl};
use hits::Hits;
use lines::{Lines, WorkSpace};
use rayon::prelude::*;
use std::sync::Arc;
use tiles::{F32x16, Tile};

/// Directions whose source terms are kept at a time: 64 bytes for each and every lit voxel.
const TOGETHER: usize = 4;

/// The doses of the beamlets of a beam.
pub fn beamlet_doses(
    request: &InfluenceRequest,
    control: &JobControl,
) -> Result<BeamletDoses, DoseError> {
    let mut clock = Clock::start();
    let dose = &request.dose;
    let medium = Medium::cached(&dose.patient, &dose.machine.spectrum, &dose.grid, control)?;
    clock.phase("density");
    let per_mu = monitor_unit_at(&dose.machine, dose.quality, control)?;
    let beam = Superposition::cached(&dose.machine, dose.quality, control.cache());
    clock.phase("calibration");
    let field = OpenField::new(request)?;
    let depth_mm = radiological_depth(&medium.equivalent_g_cm3, field.frame.source_mm, control)?;
    let tilt = beam.tilt_norm(&field.frame, &medium.grid);
    let lit = Lit::new(request, &field, &beam, &tilt, &medium, &depth_mm, control)?;
    clock.phase("terma");
    let sampled = Sampled::new(request, &medium, field.mu * per_mu.fluence);
    let extra = field.by_extra_focal(&dose.machine, |alone| {
        energy_of(&beam, alone, &medium, control)
    })?;
    let extra = extra
        .map(|energy| sampled.gather(&energy))
        .unwrap_or_default();
    let smooth = Smooth::new(
        request,
        &field,
        &medium,
        &depth_mm,
        &sampled,
        &extra,
        per_mu.electrons_gy,
    );
    clock.phase("extra-focal");
    let gy = transported(
        request,
        (&beam, &field),
        &medium,
        (&lit, &sampled, &smooth),
        control,
    )?;
    clock.phase("transport");
    let device = format!("cpu ({} threads)", rayon::current_num_threads());
    let work = (lit.beamlets.shares.len() * beam.directions.len()) as u64;
    let columns = Arc::new(DoseColumns::of_gy(sampled.voxels.len(), &gy));
    Ok(BeamletDoses {
        columns,
        receipt: receipt("influence", digest(dose), device, clock, work),
    })
}

fn transported(
    request: &InfluenceRequest,
    (beam, field): (&Superposition, &OpenField),
    medium: &Medium,
    (lit, sampled, smooth): (&Lit, &Sampled, &Smooth),
    control: &JobControl,
) -> Result<Vec<f32>, Cancelled> {
    let transport = Transport::new(beam, field, medium, lit, sampled);
    let Transport {
        density,
        walks,
        padded,
        ..
    } = &transport;
    let (local, tubes) = (
        transport.local(beam, lit, sampled),
        lit.tubes(request.beamlets.len()),
    );
    let rows: Vec<(usize, [usize; 3])> = sampled
        .voxels
        .iter()
        .map(|voxel| padded.index_and_place(*voxel as usize))
        .collect();
    let tiles = Tile::all(request, &field.map, &tubes);
    let mut energies: Vec<Vec<F32x16>> = tiles
        .iter()
        .map(|_| vec![F32x16::ZERO; rows.len()])
        .collect();
    for (done, walks) in walks.chunks(TOGETHER).enumerate() {
        control.check()?;
        control.report((done * TOGETHER) as f32 / beam.directions.len() as f32);
        let prepared = walks.par_iter().map(|walk| {
            let axis = walk.direction.as_vec3();
            let terms: Vec<SourceTerm> = lit
                .terma
                .par_iter()
                .zip(&transport.lit)
                .map(|(terma, lit)| SourceTerm::new(&beam.table, terma, axis.dot(lit.ray.into())))
                .collect();
            (terms, Hits::new(walk, padded, &rows, density))
        });
        let prepared: Vec<_> = prepared.collect();
        energies.par_iter_mut().zip(&tiles).try_for_each_init(
            || WorkSpace::new(density.len()),
            |work_space, (energies, tile)| {
                control.check()?;
                work_space.enter(tile, &transport.lit);
                for (walk, (terms, hits)) in walks.iter().zip(&prepared) {
                    lines::add(
                        &Lines {
                            walk,
                            hits,
                            terms,
                            density,
                        },
                        tile,
                        &transport.lit,
                        work_space,
                        energies,
                    );
                }
                work_space.leave(tile, &transport.lit);
                Ok::<_, Cancelled>(())
            },
        )?;
    }
    let gy = energies.par_iter_mut().zip(&tiles).map(|(energies, tile)| {
        for (number, share) in tile.voxels.iter().zip(&tile.shares) {
            for energy in local.group(*number as usize) {
                let row = &mut energies[energy.number as usize];
                *row = *row + *share * energy.share;
            }
        }
        tile.beamlets
            .iter()
            .enumerate()
            .map(|(lane, beamlet)| {
                let energies = energies.iter().zip(&sampled.gy_per_energy);
                let mut column: Vec<f32> =
                    energies.map(|(energy, gy)| energy.0[lane] * gy).collect();
                smooth.add(request.beamlets[*beamlet], &mut column);
                (*beamlet, column)
            })
            .collect::<Vec<_>>()
    });
    let mut gy: Vec<(usize, Vec<f32>)> = gy.flatten().collect();
    gy.sort_unstable_by_key(|(beamlet, _)| *beamlet);
    Ok(gy.into_iter().flat_map(|(_, column)| column).collect())
}
