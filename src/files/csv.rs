//! Table cells for spreadsheets.

/// A cell by RFC 4180. A name that a spreadsheet would evaluate as a formula gets a quote before it.
pub fn csv_cell(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '@'])
        || (cell.starts_with('-') && cell.parse::<f64>().is_err());
    let cell = if formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::csv_cell;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (cell, want) in [
            ("PTV 70", "PTV 70"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("-0.5", "-0.5"),
            ("-x", "'-x"),
        ] {
            assert_eq!(csv_cell(cell), want);
        }
    }
}
