//! The device that a choice opens; of `auto` the fastest of this machine by a small dose, measured once and remembered until devices,
//! drivers or program change. Without a card, or a cache folder, nothing is measured.

mod measurement;
mod remembered;

use super::{Compute, CudaError, DeviceChoice, DeviceError, cuda, note_card_failure, wgpu};
use measurement::Measurement;
use remembered::{Record, find, store};
use std::path::Path;
use std::sync::OnceLock;

/// A device that `auto` may take.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    choice: DeviceChoice,
    /// The device itself, whatever it is reached through.
    card: String,
    /// As a user reads it.
    name: String,
    driver: String,
}

/// A device that `auto` may take, as measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub choice: DeviceChoice,
    /// As `NVIDIA H100 through CUDA`.
    pub name: String,
    /// Time of the small dose, ms, or why the device has none; `None` where there was no choice to measure for.
    pub ms: Option<Result<f64, String>>,
}

static ORDER: OnceLock<Vec<Measured>> = OnceLock::new();

/// The devices of `auto`, the first to be tried first. What is not remembered is measured at the first call, which takes seconds.
fn order() -> &'static [Measured] {
    ORDER.get_or_init(|| {
        let mut measurement = Measurement::default();
        ordered(
            of_cuda(),
            adapters,
            remembered::file().as_deref(),
            &mut |choice| measurement.ms(choice),
        )
    })
}

/// The devices of `auto` where they are known by now, the first to be tried first: for a list that cannot wait.
pub fn automatic_order() -> &'static [Measured] {
    ORDER.get().map_or(&[], Vec::as_slice)
}

/// The first card.
fn of_cuda() -> Option<Candidate> {
    match cuda::cards() {
        Ok(cards) => cards.first().map(|card| Candidate {
            choice: DeviceChoice::Cuda(card.ordinal),
            card: card.name.clone(),
            name: format!("{} through CUDA", card.name),
            driver: card.driver.to_string(),
        }),
        Err(error) => {
            note_unless_absent(error.into());
            None
        }
    }
}

/// Graphics devices; software is never among them.
fn adapters() -> Vec<Candidate> {
    let cards = wgpu::adapters()
        .unwrap_or_default()
        .iter()
        .filter(|adapter| !adapter.is_software);
    cards
        .map(|adapter| Candidate {
            choice: DeviceChoice::Wgpu(Some(adapter.ordinal)),
            card: adapter.name.clone(),
            name: format!("{} through {}", adapter.name, adapter.way()),
            driver: adapter.driver.clone(),
        })
        .collect()
}

fn cpu() -> Candidate {
    let threads = rayon::current_num_threads();
    let (card, name) = ("CPU".to_owned(), format!("CPU, {threads} threads"));
    Candidate {
        choice: DeviceChoice::Cpu,
        card,
        name,
        driver: String::new(),
    }
}

fn note_unless_absent(error: DeviceError) {
    match error {
        DeviceError::Cuda(absent @ (CudaError::NoDriver | CudaError::NoCard)) => {
            tracing::info!("computing without CUDA: {absent}");
        }
        error => note_card_failure("computing", error),
    }
}

/// Candidates by time, those that fail last. Where a card of CUDA is known to be the fastest, graphics devices are not even looked for,
/// since their drivers take long to answer.
fn ordered(
    of_cuda: Option<Candidate>,
    adapters: impl FnOnce() -> Vec<Candidate>,
    file: Option<&Path>,
    measure: &mut dyn FnMut(DeviceChoice) -> Result<f64, DeviceError>,
) -> Vec<Measured> {
    let plain: Vec<Candidate> = of_cuda.into_iter().chain([cpu()]).collect();
    let Some(file) = file else {
        return plain.iter().map(|one| one.measured(None)).collect();
    };
    let of_plain = key(&plain);
    let remembered = find(file, &of_plain);
    if let Some(order) = remembered
        .as_ref()
        .and_then(Record::order)
        .filter(|order| order[0].is_of_cuda())
    {
        return order;
    }
    let adapters = adapters();
    let of_adapters = key(&adapters);
    if let Some(record) = remembered.filter(|record| record.adapters == of_adapters)
        && let Some(order) = record.order()
    {
        return order;
    }
    let mut candidates = plain;
    let last = candidates.len() - 1;
    candidates.splice(last..last, adapters);
    if let [only] = &candidates[..] {
        return vec![only.measured(None)];
    }
    let (mut measured_cards, mut order) = (Vec::<&str>::new(), Vec::new());
    for candidate in &candidates {
        // A card has all jobs through CUDA: it is not measured once more.
        if measured_cards.contains(&candidate.card.as_str()) {
            continue;
        }
        let ms = measure(candidate.choice).map_err(|error| {
            let why = error.to_string();
            note_card_failure("computing", error);
            why
        });
        if ms.is_ok() {
            measured_cards.push(&candidate.card);
        }
        tracing::info!("a small dose by {}: {ms:?} ms", candidate.name);
        order.push(candidate.measured(Some(ms)));
    }
    order.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
    // One that fails has another try at the next start.
    if order.iter().all(Measured::works)
        && let Err(error) = store(file, of_plain, Record::new(of_adapters, &order))
    {
        tracing::debug!(
            "times of devices are not kept in {}: {error}",
            file.display()
        );
    }
    order
}

/// Program, devices and drivers.
fn key(candidates: &[Candidate]) -> String {
    let devices = candidates
        .iter()
        .map(|c| format!("; {} {} {}", c.choice, c.name, c.driver));
    format!(
        "beamsight {}{}",
        env!("CARGO_PKG_VERSION"),
        devices.collect::<String>()
    )
}

impl Candidate {
    fn measured(&self, ms: Option<Result<f64, String>>) -> Measured {
        Measured {
            choice: self.choice,
            name: self.name.clone(),
            ms,
        }
    }
}

impl Measured {
    /// By time; what fails goes last.
    fn rank(&self) -> f64 {
        match &self.ms {
            Some(Ok(ms)) => *ms,
            Some(Err(_)) => f64::INFINITY,
            None => 0.0,
        }
    }

    fn works(&self) -> bool {
        !matches!(self.ms, Some(Err(_)))
    }

    fn is_of_cuda(&self) -> bool {
        matches!(self.choice, DeviceChoice::Cuda(_))
    }
}

/// The first that opens; the CPU always does.
fn first_that_opens(choices: impl IntoIterator<Item = DeviceChoice>) -> Compute {
    for choice in choices {
        match choice.resolve() {
            Ok(device) => return device,
            Err(error) => note_unless_absent(error),
        }
    }
    Compute::Cpu
}

impl DeviceChoice {
    /// The device that will compute. Opens a card at the first asking, which takes some tenths of a second; `Auto` may measure first.
    ///
    /// # Errors
    /// The requested card is absent or cannot be opened. `Auto` then takes the next.
    pub fn resolve(self) -> Result<Compute, DeviceError> {
        match self {
            Self::Cpu => Ok(Compute::Cpu),
            Self::AllCuda => Ok(Compute::Cuda(cuda::Device::open(0)?)),
            Self::Cuda(ordinal) => Ok(Compute::Cuda(cuda::Device::open(ordinal)?)),
            Self::Wgpu(ordinal) => Ok(Compute::Wgpu(wgpu::Device::open(ordinal)?)),
            Self::Auto => Ok(first_that_opens(
                order()
                    .iter()
                    .filter(|one| one.works())
                    .map(|one| one.choice),
            )),
        }
    }

    /// Opens a device that is named, so that what it lacks is said before any work. `Auto` always has one, and is not measured for that.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn check(self) -> Result<(), DeviceError> {
        if self == Self::Auto {
            Ok(())
        } else {
            self.resolve().map(drop)
        }
    }

    /// As [`Self::resolve`], for a job that only CUDA and the CPU have a form of: `Auto` is a card of CUDA where there is one.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_for_cuda(self) -> Result<Compute, DeviceError> {
        match self {
            Self::Auto => Ok(first_that_opens([Self::Cuda(0)])),
            _ => self.resolve(),
        }
    }

    /// Whether doses are computed by a card, of either kind, as far as is known by now; no card is opened.
    pub fn is_for_a_card(self) -> bool {
        match (self, automatic_order()) {
            (Self::Auto, [first, ..]) => first.choice != Self::Cpu,
            _ => self.is_for_cuda() || matches!(self, Self::Wgpu(_)),
        }
    }

    /// Whether the jobs that only CUDA has a form of are computed by a card; no card is opened.
    pub fn is_for_cuda(self) -> bool {
        let wants = matches!(self, Self::Auto | Self::AllCuda | Self::Cuda(_));
        wants && cuda::cards().is_ok_and(|cards| !cards.is_empty())
    }

    /// The devices of [`Self::spread_if`], ready, for a job that only CUDA and the CPU have a form of.
    ///
    /// # Errors
    /// As [`Self::resolve`]. `Auto` makes do with less where not every card can be opened.
    pub fn resolve_all(self, many: bool) -> Result<Vec<Compute>, DeviceError> {
        let devices: Result<Vec<_>, _> = self
            .spread_if(many)
            .into_iter()
            .map(Self::resolve_for_cuda)
            .collect();
        if self == Self::Auto && devices.is_err() {
            self.resolve_for_cuda().map(|one| vec![one])
        } else {
            devices
        }
    }

    /// As [`Self::spread`], but `Auto` is one device where the work is not `many` jobs.
    pub fn spread_if(self, many: bool) -> Vec<Self> {
        // Opening a second card costs more than it saves for a few beams or under 1e8 histories.
        if self == Self::Auto && !many {
            vec![self]
        } else {
            self.spread()
        }
    }

    /// The same wish for each device over which jobs that do not depend on each other are spread; one or more.
    pub fn spread(self) -> Vec<Self> {
        match (self, cuda::cards()) {
            (Self::Auto | Self::AllCuda, Ok(cards)) if cards.len() > 1 => {
                cards.iter().map(|card| Self::Cuda(card.ordinal)).collect()
            }
            _ => vec![self],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use input::DEVICES_BYTES;
    use std::fs;
    use std::path::PathBuf;

    const GEFORCE: DeviceChoice = DeviceChoice::Cuda(0);
    const THE_SAME: DeviceChoice = DeviceChoice::Wgpu(Some(0));
    const RADEON: DeviceChoice = DeviceChoice::Wgpu(Some(1));

    fn candidate(choice: DeviceChoice, card: &str, way: &str) -> Candidate {
        let (card, driver) = (card.to_owned(), "1.2".to_owned());
        Candidate {
            choice,
            name: format!("{card} through {way}"),
            card,
            driver,
        }
    }

    fn geforce() -> Option<Candidate> {
        Some(candidate(GEFORCE, "GeForce", "CUDA"))
    }

    fn both() -> Vec<Candidate> {
        vec![
            candidate(THE_SAME, "GeForce", "Vulkan"),
            candidate(RADEON, "Radeon", "Vulkan"),
        ]
    }

    fn choices(order: &[Measured]) -> Vec<DeviceChoice> {
        order.iter().map(|measured| measured.choice).collect()
    }

    /// Times of the GeForce, the Radeon and the CPU, and what was measured, in order.
    fn by_times(
        times: [f64; 3],
        measured: &mut Vec<DeviceChoice>,
    ) -> impl FnMut(DeviceChoice) -> Result<f64, DeviceError> + '_ {
        move |choice| {
            measured.push(choice);
            match choice {
                GEFORCE => Ok(times[0]),
                RADEON => Ok(times[1]),
                DeviceChoice::Cpu => Ok(times[2]),
                other => Err(DeviceError::Driver {
                    device: other,
                    why: "it fails".to_owned(),
                }),
            }
        }
    }

    fn never(choice: DeviceChoice) -> Result<f64, DeviceError> {
        panic!("{choice} is measured")
    }

    fn place(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("beamsight-devices-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder.join("devices.json")
    }

    #[test]
    fn the_fastest_goes_first_and_is_remembered_for_these_devices() {
        let file = place("order");
        let mut measured = Vec::new();
        let first = ordered(
            geforce(),
            both,
            Some(&file),
            &mut by_times([5.0, 3.0, 80.0], &mut measured),
        );
        assert_eq!(choices(&first), [RADEON, GEFORCE, DeviceChoice::Cpu]);
        assert_eq!(
            measured,
            [GEFORCE, RADEON, DeviceChoice::Cpu],
            "the GeForce once"
        );
        assert_eq!(ordered(geforce(), both, Some(&file), &mut never), first);
        let mut measured = Vec::new();
        let again = ordered(
            geforce(),
            || {
                vec![Candidate {
                    driver: "1.3".to_owned(),
                    ..both().remove(1)
                }]
            },
            Some(&file),
            &mut by_times([2.0, 3.0, 9.0], &mut measured),
        );
        assert_eq!(choices(&again), [GEFORCE, RADEON, DeviceChoice::Cpu]);
        assert_eq!(measured.len(), 3);
        // Now that it is a card of CUDA, no other is looked for.
        let looked_for = || panic!("drivers are asked");
        assert_eq!(
            ordered(geforce(), looked_for, Some(&file), &mut never),
            again
        );
        assert_eq!(
            choices(&ordered(None, Vec::new, Some(&file), &mut never)),
            [DeviceChoice::Cpu]
        );
        fs::remove_dir_all(file.parent().expect("a folder")).expect("written");
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let file = place("damaged");
        let measure = |times| {
            ordered(
                geforce(),
                both,
                Some(&file),
                &mut by_times(times, &mut Vec::new()),
            )
        };
        measure([5.0, 3.0, 80.0]);
        let intact = fs::read_to_string(&file).expect("written");
        let (unknown, no_cpu) = (
            intact.replace("wgpu:1", "wgpu:x"),
            intact.replace("\"cpu\"", "\"cuda:0\""),
        );
        let circular = intact.replace("wgpu:1", "auto");
        let long = intact.clone() + &" ".repeat(DEVICES_BYTES as usize);
        let damaged = [
            &intact[..intact.len() / 2],
            "",
            "[1, 2]",
            "\u{0}\u{1}",
            &unknown,
            &no_cpu,
            &circular,
            &long,
        ];
        for text in damaged {
            fs::write(&file, text).expect("written");
            assert_eq!(
                choices(&measure([1.0, 3.0, 80.0])),
                [GEFORCE, RADEON, DeviceChoice::Cpu],
                "{text}"
            );
        }
        fs::remove_dir_all(file.parent().expect("a folder")).expect("written");
    }

    /// A card that fails is never taken, keeps its reason, and is tried again at the next start; its other form stands in.
    #[test]
    fn a_device_that_fails_is_left_out_with_its_reason() {
        let file = place("failing");
        let order = ordered(geforce(), both, Some(&file), &mut |choice| match choice {
            DeviceChoice::Cpu => Ok(50.0),
            THE_SAME => Ok(9.0),
            device => Err(DeviceError::Wrong {
                device,
                percent: 3.0,
            }),
        });
        let works: Vec<Measured> = order.iter().filter(|one| one.works()).cloned().collect();
        assert_eq!(choices(&works), [THE_SAME, DeviceChoice::Cpu]);
        let reason = order
            .iter()
            .find(|one| one.choice == RADEON)
            .and_then(|one| one.ms.clone());
        assert!(matches!(reason, Some(Err(why)) if why.contains("3.0 %")));
        assert!(!file.exists());
    }

    #[test]
    fn without_a_card_or_a_cache_nothing_is_measured() {
        let file = place("alone");
        assert_eq!(
            choices(&ordered(None, Vec::new, Some(&file), &mut never)),
            [DeviceChoice::Cpu]
        );
        let order = ordered(geforce(), || panic!("drivers are asked"), None, &mut never);
        assert_eq!(choices(&order), [GEFORCE, DeviceChoice::Cpu]);
        assert!(!file.exists());
    }

    #[test]
    fn what_names_one_device_is_not_spread() {
        for one in [
            DeviceChoice::Cpu,
            DeviceChoice::Cuda(1),
            DeviceChoice::Wgpu(None),
        ] {
            assert_eq!(one.spread(), [one]);
        }
        let cards = cuda::cards().map_or(0, <[cuda::Card]>::len);
        assert_eq!(DeviceChoice::AllCuda.spread().len(), cards.max(1));
        assert_eq!(DeviceChoice::Auto.spread().len(), cards.max(1));
        assert_eq!(DeviceChoice::AllCuda.spread_if(false).len(), cards.max(1));
        assert_eq!(DeviceChoice::Auto.spread_if(false), [DeviceChoice::Auto]);
    }

    #[test]
    fn auto_always_finds_a_device() {
        assert!(DeviceChoice::Auto.resolve().is_ok());
        assert!(
            DeviceChoice::Auto
                .resolve_all(true)
                .is_ok_and(|all| !all.is_empty())
        );
        assert!(matches!(
            DeviceChoice::Cpu.resolve_all(true).as_deref(),
            Ok([Compute::Cpu])
        ));
        assert!(matches!(DeviceChoice::Cpu.resolve(), Ok(Compute::Cpu)));
        let absent = DeviceChoice::Cuda(1000)
            .resolve()
            .expect_err("no machine has so many");
        assert!(
            absent.to_string().contains("--device cpu")
                || absent.to_string().contains("this machine has")
        );
    }
}
