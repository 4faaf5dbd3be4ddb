//! Writes the tables that ship: `cargo run --release -p beamsight-transport --example write_tables -- FILE`, some minutes.

use physics::Material;
use transport::tables::{MaterialTables, TableSet, Thresholds, write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or("the file to write is missing")?;
    let standard = Material::ALL
        .into_iter()
        .map(|material| MaterialTables::new(material, Thresholds::STANDARD))
        .collect::<Result<Vec<_>, _>>()?;
    let fine = standard
        .iter()
        .map(|tables| tables.for_thresholds(Thresholds::FINE))
        .collect();
    let sets = [
        TableSet {
            thresholds: Thresholds::STANDARD,
            materials: standard,
        },
        TableSet {
            thresholds: Thresholds::FINE,
            materials: fine,
        },
    ];
    std::fs::write(path, write(&sets))?;
    Ok(())
}
