//! Objects as they arrive: into a temporary folder, which appears under its own name when the association ends in order, or
//! not at all.

use super::NetworkError;
use super::ae::{UID_LETTERS, is_uid};
use super::association::Association;
use super::command::{AFFECTED_INSTANCE, Command, SUCCESS};
use dicom::{DicomError, Transferable, file_head, transferable, utc_now};
use files::Temporary;
use input::{beginning, plain};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Refusals of an association that are told one by one.
const REFUSALS_TOLD: usize = 100;
/// The folder that is moved, within the temporary one.
const STAGED: &str = "new";

/// Statuses of storage (PS3.4 table B.2-1, PS3.7 C.5).
const OUT_OF_RESOURCES: u16 = 0xa700;
const DOES_NOT_MATCH: u16 = 0xa900;
const NOT_UNDERSTOOD: u16 = 0xc000;
const DUPLICATE: u16 = 0x0111;
const INVALID_INSTANCE: u16 = 0x0117;

/// The objects of one association.
#[derive(Debug)]
pub struct Incoming<'a> {
    into: &'a Path,
    /// Most bytes of an object.
    most: u64,
    staged: Option<Temporary>,
    pub objects: usize,
    pub refused: usize,
    /// The first refusals: which object, and why.
    pub refusals: Vec<String>,
}

impl<'a> Incoming<'a> {
    pub fn new(into: &'a Path, byte_limit: u64) -> Self {
        Self {
            into,
            most: byte_limit,
            staged: None,
            objects: 0,
            refused: 0,
            refusals: Vec::new(),
        }
    }

    /// Whether an object came, or began to.
    pub fn was_begun(&self) -> bool {
        self.staged.is_some() || self.objects + self.refused > 0
    }

    /// Receives the object of a request and answers it.
    ///
    /// # Errors
    /// Errors of the conversation. Whatever is wrong with the object is answered, and kept in [`Self::refusals`].
    pub fn store(
        &mut self,
        association: &mut Association,
        context: u8,
        request: &Command,
    ) -> Result<(), NetworkError> {
        let instance = request.text(AFFECTED_INSTANCE);
        let class = request.class();
        let agreed = association
            .context(context)
            .filter(|c| c.class == class)
            .map(|c| c.syntax.clone());
        let refusal = if !is_uid(&instance) {
            Some((
                INVALID_INSTANCE,
                "its UID is not made of digits and dots, at most 64".to_owned(),
            ))
        } else if agreed.is_none() {
            Some((
                DOES_NOT_MATCH,
                format!("its class {class} is not the one agreed on"),
            ))
        } else if !request.has_data() {
            Some((NOT_UNDERSTOOD, "no data set comes with it".to_owned()))
        } else {
            None
        };
        let outcome = match (refusal, agreed) {
            (None, Some(syntax)) => self.keep(
                association,
                context,
                &Kind {
                    class,
                    instance: instance.clone(),
                    syntax,
                },
            )?,
            (refusal, _) => {
                if request.has_data() {
                    association.data(context, self.most, &mut |_| ())?;
                }
                Err(refusal.unwrap_or_else(not_understood))
            }
        };
        let (status, why) = match outcome {
            Ok(()) => (SUCCESS, String::new()),
            Err(refusal) => refusal,
        };
        if status == SUCCESS {
            self.objects += 1;
        } else {
            self.refused += 1;
            if self.refusals.len() < REFUSALS_TOLD {
                self.refusals.push(beginning(&plain(&format!(
                    "object '{}': {why}",
                    shortened(&instance)
                ))));
            }
        }
        association.send_command(context, &request.answer(status, &why))
    }

    /// Writes an object as it arrives, then checks it as any file is.
    fn keep(
        &mut self,
        association: &mut Association,
        context: u8,
        kind: &Kind,
    ) -> Result<Result<(), Refusal>, NetworkError> {
        let part = self.begin(&association.peer, kind);
        let (mut file, mut failed) = match part {
            Ok((file, _)) => (Some(file), None),
            Err(refusal) => (None, Some(refusal)),
        };
        association.data(context, self.most, &mut |bytes| {
            if let Some(error) = file.as_mut().and_then(|file| file.write_all(bytes).err()) {
                failed.get_or_insert_with(|| no_space(&error));
                file = None;
            }
        })?;
        if let Some(error) = file.and_then(|file| file.sync_all().err()) {
            failed.get_or_insert_with(|| no_space(&error));
        }
        let Some(folder) = self.staged.as_ref().map(|staged| staged.path().to_owned()) else {
            return Ok(Err(failed.unwrap_or_else(not_understood)));
        };
        let part = folder.join(PART);
        let kept = match failed {
            Some(refusal) => Err(refusal),
            None => place(&part, &folder.join(STAGED), kind),
        };
        // Where the object took its place there is no part any more.
        let _ = fs::remove_file(&part);
        Ok(kept)
    }

    fn begin(&mut self, sender: &str, kind: &Kind) -> Result<(File, PathBuf), Refusal> {
        let staged = match self.staged.take() {
            Some(staged) => staged,
            None => {
                let staged = Temporary::folder_in(self.into).map_err(|e| no_space(&e))?;
                fs::create_dir(staged.path().join(STAGED)).map_err(|e| no_space(&e))?;
                staged
            }
        };
        let path = self.staged.insert(staged).path().join(PART);
        let head = file_head(&kind.class, &kind.instance, &kind.syntax, sender);
        let head = head.map_err(|words| (NOT_UNDERSTOOD, words))?;
        let mut file = File::create(&path).map_err(|e| no_space(&e))?;
        file.write_all(&head).map_err(|e| no_space(&e))?;
        Ok((file, path))
    }

    /// Puts the folder in its place after the association has ended in order; `None` where no object came.
    ///
    /// # Errors
    /// [`NetworkError::Folder`]; nothing appears then.
    pub fn finish(&mut self, sender: &str) -> Result<Option<PathBuf>, NetworkError> {
        let Some(staged) = self.staged.take().filter(|_| self.objects > 0) else {
            return Ok(None);
        };
        let failed = |source| NetworkError::Folder {
            folder: self.into.to_owned(),
            source,
        };
        let target = claim(self.into, sender).map_err(failed)?;
        match staged.publish(STAGED, &target, is_empty) {
            Ok(()) => Ok(Some(target)),
            Err(source) => {
                // Removed only where it is empty.
                let _ = fs::remove_dir(&target);
                Err(failed(source))
            }
        }
    }
}

/// An object under way, within the temporary folder.
const PART: &str = "part";

struct Kind {
    class: String,
    instance: String,
    syntax: String,
}

/// A status, and why in words.
type Refusal = (u16, String);

fn not_understood() -> Refusal {
    (NOT_UNDERSTOOD, "it cannot be taken".to_owned())
}

fn no_space(error: &io::Error) -> Refusal {
    (OUT_OF_RESOURCES, format!("it cannot be written: {error}"))
}

fn shortened(instance: &str) -> String {
    instance.chars().take(UID_LETTERS).collect()
}

/// Checks a written object and gives it its name.
fn place(part: &Path, folder: &Path, kind: &Kind) -> Result<(), Refusal> {
    let read = transferable(part).map_err(|error| match error {
        DicomError::Broken { reason, .. } => (NOT_UNDERSTOOD, format!("it is damaged: {reason}")),
        DicomError::OverBudget { source, .. } => (NOT_UNDERSTOOD, source.to_string()),
        DicomError::Missing { attribute, .. } => (NOT_UNDERSTOOD, format!("it has no {attribute}")),
        DicomError::Io { source, .. } => no_space(&source),
        other => (NOT_UNDERSTOOD, other.to_string()),
    })?;
    let Transferable {
        class,
        instance,
        names_itself,
        ..
    } = read;
    // The meta group was written here, by what the sender said.
    if !names_itself {
        return Err((
            NOT_UNDERSTOOD,
            "its data set has no SOPClassUID or no SOPInstanceUID".to_owned(),
        ));
    }
    if class != kind.class || instance != kind.instance {
        return Err((
            DOES_NOT_MATCH,
            format!("its data set is object {instance} of class {class}"),
        ));
    }
    let target = folder.join(format!("{instance}.dcm"));
    match target.symlink_metadata() {
        Err(_) => fs::rename(part, &target).map_err(|e| no_space(&e)),
        Ok(_) if same(part, &target).map_err(|e| no_space(&e))? => Ok(()),
        Ok(_) => Err((
            DUPLICATE,
            "another object of this UID came before it".to_owned(),
        )),
    }
}

/// Whether two files have the same bytes.
fn same(a: &Path, b: &Path) -> io::Result<bool> {
    use std::io::Read as _;
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let [mut of_a, mut of_b] = [(); 2].map(|()| vec![0; 1 << 16]);
    loop {
        let count = a.read(&mut of_a)?;
        if count == 0 {
            return Ok(true);
        }
        b.read_exact(&mut of_b[..count])?;
        if of_a[..count] != of_b[..count] {
            return Ok(false);
        }
    }
}

/// The claimed folder is this association's own; what another program has put there is not.
fn is_empty(claimed: &Path) -> io::Result<()> {
    match fs::read_dir(claimed)?.next() {
        Some(_) => Err(io::Error::other(
            "another program has written into the new folder",
        )),
        None => Ok(()),
    }
}

/// Makes a folder with an unused name: time, sender, and a number where two have both.
fn claim(into: &Path, sender: &str) -> io::Result<PathBuf> {
    let (date, time) = utc_now();
    let letters: String = sender
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let base = format!("{date}-{time}-{letters}");
    let mut number = 1;
    loop {
        let name = if number == 1 {
            base.clone()
        } else {
            format!("{base}-{number}")
        };
        let path = into.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => {
                number += 1
            }
            created => return created.map(|()| path),
        }
    }
}
