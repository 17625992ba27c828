//! Undoes the changes of a killed agent without starting another one.

use crate::Error;
use crate::endpoints::{Endpoints, JOURNAL};
use crate::journal::Place;
use crate::store::Store;
use std::path::Path;
use std::rc::Rc;

/// Undoes the changes that a killed agent recorded in the directory `state`.
///
/// # Errors
/// Fails when an agent is running with that directory, or the kernel rejects a change.
pub fn undo(state: &Path) -> Result<(), Error> {
    if !state.join(JOURNAL).exists() {
        return Ok(());
    }
    let store = Store::lock(state).map_err(|error| Error::state(&state.display().to_string(), error))?;
    // Opening restores the endpoints and limits of the journal.
    Endpoints::open(Place::here()?, Some(Rc::new(store)))?.restore()
}
