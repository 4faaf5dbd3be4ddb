//! The user guide: pages of `assets/guide`, drawn from a small subset of Markdown.

use crate::kit::theme;
use egui::text::LayoutJob;
use egui::{FontId, Label, RichText, TextFormat, TextStyle, Ui};

/// Title and text of each page.
pub const PAGES: [(&str, &str); 13] = [
    (
        "Opening and saving",
        include_str!("../../../assets/guide/open.md"),
    ),
    (
        "Beams and dose",
        include_str!("../../../assets/guide/beams.md"),
    ),
    (
        "Contours and densities",
        include_str!("../../../assets/guide/structures.md"),
    ),
    (
        "DVHs and goals",
        include_str!("../../../assets/guide/goals.md"),
    ),
    (
        "Optimising",
        include_str!("../../../assets/guide/optimise.md"),
    ),
    (
        "Protocols",
        include_str!("../../../assets/guide/protocols.md"),
    ),
    (
        "Set-up errors",
        include_str!("../../../assets/guide/set-up-errors.md"),
    ),
    (
        "Comparing",
        include_str!("../../../assets/guide/compare.md"),
    ),
    (
        "Registration",
        include_str!("../../../assets/guide/register.md"),
    ),
    (
        "Commissioning",
        include_str!("../../../assets/guide/machine.md"),
    ),
    (
        "Command line",
        include_str!("../../../assets/guide/command-line.md"),
    ),
    ("Python", include_str!("../../../assets/guide/python.md")),
    ("Windows", include_str!("../../../assets/guide/windows.md")),
];

/// A block of a page. Headings of the first level are the titles above, pictures are only in the README.
#[derive(Debug, PartialEq)]
enum Block<'a> {
    Heading(&'a str),
    Paragraph(&'a str),
    Item(&'a str),
    Code(Vec<&'a str>),
    /// Without head and ruler: the columns of a guide's tables explain themselves.
    Table(Vec<Vec<&'a str>>),
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with("# ") && !l.starts_with("!["));
    let mut next = lines.next();
    while let Some(line) = next {
        next = lines.next();
        if line.starts_with("```") {
            let mut code = Vec::new();
            while let Some(line) = next.filter(|l| !l.starts_with("```")) {
                code.push(line);
                next = lines.next();
            }
            next = lines.next();
            blocks.push(Block::Code(code));
        } else if line.starts_with('|') {
            let mut rows = Vec::new();
            while let Some(row) = next.filter(|l| l.starts_with('|')) {
                rows.push(row.trim_matches('|').split('|').map(str::trim).collect());
                next = lines.next();
            }
            blocks.push(Block::Table(rows.split_off(1.min(rows.len()))));
        } else if let Some(heading) = line.strip_prefix("## ") {
            blocks.push(Block::Heading(heading));
        } else if let Some(item) = line.strip_prefix("- ") {
            blocks.push(Block::Item(item));
        } else {
            blocks.push(Block::Paragraph(line));
        }
    }
    blocks
}

/// Text with `code` in it.
pub fn inline(ui: &Ui, text: &str) -> LayoutJob {
    let mut job = LayoutJob::default();
    for (n, part) in text.split('`').enumerate() {
        let (font_id, color) = if n % 2 == 1 {
            (FontId::monospace(12.0), theme::palette(ui).accent)
        } else {
            (FontId::proportional(13.0), theme::palette(ui).text)
        };
        job.append(
            part,
            0.0,
            TextFormat {
                font_id,
                color,
                ..Default::default()
            },
        );
    }
    job
}

pub fn show(ui: &mut Ui, page: &str) {
    // Keeps the text clear of the scroll bar.
    ui.set_max_width(ui.available_width() - 14.0);
    for (n, block) in blocks(page).into_iter().enumerate() {
        match block {
            Block::Heading(text) => {
                ui.add_space(6.0);
                ui.label(RichText::new(text).strong().text_style(TextStyle::Heading));
            }
            Block::Paragraph(text) => {
                ui.add(Label::new(inline(ui, text)).wrap());
            }
            Block::Item(text) => {
                ui.horizontal_top(|ui| {
                    ui.label("-");
                    ui.add(Label::new(inline(ui, text)).wrap());
                });
            }
            Block::Code(lines) => {
                ui.add(Label::new(RichText::new(lines.join("\n")).monospace()).wrap());
            }
            Block::Table(rows) => {
                egui::Grid::new(("guide", n))
                    .num_columns(2)
                    .spacing([18.0, 3.0])
                    .max_col_width(330.0)
                    .show(ui, |ui| {
                        for row in rows {
                            for cell in row {
                                ui.add(Label::new(inline(ui, cell)).wrap());
                            }
                            ui.end_row();
                        }
                    });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_block_by_block() {
        let page = "# T\n\nOne `two`.\n\n![p](p.png)\n\n## H\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n- i\n\n```text\n| x\n```\nend\n";
        let want = [
            Block::Paragraph("One `two`."),
            Block::Heading("H"),
            Block::Table(vec![vec!["1", "2"]]),
            Block::Item("i"),
            Block::Code(vec!["| x"]),
            Block::Paragraph("end"),
        ];
        assert_eq!(blocks(page), want);
    }

    /// No Markdown mark remains visible to the reader.
    #[test]
    fn the_pages_keep_to_what_is_drawn() {
        for (title, page) in PAGES {
            for block in blocks(page) {
                let texts = match &block {
                    Block::Heading(t) | Block::Paragraph(t) | Block::Item(t) => vec![*t],
                    Block::Code(_) => continue,
                    Block::Table(rows) => rows.concat(),
                };
                for text in texts {
                    assert_eq!(text.matches('`').count() % 2, 0, "{title}: {text}");
                    assert!(
                        !text.contains("**")
                            && !text.contains("](")
                            && !text.starts_with(['#', '|']),
                        "{title}: {text}"
                    );
                }
            }
        }
    }
}
