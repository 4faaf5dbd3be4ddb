//! A window whose worker may fail to start: offscreen no other code reports that error.

use super::App;

/// The window, or why the system gave no thread for its worker.
pub struct Started(pub std::io::Result<App>);

impl eframe::App for Started {
    fn logic(&mut self, ctx: &egui::Context, frame: &mut eframe::Frame) {
        if let Ok(app) = &mut self.0 {
            app.logic(ctx, frame);
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        if let Ok(app) = &mut self.0 {
            app.ui(ui, frame);
        }
    }
}
