//! Copies of doses on the graphics device: the frame that draws a dose finds it there.

use crate::render::Gpu;
use results::{Access, DoseOfPlan, Failure, Grade, IsodosesOf, Priority, Query};
use std::fmt;
use worker::Lane;

/// The texture of a dose, made beside its DVHs.
#[derive(Clone)]
pub(super) struct TextureOf {
    /// The isodoses name the dose, which need not be done.
    isodoses: IsodosesOf,
    gpu: Gpu,
}

impl TextureOf {
    pub fn new(isodoses: IsodosesOf, gpu: &Gpu) -> Self {
        Self {
            isodoses,
            gpu: gpu.clone(),
        }
    }

    fn dose(&self) -> &DoseOfPlan {
        &self.isodoses.0
    }
}

impl PartialEq for TextureOf {
    fn eq(&self, other: &Self) -> bool {
        self.isodoses == other.isodoses
    }
}

impl fmt::Debug for TextureOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextureOf")
            .field("dose", self.dose())
            .finish_non_exhaustive()
    }
}

impl Query for TextureOf {
    /// The device keeps it: where it is evicted or has failed, the frame that draws the dose tries again.
    type Answer = ();

    const PRIORITY: Option<Priority> = Some(Priority::Doses(1));
    const GRADES: &'static [Grade] = &[Grade::Preview, Grade::Full];
    const NOTICED: bool = false;
    const RUNS_IN_PARALLEL: bool = true;

    fn name(&self) -> String {
        "Texture".to_owned()
    }

    fn lane(&self, grade: Grade) -> Lane {
        self.dose().lane(grade)
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<(), Failure> {
        let summed = inputs.get(self.dose())?;
        self.gpu.prepare_dose(&summed.dose.gy);
        Ok(())
    }
}
