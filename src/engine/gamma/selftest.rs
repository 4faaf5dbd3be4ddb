//! Gamma: closed forms, and pairs of every kind of grid, a card against the CPU.

use crate::failure::Failure;
use crate::gamma::{Criterion, Dims, GammaError, GammaRequest, GammaResult, Normalisation, Subset};
use crate::gamma::{cpu, cuda, wgpu};
use crate::selftest::Row;
use crate::{Compute, DeviceError, JobControl, Random};
use geometry::{Grid, GridError, Volume};
use glam::{DMat3, DVec3, EulerRot};
use std::sync::Arc;

/// A card against the CPU, and either against a closed form.
const TOLERANCE: f64 = 1e-5;
const CLOSED_FORM: f64 = 1e-3;

struct GammaCase {
    name: &'static str,
    request: GammaRequest,
    /// Gamma in closed form, where there is one.
    known: Option<f64>,
}

pub(crate) fn rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    rows_of(1.0, device, control)
}

/// As [`rows`], on grids of half the extent.
#[cfg(test)]
pub(crate) fn small_rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    rows_of(0.5, device, control)
}

/// `extent`: of the grids, a share of the whole.
fn rows_of(extent: f64, device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let cases = cases(extent).map_err(|e| DeviceError::case("gamma", e))?;
    let mut rows = Vec::new();
    for case in &cases {
        control.check()?;
        let (got, again) = match run(&case.request, device, control).and_then(|got| {
            let again = run(&case.request, device, control)?;
            Ok((got, again))
        }) {
            Ok(both) => both,
            Err(Failure::Card(error)) => return Err(error),
            Err(Failure::Job(GammaError::Cancelled(cancelled))) => return Err(cancelled.into()),
            Err(Failure::Job(_)) => {
                rows.push(row(
                    case,
                    device,
                    "CPU",
                    TOLERANCE,
                    (f64::INFINITY, f64::INFINITY),
                    false,
                ));
                continue;
            }
        };
        let repeats = bits(&got) == bits(&again);
        if let Some(expected) = case.known {
            let off = against(&got, |_, value| (f64::from(value) - expected).abs());
            rows.push(row(case, device, "closed form", CLOSED_FORM, off, repeats));
        }
        if device.is_card() {
            let off = match cpu::gamma(&case.request, control) {
                Ok(want) => compare(&got, &want),
                Err(_) => (f64::INFINITY, f64::INFINITY),
            };
            rows.push(row(case, device, "CPU", TOLERANCE, off, repeats));
        } else if case.known.is_none() {
            let off = part_against_whole(case, &got, control);
            rows.push(row(case, device, "a random part", 0.0, off, repeats));
        }
    }
    Ok(rows)
}

fn run(
    request: &GammaRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<GammaResult, Failure<GammaError, DeviceError>> {
    match device {
        Compute::Cpu => cpu::gamma(request, control).map_err(Failure::Job),
        Compute::Cuda(card) => {
            cuda::gamma(request, card, control).map_err(|e| e.map_card(DeviceError::Cuda))
        }
        Compute::Wgpu(card) => {
            wgpu::gamma(request, card, control).map_err(|e| e.map_card(DeviceError::Wgpu))
        }
    }
}

fn row(
    case: &GammaCase,
    device: &Compute,
    against: &'static str,
    tolerance: f64,
    (worst, mean): (f64, f64),
    repeats: bool,
) -> Row {
    Row {
        job: "gamma",
        case: case.name.to_owned(),
        device: device.to_string(),
        way: if case.request.dims == Dims::Volume {
            "3D"
        } else {
            "2D"
        },
        against,
        worst,
        mean,
        tolerance,
        unit: "",
        repeats,
    }
}

fn bits(result: &GammaResult) -> Vec<u32> {
    result
        .maps
        .iter()
        .flat_map(|map| map.gamma.data().iter().map(|v| v.to_bits()))
        .collect()
}

/// Largest and mean difference over the voxels of all maps that have a gamma; infinite where none has.
fn against(got: &GammaResult, off: impl Fn(usize, f32) -> f64) -> (f64, f64) {
    let values = got.maps.iter().flat_map(|map| map.gamma.data()).enumerate();
    let (mut worst, mut sum, mut count) = (0.0_f64, 0.0, 0);
    for (n, value) in values.filter(|(_, value)| !value.is_nan()) {
        let off = off(n, *value);
        worst = worst.max(if off.is_nan() { f64::INFINITY } else { off });
        sum += off;
        count += 1;
    }
    if count > 0 {
        (worst, sum / f64::from(count))
    } else {
        (f64::INFINITY, f64::INFINITY)
    }
}

/// Also the same points must have none.
fn compare(got: &GammaResult, want: &GammaResult) -> (f64, f64) {
    let counts = |result: &GammaResult| -> Vec<_> {
        let numbers_of_points = |c: crate::gamma::Counts| [c.analysed, c.outside, c.undefined];
        result
            .maps
            .iter()
            .map(|map| numbers_of_points(map.counts))
            .collect()
    };
    if counts(got) != counts(want) {
        return (f64::INFINITY, f64::INFINITY);
    }
    let want: Vec<f32> = want
        .maps
        .iter()
        .flat_map(|map| map.gamma.data())
        .copied()
        .collect();
    against(got, |n, value| {
        (f64::from(value) - f64::from(want[n])).abs()
    })
}

/// A random part has the values of the whole, bit for bit.
fn part_against_whole(case: &GammaCase, got: &GammaResult, control: &JobControl) -> (f64, f64) {
    // Where the case is a part the whole is to be found, else a part.
    let subset = case.request.subset.is_none().then_some(Subset {
        count: 200,
        seed: 5,
    });
    let Ok(other) = cpu::gamma(
        &GammaRequest {
            subset,
            ..case.request.clone()
        },
        control,
    ) else {
        return (f64::INFINITY, f64::INFINITY);
    };
    let (part, full) = if subset.is_some() {
        (&other, got)
    } else {
        (got, &other)
    };
    let full_bits = bits(full);
    against(part, |n, value| {
        if value.to_bits() == full_bits[n] {
            0.0
        } else {
            f64::INFINITY
        }
    })
}

fn dose(grid: &Arc<Grid>, gy: impl Fn(DVec3) -> f64) -> Arc<Volume<f32>> {
    Arc::new(Volume::new(
        Arc::clone(grid),
        (0..grid.len())
            .map(|n| gy(grid.centre_of_mm(n)).max(0.0) as f32)
            .collect(),
    ))
}

/// A ball of dose with ripples.
fn ball(centre_mm: DVec3, width_mm: f64) -> impl Fn(DVec3) -> f64 {
    move |p| {
        let p = p - centre_mm;
        60.0 * (-(p.length() / width_mm).powi(4)).exp()
            * (1.0 + 0.05 * (p.x / 7.0).sin() * (p.z / 9.0).cos())
    }
}

/// Noise on top: every kind of nearest point.
fn rough(grid: &Arc<Grid>, seed: u64, gy: f64) -> Arc<Volume<f32>> {
    let mut random = Random::new(seed);
    let smooth = dose(grid, ball(DVec3::ZERO, 30.0));
    let noisy = smooth
        .data()
        .iter()
        .map(|v| v + (gy * random.unit()) as f32)
        .collect();
    Arc::new(Volume::new(Arc::clone(grid), noisy))
}

fn cases(extent: f64) -> Result<Vec<GammaCase>, GridError> {
    let voxels = |n: usize| (extent * n as f64) as usize;
    let cut = |size: [usize; 3]| size.map(voxels);
    let corner = |x: f64, y: f64, z: f64| DVec3::new(extent * x, extent * y, z);
    let first_mm = DVec3::splat(-50.0 * extent);
    let even = Arc::new(Grid::axis_aligned(
        first_mm,
        DVec3::new(2.0, 2.5, 3.0),
        cut([51, 41, 34]),
    )?);
    let first_mm = DVec3::splat(-49.3 * extent);
    let fine = Arc::new(Grid::axis_aligned(
        first_mm,
        DVec3::new(1.7, 1.3, 2.2),
        cut([58, 75, 45]),
    )?);
    let planes = [
        0.0, 1.0, 2.5, 4.0, 9.0, 10.0, 13.0, 18.0, 20.0, 26.0, 31.0, 33.0, 40.0, 46.0, 50.0, 55.0,
    ];
    let first_mm = corner(-40.0, -38.0, -30.0);
    let across = [voxels(40), voxels(41)];
    let uneven = Arc::new(Grid::new(
        first_mm,
        DVec3::X,
        DVec3::Y,
        [2.1, 1.9],
        across,
        &planes,
    )?);
    let turn = DMat3::from_euler(EulerRot::XYZ, 0.3, -0.5, 0.8);
    let oblique = Arc::new(Grid::new(
        first_mm,
        turn.x_axis,
        turn.y_axis,
        [2.1, 1.9],
        across,
        &planes,
    )?);
    let (first_mm, across) = (corner(-45.0, -45.0, 1.0), [voxels(61); 2]);
    let plane = Arc::new(Grid::new(
        first_mm,
        DVec3::X,
        DVec3::Y,
        [1.5, 1.5],
        across,
        &[0.0],
    )?);
    let usual = Criterion::global(3.0, 3.0);
    let mut cases = Vec::new();
    let mut add =
        |name, a: &Arc<Volume<f32>>, b: &Arc<Volume<f32>>, criteria: &[Criterion], expected| {
            let request = GammaRequest::new(Arc::clone(a), Arc::clone(b), criteria.to_vec());
            cases.push(GammaCase {
                name,
                request: GammaRequest {
                    threshold_percent: 0.0,
                    ..request
                },
                known: expected,
            });
            cases.len() - 1
        };
    let flat = |gy: f64| dose(&even, move |_| gy);
    add(
        "a dose and itself",
        &rough(&even, 1, 6.0),
        &rough(&even, 1, 6.0),
        &[usual],
        Some(0.0),
    );
    add(
        "a uniform dose 2 % higher",
        &flat(50.0),
        &flat(51.0),
        &[usual],
        Some(2.0 / 3.0),
    );
    add(
        "a uniform dose 9 % lower",
        &flat(50.0),
        &flat(45.5),
        &[usual],
        Some(3.0),
    );
    let [a, b] = [0.0, 3.0].map(|gy| rough(&even, 2 + gy as u64, gy));
    let (a_moved, b_fine) = (
        dose(&even, ball(DVec3::new(2.0, -1.0, 1.5), 31.0)),
        rough(&fine, 9, 3.0),
    );
    let several = [
        usual,
        Criterion::global(2.0, 2.0),
        Criterion {
            local: true,
            ..Criterion::global(3.0, 2.0)
        },
    ];
    add(
        "a ball moved, several criteria",
        &a,
        &a_moved,
        &several,
        None,
    );
    add(
        "noise on one grid",
        &a,
        &b,
        &[usual, Criterion::global(1.0, 1.0)],
        None,
    );
    add("noise on a finer, offset grid", &b, &b_fine, &[usual], None);
    add("uneven planes", &rough(&uneven, 3, 3.0), &b, &[usual], None);
    add(
        "uneven planes, evaluated",
        &b,
        &rough(&uneven, 3, 3.0),
        &[usual],
        None,
    );
    add(
        "an oblique grid",
        &b,
        &rough(&oblique, 4, 3.0),
        &[usual],
        None,
    );
    let far = add(
        "far apart, gamma up to 2",
        &a,
        &dose(&even, ball(DVec3::new(20.0, 0.0, 0.0), 25.0)),
        &[usual],
        None,
    );
    let unlimited = add(
        "far apart",
        &a,
        &dose(&even, ball(DVec3::new(9.0, 0.0, 0.0), 25.0)),
        &[usual],
        None,
    );
    let part = add("a random part", &a, &b, &[usual], None);
    let slices = add("slice by slice", &b, &b_fine, &[usual], None);
    let planar = add("a plane", &rough(&plane, 6, 3.0), &b_fine, &[usual], None);
    cases[far].request.max_gamma = Some(2.0);
    cases[unlimited].request.threshold_percent = 10.0;
    cases[part].request.subset = Some(Subset {
        count: 500,
        seed: 11,
    });
    cases[slices].request.dims = Dims::Slices;
    cases[planar].request.dims = Dims::Plane;
    cases[planar].request.normalisation = Normalisation::Typed(60.0);
    Ok(cases)
}
