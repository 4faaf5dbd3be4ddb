//! DICOM objects to and from other systems (PS3.7, PS3.8): verification, storage both ways, query and retrieval. Nothing
//! listens or connects until asked to; there is no TLS and no storage commitment.
//!
//! The PDUs come from `dicom-ul`. Sockets, limits and time are kept here: a peer may be slow, silent, wrong or hostile, and
//! costs a connection of bounded memory and time.

mod ae;
mod association;
mod command;
mod echo;
mod error;
mod find;
mod incoming;
mod negotiation;
mod receive;
mod retrieve;
mod store;
mod waiting;
mod wire;

pub use ae::AeTitle;
pub use association::{Call, Patience};
pub use echo::echo;
pub use error::NetworkError;
pub use find::{Match, Query, find, query_date, query_key, query_name, query_uid};
pub use receive::{Delivery, Event, ReceiveOptions, Receiver, Until, let_in};
pub use retrieve::{Retrieval, Route, retrieve, retrieve_all};
pub use store::{Sent, send};
