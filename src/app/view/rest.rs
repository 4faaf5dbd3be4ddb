//! Coarse casts during motion, fine casts at rest.

use crate::render::{Fineness, Gpu};
use egui::{Response, Ui};
use std::time::Duration;

/// Seconds without motion after which pictures are cast finely.
const REST_S: f64 = 0.2;

/// Fineness of a cast that depends on `key`: a change of the key counts as motion. On a device that renders on a processor a held
/// pointer does, too: a finer cast takes the processor from the dose of the drag for half a second.
pub(crate) fn fineness<K>(ui: &Ui, response: &Response, key: K, gpu: &Gpu) -> Fineness
where
    K: Clone + PartialEq + Send + Sync + 'static,
{
    let id = response.id.with("moved");
    let time = ui.input(|i| i.time);
    let last: Option<(K, f64)> = ui.data(|d| d.get_temp(id));
    let is_held = gpu.is_software() && ui.input(|i| i.pointer.any_down());
    let since = match last {
        Some((known, since)) if known == key && !is_held => since,
        _ => {
            ui.data_mut(|d| d.insert_temp(id, (key, time)));
            time
        }
    };
    let rested = time - since >= REST_S;
    if !rested {
        let wait = Duration::from_secs_f64((REST_S - (time - since)).max(0.01));
        ui.ctx().request_repaint_after(wait);
    }
    match (rested, gpu.is_software()) {
        (false, true) => Fineness::Coarse,
        (false, false) | (true, true) => Fineness::Medium,
        (true, false) => Fineness::Fine,
    }
}
