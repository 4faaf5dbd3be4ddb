//! Writes the tables of all materials, `cargo run --release -p beamsight-transport --example write_tables -- FOLDER`.

use physics::Material;
use std::path::Path;
use std::time::Instant;
use transport::tables::{MaterialTables, Thresholds, write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("the folder to write to is missing")?;
    for (name, thresholds) in [
        ("standard", Thresholds::STANDARD),
        ("fine", Thresholds::FINE),
    ] {
        let mut materials = Vec::new();
        for material in Material::ALL {
            let start = Instant::now();
            materials.push(MaterialTables::new(material, thresholds)?);
            println!(
                "{name} {}: {:.1} s",
                material.name(),
                start.elapsed().as_secs_f64()
            );
        }
        let bytes = write(thresholds, &materials);
        let path = Path::new(&folder).join(format!("{name}.bin"));
        std::fs::write(&path, &bytes)?;
        println!("{}: {} bytes", path.display(), bytes.len());
    }
    Ok(())
}
