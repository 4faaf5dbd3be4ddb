//! The ASCII dump of the RFA300, written by OmniPro-Accept (IBA, Wellhöfer, Scanditronix).
//!
//! A measurement begins with `%VNR` and ends with `:EOM`. Keys: `%FSZ w h` and `%SSD` (mm), `%BMT PHO 6.0`, `%WEG` (degrees);
//! points `= x y z dose` (mm). Facts from public readers: mwgeurts/water_tank, BistroMath, whose users' files have gun-target first,
//! A-B second, depth third. Other mountings of the tank swap them, so that a field that is not square is left out.

use super::{Draft, Fault, MeasuredFile, SSD_MM, field, has_room, number, point};
use input::beginning;

pub fn curves(text: &str) -> Result<MeasuredFile, Fault> {
    let mut file = MeasuredFile::default();
    let mut open: Option<(Draft, Vec<[f64; 4]>)> = None;
    for (n, row) in text.lines().enumerate() {
        let (line, row) = (n + 1, row.trim());
        if row.starts_with("%VNR") || row.starts_with(":EOM") || row.starts_with(":EOF") {
            if let Some((mut draft, points)) = open.take() {
                draft.take_scan(&points);
                draft.finish(&mut file)?;
            }
            if row.starts_with("%VNR") {
                open = Some((Draft::at(line), Vec::new()));
            }
            continue;
        }
        let Some((draft, points)) = &mut open else {
            continue;
        };
        if let Some(key) = row.strip_prefix('%') {
            set(draft, line, key)?;
        } else if let Some(values) = row.strip_prefix('=') {
            let words: Vec<&str> = values.split_whitespace().collect();
            let [inline, crossline, depth, dose, ..] = words[..] else {
                return Err(Fault::new(
                    line,
                    beginning(&format!("'{row}' is not a point = x y z dose")),
                ));
            };
            has_room(line, points.len())?;
            points.push(point(line, [crossline, inline, depth, dose])?);
        }
    }
    if let Some((draft, _)) = open {
        return Err(Fault::new(
            draft.line,
            "the measurement that begins here has no :EOM: the file is cut short",
        ));
    }
    if !file.curves.is_empty() {
        file.remarks.push(
            "x of the file was taken for inline (gun-target), y for crossline (A-B)".to_owned(),
        );
    }
    Ok(file)
}

fn set(draft: &mut Draft, line: usize, row: &str) -> Result<(), Fault> {
    let (key, value) = row.split_once(char::is_whitespace).unwrap_or((row, ""));
    match key {
        "FSZ" => {
            let sides = field(line, &first_words(2, value))?;
            if sides[0] != sides[1] {
                draft.refuse("its field is not square, and which side is which depends on the tank; write it as a table");
            }
            draft.field_mm = Some(sides);
        }
        "SSD" => draft.ssd_mm = Some(number(line, "%SSD", &first_words(1, value), SSD_MM)?),
        "BMT" if first_words(1, value) != "PHO" => draft.refuse("it is of no photon beam"),
        "WEG" if number(line, "%WEG", &first_words(1, value), [-90.0, 90.0])? != 0.0 => {
            draft.refuse("it is of a wedge")
        }
        _ => {}
    }
    Ok(())
}

fn first_words(count: usize, value: &str) -> String {
    value
        .split_whitespace()
        .take(count)
        .collect::<Vec<_>>()
        .join(" ")
}
