//! Facts in a volume's header beside its grid: quantity, unit, patient and frame of reference. MetaImage has no fields
//! for these; other readers pass over ones that they do not know.

use case::PatientInfo;
use std::fmt;

/// Physical quantity of a volume's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Hu,
    Attenuation,
    Dose,
    DoseDeviation,
    Gamma,
    RadiologicalDepth,
    AttenuationIntegral,
    Transmission,
}

impl Quantity {
    /// Its name and its unit, as they stand in the header.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Hu => ["CT number", "HU"],
            Self::Attenuation => ["linear attenuation coefficient", "1/mm"],
            Self::Dose => ["absorbed dose", "Gy"],
            Self::DoseDeviation => ["standard deviation of the absorbed dose", "Gy"],
            Self::Gamma => ["gamma index", "1"],
            Self::RadiologicalDepth => ["radiological depth", "mm of water"],
            Self::AttenuationIntegral => {
                ["line integral of the linear attenuation coefficient", "1"]
            }
            Self::Transmission => ["transmission", "1"],
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [name, unit] = self.words();
        write!(f, "{name} in {unit}")
    }
}

/// Facts that a header states; an empty one is not stated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub comment: String,
    /// The status of a dose with its caveats: readers of other programs keep this key, and drop the comment.
    pub dose_status: String,
    /// Remarks on what may move a dose; the first of many.
    pub remarks: String,
    pub quantity: String,
    pub unit: String,
    pub patient_id: String,
    pub patient_name: String,
    pub frame_of_reference_uid: String,
}

/// Other programs keep a value in a buffer of 255 bytes.
const LONGEST_VALUE: usize = 200;

impl Facts {
    pub fn new(quantity: Quantity, patient: &PatientInfo, frame_of_reference_uid: &str) -> Self {
        let [name, unit] = quantity.words();
        Self {
            comment: String::new(),
            dose_status: String::new(),
            remarks: String::new(),
            quantity: name.to_owned(),
            unit: unit.to_owned(),
            patient_id: patient.id.clone(),
            patient_name: patient.name.clone(),
            frame_of_reference_uid: frame_of_reference_uid.to_owned(),
        }
    }

    pub fn patient(&self) -> PatientInfo {
        PatientInfo {
            name: self.patient_name.clone(),
            id: self.patient_id.clone(),
            ..PatientInfo::default()
        }
    }

    /// The quantity that is stated where it is another one; nothing stated is no contradiction.
    pub fn contradicts(&self, wanted: Quantity) -> Option<String> {
        let [name, unit] = wanted.words();
        if is_unstated_or(&self.quantity, name) && is_unstated_or(&self.unit, unit) {
            return None;
        }
        let quantity = if self.quantity.is_empty() {
            "a quantity"
        } else {
            &self.quantity
        };
        Some(if self.unit.is_empty() {
            quantity.to_owned()
        } else {
            format!("{quantity} in {}", self.unit)
        })
    }

    /// The keys of the header, each with its value.
    fn keys(&mut self) -> [(&'static str, &mut String); 8] {
        [
            ("Comment", &mut self.comment),
            ("DoseStatus", &mut self.dose_status),
            ("Remarks", &mut self.remarks),
            ("Quantity", &mut self.quantity),
            ("Unit", &mut self.unit),
            ("PatientID", &mut self.patient_id),
            ("PatientName", &mut self.patient_name),
            ("FrameOfReferenceUID", &mut self.frame_of_reference_uid),
        ]
    }

    /// The keys that `text` has.
    pub fn read<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Self {
        let mut facts = Self::default();
        for (key, value) in facts.keys() {
            *value = text(key).unwrap_or_default().to_owned();
        }
        facts
    }

    /// The keys that are stated, with their values as a header has them.
    pub fn stated(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.clone();
        // A comment of other programs is ASCII.
        facts.comment.retain(|c| c.is_ascii());
        facts
            .keys()
            .map(|(key, value): (&'static str, &mut String)| {
                let mut value: String = value.chars().filter(|c| !c.is_control()).collect();
                value.truncate(value.floor_char_boundary(LONGEST_VALUE));
                (key, value.trim().to_owned())
            })
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }

    /// The lines of the header.
    pub(super) fn lines(&self) -> String {
        self.stated()
            .iter()
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect()
    }
}

fn is_unstated_or(stated: &str, wanted: &str) -> bool {
    stated.is_empty() || stated.eq_ignore_ascii_case(wanted)
}
