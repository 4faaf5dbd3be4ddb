//! State of the network: names and addresses as typed, the listener, the conversation under way, and events.

use files::PeerSettings;
use network::{
    AeTitle, Call, Match, Patience, Query, ReceiveOptions, Route, let_in, query_date, query_key,
    query_name, query_uid,
};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Lines that are kept.
const MOST_LINES: usize = 200;
/// Arrivals that are offered to open.
const MOST_ARRIVALS: usize = 8;

/// Purpose of a call to another system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    Echo,
    Send,
    Find,
    Get,
}

impl Errand {
    /// Words on what is left after the user has cancelled it, and how to go on.
    pub fn after_cancel(self) -> &'static str {
        match self {
            Self::Echo => "Cancelled: asking. Press 'Ask whether it is there' to go on.",
            Self::Send => {
                "Cancelled: sending. What was sent stays there. Press 'Send' to send all of it."
            }
            Self::Find => "Cancelled: finding. Press 'Find' to go on.",
            Self::Get => {
                "Cancelled: retrieving. Series that are whole stay. Press 'Get' to retrieve again."
            }
        }
    }
}

/// A conversation that this program began, under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calling {
    pub errand: Errand,
    pub done: usize,
    /// 0 until it is known.
    pub all: usize,
    /// The user has requested its end.
    pub stopping: bool,
}

/// A query as it is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    pub name: String,
    pub patient: String,
    /// Day of the study, or range of days.
    pub date: String,
    pub study: String,
    pub modality: String,
    /// Objects come by a call back to the listener's address (C-MOVE), not over the association that asks (C-GET).
    pub by_move: bool,
}

/// Answer of a system to a query.
#[derive(Clone, Debug)]
pub struct Found {
    pub call: Call,
    pub query: Query,
    pub matches: Vec<Match>,
}

#[derive(Debug, Default)]
pub struct Network {
    pub is_open: bool,
    pub settings: PeerSettings,
    /// Whether a listener was started and has not ended.
    pub has_listener: bool,
    /// Address of the listener.
    pub listening: Option<SocketAddr>,
    pub calling: Option<Calling>,
    /// The last conversation of ours, to be had again where it failed.
    pub last: Option<NetworkAction>,
    pub has_failed: bool,
    pub search: Search,
    pub found: Option<Found>,
    /// Events, oldest first, and whether each is a failure.
    pub lines: VecDeque<(bool, String)>,
    /// Folders of arrivals, newest first.
    pub arrived: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkAction {
    Open(bool),
    Settings(PeerSettings),
    Listen,
    StopListening,
    /// Asks the other system whether it is there.
    Echo,
    Send,
    Search(Search),
    /// Asks what the other system has.
    Find,
    /// Retrieves an answer to the last query, by index; `None`: all of them.
    Get(Option<usize>),
    /// Ends the conversation of ours.
    Stop,
}

impl Network {
    pub fn tell(&mut self, is_failure: bool, line: impl Into<String>) {
        self.lines.push_back((is_failure, line.into()));
        if self.lines.len() > MOST_LINES {
            self.lines.pop_front();
        }
    }

    pub fn add_arrival(&mut self, folder: PathBuf) {
        self.arrived.insert(0, folder);
        self.arrived.truncate(MOST_ARRIVALS);
    }

    /// Options of a listener, by what is typed.
    ///
    /// # Errors
    /// Entries that are missing or wrong.
    pub fn receive_options(&self) -> Result<ReceiveOptions, String> {
        let typed = &self.settings;
        if typed.into.trim().is_empty() {
            return Err("name a folder for what arrives".to_owned());
        }
        let bind = self.address()?;
        let ip = bind.ip();
        let words = typed
            .allow
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty());
        let titles = words.map(title).collect::<Result<Vec<_>, _>>()?;
        let allow = let_in(ip, &titles)
            .ok_or_else(|| format!("others reach {ip}: say who may call, or any"))?;
        Ok(ReceiveOptions {
            bind,
            allow,
            ..ReceiveOptions::local(title(&typed.own_title)?, PathBuf::from(typed.into.trim()))
        })
    }

    /// Query to ask, by what is typed.
    ///
    /// # Errors
    /// Entries that are wrong.
    pub fn query(&self) -> Result<Query, String> {
        let typed = &self.search;
        let study = entry("study", &typed.study, query_uid)?;
        let patient = entry("patient", &typed.patient, query_key)?;
        let name = entry("name", &typed.name, query_name)?;
        let date = entry("date", &typed.date, query_date)?;
        if study.is_some() && (patient.is_some() || name.is_some() || date.is_some()) {
            return Err(
                "a study is asked for by its UID alone: leave name, ID and date out".to_owned(),
            );
        }
        Ok(Query {
            patient,
            name,
            date,
            study,
            modality: entry("modality", &typed.modality, query_key)?,
        })
    }

    /// The folder that objects come to, and how.
    ///
    /// # Errors
    /// Entries that are missing or wrong.
    pub fn way_in(&self) -> Result<(PathBuf, Route), String> {
        let typed = &self.settings;
        let into = typed.into.trim();
        if into.is_empty() {
            return Err("name a folder for what arrives".to_owned());
        }
        let route = if self.search.by_move {
            Route::Move(self.address()?)
        } else {
            Route::Get
        };
        Ok((PathBuf::from(into), route))
    }

    fn address(&self) -> Result<SocketAddr, String> {
        let typed = &self.settings;
        let ip: IpAddr = typed
            .bind
            .trim()
            .parse()
            .map_err(|_| format!("'{}' is no address to listen on", typed.bind))?;
        let port: u16 = typed
            .port
            .trim()
            .parse()
            .map_err(|_| format!("'{}' is no port", typed.port))?;
        Ok(SocketAddr::new(ip, port))
    }

    /// Call to make, by what is typed.
    ///
    /// # Errors
    /// Entries that are missing or wrong.
    pub fn call(&self) -> Result<Call, String> {
        let typed = &self.settings;
        let to = typed.to.trim().to_owned();
        if to.is_empty() {
            return Err("name the host and port of the other system".to_owned());
        }
        let (called, calling) = (title(&typed.called)?, title(&typed.own_title)?);
        Ok(Call {
            to,
            called,
            calling,
            patience: Patience::default(),
        })
    }
}

fn title(word: &str) -> Result<AeTitle, String> {
    word.parse()
        .map_err(|why| format!("'{}': {why}", word.trim()))
}

/// The value of an entry of a query; `None` where it is empty.
fn entry(
    name: &str,
    typed: &str,
    read: fn(&str) -> Result<String, String>,
) -> Result<Option<String>, String> {
    match typed.trim() {
        "" => Ok(None),
        word => read(word)
            .map(Some)
            .map_err(|why| format!("{name} '{word}': {why}")),
    }
}
