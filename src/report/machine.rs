//! The report of a machine beside measured water-tank data: its curves drawn (`machine/pages.rs`), or every point as a table.

mod pages;

use analysis::machine_fit::Report;
use files::{csv_cell, replace_file};
use std::io;
use std::path::Path;

/// Writes a comparison of a machine: its curves drawn (`.pdf`), else every point (`.csv`).
///
/// # Errors
/// Errors of writing.
pub fn write(path: &Path, machine: &str, report: &Report) -> io::Result<()> {
    if path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("pdf"))
    {
        let pdf = pages::draw(&format!("{machine} and measured data"), report);
        return replace_file(path, |file| io::Write::write_all(file, &pdf));
    }
    replace_file(path, |file| points(file, report))
}

/// Every point of every curve, and the output factors.
fn points(file: &mut impl io::Write, report: &Report) -> io::Result<()> {
    writeln!(
        file,
        "curve,position (mm),measured (%),computed (%),difference (%),region,distance to agreement (mm),within tolerance"
    )?;
    for curve in &report.curves {
        for p in &curve.points {
            let dta = p.dta_mm.map_or(String::new(), |mm| format!("{mm:.2}"));
            let within = p.within.map_or("", |w| if w { "yes" } else { "no" });
            let (measured, computed) = (p.measured_percent, p.computed_percent);
            writeln!(
                file,
                "{},{:.2},{measured:.3},{computed:.3},{:.3},{},{dta},{within}",
                csv_cell(&curve.label),
                p.position_mm,
                p.difference_percent(),
                p.region.word()
            )?;
        }
    }
    for f in &report.output_factors {
        let (label, within) = (
            f.label(),
            f.within.map_or("", |w| if w { "yes" } else { "no" }),
        );
        let [measured, computed] = [100.0 * f.measured, 100.0 * f.computed];
        writeln!(
            file,
            "{label},,{measured:.3},{computed:.3},{:.3},,,{within}",
            f.difference_percent
        )?;
    }
    if let Some(c) = &report.calibration {
        let computed = 100.0 * c.computed / c.measured;
        let (within, off) = (if c.within { "yes" } else { "no" }, c.difference_percent);
        writeln!(
            file,
            "dose per MU,,100.000,{computed:.3},{off:.3},,,{within}"
        )?;
    }
    Ok(())
}
