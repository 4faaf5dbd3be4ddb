//! Structures made of others by calculation: margins, booleans, crops, clean-up, planes between drawn ones, HU.

mod around;
mod bolus;
mod cleared;
mod expression;
mod hu;

#[cfg(test)]
mod tests;

pub use around::{drawn_of, lungs};
pub use bolus::{BEYOND_FIELD_MM, BolusOver, EntranceField};
pub use cleared::Cleared;
pub use expression::contours_of_expression;

use case::{Contour, Contours, Ct, Structure, StructureKind, StructureSet};
use engine::JobControl;
use geometry::polygons::{self, Boolean, Ring};
use geometry::{Grid, Margins, Plane, Stack, StackError, interpolated, shrunk_or_grown, smoothed};
use glam::DVec3;
use thiserror::Error;

/// Planes closer than this are one, mm.
const SAME_PLANE_MM: f64 = 0.1;

/// Sides of the patient, in the order of [`Operation::Margin`].
pub const SIDES: [&str; 6] = [
    "Left",
    "Right",
    "Anterior",
    "Posterior",
    "Superior",
    "Inferior",
];

/// How a structure is made of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// Distances towards the [`SIDES`], mm, none negative.
    Margin {
        grow: bool,
        mm: [f64; 6],
    },
    /// With the structure of this number.
    Boolean {
        how: Boolean,
        other: u32,
    },
    /// The part inside (or outside) the structure of this number, and further than a distance from its surface.
    Crop {
        inside: bool,
        other: u32,
        distance_mm: f64,
    },
    Smooth {
        mm: f64,
    },
    /// Fills holes smaller than this on their plane.
    RemoveHoles {
        below_cm2: f64,
    },
    /// Removes parts smaller than this on their plane.
    RemoveParts {
        below_cm2: f64,
    },
    /// Fills the CT's planes between drawn ones.
    Interpolate,
    /// Copies the contours of the plane at a position onto the next plane of the CT, replacing what is there.
    CopySlice {
        at_mm: DVec3,
        superior: bool,
    },
    /// Clears a slice at a position, or all beyond it, along an axis of the patient.
    Clear {
        at_mm: DVec3,
        axis: usize,
        part: Cleared,
    },
    /// The volume from one distance to another away from the structure, or from all of a type, inside of another structure.
    Ring {
        mm: [f64; 2],
        round_all: Option<StructureKind>,
        inside: Option<u32>,
    },
    /// The structure, with another where one is named, without all structures of a type.
    Without {
        with: Option<u32>,
        minus: StructureKind,
    },
    /// The part of the structure within CT numbers.
    Threshold {
        hu: [f32; 2],
    },
    /// The part of the structure within CT numbers that hangs together with a position.
    Grow {
        hu: [f32; 2],
        from_mm: DVec3,
    },
    /// A layer on the structure, which is the body.
    Bolus {
        thickness_mm: f64,
        over: BolusOver,
    },
}

/// Contours that were made, and what the user should know of them.
#[derive(Clone, Debug)]
pub struct MadeContours {
    pub contours: Contours,
    /// The change that was made, where that is not plain to see.
    pub done: Option<String>,
    /// Reservations.
    pub remarks: Vec<String>,
}

/// Why none were made.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ContouringError {
    #[error("cancelled")]
    Cancelled,
    #[error("a structure it is made of is gone")]
    Gone,
    #[error("no structure is called '{0}'")]
    Unknown(String),
    #[error("no body is drawn, and none is found in the CT")]
    NoBody,
    #[error("no structure is named as a lung, or as both")]
    NoLungs,
    #[error("'{0}' has no closed contour")]
    NoContours(String),
    #[error("'{0}' cannot be used: {1}")]
    Stack(String, StackError),
    #[error("nothing of '{0}' is left")]
    Nothing(String),
    #[error("'{0}' is thinner than the margin everywhere: nothing is left")]
    TooThin(String),
    #[error("'{0}' has nothing there")]
    NothingThere(String),
    #[error(
        "a ring must end further out than it begins, and between 0 and {} mm",
        MOST_MARGIN_MM
    )]
    Ring,
    #[error("nothing of the ring lies inside")]
    NoRing,
    #[error("no structure of type {0} has contours")]
    NoneOf(&'static str),
    #[error("'{0}' has no contour on the slice at the crosshair")]
    NoSlice(String),
    #[error("the CT has no slice beyond this one")]
    LastSlice,
    #[error("'{0}' has a contour on every slice of the CT between its ends already")]
    NothingMissing(String),
    #[error("the CT lies oblique to the patient: a margin must be the same in all directions")]
    Oblique,
    #[error("no bolus lies on '{0}' there: take it over more of the body")]
    NoBolus(String),
    #[error("a margin must be between 0 and {} mm", MOST_MARGIN_MM)]
    Margin,
    #[error("the limits of the CT numbers are no range: the lower one must be below the upper one")]
    Range,
    #[error("no voxel of '{structure}' has {low} to {high} HU")]
    NoHu {
        structure: String,
        low: f32,
        high: f32,
    },
    #[error("the crosshair is at {at:.0} HU, outside of {low} to {high} HU")]
    SeedHu { at: f32, low: f32, high: f32 },
    #[error("the crosshair lies outside of '{0}'")]
    SeedOutside(String),
}

/// Largest margin, mm.
pub const MOST_MARGIN_MM: f64 = 100.0;

impl Operation {
    /// ROI numbers of the other structures it is made of.
    pub fn others(&self, set: &StructureSet) -> Vec<u32> {
        match *self {
            Self::Boolean { other, .. }
            | Self::Crop { other, .. }
            | Self::Bolus {
                over: BolusOver::Structure { number: other, .. },
                ..
            } => vec![other],
            Self::Ring {
                round_all, inside, ..
            } => round_all
                .map(|kind| drawn_of(set, kind))
                .into_iter()
                .flatten()
                .chain(inside)
                .collect(),
            Self::Without { with, minus } => with.into_iter().chain(drawn_of(set, minus)).collect(),
            _ => Vec::new(),
        }
    }

    /// Name of the operation, for the list of jobs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Margin { .. } => "Margin",
            Self::Boolean { .. } => "Boolean",
            Self::Crop { .. } => "Crop",
            Self::Smooth { .. } => "Smooth",
            Self::RemoveHoles { .. } => "Remove holes",
            Self::RemoveParts { .. } => "Remove small parts",
            Self::Interpolate => "Interpolate",
            Self::CopySlice { .. } => "Copy slice",
            Self::Clear {
                part: Cleared::Slice,
                ..
            } => "Clear slice",
            Self::Clear { .. } => "Delete beyond the slice",
            Self::Ring { .. } => "Ring",
            Self::Without { .. } => "Organ without target",
            Self::Threshold { .. } => "Threshold",
            Self::Grow { .. } => "Region growing",
            Self::Bolus { .. } => "Bolus",
        }
    }
}

/// Makes contours of a structure, by number.
///
/// # Errors
/// [`ContouringError`].
pub fn made_of(
    ct: &Ct,
    set: &StructureSet,
    number: u32,
    operation: Operation,
    control: &JobControl,
) -> Result<MadeContours, ContouringError> {
    let context = OperationContext::new(ct, control);
    let (structure, stack) = context.stack(set, number)?;
    let nothing = || ContouringError::Nothing(structure.name.clone());
    match operation {
        Operation::Margin { grow, mm } => {
            let planes = context.with_margin(&stack, grow, mm)?;
            let result = context.clipped(planes, &stack, if grow { mm } else { [0.0; 6] });
            let empty = if grow {
                nothing()
            } else {
                ContouringError::TooThin(structure.name.clone())
            };
            if result.contours.is_empty() {
                Err(empty)
            } else {
                Ok(result)
            }
        }
        Operation::Boolean { how, other } => {
            let (_, other) = context.stack(set, other)?;
            context.finished(context.combined(&stack, &other, how)?, nothing)
        }
        Operation::Crop {
            inside,
            other,
            distance_mm,
        } => {
            let (_, mut other) = context.stack(set, other)?;
            if distance_mm > 0.0 {
                let planes = context.with_margin(&other, !inside, [distance_mm; 6])?;
                other = context.restacked(&planes)?;
            }
            let how = if inside {
                Boolean::Intersection
            } else {
                Boolean::Difference
            };
            context.finished(context.combined(&stack, &other, how)?, nothing)
        }
        Operation::Smooth { mm } => {
            let planes = smoothed(&stack, mm.clamp(0.1, 20.0), &context.progress());
            context.finished(
                planes.map_err(|e| context.refused(&structure.name, e))?,
                nothing,
            )
        }
        Operation::RemoveHoles { below_cm2 } => {
            let planes = context.each(&stack, |rings| {
                polygons::without_holes(rings, below_cm2 * 100.0)
            })?;
            context.finished(planes, nothing)
        }
        Operation::RemoveParts { below_cm2 } => {
            let planes = context.each(&stack, |rings| {
                polygons::without_small_parts(rings, below_cm2 * 100.0)
            })?;
            context.finished(planes, nothing)
        }
        Operation::Interpolate => {
            let mut missing = context.grid.planes_mm().to_vec();
            missing.retain(|z| {
                !stack
                    .planes
                    .iter()
                    .any(|p| (p.z_mm - z).abs() < SAME_PLANE_MM)
            });
            let planes = interpolated(&stack, &missing, &context.progress());
            let planes = planes.map_err(|e| context.refused(&structure.name, e))?;
            if planes.is_empty() {
                return Err(ContouringError::NothingMissing(structure.name.clone()));
            }
            let slices = if planes.len() == 1 { "slice" } else { "slices" };
            Ok(MadeContours {
                contours: structure
                    .contours
                    .replaced(|_| false, context.contours(&planes)),
                done: Some(format!(
                    "{} {slices} between drawn ones are interpolated",
                    planes.len()
                )),
                remarks: Vec::new(),
            })
        }
        Operation::CopySlice { at_mm, superior } => {
            context.copied(structure, &stack, at_mm, superior)
        }
        Operation::Clear { at_mm, axis, part } => {
            context.cleared(structure, &stack, at_mm, axis, part)
        }
        Operation::Ring {
            mm,
            round_all: Some(kind),
            inside,
        } => context.ring(set, &context.all_of(set, kind)?, mm, inside),
        Operation::Ring {
            mm,
            round_all: None,
            inside,
        } => context.ring(set, &stack, mm, inside),
        Operation::Without { with, minus } => context.without(set, structure, &stack, with, minus),
        Operation::Threshold { hu } => context.threshold(structure, &stack, hu),
        Operation::Grow { hu, from_mm } => context.region(structure, &stack, hu, from_mm),
        Operation::Bolus { thickness_mm, over } => {
            context.bolus(set, structure, &stack, thickness_mm, over)
        }
    }
}

/// Inputs of every operation.
struct OperationContext<'a> {
    ct: &'a Ct,
    grid: &'a Grid,
    control: &'a JobControl,
}

impl<'a> OperationContext<'a> {
    fn new(ct: &'a Ct, control: &'a JobControl) -> Self {
        Self {
            ct,
            grid: ct.hu.grid(),
            control,
        }
    }

    fn progress(&self) -> impl Fn(f32) -> bool + Sync + 'a {
        let control = self.control;
        move |done| {
            control.report(done);
            !control.is_cancelled()
        }
    }

    fn check(&self) -> Result<(), ContouringError> {
        self.control.check().map_err(|_| ContouringError::Cancelled)
    }

    fn refused(&self, name: &str, error: StackError) -> ContouringError {
        match error {
            StackError::Cancelled => ContouringError::Cancelled,
            other => ContouringError::Stack(name.to_owned(), other),
        }
    }

    fn stack<'s>(
        &self,
        set: &'s StructureSet,
        number: u32,
    ) -> Result<(&'s Structure, Stack), ContouringError> {
        let structure = set.by_number(number).ok_or(ContouringError::Gone)?;
        let stack = self.stack_of_contours(structure)?;
        if stack.is_empty() {
            return Err(ContouringError::NoContours(structure.name.clone()));
        }
        Ok((structure, stack))
    }

    /// Planes that were made, as a stack again; it may be empty.
    fn restacked(&self, planes: &[Plane]) -> Result<Stack, ContouringError> {
        let contours = self.contours(planes);
        let points: Vec<&[DVec3]> = contours.iter().map(|c| c.points_mm.as_slice()).collect();
        Stack::new(self.grid, &points).map_err(|e| self.refused("the result", e))
    }

    fn with_margin(
        &self,
        stack: &Stack,
        grow: bool,
        mm: [f64; 6],
    ) -> Result<Vec<Plane>, ContouringError> {
        if !mm.iter().all(|mm| (0.0..=MOST_MARGIN_MM).contains(mm)) {
            return Err(ContouringError::Margin);
        }
        let margins = Margins {
            mm: along_grid(self.grid, mm).ok_or(ContouringError::Oblique)?,
            grow,
        };
        let planes = shrunk_or_grown(stack, &margins, self.grid.planes_mm(), &self.progress());
        planes.map_err(|e| self.refused("the structure", e))
    }

    /// Combination of two structures, on the planes of the CT.
    fn combined(&self, a: &Stack, b: &Stack, how: Boolean) -> Result<Vec<Plane>, ContouringError> {
        let heights = self.grid.planes_mm();
        let mut planes = Vec::new();
        for (n, &z_mm) in heights.iter().enumerate() {
            self.check()?;
            self.control.report(n as f32 / heights.len() as f32);
            let rings = polygons::combine(a.section(z_mm), b.section(z_mm), how);
            planes.push(Plane { z_mm, rings });
        }
        Ok(planes)
    }

    /// Every plane changed by itself.
    fn each(
        &self,
        stack: &Stack,
        change: impl Fn(&[Ring]) -> Vec<Ring>,
    ) -> Result<Vec<Plane>, ContouringError> {
        let planes = stack.planes.iter();
        planes
            .map(|p| {
                self.check().map(|()| Plane {
                    z_mm: p.z_mm,
                    rings: change(&p.rings),
                })
            })
            .collect()
    }

    /// Position of a contour across the planes of the CT, mm; `None` without points.
    fn height_mm(&self, contour: &Contour) -> Option<f64> {
        contour
            .points_mm
            .first()
            .map(|p| self.grid.local_from_patient(*p).z)
    }

    /// The planes as contours, with the images they lie on.
    fn contours(&self, planes: &[Plane]) -> Vec<Contour> {
        let mut contours = Vec::new();
        for plane in planes {
            let image = self
                .grid
                .planes_mm()
                .iter()
                .position(|z| (z - plane.z_mm).abs() < SAME_PLANE_MM);
            let image_uid = image.and_then(|k| self.ct.plane_uids.get(k));
            for ring in &plane.rings {
                let points = ring.iter().map(|[x, y]| DVec3::new(*x, *y, plane.z_mm));
                let points_mm = points
                    .map(|local_mm| self.grid.patient_from_local(local_mm))
                    .collect();
                contours.push(Contour {
                    points_mm,
                    image_uid: image_uid.cloned(),
                });
            }
        }
        contours
    }

    fn finished(
        &self,
        planes: Vec<Plane>,
        nothing: impl Fn() -> ContouringError,
    ) -> Result<MadeContours, ContouringError> {
        let contours: Contours = self.contours(&planes).into();
        if contours.is_empty() {
            Err(nothing())
        } else {
            Ok(MadeContours {
                contours,
                done: None,
                remarks: Vec::new(),
            })
        }
    }

    /// Cut off at the edge of the CT, and the user told.
    fn clipped(&self, planes: Vec<Plane>, source: &Stack, mm: [f64; 6]) -> MadeContours {
        let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| self.grid.edges_mm(axis));
        let [[x0, x1], [y0, y1], [z0, z1]] = edges.map(|edges| [edges[0], edges[edges.len() - 1]]);
        let image: [Ring; 1] = [vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]]];
        let mut cut = false;
        let mut planes = planes;
        for plane in &mut planes {
            let mut points = plane.rings.iter().flatten();
            if !points.all(|[x, y]| (x0..=x1).contains(x) && (y0..=y1).contains(y)) {
                cut = true;
                plane.rings = polygons::combine(&plane.rings, &image, Boolean::Intersection);
            }
        }
        let reach = along_grid(self.grid, mm).map_or([0.0; 2], |mm| mm[2]);
        let (first, last) = (&source.planes[0], &source.planes[source.planes.len() - 1]);
        cut |= first.z_mm - reach[0] < z0 - 0.01 || last.z_mm + reach[1] > z1 + 0.01;
        let told =
            "it reaches beyond the CT and is cut off there: smaller than the margin asks for";
        let remarks = if cut {
            vec![told.to_owned()]
        } else {
            Vec::new()
        };
        MadeContours {
            contours: self.contours(&planes).into(),
            done: None,
            remarks,
        }
    }

    fn copied(
        &self,
        structure: &Structure,
        stack: &Stack,
        at_mm: DVec3,
        superior: bool,
    ) -> Result<MadeContours, ContouringError> {
        let heights = self.grid.planes_mm();
        let at_z_mm = self.grid.local_from_patient(at_mm).z;
        let edges = self.grid.edges_mm(2);
        let k = edges
            .partition_point(|&e| e <= at_z_mm)
            .clamp(1, heights.len())
            - 1;
        let rings = stack.section(heights[k]);
        if rings.is_empty() {
            return Err(ContouringError::NoSlice(structure.name.clone()));
        }
        // Superior is +z of the patient, whichever way the planes ascend.
        let up = superior == (self.grid.axes()[2].z >= 0.0);
        let to = if up {
            k.checked_add(1).filter(|k| *k < heights.len())
        } else {
            k.checked_sub(1)
        };
        let z_mm = heights[to.ok_or(ContouringError::LastSlice)?];
        let copies = self.contours(&[Plane {
            z_mm,
            rings: rings.to_vec(),
        }]);
        let contours = structure.contours.replaced(
            |c| {
                self.height_mm(c)
                    .is_some_and(|z| (z - z_mm).abs() <= 0.5 * (edges[k + 1] - edges[k]).min(1.0))
            },
            copies,
        );
        Ok(MadeContours {
            contours,
            done: None,
            remarks: Vec::new(),
        })
    }
}

/// Margins along a grid's axes from those towards the patient's [`SIDES`]; `None` where the axes lie oblique to the
/// patient's and the margins differ.
fn along_grid(grid: &Grid, mm: [f64; 6]) -> Option<[[f64; 2]; 3]> {
    if mm.iter().all(|m| *m == mm[0]) {
        return Some([[mm[0]; 2]; 3]);
    }
    // LPS: x grows to the left, y to posterior, z to superior.
    let [left, right, anterior, posterior, superior, inferior] = mm;
    let of_patient = [[right, left], [anterior, posterior], [inferior, superior]];
    let mut along = [[0.0; 2]; 3];
    for (along, axis) in along.iter_mut().zip(grid.axes()) {
        let n = (0..3).find(|&n| axis[n].abs() > 0.9995)?;
        let [low, high] = of_patient[n];
        *along = if axis[n] > 0.0 {
            [low, high]
        } else {
            [high, low]
        };
    }
    Some(along)
}
