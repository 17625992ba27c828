#!/bin/sh
# Runs the tests of the crate with unsafe code that make no system calls under Miri, which finds
# undefined behaviour. Needs a nightly toolchain with Miri:
#   rustup toolchain install nightly --profile minimal -c miri -c rust-src
set -eu
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "not run: Miri is missing; rustup toolchain install nightly --profile minimal -c miri -c rust-src"
    exit 0
fi
# proptest reads the directory of its seeds. Miri is a thousand times slower, so it gets few cases.
export MIRIFLAGS="-Zmiri-disable-isolation"
export PROPTEST_CASES="${PROPTEST_CASES:-8}"
cargo +nightly miri test -p tandem-linux --lib --target-dir target/miri -- \
    netlink:: route:: pm:: diag:: socket:: seccomp:: mib:: \
    --skip unix_socket
