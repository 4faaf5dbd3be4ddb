//! Apertures of a plan's beams in its report, and the fluence maps that stand in their place.

use super::{BeamFacts, Outline, PlanReport};
use crate::pdf::{Image, Type};
use crate::pen::{BLUE, HAIR, INK, LEFT, Pen, RED, RIGHT, SMALL, cut};
use analysis::fluence_colour;
use case::{FluenceMap, MlcAxis, Rgb};
use geometry::{BeamFrame, ShadowFrame};

/// Pixels along a side of the picture of a map.
const MAP_PX: u32 = 480;

/// Width of the outline of a structure, pixels.
const RIM: usize = 3;

/// Steps of the bar that tells the colours of a map.
const BAR_STEPS: u16 = 24;

/// Height of the two lines under a map.
const MAP_LINES: f32 = 20.0;

/// The aperture of each beam at its first control point, seen from the source.
pub(super) fn apertures(pen: &mut Pen, report: &PlanReport) {
    if report.beams.is_empty() {
        return;
    }
    let (across, gap) = (4, 10.0);
    let side = (RIGHT - LEFT - 3.0 * gap) / across as f32;
    pen.room(side + 70.0);
    let has_map = |beam: &BeamFacts| beam.fluence.is_some();
    pen.heading(match report.beams.iter().any(has_map) {
        true => "Apertures and fluence maps seen from the source, first control point",
        false => "Apertures seen from the source, first control point",
    });
    for row in report.beams.chunks(across) {
        let below = if row.iter().any(has_map) { MAP_LINES } else { 0.0 };
        pen.room(side + below + 24.0);
        let top = pen.y + 16.0;
        for (n, beam) in row.iter().enumerate() {
            let frame = report.fields.iter().find(|field| field.name == beam.name).map(|field| field.frame);
            let seen = frame.map(|frame| (frame, &report.outlines[..]));
            aperture(pen, beam, seen, [LEFT + n as f32 * (side + gap), top], side);
        }
        pen.y = top + side + below + 6.0;
    }
    if !report.outlines.is_empty() {
        pen.line("Outlines: the structures on show, in the colours of their histograms.", SMALL);
    }
}

/// `seen`: the structures to be outlined, and from where.
fn aperture(
    pen: &mut Pen,
    beam: &BeamFacts,
    seen: Option<(BeamFrame, &[Outline])>,
    [left, top]: [f32; 2],
    side: f32,
) {
    let jaws = beam.start.jaws;
    let widest = [jaws.x, jaws.y].into_iter().flatten().map(f64::abs).fold(20.0, f64::max) + 15.0;
    // Device x to the right and y up, as the beam's-eye view has them.
    let at = |[x, y]: [f64; 2]| {
        let share = |mm: f64| ((mm.clamp(-widest, widest) / widest) as f32 + 1.0) * 0.5 * side;
        [left + share(x), top + side - share(y)]
    };
    let caption = match beam.control_points {
        1 => beam.name.clone(),
        count => format!("{} (1 of {count})", beam.name),
    };
    pen.document.text(left, top - 3.0, &cut(&caption, SMALL, side), SMALL);
    let frame = |pen: &mut Pen, [x0, x1]: [f64; 2], [y0, y1]: [f64; 2], width, colour| {
        let corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]].map(at);
        pen.document.path(&corners, width, colour, false);
    };
    let mut ground = beam.fluence.as_ref().map(|map| picture(map, widest));
    if let Some((frame, outlines)) = seen.filter(|(_, outlines)| !outlines.is_empty()) {
        let image = ground.get_or_insert_with(|| Image {
            width: MAP_PX,
            height: MAP_PX,
            rgb: vec![255; (3 * MAP_PX * MAP_PX) as usize],
        });
        outlines.iter().for_each(|outline| outline_on(image, outline, &frame, widest));
    }
    if let Some(image) = ground {
        pen.document.image([left, top], [side; 2], image);
    }
    if let Some(map) = &beam.fluence {
        scale(pen, beam, map, [left, top + side], side);
    }
    frame(pen, [-widest, widest], [-widest, widest], 0.4, HAIR);
    pen.document.path(&[at([-widest, 0.0]), at([widest, 0.0])], 0.3, HAIR, true);
    pen.document.path(&[at([0.0, -widest]), at([0.0, widest])], 0.3, HAIR, true);
    if let Some(mlc) = &beam.mlc {
        for bank in 0..2 {
            let mut edge: Vec<[f32; 2]> = Vec::new();
            for (pair, tips) in mlc.boundaries_mm.windows(2).zip(&beam.start.leaves_mm) {
                for across in [pair[0], pair[1]] {
                    edge.push(at(match mlc.axis {
                        MlcAxis::X => [tips[bank], across],
                        MlcAxis::Y => [across, tips[bank]],
                    }));
                }
            }
            pen.document.path(&edge, 0.8, BLUE, false);
        }
    }
    frame(pen, jaws.x, jaws.y, 1.2, INK);
    let size = format!("{:.0} mm", 2.0 * widest);
    pen.document.text_right(left + side - 2.0, top + side - 3.0, &size, Type { size: 6.5, ..SMALL });
}

/// The map on paper: `widest` mm from the axis to each side, x to the right and y up. Beamlets without fluence stay white.
fn picture(map: &FluenceMap, widest: f64) -> Image {
    let most = map.greatest();
    let mm = |pixel: u32| widest * ((2.0 * f64::from(pixel) + 1.0) / f64::from(MAP_PX) - 1.0);
    let mut rgb = Vec::with_capacity((MAP_PX * MAP_PX * 3) as usize);
    for row in 0..MAP_PX {
        for column in 0..MAP_PX {
            let value = map.value_at(map.uv([mm(column), -mm(row)]));
            let Rgb(colour) = match value.filter(|value| *value > 0.0) {
                Some(value) => fluence_colour(f64::from(value / most)),
                None => Rgb([255; 3]),
            };
            rgb.extend(colour);
        }
    }
    Image { width: MAP_PX, height: MAP_PX, rgb }
}

/// Draws the rim of a structure's shadow.
fn outline_on(image: &mut Image, outline: &Outline, frame: &BeamFrame, widest: f64) {
    let side = MAP_PX as usize;
    let shadow = outline.hull.shadow(frame, ShadowFrame { half_mm: widest, pixels: side });
    let Rgb(colour) = outline.colour;
    // Pale colours are invisible on paper.
    let colour = colour.map(|c| (f32::from(c) * 0.82) as u8);
    for row in RIM..side - RIM {
        for column in RIM..side - RIM {
            let at = row * side + column;
            let is_rim = [at + RIM, at - RIM, at + RIM * side, at - RIM * side].iter().any(|n| !shadow[*n]);
            if shadow[at] && is_rim {
                image.rgb[3 * at..3 * at + 3].copy_from_slice(&colour);
            }
        }
    }
}

/// The colours of a map in monitor units, and that no leaves deliver it.
fn scale(pen: &mut Pen, beam: &BeamFacts, map: &FluenceMap, [left, top]: [f32; 2], side: f32) {
    let (width, step) = (0.4 * side, 0.4 * side / f32::from(BAR_STEPS));
    for n in 0..BAR_STEPS {
        let Rgb(colour) = fluence_colour((f64::from(n) + 0.5) / f64::from(BAR_STEPS));
        pen.document.fill([left + step * f32::from(n), top + 4.0], [step + 0.6, 5.0], colour);
    }
    let words = format!("0 to {:.1} MU", beam.mu * f64::from(map.greatest()));
    pen.document.text(left + width + 5.0, top + 9.0, &words, SMALL);
    pen.document.text(left, top + 18.0, "fluence, not deliverable", Type { colour: RED, ..SMALL });
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
        let at = |x: f64, y: f64| {
            let pixel = |share: f64| ((0.5 * share + 0.5) * f64::from(MAP_PX)) as usize;
            let first = 3 * (pixel(-y / 40.0) * MAP_PX as usize + pixel(x / 40.0));
            Rgb([0, 1, 2].map(|n| image.rgb[first + n]))
        };
        // Leaves that travel along y: rows lie along x.
        for (x, y, part) in [(-15.0, 25.0, 0.25), (-5.0, 15.0, 0.125), (-5.0, 25.0, 1.0)] {
            assert_eq!(at(x, y), fluence_colour(part), "{x} {y}");
        }
        for (x, y) in [(-15.0, 15.0), (5.0, 15.0), (-5.0, 35.0), (-5.0, -15.0)] {
            assert_eq!(at(x, y), Rgb([255; 3]), "{x} {y}");
        }
    }
}
