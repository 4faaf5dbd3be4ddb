//! Gamma of two displayed doses: an estimate from some points, all points, and figures by structure and
//! cluster.

use super::graph::{Access, Failure, Grade, Priority, Query};
use super::patient::MaskOf;
use super::plan_dose::DoseOfPlan;
use super::shared::Shared;
use analysis::{
    Cluster, CriterionReport, GammaFigures, TG_218_THRESHOLD_PERCENT, clusters, unit_remark,
};
use case::Receipt;
use engine::gamma::{
    Counts, Criterion, Dims, GammaRequest, GammaResult, Normalisation, Subset, Surface, gamma,
    near_maximum,
};
use engine::{Compute, DeviceChoice};
use geometry::{Grid, Mask, Volume};
use glam::DVec3;
use std::sync::Arc;
use worker::Lane;

/// Points of an estimate: enough to estimate a pass rate of 95 % to 0.2 % (one standard deviation).
const ESTIMATE_POINTS: usize = 12_000;
const ESTIMATE_SEED: u64 = 20_100_105;

/// Gamma at which the search for a point ends by default: such a point fails by far, and unrelated doses would be searched to their
/// edges for each of their points.
pub const MOST_GAMMA: f64 = 2.0;

/// Gamma at every point of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct GammaOfPair {
    pub reference: Shared<DoseOfPlan>,
    pub evaluated: Shared<DoseOfPlan>,
    pub criteria: Vec<Criterion>,
    pub normalisation: Normalisation,
    pub threshold_percent: f64,
    /// Gamma at which the search ends; `None`: as far as it takes.
    pub max_gamma: Option<f64>,
    pub dims: Dims,
    /// Only inside a structure, on the reference's grid.
    pub region: Option<MaskOf>,
    pub subset: Option<Subset>,
    pub surface: Surface,
    pub device: DeviceChoice,
}

/// Gamma with its request.
#[derive(Clone, Debug)]
pub struct GammaAnswer {
    pub request: GammaRequest,
    pub result: Arc<GammaResult>,
}

impl GammaOfPair {
    /// All points in space above 10 % of the near-maximum.
    pub fn new(
        reference: Shared<DoseOfPlan>,
        evaluated: Shared<DoseOfPlan>,
        criteria: Vec<Criterion>,
        device: DeviceChoice,
    ) -> Self {
        Self {
            reference,
            evaluated,
            criteria,
            normalisation: Normalisation::NearMaximum,
            threshold_percent: TG_218_THRESHOLD_PERCENT,
            max_gamma: Some(MOST_GAMMA),
            dims: Dims::default(),
            region: None,
            subset: None,
            surface: Surface::default(),
            device,
        }
    }

    fn request(&self, inputs: &Access<'_>) -> Result<(GammaRequest, Compute), Failure> {
        let [reference, evaluated] = [
            inputs.get(&*self.reference)?.dose,
            inputs.get(&*self.evaluated)?.dose,
        ];
        let request = GammaRequest::of_doses(&reference, &evaluated, self.criteria.clone());
        let request = GammaRequest {
            normalisation: self.normalisation,
            threshold_percent: self.threshold_percent,
            max_gamma: self.max_gamma.map(|gamma| gamma as f32),
            dims: self.dims,
            region: self
                .region
                .as_ref()
                .map(|mask| inputs.get(mask))
                .transpose()?,
            subset: self.subset,
            surface: self.surface,
            ..request.map_err(Failure::here)?
        };
        Ok((request, self.device.resolve().map_err(Failure::here)?))
    }
}

impl Query for GammaOfPair {
    type Answer = GammaAnswer;

    const PRIORITY: Option<Priority> = Some(Priority::Gamma(1));
    const LISTED: bool = true;
    const NOTICED: bool = false;

    fn name(&self) -> String {
        "Gamma of A and B".to_owned()
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn receipt(answer: &GammaAnswer) -> Option<Arc<Receipt>> {
        Some(Arc::clone(&answer.result.receipt))
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<GammaAnswer, Failure> {
        let (request, device) = self.request(inputs)?;
        let result = gamma(&request, &device, inputs.control());
        inputs.control().check()?;
        let mut result = result.map_err(Failure::here)?;
        let [reference_gy, evaluated_gy] = [
            inputs.get(&*self.reference)?.max_gy,
            inputs.get(&*self.evaluated)?.max_gy,
        ];
        Arc::make_mut(&mut result.receipt)
            .warnings
            .extend(unit_remark(reference_gy, evaluated_gy));
        Ok(GammaAnswer {
            result: Arc::new(result),
            request,
        })
    }
}

/// Gamma of some points, and of the displayed plane.
#[derive(Clone, Debug)]
pub struct EstimateOfGamma {
    pub gamma: GammaOfPair,
    /// A position in the displayed plane; it does not affect the estimate.
    pub plane_mm: Option<DVec3>,
}

#[derive(Clone, Debug)]
pub struct GammaEstimate {
    /// Counts of a random subset, one for each criterion.
    pub counts: Vec<Counts>,
    /// Gamma on the displayed plane, NaN elsewhere.
    pub plane: Option<Arc<Volume<f32>>>,
}

impl PartialEq for EstimateOfGamma {
    fn eq(&self, other: &Self) -> bool {
        self.gamma == other.gamma
    }
}

impl Query for EstimateOfGamma {
    type Answer = GammaEstimate;

    const PRIORITY: Option<Priority> = Some(Priority::Gamma(0));
    const GRADES: &'static [Grade] = &[Grade::Preview];
    const NOTICED: bool = false;

    fn name(&self) -> String {
        "Estimate of gamma".to_owned()
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<GammaEstimate, Failure> {
        let (request, device) = self.gamma.request(inputs)?;
        let subset = Subset {
            count: ESTIMATE_POINTS,
            seed: ESTIMATE_SEED,
        };
        let some = GammaRequest {
            subset: Some(subset),
            ..request.clone()
        };
        let result = gamma(&some, &device, inputs.control());
        inputs.control().check()?;
        let result = result.map_err(Failure::here)?;
        let plane = self.plane_mm.and_then(|plane_mm| {
            let (cut, k) = plane_of(&request, plane_mm, result.normalisation_gy)?;
            // A plane without points above the threshold has no map.
            let map = gamma(&cut, &device, inputs.control())
                .ok()?
                .maps
                .into_iter()
                .next()?;
            Some(Arc::new(in_place(
                request.reference.grid(),
                k,
                map.gamma.data(),
            )))
        });
        Ok(GammaEstimate {
            counts: result.maps.iter().map(|m| m.counts).collect(),
            plane,
        })
    }
}

/// The same request for the reference's plane at a position only, and the index of that plane.
fn plane_of(
    request: &GammaRequest,
    at_mm: DVec3,
    normalisation_gy: f64,
) -> Option<(GammaRequest, usize)> {
    let grid = request.reference.grid();
    let [nx, ny, nz] = grid.size();
    let k = grid.voxel_from_patient(at_mm).z.round();
    if !(k >= 0.0 && k < nz as f64) {
        return None;
    }
    let k = k as usize;
    let [row, column, _] = grid.axes();
    let origin = grid.centre_mm(0, 0, k);
    let flat = Grid::new(origin, row, column, grid.spacing_xy_mm(), [nx, ny], &[0.0]).ok()?;
    let data = request.reference.plane(k).to_vec();
    let cut = GammaRequest {
        reference: Arc::new(Volume::new(Arc::new(flat), data)),
        normalisation: Normalisation::Typed(normalisation_gy),
        criteria: request.criteria.first().copied().into_iter().collect(),
        ..request.clone()
    };
    Some((cut, k))
}

/// One plane of values in a volume that is NaN elsewhere.
fn in_place(grid: &Arc<Grid>, k: usize, values: &[f32]) -> Volume<f32> {
    let area = values.len();
    let mut data = vec![f32::NAN; grid.len()];
    data[k * area..(k + 1) * area].copy_from_slice(values);
    Volume::new(grid.clone(), data)
}

/// Figures of gamma by structure and cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct FiguresOfGamma {
    pub gamma: GammaOfPair,
    /// By ROI number.
    pub masks: Vec<(u32, MaskOf)>,
    /// ROI numbers of bodies: a cluster inside one needs no mention.
    pub bodies: Vec<u32>,
    /// Whether the signed map is requested.
    pub signed: bool,
}

/// Gamma as a whole, by structure and by cluster.
#[derive(Clone, Debug)]
pub struct GammaByStructure {
    /// The report of the first criterion, without structures.
    pub report: CriterionReport,
    /// Value of the reference, Gy.
    pub near_maximum_gy: f64,
    /// Clusters, the worst first, each with the ROI number of the structure that holds most of it, and the
    /// share it holds.
    pub clusters: Vec<(Option<(u32, f64)>, Cluster)>,
    /// Figures by ROI number, of the structures with points.
    pub structures: Vec<(u32, GammaFigures)>,
    /// The map with the sign of evaluated minus reference, where requested.
    pub signed: Option<Arc<Volume<f32>>>,
}

impl Query for FiguresOfGamma {
    type Answer = Arc<GammaByStructure>;

    const PRIORITY: Option<Priority> = Some(Priority::Gamma(2));
    const NOTICED: bool = false;

    fn name(&self) -> String {
        "Gamma by structure".to_owned()
    }

    /// The lane of its gamma, which it follows.
    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Arc<GammaByStructure>, Failure> {
        let GammaAnswer { request, result } = inputs.get(&self.gamma)?;
        let Some(map) = result.maps.first() else {
            return Err(Failure::Here("gamma has no criterion".to_owned()));
        };
        let control = inputs.control();
        // Structures whose contours make no volume have no figures.
        let masks: Vec<(u32, Arc<Mask>)> = self
            .masks
            .iter()
            .filter_map(|(n, mask)| Some((*n, inputs.get(mask).ok()?)))
            .collect();
        control.check()?;
        let places: Vec<&(u32, Arc<Mask>)> = masks
            .iter()
            .filter(|(n, _)| !self.bodies.contains(n))
            .collect();
        let organs: Vec<&Mask> = places.iter().map(|(_, m)| m.as_ref()).collect();
        let clusters = clusters(&map.gamma, &organs, control)?;
        let mut structures = Vec::new();
        for (number, mask) in &masks {
            control.check()?;
            let figures = GammaFigures::inside(&map.gamma, mask, request.max_gamma);
            structures.extend((figures.points > 0).then_some((*number, figures)));
        }
        Ok(Arc::new(GammaByStructure {
            report: CriterionReport::new(map, request.max_gamma, &[]),
            near_maximum_gy: f64::from(near_maximum(request.reference.data())),
            clusters: clusters
                .into_iter()
                .map(|c| {
                    (
                        c.structure.map(|(index, share)| (places[index].0, share)),
                        c,
                    )
                })
                .collect(),
            structures,
            signed: self.signed.then(|| Arc::new(map.signed(&request))),
        }))
    }
}
