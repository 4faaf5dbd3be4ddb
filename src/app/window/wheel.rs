//! Wheels that report each notch twice: winit tells of a wheel's buttons when they are pressed and when they are let go. On X servers
//! whose pointers have axes for scrolling it passes the buttons over; those without (Xvfb, VNC and other remote desktops) have no others.

use egui::{Event, MouseWheelUnit, RawInput};

/// Events that winit makes of a notch of the wheel on this display.
pub fn events_per_notch() -> f32 {
    #[cfg(target_os = "linux")]
    if x11::is_without_scroll_axes() {
        return 2.0;
    }
    1.0
}

/// Gives each event its share of a notch.
pub fn share_notches(input: &mut RawInput, events_per_notch: f32) {
    for event in &mut input.events {
        if let Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            delta,
            ..
        } = event
        {
            *delta /= events_per_notch;
        }
    }
}

#[cfg(target_os = "linux")]
mod x11 {
    use std::error::Error;
    use x11rb::protocol::xinput::{ConnectionExt as _, Device, DeviceClassData};

    /// Whether the window is one of an X server none of whose pointers has an axis for scrolling; `false` where that cannot be asked.
    pub fn is_without_scroll_axes() -> bool {
        let is_wayland = ["WAYLAND_DISPLAY", "WAYLAND_SOCKET"]
            .into_iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        !is_wayland && has_scroll_axes().is_ok_and(|has| !has)
    }

    fn has_scroll_axes() -> Result<bool, Box<dyn Error>> {
        let (connection, _) = x11rb::connect(None)?;
        connection.xinput_xi_query_version(2, 2)?.reply()?;
        let devices = connection
            .xinput_xi_query_device(Device::ALL)?
            .reply()?
            .infos;
        let classes = devices.iter().flat_map(|device| &device.classes);
        Ok({ classes }.any(|class| matches!(class.data, DeviceClassData::Scroll(_))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Modifiers, TouchPhase, vec2};

    fn turned(unit: MouseWheelUnit, delta: f32) -> Event {
        Event::MouseWheel {
            unit,
            delta: vec2(0.0, delta),
            phase: TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
            modifiers: Modifiers::NONE,
        }
    }

    #[test]
    fn two_events_of_a_wheel_are_one_notch_and_a_touchpad_stays() {
        let mut input = RawInput {
            events: Vec::new(),
            ..RawInput::default()
        };
        input.events.push(turned(MouseWheelUnit::Line, -1.0));
        input.events.push(turned(MouseWheelUnit::Point, 24.0));
        share_notches(&mut input, 2.0);
        assert_eq!(
            input.events,
            [
                turned(MouseWheelUnit::Line, -0.5),
                turned(MouseWheelUnit::Point, 24.0)
            ]
        );
    }
}
