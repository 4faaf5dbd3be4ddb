//! The job that looks for a protocol's structures in the case.

use crate::feature::protocol::state::{PreparedPlan, ProtocolAsk};
use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use analysis::plan_by_protocol;
use engine::JobControl;
use files::Protocol;
use std::sync::Arc;
use worker::Task;

impl Requests<'_> {
    /// Looks, while the box is open, for what the chosen protocol finds in the case. Cheap where nothing changed.
    pub(crate) fn request_protocol(&mut self) {
        if !self.state.protocol.is_open {
            return;
        }
        let ask = self.state.protocol_to_ask();
        if ask.is_none() || self.state.protocol.prepared_of == ask {
            return;
        }
        self.state.protocol.prepared = None;
        self.state.protocol.prepared_of.clone_from(&ask);
        let Some(ask) = ask else { return };
        let task = Task::new("Plan by protocol", move |control: &JobControl| {
            let prepared = prepare(&ask, control).map(Arc::new);
            Ok::<_, String>(JobAnswer::then(move |window| {
                let protocol = &mut window.state.protocol;
                if protocol.prepared_of.as_ref() == Some(&ask) {
                    protocol.prepared = Some(prepared);
                }
            }))
        });
        self.worker.submit(Slot::Protocol, task);
    }
}

fn prepare(ask: &ProtocolAsk, control: &JobControl) -> Result<PreparedPlan, String> {
    let protocol = Protocol::resolve(&ask.draft.word).map_err(|why| why.to_string())?;
    let protocol = match ask.draft.delivery {
        None => protocol,
        Some(delivery) => protocol
            .delivered_by(delivery)
            .map_err(|fault| fault.to_string())?,
    };
    let planned = plan_by_protocol(&ask.case, &protocol, &ask.machine, control)
        .map_err(|why| why.to_string())?;
    Ok(PreparedPlan { protocol, planned })
}
