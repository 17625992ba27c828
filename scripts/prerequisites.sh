#!/bin/sh
# Checks the programs that Tandem is built and tested with, and installs Debian packages as root.
#
#   scripts/prerequisites.sh build    a C compiler to link with, and Rust
#   scripts/prerequisites.sh lint     these, rustfmt and clippy
#   scripts/prerequisites.sh test     these, and tshark, Node, Chromium, ffmpeg and others for some tests
#   scripts/prerequisites.sh web      Node only, which builds the player's page
#   scripts/prerequisites.sh python   build, and Python with venv, which tests the Python package
#   scripts/prerequisites.sh deb      those of python, and cargo-deb, which makes the Debian package
#
# Silent if nothing is missing. Otherwise it names each missing program with the way to get it and
# exits with 4, as the program does for a missing system feature.
set -eu
cd "$(dirname "$0")/.."

need="${1:-build}"
rust_version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
rustup_install="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"

all_here=yes
missing() {
    all_here=no
    echo "missing: $1" >&2
    shift
    for line in "$@"; do echo "  hint: $line" >&2; done
}

has() { command -v "$1" >/dev/null 2>&1; }

# A compiler without the C library's start files runs but cannot link: link a program to find out.
links() {
    has cc || return 1
    folder=$(mktemp -d)
    status=0
    echo 'int main(void) { return 0; }' | cc -x c -o "$folder/a" - >/dev/null 2>&1 || status=1
    rm -rf "$folder"
    return $status
}

# A fresh machine has no package lists yet. If the update fails, older lists may suffice.
apt_update() {
    [ -z "${apt_is_updated:-}" ] || return 0
    apt_is_updated=yes
    apt-get update -qq </dev/null >&2 || true
}

apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    echo "installing Debian's $* with apt-get" >&2
    apt_update
    apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

linker() {
    links && return
    what="a C compiler that links (cc), which Rust links with"
    if ! has apt-get; then
        missing "$what" "install gcc or clang, and the C library's headers"
        return
    fi
    if [ "$(id -u)" = 0 ]; then
        apt_install gcc libc6-dev || true
        links && return
    fi
    missing "$what" "as root: apt-get update && apt-get install gcc libc6-dev"
}

# at_least FOUND WANTED: compares versions.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# The version of a package that apt-get would install; empty if there is none.
apt_candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: \([0-9].*\)/\1/p'; }

# Installs Debian's Rust if it is new enough, else Debian's rustup (Debian 13) with the stable Rust.
apt_rust() {
    apt_update
    if at_least "$(apt_candidate rustc)" "$rust_version" && at_least "$(apt_candidate cargo)" "$rust_version"; then
        apt_install rustc cargo
    elif [ -n "$(apt_candidate rustup)" ]; then
        apt_install rustup && rustup default stable >&2
    fi
}

rust() {
    if ! has cargo && ! has rustc && ! has rustup && has apt-get && [ "$(id -u)" = 0 ]; then
        apt_rust || true
    fi
    if ! has cargo && ! has rustc && ! has rustup; then
        fetch="$rustup_install"
        has curl || fetch="as root: apt-get install curl ca-certificates; then: $fetch"
        [ -z "$(apt_candidate rustup)" ] || fetch="as root: apt-get install rustup; then: rustup default stable"
        missing "Rust $rust_version or newer" "$fetch"
        return
    fi
    for tool in rustc cargo; do
        found=$($tool --version 2>/dev/null | sed -n "s/^$tool \([0-9.]*\).*/\1/p") || found=
        if [ -z "$found" ]; then
            hint="$rustup_install"
            has rustup && hint="rustup default stable"
            missing "Rust $rust_version or newer: $tool is not here or does not run" "$hint"
            return
        fi
        if ! at_least "$found" "$rust_version"; then
            hint="rustup installs a newer one beside it: $rustup_install"
            has rustup && hint="rustup update stable && rustup default stable"
            missing "Rust $rust_version or newer: $tool here is $found" "$hint"
            return
        fi
    done
}

cargo_deb() {
    has cargo-deb || missing "cargo-deb, which makes the package" "cargo install cargo-deb --locked"
}

checkers() {
    for pair in fmt:rustfmt clippy:clippy; do
        command=${pair%%:*}
        component=${pair#*:}
        cargo "$command" --version >/dev/null 2>&1 && continue
        has rustup && rustup component add "$component" >&2 && continue
        package=$component
        [ "$component" = clippy ] && package=rust-clippy
        missing "cargo $command" "with rustup: rustup component add $component" \
            "with Debian's own Rust: apt-get install $package"
    done
}

# Without these, scripts/test.sh lists the tests that did not run.
#   helper COMMAND PACKAGE "the tests that need it"
helper() {
    has "$1" && return
    if has apt-get && [ "$(id -u)" = 0 ]; then
        apt_install "$2" || true
        has "$1" && return
    fi
    echo "missing: $2, so $3 will not run" >&2
    echo "  hint: as root on Debian: apt-get update && apt-get install $2" >&2
}

node_version=20
node_found() { node --version 2>/dev/null | sed 's/^v//'; }
node_here() { has npm && at_least "$(node_found)" "$node_version"; }

node_js() {
    node_here && return
    if has apt-get && [ "$(id -u)" = 0 ] && ! has node; then
        apt_install nodejs npm || true
        node_here && return
    fi
    found=$(node_found)
    missing "Node $node_version or newer, with npm${found:+; node here is $found}" \
        "Debian 13 has it: as root: apt-get update && apt-get install nodejs npm" "or from https://nodejs.org"
}

python_here() {
    python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

python_3() {
    python_here && return
    if has apt-get && [ "$(id -u)" = 0 ]; then
        apt_install python3 python3-venv || true
        python_here && return
    fi
    missing "Python 3.10 or newer, with venv" \
        "Debian has it: as root: apt-get update && apt-get install python3 python3-venv"
}

if [ "$need" = web ]; then
    node_js
    [ $all_here = yes ] || exit 4
    exit 0
fi
linker
rust
if [ "$need" = python ]; then python_3; fi
if [ "$need" = lint ] && [ $all_here = yes ]; then checkers; fi
if [ "$need" = deb ]; then python_3; fi
if [ "$need" = deb ] && [ $all_here = yes ]; then cargo_deb; fi
if [ "$need" = test ] && [ $all_here = yes ]; then
    helper tshark tshark "the tests that read captures with it"
    helper chromium chromium "the tests that look at pages"
    helper ffmpeg ffmpeg "the tests that play a video"
    helper python3 python3 "two tutorials"
    helper man man-db "the tests of the manual pages and of the Debian package"
    helper mandoc mandoc "the test of the manual pages"
    helper zsh zsh "a test of completions"
    helper fish fish "a test of completions"
    if [ "$(id -u)" = 0 ]; then
        helper nft nftables "the tests of transparent proxying"
        helper tc iproute2 "the tests that throttle an interface"
        helper curl curl "a tutorial"
        has cargo-deb || echo "missing: cargo-deb, so the test of the Debian package will not run
  hint: cargo install cargo-deb --locked" >&2
        helper openssl openssl "the test of the page and the agent over HTTPS"
    fi
fi
[ $all_here = yes ] || exit 4
