//! The font of letters that Helvetica's encoding lacks: Ubuntu Light, which the window has too (Latin, Greek, Cyrillic). It is
//! put into a document whole, once a text needs it.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Filter, Finish as _, Name, Pdf, Rect, Ref, Str};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::LazyLock;

/// Tables of a TrueType font (OpenType 1.9: cmap format 4, head, hhea, hmtx).
pub struct Face {
    data: &'static [u8],
    /// The map from letters to glyphs.
    cmap: usize,
    hmtx: usize,
    advances: usize,
    units_per_em: f32,
}

/// The face; `None` where its file lacks a table, which a test rules out.
pub static FACE: LazyLock<Option<Face>> =
    LazyLock::new(|| Face::parse(epaint_default_fonts::UBUNTU_LIGHT));

impl Face {
    fn parse(data: &'static [u8]) -> Option<Self> {
        let [head, hhea, hmtx, cmap] =
            [b"head", b"hhea", b"hmtx", b"cmap"].map(|name| table(data, name));
        let cmap = cmap?;
        let records = (0..usize::from(u16_at(data, cmap + 2)?)).map(|n| cmap + 4 + 8 * n);
        // Unicode's basic plane, as Windows has it.
        let record = records.into_iter().find(|offset| {
            u16_at(data, *offset) == Some(3) && u16_at(data, offset + 2) == Some(1)
        })?;
        let map = cmap + u32_at(data, record + 4)?;
        (u16_at(data, map) == Some(4)).then_some(())?;
        Some(Self {
            data,
            cmap: map,
            hmtx: hmtx?,
            advances: usize::from(u16_at(data, hhea? + 34)?),
            units_per_em: f32::from(u16_at(data, head? + 18)?),
        })
    }

    /// The glyph of a letter.
    pub fn glyph(&self, letter: char) -> Option<u16> {
        let letter = u16::try_from(u32::from(letter)).ok()?;
        let (data, map) = (self.data, self.cmap);
        let double = usize::from(u16_at(data, map + 6)?);
        let ends = map + 14;
        let segment = (0..double)
            .step_by(2)
            .find(|n| u16_at(data, ends + n).is_some_and(|end| end >= letter))?;
        let starts = ends + double + 2;
        let [start, delta, offset] =
            [0, 1, 2].map(|column| u16_at(data, starts + column * double + segment));
        let (start, delta, offset) = (start?, delta?, usize::from(offset?));
        if letter < start {
            return None;
        }
        let glyph = match offset {
            0 => letter.wrapping_add(delta),
            _ => {
                let glyph_offset =
                    starts + 2 * double + segment + offset + 2 * usize::from(letter - start);
                match u16_at(data, glyph_offset)? {
                    0 => 0,
                    glyph => glyph.wrapping_add(delta),
                }
            }
        };
        (glyph != 0).then_some(glyph)
    }

    /// The advance of a glyph, thousandths of the size.
    pub fn advance(&self, glyph: u16) -> f32 {
        let n = usize::from(glyph).min(self.advances.saturating_sub(1));
        let units = u16_at(self.data, self.hmtx + 4 * n).unwrap_or_default();
        1000.0 * f32::from(units) / self.units_per_em
    }

    /// Writes the font with the widths and the letters of the glyphs in use, as five objects from `first` on.
    pub fn embed(&self, pdf: &mut Pdf, first: Ref, used: &BTreeMap<u16, char>) {
        let [font, cid, descriptor, file, cmap] =
            [0, 1, 2, 3, 4].map(|n| Ref::new(first.get() + n));
        let name = Name(b"Ubuntu-Light");
        let system = SystemInfo {
            registry: Str(b"Adobe"),
            ordering: Str(b"Identity"),
            supplement: 0,
        };
        pdf.type0_font(font)
            .base_font(name)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(cid)
            .to_unicode(cmap);
        let mut of_glyphs = pdf.cid_font(cid);
        of_glyphs
            .subtype(CidFontType::Type2)
            .base_font(name)
            .system_info(system)
            .font_descriptor(descriptor);
        of_glyphs.cid_to_gid_map_predefined(Name(b"Identity"));
        let mut widths = of_glyphs.widths();
        used.keys().for_each(|glyph| {
            widths.same(*glyph, *glyph, self.advance(*glyph));
        });
        widths.finish();
        of_glyphs.finish();
        // The metrics of the font's own tables, thousandths of the size.
        pdf.font_descriptor(descriptor)
            .name(name)
            .flags(FontFlags::NON_SYMBOLIC)
            .bbox(Rect::new(-157.0, -196.0, 3521.0, 958.0))
            .italic_angle(0.0)
            .ascent(932.0)
            .descent(-189.0)
            .cap_height(693.0)
            .stem_v(58.0)
            .font_file2(file);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        // Writing to memory does not fail.
        let _ = encoder.write_all(self.data);
        let bytes = encoder.finish().unwrap_or_default();
        let length = self.data.len() as i32;
        pdf.stream(file, &bytes)
            .filter(Filter::FlateDecode)
            .pair(Name(b"Length1"), length);
        let mut letters = UnicodeCmap::new(Name(b"Letters"), system);
        used.iter()
            .for_each(|(glyph, letter)| letters.pair(*glyph, *letter));
        pdf.cmap(cmap, &letters.finish());
    }
}

/// Offset of a table.
fn table(data: &[u8], name: &[u8; 4]) -> Option<usize> {
    let count = usize::from(u16_at(data, 4)?);
    let record = (0..count)
        .map(|n| 12 + 16 * n)
        .find(|offset| data.get(*offset..offset + 4) == Some(name))?;
    u32_at(data, record + 8)
}

fn u16_at(data: &[u8], offset: usize) -> Option<u16> {
    data.get(offset..offset + 2)
        .and_then(|bytes| bytes.try_into().ok())
        .map(u16::from_be_bytes)
}

fn u32_at(data: &[u8], offset: usize) -> Option<usize> {
    let number: [u8; 4] = data.get(offset..offset + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(number) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As FontTools reads the font.
    #[test]
    fn letters_have_their_glyphs_and_widths() {
        let face = FACE.as_ref().expect("the font's tables");
        let read = [
            ('A', 36, 641.0),
            ('Ł', 286, 516.0),
            ('ş', 315, 428.0),
            ('ı', 268, 237.0),
            ('И', 727, 709.0),
            ('ж', 757, 727.0),
            ('Δ', 926, 630.0),
            ('γ', 949, 472.0),
            ('≤', 423, 564.0),
        ];
        for (letter, glyph, advance) in read {
            assert_eq!(face.glyph(letter), Some(glyph), "{letter}");
            assert!(
                (face.advance(glyph) - advance).abs() < 0.51,
                "{letter}: {}",
                face.advance(glyph)
            );
        }
        for letter in ['山', '홍', 'ก', 'ش', '\u{1F600}'] {
            assert_eq!(face.glyph(letter), None);
        }
    }
}
