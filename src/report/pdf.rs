//! Small PDF documents: A4 pages with text, lines, boxes and pictures. Text is set in Helvetica, which every
//! reader has; one with letters outside its encoding (WinAnsi, PDF 32000-1, annex D) in an embedded font. Letters that
//! this lacks too stand as their code: the letter in their place must stand for no other name.

mod font;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use font::FACE;
use input::code_of;
use pdf_writer::types::TextRenderingMode;
use pdf_writer::{Content, Filter, Finish as _, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::BTreeMap;
use std::io::Write as _;

/// Width and height of a page, points of 1/72 inch.
pub const A4: [f32; 2] = [595.0, 842.0];

/// A picture, 8 bits a channel, RGB, top row first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub width: u32,
    pub height: u32,
    pub rgb: Vec<u8>,
}

/// Style of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Type {
    pub size: f32,
    pub bold: bool,
    /// 0 to 255.
    pub colour: [u8; 3],
}

/// A document under construction. Positions are points from the upper left corner of the current page.
pub struct Document {
    title: String,
    pages: Vec<Content>,
    /// The page that is drawn on.
    current: usize,
    images: Vec<Image>,
    /// Glyphs of the embedded font, with their letters.
    glyphs: BTreeMap<u16, char>,
}

impl Document {
    /// A document with one empty page.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            pages: vec![Content::new()],
            current: 0,
            images: Vec::new(),
            glyphs: BTreeMap::new(),
        }
    }

    /// Begins another page.
    pub fn add_page(&mut self) {
        self.pages.push(Content::new());
        self.current = self.pages.len() - 1;
    }

    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Turns to a page, the first being 0, for drawing; to the last where there are fewer.
    pub fn go_to_page(&mut self, page: usize) {
        self.current = page.min(self.pages.len() - 1);
    }

    fn page(&mut self) -> &mut Content {
        &mut self.pages[self.current]
    }

    /// Text from `x` on, its base line at `y`.
    pub fn text(&mut self, x: f32, y: f32, what: &str, how: Type) {
        let set = Set::new(what);
        if let Set::Glyphs(glyphs) = &set {
            self.glyphs.extend(glyphs.iter().copied());
        }
        let content = self.page();
        fill(content, how.colour);
        content.begin_text();
        match set {
            Set::WinAnsi(bytes) => {
                content.set_font(if how.bold { BOLD } else { REGULAR }, how.size);
                content.next_line(x, A4[1] - y).show(Str(&bytes));
            }
            Set::Glyphs(glyphs) => {
                let bytes: Vec<u8> = glyphs
                    .iter()
                    .flat_map(|(glyph, _)| glyph.to_be_bytes())
                    .collect();
                content.set_font(OWN, how.size);
                if how.bold {
                    // The font is light: an outline makes it bold.
                    let [r, g, b] = how.colour.map(|c| f32::from(c) / 255.0);
                    content
                        .set_stroke_rgb(r, g, b)
                        .set_line_width(0.04 * how.size);
                    content.set_dash_pattern(Vec::new(), 0.0);
                    content.set_text_rendering_mode(TextRenderingMode::FillStroke);
                }
                content.next_line(x, A4[1] - y).show(Str(&bytes));
                content.set_text_rendering_mode(TextRenderingMode::Fill);
            }
        }
        content.end_text();
    }

    /// Text that ends at `x`.
    pub fn text_right(&mut self, x: f32, y: f32, what: &str, how: Type) {
        self.text(x - width(what, how), y, what, how);
    }

    pub fn line(&mut self, from: [f32; 2], to: [f32; 2], width: f32, colour: [u8; 3]) {
        self.path(&[from, to], width, colour, false);
    }

    /// A line through several points.
    pub fn path(&mut self, points: &[[f32; 2]], width: f32, colour: [u8; 3], dashed: bool) {
        let Some(([x, y], others)) = points.split_first() else {
            return;
        };
        let content = self.page();
        let [r, g, b] = colour.map(|c| f32::from(c) / 255.0);
        content.set_stroke_rgb(r, g, b).set_line_width(width);
        content.set_dash_pattern(if dashed { vec![3.0, 2.0] } else { Vec::new() }, 0.0);
        content.move_to(*x, A4[1] - y);
        for [x, y] in others {
            content.line_to(*x, A4[1] - y);
        }
        content.stroke();
    }

    /// A filled box.
    pub fn fill(&mut self, [x, y]: [f32; 2], [width, height]: [f32; 2], colour: [u8; 3]) {
        let content = self.page();
        fill(content, colour);
        content
            .rect(x, A4[1] - y - height, width, height)
            .fill_nonzero();
    }

    /// A picture with its upper left corner at a position.
    pub fn image(&mut self, [x, y]: [f32; 2], [width, height]: [f32; 2], image: Image) {
        let name = format!("I{}", self.images.len());
        let content = self.page();
        content.save_state();
        content.transform([width, 0.0, 0.0, height, x, A4[1] - y - height]);
        content.x_object(Name(name.as_bytes()));
        content.restore_state();
        self.images.push(image);
    }

    /// The bytes of the file.
    pub fn finish(self) -> Vec<u8> {
        let [catalog, tree, regular, bold, info] = [1, 2, 3, 4, 5].map(Ref::new);
        let count = self.pages.len();
        let embedded = (!self.glyphs.is_empty()).then(|| image_ref(self.images.len(), count));
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(tree);
        pdf.document_info(info)
            .title(TextStr(&self.title))
            .producer(TextStr("Beamsight"));
        pdf.pages(tree)
            .kids((0..count).map(page_ref))
            .count(count as i32);
        for (font, base) in [(regular, "Helvetica"), (bold, "Helvetica-Bold")] {
            let mut font = pdf.type1_font(font);
            font.base_font(Name(base.as_bytes()))
                .encoding_predefined(Name(b"WinAnsiEncoding"));
        }
        for (n, content) in self.pages.into_iter().enumerate() {
            let mut page = pdf.page(page_ref(n));
            page.parent(tree)
                .media_box(Rect::new(0.0, 0.0, A4[0], A4[1]))
                .contents(content_ref(n));
            let mut resources = page.resources();
            let mut fonts = resources.fonts();
            fonts.pair(REGULAR, regular).pair(BOLD, bold);
            embedded
                .into_iter()
                .for_each(|font_ref| _ = fonts.pair(OWN, font_ref));
            fonts.finish();
            let mut objects = resources.x_objects();
            for image in 0..self.images.len() {
                objects.pair(
                    Name(format!("I{image}").as_bytes()),
                    image_ref(image, count),
                );
            }
            objects.finish();
            resources.finish();
            page.finish();
            let bytes = packed(&content.finish());
            pdf.stream(content_ref(n), &bytes)
                .filter(Filter::FlateDecode);
        }
        for (n, image) in self.images.iter().enumerate() {
            let bytes = packed(&image.rgb);
            let mut object = pdf.image_xobject(image_ref(n, count), &bytes);
            object
                .width(image.width as i32)
                .height(image.height as i32)
                .bits_per_component(8);
            object.color_space().device_rgb();
            object.filter(Filter::FlateDecode);
        }
        if let (Some(font_ref), Some(face)) = (embedded, &*FACE) {
            face.embed(&mut pdf, font_ref, &self.glyphs);
        }
        pdf.finish()
    }
}

fn page_ref(n: usize) -> Ref {
    Ref::new(6 + 2 * n as i32)
}

fn content_ref(n: usize) -> Ref {
    Ref::new(7 + 2 * n as i32)
}

fn image_ref(n: usize, pages: usize) -> Ref {
    Ref::new(6 + 2 * pages as i32 + n as i32)
}

const REGULAR: Name<'static> = Name(b"R");
const BOLD: Name<'static> = Name(b"B");
const OWN: Name<'static> = Name(b"O");

/// A text in codes of the font that has all of its letters.
enum Set {
    WinAnsi(Vec<u8>),
    /// Glyphs of the font of the document's own, each with its letter.
    Glyphs(Vec<(u16, char)>),
}

impl Set {
    fn new(text: &str) -> Self {
        if let Some(bytes) = text.chars().map(win_ansi).collect::<Option<Vec<_>>>() {
            return Self::WinAnsi(bytes.concat());
        }
        let glyph = |c: char| {
            FACE.as_ref()
                .and_then(|face| face.glyph(c))
                .map(|glyph| (glyph, c))
        };
        let mut glyphs = Vec::new();
        for c in text.chars() {
            match (glyph(c), win_ansi(c)) {
                (Some(winansi), _) => glyphs.push(winansi),
                (None, Some(bytes)) => {
                    glyphs.extend(bytes.iter().filter_map(|b| glyph(char::from(*b))))
                }
                (None, None) => glyphs.extend(code_of(c).chars().filter_map(glyph)),
            }
        }
        Self::Glyphs(glyphs)
    }
}

fn fill(content: &mut Content, colour: [u8; 3]) {
    let [r, g, b] = colour.map(|c| f32::from(c) / 255.0);
    content.set_fill_rgb(r, g, b);
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// A letter in the encoding of Helvetica; `None` where it has none for it.
fn win_ansi(letter: char) -> Option<Vec<u8>> {
    Some(match letter {
        ' '..='~' | '\u{a0}'..='\u{ff}' => vec![letter as u32 as u8],
        '…' => vec![0x85],
        '–' => vec![0x96],
        '—' => vec![0x97],
        '’' => vec![0x92],
        '−' => vec![b'-'],
        '≤' => b"<=".to_vec(),
        '≥' => b">=".to_vec(),
        'γ' => b"gamma".to_vec(),
        '→' => b"->".to_vec(),
        _ => return None,
    })
}

/// Width of a text, points.
pub fn width(text: &str, how: Type) -> f32 {
    let thousandths = match Set::new(text) {
        // Bold runs some 6 % wider.
        Set::WinAnsi(bytes) => {
            let sum: u32 = bytes
                .into_iter()
                .map(|b| {
                    u32::from(match b {
                        b' '..=b'~' => HELVETICA[usize::from(b - b' ')],
                        _ => 556,
                    })
                })
                .sum();
            sum as f32 * if how.bold { 1.06 } else { 1.0 }
        }
        Set::Glyphs(glyphs) => glyphs
            .into_iter()
            .map(|(glyph, _)| FACE.as_ref().map_or(0.0, |face| face.advance(glyph)))
            .sum(),
    };
    thousandths / 1000.0 * how.size
}

/// Advance of the characters from space to tilde, thousandths of the size (Adobe's metrics of Helvetica).
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Type = Type {
        size: 10.0,
        bold: false,
        colour: [0, 0, 0],
    };

    #[test]
    fn text_is_written_in_the_encoding_of_the_font() {
        let Set::WinAnsi(bytes) = Set::new("γ ≤ 1 cm³ é −2 → 3") else {
            panic!("Helvetica has it")
        };
        assert_eq!(bytes, b"gamma <= 1 cm\xb3 \xe9 -2 -> 3");
        for name in ["Łukasz", "Иванова, Анна", "Διονύσιος", "Işık, Ayşe"] {
            assert_eq!(letters_of(name), name);
        }
        assert_eq!(letters_of("山 → 1"), "<U+5C71> -> 1");
        // All digits have one width, so that columns align.
        assert!((width("0123456789", PLAIN) - 55.6).abs() < 1e-3);
        assert!(width("iii", PLAIN) < width("WWW", PLAIN));
    }

    fn letters_of(text: &str) -> String {
        match Set::new(text) {
            Set::Glyphs(glyphs) => glyphs
                .into_iter()
                .map(|(_, letter)| letter)
                .collect::<String>(),
            Set::WinAnsi(_) => panic!("Helvetica does not have it"),
        }
    }

    #[test]
    fn a_document_has_its_pages_pictures_and_cross_references() {
        let mut document = Document::new("Test (1)");
        document.text(50.0, 60.0, "Hello (brackets) and \\", PLAIN);
        document.image(
            [50.0, 80.0],
            [100.0, 50.0],
            Image {
                width: 2,
                height: 1,
                rgb: vec![255, 0, 0, 0, 0, 255],
            },
        );
        document.add_page();
        document.path(&[[1.0, 2.0], [3.0, 4.0]], 1.0, [9, 9, 9], true);
        let bytes = document.finish();
        let find = |what: &[u8]| bytes.windows(what.len()).filter(|w| *w == what).count();
        assert!(bytes.starts_with(b"%PDF-1.") && find(b"%%EOF") == 1);
        assert_eq!([find(b"/Type /Page\n"), find(b"/Subtype /Image")], [2, 1]);
        assert_eq!(find(b"/FontFile2"), 0);
        // Every object is at its offset in the table.
        let text = String::from_utf8_lossy(&bytes);
        let start: usize = text
            .rsplit("startxref")
            .next()
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let from_offset = |n: usize| &bytes[n..];
        assert!(from_offset(start).starts_with(b"xref"));
        let table = std::str::from_utf8(from_offset(start)).unwrap();
        let offsets = table
            .lines()
            .filter(|l| l.ends_with(" n ") || l.ends_with(" n"))
            .count();
        assert_eq!(
            offsets, 10,
            "catalog, tree, two fonts, info, two pages with contents, a picture"
        );
        for (n, line) in table
            .lines()
            .skip(2)
            .enumerate()
            .filter(|(_, l)| l.contains(" n"))
        {
            let offset: usize = line[..10].parse().unwrap();
            assert!(
                from_offset(offset).starts_with(format!("{n} 0 obj").as_bytes()),
                "object {n}"
            );
        }
    }

    #[test]
    fn letters_beyond_latin_1_bring_their_font() {
        let mut document = Document::new("Łukasz");
        document.text(
            50.0,
            60.0,
            "Łukasz Иванов",
            Type {
                bold: true,
                ..PLAIN
            },
        );
        let bytes = document.finish();
        for what in [
            &b"/FontFile2"[..],
            b"/Identity-H",
            b"/ToUnicode",
            b"<011E> <0141>",
        ] {
            assert!(
                bytes.windows(what.len()).any(|w| w == what),
                "{}",
                String::from_utf8_lossy(what)
            );
        }
    }
}
