//! Plans by protocol: the box's commands.

use super::App;
use crate::feature::protocol::state::{ProtocolAction, ProtocolBox};
use crate::state::NoticeKind;
use crate::state::files::FileAction;
use crate::state::slot::Slot;
use files::Protocol;
use std::path::PathBuf;

impl App {
    pub(super) fn protocol(&mut self, action: ProtocolAction) {
        match action {
            ProtocolAction::Open(open) => {
                self.state.protocol.is_open = open;
                let draft = &mut self.state.protocol.draft;
                let is_shipped = Protocol::shipped().any(|word| word == draft.word);
                let best = Protocol::best_shipped(&self.state.history.case().structures);
                if let Some(best) = best.filter(|_| open && is_shipped) {
                    best.clone_into(&mut draft.word);
                }
                // A file of the user may have changed since.
                self.state.protocol.prepared_of = None;
            }
            ProtocolAction::Draft(draft) => self.state.protocol.draft = draft,
            ProtocolAction::PickFile => self.pick(FileAction::OpenProtocol),
            ProtocolAction::Make => self.requests().make_plan(),
        }
    }

    /// Takes the file of a protocol.
    pub(super) fn take_protocol_file(&mut self, path: PathBuf) {
        let path = std::path::absolute(&path).unwrap_or(path);
        match path.to_str() {
            Some(word) => word.clone_into(&mut self.state.protocol.draft.word),
            None => {
                let text = format!(
                    "The name of {} is not UTF-8: rename the file.",
                    path.display()
                );
                self.state.notices.add(NoticeKind::Error, text);
            }
        }
    }

    /// Closes the box of the case before.
    pub(super) fn close_protocol(&mut self) {
        self.worker.cancel(Slot::Protocol);
        let draft = std::mem::take(&mut self.state.protocol.draft);
        self.state.protocol = ProtocolBox {
            draft,
            made: self.state.protocol.made,
            ..ProtocolBox::default()
        };
    }
}
