//! Structures with densities of their own: tissue in place of the CT's, bolus and couch beside the patient.

use super::beam_job::{is_computed, mask_of};
use case::{Ct, DensityOverride, Plan, Structure, StructureKind, StructureSet};
use engine::{Cancelled, JobControl};
use geometry::{Grid, Mask, MaskError};
use physics::{Given, HuTable, Tissue};
use std::collections::BTreeMap;
use thiserror::Error;

/// A structure that reaches beyond the CT by less is not remarked on, mm.
const BEYOND_MM: f64 = 1.0;

/// The structures of a case with densities of their own, as voxels.
#[derive(Clone, Debug, Default)]
pub struct DensityOverrides {
    /// In the order of the structures: of two in one place the later counts.
    inside: Vec<(Mask, Option<Tissue>)>,
    /// Bolus and couch: where they meet other structures they count.
    beside_tissues: Vec<Option<Tissue>>,
    pub(super) beside: Vec<Mask>,
    /// Bolus and couch that are not counted, a few words each.
    pub(super) caveats: Vec<String>,
}

/// Why a density cannot count.
#[derive(Debug, Error)]
pub enum GivenError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error("the density of '{structure}': {why}")]
    Value { structure: String, why: String },
    #[error("the density of '{structure}': {source}; correct its contours, or switch its density off")]
    Mask { structure: String, source: MaskError },
}

impl DensityOverrides {
    /// Densities of a structure set on the voxels of a CT.
    ///
    /// # Errors
    /// [`GivenError`].
    pub fn new(
        ct: &Ct,
        set: &StructureSet,
        table: &HuTable,
        control: &JobControl,
    ) -> Result<Self, GivenError> {
        let mut made = Self::default();
        // What reaches farthest, by kind: a couch may be of several structures.
        let mut beyond: BTreeMap<&str, f64> = BTreeMap::new();
        let mut reaches = |structure: &Structure, mm: f64| {
            let most_mm = beyond.entry(structure.kind.name()).or_insert(mm);
            *most_mm = most_mm.max(mm);
        };
        for (structure, density) in counted(set) {
            if let Some(why) = density.fault() {
                return Err(GivenError::Value { structure: structure.name.clone(), why });
            }
            let beside = structure.kind.is_beside_patient();
            let mask = match mask_of(ct.hu.grid(), structure, control) {
                Ok(mask) => mask,
                // Inside the body nothing of it is missing.
                Err(MaskError::Outside) if !beside => continue,
                Err(MaskError::Outside) => {
                    reaches(structure, f64::INFINITY);
                    continue;
                }
                Err(source) => {
                    control.check()?;
                    return Err(GivenError::Mask { structure: structure.name.clone(), source });
                }
            };
            if beside && let Some(mm) = beyond_mm(ct.hu.grid(), structure) {
                reaches(structure, mm);
            }
            let tissue = table.of_density(&density);
            if beside {
                made.beside.push(mask);
                made.beside_tissues.push(tissue);
            } else {
                made.inside.push((mask, tissue));
            }
        }
        // No caveat names a structure: a dose outlives their names.
        let caveat = |(kind, mm): (&str, f64)| match (kind.to_lowercase(), mm) {
            (kind, f64::INFINITY) => format!("a {kind} outside the CT not counted"),
            (kind, _) => format!("{mm:.0} mm of a {kind} beyond the CT not counted"),
        };
        made.caveats = beyond.into_iter().map(caveat).collect();
        Ok(made)
    }

    pub(super) fn parts(&self) -> Vec<Given<'_>> {
        let inside = self.inside.iter().map(|(mask, tissue)| (mask, *tissue, false));
        let beside = self.beside.iter().zip(&self.beside_tissues).map(|(mask, tissue)| (mask, *tissue, true));
        let given = |(mask, tissue, is_beside_patient)| Given { mask, tissue, is_beside_patient };
        inside.chain(beside).map(given).collect()
    }
}

/// Structures whose density counts.
fn counted(set: &StructureSet) -> impl Iterator<Item = (&Structure, DensityOverride)> {
    let drawn = set.structures.iter().filter(|s| !s.contours.is_empty());
    drawn.filter_map(|s| Some((s, s.counted_density()?)))
}

/// How far a structure reaches beyond the edges of a grid, mm; `None` where it does not.
fn beyond_mm(grid: &Grid, structure: &Structure) -> Option<f64> {
    let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| grid.edges_mm(axis));
    let ends = edges.map(|e| [e.first().copied().unwrap_or(0.0), e.last().copied().unwrap_or(0.0)]);
    let points = structure.contours.iter().flat_map(|c| &c.points_mm);
    let beyond = |p: glam::DVec3| {
        let p = grid.local_from_patient(p).to_array();
        p.iter().zip(&ends).map(|(v, [low, high])| (low - v).max(v - high)).fold(0.0, f64::max)
    };
    let most = points.map(|p| beyond(*p)).fold(0.0, f64::max);
    (most > BEYOND_MM).then_some(most)
}

/// Boluses that count in dose, by name.
fn included_boluses(set: &StructureSet) -> Vec<&str> {
    counted(set).filter(|(s, _)| s.kind == StructureKind::Bolus).map(|(s, _)| s.name.as_str()).collect()
}

/// Why a dose does not leave as DICOM for its boluses, if one counts in it: a written plan names no bolus, so that elsewhere
/// the dose would be that of a plan without one.
pub fn why_bolus_stays(set: &StructureSet) -> Option<String> {
    let boluses = included_boluses(set);
    let names = boluses.join("', '");
    (!boluses.is_empty())
        .then(|| format!("its dose counts the bolus '{names}', which the written plan would not name"))
}

/// The densities that count in the dose of a plan in place of the CT's, a sentence each; and what has none and takes no part.
pub fn given_words(set: &StructureSet, plan: Option<&Plan>) -> Vec<String> {
    let beams = || plan.into_iter().flat_map(|plan| plan.beams.iter().filter(|b| is_computed(b)));
    let mut words: Vec<String> = counted(set)
        .map(|(s, density)| match s.kind {
            StructureKind::Bolus => {
                let off: Vec<&str> = beams().filter(|b| !b.meets(s)).map(|b| b.name.as_str()).collect();
                let but = if off.is_empty() {
                    String::new()
                } else {
                    format!(", but not for '{}'", off.join("', '"))
                };
                format!("bolus '{}' is included: {density}{but}", s.name)
            }
            StructureKind::Support => format!("support '{}' is included: {density}", s.name),
            _ => format!("'{}' has a density of {density} in place of the CT's", s.name),
        })
        .collect();
    for s in &set.structures {
        match s.density {
            Some(density) if density.off => {
                words.push(format!("the density given to '{}' is switched off", s.name))
            }
            Some(_) if s.contours.is_empty() => {
                words.push(format!("'{}' has a density and no contours: nothing of it counts", s.name));
            }
            None if s.kind == StructureKind::Bolus => {
                words.push(format!("bolus '{}' is not included: it has no density", s.name));
            }
            _ => {}
        }
    }
    words
}
