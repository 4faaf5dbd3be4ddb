use super::*;
use crate::tables::{angles, charged, compton, photon};
use particles::bremsstrahlung::Bremsstrahlung;
use particles::photon::compton::Electrons;
use particles::photon::{CrossSections, ScatteringFunctions};
use particles::{Charge, Medium};

fn sets() -> &'static [TableSet] {
    crate::tables::shipped().expect("tables of the repository")
}

/// Two materials of both sets.
fn excerpt() -> Vec<TableSet> {
    sets()
        .iter()
        .map(|set| TableSet {
            thresholds: set.thresholds,
            materials: set.materials[2..4].to_vec(),
        })
        .collect()
}

#[test]
fn every_material_ships_for_both_thresholds() {
    let thresholds: Vec<Thresholds> = sets().iter().map(|set| set.thresholds).collect();
    assert_eq!(thresholds, [Thresholds::STANDARD, Thresholds::FINE]);
    for set in sets() {
        let materials: Vec<Material> = set.materials.iter().map(|table| table.material).collect();
        assert_eq!(materials, Material::ALL);
        assert!(
            set.materials
                .iter()
                .all(|table| table.thresholds == set.thresholds)
        );
    }
}

#[test]
fn tables_are_read_as_they_were_written() {
    assert_eq!(read(&write(&excerpt())).expect("two sets"), excerpt());
}

#[test]
fn damaged_files_are_refused() {
    let bytes = write(&excerpt());
    assert_eq!(read(&bytes[..20]), Err(TableFileError::NotTables));
    assert_eq!(
        read(b"another file of more than 28 bytes"),
        Err(TableFileError::NotTables)
    );
    let mut other_version = bytes.clone();
    other_version[4] = 9;
    assert_eq!(read(&other_version), Err(TableFileError::Version(9)));
    let mut flipped = bytes.clone();
    flipped[5000] ^= 1;
    assert_eq!(read(&flipped), Err(TableFileError::Digest));
    assert_eq!(read(&bytes[..bytes.len() - 4]), Err(TableFileError::Digest));
    let thresholds = &bytes[HEADER_BYTES..HEADER_BYTES + 16];
    for (words, error) in [
        (vec![u32::MAX], TableFileError::Material(u32::MAX)),
        (vec![3, u32::MAX], TableFileError::Length),
        (vec![3, 0], TableFileError::Length),
    ] {
        let mut body = thresholds.to_vec();
        body.extend(words.iter().flat_map(|word: &u32| word.to_le_bytes()));
        let mut forged = bytes[..HEADER_BYTES].to_vec();
        forged[16..24].copy_from_slice(&digest(&body).to_le_bytes());
        forged.extend(body);
        assert_eq!(read(&forged), Err(error));
    }
}

#[track_caller]
fn assert_same(shipped: &[f32], computed: impl IntoIterator<Item = f32>, place: &str) {
    let mut compared = 0;
    for (shipped, computed) in shipped.iter().zip(computed) {
        assert!(
            (shipped - computed).abs() <= 1e-6 * computed.abs().max(1e-30),
            "{place}: {shipped:e} for {computed:e}"
        );
        compared += 1;
    }
    assert_eq!(compared, shipped.len(), "{place}");
}

/// Water and titanium as they are computed: whole where that takes no time, else some nodes.
#[test]
fn shipped_tables_are_those_of_the_cross_sections() {
    for material in [Material::Water, Material::Titanium] {
        let table = &sets()[0].materials[material as usize];
        let name = material.name();
        let medium = Medium::of(material);
        let photons = Bremsstrahlung::of(medium);
        let functions = ScatteringFunctions::of(&medium);
        assert_same(
            &table.photon,
            photon::table(&CrossSections::of(material)),
            name,
        );
        assert_same(
            &table.rayleigh,
            crate::tables::rayleigh::table(&functions),
            name,
        );
        assert_same(
            &table.bremsstrahlung,
            crate::tables::bremsstrahlung::table(&photons),
            name,
        );
        for set in sets() {
            let table = &set.materials[material as usize];
            for charge in Charge::BOTH {
                let bound = charged::collision_bound_cm2_g(&medium, charge, set.thresholds);
                assert_same(
                    &[table.collision_bound_cm2_g[charge as usize]],
                    [bound as f32],
                    name,
                );
                for node in [0, 130, 352] {
                    let energy_mev = f64::from(charged::ENERGY_GRID.value(node));
                    let row = charged::row(&photons, charge, energy_mev, set.thresholds);
                    let columns = node * charged::WIDTH..(node + 1) * charged::WIDTH;
                    assert_same(&table.charged[charge as usize][columns], row, name);
                }
            }
        }
        for node in [30, 60] {
            let row = compton::row(Electrons::Bound(&functions), node);
            let columns = node * compton::PROBABILITIES..(node + 1) * compton::PROBABILITIES;
            assert_same(&table.compton[columns], row, name);
        }
        let energy = 14;
        let quantiles = angles::quantiles(&medium, energy).expect("quantiles");
        for (path, quantiles) in quantiles.iter().enumerate() {
            let row = energy * angles::PATHS + path;
            let v = quantiles.v();
            assert_same(
                &table.angles.v[row * v.len()..(row + 1) * v.len()],
                v.iter().map(|&value| value as f32),
                name,
            );
            assert_same(
                &table.angles.bends[row..=row],
                [quantiles.bend() as f32],
                name,
            );
        }
    }
}
