//! Chooses between the window and a verb of the command line.

fn main() -> std::process::ExitCode {
    beamsight::cli::run(std::env::args_os())
}
