//! The objects that a plan and a structure set were read from, for what is carried through from them.

use super::WriteError;
use crate::object::{Attributes as _, Item, Object, open};
use crate::{read_plan, read_structures};
use case::{Plan, Source, StructureSet};
use dicom_core::Tag;
use dicom_core::header::Header as _;
use dicom_dictionary_std::tags;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that was read, opened again.
#[derive(Clone, Debug)]
pub struct SourceObject<T> {
    pub path: PathBuf,
    pub object: Item,
    pub read: Arc<T>,
}

pub type PlanSource = SourceObject<Plan>;
pub type StructureSource = SourceObject<StructureSet>;

impl SourceObject<Plan> {
    /// Opens the file of a plan.
    ///
    /// # Errors
    /// [`WriteError::Source`]; [`WriteError::Changed`] where it is no longer the file that was read.
    pub fn of_plan(source: &Source<Plan>) -> Result<Self, WriteError> {
        let reread =
            read_plan(&source.path, Some(source.read.position)).map_err(WriteError::Source)?;
        let same = reread.uid == source.read.uid
            && reread.beams.len() == source.read.beams.len()
            && reread
                .beams
                .iter()
                .zip(&source.read.beams)
                .all(|(a, b)| a.is_unchanged(b));
        Self::opened(source, same)
    }
}

impl SourceObject<StructureSet> {
    /// Opens the file of a structure set.
    ///
    /// # Errors
    /// As of a plan.
    pub fn of_structures(source: &Source<StructureSet>) -> Result<Self, WriteError> {
        let reread = read_structures(&source.path).map_err(WriteError::Source)?;
        let same = reread.uid == source.read.uid && reread.structures == source.read.structures;
        Self::opened(source, same)
    }

    /// Names of the structures that the reader has left out, as of another frame of reference.
    pub fn not_read(&self) -> Vec<String> {
        let rois = self.object.items(tags::STRUCTURE_SET_ROI_SEQUENCE).iter();
        rois.filter(|roi| {
            roi.unsigned(tags::ROI_NUMBER)
                .is_none_or(|n| self.read.by_number(n).is_none())
        })
        .map(|roi| roi.text(tags::ROI_NAME).unwrap_or_default())
        .collect()
    }
}

impl<T> SourceObject<T> {
    fn opened(source: &Source<T>, same: bool) -> Result<Self, WriteError> {
        if !same {
            return Err(WriteError::Changed {
                path: source.path.clone(),
            });
        }
        Ok(Self {
            path: source.path.clone(),
            object: Object::into_inner(open(&source.path).map_err(WriteError::Source)?),
            read: Arc::clone(&source.read),
        })
    }

    pub fn study_uid(&self) -> String {
        self.object
            .text(tags::STUDY_INSTANCE_UID)
            .unwrap_or_default()
    }

    /// The items of a sequence whose `tag` holds `number`.
    pub fn item_of(&self, sequence: Tag, tag: Tag, number: u32) -> Option<&Item> {
        self.object
            .items(sequence)
            .iter()
            .find(|item| item.whole(tag) == Some(i64::from(number)))
    }
}

/// Attributes of a study, which all its objects share; empty where they are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StudyFacts {
    pub uid: String,
    pub date: String,
    pub time: String,
    pub id: String,
    pub accession: String,
    pub physician: String,
    pub description: String,
}

impl StudyFacts {
    /// Study of a file.
    ///
    /// # Errors
    /// [`WriteError::Source`].
    pub fn of_file(path: &Path) -> Result<Self, WriteError> {
        let object = open(path).map_err(WriteError::Source)?;

        Ok(Self {
            uid: object.text_or_empty(tags::STUDY_INSTANCE_UID),
            date: object.text_or_empty(tags::STUDY_DATE),
            time: object.text_or_empty(tags::STUDY_TIME),
            id: object.text_or_empty(tags::STUDY_ID),
            accession: object.text_or_empty(tags::ACCESSION_NUMBER),
            physician: object.text_or_empty(tags::REFERRING_PHYSICIAN_NAME),
            description: object.text_or_empty(tags::STUDY_DESCRIPTION),
        })
    }
}

/// An item without the elements of its maker, at any depth: they may contradict what was changed beside them.
pub fn without_private(item: &Item) -> Item {
    let kept = item.iter().filter(|element| element.tag().group() % 2 == 0);
    Item::from_element_iter(kept.map(|element| match element.items() {
        Some(items) => {
            let items: Vec<Item> = items.iter().map(without_private).collect();
            dicom_core::DataElement::new(
                element.tag(),
                dicom_core::VR::SQ,
                dicom_core::value::DataSetSequence::from(items),
            )
        }
        None => element.clone(),
    }))
}
