#!/bin/sh
# Measures what the Python package costs beside the program: python/bench/cost.py and, for
# sweeps on Dask, python/bench/sweep.py, with release builds.
set -eu
cd "$(dirname "$0")/.."

folder=target/python/bench
cargo build --quiet --release -p tandem-cli
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --force-reinstall './python[dask]'
"$folder/bin/python" python/bench/cost.py target/release/tandem scenarios/wifi-lte.toml
"$folder/bin/python" python/bench/sweep.py
