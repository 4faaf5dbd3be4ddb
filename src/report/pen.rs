//! The lines, tables and captions of a report's pages.

use super::pdf::{A4, Document, Type, width};
use super::picture::Pictures;
use super::{Curve, DoseFacts};
use analysis::decimals;
use case::Rgb;
use geometry::AnatomicalPlane;

pub const LEFT: f32 = 42.0;
pub const RIGHT: f32 = A4[0] - 42.0;
pub const BOTTOM: f32 = A4[1] - 46.0;
pub const INK: [u8; 3] = [20, 24, 30];
pub const WEAK: [u8; 3] = [105, 112, 122];
pub const RED: [u8; 3] = [178, 24, 43];
pub const BLUE: [u8; 3] = [33, 102, 172];
pub const HAIR: [u8; 3] = [205, 210, 216];
pub const PLAIN: Type = Type {
    size: 8.5,
    bold: false,
    colour: INK,
};
pub const STRONG: Type = Type {
    size: 8.5,
    bold: true,
    colour: INK,
};
const TITLE: Type = Type {
    size: 17.0,
    bold: true,
    colour: INK,
};
pub const SMALL: Type = Type {
    size: 7.5,
    bold: false,
    colour: WEAK,
};

/// Position of the next line.
pub struct Pen {
    pub document: Document,
    pub y: f32,
    /// The line at the top of every page.
    stamp: String,
}

impl Pen {
    /// The first page of a document; `stamp` stands at the top of every page, beside "Not for clinical use".
    pub fn new(title: &str, stamp: String) -> Self {
        let mut pen = Self {
            document: Document::new(title),
            y: 0.0,
            stamp,
        };
        pen.begin_page();
        pen
    }

    fn begin_page(&mut self) {
        let warning = Type {
            size: 8.0,
            bold: true,
            colour: RED,
        };
        self.document.text(
            LEFT,
            26.0,
            &cut(&self.stamp, SMALL, RIGHT - LEFT - 110.0),
            SMALL,
        );
        self.document
            .text_right(RIGHT, 26.0, "Not for clinical use", warning);
        self.y = 56.0;
    }

    /// The bytes of the file; every page says which of how many it is.
    pub fn finish(mut self) -> Vec<u8> {
        let pages = self.document.pages();
        for page in 0..pages {
            self.document.go_to_page(page);
            self.document.text_right(
                RIGHT,
                A4[1] - 26.0,
                &format!("Page {} of {pages}", page + 1),
                SMALL,
            );
        }
        self.document.finish()
    }

    /// Lines for names, dates and signatures, on paper.
    pub fn signatures(&mut self, who: &[&str]) {
        let line = 30.0;
        self.room(46.0 + line * who.len() as f32);
        self.heading("Signatures");
        let columns = [
            ("name", LEFT + 80.0, LEFT + 230.0),
            ("date", LEFT + 245.0, LEFT + 335.0),
            ("signature", LEFT + 350.0, RIGHT),
        ];
        for who in who {
            self.y += line;
            self.document.text(LEFT, self.y, who, PLAIN);
            for (what, from, to) in columns {
                self.document
                    .line([from, self.y + 2.0], [to, self.y + 2.0], 0.5, WEAK);
                self.document
                    .text(from, self.y + 9.0, what, Type { size: 6.0, ..SMALL });
            }
        }
        self.y += 10.0;
    }

    pub fn title(&mut self, what: &str) {
        self.document
            .text(LEFT, self.y, &cut(what, TITLE, RIGHT - LEFT), TITLE);
        self.y += 6.0;
    }

    /// Grid and origin of a dose.
    pub fn dose(&mut self, dose: &DoseFacts) {
        let DoseFacts {
            voxels: [nx, ny, nz],
            spacing_mm: [dx, dy, dz],
            ..
        } = dose;
        let dz = if dz.is_finite() {
            format!("{dz:.3}")
        } else {
            "uneven".to_owned()
        };
        self.fact(
            "Grid",
            &format!("{nx} x {ny} x {nz} voxels of {dx:.3} x {dy:.3} x {dz} mm"),
        );
        let frame = dose.frame_of_reference_uid.trim();
        self.fact(
            "Frame of reference",
            if frame.is_empty() { "not named" } else { frame },
        );
        for remark in &dose.remarks {
            self.fact("Known of its inputs", remark);
        }
        match &dose.receipt {
            None => self.fact("From", "a file"),
            Some(receipt) => {
                let text = format!(
                    "{} on {}, {:.0} ms",
                    receipt.job,
                    receipt.device,
                    receipt.total_ms()
                );
                self.fact("From", &text);
                self.fact("Digest of the inputs", &receipt.digest);
                for warning in &receipt.warnings {
                    self.fact("Warning", warning);
                }
            }
        }
    }

    /// Ensures room for `height`, on a new page if necessary.
    pub fn room(&mut self, height: f32) {
        if self.y + height > BOTTOM {
            self.turn_page();
        }
    }

    pub fn turn_page(&mut self) {
        self.document.add_page();
        self.begin_page();
    }

    pub fn heading(&mut self, what: &str) {
        self.room(46.0);
        self.y += 20.0;
        self.document.text(
            LEFT,
            self.y,
            what,
            Type {
                size: 11.0,
                bold: true,
                colour: INK,
            },
        );
        self.document
            .line([LEFT, self.y + 4.0], [RIGHT, self.y + 4.0], 0.5, HAIR);
        self.y += 6.0;
    }

    pub fn line(&mut self, what: &str, how: Type) {
        for part in wrapped(what, how, RIGHT - LEFT) {
            self.room(how.size + 4.0);
            self.y += how.size + 3.0;
            self.document.text(LEFT, self.y, &part, how);
        }
    }

    /// A caption with its text.
    pub fn fact(&mut self, caption: &str, what: &str) {
        for (n, part) in wrapped(what, PLAIN, RIGHT - LEFT - 110.0)
            .into_iter()
            .enumerate()
        {
            self.room(12.0);
            self.y += 11.5;
            if n == 0 {
                self.document.text(LEFT, self.y, caption, SMALL);
            }
            self.document.text(LEFT + 110.0, self.y, &part, PLAIN);
        }
    }

    /// One row of a table: cells with their right ends; the first cell is left-aligned.
    pub fn row(&mut self, cells: &[(String, Type)], ends: &[f32]) {
        self.room(13.0);
        self.y += 11.5;
        for (n, ((text, how), end)) in cells.iter().zip(ends).enumerate() {
            if n == 0 {
                let text = cut(text, *how, *end - LEFT);
                self.document.text(LEFT, self.y, &text, *how);
            } else {
                self.document.text_right(*end, self.y, text, *how);
            }
        }
    }
}

/// The patient's directions at the rims of a picture.
pub fn letters(pen: &mut Pen, [x, y]: [f32; 2], [width, height]: [f32; 2], plane: AnatomicalPlane) {
    let white = Type {
        size: 9.0,
        bold: true,
        colour: [235, 238, 242],
    };
    let [right, down] = plane.axes();
    pen.document
        .text(x + 4.0, y + 0.5 * height, direction_letter(-right), white);
    pen.document.text_right(
        x + width - 4.0,
        y + 0.5 * height,
        direction_letter(right),
        white,
    );
    pen.document.text(
        x + 0.5 * width - 3.0,
        y + 11.0,
        direction_letter(-down),
        white,
    );
    pen.document.text(
        x + 0.5 * width - 3.0,
        y + height - 4.0,
        direction_letter(down),
        white,
    );
}

fn direction_letter(v: glam::DVec3) -> &'static str {
    let axis = [v.x, v.y, v.z]
        .iter()
        .position(|c| c.abs() > 0.5)
        .unwrap_or(0);
    [["R", "L"], ["A", "P"], ["F", "H"]][axis][usize::from(v[axis] > 0.0)]
}

/// The isodose levels in a row.
pub fn levels(pen: &mut Pen, [x, y]: [f32; 2], pictures: &Pictures) {
    let mut key_x = x;
    for (percent, Rgb(colour)) in pictures.levels() {
        // A rim in grey: white and yellow are to be seen on paper.
        pen.document.fill([key_x - 0.5, y - 4.5], [10.0, 4.5], HAIR);
        pen.document.fill([key_x, y - 4.0], [9.0, 3.5], colour);
        pen.document
            .text(key_x + 11.0, y, &format!("{percent} %"), SMALL);
        key_x += 48.0;
    }
}

/// Coordinates in tenths: `0.0, -10.0, 25.5`.
pub fn in_tenths<const N: usize>(values: [f64; N]) -> String {
    values.map(|value| decimals(value, 1)).join(", ")
}

/// Text cut with an ellipsis if it is wider than `room`.
pub fn cut(text: &str, how: Type, room: f32) -> String {
    if width(text, how) <= room {
        return text.to_owned();
    }
    let mut kept: String = text.to_owned();
    while !kept.is_empty() && width(&kept, how) + how.size > room {
        kept.pop();
    }
    kept + "…"
}

/// Lines no wider than `room`, broken at spaces (and inside words that are wider than a line).
fn wrapped(text: &str, how: Type, room: f32) -> Vec<String> {
    let fits = |t: &str| width(t, how) <= room;
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let longer = if line.is_empty() {
            word.to_owned()
        } else {
            format!("{line} {word}")
        };
        if fits(&longer) {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if !fits(&format!("{line}{c}")) && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

/// Cumulative DVHs, the second of each dashed.
pub fn curves(pen: &mut Pen, heading: &str, curves: &[Curve]) {
    if curves.is_empty() {
        return;
    }
    pen.room(230.0);
    pen.heading(heading);
    let (left, top, width, height) = (LEFT + 26.0, pen.y + 10.0, 350.0, 160.0);
    let highest_gy = curves
        .iter()
        .flat_map(|c| c.points.iter().flatten())
        .map(|p| p[0])
        .fold(1e-6, f64::max)
        * 1.02;
    let place = |[gy, percent]: [f64; 2]| {
        [
            left + (gy / highest_gy) as f32 * width,
            top + height * (1.0 - (percent / 100.0) as f32),
        ]
    };
    for n in 0..=5 {
        let percent = f64::from(n) * 20.0;
        let [x, y] = place([0.0, percent]);
        pen.document.line([x, y], [left + width, y], 0.4, HAIR);
        pen.document
            .text_right(x - 4.0, y + 2.5, &format!("{percent:.0}"), SMALL);
    }
    let (step, digits) = round_step(highest_gy);
    for n in 0..=(highest_gy / step) as u32 {
        let gy = step * f64::from(n);
        let [x, y] = place([gy, 0.0]);
        pen.document.line([x, top], [x, y], 0.4, HAIR);
        pen.document
            .text(x - 6.0, y + 10.0, &format!("{gy:.digits$}"), SMALL);
    }
    pen.document.text(left, top - 4.0, "volume, %", SMALL);
    pen.document
        .text_right(left + width, top + height + 20.0, "dose, Gy", SMALL);
    for (n, curve) in curves.iter().enumerate() {
        // Pale colours are invisible on paper.
        let Rgb(colour) = curve.colour;
        let colour = colour.map(|c| (f32::from(c) * 0.82) as u8);
        for (side, points) in curve.points.iter().enumerate() {
            let thinned: Vec<[f32; 2]> = points
                .iter()
                .step_by(points.len() / 240 + 1)
                .map(|p| place(*p))
                .collect();
            pen.document.path(&thinned, 1.0, colour, side == 1);
        }
        let y = top + 6.0 + 10.0 * n as f32;
        if y < top + height + 10.0 {
            pen.document.line(
                [left + width + 12.0, y - 2.5],
                [left + width + 26.0, y - 2.5],
                2.0,
                colour,
            );
            pen.document.text(
                left + width + 30.0,
                y,
                &cut(&curve.name, SMALL, RIGHT - left - width - 32.0),
                SMALL,
            );
        }
    }
    pen.y = top + height + 26.0;
}

/// The least of 1, 2, 5 times a power of ten that goes into `most` no more than eight times, and the digits it is written with.
fn round_step(greatest: f64) -> (f64, usize) {
    let exponent = (greatest / 8.0).max(1e-9).log10().floor();
    let power = 10_f64.powf(exponent);
    let step = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|s| s * power * 8.0 >= greatest)
        .map_or(10.0 * power, |s| s * power);
    (step, (-step.log10().floor()).max(0.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doses_stand_at_round_numbers() {
        for (greatest, step, digits) in [
            (51.6, 10.0, 0),
            (66.3, 10.0, 0),
            (8.0, 1.0, 0),
            (81.0, 20.0, 0),
            (3.1, 0.5, 1),
            (0.05, 0.01, 2),
        ] {
            let (got, written) = round_step(greatest);
            assert!(
                (got / step - 1.0).abs() < 1e-9 && written == digits,
                "{greatest}: {got} {written}"
            );
        }
    }

    #[test]
    fn text_is_broken_where_it_must_be() {
        let wide = "x".repeat(200);
        let lines = wrapped(&format!("some words and {wide}"), PLAIN, 100.0);
        assert!(lines.len() > 5 && lines.iter().all(|l| width(l, PLAIN) <= 100.0));
        assert_eq!(lines.concat().replace(' ', "").len(), 212);
        assert!(width(&cut(&wide, PLAIN, 60.0), PLAIN) <= 60.0);
    }
}
