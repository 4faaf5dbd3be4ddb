//! Files of the user's choosing: the purpose of a file dialog, and files to be written.

use crate::feature::commission::state::TankFile;
use files::{Inputs, OutputPath};
use std::path::{Path, PathBuf};

/// Purpose of a file dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    OpenFolder,
    OpenFile,
    /// Folders of the network box: for arrivals, and of objects to send.
    ArrivalsFolder,
    SentFolder,
    OpenHuTable,
    OpenGoals,
    OpenProtocol,
    OpenStructures,
    OpenDose,
    OpenXray,
    /// Measured data and the machine of a fit.
    OpenTank(TankFile),
    /// A machine model, and a template of goals, for the second check.
    OpenCheckModel,
    OpenCheckGoals,
    SavePlan,
    SaveSession,
    SaveHuTable,
    SaveGoals,
    SaveStructures,
    SaveReport,
    SavePlanReport,
    SaveCheckReport,
    SaveDvhs,
    SaveRegistration,
    /// A fitted machine, and the report of its comparison.
    SaveMachine,
    SaveMachineReport,
    /// A new folder of DICOM files.
    Export,
}

impl FileAction {
    pub fn title(self) -> &'static str {
        match self {
            Self::OpenFolder => "Open a folder in Beamsight",
            Self::OpenFile => "Open a file in Beamsight",
            Self::ArrivalsFolder => "Folder for arrivals",
            Self::SentFolder => "Folder to send",
            Self::OpenHuTable => "Open a HU table",
            Self::OpenGoals | Self::OpenCheckGoals => "Open a template of goals",
            Self::OpenProtocol => "Open a protocol",
            Self::OpenCheckModel => "Open a machine model",
            Self::SaveGoals => "Save the goals as a template",
            Self::OpenStructures => "Open a template of structures",
            Self::SaveStructures => "Save the structures as a template",
            Self::OpenDose => "Open a dose (RTDOSE, or .mha in Gy)",
            Self::OpenXray => "Open an X-ray",
            Self::OpenTank(TankFile::Pdd) => "Open measured depth doses",
            Self::OpenTank(TankFile::Profiles) => "Open measured profiles",
            Self::OpenTank(TankFile::OutputFactors) => "Open measured output factors",
            Self::OpenTank(TankFile::Machine) => "Open a machine",
            Self::SaveMachine => "Save the fitted machine",
            Self::SaveMachineReport => "Write the comparison (.pdf or .csv)",
            Self::SavePlan => "Save the plan",
            Self::SaveSession => "Save the session",
            Self::SaveDvhs => "Save the DVHs (.csv)",
            Self::SavePlanReport => "Write the report of the plan (.pdf)",
            Self::SaveCheckReport => "Write the report of the second check (.pdf)",
            Self::SaveReport => "Write the report (.pdf, .csv or .json)",
            Self::SaveRegistration => "Save the registration",
            Self::SaveHuTable => "Save the HU table",
            Self::Export => "Export as DICOM into a new folder",
        }
    }

    /// The name of a file to be saved, of any patient; `None` for a file to be opened.
    pub fn file_name(self) -> Option<&'static str> {
        match self {
            Self::OpenFolder
            | Self::OpenFile
            | Self::ArrivalsFolder
            | Self::SentFolder
            | Self::OpenHuTable
            | Self::OpenGoals
            | Self::OpenProtocol
            | Self::OpenStructures
            | Self::OpenDose
            | Self::OpenXray
            | Self::OpenTank(_)
            | Self::OpenCheckModel
            | Self::OpenCheckGoals => None,
            Self::SavePlan => Some("plan.toml"),
            Self::SaveSession => Some("session.json"),
            Self::SaveReport => Some("comparison.pdf"),
            Self::SavePlanReport => Some("plan.pdf"),
            Self::SaveCheckReport => Some("second-check.pdf"),
            Self::SaveDvhs => Some("dvh.csv"),
            Self::SaveRegistration => Some("registration.dcm"),
            Self::SaveHuTable => Some("hu-table.toml"),
            Self::SaveGoals => Some("goals.toml"),
            Self::SaveStructures => Some("structures.toml"),
            Self::SaveMachine => Some("machine.toml"),
            Self::SaveMachineReport => Some("machine.pdf"),
            Self::Export => Some("export"),
        }
    }

    /// The end of the name of a file that belongs to a patient: what it is, where its extension does not say so.
    pub(super) fn last_word(self) -> Option<&'static str> {
        Some(match self {
            Self::SavePlan | Self::SaveSession | Self::SavePlanReport | Self::Export => "",
            Self::SaveReport => "comparison",
            Self::SaveCheckReport => "check",
            Self::SaveDvhs => "dvh",
            Self::SaveRegistration => "registration",
            _ => return None,
        })
    }

    /// The kind of file, whose last folder the dialogs begin in.
    pub fn kind(self) -> &'static str {
        match self {
            Self::OpenFolder | Self::OpenFile => "case",
            Self::ArrivalsFolder => "arrivals",
            Self::SentFolder => "sent",
            Self::OpenHuTable | Self::SaveHuTable => "hu table",
            Self::OpenGoals | Self::OpenCheckGoals | Self::SaveGoals => "goals",
            Self::OpenProtocol => "protocols",
            Self::OpenStructures | Self::SaveStructures => "structures",
            Self::OpenDose => "dose",
            Self::OpenXray => "x-ray",
            Self::OpenTank(TankFile::Machine) | Self::OpenCheckModel | Self::SaveMachine => {
                "machine"
            }
            Self::OpenTank(_) => "measured data",
            Self::SavePlan => "plan",
            Self::SaveSession => "session",
            Self::SaveReport
            | Self::SavePlanReport
            | Self::SaveCheckReport
            | Self::SaveMachineReport => "report",
            Self::SaveDvhs => "dvhs",
            Self::SaveRegistration => "registration",
            Self::Export => "export",
        }
    }

    /// Description of the file type and its extensions; DICOM files often have none.
    pub fn endings(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Self::OpenFolder
            | Self::ArrivalsFolder
            | Self::SentFolder
            | Self::OpenFile
            | Self::OpenDose
            | Self::OpenXray
            | Self::Export => None,
            Self::OpenTank(TankFile::OutputFactors) => Some(("Output factors", &["csv"])),
            Self::OpenTank(TankFile::Machine) | Self::SaveMachine => Some(("Machine", &["toml"])),
            Self::OpenTank(TankFile::Pdd | TankFile::Profiles) => {
                Some(("Measured curves", &["csv", "asc", "mcc", "txt"]))
            }
            Self::SaveMachineReport => Some(("Comparison", &["pdf", "csv"])),
            Self::OpenHuTable | Self::SaveHuTable => Some(("HU table", &["toml"])),
            Self::SavePlan => Some(("Plan", &["toml"])),
            Self::OpenGoals | Self::OpenCheckGoals | Self::SaveGoals => Some(("Goals", &["toml"])),
            Self::OpenProtocol => Some(("Protocol", &["toml"])),
            Self::OpenStructures | Self::SaveStructures => Some(("Structures", &["toml"])),
            Self::OpenCheckModel => Some(("Machine", &["toml"])),
            Self::SaveSession => Some(("Session", &["json"])),
            Self::SaveDvhs => Some(("CSV", &["csv"])),
            Self::SaveReport => Some(("Report", &report::comparison::ENDINGS)),
            Self::SavePlanReport | Self::SaveCheckReport => Some(("Report", &["pdf"])),
            Self::SaveRegistration => Some(("DICOM", &["dcm"])),
        }
    }

    /// Endings of files to choose from beside DICOM files, which are known by their content.
    pub fn endings_beside_dicom(self) -> &'static [&'static str] {
        match self {
            Self::OpenFile => &["dcm", "mha", "json"],
            Self::OpenDose => &["dcm", "mha"],
            _ => &["dcm"],
        }
    }

    /// Whether the dialog chooses a folder that exists.
    pub fn is_folder(self) -> bool {
        matches!(
            self,
            Self::OpenFolder | Self::ArrivalsFolder | Self::SentFolder
        )
    }

    /// The path with an extension of its file type; if it has none of them, the first is appended.
    pub fn with_ending(self, path: PathBuf) -> PathBuf {
        let Some((_, endings)) = self.endings() else {
            return path;
        };
        if path
            .extension()
            .is_some_and(|e| endings.iter().any(|ending| e.eq_ignore_ascii_case(ending)))
        {
            return path;
        }
        let mut name = path.into_os_string();
        name.push(".");
        name.push(endings[0]);
        name.into()
    }
}

/// The name of a file without its folder.
pub fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Content of the file.
    pub action: FileAction,
    pub path: PathBuf,
    /// The user has confirmed that an existing file is replaced.
    pub replaces: bool,
}

impl Target {
    /// The writing of the file, in words.
    pub fn in_words(&self) -> String {
        let what = match self.action {
            FileAction::SavePlan => "Saving the plan as",
            FileAction::SaveSession => "Saving the session as",
            FileAction::SaveHuTable => "Saving the HU table as",
            FileAction::SaveGoals => "Saving the goals as",
            FileAction::SaveStructures => "Saving the structures as",
            FileAction::SaveMachine => "Saving the machine as",
            FileAction::SaveDvhs => "Saving the DVHs as",
            FileAction::SaveRegistration => "Saving the registration as",
            FileAction::Export => "Exporting DICOM files to",
            _ => "Writing the report",
        };
        format!("{what} {}", file_name(&self.path))
    }

    /// Whether the file may be written at once; if not, the user must confirm its replacement.
    pub fn is_free(&self, inputs: &Inputs) -> Result<bool, String> {
        let place = OutputPath::new(&self.path).and_then(|place| {
            place.check_against(inputs)?;
            place.check_replaceable()?;
            Ok(place)
        });
        let place = place.map_err(|e| format!("cannot write {}: {e}", self.path.display()))?;
        Ok(self.replaces || !place.is_taken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_get_the_ending_they_are_opened_by() {
        for (ask, path, want) in [
            (FileAction::SaveSession, "a", "a.json"),
            (FileAction::SaveSession, "a.json", "a.json"),
            (FileAction::SaveSession, "a.JSON", "a.JSON"),
            (FileAction::SaveSession, "a.b", "a.b.json"),
            (FileAction::SaveReport, "a.csv", "a.csv"),
            (FileAction::SaveReport, "a.doc", "a.doc.pdf"),
            (FileAction::OpenFile, "a", "a"),
        ] {
            assert_eq!(ask.with_ending(path.into()), PathBuf::from(want));
        }
    }
}
