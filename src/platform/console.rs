//! The console that the program was started from. On Windows the program belongs to the subsystem of windows, so that a double click
//! shows no console; what is started with words joins the console of its parent.

/// How a console, or the system, ends a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Ctrl-C or Ctrl-Break.
    Interrupted,
    /// The console is closed, the user logs off or the system is shut down: the process ends when the answer is there.
    Closed,
}

#[cfg(not(windows))]
mod system {
    use super::Ending;

    /// Programs of other systems have the terminal that they were started from.
    pub fn join_console() {}

    /// Other systems send signals.
    ///
    /// # Errors
    /// None.
    pub fn on_ending(_: fn(Ending) -> bool) -> std::io::Result<()> {
        Ok(())
    }

    /// Other systems keep standard error of what a desktop starts.
    pub fn tell_without_console(_: &str) {}
}

#[cfg(windows)]
mod system {
    #![expect(
        unsafe_code,
        reason = "calls of kernel32 and user32 for consoles, which std has none of"
    )]

    use super::Ending;
    use std::fs::File;
    use std::io;
    use std::os::windows::io::IntoRawHandle as _;
    use std::sync::OnceLock;
    use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
    use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_UNKNOWN, GetFileType};
    use windows_sys::Win32::System::Console::{
        ATTACH_PARENT_PROCESS, AttachConsole, CTRL_BREAK_EVENT, CTRL_C_EVENT, GetStdHandle,
        STD_ERROR_HANDLE, STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetConsoleCtrlHandler,
        SetStdHandle,
    };
    use windows_sys::Win32::UI::WindowsAndMessaging::{MB_ICONERROR, MB_OK, MessageBoxW};
    use windows_sys::core::BOOL;

    /// Joins the console of the process that started this one, where it has one. Streams that were redirected to files and pipes
    /// stay as they are.
    pub fn join_console() {
        let streams = [
            (STD_INPUT_HANDLE, "CONIN$"),
            (STD_OUTPUT_HANDLE, "CONOUT$"),
            (STD_ERROR_HANDLE, "CONOUT$"),
        ];
        let is_missing = streams.map(|(stream, _)| !is_connected(stream));
        // SAFETY: called with a constant, before there is another thread.
        if unsafe { AttachConsole(ATTACH_PARENT_PROCESS) } == 0 {
            return;
        }
        for ((stream, name), is_missing) in streams.into_iter().zip(is_missing) {
            if is_missing {
                connect(stream, name);
            }
        }
    }

    /// Whether a stream leads to a file, a pipe or a device.
    fn is_connected(stream: STD_HANDLE) -> bool {
        // SAFETY: both take any value; nothing is written.
        unsafe {
            let handle = GetStdHandle(stream);
            !handle.is_null()
                && handle != INVALID_HANDLE_VALUE
                && GetFileType(handle) != FILE_TYPE_UNKNOWN
        }
    }

    fn connect(stream: STD_HANDLE, name: &str) {
        let Ok(console) = File::options().read(true).write(true).open(name) else {
            return;
        };
        // SAFETY: the handle is open and stays so: nothing owns it from here on.
        unsafe { SetStdHandle(stream, console.into_raw_handle() as HANDLE) };
    }

    static ANSWER: OnceLock<fn(Ending) -> bool> = OnceLock::new();

    /// Has `answer` asked when the console or the system ends the program, on another thread; where it says `true` an
    /// interruption is taken for heard and the program goes on.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn on_ending(answer: fn(Ending) -> bool) -> io::Result<()> {
        let _ = ANSWER.set(answer);
        // SAFETY: the function lives as long as the process.
        match unsafe { SetConsoleCtrlHandler(Some(handle), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    unsafe extern "system" fn handle(event: u32) -> BOOL {
        let ending = match event {
            CTRL_C_EVENT | CTRL_BREAK_EVENT => Ending::Interrupted,
            _ => Ending::Closed,
        };
        BOOL::from(ANSWER.get().is_some_and(|answer| answer(ending)))
    }

    /// Shows a failure in a box where standard error leads nowhere: a window that was started by a double click.
    pub fn tell_without_console(failure: &str) {
        if is_connected(STD_ERROR_HANDLE) {
            return;
        }
        let [text, title] = [failure, "Beamsight"].map(wide);
        // SAFETY: both texts end with a zero and outlive the call.
        unsafe {
            MessageBoxW(
                std::ptr::null_mut(),
                text.as_ptr(),
                title.as_ptr(),
                MB_OK | MB_ICONERROR,
            )
        };
    }

    fn wide(text: &str) -> Vec<u16> {
        text.encode_utf16().chain([0]).collect()
    }
}

pub use system::{join_console, on_ending, tell_without_console};
