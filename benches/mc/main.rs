//! Monte Carlo with electrons in slabs: `cargo bench --bench mc -- [CASE]... [--device WORD] [--percent N] [--histories N]
//! [--cpu-histories N] [--every N]`.
//!
//! Seconds of two runs to an uncertainty (`--percent`, 1), then the dose on the axis by a run of `--histories`, beside the CPU's
//! (`--cpu-histories`), one with electrons to 100 keV, and collapsed cone. Doses are means over 1 cm x 1 cm; differences are of the
//! first column from each, percent, with one standard deviation.

#[path = "../common/words.rs"]
#[expect(dead_code, reason = "its command line is of cards alone")]
mod words;

use beamsight::case::{Beam, DoseEngine, Jaws};
use beamsight::engine::dose::{DoseRequest, DoseTo, Quality};
use beamsight::engine::histories::{Next, RunLength, Until};
use beamsight::engine::mc::{ElectronCut, McRequest, refine};
use beamsight::engine::{Compute, DeviceChoice, JobControl, beam_dose, phantom};
use beamsight::geometry::Volume;
use beamsight::physics::Material::{self, Air, Aluminium, CorticalBone, Lung, Titanium, Water};
use beamsight::physics::{Machine, Patient};
use glam::DVec3;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Layer of a slab phantom.
struct Layer {
    until_mm: f64,
    density_g_cm3: f32,
    material: Material,
}

struct Case {
    name: &'static str,
    machine: &'static str,
    field_mm: f64,
    size_mm: f64,
    spacing_mm: f64,
    /// Layers from the surface on; water behind them.
    layers: &'static [Layer],
}

const fn layer(until_mm: f64, density_g_cm3: f32, material: Material) -> Layer {
    Layer {
        until_mm,
        density_g_cm3,
        material,
    }
}

const SLABS: [Layer; 3] = [
    layer(30.0, 1.0, Water),
    layer(50.0, 2.699, Aluminium),
    layer(120.0, 0.26, Lung),
];
const BONE: [Layer; 2] = [layer(30.0, 1.0, Water), layer(60.0, 1.85, CorticalBone)];
const METAL: [Layer; 2] = [layer(50.0, 1.0, Water), layer(60.0, 4.54, Titanium)];
const GAP: [Layer; 2] = [layer(50.0, 1.0, Water), layer(70.0, 0.0012, Air)];

const WATER: Case = Case {
    name: "water",
    machine: "generic-6mv",
    field_mm: 100.0,
    size_mm: 300.0,
    spacing_mm: 2.5,
    layers: &[],
};

const CASES: [Case; 10] = [
    WATER,
    Case {
        name: "water-4",
        field_mm: 40.0,
        ..WATER
    },
    Case {
        name: "water-1.25",
        spacing_mm: 1.25,
        ..WATER
    },
    Case {
        name: "water-15mv",
        machine: "generic-15mv",
        ..WATER
    },
    Case {
        name: "slabs-4",
        field_mm: 40.0,
        size_mm: 200.0,
        layers: &SLABS,
        ..WATER
    },
    Case {
        name: "slabs-1.5-15mv",
        machine: "generic-15mv",
        field_mm: 15.0,
        size_mm: 200.0,
        layers: &SLABS,
        ..WATER
    },
    Case {
        name: "bone-4",
        field_mm: 40.0,
        size_mm: 150.0,
        layers: &BONE,
        ..WATER
    },
    Case {
        name: "titanium-4",
        field_mm: 40.0,
        size_mm: 150.0,
        layers: &METAL,
        ..WATER
    },
    Case {
        name: "titanium",
        layers: &METAL,
        ..WATER
    },
    Case {
        name: "air-4",
        field_mm: 40.0,
        size_mm: 150.0,
        layers: &GAP,
        ..WATER
    },
];

/// Command line.
struct Words {
    cases: Vec<String>,
    device: DeviceChoice,
    percent: f64,
    histories: u64,
    cpu_histories: u64,
    every: usize,
}

impl Words {
    fn read() -> Fallible<Self> {
        let mut read = Self {
            cases: Vec::new(),
            device: DeviceChoice::default(),
            percent: 1.0,
            histories: 2_000_000_000,
            cpu_histories: 0,
            every: 2,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                // What cargo passes to every bench.
                "--bench" => {}
                "--device" => read.device = value(&mut words)?.parse()?,
                "--percent" => read.percent = value(&mut words)?.parse()?,
                "--histories" => read.histories = value(&mut words)?.parse::<f64>()? as u64,
                "--cpu-histories" => read.cpu_histories = value(&mut words)?.parse::<f64>()? as u64,
                "--every" => read.every = value(&mut words)?.parse::<usize>()?.max(1),
                option if option.starts_with('-') => {
                    return Err(format!("there is no option {option}").into());
                }
                case => read.cases.push(case.to_owned()),
            }
        }
        Ok(read)
    }
}

fn value(words: &mut impl Iterator<Item = String>) -> Fallible<String> {
    words.next().ok_or_else(|| "an option wants a value".into())
}

fn main() -> ExitCode {
    words::end(run())
}

fn run() -> Fallible<()> {
    let words = Words::read()?;
    let device = words.device.resolve()?;
    let chosen = CASES
        .iter()
        .filter(|case| words.cases.is_empty() || words.cases.iter().any(|name| name == case.name));
    for case in chosen {
        print_case(case, &words, &device)?;
    }
    Ok(())
}

impl Case {
    fn voxels(&self) -> usize {
        (self.size_mm / self.spacing_mm).round() as usize
    }

    fn patient(&self) -> Fallible<Arc<Patient>> {
        let voxels = self.voxels();
        let half_mm = 0.5 * voxels as f64 * self.spacing_mm;
        let matter_at = |point_mm: DVec3| {
            let depth_mm = point_mm.y + half_mm;
            let layer = self.layers.iter().find(|layer| depth_mm < layer.until_mm);
            layer.map_or((1.0, Water), |layer| (layer.density_g_cm3, layer.material))
        };
        Ok(phantom::patient(
            DVec3::splat(self.spacing_mm),
            [voxels; 3],
            matter_at,
        )?)
    }

    /// Field with the isocentre 10 cm behind the surface.
    fn beam(&self) -> Beam {
        let half_mm = 0.5 * self.voxels() as f64 * self.spacing_mm;
        let isocentre_mm = DVec3::new(0.0, 100.0 - half_mm, 0.0);
        let jaws = Jaws::symmetric(self.field_mm, self.field_mm);
        Beam::fixed("AP", 1, 0.0, isocentre_mm, jaws, 100.0)
    }
}

/// Dose on the axis by depth, with its standard deviation.
struct AxisDose {
    gy: Vec<f64>,
    sigma_gy: Vec<f64>,
}

fn print_case(case: &Case, words: &Words, device: &Compute) -> Fallible<()> {
    let control = JobControl::new();
    let patient = case.patient()?;
    let machine = Machine::resolve(case.machine)?;
    let beams = vec![(case.beam(), Arc::clone(&machine))];
    let request = McRequest::of_histories(&patient, beams, words.histories);
    print_speed(case, &request, words.percent, device)?;
    let mut columns = vec![("dose, Gy", axis_dose(case, &request, device)?)];
    if words.cpu_histories > 0 {
        let on_cpu = McRequest {
            seed: 77,
            length: RunLength {
                until: Until::Histories(words.cpu_histories),
                ..request.length
            },
            ..request.clone()
        };
        columns.push(("cpu", axis_dose(case, &on_cpu, &Compute::Cpu)?));
    }
    let to_100_kev = McRequest {
        seed: 78,
        electron_cut: ElectronCut::Kev100,
        ..request.clone()
    };
    columns.push(("100 keV", axis_dose(case, &to_100_kev, device)?));
    let by_kernels = DoseRequest {
        patient,
        machine,
        beam: case.beam(),
        grid: Arc::clone(&request.grid),
        quality: Quality::Full,
        dose_to: DoseTo::Medium,
    };
    let dose = beam_dose(DoseEngine::CollapsedCone, &by_kernels, device, &control)?;
    let exact = vec![0.0; dose.gy.data().len()];
    let sigma = Volume::new(Arc::clone(dose.gy.grid()), exact);
    columns.push(("collapsed cone", on_axis(case, &dose.gy, &sigma)));
    print_columns(case, &columns, words.every);
    Ok(())
}

fn print_speed(case: &Case, request: &McRequest, percent: f64, device: &Compute) -> Fallible<()> {
    let to_percent = McRequest {
        length: RunLength {
            until: Until::Uncertainty {
                percent,
                most: 100_000_000_000,
            },
            batch: 1,
            show_every: Duration::MAX,
        },
        ..request.clone()
    };
    let control = JobControl::new();
    for run in ["first", "second"] {
        let start = Instant::now();
        let dose = refine(&to_percent, device, &control, &mut |_| Next::GoOn)?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{} {run} run to {percent} %: {seconds:.3} s, {:.3e} histories, {}, {:.1?}",
            case.name, dose.histories as f64, dose.receipt.device, dose.receipt.phases_ms
        );
    }
    Ok(())
}

fn axis_dose(case: &Case, request: &McRequest, device: &Compute) -> Fallible<AxisDose> {
    let dose = refine(request, device, &JobControl::new(), &mut |_| Next::GoOn)?;
    Ok(on_axis(case, &dose.gy, &dose.sigma_gy))
}

fn on_axis(case: &Case, gy: &Volume<f32>, sigma_gy: &Volume<f32>) -> AxisDose {
    let voxels = case.voxels();
    let half_width = (5.0 / case.spacing_mm).round().max(1.0) as usize;
    let columns = voxels / 2 - half_width..voxels / 2 + half_width;
    let count = (2 * half_width * 2 * half_width) as f64;
    let mut axis = AxisDose {
        gy: Vec::new(),
        sigma_gy: Vec::new(),
    };
    for row in 0..voxels {
        let (mut sum, mut variance) = (0.0, 0.0);
        for slice in columns.clone() {
            for column in columns.clone() {
                sum += f64::from(gy.at(column, row, slice));
                variance += f64::from(sigma_gy.at(column, row, slice)).powi(2);
            }
        }
        axis.gy.push(sum / count);
        axis.sigma_gy.push(variance.sqrt() / count);
    }
    axis
}

fn print_columns(case: &Case, columns: &[(&str, AxisDose)], every: usize) {
    for row in (0..case.voxels()).step_by(every) {
        let depth_mm = (row as f64 + 0.5) * case.spacing_mm;
        print!("{} {depth_mm:7.2} mm", case.name);
        let reference_gy = columns[0].1.gy[row];
        for (index, (name, axis)) in columns.iter().enumerate() {
            let sigma_percent = 100.0 * axis.sigma_gy[row] / axis.gy[row];
            if index == 0 {
                print!("  {name} {reference_gy:.4} +- {sigma_percent:.2} %");
            } else {
                let difference_percent = 100.0 * (reference_gy / axis.gy[row] - 1.0);
                print!("  {name} {difference_percent:+.2} +- {sigma_percent:.2}");
            }
        }
        println!();
    }
}
