//! Words that are neither a verb nor a case.

use super::Cli;
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use open::CaseWord;
use std::ffi::OsString;

/// Likeness by Jaro and Winkler from which a verb counts as meant; clap's suggestions have the same limit.
const LIKE: f64 = 0.7;

/// The error of two arguments of which the first is no verb. The parser would report subcommands.
pub fn no_verb(words: &[OsString], error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::ArgumentConflict {
        return None;
    }
    // The word after an option that takes a value is that value.
    let first = words.windows(2).find_map(|pair| {
        let is_value = pair[0] == "--device" || pair[0] == "--out";
        let is_option = pair[1].to_string_lossy().starts_with('-');
        (!is_option && !is_value).then_some(&pair[1])
    })?;
    let first = first.to_string_lossy();
    // Options of a verb that exclude one another: the parser says which.
    if Cli::command().find_subcommand(&*first).is_some() {
        return None;
    }
    Some(format!(
        "there is no verb '{first}': {}",
        instead_of(&first, "name a single CASE to open it in the window")
    ))
}

/// The error of a single argument that is no verb and names no file or folder that is there.
pub fn neither(case: &CaseWord) -> Option<String> {
    let path = match case {
        CaseWord::Dicom(path) | CaseWord::Mha(path) | CaseWord::Session(path) => path,
        CaseWord::Demo(_) => return None,
    };
    // A link that leads nowhere is for the reader to name.
    if path.symlink_metadata().is_ok() {
        return None;
    }
    let word = case.to_string();
    let kinds = "name a folder of DICOM files, a .mha volume, a session, or demo:thorax";
    Some(format!(
        "'{word}' is no verb and no file or folder that is there: {}",
        instead_of(&word, kinds)
    ))
}

/// The verb that was likely meant, all of them, and what else may be typed.
fn instead_of(word: &str, or: &str) -> String {
    let verbs = verbs();
    let listed = format!("verbs are {}; or {or}", verbs.join(", "));
    let word = word.to_lowercase();
    let likest = verbs
        .iter()
        .map(|verb| (verb, strsim::jaro_winkler(&word, verb)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    match likest
        .filter(|(_, likeness)| *likeness > LIKE)
        .map(|(verb, _)| verb)
    {
        Some(verb) => format!("did you mean '{verb}'? The {listed}"),
        None => format!("the {listed}"),
    }
}

fn verbs() -> Vec<String> {
    let command = Cli::command();
    command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .map(|verb| verb.get_name().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_verb_that_exclude_one_another_are_told_by_the_parser() {
        let words = [
            "beamsight",
            "find",
            "--from",
            "a:1",
            "--called",
            "X",
            "--name",
            "Doe",
            "--study",
            "1.2",
        ];
        let error = Cli::command()
            .try_get_matches_from(words)
            .expect_err("a name and a study");
        assert_eq!(error.kind(), ErrorKind::ArgumentConflict);
        assert_eq!(no_verb(&words.map(OsString::from), &error), None);
        let words = ["beamsight", "fnid", "demo:water"].map(OsString::from);
        let error = Cli::command()
            .try_get_matches_from(&words)
            .expect_err("two cases");
        assert!(no_verb(&words, &error).is_some_and(|said| said.contains("did you mean 'find'")));
    }

    #[test]
    fn the_near_verb_is_named() {
        for (typed, meant) in [
            ("dsoe", "dose"),
            ("optimize", "optimise"),
            ("regsiter", "register"),
            ("gama", "gamma"),
            ("Info", "info"),
            ("recieve", "receive"),
        ] {
            assert!(
                instead_of(typed, "").starts_with(&format!("did you mean '{meant}'?")),
                "{typed}"
            );
        }
        assert!(instead_of("patient-7", "").starts_with("the verbs are info, demo, path"));
    }

    /// Sound cases open, and what is there is for its reader to refuse.
    #[test]
    fn what_is_there_is_no_misspelt_verb() {
        for word in ["demo:water", ".", "Cargo.toml"] {
            assert_eq!(neither(&word.parse().unwrap()), None, "{word}");
        }
        assert!(
            neither(&"no/such/folder".parse().unwrap())
                .unwrap()
                .contains("no file or folder")
        );
    }
}
