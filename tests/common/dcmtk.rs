//! Programs of dcmtk as the other side of a conversation.

use super::skip::{Missing, skip};
use super::synthetic::Folder;
use beamsight::dicom::transferables;
use beamsight::network::{Call, Patience, echo, send};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

static GO_ON: AtomicBool = AtomicBool::new(false);
/// Ends a test that would hang.
const LIMIT: Duration = Duration::from_secs(60);

/// A program of dcmtk; without it the test says so.
pub fn tool(name: &str) -> Option<Command> {
    let found = Command::new(name)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        skip(
            Missing::Program,
            &format!("no {name} (apt-get install dcmtk)"),
        );
        return None;
    }
    Some(Command::new(name))
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

pub fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn call(to: SocketAddr, called: &str) -> Call {
    let title = |word: &str| word.parse().unwrap();
    let (called, calling) = (title(called), title("BEAMSIGHT"));
    Call {
        to: to.to_string(),
        called,
        calling,
        patience: Patience::default(),
    }
}

/// A listener of dcmtk that ends with the test.
pub struct Running(Child);

impl Running {
    /// Starts it and waits until it answers echoes.
    pub fn start(mut command: Command, address: SocketAddr, called: &str) -> Self {
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let running = Self(child);
        let begun = Instant::now();
        while echo(&call(address, called), &GO_ON).is_err() {
            assert!(begun.elapsed() < LIMIT, "dcmtk does not answer");
            sleep(Duration::from_millis(20));
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An archive that knows where to call the program back.
pub struct Archive {
    pub port: u16,
    pub back: u16,
    _running: Running,
    _folder: Folder,
}

pub fn archive(name: &str) -> Option<Archive> {
    let mut dcmqrscp = tool("dcmqrscp")?;
    let (folder, port, back) = (Folder::new(name), free_port(), free_port());
    let store = folder.0.join("store");
    std::fs::create_dir(&store).unwrap();
    let configuration = format!(
        "NetworkTCPPort = {port}\nMaxPDUSize = 16384\nMaxAssociations = 16\n\
         HostTable BEGIN\nbeamsight = (BEAMSIGHT, 127.0.0.1, {back})\nHostTable END\n\
         VendorTable BEGIN\nVendorTable END\n\
         AETable BEGIN\nPACS {} RW (100, 1024mb) ANY\nAETable END\n",
        store.display()
    );
    let file = folder.0.join("dcmqrscp.cfg");
    std::fs::write(&file, configuration).unwrap();
    dcmqrscp.arg("-c").arg(&file);
    let running = Running::start(dcmqrscp, local(port), "PACS");
    Some(Archive {
        port,
        back,
        _running: running,
        _folder: folder,
    })
}

impl Archive {
    pub fn call(&self) -> Call {
        call(local(self.port), "PACS")
    }

    pub fn fill(&self, folder: &Path) {
        let objects = transferables(&[folder.to_owned()], &|_| true)
            .unwrap()
            .objects;
        let sent = send(&self.call(), &objects, &GO_ON, &|_| ());
        assert!(sent.broken.is_none() && sent.refused.is_empty(), "{sent:?}");
    }
}
