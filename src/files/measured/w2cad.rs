//! W2CAD, the form in which Varian's Eclipse takes and gives measured beam data.
//!
//! `$STOM` begins a measurement, `$ENOM` ends it. Keys: `%FLSZ 100*100` (mm), `%TYPE` OPD (open depth dose), OPP (open profile)
//! and others, `%BMTY PHO`, `%AXIS`, `%PNTS`, `%SSD` and `%DPTH` (mm). Points: `< x y z dose >`, mm. Facts from public readers:
//! ParseW2CAD of mwgeurts/water_tank, w2CAD exports quoted beside them.

use super::{
    DEPTH_MM, Draft, Fault, MOST_POINTS, MeasuredFile, SSD_MM, Scan, field, has_room, number, point,
};
use input::beginning;

pub fn curves(text: &str) -> Result<MeasuredFile, Fault> {
    let mut file = MeasuredFile::default();
    let mut open: Option<Measurement> = None;
    for (n, row) in text.lines().enumerate() {
        let (line, row) = (n + 1, row.trim());
        if row.starts_with("$STOM") || row.starts_with("$ENOM") {
            if let Some(measurement) = open.take() {
                measurement.finish(line, &mut file)?;
            }
            if row.starts_with("$STOM") {
                open = Some(Measurement {
                    draft: Draft::at(line),
                    ..Measurement::default()
                });
            }
            continue;
        }
        let Some(measurement) = &mut open else {
            continue;
        };
        if let Some(key) = row.strip_prefix('%') {
            measurement.set(line, key)?;
        } else if row.starts_with('<') {
            measurement.add(line, row)?;
        }
    }
    match open {
        Some(m) => Err(Fault::new(
            m.draft.line,
            "the measurement that begins here has no $ENOM: the file is cut short",
        )),
        None => Ok(file),
    }
}

#[derive(Default)]
struct Measurement {
    draft: Draft,
    points: Vec<[f64; 4]>,
    count: Option<usize>,
    depth_mm: Option<f64>,
}

impl Measurement {
    fn set(&mut self, line: usize, row: &str) -> Result<(), Fault> {
        let (key, value) = row.split_once(char::is_whitespace).unwrap_or((row, ""));
        let value = value.trim();
        match key {
            "FLSZ" => self.draft.field_mm = Some(field(line, value)?),
            "SSD" => self.draft.ssd_mm = Some(number(line, "%SSD", value, SSD_MM)?),
            "DPTH" => self.depth_mm = Some(number(line, "%DPTH", value, DEPTH_MM)?),
            "PNTS" => {
                self.count = Some(number(line, "%PNTS", value, [0.0, MOST_POINTS as f64])? as usize)
            }
            "BMTY" if value != "PHO" => self.draft.refuse("it is of no photon beam"),
            "TYPE" if !matches!(value, "OPD" | "OPP") => {
                self.draft.refuse(&beginning(&format!(
                    "its type {value} is not that of an open depth dose or profile"
                )));
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, line: usize, row: &str) -> Result<(), Fault> {
        let words: Vec<&str> = row
            .split(|c: char| matches!(c, '<' | '>') || c.is_whitespace())
            .filter(|w| !w.is_empty())
            .collect();
        let [x, y, z, dose] = words[..] else {
            return Err(Fault::new(
                line,
                beginning(&format!("'{row}' is not a point < x y z dose >")),
            ));
        };
        has_room(line, self.points.len())?;
        self.points.push(point(line, [x, y, z, dose])?);
        Ok(())
    }

    fn finish(mut self, line: usize, file: &mut MeasuredFile) -> Result<(), Fault> {
        let point_count = self.points.len();
        if let Some(count) = self.count.filter(|count| *count != point_count) {
            return Err(Fault::new(
                line,
                format!(
                    "the measurement ends with {point_count} points where its %PNTS says {count}"
                ),
            ));
        }
        self.draft.take_scan(&self.points);
        if let (Some(Scan::Profile { depth_mm, .. }), Some(stated_mm)) =
            (&mut self.draft.scan, self.depth_mm)
        {
            *depth_mm = stated_mm;
        }
        self.draft.finish(file)
    }
}
