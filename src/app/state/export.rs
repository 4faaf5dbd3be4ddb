//! Choice of the objects that an export from the window writes.

use super::State;
use case::Case;
use dicom::{Anonymise, DoseBits, ExportOptions, ExportPart};
use results::{DosesToExport, XRay, XRays};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The choice in the Save menu; a part leaves where the case has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportChoice {
    pub ct: bool,
    pub structures: bool,
    pub plans: bool,
    /// Plans of the case that stay, by index.
    pub plans_left_out: BTreeSet<usize>,
    pub dose_of_plan: bool,
    pub doses_of_beams: bool,
    /// Dose values of 16 bits in place of 32.
    pub sixteen_bits: bool,
    /// The pose of Register as a registration, the DRRs at it, and its X-rays.
    pub registration: bool,
    pub xrays: bool,
    /// Names, numbers, dates and places of the patient are removed.
    pub anonymous: bool,
}

impl Default for ExportChoice {
    fn default() -> Self {
        Self {
            ct: true,
            structures: true,
            plans: true,
            plans_left_out: BTreeSet::new(),
            dose_of_plan: true,
            doses_of_beams: true,
            sixteen_bits: false,
            registration: true,
            xrays: true,
            anonymous: false,
        }
    }
}

impl ExportChoice {
    /// Plans of a case that leave, by index.
    pub fn plans_of<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = usize> + 'a {
        (0..case.plans.len()).filter(|index| !self.plans_left_out.contains(index))
    }

    /// The case without the plans that stay.
    pub fn case_that_leaves(&self, case: &Case) -> Case {
        let plans = self
            .plans_of(case)
            .map(|index| Arc::clone(&case.plans[index]))
            .collect();
        Case {
            plans,
            ..case.clone()
        }
    }

    /// Lets the choice follow plans that moved to other places; a plan that is gone is no longer left out.
    pub fn follow_plans(&mut self, place: impl Fn(usize) -> Option<usize>) {
        self.plans_left_out = self
            .plans_left_out
            .iter()
            .filter_map(|old| place(*old))
            .collect();
    }

    /// Objects of a case, and of its X-rays, that are exported.
    pub fn options(&self, case: &Case, xrays: Option<&XRays>) -> ExportOptions {
        let of_case = ExportPart::ALL.into_iter().filter(|part| part.is_in(case));
        let parts = of_case
            .chain(xrays.iter().flat_map(|xrays| xrays.parts()))
            .filter(|part| self.includes(*part))
            .collect();
        ExportOptions {
            parts,
            bits: if self.sixteen_bits {
                DoseBits::Sixteen
            } else {
                DoseBits::ThirtyTwo
            },
            anonymise: self.anonymous.then(Anonymise::default),
            imaging: None,
        }
    }

    fn includes(&self, part: ExportPart) -> bool {
        match part {
            ExportPart::Ct => self.ct,
            ExportPart::Structures => self.structures,
            ExportPart::Plan => self.plans,
            ExportPart::Dose => self.doses().is_some(),
            ExportPart::Registration => self.registration,
            ExportPart::Drr | ExportPart::Xray => self.xrays,
        }
    }

    /// Which doses leave, with the plans that they were computed for.
    pub fn doses(&self) -> Option<DosesToExport> {
        match (self.plans, self.dose_of_plan, self.doses_of_beams) {
            (false, ..) | (true, false, false) => None,
            (true, true, true) => Some(DosesToExport::Both),
            (true, true, false) => Some(DosesToExport::Plan),
            (true, false, true) => Some(DosesToExport::Beams),
        }
    }
}

impl State {
    /// The X-rays of Register with the pose set by hand or accepted; a made-up pair has no files and is left out.
    pub fn xrays(&self) -> Option<XRays> {
        let register = &self.register;
        let images: Vec<XRay> = { register.images().iter() }
            .filter_map(|image| {
                let (path, _) = image.file.clone()?;
                Some(XRay {
                    radiograph: image.radiograph.clone(),
                    path,
                })
            })
            .collect();
        (!images.is_empty() && self.case().ct.is_some()).then(|| XRays {
            images,
            pose: *register.poses.now(),
            standing: register.standing(),
            centre_mm: register.centre_mm(self.case()),
            curve: register.reading.curve(&self.results.settings.hu_table),
        })
    }
}
