//! Two plans side by side: not there yet, and it says so.

/// Says what this workspace will hold.
pub fn show(ui: &mut egui::Ui) {
    super::plan::promise(
        ui,
        "Compare",
        "Two doses, A and B, side by side on the same planes:",
        &[
            "their difference, B - A, with A's dose under the pointer",
            "gamma with its criterion and pass rate",
            "DVHs of both, A solid and B dashed",
            "the clinical goals that each of them meets",
        ],
    );
}
