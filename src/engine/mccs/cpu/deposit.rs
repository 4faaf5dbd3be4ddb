//! Deposit of a first interaction's energy along sampled directions.

use super::flight::in_voxels;
use crate::histories::head::{ENGINE_PLACES, Particle};
use crate::mccs::request::Variant;
use crate::mccs::simulation::Simulation;
use crate::mccs::tables::{BinKernel, FAR_ONE_IN, LAST_CM, NODES};
use geometry::walk::even::EvenWalk;
use multiversion::multiversion;
use physics::kernel::CONES;
use std::sync::LazyLock;
use transport::philox::{Stream, unit};

/// Places of a history's directions in its random numbers.
const PLACE_RAYS: u32 = ENGINE_PLACES;

/// A direction of deposition.
pub struct Ray {
    /// In the lattice's frame.
    pub direction: [f32; 3],
    /// Cone of the kernel.
    pub cone: usize,
    /// Quanta.
    pub energy: f32,
    /// Factor on the energy beyond the kernel's near radius; 0 where it ends there.
    pub far: f32,
}

/// Random numbers of a history's directions, in their order.
pub struct Numbers {
    stream: Stream,
    first: [u32; 4],
    four: u32,
    words: [u32; 4],
}

impl Numbers {
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            first: stream.words(PLACE_RAYS),
            four: 0,
            words: stream.words(PLACE_RAYS + 1),
        }
    }

    /// The random numbers that direction `k` shares with three others.
    fn of_direction(&mut self, k: u32) -> [u32; 4] {
        if k / 4 != self.four {
            self.four = k / 4;
            self.words = self.stream.words(PLACE_RAYS + 1 + self.four);
        }
        self.words
    }
}

/// Direction `k` of a photon: polar angles in strata of equal energy of its kernel, azimuths apart by the golden angle. Each carries
/// its equal part of the energy (the paper's design: directions even over the sphere, each with its cone's energy).
pub fn ray(
    run: &Simulation,
    kernel: &BinKernel,
    photon: &Particle,
    numbers: &mut Numbers,
    k: u32,
) -> Ray {
    const GOLDEN: f32 = 0.618_034;
    let count = run.directions as f32;
    let xi = unit(numbers.of_direction(k)[(k % 4) as usize]);
    let first = numbers.first;
    let limits = &run.cones[kernel.cones_at as usize..][..CONES];
    let share = photon.weight / count;
    let (cone, cos, azimuth, energy, far) = match run.variant {
        Variant::Own => {
            // Strata are assigned to places along the photon's path at random.
            let stratum = (k + (unit(first[2]) * count) as u32) % run.directions;
            let place = (stratum as f32 + xi) / count;
            let cone = limits
                .partition_point(|limit| *limit <= place)
                .min(CONES - 1);
            let low = if cone == 0 { 0.0 } else { limits[cone - 1] };
            let part = ((place - low) / (limits[cone] - low)).clamp(0.0, 1.0);
            let [inner, outer] = cone_cosines(cone);
            let turn = (unit(first[0]) + k as f32 * GOLDEN).fract();
            let offset = (unit(first[1]) * FAR_ONE_IN as f32) as u32;
            let far = if (k + offset).is_multiple_of(FAR_ONE_IN) {
                FAR_ONE_IN as f32
            } else {
                0.0
            };
            (cone, inner + (outer - inner) * part, turn, share, far)
        }
        Variant::Paper => {
            let more = numbers.stream.words(PLACE_RAYS + 1 + k / 4 + 8);
            let cos = 2.0 * xi - 1.0;
            let cone = ((cos.acos() / std::f32::consts::PI * CONES as f32) as usize).min(CONES - 1);
            let low = if cone == 0 { 0.0 } else { limits[cone - 1] };
            let [inner, outer] = cone_cosines(cone);
            let weight = 2.0 * (limits[cone] - low) / (inner - outer);
            (cone, cos, unit(more[(k % 4) as usize]), share * weight, 1.0)
        }
    };
    Ray {
        direction: turned(photon.direction, cos, azimuth),
        cone,
        energy,
        far,
    }
}

fn cone_cosines(cone: usize) -> [f32; 2] {
    static EDGES: LazyLock<[f32; CONES + 1]> = LazyLock::new(|| {
        std::array::from_fn(|n| (std::f32::consts::PI / CONES as f32 * n as f32).cos())
    });
    [EDGES[cone], EDGES[cone + 1]]
}

/// A direction at a polar angle and an azimuth (a part of the circle) about another (basis: Duff et al., JCGT 6(1), 2017).
fn turned(axis: [f32; 3], cos: f32, azimuth: f32) -> [f32; 3] {
    let [x, y, z] = axis;
    let sign = 1.0_f32.copysign(z);
    let a = -1.0 / (sign + z);
    let b = x * y * a;
    let u = [1.0 + sign * x * x * a, sign * b, -sign * x];
    let v = [b, sign + y * y * a, -y];
    let sin = (1.0 - cos * cos).max(0.0).sqrt();
    let (s, c) = (std::f32::consts::TAU * azimuth).sin_cos();
    let (s, c) = (s * sin, c * sin);
    std::array::from_fn(|i| c * u[i] + s * v[i] + cos * axis[i])
}

/// Deposits the energy of a ray in the voxels it passes: the part of its cone's kernel between the radiological radii (g/cm2) of
/// entry and exit (Zhou 2010, eq. 4, over one cone), so that energy is conserved.
#[multiversion(targets("x86_64+avx2+fma"))]
pub fn deposit(
    run: &Simulation,
    kernel: &BinKernel,
    from: [f32; 3],
    ray: &Ray,
    quanta: &mut [u64],
) {
    let row = &run.rows[kernel.rows_at as usize + ray.cone * NODES..][..NODES];
    along(run, row, kernel.near_cm, from, ray, quanta);
}

/// As [`deposit`], by the row of contaminant electrons, which are followed to their end.
pub fn deposit_electrons(
    run: &Simulation,
    kernel: &BinKernel,
    from: [f32; 3],
    electron: &Particle,
    quanta: &mut [u64],
) {
    let row = &run.rows[kernel.rows_at as usize..][..NODES];
    let ray = Ray {
        direction: electron.direction,
        cone: 0,
        energy: electron.weight,
        far: 0.0,
    };
    along(run, row, f32::INFINITY, from, &ray, quanta);
}

#[inline(always)]
fn along(
    run: &Simulation,
    row: &[f32],
    near_cm: f32,
    from: [f32; 3],
    ray: &Ray,
    quanta: &mut [u64],
) {
    const PER_ROOT: f32 = (NODES - 1) as f32;
    let direction = in_voxels(run.voxels_per_cm(), ray.direction);
    let mut walk = EvenWalk::new(run.lattice.size, from, direction);
    let mut energy = ray.energy;
    let mut radius = 0.0_f32;
    let mut within_last = 0.0_f32;
    let mut far = false;
    // One loop: to walk first and deposit after is slower, as is to compare crossings as whole numbers.
    while let Some((voxel, cm)) = walk.step() {
        let density = run.voxels[voxel].density_g_cm3();
        radius += density * cm;
        let x = (radius * (1.0 / LAST_CM as f32)).sqrt() * PER_ROOT;
        // By `u32` and, below, `i64`: a float converts to those in one instruction, to `u64` in several.
        let i = (x as u32 as usize).min(NODES - 2);
        let within = (row[i] + (row[i + 1] - row[i]) * (x - i as f32)).min(1.0);
        let deposited = (within - within_last) * energy;
        quanta[voxel] += ((deposited + 0.5) as i64).max(0) as u64;
        within_last = within;
        if within_last >= 1.0 {
            return;
        }
        if radius > near_cm && !far {
            far = true;
            energy *= ray.far;
            if energy == 0.0 {
                return;
            }
        }
    }
}
