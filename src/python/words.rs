//! Words and numbers of arguments, in the ranges of the command line.

use super::errors::{Kind, argument};
use super::threads::is_forked;
use case::DoseEngine;
use engine::DeviceChoice;
use glam::DVec3;
use pyo3::prelude::*;
use std::path::Path;

/// The meaning of a word among those that are known.
pub fn one_of<T: Clone>(name: &str, word: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let choice = choices
        .iter()
        .find(|(listed, _)| *listed == word)
        .map(|(_, meaning)| meaning.clone());
    choice.ok_or_else(|| {
        let words: Vec<&str> = choices.iter().map(|(listed, _)| *listed).collect();
        argument(format!(
            "{name} is '{word}': it is one of {}",
            words.join(", ")
        ))
    })
}

/// The dose engine of a word.
pub fn engine(word: &str) -> PyResult<DoseEngine> {
    one_of(
        "engine",
        word,
        &DoseEngine::ALL.map(|engine| (engine.word(), engine)),
    )
}

/// A finite number from `low` to `high`.
pub fn within(name: &str, value: f64, [low, high]: [f64; 2]) -> PyResult<f64> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(argument(format!(
        "{name} is {value}: it must be from {low} to {high}"
    )))
}

/// A finite number above 0.
pub fn positive(name: &str, value: f64) -> PyResult<f64> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(argument(format!("{name} is {value}: it must be above 0")))
    }
}

/// Degrees, up to a full turn either way.
pub fn angle(name: &str, value: f64) -> PyResult<f64> {
    within(name, value, [-360.0, 360.0])
}

/// A position of finite numbers, mm.
pub fn position(name: &str, xyz: [f64; 3]) -> PyResult<DVec3> {
    let position = DVec3::from(xyz);
    if position.is_finite() {
        Ok(position)
    } else {
        Err(argument(format!("{name} {xyz:?} is no position")))
    }
}

/// The device of a word, as `--device` has them; in a forked process the CPU alone.
pub fn device(word: &str) -> PyResult<DeviceChoice> {
    let choice: DeviceChoice = word
        .parse()
        .map_err(|why| argument(format!("device is '{word}': {why}")))?;
    if is_forked() {
        cpu_of_forked(word, choice)
    } else {
        Ok(choice)
    }
}

/// The CPU in a forked process, whose parent's contexts of cards it cannot use; never in place of a card in silence.
fn cpu_of_forked(word: &str, choice: DeviceChoice) -> PyResult<DeviceChoice> {
    let wants_card = match choice {
        DeviceChoice::Cpu => false,
        DeviceChoice::Auto => choice.is_for_a_card(),
        _ => true,
    };
    if wants_card {
        return Err(argument(format!(
            "device is '{word}', and this process was forked: drivers of cards do not work behind a fork; pass device='cpu', or \
             start processes by multiprocessing.get_context('spawn')"
        )));
    }
    Ok(DeviceChoice::Cpu)
}

/// Refuses a file that is there already, unless it may be replaced.
pub fn check_new(path: &Path, overwrite: bool) -> PyResult<()> {
    if path.exists() && !overwrite {
        let path = path.display();
        return Err(Kind::File.exception(format!(
            "'{path}' is there already: choose another name, or pass overwrite=True"
        )));
    }
    Ok(())
}
