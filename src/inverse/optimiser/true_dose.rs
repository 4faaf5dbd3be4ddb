//! True doses of maps, by which the dose of the columns is corrected and the plan is judged.

use super::Optimiser;
use crate::OptimiseError;
use crate::handles::dvh_offsets_gy;
use crate::hot_spots::Greatest;
use crate::setup::{DoseTarget, Truth};
use engine::{Compute, JobControl};
use std::sync::Arc;

impl Optimiser {
    /// Takes the true dose of the maps minus the dose of the columns as the offset; how far it moved, fraction of the reference dose.
    pub(super) fn correct(&mut self, control: &JobControl) -> Result<(f64, Truth), OptimiseError> {
        let setup = &self.setup;
        let mut truth = setup.true_dose(&self.fluences, setup.correction(), control)?;
        self.dvh_offset_gy = dvh_offsets_gy(setup, &self.objectives, &truth, control);
        self.greatest = Arc::new(Greatest::new(setup, &truth));
        truth
            .rows
            .iter_mut()
            .zip(&self.finer_gy)
            .for_each(|(gy, finer)| *gy += finer);
        Ok((self.take_truth(&truth.rows), truth))
    }

    /// As [`Self::correct`] with the judged dose; later true doses on the rows' grid keep the difference to it.
    pub(super) fn judge(&mut self, control: &JobControl) -> Result<(), OptimiseError> {
        let setup = &self.setup;
        let Some((grid, quality)) = &setup.judged else {
            return Ok(());
        };
        let coarse: Vec<f32> = if matches!(setup.device, Compute::Cpu) {
            // The dose on the rows' grid as well would take seconds, and has hardly moved since its last computation.
            self.doses_gy()
                .iter()
                .zip(&self.finer_gy)
                .map(|(gy, finer)| gy - finer)
                .collect()
        } else {
            setup
                .true_dose(&self.fluences, setup.correction(), control)?
                .rows
        };
        let truth = setup.true_dose(
            &self.fluences,
            DoseTarget {
                grid,
                quality: *quality,
            },
            control,
        )?;
        self.finer_gy = truth
            .rows
            .iter()
            .zip(&coarse)
            .map(|(truth, coarse)| truth - coarse)
            .collect();
        self.dvh_offset_gy = dvh_offsets_gy(setup, &self.objectives, &truth, control);
        self.take_truth(&truth.rows);
        Ok(())
    }

    pub(in super::super) fn take_truth(&mut self, truth: &[f32]) -> f64 {
        let computed = self
            .columns
            .doses(&self.fluences, &vec![0.0; self.columns.rows()]);
        let offset: Vec<f32> = truth
            .iter()
            .zip(&computed)
            .map(|(truth, dose)| truth - dose)
            .collect();
        let moved: Vec<f32> = offset
            .iter()
            .zip(&self.offset_gy)
            .map(|(new, old)| (new - old).abs())
            .collect();
        let part = self.setup.mean_of_targets(&moved) / self.reference_gy;
        self.offset_gy = offset;
        self.moved_percent = Some(100.0 * part);
        part
    }
}
