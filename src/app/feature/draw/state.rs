//! Drawing of contours: the tool in the hand, and what is being drawn with it.

use crate::state::{Selection, State, ViewKind};
use case::{Contours, Drawn, Structure};
use glam::DVec3;
use std::ops::RangeInclusive;

/// Diameters of a brush, mm.
pub const DIAMETERS_MM: RangeInclusive<f64> = 1.0..=150.0;

/// Shape that a drag or click in a view draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A disc in the plane of the view.
    Brush,
    Sphere,
    Polygon,
    Freehand,
}

impl Tool {
    pub const ALL: [Self; 4] = [Self::Brush, Self::Sphere, Self::Polygon, Self::Freehand];

    pub fn name(self) -> &'static str {
        match self {
            Self::Brush => "Brush",
            Self::Sphere => "Sphere brush",
            Self::Polygon => "Polygon",
            Self::Freehand => "Freehand",
        }
    }

    /// Whether it draws with a disc or sphere that has a diameter.
    pub fn is_round(self) -> bool {
        matches!(self, Self::Brush | Self::Sphere)
    }
}

/// The tool and its settings.
#[derive(Debug)]
pub struct Drawing {
    /// `None`: drags in the views move the images and the crosshair.
    pub tool: Option<Tool>,
    /// The tool erases; shift or ctrl held does the other.
    pub erase: bool,
    pub diameter_mm: f64,
    /// The corners of a polygon or freehand line that is not closed yet.
    pub outline: Option<Outline>,
    pub stroke: Option<Stroke>,
}

impl Default for Drawing {
    fn default() -> Self {
        Self {
            tool: None,
            erase: false,
            diameter_mm: 20.0,
            outline: None,
            stroke: None,
        }
    }
}

/// An outline that is not closed yet, patient LPS, mm.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    pub view: ViewKind,
    pub points_mm: Vec<DVec3>,
}

/// A stroke of a brush, from press to release.
#[derive(Debug)]
pub struct Stroke {
    /// ROI number.
    pub structure: u32,
    pub drawn: Drawn,
    /// The contours that it made so far: others mean that they were changed meanwhile.
    pub made: Contours,
}

impl Drawing {
    /// Puts the tool away.
    pub fn leave(&mut self) {
        (self.tool, self.outline, self.stroke) = (None, None, None);
    }
}

impl State {
    /// The structure that the tool draws on, with its index; `None` without a tool.
    pub fn drawn_structure(&self) -> Option<(usize, &Structure)> {
        self.drawing.tool.and_then(|_| self.selected_structure())
    }

    /// Why the selected structure cannot be drawn, in words.
    pub fn why_not_drawn(&self) -> Option<&'static str> {
        match &self.case().ct {
            None => Some("Contours are drawn on the planes of a CT: this case has none."),
            Some(_) => None,
        }
    }

    /// Puts the tool away where no structure is selected, and drops what was drawn on another.
    pub fn settle_drawing(&mut self) {
        if self.drawing.tool.is_some() && self.selected_structure().is_none() {
            self.drawing.leave();
        }
        let selection = self.selection;
        self.drawing
            .stroke
            .take_if(|stroke| selection != Selection::Structure(stroke.structure));
    }
}
