//! Answers as tables of HTML, for notebooks.

use std::fmt::Write as _;

/// Text of a case, a plan or a file, which may hold anything, as text of HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '&' => html += "&amp;",
            '"' => html += "&quot;",
            other => html.push(other),
        }
    }
    html
}

/// A row: its name, then its values.
pub fn cells(values: &[String]) -> String {
    let (name, values) = values
        .split_first()
        .map_or(("", &[][..]), |(name, values)| (name.as_str(), values));
    let mut html = format!("<tr><th style=\"text-align:left\">{}</th>", escaped(name));
    for value in values {
        let _ = write!(
            html,
            "<td style=\"text-align:left\">{}</td>",
            escaped(value)
        );
    }
    html + "</tr>"
}

/// A row of one value.
pub fn row(name: &str, value: impl ToString) -> String {
    cells(&[name.to_owned(), value.to_string()])
}

/// A table under a title, with its notes.
pub fn page(title: &str, rows: &[String], notes: &[String]) -> String {
    let mut html = format!(
        "<table><caption>{}</caption>{}</table>",
        escaped(title),
        rows.concat()
    );
    for note in notes {
        let _ = write!(html, "<p>note: {}</p>", escaped(note));
    }
    html
}
