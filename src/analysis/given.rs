//! Structures with densities of their own: tissue in place of the CT's, bolus and couch beside the patient.

use super::beam_job::{MATTER_G_CM3, is_computed, mask_of};
use super::opening::Opening;
use case::{Ct, DensityOverride, Plan, Reservations, Structure, StructureKind, StructureSet};
use engine::{Cancelled, JobControl};
use geometry::{Grid, Mask, MaskError};
use glam::DVec3;
use physics::{Given, HuTable, Tissue};
use rayon::prelude::*;
use std::collections::BTreeMap;
use thiserror::Error;

/// A structure that reaches beyond the CT by less is not remarked on, mm.
const BEYOND_MM: f64 = 1.0;

/// Distance between places on a contour that are looked for in a field, mm: the width of a leaf.
const OUTLINE_STEP_MM: f64 = 5.0;
/// Most of them on one side of a contour: 10 m.
const MOST_PLACES_A_SIDE: f64 = 2000.0;

/// The structures of a case with densities of their own, as voxels.
#[derive(Clone, Debug, Default)]
pub struct DensityOverrides {
    /// In the order of the structures: of two in one place the later counts.
    inside: Vec<(Mask, Option<Tissue>)>,
    /// Bolus and couch: where they meet other structures they count.
    beside_tissues: Vec<Option<Tissue>>,
    pub(super) beside: Vec<Mask>,
    /// Whether a couch or another support counts that is denser than air.
    pub(super) has_couch: bool,
    /// Bolus and couch that are not counted, a few words each.
    pub(super) caveats: Vec<String>,
    /// Bolus and couch without a density.
    pub(super) without_density: Vec<WithoutDensity>,
    /// Caveats and remarks on the contours of structures that count.
    pub(super) reservations: Reservations,
}

/// A bolus or couch that has contours and no density, or one that is switched off.
#[derive(Clone, Debug)]
pub(super) struct WithoutDensity {
    /// `support`, `bolus`.
    pub kind_word: String,
    /// Places on its contours, patient LPS, mm.
    outline_mm: Vec<DVec3>,
}

impl WithoutDensity {
    fn new(structure: &Structure) -> Self {
        let outline_mm = structure
            .contours
            .iter()
            .flat_map(|c| places_along(&c.points_mm))
            .collect();
        Self {
            kind_word: structure.kind.name().to_lowercase(),
            outline_mm,
        }
    }

    /// Whether some of it lies in the field before the isocentre. Behind the patient it changes little, and a remark says that it does
    /// not count.
    pub(super) fn is_before_patient(&self, openings: &[Opening]) -> bool {
        openings.par_iter().any(|opening| {
            let mut in_front = self
                .outline_mm
                .iter()
                .filter(|place| opening.frame.device_from_patient(**place).z > 0.0);
            in_front.any(|place| opening.beside_mm(*place, 0.0).is_some())
        })
    }
}

/// Places along a closed contour, none farther from the next than [`OUTLINE_STEP_MM`].
fn places_along(points_mm: &[DVec3]) -> Vec<DVec3> {
    let next = points_mm.iter().cycle().skip(1);
    let places = points_mm.iter().zip(next).flat_map(|(from, to)| {
        let count = (from.distance(*to) / OUTLINE_STEP_MM)
            .ceil()
            .clamp(1.0, MOST_PLACES_A_SIDE);
        let (from, step) = (*from, (*to - *from) / count);
        (0..count as usize).map(move |n| from + step * n as f64)
    });
    places.collect()
}

/// Why a density cannot count.
#[derive(Debug, Error)]
pub enum GivenError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error("the density of '{structure}': {why}")]
    Value { structure: String, why: String },
    #[error(
        "the density of '{structure}': {source}; correct its contours, or switch its density off"
    )]
    Mask {
        structure: String,
        source: MaskError,
    },
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
        let without_density = set.structures.iter().filter(|s| is_without_density(s));
        let mut overrides = Self {
            without_density: without_density.map(WithoutDensity::new).collect(),
            ..Self::default()
        };
        // What reaches farthest, by kind: a couch may be of several structures.
        let mut beyond: BTreeMap<&str, f64> = BTreeMap::new();
        let mut reaches = |structure: &Structure, mm: f64| {
            let most_mm = beyond.entry(structure.kind.name()).or_insert(mm);
            *most_mm = most_mm.max(mm);
        };
        for (structure, density) in counted(set) {
            if let Some(why) = density.fault() {
                return Err(GivenError::Value {
                    structure: structure.name.clone(),
                    why,
                });
            }
            overrides.reservations.add(&structure.reservations());
            let is_beside = structure.kind.is_beside_patient();
            let mask = match mask_of(ct.hu.grid(), structure, control) {
                Ok(mask) => mask,
                // Inside the body nothing of it is missing.
                Err(MaskError::Outside) if !is_beside => continue,
                Err(MaskError::Outside) => {
                    reaches(structure, f64::INFINITY);
                    continue;
                }
                Err(source) => {
                    control.check()?;
                    return Err(GivenError::Mask {
                        structure: structure.name.clone(),
                        source,
                    });
                }
            };
            if is_beside && let Some(mm) = beyond_mm(ct.hu.grid(), structure) {
                reaches(structure, mm);
            }
            let tissue = table.of_density(&density);
            if is_beside {
                overrides.has_couch |=
                    structure.kind == StructureKind::Support && is_denser_than_air(tissue);
                overrides.beside.push(mask);
                overrides.beside_tissues.push(tissue);
            } else {
                overrides.inside.push((mask, tissue));
            }
        }
        // No caveat names a structure: a dose outlives their names.
        let caveats = beyond
            .into_iter()
            .map(|(kind, mm)| match (kind.to_lowercase(), mm) {
                (kind, f64::INFINITY) => format!("a {kind} outside the CT not counted"),
                (kind, _) => format!("{mm:.0} mm of a {kind} beyond the CT not counted"),
            });
        overrides.caveats = caveats.collect();
        Ok(overrides)
    }

    pub(super) fn parts(&self) -> Vec<Given<'_>> {
        let inside = self
            .inside
            .iter()
            .map(|(mask, tissue)| (mask, *tissue, false));
        let devices = self
            .beside
            .iter()
            .zip(&self.beside_tissues)
            .map(|(mask, tissue)| (mask, *tissue, true));
        let overrides = inside.chain(devices);
        overrides
            .map(|(mask, tissue, is_beside_patient)| Given {
                mask,
                tissue,
                is_beside_patient,
            })
            .collect()
    }
}

/// Whether a support attenuates: one of the density of air stands for a couch that is left out. As scanned it is taken to.
fn is_denser_than_air(tissue: Option<Tissue>) -> bool {
    tissue.is_none_or(|tissue| tissue.mass_density_g_cm3 > MATTER_G_CM3)
}

/// Whether a structure is a bolus or couch that does not count in dose: it has contours, and no density or one that is switched off.
pub fn is_without_density(structure: &Structure) -> bool {
    structure.kind.is_beside_patient()
        && !structure.contours.is_empty()
        && structure.counted_density().is_none()
}

/// Structures whose density counts.
fn counted(set: &StructureSet) -> impl Iterator<Item = (&Structure, DensityOverride)> {
    let drawn = set.structures.iter().filter(|s| !s.contours.is_empty());
    drawn.filter_map(|s| Some((s, s.counted_density()?)))
}

/// How far a structure reaches beyond the edges of a grid, mm; `None` where it does not.
fn beyond_mm(grid: &Grid, structure: &Structure) -> Option<f64> {
    let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| grid.edges_mm(axis));
    let ends = edges.map(|e| {
        [
            e.first().copied().unwrap_or(0.0),
            e.last().copied().unwrap_or(0.0),
        ]
    });
    let points = structure.contours.iter().flat_map(|c| &c.points_mm);
    let beyond_mm = points.map(|p| {
        let p = grid.local_from_patient(*p).to_array();
        p.iter()
            .zip(&ends)
            .map(|(v, [low, high])| (low - v).max(v - high))
            .fold(0.0, f64::max)
    });
    let farthest_mm = beyond_mm.fold(0.0, f64::max);
    (farthest_mm > BEYOND_MM).then_some(farthest_mm)
}

/// Boluses that count in dose, by name.
fn included_boluses(set: &StructureSet) -> Vec<&str> {
    counted(set)
        .filter(|(s, _)| s.kind == StructureKind::Bolus)
        .map(|(s, _)| s.name.as_str())
        .collect()
}

/// Why a dose does not leave as DICOM for its boluses, if one counts in it: a written plan names no bolus, so that elsewhere
/// the dose would belong to a plan without one.
pub fn why_bolus_stays(set: &StructureSet) -> Option<String> {
    let boluses = included_boluses(set);
    let names = boluses.join("', '");
    (!boluses.is_empty()).then(|| {
        format!("its dose counts the bolus '{names}', which the written plan would not name")
    })
}

/// The densities that count in the dose of a plan in place of the CT's, a sentence each; and what has none and takes no part.
pub fn given_words(set: &StructureSet, plan: Option<&Plan>) -> Vec<String> {
    let beams = || {
        plan.into_iter()
            .flat_map(|plan| plan.beams.iter().filter(|b| is_computed(b)))
    };
    let mut words: Vec<String> = counted(set)
        .map(|(s, density)| match s.kind {
            StructureKind::Bolus => {
                let off: Vec<&str> = beams()
                    .filter(|b| !b.meets(s))
                    .map(|b| b.name.as_str())
                    .collect();
                let but = if off.is_empty() {
                    String::new()
                } else {
                    format!(", but not for '{}'", off.join("', '"))
                };
                format!("bolus '{}' is included: {density}{but}", s.name)
            }
            StructureKind::Support => format!("support '{}' is included: {density}", s.name),
            _ => format!(
                "'{}' has a density of {density} in place of the CT's",
                s.name
            ),
        })
        .collect();
    for s in &set.structures {
        match s.density {
            Some(density) if density.off => {
                words.push(format!("the density given to '{}' is switched off", s.name))
            }
            Some(_) if s.contours.is_empty() => {
                words.push(format!(
                    "'{}' has a density and no contours: nothing of it counts",
                    s.name
                ));
            }
            None if is_without_density(s) => {
                let kind = s.kind.name().to_lowercase();
                words.push(format!(
                    "{kind} '{}' is not included: it has no density",
                    s.name
                ));
            }
            _ => {}
        }
    }
    words
}
