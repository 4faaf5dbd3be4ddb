//! Command sets of messages (PS3.7 6.3): elements of group 0000 in implicit VR little endian, without sequences. They are
//! read here, not by the parser of data sets, which takes the memory that a length claims.

use input::plain;
use std::collections::BTreeMap;

/// Elements of group 0000 (PS3.7 E.1).
pub const AFFECTED_CLASS: u16 = 0x0002;
const REQUESTED_CLASS: u16 = 0x0003;
const FIELD: u16 = 0x0100;
pub const MESSAGE_ID: u16 = 0x0110;
pub const ANSWERS_ID: u16 = 0x0120;
pub const MOVE_DESTINATION: u16 = 0x0600;
pub const PRIORITY: u16 = 0x0700;
const DATA_SET: u16 = 0x0800;
const STATUS: u16 = 0x0900;
const COMMENT: u16 = 0x0902;
pub const AFFECTED_INSTANCE: u16 = 0x1000;
pub const REMAINING: u16 = 0x1020;
pub const COMPLETED: u16 = 0x1021;
pub const FAILED: u16 = 0x1022;

/// Value of [`DATA_SET`] where no data set follows.
const NO_DATA: u16 = 0x0101;
/// A status while more answers come.
pub const PENDING: [u16; 2] = [0xff00, 0xff01];
pub const SUCCESS: u16 = 0x0000;
/// Most letters of a comment.
const COMMENT_LETTERS: usize = 64;

/// Service that a command asks for; the field of its answer has the highest bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Store = 0x0001,
    Get = 0x0010,
    Find = 0x0020,
    Move = 0x0021,
    Echo = 0x0030,
    Cancel = 0x0fff,
}

/// A command set, by element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command(BTreeMap<u16, Vec<u8>>);

impl Command {
    pub fn new(service: Service, class: &str, message: u16, has_data: bool) -> Self {
        let mut command = Self::default();
        command.put(FIELD, service as u16);
        command.put_uid(AFFECTED_CLASS, class);
        command.put(MESSAGE_ID, message);
        command.put(DATA_SET, if has_data { 0x0001 } else { NO_DATA });
        command
    }

    /// The answer without a data set.
    pub fn answer(&self, status: u16, comment: &str) -> Self {
        let mut answer = Self::default();
        answer.put(FIELD, self.number(FIELD).unwrap_or_default() | 0x8000);
        answer.put(ANSWERS_ID, self.number(MESSAGE_ID).unwrap_or_default());
        answer.put(DATA_SET, NO_DATA);
        answer.put(STATUS, status);
        // A comment is of plain letters, in a command set of the default repertoire.
        let comment = comment
            .chars()
            .filter(|c| c.is_ascii_graphic() || *c == ' ')
            .filter(|c| *c != '\\');
        let comment: String = comment.take(COMMENT_LETTERS).collect();
        if !comment.is_empty() {
            answer.put_text(COMMENT, &comment);
        }
        for element in [AFFECTED_CLASS, AFFECTED_INSTANCE] {
            if let Some(value) = self.0.get(&element) {
                answer.0.insert(element, value.clone());
            }
        }
        answer
    }

    pub fn put(&mut self, element: u16, value: u16) {
        self.0.insert(element, value.to_le_bytes().to_vec());
    }

    pub fn put_uid(&mut self, element: u16, uid: &str) {
        self.0.insert(element, padded(uid, 0));
    }

    pub fn put_text(&mut self, element: u16, text: &str) {
        self.0.insert(element, padded(text, b' '));
    }

    pub fn is(&self, service: Service) -> bool {
        self.number(FIELD) == Some(service as u16)
    }

    pub fn is_answer_to(&self, service: Service, message: u16) -> bool {
        self.number(FIELD) == Some(service as u16 | 0x8000)
            && self.number(ANSWERS_ID) == Some(message)
    }

    pub fn has_data(&self) -> bool {
        self.number(DATA_SET) != Some(NO_DATA)
    }

    pub fn status(&self) -> u16 {
        // An answer without a status is no success.
        self.number(STATUS).unwrap_or(0xc000)
    }

    /// The status of an answer in words, with the peer's own.
    pub fn reason(&self) -> String {
        let mut words = format!("{} (status {:04X})", meaning(self.status()), self.status());
        let comment = self.text(COMMENT);
        if !comment.is_empty() {
            words += &format!(", \"{comment}\"");
        }
        words
    }

    pub fn number(&self, element: u16) -> Option<u16> {
        let value = self.0.get(&element)?;
        value.as_slice().try_into().ok().map(u16::from_le_bytes)
    }

    /// Text without padding and control characters; empty where there is none.
    pub fn text(&self, element: u16) -> String {
        let text =
            String::from_utf8_lossy(self.0.get(&element).map(Vec::as_slice).unwrap_or_default());
        plain(text.trim_matches(|c: char| c.is_whitespace() || c == '\0')).into_owned()
    }

    /// The SOP class that a command is about.
    pub fn class(&self) -> String {
        let affected = self.text(AFFECTED_CLASS);
        if affected.is_empty() {
            self.text(REQUESTED_CLASS)
        } else {
            affected
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        element_bytes(
            0x0000,
            self.0
                .iter()
                .map(|(element, value)| (*element, value.as_slice())),
            true,
        )
    }

    /// # Errors
    /// Faults of the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut command = Self::default();
        let mut remaining = bytes;
        while let Some((head, after)) = remaining.split_first_chunk::<8>() {
            let [a, b, c, d, length @ ..] = *head;
            let (group, element) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
            let length = u32::from_le_bytes(length) as usize;
            if group != 0 {
                return Err(format!(
                    "element ({group:04X},{element:04X}) stands in a command"
                ));
            }
            if length > after.len() {
                let left = after.len();
                return Err(format!(
                    "element (0000,{element:04X}) claims {length} bytes where {left} are left"
                ));
            }
            let (value, after) = after.split_at(length);
            command.0.insert(element, value.to_vec());
            remaining = after;
        }
        command.0.remove(&0);
        if !remaining.is_empty() || command.number(FIELD).is_none() {
            return Err(
                "a command ends inside an element, or says not what it asks for".to_owned(),
            );
        }
        Ok(command)
    }
}

/// Elements of one group in implicit VR little endian; their tags ascend.
pub fn element_bytes<'a>(
    group: u16,
    elements: impl Iterator<Item = (u16, &'a [u8])>,
    with_length: bool,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (element, value) in elements {
        put_element(&mut bytes, group, element, value);
    }
    if !with_length {
        return bytes;
    }
    let mut message = Vec::with_capacity(bytes.len() + 12);
    put_element(&mut message, group, 0, &(bytes.len() as u32).to_le_bytes());
    message.extend(bytes);
    message
}

fn put_element(to: &mut Vec<u8>, group: u16, element: u16, value: &[u8]) {
    to.extend(group.to_le_bytes());
    to.extend(element.to_le_bytes());
    to.extend((value.len() as u32).to_le_bytes());
    to.extend(value);
}

/// Values have an even number of bytes.
pub fn padded(text: &str, with: u8) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    if bytes.len() % 2 == 1 {
        bytes.push(with);
    }
    bytes
}

/// Meaning of a status (PS3.7 annex C, PS3.4 tables B.2-1, C.4-1, C.4-2 and C.4-3).
fn meaning(status: u16) -> &'static str {
    match status {
        0x0000 => "success",
        0x0105 | 0x0106 | 0x0110 => "its processing failed",
        0x0111 => "it has another object of this UID",
        0x0112 | 0x0117 => "it knows no such object",
        0x0122 => "it does not take this kind of object",
        0x0124 => "it does not allow this",
        0x0210..=0x0213 => "it does not understand the message",
        0xa700..=0xa7ff => "it is out of resources",
        0xa801 => "it does not know the AE title that the objects are to go to",
        0xa900..=0xa9ff => "the data set does not match its SOP class",
        0xb000 => "some objects failed",
        0xb006 | 0xb007 => "it changed or left out elements",
        0xc000..=0xcfff => "it cannot understand or process it",
        0xfe00 => "it was cancelled",
        _ => "it gave no known reason",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut command = Command::new(Service::Store, "1.2.840.10008.5.1.4.1.1.2", 7, true);
        command.put_uid(AFFECTED_INSTANCE, "1.2.3");
        let bytes = command.encode();
        // Group length first (PS3.7 E.1): the bytes after its own twelve.
        assert_eq!(bytes[..8], [0, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(
            u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize,
            bytes.len() - 12
        );
        assert_eq!(Command::decode(&bytes).unwrap(), command);
        let answer = command.answer(0xa700, "full\u{1b}[2J");
        assert!(answer.is_answer_to(Service::Store, 7) && !answer.has_data());
        assert!(answer.reason().contains("resources") && answer.reason().contains("full[2J"));
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let mut bytes = Command::new(Service::Echo, "1.2", 1, false).encode();
        bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(
            Command::decode(&bytes)
                .unwrap_err()
                .contains("claims 4294967295 bytes")
        );
        assert!(Command::decode(&[0, 0, 0]).is_err() && Command::decode(&[]).is_err());
    }
}
