//! Texts of files for a terminal or a window: a terminal obeys control characters.

use std::borrow::Cow;

/// One line without control characters: ends of lines and tabs become spaces, all others are removed.
pub fn plain(words: &str) -> Cow<'_, str> {
    without_controls(words, |c| {
        if c.is_ascii_whitespace() {
            Some(' ')
        } else {
            None
        }
    })
}

/// As [`plain`], but keeps ends of lines and tabs.
pub fn plain_lines(words: &str) -> Cow<'_, str> {
    without_controls(words, |c| {
        if matches!(c, '\n' | '\t') {
            Some(c)
        } else {
            None
        }
    })
}

/// The start of a message that may quote a line of a file of any length.
pub fn beginning(words: &str) -> String {
    const LETTERS: usize = 1000;
    match words.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{} ...", &words[..end]),
        None => words.to_owned(),
    }
}

/// A letter that cannot be shown, by its code: `<U+5C71>`.
pub fn code_of(letter: char) -> String {
    format!("<U+{:04X}>", u32::from(letter))
}

/// `char::is_control`: U+0000 to U+001F, and U+007F to U+009F, of which U+009B begins sequences as ESC [ does.
fn without_controls(words: &str, instead: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    if !words.contains(|c: char| c.is_control() && instead(c) != Some(c)) {
        return Cow::Borrowed(words);
    }
    Cow::Owned(
        words
            .chars()
            .filter_map(|c| if c.is_control() { instead(c) } else { Some(c) })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_gone() {
        assert_eq!(
            plain("\u{1b}[31mDoe^Jane\u{7}\u{9b}2J\r\nWard 3\t\u{7f}"),
            "[31mDoe^Jane2J  Ward 3 "
        );
        assert_eq!(plain_lines("a\n\tb\r\u{1b}]0;c\u{7}"), "a\n\tb]0;c");
        assert!(matches!(plain("Müller^Jörg 雪"), Cow::Borrowed(_)));
        assert!(matches!(plain_lines("two\nlines"), Cow::Borrowed(_)));
    }
}
