//! The minimised problem as a numpy archive: anybody can minimise the same and compare
//! (`assets/guide/command-line.md`).
//!
//! A `.npz` is a zip archive of `.npy` arrays (numpy.lib.format, version 1.0); entries are stored without compression.

use super::columns::Columns;
use super::objective::Objective;
use super::optimise::Optimised;
use serde_json::{Value, json};
use std::io::{self, Write};

struct Archive<W> {
    out: W,
    /// Bytes written.
    offset: u64,
    /// Name, checksum, length, offset of its header.
    entries: Vec<(String, u32, u32, u32)>,
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "the matrix has more than 4 GiB, the most of a zip archive: choose a coarser grid",
    )
}

impl<W: Write> Archive<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.offset += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// An array of little-endian numbers; `kind` is numpy's word for them.
    fn array(
        &mut self,
        name: &str,
        kind: &str,
        shape: &[usize],
        columns_first: bool,
        data: &[u8],
    ) -> io::Result<()> {
        let order = if columns_first { "True" } else { "False" };
        let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
        let mut header = format!(
            "{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({}), }}",
            shape.trim_end()
        );
        // The format aligns the data to 64 bytes.
        let data_offset = (10 + header.len() + 1).next_multiple_of(64);
        header.push_str(&" ".repeat(data_offset - 11 - header.len()));
        header.push('\n');
        let mut begin = b"\x93NUMPY\x01\x00".to_vec();
        begin.extend((header.len() as u16).to_le_bytes());
        begin.extend(header.as_bytes());
        let mut sum = flate2::Crc::new();
        sum.update(&begin);
        sum.update(data);
        let length = u32::try_from(begin.len() + data.len()).map_err(|_| too_large())?;
        let header_offset = u32::try_from(self.offset).map_err(|_| too_large())?;
        let name = format!("{name}.npy");
        self.write(&local_header(&name, sum.sum(), length))?;
        self.write(&begin)?;
        self.write(data)?;
        self.entries.push((name, sum.sum(), length, header_offset));
        Ok(())
    }

    /// A text as an array without axes.
    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        let letters: Vec<u8> = text
            .chars()
            .flat_map(|c| u32::from(c).to_le_bytes())
            .collect();
        self.array(
            name,
            &format!("<U{}", text.chars().count().max(1)),
            &[],
            false,
            &letters,
        )
    }

    fn doubles(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = f64>,
    ) -> io::Result<()> {
        let data: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
        self.array(name, "<f8", shape, false, &data)
    }

    fn integers(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = i64>,
    ) -> io::Result<()> {
        let data: Vec<u8> = values.into_iter().flat_map(i64::to_le_bytes).collect();
        self.array(name, "<i8", shape, false, &data)
    }

    /// The directory of the archive.
    fn finish(mut self) -> io::Result<()> {
        let begin = u32::try_from(self.offset).map_err(|_| too_large())?;
        let entries = std::mem::take(&mut self.entries);
        for (name, sum, length, header_offset) in &entries {
            let local = local_header(name, *sum, *length);
            let mut entry = b"PK\x01\x02\x14\x00".to_vec();
            entry.extend(&local[4..30]);
            // No comment, the first disk, no attributes.
            entry.extend([0; 10]);
            entry.extend(header_offset.to_le_bytes());
            entry.extend(name.as_bytes());
            self.write(&entry)?;
        }
        let length = u32::try_from(self.offset).map_err(|_| too_large())? - begin;
        let count = (entries.len() as u16).to_le_bytes();
        let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
        end.extend(count);
        end.extend(count);
        end.extend(length.to_le_bytes());
        end.extend(begin.to_le_bytes());
        end.extend([0; 2]);
        self.write(&end)?;
        self.out.flush()
    }
}

/// Header of a stored entry: version 2.0, no flags, no date.
fn local_header(name: &str, sum: u32, length: u32) -> Vec<u8> {
    let mut header = b"PK\x03\x04\x14\x00\0\0\0\0\0\0\x21\0".to_vec();
    header.extend(sum.to_le_bytes());
    header.extend(length.to_le_bytes());
    header.extend(length.to_le_bytes());
    header.extend((name.len() as u16).to_le_bytes());
    header.extend([0; 2]);
    header.extend(name.as_bytes());
    header
}

/// Writes the matrix, the rows, the objectives and the answer of an optimisation.
///
/// # Errors
/// Errors of the file, and an archive beyond 4 GiB.
pub fn write_matrix(out: impl Write, answer: &Optimised) -> io::Result<()> {
    let mut archive = Archive {
        out,
        offset: 0,
        entries: Vec::new(),
    };
    let (columns, rows): (&Columns, _) = (&answer.columns, &answer.rows);
    let shape = [columns.rows(), columns.beamlets()];
    let gy: Vec<u8> = columns
        .iter()
        .flat_map(|(steps, gy)| {
            steps
                .iter()
                .flat_map(move |step| (f32::from(*step) * gy).to_le_bytes())
        })
        .collect();
    archive.array("dense", "<f4", &shape, true, &gy)?;
    drop(gy);
    archive.doubles(
        "offset_gy",
        &shape[..1],
        answer.offset_gy.iter().map(|gy| f64::from(*gy)),
    )?;
    archive.doubles("fluence", &shape[1..], answer.fluences.iter().copied())?;
    archive.doubles("lower", &shape[1..], answer.lower.iter().copied())?;
    if answer.upper.iter().any(|upper| upper.is_finite()) {
        archive.doubles("upper", &shape[1..], answer.upper.iter().copied())?;
    }
    archive.doubles(
        "dose_gy",
        &shape[..1],
        answer.doses_gy.iter().map(|gy| f64::from(*gy)),
    )?;
    archive.doubles("objective", &[], [answer.objective])?;
    archive.integers(
        "voxel",
        &shape[..1],
        rows.voxels.iter().map(|voxel| *voxel as i64),
    )?;
    let grid = &rows.grid;
    let [x, y] = grid.spacing_xy_mm();
    let z = grid.even_plane_spacing_mm().unwrap_or_default();
    archive.doubles("grid_origin_mm", &[3], grid.origin_mm().to_array())?;
    archive.doubles("grid_spacing_mm", &[3], [x, y, z])?;
    archive.integers("grid_size", &[3], grid.size().map(|n| n as i64))?;
    archive.doubles(
        "grid_axes",
        &[3, 3],
        grid.axes().into_iter().flat_map(|axis| axis.to_array()),
    )?;
    let mut structures = Vec::new();
    for (n, set) in rows.sets.iter().enumerate() {
        let (rows_name, weight_name) = (format!("s{n}_rows"), format!("s{n}_weight"));
        archive.integers(
            &rows_name,
            &[set.rows.len()],
            set.rows.iter().map(|row| i64::from(*row)),
        )?;
        archive.doubles(
            &weight_name,
            &[set.cm3.len()],
            set.cm3.iter().map(|cm3| f64::from(*cm3)),
        )?;
        structures.push(json!({"name": set.name, "rows": rows_name, "weight": weight_name}));
    }
    archive.text("structures", &Value::from(structures).to_string())?;
    archive.text("objectives", &objectives(answer).to_string())?;
    let rows = { answer.monitor_units.fields.iter().enumerate() }
        .flat_map(|(field, rows)| rows.rows.iter().map(move |row| (field, row)));
    let cells: Vec<[i64; 3]> = { rows.enumerate() }
        .flat_map(|(n, (field, row))| row.iter().map(move |column| (n, field, column)))
        .map(|(n, field, column)| [field as i64, n as i64, column.map_or(-1, |n| n as i64)])
        .collect();
    archive.integers("rises", &[cells.len(), 3], cells.into_iter().flatten())?;
    archive.doubles(
        "beamlets",
        &[answer.beamlets.len(), 6],
        answer.beamlets.iter().copied().flatten(),
    )?;
    archive.finish()
}

/// Objectives with the weights of the solver: divided by the square of the reference dose.
fn objectives(answer: &Optimised) -> Value {
    let used = answer
        .objectives
        .iter()
        .filter(|o| answer.rows.set(&o.structure).is_some());
    let scaled = used.map(|objective| {
        let weight = objective.weight_per_gy2(answer.reference_gy);
        serde_json::to_value(Objective {
            weight,
            ..objective.clone()
        })
        .unwrap_or_default()
    });
    scaled.chain([answer.monitor_units.json()]).collect()
}
