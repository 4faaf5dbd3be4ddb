//! Text on a view: its name and position, orientation letters, crosshair, scale bar, dose status and legend.

use super::{DoseLayer, Scene, ViewPlane};
use crate::kit::theme;
use crate::state::ViewKind;
use crate::state::display::{DoseDisplay, Isodose, UNCERTAINTY_LEVELS};
use analysis::{LEAST_SPREAD_DOSE, decimals};
use case::Rgb;
use egui::text::{LayoutJob, TextWrapping};
use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Stroke, pos2, vec2};
use glam::DVec3;

pub(crate) const CROSSHAIR: Color32 = Color32::from_rgb(110, 190, 230);
pub(crate) const MARGIN: f32 = 8.0;
/// Darker structure colours (luma, 0 to 1) are indistinguishable from soft tissue and air.
const LEAST_LIGHTNESS: f32 = 0.38;
/// Text on images.
pub(crate) const SMALL: f32 = 11.0;

/// Anchor point of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Left,
    Right,
    Middle,
}

/// Text on a dark plate, readable on fat, air and bone; centred vertically on `at`. Returns the covered rectangle.
pub(crate) fn text(
    painter: &Painter,
    place: Pos2,
    anchor: Anchor,
    what: &str,
    size: f32,
    colour: Color32,
) -> Rect {
    let align = match anchor {
        Anchor::Left => Align2::LEFT_CENTER,
        Anchor::Right => Align2::RIGHT_CENTER,
        Anchor::Middle => Align2::CENTER_CENTER,
    };
    let font = FontId::proportional(size);
    let galley = painter.layout_no_wrap(what.to_owned(), font, Color32::PLACEHOLDER);
    let rect = align.anchor_size(place, galley.size());
    if !what.is_empty() {
        painter.rect_filled(
            rect.expand2(vec2(3.0, 0.0)),
            2.0,
            Color32::from_black_alpha(150),
        );
    }
    painter.galley(rect.min, galley, colour);
    rect
}

/// All text on a slice view.
pub(crate) fn draw(painter: &Painter, plane: &ViewPlane, kind: ViewKind, scene: &Scene) {
    crosshair(painter, plane, scene.crosshair_mm);
    letters(painter, plane.rect, plane.right, plane.down, None, 0.0);
    title(painter, plane, kind, scene);
    let mut corner = scale_bar(painter, plane.rect, plane.mm_per_point);
    if scene.ct.is_some() && !is_small(plane.rect) {
        let window = format!(
            "W {:.0}  L {:.0}",
            scene.window.width_hu, scene.window.level_hu
        );
        let place = plane.rect.left_bottom() + vec2(MARGIN, -30.0);
        corner = corner.union(text(
            painter,
            place,
            Anchor::Left,
            &window,
            SMALL,
            theme::IMAGE.text,
        ));
    }
    if let Some(dose) = &scene.dose {
        dose_status(painter, plane.rect, dose, corner);
    }
}

/// Whether a view has room for name, status and orientation alone; window, position and 100 % stand in the bars of the window.
pub(super) fn is_small(rect: Rect) -> bool {
    rect.width() < ROOM_FOR_REFERENCE || rect.height() < LOW
}

/// Height of a view below which texts of its corners meet, points.
const LOW: f32 = 150.0;

/// A message across the middle, in place of an image.
pub(crate) fn message(painter: &Painter, rect: Rect, what: &str) {
    let width = (rect.width() - 40.0).max(60.0);
    let galley = painter.layout(
        what.to_owned(),
        FontId::proportional(13.0),
        theme::IMAGE.error,
        width,
    );
    painter.galley(
        rect.center() - 0.5 * galley.size(),
        galley,
        theme::IMAGE.error,
    );
}

/// Two lines with a gap in the middle that keeps the anatomy visible.
pub(crate) fn crosshair(painter: &Painter, plane: &ViewPlane, at_mm: DVec3) {
    let place = plane.screen_from_patient(at_mm);
    let half = 0.5 / painter.pixels_per_point();
    let place = pos2(
        painter.round_to_pixel_center(place.x),
        painter.round_to_pixel_center(place.y),
    );
    let stroke = Stroke::new(2.0 * half, CROSSHAIR.gamma_multiply(0.55));
    let gap = 10.0;
    let r = plane.rect;
    painter.hline(r.min.x..=(place.x - gap), place.y, stroke);
    painter.hline((place.x + gap)..=r.max.x, place.y, stroke);
    painter.vline(place.x, r.min.y..=(place.y - gap), stroke);
    painter.vline(place.x, (place.y + gap)..=r.max.y, stroke);
}

/// Orientation letters L R A P H F at the rims, for screen right and down in patient LPS; beside the `taken` rectangle
/// at the right rim, and `offset_px` points off the lines through the centre, to the right and up.
pub(crate) fn letters(
    painter: &Painter,
    r: Rect,
    right: DVec3,
    down: DVec3,
    taken: Option<Rect>,
    offset_px: f32,
) {
    let inset = 12.0;
    let (centre, middle) = (r.center().x + offset_px, r.center().y - offset_px);
    let neighbour = taken.filter(|t| t.expand(8.0).y_range().contains(middle));
    let right_end = neighbour.map_or(r.max.x - 6.0, |t| t.min.x - 6.0);
    for (direction, position, anchor) in [
        (right, pos2(right_end, middle), Anchor::Right),
        (-right, pos2(r.min.x + 6.0, middle), Anchor::Left),
        (down, pos2(centre, r.max.y - inset), Anchor::Middle),
        (-down, pos2(centre, r.min.y + inset), Anchor::Middle),
    ] {
        text(
            painter,
            position,
            anchor,
            &direction_letters(direction),
            14.0,
            theme::IMAGE.text,
        );
    }
}

/// A structure's colour on images: its own hue, lightened if it is too dark to see.
pub fn on_image(rgb: Rgb) -> Color32 {
    let colour = theme::colour(rgb);
    let lightness =
        (0.3 * f32::from(colour.r()) + 0.59 * f32::from(colour.g()) + 0.11 * f32::from(colour.b()))
            / 255.0;
    let lift = ((LEAST_LIGHTNESS - lightness) / (1.0 - lightness).max(0.01)).max(0.0);
    colour.lerp_to_gamma(Color32::WHITE, lift)
}

/// A screen colour for the shaders, 0 to 1.
pub(crate) fn display_rgb(colour: Color32) -> [f32; 3] {
    [colour.r(), colour.g(), colour.b()].map(|v| f32::from(v) / 255.0)
}

/// The letters of a direction, the strongest first; oblique directions have several.
fn direction_letters(direction: DVec3) -> String {
    let mut parts = [
        (direction.x, if direction.x > 0.0 { 'L' } else { 'R' }),
        (direction.y, if direction.y > 0.0 { 'P' } else { 'A' }),
        (direction.z, if direction.z > 0.0 { 'H' } else { 'F' }),
    ];
    parts.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    parts
        .iter()
        .filter(|(v, _)| v.abs() > 0.1)
        .map(|(_, c)| *c)
        .collect()
}

/// A line of text from `at` that ends at `right`, its rest elided. Returns the covered rectangle; nothing is written where there is
/// no room for a few letters.
pub(crate) fn text_until(
    painter: &Painter,
    place: Pos2,
    right: f32,
    what: &str,
    size: f32,
    colour: Color32,
) -> Rect {
    let width = right - place.x;
    if what.is_empty() || width < 2.0 * size {
        return Rect::from_min_size(place, vec2(0.0, 0.0));
    }
    let mut job = LayoutJob::simple_singleline(what.to_owned(), FontId::proportional(size), colour);
    job.wrap = TextWrapping::truncate_at_width(width);
    let galley = painter.layout_job(job);
    let rect = Align2::LEFT_CENTER.anchor_size(place, galley.size());
    painter.rect_filled(
        rect.expand2(vec2(3.0, 0.0)),
        2.0,
        Color32::from_black_alpha(150),
    );
    painter.galley(rect.min, galley, colour);
    rect
}

/// View name and position: the coordinate along the normal, and the number of the plane.
fn title(painter: &Painter, plane: &ViewPlane, kind: ViewKind, scene: &Scene) {
    let place = if is_small(plane.rect) {
        String::new()
    } else {
        place_of(kind, scene)
    };
    name(painter, plane.rect, kind, &place);
}

/// The coordinate along a view's normal, and the number of the plane.
pub(crate) fn place_of(kind: ViewKind, scene: &Scene) -> String {
    let axis = kind.normal_axis();
    let mut place = format!(
        "{} {} mm",
        ['x', 'y', 'z'][axis],
        decimals(scene.crosshair_mm[axis], 1)
    );
    if let (ViewKind::Axial, Some(grid)) = (kind, scene.grid()) {
        let voxel = grid.voxel_from_patient(scene.crosshair_mm);
        let n = grid.size()[2];
        if grid.axes()[2][axis].abs() > 0.999_99 && voxel.z > -0.5 && voxel.z < n as f64 - 0.5 {
            place.push_str(&format!("   {} / {n}", voxel.z.round() as usize + 1));
        }
    }
    place
}

/// The view's name with a remark.
pub(crate) fn name(painter: &Painter, rect: Rect, kind: ViewKind, about: &str) {
    let corner = rect.left_top() + vec2(MARGIN, 14.0);
    let name = text(
        painter,
        corner,
        Anchor::Left,
        kind.name(),
        13.0,
        theme::IMAGE.text,
    );
    text(
        painter,
        pos2(name.max.x + 8.0, corner.y),
        Anchor::Left,
        about,
        SMALL,
        theme::IMAGE.text,
    );
}

/// A bar of a round length, at the lower left. Returns the covered rectangle.
pub(crate) fn scale_bar(painter: &Painter, rect: Rect, mm_per_point: f64) -> Rect {
    let mm = round_length_mm(mm_per_point * f64::from(rect.width().min(400.0)) * 0.3);
    let length = (mm / mm_per_point) as f32;
    let left = rect.left_bottom() + vec2(MARGIN, -12.0);
    let right = left + vec2(length, 0.0);
    for (width, colour) in [
        (3.0, Color32::from_black_alpha(170)),
        (1.0, theme::IMAGE.text),
    ] {
        let stroke = Stroke::new(width, colour);
        painter.line_segment([left, right], stroke);
        painter.line_segment([left - vec2(0.0, 4.0), left + vec2(0.0, 4.0)], stroke);
        painter.line_segment([right - vec2(0.0, 4.0), right + vec2(0.0, 4.0)], stroke);
    }
    let label = if mm >= 10.0 {
        format!("{:.0} cm", mm / 10.0)
    } else {
        format!("{mm} mm")
    };
    let label = text(
        painter,
        right + vec2(7.0, 0.0),
        Anchor::Left,
        &label,
        SMALL,
        theme::IMAGE.text,
    );
    Rect::from_two_pos(left - vec2(0.0, 4.0), right + vec2(0.0, 4.0)).union(label)
}

/// The longest of 1, 2, 5 times a power of ten up to `longest`, mm.
fn round_length_mm(longest: f64) -> f64 {
    let power = 10_f64.powf(longest.max(1e-3).log10().floor());
    let step = [5.0, 2.0]
        .into_iter()
        .find(|s| s * power <= longest)
        .unwrap_or(1.0);
    step * power
}

/// Most caveats of a dose that a view lists.
const MOST_LIMITS: usize = 2;

/// Width of a view from which on 100 % is named, points.
const ROOM_FOR_REFERENCE: f32 = 200.0;

/// The definition of 100 %, with its name where a view has room for that.
pub(crate) fn reference_words(gy: f64, name: &str, rect: Rect) -> String {
    let named = if rect.width() < ROOM_FOR_REFERENCE {
        String::new()
    } else {
        format!(" ({name})")
    };
    format!("100 % = {gy:.2} Gy{named}")
}

/// Status of the displayed dose, and the definition of 100 % or a note that the colours are no dose. In every view that
/// shows dose; above the texts of the lower left `corner` where the view is too narrow for both.
fn dose_status(painter: &Painter, rect: Rect, layer: &DoseLayer, corner: Rect) {
    let status = layer.dose.status;
    let colour = theme::IMAGE.status(status);
    let reference = match (layer.uncertainty(), layer.reference) {
        (None, Some(_)) if is_small(rect) => String::new(),
        (Some(_), _) => "Colours: uncertainty, not dose".to_owned(),
        (None, Some((gy, name))) => reference_words(gy, name, rect),
        (None, None) => "no reference dose".to_owned(),
    };
    let word = match &layer.certainty {
        Some(c) => format!("Dose: {}, Monte Carlo {}", status.word(), c.percent_words()),
        None => format!("Dose: {}", status.word()),
    };
    let [reference_width, word_width] = [(&reference, SMALL), (&word, 12.0)].map(|(text, size)| {
        let font = FontId::proportional(size);
        painter.layout_no_wrap(text.clone(), font, colour).size().x
    });
    let text_left = rect.right() - MARGIN - reference_width.max(word_width) - 8.0;
    let bottom = if text_left > corner.right() {
        rect.bottom() - 12.0
    } else {
        corner.top() - 10.0
    };
    let low = pos2(rect.right() - MARGIN, bottom);
    let low = if reference.is_empty() {
        low + vec2(0.0, 16.0)
    } else {
        low
    };
    text(
        painter,
        low,
        Anchor::Right,
        &reference,
        SMALL,
        theme::IMAGE.text,
    );
    text(
        painter,
        low - vec2(0.0, 16.0),
        Anchor::Right,
        &word,
        12.0,
        colour,
    );
    // Caveats above the status, as far as the view is wide; the inspector lists all of them.
    let limits: Vec<&String> = layer.trouble.iter().chain(&layer.dose.caveats).collect();
    let more =
        (limits.len() > MOST_LIMITS).then(|| format!("and {} more", limits.len() - MOST_LIMITS));
    for (n, limit) in limits
        .into_iter()
        .take(MOST_LIMITS)
        .chain(&more)
        .enumerate()
    {
        let line_start = low - vec2(0.0, 32.0 + 15.0 * n as f32);
        let limit = elided(limit, ((rect.width() - 2.0 * MARGIN) / 6.5) as usize);
        text(painter, line_start, Anchor::Right, &limit, SMALL, colour);
    }
}

/// A text cut to a number of characters.
pub(crate) fn elided(label: &str, max_chars: usize) -> String {
    if label.chars().count() <= max_chars.max(8) {
        return label.to_owned();
    }
    label
        .chars()
        .take(max_chars.max(8) - 1)
        .chain(['…'])
        .collect()
}

/// The displayed levels, highest first; none if neither lines nor colourwash show them.
fn shown_levels(display: &DoseDisplay) -> Vec<Isodose> {
    let drawn = display.lines || display.wash;
    let mut levels: Vec<_> = display
        .levels
        .iter()
        .filter(|l| l.shown && drawn)
        .copied()
        .collect();
    levels.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    levels
}

/// Width of a legend with percent and Gy, and of one with percent alone.
const LEGEND_WIDTH: f32 = 112.0;
const NARROW_LEGEND: f32 = 62.0;
const UNCERTAINTY_LEGEND: f32 = 132.0;
/// Views from this width on have room for the wide legend beside the image.
const ROOM_FOR_GY: f32 = 440.0;
/// Height of a legend's row, and its least where the view is low.
const LEGEND_ROW: f32 = 14.0;
const LEAST_ROW: f32 = 9.0;

/// Width of the strip beside the axial image for the legend, so that it covers no part of the patient; 0 without one.
/// A plan whose dose is not there yet has the strip too, so that the image does not jump when it comes.
pub(crate) fn legend_width(kind: ViewKind, scene: &Scene, rect: Rect) -> f32 {
    let usual = if rect.width() >= ROOM_FOR_GY {
        LEGEND_WIDTH
    } else {
        NARROW_LEGEND
    };
    match &scene.dose {
        _ if kind != ViewKind::Axial => 0.0,
        Some(layer) if layer.uncertainty().is_some() => UNCERTAINTY_LEGEND.min(0.45 * rect.width()),
        Some(layer) if layer.reference.is_none() || shown_levels(&layer.display).is_empty() => 0.0,
        None if scene.beams.is_empty() => 0.0,
        Some(_) | None => usual,
    }
}

/// The legend of the displayed dose in its strip beside the image.
pub(crate) fn legend(painter: &Painter, strip: Rect, layer: &DoseLayer) {
    if layer.uncertainty().is_some() {
        uncertainty_legend(painter, strip);
    } else if let Some((reference_gy, _)) = layer.reference {
        level_rows(painter, strip, &shown_levels(&layer.display), reference_gy);
    }
}

/// The isodose levels of a view without a strip for them, over the image at its right rim. Returns the covered
/// rectangle.
pub(crate) fn legend_of(
    painter: &Painter,
    rect: Rect,
    display: &DoseDisplay,
    reference: Option<(f64, &'static str)>,
) -> Option<Rect> {
    let (reference_gy, _) = reference?;
    let levels = shown_levels(display);
    if levels.is_empty() {
        return None;
    }
    let room = rect.height() - 30.0 - 44.0;
    let height = (LEGEND_ROW * levels.len() as f32 + 6.0).min(room);
    if height < LEAST_ROW * levels.len() as f32 {
        return None;
    }
    let width = if rect.width() >= 260.0 {
        LEGEND_WIDTH
    } else {
        NARROW_LEGEND
    };
    let min = pos2(rect.max.x - MARGIN - width + 4.0, rect.min.y + 30.0);
    let ground = Rect::from_min_size(min, vec2(width, height));
    painter.rect_filled(ground, 3.0, Color32::from_black_alpha(165));
    level_rows(painter, ground, &levels, reference_gy);
    Some(ground)
}

/// A row for each level: its line, percent and, where there is room, Gy.
fn level_rows(painter: &Painter, ground: Rect, levels: &[Isodose], reference_gy: f64) {
    let step = row_height(ground, levels.len());
    if step < LEAST_ROW {
        return;
    }
    // Levels of a fraction of a Gy need more digits.
    let digits = if reference_gy < 10.0 { 2 } else { 1 };
    for (i, level) in levels.iter().enumerate() {
        let y = row_middle(ground, step, i);
        let gy = f64::from(level.percent) * 0.01 * reference_gy;
        let gy = (ground.width() >= LEGEND_WIDTH)
            .then(|| (ground.width() - 5.0, format!("{gy:.digits$} Gy")));
        for (x, label) in [(57.0, format!("{} %", level.percent))]
            .into_iter()
            .chain(gy)
        {
            let font = FontId::proportional(SMALL.min(step));
            painter.text(
                pos2(ground.min.x + x, y),
                Align2::RIGHT_CENTER,
                label,
                font,
                theme::IMAGE.text,
            );
        }
        let line = [pos2(ground.min.x + 5.0, y), pos2(ground.min.x + 22.0, y)];
        let width = if level.is_thick() { 3.5 } else { 2.0 };
        painter.line_segment(line, Stroke::new(width, theme::colour(level.colour)));
    }
}

/// The levels of the uncertainty's colourwash, highest first, with their definition.
fn uncertainty_legend(painter: &Painter, ground: Rect) {
    let rows = UNCERTAINTY_LEVELS.len() + 4;
    let step = row_height(ground, rows);
    if step < LEAST_ROW {
        return;
    }
    let rows_of_words = [
        (0, "Uncertainty (1 sd)".to_owned(), theme::IMAGE.text),
        (1, "of the local dose".to_owned(), theme::IMAGE.weak),
        (
            rows - 2,
            "where the dose is over".to_owned(),
            theme::IMAGE.weak,
        ),
        (
            rows - 1,
            format!("{:.0} % of its maximum", 100.0 * LEAST_SPREAD_DOSE),
            theme::IMAGE.weak,
        ),
    ];
    let font = FontId::proportional(SMALL.min(step));
    for (row, words, colour) in rows_of_words {
        let place = pos2(ground.min.x + 5.0, row_middle(ground, step, row));
        painter.text(place, Align2::LEFT_CENTER, words, font.clone(), colour);
    }
    for (i, (percent, colour)) in UNCERTAINTY_LEVELS.iter().rev().enumerate() {
        let y = row_middle(ground, step, i + 2);
        let half = (0.5 * step - 2.0).max(2.0);
        let swatch = Rect::from_min_max(
            pos2(ground.min.x + 5.0, y - half),
            pos2(ground.min.x + 27.0, y + half),
        );
        painter.rect_filled(swatch, 1.0, theme::colour(*colour));
        painter.text(
            pos2(ground.min.x + 66.0, y),
            Align2::RIGHT_CENTER,
            format!("{percent} %"),
            font.clone(),
            theme::IMAGE.text,
        );
    }
}

/// Height of the middle of a row of a legend on the screen, points.
fn row_middle(ground: Rect, step: f32, row: usize) -> f32 {
    ground.min.y + 3.0 + step * (row as f32 + 0.5)
}

/// Height of each of `rows` rows of a legend: lower in a low view.
fn row_height(ground: Rect, rows: usize) -> f32 {
    ((ground.height() - 6.0) / rows.max(1) as f32).min(LEGEND_ROW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_bars_are_round() {
        for (longest, want) in [
            (3.7, 2.0),
            (5.0, 5.0),
            (99.0, 50.0),
            (100.0, 100.0),
            (0.03, 0.02),
            (19.0, 10.0),
        ] {
            assert!(
                (round_length_mm(longest) - want).abs() < 1e-9,
                "{longest}: {}",
                round_length_mm(longest)
            );
        }
    }

    /// Also the lowest view of a 1000 x 640 window has all levels, in rows that can be read.
    #[test]
    fn a_low_view_keeps_the_whole_legend() {
        for height in [120.0, 180.0, 500.0] {
            let strip = Rect::from_min_size(Pos2::ZERO, vec2(NARROW_LEGEND, height));
            let rows = DoseDisplay::default().levels.len();
            let step = row_height(strip, rows);
            assert!(
                step >= LEAST_ROW && 6.0 + step * rows as f32 <= height + 1e-3,
                "{height}: {step}"
            );
        }
    }

    #[test]
    fn dark_colours_are_lifted_and_bright_ones_kept() {
        assert_eq!(
            on_image(Rgb([255, 196, 61])),
            Color32::from_rgb(255, 196, 61)
        );
        let blue = on_image(Rgb([0, 0, 255]));
        assert!(
            blue.b() == 255 && blue.r() > 70 && blue.r() < 100,
            "{blue:?}"
        );
    }

    #[test]
    fn letters_name_where_the_patient_lies() {
        assert_eq!(direction_letters(DVec3::X), "L");
        assert_eq!(direction_letters(DVec3::NEG_Y), "A");
        assert_eq!(direction_letters(DVec3::NEG_Z), "F");
        assert_eq!(direction_letters(DVec3::new(0.4, 0.0, 0.9)), "HL");
    }
}
