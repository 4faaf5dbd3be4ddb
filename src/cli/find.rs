//! `beamsight find`: what another system has, and its studies in a folder here.

use super::peer::{ThrottledLine, TitleArgs, make_folder};
use super::{Failure, VerbOutput};
use files::stop_in_order;
use network::{
    Match, Query, Retrieval, Route, find, query_date, query_key, query_name, query_uid,
    retrieve_all,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --study it lists studies, with it the series of that one. --get retrieves what is listed, each \
study into a folder of its own: over the association that asks (C-GET), or with --by move by a call back to --bind and \
--port, whose address and --calling title must be entered at the other system.\n\n\
Examples:\n  \
beamsight find --from pacs:104 --called PACS --patient 'RT-0*'\n  \
beamsight find --from pacs:104 --called PACS --name 'Doe Jane' --date 2026-11-01..2026-11-27\n  \
beamsight find --from pacs:104 --called PACS --study 1.2.3.4 --json\n  \
beamsight find --from pacs:104 --called PACS --study 1.2.3.4 --get inbox\n  \
beamsight find --from pacs:104 --called PACS --study 1.2.3.4 --get inbox --by move --bind 10.0.0.5"
)]
pub struct Args {
    /// Host and port of the other system
    #[arg(long, value_name = "HOST:PORT")]
    from: String,

    #[command(flatten)]
    titles: TitleArgs,

    /// Patient ID; * and ? stand for any letters and any letter
    #[arg(long, value_name = "ID", value_parser = query_key)]
    patient: Option<String>,

    /// Beginning of the patient's name, as Doe or 'Doe Jane'; with * and ? the whole name
    #[arg(long, value_name = "NAME", value_parser = query_name)]
    name: Option<String>,

    /// Day of the study, 2026-11-27, or days: 2026-11-01..2026-11-27, 2026-11-01.. or ..2026-11-27
    #[arg(long, value_name = "DAYS", value_parser = query_date)]
    date: Option<String>,

    /// Study Instance UID: list its series
    #[arg(long, value_name = "UID", value_parser = query_uid, conflicts_with_all = ["patient", "name", "date"])]
    study: Option<String>,

    /// Modality, such as CT, RTPLAN or RTDOSE
    #[arg(long, value_name = "MODALITY", value_parser = query_key)]
    modality: Option<String>,

    /// Retrieve what is listed into this folder; made where it is missing
    #[arg(long, value_name = "DIR")]
    get: Option<PathBuf>,

    /// How it comes: get (C-GET) or move (C-MOVE)
    #[arg(long, value_name = "WAY", default_value = "get", value_parser = by, requires = "get")]
    by: By,

    /// Address that C-MOVE calls back
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1",
        requires = "get"
    )]
    bind: IpAddr,

    /// Port that C-MOVE calls back
    #[arg(long, value_name = "PORT", default_value = "11112", requires = "get")]
    port: u16,
}

#[derive(Clone, Copy, Debug)]
enum By {
    Get,
    Move,
}

fn by(word: &str) -> Result<By, String> {
    match word {
        "get" => Ok(By::Get),
        "move" => Ok(By::Move),
        _ => Err("it is get or move".to_owned()),
    }
}

/// # Errors
/// A system that is not there or refuses; as [`Failure::Checks`] objects that were not retrieved.
pub fn run(args: &Args) -> Result<VerbOutput, Failure> {
    let Args {
        patient,
        name,
        date,
        study,
        modality,
        ..
    } = args;
    if args.get.is_some()
        && [patient, name, date, study]
            .into_iter()
            .all(Option::is_none)
    {
        let words =
            "--get would retrieve all that the system has; name a --patient, --name, --date or --study"
                .to_owned();
        return Err(Failure::Words(words));
    }
    let stop = stop_in_order();
    let call = args.titles.call(&args.from);
    let query = Query {
        patient: patient.clone(),
        name: name.clone(),
        date: date.clone(),
        study: study.clone(),
        modality: modality.clone(),
    };
    let matches = find(&call, &query, stop)?;
    let text = table(&matches, study.is_some());
    let Some(into) = &args.get else {
        return Ok(VerbOutput {
            json: json!({ "from": args.from, "matches": matches }),
            text,
        });
    };
    super::tell(&text);
    if matches.is_empty() {
        let json = json!({ "from": args.from, "matches": matches, "objects": 0 });
        return Err(Failure::Checks(VerbOutput {
            json,
            text: "nothing to retrieve".to_owned(),
        }));
    }
    make_folder(into, "--get")?;
    let wanted = query.wanted(&matches);
    let route = match args.by {
        By::Get => Route::Get,
        By::Move => Route::Move(SocketAddr::new(args.bind, args.port)),
    };
    let line = Mutex::new(ThrottledLine::new());
    let (arrived, errors) = retrieve_all(&call, &wanted, route, into, stop, &|come, to_come| {
        line.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .tell(|| format!("{come} objects have come, {to_come} are to come"));
    });
    let answer = retrieved(&arrived, &errors, json!(matches), args, into);
    let failed = arrived.failed > 0 || arrived.objects == 0 || !errors.is_empty();
    if failed {
        Err(Failure::Checks(answer))
    } else {
        Ok(answer)
    }
}

fn retrieved(
    retrieval: &Retrieval,
    errors: &[String],
    matches: Value,
    args: &Args,
    into: &Path,
) -> VerbOutput {
    let text = retrieval.lines(errors, into).join("\n");
    let json = json!({
        "from": args.from,
        "matches": matches,
        "objects": retrieval.objects,
        "failed": retrieval.failed,
        "refusals": retrieval.refusals,
        "errors": errors,
        "folders": retrieval.folders,
    });
    VerbOutput { json, text }
}

fn table(matches: &[Match], is_series: bool) -> String {
    let mut text = String::new();
    for m in matches {
        let Match {
            patient_id,
            patient_name,
            study_uid,
            date,
            description,
            modality,
            ..
        } = m;
        // Some systems do not count.
        let count = if m.objects.is_empty() {
            String::new()
        } else {
            format!("{} objects", m.objects)
        };
        let _ = match is_series {
            true => writeln!(
                text,
                "{modality:<8} {:>4}  {count:>13}  {date:<8}  {}  {description}",
                m.series_number, m.series_uid
            ),
            false => writeln!(
                text,
                "{patient_id:<16} {patient_name:<24} {date:<8}  {modality:<20} {count:>13}  {study_uid}  {description}"
            ),
        };
    }
    let what = if is_series { "series" } else { "studies" };
    let _ = write!(text, "{} {what} found", matches.len());
    text
}
