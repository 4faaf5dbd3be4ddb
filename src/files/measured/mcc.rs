//! PTW's `.mcc` (Mephysto): `BEGIN_SCAN` to `END_SCAN`, keys `KEY=value`, points between `BEGIN_DATA` and `END_DATA`.
//!
//! Keys that count: `SCAN_CURVETYPE` (PDD, INPLANE_PROFILE, CROSSPLANE_PROFILE), `SCAN_DIAGONAL`, `MODALITY`, `FIELD_INPLANE`,
//! `FIELD_CROSSPLANE`, `SSD`, `SCAN_DEPTH` (mm), offsets of scan and field, `WEDGE_ANGLE`. Facts from public readers: pymedphys
//! (its mephysto module) and files quoted beside others.

use super::{
    DEPTH_MM, DOSE, Draft, Fault, MeasuredFile, PLACE_MM, SSD_MM, Scan, ScanAxis, field, number,
};
use input::beginning;

#[derive(Default)]
struct Block {
    draft: Draft,
    curve: Option<String>,
    depth_mm: Option<f64>,
    inplane_mm: Option<f64>,
    crossplane_mm: Option<f64>,
    in_data: bool,
}

pub fn curves(text: &str) -> Result<MeasuredFile, Fault> {
    let mut file = MeasuredFile::default();
    let mut open: Option<Block> = None;
    for (n, row) in text.lines().enumerate() {
        let (line, row) = (n + 1, row.trim());
        if row.starts_with("BEGIN_SCAN_DATA") || row.starts_with("END_SCAN_DATA") {
            continue;
        }
        if row.starts_with("BEGIN_SCAN") {
            if let Some(block) = open.replace(Block {
                draft: Draft::at(line),
                ..Block::default()
            }) {
                return Err(Fault::new(
                    block.draft.line,
                    "the scan that begins here has no END_SCAN",
                ));
            }
            continue;
        }
        let Some(block) = &mut open else { continue };
        if row.starts_with("END_SCAN") {
            if let Some(block) = open.take() {
                block.finish(&mut file)?;
            }
        } else if row.starts_with("BEGIN_DATA") || row.starts_with("END_DATA") {
            block.in_data = row.starts_with("BEGIN");
        } else if block.in_data && !row.is_empty() {
            let mut words = row.split_whitespace();
            let (Some(place), Some(dose)) = (words.next(), words.next()) else {
                return Err(Fault::new(
                    line,
                    beginning(&format!("'{row}' is not a position and a dose")),
                ));
            };
            let place = number(line, "position", place, PLACE_MM)?;
            block
                .draft
                .add(line, [place, number(line, "dose", dose, DOSE)?])?;
        } else if let Some((key, value)) = row.split_once('=') {
            block.set(line, key.trim(), value.trim())?;
        }
    }
    match open {
        Some(block) => Err(Fault::new(
            block.draft.line,
            "the scan that begins here has no END_SCAN: the file is cut short",
        )),
        None => Ok(file),
    }
}

impl Block {
    fn set(&mut self, line: usize, key: &str, value: &str) -> Result<(), Fault> {
        match key {
            "SCAN_CURVETYPE" => self.curve = Some(value.to_owned()),
            "SCAN_DEPTH" => self.depth_mm = Some(number(line, key, value, DEPTH_MM)?),
            "SSD" => self.draft.ssd_mm = Some(number(line, key, value, SSD_MM)?),
            "FIELD_INPLANE" => self.inplane_mm = Some(first_side(key, line, value)?),
            "FIELD_CROSSPLANE" => self.crossplane_mm = Some(first_side(key, line, value)?),
            "MODALITY" if value != "X" && value != "XRAY" => {
                self.draft.refuse("it is of no photon beam")
            }
            "SCAN_DIAGONAL" if value != "NOT_DIAGONAL" => self.draft.refuse("it is a diagonal"),
            "SCAN_OFFAXIS_INPLANE" | "SCAN_OFFAXIS_CROSSPLANE"
                if number(line, key, value, PLACE_MM)?.abs() > 2.0 =>
            {
                self.draft
                    .refuse("it does not pass through the axis of the beam");
            }
            "COLL_OFFSET_INPLANE" | "COLL_OFFSET_CROSSPLANE"
                if number(line, key, value, PLACE_MM)? != 0.0 =>
            {
                self.draft.refuse("its field is not symmetric");
            }
            "WEDGE_ANGLE" if number(line, key, value, [-90.0, 90.0])? != 0.0 => {
                self.draft.refuse("it is of a wedge")
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, file: &mut MeasuredFile) -> Result<(), Fault> {
        let profile = |axis| -> Result<Scan, Fault> {
            Ok(Scan::Profile {
                axis,
                depth_mm: self.depth_mm.ok_or_else(|| {
                    Fault::new(
                        self.draft.line,
                        "the profile that begins here has no SCAN_DEPTH",
                    )
                })?,
            })
        };
        let scan = match self.curve.as_deref() {
            None => None,
            Some("PDD") => Some(Scan::Depth),
            Some("INPLANE_PROFILE") => Some(profile(ScanAxis::Inline)?),
            Some("CROSSPLANE_PROFILE") => Some(profile(ScanAxis::Crossline)?),
            Some(other) => {
                let why = beginning(&format!("its type {other} is not compared"));
                self.draft.refuse(&why);
                None
            }
        };
        self.draft.scan = scan;
        self.draft.field_mm = self.crossplane_mm.zip(self.inplane_mm).map(|(x, y)| [x, y]);
        self.draft.finish(file)
    }
}

fn first_side(what: &str, line: usize, value: &str) -> Result<f64, Fault> {
    field(line, value)
        .map(|sides| sides[0])
        .map_err(|f| Fault::new(line, format!("{what}: {}", f.problem)))
}
