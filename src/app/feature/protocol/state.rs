//! The box of plans by protocol: its choices, and what the chosen protocol finds in the case.

use crate::state::State;
use analysis::{PlannedCase, USUAL_MACHINE};
use case::{Case, Plan, StructureSet};
use files::{Delivery, Protocol};
use std::sync::Arc;

/// The box of plans by protocol.
#[derive(Debug, Default)]
pub struct ProtocolBox {
    pub is_open: bool,
    pub draft: ProtocolDraft,
    /// Inputs of the latest preparation.
    pub prepared_of: Option<ProtocolAsk>,
    /// Its answer, or why there is none.
    pub prepared: Option<Result<Arc<PreparedPlan>, String>>,
    /// Plans that were made: each is one step of the history.
    pub made: u64,
}

/// Choices of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolDraft {
    /// A shipped protocol, or the path of a file.
    pub word: String,
    /// Delivery in place of the protocol's.
    pub delivery: Option<Delivery>,
}

impl Default for ProtocolDraft {
    fn default() -> Self {
        let word = Protocol::shipped().next().unwrap_or_default();
        Self {
            word: word.to_owned(),
            delivery: None,
        }
    }
}

/// A protocol with what it finds in a case.
#[derive(Debug)]
pub struct PreparedPlan {
    pub protocol: Protocol,
    pub planned: PlannedCase,
}

/// Inputs of a preparation.
#[derive(Clone, Debug)]
pub struct ProtocolAsk {
    pub case: Case,
    pub draft: ProtocolDraft,
    pub machine: String,
}

impl PartialEq for ProtocolAsk {
    /// By identity of CT and contours: a frame compares them.
    fn eq(&self, other: &Self) -> bool {
        let has_same_ct = match (&self.case.ct, &other.case.ct) {
            (Some(ct), Some(other)) => Arc::ptr_eq(ct, other),
            (None, None) => true,
            _ => false,
        };
        let names = self.case.plans.iter().map(|plan| &plan.name);
        has_same_ct
            && self.draft == other.draft
            && self.machine == other.machine
            && has_same_structures(&self.case.structures, &other.case.structures)
            && names.eq(other.case.plans.iter().map(|plan| &plan.name))
    }
}

/// Whether sets have the same structures: contours are compared by their identity.
fn has_same_structures(set: &Arc<StructureSet>, other: &Arc<StructureSet>) -> bool {
    let structures = set.structures.iter().zip(&other.structures);
    Arc::ptr_eq(set, other)
        || set.structures.len() == other.structures.len()
            && structures.into_iter().all(|(a, b)| {
                (a.number, &a.name, a.kind, a.contours.id())
                    == (b.number, &b.name, b.kind, b.contours.id())
            })
}

/// One command of the user.
#[derive(Debug)]
pub enum ProtocolAction {
    Open(bool),
    Draft(ProtocolDraft),
    PickFile,
    Make,
}

impl State {
    /// Inputs of the preparation at present.
    pub fn protocol_to_ask(&self) -> Option<ProtocolAsk> {
        self.case().ct.as_ref()?;
        let machine = self.plan().map(|plan: &Arc<Plan>| plan.machine.clone());
        Some(ProtocolAsk {
            case: self.case().clone(),
            draft: self.protocol.draft.clone(),
            machine: machine.unwrap_or_else(|| USUAL_MACHINE.to_owned()),
        })
    }

    /// The prepared plan of the case as it is, or why there is none, in words.
    pub fn plan_to_make(&self) -> Result<&Arc<PreparedPlan>, String> {
        let asked_for = self.protocol.prepared_of.as_ref();
        if asked_for.is_none() || asked_for != self.protocol_to_ask().as_ref() {
            return Err("the case is being looked through".to_owned());
        }
        match &self.protocol.prepared {
            Some(Ok(prepared)) => Ok(prepared),
            Some(Err(why)) => Err(why.clone()),
            None => Err("the case is being looked through".to_owned()),
        }
    }
}
