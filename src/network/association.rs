//! Associations: what two systems agree on before they speak, and the messages between them (PS3.7 annex D, PS3.8 chapter 7).

use super::command::Command;
use super::negotiation::{
    APPLICATION_CONTEXT, Policy, Proposal, answer_contexts, longest, rejected, request_pdu,
    user_variables, why_not,
};
use super::wire::Wire;
use super::{AeTitle, NetworkError};
use dicom_ul::pdu::{
    AbortRQSource, AssociationAC, AssociationRJ, PDV_HEADER_SIZE, PDataValue, PDataValueType, Pdu,
    PresentationContextResultReason,
};
use input::{COMMAND_BYTES, PDU_BYTES, REQUEST_SECONDS, plain};
use std::collections::VecDeque;
use std::io::Read;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Contexts have odd numbers from 1 to 255.
pub const CONTEXTS_MOST: usize = 128;

/// How long a peer may be silent.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until it accepts the connection.
    pub connect: Duration,
    /// Until one that has connected begins to ask for an association, and from then until it has asked.
    pub request: Duration,
    /// Until it begins its next PDU.
    pub idle: Duration,
    /// From the first byte of a PDU to its last.
    pub pdu: Duration,
    /// Beyond the time of a PDU, a message may take a second for every this many bytes of it.
    pub bytes_per_s: u32,
}

impl Patience {
    /// How long a message of this many bytes may take.
    fn of_message(&self, bytes: u64) -> Duration {
        self.pdu + Duration::from_secs_f64(bytes as f64 / f64::from(self.bytes_per_s.max(1)))
    }
}

impl Default for Patience {
    fn default() -> Self {
        let [connect, request, idle, pdu] = [10, REQUEST_SECONDS, 60, 30].map(Duration::from_secs);
        Self {
            connect,
            request,
            idle,
            pdu,
            bytes_per_s: 1000,
        }
    }
}

/// Address and titles of an association.
#[derive(Clone, Debug)]
pub struct Call {
    /// HOST:PORT
    pub to: String,
    pub called: AeTitle,
    pub calling: AeTitle,
    pub patience: Patience,
}

/// A context that both sides agreed on.
#[derive(Clone, Debug)]
pub struct Context {
    pub id: u8,
    pub class: String,
    pub syntax: String,
}

/// The next message of a peer.
pub enum Message {
    Command {
        context: u8,
        command: Command,
    },
    /// The peer has requested the release of the association.
    Release,
}

pub struct Association<'s> {
    wire: Wire<'s>,
    /// Title of the other side.
    pub peer: String,
    contexts: Vec<Context>,
    /// Longest PDU that the other side takes.
    most: u32,
    waiting: VecDeque<PDataValue>,
    open: bool,
    next_message: u16,
}

impl<'s> Association<'s> {
    /// Asks a system for an association.
    ///
    /// # Errors
    /// [`NetworkError`]: no system there, a rejection, a silent or wrong peer.
    pub fn request(
        call: &Call,
        proposals: &[Proposal],
        stop: &'s AtomicBool,
    ) -> Result<Self, NetworkError> {
        let who = format!("{} at {}", call.called, call.to);
        let stream = connect(call, &who)?;
        let wire = Wire::new(stream, who.clone(), call.patience, stop).map_err(|source| {
            NetworkError::Connect {
                who: who.clone(),
                source,
            }
        })?;
        let mut association = Self::over(wire, call.called.to_string());
        association.wire.write(
            &request_pdu(call, proposals),
            "it was asked for an association",
        )?;
        let answer = association.read("it was asked for an association");
        let accepted = match answer {
            Ok(Pdu::AssociationAC(accepted)) => accepted,
            Ok(Pdu::AssociationRJ(rejection)) => {
                association.open = false;
                return Err(rejected(who, &rejection));
            }
            Ok(_) => {
                return Err(association
                    .wire
                    .wrong("it did not answer the request for an association"));
            }
            Err(error) => return Err(error),
        };
        association.most = longest(&accepted.user_variables);
        for result in accepted.presentation_contexts {
            if result.reason != PresentationContextResultReason::Acceptance {
                continue;
            }
            let proposal = proposals
                .iter()
                .zip((1u8..).step_by(2))
                .find(|(_, id)| *id == result.id);
            let syntax = result.transfer_syntax.trim_end_matches('\0').trim();
            let Some((proposal, _)) =
                proposal.filter(|(p, _)| p.syntaxes.iter().any(|s| s == syntax))
            else {
                return Err(association.wire.wrong("it accepted what was not proposed"));
            };
            let (class, syntax) = (proposal.class.clone(), syntax.to_owned());
            association.contexts.push(Context {
                id: result.id,
                class,
                syntax,
            });
        }
        association.wire.most = PDU_BYTES;
        Ok(association)
    }

    /// Answers the request of a system that has connected.
    ///
    /// # Errors
    /// [`NetworkError::TurnedAway`] where the policy does not let it in; a silent or wrong peer.
    pub fn accept(wire: Wire<'s>, policy: &Policy) -> Result<Self, NetworkError> {
        let patience = wire.patience;
        let mut association = Self::over(wire, String::new());
        let [idle, pdu] = [patience.idle, patience.pdu].map(|time| time.min(patience.request));
        association.wire.patience = Patience {
            idle,
            pdu,
            ..patience
        };
        let request = match association.read("its request for an association was awaited")? {
            Pdu::AssociationRQ(request) => request,
            _ => {
                return Err(association
                    .wire
                    .wrong("it did not begin with a request for an association"));
            }
        };
        association.wire.patience = patience;
        let title = plain(&request.calling_ae_title).into_owned();
        association.wire.who = format!("{title} at {}", association.wire.who);
        association.peer = title;
        if let Some((result, source, reason)) = why_not(&request, policy) {
            let answer = Pdu::AssociationRJ(AssociationRJ { result, source });
            association.wire.write(&answer, "it was turned away")?;
            association.open = false;
            association.wire.end();
            return Err(NetworkError::TurnedAway {
                who: association.wire.who.clone(),
                reason,
            });
        }
        if request.presentation_contexts.len() > CONTEXTS_MOST {
            return Err(association
                .wire
                .wrong("it proposed more contexts than there are numbers for"));
        }
        association.most = longest(&request.user_variables);
        let (results, contexts) = answer_contexts(&request.presentation_contexts);
        association.contexts = contexts;
        let answer = Pdu::AssociationAC(AssociationAC {
            protocol_version: 1,
            calling_ae_title: request.calling_ae_title,
            called_ae_title: request.called_ae_title,
            application_context_name: APPLICATION_CONTEXT.to_owned(),
            presentation_contexts: results,
            user_variables: user_variables(),
        });
        association.wire.write(&answer, "it was let in")?;
        association.wire.most = PDU_BYTES;
        Ok(association)
    }

    fn over(wire: Wire<'s>, peer: String) -> Self {
        let longest = PDU_BYTES;
        Self {
            wire,
            peer,
            contexts: Vec::new(),
            most: longest,
            waiting: VecDeque::new(),
            open: true,
            next_message: 0,
        }
    }

    /// The other side in words.
    pub fn who(&self) -> &str {
        &self.wire.who
    }

    pub fn context(&self, id: u8) -> Option<&Context> {
        self.contexts.iter().find(|context| context.id == id)
    }

    pub fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// The context of a service.
    ///
    /// # Errors
    /// [`NetworkError::NoService`].
    pub fn service(&self, class: &str, service: &'static str) -> Result<u8, NetworkError> {
        let context = self.contexts.iter().find(|context| context.class == class);
        context
            .map(|c| c.id)
            .ok_or_else(|| NetworkError::NoService {
                who: self.who().to_owned(),
                service,
            })
    }

    /// A number for the next message.
    pub fn message_id(&mut self) -> u16 {
        self.next_message = self.next_message.wrapping_add(1);
        self.next_message
    }

    /// # Errors
    /// A peer that does not read, or has vanished.
    pub fn send_command(&mut self, context: u8, command: &Command) -> Result<(), NetworkError> {
        let bytes = command.encode();
        let length = bytes.len() as u64;
        let who = self.who().to_owned();
        self.send(
            context,
            PDataValueType::Command,
            &mut &bytes[..],
            length,
            |source| NetworkError::Broke {
                who: who.clone(),
                doing: "a command was sent",
                source,
            },
        )
    }

    /// Sends the data set of a message in fragments of the agreed size; `failed` makes an error of the reader's.
    ///
    /// # Errors
    /// As [`Self::send_command`]; errors of the reader, or fewer bytes than `length`.
    pub fn send_data(
        &mut self,
        context: u8,
        from: &mut dyn Read,
        length: u64,
        failed: impl Fn(std::io::Error) -> NetworkError,
    ) -> Result<(), NetworkError> {
        self.send(context, PDataValueType::Data, from, length, failed)
    }

    fn send(
        &mut self,
        presentation_context_id: u8,
        kind: PDataValueType,
        from: &mut dyn Read,
        length: u64,
        failed: impl Fn(std::io::Error) -> NetworkError,
    ) -> Result<(), NetworkError> {
        // Fragments have an even number of bytes (PS3.8 annex E).
        let fragment = u64::from(self.most.saturating_sub(PDV_HEADER_SIZE) & !1);
        if fragment == 0 {
            return Err(self.wire.wrong("it takes no PDU that has room for data"));
        }
        let mut left = length;
        loop {
            let mut data = vec![0; left.min(fragment) as usize];
            from.read_exact(&mut data).map_err(&failed)?;
            left -= data.len() as u64;
            let (is_last, value_type) = (left == 0, kind.clone());
            let value = PDataValue {
                presentation_context_id,
                value_type,
                is_last,
                data,
            };
            self.wire
                .write(&Pdu::PData { data: vec![value] }, "data was sent")?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// The next message of the other side.
    ///
    /// # Errors
    /// A silent, vanished or wrong peer, an abort.
    pub fn next(&mut self, doing: &'static str) -> Result<Message, NetworkError> {
        let (mut bytes, mut context, mut begun) = (Vec::new(), None, None);
        loop {
            self.keep_pace(begun, bytes.len() as u64, doing)?;
            let value = match self.value(doing)? {
                Some(value) => value,
                None if context.is_none() => return Ok(Message::Release),
                None => {
                    return Err(self
                        .wire
                        .wrong("it released the association inside a message"));
                }
            };
            let id = value.presentation_context_id;
            if value.value_type != PDataValueType::Command || *context.get_or_insert(id) != id {
                return Err(self.wire.wrong("data came where a command belongs"));
            }
            if bytes.len() + value.data.len() > COMMAND_BYTES {
                return Err(self
                    .wire
                    .wrong("a command has more bytes than any can have"));
            }
            bytes.extend(value.data);
            begun.get_or_insert_with(Instant::now);
            if value.is_last {
                let command = Command::decode(&bytes).map_err(|words| self.wire.wrong(&words))?;
                return Ok(Message::Command {
                    context: id,
                    command,
                });
            }
        }
    }

    /// The answer to a message.
    ///
    /// # Errors
    /// As [`Self::next`]; another message.
    pub fn answer(
        &mut self,
        is_it: impl Fn(&Command) -> bool,
        doing: &'static str,
    ) -> Result<Command, NetworkError> {
        match self.next(doing)? {
            Message::Command { command, .. } if is_it(&command) => Ok(command),
            _ => Err(self
                .wire
                .wrong("another message came where an answer belongs")),
        }
    }

    /// Passes the data set of a message on as it comes.
    ///
    /// # Errors
    /// As [`Self::next`]; [`NetworkError::TooLarge`] beyond `most` bytes.
    pub fn data(
        &mut self,
        context: u8,
        longest: u64,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<u64, NetworkError> {
        let (mut length, begun) = (0, Some(Instant::now()));
        loop {
            self.keep_pace(begun, length, "an object was received")?;
            let Some(value) = self.value("an object was received")? else {
                return Err(self
                    .wire
                    .wrong("it released the association inside an object"));
            };
            if value.value_type != PDataValueType::Data || value.presentation_context_id != context
            {
                return Err(self.wire.wrong("a command came inside an object"));
            }
            length += value.data.len() as u64;
            if length > longest {
                return Err(NetworkError::TooLarge {
                    who: self.who().to_owned(),
                    most: longest,
                });
            }
            sink(&value.data);
            if value.is_last {
                return Ok(length);
            }
        }
    }

    /// A message in small fragments, each in time, would last for ever.
    fn keep_pace(
        &self,
        begun: Option<Instant>,
        bytes: u64,
        doing: &'static str,
    ) -> Result<(), NetworkError> {
        let late =
            begun.is_some_and(|begun| begun.elapsed() > self.wire.patience.of_message(bytes));
        if late {
            Err(self.wire.slow(doing))
        } else {
            Ok(())
        }
    }

    /// The next part of a message; `None`: the other side has requested the release.
    fn value(&mut self, doing: &'static str) -> Result<Option<PDataValue>, NetworkError> {
        if self.waiting.is_empty() {
            match self.read(doing)? {
                Pdu::PData { data } => self.waiting.extend(data),
                Pdu::ReleaseRQ => return Ok(None),
                _ => return Err(self.wire.wrong("a PDU came that has no place there")),
            }
        }
        // Without these rules, PDUs without content would keep an association for ever.
        match self.waiting.pop_front() {
            Some(value) if value.data.is_empty() && !value.is_last => {
                Err(self.wire.wrong("a fragment is empty, and not the last"))
            }
            Some(value) if self.context(value.presentation_context_id).is_some() => Ok(Some(value)),
            Some(_) => Err(self.wire.wrong("it used a context that was not agreed on")),
            None => Err(self.wire.wrong("a PDU of data is empty")),
        }
    }

    fn read(&mut self, doing: &'static str) -> Result<Pdu, NetworkError> {
        match self.wire.read(doing) {
            Ok(Pdu::AbortRQ { source }) => {
                self.open = false;
                let reason = match source {
                    AbortRQSource::ServiceUser => "no reason given".to_owned(),
                    AbortRQSource::ServiceProvider(reason) => reason.to_string(),
                    AbortRQSource::Reserved => "for a reason that does not exist".to_owned(),
                };
                Err(NetworkError::Aborted {
                    who: self.who().to_owned(),
                    reason,
                })
            }
            Err(error @ (NetworkError::Closed { .. } | NetworkError::Broke { .. })) => {
                self.open = false;
                Err(error)
            }
            other => other,
        }
    }

    /// Ends the association in order.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn release(mut self) -> Result<(), NetworkError> {
        self.wire
            .write(&Pdu::ReleaseRQ, "the association was released")?;
        let answer = self.read("the association was released")?;
        if matches!(answer, Pdu::ReleaseRQ) {
            self.wire
                .write(&Pdu::ReleaseRP, "the association was released")?;
        }
        self.open = false;
        Ok(())
    }

    /// Answers [`Message::Release`].
    ///
    /// # Errors
    /// A peer that has vanished.
    pub fn released(mut self) -> Result<(), NetworkError> {
        self.open = false;
        self.wire
            .write(&Pdu::ReleaseRP, "the association was released")?;
        self.wire.end();
        Ok(())
    }
}

/// An association that was not released is aborted, and the peer told.
impl Drop for Association<'_> {
    fn drop(&mut self) {
        if self.open {
            // A peer that cannot be told is gone, or will notice.
            let _ = self.wire.write(
                &Pdu::AbortRQ {
                    source: AbortRQSource::ServiceUser,
                },
                "it was aborted",
            );
            self.wire.end();
        }
    }
}

fn connect(call: &Call, who: &str) -> Result<TcpStream, NetworkError> {
    let places = call
        .to
        .to_socket_addrs()
        .map_err(|e| address_error(e.to_string(), call))?;
    let mut last = None;
    for place in places {
        match TcpStream::connect_timeout(&place, call.patience.connect) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let source = last.ok_or_else(|| address_error("it has no address".to_owned(), call))?;
    Err(NetworkError::Connect {
        who: who.to_owned(),
        source,
    })
}

fn address_error(why: String, call: &Call) -> NetworkError {
    NetworkError::Address {
        address: call.to.clone(),
        why,
    }
}
