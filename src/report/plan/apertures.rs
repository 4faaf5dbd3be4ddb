//! Apertures of a plan's beams in its report, and the fluence maps that stand in their place.

use super::{BeamFacts, BeamMap, MOST_APERTURES, Outline, PlanReport};
use crate::pdf::{Image, Type};
use crate::pen::{BLUE, HAIR, INK, LEFT, Pen, RED, RIGHT, SMALL, cut};
use analysis::fluence_colour;
use case::{ControlPoint, FluenceMap, MlcAxis, Rgb};
use geometry::{BeamFrame, ShadowFrame};
use glam::DVec3;

/// Pixels along a side of the picture of a map.
const MAP_PX: u32 = 480;

/// Width of the outline of a structure, pixels.
const RIM: usize = 3;

/// Steps of the bar that tells the colours of a map.
const BAR_STEPS: u16 = 24;

/// Height of the two lines under a map.
const MAP_LINES: f32 = 20.0;

/// Pictures in a row, and points between them.
const ACROSS: usize = 4;
const GAP: f32 = 10.0;

/// Height of the caption over a picture.
const CAPTION: f32 = 16.0;

/// A picture of a beam: its map, or an aperture.
struct Seen<'a> {
    beam: &'a BeamFacts,
    map: Option<&'a BeamMap>,
    point: &'a ControlPoint,
    caption: String,
    /// From the axis to each side, mm: the same for all pictures of the beam.
    widest: f64,
    frame: Option<BeamFrame>,
}

/// The maps of the beams, and their apertures on the way through their control points, seen from the source.
pub(super) fn apertures(pen: &mut Pen, report: &PlanReport) {
    let pictures: Vec<Seen<'_>> = report
        .beams
        .iter()
        .flat_map(|beam| pictures_of(report, beam))
        .collect();
    if pictures.is_empty() {
        return;
    }
    let side = (RIGHT - LEFT - (ACROSS - 1) as f32 * GAP) / ACROSS as f32;
    pen.room(side + 70.0);
    let has_maps = pictures.iter().any(|seen| seen.map.is_some());
    pen.heading(match has_maps {
        true => "Fluence maps and apertures seen from the source",
        false => "Apertures seen from the source",
    });
    let mut rims = Rims::default();
    for row in pictures.chunks(ACROSS) {
        let below = if row.iter().any(|seen| seen.map.is_some()) {
            MAP_LINES
        } else {
            0.0
        };
        pen.room(side + below + CAPTION + 8.0);
        let top = pen.y + CAPTION;
        for (n, seen) in row.iter().enumerate() {
            draw(
                pen,
                seen,
                rims.of(seen, &report.outlines),
                [LEFT + n as f32 * (side + GAP), top],
                side,
            );
        }
        pen.y = top + side + below + 6.0;
    }
    if report.beams.iter().any(|beam| beam.apertures.len() > 1) {
        let text = format!(
            "Of a beam that changes on its way, at most {MOST_APERTURES} control points, evenly spread: the number of the control point, \
             and the monitor units of the beam delivered by then."
        );
        pen.line(&text, SMALL);
    }
    if !report.outlines.is_empty() {
        pen.line(
            "Outlines: the structures on show, in the colours of their histograms.",
            SMALL,
        );
    }
}

/// The map of a beam and its apertures; of a map without leaves the jaws round it.
fn pictures_of<'a>(report: &PlanReport, beam: &'a BeamFacts) -> Vec<Seen<'a>> {
    let start = report
        .fields
        .iter()
        .find(|field| field.name == beam.name)
        .map(|field| field.frame);
    let isocentre_mm = DVec3::from_array(beam.isocentre_mm);
    let position = report.plan.position;
    let frame_at = |point: &ControlPoint| {
        let angles = (point.gantry_deg, point.collimator_deg, point.couch_deg);
        start.map(|start| {
            BeamFrame::new(
                position,
                angles.0,
                angles.1,
                angles.2,
                isocentre_mm,
                start.sad_mm,
            )
        })
    };
    let points = beam.apertures.iter().map(|aperture| &aperture.point);
    let widest = points
        .map(jaw_reach_mm)
        .fold(jaw_reach_mm(&beam.start), f64::max)
        + 15.0;
    let seen = |map: Option<&'a BeamMap>, point: &'a ControlPoint, caption: String| Seen {
        beam,
        map,
        point,
        caption,
        widest,
        frame: frame_at(point),
    };
    let map = beam.map.as_ref().map(|map| {
        seen(
            Some(map),
            &beam.start,
            format!("{}: fluence map", beam.name),
        )
    });
    let has_apertures = beam.map.as_ref().is_none_or(|map| map.has_leaves);
    let apertures = beam
        .apertures
        .iter()
        .filter(|_| has_apertures)
        .map(|aperture| {
            let caption = match beam.control_points {
                1 => beam.name.clone(),
                count => {
                    format!(
                        "{}: {} of {count}, {:.0} %",
                        beam.name, aperture.number, aperture.delivered_percent
                    )
                }
            };
            seen(None, &aperture.point, caption)
        });
    map.into_iter().chain(apertures).collect()
}

fn jaw_reach_mm(point: &ControlPoint) -> f64 {
    [point.jaws.x, point.jaws.y]
        .into_iter()
        .flatten()
        .map(f64::abs)
        .fold(20.0, f64::max)
}

/// The rims of the structures as a frame sees them, kept for the next picture: most beams stand still.
#[derive(Default)]
struct Rims {
    of: Option<(BeamFrame, f64)>,
    /// Pixels with their colours.
    pixels: Vec<(usize, [u8; 3])>,
}

impl Rims {
    fn of(&mut self, seen: &Seen<'_>, outlines: &[Outline]) -> &[(usize, [u8; 3])] {
        let Some(frame) = seen.frame else { return &[] };
        if self.of != Some((frame, seen.widest)) {
            self.of = Some((frame, seen.widest));
            self.pixels = outlines
                .iter()
                .flat_map(|outline| rim(outline, &frame, seen.widest))
                .collect();
        }
        &self.pixels
    }
}

fn draw(
    pen: &mut Pen,
    seen: &Seen<'_>,
    rims: &[(usize, [u8; 3])],
    [left, top]: [f32; 2],
    side: f32,
) {
    let Seen {
        beam,
        point,
        widest,
        ..
    } = seen;
    let widest = *widest;
    // Device x to the right and y up, as the beam's-eye view has them.
    let on_page = |[x, y]: [f64; 2]| {
        let share = |mm: f64| ((mm.clamp(-widest, widest) / widest) as f32 + 1.0) * 0.5 * side;
        [left + share(x), top + side - share(y)]
    };
    pen.document
        .text(left, top - 3.0, &cut(&seen.caption, SMALL, side), SMALL);
    let frame = |pen: &mut Pen, [x0, x1]: [f64; 2], [y0, y1]: [f64; 2], width, colour| {
        let corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]].map(on_page);
        pen.document.path(&corners, width, colour, false);
    };
    if seen.map.is_some() || !rims.is_empty() {
        let mut image = seen
            .map
            .map_or_else(blank, |map| picture(&map.fluence, widest));
        for (pixel, colour) in rims {
            image.rgb[3 * pixel..3 * pixel + 3].copy_from_slice(colour);
        }
        pen.document.image([left, top], [side; 2], image);
    }
    if let Some(map) = seen.map {
        scale(pen, map, [left, top + side], side);
    }
    frame(pen, [-widest, widest], [-widest, widest], 0.4, HAIR);
    pen.document.path(
        &[on_page([-widest, 0.0]), on_page([widest, 0.0])],
        0.3,
        HAIR,
        true,
    );
    pen.document.path(
        &[on_page([0.0, -widest]), on_page([0.0, widest])],
        0.3,
        HAIR,
        true,
    );
    if let Some(mlc) = beam.mlc.as_ref().filter(|_| seen.map.is_none()) {
        for bank in 0..2 {
            let mut edge: Vec<[f32; 2]> = Vec::new();
            for (pair, tips) in mlc.boundaries_mm.windows(2).zip(&point.leaves_mm) {
                for across in [pair[0], pair[1]] {
                    edge.push(on_page(match mlc.axis {
                        MlcAxis::X => [tips[bank], across],
                        MlcAxis::Y => [across, tips[bank]],
                    }));
                }
            }
            pen.document.path(&edge, 0.8, BLUE, false);
        }
    }
    frame(pen, point.jaws.x, point.jaws.y, 1.2, INK);
    let size = format!("{:.0} mm", 2.0 * widest);
    pen.document.text_right(
        left + side - 2.0,
        top + side - 3.0,
        &size,
        Type { size: 6.5, ..SMALL },
    );
}

fn blank() -> Image {
    Image {
        width: MAP_PX,
        height: MAP_PX,
        rgb: vec![255; (3 * MAP_PX * MAP_PX) as usize],
    }
}

/// The map on paper: `widest` mm from the axis to each side, x to the right and y up. Beamlets without fluence stay white.
fn picture(map: &FluenceMap, widest: f64) -> Image {
    let greatest = map.greatest();
    let mut rgb = Vec::with_capacity((MAP_PX * MAP_PX * 3) as usize);
    for row in 0..MAP_PX {
        for column in 0..MAP_PX {
            let value = map.value_at(map.uv([pixel_mm(column, widest), -pixel_mm(row, widest)]));
            let Rgb(colour) = match value.filter(|value| *value > 0.0) {
                Some(value) => fluence_colour(f64::from(value / greatest)),
                None => Rgb([255; 3]),
            };
            rgb.extend(colour);
        }
    }
    Image {
        width: MAP_PX,
        height: MAP_PX,
        rgb,
    }
}

fn pixel_mm(pixel: u32, widest: f64) -> f64 {
    widest * ((2.0 * f64::from(pixel) + 1.0) / f64::from(MAP_PX) - 1.0)
}

/// Pixels of the rim of a structure's shadow, with its colour.
fn rim(outline: &Outline, frame: &BeamFrame, widest: f64) -> Vec<(usize, [u8; 3])> {
    let side = MAP_PX as usize;
    let shadow = outline.hull.shadow(
        frame,
        ShadowFrame {
            half_mm: widest,
            pixels: side,
        },
    );
    let Rgb(colour) = outline.colour;
    // Pale colours are invisible on paper.
    let colour = colour.map(|c| (f32::from(c) * 0.82) as u8);
    let inner =
        (RIM..side - RIM).flat_map(|row| (RIM..side - RIM).map(move |column| row * side + column));
    inner
        .filter(|pixel: &usize| {
            shadow[*pixel]
                && [
                    pixel + RIM,
                    pixel - RIM,
                    pixel + RIM * side,
                    pixel - RIM * side,
                ]
                .into_iter()
                .any(|pixel: usize| !shadow[pixel])
        })
        .map(|pixel| (pixel, colour))
        .collect()
}

/// The colours of a map in monitor units, and whether leaves deliver it.
fn scale(pen: &mut Pen, map: &BeamMap, [left, top]: [f32; 2], side: f32) {
    let (width, step) = (0.4 * side, 0.4 * side / f32::from(BAR_STEPS));
    for n in 0..BAR_STEPS {
        let Rgb(colour) = fluence_colour((f64::from(n) + 0.5) / f64::from(BAR_STEPS));
        pen.document.fill(
            [left + step * f32::from(n), top + 4.0],
            [step + 0.6, 5.0],
            colour,
        );
    }
    let words = format!("0 to {:.1} MU", map.mu * f64::from(map.fluence.greatest()));
    pen.document
        .text(left + width + 5.0, top + 9.0, &words, SMALL);
    let (words, how) = match map.has_leaves {
        true => ("the leaves were cut from it", SMALL),
        false => (
            "fluence, not deliverable",
            Type {
                colour: RED,
                ..SMALL
            },
        ),
    };
    pen.document.text(left, top + 18.0, words, how);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A beamlet lies in the picture where it lies in the field, and the strongest has the last colour.
    #[test]
    fn beamlets_lie_where_they_lie_in_the_field() {
        let map = FluenceMap {
            axis: MlcAxis::Y,
            rows_mm: vec![-20.0, -10.0, 0.0],
            first_mm: 10.0,
            step_mm: 10.0,
            columns: 2,
            values: vec![0.0, 0.5, 0.25, 2.0],
        };
        let image = picture(&map, 40.0);
        let colour_at = |x: f64, y: f64| {
            let first = 3 * (map_pixel(-y / 40.0) * MAP_PX as usize + map_pixel(x / 40.0));
            Rgb([0, 1, 2].map(|n| image.rgb[first + n]))
        };
        // Leaves that travel along y: rows lie along x.
        for (x, y, part) in [(-15.0, 25.0, 0.25), (-5.0, 15.0, 0.125), (-5.0, 25.0, 1.0)] {
            assert_eq!(colour_at(x, y), fluence_colour(part), "{x} {y}");
        }
        for (x, y) in [(-15.0, 15.0), (5.0, 15.0), (-5.0, 35.0), (-5.0, -15.0)] {
            assert_eq!(colour_at(x, y), Rgb([255; 3]), "{x} {y}");
        }
    }

    fn map_pixel(share: f64) -> usize {
        ((0.5 * share + 0.5) * f64::from(MAP_PX)) as usize
    }
}
