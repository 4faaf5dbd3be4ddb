//! Which job reads another's files, and so in which order they are run.

use super::jobs_file::{Parsed, RESERVED};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Notes with each job whose files it reads. Returns faults by line: inputs that are neither there nor written by another job, and
/// jobs that wait for each other in a circle.
pub fn put_in_order(parsed: &mut [Parsed], out: &Path) -> Vec<(usize, String)> {
    let out = real(out);
    let by_name: HashMap<OsString, usize> = parsed
        .iter()
        .enumerate()
        .map(|(n, one)| (one.job.name.clone().into(), n))
        .collect();
    let mut faults = Vec::new();
    for n in 0..parsed.len() {
        let mut reads: Vec<usize> = parsed[n]
            .files
            .read_paths()
            .filter_map(|path| place(path, &out, &by_name))
            .map(|(other, _)| other)
            .collect();
        reads.sort_unstable();
        reads.dedup();
        for (what, path) in parsed[n].files.missing() {
            let fault = match place(path, &out, &by_name) {
                None => format!("{what} '{}' is not there", path.display()),
                Some((other, inside)) if !writes(&parsed[other], &inside) => {
                    let name = &parsed[other].job.name;
                    format!(
                        "{what} '{}' is not there, and the job '{name}' writes no such file",
                        path.display()
                    )
                }
                Some(_) => continue,
            };
            faults.push((parsed[n].line, fault));
        }
        parsed[n].job.reads = reads;
    }
    faults.extend(level(parsed));
    group(parsed);
    faults
}

/// The job, by index, whose folder in `out` a path is or lies in, and its place there.
fn place(path: &Path, out: &Path, by_name: &HashMap<OsString, usize>) -> Option<(usize, PathBuf)> {
    let path = real(path);
    let mut inside = path.strip_prefix(out).ok()?.components();
    let Some(Component::Normal(name)) = inside.next() else {
        return None;
    };
    Some((*by_name.get(name)?, inside.as_path().to_owned()))
}

fn writes(parsed: &Parsed, inside: &Path) -> bool {
    let mut written = parsed.files.written_paths();
    inside.as_os_str().is_empty()
        || RESERVED.iter().any(|name| inside == Path::new(name))
        || written.any(|path| path.file_name() == Some(inside.as_os_str()))
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = path
        .ancestors()
        .find_map(|part| Some((part, part.canonicalize().ok()?)));
    match existing {
        Some((part, real)) => real.join(path.strip_prefix(part).unwrap_or(Path::new(""))),
        None => path,
    }
}

/// Puts every job above those it reads from; the jobs that cannot be wait for each other, of which one circle is told.
fn level(parsed: &mut [Parsed]) -> Option<(usize, String)> {
    let mut levels: Vec<Option<usize>> = vec![None; parsed.len()];
    loop {
        let mut is_settled = true;
        for n in 0..parsed.len() {
            let below: Option<Vec<usize>> = parsed[n]
                .job
                .reads
                .iter()
                .map(|other| levels[*other])
                .collect();
            if let (None, Some(below)) = (levels[n], below) {
                levels[n] = Some(below.into_iter().map(|level| level + 1).max().unwrap_or(0));
                is_settled = false;
            }
        }
        if is_settled {
            break;
        }
    }
    for (one, level) in parsed.iter_mut().zip(&levels) {
        one.job.level = level.unwrap_or(0);
    }
    // Each of them reads from another of them: followed long enough, the way comes back.
    let mut way = vec![levels.iter().position(Option::is_none)?];
    loop {
        let mut reads = parsed[*way.last()?].job.reads.iter().copied();
        let n = reads.find(|other| levels[*other].is_none())?;
        if let Some(begin) = way.iter().position(|earlier| *earlier == n) {
            let circle = &way[begin..];
            let first = circle.iter().min()?;
            let why = match circle {
                [alone] => format!("the job '{}' reads its own files", parsed[*alone].job.name),
                _ => {
                    let jobs = circle.iter().chain([&n]);
                    let names: Vec<String> = jobs
                        .map(|job| format!("'{}'", parsed[*job].job.name))
                        .collect();
                    format!(
                        "jobs wait for each other's files in a circle: {}",
                        names.join(" reads ")
                    )
                }
            };
            return Some((parsed[*first].line, why));
        }
        way.push(n);
    }
}

/// Numbers the groups of jobs that wait for each other by their first job.
fn group(parsed: &mut [Parsed]) {
    (0..parsed.len()).for_each(|n| parsed[n].job.group = n);
    loop {
        let mut is_settled = true;
        for n in 0..parsed.len() {
            for m in 0..parsed[n].job.reads.len() {
                let other = parsed[n].job.reads[m];
                let first = parsed[n].job.group.min(parsed[other].job.group);
                is_settled &= parsed[n].job.group == first && parsed[other].job.group == first;
                (parsed[n].job.group, parsed[other].job.group) = (first, first);
            }
        }
        if is_settled {
            return;
        }
    }
}
