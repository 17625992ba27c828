//! On the kernel that runs this: each test makes namespaces, works in them, and leaves nothing behind.
//! Where it may not make them, or the kernel lacks what is tested, a test says so and passes.

mod cost;
mod diag;
mod pm;
mod route;
mod world;

use std::time::{Duration, Instant};
use tandem_linux::Error;
use tandem_linux::namespace::Namespace;

/// Runs `test` in a namespace of its own, in which the loopback device is up.
fn alone(test: impl FnOnce() -> Result<(), Error> + Send) {
    if let Some(namespace) = namespace() {
        within(&namespace, test);
    }
}

/// A namespace whose loopback device is up, or `None` after saying why not.
fn namespace() -> Option<Namespace> {
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(error) => {
            println!("skipped: {error}; {}", error.hint());
            return None;
        }
    };
    within(&namespace, || {
        let mut route = tandem_linux::route::Route::open()?;
        let loopback = route.link("lo")?;
        route.set_up(loopback.index, true)
    });
    Some(namespace)
}

fn within(namespace: &Namespace, test: impl FnOnce() -> Result<(), Error> + Send) {
    match namespace.run(test) {
        Err(Error::Lacks { what, hint }) => println!("skipped: {what}; {hint}"),
        result => result.expect("the kernel does what is asked"),
    }
}

/// Asks until it is so; a test of what the kernel does in its own time ends here if it does not.
fn until(what: &str, mut so: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let start = Instant::now();
    while !so()? {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[test]
fn a_namespace_has_a_table_of_connections_of_its_own() {
    alone(|| {
        use tandem_linux::sysctl::read;
        if read("net.ipv4.tcp_child_ehash_entries").is_err() {
            println!("skipped: before Linux 6.1 there is one table for all");
            return Ok(());
        }
        // Where the table is another's, its size is told below zero.
        assert_eq!(read("net.ipv4.tcp_ehash_entries")?, "8192");
        Ok(())
    });
}
