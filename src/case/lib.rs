//! A planner's data: CT, structures, plan, doses; edits as values with their undo history.

mod approval;
mod arc;
mod beam;
pub mod bounds;
mod contours;
mod ct;
mod cut_from;
mod delivered;
mod density;
mod dose;
mod dose_engine;
mod drawing;
mod edit;
mod expression;
mod fields;
mod fluence_limits;
mod fluence_map;
mod goal;
mod made_of;
mod metric;
mod names;
mod normalisation;
mod objectives;
mod palette;
mod patient;
mod placement;
mod plan;
mod planes;
mod pose;
mod radiograph;
mod remark;
mod rotation;
mod source;
mod step_name;
mod steps;
mod structure;
mod uid;
mod validate;
mod wish;

pub use approval::{Approval, ApprovalError, NO_RELEASE, Stage};
pub use arc::GantryArc;
pub use beam::{
    Bank, Beam, ControlPoint, Jaws, LeafBoundaryError, Mlc, MlcAxis, Radiation,
    check_leaf_boundaries,
};
pub use contours::Contours;
pub use ct::{Ct, NO_HU, beyond_16_bits, too_narrow};
pub use cut_from::CutFrom;
pub use density::{Density, DensityOverride, Medium};
pub use dose::{BeamDose, Dose, DosePart, DoseStatus, DoseValueError, Receipt, status_text};
pub use dose_engine::{DoseEngine, NoSuchEngine};
pub use drawing::{DrawError, Drawn};
pub use edit::{Edit, EditError, History};
pub use expression::{Combination, ExpressionError, StructureExpression};
pub use fields::Template;
pub use fluence_limits::{FluenceLimit, FluenceStroke};
pub use fluence_map::{FluenceMap, FluenceMapError};
pub use goal::{Bound, Goal, GoalError};
pub use metric::{Figure, Metric, MetricError, MetricUnit};
pub use names::{NotMeant, name_letters};
pub use normalisation::{Normalisation, NormalisationError, NormalisedAt, NormalisedDose};
pub use objectives::{FallOff, FluenceObjectives, UniformDose};
pub use palette::{LOOK_ALIKE, STRUCTURE_COLOURS, blind_distance, colour_distance};
pub use patient::PatientInfo;
pub use placement::{Placement, opened};
pub use plan::{AbsentBeam, Plan};
pub use planes::Mended;
pub use pose::Pose;
pub use radiograph::{PixelMeaning, Radiograph};
pub use remark::{Bearing, Remark, Reservations, Severity, add_each_once};
pub use rotation::{RotationAxis, RotationDirection};
pub use source::{Source, Sources};
pub use steps::Steps;
pub use structure::{Contour, ReferenceError, Rgb, Structure, StructureKind, StructureSet};
pub use uid::{derived_uid, new_uid};
pub use validate::{BeamFault, Fault, PlanFault, StructureFault, structures_fault, turn_deg};
pub use wish::Wish;

use std::sync::Arc;

/// Everything loaded for one patient. Cheap to clone: the big parts are shared.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The patient in the images, as far as the files state one.
    pub patient: PatientInfo,
    /// The source of the case, in words: a folder, a file, `demo:thorax`.
    pub source: String,
    pub ct: Option<Arc<Ct>>,
    pub structures: Arc<StructureSet>,
    pub plans: Vec<Arc<Plan>>,
    /// Doses read from files; the window or the verb that requested a computed one holds it.
    pub doses: Vec<Arc<Dose>>,
    /// Remarks on the files as a whole: what was left out and why, and contradictions.
    pub remarks: Vec<Remark>,
    /// Why plans of the files were refused, a sentence each.
    pub refused_plans: Vec<String>,
    /// Clinical goals of whatever dose; `None` while the usual ones of the target stand for them.
    pub goals: Option<Arc<[Goal]>>,
    /// The highest number that any structure of this case has had: a reference to a removed structure never
    /// resolves to another.
    pub spent_number: u32,
    /// The files of its objects.
    pub sources: Arc<Sources>,
}

impl Case {
    /// A number that no structure has or had.
    pub fn free_number(&self) -> u32 {
        self.structures
            .free_number()
            .max(self.spent_number.saturating_add(1))
    }

    /// Caveats and remarks on images, structures and folder that bear on every result made of them.
    pub fn reservations(&self) -> Reservations {
        let of_ct = self.ct.iter().flat_map(|ct| &ct.remarks);
        Reservations::of_remarks(of_ct.chain(&self.structures.remarks).chain(&self.remarks))
    }

    /// Why doses made on the images are not whole: said beside a dose of a file, too, whose structures are drawn on them.
    pub fn remarks_of_unfit_images(&self) -> impl Iterator<Item = &str> {
        let unfit = self
            .ct
            .iter()
            .flat_map(|ct| &ct.remarks)
            .filter(|remark| remark.caveat().is_some());
        unfit.map(|remark| remark.message.as_str())
    }

    /// Frames of reference that the files of images and structures state; an image that is no DICOM series states none.
    pub fn stated_frames(&self) -> impl Iterator<Item = &str> + Clone {
        let of_ct = self.ct.as_ref().filter(|ct| !ct.plane_uids.is_empty());
        let frames = of_ct.map(|ct| &ct.frame_of_reference_uid);
        let frames = frames
            .into_iter()
            .chain(std::iter::once(&self.structures.frame_of_reference_uid));
        frames.map(|uid| uid.trim()).filter(|uid| !uid.is_empty())
    }

    /// Why the case has no plan: the refusals of those among the files, else that there is none.
    pub fn no_plan(&self) -> String {
        match &self.refused_plans[..] {
            [] => format!("{} has no plan of its own", self.source),
            why => format!(
                "{} has no plan that can be used: {}",
                self.source,
                why.join("; ")
            ),
        }
    }
}
