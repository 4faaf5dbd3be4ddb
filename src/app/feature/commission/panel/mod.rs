//! A machine fitted to measured data or compared with them: what it is made from on the left, what came of it on the right.

mod curves;
mod outcome;

use crate::command::{Command, Commands};
use crate::feature::commission::state::{Chosen, MachineFit, MachineFitAction, TankFile};
use crate::kit::{progress, section, theme};
use crate::state::State;
use crate::state::files::{FileAction, file_name};
use crate::state::results::machine_label;
use crate::state::slot::Slot;
use egui::{Button, ComboBox, RichText, Ui};
use engine::dose::Quality;
use physics::Parameter;
use std::path::Path;

const SIZE: egui::Vec2 = egui::vec2(1060.0, 650.0);
const INPUTS_WIDTH: f32 = 290.0;

/// Shows the box when it is open.
pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let fit = &state.machine_fit;
    if !fit.is_open {
        return;
    }
    let (mut is_open, mut chosen) = (true, fit.chosen.clone());
    let size = SIZE.min(ctx.content_rect().size() - egui::vec2(40.0, 70.0));
    let mut then = Commands::default();
    let window = egui::Window::new("Machine")
        .open(&mut is_open)
        .default_size(size)
        .min_size([640.0, 360.0]);
    window.show(ctx, |ui| {
        let frame = egui::Frame::new();
        egui::Panel::left("machine inputs")
            .frame(frame)
            .resizable(false)
            .exact_size(INPUTS_WIDTH)
            .show(ui, |ui| {
                let bottom = egui::Panel::bottom("machine work")
                    .frame(frame)
                    .resizable(false);
                bottom.show(ui, |ui| work(ui, state, &mut then));
                egui::CentralPanel::default().frame(frame).show(ui, |ui| {
                    egui::ScrollArea::vertical()
                        .auto_shrink(false)
                        .show(ui, |ui| inputs(ui, state, &mut chosen, &mut then));
                });
            });
        let frame = egui::Frame::new().inner_margin(egui::Margin {
            left: 12,
            ..egui::Margin::ZERO
        });
        egui::CentralPanel::default()
            .frame(frame)
            .show(ui, |ui| outcome::show(ui, state, &mut then));
    });
    if chosen != fit.chosen {
        // What is chosen counts before the button that is pressed with it.
        commands.push(Command::MachineFit(MachineFitAction::Choose(Box::new(
            chosen,
        ))));
    }
    commands.extend(then.take());
    if !is_open {
        commands.push(Command::MachineFit(MachineFitAction::Open(false)));
    }
}

fn inputs(ui: &mut Ui, state: &State, chosen: &mut Chosen, commands: &mut Commands) {
    let note = "Adjusts a machine to depth doses, profiles and output factors of a water tank, or compares it with them. \
                Neither makes a machine fit for treating anyone.";
    ui.weak(RichText::new(note).small());
    section(ui, "Machine");
    ui.horizontal(|ui| {
        let combo = ComboBox::from_id_salt("fitted machine")
            .width(190.0)
            .truncate();
        let response = combo
            .selected_text(machine_label(&chosen.machine))
            .show_ui(ui, |ui| {
                for name in state.machine_names() {
                    let label = machine_label(&name).to_owned();
                    ui.selectable_value(&mut chosen.machine, name, label);
                }
            });
        response
            .response
            .accessible_name("Machine to start from")
            .on_hover_text(&chosen.machine);
        add_button(ui, "File…", "Machine file", TankFile::Machine, commands);
    });
    let files = &mut chosen.files;
    for (title, list, what, name) in [
        (
            "Depth doses",
            &mut files.pdd,
            TankFile::Pdd,
            "Add depth doses",
        ),
        (
            "Profiles",
            &mut files.profiles,
            TankFile::Profiles,
            "Add profiles",
        ),
    ] {
        section(ui, title);
        let mut gone = None;
        for (n, path) in list.iter().enumerate() {
            if file_row(ui, path) {
                gone = Some(n);
            }
        }
        if let Some(n) = gone {
            list.remove(n);
        }
        add_button(ui, "Add…", name, what, commands);
    }
    section(ui, "Output factors");
    if files
        .output_factors
        .as_ref()
        .is_some_and(|path| file_row(ui, path))
    {
        files.output_factors = None;
    }
    add_button(
        ui,
        "Choose…",
        "Choose output factors",
        TankFile::OutputFactors,
        commands,
    );
    section(ui, "How");
    ui.horizontal(|ui| {
        ui.weak("Compared at");
        let quality = &mut chosen.settings.last.quality;
        let combo = ComboBox::from_id_salt("fit quality")
            .selected_text(quality.word())
            .width(90.0);
        let response = combo.show_ui(ui, |ui| {
            for named in Quality::NAMED {
                ui.selectable_value(quality, named, named.word());
            }
        });
        response
            .response
            .accessible_name("Quality of the comparison");
        ui.weak("quality");
    });
    let kept = match chosen.fixed.len() {
        0 => "Fitted: all that the data determine".to_owned(),
        n => format!("Kept as they are: {n}"),
    };
    egui::CollapsingHeader::new(kept)
        .id_salt("kept parameters")
        .show(ui, |ui| {
            ui.weak(RichText::new("What is marked stays as in the machine above.").small());
            for parameter in Parameter::ALL {
                let mut kept = chosen.fixed.contains(&parameter);
                if ui.checkbox(&mut kept, parameter.word()).changed() {
                    chosen.fixed.retain(|p| *p != parameter);
                    if kept {
                        chosen.fixed.push(parameter);
                        chosen
                            .fixed
                            .sort_by_key(|p| Parameter::ALL.iter().position(|listed| listed == p));
                    }
                }
            }
        });
}

/// A file of the list; whether it is to go.
fn file_row(ui: &mut Ui, path: &Path) -> bool {
    let name = file_name(path);
    ui.horizontal(|ui| {
        let gone = ui
            .add(Button::new("×").small())
            .accessible_name(format!("Leave out {name}"));
        let label = egui::Label::new(name).truncate();
        ui.add(label).on_hover_text(path.display().to_string());
        gone.clicked()
    })
    .inner
}

fn add_button(ui: &mut Ui, text: &str, name: &str, what: TankFile, commands: &mut Commands) {
    let hint = match what {
        TankFile::Machine => "A machine file (.toml)",
        TankFile::OutputFactors => "A table with the fields and their factors (.csv)",
        TankFile::Pdd | TankFile::Profiles => {
            "A table (.csv), W2CAD (.asc), OmniPro RFA300 ASCII or PTW .mcc; one file may hold both kinds"
        }
    };
    if ui
        .add(Button::new(text).small())
        .accessible_name(name)
        .on_hover_text(hint)
        .clicked()
    {
        commands.push(Command::Pick(FileAction::OpenTank(what)));
    }
}

/// The buttons, or how far the work is.
fn work(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let MachineFit {
        running,
        failure,
        chosen,
        ..
    } = &state.machine_fit;
    ui.add_space(4.0);
    if let Some(why) = failure {
        ui.add(egui::Label::new(RichText::new(why).color(theme::palette(ui).error)).wrap());
    }
    let Some(running) = running else {
        ui.horizontal(|ui| {
            let has_files = !chosen.files.is_empty();
            let hint = "The engine computes the tank again and again: minutes for a few fields, and doses wait for it";
            for (fits, text, hint) in [
                (true, "Fit", hint),
                (false, "Only compare", "One dose for each field; the machine stays as it is"),
            ] {
                let button = ui.add_enabled(has_files, Button::new(text));
                let button = button.accessible_name(if fits { "Fit the machine" } else { text });
                if button.on_hover_text(hint).on_disabled_hover_text("Choose measured data first").clicked() {
                    commands.push(Command::MachineFit(MachineFitAction::Run { fits }));
                }
            }
        });
        return;
    };
    let done = state.jobs.done_of(Slot::MachineFit);
    let what = if running.fits { "Fitting" } else { "Comparing" };
    ui.horizontal(|ui| {
        if ui
            .button("Cancel")
            .accessible_name(format!("Cancel {what}"))
            .clicked()
        {
            commands.push(Command::Cancel(Slot::MachineFit));
        }
        let text = done.map_or(what.to_owned(), |done| {
            format!("{what}: {:.0} %", 100.0 * done)
        });
        progress(ui, done, egui::vec2(ui.available_width(), 20.0), &text);
    });
    ui.add(egui::Label::new(RichText::new(&running.stage).small().weak()).truncate());
}
