#!/bin/sh
# Tests the Python package: builds a wheel with maturin, installs it in virtual environments of the
# oldest and the newest Python at hand, and runs tests, doctests and type checkers there.
#
#   scripts/python-test.sh            all of it
#   scripts/python-test.sh -k ctrl    arguments go to pytest
#
# The wheel has the profile of the tests and shares target/debug with them. An environment below
# target/python is kept until python/requirements-test.txt changes.
set -eu
cd "$(dirname "$0")/.."

folder=$PWD/target/python
locked=; [ "${CI:-}" = true ] && locked=--locked

# Interpreters from 3.10 on, the oldest first: on the PATH, or installed by pyenv.
pythons() {
    for minor in $(seq 10 30); do
        for python in "$(command -v python3."$minor")" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python; do
            "$python" -c 'import ensurepip, venv' 2>/dev/null || continue
            echo "$python"
            break
        done
    done
}

# environment PYTHON FOLDER REQUIREMENT…: makes a virtual environment, unless it has these packages.
environment() {
    python=$1; where=$2; shift 2
    stamp="$("$python" -VV) $(cat python/requirements-test.txt) $*"
    [ "$(cat "$where/stamp" 2>/dev/null)" = "$stamp" ] && return
    "$python" -m venv --clear "$where"
    "$where/bin/pip" install --quiet --disable-pip-version-check "$@"
    echo "$stamp" >"$where/stamp"
}

oldest=$(pythons | head -n 1)
newest=$(pythons | tail -n 1)
[ "$newest" != "$oldest" ] || oldest=

environment "$newest" "$folder/build" 'maturin>=1.9.4,<2'

# The feature `as-tested` of python/Cargo.toml lets maturin link what `cargo test` has built. Lists the
# dependencies whose features differ all the same: they, and all that uses them, would be built again.
list='--prefix none --format {p}|{f}'
# shellcheck disable=SC2086 # several words
cargo tree $locked --workspace --edges normal,build,dev $list >"$folder/tested"
# shellcheck disable=SC2086
cargo tree $locked --package tandem-python --features as-tested --edges normal,build $list >"$folder/built"
plain='s/ (\*)//; s/ (proc-macro)//'
sed "$plain" "$folder/tested" | sort -u >"$folder/features"
twice=$(sed "$plain" "$folder/built" | sort -u | grep -vxFf "$folder/features" | grep -v '^tandem-python ' | cut -d ' ' -f 1 | tr '\n' ' ')
if [ -n "$twice" ]; then
    echo "built again, because the feature \`as-tested\` of python/Cargo.toml lacks features of: $twice" >&2
    [ "${CI:-}" != true ] || exit 1
fi
rm -rf "$folder/wheels"
"$folder/build/bin/maturin" build --quiet --profile dev $locked --features as-tested --manifest-path python/Cargo.toml --out "$folder/wheels"

export PYRIGHT_PYTHON_IGNORE_WARNINGS=1
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# check PYTHON ARGUMENT…: runs everything with one interpreter. Ends the shell at the first failure.
check() {
    at=$folder/$(version "$1")
    echo "Python $(version "$1")"
    environment "$1" "$at" -r python/requirements-test.txt
    shift
    "$at/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$folder"/wheels/*.whl
    "$at/bin/pytest" -c python/pyproject.toml --rootdir . --quiet python/tests --doctest-modules --pyargs tandem_mptcp "$@"
    "$at/bin/mypy" --config-file python/pyproject.toml python/tandem_mptcp python/tests python/bench
    "$at/bin/pyright" --project python/pyproject.toml --pythonpath "$at/bin/python"
    "$at/bin/stubtest" --concise --mypy-config-file python/pyproject.toml tandem_mptcp._native
}

# Each uses one processor, so both run at once; the output of the oldest follows.
if [ -n "$oldest" ]; then
    (check "$oldest" "$@") >"$folder/oldest.log" 2>&1 &
    other=$!
    trap 'kill "$other" 2>/dev/null || true' EXIT
fi
check "$newest" "$@"
if [ -n "$oldest" ]; then
    failed=0
    wait "$other" || failed=$?
    trap - EXIT
    cat "$folder/oldest.log"
    exit "$failed"
fi
