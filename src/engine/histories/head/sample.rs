//! Sampling of the head source: energy, weight, position and direction of a history.

use super::collimators::{HeadRay, Instant, extra_focal_shutter, jaw_transmission};
use super::source::HeadSource;
use super::tables::{BeamPosition, Cell, ELECTRON, EnergyBin, PHOTON, RADII, RADIUS_STEP_MM};
use transport::philox::{Stream, unit};

/// Places in a history's random numbers (`kernels/head.cuh` has the same): energy, cell and place along x in it.
const PLACE_HEAD: u32 = 0;
/// Place along y in the cell, point of the source, and choice of the source.
const PLACE_SOURCE: u32 = 1;
/// Segment and time of the collimators, in its second and third word; the others are the engine's.
pub const PLACE_DELIVERY: u32 = 2;
/// The first of the places that are wholly the engine's.
pub const ENGINE_PLACES: u32 = 3;

/// A particle on its way from the head to the patient.
#[derive(Clone, Copy, Debug)]
pub struct Particle {
    /// Number of its energy bin.
    pub bin: u32,
    /// [`PHOTON`] or [`ELECTRON`].
    pub kind: u32,
    pub energy_mev: f32,
    /// Particles that the history stands for, in the engine's unit of weight.
    pub weight: f32,
    /// A point of its line, outside the patient, cm in the lattice's frame.
    pub position_cm: [f32; 3],
    /// Unit vector in the lattice's frame.
    pub direction: [f32; 3],
}

impl HeadSource {
    /// Particle of the history with the numbers of `stream`, the `number`-th of a batch of `batch`.
    pub fn sample(&self, stream: Stream, number: u64, batch: u64) -> Particle {
        let words = stream.words(PLACE_HEAD);
        // Energies are stratified over the batch: neighbours share an energy, and a batch has its right share of each.
        let stratified = (number as f32 + unit(words[0])) / batch as f32;
        let bin_number = self
            .bins
            .partition_point(|bin| bin.until <= stratified)
            .min(self.bins.len() - 1);
        let bin = &self.bins[bin_number];
        let source_words = stream.words(PLACE_SOURCE);
        let (cell, through_mm) = self.draw_cell(bin, words, unit(source_words[0]));
        let mut ray = HeadRay {
            position: &self.beam_positions[cell.beam_position as usize],
            head: &self.heads[bin.head as usize],
            machine: bin.head as usize,
            from_mm: [0.0; 3],
            through_mm,
        };
        let weight = if bin.kind == ELECTRON {
            // A cell is an area of the isocentre plane: the inverse square of the distance is `cos^2`, the plane's slant another `cos`.
            let cos = axis_cosine(&ray);
            cell.weight * bin.weight * cos * cos * cos
        } else {
            let delivery = stream.words(PLACE_DELIVERY);
            let instant = self.instant(ray.position, [unit(delivery[1]), unit(delivery[2])]);
            let spot_draws = [unit(source_words[1]), unit(source_words[2])];
            let is_extra_focal = unit(source_words[3]) < cell.extra;
            let by_jaws = if is_extra_focal {
                aim_from_extra_focal(&mut ray, instant, spot_draws)
            } else {
                aim_from_focal(&mut ray, instant, spot_draws)
            };
            if by_jaws == 0.0 {
                0.0
            } else {
                by_jaws
                    * self.transmission_within_jaws(&ray, instant)
                    * self.photon_weight(bin, cell, &ray, is_extra_focal)
            }
        };
        let (position_cm, direction) = in_lattice(&ray);
        Particle {
            bin: bin_number as u32,
            kind: bin.kind,
            energy_mev: bin.energy_mev,
            weight,
            position_cm,
            direction,
        }
    }

    /// A cell by the alias method and a place in it, mm at the isocentre plane.
    fn draw_cell(&self, bin: &EnergyBin, words: [u32; 4], y: f32) -> (&Cell, [f32; 2]) {
        let cells = &self.cells[bin.cells_at as usize..][..bin.cells as usize];
        let drawn = ((u64::from(words[1]) * u64::from(bin.cells)) >> 32) as usize;
        let number = if unit(words[2]) < cells[drawn].keep {
            drawn
        } else {
            cells[drawn].other as usize
        };
        let cell = &cells[number];
        let position = &self.beam_positions[cell.beam_position as usize];
        let first = if bin.kind == PHOTON {
            position.first_cell
        } else {
            position.first_electron_cell
        };
        let in_raster = bin.cells_at + number as u32 - first;
        let index = [in_raster % position.columns, in_raster / position.columns];
        let part = [unit(words[3]), y];
        let through_mm = [0, 1].map(|axis| {
            position.corner_mm[axis] + (index[axis] as f32 + part[axis]) * position.cell_mm[axis]
        });
        (cell, through_mm)
    }

    /// Weight of a photon before the collimators: of its cell and energy, off the axis, of its source.
    fn photon_weight(
        &self,
        bin: &EnergyBin,
        cell: &Cell,
        ray: &HeadRay<'_>,
        is_extra_focal: bool,
    ) -> f32 {
        let head = ray.head;
        let radius_mm = radius_mm(ray);
        let cos = axis_cosine(ray);
        let softening = over_radius(
            &self.softening[bin.softening_at as usize / RADII],
            radius_mm,
        );
        let by_source = if is_extra_focal {
            // As the fluence has it: inverse square from the source's plane, slant from the target (`physics::Fluence`).
            head.extra_share / cell.extra * slant_cosine(ray) * cos * cos
        } else {
            let horn = &self.horns[head.horn_at as usize..][..RADII];
            (1.0 - head.extra_share) / (1.0 - cell.extra)
                * over_radius(horn, radius_mm)
                * cos
                * cos
                * cos
        };
        cell.weight * bin.weight * softening * by_source
    }
}

/// Lets a ray begin in the focal spot, and returns the transmission of the jaws.
fn aim_from_focal(ray: &mut HeadRay<'_>, instant: Instant<'_>, draws: [f32; 2]) -> f32 {
    let spot = normal_pair(draws[0], draws[1]);
    let sigma_mm = ray.head.focal_sigma_mm;
    ray.from_mm = [spot[0] * sigma_mm[0], spot[1] * sigma_mm[1], 0.0];
    jaw_transmission(ray, instant)
}

/// Lets a ray begin in the part of the extra-focal source that the jaws leave open, and returns the part that passes them. Drawn
/// from all of the source, the few photons that pass would weigh three times as much in the field, hundreds of times beside it.
fn aim_from_extra_focal(ray: &mut HeadRay<'_>, instant: Instant<'_>, draws: [f32; 2]) -> f32 {
    let shutters = [0, 1].map(|axis| extra_focal_shutter(ray, instant, axis));
    let sigma_mm = ray.head.extra_sigma_mm;
    // The mean square of the weights is 1.1 times the square of their mean, in place of 2.5: 5 % fewer histories in the field for the same
    // uncertainty.
    let [x_mm, y_mm] = [0, 1].map(|axis| shutters[axis].draw(draws[axis]) * sigma_mm);
    ray.from_mm = [x_mm, y_mm, ray.head.extra_distance_mm];
    shutters[0].passing() * shutters[1].passing()
}

/// Distance from the axis at the isocentre plane.
fn radius_mm(ray: &HeadRay<'_>) -> f32 {
    ray.through_mm[0].hypot(ray.through_mm[1])
}

/// Cosine to the axis of the ray through the place from the middle of the target.
fn axis_cosine(ray: &HeadRay<'_>) -> f32 {
    ray.head.sad_mm / ray.head.sad_mm.hypot(radius_mm(ray))
}

/// Cosine to the axis of the ray itself.
fn slant_cosine(ray: &HeadRay<'_>) -> f32 {
    let [from, through] = [ray.from_mm, [ray.through_mm[0], ray.through_mm[1], 0.0]];
    let down = ray.head.sad_mm - from[2];
    down / down.hypot((through[0] - from[0]).hypot(through[1] - from[1]))
}

/// Position (cm) and unit direction of a ray in the frame of the lattice.
fn in_lattice(ray: &HeadRay<'_>) -> ([f32; 3], [f32; 3]) {
    let HeadRay {
        position,
        head,
        from_mm,
        through_mm,
        ..
    } = ray;
    let start_cm = offset_cm(position, *from_mm);
    let way_cm = offset_cm(
        position,
        [
            through_mm[0] - from_mm[0],
            through_mm[1] - from_mm[1],
            head.sad_mm - from_mm[2],
        ],
    );
    let length_cm = (way_cm[0] * way_cm[0] + way_cm[1] * way_cm[1] + way_cm[2] * way_cm[2]).sqrt();
    (
        std::array::from_fn(|a| position.source_cm[a] + start_cm[a]),
        way_cm.map(|cm| cm / length_cm),
    )
}

/// An offset of the head (mm across the axis, mm away from the target) along the axes of the lattice, cm.
fn offset_cm(position: &BeamPosition, [across_x, across_y, down]: [f32; 3]) -> [f32; 3] {
    let [x, y, z] = position.axes;
    std::array::from_fn(|a| 0.1 * (across_x * x[a] + across_y * y[a] - down * z[a]))
}

/// A table over the distance from the axis.
fn over_radius(table: &[f32], radius_mm: f32) -> f32 {
    let x = (radius_mm / RADIUS_STEP_MM as f32).min((RADII - 1) as f32);
    let i = (x as usize).min(RADII - 2);
    table[i] + (table[i + 1] - table[i]) * (x - i as f32)
}

/// Two independent normal variables (Box and Muller 1958).
fn normal_pair(a: f32, b: f32) -> [f32; 2] {
    let radius = (-2.0 * a.ln()).sqrt();
    let (sin, cos) = (std::f32::consts::TAU * b).sin_cos();
    [radius * cos, radius * sin]
}
