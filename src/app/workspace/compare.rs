//! Two plans side by side: not there yet, and it says so.

/// Says what this workspace will hold.
pub fn show(ui: &mut egui::Ui) {
    super::plan::promise(
        ui,
        "Compare",
        "Two doses side by side on the same planes: their difference (B - A), gamma with its pass rate, DVHs of both \
         and the clinical goals each of them meets. Not in this version.",
    );
}
