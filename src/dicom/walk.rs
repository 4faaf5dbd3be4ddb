//! A walk over the elements of a data set before the parser sees them. The parser allocates any length it
//! reads and recurses into nested sequences; the walk hands it only lengths that fit, a bounded depth, and a
//! bounded cost.

use super::charset::{self, CharacterSet, Decoded};
use super::source::{Bytes, Encoding, Fault, is_long};
use dicom_core::dictionary::{DataDictionary as _, DataDictionaryEntry as _};
use dicom_core::{Tag, VR};
use dicom_dictionary_std::{StandardDataDictionary, tags};
use input::{SEQUENCE_DEPTH, check_unpacked, plain};
use std::collections::BTreeSet;

const ITEM: Tag = Tag(0xfffe, 0xe000);
const ITEM_END: Tag = Tag(0xfffe, 0xe00d);
const SEQUENCE_END: Tag = Tag(0xfffe, 0xe0dd);
const UNDEFINED: u32 = u32::MAX;
/// Memory of the parser for an element, for an item with its tree of elements, and for each of several values
/// of a text, beside their bytes.
const ELEMENT_BYTES: u64 = 256;
const ITEM_BYTES: u64 = 1536;
const VALUE_BYTES: u64 = 56;

/// Elements of a data set before its pixels, ready for the parser.
pub struct Walked {
    /// The elements in the encoding of the file; all sequences and items end with delimiters, private
    /// elements are left out, elements of unknown VR get the dictionary's, and texts are UTF-8, which
    /// SpecificCharacterSet says.
    pub elements: Vec<u8>,
    /// Doubts about letters of texts.
    pub doubts: BTreeSet<String>,
    /// The pixel data, whose value is next in the file.
    pub pixels: Option<PixelData>,
}

/// The header of a pixel data element.
#[derive(Clone, Copy)]
pub struct PixelData {
    /// Whether the value consists of words of 16 bits (OW), not of bytes.
    pub words: bool,
    /// `None`: fragments follow.
    pub length: Option<u32>,
}

/// Walks a data set as far as its pixel data.
///
/// # Errors
/// [`Fault`]: lengths that do not fit, sequences nested too deep, more elements than the file's budget holds.
pub fn walk(bytes: &mut Bytes, encoding: Encoding) -> Result<Walked, Fault> {
    Walk {
        bytes,
        encoding,
        levels: Vec::new(),
        out: Vec::new(),
        cost: 0,
        charset: CharacterSet::Default,
        is_charset_put: false,
        doubts: BTreeSet::new(),
    }
    .run()
}

/// An open sequence or item.
struct Level {
    tag: Tag,
    item: bool,
    /// Its end; `None`: at its delimiter.
    end: Option<u64>,
    /// The end of the innermost level of known length.
    limit: u64,
    keep: bool,
    /// A sequence of unknown VR: implicit VR little endian inside, in any outer encoding (PS3.5 6.2.2).
    implicit: bool,
    /// An item may state its own set, which holds for its sequences too.
    charset: CharacterSet,
}

struct Walk<'a> {
    bytes: &'a mut Bytes,
    encoding: Encoding,
    levels: Vec<Level>,
    out: Vec<u8>,
    cost: u64,
    /// The data set's own.
    charset: CharacterSet,
    is_charset_put: bool,
    doubts: BTreeSet<String>,
}

/// An element's header in the file.
struct Head {
    tag: Tag,
    vr: Option<VR>,
    length: u32,
}

impl Walk<'_> {
    fn run(mut self) -> Result<Walked, Fault> {
        loop {
            while self
                .levels
                .last()
                .is_some_and(|level| level.end == Some(self.bytes.position))
            {
                self.close();
            }
            let Some(head) = self.head()? else {
                return match self.levels.iter().rev().find(|level| !level.item) {
                    Some(level) => Err(Fault::Broken(format!(
                        "it ends inside the sequence {}",
                        words(level.tag)
                    ))),
                    None => Ok(self.walked(None)),
                };
            };
            match self.levels.last() {
                Some(level) if !level.item => self.item(&head)?,
                None if is_pixels(head.tag) => {
                    let length = (head.length != UNDEFINED).then_some(head.length);
                    let words = !matches!(head.vr, Some(VR::OB));
                    let pixels =
                        (head.tag == tags::PIXEL_DATA).then_some(PixelData { words, length });
                    return Ok(self.walked(pixels));
                }
                // Zeros that fill a file's last block.
                None if head.tag == Tag(0, 0) => return Ok(self.walked(None)),
                _ => self.element(&head)?,
            }
            check_unpacked(self.bytes.file, self.cost).map_err(Fault::Budget)?;
        }
    }

    fn walked(self, pixels: Option<PixelData>) -> Walked {
        Walked {
            elements: self.out,
            doubts: self.doubts,
            pixels,
        }
    }

    /// Encoding of the next bytes.
    fn encoding(&self) -> Encoding {
        if self.levels.last().is_some_and(|level| level.implicit) {
            Encoding::Implicit
        } else {
            self.encoding
        }
    }

    /// The next header; `None` at the end of the data set, which is where too few bytes are left for one.
    fn head(&mut self) -> Result<Option<Head>, Fault> {
        let encoding = self.encoding();
        let big = encoding == Encoding::ExplicitBig;
        let Some([a, b, c, d, e, f, g, h]) = self.bytes.next::<8>()? else {
            return Ok(None);
        };
        let tag = Tag(u16_of([a, b], big), u16_of([c, d], big));
        // Items and delimiters have no VR.
        if encoding == Encoding::Implicit || tag.0 == ITEM.0 {
            return Ok(Some(Head {
                tag,
                vr: None,
                length: u32_of([e, f, g, h], big),
            }));
        }
        let vr = Some(VR::from_binary([e, f]).unwrap_or(VR::UN));
        if !is_long([e, f]) {
            return Ok(Some(Head {
                tag,
                vr,
                length: u32::from(u16_of([g, h], big)),
            }));
        }
        match self.bytes.next::<4>()? {
            Some(length) => Ok(Some(Head {
                tag,
                vr,
                length: u32_of(length, big),
            })),
            None => Err(Fault::Broken(format!(
                "it ends inside the element {}",
                words(tag)
            ))),
        }
    }

    /// The end of a value, which must fit the level that contains it.
    fn end_of(&self, head: &Head) -> Result<Option<u64>, Fault> {
        if head.length == UNDEFINED {
            return Ok(None);
        }
        let (start, length) = (self.bytes.position, u64::from(head.length));
        let limit = self.levels.last().map_or(u64::MAX, |level| level.limit);
        let left = self.bytes.left().min(limit.saturating_sub(start));
        if length > left {
            let tag = words(head.tag);
            return Err(Fault::Broken(format!(
                "element {tag} claims {length} bytes where {left} are left"
            )));
        }
        Ok(Some(start + length))
    }

    /// Inside a sequence: an item, or its end.
    fn item(&mut self, head: &Head) -> Result<(), Fault> {
        match (head.tag, self.levels.last().and_then(|level| level.end)) {
            (ITEM, _) => {
                let end = self.end_of(head)?;
                self.open_level(ITEM, true, end, false)
            }
            (SEQUENCE_END, None) => {
                self.close();
                Ok(())
            }
            // A delimiter after a known length that agrees with it.
            (SEQUENCE_END, Some(end)) if end == self.bytes.position => Ok(()),
            (tag, _) => Err(Fault::Broken(format!(
                "element {} stands where an item belongs",
                words(tag)
            ))),
        }
    }

    /// Outside all sequences, or inside an item.
    fn element(&mut self, head: &Head) -> Result<(), Fault> {
        let Head { tag, vr, length } = *head;
        if tag.0 == ITEM.0 {
            return match (tag, self.levels.last().map(|level| level.end)) {
                // A delimiter without an open sequence.
                (_, None) => Ok(()),
                (ITEM_END, Some(None)) => {
                    self.close();
                    Ok(())
                }
                (ITEM_END, Some(Some(end))) if end == self.bytes.position => Ok(()),
                _ => Err(Fault::Broken(format!(
                    "element {} stands where none belongs",
                    words(tag)
                ))),
            };
        }
        if self.levels.is_empty() && tag >= tags::SPECIFIC_CHARACTER_SET && !self.is_charset_put {
            self.is_charset_put = true;
            self.put_header(
                tags::SPECIFIC_CHARACTER_SET,
                VR::CS,
                charset::UTF_8.len() as u32,
            );
            self.out.extend(charset::UTF_8.as_bytes());
        }
        let end = self.end_of(head)?;
        if tag == tags::PIXEL_DATA && end.is_none() {
            // Compressed pixels of an icon.
            return self.skip_fragments();
        }
        let dictionary_vr = match vr {
            None | Some(VR::UN) => StandardDataDictionary
                .by_tag(tag)
                .map(|entry| entry.vr().relaxed()),
            Some(vr) => Some(vr),
        };
        let is_sequence = match vr {
            Some(VR::SQ) => true,
            Some(VR::UN) => end.is_none(),
            Some(_) => false,
            None => end.is_none() || dictionary_vr == Some(VR::SQ),
        };
        if is_sequence {
            return self.open_level(tag, false, end, vr == Some(VR::UN));
        }
        if end.is_none() {
            return Err(Fault::Broken(format!("element {} has no end", words(tag))));
        }
        if !self.keeps(tag) {
            let is_complete = self.bytes.skip(u64::from(length))?;
            return if is_complete {
                Ok(())
            } else {
                Err(cut_short(tag))
            };
        }
        // A value of unknown VR is little endian (PS3.5 6.2.2), as only this encoding's are.
        let declared = match (vr, dictionary_vr) {
            (Some(VR::UN), Some(listed_vr))
                if self.encoding == Encoding::Explicit && listed_vr != VR::SQ =>
            {
                listed_vr
            }
            (Some(vr), _) => vr,
            (None, listed_vr) => listed_vr.filter(|&vr| vr != VR::SQ).unwrap_or(VR::UN),
        };
        if tag == tags::SPECIFIC_CHARACTER_SET {
            return self.character_set(length);
        }
        if charset::is_text(declared) {
            return self.text(tag, declared, length);
        }
        // The parser leaves a partial value unread, and would parse it as the next element.
        let excess = length % width(declared);
        let length = length - excess;
        self.put_header(tag, declared, length);
        self.cost += ELEMENT_BYTES + u64::from(length);
        check_unpacked(self.bytes.file, self.cost).map_err(Fault::Budget)?;
        let start = self.out.len();
        if !self.bytes.copy(u64::from(length), &mut self.out)? {
            return Err(cut_short(tag));
        }
        self.bytes.skip(u64::from(excess))?;
        if has_values(declared) {
            let more = self.out[start..].iter().filter(|&&b| b == b'\\').count();
            self.cost += VALUE_BYTES * more as u64;
        }
        Ok(())
    }

    /// The set of the texts that follow in the data set or item.
    fn character_set(&mut self, length: u32) -> Result<(), Fault> {
        let value = self.value(tags::SPECIFIC_CHARACTER_SET, length)?;
        let (charset, unknown) = CharacterSet::parse(&value);
        match self.levels.last_mut() {
            Some(level) => level.charset = charset,
            None => self.charset = charset,
        }
        if let Some(term) = unknown {
            let term = plain(&term).into_owned();
            self.doubts.insert(format!(
                "its SpecificCharacterSet '{term}' is none of the standard"
            ));
        }
        Ok(())
    }

    /// A text, in UTF-8.
    fn text(&mut self, tag: Tag, vr: VR, length: u32) -> Result<(), Fault> {
        self.cost += ELEMENT_BYTES + u64::from(length);
        check_unpacked(self.bytes.file, self.cost).map_err(Fault::Budget)?;
        let mut value = self.value(tag, length)?;
        // ASCII is the same in every set.
        if value.iter().any(|b| *b >= 0x80 || *b == 0x1B) {
            let charset = self
                .levels
                .last()
                .map_or(self.charset, |level| level.charset);
            let (text, doubt) = match charset.decode(&value, vr) {
                Decoded::Sure(text) => (text, None),
                Decoded::Guessed(text) => (
                    text,
                    Some("letters beyond ASCII without a SpecificCharacterSet that has them"),
                ),
                Decoded::Broken(text) => (
                    text,
                    Some("bytes that its SpecificCharacterSet does not have, shown as \u{fffd}"),
                ),
            };
            self.doubts.extend(
                doubt.map(|what| format!("texts have {what}: compare names with their source")),
            );
            self.cost += (text.len() as u64).saturating_sub(value.len() as u64);
            value = text.into_bytes();
            if value.len() % 2 == 1 {
                value.push(b' ');
            }
        }
        // UTF-8 may be longer than the value's own representation holds.
        let vr = if value.len() > usize::from(u16::MAX) {
            VR::UT
        } else {
            vr
        };
        self.put_header(tag, vr, value.len() as u32);
        if has_values(vr) {
            self.cost += VALUE_BYTES * value.iter().filter(|&&b| b == b'\\').count() as u64;
        }
        self.out.extend(value);
        Ok(())
    }

    fn value(&mut self, tag: Tag, length: u32) -> Result<Vec<u8>, Fault> {
        let mut value = Vec::new();
        if self.bytes.copy(u64::from(length), &mut value)? {
            Ok(value)
        } else {
            Err(cut_short(tag))
        }
    }

    /// Private elements are not used by this program.
    fn keeps(&self, tag: Tag) -> bool {
        tag.0.is_multiple_of(2) && self.levels.last().is_none_or(|level| level.keep)
    }

    fn open_level(
        &mut self,
        tag: Tag,
        item: bool,
        end: Option<u64>,
        unknown: bool,
    ) -> Result<(), Fault> {
        if self.levels.len() >= 2 * SEQUENCE_DEPTH {
            let words = format!("its sequences are nested more than {SEQUENCE_DEPTH} deep");
            return Err(Fault::Broken(words));
        }
        let outer = self.levels.last();
        let limit = end.or(outer.map(|level| level.limit)).unwrap_or(u64::MAX);
        let implicit = unknown || outer.is_some_and(|level| level.implicit);
        let charset = outer.map_or(self.charset, |level| level.charset);
        // Little endian values cannot be stored among big endian ones.
        let keep = self.keeps(tag) && !(implicit && self.encoding == Encoding::ExplicitBig);
        self.levels.push(Level {
            tag,
            item,
            end,
            limit,
            keep,
            implicit,
            charset,
        });
        if keep {
            self.put_header(tag, VR::SQ, UNDEFINED);
        }
        // Elements that are not kept only cost their bytes in the file.
        self.cost += if item && keep { ITEM_BYTES } else { 0 };
        Ok(())
    }

    fn close(&mut self) {
        if let Some(level) = self.levels.pop().filter(|level| level.keep) {
            self.put_header(if level.item { ITEM_END } else { SEQUENCE_END }, VR::SQ, 0);
        }
    }

    fn put_header(&mut self, tag: Tag, vr: VR, length: u32) {
        let big = self.encoding == Encoding::ExplicitBig;
        self.out.extend(u16_bytes(tag.0, big));
        self.out.extend(u16_bytes(tag.1, big));
        if self.encoding == Encoding::Implicit || tag.0 == ITEM.0 {
            self.out.extend(u32_bytes(length, big));
            return;
        }
        let short = u16::try_from(length)
            .ok()
            .filter(|_| !is_long(vr.to_bytes()));
        // A value longer than 16 bits allow had an unknown VR, which it keeps.
        let vr = if short.is_none() && !is_long(vr.to_bytes()) {
            VR::UN
        } else {
            vr
        };
        self.out.extend(vr.to_bytes());
        match short {
            Some(length) => self.out.extend(u16_bytes(length, big)),
            None => {
                self.out.extend([0, 0]);
                self.out.extend(u32_bytes(length, big));
            }
        }
    }

    fn skip_fragments(&mut self) -> Result<(), Fault> {
        while let Some(head) = self.head()? {
            match head.tag {
                SEQUENCE_END => return Ok(()),
                ITEM if self.end_of(&head)?.is_some() => {
                    self.bytes.skip(u64::from(head.length))?;
                }
                _ => break,
            }
        }
        Err(Fault::Broken(
            "the fragments of an icon's pixels have no end".to_owned(),
        ))
    }
}

fn u16_of(b: [u8; 2], big: bool) -> u16 {
    if big {
        u16::from_be_bytes(b)
    } else {
        u16::from_le_bytes(b)
    }
}

fn u32_of(b: [u8; 4], big: bool) -> u32 {
    if big {
        u32::from_be_bytes(b)
    } else {
        u32::from_le_bytes(b)
    }
}

fn u16_bytes(v: u16, big: bool) -> [u8; 2] {
    if big {
        v.to_be_bytes()
    } else {
        v.to_le_bytes()
    }
}

fn u32_bytes(v: u32, big: bool) -> [u8; 4] {
    if big {
        v.to_be_bytes()
    } else {
        v.to_le_bytes()
    }
}

/// Passes over the pixel data, which must be there to its end.
///
/// # Errors
/// [`Fault`]: lengths that do not fit.
pub fn pass_pixels(bytes: &mut Bytes, pixels: PixelData) -> Result<(), Fault> {
    if let Some(length) = pixels.length {
        return if bytes.skip(u64::from(length))? {
            Ok(())
        } else {
            Err(cut_short(tags::PIXEL_DATA))
        };
    }
    while let Some((tag, length)) = fragment_head(bytes)? {
        if tag == SEQUENCE_END {
            return Ok(());
        }
        if tag != ITEM || !bytes.skip(u64::from(length))? {
            break;
        }
    }
    Err(cut_short(tags::PIXEL_DATA))
}

/// The tag and length of a fragment, little endian in every compressed syntax.
fn fragment_head(bytes: &mut Bytes) -> Result<Option<(Tag, u32)>, Fault> {
    let Some([a, b, c, d, length @ ..]) = bytes.next::<8>()? else {
        return Ok(None);
    };
    let tag = Tag(u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
    Ok(Some((tag, u32::from_le_bytes(length))))
}

/// The content of compressed pixel data: the table of frame offsets, and the fragments.
pub struct Fragments {
    pub offsets: Vec<u32>,
    pub fragments: Vec<Vec<u8>>,
}

/// Reads the fragments after a [`PixelData`] without length. The delimiter may be missing.
///
/// # Errors
/// [`Fault`]: lengths that do not fit.
pub fn fragments(bytes: &mut Bytes) -> Result<Fragments, Fault> {
    let mut fragments = Vec::new();
    while let Some((tag, length)) = fragment_head(bytes)? {
        if tag == SEQUENCE_END {
            break;
        }
        let left = bytes.left();
        if tag != ITEM || u64::from(length) > left {
            let words = format!(
                "fragment {} of its pixels claims {length} bytes where {left} are left",
                fragments.len()
            );
            return Err(Fault::Broken(words));
        }
        let mut fragment = Vec::new();
        if !bytes.copy(u64::from(length), &mut fragment)? {
            return Err(cut_short(tags::PIXEL_DATA));
        }
        fragments.push(fragment);
    }
    if fragments.is_empty() {
        return Ok(Fragments {
            offsets: Vec::new(),
            fragments,
        });
    }
    let table = fragments.remove(0);
    let offsets = table
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    Ok(Fragments { offsets, fragments })
}

fn is_pixels(tag: Tag) -> bool {
    [
        tags::PIXEL_DATA,
        tags::FLOAT_PIXEL_DATA,
        tags::DOUBLE_FLOAT_PIXEL_DATA,
    ]
    .contains(&tag)
}

/// Bytes of each number of a binary value.
fn width(vr: VR) -> u32 {
    match vr {
        VR::OW | VR::SS | VR::US => 2,
        VR::AT | VR::FL | VR::OF | VR::OL | VR::SL | VR::UL => 4,
        VR::FD | VR::OD | VR::OV | VR::SV | VR::UV => 8,
        _ => 1,
    }
}

/// Texts that the parser splits at each backslash.
fn has_values(vr: VR) -> bool {
    use VR::{AE, AS, CS, DA, DS, DT, IS, LO, PN, SH, TM, UC, UI};
    [AE, AS, CS, DA, DS, DT, IS, LO, PN, SH, TM, UC, UI].contains(&vr)
}

fn words(tag: Tag) -> String {
    format!("({:04X},{:04X})", tag.0, tag.1)
}

fn cut_short(tag: Tag) -> Fault {
    Fault::Broken(format!("it ends inside the element {}", words(tag)))
}
