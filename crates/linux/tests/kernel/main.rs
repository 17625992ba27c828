//! Tests on the running kernel. Each creates its own namespaces and leaves nothing behind.

mod cost;
mod needs_root;
mod world;

use std::time::{Duration, Instant};
use tandem_linux::Error;
use tandem_linux::namespace::Namespace;
use tandem_linux::route::Route;

/// Runs `test` in a new namespace whose loopback device is up.
fn in_new_namespace(test: impl FnOnce() -> Result<(), Error> + Send) {
    run_in(&new_namespace(), test);
}

/// Creates a namespace whose loopback device is up.
fn new_namespace() -> Namespace {
    let namespace = Namespace::create().unwrap_or_else(|error| panic!("{error}; {}", error.hint()));
    run_in(&namespace, || {
        let mut route = Route::open()?;
        let loopback = route.link("lo")?;
        route.set_up(loopback.index, true)
    });
    namespace
}

/// Runs `test` in `namespace`; panics with the error and its hint.
fn run_in(namespace: &Namespace, test: impl FnOnce() -> Result<(), Error> + Send) {
    if let Err(error) = namespace.run(test) {
        panic!("{error}; {}", error.hint());
    }
}

/// Polls `condition` until it holds; panics after 20 seconds.
fn wait_until(what: &str, mut condition: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let start = Instant::now();
    while !condition()? {
        assert!(start.elapsed() < Duration::from_secs(20), "timed out: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
