//! Golden pictures of every workspace, in small and large windows and on displays of high density.
//!
//! Compared is the layout: pictures are shrunk to the width of [`WIDTH`], so that neither text nor images of another
//! driver's rounding matter. The whole pictures lie in the folder of the tests' files, to be looked at.

use crate::harness::{folder, until, window_at};
use beamsight::app::state::Workspace;
use beamsight::app::{App, Options, RegisterOptions};
use eframe::egui::vec2;
use egui_kittest::{SnapshotOptions, SnapshotResults, try_image_snapshot_options};

/// Width and height in points.
const SIZES: [[f32; 2]; 3] = [[1280.0, 720.0], [1600.0, 1000.0], [2560.0, 1440.0]];
/// Pixels a point.
const SCALES: [f32; 2] = [1.0, 2.0];
/// Width of a golden picture, pixels.
const WIDTH: u32 = 320;

fn look(name: &str, options: &Options, ready: fn(&App) -> bool) {
    let mut results = SnapshotResults::new();
    for scale in SCALES {
        let mut w = window_at(options.clone(), scale);
        until(&mut w, "case", |app| app.state.is_loaded());
        until(&mut w, "results", ready);
        for [width, height] in SIZES {
            w.set_size(vec2(width, height));
            w.run_steps(4);
            until(&mut w, "results", ready);
            let picture = w.render().expect("a picture");
            assert_eq!([picture.width(), picture.height()], [width, height].map(|v| (v * scale) as u32));
            let name = format!("{name}_{width}x{height}_{scale}");
            picture.save(folder("sizes").join(format!("{name}.png"))).expect("saved");
            let low = picture.height() * WIDTH / picture.width();
            let small = image::imageops::thumbnail(&picture, WIDTH, low);
            let options = SnapshotOptions::new().threshold(2.0).max_failed_pixels(400_usize);
            results.add(try_image_snapshot_options(&small, name, &options));
        }
    }
}

fn thorax(workspace: Workspace) -> Options {
    Options { case: Some("demo:thorax".to_owned()), grid_mm: Some(6.0), workspace, ..Options::default() }
}

#[test]
fn the_plan_workspace_fits_every_display() {
    look("plan", &thorax(Workspace::Plan), App::is_settled);
}

#[test]
fn the_compare_workspace_fits_every_display() {
    look("compare", &thorax(Workspace::Compare), App::is_settled);
}

#[test]
fn the_register_workspace_fits_every_display() {
    let register = Some(RegisterOptions { made_up: true, ..RegisterOptions::default() });
    let options = Options { register, ..thorax(Workspace::Register) };
    look("register", &options, |app| app.is_settled() && app.state.register.images().len() == 2);
}
