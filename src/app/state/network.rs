//! What the window knows of other systems: names and places as typed, what listens and sends now, what was said.

use crate::files::PeerSettings;
use crate::network::{AeTitle, Call, Patience, ReceiveOptions, let_in};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Lines that are kept.
const MOST_LINES: usize = 200;
/// Arrivals that are offered to open.
const MOST_ARRIVALS: usize = 8;

/// A conversation of ours under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    pub done: usize,
    /// 0 until the files are read.
    pub all: usize,
    /// The user has asked for its end.
    pub stopping: bool,
}

#[derive(Debug, Default)]
pub struct Network {
    pub is_open: bool,
    pub settings: PeerSettings,
    /// Whether a listener was asked for and has not ended.
    pub has_listener: bool,
    /// Where it listens.
    pub listening: Option<SocketAddr>,
    pub sending: Option<Sending>,
    /// What happened, oldest first, and whether it is a failure.
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
    StopSending,
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

    /// What a listener is to be, by what is typed.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn receive_options(&self) -> Result<ReceiveOptions, String> {
        let typed = &self.settings;
        if typed.into.trim().is_empty() {
            return Err("name a folder for what arrives".to_owned());
        }
        let ip: IpAddr =
            typed.bind.trim().parse().map_err(|_| format!("'{}' is no address to listen on", typed.bind))?;
        let port: u16 = typed.port.trim().parse().map_err(|_| format!("'{}' is no port", typed.port))?;
        let words = typed.allow.split(',').map(str::trim).filter(|word| !word.is_empty());
        let titles = words.map(title).collect::<Result<Vec<_>, _>>()?;
        let allow =
            let_in(ip, &titles).ok_or_else(|| format!("others reach {ip}: say who may call, or any"))?;
        Ok(ReceiveOptions {
            bind: SocketAddr::new(ip, port),
            allow,
            ..ReceiveOptions::local(title(&typed.own_title)?, PathBuf::from(typed.into.trim()))
        })
    }

    /// Whom to call, by what is typed.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn call(&self) -> Result<Call, String> {
        let typed = &self.settings;
        let to = typed.to.trim().to_owned();
        if to.is_empty() {
            return Err("name the host and port of the other system".to_owned());
        }
        let (called, calling) = (title(&typed.called)?, title(&typed.own_title)?);
        Ok(Call { to, called, calling, patience: Patience::default() })
    }
}

fn title(word: &str) -> Result<AeTitle, String> {
    word.parse().map_err(|why| format!("'{}': {why}", word.trim()))
}
