//! Character sets of texts: the defined terms of SpecificCharacterSet (PS3.3 C.12.1.1.2) and the code extensions of
//! ISO 2022 (PS3.5 6.1.2). The parser knows no extensions, so texts become UTF-8 before it sees them.

use dicom_core::VR;
use encoding::all::{
    EUC_JP, GB18030, GBK, ISO_8859_1, ISO_8859_2, ISO_8859_3, ISO_8859_4, ISO_8859_5, ISO_8859_6,
    ISO_8859_7, ISO_8859_8, ISO_8859_15, WINDOWS_949,
};
use encoding::{DecoderTrap, EncodingRef};

/// The term of UTF-8, in which every data set is kept once it is read.
pub const UTF_8: &str = "ISO_IR 192";

/// Codes of 7 bits (G0), letters of one or two bytes below 0x80. The Roman letters of JIS X 0201 are taken as ASCII.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Low {
    Ascii,
    Jis0208,
    Jis0212,
}

/// Codes of 8 bits (G1), letters of one or two bytes from 0xA0 on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum High {
    None,
    Latin1,
    Latin2,
    Latin3,
    Latin4,
    Cyrillic,
    Arabic,
    Greek,
    Hebrew,
    Latin5,
    Latin9,
    Thai,
    Katakana,
    KsX1001,
    Gb2312,
}

/// The character set of a data set or an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CharacterSet {
    /// Nothing but ASCII is stated.
    Default,
    Utf8,
    Gb18030,
    Gbk,
    Sets {
        low: Low,
        high: High,
        /// The only set of 8 bits among all that are stated: its letters are known also where no escape sequence calls it.
        only: High,
    },
}

/// A text, and whether it is sure to be the one that was meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoded {
    Sure(String),
    /// Letters beyond ASCII without a set that has them.
    Guessed(String),
    /// Bytes that are no letters of the set, shown as U+FFFD.
    Broken(String),
}

/// The sets of one term: those that it begins with, and whether it is of the standard.
fn sets_of(term: &str) -> Option<(Low, High)> {
    // Systems write the terms with underscores and hyphens at will.
    let term = term.to_ascii_uppercase().replace(['_', '-'], " ");
    let number = term
        .strip_prefix("ISO IR")
        .or_else(|| term.strip_prefix("ISO 2022 IR"))?
        .trim()
        .to_owned();
    Some(match number.as_str() {
        "6" => (Low::Ascii, High::None),
        "100" => (Low::Ascii, High::Latin1),
        "101" => (Low::Ascii, High::Latin2),
        "109" => (Low::Ascii, High::Latin3),
        "110" => (Low::Ascii, High::Latin4),
        "144" => (Low::Ascii, High::Cyrillic),
        "127" => (Low::Ascii, High::Arabic),
        "126" => (Low::Ascii, High::Greek),
        "138" => (Low::Ascii, High::Hebrew),
        "148" => (Low::Ascii, High::Latin5),
        "203" => (Low::Ascii, High::Latin9),
        "166" => (Low::Ascii, High::Thai),
        "13" => (Low::Ascii, High::Katakana),
        // Sets of two bytes are called by escape sequences; as a first term they stand for ASCII.
        "87" | "159" => (Low::Ascii, High::None),
        "149" => (Low::Ascii, High::KsX1001),
        "58" => (Low::Ascii, High::Gb2312),
        _ => return None,
    })
}

/// The sequences after ESC (PS3.3 tables C.12-3 to C.12-4).
fn escape(text: &[u8]) -> Option<(usize, Result<Low, High>)> {
    const SEQUENCES: [(&[u8], Result<Low, High>); 20] = [
        (b"(B", Ok(Low::Ascii)),
        (b"(J", Ok(Low::Ascii)),
        (b"$B", Ok(Low::Jis0208)),
        // The edition of 1978.
        (b"$@", Ok(Low::Jis0208)),
        (b"$(D", Ok(Low::Jis0212)),
        (b"-A", Err(High::Latin1)),
        (b"-B", Err(High::Latin2)),
        (b"-C", Err(High::Latin3)),
        (b"-D", Err(High::Latin4)),
        (b"-L", Err(High::Cyrillic)),
        (b"-G", Err(High::Arabic)),
        (b"-F", Err(High::Greek)),
        (b"-H", Err(High::Hebrew)),
        (b"-M", Err(High::Latin5)),
        (b"-b", Err(High::Latin9)),
        (b"-T", Err(High::Thai)),
        (b")I", Err(High::Katakana)),
        (b"$)C", Err(High::KsX1001)),
        (b"$)A", Err(High::Gb2312)),
        (b"$(B", Ok(Low::Jis0208)),
    ];
    SEQUENCES
        .into_iter()
        .find(|(sequence, _)| text.starts_with(sequence))
        .map(|(s, set)| (s.len(), set))
}

impl CharacterSet {
    /// The set of an attribute's value, and the term in it that is none of the standard.
    pub fn parse(value: &[u8]) -> (Self, Option<String>) {
        let value = String::from_utf8_lossy(value);
        let terms: Vec<&str> = value
            .split('\\')
            .map(|term| term.trim_matches([' ', '\0', '\t']))
            .collect();
        let plain = terms[0].to_ascii_uppercase().replace(['_', '-'], " ");
        match plain.as_str() {
            "ISO IR 192" | "ISO 2022 IR 192" | "UTF 8" | "UTF8" => return (Self::Utf8, None),
            "GB18030" | "GB 18030" => return (Self::Gb18030, None),
            "GBK" => return (Self::Gbk, None),
            _ => {}
        }
        let mut unknown = None;
        let mut sets = terms.iter().map(|term| match sets_of(term) {
            Some(sets) => sets,
            None => {
                if !term.is_empty() {
                    unknown.get_or_insert((*term).to_owned());
                }
                (Low::Ascii, High::None)
            }
        });
        let (low, high) = sets.next().unwrap_or((Low::Ascii, High::None));
        let mut stated = vec![high];
        stated.extend(sets.map(|(_, high)| high));
        stated.retain(|high| *high != High::None);
        stated.dedup();
        let only = if let [only] = stated[..] {
            only
        } else {
            High::None
        };
        let extended = terms.len() > 1 || terms[0].to_ascii_uppercase().contains("2022");
        if only == High::None && stated.is_empty() && !extended {
            return (Self::Default, unknown);
        }
        (Self::Sets { low, high, only }, unknown)
    }

    /// The text of a value of that representation.
    pub fn decode(self, bytes: &[u8], vr: VR) -> Decoded {
        match self {
            Self::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => Decoded::Sure(text.to_owned()),
                Err(_) => Decoded::Broken(String::from_utf8_lossy(bytes).into_owned()),
            },
            Self::Gb18030 => in_one_encoding(GB18030, bytes),
            Self::Gbk => in_one_encoding(GBK, bytes),
            Self::Default if bytes.contains(&ESC) => Self::Sets {
                low: Low::Ascii,
                high: High::None,
                only: High::None,
            }
            .decode(bytes, vr),
            Self::Default => Decoded::Guessed(match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                // Every byte is a letter or control character of Latin-1.
                Err(_) => bytes.iter().map(|b| char::from(*b)).collect(),
            }),
            Self::Sets { low, high, only } => extended(bytes, vr, (low, high), only),
        }
    }
}

/// A value without code extensions.
fn in_one_encoding(encoding: EncodingRef, bytes: &[u8]) -> Decoded {
    match encoding.decode(bytes, DecoderTrap::Strict) {
        Ok(text) => Decoded::Sure(text),
        Err(_) => Decoded::Broken(
            encoding
                .decode(bytes, DecoderTrap::Replace)
                .unwrap_or_else(|lossy| lossy.into()),
        ),
    }
}

const ESC: u8 = 0x1B;

/// Whether a byte ends the use of sets other than the first term's (PS3.5 6.1.2.5.3).
fn is_delimiter(byte: u8, vr: VR) -> bool {
    match byte {
        b'\\' => !matches!(vr, VR::ST | VR::LT | VR::UT),
        b'^' | b'=' => vr == VR::PN,
        _ => byte < 0x20,
    }
}

/// Decodes with code extensions. The sets of the first term are active again after control characters and after the delimiters
/// of values and of a name's parts (PS3.5 6.1.2.5.3).
fn extended(bytes: &[u8], vr: VR, first: (Low, High), only: High) -> Decoded {
    let (mut low, mut high) = first;
    let (mut text, mut broken, mut guessed) = (String::new(), false, false);
    let mut remaining = bytes;
    while let Some((&b, after)) = remaining.split_first() {
        remaining = after;
        let letter = match (b, after.first()) {
            (ESC, _) => match escape(after) {
                Some((length, set)) => {
                    remaining = &after[length..];
                    match set {
                        Ok(set) => low = set,
                        Err(set) => high = set,
                    }
                    continue;
                }
                // A control character, which names are shown without.
                None => {
                    broken = true;
                    Some(char::from(ESC))
                }
            },
            (0x21..=0x7E, Some(second @ 0x21..=0x7E)) if low != Low::Ascii => {
                remaining = &after[1..];
                let pair = [b | 0x80, second | 0x80];
                match low {
                    Low::Jis0212 => one(EUC_JP, &[0x8F, pair[0], pair[1]]),
                    _ => one(EUC_JP, &pair),
                }
            }
            (0x21..=0x7E, _) if low != Low::Ascii => None,
            (..0x80, _) => {
                if is_delimiter(b, vr) {
                    (low, high) = first;
                }
                Some(char::from(b))
            }
            (_, second) => {
                let set = if high == High::None { only } else { high };
                match (set, second) {
                    (High::KsX1001 | High::Gb2312, Some(second @ 0xA1..=0xFE)) => {
                        remaining = &after[1..];
                        one(
                            if set == High::KsX1001 {
                                WINDOWS_949
                            } else {
                                GBK
                            },
                            &[b, *second],
                        )
                    }
                    (High::None, _) => {
                        guessed = true;
                        Some(char::from(b))
                    }
                    _ => set.letter(b),
                }
            }
        };
        broken |= letter.is_none();
        text.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    match (broken, guessed) {
        (true, _) => Decoded::Broken(text),
        (false, true) => Decoded::Guessed(text),
        (false, false) => Decoded::Sure(text),
    }
}

/// The only letter of some bytes.
fn one(encoding: EncodingRef, bytes: &[u8]) -> Option<char> {
    let text = encoding.decode(bytes, DecoderTrap::Strict).ok()?;
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}

impl High {
    /// The letter of one byte.
    fn letter(self, b: u8) -> Option<char> {
        match self {
            Self::None | Self::KsX1001 | Self::Gb2312 => None,
            Self::Latin1 => one(ISO_8859_1, &[b]).filter(|_| b >= 0xA0),
            Self::Latin2 => one(ISO_8859_2, &[b]),
            Self::Latin3 => one(ISO_8859_3, &[b]),
            Self::Latin4 => one(ISO_8859_4, &[b]),
            Self::Cyrillic => one(ISO_8859_5, &[b]),
            Self::Arabic => one(ISO_8859_6, &[b]),
            Self::Greek => one(ISO_8859_7, &[b]),
            Self::Hebrew => one(ISO_8859_8, &[b]),
            Self::Latin9 => one(ISO_8859_15, &[b]),
            // ISO 8859-9 is Latin-1 with Turkish letters in the places of six Icelandic ones.
            Self::Latin5 => Some(match b {
                0xD0 => 'Ğ',
                0xDD => 'İ',
                0xDE => 'Ş',
                0xF0 => 'ğ',
                0xFD => 'ı',
                0xFE => 'ş',
                0xA0.. => char::from(b),
                _ => return None,
            }),
            // TIS 620: the block of Unicode in its own order.
            Self::Thai => match b {
                0xA0 => Some('\u{A0}'),
                0xA1..=0xDA | 0xDF..=0xFB => char::from_u32(0x0E00 + u32::from(b) - 0xA0),
                _ => None,
            },
            // JIS X 0201: the halfwidth forms of Unicode in its own order.
            Self::Katakana => matches!(b, 0xA1..=0xDF)
                .then(|| char::from_u32(0xFF61 + u32::from(b) - 0xA1))
                .flatten(),
        }
    }
}

/// Whether SpecificCharacterSet applies to values of a representation (PS3.5 6.1.2.2).
pub fn is_text(vr: VR) -> bool {
    matches!(
        vr,
        VR::SH | VR::LO | VR::ST | VR::LT | VR::UC | VR::UT | VR::PN
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(term: &str, bytes: &[u8], vr: VR) -> Decoded {
        CharacterSet::parse(term.as_bytes()).0.decode(bytes, vr)
    }

    /// The examples of PS3.5, annexes H, I, J and K.
    #[test]
    fn the_examples_of_the_standard_are_read() {
        for (term, bytes, want) in [
            (
                "\\ISO 2022 IR 87",
                &b"Yamada^Tarou=\x1b$B;3ED\x1b(B^\x1b$BB@O:\x1b(B=\x1b$B$d$^$@\x1b(B^\x1b$B$?$m$&\x1b(B"[..],
                "Yamada^Tarou=山田^太郎=やまだ^たろう",
            ),
            (
                "ISO 2022 IR 13\\ISO 2022 IR 87",
                b"\xd4\xcf\xc0\xde^\xc0\xdb\xb3=\x1b$B;3ED\x1b(J^\x1b$BB@O:\x1b(J=\x1b$B$d$^$@\x1b(J^\x1b$B$?$m$&\x1b(J",
                "ﾔﾏﾀﾞ^ﾀﾛｳ=山田^太郎=やまだ^たろう",
            ),
            (
                "\\ISO 2022 IR 149",
                b"Hong^Gildong=\x1b$)C\xfb\xf3^\x1b$)C\xd1\xce\xd4\xd7=\x1b$)C\xc8\xab^\x1b$)C\xb1\xe6\xb5\xbf",
                "Hong^Gildong=洪^吉洞=홍^길동",
            ),
            ("\\ISO 2022 IR 58", b"Zhang^XiaoDong=\x1b$)A\xd5\xc5^\x1b$)A\xd0\xa1\xb6\xab=", "Zhang^XiaoDong=张^小东="),
            ("ISO_IR 192", "Wang^XiaoDong=王^小东=".as_bytes(), "Wang^XiaoDong=王^小东="),
            ("GB18030", b"Wang^XiaoDong=\xcd\xf5^\xd0\xa1\xb6\xab=", "Wang^XiaoDong=王^小东="),
            ("ISO_IR 127", b"\xe2\xc8\xc7\xe6\xea^\xe4\xe6\xd2\xc7\xd1", "قباني^لنزار"),
        ] {
            assert_eq!(decoded(term, bytes, VR::PN), Decoded::Sure(want.to_owned()), "{term}");
        }
    }

    /// ISO 8859-5 and -9, TIS 620: from the code charts.
    #[test]
    fn sets_of_one_byte_are_read() {
        for (term, bytes, want) in [
            (
                "ISO_IR 148",
                &b"I\xfe\xfdk^Ay\xfee \xdd\xd0\xdd\xde\xf0"[..],
                "Işık^Ayşe İĞİŞğ",
            ),
            ("ISO_IR 101", b"\xa3ukasz", "Łukasz"),
            ("ISO_IR 144", b"\xb8\xd2\xd0\xdd\xde\xd2\xd0", "Иванова"),
            (
                "ISO_IR 126",
                b"\xc4\xe9\xef\xed\xf5\xf3\xe9\xef\xf2",
                "Διονυσιος",
            ),
            ("ISO_IR 138", b"\xf9\xf8\xe5\xef", "שרון"),
            ("ISO_IR 166", b"\xca\xc1\xaa\xd2\xc2", "สมชาย"),
            ("ISO_IR 203", b"\xa4", "€"),
            (
                "ISO 2022 IR 6\\ISO 2022 IR 144",
                b"A\x1b-L\xb8\xd2^\x1b-L\xd0",
                "AИв^а",
            ),
            ("iso-ir 100", b"M\xfcller", "Müller"),
        ] {
            assert_eq!(
                decoded(term, bytes, VR::PN),
                Decoded::Sure(want.to_owned()),
                "{term}"
            );
        }
    }

    #[test]
    fn sets_begin_anew_after_delimiters() {
        let text = b"\x1b-L\xb8\\\xe9";
        for (vr, letters) in [(VR::LO, "И\\é"), (VR::LT, "И\\щ")] {
            assert_eq!(
                decoded("ISO 2022 IR 100\\ISO 2022 IR 144", text, vr),
                Decoded::Sure(letters.to_owned())
            );
        }
        // The second byte of a GBK letter may be a backslash's.
        assert_eq!(
            decoded("GBK", b"\x81\x5c", VR::LO),
            Decoded::Sure("乗".to_owned())
        );
        // Letters of the only set are known without its escape sequence.
        assert_eq!(
            decoded("\\ISO 2022 IR 149", b"\xc8\xab", VR::LO),
            Decoded::Sure("홍".to_owned())
        );
    }

    #[test]
    fn what_no_set_has_is_said() {
        assert_eq!(
            decoded("", b"M\xfcller", VR::PN),
            Decoded::Guessed("Müller".to_owned())
        );
        assert_eq!(
            decoded("", "Łukasz".as_bytes(), VR::PN),
            Decoded::Guessed("Łukasz".to_owned())
        );
        assert_eq!(
            decoded("ISO_IR 192", b"M\xfcller", VR::PN),
            Decoded::Broken("M\u{fffd}ller".to_owned())
        );
        assert_eq!(
            decoded("ISO_IR 166", b"\xff", VR::LO),
            Decoded::Broken("\u{fffd}".to_owned())
        );
        assert_eq!(
            decoded("\\ISO 2022 IR 87", b"\x1b$B\x7f\x1b(B", VR::LO),
            Decoded::Sure("\u{7f}".to_owned())
        );
        assert_eq!(
            decoded("", b"\x1b[31mRED", VR::PN),
            Decoded::Broken("\x1b[31mRED".to_owned())
        );
        assert_eq!(
            CharacterSet::parse(b"ISO_IR 999").1.as_deref(),
            Some("ISO_IR 999")
        );
        assert_eq!(CharacterSet::parse(b"\\ISO 2022 IR 87 ").1, None);
    }
}
