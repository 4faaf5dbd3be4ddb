//! Work of one process: a job, a part of its histories, or the merging of all parts.

use super::jobs_file::{Job, Word, with_files};
use super::record::{Program, done};
use super::workers::BatchContext;
use engine::Digest;
use engine::histories::RunPart;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    Whole,
    Part(RunPart),
    /// Merging of the parts, by their number.
    Merge(u64),
}

impl Piece {
    /// The number of a part, from 0.
    pub fn number(self) -> u64 {
        if let Self::Part(part) = self {
            part.number - 1
        } else {
            0
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    pub job: &'a Job,
    /// The job's number, from 0.
    pub n: usize,
    pub piece: Piece,
}

/// The file of a part's sums.
pub const TALLY: &str = "part.tally";

impl Job {
    /// The parts of the job, or the job itself.
    pub fn pieces(&self, n: usize) -> impl Iterator<Item = Unit<'_>> {
        (1..=self.parts.unwrap_or(1)).map(move |number| Unit {
            job: self,
            n,
            piece: match self.parts {
                None => Piece::Whole,
                Some(count) => Piece::Part(RunPart { number, of: count }),
            },
        })
    }

    /// The merging of the job's parts, once all are there.
    pub fn merge(&self, n: usize, context: &BatchContext<'_>) -> Option<Unit<'_>> {
        let piece = Piece::Merge(self.parts?);
        let are_parts_done = self.pieces(n).all(|part| done(context, &part).is_some());
        are_parts_done.then_some(Unit {
            job: self,
            n,
            piece,
        })
    }
}

impl Unit<'_> {
    pub fn name(&self) -> String {
        match self.piece {
            Piece::Part(RunPart { number, of }) => {
                format!("{}.part-{number}-of-{of}", self.job.name)
            }
            _ => self.job.name.clone(),
        }
    }

    pub fn folder(&self, out: &Path) -> PathBuf {
        out.join(self.name())
    }

    /// The words of its process, with files to write in a folder.
    pub fn words(&self, out: &Path, folder: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for word in with_files(&self.job.words) {
            match word {
                Word::Plain(word) => words.push(word.into()),
                // A part has no dose to write.
                Word::File { .. } if matches!(self.piece, Piece::Part(_)) => {}
                Word::File { option, name } => {
                    words.extend([option.into(), folder.join(name).into()])
                }
            }
        }
        match self.piece {
            Piece::Whole => {}
            Piece::Part(part) => words.extend([
                "--part".into(),
                part.to_string().into(),
                "--tally".into(),
                folder.join(TALLY).into(),
            ]),
            Piece::Merge(_) => {
                for part in self.job.pieces(self.n) {
                    words.extend(["--merge".into(), part.folder(out).join(TALLY).into()]);
                }
            }
        }
        words
    }

    /// Digest of the words, the working folder and the program. A merged dose has the digest of a single run.
    pub fn digest(&self, program: &Program) -> String {
        let mut digest = Digest::default();
        digest.add_bytes(program.digest.as_bytes());
        digest.add_bytes(
            std::env::current_dir()
                .unwrap_or_default()
                .as_os_str()
                .as_encoded_bytes(),
        );
        self.job
            .words
            .iter()
            .for_each(|word| digest.add_bytes(word.as_bytes()));
        if let Piece::Part(part) = self.piece {
            digest.add_bytes(part.to_string().as_bytes());
        }
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(piece: Piece) -> Vec<String> {
        let words = [
            "dose",
            "demo:water",
            "--out",
            "a.mha",
            "--sigma=b.mha",
            "--grid",
            "5",
        ]
        .map(str::to_owned);
        let reads = Vec::new();
        let job = Job {
            name: "x".to_owned(),
            words: words.to_vec(),
            parts: Some(2),
            reads,
            group: 0,
            level: 0,
        };
        let words = Unit {
            job: &job,
            n: 0,
            piece,
        }
        .words(Path::new("/o"), Path::new("/o/new"));
        words
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn files_lie_in_the_folder_and_parts_have_their_own() {
        assert_eq!(
            words(Piece::Whole),
            [
                "dose",
                "demo:water",
                "--out",
                "/o/new/a.mha",
                "--sigma",
                "/o/new/b.mha",
                "--grid",
                "5"
            ]
        );
        let part = words(Piece::Part(RunPart { number: 2, of: 2 }));
        assert_eq!(
            part,
            [
                "dose",
                "demo:water",
                "--grid",
                "5",
                "--part",
                "2/2",
                "--tally",
                "/o/new/part.tally"
            ]
        );
        let merge = words(Piece::Merge(2));
        assert_eq!(
            merge[8..],
            [
                "--merge",
                "/o/x.part-1-of-2/part.tally",
                "--merge",
                "/o/x.part-2-of-2/part.tally"
            ]
        );
    }
}
