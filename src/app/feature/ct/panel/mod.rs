//! A series: its description and its remarks.

pub mod beyond;
pub mod hu;

use crate::command::Commands;
use crate::kit::{field, fields, remarks, section, title};
use crate::state::State;
use egui::Ui;

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let case = state.case();
    let Some(ct) = &case.ct else {
        ui.weak("No CT is loaded.");
        return;
    };
    let grid = ct.hu.grid();
    title(
        ui,
        "CT",
        if ct.description.is_empty() {
            "CT series"
        } else {
            &ct.description
        },
    );
    fields(ui, "series", |ui| {
        let [nx, ny, nz] = grid.size();
        let [dx, dy] = grid.spacing_xy_mm();
        let planes = match grid.even_plane_spacing_mm() {
            Some(mm) => format!("every {mm:.3} mm"),
            None => {
                let steps = grid.planes_mm().windows(2).map(|w| w[1] - w[0]);
                let (thinnest, thickest) =
                    steps.fold((f64::MAX, 0.0_f64), |(a, b), s| (a.min(s), b.max(s)));
                format!("uneven, {thinnest:.3} to {thickest:.3} mm")
            }
        };
        for (caption, text) in [
            ("Source", case.source.clone()),
            ("Voxels", format!("{nx} × {ny} × {nz}")),
            ("Pixel", format!("{dx:.4} × {dy:.4} mm")),
            ("Planes", planes),
            ("Position", ct.position.to_string()),
            ("Frame of ref.", uid_or_none(&ct.frame_of_reference_uid)),
            ("Series UID", uid_or_none(&ct.series_uid)),
        ] {
            field(ui, caption, |ui| ui.add(egui::Label::new(text).wrap()));
        }
    });
    section(ui, "About this series");
    if ct.remarks.is_empty() {
        ui.weak("Nothing unusual.");
    } else {
        remarks(ui, "ct", &ct.remarks);
    }
    if !case.structures.remarks.is_empty() {
        section(ui, "About the structures");
        remarks(ui, "structures", &case.structures.remarks);
    }
    hu::show(ui, state, commands);
}

fn uid_or_none(uid: &str) -> String {
    if uid.is_empty() {
        "none in the files".to_owned()
    } else {
        uid.to_owned()
    }
}
