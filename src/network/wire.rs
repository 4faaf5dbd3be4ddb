//! PDUs over a socket: bounded in memory before their bytes are read, and in time.

use super::NetworkError;
use super::association::Patience;
use dicom_ul::pdu::{MAXIMUM_PDU_SIZE, Pdu, read_pdu, write_pdu};
use input::{ASSOCIATE_BYTES, beginning, fenced, plain};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a wait looks whether it is to end.
const SLICE: Duration = Duration::from_millis(100);
/// A connection that has ended is read on for this long: closed at once, the last words would be lost with what is unread.
const FAREWELL: Duration = Duration::from_secs(1);
const HEADER_BYTES: usize = 6;

/// A connection to a peer.
pub struct Wire<'s> {
    stream: TcpStream,
    /// The peer in words.
    pub who: String,
    pub patience: Patience,
    stop: &'s AtomicBool,
    /// Longest PDU that is taken now.
    pub most: u32,
}

impl<'s> Wire<'s> {
    /// # Errors
    /// Errors of the socket's settings.
    pub fn new(
        stream: TcpStream,
        who: String,
        patience: Patience,
        stop: &'s AtomicBool,
    ) -> io::Result<Self> {
        // On some systems an accepted socket inherits this from the listener.
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(SLICE))?;
        stream.set_write_timeout(Some(SLICE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            who,
            patience,
            stop,
            most: ASSOCIATE_BYTES,
        })
    }

    /// The next PDU.
    ///
    /// # Errors
    /// A silent, vanished or wrong peer; [`NetworkError::Stopped`].
    pub fn read(&mut self, doing: &'static str) -> Result<Pdu, NetworkError> {
        let mut bytes = vec![0; HEADER_BYTES];
        self.fill(&mut bytes[..1], self.patience.idle, doing)?;
        let begun = Instant::now();
        self.fill(&mut bytes[1..], self.patience.pdu, doing)?;
        let length = u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
        if !(0x01..=0x07).contains(&bytes[0]) {
            return Err(self.wrong("what it sent is no PDU"));
        }
        if length > self.most {
            return Err(self.wrong(&format!(
                "a PDU claims {length} bytes where {} are the most",
                self.most
            )));
        }
        bytes.resize(HEADER_BYTES + length as usize, 0);
        let left = self.patience.pdu.saturating_sub(begun.elapsed());
        self.fill(&mut bytes[HEADER_BYTES..], left, doing)?;
        match fenced(|| read_pdu(&bytes[..], MAXIMUM_PDU_SIZE, false).map_err(|e| e.to_string()))
            .and_then(|read| read)
        {
            Ok(Some(pdu)) => Ok(pdu),
            Ok(None) => Err(self.wrong("a PDU ends before its parts do")),
            Err(words) => Err(self.wrong(&beginning(&plain(&words)))),
        }
    }

    pub fn slow(&self, doing: &'static str) -> NetworkError {
        NetworkError::Slow {
            who: self.who.clone(),
            doing,
        }
    }

    pub fn wrong(&self, what: &str) -> NetworkError {
        NetworkError::Protocol {
            who: self.who.clone(),
            what: what.to_owned(),
        }
    }

    fn fill(
        &mut self,
        mut to: &mut [u8],
        patience: Duration,
        doing: &'static str,
    ) -> Result<(), NetworkError> {
        let begun = Instant::now();
        while !to.is_empty() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(NetworkError::Stopped);
            }
            acknowledge_at_once(&self.stream);
            match self.stream.read(to) {
                Ok(0) => {
                    return Err(NetworkError::Closed {
                        who: self.who.clone(),
                        doing,
                    });
                }
                // Bytes that come one by one do not begin the wait anew.
                Ok(n) if n < to.len() && begun.elapsed() >= patience => {
                    return Err(self.slow(doing));
                }
                Ok(n) => to = &mut to[n..],
                Err(error) => self.may_wait(error, begun, patience, doing)?,
            }
        }
        Ok(())
    }

    /// Sends a PDU.
    ///
    /// # Errors
    /// A peer that does not read, or has vanished; [`NetworkError::Stopped`] where it does not read and the user stops.
    pub fn write(&mut self, pdu: &Pdu, doing: &'static str) -> Result<(), NetworkError> {
        let mut bytes = Vec::new();
        write_pdu(&mut bytes, pdu).map_err(|e| self.wrong(&e.to_string()))?;
        let (begun, mut left) = (Instant::now(), &bytes[..]);
        while !left.is_empty() {
            match self.stream.write(left) {
                Ok(0) => {
                    return Err(NetworkError::Closed {
                        who: self.who.clone(),
                        doing,
                    });
                }
                Ok(n) if n < left.len() && begun.elapsed() >= self.patience.pdu => {
                    return Err(self.slow(doing));
                }
                Ok(n) => left = &left[n..],
                Err(_) if self.stop.load(Ordering::Relaxed) => return Err(NetworkError::Stopped),
                Err(error) => self.may_wait(error, begun, self.patience.pdu, doing)?,
            }
        }
        Ok(())
    }

    fn may_wait(
        &self,
        error: io::Error,
        begun: Instant,
        patience: Duration,
        doing: &'static str,
    ) -> Result<(), NetworkError> {
        let who = || self.who.clone();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if begun.elapsed() < patience => {
                Ok(())
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Err(NetworkError::Silent {
                who: who(),
                seconds: patience.as_secs(),
                doing,
            }),
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                Err(NetworkError::Closed { who: who(), doing })
            }
            _ => Err(NetworkError::Broke {
                who: who(),
                doing,
                source: error,
            }),
        }
    }

    /// Ends the connection after the last PDU.
    pub fn end(&mut self) {
        // All errors mean that there is no connection any more.
        let _ = self.stream.shutdown(Shutdown::Write);
        let (begun, mut discarded) = (Instant::now(), [0; 4096]);
        while begun.elapsed() < FAREWELL {
            match self.stream.read(&mut discarded) {
                Ok(n) if n > 0 => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                _ => break,
            }
        }
    }
}

/// A peer that sends a PDU in two small parts holds the second until the first is acknowledged (Nagle, RFC 896), which Linux puts off by
/// 40 ms for each message. The option lasts for one read.
#[cfg(target_os = "linux")]
fn acknowledge_at_once(stream: &TcpStream) {
    use std::os::linux::net::TcpStreamExt as _;
    // Only speed hangs on it.
    let _ = stream.set_quickack(true);
}

#[cfg(not(target_os = "linux"))]
fn acknowledge_at_once(_: &TcpStream) {}
