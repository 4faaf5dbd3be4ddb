//! How both doses and their difference are drawn.

use crate::command::{Command, Commands};
use crate::feature::compare::state::Compare;
use crate::kit::{number, section, theme};
use crate::render::Isolines;
use crate::state::State;
use crate::state::display::DoseReference;
use analysis::{DifferenceDisplay, DifferenceUnit};
use egui::{Button, ComboBox, RichText, Slider, Ui};

pub fn show(ui: &mut Ui, state: &State, next: &mut Compare, commands: &mut Commands) {
    doses(ui, state, next, commands);
    difference(ui, state, next);
}

fn doses(ui: &mut Ui, state: &State, next: &mut Compare, commands: &mut Commands) {
    section(ui, "Drawing");
    let mut display = state.dose_display.clone();
    ui.horizontal(|ui| {
        ui.weak("Isodoses");
        for (isolines, word, hint) in [
            (Isolines::Own, "own", "Each dose with its own lines"),
            (
                Isolines::Both,
                "A and B",
                "Lines of A solid, of B dashed, on every image",
            ),
            (Isolines::None, "none", "No lines"),
        ] {
            let button = Button::selectable(next.isolines == isolines, word);
            let response = ui.add(button).on_hover_text(hint);
            if response
                .accessible_name(format!("Isodoses {word}"))
                .clicked()
            {
                next.isolines = isolines;
                display.lines |= isolines != Isolines::None;
            }
        }
    });
    ui.horizontal(|ui| {
        ui.checkbox(&mut display.wash, "Colourwash");
        let mut percent = display.wash_opacity * 100.0;
        let slider = Slider::new(&mut percent, 5.0..=100.0)
            .suffix(" %")
            .fixed_decimals(0);
        ui.spacing_mut().slider_width = 70.0;
        ui.add_enabled(display.wash, slider)
            .accessible_name("Colourwash opacity");
        display.wash_opacity = percent / 100.0;
    });
    ui.horizontal_wrapped(|ui| {
        // One row of the narrowest panel.
        ui.spacing_mut().item_spacing.x = 5.0;
        ui.weak("100 %");
        let resolved = state.compare_reference();
        let combo = ComboBox::from_id_salt("compare 100")
            .selected_text(reference_name(display.reference))
            .width(104.0);
        let typed = DoseReference::Typed(resolved.map_or(60.0, |(gy, _)| gy));
        let response = combo.show_ui(ui, |ui| {
            for choice in [DoseReference::Prescription, DoseReference::Maximum, typed] {
                if ui
                    .selectable_label(
                        reference_name(choice) == reference_name(display.reference),
                        reference_name(choice),
                    )
                    .clicked()
                {
                    display.reference = choice;
                }
            }
        });
        response
            .response
            .accessible_name("100 percent of the comparison");
        if let DoseReference::Typed(gy) = &mut display.reference {
            number("Reference dose", gy, " Gy")
                .speed(0.1)
                .decimals(2)
                .range(0.01..=500.0)
                .show(ui);
        } else {
            match resolved {
                Some((gy, _)) => ui.label(format!("{gy:.2} Gy")),
                None => ui.colored_label(theme::palette(ui).warning, "not defined"),
            };
        }
    });
    if display != state.dose_display {
        commands.push(Command::DoseDisplay(display));
    }
}

fn reference_name(reference: DoseReference) -> &'static str {
    match reference {
        DoseReference::Prescription => "prescription",
        DoseReference::Maximum => "maximum of A",
        DoseReference::Typed(_) => "typed",
    }
}

fn difference(ui: &mut Ui, state: &State, next: &mut Compare) {
    section(ui, "Difference B - A");
    let reference_gy = state.compare_reference().map_or(10.0, |(gy, _)| gy);
    let d = &mut next.difference;
    ui.horizontal(|ui| {
        ui.weak("in");
        for unit in DifferenceUnit::ALL {
            let button = Button::selectable(d.unit == unit, unit.name());
            if ui
                .add(button)
                .accessible_name(format!("Difference in {}", unit.name()))
                .clicked()
            {
                *d = DifferenceDisplay {
                    opacity: d.opacity,
                    ..DifferenceDisplay::new(unit, reference_gy)
                };
            }
        }
    });
    let symbol = format!(" {}", d.unit.symbol());
    let speed = if d.unit == DifferenceUnit::Gy {
        0.02
    } else {
        0.1
    };
    ui.horizontal_wrapped(|ui| {
        ui.weak("nothing up to");
        let end = d.end;
        number("Dead band", &mut d.dead_band, &symbol)
            .speed(speed)
            .decimals(2)
            .range(0.0..=end)
            .show(ui);
        ui.weak("full at ±");
        let smallest_end = d.dead_band.max(0.01);
        number("Scale of the difference", &mut d.end, &symbol)
            .speed(speed)
            .decimals(2)
            .range(smallest_end..=1000.0)
            .show(ui);
    });
    if state.compare_reference().is_none() && d.unit != DifferenceUnit::Gy {
        let text = "no percent: there is no 100 %. Choose another reference, or Gy.";
        ui.label(
            RichText::new(text)
                .small()
                .color(theme::palette(ui).warning),
        );
    }
}
