//! `tandem proxy passwd`, and the login of a user with it.

use crate::support::Place;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// Runs `passwd` with a password on standard input.
fn passwd(place: &Place, user: &str, password: &str) -> (i32, String) {
    let mut child = place
        .command(&["proxy", "passwd", "users", user, "--stdin"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It does not read the password for an invalid username.
    _ = child.stdin.take().expect("a pipe").write_all(password.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    (output.status.code().expect("no signal"), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn passwd_writes_hashes_for_the_owner_only() {
    let place = Place::new();
    assert_eq!(passwd(&place, "ann", "hunter2\n").0, 0);
    let first = place.read("users");
    assert!(
        first.starts_with("ann:$argon2id$v=19$m=19456,t=2,p=1$") && !first.contains("hunter2"),
        "{first}"
    );
    place.write("users", &format!("# our users\n{first}old:clear\n"));
    let (code, told) = passwd(&place, "bob", "with:colon");
    assert!(code == 0 && told.contains("bob: password stored") && told.contains("SIGHUP"), "{told}");
    assert_eq!(passwd(&place, "ann", "other").0, 0);
    let text = place.read("users");
    let names: Vec<_> = text.lines().map(|line| line.split(':').next().unwrap_or_default()).collect();
    assert_eq!(names, ["# our users", "ann", "old", "bob"]);
    assert!(text.contains("\nold:clear\n") && !text.contains(&first), "{text}");
    let mode = fs::metadata(place.path().join("users")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(place.run(&["proxy", "passwd", "users", "ann", "--delete"]).code, 0);
    assert!(!place.read("users").contains("ann:"));
    let told = place.run(&["proxy", "passwd", "users", "ann", "--delete"]);
    assert!(told.code == 1 && told.err.contains("has no user `ann`"), "{}", told.err);
    assert_eq!(place.list(".").iter().filter(|name| name.starts_with(".passwd")).count(), 0);
}

#[test]
fn passwd_rejects_what_no_client_could_send() {
    let place = Place::new();
    for (user, password) in [("a:b", "x"), ("", "x"), ("#a", "x"), ("ann", ""), ("ann", "a\tb")] {
        let (code, told) = passwd(&place, user, password);
        assert!(code > 0 && !place.path().join("users").exists(), "{user}: {told}");
    }
    let told = place.run(&["proxy", "passwd", "users", "ann"]);
    assert_eq!(told.code, 2);
    assert!(told.err.contains("`--stdin` reads the password"), "{}", told.err);
}

#[test]
fn clear_password_is_refused_with_the_command_that_hashes_it() {
    let place = Place::new();
    place.write("users", "ann:hunter2\n");
    fs::set_permissions(place.path().join("users"), fs::Permissions::from_mode(0o600)).expect("our file");
    place.write("proxy.toml", "[[listen]]\naddress = '127.0.0.1:0'\n[clients]\nusers = 'users'\n");
    let told = place.run(&["proxy", "--config", "proxy.toml", "--check"]);
    assert_eq!(told.code, 3);
    assert!(!told.err.contains("hunter2"), "{}", told.err);
    insta::assert_snapshot!("clear_password", told.err);
    assert_eq!(passwd(&place, "ann", "hunter2").0, 0);
    let told = place.run(&["proxy", "--config", "proxy.toml", "--check"]);
    assert!(!told.err.contains("clear text"), "{}", told.err);
    place.write("proxy.toml", "[[listen]]\naddress = '0.0.0.0:0'\n[clients]\nusers = 'users'\n");
    let told = place.run(&["proxy", "--config", "proxy.toml", "--check"]);
    assert_eq!(told.code, 3);
    insta::assert_snapshot!("password_over_a_network", told.err);
}
