//! Numbers in decimal places, as people read them.

/// A number with a fixed count of decimals; what rounds to 0 has no sign: `-0.0` reads as a place on the other side.
pub fn decimals(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|b| matches!(b, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::decimals;

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        for (value, places, text) in [
            (-0.0, 1, "0.0"),
            (-0.04, 1, "0.0"),
            (-0.06, 1, "-0.1"),
            (-0.4, 0, "0"),
            (0.04, 1, "0.0"),
            (-10.0, 1, "-10.0"),
            (f64::NAN, 1, "NaN"),
        ] {
            assert_eq!(decimals(value, places), text, "{value}");
        }
    }
}
