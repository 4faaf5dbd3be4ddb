//! Foreign decoders run behind a fence: a panic of theirs only refuses the file.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder; the message of its panic is returned, and nothing is printed.
///
/// # Errors
/// The message of the panic.
pub fn fenced<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !INSIDE.get() {
                usual(panic);
            }
        }));
    });
    let outside = INSIDE.replace(true);
    // No state of the decoder outlives its panic.
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    INSIDE.set(outside);
    decoded.map_err(|panic| in_words(panic.as_ref()))
}

fn in_words(panic: &(dyn Any + Send)) -> String {
    let words = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(panic.downcast_ref::<&str>().copied());
    format!(
        "its decoder gave up: {}",
        words.unwrap_or("no reason given")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_words() {
        assert_eq!(fenced(|| 3), Ok(3));
        let index = 7;
        let error = fenced(|| [1, 2, 3][std::hint::black_box(index)]).unwrap_err();
        assert!(error.contains("index out of bounds"), "{error}");
        assert!(fenced(|| panic!("plain words")).is_err_and(|e| e.contains("plain words")));
        assert!(!INSIDE.get());
    }
}
