#!/bin/sh
# Runs all tests that this machine can run, then lists the tests that it cannot, with the reason.
#
# A test that needs something special is marked `#[ignore = "needs …"]` and has `needs_root`,
# `needs_tshark`, … in its name. The second run below includes those whose needs are met.
# With CI=true an unmet need is a failure: there, every test has to run.
set -eu
cd "$(dirname "$0")/.."

locked=; keep_going=
if [ "${CI:-}" = true ]; then locked=--locked; keep_going=--no-fail-fast; fi

# Many tests wait for timeouts or for real time to pass, so twice as many run as there are processors;
# those with needs, which use a fifth of a processor each, four times as many.
threads_of_needs=${RUST_TEST_THREADS:-$(($(nproc) * 4))}
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$(($(nproc) * 2))}"

# root: network namespaces, TUN devices, Linux's Multipath TCP, nft and tc. Any other need is a program.
is_met() {
    case $1 in
    root) [ "$(id -u)" = 0 ] && [ -c /dev/net/tun ] && [ -e /proc/sys/net/mptcp/enabled ] &&
        command -v nft >/dev/null && command -v tc >/dev/null ;;
    cargodeb) command -v cargo-deb >/dev/null 2>&1 ;;
    systemd) command -v systemd-analyze >/dev/null 2>&1 ;;
    chromium) command -v "${CHROMIUM:-chromium}" >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

cargo test --workspace $locked $keep_going

# Property tests use a fixed seed (.cargo/config.toml). In continuous integration they run with the
# date's seed too, so that each day tries other cases.
if [ "${CI:-}" = true ]; then
    PROPTEST_RNG_SEED=$(date -u +%Y%m%d)
    export PROPTEST_RNG_SEED
    targets=$(grep -rl 'proptest!' crates/*/tests | sed 's|^crates/[^/]*/tests/||; s|[./].*||' | sort -u | sed 's/^/--test /')
    echo "property tests with the seed of the day: PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED cargo test"
    # shellcheck disable=SC2086 # several words each
    cargo test --workspace $locked --quiet --no-fail-fast --lib $targets
    unset PROPTEST_RNG_SEED
fi

list=$(mktemp)
trap 'rm -f "$list"' EXIT
cargo test --workspace $locked --quiet -- --ignored --list 2>/dev/null |
    sed -n 's/: test$//p' | grep needs_ >"$list" || true
unmet=
skips=
for need in $(grep -o 'needs_[a-z0-9]*' "$list" | sed 's/^needs_//' | sort -u); do
    is_met "$need" && continue
    unmet="$unmet $need"
    skips="$skips --skip needs_$need"
done
# shellcheck disable=SC2086 # several words each
RUST_TEST_THREADS=$threads_of_needs cargo test --workspace $locked $keep_going -- --ignored needs_ $skips

web=yes
if sh scripts/prerequisites.sh web; then
    make --no-print-directory web-test
else
    web=no
fi

python=yes
if sh scripts/prerequisites.sh python; then
    make --no-print-directory python-test
else
    python=no
fi

# The pages themselves are checked by the tests above, so that mdBook is never required.
site=yes
if command -v mdbook >/dev/null 2>&1; then
    sh scripts/docs.sh
else
    site=no
fi

echo
echo "Tests that need something special: $(wc -l <"$list")"
for need in $unmet; do
    echo "not run: $(grep -c "needs_$need" "$list") tests, because this machine has no $need:"
    grep "needs_$need" "$list" | sed 's/^/    /'
done
[ $web = yes ] || echo "not run: the tests of the player's page, because Node is missing or too old"
[ $python = yes ] || echo "not run: the tests of the Python package, because Python is missing or too old"
[ $site = yes ] || echo "not run: the check of the documentation's site, because this machine has no mdBook (make docs)"
if [ -z "$unmet" ] && [ $web = yes ] && [ $python = yes ]; then
    echo "All of them ran."
elif [ "${CI:-}" = true ]; then
    echo "In continuous integration every test has to run." >&2
    exit 1
fi
