//! Tables as a binary file, little-endian: magic, version, count of materials, count of threshold pairs, digest of what follows;
//! then the pairs in MeV, and for each material its index in `Material::ALL`, six arrays that all thresholds share and three for
//! each pair, every array behind its length.

use super::angles::Angles;
use super::{MaterialTables, Thresholds};
use physics::Material;

const MAGIC: [u8; 4] = *b"BSMC";
/// Goes up with any change of grids, columns or arrays.
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;

/// Why a file of tables is not read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TableFileError {
    #[error("not a file of transport tables")]
    NotTables,
    #[error("version {0} of transport tables, where {VERSION} is read")]
    Version(u32),
    #[error("transport tables are damaged: their digest differs")]
    Digest,
    #[error("transport tables end before their arrays do, or go on behind them")]
    Length,
    #[error("transport tables name material {0}, which does not exist")]
    Material(u32),
}

/// Tables of materials for one pair of thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSet {
    pub thresholds: Thresholds,
    pub materials: Vec<MaterialTables>,
}

/// Bytes of sets of the same materials.
pub fn write(sets: &[TableSet]) -> Vec<u8> {
    let mut body = Vec::new();
    for set in sets {
        body.extend((set.thresholds.electron_mev as f32).to_le_bytes());
        body.extend((set.thresholds.photon_mev as f32).to_le_bytes());
    }
    let materials = sets.first().map_or(0, |set| set.materials.len());
    for index in 0..materials {
        let first = &sets[0].materials[index];
        body.extend((first.material as u32).to_le_bytes());
        for array in first.shared_arrays() {
            append_array(&mut body, array);
        }
        for array in sets
            .iter()
            .flat_map(|set| set.materials[index].arrays_of_thresholds())
        {
            append_array(&mut body, array);
        }
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((materials as u32).to_le_bytes());
    bytes.extend((sets.len() as u32).to_le_bytes());
    bytes.extend(digest(&body).to_le_bytes());
    bytes.extend(body);
    bytes
}

fn append_array(bytes: &mut Vec<u8>, array: &[f32]) {
    bytes.extend((array.len() as u32).to_le_bytes());
    bytes.extend(array.iter().flat_map(|value| value.to_le_bytes()));
}

/// Sets of a file.
///
/// # Errors
///
/// Another format, another version, or bytes that are not what was written.
pub fn read(bytes: &[u8]) -> Result<Vec<TableSet>, TableFileError> {
    if bytes.len() < HEADER_BYTES || bytes[..4] != MAGIC {
        return Err(TableFileError::NotTables);
    }
    let (header, body) = bytes.split_at(HEADER_BYTES);
    let mut header = Reader(&header[4..]);
    let version = header.word()?;
    if version != VERSION {
        return Err(TableFileError::Version(version));
    }
    let materials = header.word()?;
    let pairs = header.word()?;
    let stated_digest = u64::from(header.word()?) | u64::from(header.word()?) << 32;
    if stated_digest != digest(body) {
        return Err(TableFileError::Digest);
    }
    let mut body = Reader(body);
    let mut sets = (0..pairs)
        .map(|_| body.empty_set())
        .collect::<Result<Vec<_>, _>>()?;
    for _ in 0..materials {
        body.add_material(&mut sets)?;
    }
    if !body.0.is_empty() {
        return Err(TableFileError::Length);
    }
    Ok(sets)
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo): against damage, not against intent.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Result<u32, TableFileError> {
        let (word, remainder) = self
            .0
            .split_first_chunk::<4>()
            .ok_or(TableFileError::Length)?;
        self.0 = remainder;
        Ok(u32::from_le_bytes(*word))
    }

    /// Energy that was written as an f32: the number of a few digits that it is nearest to.
    fn energy_mev(&mut self) -> Result<f64, TableFileError> {
        let value = f64::from(f32::from_bits(self.word()?));
        Ok((value * 1e6).round() / 1e6)
    }

    fn empty_set(&mut self) -> Result<TableSet, TableFileError> {
        Ok(TableSet {
            thresholds: Thresholds {
                electron_mev: self.energy_mev()?,
                photon_mev: self.energy_mev()?,
            },
            materials: Vec::new(),
        })
    }

    fn array(&mut self) -> Result<Vec<f32>, TableFileError> {
        let count = self.word()? as usize;
        // Lengths are held against what is left before memory is taken.
        if count > self.0.len() / 4 {
            return Err(TableFileError::Length);
        }
        (0..count)
            .map(|_| self.word().map(f32::from_bits))
            .collect()
    }

    fn add_material(&mut self, sets: &mut [TableSet]) -> Result<(), TableFileError> {
        let index = self.word()?;
        let material = *Material::ALL
            .get(index as usize)
            .ok_or(TableFileError::Material(index))?;
        let shared = MaterialTables {
            material,
            thresholds: Thresholds::STANDARD,
            charged: [Vec::new(), Vec::new()],
            collision_bound_cm2_g: [0.0; 2],
            photon: self.array()?,
            compton: self.array()?,
            rayleigh: self.array()?,
            bremsstrahlung: self.array()?,
            angles: Angles {
                v: self.array()?,
                bends: self.array()?,
            },
        };
        for set in sets {
            let tables = MaterialTables {
                thresholds: set.thresholds,
                charged: [self.array()?, self.array()?],
                collision_bound_cm2_g: self
                    .array()?
                    .try_into()
                    .map_err(|_: Vec<f32>| TableFileError::Length)?,
                ..shared.clone()
            };
            if !tables.has_the_lengths_of_its_grids() {
                return Err(TableFileError::Length);
            }
            set.materials.push(tables);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
