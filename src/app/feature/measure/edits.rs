//! Commands of the measuring tools, applied.

use crate::feature::measure::command::MeasureAction;
use crate::state::State;

impl State {
    pub fn measure(&mut self, action: MeasureAction) {
        let measures = &mut self.measures;
        match action {
            MeasureAction::Tool(tool) => measures.tool = tool,
            MeasureAction::Set(number, item) => measures.set(number, item),
            MeasureAction::Release => measures.drop_slips(),
            MeasureAction::Remove(number) => measures.remove(number),
            MeasureAction::Clear => measures.clear(),
        }
    }
}
