//! Times of the phases of a job: by timestamps of the device where it has them, else by the host's clock.

use crate::job_control::Phases;
use std::time::Instant;

/// Maximum number of timed dispatches, enough for a hundred fields; wgpu allows a query set of this size.
const MOST_TIMED: u32 = 2048;

/// Clock of a job's dispatches.
pub(super) struct Clock {
    stamps: Option<Stamps>,
    last: Instant,
    by_host: Phases,
}

struct Stamps {
    queries: wgpu::QuerySet,
    /// A phase, and the dispatches (first, one past the last) that belong to it.
    phases: Vec<(String, u32, u32)>,
    next: u32,
    begun: u32,
}

/// Stamps to be read when everything is done.
pub(super) struct Readable {
    pub buffer: wgpu::Buffer,
    phases: Vec<(String, u32, u32)>,
}

impl Clock {
    pub fn new(device: &wgpu::Device) -> Self {
        let stamps = device
            .features()
            .contains(wgpu::Features::TIMESTAMP_QUERY)
            .then(|| Stamps {
                queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("phases"),
                    ty: wgpu::QueryType::Timestamp,
                    count: 2 * MOST_TIMED,
                }),
                phases: Vec::new(),
                next: 0,
                begun: 0,
            });
        Self {
            stamps,
            last: Instant::now(),
            by_host: Phases::new(),
        }
    }

    /// Whether phases end by waiting for the device.
    pub fn is_of_host(&self) -> bool {
        self.stamps.is_none()
    }

    /// Entries for the time stamps of the next dispatch.
    pub fn of_dispatch(&mut self) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let stamps = self
            .stamps
            .as_mut()
            .filter(|stamps| stamps.next < MOST_TIMED)?;
        let first = 2 * stamps.next;
        stamps.next += 1;
        Some(wgpu::ComputePassTimestampWrites {
            query_set: &stamps.queries,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        })
    }

    /// Ends a phase: the dispatches since the last one ended belong to it.
    pub fn phase(&mut self, name: &str) {
        match &mut self.stamps {
            Some(stamps) => {
                stamps
                    .phases
                    .push((name.to_owned(), stamps.begun, stamps.next));
                stamps.begun = stamps.next;
            }
            None => {
                self.by_host
                    .push((name.to_owned(), self.last.elapsed().as_secs_f64() * 1e3));
                self.last = Instant::now();
            }
        }
    }

    /// The phases that the host has timed, or the commands that make the stamps readable.
    pub fn finish(self, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Phases, Readable> {
        let Some(stamps) = self.stamps.filter(|stamps| stamps.next > 0) else {
            return Ok(self.by_host);
        };
        let size = u64::from(2 * stamps.next) * 8;
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let label = Some("stamps");
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label,
            size,
            usage,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.resolve_query_set(&stamps.queries, 0..2 * stamps.next, &buffer, 0);
        queue.submit([encoder.finish()]);
        Err(Readable {
            buffer,
            phases: stamps.phases,
        })
    }
}

impl Readable {
    /// The phases, by the stamps of every dispatch (begin, end) in units of `period_ns`.
    pub fn phases(&self, stamps: &[u64], period_ns: f64) -> Phases {
        self.phases
            .iter()
            .map(|(name, first, end)| {
                (
                    name.clone(),
                    (*first..*end)
                        .map(|n| {
                            let [begin, end] = [2 * n, 2 * n + 1]
                                .map(|stamp| stamps.get(stamp as usize).copied().unwrap_or(0));
                            end.saturating_sub(begin) as f64
                        })
                        .sum::<f64>()
                        * period_ns
                        * 1e-6,
                )
            })
            .collect()
    }
}
