//! Connections that have not requested an association yet. Anyone who reaches the port can open them, so a newer one takes the place
//! of an older: those that never ask shut nobody out.

use input::{WAITING_MOST, WAITING_OF_ADDRESS};
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All of a listener.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The oldest first.
    connections: Mutex<Connections>,
}

#[derive(Debug, Default)]
struct Connections {
    all: Vec<Connection>,
    next: u64,
}

#[derive(Debug)]
struct Connection {
    number: u64,
    address: IpAddr,
    stream: TcpStream,
}

impl Waiting {
    /// Adds a connection, and gives its number. Beyond the limits the oldest of its address is ended, or of the address that has the
    /// most.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn add(&self, address: IpAddr, stream: &TcpStream) -> io::Result<u64> {
        let stream = stream.try_clone()?;
        let mut connections = self.lock();
        let waiting = &mut connections.all;
        let crowded = if count_of(waiting, address) >= WAITING_OF_ADDRESS {
            Some(address)
        } else if waiting.len() >= WAITING_MOST {
            waiting
                .iter()
                .map(|c| c.address)
                .max_by_key(|address| count_of(waiting, *address))
        } else {
            None
        };
        if let Some(index) =
            crowded.and_then(|crowded| waiting.iter().position(|c| c.address == crowded))
        {
            // One that has gone by itself is as good as ended.
            let _ = waiting.remove(index).stream.shutdown(Shutdown::Both);
        }
        let number = connections.next;
        connections.next += 1;
        connections.all.push(Connection {
            number,
            address,
            stream,
        });
        Ok(number)
    }

    /// Removes a connection that waits no more; `false` where it was ended for another.
    pub fn remove(&self, number: u64) -> bool {
        let waiting = &mut self.lock().all;
        let index = waiting.iter().position(|c| c.number == number);
        index.map(|index| waiting.remove(index)).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn count_of(waiting: &[Connection], address: IpAddr) -> usize {
    waiting.iter().filter(|c| c.address == address).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::TcpListener;

    #[test]
    fn the_crowd_makes_way_for_who_is_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let waiting = Waiting::default();
        let [alone, hostile] = [1, 2].map(|n| IpAddr::from([10, 0, 0, n]));
        let first = waiting.add(alone, &connect()).unwrap();
        let mut of_hostile: Vec<(u64, TcpStream)> = Vec::new();
        for _ in 0..30 {
            let stream = connect();
            of_hostile.push((waiting.add(hostile, &stream).unwrap(), stream));
        }
        // The newest of the crowd stay; of those before the end is seen where they are read.
        let (gone, waiting_ones) = of_hostile.split_at_mut(30 - WAITING_OF_ADDRESS);
        for (number, stream) in gone {
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            assert!(!waiting.remove(*number));
        }
        assert!(
            waiting_ones
                .iter()
                .all(|(number, _)| waiting.remove(*number))
        );
        assert!(waiting.remove(first), "another address is not touched");

        // Many addresses together: the fullest makes way.
        let streams: Vec<TcpStream> = (0..WAITING_MOST).map(|_| connect()).collect();
        let numbers: Vec<u64> = streams
            .iter()
            .enumerate()
            .map(|(n, s)| {
                waiting
                    .add(IpAddr::from([10, 0, 1, if n < 3 { 0 } else { n as u8 }]), s)
                    .unwrap()
            })
            .collect();
        let last = waiting.add(alone, &connect()).unwrap();
        assert!(
            !waiting.remove(numbers[0])
                && numbers[1..].iter().all(|number| waiting.remove(*number))
        );
        assert!(waiting.remove(last));
    }
}
