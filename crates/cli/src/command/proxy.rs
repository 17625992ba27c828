//! `tandem proxy`.

use crate::arguments::{Proxy, ProxyCommand};
use crate::command::agent::log;
use crate::command::testbed::stop_on_signals;
use crate::failure::Failure;
use crate::output::{self, Talk};
use linux::socket::Protocol;
use proxy::Config;
use proxy::config::{Listen, Serve, Upstream};
use proxy::front::transparent::Rules;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

pub(crate) fn run(arguments: &Proxy, talk: Talk) -> Result<(), Failure> {
    match &arguments.command {
        Some(ProxyCommand::Rules(rules)) => {
            let rules = Rules {
                port: rules.port,
                mark: rules.mark,
                interfaces: rules.interface.clone(),
                ports: rules.to.clone(),
            };
            output::data(&rules.to_script())
        }
        None => serve(arguments, talk),
    }
}

fn serve(arguments: &Proxy, talk: Talk) -> Result<(), Failure> {
    let config = config(arguments);
    log(&config.log, talk)?;
    let stop = stop_on_signals()?;
    let proxy = proxy::Proxy::start(config, None).map_err(|error| failure(&error))?;
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(100));
    }
    proxy.drain();
    Ok(())
}

/// What the command line asks for.
fn config(arguments: &Proxy) -> Config {
    let mut config = Config::default();
    // A device's half is asked by programs of this host, over its loopback.
    let protocol = if arguments.upstream.is_some() { Protocol::Tcp } else { Protocol::Mptcp };
    let listen = |address| Listen { address, serve: Serve::Auto, protocol };
    if arguments.listen.is_empty() {
        config.listen.iter_mut().for_each(|one| one.protocol = protocol);
    } else {
        config.listen = arguments.listen.iter().map(|address| listen(*address)).collect();
    }
    config.clients.allow.clone_from(&arguments.allow);
    config.destinations.allow.clone_from(&arguments.allow_destination);
    config.upstream = arguments.upstream.clone().map(|destination| Upstream {
        destination,
        protocol: Protocol::Mptcp,
        credential: None,
    });
    config
}

fn failure(error: &proxy::Error) -> Failure {
    let (message, hint) = (error.to_string(), error.hint().to_owned());
    if error.is_lack() { Failure::Lacks { message, hint } } else { Failure::Other { message, hint } }
}
