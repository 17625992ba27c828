//! Files of a package: manual pages, completions, units, and the Debian package itself.

mod prerequisites;

use crate::support::{Place, output_of, repository, tandem_path};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with the files of a package below `root`.
fn package_files() -> Place {
    let place = Place::new();
    place.done(&["package-files", "root", "--date", "2026-11-25"]);
    place
}

fn manual_pages(place: &Place) -> Vec<PathBuf> {
    let sections = ["root/usr/share/man/man1", "root/usr/share/man/man5"];
    let page = |folder: &str, name: String| place.path().join(folder).join(name);
    sections.iter().flat_map(|folder| place.list(folder).into_iter().map(|name| page(folder, name))).collect()
}

#[test]
fn package_files_have_their_places() {
    let place = Place::new();
    let written = place.done(&["package-files", "root"]);
    let places: Vec<&str> = written.lines().filter(|path| !path.contains("/man1/")).collect();
    insta::assert_snapshot!(places.join("\n"));
    let again = place.run(&["package-files", "root", "--date", "2026-11-25"]);
    assert!(again.code == 1 && again.err.contains("exists and is not replaced"), "{}", again.err);
    let told = place.run(&["package-files", "other", "--date", "today"]);
    assert!(told.code == 2 && told.err.contains("expected a date such as 2026-11-25"), "{}", told.err);
}

#[test]
fn every_command_in_the_help_has_a_manual_page() {
    let place = package_files();
    assert!(commands(&place, "tandem").len() > 15 && commands(&place, "tandem-agent").len() == 3);
    for page in manual_pages(&place).iter().filter(|page| page.extension().is_some_and(|one| one == "1")) {
        let name = page.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(page).expect("it was written");
        for command in commands(&place, &name) {
            let inner = page.with_file_name(format!("{name}-{command}.1"));
            assert!(inner.is_file(), "no page for `{command}` of {name}");
            assert!(text.contains(&format!("{name}-{command}(1)").replace('-', "\\-")), "{text}");
        }
        assert!(text.contains("\n.SH \"EXIT STATUS\"\n"), "{text}");
    }
}

/// Subcommands in the help of a command, such as `tandem-agent`.
fn commands(place: &Place, name: &str) -> Vec<String> {
    // A word after the last hyphen has no subcommands, so `example-config` may be taken for two.
    let arguments: Vec<&str> = name.split('-').skip(1).chain(["--help"]).collect();
    let help = place.run(&arguments).out;
    let list = help.split("ptions:\n").next().unwrap_or_default();
    let is_command =
        |line: &&str| line.strip_prefix("  ").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let names = list.lines().filter(is_command).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn default_configurations_are_valid_and_listen_on_loopback_only() {
    let place = package_files();
    for name in ["agent", "proxy"] {
        let text = place.read(&format!("root/etc/tandem/{name}.toml"));
        place.done(&["check", &format!("root/etc/tandem/{name}.toml")]);
        let addresses = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        for line in addresses.filter(|line| line.starts_with("address") || line.contains("listen =")) {
            assert!(line.contains("\"127.0.0.1:"), "{line}");
        }
        assert!(!text.lines().any(|line| line.starts_with("allowance")), "{text}");
    }
    for name in ["gateway", "serve"] {
        let variables = place.read(&format!("root/etc/tandem/{name}.env"));
        assert!(variables.lines().all(|line| line.is_empty() || line.starts_with('#')), "{variables}");
    }
}

#[test]
fn units_of_a_package_differ_from_printed_ones_in_program_and_origin_only() {
    let place = package_files();
    for (name, config) in
        [("agent", "/etc/tandem/agent.toml"), ("proxy", "/etc/tandem/proxy.toml"), ("serve", "")]
    {
        let packaged = place.read(&format!("root/usr/lib/systemd/system/tandem-{name}.service"));
        let options = if config.is_empty() { vec![] } else { vec!["--config", config] };
        let printed = place.done(&[&[name, "unit"], &options[..]].concat());
        let printed = printed.replace(&tandem_path().display().to_string(), "/usr/bin/tandem");
        let settings = |unit: &str| unit.split_once("[Unit]").map(|(_, rest)| rest.to_owned());
        assert_eq!(settings(&packaged), settings(&printed));
        assert!(packaged.starts_with("# A part of the package"), "{packaged}");
    }
}

#[test]
fn packaged_gateway_takes_its_options_from_the_environment() {
    let place = package_files();
    let packaged = place.read("root/usr/lib/systemd/system/tandem-gateway.service");
    assert!(packaged.contains("\nEnvironmentFile=-/etc/tandem/gateway.env\n"), "{packaged}");
    let (before, after) = packaged
        .split_once("ExecStart=/usr/bin/tandem gateway up $TANDEM_GATEWAY_OPTIONS\n")
        .unwrap_or_else(|| panic!("{packaged}"));
    let is_own =
        |line: &&str| !line.starts_with('#') && !line.contains("TANDEM_") && !line.contains("gateway.env");
    let settings = |text: &str| text.lines().filter(is_own).map(str::to_owned).collect::<Vec<_>>();
    let printed = place.done(&["gateway", "unit", "--upstream", "proxy.example:1080"]);
    let printed = printed.replace(&tandem_path().display().to_string(), "/usr/bin/tandem");
    let command = |line: &&str| !line.starts_with("ExecStart=");
    let printed: Vec<&str> = printed.lines().filter(is_own).filter(command).collect();
    assert_eq!([settings(before), settings(after)].concat(), printed);
    // Every example of the file is a command line that the gateway takes.
    let variables = place.read("root/etc/tandem/gateway.env");
    let examples = variables.lines().filter_map(|line| line.strip_prefix("#TANDEM_GATEWAY_OPTIONS="));
    let examples: Vec<Vec<&str>> = examples.map(|line| line.split(' ').collect()).collect();
    assert_eq!(examples.len(), 3, "{variables}");
    for options in examples {
        place.done(&[&["gateway", "unit"], &options[..]].concat());
    }
}

#[test]
#[ignore = "needs mandoc, man"]
fn manual_pages_have_no_warnings_needs_mandoc_needs_man() {
    let place = package_files();
    let pages = manual_pages(&place);
    assert!(pages.len() > 20, "{pages:?}");
    for page in pages {
        let lint = output_of(Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).arg(&page));
        assert_eq!((lint.code, &*lint.out, &*lint.err), (0, "", ""));
        let mut man = Command::new("man");
        man.args(["--warnings", "--local-file"]).arg(&page).env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8");
        let shown = output_of(man.env_remove("MANROFFOPT"));
        assert_eq!((shown.code, &*shown.err), (0, ""), "{}", page.display());
        assert!(shown.out.contains("tandem"), "{}", shown.out);
    }
}

/// Runs a script of a shell beside the files of a package and returns its output.
fn shell(program: &str, options: &[&str], script: &str) -> String {
    let place = package_files();
    let mut command = Command::new(program);
    command.args(options).args(["-c", script]).current_dir(place.path().join("root/usr/share"));
    let output = output_of(command.env("HOME", place.path()));
    assert_eq!((output.code, &*output.err), (0, ""), "{program}: {}", output.out);
    output.out
}

#[test]
fn completions_of_bash_offer_commands_and_options() {
    let script = ". ./bash-completion/completions/tandem
        complete -p tandem
        COMP_WORDS=(tandem reproduce e) COMP_CWORD=2
        _tandem tandem e reproduce; echo \"${COMPREPLY[@]}\"
        COMP_WORDS=(tandem agent --conf) COMP_CWORD=2
        _tandem tandem --conf agent; echo \"${COMPREPLY[@]}\"";
    let output = shell("bash", &["--norc"], script);
    assert!(output.ends_with("\nemtcp\n--config\n"), "{output}");
}

#[test]
#[ignore = "needs zsh"]
fn completions_of_zsh_load_needs_zsh() {
    let script = "fpath=($PWD/zsh/vendor-completions $fpath)
        autoload -Uz compinit && compinit -u -D && print $_comps[tandem] && autoload -Uz +X _tandem && print loaded";
    assert_eq!(shell("zsh", &["-f"], script), "_tandem\nloaded\n");
}

#[test]
#[ignore = "needs fish"]
fn completions_of_fish_offer_commands_needs_fish() {
    let script = "source fish/vendor_completions.d/tandem.fish; complete -C 'tandem reprod'";
    assert!(shell("fish", &["--no-config"], script).starts_with("reproduce\t"));
}

#[test]
#[ignore = "needs python3"]
fn every_licence_in_the_list_has_its_text_needs_python3() {
    let collect = || {
        let collected = output_of(Command::new("python3").arg(repository().join("scripts/licences.py")));
        assert_eq!((collected.code, &*collected.err), (0, ""), "{}", collected.out);
        collected.out
    };
    let licences = collect();
    assert_eq!(licences, collect());
    let (list, texts) = licences.split_once("\n\n====").expect("texts below the list");
    let crates: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once(": ")).collect();
    assert!(crates.len() > 100 && crates.iter().any(|(name, _)| name.starts_with("clap ")), "{list}");
    let holders: BTreeSet<&str> = texts.lines().flat_map(|line| line.split(", ")).collect();
    for (name, licence) in crates.iter().filter(|(_, licence)| !licence.contains("no text in")) {
        assert!(holders.contains(name), "no text of {licence} for {name}");
    }
}

/// A folder that stands for the target directory of a release build, with the program of the tests.
fn release_folder(folder: &Path) {
    fs::create_dir_all(folder.join("release")).expect("the folder is ours");
    let program = folder.join("release/tandem");
    // Without debugging information, which is most of the file.
    let strip = Command::new("strip").arg("-o").arg(program).arg(tandem_path()).status().expect("strip");
    assert!(strip.success());
}

#[test]
#[ignore = "needs root, cargo-deb, dpkg, man, systemd"]
fn debian_package_installs_works_and_purges_needs_root_needs_cargodeb_needs_dpkg_needs_man_needs_systemd() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    release_folder(folder.path());
    let script = |name: &str| {
        let mut command = Command::new("sh");
        command.arg(repository().join("scripts").join(name)).env("CARGO_TARGET_DIR", folder.path());
        command
    };
    let package = folder.path().join("tandem.deb");
    let made = output_of(script("deb.sh").args(["--fast", "--offline", "--output"]).arg(&package));
    assert_eq!((made.code, &*made.err), (0, ""), "{}", made.out);
    let checked = output_of(script("deb-check.sh").arg(&package));
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    assert!(checked.out.ends_with("\nnothing is left\n"), "{}", checked.out);
}
