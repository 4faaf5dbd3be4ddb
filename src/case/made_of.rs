//! Structures that a protocol made of others do not follow them: a later change of these leaves them in doubt.

use super::{Case, Remark, Structure, StructureExpression, StructureKind};
use std::convert::Infallible;
use std::sync::Arc;

/// Caveat of a structure that was made of others as they were before.
pub(super) const SOURCES_CHANGED: &str = "made of structures that have changed since";

impl StructureExpression {
    /// Whether a change of a structure changes what the expression makes.
    fn reads(&self, structure: &Structure) -> bool {
        match self {
            Self::Named(name) => *name == structure.name,
            Self::Body | Self::Skin { .. } => structure.kind == StructureKind::External,
            Self::Lungs => structure.name.to_lowercase().contains("lung"),
            Self::Combined { left, right, .. } => left.reads(structure) || right.reads(structure),
            Self::Margin { inner, .. } | Self::Ring { inner, .. } => inner.reads(structure),
        }
    }
}

impl Structure {
    /// The expression that it was made of.
    fn expression(&self) -> Option<StructureExpression> {
        self.made_of.as_ref()?.parse().ok()
    }
}

impl Case {
    /// Expressions follow the rename of a structure.
    pub(super) fn rename_source(&mut self, old: &str, new: &str) {
        let is_named = self
            .structures
            .structures
            .iter()
            .any(|s| s.made_of.is_some());
        if old == new || !is_named {
            return;
        }
        for structure in self.structures_mut() {
            let Some(expression) = structure.expression() else {
                continue;
            };
            let Ok(renamed) = expression.renamed(&|name| {
                Ok::<_, Infallible>(if name == old { new } else { name }.to_owned())
            });
            structure.made_of = Some(renamed.to_string());
        }
    }

    /// Puts structures in doubt whose sources have other contours than in the case before, or are gone: their goals are undecided.
    pub(super) fn doubt_structures_of_changed(&mut self, previous: &Self) {
        let set = &self.structures;
        if Arc::ptr_eq(set, &previous.structures)
            || !set.structures.iter().any(|s| s.made_of.is_some())
        {
            return;
        }
        let changed = previous.structures.structures.iter().filter(|earlier| {
            let current = set.by_number(earlier.number);
            current.is_none_or(|current| current.contours.id() != earlier.contours.id())
        });
        let changed: Vec<&Structure> = changed.collect();
        if changed.is_empty() {
            return;
        }
        for structure in self.structures_mut() {
            let Some(expression) = structure.expression() else {
                continue;
            };
            let is_new = changed.iter().any(|other| other.number == structure.number);
            let is_in_doubt = structure
                .remarks
                .iter()
                .any(|remark| remark.caveat() == Some(SOURCES_CHANGED));
            let source = changed.iter().find(|other| expression.reads(other));
            if let Some(source) = source.filter(|_| !is_new && !is_in_doubt) {
                let message = format!(
                    "it was made of '{}', which has changed since: make the plan anew",
                    source.name
                );
                let remark = Remark::warning(message, Vec::new()).forbidding(SOURCES_CHANGED);
                structure.remarks.push(remark);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contour, Contours, Edit, History, StructureSet};
    use glam::DVec3;

    fn triangle(x_mm: f64) -> Contours {
        let points_mm = [[0.0, 0.0], [x_mm, 0.0], [0.0, x_mm]];
        let contour = Contour {
            points_mm: points_mm.map(|[x, y]| DVec3::new(x, y, 0.0)).into(),
            image_uid: None,
        };
        vec![contour].into()
    }

    /// A structure made of two others is in doubt once one of them is drawn anew, and no longer once that is undone.
    #[test]
    fn a_made_structure_is_in_doubt_once_its_sources_change() {
        let names = ["PTV", "Parotid", "Cord", "Parotid outside"];
        let structures = names.iter().zip(1..).map(|(name, n)| Structure {
            contours: triangle(10.0 * f64::from(n)),
            ..Structure::new(*name, n, StructureKind::Organ)
        });
        let mut set = StructureSet {
            structures: structures.collect(),
            ..StructureSet::default()
        };
        set.structures[3].made_of = Some("(Parotid - (PTV + 5 mm))".to_owned());
        let mut history = History::new(Case {
            structures: Arc::new(set),
            ..Case::default()
        });
        for (index, is_doubted) in [(2, false), (1, true), (0, true)] {
            let value = Structure {
                contours: triangle(7.0),
                ..history.case().structures.structures[index].clone()
            };
            history
                .apply(Edit::SetStructure { index, value }, None)
                .expect("an edit");
            let set = &history.case().structures;
            let doubt = set.doubt(&set.structures[3]);
            assert_eq!(doubt.is_some(), is_doubted, "{doubt:?}");
        }
        let set = &history.case().structures;
        assert_eq!(
            set.doubt(&set.structures[3]).as_deref(),
            Some(
                "Parotid outside was made of structures that have changed since: make the plan anew"
            )
        );
        assert_eq!(set.structures[3].remarks.len(), 1);
        assert!(history.undo() && history.undo());
        let set = &history.case().structures;
        assert_eq!(set.doubt(&set.structures[3]), None);
        // The name of a source is no change of it.
        let value = Structure {
            name: "Parotid L".to_owned(),
            ..set.structures[1].clone()
        };
        history
            .apply(Edit::SetStructure { index: 1, value }, None)
            .expect("an edit");
        let set = &history.case().structures;
        assert_eq!(set.doubt(&set.structures[3]), None);
        // It is known by its new name.
        let value = Structure {
            contours: triangle(3.0),
            ..set.structures[1].clone()
        };
        history
            .apply(Edit::SetStructure { index: 1, value }, None)
            .expect("an edit");
        let set = &history.case().structures;
        assert!(set.doubt(&set.structures[3]).is_some());
    }
}
