//! The pointer that drags, and the numbers it drags.

use egui::{Pos2, Response, Ui, emath};
use std::ops::RangeInclusive;

/// The pointer of a drag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pointer {
    pub at: Pos2,
    /// With shift a drag goes in other steps.
    pub shift: bool,
}

impl Pointer {
    /// The pointer that drags a widget; `None` where none does.
    pub fn dragging(response: &Response) -> Option<Self> {
        let position = response
            .interact_pointer_pos()
            .filter(|_| response.dragged())?;
        Some(Self {
            at: position,
            shift: response.ctx.input(|i| i.modifiers.shift),
        })
    }
}

/// How a number changes.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberScale {
    /// Change per point dragged and per arrow key.
    pub speed: f64,
    pub decimals: usize,
    pub range: RangeInclusive<f64>,
}

/// A number while it is dragged: to the right and up it rises.
#[derive(Clone, Debug, PartialEq)]
pub struct DraggedNumber {
    /// The number before rounding.
    exact: f64,
    /// The pointer then.
    at: Pos2,
    /// How far the pointer may be off, points.
    aim: f64,
    scale: NumberScale,
}

impl DraggedNumber {
    /// The number before rounding when the pointer is elsewhere.
    fn exact(&self, pointer: Pointer) -> f64 {
        let way = pointer.at - self.at;
        self.exact + f64::from(way.x - way.y) * self.speed(pointer)
    }

    /// A tenth of the speed with shift.
    fn speed(&self, pointer: Pointer) -> f64 {
        if pointer.shift {
            self.scale.speed / 10.0
        } else {
            self.scale.speed
        }
    }

    /// The number when the pointer is elsewhere: the roundest that the pointer can aim at, within its range.
    pub fn value(&self, pointer: Pointer) -> f64 {
        let (exact, aim) = (self.exact(pointer), self.aim * self.speed(pointer));
        let roundest = emath::smart_aim::best_in_range_f64(exact - aim, exact + aim);
        let NumberScale {
            decimals, range, ..
        } = &self.scale;
        let rounded = emath::round_to_decimals(roundest, *decimals);
        // The ends of a range may stand in either order, and `clamp` would panic on ends that are no numbers.
        rounded
            .max(range.start().min(*range.end()))
            .min(range.end().max(*range.start()))
    }
}

/// Drags a number field, whose `value` changes; its response says so.
pub(super) fn drag(ui: &Ui, response: &mut Response, value: &mut f64, scale: NumberScale) {
    let id = response.id.with("dragged");
    let Some(pointer) = Pointer::dragging(response) else {
        ui.data_mut(|data| data.remove::<DraggedNumber>(id));
        return;
    };
    let held = ui.data(|data| data.get_temp::<DraggedNumber>(id));
    let mut held = held.unwrap_or_else(|| DraggedNumber {
        exact: *value,
        at: pointer.at - response.drag_delta(),
        aim: ui.input(|i| f64::from(i.aim_radius())),
        scale,
    });
    let moved = pointer.at != held.at;
    let (dragged, exact) = (held.value(pointer), held.exact(pointer));
    (held.exact, held.at) = (exact, pointer.at);
    ui.data_mut(|data| data.insert_temp(id, held));
    if moved && dragged != *value {
        *value = dragged;
        response.mark_changed();
    }
}

/// The number of a field that is dragged, as of this frame.
pub fn dragged_number(response: &Response) -> Option<DraggedNumber> {
    let id = response.id.with("dragged");
    response
        .ctx
        .data(|data| data.get_temp(id))
        .filter(|_| response.dragged())
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn a_number_rises_to_the_right_and_up_in_round_steps_within_its_range() {
        let scale = NumberScale {
            speed: 0.5,
            decimals: 1,
            range: -20.0..=30.0,
        };
        let held = DraggedNumber {
            exact: 1.26,
            at: pos2(100.0, 50.0),
            aim: 1.0,
            scale,
        };
        for ([x, y], shift, value) in [
            // 11.26 and half a unit either way.
            ([120.0, 50.0], false, 11.0),
            ([100.0, 30.0], false, 11.0),
            // A tenth of the way with shift: 2.26 and a twentieth either way.
            ([120.0, 50.0], true, 2.3),
            ([1000.0, 50.0], false, 30.0),
            ([100.0, 1000.0], false, -20.0),
        ] {
            let pointer = Pointer {
                at: pos2(x, y),
                shift,
            };
            assert_eq!(held.value(pointer), value, "{pointer:?}");
        }
    }
}
