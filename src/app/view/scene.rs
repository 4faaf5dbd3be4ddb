//! Common content of all views: rebuilt each frame from shared parts, so cheap.

use crate::feature::beam::state::LimitBrush;
use crate::feature::draw;
use crate::feature::measure::state::Measures;
use crate::feature::optimise::state::view::OPTIMISERS_MAP;
use crate::render::Gpu;
use crate::state::display::{DoseDisplay, WashOf, WindowLevel};
use crate::state::results::Certainty;
use crate::state::roi::Shape;
use case::{
    Bank, Beam, Dose, DoseStatus, FluenceLimit, FluenceMap, Jaws, Mlc, Rgb, StructureKind,
    StructureSet,
};
use geometry::{BeamFrame, Grid, Mask, PatientPosition, Volume};
use glam::DVec3;
use std::sync::Arc;

/// Common content of all views.
#[derive(Clone)]
pub struct Scene {
    pub gpu: Gpu,
    /// HU.
    pub ct: Option<Arc<Volume<f32>>>,
    pub window: WindowLevel,
    pub dose: Option<DoseLayer>,
    /// The contours, and the look of each structure of the set; structures without a look are not drawn.
    pub structures: Arc<StructureSet>,
    pub looks: Vec<StructureLook>,
    pub beams: Vec<BeamLayer>,
    /// Whether planes display the beams; the beam's-eye view is shown either way.
    pub show_beams: bool,
    /// The structure (by ROI number) that is a shape with handles, and its shape.
    pub shape: Option<(u32, Shape)>,
    /// The tool that draws a structure.
    pub drawing: Option<draw::view::DrawingLayer>,
    /// Whether a drag in the beam's-eye view sets the leaves that it passes.
    pub brush: bool,
    /// The brush that bounds the fluence, where it is in the hand.
    pub limit_brush: Option<LimitBrush>,
    /// Rulers, dose points and the profile line.
    pub measures: Measures,
    /// Intersection of the three planes, patient LPS, mm.
    pub crosshair_mm: DVec3,
}

/// A displayed dose.
#[derive(Clone)]
pub struct DoseLayer {
    pub dose: Arc<Dose>,
    /// 100 % in Gy, and its name. Without it percent are undefined, hence there are no levels.
    pub reference: Option<(f64, &'static str)>,
    pub display: DoseDisplay,
    /// Uncertainty of a Monte Carlo dose.
    pub certainty: Option<Arc<Certainty>>,
    /// Why the current case has no such dose.
    pub trouble: Option<String>,
}

impl DoseLayer {
    /// The relative standard deviation in percent, if the colourwash shows it.
    pub(crate) fn uncertainty(&self) -> Option<&Arc<Volume<f32>>> {
        let certainty = self.certainty.as_ref().filter(|_| self.display.wash)?;
        (self.display.wash_of == WashOf::Uncertainty).then(|| certainty.spread.percent())
    }
}

/// Look of a structure.
#[derive(Clone, Debug)]
pub struct StructureLook {
    pub visible: bool,
    /// Drawn thicker and lightly filled.
    pub selected: bool,
    pub colour: Rgb,
    /// Whether the mask is of the current contours.
    pub current: bool,
    /// The mask, once computed; cut by planes without contours.
    pub mask: Option<Arc<Mask>>,
}

/// A beam for the views: one state of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamLayer {
    /// Index in the plan, as in [`super::ViewEvent`].
    pub index: usize,
    pub name: String,
    pub selected: bool,
    pub position: PatientPosition,
    pub gantry_deg: f64,
    pub collimator_deg: f64,
    pub couch_deg: f64,
    pub isocentre_mm: DVec3,
    pub sad_mm: f64,
    pub jaws: Jaws,
    pub mlc: Option<Mlc>,
    pub leaves_mm: Vec<Bank>,
    /// In place of leaves.
    pub fluence: Option<FluenceMap>,
    /// Upper bounds of its beamlets.
    pub limits: Vec<FluenceLimit>,
    /// Monitor units of fluence 1.
    pub mu: f64,
    /// Status of map and jaws where they are the optimiser's in place of the plan's.
    pub map_status: Option<DoseStatus>,
    /// Whether its gantry is draggable.
    pub editable: bool,
}

impl BeamLayer {
    /// A beam at its first control point. `None` for a beam without control points.
    pub fn new(
        index: usize,
        beam: &Beam,
        position: PatientPosition,
        sad_mm: f64,
        selected: bool,
    ) -> Option<Self> {
        let start = beam.start()?;
        Some(Self {
            index,
            name: beam.name.clone(),
            selected,
            position,
            gantry_deg: start.gantry_deg,
            collimator_deg: start.collimator_deg,
            couch_deg: start.couch_deg,
            isocentre_mm: beam.isocentre_mm,
            sad_mm,
            jaws: start.jaws,
            mlc: beam.mlc.clone(),
            leaves_mm: start.leaves_mm.clone(),
            fluence: beam.fluence.clone(),
            limits: beam.fluence_limits.clone(),
            mu: beam.mu,
            map_status: None,
            editable: beam.read_only.is_none(),
        })
    }

    /// The layer with the fluence map of another state of the beam, where there is one, and the map's status; its bounds come
    /// from the beam.
    #[must_use]
    pub fn with_fluence(self, beam: &Beam, shown: &Beam, map_status: Option<DoseStatus>) -> Self {
        let Some(map) = &shown.fluence else {
            return Self {
                fluence: None,
                ..self
            };
        };
        Self {
            map_status,
            jaws: map.jaws(),
            mlc: None,
            leaves_mm: Vec::new(),
            limits: beam.limits_on(map),
            mu: shown.mu,
            fluence: Some(map.clone()),
            ..self
        }
    }

    /// The same beam at another of its control points.
    #[must_use]
    pub fn at_point(self, beam: &Beam, point: usize) -> Self {
        let Some(point) = beam.control_points.get(point) else {
            return self;
        };
        Self {
            gantry_deg: point.gantry_deg,
            collimator_deg: point.collimator_deg,
            couch_deg: point.couch_deg,
            jaws: point.jaws,
            leaves_mm: point.leaves_mm.clone(),
            ..self
        }
    }

    /// Words on map and jaws, with their status, where they are not the plan's.
    pub fn map_words(&self) -> Option<String> {
        Some(format!(
            "{OPTIMISERS_MAP}: {}",
            self.map_status?.word().to_uppercase()
        ))
    }

    /// The beam limiting device's frame.
    pub fn frame(&self) -> BeamFrame {
        BeamFrame::new(
            self.position,
            self.gantry_deg,
            self.collimator_deg,
            self.couch_deg,
            self.isocentre_mm,
            self.sad_mm,
        )
    }
}

impl Scene {
    /// An empty scene on a device.
    pub fn new(gpu: Gpu) -> Self {
        Self {
            gpu,
            ct: None,
            window: WindowLevel::new(400.0, 40.0),
            dose: None,
            structures: Arc::default(),
            looks: Vec::new(),
            beams: Vec::new(),
            show_beams: true,
            shape: None,
            drawing: None,
            brush: false,
            limit_brush: None,
            measures: Measures::default(),
            crosshair_mm: DVec3::ZERO,
        }
    }

    /// The grid whose planes paging steps through: the CT's, else the dose's.
    pub fn grid(&self) -> Option<&Arc<Grid>> {
        self.ct
            .as_ref()
            .map(|v| v.grid())
            .or_else(|| self.dose.as_ref().map(|d| d.dose.gy.grid()))
    }

    /// Initial extent of the views: the box of the body's contours with a margin if there is a body, else the box of the
    /// images; its lowest and highest corner, patient LPS, mm.
    pub fn box_mm(&self) -> Option<[DVec3; 2]> {
        Some(framed_mm(self.grid()?, &self.structures))
    }
}

/// The box of the body's contours with a margin if there is a body, else the box of the grid; its lowest and highest
/// corner, patient LPS, mm.
pub fn framed_mm(grid: &Grid, structures: &StructureSet) -> [DVec3; 2] {
    let corners = grid.corners_mm();
    let grid_box = corners
        .into_iter()
        .fold([DVec3::MAX, DVec3::MIN], |[low, high], p| {
            [low.min(p), high.max(p)]
        });
    let body = structures
        .structures
        .iter()
        .find(|s| s.kind == StructureKind::External);
    let Some([low, high]) = body.and_then(|body| body.contours.box_mm()) else {
        return grid_box;
    };
    // Structures may extend beyond an incomplete image series.
    let margin = DVec3::splat(20.0);
    let [low, high] = [
        (low - margin).max(grid_box[0].min(low)),
        (high + margin).min(grid_box[1].max(high)),
    ];
    if low.cmplt(high).all() {
        [low, high]
    } else {
        grid_box
    }
}

impl Scene {
    /// The beam of the beam's-eye view: the selected one, else the first.
    pub fn bev_beam(&self) -> Option<&BeamLayer> {
        self.beams
            .iter()
            .find(|b| b.selected)
            .or_else(|| self.beams.first())
    }
}
