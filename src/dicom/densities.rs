//! Densities that a planner gave structures, as a structure set holds them: ROI Physical Properties (PS3.3 C.8.8.8). Its
//! defined terms name a density relative to water and neither the medium that this program takes at it nor a couch that
//! counts as it was scanned: private terms, which the standard allows beside its defined ones, say these. By them a file of this
//! program is known; where two structures meet and how far a voxel belongs to one are other programs' own rules, so
//! theirs are not taken.

use crate::object::{Attributes as _, Item};
use case::{Density, DensityOverride, Medium, Structure, StructureKind};
use dicom_dictionary_std::tags;

const MASS: &str = "REL_MASS_DENSITY";
const ELECTRONS: &str = "REL_ELEC_DENSITY";
const AS_SCANNED: &str = "AS_SCANNED";
const MEDIUM_OF_TABLE: &str = "MEDIUM_OF_TABLE";
const MEDIA: [(Medium, &str); 5] = [
    (Medium::Air, "MEDIUM_AIR"),
    (Medium::Lung, "MEDIUM_LUNG"),
    (Medium::Water, "MEDIUM_WATER"),
    (Medium::Bone, "MEDIUM_BONE"),
    (Medium::Titanium, "MEDIUM_TITANIUM"),
];

/// Value of a property that its term alone says: the attribute may not be empty.
const SAID: f64 = 1.0;

/// A bolus lies on for some beams and not for others, which no structure set says: it has no density there.
fn has_density(kind: StructureKind) -> bool {
    kind != StructureKind::Bolus
}

/// The density of a structure that a file holds: one that counts.
pub fn density_of_file(structure: &Structure) -> Option<DensityOverride> {
    structure
        .counted_density()
        .filter(|_| has_density(structure.kind))
}

/// Properties that state a density, with their values. Mass is relative to water of 1 g/cm3.
pub fn properties(density_override: &DensityOverride) -> Vec<(&'static str, f64)> {
    let number = match density_override.density {
        Density::AsScanned => return vec![(AS_SCANNED, SAID)],
        Density::MassGCm3(value) => (MASS, value),
        Density::RelativeElectrons(value) => (ELECTRONS, value),
    };
    let medium = MEDIA
        .iter()
        .find(|(medium, _)| Some(*medium) == density_override.medium);
    vec![
        number,
        (medium.map_or(MEDIUM_OF_TABLE, |(_, term)| term), SAID),
    ]
}

/// The medium that a private term names, `Some(None)` for the table's; `None` for another program's term.
fn medium_of_term(stated_term: &str) -> Option<Option<Medium>> {
    match MEDIA.iter().find(|(_, term)| *term == stated_term) {
        Some((medium, _)) => Some(Some(*medium)),
        None => (stated_term == MEDIUM_OF_TABLE).then_some(None),
    }
}

/// The density that properties of a structure state, where this program wrote them and they say it whole.
pub fn stated(properties: &[Item], kind: StructureKind) -> Option<DensityOverride> {
    let terms: Vec<String> = properties
        .iter()
        .map(|item| item.text(tags::ROI_PHYSICAL_PROPERTY))
        .collect::<Option<_>>()?;
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    let value = properties
        .first()?
        .try_number(tags::ROI_PHYSICAL_PROPERTY_VALUE)
        .ok();
    let (density, medium) = match terms[..] {
        [AS_SCANNED] => (Density::AsScanned, None),
        [MASS, term] => (Density::MassGCm3(value?), medium_of_term(term)?),
        [ELECTRONS, term] => (Density::RelativeElectrons(value?), medium_of_term(term)?),
        _ => return None,
    };
    let density_override = DensityOverride {
        density,
        medium,
        off: false,
    };
    (has_density(kind) && density_override.fault().is_none()).then_some(density_override)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dicom_core::{DataElement, VR};

    fn items(properties: &[(&str, f64)]) -> Vec<Item> {
        properties
            .iter()
            .map(|(term, value)| {
                let value = value.to_string();
                Item::from_element_iter([
                    DataElement::new(tags::ROI_PHYSICAL_PROPERTY, VR::CS, *term),
                    DataElement::new(tags::ROI_PHYSICAL_PROPERTY_VALUE, VR::DS, value),
                ])
            })
            .collect()
    }

    #[test]
    fn densities_come_back_as_they_left() {
        let numbers = [0.0, 0.3, 1.92, 25.0];
        let media = [None]
            .into_iter()
            .chain(MEDIA.map(|(medium, _)| Some(medium)));
        let mut overrides = vec![DensityOverride::AS_SCANNED];
        for medium in media {
            for value in numbers {
                for density in [Density::MassGCm3(value), Density::RelativeElectrons(value)] {
                    overrides.push(DensityOverride {
                        density,
                        medium,
                        off: false,
                    });
                }
            }
        }
        for density_override in overrides {
            let properties = properties(&density_override);
            assert!(
                properties.iter().all(|(term, _)| term.len() <= 16),
                "CS has 16 characters"
            );
            assert_eq!(
                stated(&items(&properties), StructureKind::Support),
                Some(density_override)
            );
        }
    }

    /// Another program's density, one that says more, less or the impossible.
    #[test]
    fn a_density_that_is_not_said_whole_is_not_taken() {
        for properties in [
            &[][..],
            &[(MASS, 0.5)],
            &[(ELECTRONS, 0.5)],
            &[("MEDIUM_WATER", 1.0)],
            &[(AS_SCANNED, 1.0), (MASS, 0.5)],
            &[(MASS, 0.5), ("MEDIUM_GOLD", 1.0)],
            &[(MASS, -0.5), ("MEDIUM_WATER", 1.0)],
            &[(MASS, 26.0), ("MEDIUM_WATER", 1.0)],
            &[("EFFECTIVE_Z", 7.0), ("MEDIUM_WATER", 1.0)],
            &[(MASS, 0.5), (ELECTRONS, 0.5), ("MEDIUM_WATER", 1.0)],
        ] {
            assert_eq!(
                stated(&items(properties), StructureKind::Support),
                None,
                "{properties:?}"
            );
        }
    }
}
