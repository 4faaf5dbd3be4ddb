//! A part of a run's histories, computed by itself: its sums go into a file, and the sums of all parts give the dose of one
//! run, to the bit.

use super::faults::Faults;
use super::tally::Tally;
use crate::dose::DoseError;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use input::check_unpacked;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::str::FromStr;
use thiserror::Error;

/// Which part of a run: the batches from `(number - 1) / of` of them on, until `number / of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunPart {
    /// From 1.
    pub number: u64,
    pub of: u64,
}

impl RunPart {
    /// The batches of this part.
    pub(super) fn batches(self, run_batches: u64) -> Range<u64> {
        let until = |n: u64| (u128::from(run_batches) * u128::from(n) / u128::from(self.of)) as u64;
        until(self.number - 1)..until(self.number)
    }
}

impl FromStr for RunPart {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (number, count) = word.split_once('/').unwrap_or_default();
        match (number.parse(), count.parse()) {
            (Ok(number), Ok(count)) if 1 <= number && number <= count => {
                Ok(Self { number, of: count })
            }
            _ => Err("it is a number of a part and how many there are, like 2/4".to_owned()),
        }
    }
}

impl fmt::Display for RunPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Why parts do not make up a run.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PartError {
    #[error(
        "the run has {batches} batches of histories: split it into {batches} parts at most, not {of}"
    )]
    TooMany { batches: u64, of: u64 },
    #[error(
        "the parts are of another run: plan, images, grid, machine, seed, histories, settings of the engine and program must be the same"
    )]
    OtherRun,
    #[error("part {0} is there twice; give each part once")]
    Twice(RunPart),
    #[error("part {missing} is missing; give all {} parts", missing.of)]
    Missing { missing: RunPart },
    #[error(
        "a part was computed on the CPU and another on a card: their histories differ in the last bits; compute all on one kind"
    )]
    UnlikeDevices,
    #[error("it is no tally of histories: {0}")]
    Unreadable(String),
}

/// Errors of a run in parts.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum OfPartsError {
    #[error(transparent)]
    Dose(#[from] DoseError),
    #[error(transparent)]
    Parts(#[from] PartError),
}

/// Contents of a file's head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    /// Digest of all that a history reads.
    run: String,
    parts: Vec<RunPart>,
    batches: u64,
    histories: u64,
    voxels: usize,
    devices: Vec<String>,
    ms: f64,
    faults: Faults,
}

/// How a part ran.
pub(super) struct RanPart {
    pub part: RunPart,
    pub device: String,
    pub ms: f64,
    pub faults: Faults,
}

/// Sums over the histories of one or several parts of a run.
#[derive(Clone)]
pub struct PartTally {
    head: Head,
    pub(crate) tally: Tally,
}

impl fmt::Debug for PartTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.fmt(f)
    }
}

/// First line of a file.
const MARK: &str = "beamsight tally 2";
/// Bytes of a head; a run has few parts and devices.
const HEAD_BYTES: u64 = 1 << 20;
/// A sum and a sum of squares.
const VOXEL_BYTES: u64 = 24;

impl PartTally {
    /// Sums of a part with where and how long its histories ran, and what went wrong with them.
    pub(super) fn new(run: String, ran: RanPart, tally: Tally) -> Self {
        Self {
            head: Head {
                run,
                parts: vec![ran.part],
                batches: tally.batches,
                histories: tally.histories,
                voxels: tally.sum.len(),
                devices: vec![ran.device],
                ms: ran.ms,
                faults: ran.faults,
            },
            tally,
        }
    }

    /// Particles of all parts that did not go as they should.
    pub(super) fn faults(&self) -> Faults {
        self.head.faults
    }

    pub fn batches(&self) -> u64 {
        self.head.batches
    }

    pub fn histories(&self) -> u64 {
        self.head.histories
    }

    /// Number of parts in it.
    pub fn parts(&self) -> usize {
        self.head.parts.len()
    }

    pub fn devices(&self) -> &[String] {
        &self.head.devices
    }

    /// Time of the histories, summed over all parts, ms.
    pub fn ms(&self) -> f64 {
        self.head.ms
    }

    /// Whether a card ran its histories.
    pub(crate) fn on_a_card(&self) -> bool {
        self.head
            .devices
            .iter()
            .all(|device| !device.starts_with("cpu"))
    }

    /// Adds another part: whole numbers, whose order does not matter.
    ///
    /// # Errors
    /// [`PartError`]: a part of another run, one that is here already, or of another kind of device.
    pub fn add(&mut self, other: &Self) -> Result<(), PartError> {
        let part_count = |head: &Head| head.parts.first().map(|part| part.of);
        if self.head.run != other.head.run
            || self.head.voxels != other.head.voxels
            || part_count(&self.head) != part_count(&other.head)
        {
            return Err(PartError::OtherRun);
        }
        if let Some(twice) = other
            .head
            .parts
            .iter()
            .find(|part| self.head.parts.contains(part))
        {
            return Err(PartError::Twice(*twice));
        }
        if self.on_a_card() != other.on_a_card() {
            return Err(PartError::UnlikeDevices);
        }
        self.tally.add_all(&other.tally);
        self.head.parts.extend(&other.head.parts);
        (self.head.batches, self.head.histories) = (self.tally.batches, self.tally.histories);
        self.head.ms += other.head.ms;
        self.head.faults += other.head.faults;
        for device in &other.head.devices {
            if !self.head.devices.contains(device) {
                self.head.devices.push(device.clone());
            }
        }
        Ok(())
    }

    /// Checks that these are all parts of a run with the given numbers of batches and histories.
    ///
    /// # Errors
    /// [`PartError`].
    pub(super) fn check(&self, run: &str, [batches, histories]: [u64; 2]) -> Result<(), PartError> {
        if self.head.run != run {
            return Err(PartError::OtherRun);
        }
        let part_count = self.head.parts.first().map_or(1, |part| part.of);
        let parts = (1..=part_count).map(|number| RunPart {
            number,
            of: part_count,
        });
        if let Some(missing) = { parts }.find(|part| !self.head.parts.contains(part)) {
            return Err(PartError::Missing { missing });
        }
        if [self.head.batches, self.head.histories] == [batches, histories] {
            return Ok(());
        }
        Err(PartError::OtherRun)
    }

    /// Writes a line, a head in JSON, and the sums (`u64`, then their squares as `u128`, little-endian) as gzip, whose checksum
    /// tells a damaged file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{MARK}\n{}", serde_json::to_string(&self.head)?)?;
        let mut packed = GzEncoder::new(out, Compression::fast());
        write_values(&mut packed, &self.tally.sum, |value| value.to_le())?;
        write_values(&mut packed, &self.tally.squares, |value| value.to_le())?;
        packed.finish().map(drop)
    }

    /// Reads what [`Self::write`] wrote, from a file of `bytes` bytes.
    ///
    /// # Errors
    /// [`PartError::Unreadable`].
    pub fn read(from: impl Read, bytes: u64) -> Result<Self, PartError> {
        let wrong = |why: String| PartError::Unreadable(why);
        let mut from = io::BufReader::new(from);
        let mut line = || {
            let mut text = String::new();
            let read = io::BufRead::read_line(&mut from.by_ref().take(HEAD_BYTES), &mut text);
            read.map(|_| text.trim_end().to_owned())
                .map_err(|e| PartError::Unreadable(e.to_string()))
        };
        if line()? != MARK {
            return Err(wrong(format!("its first line is not '{MARK}'")));
        }
        let head: Head = serde_json::from_str(&line()?).map_err(|e| wrong(e.to_string()))?;
        check_unpacked(bytes, (head.voxels as u64).saturating_mul(VOXEL_BYTES))
            .map_err(|e| wrong(e.to_string()))?;
        if head.parts.is_empty()
            || !head.parts.iter().all(|part| {
                1 <= part.number && part.number <= part.of && part.of == head.parts[0].of
            })
        {
            return Err(wrong("its head contradicts itself".to_owned()));
        }
        let mut packed = GzDecoder::new(from);
        let cut = |e: io::Error| wrong(format!("it is damaged: {e}"));
        let sum = read_values(&mut packed, head.voxels, u64::from_le).map_err(cut)?;
        let squares = read_values(&mut packed, head.voxels, u128::from_le).map_err(cut)?;
        // The checksum is compared at the end of the stream.
        if packed.read(&mut [0]).map_err(cut)? != 0 {
            return Err(wrong("it is longer than its head says".to_owned()));
        }
        let Head {
            batches, histories, ..
        } = head;
        Ok(Self {
            head,
            tally: Tally {
                sum,
                squares,
                batches,
                histories,
            },
        })
    }
}

/// Values that are converted at a time.
const VALUES: usize = 1 << 14;

fn write_values<T: Pod>(
    out: &mut impl Write,
    values: &[T],
    to_le: impl Fn(T) -> T,
) -> io::Result<()> {
    let mut little: Vec<T> = Vec::with_capacity(VALUES);
    values.chunks(VALUES).try_for_each(|chunk| {
        little.clear();
        little.extend(chunk.iter().map(|value| to_le(*value)));
        out.write_all(cast_slice(&little))
    })
}

/// Memory grows with what is read, so that a head that lies takes none.
fn read_values<T: Pod>(
    from: &mut impl Read,
    count: usize,
    from_le: impl Fn(T) -> T,
) -> io::Result<Vec<T>> {
    let mut values: Vec<T> = Vec::new();
    while values.len() < count {
        let mut chunk = vec![T::zeroed(); VALUES.min(count - values.len())];
        from.read_exact(cast_slice_mut(&mut chunk))?;
        values.extend(chunk.into_iter().map(&from_le));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(run: &str, part: &str, device: &str) -> PartTally {
        let sums = Tally {
            sum: vec![3, 0, 7],
            squares: vec![9, 0, 1 << 100],
            batches: 2,
            histories: 20,
        };
        let ran = RanPart {
            part: part.parse().unwrap(),
            device: device.to_owned(),
            ms: 1.5,
            faults: Faults { stuck: 1, lost: 4 },
        };
        PartTally::new(run.to_owned(), ran, sums)
    }

    #[test]
    fn parts_are_all_batches_once() {
        for (run_batches, count) in [(10, 1), (10, 3), (11, 4), (5, 5)] {
            let parts =
                (1..=count).map(|number| RunPart { number, of: count }.batches(run_batches));
            let mut next = 0;
            for part in parts {
                assert!(
                    part.start == next && !part.is_empty(),
                    "{run_batches} {count}"
                );
                next = part.end;
            }
            assert_eq!(next, run_batches);
        }
        assert_eq!("2/4".parse(), Ok(RunPart { number: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "2", "", "/", "a/b", "-1/2"] {
            assert!(wrong.parse::<RunPart>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_comes_back_or_is_refused() {
        let part = tally("a", "1/2", "cpu (2 threads)");
        let mut file = Vec::new();
        part.write(&mut file).unwrap();
        let back = PartTally::read(&file[..], 300).unwrap();
        assert_eq!(
            (&back.head, &back.tally.sum, &back.tally.squares),
            (&part.head, &part.tally.sum, &part.tally.squares)
        );
        // Any byte of the sums, or the end, that is not what was written.
        let sums = file.len() - 30;
        for n in (sums..file.len()).step_by(3) {
            let mut damaged = file.clone();
            damaged[n] ^= 0x10;
            let same = PartTally::read(&damaged[..], 300).is_ok_and(|t| {
                t.tally.sum == part.tally.sum && t.tally.squares == part.tally.squares
            });
            assert!(
                PartTally::read(&damaged[..], 300).is_err() || same,
                "byte {n}"
            );
            assert!(PartTally::read(&file[..n], 300).is_err(), "cut at {n}");
        }
        let lie =
            String::from_utf8_lossy(&file).replacen("\"voxels\":3", "\"voxels\":900000000", 1);
        assert!(PartTally::read(lie.as_bytes(), 300).is_err());
        assert!(
            PartTally::read(&b"something else"[..], 300).is_err()
                && PartTally::read(&b""[..], 0).is_err()
        );
    }

    #[test]
    fn only_all_parts_of_one_run_on_one_kind_of_device_go_together() {
        let mut sum = tally("a", "1/3", "cpu (2 threads)");
        assert_eq!(
            sum.add(&tally("a", "1/3", "cpu (8 threads)")),
            Err(PartError::Twice("1/3".parse().unwrap()))
        );
        assert_eq!(
            sum.add(&tally("b", "2/3", "cpu (2 threads)")),
            Err(PartError::OtherRun)
        );
        assert_eq!(
            sum.add(&tally("a", "2/4", "cpu (2 threads)")),
            Err(PartError::OtherRun)
        );
        assert_eq!(
            sum.add(&tally("a", "2/3", "cuda:0 H200")),
            Err(PartError::UnlikeDevices)
        );
        sum.add(&tally("a", "3/3", "cpu (8 threads)")).unwrap();
        assert_eq!(
            sum.check("a", [6, 60]),
            Err(PartError::Missing {
                missing: "2/3".parse().unwrap()
            })
        );
        sum.add(&tally("a", "2/3", "cpu (2 threads)")).unwrap();
        assert_eq!(sum.check("a", [6, 60]), Ok(()));
        assert_eq!(sum.check("a", [7, 60]), Err(PartError::OtherRun));
        assert_eq!(
            (sum.tally.sum[2], sum.tally.squares[2], sum.histories()),
            (21, 3 << 100, 60)
        );
        assert_eq!(sum.devices(), ["cpu (2 threads)", "cpu (8 threads)"]);
        assert_eq!(sum.faults(), Faults { stuck: 3, lost: 12 });
    }
}
