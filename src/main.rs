//! Chooses between the window and a verb of the command line.

// A double click shows no console; what is started from one joins it.
#![cfg_attr(windows, windows_subsystem = "windows")]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use heap::give_back_at_rest;

fn main() -> std::process::ExitCode {
    keep_device_selection_from_wayland();
    if std::env::args_os().len() > 1 {
        platform::join_console();
    }
    beamsight::cli::run(std::env::args_os(), give_back_at_rest)
}

/// Heaps of other systems give large buffers back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back_at_rest() {}

/// Mesa's layer that puts the compositor's card first asks libwayland for a compositor, which complains on standard error where
/// no session has a runtime folder. The layer is left out there, unless the user has it choose a card.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "set_var, before there is another thread")]
fn keep_device_selection_from_wayland() {
    let has_session = std::env::var_os("XDG_RUNTIME_DIR")
        .is_some_and(|folder| folder.as_encoded_bytes().starts_with(b"/"));
    if !has_session && std::env::var_os("MESA_VK_DEVICE_SELECT").is_none() {
        // SAFETY: the process has one thread, so that nothing reads the environment meanwhile.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// Drivers of other systems have no such layer.
#[cfg(not(target_os = "linux"))]
fn keep_device_selection_from_wayland() {}
