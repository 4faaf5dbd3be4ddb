//! Structures that planners make for every plan: rings round targets, organs without targets.

use super::{ContouringError, MOST_MARGIN_MM, MadeContours, OperationContext};
use case::{Structure, StructureKind, StructureSet, name_letters};
use geometry::Stack;
use geometry::polygons::Boolean;

/// Words of the left side, the right side and both, beside the word `lung`.
const LEFT: [&str; 5] = ["l", "left", "lt", "li", "links"];
const RIGHT: [&str; 5] = ["r", "right", "rt", "re", "rechts"];
const BOTH: [&str; 5] = ["", "s", "both", "total", "lr"];

impl OperationContext<'_> {
    /// The volume from `mm[0]` to `mm[1]` away from a structure, inside of another where one is named.
    pub(super) fn ring(
        &self,
        set: &StructureSet,
        source: &Stack,
        mm: [f64; 2],
        inside: Option<u32>,
    ) -> Result<MadeContours, ContouringError> {
        let [from, to] = mm;
        let is_ring = from < to && mm.iter().all(|mm| (0.0..=MOST_MARGIN_MM).contains(mm));
        if !is_ring {
            return Err(ContouringError::Ring);
        }
        let outer = self.restacked(&self.with_margin(source, true, [to; 6])?)?;
        let grown = match from > 0.0 {
            true => Some(self.restacked(&self.with_margin(source, true, [from; 6])?)?),
            false => None,
        };
        let inner = grown.as_ref().unwrap_or(source);
        let mut planes = self.combined(&outer, inner, Boolean::Difference)?;
        if let Some(inside) = inside {
            let (_, inside) = self.stack(set, inside)?;
            planes = self.combined(&self.restacked(&planes)?, &inside, Boolean::Intersection)?;
        }
        let result = self.clipped(planes, source, [to; 6]);
        if result.contours.is_empty() {
            Err(ContouringError::NoRing)
        } else {
            Ok(result)
        }
    }

    /// The structure with another, if one is named, without all structures of a type.
    pub(super) fn without(
        &self,
        set: &StructureSet,
        structure: &Structure,
        stack: &Stack,
        with: Option<u32>,
        minus: StructureKind,
    ) -> Result<MadeContours, ContouringError> {
        let both = match with {
            Some(with) => {
                let (_, other) = self.stack(set, with)?;
                Some(self.restacked(&self.combined(stack, &other, Boolean::Union)?)?)
            }
            None => None,
        };
        let (organ, minus) = (both.as_ref().unwrap_or(stack), self.all_of(set, minus)?);
        let planes = self.combined(organ, &minus, Boolean::Difference)?;
        self.finished(planes, || ContouringError::Nothing(structure.name.clone()))
    }

    /// The union of all structures of a type that have contours.
    pub(super) fn all_of(
        &self,
        set: &StructureSet,
        kind: StructureKind,
    ) -> Result<Stack, ContouringError> {
        let mut union: Option<Stack> = None;
        for number in drawn_of(set, kind) {
            let (_, stack) = self.stack(set, number)?;
            union = Some(match union {
                None => stack,
                Some(union) => self.restacked(&self.combined(&union, &stack, Boolean::Union)?)?,
            });
        }
        union.ok_or_else(|| ContouringError::NoneOf(kind.name()))
    }
}

/// ROI numbers of all structures of a type that have contours.
pub fn drawn_of(set: &StructureSet, kind: StructureKind) -> Vec<u32> {
    let drawn = set
        .structures
        .iter()
        .filter(|s| s.kind == kind && !s.contours.is_empty());
    drawn.map(|s| s.number).collect()
}

/// The lungs of a case by their names: the structure of both, else the left one with the right one. `None` where neither has contours.
pub fn lungs(set: &StructureSet) -> Option<(u32, Option<u32>)> {
    let both = lung(set, &BOTH).map(|both| (both, None));
    both.or_else(|| Some((lung(set, &LEFT)?, Some(lung(set, &RIGHT)?))))
}

/// ROI number of the first drawn lung with one of the words of a side.
fn lung(set: &StructureSet, side_words: &[&str]) -> Option<u32> {
    let lung = set.structures.iter().find(|s| {
        let letters = name_letters(&s.name);
        let side_word = letters
            .strip_prefix("lung")
            .or_else(|| letters.strip_suffix("lung"));
        !s.contours.is_empty() && side_word.is_some_and(|word| side_words.contains(&word))
    });
    lung.map(|s| s.number)
}
