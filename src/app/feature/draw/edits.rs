//! Contours drawn by hand: each stroke, polygon or freehand line is one step.

use crate::feature::draw::command::DrawAction;
use crate::feature::draw::state::{DIAMETERS_MM, Outline, Stroke, Tool};
use crate::state::{NoticeKind, Selection, State, ViewKind, roi};
use case::{Drawn, Edit, Structure, StructureKind};
use files::StructureTemplate;
use geometry::{Grid, Section, StrokeError, disc_stroke, outline_sections, sphere_stroke};
use glam::DVec3;
use std::sync::Arc;

/// The gesture of a stroke: its pieces undo together.
const STROKE: u64 = 0x7374_726f_6b65;

impl State {
    pub fn draw(&mut self, action: DrawAction) {
        let drawing = &mut self.drawing;
        match action {
            DrawAction::New(kind) => self.add_empty_structure(kind),
            DrawAction::Template(word) => match StructureTemplate::resolve(word) {
                Ok(template) => self.add_structures(&template),
                Err(why) => self.notices.add(NoticeKind::Error, why.to_string()),
            },
            DrawAction::Tool(tool) => self.take_tool(tool),
            DrawAction::Erase(erase) => drawing.erase = erase,
            DrawAction::Diameter(mm) => {
                drawing.diameter_mm = mm.clamp(*DIAMETERS_MM.start(), *DIAMETERS_MM.end());
            }
            DrawAction::Brush {
                view,
                from_mm,
                to_mm,
                begins,
                erase,
            } => {
                self.brush(view, from_mm, to_mm, begins, erase);
            }
            DrawAction::Corner {
                view,
                at_mm,
                begins,
            } => self.corner(view, at_mm, begins),
            DrawAction::Close { erase } => self.close_outline(erase),
            DrawAction::TakeBack => {
                if let Some(outline) = &mut drawing.outline {
                    outline.points_mm.pop();
                }
                drawing
                    .outline
                    .take_if(|outline| outline.points_mm.is_empty());
            }
            DrawAction::Drop => drawing.outline = None,
        }
    }

    fn add_empty_structure(&mut self, kind: StructureKind) {
        let structure = roi::new_structure(self.case(), kind.name(), kind);
        let number = structure.number;
        self.edit(Edit::AddStructure(structure), None);
        self.selection = Selection::Structure(number);
        self.take_tool(Some(Tool::Brush));
    }

    /// A hidden structure is shown: a stroke must be seen.
    fn take_tool(&mut self, tool: Option<Tool>) {
        self.drawing.leave();
        self.drawing.tool = tool;
        if let (Some(_), Selection::Structure(number)) = (tool, self.selection) {
            self.hidden.remove(&number);
        }
    }

    fn brush(&mut self, view: ViewKind, from_mm: DVec3, to_mm: DVec3, begins: bool, erase: bool) {
        let Some((_, structure)) = self.drawn_structure() else {
            return;
        };
        let Some(grid) = self.case().ct.as_ref().map(|ct| Arc::clone(ct.hu.grid())) else {
            return;
        };
        let radius_mm = 0.5 * self.drawing.diameter_mm;
        let sections = match self.drawing.tool {
            Some(Tool::Sphere) => sphere_stroke(&grid, from_mm, to_mm, radius_mm),
            _ => disc_stroke(&grid, normal_of(view), from_mm, to_mm, radius_mm),
        };
        let (number, contours) = (structure.number, structure.contours.clone());
        // Contours of another identity were changed since, by undo or by an edit: the stroke would bring the old ones back.
        let continued = self.drawing.stroke.take().filter(|stroke| {
            !begins && stroke.structure == number && stroke.made.id() == contours.id()
        });
        let stroke = continued.unwrap_or_else(|| Stroke {
            structure: number,
            drawn: Drawn::new(erase),
            made: contours,
        });
        self.continue_stroke(stroke, &grid, sections, Some(STROKE));
    }

    /// Draws sections on the selected structure. Outside the CT nothing is drawn; the view says so at the pointer.
    fn continue_stroke(
        &mut self,
        mut stroke: Stroke,
        grid: &Grid,
        sections: Result<Vec<Section>, StrokeError>,
        gesture: Option<u64>,
    ) {
        let Some((index, structure)) = self.drawn_structure() else {
            return;
        };
        let drawn = match sections {
            Ok(sections) => stroke.drawn.add(&structure.contours, grid, sections),
            Err(_) => Ok(None),
        };
        match drawn {
            Ok(Some(contours)) => {
                let value = Structure {
                    contours: contours.clone(),
                    ..structure.clone()
                };
                stroke.made = contours;
                self.edit(Edit::SetStructure { index, value }, gesture);
            }
            Ok(None) => {}
            Err(why) => {
                let text = format!("{} cannot be drawn on: {why}.", structure.name);
                self.notices.add(NoticeKind::Error, text);
                self.drawing.leave();
                return;
            }
        }
        self.drawing.stroke = Some(stroke);
    }

    /// A corner on another plane than the outline's begins another outline.
    fn corner(&mut self, view: ViewKind, at_mm: DVec3, begins: bool) {
        if self.drawn_structure().is_none() {
            return;
        }
        let axis = view.normal_axis();
        let outline = &mut self.drawing.outline;
        let continued = outline.as_mut().filter(|outline| {
            let first = outline.points_mm.first();
            !begins
                && outline.view == view
                && first.is_some_and(|p| (p[axis] - at_mm[axis]).abs() < 1e-6)
        });
        match continued {
            Some(outline) if outline.points_mm.last() == Some(&at_mm) => {}
            Some(outline) => outline.points_mm.push(at_mm),
            None => {
                *outline = Some(Outline {
                    view,
                    points_mm: vec![at_mm],
                })
            }
        }
    }

    fn close_outline(&mut self, erase: bool) {
        let Some(outline) = self.drawing.outline.take() else {
            return;
        };
        let Some((_, structure)) = self.drawn_structure() else {
            return;
        };
        let Some(grid) = self.case().ct.as_ref().map(|ct| Arc::clone(ct.hu.grid())) else {
            return;
        };
        if outline.points_mm.len() < 3 {
            return;
        }
        let sections = outline_sections(&grid, normal_of(outline.view), &outline.points_mm);
        let (number, contours) = (structure.number, structure.contours.clone());
        let stroke = Stroke {
            structure: number,
            drawn: Drawn::new(erase),
            made: contours,
        };
        self.continue_stroke(stroke, &grid, sections, None);
        self.drawing.stroke = None;
    }
}

fn normal_of(view: ViewKind) -> DVec3 {
    DVec3::AXES[view.normal_axis()]
}
