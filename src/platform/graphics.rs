//! Graphics interfaces of the system, and what to install where none draws.

/// Lists of interfaces, as `WGPU_BACKEND` takes them, tried one after another until one draws. OpenGL, which draws a little
/// differently, is the last resort.
#[cfg(windows)]
pub const GRAPHICS_INTERFACES: &[&str] = &["dx12", "vulkan", "gl"];
#[cfg(target_os = "macos")]
pub const GRAPHICS_INTERFACES: &[&str] = &["metal"];
#[cfg(not(any(windows, target_os = "macos")))]
pub const GRAPHICS_INTERFACES: &[&str] = &["vulkan", "vulkan,gl"];

/// Whether an interface has to draw a picture before it is taken: on Windows a driver may open and fail at its first program, and the
/// next interface has another driver. Elsewhere the picture would only cost time.
pub const DRIVERS_ARE_PROVED: bool = cfg!(windows);

/// Remedy for a system without a graphics driver that draws.
#[cfg(windows)]
pub const DRIVER_REMEDY: &str = "Install the driver of the graphics card (Windows Update, or its maker's page); \
                                 WGPU_BACKEND=dx12, vulkan or gl has one interface tried alone";
#[cfg(target_os = "macos")]
pub const DRIVER_REMEDY: &str =
    "Metal is a part of macOS; a virtual machine must pass a graphics device on";
#[cfg(not(any(windows, target_os = "macos")))]
pub const DRIVER_REMEDY: &str =
    "On Debian or Ubuntu a software one comes with: apt-get install libvulkan1 mesa-vulkan-drivers";

/// Remedy for libraries that the window loads at run time: Debian 12's packages of them, elsewhere parts of the system.
#[cfg(any(windows, target_os = "macos"))]
pub const LIBRARIES_REMEDY: &str = "They are parts of the system: repair or update it";
#[cfg(not(any(windows, target_os = "macos")))]
pub const LIBRARIES_REMEDY: &str = "On Debian or Ubuntu: apt-get install libvulkan1 mesa-vulkan-drivers libxcursor1 libxi6 libxkbcommon-x11-0";
