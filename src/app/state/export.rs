//! What an export from the window writes.

use crate::case::Case;
use crate::dicom::{DoseBits, ExportOptions, ExportPart};
use crate::results::DosesToExport;

/// The choice in the Save menu; a part leaves where the case has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportChoice {
    pub ct: bool,
    pub structures: bool,
    pub plans: bool,
    pub dose_of_plan: bool,
    pub doses_of_beams: bool,
    /// Dose values of 16 bits in place of 32.
    pub sixteen_bits: bool,
}

impl Default for ExportChoice {
    fn default() -> Self {
        Self {
            ct: true,
            structures: true,
            plans: true,
            dose_of_plan: true,
            doses_of_beams: true,
            sixteen_bits: false,
        }
    }
}

impl ExportChoice {
    /// What leaves of a case.
    pub fn options(&self, case: &Case) -> ExportOptions {
        let wanted = |part: &ExportPart| match part {
            ExportPart::Ct => self.ct,
            ExportPart::Structures => self.structures,
            ExportPart::Plan => self.plans,
            ExportPart::Dose => self.doses().is_some(),
        };
        let parts = ExportPart::ALL.into_iter().filter(|part| wanted(part) && part.is_in(case)).collect();
        ExportOptions { parts, bits: if self.sixteen_bits { DoseBits::Sixteen } else { DoseBits::ThirtyTwo } }
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
