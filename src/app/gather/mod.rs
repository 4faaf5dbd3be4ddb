//! Contents of reports, gathered from the state in one step so that they belong together. Rows, words and pages come
//! from [`report`]; the worker draws and writes them.

mod comparison;
mod dvhs;
mod pictures;
mod plan;
mod recent;

pub use comparison::comparison;
pub use dvhs::dvh_table;
pub use plan::{plan, with_room};
pub use recent::{drawn_recent, of_recent};
