//! Registration: the pose of a CT whose DRRs match one or two X-rays, the search of the verb `register`.

use super::case::PyCase;
use super::errors::{Kind, argument, failure};
use super::job::run;
use super::radiograph::{PyRadiograph, first_isocentre, pose};
use super::words;
use case::{Placement, Pose, Radiograph, Remark};
use engine::drr_gradient::AXES;
use glam::DVec3;
use numpy::PyArray2;
use physics::{AttenuationCurve, CurveKind, HuTable};
use pyo3::prelude::*;
use registration::{
    AXIS_WORDS, Found, Method, Metric, PoseStanding, Request, View, beyond_couch, register,
    remarks_beside,
};
use results::{AttenuationOf, Graph, xray_of_case};
use std::path::PathBuf;
use std::sync::Arc;

/// A pose that was found: a match, with what speaks for it.
#[pyclass(frozen, name = "Registration", module = "beamsight")]
pub struct PyRegistration {
    registered: Found,
    centre_mm: DVec3,
    remarks: Vec<String>,
}

/// An X-ray: an image with its place, or a file.
#[derive(FromPyObject)]
pub enum XRay {
    Image(PyRadiograph),
    File(PathBuf),
}

/// Arguments of a search, as `beamsight.register` explains them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct How {
    start: [f64; AXES],
    metric: String,
    method: String,
    lock: Vec<String>,
    reach: [f64; 2],
    share: f64,
    seed: u64,
    energy_mev: f64,
    gantry: Vec<f64>,
    isocentre: Option<[f64; 3]>,
    sad: Option<f64>,
    sid: Option<f64>,
    pixel: Option<f64>,
    bone_dark: bool,
    any_patient: bool,
    device: String,
}

impl How {
    fn given(&self, image: usize) -> PyResult<Placement> {
        Ok(Placement {
            gantry_deg: self
                .gantry
                .get(image)
                .map(|deg| words::angle("gantry", *deg))
                .transpose()?,
            isocentre_mm: self
                .isocentre
                .map(|xyz| words::position("isocentre", xyz))
                .transpose()?,
            sad_mm: self
                .sad
                .map(|mm| words::within("sad", mm, [1.0, 100_000.0]))
                .transpose()?,
            sid_mm: self
                .sid
                .map(|mm| words::within("sid", mm, [1.0, 100_000.0]))
                .transpose()?,
            pixel_mm: self
                .pixel
                .map(|mm| words::within("pixel", mm, [0.001, 1000.0]).map(|mm| [mm; 2]))
                .transpose()?,
            bone_is_bright: self.bone_dark.then_some(false),
            ..Placement::default()
        })
    }

    fn locked(&self) -> PyResult<[bool; AXES]> {
        let mut locked = [false; AXES];
        for name in &self.lock {
            let axes: [(&str, usize); AXES] = std::array::from_fn(|axis| (AXIS_WORDS[axis], axis));
            locked[words::one_of("lock", name, &axes)?] = true;
        }
        Ok(locked)
    }
}

/// A search; `beamsight.register` says how.
#[pyfunction(name = "_register")]
#[pyo3(signature = (case, images, how, progress = None))]
pub fn search(
    py: Python<'_>,
    case: &PyCase,
    images: Vec<XRay>,
    how: How,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyRegistration> {
    if !(1..=2).contains(&images.len()) {
        return Err(argument("one or two X-rays are matched"));
    }
    let ct = case.ct_of()?;
    let mut remarks: Vec<Remark> = Vec::new();
    let mut read: Vec<Arc<Radiograph>> = Vec::new();
    for (n, image) in images.into_iter().enumerate() {
        read.push(match image {
            XRay::Image(image) => {
                let said = remarks_beside(&image.image, &case.0).into_iter();
                remarks.extend(said.map(|what| Remark::warning(what, Vec::new())));
                image.image
            }
            XRay::File(path) => {
                let placed = xray_of_case(&path, &how.given(n)?, &case.0, &ct, how.any_patient);
                let (image, said) = placed.map_err(|error| Kind::File.caused_by(&error))?;
                remarks.extend(said);
                Arc::new(image)
            }
        });
    }
    let options = how
        .isocentre
        .map(|xyz| words::position("isocentre", xyz))
        .transpose()?;
    let centre_mm = options
        .or_else(|| {
            read.iter()
                .find_map(|image| image.setup.map(|setup| setup.isocentre_mm))
        })
        .or_else(|| first_isocentre(&case.0))
        .ok_or_else(|| argument("where the isocentre is, is not known; give it"))?;
    let energy = words::within("energy_mev", how.energy_mev, AttenuationCurve::ENERGIES_MEV)?;
    let curve = AttenuationCurve::new(CurveKind::Water, &HuTable::shipped_default(), energy);
    let query = AttenuationOf {
        ct,
        curve: curve.with_threshold(Some(-900.0)),
    };
    let views: Vec<View> = read.into_iter().map(View::new).collect();
    let metric: Metric = how
        .metric
        .parse()
        .map_err(|why| argument(format!("metric is '{}': {why}", how.metric)))?;
    let method: Method = how
        .method
        .parse()
        .map_err(|why| argument(format!("method is '{}': {why}", how.method)))?;
    let device = words::device(&how.device)?;
    let [reach_mm, reach_deg] = how.reach;
    let registered = run(py, progress.as_ref(), |control, _| {
        let attenuation = Graph::default()
            .full(&query, control)
            .map_err(|why| failure(&why))?;
        let request = Request {
            start: pose(how.start)?,
            metric,
            method,
            reach_mm: words::positive("reach", reach_mm)?,
            reach_deg: words::positive("reach", reach_deg)?,
            locked: how.locked()?,
            share: words::within("share", how.share, [0.001, 1.0])?,
            seed: how.seed,
            ..Request::new(attenuation, views.clone(), centre_mm)
        };
        let device = device
            .resolve_for_cuda()
            .map_err(|error| Kind::Computation.caused_by(&error))?;
        register(&request, &device, control, &|_| ())
            .map_err(|error| Kind::Computation.caused_by(&error))
    })?;
    if !registered.standing().is_match() {
        return Err(Kind::NoMatch.exception(format!(
            "this is no match: {}",
            registered.doubts.join("; ")
        )));
    }
    let remarks = remarks.iter().map(Remark::with_files).collect();
    Ok(PyRegistration {
        registered,
        centre_mm,
        remarks,
    })
}

impl PyRegistration {
    /// The pose, its standing, and the centre that it turns about.
    pub fn placed(&self) -> (Pose, PoseStanding, DVec3) {
        (
            self.registered.pose,
            self.registered.standing(),
            self.centre_mm,
        )
    }
}

#[pymethods]
impl PyRegistration {
    /// tx, ty, tz in mm and rx, ry, rz in degrees, about ``centre_mm``: turned by rx about x, then ry about y, then rz about z
    /// (patient axes LPS), then shifted.
    #[getter]
    fn pose(&self) -> (f64, f64, f64, f64, f64, f64) {
        let (t, r) = (
            self.registered.pose.translation_mm,
            self.registered.pose.rotation_deg,
        );
        (t.x, t.y, t.z, r.x, r.y, r.z)
    }

    #[getter]
    fn centre_mm(&self) -> (f64, f64, f64) {
        self.centre_mm.into()
    }

    /// 4 x 4: positions of the CT to where they lie in the room of the X-rays (patient LPS, mm).
    #[getter]
    fn matrix<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self
            .registered
            .pose
            .matrix(self.centre_mm)
            .transpose()
            .to_cols_array_2d();
        PyArray2::from_vec2(py, &rows.map(|row| row.to_vec())).map_err(argument)
    }

    /// The metric at the start and at the pose found.
    #[getter]
    fn metric(&self) -> (f64, f64) {
        (self.registered.before, self.registered.after)
    }

    /// How sure the match is, in words.
    #[getter]
    fn state(&self) -> String {
        self.registered.standing().words()
    }

    /// The greatest distance from the pose at which searches end that begin beside it, mm.
    #[getter]
    fn again_mm(&self) -> f64 {
        self.registered.evidence.again_mm
    }

    /// One standard deviation of the depth that the X-rays see least, mm; None where there is none.
    #[getter]
    fn depth_mm(&self) -> Option<f64> {
        self.registered.evidence.depth_mm
    }

    #[getter]
    fn device(&self) -> &str {
        &self.registered.device
    }

    #[getter]
    fn remarks(&self) -> Vec<String> {
        let couch = beyond_couch(&self.registered.pose);
        self.remarks.iter().cloned().chain(couch).collect()
    }

    fn __repr__(&self) -> String {
        let (x, y, z, rx, ry, rz) = self.pose();
        let mut text = format!(
            "Registration: {x:.3}, {y:.3}, {z:.3} mm, {rx:.3}, {ry:.3}, {rz:.3} degrees; match: {}; {} DRRs in {:.2} s on {}",
            self.state(),
            self.registered.drrs,
            self.registered.seconds,
            self.registered.device
        );
        self.remarks()
            .iter()
            .for_each(|remark| text += &format!("\n  note: {remark}"));
        text
    }
}
