//! News: the newest release of the changelog.

use crate::kit::section;
use crate::panel::guide;
use egui::{Label, RichText, Ui};

const CHANGELOG: &str = include_str!("../../../../../CHANGELOG.md");

/// A line of a release.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    Heading(&'a str),
    Item(&'a str),
    Text(&'a str),
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Self {
        match (line.strip_prefix("### "), line.strip_prefix("- ")) {
            (Some(heading), _) => Self::Heading(heading),
            (_, Some(item)) => Self::Item(item),
            _ => Self::Text(line),
        }
    }
}

/// Title and lines of the newest release: the first section of the second level.
fn newest(changelog: &str) -> (&str, Vec<Line<'_>>) {
    let mut lines = changelog
        .lines()
        .skip_while(|line| !line.starts_with("## "));
    let title = lines
        .next()
        .and_then(|line| line.strip_prefix("## "))
        .unwrap_or_default();
    let of_release = lines
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| !line.is_empty());
    (title, of_release.map(Line::read).collect())
}

pub(crate) fn show(ui: &mut Ui) {
    let (title, lines) = newest(CHANGELOG);
    section(ui, &format!("What is new in {title}"));
    for line in lines {
        match line {
            Line::Heading(text) => {
                ui.add_space(4.0);
                ui.label(RichText::new(text).strong());
            }
            Line::Item(text) => {
                ui.horizontal_top(|ui| {
                    ui.label("-");
                    ui.add(Label::new(guide::inline(ui, text)).wrap());
                });
            }
            Line::Text(text) => {
                ui.add(Label::new(guide::inline(ui, text)).wrap());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_release_is_read_and_no_older_one() {
        let text = "# C\n\nOf all.\n\n## 2.0\n\nGood.\n\n### New\n\n- a `b`\n\n## 1.0\n\n- old\n";
        let want = vec![
            Line::Text("Good."),
            Line::Heading("New"),
            Line::Item("a `b`"),
        ];
        assert_eq!(newest(text), ("2.0", want));
        assert_eq!(newest(""), ("", vec![]));
    }

    /// The changelog's newest release is this one, and no Markdown mark remains visible to the reader.
    #[test]
    fn the_changelog_keeps_to_what_is_drawn() {
        let (title, lines) = newest(CHANGELOG);
        assert!(title.starts_with(env!("CARGO_PKG_VERSION")), "{title}");
        assert!(lines.len() > 10, "{}", lines.len());
        for line in lines {
            let (Line::Heading(text) | Line::Item(text) | Line::Text(text)) = line;
            assert!(
                text.matches('`').count() % 2 == 0 && !text.contains("**") && !text.contains("]("),
                "{text}"
            );
        }
    }
}
