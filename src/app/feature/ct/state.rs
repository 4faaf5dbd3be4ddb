//! A HU table while it is edited: the typed values, valid or not. Doses use it only once it is applied.

use physics::{HuTable, Material};

/// The fields of a table in the editor.
#[derive(Clone, Debug, PartialEq)]
pub struct HuDraft {
    pub name: String,
    pub description: String,
    pub source: String,
    /// `[HU, mass density in g/cm3, electron density relative to water]`.
    pub points: Vec<[f64; 3]>,
    /// The material class from this HU on.
    pub materials: Vec<(f64, Material)>,
}

impl HuDraft {
    /// A draft of a table; the draft of a shipped table gets its own name.
    pub fn new(table: &HuTable) -> Self {
        let shipped = HuTable::shipped().any(|name| name == table.name);
        let source = if shipped {
            format!("{}, edited", table.source)
        } else {
            table.source.clone()
        };
        Self {
            name: if shipped {
                format!("{} edited", table.name)
            } else {
                table.name.clone()
            },
            description: table.description.clone(),
            source,
            points: table.points().to_vec(),
            materials: table.materials().to_vec(),
        }
    }

    /// The table, or in words why the draft is invalid.
    ///
    /// # Errors
    /// A sentence on what to correct.
    pub fn table(&self) -> Result<HuTable, String> {
        let name = self.name.trim();
        if name.is_empty() {
            return Err("the table has no name; give it one".to_owned());
        }
        if HuTable::shipped().any(|shipped| shipped == name) {
            return Err(format!(
                "{name} is a table of the program; give yours another name"
            ));
        }
        let mut table = HuTable::new(name.to_owned(), self.points.clone(), self.materials.clone())?;
        table.description.clone_from(&self.description);
        table.source.clone_from(&self.source);
        Ok(table)
    }

    /// Inserts a point after the one at `index`: half-way to the next, or 100 HU beyond the last.
    pub fn insert_point(&mut self, index: usize) {
        let Some(&point) = self.points.get(index) else {
            return;
        };
        let inserted = match self.points.get(index + 1) {
            Some(next) => std::array::from_fn(|n| 0.5 * (point[n] + next[n])),
            None => [point[0] + 100.0, point[1], point[2]],
        };
        self.points.insert(index + 1, inserted);
    }

    /// Inserts a class after the one at `index`, of the same material.
    pub fn insert_material(&mut self, index: usize) {
        let Some(&(from, material)) = self.materials.get(index) else {
            return;
        };
        let to = self
            .materials
            .get(index + 1)
            .map_or(from + 200.0, |next| next.0);
        self.materials
            .insert(index + 1, (0.5 * (from + to), material));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_of_a_shipped_table_needs_only_its_new_name() {
        let table = HuTable::shipped_default();
        let mut draft = HuDraft::new(&table);
        let edited = draft.table().unwrap();
        assert_eq!(
            (edited.points(), edited.materials()),
            (table.points(), table.materials())
        );
        assert_ne!(edited.name, table.name);
        assert_eq!(
            HuDraft::new(&edited),
            draft,
            "a table of one's own keeps its name"
        );
        draft.name = format!(" {} ", table.name);
        assert!(draft.table().unwrap_err().contains("another name"));
        draft.name.clear();
        assert!(draft.table().unwrap_err().contains("no name"));
    }

    #[test]
    fn inserted_points_leave_the_curve_as_it_was() {
        let table = HuTable::shipped_default();
        let mut draft = HuDraft::new(&table);
        let (points, classes) = (draft.points.len(), draft.materials.len());
        for index in (0..points).rev() {
            draft.insert_point(index);
        }
        draft.insert_material(classes - 1);
        assert_eq!(
            (draft.points.len(), draft.materials.len()),
            (2 * points, classes + 1)
        );
        let edited = draft.table().unwrap();
        for hu in -1100..3200 {
            assert_eq!(edited.at(hu as f32).material, table.at(hu as f32).material);
            let [a, b] = [&edited, &table].map(|t| t.at(hu as f32).mass_density_g_cm3);
            assert!((a - b).abs() < 1e-6, "{hu} HU: {a} {b}");
        }
    }

    #[test]
    fn what_cannot_be_is_said() {
        let mut draft = HuDraft::new(&HuTable::shipped_default());
        draft.points[2][0] = -2000.0;
        assert!(draft.table().unwrap_err().contains("ascend"));
        draft.points.truncate(1);
        assert!(draft.table().unwrap_err().contains("at least two"));
    }
}
