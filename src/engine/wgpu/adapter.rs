//! Graphics devices of this machine, found once and not opened.

use super::error::WgpuError;
use std::fmt;
use std::sync::OnceLock;

/// Backends with compute shaders on every driver; OpenGL has too few storage buffers to a kernel.
const BACKENDS: wgpu::Backends = wgpu::Backends::PRIMARY;

/// The backends that compute: where `WGPU_BACKEND` names any, no others.
fn chosen_backends() -> wgpu::Backends {
    match wgpu::Backends::from_env() {
        Some(chosen) if !chosen.is_empty() => BACKENDS & chosen,
        _ => BACKENDS,
    }
}

/// A graphics device as its driver names it.
#[derive(Clone, Debug)]
pub struct Adapter {
    pub ordinal: usize,
    pub name: String,
    /// A program on the CPU, like lavapipe: for tests, since the CPU's own engine is faster.
    pub is_software: bool,
    /// Its driver and version, as that tells them.
    pub driver: String,
    /// Preferred before devices of greater rank: cards, then what shares the processor's chip.
    rank: u8,
    backend: wgpu::Backend,
    pub(super) handle: wgpu::Adapter,
}

impl Adapter {
    /// Graphics interface of the adapter: Vulkan, Metal or DirectX 12.
    pub fn way(&self) -> &'static str {
        match self.backend {
            wgpu::Backend::Dx12 => "DirectX 12",
            wgpu::Backend::Metal => "Metal",
            _ => "Vulkan",
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wgpu:{} {} ({})", self.ordinal, self.name, self.way())
    }
}

static ADAPTERS: OnceLock<Vec<Adapter>> = OnceLock::new();

/// The graphics devices of this machine, the preferred first, software last.
///
/// # Errors
/// [`WgpuError::NoAdapter`].
pub fn adapters() -> Result<&'static [Adapter], WgpuError> {
    let known_adapters = ADAPTERS.get_or_init(|| {
        // A driver at fault may panic the binding: then there is none.
        std::panic::catch_unwind(find_adapters).unwrap_or_default()
    });
    if known_adapters.is_empty() {
        Err(WgpuError::NoAdapter)
    } else {
        Ok(known_adapters)
    }
}

/// The graphics devices found so far, for a list that cannot wait: the first call has them looked for.
pub fn listed() -> &'static [Adapter] {
    static LOOKED: OnceLock<()> = OnceLock::new();
    LOOKED.get_or_init(|| {
        // Drivers take up to seconds to answer. Where no thread is to be had, the list stays empty.
        let _ = std::thread::Builder::new()
            .name("adapters".to_owned())
            .spawn(|| adapters().is_ok());
    });
    ADAPTERS.get().map_or(&[], Vec::as_slice)
}

/// The adapter of a number, or the preferred one, which is never software.
///
/// # Errors
/// No adapter.
pub(super) fn adapter(ordinal: Option<usize>) -> Result<&'static Adapter, WgpuError> {
    let devices = adapters()?;
    match ordinal {
        Some(ordinal) => devices.get(ordinal).ok_or(WgpuError::NoSuchAdapter {
            asked: ordinal,
            count: devices.len(),
        }),
        None => devices
            .iter()
            .find(|adapter| !adapter.is_software)
            .ok_or_else(|| WgpuError::OnlySoftware {
                names: devices
                    .iter()
                    .map(Adapter::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
    }
}

fn find_adapters() -> Vec<Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    let backends = chosen_backends();
    descriptor.backends = backends;
    let instance = wgpu::Instance::new(descriptor);
    let mut adapters: Vec<Adapter> = pollster::block_on(instance.enumerate_adapters(backends))
        .into_iter()
        .filter(|handle| {
            let flags = handle.get_downlevel_capabilities().flags;
            flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
        })
        .map(|handle| {
            let info = handle.get_info();
            let rank = match info.device_type {
                wgpu::DeviceType::DiscreteGpu => 0,
                wgpu::DeviceType::IntegratedGpu => 1,
                wgpu::DeviceType::VirtualGpu | wgpu::DeviceType::Other => 2,
                wgpu::DeviceType::Cpu => 3,
            };
            let is_software = info.device_type == wgpu::DeviceType::Cpu;
            let driver = format!("{} {}", info.driver, info.driver_info);
            Adapter {
                ordinal: 0,
                name: info.name,
                is_software,
                driver,
                rank,
                backend: info.backend,
                handle,
            }
        })
        .collect();
    adapters.sort_by_key(|adapter| adapter.rank);
    adapters
        .iter_mut()
        .enumerate()
        .for_each(|(ordinal, adapter)| adapter.ordinal = ordinal);
    adapters
}
