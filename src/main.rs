//! Chooses between the window and a verb of the command line.

fn main() -> std::process::ExitCode {
    keep_device_selection_from_wayland();
    beamsight::cli::run(std::env::args_os(), give_large_buffers_back)
}

/// Buffers of so many bytes are mapped by themselves, so that their pages go back to the system when they are freed: doses, masks
/// and CTs have more, and what a frame or a DVH allocates has less.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_FROM_BYTES: std::ffi::c_int = 1 << 20;

/// The heap of glibc raises that limit to 32 MiB once such a buffer is freed, and its trimming to twice that: each of eight heaps a
/// processor then holds the largest volumes that its threads ever had. A window or a listener would hold them for hours; a verb that
/// ends soon is quicker with them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "mallopt, before there is another thread")]
fn give_large_buffers_back() {
    // SAFETY: the process has one thread, and a parameter that is refused changes nothing.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM_BYTES) };
}

/// Heaps of other systems map large buffers by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_large_buffers_back() {}

/// Mesa's layer that puts the compositor's card first asks libwayland for a compositor, which complains on standard error where
/// no session has a runtime folder. The layer is left out there, unless the user has it choose a card.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "set_var, before there is another thread")]
fn keep_device_selection_from_wayland() {
    let has_session =
        std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| folder.as_encoded_bytes().starts_with(b"/"));
    if !has_session && std::env::var_os("MESA_VK_DEVICE_SELECT").is_none() {
        // SAFETY: the process has one thread, so that nothing reads the environment meanwhile.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// Drivers of other systems have no such layer.
#[cfg(not(target_os = "linux"))]
fn keep_device_selection_from_wayland() {}
