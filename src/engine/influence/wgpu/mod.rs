//! Influence of beamlets on a graphics device (`kernels/engine_influence.wgsl`): the algorithm of [`cpu`](crate::influence::cpu). The
//! host finds the lit voxels and makes the columns of energies; beamlets follow each other in chunks that a kernel takes.

mod lines;

#[cfg(test)]
pub(crate) use lines::KERNELS;

use crate::JobControl;
use crate::cccs::beam::{Superposition, grid_from_kernel};
use crate::cccs::wgpu::superpose::Placement;
use crate::cccs::wgpu::{energy_of, monitor_unit_at};
use crate::dose::DoseError;
use crate::dose::medium::Medium;
use crate::dose::{Clock, digest, receipt};
use crate::influence::columns::DoseColumns;
use crate::influence::field::{Lit, Sampled};
use crate::influence::request::{BeamletDoses, InfluenceRequest, OpenField};
use crate::influence::smooth::Smooth;
use crate::influence::walks::{LINES_OF_SHARE, Transport};
use crate::path::wgpu::radiological_depth_at;
use crate::wgpu::{Device, Failure, WgpuError};
use lines::OnDevice;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Doses and lines on a device at a time, at most; a beamlet and a direction are there whole.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Doses of the beamlets of a chunk.
    pub doses: usize,
    /// Lines that are listed.
    pub lines: usize,
}

impl Limits {
    /// 128 MiB of doses and 64 MiB of lines, where a kernel takes that.
    pub fn new(device: &Device) -> Self {
        let within = |mib: u64, each: usize| device.most_bytes().min(mib << 20) as usize / each;
        Self {
            doses: within(128, size_of::<i32>()),
            lines: within(64, size_of::<[i32; 4]>()) - 1,
        }
    }
}

/// The doses of the beamlets of a beam.
///
/// # Errors
/// The request or the device at fault, or a cancelled job.
pub fn beamlet_doses(
    request: &InfluenceRequest,
    device: &Device,
    control: &JobControl,
) -> Result<BeamletDoses, Failure<DoseError>> {
    beamlet_doses_within(Limits::new(device), request, device, control)
}

/// As [`beamlet_doses`], in chunks within limits; the bits do not depend on them.
///
/// # Errors
/// As [`beamlet_doses`].
pub fn beamlet_doses_within(
    limits: Limits,
    request: &InfluenceRequest,
    device: &Device,
    control: &JobControl,
) -> Result<BeamletDoses, Failure<DoseError>> {
    let mut clock = Clock::start();
    let dose = &request.dose;
    let medium = Medium::cached(&dose.patient, &dose.machine.spectrum, &dose.grid, control)?;
    clock.phase("density");
    let per_mu = monitor_unit_at(&dose.machine, dose.quality, device, control)?;
    let beam = Superposition::cached(&dose.machine, dose.quality, control.cache());
    clock.phase("calibration");
    let field = OpenField::new(request)?;
    let (density, source_mm) = (&medium.equivalent_g_cm3, field.frame.source_mm);
    let (depth_mm, _) =
        radiological_depth_at(device, density, source_mm, &medium.grid, &control.child())?;
    let tilt = beam.tilt_norm(&field.frame, &medium.grid);
    let lit = Lit::new(request, &field, &beam, &tilt, &medium, &depth_mm, control)?;
    clock.phase("terma");
    let sampled = Sampled::new(request, &medium, field.mu * per_mu.fluence);
    let extra = field.by_extra_focal(&dose.machine, |alone| {
        energy_of(&beam, alone, &medium, device, control)
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
    let transport = Transport::new(&beam, &field, &medium, &lit, &sampled);
    clock.phase("lines");
    let placement = Placement {
        lattice: transport.padded.lattice,
        source_mm: medium.grid.local_from_patient(source_mm),
        lattice_from_kernel: grid_from_kernel(&field.frame, &medium.grid),
    };
    let parts = Parts {
        request,
        limits,
        lit: &lit,
        sampled: &sampled,
        smooth: &smooth,
    };
    let columns = transported(device, &parts, &transport, &beam, &placement, control)?;
    clock.phase("transport");
    let work = (lit.beamlets.shares.len() * beam.directions.len()) as u64;
    let receipt = receipt(
        "influence",
        digest(dose),
        device.adapter().to_string(),
        clock,
        work,
    );
    Ok(BeamletDoses {
        columns: Arc::new(columns),
        receipt,
    })
}

struct Parts<'a> {
    request: &'a InfluenceRequest,
    limits: Limits,
    lit: &'a Lit,
    sampled: &'a Sampled,
    smooth: &'a Smooth,
}

/// The columns of all beamlets.
fn transported(
    device: &Device,
    parts: &Parts<'_>,
    transport: &Transport,
    beam: &Superposition,
    placement: &Placement,
    control: &JobControl,
) -> Result<DoseColumns, WgpuError> {
    let Parts {
        request,
        limits,
        lit,
        sampled,
        ..
    } = parts;
    let (rows, beamlets) = (sampled.voxels.len(), request.beamlets.len());
    let tubes = lit.tubes(beamlets);
    let chunks = chunks(
        &tubes.first,
        limits.doses / rows.max(1),
        limits.lines / LINES_OF_SHARE,
    );
    let mut session = device.session(control);
    let on_device = OnDevice::new(&session, transport, beam, placement, lit)?;
    let mut columns = DoseColumns {
        rows,
        ..DoseColumns::default()
    };
    for chunk in chunks {
        let (from, part) = (chunk.start, chunk.len() as f32 / beamlets as f32);
        let deposit = on_device.deposits(
            &mut session,
            &tubes,
            chunk.clone(),
            rows,
            limits.lines,
            |done| control.report(from as f32 / beamlets as f32 + part * done),
        )?;
        let chunk_columns =
            DoseColumns::of_gy(rows, &parts.doses(chunk, &deposit, on_device.units));
        columns.steps.extend(chunk_columns.steps);
        columns.gy_per_step.extend(chunk_columns.gy_per_step);
    }
    Ok(columns)
}

impl Parts<'_> {
    /// Gy of a chunk of beamlets, `[beamlet][row]`, from deposits of which `units` make an energy per volume of 1.
    fn doses(&self, chunk: Range<usize>, deposit: &[i32], units: f32) -> Vec<f32> {
        let per_energy = &self.sampled.gy_per_energy;
        let mut gy = vec![0.0_f32; deposit.len()];
        let rows = per_energy.len().max(1);
        let columns = gy
            .par_chunks_mut(rows)
            .zip(deposit.par_chunks(rows))
            .zip(&self.request.beamlets[chunk]);
        columns.for_each(|((column, deposit), beamlet)| {
            for ((gy, deposit), per_energy) in column.iter_mut().zip(deposit).zip(per_energy) {
                *gy = *deposit as f32 / units * per_energy;
            }
            self.smooth.add(*beamlet, column);
        });
        gy
    }
}

/// Consecutive beamlets, at most `most_beamlets` with at most `most_shares` shares in a chunk, but at least one. `first` has the first
/// share of each beamlet, and one past the last.
fn chunks(first: &[u32], most_beamlets: usize, most_shares: usize) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let (mut from, beamlets) = (0, first.len() - 1);
    while from < beamlets {
        let end = (from + 1..=beamlets)
            .take_while(|end| {
                end - from <= most_beamlets && (first[*end] - first[from]) as usize <= most_shares
            })
            .last()
            .unwrap_or(from + 1);
        chunks.push(from..end);
        from = end;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_every_beamlet_once_within_what_is_allowed() {
        let first = [0, 3, 3, 10, 12, 40, 41, 42, 43];
        let ranges = chunks(&first, 3, 11);
        assert_eq!(ranges, [0..3, 3..4, 4..5, 5..8]);
        assert_eq!(
            chunks(&first, 0, 0).len(),
            8,
            "one is as few as there can be"
        );
        assert!(chunks(&[0], 3, 11).is_empty());
    }
}
