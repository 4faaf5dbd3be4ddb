//! Collapsed cone as A. Ahnesjo has it (Med. Phys. 16, 577, 1989): one line at a time, one voxel at a time, in `f64`.
//!
//! * TERMA `T` of a voxel: total energy released per unit mass, at the exact radiological depth of its centre.
//! * Kernel of a class of energy: `sum_k A_k(theta) (1 - exp(-a_k r))` per sr within the radiological radius `r`, `theta` being
//!   the angle between the line and the voxel's own ray. [`BeamKernel`](physics::kernel_beam::BeamKernel) has its terms.
//! * A cone of solid angle `omega` is collapsed onto its axis. Along a line through a voxel of density `rho` for `l` cm,
//!   `tau = rho l`, the radiant energy `R_k` of each term becomes
//!   `R_k exp(-a_k tau) + T A_k (1 - exp(-a_k tau)) / a_k`, and the rest is deposited in the voxel.
//! * Voxels along a line are found by Algorithm 1 of Xiao 2012, with its names.
//!
//! With one line to a voxel's face this is the plain algorithm; more lines remove the lattice's discretisation.
//! Nothing is shared with the fast forms but the medium, the fluence, the kernels' terms and the choice of directions.

use crate::JobControl;
use crate::cccs::beam::{Field, Superposition, grid_from_kernel};
use crate::cccs::calibrate::MonitorUnit;
use crate::cccs::directions::Direction;
use crate::cccs::job::each_field;
use crate::dose::check;
use crate::dose::medium::Medium;
use crate::dose::medium::{VACUUM_G_CM3, mass_of};
use crate::dose::{DoseError, DoseRequest};
use glam::DVec3;
use physics::kernel_beam::CHANNELS;
use physics::kernel_fit::{TERMS, decay_per_cm};
use rayon::prelude::*;

/// Directions that a thread takes at a time.
const TOGETHER: usize = 16;

/// The dose (Gy cm2 for a photon fluence, times the monitor units) on the grid of the request, `lines` lines to each side of a
/// voxel's face. Machines are taken as not calibrated, without contaminant electrons.
pub fn beam_dose(
    request: &DoseRequest,
    lines: usize,
    control: &JobControl,
) -> Result<Vec<f64>, DoseError> {
    check(&request.beam)?;
    let medium = Medium::cached(
        &request.patient,
        &request.machine.spectrum,
        &request.grid,
        control,
    )?;
    let beam = Superposition::cached(&request.machine, request.quality, control.cache());
    let mut energy = vec![0.0; medium.grid.len()];
    let uncalibrated = MonitorUnit {
        fluence: 1.0,
        electrons_gy: 0.0,
    };
    each_field(request, &uncalibrated, control, |field, factor| {
        let cones = Cones::new(&beam, field, &medium, lines);
        for part in cones.superposed(control)? {
            energy
                .iter_mut()
                .zip(part)
                .for_each(|(sum, part)| *sum += f64::from(factor) * part);
        }
        Ok::<_, DoseError>(())
    })?;
    let mass = mass_of(&medium, request.dose_to).data();
    let [nx, ny, nz] = request.grid.size();
    let [x, y, z] = medium.offset;
    Ok((0..nx * ny * nz)
        .map(|n| {
            let voxel = medium
                .grid
                .index(x + n % nx, y + n / nx % ny, z + n / (nx * ny));
            if mass[voxel] > VACUUM_G_CM3 {
                energy[voxel] / f64::from(mass[voxel])
            } else {
                0.0
            }
        })
        .collect())
}

/// A field in a medium, ready to be superposed. Positions are in voxels from the low corner, lengths in cm.
struct Cones<'a> {
    beam: &'a Superposition,
    medium: &'a Medium,
    size: [usize; 3],
    voxels_per_cm: DVec3,
    /// Rotation from the directions' frame to the grid's axes.
    lattice_from_kernel: glam::DMat3,
    /// Rays and TERMA of the voxels: the unit vector of the ray in the grid's frame, and TERMA by channel of the
    /// kernel.
    rays: Vec<DVec3>,
    terma: Vec<[f64; CHANNELS]>,
    lines: usize,
}

impl<'a> Cones<'a> {
    fn new(beam: &'a Superposition, field: &Field<'_>, medium: &'a Medium, lines: usize) -> Self {
        let lattice = medium.lattice();
        let spacing_mm = DVec3::from(lattice.spacing_mm);
        let source_mm = medium.grid.local_from_patient(field.frame.source_mm);
        let [nx, ny, _] = lattice.size;
        let way_mm = |n: usize| {
            let centre = DVec3::from([n % nx, n / nx % ny, n / (nx * ny)].map(|i| i as f64));
            centre * spacing_mm - source_mm
        };
        let mut cones = Self {
            beam,
            medium,
            size: lattice.size,
            voxels_per_cm: 10.0 / spacing_mm,
            lattice_from_kernel: grid_from_kernel(field.frame, &medium.grid),
            rays: (0..lattice.voxels())
                .map(|n| way_mm(n).normalize())
                .collect(),
            terma: Vec::new(),
            lines,
        };
        let source = source_mm / spacing_mm + 0.5;
        let terma = |n: usize| cones.terma_at(field, n, source, 0.1 * way_mm(n).length());
        cones.terma = (0..lattice.voxels()).into_par_iter().map(terma).collect();
        cones
    }

    /// TERMA by channel, over the sum of all directions' amplitudes at this voxel's ray: energy is conserved.
    fn terma_at(
        &self,
        field: &Field<'_>,
        n: usize,
        source: DVec3,
        distance_cm: f64,
    ) -> [f64; CHANNELS] {
        let at_mm = self.medium.grid.centre_of_mm(n);
        let projected = field.frame.project(at_mm).filter(|_| self.density(n) > 0.0);
        let Some(([x, y], below_mm)) = projected else {
            return [0.0; CHANNELS];
        };
        let incident = field
            .fluence
            .at(x, y, below_mm, self.medium.grid.spacing_xy_mm()[0]);
        if incident <= 0.0 {
            return [0.0; CHANNELS];
        }
        let mut depth_cm = 0.0;
        self.walk(source, self.rays[n], distance_cm, |voxel, cm| {
            depth_cm += self.density(voxel) * cm
        });
        let softer = self.beam.softening.at(x.hypot(y));
        let inverse_square = (0.1 * field.frame.sad_mm / distance_cm).powi(2);
        let terma = self.beam.kernel.terma(depth_cm - softer.less_cm);
        let mut sums = [0.0; CHANNELS];
        for direction in &self.beam.directions {
            let amplitudes = self.amplitudes(direction, n);
            (0..CHANNELS).for_each(|c| {
                sums[c] += direction.solid_angle_sr * amplitudes[c].iter().sum::<f64>()
            });
        }
        std::array::from_fn(|c| terma[c] * softer.kept * incident * inverse_square / sums[c])
    }

    fn density(&self, voxel: usize) -> f64 {
        f64::from(self.medium.equivalent_g_cm3.data()[voxel])
    }

    /// `A_k` per sr of each channel, at the angle between a line and a voxel's ray.
    fn amplitudes(&self, direction: &Direction, voxel: usize) -> [[f64; TERMS]; CHANNELS] {
        let cos = (self.lattice_from_kernel * direction.axis).dot(self.rays[voxel]);
        let angle_deg = cos.clamp(-1.0, 1.0).acos().to_degrees();
        std::array::from_fn(|c| self.beam.kernel.amplitudes_per_sr(c, angle_deg))
    }

    /// Energy deposited per volume (Gy g/cm3), in parts of some directions each.
    fn superposed(&self, control: &JobControl) -> Result<Vec<Vec<f64>>, DoseError> {
        self.beam
            .directions
            .par_chunks(TOGETHER)
            .map(|directions| {
                let mut energy = vec![0.0; self.terma.len()];
                for direction in directions {
                    control.check()?;
                    self.add_direction(direction, &mut energy);
                }
                Ok(energy)
            })
            .collect()
    }

    /// All lines of a direction: `lines` x `lines` through each voxel of the planes that it crosses most often.
    fn add_direction(&self, direction: &Direction, energy: &mut [f64]) {
        let axis = self.lattice_from_kernel * direction.axis;
        let speed = axis * self.voxels_per_cm;
        let along = speed.abs().max_position();
        let slab_cm = 1.0 / speed[along].abs();
        let [u, v] = [[1, 2], [0, 2], [0, 1]][along];
        // Lines begin in the plane through which they come in, so far out that those which come in sideways are there.
        let slabs = self.size[along] as f64;
        let starts = |a: usize| {
            let drift = speed[a] * slab_cm * slabs;
            let n = self.lines as f64;
            let first = (-drift.max(0.0) * n).floor() as i64;
            let end = ((self.size[a] as f64 - drift.min(0.0)) * n).ceil() as i64;
            (first..end).map(move |i| (i as f64 + 0.5) / n)
        };
        let weight = direction.solid_angle_sr / (slab_cm * (self.lines * self.lines) as f64);
        let mut from = DVec3::ZERO;
        from[along] = if speed[along] > 0.0 { 0.0 } else { slabs };
        for down in starts(u) {
            for across in starts(v) {
                from[u] = down;
                from[v] = across;
                let mut radiant = [0.0; TERMS];
                self.walk(from, axis, f64::INFINITY, |voxel, cm| {
                    energy[voxel] += weight * self.pass(direction, voxel, cm, &mut radiant);
                });
            }
        }
    }

    /// Transports a line through a voxel; the deposit per area across the line.
    fn pass(
        &self,
        direction: &Direction,
        voxel: usize,
        cm: f64,
        radiant: &mut [f64; TERMS],
    ) -> f64 {
        let tau = self.density(voxel) * cm;
        let terma = self.terma[voxel];
        let mut source = [0.0; TERMS];
        if terma.iter().any(|t| *t != 0.0) {
            let amplitudes = self.amplitudes(direction, voxel);
            source =
                std::array::from_fn(|k| (0..CHANNELS).map(|c| terma[c] * amplitudes[c][k]).sum());
        }
        let mut deposited = 0.0;
        for (k, (radiant, source)) in radiant.iter_mut().zip(source).enumerate() {
            let lost = -(-decay_per_cm(k) * tau).exp_m1();
            let leaves = source * lost / decay_per_cm(k);
            deposited += *radiant * lost + source * tau - leaves;
            *radiant += leaves - *radiant * lost;
        }
        deposited
    }

    /// Calls `visit` with each voxel that a line passes and for how many cm (Algorithm 1 of Xiao 2012).
    fn walk(&self, from: DVec3, axis: DVec3, length_cm: f64, mut visit: impl FnMut(usize, f64)) {
        let (from, speed) = (from.to_array(), (axis * self.voxels_per_cm).to_array());
        let (mut passed_cm, mut end) = (0.0_f64, length_cm);
        for a in 0..3 {
            let sides = [0.0, self.size[a] as f64].map(|side| (side - from[a]) / speed[a]);
            if speed[a] != 0.0 {
                passed_cm = passed_cm.max(sides[0].min(sides[1]));
                end = end.min(sides[0].max(sides[1]));
            } else if !(0.0..self.size[a] as f64).contains(&from[a]) {
                return;
            }
        }
        let mut current_v = [0, 1, 2].map(|a| {
            (from[a] + passed_cm * speed[a])
                .floor()
                .clamp(0.0, self.size[a] as f64 - 1.0) as usize
        });
        let delta_t = speed.map(|s| 1.0 / s.abs());
        let mut t = [0, 1, 2].map(|a| {
            let plane = current_v[a] as f64 + if speed[a] > 0.0 { 1.0 } else { 0.0 };
            if speed[a] == 0.0 {
                f64::INFINITY
            } else {
                (plane - from[a]) / speed[a]
            }
        });
        while passed_cm < end {
            let a = if t[0] <= t[1] && t[0] <= t[2] {
                0
            } else if t[1] <= t[2] {
                1
            } else {
                2
            };
            let next = t[a].min(end);
            if next > passed_cm {
                visit(
                    self.medium
                        .grid
                        .index(current_v[0], current_v[1], current_v[2]),
                    next - passed_cm,
                );
                passed_cm = next;
            }
            let step = if speed[a] > 0.0 { 1 } else { -1 };
            let Some(v) = current_v[a]
                .checked_add_signed(step)
                .filter(|v| *v < self.size[a])
            else {
                return;
            };
            current_v[a] = v;
            t[a] += delta_t[a];
        }
    }
}
