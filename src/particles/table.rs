//! Tables as text: rows of numbers. Those that ship are fixed at build time and read by tests.

/// Rows of a text whose every field is a number; comments and headers are passed over.
pub fn rows(csv: &str) -> impl Iterator<Item = Vec<f64>> + '_ {
    csv.lines().filter_map(|line| {
        line.split(',')
            .map(|field| field.trim().parse().ok())
            .collect()
    })
}

/// Column of rows.
pub fn column(rows: &[Vec<f64>], index: usize) -> Vec<f64> {
    rows.iter()
        .filter_map(|row| row.get(index).copied())
        .collect()
}

/// Rows of an element, by the atomic number in the first column.
pub fn element_rows(rows: &[Vec<f64>], atomic_number: u32) -> Vec<Vec<f64>> {
    rows.iter()
        .filter(|row| row.first() == Some(&f64::from(atomic_number)))
        .cloned()
        .collect()
}
