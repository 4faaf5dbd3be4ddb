//! Recent cases as cards: picture, patient, case and day.

use crate::command::{Command, Commands};
use crate::kit::{section, theme};
use crate::state::State;
use egui::{
    Button, Color32, ColorImage, FontId, Image, Rect, RichText, Role, Sense, Stroke, StrokeKind,
    TextureHandle, TextureOptions, Ui, UiBuilder, WidgetInfo, pos2, text::LayoutJob, vec2,
};
use files::{CasePicture, RecentCase};
use open::CaseWord;

const PADDING: f32 = 6.0;
/// Least width of the texts beside a picture.
const TEXT: f32 = 170.0;

pub(crate) fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Recent cases");
    if state.recent.is_empty() {
        ui.weak("None yet. Cases opened on this computer are listed here, for you alone.");
        return;
    }
    let [columns, rows] = CasePicture::SIZE.map(|n| n as f32);
    let least_width = columns + TEXT + 3.0 * PADDING;
    let gap = ui.spacing().item_spacing.x;
    let in_row = ((ui.available_width() + gap) / (least_width + gap))
        .floor()
        .max(1.0);
    let width = (ui.available_width() - (in_row - 1.0) * gap) / in_row;
    for cases in state.recent.chunks(in_row as usize) {
        ui.horizontal(|ui| {
            for case in cases {
                card(ui, case, vec2(width, rows + 2.0 * PADDING), commands);
            }
        });
    }
    ui.horizontal_wrapped(|ui| {
        let hint = "The list with its pictures is removed from this computer; the cases stay where they are";
        if ui.button(RichText::new("Forget all").small()).on_hover_text(hint).clicked() {
            commands.push(Command::ForgetRecent(None));
        }
        ui.weak(RichText::new("Kept on this computer, readable by you alone.").small());
    });
}

fn card(ui: &mut Ui, case: &RecentCase, size: egui::Vec2, commands: &mut Commands) {
    let word = case
        .word
        .parse()
        .unwrap_or_else(|_| CaseWord::of_path(case.word.clone().into()));
    let name = word.short();
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let spoken = [
        format!("Open {name}"),
        case.patient.clone(),
        case.opened.clone(),
    ]
    .join(", ");
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
    let palette = theme::palette(ui);
    let fill = if response.hovered() {
        palette.raised
    } else {
        palette.panel
    };
    let outline = if response.has_focus() {
        palette.accent
    } else {
        palette.outlines[0]
    };
    ui.painter().rect(
        rect,
        4.0,
        fill,
        Stroke::new(1.0, outline),
        StrokeKind::Inside,
    );

    let [columns, rows] = CasePicture::SIZE.map(|n| n as f32);
    let place = Rect::from_min_size(rect.min + vec2(PADDING, PADDING), vec2(columns, rows));
    match &case.picture {
        Some(picture) => Image::new(&texture(ui, picture)).paint_at(ui, place),
        None => {
            ui.painter().rect_filled(place, 2.0, theme::IMAGE.ground);
            let (middle, font) = (egui::Align2::CENTER_CENTER, FontId::proportional(11.0));
            ui.painter().text(
                place.center(),
                middle,
                "no picture yet",
                font,
                theme::IMAGE.weak,
            );
        }
    }
    let left = place.right() + 2.0 * PADDING;
    let wide = rect.right() - PADDING - left;
    let patient = if case.patient.is_empty() {
        "No name in the files"
    } else {
        &case.patient
    };
    let patient = theme::spelled(ui.ctx(), patient).into_owned();
    let opened = if case.opened.is_empty() {
        String::new()
    } else {
        format!("opened {}", case.opened)
    };
    let mut top = place.top();
    // A patient's name that is cut short may be taken for another's: it breaks into lines.
    let texts = [
        CardText {
            text: patient,
            points: 13.0,
            colour: palette.text,
            max_rows: 3,
        },
        CardText {
            text: name.clone(),
            points: 12.0,
            colour: palette.weak,
            max_rows: 1,
        },
        CardText {
            text: opened,
            points: 11.0,
            colour: palette.weak,
            max_rows: 1,
        },
    ];
    for text in texts {
        top += text.paint(ui, pos2(left, top), wide) + 2.0;
    }

    let forget = Rect::from_min_max(
        pos2(left, rect.bottom() - 26.0),
        rect.max - vec2(PADDING, PADDING),
    );
    // A child of the row: the button does not move the place where the row goes on after the card.
    let button = Button::new(RichText::new("Forget").small());
    let forget = ui.new_child(UiBuilder::new().max_rect(forget)).add(button);
    let hint = "Removes it from this list with its picture; the case stays where it is";
    let forget = forget
        .accessible_name(format!("Forget {name}"))
        .on_hover_text(hint);
    if forget.clicked() {
        commands.push(Command::ForgetRecent(Some(case.word.clone())));
    } else if response.on_hover_text(&case.word).clicked() {
        commands.push(Command::Open(case.word.clone()));
    }
}

/// A text of a card; the last row that it may have is elided.
struct CardText {
    text: String,
    points: f32,
    colour: Color32,
    max_rows: usize,
}

impl CardText {
    /// Paints the text from its upper left corner; returns its height, points.
    fn paint(self, ui: &Ui, corner: egui::Pos2, width: f32) -> f32 {
        let font = FontId::proportional(self.points);
        let mut job = LayoutJob::simple(self.text, font, self.colour, width);
        job.wrap.max_rows = self.max_rows;
        job.wrap.break_anywhere = self.max_rows == 1;
        let galley = ui.painter().layout_job(job);
        let height = galley.size().y;
        ui.painter().galley(corner, galley, self.colour);
        height
    }
}

/// The picture on the graphics device, made once.
fn texture(ui: &Ui, picture: &CasePicture) -> TextureHandle {
    let id = egui::Id::unique(("recent case", picture.rgb().as_ptr() as usize));
    let cached: Option<TextureHandle> = ui.data(|d| d.get_temp(id));
    cached.unwrap_or_else(|| {
        let image = ColorImage::from_rgb(CasePicture::SIZE, picture.rgb());
        let texture = ui
            .ctx()
            .load_texture("recent case", image, TextureOptions::LINEAR);
        ui.data_mut(|d| d.insert_temp(id, texture.clone()));
        texture
    })
}
