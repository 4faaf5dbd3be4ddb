//! Structures: regions of interest as planar contours.

use super::made_of::SOURCES_CHANGED;
use super::names::is_same_but_for_blanks;
use super::palette::free_colour;
use super::planes;
use super::{Contours, Density, DensityOverride, Normalisation, Remark, Reservations};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// All structures drawn on one frame of reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StructureSet {
    pub label: String,
    /// Empty where unknown.
    pub frame_of_reference_uid: String,
    pub structures: Vec<Structure>,
    pub uid: Option<String>,
    pub remarks: Vec<Remark>,
    /// Settings of the set that its plans use and no engine models, a few words each: caveats of their doses.
    pub not_modelled: Vec<String>,
}

/// One region of interest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    pub name: String,
    /// DICOM ROI number; unique in the set.
    pub number: u32,
    pub kind: StructureKind,
    pub colour: Rgb,
    /// Closed planar polygons. On one plane they combine by exclusive-or, so an inner one is a hole.
    pub contours: Contours,
    /// Points of interest (POINT contours).
    pub points_mm: Vec<DVec3>,
    /// Its density for dose calculations, in place of the CT's. A bolus and a support without one take no part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<DensityOverride>,
    /// Remarks of the reader on its contours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// Its name in the file, where another structure of the file has that, too; until it is named anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_name: Option<String>,
    /// The expression that a protocol made it of. It is no object of the plan's files: exports leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<String>,
}

/// A closed planar polygon, patient LPS, mm; the last point joins the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contour {
    pub points_mm: Vec<DVec3>,
    /// SOP instance UID of the image it was drawn on, where known.
    pub image_uid: Option<String>,
}

impl Contour {
    /// Points of one axial plane differ by less along z, mm.
    const FLAT_MM: f64 = 0.05;

    /// z of the axial plane that the contour lies in, in mm; `None` where it is tilted or has fewer than three points.
    pub fn axial_z_mm(&self) -> Option<f64> {
        let z = self.points_mm.first()?.z;
        let is_flat = self
            .points_mm
            .iter()
            .all(|p| (p.z - z).abs() < Self::FLAT_MM);
        (self.points_mm.len() > 2 && is_flat).then_some(z)
    }

    /// Whether it goes round a part of its area twice in one sense, which the even-odd rule leaves out. A keyhole goes round its hole in
    /// the other sense.
    pub fn winds_twice(&self) -> bool {
        planes::winds_twice(&self.points_mm)
    }
}

/// RT ROI interpreted type (3006,00A4), as far as the program treats them apart.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum StructureKind {
    External,
    Ptv,
    Ctv,
    Gtv,
    Organ,
    Support,
    Bolus,
    #[default]
    Other,
}

/// Display colour, 8 bits a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rgb(pub [u8; 3]);

/// A reference to a structure that resolves to none, or to more than one.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReferenceError {
    #[error("the case has no structure '{name}'; it has {known}")]
    Missing { name: String, known: String },
    #[error("{count} structures are called '{name}'; rename all but one")]
    Ambiguous { name: String, count: usize },
}

/// Names are told apart without case and outer blanks.
pub(super) fn is_same_name(a: &str, b: &str) -> bool {
    a.trim().eq_ignore_ascii_case(b.trim())
}

impl Structure {
    /// A structure without contours, in the colour of its kind and with the density of the CT.
    pub fn new(name: impl Into<String>, number: u32, kind: StructureKind) -> Self {
        Self {
            name: name.into(),
            number,
            kind,
            colour: kind.default_colour(),
            contours: Contours::default(),
            points_mm: Vec::new(),
            density: None,
            remarks: Vec::new(),
            shared_name: None,
            made_of: None,
        }
    }

    /// Caveats and remarks on its contours that bear on results made of them.
    pub fn reservations(&self) -> Reservations {
        Reservations::of_remarks(&self.remarks)
    }

    /// The structure at another place, patient LPS, mm.
    #[must_use]
    pub fn moved(&self, by_mm: DVec3) -> Self {
        let contours = self.contours.iter().map(|contour| Contour {
            points_mm: shifted(&contour.points_mm, by_mm),
            image_uid: None,
        });
        Self {
            contours: contours.collect(),
            points_mm: shifted(&self.points_mm, by_mm),
            ..self.clone()
        }
    }

    fn name_in_file(&self) -> &str {
        self.shared_name.as_ref().unwrap_or(&self.name)
    }

    /// The density that counts in dose, where one is given and switched on. Within the patient the CT's density is no override.
    pub fn counted_density(&self) -> Option<DensityOverride> {
        self.density.filter(|density| {
            let counts = self.kind.is_beside_patient() || density.density != Density::AsScanned;
            counts && !density.off
        })
    }
}

fn shifted(points_mm: &[DVec3], by_mm: DVec3) -> Vec<DVec3> {
    points_mm.iter().map(|p| *p + by_mm).collect()
}

impl StructureSet {
    /// Finds a structure by name, ignoring case.
    pub fn by_name(&self, name: &str) -> Option<&Structure> {
        self.all_named(name).next()
    }

    fn all_named(&self, name: &str) -> impl Iterator<Item = &Structure> {
        let name = name.to_owned();
        self.structures
            .iter()
            .filter(move |s| is_same_name(&s.name, &name))
    }

    pub fn by_number(&self, number: u32) -> Option<&Structure> {
        self.structures.iter().find(|s| s.number == number)
    }

    /// The structure a plan is normalised to: by its number where the plan is in a case, else by its name. `None` where
    /// the plan is normalised to none.
    ///
    /// # Errors
    /// [`ReferenceError`].
    pub fn normalised_to(&self, to: &Normalisation) -> Option<Result<&Structure, ReferenceError>> {
        to.structure()
            .map(|(name, number)| self.referenced(number, name))
    }

    /// The structure of a number, else the only one of a name.
    ///
    /// # Errors
    /// [`ReferenceError`].
    pub fn referenced(
        &self,
        number: Option<u32>,
        name: &str,
    ) -> Result<&Structure, ReferenceError> {
        if let Some(structure) = number.and_then(|n| self.by_number(n)) {
            return Ok(structure);
        }
        let mut named = self.all_named(name);
        match (named.next(), named.count()) {
            (Some(structure), 0) => Ok(structure),
            (Some(_), more) => Err(ReferenceError::Ambiguous {
                name: name.to_owned(),
                count: more + 1,
            }),
            (None, _) => {
                let names: Vec<&str> = self.structures.iter().map(|s| s.name.as_str()).collect();
                let existing = if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                };
                Err(ReferenceError::Missing {
                    name: name.to_owned(),
                    known: existing,
                })
            }
        }
    }

    /// A number no structure has.
    pub fn free_number(&self) -> u32 {
        self.structures
            .iter()
            .map(|s| s.number)
            .max()
            .unwrap_or(0)
            .saturating_add(1)
    }

    /// The name itself where it is free, else the name with the first free count behind it.
    pub fn free_name(&self, name: &str) -> String {
        let mut counted = (1..).map(|count| {
            if count == 1 {
                name.to_owned()
            } else {
                format!("{name} {count}")
            }
        });
        counted
            .find(|name| self.by_name(name).is_none())
            .unwrap_or_default()
    }

    /// Why nothing that is meant of a structure can be decided by its contours: not all were read, or another structure has its
    /// name. `None` where it can.
    pub fn doubt(&self, structure: &Structure) -> Option<String> {
        if structure
            .remarks
            .iter()
            .any(|remark| remark.caveat() == Some(SOURCES_CHANGED))
        {
            return Some(format!(
                "{} was {SOURCES_CHANGED}: make the plan anew",
                structure.name
            ));
        }
        if let Some(caveat) = structure.reservations().caveats.first() {
            return Some(format!(
                "{caveat} in the file of {}: correct it, or draw it anew",
                structure.name
            ));
        }
        let name_in_file = structure.name_in_file();
        let others = self
            .structures
            .iter()
            .filter(|s| s.number != structure.number);
        let same = { others }.find(|s| is_same_but_for_blanks(s.name_in_file(), name_in_file))?;
        Some(format!(
            "two structures are called '{}': which is meant? Name one of them ('{}', '{}') anew, or delete it",
            name_in_file.trim(),
            structure.name,
            same.name
        ))
    }

    /// Gives structures with equal names (ignoring case) unique ones; returns the names that were shared.
    pub fn tell_apart(&mut self) -> Vec<String> {
        let mut shared: Vec<String> = Vec::new();
        for index in 1..self.structures.len() {
            let name = self.structures[index].name.clone();
            let taken = self.structures[..index]
                .iter()
                .any(|s| is_same_name(&s.name, &name));
            if taken {
                let free = self.free_name(name.trim());
                let structure = &mut self.structures[index];
                structure.name = free;
                structure.shared_name.get_or_insert_with(|| name.clone());
                if !shared.contains(&name) {
                    shared.push(name);
                }
            }
        }
        shared
    }
}

impl StructureKind {
    pub const ALL: [Self; 8] = [
        Self::External,
        Self::Ptv,
        Self::Ctv,
        Self::Gtv,
        Self::Organ,
        Self::Support,
        Self::Bolus,
        Self::Other,
    ];

    /// Kinds that dose is meant for; the first that a case has is what its plans aim at.
    pub const TARGETS: [Self; 3] = [Self::Ptv, Self::Ctv, Self::Gtv];

    /// A colour for another structure of this kind in a list of these colours: its own, where none looks like it.
    pub fn free_colour(self, used: &[Rgb]) -> Rgb {
        free_colour(used, (self != Self::Other).then(|| self.default_colour()))
    }

    pub fn is_target(self) -> bool {
        Self::TARGETS.contains(&self)
    }

    /// Whether a structure of this kind lies on the patient: with a density it takes part in dose outside the body, too.
    pub fn is_beside_patient(self) -> bool {
        matches!(self, Self::Support | Self::Bolus)
    }

    /// For people; also the name of a new structure of this kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::External => "Body",
            Self::Ptv => "PTV",
            Self::Ctv => "CTV",
            Self::Gtv => "GTV",
            Self::Organ => "Organ",
            Self::Support => "Support",
            Self::Bolus => "Bolus",
            Self::Other => "Other",
        }
    }

    /// The DICOM code string.
    pub fn code(self) -> &'static str {
        match self {
            Self::External => "EXTERNAL",
            Self::Ptv => "PTV",
            Self::Ctv => "CTV",
            Self::Gtv => "GTV",
            Self::Organ => "ORGAN",
            Self::Support => "SUPPORT",
            Self::Bolus => "BOLUS",
            Self::Other => "",
        }
    }

    /// The kind of a structure by its DICOM type and, where that is missing or generic, by its name.
    pub fn from_code_and_name(code: &str, name: &str) -> Self {
        let upper = name.to_ascii_uppercase();
        let words: Vec<&str> = upper.split(|c: char| !c.is_ascii_alphabetic()).collect();
        match code.trim() {
            "EXTERNAL" => Self::External,
            "PTV" => Self::Ptv,
            "CTV" => Self::Ctv,
            "GTV" => Self::Gtv,
            "SUPPORT" => Self::Support,
            "BOLUS" => Self::Bolus,
            _ if words.contains(&"PTV") => Self::Ptv,
            _ if words.contains(&"CTV") => Self::Ctv,
            _ if words.contains(&"GTV") => Self::Gtv,
            _ if words.contains(&"BODY")
                || words.contains(&"EXTERNAL")
                || words.contains(&"SKIN") =>
            {
                Self::External
            }
            "ORGAN" | "AVOIDANCE" | "OAR" => Self::Organ,
            _ => Self::Other,
        }
    }

    /// Colour by kind, for structures whose file has none.
    pub fn default_colour(self) -> Rgb {
        Rgb(match self {
            Self::External => [120, 190, 130],
            Self::Ptv => [255, 82, 82],
            Self::Ctv => [255, 140, 66],
            Self::Gtv => [255, 196, 61],
            Self::Organ => [88, 166, 255],
            Self::Support => [150, 150, 150],
            Self::Bolus => [94, 214, 214],
            Self::Other => [190, 130, 255],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> StructureSet {
        let structures = names
            .iter()
            .zip(1..)
            .map(|(name, n)| Structure::new(*name, n, StructureKind::Other));
        StructureSet {
            structures: structures.collect(),
            ..StructureSet::default()
        }
    }

    #[test]
    fn structures_of_one_name_are_told_apart() {
        let mut set = set(&["PTV", "ptv", "Cord", "PTV 2", "PTV "]);
        assert_eq!(set.tell_apart(), ["ptv", "PTV "]);
        let names: Vec<&str> = set.structures.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["PTV", "ptv 3", "Cord", "PTV 2", "PTV 4"]);
        assert!(set.tell_apart().is_empty());
    }

    fn number_of_structure(
        set: &StructureSet,
        to: &Normalisation,
    ) -> Option<Result<u32, ReferenceError>> {
        set.normalised_to(to).map(|s| s.map(|s| s.number))
    }

    #[test]
    fn a_normalisation_goes_by_number_then_by_a_name_that_only_one_has() {
        let set = set(&["PTV", "Boost", "boost"]);
        let mut to = Normalisation::to_named("ptv", 95.0, 60.0);

        assert_eq!(number_of_structure(&set, &to), Some(Ok(1)));
        to = to.of_structure("ptv", Some(3));
        assert_eq!(number_of_structure(&set, &to), Some(Ok(3)));
        to = Normalisation::to_named("Boost", 95.0, 60.0);
        let error = number_of_structure(&set, &to).unwrap().unwrap_err();
        assert_eq!(
            error,
            ReferenceError::Ambiguous {
                name: "Boost".into(),
                count: 2
            }
        );
        let missing = number_of_structure(&set, &Normalisation::to_named("GTV", 95.0, 60.0))
            .unwrap()
            .unwrap_err()
            .to_string();
        assert!(
            missing.contains("'GTV'") && missing.contains("PTV, Boost, boost"),
            "{missing}"
        );
    }
}
