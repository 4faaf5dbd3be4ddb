//! Hounsfield units -> what attenuates: named, editable tables. Format and sources: `assets/hu/README.md`.

use super::Material;
use input::{HU_TABLE_BYTES, beginning, from_toml, read_text};
use serde::Deserialize;
use std::path::Path;
use thiserror::Error;

/// A calibration of a scanner: HU to mass density, relative electron density and material class.
#[derive(Clone, Debug, PartialEq)]
pub struct HuTable {
    pub name: String,
    pub description: String,
    /// Source of the numbers.
    pub source: String,
    /// `[HU, mass density in g/cm3, electron density relative to water]`, HU ascending.
    points: Vec<[f64; 3]>,
    /// HU from which on a material holds, ascending; the first holds below as well.
    materials: Vec<(f64, Material)>,
}

/// Density and material of a HU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tissue {
    pub mass_density_g_cm3: f32,
    pub relative_electron_density: f32,
    pub material: Material,
}

/// Why a table cannot be used.
#[derive(Debug, Error)]
pub enum HuTableError {
    #[error(
        "there is no HU table '{name}'; name one of {shipped}, or the path of a table ending in .toml"
    )]
    Unknown { name: String, shipped: String },
    #[error("cannot read the HU table {file}: {source}")]
    Read {
        file: String,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "the HU table {file} is not valid TOML of a table: {detail}(the format: assets/hu/README.md)"
    )]
    Syntax { file: String, detail: String },
    #[error("HU table {file}: {problem}")]
    Value { file: String, problem: String },
}

macro_rules! asset {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../assets/hu/", $name, ".toml")),
        )
    };
}

const TABLES: [(&str, &str); 4] = [
    asset!("matrad-default"),
    asset!("opentps-linac"),
    asset!("siemens-phantom"),
    asset!("truebeam-site"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    description: String,
    source: String,
    points: Vec<[f64; 3]>,
    materials: Vec<(f64, String)>,
}

impl HuTable {
    /// The table used where none is named.
    pub const DEFAULT: &'static str = TABLES[0].0;

    /// Names of the tables that come with the program; the default is the first.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        TABLES.iter().map(|(name, _)| *name)
    }

    /// A shipped table by name, or the table of a file by its path.
    ///
    /// # Errors
    /// [`HuTableError`]: an unknown name, an unreadable file, numbers that cannot be.
    pub fn resolve(name_or_path: &str) -> Result<Self, HuTableError> {
        if let Some((name, text)) = TABLES.iter().find(|(n, _)| *n == name_or_path) {
            return Self::parse(text, name);
        }
        let path = Path::new(name_or_path);
        if path.components().count() == 1 && path.extension().is_none() && !path.exists() {
            let shipped = Self::shipped().collect::<Vec<_>>().join(", ");
            return Err(HuTableError::Unknown {
                name: name_or_path.to_owned(),
                shipped,
            });
        }
        let text = read_text(path, HU_TABLE_BYTES).map_err(|source| HuTableError::Read {
            file: name_or_path.to_owned(),
            source,
        })?;
        Self::parse(&text, name_or_path)
    }

    /// Reads the text of a table; `file` is for messages.
    ///
    /// # Errors
    /// [`HuTableError`].
    pub fn parse(text: &str, file: &str) -> Result<Self, HuTableError> {
        let raw: File = from_toml(text).map_err(|e| HuTableError::Syntax {
            file: file.to_owned(),
            detail: beginning(&e.to_string()),
        })?;
        let materials: Result<Vec<_>, String> = raw
            .materials
            .into_iter()
            .map(|(from, name): (f64, String)| {
                let material = Material::from_name(&name).ok_or_else(|| {
                    format!("'{name}' is not a material; name one of {}", {
                        Material::ALL
                            .iter()
                            .map(|m| m.name())
                            .collect::<Vec<_>>()
                            .join(", ")
                    })
                })?;
                Ok((from, material))
            })
            .collect();
        let materials = materials.map_err(|problem| value_error(problem, file))?;
        Self::new(raw.name, raw.points, materials)
            .map(|table| Self {
                description: raw.description,
                source: raw.source,
                ..table
            })
            .map_err(|problem| value_error(problem, file))
    }

    /// A table by itself, without description and source.
    ///
    /// # Errors
    /// A sentence that says which number cannot be, and what to do.
    pub fn new(
        name: String,
        points: Vec<[f64; 3]>,
        materials: Vec<(f64, Material)>,
    ) -> Result<Self, String> {
        check_points(&points)?;
        check_materials(&materials)?;
        Ok(Self {
            name,
            description: String::new(),
            source: String::new(),
            points,
            materials,
        })
    }

    /// The table that comes with the program and is used where none is named.
    pub fn shipped_default() -> Self {
        // Compiled in, and read by the tests of this file.
        Self::parse(TABLES[0].1, TABLES[0].0).expect("the shipped table is sound")
    }

    /// The text of a table file: what [`Self::parse`] reads back as it is.
    pub fn to_toml(&self) -> String {
        let rows: String = self.points.iter().map(|p| format!("  {p:?},\n")).collect();
        let classes: String = self
            .materials
            .iter()
            .map(|(from, m)| format!("  [{from:?}, \"{}\"],\n", m.name()))
            .collect();
        format!(
            "name = {}\ndescription = {}\nsource = {}\n\n\
             # [HU, mass density g/cm3, electron density relative to water]\npoints = [\n{rows}]\n\n\
             # From this HU on.\nmaterials = [\n{classes}]\n",
            quoted(&self.name),
            quoted(&self.description),
            quoted(&self.source),
        )
    }

    /// `[HU, mass density in g/cm3, electron density relative to water]`.
    pub fn points(&self) -> &[[f64; 3]] {
        &self.points
    }

    /// The HU of its first and last points: beyond them the densities there count.
    pub fn ends_hu(&self) -> [f64; 2] {
        [self.points[0][0], self.points[self.points.len() - 1][0]]
    }

    /// HU from which on a material holds, ascending; the first holds below as well.
    pub fn materials(&self) -> &[(f64, Material)] {
        &self.materials
    }

    /// Straight lines between the points, the end values beyond them. No number counts as the lowest HU.
    pub fn at(&self, hu: f32) -> Tissue {
        let hu = f64::from(hu);
        let hu = if hu.is_nan() { f64::NEG_INFINITY } else { hu };
        let i = self.points.partition_point(|p| p[0] <= hu).max(1) - 1;
        let m = self
            .materials
            .partition_point(|(from, _)| *from <= hu)
            .max(1)
            - 1;
        let [x0, density0, electrons0] = self.points[i];
        let [x1, density1, electrons1] = self.points[(i + 1).min(self.points.len() - 1)];
        let t = if x1 > x0 {
            ((hu - x0) / (x1 - x0)).clamp(0.0, 1.0)
        } else {
            0.0
        };
        Tissue {
            mass_density_g_cm3: (density0 + t * (density1 - density0)) as f32,
            relative_electron_density: (electrons0 + t * (electrons1 - electrons0)) as f32,
            material: self.materials[m].1,
        }
    }
}

fn value_error(problem: String, file: &str) -> HuTableError {
    HuTableError::Value {
        file: file.to_owned(),
        problem,
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn check_points(points: &[[f64; 3]]) -> Result<(), String> {
    if points.len() < 2 {
        return Err(format!("it has {} points; give at least two", points.len()));
    }
    for p in points {
        if p.iter().any(|v| !v.is_finite()) || p[0].abs() > 1e5 {
            return Err(format!(
                "the point {p:?} is not finite or beyond 100,000 HU; correct it"
            ));
        }
        if !(0.0..=25.0).contains(&p[1]) || !(0.0..=25.0).contains(&p[2]) {
            return Err(format!(
                "the point {p:?} has a density outside 0 to 25; correct it"
            ));
        }
    }
    for w in points.windows(2) {
        let [a, b] = [w[0], w[1]];
        if a[0] >= b[0] {
            return Err(format!("HU must ascend: {} is followed by {}", a[0], b[0]));
        }
        if a[1] > b[1] || a[2] > b[2] {
            return Err(format!(
                "densities must not fall as HU rise: {a:?} is followed by {b:?}"
            ));
        }
    }
    Ok(())
}

fn check_materials(materials: &[(f64, Material)]) -> Result<(), String> {
    if materials.is_empty() {
        return Err("it names no material; give at least [[-1000.0, \"water\"]]".to_owned());
    }
    if let Some(m) = materials.iter().find(|(from, _)| !from.is_finite()) {
        return Err(not_ascending(m.0, m.1));
    }
    match materials.windows(2).find(|w| w[0].0 >= w[1].0) {
        Some(w) => Err(not_ascending(w[1].0, w[1].1)),
        None => Ok(()),
    }
}

fn not_ascending(from: f64, material: Material) -> String {
    format!(
        "the HU of the materials must ascend: look at [{from}, \"{}\"]",
        material.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_of_every_table_is_reproduced() {
        for name in HuTable::shipped() {
            let t = HuTable::resolve(name).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(t.name, name);
            for (n, p) in t.points().iter().enumerate() {
                let got = t.at(p[0] as f32);
                assert!(
                    (f64::from(got.mass_density_g_cm3) - p[1]).abs() < 1e-6,
                    "{name} {p:?}: {got:?}"
                );
                assert!(
                    (f64::from(got.relative_electron_density) - p[2]).abs() < 1e-6,
                    "{name} {p:?}"
                );
                if let Some(q) = t.points().get(n + 1) {
                    let half = t.at((0.5 * (p[0] + q[0])) as f32);
                    assert!(
                        (f64::from(half.mass_density_g_cm3) - 0.5 * (p[1] + q[1])).abs() < 1e-5,
                        "{name} {p:?}"
                    );
                }
            }
            let (first, last) = (t.points()[0], t.points()[t.points().len() - 1]);
            assert_eq!(t.at(-30000.0).mass_density_g_cm3, first[1] as f32);
            assert_eq!(t.at(60000.0).mass_density_g_cm3, last[1] as f32);
            assert_eq!(t.at(f32::NAN), t.at(f32::NEG_INFINITY));
        }
    }

    #[test]
    fn a_table_written_reads_back_as_it_was() {
        for name in HuTable::shipped() {
            let mut table = HuTable::resolve(name).expect("shipped");
            table.name = "my \"own\"\ntable".to_owned();
            assert_eq!(
                HuTable::parse(&table.to_toml(), "own.toml").expect("its own text"),
                table
            );
        }
        assert_eq!(HuTable::shipped_default().name, HuTable::DEFAULT);
    }

    /// The columns as they were published (`source` of each file).
    #[test]
    fn tables_hold_the_published_values() {
        let t = HuTable::resolve(HuTable::DEFAULT).expect("shipped");
        for (hu, electrons) in [
            (-1024.0, 0.001),
            (-90.0, 0.95),
            (0.0, 1.0),
            (100.0, 1.095),
            (3000.0, 2.505),
        ] {
            assert!(
                (t.at(hu).relative_electron_density - electrons).abs() < 1e-6,
                "{hu}"
            );
        }
        assert_eq!(t.at(0.0).mass_density_g_cm3, 1.0);
        let t = HuTable::resolve("siemens-phantom").expect("shipped");
        for (hu, density) in [(-712.9, 0.29), (-5.6, 1.0), (65.6, 1.089), (1173.7, 1.823)] {
            assert!((t.at(hu).mass_density_g_cm3 - density).abs() < 1e-5, "{hu}");
        }
    }

    /// The third column of tables that were published with mass density only follows from the composition.
    #[test]
    fn electron_density_follows_mass_density_and_composition() {
        for name in HuTable::shipped() {
            let t = HuTable::resolve(name).expect("shipped");
            for p in t.points().iter().filter(|p| p[1] > 0.0) {
                let per_gram = p[2] / p[1];
                assert!(
                    (0.86..1.005).contains(&per_gram),
                    "{name} {p:?}: {per_gram}"
                );
            }
        }
    }

    #[test]
    fn wrong_tables_say_what_is_wrong() {
        let good = TABLES[0].1;
        for (from, to, wants) in [
            ("[0.0, 1.0, 1.0]", "[0.0, nan, 1.0]", vec!["not finite"]),
            (
                "[0.0, 1.0, 1.0]",
                "[-500.0, 1.0, 1.0]",
                vec!["ascend", "-500"],
            ),
            (
                "[0.0, 1.0, 1.0]",
                "[0.0, 0.5, 1.0]",
                vec!["must not fall", "0.5"],
            ),
            (
                "[0.0, 1.0, 1.0]",
                "[0.0, -1.0, 1.0]",
                vec!["outside 0 to 25"],
            ),
            (
                "\"lung\"",
                "\"lunch\"",
                vec!["lunch", "name one of", "adipose"],
            ),
            ("points =", "dots =", vec!["dots"]),
        ] {
            assert!(good.contains(from), "{from}");
            let e = HuTable::parse(&good.replacen(from, to, 1), "my.toml")
                .expect_err(to)
                .to_string();
            for want in wants.iter().chain(&["my.toml"]) {
                assert!(e.contains(want), "'{to}' gave: {e}");
            }
        }
        let e = HuTable::resolve("nonsense")
            .expect_err("unknown")
            .to_string();
        assert!(
            e.contains("nonsense") && e.contains(HuTable::DEFAULT),
            "{e}"
        );
    }
}
