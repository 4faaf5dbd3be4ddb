//! Kernels: WGSL that the program embeds, built into pipelines at their first use.

use super::error::WgpuError;
use super::faults::Faults;
use std::collections::HashMap;

/// An entry of a file of `kernels/*.wgsl`.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the kernel among all, and of its entry point.
    pub name: &'static str,
    /// Files that make up its module, in order.
    pub sources: &'static [&'static str],
}

/// Pipelines built so far, by name.
#[derive(Default)]
pub(super) struct Pipelines(HashMap<&'static str, wgpu::ComputePipeline>);

impl Pipelines {
    /// The pipeline of a kernel.
    ///
    /// # Errors
    /// A kernel that the device refuses.
    #[expect(
        unsafe_code,
        reason = "a module of which wgpu does not count the rounds of loops"
    )]
    pub fn get(
        &mut self,
        kernel: &Kernel,
        device: &wgpu::Device,
        faults: &Faults,
        device_name: &str,
    ) -> Result<wgpu::ComputePipeline, WgpuError> {
        if let Some(pipeline) = self.0.get(kernel.name) {
            return Ok(pipeline.clone());
        }
        let source = wgpu::ShaderModuleDescriptor {
            label: Some(kernel.name),
            source: wgpu::ShaderSource::Wgsl(kernel.sources.concat().into()),
        };
        // Kernels without checks of bounds are no faster.
        let mut checks = wgpu::ShaderRuntimeChecks::checked();
        checks.force_loop_bounding = false;
        // Compilers may take it that loops end. The loops of the embedded kernels do: they go over counts, or over lines and cells in
        // order. Counting their rounds would take a tenth of a dose.
        let module = unsafe { device.create_shader_module_trusted(source, checks) };
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(kernel.name),
            layout: None,
            module: &module,
            entry_point: Some(kernel.name),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: None,
        });
        match faults.take(
            device_name,
            &format!("building the kernel {}", kernel.name),
            0,
        ) {
            Some(error) => Err(error),
            None => Ok(self.0.entry(kernel.name).or_insert(pipeline).clone()),
        }
    }
}

/// A constant of a kernel's source.
#[cfg(test)]
pub(crate) fn constant(kernel: &Kernel, name: &str) -> f64 {
    let source = kernel.sources.concat();
    let line = source
        .lines()
        .find(|line| line.starts_with(&format!("const {name}:")))
        .expect(name);
    let value = line
        .split('=')
        .nth(1)
        .and_then(|value| value.split(';').next())
        .expect(name);
    value.trim().parse().expect(name)
}
