#!/bin/sh
# Attacks every surface of Tandem in its long form: hours on two cores. `make test` runs the short forms.
#
# Each part is a test or a fuzz target; a variable sets its length:
#   TANDEM_FUZZ_SECONDS  seconds of libFuzzer for each target        60
#   TANDEM_FUZZ_TARGETS  targets of fuzz and coverage                all
#   TANDEM_SEEDS         connections of the soak                     1000000
#   TANDEM_MUTANTS       mutated files for the program               100000
#   TANDEM_PAGE_MUTANTS  mutated inputs of the page's parsers        20000
#   TANDEM_KILLS         kills of a collector at 500 posts a second   20
#   TANDEM_FAULTS        failed system calls of each daemon           1000
#   TANDEM_CUTS          cuts of a path under transfers (root)       1000
#   TANDEM_LOAD_CONNECTIONS, TANDEM_LOAD_SECONDS  of a proxy (root)  10000, 600
# `sh scripts/attack.sh PART…` runs some parts: program, page, soak, fuzz, and coverage (on demand: it
# builds all targets again, and tells which lines the inputs of fuzzing reach).
set -eu
cd "$(dirname "$0")/.."
export TANDEM_MUTANTS="${TANDEM_MUTANTS:-100000}" TANDEM_CUTS="${TANDEM_CUTS:-1000}"
export TANDEM_FAULTS="${TANDEM_FAULTS:-1000}"
export TANDEM_LOAD_CONNECTIONS="${TANDEM_LOAD_CONNECTIONS:-10000}"
export TANDEM_LOAD_SECONDS="${TANDEM_LOAD_SECONDS:-600}"

targets() {
    echo "${TANDEM_FUZZ_TARGETS:-$(cargo +nightly fuzz list)}"
}

fuzz() {
    if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
        echo "not run: fuzzing needs a nightly compiler and \`cargo install cargo-fuzz\`" >&2
        return 1
    fi
    targets=$(targets)
    [ -n "$targets" ] || { echo "no fuzz targets" >&2; return 1; }
    found='' not_run=''
    log=$(mktemp)
    for target in $targets; do
        echo "== fuzz $target"
        mkdir -p "fuzz/corpus/$target" "fuzz/seeds/$target"
        # A finding ends its target only: the others run, and the part fails in the end.
        cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- -max_total_time="${TANDEM_FUZZ_SECONDS:-60}" \
            -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 2>&1 | tee "$log" |
            grep -E '^(stat::|#[0-9]+.DONE|SUMMARY|artifact_prefix)|panicked' || true
        [ -z "$(ls -A "fuzz/artifacts/$target" 2>/dev/null)" ] || found="$found $target"
        # A target that does not build or start has no statistics.
        if ! grep -q '^stat::number_of_executed_units: *[1-9]' "$log"; then
            tail -n 20 "$log" >&2
            not_run="$not_run $target"
        fi
    done
    rm -f "$log"
    [ -z "$not_run" ] || echo "targets that did not run:$not_run" >&2
    [ -z "$found" ] || echo "findings in fuzz/artifacts:$found" >&2
    [ -z "$not_run$found" ]
}

# Share of lines that the kept inputs of all targets reach, for each source file.
coverage() {
    if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
        echo "not run: coverage needs a nightly compiler and \`cargo install cargo-fuzz\`" >&2
        return 1
    fi
    tools=$(dirname "$(find "$(rustc +nightly --print sysroot)" -name llvm-cov -type f | head -n 1)")
    if [ ! -x "$tools/llvm-cov" ]; then
        echo "not run: coverage needs \`rustup component add llvm-tools --toolchain nightly\`" >&2
        return 1
    fi
    host=$(rustc +nightly -vV | sed -n 's/^host: //p')
    profiles= objects=
    for target in $(targets); do
        mkdir -p "fuzz/corpus/$target" "fuzz/seeds/$target"
        cargo +nightly fuzz coverage "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" >/dev/null 2>&1 ||
            { echo "no coverage of $target" >&2; return 1; }
        profiles="$profiles fuzz/coverage/$target/coverage.profdata"
    done
    # Which of the two it is depends on the version of cargo-fuzz.
    built="target/$host/coverage/$host/release"
    [ -d "$built" ] || built="fuzz/$built"
    for target in $(targets); do
        objects="$objects --object $built/$target"
    done
    # shellcheck disable=SC2086 # Lists of words.
    "$tools/llvm-profdata" merge $profiles -o fuzz/coverage/all.profdata
    # shellcheck disable=SC2086
    "$tools/llvm-cov" report $objects -instr-profile=fuzz/coverage/all.profdata \
        -ignore-filename-regex='/(registry|rustc|library|fuzz_targets|fuzzing)/' -show-region-summary=false -show-branch-summary=false
}

soak() {
    TANDEM_SEEDS="${TANDEM_SEEDS:-1000000}" \
        cargo test -p tandem-mptcp --test adversary soak -- --ignored --nocapture
}

program() {
    cargo test -p tandem-cli --test cli attack:: -- --nocapture || return
    TANDEM_KILLS="${TANDEM_KILLS:-20}" TANDEM_ROUND_MS="${TANDEM_ROUND_MS:-3000}" \
        cargo test -p tandem-cli --test cli collector::acknowledged -- --nocapture || return
    if [ "$(id -u)" != 0 ]; then
        echo "not run: the attacks that need root" >&2
        return 1
    fi
    cargo test -p tandem-cli --test cli attack:: -- --ignored --nocapture --test-threads 1
}

page() {
    # The tests in Chromium open a page for 30 mutants of a parser.
    (cd web && node build.mjs && node build.mjs --tests && TANDEM_MUTANTS="${TANDEM_PAGE_MUTANTS:-20000}" \
        node --enable-source-maps --test .build/unit/mutants.test.mjs .build/e2e/mutants.test.mjs)
}

[ $# -gt 0 ] || set -- program soak page fuzz
failed=
for part in "$@"; do
    case $part in
    program | page | soak | fuzz | coverage) ;;
    *) echo "unknown part $part: choose from program, page, soak, fuzz, coverage" >&2; exit 2 ;;
    esac
    echo "== $part"
    $part || failed="$failed $part"
done
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
