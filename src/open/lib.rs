//! CASE: a folder, a file, a `.mha` volume, a session or a demo -> a case.

mod dose_file;

pub use dose_file::{DoseFile, DoseFileError, NotOfCase, read_dose};

use case::{Case, Ct, NO_HU, Plan, Remark, StructureSet, beyond_16_bits, derived_uid, too_narrow};
use dicom::{self, Belonging, Catalogue, Choice, DicomError, Progress, WriteError};
use files::demo::{self, UnknownDemo};
use files::mha::{self, MhaError, Quantity};
use files::session::{self, SessionError};
use files::{BeamPlace, Temporary, cache_folder, is_private, make_private};
use geometry::{PatientPosition, Volume};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// The CASE argument of the command line, and of the window's open box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseWord {
    /// A folder of DICOM files (with its subfolders) or one such file.
    Dicom(PathBuf),
    /// A volume of HU in patient LPS.
    Mha(PathBuf),
    Session(PathBuf),
    /// One of [`demo::DEMOS`].
    Demo(String),
}

impl FromStr for CaseWord {
    type Err = UnknownDemo;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        if let Some(name) = word.strip_prefix("demo:") {
            demo::plan(name)?;
            return Ok(Self::Demo(name.to_owned()));
        }
        Ok(Self::of_path(PathBuf::from(word)))
    }
}

impl fmt::Display for CaseWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dicom(path) | Self::Mha(path) | Self::Session(path) => path.display().fmt(f),
            Self::Demo(name) => write!(f, "demo:{name}"),
        }
    }
}

impl CaseWord {
    /// The CASE of a path; the ending selects a session or a volume.
    pub fn of_path(path: PathBuf) -> Self {
        let ending = path.extension().map(|e| e.to_ascii_lowercase());
        match ending.as_deref().and_then(|e| e.to_str()) {
            // A folder may have any name.
            Some("mha") if !path.is_dir() => Self::Mha(path),
            Some("json") if !path.is_dir() => Self::Session(path),
            _ => Self::Dicom(path),
        }
    }

    /// The argument as files store it, in UTF-8; `None` for a path that is not.
    pub fn in_utf8(&self) -> Option<String> {
        match self {
            Self::Dicom(path) | Self::Mha(path) | Self::Session(path) => {
                path.to_str().map(str::to_owned)
            }
            Self::Demo(_) => Some(self.to_string()),
        }
    }

    /// A short name: the last part of a path.
    pub fn short(&self) -> String {
        match self {
            Self::Dicom(path) | Self::Mha(path) | Self::Session(path) => path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned(),
            Self::Demo(_) => self.to_string(),
        }
    }

    /// The argument with an absolute path, as a session stores it.
    pub fn absolute(&self) -> Self {
        match self {
            Self::Dicom(path) => Self::Dicom(absolute(path)),
            Self::Mha(path) => Self::Mha(absolute(path)),
            Self::Session(path) => Self::Session(absolute(path)),
            Self::Demo(name) => Self::Demo(name.clone()),
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Files and folders that opening a CASE reads; for a session also the files of its case.
pub fn paths_of(word: &CaseWord) -> Vec<PathBuf> {
    match word {
        CaseWord::Dicom(path) | CaseWord::Mha(path) => vec![path.clone()],
        CaseWord::Session(path) => {
            let inner = session::read(path)
                .ok()
                .and_then(|session| session.case.parse().ok());
            let inner = inner
                .map(|word| beside(word, path))
                .filter(|w| !matches!(w, CaseWord::Session(_)));
            std::iter::once(path.clone())
                .chain(inner.iter().flat_map(paths_of))
                .collect()
        }
        CaseWord::Demo(name) => demo_folder(name).into_iter().collect(),
    }
}

/// The user's choice for an ambiguous CASE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    pub choice: Choice,
    /// Patient position of a `.mha`, which the file does not hold; head first supine by default.
    pub position: Option<PatientPosition>,
}

/// Why a CASE did not open. The case loaded before stays.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error(
        "there is no '{0}'; name a folder of DICOM files, a .mha volume, a session, or demo:thorax"
    )]
    Nothing(PathBuf),
    #[error(transparent)]
    Dicom(#[from] DicomError),
    #[error(transparent)]
    Mha(#[from] MhaError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("the session '{path}' belongs to a case that does not open: {source}")]
    SessionCase {
        path: PathBuf,
        source: Box<OpenError>,
    },
    #[error(
        "the session '{path}' {why}: no plan of one patient is shown on another. Put back the files that it was saved with; or open the \
         files that are there now by themselves"
    )]
    SessionOfOther { path: PathBuf, why: String },
    #[error("the session '{0}' names another session as its case; open that one")]
    SessionInSession(PathBuf),
    #[error(transparent)]
    Demo(#[from] UnknownDemo),
    #[error(
        "the demo is written to a folder first, and '{path}' refuses: {source}; set BEAMSIGHT_CACHE or TMPDIR to one you may write to"
    )]
    DemoFolder { path: PathBuf, source: io::Error },
    #[error("the demo is written to a folder first: {0}")]
    DemoWrite(#[from] WriteError),
}

impl OpenError {
    /// Whether it is a cancellation rather than a fault.
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Dicom(DicomError::Cancelled) | Self::DemoWrite(WriteError::Cancelled) => true,
            Self::SessionCase { source, .. } => source.is_stop(),
            _ => false,
        }
    }
}

/// Opens a CASE. `progress` receives the share done (0 to 1) on any thread, and returns `false` to cancel.
///
/// # Errors
/// [`OpenError`]: one sentence with the file and the remedy.
pub fn open(word: &CaseWord, options: OpenOptions, progress: Progress) -> Result<Case, OpenError> {
    let path = match word {
        CaseWord::Dicom(path) | CaseWord::Mha(path) | CaseWord::Session(path) => Some(path),
        CaseWord::Demo(_) => None,
    };
    if let Some(path) = path.filter(|p| !p.exists()) {
        return Err(OpenError::Nothing(path.clone()));
    }
    match word {
        CaseWord::Dicom(path) => open_dicom(path, options.choice, progress),
        CaseWord::Mha(path) => open_mha(path, options.position.unwrap_or_default()),
        CaseWord::Session(path) => open_session(path, options, progress).map(|opened| opened.case),
        CaseWord::Demo(name) => open_demo(name, progress),
    }
}

fn open_dicom(path: &Path, choice: Choice, progress: Progress) -> Result<Case, OpenError> {
    let (catalogue, progress) = scan_first(path, progress)?;
    Ok(dicom::load(&catalogue, choice, &progress)?)
}

/// The catalogue of a folder, and the progress of what follows: the headers are a tenth of the work, the pixels the rest.
///
/// # Errors
/// Errors of [`dicom::scan`].
pub fn scan_first<'a>(
    path: &Path,
    progress: Progress<'a>,
) -> Result<(Catalogue, impl Fn(f32) -> bool + Sync + 'a), DicomError> {
    let catalogue = dicom::scan(path, &|done| progress(0.1 * done))?;
    Ok((catalogue, move |done| progress(0.1 + 0.9 * done)))
}

fn open_mha(path: &Path, position: PatientPosition) -> Result<Case, OpenError> {
    let (hu, facts) = mha::read_as(path, Quantity::Hu)?;
    let file = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let unsaid = facts.quantity.is_empty().then(|| {
        let message = "the file does not say that its values are HU: they are taken as such";
        Remark::note(message, vec![file.clone()]).moving()
    });
    let remarks = unsaid
        .into_iter()
        .chain(hu_remarks_of_volume(&hu, &[file]))
        .collect();
    let source = path.display().to_string();
    let ct = Ct {
        series_uid: uid_from("series", &source),
        study_uid: uid_from("study", &source),
        frame_of_reference_uid: uid_from("frame", &source),
        description: path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        remarks,
        ..Ct::unnamed(Arc::new(hu), position)
    };
    Ok(Case {
        patient: facts.patient(),
        source,
        ct: Some(Arc::new(ct)),
        ..Case::default()
    })
}

fn uid_from(what: &str, source: &str) -> String {
    derived_uid(&format!("{source} {what}"))
}

/// Remarks on values that are taken as HU and come without a statement of what they are.
pub fn hu_remarks_of_volume(hu: &Volume<f32>, files: &[String]) -> Vec<Remark> {
    let lowest = hu.data().iter().copied().fold(f32::INFINITY, f32::min);
    let highest = hu.data().iter().copied().fold(f32::NEG_INFINITY, f32::max);
    // Air is about -1000 HU; an image without any is no CT, or cut out of the inside of a body.
    let airless = (lowest > -200.0).then(|| {
        format!("the lowest value is {lowest}: a CT in HU has air near -1000; is this one in HU?")
    });
    let warning = |message: String| Remark::warning(message, files.to_vec());
    let no_hu = beyond_16_bits(lowest, highest).or_else(|| too_narrow(lowest, highest));
    let no_hu = no_hu.map(|message| warning(message).forbidding(NO_HU));
    airless.map(warning).into_iter().chain(no_hu).collect()
}

/// An opened session: the restored case, and the CASE it was made on.
#[derive(Debug)]
pub struct OpenedSession {
    pub case: Case,
    /// The CASE of the session.
    pub word: CaseWord,
    /// Its folder, where it is one of DICOM, and what was chosen of that.
    pub folder: Option<(Catalogue, Choice)>,
    /// The structures of the case's own files.
    pub structures: Arc<StructureSet>,
    /// Plans as they were before the fluence maps that they have, by index.
    pub plans_before_maps: BTreeMap<usize, Plan>,
    /// Beams whose doses were kept with the session.
    pub doses: Vec<BeamPlace>,
    /// The view state.
    pub view: serde_json::Value,
}

/// Opens a session.
///
/// # Errors
/// As [`open`].
pub fn open_session(
    path: &Path,
    options: OpenOptions,
    progress: Progress,
) -> Result<OpenedSession, OpenError> {
    if !path.exists() {
        return Err(OpenError::Nothing(path.to_owned()));
    }
    let session = session::read(path)?;
    let inner = match session.case.parse()? {
        CaseWord::Session(_) => return Err(OpenError::SessionInSession(path.to_owned())),
        word => beside(word, path),
    };
    let wrap = |source| OpenError::SessionCase {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let (mut case, folder) = match &inner {
        CaseWord::Dicom(path) if path.exists() => {
            let (catalogue, progress) = scan_first(path, progress).map_err(|e| wrap(e.into()))?;
            let choice = chosen_before(&catalogue, &session, options.choice);
            let case = dicom::load(&catalogue, choice, &progress).map_err(|e| wrap(e.into()))?;
            (case, Some((catalogue, choice)))
        }
        _ => (open(&inner, options, progress).map_err(wrap)?, None),
    };
    if let Some(why) = session.other_patient(&case) {
        return Err(OpenError::SessionOfOther {
            path: path.to_owned(),
            why,
        });
    }
    let structures = Arc::clone(&case.structures);
    session.restore(&mut case);
    case.source = path.display().to_string();
    Ok(OpenedSession {
        case,
        word: inner.absolute(),
        folder,
        structures,
        plans_before_maps: session.plans_before_maps,
        doses: session.doses,
        view: session.view,
    })
}

/// A relative path of a session is relative to the session's folder.
fn beside(word: CaseWord, session: &Path) -> CaseWord {
    let folder = session.parent().unwrap_or(Path::new(""));
    match word {
        CaseWord::Dicom(path) => CaseWord::Dicom(folder.join(path)),
        CaseWord::Mha(path) => CaseWord::Mha(folder.join(path)),
        other => other,
    }
}

/// Choices of the session, as far as the folder still has the objects, where nothing else is chosen.
fn chosen_before(catalogue: &Catalogue, session: &session::Session, choice: Choice) -> Choice {
    let same = |s: &dicom::Series| session.series_uid.as_ref() == Some(&s.uid);
    let chosen = &session.chosen;
    // Whoever has joined the folder since has not been answered for.
    let accepted = |id: &String| chosen.accepted_patients.contains(id);
    let all_accepted =
        !chosen.accepted_patients.is_empty() && catalogue.patients.iter().all(|p| accepted(&p.id));
    Choice {
        series: choice.series.or_else(|| {
            let phase = catalogue.series.iter().position(|s| {
                same(s) && (session.series_description.as_ref() == Some(&s.description))
            });
            phase.or_else(|| catalogue.series.iter().position(same))
        }),
        structure_set: choice
            .structure_set
            .or_else(|| place_of(&chosen.structure_set_uid, &catalogue.structure_sets)),
        plan: choice
            .plan
            .or_else(|| place_of(&chosen.plan_uid, &catalogue.plans)),
        other_patients: choice.other_patients || all_accepted,
    }
}

fn place_of(uid: &Option<String>, entries: &[dicom::Entry]) -> Option<usize> {
    entries
        .iter()
        .position(|entry| uid.as_ref() == Some(&entry.sop_uid))
}

/// Chosen objects of a folder, as a session keeps them.
pub fn chosen_objects(catalogue: &Catalogue, choice: Choice) -> session::ChosenObjects {
    let patients = catalogue.patients.iter().filter(|_| choice.other_patients);
    session::ChosenObjects {
        structure_set_uid: uid_of_entry(choice.structure_set, &catalogue.structure_sets),
        plan_uid: uid_of_entry(choice.plan, &catalogue.plans),
        accepted_patients: patients.map(|patient| patient.id.clone()).collect(),
    }
}

fn uid_of_entry(index: Option<usize>, entries: &[dicom::Entry]) -> Option<String> {
    Some(entries.get(index?)?.sop_uid.clone())
}

/// Folder of a cached demo; `None` where the user has no cache folder.
fn demo_folder(name: &str) -> Option<PathBuf> {
    cache_folder().map(|cache| {
        cache
            .join("demos")
            .join(format!("{}-{name}", demo::revision()))
    })
}

/// Writes the phantom as DICOM once, then reads it like any other case: the demo runs the real path.
fn open_demo(name: &str, progress: Progress) -> Result<Case, OpenError> {
    let plan = demo::plan(name)?;
    let read = |folder: &Path, from: f32| -> Result<Case, OpenError> {
        let mut case = open_dicom(folder, Choice::default(), &|done| {
            progress(from + (1.0 - from) * done)
        })?;
        case.source = format!("demo:{name}");
        // The files of a demo are the program's own, and go with its cache.
        case.sources = Arc::default();
        if let Some(ct) = &mut case.ct {
            Arc::make_mut(ct).files.clear();
        }
        case.plans = vec![Arc::new(plan.clone())];
        Ok(case)
    };
    // Cleaners of caches remove single files: a remark about the series means that some are missing.
    let kept = demo_folder(name);
    if let Some(kept) = kept.as_ref().filter(|kept| is_private(kept)) {
        match read(kept, 0.0) {
            Ok(case) if is_complete(&case) => return Ok(case),
            Err(error) if error.is_stop() => return Err(error),
            _ => {}
        }
    }
    let (temporary, kept) = demo_aside(kept)?;
    // Read before it is published: a program that finds the cached demo incomplete may replace it at any
    // time.
    let folder = temporary.path();
    let case = write_demo(name, folder, &plan, &|done| progress(0.5 * done))
        .and_then(|_| read(folder, 0.5));
    if let (Ok(_), Some(kept)) = (&case, kept) {
        // A demo that cannot be cached, for example because another program just did, is built anew next
        // time.
        let _ = replace_folder(&kept, temporary);
    }
    case
}

fn is_complete(case: &Case) -> bool {
    case.ct.as_ref().is_some_and(|ct| ct.remarks.is_empty())
        && !case.structures.structures.is_empty()
}

/// A private folder, and the cache folder it is to become. Without a writable cache it is a temporary folder,
/// which is removed.
fn demo_aside(kept: Option<PathBuf>) -> Result<(Temporary, Option<PathBuf>), OpenError> {
    if let Some((kept, folder)) = kept.as_ref().and_then(|kept| Some((kept, kept.parent()?)))
        && make_private(folder).is_ok()
        && let Ok(temporary) = Temporary::folder_in(folder)
    {
        return Ok((temporary, Some(kept.clone())));
    }
    let path = std::env::temp_dir();
    match Temporary::folder_in(&path) {
        Ok(temporary) => Ok((temporary, None)),
        Err(source) => Err(OpenError::DemoFolder { path, source }),
    }
}

/// Moves a folder over an existing folder or file of that name, which is removed.
fn replace_folder(old: &Path, new: Temporary) -> io::Result<()> {
    if old.symlink_metadata().is_ok() {
        let old_root = Temporary::folder_in(old.parent().unwrap_or(old))?;
        std::fs::rename(old, old_root.path().join("old"))?;
    }
    new.rename(old)
}

/// Writes a demo's CT and structures, and a plan of it, as DICOM into an existing folder; returns the number of files. DICOM has no
/// normalisation: the plan's monitor units are those that are delivered.
///
/// # Errors
/// [`OpenError::Demo`], [`OpenError::DemoWrite`].
pub fn write_demo(
    name: &str,
    folder: &Path,
    plan: &Plan,
    progress: Progress,
) -> Result<usize, OpenError> {
    let case = demo::build(name)?;
    let belonging = Belonging::new(&case);
    let mut files = 0;
    if let Some(ct) = &case.ct {
        files += dicom::write_ct(folder, ct, &belonging, progress)?.len();
    }
    dicom::write_structures(
        &folder.join("RS.dcm"),
        &case.structures,
        case.ct.as_deref(),
        &belonging,
    )?;
    dicom::write_plan(&folder.join("RP.dcm"), plan, &[], &belonging)?;
    Ok(files + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Volume;

    fn go_on(_: f32) -> bool {
        true
    }

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("beamsight-open-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn words_say_what_they_name() {
        assert_eq!(word("demo:slab"), Ok(CaseWord::Demo("slab".into())));
        assert_eq!(word("demo:lab"), Err(UnknownDemo("lab".into())));
        assert_eq!(word("a/B.MHA"), Ok(CaseWord::Mha("a/B.MHA".into())));
        assert_eq!(word("s.json"), Ok(CaseWord::Session("s.json".into())));
        assert_eq!(
            word("some/folder"),
            Ok(CaseWord::Dicom("some/folder".into()))
        );
        for w in ["demo:slab", "a/b.mha", "folder"] {
            assert_eq!(word(w).unwrap().to_string(), w);
        }
    }

    fn word(w: &str) -> Result<CaseWord, UnknownDemo> {
        w.parse::<CaseWord>()
    }

    /// The demo read back equals the demo built: HU, structures, plan; also when read a second time from the
    /// same files.
    #[test]
    fn a_demo_is_what_it_was_built_as() {
        let built = demo::build("water").unwrap();
        for _ in 0..2 {
            let case = open(
                &CaseWord::Demo("water".into()),
                OpenOptions::default(),
                &go_on,
            )
            .unwrap();
            assert_eq!(case.source, "demo:water");
            assert_eq!(case.plans, built.plans);
            assert_eq!(case.structures.structures, built.structures.structures);
            assert_eq!(
                case.ct.unwrap().hu.data(),
                built.ct.as_ref().unwrap().hu.data()
            );
        }
    }

    #[test]
    fn a_volume_opens_as_head_first_supine_unless_told() {
        let folder = folder("mha");
        let path = folder.join("ct.mha");
        let ct = demo::build("water").unwrap().ct.unwrap();
        mha::write(&path, &ct.hu).unwrap();
        let word = CaseWord::Mha(path.clone());
        let case = open(&word, OpenOptions::default(), &go_on).unwrap();
        let read = case.ct.unwrap();
        assert_eq!(
            (read.position, read.hu.data()),
            (PatientPosition::Hfs, ct.hu.data())
        );
        assert_eq!(
            read.remarks.len(),
            1,
            "its file does not say what its values are: {:?}",
            read.remarks
        );
        let options = OpenOptions {
            position: Some(PatientPosition::Ffp),
            ..OpenOptions::default()
        };
        assert_eq!(
            open(&word, options, &go_on).unwrap().ct.unwrap().position,
            PatientPosition::Ffp
        );
        let bright = ct.hu.data().iter().map(|hu| hu * 50.0).collect();
        mha::write(&path, &Volume::new(Arc::clone(ct.hu.grid()), bright)).unwrap();
        let remarks = &open(&word, OpenOptions::default(), &go_on)
            .unwrap()
            .ct
            .unwrap()
            .remarks;
        assert!(
            remarks
                .iter()
                .any(|remark| remark.message.contains("more than 16 bits hold")),
            "{remarks:?}"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_session_opens_its_case_beside_it() {
        let folder = folder("session");
        let ct = demo::build("water").unwrap().ct.unwrap();
        mha::write(&folder.join("ct.mha"), &ct.hu).unwrap();
        let mut case = open(
            &CaseWord::Mha(folder.join("ct.mha")),
            OpenOptions::default(),
            &go_on,
        )
        .unwrap();
        case.plans = vec![Arc::new(demo::plan("slab").unwrap())];
        let path = folder.join("s.json");
        let saved =
            session::Session::new(&case, "ct.mha", &case.structures, serde_json::Value::Null);
        session::write(&path, &saved).unwrap();
        let again = open(
            &CaseWord::Session(path.clone()),
            OpenOptions::default(),
            &go_on,
        )
        .unwrap();
        assert_eq!(again.plans, case.plans);
        std::fs::remove_file(folder.join("ct.mha")).unwrap();
        let message = open(&CaseWord::Session(path), OpenOptions::default(), &go_on)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("s.json") && message.contains("ct.mha"),
            "{message}"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_not_there_is_named() {
        let message = open(
            &"/nowhere/at/all".parse().unwrap(),
            OpenOptions::default(),
            &go_on,
        )
        .unwrap_err()
        .to_string();
        assert!(
            message.contains("/nowhere/at/all") && message.contains("demo:thorax"),
            "{message}"
        );
    }
}
