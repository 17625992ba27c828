//! The collector, with records that are posted and read.

use super::{Daemon, log_to};
use crate::collector::{example, stored_ids};
use crate::play::{Serving, request};
use crate::support::Place;
use std::cell::RefCell;
use std::collections::BTreeSet;

#[test]
fn collector_survives_faults_and_keeps_acknowledged_records() {
    let place = Place::new();
    let arguments = ["-q", "serve", "--listen", "127.0.0.1:0", "--database", "sessions.db"];
    let mut command = place.command(&arguments);
    log_to(&place, &mut command);
    let (daemon, child) = Daemon::start(command, 0);
    let serving = Serving::of(child);
    let address = serving.address.clone();
    let acknowledged = RefCell::new(BTreeSet::new());
    let count = RefCell::new(0);
    let post = || {
        *count.borrow_mut() += 1;
        let id = format!("session-{:08}", count.borrow());
        let answer = request(&address, "POST", "api/sessions", &example(&id));
        if matches!(answer, Some((201, _))) {
            acknowledged.borrow_mut().insert(id);
            return Ok(());
        }
        Err(format!("{answer:?} to a record"))
    };
    let work = || {
        _ = post();
        _ = request(&address, "GET", "api/sessions?limit=5", "");
        _ = request(&address, "GET", "sessions.csv", "");
    };
    let recovered = || {
        post()?;
        match request(&address, "GET", "api/sessions?limit=5", "") {
            Some((200, _)) => Ok(()),
            answer => Err(format!("{answer:?} to a request for the list")),
        }
    };
    daemon.attack(work, recovered);
    drop(serving);
    // Another process, without faults.
    let serving = Serving::start(&place, &["--database", "sessions.db"]);
    let stored = stored_ids(&serving);
    let acknowledged = acknowledged.into_inner();
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}
