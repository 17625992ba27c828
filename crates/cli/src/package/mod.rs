//! Files that a package installs beside the program, by their places in the file system.

mod manual;
mod markdown;

use crate::arguments::Arguments;
use crate::command::serve::UNIT_DATABASE;
use crate::new_file::NewFile;
use crate::unit::{SYSUSERS, Unit};
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::path::Path;

/// Variables of the collector's unit.
const SERVE_ENV: &str = include_str!("serve.env");
/// Variables of the gateway's unit.
const GATEWAY_ENV: &str = include_str!("gateway.env");

/// All files below `root`. `date` is that of the manual pages; empty for none.
pub(crate) fn files(root: &Path, date: &str) -> Vec<NewFile> {
    let mut files: Vec<(String, String)> = vec![
        ("etc/tandem/agent.toml".to_owned(), agent::config::EXAMPLE.to_owned()),
        ("etc/tandem/proxy.toml".to_owned(), proxy::config::EXAMPLE.to_owned()),
        ("etc/tandem/serve.env".to_owned(), SERVE_ENV.to_owned()),
        ("etc/tandem/gateway.env".to_owned(), GATEWAY_ENV.to_owned()),
        ("usr/lib/sysusers.d/tandem.conf".to_owned(), SYSUSERS.to_owned()),
    ];
    files.extend(units());
    files.extend(completions());
    files.extend(manual::pages(date).into_iter().map(|page| {
        let section = page.section();
        (format!("usr/share/man/man{section}/{}", page.file_name()), page.text)
    }));
    files.into_iter().map(|(path, text)| NewFile::new(root.join(path), text)).collect()
}

/// Units of all daemons.
fn units() -> impl Iterator<Item = (String, String)> {
    let agent = Unit::Agent { has_rules: false };
    let gateway = Unit::Gateway { has_rules: false };
    let arguments: [(Unit, &[&str]); 4] = [
        (agent, &["agent", "--config", "/etc/tandem/agent.toml"]),
        (gateway, &["gateway", "up"]),
        (Unit::Proxy, &["proxy", "--config", "/etc/tandem/proxy.toml"]),
        (Unit::Serve, &["serve", "--database", UNIT_DATABASE]),
    ];
    arguments.into_iter().map(|(unit, arguments)| {
        (format!("usr/lib/systemd/system/tandem-{}.service", unit.name()), unit.packaged(arguments))
    })
}

/// Completion scripts in the directories that the shells read.
fn completions() -> impl Iterator<Item = (String, String)> {
    let places = [
        (Shell::Bash, "usr/share/bash-completion/completions/tandem"),
        (Shell::Zsh, "usr/share/zsh/vendor-completions/_tandem"),
        (Shell::Fish, "usr/share/fish/vendor_completions.d/tandem.fish"),
    ];
    places.into_iter().map(|(shell, path)| (path.to_owned(), completion(shell)))
}

/// The completion script for a shell.
pub(crate) fn completion(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "tandem", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
