//! Damage: to bytes, to words of a text, to elements of a data set. Equal seeds do equal damage.

use crate::tree::{self, Body, Element};

/// xorshift64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0xd134_2543_de82_ef95).max(1))
    }

    pub fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A few changes of bytes: other values, runs left out, repeated or cut off, numbers at the ends of their range.
pub fn bytes(mut file: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    for _ in 0..=dice.below(4) {
        if file.is_empty() {
            return file;
        }
        let at = dice.below(file.len());
        let run = 1 + dice.below(16).min(file.len() - at - 1);
        match dice.below(8) {
            0..=2 => file[at] = dice.below(256) as u8,
            3 => drop(file.drain(at..at + run)),
            4 => {
                let again = file[at..at + run].to_vec();
                file.splice(at..at, again);
            }
            5 => {
                let number =
                    dice.pick(&[0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, u32::MAX]);
                let turned = if dice.below(2) == 0 {
                    number.to_le_bytes()
                } else {
                    number.to_be_bytes()
                };
                let width = dice.pick(&[2, 4]).min(file.len() - at);
                file[at..at + width].copy_from_slice(&turned[..width]);
            }
            6 => file[at] ^= 1 << dice.below(8),
            _ if dice.below(8) == 0 => file.truncate(at),
            _ => {}
        }
    }
    file
}

const WORDS: [&str; 16] = [
    "NaN",
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "-1e308",
    "1e-320",
    "",
    "18446744073709551616",
    "-9223372036854775808",
    "99999999",
    "0.1\\",
    "\\\\\\",
    "true",
    "[[]]",
];

/// Words of a text replaced, lines left out or repeated; now and then bytes.
pub fn text(file: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    if dice.below(4) == 0 {
        return bytes(file, dice);
    }
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"-+._".contains(b);
    let mut file = file;
    for _ in 0..=dice.below(3) {
        let mut words: Vec<std::ops::Range<usize>> = Vec::new();
        for (at, byte) in file.iter().enumerate() {
            match words.last_mut() {
                Some(word) if is_word(byte) && word.end == at => word.end += 1,
                _ if is_word(byte) => words.push(at..at + 1),
                _ => {}
            }
        }
        if words.is_empty() {
            return file;
        }
        let word = words[dice.below(words.len())].clone();
        match dice.below(4) {
            0 => drop(file.drain(word)),
            1 => {
                let other = words[dice.below(words.len())].clone();
                let other = file[other].to_vec();
                file.splice(word, other);
            }
            _ => drop(file.splice(word, dice.pick(&WORDS).bytes())),
        }
    }
    file
}

/// Changes of elements at any depth: left out, doubled, moved, of another VR, tag, length or value, nested.
/// In a file of another encoding than explicit VR little endian, bytes are changed.
pub fn elements(file: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let Some((front, mut all)) = tree::parse(&file) else {
        return bytes(file, dice);
    };
    for _ in 0..=dice.below(3) {
        change(&mut all, dice);
    }
    let mut out = front;
    tree::write(&all, dice.below(16) != 0, &mut out);
    out
}

fn change(all: &mut Vec<Element>, dice: &mut Dice) {
    if all.is_empty() {
        return;
    }
    let at = dice.below(all.len());
    if let Body::Items(items) = &mut all[at].body
        && !items.is_empty()
        && dice.below(4) != 0
    {
        let item = dice.below(items.len());
        match dice.below(8) {
            0 => drop(items.remove(item)),
            1 => items.push(items[item].clone()),
            _ => change(&mut items[item], dice),
        }
        return;
    }
    match dice.below(10) {
        0 => drop(all.remove(at)),
        1 => all.insert(at, all[at].clone()),
        2 => {
            let to = dice.below(all.len());
            all.swap(at, to);
        }
        3 => {
            let vrs: [&[u8; 2]; 12] = [
                b"UN", b"OB", b"OW", b"DS", b"IS", b"SQ", b"US", b"FD", b"LO", b"AT", b"UI", b"??",
            ];
            all[at].vr = *dice.pick(&vrs);
        }
        4 => {
            all[at].claims =
                Some(dice.pick(&[0, 1, 2, 0xfffe, 0xffff, 0x7fff_fffe, u32::MAX - 1, u32::MAX]))
        }
        5 => {
            let deep = 1 + dice.below(40);
            for _ in 0..deep {
                let inner = all[at].clone();
                let body = Body::Items(vec![vec![inner]]);
                all[at] = Element {
                    tag: 0x0008_1140,
                    vr: *b"SQ",
                    body,
                    claims: None,
                };
            }
        }
        6 => {
            let other = all[dice.below(all.len())].tag;
            all[at].tag = dice.pick(&[other, 0x7fe0_0010, 0xfffe_e00d, 0x0009_0010, 0]);
        }
        _ => value(&mut all[at].body, dice),
    }
}

fn value(body: &mut Body, dice: &mut Dice) {
    match body {
        Body::Value(value) => match dice.below(4) {
            0 => *value = dice.pick(&WORDS).as_bytes().to_vec(),
            1 => {
                // One of several values.
                let mut words: Vec<Vec<u8>> =
                    value.split(|b| *b == b'\\').map(<[u8]>::to_vec).collect();
                let at = dice.below(words.len());
                words[at] = dice.pick(&WORDS).as_bytes().to_vec();
                *value = words.join(&b'\\');
            }
            2 => {
                *value = dice.pick(&[0u32, 1, 255, 65_535, u32::MAX]).to_le_bytes()
                    [..dice.pick(&[2, 4])]
                    .to_vec()
            }
            _ => *value = bytes(std::mem::take(value), dice),
        },
        Body::Fragments(all) if !all.is_empty() => {
            let at = dice.below(all.len());
            match dice.below(4) {
                0 => drop(all.remove(at)),
                1 => {
                    let half = all[at].len() / 2;
                    let rest = all[at].split_off(half);
                    all.insert(at + 1, rest);
                }
                _ => all[at] = bytes(std::mem::take(&mut all[at]), dice),
            }
        }
        Body::Fragments(_) | Body::Items(_) => {}
    }
}
