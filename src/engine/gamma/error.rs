//! Errors of gamma.

use crate::Cancelled;
use std::fmt;
use thiserror::Error;

/// The dose at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Reference,
    Evaluated,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reference => "reference",
            Self::Evaluated => "evaluated",
        })
    }
}

/// Why a request has no answer. Nothing is computed on a guess.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GammaError {
    #[error(
        "no criterion is given; give a dose difference in % and a distance in mm, like 3 %/3 mm"
    )]
    NoCriterion,
    #[error("the criterion {dose_percent} %/{dta_mm} mm is none: both numbers must be above 0")]
    Criterion { dose_percent: f64, dta_mm: f64 },
    #[error(
        "the normalisation {gy} Gy is not above 0; take the maximum of a reference dose that has one, or type it in Gy"
    )]
    Normalisation { gy: f64 },
    #[error("the lower dose threshold {percent} % is not 0 to 100 % of the normalisation")]
    Threshold { percent: f64 },
    #[error("the maximum gamma {0} is not above 0")]
    MaxGamma(f32),
    #[error("a random subset of 0 points has no gamma; ask for 1 or more")]
    EmptySubset,
    #[error(
        "the {role} dose is {value} at voxel ({i}, {j}, {k}); every voxel must be a finite dose in Gy",
        i = at[0], j = at[1], k = at[2]
    )]
    NotANumber {
        role: Role,
        at: [usize; 3],
        value: f32,
    },
    #[error(
        "the {role} dose is negative, {value} Gy, at voxel ({i}, {j}, {k}); gamma needs doses of 0 Gy or more: export the \
         dose again, or set what is below 0 to 0 where you know why it is there",
        i = at[0], j = at[1], k = at[2]
    )]
    Negative {
        role: Role,
        at: [usize; 3],
        value: f32,
    },
    #[error(
        "the two doses have different frames of reference ({reference} and {evaluated}); register them first, or export both \
         on one image"
    )]
    FrameOfReference {
        reference: String,
        evaluated: String,
    },
    #[error(
        "the {role} dose has {size_x} x {size_y} voxels in a plane; gamma needs 2 x 2 or more to interpolate between"
    )]
    TooSmall {
        role: Role,
        size_x: usize,
        size_y: usize,
    },
    #[error(
        "in the plane, gamma needs doses on parallel planes, and these are turned by {degrees:.2} degrees; compare them in 3D"
    )]
    NotParallel { degrees: f64 },
    #[error(
        "the two planar doses lie {apart_mm:.2} mm apart; a dose on one plane says nothing of another: correct the position \
         of one, or compare with a volume"
    )]
    OtherPlane { apart_mm: f64 },
    #[error(
        "a comparison in one plane needs a dose of one frame, and the reference has {planes}; take 2.5 or 3 dimensions"
    )]
    NotPlanar { planes: usize },
    #[error(
        "the structure was drawn on another grid than the reference dose; rasterise it on the reference dose's grid"
    )]
    OtherGrid,
    #[error(
        "the region has no voxel of the reference dose; choose another structure, or leave it out"
    )]
    EmptyRegion,
    #[error(
        "no voxel of the reference dose{within} reaches the threshold of {threshold_gy:.3} Gy; lower the threshold",
        within = if *in_region { " in the region" } else { "" }
    )]
    NothingToAnalyse { threshold_gy: f64, in_region: bool },
    #[error(
        "the doses do not overlap: all {points} points of the reference lie outside the evaluated dose; they may be of \
         different patients or frames"
    )]
    NoOverlap { points: usize },
    #[error("the {role} dose has {voxels} voxels, and gamma counts up to {most}", most = u32::MAX)]
    TooLarge { role: Role, voxels: usize },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
