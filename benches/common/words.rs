//! Words of the command line of a bench on a card: CASE words, `--runs N`, `--card N`, `--walk WALK`.

use std::error::Error;
use std::process::ExitCode;
use std::str::FromStr;

pub struct Words {
    /// Only cases whose names begin so; all where empty.
    pub cases: Vec<String>,
    /// Timed runs of a case, after one that is not.
    pub runs: usize,
    pub card: usize,
    pub walk: Option<String>,
}

impl Words {
    pub fn read() -> Result<Self, String> {
        let mut read = Self {
            cases: Vec::new(),
            runs: 15,
            card: 0,
            walk: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                // What cargo passes to every bench.
                "--bench" => {}
                "--runs" => read.runs = number(&value()?)?,
                "--card" => read.card = number(&value()?)?,
                "--walk" => read.walk = Some(value()?),
                option if option.starts_with('-') => {
                    return Err(format!("there is no option {option}"));
                }
                case => read.cases.push(case.to_owned()),
            }
        }
        if read.runs == 0 {
            Err("--runs is 1 or more".to_owned())
        } else {
            Ok(read)
        }
    }
}

/// The end of a bench; why it failed goes to standard error.
pub fn end(result: Result<(), Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("{word} is no number"))
}

/// The middle of some times.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
