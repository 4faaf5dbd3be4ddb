//! `beamsight send`: DICOM files to another system.

use super::peer::{ThrottledLine, TitleArgs};
use super::{Failure, VerbOutput};
use anyhow::anyhow;
use dicom::{ToSend, transferables};
use files::stop_in_order;
use network::{NetworkError, Sent, echo, send};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every object leaves as it is in its file, in its own transfer syntax; what the other system does not take \
is named, and the exit code is then 1; so are files that hold no object and are passed over, without that. It is asked first whether it is there (C-ECHO). Ctrl-C aborts the association in order. \
There is no TLS, and no storage commitment: that an object was taken is all that is known.\n\n\
Examples:\n  \
beamsight send chest --to pacs:104 --called PACS\n  \
beamsight send plan-2/RP.dcm plan-2/RS.dcm --to 10.0.0.7:104 --called ECLIPSE --calling PHYSICS\n  \
beamsight send --echo --to 127.0.0.1:11112 --called BEAMSIGHT"
)]
pub struct Args {
    /// Folders of DICOM files (searched with their subfolders), or files
    #[arg(value_name = "PATH", required_unless_present = "echo")]
    paths: Vec<PathBuf>,

    /// Host and port of the other system
    #[arg(long, value_name = "HOST:PORT")]
    to: String,

    #[command(flatten)]
    titles: TitleArgs,

    /// Only ask whether it is there
    #[arg(long, conflicts_with = "paths")]
    echo: bool,
}

/// # Errors
/// Files that cannot be read, a system that is not there; as [`Failure::Checks`] objects that were not taken.
pub fn run(args: &Args) -> Result<VerbOutput, Failure> {
    let stop = stop_in_order();
    let call = args.titles.call(&args.to);
    let listed = if args.echo {
        ToSend::default()
    } else {
        transferables(&args.paths, &|_| !stop.load(Ordering::Relaxed))?
    };
    let nothing = listed.objects.is_empty() && listed.faulty.is_empty();
    if !args.echo && nothing {
        return Err(anyhow!("there are no DICOM objects in {}", names(&args.paths)).into());
    }
    let peer = format!("{} at {}", call.called, call.to);
    match echo(&call, stop) {
        Ok(()) => {}
        // Some systems store without answering echoes.
        Err(error @ NetworkError::NoService { .. }) if !args.echo => {
            super::tell(&format!("note: {error}"))
        }
        Err(error) => return Err(error.into()),
    }
    if args.echo {
        let json = json!({ "to": args.to, "called": call.called.as_str(), "echo": true });
        return Ok(VerbOutput {
            json,
            text: format!("{peer} is there and answers"),
        });
    }
    let (line, total) = (ThrottledLine::new(), listed.objects.len());
    let sent = send(&call, &listed.objects, stop, &|done| {
        line.tell(|| format!("{done} of {total} objects sent"))
    });
    let answer = describe(&sent, &listed, &peer, args);
    let failed = sent.broken.is_some() || !sent.refused.is_empty() || !listed.faulty.is_empty();
    if failed {
        Err(Failure::Checks(answer))
    } else {
        Ok(answer)
    }
}

/// Files of a list that are named to people; one folder can hold thousands of pictures beside its objects.
const MOST_NAMED: usize = 40;

fn names(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

fn describe(sent: &Sent, listed: &ToSend, peer: &str, args: &Args) -> VerbOutput {
    let mut text = String::new();
    let lists = [
        ("passed over", &listed.passed_over),
        ("taken with a warning", &sent.warned),
        ("not sent", &listed.faulty),
        ("refused", &sent.refused),
    ];
    for (what, list) in lists {
        for unsent in list.iter().take(MOST_NAMED) {
            let _ = writeln!(text, "  {what}: {}: {}", unsent.file, unsent.why);
        }
        if list.len() > MOST_NAMED {
            let _ = writeln!(
                text,
                "  {what}: {} more, all in the answer of --json",
                list.len() - MOST_NAMED
            );
        }
    }
    if let Some(error) = &sent.broken {
        let _ = writeln!(
            text,
            "  broken off: {error}; {} objects were not sent",
            sent.left
        );
    }
    let (refused, faulty) = (sent.refused.len(), listed.faulty.len());
    let _ = write!(
        text,
        "{} of {} objects sent to {peer}",
        sent.sent,
        listed.objects.len() + faulty
    );
    if refused + faulty > 0 {
        let _ = write!(text, "; {refused} refused, {faulty} could not be read");
    }
    if !listed.passed_over.is_empty() {
        let _ = write!(text, "; {} passed over", listed.passed_over.len());
    }
    let json = json!({
        "to": args.to,
        "sent": sent.sent,
        "warned": sent.warned,
        "refused": sent.refused,
        "faulty": listed.faulty,
        "passed_over": listed.passed_over,
        "left": sent.left,
        "error": sent.broken.as_ref().map(ToString::to_string),
    });
    VerbOutput { json, text }
}
