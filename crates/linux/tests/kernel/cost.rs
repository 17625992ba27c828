//! CPU time of kernel queries. Prints figures and asserts nothing, since machines differ.
//!
//! `cargo test --release -p tandem-linux --test kernel cost -- --ignored --nocapture`

use crate::world::{connect_to, ip};
use crate::{in_new_namespace, wait_until};
use rustix::time::{ClockId, clock_gettime};
use tandem_linux::Error;
use tandem_linux::diag::{Diag, Filter};
use tandem_linux::mib::Mib;
use tandem_linux::pm::{Endpoint, Limits, PathManager};
use tandem_linux::route::Route;
use tandem_linux::socket::{Options, Protocol, listen, mptcp_info};

/// Prints the CPU time per call in microseconds, user and system, over five rounds of `times`
/// calls.
fn measure(name: &str, times: u32, mut call: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let cpu_us = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let start = cpu_us();
        for _ in 0..times {
            call()?;
        }
        rounds.push((cpu_us() - start) / f64::from(times));
    }
    rounds.sort_by(f64::total_cmp);
    println!("{name}: {:.2} us (minimum of 5 rounds; maximum {:.2})", rounds[0], rounds[4]);
    Ok(())
}

#[test]
#[ignore = "measurement"]
fn cost_of_queries() {
    in_new_namespace(|| {
        let (mut route, mut pm, mut diag) = (Route::open()?, PathManager::open()?, Diag::open()?);
        route.add_address(1, ip("127.0.0.2"), 8)?;
        pm.set_limits(Limits { subflows: 1, accepted_addresses: 0 })?;
        pm.add(&Endpoint::subflow(7, ip("127.0.0.2")))?;
        let listener =
            listen("127.0.0.1:0".parse().expect("an address"), Protocol::Mptcp, &Options::default())?;
        let mut all = Vec::new();
        for _ in 0..250 {
            all.push(connect_to(&listener, ip("127.0.0.1"), Protocol::Mptcp)?);
        }
        let mut count = 0;
        wait_until("all subflows have joined", || {
            count = diag.subflows()?.len();
            Ok(count >= 1000)
        })?;
        let token = mptcp_info(&all[0].0)?.map_or(0, |info| info.token);
        measure("link counters", 10_000, || route.stats(1).map(drop))?;
        measure("one link", 10_000, || route.link("lo").map(drop))?;
        measure(&format!("{count} subflows"), 20, || diag.for_each_subflow(&Filter::default(), drop))?;
        let from = Filter::local(ip("127.0.0.2"));
        measure("subflows of one address", 20, || diag.for_each_subflow(&from, drop))?;
        measure("subflows of one token", 20, || diag.for_each_subflow(&Filter::token(token), drop))?;
        measure("500 connections", 20, || diag.for_each_connection(drop))?;
        measure("one connection by token", 10_000, || diag.connection(token).map(drop))?;
        measure("MP_PRIO of one endpoint", 1000, || pm.set_backup(7, false))?;
        measure("all MIB counters", 100, || Mib::read().map(drop))?;
        drop(all);
        Ok(())
    });
}
