//! Radiographs: computed with their gradient by pose, or arrays of X-rays with their place.

use super::arrays::as_asked;
use super::case::PyCase;
use super::errors::{Kind, argument, failure, guarded};
use super::job::run;
use super::json::dictionary;
use super::threads::compute;
use super::words::{self, check_new};
use analysis::{hu_remarks, shows_patient};
use case::{Case, Ct, PixelMeaning, Pose, Radiograph, Receipt};
use dicom::{Belonging, write_radiograph};
use engine::drr::{DrrRequest, Integrator, Pixels, Region, drr};
use engine::drr_gradient::{AXES, GradientAnswer, Level, RaySampling, drr_with_gradient};
use geometry::{ImagingSetup, Volume};
use glam::DVec3;
use numpy::ndarray::{ArrayView2, ArrayView3};
use numpy::{AllowTypeChange, PyArray2, PyArray3, PyArrayLike2, ToPyArray as _};
use physics::{AttenuationCurve, BeyondTable, CurveKind, HuTable};
use pyo3::prelude::*;
use results::{AttenuationOf, Graph};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// A projected image with the place of its source and pixels: a DRR, or an X-ray.
///
/// ``beamsight.drr`` computes one, ``beamsight.radiograph`` takes an array. Rows count from the top (towards the gantry), columns
/// from the left, as seen from the source.
#[pyclass(frozen, name = "Radiograph", module = "beamsight", from_py_object)]
#[derive(Clone)]
pub struct PyRadiograph {
    pub image: Arc<Radiograph>,
    receipt: Option<Arc<Receipt>>,
    /// By tx, ty, tz (1/mm), rx, ry, rz (1/degree), image after image.
    gradient: Option<Arc<Vec<f32>>>,
    remarks: Vec<String>,
}

/// Place of source and pixels, in the words of the command line.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ImagingPlace {
    gantry: f64,
    couch: f64,
    isocentre: Option<[f64; 3]>,
    sad: f64,
    sid: f64,
    /// Columns and rows.
    size: [usize; 2],
    pixel: [f64; 2],
    shift: [f64; 2],
}

impl ImagingPlace {
    fn setup(
        &self,
        position: geometry::PatientPosition,
        usual_mm: DVec3,
    ) -> PyResult<ImagingSetup> {
        let max_pixels = geometry::Projection::MOST_PIXELS;
        if self.size.iter().any(|n| !(1..=max_pixels).contains(n)) {
            return Err(argument(format!(
                "size is {:?}: it is columns and rows, 1 to {max_pixels} each",
                self.size
            )));
        }
        for mm in self.pixel {
            words::within("pixel", mm, [0.001, 1000.0])?;
        }
        if !self.shift.iter().all(|mm| mm.is_finite()) {
            return Err(argument("shift is two numbers in mm"));
        }
        Ok(ImagingSetup {
            position,
            gantry_deg: words::angle("gantry", self.gantry)?,
            couch_deg: words::angle("couch", self.couch)?,
            isocentre_mm: self
                .isocentre
                .map_or(Ok(usual_mm), |xyz| words::position("isocentre", xyz))?,
            sad_mm: words::within("sad", self.sad, [1.0, 100_000.0])?,
            sid_mm: words::within("sid", self.sid, [1.0, 100_000.0])?,
            shift_mm: self.shift,
            pixel_mm: self.pixel,
            columns: self.size[0],
            rows: self.size[1],
        })
    }
}

/// How a DRR is made.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct How {
    pose: [f64; AXES],
    /// Left out: trilinear, of a gradient exact.
    integrator: Option<String>,
    step: Option<f64>,
    curve: String,
    energy_mev: f64,
    hu_table: String,
    threshold: Option<f64>,
    bone: f64,
    gradient: bool,
    side: f64,
    device: String,
}

/// A pose of six finite numbers, tx, ty, tz in mm and rx, ry, rz in degrees.
pub fn pose([tx, ty, tz, rx, ry, rz]: [f64; AXES]) -> PyResult<Pose> {
    if [tx, ty, tz, rx, ry, rz].iter().all(|v| v.is_finite()) {
        return Ok(Pose::new([tx, ty, tz], [rx, ry, rz]));
    }
    Err(argument(
        "the pose is six numbers: tx, ty, tz in mm and rx, ry, rz in degrees",
    ))
}

/// The isocentre of a case's first beam.
pub fn first_isocentre(case: &Case) -> Option<DVec3> {
    case.plans
        .iter()
        .flat_map(|plan| &plan.beams)
        .next()
        .map(|beam| beam.isocentre_mm)
}

impl How {
    fn curve(&self, table: &HuTable) -> PyResult<AttenuationCurve> {
        let kind = words::one_of(
            "curve",
            &self.curve,
            &CurveKind::ALL.map(|kind| (kind.word(), kind)),
        )?;
        let energy = words::within(
            "energy_mev",
            self.energy_mev,
            AttenuationCurve::ENERGIES_MEV,
        )?;
        let bone = words::within("bone", self.bone, [0.01, 100.0])?;
        Ok(AttenuationCurve::new(kind, table, energy)
            .with_threshold(self.threshold)
            .with_bone(bone))
    }

    fn step_mm(&self) -> PyResult<Option<f64>> {
        let step_mm = self
            .step
            .map(|mm| words::within("step", mm, [0.01, 1000.0]))
            .transpose()?;
        let is_exact = self
            .integrator
            .as_deref()
            .map_or(self.gradient, |word| word == "exact");
        if is_exact && step_mm.is_some() {
            return Err(argument(
                "the integrator exact takes no steps: leave step out",
            ));
        }
        Ok(step_mm)
    }

    fn integrator(&self) -> PyResult<Integrator> {
        let step_mm = self.step_mm()?;
        let integrators = [
            ("exact", Integrator::Exact),
            ("trilinear", Integrator::Trilinear { step_mm }),
            ("texture", Integrator::Texture { step_mm }),
        ];
        words::one_of(
            "integrator",
            self.integrator.as_deref().unwrap_or("trilinear"),
            &integrators,
        )
    }

    /// How the rays of an image with its gradient go.
    fn sampling(&self) -> PyResult<RaySampling> {
        let step_mm = self.step_mm()?;
        let words = [
            ("exact", RaySampling::Exact),
            ("trilinear", RaySampling::Steps { step_mm }),
        ];
        words::one_of(
            "integrator",
            self.integrator.as_deref().unwrap_or("exact"),
            &words,
        )
    }

    fn remarks(&self, ct: &Ct, table: &HuTable) -> Vec<String> {
        match self.curve.as_str() {
            "tissue" => hu_remarks(
                &BeyondTable::count(ct, table, None, &[]),
                table,
                "of the CT",
            ),
            _ => Vec::new(),
        }
    }
}

/// A DRR; `beamsight.drr` says how.
#[pyfunction(name = "_drr")]
#[pyo3(signature = (case, place, how, progress = None))]
pub fn drr_of(
    py: Python<'_>,
    case: &PyCase,
    place: ImagingPlace,
    how: How,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyRadiograph> {
    let ct = case.ct_of()?;
    let usual_mm = first_isocentre(&case.0).unwrap_or_else(|| ct.hu.grid().middle_mm());
    let setup = place.setup(ct.position, usual_mm)?;
    let projection = setup.projection().map_err(argument)?;
    let table = HuTable::resolve(&how.hu_table).map_err(argument)?;
    let (curve, integrator, pose) = (how.curve(&table)?, how.integrator()?, pose(how.pose)?);
    let sampling = if how.gradient {
        how.sampling()?
    } else {
        RaySampling::default()
    };
    let side_mm = words::within("side", how.side, [0.1, 100.0])?;
    let device = words::device(&how.device)?;
    let water = f64::from(curve.at(0.0));
    let (values, receipt, gradient) = run(py, progress.as_ref(), |control, _| {
        let device = device
            .resolve_for_cuda()
            .map_err(|error| Kind::Computation.caused_by(&error))?;
        let query = AttenuationOf {
            ct: Arc::clone(&ct),
            curve,
        };
        let attenuation: Arc<Volume<f32>> = Graph::default()
            .full(&query, control)
            .map_err(|why| failure(&why))?;
        if how.gradient {
            let level = Arc::new(Level::new(&attenuation, side_mm));
            let gradient = drr_with_gradient(
                &level,
                &projection,
                sampling,
                &pose,
                setup.isocentre_mm,
                &device,
                control,
            );
            let GradientAnswer { drr, receipt } =
                gradient.map_err(|cancelled| Kind::Computation.caused_by(&cancelled))?;
            return Ok((
                drr.integrals,
                receipt,
                Some(Arc::new(drr.gradient.concat())),
            ));
        }
        let request = DrrRequest {
            attenuation,
            projection,
            poses: vec![pose],
            pose_centre_mm: setup.isocentre_mm,
            integrator,
            pixels: Pixels::All,
        };
        let answer =
            drr(&request, &device, control).map_err(|error| Kind::Computation.caused_by(&error))?;
        let source = &case.0.source;
        if let Some(why) = answer
            .receipt
            .warnings
            .iter()
            .find(|w| w.contains("nothing is seen"))
        {
            return Err(Kind::Computation.exception(format!("{source}: {why}")));
        }
        if !shows_patient(
            Some((&ct.hu, water)),
            &request,
            Region::whole(&projection),
            &answer,
        ) {
            return Err(Kind::Computation.exception(format!(
                "{source}: the picture misses the patient, no ray meets more than air; look at isocentre, angles, pose, \
                 shift and the size of the picture (and threshold, where it is given)"
            )));
        }
        let mut values = vec![f32::NAN; projection.pixels()];
        answer
            .indices
            .iter()
            .zip(&answer.integrals)
            .for_each(|(&pixel, value)| values[pixel as usize] = *value);
        Ok((values, answer.receipt, None))
    })?;
    let receipt = Some(receipt);
    let image = Radiograph::new(values, PixelMeaning::Attenuation, projection, "DRR");
    let image = Arc::new(Radiograph {
        setup: Some(setup),
        ..image
    });
    let remarks = compute(|| how.remarks(&ct, &table))?;
    Ok(PyRadiograph {
        image,
        receipt,
        gradient,
        remarks,
    })
}

/// An X-ray of an array; `beamsight.Radiograph` says how.
#[pyfunction(name = "_radiograph")]
pub fn radiograph(
    values: &Bound<'_, PyAny>,
    place: ImagingPlace,
    position: &str,
    bone_is_bright: bool,
    label: &str,
) -> PyResult<PyRadiograph> {
    let values: PyArrayLike2<'_, f32, AllowTypeChange> = guarded(|| {
        values
            .extract()
            .map_err(|_| argument("an X-ray is an array of real numbers [row, column]"))
    })?;
    let view = values.as_array();
    let place = ImagingPlace {
        size: [view.ncols(), view.nrows()],
        ..place
    };
    let position = position
        .parse()
        .map_err(|why| argument(format!("position is '{position}': {why}")))?;
    let setup = place.setup(position, DVec3::ZERO)?;
    let projection = setup.projection().map_err(argument)?;
    let meaning = if bone_is_bright {
        PixelMeaning::Attenuation
    } else {
        PixelMeaning::Transmission
    };
    let image = Radiograph::new(view.iter().copied().collect(), meaning, projection, label);
    let image = Arc::new(Radiograph {
        setup: Some(setup),
        ..image
    });
    Ok(PyRadiograph {
        image,
        receipt: None,
        gradient: None,
        remarks: Vec::new(),
    })
}

#[pymethods]
impl PyRadiograph {
    /// Values, float32 ``[row, column]``: of a DRR line integrals of attenuation along the rays.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let projection = &self.image.projection;
        let view = ArrayView2::from_shape(
            (projection.rows(), projection.columns()),
            &self.image.values,
        );
        Ok(view.map_err(argument)?.to_pyarray(py))
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        as_asked(self.values(py)?.into_any(), dtype, copy)
    }

    /// Derivatives of the values by the pose, float32 ``[6, row, column]``: by tx, ty, tz (1/mm), rx, ry, rz (1/degree); None
    /// where they were not requested.
    #[getter]
    fn gradient<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray3<f32>>>> {
        let Some(gradient) = &self.gradient else {
            return Ok(None);
        };
        let projection = &self.image.projection;
        let view = ArrayView3::from_shape(
            (AXES, projection.rows(), projection.columns()),
            &gradient[..],
        );
        Ok(Some(view.map_err(argument)?.to_pyarray(py)))
    }

    /// Source, first pixel, steps of columns and rows (patient LPS, mm) and the 3 x 4 matrix (x, y, z, 1) -> w (column, row, 1).
    #[getter]
    fn projection<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let projection = &self.image.projection;
        dictionary(
            py,
            &json!({
                "source_mm": projection.source_mm().to_array(),
                "first_pixel_mm": projection.origin_mm().to_array(),
                "column_step_mm": projection.column_step_mm().to_array(),
                "row_step_mm": projection.row_step_mm().to_array(),
                "matrix": projection.matrix(),
            }),
        )
    }

    /// Writes an RT image (``.dcm``) of 16 bits with its place, of the patient of ``case``, as ``beamsight drr --out`` does. Raises
    /// ArgumentError for another ending, FileError where a file is there already, unless ``overwrite``.
    #[pyo3(signature = (path, case = None, *, overwrite = false))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        case: Option<&PyCase>,
        overwrite: bool,
    ) -> PyResult<()> {
        if !path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("dcm"))
        {
            return Err(argument(format!(
                "'{}': a radiograph is saved as .dcm",
                path.display()
            )));
        }
        check_new(&path, overwrite)?;
        let belonging = Belonging::new(&case.map(|case| case.0.clone()).unwrap_or_default());
        guarded(|| {
            let written = py.detach(|| write_radiograph(&path, &self.image, &belonging));
            written.map_err(|error| Kind::File.caused_by(&error))
        })
    }

    /// The receipt of a DRR; None for an array.
    #[getter]
    fn receipt<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.receipt
            .as_ref()
            .map(|receipt| dictionary(py, &**receipt))
            .transpose()
    }

    #[getter]
    fn remarks(&self) -> Vec<String> {
        let warnings = self
            .receipt
            .iter()
            .flat_map(|receipt| receipt.warnings.clone());
        self.remarks.iter().cloned().chain(warnings).collect()
    }

    fn __repr__(&self) -> String {
        let (projection, by) = (&self.image.projection, self.receipt.as_ref());
        let by = by.map_or(String::new(), |receipt| format!(", by {}", receipt.device));
        let mut text = format!(
            "{}: {} x {} pixels (rows, columns){by}",
            self.image.label,
            projection.rows(),
            projection.columns()
        );
        self.remarks()
            .iter()
            .for_each(|remark| text += &format!("\n  note: {remark}"));
        text
    }
}
