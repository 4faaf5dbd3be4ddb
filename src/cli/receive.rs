//! `beamsight receive`: a listener for DICOM objects, as long as it runs.

use super::peer::make_folder;
use super::{Failure, VerbOutput};
use files::stop_in_order;
use input::{ASSOCIATIONS_MOST, OBJECT_BYTES, in_words};
use network::{AeTitle, Event, ReceiveOptions, Receiver, Until, let_in};
use serde_json::json;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Nothing listens unless this runs, and only this machine reaches it until --bind names another address; \
then --allow must say who may call. Every association has a folder of its own in DIR, which appears when the sender has ended \
it in order; of one that breaks off, nothing is kept. Ctrl-C ends it. There is no TLS: use it in a network you trust.\n\n\
Examples:\n  \
beamsight receive --out inbox\n  \
beamsight receive --out inbox --once\n  \
beamsight receive --out inbox --bind 10.0.0.5 --allow ECLIPSE,PACS --port 104"
)]
pub struct Args {
    /// Folder that takes what comes; made where it is missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Port to listen on; 0: one that the system chooses
    #[arg(long, value_name = "PORT", default_value = "11112")]
    port: u16,

    /// AE title that senders must call
    #[arg(long, value_name = "AE", default_value = "BEAMSIGHT")]
    ae: AeTitle,

    /// Address to listen on; 0.0.0.0: all of this machine's
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// AE titles that may call, or any [default: any, from this machine alone]
    #[arg(long, value_name = "AE,...", value_delimiter = ',')]
    allow: Vec<AeTitle>,

    /// End after one association that brought objects
    #[arg(long)]
    once: bool,

    /// End after this time
    #[arg(long = "for", value_name = "SECONDS", value_parser = super::words::whole::<u32>)]
    seconds: Option<u32>,
}

/// # Errors
/// An address that cannot be listened on, a folder that takes no files. What a sender does is told, and ends nothing.
pub fn run(args: &Args) -> Result<VerbOutput, Failure> {
    let allow = let_in(args.bind, &args.allow).ok_or_else(|| {
        Failure::Words(format!(
            "others reach {}: say who may call with --allow AE,AE, or --allow any",
            args.bind
        ))
    })?;
    let stop = stop_in_order();
    make_folder(&args.out, "--out")?;
    let options = ReceiveOptions {
        bind: SocketAddr::new(args.bind, args.port),
        allow,
        ..ReceiveOptions::local(args.ae.clone(), args.out.clone())
    };
    let receiver = Receiver::bind(options)?;
    let address = receiver.address();
    super::tell(&format!(
        "listening on {address} as {}: at most {ASSOCIATIONS_MOST} associations at once, {} an object",
        args.ae,
        in_words(OBJECT_BYTES)
    ));
    let events = Mutex::new(Vec::new());
    let time = args
        .seconds
        .map(|s| Instant::now() + Duration::from_secs(u64::from(s)));
    receiver.serve(
        Until {
            once: args.once,
            time,
            done: None,
        },
        stop,
        &|event: &Event| {
            super::tell(&event.to_string());
            let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
            // A listener may run for months: what it keeps is bounded.
            if events.len() < EVENTS_KEPT {
                events.push(event.clone());
            }
        },
    )?;
    let events = events.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary(&events, address, args)
}

/// Events that the summary counts.
const EVENTS_KEPT: usize = 100_000;

fn summary(events: &[Event], address: SocketAddr, args: &Args) -> Result<VerbOutput, Failure> {
    let (mut deliveries, mut broken, mut objects, mut failed) = (Vec::new(), Vec::new(), 0, 0);
    for event in events {
        match event {
            Event::Echoed { .. } => {}
            Event::Delivered(delivery) => {
                objects += delivery.objects;
                failed += delivery.refused;
                deliveries.push(json!({
                    "from": delivery.from, "objects": delivery.objects, "refused": delivery.refused,
                    "refusals": delivery.refusals, "folder": delivery.folder,
                }));
            }
            Event::Broken { why, begun, .. } => {
                failed += usize::from(*begun);
                broken.push(why);
            }
        }
    }
    let mut text = format!(
        "{objects} objects received in {} associations",
        deliveries.len()
    );
    if failed > 0 || !broken.is_empty() {
        text += &format!(
            "; {failed} objects or associations failed, {} ended out of order",
            broken.len()
        );
    }
    let json = json!({
        "address": address.to_string(), "ae": args.ae.as_str(), "objects": objects, "deliveries": deliveries, "broken": broken,
    });
    let answer = VerbOutput { json, text };
    if failed > 0 || (args.once && objects == 0) {
        Err(Failure::Checks(answer))
    } else {
        Ok(answer)
    }
}
