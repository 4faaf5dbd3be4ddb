//! Structures: regions of interest as planar contours.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// All structures drawn on one frame of reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StructureSet {
    pub label: String,
    /// Empty where unknown.
    pub frame_of_reference_uid: String,
    pub structures: Vec<Structure>,
    pub uid: Option<String>,
    pub remarks: Vec<super::Remark>,
}

/// One region of interest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Structure {
    pub name: String,
    /// DICOM ROI number; unique in the set.
    pub number: u32,
    pub kind: StructureKind,
    pub colour: Rgb,
    /// Closed planar polygons. On one plane they combine by exclusive-or, so an inner one is a hole.
    pub contours: Vec<Contour>,
    /// Points of interest (POINT contours).
    pub points_mm: Vec<DVec3>,
}

/// A closed planar polygon, patient LPS, mm; the last point joins the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contour {
    pub points_mm: Vec<DVec3>,
    /// SOP instance UID of the image it was drawn on, where known.
    pub image_uid: Option<String>,
}

/// RT ROI interpreted type (3006,00A4), as far as the program treats them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StructureKind {
    External,
    Ptv,
    Ctv,
    Gtv,
    Organ,
    Support,
    #[default]
    Other,
}

/// Display colour, 8 bits a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rgb(pub [u8; 3]);

impl StructureSet {
    /// Finds a structure by name, ignoring case.
    pub fn by_name(&self, name: &str) -> Option<&Structure> {
        self.structures.iter().find(|s| s.name.eq_ignore_ascii_case(name.trim()))
    }
}

impl StructureKind {
    pub const ALL: [Self; 7] =
        [Self::External, Self::Ptv, Self::Ctv, Self::Gtv, Self::Organ, Self::Support, Self::Other];

    /// The DICOM code string.
    pub fn code(self) -> &'static str {
        match self {
            Self::External => "EXTERNAL",
            Self::Ptv => "PTV",
            Self::Ctv => "CTV",
            Self::Gtv => "GTV",
            Self::Organ => "ORGAN",
            Self::Support => "SUPPORT",
            Self::Other => "",
        }
    }

    /// What a structure is by its DICOM type and, where that is silent or plainly generic, by its name.
    pub fn from_code_and_name(code: &str, name: &str) -> Self {
        let upper = name.to_ascii_uppercase();
        let named = |word: &str| upper.split(|c: char| !c.is_ascii_alphabetic()).any(|w| w == word);
        match code.trim() {
            "EXTERNAL" => Self::External,
            "PTV" => Self::Ptv,
            "CTV" => Self::Ctv,
            "GTV" => Self::Gtv,
            "SUPPORT" => Self::Support,
            _ if named("PTV") => Self::Ptv,
            _ if named("CTV") => Self::Ctv,
            _ if named("GTV") => Self::Gtv,
            _ if named("BODY") || named("EXTERNAL") || named("SKIN") => Self::External,
            "ORGAN" | "AVOIDANCE" | "OAR" => Self::Organ,
            _ => Self::Other,
        }
    }

    /// Colour by type, for structures whose file names none.
    pub fn default_colour(self) -> Rgb {
        Rgb(match self {
            Self::External => [120, 190, 130],
            Self::Ptv => [255, 82, 82],
            Self::Ctv => [255, 140, 66],
            Self::Gtv => [255, 196, 61],
            Self::Organ => [88, 166, 255],
            Self::Support => [150, 150, 150],
            Self::Other => [190, 130, 255],
        })
    }
}
