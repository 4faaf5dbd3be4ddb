//! Tables of poses: how a patient lay at the fractions of a plan, as spreadsheets write them.

use case::{PatientInfo, Pose};
use input::{beginning, read_text};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Greatest length of a file, bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Names of the columns with the numbers of [`Pose`], mm and degrees.
const NUMBERS: [&str; 6] = ["tx", "ty", "tz", "rx", "ry", "rz"];

/// Names of the column that names a fraction, the first of them in the header counts.
const NAMES: [&str; 3] = ["fraction", "date", "name"];

/// A pose with the name of its fraction: its date or number.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPose {
    pub name: String,
    pub pose: Pose,
}

/// Why a table of poses is not read.
#[derive(Debug, Error)]
pub enum PosesError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}, line {line}: {problem}")]
    Line {
        path: PathBuf,
        line: usize,
        problem: String,
    },
}

/// Reads a table of poses: a header with `tx,ty,tz,rx,ry,rz`, and with `fraction`, `date` or `name` and `patient` where wanted, then a
/// row for each fraction. Cells stand between commas, semicolons or tabs; where they are no commas, numbers may have one.
///
/// # Errors
/// [`PosesError`]: a file that cannot be read, a column that is missing or there twice, a cell that is no number, a row of another
/// patient than `patient`.
pub fn read_poses(path: &Path, patient: &PatientInfo) -> Result<Vec<NamedPose>, PosesError> {
    let text = read_text(path, MOST_BYTES).map_err(|source| PosesError::Read {
        path: path.to_owned(),
        source,
    })?;
    poses(&text, patient).map_err(|(line, problem)| PosesError::Line {
        path: path.to_owned(),
        line,
        problem,
    })
}

fn poses(text: &str, patient: &PatientInfo) -> Result<Vec<NamedPose>, (usize, String)> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rows = (1..).zip(text.lines());
    let mut rows = rows
        .by_ref()
        .filter(|(_, row)| !row.trim().is_empty() && !row.starts_with('#'));
    let (line, header) = rows
        .next()
        .ok_or_else(|| (1, format!("there is no header {}", NUMBERS.join(","))))?;
    let columns = Columns::new(header).map_err(|problem| (line, problem))?;
    let mut poses = Vec::new();
    for (line, row) in rows {
        let pose = columns
            .pose(row, poses.len() + 1, patient)
            .map_err(|problem| (line, problem))?;
        poses.push(pose);
    }
    if poses.is_empty() {
        return Err((line, "there is no row below the header".to_owned()));
    }
    Ok(poses)
}

/// Places of the columns.
struct Columns {
    separator: char,
    count: usize,
    numbers: [usize; 6],
    name: Option<usize>,
    patient: Option<usize>,
}

impl Columns {
    fn new(header: &str) -> Result<Self, String> {
        let separators = [';', '\t', ','].into_iter();
        let separator = separators.max_by_key(|separator| header.matches(*separator).count());
        let separator = separator.unwrap_or(',');
        let names: Vec<String> = cells(header, separator).map(str::to_lowercase).collect();
        let mut numbers = [0; 6];
        for (place, name) in numbers.iter_mut().zip(NUMBERS) {
            let mut places = (0..names.len()).filter(|n| names[*n] == name);
            *place = places.next().ok_or_else(|| {
                format!(
                    "there is no column '{name}'; a header is fraction,{}",
                    NUMBERS.join(",")
                )
            })?;
            if places.next().is_some() {
                return Err(format!("there are two columns '{name}'"));
            }
        }
        let mut names_of_fractions = NAMES.into_iter();
        Ok(Self {
            separator,
            count: names.len(),
            numbers,
            name: names_of_fractions.find_map(|name| names.iter().position(|n| n == name)),
            patient: names.iter().position(|name| name == "patient"),
        })
    }

    /// The pose of a row, the `number`th.
    fn pose(&self, row: &str, number: usize, patient: &PatientInfo) -> Result<NamedPose, String> {
        let cells: Vec<&str> = cells(row, self.separator).collect();
        if cells.len() != self.count {
            return Err(format!(
                "there are {} cells below a header of {}",
                cells.len(),
                self.count
            ));
        }
        if let Some(place) = self.patient {
            let other = PatientInfo {
                id: cells[place].to_owned(),
                ..PatientInfo::default()
            };
            if patient.is_same(&other) == Some(false) {
                return Err(beginning(&format!(
                    "the pose is of patient '{}', the case of '{}'",
                    cells[place], patient.id
                )));
            }
        }
        let mut values = [0.0; 6];
        for ((value, place), name) in values.iter_mut().zip(self.numbers).zip(NUMBERS) {
            *value = self
                .number(cells[place])
                .ok_or_else(|| beginning(&format!("{name}: '{}' is no number", cells[place])))?;
        }
        let [tx, ty, tz, rx, ry, rz] = values;
        let name = self.name.map(|place| cells[place]);
        let name = name.filter(|name| !name.is_empty());
        Ok(NamedPose {
            name: name.map_or_else(|| number.to_string(), beginning),
            pose: Pose::new([tx, ty, tz], [rx, ry, rz]),
        })
    }

    fn number(&self, cell: &str) -> Option<f64> {
        let value: f64 = if self.separator == ',' {
            cell.parse().ok()?
        } else {
            cell.replace(',', ".").parse().ok()?
        };
        value.is_finite().then_some(value)
    }
}

fn cells(row: &str, separator: char) -> impl Iterator<Item = &str> {
    let cells = row.trim_end_matches('\r').split(separator);
    cells.map(|cell| cell.trim().trim_matches('"').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<NamedPose>, (usize, String)> {
        let patient = PatientInfo {
            id: "7".to_owned(),
            ..PatientInfo::default()
        };
        poses(text, &patient)
    }

    #[test]
    fn tables_of_spreadsheets_are_read() {
        let expected = [
            NamedPose {
                name: "2026-11-30".to_owned(),
                pose: Pose::new([1.5, -2.0, 0.0], [0.0, 0.5, 0.0]),
            },
            NamedPose {
                name: "2".to_owned(),
                pose: Pose::default(),
            },
        ];
        for text in [
            "date,tx,ty,tz,rx,ry,rz\n2026-11-30,1.5,-2,0,0,0.5,0\n,0,0,0,0,0,0\n",
            "\u{feff}Date;TX;TY;TZ;RX;RY;RZ\r\n2026-11-30;1,5;-2;0;0;0,5;0\r\n;0;0;0;0;0;0\r\n",
            "# by hand\nrx\try\trz\ttx\tty\ttz\tdate\tpatient\n0\t0.5\t0\t1.5\t-2\t0\t2026-11-30\t7\n\n0\t0\t0\t0\t0\t0\t\t7\n",
        ] {
            assert_eq!(read(text).as_deref(), Ok(&expected[..]), "{text}");
        }
    }

    #[test]
    fn a_row_that_is_no_pose_of_the_patient_is_refused_with_its_line() {
        let header = "patient,tx,ty,tz,rx,ry,rz\n";
        for (text, line, words) in [
            (String::new(), 1, "no header"),
            (header.to_owned(), 1, "no row"),
            ("tx,ty,tz,rx,ry\n".to_owned(), 1, "no column 'rz'"),
            ("tx,ty,tz,rx,ry,rz,tx\n".to_owned(), 1, "two columns 'tx'"),
            (
                format!("{header}7,1,2,3,0,0\n"),
                2,
                "6 cells below a header of 7",
            ),
            (
                format!("{header}7,1,2,x,0,0,0\n"),
                2,
                "tz: 'x' is no number",
            ),
            (format!("{header}7,1,2,NaN,0,0,0\n"), 2, "is no number"),
            (
                format!("{header}7,0,0,0,0,0,0\n8,0,0,0,0,0,0\n"),
                3,
                "of patient '8'",
            ),
        ] {
            let (found_line, problem) = read(&text).expect_err("no pose");
            assert_eq!(found_line, line, "{problem}");
            assert!(problem.contains(words), "{problem}");
        }
    }
}
