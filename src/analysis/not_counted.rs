//! Matter that a beam meets and its dose does not count: whatever lies outside the body, the patient beyond the end of the CT, couch and
//! bolus without a density. Collapsed cone and Monte Carlo ask here.

use super::beam_job::Ready;
use super::caveat::{BEYOND_CT_CAVEAT, OUTSIDE_CAVEAT, way_out};
use super::ct_edge::EdgeOfBeam;
use super::opening::{Opening, openings};
use super::outside::outside_remark;
use case::Beam;

/// Caveats of a beam's dose, a few words each, and remarks on the beam, a sentence each. Neither names the beam or a structure: a dose
/// outlives their names.
#[derive(Clone, Debug, Default)]
pub(super) struct NotCounted {
    pub caveats: Vec<String>,
    pub remarks: Vec<String>,
    /// Circumstances that may move the dose and stand beside it, a few words each.
    pub beside: Vec<&'static str>,
}

/// Stands beside a dose whose fields lie near the end of the CT.
const NEAR_EDGE: &str =
    "the CT ends near a field where the patient goes on: scatter from beyond is missing";

impl NotCounted {
    /// Some milliseconds a beam: too much for previews, negligible beside a full dose.
    pub(super) fn of_beam(ready: &Ready, beam: &Beam, sad_mm: f64) -> Self {
        let mut losses = Self::default();
        if let Some(remark) = outside_remark(ready, beam, sad_mm) {
            losses.add(OUTSIDE_CAVEAT, remark);
        }
        let openings = openings(ready.patient().position, beam, sad_mm);
        losses.add_edge(&ready.edge().met_by(&openings));
        losses.add_without_density(ready, &openings);
        losses
    }

    fn add(&mut self, caveat: &str, remark: String) {
        self.caveats.push(caveat.to_owned());
        self.remarks.push(remark);
    }

    fn add_edge(&mut self, edge: &EdgeOfBeam) {
        if !edge.in_field.is_empty() {
            let sides = edge.in_field.join(" and ");
            let remark = format!(
                "the CT ends in the field, on the {sides} side, where the patient goes on, and nothing beyond it is counted: {}. A \
                 phantom that ends there needs some mm of air round it in its CT",
                way_out(BEYOND_CT_CAVEAT)
            );
            self.add(BEYOND_CT_CAVEAT, remark);
        }
        if !edge.beside.is_empty() {
            self.beside.push(NEAR_EDGE);
        }
        for (side, mm) in &edge.beside {
            self.remarks.push(format!(
                "the CT ends {mm:.0} mm beside the field, on the {side} side, where the patient goes on: scatter from beyond is missing, \
                 and the dose there is low; take a CT that reaches 50 mm past the field"
            ));
        }
    }

    fn add_without_density(&mut self, ready: &Ready, openings: &[Opening]) {
        for bare in ready.without_density() {
            let caveat = format!("a {} without a density not counted", bare.kind_word);
            if bare.is_before_patient(openings) && !self.caveats.contains(&caveat) {
                let remark = format!(
                    "a {} without a density lies in the field before the patient: {}",
                    bare.kind_word,
                    way_out(&caveat)
                );
                self.add(&caveat, remark);
            }
        }
    }
}
