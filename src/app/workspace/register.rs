//! Registration of radiographs: not there yet, and it says so.

/// Says what this workspace will hold.
pub fn show(ui: &mut egui::Ui) {
    super::plan::promise(
        ui,
        "Register",
        "Radiographs against digitally reconstructed ones from the CT:",
        &[
            "both laid over each other, from each imager's source",
            "the pose in six degrees of freedom, by hand",
            "the automatic search for it, with how sure it is",
        ],
    );
}
