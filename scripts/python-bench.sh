#!/bin/sh
# Measures the cost of the Python package beside the program, with release builds: python/bench/cost.py
# and, for sweeps on Dask, python/bench/sweep.py.
set -eu
cd "$(dirname "$0")/.."

folder=target/python/bench
cargo build --quiet --release -p tandem-cli
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --force-reinstall './python[dask,gym]'
"$folder/bin/python" python/bench/cost.py target/release/tandem scenarios/wifi-lte.toml
"$folder/bin/python" python/bench/sweep.py
