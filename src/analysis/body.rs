//! The body, outside of which nothing counts: how it is chosen, and found in a CT.

use super::beam_job::mask_of;
use case::{Contour, Contours, Ct, Remark, Reservations, Structure, StructureKind, StructureSet};
use engine::{Cancelled, JobControl};
use geometry::{BodyOutline, Mask, MaskError, body_contours};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::str::FromStr;
use thiserror::Error;

/// Skin is found at this CT number.
pub const SKIN_HU: f32 = -350.0;

/// Most parts outside a body that are listed one by one.
const MOST_LISTED: usize = 3;

/// The part of a CT that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyChoice {
    /// The drawn body; without one, as [`Self::Auto`].
    #[default]
    Drawn,
    /// The body found in the CT.
    Auto,
    /// The whole image.
    Everything,
    /// A structure, by number.
    Structure(u32),
}

/// The choice in words: `auto`, `none`, or the name of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyWord {
    Auto,
    None,
    Named(String),
}

impl FromStr for BodyWord {
    type Err = Infallible;

    fn from_str(word: &str) -> Result<Self, Infallible> {
        Ok(match word {
            "auto" => Self::Auto,
            "none" => Self::None,
            name => Self::Named(name.to_owned()),
        })
    }
}

impl BodyWord {
    /// The choice for these structures.
    ///
    /// # Errors
    /// [`BodyError::Unknown`].
    pub fn choice(&self, set: &StructureSet) -> Result<BodyChoice, BodyError> {
        match self {
            Self::Auto => Ok(BodyChoice::Auto),
            Self::None => Ok(BodyChoice::Everything),
            Self::Named(name) => match set.by_name(name) {
                Some(structure) => Ok(BodyChoice::Structure(structure.number)),
                None => {
                    let names: Vec<&str> = set.structures.iter().map(|s| s.name.as_str()).collect();
                    let names = if names.is_empty() {
                        "none".to_owned()
                    } else {
                        names.join(", ")
                    };
                    Err(BodyError::Unknown {
                        name: name.clone(),
                        names,
                    })
                }
            },
        }
    }
}

/// Why there is no body.
#[derive(Debug, Error)]
pub enum BodyError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error("the body is to be '{name}', which is no structure of this case; it has {names}")]
    Unknown { name: String, names: String },
    #[error("the structure that was chosen as the body (number {0}) is gone: choose another")]
    Gone(u32),
    #[error("the body '{structure}': {source}")]
    Mask {
        structure: String,
        source: MaskError,
    },
}

/// The part of a CT that counts, and remarks on it.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// `None`: everything in the image counts.
    pub mask: Option<Mask>,
    pub remarks: Vec<String>,
    /// Caveats and remarks on its contours.
    pub reservations: Reservations,
}

impl Body {
    /// The chosen body, on the voxels of the CT.
    ///
    /// # Errors
    /// [`BodyError`].
    pub fn new(
        ct: &Ct,
        set: &StructureSet,
        choice: BodyChoice,
        control: &JobControl,
    ) -> Result<Self, BodyError> {
        let drawn = match choice {
            BodyChoice::Everything => return Ok(Self::of_whole_image("no body")),
            BodyChoice::Structure(number) => Some(
                set.structures
                    .iter()
                    .find(|s| s.number == number)
                    .ok_or(BodyError::Gone(number))?,
            ),
            BodyChoice::Drawn => body_of(set),
            BodyChoice::Auto => None,
        };
        if let Some(structure) = drawn {
            return Self::of_structure(ct, structure, Vec::new(), control);
        }
        match body_from_ct(ct, set, control)? {
            Some((made, remark)) => Self::of_structure(ct, &made, vec![remark.message], control),
            None => Ok(Self::of_whole_image("no body contour and none to find")),
        }
    }

    fn of_structure(
        ct: &Ct,
        structure: &Structure,
        remarks: Vec<String>,
        control: &JobControl,
    ) -> Result<Self, BodyError> {
        let mask = mask_of(ct.hu.grid(), structure, control).map_err(|source| BodyError::Mask {
            structure: structure.name.clone(),
            source,
        })?;
        Ok(Self {
            mask: Some(mask),
            remarks,
            reservations: structure.reservations(),
        })
    }

    fn of_whole_image(why: &str) -> Self {
        Self {
            remarks: vec![format!("{why}: everything in the image counts")],
            ..Self::default()
        }
    }
}

/// The structure that is drawn as the body.
pub fn body_of(set: &StructureSet) -> Option<&Structure> {
    set.structures
        .iter()
        .find(|s| s.kind == StructureKind::External && !s.contours.is_empty())
}

/// A body for a set without one, found in the CT, with remarks on it; `None` where nothing in it is dense
/// enough.
///
/// # Errors
/// [`Cancelled`].
pub fn body_from_ct(
    ct: &Ct,
    set: &StructureSet,
    control: &JobControl,
) -> Result<Option<(Structure, Remark)>, Cancelled> {
    let outline = body_contours(&ct.hu, SKIN_HU, &|_| !control.is_cancelled()).ok_or(Cancelled)?;
    let remark = remark_on(&outline);
    let contours: Contours = outline
        .contours
        .into_iter()
        .map(|points_mm| Contour {
            points_mm,
            image_uid: None,
        })
        .collect();
    let kind = StructureKind::External;
    let (number, name) = (set.free_number(), set.free_name("BODY"));
    let structure = Structure {
        contours,
        ..Structure::new(name, number, kind)
    };
    Ok((!structure.contours.is_empty()).then_some((structure, remark)))
}

/// The remark that a body was found in the CT, and which parts of the image are outside of it.
fn remark_on(outline: &BodyOutline) -> Remark {
    let text = format!(
        "the body was made from the CT (denser than {SKIN_HU} HU, couch and small things cut off); nothing outside it counts"
    );
    if outline.left_out.is_empty() {
        return Remark::note(
            format!("{text}, and nothing as dense lies there"),
            Vec::new(),
        );
    }
    let mut places: Vec<String> = outline
        .left_out
        .iter()
        .take(MOST_LISTED)
        .map(|part| {
            let [low, high] = part.z_mm;
            format!(
                "{:.0} cm3 {} of it (z {low:.0} to {high:.0} mm)",
                part.volume_cm3, part.side
            )
        })
        .collect();
    let unlisted = outline.left_out.get(MOST_LISTED..).unwrap_or_default();
    if !unlisted.is_empty() {
        let cm3: f64 = unlisted.iter().map(|part| part.volume_cm3).sum();
        places.push(format!(
            "{} smaller parts of {cm3:.0} cm3 together",
            unlisted.len()
        ));
    }
    Remark::warning(
        format!("{text}: left out are {}", places.join(", ")),
        Vec::new(),
    )
}
