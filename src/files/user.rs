//! The user of the program, as the system knows one.

use std::sync::OnceLock;

/// The full name, else the account's; empty where the system has neither. The system is asked once.
pub fn user_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let said = [whoami::realname(), whoami::username()]
            .into_iter()
            .flatten();
        said.map(|name| name.trim().to_owned())
            .find(|name| !name.is_empty())
            .unwrap_or_default()
    })
}
