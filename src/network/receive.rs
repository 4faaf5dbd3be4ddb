//! Storage and verification as their provider (PS3.4 annexes A and B): a listener on request, bound to one address, with
//! a list of those let in.

use super::association::{Association, Message, Patience};
use super::command::{SUCCESS, Service};
use super::incoming::Incoming;
use super::negotiation::Policy;
use super::waiting::Waiting;
use super::wire::Wire;
use super::{AeTitle, NetworkError};
use files::Temporary;
use input::{ANSWER_BYTES, ASSOCIATIONS_MOST, OBJECT_BYTES};
use std::cell::Cell;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the listener looks whether it is to end.
const SLICE: Duration = Duration::from_millis(20);
/// Status of a service that is not offered (PS3.7 C.5.23).
const NOT_RECOGNISED: u16 = 0x0211;

/// Address and title of a listener, and the titles that it lets in.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    pub bind: SocketAddr,
    pub ae: AeTitle,
    /// Titles that may call; empty: any.
    pub allow: Vec<AeTitle>,
    /// Every association has a folder in it.
    pub into: PathBuf,
    pub patience: Patience,
    /// Most bytes of an object.
    pub object_bytes: u64,
}

impl ReceiveOptions {
    /// Bound to this machine alone, to a port that the system chooses.
    pub fn local(ae: AeTitle, into: PathBuf) -> Self {
        let (bind, patience) = (SocketAddr::from(([127, 0, 0, 1], 0)), Patience::default());
        Self {
            bind,
            ae,
            allow: Vec::new(),
            into,
            patience,
            object_bytes: OBJECT_BYTES,
        }
    }
}

/// The titles that a listener lets in of those that are named, `any` for all: empty for any. `None` where an address that
/// other machines reach has nobody named.
pub fn let_in(ip: IpAddr, named: &[AeTitle]) -> Option<Vec<AeTitle>> {
    if !ip.is_loopback() && named.is_empty() {
        return None;
    }
    let is_any = named.iter().any(|title| title.as_str() == "any");
    Some(if is_any { Vec::new() } else { named.to_vec() })
}

/// When a listener ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Until<'a> {
    /// After the first association that brought objects, whole or not.
    pub once: bool,
    pub time: Option<Instant>,
    /// When this is set.
    pub done: Option<&'a AtomicBool>,
}

/// Objects that arrived whole in one association.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub from: String,
    pub objects: usize,
    pub refused: usize,
    /// The first refusals: which object, and why.
    pub refusals: Vec<String>,
    /// `None` where no object was taken.
    pub folder: Option<PathBuf>,
}

/// Events of a listener.
#[derive(Clone, Debug)]
pub enum Event {
    Echoed {
        from: String,
    },
    Delivered(Delivery),
    /// A conversation that ended otherwise: whether it had begun to bring objects, and how many had come whole. Nothing of it
    /// is kept.
    Broken {
        why: String,
        begun: bool,
        dropped: usize,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Echoed { from } => write!(f, "{from} asked whether this is there"),
            Self::Delivered(Delivery {
                from,
                objects,
                refused,
                refusals,
                folder,
            }) => {
                write!(f, "{from} sent {objects} objects")?;
                if let Some(folder) = folder {
                    write!(f, ", now in {}", folder.display())?;
                }
                if *refused > 0 {
                    write!(f, "; {refused} were refused")?;
                }
                refusals
                    .iter()
                    .try_for_each(|refusal| write!(f, "\n  {refusal}"))
            }
            Self::Broken {
                why, begun: false, ..
            } => f.write_str(why),
            Self::Broken {
                why, dropped: 0, ..
            } => write!(f, "{why}; nothing of it is kept"),
            Self::Broken { why, dropped, .. } => {
                write!(
                    f,
                    "{why}; nothing of it is kept, also not the {dropped} objects that had come whole"
                )
            }
        }
    }
}

/// A listener.
#[derive(Debug)]
pub struct Receiver {
    listener: TcpListener,
    address: SocketAddr,
    options: ReceiveOptions,
    waiting: Waiting,
    /// Associations that are open.
    open: AtomicUsize,
}

/// A place for an association, given back when its conversation ends.
struct AssociationSlot<'a> {
    open: &'a AtomicUsize,
    taken: Cell<bool>,
}

impl AssociationSlot<'_> {
    fn take(&self) -> bool {
        self.taken.set(
            self.open
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open: usize| {
                    (open < ASSOCIATIONS_MOST).then_some(open + 1)
                })
                .is_ok(),
        );
        self.taken.get()
    }
}

impl Drop for AssociationSlot<'_> {
    fn drop(&mut self) {
        if self.taken.get() {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Receiver {
    /// Begins to listen; the folder must be there and take files.
    ///
    /// # Errors
    /// [`NetworkError::Listen`], [`NetworkError::Folder`].
    pub fn bind(options: ReceiveOptions) -> Result<Self, NetworkError> {
        // A temporary folder tests write access.
        Temporary::folder_in(&options.into).map_err(|source| NetworkError::Folder {
            folder: options.into.clone(),
            source,
        })?;
        let listen = |source| NetworkError::Listen {
            address: options.bind.to_string(),
            source,
        };
        let listener = TcpListener::bind(options.bind).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self {
            listener,
            address,
            options,
            waiting: Waiting::default(),
            open: AtomicUsize::new(0),
        })
    }

    /// Address of the listener, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the end, and then until the associations that are open have ended; `told` hears what happens, from
    /// several threads.
    ///
    /// # Errors
    /// A listener that the system has closed. What a peer does is told, and ends nothing.
    pub fn serve(
        &self,
        until: Until,
        stop: &AtomicBool,
        told: &(dyn Fn(&Event) + Sync),
    ) -> Result<(), NetworkError> {
        let had_one = AtomicBool::new(false);
        thread::scope(|scope| {
            loop {
                let late = until.time.is_some_and(|time| Instant::now() >= time);
                let enough = until.once && had_one.load(Ordering::Relaxed);
                let done = until.done.is_some_and(|done| done.load(Ordering::Relaxed));
                if stop.load(Ordering::Relaxed) || late || enough || done {
                    return Ok(());
                }
                let (stream, from) = match self.listener.accept() {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        self.may_wait(error)?;
                        continue;
                    }
                };
                let had_one = &had_one;
                let begun = self.waiting.add(from.ip(), &stream).and_then(|number| {
                    let thread = thread::Builder::new().name("association".to_owned());
                    thread
                        .spawn_scoped(scope, move || {
                            let brought = self.converse(stream, from, number, stop, told);
                            had_one.fetch_or(brought, Ordering::Relaxed);
                        })
                        .inspect_err(|_| {
                            self.waiting.remove(number);
                        })
                });
                if let Err(error) = begun {
                    let why = format!("{from} was cut off: {error}");
                    told(&Event::Broken {
                        why,
                        begun: false,
                        dropped: 0,
                    });
                }
            }
        })
    }

    fn may_wait(&self, error: io::Error) -> Result<(), NetworkError> {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
        match error.kind() {
            WouldBlock | Interrupted | ConnectionAborted | ConnectionReset => {
                thread::sleep(SLICE);
                Ok(())
            }
            _ => Err(NetworkError::Listen {
                address: self.address.to_string(),
                source: error,
            }),
        }
    }

    /// One association from its beginning to its end; whether it brought objects.
    fn converse(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        number: u64,
        stop: &AtomicBool,
        told: &(dyn Fn(&Event) + Sync),
    ) -> bool {
        let options = &self.options;
        let mut incoming = Incoming::new(&options.into, options.object_bytes);
        let place = AssociationSlot {
            open: &self.open,
            taken: Cell::new(false),
        };
        let received = self.receive(stream, from, number, &place, stop, &mut incoming);
        let makes_way = !self.waiting.remove(number) && !place.taken.get();
        let event = match received {
            Err(_) if makes_way => {
                let why = format!(
                    "{} was cut off: it had asked for nothing when others called",
                    from.ip()
                );
                Event::Broken {
                    why,
                    begun: false,
                    dropped: 0,
                }
            }
            Ok((from, folder)) if incoming.objects + incoming.refused > 0 => {
                let (objects, refused) = (incoming.objects, incoming.refused);
                let refusals = std::mem::take(&mut incoming.refusals);
                Event::Delivered(Delivery {
                    from,
                    objects,
                    refused,
                    refusals,
                    folder,
                })
            }
            Ok((from, _)) => Event::Echoed { from },
            Err(error) => {
                let (begun, dropped) = (incoming.was_begun(), incoming.objects);
                Event::Broken {
                    why: error.to_string(),
                    begun,
                    dropped,
                }
            }
        };
        let brought = matches!(
            event,
            Event::Delivered(_) | Event::Broken { begun: true, .. }
        );
        // What was dropped is gone before that is told.
        drop(incoming);
        told(&event);
        brought
    }

    fn receive(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        number: u64,
        place: &AssociationSlot,
        stop: &AtomicBool,
        incoming: &mut Incoming,
    ) -> Result<(String, Option<PathBuf>), NetworkError> {
        let options = &self.options;
        let who = from.ip().to_string();
        let wire = Wire::new(stream, who.clone(), options.patience, stop).map_err(|source| {
            NetworkError::Broke {
                who: who.clone(),
                doing: "it connected",
                source,
            }
        })?;
        let policy = Policy {
            ae: &options.ae,
            allow: &options.allow,
            enter: &|| place.take() && self.waiting.remove(number),
        };
        let mut association = Association::accept(wire, &policy)?;
        while let Message::Command { context, command } =
            association.next("its next message was awaited")?
        {
            if command.is(Service::Store) {
                incoming.store(&mut association, context, &command)?;
            } else if command.is(Service::Cancel) {
                // Nothing here lasts long enough to be cancelled; it has no answer.
            } else {
                if command.has_data() {
                    association.data(context, ANSWER_BYTES, &mut |_| ())?;
                }
                let status = if command.is(Service::Echo) {
                    SUCCESS
                } else {
                    NOT_RECOGNISED
                };
                association.send_command(context, &command.answer(status, ""))?;
            }
        }
        let who = association.who().to_owned();
        // In its place before the sender hears that all is done.
        let folder = incoming.finish(&association.peer)?;
        // Whether the peer hears the last word changes nothing.
        let _ = association.released();
        Ok((who, folder))
    }
}
