//! Tables as a binary file, little-endian: magic, version, both thresholds, count of materials, digest of what follows; then for each
//! material its index in `Material::ALL` and nine arrays, each behind its length.

use super::angles::Angles;
use super::{MaterialTables, Thresholds};
use physics::Material;

const MAGIC: [u8; 4] = *b"BSMC";
/// Goes up with any change of grids, columns or arrays.
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 28;
const ARRAYS: usize = 9;

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

/// Bytes of the tables of materials that share their thresholds.
pub fn write(thresholds: Thresholds, materials: &[MaterialTables]) -> Vec<u8> {
    let mut body = Vec::new();
    for tables in materials {
        body.extend((tables.material as u32).to_le_bytes());
        for array in tables.arrays() {
            body.extend((array.len() as u32).to_le_bytes());
            body.extend(array.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((thresholds.electron_mev as f32).to_le_bytes());
    bytes.extend((thresholds.photon_mev as f32).to_le_bytes());
    bytes.extend((materials.len() as u32).to_le_bytes());
    bytes.extend(digest(&body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Tables of a file.
///
/// # Errors
///
/// Another format, another version, or bytes that are not what was written.
pub fn read(bytes: &[u8]) -> Result<Vec<MaterialTables>, TableFileError> {
    if bytes.len() < HEADER_BYTES || bytes[..4] != MAGIC {
        return Err(TableFileError::NotTables);
    }
    let (header, body) = bytes.split_at(HEADER_BYTES);
    let mut header = Reader(&header[4..]);
    let version = header.word()?;
    if version != VERSION {
        return Err(TableFileError::Version(version));
    }
    let thresholds = Thresholds {
        electron_mev: shortest_f64(f32::from_bits(header.word()?)),
        photon_mev: shortest_f64(f32::from_bits(header.word()?)),
    };
    let count = header.word()?;
    let stated_digest = u64::from(header.word()?) | u64::from(header.word()?) << 32;
    if stated_digest != digest(body) {
        return Err(TableFileError::Digest);
    }
    let mut body = Reader(body);
    let materials = (0..count)
        .map(|_| body.material(thresholds))
        .collect::<Result<_, _>>()?;
    if !body.0.is_empty() {
        return Err(TableFileError::Length);
    }
    Ok(materials)
}

/// The number of a few digits that a threshold was written as, 0.2 for the nearest f32.
fn shortest_f64(value: f32) -> f64 {
    (f64::from(value) * 1e6).round() / 1e6
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

    fn material(&mut self, thresholds: Thresholds) -> Result<MaterialTables, TableFileError> {
        let index = self.word()?;
        let material = *Material::ALL
            .get(index as usize)
            .ok_or(TableFileError::Material(index))?;
        let mut arrays = Vec::with_capacity(ARRAYS);
        for _ in 0..ARRAYS {
            arrays.push(self.array()?);
        }
        let arrays: [Vec<f32>; ARRAYS] = arrays.try_into().map_err(|_| TableFileError::Length)?;
        let [
            electron,
            positron,
            bounds,
            photon,
            compton,
            rayleigh,
            bremsstrahlung,
            v,
            bends,
        ] = arrays;
        let collision_bound_cm2_g = bounds
            .try_into()
            .map_err(|_: Vec<f32>| TableFileError::Length)?;
        let tables = MaterialTables {
            material,
            thresholds,
            charged: [electron, positron],
            collision_bound_cm2_g,
            photon,
            compton,
            rayleigh,
            bremsstrahlung,
            angles: Angles { v, bends },
        };
        if tables.has_the_lengths_of_its_grids() {
            Ok(tables)
        } else {
            Err(TableFileError::Length)
        }
    }
}
