//! A data set as a tree of elements that need not be valid: a mutation sets lengths, VRs and positions.

#[derive(Clone)]
pub struct Element {
    pub tag: u32,
    pub vr: [u8; 2],
    pub body: Body,
    /// A length other than the body's.
    pub claims: Option<u32>,
}

#[derive(Clone)]
pub enum Body {
    Value(Vec<u8>),
    Items(Vec<Vec<Element>>),
    /// Items of bytes.
    Fragments(Vec<Vec<u8>>),
}

const ITEM: u32 = 0xfffe_e000;
const ITEM_END: u32 = 0xfffe_e00d;
const SEQUENCE_END: u32 = 0xfffe_e0dd;
const UNDEFINED: u32 = u32::MAX;

/// The header and the data set of a file of explicit VR little endian; `None` for others.
pub fn parse(file: &[u8]) -> Option<(Vec<u8>, Vec<Element>)> {
    let mut reader = Reader {
        rest: file.get(132..)?,
    };
    let mut meta = 132;
    loop {
        let before = reader.rest.len();
        if reader.rest.get(..2)? != [2, 0] {
            break;
        }
        reader.element()?;
        meta += before - reader.rest.len();
    }
    let mut all = Vec::new();
    while !reader.rest.is_empty() {
        all.push(reader.element()?);
    }
    Some((file[..meta].to_vec(), all))
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn tag(&mut self) -> Option<u32> {
        let word = self.word()?;
        Some(word.rotate_right(16))
    }

    fn element(&mut self) -> Option<Element> {
        let tag = self.tag()?;
        let vr: [u8; 2] = self.take(2)?.try_into().ok()?;
        let length = if is_long(vr) {
            self.take(2)?;
            self.word()?
        } else {
            u32::from(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
        };
        let body = match (&vr, length) {
            (b"SQ", _) => Body::Items(self.items(length)?),
            (_, UNDEFINED) => Body::Fragments(self.fragments()?),
            _ => Body::Value(self.take(length as usize)?.to_vec()),
        };
        Some(Element {
            tag,
            vr,
            body,
            claims: None,
        })
    }

    fn items(&mut self, length: u32) -> Option<Vec<Vec<Element>>> {
        let mut inside = if length == UNDEFINED {
            None
        } else {
            Some(Reader {
                rest: self.take(length as usize)?,
            })
        };
        let mut items = Vec::new();
        loop {
            let from = match &mut inside {
                Some(inside) => inside,
                None => &mut *self,
            };
            if from.rest.is_empty() && length != UNDEFINED {
                return Some(items);
            }
            match (from.tag()?, from.word()?) {
                (SEQUENCE_END, _) => return Some(items),
                (ITEM, UNDEFINED) => {
                    let mut item = Vec::new();
                    while from.rest.get(..4)? != [0xfe, 0xff, 0x0d, 0xe0] {
                        item.push(from.element()?);
                    }
                    from.take(8)?;
                    items.push(item);
                }
                (ITEM, length) => {
                    let mut of = Reader {
                        rest: from.take(length as usize)?,
                    };
                    let mut item = Vec::new();
                    while !of.rest.is_empty() {
                        item.push(of.element()?);
                    }
                    items.push(item);
                }
                _ => return None,
            }
        }
    }

    fn fragments(&mut self) -> Option<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        loop {
            match (self.tag()?, self.word()?) {
                (ITEM, length) => all.push(self.take(length as usize)?.to_vec()),
                _ => return Some(all),
            }
        }
    }
}

/// The elements as a data set of explicit VR, or implicit.
pub fn write(elements: &[Element], explicit: bool, out: &mut Vec<u8>) {
    for element in elements {
        let mut body = Vec::new();
        let undefined = match &element.body {
            Body::Value(value) => {
                body.clone_from(value);
                false
            }
            Body::Items(items) => {
                for item in items {
                    mark(ITEM, UNDEFINED, &mut body);
                    write(item, explicit, &mut body);
                    mark(ITEM_END, 0, &mut body);
                }
                mark(SEQUENCE_END, 0, &mut body);
                true
            }
            Body::Fragments(all) => {
                for fragment in all {
                    mark(ITEM, fragment.len() as u32, &mut body);
                    body.extend(fragment);
                }
                mark(SEQUENCE_END, 0, &mut body);
                true
            }
        };
        let length = element.claims.unwrap_or(if undefined {
            UNDEFINED
        } else {
            body.len() as u32
        });
        if explicit {
            mark(element.tag, 0, out);
            out.truncate(out.len() - 4);
            out.extend(element.vr);
            if is_long(element.vr) {
                out.extend([0, 0]);
                out.extend(length.to_le_bytes());
            } else {
                out.extend((length as u16).to_le_bytes());
            }
        } else {
            mark(element.tag, length, out);
        }
        out.extend(body);
    }
}

fn mark(tag: u32, length: u32, out: &mut Vec<u8>) {
    out.extend(tag.rotate_right(16).to_le_bytes());
    out.extend(length.to_le_bytes());
}

fn is_long(vr: [u8; 2]) -> bool {
    [
        *b"OB", *b"OW", *b"OF", *b"OD", *b"OL", *b"OV", *b"SQ", *b"UN", *b"UT", *b"UC", *b"UR",
        *b"SV", *b"UV",
    ]
    .contains(&vr)
}
