//! The file of a fitted machine: each fitted number says so, from which files, when, and how well.

use super::{Fit, FittedParameter, Report, Standing, tolerances};
use physics::Parameter;

/// Sources of a fit.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// The starting machine, and the date.
    pub start: String,
    pub date: String,
    /// Files and their digests.
    pub files: Vec<(String, String)>,
}

/// The text of a machine file; `report` is of the comparison that it tells of.
pub fn machine_text(fit: &Fit, provenance: &Provenance, report: Option<&Report>) -> String {
    fit.machine.to_text(&|key| match key {
        "" => head(provenance, report),
        "calibration" if fit.calibrated => {
            vec![format!(
                "Measured with the output factors: {}.",
                files(provenance)
            )]
        }
        _ => fitted(fit, provenance, key),
    })
}

fn head(provenance: &Provenance, report: Option<&Report>) -> Vec<String> {
    let Provenance { start, date, files } = provenance;
    let mut lines = vec![format!(
        "Fitted by beamsight machine fit on {date}, from {start}, to"
    )];
    lines.extend(
        files
            .iter()
            .map(|(name, digest)| format!("  {name} ({digest})")),
    );
    lines.push(
        "Not for clinical use. Numbers without a remark are those of the starting machine."
            .to_owned(),
    );
    if let Some(report) = report {
        lines.push("Computed less measured: mean and greatest difference, percent of the normalisation; distance to agreement.".to_owned());
        for c in &report.curves {
            let dta = c.dta_mm.map_or(String::new(), |mm| format!(", {mm:.1} mm"));
            lines.push(format!(
                "  {}: {:+.2}, {:+.2} %{dta}; {} of {} points outside",
                c.label, c.mean_percent, c.greatest_percent, c.outside, c.judged
            ));
        }
        for f in &report.output_factors {
            lines.push(format!("  {}: {:+.2} %", f.label(), f.difference_percent));
        }
        lines.extend(
            report
                .calibration
                .iter()
                .map(|c| format!("  {}", c.words())),
        );
        lines.push(format!("Tolerances: {}.", tolerances()));
        lines.push(format!("Verdict: {}.", report.verdict_words()));
        lines.extend(
            report
                .not_tested()
                .iter()
                .map(|line| format!("  NOT TESTED: {line}")),
        );
    }
    lines
}

fn files(provenance: &Provenance) -> String {
    provenance
        .files
        .iter()
        .map(|(name, _)| name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The key or table of the file that holds a parameter.
fn key_of(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::SpectrumSlope | Parameter::SpectrumFilter => "spectrum",
        Parameter::Softening => "softening",
        Parameter::FocalX | Parameter::FocalY => "focal_source",
        Parameter::ExtraFocalShare | Parameter::ExtraFocalSigma => "extra_focal_source",
        Parameter::LeafOffset => "leaf_offset_mm",
        Parameter::ElectronShare | Parameter::ElectronFalloff | Parameter::ElectronSigma => {
            "electrons"
        }
        _ => "off_axis",
    }
}

/// Remarks on a key or table of the file.
fn fitted(fit: &Fit, provenance: &Provenance, key: &str) -> Vec<String> {
    let key_parameters: Vec<&FittedParameter> = fit
        .parameters
        .iter()
        .filter(|p| key_of(p.parameter) == key)
        .collect();
    if key_parameters.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if key_parameters
        .iter()
        .any(|p| matches!(p.standing, Standing::Fitted | Standing::AtBound))
    {
        lines.push(format!(
            "Fitted on {} to {}:",
            provenance.date,
            files(provenance)
        ));
    }
    lines.extend(key_parameters.into_iter().map(line));
    lines
}

/// A parameter in words.
pub fn line(p: &FittedParameter) -> String {
    let unit = if p.parameter.unit().is_empty() {
        String::new()
    } else {
        format!(" {}", p.parameter.unit())
    };
    let word = p.parameter.word();
    let uncertainty = p.uncertainty.filter(|_| p.standing == Standing::Fitted);
    let uncertainty = uncertainty.map_or(String::new(), |u| format!(" +- {u:.3}"));
    let was = match p.standing {
        Standing::Fitted | Standing::AtBound | Standing::Held => format!(", was {:.4}", p.start),
        Standing::Fixed | Standing::Undetermined | Standing::NotMeasured => String::new(),
    };
    let why = p.standing.words();
    let colon = if why.is_empty() { "" } else { ": " };
    format!(
        "  {word} {:.4}{uncertainty}{unit}{was}{colon}{why}",
        p.value
    )
}

/// Why a number that stopped at the end of its range is not fitted.
pub fn at_bound(p: &FittedParameter) -> Option<String> {
    let allowed = p.parameter.allowed();
    (p.standing == Standing::AtBound).then(|| {
        format!(
            "{} stopped at {:.4}, the end of its range ({} to {}): the data ask for more, and what follows from it is not known",
            p.parameter.word(),
            p.value,
            allowed.low,
            allowed.high
        )
    })
}

impl Standing {
    /// Why a parameter is not fitted, or not freely.
    pub fn words(self) -> &'static str {
        match self {
            Self::Fitted => "",
            Self::AtBound => "at the end of its range",
            Self::Fixed => "fixed by the user",
            Self::Undetermined => "left, the data do not determine it",
            Self::Held => "moved to keep the output factors of the start, none were measured",
            Self::NotMeasured => "left, nothing was measured that it acts on",
        }
    }
}
