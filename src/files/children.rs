//! Children of tests beside tests of locks: between its fork and its program a child holds every lock of its parent, so that one
//! given back meanwhile still looks taken.

use std::io;
use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

static FORKS: RwLock<()> = RwLock::new(());

/// Starts a child while no test relies on locks; returns when the child runs its own program.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    let _alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// As long as this is held, a lock given back is free at once.
pub(crate) fn no_forks() -> RwLockReadGuard<'static, ()> {
    FORKS.read().unwrap_or_else(PoisonError::into_inner)
}
