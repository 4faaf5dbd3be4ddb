//! Commands of drawing contours.

use crate::feature::draw::state::Tool;
use crate::state::ViewKind;
use case::StructureKind;
use glam::DVec3;

/// One command of the user. Positions are patient LPS, mm, on the plane of the view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DrawAction {
    /// Adds a structure without contours, selects it and takes the brush.
    New(StructureKind),
    /// Adds the structures of a shipped template that the case has not.
    Template(&'static str),
    /// Takes a tool; `None` puts it away.
    Tool(Option<Tool>),
    /// Sets whether the tools erase.
    Erase(bool),
    Diameter(f64),
    /// A piece of a brush's stroke. One stroke is one step, and erases throughout if its first piece does.
    Brush {
        view: ViewKind,
        from_mm: DVec3,
        to_mm: DVec3,
        begins: bool,
        erase: bool,
    },
    /// The next corner of an outline.
    Corner {
        view: ViewKind,
        at_mm: DVec3,
        begins: bool,
    },
    /// Closes the outline and draws or erases what it holds.
    Close {
        erase: bool,
    },
    /// Takes back the last corner of the outline.
    TakeBack,
    /// Drops the outline.
    Drop,
}
