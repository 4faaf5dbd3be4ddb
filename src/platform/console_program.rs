//! The program for consoles, `beamsight.com` of the packages for Windows: shells take it for the word `beamsight` before
//! `beamsight.exe` beside it, which it starts with the same words and streams. They wait for a program of consoles and have its exit
//! code, which they do not of one of windows.

use std::io::{self, Write as _};
use std::process::{Command, exit};

fn main() {
    // Ctrl-C is the other program's to answer, which hears of it, too.
    let _ = platform::on_ending(|_| true);
    let status = std::env::current_exe().and_then(|own_path| {
        let words = std::env::args_os().skip(1);
        Command::new(own_path.with_extension("exe"))
            .args(words)
            .status()
    });
    match status {
        Ok(status) => exit(status.code().unwrap_or(1)),
        Err(error) => {
            // There is no fallback when even this cannot be printed.
            let _ = writeln!(
                io::stderr(),
                "error: beamsight.exe, which lies beside this program, does not start: {error}"
            );
            exit(1)
        }
    }
}
