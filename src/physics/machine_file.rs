//! Machine files: TOML, as `assets/machines/README.md` documents it.

use super::machine::{Calibration, Delivery, Electrons, ExtraFocal, JawModel, Leaves, Machine};
use super::{CouchFactor, Curve, Spectrum};
use case::check_leaf_boundaries;
use input::{MACHINE_BYTES, beginning, from_toml, plain, read_text};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Why a machine cannot be used.
#[derive(Debug, Error)]
pub enum MachineError {
    #[error(
        "there is no machine '{name}'; name one of {shipped}, or the path of a machine file ending in .toml"
    )]
    Unknown { name: String, shipped: String },
    #[error("cannot read the machine file {file}: {source}")]
    Read {
        file: String,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "the machine file {file} is not valid TOML of a machine: {detail}(the format: assets/machines/README.md)"
    )]
    Syntax { file: String, detail: String },
    #[error("machine file {file}, key '{key}': {problem}; {remedy}")]
    Value {
        file: String,
        key: String,
        problem: String,
        remedy: String,
    },
}

macro_rules! asset {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../assets/machines/", $name, ".toml")),
        )
    };
}

/// Name and text of each machine that comes with the program.
const MACHINES: [(&str, &str); 5] = [
    asset!("generic-6mv"),
    asset!("generic-6mv-fff"),
    asset!("generic-10mv"),
    asset!("generic-15mv"),
    asset!("point-6mv"),
];

/// Name and text of each set of leaves that comes with the program.
const LEAVES: [(&str, &str); 2] = [asset!("mlc/millennium120"), asset!("mlc/hd120")];

/// State of the file behind a machine's name, compared with its state at an earlier time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineContents {
    /// Nothing that can change: the machine comes with the program.
    Shipped,
    /// A file, by a hash of its text.
    File(u64),
    /// No file, or none that can be read.
    Unreadable,
}

/// A generic machine's name with this ending is that machine with HD120 leaves.
const HD120: &str = "-hd120";

/// Dose per MU at the calibration's place, Gy. Monitors are set to about 0.01 Gy per MU at reference conditions (AAPM TG-51, IAEA
/// TRS-398); the range leaves room for places far deeper and farther, and none for a dose per 10 or 100 MU.
const GY_PER_MU: [f64; 2] = [1e-4, 0.05];

/// Offsets of leaf tips beyond this are of a leaf bank that is not calibrated, mm.
const MOST_LEAF_OFFSET_MM: f64 = 3.0;

/// Share of the dose that passes a tray or a couch. Trays of 5 to 10 mm of plastic let through 0.95 to 0.98 of a megavoltage beam, couches
/// 0.9 to 0.99; the range refuses percents and the part that is taken.
const PASSING_SHARE: [f64; 2] = [0.5, 1.0];

impl Machine {
    /// Names of the machines that come with the program; the first is the default.
    pub fn shipped() -> Vec<String> {
        let plain = MACHINES.iter().map(|(name, _)| (*name).to_owned());
        let hd120 = MACHINES
            .iter()
            .filter(|(n, _)| n.starts_with("generic"))
            .map(|(name, _)| format!("{name}{HD120}"));
        plain.chain(hd120).collect()
    }

    /// Whether a machine of this name comes with the program.
    pub fn is_shipped(name: &str) -> bool {
        Self::shipped().iter().any(|shipped| shipped == name)
    }

    /// A shipped machine by name, or the machine of a file by its path.
    ///
    /// # Errors
    /// [`MachineError`]: an unknown name, an unreadable file, a value that cannot be.
    pub fn resolve(name_or_path: &str) -> Result<Arc<Self>, MachineError> {
        if Self::is_shipped(name_or_path) {
            // Every preview of a drag asks for its machine.
            static READ: Mutex<Vec<(String, Arc<Machine>)>> = Mutex::new(Vec::new());
            let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, machine)) = read.iter().find(|(name, _)| name == name_or_path) {
                return Ok(Arc::clone(machine));
            }
            let machine = Arc::new(Self::read_shipped(name_or_path)?);
            read.push((name_or_path.to_owned(), Arc::clone(&machine)));
            return Ok(machine);
        }
        let path = Path::new(name_or_path);
        let looks_like_a_path = path.components().count() > 1 || path.extension().is_some();
        if !looks_like_a_path && !path.exists() {
            let shipped = Self::shipped().join(", ");
            return Err(MachineError::Unknown {
                name: name_or_path.to_owned(),
                shipped,
            });
        }
        let text = read_text(path, MACHINE_BYTES).map_err(|source| MachineError::Read {
            file: name_or_path.to_owned(),
            source,
        })?;
        Self::parse(&text, name_or_path).map(Arc::new)
    }

    /// State of the file behind a name or path. Reads the file.
    pub fn contents(name_or_path: &str) -> MachineContents {
        if Self::is_shipped(name_or_path) {
            return MachineContents::Shipped;
        }
        let Ok(text) = read_text(Path::new(name_or_path), MACHINE_BYTES) else {
            return MachineContents::Unreadable;
        };
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        MachineContents::File(hasher.finish())
    }

    fn read_shipped(name: &str) -> Result<Self, MachineError> {
        let base = name.trim_end_matches(HD120);
        let text = MACHINES
            .iter()
            .find(|(n, _)| *n == base)
            .map_or("", |(_, text)| text);
        let mut machine = Self::parse(text, name)?;
        if base != name {
            machine.leaves = Some(shipped_leaves("hd120", name)?);
            machine.name = name.to_owned();
        }
        Ok(machine)
    }

    /// Reads the text of a machine file; `file` is for messages.
    ///
    /// # Errors
    /// [`MachineError`].
    pub fn parse(text: &str, file: &str) -> Result<Self, MachineError> {
        let raw: File = from_toml(text).map_err(|e| MachineError::Syntax {
            file: file.to_owned(),
            detail: beginning(&e.to_string()),
        })?;
        let check = Check { file };
        let spectrum = Spectrum::new(raw.spectrum.energies_mev, raw.spectrum.photons).map_err(
            |(key, problem)| {
                check.fault(
                    &format!("spectrum.{key}"),
                    problem,
                    "give the share of the photons at each energy, in sum 1",
                )
            },
        )?;
        let machine = Self {
            name: raw.name,
            description: raw.description,
            nominal_mv: raw.nominal_mv,
            sad_mm: raw.sad_mm,
            spectrum,
            focal_sigma_mm: raw.focal_source.sigma_mm,
            extra_focal: raw.extra_focal_source,
            off_axis: raw.off_axis.unwrap_or_else(|| Curve::constant(1.0)),
            softening: raw.softening.unwrap_or_else(|| Curve::constant(1.0)),
            electrons: raw.electrons,
            jaws: raw.jaws,
            leaves: leaves_with_offset(raw.mlc, raw.leaf_offset_mm, &check)?,
            calibration: raw.calibration,
            trays: raw.trays,
            couch: raw.couch,
            delivery: raw.delivery,
            not_fitted: raw
                .not_fitted
                .into_iter()
                .chain(not_fitted_in_comments(text))
                .map(plain_text)
                .collect(),
            outside_tolerance: raw.outside_tolerance.into_iter().map(plain_text).collect(),
        };
        machine.check(&check)?;
        Ok(machine)
    }

    fn check(&self, check: &Check) -> Result<(), MachineError> {
        check.range("nominal_mv", self.nominal_mv, 0.5, 50.0)?;
        check.range("sad_mm", self.sad_mm, 100.0, 5000.0)?;
        for sigma in self.focal_sigma_mm {
            check.range("focal_source.sigma_mm", sigma, 0.0, 10.0)?;
        }
        if let Some(s) = &self.extra_focal {
            check.range(
                "extra_focal_source.distance_mm",
                s.distance_mm,
                10.0,
                0.3 * self.sad_mm,
            )?;
            check.range("extra_focal_source.sigma_mm", s.sigma_mm, 1.0, 100.0)?;
            check.range("extra_focal_source.share", s.share, 0.0, 0.5)?;
        }
        for (key, curve) in [("off_axis", &self.off_axis), ("softening", &self.softening)] {
            for p in curve.points() {
                check.range(key, p[1], 1e-3, 10.0)?;
            }
            if (curve.at(0.0) - 1.0).abs() > 1e-3 {
                let problem = format!("the value on the axis is {}", curve.at(0.0));
                return Err(check.fault(key, problem, "give [0.0, 1.0] as the first point"));
            }
        }
        if let Some(e) = &self.electrons {
            check.range("electrons.surface_share", e.surface_share, 0.0, 1.0)?;
            check.range("electrons.range_mm", e.range_mm, 0.1, 200.0)?;
            check.range("electrons.falloff_per_mm", e.falloff_per_mm, 1e-4, 10.0)?;
            check.range("electrons.sigma_mm", e.sigma_mm, 1.0, 500.0)?;
        }
        let below_source = self.extra_focal.map_or(1.0, |s| s.distance_mm + 1.0);
        check.range(
            "jaws.x_distance_mm",
            self.jaws.x_distance_mm,
            below_source,
            0.7 * self.sad_mm,
        )?;
        check.range(
            "jaws.y_distance_mm",
            self.jaws.y_distance_mm,
            below_source,
            0.7 * self.sad_mm,
        )?;
        check.range("jaws.transmission", self.jaws.transmission, 0.0, 0.5)?;
        if let Some(leaves) = &self.leaves {
            leaves.check(check, below_source, 0.7 * self.sad_mm)?;
            // A gap that let through less than its width would be no gap of rounded ends.
            let least_mm = -leaves.rounded_end_mm(self.sad_mm);
            check.range(
                "leaf_offset_mm",
                leaves.offset_mm,
                least_mm,
                MOST_LEAF_OFFSET_MM,
            )?;
            // Joints between leaves may not overlap.
            let widths = leaves.boundaries_mm.windows(2).map(|w| w[1] - w[0]);
            let narrowest_mm =
                widths.fold(f64::INFINITY, f64::min) * leaves.distance_mm / self.sad_mm;
            check.range("mlc.tongue_mm", leaves.tongue_mm, 0.0, narrowest_mm)?;
        }
        if let Calibration::Reference {
            field_mm,
            ssd_mm,
            depth_mm,
            gy_per_mu,
        } = self.calibration
        {
            for side in field_mm {
                check.range("calibration.field_mm", side, 10.0, 400.0)?;
            }
            check.range(
                "calibration.ssd_mm",
                ssd_mm,
                0.5 * self.sad_mm,
                2.0 * self.sad_mm,
            )?;
            check.range("calibration.depth_mm", depth_mm, 1.0, 300.0)?;
            check.range(
                "calibration.gy_per_mu",
                gy_per_mu,
                GY_PER_MU[0],
                GY_PER_MU[1],
            )?;
        }
        check_trays(&self.trays, check)?;
        self.couch.iter().try_for_each(|couch| couch.check(check))?;
        self.delivery
            .iter()
            .try_for_each(|delivery| delivery.check(check))
    }
}

impl Leaves {
    fn check(&self, check: &Check, nearest_mm: f64, farthest_mm: f64) -> Result<(), MachineError> {
        check.range("mlc.distance_mm", self.distance_mm, nearest_mm, farthest_mm)?;
        check.range("mlc.thickness_mm", self.thickness_mm, 10.0, 200.0)?;
        check.range(
            "mlc.end_radius_mm",
            self.end_radius_mm,
            0.5 * self.thickness_mm,
            1000.0,
        )?;
        check.range("mlc.transmission", self.transmission, 1e-6, 0.5)?;
        check.range(
            "mlc.interleaf_transmission",
            self.interleaf_transmission,
            self.transmission,
            0.5,
        )?;
        let key = "mlc.boundaries_mm";
        let sides = check_leaf_boundaries(&self.boundaries_mm);
        sides.map_err(|why| check.fault(key, why.to_string(), "list the sides of the leaves"))?;
        Ok(())
    }
}

fn check_trays(trays: &BTreeMap<String, f64>, check: &Check) -> Result<(), MachineError> {
    for (id, factor) in trays {
        if id.is_empty() || plain(id).trim() != id {
            let problem = format!("'{}' is no identifier of an accessory", plain(id));
            let remedy =
                "write it as plans have it, without spaces at its ends (General Accessory ID)";
            return Err(check.fault("trays", problem, remedy));
        }
        check.range(
            &format!("trays.{id}"),
            *factor,
            PASSING_SHARE[0],
            PASSING_SHARE[1],
        )?;
    }
    Ok(())
}

impl CouchFactor {
    /// A range past gantry 0 is one of which the ends were exchanged: from above no beam comes through the couch.
    fn check(&self, check: &Check) -> Result<(), MachineError> {
        check.range(
            "couch.factor",
            self.factor,
            PASSING_SHARE[0],
            PASSING_SHARE[1],
        )?;
        let key = "couch.gantry_deg";
        let fault = |problem: String| {
            let remedy = "list ranges of gantry angles (IEC 61217) at which beams come through the couch, as [[110.0, 250.0]]";
            Err(check.fault(key, problem, remedy))
        };
        if self.gantry_deg.is_empty() {
            return fault("it has no range".to_owned());
        }
        for [from, to] in &self.gantry_deg {
            if !(0.0 < *from && from < to && *to < 360.0) {
                return fault(format!(
                    "[{from}, {to}] does not rise between 0 and 360 degrees, where the beam comes from above"
                ));
            }
        }
        for pair in self.gantry_deg.windows(2) {
            if pair[1][0] <= pair[0][1] {
                return fault(format!(
                    "the range that begins at {} does not lie behind the one before",
                    pair[1][0]
                ));
            }
        }
        Ok(())
    }
}

impl Delivery {
    /// Ranges reach some ten times beyond the linacs in use: a slip of the unit is refused.
    fn check(&self, check: &Check) -> Result<(), MachineError> {
        check.range(
            "delivery.dose_rate_mu_min",
            self.dose_rate_mu_min,
            1.0,
            20_000.0,
        )?;
        check.range(
            "delivery.gantry_speed_deg_s",
            self.gantry_speed_deg_s,
            0.1,
            60.0,
        )?;
        check.range(
            "delivery.leaf_speed_mm_s",
            self.leaf_speed_mm_s,
            1.0,
            1000.0,
        )?;
        check.range("delivery.min_gap_mm", self.min_gap_mm, 0.0, 20.0)?;
        check.range("delivery.max_span_mm", self.max_span_mm, 10.0, 800.0)
    }
}

impl Leaves {
    /// The sets of leaves that come with the program, each with the source of its layout in its file.
    pub fn shipped() -> Vec<Self> {
        LEAVES
            .iter()
            .filter_map(|(full, _)| shipped_leaves(full.trim_start_matches("mlc/"), full).ok())
            .collect()
    }
}

fn shipped_leaves(name: &str, file: &str) -> Result<Leaves, MachineError> {
    let full = format!("mlc/{name}");
    let Some((_, text)) = LEAVES.iter().find(|(n, _)| *n == full) else {
        return Err(Check { file }.fault(
            "mlc",
            format!("there are no leaves '{name}'"),
            "write \"millennium120\", \"hd120\", or a table [mlc] of your own",
        ));
    };
    from_toml(text).map_err(|e| MachineError::Syntax {
        file: full,
        detail: e.to_string(),
    })
}

/// The name of the shipped set that leaves are, if they are one.
pub(super) fn shipped_leaves_name(leaves: &Leaves) -> Option<&'static str> {
    LEAVES
        .iter()
        .map(|(full, _)| full.trim_start_matches("mlc/"))
        .find(|name| {
            shipped_leaves(name, name).is_ok_and(|shipped| {
                Leaves {
                    offset_mm: leaves.offset_mm,
                    ..shipped
                } == *leaves
            })
        })
}

/// A machine file as it stands on disk.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    description: String,
    nominal_mv: f64,
    sad_mm: f64,
    spectrum: SpectrumTable,
    focal_source: FocalSource,
    extra_focal_source: Option<ExtraFocal>,
    off_axis: Option<Curve>,
    softening: Option<Curve>,
    electrons: Option<Electrons>,
    jaws: JawModel,
    mlc: Option<toml::Value>,
    leaf_offset_mm: Option<f64>,
    calibration: Calibration,
    #[serde(default)]
    trays: BTreeMap<String, f64>,
    couch: Option<CouchFactor>,
    delivery: Option<Delivery>,
    #[serde(default)]
    not_fitted: Vec<String>,
    #[serde(default)]
    outside_tolerance: Vec<String>,
}

/// Numbers that files of fits before the key `not_fitted` call not fitted, in comments.
fn not_fitted_in_comments(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines()
        .filter_map(|line| line.strip_prefix('#')?.trim().strip_prefix("NOT FITTED: "))
        .map(str::to_owned)
}

fn plain_text(text: String) -> String {
    plain(&text).into_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpectrumTable {
    energies_mev: Vec<f64>,
    photons: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FocalSource {
    sigma_mm: [f64; 2],
}

/// Leaves by the name of a shipped set, or spelt out in a table.
fn leaves_of(entry: toml::Value, file: &str) -> Result<Leaves, MachineError> {
    match entry {
        toml::Value::String(name) => shipped_leaves(&name, file),
        table => Leaves::deserialize(table).map_err(|e| MachineError::Syntax {
            file: file.to_owned(),
            detail: format!("in [mlc]: {e} "),
        }),
    }
}

/// Leaves with the offset of their tips, which belongs to a machine and not to a kind of leaves.
fn leaves_with_offset(
    entry: Option<toml::Value>,
    offset_mm: Option<f64>,
    check: &Check<'_>,
) -> Result<Option<Leaves>, MachineError> {
    let leaves = entry
        .map(|entry| leaves_of(entry, check.file))
        .transpose()?;
    match (leaves, offset_mm) {
        (Some(leaves), Some(offset_mm)) => Ok(Some(Leaves {
            offset_mm,
            ..leaves
        })),
        (None, Some(mm)) => {
            let problem = format!("it is {mm}, and the machine has no leaves");
            Err(check.fault(
                "leaf_offset_mm",
                problem,
                "leave it out, or name the leaves (mlc)",
            ))
        }
        (leaves, None) => Ok(leaves),
    }
}

/// Makes the errors of one file.
struct Check<'a> {
    file: &'a str,
}

impl Check<'_> {
    fn fault(&self, key: &str, problem: String, remedy: &str) -> MachineError {
        MachineError::Value {
            file: self.file.to_owned(),
            key: key.to_owned(),
            problem,
            remedy: remedy.to_owned(),
        }
    }

    fn range(&self, key: &str, value: f64, low: f64, high: f64) -> Result<(), MachineError> {
        if (low..=high).contains(&value) {
            return Ok(());
        }
        let remedy = format!("give a value from {low} to {high}");
        Err(self.fault(key, format!("{value} is not possible"), &remedy))
    }
}

#[cfg(test)]
mod tests;
