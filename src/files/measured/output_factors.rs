//! Output factors: lines `# key: value`, then rows `x_mm,y_mm,factor`.

use super::{DEPTH_MM, Fault, MeasuredError, SSD_MM, field, named, number, read};
use input::beginning;
use std::path::Path;

const MOST_FACTORS: usize = 1000;

/// Dose per MU of a field over the dose per MU of the reference field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputFactor {
    pub field_mm: [f64; 2],
    pub factor: f64,
}

/// Output factors in water at a depth on the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputFactors {
    pub ssd_mm: f64,
    pub depth_mm: f64,
    /// The field of factor 1, mm.
    pub reference_mm: [f64; 2],
    /// Dose per MU of the reference field there, where measured.
    pub gy_per_mu: Option<f64>,
    pub factors: Vec<OutputFactor>,
    /// CRC-32 and length of the file.
    pub digest: String,
}

/// Reads the output factors of a file.
///
/// # Errors
/// [`MeasuredError`].
pub fn read_output_factors(path: &Path) -> Result<OutputFactors, MeasuredError> {
    let (text, digest) = read(path)?;
    let factors = output_factors_of(&text).map_err(|fault| named(path, fault))?;
    Ok(OutputFactors { digest, ..factors })
}

/// The output factors of a text.
///
/// # Errors
/// [`Fault`]: the first line that is wrong.
pub fn output_factors_of(text: &str) -> Result<OutputFactors, Fault> {
    let (mut ssd_mm, mut depth_mm, mut reference_mm, mut gy_per_mu) = (None, None, None, None);
    let mut factors: Vec<OutputFactor> = Vec::new();
    for (n, row) in text.lines().enumerate() {
        let (line, row) = (n + 1, row.trim().trim_start_matches('\u{feff}'));
        if let Some((key, value)) = row
            .strip_prefix('#')
            .and_then(|comment| comment.split_once(':'))
        {
            let value = value.trim();
            match key.trim() {
                "ssd_mm" => ssd_mm = Some(number(line, "ssd_mm", value, SSD_MM)?),
                "depth_mm" => depth_mm = Some(number(line, "depth_mm", value, [1.0, DEPTH_MM[1]])?),
                "reference_mm" => reference_mm = Some(field(line, value)?),
                "gy_per_mu" => gy_per_mu = Some(number(line, "gy_per_mu", value, [1e-5, 1.0])?),
                _ => {}
            }
        }
        let cells: Vec<&str> = row.split([',', ';', '\t']).map(str::trim).collect();
        if row.is_empty()
            || row.starts_with('#')
            || (factors.is_empty() && cells.iter().all(|c| c.parse::<f64>().is_err()))
        {
            continue;
        }
        let [x, y, factor] = cells[..] else {
            return Err(Fault::new(
                line,
                beginning(&format!(
                    "'{row}' is not two sides and a factor, like 100,100,1.0"
                )),
            ));
        };
        if factors.len() >= MOST_FACTORS {
            return Err(Fault::new(
                line,
                format!("there are more than the {MOST_FACTORS} output factors that are read"),
            ));
        }
        let field_mm = field(line, &format!("{x} {y}"))?;
        factors.push(OutputFactor {
            field_mm,
            factor: number(line, "output factor", factor, [0.1, 3.0])?,
        });
    }
    let last = text.lines().count().max(1);
    if factors.is_empty() {
        return Err(Fault::new(last, "the file ends without an output factor"));
    }
    let reference_mm: [f64; 2] =
        reference_mm.ok_or_else(|| missing_line("reference_mm: 100 x 100", last))?;
    if let Some(factor) = factors
        .iter()
        .find(|f| f.field_mm == reference_mm && (f.factor - 1.0).abs() > 1e-3)
    {
        return Err(Fault::new(
            last,
            format!(
                "the reference field has the factor {}, which must be 1",
                factor.factor
            ),
        ));
    }
    Ok(OutputFactors {
        ssd_mm: ssd_mm.ok_or_else(|| missing_line("ssd_mm: 900", last))?,
        depth_mm: depth_mm.ok_or_else(|| missing_line("depth_mm: 100", last))?,
        reference_mm,
        gy_per_mu,
        factors,
        digest: String::new(),
    })
}

fn missing_line(what: &str, last: usize) -> Fault {
    Fault::new(last, format!("the file ends without a line '# {what}'"))
}
