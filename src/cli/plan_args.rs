//! The plan of a case, and how its dose is computed: options shared by the verbs that compute one.

use super::outputs::Outputs;
use super::words;
use analysis::{BodyWord, DEFAULT_GRID_MM, Engine};
use anyhow::anyhow;
use case::{Case, DoseEngine, Plan};
use engine::dose::{DoseTo, Quality};
use engine::{DeviceChoice, JobControl};
use files::{Matched, plan_toml};
use geometry::PatientPosition;
use physics::HuTable;
use results::{PlanJob, PlanResult, Settings, compute_plan, with_matter_outside};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// Plan file (.toml); left out: the case's own first plan
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    #[command(flatten)]
    pub computing: ComputingArgs,
}

/// How doses are computed.
#[derive(Debug, clap::Args)]
pub struct ComputingArgs {
    /// Spacing of the dose grid, mm [default: 2.5]
    #[arg(long, value_name = "MM", value_parser = words::grid)]
    grid: Option<f64>,

    /// Directions of the kernels: full 384, standard 128, fast 48 [default: full]
    #[arg(long, value_name = "QUALITY", value_parser = quality)]
    quality: Option<Quality>,

    /// Dose to the medium that is there, or to water [default: medium]
    #[arg(long, value_name = "WHAT", value_parser = dose_to)]
    dose_to: Option<DoseTo>,

    /// Machine for all beams: a shipped name or a file; left out: what the plan names
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,

    /// HU to density: the name of a shipped table or a file [default: matrad-default]
    #[arg(long, value_name = "TABLE")]
    hu_table: Option<String>,

    /// Outside of it nothing counts: auto (found in the CT), none (everything counts) or the name of a structure; left
    /// out: the body that is drawn, else auto
    #[arg(long, value_name = "BODY")]
    body: Option<BodyWord>,
}

/// Engine and device that compute a dose.
#[derive(Clone, Copy, Debug)]
pub struct DoseBy {
    pub engine: Engine,
    pub device: DeviceChoice,
}

impl DoseBy {
    pub fn collapsed_cone(device: DeviceChoice) -> Self {
        Self {
            engine: Engine::COLLAPSED_CONE,
            device,
        }
    }
}

pub fn quality(word: &str) -> Result<Quality, String> {
    Quality::NAMED
        .into_iter()
        .find(|q| q.word() == word)
        .ok_or_else(|| "it is full, standard or fast".to_owned())
}

fn dose_to(word: &str) -> Result<DoseTo, String> {
    match word {
        "medium" => Ok(DoseTo::Medium),
        "water" => Ok(DoseTo::Water),
        _ => Err("it is medium or water".to_owned()),
    }
}

impl PlanArgs {
    /// Registers the files that are read.
    pub fn reads(&self, outputs: &mut Outputs) {
        outputs.reads("the plan", &self.plan);
        self.computing.reads(outputs);
    }

    /// Reports an unreadable plan before a large CT is read.
    ///
    /// # Errors
    /// Errors of its reader.
    pub fn check(&self) -> anyhow::Result<()> {
        self.plan.as_ref().map_or(Ok(()), |path| {
            Ok(plan_toml::read(path, PatientPosition::default()).map(|_| ())?)
        })
    }

    /// The plan of a file, else the case's first.
    ///
    /// # Errors
    /// A case without any; errors of the reader.
    pub fn plan(&self, case: &Case) -> anyhow::Result<Plan> {
        let ct = words::ct_of(case)?;
        let mut plan = match &self.plan {
            Some(path) => plan_toml::read(path, ct.position)?,
            None => case.plans.first().map(|p| (**p).clone()).ok_or_else(|| {
                anyhow!(
                    "{}; give one with --plan FILE (assets/plans/README.md)",
                    case.no_plan()
                )
            })?,
        };
        self.computing.set_machine(&mut plan);
        Ok(plan)
    }

    /// Whether a plan file replaces the plans of the case.
    pub fn names_a_plan(&self) -> bool {
        self.plan.is_some()
    }

    /// The files that are read.
    pub fn inputs(&self) -> Vec<(&'static str, PathBuf)> {
        let plan = self.plan.iter().map(|path| ("the plan", path.clone()));
        plan.chain(self.computing.inputs()).collect()
    }

    /// The dose prescribed by the plan of a file, else by the plans of the case where they agree; or why
    /// there is none.
    ///
    /// # Errors
    /// Errors of the file's reader.
    pub fn prescription_gy(&self, case: &Case) -> anyhow::Result<Result<f64, &'static str>> {
        let mut prescribed: Vec<f64> = match &self.plan {
            Some(path) => plan_toml::read(path, PatientPosition::default())?
                .prescription_gy
                .into_iter()
                .collect(),
            None => case
                .plans
                .iter()
                .filter_map(|plan| plan.prescription_gy)
                .collect(),
        };
        prescribed.dedup();
        Ok(match prescribed[..] {
            [gy] => Ok(gy),
            [] => Err("no plan says what is prescribed"),
            _ => Err("the plans of the case prescribe different doses"),
        })
    }
}

impl ComputingArgs {
    pub fn grid_mm(&self) -> f64 {
        self.grid.unwrap_or(DEFAULT_GRID_MM)
    }

    pub fn quality(&self) -> Quality {
        self.quality.unwrap_or_default()
    }

    pub fn dose_to(&self) -> DoseTo {
        self.dose_to.unwrap_or(DoseTo::Medium)
    }

    fn hu_table(&self) -> &str {
        self.hu_table.as_deref().unwrap_or(HuTable::DEFAULT)
    }

    /// The first given option that only applies to a computed dose.
    pub fn of_computing(&self) -> Option<&'static str> {
        let options = [
            (self.grid.is_some(), "--grid"),
            (self.quality.is_some(), "--quality"),
            (self.dose_to.is_some(), "--dose-to"),
            (self.machine.is_some(), "--machine"),
            (self.hu_table.is_some(), "--hu-table"),
            (self.body.is_some(), "--body"),
        ];
        options
            .into_iter()
            .find_map(|(is, option)| is.then_some(option))
    }

    /// The machine of `--machine`, for all beams.
    pub fn set_machine(&self, plan: &mut Plan) {
        if let Some(machine) = &self.machine {
            plan.set_machine(machine);
        }
    }

    /// Computes a plan of a case.
    ///
    /// # Errors
    /// [`results::Failure`]; a body that the case does not have.
    pub fn compute(&self, case: &Case, plan: Plan, by: DoseBy) -> anyhow::Result<PlanResult> {
        let job = self.job(case, plan, by.engine, by.device)?;
        Ok(compute_plan(&job, &JobControl::new(), &super::tell)?)
    }

    /// DVHs of the same plan by the same engine in the patient with the matter outside the body counted, where nothing else keeps its
    /// dose from being whole and there are goals to decide.
    ///
    /// # Errors
    /// As [`Self::compute`].
    pub fn with_matter_outside(
        &self,
        case: &Case,
        (result, matched): (&PlanResult, Option<&Matched>),
        by: DoseBy,
    ) -> anyhow::Result<Option<PlanResult>> {
        if matched.is_none_or(|matched| matched.goals.is_empty()) {
            return Ok(None);
        }
        let job = self.job(case, result.plan.clone(), by.engine, by.device)?;
        Ok(with_matter_outside(
            &job,
            result,
            &JobControl::new(),
            &super::tell,
        )?)
    }

    /// Job for a plan of a case.
    ///
    /// # Errors
    /// A case without CT; as [`Self::settings`].
    pub fn job(
        &self,
        case: &Case,
        plan: Plan,
        engine: Engine,
        device: DeviceChoice,
    ) -> anyhow::Result<PlanJob> {
        let settings = self.settings(case, device)?;
        Ok(PlanJob {
            ct: words::ct_of(case)?,
            structures: Arc::clone(&case.structures),
            remarks: case.remarks.clone(),
            plan,
            body: settings.body,
            hu_table: self.hu_table().to_owned(),
            grid_mm: settings.grid_mm,
            quality: settings.quality,
            dose_to: settings.dose_to,
            device,
            engine,
            parts: None,
        })
    }

    /// How a dose is computed.
    ///
    /// # Errors
    /// A HU table that cannot be read; a body that the case does not have.
    pub fn settings(&self, case: &Case, device: DeviceChoice) -> anyhow::Result<Settings> {
        Ok(Settings {
            engine: DoseEngine::default(),
            quality: self.quality(),
            dose_to: self.dose_to(),
            grid_mm: self.grid_mm(),
            device,
            hu_table: Arc::new(HuTable::resolve(self.hu_table())?),
            body: self
                .body
                .as_ref()
                .map(|word| word.choice(&case.structures))
                .transpose()?
                .unwrap_or_default(),
            machine_changes: 0,
        })
    }

    /// Registers the files that are read.
    pub fn reads(&self, outputs: &mut Outputs) {
        self.machine
            .iter()
            .for_each(|word| outputs.reads_word("the machine", word));
        outputs.reads_word("the HU table", self.hu_table());
    }

    /// The files that are read.
    pub fn inputs(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let machine = self.machine.iter();
        machine
            .map(|word| ("the machine", PathBuf::from(word)))
            .chain([("the HU table", PathBuf::from(self.hu_table()))])
    }
}
