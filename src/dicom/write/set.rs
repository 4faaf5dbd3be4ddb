//! An export: the objects of a case as one study, each object that was not changed as its own file, the others with UIDs
//! of their own, and all of it read back before it is called written.

mod read_back;
mod xrays;

use super::anonymise::{ANONYMISED, Anonymise, anonymise};
use super::data_set::shortened;
use super::rtplan_source::write_plan_from;
use super::rtstruct::write_structures_from;
use super::source::{PlanSource, StructureSource, StudyFacts};
use super::{
    Belonging, DoseBits, DoseFile, DoseOf, Imaging, WriteError, plan_as_written, plan_faults,
    structures_as_written, write_ct, write_dose_file, write_plan,
};
use crate::object::{Attributes as _, open};
use crate::{Progress, read_ct, scan};
use case::{BeamDose, Case, Ct, Dose, Plan, Sources, beyond_16_bits, new_uid};
use dicom_dictionary_std::tags;
use files::replace_file;
use rayon::prelude::*;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A kind of object of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportPart {
    Ct,
    Structures,
    Plan,
    Dose,
    /// The pose of the CT before X-rays.
    Registration,
    /// The CT as the X-rays see it at that pose.
    Drr,
    Xray,
}

impl ExportPart {
    pub const ALL: [Self; 7] = [
        Self::Ct,
        Self::Structures,
        Self::Plan,
        Self::Dose,
        Self::Registration,
        Self::Drr,
        Self::Xray,
    ];

    /// Whether it is about X-rays, which a case does not hold.
    pub fn is_of_xrays(self) -> bool {
        matches!(self, Self::Registration | Self::Drr | Self::Xray)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Ct => "ct",
            Self::Structures => "structures",
            Self::Plan => "plan",
            Self::Dose => "dose",
            Self::Registration => "registration",
            Self::Drr => "drr",
            Self::Xray => "xray",
        }
    }

    /// Whether a case itself has objects of this kind, or can have them computed.
    pub fn is_in(self, case: &Case) -> bool {
        match self {
            Self::Ct => case.ct.is_some(),
            Self::Structures => !case.structures.structures.is_empty(),
            Self::Plan => !case.plans.is_empty(),
            Self::Dose => case.ct.is_some() && !case.plans.is_empty(),
            Self::Registration | Self::Drr | Self::Xray => false,
        }
    }
}

/// Objects that leave, and their form.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    pub parts: Vec<ExportPart>,
    pub bits: DoseBits,
    /// Every object that leaves is made anonymous, also those that were not changed.
    pub anonymise: Option<Anonymise>,
    /// For the parts about X-rays.
    pub imaging: Option<Imaging>,
}

impl ExportOptions {
    pub fn has(&self, part: ExportPart) -> bool {
        self.parts.contains(&part)
    }
}

/// A plan as it is delivered, and the doses of it that leave.
#[derive(Clone, Debug)]
pub struct PlanDoses {
    /// The plan with the monitor units that deliver its normalisation.
    pub plan: Plan,
    /// Dose of the whole plan; `None` where only doses of beams leave, or none.
    pub dose: Option<Dose>,
    /// Doses of single beams, by their number.
    pub beams: Vec<(u32, Dose)>,
    pub beam_doses: Vec<BeamDose>,
    /// Mean relative standard deviation of a Monte Carlo dose where it is above half its maximum, percent.
    pub uncertainty_percent: Option<f64>,
    /// How they were computed, and what they do not count.
    pub note: String,
}

/// Files and remarks of an export.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Exported {
    pub files: Vec<ExportedFile>,
    pub remarks: Vec<String>,
}

/// A file of an export, by its name in the folder.
#[derive(Clone, Debug, Serialize)]
pub struct ExportedFile {
    pub name: String,
    pub what: String,
    /// The source's own file, with its UID.
    pub unchanged: bool,
}

/// Refuses, before anything is computed or written, what cannot leave.
///
/// # Errors
/// [`WriteError`], one sentence with every reason.
pub fn check_export(case: &Case, options: &ExportOptions) -> Result<(), WriteError> {
    xrays::check(case, options)?;
    if let Some(part) = options
        .parts
        .iter()
        .filter(|part| !part.is_of_xrays())
        .find(|part| !part.is_in(case))
    {
        let why = match part {
            ExportPart::Ct => format!("{} has no CT", case.source),
            ExportPart::Structures => format!("{} has no structures", case.source),
            ExportPart::Plan => case.no_plan(),
            ExportPart::Dose if case.plans.is_empty() => {
                format!("{}, and a dose leaves with its plan", case.no_plan())
            }
            _ => format!("{} has no CT to compute a dose on", case.source),
        };
        return refuse(format!("no {} can be exported: {why}", part.word()));
    }
    if options.parts.is_empty() {
        return refuse(format!("{} has nothing to be exported", case.source));
    }
    if options.has(ExportPart::Dose) && !options.has(ExportPart::Plan) {
        return refuse(
            "a dose leaves with the plan that it was computed for: export the plan too".to_owned(),
        );
    }
    if let Some(ct) = &case.ct {
        let (structures_frame, of_ct) = (
            &case.structures.frame_of_reference_uid,
            &ct.frame_of_reference_uid,
        );
        if !structures_frame.is_empty() && !of_ct.is_empty() && structures_frame != of_ct {
            return refuse(format!(
                "the structures are in another frame of reference ({structures_frame}) than the CT ({of_ct}): they do not leave together"
            ));
        }
    }
    for plan in case.plans.iter().filter(|_| options.has(ExportPart::Plan)) {
        let source = source_of(case, plan)?;
        let faults = match &source {
            Some(source) if source.is_unchanged(plan) && !options.has(ExportPart::Dose) => {
                Vec::new()
            }
            Some(source) => source.faults(plan, options.has(ExportPart::Dose)),
            None => plan_faults(plan),
        };
        if !faults.is_empty() {
            return refuse(format!(
                "the plan '{}' does not leave as DICOM: {}",
                plan.name,
                faults.join("; ")
            ));
        }
    }
    Ok(())
}

fn refuse<T>(why: String) -> Result<T, WriteError> {
    Err(WriteError::Refused(why))
}

fn source_of(case: &Case, plan: &Plan) -> Result<Option<PlanSource>, WriteError> {
    case.sources
        .of_plan(plan)
        .map(PlanSource::of_plan)
        .transpose()
}

/// Writes a case into an empty folder, as one study. `compute` gets the case as the files hold it, and answers with its plans as
/// they are delivered, in their order, and their doses; `None` for a plan that leaves without a dose and is delivered as it is. It is
/// asked where doses leave, or a normalised plan.
///
/// # Errors
/// [`WriteError`], and the errors of `compute`; what was written by then remains, so the folder is a temporary one.
pub fn export<E: From<WriteError>>(
    folder: &Path,
    case: &Case,
    options: &ExportOptions,
    compute: impl FnOnce(&Case) -> Result<Vec<Option<PlanDoses>>, E>,
    progress: Progress,
) -> Result<Exported, E> {
    check_export(case, options)?;
    let mut set = Set::new(folder, case, options, progress)?;
    set.write_ct()?;
    set.write_structures()?;
    let has_plans = options.has(ExportPart::Plan);
    let asks = options.has(ExportPart::Dose)
        || (has_plans
            && case
                .plans
                .iter()
                .any(|plan: &Arc<Plan>| plan.normalisation.is_some()));
    let doses = if asks {
        compute(&set.case)?
    } else {
        Vec::new()
    };
    if has_plans {
        set.write_plans(&doses)?;
    }
    set.write_imaging()?;
    if let Some(how) = options.anonymise {
        set.anonymise(how)?;
    }
    read_back::check(&mut set, &doses)?;
    Ok(set.exported)
}

/// An export under way.
struct Set<'a> {
    folder: &'a Path,
    /// The case as the files hold it.
    case: Case,
    belonging: Belonging,
    options: &'a ExportOptions,
    exported: Exported,
    /// The plans as they were written.
    plans: Vec<Plan>,
    /// The label of each plan of the case, each only once.
    labels: Vec<String>,
    progress: Progress<'a>,
}

impl<'a> Set<'a> {
    fn new(
        folder: &'a Path,
        case: &Case,
        options: &'a ExportOptions,
        progress: Progress<'a>,
    ) -> Result<Self, WriteError> {
        let mut case = case.clone();
        // Structures that a protocol made are no one's drawing.
        if case
            .structures
            .structures
            .iter()
            .any(|s| s.made_of.is_some())
        {
            let drawn = Arc::make_mut(&mut case.structures);
            drawn.structures.retain(|s| s.made_of.is_none());
        }
        // What was not changed leaves as it is, also where its file has longer numbers.
        let sources = Arc::clone(&case.sources);
        if sources
            .structures
            .as_ref()
            .is_none_or(|source| source.read.structures != case.structures.structures)
        {
            case.structures = Arc::new(structures_as_written(&case.structures));
        }
        for plan in &mut case.plans {
            if sources
                .of_plan(plan)
                .is_none_or(|source| source.read.beams != plan.beams)
            {
                *plan = Arc::new(plan_as_written(plan));
            }
        }
        let named = Belonging::new(&case).patient;
        let (mut exported, plans) = (Exported::default(), Vec::new());
        if named != case.patient && options.anonymise.is_none() {
            exported.remarks.push(format!(
                "{} states no patient: the objects are written for the patient {}",
                case.source,
                named.in_words()
            ));
        }
        case.patient = named;
        let own_images = options.has(ExportPart::Ct);
        if let Some(ct) = case
            .ct
            .as_mut()
            .filter(|ct| ct.plane_uids.is_empty() && own_images)
        {
            name_planes(Arc::make_mut(ct));
        }
        let mut belonging = Belonging::new(&case);
        let files = case.ct.iter().flat_map(|ct| ct.files.first());
        let files = files.chain(sources.structures.iter().map(|source| &source.path));
        if let Some(path) = files
            .chain(sources.plans.iter().map(|source| &source.path))
            .next()
        {
            let study = StudyFacts::of_file(path)?;
            if !study.uid.is_empty() {
                belonging.study = study;
            }
        }
        let labels = if options.has(ExportPart::Plan) {
            plan_labels(&case, &sources)?
        } else {
            Vec::new()
        };
        Ok(Self {
            folder,
            case,
            belonging,
            options,
            exported,
            plans,
            labels,
            progress,
        })
    }

    fn add(
        &mut self,
        name: impl Into<String>,
        what: impl Into<String>,
        unchanged: bool,
    ) -> PathBuf {
        let name = name.into();
        let path = self.folder.join(&name);
        self.exported.files.push(ExportedFile {
            name,
            what: what.into(),
            unchanged,
        });
        path
    }

    fn remark(&mut self, remark: impl Into<String>) {
        self.exported.remarks.push(remark.into());
    }

    fn write_ct(&mut self) -> Result<(), WriteError> {
        let Some(ct) = self
            .case
            .ct
            .clone()
            .filter(|_| self.options.has(ExportPart::Ct))
        else {
            return Ok(());
        };
        let planes = ct.hu.grid().size()[2];
        let unchanged = !ct.files.is_empty();
        if unchanged {
            copy_planes(self.folder, &ct, self.progress)?;
        } else {
            let [lowest, highest] = bounds(&ct);
            if let Some(why) = beyond_16_bits(lowest, highest) {
                return Err(WriteError::Refused(format!(
                    "the CT does not leave as DICOM: {why}"
                )));
            }
            if ct.hu.data().par_iter().any(|hu| hu.fract() != 0.0) {
                self.remark("the HU of the CT are rounded to whole numbers");
            }
            write_ct(self.folder, &ct, &self.belonging, self.progress)?;
            self.case.ct = Some(Arc::new(self.ct_as_read(&ct)?));
        }
        for k in 1..=planes {
            self.add(plane_name(k), "CT", unchanged);
        }
        Ok(())
    }

    /// Makes all files anonymous; the CT is read back, the others are afterwards.
    fn anonymise(&mut self, how: Anonymise) -> Result<(), WriteError> {
        let showing = anonymise(self.folder, &self.exported.files, how, self.progress)?;
        self.exported
            .files
            .iter_mut()
            .for_each(|file| file.unchanged = false);
        self.remark(ANONYMISED);
        if let Some((first, others)) = showing.split_first() {
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(" and {} more", others.len())
            };
            self.remark(format!(
                "{first}{more} say that text is burned into their pixels, or that these show a face \
                 (BurnedInAnnotation, RecognizableVisualFeatures YES): the pixels stay as they are; look at them before they leave"
            ));
        }
        let Some(ct) = self
            .case
            .ct
            .clone()
            .filter(|_| self.options.has(ExportPart::Ct))
        else {
            return Ok(());
        };
        if self.ct_as_read(&ct)?.hu.data() != ct.hu.data() {
            let why =
                "the CT that was made anonymous reads back with other values; nothing is exported";
            return Err(WriteError::Refused(why.to_owned()));
        }
        Ok(())
    }

    /// The CT as another system reads it: doses are computed on this one.
    fn ct_as_read(&self, ct: &Ct) -> Result<Ct, WriteError> {
        let catalogue = scan(self.folder, self.progress).map_err(WriteError::Source)?;
        let Some(series) = catalogue
            .series
            .iter()
            .find(|series| series.modality == "CT")
        else {
            return Err(WriteError::Refused(
                "the CT that was written cannot be read back".to_owned(),
            ));
        };
        let read = read_ct(series, self.progress).map_err(WriteError::Source)?;
        if read.hu.grid().size() != ct.hu.grid().size() {
            let why = "the CT that was written reads back with another size";
            return Err(WriteError::Refused(why.to_owned()));
        }
        Ok(Ct {
            files: Vec::new(),
            ..read
        })
    }

    fn write_structures(&mut self) -> Result<(), WriteError> {
        let set = Arc::clone(&self.case.structures);
        let source = self.case.sources.structures.as_ref();
        let source = source.map(StructureSource::of_structures).transpose()?;
        let unchanged = source.as_ref().is_some_and(|source| {
            source.study_uid() == self.belonging.study.uid
                && source.read.structures == set.structures
                && source.read.label == set.label
        });
        if !self.options.has(ExportPart::Structures) {
            // A plan then refers to the set that it was made on, where that is still it.
            self.belonging.structure_set_uid = set.uid.clone().filter(|_| unchanged);
            return Ok(());
        }
        let path = self.add("RS.dcm", "structures", unchanged);
        if let Some(source) = source.as_ref().filter(|_| unchanged) {
            copy(&source.path, &path)?;
            self.belonging.structure_set_uid.clone_from(&set.uid);
            return Ok(());
        }
        let left_out: Vec<String> = source.iter().flat_map(|source| source.not_read()).collect();
        if !left_out.is_empty() {
            self.remark(format!(
                "structures that are not read are left out: {}",
                left_out.join(", ")
            ));
        }
        let mut set = (*set).clone();
        set.uid = Some(new_uid());
        self.belonging.structure_set_uid.clone_from(&set.uid);
        write_structures_from(
            &path,
            &set,
            self.case.ct.as_deref(),
            &self.belonging,
            source.as_ref(),
        )?;
        self.case.structures = Arc::new(set);
        Ok(())
    }

    fn write_plans(&mut self, doses: &[Option<PlanDoses>]) -> Result<(), WriteError> {
        let several = self.case.plans.len() > 1;
        for (n, plan) in self.case.plans.clone().iter().enumerate() {
            let plan_doses = doses.get(n).and_then(Option::as_ref);
            let tail = if several {
                format!("-{}", n + 1)
            } else {
                String::new()
            };
            let plan = plan_doses.map_or(&**plan, |plan_doses| &plan_doses.plan);
            self.belonging.plan_label = self.labels.get(n).cloned();
            self.write_plan(plan, plan_doses, &tail)?;
        }
        Ok(())
    }

    fn write_plan(
        &mut self,
        plan: &Plan,
        doses: Option<&PlanDoses>,
        tail: &str,
    ) -> Result<(), WriteError> {
        let source = source_of(&self.case, plan)?;
        let structures = source.as_ref().and_then(|source| {
            let referenced = source.object.items(tags::REFERENCED_STRUCTURE_SET_SEQUENCE);
            referenced
                .first()
                .and_then(|item| item.text(tags::REFERENCED_SOP_INSTANCE_UID))
        });
        // A case without structures leaves a plan with the structure set that the plan names.
        let set_uid = self.belonging.structure_set_uid.clone();
        let structure_set_uid = if self.case.structures.structures.is_empty() {
            structures.clone()
        } else {
            set_uid
        };
        let unchanged = source.as_ref().is_some_and(|source| {
            doses.is_none()
                && source.is_unchanged(plan)
                && structures == structure_set_uid
                && (source.study_uid() == self.belonging.study.uid
                    || !source.faults(plan, false).is_empty())
        });
        let path = self.add(
            format!("RP{tail}.dcm"),
            format!("plan '{}'", plan.name),
            unchanged,
        );
        if let Some(source) = source.as_ref().filter(|_| unchanged) {
            if source.study_uid() != self.belonging.study.uid {
                self.remark(format!(
                    "the plan '{}' leaves as it was, in a study of its own",
                    plan.name
                ));
            }
            copy(&source.path, &path)?;
            self.plans.push(plan.clone());
            return Ok(());
        }
        let off = plan
            .beams
            .iter()
            .filter(|beam| beam.off || (beam.setup && source.is_none()));
        let off: Vec<&str> = off.map(|beam| beam.name.as_str()).collect();
        if !off.is_empty() {
            self.remark(format!(
                "plan '{}': {} left out, not delivered",
                plan.name,
                off.join(", ")
            ));
        }
        let mut plan = plan.clone();
        // The approval of a file is one of the plan as the file has it.
        if source
            .as_ref()
            .is_some_and(|s| s.read.approval == plan.approval && !s.is_unchanged(&plan))
        {
            plan.approval = None;
        }
        plan.uid = Some(new_uid());
        plan.normalisation = None;
        let belonging = Belonging {
            plan_uid: plan.uid.clone(),
            structure_set_uid,
            source_plan_uid: source.as_ref().and_then(|source| source.read.uid.clone()),
            fraction_group: source.as_ref().and_then(|source| {
                let group = source.object.items(tags::FRACTION_GROUP_SEQUENCE).first()?;
                u32::try_from(group.whole(tags::FRACTION_GROUP_NUMBER)?).ok()
            }),
            ..self.belonging.clone()
        };
        let beam_doses = doses.map_or(&[][..], |doses| &doses.beam_doses);
        let note = doses.map_or("", |doses| doses.note.as_str());
        match &source {
            Some(source) => write_plan_from(&path, &plan, beam_doses, &belonging, source, note)?,
            None => write_plan(&path, &plan, beam_doses, &belonging)?,
        }
        if let Some(doses) = doses {
            self.write_doses(doses, &belonging, tail)?;
        }
        self.plans.push(plan);
        Ok(())
    }

    fn write_doses(
        &mut self,
        doses: &PlanDoses,
        belonging: &Belonging,
        tail: &str,
    ) -> Result<(), WriteError> {
        let (bits, comment) = (self.options.bits, doses.note.as_str());
        let uncertainty_percent = doses.uncertainty_percent;
        let first = doses
            .dose
            .iter()
            .chain(doses.beams.iter().map(|(_, dose)| dose))
            .next();
        for remark in first.iter().flat_map(|dose| &dose.remarks) {
            self.remark(format!("dose of plan '{}': {remark}", doses.plan.name));
        }
        // Remarks name files, structures and machines.
        let is_anonymous = self.options.anonymise.is_some();
        if let Some(dose) = &doses.dose {
            let dose = exported_dose(dose, is_anonymous);
            let path = self.add(
                format!("RD{tail}.dcm"),
                format!("dose of plan '{}'", doses.plan.name),
                false,
            );
            write_dose_file(
                &path,
                &DoseFile {
                    dose: &dose,
                    of: DoseOf::Plan,
                    bits,
                    comment,
                    uncertainty_percent,
                },
                belonging,
            )?;
        }
        for (number, dose) in &doses.beams {
            let dose = exported_dose(dose, is_anonymous);
            let name = format!("RD{tail}-beam-{number}.dcm");
            let path = self.add(
                name,
                format!("dose of beam {number} of plan '{}'", doses.plan.name),
                false,
            );
            let dose_of = DoseOf::Beam(*number);
            write_dose_file(
                &path,
                &DoseFile {
                    dose: &dose,
                    of: dose_of,
                    bits,
                    comment,
                    uncertainty_percent,
                },
                belonging,
            )?;
        }
        Ok(())
    }
}

/// A dose as it leaves: its remarks may name the patient.
fn exported_dose(dose: &Dose, is_anonymous: bool) -> Dose {
    if is_anonymous {
        Dose {
            remarks: Vec::new(),
            ..dose.clone()
        }
    } else {
        dose.clone()
    }
}

/// A label for each plan, of 16 letters: its file's label where it still has its name, else the beginning of its name, with a
/// number where another plan has it.
fn plan_labels(case: &Case, sources: &Sources) -> Result<Vec<String>, WriteError> {
    let mut labels: Vec<Option<String>> = Vec::new();
    for plan in &case.plans {
        let source = sources
            .of_plan(plan)
            .filter(|source| source.read.name == plan.name);
        let label = source
            .map(|source| open(&source.path).map_err(WriteError::Source))
            .transpose()?;
        labels.push(label.and_then(|object| object.text(tags::RT_PLAN_LABEL)));
    }
    // Labels of files come first: a file that leaves unchanged keeps its own.
    for n in 0..labels.len() {
        let label_of_file = labels[n]
            .take()
            .filter(|label| !is_taken(&labels[..n], n, label));
        let name = shortened(&case.plans[n].name, LABEL_LETTERS);
        let mut candidates = std::iter::once(name.clone()).chain((2..).map(|number: usize| {
            let tail = format!("-{number}");
            shortened(name.trim_end(), LABEL_LETTERS - tail.len()) + &tail
        }));
        labels[n] = label_of_file.or_else(|| candidates.find(|label| !is_taken(&labels, n, label)));
    }
    Ok(labels.into_iter().flatten().collect())
}

fn is_taken(labels: &[Option<String>], n: usize, label: &str) -> bool {
    let others = labels.iter().enumerate().filter(|(other, _)| *other != n);
    others.into_iter().any(|(_, other_label)| {
        other_label
            .as_deref()
            .is_some_and(|other_label| other_label.eq_ignore_ascii_case(label))
    })
}

/// Most letters of a label (SH, PS3.5 6.2).
const LABEL_LETTERS: usize = 16;

fn plane_name(number: usize) -> String {
    format!("CT{number:04}.dcm")
}

/// Gives the planes of an image that is no DICOM series UIDs of their own: another file of the same name has others.
fn name_planes(ct: &mut Ct) {
    ct.series_uid = new_uid();
    ct.study_uid = new_uid();
    ct.frame_of_reference_uid = new_uid();
    ct.plane_uids = (0..ct.hu.grid().size()[2]).map(|_| new_uid()).collect();
}

fn bounds(ct: &Ct) -> [f32; 2] {
    ct.hu.data().par_iter().map(|hu| [*hu, *hu]).reduce(
        || [f32::INFINITY, f32::NEG_INFINITY],
        |a: [f32; 2], b: [f32; 2]| [a[0].min(b[0]), a[1].max(b[1])],
    )
}

/// Copies the files of a CT, each if it is still the image that was read.
fn copy_planes(folder: &Path, ct: &Ct, progress: Progress) -> Result<(), WriteError> {
    let files = ct.files.par_iter().zip(&ct.plane_uids).enumerate();
    files.try_for_each(|(k, (file, uid))| {
        let header = open(file).map_err(WriteError::Source)?;
        if header.text(tags::SOP_INSTANCE_UID).unwrap_or_default() != *uid {
            return Err(WriteError::Changed { path: file.clone() });
        }
        copy(file, &folder.join(plane_name(k + 1)))?;
        if progress((k + 1) as f32 / ct.files.len() as f32) {
            Ok(())
        } else {
            Err(WriteError::Cancelled)
        }
    })
}

fn copy(from: &Path, to: &Path) -> Result<(), WriteError> {
    replace_file(to, |out| {
        io::copy(&mut std::fs::File::open(from)?, out).map(drop)
    })
    .map_err(|source| WriteError::Io {
        path: to.to_owned(),
        source,
    })
}
