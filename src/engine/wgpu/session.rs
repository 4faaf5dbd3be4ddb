//! One job's hold on a graphics device: memory, dispatches in slabs, copies back.

use super::buffer::{Bound, Buffer};
use super::clock::Clock;
use super::device::{Device, State};
use super::error::WgpuError;
use super::kernel::Kernel;
use crate::JobControl;
use crate::job_control::Phases;
use bytemuck::{Pod, Zeroable};
use geometry::Volume;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// Longest wait for a slab: a device that takes longer hangs. Slabs are a thousandth of it.
const WAIT_LIMIT: Duration = Duration::from_secs(60);
/// Uses of every buffer of a job.
const USAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
    .union(wgpu::BufferUsages::UNIFORM)
    .union(wgpu::BufferUsages::COPY_SRC)
    .union(wgpu::BufferUsages::COPY_DST);

/// A job's hold on a device.
pub struct Session<'a> {
    device: &'a Device,
    state: MutexGuard<'a, State>,
    control: &'a JobControl,
    clock: Clock,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        device: &'a Device,
        state: MutexGuard<'a, State>,
        control: &'a JobControl,
    ) -> Self {
        let clock = Clock::new(&device.handle);
        Self {
            device,
            state,
            control,
            clock,
        }
    }

    /// Uninitialised memory for `count` values.
    ///
    /// # Errors
    /// More than the device takes, or has.
    pub fn alloc<T: Pod>(&self, what: &str, count: usize) -> Result<Buffer<T>, WgpuError> {
        // A binding is of four bytes or more.
        let bytes = (count.max(1) as u64)
            .saturating_mul(size_of::<T>() as u64)
            .div_ceil(4)
            .saturating_mul(4);
        self.fits(what, bytes)?;
        let pool = &self.device.pool;
        if let Some(raw) = pool.take(bytes) {
            return Ok(Buffer::new(raw, count, pool.clone()));
        }
        let label = Some(what);
        let descriptor = wgpu::BufferDescriptor {
            label,
            size: bytes,
            usage: USAGE,
            mapped_at_creation: false,
        };
        let mut raw = self.device.handle.create_buffer(&descriptor);
        if let Err(WgpuError::OutOfMemory { .. }) = self.check(what, bytes) {
            // What is kept for later is of no use to a job that cannot run.
            self.device.pool.empty();
            raw = self.device.handle.create_buffer(&descriptor);
            self.check(what, bytes)?;
        }
        Ok(Buffer::new(raw, count, pool.clone()))
    }

    /// Whether the device takes a buffer of `bytes` bytes.
    fn fits(&self, what: &str, bytes: u64) -> Result<(), WgpuError> {
        let limits = &self.device.limits;
        for (limit, unit) in [
            (
                limits.max_storage_buffer_binding_size,
                "for a kernel at a time",
            ),
            (limits.max_buffer_size, "in one piece"),
        ] {
            if bytes > limit {
                return Err(WgpuError::TooLarge {
                    device: self.name(),
                    what: what.to_owned(),
                    unit,
                    asked_mib: bytes.div_ceil(1 << 20),
                    most_mib: limit >> 20,
                });
            }
        }
        Ok(())
    }

    /// As [`Self::alloc`], all bytes zero.
    ///
    /// # Errors
    /// As [`Self::alloc`].
    pub fn zeroed<T: Zeroable + Pod>(
        &self,
        what: &str,
        count: usize,
    ) -> Result<Buffer<T>, WgpuError> {
        let buffer = self.alloc(what, count)?;
        let mut encoder = self.encoder();
        encoder.clear_buffer(&buffer.raw, 0, None);
        self.device.queue.submit([encoder.finish()]);
        self.check(what, buffer.bytes())?;
        Ok(buffer)
    }

    /// A copy of values on the device.
    ///
    /// # Errors
    /// As [`Self::alloc`].
    pub fn upload<T: Pod>(&self, what: &str, values: &[T]) -> Result<Buffer<T>, WgpuError> {
        let buffer = self.alloc(what, values.len())?;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let aligned_bytes = bytes.len() / 4 * 4;
        self.device
            .queue
            .write_buffer(&buffer.raw, 0, &bytes[..aligned_bytes]);
        if aligned_bytes < bytes.len() {
            let mut last = [0; 4];
            last[..bytes.len() - aligned_bytes].copy_from_slice(&bytes[aligned_bytes..]);
            self.device
                .queue
                .write_buffer(&buffer.raw, aligned_bytes as u64, &last);
        }
        self.check(what, buffer.bytes())?;
        Ok(buffer)
    }

    /// A volume on the device, kept by its identity.
    ///
    /// # Errors
    /// As [`Self::alloc`].
    pub fn uploaded(
        &mut self,
        what: &str,
        volume: &Volume<f32>,
    ) -> Result<Arc<Buffer<f32>>, WgpuError> {
        if let Some(cached) = self.state.volumes.find(volume.id()) {
            return Ok(cached);
        }
        let buffer = Arc::new(self.upload(what, volume.data())?);
        self.state.volumes.keep(volume.id(), &buffer);
        Ok(buffer)
    }

    /// Workgroups that cover `threads` threads along each axis.
    pub fn groups(threads: [usize; 3], of_group: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| {
            u32::try_from(threads[axis].div_ceil(of_group[axis] as usize)).unwrap_or(u32::MAX)
        })
    }

    /// Runs a kernel over `groups` workgroups, after all queued work. Binding 0 of every kernel is a uniform `vec4<u32>` whose first
    /// number is the layer (workgroup along z) that the dispatch begins with; the buffers follow from 1 on. A dispatch that could
    /// take long is cut into slabs of layers, each waited for.
    ///
    /// # Errors
    /// A device at fault, or a cancelled job.
    pub fn run(
        &mut self,
        kernel: &Kernel,
        buffers: &[&dyn Bound],
        groups: [u32; 3],
    ) -> Result<(), WgpuError> {
        self.run_weighted(kernel, buffers, groups, 1.0)
    }

    /// As [`Self::run`], for a kernel whose time is proportional to `steps` for each workgroup: slabs are sized by them.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_weighted(
        &mut self,
        kernel: &Kernel,
        buffers: &[&dyn Bound],
        [x, y, layers]: [u32; 3],
        steps: f64,
    ) -> Result<(), WgpuError> {
        let max_groups = self.device.limits.max_compute_workgroups_per_dimension;
        if x.max(y) > max_groups {
            let (device, kernel) = (self.name(), kernel.name);
            return Err(WgpuError::TooWide {
                device,
                kernel,
                asked: x.max(y),
                most: max_groups,
            });
        }
        let (Device { handle, faults, .. }, name) = (self.device, self.name());
        let pipeline = self.state.pipelines.get(kernel, handle, faults, &name)?;
        let steps_of_layer = f64::from(x) * f64::from(y) * steps.max(1.0);
        let (mut first, mut last_layers) = (0, None);
        while first < layers && x > 0 && y > 0 {
            self.control.check()?;
            let slab = self.state.pace.next(
                kernel.name,
                (layers - first).min(max_groups),
                steps_of_layer,
                last_layers,
            );
            if slab.timed {
                self.wait(kernel.name)?;
            }
            let begin = Instant::now();
            self.dispatch(kernel, &pipeline, buffers, [x, y, slab.layers], first)?;
            if slab.timed {
                self.wait(kernel.name)?;
                self.state.pace.note(
                    kernel.name,
                    steps_of_layer * f64::from(slab.layers),
                    begin.elapsed(),
                );
            }
            first += slab.layers;
            last_layers = Some(slab.layers);
        }
        Ok(())
    }

    fn dispatch(
        &mut self,
        kernel: &Kernel,
        pipeline: &wgpu::ComputePipeline,
        buffers: &[&dyn Bound],
        [x, y, z]: [u32; 3],
        first: u32,
    ) -> Result<(), WgpuError> {
        let handle = &self.device.handle;
        let part = handle.create_buffer(&wgpu::BufferDescriptor {
            label: Some("first layer"),
            size: 16,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.device
            .queue
            .write_buffer(&part, 0, bytemuck::cast_slice(&[first, 0, 0, 0]));
        let raw = std::iter::once(&part).chain(buffers.iter().map(|buffer| buffer.raw()));
        let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
            .zip(raw)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let bindings = handle.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(kernel.name),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut encoder = self.encoder();
        let timestamp_writes = self.clock.of_dispatch();
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(kernel.name),
            timestamp_writes,
        });
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &bindings, &[]);
        pass.dispatch_workgroups(x, y, z);
        drop(pass);
        self.device.queue.submit([encoder.finish()]);
        self.check(kernel.name, 0)
    }

    /// Ends a phase: what was run since the last one is timed as this.
    ///
    /// # Errors
    /// A device at fault, where it is waited for.
    pub fn phase(&mut self, name: &str) -> Result<(), WgpuError> {
        if self.clock.is_of_host() {
            self.wait(name)?;
        }
        self.clock.phase(name);
        Ok(())
    }

    /// The phases and their times.
    ///
    /// # Errors
    /// A device at fault.
    pub fn finish(self) -> Result<Phases, WgpuError> {
        let Self {
            device,
            state,
            control,
            clock,
        } = self;
        match clock.finish(&device.handle, &device.queue) {
            Ok(phases) => Ok(phases),
            Err(stamps) => {
                let last = Self {
                    device,
                    state,
                    control,
                    clock: Clock::new(&device.handle),
                };
                let buffer = &stamps.buffer;
                let values: Vec<u64> = last.read(buffer, buffer.size(), "reading its clock")?;
                Ok(stamps.phases(&values, f64::from(device.queue.get_timestamp_period())))
            }
        }
    }

    /// Queues a copy from a buffer to one of as many bytes.
    pub fn copy<T>(&self, from: &Buffer<T>, to: &Buffer<T>) {
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(&from.raw, 0, &to.raw, 0, from.bytes());
        self.device.queue.submit([encoder.finish()]);
    }

    /// The values of a buffer, when all that is queued is done.
    ///
    /// # Errors
    /// A device at fault, or a cancelled job.
    pub fn download<T: Pod>(&self, what: &str, buffer: &Buffer<T>) -> Result<Vec<T>, WgpuError> {
        let mut values = self.read(&buffer.raw, buffer.bytes(), what)?;
        values.truncate(buffer.count);
        Ok(values)
    }

    /// The first value of a buffer, when all that is queued is done.
    ///
    /// # Errors
    /// As [`Self::download`].
    pub fn first(&self, what: &str, buffer: &Buffer<u32>) -> Result<u32, WgpuError> {
        Ok(self
            .read(&buffer.raw, 4, what)?
            .first()
            .copied()
            .unwrap_or_default())
    }

    /// Makes the first value of a buffer zero, after all that is queued.
    pub fn clear_first(&self, buffer: &Buffer<u32>) {
        self.device.queue.write_buffer(&buffer.raw, 0, &[0; 4]);
    }

    fn read<T: Pod>(
        &self,
        from: &wgpu::Buffer,
        size: u64,
        what: &str,
    ) -> Result<Vec<T>, WgpuError> {
        let host = self.device.handle.create_buffer(&wgpu::BufferDescriptor {
            label: Some(what),
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(from, 0, &host, 0, size);
        self.device.queue.submit([encoder.finish()]);
        let (sender, mapped) = std::sync::mpsc::channel();
        host.map_async(wgpu::MapMode::Read, .., move |result| {
            // Nobody waits any more where the device was lost.
            let _ = sender.send(result);
        });
        self.wait(what)?;
        let invalid = |why: String| WgpuError::Invalid {
            device: self.name(),
            doing: what.to_owned(),
            why,
        };
        match mapped.try_recv() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(invalid(error.to_string())),
            Err(error) => return Err(invalid(error.to_string())),
        }
        let view = host
            .get_mapped_range(..)
            .map_err(|error| invalid(error.to_string()))?;
        Ok(bytemuck::pod_collect_to_vec(&view))
    }

    /// Waits for all that is queued.
    ///
    /// # Errors
    /// A device at fault, or a cancelled job.
    pub fn wait(&self, doing: &str) -> Result<(), WgpuError> {
        let pending_work = wgpu::PollType::Wait {
            submission_index: None,
            timeout: Some(WAIT_LIMIT),
        };
        let polled = self.device.handle.poll(pending_work);
        self.check(doing, 0)?;
        polled.map_err(|error| {
            self.device.forget();
            WgpuError::Lost {
                device: self.name(),
                doing: doing.to_owned(),
                why: error.to_string(),
            }
        })?;
        Ok(self.control.check()?)
    }

    /// Fails with the faults that the device has reported since the last check.
    fn check(&self, doing: &str, bytes: u64) -> Result<(), WgpuError> {
        let Some(error) = self.device.faults.take(&self.name(), doing, bytes) else {
            return Ok(());
        };
        if matches!(error, WgpuError::Lost { .. }) {
            self.device.forget();
        }
        Err(error)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device
            .handle
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    fn name(&self) -> String {
        self.device.adapter().to_string()
    }
}
