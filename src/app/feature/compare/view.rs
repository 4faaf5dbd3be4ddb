//! Two doses on one plane: A, B, both overlaid, their difference, gamma. All panes share one [`ViewState`], so that
//! they show the same position at the same zoom.

use crate::feature::measure;
use crate::feature::measure::state::ReadDose;
use crate::kit::theme;
use crate::render::{Blend, CompareLook, DifferenceLook, GammaLook, Isolines};
use crate::state::display::DoseDisplay;
use crate::view::overlay::{Anchor, MARGIN, SMALL, display_rgb, text, text_until};
use crate::view::shape::Lens;
use crate::view::{
    Scene, ViewEvent, ViewPlane, ViewState, drag, navigate, overlay, slice, structure,
};
use analysis::{
    DIVERGING, DifferenceDisplay, DifferenceUnit, FAILING, GAMMA_COLOURS, LOCAL_FROM,
    difference_colour, gamma_colour, signed_gamma_colour,
};
use case::{Dose, Rgb};
use egui::{
    Align2, Color32, CursorIcon, FontId, Painter, Pos2, Rect, Response, Role, Sense, Stroke, Ui,
    WidgetInfo, pos2, vec2,
};
use geometry::Volume;
use std::sync::Arc;

/// Content of a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    A,
    B,
    Difference,
    Gamma,
    Swipe,
    Checkerboard,
    Spyglass,
    /// A, and B while the key is held.
    Flicker {
        shows_b: bool,
    },
}

/// Common content of all panes.
pub struct CompareScene {
    /// CT, structures, crosshair; without a CT paging steps through the planes of its dose.
    pub scene: Scene,
    pub a: Option<Arc<Dose>>,
    pub b: Option<Arc<Dose>>,
    /// Gamma on the grid of the reference, and its status in words if it is not up to date.
    pub gamma: Option<Arc<Volume<f32>>>,
    pub gamma_note: Option<String>,
    /// End of gamma's scale.
    pub gamma_end: f64,
    /// Evaluated side, A or B, if gamma is signed as evaluated minus reference.
    pub gamma_sign: Option<&'static str>,
    /// 100 % in Gy, and its name.
    pub reference: Option<(f64, &'static str)>,
    pub display: DoseDisplay,
    pub difference: DifferenceDisplay,
    pub isolines: Isolines,
    /// Position of the swipe's line, share of the width.
    pub swipe: f32,
    /// Why A and B cannot be compared.
    pub refusal: Option<String>,
}

/// Side of a square of the checkerboard and radius of the spyglass, points.
const SQUARE: f32 = 56.0;
const SPYGLASS: f32 = 90.0;
/// Distance from the swipe's line within which a drag grabs it, points.
const SWIPE_REACH: f32 = 7.0;
const GAMMA_OPACITY: f32 = 0.7;
/// Panes narrower than this have a title of several lines.
const NARROW: f32 = 420.0;

impl Pane {
    /// Name for screen readers and tests.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "Compare A",
            Self::B => "Compare B",
            Self::Difference => "Compare difference",
            Self::Gamma => "Compare gamma",
            Self::Swipe => "Compare swipe",
            Self::Checkerboard => "Compare checkerboard",
            Self::Spyglass => "Compare spyglass",
            Self::Flicker { .. } => "Compare flicker",
        }
    }

    fn has(self) -> [bool; 2] {
        match self {
            Self::A | Self::Flicker { shows_b: false } => [true, false],
            Self::B | Self::Flicker { shows_b: true } => [false, true],
            _ => [true, true],
        }
    }
}

/// Draws a pane into the available space. Returns the swipe's new position if its line was dragged.
pub fn show_pane(
    ui: &mut Ui,
    state: &mut ViewState,
    compare: &CompareScene,
    pane: Pane,
    events: &mut Vec<ViewEvent>,
) -> (Response, Option<f32>) {
    use egui::emath::GuiRounding as _;
    let rect = ui
        .available_rect_before_wrap()
        .round_to_pixels(ui.pixels_per_point());
    let response = ui.allocate_rect(rect, Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, pane.name()));
    let scene = &compare.scene;
    scene.gpu.begin_frame(ui.ctx().cumulative_pass_nr());
    if rect.width() < 8.0 || rect.height() < 8.0 {
        return (response, None);
    }
    let plane = navigate::current_plane(state, scene, rect);
    let swiped = (pane == Pane::Swipe)
        .then(|| swipe(ui, &response, compare.swipe))
        .flatten();
    let claimed = swiped.is_some()
        || measure::view::respond(ui, &response, scene, &plane, events)
        || drag::respond(ui, &response, state.kind, scene, Lens::Plane(plane), events);
    navigate::respond(ui, &response, state, scene, &plane, claimed, events);
    let plane = navigate::current_plane(state, scene, rect);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme::IMAGE.ground);
    if let Some(why) = &compare.refusal {
        if matches!(pane, Pane::A | Pane::B | Pane::Flicker { .. }) {
            picture(&painter, &plane, compare, pane, &response);
        } else {
            overlay::message(&painter, rect, why);
            title(
                &painter,
                &plane,
                plane.rect.right() - MARGIN,
                state,
                compare,
                pane,
            );
            return (response, None);
        }
    } else {
        picture(&painter, &plane, compare, pane, &response);
    }
    structure::draw(&painter, &plane, state.kind, scene);
    writing(&painter, &plane, state, compare, pane, &response);
    let sides = [("A", &compare.a), ("B", &compare.b)];
    let doses: Vec<_> = sides
        .into_iter()
        .filter_map(|(side, dose)| {
            Some(ReadDose {
                side,
                dose: dose.clone()?,
            })
        })
        .collect();
    measure::view::draw(&painter, &plane, scene, &doses);
    (response, swiped)
}

/// The swipe's new position, if the pointer drags its line.
fn swipe(ui: &Ui, response: &Response, share: f32) -> Option<f32> {
    let rect = response.rect;
    let x = rect.left() + share * rect.width();
    let id = response.id.with("swipe");
    if response.drag_started() {
        let holds = ui
            .input(|i| i.pointer.press_origin())
            .is_some_and(|pos| (pos.x - x).abs() <= SWIPE_REACH);
        ui.data_mut(|d| d.insert_temp(id, holds));
    }
    let holds = (response.dragged() || response.drag_stopped())
        && ui.data(|d| d.get_temp::<bool>(id)).unwrap_or_default();
    if holds
        || response
            .hover_pos()
            .is_some_and(|pos| (pos.x - x).abs() <= SWIPE_REACH)
    {
        ui.set_cursor_icon(CursorIcon::ResizeHorizontal);
    }
    let to = response.interact_pointer_pos().filter(|_| holds)?;
    Some(((to.x - rect.left()) / rect.width()).clamp(0.0, 1.0))
}

/// Centre of the spyglass: the pointer, else the crosshair.
fn spyglass(plane: &ViewPlane, compare: &CompareScene, response: &Response) -> egui::Pos2 {
    response
        .hover_pos()
        .unwrap_or_else(|| plane.screen_from_patient(compare.scene.crosshair_mm))
}

fn picture(
    painter: &Painter,
    plane: &ViewPlane,
    compare: &CompareScene,
    pane: Pane,
    response: &Response,
) {
    let scene = &compare.scene;
    let ppp = painter.pixels_per_point();
    let blend = match pane {
        Pane::A | Pane::Flicker { shows_b: false } => Blend::A,
        Pane::B | Pane::Flicker { shows_b: true } => Blend::B,
        Pane::Difference => Blend::Difference,
        Pane::Gamma => Blend::Gamma,
        Pane::Swipe => Blend::Swipe {
            x: compare.swipe * plane.rect.width() * ppp,
        },
        Pane::Checkerboard => Blend::Checkerboard { side: SQUARE * ppp },
        Pane::Spyglass => {
            let centre = (spyglass(plane, compare, response) - plane.rect.min) * ppp;
            Blend::Spyglass {
                x: centre.x,
                y: centre.y,
                radius: SPYGLASS * ppp,
            }
        }
    };
    let reference_gy = compare.reference.map(|(gy, _)| gy);
    let levels = slice::isodoses(&compare.display, reference_gy, ppp);
    let d = &compare.difference;
    let look = CompareLook {
        ct: scene.ct.as_ref(),
        window_hu: [
            scene.window.level_hu - 0.5 * scene.window.width_hu,
            scene.window.level_hu + 0.5 * scene.window.width_hu,
        ],
        style: slice::style_of(&compare.display, reference_gy, &levels),
        a: compare.a.as_ref().map(|d| &d.gy),
        b: compare.b.as_ref().map(|d| &d.gy),
        gamma: compare.gamma.as_ref(),
        blend,
        isolines: compare.isolines,
        difference: DifferenceLook {
            unit: d.unit as u32,
            dead_band: d.dead_band as f32,
            end: d.end as f32,
            reference_gy: reference_gy.unwrap_or(f64::INFINITY) as f32,
            local_from_gy: reference_gy.map_or(f32::INFINITY, |gy| (LOCAL_FROM * gy) as f32),
            opacity: d.opacity as f32,
            colours: DIVERGING.map(display_rgb_of),
        },
        gamma_look: GammaLook {
            end: compare.gamma_end as f32,
            signed: compare.gamma_sign.is_some(),
            opacity: GAMMA_OPACITY,
            colours: GAMMA_COLOURS.map(display_rgb_of),
            failing: display_rgb_of(FAILING),
        },
        background: display_rgb(theme::IMAGE.ground),
    };
    if let Some(callback) = scene
        .gpu
        .compare_callback(plane.rect, &plane.frame(ppp), &look)
    {
        painter.add(callback);
    }
}

fn display_rgb_of(colour: Rgb) -> [f32; 3] {
    display_rgb(theme::colour(colour))
}

/// All text on a pane.
fn writing(
    painter: &Painter,
    plane: &ViewPlane,
    state: &ViewState,
    compare: &CompareScene,
    pane: Pane,
    response: &Response,
) {
    let rect = plane.rect;
    overlay::crosshair(painter, plane, compare.scene.crosshair_mm);
    let taken = match pane {
        Pane::Difference => Some(difference_bar(painter, rect, &compare.difference)),
        Pane::Gamma => Some(gamma_bar(
            painter,
            rect,
            compare.gamma_end,
            compare.gamma_sign,
        )),
        // B has the same legend as A.
        Pane::B => None,
        _ => overlay::legend_of(painter, rect, &compare.display, compare.reference),
    };
    if pane == Pane::Checkerboard {
        squares(painter, rect, taken);
    }
    overlay::letters(painter, rect, plane.right, plane.down, taken, 0.0);
    overlay::scale_bar(painter, rect, plane.mm_per_point);
    // Scale or legend stand at the right of the title.
    let right = taken.map_or(rect.right(), |taken| taken.left()) - MARGIN;
    title(painter, plane, right, state, compare, pane);
    let line = Stroke::new(1.5, theme::IMAGE.text);
    match pane {
        Pane::Swipe => {
            let x = painter.round_to_pixel_center(rect.left() + compare.swipe * rect.width());
            painter.vline(x, rect.y_range(), line);
            let y = rect.bottom() - 46.0;
            text(
                painter,
                pos2(x - 10.0, y),
                Anchor::Right,
                "A",
                20.0,
                theme::IMAGE.text,
            );
            text(
                painter,
                pos2(x + 10.0, y),
                Anchor::Left,
                "B",
                20.0,
                theme::IMAGE.text,
            );
        }
        Pane::Spyglass => {
            let centre = spyglass(plane, compare, response);
            painter.circle_stroke(centre, SPYGLASS, line);
            text(
                painter,
                centre + vec2(0.0, 13.0 - SPYGLASS),
                Anchor::Middle,
                "B",
                16.0,
                theme::IMAGE.text,
            );
            text(
                painter,
                centre - vec2(0.0, 13.0 + SPYGLASS),
                Anchor::Middle,
                "A",
                16.0,
                theme::IMAGE.text,
            );
        }
        _ => {}
    }
    reference(painter, rect, compare, pane);
}

/// Letters of the squares; omitted under the title and the `taken` rectangle.
fn squares(painter: &Painter, rect: Rect, taken: Option<Rect>) {
    let columns = (rect.width() / SQUARE).ceil() as i32;
    let rows = (rect.height() / SQUARE).ceil() as i32;
    for (i, j) in (0..rows).flat_map(|j| (0..columns).map(move |i| (i, j))) {
        let corner = rect.min + SQUARE * vec2(i as f32, j as f32);
        let titled = i < 6 && j < 1;
        if titled || taken.is_some_and(|t| t.expand(6.0).contains(corner + vec2(4.0, 9.0))) {
            continue;
        }
        let letter = if (i + j) % 2 == 1 { "B" } else { "A" };
        text(
            painter,
            corner + vec2(4.0, 9.0),
            Anchor::Left,
            letter,
            SMALL,
            theme::IMAGE.weak,
        );
    }
}

/// The title of the pane and, line by line, the status of its doses.
fn title(
    painter: &Painter,
    plane: &ViewPlane,
    right: f32,
    state: &ViewState,
    compare: &CompareScene,
    pane: Pane,
) {
    let rect = plane.rect;
    let has = pane.has();
    let word = match pane {
        Pane::A | Pane::Flicker { shows_b: false } => "A",
        Pane::B | Pane::Flicker { shows_b: true } => "B",
        Pane::Difference => "B - A",
        Pane::Gamma => "Gamma",
        Pane::Swipe => "A | B",
        Pane::Checkerboard => "A / B",
        Pane::Spyglass => "B in A",
    };
    let doses = [("A", &compare.a, has[0]), ("B", &compare.b, has[1])];
    let lines: Vec<_> = doses.into_iter().filter(|(.., has)| *has).collect();
    let title_pos = rect.left_top() + vec2(MARGIN, 15.0);
    let name = text(
        painter,
        title_pos,
        Anchor::Left,
        word,
        17.0,
        theme::IMAGE.text,
    );
    let place = format!(
        "{}  {}",
        state.kind.name(),
        overlay::place_of(state.kind, &compare.scene)
    );
    // The orientation letter stands at the centre of the upper rim.
    let narrow = rect.width() < NARROW;
    let place_pos = if narrow {
        pos2(title_pos.x, title_pos.y + 18.0)
    } else {
        pos2(name.max.x + 10.0, title_pos.y)
    };
    text_until(painter, place_pos, right, &place, SMALL, theme::IMAGE.text);
    let mut y = title_pos.y + if narrow { 34.0 } else { 19.0 };
    for (side, dose, _) in &lines {
        let start = pos2(title_pos.x, y);
        match dose {
            Some(dose) => {
                let colour = theme::IMAGE.status(dose.status);
                // The status goes first, as the label may be truncated.
                let status = format!("{side}: {}", dose.status_text());
                let shown = text_until(painter, start, right, &status, SMALL, colour);
                let label = format!(", {}", dose.label);
                text_until(
                    painter,
                    pos2(shown.right(), y),
                    right,
                    &label,
                    SMALL,
                    colour,
                );
            }
            None => {
                let text = format!("{side}: no dose");
                text_until(painter, start, right, &text, SMALL, theme::IMAGE.warning);
            }
        }
        y += 15.0;
    }
    if let (Pane::Gamma, Some(note)) = (pane, &compare.gamma_note) {
        let start = pos2(title_pos.x, y);
        // Here it may be truncated: the full note stands beside the pass rate.
        text_until(painter, start, right, note, SMALL, theme::IMAGE.warning);
    }
}

/// The definition of 100 %, at the lower right.
fn reference(painter: &Painter, rect: Rect, compare: &CompareScene, pane: Pane) {
    let what = match (pane, compare.reference) {
        (Pane::Gamma, _) => return,
        (Pane::Difference, _) if compare.difference.unit == DifferenceUnit::Gy => return,
        (_, Some((gy, name))) => overlay::reference_words(gy, name, rect),
        (_, None) => "no reference dose: no percent".to_owned(),
    };
    let low = rect.right_bottom() - vec2(MARGIN, if rect.width() < NARROW { 30.0 } else { 12.0 });
    text(painter, low, Anchor::Right, &what, SMALL, theme::IMAGE.text);
}

const BAR: egui::Vec2 = vec2(14.0, 150.0);

/// The scale of B - A with its marks, symmetric about 0.
fn difference_bar(painter: &Painter, rect: Rect, display: &DifferenceDisplay) -> Rect {
    let end = display.end;
    let dead = display.dead_band;
    let symbol = display.unit.symbol();
    let marks = display.marks().map(|v| (v, signed(v)));
    let heading = format!("B - A ({symbol})");
    let local = (display.unit == DifferenceUnit::LocalPercent).then_some("of A there");
    let scale = Scale {
        ends: [-end, end],
        marks: &marks,
        headings: [Some(&heading), local],
        captions: ["B higher", "B lower"],
    };
    bar(painter, rect, scale, |v| {
        (v.abs() > dead).then(|| difference_colour(v / end))
    })
}

fn gamma_bar(painter: &Painter, rect: Rect, end: f64, sign: Option<&str>) -> Rect {
    if let Some(evaluated) = sign {
        let marks = [end, 1.0, 0.0, -1.0, -end].map(|v| (v, signed(v)));
        let [higher, lower] = ["higher", "lower"].map(|word| format!("{evaluated} {word}"));
        let scale = Scale {
            ends: [-end, end],
            marks: &marks,
            headings: [Some("Gamma, signed"), None],
            captions: [&higher, &lower],
        };
        return bar(painter, rect, scale, |v| Some(signed_gamma_colour(v, end)));
    }
    let marks = [
        (end, format!("{end}")),
        (1.0, "1".to_owned()),
        (0.0, "0".to_owned()),
    ];
    let scale = Scale {
        ends: [0.0, end],
        marks: &marks,
        headings: [Some("Gamma"), None],
        captions: ["fails", "passes"],
    };
    bar(painter, rect, scale, |v| Some(gamma_colour(v, end)))
}

/// A number with its sign, so that the ends of a legend are unambiguous.
fn signed(v: f64) -> String {
    let digits = if v.fract() == 0.0 { 0 } else { 2 };
    let text = format!("{:.digits$}", v.abs());
    let text = if digits > 0 {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    match v {
        v if v > 0.0 => format!("+{text}"),
        v if v < 0.0 => format!("-{text}"),
        _ => "0".to_owned(),
    }
}

/// Values and text of a colour bar.
struct Scale<'a> {
    /// Values at the lower and at the upper end.
    ends: [f64; 2],
    marks: &'a [(f64, String)],
    headings: [Option<&'a str>; 2],
    /// Text above and below the colours.
    captions: [&'a str; 2],
}

/// A line of text beside a colour scale, at the height of its middle.
fn scale_text(painter: &Painter, left_middle: Pos2, text: &str, colour: Color32) {
    let font = FontId::proportional(SMALL);
    painter.text(left_middle, Align2::LEFT_CENTER, text, font, colour);
}

/// An upright colour bar under the upper right corner. Returns the covered rectangle.
fn bar(
    painter: &Painter,
    rect: Rect,
    scale: Scale<'_>,
    colour: impl Fn(f64) -> Option<Rgb>,
) -> Rect {
    let Scale {
        ends: [low, high],
        marks,
        headings,
        captions: [upper, lower],
    } = scale;
    let height = BAR.y.min(rect.height() - 150.0).max(40.0);
    let heads = headings.iter().flatten().count() as f32;
    let size = vec2(88.0, height + 15.0 * heads + 44.0);
    let ground = Rect::from_min_size(
        pos2(rect.max.x - MARGIN - size.x + 4.0, rect.min.y + 8.0),
        size,
    );
    painter.rect_filled(ground, 3.0, Color32::from_black_alpha(175));
    let left = ground.min.x + 6.0;
    let mut y = ground.min.y + 10.0;
    for heading in headings.into_iter().flatten() {
        scale_text(painter, pos2(left, y), heading, theme::IMAGE.text);
        y += 15.0;
    }
    scale_text(painter, pos2(left, y), upper, theme::IMAGE.weak);
    let top = y + 12.0;
    let steps = height.round() as usize;
    for n in 0..steps {
        let v = high + (low - high) * (n as f64 + 0.5) / steps as f64;
        let row = Rect::from_min_size(pos2(ground.min.x + 6.0, top + n as f32), vec2(BAR.x, 1.0));
        painter.rect_filled(
            row,
            0.0,
            colour(v).map_or(theme::IMAGE.ground, theme::colour),
        );
    }
    let outline = Rect::from_min_size(pos2(ground.min.x + 6.0, top), vec2(BAR.x, steps as f32));
    painter.rect_stroke(
        outline,
        0.0,
        Stroke::new(1.0, theme::IMAGE.line),
        egui::StrokeKind::Outside,
    );
    for (value, what) in marks {
        let y = top + ((high - value) / (high - low)) as f32 * height;
        let x = outline.max.x;
        painter.hline(x..=(x + 4.0), y, Stroke::new(1.0, theme::IMAGE.text));
        let font = FontId::proportional(SMALL);
        painter.text(
            pos2(x + 7.0, y),
            Align2::LEFT_CENTER,
            what,
            font,
            theme::IMAGE.text,
        );
    }
    scale_text(
        painter,
        pos2(left, top + height + 12.0),
        lower,
        theme::IMAGE.weak,
    );
    ground
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_legend_have_their_sign() {
        for (v, want) in [
            (5.0, "+5"),
            (-5.0, "-5"),
            (0.0, "0"),
            (-0.25, "-0.25"),
            (2.5, "+2.5"),
            (12.5, "+12.5"),
        ] {
            assert_eq!(signed(v), want);
        }
    }
}
