//! The table of `assets/guide/machine.md`: lines `# key: value`, then rows `position,dose`.

use super::{
    DEPTH_MM, DOSE, Draft, Fault, FieldEdges, MeasuredFile, PLACE_MM, SSD_MM, Scan, ScanAxis,
    field, number,
};
use input::beginning;

#[derive(Default)]
struct Header {
    profile: Option<bool>,
    axis: Option<ScanAxis>,
    depth_mm: Option<f64>,
}

pub fn curves(text: &str) -> Result<MeasuredFile, Fault> {
    let mut file = MeasuredFile::default();
    let (mut draft, mut header) = (Draft::at(1), Header::default());
    let mut any = false;
    for (n, row) in text.lines().enumerate() {
        let (line, row) = (n + 1, row.trim().trim_start_matches('\u{feff}'));
        if row.is_empty() {
            continue;
        }
        if let Some(comment) = row.strip_prefix('#') {
            if !draft.points.is_empty() {
                let done = std::mem::replace(&mut draft, Draft::at(line));
                finish(done, std::mem::take(&mut header), &mut file)?;
            }
            if let Some((key, value)) = comment.split_once(':') {
                any |= set(&mut draft, &mut header, line, key.trim(), value.trim())?;
            }
            continue;
        }
        let cells: Vec<&str> = row.split([',', ';', '\t']).map(str::trim).collect();
        if draft.points.is_empty() && cells.iter().all(|c| c.parse::<f64>().is_err()) {
            // The names of the columns.
            continue;
        }
        let [place, dose] = cells[..] else {
            return Err(Fault::new(
                line,
                beginning(&format!(
                    "'{row}' is not a position and a dose, like 100.0,66.8"
                )),
            ));
        };
        draft.add(
            line,
            [
                number(line, "position", place, PLACE_MM)?,
                number(line, "dose", dose, DOSE)?,
            ],
        )?;
    }
    if any || !draft.points.is_empty() {
        finish(draft, header, &mut file)?;
    }
    Ok(file)
}

/// Whether the key is one of a curve.
fn set(
    draft: &mut Draft,
    header: &mut Header,
    line: usize,
    key: &str,
    value: &str,
) -> Result<bool, Fault> {
    match key {
        "curve" => {
            header.profile = Some(match value {
                "pdd" => false,
                "profile" => true,
                _ => {
                    return Err(Fault::new(
                        line,
                        beginning(&format!("curve: '{value}' is neither pdd nor profile")),
                    ));
                }
            });
        }
        "field_mm" => draft.field_mm = Some(field(line, value)?),
        "ssd_mm" => draft.ssd_mm = Some(number(line, "ssd_mm", value, SSD_MM)?),
        "depth_mm" => header.depth_mm = Some(number(line, "depth_mm", value, DEPTH_MM)?),
        "edges" => {
            draft.edges = match value {
                "jaws" => FieldEdges::Jaws,
                "leaves" => FieldEdges::Leaves,
                _ => {
                    return Err(Fault::new(
                        line,
                        beginning(&format!("edges: '{value}' is neither jaws nor leaves")),
                    ));
                }
            };
        }
        "axis" => {
            header.axis = Some(match value {
                "x" => ScanAxis::Crossline,
                "y" => ScanAxis::Inline,
                _ => {
                    return Err(Fault::new(
                        line,
                        beginning(&format!("axis: '{value}' is neither x nor y")),
                    ));
                }
            });
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn finish(mut draft: Draft, header: Header, file: &mut MeasuredFile) -> Result<(), Fault> {
    draft.scan = match header.profile {
        None => None,
        Some(false) => Some(Scan::Depth),
        Some(true) => Some(Scan::Profile {
            axis: header
                .axis
                .ok_or_else(|| missing_line("axis: x", draft.line))?,
            depth_mm: header
                .depth_mm
                .ok_or_else(|| missing_line("depth_mm: 100", draft.line))?,
        }),
    };
    draft.finish(file)
}

fn missing_line(what: &str, line: usize) -> Fault {
    Fault::new(
        line,
        format!("the profile that begins here has no line '# {what}'"),
    )
}
