//! Registration of radiographs: not there yet, and it says so.

/// Says what this workspace will hold.
pub fn show(ui: &mut egui::Ui) {
    super::plan::promise(
        ui,
        "Register",
        "Radiographs against digitally reconstructed ones from the CT: overlay, the pose in six degrees of freedom, and \
         the automatic search for it. Not in this version.",
    );
}
