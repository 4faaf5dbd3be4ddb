//! Metrics of doses whose DVH is a closed form, and their spelling.

use super::*;
use crate::Isodoses;
use engine::JobControl;
use geometry::{Grid, Mask, Volume};
use glam::DVec3;
use std::sync::Arc;

/// A cube of 10 x 2 x 2 cm with a dose of 1 Gy a cm along x, from 0 to 10 Gy, in a grid of that size:
/// D(v %) = 10 - v / 10, V(x Gy) = 100 - 10 x.
pub fn ramp() -> Dvh {
    in_a_ramp(100, 100)
}

/// A bar of 20 x 2 x 2 cm, of which the half has that dose and the other lies outside its grid.
pub fn half_of_a_ramp() -> Dvh {
    in_a_ramp(200, 200)
}

/// The same bar, of which 9 cm lie outside the CT and 1 cm of the rest outside the dose grid.
pub fn ramp_beyond_the_ct() -> Dvh {
    in_a_ramp(110, 200)
}

/// A bar of `length` mm in images of `images` mm.
fn in_a_ramp(images: usize, length: usize) -> Dvh {
    let size = 100;
    let [images, grid] = [images, size]
        .map(|x| Arc::new(Grid::axis_aligned(DVec3::splat(0.5), DVec3::ONE, [x, 20, 20]).unwrap()));
    let data = (0..grid.len())
        .map(|n| (n % size) as f32 * 0.1 + 0.05)
        .collect();
    let end = length as f64;
    let square = [[0.0, 0.0], [end, 0.0], [end, 20.0], [0.0, 20.0]];
    let contours: Vec<Vec<DVec3>> = (0..20)
        .map(|k| {
            square
                .map(|[x, y]| DVec3::new(x, y, f64::from(k) + 0.5))
                .to_vec()
        })
        .collect();
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    let mask = Mask::from_contours(&images, &contours, &|_| true).unwrap();
    let (gy, control) = (Volume::new(grid, data), JobControl::new());
    let isodoses = Arc::new(Isodoses::count(&gy, &control).unwrap());
    Dvh::new(&mask, &gy, &control)
        .unwrap()
        .with_isodoses(isodoses)
}

fn metric(word: &str) -> Metric {
    word.parse().unwrap_or_else(|e| panic!("{word}: {e}"))
}

#[test]
fn metrics_of_a_ramp_are_those_of_its_closed_form() {
    let dvh = ramp();
    for (word, want, within) in [
        ("Dmax", 9.95, 0.051),
        ("mean", 5.0, 0.001),
        ("Dmin", 0.05, 0.051),
        ("D95%", 0.5, 0.11),
        ("D2", 9.8, 0.11),
        ("D4cc", 9.0, 0.11),
        ("V3Gy", 70.0, 1.1),
        ("V3Gy[cc]", 28.0, 0.5),
        ("V50%", 60.0, 1.1),
        ("Dmean[%]", 62.5, 0.1),
        ("HI", (9.8 - 0.2) / 5.0, 0.03),
        // The mean of x^a over 0 to 10 is 10^a / (a + 1).
        ("gEUD(a=1)", 5.0, 0.001),
        ("gEUD(a=8)", 10.0 / 9.0_f64.powf(0.125), 0.01),
        ("gEUD(a=0.5)", 10.0 / 2.25, 0.01),
        // The mean of ln x is ln 10 - 1.
        ("gEUD(a=0)", 10.0 / std::f64::consts::E, 0.05),
        // The part that gets 8 Gy is a fifth of the structure, and lies in it whole: 0.2^2 / (1 x 0.2).
        ("CI", 0.2, 0.011),
    ] {
        let got = dvh.metric(metric(word), Some(8.0)).unwrap();
        assert!((got - want).abs() < within, "{word}: {got}, not {want}");
    }
}

#[test]
fn what_cannot_be_said_has_a_reason_and_no_number() {
    let dvh = ramp();
    for word in ["V95%", "CI", "D95%[%]", "Dmean[%]"] {
        assert_eq!(
            dvh.metric(metric(word), None),
            Err(NoValue::NoHundred),
            "{word}"
        );
        assert_eq!(
            dvh.metric(metric(word), Some(0.0)),
            Err(NoValue::NoHundred),
            "{word}"
        );
    }
    let smaller = dvh.metric(metric("D41cc"), None).unwrap_err().to_string();
    assert!(
        smaller.contains("40.000 cm3") && smaller.contains("41 cm3"),
        "{smaller}"
    );
    assert!(matches!(
        dvh.metric(metric("CI"), Some(11.0)),
        Err(NoValue::Undefined(_))
    ));
}

#[test]
fn words_are_read_in_any_case_with_spaces_and_written_in_one_way() {
    for (word, want) in [
        ("d95%", "D95%"),
        (" D 95 % ", "D95%"),
        ("D95", "D95%"),
        ("d0.03CC", "D0.03cc"),
        ("D2 cm3", "D2cc"),
        ("D2cm³[Gy]", "D2cc"),
        ("D95%[%]", "D95%[%]"),
        ("v20gy", "V20Gy"),
        ("V20Gy[%]", "V20Gy"),
        ("V20Gy [cm3]", "V20Gy[cc]"),
        ("V95.5%", "V95.5%"),
        ("MEAN", "Dmean"),
        ("ci", "CI"),
        ("CI(Paddick)", "CI"),
        ("hi", "HI"),
        ("geud(A = 8)", "gEUD(a=8)"),
        ("gEUD(-10)", "gEUD(a=-10)"),
        ("gEUD0.5", "gEUD(a=0.5)"),
    ] {
        assert_eq!(metric(word).to_string(), want);
        assert_eq!(metric(want), metric(word));
    }
}

#[test]
fn words_that_name_no_metric_are_refused_with_what_is_wrong() {
    for (word, says) in [
        ("", "D#cc"),
        ("D", "gEUD(a=#)"),
        ("V20", "V#Gy"),
        ("Dx%", "is no metric"),
        ("Dinf%", "is no metric"),
        ("DnanGy", "is no metric"),
        ("é", "is no metric"),
        ("D0,03cc", "decimal comma"),
        ("gEUD(a=0,5)", "decimal comma"),
        ("D101%", "from 0 to 100"),
        ("D-1%", "from 0 to 100"),
        ("gEUD(a=101)", "from -100 to 100"),
        ("V20Gy[Gy]", "% or cc"),
        ("D95%[cc]", "Gy or %"),
        ("Dmax[", "is no metric"),
    ] {
        let why = word.parse::<Metric>().unwrap_err().to_string();
        assert!(why.contains(says), "{word}: {why}");
    }
}
